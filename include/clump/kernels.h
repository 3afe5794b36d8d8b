/* Kernel objects that the caller owns: several of one name, each with separate parameters.
 * Otherwise clump_program_get_kernel() is enough.
 *
 * Threads: as for the context.
 * Read first: program.h.
 */
#ifndef CLUMP_KERNELS_H
#define CLUMP_KERNELS_H

#include "clump/program.h"

#ifdef __cplusplus
extern "C" {
#endif

/* CONSTRUCTOR. Make the kernel `name`, whose first parameter must be CLUMP_HEAP or
 * CLUMP_HEAP_NO_ALLOC.
 *   kernel  [out]  NULL on failure
 *   error   [out, optional]
 * Blocks: no.
 * Returns CLUMP_OK, or:
 *   CLUMP_ERR_NOT_FOUND    no such kernel: the error lists the kernels of the program
 *   CLUMP_ERR_USAGE        the first parameter is not the heap, or the name is a built-in function
 *                          or a word of OpenCL C (mix, step). Some implementations compile such a
 *                          kernel and then do not find it
 *   CLUMP_ERR_UNSUPPORTED  with the library's kernels for GPUs: the device runs the kernel only in
 *                          work-groups that are smaller than a row (64)
 *   CLUMP_ERR_CL, CLUMP_ERR_HOST_MEMORY */
CLUMP_API clump_status clump_kernel_create(clump_program *program, const char *name,
                                           clump_kernel **kernel, clump_error *error);

/* DESTRUCTOR. NULL is allowed. */
CLUMP_API void clump_kernel_destroy(clump_kernel *kernel);

/* METHOD. Return the number of parameters that clump_kernel_set_arg() can set. For a fused kernel,
 * this is 0. */
CLUMP_API uint32_t clump_kernel_get_arg_count(const clump_kernel *kernel);

#ifdef __cplusplus
}
#endif
#endif
