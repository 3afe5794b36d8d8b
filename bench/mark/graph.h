/* Graphs to mark: made by rule, or read from a file of a real heap; and marked by plain C, as the
 * measure of what the library does.
 *
 * Node i refers to target[offset[i] .. offset[i + 1] - 1]. No node refers to more than
 * MARK_NODE_REFS others: of a node that does, the references are dealt out to `parts`, nodes behind
 * the graph's own, to which it refers instead. So node `own` and above are parts.
 *
 * Read first: error.h. Read next: graph.c, which reads files; graph_made.c; heap.h, mark.c.
 */
#ifndef BENCH_MARK_GRAPH_H
#define BENCH_MARK_GRAPH_H

#include <stdint.h>

#include "bench/harness/error.h"

#define MARK_NODE_REFS 1024u

typedef struct mark_graph {
    uint32_t nodes, own; /* with parts, without */
    uint64_t edges;
    uint32_t roots;
    uint32_t *offset; /* nodes + 1 */
    uint32_t *target;
    uint32_t *size; /* bytes of a node */
    uint32_t *root;
} mark_graph;

void mark_graph_release(mark_graph *graph);

/* All return 0, or -1 with an error and a graph that need not be released. */

/* HGRAPH1, gzip or plain: 8 bytes "HGRAPH1", nodes, edges, roots, kinds, bytes of the kinds' names;
 * these, padded to 4; offset, target, size, root; a byte for each node's kind. */
int mark_graph_read(const char *path, mark_graph *graph, bench_error *error);

/* For those that make a graph: memory for `nodes`, `edges` and `roots`; and the references of nodes
 * with too many dealt out to parts. */
int mark_graph_allocate(mark_graph *graph, bench_error *error);
int mark_graph_split(mark_graph *graph, bench_error *error);

/* ---- By rule (graph_made.c) ---- */

/* `refs` references a node to random nodes; or, with a power above 0, as many on average, so that
 * the share of nodes with d or more falls as d^-power. */
int mark_graph_random(uint32_t nodes, uint32_t refs, double power, uint32_t roots, uint32_t seed,
                      mark_graph *graph, bench_error *error);

/* `lists` lists of `length` nodes; the first `held` of them have a root. */
int mark_graph_lists(uint32_t lists, uint32_t length, uint32_t held, mark_graph *graph,
                     bench_error *error);

/* A list of `length` nodes, at its end a binary tree of `tree` nodes, behind the last of which is a
 * list as long: narrow, wide, narrow. */
int mark_graph_hourglass(uint32_t length, uint32_t tree, mark_graph *graph, bench_error *error);

/* `arrays` nodes that refer to `length` nodes each, these to none; the first `held` have a root. */
int mark_graph_arrays(uint32_t arrays, uint32_t length, uint32_t held, mark_graph *graph,
                      bench_error *error);

/* `count` nodes that refer to `width` nodes each, these to none, and to the next of their kind; the
 * first has a root. */
int mark_graph_wide(uint32_t count, uint32_t width, mark_graph *graph, bench_error *error);

/* The heap that compact-synthetic compacts (compact_heap.h): `objects` A and as many B that refer
 * to each other at random. `dead` percent of the A were freed and are no nodes, references to them
 * no edges; `held` percent of the others are roots. Nodes are the A that live, by number, then the
 * B. */
int mark_graph_synthetic(uint32_t objects, double dead, double held, uint32_t seed,
                         mark_graph *graph, bench_error *error);

/* ---- Marking in plain C (sequential.c) -------------------------------------------------- */

/* live: a bit for each node, cleared by the call. Returns the number of live nodes, parts not
 * counted, or UINT32_MAX without memory. */
uint32_t mark_graph_mark(const mark_graph *graph, uint32_t *live);

/* The same by `threads` threads that share a list of work; bits are set atomically. */
uint32_t mark_graph_mark_threads(const mark_graph *graph, uint32_t threads, uint32_t *live);

static inline int mark_is_live(const uint32_t *live, uint32_t node) {
    return (int)(live[node / 32] >> node % 32 & 1);
}

#endif
