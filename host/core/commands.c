/* Commands on the queue: launches, transfers, buffers of the library's own, waiting.
 *
 * Invariant: on an out-of-order queue `last` is the event of the last command enqueued, and every
 * command waits for it; on an in-order queue `last` stays NULL.
 *
 * Read first: core.h.
 */
#include "core/timeline.h"

clump_status clumpi_sync_check(clump_context *c, const clump_sync *sync, const char *call) {
    if (sync && !sync->wait_count != !sync->wait_list)
        return clumpi_fail(&c->error, CLUMP_ERR_USAGE,
                           "%s: set both wait_count and wait_list, or neither", call);
    return CLUMP_OK;
}

/* Below 0: the error that ended the command. */
static clump_status state_of(clump_context *c, cl_event event, cl_int *state) {
    cl_int code =
        c->cl.GetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof *state, state, NULL);
    return code ? clumpi_fail_cl(&c->error, "clGetEventInfo", code, "the state of a command")
                : CLUMP_OK;
}

clump_status clumpi_sync_outcome(clump_context *c, const clump_sync *sync) {
    for (cl_uint i = 0; sync && i < sync->wait_count; i++) {
        cl_int state = CL_COMPLETE;
        clump_status status = state_of(c, sync->wait_list[i], &state);
        if (!status && state < 0)
            status = clumpi_fail_cl(&c->error, "the wait list", state,
                                    "its event %u belongs to a command that failed, so the "
                                    "commands that waited for it did not run",
                                    i);
        if (status) return status;
    }
    return CLUMP_OK;
}

/* Does a command need an event, for the order or for the timeline? */
static int needs_event(const clump_context *c) {
    return !c->current->in_order || clumpi_timeline_has_room(c);
}

/* On an out-of-order queue: remember the event as the one to wait for. Takes over `event`. */
static void remember(clump_context *c, cl_event event) {
    if (c->current->last) c->cl.ReleaseEvent(c->current->last);
    c->current->last = event;
}

/* A command on a queue out of order that was ended by an error would end all that come later. */
static clump_status forget_failed(clump_context *c) {
    cl_int state = CL_COMPLETE;
    clump_status status = c->current->last ? state_of(c, c->current->last, &state) : CLUMP_OK;
    if (!status && state < 0) remember(c, NULL);
    return status;
}

/* The user's wait list must be joined with `last` where the queue does not keep the order. */
static clump_status wait_for_user(clump_context *c, const clump_sync *sync) {
    if (c->current->in_order) return CLUMP_OK;
    clump_status status = forget_failed(c);
    if (status || !sync || !sync->wait_count) return status;
    cl_event all = NULL;
    cl_int code =
        c->cl.EnqueueMarkerWithWaitList(c->current->queue, sync->wait_count, sync->wait_list, &all);
    if (code) return clumpi_fail_cl(&c->error, "clEnqueueMarkerWithWaitList", code, "wait list");
    cl_event both[2] = {all, c->current->last}, joined = NULL;
    code =
        c->cl.EnqueueMarkerWithWaitList(c->current->queue, c->current->last ? 2 : 1, both, &joined);
    c->cl.ReleaseEvent(all);
    if (code) return clumpi_fail_cl(&c->error, "clEnqueueMarkerWithWaitList", code, "wait list");
    remember(c, joined);
    return CLUMP_OK;
}

/* A transfer was enqueued, with an event if it needs one. */
static clump_status transferred(clump_context *c, const char *what, uint64_t bytes,
                                cl_event event) {
    clump_status status = clumpi_timeline_add(c, NULL, what, bytes, event);
    if (!c->current->in_order)
        remember(c, event);
    else if (event)
        c->cl.ReleaseEvent(event);
    return status;
}

clump_status clumpi_sync_begin(clump_context *c, const clump_sync *sync) {
    if (!c->current->in_order) return wait_for_user(c, sync);
    if (!sync || !sync->wait_count) return CLUMP_OK;
    cl_int code =
        c->cl.EnqueueMarkerWithWaitList(c->current->queue, sync->wait_count, sync->wait_list, NULL);
    if (code) return clumpi_fail_cl(&c->error, "clEnqueueMarkerWithWaitList", code, "wait list");
    return CLUMP_OK;
}

