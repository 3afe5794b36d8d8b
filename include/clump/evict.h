/* Out of core: objects that are not needed for a while leave the device's memory for the host's,
 * and come back when the program asks for them. Between the two, other objects use the memory.
 *
 * A heap made with `evictable_bytes` (heap.h) has that many bytes of blocks more than memory.
 * clump_heap_evict() takes whole blocks, of a class or those in which nothing was made or freed for
 * a while, and clump_heap_bring_back() brings back those of a class, or the ones that have given
 * objects. An object keeps its reference all the time.
 *
 * While an object is evicted, kernels must not use it. Loops do not visit it, C_is_live() is 0,
 * C_class_of() is the class of no object, and freeing it is reported and does nothing, as with a
 * reference that names no object. A field of it reads as what anybody wrote last to a field of an
 * evicted object: the memory of no object. A program built with `checked` reports such an access
 * (BAD_ACCESS). Counts and copies of fields leave evicted objects out; clump_heap_info counts
 * them. Evicted objects can refer to others and be referred to. So compaction, collection
 * and all that saves or takes out objects are refused until everything was fetched. Such a heap is
 * not converted (convert.h).
 *
 * All that can fail is done before anything is changed: after an error the heap is as before.
 *
 * Such a heap has no raw memory (nor arrays that grow), is not checked, keeps no handles that see a
 * free (`watch_handles`), and has one buffer of its own. Each access to an object looks up where
 * its block is, as in heaps of several buffers (heap.h).
 *
 * The idea is that of virtual memory; which block is cold the program says, or the counts of its
 * objects do.
 *
 * Threads: as for the heap. Read first: heap.h.
 */
#ifndef CLUMP_EVICT_H
#define CLUMP_EVICT_H

#include "clump/heap.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Which blocks. All zero: all that have objects. */
typedef struct clump_evict_desc {
    size_t size;            /* sizeof(clump_evict_desc) */
    const char *class_name; /* of this class and its subclasses; NULL: of all */
    /* Fetch: the blocks that have these objects. Nulls, and objects that are not evicted, are
     * passed over. Not together with class_name. */
    const clump_ref *refs;
    uint64_t ref_count;
    /* At most so many, those first whose counts have not changed for longest. 0: no limit. */
    uint64_t blocks;
    /* Evict: only blocks whose counts did not change in the last `age` calls of
     * clump_heap_age_blocks(). */
    uint32_t age;
} clump_evict_desc;

/* What a call moved. */
typedef struct clump_evict_report {
    size_t size; /* sizeof(clump_evict_report) */
    uint64_t objects, blocks;
    uint64_t bytes; /* of the blocks */
} clump_evict_report;

/* METHOD. One turn passes: blocks whose number of objects is as it was at the call before become
 * older by one, others have the age 0. A free and a new object in the same block between two calls
 * are not seen.
 * Blocks: yes; reads 4 bytes a block. Returns CLUMP_OK; CLUMP_ERR_USAGE the heap has no
 * `evictable_bytes`; CLUMP_ERR_CL. */
CLUMP_API clump_status clump_heap_age_blocks(clump_heap *heap);

/* METHOD. Objects leave the device's memory, by whole blocks; the memory becomes free blocks.
 *   desc    [in, optional]   NULL: everything
 *   report  [out, optional]
 * Blocks: yes. Takes host memory for what leaves, from the context's allocator, and a buffer of at
 * most 32 MiB on the device for as long as the call lasts. Returns CLUMP_OK, also if there is
 * nothing; CLUMP_ERR_USAGE the heap has no `evictable_bytes`, or refs are given;
 * CLUMP_ERR_NOT_FOUND; CLUMP_ERR_DEVICE_MEMORY more would be evicted than evictable_bytes has room
 * for; CLUMP_ERR_HOST_MEMORY, CLUMP_ERR_CL. */
CLUMP_API clump_status clump_heap_evict(clump_heap *heap, const clump_evict_desc *desc,
                                        clump_evict_report *report);

/* METHOD. Evicted objects come back, by whole blocks: all that the desc names, or none.
 *   desc    [in, optional]   NULL: everything. age counts for nothing
 *   report  [out, optional]
 * Blocks: yes. Returns as clump_heap_evict(); CLUMP_ERR_DEVICE_MEMORY the heap has fewer free
 * blocks than are needed: evict or free others first, or ask for fewer `blocks`. */
CLUMP_API clump_status clump_heap_bring_back(clump_heap *heap, const clump_evict_desc *desc,
                                             clump_evict_report *report);

#ifdef __cplusplus
}
#endif
#endif
