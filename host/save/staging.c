/* Transfers of pieces (staging.h). Read first: staging.h. */
#include "save/staging.h"

#define SUMS_ALIGN 64u
#define GROUP 64u

static const char *const kernel_files[] = {"cl/core/layout.h", "cl/save/hash.h", "cl/save/sums.cl"};
static const char *const kernel_names[] = {CLUMPI_SAVE_KERNELS(CLUMPI_KERNEL_NAME)};
const clumpi_library clumpi_save_library = CLUMPI_LIBRARY(NULL, NULL);

static const char what[] = "pieces of a saved heap";

/* ---- The two queues -------------------------------------------------------------------------- */

/* What is enqueued from here on goes to the lane; gives the queue of the kernels, for turn_back(). */
static clumpi_queue *turn_to(clump_context *c, const clumpi_lane *lane) {
    clumpi_queue *kernels = c->on;
    c->on = lane->queue;
    return kernels;
}

static void turn_back(clump_context *c, clumpi_queue *kernels) {
    c->on = kernels;
}

static clump_status flush(clump_context *c) {
    cl_int code = c->cl.Flush(c->on->queue); /* else it begins when somebody waits for it */
    return code ? clumpi_fail_cl(&c->error, "clFlush", code, "%s", what) : CLUMP_OK;
}

/* What is enqueued from here on waits for the event, unless it is NULL. */
static clump_status wait_on_device(clump_context *c, cl_event event) {
    if (!event) return CLUMP_OK;
    return clumpi_sync_begin(c, &(clump_sync){.wait_count = 1, .wait_list = &event});
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

/* A queue's unmapping comes after its transfers, so each has the memory that it moves to and from. */
static clump_status open_lane(clump_context *c, clumpi_lane *lane, uint32_t most) {
    clump_status status = clumpi_queue_create(c, &lane->queue);
    if (status) return status;
    clumpi_queue *kernels = turn_to(c, lane);
    status = clumpi_transfer_memory(c, CLUMPI_PLACES / CLUMPI_LANES * aligned(most), what,
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

static clump_status open_place(clumpi_staging *s, uint32_t number, uint32_t most) {
    clump_context *c = s->context;
    clumpi_staged *place = &s->places[number];
    place->lane = &s->lanes[number % CLUMPI_LANES];
    place->memory = (uint8_t *)place->lane->mapped + number / CLUMPI_LANES * aligned(most);
    place->host_sums =
        (uint64_t *)(void *)((uint8_t *)s->sums_mapped + number * aligned(sums_bytes(most)));
    clump_status status = clumpi_buffer_create(c, most, what, &place->values);
    return status ? status : clumpi_buffer_create(c, sums_bytes(most), what, &place->sums);
}

clump_status clumpi_staging_open(clumpi_staging *s, clump_context *c, uint32_t most) {
    *s = (clumpi_staging){.context = c};
    clump_status status = clumpi_transfer_memory(c, CLUMPI_PLACES * aligned(sums_bytes(most)), what,
                                                 &s->sums, &s->sums_mapped);
    for (uint32_t i = 0; i < CLUMPI_LANES && !status; i++)
        status = open_lane(c, &s->lanes[i], most);
    for (uint32_t i = 0; i < CLUMPI_PLACES && !status; i++) status = open_place(s, i, most);
    return status;
}

void clumpi_staging_close(clumpi_staging *s) {
    clump_context *c = s->context;
    if (!c) return;
    const clump_error error = c->error; /* keep the cause */
    for (uint32_t i = 0; i < CLUMPI_PLACES; i++) (void)clumpi_staged_wait(s, &s->places[i]);
    c->error = error;
    for (uint32_t i = 0; i < CLUMPI_PLACES; i++) {
        forget(c, &s->places[i].used);
        clumpi_buffer_release(c, &s->places[i].sums);
        clumpi_buffer_release(c, &s->places[i].values);
    }
    clumpi_transfer_memory_release(c, &s->sums, s->sums_mapped);
    for (uint32_t i = 0; i < CLUMPI_LANES; i++) close_lane(c, &s->lanes[i]);
    s->context = NULL;
}

/* ---- Pieces ---------------------------------------------------------------------------------- */

/* A work-item for each chunk, in groups that compilers for CPUs make vectors of. Their sums go to the host. */
static clump_status sum(clump_context *c, clumpi_staged *place, uint32_t bytes) {
    const size_t groups = (clumpi_chunks(bytes) + GROUP - 1) / GROUP;
    const clumpi_u32 count = bytes;
    const clumpi_arg args[] = {{sizeof place->values, &place->values},
                               {sizeof count, &count},
                               {sizeof place->sums, &place->sums}};
    clump_status status =
        clumpi_run_kernel(c, CLUMPI_SAVE_KERNEL(save_sums), groups * GROUP, GROUP, args, 3, NULL);
    if (!status)
        status = clumpi_read_start(c, place->sums, 0, sums_bytes(bytes), place->host_sums,
                                   &place->summed);
    return status ? status : flush(c);
}

clump_status clumpi_staged_read(clumpi_staging *s, clumpi_staged *place, uint32_t bytes) {
    clump_context *c = s->context;
    clump_status status = clumpi_staged_used(s, place); /* gathered */
    if (!status) status = sum(c, place, bytes);
    if (status) return status;
    clumpi_queue *kernels = turn_to(c, place->lane);
    status = wait_on_device(c, place->used);
    if (!status)
        status = clumpi_read_start(c, place->values, 0, bytes, place->memory, &place->moved);
    if (!status) status = flush(c);
    turn_back(c, kernels);
    return status;
}

clump_status clumpi_staged_write(clumpi_staging *s, clumpi_staged *place, uint32_t bytes) {
    clump_context *c = s->context;
    clumpi_queue *kernels = turn_to(c, place->lane);
    clump_status status = wait_on_device(c, place->used);
    if (!status)
        status = clumpi_write_start(c, place->values, 0, bytes, place->memory, &place->moved);
    if (!status) status = flush(c);
    turn_back(c, kernels);
    if (!status) status = wait_on_device(c, place->moved);
    return status ? status : sum(c, place, bytes);
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
