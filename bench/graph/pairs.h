/* Pairs of vertices, as they come from a rule or a file, and the graph of them.
 *
 * Read first: input.h. Read next: file.c, which reads files.
 */
#ifndef BENCH_GRAPH_PAIRS_H
#define BENCH_GRAPH_PAIRS_H

#include "bench/mark/graph.h"
#include "input.h"

typedef struct graph_pairs {
    uint32_t *ends; /* from and to of each edge; freed by the caller */
    uint64_t count, room;
    uint32_t vertices; /* at least: it grows with the pairs */
} graph_pairs;

/* An edge; one that leads back to its own vertex adds the vertex. Returns -1 without memory. */
int graph_pairs_add(graph_pairs *pairs, uint32_t from, uint32_t to);

/* The references of another graph. Returns -1 without memory. */
int graph_pairs_add_all(graph_pairs *pairs, const mark_graph *from);

/* The graph of all of them. Returns 0, or -1 with an error and a graph that need not be
 * released. */
int graph_pairs_link(const graph_pairs *pairs, graph *graph, bench_error *error);

/* What a file has (file.c). Returns 0, or -1 with an error. */
int graph_file_read(const char *path, graph_pairs *pairs, bench_error *error);

#endif
