/* Heaps, programs and statistics for benchmarks; schemas and kernels in words or in embedded files.
 *
 * Read first: error.h. */
#ifndef BENCH_HEAP_H
#define BENCH_HEAP_H

#include "clump/checked.h"
#include "clump/experimental.h"
#include "clump/heap.h"
#include "clump/kernels.h"
#include "clump/program.h"
#include "error.h"

typedef struct bench_heap_desc {
    clump_context *clump;
    const char *file; /* of bench_files.h; or NULL, and `text` is the schema */
    const char *text; /* NULL without `file`: no schema, for a heap of raw memory */
    uint64_t bytes;
    uint32_t block_rows;      /* as in clump_heap_desc */
    uint64_t evictable_bytes; /* as in clump_heap_desc */
    uint32_t buffers;         /* in how many the heap is; 0, 1: in one */
    uint32_t checks;          /* CLUMP_CHECK_...; 0: an ordinary heap */
    int raw;                  /* with raw memory */
} bench_heap_desc;

/* Returns 0, or -1 and *heap NULL. */
int bench_heap_create(const bench_heap_desc *desc, clump_heap **heap, bench_error *error);

typedef struct bench_program_desc {
    clump_context *clump;
    clump_heap *heap;
    const char *file;                 /* of bench_files.h */
    const char *const *before;        /* files before it, as bench_load_source() takes them */
    const char *options;              /* NULL: none */
    int uses_random123;               /* let kernels include Random123's headers */
    const clump_alloc_tuning *tuning; /* NULL: the default */
    int checked;                      /* verify each access to a field */
    const char *const *names;         /* of kernels */
    uint32_t count;
} bench_program_desc;

/* Add " -I FOLDER" to the options of a compiler, where Random123 is: for programs that are not made
 * here. The environment's RANDOM123_INCLUDE_DIR is for machines other than the build's. */
void bench_add_random123(char *options, size_t bytes);

/* Build a program and make its kernels, kernels[i] that of names[i]. If that fails, what was made
 * so far is there to be destroyed. */
int bench_program_create(const bench_program_desc *desc, clump_program **program,
                         clump_kernel **kernels, bench_error *error);

/* Statistics of the heap and of `count` classes by name, classes[i] those of names[i]. */
int bench_heap_stats(clump_context *clump, clump_heap *heap, const char *const *names,
                     uint32_t count, clump_heap_stats *stats, clump_class_stats *classes,
                     bench_error *error);

#endif
