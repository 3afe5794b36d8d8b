/* A program on a heap: the heap, its kernels, its buffers, its compactor, and its do-alls. What the
 * variant clump of an application is made of, as plain.h is what its baselines are made of.
 *
 * A world begins with a bench_objects, so that some calls here serve as a bench_world_ops.
 *
 * Invariant: what bench_objects_create() and the calls after it made, bench_objects_release()
 * releases, whether or not they succeeded. Every function that can fail returns 0, or -1 and an
 * error.
 *
 * Read first: world.h, buffers.h, heap.h.
 */
#ifndef BENCH_OBJECTS_H
#define BENCH_OBJECTS_H

#include "bench/harness/buffers.h"
#include "world.h"

#define BENCH_OBJECTS_KERNELS_MAX 16

typedef struct bench_objects_desc {
    const bench_world_desc *world;
    const char *schema;      /* of bench_files.h, as is `file` */
    const char *schema_text; /* instead of that file's; NULL: as it is there */
    uint64_t enough;         /* bytes of a heap for any course, but not for an order too */
    const char *file;
    const char *const *before; /* files before it, as bench_load_source() takes them */
    const char *options;       /* NULL: none */
    int uses_random123;        /* let kernels include Random123's headers */
    const char *const *names;  /* of kernels, which go by their index here; must stay there */
    uint32_t count;
    const char *compacted; /* the class that is compacted, with its subclasses; NULL: all */
    uint32_t key_kernel;   /* whose keys order=cell goes by; 0: by a field */
} bench_objects_desc;

/* All zero: nothing to release. */
typedef struct bench_objects {
    clump_context *clump;
    const char *const *names;
    clump_heap *heap;
    clump_program *program;
    clump_kernel *kernels[BENCH_OBJECTS_KERNELS_MAX];
    uint32_t kernel_count;
    bench_buffers buffers;
    bench_compacting compacting;
} bench_objects;

/* The heap has no objects yet. */
int bench_objects_create(const bench_objects_desc *desc, bench_objects *objects,
                         bench_error *error);
void bench_objects_release(bench_objects *objects);

int bench_objects_set(bench_objects *objects, const bench_arg *args, size_t count,
                      bench_error *error);

/* The same argument of all kernels. */
int bench_objects_set_common(bench_objects *objects, cl_uint index, size_t bytes, const void *value,
                             bench_error *error);

/* Enqueue one. `event`: NULL if nobody asks. */
int bench_objects_do_all(bench_objects *objects, unsigned kernel, cl_event *event,
                         bench_error *error);

/* Make all of them, or fail. None is allowed. */
int bench_objects_do_new(bench_objects *objects, const char *class_name, uint64_t count,
                         unsigned kernel, bench_error *error);

/* Whether cells lie as cells.clh wants it: the word after the references of the table of rows is
 * 0. */
int bench_objects_check_rows(bench_objects *objects, cl_mem rows, uint32_t row_count,
                             bench_error *error);

/* 0 or an error that names `what`. */
int bench_objects_check(const bench_objects *objects, clump_status status, const char *what,
                        bench_error *error);

/* ---- For bench_world_ops: `world` begins with a bench_objects ------------------------------- */

void bench_objects_destroy(void *world); /* and free it; NULL is allowed */
int bench_objects_finish(void *world, bench_error *error);
bench_compacting *bench_objects_get_compacting(void *world);

#endif
