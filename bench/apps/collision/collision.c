/* The benchmark app-collision: runs bodies in one of the variants, measures them, and compares them
 * with the reference. app-nbody is the same without merging (../nbody/nbody.c).
 *
 * Read first: world.h, collision.h.
 */
#include "collision.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/app.h"
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
    collision_desc desc;
    uint32_t steps;
    collision_body *first;             /* the first states */
    collision_body *found, *reference; /* the last ones, and those of the reference */
    bench_outputs outputs;
    bench_compaction compaction;
    uint64_t checksum; /* of the first round */
    uint32_t rounds;   /* done */
} run_state;

/* What steps and outputs are given. */
typedef struct run_world {
    run_state *run;
    collision_world world;
} run_world;

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

static int read_parameters(run_state *run, int is_merging) {
    const bench_values *values = run->values;
    run->steps = bench_u32(values, "steps");
    run->desc.variant = bench_app_variant(values);
    run->desc.context = run->env->context;
    run->desc.device = run->env->device;
    run->desc.queue = run->env->queue;
    run->desc.clump = run->env->clump;
    run->desc.heap_bytes = (uint64_t)bench_int(values, "heap_mb") << 20;
    run->desc.block_rows = bench_u32(values, "block_rows");
    run->desc.rules = (collision_rules){.dt = bench_float(values, "dt"),
                                        .gravity = bench_float(values, "gravity"),
                                        .softening = bench_float(values, "softening"),
                                        .is_merging = is_merging};
    if (is_merging) {
        run->desc.rules.merge_distance = bench_float(values, "merge_distance");
    }
    if (is_merging && bench_compaction_parse(values, "id", &run->compaction, run->error)) {
        return -1;
    }
    run->desc.compaction = run->compaction.is_on ? &run->compaction.desc : NULL;
    return get_bodies(run);
}

/* ---- Measuring ------------------------------------------------------------------------------- */

static int step(void *world, bench_error *error) {
    return collision_world_step(&((run_world *)world)->world, error);
}

static int finish(void *world, bench_error *error) {
    return collision_world_finish(&((run_world *)world)->world, error);
}

static int sample(void *world, double *values, bench_error *error) {
    run_world *of = world;
    if (collision_world_read(&of->world, of->run->found, error)) {
        return -1;
    }
    values[0] = collision_count(of->run->found, of->run->desc.count);
    return 0;
}

static int draw(void *world, uint8_t *rgb, bench_error *error) {
    run_world *of = world;
    if (collision_world_read(&of->world, of->run->found, error)) {
        return -1;
    }
    collision_draw(of->run->found, of->run->desc.count, of->run->outputs.desc.width, rgb);
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
                         .heap = collision_world_heap(&world->world),
                         .sample = sample,
                         .draw = draw,
                         .outputs = &run->outputs,
                         .series = series,
                         .is_quiet = is_quiet};
    return bench_steps_run(run->env, &steps, us, run->error);
}

static void report_bodies(run_state *run, double us) {
    uint32_t count = run->desc.count;
    uint64_t checksum = collision_checksum(run->found, count);
    bench_sample(run->results, "time_per_step_us", "us", us);
    bench_sample(run->results, "checksum", "number", (double)(checksum & 0xffffffffu));
    bench_sample(run->results, "bodies_left", "objects", collision_count(run->found, count));
    if (run->rounds++ == 0) {
        run->checksum = checksum;
        bench_note(run->results, "checksum of the bodies %016" PRIx64, checksum);
    } else if (run->checksum != checksum) {
        bench_check(run->results, 0,
                    "two rounds gave different bodies: %016" PRIx64 " and %016" PRIx64,
                    run->checksum, checksum);
    }
}

static int report_heap(run_state *run, const collision_world *world) {
    clump_heap *heap = collision_world_heap(world);
    clump_class_stats body;
    clump_heap_stats stats;
    if (!heap) {
        return 0;
    }
    clump_status status = clump_heap_calc_stats(heap, &stats, &body, 1);
    if (status == CLUMP_OK) {
        status = clump_heap_check(heap);
    }
    if (status != CLUMP_OK) {
        return bench_error_clump(run->error, "the heap", run->env->clump, status);
    }
    bench_sample(run->results, "blocks", "blocks", stats.blocks - stats.free_blocks);
    bench_sample(run->results, "fragmentation", "share", stats.fragmentation);
    uint32_t alive = collision_count(run->found, run->desc.count);
    if (body.objects != alive) {
        bench_check(run->results, 0, "the heap holds %" PRIu64 " bodies, of which %u were written",
                    body.objects, alive);
    }
    if (run->compaction.is_on) {
        bench_compaction_report(collision_world_compactions(world), run->results);
    }
    return 0;
}

static int time_phase(void *world, cl_event *events, bench_error *error) {
    return collision_world_time_step(&((run_world *)world)->world, events, error);
}

/* Goes on from the final state, which has been read by now. */
static int time_phases(run_world *world) {
    const run_state *run = world->run;
    const char *const *names;
    uint32_t count = collision_world_phases(&run->desc.rules, &names);
    return run->desc.variant == BENCH_SEQUENTIAL
               ? 0
               : bench_phases_run(world, time_phase, names, count, run->results, run->error);
}

