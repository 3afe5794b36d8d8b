/* Functions of cl_intel_unified_shared_memory for tests: the device's own, or, on CPUs that have
 * SVM and no USM, stand-ins made of SVM, so that the library's side is tested there too. Elsewhere
 * the host must map coarse-grained SVM before it touches it, and USM it must not. The library sees
 * them through a table, with what the device answers.
 *
 * Read first: cl_fixture.h, host/core/pointers.h.
 */
#ifndef USM_H
#define USM_H

#include "cl_fixture.h"

/* The functions for USM of a device, as entries of a table whose others are NULL, and an answer to
 * questions about it.
 * `has_usm`: it has USM, its own or by stand-ins. Not for several devices at a time. */
typedef struct usm_functions {
    int has_usm, is_stand_in;
    clump_cl_functions cl;
} usm_functions;
const usm_functions *usm_of(cl_device_id device);

/* Kernels that find pointers of USM in memory: tells OpenCL so. */
void usm_set_indirect(const clump_cl_functions *cl, cl_kernel kernel, clump_pointers kind);

#endif
