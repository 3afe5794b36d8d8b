/* A run of any variant. See run.h. */
#include "run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pattern.h"
#include "world.h"

#define SIDE_DEFAULT 512

typedef struct run_state {
    bench_app app;
    life_desc desc;
    size_t cells;
    uint8_t *start; /* the first world */
} run_state;

/* ---- For bench_app --------------------------------------------------------------------------- */

/* What the sequential world is compared with follows the rule cell by cell. */
static int create(void *app, const bench_world_desc *world, bench_error *error) {
    run_state *run = app;
    run->desc.world = *world;
    run->desc.is_plain =
        run->app.variant == BENCH_SEQUENTIAL && run->app.place == run->app.reference;
    return life_world_create(&run->desc, &run->app.world, error);
}

/* Living cells black, dying ones gray and paler with time, candidates red (Springer's thesis Fig. 7.22). */
static void color(const life_rules *rules, const uint8_t *codes, uint32_t x, uint32_t y,
                  uint8_t *rgb) {
    uint32_t state = codes[(size_t)y * rules->width + x];
    if (state > 0) {
        uint32_t gray = state == 1 ? 0 : 90 + 140 * (state - 2) / rules->states;
        memset(rgb, (int)gray, 3);
        return;
    }
    memset(rgb, 255, 3);
    if (life_is_beside_life(rules, codes, x, y)) {
        rgb[1] = rgb[2] = 130;
    }
}

static int draw(void *app, const void *state, uint8_t *rgb, bench_error *error) {
    const life_rules *rules = &((run_state *)app)->desc.rules;
    (void)error;
    for (uint32_t y = 0; y < rules->height; y++) {
        for (uint32_t x = 0; x < rules->width; x++) {
            color(rules, state, x, y, &rgb[3 * ((size_t)y * rules->width + x)]);
        }
    }
    return 0;
}

static void sample(void *app, const void *state, double *values) {
    run_state *run = app;
    life_population population = life_count(&run->desc.rules, state);
    values[0] = (double)population.alive;
    values[1] = (double)population.dying;
    values[2] = (double)population.candidates;
}

static uint64_t checksum(void *app) {
    run_state *run = app;
    return life_checksum(run->app.found, run->cells);
}

static void report(void *app) {
    run_state *run = app;
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
    run_state *run = app;
    return bench_app_report_classes(app, classes, metrics, 2, error)
               ? -1
               : life_check_heap(&run->app.world, &run->desc.rules, run->app.found, error);
}

static int compare(void *app, bench_error *error) {
    run_state *run = app;
    return life_compare(&run->desc.rules, run->app.found, run->app.reference, run->app.steps,
                        error);
}

static const char *const heap_phases[] = {"announce", "settle"};
static const char *const grid_phases[] = {"step"};

static const bench_app_ops any_ops = {
    .create = create,
    .sample = sample,
    .draw = draw,
    .phases = grid_phases,
    .phase_count = 1,
    .checksum = checksum,
    .report = report,
    .report_heap = report_heap,
    .compare = compare,
    .state = "world",
    .second_reference = "those of the rule followed cell by cell"};

/* ---- Beginning and end ----------------------------------------------------------------------- */

static int fill_start(run_state *run, const life_pattern *pattern) {
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
    run->desc.codes = run->start = malloc(run->cells);
    if (!run->start) {
        return bench_error_set(run->app.error, "host memory ran out for the first world");
    }
    if (has_pattern) {
        return life_pattern_place(pattern, rules, run->start, run->app.error);
    }
    life_fill(rules, bench_u32(values, "seed"), bench_u32(values, "density"), run->start);
    return 0;
}

static int make_start(run_state *run) {
    const char *path = bench_text(run->app.values, "pattern");
    life_pattern pattern = {0};
    int result = path[0] && life_pattern_read(path, &pattern, run->app.error)
                     ? -1
                     : fill_start(run, &pattern);
    life_pattern_release(&pattern);
    return result;
}

static int create_outputs(run_state *run) {
    static const char *const columns[] = {"alive", "dying", "candidates", NULL};
    static const bench_outputs_class classes[] = {
        {"Alive", "#1f77b4"}, {"Candidate", "#d62728"}, {"Cell", NULL}, {NULL, NULL}};
    uint32_t width = run->desc.rules.width, height = run->desc.rules.height;
    snprintf(run->app.what, sizeof run->app.what, "%zu cells", run->cells);
    snprintf(run->app.title, sizeof run->app.title, "Cellular automaton, %u x %u cells", width,
             height);
    return bench_app_create_outputs(&run->app, columns, classes, width, height);
}

int life_run(bench_env *env, const bench_values *values, const char *rule, bench_results *results) {
    run_state run = {.start = NULL};
    bench_app_ops ops = any_ops;
    if (bench_app_variant(values) == BENCH_CLUMP) {
        ops.phases = heap_phases;
        ops.phase_count = sizeof heap_phases / sizeof *heap_phases;
    }
    int result = bench_app_init(&run.app, &ops, env, values, results, "cell") ||
                         life_rule_parse(rule, &run.desc.rules, run.app.error) ||
                         make_start(&run) || create_outputs(&run)
                     ? -1
                     : bench_app_run_bytes(&run.app, run.cells);
    free(run.start);
    bench_outputs_release(&run.app.outputs);
    return result;
}
