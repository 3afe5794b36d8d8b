/* The shape of a graph as an ideal collector sees it (Maas et al., ISMM 2012, Fig. 2 and 3): how
 * many objects there are at each depth of a breadth-first traversal, and how many references they
 * have.
 *
 * Nulls and parts of wide nodes are not counted: a wide node has all references of its parts.
 *
 * Read first: graph.h, bench.h.
 */
#ifndef BENCH_MARK_SHAPE_H
#define BENCH_MARK_SHAPE_H

#include "bench/harness/bench.h"
#include "graph.h"

/* Lines of a list of parameters. */
/* clang-format off */
#define MARK_SHAPE_PARAMS                                                                          \
    {"csv", BENCH_STRING, "", "file for the shape: n, objects at depth n, objects with n references", 0, 0, NULL}, \
    {"depths", BENCH_STRING, "", "SVG or PNG: objects at each depth", 0, 0, NULL},                  \
    {"degrees", BENCH_STRING, "", "SVG or PNG: objects by number of references", 0, 0, NULL}
/* clang-format on */

/* If one of the files is asked for: write it, and the metrics depth, widest_level, levels_below_80
 * (objects, as in the tails of the paper), and the shares of live objects without references, with
 * at most 4, at most 12, and 100 or more. A plot that cannot be drawn is a note. */
int mark_shape_report(const mark_graph *graph, const bench_values *values, bench_results *results);

#endif
