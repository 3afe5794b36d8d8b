/* An application as a benchmark: rounds of one variant, measured step by step and phase by phase, the
 * same without compaction if a profile shows both, and the sequential reference.
 *
 * What an application adds is a bench_app_ops. Its own struct begins with a bench_app, which is what
 * its calls are given. One world at a time is alive.
 *
 * Read first: bench.h, variant.h, world.h. Read next: steps.h, then any user, such as
 * apps/sugarscape/sugarscape.c.
 */
#ifndef BENCH_APP_H
#define BENCH_APP_H

#include "bench/harness/bench.h"
#include "compaction_option.h"
#include "outputs.h"
#include "variant.h"
#include "world.h"

/* Lines of a list of parameters: those that all applications have. `variants` are choices, `steps`
 * a preset and the most. */
/* clang-format off */
#define BENCH_APP_PARAMS(variants, steps, steps_max)                                               \
    {"variant", BENCH_ENUM, "clump", "objects on the heap, plain OpenCL, or plain C", 0, 0,        \
     variants},                                                                                    \
    {"steps", BENCH_INT, steps, "steps to simulate", 1, steps_max, NULL},                          \
    {"seed", BENCH_INT, "42", "decides the beginning and all that is random", 0, UINT32_MAX, NULL},\
    {"heap_mb", BENCH_INT, "0", "size of the heap in MiB; 0: enough", 0, 1e6, NULL},               \
    {"block_rows", BENCH_INT, "0", "rows of a block; 0: from the heap", 0, 64, NULL},              \
    {"check", BENCH_INT, "1", "1: run the reference too and compare", 0, 1, NULL},                 \
    BENCH_OUTPUT_PARAMS
#define BENCH_APP_VARIANTS "clump|soa|aos|sequential"
#define BENCH_PIXELS_PARAM                                                                         \
    {"pixels", BENCH_INT, "800", "of the longer side of pictures", 16, 8192, NULL}
/* clang-format on */

/* Calls return 0, or -1 with the reason in `error`; those marked * also 1 and a sentence there if
 * something is not as it should be. */
typedef struct bench_app_ops {
    /* app->world, at its start. If app->place is app->reference, to compare with. */
    int (*create)(void *app, const bench_world_desc *desc, bench_error *error);
    void (*sample)(void *app, const void *state, double *values); /* own columns */
    int (*draw)(void *app, const void *state, uint8_t *rgb, bench_error *error);
    const char *const *phases;
    unsigned phase_count;
    /* The rest is of the last states. */
    uint64_t (*checksum)(void *app);
    void (*report)(void *app);                         /* further metrics */
    int (*report_heap)(void *app, bench_error *error); /* * and of the heap */
    int (*check)(void *app, bench_error *error);       /* * whatever the reference; NULL: nothing */
    int (*compare)(void *app, bench_error *error);     /* * both states */
    const char *state;                                 /* what it is: "bodies" */
    const char *holds; /* what check() makes sure of, as a sentence; or NULL */
    /* What the sequential variant itself is compared with; NULL: with nothing, it is the
     * reference. */
    const char *second_reference;
} bench_app_ops;

typedef struct bench_app {
    const bench_app_ops *ops;
    bench_env *env;
    const bench_values *values;
    bench_results *results;
    bench_error *error;
    bench_variant variant;
    uint32_t steps;
    char what[96];  /* all that is compared: "400 cells" */
    char title[96]; /* of plots */
    bench_outputs outputs;
    bench_compaction compaction;
    bench_world world;
    void *found, *reference; /* as for bench_app_run() */
    void *place;             /* which of the two the world is read to */
    uint64_t checksum;       /* of the first round */
    uint32_t rounds;         /* done */
} bench_app;

/* The value of the parameter `variant`: clump|soa|aos|sequential. */
bench_variant bench_app_variant(const bench_values *values);

/* For bench_descriptor: all variants but sequential. */
int bench_app_needs_device(const bench_values *values);

/* Read the parameters variant, steps, heap_mb and block_rows, and those of compaction. `cell_field`
 * as in bench_compaction_parse(); NULL: the application has no such parameters. */
int bench_app_init(bench_app *app, const bench_app_ops *ops, bench_env *env,
                   const bench_values *values, bench_results *results, const char *cell_field);

/* Create the outputs; `title` is filled in by now, and the rest as in bench_outputs_desc. */
int bench_app_create_outputs(bench_app *app, const char *const *columns,
                             const bench_outputs_class *classes, uint32_t width, uint32_t height);

/* For report_heap(): the fragmentation of each of `count` classes, as a metric of this name. */
int bench_app_report_classes(bench_app *app, const char *const *classes, const char *const *metrics,
                             uint32_t count, bench_error *error);

/* Run it all; `what` is filled in by now, and outputs are created. With the parameter `check`. States
 * of the variant that is measured are read to `found`, those of the reference to `reference`: room for
 * one each, in the application's own type. */
int bench_app_run(bench_app *app, void *found, void *reference);

/* The same with states that are `bytes` of memory each, in app->found and app->reference. */
int bench_app_run_bytes(bench_app *app, size_t bytes);

#endif
