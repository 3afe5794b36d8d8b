/* Edges of neighbours (mpi.h): read from the device, sent, received, and written to the device. See
 * world.h.
 *
 * Transfers are on a queue of the halo, so that writes do not wait for kernels that run meanwhile.
 * Commands of the world's queue and of this one are ordered by events: reads come after all that
 * was enqueued before the begin, and what is enqueued after the end comes after the writes.
 *
 * A message is the bytes of a part, in pieces. With `delta` it begins with a head. A delta may be
 * shorter than the part, and then its last pieces are empty, so the receiver knows how many there
 * are. In the first exchange ranks compare what they send and expect.
 *
 * Invariant: the pinned memory is not touched between begin and end, nor before the writes of the
 * last end are done.
 */
#include <stdlib.h>
#include <string.h>

#include "clump/timeline.h"
#include "mpi/delta.h"
#include "mpi/pinned.h"

#define PIECE_BYTES (UINT64_C(1) << 20)
#define MAGIC 0x6f6c6148u /* "Halo" */
#define ALIGN 64u

/* What a rank sends in a direction, told once. */
typedef struct hello {
    uint32_t magic, delta;
    uint64_t bytes;
} hello;

/* Before the bytes of a message, with `delta`. */
typedef struct head {
    uint32_t magic;
    uint32_t changed; /* elements, or CLUMPI_HALO_WHOLE: the part follows, and not a stream */
    uint64_t number;  /* of the exchange: the first one is 0 */
    uint64_t bytes;   /* that follow */
} head;

/* Messages of a direction, one way. */
typedef struct lane {
    uint64_t at;      /* in the pinned memory */
    uint64_t bytes;   /* of the longest message, with its head. 0: there is none */
    uint64_t arrived; /* in this exchange */
    int pieces;
    int first; /* of the pieces in the list of messages */
    int missing;
} lane;

struct clump_halo {
    clump_world *world;
    clump_halo_desc desc; /* without bytes where there is no neighbour */
    int tags;
    cl_command_queue queue;
    clumpi_pinned sent, received;
    lane out[CLUMP_WORLD_DIRECTIONS_MAX], in[CLUMP_WORLD_DIRECTIONS_MAX];
    cl_event *reads; /* of each piece that is sent */
    clumpi_delta delta;
    uint64_t piece_bytes;
    struct hellos {
        hello out[CLUMP_WORLD_DIRECTIONS_MAX], in[CLUMP_WORLD_DIRECTIONS_MAX];
    } * hellos;
    clumpi_messages greetings, incoming, outgoing;
    cl_event *writes; /* of the last end: all are done after the last one */
    int write_count;  /* 0: none is under way */
    int is_begun;
    clump_halo_info info;
};

/* ---- Lifetime -------------------------------------------------------------------------------- */

static int is_within(uint64_t at, uint64_t bytes, uint64_t all) {
    return bytes <= all && at <= all - bytes;
}

static clump_status check(clump_halo *halo) {
    clump_world *world = halo->world;
    clump_halo_desc *d = &halo->desc;
    size_t send_all = 0, receive_all = 0;
    cl_int code = CL_SUCCESS;
    if (d->send) code = clGetMemObjectInfo(d->send, CL_MEM_SIZE, sizeof send_all, &send_all, NULL);
    if (d->receive && !code)
        code = clGetMemObjectInfo(d->receive, CL_MEM_SIZE, sizeof receive_all, &receive_all, NULL);
    if (code) return clumpi_world_fail_cl(world, "clGetMemObjectInfo", code);
    for (uint32_t i = 0; i < CLUMP_WORLD_DIRECTIONS_MAX; i++) {
        if (i >= world->place.directions || world->place.neighbours[i] < 0)
            d->send_at[i] = d->send_bytes[i] = d->receive_at[i] = d->receive_bytes[i] = 0;
        if ((d->send_bytes[i] && !is_within(d->send_at[i], d->send_bytes[i], send_all)) ||
            (d->receive_bytes[i] && !is_within(d->receive_at[i], d->receive_bytes[i], receive_all)))
            return clumpi_world_fail(
                world, CLUMP_ERR_USAGE,
                "clump_halo_create: direction %u is not valid: %llu bytes from byte %llu on are "
                "sent from a buffer of %zu, and %llu from %llu on are received in a buffer of %zu",
                i, (unsigned long long)d->send_bytes[i], (unsigned long long)d->send_at[i],
                send_all, (unsigned long long)d->receive_bytes[i],
                (unsigned long long)d->receive_at[i], receive_all);
    }
    return CLUMP_OK;
}

