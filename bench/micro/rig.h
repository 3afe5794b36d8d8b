/* What benchmarks of the heap have in common: a heap, the kernels of a program that runs on it,
 * timed launches, and the verdict on what is left.
 *
 * Invariant: what bench_rig_create() began, bench_rig_release() ends, whether or not it succeeded.
 * Every function returns 0, or -1 with the reason in results->error.
 *
 * Read first: bench.h, heap.h.
 */
#ifndef BENCH_RIG_H
#define BENCH_RIG_H

#include "bench/harness/bench.h"
#include "bench/harness/buffers.h"
#include "bench/harness/heap.h"
#include "bench/harness/tuning.h"

#define BENCH_RIG_KERNELS_MAX 24
#define BENCH_RIG_FILES_MAX 3

/* Lines of a list of parameters; see tuning.h too. */
/* clang-format off */
#define BENCH_RIG_HEAP_PARAMS                                                                      \
    {"heap_mb", BENCH_INT, "0", "size of the heap in MiB; 0: from the objects", 0, 1e6, NULL},     \
    {"block_rows", BENCH_INT, "0", "rows of a block; 0: from the heap", 0, 64, NULL}
/* clang-format on */

typedef struct bench_rig_desc {
    bench_env *env;
    bench_results *results;
    bench_heap_desc heap;                   /* clump NULL: that of env */
    const char *files[BENCH_RIG_FILES_MAX]; /* of bench_files.h, compiled as one in this order */
    const char *options;
    clump_alloc_tuning tuning;
    const char *const *kernels; /* names; rig->kernels has the same order */
    uint32_t kernel_count;
    size_t local; /* work-items of a group in bench_rig_launch(); 0: 256 */
} bench_rig_desc;

typedef struct bench_rig {
    bench_env *env;
    bench_results *results;
    bench_error *error;
    clump_context *clump;
    clump_heap *heap;
    clump_program *program;
    clump_kernel *kernels[BENCH_RIG_KERNELS_MAX];
    bench_buffers buffers;
    size_t local;
} bench_rig;

int bench_rig_create(bench_rig *rig, const bench_rig_desc *desc);
void bench_rig_release(bench_rig *rig);

/* Returns -1: the library refused `what`. */
int bench_rig_fail(bench_rig *rig, const char *what, clump_status status);

int bench_rig_arg(bench_rig *rig, size_t kernel, uint32_t index, size_t bytes, const void *value);

/* A do-new with that kernel; too little room is an error. */
int bench_rig_do_new(bench_rig *rig, size_t kernel, const char *class_name, uint64_t count);

/* At least `items` work-items, and a do-all. `us` is the time from the end of the command before to
 * the end of the kernel. */
int bench_rig_launch(bench_rig *rig, size_t kernel, uint64_t items, double *us);

/* Launches in a row, timed together. `prepare` sets the arguments of launch `number`. */
typedef struct bench_rig_row {
    size_t kernel;
    uint64_t items; /* of each launch */
    uint32_t launches;
    int (*prepare)(void *self, uint32_t number);
    void *self;
} bench_rig_row;
int bench_rig_launch_row(bench_rig *rig, const bench_rig_row *row, double *us);

int bench_rig_do_all(bench_rig *rig, size_t kernel, double *us);
/* Do-alls one after the other, with what lies between them. */
int bench_rig_do_alls(bench_rig *rig, clump_kernel *const *kernels, size_t count, double *us);

/* Compare with what should be: the heap's invariants hold, kernels reported `nulls` requests
 * without memory (modulo 2^32) and nothing else. What differs fails the check. */
int bench_rig_verify(bench_rig *rig, uint64_t nulls);

int bench_rig_stats(bench_rig *rig, clump_heap_stats *stats);

/* Buffers of the device. What is in a new one is undefined; `values` NULL: zeros. The rig releases
 * them. */
int bench_rig_buffer(bench_rig *rig, size_t bytes, cl_mem *buffer);
int bench_rig_write(bench_rig *rig, cl_mem buffer, size_t bytes, const void *values);
int bench_rig_read(bench_rig *rig, cl_mem buffer, size_t bytes, void *values);

#endif
