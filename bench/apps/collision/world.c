/* The variants behind one set of calls, and their comparison. See world.h. */
#include "world.h"

#include <stdlib.h>

#include "bench/side_by_side.h"
#include "device.h"

int collision_world_create(const collision_desc *desc, bench_world *world, bench_error *error) {
    static const collision_ops *const all[] = {[BENCH_CLUMP] = &collision_heap_ops,
                                               [BENCH_SOA] = &collision_plain_ops,
                                               [BENCH_AOS] = &collision_plain_ops,
                                               [BENCH_SEQUENTIAL] = &collision_sequential_ops};
    *world = (bench_world){NULL, NULL};
    if (desc->count == 0 || desc->count > COLLISION_BODIES_MAX) {
        return bench_error_set(error, "there must be 1 to %u bodies, not %u", COLLISION_BODIES_MAX,
                               desc->count);
    }
    collision_constants constants =
        collision_find_constants(&desc->rules, desc->bodies, desc->count);
    if (all[desc->variant]->create(desc, &constants, &world->self, error)) {
        return -1;
    }
    world->ops = &all[desc->variant]->world;
    return 0;
}

uint32_t collision_world_phases(const collision_rules *rules, const char *const **names) {
    *names = collision_kernel_names + COLLISION_FORCE;
    return collision_kernel_count(rules) - COLLISION_FORCE;
}

/* ---- Comparison ------------------------------------------------------------------------------ */

typedef struct pair {
    bench_world found, expected;
    collision_body *found_bodies, *expected_bodies;
    const collision_desc *desc;
} pair;

static int compare(void *both, uint32_t step, bench_error *error) {
    pair *worlds = both;
    uint32_t count = worlds->desc->count;
    if (bench_world_read(&worlds->found, worlds->found_bodies, error) ||
        bench_world_read(&worlds->expected, worlds->expected_bodies, error)) {
        return -1;
    }
    if (collision_compare(worlds->found_bodies, worlds->expected_bodies, count, step, error)) {
        return 1;
    }
    clump_heap *heap = bench_world_heap(&worlds->found);
    uint64_t objects = 0;
    uint32_t alive = collision_count(worlds->expected_bodies, count);
    if (!heap) {
        return 0;
    }
    clump_status status = clump_heap_count(heap, "Body", &objects);
    if (status != CLUMP_OK) {
        return bench_error_clump(error, "counting bodies", worlds->desc->clump, status);
    }
    if (objects != alive) {
        bench_error_set(error, "after %u steps the heap holds %llu bodies instead of %u", step,
                        (unsigned long long)objects, alive);
        return 1;
    }
    return 0;
}

static int run_pair(pair *worlds, uint32_t steps, uint32_t check_every, bench_error *error) {
    const bench_pair course = {.found = &worlds->found,
                               .expected = &worlds->expected,
                               .variant = worlds->desc->variant,
                               .clump = worlds->desc->clump,
                               .self = worlds,
                               .compare = compare};
    return bench_pair_run(&course, steps, check_every, error);
}

int collision_compare_run(const collision_desc *desc, uint32_t steps, uint32_t check_every,
                          uint32_t *left, uint64_t *moves, bench_error *error) {
    pair worlds = {.desc = desc};
    collision_desc sequential = *desc;
    sequential.variant = BENCH_SEQUENTIAL;
    worlds.found_bodies = calloc(desc->count, sizeof(collision_body));
    worlds.expected_bodies = calloc(desc->count, sizeof(collision_body));
    int result = worlds.found_bodies && worlds.expected_bodies
                     ? 0
                     : bench_error_set(error, "host memory ran out");
    if (result == 0) {
        result = collision_world_create(desc, &worlds.found, error) ||
                         collision_world_create(&sequential, &worlds.expected, error)
                     ? -1
                     : run_pair(&worlds, steps, check_every, error);
    }
    if (result == 0 && left) {
        *left = collision_count(worlds.found_bodies, desc->count);
    }
    if (result == 0 && moves) {
        const bench_compacting *compactions = bench_world_compactions(&worlds.found);
        *moves = compactions ? compactions->moves : 0;
    }
    bench_world_destroy(&worlds.found);
    bench_world_destroy(&worlds.expected);
    free(worlds.found_bodies);
    free(worlds.expected_bodies);
    return result;
}
