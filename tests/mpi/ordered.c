/* See ordered.h. A function of a program stands before that of a library, for the library too. */
#define _GNU_SOURCE /* RTLD_NEXT. NOLINT(bugprone-reserved-identifier) */
#include "ordered.h"

#include <dlfcn.h>
#include <string.h>

#include "cl_order.h"

static int is_on, is_inside;

static void find_real(const char *name, void *function) {
    void *found = dlsym(RTLD_NEXT, name);
    memcpy(function, &found, sizeof found);
}

/* `looked` calls the real one in its turn. */
#define LOOKED_AT(type, name, parameters, arguments, looked)                                       \
    type CL_API_CALL name parameters {                                                             \
        static type(CL_API_CALL *real) parameters;                                                 \
        if (!real) find_real(#name, &real);                                                        \
        if (!is_on || is_inside) return real arguments;                                            \
        is_inside = 1;                                                                             \
        type result = looked arguments;                                                            \
        is_inside = 0;                                                                             \
        return result;                                                                             \
    }

LOOKED_AT(cl_command_queue, clCreateCommandQueue,
          (cl_context a, cl_device_id b, cl_command_queue_properties c, cl_int *d), (a, b, c, d),
          cl_order_functions.CreateCommandQueue)
LOOKED_AT(cl_mem, clCreateBuffer, (cl_context a, cl_mem_flags b, size_t c, void *d, cl_int *e),
          (a, b, c, d, e), cl_order_functions.CreateBuffer)
LOOKED_AT(cl_mem, clCreateSubBuffer,
          (cl_mem a, cl_mem_flags b, cl_buffer_create_type c, const void *d, cl_int *e),
          (a, b, c, d, e), cl_order_functions.CreateSubBuffer)
LOOKED_AT(cl_kernel, clCreateKernel, (cl_program a, const char *b, cl_int *c), (a, b, c),
          cl_order_functions.CreateKernel)
LOOKED_AT(cl_int, clSetKernelArg, (cl_kernel a, cl_uint b, size_t c, const void *d), (a, b, c, d),
          cl_order_functions.SetKernelArg)
LOOKED_AT(cl_int, clEnqueueNDRangeKernel,
          (cl_command_queue a, cl_kernel b, cl_uint c, const size_t *d, const size_t *e,
           const size_t *f, cl_uint g, const cl_event *h, cl_event *i),
          (a, b, c, d, e, f, g, h, i), cl_order_functions.EnqueueNDRangeKernel)
LOOKED_AT(cl_int, clEnqueueReadBuffer,
          (cl_command_queue a, cl_mem b, cl_bool c, size_t d, size_t e, void *f, cl_uint g,
           const cl_event *h, cl_event *i),
          (a, b, c, d, e, f, g, h, i), cl_order_functions.EnqueueReadBuffer)
LOOKED_AT(cl_int, clEnqueueWriteBuffer,
          (cl_command_queue a, cl_mem b, cl_bool c, size_t d, size_t e, const void *f, cl_uint g,
           const cl_event *h, cl_event *i),
          (a, b, c, d, e, f, g, h, i), cl_order_functions.EnqueueWriteBuffer)
LOOKED_AT(cl_int, clEnqueueFillBuffer,
          (cl_command_queue a, cl_mem b, const void *c, size_t d, size_t e, size_t f, cl_uint g,
           const cl_event *h, cl_event *i),
          (a, b, c, d, e, f, g, h, i), cl_order_functions.EnqueueFillBuffer)
LOOKED_AT(cl_int, clEnqueueCopyBuffer,
          (cl_command_queue a, cl_mem b, cl_mem c, size_t d, size_t e, size_t f, cl_uint g,
           const cl_event *h, cl_event *i),
          (a, b, c, d, e, f, g, h, i), cl_order_functions.EnqueueCopyBuffer)
LOOKED_AT(cl_int, clEnqueueMarkerWithWaitList,
          (cl_command_queue a, cl_uint b, const cl_event *c, cl_event *d), (a, b, c, d),
          cl_order_functions.EnqueueMarkerWithWaitList)
LOOKED_AT(cl_int, clWaitForEvents, (cl_uint a, const cl_event *b), (a, b),
          cl_order_functions.WaitForEvents)
LOOKED_AT(cl_int, clFinish, (cl_command_queue a), (a), cl_order_functions.Finish)
LOOKED_AT(cl_int, clEnqueueBarrierWithWaitList,
          (cl_command_queue a, cl_uint b, const cl_event *c, cl_event *d), (a, b, c, d),
          cl_order_barrier)

void ordered_begin(void) {
    cl_order_begin();
    is_on = 1;
}

const char *ordered_end(void) {
    static char words[300];
    const char *complaint = cl_order_complaint();
    if (complaint) strncpy(words, complaint, sizeof words - 1);
    cl_order_begin();
    return complaint ? words : NULL;
}
