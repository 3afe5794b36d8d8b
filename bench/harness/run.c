/* One run of a benchmark: measured, checked, shown and kept.
 *
 * Read first: bench.h.
 */
#include <stdio.h>

#include "bench.h"
#include "memory.h"

int bench_run(bench_env *env, const bench_descriptor *benchmark, const bench_values *values,
              bench_report *report, bench_results *results) {
    bench_results_init(results);
    bench_memory_restart();
    if (benchmark->run(env, values, results)) {
        bench_check(results, 0, "the run stopped: %.400s", results->error.text);
        fprintf(stderr, "clump-bench: %s: %s\n", benchmark->name, results->error.text);
    } else if (!results->is_checked) {
        bench_check(results, 0, "the benchmark checked nothing");
    }
    if (bench_memory_peak()) {
        bench_sample(results, "buffer_bytes", "B", (double)bench_memory_peak());
    }
    bench_report_print(env, benchmark, values, results);
    bench_report_add(report, benchmark, values, results);
    return !results->is_ok;
}
