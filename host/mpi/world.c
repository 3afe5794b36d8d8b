/* The grid of domains, and the words of failures. See world.h. */
#include "mpi/world.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TIMEOUT_S 60.0
#define MESSAGE_BYTES (UINT64_C(64) << 20)
#define MESSAGE_BYTES_MOST (UINT64_C(1) << 30)

/* ---- Failures -------------------------------------------------------------------------------- */

static clump_status set_error(clump_error *error, clump_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static clump_status set_error(clump_error *error, clump_status status, const char *format, ...) {
    va_list args;
    if (!error) return status;
    memset(error, 0, sizeof *error);
    error->status = status;
    va_start(args, format);
    vsnprintf(error->message, sizeof error->message, format, args);
    va_end(args);
    return status;
}

clump_status clumpi_world_fail(clump_world *world, clump_status status, const char *format, ...) {
    va_list args;
    memset(&world->error, 0, sizeof world->error);
    world->error.status = status;
    va_start(args, format);
    vsnprintf(world->error.message, sizeof world->error.message, format, args);
    va_end(args);
    return status;
}

clump_status clumpi_world_fail_context(clump_world *world, clump_status status) {
    const clump_error *error = clump_context_get_error(world->context);
    if (error->status != status)
        return clumpi_world_fail(world, status,
                                 "a call on the context failed, without an error message");
    world->error = *error;
    return status;
}

clump_status clumpi_world_fail_cl(clump_world *world, const char *call, cl_int code) {
    clumpi_world_fail(world, CLUMP_ERR_CL, "%s returned %s (%d)", call, clump_cl_code_name(code),
                      (int)code);
    world->error.cl_code = code;
    world->error.call = call;
    return CLUMP_ERR_CL;
}

static void mpi_words(int code, char *text, size_t bytes) {
    char words[MPI_MAX_ERROR_STRING + 1] = "";
    int length = 0;
    if (MPI_Error_string(code, words, &length)) length = 0;
    words[length] = 0;
    snprintf(text, bytes, "%s", words);
}

clump_status clumpi_world_fail_mpi(clump_world *world, const char *call, int code) {
    char words[MPI_MAX_ERROR_STRING + 1];
    mpi_words(code, words, sizeof words);
    world->is_broken = 1;
    return clumpi_world_fail(world, CLUMP_ERR_RANK, "%s failed on rank %d: %s", call,
                             world->place.rank, words);
}

clump_status clumpi_world_tell(const clump_world *world, clump_status status, clump_error *error) {
    if (!error) return status;
    if (status && world)
        *error = *clump_world_get_error(world);
    else
        *error = (clump_error){.status = status};
    return status;
}

clump_status clumpi_world_use(const clump_world *world) {
    return world->is_broken ? CLUMP_ERR_RANK : CLUMP_OK;
}

clump_status clumpi_world_take_tags(clump_world *world, int *tags) {
    const uint64_t first = (uint64_t)world->users * CLUMPI_TAGS_EACH;
    if (first + CLUMPI_TAGS_EACH > (uint64_t)world->tag_most)
        return clumpi_world_fail(
            world, CLUMP_ERR_UNSUPPORTED,
            "a world can have at most %d halos and migrations here: MPI's tags end at %d",
            world->tag_most / CLUMPI_TAGS_EACH, world->tag_most);
    world->users++;
    *tags = (int)first;
    return CLUMP_OK;
}

/* ---- Domains --------------------------------------------------------------------------------- */

static clump_status check(const clump_world_desc *d, clump_error *error) {
    if (!d->context || !d->queue || d->comm == MPI_COMM_NULL)
        return set_error(
            error, CLUMP_ERR_USAGE,
            "clump_world_create needs a communicator, a context and a queue of the context");
    if (d->dimensions > 3)
        return set_error(error, CLUMP_ERR_USAGE,
                         "clump_world_create: %u dimensions are not valid: there must be 1, 2 or 3",
                         d->dimensions);
    if (!(d->timeout_s >= 0) || d->message_bytes > MESSAGE_BYTES_MOST)
        return set_error(error, CLUMP_ERR_USAGE,
                         "clump_world_create: timeout_s must not be negative, and message_bytes "
                         "must be at most 2^30");
    return CLUMP_OK;
}

static clump_status choose_domains(clump_world *world, const clump_world_desc *d) {
    clump_world_place *p = &world->place;
    int counts[3] = {1, 1, 1};
    uint64_t product = 1;
    p->dimensions = d->dimensions ? d->dimensions : 1;
    for (uint32_t i = 0; i < p->dimensions; i++) counts[i] = (int)d->domains[i];
    for (uint32_t i = 0; i < p->dimensions; i++)
        if (counts[i] < 0 || counts[i] > p->size || (counts[i] && p->size % counts[i]))
            return clumpi_world_fail(world, CLUMP_ERR_USAGE,
                                     "clump_world_create: %u domains in dimension %u are not "
                                     "valid: they must divide %d ranks",
                                     d->domains[i], i, p->size);
    for (uint32_t i = 0; i < p->dimensions; i++) product *= counts[i] ? (uint64_t)counts[i] : 1;
    int code = MPI_SUCCESS;
    if (product <= (uint64_t)p->size && (uint64_t)p->size % product == 0)
        code = MPI_Dims_create(p->size, (int)p->dimensions, counts);
    if (code) return clumpi_world_fail_mpi(world, "MPI_Dims_create", code);
    product = 1;
    for (uint32_t i = 0; i < 3; i++) {
        p->domains[i] = (uint32_t)counts[i];
        product *= p->domains[i];
    }
    if (product != (uint64_t)p->size)
        return clumpi_world_fail(world, CLUMP_ERR_USAGE,
                                 "clump_world_create: %u x %u x %u domains for %d ranks are not "
                                 "valid: there must be one domain for each rank",
                                 d->domains[0], p->dimensions > 1 ? d->domains[1] : 1,
                                 p->dimensions > 2 ? d->domains[2] : 1, p->size);
    return CLUMP_OK;
}

static void find_neighbours(clump_world *world, const int periodic[3]) {
    clump_world_place *p = &world->place;
    uint32_t rest = (uint32_t)p->rank, count = 1;
    for (uint32_t i = 0; i < 3; i++) {
        p->at[i] = rest % p->domains[i];
        rest /= p->domains[i];
        if (i < p->dimensions) count *= 3;
    }
    p->directions = count - 1;
    for (uint32_t k = 0, d = 0; k < count; k++) {
        uint32_t offsets = k;
        int64_t rank = 0, stride = 1;
        int is_there = 1;
        if (k == count / 2) continue; /* this domain */
        for (uint32_t i = 0; i < 3; i++) {
            const int64_t step = i < p->dimensions ? (int64_t)(offsets % 3) - 1 : 0;
            int64_t at = (int64_t)p->at[i] + step;
            offsets /= 3;
            if (at < 0 || at >= p->domains[i]) {
                if (!periodic[i]) is_there = 0;
                at = (at + p->domains[i]) % p->domains[i];
            }
            rank += at * stride;
            stride *= p->domains[i];
        }
        p->neighbours[d++] = is_there ? (int)rank : -1;
    }
}

/* All ranks must say the same: the largest of each number, and of its opposite. */
static clump_status compare(clump_world *world, const clump_world_desc *d) {
    int64_t own[16], all[16];
    int count = 0;
    own[count++] = world->place.dimensions;
    for (int i = 0; i < 3; i++) own[count++] = world->place.domains[i];
    for (int i = 0; i < 3; i++) own[count++] = d->periodic[i] != 0;
    own[count++] = (int64_t)world->message_bytes;
    for (int i = 0; i < count; i++) own[count + i] = -own[i];
    memcpy(all, own, sizeof all);
    clump_status status = clump_world_reduce(world, all, 2 * count, MPI_INT64_T, MPI_MAX);
    if (!status && memcmp(all, own, 2 * (size_t)count * sizeof *all) != 0)
        status = clumpi_world_fail(world, CLUMP_ERR_USAGE,
                                   "clump_world_create: the ranks have different dimensions, "
                                   "domains, periodic or message_bytes");
    return status;
}

static clump_status open_mpi(clump_world *world, const clump_world_desc *d) {
    int code = MPI_Comm_dup(d->comm, &world->comm), found = 0;
    int *most = NULL;
    if (code) return clumpi_world_fail_mpi(world, "MPI_Comm_dup", code);
    code = MPI_Comm_set_errhandler(world->comm, MPI_ERRORS_RETURN);
    if (!code) code = MPI_Comm_rank(world->comm, &world->place.rank);
    if (!code) code = MPI_Comm_size(world->comm, &world->place.size);
    if (!code) code = MPI_Comm_get_attr(world->comm, MPI_TAG_UB, (void *)&most, &found);
    if (code) return clumpi_world_fail_mpi(world, "a call on the communicator", code);
    world->tag_most = found ? *most : 32767;
    return CLUMP_OK;
}

cl_int clumpi_queue_is_out_of_order(cl_command_queue queue, int *is_out_of_order) {
    cl_command_queue_properties properties = 0;
    const cl_int code =
        clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, sizeof properties, &properties, NULL);
    *is_out_of_order = (properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) != 0;
    return code;
}

