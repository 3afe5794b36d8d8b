/* The steps of an application: made, measured, shown on the progress bar, sampled and drawn.
 *
 * The clock runs while steps are made and waited for, and stands still while samples and pictures
 * are taken. Between two stops (progress, samples, frames) steps are only enqueued. So outputs cost
 * the measured time nothing but the waits at their stops.
 *
 * Read first: bench.h. Read next: outputs.h.
 */
#ifndef BENCH_STEPS_H
#define BENCH_STEPS_H

#include "outputs.h"
#include "world.h"

/* Calls return 0, or -1 with the reason in `error`. */
typedef struct bench_steps {
    const char *label; /* of the progress bar */
    uint32_t steps;
    void *world;                                    /* what the calls are given */
    int (*step)(void *world, bench_error *error);   /* enqueue one, and compact if it is time */
    int (*finish)(void *world, bench_error *error); /* wait; NULL: nothing to wait for */
    /* Add what there is after a step to the tally; NULL: is not asked. The clock
     * stands still meanwhile. */
    void (*count)(void *world, bench_tally *tally);
    bench_tally *tally;
    /* The rest is for outputs. `outputs` NULL: none. */
    clump_heap *heap; /* sampled; NULL: none */
    int (*sample)(void *world, double *values,
                  bench_error *error);                          /* own columns, as many as named */
    int (*draw)(void *world, uint8_t *rgb, bench_error *error); /* the pixels, row by row */
    const bench_outputs *outputs;
    bench_series *series; /* where samples go: a new series. NULL: nowhere */
    int is_quiet;         /* no pictures: a reference, or a run only for comparison */
} bench_steps;

/* Make all steps, of which *us_per_step is the mean. Devices compile kernels when they first run
 * them: make a step of another world before. */
int bench_steps_run(const bench_env *env, const bench_steps *steps, double *us_per_step,
                    bench_error *error);

#endif
