/* Runs one of the reproducers beside it on the first OpenCL device:
 *
 *   cc -o run run.c -lOpenCL && ./run FILE.cl [OPTIONS]
 *
 * The file begins with two comments: how many work-items run kernel k(__global uint *out, uint n), in
 * groups of how many, and n; and what out[] (64 words, all 0 before) should begin with. Exit status 0:
 * it does.
 */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORDS 64

static void need(cl_int code, const char *call) {
    if (!code) return;
    printf("%s: %d\n", call, (int)code);
    exit(1);
}

int main(int argc, char **argv) {
    static char source[1 << 16], log[1 << 16];
    cl_uint out[WORDS] = {0}, expected[8];
    unsigned global = 0, local = 0, n = 0;
    const char *text = source;
    FILE *file = argc > 1 ? fopen(argv[1], "r") : NULL;
    if (!file || !fread(source, 1, sizeof source - 1, file) ||
        sscanf(source, "/* run: %u %u %u", &global, &local, &n) != 3) {
        printf("usage: %s FILE.cl [OPTIONS]\n", argv[0]);
        return 2;
    }
    fclose(file);
    const char *at = strstr(source, "expected:");
    int count =
        at ? sscanf(at, "expected: %u %u %u %u", expected, expected + 1, expected + 2, expected + 3)
           : 0;

    cl_platform_id platform;
    cl_device_id device;
    cl_int code;
    char name[256] = "", version[256] = "";
    need(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
    need(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "clGetDeviceIDs");
    clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof name, name, NULL);
    clGetDeviceInfo(device, CL_DRIVER_VERSION, sizeof version, version, NULL);
    printf("%s, %s: ", name, version);
    fflush(stdout);
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
    need(code, "clCreateContext");
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, &code);
    need(code, "clCreateCommandQueue");
    cl_program program = clCreateProgramWithSource(context, 1, &text, NULL, &code);
    if (clBuildProgram(program, 1, &device, argc > 2 ? argv[2] : "-cl-std=CL1.2", NULL, NULL)) {
        clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, sizeof log, log, NULL);
        printf("does not build\n%s\n", log);
        return 1;
    }
    cl_kernel kernel = clCreateKernel(program, "k", &code);
    need(code, "clCreateKernel");
    cl_mem buffer =
        clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof out, out, &code);
    need(code, "clCreateBuffer");
    size_t items = global, group = local;
    cl_uint number = n;
    need(clSetKernelArg(kernel, 0, sizeof buffer, &buffer), "clSetKernelArg");
    need(clSetKernelArg(kernel, 1, sizeof number, &number), "clSetKernelArg");
    need(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, &group, 0, NULL, NULL),
         "clEnqueueNDRangeKernel");
    need(clFinish(queue), "clFinish");
    need(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof out, out, 0, NULL, NULL),
         "clEnqueueReadBuffer");
    int wrong = 0;
    for (int i = 0; i < count; i++) {
        printf("%u ", out[i]);
        wrong |= out[i] != expected[i];
    }
    printf("%s\n", wrong ? "WRONG" : "right");
    return wrong;
}
