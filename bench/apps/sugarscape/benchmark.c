/* The benchmark app-sugarscape: runs a world in one of the variants, measures it, and compares it
 * with the reference.
 *
 * Read first: world.h, bench/harness/bench.h.
 */
#include <stdio.h>

#include "bench/apps/app.h"
#include "bench/harness/registry.h"
#include "world.h"

typedef struct run_state {
    bench_app app;
    sugarscape_desc desc;
    size_t cells;
} run_state;

/* ---- Beginning and end ----------------------------------------------------------------------- */

static const char *const phases[] = {
#define PHASE_NAME(name) #name,
    SUGARSCAPE_PHASE_LIST(PHASE_NAME)};
static const char *const dynasoar_phases[] = {SUGARSCAPE_DYNASOAR_LIST(PHASE_NAME)};
static const char *const dynasoar_model_phases[] = {SUGARSCAPE_DYNASOAR_MODEL_LIST(PHASE_NAME)
#undef PHASE_NAME
};

static int begin(void *app) {
    run_state *run = app;
    const bench_values *values = run->app.values;
    run->desc =
        (sugarscape_desc){.rules = {.width = bench_u32(values, "width"),
                                    .height = bench_u32(values, "height"),
                                    .seed = bench_u32(values, "seed"),
                                    .male_permille = bench_u32(values, "males"),
                                    .female_permille = bench_u32(values, "females"),
                                    .max_vision = bench_u32(values, "vision"),
                                    .max_age = bench_u32(values, "max_age"),
                                    .max_endowment = bench_u32(values, "endowment"),
                                    .max_metabolism = bench_u32(values, "metabolism"),
                                    .max_children = bench_u32(values, "children"),
                                    .mating_age = bench_u32(values, "mating_age"),
                                    .capacity = bench_u32(values, "capacity"),
                                    .source_permille = bench_u32(values, "sources"),
                                    .max_growth = bench_u32(values, "growth"),
                                    .diffusion = bench_u32(values, "diffusion"),
                                    .max_diffusion = bench_u32(values, "max_diffusion"),
                                    .is_dynasoar = (uint32_t)bench_is(values, "rules", "dynasoar")},
                          .is_dynasoar_model = bench_is(values, "model", "dynasoar")};
    if (sugarscape_rules_finish(&run->desc.rules, run->app.error)) {
        return -1;
    }
    run->cells = sugarscape_cells(&run->desc.rules);
    snprintf(run->app.what, sizeof run->app.what, "%zu cells", run->cells);
    snprintf(run->app.title, sizeof run->app.title, "Sugarscape, %u x %u cells",
             run->desc.rules.width, run->desc.rules.height);
    run->app.width = run->desc.rules.width;
    run->app.height = run->desc.rules.height;
    if (run->desc.is_dynasoar_model && run->app.variant == BENCH_CLUMP) {
        run->app.phases = dynasoar_model_phases;
        run->app.phase_count = SUGARSCAPE_DYNASOAR_MODEL_PHASES;
    } else {
        int is_dynasoar = run->desc.rules.is_dynasoar != 0;
        run->app.phases = is_dynasoar ? dynasoar_phases : phases;
        run->app.phase_count = is_dynasoar ? SUGARSCAPE_DYNASOAR_PHASES : SUGARSCAPE_PHASES;
    }
    run->app.state_bytes = run->cells * sizeof(sugarscape_state);
    return 0;
}

/* ---- States ---------------------------------------------------------------------------------- */

static int create(void *app, const bench_world_desc *world, bench_error *error) {
    run_state *run = app;
    run->desc.world = *world;
    return sugarscape_world_create(&run->desc, &run->app.world, error);
}

static void sample(void *app, const void *state, double *values) {
    run_state *run = app;
    sugarscape_census census = sugarscape_count(state, run->cells);
    values[0] = (double)census.males;
    values[1] = (double)census.females;
    values[2] = (double)census.cell_sugar;
    values[3] = (double)census.agent_sugar;
}

static int draw(void *app, const void *state, uint8_t *rgb, bench_error *error) {
    run_state *run = app;
    (void)error;
    sugarscape_paint(state, run->cells, rgb);
    return 0;
}

static uint64_t checksum(void *app) {
    run_state *run = app;
    return sugarscape_checksum(run->app.found, run->cells);
}

static void report(void *app) {
    run_state *run = app;
    bench_error fault = {""};
    sugarscape_census census = sugarscape_count(run->app.found, run->cells);
    bench_sample(run->app.results, "males", "objects", (double)census.males);
    bench_sample(run->app.results, "females", "objects", (double)census.females);
    if (sugarscape_check(&run->desc.rules, run->app.found, &fault)) {
        bench_check(run->app.results, 0, "%.500s", fault.text);
    }
}

