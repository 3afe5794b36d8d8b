/* When to compact: triggers, asked once per iteration of the user's program.
 *
 * Read first: compact.h.
 */
#ifndef CLUMP_COMPACTOR_H
#define CLUMP_COMPACTOR_H

#include "clump/compact.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Triggers of one heap, with what they have measured. */
typedef struct clump_compactor clump_compactor;

/* Exactly one of `every`, (candidates or share) and `automatic`. */
typedef struct clump_compactor_desc {
    size_t size;      /* sizeof(clump_compactor_desc) */
    clump_heap *heap; /* required */
    /* What to do; NULL: as clump_heap_compact() does with NULL. Its names must live as long as the
     * compactor. */
    const clump_compact_desc *compact;

    uint32_t every; /* m: at every m-th call (ISMM 3.7) */

    /* After massive deallocations (ISMM 3.7): if this many blocks could be freed, or this share of
     * the heap's blocks. The selected classes could free all blocks beyond those that their objects
     * and the slack need. Reads 4 bytes per block on the device at each call. */
    uint32_t candidates;
    double share;

    /* Decide from fragmentation, measured cost and measured gain: docs/internals/compact.md. */
    int automatic;
    double cost_limit; /* share of the time that looking and compacting may take; 0: 0.01 */
} clump_compactor_desc;

/* CONSTRUCTOR. Builds the library's kernels for compaction, so that no tick has to: some seconds
 * where nothing caches them.
 * Blocks: yes, while they are built. Returns CLUMP_OK; CLUMP_ERR_USAGE none or several triggers, a
 * share or limit that is not in 0 .. 1, or a desc that clump_heap_compact() would refuse;
 * CLUMP_ERR_NOT_FOUND; CLUMP_ERR_HOST_MEMORY; CLUMP_ERR_BUILD; CLUMP_ERR_CL. */
CLUMP_API clump_status clump_compactor_create(const clump_compactor_desc *desc,
                                              clump_compactor **compactor, clump_error *error);
/* DESTRUCTOR. NULL is allowed. */
CLUMP_API void clump_compactor_destroy(clump_compactor *compactor);

/* METHOD. Call once per iteration, where no reference is held that clump_heap_compact() would not
 * find.
 *   ran     [out, optional]  1 if it compacted
 *   report  [out, optional]  of that run; asking for it makes the run block
 *   sync    [in, optional]   of that run; if it does not compact, the event comes all the same
 * Blocks: `every`: no; `candidates` and `share`: yes; `automatic`: only when it looks, which it
 * does rarely enough to stay within cost_limit.
 * Returns as clump_heap_compact(). A compaction that fails counts as a run of `every`, which waits
 * for m more calls, and for `automatic`, as one that freed nothing; `candidates` and `share` look
 * again at the next call. */
CLUMP_API clump_status clump_compactor_tick(clump_compactor *compactor, int *ran,
                                            clump_compact_report *report, const clump_sync *sync);

#ifdef __cplusplus
}
#endif
#endif
