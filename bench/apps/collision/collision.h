/* The benchmark of bodies, for app-collision and app-nbody. Read first: bench/bench.h, world.h. */
#ifndef COLLISION_H
#define COLLISION_H

#include "bench/bench.h"
#include "bench/outputs.h"

/* Parameters that app-collision and app-nbody have alike; `bodies` and `steps` are presets. */
/* clang-format off */
#define COLLISION_COMMON_PARAMS(bodies, steps)                                                     \
    {"variant", BENCH_ENUM, "clump", "objects on the heap, plain OpenCL, or plain C", 0, 0,        \
     "clump|soa|aos|sequential"},                                                                  \
    {"bodies", BENCH_INT, bodies, "bodies at the start", 1, 4194304, NULL},                        \
    {"steps", BENCH_INT, steps, "steps to simulate", 1, 1e6, NULL},                                \
    {"seed", BENCH_INT, "42", "of the first states", 0, UINT32_MAX, NULL},                         \
    {"input", BENCH_STRING, "", "CSV file of first states: x,y,vx,vy,mass", 0, 0, NULL},           \
    {"dt", BENCH_FLOAT, "0.01", "time of a step", 1e-9, 1, NULL},                                  \
    {"gravity", BENCH_FLOAT, "1", "constant of gravity times all mass", 0, 1000, NULL},            \
    {"softening", BENCH_FLOAT, "0.01", "added to distances, squared", 1e-4, 1, NULL},              \
    {"heap_mb", BENCH_INT, "0", "size of the heap in MiB; 0: from the bodies", 0, 1e6, NULL},      \
    {"block_rows", BENCH_INT, "0", "rows of a block; 0: from the heap", 0, 64, NULL},              \
    {"check", BENCH_INT, "1", "1: run the reference too and compare", 0, 1, NULL},                 \
    {"pixels", BENCH_INT, "800", "width and height of pictures", 16, 8192, NULL},                  \
    BENCH_OUTPUT_PARAMS
/* clang-format on */

int collision_run(bench_env *env, const bench_values *values, bench_results *results,
                  int is_merging);

#endif
