/* The benchmark app-wa-tor: runs a world, measures it, and compares it with the reference.
 *
 * Read first: wa_tor.h, bench/bench.h.
 */
#include "wa_tor.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "bench/compaction_option.h"
#include "bench/outputs.h"
#include "bench/phases.h"
#include "bench/registry.h"
#include "bench/steps.h"

typedef struct run_state {
    bench_env *env;
    const bench_values *values;
    bench_results *results;
    bench_error *error;
    wa_tor_desc desc;
    uint32_t steps;
    size_t cells;
    uint32_t *codes, *reference; /* the final world, and that of the reference */
    bench_outputs outputs;
    bench_compaction compaction;
    uint64_t checksum; /* of the first round */
} run_state;

/* What steps and outputs are given. */
typedef struct run_world {
    run_state *run;
    wa_tor_any world;
} run_world;

static uint32_t get_u32(const bench_values *values, const char *key) {
    return (uint32_t)bench_int(values, key);
}

static wa_tor_rules get_rules(const bench_values *values) {
    wa_tor_rules rules = {.width = get_u32(values, "width"),
                          .height = get_u32(values, "height"),
                          .seed = get_u32(values, "seed"),
                          .fish_permille = get_u32(values, "fish"),
                          .shark_permille = get_u32(values, "sharks"),
                          .fish_spawn = get_u32(values, "fish_spawn"),
                          .shark_spawn = get_u32(values, "shark_spawn"),
                          .shark_energy = get_u32(values, "shark_energy"),
                          .shark_gain = get_u32(values, "shark_gain")};
    return rules;
}

static wa_tor_variant get_variant(const bench_values *values) {
    static const char *const names[] = {
        [WA_TOR_CLUMP] = "clump", [WA_TOR_SOA] = "soa", [WA_TOR_AOS] = "aos"};
    int variant = WA_TOR_CLUMP;
    while (variant < WA_TOR_SEQUENTIAL && !bench_is(values, "variant", names[variant])) {
        variant++;
    }
    return (wa_tor_variant)variant;
}

static wa_tor_desc get_desc(bench_env *env, const bench_values *values) {
    wa_tor_desc desc = {.variant = get_variant(values),
                        .context = env->context,
                        .device = env->device,
                        .queue = env->queue,
                        .rules = get_rules(values),
                        .clump = env->clump,
                        .heap_bytes = (uint64_t)bench_int(values, "heap_mb") << 20,
                        .block_rows = get_u32(values, "block_rows")};
    return desc;
}

/* ---- What is done with a world of any variant ------------------------------------------------ */

static int step(void *world, bench_error *error) {
    return wa_tor_any_step(&((run_world *)world)->world, error);
}

static int finish(void *world, bench_error *error) {
    return wa_tor_any_finish(&((run_world *)world)->world, error);
}

static int sample(void *world, double *values, bench_error *error) {
    run_world *of = world;
    run_state *run = of->run;
    if (wa_tor_any_encode(&of->world, run->codes, error)) {
        return -1;
    }
    wa_tor_population population = wa_tor_count(run->codes, run->cells);
    values[0] = (double)population.fish;
    values[1] = (double)population.sharks;
    return 0;
}

static int draw(void *world, uint8_t *rgb, bench_error *error) {
    run_world *of = world;
    if (wa_tor_any_encode(&of->world, of->run->codes, error)) {
        return -1;
    }
    wa_tor_paint(&of->run->desc.rules, of->run->codes, rgb);
    return 0;
}

/* All steps. `series`: where samples go. `is_quiet`: no pictures. */
static int run_steps(run_world *of, const char *label, bench_series *series, int is_quiet,
                     double *us) {
    const run_state *run = of->run;
    bench_steps steps = {.label = label,
                         .steps = run->steps,
                         .world = of,
                         .step = step,
                         .finish = finish,
                         .heap = of->world.heap ? wa_tor_heap_get(of->world.heap) : NULL,
                         .sample = sample,
                         .draw = draw,
                         .outputs = &run->outputs,
                         .series = series,
                         .is_quiet = is_quiet};
    return bench_steps_run(run->env, &steps, us, run->error);
}

static void report_world(run_state *run, double us) {
    wa_tor_population population = wa_tor_count(run->codes, run->cells);
    uint64_t checksum = wa_tor_checksum(run->codes, run->cells);
    bench_sample(run->results, "time_per_step_us", "us", us);
    bench_sample(run->results, "checksum", "number", (double)(checksum & 0xffffffffu));
    bench_sample(run->results, "fish", "objects", (double)population.fish);
    bench_sample(run->results, "sharks", "objects", (double)population.sharks);
    if (!run->checksum) {
        run->checksum = checksum;
        bench_note(run->results, "checksum of the world %016" PRIx64, checksum);
    } else if (run->checksum != checksum) {
        bench_check(run->results, 0,
                    "two rounds gave different worlds: %016" PRIx64 " and %016" PRIx64,
                    run->checksum, checksum);
    }
}

static int time_phase(void *world, cl_event *events, bench_error *error) {
    return wa_tor_any_time_step(&((run_world *)world)->world, events, error);
}

