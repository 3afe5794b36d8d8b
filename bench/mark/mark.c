/* The benchmarks mark-...: marking graphs of many shapes, those of Maas et al. (ISMM 2012, Table 1)
 * among them, by each engine, by the host and by threads in plain C.
 *
 *     time_ms       roots and marking: of the device; of engine=host and engine=threads of the
 * host,
 *                   without copies. Its floor is what must at least be read and written, at the
 *                   bandwidth of a copy
 *     random_ms     what the same look-ups would take if there were nothing else: a read in no
 * order for
 *                   each live object and for each reference, in as much memory as they lie in
 * (measured)
 *     sweep_ms      of the collections that follow the rounds. Its floor: a copy of as many bytes
 *                   as bitmaps and states take, so that each is read and written once
 *
 * Rounds only mark. The check: a sequential marker in C, node by node; then collections of copies
 * of the heap, after the last of which exactly the live nodes must be left, their references right
 * and the heap's invariants true.
 *
 * Read first: graph.h, heap.h, synthetic.h.
 */
#include <stdlib.h>
#include <string.h>

#include "bench/harness/bench.h"
#include "bench/harness/registry.h"
#include "clump/experimental.h"
#include "heap.h"
#include "levels.h"
#include "random_rate.h"
#include "shape.h"
#include "synthetic.h"

#define MARK_PARAMS                                                                                \
    {"engine", BENCH_ENUM, "auto", "who marks", 0, 0, "auto|queue|rows|host|threads"},             \
        {"offsets", BENCH_ENUM, "prefix", "of the queue on GPUs", 0, 0, "prefix|histogram"},       \
        {"narrow", BENCH_INT, "0", "frontier for one work-group; 0: default; -1: never",           \
         -1,       1024,      NULL},                                                               \
        {"wide", BENCH_INT, "0", "references for a whole work-group; 0: default; -1: never",       \
         -1,     1e6,       NULL},                                                                 \
        {"queue_room", BENCH_INT, "0", "objects in the queue; 0: default", 0, 1e9, NULL},          \
        {"groups", BENCH_INT,  "0", "work-groups of a step; 0: as many as run at once",            \
         0,        UINT32_MAX, NULL},                                                              \
        {"team", BENCH_INT,                                                                        \
         "0",    "work-items for an object of a narrow frontier; 0: as many as idle",              \
         0,      1024,                                                                             \
         NULL},                                                                                    \
        {"stay", BENCH_INT, "0", "1: auto gives nothing to the host", 0, 1, NULL},                 \
        {"threads", BENCH_INT, "2", "of engine=threads", 1, 64, NULL},                             \
        {"heap_mb", BENCH_INT, "0", "size of the heap in MiB; 0: from the graph", 0, 1e6, NULL},   \
        {"seed", BENCH_INT, "42", "of random graphs", 0, UINT32_MAX, NULL}, MARK_SHAPE_PARAMS,     \
        MARK_LEVELS_PARAMS, {                                                                      \
        NULL, BENCH_INT, NULL, NULL, 0, 0, NULL                                                    \
    }

typedef int graph_maker(const bench_values *values, mark_graph *graph, bench_error *error);

typedef struct mark_state {
    bench_env *env;
    bench_results *results;
    bench_error *error;
    const bench_values *values;
    mark_graph graph;
    mark_heap *heap;
    mark_synthetic *synthetic; /* one of the two */
    uint32_t *live, *again;
    uint32_t live_count, live_parts;
    int by_threads;           /* engine=threads: without a heap */
    clump_mark_tuning tuning; /* of desc */
    clump_collect_desc desc;
    clump_collect_report report; /* of the last round */
} mark_state;

typedef int heap_maker(mark_state *s); /* with all objects and roots, to be marked */

static clump_mark_tuning get_tuning(const bench_values *values) {
    int64_t narrow = bench_int(values, "narrow"), wide = bench_int(values, "wide");
    clump_mark_tuning tuning = {.narrow = narrow < 0 ? CLUMP_NEVER : (uint32_t)narrow,
                                .wide = wide < 0 ? CLUMP_NEVER : (uint32_t)wide,
                                .groups = bench_u32(values, "groups"),
                                .team = bench_u32(values, "team"),
                                .stay = bench_int(values, "stay") != 0};
    if (bench_is(values, "offsets", "histogram")) tuning.offsets = CLUMP_OFFSETS_HISTOGRAM;
    return tuning;
}

