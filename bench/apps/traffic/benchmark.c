/* The benchmark app-traffic: runs traffic in one of the variants, measures it, and compares it with
 * the reference.
 *
 * Read first: bench/harness/bench.h, world.h.
 */
#include <stdio.h>
#include <string.h>

#include "bench/apps/app.h"
#include "bench/harness/heap.h"
#include "bench/harness/registry.h"
#include "world.h"

typedef struct run_state {
    bench_app app;
    traffic_desc desc;
    traffic_map map;
    traffic_network network;
} run_state;

/* ---- Beginning and end ----------------------------------------------------------------------- */

static int create_network(run_state *run) {
    const bench_values *values = run->app.values;
    const char *path = bench_text(values, "map");
    traffic_rules rules = {.seed = bench_u32(values, "seed"),
                           .start_permille = bench_u32(values, "cars"),
                           .producer_permille = bench_u32(values, "producers"),
                           .sink_permille = bench_u32(values, "sinks"),
                           .create_permille = bench_u32(values, "create"),
                           .leave_permille = bench_u32(values, "leave"),
                           .slow_permille = bench_u32(values, "slow"),
                           .phase_steps = bench_u32(values, "phase"),
                           .is_smart = bench_is(values, "lights", "smart") != 0,
                           .is_dynasoar = bench_is(values, "rules", "dynasoar") != 0};
    traffic_map_desc town = {.seed = rules.seed,
                             .intersections = bench_u32(values, "intersections"),
                             .street_cells = bench_u32(values, "street_cells"),
                             .yield_permille = bench_u32(values, "yield"),
                             .is_random = bench_is(values, "network", "random")};
    if (path[0] ? traffic_map_read(path, &run->map, run->app.error)
                : traffic_map_draw(&town, &run->map, run->app.error)) {
        return -1;
    }
    if (traffic_network_create(&run->map, &rules, &run->network, run->app.error)) {
        return -1;
    }
    bench_note(run->app.results,
               "%u intersections, %u streets, %u cells, of which %u are producers and %u branches "
               "or sinks",
               run->map.intersection_count, run->map.street_count, run->network.cell_count,
               run->network.producer_count, run->network.special_count);
    return 0;
}

static int is_dynasoar_model(const run_state *run) {
    return bench_is(run->app.values, "model", "dynasoar");
}

/* The harness has seen to it that it is one of these. */
static traffic_layout find_layout(const char *name) {
    static const char *const layouts[] = {[TRAFFIC_PATH_FIXED] = "fixed",
                                          [TRAFFIC_PATH_MAX] = "max",
                                          [TRAFFIC_PATH_INLINE] = "inline",
                                          [TRAFFIC_PATH_OUTSIDE] = "outside",
                                          [TRAFFIC_PATH_PACKED] = "packed"};
    traffic_layout layout = TRAFFIC_PATH_FIXED;
    while (strcmp(name, layouts[layout])) layout++;
    return layout;
}

static int check_path(const run_state *run) {
    const bench_values *values = run->app.values;
    int is_plain = bench_is(values, "path", "fixed") && bench_is(values, "car_fields", "soa");
    return is_plain || is_dynasoar_model(run)
               ? 0
               : bench_error_set(run->app.error,
                                 "path=%s car_fields=%s needs model=dynasoar: cars "
                                 "of model=lean have no path",
                                 bench_text(values, "path"), bench_text(values, "car_fields"));
}

static int begin(void *app) {
    run_state *run = app;
    static const char *const own[] = {"look", "act"};
    static const char *const dynasoar[] = {"act_places", "look", "act_cars"};
    static const char *const dynasoar_model[] = {"create_cars", "change_lights", "prepare_path",
                                                 "move_cars"};
    if (check_path(run) || create_network(run)) {
        return -1;
    }
    snprintf(run->app.what, sizeof run->app.what, "%u cells", run->network.cell_count);
    snprintf(run->app.title, sizeof run->app.title, "traffic, %u cells", run->network.cell_count);
    traffic_fit_image(&run->map, bench_u32(run->app.values, "pixels"), &run->app.width,
                      &run->app.height);
    run->app.phases = run->network.rules.is_dynasoar ? dynasoar : own;
    run->app.phase_count = traffic_phase_count(&run->network.rules);
    if (is_dynasoar_model(run) && run->app.variant == BENCH_CLUMP) {
        run->app.phases = dynasoar_model;
        run->app.phase_count = sizeof dynasoar_model / sizeof *dynasoar_model;
    }
    run->app.state_bytes = run->network.cell_count * sizeof(uint32_t);
    return 0;
}

