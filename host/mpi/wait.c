/* What ranks wait for, with a deadline, and what all of them agree on. See world.h.
 *
 * A wait tests, and lets others have the core after a while: ranks may be more than cores.
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "mpi/world.h"

#define SPINS 200   /* tests before a core is given away */
#define YIELDS 2000 /* then tests before the thread sleeps between them */
#define NAP_NS 50000

static void pause_between(uint32_t tests) {
    const struct timespec nap = {.tv_nsec = NAP_NS};
    if (tests < SPINS) return;
    if (tests < YIELDS)
        sched_yield();
    else
        nanosleep(&nap, NULL);
}

void clumpi_world_free(const clump_world *world, void *memory) {
    if (!world->is_broken) free(memory);
}

/* ---- Messages between two ranks -------------------------------------------------------------- */

static int grow(void *array, int room, size_t each) {
    void **memory = array;
    void *larger = realloc(*memory, (size_t)room * each);
    if (larger) *memory = larger;
    return larger != NULL;
}

static clump_status make_room(clump_world *world, clumpi_messages *m) {
    if (m->count < m->room) return CLUMP_OK;
    const int room = m->room ? 2 * m->room : 64;
    if (!grow(&m->requests, room, sizeof *m->requests) ||
        !grow(&m->statuses, room, sizeof *m->statuses) ||
        !grow(&m->peers, room, sizeof *m->peers) || !grow(&m->done, room, sizeof *m->done) ||
        !grow(&m->bytes, room, sizeof *m->bytes) || !grow(&m->kinds, room, sizeof *m->kinds))
        return clumpi_world_fail(world, CLUMP_ERR_HOST_MEMORY, "no host memory for %d messages",
                                 room);
    m->room = room;
    return CLUMP_OK;
}

clump_status clumpi_post_one(clump_world *world, clumpi_messages *m, void *data, uint64_t bytes,
                             int peer, int tag, clumpi_message_kind kind) {
    clump_status status = make_room(world, m);
    if (status) {
        world->is_broken = 1; /* the neighbour waits for what is not posted */
        return status;
    }
    MPI_Request *request = &m->requests[m->count];
    const int now = (int)bytes,
              code = kind == CLUMPI_SENT
                         ? MPI_Isend(data, now, MPI_BYTE, peer, tag, world->comm, request)
                         : MPI_Irecv(data, now, MPI_BYTE, peer, tag, world->comm, request);
    if (code)
        return clumpi_world_fail_mpi(world, kind == CLUMPI_SENT ? "MPI_Isend" : "MPI_Irecv", code);
    m->bytes[m->count] = now;
    m->kinds[m->count] = kind;
    m->peers[m->count++] = peer;
    return CLUMP_OK;
}

static clump_status post(clump_world *world, clumpi_messages *m, void *data, uint64_t bytes,
                         int peer, int tag, clumpi_message_kind kind) {
    clump_status status = CLUMP_OK;
    for (uint64_t at = 0; at < bytes && !status; at += world->message_bytes) {
        const uint64_t left = bytes - at,
                       now = left < world->message_bytes ? left : world->message_bytes;
        status = clumpi_post_one(world, m, (char *)data + at, now, peer, tag, kind);
    }
    return status;
}

clump_status clumpi_post_send(clump_world *world, clumpi_messages *m, const void *data,
                              uint64_t bytes, int to, int tag) {
    union {
        const void *from;
        void *data;
    } const_of_mpi = {data}; /* only read */
    return post(world, m, const_of_mpi.data, bytes, to, tag, CLUMPI_SENT);
}

clump_status clumpi_post_receive(clump_world *world, clumpi_messages *m, void *data, uint64_t bytes,
                                 int from, int tag) {
    return post(world, m, data, bytes, from, tag, CLUMPI_RECEIVED);
}

