/* Times of phases. See phases.h. */
#include "phases.h"

#include <assert.h>
#include <stdio.h>

static void report(const char *const *names, unsigned count, const bench_span *spans,
                   bench_results *results) {
    for (unsigned i = 0; i < BENCH_PHASES_STEPS * count; i++) {
        char name[64];
        uint64_t begin = i > 0 ? spans[i - 1].end_ns : spans[i].start_ns;
        double us = spans[i].end_ns > begin ? (double)(spans[i].end_ns - begin) * 1e-3 : 0;
        snprintf(name, sizeof name, "phase_%s_us", names[i % count]);
        bench_sample(results, name, "us", us);
    }
}

int bench_phases_run(void *world, int (*step)(void *world, cl_event *events, bench_error *error),
                     const char *const *names, unsigned count, bench_results *results,
                     bench_error *error) {
    cl_event events[BENCH_PHASES_STEPS * BENCH_PHASES_MAX] = {NULL};
    bench_span spans[BENCH_PHASES_STEPS * BENCH_PHASES_MAX];
    int result = 0;
    assert(count <= BENCH_PHASES_MAX);
    for (unsigned i = 0; result == 0 && i < BENCH_PHASES_STEPS; i++) {
        result = step(world, events + i * count, error);
    }
    for (unsigned i = 0; i < BENCH_PHASES_STEPS * count; i++) {
        if (events[i] && bench_event_take(events[i], &spans[i], error)) {
            result = -1;
        }
    }
    if (result == 0) {
        report(names, count, spans, results);
    }
    return result;
}
