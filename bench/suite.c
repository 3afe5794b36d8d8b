/* clump-bench suite: all benchmarks at sizes that fit the device; one JSON file, one report in Markdown,
 * and a plot for each group of runs.
 *
 * A new benchmark gets a group or an entry in the tables below; sizes are given for CPUs and for GPUs.
 * Runs whose check fails are named at the top of the report, and make the suite fail.
 *
 * Read first: bench.h, plot.h.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "bench.h"
#include "plot.h"

#define ENTRIES_MAX 12
#define GPU_BYTES_LEAST (UINT64_C(8) << 30) /* of memory: smaller GPUs get the sizes of CPUs */

/* A run: its name in tables and plots, and what is set, "key=value key=value". */
typedef struct suite_entry {
    const char *label, *cpu, *gpu;
} suite_entry;

/* Runs of one benchmark that are compared by one metric. */
typedef struct suite_group {
    const char *file; /* of the plot */
    const char *title, *benchmark, *metric;
    suite_entry entries[ENTRIES_MAX]; /* ended by one without label */
} suite_group;

static const suite_group groups[] = {
    {"alloc",
     "objects made, 10^9 a second",
     "alloc-scalability",
     "alloc_rate",
     {{"few x 16 B", "items=65536 bytes=16", "items=1048576 bytes=16"},
      {"many x 16 B", "items=1048576 bytes=16", "items=16777216 bytes=16"},
      {"many x 64 B", "items=1048576 bytes=64", "items=16777216 bytes=64"},
      {"16384 x n", "items=16384 per_item=16 bytes=64", "items=16384 per_item=256 bytes=64"},
      {"not coalesced", "items=1048576 bytes=16 coalescing=off",
       "items=16777216 bytes=16 coalescing=off"}}},
    {"free",
     "objects freed, 10^9 a second",
     "alloc-scalability",
     "free_rate",
     {{"many x 16 B", "items=1048576 bytes=16", "items=16777216 bytes=16"},
      {"many x 64 B", "items=1048576 bytes=64", "items=16777216 bytes=64"}}},
    {"enumerate",
     "bandwidth of a do-all, GB/s",
     "enumerate",
     "bandwidth",
     {{"few", "objects=100000", "objects=1000000"},
      {"many", "objects=1000000", "objects=10000000"},
      {"most", "objects=10000000", "objects=100000000"},
      {"most, half freed", "objects=10000000 density=0.5", "objects=100000000 density=0.5"}}},
    {"compact",
     "compaction of a heap of which 60% died, ms",
     "compact-synthetic",
     "time_ms",
     {{"planner", "objects=1048576", "objects=32768000"},
      {"merge, n=3", "objects=1048576 strategy=merge", "objects=32768000 strategy=merge"},
      {"planner, 64 slots", "objects=1048576 block_rows=1", "objects=32768000 block_rows=1"},
      {"merge, 64 slots", "objects=1048576 block_rows=1 strategy=merge",
       "objects=32768000 block_rows=1 strategy=merge"}}},
    {"mark",
     "marking of a random graph with two references an object, ms",
     "mark-random",
     "time_ms",
     {{"auto", "objects=1000000", "objects=20000000"},
      {"queue", "objects=1000000 engine=queue", "objects=20000000 engine=queue"},
      {"rows", "objects=1000000 engine=rows", "objects=20000000 engine=rows"},
      {"C, threads", "objects=1000000 engine=threads",
       "objects=20000000 engine=threads threads=16"}}},
    {"mark-lists",
     "marking of linked lists, ms",
     "mark-lists",
     "time_ms",
     {{"one, auto", "lists=1 length=10000", "lists=1 length=10000"},
      {"one, host", "lists=1 length=10000 engine=host", "lists=1 length=10000 engine=host"},
      {"256, auto", "lists=256 length=2000", "lists=256 length=10000"},
      {"256, threads", "lists=256 length=2000 engine=threads",
       "lists=256 length=10000 engine=threads threads=16"}}},
    {"wa-tor",
     "Wa-Tor, a step, us",
     "app-wa-tor",
     "time_per_step_us",
     {{"not compacted", "width=512 height=512 steps=100",
       "width=2048 height=2048 steps=200 check=0"},
      {"every 20 steps", "width=512 height=512 steps=100 compact=every:20",
       "width=2048 height=2048 steps=200 check=0 compact=every:20"},
      {"by cell", "width=512 height=512 steps=100 compact=every:20 order=cell",
       "width=2048 height=2048 steps=200 check=0 compact=every:20 order=cell"},
      {"automatic", "width=512 height=512 steps=100 compact=auto",
       "width=2048 height=2048 steps=200 check=0 compact=auto"}}},
    {"collision",
     "bodies that merge, a step, us",
     "app-collision",
     "time_per_step_us",
     {{"clump", "bodies=1000 steps=50", "bodies=20000 steps=50 check=0"},
      {"compacted", "bodies=1000 steps=50 compact=every:10",
       "bodies=20000 steps=50 check=0 compact=every:10"},
      {"soa", "bodies=1000 steps=50 variant=soa", "bodies=20000 steps=50 check=0 variant=soa"},
      {"aos", "bodies=1000 steps=50 variant=aos", "bodies=20000 steps=50 check=0 variant=aos"}}},
    {"game-of-life",
     "Game of Life, a step, us",
     "app-game-of-life",
     "time_per_step_us",
     {{"clump", "width=512 height=512 steps=50", "width=4096 height=4096 steps=100"},
      {"soa", "width=512 height=512 steps=50 variant=soa",
       "width=4096 height=4096 steps=100 variant=soa"},
      {"sequential", "width=512 height=512 steps=50 variant=sequential",
       "width=4096 height=4096 steps=100 variant=sequential"}}},
};
#define GROUPS (sizeof groups / sizeof *groups)