/* The first rank that did not answer. */
static clump_status late(clump_world *world, clumpi_messages *m, const char *what) {
    int peer = -1, is_done, missing = 0;
    for (int i = 0; i < m->count; i++) {
        if (m->requests[i] == MPI_REQUEST_NULL) continue;
        if (MPI_Test(&m->requests[i], &is_done, MPI_STATUS_IGNORE) || is_done) continue;
        if (peer < 0) peer = m->peers[i];
        missing++;
    }
    world->is_broken = 1;
    return clumpi_world_fail(
        world, CLUMP_ERR_RANK,
        "%s: rank %d did not answer rank %d within %g s, and %d messages are not complete. It may "
        "have ended. The world is broken: end the program with MPI_Abort()",
        what, peer, world->place.rank, world->timeout_s, missing);
}

/* Some are done: what was received is as long as was expected. */
static clump_status take(clump_world *world, clumpi_messages *m, int count, const char *what) {
    for (int j = 0; j < count; j++) {
        const int i = m->done[j];
        int bytes = 0;
        if (m->kinds[i] == CLUMPI_SENT || MPI_Get_count(&m->statuses[j], MPI_BYTE, &bytes))
            continue;
        if (m->kinds[i] == CLUMPI_RECEIVED && bytes != m->bytes[i]) {
            world->is_broken = 1;
            return clumpi_world_fail(world, CLUMP_ERR_RANK,
                                     "%s: rank %d sent %d bytes, but rank %d expects %d. Check "
                                     "that both ranks make the same calls",
                                     what, m->peers[i], bytes, world->place.rank, m->bytes[i]);
        }
        m->bytes[i] = bytes;
    }
    return CLUMP_OK;
}

clump_status clumpi_messages_next(clump_world *world, clumpi_messages *m, double end,
                                  const char *what, int *count) {
    *count = 0;
    for (uint32_t tests = 0; m->count; tests++) {
        const int code = MPI_Testsome(m->count, m->requests, count, m->done, m->statuses);
        if (code) return clumpi_world_fail_mpi(world, what, code);
        if (*count > 0) return take(world, m, *count, what);
        if (*count == MPI_UNDEFINED) {
            *count = m->count = 0;
            return CLUMP_OK;
        }
        if (MPI_Wtime() > end)
            return late(world, m, what);
        else
            pause_between(tests);
        if (tests == UINT32_MAX) tests = YIELDS;
    }
    return CLUMP_OK;
}

clump_status clumpi_messages_wait_until(clump_world *world, clumpi_messages *m, double end,
                                        const char *what) {
    clump_status status;
    int count;
    do status = clumpi_messages_next(world, m, end, what, &count);
    while (count && !status);
    return status;
}

clump_status clumpi_messages_wait(clump_world *world, clumpi_messages *m, const char *what) {
    return clumpi_messages_wait_until(world, m, MPI_Wtime() + world->timeout_s, what);
}

void clumpi_messages_free(clump_world *world, clumpi_messages *m) {
    clumpi_world_free(world, m->requests);
    clumpi_world_free(world, m->statuses);
    clumpi_world_free(world, m->peers);
    clumpi_world_free(world, m->done);
    clumpi_world_free(world, m->bytes);
    clumpi_world_free(world, m->kinds);
    memset(m, 0, sizeof *m);
}

/* ---- All ranks ------------------------------------------------------------------------------- */

clump_status clumpi_wait_all_ranks(clump_world *world, MPI_Request *request, const char *what) {
    const double end = MPI_Wtime() + world->timeout_s;
    for (uint32_t tests = 0;; tests++) {
        int is_done = 0;
        const int code = MPI_Test(request, &is_done, MPI_STATUS_IGNORE);
        if (code) return clumpi_world_fail_mpi(world, what, code);
        if (is_done) return CLUMP_OK;
        if (MPI_Wtime() > end) {
            world->is_broken = 1;
            return clumpi_world_fail(
                world, CLUMP_ERR_RANK,
                "%s: not all of the %d ranks answered rank %d within %g s. One of them may have "
                "ended. The world is broken: end the program with MPI_Abort()",
                what, world->place.size, world->place.rank, world->timeout_s);
        }
        if (tests == UINT32_MAX) tests = YIELDS;
        pause_between(tests);
    }
}

