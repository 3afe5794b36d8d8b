/* Lists of the non-empty rows of all classes, for do-alls: two launches, no readback.
 *
 * The list is ordered by class id, and within a class by address; begin[c] .. begin[c+1]-1 are the
 * rows of class c, so a class with its subclasses is one range. Each entry has the row's granule
 * and its bitmap as it was: a do-all sees the objects that existed when it was launched.
 *
 * Read first: scan.clh, cl/heap/layout.h; docs/internals/heap.md.
 */
#include "cl/core/block.clh"
#include "cl/core/scan.clh"
#include "cl/heap/layout.h"

/* counts[group][class]: non-empty rows. */
static inline __global uint *row_counts(const clumpi_view *v) {
    return clumpi_words_at(v, v->header->at_scan);
}

/* Lanes that a class starts a launch with (cl/core/alloc.clh): blocks that are filled side by side stay
 * below one in 128. */
static inline uint lanes_of(uint blocks) {
    uint lanes = min(blocks >> 7, CLUMPI_LANES);
    return lanes ? 1u << (31u - clz(lanes)) : 1u;
}

__kernel void clumpi_list_count(__global uchar *heap, uint header_at) {
    __local uint counts[256];
    clumpi_view v = clumpi_view_of(heap, header_at);
    uint me = (uint)get_local_id(0), items = (uint)get_local_size(0);
    uint classes = v.header->class_count, rows_max = v.header->block_rows_max;
    for (uint c = me; c <= classes; c += items) counts[c] = 0;
    CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE);
    clumpi_range chunk = clumpi_block_chunk(&v);
    clumpi_team team = clumpi_team_of(rows_max);
    for (uint block = chunk.begin + team.index; block < chunk.end; block += team.count) {
        uint class_id = clumpi_class_of_state(v.states[block]);
        if (class_id == 0) continue;
        for (uint row = team.member; row < v.classes[class_id].rows; row += team.size)
            if (clumpi_row_bits(&v, clumpi_row_granule(&v, block, class_id, row)))
                atomic_inc(&counts[class_id]);
    }
    CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE);
    for (uint c = me; c <= classes; c += items) {
        row_counts(&v)[get_group_id(0) * (classes + 1) + c] = c ? counts[c] : 0;
        if (get_group_id(0) == 0) v.classes[c].spread = lanes_of(v.classes[c].blocks);
    }
    if (get_group_id(0) != 0) return;
    for (uint i = me; i < (classes + 1) * CLUMPI_LANES; i += items) {
        __global clumpi_lane_hint *lane = &v.classes[i / CLUMPI_LANES].lanes[i % CLUMPI_LANES];
        uint block = clumpi_lane_block(lane->at);
        __global const clumpi_class *c = &v.classes[i / CLUMPI_LANES];
        uint holes = block && clumpi_block_has_holes(&v, block, c->rows, c->row_granules);
        lane->at = holes ? block | CLUMPI_HOLES : block;
    }
}

/* Where the rows of each class begin: for this group in `place`, and for all in begin[]. */
static inline void list_places(const clumpi_view *v, __local uint *place, __local uint *totals) {
    uint me = (uint)get_local_id(0), items = (uint)get_local_size(0);
    uint classes = v->header->class_count;
    __global const uint *counts = row_counts(v);
    __global uint *begin = clumpi_words_at(v, v->header->at_list_begin);
    for (uint c = me; c <= classes; c += items) place[c] = totals[c] = 0;
    CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE);
    uint cells = (uint)get_num_groups(0) * (classes + 1);
    uint mine = (uint)get_group_id(0) * (classes + 1); /* cells before it: groups before this one */
    for (uint i = me; i < cells; i += items) {
        uint n = counts[i];
        if (n) atomic_add(&totals[i % (classes + 1)], n);
        if (n && i < mine) atomic_add(&place[i % (classes + 1)], n);
    }
    CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE);
    if (me == 0) {
        uint sum = 0;
        for (uint c = 1; c <= classes; c++) {
            if (get_group_id(0) == 0) begin[c] = sum;
            place[c] += sum;
            sum += totals[c];
        }
        if (get_group_id(0) == 0) begin[classes + 1] = sum;
    }
    CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE);
}

__kernel void clumpi_list_write(__global uchar *heap, uint header_at) {
    __local uint place[256], totals[256];
    /* For each block of the tile: its class, the mask of its non-empty rows, its place in the list.
     * */
    __local uint kind[CLUMPI_TILE], low[CLUMPI_TILE], high[CLUMPI_TILE], start[CLUMPI_TILE];
    clumpi_view v = clumpi_view_of(heap, header_at);
    uint me = (uint)get_local_id(0), items = (uint)get_local_size(0);
    clumpi_team team = clumpi_team_of(v.header->block_rows_max);
    __global uint *rows = clumpi_words_at(&v, v.header->at_list_rows);
    __global ulong *masks = (__global ulong *)clumpi_words_at(&v, v.header->at_list_masks);
    list_places(&v, place, totals);
    clumpi_range chunk = clumpi_block_chunk(&v);
    for (uint tile = chunk.begin; tile < chunk.end; tile += CLUMPI_TILE) {
        uint blocks = min(CLUMPI_TILE, chunk.end - tile);
        for (uint b = me; b < blocks; b += items) {
            kind[b] = clumpi_class_of_state(v.states[tile + b]);
            low[b] = high[b] = 0;
        }
        CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE);
        for (uint b = team.index; b < blocks; b += team.count) {
            if (kind[b] == 0) continue;
            for (uint row = team.member; row < v.classes[kind[b]].rows; row += team.size)
                if (clumpi_row_bits(&v, clumpi_row_granule(&v, tile + b, kind[b], row)))
                    atomic_or(row < 32u ? &low[b] : &high[b], 1u << (row & 31u));
        }
        CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE);
        for (uint b = me; b < blocks; b += items) {
            uint at = place[kind[b]];
            for (uint a = 0; a < b; a++)
                if (kind[a] == kind[b]) at += popcount(low[a]) + popcount(high[a]);
            start[b] = at;
        }
        CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE);
        for (uint b = me; b < blocks; b += items)
            if (kind[b]) atomic_add(&place[kind[b]], popcount(low[b]) + popcount(high[b]));
        for (uint b = team.index; b < blocks; b += team.count) {
            ulong filled = (ulong)high[b] << 32 | low[b];
            for (uint row = team.member; row < CLUMPI_ROWS_MAX && filled; row += team.size) {
                if (!(filled >> row & 1ul)) continue;
                uint granule = clumpi_row_granule(&v, tile + b, kind[b], row);
                uint at = start[b] + clumpi_popcount64(filled & ((1ul << row) - 1ul));
                rows[at] = granule;
                masks[at] = clumpi_row_bits(&v, granule);
            }
        }
        CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE);
    }
}
