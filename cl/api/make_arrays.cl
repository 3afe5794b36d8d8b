/* Raw memory for the arrays of run-time length of objects whose elements the host or a load writes.
 * It is a program of its heap, like a user's, because code that allocates is compiled for a heap's
 * geometry.
 *
 * Read first: cl/api/arrays.clh.
 */
#ifndef CLUMPI_ARRAYS_CLH /* a program has it before */
#include "cl/api/arrays.clh"
#endif

/* Each of `count` arrays needs memory for as many elements as its number says. `made` gets the
 * handle of the memory, or 0. bytes: of an element. failed: arrays for which there was no room.
 * way 1: the numbers are handles, and become the capacities that their memory has. 2: the memory of
 * the handles is freed, and they become 0. */
__kernel void make_arrays(CLUMP_HEAP, __global uint *words, uint count, uint bytes,
                          __global uint *failed, uint way, __global uint *made) {
    for (uint i = (uint)get_global_id(0); i < count; i += (uint)get_global_size(0)) {
        uint capacity = words[i];
        if (!capacity) continue;
        if (way) {
            __global uchar *memory = clump_heap + (ulong)capacity * CLUMPI_RAW_UNIT;
            if (way == 1)
                words[i] = (uint)(clumpi_usable_size(clump_heap, memory) / bytes);
            else {
                clumpi_raw_free(clump_heap, memory);
                words[i] = 0;
            }
            continue;
        }
        __global void *p =
            clumpi_aligned_alloc(clump_heap, max(bytes, CLUMPI_RAW_UNIT), (ulong)capacity * bytes);
        if (!p) atomic_inc(failed);
        made[i] = p ? clumpi_raw_unit(clump_heap, p) : 0u;
    }
}
