/* What the variants share, and their comparison. See world.h. */
#include "world.h"

#include <inttypes.h>
#include <stdlib.h>

int traffic_world_create(const traffic_desc *desc, traffic_world **world, bench_error *error) {
    switch (desc->variant) {
    case TRAFFIC_CLUMP: return traffic_heap_create(desc, world, error);
    case TRAFFIC_SEQUENTIAL: return traffic_sequential_create(desc, world, error);
    default: return traffic_plain_create(desc, world, error);
    }
}

const char *const traffic_sources[] = {"bench/apps/traffic/rules.clh", NULL};

#define TEXT_OF(value) #value
#define OPTION(name, value) " -D" name "=" TEXT_OF(value)
const char traffic_options[] = OPTION("DEGREE_MAX", TRAFFIC_DEGREE_MAX)
    OPTION("LANE_CELLS", TRAFFIC_LANE_CELLS) OPTION("VELOCITY_MAX", TRAFFIC_VELOCITY_MAX);

/* ---- Comparison ------------------------------------------------------------------------------ */

int traffic_check_heap(const traffic_world *world, const traffic_desc *desc, const uint32_t *codes,
                       bench_error *error) {
    uint64_t objects = 0;
    if (!world->ops->get_heap) {
        return 0;
    }
    clump_heap *heap = world->ops->get_heap(world);
    clump_status status = clump_heap_count(heap, "Car", &objects);
    if (status == CLUMP_OK) {
        status = clump_heap_check(heap);
    }
    if (status != CLUMP_OK) {
        bench_error_clump(error, "the heap", desc->clump, status);
        return status == CLUMP_ERR_CORRUPT ? 1 : -1;
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
    traffic_world *found, *expected;
    uint32_t *found_codes, *expected_codes;
    bench_error *error;
} pair;

static int compare(pair *both, uint32_t step) {
    if (both->found->ops->read(both->found, both->found_codes, both->error) ||
        both->expected->ops->read(both->expected, both->expected_codes, both->error)) {
        return -1;
    }
    return traffic_compare(both->found_codes, both->expected_codes, both->desc->network->cell_count,
                           step, both->error);
}

static int run_steps(pair *both, uint32_t steps, uint32_t check_every) {
    int result = compare(both, 0);
    for (uint32_t step = 1; result == 0 && step <= steps; step++) {
        if (both->found->ops->step(both->found, NULL, both->error) ||
            both->expected->ops->step(both->expected, NULL, both->error)) {
            return -1;
        }
        result = compare(both, step);
        if (result == 0 && (step == steps || step % check_every == 0)) {
            result = traffic_check_heap(both->found, both->desc, both->found_codes, both->error);
        }
    }
    return result;
}

int traffic_compare_run(const traffic_desc *desc, uint32_t steps, uint32_t check_every,
                        uint64_t *moves, bench_error *error) {
    size_t cells = desc->network->cell_count;
    pair both = {.desc = desc, .error = error};
    traffic_desc sequential = *desc;
    sequential.variant = TRAFFIC_SEQUENTIAL;
    both.found_codes = calloc(cells, sizeof(uint32_t));
    both.expected_codes = calloc(cells, sizeof(uint32_t));
    int result = -1;
    if (!both.found_codes || !both.expected_codes) {
        bench_error_set(error, "host memory ran out for the states");
    } else if (traffic_world_create(desc, &both.found, error) == 0 &&
               traffic_world_create(&sequential, &both.expected, error) == 0) {
        result = run_steps(&both, steps, check_every);
        if (moves) {
            *moves = both.found->ops->get_compactions(both.found)->moves;
        }
    }
    traffic_world_destroy(both.found);
    traffic_world_destroy(both.expected);
    free(both.found_codes);
    free(both.expected_codes);
    return result;
}