/* Returns how much pinned memory the lanes need. */
static uint64_t place_lanes(const clump_halo *halo, lane *lanes, const uint64_t *bytes,
                            int *pieces) {
    uint64_t at = 0;
    *pieces = 0;
    for (uint32_t i = 0; i < CLUMP_WORLD_DIRECTIONS_MAX; i++) {
        if (!bytes[i]) continue;
        lane *l = &lanes[i];
        l->at = at;
        l->bytes = bytes[i] + (halo->desc.delta ? sizeof(head) : 0);
        l->first = *pieces;
        l->pieces = (int)((l->bytes + halo->piece_bytes - 1) / halo->piece_bytes);
        *pieces += l->pieces;
        at += (l->bytes + ALIGN - 1) / ALIGN * ALIGN;
    }
    return at;
}

static clump_status open_memory(clump_halo *h) {
    clump_world *world = h->world;
    int pieces;
    const uint64_t sent = place_lanes(h, h->out, h->desc.send_bytes, &pieces);
    h->reads = calloc((size_t)pieces + 1, sizeof *h->reads);
    h->hellos = calloc(1, sizeof *h->hellos);
    const uint64_t received = place_lanes(h, h->in, h->desc.receive_bytes, &pieces);
    /* Those of pieces, and with `delta` a launch and copies. */
    h->writes = calloc((size_t)pieces + 1 + CLUMP_WORLD_DIRECTIONS_MAX, sizeof *h->writes);
    if (!h->reads || !h->writes || !h->hellos)
        return clumpi_world_fail(world, CLUMP_ERR_HOST_MEMORY, "no host memory for a halo");
    clump_status status = clumpi_pinned_open(world, &h->sent, sent);
    return status ? status : clumpi_pinned_open(world, &h->received, received);
}

static clump_status open_queue(clump_halo *h) {
    cl_device_id device;
    cl_int code =
        clGetCommandQueueInfo(h->world->queue, CL_QUEUE_DEVICE, sizeof device, &device, NULL);
    if (code) return clumpi_world_fail_cl(h->world, "clGetCommandQueueInfo", code);
    h->queue = clCreateCommandQueue(h->world->cl, device, CL_QUEUE_PROFILING_ENABLE, &code);
    if (!code) return CLUMP_OK;
    h->queue = NULL;
    return clumpi_world_fail_cl(h->world, "clCreateCommandQueue", code);
}

static clump_status make_halo(clump_world *world, const clump_halo_desc *desc, clump_halo **halo) {
    if (halo) *halo = NULL;
    if (!world) return CLUMP_ERR_USAGE;
    if (!desc || !halo)
        return clumpi_world_fail(world, CLUMP_ERR_USAGE,
                                 "clump_halo_create needs a desc and a pointer for the halo");
    clump_halo *h = calloc(1, sizeof *h);
    if (!h) return clumpi_world_fail(world, CLUMP_ERR_HOST_MEMORY, "no host memory for a halo");
    h->world = world;
    h->piece_bytes = world->message_bytes < PIECE_BYTES ? world->message_bytes : PIECE_BYTES;
    clump_status status = CLUMPI_TAKE(clump_halo_desc, &h->desc, desc, &world->error);
    if (!status) status = clumpi_world_use(world);
    if (!status) status = check(h);
    if (status) {
        free(h); /* its buffers are not retained yet */
        return status;
    }
    if (h->desc.send) clRetainMemObject(h->desc.send);
    if (h->desc.receive) clRetainMemObject(h->desc.receive);
    status = open_queue(h);
    if (!status) status = clumpi_delta_open(&h->delta, world, h->queue, &h->desc);
    if (!status) status = open_memory(h);
    if (!status) status = clumpi_world_take_tags(world, &h->tags);
    if (status) {
        const clump_error error = world->error;
        clump_halo_destroy(h);
        world->error = error;
        return status;
    }
    *halo = h;
    return CLUMP_OK;
}

