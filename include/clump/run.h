/* Running kernels: do-all, do-new and reduction.
 *
 * All calls enqueue on the context's queue (context.h) and return. They wait for nothing from the
 * device, except where the comment says "Blocks: yes". The loops CLUMP_FOR_EACH and
 * CLUMP_FOR_WHOLE_CLASS of a kernel visit the objects that existed when the kernel was enqueued.
 * For this purpose at most two small launches before the kernel make a list of non-empty rows with
 * their bitmaps. A kernel whose heap parameter is CLUMP_HEAP_NO_ALLOC neither makes nor frees
 * objects: the list stays valid after it and is used again. The first launch of a program on a heap
 * compares their classes, and later ones do not.
 *
 * Read first: program.h. Read next: docs/internals/heap.md.
 */
#ifndef CLUMP_RUN_H
#define CLUMP_RUN_H

#include "clump/program.h"

#ifdef __cplusplus
extern "C" {
#endif

/* METHOD. Do-all: launch `kernel` such that its loops visit all live objects of the classes that
 * they name. At most 3 launches, in a checked heap at most 6. After a kernel that changes the class
 * of objects (docs/guide/becoming.md), up to 6 more, and one for each registered buffer. The call
 * waits for no readback. The idea is from Springer's thesis, 5.2.2.
 *   sync  [in, optional]
 * Blocks: no.
 * Returns CLUMP_OK. Fails with CLUMP_ERR_USAGE if program and heap have different layouts, if a
 * parameter was never set, or if the kernel has a reqd_work_group_size, which needs
 * clump_heap_launch(), or with CLUMP_ERR_CL. */
CLUMP_API clump_status clump_heap_do_all(clump_heap *heap, clump_kernel *kernel,
                                         const clump_sync *sync);

/* METHOD. The same with the caller's work sizes, for kernels that are not loops over objects:
 * makers of objects, kernels with barriers, benchmarks. `global` must be a multiple of `local`. If
 * the kernel has CLUMP_FOR_EACH loops, it must also be a multiple of 64, or the loops do not visit
 * all objects.
 * Blocks: no.
 * Returns the statuses of clump_heap_do_all(). Fails with CLUMP_ERR_USAGE also for sizes that are 0
 * or that do not fit the kernel or the device. */
CLUMP_API clump_status clump_heap_launch(clump_heap *heap, clump_kernel *kernel, size_t global,
                                         size_t local, const clump_sync *sync);

/* METHOD. Do-new: make `count` objects of a class and launch `kernel` once for all. The kernel
 * visits them with CLUMP_FOR_EACH_NEW(Class, self, index), where index is 0 .. made-1. Whole rows
 * of fresh blocks are claimed first, without atomic operations for each object, then free slots of
 * blocks in use. Objects that do not fit are reported as OUT_OF_MEMORY, and `made` is smaller than
 * `count`.
 *   made  [out, optional]  objects made. The call blocks if this is not NULL
 *   sync  [in, optional]
 * If the kernel cannot be enqueued (CLUMP_ERR_CL), the objects exist with undefined contents. The
 * same happens if its loop names another class, which the heap reports (WRONG_LAUNCH of heap.h).
 * Blocks: only if `made` is not NULL.
 * Returns CLUMP_OK, or:
 *   CLUMP_ERR_NOT_FOUND  no class has that name
 *   CLUMP_ERR_USAGE      the class is abstract, `count` is above 2^31, the kernel has
 *                        CLUMP_NUMBERS, or as for clump_heap_do_all()
 *   CLUMP_ERR_CL */
CLUMP_API clump_status clump_heap_do_new(clump_heap *heap, clump_kernel *kernel,
                                         const char *class_name, uint64_t count, uint64_t *made,
                                         const clump_sync *sync);

/* METHOD. Do-all with reduction: work as clump_heap_do_all() does, for a kernel that ends in
 * CLUMP_REDUCE,
 *
 *     float sum = 0;
 *     CLUMP_FOR_EACH(Agent, a) sum += Agent_energy(a);
 *     CLUMP_REDUCE(float, sum, CLUMP_SUM)
 *
 * then read the result. The combiner is CLUMP_SUM, CLUMP_MIN, CLUMP_MAX or any function of two
 * values. A count is the sum of ones. Partial results are combined in a fixed order: the result
 * does not depend on timing.
 *   result, bytes  [out]  the value, of the type named in CLUMP_REDUCE, which has at most 128 bytes
 *   sync           [in, optional]
 * Blocks: yes.
 * Returns CLUMP_OK, or:
 *   CLUMP_ERR_USAGE  as for clump_heap_do_all(), or `result` is NULL, or `bytes` differs from the
 *                    size of the type, or the kernel or some of its work-groups reached no
 *                    CLUMP_REDUCE. The library knows the type only after the kernel's first run: if
 *                    the first call fails for one of the latter reasons, the kernel has run
 *   CLUMP_ERR_CL */
CLUMP_API clump_status clump_heap_reduce(clump_heap *heap, clump_kernel *kernel, size_t bytes,
                                         void *result, const clump_sync *sync);

#ifdef __cplusplus
}
#endif
#endif
