/* The benchmark app-wa-tor: runs a world in one of the variants, measures it, and compares it with
 * the reference.
 *
 * Read first: world.h, bench/apps/app.h.
 */
#include <stdio.h>

#include "bench/apps/app.h"
#include "bench/harness/registry.h"
#include "world.h"

typedef struct run_state {
    bench_app app;
    wa_tor_desc desc;
    size_t cells;
} run_state;

/* ---- Beginning and end ----------------------------------------------------------------------- */

static const char *const heap_phases[] = {
#define PHASE_NAME(name, label) #label,
    WA_TOR_PHASE_LIST(PHASE_NAME)
#undef PHASE_NAME
};
static const char *const plain_phases[] = {
#define PHASE_NAME(name) #name,
    WA_TOR_PLAIN_PHASE_LIST(PHASE_NAME)
#undef PHASE_NAME
};

static int begin(void *app) {
    run_state *run = app;
    const bench_values *values = run->app.values;
    run->desc =
        (wa_tor_desc){.rules = {.width = bench_u32(values, "width"),
                                .height = bench_u32(values, "height"),
                                .seed = bench_u32(values, "seed"),
                                .fish_permille = bench_u32(values, "fish"),
                                .shark_permille = bench_u32(values, "sharks"),
                                .fish_spawn = bench_u32(values, "fish_spawn"),
                                .shark_spawn = bench_u32(values, "shark_spawn"),
                                .shark_energy = bench_u32(values, "shark_energy"),
                                .shark_gain = bench_u32(values, "shark_gain"),
                                .has_drawn_timers = (uint32_t)bench_is(values, "newborn", "drawn")},
                      .is_dynasoar_model = bench_is(values, "model", "dynasoar")};
    const char *fault = wa_tor_rules_check(&run->desc.rules, 0);
    if (fault) {
        return bench_error_set(run->app.error, "%s", fault);
    }
    run->cells = (size_t)run->desc.rules.width * run->desc.rules.height;
    snprintf(run->app.what, sizeof run->app.what, "%zu cells", run->cells);
    snprintf(run->app.title, sizeof run->app.title, "Wa-Tor, %u x %u cells", run->desc.rules.width,
             run->desc.rules.height);
    run->app.width = run->desc.rules.width;
    run->app.height = run->desc.rules.height;
    if (run->app.variant != BENCH_CLUMP) {
        run->app.phases = plain_phases;
        run->app.phase_count = WA_TOR_PLAIN_PHASES;
    } else {
        run->app.phases = heap_phases;
        run->app.phase_count = WA_TOR_PHASE_COUNT;
    }
    run->app.state_bytes = run->cells * sizeof(uint32_t);
    return 0;
}

/* ---- States ---------------------------------------------------------------------------------- */

/* What the sequential world is compared with visits cells and agents in another order. */
static int create(void *app, const bench_world_desc *world, bench_error *error) {
    run_state *run = app;
    run->desc.world = *world;
    run->desc.shuffle =
        run->app.variant == BENCH_SEQUENTIAL && run->app.place == run->app.reference;
    return wa_tor_world_create(&run->desc, &run->app.world, error);
}

static void sample(void *app, const void *state, double *values) {
    run_state *run = app;
    wa_tor_population population = wa_tor_count(state, run->cells);
    values[0] = (double)population.fish;
    values[1] = (double)population.sharks;
}

static int draw(void *app, const void *state, uint8_t *rgb, bench_error *error) {
    run_state *run = app;
    (void)error;
    wa_tor_paint(&run->desc.rules, state, rgb);
    return 0;
}

static uint64_t checksum(void *app) {
    run_state *run = app;
    return wa_tor_checksum(run->app.found, run->cells);
}

static void report(void *app) {
    run_state *run = app;
    wa_tor_population population = wa_tor_count(run->app.found, run->cells);
    bench_sample(run->app.results, "fish", "objects", (double)population.fish);
    bench_sample(run->app.results, "sharks", "objects", (double)population.sharks);
}

static int report_heap(void *app, bench_error *error) {
    static const char *const classes[] = {"Fish", "Shark"};
    static const char *const metrics[] = {"fragmentation_fish", "fragmentation_sharks"};
    run_state *run = app;
    return bench_app_report_classes(app, classes, metrics, 2, error)
               ? -1
               : wa_tor_check_heap(&run->app.world, &run->desc.rules, run->app.found, error);
}

static int compare(void *app, bench_error *error) {
    run_state *run = app;
    return wa_tor_compare(&run->desc.rules, run->app.found, run->app.reference, run->app.steps,
                          error);
}

/* ---- The benchmark --------------------------------------------------------------------------- */

static const char *const columns[] = {"fish", "sharks", NULL};
static const bench_outputs_class classes[] = {
    {"Fish", "#2ca02c"}, {"Shark", "#d62728"}, {"Cell", NULL}, {NULL, NULL}};

static const bench_app_ops ops = {
    BENCH_APP_OPS,    .cell_field = "position",
    .begin = begin,   .counted = columns,
    .state = "world", .second_reference = "those of a run in shuffled order"};

static int begin_run(void *self, bench_env *env, const bench_values *values,
                     bench_results *results) {
    return bench_app_begin(self, &ops, env, values, results);
}

static const bench_param params[] = {
    BENCH_APP_PARAMS(BENCH_APP_VARIANTS, "500", 1e6),
    {"width", BENCH_INT, "512", "cells of a row", 1, 65536, NULL},
    {"height", BENCH_INT, "512", "rows of cells", 1, 65536, NULL},
    {"fish", BENCH_INT, "300", "fish at the start, per 1000 cells", 0, 1000, NULL},
    {"sharks", BENCH_INT, "50", "sharks at the start, per 1000 cells", 0, 1000, NULL},
    {"fish_spawn", BENCH_INT, "4", "steps after which a moving fish spawns", 0, 4094, NULL},
    {"shark_spawn", BENCH_INT, "5", "steps after which a moving shark spawns", 0, 4094, NULL},
    {"shark_energy", BENCH_INT, "3", "steps that a new shark lives unfed", 1, 65535, NULL},
    {"shark_gain", BENCH_INT, "2", "steps that a fish adds to a shark's life", 0, 65535, NULL},
    {"newborn", BENCH_ENUM, "zero", "spawn timer of a newborn", 0, 0, "zero|drawn"},
    {"model", BENCH_ENUM, "lean", "clump: our objects and phases, or DynaSOAr's", 0, 0,
     "lean|dynasoar"},
    BENCH_COMPACTION_PARAMS,
    {NULL, BENCH_INT, NULL, NULL, 0, 0, NULL}};

static const bench_preset presets[] = {
    {"dynasoar", "the public default set-up of DynaSOAr's wa-tor",
     "model=dynasoar width=2048 height=2560 steps=200 fish=250 sharks=250 fish_spawn=4 "
     "shark_spawn=4 shark_energy=2 shark_gain=4 newborn=drawn"},
    {NULL, NULL, NULL}};

const bench_descriptor bench_app_wa_tor = {
    .name = "app-wa-tor",
    .sentence =
        "Fish and sharks on a torus: objects made and freed in every step (Springer's thesis 7.6)",
    .params = params,
    .presets = presets,
    .size = "height",
    .bytes = sizeof(run_state),
    .begin = begin_run,
    BENCH_APP_CALLS};