clump_status clump_halo_create(clump_world *world, const clump_halo_desc *desc, clump_halo **halo,
                               clump_error *error) {
    clump_status status = make_halo(world, desc, halo);
    return clumpi_world_tell(world, status, error);
}

const clump_halo_info *clump_halo_get_info(const clump_halo *halo) {
    static const clump_halo_info none;
    return halo ? &halo->info : &none;
}

/* ---- Times ----------------------------------------------------------------------------------- */

/* Seconds of a command on the device. */
static double seconds(cl_event event) {
    cl_ulong start, end;
    if (clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof start, &start, NULL) ||
        clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof end, &end, NULL))
        return 0;
    return end > start ? (double)(end - start) * 1e-9 : 0;
}

/* For the timeline, if the context records one. */
static void show(const clump_halo *halo, const char *name, uint64_t bytes, cl_event event) {
    if (event) (void)clump_context_add_to_timeline(halo->world->context, name, bytes, event);
}

static void release_event(cl_event *event) {
    if (*event) clReleaseEvent(*event);
    *event = NULL;
}

static void wait_for_writes(clump_halo *halo) {
    const int n = halo->write_count, are_done = n && !clWaitForEvents(1, &halo->writes[n - 1]);
    for (int i = 0; i < n; i++) {
        if (are_done) halo->info.write_s += seconds(halo->writes[i]);
        release_event(&halo->writes[i]);
    }
    halo->write_count = 0;
}

void clump_halo_destroy(clump_halo *halo) {
    if (!halo) return;
    clump_world *world = halo->world;
    clumpi_messages *lists[] = {&halo->greetings, &halo->incoming, &halo->outgoing};
    const double end = MPI_Wtime() + world->timeout_s;
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        if (halo->is_begun && !world->is_broken)
            (void)clumpi_messages_wait_until(world, lists[i], end, "clump_halo_destroy");
        clumpi_messages_free(world, lists[i]);
    }
    wait_for_writes(halo);
    clumpi_delta_close(&halo->delta);
    clumpi_pinned_close(world, &halo->sent);
    clumpi_pinned_close(world, &halo->received);
    if (halo->queue) clReleaseCommandQueue(halo->queue);
    if (halo->desc.send) clReleaseMemObject(halo->desc.send);
    if (halo->desc.receive) clReleaseMemObject(halo->desc.receive);
    clumpi_world_free(world, halo->hellos);
    free(halo->reads);
    free(halo->writes);
    free(halo);
}

/* ---- What ranks agree on --------------------------------------------------------------------- */

static int tag_of(const clump_halo *halo, int kind, uint32_t direction) {
    return halo->tags + kind * 32 + (int)direction;
}

static clump_status greet(clump_halo *halo) {
    clump_world *world = halo->world;
    clump_status status = CLUMP_OK;
    for (uint32_t i = 0; i < world->place.directions && !status; i++) {
        const int peer = world->place.neighbours[i];
        if (peer < 0) continue;
        halo->hellos->out[i] = (hello){MAGIC, halo->desc.delta, halo->desc.send_bytes[i]};
        status =
            clumpi_post_receive(world, &halo->greetings, &halo->hellos->in[i], sizeof(hello), peer,
                                tag_of(halo, CLUMPI_TAG_HEAD, clumpi_opposite(world, i)));
        if (!status)
            status = clumpi_post_send(world, &halo->greetings, &halo->hellos->out[i], sizeof(hello),
                                      peer, tag_of(halo, CLUMPI_TAG_HEAD, i));
    }
    return status;
}

static clump_status compare(clump_halo *halo, double end) {
    clump_world *world = halo->world;
    clump_status status =
        clumpi_messages_wait_until(world, &halo->greetings, end, "clump_halo_end");
    for (uint32_t i = 0; i < world->place.directions && !status; i++) {
        const hello *theirs = &halo->hellos->in[i];
        const uint64_t expected = halo->desc.receive_bytes[i];
        if (world->place.neighbours[i] < 0 ||
            (theirs->magic == MAGIC && theirs->bytes == expected &&
             theirs->delta == halo->desc.delta))
            continue;
        world->is_broken = 1;
        status = clumpi_world_fail(
            world, CLUMP_ERR_RANK,
            "clump_halo_end: rank %d sends %llu bytes with delta = %u, but rank %d expects %llu "
            "bytes with delta = %u from direction %u. Check that both ranks make the same halos",
            world->place.neighbours[i], (unsigned long long)theirs->bytes, theirs->delta,
            world->place.rank, (unsigned long long)expected, halo->desc.delta, i);
    }
    return status;
}

