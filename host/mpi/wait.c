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

static clump_status make_room(clump_world *world, clumpi_messages *m) {
    if (m->count < m->room) return CLUMP_OK;
    const int room = m->room ? 2 * m->room : 64;
    MPI_Request *requests = realloc(m->requests, (size_t)room * sizeof *requests);
    if (requests) m->requests = requests;
    MPI_Status *statuses = realloc(m->statuses, (size_t)room * sizeof *statuses);
    if (statuses) m->statuses = statuses;
    int *peers = realloc(m->peers, (size_t)room * sizeof *peers);
    if (peers) m->peers = peers;
    int *expected = realloc(m->expected, (size_t)room * sizeof *expected);
    if (expected) m->expected = expected;
    if (!requests || !statuses || !peers || !expected)
        return clumpi_world_fail(world, CLUMP_ERR_HOST_MEMORY, "no host memory for %d messages",
                                 room);
    m->room = room;
    return CLUMP_OK;
}

static clump_status post(clump_world *world, clumpi_messages *m, void *data, uint64_t bytes,
                         int peer, int tag, int is_send) {
    for (uint64_t at = 0; at < bytes; at += world->message_bytes) {
        const uint64_t left = bytes - at;
        const int now = (int)(left < world->message_bytes ? left : world->message_bytes);
        clump_status status = make_room(world, m);
        if (status) {
            world->is_broken = 1; /* the neighbour waits for what is not posted */
            return status;
        }
        char *part = (char *)data + at;
        MPI_Request *request = &m->requests[m->count];
        const int code = is_send ? MPI_Isend(part, now, MPI_BYTE, peer, tag, world->comm, request)
                                 : MPI_Irecv(part, now, MPI_BYTE, peer, tag, world->comm, request);
        if (code) return clumpi_world_fail_mpi(world, is_send ? "MPI_Isend" : "MPI_Irecv", code);
        m->expected[m->count] = is_send ? -1 : now;
        m->peers[m->count++] = peer;
    }
    return CLUMP_OK;
}

clump_status clumpi_post_send(clump_world *world, clumpi_messages *m, const void *data,
                              uint64_t bytes, int to, int tag) {
    union {
        const void *from;
        void *data;
    } const_of_mpi = {data}; /* only read */
    return post(world, m, const_of_mpi.data, bytes, to, tag, 1);
}

clump_status clumpi_post_receive(clump_world *world, clumpi_messages *m, void *data, uint64_t bytes,
                                 int from, int tag) {
    return post(world, m, data, bytes, from, tag, 0);
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

/* All are done: what was received is as long as was expected. */
static clump_status take(clump_world *world, clumpi_messages *m, const char *what) {
    const int count = m->count;
    m->count = 0;
    for (int i = 0; i < count; i++) {
        int bytes = 0;
        if (m->expected[i] < 0) continue;
        if (MPI_Get_count(&m->statuses[i], MPI_BYTE, &bytes) || bytes == m->expected[i]) continue;
        world->is_broken = 1;
        return clumpi_world_fail(world, CLUMP_ERR_RANK,
                                 "%s: rank %d sent %d bytes, but rank %d expects %d. Check that "
                                 "both ranks make the same calls",
                                 what, m->peers[i], bytes, world->place.rank, m->expected[i]);
    }
    return CLUMP_OK;
}

clump_status clumpi_messages_wait(clump_world *world, clumpi_messages *m, const char *what) {
    const double end = MPI_Wtime() + world->timeout_s;
    for (uint32_t tests = 0; m->count; tests++) {
        int is_done = 0;
        const int code = MPI_Testall(m->count, m->requests, &is_done, m->statuses);
        if (code) return clumpi_world_fail_mpi(world, what, code);
        if (is_done) return take(world, m, what);
        if (MPI_Wtime() > end)
            return late(world, m, what);
        else
            pause_between(tests);
        if (tests == UINT32_MAX) tests = YIELDS;
    }
    return CLUMP_OK;
}

void clumpi_messages_free(clump_world *world, clumpi_messages *m) {
    clumpi_world_free(world, m->requests);
    clumpi_world_free(world, m->statuses);
    clumpi_world_free(world, m->peers);
    clumpi_world_free(world, m->expected);
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
