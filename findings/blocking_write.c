/* Blocking writes on a queue out of order: are they done when the call returns?
 *
 *   cc -o ooo_write ooo_write.c -lOpenCL && ./ooo_write
 *
 * Writes 4, 8, ... 4096 bytes, reads them back, and says how many of the 1024 were not there.
 */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include <string.h>

int main(void) {
    static cl_uint in[1024], out[1024];
    cl_platform_id platform;
    cl_device_id device;
    cl_int code;
    char name[256] = "";
    if (clGetPlatformIDs(1, &platform, NULL) ||
        clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL))
        return 2;
    clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof name, name, NULL);
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
    cl_command_queue queue =
        clCreateCommandQueue(context, device, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, &code);
    if (code) return 2;
    int wrong = 0, largest = 0;
    for (unsigned n = 1; n <= 1024; n++) {
        size_t bytes = n * sizeof *in;
        for (unsigned i = 0; i < n; i++) in[i] = n * 1000 + i;
        cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, bytes, NULL, &code);
        code |= clEnqueueWriteBuffer(queue, buffer, CL_TRUE, 0, bytes, in, 0, NULL, NULL);
        code |= clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, bytes, out, 0, NULL, NULL);
        if (code) return 2;
        if (memcmp(in, out, bytes) != 0) {
            wrong++;
            largest = (int)bytes;
        }
        clReleaseMemObject(buffer);
    }
    printf("%s: %d of 1024 wrong, the largest of %d bytes\n", name, wrong, largest);
    return wrong != 0;
}
