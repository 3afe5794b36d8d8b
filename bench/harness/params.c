/* Parameters of benchmarks: their defaults, checking what a user assigns, looking values up.
 *
 * Read first: bench.h.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

int bench_find_param(const bench_param *params, const char *key) {
    for (int i = 0; params[i].key; i++) {
        if (strcmp(params[i].key, key) == 0) {
            return i;
        }
    }
    return -1;
}

void bench_describe_param(const bench_param *param, char *text, size_t bytes) {
    switch (param->kind) {
    case BENCH_INT: snprintf(text, bytes, "%.0f .. %.0f", param->min, param->max); break;
    case BENCH_FLOAT: snprintf(text, bytes, "%g .. %g", param->min, param->max); break;
    case BENCH_ENUM: snprintf(text, bytes, "%s", param->choices); break;
    case BENCH_STRING:
        snprintf(text, bytes, "text, shorter than %d bytes", BENCH_TEXT_BYTES);
        break;
    }
}

static int is_choice(const char *choices, const char *text) {
    size_t length = strlen(text);
    while (*choices) {
        size_t end = strcspn(choices, "|");
        if (end == length && memcmp(choices, text, end) == 0) {
            return 1;
        }
        choices += choices[end] ? end + 1 : end;
    }
    return 0;
}

/* Integers may be written as 1e6. */
static int parse_number(const bench_param *param, const char *text, double *number) {
    char *end = NULL;
    *number = strtod(text, &end);
    if (end == text || *end != '\0' || !(*number >= param->min && *number <= param->max)) {
        return 0;
    }
    return param->kind == BENCH_FLOAT || *number == floor(*number);
}

static int is_valid(const bench_param *param, const char *text, bench_value *value) {
    switch (param->kind) {
    case BENCH_INT:
    case BENCH_FLOAT: return parse_number(param, text, &value->number);
    case BENCH_ENUM: return is_choice(param->choices, text);
    case BENCH_STRING: return 1;
    }
    return 0;
}

static int fail_key(const bench_values *values, const char *key, bench_error *error) {
    char keys[1024] = "";
    size_t used = 0;
    for (int i = 0; values->params[i].key && used < sizeof keys; i++) {
        int n =
            snprintf(keys + used, sizeof keys - used, "%s%s", i ? ", " : "", values->params[i].key);
        used += n > 0 ? (size_t)n : 0;
    }
    return bench_error_set(error, "no parameter is called '%.64s'; there are: %s", key, keys);
}

static int fail_preset(const bench_values *values, const char *name, bench_error *error) {
    char names[512] = "";
    size_t used = 0;
    for (const bench_preset *p = values->presets; p && p->name && used < sizeof names; p++) {
        int n = snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "", p->name);
        used += n > 0 ? (size_t)n : 0;
    }
    return used ? bench_error_set(error, "no preset is called '%.64s'; there are: %s", name, names)
                : bench_error_set(error, "there is no preset '%.64s': this benchmark has none",
                                  name);
}

static int set_preset(bench_values *values, const char *name, bench_error *error) {
    const bench_preset *preset = values->presets;
    while (preset && preset->name && strcmp(preset->name, name) != 0) {
        preset++;
    }
    if (!preset || !preset->name) {
        return fail_preset(values, name, error);
    }
    values->preset = preset;
    return bench_values_set_all(values, preset->set, error);
}

int bench_values_set(bench_values *values, const char *key, const char *text, bench_error *error) {
    if (strcmp(key, "preset") == 0) {
        return set_preset(values, text, error);
    }
    int index = bench_find_param(values->params, key);
    if (index < 0) {
        return fail_key(values, key, error);
    }
    const bench_param *param = &values->params[index];
    bench_value value = {.number = 0};
    if (strlen(text) >= sizeof value.text || !is_valid(param, text, &value)) {
        char range[256];
        bench_describe_param(param, range, sizeof range);
        return bench_error_set(error, "'%.64s' is no value for %s (%s); valid: %s", text, key,
                               param->meaning, range);
    }
    memcpy(value.text, text, strlen(text) + 1);
    values->values[index] = value;
    return 0;
}

void bench_values_init(bench_values *values, const bench_param *params,
                       const bench_preset *presets) {
    memset(values, 0, sizeof *values);
    values->params = params;
    values->presets = presets;
    for (int i = 0; params[i].key; i++) {
        bench_error error;
        if (i >= BENCH_PARAMS_MAX ||
            bench_values_set(values, params[i].key, params[i].initial, &error)) {
            fprintf(stderr, "clump-bench: the default of parameter %s is wrong\n", params[i].key);
            abort(); /* a descriptor in our own source is wrong: tests list and init all of them */
        }
    }
}

static const bench_value *look_up(const bench_values *values, const char *key) {
    int index = bench_find_param(values->params, key);
    if (index < 0) {
        fprintf(stderr, "clump-bench: a benchmark asks for a parameter '%s' that it lacks\n", key);
        abort();
    }
    return &values->values[index];
}

int bench_values_set_all(bench_values *values, const char *text, bench_error *error) {
    for (text += strspn(text, " "); *text; text += strspn(text, " ")) {
        char key[64], value[BENCH_TEXT_BYTES];
        int length = 0;
        if (sscanf(text, "%63[^= ]=%511[^ ]%n", key, value, &length) != 2) {
            return bench_error_set(error, "'%.200s' is not KEY=VALUE KEY=VALUE ...", text);
        }
        if (bench_values_set(values, key, value, error)) {
            return -1;
        }
        text += length;
    }
    return 0;
}

int64_t bench_int(const bench_values *values, const char *key) {
    return (int64_t)look_up(values, key)->number;
}

/* What a list "key=value key=value" sets `key` to, into `text` of BENCH_TEXT_BYTES; 0: to
 * nothing. */
static int find_in_set(const char *set, const char *key, char *text) {
    char name[64], value[BENCH_TEXT_BYTES];
    int length = 0, is_found = 0;
    for (; sscanf(set, " %63[^= ]=%511[^ ]%n", name, value, &length) == 2; set += length) {
        if (strcmp(name, key) == 0) {
            memcpy(text, value, sizeof value);
            is_found = 1;
        }
    }
    return is_found;
}

/* Whether `path` is `file`, wherever that lies. */
static int is_same_file(const char *path, const char *file) {
    size_t all = strlen(path), end = strlen(file);
    return strcmp(path, file) == 0 ||
           (all > end && path[all - end - 1] == '/' && strcmp(path + all - end, file) == 0);
}

int bench_is_overridden(const bench_values *values, int index) {
    const bench_param *param = &values->params[index];
    bench_value value = {.number = 0};
    if (!values->preset || !find_in_set(values->preset->set, param->key, value.text) ||
        !is_valid(param, value.text, &value)) {
        return 0;
    }
    const bench_value *now = &values->values[index];
    return param->kind == BENCH_INT || param->kind == BENCH_FLOAT
               ? now->number < value.number || now->number > value.number
               : !is_same_file(now->text, value.text);
}

uint32_t bench_u32(const bench_values *values, const char *key) {
    return (uint32_t)bench_int(values, key);
}

double bench_float(const bench_values *values, const char *key) {
    return look_up(values, key)->number;
}

const char *bench_text(const bench_values *values, const char *key) {
    return look_up(values, key)->text;
}

int bench_is(const bench_values *values, const char *key, const char *text) {
    return strcmp(bench_text(values, key), text) == 0;
}
