/* Transfers of pieces (staging.h). Read first: staging.h. */
#include "save/staging.h"

#define SUMS_ALIGN 64u
#define GROUP 64u
#define KEPT_SHARE 256u /* of the device's memory */

static const char *const kernel_files[] = {"cl/core/layout.h", "cl/save/hash.h", "cl/save/sums.cl"};
static const char *const kernel_names[] = {CLUMPI_SAVE_KERNELS(CLUMPI_KERNEL_NAME)};
const clumpi_library clumpi_save_library = CLUMPI_LIBRARY(NULL, NULL);

static const char what[] = "pieces of a saved heap";

/* ---- The two queues -------------------------------------------------------------------------- */

/* What is enqueued from here on goes to the lane; gives the queue of the kernels, for
 * turn_back(). */
static clumpi_queue *turn_to(clump_context *c, const clumpi_lane *lane) {
    clumpi_queue *kernels = c->current;
    c->current = lane->queue;
    return kernels;
}

static void turn_back(clump_context *c, clumpi_queue *kernels) {
    c->current = kernels;
}

static clump_status flush(clump_context *c) {
    cl_int code = c->cl.Flush(c->current->queue); /* else it begins when somebody waits for it */
    return code ? clumpi_fail_cl(&c->error, "clFlush", code, "%s", what) : CLUMP_OK;
}

static void forget(clump_context *c, cl_event *event) {
    if (*event) c->cl.ReleaseEvent(*event);
    *event = NULL;
}

/* ---- Begin and end --------------------------------------------------------------------------- */

static uint64_t aligned(uint64_t bytes) {
    return (bytes + SUMS_ALIGN - 1) / SUMS_ALIGN * SUMS_ALIGN;
}

static uint64_t sums_bytes(uint32_t bytes) {
    return (uint64_t)clumpi_chunks(bytes) * sizeof(clumpi_u64);
}

/* Of a piece with its sums. */
static uint64_t all_bytes(uint32_t bytes) {
    return aligned(bytes) + aligned(sums_bytes(bytes));
}

/* A queue's unmapping comes after its transfers, so each has the memory that it moves to and
 * from. */
static clump_status open_lane(clump_context *c, clumpi_lane *lane, uint32_t most) {
    clump_status status = clumpi_queue_create(c, &lane->queue);
    if (status) return status;
    clumpi_queue *kernels = turn_to(c, lane);
    status = clumpi_transfer_memory(c, CLUMPI_PLACES / CLUMPI_LANES * all_bytes(most), what,
                                    &lane->memory, &lane->mapped);
    turn_back(c, kernels);
    return status;
}

static void close_lane(clump_context *c, clumpi_lane *lane) {
    if (!lane->queue) return;
    clumpi_queue *kernels = turn_to(c, lane);
    clumpi_transfer_memory_release(c, &lane->memory, lane->mapped);
    turn_back(c, kernels);
    clumpi_queue_release(c, lane->queue);
}

static clump_status open_lanes(clumpi_staging *s, uint32_t most) {
    clump_status status = CLUMP_OK;
    s->most = most;
    for (uint32_t i = 0; i < CLUMPI_LANES && !status; i++)
        status = open_lane(s->context, &s->lanes[i], most);
    return status;
}

static void open_places(clumpi_staging *s) {
    for (uint32_t i = 0; i < CLUMPI_PLACES; i++) {
        clumpi_staged *place = &s->places[i];
        place->lane = &s->lanes[i % CLUMPI_LANES];
        place->memory = (uint8_t *)place->lane->mapped + i / CLUMPI_LANES * all_bytes(s->most);
    }
}

/* On the device. */
static clump_status open_values(clumpi_staging *s) {
    clump_status status = CLUMP_OK;
    for (uint32_t i = 0; i < CLUMPI_PLACES && !status; i++)
        status = clumpi_buffer_create(s->context, all_bytes(s->most), what, &s->places[i].values);
    return status;
}

static void close_places(clumpi_staging *s) {
    clump_context *c = s->context;
    for (uint32_t i = 0; i < CLUMPI_PLACES; i++) {
        forget(c, &s->places[i].used);
        clumpi_buffer_release(c, &s->places[i].values);
    }
    s->first = s->count = 0;
}

static void destroy(clump_context *c, clumpi_staging *s) {
    if (!s) return;
    close_places(s);
    for (uint32_t i = 0; i < CLUMPI_LANES; i++) close_lane(c, &s->lanes[i]);
    clumpi_free(&c->allocator, s);
}

/* ---- What the context keeps ------------------------------------------------------------------ */

static const char key;

typedef struct kept {
    clumpi_attachment base;  /* of the context */
    clumpi_staging *staging; /* that nobody uses; NULL: there is none */
} kept;

static void release_kept(clumpi_attachment *base, clump_context *c) {
    destroy(c, ((kept *)base)->staging);
    clumpi_free(&c->allocator, base);
}

/* NULL without host memory. */
static kept *kept_of(clump_context *c) {
    return clumpi_attachment_keep(&c->attachments, c, &key, sizeof(kept), release_kept);
}

