/* One run of a benchmark: measured, checked, shown and kept.
 *
 * Read first: bench.h.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench.h"
#include "memory.h"
#include "timeline.h"

/* `timeline` NULL: none is asked for. */
static int run_rounds(void *self, const bench_env *env, const bench_descriptor *benchmark,
                      const bench_values *values, bench_timeline *timeline,
                      bench_results *results) {
    uint32_t warm_up = benchmark->warm_up, rounds = benchmark->is_single ? 1 : env->repeat;
    bench_progress progress;
    int result = 0;
    if (benchmark->warm_up_key) warm_up = bench_u32(values, benchmark->warm_up_key);
    if (benchmark->rounds_key) rounds = bench_u32(values, benchmark->rounds_key);
    int has_bar = !benchmark->has_progress;
    const uint32_t all = warm_up + rounds + (timeline != NULL);
    if (has_bar) bench_progress_begin(&progress, env, benchmark->name, all);
    for (uint32_t i = 0; result == 0 && i < all; i++) {
        result = i < warm_up + rounds
                     ? benchmark->round(self, i, i >= warm_up)
                     : bench_timeline_round(timeline, env, benchmark, self, i, results);
        if (has_bar) bench_progress_update(&progress, i + 1);
    }
    if (has_bar) bench_progress_end(&progress);
    return result;
}

static int measure(bench_env *env, const bench_descriptor *benchmark, const bench_values *values,
                   bench_timeline *timeline, bench_results *results) {
    void *self = calloc(1, benchmark->bytes);
    if (!self) return bench_error_set(&results->error, "host memory ran out");
    int result = benchmark->begin(self, env, values, results) ||
                         run_rounds(self, env, benchmark, values, timeline, results) ||
                         (benchmark->finish && benchmark->finish(self))
                     ? -1
                     : 0;
    benchmark->end(self);
    free(self);
    return result;
}

int bench_measure(bench_env *env, const bench_descriptor *benchmark, const bench_values *values,
                  bench_results *results) {
    return measure(env, benchmark, values, NULL, results);
}

static int measure_with_timeline(bench_env *env, const bench_descriptor *benchmark,
                                 const bench_values *values, const char *path,
                                 bench_results *results) {
    bench_timeline timeline;
    int result = bench_timeline_open(&timeline, path, &results->error) ||
                         measure(env, benchmark, values, &timeline, results)
                     ? -1
                     : 0;
    bench_timeline_close(&timeline);
    return result;
}

/* The run has no other reference: what ends like the reference is checked by that. */
static void check_sum(const bench_request *request, bench_results *results) {
    const bench_metric *sum = bench_find_metric(results, "checksum");
    int is_equal = sum && fabs(bench_metric_median(sum) - request->checksum) < 0.5;
    if (results->verdict == BENCH_NOT_CHECKED && is_equal) results->verdict = BENCH_NO_VERDICT;
    bench_check(results, is_equal, "the checksum is %sthat of the sequential reference",
                is_equal ? "" : "not ");
}

int bench_run(bench_env *env, const bench_request *request, const bench_descriptor *benchmark,
              const bench_values *values, bench_report *report, bench_results *results) {
    bench_results_init(results);
    bench_machine_read(&results->machine);
    bench_memory_restart();
    if (request && request->timeline
            ? measure_with_timeline(env, benchmark, values, request->timeline, results)
            : bench_measure(env, benchmark, values, results)) {
        bench_check(results, 0, "the run stopped: %.400s", results->error.text);
        fprintf(stderr, "clump-bench: %s: %s\n", benchmark->name, results->error.text);
    } else if (results->verdict == BENCH_NO_VERDICT) {
        bench_check(results, 0, "the benchmark says nothing about a check");
    } else if (request && request->has_checksum) {
        check_sum(request, results);
    }
    if (bench_memory_peak()) {
        bench_sample(results, "buffer_bytes", "B", (double)bench_memory_peak());
    }
    bench_report_print(env, benchmark, values, results);
    bench_report_add(report, request, benchmark, values, results);
    return results->verdict == BENCH_FAILED;
}
