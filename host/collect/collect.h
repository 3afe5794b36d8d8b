/* Collection: collect.c is the call, check.c what it refuses, mark.c the marking on the device,
 * host.c that on the host, log.c what a measurement asks for, collector.c the automatic one.
 * chosen.c marks and sweeps for others.
 *
 * May use: core, schema, heap, sort, compact.
 *
 * Invariant: between two collections the buffer of marks is empty, or there is none.
 *
 * Read first: heap/access.h, heap/timed.h, include/clump/collect.h, cl/collect/mark.clh.
 */
#ifndef CLUMPI_COLLECT_H
#define CLUMPI_COLLECT_H

#include "cl/collect/layout.h"
#include "clump/collect.h"
#include "clump/collector.h"
#include "clump/experimental.h"
#include "heap/checked.h"
#include "heap/program.h"
#include "heap/refs.h"
#include "heap/timed.h"

#define CLUMPI_COLLECT_KERNELS(X)                                                                  \
    X(mark_begin)                                                                                  \
    X(mark_roots)                                                                                  \
    X(mark_classes)                                                                                \
    X(mark_chosen)                                                                                 \
    X(mark_reached)                                                                                \
    X(mark_step)                                                                                   \
    X(sweep_weak)                                                                                  \
    X(sweep_weak_outside)                                                                          \
    X(sweep_list)                                                                                  \
    X(sweep)
