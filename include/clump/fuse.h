/* Loops in one launch: several do-all kernels over the same class become one kernel (Springer's
 * thesis, 4.1).
 *
 * A kernel made from the kernels a, b, c visits each object once, with the body of a, then the body
 * of b, then the body of c. An object's fields are therefore still in registers or caches for the
 * next loop, and one launch suffices. The results equal those from a, b, c in sequence, bit for bit
 * (floating point: see below). Kernels that would produce other results are refused: the error
 * names the kernels, the field and the lines. The library verifies this in the text of the kernels.
 *
 * Kernels can be fused if they belong to one program, and each has CLUMP_HEAP_NO_ALLOC and consists
 * of one loop,
 *
 *     __kernel void name(CLUMP_HEAP_NO_ALLOC, parameters...) {
 *         const declarations                     (in the last kernel: any statements)
 *         CLUMP_FOR_EACH(Class, self) body
 *         CLUMP_REDUCE(type, value, combine);    (only in the last kernel, or not at all)
 *     }
 *
 * all over the same class. If one loop writes a field and another one uses it, each may use it only
 * in the object that both visit. A field is refused in two cases:
 *
 *   - one loop writes it, and another one reads or writes it in other objects
 *   - one loop writes it in other objects, and another one reads or writes it
 *
 * A field that no other loop writes may be read in any object. The library finds the uses of a
 * field in the kernel's text: in the accessors of its body, and in the functions of the program
 * that it calls, with the program's macros expanded. The object is the loop's own if the argument
 * of an accessor is `self`, its up-cast or down-cast, or a function's parameter that got one of
 * these. Any other reference means another object, also a copy of `self`. A field whose address is
 * used, as for an atomic operation, counts as written in all objects. The library trusts a
 * parameter that points to const.
 *
 * Other kernels are refused as well, since their result may depend on the order of the loops or is
 * not visible in the text:
 *
 *   - kernels that may make or free objects (CLUMP_HEAP)
 *   - CLUMP_NUMBERS, and loops other than CLUMP_FOR_EACH with CLUMP_FOR_WHOLE_CLASS inside
 *   - return, goto, and break out of the loop
 *   - work-item functions such as get_global_id()
 *   - barriers, local memory, images, printf, reqd_work_group_size
 *   - parameters changed in a loop, except in the last kernel
 *   - calls of functions outside the program (CLUMP_DISPATCH, raw memory, maps and grids)
 *   - programs with #include, or with non-constant variables at file scope
 *
 * Buffers: two of the kernels may have the same buffer, or overlapping parts of one, only if both
 * point to const. Each launch verifies this, since parameters change. It also verifies that none is
 * the heap's own buffer.
 *
 * Floating point: OpenCL lets a compiler contract a product and a sum into one operation, also if
 * the product is computed in one loop and the sum in another. On NVIDIA the bodies are kept
 * separate for that reason. Elsewhere, results may differ in the last bit if a sum has a product as
 * an operand. fma() or `#pragma OPENCL FP_CONTRACT OFF` make such sums equal. The pragma does not
 * apply to built-in functions. Their bits may depend on the place of a work-item in its group and
 * on the group's size, such as with rsqrt() on Intel's CPU runtime (docs/portability.md). A
 * reduction in floating point is equal if the device runs both kernels in groups of the same size.
 * It does this unless the fused kernel needs too many registers.
 *
 * A fused kernel needs one compilation, which lasts as long as for the program itself. For this
 * reason there is a kernel and not a call for each launch. The kernel is kept between processes if
 * programs are kept (context.h). A launch costs the same as for other kernels.
 *
 * Read first: program.h, run.h. An example: docs/guide/fused-loops.md.
 */
#ifndef CLUMP_FUSE_H
#define CLUMP_FUSE_H

#include "clump/run.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Maximum number of kernels in a fused one. */
#define CLUMP_FUSED_KERNELS_MAX 16u

/* CONSTRUCTOR. Make one kernel that does the work of these in sequence, for clump_heap_do_all(),
 * clump_heap_launch(), and, if the last one ends in CLUMP_REDUCE, clump_heap_reduce(). It does not
 * have parameters. Each launch uses the present parameters of the kernels that it was made from, as
 * set by clump_kernel_set_arg(). These kernels can still run separately.
 *   kernels  [in]   in the order in which they would be launched. A kernel may occur more than
 *                   once. They may be destroyed before the fused kernel, which keeps their
 *                   parameters
 *   count    [in]   1 .. CLUMP_FUSED_KERNELS_MAX
 *   fused    [out]  to be destroyed by clump_kernel_destroy()
 *   error    [out, optional]
 * A launch also fails with CLUMP_ERR_USAGE if two kernels share a buffer as above, and runs nothing
 * then.
 * Blocks: yes, while the device's compiler runs.
 * Threads: as for clump_kernel_create().
 * Returns CLUMP_OK, or:
 *   CLUMP_ERR_USAGE  the kernels cannot be fused: the error has the reason, with kernel, line and
 *                    field
 *   CLUMP_ERR_BUILD  the device's compiler refuses the fused program
 *   CLUMP_ERR_UNSUPPORTED (as clump_kernel_create()), CLUMP_ERR_CL, CLUMP_ERR_HOST_MEMORY */
CLUMP_API clump_status clump_kernel_create_fused(clump_kernel *const *kernels, uint32_t count,
                                                 clump_kernel **fused, clump_error *error);

#ifdef __cplusplus
}
#endif
#endif
