/* Pools of OpenCL buffers: suballocation, limits, moves, defragmentation.
 *
 * May use: core, suballoc.
 *
 *   clump_pool ─┬─ kinds[memory] ── chunks, by age, each with a suballocator; uniques
 *               ├─ records: one for each allocation, in slabs
 *               ├─ ops: moves under way; each holds a range at its target
 *               ├─ returned: buffers that callers owned and that are gone
 *               ├─ waiting: ranges that nobody owns and that commands still use
 *               └─ account: bytes of all pools of the context; stays with the context
 *
 * Invariants, whenever the lock is free: a used range of a chunk belongs to exactly one record, op
 * (as its target) or waiting range; bytes are those of all chunks; tops[i] is the top bin of chunk
 * i; at most one chunk of a kind is empty, and that only if the pool keeps one, unless has_surplus.
 * clump_pool_check() verifies them.
 *
 * The functions here expect the lock to be held and fill the pool's error record when they fail.
 * Read first: include/clump/pool.h, suballoc.h. Read next: pool.c, allocate.c, chunk.c,
 * backing.c, defrag.c.
 */
#ifndef CLUMPI_POOL_H
#define CLUMPI_POOL_H

#include <stdatomic.h>

#include "clump/defrag.h"
#include "clump/experimental.h"
#include "clump/pool.h"
#include "core/core.h"
#include "core/lock.h"
#include "core/pointers.h"
#include "pool/pace.h"
#include "suballoc/suballoc.h"

typedef struct clumpi_op clumpi_op;
typedef struct clumpi_returned clumpi_returned; /* see buffer.c */

/* Of all pools of a context: made with the first of them. */
typedef struct clumpi_pool_account {
    clumpi_attachment base; /* of the context */
    _Atomic(uint64_t) bytes;
    _Atomic(uint32_t) pools; /* that there have been; they number them */
} clumpi_pool_account;

typedef struct clumpi_chunk {
    cl_mem buffer;            /* NULL: only a pointer */
    clumpi_pointers pointers; /* all zero: no memory with a pointer */
    uint64_t bytes;
    uint32_t index;  /* in its kind's chunks or uniques */
    uint32_t serial; /* as the dump names it */
    clump_memory memory;
    int is_unique;
    int was_used;           /* a command that used the buffer itself has ended */
    uint32_t movable;       /* records that may be moved */
    uint64_t leaving_units; /* used units that ops leave: the sources of moves under way */
    uint32_t rank;          /* in the order of the last plan: 0 is to be filled first */
    uint32_t cursor;        /* node at which the search for moves goes on; 0: the last */
    uint32_t sub_buffers;   /* live ones of its buffer */
    clump_suballoc ranges;  /* not of unique ones */
} clumpi_chunk;

typedef struct clumpi_events {
    cl_event *list;
    size_t count, capacity;
} clumpi_events;

/* What few allocations have. */
typedef struct clumpi_extra {
    char *name;
    cl_mem sub_buffer;
    uint32_t maps;
    clumpi_events uses;
    cl_command_queue *queues; /* that use the caller's buffer; retained. None: the pool's */
    cl_uint queue_count;
} clumpi_extra;

/* Who gives an allocation back. */
enum { CLUMPI_OF_USER, CLUMPI_OF_HEAP, CLUMPI_OF_BUFFER };

typedef struct clumpi_record {
    clumpi_chunk *chunk;
    uint64_t bytes; /* as asked for */
    void *user_data;
    clumpi_extra *extra; /* or NULL */
    clumpi_op *op;       /* its move, or NULL */
    uint64_t ignored_at; /* number of frees + 1 when a move of it was turned down */
    uint32_t node;       /* 0: unique */
    uint32_t pins;
    uint32_t next; /* unused ones: list */
    uint16_t generation;
    uint8_t is_live, is_movable, holder, align_log; /* align_log: of the offset, in units */
} clumpi_record;

typedef struct clumpi_waiting {
    clumpi_chunk *chunk;
    uint32_t node;
    clumpi_events uses;
} clumpi_waiting;

enum { CLUMPI_OP_PLANNED, CLUMPI_OP_COPYING, CLUMPI_OP_COPIED };

