/* Strategies of compaction by number. See compact_strategies.h. */
#include "compact_strategies.h"

const uint32_t compact_factors[COMPACT_FACTORS] = {1, 2, 3, 4, 5, 10, 20, 30, 40};
const char *const compact_strategy_names[COMPACT_STRATEGIES] = {
    "n1", "n2", "n3", "n4", "n5", "n10", "n20", "n30", "n40", "planner"};

clump_compact_desc compact_strategy_desc(unsigned strategy, clump_merge_desc *merge) {
    int is_planner = strategy == COMPACT_PLANNER;
    *merge = (clump_merge_desc){.factor = is_planner ? 0 : compact_factors[strategy]};
    return (clump_compact_desc){.merge = is_planner ? NULL : merge};
}

int compact_and_verify(compact_heap *heap, const clump_compact_desc *desc,
                       clump_compact_report *report, bench_error *error) {
    clump_compact_report own;
    return compact_heap_compact(heap, desc, report ? report : &own, NULL, error) ||
                   compact_heap_verify(heap, desc, error)
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
