/* SHA-256 (FIPS 180-4), for the keys and entries of kept programs: cache.c.
 *
 * Read first: nothing.
 */
#ifndef CLUMPI_SHA256_H
#define CLUMPI_SHA256_H

#include <stddef.h>
#include <stdint.h>

#define CLUMPI_SHA256_BYTES 32

void clumpi_sha256(const void *data, size_t bytes, uint8_t digest[CLUMPI_SHA256_BYTES]);

#endif