struct clumpi_op {
    uint32_t record;         /* 0: freed meanwhile */
    int state, is_dropped;   /* dropped: it will not be swapped */
    clumpi_chunk *from, *to; /* from: NULL if freed meanwhile */
    uint32_t to_node;
    uint64_t from_at, to_at;       /* bytes */
    uint64_t bytes, copied, piece; /* piece: of the last copy enqueued */
    cl_event event;                /* of that copy */
    double since;                  /* clumpi_now_ns() before it was enqueued */
};

typedef struct clumpi_kind {
    clumpi_chunk **chunks, **uniques, **order; /* order: by rank */
    uint32_t *tops;
    size_t count, chunks_capacity, tops_capacity, order_capacity;
    size_t unique_count, uniques_capacity;
    uint32_t empty;
    size_t passed; /* chunks at the begin without room, or without room for more sub-buffers */
    uint64_t changes,
        settled;           /* of what plans depend on; changes + 1 when nothing was left to move */
    size_t scan_at;        /* where in `order` the search goes on, counted from its end */
    uint64_t scan_changes; /* changes when the search began with the last chunk */
} clumpi_kind;

#define CLUMPI_FRAMES_MAX 64u

typedef struct clumpi_frame {
    clumpi_events events;
    uint64_t longest; /* pause so far */
} clumpi_frame;

struct clump_pool {
    clumpi_buffer_source source; /* first: what a heap sees of it */
    clumpi_pool_account *account;
    clump_context *context;
    clump_allocator allocator;
    clump_cl_functions cl;
    clump_pool_desc desc; /* with defaults filled in */
    char *name;
    clumpi_lock lock;
    clump_error error;
    int trace_failed;            /* what desc.trace returned; not 0: it is not called any more */
    int in_order, has_profiling; /* of the queue */
    int is_destroyed;            /* by the caller: it ends with the last of its heaps */
    uint32_t heaps;              /* that have their memory from it */
    uint32_t views, lent;        /* sub-buffers: of clump_pool_get_buffer(), and callers' own */
    double usual;                /* units of the last requests for sub-buffers, on average */
    uint32_t unit_shift, margin_units;
    uint16_t mark;
    uint32_t serial;
    uint32_t number; /* of the pool, for the timeline */
    double call_end,
        step_end; /* of the last call and step in the timeline: none begins before it */
    clumpi_kind kinds[CLUMP_MEMORY_COUNT];
    clumpi_record **slabs;
    size_t slab_count, slab_capacity;
    uint32_t unused;
    clumpi_op **ops;
    size_t op_count, op_capacity;
    clumpi_waiting *waiting;
    size_t waiting_count, waiting_capacity,
        waiting_most;                     /* most: look at them when there are more */
    clumpi_returned *returned;            /* NULL before the first such buffer */
    cl_command_queue *queues;             /* of buffers without queues of their own; retained */
    cl_uint queue_count;                  /* 0: desc.queue */
    clump_pool_stats stats;               /* all except `waste` */
    uint64_t chunk_bytes_all, chunk_used; /* of chunks without unique ones */

    /* Defragmentation. */
    int is_stepping;
    uint32_t starved; /* steps whose budget was too small for any copy */
    int defers_release,
        has_surplus;     /* a step with a budget runs; it did not release all empty chunks */
    uint32_t unreleased; /* steps whose budget was too small to release one of them */
    clumpi_pace_model release_pace; /* what that takes; no bytes are counted */
    cl_mem scratch;
    uint64_t scratch_bytes;
    clumpi_pace_model device_pace, wall_pace;
    clumpi_frame frames[CLUMPI_FRAMES_MAX];
    uint32_t frame_at;
    uint64_t pauses[CLUMPI_FRAMES_MAX]; /* of the last frames that completed */
    uint64_t frames_seen, frame_last_end;
    int frame_end_unknown; /* what ran last in the last frame ended nobody knows when */
};

/* ---- buffer.c ---- */

/* Free the allocations of callers' buffers that are gone; their regions wait for markers. An error
 * of this is nobody's: what cannot be freed now is tried again. */
void clumpi_buffers_take_back(clump_pool *p);

/* The pool does not look for them any more. */
void clumpi_buffers_end(clump_pool *p);

