/* A structure that breaks, in one of four variants behind the same calls. They take a clump_context
 * and the OpenCL objects behind it, not a bench_env, so that a test can use its own.
 *
 * Read first: model.h. Read next: heap.c, plain.c, sequential.c.
 */
#ifndef STRUCTURE_WORLD_H
#define STRUCTURE_WORLD_H

#include "bench/compacting.h"
#include "bench/variant.h"
#include "clump/clump.h"
#include "model.h"

typedef struct structure_desc {
    bench_variant variant;
    cl_context context; /* this and the next three: not for sequential */
    cl_device_id device;
    cl_command_queue queue; /* the one of `clump` */
    clump_context *clump;   /* only for clump, as is all that follows `network` */
    structure_rules rules;
    const structure_network *network; /* copied */
    uint64_t heap_bytes;              /* 0: enough */
    uint32_t block_rows;              /* as in clump_heap_desc */
    clump_tuning tuning;
    const clump_compactor_desc *compaction; /* heap and classes are filled in. NULL: never */
} structure_desc;

/* What a variant is made of. Every call but destroy returns 0 or -1; `self` is what create gave. */
typedef struct structure_ops {
    int (*create)(const structure_desc *desc, void **self, bench_error *error);
    void (*destroy)(void *self); /* NULL is allowed */
    /* `events`: NULL, or one to fill in for each phase, if the variant has events. */
    int (*step)(void *self, cl_event *events, bench_error *error);
    int (*finish)(void *self, bench_error *error);
    int (*read)(void *self, structure_state *state, bench_error *error);
} structure_ops;
extern const structure_ops structure_heap_ops, structure_plain_ops, structure_sequential_ops;

typedef struct structure_world {
    const structure_ops *ops;
    void *self;
} structure_world;

/* Returns 0, or -1 and nothing to destroy. */
int structure_world_create(const structure_desc *desc, structure_world *world, bench_error *error);
void structure_world_destroy(structure_world *world); /* all zero is allowed */

/* Enqueue a step and, if it is time, a compaction; does not wait (sequential: makes it). */
int structure_world_step(structure_world *world, bench_error *error);

/* The phases of a step on a device. */
#define STRUCTURE_PHASES 8
extern const char *const structure_phase_names[STRUCTURE_PHASES];

/* The same without a compaction, and with an event for each phase, which the caller releases. Not
 * for sequential. */
int structure_world_time_step(structure_world *world, cl_event *events, bench_error *error);

/* Wait for all steps, and fail if a kernel reported an error. */
int structure_world_finish(structure_world *world, bench_error *error);

/* The state of all nodes and springs of the network. Waits. */
int structure_world_read(structure_world *world, structure_state *state, bench_error *error);

/* The heap of the variant clump and its compactions, else NULL. */
clump_heap *structure_world_heap(const structure_world *world);
const bench_compacting *structure_world_compactions(const structure_world *world);

/* 0 if the heap holds as many objects of each class as the state, or there is no heap; 1 and a
 * sentence if not; -1 if it cannot be asked. */
int structure_world_check_counts(const structure_world *world, clump_context *clump,
                                 const structure_counts *counts, bench_error *error);

/* Run the variant of `desc` and the sequential one side by side and compare them before the first
 * and after every step; check the heap every `check_every` steps (0: only at the end). `left`: what
 * is left at the end, NULL if nobody asks. Returns 0 if they are equal throughout, 1 if they
 * differ, -1 if one could not be run. */
int structure_compare_run(const structure_desc *desc, uint32_t steps, uint32_t check_every,
                          structure_counts *left, bench_error *error);

#endif