clump_status clumpi_sync_end(clump_context *c, const clump_sync *sync) {
    clump_status status = clumpi_sync_outcome(c, sync);
    if (status || !sync || !sync->event) return status;
    /* On a queue in order it names the user's events again, so that it fails with them. */
    const cl_event *list = c->current->last ? &c->current->last : sync->wait_list;
    const cl_uint count = c->current->last ? 1 : sync->wait_count;
    cl_int code =
        c->cl.EnqueueMarkerWithWaitList(c->current->queue, count, count ? list : NULL, sync->event);
    if (code) return clumpi_fail_cl(&c->error, "clEnqueueMarkerWithWaitList", code, "event");
    return CLUMP_OK;
}

clump_status clumpi_enqueue(clump_context *c, cl_kernel kernel, const char *name,
                            clumpi_items items, const clump_sync *sync) {
    const size_t global[2] = {items.global, 1}, local[2] = {items.local, 1};
    clump_status status = wait_for_user(c, sync);
    if (status) return status;
    cl_event event = NULL;
    const int want = (sync && sync->event) || needs_event(c);
    cl_uint waits =
        c->current->in_order ? (sync ? sync->wait_count : 0) : (c->current->last ? 1 : 0);
    const cl_event *list =
        c->current->in_order ? (sync ? sync->wait_list : NULL) : &c->current->last;
    cl_int code =
        c->cl.EnqueueNDRangeKernel(c->current->queue, kernel, items.dimensions, NULL, global, local,
                                   waits, waits ? list : NULL, want ? &event : NULL);
    if (code)
        return clumpi_fail_cl(&c->error, "clEnqueueNDRangeKernel", code,
                              "kernel %s, %zu work-items in groups of %zu", name, items.global,
                              items.local);
    status = clumpi_timeline_add(c, kernel, name, 0, event);
    int is_users = !status && sync && sync->event;
    if (!c->current->in_order) {
        code = is_users ? c->cl.RetainEvent(event) : CL_SUCCESS;
        remember(c, event);
        if (code) return clumpi_fail_cl(&c->error, "clRetainEvent", code, "kernel %s", name);
    }
    if (is_users)
        *sync->event = event;
    else if (c->current->in_order && event)
        c->cl.ReleaseEvent(event);
    return status;
}

clump_status clumpi_read(clump_context *c, cl_mem buffer, uint64_t offset, uint64_t bytes,
                         void *data) {
    if (bytes == 0) return CLUMP_OK;
    cl_event event = NULL;
    cl_int code = c->cl.EnqueueReadBuffer(
        c->current->queue, buffer, CL_TRUE, offset, bytes, data, c->current->last ? 1 : 0,
        c->current->last ? &c->current->last : NULL, clumpi_timeline_has_room(c) ? &event : NULL);
    if (code)
        return clumpi_fail_cl(&c->error, "clEnqueueReadBuffer", code, "%llu bytes at %llu",
                              (unsigned long long)bytes, (unsigned long long)offset);
    clump_status status = clumpi_timeline_add(c, NULL, "read", bytes, event);
    if (event) c->cl.ReleaseEvent(event);
    return status;
}

clump_status clumpi_write(clump_context *c, cl_mem buffer, uint64_t offset, uint64_t bytes,
                          const void *data) {
    if (bytes == 0) return CLUMP_OK;
    cl_event event = NULL;
    cl_int code = c->cl.EnqueueWriteBuffer(c->current->queue, buffer, CL_TRUE, offset, bytes, data,
                                           c->current->last ? 1 : 0,
                                           c->current->last ? &c->current->last : NULL, &event);
    if (code)
        return clumpi_fail_cl(&c->error, "clEnqueueWriteBuffer", code, "%llu bytes at %llu",
                              (unsigned long long)bytes, (unsigned long long)offset);
    clump_status status = clumpi_timeline_add(c, NULL, "write", bytes, event);
    /* A blocking write of less than 512 bytes does not block on queues of Intel's CPU runtime
     * 2026.22 (docs/portability.md), and the next command may be on another queue. So its event is
     * waited for. */
    code = c->cl.WaitForEvents(1, &event);
    c->cl.ReleaseEvent(event);
    if (code) return clumpi_fail_cl(&c->error, "clWaitForEvents", code, "a write");
    return status;
}

/* The event of a transfer that was started is the caller's, and on an out-of-order queue what comes
 * next waits for it, too. */