/* ---- Begin ----------------------------------------------------------------------------------- */

static clump_status expect(clump_halo *halo) {
    clump_world *world = halo->world;
    clump_status status = halo->info.exchanges ? CLUMP_OK : greet(halo);
    for (uint32_t i = 0; i < world->place.directions; i++) {
        lane *l = &halo->in[i];
        l->arrived = 0;
        l->missing = l->pieces;
        for (int k = 0; k < l->pieces && !status; k++) {
            const uint64_t at = (uint64_t)k * halo->piece_bytes, left = l->bytes - at;
            status = clumpi_post_one(world, &halo->incoming, halo->received.memory + l->at + at,
                                     left < halo->piece_bytes ? left : halo->piece_bytes,
                                     world->place.neighbours[i],
                                     tag_of(halo, CLUMPI_TAG_DATA, clumpi_opposite(world, i)),
                                     halo->desc.delta ? CLUMPI_UP_TO : CLUMPI_RECEIVED);
        }
    }
    return status;
}

/* What is enqueued on the halo's queue from now on comes after all that the world's queue has. */
static cl_int come_after(clump_halo *halo, const char **call) {
    cl_event before = NULL;
    *call = "clEnqueueMarkerWithWaitList";
    cl_int code = clEnqueueMarkerWithWaitList(halo->world->queue, 0, NULL, &before);
    if (code) return code;
    *call = "clFlush";
    code = clFlush(halo->world->queue);
    if (!code) {
        *call = "clEnqueueBarrierWithWaitList";
        code = clEnqueueBarrierWithWaitList(halo->queue, 1, &before, NULL);
    }
    clReleaseEvent(before);
    return code;
}

static cl_int find_differences(clump_halo *halo, const char **call) {
    if (!halo->info.exchanges) return clumpi_delta_keep(&halo->delta, halo->desc.send, call);
    cl_event packed = NULL;
    const cl_int code = clumpi_delta_encode(&halo->delta, &packed, call);
    if (packed && !code) halo->info.pack_s += seconds(packed);
    show(halo, "halo: compare", 0, packed);
    release_event(&packed);
    return code;
}

/* What a direction sends: from where on the device. Returns the bytes of the message. */
static uint64_t choose(clump_halo *halo, uint32_t i, cl_mem *from, uint64_t *at) {
    const clump_halo_desc *d = &halo->desc;
    const int p = halo->delta.sent.part_of[i];
    const uint32_t changed = p < 0 ? CLUMPI_HALO_WHOLE : halo->delta.sent.numbers[p];
    uint64_t bytes = d->send_bytes[i];
    *from = d->send;
    *at = d->send_at[i];
    if (changed != CLUMPI_HALO_WHOLE) {
        const clumpi_halo_part *part = &halo->delta.sent.table[p];
        bytes = clumpi_delta_bytes(&halo->delta, part, changed);
        *from = halo->delta.sent.streams;
        *at = part->stream_at * sizeof(clumpi_u32);
    }
    halo->info.parts++;
    halo->info.deltas += changed != CLUMPI_HALO_WHOLE;
    halo->info.bytes_whole += d->send_bytes[i];
    if (d->delta) {
        const head h = {MAGIC, changed, halo->info.exchanges, bytes};
        memcpy(halo->sent.memory + halo->out[i].at, &h, sizeof h);
        bytes += sizeof h;
    }
    halo->info.bytes_sent += bytes;
    return bytes;
}

/* The piece of a message of `all` bytes: where it begins, and how long it is. */
static uint64_t piece_of(const clump_halo *halo, int k, uint64_t all, uint64_t *at) {
    *at = (uint64_t)k * halo->piece_bytes;
    if (*at >= all) return 0;
    return all - *at < halo->piece_bytes ? all - *at : halo->piece_bytes;
}

