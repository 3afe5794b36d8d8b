/* The benchmark graph: vertices are objects, and the edges of each are references in an array of
 * run-time length.
 *
 *     make_rate        edges of the graph as it is made: the kernel that gives arrays their room,
 *                      and the one that stores references. One sample
 *     search_rate      breadth-first search from a vertex of the largest component: edges that a
 *                      path leads to
 *     search_ms        the same as a time
 *     label_rate       connected components: all edges
 *     insert_rate, delete_rate
 *                      edges that come and go in batches (batches.h): room is made in one launch,
 *                      edges come in the next
 *     plain_search_rate, plain_label_rate
 *                      the same launches with the same work on plain arrays of offsets and
 *                      neighbours, on the same device
 *     plain_insert_rate, plain_delete_rate
 *                      the same edges, by arrays that are made anew for each batch: more work,
 *                      since all edges are copied
 *     c_search_rate, c_label_rate, c_insert_rate, c_delete_rate
 *                      one thread of C, by its best algorithm: a queue, union-find, an array for
 *                      each vertex by realloc()
 *     of_plain         search_ms of the plain arrays by that of the heap
 *     memory_per_edge  bytes of the blocks that the heap uses in the end, objects and arrays
 *                      together
 *
 * Rates are in 10^6 edges a second, each edge counted once though both of its vertices have it.
 * Searches and labels are measured by the host's clock, since the host looks after each launch
 * whether there is more to do. Updates are measured by the device's.
 *
 * The check, in each round: distances and labels of all vertices against C's, of the heap and of
 * the plain arrays; after each batch the neighbours of all vertices against the lists of the C
 * program, of both as well.
 *
 * Read first: bench.h, rig.h, input.h, reference.h, batches.h, rebuild.h, graph.cl.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "batches.h"
#include "bench/harness/bench.h"
#include "bench/harness/registry.h"
#include "bench/micro/array_layout.h"
#include "bench/micro/rig.h"
#include "input.h"
#include "rebuild.h"
#include "reference.h"

enum {
    MAKE,
    LINK,
    SEARCH_BEGIN,
    SEARCH_VISIT,
    LABEL_BEGIN,
    LABEL_HOOK,
    LABEL_JUMP,
    COUNT,
    ROOM,
    INSERT,
    DELETE,
    CLOSE,
    READ,
    FOUND_READ,
    PLAIN_VISIT,
    PLAIN_HOOK,
    PLAIN_JUMP,
    PLAIN_BATCH, /* and the others of rebuild.h */
    KERNEL_COUNT = PLAIN_BATCH + GRAPH_PLAIN_KERNELS
};

#define VERTEX_BYTES 16u /* without the array */
#define SPARE 3u /* an array has room for half as much again, and while it grows there are two */

typedef struct graphing {
    bench_rig rig;
    graph graph;
    graph_batches batches;
    graph_lists lists;   /* of the C program */
    graph_rebuild plain; /* the plain arrays */
    bench_array_layout layout;
    uint32_t start, components;
    uint64_t reached;                             /* entries of target that the search looks at */
    uint32_t *distance, *label, *queue;           /* C's */
    uint32_t *found, *found_label;                /* of kernels */
    uint32_t *begin, *offset, *lengths, *entries; /* for the comparison of edges */
    uint32_t wrong_distances, wrong_labels, compared; /* compared: batches */
    cl_mem vertices, faults, last, plain_distance, plain_label, ends;
    cl_mem begin_at, all_lengths, all_entries, all_distances, all_labels;
} graphing;

static int set(graphing *g, int kernel, uint32_t index, cl_uint value) {
    return bench_rig_arg(&g->rig, (size_t)kernel, index, sizeof value, &value);
}

static void sample_rate(graphing *g, int is_measured, const char *metric, uint64_t edges,
                        double us) {
    if (is_measured) bench_sample(g->rig.results, metric, "M/s", (double)edges / us);
}

/* ---- Launches until nothing changes ---------------------------------------------------------- */

