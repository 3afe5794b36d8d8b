/* clump-bench paper: runs what the tables and figures of a paper need, once each, and writes them.
 *
 * Runs are kept in FOLDER/NAME.json as a suite keeps its own; a later call of the same sitting adds
 * to it. Runs that are the same problem must end with the same checksum, whoever makes them.
 *
 * Read first: paper.h. Read next: words.c, table.c.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "bench/suite/suite.h"
#include "paper.h"

static const paper *const papers[] = {&paper_thesis, &paper_ismm, &paper_maas, &paper_eichinger};
#define PAPERS (sizeof papers / sizeof *papers)

typedef struct job {
    const bench_paper_request *request;
    bench_env *env;
    const paper *of;
    paper_results results;
    bench_report *report;
    char path[2 * BENCH_TEXT_BYTES]; /* of the JSON */
    int skipped;
} job;

static const paper *find_paper(const char *name, bench_error *error) {
    char names[128] = "";
    for (size_t i = 0; i < PAPERS; i++) {
        size_t used = strlen(names);
        if (strcmp(papers[i]->name, name) == 0) return papers[i];
        snprintf(names + used, sizeof names - used, "%s%s", i ? ", " : "", papers[i]->name);
    }
    bench_error_set(error, "no paper is called '%.64s'; there are: %s", name, names);
    return NULL;
}

static int check_items(const paper *of, const bench_paper_request *request, bench_error *error) {
    for (size_t i = 0; i < request->only_count; i++) {
        char names[1024] = "";
        const paper_item *item = of->items;
        for (; item->name && strcmp(item->name, request->only[i]) != 0; item++) {
            size_t used = strlen(names);
            snprintf(names + used, sizeof names - used, " %s", item->name);
        }
        if (!item->name)
            return bench_error_set(error, "%s has no table or figure '%.64s'; there are%s",
                                   of->name, request->only[i], names);
    }
    return 0;
}

/* ---- Running --------------------------------------------------------------------------------- */

static int append(char *set, const char *key, const char *value, bench_error *error) {
    size_t used = strlen(set);
    int more = snprintf(set + used, BENCH_TEXT_BYTES - used, " %s=%s", key, value);
    return more < 0 || used + (size_t)more >= BENCH_TEXT_BYTES
               ? bench_error_set(error, "the path %.300s is too long", value)
               : 0;
}

/* What is set, with the files that the run writes. */
static int set_of(const job *j, int run, char *set, bench_error *error) {
    const paper_run *r = &j->of->runs[run];
    char path[BENCH_TEXT_BYTES];
    int failed = paper_run_set(&j->results, r, set, error);
    if (!failed && paper_uses_series(j->of, run)) {
        paper_series_path(&j->results, 0, run, path);
        failed = append(set, "csv", path, error);
    }
    for (const paper_item *item = j->of->items; !failed && item->name; item++) {
        if (!item->picture || strcmp(item->picture, r->name) != 0) continue;
        snprintf(path, sizeof path, "%.300s/%s-%s.png", j->request->folder, j->of->name,
                 item->name);
        failed = append(set, "image", path, error);
    }
    return failed;
}

/* That of an earlier call goes. */
static void drop(job *j, const char *key) {
    cJSON *entries = bench_report_entries(j->report);
    for (int i = cJSON_GetArraySize(entries); i-- > 0;) {
        const cJSON *found = cJSON_GetObjectItem(cJSON_GetArrayItem(entries, i), "key");
        const char *text = cJSON_GetStringValue(found);
        if (text && strcmp(text, key) == 0) cJSON_DeleteItemFromArray(entries, i);
    }
}

static int keep_series(job *j, int run, bench_error *error) {
    cJSON *entries = bench_report_entries(j->report);
    cJSON *entry = cJSON_GetArrayItem(entries, cJSON_GetArraySize(entries) - 1);
    char path[BENCH_TEXT_BYTES];
    paper_series_path(&j->results, 0, run, path);
    return paper_keep_series(j->of, run, path, entry, error);
}

/* Returns 1 if its check failed. */
static int run_one(job *j, int run, bench_error *error) {
    const paper_run *r = &j->of->runs[run];
    const bench_descriptor *benchmark = bench_registry_find(r->benchmark, error);
    bench_results *results = malloc(sizeof *results);
    bench_values *values = malloc(sizeof *values);
    char set[BENCH_TEXT_BYTES], key[SUITE_KEY_BYTES];
    bench_request request = {.key = key, .set = set};
    int result = benchmark && results && values ? 0 : bench_error_set(error, "no %s", r->benchmark);
    suite_key(key, j->of->name, r->name, 0);
    drop(j, key);
    if (result == 0 && set_of(j, run, set, error)) {
        printf("%s is left out: %s\n", r->name, error->text);
        j->skipped++;
    } else if (result == 0) {
        bench_values_init(values, benchmark->params, benchmark->presets);
        result = bench_values_set_all(values, set, error);
        j->env->repeat = j->request->repeat ? j->request->repeat : benchmark->repeat;
        if (result == 0) {
            result = bench_run(j->env, &request, benchmark, values, j->report, results);
            bench_results_release(results);
        }
        if (result == 0 && paper_uses_series(j->of, run)) result = keep_series(j, run, error);
    }
    free(values);
    free(results);
    return result;
}

