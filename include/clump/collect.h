/* Garbage collection: objects that no root leads to are freed.
 *
 * Roots are all handles and all registered buffers of references that are not weak (refs.h).
 * clump_collect_desc can name more: single references, and classes whose objects all stay. From the
 * roots, the collection follows every reference field that is not `weak` (schema.h). Objects that
 * it does not reach die: their slots become free, and their fields do not change (except in a
 * checked heap, which fills the memory with its pattern). The raw memory of their arrays of
 * run-time length is freed. Weak references to them become null.
 *
 * The collection does not follow a reference that names no live object of the class that its field
 * declares. Kernels must not keep references across a collection if no root leads to them.
 *
 * One of three engines on the device marks live objects, or the host does. All produce the same
 * result. The library switches between them according to the shape of the graph:
 * docs/internals/collect.md.
 *
 * The first collection allocates a buffer, which is kept until the heap is destroyed or converted,
 * or until a collection fails or has another queue_room: 16 bytes for each granule of the heap
 * (clump_heap_info), 8 bytes for each object that fits into the queue, and 1280 bytes. Objects that
 * do not fit into the queue become grey bits in the first part. Therefore none is lost.
 *
 * Read first: heap.h, refs.h. Read next: collector.h (when to collect), compact.h.
 */
#ifndef CLUMP_COLLECT_H
#define CLUMP_COLLECT_H

#include "clump/compact.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How live objects are found. All engines produce the same result. */
typedef enum clump_mark_engine {
    /* GPUs: by the queue. CPUs: by the queue while it reaches few objects at a time, else by
     * rows */
    CLUMP_MARK_AUTO,
    CLUMP_MARK_QUEUE, /* a frontier queue of references (Maas et al., ISMM 2012) */
    CLUMP_MARK_ROWS,  /* rows with reached objects: each field of a row is read at once */
    CLUMP_MARK_HOST   /* sequentially in C, on a copy of the blocks in use: the reference for the
                         others. Needs host memory for all blocks from the first to the last in use,
                         and time to copy them */
} clump_mark_engine;

/* Options of clump_heap_collect(): roots, marking, and the treatment of the dead. For the defaults
 * see clump_heap_collect(). */
typedef struct clump_collect_desc {
    size_t size; /* sizeof(clump_collect_desc) */
    /* Roots, in addition to the registered ones. */
    const clump_ref *roots; /* nulls and references to dead objects are ignored. A compaction in the
                               call does not rewrite these references: use handles instead */
    uint64_t root_count;
    const char *const *root_classes; /* names. Each includes its subclasses */
    uint32_t root_class_count;

    /* Marking. Results are equal with all values, the counters of the report may differ. */
    clump_mark_engine engine;
    uint32_t queue_room; /* objects that fit into the queue, at least 64. 0: half the granules, or
                            for QUEUE, and for AUTO with the kernels for GPUs, an eighth of the
                            objects that the heap can hold, and at least 4096 */
    const struct clump_mark_tuning *tuning; /* experimental.h. NULL: the default */

    /* Treatment of the dead. */
    int only_mark; /* 1: count, but free nothing and null nothing */
    cl_mem dead;   /* optional: gets the number of objects that die, 4 bytes, then references to
                      them in any order, as many as fit */
    const char *dead_class; /* optional: `dead` gets only objects of this class and its
                               subclasses */
    /* optional, with `dead`: launched as a do-all between marking and freeing, before any change.
     * Its heap parameter is CLUMP_HEAP_NO_ALLOC. The library sets its next parameter,
     * `__global const uint *dead` */
    clump_kernel *finaliser;

    const clump_compact_desc *compact; /* optional: compact afterwards */
    /* [out, optional] of that compaction, which blocks if this is not NULL. A collector sets it to
     * zero at each tick, and fills it in when it compacts. */
    clump_compact_report *compact_report;
} clump_collect_desc;

/* Parts of a run, as timed by profiling events. The kernel that frees arrays of run-time length is
 * not included. */