/* A do-all; or, for kernels without objects, a launch with a work-item for each vertex. */
static clump_status launch(graphing *g, int kernel) {
    bench_rig *rig = &g->rig;
    size_t groups = (g->graph.vertices + rig->local - 1) / rig->local;
    return kernel >= PLAIN_VISIT ? clump_heap_launch(rig->heap, rig->kernels[kernel],
                                                     groups * rig->local, rig->local, NULL)
                                 : clump_heap_do_all(rig->heap, rig->kernels[kernel], NULL);
}

/* Whether the last launch changed something: it stores its number. */
static int has_changed(graphing *g, uint32_t number, int *changed) {
    cl_uint last = 0;
    if (bench_rig_read(&g->rig, g->last, sizeof last, &last)) return -1;
    *changed = last == number;
    return 0;
}

/* The argument `at` of `kernel` is the number of the launch. */
static int search(graphing *g, int kernel, uint32_t at, uint32_t *levels, double *us) {
    clump_status status = CLUMP_OK;
    int changed = 1;
    if (bench_rig_write(&g->rig, g->last, sizeof(cl_uint), NULL)) return -1;
    clFinish(g->rig.env->queue);
    double begin = bench_now_us();
    for (*levels = 0; changed && *levels <= g->graph.vertices; ++*levels) {
        if (set(g, kernel, at, *levels)) return -1;
        status = launch(g, kernel);
        if (status) return bench_rig_fail(&g->rig, "a search", status);
        if (has_changed(g, *levels + 1, &changed)) return -1;
    }
    *us = bench_now_us() - begin;
    return 0;
}

static int label(graphing *g, int hook, uint32_t at, int jump, uint32_t *rounds, double *us) {
    int changed = 1;
    if (bench_rig_write(&g->rig, g->last, sizeof(cl_uint), NULL)) return -1;
    clFinish(g->rig.env->queue);
    double begin = bench_now_us();
    for (*rounds = 1; changed && *rounds <= g->graph.vertices + 1; ++*rounds) {
        if (set(g, hook, at, *rounds)) return -1;
        clump_status status = launch(g, hook);
        if (!status) status = launch(g, jump);
        if (status) return bench_rig_fail(&g->rig, "labels", status);
        if (has_changed(g, *rounds, &changed)) return -1;
    }
    *us = bench_now_us() - begin;
    --*rounds;
    return 0;
}

/* ---- What kernels found, against C ----------------------------------------------------------- */

static int compare(graphing *g, cl_mem distances, cl_mem labels) {
    const uint32_t n = g->graph.vertices;
    if (bench_rig_read(&g->rig, distances, n * sizeof *g->found, g->found) ||
        bench_rig_read(&g->rig, labels, n * sizeof *g->found_label, g->found_label))
        return -1;
    for (uint32_t v = 0; v < n; v++) {
        uint32_t named = g->found_label[v];
        g->wrong_distances += g->found[v] != g->distance[v];
        /* The vertex that all name who are in its component: C has one for each of them, too. */
        g->wrong_labels +=
            named >= n || g->label[named] != g->label[v] || g->found_label[g->label[v]] != named;
    }
    return 0;
}

static int run_heap(graphing *g, int is_measured, double *search_us) {
    bench_results *results = g->rig.results;
    uint32_t levels = 0, rounds = 0;
    double us = 0;
    if (bench_rig_do_all(&g->rig, SEARCH_BEGIN, &us) ||
        search(g, SEARCH_VISIT, 0, &levels, search_us))
        return -1;
    sample_rate(g, is_measured, "search_rate", g->reached / 2, *search_us);
    if (is_measured) bench_sample(results, "search_ms", "ms", *search_us * 1e-3);
    if (is_measured) bench_sample(results, "levels", "launches", levels);
    if (bench_rig_do_all(&g->rig, LABEL_BEGIN, &us) ||
        label(g, LABEL_HOOK, 0, LABEL_JUMP, &rounds, &us))
        return -1;
    sample_rate(g, is_measured, "label_rate", g->graph.entries / 2, us);
    if (is_measured) bench_sample(results, "label_rounds", "launches", 2 * rounds);
    return bench_rig_do_all(&g->rig, FOUND_READ, &us) ||
           compare(g, g->all_distances, g->all_labels);
}

