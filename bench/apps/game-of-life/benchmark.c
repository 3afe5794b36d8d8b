/* The benchmark app-game-of-life: runs a world in one of the variants, measures it, and compares it
 * with the reference. app-generation is the same by another rule (../generation/benchmark.c).
 *
 * Read first: world.h, benchmark.h.
 */
#include "benchmark.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/harness/registry.h"
#include "pattern.h"
#include "world.h"

#define SIDE_DEFAULT 512

/* ---- Beginning and end ----------------------------------------------------------------------- */

static const char *const heap_phases[] = {"announce", "settle"};
static const char *const dynasoar_model_phases[] = {"candidate_prepare", "alive_prepare",
                                                    "candidate_update", "alive_update"};
static const char *const grid_phases[] = {"step"};

static int fill_start(life_run *run, const life_pattern *pattern, int is_burst) {
    const bench_values *values = run->app.values;
    uint32_t width = bench_u32(values, "width"), height = bench_u32(values, "height");
    int has_pattern = pattern->cells != NULL;
    life_rules *rules = &run->desc.rules;
    rules->width = width ? width : has_pattern ? pattern->width : SIDE_DEFAULT;
    rules->height = height ? height : has_pattern ? pattern->height : SIDE_DEFAULT;
    if (life_rules_check(rules, run->app.error)) {
        return -1;
    }
    run->cells = (size_t)rules->width * rules->height;
    run->desc.codes = run->start = malloc(run->cells * sizeof *run->start);
    if (!run->start) {
        return bench_error_set(run->app.error, "host memory ran out for the first world");
    }
    if (has_pattern) {
        return life_pattern_place(pattern, rules, run->start, run->app.error);
    }
    if (is_burst) {
        life_fill_bursts(rules, run->start);
        return 0;
    }
    life_fill(rules, bench_u32(values, "seed"), bench_u32(values, "density"), run->start);
    return 0;
}

static int make_start(life_run *run) {
    const char *path = bench_text(run->app.values, "pattern");
    life_pattern pattern = {0};
    int is_burst = strcmp(path, "burst") == 0;
    int result = path[0] && !is_burst && life_pattern_read(path, &pattern, run->app.error)
                     ? -1
                     : fill_start(run, &pattern, is_burst);
    life_pattern_release(&pattern);
    return result;
}

static int begin(life_run *run, const char *rule) {
    life_rules *rules = &run->desc.rules;
    int is_heap = run->app.variant == BENCH_CLUMP;
    rules->is_dynasoar_model = bench_is(run->app.values, "model", "dynasoar");
    if (life_rule_parse(rule, rules, run->app.error) || make_start(run)) {
        return -1;
    }
    snprintf(run->app.what, sizeof run->app.what, "%zu cells", run->cells);
    snprintf(run->app.title, sizeof run->app.title, "Cellular automaton, %u x %u cells",
             rules->width, rules->height);
    run->app.width = rules->width;
    run->app.height = rules->height;
    run->app.phases = grid_phases;
    run->app.phase_count = 1;
    if (is_heap) {
        run->app.phases = rules->is_dynasoar_model ? dynasoar_model_phases : heap_phases;
        run->app.phase_count = rules->is_dynasoar_model ? 4 : 2;
    }
    run->app.state_bytes = run->cells * sizeof(life_code);
    return 0;
}

static int begin_game_of_life(void *app) {
    return begin(app, "23/3");
}

static int begin_generation(void *app) {
    return begin(app, bench_text(((life_run *)app)->app.values, "rule"));
}

static void end(void *app) {
    free(((life_run *)app)->start);
}

/* ---- States ---------------------------------------------------------------------------------- */

/* What the sequential world is compared with follows the rule cell by cell. */
static int create(void *app, const bench_world_desc *world, bench_error *error) {
    life_run *run = app;
    run->desc.world = *world;
    run->desc.is_plain =
        run->app.variant == BENCH_SEQUENTIAL && run->app.place == run->app.reference;
    return life_world_create(&run->desc, &run->app.world, error);
}

