/* Elements of arrays of run-time length in raw memory, one after the other: without those in the
 * objects, as saved heaps and extracts have them, or among those, as the host has them.
 *
 * Read first: cl/api/arrays.clh.
 */
#include "cl/core/layout.h"

#define RUN_BYTES 256u /* of a work-item, for which it searches once */

#define COPY(type)                                                                                 \
    for (uint i = 0; i < bytes / (uint)sizeof(type); i++)                                          \
        ((__global type *)to)[i] = ((__global const type *)from)[i];

/* In pieces as wide as both places are aligned to: `each` bytes, or 16. */
static inline void copy_elements(__global uchar *to, __global const uchar *from, uint bytes,
                                 uint each) {
    if (each >= 16u) {
        COPY(uint4)
    } else if (each == 8u) {
        COPY(ulong)
    } else if (each == 4u) {
        COPY(uint)
    } else if (each == 2u) {
        COPY(ushort)
    } else {
        COPY(uchar)
    }
}

/* The first of `count` arrays, from `array` on, that ends beyond element e. There is one. */
static inline uint array_of(__global const uint *ends, uint count, uint array, uint e) {
    if (ends[array] > e) return array;
    for (uint step = 1u << (31u - clz(count)); step; step >>= 1)
        if (step < count - array && ends[array + step - 1u] <= e) array += step;
    return array;
}

/* Array i has the elements ends[i - 1] .. ends[i] - 1 of `values`, counted from element `at` of
 * `values` on. Array 0 begins with element `skip` of the array. each: bytes of an element. */
__kernel void clumpi_elements_copy(__global uchar *heap, uint header_at,
                                   __global const uint *handles, __global const uint *ends,
                                   uint count, ulong skip, __global uchar *values, ulong at,
                                   uint each, uint is_read) {
    const uint all = ends[count - 1u], run = RUN_BYTES / each;
    (void)header_at;
    for (uint e = (uint)get_global_id(0) * run; e < all; e += (uint)get_global_size(0) * run) {
        const uint to = min(e + run, all);
        uint array = 0;
        for (uint from = e, next; from < to; from = next) { /* bound: run, each has an element */
            array = array_of(ends, count, array, from);
            const uint begin = array ? ends[array - 1u] : 0u;
            const ulong first = from - begin + (array ? 0ul : skip);
            next = min(ends[array], to);
            __global uchar *elements =
                heap + (ulong)handles[array] * CLUMPI_RAW_UNIT + first * each;
            __global uchar *piece = values + (at + from) * each;
            if (is_read)
                copy_elements(piece, elements, (next - from) * each, each);
            else
                copy_elements(elements, piece, (next - from) * each, each);
            array += next < to; /* most often the next one has elements */
        }
    }
}

/* The same of 64-bit offsets: the array, from `array` on, that has element e. There is one. */
static inline uint array_with(__global const ulong *offsets, uint count, uint array, ulong e) {
    if (offsets[array + 1u] > e) return array;
    for (uint step = 1u << (31u - clz(count)); step; step >>= 1)
        if (step < count - array && offsets[array + step] <= e) array += step;
    return array;
}

/* Array i has the elements offsets[i] .. offsets[i + 1] - 1 of those that begin at byte `at` of
 * `values`, which begins with the offsets. The first `inside` of each array are in its object, and
 * are left out. words[from_word + i] is the handle of array i. */
__kernel void clumpi_elements_spread(__global uchar *heap, uint header_at,
                                     __global const uint *words, ulong from_word, uint count,
                                     __global uchar *values, ulong at, uint each, uint inside,
                                     uint is_read) {
    __global const ulong *offsets = (__global const ulong *)values;
    const ulong all = offsets[count];
    const uint run = RUN_BYTES / each;
    (void)header_at;
    for (ulong e = (ulong)get_global_id(0) * run; e < all; e += (ulong)get_global_size(0) * run) {
        const ulong to = min(e + run, all);
        uint array = 0;
        for (ulong from = e, next; from < to; from = next) { /* bound: run, each has an element */
            array = array_with(offsets, count, array, from);
            next = min(offsets[array + 1u], to);
            const ulong first = max(from, offsets[array] + inside);
            if (first >= next) continue;
            __global uchar *elements = heap + (ulong)words[from_word + array] * CLUMPI_RAW_UNIT +
                                       (first - offsets[array] - inside) * each;
            __global uchar *piece = values + at + first * each;
            if (is_read)
                copy_elements(piece, elements, (uint)(next - first) * each, each);
            else
                copy_elements(elements, piece, (uint)(next - first) * each, each);
        }
    }
}
