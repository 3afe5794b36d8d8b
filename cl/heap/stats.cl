/* Objects, blocks and active blocks of each class: one pass over the states. The result is a
 * clumpi_stats_result, which the host has cleared. Each group counts its blocks by itself first:
 * all blocks of a heap are of few classes.
 *
 * Reservations stay. Of a block with slots in stripes the bits of its objects are counted, and one
 * that has no object counts as free.
 *
 * Read first: reserve.clh, cl/heap/layout.h.
 */
#include "cl/heap/reserve.clh"

/* What is reserved for each class, and not given out yet. */
static inline void stats_reserved(const clumpi_view *v, __global clumpi_stats_result *stats) {
    __global const clumpi_stripe *all = reserve_stripes(v);
    const uint stripes = v->header->stripes, count = (v->header->class_count + 1u) * stripes;
    for (uint i = (uint)get_global_id(0); i < count; i += (uint)get_global_size(0))
        if (all[i].next < all[i].limit)
            atomic_add(&stats->classes[i / stripes].reserved, all[i].limit - all[i].next);
}

__kernel void clumpi_stats(__global uchar *heap, uint header_at) {
    __local clumpi_class_count counts[CLUMPI_CLASS_IDS];
    __local reserve_tile tile[1];
    clumpi_view v = clumpi_view_of(heap, header_at);
    uint me = (uint)get_local_id(0), items = (uint)get_local_size(0),
         classes = v.header->class_count;
    __global clumpi_stats_result *stats =
        (__global clumpi_stats_result *)clumpi_words_at(&v, v.header->at_scan);
    stats_reserved(&v, stats);
    for (uint c = me; c <= classes; c += items)
        counts[c].objects = counts[c].blocks = counts[c].active = 0;
    clumpi_range chunk = clumpi_block_chunk(&v);
    clumpi_team team = clumpi_team_of(v.header->block_rows_max);
    CLUMPI_ROLLED for (uint first = chunk.begin; first < chunk.end; first += CLUMPI_TILE) {
        uint blocks = min(CLUMPI_TILE, chunk.end - first);
        reserve_load(&v, tile, first, blocks);
        reserve_count_striped(&v, tile, first, blocks, &team);
        CLUMPI_ROLLED for (uint b = me; b < blocks; b += items) {
            uint credits = reserve_credits(tile, b),
                 class_id = clumpi_class_of_state(tile->state[b]);
            if (!credits && tile->state[b] & CLUMPI_STRIPED) class_id = 0;
            if (class_id > classes) continue; /* corrupt: the check names it */
            if (credits) atomic_add(&counts[class_id].objects, credits);
            atomic_inc(&counts[class_id].blocks);
            if (class_id && credits < v.classes[class_id].capacity)
                atomic_inc(&counts[class_id].active);
        }
    }
    CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE);
    for (uint c = me; c <= classes; c += items) {
        if (!counts[c].blocks) continue;
        atomic_add(&stats->classes[c].objects, counts[c].objects);
        atomic_add(&stats->classes[c].blocks, counts[c].blocks);
        if (counts[c].active) atomic_add(&stats->classes[c].active, counts[c].active);
    }
}
