/* Undirected graphs: made by rule, or read from a file.
 *
 * The neighbours of vertex v are target[offset[v] .. offset[v + 1] - 1], in ascending order. Each
 * edge stands with both of its vertices. No edge is there twice, and none leads back to its own
 * vertex.
 *
 * Read first: bench/mark/graph.h. Read next: batches.h, reference.h, benchmark.c.
 */
#ifndef BENCH_GRAPH_INPUT_H
#define BENCH_GRAPH_INPUT_H

#include "bench/harness/bench.h"

typedef struct graph {
    uint32_t vertices, entries; /* entries of target: two for each edge */
    uint32_t *offset;           /* vertices + 1 */
    uint32_t *target;
} graph;

/* Lines of a list of parameters. */
/* clang-format off */
#define GRAPH_PARAMS(vertices_)                                                                    \
    {"file", BENCH_STRING, "", "graph to read: HGRAPH, Matrix Market, lines of two vertices; or gzip of it", 0, 0, NULL}, \
    {"shape", BENCH_ENUM, "road", "without a file: a lattice with gaps, or random edges", 0, 0, "road|random|power"}, \
    {"vertices", BENCH_INT, vertices_, "without a file", 4, 1u << 28, NULL},                       \
    {"degree", BENCH_FLOAT, "2.83", "without a file: edges of a vertex, on average", 0.1, 1000, NULL}
/* clang-format on */

/* The graph of these parameters.
 *
 *   road     a square lattice of which each edge stays with the same probability, so a vertex has 4
 *            edges at most
 *   random   edges between any two vertices
 *   power    the same, but the share of vertices from which d or more edges begin falls as d^-2.3
 *
 * Returns 0, or -1 with an error and a graph that need not be released. */
int graph_create(const bench_values *values, uint32_t seed, graph *graph, bench_error *error);

void graph_release(graph *graph);

static inline uint32_t graph_degree(const graph *g, uint32_t vertex) {
    return g->offset[vertex + 1] - g->offset[vertex];
}

/* The most edges of a vertex. */
uint32_t graph_widest(const graph *graph);

/* Whether there is an edge between the two. */
int graph_has(const graph *graph, uint32_t from, uint32_t to);

/* Numbers in ascending order. */
void graph_sort(uint32_t *numbers, uint32_t count);

#endif
