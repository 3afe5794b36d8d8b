/* Wa-Tor in one of four variants behind the same calls. They take a clump_context and the OpenCL
 * objects behind it, not a bench_env, so that a test can use its own.
 *
 * Read first: model.h, objects.schema, heap.cl, plain.cl. Read next: heap.c, plain.c.
 */
#ifndef WA_TOR_WORLD_H
#define WA_TOR_WORLD_H

#include "bench/apps/world.h"
#include "model.h"

typedef struct wa_tor_desc {
    bench_world_desc world; /* compaction is of fish and sharks */
    wa_tor_rules rules;
    /* only for clump: objects and phases of DynaSOAr's program. The worlds are the same */
    int is_dynasoar_model;
    /* Only for sequential: other than 0 makes every phase visit its cells and agents in an order
     * drawn from it, which must change nothing. */
    uint32_t shuffle;
} wa_tor_desc;

/* What a variant is made of: `self` is what create gives, unless it returns -1. Its state is a code
 * of model.h for each cell. */
typedef struct wa_tor_ops {
    int (*create)(const wa_tor_desc *desc, void **self, bench_error *error);
    bench_world_ops world;
} wa_tor_ops;
extern const wa_tor_ops wa_tor_heap_ops, wa_tor_plain_ops, wa_tor_sequential_ops;

/* The phases of a step of the baselines, each a kernel of this name: a move decides first. Those on
 * the heap are in model.h. */
#define WA_TOR_PLAIN_PHASE_LIST(X) X(fish_select) X(fish_move) X(shark_select) X(shark_move)
enum {
#define WA_TOR_PLAIN_ENUM(name) WA_TOR_PLAIN_##name,
    WA_TOR_PLAIN_PHASE_LIST(WA_TOR_PLAIN_ENUM)
#undef WA_TOR_PLAIN_ENUM
        WA_TOR_PLAIN_PHASES
};

/* A populated world. Returns 0, or -1 and nothing to destroy. */
int wa_tor_world_create(const wa_tor_desc *desc, bench_world *world, bench_error *error);

/* Checkpoints, of the variant clump alone. A world between two steps to a file, and a world of the
 * same rules from it, which goes on as the first would have: on any device, in a heap of any size
 * and block width. `steps`: that were made before; the file does not have them. Return 0, or -1 and
 * nothing to destroy. */
int wa_tor_world_save(const bench_world *world, const char *path, bench_error *error);
int wa_tor_world_resume(const wa_tor_desc *desc, const char *path, uint32_t steps,
                        bench_world *world, bench_error *error);
int wa_tor_heap_save(void *self, const char *path, bench_error *error); /* behind these */
int wa_tor_heap_resume(const wa_tor_desc *desc, const char *path, uint32_t steps, void **self,
                       bench_error *error);

/* What must hold of a heap beside its own invariants: as many fish and sharks as the state has. 1
 * and a sentence if it does not, -1 if that could not be found out. No heap: holds. */
int wa_tor_check_heap(const bench_world *world, const wa_tor_rules *rules, const uint32_t *codes,
                      bench_error *error);

/* NULL if cells and agents of a sequential world agree with each other, else what does not. */
const char *wa_tor_sequential_check(const void *self);

/* 0 if all cells are equal; 1 and the first that differs. */
int wa_tor_compare(const wa_tor_rules *rules, const uint32_t *found, const uint32_t *expected,
                   uint32_t steps, bench_error *error);

extern const char
    *const wa_tor_rules_files[]; /* what the kernels of the baselines begin with, ... */
extern const char *const wa_tor_heap_files[];     /* ... those on the heap, */
extern const char *const wa_tor_dynasoar_files[]; /* and those of dynasoar.cl */

/* Run the variant of `desc` and the sequential one side by side and compare them before the first
 * and after every step; check the heap every `check_every` steps (0: only at the end). `moves`:
 * objects that compaction moved. Returns 0 if they are equal throughout, 1 if they differ, -1 if
 * one could not be run. */
int wa_tor_compare_run(const wa_tor_desc *desc, uint32_t steps, uint32_t check_every,
                       uint64_t *moves, bench_error *error);

#endif
