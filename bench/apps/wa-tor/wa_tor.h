/* Wa-Tor on the heap: the world as objects, and its comparison with the sequential world.
 *
 * The benchmark (wa_tor.c) and the test of the same rules run through these calls. They take a
 * clump_context and the OpenCL objects behind it, not a bench_env, so that a test can use its own.
 *
 * Read first: model.h, wa_tor.schema, wa_tor.cl.
 */
#ifndef WA_TOR_H
#define WA_TOR_H

#include "bench/compacting.h"
#include "bench/error.h"
#include "clump/clump.h"
#include "model.h"

typedef struct wa_tor_heap_desc {
    cl_context context;
    cl_command_queue queue; /* the one of `clump` */
    clump_context *clump;
    wa_tor_rules rules;
    uint64_t heap_bytes; /* 0: wa_tor_heap_bytes() */
    uint32_t block_rows; /* as in clump_heap_desc */
    clump_tuning tuning;
    /* Of fish and sharks: when and how; heap and classes are filled in. NULL: never. */
    const clump_compactor_desc *compaction;
} wa_tor_heap_desc;

typedef struct wa_tor_heap wa_tor_heap;

/* Heap size that is enough for any population of so many cells, fragmentation included. */
uint64_t wa_tor_heap_bytes(const wa_tor_rules *rules);

/* A populated world. Returns 0, or -1 and *world NULL. */
int wa_tor_heap_create(const wa_tor_heap_desc *desc, wa_tor_heap **world, bench_error *error);
void wa_tor_heap_destroy(wa_tor_heap *world); /* NULL is allowed */

/* Enqueue a step; does not wait. `events`: NULL, or WA_TOR_PHASE_COUNT events to fill in, which the
 * caller releases. */
int wa_tor_heap_step(wa_tor_heap *world, cl_event *events, bench_error *error);

/* Between two steps: compact if it is time; nothing if the desc has no compaction. Only cells refer
 * to agents, and cells are not moved, so there is no reference outside the heap to take care of. */
int wa_tor_heap_compact(wa_tor_heap *world, bench_error *error);

/* All compactions so far. */
const bench_compacting *wa_tor_heap_compactions(const wa_tor_heap *world);

/* Wait for all steps, and fail if a kernel reported an error, such as a full heap. */
int wa_tor_heap_finish(wa_tor_heap *world, bench_error *error);

/* width * height codes of model.h. Waits. */
int wa_tor_heap_encode(wa_tor_heap *world, uint32_t *codes, bench_error *error);

/* Objects, slots and blocks. Waits. */
typedef struct wa_tor_usage {
    clump_class_stats fish, shark, cell;
    clump_heap_stats heap;
} wa_tor_usage;
int wa_tor_heap_usage(wa_tor_heap *world, wa_tor_usage *usage, bench_error *error);

/* The heap, for clump_heap_check() and the like. */
clump_heap *wa_tor_heap_get(wa_tor_heap *world);

/* Run a world on the heap and a sequential one side by side for `steps` steps and compare all cells
 * and the numbers of fish and sharks after each, and the heap's invariants every `check_every`
 * steps (0: only at the end). Returns 0 if they are equal throughout, 1 if they differ, -1 if one
 * could not be run; `error` says where and how. */
int wa_tor_compare_run(const wa_tor_heap_desc *desc, uint32_t steps, uint32_t check_every,
                       bench_error *error);

#endif
