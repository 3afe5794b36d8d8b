/* The benchmark app-sugarscape: runs a world in one of the variants, measures it, and compares it
 * with the reference.
 *
 * Read first: world.h, bench/bench.h.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

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
    sugarscape_desc desc;
    uint32_t steps;
    size_t cells;
    sugarscape_state *found, *reference; /* the last states, and those of the reference */
    bench_outputs outputs;
    bench_compaction compaction;
    uint64_t checksum; /* of the first round */
    uint32_t rounds;   /* done */
} run_state;

/* What steps and outputs are given. */
typedef struct run_world {
    run_state *run;
    sugarscape_world world;
} run_world;

/* ---- Parameters ------------------------------------------------------------------------------ */

static int read_parameters(run_state *run) {
    const bench_values *values = run->values;
    run->steps = bench_u32(values, "steps");
    run->desc = (sugarscape_desc){.variant = bench_app_variant(values),
                                  .context = run->env->context,
                                  .device = run->env->device,
                                  .queue = run->env->queue,
                                  .clump = run->env->clump,
                                  .heap_bytes = (uint64_t)bench_int(values, "heap_mb") << 20,
                                  .block_rows = bench_u32(values, "block_rows"),
                                  .rules = {.width = bench_u32(values, "width"),
                                            .height = bench_u32(values, "height"),
                                            .seed = bench_u32(values, "seed"),
                                            .male_permille = bench_u32(values, "males"),
                                            .female_permille = bench_u32(values, "females"),
                                            .max_vision = bench_u32(values, "vision"),
                                            .max_age = bench_u32(values, "max_age"),
                                            .max_endowment = bench_u32(values, "endowment"),
                                            .max_metabolism = bench_u32(values, "metabolism"),
                                            .max_children = bench_u32(values, "children"),
                                            .mating_age = bench_u32(values, "mating_age"),
                                            .capacity = bench_u32(values, "capacity"),
                                            .source_permille = bench_u32(values, "sources"),
                                            .max_growth = bench_u32(values, "growth"),
                                            .diffusion = bench_u32(values, "diffusion"),
                                            .max_diffusion = bench_u32(values, "max_diffusion")}};
    if (sugarscape_rules_finish(&run->desc.rules, run->error) ||
        bench_compaction_parse(values, "position", &run->compaction, run->error)) {
        return -1;
    }
    run->desc.compaction = run->compaction.is_on ? &run->compaction.desc : NULL;
    run->cells = sugarscape_cells(&run->desc.rules);
    return 0;
}

/* ---- Measuring ------------------------------------------------------------------------------- */

static int step(void *world, bench_error *error) {
    return sugarscape_world_step(&((run_world *)world)->world, error);
}

static int finish(void *world, bench_error *error) {
    return sugarscape_world_finish(&((run_world *)world)->world, error);
}

static int sample(void *world, double *values, bench_error *error) {
    run_world *of = world;
    if (sugarscape_world_read(&of->world, of->run->found, error)) {
        return -1;
    }
    sugarscape_census census = sugarscape_count(of->run->found, of->run->cells);
    values[0] = (double)census.males;
    values[1] = (double)census.females;
    values[2] = (double)census.cell_sugar;
    values[3] = (double)census.agent_sugar;
    return 0;
}

static int draw(void *world, uint8_t *rgb, bench_error *error) {
    run_world *of = world;
    if (sugarscape_world_read(&of->world, of->run->found, error)) {
        return -1;
    }
    sugarscape_draw(of->run->found, of->run->cells, rgb);
    return 0;
}

/* All steps. `series`: where samples go. `is_quiet`: no pictures. */
static int make_steps(run_world *world, const char *label, bench_series *series, int is_quiet,
                      double *us) {
    const run_state *run = world->run;
    bench_steps steps = {.label = label,
                         .steps = run->steps,
                         .world = world,
                         .step = step,
                         .finish = finish,
                         .heap = sugarscape_world_heap(&world->world),
                         .sample = sample,
                         .draw = draw,
                         .outputs = &run->outputs,
                         .series = series,
                         .is_quiet = is_quiet};
    return bench_steps_run(run->env, &steps, us, run->error);
}

static void report_world(run_state *run, double us) {
    bench_error fault = {""};
    sugarscape_census census = sugarscape_count(run->found, run->cells);
    uint64_t checksum = sugarscape_checksum(run->found, run->cells);
    bench_sample(run->results, "time_per_step_us", "us", us);
    bench_sample(run->results, "checksum", "number", (double)(checksum & 0xffffffffu));
    bench_sample(run->results, "males", "objects", (double)census.males);
    bench_sample(run->results, "females", "objects", (double)census.females);
    if (run->rounds++ == 0) {
        run->checksum = checksum;
        bench_note(run->results, "checksum of the world %016" PRIx64, checksum);
    } else if (run->checksum != checksum) {
        bench_check(run->results, 0,
                    "two rounds gave different worlds: %016" PRIx64 " and %016" PRIx64,
                    run->checksum, checksum);
    }
    if (sugarscape_check(&run->desc.rules, run->found, &fault)) {
        bench_check(run->results, 0, "%.500s", fault.text);
    }
}

