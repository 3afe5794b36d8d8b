/* The benchmarks survey-graph-init and survey-graph-update: the survey's tests of dynamic graphs,
 * on raw memory. The neighbours of each vertex are a list in memory of its own.
 *
 *     init_ms      each vertex asks for memory for its list and fills it
 *     free_ms      all lists go
 *     insert_ms, delete_ms
 *                  a batch of edges comes, or leaves: lists that need another page are moved by
 *                  clump_realloc(), empty ones are freed. range > 0: inserted edges begin at so
 *                  many neighbouring vertices, at others in each batch
 *     insert_rate, delete_rate   edges of these, each counted once though both of its vertices have
 *                                it
 *     c_..._ms     the same in one thread of C, by malloc() and realloc()
 *
 * Times are launches, with the launches before them that look for room. The host gives a batch
 * ordered by vertex, and there is no edge twice in it; the survey orders it, and looks for such
 * edges, on the device.
 *
 * The check: after each launch, the lists of all vertices are those of the C program; when all
 * lists are freed nothing is left.
 *
 * Read first: survey.h, graph.cl, bench/graph/batches.h.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "bench/graph/batches.h"
#include "bench/harness/bench.h"
#include "bench/harness/registry.h"
#include "bench/micro/rig.h"

enum { MAKE, FREE, INSERT, DELETE, READ, KERNEL_COUNT };

typedef struct graph_test {
    bench_rig rig;
    graph graph;
    graph_batches batches; /* none in survey-graph-init */
    graph_lists lists;     /* of the C program */
    uint32_t compared;
    uint32_t *begin, *lengths, *entries, *next, *to;
    cl_mem handles, all_lengths, offset, target, begin_at, all_to, all_entries, faults;
} graph_test;

static void sample_ms(graph_test *t, int is_measured, const char *metric, double us) {
    if (is_measured) bench_sample(t->rig.results, metric, "ms", us * 1e-3);
}

/* ---- The lists against C's ------------------------------------------------------------------- */

static int compare(graph_test *t, const char *after) {
    bench_rig *rig = &t->rig;
    const size_t n = t->graph.vertices;
    const uint32_t entries = graph_lists_offsets(&t->lists, t->begin);
    double us;
    if (bench_rig_write(rig, t->begin_at, (n + 1) * sizeof *t->begin, t->begin) ||
        bench_rig_launch(rig, READ, n, &us) ||
        bench_rig_read(rig, t->all_lengths, n * sizeof *t->lengths, t->lengths) ||
        bench_rig_read(rig, t->all_entries, entries * sizeof *t->entries, t->entries))
        return -1;
    uint32_t wrong = graph_lists_compare(&t->lists, t->begin, t->lengths, t->entries);
    bench_check(rig->results, wrong == 0, "after %s, %u vertices have other neighbours than in C",
                after, wrong);
    t->compared++;
    return 0;
}

/* ---- Batches --------------------------------------------------------------------------------- */

/* Both directions of each edge, ordered by the vertex that they begin at: where those of each
 * begin, and what they lead to. */
static int send_batch(graph_test *t, graph_step step) {
    const size_t n = t->graph.vertices;
    const uint32_t ends = 2 * t->batches.edges;
    memset(t->begin, 0, (n + 1) * sizeof *t->begin);
    for (uint32_t i = 0; i < ends; i++) t->begin[step.ends[i] + 1]++;
    for (size_t v = 0; v < n; v++) t->begin[v + 1] += t->begin[v];
    memcpy(t->next, t->begin, n * sizeof *t->next);
    for (uint32_t i = 0; i < ends; i++) t->to[t->next[step.ends[i]]++] = step.ends[i ^ 1];
    return bench_rig_write(&t->rig, t->begin_at, (n + 1) * sizeof *t->begin, t->begin) ||
           bench_rig_write(&t->rig, t->all_to, ends * sizeof *t->to, t->to);
}

static int update_lists(graph_test *t, graph_step step, double *us) {
    double begin = bench_now_us();
    int failed = step.is_deletion ? graph_lists_delete(&t->lists, step.ends, t->batches.edges)
                                  : graph_lists_insert(&t->lists, step.ends, t->batches.edges);
    *us = bench_now_us() - begin;
    return failed ? bench_error_set(t->rig.error, "no memory for lists, or an edge is not there")
                  : 0;
}

static int run_step(graph_test *t, graph_step step, int is_measured) {
    const double edges = t->batches.edges;
    double us, c_us;
    if (send_batch(t, step) ||
        bench_rig_launch(&t->rig, step.is_deletion ? DELETE : INSERT, t->graph.vertices, &us) ||
        update_lists(t, step, &c_us) ||
        compare(t, step.is_deletion ? "a deletion" : "an insertion"))
        return -1;
    sample_ms(t, is_measured, step.is_deletion ? "delete_ms" : "insert_ms", us);
    sample_ms(t, is_measured, step.is_deletion ? "c_delete_ms" : "c_insert_ms", c_us);
    if (is_measured)
        bench_sample(t->rig.results, step.is_deletion ? "delete_rate" : "insert_rate", "M/s",
                     edges / us);
    return 0;
}

