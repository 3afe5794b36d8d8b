/* Bodies in a quadtree, in one of four variants behind the same calls. They take a clump_context
 * and the OpenCL objects behind it, not a bench_env, so that a test can use its own.
 *
 * Read first: model.h. Read next: heap.c, plain.c, sequential.c.
 */
#ifndef BARNES_HUT_WORLD_H
#define BARNES_HUT_WORLD_H

#include "bench/apps/world.h"
#include "bench/harness/buffers.h"
#include "model.h"

typedef struct barnes_hut_desc {
    bench_world_desc world;
    barnes_hut_rules rules;
    const collision_body *bodies; /* copied */
    uint32_t count;
    uint32_t nodes; /* soa, aos: room for so many tree nodes; 0: enough for bodies not too close */
} barnes_hut_desc;

/* The bodies, and the tree as far as variants are compared by it. */
typedef struct barnes_hut_state {
    collision_body *bodies;
    double *exact;   /* NULL, or of each body x, y, vx, vy, mass in double precision */
    uint8_t *levels; /* NULL, or for each body how deep it hangs, 1 below the root */
    uint32_t nodes;  /* the root too */
} barnes_hut_state;

/* Room for all of it. Returns 0 or -1; destroy it in any case, all zero is allowed. */
int barnes_hut_state_create(uint32_t count, int is_precise, barnes_hut_state *state,
                            bench_error *error);
void barnes_hut_state_destroy(barnes_hut_state *state);

/* What a variant is made of: `self` is what create gives, unless it returns -1. Its state is a
 * barnes_hut_state. */
typedef struct barnes_hut_ops {
    int (*create)(const barnes_hut_desc *desc, const barnes_hut_constants *constants, void **self,
                  bench_error *error);
    bench_world_ops world;
} barnes_hut_ops;
extern const barnes_hut_ops barnes_hut_heap_ops, barnes_hut_plain_ops, barnes_hut_sequential_ops,
    barnes_hut_precise_sequential_ops;

/* Whether a device can compute in double precision, as is_precise wants. */
int barnes_hut_has_doubles(cl_device_id device);

/* Returns 0, or -1 and nothing to destroy. */
int barnes_hut_world_create(const barnes_hut_desc *desc, bench_world *world, bench_error *error);

/* The names of a step's kernels in clump, soa and aos. */
#define BARNES_HUT_PHASES 5
extern const char *const barnes_hut_phases[BARNES_HUT_PHASES];

/* What kernels include: files as bench_load_source() takes them before another. */
extern const char *const barnes_hut_sources[];

/* Macros for the kernels. */
#define BARNES_HUT_OPTIONS_BYTES 64
void barnes_hut_write_options(const barnes_hut_constants *constants,
                              char text[BARNES_HUT_OPTIONS_BYTES]);

/* A number as an argument of a kernel in the right precision; it must live until it is set. */
bench_arg barnes_hut_real_arg(const barnes_hut_constants *constants, unsigned kernel, cl_uint index,
                              const barnes_hut_real *number);

/* Bytes of a body in the buffer that write_bodies fills, and how it is read: into `exact` too, if
 * it is there. */
size_t barnes_hut_shown_bytes(const barnes_hut_constants *constants);
int barnes_hut_read_bodies(const barnes_hut_constants *constants, bench_buffers *buffers,
                           cl_mem shown, uint32_t count, barnes_hut_state *state,
                           bench_error *error);

/* 0 if the bodies are equal, bit by bit; else 1 and a sentence. */
int barnes_hut_compare_bodies(const barnes_hut_state *found, const barnes_hut_state *expected,
                              uint32_t count, uint32_t step, bench_error *error);

/* Rounds in which all bodies get into an empty tree: 4^rounds is enough for their number, and then
 * some for those that lie close together. */
uint32_t barnes_hut_count_rounds(uint32_t count);

/* Run the variant of `desc` and the sequential one side by side and compare bodies and tree
 * before the first and after every step; check the heap, and that its tree hangs together, every
 * `check_every` steps (0: only at the end). Returns 0 if they are equal throughout, 1 if they
 * differ, -1 if one could not be run. */
int barnes_hut_compare_run(const barnes_hut_desc *desc, uint32_t steps, uint32_t check_every,
                           bench_error *error);

/* What barnes_hut_measure_error() may find for random bodies; about twice of what it does. With a
 * fixed opening it has no such bound: large cells next to a body are points too. */
#define BARNES_HUT_ERROR_MOST(theta) ((theta) * (theta) / 8)

/* How far the accelerations of the first step are from those of all pairs: the root of their mean
 * squared difference, divided by that of the accelerations by all pairs. Takes time count^2. */
int barnes_hut_measure_error(const barnes_hut_rules *rules, const collision_body *bodies,
                             uint32_t count, double *difference, bench_error *error);

#endif
