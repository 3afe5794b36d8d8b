/* An application as a benchmark. See app.h. */
#include "app.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/harness/heap.h"
#include "phases.h"
#include "steps.h"

/* ---- Parameters ------------------------------------------------------------------------------ */

bench_variant bench_app_variant(const bench_values *values) {
    static const char *const names[] = {[BENCH_CLUMP] = "clump",
                                        [BENCH_SOA] = "soa",
                                        [BENCH_AOS] = "aos",
                                        [BENCH_SEQUENTIAL] = "sequential"};
    unsigned variant = 0;
    while (variant < BENCH_SEQUENTIAL && !bench_is(values, "variant", names[variant])) {
        variant++;
    }
    return (bench_variant)variant;
}

int bench_app_needs_device(const bench_values *values) {
    return bench_app_variant(values) != BENCH_SEQUENTIAL;
}

/* ---- Measuring ------------------------------------------------------------------------------- */

typedef struct course {
    const char *label;
    bench_variant variant;
    int is_compacted, is_reference;
    uint32_t steps;
    bench_series *series; /* where samples go; NULL: nowhere, and no pictures */
    int is_quiet;         /* no pictures */
    int is_counted;       /* what is counted goes into the results */
} course;

/* What bench_steps calls. */
static int step(void *self, bench_error *error) {
    return bench_world_step(&((bench_app *)self)->world, error);
}

static int finish(void *self, bench_error *error) {
    return bench_world_finish(&((bench_app *)self)->world, error);
}

static void count(void *self, bench_tally *tally) {
    const bench_world *world = &((bench_app *)self)->world;
    world->ops->count(world->self, tally);
}

static int sample(void *self, double *values, bench_error *error) {
    bench_app *app = self;
    if (bench_world_read(&app->world, app->place, error)) {
        return -1;
    }
    app->ops->sample(app, app->place, values);
    return 0;
}

static int draw(void *self, uint8_t *rgb, bench_error *error) {
    bench_app *app = self;
    return bench_world_read(&app->world, app->place, error)
               ? -1
               : app->ops->draw(app, app->place, rgb, error);
}

/* Means over the steps; what was made is a metric where anything was. */
static void report_counts(bench_app *app, const bench_tally *tally) {
    for (int i = 0; app->ops->counted[i]; i++) {
        char name[64];
        snprintf(name, sizeof name, "%s_mean", app->ops->counted[i]);
        bench_sample(app->results, name, "1/step", tally->present[i] / app->steps);
        if (tally->made[i] > 0) {
            snprintf(name, sizeof name, "%s_made", app->ops->counted[i]);
            bench_sample(app->results, name, "1/step", tally->made[i] / app->steps);
        }
    }
}

/* A world, all steps, and the state after them. The caller destroys it, whatever comes back. */
static int run_course(bench_app *app, const course *c, double *us) {
    const bench_env *env = app->env;
    bench_world_desc desc = {.variant = c->variant,
                             .context = env->context,
                             .device = env->device,
                             .queue = env->queue,
                             .clump = env->clump,
                             .heap_bytes = (uint64_t)bench_int(app->values, "heap_mb") << 20,
                             .block_rows = bench_u32(app->values, "block_rows"),
                             .buffers = bench_u32(app->values, "buffers"),
                             .tuning = bench_tuning_of(app->values),
                             .compaction = c->is_compacted ? &app->compaction.desc : NULL,
                             .merge = app->compaction.is_merging ? &app->compaction.merge : NULL};
    app->place = c->is_reference ? app->reference : app->found;
    if (app->ops->create(app, &desc, app->error)) {
        return -1;
    }
    bench_tally tally = {{0}, {0}};
    int is_counted = c->is_counted && app->ops->counted && app->world.ops->count;
    bench_steps steps = {.label = c->label,
                         .steps = c->steps,
                         .count = is_counted ? count : NULL,
                         .tally = &tally,
                         .world = app,
                         .step = step,
                         .finish = finish,
                         .heap = bench_world_heap(&app->world),
                         .sample = sample,
                         .draw = draw,
                         .outputs = c->series ? &app->outputs : NULL,
                         .series = c->series,
                         .is_quiet = c->is_quiet};
    if (bench_steps_run(app->env, &steps, us, app->error) ||
        bench_world_read(&app->world, app->place, app->error)) {
        return -1;
    }
    if (is_counted) {
        report_counts(app, &tally);
    }
    return 0;
}