/* Enqueue the reads of all pieces. Those without bytes of the device have no event. */
static cl_int read_pieces(clump_halo *halo, uint64_t *lengths, const char **call) {
    const uint64_t before = halo->desc.delta ? sizeof(head) : 0;
    cl_int code = CL_SUCCESS;
    *call = "clEnqueueReadBuffer";
    for (uint32_t i = 0; i < halo->world->place.directions && !code; i++) {
        const lane *l = &halo->out[i];
        cl_mem from;
        uint64_t from_at, at;
        if (!l->pieces) continue;
        lengths[i] = choose(halo, i, &from, &from_at);
        for (int k = 0; k < l->pieces && !code; k++) {
            const uint64_t end = piece_of(halo, k, lengths[i], &at) + at,
                           begin = at < before ? before : at;
            if (begin >= end) continue;
            code = clEnqueueReadBuffer(halo->queue, from, CL_FALSE, from_at + begin - before,
                                       end - begin, halo->sent.memory + l->at + begin, 0, NULL,
                                       &halo->reads[l->first + k]);
        }
    }
    if (code) return code;
    *call = "clFlush";
    return clFlush(halo->queue);
}

/* A piece is sent when it has been read, while others are. */
static clump_status send_pieces(clump_halo *halo, const uint64_t *lengths) {
    clump_world *world = halo->world;
    clump_status status = CLUMP_OK;
    for (uint32_t i = 0; i < world->place.directions; i++) {
        const lane *l = &halo->out[i];
        for (int k = 0; k < l->pieces && !status; k++) {
            uint64_t at;
            const uint64_t bytes = piece_of(halo, k, lengths[i], &at);
            cl_event read = halo->reads[l->first + k];
            const cl_int code = read ? clWaitForEvents(1, &read) : CL_SUCCESS;
            if (code) return clumpi_world_fail_cl(world, "clWaitForEvents", code);
            if (read) halo->info.read_s += seconds(read);
            show(halo, "halo: read", bytes, read);
            status = clumpi_post_one(world, &halo->outgoing, halo->sent.memory + l->at + at, bytes,
                                     world->place.neighbours[i], tag_of(halo, CLUMPI_TAG_DATA, i),
                                     CLUMPI_SENT);
        }
    }
    return status;
}

static clump_status send_edges(clump_halo *halo) {
    uint64_t lengths[CLUMP_WORLD_DIRECTIONS_MAX];
    int pieces = 0;
    const char *call = "";
    for (uint32_t i = 0; i < CLUMP_WORLD_DIRECTIONS_MAX; i++) pieces += halo->out[i].pieces;
    cl_int code = come_after(halo, &call);
    if (!code) code = find_differences(halo, &call);
    if (!code) code = read_pieces(halo, lengths, &call);
    clump_status status =
        code ? clumpi_world_fail_cl(halo->world, call, code) : send_pieces(halo, lengths);
    for (int k = 0; k < pieces; k++) release_event(&halo->reads[k]);
    return status;
}

/* A neighbour that waits for an edge that cannot be read gets none: its deadline tells it, and this
 * world is broken. */
clump_status clump_halo_begin(clump_halo *halo) {
    if (!halo) return CLUMP_ERR_USAGE;
    clump_world *world = halo->world;
    clump_status status = clumpi_world_use(world);
    if (status) return status;
    if (halo->is_begun)
        return clumpi_world_fail(world, CLUMP_ERR_USAGE,
                                 "clump_halo_begin: the halo has begun already, and has not ended");
    wait_for_writes(halo);
    halo->is_begun = 1;
    status = expect(halo);
    if (!status) status = send_edges(halo);
    if (status) world->is_broken = 1;
    return status;
}

/* ---- End ------------------------------------------------------------------------------------- */

/* Where an end is. The first failure of a write stays; messages are received nevertheless. */
typedef struct ending {
    const clump_sync *sync;
    cl_int code;
    const char *call;
    int is_gated; /* what the caller waits for comes before further writes */
    int is_lost;  /* the copy of what was received last is wrong */
} ending;

static void note(ending *e, cl_int code, const char *call) {
    if (e->code || !code) return;
    e->code = code;
    e->call = call;
}

