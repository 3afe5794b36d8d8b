/* Buffers that their callers own: clump_pool_create_buffer().
 *
 *   clReleaseMemObject() ── on any thread ──> gone(): the note goes into `arrived`
 *   next call on the pool ──> a marker in each queue of the buffer; the allocation is freed
 *   later calls ──> the marker has completed: the range is given out again (wait.c)
 *
 * Some devices call gone() while commands still use the buffer, some while the pool's lock is held
 * by the thread that releases it. So gone() only puts a note into a list, without a lock. The list
 * lives as long as the pool and all its buffers, and the code of gone() as long as the process.
 * Read first: pool.h.
 */
#include <string.h>

#include "core/resident.h"
#include "pool/pool.h"

#define WAITING_LEAST 64u

typedef struct note {
    struct note *next;
    clumpi_returned *list;
    uint32_t record;
} note;

struct clumpi_returned {
    _Atomic(note *) arrived; /* the last one first */
    atomic_uint holders;     /* the pool, and each buffer that is not gone */
    clump_allocator allocator;
};

static void let_go(clumpi_returned *list) {
    if (atomic_fetch_sub(&list->holders, 1) != 1) return;
    clump_allocator allocator = list->allocator;
    for (note *n = atomic_load(&list->arrived), *next; n; n = next) {
        next = n->next;
        clumpi_free(&allocator, n);
    }
    clumpi_free(&allocator, list);
}

static void put(clumpi_returned *list, note *n) {
    n->next = atomic_load(&list->arrived);
    while (!atomic_compare_exchange_weak(&list->arrived, &n->next, n)) continue;
}

static void CL_CALLBACK gone(cl_mem buffer, void *user) {
    note *n = user;
    clumpi_returned *list = n->list;
    (void)buffer;
    put(list, n); /* from now on it is the pool's */
    let_go(list);
}

/* ---- Taking back ----------------------------------------------------------------------------- */

/* One marker serves all buffers of a queue that are taken back together. */
enum { MARKERS = 8 };
typedef struct markers {
    cl_command_queue queues[MARKERS];
    cl_event events[MARKERS];
    uint32_t count; /* made so far; the last MARKERS are there */
} markers;

static clump_status marker_of(clump_pool *p, markers *m, cl_command_queue queue, cl_event *event) {
    for (uint32_t i = 0; i < m->count && i < MARKERS; i++)
        if (m->queues[i] == queue) {
            *event = m->events[i];
            return CLUMP_OK;
        }
    cl_event made = NULL;
    cl_int code = p->cl.EnqueueMarkerWithWaitList(queue, 0, NULL, &made);
    if (code) return clumpi_fail_cl(&p->error, "clEnqueueMarkerWithWaitList", code, "for a buffer");
    p->cl.Flush(queue); /* else it might never complete */
    uint32_t i = m->count++ % MARKERS;
    if (m->events[i]) p->cl.ReleaseEvent(m->events[i]);
    m->queues[i] = queue;
    *event = m->events[i] = made;
    return CLUMP_OK;
}

static clump_status take_back(clump_pool *p, uint32_t record, markers *m) {
    clumpi_record *r = clumpi_record_at(p, record);
    clump_status status = CLUMP_OK;
    const cl_command_queue *queues = r->extra->queues;
    cl_uint count = r->extra->queue_count;
    if (!count) {
        count = p->queue_count ? p->queue_count : 1;
        queues = p->queue_count ? p->queues : &p->desc.queue;
    }
    for (cl_uint i = 0; i < count; i++) {
        cl_event event = NULL;
        status = marker_of(p, m, queues[i], &event);
        if (!status) status = clumpi_events_add(p, &r->extra->uses, event, "for a buffer");
        if (status) return status;
    }
    /* A region that is still mapped is the user's to free then. */
    r->holder = CLUMPI_OF_USER;
    r->pins = 0;
    p->lent--;
    clumpi_chunk_reopen(p, r->chunk);
    clumpi_record_free(p, record);
    return CLUMP_OK;
}

