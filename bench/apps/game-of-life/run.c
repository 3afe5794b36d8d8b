/* A run of any variant. See run.h. */
#include "run.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/outputs.h"
#include "bench/phases.h"
#include "bench/steps.h"
#include "game_of_life.h"
#include "pattern.h"

#define SIDE_DEFAULT 512

typedef struct run_state {
    bench_env *env;
    const bench_values *values;
    bench_results *results;
    bench_error *error;
    life_rules rules;
    uint32_t steps;
    size_t cells;
    uint8_t *start, *codes, *reference; /* the first world, the last, and that of the reference */
    bench_outputs outputs;
    bench_compaction compaction;
    uint64_t checksum; /* of the first round */
    int has_checksum;
} run_state;

/* A world of one of the variants; the others are NULL. */
typedef struct any_world {
    run_state *run;
    life_heap *heap;
    life_grid *grid;
    life_world *sequential;
} any_world;

static uint32_t get_u32(const bench_values *values, const char *key) {
    return (uint32_t)bench_int(values, key);
}

static int is_variant(const run_state *run, const char *name) {
    return bench_is(run->values, "variant", name);
}

/* ---- The variants behind one face ------------------------------------------------------------ */

static int create_world(run_state *run, any_world *world) {
    life_desc desc = {.rules = run->rules, .codes = run->start};
    *world = (any_world){.run = run};
    if (is_variant(run, "sequential")) {
        world->sequential = life_world_create(&run->rules, run->start, 0);
        return world->sequential ? 0 : bench_error_set(run->error, "host memory ran out");
    }
    desc.context = run->env->context;
    desc.queue = run->env->queue;
    desc.device = run->env->device;
    desc.clump = run->env->clump;
    desc.heap_bytes = (uint64_t)bench_int(run->values, "heap_mb") << 20;
    desc.block_rows = get_u32(run->values, "block_rows");
    desc.compaction = run->compaction.is_on ? &run->compaction.desc : NULL;
    return is_variant(run, "soa") ? life_grid_create(&desc, &world->grid, run->error)
                                  : life_heap_create(&desc, &world->heap, run->error);
}

static void destroy_world(any_world *world) {
    life_heap_destroy(world->heap);
    life_grid_destroy(world->grid);
    life_world_destroy(world->sequential);
}

static int step_world(void *self, bench_error *error) {
    const any_world *world = self;
    if (world->heap) {
        return life_heap_step(world->heap, NULL, error) || life_heap_compact(world->heap, error)
                   ? -1
                   : 0;
    }
    if (world->grid) {
        return life_grid_step(world->grid, NULL, error);
    }
    life_world_step(world->sequential);
    return 0;
}

static int finish_world(void *self, bench_error *error) {
    const any_world *world = self;
    return world->heap   ? life_heap_finish(world->heap, error)
           : world->grid ? life_grid_finish(world->grid, error)
                         : 0;
}

/* Into run->codes. */
static int encode_world(const any_world *world) {
    run_state *run = world->run;
    uint32_t misfits = 0;
    if (world->sequential) {
        life_world_encode(world->sequential, run->codes);
        return 0;
    }
    if (world->grid) {
        return life_grid_encode(world->grid, run->codes, run->error);
    }
    if (life_heap_encode(world->heap, run->codes, &misfits, run->error)) {
        return -1;
    }
    if (misfits) {
        bench_check(run->results, 0, "%u cells have an agent that does not fit them", misfits);
    }
    return 0;
}

/* Living cells black, dying ones gray and paler with time, candidates red (thesis Fig. 7.22). */
static void color(const run_state *run, uint32_t x, uint32_t y, uint8_t *rgb) {
    uint32_t state = run->codes[(size_t)y * run->rules.width + x];
    if (state > 0) {
        uint32_t gray = state == 1 ? 0 : 90 + 140 * (state - 2) / run->rules.states;
        memset(rgb, (int)gray, 3);
        return;
    }
    memset(rgb, 255, 3);
    if (life_is_beside_life(&run->rules, run->codes, x, y)) {
        rgb[1] = rgb[2] = 130;
    }
}

static int draw_world(void *self, uint8_t *rgb, bench_error *error) {
    const any_world *world = self;
    (void)error; /* encode_world() leaves it in the run's, which is the same */
    if (encode_world(world)) {
        return -1;
    }
    for (uint32_t y = 0; y < world->run->rules.height; y++) {
        for (uint32_t x = 0; x < world->run->rules.width; x++) {
            color(world->run, x, y, &rgb[3 * ((size_t)y * world->run->rules.width + x)]);
        }
    }
    return 0;
}

static int sample_world(void *self, double *values, bench_error *error) {
    const any_world *world = self;
    (void)error;
    if (encode_world(world)) {
        return -1;
    }
    life_population population = life_count(&world->run->rules, world->run->codes);
    values[0] = (double)population.alive;
    values[1] = (double)population.dying;
    values[2] = (double)population.candidates;
    return 0;
}

