/* The benchmark app-structure: runs a structure in one of the variants, measures it, and compares
 * it with the reference.
 *
 * Read first: bench/harness/bench.h, world.h.
 */
#include <stdio.h>

#include "bench/apps/app.h"
#include "bench/harness/registry.h"
#include "world.h"

typedef struct run_state {
    bench_app app;
    structure_desc desc;
    structure_network network;
    structure_state found, reference; /* the last states */
    structure_counts left;
} run_state;

/* ---- Beginning and end ----------------------------------------------------------------------- */

static int make_network(run_state *run) {
    const bench_values *values = run->app.values;
    structure_network_desc network = {
        .kind = bench_is(values, "network", "random") ? STRUCTURE_RANDOM : STRUCTURE_SHEET,
        .nodes = bench_u32(values, "nodes"),
        .seed = bench_u32(values, "seed"),
        .speed = bench_float(values, "speed"),
        .strength = bench_float(values, "strength"),
        .pull_percent = bench_u32(values, "pull_percent"),
        .anchor_percent = bench_u32(values, "anchor_percent"),
        .spring_percent = bench_u32(values, "spring_percent")};
    if (structure_network_create(&network, &run->network, run->app.error)) {
        return -1;
    }
    bench_note(run->app.results, "%u nodes (%u pull, %u are anchors) and %u springs",
               run->network.node_count, run->network.first_anchor - run->network.first_pull,
               run->network.node_count - run->network.first_anchor, run->network.spring_count);
    run->desc.network = &run->network;
    return 0;
}

static int begin(void *app) {
    run_state *run = app;
    const bench_values *values = run->app.values;
    run->desc.rules = (structure_rules){.iterations = bench_u32(values, "iterations"),
                                        .dt = (float)bench_float(values, "dt"),
                                        .keep = (float)(1 - bench_float(values, "damping")),
                                        .pulled_hold = bench_is(values, "pulled", "anchors"),
                                        .bare_stay = bench_is(values, "bare", "stay"),
                                        .by_levels = bench_is(values, "search", "levels")};
    if (make_network(run) || structure_state_create(&run->network, &run->found, run->app.error) ||
        structure_state_create(&run->network, &run->reference, run->app.error)) {
        return -1;
    }
    snprintf(run->app.what, sizeof run->app.what, "%u nodes and %u springs",
             run->network.node_count, run->network.spring_count);
    snprintf(run->app.title, sizeof run->app.title, "structure, %u nodes and %u springs",
             run->network.node_count, run->network.spring_count);
    run->app.width = run->app.height = bench_u32(values, "pixels");
    run->app.phases = structure_world_phases(&run->desc.rules);
    run->app.phase_count = STRUCTURE_PHASES;
    run->app.found = &run->found;
    run->app.reference = &run->reference;
    return 0;
}

static void end(void *app) {
    run_state *run = app;
    structure_state_destroy(&run->found);
    structure_state_destroy(&run->reference);
    structure_network_destroy(&run->network);
}

/* ---- States ---------------------------------------------------------------------------------- */

static int create(void *app, const bench_world_desc *world, bench_error *error) {
    run_state *run = app;
    run->desc.world = *world;
    return structure_world_create(&run->desc, &run->app.world, error);
}

static void sample(void *app, const void *state, double *values) {
    run_state *run = app;
    structure_counts counts = structure_count(&run->network, state);
    values[0] = counts.nodes;
    values[1] = counts.pull_nodes;
    values[2] = counts.anchors;
    values[3] = counts.springs;
}

static int draw(void *app, const void *state, uint8_t *rgb, bench_error *error) {
    run_state *run = app;
    (void)error;
    structure_paint(&run->network, state, run->app.outputs.desc.width, rgb);
    return 0;
}

static uint64_t checksum(void *app) {
    return structure_checksum(&((run_state *)app)->found);
}

static void report(void *app) {
    run_state *run = app;
    run->left = structure_count(&run->network, &run->found);
    bench_sample(run->app.results, "nodes_left", "objects",
                 (double)run->left.nodes + run->left.pull_nodes + run->left.anchors);
    bench_sample(run->app.results, "springs_left", "objects", run->left.springs);
}

