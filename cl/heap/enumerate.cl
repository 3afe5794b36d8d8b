/* Lists of the non-empty rows of all classes, for do-alls: two launches, no readback.
 *
 * The list is ordered by class id, and within a class by address; begin[c] .. begin[c+1]-1 are the
 * rows of class c, so a class with its subclasses is one range. Each entry has the row's granule
 * and its bitmap as it was: a do-all sees the objects that existed when it was launched.
 *
 * If `numbered`, also the number of each row's first object in the order of the list, and for each
 * class full[c], where its first row with a hole stands, or its end: up to there an object's number
 * alone says where it is.
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

/* What is counted for each class: its non-empty rows and, if `numbered`, its objects. Those of class c
 * stand at c and at classes + 1 + c. */
static inline uint count_kinds(const clumpi_view *v, uint numbered) {
    return (v->header->class_count + 1) * (numbered ? 2u : 1u);
}

/* row_counts[group][kind]. */
__kernel void clumpi_list_count(__global uchar *heap, uint header_at, uint numbered) {
    __local uint counts[512];
    clumpi_view v = clumpi_view_of(heap, header_at);
    uint me = (uint)get_local_id(0), items = (uint)get_local_size(0);
    uint classes = v.header->class_count, rows_max = v.header->block_rows_max;
    uint kinds = count_kinds(&v, numbered);
    for (uint k = me; k < kinds; k += items) counts[k] = 0;
    CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE);
    clumpi_range chunk = clumpi_block_chunk(&v);
    clumpi_team team = clumpi_team_of(rows_max);
    for (uint block = chunk.begin + team.index; block < chunk.end; block += team.count) {
        uint state = v.states[block], class_id = clumpi_class_of_state(state);
        if (class_id == 0) continue;
        if (numbered && team.member == 0)
            atomic_add(&counts[classes + 1 + class_id], clumpi_credits_of_state(state));
        for (uint row = team.member; row < v.classes[class_id].rows; row += team.size)
            if (clumpi_row_bits(&v, clumpi_row_granule(&v, block, class_id, row)))
                atomic_inc(&counts[class_id]);
    }
    CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE);
    for (uint k = me; k < kinds; k += items)
        row_counts(&v)[(uint)get_group_id(0) * kinds + k] = counts[k];
    if (get_group_id(0) != 0) return;
    for (uint c = me; c <= classes; c += items) {
        v.classes[c].spread = lanes_of(v.classes[c].blocks);
        if (numbered) clumpi_words_at(&v, v.header->at_list_full)[c] = CLUMPI_NONE;
    }
    for (uint i = me; i < (classes + 1) * CLUMPI_LANES; i += items) {
        __global clumpi_lane_hint *lane = &v.classes[i / CLUMPI_LANES].lanes[i % CLUMPI_LANES];
        uint block = clumpi_lane_block(lane->at);
        __global const clumpi_class *c = &v.classes[i / CLUMPI_LANES];
        uint holes = block && clumpi_block_has_holes(&v, block, c->rows, c->row_granules);
        lane->at = holes ? block | CLUMPI_HOLES : block;
    }
}

/* Where the rows, and the objects, of each class begin: for this group in `place`, and for all in
 * begin[]; where its rows end, in `full`. */
static inline void list_places(const clumpi_view *v, uint numbered, __local uint *place,
                               __local uint *totals, __local uint *full) {
    uint me = (uint)get_local_id(0), items = (uint)get_local_size(0);
    uint classes = v->header->class_count, kinds = count_kinds(v, numbered);
    __global const uint *counts = row_counts(v);
    __global uint *begin = clumpi_words_at(v, v->header->at_list_begin);
    for (uint k = me; k < kinds; k += items) place[k] = totals[k] = 0;
    CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE);
    uint cells = (uint)get_num_groups(0) * kinds;
    uint mine = (uint)get_group_id(0) * kinds; /* cells before it: groups before this one */
    for (uint i = me; i < cells; i += items) {
        uint n = counts[i];
        if (n) atomic_add(&totals[i % kinds], n);
        if (n && i < mine) atomic_add(&place[i % kinds], n);
    }
    CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE);
    if (me == 0) {
        uint rows = 0, objects = 0;
        for (uint c = 1; c <= classes; c++) {
            if (get_group_id(0) == 0) begin[c] = rows;
            place[c] += rows;
            rows += totals[c];
            full[c] = rows;
            if (!numbered) continue;
            place[classes + 1 + c] += objects;
            objects += totals[classes + 1 + c];
        }
        if (get_group_id(0) == 0) begin[classes + 1] = rows;
    }
    CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE);
}

