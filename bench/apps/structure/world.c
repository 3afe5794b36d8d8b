/* The variants behind one set of calls, and their comparison. See world.h. */
#include "world.h"

#include "bench/side_by_side.h"

int structure_world_create(const structure_desc *desc, bench_world *world, bench_error *error) {
    static const structure_ops *const all[] = {[BENCH_CLUMP] = &structure_heap_ops,
                                               [BENCH_SOA] = &structure_plain_ops,
                                               [BENCH_AOS] = &structure_plain_ops,
                                               [BENCH_SEQUENTIAL] = &structure_sequential_ops};
    *world = (bench_world){NULL, NULL};
    if (all[desc->variant]->create(desc, &world->self, error)) {
        return -1;
    }
    world->ops = &all[desc->variant]->world;
    return 0;
}

int structure_world_check_counts(const bench_world *world, clump_context *clump,
                                 const structure_counts *counts, bench_error *error) {
    const struct {
        const char *name;
        uint32_t expected;
    } classes[] = {{"Node", counts->nodes},
                   {"AnchorPullNode", counts->pull_nodes},
                   {"AnchorNode", counts->anchors},
                   {"Spring", counts->springs}};
    clump_heap *heap = bench_world_heap(world);
    for (size_t i = 0; heap && i < sizeof classes / sizeof *classes; i++) {
        uint64_t objects = 0;
        clump_status status = clump_heap_count(heap, classes[i].name, &objects);
        if (status != CLUMP_OK) {
            return bench_error_clump(error, "counting objects", clump, status);
        }
        if (objects != classes[i].expected) {
            bench_error_set(error, "the heap holds %llu objects of class %s, of which %u were read",
                            (unsigned long long)objects, classes[i].name, classes[i].expected);
            return 1;
        }
    }
    return 0;
}

/* ---- Comparison ------------------------------------------------------------------------------ */

typedef struct pair {
    bench_world found, expected;
    structure_state found_state, expected_state;
    const structure_desc *desc;
} pair;

static int compare(void *both, uint32_t step, bench_error *error) {
    pair *worlds = both;
    if (bench_world_read(&worlds->found, &worlds->found_state, error) ||
        bench_world_read(&worlds->expected, &worlds->expected_state, error)) {
        return -1;
    }
    if (structure_compare(&worlds->found_state, &worlds->expected_state, step, error)) {
        return 1;
    }
    int result = step ? structure_check(worlds->desc->network, &worlds->found_state, error) : 0;
    structure_counts counts = structure_count(worlds->desc->network, &worlds->found_state);
    return result
               ? result
               : structure_world_check_counts(&worlds->found, worlds->desc->clump, &counts, error);
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

int structure_compare_run(const structure_desc *desc, uint32_t steps, uint32_t check_every,
                          structure_counts *left, bench_error *error) {
    pair worlds = {.desc = desc};
    structure_desc sequential = *desc;
    sequential.variant = BENCH_SEQUENTIAL;
    int result = structure_state_create(desc->network, &worlds.found_state, error) ||
                         structure_state_create(desc->network, &worlds.expected_state, error) ||
                         structure_world_create(desc, &worlds.found, error) ||
                         structure_world_create(&sequential, &worlds.expected, error)
                     ? -1
                     : run_pair(&worlds, steps, check_every, error);
    if (result == 0 && left) {
        *left = structure_count(desc->network, &worlds.found_state);
    }
    bench_world_destroy(&worlds.found);
    bench_world_destroy(&worlds.expected);
    structure_state_destroy(&worlds.found_state);
    structure_state_destroy(&worlds.expected_state);
    return result;
}