/* ---- Measuring ------------------------------------------------------------------------------- */

static int run_steps(any_world *world, const char *label, bench_series *series, int is_quiet,
                     double *us) {
    const run_state *run = world->run;
    bench_steps steps = {.label = label,
                         .steps = run->steps,
                         .world = world,
                         .step = step_world,
                         .finish = finish_world,
                         .heap = world->heap ? life_heap_get(world->heap) : NULL,
                         .sample = sample_world,
                         .draw = draw_world,
                         .outputs = &run->outputs,
                         .series = series,
                         .is_quiet = is_quiet};
    return bench_steps_run(run->env, &steps, us, run->error);
}

static int time_step(void *self, cl_event *events, bench_error *error) {
    const any_world *world = self;
    return world->heap ? life_heap_step(world->heap, events, error)
                       : life_grid_step(world->grid, events, error);
}

/* Goes on from the final world, which has been read by now. */
static int time_phases(run_state *run, any_world *world) {
    static const char *const heap_phases[LIFE_HEAP_PHASES] = {"announce", "settle"};
    static const char *const grid_phases[] = {"step"};
    if (world->sequential) {
        return 0;
    }
    return bench_phases_run(world, time_step, world->heap ? heap_phases : grid_phases,
                            world->heap ? LIFE_HEAP_PHASES : 1, run->results, run->error);
}

static void report_world(run_state *run, double us) {
    life_population population = life_count(&run->rules, run->codes);
    uint64_t checksum = life_checksum(run->codes, run->cells);
    bench_sample(run->results, "time_per_step_us", "us", us);
    bench_sample(run->results, "checksum", "number", (double)(checksum & 0xffffffffu));
    bench_sample(run->results, "alive", "cells", (double)population.alive);
    if (run->rules.states > 2) {
        bench_sample(run->results, "dying", "cells", (double)population.dying);
    }
    bench_sample(run->results, "candidates", "cells", (double)population.candidates);
    if (!run->has_checksum) {
        run->has_checksum = 1;
        run->checksum = checksum;
        bench_note(run->results, "checksum of the world %016" PRIx64, checksum);
    } else if (run->checksum != checksum) {
        bench_check(run->results, 0,
                    "two rounds gave different worlds: %016" PRIx64 " and %016" PRIx64,
                    run->checksum, checksum);
    }
}

static int report_heap(run_state *run, life_heap *heap) {
    life_usage usage;
    if (life_heap_usage(heap, &usage, run->error)) {
        return -1;
    }
    life_population population = life_count(&run->rules, run->codes);
    bench_sample(run->results, "blocks", "blocks", usage.heap.blocks - usage.heap.free_blocks);
    bench_sample(run->results, "fragmentation", "share", usage.heap.fragmentation);
    bench_sample(run->results, "fragmentation_alive", "share", usage.alive.fragmentation);
    bench_sample(run->results, "fragmentation_candidates", "share", usage.candidate.fragmentation);
    if (run->compaction.is_on) {
        bench_compaction_report(life_heap_compactions(heap), run->results);
    }
    if (usage.alive.objects != population.alive + population.dying ||
        usage.candidate.objects != population.candidates) {
        bench_check(run->results, 0,
                    "the heap holds %" PRIu64 " Alive and %" PRIu64
                    " Candidate, the cells ask for %" PRIu64 " and %" PRIu64,
                    usage.alive.objects, usage.candidate.objects,
                    population.alive + population.dying, population.candidates);
    }
    clump_status status = clump_heap_check(life_heap_get(heap));
    return status == CLUMP_OK
               ? 0
               : bench_error_clump(run->error, "the heap check", run->env->clump, status);
}

static int run_round(run_state *run) {
    any_world world;
    double us = 0;
    int result = create_world(run, &world);
    if (result == 0) {
        result =
            run_steps(&world, bench_text(run->values, "variant"), &run->outputs.series, 0, &us);
    }
    if (result == 0) {
        result = encode_world(&world);
    }
    if (result == 0) {
        report_world(run, us);
        result = world.heap ? report_heap(run, world.heap) : 0;
    }
    if (result == 0) {
        result = time_phases(run, &world);
    }
    destroy_world(&world);
    return result;
}

/* The course without compaction, beside which the profile shows the other. */
static int run_without(run_state *run) {
    any_world world;
    double us = 0;
    run->compaction.is_on = 0;
    int result = create_world(run, &world);
    run->compaction.is_on = 1;
    if (result == 0) {
        result = run_steps(&world, "not compacted", &run->outputs.without, 1, &us);
    }
    destroy_world(&world);
    if (result == 0) {
        bench_sample(run->results, "time_per_step_without_us", "us", us);
    }
    return result;
}

