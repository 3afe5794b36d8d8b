/* The benchmark app-traffic: runs traffic in one of the variants, measures it, and compares it with
 * the reference.
 *
 * Read first: bench/bench.h, world.h.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/app.h"
#include "bench/bench.h"
#include "bench/compaction_option.h"
#include "bench/phases.h"
#include "bench/registry.h"
#include "bench/steps.h"
#include "world.h"

typedef struct run_state {
    bench_env *env;
    const bench_values *values;
    bench_results *results;
    bench_error *error;
    traffic_desc desc;
    traffic_map map;
    traffic_network network;
    uint32_t steps;
    uint32_t *codes, *reference; /* the last state, and that of the reference */
    bench_outputs outputs;
    char title[96];
    bench_compaction compaction;
    uint64_t checksum; /* of the first round */
    uint32_t rounds;   /* done */
} run_state;

/* What steps and outputs are given. */
typedef struct run_world {
    run_state *run;
    traffic_world *world;
    uint32_t *codes; /* where states are read to */
} run_world;

/* ---- Parameters ------------------------------------------------------------------------------ */

static int create_network(run_state *run) {
    const bench_values *values = run->values;
    const char *path = bench_text(values, "map");
    traffic_rules rules = {.seed = bench_u32(values, "seed"),
                           .start_permille = bench_u32(values, "cars"),
                           .producer_permille = bench_u32(values, "producers"),
                           .sink_permille = bench_u32(values, "sinks"),
                           .create_permille = bench_u32(values, "create"),
                           .leave_permille = bench_u32(values, "leave"),
                           .slow_permille = bench_u32(values, "slow"),
                           .phase_steps = bench_u32(values, "phase"),
                           .is_smart = bench_is(values, "lights", "smart") != 0};
    traffic_map_desc town = {.seed = rules.seed,
                             .intersections = bench_u32(values, "intersections"),
                             .street_cells = bench_u32(values, "street_cells"),
                             .yield_permille = bench_u32(values, "yield")};
    if (path[0] ? traffic_map_read(path, &run->map, run->error)
                : traffic_map_draw(&town, &run->map, run->error)) {
        return -1;
    }
    if (traffic_network_create(&run->map, &rules, &run->network, run->error)) {
        return -1;
    }
    bench_note(run->results,
               "%u intersections, %u streets, %u cells, of which %u are producers and %u branches "
               "or sinks",
               run->map.intersection_count, run->map.street_count, run->network.cell_count,
               run->network.producer_count, run->network.special_count);
    return 0;
}

static int read_parameters(run_state *run) {
    const bench_values *values = run->values;
    if (bench_compaction_parse(values, "position", &run->compaction, run->error) ||
        create_network(run)) {
        return -1;
    }
    run->steps = bench_u32(values, "steps");
    run->desc = (traffic_desc){.variant = bench_app_variant(values),
                               .network = &run->network,
                               .context = run->env->context,
                               .device = run->env->device,
                               .queue = run->env->queue,
                               .clump = run->env->clump,
                               .heap_bytes = (uint64_t)bench_int(values, "heap_mb") << 20,
                               .block_rows = bench_u32(values, "block_rows"),
                               .compaction = run->compaction.is_on ? &run->compaction.desc : NULL};
    run->codes = calloc(run->network.cell_count, sizeof *run->codes);
    run->reference = calloc(run->network.cell_count, sizeof *run->reference);
    return run->codes && run->reference
               ? 0
               : bench_error_set(run->error, "host memory ran out for the states");
}

/* ---- Measuring ------------------------------------------------------------------------------- */

static int step(void *world, bench_error *error) {
    traffic_world *of = ((run_world *)world)->world;
    return of->ops->step(of, NULL, error);
}

static int finish(void *world, bench_error *error) {
    traffic_world *of = ((run_world *)world)->world;
    return of->ops->finish(of, error);
}

static int sample(void *world, double *values, bench_error *error) {
    run_world *of = world;
    if (of->world->ops->read(of->world, of->codes, error)) {
        return -1;
    }
    traffic_census census = traffic_count(of->codes, of->run->network.cell_count);
    values[0] = (double)census.cars;
    values[1] = (double)census.moving;
    return 0;
}

static int draw(void *world, uint8_t *rgb, bench_error *error) {
    run_world *of = world;
    const run_state *run = of->run;
    if (of->world->ops->read(of->world, of->codes, error)) {
        return -1;
    }
    traffic_draw(&run->map, &run->network, of->codes, bench_u32(run->values, "pixels"), rgb);
    return 0;
}

/* Make a world and all steps, and read its state. `series`: where samples go. `is_quiet`: no
 * pictures. */
