/* Moving field values between objects and dense host arrays, and listing references.
 *
 * The rows come from the do-all list; clumpi_rank_count and _write number their objects in list
 * order (the index array of the list), after which every slot knows its place in the dense array.
 *
 * Read first: enumerate.cl, cl/heap/layout.h.
 */
#include "cl/core/scan.clh"
#include "cl/heap/layout.h"

/* A word per work-group: objects in its rows. */
static inline __global uint *rank_counts(const clumpi_view *v) {
    return clumpi_words_at(v, v->header->at_scan);
}

/* The objects of row `r` of the list that are numbered. chosen: null, if all are; or two words for
 * each granule from chosen[at] on: bit s of a granule at which a row starts tells whether the
 * object in slot s is. */
static inline ulong rank_mask(const clumpi_view *v, uint r, __global const uint *chosen, ulong at) {
    ulong mask = ((__global const ulong *)clumpi_words_at(v, v->header->at_list_masks))[r];
    if (!chosen) return mask;
    at += 2ul * clumpi_words_at(v, v->header->at_list_rows)[r];
    return mask & ((ulong)chosen[at + 1ul] << 32 | chosen[at]);
}

__kernel void clumpi_rank_count(__global uchar *heap, uint header_at, uint first, uint last,
                                __global const uint *chosen, ulong at) {
    __local uint objects;
    clumpi_view v = clumpi_view_of(heap, header_at);
    uint me = (uint)get_local_id(0), mine = 0;
    if (me == 0) objects = 0;
    CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE);
    clumpi_range list = clumpi_list_range(&v, first, last),
                 chunk = clumpi_chunk(list.begin, list.end);
    for (uint r = chunk.begin + me; r < chunk.end; r += (uint)get_local_size(0))
        mine += clumpi_popcount64(rank_mask(&v, r, chosen, at));
    atomic_add(&objects, mine);
    CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE);
    if (me == 0) rank_counts(&v)[get_group_id(0)] = objects;
}

/* index[row]: objects before the row; header.ranked: all of them. */
__kernel void clumpi_rank_write(__global uchar *heap, uint header_at, uint first, uint last,
                                __global const uint *chosen, ulong at) {
    __local uint sums[256]; /* the host launches at most 256 work-items a group */
    __local uint before_group, all;
    clumpi_view v = clumpi_view_of(heap, header_at);
    uint me = (uint)get_local_id(0), items = (uint)get_local_size(0);
    __global uint *index = clumpi_words_at(&v, v.header->at_list_index);
    clumpi_groups_sum(rank_counts(&v), 1u, &before_group, &all);
    uint before = before_group;
    if (get_global_id(0) == 0) v.header->ranked = all;
    clumpi_range list = clumpi_list_range(&v, first, last),
                 chunk = clumpi_chunk(list.begin, list.end);
    for (uint tile = chunk.begin; tile < chunk.end; tile += items) {
        uint row = tile + me,
             count = row < chunk.end ? clumpi_popcount64(rank_mask(&v, row, chosen, at)) : 0;
        uint upto = clumpi_group_scan(count, sums);
        if (row < chunk.end) index[row] = before + upto - count;
        before += sums[items - 1];
        CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE);
    }
}

/* One row, and this work-item's slots of it: me, me + items, ... */
typedef struct row_copy {
    __global uchar *field; /* of slot 0 */
    ulong index;           /* number of the row's first object */
    ulong mask;
    uint stride, me, items, bytes, what;
} row_copy;

/* A function per width, so that accesses are as wide as elements and loops over full rows have no
 * branch. Nothing of `c` changes while values are stored. */
#define COPY_ROW(type, pieces)                                                                     \
    static inline void copy_row_##type(row_copy c, __global uchar *values) {                       \
        __global type *dense = (__global type *)values + c.index * (pieces);                       \
        for (uint slot = c.me; slot < 64u; slot += c.items) {                                      \
            if (c.mask != ~0ul && !(c.mask >> slot & 1ul)) continue;                               \
            uint rank = c.mask == ~0ul ? slot : clumpi_rank_in_row(c.mask, slot);                  \
            __global type *f = (__global type *)(c.field + slot * c.stride);                       \
            for (uint p = 0; p < (pieces); p++) {                                                  \
                if (c.what == CLUMPI_COPY_READ)                                                    \
                    dense[rank * (pieces) + p] = f[p];                                             \
                else                                                                               \
                    f[p] = dense[rank * (pieces) + p];                                             \
            }                                                                                      \
        }                                                                                          \
    }
COPY_ROW(uchar, 1u)
COPY_ROW(ushort, 1u)
COPY_ROW(uint, 1u)
COPY_ROW(ulong, 1u)
COPY_ROW(uint4, c.bytes / 16u) /* and wider */

static inline void list_row_refs(row_copy c, uint row, __global uint *refs) {
    for (uint slot = c.me; slot < 64u; slot += c.items)
        if (c.mask >> slot & 1ul)
            refs[c.index + clumpi_rank_in_row(c.mask, slot)] = row << 6 | slot;
}

/* The objects of a row that are among the first `most` of all. */
static inline ulong mask_upto(row_copy c, ulong most) {
    const ulong left = c.index < most ? most - c.index : 0ul;
    uint count = clumpi_popcount64(c.mask);
    /* the last one goes */
    for (; count > left; count--) c.mask ^= 1ul << (63u - (uint)clz(c.mask));
    return c.mask;
}

/* The value, or the reference, of each object from or to place number index[row] + rank, of the
 * first `most` objects. Neighbouring rows go to the same group: on a CPU that is one core. */
__kernel void clumpi_field_copy(__global uchar *heap, uint header_at, uint first, uint last,
                                uint base, uint stride, uint bytes, uint what,
                                __global uchar *values, ulong at, ulong most) {
    clumpi_view v = clumpi_view_of(heap, header_at);
    clumpi_range list = clumpi_list_range(&v, first, last),
                 chunk = clumpi_chunk(list.begin, list.end);
    __global const uint *rows = clumpi_words_at(&v, v.header->at_list_rows);
    __global const uint *index = clumpi_words_at(&v, v.header->at_list_index);
    __global const ulong *masks =
        (__global const ulong *)clumpi_words_at(&v, v.header->at_list_masks);
    const clumpi_memory memory = clumpi_memory_of(heap, v.header);
    uint items = min((uint)get_local_size(0), 64u), me = (uint)get_local_id(0);
    row_copy c = {0, 0, 0, stride, me % items, items, bytes, what};
    values += at;
    for (uint r = chunk.begin + me / items; r < chunk.end; r += (uint)get_local_size(0) / items) {
        c.field = clumpi_granule_at(memory, rows[r]) + base;
        c.index = index[r];
        c.mask = masks[r];
        c.mask = mask_upto(c, most);
        if (what == CLUMPI_COPY_REFS)
            list_row_refs(c, rows[r], (__global uint *)values);
        else if (bytes == 1u)
            copy_row_uchar(c, values);
        else if (bytes == 2u)
            copy_row_ushort(c, values);
        else if (bytes == 4u)
            copy_row_uint(c, values);
        else if (bytes == 8u)
            copy_row_ulong(c, values);
        else
            copy_row_uint4(c, values);
    }
}
