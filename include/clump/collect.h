/* Garbage collection: objects that no root leads to are freed.
 *
 * Roots are all registered buffers of references that are not weak and all handles (refs.h), and
 * what clump_collect_desc names: single references, and whole classes, whose objects all stay. From
 * there every reference field is followed that is not `weak` (schema.h). Objects that are not
 * reached die: their slots are free, their fields are not touched; what their arrays of run-time
 * length have in raw memory is freed. Weak references to them become null.
 *
 * A reference that names no live object of the class that its field declares is not followed.
 * Kernels must keep no references across a collection that no root leads to.
 *
 * Marking is done on the device by one of three engines, all with the same result, or by the host.
 * They take turns where the shape of the graph asks for it: docs/internals/collect.md.
 *
 * A collection takes a buffer at the first call, kept until the heap is destroyed: 16 bytes for
 * each granule of the heap (clump_heap_info), 8 bytes for each object that the queue has room
 * for, 1280 bytes. Objects that the queue has no room for become grey bits in the first part, so
 * that none is lost.
 *
 * Read first: heap.h, refs.h. Read next: collector.h (when to collect), compact.h.
 */
#ifndef CLUMP_COLLECT_H
#define CLUMP_COLLECT_H

#include "clump/compact.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How live objects are found. All give the same result. */
typedef enum clump_mark_engine {
    /* GPUs: by the queue. CPUs: while few objects are reached at a time, else by rows */
    CLUMP_MARK_AUTO,
    CLUMP_MARK_QUEUE, /* a frontier queue of references (Maas et al., ISMM 2012) */
    CLUMP_MARK_ROWS,  /* rows with objects that were reached: each field of a row read in one go */
    CLUMP_MARK_HOST /* sequentially in C, on a copy of the heap: the reference for the others. Takes
                         the heap's size in host memory, and its time to come over */
} clump_mark_engine;

/* What a collection starts from, how it marks, and what happens to the dead. All zero: see
 * clump_heap_collect(). */
typedef struct clump_collect_desc {
    size_t size; /* sizeof(clump_collect_desc) */
    /* Roots, in addition to those that are registered. */
    const clump_ref *roots; /* nulls and references to no live object are disregarded. They
                                        are not rewritten if the call compacts: make handles */
    uint64_t root_count;
    const char *const *root_classes; /* names; each stands for itself and its subclasses */
    uint32_t root_class_count;

    /* Marking. All results are the same; the numbers may differ. */
    clump_mark_engine engine;
    uint32_t queue_room; /* objects that the queue has room for, 64 at least. 0: an eighth of what
                            the heap can hold for QUEUE, and for AUTO with the kernels for
                            GPUs; else half the granules */
    const struct clump_mark_tuning *tuning; /* experimental.h. NULL: as is best */

    /* What happens to the dead. */
    int only_mark; /* 1: count, but free nothing and null nothing */
    cl_mem dead;   /* optional: gets the number of objects that die, 4 bytes, then references
                                to them in no order, as many as there is room for */
    const char *dead_class;  /* optional: only objects of this class and its subclasses go there */
    clump_kernel *finaliser; /* optional, with `dead`: launched as a do-all between marking and
                                freeing, when nothing has changed yet. Its heap parameter is
                                CLUMP_HEAP_NO_ALLOC, its next parameter
                                `__global const uint *dead`, set by the library */

    const clump_compact_desc *compact; /* optional: compact afterwards */
    /* [out, optional] of that compaction; asking for it makes it block. A collector writes there at
     * each tick. */
    clump_compact_report *compact_report;
} clump_collect_desc;

/* Parts of a run, as timed by profiling events. The kernel that frees arrays of run-time length is
 * in none of them. */
#define CLUMP_COLLECT_PHASE_LIST(X)                                                                \
    X(ROOTS, "no object reached yet, then those of the roots")                                     \
    X(MARK, "objects that these lead to")                                                          \
    X(WEAK, "weak references to the dead")                                                         \
    X(LIST, "the list of the dead")                                                                \
    X(SWEEP, "bitmaps, states and hints")
