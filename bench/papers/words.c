/* What is known of a paper's runs, and the cells that are computed from them. See paper.h. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/harness/series.h"
#include "bench/suite/suite.h"
#include "paper.h"

#define WORD_BYTES 256

/* ---- Runs ------------------------------------------------------------------------------------ */

static int count_runs(const paper *of) {
    int count = 0;
    while (of->runs[count].name) count++;
    return count;
}

int paper_find_run(const paper *of, const char *name, size_t length) {
    for (int i = 0; of->runs[i].name; i++) {
        if (strlen(of->runs[i].name) == length && memcmp(of->runs[i].name, name, length) == 0)
            return i;
    }
    return -1;
}

int paper_run_set(const paper_results *results, const paper_run *run, char *text,
                  bench_error *error) {
    const char *from = results->is_small ? run->small : run->full;
    if (!from) return bench_error_set(error, "--scale small has no such run");
    size_t used = 0;
    for (; *from && used + 1 < BENCH_TEXT_BYTES; from++) {
        if (*from != '@') {
            text[used++] = *from;
            continue;
        }
        char path[BENCH_TEXT_BYTES + 64];
        int length = (int)strcspn(from + 1, " ");
        if (!*results->data) {
            return bench_error_set(error, "%s needs the file %.*s: name its folder by --data",
                                   run->name, length, from + 1);
        }
        snprintf(path, sizeof path, "%s/%.*s", results->data, length, from + 1);
        FILE *file = fopen(path, "rb");
        if (!file) return bench_error_set(error, "%s: cannot read %s", run->name, path);
        fclose(file);
        size_t bytes = strlen(path);
        if (used + bytes + 1 > BENCH_TEXT_BYTES || strchr(path, ' '))
            return bench_error_set(error, "%s: the path %.200s is too long or has a space",
                                   run->name, path);
        memcpy(text + used, path, bytes);
        used += bytes;
        from += length;
    }
    text[used] = '\0';
    return 0;
}

/* With the name of a file alone: where it lies does not matter when a run is looked up. */
static int set_values(const paper_results *results, int run, bench_values *values,
                      bench_error *error) {
    const paper_run *r = &results->of->runs[run];
    const bench_descriptor *benchmark = bench_registry_find(r->benchmark, error);
    if (!benchmark) return -1;
    bench_values_init(values, benchmark->params, benchmark->presets);
    bench_error why;
    return bench_values_set_all(values, results->is_small && r->small ? r->small : r->full, &why)
               ? bench_error_set(error, "%s, run %s: %.400s", results->of->name, r->name, why.text)
               : 0;
}

int paper_results_create(const paper *of, int is_small, const char *data, paper_results *results,
                         bench_error *error) {
    *results = (paper_results){.of = of, .is_small = is_small};
    snprintf(results->data, sizeof results->data, "%s", data ? data : "");
    int count = count_runs(of);
    results->values = malloc(((size_t)count + 1) * sizeof *results->values); /* never 0 bytes */
    if (!results->values) return bench_error_set(error, "host memory ran out");
    for (int i = 0; i < count; i++) {
        if (set_values(results, i, &results->values[i], error)) return -1;
    }
    return 0;
}

void paper_results_release(paper_results *results) {
    for (size_t i = 0; i < results->folder_count; i++) {
        cJSON_Delete(results->roots[i][0]);
        cJSON_Delete(results->roots[i][1]);
    }
    free(results->values);
    *results = (paper_results){.of = NULL};
}

static cJSON *read_if_there(const char *folder, const char *name, int *failed, bench_error *error) {
    char path[2 * BENCH_TEXT_BYTES];
    snprintf(path, sizeof path, "%s/%s.json", folder, name);
    FILE *file = fopen(path, "rb");
    if (!file) return NULL;
    fclose(file);
    cJSON *root = bench_report_read(path, error);
    *failed |= !root;
    return root;
}

int paper_results_add(paper_results *results, const char *folder, bench_error *error) {
    int failed = 0;
    if (results->folder_count == PAPER_FOLDERS_MAX)
        return bench_error_set(error, "too many folders at %s", folder);
    cJSON **roots = results->roots[results->folder_count];
    roots[0] = read_if_there(folder, results->of->name, &failed, error);
    roots[1] = failed ? NULL : read_if_there(folder, "suite", &failed, error);
    results->folders[results->folder_count++] = folder;
    if (!failed && !roots[0] && !roots[1])
        return bench_error_set(error, "%s has neither %s.json nor suite.json", folder,
                               results->of->name);
    return failed ? -1 : 0;
}

/* ---- Looking runs up ------------------------------------------------------------------------- */