/* That of the context if it is large enough, else a new one. */
static clump_status find_or_make(clump_context *c, uint32_t most, clumpi_staging **staging) {
    kept *k = kept_of(c);
    clumpi_staging *s = k ? k->staging : NULL;
    *staging = NULL;
    if (k) k->staging = NULL;
    if (!s || s->most < most) {
        destroy(c, s);
        s = k ? clumpi_alloc(&c->allocator, sizeof *s) : NULL;
        if (!s) return clumpi_fail(&c->error, CLUMP_ERR_HOST_MEMORY, "no host memory for %s", what);
        s->context = c;
        clump_status status = open_lanes(s, most);
        if (status) {
            destroy(c, s);
            return status;
        }
    }
    *staging = s;
    return CLUMP_OK;
}

clump_status clumpi_staging_open_host(clump_context *c, uint32_t most, clumpi_staging **staging) {
    const clump_status status = find_or_make(c, most, staging);
    if (!status) open_places(*staging);
    return status;
}

clump_status clumpi_staging_open(clump_context *c, uint32_t most, clumpi_staging **staging) {
    clump_status status = clumpi_staging_open_host(c, most, staging);
    if (!status) status = open_values(*staging);
    if (!status) return CLUMP_OK;
    clumpi_staging_close(*staging, 0);
    *staging = NULL;
    return status;
}

void clumpi_staging_close(clumpi_staging *s, int is_good) {
    if (!s) return;
    clump_context *c = s->context;
    const clump_error error = c->error; /* keep the cause */
    for (uint32_t i = 0; i < CLUMPI_PLACES; i++) is_good &= !clumpi_staged_wait(s, &s->places[i]);
    c->error = error;
    close_places(s);
    kept *k = kept_of(c); /* it is there */
    if (is_good && !k->staging &&
        CLUMPI_PLACES * all_bytes(s->most) <= c->capabilities.memory_bytes / KEPT_SHARE)
        k->staging = s;
    else
        destroy(c, s);
}

/* ---- Pieces ---------------------------------------------------------------------------------- */

/* A work-item for each chunk, in groups that compilers for CPUs make vectors of. Begins after
 * `after`, unless that is NULL; place->used is its end. */
static clump_status sum(clump_context *c, clumpi_staged *place, uint32_t bytes, cl_event after) {
    const size_t groups = (clumpi_chunks(bytes) + GROUP - 1) / GROUP;
    const clumpi_u32 count = bytes;
    const clumpi_u64 at = aligned(bytes);
    const clumpi_arg args[] = {
        {sizeof place->values, &place->values}, {sizeof count, &count}, {sizeof at, &at}};
    const clump_sync sync = {
        .wait_count = after != NULL, .wait_list = after ? &after : NULL, .event = &place->used};
    place->host_sums = (uint64_t *)(void *)(place->memory + at);
    forget(c, &place->used);
    clump_status status =
        clumpi_run_kernel(c, CLUMPI_SAVE_KERNEL(save_sums), groups * GROUP, GROUP, args, 3, &sync);
    return status ? status : flush(c);
}

/* From byte `at` on, of the piece with its sums, to the same byte of the host's memory, after
 * place->used. */
static clump_status read_back(clump_context *c, clumpi_staged *place, uint64_t at, uint64_t bytes,
                              cl_event *event) {
    clumpi_queue *kernels = turn_to(c, place->lane);
    clump_status status =
        clumpi_read_start(c, place->values, at, bytes, place->memory + at, place->used, event);
    if (!status) status = flush(c);
    turn_back(c, kernels);
    return status;
}

clump_status clumpi_staged_read(clumpi_staging *s, clumpi_staged *place, uint32_t bytes) {
    clump_status status = sum(s->context, place, bytes, NULL);
    return status
               ? status
               : read_back(s->context, place, 0, aligned(bytes) + sums_bytes(bytes), &place->moved);
}

clump_status clumpi_staged_write(clumpi_staging *s, clumpi_staged *place, uint32_t bytes) {
    clump_context *c = s->context;
    clumpi_queue *kernels = turn_to(c, place->lane);
    clump_status status =
        clumpi_write_start(c, place->values, 0, bytes, place->memory, place->used, &place->moved);
    if (!status) status = flush(c);
    turn_back(c, kernels);
    if (!status) status = sum(c, place, bytes, place->moved);
    return status ? status : read_back(c, place, aligned(bytes), sums_bytes(bytes), &place->summed);
}

clump_status clumpi_staged_wait(clumpi_staging *s, clumpi_staged *place) {
    const clump_status moved = clumpi_transfer_wait(s->context, &place->moved);
    const clump_status summed = clumpi_transfer_wait(s->context, &place->summed);
    return moved ? moved : summed;
}

clump_status clumpi_staged_used(clumpi_staging *s, clumpi_staged *place) {
    forget(s->context, &place->used);
    return clumpi_sync_end(s->context, &(clump_sync){.event = &place->used});
}
