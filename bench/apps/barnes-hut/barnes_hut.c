/* The benchmark app-barnes-hut: runs bodies in one of the variants, measures them, and compares
 * them with the reference.
 *
 * Read first: world.h, bench/bench.h.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/app.h"
#include "bench/compaction_option.h"
#include "bench/outputs.h"
#include "bench/phases.h"
#include "bench/registry.h"
#include "bench/steps.h"
#include "heap.h"

#define PAIRS_BODIES_MAX 5000 /* up to so many, forces are compared with those of all pairs */

typedef struct run_state {
    bench_env *env;
    const bench_values *values;
    bench_results *results;
    bench_error *error;
    barnes_hut_desc desc;
    uint32_t steps, pixels;
    collision_body *first;             /* the first states */
    collision_body *found, *reference; /* the last ones, and those of the reference */
    uint8_t *levels;
    uint32_t nodes; /* at the end */
    bench_outputs outputs;
    bench_compaction compaction;
    uint64_t checksum; /* of the first round */
} run_state;

/* What steps and outputs are given: a world, and where its bodies can be read to. */
typedef struct any_world {
    run_state *run;
    barnes_hut_world world;
    collision_body *bodies;
    barnes_hut_tree tree;
} any_world;

/* ---- Parameters ------------------------------------------------------------------------------ */

static int get_bodies(run_state *run) {
    const char *path = bench_text(run->values, "input");
    uint32_t count = bench_u32(run->values, "bodies");
    if (path[0]) {
        if (collision_read_csv(path, &run->first, &run->desc.count, run->error)) {
            return -1;
        }
        bench_note(run->results, "%u bodies from %.400s", run->desc.count, path);
        return 0;
    }
    run->first = malloc(count * sizeof *run->first);
    if (!run->first) {
        return bench_error_set(run->error, "host memory ran out for the bodies");
    }
    collision_make_random(run->first, count, bench_u32(run->values, "seed"), 0);
    run->desc.count = count;
    return 0;
}

static int read_parameters(run_state *run) {
    const bench_values *values = run->values;
    run->steps = bench_u32(values, "steps");
    run->pixels = bench_u32(values, "pixels");
    run->desc = (barnes_hut_desc){.variant = bench_app_variant(values),
                                  .context = run->env->context,
                                  .device = run->env->device,
                                  .queue = run->env->queue,
                                  .clump = run->env->clump,
                                  .nodes = bench_u32(values, "nodes"),
                                  .heap_bytes = (uint64_t)bench_int(values, "heap_mb") << 20,
                                  .block_rows = bench_u32(values, "block_rows"),
                                  .rules = {.dt = bench_float(values, "dt"),
                                            .gravity = bench_float(values, "gravity"),
                                            .softening = bench_float(values, "softening"),
                                            .theta = bench_float(values, "theta")}};
    if (bench_compaction_parse(values, "by Morton code", &run->compaction, run->error)) {
        return -1;
    }
    run->desc.compaction = run->compaction.is_on ? &run->compaction.desc : NULL;
    return get_bodies(run);
}

/* ---- What is done with a world --------------------------------------------------------------- */

static int step(void *world, bench_error *error) {
    return barnes_hut_world_step(&((any_world *)world)->world, error);
}

static int finish(void *world, bench_error *error) {
    return barnes_hut_world_finish(&((any_world *)world)->world, error);
}

static int time_phase(void *world, cl_event *events, bench_error *error) {
    return barnes_hut_world_time_step(&((any_world *)world)->world, events, error);
}

static int read_state(any_world *any, bench_error *error) {
    return barnes_hut_world_read(&any->world, any->bodies, &any->tree, error);
}

static uint32_t find_depth(const uint8_t *levels, uint32_t count) {
    uint32_t depth = 0;
    for (uint32_t i = 0; i < count; i++) {
        depth = levels[i] > depth ? levels[i] : depth;
    }
    return depth;
}

