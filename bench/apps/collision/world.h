/* Bodies in motion, in one of four variants behind the same calls. They take a clump_context and
 * the OpenCL objects behind it, not a bench_env, so that a test can use its own.
 *
 * Read first: model.h. Read next: heap.c, plain.c, sequential.c.
 */
#ifndef COLLISION_WORLD_H
#define COLLISION_WORLD_H

#include "bench/compacting.h"
#include "bench/variant.h"
#include "clump/clump.h"
#include "model.h"

typedef struct collision_desc {
    bench_variant variant;
    cl_context context; /* this and the next three: not for sequential */
    cl_device_id device;
    cl_command_queue queue; /* the one of `clump` */
    clump_context *clump;   /* only for clump, as is all that follows `count` */
    collision_rules rules;
    const collision_body *bodies; /* copied */
    uint32_t count;
    uint64_t heap_bytes; /* 0: enough */
    uint32_t block_rows; /* as in clump_heap_desc */
    clump_tuning tuning;
    const clump_compactor_desc *compaction; /* heap and classes are filled in. NULL: never */
} collision_desc;

/* What a variant is made of. Every call but destroy returns 0 or -1; `self` is what create gave. */
typedef struct collision_ops {
    int (*create)(const collision_desc *desc, const collision_constants *constants, void **self,
                  bench_error *error);
    void (*destroy)(void *self); /* NULL is allowed */
    /* `events`: NULL, or one to fill in for each phase, if the variant has events. */
    int (*step)(void *self, cl_event *events, bench_error *error);
    int (*finish)(void *self, bench_error *error);
    int (*read)(void *self, collision_body *bodies, bench_error *error);
} collision_ops;
extern const collision_ops collision_heap_ops, collision_plain_ops, collision_sequential_ops;

typedef struct collision_world {
    const collision_ops *ops;
    void *self;
} collision_world;

/* Returns 0, or -1 and nothing to destroy. */
int collision_world_create(const collision_desc *desc, collision_world *world, bench_error *error);
void collision_world_destroy(collision_world *world); /* all zero is allowed */

/* Enqueue a step and, if it is time, a compaction; does not wait (sequential: makes it). */
int collision_world_step(collision_world *world, bench_error *error);

/* The phases of a step by name; the number of them. */
uint32_t collision_world_phases(const collision_rules *rules, const char *const **names);

/* The same without a compaction, and with an event for each phase, which the caller releases. Not for
 * sequential. */
int collision_world_time_step(collision_world *world, cl_event *events, bench_error *error);

/* Wait for all steps, and fail if a kernel reported an error. */
int collision_world_finish(collision_world *world, bench_error *error);

/* The state, `count` bodies. Waits. */
int collision_world_read(collision_world *world, collision_body *bodies, bench_error *error);

/* The heap of the variant clump and its compactions, else NULL. */
clump_heap *collision_world_heap(const collision_world *world);
const bench_compacting *collision_world_compactions(const collision_world *world);

/* Run the variant of `desc` and the sequential one side by side and compare them before the first
 * and after every step; check the heap every `check_every` steps (0: only at the end). `left`: the
 * bodies at the end, `moves`: the objects that compaction moved; NULL if nobody asks. Returns 0 if
 * they are equal throughout, 1 if they differ, -1 if one could not be run. */
int collision_compare_run(const collision_desc *desc, uint32_t steps, uint32_t check_every,
                          uint32_t *left, uint64_t *moves, bench_error *error);

#endif
