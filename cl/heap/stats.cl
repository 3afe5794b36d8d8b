/* Objects, blocks and active blocks of each class: one pass over the states. The result is a
 * clumpi_stats_result, which the host has cleared. Each group counts its blocks by itself first:
 * all blocks of a heap are of few classes.
 *
 * Read first: cl/core/layout.h, cl/heap/layout.h.
 */
#include "cl/core/scan.clh"
#include "cl/heap/layout.h"

__kernel void clumpi_stats(__global uchar *heap, uint header_at, uint turn) {
    __local clumpi_class_count counts[CLUMPI_CLASS_IDS];
    clumpi_view v = clumpi_view_of(heap, header_at);
    uint me = (uint)get_local_id(0), items = (uint)get_local_size(0),
         classes = v.header->class_count;
    __global clumpi_stats_result *stats =
        (__global clumpi_stats_result *)clumpi_words_at(&v, v.header->at_scan);
    for (uint c = 1 + (uint)get_global_id(0); c <= classes; c += (uint)get_global_size(0))
        stats->classes[c].reserved = v.classes[c].reserved.learnt[turn].unused;
    for (uint c = me; c <= classes; c += items)
        counts[c].objects = counts[c].blocks = counts[c].active = 0;
    CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE);
    clumpi_range chunk = clumpi_block_chunk(&v);
    for (uint b = chunk.begin + me; b < chunk.end; b += items) {
        uint class_id = clumpi_class_of_state(v.states[b]);
        uint credits = clumpi_credits_of_state(v.states[b]);
        if (class_id > classes) continue; /* corrupt: the check names it */
        if (credits) atomic_add(&counts[class_id].objects, credits);
        atomic_inc(&counts[class_id].blocks);
        if (class_id && credits < v.classes[class_id].capacity)
            atomic_inc(&counts[class_id].active);
    }
    CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE);
    for (uint c = me; c <= classes; c += items) {
        if (!counts[c].blocks) continue;
        atomic_add(&stats->classes[c].objects, counts[c].objects);
        atomic_add(&stats->classes[c].blocks, counts[c].blocks);
        if (counts[c].active) atomic_add(&stats->classes[c].active, counts[c].active);
    }
}
