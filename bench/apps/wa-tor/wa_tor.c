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
#include "bench/registry.h"
#include "output.h"

#define PHASE_STEPS 10 /* steps behind the measured ones, with an event for every phase */
#define PROGRESS_PARTS 50
#define SERIES_POINTS 250

typedef struct run_state {
    bench_env *env;
    const bench_values *values;
    bench_results *results;
    bench_error *error;
    wa_tor_rules rules;
    uint32_t steps, sample; /* sample 0: no series */
    size_t cells;
    uint32_t *codes, *reference; /* the final world, and that of the reference */
    wa_tor_series series;
    wa_tor_series without; /* the same without compaction, for the profile */
    bench_compaction compaction;
    uint64_t checksum; /* of the first round */
} run_state;

static uint32_t get_u32(const bench_values *values, const char *key) {
    return (uint32_t)bench_int(values, key);
}

static int wants(const run_state *run, const char *key) {
    return bench_text(run->values, key)[0] != '\0';
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

/* Where the clock is looked at next: after the first step, then at each sample or progress. */
static uint32_t next_stop(const run_state *run, uint32_t done) {
    uint32_t part = run->sample ? run->sample : run->steps / PROGRESS_PARTS + 1;
    uint32_t stop = done == 0 ? 1 : done - done % part + part;
    return stop < run->steps ? stop : run->steps;
}

/* The first step is not measured if there are others: devices compile kernels when they first run
 * them. */
static int is_measured(const run_state *run, uint32_t done) {
    return done > 0 || run->steps == 1;
}

static double per_step(const run_state *run, double total_us) {
    return total_us / (run->steps > 1 ? run->steps - 1 : 1);
}

static int is_sampled(const run_state *run, uint32_t done) {
    return run->sample && (done % run->sample == 0 || done == run->steps);
}

static int add_sample(run_state *run, uint32_t step, uint64_t fish, uint64_t sharks,
                      const wa_tor_usage *usage) {
    wa_tor_sample sample = {.step = step, .fish = fish, .sharks = sharks};
    if (usage) {
        sample.usage = *usage;
    }
    return wa_tor_series_add(&run->series, &sample, run->error);
}

static void report_world(run_state *run, double total_us) {
    wa_tor_population population = wa_tor_count(run->codes, run->cells);
    uint64_t checksum = wa_tor_checksum(run->codes, run->cells);
    bench_sample(run->results, "time_per_step_us", "us", per_step(run, total_us));
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

/* ---- On the heap ----------------------------------------------------------------------------- */

static int sample_heap(run_state *run, wa_tor_heap *world, uint32_t step) {
    wa_tor_usage usage;
    if (wa_tor_heap_usage(world, &usage, run->error)) {
        return -1;
    }
    return add_sample(run, step, usage.fish.objects, usage.shark.objects, &usage);
}

static int step_heap(run_state *run, wa_tor_heap *world, double *total_us) {
    bench_progress progress;
    int result = run->sample ? sample_heap(run, world, 0) : 0;
    bench_progress_begin(&progress, run->env, "wa-tor on the heap", run->steps);
    for (uint32_t done = 0; result == 0 && done < run->steps;) {
        uint32_t stop = next_stop(run, done);
        double start_us = bench_now_us();
        for (uint32_t i = done; result == 0 && i < stop; i++) {
            result =
                wa_tor_heap_step(world, NULL, run->error) || wa_tor_heap_compact(world, run->error)
                    ? -1
                    : 0;
        }
        if (result == 0) {
            result = wa_tor_heap_finish(world, run->error);
        }
        *total_us += is_measured(run, done) ? bench_now_us() - start_us : 0;
        done = stop;
        if (result == 0 && is_sampled(run, done)) {
            result = sample_heap(run, world, done);
        }
        bench_progress_update(&progress, done);
    }
    bench_progress_end(&progress);
    return result;
}

/* A phase lasts from the end of the one before to its own end, so the list of objects that a do-all
 * needs counts for it. */
static int report_phases(run_state *run, const bench_span *spans) {
    static const char *const names[] = {
#define PHASE_NAME(name, label, kernel, draw) "phase_" #label "_us",
        WA_TOR_PHASE_LIST(PHASE_NAME)
#undef PHASE_NAME
    };
    for (unsigned i = 0; i < PHASE_STEPS * WA_TOR_PHASE_COUNT; i++) {
        uint64_t begin = i > 0 ? spans[i - 1].end_ns : spans[i].start_ns;
        double us = spans[i].end_ns > begin ? (double)(spans[i].end_ns - begin) * 1e-3 : 0;
        bench_sample(run->results, names[i % WA_TOR_PHASE_COUNT], "us", us);
    }
    return 0;
}

/* Goes on from the final world, which has been read by now. */
static int time_phases(run_state *run, wa_tor_heap *world) {
    cl_event events[PHASE_STEPS][WA_TOR_PHASE_COUNT] = {{NULL}};
    bench_span spans[PHASE_STEPS * WA_TOR_PHASE_COUNT] = {{0, 0}};
    int result = 0;
    for (int step = 0; result == 0 && step < PHASE_STEPS; step++) {
        result = wa_tor_heap_step(world, events[step], run->error);
    }
    for (int i = 0; i < PHASE_STEPS * WA_TOR_PHASE_COUNT; i++) {
        cl_event event = events[i / WA_TOR_PHASE_COUNT][i % WA_TOR_PHASE_COUNT];
        if (event && bench_event_take(event, &spans[i], run->error)) {
            result = -1;
        }
    }
    return result ? result : report_phases(run, spans);
}

/* The most blocks that any sample has in use. */
static double find_peak(const wa_tor_series *series) {
    uint32_t peak = 0;
    for (size_t i = 0; i < series->count; i++) {
        const clump_heap_stats *heap = &series->samples[i].usage.heap;
        uint32_t blocks = heap->blocks - heap->free_blocks;
        peak = blocks > peak ? blocks : peak;
    }
    return peak;
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
    if (run->series.count) {
        bench_sample(run->results, "blocks_peak", "blocks", find_peak(&run->series));
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

static wa_tor_heap_desc get_heap_desc(const run_state *run) {
    wa_tor_heap_desc desc = {.context = run->env->context,
                             .queue = run->env->queue,
                             .clump = run->env->clump,
                             .rules = run->rules,
                             .heap_bytes = (uint64_t)bench_int(run->values, "heap_mb") << 20,
                             .block_rows = get_u32(run->values, "block_rows"),
                             .compaction = run->compaction.is_on ? &run->compaction.desc : NULL};
    return desc;
}

/* The course without compaction, for comparison. */
static int run_without(run_state *run) {
    wa_tor_heap_desc desc = get_heap_desc(run);
    wa_tor_heap *world = NULL;
    double total_us = 0;
    desc.compaction = NULL;
    int result = wa_tor_heap_create(&desc, &world, run->error);
    if (result == 0) {
        result = step_heap(run, world, &total_us);
    }
    wa_tor_heap_destroy(world);
    run->without = run->series;
    run->series = (wa_tor_series){NULL, 0, 0};
    if (result == 0) {
        bench_sample(run->results, "time_per_step_without_us", "us", per_step(run, total_us));
        bench_sample(run->results, "blocks_peak_without", "blocks", find_peak(&run->without));
    }
    return result;
}

static int run_heap(run_state *run) {
    wa_tor_heap_desc desc = get_heap_desc(run);
    wa_tor_heap *world = NULL;
    double total_us = 0;
    int result = wa_tor_heap_create(&desc, &world, run->error);
    if (result == 0) {
        result = step_heap(run, world, &total_us);
    }
    if (result == 0) {
        result = wa_tor_heap_encode(world, run->codes, run->error);
    }
    if (result == 0) {
        report_world(run, total_us);
        result = report_heap(run, world);
    }
    if (result == 0) {
        result = time_phases(run, world);
    }
    wa_tor_heap_destroy(world);
    return result;
}

/* ---- In sequential C ------------------------------------------------------------------------- */

static void compare_sample(run_state *run, const wa_tor_sample *sample,
                           wa_tor_population population) {
    if (sample->fish != population.fish || sample->sharks != population.sharks) {
        bench_check(run->results, 0,
                    "after %u steps there are %" PRIu64 " fish and %" PRIu64
                    " sharks, in the reference %" PRIu64 " and %" PRIu64,
                    sample->step, sample->fish, sample->sharks, population.fish, population.sharks);
    }
}

/* Run a sequential world to the end. `collect`: add samples to the series, otherwise compare the
 * populations with the samples that are there. */
static int step_sequential(run_state *run, wa_tor_world *world, const char *label, int collect,
                           double *total_us) {
    bench_progress progress;
    size_t next = 0;
    int result = 0;
    bench_progress_begin(&progress, run->env, label, run->steps);
    for (uint32_t done = 0; result == 0;) {
        wa_tor_population population = wa_tor_world_population(world);
        if (is_sampled(run, done) && collect) {
            result = add_sample(run, done, population.fish, population.sharks, NULL);
        } else if (is_sampled(run, done) && next < run->series.count) {
            compare_sample(run, &run->series.samples[next++], population);
        }
        if (done == run->steps) {
            break;
        }
        uint32_t stop = next_stop(run, done);
        double start_us = bench_now_us();
        for (uint32_t i = done; i < stop; i++) {
            wa_tor_world_step(world);
        }
        *total_us += is_measured(run, done) ? bench_now_us() - start_us : 0;
        done = stop;
        bench_progress_update(&progress, done);
    }
    bench_progress_end(&progress);
    return result;
}

static int run_sequential(run_state *run) {
    double total_us = 0;
    wa_tor_world *world = wa_tor_world_create(&run->rules, 0);
    if (!world) {
        return bench_error_set(run->error, "host memory ran out for the sequential world");
    }
    int result = step_sequential(run, world, "sequential wa-tor", 1, &total_us);
    if (result == 0) {
        wa_tor_world_encode(world, run->codes);
        report_world(run, total_us);
    }
    wa_tor_world_destroy(world);
    return result;
}

/* The reference of the heap is the sequential world; that of the sequential world is itself with
 * its cells and agents visited in another order. */
static int check_world(run_state *run) {
    int is_heap = bench_is(run->values, "variant", "clump");
    double total_us = 0;
    size_t differences = 0, first = 0;
    wa_tor_world *world = wa_tor_world_create(&run->rules, is_heap ? 0 : 1);
    if (!world) {
        return bench_error_set(run->error, "host memory ran out for the reference");
    }
    int result = step_sequential(run, world, "sequential reference", 0, &total_us);
    wa_tor_world_encode(world, run->reference);
    wa_tor_world_destroy(world);
    for (size_t i = run->cells; i > 0; i--) {
        if (run->codes[i - 1] != run->reference[i - 1]) {
            differences++;
            first = i - 1;
        }
    }
    if (is_heap) {
        bench_sample(run->results, "sequential_time_per_step_us", "us", per_step(run, total_us));
    }
    if (differences) {
        bench_check(run->results, 0,
                    "%zu of %zu cells differ from the reference, the first is %zu: "
                    "%08x instead of %08x",
                    differences, run->cells, first, run->codes[first], run->reference[first]);
    } else {
        bench_check(run->results, 1, "all %zu cells equal %s after %u steps", run->cells,
                    is_heap ? "the sequential reference" : "those of a run in shuffled order",
                    run->steps);
    }
    return result;
}

/* ---- The benchmark --------------------------------------------------------------------------- */

static int write_outputs(run_state *run) {
    const bench_values *values = run->values;
    bench_error plot_error;
    if (wants(run, "image") &&
        wa_tor_write_image(bench_text(values, "image"), &run->rules, run->codes, run->error)) {
        return -1;
    }
    if (wants(run, "csv") &&
        wa_tor_write_csv(bench_text(values, "csv"), &run->series, run->error)) {
        return -1;
    }
    if (wants(run, "profile") && wa_tor_write_profile(bench_text(values, "profile"), &run->rules,
                                                      &run->series, &run->without, &plot_error)) {
        bench_note(run->results, "%.400s", plot_error.text);
    }
    return 0;
}

static int run_rounds(run_state *run) {
    int is_heap = bench_is(run->values, "variant", "clump");
    int result = run->compaction.is_on && wants(run, "profile") ? run_without(run) : 0;
    for (uint32_t round = 0; result == 0 && round < run->env->repeat; round++) {
        run->series.count = 0;
        result = is_heap ? run_heap(run) : run_sequential(run);
    }
    if (result == 0 && bench_int(run->values, "check")) {
        result = check_world(run);
    } else if (result == 0) {
        bench_check(run->results, 1, "%s; the reference was not asked for (check=0)",
                    is_heap ? "the heap's invariants hold" : "the run finished");
    }
    return result ? result : write_outputs(run);
}

static int run_wa_tor(bench_env *env, const bench_values *values, bench_results *results) {
    run_state run = {.env = env,
                     .values = values,
                     .results = results,
                     .error = &results->error,
                     .rules = get_rules(values),
                     .steps = get_u32(values, "steps"),
                     .sample = get_u32(values, "sample")};
    const char *fault = wa_tor_rules_check(&run.rules);
    if (fault) {
        return bench_error_set(run.error, "%s", fault);
    }
    if (bench_compaction_parse(values, "position", &run.compaction, run.error)) {
        return -1;
    }
    if (!run.sample && (wants(&run, "profile") || wants(&run, "csv"))) {
        run.sample = run.steps / SERIES_POINTS + 1;
    }
    run.cells = (size_t)run.rules.width * run.rules.height;
    run.codes = malloc(run.cells * sizeof *run.codes);
    run.reference = malloc(run.cells * sizeof *run.reference);
    int result = run.codes && run.reference
                     ? run_rounds(&run)
                     : bench_error_set(run.error, "host memory ran out for the encoded worlds");
    free(run.codes);
    free(run.reference);
    free(run.series.samples);
    free(run.without.samples);
    return result;
}

static int needs_device(const bench_values *values) {
    return bench_is(values, "variant", "clump");
}

static const bench_param params[] = {
    {"variant", BENCH_ENUM, "clump", "objects on the heap, or plain C", 0, 0, "clump|sequential"},
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
    {"sample", BENCH_INT, "0", "steps between statistics; 0: none, or 250 for files", 0, 1e6, NULL},
    {"image", BENCH_STRING, "", "PNG file for the final world", 0, 0, NULL},
    {"profile", BENCH_STRING, "", "SVG or PNG file for the memory profile", 0, 0, NULL},
    {"csv", BENCH_STRING, "", "file for the course of populations and memory", 0, 0, NULL},
    {NULL, BENCH_INT, NULL, NULL, 0, 0, NULL}};

const bench_descriptor bench_app_wa_tor = {
    .name = "app-wa-tor",
    .sentence = "Fish and sharks on a torus: objects made and freed in every step (thesis 7.6)",
    .params = params,
    .repeat = 1,
    .needs_device = needs_device,
    .run = run_wa_tor};
