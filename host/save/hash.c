/* XXH64 (hash.h). Reads little-endian words, which pieces.c makes sure of. Read first: hash.h. */
#include "save/hash.h"

#include <string.h>

static const uint64_t primes[5] = {UINT64_C(0x9E3779B185EBCA87), UINT64_C(0xC2B2AE3D27D4EB4F),
                                   UINT64_C(0x165667B19E3779F9), UINT64_C(0x85EBCA77C2B2AE63),
                                   UINT64_C(0x27D4EB2F165667C5)};

static uint64_t rotate(uint64_t x, int by) {
    return x << by | x >> (64 - by);
}

static uint64_t word64(const uint8_t *at) {
    uint64_t word;
    memcpy(&word, at, sizeof word);
    return word;
}

static uint64_t word32(const uint8_t *at) {
    uint32_t word;
    memcpy(&word, at, sizeof word);
    return word;
}

static uint64_t take(uint64_t sum, uint64_t word) {
    return rotate(sum + word * primes[1], 31) * primes[0];
}

static uint64_t merge(uint64_t hash, uint64_t sum) {
    return (hash ^ take(0, sum)) * primes[0] + primes[3];
}

/* The stripes of 32 bytes: four sums side by side. Moves *at on. */
static uint64_t stripes(uint64_t seed, const uint8_t **at, const uint8_t *end) {
    uint64_t a = seed + primes[0] + primes[1], b = seed + primes[1], c = seed, d = seed - primes[0];
    const uint8_t *p = *at;
    for (; end - p >= 32; p += 32) {
        a = take(a, word64(p));
        b = take(b, word64(p + 8));
        c = take(c, word64(p + 16));
        d = take(d, word64(p + 24));
    }
    *at = p;
    uint64_t hash = rotate(a, 1) + rotate(b, 7) + rotate(c, 12) + rotate(d, 18);
    return merge(merge(merge(merge(hash, a), b), c), d);
}

uint64_t clumpi_hash64(uint64_t seed, const void *data, size_t bytes) {
    const uint8_t *at = data, *end = at + bytes;
    uint64_t hash = bytes >= 32 ? stripes(seed, &at, end) : seed + primes[4];
    hash += bytes;
    for (; end - at >= 8; at += 8)
        hash = rotate(hash ^ take(0, word64(at)), 27) * primes[0] + primes[3];
    for (; end - at >= 4; at += 4)
        hash = rotate(hash ^ word32(at) * primes[0], 23) * primes[1] + primes[2];
    for (; at < end; at++) hash = rotate(hash ^ *at * primes[4], 11) * primes[0];
    hash = (hash ^ hash >> 33) * primes[1];
    hash = (hash ^ hash >> 29) * primes[2];
    return hash ^ hash >> 32;
}