/* The lowest status, and of several ranks with it the first. */
clump_status clump_world_agree(clump_world *world, clump_status own) {
    if (!world) return CLUMP_ERR_USAGE;
    clump_status status = clumpi_world_use(world);
    if (status) return own ? own : status;
    struct pair {
        int status, rank;
    } *both = malloc(2 * sizeof *both); /* mine, and that of all: kept if the world breaks */
    if (!both) {
        world->is_broken = 1;
        return clumpi_world_fail(world, CLUMP_ERR_HOST_MEMORY, "no host memory for a message");
    }
    const clump_error error = world->error;
    MPI_Request request;
    both[0].status = own;
    both[0].rank = world->place.rank;
    int code = MPI_Iallreduce(&both[0], &both[1], 1, MPI_2INT, MPI_MINLOC, world->comm, &request);
    status = code ? clumpi_world_fail_mpi(world, "MPI_Iallreduce", code)
                  : clumpi_wait_all_ranks(world, &request, "agreement");
    if (!status && own) status = own;
    if (own) world->error = error; /* the cause, not what came of it */
    if (!status && both[1].status)
        status = clumpi_world_fail(world, CLUMP_ERR_RANK, "rank %d failed: %s", both[1].rank,
                                   clump_status_name((clump_status)both[1].status));
    clumpi_world_free(world, both);
    return own ? own : status;
}

clump_status clump_world_reduce(clump_world *world, void *values, int count, MPI_Datatype type,
                                MPI_Op op) {
    if (!world) return CLUMP_ERR_USAGE;
    clump_status status = clumpi_world_use(world);
    if (status) return status;
    MPI_Aint lowest, extent;
    if (count < 0 || (count && !values) || MPI_Type_get_extent(type, &lowest, &extent) ||
        extent <= 0)
        return clumpi_world_fail(
            world, CLUMP_ERR_USAGE,
            "clump_world_reduce needs a number of values, a pointer for them, and a type of MPI");
    const size_t bytes = (size_t)count * (size_t)extent;
    char *copies = malloc(2 * bytes + 1);
    if (!copies) {
        world->is_broken = 1; /* others wait */
        return clumpi_world_fail(world, CLUMP_ERR_HOST_MEMORY, "no host memory for %zu bytes",
                                 2 * bytes);
    }
    MPI_Request request;
    memcpy(copies, values, bytes);
    int code = MPI_Iallreduce(copies, copies + bytes, count, type, op, world->comm, &request);
    status = code ? clumpi_world_fail_mpi(world, "MPI_Iallreduce", code)
                  : clumpi_wait_all_ranks(world, &request, "clump_world_reduce");
    if (!status) memcpy(values, copies + bytes, bytes);
    clumpi_world_free(world, copies);
    return status;
}

clump_status clumpi_sum_below(clump_world *world, uint64_t number, uint64_t *below,
                              const char *what) {
    uint64_t *both = malloc(2 * sizeof *both);
    if (!both) {
        world->is_broken = 1; /* others wait */
        return clumpi_world_fail(world, CLUMP_ERR_HOST_MEMORY, "no host memory for a message");
    }
    MPI_Request request;
    both[0] = number;
    both[1] = 0; /* that of rank 0 stays */
    const int code =
        MPI_Iexscan(&both[0], &both[1], 1, MPI_UINT64_T, MPI_SUM, world->comm, &request);
    const clump_status status = code ? clumpi_world_fail_mpi(world, "MPI_Iexscan", code)
                                     : clumpi_wait_all_ranks(world, &request, what);
    *below = !status && world->place.rank ? both[1] : 0;
    clumpi_world_free(world, both);
    return status;
}
