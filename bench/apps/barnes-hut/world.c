/* The variants behind one set of calls, and their comparison. See world.h. */
#include "world.h"

#include <stdlib.h>

#include "bench/apps/side_by_side.h"
#include "heap.h"

const char *const barnes_hut_phases[BARNES_HUT_PHASES] = {"compute_force", "move", "push", "split",
                                                          "gather"};

uint32_t barnes_hut_count_rounds(uint32_t count) {
    uint32_t rounds = 3;
    for (; count > 1; count /= 4) {
        rounds++;
    }
    return rounds;
}

int barnes_hut_state_create(uint32_t count, barnes_hut_state *state, bench_error *error) {
    state->bodies = calloc(count, sizeof *state->bodies);
    state->levels = calloc(count, 1);
    return state->bodies && state->levels
               ? 0
               : bench_error_set(error, "host memory ran out for the bodies");
}

void barnes_hut_state_destroy(barnes_hut_state *state) {
    free(state->bodies);
    free(state->levels);
}

/* ---- The variants ---------------------------------------------------------------------------- */

int barnes_hut_world_create(const barnes_hut_desc *desc, bench_world *world, bench_error *error) {
    static const barnes_hut_ops *const all[] = {[BENCH_CLUMP] = &barnes_hut_heap_ops,
                                                [BENCH_SOA] = &barnes_hut_plain_ops,
                                                [BENCH_AOS] = &barnes_hut_plain_ops,
                                                [BENCH_SEQUENTIAL] = &barnes_hut_sequential_ops};
    *world = (bench_world){NULL, NULL};
    if (desc->count == 0 || desc->count > COLLISION_BODIES_MAX) {
        return bench_error_set(error, "there must be 1 to %u bodies, not %u", COLLISION_BODIES_MAX,
                               desc->count);
    }
    if (!(desc->rules.theta > 0 && desc->rules.theta <= BARNES_HUT_THETA_MAX)) {
        return bench_error_set(error, "theta must be above 0 and at most %g, not %g",
                               BARNES_HUT_THETA_MAX, desc->rules.theta);
    }
    barnes_hut_constants constants =
        barnes_hut_find_constants(&desc->rules, desc->bodies, desc->count);
    if (all[desc->world.variant]->create(desc, &constants, &world->self, error)) {
        return -1;
    }
    world->ops = &all[desc->world.variant]->world;
    return 0;
}

const char *const barnes_hut_sources[] = {"bench/apps/collision/rules.clh",
                                          "bench/apps/barnes-hut/rules.clh", NULL};

/* ---- Comparison ------------------------------------------------------------------------------ */

static int create(const void *desc, int is_reference, bench_world *world, bench_error *error) {
    barnes_hut_desc own = *(const barnes_hut_desc *)desc;
    own.world.variant = is_reference ? BENCH_SEQUENTIAL : own.world.variant;
    return barnes_hut_world_create(&own, world, error);
}

static int compare_trees(const bench_pair *pair, uint32_t step, bench_error *error) {
    const barnes_hut_state *found = pair->found_state, *expected = pair->expected_state;
    if (found->nodes != expected->nodes) {
        bench_error_set(error, "after %u steps the tree has %u nodes instead of %u", step,
                        found->nodes, expected->nodes);
        return 1;
    }
    for (uint32_t i = 0; i < ((const barnes_hut_desc *)pair->desc)->count; i++) {
        if (found->levels[i] != expected->levels[i]) {
            bench_error_set(error, "after %u steps body %u hangs at level %u instead of %u", step,
                            i + 1, found->levels[i], expected->levels[i]);
            return 1;
        }
    }
    return 0;
}

static int compare(const bench_pair *pair, uint32_t step, bench_error *error) {
    const barnes_hut_state *found = pair->found_state, *expected = pair->expected_state;
    uint32_t count = ((const barnes_hut_desc *)pair->desc)->count;
    return collision_compare(found->bodies, expected->bodies, count, step, error) ||
           compare_trees(pair, step, error);
}

static int check_tree(const bench_pair *pair, uint32_t step, bench_error *error) {
    uint32_t faults = 0;
    if (barnes_hut_heap_count_faults(pair->found.self, &faults, error)) {
        return -1;
    }
    if (faults) {
        bench_error_set(error, "after %u steps the tree hangs together wrongly in %u places", step,
                        faults);
    }
    return faults != 0;
}

int barnes_hut_compare_run(const barnes_hut_desc *desc, uint32_t steps, uint32_t check_every,
                           bench_error *error) {
    barnes_hut_state found, expected;
    bench_pair pair = {.desc = desc,
                       .world = &desc->world,
                       .found_state = &found,
                       .expected_state = &expected,
                       .create = create,
                       .compare = compare,
                       .check_heap = check_tree};
    int result = barnes_hut_state_create(desc->count, &found, error) |
                 barnes_hut_state_create(desc->count, &expected, error);
    if (result == 0) {
        result = bench_pair_run(&pair, steps, check_every, error);
    }
    barnes_hut_state_destroy(&found);
    barnes_hut_state_destroy(&expected);
    return result;
}