enum { CLUMPI_COLLECT_KERNELS(CLUMPI_KERNEL_INDEX) };
extern const clumpi_library clumpi_collect_library;
#define CLUMPI_COLLECT_KERNEL(name)                                                                \
    ((clumpi_kernel_id){.library = &clumpi_collect_library, .index = CLUMPI_KERNEL_##name})

/* What a heap's collections mark in (cl/collect/layout.h): NULL until the first, and after one that
 * failed, since an empty buffer is what the next one expects. */
typedef struct clumpi_marks {
    clumpi_attachment base; /* of the heap */
    cl_mem buffer;
    uint32_t capacity; /* of the queue */
    uint32_t log_room; /* 0: there is no log */
    uint64_t bytes;
} clumpi_marks;

typedef struct clumpi_collection {
    clump_heap *heap;
    clumpi_marks *marks; /* of the heap */
    const clump_collect_desc *desc;
    /* chosen.c: the objects that are white there are the roots; NULL: desc and what is registered
     * say which are */
    cl_mem chosen;
    const clump_mark_tuning *tuning;  /* of desc, or all 0 */
    clumpi_u32 dead_first, dead_last; /* classes of desc->dead_class */
    uint64_t dead_room;               /* references that desc->dead has room for */
    clump_collect_report report;
    int is_swept;                /* the dead are gone, whatever fails afterwards */
    clumpi_timed timed;          /* its phases are clump_collect_phase */
    clumpi_mark_control control; /* as last read */
    double narrow_us;            /* that narrow stretches took, since the host last gave back */
    double copies_us;            /* that handing over is expected to take; 0: not asked yet */
    cl_ulong log_begin; /* of the device's clock, when the first launch of the log was enqueued */
    uint32_t log_launches; /* whose times were noted */
} clumpi_collection;

/* Granules for which there are words of marks. */
static inline uint64_t clumpi_mark_granules(const clump_heap *heap) {
    const clumpi_header *h = &clumpi_heap_geometry(heap)->header;
    return (uint64_t)h->block_end * h->block_granules;
}

/* A long narrow graph is handed over to the host, where an object takes a cache miss, while a level
 * takes the device a microsecond or more: if so few objects are reached at a time that the host is
 * faster, once as much time was spent as the copies will take. What has become wide again is given
 * back, once as much time was lost at it as the copies take. So no choice is wrong by more than a
 * factor of two. A level, a miss, the calls and the bytes in a microsecond are what `clump-bench
 * run mark-list`, `mark-lists` and `mark-hourglass` had on an H200. */
#define CLUMPI_LEVEL_US 1.5
#define CLUMPI_HOST_OBJECT_US 0.05
static inline double clumpi_hand_over_us(double bytes) {
    return 190.0 + bytes / 3000.0;
}

/* ---- check.c ---- */

/* Fill in what the desc says, or say what is wrong with it. */
clump_status clumpi_collect_begin(clumpi_collection *r);

/* ---- mark.c ---- */

/* Of the heap, made if there are none yet; NULL without host memory. */
clumpi_marks *clumpi_marks_of(clump_heap *heap);

/* Launch a kernel of marking or sweeping with the sizes of a do-all. Its first arguments are the
 * heap, header_at and the marks; `args` are the others, at most CLUMPI_MARK_ARGS. */
#define CLUMPI_MARK_ARGS 6u
clump_status clumpi_collect_run(clumpi_collection *r, clump_collect_phase phase,
                                clumpi_kernel_id id, const clumpi_arg *args, uint32_t arg_count);
clump_status clumpi_collect_run_on(clumpi_collection *r, clump_collect_phase phase,
                                   clumpi_kernel_id id, size_t groups, size_t local,
                                   const clumpi_arg *args, uint32_t arg_count);

/* A kernel that takes references outside the heap. */
clump_status clumpi_collect_outside(clumpi_collection *r, clump_collect_phase phase,
                                    clumpi_kernel_id id, const clump_refs *refs);

/* Read r->control. Blocks. */
clump_status clumpi_collect_read(clumpi_collection *r);

/* Reach all that roots lead to. Blocks. */
clump_status clumpi_collect_mark(clumpi_collection *r);

/* ---- collect.c ---- */

/* The white objects go, or if desc says only_mark they are counted. Does not block. */
clump_status clumpi_collect_sweep(clumpi_collection *r);

/* ---- chosen.c: objects that somebody has chosen, by bits in a buffer that is laid out as the
 * first part of that of the marks: white ones are chosen ---- */

/* CONSTRUCTOR, DESTRUCTOR. Nobody is. */
clump_status clumpi_chosen_create(clump_heap *heap, cl_mem *chosen);
void clumpi_chosen_release(clump_heap *heap, cl_mem *chosen);
/* What they lead to is chosen, too: by fields that are not weak. Blocks. */
clump_status clumpi_chosen_follow(clump_heap *heap, cl_mem chosen);
/* They are freed with their arrays, all of them live. *is_freed: they are, also if the call fails.
 * Blocks at the first call of a heap with arrays. */
clump_status clumpi_chosen_free(clump_heap *heap, cl_mem chosen, int *is_freed);

/* ---- drop.c ---- */

/* Can objects of the heap have raw memory? If so, arrays of white objects give it back.
 * with_objects: 0, or these are freed as well, by the same launch. Blocks at the first call. */
int clumpi_collect_has_arrays(const clump_heap *heap);
clump_status clumpi_collect_drop(clumpi_collection *r, int with_objects);

/* ---- log.c: of tuning->log; nothing is done without one ---- */

/* Before and after marking: empty it on the device; fill in the caller's. `steps`: launches. Both
 * block. */
clump_status clumpi_collect_log_begin(clumpi_collection *r);
clump_status clumpi_collect_log_end(clumpi_collection *r, clumpi_u32 steps);

/* ---- host.c ---- */

/* Go on on the host from what step `step` would find, with r->control as read after the step
 * before: to the end, which is marked in r->control by
 * nothing queued and nothing grey for that step; or, where may_return, until it is wide. Blocks. */
clump_status clumpi_collect_mark_host(clumpi_collection *r, clumpi_u32 step, int may_return);

/* ---- For collector.c ---- */

/* The caller's desc, in which `compact` is a copy, too, unless it is NULL. */
clump_status clumpi_collect_take(const clump_collect_desc *given, clump_collect_desc *desc,
                                 clump_compact_desc *compact, clump_error *error);

/* clump_heap_collect(). *is_swept: the dead are gone, also if the call fails. */
clump_status clumpi_collect(clump_heap *heap, const clump_collect_desc *desc,
                            clump_collect_report *report, const clump_sync *sync, int *is_swept);

/* What clump_heap_collect() would say to this desc before it does anything. */
clump_status clumpi_collect_check(clump_heap *heap, const clump_collect_desc *desc);

#endif
