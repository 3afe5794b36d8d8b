/* The model of a suballocator: one byte for each unit of memory, and a program of bytes that runs
 * on both.
 *
 * The model finds free ranges by looking at every byte, so it is right by inspection:
 * byte_map_find() says where each strategy must place a request.
 *
 * Read first: include/clump/suballoc.h.
 */
#ifndef BYTE_MAP_H
#define BYTE_MAP_H

#include "clump/suballoc.h"

/* Where a request of `units` at a multiple of `align` must lie (CLUMP_FIT_GOOD: where it could
 * lie), or -1. map[i] is 0 if unit i is free. */
int64_t byte_map_find(const uint8_t *map, int64_t units, clump_fit fit, int64_t request,
                      int64_t align);

typedef struct byte_map_counts {
    uint64_t allocated, refused, freed, rejected; /* rejected: ranges that are none */
} byte_map_counts;

/* Run a program on a suballocator and on the model: data[0] says the strategy, data[1] and data[2]
 * size and granularity, then each step takes 3 bytes. The check runs after every `check_every`
 * steps. Returns NULL, or what differs. Releases everything. */
const char *byte_map_run(const uint8_t *data, size_t bytes, unsigned check_every,
                         byte_map_counts *counts);

#endif
