/* Compaction: objects move together such that few blocks hold them, and every reference to a moved
 * object is rewritten.
 *
 * The planner decides about all blocks of a class together. The K fullest blocks stay, where K is
 * the smallest number of blocks that can hold the class. The objects of all other blocks move into
 * their free slots. This is the smallest number of moves that frees as many blocks. It needs one
 * pass and rewrites each reference once. Afterwards fewer slots than one block has are free. They
 * are in one block, unless the fullest blocks had fewer free slots before.
 *
 * References. After a call, every reference to a moved object leads to its new place if it is in a
 * field of a live object, in a registered buffer (refs.h) or in a handle. The call reads only
 * fields that can point to a compacted class. References in other places, such as variables of the
 * host and buffers that are not registered, are stale. A reference is *dangling* if its object was
 * freed. The call does not follow it. It counts it if it is in a registered buffer, or leads into a
 * block that objects moved out of, and leaves it unchanged. It may name another object later, as
 * after an allocation. With `null_dangling`, the call nulls every dangling reference that it reads.
 *
 * Raw memory. If all classes are compacted, without an order, the memory that arrays own
 * (arrays.clh) moves like objects: the allocations of a size move into the fewest blocks, and each
 * array gets its new handle. A handle to such memory in another place is stale afterwards. Other
 * raw memory is *pinned*: a block does not change if one of its allocations has no owner, is larger
 * than a slot, or needs an alignment above 16 bytes that its slot does not have.
 *
 * Compaction is a command of the context's queue as any other: it works on the results of earlier
 * commands, and later commands see its result. The next do-all makes the list of objects again.
 *
 * Read first: heap.h, refs.h. Read next: compactor.h (when to compact).
 */
#ifndef CLUMP_COMPACT_H
#define CLUMP_COMPACT_H

#include "clump/run.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Where objects move. All orders except ANY move every object of a class into free blocks, one
 * class at a time. The call fails with CLUMP_ERR_DEVICE_MEMORY if too few blocks are free. */
typedef enum clump_compact_order {
    CLUMP_ORDER_ANY,     /* fewest moves. Moved objects lose their neighbours */
    CLUMP_ORDER_ADDRESS, /* all objects, in their present order */
    CLUMP_ORDER_FIELD,   /* in the order of `order_field`: a reference (objects that refer to
                            neighbours become neighbours) or an unsigned integer of 32 bits. Costs a
                            radix sort, and 16 bytes an object while it runs */
    CLUMP_ORDER_KEY      /* in the order of keys from `key_kernel`. Costs the same, and 4 bytes for
                            each object of the heap */
} clump_compact_order;

/* Options of clump_heap_compact(). All zero: all classes, with the fewest moves, without a
 * limit. */
typedef struct clump_compact_desc {
    size_t size;                /* sizeof(clump_compact_desc) */
    const char *const *classes; /* names. Each includes its subclasses */
    uint32_t class_count;       /* 0: all classes of the heap */
    int null_dangling;          /* 1: null dangling references, see above. Costs one more pass over
                                   the references */
    /* free slots to keep in each class, as a share of its objects, 0 .. 1. With too few, the next
     * allocations are slow (Springer and Masuhara, ISMM 2019, 3.6) */
    double slack;
    /* 0: no limit. Else a step: at most this number of moves, except that a step always empties one
     * block. The emptiest blocks come first. Repeated steps make the same moves as one full run,
     * and end with the same slots in use */
    uint64_t max_moves;
    /* 0: no limit. Else a step of about this number of microseconds. The library chooses max_moves
     * from the speed of earlier steps, and the first step empties one block. The limit does not cut
     * work that is independent of the moves, mainly reading all references */
    double max_us;
    clump_compact_order order;
    const char *order_field; /* for CLUMP_ORDER_FIELD */
    /* for CLUMP_ORDER_KEY. The library sets its parameter 0 (after the heap),
     * `__global uint *keys`. The kernel stores one key for each object with
     * `CLUMP_FOR_EACH_KEYED(Class, self, number) keys[number] = ...`. Its heap parameter is
     * CLUMP_HEAP_NO_ALLOC. Objects with equal keys keep their order. Objects without a key have the
     * key 0 */
    clump_kernel *key_kernel;
} clump_compact_desc;

