/* Comparing two result files: ratios of medians, and whether the ranges overlap.
 *
 * Benchmarks are paired by name, the n-th of a name in A with the n-th in B. The files come from
 * outside, so nothing about their shape is taken for granted; what a file does not say is "?".
 *
 * Read first: report.c.
 */
#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

static const char *text_of(const cJSON *object, const char *key) {
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItem(object, key));
    return text ? text : "?";
}

/* Members of an array, which a file may have in place of an object, have no names. */
static const char *name_of(const cJSON *item) {
    return item->string ? item->string : "?";
}

static void print_context(const char *label, const char *path, const cJSON *root) {
    const cJSON *context = cJSON_GetObjectItem(root, "context");
    printf("%s: %s: %s, driver %s, library %s, commit %s (%s), %s\n", label, path,
           text_of(context, "device"), text_of(context, "driver"),
           text_of(context, "library_version"), text_of(context, "commit"),
           text_of(context, "tree"), text_of(context, "date"));
}

/* The benchmark of `root` with that name that comes after `skip` others of the name. */
static const cJSON *find_benchmark(const cJSON *root, const char *name, unsigned skip) {
    const cJSON *benchmark = NULL;
    cJSON_ArrayForEach(benchmark, cJSON_GetObjectItem(root, "benchmarks")) {
        if (strcmp(text_of(benchmark, "name"), name) == 0 && skip-- == 0) {
            return benchmark;
        }
    }
    return NULL;
}

/* How many benchmarks before `benchmark` have its name. */
static unsigned count_before(const cJSON *root, const cJSON *benchmark) {
    unsigned count = 0;
    const cJSON *other = NULL;
    cJSON_ArrayForEach(other, cJSON_GetObjectItem(root, "benchmarks")) {
        if (other == benchmark) {
            break;
        }
        count += strcmp(text_of(other, "name"), text_of(benchmark, "name")) == 0;
    }
    return count;
}

static void print_param_differences(const cJSON *a, const cJSON *b) {
    const cJSON *params_b = cJSON_GetObjectItem(b, "params");
    const cJSON *param = NULL;
    cJSON_ArrayForEach(param, cJSON_GetObjectItem(a, "params")) {
        const cJSON *other = cJSON_GetObjectItem(params_b, name_of(param));
        if (cJSON_Compare(param, other, 1)) {
            continue;
        }
        char *left = cJSON_PrintUnformatted(param);
        char *right = other ? cJSON_PrintUnformatted(other) : NULL;
        printf("  %s differs: A %s, B %s\n", name_of(param), left ? left : "?",
               right ? right : "none");
        cJSON_free(left);
        cJSON_free(right);
    }
}

static int number_of(const cJSON *metric, const char *key, double *number) {
    const cJSON *item = cJSON_GetObjectItem(metric, key);
    *number = cJSON_IsNumber(item) ? item->valuedouble : 0;
    return cJSON_IsNumber(item);
}

static void print_metric(const cJSON *a, const cJSON *b) {
    double median_a, median_b, min_a, min_b, max_a, max_b;
    if (!number_of(a, "median", &median_a) || !number_of(a, "min", &min_a) ||
        !number_of(a, "max", &max_a) || !number_of(b, "median", &median_b) ||
        !number_of(b, "min", &min_b) || !number_of(b, "max", &max_b)) {
        printf("  %-26s median, min or max is missing\n", name_of(a));
        return;
    }
    char ratio[32] = "-";
    if (median_a > 0 || median_a < 0) {
        snprintf(ratio, sizeof ratio, "%.3f", median_b / median_a);
    } else if (!(median_b > 0 || median_b < 0)) {
        snprintf(ratio, sizeof ratio, "%.3f", 1.0);
    }
    int overlap = min_a <= max_b && min_b <= max_a;
    printf("  %-26s %-8s %13s %13s %9s  %s\n", name_of(a), text_of(a, "unit"),
           bench_number_of(median_a).text, bench_number_of(median_b).text, ratio,
           overlap ? "ranges overlap" : "ranges apart");
}

static void compare_benchmark(const cJSON *a, const cJSON *b) {
    printf("\n%s\n", text_of(a, "name"));
    print_param_differences(a, b);
    printf("  check: A %s, B %s\n", text_of(cJSON_GetObjectItem(a, "check"), "result"),
           text_of(cJSON_GetObjectItem(b, "check"), "result"));
    printf("  %-26s %-8s %13s %13s %9s\n", "metric", "unit", "A", "B", "B / A");
    const cJSON *metrics_b = cJSON_GetObjectItem(b, "metrics");
    const cJSON *metric = NULL;
    cJSON_ArrayForEach(metric, cJSON_GetObjectItem(a, "metrics")) {
        const cJSON *other = cJSON_GetObjectItem(metrics_b, name_of(metric));
        if (other) {
            print_metric(metric, other);
        } else {
            printf("  %-26s only in A\n", name_of(metric));
        }
    }
    cJSON_ArrayForEach(metric, metrics_b) {
        if (!cJSON_GetObjectItem(cJSON_GetObjectItem(a, "metrics"), name_of(metric))) {
            printf("  %-26s only in B\n", name_of(metric));
        }
    }
}

static void compare_results(const cJSON *a, const cJSON *b) {
    const cJSON *benchmark = NULL;
    cJSON_ArrayForEach(benchmark, cJSON_GetObjectItem(a, "benchmarks")) {
        const char *name = text_of(benchmark, "name");
        const cJSON *other = find_benchmark(b, name, count_before(a, benchmark));
        if (other) {
            compare_benchmark(benchmark, other);
        } else {
            printf("\n%s: only in A\n", name);
        }
    }
    cJSON_ArrayForEach(benchmark, cJSON_GetObjectItem(b, "benchmarks")) {
        if (!find_benchmark(a, text_of(benchmark, "name"), count_before(b, benchmark))) {
            printf("\n%s: only in B\n", text_of(benchmark, "name"));
        }
    }
}

int bench_compare(const char *path_a, const char *path_b, bench_error *error) {
    cJSON *a = bench_report_read(path_a, error);
    cJSON *b = a ? bench_report_read(path_b, error) : NULL;
    int result = -1;
    if (b) {
        print_context("A", path_a, a);
        print_context("B", path_b, b);
        compare_results(a, b);
        result = 0;
    }
    cJSON_Delete(a);
    cJSON_Delete(b);
    return result;
}
