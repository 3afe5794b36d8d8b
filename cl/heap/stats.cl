/* Objects, blocks and active blocks of each class: one pass over the states. The result is a clumpi_stats_result,
 * which the host has cleared.
 *
 * Read first: cl/core/layout.h, cl/heap/layout.h.
 */
#include "cl/core/scan.clh"
#include "cl/heap/layout.h"

__kernel void clumpi_stats(__global uchar *heap, uint header_at, uint turn) {
    clumpi_view v = clumpi_view_of(heap, header_at);
    __global clumpi_stats_result *stats =
        (__global clumpi_stats_result *)clumpi_words_at(&v, v.header->at_scan);
    for (uint c = 1 + (uint)get_global_id(0); c <= v.header->class_count; c += (uint)get_global_size(0))
        stats->classes[c].reserved = v.classes[c].reserved.learnt[turn].unused;
    for (uint b = v.header->first_block + (uint)get_global_id(0); b < v.header->block_end;
         b += (uint)get_global_size(0)) {
        uint class_id = clumpi_class_of_state(v.states[b]);
        uint credits = clumpi_credits_of_state(v.states[b]);
        if (class_id > v.header->class_count) continue; /* corrupt: the check names it */
        __global clumpi_class_count *count = &stats->classes[class_id];
        if (credits) atomic_add(&count->objects, credits);
        atomic_inc(&count->blocks);
        if (class_id && credits < v.classes[class_id].capacity) atomic_inc(&count->active);
    }
}
