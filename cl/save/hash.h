/* XXH64, and the checksum of the content of a piece of a saved heap, for host and device. Y.
 * Collet's algorithm: github.com/Cyan4973/xxHash, doc/xxhash_spec.md, 0.2.0. It is fast without
 * instructions of its own (four products at once).
 *
 *   content of a piece │ chunk 0 │ chunk 1 │ ... │ the last one, which may be shorter      chunks of CLUMPI_CHUNK_BYTES
 *   sums               │ XXH64 of chunk 0 │ XXH64 of chunk 1 │ ...                         in any order, by any number of work-items
 *   its checksum         XXH64 of the first CLUMPI_RUN_SUMS of the sums, then of the next ones
 *                        seeded with that, and so on; 0 if there are none
 *
 * So the device computes the sums of a piece while it has it, and the host goes over 8 bytes of
 * every 1,024.
 *
 * On the device data begins at a multiple of 8 bytes. Read first: cl/core/layout.h.
 */
#ifndef CLUMPI_SAVE_HASH_H
#define CLUMPI_SAVE_HASH_H

#include "cl/core/layout.h"

#define CLUMPI_CHUNK_BYTES 1024u
#define CLUMPI_RUN_SUMS 128u

#if defined(__OPENCL_VERSION__) || defined(__OPENCL_C_VERSION__)
typedef __global const uchar *clumpi_hash_data;
static inline ulong clumpi_hash_word64(clumpi_hash_data at) {
    return *(__global const ulong *)at;
}
static inline ulong clumpi_hash_word32(clumpi_hash_data at) {
    return *(__global const uint *)at;
}
#else
#include <string.h>
typedef const uint8_t *clumpi_hash_data;
static inline uint64_t clumpi_hash_word64(clumpi_hash_data at) {
    uint64_t word;
    memcpy(&word, at, sizeof word);
    return word;
}
static inline uint64_t clumpi_hash_word32(clumpi_hash_data at) {
    uint32_t word;
    memcpy(&word, at, sizeof word);
    return word;
}
#endif

#define CLUMPI_HASH_1 ((clumpi_u64)0x9E3779B185EBCA87)
#define CLUMPI_HASH_2 ((clumpi_u64)0xC2B2AE3D27D4EB4F)
#define CLUMPI_HASH_3 ((clumpi_u64)0x165667B19E3779F9)
#define CLUMPI_HASH_4 ((clumpi_u64)0x85EBCA77C2B2AE63)
#define CLUMPI_HASH_5 ((clumpi_u64)0x27D4EB2F165667C5)

static inline clumpi_u64 clumpi_hash_rotate(clumpi_u64 x, int by) {
    return x << by | x >> (64 - by);
}

static inline clumpi_u64 clumpi_hash_take(clumpi_u64 sum, clumpi_u64 word) {
    return clumpi_hash_rotate(sum + word * CLUMPI_HASH_2, 31) * CLUMPI_HASH_1;
}

static inline clumpi_u64 clumpi_hash_merge(clumpi_u64 hash, clumpi_u64 sum) {
    return (hash ^ clumpi_hash_take(0, sum)) * CLUMPI_HASH_1 + CLUMPI_HASH_4;
}

/* `count` stripes of 32 bytes: four sums side by side. */
static inline clumpi_u64 clumpi_hash_stripes(clumpi_u64 seed, clumpi_hash_data data,
                                             clumpi_u64 count) {
    clumpi_u64 a = seed + CLUMPI_HASH_1 + CLUMPI_HASH_2, b = seed + CLUMPI_HASH_2, c = seed,
               d = seed - CLUMPI_HASH_1;
    for (clumpi_u64 i = 0; i < count; i++, data += 32) {
        a = clumpi_hash_take(a, clumpi_hash_word64(data));
        b = clumpi_hash_take(b, clumpi_hash_word64(data + 8));
        c = clumpi_hash_take(c, clumpi_hash_word64(data + 16));
        d = clumpi_hash_take(d, clumpi_hash_word64(data + 24));
    }
    clumpi_u64 hash = clumpi_hash_rotate(a, 1) + clumpi_hash_rotate(b, 7) +
                      clumpi_hash_rotate(c, 12) + clumpi_hash_rotate(d, 18);
    hash = clumpi_hash_merge(clumpi_hash_merge(hash, a), b);
    return clumpi_hash_merge(clumpi_hash_merge(hash, c), d);
}

static inline clumpi_u64 clumpi_xxh64(clumpi_u64 seed, clumpi_hash_data data, clumpi_u64 bytes) {
    const clumpi_u64 stripes = bytes / 32, words = bytes / 8;
    clumpi_u64 hash = stripes ? clumpi_hash_stripes(seed, data, stripes) : seed + CLUMPI_HASH_5;
    hash += bytes;
    for (clumpi_u64 i = stripes * 4; i < words; i++)
        hash =
            clumpi_hash_rotate(hash ^ clumpi_hash_take(0, clumpi_hash_word64(data + i * 8)), 27) *
                CLUMPI_HASH_1 +
            CLUMPI_HASH_4;
    clumpi_u64 at = words * 8;
    if (bytes - at >= 4) {
        hash = clumpi_hash_rotate(hash ^ clumpi_hash_word32(data + at) * CLUMPI_HASH_1, 23) *
                   CLUMPI_HASH_2 +
               CLUMPI_HASH_3;
        at += 4;
    }
    for (; at < bytes; at++)
        hash = clumpi_hash_rotate(hash ^ data[at] * CLUMPI_HASH_5, 11) * CLUMPI_HASH_1;
    hash = (hash ^ hash >> 33) * CLUMPI_HASH_2;
    hash = (hash ^ hash >> 29) * CLUMPI_HASH_3;
    return hash ^ hash >> 32;
}

/* Chunks of so many bytes. */
static inline clumpi_u32 clumpi_chunks(clumpi_u32 bytes) {
    return bytes / CLUMPI_CHUNK_BYTES + (bytes % CLUMPI_CHUNK_BYTES != 0);
}

/* XXH64 of one of them. */
static inline clumpi_u64 clumpi_chunk_sum(clumpi_hash_data content, clumpi_u32 bytes,
                                          clumpi_u32 chunk) {
    const clumpi_u32 at = chunk * CLUMPI_CHUNK_BYTES, left = bytes - at;
    return clumpi_xxh64(0, content + at, left < CLUMPI_CHUNK_BYTES ? left : CLUMPI_CHUNK_BYTES);
}

#endif
