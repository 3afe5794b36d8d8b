/* Loops in one launch: several do-all kernels over the same class become one kernel (Springer's
 * thesis 4.1).
 *
 * A kernel that was made of the kernels a, b, c visits each object once, with the body of a, then
 * that of b, then that of c. So an object's fields are still at hand for the next loop, and there
 * is one launch. The results are those of a, b, c one after the other, bit for bit (floating point:
 * see below): what would give others is refused, with the names of the kernels and of the field,
 * and the lines. Nothing is fused on trust.
 *
 * What can be fused. Kernels of one program, each of which has CLUMP_HEAP_NO_ALLOC and consists of
 * one loop,
 *
 *     __kernel void name(CLUMP_HEAP_NO_ALLOC, parameters...) {
 *         const declarations                     (in the last kernel: any statements)
 *         CLUMP_FOR_EACH(Class, self) body
 *         CLUMP_REDUCE(type, value, combine);    (only in the last kernel, or not at all)
 *     }
 *
 * all over the same class. A loop may read what other loops write, and write what others read or
 * write, only in the object that both visit. Such a field is refused:
 *
 *   - one loop writes it, and another one reads or writes it in other objects;
 *   - one loop writes it in other objects, and another one reads or writes it.
 *
 * What no other loop writes may be read in any object. How a kernel uses a field is read from its
 * text: from the accessors in its body, and in the functions of the program that it calls, with the
 * program's macros expanded. The object is the loop's own where an accessor is given `self`, or its
 * up-cast or down-cast, or a function's parameter that got one of these. Any other reference is
 * another object, a copy of `self` too. A field whose address is taken, as for an atomic operation,
 * counts as written in all objects. That a parameter points to const is believed.
 *
 * Refused besides, since their result may depend on the order of the loops or cannot be told from
 * the text: kernels that may make or free objects (CLUMP_HEAP); CLUMP_NUMBERS and other loops than
 * CLUMP_FOR_EACH with CLUMP_FOR_WHOLE_CLASS inside; return, goto, and break out of the loop;
 * work-item functions such as get_global_id(); barriers, local memory, images, printf; parameters
 * that a loop changes; calls of what is no function of the program (those of CLUMP_DISPATCH, of raw
 * memory, maps and grids); reqd_work_group_size; programs with #include, or with variables at file
 * scope that are not constant.
 *
 * Buffers: two of the kernels may have the same one, or parts of one that overlap, only if both
 * point to const. That is verified at each launch, since parameters change; so is that none is the
 * heap's own buffer.
 *
 * Floating point: OpenCL lets a compiler contract a product and a sum into one operation, also
 * where the product is computed in one loop and the sum in another. On NVIDIA the bodies are kept
 * apart for that reason. Elsewhere, results of programs in which a sum has a product for an operand
 * may differ in the last bit; fma() or `#pragma OPENCL FP_CONTRACT OFF` make such sums the same.
 * The pragma does not reach into built-in functions, whose bits may depend on the place of a
 * work-item in its group and on the group's size, as those of rsqrt() on Intel's CPU runtime
 * (docs/portability.md). A reduction in floating point is the same if the device runs both kernels
 * in groups of the same size, which it does unless the fused one needs too many registers.
 *
 * Why a kernel and not a call for each launch: the fused kernel is compiled, as long as the program
 * itself. It is compiled once here, and kept between processes where programs are kept (context.h),
 * and then costs a launch no more than others.
 *
 * Read first: program.h, run.h. An example: docs/guide/fused-loops.md.
 */
#ifndef CLUMP_FUSE_H
#define CLUMP_FUSE_H

#include "clump/run.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Kernels that can become one. */
#define CLUMP_FUSED_KERNELS_MAX 16u

/* CONSTRUCTOR. One kernel that does what these do one after the other, for clump_heap_do_all(),
 * clump_heap_launch(), and, if the last one ends in CLUMP_REDUCE, clump_heap_reduce(). It has no
 * parameters of its own: each launch takes those that clump_kernel_set_arg() gave the kernels it
 * was made of, as they are then. These still can be run alone.
 *   kernels  [in]   in the order in which they would be launched; the same one may come more than
 *                   once. They may be destroyed before the fused kernel, with the parameters that
 *                   they have
 *   count    [in]   1 .. CLUMP_FUSED_KERNELS_MAX
 *   fused    [out]  ends with clump_kernel_destroy()
 * A launch of it returns CLUMP_ERR_USAGE besides if two kernels share a buffer as above; nothing
 * has run then.
 * Blocks: yes, while the device's compiler runs. Threads: as for clump_kernel_create().
 * Returns CLUMP_OK; CLUMP_ERR_USAGE: the kernels cannot be fused, and the error says why, with
 * kernel, line and field; CLUMP_ERR_BUILD: the device's compiler refuses the fused program;
 * CLUMP_ERR_CL; CLUMP_ERR_HOST_MEMORY. */
CLUMP_API clump_status clump_kernel_create_fused(clump_kernel *const *kernels, uint32_t count,
                                                 clump_kernel **fused, clump_error *error);

#ifdef __cplusplus
}
#endif
#endif
