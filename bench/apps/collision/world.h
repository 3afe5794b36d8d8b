/* Bodies in motion, in one of four variants behind the same calls. They take a clump_context and
 * the OpenCL objects behind it, not a bench_env, so that a test can use its own.
 *
 * Read first: model.h. Read next: heap.c, plain.c, sequential.c.
 */
#ifndef COLLISION_WORLD_H
#define COLLISION_WORLD_H

#include "bench/apps/world.h"
#include "model.h"

typedef struct collision_desc {
    bench_world_desc world;
    collision_rules rules;
    const collision_body *bodies; /* copied */
    uint32_t count;
    /* work-items for each body where a baseline looks at all pairs; 0: as the device likes */
    uint32_t parts;
} collision_desc;

/* What a variant is made of: `self` is what create gives, unless it returns -1. Its state is
 * `count` bodies. */
typedef struct collision_ops {
    int (*create)(const collision_desc *desc, const collision_constants *constants, void **self,
                  bench_error *error);
    bench_world_ops world;
} collision_ops;
extern const collision_ops collision_heap_ops, collision_plain_ops, collision_sequential_ops;

/* Returns 0, or -1 and nothing to destroy. */
int collision_world_create(const collision_desc *desc, bench_world *world, bench_error *error);

/* The phases of a step by name; the number of them. */
uint32_t collision_world_phases(const collision_rules *rules, const char *const **names);

/* 0 if the heap holds as many bodies as are left, or there is no heap; 1 and a sentence if not; -1
 * if it cannot be asked. */
int collision_check_heap(const bench_world *world, const collision_body *bodies, uint32_t count,
                         bench_error *error);

/* Run the variant of `desc` and the sequential one side by side and compare them before the first
 * and after every step; check the heap every `check_every` steps (0: only at the end). `left`: the
 * bodies at the end, `moves`: the objects that compaction moved; NULL if nobody asks. Returns 0 if
 * they are equal throughout, 1 if they differ, -1 if one could not be run. */
int collision_compare_run(const collision_desc *desc, uint32_t steps, uint32_t check_every,
                          uint32_t *left, uint64_t *moves, bench_error *error);

#endif
