/* The strategies that the figures of the ISMM'19 paper compare: merging with each of its factors,
 * and the planner.
 *
 * Blocks have one row, 64 slots, as in the paper.
 *
 * Read first: compact_heap.h. Read next: compact_quality.c, compact_passes.c.
 */
#ifndef BENCH_COMPACT_STRATEGIES_H
#define BENCH_COMPACT_STRATEGIES_H

#include "compact_heap.h"

#define COMPACT_BLOCK_ROWS 1u
#define COMPACT_FACTORS 9u
#define COMPACT_STRATEGIES (COMPACT_FACTORS + 1) /* merge with each factor, then the planner */
#define COMPACT_PLANNER COMPACT_FACTORS

extern const uint32_t compact_factors[COMPACT_FACTORS];

/* "n1", or "planner": for columns and metrics. */
extern const char *const compact_strategy_names[COMPACT_STRATEGIES];

/* For bench_merge_compact(): `merge`, which is filled in, or NULL. */
const bench_merge *compact_strategy(unsigned strategy, bench_merge *merge);

/* Compact and verify every object. What is wrong is an error. `report` is optional. */
int compact_and_verify(compact_heap *heap, const bench_merge *merge, clump_compact_report *report,
                       bench_error *error);

/* F of class A. */
int compact_find_fragmentation(compact_heap *heap, double *fragmentation, bench_error *error);

#endif
