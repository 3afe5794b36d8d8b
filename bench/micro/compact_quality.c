/* The benchmark compact-quality: fragmentation after compaction over the share of objects that
 * died, for merging with each factor and for the planner (ISMM 2019, Fig. 9).
 *
 * `csv` has a line for each share: dead, initial (F before), and F after each strategy, all in
 * percent. The metrics are the worst F of each strategy and the share at which it comes. Every
 * object is verified after every compaction.
 *
 * Read first: compact_strategies.h.
 */
#include <math.h>
#include <stdio.h>

#include "bench/harness/bench.h"
#include "bench/harness/registry.h"
#include "bench/harness/series.h"
#include "compact_strategies.h"

#define AFTER 2 /* the first column of a strategy */

typedef struct quality {
    bench_env *env;
    const bench_values *values;
    bench_results *results;
    bench_error *error;
    compact_heap *heap;
    bench_series series;
    uint32_t step;
} quality;

static int measure(quality *q, double dead) {
    double *row = bench_series_add_row(&q->series);
    if (!row) return bench_error_set(q->error, "host memory ran out");
    row[0] = dead;
    for (unsigned strategy = 0; strategy < COMPACT_STRATEGIES; strategy++) {
        bench_merge merge;
        const bench_merge *how = compact_strategy(strategy, &merge);
        double before, after;
        if (compact_heap_build(q->heap, dead, q->error) ||
            compact_find_fragmentation(q->heap, &before, q->error) ||
            compact_and_verify(q->heap, how, NULL, q->error) ||
            compact_find_fragmentation(q->heap, &after, q->error)) {
            return -1;
        }
        row[1] = 100 * before;
        row[AFTER + strategy] = 100 * after;
        /* With whole blocks to merge, what is left is at most n / (n + 1) full and fewer than n +
         * 1. */
        double slots = 64.0 * (compact_factors[strategy % COMPACT_FACTORS] + 1);
        double objects = (1 - dead / 100) * bench_u32(q->values, "objects");
        double bound = 1.0 / (compact_factors[strategy % COMPACT_FACTORS] + 1);
        if (strategy != COMPACT_PLANNER && after > bound + slots / fmax(objects, 1))
            bench_check(q->results, 0, "at %.0f%% dead F is %.4f after %s, the bound is %.4f", dead,
                        after, compact_strategy_names[strategy], bound);
    }
    return 0;
}

static void report(quality *q) {
    for (unsigned strategy = 0; strategy < COMPACT_STRATEGIES; strategy++) {
        double worst = -1, at = 0;
        for (size_t row = 0; row < q->series.rows; row++) {
            const double *values = q->series.values + row * q->series.columns;
            if (values[AFTER + strategy] > worst) {
                worst = values[AFTER + strategy];
                at = values[0];
            }
        }
        char name[64];
        snprintf(name, sizeof name, "%s_worst", compact_strategy_names[strategy]);
        bench_sample(q->results, name, "%", worst);
        snprintf(name, sizeof name, "%s_worst_at", compact_strategy_names[strategy]);
        bench_sample(q->results, name, "%", at);
    }
}

static int begin(void *self, bench_env *env, const bench_values *values, bench_results *results) {
    quality *q = self;
    *q = (quality){.env = env,
                   .values = values,
                   .results = results,
                   .error = &results->error,
                   .step = bench_u32(values, "step")};
    compact_heap_desc desc = {.env = env,
                              .objects = bench_u32(values, "objects"),
                              .seed = bench_u32(values, "seed"),
                              .block_rows = COMPACT_BLOCK_ROWS};
    bench_series_add_column(&q->series, "dead");
    bench_series_add_column(&q->series, "initial");
    for (unsigned i = 0; i < COMPACT_STRATEGIES; i++)
        bench_series_add_column(&q->series, "%s", compact_strategy_names[i]);
    return compact_heap_create(&desc, &q->heap, q->error);
}

static int run_round(void *self, uint32_t number, int is_measured) {
    quality *q = self;
    uint32_t rows = (100 + q->step - 1) / q->step + 1;
    bench_progress progress;
    int result = 0;
    (void)number;
    (void)is_measured;
    bench_progress_begin(&progress, q->env, "fragmentation", rows);
    for (uint32_t row = 0; result == 0 && row < rows; row++) {
        result = measure(q, fmin(100, row * q->step));
        bench_progress_update(&progress, row + 1);
    }
    bench_progress_end(&progress);
    return result;
}

static int finish(void *self) {
    quality *q = self;
    const char *path = bench_text(q->values, "csv");
    report(q);
    bench_check(q->results, 1, "after each of %zu compactions every object and every reference",
                q->series.rows * COMPACT_STRATEGIES);
    return *path ? bench_series_write_csv(&q->series, path, q->error) : 0;
}

static void end(void *self) {
    quality *q = self;
    compact_heap_destroy(q->heap);
    bench_series_release(&q->series);
}

static const bench_param params[] = {
    {"objects", BENCH_INT, "1048576", "objects of each of the two classes", 64, 1u << 28, NULL},
    {"step", BENCH_INT, "2", "of the share of dead objects, percent", 1, 50, NULL},
    {"seed", BENCH_INT, "42", "decides who points to whom and who dies", 0, UINT32_MAX, NULL},
    {"csv", BENCH_STRING, "", "file for F over the share of dead objects", 0, 0, NULL},
    {NULL, BENCH_INT, NULL, NULL, 0, 0, NULL}};

const bench_descriptor bench_compact_quality = {
    .name = "compact-quality",
    .sentence = "Fragmentation after compaction over the share that died (ISMM 2019, Fig. 9)",
    .params = params,
    .repeat = 1,
    .bytes = sizeof(quality),
    .is_single = 1,
    .has_progress = 1,
    .begin = begin,
    .round = run_round,
    .finish = finish,
    .end = end};
