/* The variants behind one set of calls, and their comparison. See world.h. */
#include "world.h"

#include "bench/apps/side_by_side.h"
#include "device.h"

/* ---- The variants ---------------------------------------------------------------------------- */

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
    if (all[desc->world.variant]->create(desc, &constants, &world->self, error)) {
        return -1;
    }
    world->ops = &all[desc->world.variant]->world;
    return 0;
}

uint32_t collision_world_phases(const collision_rules *rules, const char *const **names) {
    *names = collision_kernel_names + COLLISION_FORCE;
    return collision_kernel_count(rules) - COLLISION_FORCE;
}

/* ---- Comparison ------------------------------------------------------------------------------ */

static int create(const void *desc, int is_reference, bench_world *world, bench_error *error) {
    collision_desc own = *(const collision_desc *)desc;
    own.world.variant = is_reference ? BENCH_SEQUENTIAL : own.world.variant;
    return collision_world_create(&own, world, error);
}

int collision_check_heap(const bench_world *world, const collision_body *bodies, uint32_t count,
                         bench_error *error) {
    const bench_class_count expected = {"Body", collision_count(bodies, count)};
    return bench_world_check_counts(world, &expected, 1, error);
}

static int compare(const bench_pair *pair, uint32_t step, bench_error *error) {
    uint32_t count = ((const collision_desc *)pair->desc)->count;
    return collision_compare(pair->found_state, pair->expected_state, count, step, error)
               ? 1
               : collision_check_heap(&pair->found, pair->expected_state, count, error);
}

int collision_compare_run(const collision_desc *desc, uint32_t steps, uint32_t check_every,
                          uint32_t *left, uint64_t *moves, bench_error *error) {
    bench_pair pair = {.desc = desc, .world = &desc->world, .create = create, .compare = compare};
    int result =
        bench_pair_run_plain(&pair, desc->count, sizeof(collision_body), steps, check_every, error);
    if (result == 0 && left) {
        *left = collision_count(pair.found_state, desc->count);
    }
    if (result == 0 && moves) {
        *moves = pair.moves;
    }
    bench_pair_free(&pair);
    return result;
}
