/* When to collect garbage: a collector decides at safe points of the user's program, such as
 * between iterations.
 *
 * Read first: collect.h.
 */
#ifndef CLUMP_COLLECTOR_H
#define CLUMP_COLLECTOR_H

#include "clump/collect.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Triggers of one heap, with their counters. */
typedef struct clump_collector clump_collector;

/* Arguments of clump_collector_create(). Set at least one trigger: `every`, `fill` or
 * `out_of_memory`. */
typedef struct clump_collector_desc {
    size_t size;      /* sizeof(clump_collector_desc) */
    clump_heap *heap; /* required */
    /* Options of the collection. NULL: the same as for clump_heap_collect(). Everything that it
     * points to must live as long as the collector, except kernels and the struct `compact`. The
     * names in that struct must live as long as well. */
    const clump_collect_desc *collect;

    uint32_t every; /* n: collect at every n-th clump_collector_tick() */

    /* Collect if this share of the heap's blocks is in use, 0 < fill <= 1, and if this number has
     * grown by the share `growth` of the heap's blocks since the first tick after the last
     * collection. A heap full of live objects is therefore not collected in vain again and again.
     * The device reads 4 bytes for each block at each tick. */
    double fill;
    double growth; /* 0: 0.05 */

    /* 1: collect if an allocation has returned null since the last tick. The collector reads
     * the counters of clump_heap_take_errors() and does not clear them. A program that calls that
     * function in between must look at its report and collect itself. */
    int out_of_memory;
} clump_collector_desc;

/* CONSTRUCTOR. Make a collector.
 * Blocks: no.
 * Returns CLUMP_OK. Fails with CLUMP_ERR_USAGE if no trigger is set, if a share is not in 0 .. 1,
 * or for options that clump_heap_collect() would refuse, CLUMP_ERR_NOT_FOUND or
 * CLUMP_ERR_HOST_MEMORY. */
CLUMP_API clump_status clump_collector_create(const clump_collector_desc *desc,
                                              clump_collector **collector, clump_error *error);
/* DESTRUCTOR. NULL is allowed. */
CLUMP_API void clump_collector_destroy(clump_collector *collector);

/* METHOD. Collect if a trigger demands it. Call this at a safe point: where kernels and host
 * variables hold only references that a root leads to.
 *   ran     [out, optional]  1 if it collected, also if the compaction after it failed
 *   report  [out, optional]  of that run
 *   sync    [in, optional]   of that run. The event completes also if it does not collect
 * Blocks: yes. If only `every` is set, only when it collects.
 * Returns the statuses of clump_heap_collect(). If a collection fails before objects are freed, the
 * next tick tries it again. If only its compaction failed, the collection is complete: `ran`
 * is 1, and the next collection waits for a trigger. */
CLUMP_API clump_status clump_collector_tick(clump_collector *collector, int *ran,
                                            clump_collect_report *report, const clump_sync *sync);

#ifdef __cplusplus
}
#endif
#endif
