/* The OpenCL entry points that the library calls, as a table.
 *
 * A host program may pass a table of its own in clump_context_desc: to trace, to go through a
 * loader, or to make the n-th call fail in a test. Members left NULL mean the linked function.
 *
 * Read first: nothing.
 */
#ifndef CLUMP_CL_FUNCTIONS_H
#define CLUMP_CL_FUNCTIONS_H

#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 120
#endif
#include <CL/cl.h>

/* The one list of entry points; a member `name` has the type of the function `clName`. */
#define CLUMP_CL_FUNCTION_LIST(X)                                                                  \
    X(GetDeviceInfo)                                                                               \
    X(GetPlatformInfo)                                                                             \
    X(GetContextInfo)                                                                              \
    X(GetCommandQueueInfo)                                                                         \
    X(RetainContext)                                                                               \
    X(ReleaseContext)                                                                              \
    X(RetainCommandQueue)                                                                          \
    X(ReleaseCommandQueue)                                                                         \
    X(CreateBuffer)                                                                                \
    X(RetainMemObject)                                                                             \
    X(ReleaseMemObject)                                                                            \
    X(GetMemObjectInfo)                                                                            \
    X(CreateSubBuffer)                                                                             \
    X(CreateImage)                                                                                 \
    X(CreateProgramWithSource)                                                                     \
    X(BuildProgram)                                                                                \
    X(GetProgramBuildInfo)                                                                         \
    X(ReleaseProgram)                                                                              \
    X(CreateKernel)                                                                                \
    X(ReleaseKernel)                                                                               \
    X(SetKernelArg)                                                                                \
    X(GetKernelInfo)                                                                               \
    X(GetKernelArgInfo)                                                                            \
    X(GetKernelWorkGroupInfo)                                                                      \
    X(EnqueueNDRangeKernel)                                                                        \
    X(EnqueueReadBuffer)                                                                           \
    X(EnqueueWriteBuffer)                                                                          \
    X(EnqueueFillBuffer)                                                                           \
    X(EnqueueCopyBuffer)                                                                           \
    X(EnqueueMapBuffer)                                                                            \
    X(EnqueueUnmapMemObject)                                                                       \
    X(EnqueueMarkerWithWaitList)                                                                   \
    X(WaitForEvents)                                                                               \
    X(GetEventInfo)                                                                                \
    X(RetainEvent)                                                                                 \
    X(ReleaseEvent)                                                                                \
    X(GetEventProfilingInfo)                                                                       \
    X(Flush)                                                                                       \
    X(Finish)

typedef struct clump_cl_functions {
#define CLUMP_CL_MEMBER(name) __typeof__(cl##name) *name;
    CLUMP_CL_FUNCTION_LIST(CLUMP_CL_MEMBER)
#undef CLUMP_CL_MEMBER
} clump_cl_functions;

#endif
