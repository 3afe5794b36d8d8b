/* The summary of a suite: report.md and a plot for each group, from suite.json and nothing else.
 *
 * Runs whose check failed are named at the top, and beside each run stands what was checked. Groups
 * that the file does not have are left out.
 *
 * Read first: suite.h, report.c, plot.h.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench/harness/bench.h"
#include "bench/harness/plot.h"
#include "suite.h"

static const char *text_of(const cJSON *object, const char *key) {
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItem(object, key));
    return text ? text : "?";
}

static double number_of(const cJSON *object, const char *key) {
    const cJSON *item = cJSON_GetObjectItem(object, key);
    return cJSON_IsNumber(item) ? item->valuedouble : NAN;
}

static bench_number print_number(double value) {
    return isnan(value) ? (bench_number){""} : bench_number_of(value);
}

static const cJSON *find(const cJSON *root, const suite_group *group, size_t e, int is_start) {
    char key[SUITE_KEY_BYTES];
    suite_key(key, group->file, group->entries[e].label, is_start);
    return suite_find(cJSON_GetObjectItem(root, "benchmarks"), key);
}

static const cJSON *metric_of(const suite_group *group, const cJSON *entry) {
    return cJSON_GetObjectItem(cJSON_GetObjectItem(entry, "metrics"), group->metric);
}

/* ---- Plots ----------------------------------------------------------------------------------- */

