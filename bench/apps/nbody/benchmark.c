/* The benchmark app-nbody: bodies that attract each other, and nothing else. The code is that of
 * app-collision without merging.
 *
 * Read first: bench/apps/collision/benchmark.h.
 */
#include "bench/apps/collision/benchmark.h"
#include "bench/apps/app.h"
#include "bench/harness/registry.h"

static const bench_param params[] = {COLLISION_PARAMS("2000", "100"),
                                     {NULL, BENCH_INT, NULL, NULL, 0, 0, NULL}};

const bench_descriptor bench_app_nbody = {
    .name = "app-nbody",
    .sentence =
        "Bodies that attract each other: a loop over all pairs of objects (Springer's thesis 7.1)",
    .params = params,
    .size = "bodies",
    .bytes = sizeof(collision_run),
    .begin = collision_begin_nbody,
    BENCH_APP_CALLS};
