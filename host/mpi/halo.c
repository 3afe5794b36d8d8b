/* Edges of neighbours (mpi.h): read from the device, sent, received, and written to the device. See
 * world.h.
 *
 * Invariant: the host's copies are not touched between begin and end, nor before the writes of the
 * last end are done.
 */
#include <stdlib.h>
#include <string.h>

#include "mpi/world.h"

struct clump_halo {
    clump_world *world;
    clump_halo_desc desc; /* without bytes where there is no neighbour */
    int tags;
    char *sent, *received; /* all directions one after the other */
    clumpi_messages messages;
    cl_event written; /* after it all writes of the last end are done; NULL: none is under way */
    int is_begun;
};

/* ---- Lifetime -------------------------------------------------------------------------------- */

static int is_within(uint64_t at, uint64_t bytes, uint64_t all) {
    return bytes <= all && at <= all - bytes;
}

static clump_status check(clump_halo *halo, uint64_t *sent, uint64_t *received) {
    clump_world *world = halo->world;
    clump_halo_desc *d = &halo->desc;
    size_t send_all = 0, receive_all = 0;
    cl_int code = CL_SUCCESS;
    *sent = *received = 0;
    if (d->send) code = clGetMemObjectInfo(d->send, CL_MEM_SIZE, sizeof send_all, &send_all, NULL);
    if (d->receive && !code)
        code = clGetMemObjectInfo(d->receive, CL_MEM_SIZE, sizeof receive_all, &receive_all, NULL);
    if (code) return clumpi_world_fail_cl(world, "clGetMemObjectInfo", code);
    for (uint32_t i = 0; i < CLUMP_WORLD_DIRECTIONS_MAX; i++) {
        if (i >= world->place.directions || world->place.neighbours[i] < 0)
            d->send_bytes[i] = d->receive_bytes[i] = 0;
        if ((d->send_bytes[i] && !is_within(d->send_at[i], d->send_bytes[i], send_all)) ||
            (d->receive_bytes[i] && !is_within(d->receive_at[i], d->receive_bytes[i], receive_all)))
            return clumpi_world_fail(
                world, CLUMP_ERR_USAGE,
                "clump_halo_create: direction %u is not valid: %llu bytes from byte %llu on are "
                "sent from a buffer of %zu, and %llu from %llu on are received in a buffer of %zu",
                i, (unsigned long long)d->send_bytes[i], (unsigned long long)d->send_at[i],
                send_all, (unsigned long long)d->receive_bytes[i],
                (unsigned long long)d->receive_at[i], receive_all);
        *sent += d->send_bytes[i];
        *received += d->receive_bytes[i];
    }
    return CLUMP_OK;
}

static clump_status make_halo(clump_world *world, const clump_halo_desc *desc, clump_halo **halo) {
    uint64_t sent = 0, received = 0;
    if (halo) *halo = NULL;
    if (!world) return CLUMP_ERR_USAGE;
    if (!desc || !halo)
        return clumpi_world_fail(world, CLUMP_ERR_USAGE,
                                 "clump_halo_create needs a desc and a pointer for the halo");
    clump_halo *h = calloc(1, sizeof *h);
    if (!h) return clumpi_world_fail(world, CLUMP_ERR_HOST_MEMORY, "no host memory for a halo");
    h->world = world;
    clump_status status = CLUMPI_TAKE(clump_halo_desc, &h->desc, desc, &world->error);
    if (!status) status = clumpi_world_use(world);
    if (!status) status = check(h, &sent, &received);
    if (!status) status = clumpi_world_take_tags(world, &h->tags);
    if (!status) {
        h->sent = malloc(sent + 1);
        h->received = malloc(received + 1);
        if (!h->sent || !h->received)
            status = clumpi_world_fail(world, CLUMP_ERR_HOST_MEMORY,
                                       "no host memory for %llu and %llu bytes",
                                       (unsigned long long)sent, (unsigned long long)received);
    }
    if (status) {
        free(h->sent);
        free(h->received);
        free(h);
        return status;
    }
    if (h->desc.send) clRetainMemObject(h->desc.send);
    if (h->desc.receive) clRetainMemObject(h->desc.receive);
    *halo = h;
    return CLUMP_OK;
}

clump_status clump_halo_create(clump_world *world, const clump_halo_desc *desc, clump_halo **halo,
                               clump_error *error) {
    clump_status status = make_halo(world, desc, halo);
    return clumpi_world_tell(world, status, error);
}

static void wait_for_writes(clump_halo *halo) {
    if (!halo->written) return;
    clWaitForEvents(1, &halo->written);
    clReleaseEvent(halo->written);
    halo->written = NULL;
}

void clump_halo_destroy(clump_halo *halo) {
    if (!halo) return;
    if (halo->is_begun && !halo->world->is_broken)
        (void)clumpi_messages_wait(halo->world, &halo->messages, "clump_halo_destroy");
    wait_for_writes(halo);
    if (halo->desc.send) clReleaseMemObject(halo->desc.send);
    if (halo->desc.receive) clReleaseMemObject(halo->desc.receive);
    clumpi_messages_free(halo->world, &halo->messages);
    clumpi_world_free(halo->world, halo->sent);
    clumpi_world_free(halo->world, halo->received);
    free(halo);
}

/* ---- An exchange ----------------------------------------------------------------------------- */

static clump_status order(clump_world *world) {
    return clumpi_world_order(world, world->queue, world->is_out_of_order);
}

