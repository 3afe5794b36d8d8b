/* Strategies of compaction by number. See compact_strategies.h. */
#include "compact_strategies.h"

const uint32_t compact_factors[COMPACT_FACTORS] = {1, 2, 3, 4, 5, 10, 20, 30, 40};
const char *const compact_strategy_names[COMPACT_STRATEGIES] = {
    "n1", "n2", "n3", "n4", "n5", "n10", "n20", "n30", "n40", "planner"};

const bench_merge *compact_strategy(unsigned strategy, bench_merge *merge) {
    int is_planner = strategy == COMPACT_PLANNER;
    *merge = (bench_merge){.factor = is_planner ? 0 : compact_factors[strategy]};
    return is_planner ? NULL : merge;
}

int compact_and_verify(compact_heap *heap, const bench_merge *merge, clump_compact_report *report,
                       bench_error *error) {
    static const clump_compact_desc all = {.size = sizeof all};
    clump_compact_report own = {.size = sizeof own};
    return compact_heap_compact(heap, &all, merge, report ? report : &own, NULL, error) ||
                   compact_heap_verify(heap, &all, error)
               ? -1
               : 0;
}

int compact_find_fragmentation(compact_heap *heap, double *fragmentation, bench_error *error) {
    compact_fill fill;
    if (compact_heap_fill(heap, &fill, error)) return -1;
    *fragmentation = compact_fill_fragmentation(&fill);
    compact_fill_release(&fill);
    return 0;
}
