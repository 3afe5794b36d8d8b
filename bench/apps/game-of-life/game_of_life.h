/* The world on the heap, the world as a plain OpenCL grid, and their comparison with sequential C.
 *
 * The benchmarks app-game-of-life and app-generation and the test run through these calls. They
 * take a clump_context and the OpenCL objects behind it, not a bench_env, so that a test can use
 * its own.
 *
 * Read first: model.h, game_of_life.schema, game_of_life.cl, soa.cl.
 */
#ifndef GAME_OF_LIFE_H
#define GAME_OF_LIFE_H

#include "bench/compacting.h"
#include "bench/error.h"
#include "clump/clump.h"
#include "model.h"

typedef struct life_desc {
    cl_context context;
    cl_command_queue queue; /* the one of `clump` */
    cl_device_id device;    /* the grid's programs are built for it */
    clump_context *clump;
    life_rules rules;
    const uint8_t *codes; /* the world at the beginning, as in model.h */
    uint64_t heap_bytes;  /* 0: enough for any course */
    uint32_t block_rows;  /* as in clump_heap_desc */
    clump_tuning tuning;
    /* Of agents: when and how; heap and classes are filled in. NULL: never. */
    const clump_compactor_desc *compaction;
} life_desc;

/* ---- On the heap (game_of_life_heap.c) ------------------------------------------------------- */

typedef struct life_heap life_heap;

/* Returns 0, or -1 and *world NULL. */
int life_heap_create(const life_desc *desc, life_heap **world, bench_error *error);
void life_heap_destroy(life_heap *world); /* NULL is allowed */

#define LIFE_HEAP_PHASES 2 /* announce, settle */

/* Enqueue a step; does not wait. `events`: NULL, or LIFE_HEAP_PHASES events to fill in, which the
 * caller releases. */
int life_heap_step(life_heap *world, cl_event *events, bench_error *error);

/* Between two steps: compact if it is time; nothing if the desc has no compaction. Only cells refer
 * to agents, and cells are not moved, so there is no reference outside the heap to take care of. */
int life_heap_compact(life_heap *world, bench_error *error);

/* All compactions so far. */
const bench_compacting *life_heap_compactions(const life_heap *world);

/* Wait for all steps, and fail if a kernel reported an error, such as a full heap. */
int life_heap_finish(life_heap *world, bench_error *error);

/* width * height codes of model.h, and the number of cells whose count of living neighbours or
 * whose agent does not fit the states: a fault. Waits. */
int life_heap_encode(life_heap *world, uint8_t *codes, uint32_t *misfits, bench_error *error);

/* Objects, slots and blocks. Waits. */
typedef struct life_usage {
    clump_class_stats alive, candidate, cell;
    clump_heap_stats heap;
} life_usage;
int life_heap_usage(life_heap *world, life_usage *usage, bench_error *error);

/* The heap, for clump_heap_check() and the like. */
clump_heap *life_heap_get(life_heap *world);

/* ---- As a grid (soa.c) ----------------------------------------------------------------------- */

typedef struct life_grid life_grid;

/* Returns 0, or -1 and *world NULL. */
int life_grid_create(const life_desc *desc, life_grid **world, bench_error *error);
void life_grid_destroy(life_grid *world); /* NULL is allowed */
/* `event`: NULL, or one to fill in. */
int life_grid_step(life_grid *world, cl_event *event, bench_error *error);
int life_grid_finish(life_grid *world, bench_error *error);
int life_grid_encode(life_grid *world, uint8_t *codes, bench_error *error);

/* ---- All side by side (compare.c) ------------------------------------------------------------ */

/* Run a world on the heap, as a grid, and twice in sequential C for `steps` steps. Compare all
 * cells after each; that the agents on the heap are those that the cells ask for; and the heap's
 * invariants every `check_every` steps (0: only at the end). `last`, optional: the world at the
 * end. Returns 0 if all are equal throughout, 1 if they differ, -1 if one could not be run;
 * `error` says where and how. */
int life_compare_run(const life_desc *desc, uint32_t steps, uint32_t check_every, uint8_t *last,
                     bench_error *error);

#endif
