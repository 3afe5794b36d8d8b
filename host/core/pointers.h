/* Memory that is known by a pointer: coarse-grained shared virtual memory (SVM) of OpenCL 2.0,
 * unified shared memory (USM) of cl_intel_unified_shared_memory, and buffers of
 * cl_ext_buffer_device_address. clump_capabilities.pointers says which of it a device has.
 *
 * Such memory is seen in two ways: by its pointer, and as a cl_mem made over it by
 * CL_MEM_USE_HOST_PTR. OpenCL 2.0 promises that both are the same memory for SVM. For USM nothing
 * is promised, so it is tried each time: `buffer` is NULL where it is not so. A buffer with an
 * address is a buffer first, and the host cannot use its pointer.
 *
 * Read first: core.h.
 */
#ifndef CLUMPI_POINTERS_H
#define CLUMPI_POINTERS_H

#include "core/core.h"

/* Of OpenCL 2.0 and the extension, which the headers leave out for a target of 1.2. */
#define CLUMPI_DEVICE_SVM_CAPABILITIES 0x1053u
#define CLUMPI_SVM_COARSE_GRAIN_BUFFER 1u
#define CLUMPI_DEVICE_HOST_MEM_CAPABILITIES 0x4190u
#define CLUMPI_DEVICE_DEVICE_MEM_CAPABILITIES 0x4191u
#define CLUMPI_DEVICE_SHARED_MEM_CAPABILITIES 0x4192u /* of a single device */
#define CLUMPI_USM_ACCESS 1u
#define CLUMPI_KERNEL_EXEC_INFO_SVM_PTRS 0x11B6u
#define CLUMPI_KERNEL_EXEC_INFO_DEVICE_PTRS 0x5002u
#define CLUMPI_MEM_DEVICE_PRIVATE_ADDRESS 0x5000u
#define CLUMPI_MEM_DEVICE_ADDRESS 0x5001u

/* Bytes of which all pointers are multiples: the size of the largest type (long16), beyond which an
 * implementation need not go. */
#define CLUMPI_POINTER_ALIGN 128u

/* Fill in the entries that are NULL; returns whether all are there then. Any thread. */
int clumpi_svm_functions_find(clump_cl_functions *cl);
int clumpi_usm_functions_find(clump_cl_functions *cl, cl_platform_id platform);
int clumpi_address_functions_find(clump_cl_functions *cl);

typedef struct clumpi_pointers {
    clump_pointers kind; /* one bit */
    void *pointer;       /* a multiple of CLUMPI_POINTER_ALIGN */
    cl_mem buffer;       /* of the same memory; NULL: there is none such */
} clumpi_pointers;

/* CONSTRUCTOR. Memory of one kind, with undefined contents. Of SVM there is always a buffer: an
 * implementation that makes none over it fails.
 *   queue  of the context, for trying USM; NULL for other kinds
 *   made   [out]  all zero on failure
 * Blocks: for USM, until all commands of the queue are done.
 * Returns CLUMP_OK; CLUMP_ERR_UNSUPPORTED the device has no such memory; CLUMP_ERR_DEVICE_MEMORY;
 * CLUMP_ERR_CL. */
clump_status clumpi_pointers_create(clump_context *c, clump_pointers kind, uint64_t bytes,
                                    cl_command_queue queue, clumpi_pointers *made,
                                    clump_error *error);

/* DESTRUCTOR. A pointer is not counted as a cl_mem is: the commands of other queues that use it
 * must be done.
 * Blocks: until all commands of the queue are done. If OpenCL fails to wait or to release the
 * buffer, the memory is not given back. */
void clumpi_pointers_release(clump_context *c, cl_command_queue queue, clumpi_pointers *p);

/* The kind that kernels find by pointers in memory (clumpi_point() in core.h); 0: none. */
static inline clump_pointers clumpi_pointers_kind(const clump_context *c) {
    const uint32_t has = c->capabilities.pointers;
    return has & CLUMP_POINTERS_SVM ? CLUMP_POINTERS_SVM
                                    : (clump_pointers)(has & CLUMP_POINTERS_ADDRESS);
}

/* What a person calls a kind: "SVM", "USM of the host". */
const char *clumpi_pointers_name(clump_pointers kind);

#endif
