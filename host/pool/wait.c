/* Ranges that nobody owns any more but that commands still use. Read first: pool.h. */
#include "pool/pool.h"

int clumpi_event_is_complete(clump_pool *p, cl_event event) {
    cl_int state = CL_QUEUED;
    /* A command that failed, negative, does not use anything any more either. */
    if (p->cl.GetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL))
        return 0;
    return state <= CL_COMPLETE;
}

clump_status clumpi_pool_sync_check(clump_pool *p, const clump_sync *sync, const char *call) {
    if (sync && !sync->wait_count != !sync->wait_list)
        return clumpi_fail(&p->error, CLUMP_ERR_USAGE,
                           "%s: set both wait_count and wait_list, or neither", call);
    return CLUMP_OK;
}

/* A marker that names no events waits for all that is in its queue. */
clump_status clumpi_pool_mark(clump_pool *p, const clumpi_events *after, const clump_sync *sync) {
    const cl_event *list = after->count ? after->list : sync->wait_list;
    const cl_uint count = after->count ? (cl_uint)after->count : sync->wait_count;
    const cl_int code =
        p->cl.EnqueueMarkerWithWaitList(p->desc.queue, count, count ? list : NULL, sync->event);
    return code ? clumpi_fail_cl(&p->error, "clEnqueueMarkerWithWaitList", code, "event")
                : CLUMP_OK;
}

void clumpi_events_clear(clump_pool *p, clumpi_events *events) {
    for (size_t i = 0; i < events->count; i++) p->cl.ReleaseEvent(events->list[i]);
    clumpi_free(&p->allocator, events->list);
    *events = (clumpi_events){0};
}

clump_status clumpi_events_add(clump_pool *p, clumpi_events *events, cl_event event,
                               const char *what) {
    if (!clumpi_grow(&p->allocator, &events->list, &events->capacity, events->count + 1,
                     sizeof *events->list))
        return clumpi_fail(&p->error, CLUMP_ERR_HOST_MEMORY, "no host memory for an event");
    cl_int code = p->cl.RetainEvent(event);
    if (code) return clumpi_fail_cl(&p->error, "clRetainEvent", code, "%s", what);
    events->list[events->count++] = event;
    return CLUMP_OK;
}

static int all_complete(clump_pool *p, const clumpi_events *uses) {
    for (size_t i = 0; i < uses->count; i++)
        if (!clumpi_event_is_complete(p, uses->list[i])) return 0;
    return 1;
}

static uint64_t bytes_of(const clump_pool *p, const clumpi_chunk *chunk, uint32_t node) {
    return node ? (uint64_t)clumpi_node_at(&chunk->ranges, node)->size << p->unit_shift
                : chunk->bytes;
}

void clumpi_range_retire(clump_pool *p, clumpi_chunk *chunk, uint32_t node, clumpi_events *uses) {
    int is_free = all_complete(p, uses);
    if (!is_free && !clumpi_grow(&p->allocator, &p->waiting, &p->waiting_capacity,
                                 p->waiting_count + 1, sizeof *p->waiting)) {
        p->cl.WaitForEvents((cl_uint)uses->count, uses->list); /* nowhere to note it down */
        is_free = 1;
    }
    if (is_free) {
        clumpi_events_clear(p, uses);
        clumpi_chunk_give(p, chunk, node);
        return;
    }
    if (node)
        clumpi_node_at(&chunk->ranges, node)->user_data = NULL;
    else
        chunk->cursor = 0;
    p->stats.waiting_bytes += bytes_of(p, chunk, node);
    p->waiting[p->waiting_count++] = (clumpi_waiting){chunk, node, *uses};
    *uses = (clumpi_events){0};
}

void clumpi_waiting_poll(clump_pool *p) {
    for (size_t i = p->waiting_count; i-- > 0;) {
        clumpi_waiting w = p->waiting[i];
        if (!all_complete(p, &w.uses)) continue;
        clumpi_events_clear(p, &w.uses);
        p->waiting[i] = p->waiting[--p->waiting_count];
        p->stats.waiting_bytes -= bytes_of(p, w.chunk, w.node);
        clumpi_chunk_give(p, w.chunk, w.node);
    }
}
