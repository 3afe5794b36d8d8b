/* Builds a module of SPIR-V, or compiles and links two, and runs the kernel `k` of one buffer with four work-items: prints what they wrote; if the
 * program is not built, what the log says of symbols.
 *
 *   link_built_in FILE [FILE] */
#define CL_TARGET_OPENCL_VERSION 210
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check(cl_int code, const char *what) {
    if (code == CL_SUCCESS) return;
    fprintf(stderr, "%s: %d\n", what, code);
    exit(2);
}

static cl_program load(cl_context context, const char *path) {
    static char data[1 << 16];
    FILE *file = fopen(path, "rb");
    cl_int code = CL_SUCCESS;
    check(file ? CL_SUCCESS : CL_INVALID_VALUE, path);
    size_t bytes = fread(data, 1, sizeof data, file);
    fclose(file);
    cl_program program = clCreateProgramWithIL(context, data, bytes, &code);
    check(code, "clCreateProgramWithIL");
    return program;
}

int main(int argc, char **argv) {
    cl_platform_id platform;
    cl_device_id device;
    cl_int code;
    check(clGetPlatformIDs(1, &platform, NULL), "a platform");
    check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "a device");
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
    check(code, "a context");
    cl_command_queue queue = clCreateCommandQueueWithProperties(context, device, NULL, &code);
    check(code, "a queue");
    cl_program program = load(context, argv[1]);
    if (argc > 2) {
        cl_program parts[2] = {program, load(context, argv[2])};
        for (int i = 0; i < 2; i++)
            check(clCompileProgram(parts[i], 1, &device, "", 0, NULL, NULL, NULL, NULL),
                  "clCompileProgram");
        program = clLinkProgram(context, 1, &device, "", 2, parts, NULL, NULL, &code);
        check(code, "clLinkProgram");
    } else if (clBuildProgram(program, 1, &device, "", NULL, NULL)) {
        static char log[1 << 16];
        clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, sizeof log, log, NULL);
        char *line = strstr(log, "Symbols not found");
        if (line) line[strcspn(line, "\n")] = 0;
        puts(line ? line : log);
        return 1;
    }
    cl_kernel kernel = clCreateKernel(program, "k", &code);
    check(code, "a kernel");
    cl_uint out[4];
    size_t items = 4;
    cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof out, NULL, &code);
    check(code, "a buffer");
    check(clSetKernelArg(kernel, 0, sizeof buffer, &buffer), "its argument");
    check(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, NULL, 0, NULL, NULL), "a launch");
    check(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof out, out, 0, NULL, NULL),
          "reading");
    printf("%u %u %u %u\n", out[0], out[1], out[2], out[3]);
    return 0;
}