static int run_round(run_state *run) {
    run_world of = {.run = run};
    double us = 0;
    if (collision_world_create(&run->desc, &of.world, run->error)) {
        return -1;
    }
    int result = make_steps(&of, bench_text(run->values, "variant"), &run->outputs.series, 0, &us);
    if (result == 0) {
        result = collision_world_read(&of.world, run->found, run->error);
    }
    if (result == 0) {
        report_bodies(run, us);
        result = report_heap(run, &of.world);
    }
    if (result == 0) {
        result = time_phases(&of);
    }
    collision_world_destroy(&of.world);
    return result;
}

/* The course without compaction, beside which the profile shows the other. */
static int run_without(run_state *run) {
    run_world of = {.run = run};
    collision_desc desc = run->desc;
    double us = 0;
    desc.compaction = NULL;
    if (collision_world_create(&desc, &of.world, run->error)) {
        return -1;
    }
    int result = make_steps(&of, "not compacted", &run->outputs.without, 1, &us);
    collision_world_destroy(&of.world);
    if (result == 0) {
        bench_sample(run->results, "time_per_step_without_us", "us", us);
    }
    return result;
}

/* ---- Checking -------------------------------------------------------------------------------- */

/* What must hold of any run, whatever the reference: mass is neither made nor lost. Merging rounds
 * once, so the bound is that of as many roundings as there were merges. */
static void check_mass(run_state *run) {
    double before = 0, after = 0;
    for (uint32_t i = 0; i < run->desc.count; i++) {
        before += (double)run->first[i].mass;
        after += (double)run->found[i].mass;
    }
    uint32_t merges = run->desc.count - collision_count(run->found, run->desc.count);
    if (!(fabs(after - before) <= before * (merges * 0x1p-24 + 1e-12))) {
        bench_check(run->results, 0, "all bodies together had mass %.9g and now have %.9g", before,
                    after);
    }
}

static int check_bodies(run_state *run) {
    collision_desc desc = run->desc;
    run_world of = {.run = run};
    bench_error difference = {""};
    double us = 0;
    desc.variant = BENCH_SEQUENTIAL;
    if (collision_world_create(&desc, &of.world, run->error)) {
        return -1;
    }
    int result = make_steps(&of, "sequential reference", NULL, 1, &us);
    if (result == 0) {
        result = collision_world_read(&of.world, run->reference, run->error);
    }
    collision_world_destroy(&of.world);
    if (result) {
        return result;
    }
    bench_sample(run->results, "sequential_time_per_step_us", "us", us);
    if (collision_compare(run->found, run->reference, desc.count, run->steps, &difference)) {
        bench_check(run->results, 0, "%.500s", difference.text);
    } else {
        bench_check(run->results, 1, "all %u bodies equal the sequential reference after %u steps",
                    desc.count, run->steps);
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
    if (result) {
        return result;
    }
    check_mass(run);
    if (bench_int(run->values, "check") && !is_sequential) {
        result = check_bodies(run);
    } else {
        bench_check(run->results, 1, "no mass was lost; %s",
                    is_sequential ? "this is the reference" : "no reference was run (check=0)");
    }
    return result ? result : bench_outputs_write(&run->outputs, run->results, run->error);
}

static int create_outputs(run_state *run, char *title, size_t bytes) {
    static const char *const columns[] = {"bodies", NULL};
    static const bench_outputs_class classes[] = {{"Body", "#1f77b4"}, {NULL, NULL}};
    uint32_t pixels = bench_u32(run->values, "pixels");
    bench_outputs_desc desc = {
        .title = title, .columns = columns, .classes = classes, .width = pixels, .height = pixels};
    snprintf(title, bytes, "%s, %u bodies", run->desc.rules.is_merging ? "collision" : "n-body",
             run->desc.count);
    return bench_outputs_create(&desc, run->values, &run->outputs, run->error);
}

int collision_run(bench_env *env, const bench_values *values, bench_results *results,
                  int is_merging) {
    run_state run = {.env = env, .values = values, .results = results, .error = &results->error};
    char title[96];
    int result =
        read_parameters(&run, is_merging) || create_outputs(&run, title, sizeof title) ? -1 : 0;
    if (result == 0) {
        run.desc.bodies = run.first;
        run.found = calloc(run.desc.count, sizeof *run.found);
        run.reference = calloc(run.desc.count, sizeof *run.reference);
        result = run.found && run.reference
                     ? run_rounds(&run)
                     : bench_error_set(run.error, "host memory ran out for the bodies");
    }
    free(run.first);
    free(run.found);
    free(run.reference);
    bench_outputs_release(&run.outputs);
    return result;
}

static int run_collision(bench_env *env, const bench_values *values, bench_results *results) {
    return collision_run(env, values, results, 1);
}

static const bench_param params[] = {
    COLLISION_COMMON_PARAMS("2000", "100"),
    {"merge_distance", BENCH_FLOAT, "0.005", "bodies nearer than this merge", 0, 1, NULL},
    BENCH_COMPACTION_PARAMS,
    {NULL, BENCH_INT, NULL, NULL, 0, 0, NULL}};

const bench_descriptor bench_app_collision = {
    .name = "app-collision",
    .sentence = "Bodies that attract each other and merge: objects only freed (thesis 7.2)",
    .params = params,
    .repeat = 1,
    .size = "bodies",
    .needs_device = bench_app_needs_device,
    .run = run_collision};