/* `result` and `fault` of a call that may find something that is not as it should be. */
static int judge(bench_app *app, int result, const bench_error *fault) {
    if (result > 0) {
        bench_check(app->results, 0, "%.500s", fault->text);
    }
    return result < 0 ? bench_error_set(app->error, "%s", fault->text) : 0;
}

static void report_state(bench_app *app, double us) {
    uint64_t checksum = app->ops->checksum(app);
    bench_sample(app->results, "time_per_step_us", "us", us);
    bench_sample(app->results, "checksum", "number", (double)(checksum & 0xffffffffu));
    if (app->rounds++ == 0) {
        app->checksum = checksum;
        bench_note(app->results, "checksum of the %s %016" PRIx64, app->ops->state, checksum);
    } else if (app->checksum != checksum) {
        bench_check(app->results, 0, "two rounds gave different %s: %016" PRIx64 " and %016" PRIx64,
                    app->ops->state, app->checksum, checksum);
    }
    app->ops->report(app);
}

static int report_heap(bench_app *app) {
    clump_heap *heap = bench_world_heap(&app->world);
    clump_heap_stats stats = {.size = sizeof stats};
    bench_error fault = {""};
    if (!heap) {
        return 0;
    }
    clump_status status = clump_heap_read_stats(heap, &stats, NULL, 0);
    if (status == CLUMP_OK) {
        status = clump_heap_check(heap);
    }
    if (status != CLUMP_OK) {
        return bench_error_clump(app->error, "the heap", app->env->clump, status);
    }
    bench_sample(app->results, "blocks", "blocks", stats.blocks - stats.free_blocks);
    bench_sample(app->results, "fragmentation", "share", stats.fragmentation);
    if (app->outputs.series.rows) {
        bench_sample(app->results, "blocks_peak", "blocks",
                     bench_series_max(&app->outputs.series, "blocks"));
    }
    int result = judge(app, app->ops->report_heap(app, &fault), &fault);
    if (result == 0 && app->compaction.is_on) {
        bench_compaction_report(bench_world_compactions(&app->world), app->results);
    }
    return result;
}

int bench_app_report_classes(bench_app *app, const char *const *classes, const char *const *metrics,
                             uint32_t count, bench_error *error) {
    clump_class_stats stats[BENCH_OUTPUTS_CLASSES_MAX] = {{.size = sizeof *stats}};
    clump_heap_stats all = {.size = sizeof all};
    if (bench_heap_stats(app->env->clump, bench_world_heap(&app->world), classes, count, &all,
                         stats, error)) {
        return -1;
    }
    for (uint32_t i = 0; i < count; i++) {
        bench_sample(app->results, metrics[i], "share", stats[i].fragmentation);
    }
    return 0;
}

/* A step of a world of its own, since devices compile and load kernels when they first run them. */
static int warm_up(bench_app *app) {
    const course first = {.label = "warm-up",
                          .variant = app->variant,
                          .is_compacted = app->compaction.is_on,
                          .steps = 1,
                          .is_quiet = 1};
    double us = 0;
    int result = run_course(app, &first, &us);
    bench_world_destroy(&app->world);
    return result;
}

static int run_round(bench_app *app) {
    const course measured = {.is_counted = app->variant == BENCH_SEQUENTIAL,
                             .steps = app->steps,
                             .label = bench_text(app->values, "variant"),
                             .variant = app->variant,
                             .is_compacted = app->compaction.is_on,
                             .series = &app->outputs.series};
    double us = 0;
    int result = run_course(app, &measured, &us);
    if (result == 0) {
        report_state(app, us);
        result = report_heap(app);
    }
    if (result == 0 && app->outputs.dumps) { /* the world is of no use afterwards */
        result = bench_outputs_write_dumps(&app->outputs, app->env->clump,
                                           bench_world_heap(&app->world), app->error);
    } else if (result == 0 && app->variant != BENCH_SEQUENTIAL) { /* goes on: the final state */
        result = bench_phases_run(app->world.self, app->world.ops->step, app->phases,
                                  app->phase_count, app->results, app->error);
    }
    bench_world_destroy(&app->world);
    return result;
}