static clump_status read_edges(clump_halo *halo) {
    clump_world *world = halo->world;
    const clump_halo_desc *d = &halo->desc;
    cl_int code = CL_SUCCESS;
    uint64_t at = 0;
    uint32_t reads = 0;
    clump_status status = order(world);
    for (uint32_t i = 0; i < world->place.directions && !status && !code; i++) {
        if (!d->send_bytes[i]) continue;
        code = clEnqueueReadBuffer(world->queue, d->send, CL_FALSE, d->send_at[i], d->send_bytes[i],
                                   halo->sent + at, 0, NULL, NULL);
        at += d->send_bytes[i];
        reads++;
    }
    if (code) status = clumpi_world_fail_cl(world, "clEnqueueReadBuffer", code);
    if (!reads || status) return status;
    code = clFinish(world->queue);
    return code ? clumpi_world_fail_cl(world, "clFinish", code) : CLUMP_OK;
}

/* A neighbour that waits for an edge that cannot be read gets none: its deadline tells it, and this
 * world is broken. */
clump_status clump_halo_begin(clump_halo *halo) {
    if (!halo) return CLUMP_ERR_USAGE;
    clump_world *world = halo->world;
    const clump_halo_desc *d = &halo->desc;
    uint64_t at = 0;
    clump_status status = clumpi_world_use(world);
    if (status) return status;
    if (halo->is_begun)
        return clumpi_world_fail(world, CLUMP_ERR_USAGE,
                                 "clump_halo_begin: the halo has begun already, and has not ended");
    wait_for_writes(halo);
    for (uint32_t i = 0; i < world->place.directions && !status; i++) {
        status = clumpi_post_receive(world, &halo->messages, halo->received + at,
                                     d->receive_bytes[i], world->place.neighbours[i],
                                     halo->tags + (int)clumpi_opposite(world, i));
        at += d->receive_bytes[i];
    }
    halo->is_begun = 1;
    if (!status) status = read_edges(halo);
    at = 0;
    for (uint32_t i = 0; i < world->place.directions && !status; i++) {
        status = clumpi_post_send(world, &halo->messages, halo->sent + at, d->send_bytes[i],
                                  world->place.neighbours[i], halo->tags + (int)i);
        at += d->send_bytes[i];
    }
    if (status) world->is_broken = 1;
    return status;
}

/* The writes were enqueued out of order: one that is the last to be done is made, and what comes
 * next waits for it. */
static clump_status order_writes(clump_halo *halo) {
    clump_world *world = halo->world;
    cl_event all = NULL;
    const cl_int code = clEnqueueBarrierWithWaitList(world->queue, 0, NULL, &all);
    if (code) {
        (void)clFinish(world->queue);
        return clumpi_world_fail_cl(world, "clEnqueueBarrierWithWaitList", code);
    }
    clReleaseEvent(halo->written);
    halo->written = all;
    return CLUMP_OK;
}

/* Nothing was received where the world ends on all sides. */
static clump_status give_event(clump_halo *halo, const clump_sync *sync) {
    clump_world *world = halo->world;
    if (!halo->written) {
        const cl_int code = clEnqueueMarkerWithWaitList(world->queue, sync->wait_count,
                                                        sync->wait_list, sync->event);
        return code ? clumpi_world_fail_cl(world, "clEnqueueMarkerWithWaitList", code) : CLUMP_OK;
    }
    const cl_int code = clRetainEvent(halo->written);
    if (code) return clumpi_world_fail_cl(world, "clRetainEvent", code);
    *sync->event = halo->written;
    return CLUMP_OK;
}

clump_status clump_halo_end(clump_halo *halo, const clump_sync *sync) {
    if (!halo) return CLUMP_ERR_USAGE;
    clump_world *world = halo->world;
    const clump_halo_desc *d = &halo->desc;
    cl_int code = CL_SUCCESS;
    uint64_t at = 0;
    clump_status status = clumpi_world_use(world);
    if (status) return status;
    if (!halo->is_begun)
        return clumpi_world_fail(world, CLUMP_ERR_USAGE, "clump_halo_end: the halo has not begun");
    if (sync && !sync->wait_count != !sync->wait_list)
        return clumpi_world_fail(world, CLUMP_ERR_USAGE,
                                 "clump_halo_end: set both wait_count and wait_list, or neither");
    (void)clFlush(world->queue); /* what runs meanwhile */
    status = clumpi_messages_wait(world, &halo->messages, "clump_halo_end");
    if (status) return status;
    halo->is_begun = 0;
    status = order(world);
    for (uint32_t i = 0; i < world->place.directions && !status && !code; i++) {
        if (!d->receive_bytes[i]) continue;
        if (halo->written) clReleaseEvent(halo->written);
        halo->written = NULL;
        code = clEnqueueWriteBuffer(world->queue, d->receive, CL_FALSE, d->receive_at[i],
                                    d->receive_bytes[i], halo->received + at,
                                    sync ? sync->wait_count : 0, sync ? sync->wait_list : NULL,
                                    &halo->written);
        at += d->receive_bytes[i];
    }
    const int is_ordered = !world->is_out_of_order || !halo->written;
    if (code) {
        if (!is_ordered) (void)clFinish(world->queue);
        return clumpi_world_fail_cl(world, "clEnqueueWriteBuffer", code);
    }
    if (!status && !is_ordered) status = order_writes(halo);
    return !status && sync && sync->event ? give_event(halo, sync) : status;
}