static int sample(void *world, double *values, bench_error *error) {
    any_world *any = world;
    if (read_state(any, error)) {
        return -1;
    }
    values[0] = any->tree.nodes;
    values[1] = find_depth(any->tree.levels, any->run->desc.count);
    return 0;
}

static int draw(void *world, uint8_t *rgb, bench_error *error) {
    any_world *any = world;
    return read_state(any, error)
               ? -1
               : barnes_hut_paint(any->bodies, any->run->desc.count, any->run->pixels, rgb, error);
}

/* All steps, and the state behind them. `series`: where samples go. `is_quiet`: no pictures. */
static int run_steps(any_world *any, const char *label, bench_series *series, int is_quiet,
                     double *us) {
    const run_state *run = any->run;
    int is_heap = any->world.ops == &barnes_hut_heap_ops;
    bench_steps steps = {.label = label,
                         .steps = run->steps,
                         .world = any,
                         .step = step,
                         .finish = finish,
                         .heap = is_heap ? barnes_hut_heap_get(any->world.self) : NULL,
                         .sample = sample,
                         .draw = draw,
                         .outputs = &run->outputs,
                         .series = series,
                         .is_quiet = is_quiet};
    return bench_steps_run(run->env, &steps, us, run->error) ? -1 : read_state(any, run->error);
}

/* ---- Measuring ------------------------------------------------------------------------------- */

static void report_bodies(run_state *run, double us) {
    uint64_t checksum = collision_checksum(run->found, run->desc.count);
    bench_sample(run->results, "time_per_step_us", "us", us);
    bench_sample(run->results, "checksum", "number", (double)(checksum & 0xffffffffu));
    bench_sample(run->results, "nodes", "objects", run->nodes);
    bench_sample(run->results, "depth", "levels", find_depth(run->levels, run->desc.count));
    if (!run->checksum) {
        run->checksum = checksum;
        bench_note(run->results, "checksum of the bodies %016" PRIx64, checksum);
    } else if (run->checksum != checksum) {
        bench_check(run->results, 0,
                    "two rounds gave different bodies: %016" PRIx64 " and %016" PRIx64,
                    run->checksum, checksum);
    }
}

static int report_heap(run_state *run, const any_world *any) {
    clump_heap *heap = barnes_hut_heap_get(any->world.self);
    clump_heap_stats stats;
    uint64_t bodies = 0;
    uint32_t faults = 0;
    clump_status status = clump_heap_calc_stats(heap, &stats, NULL, 0);
    if (status == CLUMP_OK) {
        status = clump_heap_check(heap);
    }
    if (status == CLUMP_OK) {
        status = clump_heap_count(heap, "Body", &bodies);
    }
    if (status != CLUMP_OK) {
        return bench_error_clump(run->error, "the heap", run->env->clump, status);
    }
    if (barnes_hut_heap_count_faults(any->world.self, &faults, run->error)) {
        return -1;
    }
    bench_sample(run->results, "blocks", "blocks", stats.blocks - stats.free_blocks);
    bench_sample(run->results, "fragmentation", "share", stats.fragmentation);
    if (run->compaction.is_on) {
        bench_compaction_report(barnes_hut_heap_compactions(any->world.self), run->results);
    }
    if (bodies != run->desc.count || faults) {
        bench_check(run->results, 0,
                    "the heap holds %" PRIu64
                    " of %u bodies, and its tree hangs together wrongly "
                    "in %u places",
                    bodies, run->desc.count, faults);
    }
    return 0;
}

