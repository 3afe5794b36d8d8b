/* Elements of arrays of run-time length in raw memory, one after the other: without those in the
 * objects, as saved heaps and extracts have them, or among those, as the host has them.
 *
 * Read first: cl/api/arrays.clh, cl/heap/layout.h.
 */
#include "cl/core/layout.h"
#include "cl/core/prelude.clh"
#include "cl/heap/layout.h"

#define RUN_BYTES (CLUMPI_IS_CPU ? 4096u : 256u) /* of a work-item, which searches once for them */

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

/* Of an array, elements in raw memory. */
static inline uint outside_of(uint length, uint inside) {
    return length > inside ? length - inside : 0u;
}

/* Two words that only such calls alter become larger by a number. Each call that makes the lower
 * one overflow adds the carry, so they are right when all have ended. */
static inline void add_wide(__global uint *sum, ulong number) {
    const uint low = (uint)number, before = atomic_add(&sum[0], low),
               high = (uint)(number >> 32) + (before + low < before ? 1u : 0u);
    if (high) atomic_add(&sum[1], high);
}

/* Elements in raw memory of `count` arrays, the first of which is number `first`, a multiple of
 * CLUMPI_COUNT_PART * CLUMPI_COUNT_RUN: into `counts`, which was cleared. Arrays of which a word
 * cannot be right are found if `checks` asks for it. limit: bytes of the heap. */
__kernel void clumpi_elements_sum(__global uchar *heap, uint header_at,
                                  __global const uint *lengths, __global const uint *capacities,
                                  __global const uint *handles, uint count, ulong first,
                                  uint inside, uint each, ulong limit, uint checks,
                                  __global ulong *counts, uint parts) {
    __global ulong *runs = counts + CLUMPI_COUNT_PARTS + parts;
    (void)heap, (void)header_at;
    for (uint begin = (uint)get_global_id(0) * CLUMPI_COUNT_RUN; begin < count;
         begin += (uint)get_global_size(0) * CLUMPI_COUNT_RUN) {
        const uint end = min(begin + CLUMPI_COUNT_RUN, count);
        const ulong run = (first + begin) / CLUMPI_COUNT_RUN;
        ulong sum = 0, room = 0;
        for (uint i = begin; i < end; i++) {
            sum += outside_of(lengths[i], inside);
            if (!checks) continue;
            uint is_wrong = lengths[i] > (ulong)inside + capacities[i];
            if (checks == CLUMPI_COUNT_CHECK_ALL)
                is_wrong |=
                    (ulong)handles[i] * CLUMPI_RAW_UNIT + (ulong)capacities[i] * each > limit ||
                    (capacities[i] && !handles[i]);
            if (is_wrong) atomic_max((__global uint *)counts, ~(uint)(first + i));
            room += capacities[i];
        }
        runs[run] = sum;
        if (sum)
            add_wide((__global uint *)(counts + CLUMPI_COUNT_PARTS + run / CLUMPI_COUNT_PART), sum);
        if (room) add_wide((__global uint *)(counts + CLUMPI_COUNT_ROOM), room);
    }
}

/* Of the elements of these arrays, a launch copies those from number `from` on, up to `most`.
 * ends[i]: how many of them there are up to and with array i. */
__kernel void clumpi_elements_ends(__global uchar *heap, uint header_at,
                                   __global const uint *lengths, uint count, ulong first,
                                   uint inside, __global ulong *counts, uint parts, ulong from,
                                   uint most, __global uint *ends) {
    __global const ulong *sums = counts + CLUMPI_COUNT_PARTS, *runs = sums + parts;
    (void)heap, (void)header_at;
    for (uint begin = (uint)get_global_id(0) * CLUMPI_COUNT_RUN; begin < count;
         begin += (uint)get_global_size(0) * CLUMPI_COUNT_RUN) {
        const uint stop = min(begin + CLUMPI_COUNT_RUN, count);
        const ulong run = (first + begin) / CLUMPI_COUNT_RUN, part = run / CLUMPI_COUNT_PART;
        ulong at = 0; /* of the array's first element */
        for (ulong k = first / CLUMPI_COUNT_RUN / CLUMPI_COUNT_PART; k < part; k++) at += sums[k];
        for (ulong k = part * CLUMPI_COUNT_PART; k < run; k++) at += runs[k];
        for (uint i = begin; i < stop; i++) {
            const ulong next = at + outside_of(lengths[i], inside);
            if (at <= from && from < next) counts[CLUMPI_COUNT_SKIP] = from - at;
            ends[i] = next > from ? (uint)min(next - from, (ulong)most) : 0u;
            at = next;
        }
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
 * `values` on. Element 0 is number counts[CLUMPI_COUNT_SKIP] of its array. each: bytes of an
 * element. */
__kernel void clumpi_elements_copy(__global uchar *heap, uint header_at,
                                   __global const uint *handles, __global const uint *ends,
                                   uint count, __global const ulong *counts, __global uchar *values,
                                   ulong at, uint each, uint is_read) {
    const ulong skip = counts[CLUMPI_COUNT_SKIP];
    const uint all = ends[count - 1u], run = RUN_BYTES / each;
    (void)header_at;
    for (uint e = (uint)get_global_id(0) * run; e < all; e += (uint)get_global_size(0) * run) {
        const uint to = min(e + run, all);
        uint array = 0;
        for (uint from = e, next; from < to; from = next) { /* bound: run, each has an element */
            array = array_of(ends, count, array, from);
            const uint begin = array ? ends[array - 1u] : 0u;
            const ulong first = from - begin + (begin ? 0ul : skip);
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
