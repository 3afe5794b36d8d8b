/* The benchmark app-structure: runs a structure in one of the variants, measures it, and compares
 * it with the reference.
 *
 * Read first: bench/bench.h, world.h.
 */
#include <inttypes.h>
#include <stdio.h>

#include "bench/app.h"
#include "bench/compaction_option.h"
#include "bench/heap.h"
#include "bench/phases.h"
#include "bench/registry.h"
#include "bench/steps.h"
#include "world.h"

typedef struct run_state {
    bench_env *env;
    const bench_values *values;
    bench_results *results;
    bench_error *error;
    structure_desc desc;
    uint32_t steps;
    structure_network network;
    structure_state found, reference; /* the last states */
    structure_counts left;
    bench_outputs outputs;
    bench_compaction compaction;
    uint64_t checksum; /* of the first round */
    uint32_t rounds;   /* done */
} run_state;

/* What steps and outputs are given. */
typedef struct run_world {
    run_state *run;
    structure_world world;
} run_world;

/* ---- Parameters ------------------------------------------------------------------------------ */

static int make_network(run_state *run) {
    const bench_values *values = run->values;
    structure_network_desc network = {
        .kind = bench_is(values, "network", "random") ? STRUCTURE_RANDOM : STRUCTURE_SHEET,
        .nodes = bench_u32(values, "nodes"),
        .seed = bench_u32(values, "seed"),
        .speed = bench_float(values, "speed"),
        .strength = bench_float(values, "strength"),
        .pull_percent = bench_u32(values, "pull_percent"),
        .anchor_percent = bench_u32(values, "anchor_percent"),
        .spring_percent = bench_u32(values, "spring_percent")};
    if (structure_network_create(&network, &run->network, run->error)) {
        return -1;
    }
    bench_note(run->results, "%u nodes (%u pull, %u are anchors) and %u springs",
               run->network.node_count, run->network.first_anchor - run->network.first_pull,
               run->network.node_count - run->network.first_anchor, run->network.spring_count);
    run->desc.network = &run->network;
    return 0;
}

static int read_parameters(run_state *run) {
    const bench_values *values = run->values;
    run->steps = bench_u32(values, "steps");
    run->desc = (structure_desc){.variant = bench_app_variant(values),
                                 .context = run->env->context,
                                 .device = run->env->device,
                                 .queue = run->env->queue,
                                 .clump = run->env->clump,
                                 .rules = {.iterations = bench_u32(values, "iterations"),
                                           .dt = (float)bench_float(values, "dt"),
                                           .keep = (float)(1 - bench_float(values, "damping"))},
                                 .heap_bytes = (uint64_t)bench_int(values, "heap_mb") << 20,
                                 .block_rows = bench_u32(values, "block_rows")};
    if (bench_compaction_parse(values, "id", &run->compaction, run->error)) {
        return -1;
    }
    run->desc.compaction = run->compaction.is_on ? &run->compaction.desc : NULL;
    return make_network(run) || structure_state_create(&run->network, &run->found, run->error) ||
                   structure_state_create(&run->network, &run->reference, run->error)
               ? -1
               : 0;
}

/* ---- Measuring ------------------------------------------------------------------------------- */

static int step(void *world, bench_error *error) {
    return structure_world_step(&((run_world *)world)->world, error);
}

static int finish(void *world, bench_error *error) {
    return structure_world_finish(&((run_world *)world)->world, error);
}

static int sample(void *world, double *values, bench_error *error) {
    run_world *of = world;
    if (structure_world_read(&of->world, &of->run->found, error)) {
        return -1;
    }
    structure_counts counts = structure_count(&of->run->network, &of->run->found);
    values[0] = counts.nodes;
    values[1] = counts.pull_nodes;
    values[2] = counts.anchors;
    values[3] = counts.springs;
    return 0;
}

static int draw(void *world, uint8_t *rgb, bench_error *error) {
    run_world *of = world;
    if (structure_world_read(&of->world, &of->run->found, error)) {
        return -1;
    }
    structure_draw(&of->run->network, &of->run->found, of->run->outputs.desc.width, rgb);
    return 0;
}

/* Make all steps, with outputs if there is a series for them. */
static int make_steps(run_world *world, const char *label, bench_series *series, int is_quiet,
                      double *us) {
    const run_state *run = world->run;
    bench_steps steps = {.label = label,
                         .steps = run->steps,
                         .world = world,
                         .step = step,
                         .finish = finish,
                         .heap = structure_world_heap(&world->world),
                         .sample = sample,
                         .draw = draw,
                         .outputs = &run->outputs,
                         .series = series,
                         .is_quiet = is_quiet};
    return bench_steps_run(run->env, &steps, us, run->error);
}

