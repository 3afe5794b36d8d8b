/* Two worlds that make the same steps and are compared: a variant of an application and the
 * reference. Read first: world.h. */
#ifndef BENCH_SIDE_BY_SIDE_H
#define BENCH_SIDE_BY_SIDE_H

#include "world.h"

/* Calls return 0, 1 and a sentence if the worlds are not as they should be, or -1. */
typedef struct bench_pair bench_pair;
struct bench_pair {
    const void *desc;                   /* the application's, ... */
    const bench_world_desc *world;      /* ... in which this is: the variant */
    void *found_state, *expected_state; /* room for what a world's read() gives */
    /* The variant of `desc`, or the sequential world that it is compared with. */
    int (*create)(const void *desc, int is_reference, bench_world *world, bench_error *error);
    /* Both states, which were read. */
    int (*compare)(const bench_pair *pair, uint32_t step, bench_error *error);
    /* What must hold if `found` has a heap, beside its invariants; NULL: nothing. */
    int (*check_heap)(const bench_pair *pair, uint32_t step, bench_error *error);
    /* Filled in. */
    bench_world found, expected; /* alive during the run */
    uint64_t moves;              /* of all compactions */
};

/* Make both worlds and all steps. Compare before the first and after every one; check the heap
 * every `check_every` (0: only at the end) and at the end. Stops with what a call did not return 0
 * for. */
int bench_pair_run(bench_pair *pair, uint32_t steps, uint32_t check_every, bench_error *error);

/* The same for states without pointers: makes room for two of `count` elements of `bytes` each, of
 * which the caller lets go with bench_pair_free(), whatever came of the run. */
int bench_pair_run_plain(bench_pair *pair, size_t count, size_t bytes, uint32_t steps,
                         uint32_t check_every, bench_error *error);
void bench_pair_free(bench_pair *pair);

#endif