static void end(void *app) {
    run_state *run = app;
    traffic_network_destroy(&run->network);
    traffic_map_release(&run->map);
}

/* ---- States ---------------------------------------------------------------------------------- */

static int create(void *app, const bench_world_desc *world, bench_error *error) {
    run_state *run = app;
    const bench_values *values = run->app.values;
    run->desc = (traffic_desc){.world = *world,
                               .network = &run->network,
                               .is_dynasoar_model = is_dynasoar_model(run),
                               .path = {.layout = find_layout(bench_text(values, "path")),
                                        .inside = bench_u32(values, "inside"),
                                        .is_aos = bench_is(values, "car_fields", "aos") != 0}};
    return traffic_world_create(&run->desc, &run->app.world, error);
}

static void sample(void *app, const void *state, double *values) {
    run_state *run = app;
    traffic_census census = traffic_count(state, run->network.cell_count);
    values[0] = (double)census.cars;
    values[1] = (double)census.moving;
}

static int draw(void *app, const void *state, uint8_t *rgb, bench_error *error) {
    run_state *run = app;
    (void)error;
    traffic_paint(&run->map, &run->network, state, bench_u32(run->app.values, "pixels"), rgb);
    return 0;
}

static uint64_t checksum(void *app) {
    run_state *run = app;
    return traffic_checksum(run->app.found, run->network.cell_count);
}

static void report(void *app) {
    run_state *run = app;
    bench_results *results = run->app.results;
    traffic_census census = traffic_count(run->app.found, run->network.cell_count);
    double cars = (double)census.cars;
    bench_sample(results, "cells", "objects", run->network.cell_count);
    bench_sample(results, "cars", "objects", cars);
    bench_sample(results, "velocity", "cells a step",
                 census.cars ? (double)census.velocity / cars : 0);
    bench_sample(results, "standing", "share", census.cars ? 1 - (double)census.moving / cars : 0);
}

/* Memory of a car: of its fields with what of the path lies in it, and of what lies outside.
 * Nothing else here takes raw memory. */
static int report_car(run_state *run, bench_error *error) {
    clump_heap *heap = bench_world_heap(&run->app.world);
    clump_heap_stats stats = {.size = sizeof stats};
    const clump_class_info *car;
    clump_class_stats cars = {.size = sizeof cars};
    static const char *const names[] = {"Car"};
    car = clump_schema_find_class(clump_heap_get_info(heap)->schema, names[0]);
    if (!car || bench_heap_stats(run->app.env->clump, heap, names, 1, &stats, &cars, error)) {
        return -1;
    }
    bench_sample(run->app.results, "car_bytes", "bytes", car->object_bytes);
    bench_sample(run->app.results, "car_outside_bytes", "bytes",
                 cars.objects ? (double)stats.raw_bytes / (double)cars.objects : 0);
    return 0;
}

static int report_heap(void *app, bench_error *error) {
    run_state *run = app;
    if (is_dynasoar_model(run) && report_car(run, error)) {
        return -1;
    }
    return traffic_check_heap(&run->app.world, &run->network, run->app.found, error);
}

/* What must hold of any state: limits and velocities within their bounds. */
static int check(void *app, bench_error *error) {
    const run_state *run = app;
    const uint32_t *codes = run->app.found;
    for (uint32_t i = 0; i < run->network.cell_count; i++) {
        uint32_t code = codes[i], limit = code >> 24 & 15, velocity = code >> 20 & 15;
        uint32_t max = run->network.max_velocity[i] & TRAFFIC_LIMIT, car_max = code >> 16 & 15;
        if ((limit != 0 && limit != max) || velocity > max || velocity > car_max ||
            ((code & TRAFFIC_CODE_CAR) != 0) != (car_max != 0)) {
            bench_error_set(error, "cell %u with limit %u of %u has a car with velocity %u of %u",
                            i, limit, max, velocity, car_max);
            return 1;
        }
    }
    return 0;
}

