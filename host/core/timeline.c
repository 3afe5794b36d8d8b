/* Recording a timeline. Read first: timeline.h. Read next: timeline_write.c. */
#include "core/timeline.h"

#include <stdio.h>
#include <string.h>

#define ENTRIES_MOST (UINT32_C(1) << 24)

/* ---- The context's own thread ---------------------------------------------------------------- */

/* Put `t`, or NULL, in the place of the context's timeline, which is released. */
static void replace(clump_context *c, clumpi_timeline *t) {
    clumpi_lock_take(&c->timeline_lock);
    clumpi_timeline *old = c->timeline;
    c->timeline = t;
    atomic_store(&c->has_timeline, t != NULL);
    clumpi_lock_give(&c->timeline_lock);
    if (!old) return;
    for (uint32_t i = 0; i < old->count; i++)
        if (old->entries[i].event) c->cl.ReleaseEvent(old->entries[i].event);
    clumpi_free(&c->allocator, old->queues);
    clumpi_free(&c->allocator, old->pools);
    clumpi_free(&c->allocator, old);
}

void clumpi_timeline_release(clump_context *c) {
    replace(c, NULL);
}

clump_status clump_context_record_timeline(clump_context *c, uint32_t capacity) {
    if (!c) return CLUMP_ERR_USAGE;
    if (capacity > ENTRIES_MOST)
        return clumpi_fail(
            &c->error, CLUMP_ERR_USAGE,
            "clump_context_record_timeline: %u entries are too many: at most %u can be recorded",
            capacity, ENTRIES_MOST);
    if (capacity && !c->current->has_profiling)
        return clumpi_fail(&c->error, CLUMP_ERR_USAGE,
                           "clump_context_record_timeline: profiling is not enabled on the "
                           "context's queue. Create it with CL_QUEUE_PROFILING_ENABLE");
    clumpi_timeline *t = NULL;
    if (capacity) {
        t = clumpi_alloc(&c->allocator, sizeof *t + capacity * sizeof *t->entries);
        if (!t)
            return clumpi_fail(&c->error, CLUMP_ERR_HOST_MEMORY,
                               "no host memory for a timeline of %u entries", capacity);
        t->capacity = capacity;
        t->to_device = INT64_MIN;
        t->begun = clumpi_now_ns();
    }
    replace(c, t);
    return CLUMP_OK;
}

int clumpi_timeline_has_room(const clump_context *c) {
    return c->timeline && c->current->has_profiling &&
           atomic_load(&c->timeline->count) < c->timeline->capacity;
}

/* The next entry, whose event it takes over; the lock is held. */
static void append(clump_context *c, clumpi_timeline *t, const clumpi_timeline_entry *entry) {
    const uint32_t count = atomic_load(&t->count);
    if (count == t->capacity) {
        t->dropped++;
        if (entry->event) c->cl.ReleaseEvent(entry->event);
        return;
    }
    t->entries[count] = *entry;
    atomic_store(&t->count, count + 1);
}

clump_status clumpi_timeline_add(clump_context *c, cl_kernel kernel, const char *what,
                                 uint64_t bytes, cl_event event) {
    if (!c->timeline) return CLUMP_OK;
    if (!c->current->has_profiling) event = NULL; /* it would have no times */
    char name[512];                               /* OpenCL C has no longer ones */
    snprintf(name, sizeof name, "%s", what);
    cl_int code = CL_SUCCESS;
    if (event && kernel)
        code = c->cl.GetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, sizeof name, name, NULL);
    if (code) return clumpi_fail_cl(&c->error, "clGetKernelInfo", code, "kernel %s", what);
    if (event) code = c->cl.RetainEvent(event);
    if (code) return clumpi_fail_cl(&c->error, "clRetainEvent", code, "%s, for the timeline", what);
    clumpi_timeline_entry entry = {
        .kind = kernel ? CLUMPI_TIMELINE_KERNEL : CLUMPI_TIMELINE_TRANSFER,
        .event = event,
        .queue = c->current->number,
        .to = clumpi_now_ns()};
    if (!kernel) entry.args[0] = (clumpi_timeline_arg){"bytes", bytes};
    snprintf(entry.name, sizeof entry.name, "%.*s", (int)sizeof entry.name - 1, name);
    clumpi_lock_take(&c->timeline_lock);
    if (event)
        append(c, c->timeline, &entry);
    else
        c->timeline->dropped++;
    clumpi_lock_give(&c->timeline_lock);
    return CLUMP_OK;
}

/* ---- Commands of others ---------------------------------------------------------------------- */

