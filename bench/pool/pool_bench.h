/* What the benchmarks of the pool share. Read first: bench.h. */
#ifndef BENCH_POOL_BENCH_H
#define BENCH_POOL_BENCH_H

#include "bench/harness/bench.h"

/* Parameters of the pool itself. */
#define POOL_BENCH_PARAMS                                                                          \
    {"strategy",                                                                                   \
     BENCH_ENUM,                                                                                   \
     "good",                                                                                       \
     "which free range serves a request",                                                          \
     0,                                                                                            \
     0,                                                                                            \
     "good|first|best|worst"},                                                                     \
    {                                                                                              \
        "chunk_kb", BENCH_INT, "0", "size of a chunk in KiB; 0: automatic", 0, 1 << 30, NULL       \
    }

clump_fit pool_bench_fit(const bench_values *values);

/* A pool on the benchmark's queue. */
int pool_bench_open(bench_env *env, const bench_values *values, clump_pool **pool,
                    bench_error *error);

/* `what` was tried, and a call on the pool failed. Returns -1. */
int pool_bench_fail(bench_error *error, const char *what, clump_pool *pool);

/* A step as the parameters defrag, budget_us and order say. */
void pool_bench_defrag(const bench_values *values, clump_defrag_desc *desc);

/* The JSON of the pool as docs/guide/pool.md says, and its sums those of the statistics. */
int pool_bench_check_dump(clump_pool *pool, bench_results *results);

int pool_bench_draw(clump_pool *pool, const char *path, bench_error *error);

#endif
