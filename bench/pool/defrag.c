/* The benchmark pool-defrag (Eichinger's thesis 5.3): a grid of the weights of defragmentation,
 * beside none of it, and moves in the order in which they are found.
 *
 * A test is rounds of 1 to 5 allocations and as many frees, of 256 KiB to 16 MiB in chunks of 64
 * MiB, with ten steps after each. Measured after each round: fragmentation f (5.1), mean over the
 * chunks, and chunks. Sizes may be scaled down; what is copied is compared by tags.
 *
 * Read first: bench.h, trace.h, include/clump/defrag.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/harness/bench.h"
#include "bench/harness/plot.h"
#include "bench/harness/registry.h"
#include "clump/experimental.h"
#include "pool_bench.h"
#include "trace.h"

#define LIVE_MAX 1024u
#define STEPS 10
#define WEIGHTS 5u

static const double grid[WEIGHTS] = {0, 0.25, 0.5, 0.75, 1};

typedef struct defrag_bench {
    bench_env *env;
    const bench_values *values;
    bench_results *results;
    struct {
        clump_allocation allocation;
        uint32_t tag;
    } live[LIVE_MAX];
    uint32_t count;
    double f[WEIGHTS][WEIGHTS], f_off; /* by location weight, then free-space weight */
} defrag_bench;

typedef struct defrag_sums {
    double fragmentation, chunks, moved;
    uint32_t rounds;
} defrag_sums;

/* NULL: no defragmentation. */
static int take_steps(defrag_bench *b, clump_pool *pool, const clump_defrag_desc *desc) {
    for (int i = 0; desc && i < STEPS; i++)
        if (clump_pool_defragment(pool, desc, NULL, NULL))
            return pool_bench_fail(&b->results->error, "a step", pool);
    return 0;
}

static int tag(defrag_bench *b, clump_pool *pool, uint32_t i, int writes) {
    clump_allocation_info info = {.size = sizeof info};
    uint32_t found = b->live[i].tag;
    if (clump_pool_get_info(pool, b->live[i].allocation, &info))
        return pool_bench_fail(&b->results->error, "an allocation", pool);
    size_t at = info.region.offset + ((info.region.bytes - 4) & ~UINT64_C(3));
    cl_int code = writes ? clEnqueueWriteBuffer(b->env->queue, info.region.buffer, CL_TRUE, at, 4,
                                                &found, 0, NULL, NULL)
                         : clEnqueueReadBuffer(b->env->queue, info.region.buffer, CL_TRUE, at, 4,
                                               &found, 0, NULL, NULL);
    if (code) return bench_error_cl(&b->results->error, "a tag", code);
    if (found != b->live[i].tag)
        bench_check(b->results, 0, "the contents of an allocation are lost in a move");
    return 0;
}

static int change_pool(defrag_bench *b, clump_pool *pool, uint32_t seed, uint32_t *n) {
    uint64_t scale = (uint64_t)bench_int(b->values, "scale");
    uint32_t allocs = 1 + pool_random(seed, n) % 5, frees = 1 + pool_random(seed, n) % 5;
    for (uint32_t i = 0; i < allocs && b->count < LIVE_MAX; i++) {
        double share = pool_random_share(seed, n);
        clump_allocation_desc a = {.size = sizeof a,
                                   .bytes = (uint64_t)((0.25 + 15.75 * share) * 1048576) / scale,
                                   .movable = 1};
        if (clump_pool_alloc(pool, &a, &b->live[b->count].allocation, NULL))
            return pool_bench_fail(&b->results->error, "an allocation", pool);
        b->live[b->count].tag = pool_random(seed, n);
        if (tag(b, pool, b->count++, 1)) return -1;
    }
    for (uint32_t i = 0; i < frees && b->count; i++) {
        uint32_t k = pool_random(seed, n) % b->count;
        if (tag(b, pool, k, 0)) return -1;
        if (clump_pool_free(pool, b->live[k].allocation))
            return pool_bench_fail(&b->results->error, "a free", pool);
        b->live[k] = b->live[--b->count];
    }
    return 0;
}

static int run_test(defrag_bench *b, uint32_t test, const clump_defrag_desc *desc,
                    defrag_sums *sums) {
    clump_pool_desc d = {
        .size = sizeof d,
        .context = b->env->clump,
        .chunk_bytes = (UINT64_C(64) << 20) / (uint64_t)bench_int(b->values, "scale"),
        .unique_share = 1,
        .fit = pool_bench_fit(b->values)};
    clump_pool *pool;
    clump_error words;
    if (clump_pool_create(&d, &pool, &words))
        return bench_error_set(&b->results->error, "a pool: %.400s", words.message);
    uint32_t seed = b->env->seed + test, n = 0;
    int result = 0;
    b->count = 0;
    for (int64_t round = 0; !result && round < bench_int(b->values, "rounds"); round++) {
        clump_pool_details details = {.size = sizeof details};
        clump_pool_stats stats = {.size = sizeof stats};
        result = change_pool(b, pool, seed, &n) || take_steps(b, pool, desc);
        if (result) break;
        clump_pool_get_stats(pool, NULL, &details);
        clump_pool_get_stats(pool, &stats, NULL);
        sums->fragmentation += details.fragmentation;
        sums->chunks += stats.chunks;
        sums->rounds++;
    }
    clump_pool_stats stats = {.size = sizeof stats};
    clump_pool_get_stats(pool, &stats, NULL);
    sums->moved += (double)stats.moved_bytes / 1048576;
    for (uint32_t i = 0; !result && i < b->count; i++) result = tag(b, pool, i, 0);
    if (!result && clump_pool_check(pool))
        result = pool_bench_fail(&b->results->error, "the check", pool);
    clump_pool_destroy(pool);
    return result ? -1 : 0;
}