/* The course without compaction, beside which the profile shows the other. */
static int run_without(bench_app *app) {
    const course without = {.label = "not compacted",
                            .steps = app->steps,
                            .variant = app->variant,
                            .series = &app->outputs.without,
                            .is_quiet = 1};
    double us = 0;
    int result = run_course(app, &without, &us);
    bench_world_destroy(&app->world);
    if (result == 0) {
        bench_sample(app->results, "time_per_step_without_us", "us", us);
        bench_sample(app->results, "blocks_peak_without", "blocks",
                     bench_series_max(&app->outputs.without, "blocks"));
    }
    return result;
}

/* ---- Checking -------------------------------------------------------------------------------- */

/* Samples must be those of the reference too, as the last state. */
static int check_against_reference(bench_app *app, int is_second) {
    bench_series series = {.columns = 0};
    const course reference = {.label = "sequential reference",
                              .variant = BENCH_SEQUENTIAL,
                              .is_reference = 1,
                              .is_counted = !is_second,
                              .steps = app->steps,
                              .series = &series,
                              .is_quiet = 1};
    bench_error fault = {""};
    double us = 0;
    int result = run_course(app, &reference, &us);
    if (result == 0) {
        if (!is_second) {
            bench_sample(app->results, "sequential_time_per_step_us", "us", us);
        }
        if (bench_series_compare(&app->outputs.series, &series,
                                 bench_outputs_own_columns(&app->outputs), &fault) ||
            app->ops->compare(app, &fault)) {
            bench_check(app->results, 0, "%.500s", fault.text);
        } else {
            bench_check(app->results, 1, "all %s equal %s after %u steps", app->what,
                        is_second ? app->ops->second_reference : "the sequential reference",
                        app->steps);
        }
    }
    bench_world_destroy(&app->world);
    bench_series_release(&series);
    return result;
}

static int check(bench_app *app) {
    const bench_app_ops *ops = app->ops;
    bench_error fault = {""};
    int is_sequential = app->variant == BENCH_SEQUENTIAL;
    int is_reference = is_sequential && !ops->second_reference;
    if (ops->check && judge(app, ops->check(app, &fault), &fault)) {
        return -1;
    }
    if (bench_int(app->values, "check") && !is_reference) {
        return check_against_reference(app, is_sequential);
    }
    bench_not_checked(app->results, "%s%s%s%s",
                      is_reference ? "this is the reference" : "no reference was run (check=0)",
                      app->variant == BENCH_CLUMP ? "; all invariants of the heap hold" : "",
                      ops->holds ? "; " : "", ops->holds ? ops->holds : "");
    return 0;
}

/* ---- The whole ------------------------------------------------------------------------------- */

static int create_outputs(bench_app *app) {
    bench_outputs_desc desc = {.title = app->title,
                               .columns = app->ops->columns,
                               .classes = app->ops->classes,
                               .width = app->width,
                               .height = app->height};
    return bench_outputs_create(&desc, app->values, &app->outputs, app->error);
}

/* Room for the states, if the application has not made it. */
static int create_states(bench_app *app) {
    if (app->state_bytes == 0) {
        return 0;
    }
    app->found = calloc(app->state_bytes, 1);
    app->reference = calloc(app->state_bytes, 1);
    return app->found && app->reference
               ? 0
               : bench_error_set(app->error, "host memory ran out for the states");
}

int bench_app_begin(void *self, const bench_app_ops *ops, bench_env *env,
                    const bench_values *values, bench_results *results) {
    bench_app *app = self;
    *app = (bench_app){.ops = ops,
                       .env = env,
                       .values = values,
                       .results = results,
                       .error = &results->error,
                       .variant = bench_app_variant(values),
                       .steps = bench_u32(values, "steps")};
    if ((ops->cell_field &&
         bench_compaction_parse(values, ops->cell_field, &app->compaction, app->error)) ||
        ops->begin(app) || create_outputs(app) || create_states(app)) {
        return -1;
    }
    if (app->variant != BENCH_SEQUENTIAL && warm_up(app)) {
        return -1;
    }
    return app->compaction.is_on && app->outputs.profile ? run_without(app) : 0;
}

int bench_app_round(void *self, uint32_t number, int is_measured) {
    (void)number;
    (void)is_measured;
    return run_round(self);
}

int bench_app_finish(void *self) {
    bench_app *app = self;
    return check(app) ? -1 : bench_outputs_write(&app->outputs, app->results, app->error);
}

void bench_app_end(void *self) {
    bench_app *app = self;
    bench_outputs_release(&app->outputs);
    if (app->state_bytes) {
        free(app->found);
        free(app->reference);
    }
    if (app->ops->end) {
        app->ops->end(app);
    }
}