static int report_heap(run_state *run, const sugarscape_world *world) {
    static const char *const names[] = {"Male", "Female"};
    clump_heap *heap = sugarscape_world_heap(world);
    clump_class_stats classes[2];
    clump_heap_stats stats;
    if (!heap) {
        return 0;
    }
    if (bench_heap_stats(run->env->clump, heap, names, 2, &stats, classes, run->error)) {
        return -1;
    }
    bench_sample(run->results, "blocks", "blocks", stats.blocks - stats.free_blocks);
    bench_sample(run->results, "fragmentation", "share", stats.fragmentation);
    bench_sample(run->results, "fragmentation_males", "share", classes[0].fragmentation);
    bench_sample(run->results, "fragmentation_females", "share", classes[1].fragmentation);
    if (run->compaction.is_on) {
        bench_compaction_report(sugarscape_world_compactions(world), run->results);
    }
    sugarscape_census census = sugarscape_count(run->found, run->cells);
    if (classes[0].objects != census.males || classes[1].objects != census.females) {
        bench_check(run->results, 0,
                    "the heap holds %" PRIu64 " males and %" PRIu64 " females, the cells %" PRIu64
                    " and %" PRIu64,
                    classes[0].objects, classes[1].objects, census.males, census.females);
    }
    clump_status status = clump_heap_check(heap);
    return status == CLUMP_OK
               ? 0
               : bench_error_clump(run->error, "the heap check", run->env->clump, status);
}

static int time_phase(void *world, cl_event *events, bench_error *error) {
    return sugarscape_world_time_step(&((run_world *)world)->world, events, error);
}

/* Goes on from the final state, which has been read by now. */
static int time_phases(run_world *world) {
    static const char *const names[] = {
#define PHASE_NAME(name) #name,
        SUGARSCAPE_PHASE_LIST(PHASE_NAME)
#undef PHASE_NAME
    };
    const run_state *run = world->run;
    return run->desc.variant == BENCH_SEQUENTIAL
               ? 0
               : bench_phases_run(world, time_phase, names, SUGARSCAPE_PHASES, run->results,
                                  run->error);
}

static int run_round(run_state *run) {
    run_world of = {.run = run};
    double us = 0;
    if (sugarscape_world_create(&run->desc, &of.world, run->error)) {
        return -1;
    }
    int result = make_steps(&of, bench_text(run->values, "variant"), &run->outputs.series, 0, &us);
    if (result == 0) {
        result = sugarscape_world_read(&of.world, run->found, run->error);
    }
    if (result == 0) {
        report_world(run, us);
        result = report_heap(run, &of.world);
    }
    if (result == 0) {
        result = time_phases(&of);
    }
    sugarscape_world_destroy(&of.world);
    return result;
}

/* The course without compaction, beside which the profile shows the other. */
static int run_without(run_state *run) {
    run_world of = {.run = run};
    sugarscape_desc desc = run->desc;
    double us = 0;
    desc.compaction = NULL;
    if (sugarscape_world_create(&desc, &of.world, run->error)) {
        return -1;
    }
    int result = make_steps(&of, "not compacted", &run->outputs.without, 1, &us);
    sugarscape_world_destroy(&of.world);
    if (result == 0) {
        bench_sample(run->results, "time_per_step_without_us", "us", us);
    }
    return result;
}

/* Samples of the run must be those of the reference too. */
static int check_world(run_state *run) {
    sugarscape_desc desc = run->desc;
    run_world of = {.run = run};
    bench_error difference = {""};
    bench_series series = {.columns = 0};
    double us = 0;
    desc.variant = BENCH_SEQUENTIAL;
    if (sugarscape_world_create(&desc, &of.world, run->error)) {
        return -1;
    }
    sugarscape_state *found = run->found; /* samples read into it */
    run->found = run->reference;
    int result = make_steps(&of, "sequential reference", &series, 1, &us);
    run->found = found;
    if (result == 0) {
        result = sugarscape_world_read(&of.world, run->reference, run->error);
    }
    sugarscape_world_destroy(&of.world);
    if (result == 0) {
        bench_sample(run->results, "sequential_time_per_step_us", "us", us);
        if (bench_series_compare(&run->outputs.series, &series,
                                 bench_outputs_own_columns(&run->outputs), &difference) ||
            sugarscape_compare(&desc.rules, run->found, run->reference, run->steps, &difference)) {
            bench_check(run->results, 0, "%.500s", difference.text);
        } else {
            bench_check(run->results, 1,
                        "all %zu cells equal the sequential reference after %u steps", run->cells,
                        run->steps);
        }
    }
    bench_series_release(&series);
    return result;
}

/* ---- The benchmark --------------------------------------------------------------------------- */

