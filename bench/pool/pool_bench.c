/* See pool_bench.h. */
#include "pool_bench.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

clump_fit pool_bench_fit(const bench_values *values) {
    static const char *const names[CLUMP_FIT_COUNT] = {"good", "first", "best", "worst"};
    int fit = 0;
    while (!bench_is(values, "strategy", names[fit])) fit++;
    return (clump_fit)fit;
}

int pool_bench_open(bench_env *env, const bench_values *values, clump_pool **pool,
                    bench_error *error) {
    clump_error words;
    clump_pool_desc desc = {.size = sizeof desc,
                            .context = env->clump,
                            .name = "benchmark",
                            .chunk_bytes = (uint64_t)bench_int(values, "chunk_kb") << 10,
                            .fit = pool_bench_fit(values)};
    if (clump_pool_create(&desc, pool, &words) == CLUMP_OK) return 0;
    return bench_error_set(error, "a pool: %.400s", words.message);
}

int pool_bench_fail(bench_error *error, const char *what, clump_pool *pool) {
    clump_error words;
    clump_pool_get_error(pool, &words);
    return bench_error_set(error, "%s: %.400s", what, words.message);
}

void pool_bench_defrag(const bench_values *values, clump_defrag_desc *desc) {
    *desc = (clump_defrag_desc){.size = sizeof *desc, .wait = 1};
    if (!bench_is(values, "defrag", "all"))
        desc->budget_us = (double)bench_int(values, "budget_us");
    if (bench_is(values, "order", "oldest")) desc->order = CLUMP_DEFRAG_OLDEST;
}

int pool_bench_draw(clump_pool *pool, const char *path, bench_error *error) {
    clump_status status = clump_pool_dump(pool, CLUMP_POOL_SVG, CLUMP_TO_PATH(path));
    return status == CLUMP_OK ? 0 : pool_bench_fail(error, "the picture", pool);
}

/* ---- The dump read back ---------------------------------------------------------------------- */

typedef struct text_copy {
    char *data; /* NULL: no memory */
} text_copy;

static int copy_text(void *user, const void *text, size_t bytes) {
    text_copy *copy = user;
    copy->data = malloc(bytes + 1);
    if (!copy->data) return 1;
    memcpy(copy->data, text, bytes);
    copy->data[bytes] = 0;
    return 0;
}

static double number_of(const cJSON *object, const char *name) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
    return cJSON_IsNumber(item) ? item->valuedouble : -1;
}

/* The ranges of a chunk cover it once; returns the bytes that are not free, -1 if they do not. */
static double add_ranges(const cJSON *chunk, uint64_t *allocations) {
    double end = 0, used = 0;
    const cJSON *range;
    cJSON_ArrayForEach(range, cJSON_GetObjectItemCaseSensitive(chunk, "ranges")) {
        const char *state = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(range, "state"));
        if (!state || number_of(range, "offset") != end || number_of(range, "bytes") <= 0)
            return -1;
        end += number_of(range, "bytes");
        if (strcmp(state, "free") != 0) used += number_of(range, "bytes");
        *allocations += strcmp(state, "used") == 0;
    }
    return end == number_of(chunk, "bytes") ? used : -1;
}

static const char *check_json(const cJSON *root, const clump_pool_stats *stats) {
    const char *format = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(root, "format"));
    const cJSON *told = cJSON_GetObjectItemCaseSensitive(root, "stats"), *chunk;
    double bytes = 0, used = 0;
    uint64_t allocations = 0;
    if (!format || strcmp(format, "clump pool 1") != 0) return "its format is another";
    cJSON_ArrayForEach(chunk, cJSON_GetObjectItemCaseSensitive(root, "chunks")) {
        double of_chunk = add_ranges(chunk, &allocations);
        if (of_chunk < 0 || of_chunk != number_of(chunk, "used_bytes"))
            return "the ranges of a chunk are not right";
        bytes += number_of(chunk, "bytes");
        used += of_chunk;
    }
    if (allocations != stats->allocations || number_of(told, "allocations") != (double)allocations)
        return "allocations are missing";
    if (bytes != (double)stats->bytes || used != (double)stats->used_bytes ||
        number_of(told, "used_bytes") != used)
        return "its sums are not those of the statistics";
    return NULL;
}

int pool_bench_check_dump(clump_pool *pool, bench_results *results) {
    text_copy copy = {NULL};
    clump_pool_stats stats = {.size = sizeof stats};
    if (clump_pool_dump(pool, CLUMP_POOL_JSON, copy_text, &copy) ||
        clump_pool_get_stats(pool, &stats, NULL)) {
        free(copy.data);
        return pool_bench_fail(&results->error, "the dump", pool);
    }
    cJSON *root = cJSON_Parse(copy.data);
    const char *wrong = root ? check_json(root, &stats) : "it is no JSON";
    if (wrong) bench_check(results, 0, "the dump of the pool: %s", wrong);
    cJSON_Delete(root);
    free(copy.data);
    return 0;
}
