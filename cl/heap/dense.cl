/* Objects by dense numbers, for what leaves the heap and comes back: references become numbers, and numbers references.
 *
 * All objects of the heap are numbered in the order of the list of rows (fields.cl), or those that somebody has chosen: then
 * the list has their bits only. A number is written as one more than it
 * is, so that 0 is null. Numbers that come from outside are those of another heap of the same objects: spans say which class each of
 * them is of, and where the class begins here.
 *
 * Each kernel works on words that lie one after the other. Read first: fields.cl, structs.cl, cl/heap/layout.h.
 */
#include "cl/core/alloc.clh"
#include "cl/core/scan.clh"
#include "cl/heap/layout.h"

/* first[granule at which a row starts]: number of the row's first object. */
__kernel void clumpi_dense_rows(__global uchar *heap, uint header_at, __global uint *first) {
    clumpi_view v = clumpi_view_of(heap, header_at);
    clumpi_range list = clumpi_list_range(&v, 1u, v.header->class_count);
    __global const uint *rows = clumpi_words_at(&v, v.header->at_list_rows);
    __global const uint *index = clumpi_words_at(&v, v.header->at_list_index);
    for (uint r = list.begin + (uint)get_global_id(0); r < list.end; r += (uint)get_global_size(0))
        first[rows[r]] = index[r];
}

/* Two words for each granule, from chosen[at] on: bit s of a granule at which a row starts tells whether the object in slot s
 * is chosen. */
static inline ulong dense_chosen(__global const uint *chosen, ulong at, uint granule) {
    return (ulong)chosen[at + 2ul * granule + 1ul] << 32 | chosen[at + 2ul * granule];
}

/* The list of all objects becomes that of the chosen ones; rows without any stay in it. */
__kernel void clumpi_dense_choose(__global uchar *heap, uint header_at, __global const uint *chosen, ulong at) {
    clumpi_view v = clumpi_view_of(heap, header_at);
    clumpi_range list = clumpi_list_range(&v, 1u, v.header->class_count);
    __global const uint *rows = clumpi_words_at(&v, v.header->at_list_rows);
    __global ulong *masks = (__global ulong *)clumpi_words_at(&v, v.header->at_list_masks);
    for (uint r = list.begin + (uint)get_global_id(0); r < list.end; r += (uint)get_global_size(0))
        masks[r] &= dense_chosen(chosen, at, rows[r]);
}

/* first[class]: number of its first object; then of all. One work-group. */
__kernel void clumpi_dense_first(__global uchar *heap, uint header_at, __global uint *first) {
    clumpi_view v = clumpi_view_of(heap, header_at);
    uint classes = v.header->class_count;
    clumpi_range list = clumpi_list_range(&v, 1u, classes);
    __global const uint *index = clumpi_words_at(&v, v.header->at_list_index);
    for (uint c = 1u + (uint)get_local_id(0); c <= classes + 1u; c += (uint)get_local_size(0)) {
        uint row = clumpi_words_at(&v, v.header->at_list_begin)[c];
        first[c] = row < list.end ? index[row] : v.header->ranked;
    }
}

/* References to objects of the classes first_class .. last_class, from words[at] on, become numbers, all others null. Those to
 * the null row are none: what a field had that was never written, in a checked heap. chosen: null, if all have numbers. */
__kernel void clumpi_dense_numbers(__global uchar *heap, uint header_at, uint first_class, uint last_class,
                                   __global const uint *first, __global const uint *chosen, ulong chosen_at,
                                   __global uint *words, ulong at, uint count, __global clumpi_dense_wrong *wrong) {
    clumpi_view v = clumpi_view_of(heap, header_at);
    uint nulled = 0, left_out = 0;
    for (uint i = (uint)get_global_id(0); i < count; i += (uint)get_global_size(0)) {
        uint ref = words[at + i], granule = ref >> 6, number = 0, is_live = 0;
        if (ref == 0) continue;
        clumpi_place place = clumpi_place_of(clumpi_home_of(&v), granule);
        if (clumpi_place_fits(place, first_class, last_class)) {
            ulong bits = clumpi_row_bits(&v, granule);
            is_live = (uint)(bits >> (ref & 63u)) & 1u;
            if (is_live && chosen) bits &= dense_chosen(chosen, chosen_at, granule);
            if (bits >> (ref & 63u) & 1ul) number = first[granule] + clumpi_rank_in_row(bits, ref & 63u) + 1u;
        }
        left_out += is_live && number == 0;
        nulled += !is_live && (granule || ref == CLUMPI_STALE_REF);
        words[at + i] = number;
    }
    if (nulled) atomic_add(&wrong->nulled, nulled);
    if (left_out) atomic_add(&wrong->left_out, left_out);
}

/* The span that has a number: the last that does not begin above it. There is one. */
static inline uint dense_span_of(__global const clumpi_dense_span *spans, uint count, uint number) {
    uint span = 0;
    for (uint step = 1u << (31u - clz(count)); step; step >>= 1)
        if (step < count - span && spans[span + step].from <= number) span += step;
    return span;
}

/* Numbers become references. Those that are not below `objects`, or not of the classes first_class .. last_class, become
 * null and are counted. refs: of the heap's objects by number. */
__kernel void clumpi_dense_refs(__global const uint *refs, __global const clumpi_dense_span *spans, uint span_count,
                                uint objects, uint first_class, uint last_class, __global uint *words, uint count,
                                __global clumpi_dense_wrong *wrong) {
    for (uint i = (uint)get_global_id(0); i < count; i += (uint)get_global_size(0)) {
        uint number = words[i], ref = 0;
        if (number == 0) continue;
        number--;
        if (number >= objects) {
            atomic_inc(&wrong->no_object);
        } else {
            clumpi_dense_span span = spans[dense_span_of(spans, span_count, number)];
            if (span.class_id < first_class || span.class_id > last_class) atomic_inc(&wrong->no_member);
            else ref = refs[span.to + (number - span.from)];
        }
        words[i] = ref;
    }
}

/* `count` words between outside[at], `stride` words apart, and words[]. What is written beyond `given` of them is null. */
__kernel void clumpi_dense_outside(__global uint *outside, ulong at, ulong stride, __global uint *words, uint count,
                                   uint given, uint is_read) {
    for (uint i = (uint)get_global_id(0); i < count; i += (uint)get_global_size(0)) {
        __global uint *place = outside + at + i * stride;
        if (is_read) words[i] = *place;
        else *place = i < given ? words[i] : 0u;
    }
}
