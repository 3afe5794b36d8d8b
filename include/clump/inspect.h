/* Looking into a heap as a whole: write it as JSON, check its invariants, and repair it.
 *
 * Threads: as for the heap.
 * Read first: heap.h. Read next: checked.h, which finds wrong programs.
 */
#ifndef CLUMP_INSPECT_H
#define CLUMP_INSPECT_H

#include "clump/heap.h"
#include "clump/write.h"

#ifdef __cplusplus
extern "C" {
#endif

/* METHOD. Write the heap as JSON: its geometry, its classes with a histogram of the fill of their
 * blocks, and the class and fill of each block. For a checked heap, the text also has the live
 * objects by the place where they were made. docs/guide/seeing-the-heap.md has the format.
 * clump-inspect shows such texts as tables and as a page. The text needs about 6 bytes of host
 * memory for each block.
 *   write  [in]  gets the whole text in one call, after all else is done. It must not use the
 *                heap's context
 * The call frees reserved slots. Its numbers equal those from clump_heap_read_stats().
 * Blocks: yes. It reads 4 bytes for each block from the device, and for a checked heap also 12
 * bytes for each object.
 * Returns CLUMP_OK, also if blocks are damaged: the text has their number, and clump_heap_check()
 * describes the damage. Fails with:
 *   CLUMP_ERR_USAGE  no `write`
 *   CLUMP_ERR_IO     `write` returned an error
 *   CLUMP_ERR_CL, CLUMP_ERR_BUILD, CLUMP_ERR_HOST_MEMORY
 * If it fails otherwise than with CLUMP_ERR_IO, nothing was written.
 * Threads: as for the heap. */
CLUMP_API clump_status clump_heap_dump(clump_heap *heap, clump_write_fn write, void *user);

/* METHOD. Verify every invariant of docs/internals/core.md. On the host: header, class table and
 * columns against their correct values. On the device: credits against bitmaps and reserved slots,
 * free and active hints at every level, the list of objects, reservations. The call reads all
 * metadata and changes nothing. docs/internals/reliability.md lists the bits that it cannot judge.
 * Blocks: yes.
 * Returns CLUMP_OK. Fails with CLUMP_ERR_CORRUPT if an invariant does not hold: the context's error
 * has the first one, the block, and both values. Other failures are CLUMP_ERR_CL and
 * CLUMP_ERR_HOST_MEMORY. */
CLUMP_API clump_status clump_heap_check(clump_heap *heap);

/* The results of a repair. */
typedef struct clump_repair_report {
    size_t size;      /* sizeof(clump_repair_report) */
    uint64_t objects; /* live objects now */
    uint64_t blocks;  /* blocks whose class or count disagreed with their bitmaps */
    uint64_t guessed; /* part of blocks: their class was found from hints, or from the places of the
                         objects */
    uint64_t appeared; /* objects that no count included. Their contents are undefined */
    uint64_t vanished; /* objects that were counted and are not in the bitmaps */
    uint64_t lost;     /* objects of blocks whose class is unknown: gone */
    uint64_t strays;   /* bits where no object can be, cleared */
} clump_repair_report;

/* METHOD. Make a heap usable again after its metadata was overwritten and clump_heap_check()
 * returned CLUMP_ERR_CORRUPT. The call writes header, class table and columns anew. Then it trusts
 * the allocation bitmaps, and derives from them each block's class and count, all hints and all
 * counters. It drops reservations and everything learnt about the demand. Numbers of
 * clump_heap_reserve() stay. References, fields of objects and reported errors do not change.
 *
 * Slots of raw memory count as objects here. An allocation is known by the place where it begins.
 * If that was overwritten, two allocations may have become one.
 *
 * If only the derived metadata was wrong, all objects exist as before. A wrong bit in a bitmap
 * means that an object appeared or vanished. The report counts these, but it is impossible to find
 * the wrong bits. Two cases are not detected. First, a full block whose bits fit its class is
 * trusted, also if it belonged to another class. Second, in a block with reserved slots, a vanished
 * object looks like another reserved slot.
 *   report  [out, optional]
 * Blocks: yes.
 * Returns CLUMP_OK if nothing was wrong or nothing was lost. Fails with:
 *   CLUMP_ERR_CORRUPT  the heap can be used and passes the check, but objects appeared, vanished or
 *                      were lost. The context's error has the details
 *   CLUMP_ERR_CL, CLUMP_ERR_HOST_MEMORY
 * After the last two, the repair is incomplete: call it again.
 * Threads: as for the heap. */
CLUMP_API clump_status clump_heap_repair(clump_heap *heap, clump_repair_report *report);

#ifdef __cplusplus
}
#endif
#endif
