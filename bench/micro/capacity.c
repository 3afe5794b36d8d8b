/* Capacity: the largest problem of an application that runs in a heap of a fixed size, and the
 * memory that its baselines take for the same problem (Springer's thesis Fig. 5.9).
 *
 * The application is run again and again, with its parameter `size` (bench_descriptor) doubled
 * until it runs out of memory and then bisected. The largest size that ran is run once more with
 * its own check. Where work-items open blocks at the same time, a size near the limit runs at one
 * time and not at another; then the run with the check may be a little smaller.
 * Memory is all buffers, those beside the heap too.
 *
 * Read first: bench.h, memory.h.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/harness/bench.h"
#include "bench/harness/memory.h"
#include "bench/harness/registry.h"

#define FIRST 16.0      /* size to begin with */
#define PRECISION 0.005 /* of the result */
#define MARGIN 0.03     /* how far off chance may take it */
#define SEARCHES 4      /* if it does, this often */

typedef struct capacity {
    bench_env *env;
    const bench_values *values; /* of this benchmark */
    bench_results *results;
    bench_error *error;
    const bench_descriptor *app;
    bench_values *app_values;
    bench_results *app_results;
} capacity;

typedef enum outcome { STOPPED = -1, RAN, FULL } outcome;

static int set(capacity *c, const char *key, const char *text) {
    return bench_values_set(c->app_values, key, text, c->error);
}

static int set_number(capacity *c, const char *key, double number) {
    char text[32];
    snprintf(text, sizeof text, "%.0f", number);
    return set(c, key, text);
}

/* Run the application at a size. Its metrics stay until the next run. */
static outcome run_app(capacity *c, const char *variant, double size, const char *check) {
    bench_values_init(c->app_values, c->app->params, c->app->presets);
    bench_results_release(c->app_results);
    bench_results_init(c->app_results);
    if (set_number(c, "steps", (double)bench_int(c->values, "steps")) ||
        bench_values_set_all(c->app_values, bench_text(c->values, "set"), c->error) ||
        set(c, "variant", variant) || set_number(c, c->app->size, size) || set(c, "check", check) ||
        set_number(c, "heap_mb", (double)bench_int(c->values, "heap_mb"))) {
        return STOPPED;
    }
    bench_memory_restart();
    if (bench_measure(c->env, c->app, c->app_values, c->app_results)) {
        const char *why = c->app_results->error.text;
        return strstr(why, "room for") || strstr(why, "no block was free")
                   ? FULL
                   : (outcome)bench_error_set(c->error, "%s=%.0f: %.1800s", c->app->size, size,
                                              why);
    }
    if (c->app_results->verdict == BENCH_FAILED) {
        bench_check(c->results, 0, "%s=%.0f: %.400s", c->app->size, size,
                    c->app_results->check_message);
    }
    return RAN;
}

static outcome try_size(capacity *c, double size) {
    return run_app(c, "clump", size, "0");
}

/* From *runs, which ran, and *full, to be tried: a size that runs and one that does not, close to
 * each other, at most `most`; by doubling, then by bisection. */
static outcome search(capacity *c, double *runs, double *full, double most) {
    outcome got = try_size(c, *full);
    while (got == RAN && *runs < most) {
        *runs = *full;
        *full = fmin(2 * *full, most);
        got = *runs < *full ? try_size(c, *full) : RAN;
    }
    while (got != STOPPED && *full - *runs > fmax(1, PRECISION * *runs) && *runs < most) {
        double middle = floor((*runs + *full) / 2);
        got = try_size(c, middle);
        *(got == RAN ? runs : full) = middle;
    }
    return got;
}

/* The largest size that runs, 0 if none does. That one beyond the margin does not is asked anew; if
 * it does, chance was against a smaller one, and the search goes on from there. */
static int find_largest(capacity *c, double *largest) {
    const bench_param *param = &c->app->params[bench_find_param(c->app->params, c->app->size)];
    double runs = 0, full = fmax(FIRST, param->min), beyond = 0;
    outcome got = RAN;
    for (int i = 0; i < SEARCHES && got == RAN && runs < param->max; i++) {
        if (search(c, &runs, &full, param->max) == STOPPED) return -1;
        if (runs >= param->max) break;
        beyond = fmin(ceil(full * (1 + MARGIN)), param->max);
        got = try_size(c, beyond);
        if (got == STOPPED) return -1;
        if (got == FULL) break;
        runs = beyond;
        full = fmin(2 * beyond, param->max);
    }
    *largest = runs;
    if (runs < param->max)
        bench_check(c->results, got == FULL && full - runs <= fmax(1, PRECISION * runs),
                    "%s=%.0f ran, and %.0f %s", c->app->size, runs, beyond,
                    got == FULL ? "has no room" : "ran too");
    return 0;
}

/* A baseline at that size: its bytes beside those of clump, and the size that it would reach in the
 * memory that clump took. */
