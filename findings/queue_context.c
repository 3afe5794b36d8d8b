/* Does a queue keep its context alive?
 *
 *   cc -o queue_context queue_context.c -lOpenCL && ./queue_context
 *
 * Releases the one reference to a context that has a queue, and retains the context again, as the queue tells it: 0 is right.
 */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>

int main(void) {
    cl_platform_id platform;
    cl_device_id device;
    cl_int code;
    char name[256] = "";
    if (clGetPlatformIDs(1, &platform, NULL) ||
        clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL))
        return 2;
    clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof name, name, NULL);
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &code), told = NULL;
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, &code);
    if (code) return 2;
    clReleaseContext(context);
    clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof told, &told, NULL);
    code = clRetainContext(told);
    printf("%s: %d\n", name, (int)code);
    return code != 0;
}
