/* What the variants share, and their comparison. See world.h. */
#include "world.h"

#include "bench/apps/side_by_side.h"

/* ---- The variants ---------------------------------------------------------------------------- */

int traffic_world_create(const traffic_desc *desc, bench_world *world, bench_error *error) {
    static const traffic_ops *const all[] = {[BENCH_CLUMP] = &traffic_heap_ops,
                                             [BENCH_SOA] = &traffic_plain_ops,
                                             [BENCH_AOS] = &traffic_plain_ops,
                                             [BENCH_SEQUENTIAL] = &traffic_sequential_ops};
    *world = (bench_world){NULL, NULL};
    int is_dynasoar_model = desc->is_dynasoar_model && desc->world.variant == BENCH_CLUMP;
    const traffic_ops *ops = is_dynasoar_model ? &traffic_dynasoar_ops : all[desc->world.variant];
    if (ops->create(desc, &world->self, error)) {
        return -1;
    }
    world->ops = &ops->world;
    return 0;
}

#define TEXT_OF(value) #value
#define OPTION(name, value) " -D" name "=" TEXT_OF(value)
const char traffic_options[] =
    OPTION("DEGREE_MAX", TRAFFIC_DEGREE_MAX) OPTION("LANE_CELLS", TRAFFIC_LANE_CELLS)
        OPTION("VELOCITY_MAX", TRAFFIC_VELOCITY_MAX) OPTION("SPEEDUP_MAX", TRAFFIC_SPEEDUP_MAX);

/* ---- Comparison ------------------------------------------------------------------------------ */

int traffic_check_heap(const bench_world *world, const traffic_network *network,
                       const uint32_t *codes, bench_error *error) {
    const bench_class_count expected = {"Car", traffic_count(codes, network->cell_count).cars};
    return bench_world_check_counts(world, &expected, 1, error);
}

static int create(const void *desc, int is_reference, bench_world *world, bench_error *error) {
    traffic_desc own = *(const traffic_desc *)desc;
    own.world.variant = is_reference ? BENCH_SEQUENTIAL : own.world.variant;
    return traffic_world_create(&own, world, error);
}

static int compare(const bench_pair *pair, uint32_t step, bench_error *error) {
    const traffic_desc *desc = pair->desc;
    return traffic_compare(pair->found_state, pair->expected_state, desc->network->cell_count, step,
                           error);
}

static int check_heap(const bench_pair *pair, uint32_t step, bench_error *error) {
    const traffic_desc *desc = pair->desc;
    (void)step;
    return traffic_check_heap(&pair->found, desc->network, pair->found_state, error);
}

int traffic_compare_run(const traffic_desc *desc, uint32_t steps, uint32_t check_every,
                        uint64_t *moves, bench_error *error) {
    size_t cells = desc->network->cell_count;
    bench_pair pair = {.desc = desc,
                       .world = &desc->world,
                       .create = create,
                       .compare = compare,
                       .check_heap = check_heap};
    int result = bench_pair_run_plain(&pair, cells, sizeof(uint32_t), steps, check_every, error);
    if (result == 0 && moves) {
        *moves = pair.moves;
    }
    bench_pair_free(&pair);
    return result;
}
