/* The benchmark app-barnes-hut: runs bodies in one of the variants, measures them, and compares
 * them with the reference.
 *
 * Read first: world.h, bench/harness/bench.h.
 */
#include <stdio.h>
#include <stdlib.h>

#include "bench/apps/collision/benchmark.h"
#include "bench/harness/registry.h"
#include "heap.h"

#define PAIRS_BODIES_MAX 5000 /* up to so many, forces are compared with those of all pairs */

typedef struct run_state {
    bench_app app;
    barnes_hut_desc desc;
    collision_body *first;             /* the first states */
    barnes_hut_state found, reference; /* the last ones, and those of the reference */
} run_state;

/* ---- Beginning and end ----------------------------------------------------------------------- */

static int begin(void *app) {
    run_state *run = app;
    const bench_values *values = run->app.values;
    run->desc = (barnes_hut_desc){
        .nodes = bench_u32(values, "nodes"),
        .rules = {.dt = bench_float(values, "dt"),
                  .gravity = bench_float(values, "gravity"),
                  .gravity_constant = bench_float(values, "gravity_constant"),
                  .softening = bench_float(values, "softening"),
                  .law = bench_is(values, "law", "damped") ? COLLISION_DAMPED : COLLISION_PLUMMER,
                  .theta = bench_float(values, "theta"),
                  .opening = bench_float(values, "opening"),
                  .is_precise = bench_is(values, "precision", "double")}};
    int is_precise = run->desc.rules.is_precise;
    if (collision_first_bodies(&run->app, &run->first, &run->desc.count) ||
        barnes_hut_state_create(run->desc.count, is_precise, &run->found, run->app.error) ||
        barnes_hut_state_create(run->desc.count, is_precise, &run->reference, run->app.error)) {
        return -1;
    }
    run->desc.bodies = run->first;
    snprintf(run->app.title, sizeof run->app.title, "barnes-hut, %u bodies", run->desc.count);
    run->app.width = run->app.height = bench_u32(values, "pixels");
    run->app.phases = barnes_hut_phases;
    run->app.phase_count = BARNES_HUT_PHASES;
    run->app.found = &run->found;
    run->app.reference = &run->reference;
    return 0;
}

static void end(void *app) {
    run_state *run = app;
    free(run->first);
    barnes_hut_state_destroy(&run->found);
    barnes_hut_state_destroy(&run->reference);
}

/* ---- States ---------------------------------------------------------------------------------- */

static int create(void *app, const bench_world_desc *world, bench_error *error) {
    run_state *run = app;
    run->desc.world = *world;
    return barnes_hut_world_create(&run->desc, &run->app.world, error);
}

static uint32_t find_depth(const uint8_t *levels, uint32_t count) {
    uint32_t depth = 0;
    for (uint32_t i = 0; i < count; i++) {
        depth = levels[i] > depth ? levels[i] : depth;
    }
    return depth;
}

static void sample(void *app, const void *state, double *values) {
    run_state *run = app;
    const barnes_hut_state *now = state;
    values[0] = now->nodes;
    values[1] = find_depth(now->levels, run->desc.count);
}

static int draw(void *app, const void *state, uint8_t *rgb, bench_error *error) {
    run_state *run = app;
    return barnes_hut_paint(((const barnes_hut_state *)state)->bodies, run->desc.count,
                            run->app.width, rgb, error);
}

static uint64_t checksum(void *app) {
    run_state *run = app;
    return collision_checksum(run->found.bodies, run->desc.count);
}

static void report(void *app) {
    run_state *run = app;
    bench_sample(run->app.results, "nodes", "objects", run->found.nodes);
    bench_sample(run->app.results, "depth", "levels",
                 find_depth(run->found.levels, run->desc.count));
    snprintf(run->app.what, sizeof run->app.what, "%u bodies and %u nodes", run->desc.count,
             run->found.nodes);
}