static int draw(void *app, const void *state, uint8_t *rgb, bench_error *error) {
    (void)error;
    life_paint(&((life_run *)app)->desc.rules, state, rgb);
    return 0;
}

static void sample(void *app, const void *state, double *values) {
    life_run *run = app;
    life_population population = life_count(&run->desc.rules, state);
    values[0] = (double)population.alive;
    values[1] = (double)population.dying;
    values[2] = (double)population.candidates;
}

static uint64_t checksum(void *app) {
    life_run *run = app;
    return life_checksum(run->app.found, run->cells);
}

static void report(void *app) {
    life_run *run = app;
    life_population population = life_count(&run->desc.rules, run->app.found);
    bench_sample(run->app.results, "alive", "cells", (double)population.alive);
    if (run->desc.rules.states > 2) {
        bench_sample(run->app.results, "dying", "cells", (double)population.dying);
    }
    bench_sample(run->app.results, "candidates", "cells", (double)population.candidates);
}

static int report_heap(void *app, bench_error *error) {
    static const char *const classes[] = {"Alive", "Candidate"};
    static const char *const metrics[] = {"fragmentation_alive", "fragmentation_candidates"};
    life_run *run = app;
    return bench_app_report_classes(app, classes, metrics, 2, error)
               ? -1
               : life_check_heap(&run->app.world, &run->desc.rules, run->app.found, error);
}

static int compare(void *app, bench_error *error) {
    life_run *run = app;
    return life_compare(&run->desc.rules, run->app.found, run->app.reference, run->app.steps,
                        error);
}

/* ---- The benchmark --------------------------------------------------------------------------- */

static const char *const columns[] = {"alive", "dying", "candidates", NULL};
static const bench_outputs_class classes[] = {
    {"Alive", "#1f77b4"}, {"Candidate", "#d62728"}, {"Cell", NULL}, {NULL, NULL}};

static const bench_app_ops ops = {BENCH_APP_OPS,
                                  .cell_field = "index",
                                  .counted = columns,
                                  .begin = begin_game_of_life,
                                  .end = end,
                                  .state = "world",
                                  .second_reference = "those of the rule followed cell by cell"};

static const bench_app_ops generation_ops = {
    BENCH_APP_OPS,
    .cell_field = "index",
    .counted = columns,
    .begin = begin_generation,
    .end = end,
    .state = "world",
    .second_reference = "those of the rule followed cell by cell"};

static int begin_run(void *self, bench_env *env, const bench_values *values,
                     bench_results *results) {
    return bench_app_begin(self, &ops, env, values, results);
}

int life_begin_generation(void *self, bench_env *env, const bench_values *values,
                          bench_results *results) {
    return bench_app_begin(self, &generation_ops, env, values, results);
}

static const bench_param params[] = {LIFE_PARAMS("500", "300"),
                                     {NULL, BENCH_INT, NULL, NULL, 0, 0, NULL}};

static const bench_preset presets[] = {
    {"dynasoar",
     "DynaSOAr's game-of-life on its universal Turing machine, of which it has the file",
     "model=dynasoar steps=300 width=0 height=0 pattern=utm.pgm"},
    {"dynasoar-tm", "DynaSOAr's game-of-life on its Turing machine, of which it has the file",
     "model=dynasoar steps=300 width=0 height=0 pattern=tm.pgm"},
    {NULL, NULL, NULL}};

const bench_descriptor bench_app_game_of_life = {
    .name = "app-game-of-life",
    .sentence =
        "Conway's Game of Life: only living cells and their neighbours are objects "
        "(Springer's thesis 7.8)",
    .params = params,
    .presets = presets,
    .size = "height",
    .bytes = sizeof(life_run),
    .begin = begin_run,
    BENCH_APP_CALLS};