static int compare(void *app, bench_error *error) {
    run_state *run = app;
    return traffic_compare(run->app.found, run->app.reference, run->network.cell_count,
                           run->app.steps, error);
}

/* ---- The benchmark --------------------------------------------------------------------------- */

static const char *const columns[] = {"cars", "moving", NULL};
static const char *const counted[] = {"cars", "cells_passed", NULL};
static const bench_outputs_class classes[] = {{"Car", "#1f77b4"}, {"Cell", NULL}, {NULL, NULL}};

static const bench_app_ops ops = {
    BENCH_APP_OPS,    .cell_field = "position",
    .begin = begin,   .counted = counted,
    .end = end,       .check = check,
    .state = "state", .holds = "all limits and velocities are in bounds"};

static int begin_run(void *self, bench_env *env, const bench_values *values,
                     bench_results *results) {
    return bench_app_begin(self, &ops, env, values, results);
}

/* clang-format off */
static const bench_param params[] = {
    BENCH_APP_PARAMS(BENCH_APP_VARIANTS, "200", TRAFFIC_STEPS_MAX),
    {"network", BENCH_ENUM, "town", "streets of a town, or of a random graph", 0, 0, "town|random"},
    {"rules", BENCH_ENUM, "own", "of driving: ours, or those of DynaSOAr's program", 0, 0,
     "own|dynasoar"},
    {"model", BENCH_ENUM, "lean", "clump: our objects, or DynaSOAr's, which need its rules", 0, 0,
     "lean|dynasoar"},
    {"path", BENCH_ENUM, "fixed", "model=dynasoar: where the elements of a car's path lie (paths.h)", 0,
     0, "fixed|max|inline|outside|packed"},
    {"inside", BENCH_INT, "6", "path=inline: elements in the car", 1, TRAFFIC_VELOCITY_MAX, NULL},
    {"car_fields", BENCH_ENUM, "soa", "model=dynasoar: fields of a car as columns, or as a struct", 0, 0,
     "soa|aos"},
    {"intersections", BENCH_INT, "1000", "of the network", 2, TRAFFIC_INTERSECTIONS_MAX, NULL},
    {"street_cells", BENCH_INT, "90", "town: of a street, about; random: of a side of the square", 1,
     10000, NULL},
    {"yield", BENCH_INT, "250", "intersections with yield signs, per 1000", 0, 1000, NULL},
    {"map", BENCH_STRING, "", "file with streets, instead of a network drawn", 0, 0, NULL},
    {"cars", BENCH_INT, "50", "at the start, per 1000 cells", 0, 1000, NULL},
    {"producers", BENCH_INT, "20", "cells where cars come in, per 1000", 0, 500, NULL},
    {"sinks", BENCH_INT, "3", "cells where cars go out, per 1000", 0, 500, NULL},
    {"create", BENCH_INT, "20", "producers that want to send a car, per 1000 and step", 0, 1000,
     NULL},
    {"leave", BENCH_INT, "1000", "cars on a sink that leave, per 1000", 0, 1000, NULL},
    {"slow", BENCH_INT, "200", "cars that dawdle, per 1000 and step", 0, 1000, NULL},
    {"lights", BENCH_ENUM, "smart", "traffic lights that see who waits, or not", 0, 0,
     "smart|timed"},
    {"phase", BENCH_INT, "5", "longest green phase, in steps", 1, 250, NULL},
    BENCH_COMPACTION_PARAMS,
    BENCH_PIXELS_PARAM,
    {NULL, BENCH_INT, NULL, NULL, 0, 0, NULL}};
/* clang-format on */

static const bench_preset presets[] = {
    {"dynasoar", "the public default set-up of DynaSOAr's traffic",
     "rules=dynasoar model=dynasoar path=fixed network=random intersections=17500 street_cells=200 "
     "steps=2000 "
     "yield=0 cars=0 producers=20 sinks=3 create=20 leave=1000 slow=200 lights=timed phase=5"},
    {NULL, NULL, NULL}};

const bench_descriptor bench_app_traffic = {
    .name = "app-traffic",
    .sentence = "Cars on a network of streets, with traffic lights (Springer's thesis 7.5)",
    .params = params,
    .presets = presets,
    .size = "intersections",
    .bytes = sizeof(run_state),
    .begin = begin_run,
    BENCH_APP_CALLS};