static int run_steps(run_world *of, const traffic_desc *desc, const char *label,
                     bench_series *series, int is_quiet, double *us) {
    const run_state *run = of->run;
    if (traffic_world_create(desc, &of->world, run->error)) {
        return -1;
    }
    const struct traffic_ops *ops = of->world->ops;
    bench_steps steps = {.label = label,
                         .steps = run->steps,
                         .world = of,
                         .step = step,
                         .finish = finish,
                         .heap = ops->get_heap ? ops->get_heap(of->world) : NULL,
                         .sample = sample,
                         .draw = draw,
                         .outputs = &run->outputs,
                         .series = series,
                         .is_quiet = is_quiet};
    return bench_steps_run(run->env, &steps, us, run->error) ||
                   ops->read(of->world, of->codes, run->error)
               ? -1
               : 0;
}

static void report_traffic(run_state *run, double us) {
    uint32_t cells = run->network.cell_count;
    uint64_t checksum = traffic_checksum(run->codes, cells);
    traffic_census census = traffic_count(run->codes, cells);
    double cars = (double)census.cars;
    bench_sample(run->results, "time_per_step_us", "us", us);
    bench_sample(run->results, "checksum", "number", (double)(checksum & 0xffffffffu));
    bench_sample(run->results, "cells", "objects", cells);
    bench_sample(run->results, "cars", "objects", cars);
    bench_sample(run->results, "velocity", "cells a step",
                 census.cars ? (double)census.velocity / cars : 0);
    bench_sample(run->results, "standing", "share",
                 census.cars ? 1 - (double)census.moving / cars : 0);
    if (run->rounds++ == 0) {
        run->checksum = checksum;
        bench_note(run->results, "checksum of the state %016" PRIx64, checksum);
    } else if (run->checksum != checksum) {
        bench_check(run->results, 0,
                    "two rounds gave different states: %016" PRIx64 " and %016" PRIx64,
                    run->checksum, checksum);
    }
}

static int report_heap(run_state *run, const traffic_world *world) {
    clump_heap_stats stats;
    bench_error fault = {""};
    if (!world->ops->get_heap) {
        return 0;
    }
    clump_heap *heap = world->ops->get_heap(world);
    clump_status status = clump_heap_calc_stats(heap, &stats, NULL, 0);
    if (status == CLUMP_OK) {
        status = clump_heap_check(heap);
    }
    if (status != CLUMP_OK) {
        return bench_error_clump(run->error, "the heap", run->env->clump, status);
    }
    bench_sample(run->results, "blocks", "blocks", stats.blocks - stats.free_blocks);
    bench_sample(run->results, "fragmentation", "share", stats.fragmentation);
    if (run->compaction.is_on) {
        bench_compaction_report(world->ops->get_compactions(world), run->results);
    }
    int result = traffic_check_cars(world, &run->desc, run->codes, &fault);
    if (result == 1) {
        bench_check(run->results, 0, "%.500s", fault.text);
    }
    return result < 0 ? bench_error_set(run->error, "%.2000s", fault.text) : 0;
}

static int time_step(void *world, cl_event *events, bench_error *error) {
    traffic_world *of = ((run_world *)world)->world;
    return of->ops->step(of, events, error);
}

static int run_round(run_state *run) {
    static const char *const phases[TRAFFIC_PHASES] = {"look", "act"};
    run_world of = {.run = run, .codes = run->codes};
    double us = 0;
    int result = run_steps(&of, &run->desc, bench_text(run->values, "variant"),
                           &run->outputs.series, 0, &us);
    if (result == 0) {
        report_traffic(run, us);
        result = report_heap(run, of.world);
    }
    if (result == 0 && run->desc.variant != BENCH_SEQUENTIAL) {
        result = bench_phases_run(&of, time_step, phases, TRAFFIC_PHASES, run->results, run->error);
    }
    traffic_world_destroy(of.world);
    return result;
}

/* The course without compaction, beside which the profile shows the other. */
static int run_without(run_state *run) {
    run_world of = {.run = run, .codes = run->codes};
    traffic_desc desc = run->desc;
    double us = 0;
    desc.compaction = NULL;
    int result = run_steps(&of, &desc, "not compacted", &run->outputs.without, 1, &us);
    traffic_world_destroy(of.world);
    if (result == 0) {
        bench_sample(run->results, "time_per_step_without_us", "us", us);
    }
    return result;
}

/* ---- Checking -------------------------------------------------------------------------------- */

