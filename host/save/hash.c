/* Checksums on the host (hash.h). Words are little-endian, which pieces.c makes sure of. Read
 * first: hash.h, cl/save/hash.h. */
#include "save/hash.h"

uint64_t clumpi_hash64(uint64_t seed, const void *data, size_t bytes) {
    return clumpi_xxh64(seed, data, bytes);
}

static uint32_t run_of(uint32_t chunks, uint32_t first) {
    return chunks - first < CLUMPI_RUN_SUMS ? chunks - first : CLUMPI_RUN_SUMS;
}

uint64_t clumpi_sum_of_sums(const uint64_t *sums, uint32_t bytes) {
    const uint32_t chunks = clumpi_chunks(bytes);
    uint64_t sum = 0;
    for (uint32_t first = 0; first < chunks; first += CLUMPI_RUN_SUMS)
        sum = clumpi_hash64(sum, sums + first, run_of(chunks, first) * sizeof *sums);
    return sum;
}

uint64_t clumpi_content_sum(const void *content, uint32_t bytes) {
    const uint32_t chunks = clumpi_chunks(bytes);
    uint64_t sum = 0, run[CLUMPI_RUN_SUMS];
    for (uint32_t first = 0; first < chunks; first += CLUMPI_RUN_SUMS) {
        const uint32_t count = run_of(chunks, first);
        for (uint32_t i = 0; i < count; i++) run[i] = clumpi_chunk_sum(content, bytes, first + i);
        sum = clumpi_hash64(sum, run, count * sizeof *run);
    }
    return sum;
}
