/* Objects as arrays of structs: of all objects in the list of rows, or of those that references
 * name.
 *
 * A launch copies one field, an array whole, between its place in the rows and its place in the
 * structs. Structs are counted by the index array of the list, as values of a field are
 * (fields.cl).
 *
 * Arrays of run-time length have kernels of their own, since their elements follow each other. The
 * buffer begins with ulongs: the elements of object number n are elements word[n] .. word[n + 1]-1
 * from byte f.at on. Elements of the object beyond these become 0. Elements in raw memory are left
 * out (elements.cl).
 *
 * Read first: fields.cl, cl/heap/layout.h.
 */
#include "cl/core/alloc.clh"
#include "cl/core/scan.clh"
#include "cl/heap/layout.h"

#define PIECES(type)                                                                               \
    for (uint i = 0; i < bytes / (uint)sizeof(type); i++)                                          \
        ((__global type *)to)[i] = ((__global const type *)from)[i];

/* In pieces as wide as both places are aligned to. */
static inline void struct_copy(__global uchar *to, __global const uchar *from, uint bytes,
                               uint piece) {
    if (piece == 16u) {
        PIECES(uint4)
    } else if (piece == 8u) {
        PIECES(ulong)
    } else if (piece == 4u) {
        PIECES(uint)
    } else if (piece == 2u) {
        PIECES(ushort)
    } else {
        PIECES(uchar)
    }
}

/* Elements from .. of an array, which begins at `field`. */
static inline void struct_clear(clumpi_struct_field f, __global uchar *field, uint from) {
    for (uint e = from; e < f.count; e++)
        for (uint i = 0; i < f.bytes; i++) field[e * f.step + i] = 0;
}

/* The field of the object in `slot` of the row at `row`, and struct number `number`. */
static inline void struct_field(clumpi_struct_field f, __global uchar *row, uint slot,
                                __global uchar *structs, ulong number, uint is_array) {
    __global uchar *field = row + f.base + slot * f.stride;
    __global uchar *place = structs + f.at + number * f.struct_bytes;
    uint count = f.count;
    if (is_array) { /* a constant in each kernel */
        __global const ulong *offsets = (__global const ulong *)structs;
        place += offsets[number] * f.bytes;
        count = (uint)min(offsets[number + 1ul] - offsets[number], (ulong)f.count);
        if (!f.is_read) struct_clear(f, field, count);
    }
    for (uint e = 0; e < count; e++) {
        if (f.is_read)
            struct_copy(place + e * f.next, field + e * f.step, f.bytes, f.piece);
        else
            struct_copy(field + e * f.step, place + e * f.next, f.bytes, f.piece);
    }
}

/* The field of a whole row, if it lies there as it does in the structs, and nothing else does; 0 if
 * not. A work-item for each slot copies no faster that way, so only CPUs ask. */
static inline uint struct_row(clumpi_struct_field f, __global uchar *row, __global uchar *structs,
                              ulong mask, ulong number) {
    __global uchar *field = row + f.base, *place = structs + f.at + number * f.struct_bytes;
    if (~mask || f.count != 1u || f.stride != f.bytes || f.struct_bytes != f.bytes) return 0u;
    if (f.is_read)
        struct_copy(place, field, 64u * f.bytes, f.piece);
    else
        struct_copy(field, place, 64u * f.bytes, f.piece);
    return 1u;
}

/* Of the classes first .. last, or, if `first` is 0, of the objects that a do-new just made. */
static inline clumpi_range struct_rows(const clumpi_view *v, uint first, uint last) {
    clumpi_range made = {0, v->header->new_rows};
    return first ? clumpi_list_range(v, first, last) : made;
}

/* The last row of a list that is not empty whose first object has no larger number. The numbers of
 * a list of classes grow from row to row. */
static inline uint struct_row_of(__global const uint *index, clumpi_range list, uint number) {
    uint row = list.begin;
    for (uint step = 1u << (31u - clz(list.end - list.begin)); step; step >>= 1)
        if (step < list.end - row && index[row + step] <= number) row += step;
    return row;
}

/* The rows that have the numbers f.from .. f.to-1. */
static inline clumpi_range struct_narrow(__global const uint *index, clumpi_range list,
                                         clumpi_struct_field f) {
    if (f.to == CLUMPI_NONE || list.begin == list.end || f.from == f.to) return list;
    clumpi_range found = {struct_row_of(index, list, f.from),
                          struct_row_of(index, list, f.to - 1u) + 1u};
    return found;
}