static clump_status started(clump_context *c, const char *what, uint64_t bytes, cl_event *event) {
    cl_int code = c->cl.RetainEvent(*event);
    if (code) {
        c->cl.ReleaseEvent(*event);
        *event = NULL;
        (void)c->cl.Finish(c->current->queue); /* it uses memory of the caller's */
        return clumpi_fail_cl(&c->error, "clRetainEvent", code, "%s", what);
    }
    return transferred(c, what, bytes, *event);
}

/* What a transfer waits for: `after`, unless that is NULL, and what comes before it. */
static cl_uint list_before(const clump_context *c, cl_event after, cl_event list[2]) {
    cl_uint count = 0;
    if (after) list[count++] = after;
    if (c->current->last) list[count++] = c->current->last;
    return count;
}

clump_status clumpi_read_start(clump_context *c, cl_mem buffer, uint64_t offset, uint64_t bytes,
                               void *data, cl_event after, cl_event *event) {
    cl_event list[2];
    const cl_uint waits = list_before(c, after, list);
    *event = NULL;
    cl_int code = c->cl.EnqueueReadBuffer(c->current->queue, buffer, CL_FALSE, offset, bytes, data,
                                          waits, waits ? list : NULL, event);
    if (code)
        return clumpi_fail_cl(&c->error, "clEnqueueReadBuffer", code, "%llu bytes at %llu",
                              (unsigned long long)bytes, (unsigned long long)offset);
    return started(c, "read", bytes, event);
}

clump_status clumpi_write_start(clump_context *c, cl_mem buffer, uint64_t offset, uint64_t bytes,
                                const void *data, cl_event after, cl_event *event) {
    cl_event list[2];
    const cl_uint waits = list_before(c, after, list);
    *event = NULL;
    cl_int code = c->cl.EnqueueWriteBuffer(c->current->queue, buffer, CL_FALSE, offset, bytes, data,
                                           waits, waits ? list : NULL, event);
    if (code)
        return clumpi_fail_cl(&c->error, "clEnqueueWriteBuffer", code, "%llu bytes at %llu",
                              (unsigned long long)bytes, (unsigned long long)offset);
    return started(c, "write", bytes, event);
}

clump_status clumpi_transfer_wait(clump_context *c, cl_event *event) {
    if (!*event) return CLUMP_OK;
    cl_int code = c->cl.WaitForEvents(1, event);
    c->cl.ReleaseEvent(*event);
    *event = NULL;
    return code ? clumpi_fail_cl(&c->error, "clWaitForEvents", code, "a transfer") : CLUMP_OK;
}

/* NVIDIA's fill has been seen to fail or hang from 2 GiB on (inducer/pyopencl issue 395): of so
 * many bytes, and, in pieces, from there on in a buffer. */
#define CLEAR_BYTES_MOST (UINT64_C(256) << 20)
#define FILL_END (UINT64_C(2) << 30)

static clump_status fill_piece(clump_context *c, cl_mem buffer, uint64_t offset, uint64_t bytes,
                               uint32_t word) {
    /* A pattern of 16 bytes is filled in twice as fast as one of 4 on an H200. */
    const uint32_t words[4] = {word, word, word, word};
    const size_t pattern = (offset | bytes) % sizeof words ? sizeof word : sizeof words;
    cl_event event = NULL;
    cl_int code = c->cl.EnqueueFillBuffer(
        c->current->queue, buffer, words, pattern, offset, bytes, c->current->last ? 1 : 0,
        c->current->last ? &c->current->last : NULL, needs_event(c) ? &event : NULL);
    if (code)
        return clumpi_fail_cl(&c->error, "clEnqueueFillBuffer", code, "%llu bytes at %llu",
                              (unsigned long long)bytes, (unsigned long long)offset);
    return transferred(c, "fill", bytes, event);
}

