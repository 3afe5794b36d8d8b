/* What the variants share, and their comparison. See world.h. */
#include "world.h"

#include <inttypes.h>
#include <stdlib.h>

#include "bench/side_by_side.h"

int traffic_world_create(const traffic_desc *desc, bench_world *world, bench_error *error) {
    switch (desc->variant) {
    case BENCH_CLUMP: return traffic_heap_create(desc, world, error);
    case BENCH_SEQUENTIAL: return traffic_sequential_create(desc, world, error);
    default: return traffic_plain_create(desc, world, error);
    }
}

const char *const traffic_sources[] = {"bench/apps/traffic/rules.clh", NULL};

#define TEXT_OF(value) #value
#define OPTION(name, value) " -D" name "=" TEXT_OF(value)
const char traffic_options[] = OPTION("DEGREE_MAX", TRAFFIC_DEGREE_MAX)
    OPTION("LANE_CELLS", TRAFFIC_LANE_CELLS) OPTION("VELOCITY_MAX", TRAFFIC_VELOCITY_MAX);

/* ---- Comparison ------------------------------------------------------------------------------ */

int traffic_check_cars(const bench_world *world, const traffic_desc *desc, const uint32_t *codes,
                       bench_error *error) {
    uint64_t objects = 0;
    clump_heap *heap = bench_world_heap(world);
    if (!heap) {
        return 0;
    }
    clump_status status = clump_heap_count(heap, "Car", &objects);
    if (status != CLUMP_OK) {
        return bench_error_clump(error, "counting cars", desc->clump, status);
    }
    uint64_t cars = traffic_count(codes, desc->network->cell_count).cars;
    if (objects != cars) {
        bench_error_set(error, "the heap holds %" PRIu64 " cars, of which %" PRIu64 " are on cells",
                        objects, cars);
        return 1;
    }
    return 0;
}

/* Two worlds with their states. */
typedef struct pair {
    const traffic_desc *desc;
    bench_world found, expected;
    uint32_t *found_codes, *expected_codes;
} pair;

static int compare(void *worlds, uint32_t step, bench_error *error) {
    pair *both = worlds;
    if (bench_world_read(&both->found, both->found_codes, error) ||
        bench_world_read(&both->expected, both->expected_codes, error)) {
        return -1;
    }
    return traffic_compare(both->found_codes, both->expected_codes, both->desc->network->cell_count,
                           step, error);
}

static int check_cars(void *worlds, uint32_t step, bench_error *error) {
    pair *both = worlds;
    (void)step;
    return traffic_check_cars(&both->found, both->desc, both->found_codes, error);
}

static int run_steps(pair *both, uint32_t steps, uint32_t check_every, bench_error *error) {
    const bench_pair course = {.found = &both->found,
                               .expected = &both->expected,
                               .variant = both->desc->variant,
                               .clump = both->desc->clump,
                               .self = both,
                               .compare = compare,
                               .check_heap = check_cars};
    return bench_pair_run(&course, steps, check_every, error);
}

int traffic_compare_run(const traffic_desc *desc, uint32_t steps, uint32_t check_every,
                        uint64_t *moves, bench_error *error) {
    size_t cells = desc->network->cell_count;
    pair both = {.desc = desc};
    traffic_desc sequential = *desc;
    sequential.variant = BENCH_SEQUENTIAL;
    both.found_codes = calloc(cells, sizeof(uint32_t));
    both.expected_codes = calloc(cells, sizeof(uint32_t));
    int result = -1;
    if (!both.found_codes || !both.expected_codes) {
        bench_error_set(error, "host memory ran out for the states");
    } else if (traffic_world_create(desc, &both.found, error) == 0 &&
               traffic_world_create(&sequential, &both.expected, error) == 0) {
        result = run_steps(&both, steps, check_every, error);
        if (moves) {
            *moves = bench_world_compactions(&both.found)->moves;
        }
    }
    bench_world_destroy(&both.found);
    bench_world_destroy(&both.expected);
    free(both.found_codes);
    free(both.expected_codes);
    return result;
}