static int run_rounds(run_state *run) {
    int is_sequential = run->desc.variant == BENCH_SEQUENTIAL;
    int result = run->compaction.is_on && run->outputs.profile ? run_without(run) : 0;
    for (uint32_t round = 0; result == 0 && round < run->env->repeat; round++) {
        result = run_round(run);
    }
    if (result == 0 && bench_int(run->values, "check") && !is_sequential) {
        result = check_world(run);
    } else if (result == 0) {
        bench_check(run->results, 1, "all agents are as the rules allow; %s",
                    is_sequential ? "this is the reference" : "no reference was run (check=0)");
    }
    return result ? result : bench_outputs_write(&run->outputs, run->results, run->error);
}

static int create_outputs(run_state *run, char *title, size_t bytes) {
    static const char *const columns[] = {"males", "females", "cell_sugar", "agent_sugar", NULL};
    static const bench_outputs_class classes[] = {
        {"Male", "#1f5ac8"}, {"Female", "#d7283c"}, {"Cell", NULL}, {NULL, NULL}};
    uint32_t width = run->desc.rules.width, height = run->desc.rules.height;
    bench_outputs_desc desc = {
        .title = title, .columns = columns, .classes = classes, .width = width, .height = height};
    snprintf(title, bytes, "Sugarscape, %u x %u cells", width, height);
    return bench_outputs_create(&desc, run->values, &run->outputs, run->error);
}

static int run_sugarscape(bench_env *env, const bench_values *values, bench_results *results) {
    run_state run = {.env = env, .values = values, .results = results, .error = &results->error};
    char title[96];
    if (read_parameters(&run) || create_outputs(&run, title, sizeof title)) {
        return -1;
    }
    run.found = calloc(run.cells, sizeof *run.found);
    run.reference = calloc(run.cells, sizeof *run.reference);
    int result = run.found && run.reference
                     ? run_rounds(&run)
                     : bench_error_set(run.error, "host memory ran out for the states");
    free(run.found);
    free(run.reference);
    bench_outputs_release(&run.outputs);
    return result;
}

static const bench_param params[] = {
    {"variant", BENCH_ENUM, "clump", "objects, agents merged into cells, or plain C", 0, 0,
     "clump|soa|aos|sequential"},
    {"width", BENCH_INT, "512", "cells of a row", 1, 65535, NULL},
    {"height", BENCH_INT, "512", "rows of cells", 1, 65535, NULL},
    {"steps", BENCH_INT, "100", "steps to simulate", 1, 1e6, NULL},
    {"seed", BENCH_INT, "42", "decides the whole course", 0, UINT32_MAX, NULL},
    {"males", BENCH_INT, "120", "males at the start, per 1000 cells", 0, 1000, NULL},
    {"females", BENCH_INT, "150", "females at the start, per 1000 cells", 0, 1000, NULL},
    {"vision", BENCH_INT, "2", "the farthest that an agent sees, in cells", 1,
     SUGARSCAPE_VISION_MAX, NULL},
    {"max_age", BENCH_INT, "100", "steps that the oldest live", 1, 65534, NULL},
    {"endowment", BENCH_INT, "200", "the most sugar to have before mating", 1, 65535, NULL},
    {"metabolism", BENCH_INT, "80", "the most sugar to live for a step", 1, 65535, NULL},
    {"children", BENCH_INT, "8", "the most children of a female", 1, 255, NULL},
    {"mating_age", BENCH_INT, "22", "steps before mating", 0, 65535, NULL},
    {"capacity", BENCH_INT, "3500", "sugar beyond which a cell does not grow", 0, 1u << 20, NULL},
    {"sources", BENCH_INT, "400", "cells that grow sugar, per 1000", 0, 1000, NULL},
    {"growth", BENCH_INT, "50", "the most sugar that grows in a step", 1, 255, NULL},
    {"diffusion", BENCH_INT, "6", "d: a cell gives each neighbour sugar / 2^d", 3, 31, NULL},
    {"max_diffusion", BENCH_INT, "7", "but no more than this", 0, 255, NULL},
    {"heap_mb", BENCH_INT, "0", "size of the heap in MiB; 0: from the cells", 0, 1e6, NULL},
    {"block_rows", BENCH_INT, "0", "rows of a block; 0: from the heap", 0, 64, NULL},
    BENCH_COMPACTION_PARAMS,
    {"check", BENCH_INT, "1", "1: run the reference too and compare", 0, 1, NULL},
    BENCH_OUTPUT_PARAMS,
    {NULL, BENCH_INT, NULL, NULL, 0, 0, NULL}};

const bench_descriptor bench_app_sugarscape = {
    .name = "app-sugarscape",
    .sentence = "Agents that seek sugar, mate and die on a grid of cells (thesis 7.7)",
    .params = params,
    .repeat = 1,
    .size = "height",
    .needs_device = bench_app_needs_device,
    .run = run_sugarscape};
