/* Graphs to mark: their memory, nodes with many references, files. See graph.h. */
#include "graph.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

void mark_graph_release(mark_graph *graph) {
    free(graph->offset);
    free(graph->target);
    free(graph->size);
    free(graph->root);
    memset(graph, 0, sizeof *graph);
}

int mark_graph_allocate(mark_graph *g, bench_error *error) {
    g->own = g->nodes;
    g->offset = calloc((size_t)g->nodes + 1, sizeof *g->offset);
    g->target = malloc((g->edges + 1) * sizeof *g->target);
    g->size = calloc(g->nodes, sizeof *g->size);
    g->root = calloc((size_t)g->roots + 1, sizeof *g->root);
    if (g->offset && g->target && g->size && g->root) return 0;
    mark_graph_release(g);
    return bench_error_set(error, "host memory ran out for a graph");
}

int mark_graph_split(mark_graph *g, bench_error *error) {
    uint64_t parts = 0;
    for (uint32_t i = 0; i < g->own; i++) {
        uint32_t count = g->offset[i + 1] - g->offset[i];
        if (count > MARK_NODE_REFS) parts += (count + MARK_NODE_REFS - 1) / MARK_NODE_REFS;
        if (count > MARK_NODE_REFS * MARK_NODE_REFS) {
            mark_graph_release(g);
            return bench_error_set(error, "node %u has %u references, at most %u are possible", i,
                                   count, MARK_NODE_REFS * MARK_NODE_REFS);
        }
    }
    if (parts == 0) return 0;
    mark_graph to = {
        .nodes = g->own + (uint32_t)parts, .edges = g->edges + parts, .roots = g->roots};
    if (mark_graph_allocate(&to, error)) {
        mark_graph_release(g);
        return -1;
    }
    to.own = g->own;
    memcpy(to.size, g->size, g->own * sizeof *g->size);
    memcpy(to.root, g->root, g->roots * sizeof *g->root);
    uint32_t at = 0, part = g->own;
    for (uint32_t i = 0; i < g->own; i++) {
        uint32_t count = g->offset[i + 1] - g->offset[i];
        to.offset[i] = at;
        if (count <= MARK_NODE_REFS) {
            memcpy(to.target + at, g->target + g->offset[i], count * sizeof *g->target);
            at += count;
            continue;
        }
        for (uint32_t k = 0; k < count; k += MARK_NODE_REFS) to.target[at++] = part++;
    }
    for (uint32_t i = 0, p = g->own; i < g->own; i++) { /* after them what the parts refer to */
        uint32_t count = g->offset[i + 1] - g->offset[i];
        for (uint32_t k = 0; count > MARK_NODE_REFS && k < count; k += MARK_NODE_REFS) {
            uint32_t n = count - k < MARK_NODE_REFS ? count - k : MARK_NODE_REFS;
            to.offset[p++] = at;
            memcpy(to.target + at, g->target + g->offset[i] + k, n * sizeof *g->target);
            at += n;
        }
    }
    to.offset[to.nodes] = at;
    mark_graph_release(g);
    *g = to;
    return 0;
}

/* ---- Files ----------------------------------------------------------------------------------- */

#define FIRST_WORDS (UINT64_C(1) << 14)

static int read_words(gzFile file, void *words, uint64_t count) {
    uint8_t *at = words;
    for (uint64_t left = count * 4; left;) {
        unsigned part = left < (1u << 30) ? (unsigned)left : 1u << 30;
        int got = gzread(file, at, part);
        if (got <= 0) return -1;
        at += got;
        left -= (unsigned)got;
    }
    return 0;
}

/* Memory grows as words come, so that a header with wrong numbers takes none. NULL and a fault
 * without them. */
