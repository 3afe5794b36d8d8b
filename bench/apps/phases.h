/* Times of the phases of a step, from the events of their commands. Read first: bench.h. */
#ifndef BENCH_PHASES_H
#define BENCH_PHASES_H

#include "bench/harness/bench.h"

#define BENCH_PHASES_STEPS 10 /* at most, after the measured ones, with an event per phase */
#define BENCH_PHASES_MAX 32

/* Make up to BENCH_PHASES_STEPS steps, as many as a second or two allow, with `step`, which fills
 * in an event for each of its `count` phases; wait for them, and report phase_NAME_us. A phase
 * lasts from the end of the one before to its own end, so the list of objects that a do-all needs
 * counts for it, and compactions must not run. */
int bench_phases_run(void *world, int (*step)(void *world, cl_event *events, bench_error *error),
                     const char *const *names, unsigned count, bench_results *results,
                     bench_error *error);

#endif