static const char *name_of(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Whether the parameter decides what is measured. */
static int is_of_work(const char *key) {
    static const char *const others[] = {"csv",    "levels", "plot",   "profile",
                                         "image",  "frames", "dumps",  "every",
                                         "sample", "check",  "depths", "degrees"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (strcmp(key, others[i]) == 0) return 0;
    }
    return 1;
}

/* A parameter that a file does not have is newer than the file: it had no other value than the
 * default. */
static int has_values(const cJSON *params, const bench_values *values) {
    for (int i = 0; values->params[i].key; i++) {
        const bench_param *param = &values->params[i];
        const cJSON *theirs = cJSON_GetObjectItem(params, param->key);
        const bench_value *ours = &values->values[i];
        if (!is_of_work(param->key)) continue;
        if (param->kind == BENCH_INT || param->kind == BENCH_FLOAT) {
            double number = theirs ? cJSON_GetNumberValue(theirs) : strtod(param->initial, NULL);
            if (!(fabs(number - ours->number) <= 1e-12 * fabs(ours->number))) return 0;
        } else {
            const char *text = theirs ? cJSON_GetStringValue(theirs) : param->initial;
            const char *wanted = *ours->text == '@' ? ours->text + 1 : ours->text;
            if (!text || strcmp(name_of(text), name_of(wanted)) != 0) return 0;
        }
    }
    return 1;
}

static int is_run(const paper_results *results, const cJSON *entry, int run) {
    const char *name = cJSON_GetStringValue(cJSON_GetObjectItem(entry, "name"));
    return name && strcmp(name, results->of->runs[run].benchmark) == 0 &&
           !suite_is(entry, "failed") &&
           has_values(cJSON_GetObjectItem(entry, "params"), &results->values[run]);
}

/* The run of that name comes first: others of the same work may have written no series. */
const cJSON *paper_find_entry(const paper_results *results, size_t folder, int run) {
    char key[SUITE_KEY_BYTES];
    suite_key(key, results->of->name, results->of->runs[run].name, 0);
    for (int file = 0; file < 2; file++) {
        const cJSON *entries = cJSON_GetObjectItem(results->roots[folder][file], "benchmarks");
        const cJSON *named = suite_find(entries, key), *entry = NULL;
        if (named && is_run(results, named, run)) return named;
        cJSON_ArrayForEach(entry, entries) {
            if (is_run(results, entry, run)) return entry;
        }
    }
    return NULL;
}

void paper_series_path(const paper_results *results, size_t folder, int run, char *path) {
    char key[SUITE_KEY_BYTES];
    suite_key(key, results->of->name, results->of->runs[run].name, 0);
    *strchr(key, '/') = '-';
    snprintf(path, BENCH_TEXT_BYTES, "%.400s/%s.series.csv", results->folders[folder], key);
}

/* ---- Words ----------------------------------------------------------------------------------- */

int paper_is_ours(const char *cell) {
    return cell && (*cell == '=' || *cell == '#');
}

/* The next run that a cell names from *cell on, which moves on; -1: no more. */
static int next_run(const paper *of, const char **cell, int *has_series) {
    while (**cell) {
        size_t length = strcspn(*cell, "=#/*|:@");
        char end = (*cell)[length];
        const char *name = *cell;
        *cell += length + (end != '\0');
        if (end == ':' || end == '@') {
            *has_series = end == '@';
            return paper_find_run(of, name, length);
        }
    }
    return -1;
}

static int row_uses(const paper_row *row, const paper *of, int run, int only_series) {
    for (int c = 0; c < PAPER_CELLS_MAX && row->cells[c]; c++) {
        const char *at = row->cells[c];
        int has_series = 0, found;
        while (paper_is_ours(row->cells[c]) && (found = next_run(of, &at, &has_series)) >= 0) {
            if (found == run && (has_series || !only_series)) return 1;
        }
    }
    return 0;
}

static int curves_use(const paper_item *item, const paper *of, int run) {
    for (int i = 0; i < PAPER_CURVES_MAX && item->curves[i].label; i++) {
        const char *name = item->curves[i].run;
        if (name && paper_find_run(of, name, strlen(name)) == run) return 1;
    }
    return 0;
}

static int rows_use(const paper_item *item, const paper *of, int run, int only_series) {
    for (int r = 0; r < PAPER_ROWS_MAX && item->rows[r].cells[0]; r++) {
        if (row_uses(&item->rows[r], of, run, only_series)) return 1;
    }
    return 0;
}

int paper_is_asked(const paper_item *item, const char *const *only, size_t only_count) {
    for (size_t i = 0; i < only_count; i++) {
        if (strcmp(item->name, only[i]) == 0) return 1;
    }
    return only_count == 0;
}

static int uses_run(const paper_item *item, const paper *of, int run) {
    return rows_use(item, of, run, 0) || curves_use(item, of, run) ||
           (item->picture && paper_find_run(of, item->picture, strlen(item->picture)) == run);
}

int paper_needs_run(const paper *of, int run, const char *const *only, size_t only_count) {
    for (const paper_item *item = of->items; item->name; item++) {
        if (paper_is_asked(item, only, only_count) && uses_run(item, of, run)) return 1;
    }
    return 0;
}

int paper_uses_series(const paper *of, int run) {
    for (const paper_item *item = of->items; item->name; item++) {
        if (rows_use(item, of, run, 1) || curves_use(item, of, run)) return 1;
    }
    return 0;
}

/* Names of metrics may have dots, as in f_a0.25_w0: the whole name goes first. */
static double of_metric(const cJSON *entry, const char *metric) {
    char name[64];
    const cJSON *metrics = cJSON_GetObjectItem(entry, "metrics");
    const cJSON *found = cJSON_GetObjectItem(metrics, metric);
    const char *dot = strrchr(metric, '.');
    if (found || !dot) return cJSON_GetNumberValue(cJSON_GetObjectItem(found, "median"));
    snprintf(name, sizeof name, "%.*s", (int)(dot - metric), metric);
    return cJSON_GetNumberValue(cJSON_GetObjectItem(cJSON_GetObjectItem(metrics, name), dot + 1));
}

static double reduce(const bench_series *series, int column, const char *how) {
    double sum = 0, most = NAN, at = NAN, last = NAN;
    for (size_t row = 0; row < series->rows; row++) {
        const double *values = series->values + row * series->columns;
        last = values[column];
        sum += last;
        if (!(last <= most)) most = last, at = values[0];
    }
    if (strcmp(how, "max") == 0) return most;
    if (strcmp(how, "at") == 0) return at;
    if (strcmp(how, "last") == 0) return last;
    return strcmp(how, "mean") == 0 && series->rows ? sum / (double)series->rows : NAN;
}

/* COLUMN.how of a series. */
static double reduce_word(const bench_series *series, const char *word) {
    char column[72];
    const char *dot = strrchr(word, '.');
    if (!dot) return NAN;
    snprintf(column, sizeof column, "%.*s", (int)(dot - word), word);
    int at = bench_series_find(series, column);
    return at < 0 ? NAN : reduce(series, at, dot + 1);
}

/* Returns 0 if memory ran out. */
static int keep_words(const paper *of, int run, const char *cell, const bench_series *series,
                      cJSON *entry) {
    const char *at = cell;
    int has_series = 0, found;
    while (paper_is_ours(cell) && (found = next_run(of, &at, &has_series)) >= 0) {
        char word[WORD_BYTES];
        if (found != run || !has_series) continue;
        snprintf(word, sizeof word, "%.*s", (int)strcspn(at, "/*|"), at);
        cJSON *kept = cJSON_GetObjectItem(entry, "series");
        if (!kept) kept = cJSON_AddObjectToObject(entry, "series");
        if (cJSON_GetObjectItem(kept, word)) continue;
        if (!cJSON_AddNumberToObject(kept, word, reduce_word(series, word))) return 0;
    }
    return 1;
}

int paper_keep_series(const paper *of, int run, const char *path, cJSON *entry,
                      bench_error *error) {
    bench_series series = {.columns = 0};
    if (bench_series_read_csv(&series, path, error)) return -1;
    int ok = 1;
    for (const paper_item *item = of->items; item->name; item++) {
        for (int r = 0; r < PAPER_ROWS_MAX && item->rows[r].cells[0]; r++) {
            for (int c = 0; c < PAPER_CELLS_MAX && item->rows[r].cells[c]; c++)
                ok = ok && keep_words(of, run, item->rows[r].cells[c], &series, entry);
        }
    }
    bench_series_release(&series);
    return ok ? 0 : bench_error_set(error, "host memory ran out");
}

static double of_series(const cJSON *entry, const char *word) {
    return cJSON_GetNumberValue(cJSON_GetObjectItem(cJSON_GetObjectItem(entry, "series"), word));
}

/* RUN:METRIC or RUN@COLUMN.how, with *NUMBER after it. */
static double of_word(const paper_results *results, size_t folder, const char *word) {
    char plain[WORD_BYTES];
    double factor = 1;
    snprintf(plain, sizeof plain, "%s", word);
    char *star = strchr(plain, '*');
    if (star) {
        factor = strtod(star + 1, NULL);
        *star = '\0';
    }
    char *end = NULL;
    double number = strtod(plain, &end);
    if (end > plain && !*end) /* a number of the paper, for a ratio of equal work */
        return results->is_small ? NAN : factor * number;
    size_t length = strcspn(plain, ":@");
    int run = paper_find_run(results->of, plain, length);
    const cJSON *entry = run < 0 ? NULL : paper_find_entry(results, folder, run);
    if (!entry) return NAN;
    return factor * (plain[length] == ':' ? of_metric(entry, plain + length + 1)
                                          : of_series(entry, plain + length + 1));
}

/* A cell without its first sign. */
static double compute(const paper_results *results, size_t folder, const char *cell) {
    char words[2][WORD_BYTES] = {"", ""};
    const char *form = strchr(cell, '|'), *slash = strstr(cell, "//");
    size_t end = form ? (size_t)(form - cell) : strlen(cell);
    size_t first = slash ? (size_t)(slash - cell) : end;
    snprintf(words[0], WORD_BYTES, "%.*s", (int)first, cell);
    double value = of_word(results, folder, words[0]);
    if (slash) {
        snprintf(words[1], WORD_BYTES, "%.*s", (int)(end - first - 2), slash + 2);
        value /= of_word(results, folder, words[1]);
    }
    if (form && strcmp(form, "|percent") == 0) value *= 100;
    if (form && strcmp(form, "|gain") == 0) value = 100 * (1 - value);
    return value;
}

static const char *device_of(const paper_results *results, size_t folder) {
    for (int file = 0; file < 2; file++) {
        const cJSON *context = cJSON_GetObjectItem(results->roots[folder][file], "context");
        const char *device = cJSON_GetStringValue(cJSON_GetObjectItem(context, "device"));
        if (device) return strncmp(device, "Portable", 8) == 0 ? "PoCL" : device;
    }
    return "another device";
}

const char *paper_other_device(const paper_results *results, size_t folder) {
    const char *device = device_of(results, folder);
    return strcmp(device, device_of(results, 0)) == 0 ? NULL : device;
}

/* As many digits as tell something. */
static void print(double value, const char *sign, char *text, size_t bytes) {
    if (fabs(value) >= 1000 && fabs(value) < 1e15) {
        char digits[64];
        int length = snprintf(digits, sizeof digits, "%.0f", value), used = 0;
        for (int i = 0; i < length && used + 2 < (int)bytes; i++) {
            if (i && digits[i - 1] != '-' && (length - i) % 3 == 0) text[used++] = ',';
            text[used++] = digits[i];
        }
        text[used] = '\0';
    } else {
        snprintf(text, bytes, fabs(value) < 10 ? "%.3g" : "%.4g", value);
    }
    size_t at = strlen(text);
    snprintf(text + at, bytes - at, "%s", sign);
}

/* Whether all runs that a word names were made on the device in question: then it has a number. */
static int has_runs(const paper_results *results, const char *cell) {
    const char *at = cell;
    int has_series = 0, run, count = 0;
    if (results->is_small && cell[1] >= '0' && cell[1] <= '9') return 0; /* of unlike work */
    while ((run = next_run(results->of, &at, &has_series)) >= 0) {
        if (results->folder_count == 0 || !paper_find_entry(results, 0, run)) return 0;
        if (results->is_small && !results->of->runs[run].small) return 0;
        count++;
    }
    return count > 0 && !*at;
}

paper_cell paper_evaluate(const paper_results *results, const char *cell) {
    paper_cell found = {.number = NAN};
    const char *sign = paper_is_ours(cell) && strchr(cell, '|') ? "%" : "";
    if (!paper_is_ours(cell)) {
        char plain[sizeof found.text];
        size_t used = 0;
        for (const char *c = cell; *c && used + 1 < sizeof plain; c++) {
            if (*c != ',') plain[used++] = *c;
        }
        plain[used] = '\0';
        char *end = NULL;
        double number = strtod(plain, &end);
        found.number = end > plain ? number : NAN;
        snprintf(found.text, sizeof found.text, "%s", cell);
        return found;
    }
    for (size_t folder = 0; folder < results->folder_count; folder++) {
        const char *other = paper_other_device(results, folder);
        if (other && *cell != '#') continue;
        double value = compute(results, folder, cell + 1);
        if (isnan(value)) continue;
        found.number = value;
        print(value, sign, found.text, sizeof found.text);
        if (other) {
            size_t at = strlen(found.text);
            snprintf(found.text + at, sizeof found.text - at, " (%s)", other);
        }
        return found;
    }
    snprintf(found.text, sizeof found.text, "%s",
             has_runs(results, cell) ? "not in this run"
             : results->is_small     ? "not at this scale"
                                     : "not run yet");
    return found;
}