static int run_setting(defrag_bench *b, const char *name, const clump_defrag_desc *desc,
                       double *f) {
    defrag_sums sums = {0};
    int64_t tests = bench_int(b->values, "tests");
    for (uint32_t test = 0; test < tests; test++)
        if (run_test(b, test, desc, &sums)) return -1;
    char metric[64];
    snprintf(metric, sizeof metric, "f_%s", name);
    *f = sums.fragmentation / sums.rounds;
    bench_sample(b->results, metric, "share", *f);
    snprintf(metric, sizeof metric, "chunks_%s", name);
    bench_sample(b->results, metric, "chunks", sums.chunks / sums.rounds);
    return 0;
}

static int run_grid(defrag_bench *b) {
    clump_defrag_desc desc = {.size = sizeof desc, .wait = 1, .order = CLUMP_DEFRAG_OLDEST};
    if (bench_is(b->values, "order", "fullest")) desc.order = CLUMP_DEFRAG_FULLEST;
    desc.max_moves = (uint32_t)bench_int(b->values, "moves");
    clump_defrag_weights weights = {.free_small = bench_float(b->values, "small"),
                                    .free_limit = bench_float(b->values, "limit")};
    desc.weights = &weights; /* both 0: moves as they are found */
    if (run_setting(b, "off", NULL, &b->f_off) || run_setting(b, "unweighted", &desc, &b->f[0][0]))
        return -1;
    int all = bench_is(b->values, "grid", "1");
    for (size_t i = 0; i < WEIGHTS; i++) {
        for (size_t k = 0; k < WEIGHTS; k++) {
            int is_corner = (i == 0 || i == WEIGHTS - 1) && (k == 0 || k == WEIGHTS - 1);
            if ((i == 0 && k == 0) || (!all && !is_corner)) continue; /* both 0: done */
            char name[48];
            weights.location = grid[i];
            weights.free = grid[k];
            snprintf(name, sizeof name, "a%g_w%g", grid[i], grid[k]);
            if (run_setting(b, name, &desc, &b->f[i][k])) return -1;
        }
    }
    return 0;
}

static int draw(const defrag_bench *b, const char *path, bench_error *error) {
    static const char *const labels[WEIGHTS] = {"location 0", "location 0.25", "location 0.5",
                                                "location 0.75", "location 1"};
    static const char *const colors[WEIGHTS] = {"#d62728", "#ff7f0e", "#2ca02c", "#1f77b4",
                                                "#9467bd"};
    double off[WEIGHTS];
    bench_plot plot = {.title = "fragmentation with weights of defragmentation",
                       .x_label = "free-space weight",
                       .y_label = "f, mean over all rounds",
                       .x = grid,
                       .points = WEIGHTS,
                       .series_count = WEIGHTS + 1};
    for (size_t i = 0; i < WEIGHTS; i++) {
        off[i] = b->f_off;
        plot.series[i] = (bench_plot_series){labels[i], colors[i], BENCH_PLOT_LINE, b->f[i]};
    }
    plot.series[WEIGHTS] =
        (bench_plot_series){"no defragmentation", "#808080", BENCH_PLOT_DOTS, off};
    return bench_plot_write(&plot, path, error);
}

static int begin(void *self, bench_env *env, const bench_values *values, bench_results *results) {
    defrag_bench *b = self;
    b->env = env;
    b->values = values;
    b->results = results;
    return 0;
}

static int run_round(void *self, uint32_t number, int is_measured) {
    (void)number;
    (void)is_measured;
    return run_grid(self);
}

static int finish(void *self) {
    defrag_bench *b = self;
    const char *path = bench_text(b->values, "plot");
    bench_error error;
    bench_check(b->results, 1, "all contents kept, all pools consistent");
    if (*path && !bench_is(b->values, "grid", "1"))
        bench_note(b->results, "no plot without the whole grid of weights: set grid=1");
    else if (*path && draw(b, path, &error))
        bench_note(b->results, "%.400s", error.text);
    return 0;
}

static void end(void *self) {
    (void)self;
}

static const bench_param params[] = {
    {"tests", BENCH_INT, "25", "with other random numbers", 1, 1e6, NULL},
    {"rounds", BENCH_INT, "50", "of a test", 1, 1e6, NULL},
    {"scale", BENCH_INT, "16", "all sizes are divided by this", 1, 1024, NULL},
    {"moves", BENCH_INT, "1", "at most in a step; 0: no limit", 0, 1000, NULL},
    {"small", BENCH_FLOAT, "0.0001", "s_small, share of a chunk", 1e-9, 1, NULL},
    {"limit", BENCH_FLOAT, "0.001", "s_limit, share of a chunk", 1e-9, 1, NULL},
    {"strategy", BENCH_ENUM, "first", "of the pool", 0, 0, "good|first|best|worst"},
    {"order", BENCH_ENUM, "oldest", "chunks to fill first", 0, 0, "fullest|oldest"},
    {"grid", BENCH_ENUM, "1", "all 24 pairs of weights, or only the corners", 0, 0, "0|1"},
    {"plot", BENCH_STRING, "", "SVG or PNG of f over the weights, with grid=1", 0, 0, NULL},
    {NULL, BENCH_INT, NULL, NULL, 0, 0, NULL}};

const bench_descriptor bench_pool_defrag = {
    .name = "pool-defrag",
    .sentence = "Defragmentation of a pool over a grid of location and free-space weights",
    .params = params,
    .repeat = 1,
    .bytes = sizeof(defrag_bench),
    .begin = begin,
    .round = run_round,
    .finish = finish,
    .end = end};