/* Of the metric of a group. */
typedef struct suite_result {
    double median, min, max, floor; /* NAN: there is none */
    const char *unit;
    int is_ok;
    char message[BENCH_TEXT_BYTES];
} suite_result;

typedef struct suite {
    bench_env *env;
    const char *folder;
    bench_report *report;
    int is_large;    /* sizes for GPUs */
    uint32_t repeat; /* 0: each benchmark's own */
    suite_result results[GROUPS][ENTRIES_MAX];
} suite;

static int apply_sets(const char *text, bench_values *values, bench_error *error) {
    while (*text) {
        char key[64], value[BENCH_TEXT_BYTES];
        int length = 0;
        if (sscanf(text, "%63[^=]=%511s%n", key, value, &length) != 2) {
            return bench_error_set(error, "the suite has '%s', which is no key=value", text);
        }
        if (bench_values_set(values, key, value, error)) {
            return -1;
        }
        text += length;
        text += strspn(text, " ");
    }
    return 0;
}

static suite_result pick(const bench_results *results, const char *name) {
    suite_result r = {NAN, NAN, NAN, NAN, "", results->is_ok, ""};
    snprintf(r.message, sizeof r.message, "%s", results->check_message);
    for (size_t i = 0; i < results->metric_count; i++) {
        const bench_metric *metric = &results->metrics[i];
        if (strcmp(metric->name, name) == 0 && metric->count) {
            r.median = bench_metric_median(metric);
            r.min = bench_metric_min(metric);
            r.max = bench_metric_max(metric);
            r.floor = metric->has_floor ? metric->floor : NAN;
            r.unit = metric->unit;
        }
    }
    return r;
}

static int run_entry(suite *s, size_t g, size_t e, bench_error *error) {
    const suite_group *group = &groups[g];
    const bench_descriptor *benchmark = bench_registry_find(group->benchmark, error);
    bench_values *values = malloc(sizeof *values);
    bench_results *results = malloc(sizeof *results);
    int stopped = !benchmark || !values || !results;
    if (benchmark && stopped) {
        bench_error_set(error, "out of memory");
    }
    if (!stopped) {
        const suite_entry *entry = &group->entries[e];
        bench_values_init(values, benchmark->params);
        stopped = apply_sets(s->is_large ? entry->gpu : entry->cpu, values, error);
    }
    if (!stopped) {
        s->env->repeat = s->repeat ? s->repeat : benchmark->repeat;
        bench_run(s->env, benchmark, values, s->report, results);
        s->results[g][e] = pick(results, group->metric);
        bench_results_release(results);
    }
    free(values);
    free(results);
    return stopped;
}

static void print_result(FILE *file, const suite_entry *entry, const suite_result *r) {
    fprintf(file, "| %s | %s | %s | %s | ", entry->label, bench_number_of(r->median).text,
            bench_number_of(r->min).text, bench_number_of(r->max).text);
    fprintf(file, "%s | %s | %s |\n", isnan(r->floor) ? "" : bench_number_of(r->floor).text,
            r->unit, r->is_ok ? "ok" : "**failed**");
}

