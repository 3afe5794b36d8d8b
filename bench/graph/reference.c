/* Graph algorithms in one thread of C. See reference.h. */
#include "reference.h"

#include <stdlib.h>
#include <string.h>

uint64_t graph_search(const graph *g, uint32_t start, uint32_t *distance, uint32_t *queue) {
    uint64_t entries = 0;
    uint32_t end = 0;
    memset(distance, 0xff, g->vertices * sizeof *distance);
    distance[start] = 0;
    queue[end++] = start;
    for (uint32_t at = 0; at < end; at++) {
        uint32_t v = queue[at];
        entries += graph_degree(g, v);
        for (uint32_t e = g->offset[v]; e < g->offset[v + 1]; e++) {
            uint32_t next = g->target[e];
            if (distance[next] != GRAPH_FAR) continue;
            distance[next] = distance[v] + 1;
            queue[end++] = next;
        }
    }
    return entries;
}

static uint32_t root_of(uint32_t *label, uint32_t v) {
    while (label[v] != v) v = label[v] = label[label[v]];
    return v;
}

uint32_t graph_label(const graph *g, uint32_t *label) {
    uint32_t components = g->vertices;
    for (uint32_t v = 0; v < g->vertices; v++) label[v] = v;
    for (uint32_t v = 0; v < g->vertices; v++)
        for (uint32_t e = g->offset[v]; e < g->offset[v + 1] && g->target[e] < v; e++) {
            uint32_t a = root_of(label, v), b = root_of(label, g->target[e]);
            if (a == b) continue;
            label[a > b ? a : b] = a > b ? b : a;
            components--;
        }
    for (uint32_t v = 0; v < g->vertices; v++) label[v] = root_of(label, v);
    return components;
}

uint32_t graph_largest(const graph *g, const uint32_t *label, uint32_t *count) {
    uint32_t largest = 0;
    memset(count, 0, g->vertices * sizeof *count);
    for (uint32_t v = 0; v < g->vertices; v++) count[label[v]]++;
    for (uint32_t v = 0; v < g->vertices; v++)
        if (count[v] > count[largest]) largest = v;
    return largest;
}

/* ---- Edges that come and go ------------------------------------------------------------------ */

int graph_lists_create(const graph *g, graph_lists *lists, bench_error *error) {
    *lists = (graph_lists){.of = calloc(g->vertices, sizeof *lists->of), .vertices = g->vertices};
    if (!lists->of) return bench_error_set(error, "host memory ran out for lists");
    for (uint32_t v = 0; v < g->vertices; v++) {
        graph_list *list = &lists->of[v];
        uint32_t degree = graph_degree(g, v);
        if (degree == 0) continue;
        list->to = malloc(degree * sizeof *list->to);
        if (!list->to) return bench_error_set(error, "host memory ran out for lists");
        memcpy(list->to, g->target + g->offset[v], degree * sizeof *list->to);
        list->length = list->room = degree;
    }
    return 0;
}

void graph_lists_release(graph_lists *lists) {
    for (uint32_t v = 0; lists->of && v < lists->vertices; v++) free(lists->of[v].to);
    free(lists->of);
    memset(lists, 0, sizeof *lists);
}

static uint32_t find(const graph_list *list, uint32_t to) {
    uint32_t at = 0;
    while (at < list->length && list->to[at] != to) at++;
    return at;
}

int graph_lists_has(const graph_lists *lists, uint32_t from, uint32_t to) {
    int is_shorter = lists->of[from].length < lists->of[to].length;
    const graph_list *list = &lists->of[is_shorter ? from : to];
    return find(list, is_shorter ? to : from) < list->length;
}

static int insert(graph_list *list, uint32_t to) {
    if (list->length == list->room) {
        uint32_t room = list->room + list->room / 2 + 1;
        uint32_t *more = realloc(list->to, room * sizeof *more);
        if (!more) return -1;
        list->to = more;
        list->room = room;
    }
    list->to[list->length++] = to;
    return 0;
}

/* The last one takes the place of the one that leaves. */
static int leave(graph_list *list, uint32_t to) {
    uint32_t at = find(list, to);
    if (at == list->length) return -1;
    list->to[at] = list->to[--list->length];
    return 0;
}

int graph_lists_insert(graph_lists *lists, const uint32_t *ends, uint32_t edges) {
    for (size_t i = 0; i < edges; i++)
        if (insert(&lists->of[ends[2 * i]], ends[2 * i + 1]) ||
            insert(&lists->of[ends[2 * i + 1]], ends[2 * i]))
            return -1;
    return 0;
}

int graph_lists_delete(graph_lists *lists, const uint32_t *ends, uint32_t edges) {
    for (size_t i = 0; i < edges; i++)
        if (leave(&lists->of[ends[2 * i]], ends[2 * i + 1]) ||
            leave(&lists->of[ends[2 * i + 1]], ends[2 * i]))
            return -1;
    return 0;
}
