/* The parameters that switch parts of the allocator off, the same for all benchmarks whose kernels
 * make objects.
 *
 * Read first: bench.h, clump/experimental.h.
 */
#ifndef BENCH_TUNING_H
#define BENCH_TUNING_H

#include "bench.h"
#include "clump/experimental.h"

/* Lines of a list of parameters: those of clump_alloc_tuning. */
/* clang-format off */
#define BENCH_TUNING_PARAMS                                                                        \
    {"coalescing", BENCH_ENUM, "on", "combine the requests of a warp", 0, 0, "on|off"},            \
    {"rotation", BENCH_ENUM, "on", "start searches at different places", 0, 0, "on|off"},          \
    {"retries", BENCH_INT, "0", "look-ups by hints; 0: default", 0, 1024, NULL},                   \
    {"registers", BENCH_INT, "0", "NVIDIA: of a work-item, at most; 0: default", 0, 255, NULL}
/* clang-format on */

/* A heap that is checked (clump/checked.h): what one check costs, or all. */
#define BENCH_CHECKED_PARAM                                                                        \
    {                                                                                              \
        "checked", BENCH_ENUM, "off", "checks of the heap", 0, 0,                                  \
            "off|references|bounds|reads|freed|memory|history|leaks|generations|all"               \
    }

/* The checks. That of generations comes with that of references. */
uint32_t bench_checks_of(const bench_values *values);

/* Their values. */
clump_alloc_tuning bench_tuning_of(const bench_values *values);

#endif
