/* The world in one of three variants behind the same calls: on the heap, as a plain OpenCL grid, in
 * sequential C. They take a clump_context and the OpenCL objects behind it, not a bench_env, so
 * that a test can use its own.
 *
 * Read first: model.h, objects.schema, heap.cl, plain.cl. Read next: heap.c, plain.c.
 */
#ifndef LIFE_WORLD_H
#define LIFE_WORLD_H

#include "bench/apps/world.h"
#include "model.h"

typedef struct life_desc {
    bench_world_desc world; /* not aos; compaction is of agents */
    life_rules rules;
    const life_code *codes; /* the world at the beginning, as in model.h; copied */
    /* Only for sequential: follow the rule cell by cell, with no thought of speed, as a reference
     * for the others. */
    int is_plain;
} life_desc;

/* What a variant is made of: `self` is what create gives, unless it returns -1. Its state is a byte
 * of model.h for each cell. On the heap, read() fails if a cell's count of living neighbours or its
 * agent does not fit the states. */
typedef struct life_ops {
    int (*create)(const life_desc *desc, void **self, bench_error *error);
    bench_world_ops world;
} life_ops;
extern const life_ops life_heap_ops, life_plain_ops, life_sequential_ops;

/* Returns 0, or -1 and nothing to destroy. */
int life_world_create(const life_desc *desc, bench_world *world, bench_error *error);

/* 0 if all cells are equal; 1 and the first that differs. */
int life_compare(const life_rules *rules, const life_code *found, const life_code *expected,
                 uint32_t steps, bench_error *error);

/* What must hold of a heap beside its own invariants: as many agents as the state asks for. 1 and a
 * sentence if it does not, -1 if that could not be found out. No heap: holds. */
int life_check_heap(const bench_world *world, const life_rules *rules, const life_code *codes,
                    bench_error *error);

/* Run the variant of `desc` and the rule followed cell by cell side by side. Compare all cells
 * before the first and after every step, and the agents; check the heap every `check_every` steps
 * (0: only at the end). With compaction, something must have moved. `last`, optional: the world at
 * the end. Returns 0 if all are equal throughout, 1 if they differ, -1 if one could not be run;
 * `error` says where and how. */
int life_compare_run(const life_desc *desc, uint32_t steps, uint32_t check_every, life_code *last,
                     bench_error *error);

#endif