static int run_round(run_state *run) {
    any_world any = {.run = run, .bodies = run->found, .tree = {.levels = run->levels}};
    double us = 0;
    if (barnes_hut_world_create(&run->desc, &any.world, run->error)) {
        return -1;
    }
    int result = run_steps(&any, bench_text(run->values, "variant"), &run->outputs.series, 0, &us);
    if (result == 0) {
        run->nodes = any.tree.nodes;
        report_bodies(run, us);
        result = run->desc.variant == BENCH_CLUMP ? report_heap(run, &any) : 0;
    }
    if (result == 0 && run->desc.variant != BENCH_SEQUENTIAL) { /* goes on from the last state */
        result = bench_phases_run(&any, time_phase, barnes_hut_phases, BARNES_HUT_PHASES,
                                  run->results, run->error);
    }
    barnes_hut_world_destroy(&any.world);
    return result;
}

/* The course without compaction, for comparison. */
static int run_without(run_state *run) {
    any_world any = {.run = run, .bodies = run->found, .tree = {.levels = run->levels}};
    barnes_hut_desc desc = run->desc;
    double us = 0;
    desc.compaction = NULL;
    if (barnes_hut_world_create(&desc, &any.world, run->error)) {
        return -1;
    }
    int result = run_steps(&any, "not compacted", &run->outputs.without, 1, &us);
    barnes_hut_world_destroy(&any.world);
    if (result == 0) {
        bench_sample(run->results, "time_per_step_without_us", "us", us);
    }
    return result;
}

/* ---- Checking -------------------------------------------------------------------------------- */

/* Small runs only. What a file has may be such that forces cancel out, so it is not judged. */
static int check_forces(run_state *run) {
    double difference = 0, theta = run->desc.rules.theta;
    if (run->desc.count > PAIRS_BODIES_MAX) {
        return 0;
    }
    if (barnes_hut_measure_error(&run->desc.rules, run->first, run->desc.count, &difference,
                                 run->error)) {
        return -1;
    }
    bench_sample(run->results, "force_error", "share", difference);
    if (!bench_text(run->values, "input")[0] && difference > BARNES_HUT_ERROR_MOST(theta)) {
        bench_check(run->results, 0, "forces are off by %g of those of all pairs; at most %g",
                    difference, BARNES_HUT_ERROR_MOST(theta));
    }
    return 0;
}

static int check_bodies(run_state *run) {
    any_world any = {.run = run, .bodies = run->reference, .tree = {.levels = run->levels}};
    barnes_hut_desc desc = run->desc;
    bench_series series = {.columns = 0};
    bench_error difference = {""};
    double us = 0;
    desc.variant = BENCH_SEQUENTIAL;
    if (barnes_hut_world_create(&desc, &any.world, run->error)) {
        return -1;
    }
    int result = run_steps(&any, "sequential reference", &series, 1, &us);
    if (result == 0) {
        bench_sample(run->results, "sequential_time_per_step_us", "us", us);
    }
    if (result == 0 &&
        (bench_series_compare(&run->outputs.series, &series,
                              bench_outputs_own_columns(&run->outputs), &difference) ||
         collision_compare(run->found, run->reference, desc.count, run->steps, &difference))) {
        bench_check(run->results, 0, "%.500s", difference.text);
    } else if (result == 0) {
        bench_check(run->results, run->nodes == any.tree.nodes,
                    "all %u bodies equal the sequential reference after %u steps; %u nodes, %u "
                    "expected",
                    desc.count, run->steps, run->nodes, any.tree.nodes);
    }
    bench_series_release(&series);
    barnes_hut_world_destroy(&any.world);
    return result;
}

/* ---- The benchmark --------------------------------------------------------------------------- */

static int run_rounds(run_state *run) {
    int is_sequential = run->desc.variant == BENCH_SEQUENTIAL;
    int is_checked = bench_int(run->values, "check") != 0;
    int result = run->compaction.is_on && run->outputs.profile ? run_without(run) : 0;
    for (uint32_t round = 0; result == 0 && round < run->env->repeat; round++) {
        result = run_round(run);
    }
    if (result == 0 && is_checked) {
        result = check_forces(run);
    }
    if (result == 0 && is_checked && !is_sequential) {
        result = check_bodies(run);
    } else if (result == 0) {
        bench_check(run->results, 1, "%s",
                    is_sequential ? "this is the reference" : "no reference was run (check=0)");
    }
    return result ? result : bench_outputs_write(&run->outputs, run->results, run->error);
}