/* Goes on from the final world, which has been read by now. */
static int time_phases(run_world *of) {
    const char *const *names;
    uint32_t count = wa_tor_any_phases(&of->world, &names);
    return count ? bench_phases_run(of, time_phase, names, count, of->run->results, of->run->error)
                 : 0;
}

static int report_heap(run_state *run, wa_tor_heap *world) {
    wa_tor_usage usage;
    if (wa_tor_heap_usage(world, &usage, run->error)) {
        return -1;
    }
    double blocks = usage.heap.blocks - usage.heap.free_blocks;
    bench_sample(run->results, "blocks", "blocks", blocks);
    bench_sample(run->results, "fragmentation", "share", usage.heap.fragmentation);
    bench_sample(run->results, "fragmentation_fish", "share", usage.fish.fragmentation);
    bench_sample(run->results, "fragmentation_sharks", "share", usage.shark.fragmentation);
    if (run->outputs.series.rows) {
        bench_sample(run->results, "blocks_peak", "blocks",
                     bench_series_max(&run->outputs.series, "blocks"));
    }
    if (run->compaction.is_on) {
        bench_compaction_report(wa_tor_heap_compactions(world), run->results);
    }
    wa_tor_population population = wa_tor_count(run->codes, run->cells);
    if (usage.fish.objects != population.fish || usage.shark.objects != population.sharks) {
        bench_check(run->results, 0,
                    "the heap holds %" PRIu64 " fish and %" PRIu64 " sharks, the cells %" PRIu64
                    " and %" PRIu64,
                    usage.fish.objects, usage.shark.objects, population.fish, population.sharks);
    }
    clump_status status = clump_heap_check(wa_tor_heap_get(world));
    if (status != CLUMP_OK) {
        return bench_error_clump(run->error, "the heap check", run->env->clump, status);
    }
    return 0;
}

static int run_round(run_state *run) {
    run_world of = {.run = run};
    double us = 0;
    if (wa_tor_any_create(&run->desc, &of.world, run->error)) {
        return -1;
    }
    int result = run_steps(&of, bench_text(run->values, "variant"), &run->outputs.series, 0, &us);
    if (result == 0) {
        result = wa_tor_any_encode(&of.world, run->codes, run->error);
    }
    if (result == 0) {
        report_world(run, us);
        result = of.world.heap ? report_heap(run, of.world.heap) : 0;
    }
    if (result == 0) {
        result = time_phases(&of);
    }
    wa_tor_any_destroy(&of.world);
    return result;
}

/* The course without compaction, for comparison. */
static int run_without(run_state *run) {
    wa_tor_desc desc = run->desc;
    run_world of = {.run = run};
    double us = 0;
    desc.compaction = NULL;
    if (wa_tor_any_create(&desc, &of.world, run->error)) {
        return -1;
    }
    int result = run_steps(&of, "not compacted", &run->outputs.without, 1, &us);
    wa_tor_any_destroy(&of.world);
    if (result == 0) {
        bench_sample(run->results, "time_per_step_without_us", "us", us);
        bench_sample(run->results, "blocks_peak_without", "blocks",
                     bench_series_max(&run->outputs.without, "blocks"));
    }
    return result;
}

/* ---- The check ------------------------------------------------------------------------------- */

static void compare_samples(run_state *run, const bench_series *expected) {
    bench_error difference;
    if (bench_series_compare(&run->outputs.series, expected,
                             bench_outputs_own_columns(&run->outputs), &difference)) {
        bench_check(run->results, 0, "%.500s", difference.text);
    }
}

static void compare_worlds(run_state *run, const char *reference) {
    size_t differences = 0, first = 0;
    for (size_t i = run->cells; i > 0; i--) {
        if (run->codes[i - 1] != run->reference[i - 1]) {
            differences++;
            first = i - 1;
        }
    }
    if (differences) {
        bench_check(run->results, 0,
                    "%zu of %zu cells differ from the reference, the first is %zu: "
                    "%08x instead of %08x",
                    differences, run->cells, first, run->codes[first], run->reference[first]);
    } else {
        bench_check(run->results, 1, "all %zu cells equal %s after %u steps", run->cells, reference,
                    run->steps);
    }
}

/* The reference is the sequential world; that of the sequential world is itself with its cells and
 * agents visited in another order. */
static int check_world(run_state *run) {
    int is_sequential = run->desc.variant == WA_TOR_SEQUENTIAL;
    wa_tor_desc desc = run->desc;
    run_world of = {.run = run};
    bench_series series = {.columns = 0};
    double us = 0;
    desc.variant = WA_TOR_SEQUENTIAL;
    desc.shuffle = is_sequential ? 1 : 0;
    if (wa_tor_any_create(&desc, &of.world, run->error)) {
        return -1;
    }
    uint32_t *found = run->codes; /* samples read into it */
    run->codes = run->reference;
    int result = run_steps(&of, "sequential reference", &series, 1, &us);
    run->codes = found;
    wa_tor_world_encode(of.world.sequential, run->reference);
    wa_tor_any_destroy(&of.world);
    if (result == 0) {
        compare_samples(run, &series);
        compare_worlds(
            run, is_sequential ? "those of a run in shuffled order" : "the sequential reference");
    }
    if (result == 0 && !is_sequential) {
        bench_sample(run->results, "sequential_time_per_step_us", "us", us);
    }
    bench_series_release(&series);
    return result;
}

