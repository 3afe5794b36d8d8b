/* The benchmark app-generation. Read first: bench/apps/game-of-life/benchmark.h. */
#include "bench/apps/game-of-life/benchmark.h"
#include "bench/harness/registry.h"

static const bench_param params[] = {{"rule", BENCH_STRING, "0235678/3468/255",
                                      "survival/birth/states, as in 23/3 or B3/S23", 0, 0, NULL},
                                     LIFE_PARAMS("500", "100"),
                                     {NULL, BENCH_INT, NULL, NULL, 0, 0, NULL}};

static const bench_preset presets[] = {
    {"dynasoar", "the public default set-up of DynaSOAr's generation",
     "model=dynasoar width=5000 height=5000 steps=442 rule=0235678/3468/257 pattern=burst"},
    {NULL, NULL, NULL}};

const bench_descriptor bench_app_generation = {
    .name = "app-generation",
    .sentence =
        "A generational cellular automaton: dying cells stay and block their place "
        "(Springer's thesis 7.8.3)",
    .params = params,
    .presets = presets,
    .size = "height",
    .bytes = sizeof(life_run),
    .begin = life_begin_generation,
    BENCH_APP_CALLS};
