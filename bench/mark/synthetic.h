/* The heap of compact-synthetic (compact_heap.h) as one to mark: its graph is that of
 * mark_graph_synthetic(). Objects that were freed leave holes in it, and references that dangle.
 *
 * Read first: graph.h, compact_heap.h.
 */
#ifndef BENCH_MARK_SYNTHETIC_H
#define BENCH_MARK_SYNTHETIC_H

#include "bench/harness/bench.h"
#include "graph.h"

typedef struct mark_synthetic_desc {
    const bench_env *env;
    const mark_graph *graph; /* of the four values below; must outlive the heap */
    uint32_t objects, seed;
    double dead;
    uint64_t heap_bytes; /* 0: what the objects need */
} mark_synthetic_desc;

typedef struct mark_synthetic mark_synthetic;

/* With all objects, and the graph's roots registered. Returns 0, or -1 and *heap NULL. */
int mark_synthetic_create(const mark_synthetic_desc *desc, mark_synthetic **heap,
                          bench_error *error);
void mark_synthetic_destroy(mark_synthetic *heap); /* NULL is allowed */

clump_heap *mark_synthetic_get(const mark_synthetic *heap);

/* As mark_heap_verify(). */
int mark_synthetic_verify(mark_synthetic *heap, const uint32_t *live, bench_error *error);

#endif
