/* The OpenCL entry points that the library calls, as a table.
 *
 * A host program may pass a table in clump_context_desc: to trace, to use a loader, or to make the
 * n-th call fail in a test. Members left NULL mean the linked function.
 *
 * The functions of CLUMP_CL_OPTIONAL_LIST are not linked, since a loader of OpenCL 1.2 has none of
 * them. The library looks them up in the loader and on the platform when a context is created. A
 * function that is not found stays NULL, and features that need it are missing
 * (clump_capabilities.pointers).
 *
 * Read first: nothing.
 */
#ifndef CLUMP_CL_FUNCTIONS_H
#define CLUMP_CL_FUNCTIONS_H

#ifndef CL_TARGET_OPENCL_VERSION
/* A program that needs newer parts of CL/cl.h defines it before. */
#define CL_TARGET_OPENCL_VERSION 120
#endif
#include <CL/cl.h>

/* The list of entry points: X(name, result, parameters) means the function `clName`. The compiler
 * compares these types with the linked functions where host/core/device.c puts these into a
 * table. */
#define CLUMP_CL_FUNCTION_LIST(X)                                                                  \
    X(GetDeviceInfo, cl_int, (cl_device_id, cl_device_info, size_t, void *, size_t *))             \
    X(GetPlatformInfo, cl_int, (cl_platform_id, cl_platform_info, size_t, void *, size_t *))       \
    X(GetContextInfo, cl_int, (cl_context, cl_context_info, size_t, void *, size_t *))             \
    X(GetCommandQueueInfo, cl_int,                                                                 \
      (cl_command_queue, cl_command_queue_info, size_t, void *, size_t *))                         \
    X(RetainContext, cl_int, (cl_context))                                                         \
    X(ReleaseContext, cl_int, (cl_context))                                                        \
    X(CreateCommandQueue, cl_command_queue,                                                        \
      (cl_context, cl_device_id, cl_command_queue_properties, cl_int *))                           \
    X(RetainCommandQueue, cl_int, (cl_command_queue))                                              \
    X(ReleaseCommandQueue, cl_int, (cl_command_queue))                                             \
    X(CreateBuffer, cl_mem, (cl_context, cl_mem_flags, size_t, void *, cl_int *))                  \
    X(RetainMemObject, cl_int, (cl_mem))                                                           \
    X(ReleaseMemObject, cl_int, (cl_mem))                                                          \
    X(GetMemObjectInfo, cl_int, (cl_mem, cl_mem_info, size_t, void *, size_t *))                   \
    X(CreateSubBuffer, cl_mem,                                                                     \
      (cl_mem, cl_mem_flags, cl_buffer_create_type, const void *, cl_int *))                       \
    X(SetMemObjectDestructorCallback, cl_int,                                                      \
      (cl_mem, void(CL_CALLBACK *)(cl_mem, void *), void *))                                       \
    X(CreateProgramWithSource, cl_program,                                                         \
      (cl_context, cl_uint, const char **, const size_t *, cl_int *))                              \
    X(CreateProgramWithBinary, cl_program,                                                         \
      (cl_context, cl_uint, const cl_device_id *, const size_t *, const unsigned char **,          \
       cl_int *, cl_int *))                                                                        \
    X(BuildProgram, cl_int,                                                                        \
      (cl_program, cl_uint, const cl_device_id *, const char *,                                    \
       void(CL_CALLBACK *)(cl_program, void *), void *))                                           \
    X(GetProgramBuildInfo, cl_int,                                                                 \
      (cl_program, cl_device_id, cl_program_build_info, size_t, void *, size_t *))                 \
    X(GetProgramInfo, cl_int, (cl_program, cl_program_info, size_t, void *, size_t *))             \
    X(ReleaseProgram, cl_int, (cl_program))                                                        \
    X(CreateKernel, cl_kernel, (cl_program, const char *, cl_int *))                               \
    X(ReleaseKernel, cl_int, (cl_kernel))                                                          \
    X(SetKernelArg, cl_int, (cl_kernel, cl_uint, size_t, const void *))                            \
    X(GetKernelInfo, cl_int, (cl_kernel, cl_kernel_info, size_t, void *, size_t *))                \
    X(GetKernelArgInfo, cl_int,                                                                    \
      (cl_kernel, cl_uint, cl_kernel_arg_info, size_t, void *, size_t *))                          \
    X(GetKernelWorkGroupInfo, cl_int,                                                              \
      (cl_kernel, cl_device_id, cl_kernel_work_group_info, size_t, void *, size_t *))              \
    X(EnqueueNDRangeKernel, cl_int,                                                                \
      (cl_command_queue, cl_kernel, cl_uint, const size_t *, const size_t *, const size_t *,       \
       cl_uint, const cl_event *, cl_event *))                                                     \
    X(EnqueueReadBuffer, cl_int,                                                                   \
      (cl_command_queue, cl_mem, cl_bool, size_t, size_t, void *, cl_uint, const cl_event *,       \
       cl_event *))                                                                                \
    X(EnqueueWriteBuffer, cl_int,                                                                  \
      (cl_command_queue, cl_mem, cl_bool, size_t, size_t, const void *, cl_uint, const cl_event *, \
       cl_event *))                                                                                \
    X(EnqueueFillBuffer, cl_int,                                                                   \
      (cl_command_queue, cl_mem, const void *, size_t, size_t, size_t, cl_uint, const cl_event *,  \
       cl_event *))                                                                                \
    X(EnqueueCopyBuffer, cl_int,                                                                   \
      (cl_command_queue, cl_mem, cl_mem, size_t, size_t, size_t, cl_uint, const cl_event *,        \
       cl_event *))                                                                                \
    X(EnqueueMapBuffer, void *,                                                                    \
      (cl_command_queue, cl_mem, cl_bool, cl_map_flags, size_t, size_t, cl_uint, const cl_event *, \
       cl_event *, cl_int *))                                                                      \
    X(EnqueueUnmapMemObject, cl_int,                                                               \
      (cl_command_queue, cl_mem, void *, cl_uint, const cl_event *, cl_event *))                   \
    X(EnqueueMarkerWithWaitList, cl_int,                                                           \
      (cl_command_queue, cl_uint, const cl_event *, cl_event *))                                   \
    X(WaitForEvents, cl_int, (cl_uint, const cl_event *))                                          \
    X(GetEventInfo, cl_int, (cl_event, cl_event_info, size_t, void *, size_t *))                   \
    X(RetainEvent, cl_int, (cl_event))                                                             \
    X(ReleaseEvent, cl_int, (cl_event))                                                            \
    X(GetEventProfilingInfo, cl_int, (cl_event, cl_profiling_info, size_t, void *, size_t *))      \
    X(Flush, cl_int, (cl_command_queue))                                                           \
    X(Finish, cl_int, (cl_command_queue))                                                          \
    X(GetExtensionFunctionAddressForPlatform, void *, (cl_platform_id, const char *))

