/* A compactor that keeps account: what an application asks between two steps, and has done so far.
 *
 * Read first: clump/compactor.h. Read next: compaction_option.h.
 */
#ifndef BENCH_COMPACTING_H
#define BENCH_COMPACTING_H

#include "bench/harness/error.h"
#include "bench/papers/merge/merge.h"
#include "clump/compactor.h"

/* Must stay where it is while it is in use. All zero: never compacts. */
typedef struct bench_compacting {
    clump_context *clump;
    clump_heap *heap;
    clump_compactor *compactor; /* or NULL */
    const char *classes[1];
    uint64_t enough; /* bytes of a heap with room for an order; 0: not known */
    /* All compactions so far. */
    uint32_t count, passes;
    uint64_t moves, blocks_freed;
    double us, phase_us[CLUMP_COMPACT_PHASE_COUNT]; /* of the device */
} bench_compacting;

/* `desc` without heap and classes, or NULL: never. `merge`: by merging, NULL: by the planner.
 * Compacts the class with its subclasses, NULL: all classes, of which there are no objects yet: a
 * first run builds the kernels, so that no step has to. */
int bench_compacting_create(bench_compacting *c, clump_context *clump, clump_heap *heap,
                            const char *class_name, const clump_compactor_desc *desc,
                            const bench_merge *merge, bench_error *error);
void bench_compacting_destroy(bench_compacting *c);

/* Compact if it is time. */
int bench_compacting_tick(bench_compacting *c, bench_error *error);

#endif
