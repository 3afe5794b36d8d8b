/* The end of a compaction: sources become free blocks, and hints and counters follow the states.
 *
 * Many blocks change at once and nothing else runs, so hints are made anew, word by word, instead of
 * being brought in line one by one (bitmap.clh).
 *
 * Read first: plan.clh, rewrite.cl.
 */
#include "cl/plan.clh"

/* A work-item per row of a source. */
__kernel void clumpi_finish(__global uchar *heap, uint header_at) {
    clumpi_view v = clumpi_view_of(heap, header_at);
    __global const uint *moved = clumpi_words_at(&v, v.header->at_moved);
    for (uint c = 1; c <= v.header->class_count; c++) {
        __global const clumpi_class_plan *p = &clumpi_plans(&v)[c];
        uint rows = v.classes[c].rows, count = p->sources * rows;
        for (uint i = (uint)get_global_id(0); i < count; i += (uint)get_global_size(0)) {
            uint block = clumpi_plan_list(&v)[p->source_begin + i / rows];
            if (!clumpi_is_moved(moved, block)) continue;
            clumpi_row_bits_set(&v, clumpi_row_granule(&v, block, c, i % rows), 0);
            if (i % rows == 0) v.states[block] = 0;
        }
    }
}

/* The lowest hint words of the free blocks and of the classes that took part. A work-group takes as
 * many blocks at a time as it has work-items, but 32 at least. */
__kernel void clumpi_finish_hints(__global uchar *heap, uint header_at) {
    __local uint words[256 / 32], change[256]; /* change: of active blocks, modulo 2^32 */
    clumpi_view v = clumpi_view_of(heap, header_at);
    uint me = (uint)get_local_id(0), items = (uint)get_local_size(0), tile = max(items, 32u);
    uint classes = v.header->class_count, first = v.header->first_block, end = v.header->block_end;
    for (uint c = me; c <= classes; c += items) change[c] = 0;
    for (uint begin = (uint)get_group_id(0) * tile; begin < end;
         begin += (uint)get_num_groups(0) * tile)
        for (uint c = 0; c <= classes; c++) {
            if (c && !clumpi_plans(&v)[c].selected) continue;
            for (uint w = me; w < tile / 32u; w += items) words[w] = 0;
            barrier(CLK_LOCAL_MEM_FENCE);
            for (uint i = me; i < tile; i += items) {
                uint block = begin + i;
                if (block < first || block >= end) continue;
                uint state = v.states[block];
                uint credits = clumpi_credits_of_state(state);
                if (clumpi_class_of_state(state) == c && (!c || credits < v.classes[c].capacity))
                    atomic_or(&words[i >> 5], 1u << (i & 31u));
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            for (uint w = me; w < tile / 32u && begin + w * 32u < end; w += items) {
                __global uint *hint = clumpi_hint_word(&v, c, 0, begin / 32u + w);
                uint was = *hint;
                if (words[w] == was) continue;
                *hint = words[w];
                atomic_add(&change[c], clumpi_popcount32(words[w]) - clumpi_popcount32(was));
            }
        }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint c = 1 + me; c <= classes; c += items)
        if (change[c]) CLUMPI_ADD(&v.classes[c].active, change[c]);
}

/* The upper hint words, and the other counters. A work-group per set of hints. */
__kernel void clumpi_finish_counters(__global uchar *heap, uint header_at, uint fresh) {
    clumpi_view v = clumpi_view_of(heap, header_at);
    uint me = (uint)get_local_id(0), items = (uint)get_local_size(0), c = (uint)get_group_id(0);
    __global const clumpi_class_plan *p = &clumpi_plans(&v)[c];
    if (c && !p->selected) return;
    for (uint l = 1; l < v.header->hint_levels; l++) {
        for (uint w = me; w < v.header->hint_count[l]; w += items) {
            uint word = 0;
            for (uint bit = 0; bit < 32u && w * 32u + bit < v.header->hint_count[l - 1]; bit++)
                word |= (uint)(*clumpi_hint_word(&v, c, l - 1, w * 32u + bit) != 0) << bit;
            *clumpi_hint_word(&v, c, l, w) = word;
        }
        barrier(CLK_GLOBAL_MEM_FENCE);
    }
    if (me != 0) return;
    if (c) v.classes[c].blocks += (fresh ? p->targets : 0u) - p->freed;
    else CLUMPI_ADD(&v.header->epoch, 1); /* room appeared: cl/alloc.clh */
}
