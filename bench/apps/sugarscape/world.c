/* The variants behind one set of calls, and their comparison. See world.h. */
#include "world.h"

#include <inttypes.h>
#include <stdlib.h>

#include "bench/side_by_side.h"

/* ---- The sequential world as one of them ----------------------------------------------------- */

static int create_sequential(const sugarscape_desc *desc, void **self, bench_error *error) {
    *self = sugarscape_sequential_create(&desc->rules);
    return *self ? 0 : bench_error_set(error, "host memory ran out for the sequential world");
}

static void destroy_sequential(void *self) {
    sugarscape_sequential_destroy(self);
}

static int step_sequential(void *self, cl_event *events, bench_error *error) {
    (void)events;
    (void)error;
    sugarscape_sequential_step(self);
    return 0;
}

static int finish_sequential(void *self, bench_error *error) {
    (void)self;
    (void)error;
    return 0;
}

static int read_sequential(void *self, void *states, bench_error *error) {
    (void)error;
    sugarscape_sequential_read(self, states);
    return 0;
}

static const sugarscape_ops sequential_ops = {.create = create_sequential,
                                              .world = {.destroy = destroy_sequential,
                                                        .step = step_sequential,
                                                        .finish = finish_sequential,
                                                        .read = read_sequential}};

/* ---- Any of them ----------------------------------------------------------------------------- */

int sugarscape_world_create(const sugarscape_desc *desc, bench_world *world, bench_error *error) {
    static const sugarscape_ops *const all[] = {[BENCH_CLUMP] = &sugarscape_heap_ops,
                                                [BENCH_SOA] = &sugarscape_plain_ops,
                                                [BENCH_AOS] = &sugarscape_plain_ops,
                                                [BENCH_SEQUENTIAL] = &sequential_ops};
    *world = (bench_world){NULL, NULL};
    if (all[desc->variant]->create(desc, &world->self, error)) {
        return -1;
    }
    world->ops = &all[desc->variant]->world;
    return 0;
}

/* ---- Comparison ------------------------------------------------------------------------------ */

typedef struct pair {
    bench_world found, expected;
    sugarscape_state *found_states, *expected_states;
    const sugarscape_desc *desc;
} pair;

static int compare_census(pair *worlds, uint32_t step, bench_error *error) {
    clump_heap *heap = bench_world_heap(&worlds->found);
    static const char *const names[] = {"Male", "Female", "Cell"};
    const sugarscape_rules *rules = &worlds->desc->rules;
    sugarscape_census census = sugarscape_count(worlds->expected_states, sugarscape_cells(rules));
    const uint64_t expected[] = {census.males, census.females, sugarscape_grid_cells(rules)};
    for (int i = 0; heap && i < 3; i++) {
        uint64_t objects = 0;
        clump_status status = clump_heap_count(heap, names[i], &objects);
        if (status != CLUMP_OK) {
            return bench_error_clump(error, "counting objects", worlds->desc->clump, status);
        }
        if (objects != expected[i]) {
            bench_error_set(error,
                            "after %u steps the heap holds %" PRIu64 " %s instead of %" PRIu64,
                            step, objects, names[i], expected[i]);
            return 1;
        }
    }
    return 0;
}

static int compare(void *both, uint32_t step, bench_error *error) {
    pair *worlds = both;
    const sugarscape_rules *rules = &worlds->desc->rules;
    if (bench_world_read(&worlds->found, worlds->found_states, error) ||
        bench_world_read(&worlds->expected, worlds->expected_states, error)) {
        return -1;
    }
    return sugarscape_compare(rules, worlds->found_states, worlds->expected_states, step, error) ||
                   sugarscape_check(rules, worlds->found_states, error)
               ? 1
               : compare_census(worlds, step, error);
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

int sugarscape_compare_run(const sugarscape_desc *desc, uint32_t steps, uint32_t check_every,
                           bench_error *error) {
    pair worlds = {.desc = desc};
    size_t cells = sugarscape_cells(&desc->rules);
    sugarscape_desc sequential = *desc;
    sequential.variant = BENCH_SEQUENTIAL;
    worlds.found_states = calloc(cells, sizeof(sugarscape_state));
    worlds.expected_states = calloc(cells, sizeof(sugarscape_state));
    int result = worlds.found_states && worlds.expected_states
                     ? 0
                     : bench_error_set(error, "host memory ran out");
    if (result == 0) {
        result = sugarscape_world_create(desc, &worlds.found, error) ||
                         sugarscape_world_create(&sequential, &worlds.expected, error)
                     ? -1
                     : run_pair(&worlds, steps, check_every, error);
    }
    bench_world_destroy(&worlds.found);
    bench_world_destroy(&worlds.expected);
    free(worlds.found_states);
    free(worlds.expected_states);
    return result;
}