/* ---- Rounds: a graph is made, its edges come and go, and it ends ----------------------------- */

static int make_c(graph_test *t, double *us) {
    double begin = bench_now_us();
    int failed = graph_lists_create(&t->graph, &t->lists, t->rig.error);
    *us = bench_now_us() - begin;
    return failed;
}

static void end_c(graph_test *t, double *us) {
    double begin = bench_now_us();
    graph_lists_release(&t->lists);
    *us = bench_now_us() - begin;
}

static int verify_empty(graph_test *t) {
    clump_heap_stats stats = {.size = sizeof stats};
    if (bench_rig_verify(&t->rig, 0) || bench_rig_stats(&t->rig, &stats)) return -1;
    bench_check(t->rig.results, stats.raw_bytes == 0 && stats.raw_blocks == 0,
                "%" PRIu64 " bytes in %" PRIu64 " blocks stay taken", stats.raw_bytes,
                stats.raw_blocks);
    return 0;
}

static int run_round(void *self, uint32_t number, int is_measured) {
    graph_test *t = self;
    const uint32_t n = t->graph.vertices;
    double make_us, free_us, c_make_us, c_free_us;
    (void)number;
    if (bench_rig_launch(&t->rig, MAKE, n, &make_us) || make_c(t, &c_make_us) ||
        compare(t, "the beginning"))
        return -1;
    for (uint32_t i = 0; i < 4 * t->batches.count; i++)
        if (run_step(t, graph_step_of(&t->batches, i), is_measured)) return -1;
    if (bench_rig_launch(&t->rig, FREE, n, &free_us)) return -1;
    end_c(t, &c_free_us);
    if (t->batches.count == 0) {
        sample_ms(t, is_measured, "init_ms", make_us);
        sample_ms(t, is_measured, "free_ms", free_us);
        sample_ms(t, is_measured, "c_init_ms", c_make_us);
        sample_ms(t, is_measured, "c_free_ms", c_free_us);
    }
    return verify_empty(t);
}

static int finish(void *self) {
    graph_test *t = self;
    cl_uint faults = 1;
    if (bench_rig_read(&t->rig, t->faults, sizeof faults, &faults)) return -1;
    bench_check(t->rig.results, faults == 0, "%u times no memory, or an edge that is not there",
                faults);
    bench_check(t->rig.results, 1,
                "%u vertices, %u edges: their lists were C's, %u times; all freed again",
                t->graph.vertices, t->graph.entries / 2, t->compared);
    return 0;
}

/* ---- Begin and end --------------------------------------------------------------------------- */

static int make_arrays(graph_test *t, size_t entries, size_t ends) {
    const size_t n = t->graph.vertices;
    t->begin = malloc((n + 1) * sizeof *t->begin);
    t->lengths = malloc(n * sizeof *t->lengths);
    t->next = malloc(n * sizeof *t->next);
    t->entries = malloc(entries * sizeof *t->entries);
    t->to = malloc((ends + 1) * sizeof *t->to);
    return t->begin && t->lengths && t->next && t->entries && t->to
               ? 0
               : bench_error_set(t->rig.error, "no memory for %zu edges", entries / 2);
}

static int make_buffers(graph_test *t, size_t entries, size_t ends) {
    bench_rig *rig = &t->rig;
    const size_t n = t->graph.vertices;
    const struct {
        cl_mem *buffer;
        size_t words;
    } buffers[] = {{&t->handles, n},
                   {&t->all_lengths, n},
                   {&t->offset, n + 1},
                   {&t->begin_at, n + 1},
                   {&t->faults, 1},
                   {&t->all_to, ends + 1},
                   {&t->all_entries, entries},
                   {&t->target, t->graph.entries}};
    for (size_t i = 0; i < sizeof buffers / sizeof buffers[0]; i++)
        if (bench_rig_buffer(rig, buffers[i].words * sizeof(cl_uint), buffers[i].buffer)) return -1;
    return bench_rig_write(rig, t->faults, sizeof(cl_uint), NULL) ||
           bench_rig_write(rig, t->offset, (n + 1) * sizeof(cl_uint), t->graph.offset) ||
           bench_rig_write(rig, t->target, t->graph.entries * sizeof(cl_uint), t->graph.target);
}