static int run_plain(graphing *g, int is_measured, double search_us) {
    const size_t bytes = g->graph.vertices * sizeof(cl_uint);
    uint32_t levels = 0, rounds = 0, *values = g->found;
    double us = 0;
    memset(values, 0xff, bytes);
    values[g->start] = 0;
    if (bench_rig_write(&g->rig, g->plain_distance, bytes, values) ||
        search(g, PLAIN_VISIT, 4, &levels, &us))
        return -1;
    sample_rate(g, is_measured, "plain_search_rate", g->reached / 2, us);
    if (is_measured) bench_sample(g->rig.results, "of_plain", "ratio", us / search_us);
    for (uint32_t v = 0; v < g->graph.vertices; v++) values[v] = v;
    if (bench_rig_write(&g->rig, g->plain_label, bytes, values) ||
        label(g, PLAIN_HOOK, 4, PLAIN_JUMP, &rounds, &us))
        return -1;
    sample_rate(g, is_measured, "plain_label_rate", g->graph.entries / 2, us);
    return compare(g, g->plain_distance, g->plain_label);
}

/* What is found is what begin() found. */
static void run_c(graphing *g, int is_measured) {
    double begin = bench_now_us();
    graph_search(&g->graph, g->start, g->distance, g->queue);
    double searched = bench_now_us();
    graph_label(&g->graph, g->label);
    double labelled = bench_now_us();
    sample_rate(g, is_measured, "c_search_rate", g->reached / 2, searched - begin);
    sample_rate(g, is_measured, "c_label_rate", g->graph.entries / 2, labelled - searched);
}

/* ---- Edges that come and go ------------------------------------------------------------------ */

static int update_lists(graphing *g, graph_step step, double *us) {
    const uint32_t edges = g->batches.edges;
    double begin = bench_now_us();
    int failed = step.is_deletion ? graph_lists_delete(&g->lists, step.ends, edges)
                                  : graph_lists_insert(&g->lists, step.ends, edges);
    *us += bench_now_us() - begin;
    return failed ? bench_error_set(g->rig.error, "no memory for lists, or an edge is not there")
                  : 0;
}

static int update_heap(graphing *g, graph_step step, double *us) {
    bench_rig *rig = &g->rig;
    const cl_uint ends = 2 * g->batches.edges;
    double part[3] = {0, 0, 0};
    if (bench_rig_write(rig, g->ends, ends * sizeof ends, step.ends)) return -1;
    int failed = step.is_deletion ? bench_rig_launch(rig, DELETE, ends, &part[0]) ||
                                        bench_rig_do_all(rig, CLOSE, &part[1])
                                  : bench_rig_launch(rig, COUNT, ends, &part[0]) ||
                                        bench_rig_do_all(rig, ROOM, &part[1]) ||
                                        bench_rig_launch(rig, INSERT, ends, &part[2]);
    *us += part[0] + part[1] + part[2];
    return failed ? -1 : 0;
}

static int compare_edges(graphing *g, uint32_t step) {
    bench_rig *rig = &g->rig;
    const size_t n = g->graph.vertices;
    const uint32_t entries = graph_lists_offsets(&g->lists, g->begin);
    double us;
    if (bench_rig_write(rig, g->begin_at, (n + 1) * sizeof *g->begin, g->begin) ||
        bench_rig_do_all(rig, READ, &us) ||
        bench_rig_read(rig, g->all_lengths, n * sizeof *g->lengths, g->lengths) ||
        bench_rig_read(rig, g->all_entries, entries * sizeof *g->entries, g->entries))
        return -1;
    uint32_t wrong = graph_lists_compare(&g->lists, g->begin, g->lengths, g->entries);
    bench_check(rig->results, wrong == 0, "after batch %u, %u vertices have other edges than C's",
                step, wrong);
    g->compared++;
    return 0;
}

/* The same for the plain arrays. */
static int compare_plain(graphing *g, uint32_t step) {
    const size_t n = g->graph.vertices;
    const uint32_t entries = graph_lists_offsets(&g->lists, g->begin);
    uint32_t *offset = g->offset;
    if (graph_rebuild_read(&g->plain, offset, g->entries, entries)) return -1;
    for (size_t v = 0; v < n; v++) g->lengths[v] = offset[v + 1] - offset[v];
    uint32_t wrong = graph_lists_compare(&g->lists, g->begin, g->lengths, g->entries);
    bench_check(
        g->rig.results, wrong == 0 && memcmp(offset, g->begin, (n + 1) * sizeof *offset) == 0,
        "after batch %u, %u vertices of the plain arrays have other edges than C's", step, wrong);
    return 0;
}

