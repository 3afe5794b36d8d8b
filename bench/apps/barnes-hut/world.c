/* The variants behind one set of calls, and their comparison. See world.h. */
#include "world.h"

#include <stdlib.h>

#include "bench/side_by_side.h"
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

int barnes_hut_world_create(const barnes_hut_desc *desc, barnes_hut_world *world,
                            bench_error *error) {
    static const barnes_hut_ops *const all[] = {[BENCH_CLUMP] = &barnes_hut_heap_ops,
                                                [BENCH_SOA] = &barnes_hut_plain_ops,
                                                [BENCH_AOS] = &barnes_hut_plain_ops,
                                                [BENCH_SEQUENTIAL] = &barnes_hut_sequential_ops};
    *world = (barnes_hut_world){NULL, NULL};
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
    if (all[desc->variant]->create(desc, &constants, &world->self, error)) {
        return -1;
    }
    world->ops = all[desc->variant];
    return 0;
}

void barnes_hut_world_destroy(barnes_hut_world *world) {
    if (world->ops) {
        world->ops->destroy(world->self);
    }
    *world = (barnes_hut_world){NULL, NULL};
}

int barnes_hut_world_step(barnes_hut_world *world, bench_error *error) {
    return world->ops->step(world->self, NULL, error);
}

int barnes_hut_world_time_step(barnes_hut_world *world, cl_event *events, bench_error *error) {
    return world->ops->step(world->self, events, error);
}

int barnes_hut_world_finish(barnes_hut_world *world, bench_error *error) {
    return world->ops->finish(world->self, error);
}

int barnes_hut_world_read(barnes_hut_world *world, collision_body *bodies, barnes_hut_tree *tree,
                          bench_error *error) {
    return world->ops->finish(world->self, error) ||
                   world->ops->read(world->self, bodies, tree, error)
               ? -1
               : 0;
}

const char *const barnes_hut_sources[] = {"bench/apps/collision/arithmetic.clh",
                                          "bench/apps/barnes-hut/tree.clh", NULL};

/* ---- Comparison ------------------------------------------------------------------------------ */

typedef struct state {
    barnes_hut_world world;
    collision_body *bodies;
    barnes_hut_tree tree;
} state;

typedef struct pair {
    state found, expected;
    const barnes_hut_desc *desc;
} pair;

static int compare_trees(const pair *states, uint32_t step, bench_error *error) {
    const barnes_hut_tree *found = &states->found.tree, *expected = &states->expected.tree;
    if (found->nodes != expected->nodes) {
        bench_error_set(error, "after %u steps the tree has %u nodes instead of %u", step,
                        found->nodes, expected->nodes);
        return 1;
    }
    for (uint32_t i = 0; i < states->desc->count; i++) {
        if (found->levels[i] != expected->levels[i]) {
            bench_error_set(error, "after %u steps body %u hangs at level %u instead of %u", step,
                            i + 1, found->levels[i], expected->levels[i]);
            return 1;
        }
    }
    return 0;
}

static int read_state(state *s, bench_error *error) {
    return barnes_hut_world_read(&s->world, s->bodies, &s->tree, error);
}

static int compare(void *both, uint32_t step, bench_error *error) {
    pair *states = both;
    if (read_state(&states->found, error) || read_state(&states->expected, error)) {
        return -1;
    }
    return collision_compare(states->found.bodies, states->expected.bodies, states->desc->count,
                             step, error) ||
                   compare_trees(states, step, error)
               ? 1
               : 0;
}

static int check_tree(void *both, uint32_t step, bench_error *error) {
    pair *states = both;
    uint32_t faults = 0;
    if (barnes_hut_heap_count_faults(states->found.world.self, &faults, error)) {
        return -1;
    }
    if (faults) {
        bench_error_set(error, "after %u steps the tree hangs together wrongly in %u places", step,
                        faults);
    }
    return faults != 0;
}

static int step_both(void *both, bench_error *error) {
    pair *states = both;
    return barnes_hut_world_step(&states->found.world, error) ||
                   barnes_hut_world_step(&states->expected.world, error)
               ? -1
               : 0;
}

static int run_pair(pair *states, uint32_t steps, uint32_t check_every, bench_error *error) {
    int is_heap = states->desc->variant == BENCH_CLUMP;
    const bench_pair both = {.worlds = states,
                             .clump = states->desc->clump,
                             .heap = is_heap ? barnes_hut_heap_get(states->found.world.self) : NULL,
                             .step = step_both,
                             .compare = compare,
                             .check_heap = check_tree};
    return bench_pair_run(&both, steps, check_every, error);
}

static int create_state(const barnes_hut_desc *desc, state *s, bench_error *error) {
    s->bodies = calloc(desc->count, sizeof *s->bodies);
    s->tree.levels = calloc(desc->count, 1);
    if (!s->bodies || !s->tree.levels) {
        return bench_error_set(error, "host memory ran out");
    }
    return barnes_hut_world_create(desc, &s->world, error);
}

static void destroy_state(state *s) {
    barnes_hut_world_destroy(&s->world);
    free(s->bodies);
    free(s->tree.levels);
}

int barnes_hut_compare_run(const barnes_hut_desc *desc, uint32_t steps, uint32_t check_every,
                           bench_error *error) {
    pair states = {.desc = desc};
    barnes_hut_desc sequential = *desc;
    sequential.variant = BENCH_SEQUENTIAL;
    int result = create_state(desc, &states.found, error) ||
                         create_state(&sequential, &states.expected, error)
                     ? -1
                     : run_pair(&states, steps, check_every, error);
    destroy_state(&states.found);
    destroy_state(&states.expected);
    return result;
}
