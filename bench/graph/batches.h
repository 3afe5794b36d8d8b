/* Batches of edges that come into a graph and leave it, and what must be there after each.
 *
 * A round of updates, for each batch in turn: edges that the graph has not are inserted; then as
 * many of its own are deleted, which are inserted again; then the first are deleted. So a round
 * ends with the edges that it began with, in another order and at other places, and what searches
 * find in the graph is the same in all rounds.
 *
 * Read first: input.h, reference.h. Read next: benchmark.c, bench/survey/graph.c.
 */
#ifndef BENCH_GRAPH_BATCHES_H
#define BENCH_GRAPH_BATCHES_H

#include "reference.h"

/* Lines of a list of parameters. */
/* clang-format off */
#define GRAPH_BATCH_PARAMS(batch_, batches_, least_)                                                    \
    {"batch", BENCH_INT, batch_, "edges that are inserted, or deleted, at once", 1, 1u << 26, NULL}, \
    {"batches", BENCH_INT, batches_, "of each kind in a round", least_, 64, NULL},                      \
    {"range", BENCH_INT, "0", "vertices that edges of a batch begin at which are new to the graph; 0: any", 0, 1u << 28, NULL}
/* clang-format on */

typedef struct graph_batches {
    uint32_t edges, count; /* of a batch; batches */
    uint32_t *fresh, *own; /* two ends of each edge, batch after batch */
    uint32_t widest;       /* the most edges that a vertex has while all fresh ones are in */
} graph_batches;

/* No edge is in two batches. Returns 0, or -1 and an error, such as a graph with too few edges or
 * one where nearly all are there; then, too, they are to be released. */
int graph_batches_create(const bench_values *values, const graph *graph, uint32_t seed,
                         graph_batches *batches, bench_error *error);
void graph_batches_release(graph_batches *batches);

/* The steps of a round: 4 * count. Which edges they are, and whether they leave. */
typedef struct graph_step {
    const uint32_t *ends;
    int is_deletion;
} graph_step;
graph_step graph_step_of(const graph_batches *batches, uint32_t number);

/* Compare edges that a device has with the lists. lengths: of each vertex; entries: those of vertex
 * v from begin[v] on, as many as the lists have, begin[v + 1] being where the next begins. Both
 * sides are sorted. Returns how many vertices differ. */
uint32_t graph_lists_compare(graph_lists *lists, const uint32_t *begin, const uint32_t *lengths,
                             uint32_t *entries);

/* Where the entries of each vertex begin for that; vertices + 1 numbers. Returns how many entries
 * there are. */
uint32_t graph_lists_offsets(const graph_lists *lists, uint32_t *begin);

#endif
