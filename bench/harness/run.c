/* One run of a benchmark: measured, checked, shown and kept.
 *
 * Read first: bench.h.
 */
#include <math.h>
#include <stdio.h>

#include "bench.h"
#include "memory.h"

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
    if (benchmark->run(env, values, results)) {
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
