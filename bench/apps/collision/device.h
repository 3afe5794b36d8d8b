/* What the variants on a device have in common (heap.c, plain.c): the kernels, which have the same
 * names in both. Read first: world.h.
 */
#ifndef COLLISION_DEVICE_H
#define COLLISION_DEVICE_H

#include "bench/harness/buffers.h"
#include "world.h"

/* Kernels in the order in which they are created. A step is FORCE and all after it; those from FIND
 * on are there only if merging. */
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

/* Arguments that kernels have in both variants: `args` has room for COLLISION_ARGS. Returns how
 * many; what they point to must live until they are set. */
#define COLLISION_ARGS 7
size_t collision_list_args(const collision_rules *rules, const collision_constants *constants,
                           const cl_mem *states, bench_arg args[COLLISION_ARGS]);

/* Macros for the kernels. */
#define COLLISION_OPTIONS_BYTES 96
void collision_write_options(const collision_rules *rules, char text[COLLISION_OPTIONS_BYTES]);

#endif