void clumpi_buffers_take_back(clump_pool *p) {
    clumpi_returned *list = p->returned;
    if (!list || !atomic_load(&list->arrived)) return;
    clump_error before = p->error;
    markers m = {0};
    for (note *n = atomic_exchange(&list->arrived, NULL), *next; n; n = next) {
        next = n->next;
        if (take_back(p, n->record, &m))
            put(list, n);
        else
            clumpi_free(&p->allocator, n);
    }
    for (uint32_t i = 0; i < m.count && i < MARKERS; i++) p->cl.ReleaseEvent(m.events[i]);
    if (p->waiting_count > p->waiting_most) {
        clumpi_waiting_poll(p);
        p->waiting_most = 2 * p->waiting_count + WAITING_LEAST;
    }
    p->error = before;
}

static void release_queues(clump_pool *p, cl_command_queue *queues, cl_uint count) {
    for (cl_uint i = 0; i < count; i++) p->cl.ReleaseCommandQueue(queues[i]);
    clumpi_free(&p->allocator, queues);
}

void clumpi_buffers_end(clump_pool *p) {
    if (p->returned) let_go(p->returned);
    release_queues(p, p->queues, p->queue_count);
}

/* ---- Making ---------------------------------------------------------------------------------- */

static clump_status check_queues(clump_pool *p, const char *call, cl_uint count,
                                 const cl_command_queue *queues) {
    if (count && !queues)
        return clumpi_fail(&p->error, CLUMP_ERR_USAGE,
                           "%s: there are %u queues, but the list of queues is NULL", call,
                           (unsigned)count);
    for (cl_uint i = 0; i < count; i++) {
        cl_context owner = NULL;
        if (queues[i] == p->desc.queue) continue;
        cl_int code =
            p->cl.GetCommandQueueInfo(queues[i], CL_QUEUE_CONTEXT, sizeof owner, &owner, NULL);
        if (code)
            return clumpi_fail_cl(&p->error, "clGetCommandQueueInfo", code, "queue %u of %s",
                                  (unsigned)i, call);
        if (owner != p->context->context)
            return clumpi_fail(&p->error, CLUMP_ERR_USAGE,
                               "%s: queue %u belongs to another cl_context than the pool", call,
                               (unsigned)i);
    }
    return CLUMP_OK;
}

static clump_status check(clump_pool *p, const clump_allocation_desc *desc, cl_uint queue_count,
                          const cl_command_queue *queues, const cl_mem *buffer) {
    if (!desc || !buffer)
        return clumpi_fail(&p->error, CLUMP_ERR_USAGE,
                           "clump_pool_create_buffer needs a desc and a pointer for the buffer");
    if (desc->movable)
        return clumpi_fail(&p->error, CLUMP_ERR_USAGE,
                           "clump_pool_create_buffer: a buffer that its caller owns cannot move: "
                           "`movable` must be 0");
    if (clumpi_memory_has_pointers(desc->memory))
        return clumpi_fail(&p->error, CLUMP_ERR_USAGE,
                           "clump_pool_create_buffer: `memory` must be CLUMP_MEMORY_DEVICE or "
                           "CLUMP_MEMORY_HOST, because a buffer that its caller owns may outlive "
                           "its pool, and memory with pointers may not");
    return check_queues(p, "clump_pool_create_buffer", queue_count, queues);
}

/* A copy of the list, each queue retained; after a failure as far as it got. */
static clump_status note_queues(clump_pool *p, cl_uint count, const cl_command_queue *queues,
                                cl_command_queue **noted, cl_uint *noted_count) {
    if (!count) return CLUMP_OK;
    *noted = clumpi_alloc(&p->allocator, count * sizeof **noted);
    if (!*noted)
        return clumpi_fail(&p->error, CLUMP_ERR_HOST_MEMORY, "no host memory for a list of queues");
    for (cl_uint i = 0; i < count; i++) {
        cl_int code = p->cl.RetainCommandQueue(queues[i]);
        if (code) return clumpi_fail_cl(&p->error, "clRetainCommandQueue", code, "of a buffer");
        (*noted)[(*noted_count)++] = queues[i];
    }
    return CLUMP_OK;
}