static int run_updates(graphing *g, int is_measured) {
    const uint32_t steps = 4 * g->batches.count;
    const uint64_t edges = (uint64_t)g->batches.edges * g->batches.count * 2; /* of each kind */
    double us[2] = {0, 0}, plain_us[2] = {0, 0}, c_us[2] = {0, 0};
    for (uint32_t i = 0; i < steps; i++) {
        graph_step step = graph_step_of(&g->batches, i);
        double part;
        if (update_heap(g, step, &us[step.is_deletion]) ||
            graph_rebuild_step(&g->plain, step.is_deletion, &part) ||
            update_lists(g, step, &c_us[step.is_deletion]) || compare_edges(g, i) ||
            compare_plain(g, i))
            return -1;
        plain_us[step.is_deletion] += part;
    }
    if (steps == 0) return 0;
    sample_rate(g, is_measured, "insert_rate", edges, us[0]);
    sample_rate(g, is_measured, "delete_rate", edges, us[1]);
    sample_rate(g, is_measured, "plain_insert_rate", edges, plain_us[0]);
    sample_rate(g, is_measured, "plain_delete_rate", edges, plain_us[1]);
    sample_rate(g, is_measured, "c_insert_rate", edges, c_us[0]);
    sample_rate(g, is_measured, "c_delete_rate", edges, c_us[1]);
    return 0;
}

static int run_round(void *self, uint32_t number, int is_measured) {
    graphing *g = self;
    double search_us = 0;
    (void)number;
    run_c(g, is_measured);
    return run_heap(g, is_measured, &search_us) || run_plain(g, is_measured, search_us) ||
                   run_updates(g, is_measured)
               ? -1
               : 0;
}

/* ---- Begin and end --------------------------------------------------------------------------- */

static int finish(void *self) {
    graphing *g = self;
    bench_results *results = g->rig.results;
    const uint32_t edges = g->graph.entries / 2;
    clump_heap_stats stats = {.size = sizeof stats};
    cl_uint faults = 1;
    if (bench_rig_read(&g->rig, g->faults, sizeof faults, &faults) ||
        bench_rig_stats(&g->rig, &stats))
        return -1;
    const clump_heap_info *layout = clump_heap_get_info(g->rig.heap);
    const uint64_t block_bytes = (uint64_t)layout->granule_bytes * layout->block_granules;
    bench_sample(results, "memory_per_edge", "B",
                 (double)(stats.blocks - stats.free_blocks) * (double)block_bytes / edges);
    bench_check(results, faults == 0, "%u times no room, or an edge that is not there", faults);
    bench_check(results, g->wrong_distances == 0 && g->wrong_labels == 0,
                "%u distances and %u labels are not C's", g->wrong_distances, g->wrong_labels);
    bench_check(results, 1,
                "%u vertices, %u edges, %u components: distances and labels are C's; so are the "
                "edges after %u batches",
                g->graph.vertices, edges, g->components, g->compared);
    return bench_rig_verify(&g->rig, 0);
}

/* What C finds, the same in all rounds. */
static int run_reference(graphing *g) {
    const size_t n = g->graph.vertices;
    const size_t entries = g->graph.entries + 2ul * g->batches.edges * g->batches.count;
    uint32_t **const arrays[] = {&g->distance, &g->label,       &g->queue,
                                 &g->found,    &g->found_label, &g->lengths};
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++) {
        *arrays[i] = malloc(n * sizeof **arrays[i]);
        if (!*arrays[i]) return bench_error_set(g->rig.error, "no memory for %zu vertices", n);
    }
    g->begin = malloc((n + 1) * sizeof *g->begin);
    g->offset = malloc((n + 1) * sizeof *g->offset);
    g->entries = malloc(entries * sizeof *g->entries);
    if (!g->begin || !g->offset || !g->entries)
        return bench_error_set(g->rig.error, "no memory for %zu edges", entries / 2);
    g->components = graph_label(&g->graph, g->label);
    g->start = graph_largest(&g->graph, g->label, g->queue);
    g->reached = graph_search(&g->graph, g->start, g->distance, g->queue);
    return 0;
}

