/* Two prefix sums of each work-group, by a function that works in local memory: for pocl_shared_local.sh.
 *
 *   shared_local OPTIONS    prints how many are not right
 */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>

enum { GROUPS = 4096, ITEMS = 256 };

static const char *const source =
    "static __attribute__((noinline)) uint scan(uint value, __local uint *sums) {\n"
    "    uint me = (uint)get_local_id(0);\n"
    "    sums[me] = value;\n"
    "    for (uint step = 1; step < 256; step <<= 1) {\n"
    "        barrier(CLK_LOCAL_MEM_FENCE);\n"
    "        uint left = me >= step ? sums[me - step] : 0;\n"
    "        barrier(CLK_LOCAL_MEM_FENCE);\n"
    "        sums[me] += left;\n"
    "    }\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    return sums[me];\n"
    "}\n"
    "__kernel void both(__global uint *out) {\n"
    "    __local uint sums[256];\n"
    "    uint first = scan((uint)get_group_id(0), sums);\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    out[get_global_id(0)] = first + scan((uint)get_local_id(0), sums);\n"
    "}\n";

int main(int argc, char **argv) {
    static cl_uint out[GROUPS * ITEMS];
    const size_t global = GROUPS * ITEMS, local = ITEMS;
    cl_platform_id platform;
    cl_device_id device;
    cl_int code = clGetPlatformIDs(1, &platform, NULL);
    if (!code) code = clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL);
    if (code) return 1;
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, &code);
    cl_program program = clCreateProgramWithSource(context, 1, (const char **)&source, NULL, &code);
    if (clBuildProgram(program, 1, &device, argc > 1 ? argv[1] : "", NULL, NULL)) return 1;
    cl_kernel kernel = clCreateKernel(program, "both", &code);
    cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof out, NULL, &code);
    if (code || clSetKernelArg(kernel, 0, sizeof buffer, &buffer)) return 1;
    if (clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, &local, 0, NULL, NULL)) return 1;
    if (clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof out, out, 0, NULL, NULL)) return 1;
    unsigned bad = 0;
    for (cl_uint i = 0; i < GROUPS * ITEMS; i++) {
        cl_uint group = i / ITEMS, me = i % ITEMS;
        bad += out[i] != group * (me + 1) + me * (me + 1) / 2;
    }
    if (bad)
        printf("%u of %u are wrong\n", bad, GROUPS * ITEMS);
    else
        printf("all are right\n");
    return 0;
}
