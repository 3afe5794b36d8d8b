/* What the benchmarks app-game-of-life and app-generation share: a run of any variant, measured and
 * compared with a reference.
 *
 * Read first: game_of_life.h, bench/bench.h.
 */
#ifndef LIFE_RUN_H
#define LIFE_RUN_H

#include "bench/bench.h"
#include "bench/compaction_option.h"
#include "bench/outputs.h"

/* Parameters that both have; the first lines of their lists. */
/* clang-format off */
#define LIFE_PARAMS(steps, density)                                                                \
    {"variant", BENCH_ENUM, "clump", "objects on the heap, a plain OpenCL grid, or plain C", 0, 0, \
     "clump|soa|sequential"},                                                                      \
    {"width", BENCH_INT, "0", "cells of a row; 0: of the pattern, else 512", 0, 1 << 20, NULL},    \
    {"height", BENCH_INT, "0", "rows of cells; 0: of the pattern, else 512", 0, 1 << 20, NULL},    \
    {"steps", BENCH_INT, steps, "steps to simulate", 1, 1e6, NULL},                                \
    {"seed", BENCH_INT, "42", "decides which cells live at the start", 0, UINT32_MAX, NULL},       \
    {"density", BENCH_INT, density, "living cells at the start, per 1000", 0, 1000, NULL},         \
    {"pattern", BENCH_STRING, "", "PBM, PGM or RLE file to start with, in the middle", 0, 0, NULL},\
    {"heap_mb", BENCH_INT, "0", "size of the heap in MiB; 0: from the cells", 0, 1e6, NULL},       \
    {"block_rows", BENCH_INT, "0", "rows of a block of agents; 0: from the heap", 0, 64, NULL},    \
    BENCH_COMPACTION_PARAMS,                                                                       \
    {"check", BENCH_INT, "1", "1: run the reference too and compare", 0, 1, NULL},                 \
    BENCH_OUTPUT_PARAMS
/* clang-format on */

/* By `rule`, as life_rule_parse() reads it. */
int life_run(bench_env *env, const bench_values *values, const char *rule, bench_results *results);

int life_needs_device(const bench_values *values);

#endif
