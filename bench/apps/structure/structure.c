/* The benchmark app-structure: runs a structure in one of the variants, measures it, and compares it
 * with the reference.
 *
 * Read first: bench/bench.h, world.h.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "bench/compaction_option.h"
#include "bench/registry.h"
#include "world.h"

#define PROGRESS_PARTS 50
#define CLASSES 5

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
    bench_compaction compaction;
    uint64_t checksum; /* of the first round */
    uint32_t rounds;   /* done */
} run_state;

static uint32_t get_u32(const bench_values *values, const char *key) {
    return (uint32_t)bench_int(values, key);
}

static int needs_device(const bench_values *values) {
    return !bench_is(values, "variant", "sequential");
}

/* ---- Parameters ------------------------------------------------------------------------------ */

static structure_variant get_variant(const bench_values *values) {
    static const char *const names[] = {[STRUCTURE_CLUMP] = "clump",
                                        [STRUCTURE_SOA] = "soa",
                                        [STRUCTURE_AOS] = "aos",
                                        [STRUCTURE_SEQUENTIAL] = "sequential"};
    unsigned variant = 0;
    while (variant < STRUCTURE_SEQUENTIAL && !bench_is(values, "variant", names[variant])) {
        variant++;
    }
    return (structure_variant)variant;
}

static int make_network(run_state *run) {
    const bench_values *values = run->values;
    structure_network_desc network = {
        .kind = bench_is(values, "network", "random") ? STRUCTURE_RANDOM : STRUCTURE_SHEET,
        .nodes = get_u32(values, "nodes"),
        .seed = get_u32(values, "seed"),
        .speed = bench_float(values, "speed"),
        .strength = bench_float(values, "strength"),
        .pull_percent = get_u32(values, "pull_percent"),
        .anchor_percent = get_u32(values, "anchor_percent"),
        .spring_percent = get_u32(values, "spring_percent")};
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
    run->steps = get_u32(values, "steps");
    run->desc = (structure_desc){.variant = get_variant(values),
                                 .context = run->env->context,
                                 .device = run->env->device,
                                 .queue = run->env->queue,
                                 .clump = run->env->clump,
                                 .rules = {.iterations = get_u32(values, "iterations"),
                                           .dt = (float)bench_float(values, "dt"),
                                           .keep = (float)(1 - bench_float(values, "damping"))},
                                 .heap_bytes = (uint64_t)bench_int(values, "heap_mb") << 20,
                                 .block_rows = get_u32(values, "block_rows")};
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

/* Make all steps. The first is not measured if there are others: devices compile kernels when they
 * first run them. */
static int make_steps(run_state *run, structure_world *world, const char *label, double *us) {
    bench_progress progress;
    int result = 0;
    double total_us = 0;
    bench_progress_begin(&progress, run->env, label, run->steps);
    for (uint32_t done = 0; result == 0 && done < run->steps;) {
        uint32_t part = done ? run->steps / PROGRESS_PARTS + 1 : 1;
        uint32_t stop = part < run->steps - done ? done + part : run->steps;
        double start_us = bench_now_us();
        for (uint32_t i = done; result == 0 && i < stop; i++) {
            result = structure_world_step(world, run->error);
        }
        if (result == 0) {
            result = structure_world_finish(world, run->error);
        }
        total_us += done > 0 || run->steps == 1 ? bench_now_us() - start_us : 0;
        done = stop;
        bench_progress_update(&progress, done);
    }
    bench_progress_end(&progress);
    *us = total_us / (run->steps > 1 ? run->steps - 1 : 1);
    return result;
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
    clump_class_stats classes[CLASSES];
    clump_heap_stats stats;
    bench_error difference = {""};
    if (!heap) {
        return 0;
    }
    clump_status status = clump_heap_calc_stats(heap, &stats, classes, CLASSES);
    if (status == CLUMP_OK) {
        status = clump_heap_check(heap);
    }
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

static int run_round(run_state *run) {
    structure_world world;
    double us = 0;
    if (structure_world_create(&run->desc, &world, run->error)) {
        return -1;
    }
    int result = make_steps(run, &world, bench_text(run->values, "variant"), &us);
    if (result == 0) {
        result = structure_world_read(&world, &run->found, run->error);
    }
    if (result == 0) {
        report_state(run, us);
        result = report_heap(run, &world);
    }
    structure_world_destroy(&world);
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
    structure_world world;
    bench_error difference = {""};
    double us = 0;
    desc.variant = STRUCTURE_SEQUENTIAL;
    if (structure_world_create(&desc, &world, run->error)) {
        return -1;
    }
    int result = make_steps(run, &world, "sequential reference", &us);
    if (result == 0) {
        result = structure_world_read(&world, &run->reference, run->error);
    }
    structure_world_destroy(&world);
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
    const char *image = bench_text(run->values, "image");
    int is_sequential = run->desc.variant == STRUCTURE_SEQUENTIAL;
    int result = 0;
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
    if (result == 0 && image[0]) {
        result = structure_write_image(image, get_u32(run->values, "pixels"), &run->network,
                                       &run->found, run->error);
    }
    return result;
}

static int run_structure(bench_env *env, const bench_values *values, bench_results *results) {
    run_state run = {.env = env, .values = values, .results = results, .error = &results->error};
    int result = read_parameters(&run);
    if (result == 0) {
        result = run_rounds(&run);
    }
    structure_state_destroy(&run.found);
    structure_state_destroy(&run.reference);
    structure_network_destroy(&run.network);
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
    {"image", BENCH_STRING, "", "PNG file for the final state", 0, 0, NULL},
    {"pixels", BENCH_INT, "800", "width of the image", 16, 8192, NULL},
    {NULL, BENCH_INT, NULL, NULL, 0, 0, NULL}};
/* clang-format on */

const bench_descriptor bench_app_structure = {
    .name = "app-structure",
    .sentence = "Nodes and springs that break and come off: objects only freed (thesis 7.4)",
    .params = params,
    .repeat = 1,
    .needs_device = needs_device,
    .run = run_structure};
