/* When to collect garbage: asked at safe points of the user's program, such as between iterations.
 *
 * Read first: collect.h.
 */
#ifndef CLUMP_COLLECTOR_H
#define CLUMP_COLLECTOR_H

#include "clump/collect.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Triggers of one heap, with what they have counted. */
typedef struct clump_collector clump_collector;

/* At least one of `every`, `fill` and `out_of_memory`. */
typedef struct clump_collector_desc {
    size_t size;      /* sizeof(clump_collector_desc) */
    clump_heap *heap; /* required */
    /* What to do; NULL: as clump_heap_collect() does with NULL. All that it points to, except
     * `compact` and the finaliser, must live as long as the collector. */
    const clump_collect_desc *collect;

    uint32_t every; /* at every n-th safepoint */

    /* If this share of the heap's blocks is in use, 0 < fill <= 1, and at least `growth` of them
     * more than at the first safepoint after the last collection, so that a heap full of live
     * objects is not collected in vain again and again. Reads 4 bytes per block on the device at
     * each safepoint. */
    double fill;
    double growth; /* 0: 0.05 */

    /* If an allocation has returned null since the last safepoint. What the heap counts for
     * clump_heap_take_errors() is read and not cleared. A program that calls that function in
     * between looks at its report, and collects by itself. */
    int out_of_memory;
} clump_collector_desc;

/* CONSTRUCTOR. Blocks: no. Returns CLUMP_OK; CLUMP_ERR_USAGE no trigger, a share that is not in 0
 * .. 1, or a desc that clump_heap_collect() would refuse; CLUMP_ERR_NOT_FOUND;
 * CLUMP_ERR_HOST_MEMORY. */
CLUMP_API clump_status clump_collector_create(const clump_collector_desc *desc,
                                              clump_collector **collector, clump_error *error);
/* DESTRUCTOR. NULL is allowed. */
CLUMP_API void clump_collector_destroy(clump_collector *collector);

/* METHOD. Call at a safe point: where no kernel or host variable holds a reference that no root
 * leads to.
 *   ran     [out, optional]  1 if it collected, also if the compaction after it failed
 *   report  [out, optional]  of that run
 *   sync    [in, optional]   of that run; if it does not collect, the event comes all the same
 * Blocks: yes; with only `every` set, only when it collects. Returns as clump_heap_collect(). A
 * collection that fails before objects are freed is tried again at the next safepoint. One that
 * only failed to compact is done: `ran` is 1, and the next one waits for a trigger. */
CLUMP_API clump_status clump_collector_tick(clump_collector *collector, int *ran,
                                            clump_collect_report *report, const clump_sync *sync);

#ifdef __cplusplus
}
#endif
#endif
