/* The timeline of a context, as the parts see it that add to it: commands (commands.c), spans of
 * whole calls (compact, collect), and what pools do (pool), on any thread.
 *
 * Invariant: the first `count` entries are complete and do not change until they are forgotten.
 * While there is room each command that the context enqueues has an event. Only the thread of the
 * context begins, ends and writes a timeline; `lock` of the context is held while the pointer to
 * it, the count or the list of pools changes.
 *
 * Read first: include/clump/timeline.h, core.h. Read next: timeline.c, timeline_write.c.
 */
#ifndef CLUMPI_TIMELINE_H
#define CLUMPI_TIMELINE_H

#include "clump/timeline.h"
#include "core/core.h"

#define CLUMPI_TIMELINE_NAME 64u
#define CLUMPI_TIMELINE_ARGS 3u

typedef enum clumpi_timeline_kind {
    CLUMPI_TIMELINE_KERNEL,
    CLUMPI_TIMELINE_TRANSFER,
    CLUMPI_TIMELINE_SPAN, /* the commands of one call */
    CLUMPI_TIMELINE_POOL, /* an allocation, a free */
    CLUMPI_TIMELINE_STEP, /* of a defragmentation */
    CLUMPI_TIMELINE_MOVE  /* a copy that a step enqueued */
} clumpi_timeline_kind;

typedef struct clumpi_timeline_arg {
    const char *name; /* a literal; NULL: no more */
    uint64_t value;
} clumpi_timeline_arg;

typedef struct clumpi_timeline_entry {
    clumpi_timeline_kind kind;
    /* SPAN: the first entry that may belong to it; those before itself are the others */
    uint32_t first;
    uint32_t pool;  /* POOL, STEP, MOVE: number of the pool */
    uint32_t queue; /* KERNEL, TRANSFER, SPAN: number of the queue */
    cl_event event; /* KERNEL, TRANSFER, MOVE */
    double from,
        to; /* POOL, STEP: clumpi_now_ns(). KERNEL, TRANSFER: `to` is when it had been enqueued */
    clumpi_timeline_arg args[CLUMPI_TIMELINE_ARGS];
    char name[CLUMPI_TIMELINE_NAME];
} clumpi_timeline_entry;

/* A queue that the context does not know, of commands that were added. */
typedef struct clumpi_timeline_queue {
    cl_command_queue queue; /* only compared */
    uint32_t number;
} clumpi_timeline_queue;

/* A pool that took part. */
typedef struct clumpi_timeline_pool_name {
    uint32_t number;
    char name[CLUMPI_TIMELINE_NAME];
} clumpi_timeline_pool_name;

struct clumpi_timeline {
    uint32_t capacity;
    _Atomic(uint32_t) count;
    uint64_t dropped;
    cl_ulong
        origin;   /* ns of the device's clock at which the trace begins; 0: none was written yet */
    double begun; /* clumpi_now_ns() */
    int64_t to_device; /* added to the host's clock gives the device's; INT64_MIN: not known yet */
    double known_at;   /* clumpi_now_ns() for which to_device was found */
    uint64_t moves;    /* that were written: each has a number of its own */
    clumpi_timeline_queue *queues;
    uint32_t queue_count;
    clumpi_timeline_pool_name *pools;
    size_t pool_count, pool_capacity;
    clumpi_timeline_entry entries[];
};

/* ---- The context's own thread ---- */

/* Is a command to have an event for the timeline? */
int clumpi_timeline_has_room(const clump_context *c);
/* A command was enqueued: its kernel, or NULL and what it is; bytes of a transfer; its event, which
 * stays the caller's, or NULL if there was no room. */
clump_status clumpi_timeline_add(clump_context *c, cl_kernel kernel, const char *what,
                                 uint64_t bytes, cl_event event);
void clumpi_timeline_release(clump_context *c);

/* The commands of a call become a span, unless there was no room for all of them: then there is
 * none for the span either. Returns what the end is to be told. */
uint32_t clumpi_timeline_begin(clump_context *c);
/* args: CLUMPI_TIMELINE_ARGS of them, or NULL. */
void clumpi_timeline_end(clump_context *c, uint32_t begun, const char *name,
                         const clumpi_timeline_arg *args);

/* ---- Any thread ---- */

/* Does it record? If not, nothing need be measured. */
static inline int clumpi_timeline_is_on(const clump_context *c) {
    return atomic_load_explicit(&c->has_timeline, memory_order_relaxed);
}
/* A pool did something: what->event, if any, stays the caller's. what->name is cut if it is too
 * long. */
void clumpi_timeline_pool(clump_context *c, const char *pool_name,
                          const clumpi_timeline_entry *what);

#endif
