/* Looking into a heap as a whole: its picture as JSON, its invariants, and what can be done when
 * they do not hold.
 *
 * Threads: as for the heap. Read first: heap.h. Read next: checked.h, which finds wrong programs.
 */
#ifndef CLUMP_INSPECT_H
#define CLUMP_INSPECT_H

#include "clump/heap.h"
#include "clump/write.h"

#ifdef __cplusplus
extern "C" {
#endif

/* METHOD. The heap as JSON: its geometry, its classes with a histogram of how full their blocks
 * are, the class and the fill of each block, and of a checked heap the live objects by the place
 * where they were made. docs/guide/seeing-the-heap.md has the format; clump-inspect shows such
 * texts as tables and as a page. The text takes about 6 bytes of host memory a block.
 *   write  [in]  gets the whole text in one call, after all else is done. It must not use the
 *                heap's context
 * Blocks: yes; reads 4 bytes a block from the device, of a checked heap also 4 bytes an object.
 * Gives reserved slots back; its numbers are those of clump_heap_read_stats(). Returns
 * CLUMP_OK, also if blocks are damaged: they are counted, and clump_heap_check() says what is
 * wrong; CLUMP_ERR_USAGE without `write`; CLUMP_ERR_IO `write` said so; CLUMP_ERR_CL;
 * CLUMP_ERR_BUILD; CLUMP_ERR_HOST_MEMORY. After another failure nothing was written. Threads: as
 * for the heap. */
CLUMP_API clump_status clump_heap_dump(clump_heap *heap, clump_write_fn write, void *user);

/* METHOD. Verify every invariant of docs/internals/core.md: header, class table and columns against
 * what the host wrote; on the device credits against bitmaps and reserved slots, free and active
 * hints at every level, the list of objects, reservations. Walks all metadata.
 * docs/internals/reliability.md lists the bits that it cannot judge.
 * Blocks: yes. Returns CLUMP_OK; CLUMP_ERR_CORRUPT, and the context's error says which invariant
 * fails first, at which block, with both values; CLUMP_ERR_CL; CLUMP_ERR_HOST_MEMORY. Changes
 * nothing. */
CLUMP_API clump_status clump_heap_check(clump_heap *heap);

/* What a repair found. */
typedef struct clump_repair_report {
    size_t size;      /* sizeof(clump_repair_report) */
    uint64_t objects; /* live objects now */
    uint64_t blocks;  /* blocks of which class or count were not what their bitmaps say */
    uint64_t guessed; /* of these: their class was told by hints, or by the places of the objects */
    uint64_t appeared; /* objects that no count knew of; their contents are undefined */
    uint64_t vanished; /* objects that were counted and are not in the bitmaps */
    uint64_t lost;     /* objects of blocks whose class nothing tells: gone */
    uint64_t strays;   /* bits where no object can be, cleared */
} clump_repair_report;

/* METHOD. Make a heap usable again whose metadata was overwritten: after clump_heap_check()
 * returned CLUMP_ERR_CORRUPT. Header, class table and columns are written anew. The allocation
 * bitmaps are then taken for the truth: each block's class and count, all hints and all counters
 * are made from them. What is reserved is given up, and what was learnt of the demand is forgotten;
 * numbers of clump_heap_reserve() stay. References, fields of objects and what kernels reported are
 * not touched.
 *
 * Slots of raw memory count as objects here. Which of them one allocation has is told by where each
 * begins; if that was overwritten, two may have become one.
 *
 * Where only such words were wrong, all objects are there as before. A bit of a bitmap that was
 * overwritten is an object that appeared or vanished, and nobody can know which; the report counts
 * them. Two things it cannot tell. A full block whose bits fit its class is believed, also if it
 * was another one: nothing else tells the class. And in a block with slots that are reserved for
 * kernels, an object that vanished looks like one more of these.
 *   report  [out, optional]
 * Blocks: yes. Returns CLUMP_OK: nothing was wrong, or nothing was lost; CLUMP_ERR_CORRUPT: the
 * heap can be used and the check is content, but objects appeared, vanished or were lost, as the
 * context's error says; CLUMP_ERR_CL, CLUMP_ERR_HOST_MEMORY: not all was done, call it again.
 * Threads: as for the heap. */
CLUMP_API clump_status clump_heap_repair(clump_heap *heap, clump_repair_report *report);

#ifdef __cplusplus
}
#endif
#endif
