/* What a run of an application leaves behind besides its metrics, on request: a picture of the
 * final state, a sequence of pictures, a table of its course, a memory profile (Springer's thesis
 * Fig. 6.12), dumps of its heap. The same parameters and the same code for all applications, which only draw and
 * count.
 *
 *     static const char *const columns[] = {"cars", NULL};                 // of its own
 *     static const bench_outputs_class classes[] = {{"Car", "#1f77b4"}, {"Cell", NULL}, {NULL,
 *     NULL}};
 *     static const bench_param params[] = {..., BENCH_OUTPUT_PARAMS, {NULL, ...}};
 *
 *     bench_outputs_desc desc = {.title = "Traffic", .columns = columns, .classes = classes,
 *                                .width = 512, .height = 512};             // of pictures
 *     bench_outputs outputs;
 *     if (bench_outputs_create(&desc, values, &outputs, error)) return -1; // before anything is
 *     run
 *     bench_steps steps = {.label = "traffic", .steps = 100, .world = world, .step = step,
 *                          .finish = finish, .heap = heap, .sample = count_cars, .draw = draw,
 *                          .outputs = &outputs, .series = &outputs.series};
 *     bench_steps_run(env, &steps, &us_per_step, error);                   // steps.h
 *     bench_outputs_write(&outputs, results, error);
 *     bench_outputs_release(&outputs);
 *
 * Read first: series.h. Read next: steps.h.
 */
#ifndef BENCH_OUTPUTS_H
#define BENCH_OUTPUTS_H

#include "bench/harness/bench.h"
#include "bench/harness/series.h"

/* Lines of a list of parameters. The application has the parameters `variant` and `steps` too. */
/* clang-format off */
#define BENCH_OUTPUT_PARAMS                                                                        \
    {"image", BENCH_STRING, "", "PNG file for the final state", 0, 0, NULL},                       \
    {"frames", BENCH_STRING, "", "folder for a sequence of PNG files", 0, 0, NULL},                \
    {"every", BENCH_INT, "0", "steps between two frames; 0: 100 frames", 0, 1e6, NULL},            \
    {"csv", BENCH_STRING, "", "file for the course of the run, a line for each sample", 0, 0,      \
     NULL},                                                                                        \
    {"profile", BENCH_STRING, "", "SVG or PNG file for objects and slots over the steps", 0, 0,    \
     NULL},                                                                                        \
    {"dumps", BENCH_STRING, "", "folder for dumps of the final heap while it is compacted", 0, 0,  \
     NULL},                                                                                        \
    {"sample", BENCH_INT, "0", "steps between two samples; 0: 250 samples if a file wants them",   \
     0, 1e6, NULL}
/* clang-format on */

#define BENCH_OUTPUTS_CLASSES_MAX 16

/* A class of the heap, sampled as NAME_objects, NAME_slots, NAME_blocks. */
typedef struct bench_outputs_class {
    const char *name;  /* in the schema; NULL ends a list */
    const char *color; /* "#rrggbb" in the profile; NULL: not there */
} bench_outputs_class;

/* What the application supplies; all that is pointed to must live as long as the outputs. */
typedef struct bench_outputs_desc {
    const char *title;                  /* of the profile: the application and its size */
    const char *const *columns;         /* the application's own, ended by NULL; NULL: none */
    const bench_outputs_class *classes; /* or NULL: the application has no heap */
    uint32_t width, height;             /* of pictures, in pixels */
} bench_outputs_desc;

typedef struct bench_outputs {
    bench_outputs_desc desc;
    const char *image, *frames, *csv, *profile, *dumps; /* paths, or NULL */
    uint32_t sample, every;                             /* steps; 0: none */
    bench_series series;
    bench_series without; /* the same run not compacted, dotted in the profile; or no rows */
} bench_outputs;

/* Read the parameters, and make the folders of frames and dumps. A profile and dumps need
 * variant=clump. `values` must live as long as the outputs. */
int bench_outputs_create(const bench_outputs_desc *desc, const bench_values *values,
                         bench_outputs *outputs, bench_error *error);
void bench_outputs_release(bench_outputs *outputs); /* all zero is allowed */

/* Columns of the application itself and the step before them; step_us and the heap's come after. */
size_t bench_outputs_own_columns(const bench_outputs *outputs);

/* Write CSV and profile, when all has run. A profile that cannot be drawn is a note. */
int bench_outputs_write(const bench_outputs *outputs, bench_results *results, bench_error *error);

/* Dump the heap for clump-inspect, compact it in some 40 steps of as many moves, and dump it after
 * each of them: heap-000.json and so on. References outside of the heap are stale afterwards. */
int bench_outputs_write_dumps(const bench_outputs *outputs, clump_context *clump, clump_heap *heap,
                              bench_error *error);

/* ---- For steps.c ----------------------------------------------------------------------------- */

/* Whether there is something to do after `done` of `steps` steps. */
int bench_outputs_is_sampled(const bench_outputs *outputs, uint32_t done, uint32_t steps);
int bench_outputs_is_drawn(const bench_outputs *outputs, uint32_t done, uint32_t steps);

/* Empty the series and name its columns. */
void bench_outputs_begin(const bench_outputs *outputs, bench_series *series, int has_heap);

/* The new row with step and heap filled in and `step_us`, the mean time of the steps since the row
 * before, and where the application's values go. NULL and an error
 * if that is not possible. */
double *bench_outputs_sample(const bench_outputs *outputs, bench_series *series,
                             clump_context *clump, clump_heap *heap, uint32_t step, double step_us,
                             bench_error *error);

/* Write the pixels as a frame, as the final image, or as both. */
int bench_outputs_write_pixels(const bench_outputs *outputs, const uint8_t *rgb, uint32_t done,
                               uint32_t steps, bench_error *error);

#endif
