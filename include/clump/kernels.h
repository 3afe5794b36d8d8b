/* Kernel objects of the caller's: several of one name, each with parameters of its own. Else
 * clump_program_get_kernel() is enough.
 *
 * Threads: as for the context. Read first: program.h.
 */
#ifndef CLUMP_KERNELS_H
#define CLUMP_KERNELS_H

#include "clump/program.h"

#ifdef __cplusplus
extern "C" {
#endif

/* CONSTRUCTOR. The kernel `name`, whose first parameter must be CLUMP_HEAP or CLUMP_HEAP_NO_ALLOC.
 * Blocks: no. Returns CLUMP_OK; CLUMP_ERR_NOT_FOUND, the error lists the kernels that there are;
 * CLUMP_ERR_USAGE first parameter is no heap, or the name is that of a built-in function or a word
 * of OpenCL C (mix, step), which some implementations compile and then do not find;
 * CLUMP_ERR_UNSUPPORTED the device runs it only in work-groups that are smaller than a row (64)
 * where the library's kernels for GPUs are used; CLUMP_ERR_CL; CLUMP_ERR_HOST_MEMORY. */
CLUMP_API clump_status clump_kernel_create(clump_program *program, const char *name,
                                           clump_kernel **kernel, clump_error *error);

/* DESTRUCTOR. NULL is allowed. */
CLUMP_API void clump_kernel_destroy(clump_kernel *kernel);

/* METHOD. How many parameters clump_kernel_set_arg() can set; of a fused kernel none. */
CLUMP_API uint32_t clump_kernel_get_arg_count(const clump_kernel *kernel);

#ifdef __cplusplus
}
#endif
#endif
