/* Arrays of run-time length end with the objects that have them: those of the objects that a
 * collection is about to free. A program of its heap, like a user's: the code that frees an array
 * is generated from the schema (host/heap/emit.c). It runs after marking, before the sweep.
 *
 * Read first: cl/api/arrays.clh, mark.clh.
 */
/* a program has it, and the generated code, before; without, this file compiles alone */
#ifndef CLUMPI_ARRAYS_CLH
#include "cl/api/arrays.clh"
static inline void clumpi_arrays_end(__global uchar *heap, uint class_id, uint ref) {
    (void)heap, (void)class_id, (void)ref;
}
#endif

/* white: what marking has left of each granule's word, from number `at` on; end: granules. */
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
