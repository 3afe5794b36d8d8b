/* An application as a benchmark: rounds of one variant, measured step by step and phase by phase,
 * the same without compaction if a profile shows both, and the sequential reference.
 *
 * What an application adds is a bench_app_ops. Its own struct begins with a bench_app, which is
 * what its calls are given. One world at a time is alive.
 *
 * Each folder has these files:
 *
 *   README.md                 the rules in words, and what was measured
 *   model.h, model.c          parameters and states as numbers; beginning, counting, checking
 *   sequential.c              the reference in plain C
 *   objects.schema, heap.cl   classes and kernels of the variant on the heap; heap.c is its host
 *                             side
 *   plain.cl, plain.c         the baselines in plain OpenCL, likewise
 *   rules.clh                 what both kernel files compute with
 *   world.h, world.c          all variants behind one set of calls, and their comparison
 *   image.c                   pictures
 *   benchmark.c               the application as a bench_app_ops, its parameters, its descriptor
 *
 * and in each the same parts in the same order, under headings of these names:
 *
 *   README.md    Rules; Objects; Step; Variants; What is checked; Parameters; Measured; Files of
 *                its own
 *   heap.cl      Making the world; The phases of a step; Showing the world (wa-tor: some of it in
 *                show.clh, traffic: in cells.clh)
 *   plain.cl     The arrays; Making the world; The phases of a step; Showing the world
 *   heap.c       Making the world; Steps and states
 *   plain.c      likewise
 *   world.c      The variants; Comparison
 *   benchmark.c  Beginning and end; States; The benchmark
 *
 * A heading such as "The phases of a step: looking" is that of some of the phases. The kernel files
 * have what all parts need, such as macros, before the first heading or under "The arrays". In
 * game-of-life/plain.cl the host makes and shows the world; its headings say so.
 *
 * Files of other names are of that application alone; "Files of its own" in its README.md lists
 * them. app-nbody is collision with fewer rules, app-generation is game-of-life with more. Both
 * have only a
 * README.md and a benchmark.c (nbody also its schema).
 *
 * Read first: bench.h, variant.h, world.h. Read next: steps.h, then any user, such as
 * apps/sugarscape/benchmark.c.
 */
#ifndef BENCH_APP_H
#define BENCH_APP_H

#include "bench/harness/bench.h"
#include "bench/harness/tuning.h"
#include "compaction_option.h"
#include "outputs.h"
#include "variant.h"
#include "world.h"

/* Lines of a list of parameters: those that all applications have. `variants` are choices, `steps`
 * a default and the most. */
/* clang-format off */
#define BENCH_APP_PARAMS(variants, steps, steps_max)                                               \
    {"variant", BENCH_ENUM, "clump", "objects on the heap, plain OpenCL, or plain C", 0, 0,        \
     variants},                                                                                    \
    {"steps", BENCH_INT, steps, "steps to simulate", 1, steps_max, NULL},                          \
    {"seed", BENCH_INT, "42", "decides the beginning and all that is random", 0, UINT32_MAX, NULL},\
    {"heap_mb", BENCH_INT, "0", "size of the heap in MiB; 0: enough", 0, 1e6, NULL},               \
    {"block_rows", BENCH_INT, "0", "rows of a block; 0: from the heap", 0, 64, NULL},              \
    {"buffers", BENCH_INT, "1", "OpenCL buffers that the heap is in", 1, 16, NULL},                     \
    {"check", BENCH_INT, "1", "1: run the reference too and compare", 0, 1, NULL},                 \
    BENCH_TUNING_PARAMS, BENCH_OUTPUT_PARAMS
#define BENCH_APP_VARIANTS "clump|soa|aos|sequential"
#define BENCH_PIXELS_PARAM                                                                         \
    {"pixels", BENCH_INT, "800", "of the longer side of pictures", 16, 8192, NULL}
/* clang-format on */

/* Calls return 0, or -1 with the reason in `error`; those marked * also 1 and a sentence there if
 * something is not as it should be. */
typedef struct bench_app_ops {
    size_t bytes;               /* of the application's struct, which is all zero before begin() */
    const char *cell_field;     /* as in bench_compaction_parse(); NULL: no such parameters */
    const char *const *counted; /* names of what bench_world_ops.count counts; NULL: nothing */
    const char *const *columns; /* as in bench_outputs_desc, and the next likewise */
    const bench_outputs_class *classes;
    /* Read the parameters, and make what worlds begin with. Fills in the members of bench_app from
     * `what` to `reference`. */
    int (*begin)(void *app);
    void (*end)(void *app); /* release what begin() made, even if it failed; NULL: nothing */
    /* app->world, at its start. If app->place is app->reference, to compare with. */
    int (*create)(void *app, const bench_world_desc *desc, bench_error *error);
    void (*sample)(void *app, const void *state, double *values); /* own columns */
    int (*draw)(void *app, const void *state, uint8_t *rgb, bench_error *error);
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

/* Members that have the same names in all applications. */
#define BENCH_APP_OPS                                                                              \
    .columns = columns, .classes = classes, .create = create, .sample = sample, .draw = draw,      \
    .checksum = checksum, .report = report, .report_heap = report_heap, .compare = compare

typedef struct bench_app {
    const bench_app_ops *ops;
    bench_env *env;
    const bench_values *values;
    bench_results *results;
    bench_error *error;
    bench_variant variant;
    uint32_t steps;
    char what[96];             /* all that is compared: "400 cells" */
    char title[96];            /* of plots */
    uint32_t width, height;    /* of pictures, in pixels */
    const char *const *phases; /* of a step, by name */
    unsigned phase_count;
    size_t state_bytes; /* of a state; 0: `found` and `reference` are there */
    /* Where states of the variant that is measured go, and those of the reference: room for one
     * each, in the application's own type. */
    void *found, *reference;
    void *place; /* which of the two the world is read to */
    bench_outputs outputs;
    bench_compaction compaction;
    bench_world world;
    uint64_t checksum; /* of the first round */
    uint32_t rounds;   /* done */
} bench_app;

/* The value of the parameter `variant`: clump|soa|aos|sequential. */
bench_variant bench_app_variant(const bench_values *values);

/* All variants except sequential. */
int bench_app_needs_device(const bench_values *values);

/* For report_heap(): the fragmentation of each of `count` classes, as a metric of this name. */
int bench_app_report_classes(bench_app *app, const char *const *classes, const char *const *metrics,
                             uint32_t count, bench_error *error);

/* For bench_descriptor, whose struct begins with a bench_app. */
int bench_app_begin(void *self, const bench_app_ops *ops, bench_env *env,
                    const bench_values *values, bench_results *results);
int bench_app_round(void *self, uint32_t number, int is_measured);
int bench_app_finish(void *self);
void bench_app_end(void *self);
#define BENCH_APP_CALLS                                                                            \
    .repeat = 1, .needs_device = bench_app_needs_device, .has_progress = 1,                        \
    .round = bench_app_round, .finish = bench_app_finish, .end = bench_app_end

#endif
