/* The bodies that a run of collision, nbody or barnes-hut begins with.
 *
 * Read first: model.h, bench/apps/app.h. */
#ifndef COLLISION_FIRST_H
#define COLLISION_FIRST_H

#include "bench/apps/app.h"
#include "model.h"

/* Those of the file that the parameter `input` names, which is noted; without one `bodies` random
 * ones by `seed`. *bodies is the caller's to free, also if this fails. Returns 0, or -1 and
 * app->error. */
int collision_first_bodies(bench_app *app, collision_body **bodies, uint32_t *count);

#endif