static int set_args(graph_test *t) {
    const cl_uint n = t->graph.vertices, has_pages = t->batches.count > 0;
    const struct {
        int kernel;
        uint32_t index;
        const void *value;
    } args[] = {
        {MAKE, 0, &t->handles},       {MAKE, 1, &t->all_lengths},   {MAKE, 2, &t->offset},
        {MAKE, 3, &t->target},        {MAKE, 6, &t->faults},        {FREE, 0, &t->handles},
        {INSERT, 0, &t->handles},     {INSERT, 1, &t->all_lengths}, {INSERT, 2, &t->begin_at},
        {INSERT, 3, &t->all_to},      {INSERT, 5, &t->faults},      {DELETE, 0, &t->handles},
        {DELETE, 1, &t->all_lengths}, {DELETE, 2, &t->begin_at},    {DELETE, 3, &t->all_to},
        {DELETE, 5, &t->faults},      {READ, 0, &t->handles},       {READ, 1, &t->all_lengths},
        {READ, 2, &t->begin_at},      {READ, 4, &t->all_entries}};
    for (size_t i = 0; i < sizeof args / sizeof args[0]; i++)
        if (bench_rig_arg(&t->rig, (size_t)args[i].kernel, args[i].index, sizeof(cl_mem),
                          args[i].value))
            return -1;
    return bench_rig_arg(&t->rig, MAKE, 4, sizeof n, &n) ||
           bench_rig_arg(&t->rig, MAKE, 5, sizeof has_pages, &has_pages) ||
           bench_rig_arg(&t->rig, FREE, 1, sizeof n, &n) ||
           bench_rig_arg(&t->rig, INSERT, 4, sizeof n, &n) ||
           bench_rig_arg(&t->rig, DELETE, 4, sizeof n, &n) ||
           bench_rig_arg(&t->rig, READ, 3, sizeof n, &n);
}

static int create(graph_test *t, bench_env *env, const bench_values *values,
                  bench_results *results) {
    static const char *const names[KERNEL_COUNT] = {"lists_make", "lists_free", "lists_insert",
                                                    "lists_delete", "lists_read"};
    const size_t ends = 2ul * t->batches.edges;
    const size_t entries = t->graph.entries + ends * t->batches.count;
    uint64_t heap_bytes = (uint64_t)bench_int(values, "heap_mb") << 20;
    if (heap_bytes == 0) /* a page has up to twice as much, and while a list moves there are two */
        heap_bytes = (uint64_t)entries * 20 + (uint64_t)t->graph.vertices * 40 + (64u << 20);
    bench_rig_desc desc = {
        .env = env,
        .results = results,
        .heap = {.bytes = heap_bytes, .raw = 1, .block_rows = bench_u32(values, "block_rows")},
        .files = {"bench/survey/graph.cl"},
        .tuning = bench_tuning_of(values),
        .kernels = names,
        .kernel_count = KERNEL_COUNT};
    return bench_rig_create(&t->rig, &desc) || make_arrays(t, entries, ends) ||
           make_buffers(t, entries, ends) || set_args(t);
}

static int begin_init(void *self, bench_env *env, const bench_values *values,
                      bench_results *results) {
    graph_test *t = self;
    return graph_create(values, env->seed, &t->graph, &results->error) ||
                   create(t, env, values, results)
               ? -1
               : 0;
}

static int begin_update(void *self, bench_env *env, const bench_values *values,
                        bench_results *results) {
    graph_test *t = self;
    return graph_create(values, env->seed, &t->graph, &results->error) ||
                   graph_batches_create(values, &t->graph, env->seed, &t->batches,
                                        &results->error) ||
                   create(t, env, values, results)
               ? -1
               : 0;
}

static void end(void *self) {
    graph_test *t = self;
    uint32_t *const arrays[] = {t->begin, t->lengths, t->next, t->entries, t->to};
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++) free(arrays[i]);
    graph_lists_release(&t->lists);
    graph_batches_release(&t->batches);
    graph_release(&t->graph);
    bench_rig_release(&t->rig);
}

static const bench_param params_init[] = {GRAPH_PARAMS("100000"),
                                          BENCH_RIG_HEAP_PARAMS,
                                          BENCH_TUNING_PARAMS,
                                          {NULL, BENCH_INT, NULL, NULL, 0, 0, NULL}};

const bench_descriptor bench_survey_graph_init = {
    .name = "survey-graph-init",
    .sentence = "A graph is made: each vertex asks for raw memory for the list of its neighbours",
    .params = params_init,
    .repeat = 10,
    .bytes = sizeof(graph_test),
    .warm_up = 2,
    .begin = begin_init,
    .round = run_round,
    .finish = finish,
    .end = end};

static const bench_param params_update[] = {GRAPH_PARAMS("100000"),
                                            GRAPH_BATCH_PARAMS("10000", "2", 1),
                                            BENCH_RIG_HEAP_PARAMS,
                                            BENCH_TUNING_PARAMS,
                                            {NULL, BENCH_INT, NULL, NULL, 0, 0, NULL}};

const bench_descriptor bench_survey_graph_update = {
    .name = "survey-graph-update",
    .sentence = "Edges come and go in batches: lists in raw memory that grow and shrink by pages",
    .params = params_update,
    .repeat = 5,
    .bytes = sizeof(graph_test),
    .warm_up = 1,
    .begin = begin_update,
    .round = run_round,
    .finish = finish,
    .end = end};
