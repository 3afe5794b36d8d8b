/* Graphs to mark that are made by rule. See graph.h. */
#include <Random123/philox.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/micro/compact_draw.clh"
#include "bench/micro/compact_heap.h"
#include "graph.h"

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
    if (mark_graph_allocate(graph, error)) {
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
    if (mark_graph_allocate(graph, error)) return -1;
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
    if (mark_graph_allocate(graph, error)) return -1;
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
    if (mark_graph_allocate(graph, error)) return -1;
    for (uint32_t i = 0; i < leaves; i++) graph->target[i] = arrays + i;
    for (uint32_t i = 0; i <= graph->nodes; i++)
        graph->offset[i] = i < arrays ? i * length : leaves;
    for (uint32_t i = 0; i < held; i++) graph->root[i] = i;
    return mark_graph_split(graph, error);
}

int mark_graph_wide(uint32_t count, uint32_t width, mark_graph *graph, bench_error *error) {
    *graph = (mark_graph){
        .nodes = count * (width + 1), .edges = (uint64_t)count * (width + 1) - 1, .roots = 1};
    if (mark_graph_allocate(graph, error)) return -1;
    uint32_t at = 0;
    for (uint32_t i = 0; i < count; i++) {
        graph->offset[i] = at;
        for (uint32_t k = 0; k < width; k++) graph->target[at++] = count + i * width + k;
        if (i + 1 < count) graph->target[at++] = i + 1;
    }
    for (uint32_t i = count; i <= graph->nodes; i++) graph->offset[i] = at;
    return mark_graph_split(graph, error);
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
    if (mark_graph_allocate(g, error)) return -1;
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
