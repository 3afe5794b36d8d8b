/* The calls that enqueue a command and give back its event, which is the last parameter and may be
 * NULL. clEnqueueMapBuffer(), which returns memory, is not among them.
 *
 * Read first: nothing.
 */
#ifndef CL_ENQUEUES_H
#define CL_ENQUEUES_H

/* X(name without "cl", (parameters), arguments). */
#define CL_ENQUEUES(X)                                                                             \
    X(EnqueueNDRangeKernel,                                                                        \
      (cl_command_queue a, cl_kernel b, cl_uint c, const size_t *d, const size_t *e,               \
       const size_t *g, cl_uint h, const cl_event *i, cl_event *event),                            \
      a, b, c, d, e, g, h, i, event)                                                               \
    X(EnqueueReadBuffer,                                                                           \
      (cl_command_queue a, cl_mem b, cl_bool c, size_t d, size_t e, void *g, cl_uint h,            \
       const cl_event *i, cl_event *event),                                                        \
      a, b, c, d, e, g, h, i, event)                                                               \
    X(EnqueueWriteBuffer,                                                                          \
      (cl_command_queue a, cl_mem b, cl_bool c, size_t d, size_t e, const void *g, cl_uint h,      \
       const cl_event *i, cl_event *event),                                                        \
      a, b, c, d, e, g, h, i, event)                                                               \
    X(EnqueueFillBuffer,                                                                           \
      (cl_command_queue a, cl_mem b, const void *c, size_t d, size_t e, size_t g, cl_uint h,       \
       const cl_event *i, cl_event *event),                                                        \
      a, b, c, d, e, g, h, i, event)                                                               \
    X(EnqueueCopyBuffer,                                                                           \
      (cl_command_queue a, cl_mem b, cl_mem c, size_t d, size_t e, size_t g, cl_uint h,            \
       const cl_event *i, cl_event *event),                                                        \
      a, b, c, d, e, g, h, i, event)                                                               \
    X(EnqueueMarkerWithWaitList,                                                                   \
      (cl_command_queue a, cl_uint b, const cl_event *c, cl_event *event), a, b, c, event)         \
    X(EnqueueUnmapMemObject,                                                                       \
      (cl_command_queue a, cl_mem b, void *c, cl_uint d, const cl_event *e, cl_event *event), a,   \
      b, c, d, e, event)

#endif