/* ---- A call: the lock, which the functions of this header expect to be held ---- */

/* Its begin and end. NULL if there is no pool. */
static inline clump_pool *clumpi_pool_enter(clump_pool *pool) {
    if (!pool) return NULL;
    clumpi_lock_take(&pool->lock);
    clumpi_buffers_take_back(pool);
    return pool;
}
static inline void clumpi_pool_leave(clump_pool *p) {
    clumpi_lock_give(&p->lock);
}

/* ---- trace.c ---- */

/* A line for the user's trace, if there is one; whether all lines could be written. */
void clumpi_trace(clump_pool *p, const char *format, ...)
    __attribute__((format(CLUMPI_PRINTF, 2, 3)));
clump_status clumpi_trace_status(clump_pool *p);

/* For the timeline of the pool's context: something begins, at this time, or 0 if nothing is
 * recorded; it is done. Calls on a pool come one after the other, and so do their entries, also
 * where one gave up the lock. */
double clumpi_pool_time(const clump_pool *p);
void clumpi_pool_timed(clump_pool *p, double began, const char *what, uint64_t bytes);

/* How a trace names an allocation: no two that live at a time have the same. */
static inline unsigned long long clumpi_trace_id(clump_allocation allocation) {
    return allocation & 0xFFFFFFFFFFFF;
}

/* ---- pool.c ---- */

/* What a device has in all; without end if it does not say. */
uint64_t clumpi_memory_of(const clump_capabilities *device);

/* The size that chunks grow to, and that of the next one of a kind. */
uint64_t clumpi_chunk_bytes_most(const clump_pool *p);
uint64_t clumpi_chunk_bytes_wanted(const clump_pool *p, clump_memory memory);

/* Nobody uses the pool any more, nor will: it was destroyed, and has no heap. Without the lock. */
void clumpi_pool_end(clump_pool *p);

/* ---- allocate.c ---- */

/* Make a live record with its region. The lock may be given up meanwhile. */
clump_status clumpi_allocate(clump_pool *p, const clump_allocation_desc *desc, int holder,
                             uint32_t *record);
clump_status clumpi_record_free(clump_pool *p, uint32_t record);

/* A call of its own: clump_pool_alloc() for a holder. */
clump_status clumpi_allocate_for(clump_pool *pool, const clump_allocation_desc *desc, int holder,
                                 clump_allocation *allocation, clump_region *region);

/* ---- heaps.c ---- */

clumpi_buffer_source clumpi_source_for_heaps(clump_context *c);

/* ---- defrag.c ---- */

/* Steps without a limit, as long as they free something, while no other step runs. The lock is
 * given up while they wait and while callbacks run. */
clump_status clumpi_defrag_for_room(clump_pool *p);

/* ---- record.c ---- */

#define CLUMPI_RECORDS_SLAB 512u

static inline clumpi_record *clumpi_record_at(const clump_pool *p, uint32_t i) {
    return &p->slabs[i / CLUMPI_RECORDS_SLAB][i % CLUMPI_RECORDS_SLAB];
}

/* A new record, or 0 without host memory. It is live, and seen by others, when is_live is set. */
uint32_t clumpi_record_new(clump_pool *p);
void clumpi_record_retire(clump_pool *p, uint32_t record);
clump_allocation clumpi_record_handle(const clump_pool *p, uint32_t record);

/* The live record of a handle; 0 and an error naming the call if there is none. */
uint32_t clumpi_record_find(clump_pool *p, clump_allocation allocation, const char *call);

/* NULL without host memory (the error is set). */
clumpi_extra *clumpi_record_extra(clump_pool *p, clumpi_record *r);

/* Release the sub-buffer that shows the present place. */
void clumpi_record_forget_place(clump_pool *p, clumpi_record *r);

clump_region clumpi_record_region(const clump_pool *p, const clumpi_record *r);
void clumpi_record_info(const clump_pool *p, uint32_t record, clump_allocation_info *info);

/* May defragmentation move it now? */
static inline int clumpi_record_is_free_to_move(const clumpi_record *r) {
    return r->is_movable && !r->pins && !r->chunk->is_unique && !(r->extra && r->extra->maps);
}

