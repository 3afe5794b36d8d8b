/* Graphs to mark. See graph.h. */
#include "graph.h"

#include <Random123/philox.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "bench/micro/compact_draw.clh"
#include "bench/micro/compact_heap.h"

void mark_graph_release(mark_graph *graph) {
    free(graph->offset);
    free(graph->target);
    free(graph->size);
    free(graph->root);
    memset(graph, 0, sizeof *graph);
}

static int allocate(mark_graph *g, bench_error *error) {
    g->own = g->nodes;
    g->offset = calloc((size_t)g->nodes + 1, sizeof *g->offset);
    g->target = malloc((g->edges + 1) * sizeof *g->target);
    g->size = calloc(g->nodes, sizeof *g->size);
    g->root = calloc((size_t)g->roots + 1, sizeof *g->root);
    if (g->offset && g->target && g->size && g->root) return 0;
    mark_graph_release(g);
    return bench_error_set(error, "host memory ran out for a graph");
}

/* Deal the references of nodes with too many out to parts. */
static int split(mark_graph *g, bench_error *error) {
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
    if (allocate(&to, error)) {
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
    for (uint32_t i = 0, p = g->own; i < g->own; i++) { /* behind them what the parts refer to */
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
    for (uint32_t left = (head[4] + 3) / 4; left; left--) {
        if (read_words(file, names, 1)) return bench_error_set(error, "%s ends too early", path);
    }
    *g = (mark_graph){.nodes = head[0], .edges = head[1], .roots = head[2]};
    if (allocate(g, error)) return -1;
    const char *fault = NULL;
    if (read_words(file, g->offset, (uint64_t)g->nodes + 1) ||
        read_words(file, g->target, g->edges) || read_words(file, g->size, g->nodes) ||
        read_words(file, g->root, g->roots)) {
        fault = "it ends too early";
    }
    if (!fault) fault = find_fault(g);
    if (!fault) return split(g, error);
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

/* ---- By rule --------------------------------------------------------------------------------- */

typedef struct dice {
    philox4x32_key_t key;
    uint32_t stream;
} dice;

static double throw(const dice *d, uint64_t number) {
    philox4x32_ctr_t counter = {{(uint32_t)number, (uint32_t)(number >> 32), d->stream, 0}};
    return philox4x32(counter, d->key).v[0] * 0x1p-32;
}

int mark_graph_random(uint32_t nodes, uint32_t refs, double power, uint32_t roots, uint32_t seed,
                      mark_graph *graph, bench_error *error) {
    dice degree = {{{seed, 0x6d61726b}}, 0}, target = degree, root = degree;
    target.stream = 1;
    root.stream = 2;
    uint32_t *degrees = malloc(nodes * sizeof *degrees);
    if (!degrees) return bench_error_set(error, "host memory ran out for a graph");
    uint64_t edges = 0;
    /* Pareto: the mean is least * power / (power - 1). */
    double least = power > 1 ? refs * (power - 1) / power : 1;
    for (uint32_t i = 0; i < nodes; i++) {
        double d = power > 0 ? least * pow(1 - throw(&degree, i), -1 / power) : refs;
        degrees[i] = d < MARK_NODE_REFS ? (uint32_t)d : MARK_NODE_REFS;
        edges += degrees[i];
    }
    *graph = (mark_graph){.nodes = nodes, .edges = edges, .roots = roots};
    if (edges > UINT32_MAX) {
        free(degrees);
        return bench_error_set(error, "%u nodes have too many references together", nodes);
    }
    if (allocate(graph, error)) {
        free(degrees);
        return -1;
    }
    for (uint32_t i = 0; i < nodes; i++) graph->offset[i + 1] = graph->offset[i] + degrees[i];
    free(degrees);
    for (uint64_t i = 0; i < edges; i++) graph->target[i] = (uint32_t)(throw(&target, i) * nodes);
    for (uint32_t i = 0; i < roots; i++) graph->root[i] = (uint32_t)(throw(&root, i) * nodes);
    return 0;
}

int mark_graph_lists(uint32_t lists, uint32_t length, uint32_t held, mark_graph *graph,
                     bench_error *error) {
    *graph = (mark_graph){
        .nodes = lists * length, .edges = (uint64_t)lists * (length - 1), .roots = held};
    if (allocate(graph, error)) return -1;
    uint32_t at = 0;
    for (uint32_t i = 0; i < graph->nodes; i++) {
        graph->offset[i] = at;
        /* Neighbours in the heap belong to different lists, as if these had grown side by side. */
        if (i + lists < graph->nodes) graph->target[at++] = i + lists;
    }
    graph->offset[graph->nodes] = at;
    for (uint32_t i = 0; i < held; i++) graph->root[i] = i;
    return 0;
}

int mark_graph_hourglass(uint32_t length, uint32_t tree, mark_graph *graph, bench_error *error) {
    const uint32_t nodes = 2 * length + tree;
    *graph = (mark_graph){.nodes = nodes, .edges = nodes - 1, .roots = 1};
    if (allocate(graph, error)) return -1;
    uint32_t at = 0;
    for (uint32_t i = 0; i < nodes; i++) {
        graph->offset[i] = at;
        int is_in_tree = i >= length && i < length + tree;
        uint32_t child = 2 * (i - length) + 1;
        if (!is_in_tree && i + 1 < nodes) graph->target[at++] = i + 1;
        for (uint32_t k = child; is_in_tree && k < child + 2 && k < tree; k++)
            graph->target[at++] = length + k;
        if (i + 1 == length + tree && i + 1 < nodes) graph->target[at++] = i + 1;
    }
    graph->offset[nodes] = at;
    return 0;
}

int mark_graph_arrays(uint32_t arrays, uint32_t length, uint32_t held, mark_graph *graph,
                      bench_error *error) {
    uint32_t leaves = arrays * length;
    *graph = (mark_graph){.nodes = arrays + leaves, .edges = leaves, .roots = held};
    if (allocate(graph, error)) return -1;
    for (uint32_t i = 0; i < leaves; i++) graph->target[i] = arrays + i;
    for (uint32_t i = 0; i <= graph->nodes; i++)
        graph->offset[i] = i < arrays ? i * length : leaves;
    for (uint32_t i = 0; i < held; i++) graph->root[i] = i;
    return split(graph, error);
}

int mark_graph_wide(uint32_t count, uint32_t width, mark_graph *graph, bench_error *error) {
    *graph = (mark_graph){
        .nodes = count * (width + 1), .edges = (uint64_t)count * (width + 1) - 1, .roots = 1};
    if (allocate(graph, error)) return -1;
    uint32_t at = 0;
    for (uint32_t i = 0; i < count; i++) {
        graph->offset[i] = at;
        for (uint32_t k = 0; k < width; k++) graph->target[at++] = count + i * width + k;
        if (i + 1 < count) graph->target[at++] = i + 1;
    }
    for (uint32_t i = count; i <= graph->nodes; i++) graph->offset[i] = at;
    return split(graph, error);
}

/* ranks[i]: how many A with a number below i live, 0 .. objects. */
static uint32_t rank_living(uint32_t objects, uint64_t dead_below, uint32_t seed, uint32_t *ranks) {
    ranks[0] = 0;
    for (uint32_t i = 0; i < objects; i++) ranks[i + 1] = ranks[i] + !dies(i, seed, dead_below);
    return ranks[objects];
}

static uint32_t is_held(uint32_t number, uint32_t seed, uint64_t held_below) {
    return draw(number, seed, DRAW_ROOT) < held_below;
}

static int link_synthetic(uint32_t objects, const uint32_t *ranks, uint64_t held_below,
                          uint32_t seed, mark_graph *g, bench_error *error) {
    uint32_t living = ranks[objects], node = 0, at = 0;
    *g = (mark_graph){.nodes = living + objects, .edges = living};
    for (uint32_t i = 0; i < objects; i++) {
        uint32_t other = pick(i, seed, DRAW_OTHER_OF_B, objects);
        g->edges += ranks[other + 1] - ranks[other];
        g->roots += ranks[i + 1] > ranks[i] && is_held(i, seed, held_below);
    }
    if (allocate(g, error)) return -1;
    uint32_t *root = g->root;
    for (uint32_t i = 0; i < objects; i++) {
        if (ranks[i + 1] == ranks[i]) continue;
        if (is_held(i, seed, held_below)) *root++ = node;
        g->offset[node++] = at;
        g->target[at++] = living + pick(i, seed, DRAW_OTHER_OF_A, objects);
    }
    for (uint32_t i = 0; i < objects; i++) {
        uint32_t other = pick(i, seed, DRAW_OTHER_OF_B, objects);
        g->offset[node++] = at;
        if (ranks[other + 1] > ranks[other]) g->target[at++] = ranks[other];
    }
    g->offset[node] = at;
    return 0;
}

int mark_graph_synthetic(uint32_t objects, double dead, double held, uint32_t seed,
                         mark_graph *graph, bench_error *error) {
    memset(graph, 0, sizeof *graph);
    uint32_t *ranks = malloc(((size_t)objects + 1) * sizeof *ranks);
    if (!ranks) return bench_error_set(error, "host memory ran out for a graph");
    rank_living(objects, compact_heap_below(dead), seed, ranks);
    int result = link_synthetic(objects, ranks, compact_heap_below(held), seed, graph, error);
    free(ranks);
    return result;
}
