/* Heaps for benchmarks, from a schema in words or in an embedded file. Read first: error.h. */
#ifndef BENCH_HEAP_H
#define BENCH_HEAP_H

#include "clump/heap.h"
#include "error.h"

typedef struct bench_heap_desc {
    clump_context *clump;
    const char *file; /* of bench_files.h; or NULL, and `text` is the schema */
    const char *text;
    uint64_t bytes;
    uint32_t block_rows; /* as in clump_heap_desc */
} bench_heap_desc;

/* Returns 0, or -1 and *heap NULL. */
int bench_heap_create(const bench_heap_desc *desc, clump_heap **heap, bench_error *error);

#endif