/* The number of a queue: one that the context knows, or a further one. */
static clump_status number_of(clump_context *c, cl_command_queue queue, uint32_t *number) {
    clumpi_timeline *t = c->timeline;
    for (const clumpi_queue *q = c->queues; q; q = q->next)
        if (q->queue == queue) {
            *number = q->number;
            return CLUMP_OK;
        }
    for (uint32_t i = 0; i < t->queue_count; i++)
        if (t->queues[i].queue == queue) {
            *number = t->queues[i].number;
            return CLUMP_OK;
        }
    clumpi_timeline_queue *more = clumpi_alloc(&c->allocator, (t->queue_count + 1) * sizeof *more);
    if (!more) return clumpi_fail(&c->error, CLUMP_ERR_HOST_MEMORY, "no host memory for a queue");
    if (t->queue_count) memcpy(more, t->queues, t->queue_count * sizeof *more);
    clumpi_free(&c->allocator, t->queues);
    t->queues = more;
    *number = c->queue_count++;
    t->queues[t->queue_count++] = (clumpi_timeline_queue){queue, *number};
    return CLUMP_OK;
}

clump_status clump_context_add_to_timeline(clump_context *c, const char *name, uint64_t bytes,
                                           cl_event event) {
    cl_command_queue queue = NULL;
    cl_command_queue_properties properties = 0;
    if (!c) return CLUMP_ERR_USAGE;
    if (!name || !event)
        return clumpi_fail(&c->error, CLUMP_ERR_USAGE,
                           "clump_context_add_to_timeline needs a name and an event");
    if (!c->timeline) return CLUMP_OK;
    cl_int code = c->cl.GetEventInfo(event, CL_EVENT_COMMAND_QUEUE, sizeof queue, &queue, NULL);
    if (!code && !queue)
        return clumpi_fail(&c->error, CLUMP_ERR_USAGE,
                           "clump_context_add_to_timeline: the event is a user event. Pass the "
                           "event of a command");
    if (!code)
        code = c->cl.GetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, sizeof properties, &properties,
                                         NULL);
    if (code)
        return clumpi_fail_cl(&c->error, "clGetEventInfo", code, "%s, for the timeline", name);
    clumpi_timeline_entry entry = {.kind = CLUMPI_TIMELINE_TRANSFER,
                                   .event = event,
                                   .to = clumpi_now_ns(),
                                   .args = {{"bytes", bytes}}};
    snprintf(entry.name, sizeof entry.name, "%s", name);
    const int is_timed = (properties & CL_QUEUE_PROFILING_ENABLE) != 0 &&
                         (properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) == 0;
    const clump_status status = is_timed ? number_of(c, queue, &entry.queue) : CLUMP_OK;
    if (status) return status;
    if (is_timed) code = c->cl.RetainEvent(event);
    if (code) return clumpi_fail_cl(&c->error, "clRetainEvent", code, "%s, for the timeline", name);
    clumpi_lock_take(&c->timeline_lock);
    if (is_timed)
        append(c, c->timeline, &entry);
    else
        c->timeline->dropped++;
    clumpi_lock_give(&c->timeline_lock);
    return CLUMP_OK;
}

/* ---- Spans ----------------------------------------------------------------------------------- */

uint32_t clumpi_timeline_begin(clump_context *c) {
    return c->timeline ? atomic_load(&c->timeline->count) : 0;
}

void clumpi_timeline_end(clump_context *c, uint32_t begun, const char *name,
                         const clumpi_timeline_arg *args) {
    if (!c->timeline) return;
    clumpi_timeline_entry entry = {
        .kind = CLUMPI_TIMELINE_SPAN, .first = begun, .queue = c->current->number};
    snprintf(entry.name, sizeof entry.name, "%s", name);
    if (args) memcpy(entry.args, args, sizeof entry.args);
    clumpi_lock_take(&c->timeline_lock);
    append(c, c->timeline, &entry);
    clumpi_lock_give(&c->timeline_lock);
}

/* ---- Any thread ------------------------------------------------------------------------------ */

/* Is the pool's name there, or can it be noted down? */
static int knows(clump_context *c, clumpi_timeline *t, uint32_t number, const char *name) {
    for (size_t i = t->pool_count; i-- > 0;)
        if (t->pools[i].number == number) return 1;
    if (!clumpi_grow(&c->allocator, &t->pools, &t->pool_capacity, t->pool_count + 1,
                     sizeof *t->pools))
        return 0;
    clumpi_timeline_pool_name *to = &t->pools[t->pool_count++];
    to->number = number;
    snprintf(to->name, sizeof to->name, "%.*s", (int)sizeof to->name - 1, name);
    return 1;
}

void clumpi_timeline_pool(clump_context *c, const char *pool_name,
                          const clumpi_timeline_entry *what) {
    clumpi_lock_take(&c->timeline_lock);
    clumpi_timeline *t = c->timeline;
    const int is_wanted = t && atomic_load(&t->count) < t->capacity &&
                          knows(c, t, what->pool, pool_name) &&
                          (!what->event || !c->cl.RetainEvent(what->event));
    if (is_wanted)
        append(c, t, what);
    else if (t)
        t->dropped++;
    clumpi_lock_give(&c->timeline_lock);
}
