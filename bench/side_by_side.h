/* Two worlds that make the same steps and are compared: a variant of an application and the
 * reference. Read first: world.h. */
#ifndef BENCH_SIDE_BY_SIDE_H
#define BENCH_SIDE_BY_SIDE_H

#include "variant.h"
#include "world.h"

/* Calls return 0, 1 and a sentence if the worlds are not as they should be, or -1. */
typedef struct bench_pair {
    const bench_world *found, *expected; /* alive */
    bench_variant variant;               /* of `found` */
    clump_context *clump;
    void *self;                                                       /* what the calls are given */
    int (*compare)(void *self, uint32_t step, bench_error *error);    /* of both */
    int (*check_heap)(void *self, uint32_t step, bench_error *error); /* if `found` has one, beside
                                                                        * its invariants; NULL:
                                                                        * nothing */
} bench_pair;

/* Make all steps. Compare before the first and after every one; check the heap every `check_every`
 * (0: only at the end) and at the end. Stops with what a call did not return 0 for. */
int bench_pair_run(const bench_pair *pair, uint32_t steps, uint32_t check_every,
                   bench_error *error);

#endif
