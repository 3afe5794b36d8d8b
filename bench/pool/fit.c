/* The benchmark pool-fit (Eichinger's thesis 5.2): the same random sequences with every strategy.
 *
 * A sequence is rounds of allocations with a few frees between them. For each strategy: time of an
 * allocation and of a free, fragmentation f (5.1) and chunks at the end, means over all sequences.
 * The sequences are the same for all strategies; chunks are not written to.
 *
 * Read first: bench.h, trace.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/harness/bench.h"
#include "bench/harness/plot.h"
#include "bench/harness/registry.h"
#include "pool_bench.h"
#include "trace.h"

#define LIVE_MAX 4096u

typedef struct fit_bench {
    bench_env *env;
    const bench_values *values;
    bench_error *error;
    clump_allocation live[LIVE_MAX];
    bench_results *results;
    uint32_t sequences;
} fit_bench;

typedef struct fit_sums {
    double alloc_us, free_us, fragmentation, chunks;
    uint64_t allocs, frees, used;
} fit_sums;

static int run_sequence(fit_bench *b, clump_fit fit, uint32_t sequence, fit_sums *sums) {
    const bench_values *v = b->values;
    clump_pool_desc desc = {.size = sizeof desc,
                            .context = b->env->clump,
                            .chunk_bytes = (uint64_t)bench_int(v, "chunk_kb") << 10,
                            .unique_share = 1,
                            .fit = fit,
                            .flags = CLUMP_POOL_UNTOUCHED};
    uint64_t least = (uint64_t)bench_int(v, "least_kb") << 10;
    uint64_t most = (uint64_t)bench_int(v, "most_kb") << 10;
    uint32_t rounds = (uint32_t)bench_int(v, "rounds"), each = (uint32_t)bench_int(v, "each");
    uint32_t frees = (uint32_t)bench_int(v, "frees");
    uint32_t seed = b->env->seed + sequence, n = 0, count = 0;
    clump_pool *pool;
    clump_error words;
    if (clump_pool_create(&desc, &pool, &words))
        return bench_error_set(b->error, "a pool: %.400s", words.message);
    int failed = 0;
    for (uint32_t round = 0; !failed && round < rounds; round++) {
        double start = bench_now_us();
        for (uint32_t i = 0; i < each && count < LIVE_MAX; i++, sums->allocs++) {
            double share = pool_random_share(seed, &n);
            clump_allocation_desc a = {.size = sizeof a,
                                       .bytes = least + (uint64_t)((double)(most - least) * share)};
            failed |= clump_pool_alloc(pool, &a, &b->live[count++], NULL) != CLUMP_OK;
        }
        double middle = bench_now_us();
        sums->alloc_us += middle - start;
        for (uint32_t i = 0; round + 1 < rounds && i < frees && count; i++, sums->frees++) {
            uint32_t k = pool_random(seed, &n) % count;
            failed |= clump_pool_free(pool, b->live[k]) != CLUMP_OK;
            b->live[k] = b->live[--count];
        }
        sums->free_us += bench_now_us() - middle;
    }
    clump_pool_details details = {.size = sizeof details};
    clump_pool_stats stats = {.size = sizeof stats};
    if (failed || clump_pool_check(pool) || clump_pool_get_stats(pool, NULL, &details) ||
        clump_pool_get_stats(pool, &stats, NULL)) {
        pool_bench_fail(b->error, "a sequence", pool);
        failed = 1;
    } else {
        sums->fragmentation += details.fragmentation;
        sums->chunks += stats.chunks;
        sums->used += stats.requested_bytes;
    }
    clump_pool_destroy(pool);
    return failed ? -1 : 0;
}

static const char *const names[CLUMP_FIT_COUNT] = {"good", "first", "best", "worst"};

static int draw(const bench_results *results, const char *path, bench_error *error) {
    double medians[CLUMP_FIT_COUNT];
    for (size_t fit = 0; fit < CLUMP_FIT_COUNT; fit++) {
        char name[64];
        snprintf(name, sizeof name, "%s_fragmentation", names[fit]);
        for (size_t i = 0; i < results->metric_count; i++)
            if (!strcmp(results->metrics[i].name, name))
                medians[fit] = bench_metric_median(&results->metrics[i]);
    }
    bench_plot plot = {.title = "fragmentation at the end of random sequences",
                       .x_label = "fit",
                       .y_label = "f",
                       .labels = names,
                       .points = CLUMP_FIT_COUNT,
                       .series = {{NULL, "#1f78b4", BENCH_PLOT_BAR, medians}},
                       .series_count = 1};
    return bench_plot_write(&plot, path, error);
}

static int begin(void *self, bench_env *env, const bench_values *values, bench_results *results) {
    fit_bench *b = self;
    b->env = env;
    b->values = values;
    b->results = results;
    b->error = &results->error;
    b->sequences = (uint32_t)bench_int(values, "sequences");
    return 0;
}

static int run_round(void *self, uint32_t number, int is_measured) {
    fit_bench *b = self;
    bench_results *results = b->results;
    uint64_t used = 0;
    (void)is_measured;
    for (int fit = 0; fit < CLUMP_FIT_COUNT; fit++) {
        fit_sums sums = {0};
        for (uint32_t i = 0; i < b->sequences; i++)
            if (run_sequence(b, (clump_fit)fit, number * b->sequences + i, &sums)) return -1;
        char name[64];
#define SAMPLE(metric, unit, value)                                                                \
    (snprintf(name, sizeof name, "%s_" metric, names[fit]),                                        \
     bench_sample(results, name, unit, (value)))
        SAMPLE("alloc_ns", "ns", 1e3 * sums.alloc_us / (double)sums.allocs);
        SAMPLE("free_ns", "ns", 1e3 * sums.free_us / (double)sums.frees);
        SAMPLE("fragmentation", "share", sums.fragmentation / b->sequences);
        SAMPLE("chunks", "chunks", sums.chunks / b->sequences);
#undef SAMPLE
        if (fit == 0) used = sums.used;
        if (sums.used != used)
            bench_check(results, 0, "with %s fit other bytes are live than with good fit",
                        names[fit]);
    }
    return 0;
}

static int finish(void *self) {
    fit_bench *b = self;
    const char *path = bench_text(b->values, "plot");
    bench_error error;
    bench_check(b->results, 1, "%u sequences, the same for each strategy; all pools consistent",
                b->sequences);
    if (*path && draw(b->results, path, &error)) bench_note(b->results, "%.400s", error.text);
    return 0;
}

static void end(void *self) {
    (void)self;
}

static const bench_param params[] = {
    {"sequences", BENCH_INT, "200", "of a round of measuring", 1, 1e6, NULL},
    {"rounds", BENCH_INT, "20", "of allocations in a sequence", 1, 1000, NULL},
    {"each", BENCH_INT, "20", "allocations of a round", 1, 1000, NULL},
    {"frees", BENCH_INT, "10", "between rounds", 0, 1000, NULL},
    {"least_kb", BENCH_INT, "256", "smallest size in KiB; all are as likely", 1, 1 << 20, NULL},
    {"most_kb", BENCH_INT, "16384", "largest size in KiB", 1, 1 << 24, NULL},
    {"chunk_kb", BENCH_INT, "65536", "size of a chunk in KiB", 1, 1 << 24, NULL},
    {"plot", BENCH_STRING, "", "SVG or PNG of the fragmentation", 0, 0, NULL},
    {NULL, BENCH_INT, NULL, NULL, 0, 0, NULL}};

const bench_descriptor bench_pool_fit = {
    .name = "pool-fit",
    .sentence =
        "Fit strategies of a pool over the same random sequences: time, fragmentation, chunks",
    .params = params,
    .repeat = 3,
    .bytes = sizeof(fit_bench),
    .begin = begin,
    .round = run_round,
    .finish = finish,
    .end = end};