static int report_heap(void *app, bench_error *error) {
    run_state *run = app;
    return structure_check_heap(&run->app.world, &run->left, error);
}

static int check(void *app, bench_error *error) {
    run_state *run = app;
    return structure_check(&run->desc.rules, &run->network, &run->found, error);
}

static int compare(void *app, bench_error *error) {
    run_state *run = app;
    return structure_compare(&run->found, &run->reference, run->app.steps, error);
}

/* ---- The benchmark --------------------------------------------------------------------------- */

static const char *const columns[] = {"nodes", "pull_nodes", "anchors", "springs", NULL};
static const bench_outputs_class classes[] = {{"Spring", "#d62728"},
                                              {"Node", "#1f77b4"},
                                              {"AnchorPullNode", NULL},
                                              {"AnchorNode", NULL},
                                              {NULL, NULL}};

static const bench_app_ops ops = {
    BENCH_APP_OPS,        .cell_field = "id",
    .counted = columns,   .begin = begin,
    .end = end,           .check = check,
    .state = "structure", .holds = "all that is left hangs on an anchor"};

static int begin_run(void *self, bench_env *env, const bench_values *values,
                     bench_results *results) {
    return bench_app_begin(self, &ops, env, values, results);
}

/* clang-format off */
static const bench_param params[] = {
    BENCH_APP_PARAMS(BENCH_APP_VARIANTS, "50", 1e6),
    {"network", BENCH_ENUM, "sheet", "a notched sheet, or springs between any two nodes", 0, 0,
     "sheet|random"},
    {"nodes", BENCH_INT, "16000", "nodes at the start",
     9, STRUCTURE_NODES_MAX, NULL},
    {"iterations", BENCH_INT, "40", "of forces and motion in a step", 1, 10000, NULL},
    {"dt", BENCH_FLOAT, "0.2", "time of an iteration", 1e-6, 10, NULL},
    {"damping", BENCH_FLOAT, "0", "share of a velocity that an iteration takes away", 0, 1, NULL},
    {"speed", BENCH_FLOAT, "1", "factor of the speed of what is pulled", 0, 1000, NULL},
    {"strength", BENCH_FLOAT, "1", "factor of the force that a spring bears", 1e-3, 1e6, NULL},
    {"pulled", BENCH_ENUM, "loose", "what is pulled holds nothing, or holds as anchors do", 0, 0,
     "loose|anchors"},
    {"bare", BENCH_ENUM, "go", "nodes that never had a spring", 0, 0, "go|stay"},
    {"search", BENCH_ENUM, "union", "union-find if a spring broke, or breadth-first in each step", 0, 0,
     "union|levels"},
    {"pull_percent", BENCH_INT, "10", "random: nodes that pull", 0, 100, NULL},
    {"anchor_percent", BENCH_INT, "10", "random: nodes that are anchors", 0, 100, NULL},
    {"spring_percent", BENCH_INT, "70", "random: springs, of those that 5 per node allow", 0, 100,
     NULL},
    BENCH_COMPACTION_PARAMS,
    BENCH_PIXELS_PARAM,
    {NULL, BENCH_INT, NULL, NULL, 0, 0, NULL}};
/* clang-format on */

#define PUBLIC                                                                                     \
    " network=random iterations=40 dt=0.2 damping=0 speed=1 strength=1 pulled=anchors bare=stay "  \
    "search=levels pull_percent=25 anchor_percent=10 spring_percent=70"
static const bench_preset presets[] = {
    {"dynasoar", "the public default set-up of DynaSOAr's structure",
     "nodes=1500000 steps=50" PUBLIC},
    {"ismm", "ISMM'19, Table 1: 58.9 MB, compacted every 50 steps",
     "nodes=500000 steps=5000 compact=every:50 strategy=merge factor=10 retain=16" PUBLIC},
    {NULL, NULL, NULL}};

const bench_descriptor bench_app_structure = {
    .name = "app-structure",
    .sentence =
        "Nodes and springs that break and come off: objects only freed (Springer's thesis 7.4)",
    .params = params,
    .presets = presets,
    .size = "nodes",
    .bytes = sizeof(run_state),
    .begin = begin_run,
    BENCH_APP_CALLS};