static clump_collect_desc get_desc(const bench_values *values, const clump_mark_tuning *tuning) {
    clump_collect_desc desc = {.size = sizeof desc,
                               .queue_room = (uint32_t)bench_int(values, "queue_room"),
                               .tuning = tuning};
    if (bench_is(values, "engine", "queue")) desc.engine = CLUMP_MARK_QUEUE;
    if (bench_is(values, "engine", "rows")) desc.engine = CLUMP_MARK_ROWS;
    if (bench_is(values, "engine", "host")) desc.engine = CLUMP_MARK_HOST;
    return desc;
}

/* ---- Rounds ---------------------------------------------------------------------------------- */

static void sample_report(mark_state *s) {
    const clump_collect_report *r = &s->report;
    bench_results *results = s->results;
    double us = s->desc.engine == CLUMP_MARK_HOST
                    ? r->host_us
                    : r->us[CLUMP_COLLECT_ROOTS] + r->us[CLUMP_COLLECT_MARK];
    bench_sample(results, "time_ms", "ms", us * 1e-3);
    bench_sample(results, "roots_ms", "ms", r->us[CLUMP_COLLECT_ROOTS] * 1e-3);
    bench_sample(results, "levels", "levels", r->levels);
    bench_sample(results, "narrow_levels", "levels", r->narrow_levels);
    bench_sample(results, "sweeps", "sweeps", r->sweeps);
    bench_sample(results, "refills", "refills", r->refills);
    bench_sample(results, "engine_changes", "changes", r->engine_changes);
    bench_sample(results, "queue_peak", "objects", r->queue_peak);
    bench_sample(results, "queue_overflows", "objects", (double)r->queue_overflows);
    bench_sample(results, "launches", "launches", r->launches);
    bench_sample(results, "readbacks", "readbacks", r->readbacks);
    bench_sample(results, "refs_followed", "refs", (double)r->refs_followed);
    bench_sample(results, "memory", "bytes", (double)r->memory_bytes);
}

static clump_heap *get_heap(const mark_state *s) {
    return s->synthetic ? mark_synthetic_get(s->synthetic) : mark_heap_get(s->heap);
}

static int collect(mark_state *s, const clump_collect_desc *desc) {
    clump_status status = clump_heap_collect(get_heap(s), desc, &s->report, NULL);
    return status ? bench_error_clump(s->error, "a collection", s->env->clump, status) : 0;
}

static int mark_round(mark_state *s, int is_measured) {
    clump_collect_desc desc = s->desc;
    double start = bench_now_us();
    desc.only_mark = 1;
    if (collect(s, &desc)) return -1;
    if (is_measured) {
        bench_sample(s->results, "wall_ms", "ms", (bench_now_us() - start) * 1e-3);
        sample_report(s);
    }
    bench_check(s->results, s->report.live == s->live_count + s->live_parts,
                "%llu objects were marked, %u are live", (unsigned long long)s->report.live,
                s->live_count + s->live_parts);
    return 0;
}

static int thread_round(mark_state *s, int is_measured) {
    uint32_t threads = (uint32_t)bench_int(s->values, "threads");
    double start = bench_now_us();
    uint32_t live = mark_graph_mark_threads(&s->graph, threads, s->again);
    double us = bench_now_us() - start;
    if (live == UINT32_MAX) return bench_error_set(s->error, "the threads could not be started");
    if (is_measured) bench_sample(s->results, "time_ms", "ms", us * 1e-3);
    size_t bytes = ((size_t)s->graph.nodes + 31) / 32 * sizeof *s->live;
    bench_check(s->results, live == s->live_count && !memcmp(s->live, s->again, bytes),
                "the threads found %u live nodes, there are %u", live, s->live_count);
    return 0;
}

/* ---- Bounds ---------------------------------------------------------------------------------- */

static int report_bounds(mark_state *s) {
    const clump_collect_report *r = &s->report;
    double copy = 0, in_marks = 0, in_heap = 0;
    uint64_t objects = s->graph.nodes, bytes = 4 * (s->graph.edges + objects);
    if (bench_copy_bandwidth(s->env, 0, &copy, s->error) ||
        bench_random_rate(s->env, objects / 8, &in_marks, s->error) ||
        bench_random_rate(s->env, bytes, &in_heap, s->error)) {
        return -1;
    }
    if (copy > 0) bench_floor(s->results, "time_ms", (double)r->floor_bytes / copy * 1e3);
    if (in_marks > 0 && in_heap > 0) {
        bench_sample(s->results, "random_reads", "G/s", in_marks * 1e-9);
        bench_sample(s->results, "random_ms", "ms",
                     ((double)r->refs_followed / in_marks + (double)r->live / in_heap) * 1e3);
    }
    return 0;
}

/* ---- A benchmark ----------------------------------------------------------------------------- */

