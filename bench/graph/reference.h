/* Graph algorithms in one thread of C: what the kernels must find, and how long C takes for it.
 *
 *   breadth-first search   a queue of vertices; each is visited once
 *   connected components   union-find: each set has a tree, whose root has the least number of the
 *                          set
 *   lists                  the edges of a graph that changes: an array for each vertex, by malloc()
 *                          and realloc()
 *
 * Read first: input.h. Read next: batches.h.
 */
#ifndef BENCH_GRAPH_REFERENCE_H
#define BENCH_GRAPH_REFERENCE_H

#include "input.h"

#define GRAPH_FAR 0xffffffffu /* the distance of what no path leads to */

/* distance: of each vertex from `start`. queue: room for all vertices. Returns how many entries of
 * target were looked at: the edges of the vertices that a path leads to, each from both sides. */
uint64_t graph_search(const graph *graph, uint32_t start, uint32_t *distance, uint32_t *queue);

/* label: the least number of a vertex in the same component. Returns how many components there
 * are. */
uint32_t graph_label(const graph *graph, uint32_t *label);

/* The least vertex of the component that has the most vertices; `count`: room for a number of each
 * vertex. */
uint32_t graph_largest(const graph *graph, const uint32_t *label, uint32_t *count);

/* ---- Edges that come and go ------------------------------------------------------------------ */

typedef struct graph_list {
    uint32_t *to;
    uint32_t length, room;
} graph_list;

typedef struct graph_lists {
    graph_list *of; /* each vertex */
    uint32_t vertices;
} graph_lists;

/* Those of a graph. Returns 0, or -1 and an error; then, too, they are to be released. */
int graph_lists_create(const graph *graph, graph_lists *lists, bench_error *error);
void graph_lists_release(graph_lists *lists);

int graph_lists_has(const graph_lists *lists, uint32_t from, uint32_t to);

/* Edges, each as two vertices, come into the lists of both or leave them. They must not have been
 * there; and must have been there. Returns 0, or -1 if memory ran out or an edge is not there. */
int graph_lists_insert(graph_lists *lists, const uint32_t *ends, uint32_t edges);
int graph_lists_delete(graph_lists *lists, const uint32_t *ends, uint32_t edges);

#endif
