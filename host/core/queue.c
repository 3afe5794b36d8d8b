/* The queues of a context, and the order of what is enqueued on several of them.
 *
 * Invariant: `current` is in the list of queues, and so is the queue of each clumpi_order. A queue
 * is in the list as long as it is `own`, or
 * `current`, or something was last used on it; one of the library's own is not in it. What an order
 * is of has all its commands on that queue, or before a command there that waits for them. If it is
 * not the queue's last user, and there were several queues when the next one came, `done` is of its
 * commands alone and of what was in the queue before.
 *
 * Read first: core.h, commands.c.
 */
#include "core/core.h"

/* ---- Queues ---------------------------------------------------------------------------------- */

static clumpi_queue *find(const clump_context *c, cl_command_queue queue) {
    clumpi_queue *q = c->queues;
    while (q && q->queue != queue) q = q->next;
    return q;
}

/* Fill in what is known of a queue, if it is of the context's cl_context and device. */
static clump_status look_at(clump_context *c, clumpi_queue *q) {
    cl_context owner = NULL;
    cl_device_id device = NULL;
    cl_command_queue_properties properties = 0;
    cl_int code = c->cl.GetCommandQueueInfo(q->queue, CL_QUEUE_CONTEXT, sizeof owner, &owner, NULL);
    if (!code)
        code = c->cl.GetCommandQueueInfo(q->queue, CL_QUEUE_DEVICE, sizeof device, &device, NULL);
    if (!code)
        code = c->cl.GetCommandQueueInfo(q->queue, CL_QUEUE_PROPERTIES, sizeof properties,
                                         &properties, NULL);
    if (code)
        return clumpi_fail_cl(&c->error, "clGetCommandQueueInfo", code, "is it a valid queue?");
    if (owner != c->context)
        return clumpi_fail(&c->error, CLUMP_ERR_USAGE,
                           "the queue belongs to another cl_context than the clump_context");
    if (device != c->device)
        return clumpi_fail(&c->error, CLUMP_ERR_USAGE,
                           "the queue belongs to another device than the clump_context");
    q->in_order = !(properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    q->has_profiling = (properties & CL_QUEUE_PROFILING_ENABLE) != 0;
    return CLUMP_OK;
}

/* A queue that is in the list then; it has no user yet. */
static clump_status add(clump_context *c, cl_command_queue queue, clumpi_queue **added) {
    clumpi_queue seen = {.queue = queue, .number = c->queue_count};
    clump_status status = look_at(c, &seen);
    if (status) return status;
    clumpi_queue *q = clumpi_alloc(&c->allocator, sizeof *q);
    if (!q) return clumpi_fail(&c->error, CLUMP_ERR_HOST_MEMORY, "no host memory for a queue");
    cl_int code = c->cl.RetainCommandQueue(queue);
    if (code) {
        clumpi_free(&c->allocator, q);
        return clumpi_fail_cl(&c->error, "clRetainCommandQueue", code, "not a queue");
    }
    *q = seen;
    q->next = c->queues;
    c->queues = *added = q;
    c->queue_count++;
    return CLUMP_OK;
}

static void unuse(clump_context *c, clumpi_queue *q) {
    if (!q || --q->users) return;
    clumpi_queue **at = &c->queues;
    while (*at != q) at = &(*at)->next;
    *at = q->next;
    if (q->last) c->cl.ReleaseEvent(q->last);
    c->cl.ReleaseCommandQueue(q->queue);
    clumpi_free(&c->allocator, q);
}

clump_status clumpi_queue_create(clump_context *c, clumpi_queue **made) {
    const cl_command_queue_properties properties =
        c->own->has_profiling ? CL_QUEUE_PROFILING_ENABLE : 0;
    cl_int code = CL_SUCCESS;
    clumpi_queue *q = *made = clumpi_alloc(&c->allocator, sizeof *q);
    if (!q) return clumpi_fail(&c->error, CLUMP_ERR_HOST_MEMORY, "no host memory for a queue");
    *q = (clumpi_queue){
        .in_order = 1, .has_profiling = c->own->has_profiling, .number = c->queue_count++};
    q->queue = c->cl.CreateCommandQueue(c->context, c->device, properties, &code);
    if (!code) return CLUMP_OK;
    clumpi_free(&c->allocator, q);
    *made = NULL;
    return clumpi_fail_cl(&c->error, "clCreateCommandQueue", code, "for transfers");
}

void clumpi_queue_release(clump_context *c, clumpi_queue *q) {
    if (!q) return;
    c->cl.ReleaseCommandQueue(q->queue);
    clumpi_free(&c->allocator, q);
}

clump_status clumpi_queues_open(clump_context *c, cl_command_queue queue) {
    clump_status status = add(c, queue, &c->own);
    if (status) return status;
    c->current = c->own;
    c->info = (clump_context_info){&c->capabilities, c->own->queue};
    c->own->users = 2;
    return CLUMP_OK;
}

void clumpi_queues_close(clump_context *c) {
    unuse(c, c->current);
    unuse(c, c->own);
}

clump_status clump_context_set_queue(clump_context *c, cl_command_queue queue) {
    if (!c) return CLUMP_ERR_USAGE;
    clumpi_queue *q = queue ? find(c, queue) : c->own;
    clump_status status = q ? CLUMP_OK : add(c, queue, &q);
    if (status) return status;
    q->users++;
    unuse(c, c->current);
    c->current = q;
    c->info.queue = q->queue;
    return CLUMP_OK;
}

/* ---- Orders ---------------------------------------------------------------------------------- */

/* What is in an order's queue now, as an event. */
static clump_status mark(clump_context *c, clumpi_order *order) {
    clumpi_queue *q = order->queue;
    if (order->done) return CLUMP_OK;
    cl_int code = c->cl.EnqueueMarkerWithWaitList(q->queue, q->last ? 1 : 0,
                                                  q->last ? &q->last : NULL, &order->done);
    if (!code) return CLUMP_OK;
    order->done = NULL;
    return clumpi_fail_cl(&c->error, "clEnqueueMarkerWithWaitList", code, "order of queues");
}

static void forget_mark(clump_context *c, clumpi_order *order) {
    if (order->done) c->cl.ReleaseEvent(order->done);
    order->done = NULL;
}

/* The queue in use waits for the order's commands on another one. */
static clump_status wait_for(clump_context *c, clumpi_order *order) {
    clump_status status = mark(c, order);
    if (status) return status;
    cl_int code = c->cl.Flush(order->queue->queue); /* else nobody might, while this one waits */
    if (code) return clumpi_fail_cl(&c->error, "clFlush", code, "order of queues");
    return clumpi_sync_begin(c, &(clump_sync){.wait_count = 1, .wait_list = &order->done});
}

static void leave(clump_context *c, clumpi_order *order) {
    forget_mark(c, order);
    if (order->queue && order->queue->user == order) order->queue->user = NULL;
    unuse(c, order->queue);
    order->queue = NULL;
}

clump_status clumpi_order_change(clump_context *c, clumpi_order *order) {
    clumpi_order *before = c->current->user;
    clump_status status = CLUMP_OK;
    /* Where there is another queue, who used this one before may go there, and is not to wait for
     * what comes now. */
    if (before && before != order && c->queues->next) status = mark(c, before);
    if (!status && order->queue && order->queue != c->current) status = wait_for(c, order);
    if (status) return status;
    c->current->users++;
    leave(c, order);
    order->queue = c->current;
    c->current->user = order;
    return CLUMP_OK;
}

clump_status clumpi_order_finish(clump_context *c, clumpi_order *order) {
    if (!order->queue) return CLUMP_OK;
    cl_int code = c->cl.Finish(order->queue->queue);
    leave(c, order);
    if (code)
        return clumpi_fail_cl(&c->error, "clFinish", code,
                              "a command that was enqueued earlier failed");
    return CLUMP_OK;
}