clump_status clumpi_world_order(clump_world *world, cl_command_queue queue, int is_out_of_order) {
    if (!is_out_of_order) return CLUMP_OK;
    const cl_int code = clEnqueueBarrierWithWaitList(queue, 0, NULL, NULL);
    return code ? clumpi_world_fail_cl(world, "clEnqueueBarrierWithWaitList", code) : CLUMP_OK;
}

static clump_status open_queue(clump_world *world) {
    cl_int code = clRetainCommandQueue(world->queue);
    if (code) {
        world->queue = NULL;
        return clumpi_world_fail_cl(world, "clRetainCommandQueue", code);
    }
    code =
        clGetCommandQueueInfo(world->queue, CL_QUEUE_CONTEXT, sizeof world->cl, &world->cl, NULL);
    if (!code) code = clumpi_queue_is_out_of_order(world->queue, &world->is_out_of_order);
    return code ? clumpi_world_fail_cl(world, "clGetCommandQueueInfo", code) : CLUMP_OK;
}

clump_status clump_world_create(const clump_world_desc *given, clump_world **world,
                                clump_error *error) {
    clump_world_desc own = {.size = sizeof own}, *desc = &own;
    if (world) *world = NULL;
    if (!given || !world)
        return set_error(error, CLUMP_ERR_USAGE,
                         "clump_world_create needs a desc and a pointer for the world");
    clump_status status = CLUMPI_TAKE(clump_world_desc, desc, given, error);
    if (!status) status = check(desc, error);
    if (status) return status;
    clump_world *w = calloc(1, sizeof *w);
    if (!w) return set_error(error, CLUMP_ERR_HOST_MEMORY, "no host memory for a world");
    w->comm = MPI_COMM_NULL;
    w->context = desc->context;
    w->queue = desc->queue;
    w->timeout_s = desc->timeout_s > 0 ? desc->timeout_s : TIMEOUT_S;
    w->message_bytes = desc->message_bytes ? desc->message_bytes : MESSAGE_BYTES;
    status = open_mpi(w, desc);
    if (!status) {
        status = open_queue(w);
        if (!status) status = choose_domains(w, desc);
        if (!status) find_neighbours(w, desc->periodic);
        status = clump_world_agree(w, status);
        if (!status) status = compare(w, desc);
    } else
        w->queue = NULL;
    if (status) {
        if (error) *error = w->error;
        clump_world_destroy(w);
        return status;
    }
    *world = w;
    return CLUMP_OK;
}

void clump_world_destroy(clump_world *world) {
    if (!world) return;
    if (world->comm != MPI_COMM_NULL && !world->is_broken) MPI_Comm_free(&world->comm);
    if (world->queue) clReleaseCommandQueue(world->queue);
    free(world);
}

const clump_world_place *clump_world_get_place(const clump_world *world) {
    return world ? &world->place : NULL;
}

const clump_error *clump_world_get_error(const clump_world *world) {
    static const clump_error of_null = {.status = CLUMP_ERR_USAGE,
                                        .message = "an argument is NULL, but the call needs it"};
    return world ? &world->error : &of_null;
}