static clump_status set_queues(clump_pool *p, cl_uint count, const cl_command_queue *queues) {
    clump_status status = check_queues(p, "clump_pool_set_queues", count, queues);
    if (status) return status;
    cl_command_queue *noted = NULL;
    cl_uint noted_count = 0;
    status = note_queues(p, count, queues, &noted, &noted_count);
    if (status) {
        release_queues(p, noted, noted_count);
        return status;
    }
    release_queues(p, p->queues, p->queue_count);
    p->queues = noted;
    p->queue_count = noted_count;
    return CLUMP_OK;
}

clump_status clump_pool_set_queues(clump_pool *pool, cl_uint queue_count,
                                   const cl_command_queue *queues) {
    clump_pool *p = clumpi_pool_enter(pool);
    if (!p) return CLUMP_ERR_USAGE;
    clump_status status = set_queues(p, queue_count, queues);
    clumpi_pool_leave(p);
    return status;
}

static note *new_note(clump_pool *p, uint32_t record) {
    if (!p->returned) {
        clumpi_returned *list = clumpi_alloc(&p->allocator, sizeof *list);
        if (!list) return NULL;
        atomic_init(&list->holders, 1);
        list->allocator = p->allocator;
        p->returned = list;
        clumpi_code_stays();
    }
    note *n = clumpi_alloc(&p->allocator, sizeof *n);
    if (n) *n = (note){NULL, p->returned, record};
    return n;
}

/* The sub-buffer, from whose callback on the allocation is the caller's. */
static clump_status lend(clump_pool *p, uint32_t record, cl_mem *buffer) {
    note *n = new_note(p, record);
    if (!n) return clumpi_fail(&p->error, CLUMP_ERR_HOST_MEMORY, "no host memory for a buffer");
    clumpi_record *r = clumpi_record_at(p, record);
    cl_mem made;
    clump_status status = clumpi_backing_sub_buffer(p, r, &made);
    if (!status) {
        atomic_fetch_add(&p->returned->holders, 1);
        cl_int code = p->cl.SetMemObjectDestructorCallback(made, gone, n);
        if (!code) {
            p->lent++;
            r->chunk->sub_buffers++;
            *buffer = made;
            return CLUMP_OK;
        }
        status = clumpi_fail_cl(&p->error, "clSetMemObjectDestructorCallback", code,
                                "%llu bytes of a pool", (unsigned long long)r->bytes);
        atomic_fetch_sub(&p->returned->holders, 1);
        p->cl.ReleaseMemObject(made);
    }
    clumpi_free(&p->allocator, n);
    return status;
}

static clump_status create(clump_pool *p, const clump_allocation_desc *given, cl_uint queue_count,
                           const cl_command_queue *queues, cl_mem *buffer) {
    clump_allocation_desc desc;
    clump_status status = CLUMPI_TAKE(clump_allocation_desc, &desc, given, &p->error);
    if (!status) status = check(p, given ? &desc : NULL, queue_count, queues, buffer);
    uint32_t record = 0;
    if (!status) status = clumpi_allocate(p, &desc, CLUMPI_OF_BUFFER, &record);
    if (status) return status;
    clumpi_record *r = clumpi_record_at(p, record);
    clumpi_extra *extra = clumpi_record_extra(p, r);
    status = !extra ? CLUMP_ERR_HOST_MEMORY
                    : note_queues(p, queue_count, queues, &extra->queues, &extra->queue_count);
    if (!status) status = lend(p, record, buffer);
    if (status) { /* nobody has used it */
        clump_error why = p->error;
        r->holder = CLUMPI_OF_USER;
        clumpi_record_free(p, record);
        p->error = why;
    }
    return status;
}

clump_status clump_pool_create_buffer(clump_pool *pool, const clump_allocation_desc *desc,
                                      cl_uint queue_count, const cl_command_queue *queues,
                                      cl_mem *buffer) {
    if (buffer) *buffer = NULL;
    clump_pool *p = clumpi_pool_enter(pool);
    if (!p) return CLUMP_ERR_USAGE;
    clump_status status = create(p, desc, queue_count, queues, buffer);
    clumpi_pool_leave(p);
    return status;
}
