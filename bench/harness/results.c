/* Results of a benchmark: metrics with their samples, the verdict, notes.
 *
 * Read first: bench.h.
 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

void bench_results_init(bench_results *results) {
    memset(results, 0, sizeof *results);
}

void bench_results_release(bench_results *results) {
    for (size_t i = 0; i < results->metric_count; i++) {
        free(results->metrics[i].samples);
    }
    bench_results_init(results);
}

bench_metric *bench_find_metric(bench_results *results, const char *name) {
    for (size_t i = 0; i < results->metric_count; i++) {
        if (strcmp(results->metrics[i].name, name) == 0) {
            return &results->metrics[i];
        }
    }
    return NULL;
}

static bench_metric *make_metric(bench_results *results, const char *name, const char *unit) {
    if (results->metric_count == BENCH_METRICS_MAX) {
        fprintf(stderr, "clump-bench: a benchmark has more than %d metrics\n", BENCH_METRICS_MAX);
        abort();
    }
    bench_metric *metric = &results->metrics[results->metric_count++];
    snprintf(metric->name, sizeof metric->name, "%s", name);
    metric->unit = unit;
    return metric;
}

void bench_sample(bench_results *results, const char *name, const char *unit, double value) {
    bench_metric *metric = bench_find_metric(results, name);
    if (!metric) {
        metric = make_metric(results, name, unit);
    }
    if (metric->count == metric->capacity) {
        size_t capacity = metric->capacity ? 2 * metric->capacity : 16;
        double *samples = realloc(metric->samples, capacity * sizeof *samples);
        if (!samples) {
            fprintf(stderr, "clump-bench: out of memory for samples\n");
            abort();
        }
        metric->samples = samples;
        metric->capacity = capacity;
    }
    metric->samples[metric->count++] = value;
}

void bench_floor(bench_results *results, const char *name, double floor) {
    bench_metric *metric = bench_find_metric(results, name);
    if (metric) {
        metric->floor = floor;
        metric->has_floor = 1;
    }
}

const char *bench_verdict_name(bench_verdict verdict) {
    return verdict == BENCH_OK ? "ok" : verdict == BENCH_NOT_CHECKED ? "not checked" : "failed";
}

static void set_verdict(bench_results *results, bench_verdict verdict, const char *format,
                        va_list arguments) {
    if (results->verdict == BENCH_FAILED || verdict < results->verdict) {
        return;
    }
    vsnprintf(results->check_message, sizeof results->check_message, format, arguments);
    results->verdict = verdict;
}

void bench_check(bench_results *results, int ok, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    set_verdict(results, ok ? BENCH_OK : BENCH_FAILED, format, arguments);
    va_end(arguments);
}

void bench_not_checked(bench_results *results, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    set_verdict(results, BENCH_NOT_CHECKED, format, arguments);
    va_end(arguments);
}

void bench_note(bench_results *results, const char *format, ...) {
    if (results->note_count == BENCH_NOTES_MAX) {
        return;
    }
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(results->notes[results->note_count++], BENCH_TEXT_BYTES, format, arguments);
    va_end(arguments);
}

static int compare_doubles(const void *a, const void *b) {
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

double bench_metric_median(const bench_metric *metric) {
    double *sorted = malloc(metric->count * sizeof *sorted);
    if (!sorted) {
        fprintf(stderr, "clump-bench: out of memory for samples\n");
        abort();
    }
    memcpy(sorted, metric->samples, metric->count * sizeof *sorted);
    qsort(sorted, metric->count, sizeof *sorted, compare_doubles);
    size_t middle = metric->count / 2;
    double median = metric->count % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
    free(sorted);
    return median;
}

double bench_metric_min(const bench_metric *metric) {
    double least = metric->samples[0];
    for (size_t i = 1; i < metric->count; i++) {
        least = metric->samples[i] < least ? metric->samples[i] : least;
    }
    return least;
}

double bench_metric_max(const bench_metric *metric) {
    double most = metric->samples[0];
    for (size_t i = 1; i < metric->count; i++) {
        most = metric->samples[i] > most ? metric->samples[i] : most;
    }
    return most;
}

bench_number bench_number_of(double value) {
    bench_number number;
    int is_integer = fabs(value) < 1e12 && value == floor(value);
    snprintf(number.text, sizeof number.text, is_integer ? "%.0f" : "%.6g", value);
    return number;
}
