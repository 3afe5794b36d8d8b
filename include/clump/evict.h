/* Out of core: objects that are not needed for a while move from the device's memory to the host's,
 * and come back when the program asks for them. Meanwhile other objects use the memory.
 *
 * A heap with `evictable_bytes` (heap.h) has more blocks than memory, by that number of bytes.
 * clump_heap_evict() moves whole blocks to the host: blocks of a class, or blocks without changes
 * for a while. clump_heap_bring_back() moves the blocks of a class, or of certain objects, to the
 * device. An object keeps its reference all the time.
 *
 * Kernels must not use an evicted object. Loops do not visit it, C_is_live() is 0, and C_class_of()
 * is the class of no object. A free of it is reported and does nothing, as for a reference that
 * names no object. All evicted blocks share the memory of one dummy block: a field reads as the
 * last value written to the same place of any evicted block. A program built with `checked` reports
 * such an access (BAD_ACCESS). Counts and copies of fields leave evicted objects out.
 * clump_heap_info counts them. Evicted objects can refer to others, and others to them. Therefore
 * compaction, collection and all calls that save or extract objects fail until every object is
 * back. Such a heap cannot be converted (convert.h).
 *
 * The calls do everything that can fail before they change anything: after an error the heap is as
 * before.
 *
 * Such a heap cannot have raw memory (nor arrays that grow), checks, handles that notice a free
 * (`watch_handles`), a pool, or several buffers by buffer_bytes. Each access to an object looks up
 * the place of its block, as in heaps of several buffers (heap.h).
 *
 * The idea is virtual memory. The program, or the counts of objects, determine which blocks are
 * cold.
 *
 * Threads: as for the heap.
 * Read first: heap.h.
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
    const char *class_name; /* of this class and its subclasses. NULL: of all */
    /* For clump_heap_bring_back(): the blocks that have these objects. Nulls, and objects that are
     * not evicted, are ignored. Not together with class_name. */
    const clump_ref *refs;
    uint64_t ref_count;
    /* Upper limit of blocks. Blocks whose counts have been constant longest come first. 0: no
     * limit. */
    uint64_t blocks;
    /* For clump_heap_evict(): only blocks whose counts did not change in the last `age` calls of
     * clump_heap_age_blocks(). */
    uint32_t age;
} clump_evict_desc;

/* Results of a call. */
typedef struct clump_evict_report {
    size_t size; /* sizeof(clump_evict_report) */
    uint64_t objects, blocks;
    uint64_t bytes; /* of the blocks */
} clump_evict_report;

/* METHOD. Age the blocks by one turn. Blocks with the same number of objects as at the previous
 * call become older by one, others get the age 0. The call does not notice a free and a new object
 * in the same block between two calls.
 * Blocks: yes. It reads 4 bytes for each block.
 * Returns CLUMP_OK. Fails with CLUMP_ERR_USAGE if the heap was made without `evictable_bytes`, or
 * CLUMP_ERR_CL. */
CLUMP_API clump_status clump_heap_age_blocks(clump_heap *heap);

/* METHOD. Evict objects from the device's memory, by whole blocks. The memory becomes free blocks.
 *   desc    [in, optional]  NULL: everything
 *   report  [out, optional]
 * The call needs host memory for the evicted blocks, from the context's allocator. While it runs,
 * it needs a buffer on the device: at most 32 MiB, or if that is more, 8 bytes for each granule of
 * these blocks and 4 for each block.
 * Blocks: yes.
 * Returns CLUMP_OK, also if nothing matches, or:
 *   CLUMP_ERR_USAGE          the heap was made without `evictable_bytes`, or `refs` or `ref_count`
 *                            is set
 *   CLUMP_ERR_NOT_FOUND      no such class
 *   CLUMP_ERR_DEVICE_MEMORY  more blocks than evictable_bytes allows
 *   CLUMP_ERR_HOST_MEMORY, CLUMP_ERR_CL */
CLUMP_API clump_status clump_heap_evict(clump_heap *heap, const clump_evict_desc *desc,
                                        clump_evict_report *report);

/* METHOD. Bring evicted objects back, by whole blocks: all that the desc names, or none.
 *   desc    [in, optional]  NULL: everything. `age` is ignored
 *   report  [out, optional]
 * Blocks: yes.
 * Returns the statuses of clump_heap_evict(). CLUMP_ERR_USAGE also means that both class_name and
 * `refs` are set, or `ref_count` without `refs`. CLUMP_ERR_DEVICE_MEMORY means that too few blocks
 * of the heap are free: evict or free others first, or ask for fewer `blocks`. */
CLUMP_API clump_status clump_heap_bring_back(clump_heap *heap, const clump_evict_desc *desc,
                                             clump_evict_report *report);

#ifdef __cplusplus
}
#endif
#endif