/* ---- chunk.c ---- */

/* How an allocation has its memory: CLUMPI_WITH_FEW in a chunk with few sub-buffers, since it will
 * be one itself (clump_capabilities.sub_buffers_most). */
typedef enum clumpi_manner { CLUMPI_IN_CHUNK, CLUMPI_WITH_FEW, CLUMPI_UNIQUE } clumpi_manner;

/* Count device memory that is about to be taken: CLUMP_ERR_DEVICE_MEMORY if a limit does not allow
 * it. Then: a chunk with room for `units`, or a unique one of exactly `units`.
 * CLUMP_ERR_DEVICE_MEMORY: no memory. */
clump_status clumpi_bytes_reserve(clump_pool *p, uint64_t bytes);
/* What all pools of the context may have, as far as it concerns this one; 0: whatever the device
 * gives. A CPU refuses nothing before the system has no memory left, so a pool without any limit
 * stops at three quarters of what the device tells. */
uint64_t clumpi_limit_of_all(const clump_pool *p);
void clumpi_bytes_return(clump_pool *p, uint64_t bytes);
clump_status clumpi_chunk_new(clump_pool *p, clump_memory memory, uint64_t units,
                              clumpi_manner manner, clumpi_chunk **chunk);
void clumpi_chunk_destroy(clump_pool *p, clumpi_chunk *chunk);

/* Find room by the pool's strategy in the chunks there are; 0 if there is none. */
uint32_t clumpi_chunks_find(clump_pool *p, clump_memory memory, uint64_t units, uint64_t align,
                            clumpi_manner manner, clumpi_chunk **chunk);

/* Has it its sub-buffers? If they leave most of it unused, it takes more, and not without end. */
int clumpi_chunk_is_closed(const clump_pool *p, const clumpi_chunk *c);

/* A sub-buffer of the chunk's buffer is gone. */
void clumpi_chunk_reopen(clump_pool *p, clumpi_chunk *chunk);

/* Take units out of the free node that was found; 0 without host memory. `record`: whose they are,
 * 0 for a move's target. */
uint32_t clumpi_chunk_take(clump_pool *p, clumpi_chunk *chunk, uint32_t free_node, uint64_t at,
                           uint64_t units, uint32_t record);

/* Give a range (node 0: the whole unique chunk) back. The chunk may be gone afterwards. */
void clumpi_chunk_give(clump_pool *p, clumpi_chunk *chunk, uint32_t node);

/* Release an empty chunk of a kind if there are more than the pool keeps; returns whether. */
int clumpi_chunks_release_one(clump_pool *p, clumpi_kind *k);

/* Release all empty chunks. */
void clumpi_chunks_trim(clump_pool *p);

/* ---- backing.c ---- */

static inline int clumpi_memory_has_pointers(clump_memory memory) {
    return memory >= CLUMP_MEMORY_SVM;
}

static inline clump_pointers clumpi_memory_pointers(clump_memory memory) {
    return (clump_pointers)(1u << ((unsigned)memory - CLUMP_MEMORY_SVM));
}

/* May the host use the pointer whenever no command does? */
static inline int clumpi_memory_is_hosts(clump_memory memory) {
    return memory == CLUMP_MEMORY_USM_HOST || memory == CLUMP_MEMORY_USM_SHARED;
}

/* As dumps name it. */
const char *clumpi_memory_name(clump_memory memory);

/* Does the device have the memory, and can it serve the request? */
clump_status clumpi_memory_check(clump_pool *p, const clump_allocation_desc *desc);

/* Take a chunk's memory, count it and touch it. CLUMP_ERR_DEVICE_MEMORY: no memory. */
clump_status clumpi_backing_make(clump_pool *p, clumpi_chunk *chunk);
/* Waits for the pool's queue if the memory has pointers. */
void clumpi_backing_release(clump_pool *p, clumpi_chunk *chunk);

/* A sub-buffer, which is the caller's. */
clump_status clumpi_backing_sub_buffer(clump_pool *p, const clumpi_record *r, cl_mem *made);

/* Both wait. */
clump_status clumpi_backing_fill(clump_pool *p, const clumpi_chunk *chunk, uint64_t at,
                                 uint64_t bytes, unsigned char pattern);