static int create_outputs(run_state *run, char *title, size_t bytes) {
    static const char *const columns[] = {"nodes", "depth", NULL};
    static const bench_outputs_class classes[] = {
        {"Body", "#1f77b4"}, {"TreeNode", "#ff7f0e"}, {NULL, NULL}};
    bench_outputs_desc desc = {.title = title,
                               .columns = columns,
                               .classes = classes,
                               .width = run->pixels,
                               .height = run->pixels};
    snprintf(title, bytes, "barnes-hut, %u bodies", run->desc.count);
    return bench_outputs_create(&desc, run->values, &run->outputs, run->error);
}

static int run_barnes_hut(bench_env *env, const bench_values *values, bench_results *results) {
    run_state run = {.env = env, .values = values, .results = results, .error = &results->error};
    char title[96];
    int result = read_parameters(&run) || create_outputs(&run, title, sizeof title) ? -1 : 0;
    if (result == 0) {
        run.desc.bodies = run.first;
        run.found = calloc(run.desc.count, sizeof *run.found);
        run.reference = calloc(run.desc.count, sizeof *run.reference);
        run.levels = calloc(run.desc.count, 1);
        result = run.found && run.reference && run.levels
                     ? run_rounds(&run)
                     : bench_error_set(run.error, "host memory ran out for the bodies");
    }
    free(run.first);
    free(run.found);
    free(run.reference);
    free(run.levels);
    bench_outputs_release(&run.outputs);
    return result;
}

static const bench_param params[] = {
    {"variant", BENCH_ENUM, "clump", "objects on the heap, plain OpenCL, or plain C", 0, 0,
     "clump|soa|aos|sequential"},
    {"bodies", BENCH_INT, "20000", "bodies", 1, COLLISION_BODIES_MAX, NULL},
    {"steps", BENCH_INT, "50", "steps to simulate", 1, 1e6, NULL},
    {"seed", BENCH_INT, "42", "of the first states", 0, UINT32_MAX, NULL},
    {"input", BENCH_STRING, "", "CSV file of first states: x,y,vx,vy,mass", 0, 0, NULL},
    {"dt", BENCH_FLOAT, "0.01", "time of a step", 1e-9, 1, NULL},
    {"gravity", BENCH_FLOAT, "1", "constant of gravity times all mass", 0, 1000, NULL},
    {"softening", BENCH_FLOAT, "0.01", "added to distances, squared", 1e-4, 1, NULL},
    {"theta", BENCH_FLOAT, "0.5", "a cell is a point from its size / theta on", 0.01,
     BARNES_HUT_THETA_MAX, NULL},
    {"nodes", BENCH_INT, "0", "soa, aos: room for tree nodes; 0: from the bodies", 0, 1e8, NULL},
    {"heap_mb", BENCH_INT, "0", "clump: size of the heap in MiB; 0: from the bodies", 0, 1e6, NULL},
    {"block_rows", BENCH_INT, "0", "rows of a block; 0: from the heap", 0, 64, NULL},
    BENCH_COMPACTION_PARAMS,
    {"check", BENCH_INT, "1", "1: run the reference too and compare", 0, 1, NULL},
    {"pixels", BENCH_INT, "800", "width and height of pictures", 16, 8192, NULL},
    BENCH_OUTPUT_PARAMS,
    {NULL, BENCH_INT, NULL, NULL, 0, 0, NULL}};

const bench_descriptor bench_app_barnes_hut = {
    .name = "app-barnes-hut",
    .sentence = "Bodies in a quadtree: nodes made and freed as bodies move (thesis 7.3)",
    .params = params,
    .repeat = 1,
    .size = "bodies",
    .needs_device = bench_app_needs_device,
    .run = run_barnes_hut};