/* Places in clump_collect_report.us. */
typedef enum clump_collect_phase {
#define CLUMP_COLLECT_PHASE_ENUM(name, text) CLUMP_COLLECT_##name,
    CLUMP_COLLECT_PHASE_LIST(CLUMP_COLLECT_PHASE_ENUM)
#undef CLUMP_COLLECT_PHASE_ENUM
        CLUMP_COLLECT_PHASE_COUNT
} clump_collect_phase;

/* What a collection found and took. */
typedef struct clump_collect_report {
    size_t size;             /* sizeof(clump_collect_report) */
    uint64_t live, dead;     /* objects that stay; that died */
    uint64_t roots;          /* references of buffers, handles and desc that are not null, and
                                     objects of root classes */
    uint64_t roots_dangling; /* of the references: those that name no live object */
    uint64_t refs_read;      /* references of live objects, those of weak fields left out */
    uint64_t refs_followed;  /* of these: not null */
    uint64_t weak_nulled;
    uint32_t blocks_freed;    /* of classes; not those of raw memory that arrays of the dead had */
    uint32_t levels;          /* of the graph that the queue or the host went through */
    uint32_t narrow_levels;   /* of these: by one work-group alone */
    uint32_t sweeps;          /* of all rows with grey objects; takes the place of levels */
    uint32_t refills;         /* of the queue, after it overflowed */
    uint32_t engine_changes;  /* between one work-group, the queue, rows and the host */
    uint32_t queue_peak;      /* most objects in the queue */
    uint64_t queue_overflows; /* objects that found it full */
    uint32_t launches, readbacks; /* of marking and sweeping; readbacks wait for the device */
    uint64_t memory_bytes;        /* device memory that collections of the heap keep */
    /* Times are without those of commands that the device tells wrong, an end before the beginning,
     * say. */
    double us[CLUMP_PHASES_MAX]; /* device time; 0 if the queue does no profiling */
    double total_us;             /* their sum, or with HOST what the host measured */
    double host_us; /* what the host marked: that alone, of us[CLUMP_COLLECT_MARK], which has the
                       copies too. 0: nothing was handed over */
    uint64_t floor_bytes; /* what must at least be read and written: each reference of a live object
                             once; for each granule of blocks in use a word of marks written and
                             read and one of the bitmap read and written; each state likewise */
} clump_collect_report;

/* METHOD. Collect.
 *   desc    [in, optional]   NULL: registered buffers and handles are the roots; AUTO. Without any
 *                            root every object dies
 *   report  [out, optional]
 *   sync    [in, optional]
 * Blocks: yes, a few times while it marks; what follows marking only if `report` is given, or as
 * clump_heap_compact() does.
 * Returns CLUMP_OK; CLUMP_ERR_NOT_FOUND class; CLUMP_ERR_USAGE a value out of range, options that
 * exclude each other, a buffer of another cl_context, objects that are evicted (evict.h), or what
 * clump_heap_compact() would refuse; CLUMP_ERR_DEVICE_MEMORY `compact` has an order, and there are
 * not enough free blocks for it; CLUMP_ERR_CORRUPT marking does not come to an end, since the heap
 * is damaged; CLUMP_ERR_CL; CLUMP_ERR_BUILD; CLUMP_ERR_HOST_MEMORY. After an error the heap is
 * unchanged, with two exceptions. If only `compact` failed, as it does with
 * CLUMP_ERR_DEVICE_MEMORY, the collection is done: the dead are freed, and the report is filled in,
 * but compact_report is not. After CLUMP_ERR_CL from a device that gives up another collection puts
 * the heap right if objects did not move yet. */
CLUMP_API clump_status clump_heap_collect(clump_heap *heap, const clump_collect_desc *desc,
                                          clump_collect_report *report, const clump_sync *sync);

#ifdef __cplusplus
}
#endif
#endif
