/* Wa-Tor in its variants: on the heap, in plain OpenCL, in sequential C; behind one set of calls;
 * and side by side with the reference.
 *
 * The benchmark (wa_tor.c) and the test of the same rules run through these calls. They take a
 * clump_context and the OpenCL objects behind it, not a bench_env, so that a test can use its own.
 *
 * Read first: model.h, wa_tor.schema, wa_tor.cl, plain.cl.
 */
#ifndef WA_TOR_H
#define WA_TOR_H

#include "bench/compacting.h"
#include "bench/error.h"
#include "clump/clump.h"
#include "model.h"

typedef enum wa_tor_variant {
    WA_TOR_CLUMP,
    WA_TOR_SOA,
    WA_TOR_AOS,
    WA_TOR_SEQUENTIAL
} wa_tor_variant;

typedef struct wa_tor_desc {
    wa_tor_variant variant;
    cl_context context; /* this and the next two: not for sequential */
    cl_device_id device;
    cl_command_queue queue; /* the one of `clump` */
    wa_tor_rules rules;
    uint32_t shuffle;     /* only for sequential: as in wa_tor_world_create() */
    clump_context *clump; /* this and the rest: only for clump */
    uint64_t heap_bytes;  /* 0: wa_tor_heap_bytes() */
    uint32_t block_rows;  /* as in clump_heap_desc */
    clump_tuning tuning;
    /* Of fish and sharks: when and how; heap and classes are filled in. NULL: never. */
    const clump_compactor_desc *compaction;
} wa_tor_desc;

/* ---- On the heap (wa_tor_heap.c) ------------------------------------------------------------- */

typedef struct wa_tor_heap wa_tor_heap;

/* Heap size that is enough for any population of so many cells, fragmentation included. */
uint64_t wa_tor_heap_bytes(const wa_tor_rules *rules);

/* A populated world. Returns 0, or -1 and *world NULL. */
int wa_tor_heap_create(const wa_tor_desc *desc, wa_tor_heap **world, bench_error *error);
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

/* ---- In plain OpenCL (plain.c) --------------------------------------------------------------- */

typedef struct wa_tor_plain wa_tor_plain;

/* The phases of a step, each a kernel of this name: a move decides first. */
#define WA_TOR_PLAIN_PHASE_LIST(X) X(fish_select) X(fish_move) X(shark_select) X(shark_move)
enum {
#define WA_TOR_PLAIN_ENUM(name) WA_TOR_PLAIN_##name,
    WA_TOR_PLAIN_PHASE_LIST(WA_TOR_PLAIN_ENUM)
#undef WA_TOR_PLAIN_ENUM
        WA_TOR_PLAIN_PHASES
};

/* The same calls for the variants soa and aos; WA_TOR_PLAIN_PHASES events. */
int wa_tor_plain_create(const wa_tor_desc *desc, wa_tor_plain **world, bench_error *error);
void wa_tor_plain_destroy(wa_tor_plain *world); /* NULL is allowed */
int wa_tor_plain_step(wa_tor_plain *world, cl_event *events, bench_error *error);
int wa_tor_plain_finish(wa_tor_plain *world, bench_error *error);
int wa_tor_plain_encode(wa_tor_plain *world, uint32_t *codes, bench_error *error);

/* ---- In any variant (any.c) ------------------------------------------------------------------ */

/* The pointer of its variant is set, the others are NULL. */
typedef struct wa_tor_any {
    wa_tor_heap *heap;
    wa_tor_plain *plain;
    wa_tor_world *sequential;
} wa_tor_any;

/* A populated world. Returns 0, or -1 and nothing to destroy. */
int wa_tor_any_create(const wa_tor_desc *desc, wa_tor_any *any, bench_error *error);
void wa_tor_any_destroy(wa_tor_any *any); /* all NULL is allowed */

/* Enqueue a step and, if it is time, a compaction; does not wait (sequential: makes it). */
int wa_tor_any_step(wa_tor_any *any, bench_error *error);

/* The phases of a step by name; the number of them, 0 for sequential. */
uint32_t wa_tor_any_phases(const wa_tor_any *any, const char *const **names);

/* Enqueue a step alone, with an event for each phase. Not for sequential. */
int wa_tor_any_time_step(wa_tor_any *any, cl_event *events, bench_error *error);

int wa_tor_any_finish(wa_tor_any *any, bench_error *error);
int wa_tor_any_encode(wa_tor_any *any, uint32_t *codes, bench_error *error);

extern const char *const wa_tor_rules_files[]; /* what the kernels of both variants begin with */

/* ---- Side by side (compare.c) ---------------------------------------------------------------- */

/* Run a world and a sequential one side by side for `steps` steps and compare all cells after each;
 * on the heap also the numbers of objects, and the heap's invariants every `check_every` steps (0:
 * only at the end). `moves`, optional: objects that compaction moved. Returns 0 if they are equal
 * throughout, 1 if they differ, -1 if one could not be run; `error` says where and how. */
int wa_tor_compare_run(const wa_tor_desc *desc, uint32_t steps, uint32_t check_every,
                       uint64_t *moves, bench_error *error);

#endif
