/* A heap with the objects and references of a graph (graph.h).
 *
 * Nodes become objects of classes by number of references and size: class N_r_b has r references,
 * r the next of 0, 1, 2, 3, 4, 6, 8, 12, 16, 32, 64, 256, 1024, and b more bytes. Each class of
 * which there is a node is in the schema; all derive from Node, which has the node's number.
 *
 * Read first: graph.h.
 */
#ifndef BENCH_MARK_HEAP_H
#define BENCH_MARK_HEAP_H

#include "bench/harness/bench.h"
#include "graph.h"

typedef struct mark_heap mark_heap;

/* Empty, large enough. Returns 0, or -1 and *heap NULL. */
int mark_heap_create(const bench_env *env, const mark_graph *graph, uint64_t heap_bytes,
                     mark_heap **heap, bench_error *error);
void mark_heap_destroy(mark_heap *heap); /* NULL is allowed */

/* Make all objects and references. Once. */
int mark_heap_build(mark_heap *heap, bench_error *error);

/* The graph's roots are registered with it. */
clump_heap *mark_heap_get(const mark_heap *heap);

/* After a collection: are exactly the live nodes left, with the references that they had? Returns
 * 0, 1 if not, -1 if that could not be found out. */
int mark_heap_verify(mark_heap *heap, const uint32_t *live, bench_error *error);

#endif
