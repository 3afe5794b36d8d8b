/* What a run prints and writes: a table for people, one JSON object for programs.
 *
 * {context: {device, driver, opencl_version, library_version, date, seed, command},
 *  benchmarks: [{name, params, check: {ok, message}, metrics: {NAME: {unit, median, min, max,
 *  floor?}}, notes?}]}
 *
 * Read first: bench.h.
 */
#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench.h"

struct bench_report {
    cJSON *benchmarks;
    int failed; /* memory ran out on the way: said once, by bench_report_write() */
};

bench_report *bench_report_create(void) {
    bench_report *report = calloc(1, sizeof *report);
    if (report) {
        report->benchmarks = cJSON_CreateArray();
        report->failed = report->benchmarks == NULL;
    }
    return report;
}

void bench_report_destroy(bench_report *report) {
    if (report) {
        cJSON_Delete(report->benchmarks);
        free(report);
    }
}

static int add_params(cJSON *object, const bench_values *values) {
    cJSON *params = cJSON_AddObjectToObject(object, "params");
    int ok = params != NULL;
    for (int i = 0; ok && values->params[i].key; i++) {
        const bench_param *param = &values->params[i];
        const bench_value *value = &values->values[i];
        if (param->kind == BENCH_INT || param->kind == BENCH_FLOAT) {
            ok = cJSON_AddNumberToObject(params, param->key, value->number) != NULL;
        } else {
            ok = cJSON_AddStringToObject(params, param->key, value->text) != NULL;
        }
    }
    return ok;
}

static int add_metrics(cJSON *object, const bench_results *results) {
    cJSON *metrics = cJSON_AddObjectToObject(object, "metrics");
    int ok = metrics != NULL;
    for (size_t i = 0; ok && i < results->metric_count; i++) {
        const bench_metric *metric = &results->metrics[i];
        cJSON *entry = cJSON_AddObjectToObject(metrics, metric->name);
        ok = entry && cJSON_AddStringToObject(entry, "unit", metric->unit) &&
             cJSON_AddNumberToObject(entry, "median", bench_metric_median(metric)) &&
             cJSON_AddNumberToObject(entry, "min", bench_metric_min(metric)) &&
             cJSON_AddNumberToObject(entry, "max", bench_metric_max(metric)) &&
             (!metric->has_floor || cJSON_AddNumberToObject(entry, "floor", metric->floor));
    }
    return ok;
}

static int add_notes(cJSON *object, const bench_results *results) {
    if (results->note_count == 0) {
        return 1;
    }
    cJSON *notes = cJSON_AddArrayToObject(object, "notes");
    int ok = notes != NULL;
    for (size_t i = 0; ok && i < results->note_count; i++) {
        ok = cJSON_AddItemToArray(notes, cJSON_CreateString(results->notes[i]));
    }
    return ok;
}

void bench_report_add(bench_report *report, const bench_descriptor *benchmark,
                      const bench_values *values, const bench_results *results) {
    cJSON *object = cJSON_CreateObject();
    int ok = object && cJSON_AddStringToObject(object, "name", benchmark->name) &&
             add_params(object, values);
    cJSON *check = ok ? cJSON_AddObjectToObject(object, "check") : NULL;
    ok = check && cJSON_AddBoolToObject(check, "ok", results->is_ok) &&
         cJSON_AddStringToObject(check, "message", results->check_message) &&
         add_metrics(object, results) && add_notes(object, results);
    if (ok && cJSON_AddItemToArray(report->benchmarks, object)) {
        return;
    }
    cJSON_Delete(object);
    report->failed = 1;
}

static int add_context(cJSON *root, const bench_env *env, const char *command) {
    const clump_capabilities *found = env->capabilities;
    char device[300] = "none", date[32] = "";
    if (found) {
        snprintf(device, sizeof device, "%s / %s", found->platform_name, found->device_name);
    }
    time_t now = time(NULL);
    struct tm utc;
    if (gmtime_r(&now, &utc)) {
        strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", &utc);
    }
    cJSON *context = cJSON_AddObjectToObject(root, "context");
    return context && cJSON_AddStringToObject(context, "device", device) &&
           cJSON_AddStringToObject(context, "driver", found ? found->driver_version : "") &&
           cJSON_AddStringToObject(context, "opencl_version", found ? found->device_version : "") &&
           cJSON_AddStringToObject(context, "library_version", CLUMP_VERSION_TEXT) &&
           cJSON_AddStringToObject(context, "date", date) &&
           cJSON_AddNumberToObject(context, "seed", env->seed) &&
           cJSON_AddStringToObject(context, "command", command);
}

static int write_text(const char *path, const char *text, bench_error *error) {
    FILE *file = fopen(path, "w");
    if (!file) {
        return bench_error_set(error, "cannot write %s", path);
    }
    int bad = fprintf(file, "%s\n", text) < 0;
    bad |= fclose(file) != 0;
    return bad ? bench_error_set(error, "cannot write all of %s", path) : 0;
}

int bench_report_write(bench_report *report, const bench_env *env, const char *command,
                       const char *path, bench_error *error) {
    cJSON *root = cJSON_CreateObject();
    char *text = NULL;
    int result = -1;
    if (!report->failed && root && add_context(root, env, command) &&
        cJSON_AddItemReferenceToObject(root, "benchmarks", report->benchmarks)) {
        text = cJSON_Print(root);
    }
    if (text) {
        result = write_text(path, text, error);
    } else {
        bench_error_set(error, "memory ran out while writing %s", path);
    }
    cJSON_free(text);
    cJSON_Delete(root);
    return result;
}

static void print_params(const bench_values *values) {
    int column = 0;
    for (int i = 0; values->params[i].key; i++) {
        char pair[BENCH_TEXT_BYTES + 80];
        int length =
            snprintf(pair, sizeof pair, "%s=%s", values->params[i].key, values->values[i].text);
        if (column == 0 || column + 1 + length > 98) {
            printf("%s  %s", column ? "\n" : "", pair);
            column = 2 + length;
        } else {
            printf(" %s", pair);
            column += 1 + length;
        }
    }
    printf("\n");
}

static void print_metrics(const bench_results *results) {
    printf("  %-26s %-8s %13s %13s %13s %13s\n", "metric", "unit", "median", "min", "max", "floor");
    for (size_t i = 0; i < results->metric_count; i++) {
        const bench_metric *metric = &results->metrics[i];
        printf("  %-26s %-8s %13s %13s %13s", metric->name, metric->unit,
               bench_number_of(bench_metric_median(metric)).text,
               bench_number_of(bench_metric_min(metric)).text,
               bench_number_of(bench_metric_max(metric)).text);
        if (metric->has_floor) printf(" %13s", bench_number_of(metric->floor).text);
        printf("\n");
    }
}

void bench_report_print(const bench_env *env, const bench_descriptor *benchmark,
                        const bench_values *values, const bench_results *results) {
    const clump_capabilities *found = env->capabilities;
    printf("%s on %s%s%s\n", benchmark->name, found ? found->platform_name : "no device",
           found ? " / " : "", found ? found->device_name : "");
    print_params(values);
    if (results->metric_count > 0) {
        print_metrics(results);
    }
    for (size_t i = 0; i < results->note_count; i++) {
        printf("  note: %s\n", results->notes[i]);
    }
    printf("  check: %s: %s\n", results->is_ok ? "ok" : "FAILED", results->check_message);
    fflush(stdout);
}