static int check_against_reference(run_state *run) {
    traffic_desc desc = run->desc;
    run_world of = {.run = run, .codes = run->reference};
    bench_error difference = {""};
    double us = 0;
    desc.variant = BENCH_SEQUENTIAL;
    int result = run_steps(&of, &desc, "sequential reference", NULL, 1, &us);
    traffic_world_destroy(of.world);
    if (result) {
        return result;
    }
    bench_sample(run->results, "sequential_time_per_step_us", "us", us);
    uint32_t cells = run->network.cell_count;
    if (traffic_compare(run->codes, run->reference, cells, run->steps, &difference)) {
        bench_check(run->results, 0, "%.500s", difference.text);
    } else {
        bench_check(run->results, 1, "all %u cells equal the sequential reference after %u steps",
                    cells, run->steps);
    }
    return 0;
}

/* What must hold of any state: limits and velocities within their bounds. */
static void check_state(run_state *run) {
    for (uint32_t i = 0; i < run->network.cell_count; i++) {
        uint32_t code = run->codes[i], limit = code >> 24 & 15, velocity = code >> 20 & 15;
        uint32_t max = run->network.max_velocity[i], car_max = code >> 16 & 15;
        if ((limit != 0 && limit != max) || velocity > max || velocity > car_max ||
            ((code & TRAFFIC_CODE_CAR) != 0) != (car_max != 0)) {
            bench_check(run->results, 0,
                        "cell %u with limit %u of %u has a car with velocity %u of %u", i, limit,
                        max, velocity, car_max);
            return;
        }
    }
    bench_check(run->results, 1, "all limits and velocities are in bounds; no reference was run");
}

static int create_outputs(run_state *run) {
    static const char *const columns[] = {"cars", "moving", NULL};
    static const bench_outputs_class classes[] = {{"Car", "#1f77b4"}, {"Cell", NULL}, {NULL, NULL}};
    bench_outputs_desc desc = {.title = run->title, .columns = columns, .classes = classes};
    snprintf(run->title, sizeof run->title, "traffic, %u cells", run->network.cell_count);
    traffic_fit_image(&run->map, bench_u32(run->values, "pixels"), &desc.width, &desc.height);
    return bench_outputs_create(&desc, run->values, &run->outputs, run->error);
}

static int run_all(run_state *run) {
    int result = read_parameters(run) || create_outputs(run) ? -1 : 0;
    if (result == 0 && run->compaction.is_on && run->outputs.profile) {
        result = run_without(run);
    }
    for (uint32_t round = 0; result == 0 && round < run->env->repeat; round++) {
        result = run_round(run);
    }
    if (result) {
        return result;
    }
    check_state(run);
    if (bench_int(run->values, "check") && run->desc.variant != BENCH_SEQUENTIAL) {
        result = check_against_reference(run);
    }
    return result ? result : bench_outputs_write(&run->outputs, run->results, run->error);
}

static int run_traffic(bench_env *env, const bench_values *values, bench_results *results) {
    run_state run = {.env = env, .values = values, .results = results, .error = &results->error};
    int result = run_all(&run);
    traffic_network_destroy(&run.network);
    traffic_map_release(&run.map);
    bench_outputs_release(&run.outputs);
    free(run.codes);
    free(run.reference);
    return result;
}

/* clang-format off */
static const bench_param params[] = {
    {"variant", BENCH_ENUM, "clump", "objects on the heap, plain OpenCL, or plain C", 0, 0,
     "clump|soa|aos|sequential"},
    {"intersections", BENCH_INT, "1000", "of a random town", 2, TRAFFIC_INTERSECTIONS_MAX, NULL},
    {"street_cells", BENCH_INT, "90", "of a street of that town, about", 1, 10000, NULL},
    {"yield", BENCH_INT, "250", "intersections with yield signs, per 1000", 0, 1000, NULL},
    {"map", BENCH_STRING, "", "file with streets, instead of a random town", 0, 0, NULL},
    {"steps", BENCH_INT, "200", "steps to simulate", 1, TRAFFIC_STEPS_MAX, NULL},
    {"seed", BENCH_INT, "42", "of the town and of all decisions", 0, UINT32_MAX, NULL},
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
    {"heap_mb", BENCH_INT, "0", "size of the heap in MiB; 0: from the cells", 0, 1e6, NULL},
    {"block_rows", BENCH_INT, "0", "rows of a block; 0: from the heap", 0, 64, NULL},
    {"check", BENCH_INT, "1", "1: run the reference too and compare", 0, 1, NULL},
    {"pixels", BENCH_INT, "800", "greater side of pictures", 16, 8192, NULL},
    BENCH_OUTPUT_PARAMS,
    BENCH_COMPACTION_PARAMS,
    {NULL, BENCH_INT, NULL, NULL, 0, 0, NULL}};
/* clang-format on */

const bench_descriptor bench_app_traffic = {
    .name = "app-traffic",
    .sentence = "Cars on a network of streets, with traffic lights (thesis 7.5)",
    .params = params,
    .repeat = 1,
    .size = "intersections",
    .needs_device = bench_app_needs_device,
    .run = run_traffic};
