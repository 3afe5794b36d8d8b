/* The end of a compaction: sources become free blocks, and hints follow the states.
 *
 * Many blocks change at once and nothing else runs, so the lowest hints are made anew, word by
 * word, instead of being brought in line one by one; the upper ones follow where a word has become
 * zero or has been it (bitmap.clh).
 *
 * Read first: plan.clh, rewrite.cl.
 */
#include "cl/compact/plan.clh"

/* Empty the sources among `tile` blocks from `begin` on. All work-items of the group call
 * together. */
static inline void empty_sources(const clumpi_view *v, uint begin, uint tile) {
    uint me = (uint)get_local_id(0), items = (uint)get_local_size(0);
    uint end = min(begin + tile, v->header->block_end), rows_max = v->header->block_rows_max;
    __global const uint *moved = clumpi_moved(v);
    for (uint i = me; begin + i / rows_max < end; i += items) {
        uint block = begin + i / rows_max, row = i % rows_max;
        if (!clumpi_is_moved(moved, block)) continue;
        uint c = clumpi_class_of_state(v->states[block]);
        if (row < v->classes[c].rows)
            clumpi_row_bits_set(v, clumpi_row_granule(v, block, c, row), 0);
    }
    CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE); /* states were needed until here */
    for (uint block = begin + me; block < end; block += items)
        if (clumpi_is_moved(moved, block)) v->states[block] = 0;
    CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
}

/* States and bitmaps of the sources; hints of the free blocks and of the classes that took part.
 * A work-group takes a tile of `words` hint words at a time, at most 8. */
__kernel void clumpi_finish(__global uchar *heap, uint header_at, uint words) {
    __local uint hints[8];
    clumpi_view v = clumpi_view_of(heap, header_at);
    uint me = (uint)get_local_id(0), items = (uint)get_local_size(0), tile = words * 32u;
    uint classes = v.header->class_count, first = v.header->first_block, end = v.header->block_end;
    for (uint begin = (uint)get_group_id(0) * tile; begin < end;
         begin += (uint)get_num_groups(0) * tile) {
        empty_sources(&v, begin, tile);
        for (uint c = 0; c <= classes; c++) {
            if (c && !clumpi_plans(&v)[c].selected) continue;
            for (uint w = me; w < words; w += items) hints[w] = 0;
            CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE);
            for (uint i = me; i < tile; i += items) {
                uint block = begin + i;
                if (block < first || block >= end) continue;
                uint state = v.states[block];
                if (clumpi_class_of_state(state) == c &&
                    (!c || clumpi_credits_of_state(state) < v.classes[c].capacity))
                    atomic_or(&hints[i >> 5], 1u << (i & 31u));
            }
            CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE);
            for (uint w = me; w < words && begin + w * 32u < end; w += items) {
                __global uint *hint = clumpi_hint_word(clumpi_home_of(&v), c, 0, begin / 32u + w);
                uint was = *hint;
                if (hints[w] == was) continue;
                *hint = hints[w];
                clumpi_hint_follow(clumpi_home_of(&v), c, begin / 32u + w, was, hints[w]);
            }
            /* Not needed by OpenCL's rules: PoCL goes wrong with what stands between the last
             * barrier of a branch and its end (docs/portability.md). */
            CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE);
        }
    }
    /* room appeared: cl/core/alloc.clh */
    if (get_global_id(0) == 0) CLUMPI_ADD(&v.header->epoch, 1);
}
