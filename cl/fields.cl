/* Moving field values between objects and dense host arrays, and listing references.
 *
 * The rows come from the do-all list; clumpi_rank_count and _write number their objects in list
 * order (the index array of the list), after which every slot knows its place in the dense array.
 *
 * Read first: enumerate.cl.
 */
#include "cl/scan.clh"

static inline clumpi_range list_range(const clumpi_view *v, uint first, uint last) {
    __global const uint *begin = clumpi_words_at(v, v->header->at_list_begin);
    clumpi_range r = {begin[first], begin[last + 1]};
    return r;
}

/* table[group]: objects in the group's rows. */
__kernel void clumpi_rank_count(__global uchar *heap, uint header_at, uint first, uint last) {
    __local uint objects;
    clumpi_view v = clumpi_view_of(heap, header_at);
    uint me = (uint)get_local_id(0), mine = 0;
    if (me == 0) objects = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    clumpi_range list = list_range(&v, first, last), chunk = clumpi_chunk(list.begin, list.end);
    __global const ulong *masks =
        (__global const ulong *)clumpi_words_at(&v, v.header->at_list_masks);
    for (uint r = chunk.begin + me; r < chunk.end; r += (uint)get_local_size(0))
        mine += clumpi_popcount64(masks[r]);
    atomic_add(&objects, mine);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (me == 0) clumpi_words_at(&v, v.header->at_scan)[get_group_id(0)] = objects;
}

/* index[row]: objects before the row; table[groups]: all of them. */
__kernel void clumpi_rank_write(__global uchar *heap, uint header_at, uint first, uint last) {
    __local uint sums[256]; /* the host launches at most 256 work-items a group */
    clumpi_view v = clumpi_view_of(heap, header_at);
    uint me = (uint)get_local_id(0), items = (uint)get_local_size(0), before = 0, all = 0;
    __global uint *table = clumpi_words_at(&v, v.header->at_scan);
    __global uint *index = clumpi_words_at(&v, v.header->at_list_index);
    __global const ulong *masks =
        (__global const ulong *)clumpi_words_at(&v, v.header->at_list_masks);
    for (uint g = 0; g < (uint)get_num_groups(0); g++) {
        before += g < (uint)get_group_id(0) ? table[g] : 0;
        all += table[g];
    }
    if (get_global_id(0) == 0) table[get_num_groups(0)] = all;
    clumpi_range list = list_range(&v, first, last), chunk = clumpi_chunk(list.begin, list.end);
    for (uint tile = chunk.begin; tile < chunk.end; tile += items) {
        uint row = tile + me, count = row < chunk.end ? clumpi_popcount64(masks[row]) : 0;
        uint upto = clumpi_group_scan(count, sums);
        if (row < chunk.end) index[row] = before + upto - count;
        before += sums[items - 1];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

#define DIRECTION_READ 0u
#define DIRECTION_WRITE 1u
#define DIRECTION_REFS 2u

/* One slot at a time: its value, or its reference, from or to place number index[row] + rank. */
__kernel void clumpi_field_copy(__global uchar *heap, uint header_at, uint first, uint last,
                                uint base, uint stride, uint bytes, uint direction,
                                __global uchar *values) {
    clumpi_view v = clumpi_view_of(heap, header_at);
    clumpi_range list = list_range(&v, first, last);
    __global const uint *rows = clumpi_words_at(&v, v.header->at_list_rows);
    __global const uint *index = clumpi_words_at(&v, v.header->at_list_index);
    __global const ulong *masks =
        (__global const ulong *)clumpi_words_at(&v, v.header->at_list_masks);
    for (ulong i = get_global_id(0); i < (ulong)(list.end - list.begin) * 64ul;
         i += get_global_size(0)) {
        uint row = list.begin + (uint)(i >> 6), slot = (uint)i & 63u;
        if (!(masks[row] >> slot & 1ul)) continue;
        ulong at = index[row] + clumpi_popcount64(masks[row] & ((1ul << slot) - 1ul));
        if (direction == DIRECTION_REFS) {
            ((__global uint *)values)[at] = rows[row] << 6 | slot;
            continue;
        }
        __global uchar *field = heap + (ulong)rows[row] * v.header->granule_bytes + base +
                                slot * stride;
        __global uchar *value = values + at * bytes;
        if (bytes % 4u == 0) {
            __global uint *f = (__global uint *)field, *d = (__global uint *)value;
            for (uint w = 0; w < bytes / 4u; w++) {
                if (direction == DIRECTION_READ) d[w] = f[w];
                else f[w] = d[w];
            }
        } else {
            for (uint b = 0; b < bytes; b++) {
                if (direction == DIRECTION_READ) value[b] = field[b];
                else field[b] = value[b];
            }
        }
    }
}
