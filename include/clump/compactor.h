/* When to compact: a compactor decides once in each iteration of the user's program.
 *
 * Read first: compact.h.
 */
#ifndef CLUMP_COMPACTOR_H
#define CLUMP_COMPACTOR_H

#include "clump/compact.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Triggers of one heap, with their measurements. */
typedef struct clump_compactor clump_compactor;

/* Arguments of clump_compactor_create(). Set exactly one trigger: `every`, (candidates or share),
 * or `automatic`. */
typedef struct clump_compactor_desc {
    size_t size;      /* sizeof(clump_compactor_desc) */
    clump_heap *heap; /* required */
    /* Options of the compaction. NULL: the same as for clump_heap_compact(). Its names must live as
     * long as the compactor. */
    const clump_compact_desc *compact;

    uint32_t every; /* m: compact at every m-th call (Springer and Masuhara, ISMM 2019, 3.7) */

    /* Compact after massive deallocations (ISMM 2019, 3.7): if this number of blocks could be
     * freed, or this share of the heap's blocks. The selected classes could free all blocks beyond
     * the number that their objects and the slack need. The device reads 4 bytes for each block at
     * each call. */
    uint32_t candidates;
    double share;

    /* 1: decide from fragmentation, measured cost and measured gain, see
     * docs/internals/compact.md. */
    int automatic;
    double cost_limit; /* upper limit for the share of time spent on looking and compacting. 0:
                          0.01 */
} clump_compactor_desc;

/* CONSTRUCTOR. Make a compactor. The call builds the library's kernels for compaction, so that no
 * tick has to. This needs some seconds if nothing caches them.
 * Blocks: yes, while they are built.
 * Returns CLUMP_OK, or:
 *   CLUMP_ERR_USAGE      no trigger or several, a share or limit outside 0 .. 1, or options that
 *                        clump_heap_compact() would refuse
 *   CLUMP_ERR_NOT_FOUND  no such class or field
 *   CLUMP_ERR_HOST_MEMORY, CLUMP_ERR_BUILD, CLUMP_ERR_CL */
CLUMP_API clump_status clump_compactor_create(const clump_compactor_desc *desc,
                                              clump_compactor **compactor, clump_error *error);
/* DESTRUCTOR. NULL is allowed. */
CLUMP_API void clump_compactor_destroy(clump_compactor *compactor);

/* METHOD. Compact if the trigger demands it. Call this once in each iteration, at a point where all
 * references are in places that clump_heap_compact() can find.
 *   ran     [out, optional]  1 if it compacted
 *   report  [out, optional]  of that run. The run blocks if this is not NULL
 *   sync    [in, optional]   of that run. The event completes also if it does not compact
 * Blocks: `every`: no. `candidates` and `share`: yes. `automatic`: only when it looks, which is
 * rare enough to stay within cost_limit.
 * Returns the statuses of clump_heap_compact(). After a compaction that fails, `every` waits for m
 * more calls, `automatic` counts it as a run that freed nothing, and `candidates` and `share` look
 * again at the next call. */
CLUMP_API clump_status clump_compactor_tick(clump_compactor *compactor, int *ran,
                                            clump_compact_report *report, const clump_sync *sync);

#ifdef __cplusplus
}
#endif
#endif
