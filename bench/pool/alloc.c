/* The benchmark pool-alloc (Eichinger's thesis 5.1): one allocation and its free, or many before
 * any is freed, out of chunks and with a buffer each, over sizes.
 *
 * Metrics are named by what gives the memory and the size: chunk_128K_alloc_ns,
 * unique_64M_free_ns. The buffers are not written to, unless touch=1: OpenCL may put their cost
 * off until then.
 *
 * Read first: bench.h.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/harness/bench.h"
#include "bench/harness/plot.h"
#include "bench/harness/registry.h"
#include "pool_bench.h"

#define COUNT_MAX 4096
#define SIZES_MAX 16

typedef struct alloc_bench {
    bench_env *env;
    bench_results *results;
    const bench_values *values;
    clump_allocation handles[COUNT_MAX];
    uint32_t count;
    clump_pool *pool;
    size_t size_count;
    double sizes[SIZES_MAX], times[4][SIZES_MAX]; /* chunk alloc, free, unique alloc, free */
} alloc_bench;

static int run_pass(alloc_bench *b, clump_pool *pool, const clump_allocation_desc *desc,
                    double *alloc_ns, double *free_ns) {
    double start = bench_now_us();
    for (uint32_t i = 0; i < b->count; i++)
        if (clump_pool_alloc(pool, desc, &b->handles[i], NULL))
            return pool_bench_fail(&b->results->error, "an allocation", pool);
    double middle = bench_now_us();
    for (uint32_t i = 0; i < b->count; i++)
        if (clump_pool_free(pool, b->handles[i]))
            return pool_bench_fail(&b->results->error, "a free", pool);
    *alloc_ns = 1e3 * (middle - start) / b->count;
    *free_ns = 1e3 * (bench_now_us() - middle) / b->count;
    return 0;
}

/* All passes of one size. Passes are short, so each of many is a sample. */
static int run_size(alloc_bench *b, clump_pool *pool, uint64_t bytes, int is_unique, size_t size) {
    clump_allocation_desc desc = {.size = sizeof desc, .bytes = bytes, .unique = is_unique};
    char name[2][64], unit = bytes < 1u << 20 ? 'K' : 'M';
    unsigned number = (unsigned)(bytes >> (unit == 'K' ? 10 : 20));
    const char *from = is_unique ? "unique" : "chunk";
    snprintf(name[0], sizeof name[0], "%s_%u%c_alloc_ns", from, number, unit);
    snprintf(name[1], sizeof name[1], "%s_%u%c_free_ns", from, number, unit);
    uint32_t passes = is_unique ? 3 : 20;
    for (uint32_t pass = 0; pass <= passes * b->env->repeat; pass++) {
        double ns[2];
        if (run_pass(b, pool, &desc, &ns[0], &ns[1])) return -1;
        for (int i = 0; pass > 0 && i < 2; i++) bench_sample(b->results, name[i], "ns", ns[i]);
    }
    for (int i = 0; i < 2; i++) {
        const bench_metric *metric = &b->results->metrics[b->results->metric_count - 2 + (size_t)i];
        b->times[2 * is_unique + i][size] = bench_metric_median(metric) * 1e-3;
    }
    clump_pool_stats stats = {.size = sizeof stats};
    clump_pool_get_stats(pool, &stats, NULL);
    if (stats.used_bytes || stats.unique || stats.chunks > 1)
        bench_check(b->results, 0, "%llu bytes in %u chunks are left after all was freed",
                    (unsigned long long)stats.used_bytes, stats.chunks);
    if (clump_pool_check(pool)) return pool_bench_fail(&b->results->error, "the check", pool);
    return 0;
}

