/* Compaction: objects move together so that few blocks hold them, and every reference to a moved
 * object is rewritten.
 *
 * Two strategies. The *planner* (default) looks at all blocks of a class at once: the K fullest stay,
 * K being the fewest that can hold the class, and the objects of all others move into their free
 * slots. That is the least number of moves that frees as many blocks, one pass, each reference
 * rewritten once; fewer slots than a block has stay free (in one block, unless the fullest blocks
 * had less room than that to begin with). The *merge* strategy is that of CompactGpu (Springer and Masuhara, ISMM 2019;
 * thesis ch. 6): one source block is merged into n target blocks, pass after pass; it is here to be
 * compared with.
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

typedef enum clump_compact_strategy {
    CLUMP_COMPACT_PLANNER,
    CLUMP_COMPACT_MERGE
} clump_compact_strategy;

/* How the new place of a moved object is found when a reference to it is rewritten (merge only). */
typedef enum clump_compact_rewrite {
    CLUMP_REWRITE_FORWARD,          /* a forwarding reference where the object was (ISMM 3.4) */
    CLUMP_REWRITE_RECOMPUTE_GLOBAL, /* computed from records in global memory (ISMM 3.8) */
    CLUMP_REWRITE_RECOMPUTE_SHARED  /* computed from records in local memory: fewer of them fit, so
                                       there are more passes */
} clump_compact_rewrite;

/* Where objects go (planner only). All but ANY move every object of a class, into free blocks: these
 * must be there, one class at a time, or the call fails with CLUMP_ERR_CAPACITY. */
typedef enum clump_compact_order {
    CLUMP_ORDER_ANY,     /* fewest moves; moved objects lose their neighbours */
    CLUMP_ORDER_ADDRESS, /* all objects, in their present order */
    CLUMP_ORDER_FIELD,   /* in the order of `order_field`: a reference (objects that refer to
                            neighbours become neighbours) or an unsigned integer of 32 bits. Costs a
                            radix sort and 16 bytes an object while it runs */
    CLUMP_ORDER_KEY      /* in the order of keys from `key_kernel`. As FIELD */
} clump_compact_order;

typedef struct clump_compact_desc {
    const char *const *classes; /* names; each stands for itself and its subclasses */
    uint32_t class_count;       /* 0: all classes of the heap */
    clump_compact_strategy strategy;
    int null_dangling; /* 1: see above; costs one more pass over the references */

    /* Planner. */
    double slack;       /* free slots to keep in each class, as a share of its objects, 0 .. 1: too
                           few make the next allocations slow (ISMM 3.6) */
    uint64_t max_moves; /* 0: no limit. Else a step: the emptiest blocks first, at most so many
                           moves, but at least one block. Repeated steps make the moves of one full
                           run, and end with the same slots in use */
    double max_us;      /* 0: no limit. Else a step of about so many microseconds: max_moves chosen
                           from the speed of earlier steps (the first is of one block). What does
                           not depend on the moves, mostly reading all references, is not cut */
    clump_compact_order order;
    const char *order_field;  /* for CLUMP_ORDER_FIELD */
    clump_kernel *key_kernel; /* for CLUMP_ORDER_KEY: its parameter 0 (behind the heap) is
                                 `__global uint *keys`, set by the library; it stores one key for
                                 each object with CLUMP_FOR_EACH_NUMBERED(Class, self, number)
                                 keys[number] = ...; equal keys keep their order */

    /* Merge. */
    uint32_t factor; /* n, 1 .. capacity - 1: blocks at most n / (n + 1) full are candidates */
    uint32_t retain; /* k1: candidates to leave in each class */
    uint32_t
        max_passes; /* 0: until no more than k1 are left. Repeated calls of one pass each do what
                            one call without a limit does */
    clump_compact_rewrite rewrite;
} clump_compact_desc;

/* Parts of a run, as timed by profiling events. */
#define CLUMP_COMPACT_PHASE_LIST(X)                                                                \
    X(CHECK, "dangling references")                                                                \
    X(PLAN, "which blocks give, which take, and the numbers of objects and free slots")            \
    X(MOVE, "objects to their new places")                                                         \
    X(REWRITE, "references inside and outside the heap")                                           \
    X(FINISH, "bitmaps, states and hints")
typedef enum clump_compact_phase {
#define CLUMP_COMPACT_PHASE_ENUM(name, text) CLUMP_PHASE_##name,
    CLUMP_COMPACT_PHASE_LIST(CLUMP_COMPACT_PHASE_ENUM)
#undef CLUMP_COMPACT_PHASE_ENUM
        CLUMP_COMPACT_PHASE_COUNT
} clump_compact_phase;

/* Sums over the classes that took part, unless said otherwise. */
typedef struct clump_compact_report {
    uint64_t objects;    /* live */
    uint64_t moves;      /* of objects; merge may move one more than once */
    uint64_t moves_left; /* that a full run would still have to make; 0 but after a step */
    uint64_t bytes_moved;
    uint32_t blocks_before, blocks_freed;
    uint32_t passes;             /* 1 for the planner, 0 if there was nothing to do */
    double fragmentation_before; /* F of these classes */
    double fragmentation_after;
    uint64_t refs_examined, refs_rewritten; /* in objects; examined: not null, in fields that can
                                               point to a class that takes part */
    uint64_t refs_dangling;                 /* of which: see the head of this file */
    uint64_t outside_examined, outside_rewritten, outside_dangling; /* registered and handles */
    double us[CLUMP_COMPACT_PHASE_COUNT]; /* device time; 0 if the queue does no profiling */
    double total_us;                      /* their sum */
    uint32_t launches;
    uint64_t floor_bytes; /* what must at least be read and written: objects moved twice, a
                             forwarding reference for each, every reference field that can point to
                             a moved class once, rewritten ones twice */
} clump_compact_report;

/* METHOD. Compact.
 *   desc    [in, optional]   NULL: all classes, planner, no limit
 *   report  [out, optional]
 *   sync    [in, optional]
 * Blocks: the planner only if `report` is given, or max_us or an order; merge always, since each pass
 * depends on what the last one left.
 * Returns CLUMP_OK, also if there was nothing to do; CLUMP_ERR_NOT_FOUND class or field;
 * CLUMP_ERR_USAGE a value out of range, or options of the other strategy; CLUMP_ERR_CAPACITY an order
 * without enough free blocks; CLUMP_ERR_CL; CLUMP_ERR_MEMORY. The heap is unchanged by a call that
 * fails, except by CLUMP_ERR_CL from a device that gives up. */
CLUMP_API clump_status clump_compact(clump_heap *heap, const clump_compact_desc *desc,
                                     clump_compact_report *report, const clump_sync *sync);

#ifdef __cplusplus
}
#endif
#endif
