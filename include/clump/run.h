/* Running kernels: do-all, do-new and reduction.
 *
 * All calls enqueue on the context's queue (context.h) and return; none reads anything back except
 * where it says "Blocks: yes". A kernel sees, in its CLUMP_FOR_EACH and CLUMP_FOR_WHOLE_CLASS
 * loops, the objects that existed when it was enqueued: a list of non-empty rows with their bitmaps
 * is made on the device by at most two small launches before it. Kernels whose heap parameter is
 * CLUMP_HEAP_NO_ALLOC promise to neither make nor free objects: after them the list is used again.
 *
 * Read first: program.h. Read next: docs/internals/heap.md.
 */
#ifndef CLUMP_RUN_H
#define CLUMP_RUN_H

#include "clump/program.h"

#ifdef __cplusplus
extern "C" {
#endif

/* METHOD. Do-all: launch `kernel` so that its loops cover all live objects of the classes that they
 * name (Springer's thesis 5.2.2). At most 3 launches, no readback.
 *   sync  [in, optional]
 * Blocks: no. Returns CLUMP_OK; CLUMP_ERR_USAGE program and heap have different layouts, an
 * argument was never set, or the kernel has a reqd_work_group_size, for which there is
 * clump_heap_launch(); CLUMP_ERR_CL. */
CLUMP_API clump_status clump_heap_do_all(clump_heap *heap, clump_kernel *kernel,
                                         const clump_sync *sync);

/* METHOD. The same with work sizes of the caller's, for kernels that are not loops over objects
 * (makers of objects, kernels with barriers, benchmarks). `global` must be a multiple of `local`;
 * if the kernel has CLUMP_FOR_EACH loops, of 64 too, else they do not cover all objects.
 * Blocks: no. */
CLUMP_API clump_status clump_heap_launch(clump_heap *heap, clump_kernel *kernel, size_t global,
                                         size_t local, const clump_sync *sync);

/* METHOD. Do-new: make `count` objects of a class and run `kernel` once for each; the kernel takes
 * them with CLUMP_FOR_EACH_NEW(Class, self, index), index 0 .. made-1. Whole rows of fresh blocks
 * are claimed without per-object atomics, then free slots of blocks in use; objects that do not fit
 * are reported as OUT_OF_MEMORY and `made` is smaller.
 *   made  [out, optional]  objects made; asking for it makes the call block
 *   sync  [in, optional]
 * If the kernel cannot be enqueued (CLUMP_ERR_CL), or its loop is of another class, which the heap
 * reports (WRONG_LAUNCH of heap.h), the objects are there, undefined.
 * Blocks: only if `made` is given. Returns CLUMP_OK; CLUMP_ERR_NOT_FOUND; CLUMP_ERR_USAGE abstract
 * class, count above 2^31, a kernel with CLUMP_NUMBERS, program of another layout; CLUMP_ERR_CL. */
CLUMP_API clump_status clump_heap_do_new(clump_heap *heap, clump_kernel *kernel,
                                         const char *class_name, uint64_t count, uint64_t *made,
                                         const clump_sync *sync);

/* METHOD. Do-all with reduction: as clump_heap_do_all() for a kernel that ends in CLUMP_REDUCE,
 *
 *     float sum = 0;
 *     CLUMP_FOR_EACH(Agent, a) sum += Agent_energy(a);
 *     CLUMP_REDUCE(float, sum, CLUMP_SUM)
 *
 * then read the result. Sum, min, max and user-defined combiners are CLUMP_SUM, CLUMP_MIN,
 * CLUMP_MAX and any function of two values; a count is the sum of ones. The result does not depend
 * on timing: partial results are combined in a fixed order.
 *   result, bytes  [out]  the value, of the type named in CLUMP_REDUCE, which has at most 128 bytes
 *   sync           [in, optional]
 * Blocks: yes. Returns CLUMP_OK; CLUMP_ERR_USAGE as clump_heap_do_all(), or no result, or `bytes`
 * are not those of the type, or the kernel or some of its work-groups came to no CLUMP_REDUCE; what
 * a kernel reduces is known when it ran once, so the first time it has run then; CLUMP_ERR_CL. */
CLUMP_API clump_status clump_heap_reduce(clump_heap *heap, clump_kernel *kernel, size_t bytes,
                                         void *result, const clump_sync *sync);

#ifdef __cplusplus
}
#endif
#endif