static void note_write(clump_halo *halo, ending *e, cl_int code, const char *call, cl_event event,
                       const char *name, uint64_t bytes) {
    note(e, code, call);
    if (event) halo->writes[halo->write_count++] = event;
    show(halo, name, bytes, event);
}

/* Before the program's buffer is written. Returns whether it may be. */
static int gate(clump_halo *halo, ending *e) {
    if (!e->is_gated && e->sync && e->sync->wait_count)
        note(e,
             clEnqueueBarrierWithWaitList(halo->queue, e->sync->wait_count, e->sync->wait_list,
                                          NULL),
             "clEnqueueBarrierWithWaitList");
    e->is_gated = 1;
    return !e->code;
}

/* Bytes `at` .. of the message of a direction, to the device. */
static void write(clump_halo *halo, ending *e, uint32_t i, uint64_t at, cl_mem to, uint64_t to_at,
                  uint64_t bytes) {
    cl_event event = NULL;
    const int is_copy = to != halo->desc.receive;
    if (!is_copy && !gate(halo, e)) return;
    const cl_int code =
        clEnqueueWriteBuffer(halo->queue, to, CL_FALSE, to_at, bytes,
                             halo->received.memory + halo->in[i].at + at, 0, NULL, &event);
    e->is_lost |= is_copy && code;
    note_write(halo, e, code, "clEnqueueWriteBuffer", event, "halo: write", bytes);
}

/* A message that is too short has a part of an older head. */
static int is_right(const clump_halo *halo, uint32_t i, const head *h) {
    const int p = halo->delta.received.part_of[i];
    if (h->magic != MAGIC || h->number != halo->info.exchanges) return 0;
    if (halo->in[i].arrived != sizeof *h + h->bytes) return 0;
    if (h->changed == CLUMPI_HALO_WHOLE) return h->bytes == halo->desc.receive_bytes[i];
    if (p < 0 || !h->number) return 0;
    const clumpi_halo_part *part = &halo->delta.received.table[p];
    return h->changed <= part->most &&
           h->bytes == clumpi_delta_bytes(&halo->delta, part, h->changed);
}

/* A message with a head is there. */
static clump_status take_message(clump_halo *halo, ending *e, uint32_t i) {
    clump_world *world = halo->world;
    const lane *l = &halo->in[i];
    const int p = halo->delta.received.part_of[i];
    head h;
    memcpy(&h, halo->received.memory + l->at, sizeof h);
    if (!is_right(halo, i, &h)) {
        world->is_broken = 1;
        return clumpi_world_fail(
            world, CLUMP_ERR_RANK,
            "clump_halo_end: rank %d sent %llu bytes that rank %d cannot apply to the %llu bytes "
            "of exchange %llu from direction %u: the message is not whole, or is of another "
            "exchange. Check that both ranks make the same calls",
            world->place.neighbours[i], (unsigned long long)l->arrived, world->place.rank,
            (unsigned long long)halo->desc.receive_bytes[i],
            (unsigned long long)halo->info.exchanges, i);
    }
    if (p < 0) {
        write(halo, e, i, sizeof h, halo->desc.receive, halo->desc.receive_at[i], h.bytes);
        return CLUMP_OK;
    }
    const clumpi_halo_part *part = &halo->delta.received.table[p];
    halo->delta.received.numbers[p] = h.changed;
    if (h.changed == CLUMPI_HALO_WHOLE)
        write(halo, e, i, sizeof h, halo->delta.received.copy, part->copy_at * halo->desc.delta,
              h.bytes);
    else
        write(halo, e, i, sizeof h, halo->delta.received.streams,
              part->stream_at * sizeof(clumpi_u32), h.bytes);
    return CLUMP_OK;
}

static clump_status take_piece(clump_halo *halo, ending *e, int number) {
    uint32_t i = 0;
    while (number < halo->in[i].first || number >= halo->in[i].first + halo->in[i].pieces) i++;
    lane *l = &halo->in[i];
    const uint64_t at = (uint64_t)(number - l->first) * halo->piece_bytes,
                   bytes = (uint64_t)halo->incoming.bytes[number];
    l->arrived += bytes;
    l->missing--;
    if (!halo->desc.delta)
        write(halo, e, i, at, halo->desc.receive, halo->desc.receive_at[i] + at, bytes);
    return halo->desc.delta && !l->missing ? take_message(halo, e, i) : CLUMP_OK;
}

