/* A world in one of four variants behind the same calls. They take a clump_context and the OpenCL
 * objects behind it, not a bench_env, so that a test can use its own.
 *
 * Read first: model.h. Read next: heap.c, plain.c.
 */
#ifndef SUGARSCAPE_WORLD_H
#define SUGARSCAPE_WORLD_H

#include "bench/apps/world.h"
#include "model.h"

/* The phases of a step of the variants on a device, each a kernel of this name. */
#define SUGARSCAPE_PHASE_LIST(X) X(diffuse) X(select_cell) X(move) X(propose) X(accept) X(spawn)
enum {
#define SUGARSCAPE_PHASE_ENUM(name) SUGARSCAPE_PHASE_##name,
    SUGARSCAPE_PHASE_LIST(SUGARSCAPE_PHASE_ENUM)
#undef SUGARSCAPE_PHASE_ENUM
        SUGARSCAPE_PHASES
};

/* Those under DynaSOAr's rules, with three kernels of their own. */
#define SUGARSCAPE_DYNASOAR_LIST(X)                                                                \
    X(add_line) X(diffuse_far) X(age) X(select_cell) X(move) X(propose) X(accept) X(spawn)
#define SUGARSCAPE_DYNASOAR_PHASES 8

/* And those of model=dynasoar, which are the do-alls of DynaSOAr's program. */
#define SUGARSCAPE_DYNASOAR_MODEL_LIST(X)                                                          \
    X(grow_sugar)                                                                                  \
    X(prepare_diffuse)                                                                             \
    X(update_diffuse)                                                                              \
    X(age_and_metabolize)                                                                          \
    X(prepare_move)                                                                                \
    X(decide_permission)                                                                           \
    X(update_move)                                                                                 \
    X(propose) X(decide_proposal) X(propose_offspring_target) X(decide_birthplace) X(mate)
#define SUGARSCAPE_DYNASOAR_MODEL_PHASES 12

typedef struct sugarscape_desc {
    bench_world_desc world;
    sugarscape_rules rules; /* finished */
    /* only for clump, under DynaSOAr's rules: objects and phases of its program */
    int is_dynasoar_model;
} sugarscape_desc;

/* What a variant is made of: `self` is what create gives, unless it returns -1. Its state is a
 * sugarscape_state for each cell. */
typedef struct sugarscape_ops {
    int (*create)(const sugarscape_desc *desc, void **self, bench_error *error);
    bench_world_ops world;
} sugarscape_ops;
extern const sugarscape_ops sugarscape_dynasoar_ops; /* clump, if is_dynasoar_model */
extern const sugarscape_ops sugarscape_heap_ops, sugarscape_plain_ops, sugarscape_sequential_ops;

/* A populated world. Returns 0, or -1 and nothing to destroy. */
int sugarscape_world_create(const sugarscape_desc *desc, bench_world *world, bench_error *error);

/* What must hold of a heap beside its own invariants: as many agents as the state has. 1 and a
 * sentence if it does not, -1 if that could not be found out. No heap: holds. */
int sugarscape_check_heap(const bench_world *world, const sugarscape_desc *desc,
                          const sugarscape_state *states, bench_error *error);

/* Run the variant of `desc` and the sequential one side by side and compare them before the
 * first and after every step; check the heap every `check_every` steps (0: only at the end).
 * Returns 0 if they are equal throughout, 1 if they differ, -1 if one could not be run. */
int sugarscape_compare_run(const sugarscape_desc *desc, uint32_t steps, uint32_t check_every,
                           bench_error *error);

#endif
