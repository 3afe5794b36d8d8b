/* Pauses of the device between a frame's commands (Eichinger's thesis 4.4.2). Read first:
 * pool.h. */
#include <string.h>

#include "pool/pool.h"

/* The oldest frame has completed: note its longest pause. Its last one reaches to the frame after
 * it, so it is only known when that one has begun; it is counted with that one. Of a command whose
 * times are not known neither the pause before it is known nor the one after it; a frame of which
 * no pause is known does not count. Returns 0 if it has not completed. */
static int measure(clump_pool *p, clumpi_frame *frame) {
    uint64_t longest = 0, end = p->frame_last_end, latest = 0;
    int is_unknown = p->frame_end_unknown, is_measured = 0;
    for (size_t i = 0; i < frame->events.count; i++)
        if (!clumpi_event_is_complete(p, frame->events.list[i])) return 0;
    for (size_t i = 0; i < frame->events.count; i++) {
        clumpi_times t;
        const int is_known = clumpi_times_read(&p->cl, frame->events.list[i], 0, &t, NULL);
        if (is_known && !is_unknown) {
            if (end && t.start > end && t.start - end > longest) longest = t.start - end;
            is_measured = 1;
        }
        is_unknown = !is_known;
        if (t.end > end) end = t.end;
        if (t.end > latest) latest = t.end;
    }
    if (p->frame_last_end && is_measured) p->pauses[p->frames_seen++ % CLUMPI_FRAMES_MAX] = longest;
    /* Not what an earlier frame said: an end that was wrong would hide the pauses after it for
     * ever. */
    if (latest) p->frame_last_end = latest;
    p->frame_end_unknown = is_unknown;
    return 1;
}

static void poll_frames(clump_pool *p) {
    for (uint32_t n = 0; n < CLUMPI_FRAMES_MAX; n++) { /* from the oldest on */
        clumpi_frame *frame = &p->frames[(p->frame_at + n) % CLUMPI_FRAMES_MAX];
        if (!frame->events.count) continue;
        if (!measure(p, frame)) return;
        clumpi_events_clear(p, &frame->events);
    }
}

uint64_t clumpi_pauses_budget(clump_pool *p) {
    poll_frames(p);
    if (p->frames_seen < p->desc.pause_frames) return 0;
    uint64_t least = UINT64_MAX;
    for (uint64_t i = 1; i <= p->desc.pause_frames; i++) {
        uint64_t pause = p->pauses[(p->frames_seen - i) % CLUMPI_FRAMES_MAX];
        if (pause < least) least = pause;
    }
    return (uint64_t)(p->desc.pause_factor * (double)least);
}

void clumpi_frames_clear(clump_pool *p) {
    for (uint32_t i = 0; i < CLUMPI_FRAMES_MAX; i++) clumpi_events_clear(p, &p->frames[i].events);
}

static clump_status add_frame(clump_pool *p, cl_uint count, const cl_event *events) {
    if (!count != !events)
        return clumpi_fail(&p->error, CLUMP_ERR_USAGE,
                           "clump_pool_end_frame: set both `count` and `events`, or neither");
    if (!count) return CLUMP_OK;
    cl_ulong queued = 0;
    cl_int code = p->cl.GetEventProfilingInfo(events[0], CL_PROFILING_COMMAND_QUEUED, sizeof queued,
                                              &queued, NULL);
    if (code && code != CL_PROFILING_INFO_NOT_AVAILABLE)
        return clumpi_fail_cl(&p->error, "clGetEventProfilingInfo", code, "is it a valid event?");
    clumpi_events copy = {0};
    if (!clumpi_grow(&p->allocator, &copy.list, &copy.capacity, count, sizeof *copy.list))
        return clumpi_fail(&p->error, CLUMP_ERR_HOST_MEMORY, "no host memory for a frame's events");
    for (cl_uint i = 0; i < count; i++) {
        code = p->cl.RetainEvent(events[i]);
        if (code) {
            clumpi_events_clear(p, &copy);
            return clumpi_fail_cl(&p->error, "clRetainEvent", code, "event %u of a frame", i);
        }
        copy.list[copy.count++] = events[i];
    }
    poll_frames(p);
    clumpi_frame *frame = &p->frames[p->frame_at];
    clumpi_events_clear(p, &frame->events); /* never looked at in 64 frames */
    frame->events = copy;
    p->frame_at = (p->frame_at + 1) % CLUMPI_FRAMES_MAX;
    return CLUMP_OK;
}

clump_status clump_pool_end_frame(clump_pool *pool, cl_uint count, const cl_event *events) {
    clump_pool *p = clumpi_pool_enter(pool);
    if (!p) return CLUMP_ERR_USAGE;
    clump_status status = add_frame(p, count, events);
    if (!status) clumpi_trace(p, "e\n");
    if (!status) status = clumpi_trace_status(p);
    clumpi_pool_leave(p);
    return status;
}