static void report_state(run_state *run, double us) {
    uint64_t checksum = structure_checksum(&run->found);
    run->left = structure_count(&run->network, &run->found);
    bench_sample(run->results, "time_per_step_us", "us", us);
    bench_sample(run->results, "checksum", "number", (double)(checksum & 0xffffffffu));
    bench_sample(run->results, "nodes_left", "objects",
                 (double)run->left.nodes + run->left.pull_nodes + run->left.anchors);
    bench_sample(run->results, "springs_left", "objects", run->left.springs);
    if (run->rounds++ == 0) {
        run->checksum = checksum;
        bench_note(run->results, "checksum of the structure %016" PRIx64, checksum);
    } else if (run->checksum != checksum) {
        bench_check(run->results, 0,
                    "two rounds gave different structures: %016" PRIx64 " and %016" PRIx64,
                    run->checksum, checksum);
    }
}

static int report_heap(run_state *run, const structure_world *world) {
    clump_heap *heap = structure_world_heap(world);
    clump_heap_stats stats;
    bench_error difference = {""};
    if (!heap) {
        return 0;
    }
    if (bench_heap_stats(run->env->clump, heap, NULL, 0, &stats, NULL, run->error)) {
        return -1;
    }
    clump_status status = clump_heap_check(heap);
    if (status != CLUMP_OK) {
        return bench_error_clump(run->error, "the heap", run->env->clump, status);
    }
    bench_sample(run->results, "blocks", "blocks", stats.blocks - stats.free_blocks);
    bench_sample(run->results, "fragmentation", "share", stats.fragmentation);
    int result = structure_world_check_counts(world, run->env->clump, &run->left, &difference);
    if (result > 0) {
        bench_check(run->results, 0, "%.500s", difference.text);
    } else if (result < 0) {
        *run->error = difference;
    }
    if (run->compaction.is_on) {
        bench_compaction_report(structure_world_compactions(world), run->results);
    }
    return result < 0 ? -1 : 0;
}

static int time_phase(void *world, cl_event *events, bench_error *error) {
    return structure_world_time_step(&((run_world *)world)->world, events, error);
}

/* Goes on from the final state, which has been read by now. */
static int time_phases(run_world *world) {
    const run_state *run = world->run;
    return run->desc.variant == BENCH_SEQUENTIAL
               ? 0
               : bench_phases_run(world, time_phase, structure_phase_names, STRUCTURE_PHASES,
                                  run->results, run->error);
}

static int run_round(run_state *run) {
    run_world of = {.run = run};
    double us = 0;
    if (structure_world_create(&run->desc, &of.world, run->error)) {
        return -1;
    }
    int result = make_steps(&of, bench_text(run->values, "variant"), &run->outputs.series, 0, &us);
    if (result == 0) {
        result = structure_world_read(&of.world, &run->found, run->error);
    }
    if (result == 0) {
        report_state(run, us);
        result = report_heap(run, &of.world);
    }
    if (result == 0) {
        result = time_phases(&of);
    }
    structure_world_destroy(&of.world);
    return result;
}

/* The course without compaction, beside which the profile shows the other. */
static int run_without(run_state *run) {
    run_world of = {.run = run};
    structure_desc desc = run->desc;
    double us = 0;
    desc.compaction = NULL;
    if (structure_world_create(&desc, &of.world, run->error)) {
        return -1;
    }
    int result = make_steps(&of, "not compacted", &run->outputs.without, 1, &us);
    structure_world_destroy(&of.world);
    if (result == 0) {
        bench_sample(run->results, "time_per_step_without_us", "us", us);
    }
    return result;
}

/* ---- Checking -------------------------------------------------------------------------------- */

/* What must hold of any run, whatever the reference. */
static int check_parts(run_state *run) {
    bench_error fault = {""};
    int result = structure_check(&run->network, &run->found, &fault);
    if (result > 0) {
        bench_check(run->results, 0, "%.500s", fault.text);
    } else if (result < 0) {
        *run->error = fault;
    }
    return result < 0 ? -1 : 0;
}

static int check_state(run_state *run) {
    structure_desc desc = run->desc;
    run_world of = {.run = run};
    bench_error difference = {""};
    double us = 0;
    desc.variant = BENCH_SEQUENTIAL;
    if (structure_world_create(&desc, &of.world, run->error)) {
        return -1;
    }
    int result = make_steps(&of, "sequential reference", NULL, 1, &us);
    if (result == 0) {
        result = structure_world_read(&of.world, &run->reference, run->error);
    }
    structure_world_destroy(&of.world);
    if (result) {
        return result;
    }
    bench_sample(run->results, "sequential_time_per_step_us", "us", us);
    if (structure_compare(&run->found, &run->reference, run->steps, &difference)) {
        bench_check(run->results, 0, "%.500s", difference.text);
    } else {
        bench_check(run->results, 1,
                    "all %u nodes and %u springs equal the sequential reference after %u steps",
                    run->network.node_count, run->network.spring_count, run->steps);
    }
    return 0;
}