/* ---- The benchmark --------------------------------------------------------------------------- */

static int run_rounds(run_state *run) {
    int result = run->compaction.is_on && run->outputs.profile ? run_without(run) : 0;
    for (uint32_t round = 0; result == 0 && round < run->env->repeat; round++) {
        result = run_round(run);
    }
    if (result == 0 && bench_int(run->values, "check")) {
        result = check_world(run);
    } else if (result == 0) {
        bench_check(
            run->results, 1, "%s; the reference was not asked for (check=0)",
            run->desc.variant == WA_TOR_CLUMP ? "the heap's invariants hold" : "the run finished");
    }
    return result ? result : bench_outputs_write(&run->outputs, run->results, run->error);
}

static int create_outputs(run_state *run, char *title, size_t bytes) {
    static const char *const columns[] = {"fish", "sharks", NULL};
    static const bench_outputs_class classes[] = {
        {"Fish", "#2ca02c"}, {"Shark", "#d62728"}, {"Cell", NULL}, {NULL, NULL}};
    bench_outputs_desc desc = {.title = title,
                               .columns = columns,
                               .classes = classes,
                               .width = run->desc.rules.width,
                               .height = run->desc.rules.height};
    snprintf(title, bytes, "Wa-Tor, %u x %u cells", run->desc.rules.width, run->desc.rules.height);
    return bench_outputs_create(&desc, run->values, &run->outputs, run->error);
}

static int run_wa_tor(bench_env *env, const bench_values *values, bench_results *results) {
    run_state run = {.env = env,
                     .values = values,
                     .results = results,
                     .error = &results->error,
                     .desc = get_desc(env, values),
                     .steps = get_u32(values, "steps")};
    char title[96];
    const char *fault = wa_tor_rules_check(&run.desc.rules);
    if (fault) {
        return bench_error_set(run.error, "%s", fault);
    }
    if (bench_compaction_parse(values, "position", &run.compaction, run.error) ||
        create_outputs(&run, title, sizeof title)) {
        return -1;
    }
    run.desc.compaction = run.compaction.is_on ? &run.compaction.desc : NULL;
    run.cells = (size_t)run.desc.rules.width * run.desc.rules.height;
    run.codes = malloc(run.cells * sizeof *run.codes);
    run.reference = malloc(run.cells * sizeof *run.reference);
    int result = run.codes && run.reference
                     ? run_rounds(&run)
                     : bench_error_set(run.error, "host memory ran out for the encoded worlds");
    free(run.codes);
    free(run.reference);
    bench_outputs_release(&run.outputs);
    return result;
}

static int needs_device(const bench_values *values) {
    return get_variant(values) != WA_TOR_SEQUENTIAL;
}

static const bench_param params[] = {
    {"variant", BENCH_ENUM, "clump", "objects on the heap, agents merged into cells, or plain C", 0,
     0, "clump|soa|aos|sequential"},
    {"width", BENCH_INT, "512", "cells of a row", 1, 65536, NULL},
    {"height", BENCH_INT, "512", "rows of cells", 1, 65536, NULL},
    {"steps", BENCH_INT, "500", "steps to simulate", 1, 1e6, NULL},
    {"seed", BENCH_INT, "42", "decides the whole course", 0, UINT32_MAX, NULL},
    {"fish", BENCH_INT, "300", "fish at the start, per 1000 cells", 0, 1000, NULL},
    {"sharks", BENCH_INT, "50", "sharks at the start, per 1000 cells", 0, 1000, NULL},
    {"fish_spawn", BENCH_INT, "4", "steps after which a moving fish spawns", 0, 4094, NULL},
    {"shark_spawn", BENCH_INT, "5", "steps after which a moving shark spawns", 0, 4094, NULL},
    {"shark_energy", BENCH_INT, "3", "steps that a new shark lives unfed", 1, 65535, NULL},
    {"shark_gain", BENCH_INT, "2", "steps that a fish adds to a shark's life", 0, 65535, NULL},
    {"heap_mb", BENCH_INT, "0", "size of the heap in MiB; 0: from the cells", 0, 1e6, NULL},
    {"block_rows", BENCH_INT, "0", "rows of a block of fish; 0: from the heap", 0, 64, NULL},
    BENCH_COMPACTION_PARAMS,
    {"check", BENCH_INT, "1", "1: run the reference too and compare", 0, 1, NULL},
    BENCH_OUTPUT_PARAMS,
    {NULL, BENCH_INT, NULL, NULL, 0, 0, NULL}};

const bench_descriptor bench_app_wa_tor = {
    .name = "app-wa-tor",
    .sentence = "Fish and sharks on a torus: objects made and freed in every step (thesis 7.6)",
    .params = params,
    .repeat = 1,
    .size = "height",
    .needs_device = needs_device,
    .run = run_wa_tor};
