/* Frees the arrays of run-time length of the objects that a collection is about to free, or of
 * chosen objects (host/collect/chosen.c), and the chosen objects as well. It is a program of its
 * heap, like a user's, because the code that frees an array is generated from the schema
 * (host/heap/emit.c). A collection runs it after marking, before the sweep.
 *
 * Read first: cl/api/arrays.clh, mark.clh.
 */
/* a program has it before, with the generated code. This default lets the file compile by itself */
#ifndef CLUMPI_ARRAYS_CLH
#include "cl/api/arrays.clh"
static inline void clumpi_arrays_end(__global uchar *heap, uint class_id, uint ref, uint old) {
    (void)heap, (void)class_id, (void)ref, (void)old;
}
#endif

/* white: the bits that marking has left in each granule's word, from number `at` on. end: number of
 * granules. with_objects: 0, the sweep frees these. */
__kernel void drop_arrays(CLUMP_HEAP, __global const ulong *white, ulong at, uint end,
                          uint with_objects) {
    const clumpi_home h = clumpi_home_in(clump_heap, CLUMPI_HEADER_AT);
    for (uint g = (uint)get_global_id(0); g < end; g += (uint)get_global_size(0)) {
        const ulong bits = white[at + g];
        if (!bits) continue;
        uint class_id = clumpi_class_of_state(
            CLUMPI_LOAD(clumpi_state_of(h, g / CLUMPI_LAYOUT_BLOCK_GRANULES)));
        for (ulong left = bits; left; left &= left - 1ul) {
            const uint ref = g << 6 | clumpi_lowest64(left);
            clumpi_arrays_end(clump_heap, class_id, ref, 0u);
            if (!with_objects) continue;
#ifdef CLUMPI_CHECKS /* as after a sweep */
            clumpi_generation_raise(h, ref);
            clumpi_last_free(h, ref)[0] = clumpi_last_free(h, ref)[1] = 0;
            clumpi_slot_free(h, class_id, ref);
#endif
            clumpi_unwatch(clump_heap, ref, class_id, class_id);
        }
        if (with_objects) clumpi_free_slots(h, class_id, class_id, g, bits);
    }
}