#define CLUMP_COLLECT_PHASE_LIST(X)                                                                \
    X(ROOTS, "no object reached yet, then those of the roots")                                     \
    X(MARK, "objects that these lead to")                                                          \
    X(WEAK, "weak references to the dead")                                                         \
    X(LIST, "the list of the dead")                                                                \
    X(SWEEP, "bitmaps, states and hints")
/* Indices of clump_collect_report.us. */
typedef enum clump_collect_phase {
#define CLUMP_COLLECT_PHASE_ENUM(name, text) CLUMP_COLLECT_##name,
    CLUMP_COLLECT_PHASE_LIST(CLUMP_COLLECT_PHASE_ENUM)
#undef CLUMP_COLLECT_PHASE_ENUM
        CLUMP_COLLECT_PHASE_COUNT
} clump_collect_phase;

/* Results of a collection. */
typedef struct clump_collect_report {
    size_t size;             /* sizeof(clump_collect_report) */
    uint64_t live, dead;     /* objects that stay, and objects that died */
    uint64_t roots;          /* references of buffers, handles and desc that are not null, and
                                objects of root classes */
    uint64_t roots_dangling; /* references in roots that name no live object */
    uint64_t refs_read;      /* references of live objects, without weak fields */
    uint64_t refs_followed;  /* part of refs_read: not null */
    uint64_t weak_nulled;
    uint32_t blocks_freed;    /* blocks of classes, without the raw memory of arrays of the dead */
    uint32_t levels;          /* of the graph, as visited by the queue or the host */
    uint32_t narrow_levels;   /* part of levels: visited by one work-group */
    uint32_t sweeps;          /* passes over all rows with grey objects, in place of levels */
    uint32_t refills;         /* of the queue, after it overflowed */
    uint32_t engine_changes;  /* between one work-group, the queue, rows and the host */
    uint32_t queue_peak;      /* most objects in the queue */
    uint64_t queue_overflows; /* objects that found the queue full */
    uint32_t launches, readbacks; /* of marking and sweeping. Readbacks wait for the device */
    uint64_t memory_bytes;        /* device memory that collections of the heap keep */
    /* Times leave out commands that the device times wrongly, such as with an end before the
     * beginning. */
    double us[CLUMP_PHASES_MAX]; /* device time, 0 if the queue does no profiling */
    double total_us;             /* their sum, or the host's measurement with HOST */
    /* marking by the host, a part of us[CLUMP_COLLECT_MARK], which includes the copies. 0: the host
     * marked nothing */
    double host_us;
    /* lower bound of bytes read and written: each reference of a live object once. For each granule
     * of blocks in use, one word of marks and one of the bitmap, both read and written. The same
     * for each state */
    uint64_t floor_bytes;
} clump_collect_report;

/* METHOD. Collect garbage.
 *   desc    [in, optional]  NULL: registered buffers and handles are the roots, with AUTO. Without
 *                           any root, every object dies
 *   report  [out, optional]
 *   sync    [in, optional]
 * Blocks: yes, a few times while it marks. After marking it blocks only if `report` is not NULL, or
 * as clump_heap_compact() does.
 * Returns CLUMP_OK, or:
 *   CLUMP_ERR_NOT_FOUND      no such class
 *   CLUMP_ERR_USAGE          a value out of range, options that exclude each other, a buffer of
 *                            another cl_context, objects that are evicted (evict.h), or options
 *                            that clump_heap_compact() would refuse
 *   CLUMP_ERR_DEVICE_MEMORY  `compact` has an order, and too few blocks are free for it
 *   CLUMP_ERR_CORRUPT        marking does not end, because the heap is damaged
 *   CLUMP_ERR_CL, CLUMP_ERR_BUILD, CLUMP_ERR_HOST_MEMORY
 * A call that fails does not change the heap, with two exceptions. If only `compact` failed, such
 * as with CLUMP_ERR_DEVICE_MEMORY, the collection is complete: the dead are freed, and the report
 * is filled in, but compact_report is not. If the device stops working (CLUMP_ERR_CL) before
 * objects move, another collection repairs the heap. */
CLUMP_API clump_status clump_heap_collect(clump_heap *heap, const clump_collect_desc *desc,
                                          clump_collect_report *report, const clump_sync *sync);

#ifdef __cplusplus
}
#endif
#endif