/* What a sweep must at least do: read and write the bitmap of every row and the state of every
 * block in use. */
static int copy_for_sweep(mark_state *s, double *ms) {
    clump_heap_stats all = {.size = sizeof all};
    double copy = 0;
    clump_status status = clump_heap_read_stats(get_heap(s), &all, NULL, 0);
    if (status) return bench_error_clump(s->error, "the statistics", s->env->clump, status);
    uint64_t bytes = all.slots / CLUMP_ROW_SLOTS * 8 + (uint64_t)(all.blocks - all.free_blocks) * 4;
    if (bench_copy_bandwidth(s->env, bytes, &copy, s->error)) return -1;
    *ms = copy > 0 ? 2 * (double)bytes / copy * 1e3 : 0;
    return 0;
}

/* Collect as often as rounds are measured, each time from the heap as it is now: from a copy of its
 * buffer, which holds all that a collection changes. */
static int collect_rounds(mark_state *s, double floor_ms) {
    cl_command_queue queue = s->env->queue;
    cl_mem heap = clump_heap_get_info(get_heap(s))->buffer;
    size_t bytes = clump_heap_get_info(get_heap(s))->bytes;
    cl_int code = CL_SUCCESS;
    cl_mem copy = clCreateBuffer(s->env->context, CL_MEM_READ_WRITE, bytes, NULL, &code);
    if (!code) code = clEnqueueCopyBuffer(queue, heap, copy, 0, 0, bytes, 0, NULL, NULL);
    for (uint32_t i = 0; !code && i <= s->env->repeat; i++) { /* the first warms up */
        if (i) code = clEnqueueCopyBuffer(queue, copy, heap, 0, 0, bytes, 0, NULL, NULL);
        if (code) break;
        if (collect(s, &s->desc)) {
            clReleaseMemObject(copy);
            return -1;
        }
        if (i) bench_sample(s->results, "sweep_ms", "ms", s->report.us[CLUMP_COLLECT_SWEEP] * 1e-3);
    }
    if (copy) clReleaseMemObject(copy);
    if (code) return bench_error_cl(s->error, "a copy of the heap", code);
    if (floor_ms > 0) bench_floor(s->results, "sweep_ms", floor_ms);
    return 0;
}

static int report_levels(const mark_state *s) {
    const clump_collect_report *r = &s->report;
    return mark_levels_report(&(mark_levels){.graph = &s->graph,
                                             .heap = get_heap(s),
                                             .desc = s->desc,
                                             .launches = r->launches,
                                             .turns = r->levels + r->sweeps + r->refills,
                                             .values = s->values,
                                             .results = s->results});
}

static int collect_and_verify(mark_state *s) {
    double floor_ms = 0;
    if (copy_for_sweep(s, &floor_ms) || collect_rounds(s, floor_ms)) return -1;
    int result = s->synthetic ? mark_synthetic_verify(s->synthetic, s->live, s->error)
                              : mark_heap_verify(s->heap, s->live, s->error);
    if (result <= 0) return result;
    bench_check(s->results, 0, "%.500s", s->error->text);
    return 0;
}

static uint64_t heap_bytes(const mark_state *s) {
    return (uint64_t)bench_int(s->values, "heap_mb") << 20;
}

static int make_heap(mark_state *s) {
    return mark_heap_create(s->env, &s->graph, heap_bytes(s), &s->heap, s->error) ||
                   mark_heap_build(s->heap, s->error)
               ? -1
               : 0;
}

static int make_synthetic_heap(mark_state *s) {
    mark_synthetic_desc desc = {.env = s->env,
                                .graph = &s->graph,
                                .objects = bench_u32(s->values, "objects"),
                                .seed = bench_u32(s->values, "seed"),
                                .dead = bench_float(s->values, "dead"),
                                .heap_bytes = heap_bytes(s)};
    return mark_synthetic_create(&desc, &s->synthetic, s->error);
}

/* The live objects, by the marker in C. */
static int find_live(mark_state *s) {
    size_t words = ((size_t)s->graph.nodes + 31) / 32;
    s->live = malloc(words * sizeof *s->live);
    s->again = malloc(words * sizeof *s->again);
    if (!s->live || !s->again) return bench_error_set(s->error, "host memory ran out for marks");
    double start = bench_now_us();
    s->live_count = mark_graph_mark(&s->graph, s->live);
    if (s->live_count == UINT32_MAX) {
        return bench_error_set(s->error, "host memory ran out for marks");
    }
    bench_sample(s->results, "c_ms", "ms", (bench_now_us() - start) * 1e-3);
    for (uint32_t i = s->graph.own; i < s->graph.nodes; i++)
        s->live_parts += (uint32_t)mark_is_live(s->live, i);
    bench_sample(s->results, "live", "objects", s->live_count);
    bench_sample(s->results, "garbage", "objects", s->graph.own - s->live_count);
    if (s->live_parts)
        bench_note(s->results, "%u live objects more are parts of wide ones", s->live_parts);
    return 0;
}