static int make_buffers(graphing *g) {
    bench_rig *rig = &g->rig;
    const size_t n = g->graph.vertices, ends = 2ul * g->batches.edges;
    const struct {
        cl_mem *buffer;
        size_t words;
    } buffers[] = {{&g->vertices, n},
                   {&g->faults, 1},
                   {&g->last, 1},
                   {&g->plain_distance, n},
                   {&g->plain_label, n},
                   {&g->ends, ends},
                   {&g->begin_at, n + 1},
                   {&g->all_lengths, n},
                   {&g->all_entries, g->graph.entries + ends * g->batches.count},
                   {&g->all_distances, n},
                   {&g->all_labels, n}};
    for (size_t i = 0; i < sizeof buffers / sizeof buffers[0]; i++)
        if (bench_rig_buffer(rig, buffers[i].words * sizeof(cl_uint), buffers[i].buffer)) return -1;
    return bench_rig_write(rig, g->faults, sizeof(cl_uint), NULL) ||
           graph_rebuild_create(&g->plain, rig, PLAIN_BATCH, &g->graph, &g->batches, g->ends,
                                g->faults);
}

static int set_args(graphing *g) {
    const struct {
        int kernel;
        uint32_t index;
        cl_mem buffer;
    } buffers[] = {{MAKE, 0, g->vertices},
                   {MAKE, 1, g->plain.offset[0]},
                   {MAKE, 2, g->faults},
                   {LINK, 0, g->vertices},
                   {LINK, 1, g->plain.offset[0]},
                   {LINK, 2, g->plain.target[0]},
                   {SEARCH_VISIT, 1, g->last},
                   {LABEL_HOOK, 1, g->last},
                   {COUNT, 0, g->vertices},
                   {COUNT, 1, g->ends},
                   {ROOM, 1, g->faults},
                   {INSERT, 0, g->vertices},
                   {INSERT, 1, g->ends},
                   {INSERT, 3, g->faults},
                   {DELETE, 0, g->vertices},
                   {DELETE, 1, g->ends},
                   {DELETE, 3, g->faults},
                   {READ, 0, g->begin_at},
                   {READ, 1, g->all_lengths},
                   {READ, 2, g->all_entries},
                   {FOUND_READ, 0, g->all_distances},
                   {FOUND_READ, 1, g->all_labels},
                   {PLAIN_VISIT, 0, g->plain.offset[0]},
                   {PLAIN_VISIT, 1, g->plain.target[0]},
                   {PLAIN_VISIT, 3, g->plain_distance},
                   {PLAIN_VISIT, 5, g->last},
                   {PLAIN_HOOK, 0, g->plain.offset[0]},
                   {PLAIN_HOOK, 1, g->plain.target[0]},
                   {PLAIN_HOOK, 3, g->plain_label},
                   {PLAIN_HOOK, 5, g->last},
                   {PLAIN_JUMP, 0, g->plain_label}};
    for (size_t i = 0; i < sizeof buffers / sizeof buffers[0]; i++)
        if (bench_rig_arg(&g->rig, (size_t)buffers[i].kernel, buffers[i].index,
                          sizeof buffers[i].buffer, &buffers[i].buffer))
            return -1;
    const cl_uint ends = 2 * g->batches.edges;
    return set(g, SEARCH_BEGIN, 0, g->start) || set(g, COUNT, 2, ends) || set(g, INSERT, 2, ends) ||
           set(g, DELETE, 2, ends) || set(g, ROOM, 0, g->layout.most) ||
           set(g, PLAIN_VISIT, 2, g->graph.vertices) || set(g, PLAIN_HOOK, 2, g->graph.vertices) ||
           set(g, PLAIN_JUMP, 1, g->graph.vertices);
}

