/* See pool_bench.h. */
#include "pool_bench.h"

#include <errno.h>
#include <stdio.h>
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
    clump_pool_desc desc = {.context = env->clump,
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
    memset(desc, 0, sizeof *desc);
    desc->wait = 1;
    if (bench_is(values, "defrag", "budget"))
        desc->budget_ns = (uint64_t)bench_int(values, "budget_us") * 1000;
    if (bench_is(values, "order", "oldest")) desc->order = CLUMP_DEFRAG_OLDEST;
}

static void write_text(void *user, const char *text, size_t bytes) {
    fwrite(text, 1, bytes, user);
}

int pool_bench_draw(clump_pool *pool, const char *path, bench_error *error) {
    FILE *file = fopen(path, "w");
    if (!file) return bench_error_set(error, "%.200s: %s", path, strerror(errno));
    clump_status status = clump_pool_draw(pool, write_text, file);
    int failed = ferror(file);
    if (fclose(file) || failed) return bench_error_set(error, "%.200s: cannot be written", path);
    return status == CLUMP_OK ? 0 : pool_bench_fail(error, "the picture", pool);
}
