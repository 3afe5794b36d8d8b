/* Traffic in one of four variants behind the same calls. They take a clump_context and the OpenCL
 * objects behind it, not a bench_env, so that a test can use its own.
 *
 * Read first: network.h. Read next: sequential.c, heap.c, plain.c.
 */
#ifndef TRAFFIC_WORLD_H
#define TRAFFIC_WORLD_H

#include "bench/apps/world.h"
#include "network.h"
#include "paths.h"

typedef struct traffic_desc {
    bench_world_desc world;
    const traffic_network *network; /* must live as long as the world */
    /* only for clump, under DynaSOAr's rules: objects and phases of its program */
    int is_dynasoar_model;
    traffic_path path; /* of its cars; all zero: as in that program */
} traffic_desc;

/* What a variant is made of: `self` is what create gives, unless it returns -1. Its state is a word
 * of model.h for each cell. */
typedef struct traffic_ops {
    int (*create)(const traffic_desc *desc, void **self, bench_error *error);
    bench_world_ops world;
} traffic_ops;
extern const traffic_ops traffic_dynasoar_ops; /* clump, if is_dynasoar_model */
extern const traffic_ops traffic_heap_ops, traffic_plain_ops, traffic_sequential_ops;

/* A step looks, then acts. Under DynaSOAr's rules producers and signals act first, then cars look,
 * then they act. */
static inline unsigned traffic_phase_count(const traffic_rules *rules) {
    return rules->is_dynasoar ? 3 : 2;
}

/* Returns 0, or -1 and nothing to destroy. */
int traffic_world_create(const traffic_desc *desc, bench_world *world, bench_error *error);

/* The options that kernels need. */
extern const char traffic_options[];
#define TRAFFIC_OPTIONS_BYTES 256 /* with those of a variant */

/* What must hold of a heap beside its own invariants: as many cars as the state has. 1 and a
 * sentence if it does not, -1 if that could not be found out. No heap: holds. */
int traffic_check_heap(const bench_world *world, const traffic_network *network,
                       const uint32_t *codes, bench_error *error);

/* Run the variant of `desc` and the sequential one side by side; compare them before the first and
 * after every step, and check the heap every `check_every` steps and at the end. `moves`: of all
 * compactions; NULL if nobody asks. Returns 0 if they are equal throughout, 1 if they differ, -1 if
 * one could not be run. */
int traffic_compare_run(const traffic_desc *desc, uint32_t steps, uint32_t check_every,
                        uint64_t *moves, bench_error *error);

#endif
