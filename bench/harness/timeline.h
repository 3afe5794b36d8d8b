/* --timeline: one more round of a benchmark, after the measured ones, is recorded
 * (clump/timeline.h) and written to a file.
 *
 * Recording costs an event for each command, so that round is no figure: the samples that it adds
 * to the results are taken away again. Its check counts.
 *
 * Read first: bench.h, clump/timeline.h.
 */
#ifndef BENCH_TIMELINE_H
#define BENCH_TIMELINE_H

#include <stdio.h>

#include "bench.h"

typedef struct bench_timeline {
    const char *path;
    FILE *file;
    uint64_t entries, dropped; /* written, and too many to be recorded */
    int failure;               /* errno of the writing; 0: none */
} bench_timeline;

/* A sentence on why this benchmark cannot be recorded, with these values; or 0. */
int bench_timeline_refuse(const bench_descriptor *benchmark, int needs_device, bench_error *error);

/* CONSTRUCTOR. Opens the file, before anything is measured. */
int bench_timeline_open(bench_timeline *timeline, const char *path, bench_error *error);
/* DESTRUCTOR. Also of one that is all zero, or that could not be opened. */
void bench_timeline_close(bench_timeline *timeline);

/* Make round `number` of `self`, and write it to the file; a note in the results says so. */
int bench_timeline_round(bench_timeline *timeline, const bench_env *env,
                         const bench_descriptor *benchmark, void *self, uint32_t number,
                         bench_results *results);

#endif