static uint32_t *read_array(gzFile file, uint64_t count, const char **fault) {
    uint64_t room = count < FIRST_WORDS ? count : FIRST_WORDS, got = 0;
    uint32_t *words = malloc((room + 1) * sizeof *words);
    while (words && got < count) {
        if (got == room) {
            room = count - room < room ? count : 2 * room;
            uint32_t *more = realloc(words, (room + 1) * sizeof *words);
            if (!more) break;
            words = more;
        }
        if (read_words(file, words + got, room - got)) {
            *fault = "it ends too early";
            free(words);
            return NULL;
        }
        got = room;
    }
    if (words && got == count) return words;
    *fault = "host memory ran out for it";
    free(words);
    return NULL;
}

/* Offsets that only grow, and numbers of nodes that there are. */
static const char *find_fault(const mark_graph *g) {
    if (g->offset[0] != 0 || g->offset[g->nodes] != g->edges) return "its offsets do not fit";
    for (uint32_t i = 0; i < g->nodes; i++)
        if (g->offset[i] > g->offset[i + 1]) return "its offsets do not grow";
    for (uint64_t i = 0; i < g->edges; i++)
        /* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): all edges were read */
        if (g->target[i] >= g->nodes) return "it refers to a node that it has not";
    for (uint32_t i = 0; i < g->roots; i++)
        if (g->root[i] >= g->nodes) return "a root is a node that it has not";
    return NULL;
}

/* A byte for each node, which says its kind if the kinds have names, and nothing behind them; read
 * so that zlib looks at its checksum, too. */
static const char *read_kinds(gzFile file, uint64_t nodes, uint32_t kinds) {
    uint8_t bytes[4096];
    while (nodes) {
        unsigned part = nodes < sizeof bytes ? (unsigned)nodes : (unsigned)sizeof bytes;
        int got = gzread(file, bytes, part);
        if (got <= 0) return "it ends too early";
        for (int i = 0; i < got; i++)
            if (kinds && bytes[i] >= kinds) return "a node is of a kind that it has not";
        nodes -= (unsigned)got;
    }
    int got = gzread(file, bytes, 1);
    return got == 0 ? NULL : got > 0 ? "there is something behind its end" : "it is damaged";
}

static int read_graph(gzFile file, const char *path, mark_graph *g, bench_error *error) {
    uint32_t magic[2], head[5];
    char names[4];
    if (read_words(file, magic, 2) || memcmp(magic, "HGRAPH1", 8) != 0 ||
        read_words(file, head, 5)) {
        return bench_error_set(error, "%s is no graph: it does not begin with HGRAPH1", path);
    }
    if (head[0] == 0 || head[0] > UINT32_C(1) << 30 || head[2] > head[0]) {
        return bench_error_set(error, "%s: %u nodes and %u roots are not possible", path, head[0],
                               head[2]);
    }
    for (uint32_t left = head[4] / 4 + (head[4] % 4 != 0); left; left--) {
        if (read_words(file, names, 1)) return bench_error_set(error, "%s ends too early", path);
    }
    const char *fault = NULL;
    *g = (mark_graph){.nodes = head[0], .own = head[0], .edges = head[1], .roots = head[2]};
    g->offset = read_array(file, (uint64_t)g->nodes + 1, &fault);
    if (!fault) g->target = read_array(file, g->edges, &fault);
    if (!fault) g->size = read_array(file, g->nodes, &fault);
    if (!fault) g->root = read_array(file, g->roots, &fault);
    if (!fault) fault = read_kinds(file, g->nodes, head[3]);
    if (!fault) fault = find_fault(g);
    if (!fault) return mark_graph_split(g, error);
    mark_graph_release(g);
    return bench_error_set(error, "%s: %s", path, fault);
}

int mark_graph_read(const char *path, mark_graph *graph, bench_error *error) {
    memset(graph, 0, sizeof *graph);
    gzFile file = gzopen(path, "rb"); /* reads what is not compressed as it is */
    if (!file) return bench_error_set(error, "cannot open %s", path);
    int result = read_graph(file, path, graph, error);
    gzclose(file);
    return result;
}
