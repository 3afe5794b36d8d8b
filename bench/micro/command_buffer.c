/* Ten launches one by one, and as one command buffer. See command_buffer.h.
 *
 * The types are written down here, since headers of OpenCL from before 2022 have none and later ones
 * do not agree on all names.
 */
#include "command_buffer.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LAUNCHES = 10, ROUNDS = 100 };

typedef struct commands *command_buffer;
typedef struct functions {
    command_buffer(CL_API_CALL *create)(cl_uint, const cl_command_queue *, const cl_ulong *,
                                        cl_int *);
    cl_int(CL_API_CALL *add)(command_buffer, cl_command_queue, const cl_ulong *, cl_kernel, cl_uint,
                             const size_t *, const size_t *, const size_t *, cl_uint,
                             const cl_uint *, cl_uint *, void **);
    cl_int(CL_API_CALL *finalize)(command_buffer);
    cl_int(CL_API_CALL *enqueue)(cl_uint, cl_command_queue *, command_buffer, cl_uint,
                                 const cl_event *, cl_event *);
    cl_int(CL_API_CALL *release)(command_buffer);
} functions;

typedef struct run {
    const bench_env *env;
    bench_results *results;
    functions cl;
    cl_mem buffer;
    cl_kernel kernels[LAUNCHES];
    command_buffer commands;
} run;

static const size_t global = 256, local = 64;

double bench_thread_us(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3;
}

static int has_command_buffers(cl_device_id device) {
    size_t bytes = 0;
    char *names = clGetDeviceInfo(device, CL_DEVICE_EXTENSIONS, 0, NULL, &bytes)
                      ? NULL
                      : calloc(bytes + 1, 1);
    const int has = names && !clGetDeviceInfo(device, CL_DEVICE_EXTENSIONS, bytes, names, NULL) &&
                    strstr(names, "cl_khr_command_buffer") != NULL;
    free(names);
    return has;
}

static int find_functions(const bench_env *env, functions *cl) {
    static const char *const names[] = {"clCreateCommandBufferKHR", "clCommandNDRangeKernelKHR",
                                        "clFinalizeCommandBufferKHR", "clEnqueueCommandBufferKHR",
                                        "clReleaseCommandBufferKHR"};
    char *at = (char *)cl;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++, at += sizeof(void *)) {
        void *found = clGetExtensionFunctionAddressForPlatform(env->platform, names[i]);
        if (!found) return 0;
        memcpy(at, &found, sizeof found); /* C has no conversion between the two */
    }
    return 1;
}

static cl_int create(run *r) {
    static const char *source =
        "__kernel void add(__global uint *sums, uint n, uint launch) {\n"
        "    sums[get_global_id(0)] += n + launch;\n"
        "}\n";
    cl_int code = CL_SUCCESS;
    cl_program program = clCreateProgramWithSource(r->env->context, 1, &source, NULL, &code);
    if (!code) code = clBuildProgram(program, 1, &r->env->device, "", NULL, NULL);
    if (!code)
        r->buffer = clCreateBuffer(r->env->context, CL_MEM_READ_WRITE, global * sizeof(cl_uint),
                                   NULL, &code);
    for (int i = 0; i < LAUNCHES && !code; i++)
        r->kernels[i] = clCreateKernel(program, "add", &code);
    if (program) clReleaseProgram(program);
    return code;
}

static cl_int launch(run *r, cl_uint n) {
    cl_int code = CL_SUCCESS;
    for (cl_uint i = 0; i < LAUNCHES && !code; i++) {
        code = clSetKernelArg(r->kernels[i], 0, sizeof r->buffer, &r->buffer);
        if (!code) code = clSetKernelArg(r->kernels[i], 1, sizeof n, &n);
        if (!code) code = clSetKernelArg(r->kernels[i], 2, sizeof i, &i);
        if (!code)
            code = clEnqueueNDRangeKernel(r->env->queue, r->kernels[i], 1, NULL, &global, &local, 0,
                                          NULL, NULL);
    }
    return code;
}

static cl_int record(run *r) {
    cl_int code = CL_SUCCESS;
    r->commands = r->cl.create(1, &r->env->queue, NULL, &code);
    for (int i = 0; i < LAUNCHES && !code; i++)
        code = r->cl.add(r->commands, NULL, NULL, r->kernels[i], 1, NULL, &global, &local, 0, NULL,
                         NULL, NULL);
    return code ? code : r->cl.finalize(r->commands);
}

/* Each is waited for, outside of the time. */
static cl_int measure(run *r) {
    cl_int code = CL_SUCCESS;
    for (cl_uint i = 0; i < ROUNDS && !code; i++) {
        const double start = bench_thread_us();
        code = launch(r, i);
        const double launched = bench_thread_us();
        if (!code) code = clFinish(r->env->queue);
        if (!code) code = r->commands ? CL_SUCCESS : record(r);
        const double begun = bench_thread_us();
        if (!code) code = r->cl.enqueue(0, NULL, r->commands, 0, NULL, NULL);
        const double enqueued = bench_thread_us();
        if (!code) code = clFinish(r->env->queue);
        if (code || i == 0) continue; /* the first one also compiles */
        bench_sample(r->results, "ten_launches_us", "us", launched - start);
        bench_sample(r->results, "command_buffer_us", "us", enqueued - begun);
    }
    return code;
}

int bench_command_buffer(const bench_env *env, bench_results *results) {
    run r = {.env = env, .results = results};
    if (!has_command_buffers(env->device) || !find_functions(env, &r.cl)) return 0;
    cl_int code = create(&r);
    if (!code) code = measure(&r);
    if (r.commands) r.cl.release(r.commands);
    for (int i = 0; i < LAUNCHES; i++)
        if (r.kernels[i]) clReleaseKernel(r.kernels[i]);
    if (r.buffer) clReleaseMemObject(r.buffer);
    return code ? bench_error_cl(&results->error, "a command buffer", code) : 0;
}