/* What changed is put into the copy, and the copy is what the program gets. */
static void unpack(clump_halo *halo, ending *e) {
    const clumpi_delta_side *side = &halo->delta.received;
    const char *call = "";
    if (!side->part_count) return;
    cl_event unpacked = NULL;
    const cl_int code = clumpi_delta_decode(&halo->delta, &unpacked, &call);
    e->is_lost |= code != CL_SUCCESS;
    note_write(halo, e, code, call, unpacked, "halo: apply", 0);
    for (uint32_t p = 0; p < side->part_count && gate(halo, e); p++) {
        const uint32_t i = side->directions[p];
        cl_event event = NULL;
        const cl_int copied = clEnqueueCopyBuffer(
            halo->queue, side->copy, halo->desc.receive, side->table[p].copy_at * halo->desc.delta,
            halo->desc.receive_at[i], halo->desc.receive_bytes[i], 0, NULL, &event);
        note_write(halo, e, copied, "clEnqueueCopyBuffer", event, "halo: copy",
                   halo->desc.receive_bytes[i]);
    }
}

static clump_status receive(clump_halo *halo, ending *e) {
    clump_world *world = halo->world;
    const double begin = MPI_Wtime(), end = begin + world->timeout_s;
    clump_status status = halo->info.exchanges ? CLUMP_OK : compare(halo, end);
    int count = 1;
    while (count && !status) {
        status = clumpi_messages_next(world, &halo->incoming, end, "clump_halo_end", &count);
        for (int j = 0; j < count && !status; j++)
            status = take_piece(halo, e, halo->incoming.done[j]);
        if (halo->write_count) (void)clFlush(halo->queue);
    }
    if (!status) status = clumpi_messages_wait_until(world, &halo->outgoing, end, "clump_halo_end");
    halo->info.wait_s += MPI_Wtime() - begin;
    return status;
}

/* What is enqueued on the world's queue from now on comes after the writes. */
static void come_before(clump_halo *halo, ending *e) {
    if (!halo->write_count) return;
    note(e, clFlush(halo->queue), "clFlush");
    note(e,
         clEnqueueBarrierWithWaitList(halo->world->queue, 1, &halo->writes[halo->write_count - 1],
                                      NULL),
         "clEnqueueBarrierWithWaitList");
}

/* Nothing was received where the world ends on all sides. */
static void give_event(clump_halo *halo, ending *e) {
    const clump_sync *sync = e->sync;
    if (!halo->write_count) {
        note(e,
             clEnqueueMarkerWithWaitList(halo->world->queue, sync->wait_count, sync->wait_list,
                                         sync->event),
             "clEnqueueMarkerWithWaitList");
        return;
    }
    cl_event last = halo->writes[halo->write_count - 1];
    const cl_int code = clRetainEvent(last);
    note(e, code, "clRetainEvent");
    if (!code) *sync->event = last;
}

clump_status clump_halo_end(clump_halo *halo, const clump_sync *sync) {
    if (!halo) return CLUMP_ERR_USAGE;
    clump_world *world = halo->world;
    ending e = {.sync = sync};
    clump_status status = clumpi_world_use(world);
    if (status) return status;
    if (!halo->is_begun)
        return clumpi_world_fail(world, CLUMP_ERR_USAGE, "clump_halo_end: the halo has not begun");
    if (sync && !sync->wait_count != !sync->wait_list)
        return clumpi_world_fail(world, CLUMP_ERR_USAGE,
                                 "clump_halo_end: set both wait_count and wait_list, or neither");
    (void)clFlush(world->queue); /* what runs meanwhile */
    status = receive(halo, &e);
    if (status) return status;
    unpack(halo, &e);
    halo->is_begun = 0;
    halo->info.exchanges++;
    come_before(halo, &e);
    if (!e.code && sync && sync->event) give_event(halo, &e);
    if (e.is_lost) world->is_broken = 1;
    return e.code ? clumpi_world_fail_cl(world, e.call, e.code) : CLUMP_OK;
}