static int draw(const alloc_bench *b, size_t sizes, const char *path, bench_error *error) {
    static const char *const labels[] = {"chunk, allocate", "chunk, free", "unique, allocate",
                                         "unique, free"};
    static const char *const colors[] = {"#3f6fb0", "#80a8d8", "#b04030", "#e08878"};
    bench_plot plot = {.title = "time of one allocation",
                       .x_label = "log2 of bytes",
                       .y_label = "us",
                       .x = b->sizes,
                       .points = sizes,
                       .is_log_y = 1,
                       .series_count = 4};
    for (int i = 0; i < 4; i++)
        plot.series[i] = (bench_plot_series){labels[i], colors[i], BENCH_PLOT_LINE, b->times[i]};
    return bench_plot_write(&plot, path, error);
}

static int begin(void *self, bench_env *env, const bench_values *values, bench_results *results) {
    alloc_bench *b = self;
    b->env = env;
    b->results = results;
    b->values = values;
    b->count = (uint32_t)bench_int(values, "count");
    clump_pool_desc desc = {.size = sizeof desc,
                            .context = env->clump,
                            .chunk_bytes = (uint64_t)bench_int(values, "chunk_kb") << 10,
                            .unique_share = 1,
                            .fit = pool_bench_fit(values),
                            .flags = bench_is(values, "touch", "1") ? 0 : CLUMP_POOL_UNTOUCHED};
    clump_error words;
    if ((uint64_t)bench_int(values, "most_kb") << 10 > desc.chunk_bytes)
        return bench_error_set(&results->error, "most_kb is above chunk_kb: no chunk can hold it");
    if (clump_pool_create(&desc, &b->pool, &words))
        return bench_error_set(&results->error, "a pool: %.400s", words.message);
    return 0;
}

/* All sizes, each with all its passes. */
static int run_round(void *self, uint32_t number, int is_measured) {
    alloc_bench *b = self;
    uint64_t bytes = (uint64_t)bench_int(b->values, "least_kb") << 10;
    uint64_t most = (uint64_t)bench_int(b->values, "most_kb") << 10;
    (void)number;
    (void)is_measured;
    for (; bytes <= most && b->size_count < SIZES_MAX; bytes *= 2, b->size_count++) {
        b->sizes[b->size_count] = log2((double)bytes);
        if (run_size(b, b->pool, bytes, 0, b->size_count) ||
            run_size(b, b->pool, bytes, 1, b->size_count))
            return -1;
    }
    return 0;
}

static int finish(void *self) {
    alloc_bench *b = self;
    const char *path = bench_text(b->values, "plot");
    bench_error error;
    bench_check(b->results, 1, "%zu sizes, %u at a time: all freed again, the pool is consistent",
                b->size_count, b->count);
    if (*path && draw(b, b->size_count, path, &error)) bench_note(b->results, "%.400s", error.text);
    return 0;
}

static void end(void *self) {
    clump_pool_destroy(((alloc_bench *)self)->pool);
}

static const bench_param params[] = {
    {"count", BENCH_INT, "1", "allocations before the first is freed", 1, COUNT_MAX, NULL},
    {"least_kb", BENCH_INT, "128", "smallest size in KiB; it doubles", 1, 1 << 20, NULL},
    {"most_kb", BENCH_INT, "65536", "largest size in KiB", 1, 1 << 24, NULL},
    {"strategy", BENCH_ENUM, "good", "of chunks", 0, 0, "good|first|best|worst"},
    {"chunk_kb", BENCH_INT, "65536", "size of a chunk in KiB", 1, 1 << 24, NULL},
    {"touch", BENCH_ENUM, "0", "write to new buffers, so that they exist", 0, 0, "0|1"},
    {"plot", BENCH_STRING, "", "SVG or PNG of all sizes", 0, 0, NULL},
    {NULL, BENCH_INT, NULL, NULL, 0, 0, NULL}};

const bench_descriptor bench_pool_alloc = {
    .name = "pool-alloc",
    .sentence = "Time of allocations of a pool out of chunks and with a buffer each, over sizes",
    .params = params,
    .repeat = 5,
    .bytes = sizeof(alloc_bench),
    .is_single = 1,
    .begin = begin,
    .round = run_round,
    .finish = finish,
    .end = end};