/* Number of times in a report. It is larger than the number of parts today, which leaves room for
 * new parts. */
#define CLUMP_PHASES_MAX 16

/* Parts of a run, as timed by profiling events. */
#define CLUMP_COMPACT_PHASE_LIST(X)                                                                \
    X(CHECK, "dangling references")                                                                \
    X(PLAN, "source and target blocks, and the numbers of objects and free slots")                 \
    X(MOVE, "objects to their new places")                                                         \
    X(REWRITE, "references inside and outside the heap")                                           \
    X(FINISH, "bitmaps, states and hints")
/* Indices of clump_compact_report.us. */
typedef enum clump_compact_phase {
#define CLUMP_COMPACT_PHASE_ENUM(name, text) CLUMP_COMPACT_##name,
    CLUMP_COMPACT_PHASE_LIST(CLUMP_COMPACT_PHASE_ENUM)
#undef CLUMP_COMPACT_PHASE_ENUM
        CLUMP_COMPACT_PHASE_COUNT
} clump_compact_phase;

/* Results of a compaction: sums over the compacted classes, unless said otherwise. */
typedef struct clump_compact_report {
    size_t size;      /* sizeof(clump_compact_report) */
    uint64_t objects; /* live */
    uint64_t moves;   /* of objects */
    /* of objects and raw memory, that a full run would still need. 0 except after a step */
    uint64_t moves_left;
    uint64_t bytes_moved;
    uint32_t blocks_before, blocks_freed;
    uint32_t passes; /* 1, or 0 if nothing had to move. With an order: classes that moved */
    double fragmentation_before; /* F of these classes */
    double fragmentation_after;
    /* in objects. Examined: not null, in fields that can point to a compacted class */
    uint64_t refs_examined, refs_rewritten;
    /* part of the examined: see the head of this file */
    uint64_t refs_dangling;
    /* in registered buffers and handles */
    uint64_t outside_examined, outside_rewritten, outside_dangling;
    /* Times leave out commands that the device times wrongly, such as with an end before the
     * beginning. */
    double us[CLUMP_PHASES_MAX]; /* device time, 0 if the queue does no profiling */
    double total_us;             /* their sum */
    uint32_t launches;
    uint64_t floor_bytes; /* lower bound of bytes read and written: moved objects twice, a
                             forwarding reference for each, every reference field that can point to
                             a moved class once, rewritten ones twice */
    /* Raw memory that arrays own, see above: allocations that moved, the bytes of their slots, and
     * blocks that became free */
    uint64_t raw_moves, raw_bytes_moved;
    uint32_t raw_blocks_freed;
    uint32_t raw_blocks_pinned; /* blocks of raw memory that this call does not move */
    uint64_t raw_bytes_pinned;  /* bytes in use in these */
} clump_compact_report;

/* METHOD. Compact the heap.
 *   desc    [in, optional]  NULL: all classes, no limit
 *   report  [out, optional]
 *   sync    [in, optional]
 * Blocks: only if `report` is not NULL, or with max_us or an order.
 * Returns CLUMP_OK, also if nothing had to move, or:
 *   CLUMP_ERR_NOT_FOUND      no such class or field
 *   CLUMP_ERR_USAGE          a value out of range, options that exclude each other, or objects that
 *                            are evicted (evict.h)
 *   CLUMP_ERR_DEVICE_MEMORY  an order without enough free blocks
 *   CLUMP_ERR_CL, CLUMP_ERR_HOST_MEMORY
 * A call that fails does not change the heap, with two exceptions, both with CLUMP_ERR_CL. If the
 * device stops working, the heap may have changed. If an order has moved some classes, and the
 * device lacks memory for the keys of the next class, the moved classes are in order and the heap
 * is valid. */
CLUMP_API clump_status clump_heap_compact(clump_heap *heap, const clump_compact_desc *desc,
                                          clump_compact_report *report, const clump_sync *sync);

#ifdef __cplusplus
}
#endif
#endif
