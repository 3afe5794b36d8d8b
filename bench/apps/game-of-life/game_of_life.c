/* The benchmark app-game-of-life. Read first: run.h. */
#include "bench/harness/registry.h"
#include "run.h"

static int run_game_of_life(bench_env *env, const bench_values *values, bench_results *results) {
    return life_run(env, values, "23/3", results);
}

static const bench_param params[] = {LIFE_PARAMS("500", "300"),
                                     {NULL, BENCH_INT, NULL, NULL, 0, 0, NULL}};

const bench_descriptor bench_app_game_of_life = {
    .name = "app-game-of-life",
    .sentence =
        "Conway's Game of Life: only living cells and their neighbours are objects "
        "(Springer's thesis 7.8)",
    .params = params,
    .repeat = 1,
    .size = "height",
    .needs_device = bench_app_needs_device,
    .run = run_game_of_life};