static int report_heap(void *app, bench_error *error) {
    run_state *run = app;
    uint32_t faults = 0;
    const bench_class_count expected[] = {{"Body", run->desc.count},
                                          {"TreeNode", run->found.nodes}};
    int result = bench_world_check_counts(&run->app.world, expected, 2, error);
    if (result == 0) {
        result = barnes_hut_heap_count_faults(run->app.world.self, &faults, error);
    }
    if (faults) {
        bench_error_set(error, "the tree hangs together wrongly in %u places", faults);
        return 1;
    }
    return result;
}

/* Small runs only. What a file has may be such that forces cancel out, so it is not judged. */
static int check_forces(void *app, bench_error *error) {
    run_state *run = app;
    double difference = 0, theta = run->desc.rules.theta;
    if (run->desc.count > PAIRS_BODIES_MAX || !bench_int(run->app.values, "check")) {
        return 0;
    }
    if (barnes_hut_measure_error(&run->desc.rules, run->first, run->desc.count, &difference,
                                 error)) {
        return -1;
    }
    bench_sample(run->app.results, "force_error", "share", difference);
    int is_judged = !bench_text(run->app.values, "input")[0] && !(run->desc.rules.opening > 0);
    if (is_judged && difference > BARNES_HUT_ERROR_MOST(theta)) {
        bench_error_set(error, "forces are off by %g of those of all pairs; at most %g", difference,
                        BARNES_HUT_ERROR_MOST(theta));
        return 1;
    }
    return 0;
}

static int compare(void *app, bench_error *error) {
    run_state *run = app;
    if (barnes_hut_compare_bodies(&run->found, &run->reference, run->desc.count, run->app.steps,
                                  error)) {
        return 1;
    }
    if (run->found.nodes != run->reference.nodes) {
        bench_error_set(error, "after %u steps the tree has %u nodes instead of %u", run->app.steps,
                        run->found.nodes, run->reference.nodes);
        return 1;
    }
    return 0;
}

/* ---- The benchmark --------------------------------------------------------------------------- */

static const char *const columns[] = {"nodes", "depth", NULL};
/* Pairs of a body and what pulled it. */
static const char *const counted[] = {"bodies", "nodes", "pairs", NULL};
static const bench_outputs_class classes[] = {
    {"Body", "#1f77b4"}, {"TreeNode", "#ff7f0e"}, {NULL, NULL}};

static const bench_app_ops ops = {
    BENCH_APP_OPS,    .counted = counted, .cell_field = "by Morton code",
    .begin = begin,   .end = end,         .check = check_forces,
    .state = "bodies"};

static int begin_run(void *self, bench_env *env, const bench_values *values,
                     bench_results *results) {
    return bench_app_begin(self, &ops, env, values, results);
}

static const bench_param params[] = {
    COLLISION_PARAMS("20000", "50"),
    {"theta", BENCH_FLOAT, "0.5", "a cell is a point from its size / theta on", 0.01,
     BARNES_HUT_THETA_MAX, NULL},
    {"opening", BENCH_FLOAT, "0", "a cell is a point from here on; 0: by theta", 0, 2, NULL},
    {"precision", BENCH_ENUM, "single", "of all that is computed", 0, 0, "single|double"},
    {"nodes", BENCH_INT, "0", "soa, aos: room for tree nodes; 0: from the bodies", 0, 1e8, NULL},
    BENCH_COMPACTION_PARAMS,
    {NULL, BENCH_INT, NULL, NULL, 0, 0, NULL}};

static const bench_preset presets[] = {
    {"dynasoar", "the public default set-up of DynaSOAr's barnes-hut-dynamic",
     "bodies=300000 steps=4000 dt=0.0075 gravity_constant=6.673e-11 law=damped "
     "softening=0.22360679774997896 extent=0.99 speed=0.0005 mass_min=500 mass_max=1000 "
     "opening=0.25 precision=double"},
    {NULL, NULL, NULL}};

const bench_descriptor bench_app_barnes_hut = {
    .name = "app-barnes-hut",
    .sentence = "Bodies in a quadtree: nodes made and freed as bodies move (Springer's thesis 7.3)",
    .params = params,
    .presets = presets,
    .size = "bodies",
    .bytes = sizeof(run_state),
    .begin = begin_run,
    BENCH_APP_CALLS};