static int make_graph(graphing *g) {
    bench_rig *rig = &g->rig;
    cl_event event = NULL;
    clump_sync sync = {.event = &event};
    bench_span span;
    double us;
    uint64_t made = 0;
    clump_status status =
        clump_heap_do_new(rig->heap, rig->kernels[MAKE], "Vertex", g->graph.vertices, &made, &sync);
    if (status) return bench_rig_fail(rig, "making the vertices", status);
    if (bench_event_take(event, &span, rig->error) || bench_rig_do_all(rig, LINK, &us)) return -1;
    if (made < g->graph.vertices)
        return bench_error_set(rig->error, "the heap has room for %" PRIu64 " of %u vertices", made,
                               g->graph.vertices);
    sample_rate(g, 1, "make_rate", g->graph.entries / 2, us + bench_span_us(span));
    return 0;
}

static int create_rig(graphing *g, bench_env *env, const bench_values *values,
                      bench_results *results) {
    static const char *const names[KERNEL_COUNT] = {
        "graph_make",   "graph_link",  "search_begin",   "search_visit", "label_begin",
        "label_hook",   "label_jump",  "edges_count",    "edges_room",   "edges_insert",
        "edges_delete", "edges_close", "graph_read",     "found_read",   "plain_visit",
        "plain_hook",   "plain_jump",  GRAPH_PLAIN_NAMES};
    char array[64], schema[256];
    uint64_t heap_bytes = (uint64_t)bench_int(values, "heap_mb") << 20;
    if (heap_bytes == 0)
        heap_bytes = bench_array_layout_bytes(
            &g->layout, g->graph.vertices,
            g->graph.entries + 2ull * g->batches.edges * g->batches.count, VERTEX_BYTES, SPARE);
    bench_array_layout_declare(values, &g->layout, array, sizeof array);
    snprintf(schema, sizeof schema,
             "%s Vertex { uint number; uint distance; ref Vertex label; uint touched; "
             "ref Vertex edges%s; }",
             bench_array_layout_class(values), array);
    bench_rig_desc desc = {
        .env = env,
        .results = results,
        .heap = {.text = schema,
                 .bytes = heap_bytes,
                 .block_rows = (uint32_t)bench_int(values, "block_rows")},
        .files = {"bench/harness/sums.clh", "bench/graph/graph.cl", "bench/graph/plain.cl"},
        .kernels = names,
        .kernel_count = KERNEL_COUNT};
    return bench_rig_create(&g->rig, &desc);
}

static int begin(void *self, bench_env *env, const bench_values *values, bench_results *results) {
    graphing *g = self;
    bench_error *error = &results->error;
    g->rig.error = error;
    if (graph_create(values, env->seed, &g->graph, error) ||
        graph_batches_create(values, &g->graph, env->seed, &g->batches, error) ||
        graph_lists_create(&g->graph, &g->lists, error) || run_reference(g) ||
        bench_array_layout_choose(values, g->batches.widest, VERTEX_BYTES, &g->layout, error))
        return -1;
    return create_rig(g, env, values, results) || make_buffers(g) || set_args(g) || make_graph(g)
               ? -1
               : 0;
}

static void end(void *self) {
    graphing *g = self;
    uint32_t *const arrays[] = {g->distance, g->label, g->queue,  g->found,  g->found_label,
                                g->lengths,  g->begin, g->offset, g->entries};
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++) free(arrays[i]);
    graph_lists_release(&g->lists);
    graph_batches_release(&g->batches);
    graph_release(&g->graph);
    bench_rig_release(&g->rig);
}

static const bench_param params[] = {GRAPH_PARAMS("100000"),
                                     GRAPH_BATCH_PARAMS("10000", "2", 0),
                                     BENCH_ARRAY_LAYOUT_PARAMS("4"),
                                     BENCH_RIG_HEAP_PARAMS,
                                     {NULL, BENCH_INT, NULL, NULL, 0, 0, NULL}};

const bench_descriptor bench_graph = {
    .name = "graph",
    .sentence = "Breadth-first search, components and updates of a graph whose edges are arrays",
    .params = params,
    .repeat = 5,
    .bytes = sizeof(graphing),
    .warm_up = 1,
    .begin = begin,
    .round = run_round,
    .finish = finish,
    .end = end};