/* Functions of OpenCL 2.0: shared virtual memory. The headers leave out some types for a target of
 * 1.2. The list has their definitions: cl_svm_mem_flags is a cl_bitfield, cl_kernel_exec_info a
 * cl_uint. */
#define CLUMP_CL_SVM_LIST(X)                                                                       \
    X(SVMAlloc, void *, (cl_context, cl_bitfield, size_t, cl_uint))                                \
    X(SVMFree, void, (cl_context, void *))                                                         \
    X(SetKernelArgSVMPointer, cl_int, (cl_kernel, cl_uint, const void *))                          \
    X(SetKernelExecInfo, cl_int, (cl_kernel, cl_uint, size_t, const void *))

/* Functions of cl_intel_unified_shared_memory. The properties of an allocation are a list of pairs,
 * or NULL. */
#define CLUMP_CL_USM_LIST(X)                                                                       \
    X(HostMemAllocINTEL, void *, (cl_context, const cl_bitfield *, size_t, cl_uint, cl_int *))     \
    X(DeviceMemAllocINTEL, void *,                                                                 \
      (cl_context, cl_device_id, const cl_bitfield *, size_t, cl_uint, cl_int *))                  \
    X(SharedMemAllocINTEL, void *,                                                                 \
      (cl_context, cl_device_id, const cl_bitfield *, size_t, cl_uint, cl_int *))                  \
    X(MemFreeINTEL, cl_int, (cl_context, void *))                                                  \
    X(SetKernelArgMemPointerINTEL, cl_int, (cl_kernel, cl_uint, const void *))                     \
    X(EnqueueMemcpyINTEL, cl_int,                                                                  \
      (cl_command_queue, cl_bool, void *, const void *, size_t, cl_uint, const cl_event *,         \
       cl_event *))                                                                                \
    X(EnqueueMemFillINTEL, cl_int,                                                                 \
      (cl_command_queue, void *, const void *, size_t, size_t, cl_uint, const cl_event *,          \
       cl_event *))

/* A function of OpenCL 3.0 that cl_ext_buffer_device_address needs. cl_mem_properties is a
 * cl_bitfield. */
#define CLUMP_CL_ADDRESS_LIST(X)                                                                   \
    X(CreateBufferWithProperties, cl_mem,                                                          \
      (cl_context, const cl_bitfield *, cl_mem_flags, size_t, void *, cl_int *))

/* All functions that a device may lack. */
#define CLUMP_CL_OPTIONAL_LIST(X)                                                                  \
    CLUMP_CL_SVM_LIST(X)                                                                           \
    CLUMP_CL_USM_LIST(X)                                                                           \
    CLUMP_CL_ADDRESS_LIST(X)

/* The table. Later versions add functions at its end. */
typedef struct clump_cl_functions {
    size_t size; /* sizeof(clump_cl_functions) */
#define CLUMP_CL_MEMBER(name, result, parameters) result(CL_API_CALL *name) parameters;
    CLUMP_CL_FUNCTION_LIST(CLUMP_CL_MEMBER)
    CLUMP_CL_OPTIONAL_LIST(CLUMP_CL_MEMBER)
#undef CLUMP_CL_MEMBER
} clump_cl_functions;

#endif
