/* The steps of a population (population.h) in threaded plain C: each entry of a table has a pointer
 * from malloc() in the place of a reference. Who dies and what is born follows from entry and seed
 * as on the device, the same words of an object are written, and so the work is the same.
 *
 * A thread has the same entries in all steps: it frees what it made, which suits any malloc().
 *
 * Read first: population.h.
 */
#ifndef BENCH_MALLOC_PEER_H
#define BENCH_MALLOC_PEER_H

#include "population.h"

typedef struct malloc_peer malloc_peer;

/* Threads and an empty table for the classes and entries of `p`; NULL: memory or threads ran
 * out. */
malloc_peer *malloc_peer_create(const population *p, uint32_t threads);

/* NULL is allowed. Frees all objects. */
void malloc_peer_destroy(malloc_peer *peer);

typedef struct malloc_peer_count {
    uint64_t made, freed; /* in this step */
    uint64_t nulls;
    double us; /* from the start of the step until the last thread was done */
} malloc_peer_count;

void malloc_peer_step(malloc_peer *peer, const population_move *move, malloc_peer_count *count);

/* Objects there are, and how many of them are not what their entry wrote. */
void malloc_peer_verify(const malloc_peer *peer, uint64_t *all, uint64_t *wrong);

#endif