clump_status clumpi_backing_read(clump_pool *p, const clumpi_chunk *chunk, uint64_t at,
                                 uint64_t bytes, void *data);

/* CLUMP_ERR_UNSUPPORTED if the allocation has no cl_mem. */
clump_status clumpi_backing_need_buffer(clump_pool *p, const clumpi_record *r, const char *call);
clump_status clumpi_backing_map_pointer(clump_pool *p, const clumpi_record *r,
                                        const clumpi_events *uses, void **memory);

/* ---- wait.c: events ---- */

/* As clumpi_sync_check(), for the pool's error. */
clump_status clumpi_pool_sync_check(clump_pool *p, const clump_sync *sync, const char *call);
/* The caller's event, on the pool's queue: after these, or, if there are none, after those that the
 * caller named. */
clump_status clumpi_pool_mark(clump_pool *p, const clumpi_events *after, const clump_sync *sync);

int clumpi_event_is_complete(clump_pool *p, cl_event event);
void clumpi_events_clear(clump_pool *p, clumpi_events *events);
/* Retains it. */
clump_status clumpi_events_add(clump_pool *p, clumpi_events *events, cl_event event,
                               const char *what);

/* Give a range back when `uses` have completed; takes the events over. */
void clumpi_range_retire(clump_pool *p, clumpi_chunk *chunk, uint32_t node, clumpi_events *uses);

/* Give back the ranges whose uses have completed. */
void clumpi_waiting_poll(clump_pool *p);

/* ---- margin.c ---- */

clump_status clumpi_margin_write(clump_pool *p, const clumpi_record *r);
clump_status clumpi_margins_check(clump_pool *p);

/* ---- plan.c ---- */

typedef struct clumpi_plan_limits {
    uint64_t bytes;     /* to plan; the last op may go beyond, as it is copied in pieces */
    uint32_t ops;       /* at most */
    double deadline_ns; /* on the clock of clumpi_now_ns(): stop searching then */
} clumpi_plan_limits;

/* Find, weigh and select moves: new ops in the state PLANNED, whose targets are reserved. What was
 * planned before a failure stays. */
clump_status clumpi_plan(clump_pool *p, const clump_defrag_desc *desc,
                         const clumpi_plan_limits *limits);

/* Was everything searched, and is there nothing to move? */
int clumpi_plan_is_settled(const clump_pool *p);

/* ---- move.c ---- */

/* An op for a record, its target taken. NULL without host memory: the target is given back. */
clumpi_op *clumpi_op_new(clump_pool *p, uint32_t record, clumpi_chunk *to, uint32_t to_node);

/* Give the op's target back once its copy has completed; the op is gone. */
void clumpi_op_drop(clump_pool *p, size_t op);

/* Enqueue the next `bytes` of an op. */
clump_status clumpi_op_copy(clump_pool *p, clumpi_op *op, uint64_t bytes, const clump_sync *sync);

/* A copy that has completed: swap, and retire the source; the op is gone. */
void clumpi_op_swap(clump_pool *p, size_t op);

void clumpi_op_tell(const clump_pool *p, const clumpi_op *op, clump_move *move);

/* Copy between chunks; waits for `uses`, for the events of `sync`, and on an out-of-order queue for
 * `after`. The event is the caller's. */
clump_status clumpi_copy_range(clump_pool *p, cl_mem from, uint64_t from_at, cl_mem to,
                               uint64_t to_at, uint64_t bytes, const clumpi_events *uses,
                               const clump_sync *sync, cl_event after, cl_event *event);

/* ---- slide.c ---- */

/* Slide movable allocations down over the gaps before them, within `budget_us`; waits for the
 * copies. *moves: what was moved, to be released by the caller. */
clump_status clumpi_slide(clump_pool *p, const clump_sync *sync, double budget_ns,
                          clump_move **moves, size_t *count);
void clumpi_scratch_release(clump_pool *p);

/* ---- stats.c ---- */

/* clump_pool_stats.waste */
double clumpi_pool_waste(const clump_pool *p);

/* ---- pauses.c ---- */

uint64_t clumpi_pauses_budget(clump_pool *p);
void clumpi_frames_clear(clump_pool *p);

#endif
