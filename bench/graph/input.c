/* Undirected graphs: made by rule, or read from a file. See input.h. */
#include "input.h"

#include <math.h>
#include <stdlib.h>

#include "bench/harness/hash.clh"
#include "pairs.h"

#define POWER 2.3

/* ---- By rule --------------------------------------------------------------------------------- */

static int make_road(uint32_t vertices, double degree, uint32_t seed, graph_pairs *p) {
    uint32_t side = (uint32_t)ceil(sqrt(vertices));
    double below = degree < 4 ? degree / 4 * 0x1p32 : 0x1p32;
    for (uint32_t v = 0; v < vertices; v++) {
        if (v % side + 1 < side && v + 1 < vertices && bench_hash(2 * v, seed) < below &&
            graph_pairs_add(p, v, v + 1))
            return -1;
        if (v + side < vertices && bench_hash(2 * v + 1, seed) < below &&
            graph_pairs_add(p, v, v + side))
            return -1;
    }
    return 0;
}

static int make_random(const bench_values *values, uint32_t seed, graph_pairs *p,
                       bench_error *error) {
    uint32_t vertices = bench_u32(values, "vertices");
    double begin = bench_float(values, "degree") / 2; /* each edge begins at one of its two ends */
    double power = bench_is(values, "shape", "power") ? POWER : 0;
    mark_graph made;
    if (mark_graph_random(vertices, (uint32_t)ceil(begin), power, 0, seed, &made, error)) return -1;
    int failed = graph_pairs_add_all(p, &made);
    mark_graph_release(&made);
    return failed ? bench_error_set(error, "host memory ran out for a graph") : 0;
}

int graph_create(const bench_values *values, uint32_t seed, graph *g, bench_error *error) {
    const char *path = bench_text(values, "file");
    graph_pairs p = {.vertices = *path ? 0 : bench_u32(values, "vertices")};
    int failed = 0;
    if (*path) {
        failed = graph_file_read(path, &p, error);
    } else if (!bench_is(values, "shape", "road")) {
        failed = make_random(values, seed, &p, error);
    } else if (make_road(p.vertices, bench_float(values, "degree"), seed, &p)) {
        failed = bench_error_set(error, "host memory ran out for a graph");
    }
    if (!failed) failed = graph_pairs_link(&p, g, error);
    free(p.ends);
    return failed;
}