/* Runs of the same problem end alike: variants, models, compaction and the allocator's parts change
 * nothing. */
static int compare_runs(job *j) {
    int failed = 0;
    for (int a = 0; j->of->runs[a].name; a++) {
        for (int b = a + 1; j->of->runs[b].name; b++) {
            const cJSON *both[2];
            double sums[2];
            if (strcmp(j->of->runs[a].benchmark, j->of->runs[b].benchmark) != 0 ||
                !suite_is_same_problem(&j->results.values[a], &j->results.values[b], 1))
                continue;
            both[0] = paper_find_entry(&j->results, 0, a);
            both[1] = paper_find_entry(&j->results, 0, b);
            for (int i = 0; i < 2; i++) {
                const cJSON *metrics = cJSON_GetObjectItem(both[i], "metrics");
                sums[i] = cJSON_GetNumberValue(
                    cJSON_GetObjectItem(cJSON_GetObjectItem(metrics, "checksum"), "median"));
            }
            if (sums[0] < sums[1] || sums[0] > sums[1]) {
                printf(
                    "FAILED: %s and %s are the same problem, but end with the checksums %.0f "
                    "and %.0f\n",
                    j->of->runs[a].name, j->of->runs[b].name, sums[0], sums[1]);
                failed = 1;
            }
        }
    }
    return failed;
}

static int run_all(job *j, bench_error *error) {
    int failed = 0;
    if (j->request->only_count && bench_report_resume(j->report, j->env, j->path, error)) return -1;
    for (int i = 0; j->of->runs[i].name; i++) {
        if (!paper_needs_run(j->of, i, j->request->only, j->request->only_count)) continue;
        if (j->request->is_small && !j->of->runs[i].small) continue;
        int result = run_one(j, i, error);
        if (result < 0) return -1;
        failed |= result;
    }
    return bench_report_write(j->report, j->env, j->request->command, j->path, error) ? -1 : failed;
}

/* ---- The command ----------------------------------------------------------------------------- */

static int make_folder(const char *folder) {
    return mkdir(folder, 0777); /* it may be there; writing shows what is wrong */
}

static int run_paper(job *j, bench_error *error) {
    const bench_paper_request *request = j->request;
    int failed = 0;
    snprintf(j->path, sizeof j->path, "%s/%s.json", request->folder, j->of->name);
    make_folder(request->folder);
    if (request->from_count == 0) {
        j->results.folders[0] = request->folder; /* where series go; nothing is read yet */
        failed = run_all(j, error);
        if (failed < 0 || paper_results_add(&j->results, request->folder, error)) return -1;
        failed |= compare_runs(j);
    }
    for (size_t i = 0; i < request->from_count; i++) {
        if (paper_results_add(&j->results, request->from[i], error)) return -1;
    }
    if (paper_write(&j->results, request->only, request->only_count, request->folder, error))
        return -1;
    printf("%s/%s.md has the tables and figures%s\n", request->folder, j->of->name,
           j->skipped ? ", except for runs that were left out" : "");
    return failed;
}

int bench_paper_needs_device(const bench_paper_request *request) {
    return request->from_count == 0;
}

int bench_paper(bench_env *env, const bench_paper_request *request, bench_error *error) {
    job j = {.request = request, .env = env, .of = find_paper(request->name, error)};
    int result = -1;
    if (!j.of || check_items(j.of, request, error)) return -1;
    j.report = bench_report_create();
    if (!j.report) {
        bench_error_set(error, "host memory ran out");
    } else if (paper_results_create(j.of, request->is_small, request->data, &j.results, error) ==
               0) {
        result = run_paper(&j, error);
    }
    paper_results_release(&j.results);
    bench_report_destroy(j.report);
    return result;
}

void bench_paper_list(void) {
    for (size_t i = 0; i < PAPERS; i++) {
        printf("paper %s: %s\n ", papers[i]->name, papers[i]->title);
        for (const paper_item *item = papers[i]->items; item->name; item++)
            printf(" %s", item->name);
        printf("\n");
    }
}