static int begin(mark_state *s, const mark_state *from, graph_maker *make, heap_maker *fill_heap) {
    *s = *from;
    s->report.size = sizeof s->report;
    s->by_threads = bench_is(s->values, "engine", "threads");
    if (make(s->values, &s->graph, s->error) || find_live(s) ||
        mark_shape_report(&s->graph, s->values, s->results))
        return -1;
    if (s->by_threads) return 0;
    s->tuning = get_tuning(s->values);
    s->desc = get_desc(s->values, &s->tuning);
    return fill_heap(s);
}

static int run_round(void *self, uint32_t number, int is_measured) {
    mark_state *s = self;
    (void)number;
    return s->by_threads ? thread_round(s, is_measured) : mark_round(s, is_measured);
}

static int finish(void *self) {
    mark_state *s = self;
    if (!s->by_threads && (report_bounds(s) || report_levels(s) || collect_and_verify(s)))
        return -1;
    bench_check(s->results, 1, "%u of %u nodes live, each as a sequential marker in C has it",
                s->live_count, s->graph.own);
    return 0;
}

static void end(void *self) {
    mark_state *s = self;
    mark_heap_destroy(s->heap);
    mark_synthetic_destroy(s->synthetic);
    mark_graph_release(&s->graph);
    free(s->live);
    free(s->again);
}

static int needs_device(const bench_values *values) {
    return !bench_is(values, "engine", "threads");
}

static uint32_t get(const bench_values *values, const char *key) {
    return (uint32_t)bench_int(values, key);
}

/* The descriptor `bench_mark_NAME`, of the graph that make_NAME() makes, in the heap of
 * `make_heap`. */
#define MARK_BENCHMARK_IN(make_heap, id, text, words)                                              \
    static int begin_##id(void *self, bench_env *env, const bench_values *values,                  \
                          bench_results *results) {                                                \
        const mark_state from = {                                                                  \
            .env = env, .results = results, .error = &results->error, .values = values};           \
        return begin(self, &from, make_##id, make_heap);                                           \
    }                                                                                              \
    const bench_descriptor bench_mark_##id = {.name = "mark-" text,                                \
                                              .sentence = words,                                   \
                                              .params = params_##id,                               \
                                              .repeat = 5,                                         \
                                              .needs_device = needs_device,                        \
                                              .bytes = sizeof(mark_state),                         \
                                              .warm_up = 1,                                        \
                                              .begin = begin_##id,                                 \
                                              .round = run_round,                                  \
                                              .finish = finish,                                    \
                                              .end = end}

#define MARK_BENCHMARK(id, text, words) MARK_BENCHMARK_IN(make_heap, id, text, words)

static int make_graph(const bench_values *values, mark_graph *graph, bench_error *error) {
    const char *path = bench_text(values, "file");
    if (*path) return mark_graph_read(path, graph, error);
    return mark_graph_random(20000, 3, 2.2, 8, get(values, "seed"), graph, error);
}
static const bench_param params_graph[] = {
    {"file", BENCH_STRING, "", "HGRAPH1, gzip or plain; none: a small random graph", 0, 0, NULL},
    MARK_PARAMS};
MARK_BENCHMARK(graph, "graph", "Marking the graph of a real heap, read from a file");

static int make_random(const bench_values *values, mark_graph *graph, bench_error *error) {
    return mark_graph_random(get(values, "objects"), get(values, "refs"),
                             bench_float(values, "power"), get(values, "roots"),
                             get(values, "seed"), graph, error);
}
static const bench_param params_random[] = {
    {"objects", BENCH_INT, "1048576", "nodes", 1, 1u << 30, NULL},
    {"refs", BENCH_INT, "2", "references of a node", 0, 1024, NULL},
    {"power", BENCH_FLOAT, "0", "of the law of their number, above 1; 0: all have `refs`", 0, 10,
     NULL},
    {"roots", BENCH_INT, "1024", "random roots", 0, 1u << 30, NULL},
    MARK_PARAMS};
MARK_BENCHMARK(random, "random", "Marking a random graph");

static int make_list(const bench_values *values, mark_graph *graph, bench_error *error) {
    return mark_graph_lists(1, get(values, "length"), 1, graph, error);
}
static const bench_param params_list[] = {
    {"length", BENCH_INT, "10000", "of the list", 1, 1u << 30, NULL}, MARK_PARAMS};
