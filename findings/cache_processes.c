/* Builds 20 programs, and prints the log of each that OpenCL says it cannot build.
 *
 *   cc -o cache_processes cache_processes.c -lOpenCL && ./cache_processes
 */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>

int main(void) {
    cl_platform_id platform;
    cl_device_id device;
    cl_int code;
    if (clGetPlatformIDs(1, &platform, NULL) ||
        clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL))
        return 2;
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
    for (int i = 0; i < 20; i++) {
        char text[200], log[4096] = "";
        const char *source = text;
        snprintf(text, sizeof text,
                 "__kernel void f(__global float *x) { x[get_global_id(0)] += %d.0f; }\n", i);
        cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, &code);
        code = clBuildProgram(program, 1, &device, "", NULL, NULL);
        clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, sizeof log - 1, log, NULL);
        if (code) printf("not built (%d): %s", code, log);
        clReleaseProgram(program);
    }
    clReleaseContext(context);
    return 0;
}