static int report_heap(void *app, bench_error *error) {
    static const char *const classes[] = {"Male", "Female"};
    static const char *const metrics[] = {"fragmentation_males", "fragmentation_females"};
    run_state *run = app;
    return bench_app_report_classes(app, classes, metrics, 2, error)
               ? -1
               : sugarscape_check_heap(&run->app.world, &run->desc, run->app.found, error);
}

static int compare(void *app, bench_error *error) {
    run_state *run = app;
    return sugarscape_compare(&run->desc.rules, run->app.found, run->app.reference, run->app.steps,
                              error);
}

/* ---- The benchmark --------------------------------------------------------------------------- */

static const char *const columns[] = {"males", "females", "cell_sugar", "agent_sugar", NULL};
static const bench_outputs_class classes[] = {
    {"Male", "#1f5ac8"}, {"Female", "#d7283c"}, {"Cell", NULL}, {NULL, NULL}};

static const char *const counted[] = {"males", "females", NULL};

static const bench_app_ops ops = {BENCH_APP_OPS,    .cell_field = "position",
                                  .begin = begin,   .counted = counted,
                                  .state = "world", .holds = "all agents are as the rules allow"};

static int begin_run(void *self, bench_env *env, const bench_values *values,
                     bench_results *results) {
    return bench_app_begin(self, &ops, env, values, results);
}

static const bench_param params[] = {
    BENCH_APP_PARAMS(BENCH_APP_VARIANTS, "100", 1e6),
    {"width", BENCH_INT, "512", "cells of a row", 1, 65535, NULL},
    {"height", BENCH_INT, "512", "rows of cells", 1, 65535, NULL},
    {"males", BENCH_INT, "120", "males at the start, per 1000 cells", 0, 1000, NULL},
    {"females", BENCH_INT, "150", "females at the start, per 1000 cells", 0, 1000, NULL},
    {"vision", BENCH_INT, "2", "the farthest that an agent sees, in cells", 1,
     SUGARSCAPE_VISION_MAX, NULL},
    {"max_age", BENCH_INT, "100", "steps that the oldest live", 1, 65534, NULL},
    {"endowment", BENCH_INT, "200", "the most sugar to have before mating", 1, 65535, NULL},
    {"metabolism", BENCH_INT, "80", "the most sugar to live for a step", 1, 65535, NULL},
    {"children", BENCH_INT, "8", "the most children of a female", 1, 255, NULL},
    {"mating_age", BENCH_INT, "22", "steps before mating", 0, 65535, NULL},
    {"capacity", BENCH_INT, "3500", "sugar beyond which a cell does not grow", 0, 1u << 20, NULL},
    {"sources", BENCH_INT, "400", "cells that grow sugar, per 1000", 0, 1000, NULL},
    {"growth", BENCH_INT, "50", "the most sugar that grows in a step", 1, 255, NULL},
    {"diffusion", BENCH_INT, "6", "d: a cell gives each neighbour sugar / 2^d", 3, 31, NULL},
    {"max_diffusion", BENCH_INT, "7", "but no more than this", 0, 255, NULL},
    {"rules", BENCH_ENUM, "own", "ours, or those of DynaSOAr's program", 0, 0, "own|dynasoar"},
    {"model", BENCH_ENUM, "lean", "clump: our objects, or DynaSOAr's, which need its rules", 0, 0,
     "lean|dynasoar"},
    BENCH_COMPACTION_PARAMS,
    {NULL, BENCH_INT, NULL, NULL, 0, 0, NULL}};

static const bench_preset presets[] = {
    {"dynasoar", "the public default set-up of DynaSOAr's sugarscape",
     "rules=dynasoar model=dynasoar width=1700 height=1700 steps=1000 males=120 females=150 "
     "vision=2 max_age=100 endowment=200 metabolism=80 children=8 mating_age=22 capacity=3500 "
     "sources=80 growth=50 diffusion=3 max_diffusion=60"},
    {NULL, NULL, NULL}};

const bench_descriptor bench_app_sugarscape = {
    .name = "app-sugarscape",
    .sentence = "Agents that seek sugar, mate and die on a grid of cells (Springer's thesis 7.7)",
    .params = params,
    .presets = presets,
    .size = "height",
    .bytes = sizeof(run_state),
    .begin = begin_run,
    BENCH_APP_CALLS};
