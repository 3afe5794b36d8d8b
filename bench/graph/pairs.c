/* Undirected graphs of pairs of vertices. See pairs.h, input.h. */
#include "pairs.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define SHORT 32u

void graph_release(graph *g) {
    free(g->offset);
    free(g->target);
    memset(g, 0, sizeof *g);
}

static int compare(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Most lists are short, and qsort() calls for each comparison. */
void graph_sort(uint32_t *numbers, uint32_t count) {
    if (count > SHORT) {
        qsort(numbers, count, sizeof *numbers, compare);
        return;
    }
    for (uint32_t i = 1; i < count; i++) {
        uint32_t number = numbers[i], at = i;
        for (; at > 0 && numbers[at - 1] > number; at--) numbers[at] = numbers[at - 1];
        numbers[at] = number;
    }
}

uint32_t graph_widest(const graph *g) {
    uint32_t most = 0;
    for (uint32_t v = 0; v < g->vertices; v++)
        if (graph_degree(g, v) > most) most = graph_degree(g, v);
    return most;
}

int graph_has(const graph *g, uint32_t from, uint32_t to) {
    return bsearch(&to, g->target + g->offset[from], graph_degree(g, from), sizeof to, compare) !=
           NULL;
}

int graph_pairs_add(graph_pairs *p, uint32_t from, uint32_t to) {
    if (from >= p->vertices) p->vertices = from + 1;
    if (to >= p->vertices) p->vertices = to + 1;
    if (from == to) return 0;
    if (p->count == p->room) {
        uint64_t room = p->room ? 2 * p->room : 1u << 16;
        uint32_t *ends = realloc(p->ends, room * 2 * sizeof *ends);
        if (!ends) return -1;
        p->ends = ends;
        p->room = room;
    }
    p->ends[2 * p->count] = from;
    p->ends[2 * p->count++ + 1] = to;
    return 0;
}

/* Sort the neighbours of each vertex, and leave out what is there twice. */
static void tidy(graph *g) {
    uint32_t to = 0;
    for (uint32_t v = 0; v < g->vertices; v++) {
        uint32_t from = g->offset[v], end = g->offset[v + 1];
        graph_sort(g->target + from, end - from);
        g->offset[v] = to;
        for (uint32_t e = from; e < end; e++)
            if (e == from || g->target[e] != g->target[e - 1]) g->target[to++] = g->target[e];
    }
    g->offset[g->vertices] = g->entries = to;
}

int graph_pairs_link(const graph_pairs *p, graph *g, bench_error *error) {
    if (p->count == 0) return bench_error_set(error, "the graph has no edge");
    if (p->count > UINT32_MAX / 2)
        return bench_error_set(error, "the graph has %" PRIu64 " edges; at most %u are possible",
                               p->count, UINT32_MAX / 2);
    *g = (graph){.vertices = p->vertices};
    g->offset = calloc((size_t)g->vertices + 2, sizeof *g->offset);
    g->target = malloc(2 * p->count * sizeof *g->target);
    if (!g->offset || !g->target) {
        graph_release(g);
        return bench_error_set(error, "host memory ran out for a graph");
    }
    uint32_t *next = g->offset + 1; /* where a vertex's neighbours begin once all are in place */
    for (uint64_t i = 0; i < 2 * p->count; i++) next[p->ends[i] + 1]++;
    for (uint32_t v = 0; v < g->vertices; v++) next[v + 1] += next[v];
    for (uint64_t i = 0; i < 2 * p->count; i++)
        g->target[next[p->ends[i]]++] = p->ends[i % 2 ? i - 1 : i + 1];
    tidy(g);
    return 0;
}

/* Each edge of `from` once, from its begin; parts of wide nodes belong to the node that has
 * them. */
int graph_pairs_add_all(graph_pairs *p, const mark_graph *from) {
    for (uint32_t v = 0; v < from->own; v++)
        for (uint32_t e = from->offset[v]; e < from->offset[v + 1]; e++) {
            uint32_t to = from->target[e];
            if (to < from->own && graph_pairs_add(p, v, to)) return -1;
            for (uint32_t k = to < from->own ? 0 : from->offset[to];
                 to >= from->own && k < from->offset[to + 1]; k++)
                if (graph_pairs_add(p, v, from->target[k])) return -1;
        }
    return 0;
}
