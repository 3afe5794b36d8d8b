/* Batches of edges that come into a graph and leave it. See batches.h. */
#include "batches.h"

#include <stdlib.h>
#include <string.h>

#include "bench/harness/hash.clh"

#define TRIES 64u /* for each edge that is wanted */

void graph_batches_release(graph_batches *b) {
    free(b->fresh);
    free(b->own);
    memset(b, 0, sizeof *b);
}

/* Edges between any two vertices, which come into the lists; or, with a range, from the vertices
 * that it covers in the batch. */
static int pick_fresh(graph_batches *b, uint32_t range, uint32_t seed, graph_lists *lists) {
    uint32_t all = b->edges * b->count, got = 0;
    if (range == 0 || range > lists->vertices) range = lists->vertices;
    for (uint64_t i = 0; got < all && i < (uint64_t)all * TRIES; i++) {
        uint64_t first = (uint64_t)(lists->vertices - range) * (got / b->edges) / b->count;
        uint32_t from = (uint32_t)first + bench_hash((uint32_t)(2 * i), seed) % range;
        uint32_t to = bench_hash((uint32_t)(2 * i + 1), ~seed) % lists->vertices;
        uint32_t *ends = b->fresh + 2ul * got;
        if (from == to || graph_lists_has(lists, from, to)) continue;
        ends[0] = from;
        ends[1] = to;
        if (graph_lists_insert(lists, ends, 1)) return -1;
        got++;
    }
    return got == all ? 0 : -1;
}

static uint32_t begin_of(const graph *g, uint32_t entry) {
    uint32_t from = 0,
             end = g->vertices; /* the last vertex whose entries begin at `entry` or before it */
    while (end - from > 1) {
        uint32_t middle = from + (end - from) / 2;
        if (g->offset[middle] <= entry)
            from = middle;
        else
            end = middle;
    }
    return from;
}

/* The graph's own edges in an order without sense, those with the smaller vertex first. */
static int pick_own(graph_batches *b, const graph *g, uint32_t seed) {
    uint32_t all = b->edges * b->count, got = 0, count = 0;
    uint32_t *edges = malloc((g->entries / 2 + 1ul) * sizeof *edges);
    if (!edges) return -1;
    for (uint32_t v = 0; v < g->vertices; v++)
        for (uint32_t e = g->offset[v]; e < g->offset[v + 1]; e++)
            if (g->target[e] > v) edges[count++] = e;
    for (; got < all && got < count; got++) {
        uint32_t other = got + bench_hash(got, seed + 1) % (count - got), entry = edges[other];
        edges[other] = edges[got];
        b->own[2ul * got] = begin_of(g, entry);
        b->own[2ul * got + 1] = g->target[entry];
    }
    free(edges);
    return got == all ? 0 : -1;
}

int graph_batches_create(const bench_values *values, const graph *g, uint32_t seed,
                         graph_batches *b, bench_error *error) {
    graph_lists lists;
    *b =
        (graph_batches){.edges = bench_u32(values, "batch"), .count = bench_u32(values, "batches")};
    if ((uint64_t)b->edges * b->count > g->entries / 2)
        return bench_error_set(error,
                               "%u batches of %u edges are more than the %u edges of the graph",
                               b->count, b->edges, g->entries / 2);
    b->fresh = malloc((2ul * b->edges * b->count + 1) * sizeof *b->fresh);
    b->own = malloc((2ul * b->edges * b->count + 1) * sizeof *b->own);
    if (!b->fresh || !b->own) return bench_error_set(error, "host memory ran out for edges");
    if (pick_own(b, g, seed)) return bench_error_set(error, "host memory ran out for edges");
    int failed = graph_lists_create(g, &lists, error);
    if (!failed && pick_fresh(b, bench_u32(values, "range"), seed, &lists))
        failed = bench_error_set(error, "the graph has too many edges for %u more", b->edges);
    for (uint32_t v = 0; !failed && v < g->vertices; v++)
        if (lists.of[v].length > b->widest) b->widest = lists.of[v].length;
    graph_lists_release(&lists);
    return failed;
}

graph_step graph_step_of(const graph_batches *b, uint32_t number) {
    uint32_t kind = number / b->count, batch = number % b->count;
    int is_own = kind == 1 || kind == 2;
    return (graph_step){.ends = (is_own ? b->own : b->fresh) + 2ul * b->edges * batch,
                        .is_deletion = kind % 2 == 1};
}

/* ---- Comparing ------------------------------------------------------------------------------- */

uint32_t graph_lists_offsets(const graph_lists *lists, uint32_t *begin) {
    begin[0] = 0;
    for (uint32_t v = 0; v < lists->vertices; v++) begin[v + 1] = begin[v] + lists->of[v].length;
    return begin[lists->vertices];
}

uint32_t graph_lists_compare(graph_lists *lists, const uint32_t *begin, const uint32_t *lengths,
                             uint32_t *entries) {
    uint32_t wrong = 0;
    for (uint32_t v = 0; v < lists->vertices; v++) {
        graph_list *list = &lists->of[v];
        uint32_t *found = entries + begin[v];
        if (lengths[v] != list->length) {
            wrong++;
            continue;
        }
        graph_sort(found, list->length);
        graph_sort(list->to, list->length);
        wrong += list->length && memcmp(found, list->to, list->length * sizeof *found) != 0;
    }
    return wrong;
}
