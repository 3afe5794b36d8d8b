/* What the two models of the variant clump share: the first agents, and the state that is read.
 *
 * Every function returns 0, or -1 and an error.
 *
 * Read first: world.h, bench/apps/objects.h. Read next: heap.c, dynasoar.c.
 */
#ifndef SUGARSCAPE_AGENTS_H
#define SUGARSCAPE_AGENTS_H

#include "bench/apps/objects.h"
#include "world.h"

/* What the worlds of both begin with. */
typedef struct sugarscape_agents {
    bench_objects objects;
    sugarscape_rules rules;
    uint32_t iteration;
    cl_mem states; /* what read() gives; before, the first positions go through it */
} sugarscape_agents;

/* Make `states`, and the argument 1 of all kernels, the rules. */
int sugarscape_agents_begin(sugarscape_agents *world, bench_error *error);

/* The first agents of both sexes, by a kernel for each, whose argument 2 is `states`. */
int sugarscape_agents_make(sugarscape_agents *world, unsigned first_males, unsigned first_females,
                           bench_error *error);

/* What the kernel `write` writes to `states`, for bench_world_ops. */
int sugarscape_agents_read(sugarscape_agents *world, unsigned write, void *states,
                           bench_error *error);

#endif