/* ---- The benchmark --------------------------------------------------------------------------- */

static int run_rounds(run_state *run) {
    int is_sequential = run->desc.variant == BENCH_SEQUENTIAL;
    int result = run->compaction.is_on && run->outputs.profile ? run_without(run) : 0;
    for (uint32_t round = 0; result == 0 && round < run->env->repeat; round++) {
        result = run_round(run);
    }
    if (result == 0) {
        result = check_parts(run);
    }
    if (result) {
        return result;
    }
    if (bench_int(run->values, "check") && !is_sequential) {
        result = check_state(run);
    } else {
        bench_check(run->results, 1, "all that is left hangs on an anchor; %s",
                    is_sequential ? "this is the reference" : "no reference was run (check=0)");
    }
    return result ? result : bench_outputs_write(&run->outputs, run->results, run->error);
}

static int create_outputs(run_state *run, char *title, size_t bytes) {
    static const char *const columns[] = {"nodes", "pull_nodes", "anchors", "springs", NULL};
    static const bench_outputs_class classes[] = {{"Spring", "#d62728"},
                                                  {"Node", "#1f77b4"},
                                                  {"AnchorPullNode", NULL},
                                                  {"AnchorNode", NULL},
                                                  {NULL, NULL}};
    uint32_t pixels = bench_u32(run->values, "pixels");
    bench_outputs_desc desc = {
        .title = title, .columns = columns, .classes = classes, .width = pixels, .height = pixels};
    snprintf(title, bytes, "structure, %u nodes and %u springs", run->network.node_count,
             run->network.spring_count);
    return bench_outputs_create(&desc, run->values, &run->outputs, run->error);
}

static int run_structure(bench_env *env, const bench_values *values, bench_results *results) {
    run_state run = {.env = env, .values = values, .results = results, .error = &results->error};
    char title[96];
    int result = read_parameters(&run) || create_outputs(&run, title, sizeof title) ? -1 : 0;
    if (result == 0) {
        result = run_rounds(&run);
    }
    structure_state_destroy(&run.found);
    structure_state_destroy(&run.reference);
    structure_network_destroy(&run.network);
    bench_outputs_release(&run.outputs);
    return result;
}

/* clang-format off */
static const bench_param params[] = {
    {"variant", BENCH_ENUM, "clump", "objects on the heap, plain OpenCL, or plain C", 0, 0,
     "clump|soa|aos|sequential"},
    {"network", BENCH_ENUM, "sheet", "a notched sheet, or springs between any two nodes", 0, 0,
     "sheet|random"},
    {"nodes", BENCH_INT, "16000", "nodes at the start; the thesis's program has 500000 and random",
     9, STRUCTURE_NODES_MAX, NULL},
    {"steps", BENCH_INT, "50", "steps to simulate", 1, 1e6, NULL},
    {"iterations", BENCH_INT, "40", "of forces and motion in a step", 1, 10000, NULL},
    {"seed", BENCH_INT, "42", "of the network", 0, UINT32_MAX, NULL},
    {"dt", BENCH_FLOAT, "0.2", "time of an iteration", 1e-6, 10, NULL},
    {"damping", BENCH_FLOAT, "0", "share of a velocity that an iteration takes away", 0, 1, NULL},
    {"speed", BENCH_FLOAT, "1", "factor of the speed of what is pulled", 0, 1000, NULL},
    {"strength", BENCH_FLOAT, "1", "factor of the force that a spring bears", 1e-3, 1e6, NULL},
    {"pull_percent", BENCH_INT, "10", "random: nodes that pull", 0, 100, NULL},
    {"anchor_percent", BENCH_INT, "10", "random: nodes that are anchors", 0, 100, NULL},
    {"spring_percent", BENCH_INT, "70", "random: springs, of those that 5 per node allow", 0, 100,
     NULL},
    {"heap_mb", BENCH_INT, "0", "size of the heap in MiB; 0: from the network", 0, 1e6, NULL},
    {"block_rows", BENCH_INT, "0", "rows of a block; 0: from the heap", 0, 64, NULL},
    BENCH_COMPACTION_PARAMS,
    {"check", BENCH_INT, "1", "1: run the reference too and compare", 0, 1, NULL},
    BENCH_OUTPUT_PARAMS,
    {"pixels", BENCH_INT, "800", "width and height of pictures", 16, 8192, NULL},
    {NULL, BENCH_INT, NULL, NULL, 0, 0, NULL}};
/* clang-format on */

const bench_descriptor bench_app_structure = {
    .name = "app-structure",
    .sentence = "Nodes and springs that break and come off: objects only freed (thesis 7.4)",
    .params = params,
    .repeat = 1,
    .size = "nodes",
    .needs_device = bench_app_needs_device,
    .run = run_structure};
