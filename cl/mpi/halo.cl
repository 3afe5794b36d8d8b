/* What changed in the edges of a domain since they were sent last: packed on one side, and put into
 * a copy of the edges on the other one. cl/mpi/layout.h has the form.
 *
 * A work-group handles a chunk. The chunk's place among the changed elements is that of one
 * addition to a counter, so no group waits for another one, and the receiver needs no sums over
 * chunks.
 *
 * Invariant: both sides have the same copy after each exchange. What a stream says is not trusted:
 * no element outside of the part or the stream is touched.
 *
 * HALO_TYPE and HALO_WORDS: an element has so many words of this type.
 *
 * Read first: cl/mpi/layout.h. The launches: host/mpi/delta.c.
 */
#include "cl/mpi/layout.h"

#ifndef HALO_TYPE
#define HALO_TYPE uint
#define HALO_WORDS 1u
#endif

#define HALO_KERNEL __kernel __attribute__((reqd_work_group_size(CLUMPI_HALO_LANES, 1, 1)))

/* The part that a group's chunk is of. */
static inline __global const clumpi_halo_part *clumpi_halo_part_of(
    __global const clumpi_halo_part *parts, uint count) {
    uint p = 0;
    for (uint i = 1; i < min(count, CLUMPI_HALO_PARTS); i++)
        if (parts[i].first_chunk <= (uint)get_group_id(0)) p = i;
    return parts + p;
}

static inline __global HALO_TYPE *clumpi_halo_changed(__global uint *stream, uint chunks) {
    return (__global HALO_TYPE *)(stream + (ulong)chunks * CLUMPI_HALO_CHUNK_WORDS);
}

/* `counts`, by part: changed elements, 0 before. Elements that do not fit are not packed. */
HALO_KERNEL void clumpi_halo_encode(__global const HALO_TYPE *edges, __global HALO_TYPE *copy,
                                    __global uint *streams, __global const clumpi_halo_part *parts,
                                    uint part_count, __global uint *counts) {
    __local uint sums[CLUMPI_HALO_LANES + 1u]; /* the last: the chunk's place */
    __global const clumpi_halo_part *part = clumpi_halo_part_of(parts, part_count);
    const uint lane = (uint)get_local_id(0), chunk = (uint)get_group_id(0) - part->first_chunk;
    const uint first = chunk * CLUMPI_HALO_CHUNK + lane;
    __global const HALO_TYPE *from = edges + part->at * HALO_WORDS;
    __global HALO_TYPE *to = copy + part->copy_at * HALO_WORDS;
    __global uint *stream = streams + part->stream_at;
    uint mask = 0, at = 0, all = 0;
    for (uint k = 0; k < 32u; k++) {
        const ulong e = first + (ulong)k * CLUMPI_HALO_LANES;
        uint differs = 0;
        for (uint w = 0; e < part->elements && w < HALO_WORDS; w++)
            differs |= from[e * HALO_WORDS + w] != to[e * HALO_WORDS + w];
        mask |= differs << k;
    }
    sums[lane] = popcount(mask);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint i = 0; i < CLUMPI_HALO_LANES; i++) {
        all += sums[i];
        at += i < lane ? sums[i] : 0u;
    }
    if (lane == 0) {
        const uint place = all ? atomic_add(&counts[part - parts], all) : 0u;
        sums[CLUMPI_HALO_LANES] = stream[chunk] = place;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint begin = sums[CLUMPI_HALO_LANES];
    stream[part->chunks + chunk * CLUMPI_HALO_LANES + lane] = mask;
    const uint fits = begin <= part->most && all <= part->most - begin;
    __global HALO_TYPE *changed = clumpi_halo_changed(stream, part->chunks);
    at += begin;
    for (uint k = 0; k < 32u; k++) {
        if (!(mask >> k & 1u)) continue;
        const ulong e = first + (ulong)k * CLUMPI_HALO_LANES;
        for (uint w = 0; w < HALO_WORDS; w++) {
            const HALO_TYPE value = from[e * HALO_WORDS + w];
            to[e * HALO_WORDS + w] = value;
            if (fits) changed[(ulong)at * HALO_WORDS + w] = value;
        }
        at++;
    }
}

/* `counts`, by part: changed elements of its stream, or CLUMPI_HALO_WHOLE. */
HALO_KERNEL void clumpi_halo_decode(__global HALO_TYPE *copy, __global uint *streams,
                                    __global const clumpi_halo_part *parts, uint part_count,
                                    __global const uint *counts) {
    __local uint sums[CLUMPI_HALO_LANES];
    __global const clumpi_halo_part *part = clumpi_halo_part_of(parts, part_count);
    const uint count = counts[part - parts];
    if (count == CLUMPI_HALO_WHOLE) return; /* all lanes */
    const uint lane = (uint)get_local_id(0), chunk = (uint)get_group_id(0) - part->first_chunk;
    const uint first = chunk * CLUMPI_HALO_CHUNK + lane;
    __global uint *stream = streams + part->stream_at;
    __global HALO_TYPE *to = copy + part->copy_at * HALO_WORDS;
    __global const HALO_TYPE *changed = clumpi_halo_changed(stream, part->chunks);
    const uint mask = stream[part->chunks + chunk * CLUMPI_HALO_LANES + lane];
    ulong at = stream[chunk];
    sums[lane] = popcount(mask);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint i = 0; i < lane; i++) at += sums[i];
    for (uint k = 0; k < 32u; k++) {
        if (!(mask >> k & 1u)) continue;
        const ulong e = first + (ulong)k * CLUMPI_HALO_LANES;
        for (uint w = 0; e < part->elements && at < count && w < HALO_WORDS; w++)
            to[e * HALO_WORDS + w] = changed[at * HALO_WORDS + w];
        at++;
    }
}
