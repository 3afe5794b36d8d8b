/* What the benchmarks app-game-of-life and app-generation share: a run of any variant, measured and
 * compared with a reference.
 *
 * Read first: world.h, bench/apps/app.h.
 */
#ifndef LIFE_BENCHMARK_H
#define LIFE_BENCHMARK_H

#include "bench/apps/app.h"
#include "world.h"

/* Parameters that both have; the first lines of their lists. */
/* clang-format off */
#define LIFE_PARAMS(steps, density)                                                                \
    BENCH_APP_PARAMS("clump|soa|sequential", steps, 1e6),                                          \
    {"width", BENCH_INT, "0", "cells of a row; 0: of the pattern, else 512", 0, 1 << 20, NULL},    \
    {"height", BENCH_INT, "0", "rows of cells; 0: of the pattern, else 512", 0, 1 << 20, NULL},    \
    {"density", BENCH_INT, density, "living cells at the start, per 1000", 0, 1000, NULL},         \
    {"pattern", BENCH_STRING, "", "PBM, PGM or RLE file to start with, in the middle; or burst", 0,\
     0, NULL},                                                                                     \
    {"model", BENCH_ENUM, "lean", "objects and phases: ours, or DynaSOAr's", 0, 0,                 \
     "lean|dynasoar"},                                                                             \
    BENCH_COMPACTION_PARAMS
/* clang-format on */

typedef struct life_run {
    bench_app app;
    life_desc desc;
    size_t cells;
    life_code *start; /* the first world */
} life_run;

/* By the rule that the parameter `rule` names. */
int life_begin_generation(void *self, bench_env *env, const bench_values *values,
                          bench_results *results);

#endif