/* The numbers of a block's rows of the set `filled`, the first of which stands at `start` in the list;
 * `objects`: the number of their first object. */
static inline void number_rows(const clumpi_view *v, const clumpi_team *team, uint block,
                               uint class_id, ulong filled, uint start, uint objects,
                               __local uint *full) {
    __global uint *index = clumpi_words_at(v, v->header->at_list_index);
    uint before = 0; /* objects are those before row `before` */
    for (uint row = team->member; row < CLUMPI_ROWS_MAX && filled; row += team->size) {
        if (!(filled >> row & 1ul)) continue;
        uint at = start + clumpi_popcount64(filled & ((1ul << row) - 1ul));
        for (; before < row; before++)
            objects += clumpi_popcount64(
                clumpi_row_bits(v, clumpi_row_granule(v, block, class_id, before)));
        index[at] = objects;
        if (clumpi_row_bits(v, clumpi_row_granule(v, block, class_id, row)) != ~0ul)
            atomic_min(&full[class_id], at);
    }
}

__kernel void clumpi_list_write(__global uchar *heap, uint header_at, uint numbered) {
    __local uint place[512], totals[512];
    __local uint full[256]; /* by class: its first row with a hole in this group, or its end */
    /* For each block of the tile: its class, the mask of its non-empty rows, its place in the list,
     * its objects, the number of the first of them. */
    __local uint kind[CLUMPI_TILE], low[CLUMPI_TILE], high[CLUMPI_TILE], start[CLUMPI_TILE];
    __local uint credits[CLUMPI_TILE], number[CLUMPI_TILE];
    clumpi_view v = clumpi_view_of(heap, header_at);
    uint me = (uint)get_local_id(0), items = (uint)get_local_size(0);
    uint classes = v.header->class_count;
    clumpi_team team = clumpi_team_of(v.header->block_rows_max);
    __global uint *rows = clumpi_words_at(&v, v.header->at_list_rows);
    __global ulong *masks = (__global ulong *)clumpi_words_at(&v, v.header->at_list_masks);
    list_places(&v, numbered, place, totals, full);
    clumpi_range chunk = clumpi_block_chunk(&v);
    for (uint tile = chunk.begin; tile < chunk.end; tile += CLUMPI_TILE) {
        uint blocks = min(CLUMPI_TILE, chunk.end - tile);
        for (uint b = me; b < blocks; b += items) {
            uint state = v.states[tile + b];
            kind[b] = clumpi_class_of_state(state);
            credits[b] = clumpi_credits_of_state(state);
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
            if (!numbered) continue;
            uint objects = place[classes + 1 + kind[b]];
            for (uint a = 0; a < b; a++)
                if (kind[a] == kind[b]) objects += credits[a];
            number[b] = objects;
        }
        CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE);
        for (uint b = me; b < blocks; b += items) {
            if (kind[b]) atomic_add(&place[kind[b]], popcount(low[b]) + popcount(high[b]));
            if (kind[b] && numbered) atomic_add(&place[classes + 1 + kind[b]], credits[b]);
        }
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
        for (uint b = numbered ? team.index : blocks; b < blocks; b += team.count)
            number_rows(&v, &team, tile + b, kind[b], (ulong)high[b] << 32 | low[b], start[b],
                        number[b], full);
        CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE);
    }
    if (!numbered) return;
    __global uint *all_full = clumpi_words_at(&v, v.header->at_list_full);
    for (uint c = 1 + me; c <= classes; c += items) atomic_min(&all_full[c], full[c]);
}
