/* A program in plain OpenCL, without a heap: its kernels, its buffers, and its launches. What the
 * baselines of applications are made of.
 *
 * Kernels begin with arguments that all of them have in common: counts, then the objects, one
 * buffer per field or one of structs. Behind these come each kernel's own.
 *
 * Invariant: what bench_plain_create() and the calls after it made, bench_plain_release() releases,
 * whether or not they succeeded. Every function that can fail returns 0, or -1 and an error.
 *
 * Read first: buffers.h, source.h.
 */
#ifndef BENCH_PLAIN_H
#define BENCH_PLAIN_H

#include <stddef.h>
#include <stdint.h>

#include "bench/harness/buffers.h"
#include "world.h"

#define BENCH_PLAIN_GROUP 64u /* work-items of a group */
#define BENCH_PLAIN_KERNELS_MAX 16

typedef struct bench_plain_desc {
    const bench_world_desc *world;
    const char *file;          /* of bench_files.h */
    const char *const *before; /* files before it, as bench_load_source() takes them */
    const char *options;       /* beside the version of OpenCL C; NULL: none */
    int uses_random123;        /* let kernels include Random123's headers */
    const char *const *names;  /* of kernels, which go by their index here; must stay there */
    uint32_t count;
} bench_plain_desc;

/* All zero: nothing to release. */
typedef struct bench_plain {
    const char *const *names;
    cl_program program;
    cl_kernel kernels[BENCH_PLAIN_KERNELS_MAX];
    bench_buffers buffers;
    uint32_t kernel_count;
    cl_uint common; /* arguments that all kernels have */
} bench_plain;

int bench_plain_create(const bench_plain_desc *desc, bench_plain *plain, bench_error *error);
void bench_plain_release(bench_plain *plain);

/* The next of the arguments that all kernels have. */
int bench_plain_set_common(bench_plain *plain, size_t bytes, const void *value, bench_error *error);

/* The next ones, as many as `fields`: buffers of zeros with bytes[i] for each of `count`
 * objects. */
int bench_plain_set_objects(bench_plain *plain, size_t count, const size_t *bytes, size_t fields,
                            bench_error *error);

int bench_plain_set(bench_plain *plain, const bench_arg *args, size_t count, bench_error *error);

/* Enqueue a kernel for the work-items from `first` on, at least `items`: whole groups, and one if
 * there are none. `event`: NULL if nobody asks. */
int bench_plain_launch(bench_plain *plain, unsigned kernel, size_t first, size_t items,
                       cl_event *event, bench_error *error);

/* The same for whole groups of `local` work-items, for a kernel that needs that size. */
int bench_plain_launch_groups(bench_plain *plain, unsigned kernel, size_t groups, size_t local,
                              cl_event *event, bench_error *error);

int bench_plain_flush(bench_plain *plain, bench_error *error);
/* ---- For bench_world_ops: `world` begins with a bench_plain ------------------------------- */

void bench_plain_destroy(void *world); /* and free it; NULL is allowed */
int bench_plain_finish(void *world, bench_error *error);

#endif