static void print_group(FILE *file, const suite *s, size_t g, int has_plot) {
    const suite_group *group = &groups[g];
    fprintf(file, "\n## %s\n\n`%s`, metric `%s`\n\n", group->title, group->benchmark,
            group->metric);
    if (has_plot) {
        fprintf(file, "![%s](%s.svg)\n\n", group->title, group->file);
    }
    fprintf(file,
            "| run | median | min | max | floor | unit | check |\n"
            "|---|---|---|---|---|---|---|\n");
    for (size_t e = 0; e < ENTRIES_MAX && group->entries[e].label; e++) {
        print_result(file, &group->entries[e], &s->results[g][e]);
    }
    for (size_t e = 0; e < ENTRIES_MAX && group->entries[e].label; e++) {
        fprintf(file, "%s- %s: `%s`\n", e ? "" : "\n", group->entries[e].label,
                s->is_large ? group->entries[e].gpu : group->entries[e].cpu);
    }
}

static int draw_group(const suite *s, size_t g) {
    const suite_group *group = &groups[g];
    const char *labels[ENTRIES_MAX];
    double medians[ENTRIES_MAX];
    size_t count = 0;
    for (; count < ENTRIES_MAX && group->entries[count].label; count++) {
        labels[count] = group->entries[count].label;
        medians[count] = s->results[g][count].median;
    }
    bench_plot plot = {.title = group->title,
                       .x_label = "",
                       .y_label = group->metric,
                       .labels = labels,
                       .points = count,
                       .series = {{NULL, "#1f78b4", BENCH_PLOT_BAR, medians}},
                       .series_count = 1};
    char path[BENCH_TEXT_BYTES];
    bench_error error;
    snprintf(path, sizeof path, "%s/%s.svg", s->folder, group->file);
    if (bench_plot_write(&plot, path, &error)) {
        fprintf(stderr, "clump-bench: %s\n", error.text);
        return 0;
    }
    return 1;
}

static int write_report(const suite *s, const char *command, bench_error *error) {
    char path[BENCH_TEXT_BYTES];
    snprintf(path, sizeof path, "%s/report.md", s->folder);
    FILE *file = fopen(path, "w");
    if (!file) {
        return bench_error_set(error, "cannot write %s", path);
    }
    const clump_capabilities *found = s->env->capabilities;
    fprintf(file, "# Clump on %s / %s\n\nDriver %s, %s; library %s; seed %u.\n\n    %s\n\n",
            found->platform_name, found->device_name, found->driver_version, found->device_version,
            CLUMP_VERSION_TEXT, s->env->seed, command);
    fprintf(file, "`suite.json` has all metrics of all runs.\n");
    for (size_t g = 0; g < GROUPS; g++) {
        for (size_t e = 0; e < ENTRIES_MAX && groups[g].entries[e].label; e++) {
            if (!s->results[g][e].is_ok) {
                fprintf(file, "\n**%s, %s: the check failed:** %s\n", groups[g].title,
                        groups[g].entries[e].label, s->results[g][e].message);
            }
        }
    }
    for (size_t g = 0; g < GROUPS; g++) print_group(file, s, g, draw_group(s, g));
    int bad = ferror(file);
    bad |= fclose(file) != 0;
    return bad ? bench_error_set(error, "cannot write all of %s", path) : 0;
}

int bench_suite(bench_env *env, uint32_t repeat, const char *folder, const char *command,
                bench_error *error) {
    suite *s = calloc(1, sizeof *s);
    int stopped = s == NULL, failed = 0;
    if (s) {
        s->report = bench_report_create();
        stopped = s->report == NULL;
    }
    if (stopped) {
        bench_error_set(error, "out of memory");
    } else {
        s->env = env;
        s->folder = folder;
        s->repeat = repeat;
        s->is_large =
            !env->capabilities->is_cpu && env->capabilities->memory_bytes >= GPU_BYTES_LEAST;
        mkdir(folder, 0777); /* it may be there; writing shows what is wrong */
    }
    for (size_t g = 0; g < GROUPS && !stopped; g++) {
        for (size_t e = 0; e < ENTRIES_MAX && groups[g].entries[e].label && !stopped; e++) {
            stopped = run_entry(s, g, e, error);
            failed |= !s->results[g][e].is_ok;
        }
    }
    if (!stopped) {
        char path[BENCH_TEXT_BYTES];
        snprintf(path, sizeof path, "%s/suite.json", folder);
        stopped = write_report(s, command, error) ||
                  bench_report_write(s->report, env, command, path, error);
    }
    if (s) {
        bench_report_destroy(s->report);
    }
    free(s);
    return stopped ? -1 : failed;
}
