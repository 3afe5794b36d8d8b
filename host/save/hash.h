/* XXH64, the checksum of saved heaps. Y. Collet's algorithm: github.com/Cyan4973/xxHash, doc/xxhash_spec.md, 0.2.0.
 *
 * Chosen for its speed on all processors without instructions of their own (four products at once), so that
 * it costs less than disk and bus. Read first: nothing.
 */
#ifndef CLUMPI_HASH_H
#define CLUMPI_HASH_H

#include <stddef.h>
#include <stdint.h>

uint64_t clumpi_hash64(uint64_t seed, const void *data, size_t bytes);

#endif