static inline void struct_all(__global uchar *heap, uint header_at, uint first, uint last,
                              clumpi_struct_field f, __global uchar *structs, uint is_array) {
    clumpi_view v = clumpi_view_of(heap, header_at);
    clumpi_range list = struct_rows(&v, first, last);
    __global const uint *rows = clumpi_words_at(&v, v.header->at_list_rows);
    __global const uint *index = clumpi_words_at(&v, v.header->at_list_index);
    if (first) list = struct_narrow(index, list, f);
    clumpi_range chunk = clumpi_chunk(list.begin, list.end);
    __global const ulong *masks =
        (__global const ulong *)clumpi_words_at(&v, v.header->at_list_masks);
    uint items = min((uint)get_local_size(0), 64u), me = (uint)get_local_id(0);
    const clumpi_memory memory = clumpi_memory_of(heap, v.header);
    for (uint r = chunk.begin + me / items; r < chunk.end; r += (uint)get_local_size(0) / items) {
        __global uchar *row = clumpi_granule_at(memory, rows[r]);
#if CLUMPI_ROW_PER_ITEM
        if (!is_array && index[r] >= f.from && f.to - index[r] >= 64u && index[r] < f.to &&
            struct_row(f, row, structs, masks[r], index[r] - f.from))
            continue;
#endif
        for (uint slot = me % items; slot < 64u; slot += items) {
            if (!(masks[r] >> slot & 1ul)) continue;
            uint number = index[r] + clumpi_rank_in_row(masks[r], slot);
            if (number < f.from || number >= f.to) continue;
            number -= f.from;
            struct_field(f, row, slot, structs, number, is_array);
            if (f.count == 0) ((__global uint *)(structs + f.at))[number] = rows[r] << 6 | slot;
        }
    }
}

/* If f.count is 0, `structs` gets the references of the objects instead. */
__kernel void clumpi_struct_all(__global uchar *heap, uint header_at, uint first, uint last,
                                clumpi_struct_field f, __global uchar *structs) {
    struct_all(heap, header_at, first, last, f, structs, 0u);
}

__kernel void clumpi_struct_arrays(__global uchar *heap, uint header_at, uint first, uint last,
                                   clumpi_struct_field f, __global uchar *structs) {
    struct_all(heap, header_at, first, last, f, structs, 1u);
}

/* Behind the references are two zeros. They become the number of those that name no live object of
 * the classes, and the complement of the first one's number. */
__kernel void clumpi_struct_check(__global uchar *heap, uint header_at, uint first, uint last,
                                  __global uint *refs, uint count) {
    clumpi_view v = clumpi_view_of(heap, header_at);
    __global uint *wrong = refs + count;
    for (uint i = (uint)get_global_id(0); i < count; i += (uint)get_global_size(0)) {
        uint granule = refs[i] >> 6;
        clumpi_place place = clumpi_place_of(clumpi_home_of(&v), granule);
        uint is_live = clumpi_place_fits(place, first, last);
        if (is_live) is_live = (uint)(clumpi_row_bits(&v, granule) >> (refs[i] & 63u)) & 1u;
        if (is_live) continue;
        atomic_inc(&wrong[0]);
        atomic_max(&wrong[1], ~i);
    }
}

/* The objects that references name. */
static inline void struct_chosen(__global uchar *heap, uint header_at, __global const uint *refs,
                                 uint count, clumpi_struct_field f, __global uchar *structs,
                                 uint is_array) {
    clumpi_view v = clumpi_view_of(heap, header_at);
    const clumpi_memory memory = clumpi_memory_of(heap, v.header);
    for (uint i = (uint)get_global_id(0); i < count; i += (uint)get_global_size(0)) {
        uint ref = refs[i];
        struct_field(f, clumpi_granule_at(memory, ref >> 6), ref & 63u, structs, i, is_array);
    }
}

__kernel void clumpi_struct_chosen(__global uchar *heap, uint header_at, __global const uint *refs,
                                   uint count, clumpi_struct_field f, __global uchar *structs) {
    struct_chosen(heap, header_at, refs, count, f, structs, 0u);
}

__kernel void clumpi_struct_chosen_arrays(__global uchar *heap, uint header_at,
                                          __global const uint *refs, uint count,
                                          clumpi_struct_field f, __global uchar *structs) {
    struct_chosen(heap, header_at, refs, count, f, structs, 1u);
}