MARK_BENCHMARK(list, "list", "Marking a long linked list (ISMM 2012, Table 1)");

static int make_lists(const bench_values *values, mark_graph *graph, bench_error *error) {
    uint32_t lists = get(values, "lists"), length = get(values, "length");
    if ((uint64_t)lists * length > UINT32_C(1) << 30)
        return bench_error_set(error, "%u lists of %u are more than 2^30 nodes", lists, length);
    return mark_graph_lists(lists, length, lists, graph, error);
}
static const bench_param params_lists[] = {
    {"lists", BENCH_INT, "256", "side by side", 1, 1u << 20, NULL},
    {"length", BENCH_INT, "10000", "of each; 3000 for 2560 lists in the paper", 1, 1u << 30, NULL},
    MARK_PARAMS};
MARK_BENCHMARK(lists, "lists", "Marking parallel linked lists (ISMM 2012, Table 1)");

static int make_hourglass(const bench_values *values, mark_graph *graph, bench_error *error) {
    return mark_graph_hourglass(get(values, "length"), get(values, "objects"), graph, error);
}
static const bench_param params_hourglass[] = {
    {"length", BENCH_INT, "10000", "of both lists", 1, 1u << 26, NULL},
    {"objects", BENCH_INT, "1000000", "of the tree between them", 1, 1u << 29, NULL},
    MARK_PARAMS};
MARK_BENCHMARK(hourglass, "hourglass",
               "Marking a list, a tree and a list: handing over to the host and back");

static int make_wide(const bench_values *values, mark_graph *graph, bench_error *error) {
    uint32_t objects = get(values, "objects"), width = get(values, "width");
    if (((uint64_t)width + 1) * objects > UINT32_C(1) << 30)
        return bench_error_set(error, "%u objects of %u references are more than 2^30 nodes",
                               objects, width);
    return mark_graph_wide(objects, width, graph, error);
}
static const bench_param params_wide[] = {
    {"width", BENCH_INT, "1000", "references of the object", 1, 1u << 20, NULL},
    {"objects", BENCH_INT, "1", "such objects, each of which leads to the next", 1, 1u << 20, NULL},
    MARK_PARAMS};
MARK_BENCHMARK(wide, "wide", "Marking a very wide object (ISMM 2012, Table 1)");

static int make_single(const bench_values *values, mark_graph *graph, bench_error *error) {
    (void)values;
    return mark_graph_lists(1, 1, 1, graph, error);
}
static const bench_param params_single[] = {MARK_PARAMS};
MARK_BENCHMARK(single, "single", "Marking a single item: what a collection costs at least");

static int make_vp_list(const bench_values *values, mark_graph *graph, bench_error *error) {
    return mark_graph_lists(16, get(values, "length"), 1, graph, error);
}
static const bench_param params_vp_list[] = {
    {"length", BENCH_INT, "8192", "of each of 16 lists, of which one is live", 1, 1u << 26, NULL},
    MARK_PARAMS};
MARK_BENCHMARK(vp_list, "vp-list", "Marking the linked list of Veldema and Philippsen");

static int make_vp_arrays(const bench_values *values, mark_graph *graph, bench_error *error) {
    uint32_t arrays = get(values, "arrays");
    return mark_graph_arrays(arrays, 1024, arrays < 64 ? arrays : 64, graph, error);
}
static const bench_param params_vp_arrays[] = {
    {"arrays", BENCH_INT, "1024", "of 1024 objects each, of which 64 are live", 1, 1u << 18, NULL},
    MARK_PARAMS};
MARK_BENCHMARK(vp_arrays, "vp-arrays", "Marking the arrays of objects of Veldema and Philippsen");

static int make_synthetic(const bench_values *values, mark_graph *graph, bench_error *error) {
    return mark_graph_synthetic(get(values, "objects"), bench_float(values, "dead"),
                                bench_float(values, "held"), get(values, "seed"), graph, error);
}
static const bench_param params_synthetic[] = {
    {"objects", BENCH_INT, "1048576", "objects of each of the two classes", 1, 1u << 29, NULL},
    {"dead", BENCH_FLOAT, "60", "percent of one class that were freed at random", 0, 100, NULL},
    {"held", BENCH_FLOAT, "10", "percent of the others of that class that are roots", 0, 100, NULL},
    MARK_PARAMS};
MARK_BENCHMARK_IN(make_synthetic_heap, synthetic, "synthetic",
                  "Marking the heap that compact-synthetic compacts (ISMM 2019, section 4)");
