/* Reads in no order. See random_rate.h. */
#include "random_rate.h"

static const char random_source[] =
    "__kernel void random_reads(__global const uint *words, uint mask, uint reads,\n"
    "                           __global uint *sink) {\n"
    "    uint at = (uint)get_global_id(0) * 2654435761u, sum = 0;\n"
    "    for (uint i = 0; i < reads; i++) {\n" /* the addresses do not depend on what is read */
    "        at = at * 1664525u + 1013904223u;\n"
    "        sum += words[(at ^ at >> 15) & mask];\n"
    "    }\n"
    "    if (sum == 1u) *sink = sum;\n"
    "}\n";

int bench_random_rate(const bench_env *env, uint64_t bytes, double *rate, bench_error *error) {
    cl_context context = env->context;
    const char *text = random_source;
    cl_int code = CL_SUCCESS;
    uint64_t words = 1024, most = env->capabilities->allocation_bytes / 16;
    while (words * 4 < bytes && words < most && words < UINT64_C(1) << 31) words *= 2;
    size_t items = env->capabilities->is_cpu ? env->capabilities->compute_units * 4 : 1 << 18;
    cl_uint mask = (cl_uint)(words - 1), reads = (cl_uint)((UINT64_C(1) << 23) / items);
    cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, words * 4, NULL, &code);
    cl_mem sink = code ? NULL : clCreateBuffer(context, CL_MEM_READ_WRITE, 4, NULL, &code);
    cl_program program = code ? NULL : clCreateProgramWithSource(context, 1, &text, NULL, &code);
    if (!code) code = clBuildProgram(program, 1, &env->device, "-cl-std=CL1.2", NULL, NULL);
    cl_kernel kernel = code ? NULL : clCreateKernel(program, "random_reads", &code);
    if (!code) {
        const cl_uint zero = 0;
        clSetKernelArg(kernel, 0, sizeof buffer, &buffer);
        clSetKernelArg(kernel, 1, sizeof mask, &mask);
        clSetKernelArg(kernel, 2, sizeof reads, &reads);
        clSetKernelArg(kernel, 3, sizeof sink, &sink);
        code = clEnqueueFillBuffer(env->queue, buffer, &zero, 4, 0, words * 4, 0, NULL, NULL);
    }
    size_t local = env->capabilities->is_cpu ? 1 : 256;
    double best = 0;
    for (int i = 0; i < 4 && !code; i++) { /* the first warms up */
        cl_event event;
        bench_span span;
        code = clEnqueueNDRangeKernel(env->queue, kernel, 1, NULL, &items, &local, 0, NULL, &event);
        if (!code && bench_event_take(event, &span, error)) code = CL_INVALID_EVENT;
        double us = code ? 0 : bench_span_us(span);
        if (i && us > 0 && (best == 0 || us < best)) best = us;
    }
    if (kernel) clReleaseKernel(kernel);
    if (program) clReleaseProgram(program);
    if (sink) clReleaseMemObject(sink);
    if (buffer) clReleaseMemObject(buffer);
    *rate = best > 0 ? (double)items * reads / (best * 1e-6) : 0;
    return code ? bench_error_cl(error, "the rate of random reads", code) : 0;
}
