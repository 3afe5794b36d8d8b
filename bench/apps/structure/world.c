/* The variants behind one set of calls, and their comparison. See world.h. */
#include "world.h"

#include "bench/apps/side_by_side.h"

/* ---- The variants ---------------------------------------------------------------------------- */

int structure_world_create(const structure_desc *desc, bench_world *world, bench_error *error) {
    static const structure_ops *const all[] = {[BENCH_CLUMP] = &structure_heap_ops,
                                               [BENCH_SOA] = &structure_plain_ops,
                                               [BENCH_AOS] = &structure_plain_ops,
                                               [BENCH_SEQUENTIAL] = &structure_sequential_ops};
    *world = (bench_world){NULL, NULL};
    if (all[desc->world.variant]->create(desc, &world->self, error)) {
        return -1;
    }
    world->ops = &all[desc->world.variant]->world;
    return 0;
}

/* ---- Comparison ------------------------------------------------------------------------------ */

int structure_check_heap(const bench_world *world, const structure_counts *counts,
                         bench_error *error) {
    const bench_class_count expected[] = {{"Node", counts->nodes},
                                          {"AnchorPullNode", counts->pull_nodes},
                                          {"AnchorNode", counts->anchors},
                                          {"Spring", counts->springs}};
    return bench_world_check_counts(world, expected, 4, error);
}

static int create(const void *desc, int is_reference, bench_world *world, bench_error *error) {
    structure_desc own = *(const structure_desc *)desc;
    own.world.variant = is_reference ? BENCH_SEQUENTIAL : own.world.variant;
    return structure_world_create(&own, world, error);
}

static int compare(const bench_pair *pair, uint32_t step, bench_error *error) {
    const structure_desc *desc = pair->desc;
    const structure_network *network = desc->network;
    if (structure_compare(pair->found_state, pair->expected_state, step, error)) {
        return 1;
    }
    int result = step ? structure_check(&desc->rules, network, pair->found_state, error) : 0;
    structure_counts counts = structure_count(network, pair->found_state);
    return result ? result : structure_check_heap(&pair->found, &counts, error);
}

int structure_compare_run(const structure_desc *desc, uint32_t steps, uint32_t check_every,
                          structure_counts *left, bench_error *error) {
    structure_state found, expected;
    bench_pair pair = {.desc = desc,
                       .world = &desc->world,
                       .found_state = &found,
                       .expected_state = &expected,
                       .create = create,
                       .compare = compare};
    int result = structure_state_create(desc->network, &found, error) |
                 structure_state_create(desc->network, &expected, error);
    if (result == 0) {
        result = bench_pair_run(&pair, steps, check_every, error);
    }
    if (result == 0 && left) {
        *left = structure_count(desc->network, &found);
    }
    structure_state_destroy(&found);
    structure_state_destroy(&expected);
    return result;
}
