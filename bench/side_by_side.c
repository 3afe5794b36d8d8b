/* A variant beside the reference. See side_by_side.h. */
#include "side_by_side.h"

static int check_heap(const bench_pair *pair, uint32_t step, bench_error *error) {
    clump_heap *heap = bench_world_heap(pair->found);
    if (!heap) {
        return 0;
    }
    clump_status status = clump_heap_check(heap);
    if (status != CLUMP_OK) {
        bench_error_clump(error, "the heap check", pair->clump, status);
        return status == CLUMP_ERR_CORRUPT ? 1 : -1;
    }
    return pair->check_heap ? pair->check_heap(pair->self, step, error) : 0;
}

int bench_pair_run(const bench_pair *pair, uint32_t steps, uint32_t check_every,
                   bench_error *error) {
    if ((pair->variant == BENCH_CLUMP) != (bench_world_heap(pair->found) != NULL)) {
        return bench_error_set(error, "the variant clump has a heap to check, and no other has");
    }
    int result = pair->compare(pair->self, 0, error);
    for (uint32_t step = 1; result == 0 && step <= steps; step++) {
        if (bench_world_step(pair->found, error) || bench_world_step(pair->expected, error)) {
            return -1;
        }
        result = pair->compare(pair->self, step, error);
        if (result == 0 && (step == steps || (check_every && step % check_every == 0))) {
            result = check_heap(pair, step, error);
        }
    }
    return result;
}
