/* Buffers of the device. See buffers.h. */
#include "buffers.h"

void bench_buffers_release(bench_buffers *buffers) {
    for (int i = 0; i < BENCH_BUFFERS_MAX; i++) {
        bench_buffer_drop(buffers, buffers->all[i]);
    }
}

int bench_buffer_make(bench_buffers *buffers, size_t bytes, cl_mem *buffer, bench_error *error) {
    cl_int code = CL_SUCCESS;
    int i = 0;
    while (i < BENCH_BUFFERS_MAX && buffers->all[i]) {
        i++;
    }
    if (i == BENCH_BUFFERS_MAX) {
        return bench_error_set(error, "there is room for %d buffers", BENCH_BUFFERS_MAX);
    }
    *buffer = buffers->all[i] =
        clCreateBuffer(buffers->context, CL_MEM_READ_WRITE, bytes, NULL, &code);
    return code == CL_SUCCESS ? 0 : bench_error_cl(error, "a buffer", code);
}

int bench_buffer_create(bench_buffers *buffers, size_t count, size_t bytes, const void *from,
                        cl_mem *buffer, bench_error *error) {
    size_t all = count ? count * bytes : bytes; /* OpenCL has no empty buffers */
    if (bench_buffer_make(buffers, all, buffer, error)) return -1;
    return from && count ? bench_buffer_write(buffers, *buffer, all, from, error)
                         : bench_buffer_clear(buffers, *buffer, all, error);
}

void bench_buffer_drop(bench_buffers *buffers, cl_mem buffer) {
    for (int i = 0; buffer && i < BENCH_BUFFERS_MAX; i++) {
        if (buffers->all[i] == buffer) {
            clReleaseMemObject(buffer);
            buffers->all[i] = NULL;
            return;
        }
    }
}

int bench_buffer_clear(bench_buffers *buffers, cl_mem buffer, size_t bytes, bench_error *error) {
    static const cl_uchar zero = 0;
    cl_int code = clEnqueueFillBuffer(buffers->queue, buffer, &zero, 1, 0, bytes, 0, NULL, NULL);
    return code == CL_SUCCESS ? 0 : bench_error_cl(error, "clearing a buffer", code);
}

int bench_buffer_write(bench_buffers *buffers, cl_mem buffer, size_t bytes, const void *values,
                       bench_error *error) {
    cl_int code =
        clEnqueueWriteBuffer(buffers->queue, buffer, CL_TRUE, 0, bytes, values, 0, NULL, NULL);
    return code == CL_SUCCESS ? 0 : bench_error_cl(error, "writing a buffer", code);
}

int bench_buffer_read(bench_buffers *buffers, cl_mem buffer, size_t at, size_t bytes, void *values,
                      bench_error *error) {
    cl_int code =
        clEnqueueReadBuffer(buffers->queue, buffer, CL_TRUE, at, bytes, values, 0, NULL, NULL);
    return code == CL_SUCCESS ? 0 : bench_error_cl(error, "reading a buffer", code);
}
