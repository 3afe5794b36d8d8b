/* Transfers of pieces (staging.h). Read first: staging.h. */
#include "save/staging.h"

#define SUMS_ALIGN 64u
#define GROUP 64u

static const char *const kernel_files[] = {"cl/core/layout.h", "cl/save/hash.h", "cl/save/sums.cl"};
static const char *const kernel_names[] = {CLUMPI_SAVE_KERNELS(CLUMPI_KERNEL_NAME)};
const clumpi_library clumpi_save_library = CLUMPI_LIBRARY(NULL, NULL);

static uint64_t sums_bytes(uint32_t bytes) {
    return (uint64_t)clumpi_chunks(bytes) * sizeof(clumpi_u64);
}

static clump_status open_place(clump_context *c, clumpi_staged *place, uint32_t most) {
    static const char what[] = "a piece of a saved heap";
    const uint64_t sums_at = ((uint64_t)most + SUMS_ALIGN - 1) / SUMS_ALIGN * SUMS_ALIGN;
    void *memory = NULL;
    clump_status status = clumpi_buffer_create(c, most, what, &place->values);
    if (!status) status = clumpi_buffer_create(c, sums_bytes(most), what, &place->sums);
    if (!status)
        status =
            clumpi_transfer_memory(c, sums_at + sums_bytes(most), what, &place->buffer, &memory);
    if (status) return status;
    place->memory = memory;
    place->host_sums = (uint64_t *)(void *)(place->memory + sums_at);
    return CLUMP_OK;
}

clump_status clumpi_staging_open(clumpi_staging *staging, clump_context *c, uint32_t most) {
    *staging = (clumpi_staging){.context = c};
    clump_status status = open_place(c, &staging->places[0], most);
    return status ? status : open_place(c, &staging->places[1], most);
}

void clumpi_staging_close(clumpi_staging *staging) {
    clump_context *c = staging->context;
    if (!c) return;
    const clump_error error = c->error; /* keep the cause */
    for (int i = 0; i < 2; i++) (void)clumpi_staged_wait(c, &staging->places[i]);
    c->error = error;
    for (int i = 0; i < 2; i++) {
        clumpi_staged *place = &staging->places[i];
        clumpi_transfer_memory_release(c, &place->buffer, place->memory);
        clumpi_buffer_release(c, &place->sums);
        clumpi_buffer_release(c, &place->values);
    }
    staging->context = NULL;
}

/* A work-item for each chunk, in groups that compilers for CPUs make vectors of. */
static clump_status compute_sums(clump_context *c, clumpi_staged *place, uint32_t bytes) {
    const size_t groups = (clumpi_chunks(bytes) + GROUP - 1) / GROUP;
    const clumpi_u32 count = bytes;
    const clumpi_arg args[] = {{sizeof place->values, &place->values},
                               {sizeof count, &count},
                               {sizeof place->sums, &place->sums}};
    return clumpi_run_kernel(c, CLUMPI_SAVE_KERNEL(save_sums), groups * GROUP, GROUP, args, 3,
                             NULL);
}

static clump_status read_sums(clump_context *c, clumpi_staged *place, uint32_t bytes) {
    clump_status status =
        clumpi_read_start(c, place->sums, 0, sums_bytes(bytes), place->host_sums, &place->moved[1]);
    if (status) return status;
    cl_int code = c->cl.Flush(c->on->queue); /* else it begins when somebody waits for it */
    return code ? clumpi_fail_cl(&c->error, "clFlush", code, "a piece of a saved heap") : CLUMP_OK;
}

clump_status clumpi_staged_read(clump_context *c, clumpi_staged *place, uint32_t bytes) {
    clump_status status = compute_sums(c, place, bytes);
    if (!status)
        status = clumpi_read_start(c, place->values, 0, bytes, place->memory, &place->moved[0]);
    return status ? status : read_sums(c, place, bytes);
}

clump_status clumpi_staged_write(clump_context *c, clumpi_staged *place, uint32_t bytes) {
    clump_status status =
        clumpi_write_start(c, place->values, 0, bytes, place->memory, &place->moved[0]);
    if (!status) status = compute_sums(c, place, bytes);
    return status ? status : read_sums(c, place, bytes);
}

clump_status clumpi_staged_wait(clump_context *c, clumpi_staged *place) {
    const clump_status values = clumpi_transfer_wait(c, &place->moved[0]);
    const clump_status sums = clumpi_transfer_wait(c, &place->moved[1]);
    return values ? values : sums;
}
