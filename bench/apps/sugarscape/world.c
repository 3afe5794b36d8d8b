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

static int read_sequential(void *self, void *states, bench_error *error) {
    (void)error;
    sugarscape_sequential_read(self, states);
    return 0;
}

static const sugarscape_ops sequential_ops = {
    .create = create_sequential,
    .world = {.destroy = destroy_sequential, .step = step_sequential, .read = read_sequential}};

/* ---- Any of them ----------------------------------------------------------------------------- */

int sugarscape_world_create(const sugarscape_desc *desc, bench_world *world, bench_error *error) {
    static const sugarscape_ops *const all[] = {[BENCH_CLUMP] = &sugarscape_heap_ops,
                                                [BENCH_SOA] = &sugarscape_plain_ops,
                                                [BENCH_AOS] = &sugarscape_plain_ops,
                                                [BENCH_SEQUENTIAL] = &sequential_ops};
    *world = (bench_world){NULL, NULL};
    if (all[desc->world.variant]->create(desc, &world->self, error)) {
        return -1;
    }
    world->ops = &all[desc->world.variant]->world;
    return 0;
}

/* ---- Comparison ------------------------------------------------------------------------------ */

static int create(const void *desc, int is_reference, bench_world *world, bench_error *error) {
    sugarscape_desc own = *(const sugarscape_desc *)desc;
    own.world.variant = is_reference ? BENCH_SEQUENTIAL : own.world.variant;
    return sugarscape_world_create(&own, world, error);
}

static int compare_census(const bench_pair *pair, uint32_t step, bench_error *error) {
    clump_heap *heap = bench_world_heap(&pair->found);
    static const char *const names[] = {"Male", "Female", "Cell"};
    const sugarscape_rules *rules = &((const sugarscape_desc *)pair->desc)->rules;
    sugarscape_census census = sugarscape_count(pair->expected_state, sugarscape_cells(rules));
    const uint64_t expected[] = {census.males, census.females, sugarscape_grid_cells(rules)};
    for (int i = 0; heap && i < 3; i++) {
        uint64_t objects = 0;
        clump_status status = clump_heap_count(heap, names[i], &objects);
        if (status != CLUMP_OK) {
            return bench_error_clump(error, "counting objects", pair->world->clump, status);
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

static int compare(const bench_pair *pair, uint32_t step, bench_error *error) {
    const sugarscape_rules *rules = &((const sugarscape_desc *)pair->desc)->rules;
    return sugarscape_compare(rules, pair->found_state, pair->expected_state, step, error) ||
                   sugarscape_check(rules, pair->found_state, error)
               ? 1
               : compare_census(pair, step, error);
}

int sugarscape_compare_run(const sugarscape_desc *desc, uint32_t steps, uint32_t check_every,
                           bench_error *error) {
    size_t cells = sugarscape_cells(&desc->rules);
    bench_pair pair = {.desc = desc,
                       .world = &desc->world,
                       .found_state = calloc(cells, sizeof(sugarscape_state)),
                       .expected_state = calloc(cells, sizeof(sugarscape_state)),
                       .create = create,
                       .compare = compare};
    int result = pair.found_state && pair.expected_state
                     ? bench_pair_run(&pair, steps, check_every, error)
                     : bench_error_set(error, "host memory ran out");
    free(pair.found_state);
    free(pair.expected_state);
    return result;
}
