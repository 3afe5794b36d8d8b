/* Objects, blocks and active blocks of each class: one pass over the states.
 * The result lies in the scan area: table[class * 3 + 0, 1, 2]; class 0 counts the free blocks. The
 * host has cleared it.
 * Read first: layout.h.
 */
#include "cl/core/scan.clh"

__kernel void clumpi_stats(__global uchar *heap, uint header_at) {
    clumpi_view v = clumpi_view_of(heap, header_at);
    __global uint *table = clumpi_words_at(&v, v.header->at_scan);
    for (uint b = v.header->first_block + (uint)get_global_id(0); b < v.header->block_end;
         b += (uint)get_global_size(0)) {
        uint class_id = clumpi_class_of_state(v.states[b]);
        uint credits = clumpi_credits_of_state(v.states[b]);
        if (class_id > v.header->class_count) continue; /* corrupt: the check names it */
        if (credits) atomic_add(&table[class_id * 3], credits);
        atomic_inc(&table[class_id * 3 + 1]);
        if (class_id && credits < v.classes[class_id].capacity)
            atomic_inc(&table[class_id * 3 + 2]);
    }
}
