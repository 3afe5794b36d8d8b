/* A variant beside the reference. See side_by_side.h. */
#include <stdlib.h>

#include "side_by_side.h"

static int check_heap(const bench_pair *pair, uint32_t step, bench_error *error) {
    clump_heap *heap = bench_world_heap(&pair->found);
    if (!heap) {
        return 0;
    }
    clump_status status = clump_heap_check(heap);
    if (status != CLUMP_OK) {
        bench_error_clump(error, "the heap check", pair->world->clump, status);
        return status == CLUMP_ERR_CORRUPT ? 1 : -1;
    }
    return pair->check_heap ? pair->check_heap(pair, step, error) : 0;
}

static int compare(const bench_pair *pair, uint32_t step, bench_error *error) {
    return bench_world_read(&pair->found, pair->found_state, error) ||
                   bench_world_read(&pair->expected, pair->expected_state, error)
               ? -1
               : pair->compare(pair, step, error);
}

static int run(const bench_pair *pair, uint32_t steps, uint32_t check_every, bench_error *error) {
    if ((pair->world->variant == BENCH_CLUMP) != (bench_world_heap(&pair->found) != NULL)) {
        return bench_error_set(error, "the variant clump has a heap to check, and no other has");
    }
    int result = compare(pair, 0, error);
    for (uint32_t step = 1; result == 0 && step <= steps; step++) {
        if (bench_world_step(&pair->found, error) || bench_world_step(&pair->expected, error)) {
            return -1;
        }
        result = compare(pair, step, error);
        if (result == 0 && (step == steps || (check_every && step % check_every == 0))) {
            result = check_heap(pair, step, error);
        }
    }
    return result;
}

int bench_pair_run(bench_pair *pair, uint32_t steps, uint32_t check_every, bench_error *error) {
    int result = pair->create(pair->desc, 0, &pair->found, error) ||
                         pair->create(pair->desc, 1, &pair->expected, error)
                     ? -1
                     : run(pair, steps, check_every, error);
    if (result == 0) {
        const bench_compacting *compactions = bench_world_compactions(&pair->found);
        pair->moves = compactions ? compactions->moves : 0;
    }
    bench_world_destroy(&pair->found);
    bench_world_destroy(&pair->expected);
    return result;
}

int bench_pair_run_plain(bench_pair *pair, size_t count, size_t bytes, uint32_t steps,
                         uint32_t check_every, bench_error *error) {
    pair->found_state = calloc(count, bytes);
    pair->expected_state = calloc(count, bytes);
    return pair->found_state && pair->expected_state
               ? bench_pair_run(pair, steps, check_every, error)
               : bench_error_set(error, "host memory ran out for the states");
}

void bench_pair_free(bench_pair *pair) {
    free(pair->found_state);
    free(pair->expected_state);
}
