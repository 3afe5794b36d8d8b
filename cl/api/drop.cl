/* Frees the arrays of run-time length of the objects that a collection is about to free. It is a
 * program of its heap, like a user's, because the code that frees an array is generated from the
 * schema (host/heap/emit.c). It runs after marking, before the sweep.
 *
 * Read first: cl/api/arrays.clh, mark.clh.
 */
/* a program has it before, with the generated code. This default lets the file compile by itself */
#ifndef CLUMPI_ARRAYS_CLH
#include "cl/api/arrays.clh"
static inline void clumpi_arrays_end(__global uchar *heap, uint class_id, uint ref) {
    (void)heap, (void)class_id, (void)ref;
}
#endif

/* white: the bits that marking has left in each granule's word, from number `at` on. end: number of
 * granules. */
__kernel void drop_arrays(CLUMP_HEAP, __global const ulong *white, ulong at, uint end) {
    const clumpi_home h = clumpi_home_in(clump_heap, CLUMPI_HEADER_AT);
    for (uint g = (uint)get_global_id(0); g < end; g += (uint)get_global_size(0)) {
        ulong bits = white[at + g];
        if (!bits) continue;
        uint class_id = clumpi_class_of_state(
            CLUMPI_LOAD(clumpi_state_of(h, g / CLUMPI_LAYOUT_BLOCK_GRANULES)));
        for (; bits; bits &= bits - 1ul)
            clumpi_arrays_end(clump_heap, class_id, g << 6 | clumpi_lowest64(bits));
    }
}