/* ---- The reference --------------------------------------------------------------------------- */

/* The reference of the devices is the sequential world; that of the sequential world is the rule
 * followed cell by cell. */
static int check_world(run_state *run) {
    int is_sequential = is_variant(run, "sequential");
    double us = 0;
    size_t differences = 0, first = 0;
    any_world world = {.run = run,
                       .sequential = life_world_create(&run->rules, run->start, is_sequential)};
    if (!world.sequential) {
        return bench_error_set(run->error, "host memory ran out for the reference");
    }
    int result = run_steps(&world, "sequential reference", NULL, 1, &us);
    life_world_encode(world.sequential, run->reference);
    destroy_world(&world);
    for (size_t i = run->cells; i > 0; i--) {
        if (run->codes[i - 1] != run->reference[i - 1]) {
            differences++;
            first = i - 1;
        }
    }
    if (!is_sequential) {
        bench_sample(run->results, "sequential_time_per_step_us", "us", us);
    }
    if (differences) {
        bench_check(run->results, 0,
                    "%zu of %zu cells differ from the reference, the first is %zu: "
                    "%u instead of %u",
                    differences, run->cells, first, run->codes[first], run->reference[first]);
    } else {
        bench_check(
            run->results, 1, "all %zu cells equal %s after %u steps", run->cells,
            is_sequential ? "those of the rule followed cell by cell" : "the sequential reference",
            run->steps);
    }
    return result;
}

/* ---- Beginning and end ----------------------------------------------------------------------- */

static int make_start(run_state *run, const life_pattern *pattern) {
    const bench_values *values = run->values;
    uint32_t width = get_u32(values, "width"), height = get_u32(values, "height");
    int has_pattern = pattern->cells != NULL;
    run->rules.width = width ? width : has_pattern ? pattern->width : SIDE_DEFAULT;
    run->rules.height = height ? height : has_pattern ? pattern->height : SIDE_DEFAULT;
    if (life_rules_check(&run->rules, run->error)) {
        return -1;
    }
    run->cells = (size_t)run->rules.width * run->rules.height;
    run->start = malloc(run->cells);
    run->codes = malloc(run->cells);
    run->reference = malloc(run->cells);
    if (!run->start || !run->codes || !run->reference) {
        return bench_error_set(run->error, "host memory ran out for the encoded worlds");
    }
    if (has_pattern) {
        return life_pattern_place(pattern, &run->rules, run->start, run->error);
    }
    life_fill(&run->rules, get_u32(values, "seed"), get_u32(values, "density"), run->start);
    return 0;
}

static int create_outputs(run_state *run, char *title, size_t bytes) {
    static const char *const columns[] = {"alive", "dying", "candidates", NULL};
    static const bench_outputs_class classes[] = {
        {"Alive", "#1f77b4"}, {"Candidate", "#d62728"}, {"Cell", NULL}, {NULL, NULL}};
    bench_outputs_desc desc = {.title = title,
                               .columns = columns,
                               .classes = classes,
                               .width = run->rules.width,
                               .height = run->rules.height};
    snprintf(title, bytes, "Cellular automaton, %u x %u cells", run->rules.width,
             run->rules.height);
    return bench_outputs_create(&desc, run->values, &run->outputs, run->error);
}

static int run_rounds(run_state *run) {
    int result = run->compaction.is_on && run->outputs.profile ? run_without(run) : 0;
    for (uint32_t round = 0; result == 0 && round < run->env->repeat; round++) {
        result = run_round(run);
    }
    if (result == 0 && bench_int(run->values, "check")) {
        result = check_world(run);
    } else if (result == 0) {
        bench_check(run->results, 1, "the run finished; the reference was not asked for (check=0)");
    }
    return result ? result : bench_outputs_write(&run->outputs, run->results, run->error);
}

int life_run(bench_env *env, const bench_values *values, const char *rule, bench_results *results) {
    run_state run = {.env = env,
                     .values = values,
                     .results = results,
                     .error = &results->error,
                     .steps = get_u32(values, "steps")};
    life_pattern pattern = {0};
    char title[96];
    const char *path = bench_text(values, "pattern");
    if (life_rule_parse(rule, &run.rules, run.error) ||
        bench_compaction_parse(values, "cell", &run.compaction, run.error)) {
        return -1;
    }
    int result = path[0] ? life_pattern_read(path, &pattern, run.error) : 0;
    if (result == 0) {
        result = make_start(&run, &pattern);
    }
    life_pattern_release(&pattern);
    if (result == 0) {
        result = create_outputs(&run, title, sizeof title) ? -1 : run_rounds(&run);
    }
    free(run.start);
    free(run.codes);
    free(run.reference);
    bench_outputs_release(&run.outputs);
    return result;
}

int life_needs_device(const bench_values *values) {
    return !bench_is(values, "variant", "sequential");
}