static int measure_baseline(capacity *c, const char *variant, double size, double clump_bytes) {
    char names[3][64];
    const bench_param *param = &c->app->params[bench_find_param(c->app->params, "variant")];
    if (!strstr(param->choices, variant)) {
        bench_note(c->results, "%s has no variant %s", c->app->name, variant);
        return 0;
    }
    outcome got = run_app(c, variant, size, "0");
    if (got != RAN) {
        return got == STOPPED ? -1 : bench_error_set(c->error, "%s has no room", variant);
    }
    double bytes = (double)bench_memory_peak();
    snprintf(names[0], sizeof names[0], "bytes_per_unit_%s", variant);
    snprintf(names[1], sizeof names[1], "size_%s", variant);
    snprintf(names[2], sizeof names[2], "memory_over_%s", variant);
    bench_sample(c->results, names[0], "B", bytes / size);
    bench_sample(c->results, names[1], "units", floor(size * clump_bytes / bytes));
    bench_sample(c->results, names[2], "ratio", clump_bytes / bytes);
    return 0;
}

/* With the check that was asked for. *size is made smaller, within the margin, if it does not
 * run. */
static outcome run_largest(capacity *c, double *size) {
    const char *check = bench_int(c->values, "check") ? "1" : "0";
    double least = *size * (1 - MARGIN);
    outcome got = run_app(c, "clump", *size, check);
    while (got == FULL && *size > least) {
        *size = floor(fmin(*size - 1, *size * (1 - PRECISION)));
        got = run_app(c, "clump", *size, check);
    }
    return got;
}

static int measure(capacity *c) {
    double heap_bytes = (double)bench_int(c->values, "heap_mb") * 0x1p20, size = 0;
    if (find_largest(c, &size)) {
        return -1;
    }
    if (size == 0) {
        return bench_error_set(c->error, "not even %s=%.0f has room: %.1800s", c->app->size, FIRST,
                               c->app_results->error.text);
    }
    if (run_largest(c, &size) != RAN) {
        return bench_error_set(c->error, "%s=%.0f ran once, but not again: %.1800s", c->app->size,
                               size, c->app_results->error.text);
    }
    double clump_bytes = (double)bench_memory_peak();
    if (c->app_results->verdict == BENCH_NOT_CHECKED) {
        bench_not_checked(c->results, "%s=%.0f: %.400s", c->app->size, size,
                          c->app_results->check_message);
    } else {
        bench_check(c->results, 1, "%s=%.0f: %.400s", c->app->size, size,
                    c->app_results->check_message);
    }
    bench_sample(c->results, "size_clump", "units", size);
    bench_sample(c->results, "heap_per_unit", "B", heap_bytes / size);
    if (clump_bytes == 0) {
        bench_note(c->results, "libclump is shared, so buffers are not counted");
        return 0;
    }
    bench_sample(c->results, "bytes_per_unit_clump", "B", clump_bytes / size);
    return measure_baseline(c, "soa", size, clump_bytes) ||
                   measure_baseline(c, "aos", size, clump_bytes)
               ? -1
               : 0;
}

static int begin(void *self, bench_env *env, const bench_values *values, bench_results *results) {
    capacity *c = self;
    *c = (capacity){.env = env, .values = values, .results = results, .error = &results->error};
    c->app = bench_registry_find(bench_text(values, "app"), c->error);
    if (!c->app) {
        return -1;
    }
    if (!c->app->size) {
        return bench_error_set(c->error, "%s has no parameter that says how large the problem is",
                               c->app->name);
    }
    c->app_values = calloc(1, sizeof *c->app_values);
    c->app_results = calloc(1, sizeof *c->app_results);
    return c->app_values && c->app_results ? 0 : bench_error_set(c->error, "host memory ran out");
}

static int run_round(void *self, uint32_t number, int is_measured) {
    capacity *c = self;
    uint32_t repeat = c->env->repeat;
    (void)number;
    (void)is_measured;
    c->env->repeat = 1;
    bench_note(c->results, "a unit is 1 of %s of %s", c->app->size, c->app->name);
    int result = measure(c);
    c->env->repeat = repeat;
    return result;
}

static void end(void *self) {
    capacity *c = self;
    if (c->app_results) {
        bench_results_release(c->app_results);
    }
    free(c->app_values);
    free(c->app_results);
}

static const bench_param params[] = {
    {"app", BENCH_STRING, "app-wa-tor", "the application", 0, 0, NULL},
    {"heap_mb", BENCH_INT, "4", "size of the heap in MiB", 1, 1e6, NULL},
    {"steps", BENCH_INT, "10", "steps that must be made", 1, 1e6, NULL},
    {"set", BENCH_STRING, "", "its other parameters: KEY=VALUE KEY=VALUE ...", 0, 0, NULL},
    {"check", BENCH_INT, "1", "1: check the run of the largest size", 0, 1, NULL},
    {NULL, BENCH_INT, NULL, NULL, 0, 0, NULL}};

const bench_descriptor bench_capacity = {
    .name = "capacity",
    .sentence =
        "The largest problem of an application in a heap of fixed size, and the memory of its "
        "baselines (Springer's thesis Fig. 5.9)",
    .params = params,
    .repeat = 1,
    .bytes = sizeof(capacity),
    .is_single = 1,
    .has_progress = 1,
    .begin = begin,
    .round = run_round,
    .end = end};
