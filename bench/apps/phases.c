/* Times of phases. See phases.h. */
#include "phases.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>

#define BUDGET_US 1e6 /* for all steps but the first */

static void report(const char *const *names, unsigned count, const bench_span *spans,
                   unsigned steps, bench_results *results) {
    for (unsigned i = 0; i < steps * count; i++) {
        char name[64];
        uint64_t begin = i > 0 ? spans[i - 1].end_ns : spans[i].start_ns;
        double us = spans[i].end_ns > begin ? (double)(spans[i].end_ns - begin) * 1e-3 : 0;
        snprintf(name, sizeof name, "phase_%s_us", names[i % count]);
        bench_sample(results, name, "us", us);
    }
}

/* Steps that are enqueued one after the other. */
static int run_batch(void *world, int (*step)(void *world, cl_event *events, bench_error *error),
                     const char *const *names, unsigned count, unsigned steps,
                     bench_results *results, bench_error *error) {
    cl_event events[BENCH_PHASES_STEPS * BENCH_PHASES_MAX] = {NULL};
    bench_span spans[BENCH_PHASES_STEPS * BENCH_PHASES_MAX] = {{0}};
    int result = 0;
    for (unsigned i = 0; result == 0 && i < steps; i++) {
        result = step(world, events + (size_t)i * count, error);
    }
    for (unsigned i = 0; i < steps * count; i++) {
        if (events[i] && bench_event_take(events[i], &spans[i], error)) {
            result = -1;
        }
    }
    if (result == 0) {
        report(names, count, spans, steps, results);
    }
    return result;
}

int bench_phases_run(void *world, int (*step)(void *world, cl_event *events, bench_error *error),
                     const char *const *names, unsigned count, bench_results *results,
                     bench_error *error) {
    double start_us = bench_now_us();
    assert(count <= BENCH_PHASES_MAX);
    if (run_batch(world, step, names, count, 1, results, error)) {
        return -1;
    }
    double more = fmin(BENCH_PHASES_STEPS - 1, BUDGET_US / (bench_now_us() - start_us));
    return run_batch(world, step, names, count, (unsigned)more, results, error);
}
