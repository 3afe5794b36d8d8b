/* What the variants on a device have in common (heap.c, plain.c): the kernels, which have the same names
 * in both, and the buffer by which states come and go. Read first: world.h.
 */
#ifndef COLLISION_DEVICE_H
#define COLLISION_DEVICE_H

#include "world.h"

/* Kernels in the order in which they are created. A step is FORCE and all behind it; those from FIND on
 * are there only if merging. */
typedef enum collision_kernel {
    COLLISION_INIT,
    COLLISION_WRITE,
    COLLISION_FORCE,
    COLLISION_UPDATE,
    COLLISION_FIND,
    COLLISION_REQUEST,
    COLLISION_MERGE,
    COLLISION_DELETE,
    COLLISION_KERNEL_COUNT
} collision_kernel;

extern const char *const collision_kernel_names[COLLISION_KERNEL_COUNT];

static inline uint32_t collision_kernel_count(const collision_rules *rules) {
    return rules->is_merging ? COLLISION_KERNEL_COUNT : COLLISION_FIND;
}

/* What kernels include: files as bench_load_source() takes them before another. */
extern const char *const collision_sources[];

/* A collision_body of each body: the first states, later those to read. */
typedef struct collision_states {
    cl_command_queue queue;
    cl_mem buffer;
    size_t bytes;
} collision_states;

int collision_states_create(const collision_desc *desc, collision_states *states,
                            bench_error *error);
void collision_states_destroy(collision_states *states); /* all zero is allowed */

/* Zero all, so that only bodies that are left write theirs. */
int collision_states_clear(const collision_states *states, bench_error *error);
int collision_states_read(const collision_states *states, collision_body *bodies,
                          bench_error *error); /* waits */

#endif
