/* What tests of several ranks share. A test runs under mpiexec with any number of ranks; a rank
 * whose check fails ends all of them.
 *
 * Read first: include/clump/mpi.h.
 */
#ifndef TESTS_MPI_RANKS_H
#define TESTS_MPI_RANKS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clump/all.h"
#include "clump/mpi.h"
#include "clump/quick.h"

static int ranks_rank, ranks_size;
static clump_quick ranks_q;

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "rank %d: %s:%d: %s\n", ranks_rank, __FILE__, __LINE__, #condition);   \
            MPI_Abort(MPI_COMM_WORLD, 1);                                                          \
            _exit(1);                                                                              \
        }                                                                                          \
    } while (0)

/* A call on a world that must succeed. */
#define CHECK_WORLD(world, call)                                                                   \
    do {                                                                                           \
        clump_status status_ = (call);                                                             \
        if (status_) fprintf(stderr, "%s\n", clump_world_get_error(world)->message);               \
        CHECK(status_ == CLUMP_OK && #call);                                                       \
    } while (0)

static int ranks_out_of_order;

/* A device, a heap of `schema` and a program of `source`; NULL: none. CLUMP_PERSONALITY=gpu as in
 * the other tests; CLUMP_TEST_OUT_OF_ORDER=1: the queue is out of order. */
static void ranks_open(const char *schema, const char *source, uint64_t bytes) {
    const char *personality = getenv("CLUMP_PERSONALITY"),
               *order = getenv("CLUMP_TEST_OUT_OF_ORDER");
    ranks_out_of_order = order && !strcmp(order, "1");
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &ranks_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks_size);
    const clump_quick_desc desc = {.schema = schema,
                                   .source = source,
                                   .heap.bytes = bytes,
                                   .out_of_order = ranks_out_of_order,
                                   .context.personality = personality && !strcmp(personality, "gpu")
                                                              ? CLUMP_PERSONALITY_GPU
                                                              : CLUMP_PERSONALITY_DEVICE};
    if (clump_quick_open(&ranks_q, &desc)) {
        fprintf(stderr, "%s\n", ranks_q.error.message);
        MPI_Abort(MPI_COMM_WORLD, 77);
    }
}

#ifdef TESTS_SIZED_H
static int ranks_unchanged(void) {
    return 1;
}

static void ranks_check_sized(const sized_case *c) {
    const char *wrong = sized_check(c, ranks_unchanged);
    if (wrong) fprintf(stderr, "%s\n", wrong);
    CHECK(!wrong);
}
#endif

static inline void ranks_close(void) {
    clump_quick_close(&ranks_q);
    MPI_Finalize();
}

static clump_world *ranks_world(clump_world_desc desc) {
    clump_world *world;
    clump_error error;
    desc.comm = MPI_COMM_WORLD;
    desc.context = ranks_q.context;
    desc.queue = ranks_q.queue;
    clump_status status = clump_world_create(&desc, &world, &error);
    if (status) fprintf(stderr, "%s\n", error.message);
    CHECK(!status);
    return world;
}

#endif
