/* What a run prints and writes: a table for people, one JSON object for programs.
 *
 * {context: {device, device_mhz, driver, opencl_version, library_version, commit, tree, processors,
 * date,
 *            seed, command},
 *  benchmarks: [{key?, set?, name, preset?, preset_overridden?, params, check: {result, message},
 *                machine: {date, load, cpu_mhz_min, cpu_mhz_max},
 *                metrics: {NAME: {unit, median, min, max, floor?}}, notes?, series?}]}
 *
 * One line for the context and one for each run, so that files which are kept are short and differ
 * by runs.
 * `preset` is the name of the one that was assigned, `preset_overridden` the keys of those of its
 * parameters that have another value: such a run is not that set-up. Neither is there without a
 * preset.
 * `series`: bench/papers/paper.h.
 * `result` is "ok", "not checked" or "failed". null: could not be found out. `load` and clocks are
 * those before the run; device_mhz is the highest clock that the device gives itself.
 *
 * Read first: bench.h, machine.h.
 */
#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench.h"

#define FILE_BYTES_MAX (256l << 20)
#define COMMAND_BYTES 8192
#define DATE_BYTES 32

struct bench_report {
    cJSON *benchmarks;
    char command[COMMAND_BYTES]; /* of the file that is gone on with */
    int failed;                  /* memory ran out on the way: said once, by bench_report_write() */
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

static int add_preset(cJSON *object, const bench_values *values) {
    cJSON *keys = NULL;
    int ok = !values->preset || cJSON_AddStringToObject(object, "preset", values->preset->name);
    for (int i = 0; ok && values->params[i].key; i++) {
        if (bench_is_overridden(values, i)) {
            keys = keys ? keys : cJSON_AddArrayToObject(object, "preset_overridden");
            ok = keys && cJSON_AddItemToArray(keys, cJSON_CreateString(values->params[i].key));
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

static void print_date(char *text, time_t time) {
    struct tm utc;
    *text = '\0';
    if (gmtime_r(&time, &utc)) {
        strftime(text, DATE_BYTES, "%Y-%m-%dT%H:%M:%SZ", &utc);
    }
}

/* cJSON writes NAN as null. */
static int add_machine(cJSON *object, const bench_machine *machine) {
    char date[DATE_BYTES];
    cJSON *entry = cJSON_AddObjectToObject(object, "machine");
    print_date(date, machine->time);
    return entry && cJSON_AddStringToObject(entry, "date", date) &&
           cJSON_AddNumberToObject(entry, "load", machine->load) &&
           cJSON_AddNumberToObject(entry, "cpu_mhz_min", machine->cpu_mhz_min) &&
           cJSON_AddNumberToObject(entry, "cpu_mhz_max", machine->cpu_mhz_max);
}

static int add_text(cJSON *object, const char *key, const char *text) {
    return !text || cJSON_AddStringToObject(object, key, text);
}

void bench_report_add(bench_report *report, const bench_request *request,
                      const bench_descriptor *benchmark, const bench_values *values,
                      const bench_results *results) {
    cJSON *object = cJSON_CreateObject();
    int ok = object && add_text(object, "key", request ? request->key : NULL) &&
             add_text(object, "set", request ? request->set : NULL) &&
             cJSON_AddStringToObject(object, "name", benchmark->name) &&
             add_preset(object, values) && add_params(object, values);
    cJSON *check = ok ? cJSON_AddObjectToObject(object, "check") : NULL;
    ok = check && cJSON_AddStringToObject(check, "result", bench_verdict_name(results->verdict)) &&
         cJSON_AddStringToObject(check, "message", results->check_message) &&
         add_machine(object, &results->machine) && add_metrics(object, results) &&
         add_notes(object, results);
    if (ok && cJSON_AddItemToArray(report->benchmarks, object)) {
        return;
    }
    cJSON_Delete(object);
    report->failed = 1;
}

struct cJSON *bench_report_entries(bench_report *report) {
    return report->benchmarks;
}

/* What all files of a sitting have in common. */
static int add_origin(cJSON *context, const bench_env *env) {
    const clump_capabilities *found = env->capabilities;
    char device[300] = "none";
    cl_uint mhz = 0;
    if (found) {
        snprintf(device, sizeof device, "%s / %s", found->platform_name, found->device_name);
        clGetDeviceInfo(env->device, CL_DEVICE_MAX_CLOCK_FREQUENCY, sizeof mhz, &mhz, NULL);
    }
    return cJSON_AddStringToObject(context, "device", device) &&
           cJSON_AddNumberToObject(context, "device_mhz", mhz ? (double)mhz : NAN) &&
           cJSON_AddStringToObject(context, "driver", found ? found->driver_version : "") &&
           cJSON_AddStringToObject(context, "opencl_version", found ? found->device_version : "") &&
           cJSON_AddStringToObject(context, "library_version", CLUMP_VERSION_TEXT) &&
           cJSON_AddStringToObject(context, "commit", bench_commit) &&
           cJSON_AddStringToObject(context, "tree", bench_tree) &&
           cJSON_AddNumberToObject(context, "processors", (double)bench_machine_processors()) &&
           cJSON_AddNumberToObject(context, "seed", env->seed);
}

static int add_context(cJSON *root, const bench_env *env, const char *before, const char *command) {
    char date[DATE_BYTES], commands[2 * COMMAND_BYTES];
    print_date(date, time(NULL));
    snprintf(commands, sizeof commands, "%s%s%s", before, *before ? " && " : "", command);
    cJSON *context = cJSON_AddObjectToObject(root, "context");
    return context && add_origin(context, env) && cJSON_AddStringToObject(context, "date", date) &&
           cJSON_AddStringToObject(context, "command", commands);
}

/* ---- Reading --------------------------------------------------------------------------------- */

static char *read_text(const char *path, bench_error *error) {
    FILE *file = fopen(path, "rb");
    if (!file) {
        bench_error_set(error, "cannot read %s", path);
        return NULL;
    }
    long bytes = fseek(file, 0, SEEK_END) == 0 ? ftell(file) : -1;
    char *text = NULL;
    if (bytes < 0 || bytes > FILE_BYTES_MAX || fseek(file, 0, SEEK_SET) != 0) {
        bench_error_set(error, "%s is no file of at most 256 MiB", path);
    } else {
        text = malloc((size_t)bytes + 1);
        if (!text || fread(text, 1, (size_t)bytes, file) != (size_t)bytes ||
            memchr(text, 0, (size_t)bytes)) {
            bench_error_set(error, "cannot read all of %s as a text", path);
            free(text);
            text = NULL;
        } else {
            text[bytes] = '\0';
        }
    }
    fclose(file);
    return text;
}

cJSON *bench_report_read(const char *path, bench_error *error) {
    char *text = read_text(path, error);
    if (!text) {
        return NULL;
    }
    cJSON *root = cJSON_ParseWithOpts(text, NULL, 1); /* nothing behind it */
    free(text);
    if (!root) {
        bench_error_set(error, "%s is not JSON", path);
    } else if (!cJSON_IsObject(cJSON_GetObjectItem(root, "context")) ||
               !cJSON_IsArray(cJSON_GetObjectItem(root, "benchmarks"))) {
        bench_error_set(error, "%s is no result of clump-bench: context or benchmarks is missing",
                        path);
        cJSON_Delete(root);
        root = NULL;
    }
    return root;
}

/* 1 if everything that add_origin() writes is the same in that file. */
static int is_same_sitting(const cJSON *root, const bench_env *env, const char *path,
                           bench_error *error) {
    const cJSON *theirs = cJSON_GetObjectItem(root, "context"), *item = NULL;
    cJSON *ours = cJSON_CreateObject();
    int is_same = ours && add_origin(ours, env);
    if (!is_same) {
        bench_error_set(error, "memory ran out while reading %s", path);
    }
    cJSON_ArrayForEach(item, ours) {
        const cJSON *other = cJSON_GetObjectItem(theirs, item->string);
        int is_null = cJSON_IsNumber(item) && isnan(item->valuedouble) && cJSON_IsNull(other);
        if (is_same && !is_null && !cJSON_Compare(item, other, 1)) {
            bench_error_set(error,
                            "%s is of another sitting, its %s differs; choose another folder", path,
                            item->string);
            is_same = 0;
        }
    }
    cJSON_Delete(ours);
    return is_same;
}

int bench_report_resume(bench_report *report, const bench_env *env, const char *path,
                        bench_error *error) {
    FILE *file = fopen(path, "rb");
    if (!file) {
        return 0;
    }
    fclose(file);
    cJSON *root = bench_report_read(path, error);
    int result = root && is_same_sitting(root, env, path, error) ? 0 : -1;
    if (result == 0) {
        cJSON *context = cJSON_GetObjectItem(root, "context");
        const char *command = cJSON_GetStringValue(cJSON_GetObjectItem(context, "command"));
        snprintf(report->command, sizeof report->command, "%s", command ? command : "");
        cJSON_Delete(report->benchmarks);
        report->benchmarks = cJSON_DetachItemFromObject(root, "benchmarks");
    }
    cJSON_Delete(root);
    return result;
}

/* ---- Writing --------------------------------------------------------------------------------- */

/* Returns 0 if memory ran out. */
static int print_line(FILE *file, const char *before, const cJSON *item, const char *after) {
    char *text = cJSON_PrintUnformatted(item);
    int ok = text && fprintf(file, "%s%s%s\n", before, text, after) > 0;
    cJSON_free(text);
    return ok;
}

/* As JSON, a line for the context and for each run; NULL if memory ran out. */
static char *print_lines(const cJSON *context, const cJSON *runs) {
    char *text = NULL;
    size_t bytes = 0;
    FILE *file = open_memstream(&text, &bytes);
    if (!file) return NULL;
    int ok = print_line(file, "{\"context\":", context, ",");
    fprintf(file, "\"benchmarks\":[\n");
    const cJSON *run = NULL;
    cJSON_ArrayForEach(run, runs) ok = ok && print_line(file, "", run, run->next ? "," : "");
    ok &= fprintf(file, "]}") > 0;
    if (fclose(file) == 0 && ok) return text;
    free(text);
    return NULL;
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
    if (!report->failed && root && add_context(root, env, report->command, command)) {
        text = print_lines(cJSON_GetObjectItem(root, "context"), report->benchmarks);
    }
    if (text) {
        result = write_text(path, text, error);
    } else {
        bench_error_set(error, "memory ran out while writing %s", path);
    }
    free(text);
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

static void print_preset(const bench_values *values) {
    const char *between = "; not this set-up any more, since it has another value of ";
    printf("  preset %s (%s)", values->preset->name, values->preset->sentence);
    for (int i = 0; values->params[i].key; i++) {
        if (bench_is_overridden(values, i)) {
            printf("%s%s", between, values->params[i].key);
            between = ", ";
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
    const bench_machine *machine = &results->machine;
    printf("%s on %s%s%s\n", benchmark->name, found ? found->platform_name : "no device",
           found ? " / " : "", found ? found->device_name : "");
    printf("  commit %.12s (%s), load %s, processors at %s to %s MHz\n", bench_commit, bench_tree,
           bench_number_of(machine->load).text, bench_number_of(machine->cpu_mhz_min).text,
           bench_number_of(machine->cpu_mhz_max).text);
    if (values->preset) {
        print_preset(values);
    }
    print_params(values);
    if (results->metric_count > 0) {
        print_metrics(results);
    }
    for (size_t i = 0; i < results->note_count; i++) {
        printf("  note: %s\n", results->notes[i]);
    }
    printf("  check: %s: %s\n", bench_verdict_name(results->verdict), results->check_message);
    fflush(stdout);
}
