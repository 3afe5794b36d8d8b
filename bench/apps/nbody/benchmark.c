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

static const bench_preset presets[] = {
    {"dynasoar", "the public default set-up of DynaSOAr's nbody",
     "bodies=20000 steps=671 dt=0.02 gravity_constant=6.673e-11 law=damped "
     "softening=0.22360679774997896 extent=1 speed=0.0005 mass_min=500 mass_max=1000"},
    {"thesis", "Springer's thesis 7.1: 65,536 bodies, no damping",
     "bodies=65536 steps=671 dt=0.02 gravity_constant=6.673e-11 law=plummer "
     "softening=0.0001 extent=1 speed=0.0005 mass_min=500 mass_max=1000"},
    {NULL, NULL, NULL}};

const bench_descriptor bench_app_nbody = {
    .name = "app-nbody",
    .sentence =
        "Bodies that attract each other: a loop over all pairs of objects (Springer's thesis 7.1)",
    .params = params,
    .presets = presets,
    .size = "bodies",
    .bytes = sizeof(collision_run),
    .begin = collision_begin_nbody,
    BENCH_APP_CALLS};
