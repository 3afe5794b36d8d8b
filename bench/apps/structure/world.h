/* A structure that breaks, in one of four variants behind the same calls. They take a clump_context
 * and the OpenCL objects behind it, not a bench_env, so that a test can use its own.
 *
 * Read first: model.h. Read next: heap.c, plain.c, sequential.c.
 */
#ifndef STRUCTURE_WORLD_H
#define STRUCTURE_WORLD_H

#include "bench/apps/world.h"
#include "model.h"

typedef struct structure_desc {
    bench_world_desc world;
    structure_rules rules;
    const structure_network *network; /* copied */
} structure_desc;

/* What a variant is made of: `self` is what create gives, unless it returns -1. Its state is a
 * structure_state. */
typedef struct structure_ops {
    int (*create)(const structure_desc *desc, void **self, bench_error *error);
    bench_world_ops world;
} structure_ops;
extern const structure_ops structure_heap_ops, structure_plain_ops, structure_sequential_ops;

/* Returns 0, or -1 and nothing to destroy. */
int structure_world_create(const structure_desc *desc, bench_world *world, bench_error *error);

/* The phases of a step on a device. */
#define STRUCTURE_PHASES 8
const char *const *structure_world_phases(const structure_rules *rules);

/* 0 if the heap holds as many objects of each class as the state, or there is no heap; 1 and a
 * sentence if not; -1 if it cannot be asked. */
int structure_check_heap(const bench_world *world, const structure_counts *counts,
                         bench_error *error);

/* Run the variant of `desc` and the sequential one side by side and compare them before the first
 * and after every step; check the heap every `check_every` steps (0: only at the end). `left`: what
 * is left at the end, NULL if nobody asks. Returns 0 if they are equal throughout, 1 if they
 * differ, -1 if one could not be run. */
int structure_compare_run(const structure_desc *desc, uint32_t steps, uint32_t check_every,
                          structure_counts *left, bench_error *error);

#endif
