/* What the variants on a device have in common. See device.h. */
#include "device.h"

#include <stdio.h>
#include <string.h>

const char *const collision_kernel_names[COLLISION_KERNEL_COUNT] = {
    "body_init",      "write_bodies", "compute_force", "update",
    "find_candidate", "request",      "merge",         "delete_merged"};

void collision_write_options(const collision_rules *rules, char text[COLLISION_OPTIONS_BYTES]) {
    snprintf(text, COLLISION_OPTIONS_BYTES,
             "-DMERGING=%d -DLAW_DAMPED=%d -DTAKES_HEAVIER=%d -DTAKES_FIRST=%d",
             rules->is_merging != 0, rules->law == COLLISION_DAMPED, rules->takes_heavier != 0,
             rules->takes_first != 0);
}

size_t collision_list_args(const collision_rules *rules, const collision_constants *constants,
                           const cl_mem *states, bench_arg args[COLLISION_ARGS]) {
    const bench_arg all[COLLISION_ARGS] = {
        {COLLISION_INIT, 0, sizeof *states, states},
        {COLLISION_WRITE, 0, sizeof *states, states},
        {COLLISION_FORCE, 0, sizeof(float), &constants->softening2},
        {COLLISION_FORCE, 1, sizeof(float), &constants->scale},
        {COLLISION_UPDATE, 0, sizeof(float), &constants->kick},
        {COLLISION_UPDATE, 1, sizeof(float), &constants->dt},
        {COLLISION_FIND, 0, sizeof(float), &constants->reach2}};
    memcpy(args, all, sizeof all);
    return rules->is_merging ? COLLISION_ARGS : COLLISION_ARGS - 1;
}
