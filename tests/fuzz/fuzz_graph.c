/* Fuzzing of mark_graph_read(), plain and gzip, and of marking what it read.
 *
 * What must hold for all bytes: an error has words and leaves no graph; a graph that was accepted refers to nodes
 * that it has, its offsets grow, no node has more than MARK_NODE_REFS references, and it can be marked.
 * Read first: fuzz.h, bench/mark/graph.h.
 */
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    mark_graph graph;
    bench_error error;
    if (mark_graph_read(fuzz_file(0, data, bytes), &graph, &error)) {
        fuzz_check_words(error.text, sizeof error.text);
        REQUIRE(!graph.offset && !graph.target && !graph.size && !graph.root);
        return 0;
    }
    check_graph(&graph);
    mark_graph_release(&graph);
    return 0;
}
