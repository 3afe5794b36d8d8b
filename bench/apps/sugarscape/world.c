/* The variants behind one set of calls, and their comparison. See world.h. */
#include "world.h"

#include "bench/apps/side_by_side.h"

/* ---- The variants ---------------------------------------------------------------------------- */

int sugarscape_world_create(const sugarscape_desc *desc, bench_world *world, bench_error *error) {
    static const sugarscape_ops *const all[] = {[BENCH_CLUMP] = &sugarscape_heap_ops,
                                                [BENCH_SOA] = &sugarscape_plain_ops,
                                                [BENCH_AOS] = &sugarscape_plain_ops,
                                                [BENCH_SEQUENTIAL] = &sugarscape_sequential_ops};
    *world = (bench_world){NULL, NULL};
    int is_dynasoar_model = desc->is_dynasoar_model && desc->world.variant == BENCH_CLUMP;
    const sugarscape_ops *ops =
        is_dynasoar_model ? &sugarscape_dynasoar_ops : all[desc->world.variant];
    if (ops->create(desc, &world->self, error)) {
        return -1;
    }
    world->ops = &ops->world;
    return 0;
}

/* ---- Comparison ------------------------------------------------------------------------------ */

int sugarscape_check_heap(const bench_world *world, const sugarscape_desc *desc,
                          const sugarscape_state *states, bench_error *error) {
    const sugarscape_rules *rules = &desc->rules;
    size_t cells = desc->is_dynasoar_model ? sugarscape_cells(rules) : sugarscape_grid_cells(rules);
    sugarscape_census census = sugarscape_count(states, sugarscape_cells(rules));
    const bench_class_count expected[] = {
        {"Male", census.males}, {"Female", census.females}, {"Cell", cells}};
    return bench_world_check_counts(world, expected, 3, error);
}

static int create(const void *desc, int is_reference, bench_world *world, bench_error *error) {
    sugarscape_desc own = *(const sugarscape_desc *)desc;
    own.world.variant = is_reference ? BENCH_SEQUENTIAL : own.world.variant;
    return sugarscape_world_create(&own, world, error);
}

static int compare(const bench_pair *pair, uint32_t step, bench_error *error) {
    const sugarscape_rules *rules = &((const sugarscape_desc *)pair->desc)->rules;
    return sugarscape_compare(rules, pair->found_state, pair->expected_state, step, error) ||
                   sugarscape_check(rules, pair->found_state, error)
               ? 1
               : sugarscape_check_heap(&pair->found, pair->desc, pair->expected_state, error);
}

int sugarscape_compare_run(const sugarscape_desc *desc, uint32_t steps, uint32_t check_every,
                           bench_error *error) {
    size_t cells = sugarscape_cells(&desc->rules);
    bench_pair pair = {.desc = desc, .world = &desc->world, .create = create, .compare = compare};
    int result =
        bench_pair_run_plain(&pair, cells, sizeof(sugarscape_state), steps, check_every, error);
    bench_pair_free(&pair);
    return result;
}