static int draw_group(const cJSON *root, const suite_group *group, const char *folder) {
    const char *labels[SUITE_ENTRIES_MAX];
    double medians[SUITE_ENTRIES_MAX];
    size_t count = 0;
    for (size_t e = 0; e < SUITE_ENTRIES_MAX && group->entries[e].label; e++) {
        const cJSON *entry = find(root, group, e, 0);
        if (!entry) continue;
        labels[count] = group->entries[e].label;
        medians[count++] = number_of(metric_of(group, entry), "median");
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
    snprintf(path, sizeof path, "%s/%s.svg", folder, group->file);
    if (bench_plot_write(&plot, path, &error)) {
        fprintf(stderr, "clump-bench: %s\n", error.text);
        return 0;
    }
    return 1;
}

/* ---- Text ------------------------------------------------------------------------------------ */

static void print_row(FILE *file, const suite_group *group, const suite_entry *entry,
                      const cJSON *run) {
    const cJSON *metric = metric_of(group, run);
    fprintf(file, "| %s | %s | ", entry->label, print_number(number_of(metric, "median")).text);
    fprintf(file, "%s | ", print_number(number_of(metric, "min")).text);
    fprintf(file, "%s | ", print_number(number_of(metric, "max")).text);
    fprintf(file, "%s | %s | ", print_number(number_of(metric, "floor")).text,
            metric ? text_of(metric, "unit") : "");
    fprintf(file, "%s | ",
            print_number(number_of(cJSON_GetObjectItem(run, "machine"), "load")).text);
    fprintf(file, suite_is(run, "failed") ? "**%s** |\n" : "%s |\n",
            text_of(cJSON_GetObjectItem(run, "check"), "result"));
}

static void print_check(FILE *file, const cJSON *run) {
    const cJSON *check = cJSON_GetObjectItem(run, "check");
    fprintf(file, "`%s`; %s: %s\n", text_of(run, "set"), text_of(check, "result"),
            text_of(check, "message"));
}

static void print_group(FILE *file, const cJSON *root, const suite_group *group, int has_plot) {
    fprintf(file, "\n## %s\n\n`%s`, metric `%s`\n\n", group->title, group->benchmark,
            group->metric);
    if (has_plot) {
        fprintf(file, "![%s](%s.svg)\n\n", group->title, group->file);
    }
    fprintf(file,
            "| run | median | min | max | floor | unit | load | check |\n"
            "|---|---|---|---|---|---|---|---|\n");
    for (size_t e = 0; e < SUITE_ENTRIES_MAX && group->entries[e].label; e++) {
        const cJSON *run = find(root, group, e, 0);
        if (run) print_row(file, group, &group->entries[e], run);
    }
    fprintf(file, "\n");
    for (size_t e = 0; e < SUITE_ENTRIES_MAX && group->entries[e].label; e++) {
        const cJSON *run = find(root, group, e, 0), *start = find(root, group, e, 1);
        if (!run) continue;
        fprintf(file, "- %s: ", group->entries[e].label);
        print_check(file, run);
        if (start) {
            fprintf(file, "  - its start: ");
            print_check(file, start);
        }
    }
}

static void print_verdicts(FILE *file, const cJSON *root) {
    static const char *const names[] = {"ok", "not checked", "failed"};
    const cJSON *entries = cJSON_GetObjectItem(root, "benchmarks"), *run = NULL;
    int counts[3] = {0};
    cJSON_ArrayForEach(run, entries) {
        for (size_t i = 0; i < 3; i++) counts[i] += suite_is(run, names[i]);
    }
    fprintf(file,
            "%d runs: %d ok (compared with a reference or with what must come out), %d not checked "
            "(no reference at that size; beside each stands what was looked at), %d failed. "
            "`suite.json` has all metrics of all runs.\n",
            cJSON_GetArraySize(entries), counts[0], counts[1], counts[2]);
    cJSON_ArrayForEach(run, entries) {
        if (suite_is(run, "failed")) {
            fprintf(file, "\n**%s failed:** %s\n", text_of(run, "key"),
                    text_of(cJSON_GetObjectItem(run, "check"), "message"));
        }
    }
}

/* The least and the most of a number of the machine, over all runs. */
static void print_range(FILE *file, const cJSON *root, const char *least, const char *most) {
    const cJSON *run = NULL;
    double low = NAN, high = NAN;
    cJSON_ArrayForEach(run, cJSON_GetObjectItem(root, "benchmarks")) {
        const cJSON *machine = cJSON_GetObjectItem(run, "machine");
        low = fmin(low, number_of(machine, least)); /* a NAN is passed over */
        high = fmax(high, number_of(machine, most));
    }
    fprintf(file, isnan(low) ? "unknown" : "%.4g to %.4g", low, high);
}

static void print_head(FILE *file, const cJSON *root) {
    const cJSON *context = cJSON_GetObjectItem(root, "context");
    double mhz = number_of(context, "device_mhz");
    fprintf(file, "# Clump on %s\n\nDriver %s, %s; library %s; seed %.0f; %s.\n",
            text_of(context, "device"), text_of(context, "driver"),
            text_of(context, "opencl_version"), text_of(context, "library_version"),
            number_of(context, "seed"), text_of(context, "date"));
    fprintf(file, "Commit %s, tree %s.\n", text_of(context, "commit"), text_of(context, "tree"));
    fprintf(file, "%.0f processors, load ", number_of(context, "processors"));
    print_range(file, root, "load", "load");
    fprintf(file, ", clocks ");
    print_range(file, root, "cpu_mhz_min", "cpu_mhz_max");
    fprintf(file, " MHz before the runs; highest clock of the device %s MHz.\n\n    %s\n\n",
            isnan(mhz) ? "unknown" : bench_number_of(mhz).text, text_of(context, "command"));
    print_verdicts(file, root);
}

static int has_group(const cJSON *root, const suite_group *group) {
    for (size_t e = 0; e < SUITE_ENTRIES_MAX && group->entries[e].label; e++) {
        if (find(root, group, e, 0)) return 1;
    }
    return 0;
}

static int write_report(const cJSON *root, const char *folder, bench_error *error) {
    char path[BENCH_TEXT_BYTES];
    snprintf(path, sizeof path, "%s/report.md", folder);
    FILE *file = fopen(path, "w");
    if (!file) {
        return bench_error_set(error, "cannot write %s", path);
    }
    print_head(file, root);
    for (size_t g = 0; g < suite_group_count; g++) {
        if (has_group(root, &suite_groups[g])) {
            print_group(file, root, &suite_groups[g], draw_group(root, &suite_groups[g], folder));
        }
    }
    int bad = ferror(file);
    bad |= fclose(file) != 0;
    return bad ? bench_error_set(error, "cannot write all of %s", path) : 0;
}

int bench_summary(const char *folder, bench_error *error) {
    char path[BENCH_TEXT_BYTES];
    snprintf(path, sizeof path, "%s/suite.json", folder);
    cJSON *root = bench_report_read(path, error);
    int result = root ? write_report(root, folder, error) : -1;
    cJSON_Delete(root);
    return result;
}
