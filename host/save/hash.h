/* Checksums of saved heaps, computed by the host. cl/save/hash.h says what they are.
 *
 * Read first: cl/save/hash.h.
 */
#ifndef CLUMPI_HASH_H
#define CLUMPI_HASH_H

#include <stddef.h>
#include <stdint.h>

#include "cl/save/hash.h"

/* XXH64. */
uint64_t clumpi_hash64(uint64_t seed, const void *data, size_t bytes);

/* Of a content: from it, or from the sums of its chunks. */
uint64_t clumpi_content_sum(const void *content, uint32_t bytes);
uint64_t clumpi_sum_of_sums(const uint64_t *sums, uint32_t bytes);

#endif
