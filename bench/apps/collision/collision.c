/* The benchmark app-collision: runs bodies in one of the variants, measures them, and compares them
 * with the reference. app-nbody is the same without merging (../nbody/nbody.c).
 *
 * Read first: world.h, collision.h.
 */
#include "collision.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/apps/app.h"
#include "bench/harness/registry.h"
#include "first.h"
#include "world.h"

typedef struct run_state {
    bench_app app;
    collision_desc desc;
    collision_body *first; /* the first states */
} run_state;

/* ---- Parameters ------------------------------------------------------------------------------ */

static int read_parameters(run_state *run, int is_merging) {
    const bench_values *values = run->app.values;
    run->desc = (collision_desc){.rules = {.dt = bench_float(values, "dt"),
                                           .gravity = bench_float(values, "gravity"),
                                           .softening = bench_float(values, "softening"),
                                           .is_merging = is_merging}};
    if (is_merging) {
        run->desc.rules.merge_distance = bench_float(values, "merge_distance");
    }
    if (collision_first_bodies(&run->app, &run->first, &run->desc.count)) {
        return -1;
    }
    run->desc.bodies = run->first;
    snprintf(run->app.what, sizeof run->app.what, "%u bodies", run->desc.count);
    return 0;
}

/* ---- For bench_app --------------------------------------------------------------------------- */

static int create(void *app, const bench_world_desc *world, bench_error *error) {
    run_state *run = app;
    run->desc.world = *world;
    return collision_world_create(&run->desc, &run->app.world, error);
}

static void sample(void *app, const void *state, double *values) {
    run_state *run = app;
    values[0] = collision_count(state, run->desc.count);
}

static int draw(void *app, const void *state, uint8_t *rgb, bench_error *error) {
    run_state *run = app;
    (void)error;
    collision_draw(state, run->desc.count, run->app.outputs.desc.width, rgb);
    return 0;
}

static uint64_t checksum(void *app) {
    run_state *run = app;
    return collision_checksum(run->app.found, run->desc.count);
}

static void report(void *app) {
    run_state *run = app;
    bench_sample(run->app.results, "bodies_left", "objects",
                 collision_count(run->app.found, run->desc.count));
}

static int report_heap(void *app, bench_error *error) {
    run_state *run = app;
    return collision_check_heap(&run->app.world, run->app.found, run->desc.count, error);
}

/* What must hold of any run, whatever the reference: mass is neither made nor lost. Merging rounds
 * once, so the bound is that of as many roundings as there were merges. */
static int check_mass(void *app, bench_error *error) {
    run_state *run = app;
    const collision_body *found = run->app.found;
    double before = 0, after = 0;
    for (uint32_t i = 0; i < run->desc.count; i++) {
        before += (double)run->first[i].mass;
        after += (double)found[i].mass;
    }
    uint32_t merges = run->desc.count - collision_count(run->app.found, run->desc.count);
    if (!(fabs(after - before) <= before * (merges * 0x1p-24 + 1e-12))) {
        bench_error_set(error, "all bodies together had mass %.9g and now have %.9g", before,
                        after);
        return 1;
    }
    return 0;
}

static int compare(void *app, bench_error *error) {
    run_state *run = app;
    return collision_compare(run->app.found, run->app.reference, run->desc.count, run->app.steps,
                             error);
}

static const bench_app_ops any_ops = {.create = create,
                                      .sample = sample,
                                      .draw = draw,
                                      .phases = NULL,
                                      .phase_count = 0,
                                      .checksum = checksum,
                                      .report = report,
                                      .report_heap = report_heap,
                                      .check = check_mass,
                                      .compare = compare,
                                      .state = "bodies",
                                      .holds = "no mass was lost"};

/* ---- The benchmark --------------------------------------------------------------------------- */

static int create_outputs(run_state *run) {
    static const char *const columns[] = {"bodies", NULL};
    static const bench_outputs_class classes[] = {{"Body", "#1f77b4"}, {NULL, NULL}};
    uint32_t pixels = bench_u32(run->app.values, "pixels");
    snprintf(run->app.title, sizeof run->app.title, "%s, %u bodies",
             run->desc.rules.is_merging ? "collision" : "n-body", run->desc.count);
    return bench_app_create_outputs(&run->app, columns, classes, pixels, pixels);
}

int collision_run(bench_env *env, const bench_values *values, bench_results *results,
                  int is_merging) {
    run_state run = {.first = NULL};
    bench_app_ops ops = any_ops;
    if (bench_app_init(&run.app, &ops, env, values, results, is_merging ? "id" : NULL)) {
        return -1;
    }
    int result = read_parameters(&run, is_merging) || create_outputs(&run);
    if (result == 0) {
        ops.phase_count = collision_world_phases(&run.desc.rules, &ops.phases);
        result = bench_app_run_bytes(&run.app, run.desc.count * sizeof(collision_body));
    }
    free(run.first);
    bench_outputs_release(&run.app.outputs);
    return result ? -1 : 0;
}

static int run_collision(bench_env *env, const bench_values *values, bench_results *results) {
    return collision_run(env, values, results, 1);
}

static const bench_param params[] = {
    COLLISION_PARAMS("2000", "100"),
    {"merge_distance", BENCH_FLOAT, "0.005", "bodies nearer than this merge", 0, 1, NULL},
    BENCH_COMPACTION_PARAMS,
    {NULL, BENCH_INT, NULL, NULL, 0, 0, NULL}};

const bench_descriptor bench_app_collision = {
    .name = "app-collision",
    .sentence =
        "Bodies that attract each other and merge: objects only freed (Springer's thesis 7.2)",
    .params = params,
    .repeat = 1,
    .size = "bodies",
    .needs_device = bench_app_needs_device,
    .run = run_collision};
