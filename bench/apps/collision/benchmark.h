/* What the benchmarks of bodies share: app-collision, app-nbody and app-barnes-hut.
 *
 * Read first: bench/apps/app.h, model.h.
 */
#ifndef COLLISION_BENCHMARK_H
#define COLLISION_BENCHMARK_H

#include "bench/apps/app.h"
#include "world.h"

/* Parameters that app-collision and app-nbody have alike, and those of them that app-barnes-hut has
 * too; `bodies` and `steps` are defaults. */
/* clang-format off */
#define COLLISION_BODY_PARAMS(bodies)                                                              \
    {"bodies", BENCH_INT, bodies, "bodies at the start", 1, 4194304, NULL},                        \
    {"input", BENCH_STRING, "", "CSV file of first states: x,y,vx,vy,mass", 0, 0, NULL},           \
    {"dt", BENCH_FLOAT, "0.01", "time of a step", 1e-9, 1, NULL},                                  \
    {"gravity", BENCH_FLOAT, "1", "constant of gravity times all mass", 0, 1000, NULL},            \
    {"gravity_constant", BENCH_FLOAT, "0", "of masses as they are; 0: by gravity", 0, 1000, NULL}, \
    {"softening", BENCH_FLOAT, "0.01", "added to distances, squared", 1e-4, 1, NULL},              \
    {"law", BENCH_ENUM, "plummer", "m d / (d^2 + s^2)^(3/2), or m d / (|d| (d^2 + s^2))", 0, 0,    \
     "plummer|damped"},                                                                            \
    {"extent", BENCH_FLOAT, "1", "of coordinates of random bodies, at most", 0, 1, NULL},          \
    {"speed", BENCH_FLOAT, "0.25", "of random bodies, at most, in x and in y", 0, 1000, NULL},     \
    {"mass_min", BENCH_FLOAT, "0.5", "of random bodies", 1e-18, 1e18, NULL},                       \
    {"mass_max", BENCH_FLOAT, "1", "of random bodies", 1e-18, 1e18, NULL},                         \
    BENCH_PIXELS_PARAM
#define COLLISION_PARAMS(bodies, steps)                                                            \
    BENCH_APP_PARAMS(BENCH_APP_VARIANTS, steps, 1e6), COLLISION_BODY_PARAMS(bodies)
/* clang-format on */

typedef struct collision_run {
    bench_app app;
    collision_desc desc;
    collision_body *first; /* the first states */
} collision_run;

int collision_begin_nbody(void *self, bench_env *env, const bench_values *values,
                          bench_results *results);

/* What a run of any of the three begins with: the bodies of the file that the parameter `input`
 * names, which is noted; without one `bodies` random ones by `seed`. *bodies is the caller's to
 * free, also if this fails. Returns 0, or -1 and app->error. */
int collision_first_bodies(bench_app *app, collision_body **bodies, uint32_t *count);

#endif
