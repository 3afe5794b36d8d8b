/* Fuzzing of mark_graph_read(), plain and gzip, and of marking what it read; and of
 * graph_file_read(), which reads other formats, too.
 *
 * What must hold for all bytes: an error has words and leaves no graph; a graph that was accepted
 * refers to nodes that it has, its offsets grow, no node has more than MARK_NODE_REFS references,
 * and it can be marked. An undirected graph has each edge at both of its ends, in order, once.
 * Numbers of vertices that need much memory are left out.
 * Read first: fuzz.h, bench/mark/graph.h, bench/graph/pairs.h.
 */
#include "bench/graph/pairs.h"
#include "bench/mark/graph.h"
#include "fuzz.h"

static void check_graph(const mark_graph *g) {
    REQUIRE(g->nodes && g->own && g->own <= g->nodes && g->roots <= g->own);
    REQUIRE(g->offset[0] == 0 && g->offset[g->nodes] == g->edges);
    for (uint32_t i = 0; i < g->nodes; i++) {
        REQUIRE(g->offset[i] <= g->offset[i + 1]);
        REQUIRE(g->offset[i + 1] - g->offset[i] <= MARK_NODE_REFS);
    }
    for (uint64_t i = 0; i < g->edges; i++) REQUIRE(g->target[i] < g->nodes);
    for (uint32_t i = 0; i < g->roots; i++) REQUIRE(g->root[i] < g->own);
    uint32_t *live = malloc(((size_t)g->nodes + 31) / 32 * sizeof *live);
    REQUIRE(live);
    uint32_t count = mark_graph_mark(g, live);
    REQUIRE(count <= g->own && (count != 0) == (g->roots != 0));
    for (uint32_t i = 0; i < g->nodes; i++)
        for (uint32_t e = g->offset[i]; mark_is_live(live, i) && e < g->offset[i + 1]; e++)
            REQUIRE(mark_is_live(live, g->target[e]));
    free(live);
}

#define VERTICES_MOST 100000u

static void check_undirected(const char *path) {
    graph_pairs pairs = {0};
    graph g = {0};
    bench_error error;
    int failed = graph_file_read(path, &pairs, &error);
    if (failed) fuzz_check_words(error.text, sizeof error.text);
    if (!failed && pairs.vertices <= VERTICES_MOST && graph_pairs_link(&pairs, &g, &error) == 0)
        REQUIRE(g.vertices && g.entries && g.offset[0] == 0 && g.offset[g.vertices] == g.entries);
    for (uint32_t v = 0; v < g.vertices; v++)
        for (uint32_t e = g.offset[v]; e < g.offset[v + 1]; e++) {
            REQUIRE(g.target[e] < g.vertices && g.target[e] != v && graph_has(&g, g.target[e], v));
            REQUIRE(e == g.offset[v] || g.target[e - 1] < g.target[e]);
        }
    graph_release(&g);
    free(pairs.ends);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    mark_graph marked;
    bench_error error;
    const char *path = fuzz_file(0, data, bytes);
    check_undirected(path);
    if (mark_graph_read(path, &marked, &error)) {
        fuzz_check_words(error.text, sizeof error.text);
        REQUIRE(!marked.offset && !marked.target && !marked.size && !marked.root);
        return 0;
    }
    check_graph(&marked);
    mark_graph_release(&marked);
    return 0;
}
