/* The demonstration: Wa-Tor at a size to look at, with pictures, checked against sequential C.
 *
 * Read first: bench.h.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench/harness/bench.h"
#include "bench/harness/registry.h"

static int set(bench_values *values, const char *key, const char *folder, const char *text,
               bench_error *error) {
    char value[BENCH_TEXT_BYTES];
    snprintf(value, sizeof value, "%s%s", folder, text);
    return bench_values_set(values, key, value, error);
}

static const bench_metric *find(const bench_results *results, const char *name) {
    for (size_t i = 0; i < results->metric_count; i++) {
        if (strcmp(results->metrics[i].name, name) == 0) {
            return &results->metrics[i];
        }
    }
    return NULL;
}

static double median(const bench_results *results, const char *name) {
    const bench_metric *metric = find(results, name);
    return metric ? bench_metric_median(metric) : 0;
}

static void print_summary(const bench_results *results) {
    printf("  %.0f fish and %.0f sharks live in the end\n", median(results, "fish"),
           median(results, "sharks"));
    printf("  %.0f blocks in use, fragmentation %.1f %% (fish %.1f %%, sharks %.1f %%)\n",
           median(results, "blocks"), 100 * median(results, "fragmentation"),
           100 * median(results, "fragmentation_fish"),
           100 * median(results, "fragmentation_sharks"));
    printf("  %.0f us per step; sequential C takes %.0f us\n", median(results, "time_per_step_us"),
           median(results, "sequential_time_per_step_us"));
    printf("  phases of a step, in us:");
    for (size_t i = 0; i < results->metric_count; i++) {
        const char *name = results->metrics[i].name;
        if (strncmp(name, "phase_", 6) == 0) {
            printf(" %.*s %.0f", (int)(strlen(name) - 9), name + 6,
                   bench_metric_median(&results->metrics[i]));
        }
    }
    printf("\n");
}

/* Files of an earlier run were removed: what is there is new. Why a plot is not is in the notes. */
static void print_file(const char *path) {
    if (access(path, R_OK) == 0) printf("  wrote %s\n", path);
}

static int prepare(bench_values *values, const bench_env *env, const char *folder,
                   bench_error *error) {
    char seed[16];
    if (mkdir(folder, 0777) != 0 && errno != EEXIST) {
        return bench_error_set(error, "cannot make the folder %s", folder);
    }
    snprintf(seed, sizeof seed, "%u", env->seed);
    bench_values_init(values, bench_app_wa_tor.params, bench_app_wa_tor.presets);
    if (set(values, "seed", "", seed, error) ||
        set(values, "image", folder, "/wa-tor.png", error) ||
        set(values, "profile", folder, "/wa-tor-memory.svg", error)) {
        return -1;
    }
    remove(bench_text(values, "image"));
    remove(bench_text(values, "profile"));
    return 0;
}

int bench_demo(bench_env *env, const char *folder, bench_error *error) {
    bench_values values;
    bench_results results;
    if (prepare(&values, env, folder, error)) {
        return -1;
    }
    printf("Wa-Tor, %s x %s cells, %s steps, seed %s, on %s / %s\n", bench_text(&values, "width"),
           bench_text(&values, "height"), bench_text(&values, "steps"), bench_text(&values, "seed"),
           env->capabilities->platform_name, env->capabilities->device_name);
    fflush(stdout);
    bench_results_init(&results);
    int failed = bench_measure(env, &bench_app_wa_tor, &values, &results);
    if (failed) {
        bench_error_set(error, "%s", results.error.text);
    } else {
        print_summary(&results);
        for (size_t i = 0; i < results.note_count; i++) {
            printf("  %s\n", results.notes[i]);
        }
        printf("  %s: %s\n", bench_verdict_name(results.verdict), results.check_message);
        print_file(bench_text(&values, "image"));
        print_file(bench_text(&values, "profile"));
        failed = results.verdict != BENCH_OK;
        if (failed) {
            bench_error_set(error, "the heap and the sequential reference do not agree");
        }
    }
    bench_results_release(&results);
    return failed ? -1 : 0;
}
