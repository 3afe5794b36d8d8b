/* Sub-buffers of one buffer are released while commands on them are under way, which OpenCL allows:
 *
 *   cc -o sub_buffer_release sub_buffer_release.c -lOpenCL && ./sub_buffer_release
 *
 * Prints "done". PoCL 7.1 ends with "PTHREAD ERROR in pocl_create_migration_commands()" or a crash.
 */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>

int main(void) {
    cl_platform_id platform;
    cl_device_id device;
    clGetPlatformIDs(1, &platform, NULL);
    clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL);
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, NULL);
    cl_buffer_region part = {4096, 4096};
    cl_uint zero = 0;
    cl_mem whole = clCreateBuffer(context, CL_MEM_READ_WRITE, 65536, NULL, NULL);
    for (int i = 0; i < 100000; i++) {
        cl_mem some = clCreateSubBuffer(whole, 0, CL_BUFFER_CREATE_TYPE_REGION, &part, NULL);
        clEnqueueFillBuffer(queue, some, &zero, sizeof zero, 0, 4096, 0, NULL, NULL);
        clReleaseMemObject(some);
        clEnqueueFillBuffer(queue, whole, &zero, sizeof zero, 0, 65536, 0, NULL, NULL);
        if (i % 16 == 0) clFinish(queue);
    }
    clFinish(queue);
    puts("done");
    return 0;
}
