/* Compaction: objects move together so that few blocks hold them, and every reference to a moved
 * object is rewritten.
 *
 * All blocks of a class are looked at at once: the K fullest stay, K being the fewest that can hold
 * the class, and the objects of all others move into their free slots. That is the least number of
 * moves that frees as many blocks, one pass, each reference rewritten once; fewer slots than a
 * block has stay free (in one block, unless the fullest blocks had less room than that to begin
 * with). Messages call this the planner.
 *
 * What happens to references. After a call, every field of every live object, every registered
 * buffer (refs.h) and every handle that referred to a moved object refers to its new place; only
 * fields that can point to a class that is compacted are looked at. References kept anywhere else
 * (buffers that are not registered, variables of the host) are stale. A *dangling* reference, whose
 * object was freed, is never followed: it is counted if it leads into a block that objects moved
 * out of, and stays as it is, so that it may come to name another object, just as after an
 * allocation; with `null_dangling` every dangling reference that was looked at becomes null.
 *
 * Compaction is a command of the context's queue like any other: it sees what was enqueued before
 * and is seen by what is enqueued afterwards. The list of objects is made anew by the next do-all.
 *
 * Read first: heap.h, refs.h. Read next: compactor.h (when to compact).
 */
#ifndef CLUMP_COMPACT_H
#define CLUMP_COMPACT_H

#include "clump/run.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Where objects go. All except ANY move every object of a class, into free blocks: these
 * must be there, one class at a time, or the call fails with CLUMP_ERR_DEVICE_MEMORY. */
typedef enum clump_compact_order {
    CLUMP_ORDER_ANY,     /* fewest moves; moved objects lose their neighbours */
    CLUMP_ORDER_ADDRESS, /* all objects, in their present order */
    CLUMP_ORDER_FIELD,   /* in the order of `order_field`: a reference (objects that refer to
                            neighbours become neighbours) or an unsigned integer of 32 bits. Costs a
                            radix sort and 16 bytes an object while it runs */
    CLUMP_ORDER_KEY      /* in the order of keys from `key_kernel`. As FIELD */
} clump_compact_order;

/* What a compaction does. All zero: all classes, with the fewest moves, without a limit. */
typedef struct clump_compact_desc {
    size_t size;                /* sizeof(clump_compact_desc) */
    const char *const *classes; /* names; each stands for itself and its subclasses */
    uint32_t class_count;       /* 0: all classes of the heap */
    int null_dangling;          /* 1: see above; costs one more pass over the references */
    double slack;       /* free slots to keep in each class, as a share of its objects, 0 .. 1: too
                           few make the next allocations slow (ISMM 3.6) */
    uint64_t max_moves; /* 0: no limit. Else a step: at most that many moves, except that one block
                           is emptied in any case; the emptiest come first. Repeated steps make the
                           moves of one full run, and end with the same slots in use */
    double max_us; /* 0: no limit. Else a step of about that many microseconds: max_moves chosen
                           from the speed of earlier steps (the first is of one block). What does
                           not depend on the moves, mostly reading all references, is not cut */
    clump_compact_order order;
    const char *order_field;  /* for CLUMP_ORDER_FIELD */
    clump_kernel *key_kernel; /* for CLUMP_ORDER_KEY: its parameter 0 (after the heap) is
                                 `__global uint *keys`, set by the library; it stores one key for
                                 each object with CLUMP_FOR_EACH_KEYED(Class, self, number)
                                 keys[number] = ...; equal keys keep their order. Objects that
                                 it leaves out have the key 0 */
} clump_compact_desc;

/* Room for the times of parts in a report: more than there are, so that there can be others. */
#define CLUMP_PHASES_MAX 16

/* Parts of a run, as timed by profiling events. */
#define CLUMP_COMPACT_PHASE_LIST(X)                                                                \
    X(CHECK, "dangling references")                                                                \
    X(PLAN, "source and target blocks, and the numbers of objects and free slots")                 \
    X(MOVE, "objects to their new places")                                                         \
    X(REWRITE, "references inside and outside the heap")                                           \
    X(FINISH, "bitmaps, states and hints")
/* Places in clump_compact_report.us. */
typedef enum clump_compact_phase {
#define CLUMP_COMPACT_PHASE_ENUM(name, text) CLUMP_COMPACT_##name,
    CLUMP_COMPACT_PHASE_LIST(CLUMP_COMPACT_PHASE_ENUM)
#undef CLUMP_COMPACT_PHASE_ENUM
        CLUMP_COMPACT_PHASE_COUNT
} clump_compact_phase;

/* Sums over the classes that took part, unless said otherwise. */
typedef struct clump_compact_report {
    size_t size;         /* sizeof(clump_compact_report) */
    uint64_t objects;    /* live */
    uint64_t moves;      /* of objects */
    uint64_t moves_left; /* that a full run would still have to make; 0 except after a step */
    uint64_t bytes_moved;
    uint32_t blocks_before, blocks_freed;
    uint32_t passes;             /* 1, or 0 if there was nothing to do */
    double fragmentation_before; /* F of these classes */
    double fragmentation_after;
    uint64_t refs_examined, refs_rewritten; /* in objects; examined: not null, in fields that can
                                               point to a class that takes part */
    uint64_t refs_dangling;                 /* of the examined: see the head of this file */
    uint64_t outside_examined, outside_rewritten, outside_dangling; /* registered and handles */
    /* Times are without those of commands that the device tells wrong, an end before the beginning,
     * say. */
    double us[CLUMP_PHASES_MAX]; /* device time; 0 if the queue does no profiling */
    double total_us;             /* their sum */
    uint32_t launches;
    uint64_t floor_bytes; /* what must at least be read and written: objects moved twice, a
                             forwarding reference for each, every reference field that can point to
                             a moved class once, rewritten ones twice */
} clump_compact_report;

/* METHOD. Compact.
 *   desc    [in, optional]   NULL: all classes, no limit
 *   report  [out, optional]
 *   sync    [in, optional]
 * Blocks: only if `report` is given, or max_us or an order.
 * Returns CLUMP_OK, also if there was nothing to do; CLUMP_ERR_NOT_FOUND class or field;
 * CLUMP_ERR_USAGE a value out of range, options that exclude each other, or objects that are
 * evicted (evict.h); CLUMP_ERR_DEVICE_MEMORY an order without enough free blocks; CLUMP_ERR_CL;
 * CLUMP_ERR_HOST_MEMORY. The heap is unchanged by a call that fails, except by CLUMP_ERR_CL from a
 * device that gives up, or that has no room for the keys of a class when an order has moved other
 * classes: these are in order then, and the heap is sound. */
CLUMP_API clump_status clump_heap_compact(clump_heap *heap, const clump_compact_desc *desc,
                                          clump_compact_report *report, const clump_sync *sync);

#ifdef __cplusplus
}
#endif
#endif
