/* The benchmark app-collision: runs bodies in one of the variants, measures them, and compares them
 * with the reference. app-nbody is the same without merging (../nbody/benchmark.c).
 *
 * Read first: world.h, benchmark.h.
 */
#include "benchmark.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/apps/app.h"
#include "bench/harness/registry.h"
#include "world.h"

/* ---- Beginning and end ----------------------------------------------------------------------- */

int collision_first_bodies(bench_app *app, collision_body **bodies, uint32_t *count) {
    const char *path = bench_text(app->values, "input");
    if (path[0]) {
        if (collision_read_csv(path, bodies, count, app->error)) {
            return -1;
        }
        bench_note(app->results, "%u bodies from %.400s", *count, path);
        return 0;
    }
    *count = bench_u32(app->values, "bodies");
    *bodies = malloc(*count * sizeof **bodies);
    if (!*bodies) {
        return bench_error_set(app->error, "host memory ran out for the bodies");
    }
    collision_start start = {.extent = bench_float(app->values, "extent"),
                             .speed = bench_float(app->values, "speed"),
                             .mass_min = bench_float(app->values, "mass_min"),
                             .mass_max = bench_float(app->values, "mass_max")};
    if (start.mass_min > start.mass_max) {
        return bench_error_set(app->error, "mass_min is above mass_max");
    }
    collision_make_random(*bodies, *count, bench_u32(app->values, "seed"), &start);
    return 0;
}

static int begin(collision_run *run, int is_merging) {
    const bench_values *values = run->app.values;
    run->desc = (collision_desc){
        .rules = {.dt = bench_float(values, "dt"),
                  .gravity = bench_float(values, "gravity"),
                  .gravity_constant = bench_float(values, "gravity_constant"),
                  .softening = bench_float(values, "softening"),
                  .law = bench_is(values, "law", "damped") ? COLLISION_DAMPED : COLLISION_PLUMMER,
                  .is_merging = is_merging}};
    if (is_merging) {
        run->desc.rules.merge_distance = bench_float(values, "merge_distance");
        run->desc.rules.takes_first = bench_is(values, "choice", "first");
        run->desc.rules.takes_heavier = bench_is(values, "taken", "heavier");
    }
    if (collision_first_bodies(&run->app, &run->first, &run->desc.count)) {
        return -1;
    }
    run->desc.bodies = run->first;
    snprintf(run->app.what, sizeof run->app.what, "%u bodies", run->desc.count);
    snprintf(run->app.title, sizeof run->app.title, "%s, %u bodies",
             is_merging ? "collision" : "n-body", run->desc.count);
    run->app.width = run->app.height = bench_u32(values, "pixels");
    run->app.phase_count = collision_world_phases(&run->desc.rules, &run->app.phases);
    run->app.state_bytes = run->desc.count * sizeof(collision_body);
    return 0;
}

static int begin_collision(void *app) {
    return begin(app, 1);
}

static int begin_nbody(void *app) {
    return begin(app, 0);
}

static void end(void *app) {
    free(((collision_run *)app)->first);
}

/* ---- States ---------------------------------------------------------------------------------- */

static int create(void *app, const bench_world_desc *world, bench_error *error) {
    collision_run *run = app;
    run->desc.world = *world;
    return collision_world_create(&run->desc, &run->app.world, error);
}

static void sample(void *app, const void *state, double *values) {
    collision_run *run = app;
    values[0] = collision_count(state, run->desc.count);
}

static int draw(void *app, const void *state, uint8_t *rgb, bench_error *error) {
    collision_run *run = app;
    (void)error;
    collision_paint(state, run->desc.count, run->app.outputs.desc.width, rgb);
    return 0;
}

static uint64_t checksum(void *app) {
    collision_run *run = app;
    return collision_checksum(run->app.found, run->desc.count);
}

static void report(void *app) {
    collision_run *run = app;
    bench_sample(run->app.results, "bodies_left", "objects",
                 collision_count(run->app.found, run->desc.count));
}

static int report_heap(void *app, bench_error *error) {
    collision_run *run = app;
    return collision_check_heap(&run->app.world, run->app.found, run->desc.count, error);
}

/* What must hold of any run, whatever the reference: mass is neither made nor lost. Merging rounds
 * once, so the bound is that of as many roundings as there were merges. */
static int check_mass(void *app, bench_error *error) {
    collision_run *run = app;
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
    collision_run *run = app;
    return collision_compare(run->app.found, run->app.reference, run->desc.count, run->app.steps,
                             error);
}

/* ---- The benchmark --------------------------------------------------------------------------- */

static const char *const columns[] = {"bodies", NULL};
static const char *const counted[] = {"bodies", "pairs", NULL}; /* pairs whose pull is computed */
static const bench_outputs_class classes[] = {{"Body", "#1f77b4"}, {NULL, NULL}};

static const bench_app_ops ops = {
    BENCH_APP_OPS, .cell_field = "id",  .counted = counted, .begin = begin_collision,
    .end = end,    .check = check_mass, .state = "bodies",  .holds = "no mass was lost"};

static const bench_app_ops nbody_ops = {
    BENCH_APP_OPS,       .counted = counted, .begin = begin_nbody,       .end = end,
    .check = check_mass, .state = "bodies",  .holds = "no mass was lost"};

static int begin_run(void *self, bench_env *env, const bench_values *values,
                     bench_results *results) {
    return bench_app_begin(self, &ops, env, values, results);
}

int collision_begin_nbody(void *self, bench_env *env, const bench_values *values,
                          bench_results *results) {
    return bench_app_begin(self, &nbody_ops, env, values, results);
}

static const bench_param params[] = {
    COLLISION_PARAMS("2000", "100"),
    {"merge_distance", BENCH_FLOAT, "0.005", "bodies nearer than this merge", 0, 1, NULL},
    {"choice", BENCH_ENUM, "nearest", "which of several in reach: the nearest, or the lowest id", 0,
     0, "nearest|first"},
    {"taken", BENCH_ENUM, "lighter", "which of two bodies the other one takes in", 0, 0,
     "lighter|heavier"},
    BENCH_COMPACTION_PARAMS,
    {NULL, BENCH_INT, NULL, NULL, 0, 0, NULL}};

/* What a paper does not say is as in the public program. */
#define PUBLIC                                                                                     \
    " dt=0.05 gravity_constant=6.673e-11 extent=1 speed=0.0005 mass_min=37.5 mass_max=75 "         \
    "merge_distance=0.005 choice=first"
#define DAMPED " law=damped softening=0.22360679774997896"
static const bench_preset presets[] = {
    {"dynasoar", "the public default set-up of DynaSOAr's collision",
     "bodies=40000 steps=243 taken=heavier" PUBLIC DAMPED},
    {"thesis", "Springer's thesis 7.2: 65,536 bodies, no damping, the heavier body stays",
     "bodies=65536 steps=243 taken=lighter law=plummer softening=0.0001" PUBLIC},
    {"ismm", "ISMM'19, Table 1: 5.7 MB of bodies, compacted every 50 steps",
     "bodies=150000 steps=10000 taken=lighter compact=every:50 strategy=merge factor=10 "
     "retain=16" PUBLIC DAMPED},
    {NULL, NULL, NULL}};

const bench_descriptor bench_app_collision = {
    .name = "app-collision",
    .sentence =
        "Bodies that attract each other and merge: objects only freed (Springer's thesis 7.2)",
    .params = params,
    .presets = presets,
    .size = "bodies",
    .bytes = sizeof(collision_run),
    .begin = begin_run,
    BENCH_APP_CALLS};