static uint64_t least(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

/* What is beyond the place where fills end is copied from what is zero by then. */
clump_status clumpi_clear(clump_context *c, cl_mem buffer, uint64_t offset, uint64_t bytes) {
    static const uint32_t zeros[1024];
    const uint64_t filled = offset < FILL_END ? least(bytes, FILL_END - offset) : 0;
    clump_status status = CLUMP_OK;
    uint64_t done = 0, piece;
    for (; done < filled && !status; done += piece) {
        piece = least(filled - done, CLEAR_BYTES_MOST);
        status = fill_piece(c, buffer, offset + done, piece, 0);
    }
    if (!done && bytes && !status) {
        done = least(bytes, sizeof zeros);
        status = clumpi_write(c, buffer, offset, done, zeros);
    }
    for (; done < bytes && !status; done += piece) {
        piece = least(least(bytes - done, done), CLEAR_BYTES_MOST);
        status = clumpi_copy(c, buffer, offset, buffer, offset + done, piece);
    }
    return status;
}

clump_status clumpi_set_word(clump_context *c, cl_mem buffer, uint64_t offset, uint32_t word) {
    return fill_piece(c, buffer, offset, sizeof word, word);
}

clump_status clumpi_copy(clump_context *c, cl_mem from, uint64_t from_offset, cl_mem to,
                         uint64_t to_offset, uint64_t bytes) {
    cl_event event = NULL;
    cl_int code = c->cl.EnqueueCopyBuffer(
        c->current->queue, from, to, from_offset, to_offset, bytes, c->current->last ? 1 : 0,
        c->current->last ? &c->current->last : NULL, needs_event(c) ? &event : NULL);
    if (code)
        return clumpi_fail_cl(&c->error, "clEnqueueCopyBuffer", code, "%llu bytes",
                              (unsigned long long)bytes);
    return transferred(c, "copy", bytes, event);
}

clump_status clumpi_buffer_create(clump_context *c, uint64_t bytes, const char *what,
                                  cl_mem *buffer) {
    cl_int code = CL_SUCCESS;
    *buffer = c->cl.CreateBuffer(c->context, CL_MEM_READ_WRITE, bytes, NULL, &code);
    if (!code) return CLUMP_OK;
    *buffer = NULL;
    return clumpi_fail_cl(&c->error, "clCreateBuffer", code, "%llu bytes for %s",
                          (unsigned long long)bytes, what);
}

clump_status clumpi_buffer_check(clump_context *c, cl_mem buffer, const char *what, size_t *bytes) {
    cl_context owner = NULL;
    cl_int code = c->cl.GetMemObjectInfo(buffer, CL_MEM_CONTEXT, sizeof owner, &owner, NULL);
    if (!code) code = c->cl.GetMemObjectInfo(buffer, CL_MEM_SIZE, sizeof *bytes, bytes, NULL);
    if (code) return clumpi_fail_cl(&c->error, "clGetMemObjectInfo", code, "%s", what);
    if (owner == c->context) return CLUMP_OK;
    return clumpi_fail(&c->error, CLUMP_ERR_USAGE,
                       "the %s belongs to another cl_context than the heap. Make it in the "
                       "cl_context of the queue",
                       what);
}

void clumpi_buffer_release(clump_context *c, cl_mem *buffer) {
    if (*buffer) c->cl.ReleaseMemObject(*buffer);
    *buffer = NULL;
}

clump_status clumpi_transfer_memory(clump_context *c, uint64_t bytes, const char *what,
                                    cl_mem *buffer, void **memory) {
    cl_int code = CL_SUCCESS;
    *memory = NULL;
    *buffer = c->cl.CreateBuffer(c->context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, bytes, NULL,
                                 &code);
    if (code) {
        *buffer = NULL;
        return clumpi_fail_cl(&c->error, "clCreateBuffer", code,
                              "%llu bytes of memory for transfers of %s", (unsigned long long)bytes,
                              what);
    }
    *memory = c->cl.EnqueueMapBuffer(c->current->queue, *buffer, CL_TRUE,
                                     CL_MAP_READ | CL_MAP_WRITE, 0, bytes, 0, NULL, NULL, &code);
    if (!code) return CLUMP_OK;
    *memory = NULL;
    clumpi_buffer_release(c, buffer);
    return clumpi_fail_cl(&c->error, "clEnqueueMapBuffer", code,
                          "%llu bytes of memory for transfers of %s", (unsigned long long)bytes,
                          what);
}

void clumpi_transfer_memory_release(clump_context *c, cl_mem *buffer, void *memory) {
    if (*buffer && memory)
        (void)c->cl.EnqueueUnmapMemObject(c->current->queue, *buffer, memory, 0, NULL, NULL);
    clumpi_buffer_release(c, buffer);
}

clump_status clumpi_finish(clump_context *c) {
    cl_int code = c->cl.Finish(c->current->queue);
    if (code)
        return clumpi_fail_cl(&c->error, "clFinish", code,
                              "a command that was enqueued earlier failed");
    return CLUMP_OK;
}
