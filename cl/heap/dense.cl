/* Objects by dense numbers, for what leaves the heap and comes back: references become numbers, and
 * numbers references.
 *
 * All objects of the heap are numbered in the order of the list of rows (fields.cl). A number is
 * written as one more than it is, so that 0 is null. Numbers that come from outside are those of
 * another heap of the same objects: spans say which class each of them is of, and where the class
 * begins here.
 *
 * Each kernel works on words that lie one after the other. Read first: fields.cl, structs.cl,
 * cl/heap/layout.h.
 */
#include "cl/core/alloc.clh"
#include "cl/core/scan.clh"
#include "cl/heap/layout.h"

/* first[granule at which a row of the classes up to last_class starts]: one more than the number of
 * its first object. The others are 0. */
__kernel void clumpi_dense_rows(__global uchar *heap, uint header_at, uint last_class,
                                __global uint *first) {
    clumpi_view v = clumpi_view_of(heap, header_at);
    clumpi_range list = clumpi_list_range(&v, 1u, last_class);
    __global const uint *rows = clumpi_words_at(&v, v.header->at_list_rows);
    __global const uint *index = clumpi_words_at(&v, v.header->at_list_index);
    for (uint r = list.begin + (uint)get_global_id(0); r < list.end; r += (uint)get_global_size(0))
        first[rows[r]] = index[r] + 1u;
}

/* References to objects with the numbers from .. to-1, those of some classes, become numbers, all
 * others null, from words[at] on. Those to the null row are none: what a field had that was never
 * written, in a checked heap. granules: of `first`. */
__kernel void clumpi_dense_numbers(__global uchar *heap, uint header_at, uint from, uint to,
                                   __global const uint *first, uint granules, __global uint *words,
                                   ulong at, uint count, __global clumpi_dense_wrong *wrong) {
    clumpi_view v = clumpi_view_of(heap, header_at);
    uint nulled = 0;
    for (uint i = (uint)get_global_id(0); i < count; i += (uint)get_global_size(0)) {
        uint ref = words[at + i], granule = ref >> 6, number = 0;
        if (ref == 0) continue;
        if (granule < granules) number = first[granule];
        if (number) {
            ulong bits = clumpi_row_bits(&v, granule);
            number += clumpi_rank_in_row(bits, ref & 63u);
            if (!(bits >> (ref & 63u) & 1ul) || number <= from || number > to) number = 0;
        }
        nulled += number == 0 && ref != CLUMPI_FRESH_REF;
        words[at + i] = number;
    }
    if (nulled) atomic_add(&wrong->nulled, nulled);
}

/* The span that has a number: the last that does not begin above it. There is one. */
static inline uint dense_span_of(__global const clumpi_dense_span *spans, uint count, uint number) {
    uint span = 0;
    for (uint step = 1u << (31u - clz(count)); step; step >>= 1)
        if (step < count - span && spans[span + step].from <= number) span += step;
    return span;
}

/* Numbers become references. Those that are not below `objects`, or not of the classes first_class
 * .. last_class, become null and are counted. refs: of the heap's objects by number. */
__kernel void clumpi_dense_refs(__global const uint *refs, __global const clumpi_dense_span *spans,
                                uint span_count, uint objects, uint first_class, uint last_class,
                                __global uint *words, uint count,
                                __global clumpi_dense_wrong *wrong) {
    for (uint i = (uint)get_global_id(0); i < count; i += (uint)get_global_size(0)) {
        uint number = words[i], ref = 0;
        if (number == 0) continue;
        number--;
        if (number >= objects) {
            atomic_inc(&wrong->no_object);
        } else {
            clumpi_dense_span span = spans[dense_span_of(spans, span_count, number)];
            if (span.class_id < first_class || span.class_id > last_class)
                atomic_inc(&wrong->no_member);
            else
                ref = refs[span.to + (number - span.from)];
        }
        words[i] = ref;
    }
}

/* `count` words between outside[at], `stride` words apart, and words[]. What is written beyond
 * `given` of them is null. */
__kernel void clumpi_dense_outside(__global uint *outside, ulong at, ulong stride,
                                   __global uint *words, uint count, uint given, uint is_read) {
    for (uint i = (uint)get_global_id(0); i < count; i += (uint)get_global_size(0)) {
        __global uint *place = outside + at + i * stride;
        if (is_read)
            words[i] = *place;
        else
            *place = i < given ? words[i] : 0u;
    }
}
