/* Domains and neighbours in 1 to 3 dimensions, halos in all directions, whole and as differences,
 * reductions, borders that move, and refusals that all ranks learn of. Messages that are not as they
 * should be are made by an MPI_Isend() of this program, which stands before that of MPI, and
 * likewise a write that fails. */
#define _GNU_SOURCE /* RTLD_NEXT. NOLINT(bugprone-reserved-identifier) */
#include <dlfcn.h>
#include "sized.h"
/* After the above. */
#include "ranks.h"

#define SLOW_BYTES ((size_t)4 << 20)

/* Offsets of a direction, from the definition in mpi.h and in other words than world.c. */
static void offsets_of(uint32_t dimensions, uint32_t direction, int offsets[3]) {
    uint32_t seen = 0;
    for (int z = dimensions > 2 ? -1 : 0; z <= (dimensions > 2); z++)
        for (int y = dimensions > 1 ? -1 : 0; y <= (dimensions > 1); y++)
            for (int x = -1; x <= 1; x++) {
                if (!x && !y && !z) continue;
                if (seen++ == direction) {
                    offsets[0] = x;
                    offsets[1] = y;
                    offsets[2] = z;
                }
            }
}

static void check_place(const clump_world_place *p, const int periodic[3]) {
    const uint32_t *n = p->domains;
    CHECK(n[0] * n[1] * n[2] == (uint32_t)ranks_size && p->rank == ranks_rank);
    CHECK((p->at[2] * n[1] + p->at[1]) * n[0] + p->at[0] == (uint32_t)ranks_rank);
    CHECK(p->directions == (p->dimensions == 1 ? 2 : p->dimensions == 2 ? 8 : 26));
    for (uint32_t d = 0; d < p->directions; d++) {
        int offsets[3] = {0, 0, 0}, expected = 0, is_there = 1;
        offsets_of(p->dimensions, d, offsets);
        for (int i = 2; i >= 0; i--) {
            int at = (int)p->at[i] + offsets[i];
            if (at < 0 || at >= (int)n[i]) is_there &= periodic[i];
            expected = expected * (int)n[i] + (at + (int)n[i]) % (int)n[i];
        }
        CHECK(p->neighbours[d] == (is_there ? expected : -1));
    }
}

static int is_complete(cl_event event) {
    cl_int state = CL_QUEUED;
    CHECK(!clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL));
    return state == CL_COMPLETE;
}

/* The end of an exchange whose writes wait for an event that happens later. */
static void end_later(clump_world *world, clump_halo *halo) {
    cl_int code;
    cl_event gate = clCreateUserEvent(ranks_q.cl, &code), written = NULL;
    CHECK(clump_halo_end(halo, &(clump_sync){.wait_count = 1}) == CLUMP_ERR_USAGE);
    CHECK_WORLD(world, clump_halo_end(halo, &(clump_sync){1, &gate, &written}));
    cl_event after;
    CHECK(!clEnqueueMarkerWithWaitList(ranks_q.queue, 0, NULL, &after));
    clFlush(ranks_q.queue);
    for (int i = 0; i < 5; i++) {
        usleep(1000);
        CHECK(!is_complete(written) && !is_complete(after));
    }
    clSetUserEventStatus(gate, CL_COMPLETE);
    CHECK(!clWaitForEvents(1, &written));
    clReleaseEvent(after);
    clReleaseEvent(written);
    clReleaseEvent(gate);
}

/* Commands that take a while: what comes next on the world's queue is late. */
static void enqueue_slow(cl_mem slow) {
    static const cl_uint words = 1;
    for (int i = 0; i < 4; i++)
        CHECK(!clEnqueueFillBuffer(ranks_q.queue, slow, &words, sizeof words, 0, SLOW_BYTES, 0,
                                   NULL, NULL));
    if (ranks_out_of_order) CHECK(!clEnqueueBarrierWithWaitList(ranks_q.queue, 0, NULL, NULL));
}

/* The end of an exchange whose writes wait for an event that is none. The world goes on. */
static void end_unwritten(clump_world *world, clump_halo *halo, int has_received) {
    cl_event none = NULL;
    const clump_status status = clump_halo_end(halo, &(clump_sync){1, &none, NULL});
    CHECK(status == (has_received ? CLUMP_ERR_CL : CLUMP_OK));
    CHECK(!status || clump_world_get_error(world)->cl_code);
}

/* The end of an exchange whose writes are done before what was enqueued on the world's queue
 * meanwhile. */
static void end_meanwhile(clump_world *world, clump_halo *halo) {
    cl_int code;
    cl_event gate = clCreateUserEvent(ranks_q.cl, &code), written = NULL;
    CHECK(!clEnqueueBarrierWithWaitList(ranks_q.queue, 1, &gate, NULL));
    CHECK_WORLD(world, clump_halo_end(halo, &(clump_sync){.event = &written}));
    const double begin = MPI_Wtime();
    while (!is_complete(written)) CHECK(MPI_Wtime() - begin < 20);
    clSetUserEventStatus(gate, CL_COMPLETE);
    clReleaseEvent(written);
    clReleaseEvent(gate);
}

/* Each rank sends in each direction words that tell rank and direction, of lengths that differ. */
static void try_halo(clump_world *world, int rounds) {
    const clump_world_place *p = clump_world_get_place(world);
    enum { EACH = 64 };
    uint32_t words[CLUMP_WORLD_DIRECTIONS_MAX * EACH], got[CLUMP_WORLD_DIRECTIONS_MAX * EACH];
    cl_int code;
    cl_mem send = clCreateBuffer(ranks_q.cl, CL_MEM_READ_WRITE, sizeof words, NULL, &code);
    cl_mem receive = clCreateBuffer(ranks_q.cl, CL_MEM_READ_WRITE, sizeof words, NULL, &code);
    cl_mem slow = clCreateBuffer(ranks_q.cl, CL_MEM_READ_WRITE, SLOW_BYTES, NULL, &code);
    clump_halo_desc desc = {.size = sizeof desc, .send = send, .receive = receive};
    clump_halo *halo;
    int has_received = 0;
    for (uint32_t d = 0; d < p->directions; d++) {
        has_received |= p->neighbours[d] >= 0;
        desc.send_at[d] = desc.receive_at[d] = d * EACH * 4;
        desc.send_bytes[d] = 4 * (d + 1);
        desc.receive_bytes[d] = 4 * (p->directions - d);
    }
    CHECK_WORLD(world, clump_halo_create(world, &desc, &halo, NULL));
    CHECK(clump_halo_end(halo, NULL) == CLUMP_ERR_USAGE);
    for (int round = 0; round < rounds; round++) {
        for (uint32_t i = 0; i < CLUMP_WORLD_DIRECTIONS_MAX * EACH; i++)
            words[i] = (uint32_t)(round * 1000000 + ranks_rank * 10000) + i;
        memset(got, 0xee, sizeof got);
        clEnqueueWriteBuffer(ranks_q.queue, receive, CL_TRUE, 0, sizeof got, got, 0, NULL, NULL);
        enqueue_slow(slow);
        clEnqueueWriteBuffer(ranks_q.queue, send, CL_FALSE, 0, sizeof words, words, 0, NULL, NULL);
        CHECK_WORLD(world, clump_halo_begin(halo));
        CHECK(clump_halo_begin(halo) == CLUMP_ERR_USAGE);
        if (round % 3 == 1)
            end_later(world, halo);
        else if (round % 3 == 2 && has_received)
            end_meanwhile(world, halo);
        else
            CHECK_WORLD(world, clump_halo_end(halo, NULL));
        clEnqueueReadBuffer(ranks_q.queue, receive, CL_TRUE, 0, sizeof got, got, 0, NULL, NULL);
        for (uint32_t d = 0; d < p->directions; d++)
            for (uint32_t i = 0; i < EACH; i++) {
                const uint32_t theirs = p->directions - 1 - d;
                const int is_sent = p->neighbours[d] >= 0 && i < theirs + 1;
                CHECK(got[d * EACH + i] ==
                      (is_sent ? (uint32_t)(round * 1000000 + p->neighbours[d] * 10000) +
                                     theirs * EACH + i
                               : 0xeeeeeeee));
            }
    }
    desc.send_at[0] = sizeof words - 2;
    clump_halo *refused;
    if (p->neighbours[0] >= 0) {
        CHECK(clump_halo_create(world, &desc, &refused, NULL) == CLUMP_ERR_USAGE && !refused);
        CHECK(strstr(clump_world_get_error(world)->message, "direction 0"));
    }
    clFinish(ranks_q.queue); /* where there is nothing to send, it has not waited */
    clump_halo_destroy(halo);
    clReleaseMemObject(slow);
    clReleaseMemObject(send);
    clReleaseMemObject(receive);
}

/* ---- Differences ----------------------------------------------------------------------------- */

enum { ROUNDS = 6, SPARSE = 1, NOTHING, DENSE };

static uint32_t elements_of(uint32_t direction) {
    return direction ? 3000 + 7 * direction : 4; /* two chunks; and too few for masks */
}

/* What changes in an edge before a round: nothing, one of 100 elements, or all. */
static void change_edge(uint8_t *edge, int rank, uint32_t direction, int round, uint32_t element) {
    static const int of_round[ROUNDS] = {DENSE, SPARSE, NOTHING, DENSE, SPARSE, SPARSE};
    for (uint32_t i = 0; i < elements_of(direction); i++) {
        const uint32_t mixed =
            (i * 2654435761u ^ (uint32_t)(rank * 977 + round * 131) ^ direction * 40503u) *
            2246822519u;
        if (of_round[round] == DENSE || (of_round[round] == SPARSE && mixed >> 8 < (1 << 24) / 100))
            edge[(uint64_t)i * element + mixed % element] += 1 + (uint8_t)round;
    }
}

/* What the ranks' edges are is known everywhere; what arrives is compared with it. The program
 * spoils what it received each time. */
static void try_delta(clump_world *world, uint32_t element) {
    const clump_world_place *p = clump_world_get_place(world);
    const size_t each = (size_t)(elements_of(p->directions) + 3) * element;
    const size_t bytes = each * p->directions;
    uint8_t *own = calloc(1, bytes + 1), *theirs = calloc(1, bytes + 1), *got = malloc(bytes + 1);
    cl_int code;
    cl_mem buffer = clCreateBuffer(ranks_q.cl, CL_MEM_READ_WRITE, 2 * bytes, NULL, &code);
    clump_halo_desc desc = {
        .size = sizeof desc, .send = buffer, .receive = buffer, .delta = element};
    clump_halo *halo;
    uint64_t whole = 0, parts = 0, streams = 0;
    CHECK(own && theirs && got && !code);
    for (uint32_t d = 0; d < p->directions; d++) {
        desc.send_at[d] = each * d + element;
        desc.receive_at[d] = bytes + each * d + element;
        desc.send_bytes[d] = (uint64_t)elements_of(d) * element;
        desc.receive_bytes[d] = (uint64_t)elements_of(p->directions - 1 - d) * element;
        if (p->neighbours[d] < 0) continue;
        whole += desc.send_bytes[d];
        streams += d != 0;
        parts++;
    }
    CHECK_WORLD(world, clump_halo_create(world, &desc, &halo, NULL));
    for (int round = 0; round < ROUNDS; round++) {
        for (uint32_t d = 0; d < p->directions; d++) {
            change_edge(own + each * d + element, ranks_rank, d, round, element);
            if (p->neighbours[d] >= 0)
                change_edge(theirs + each * d + element, p->neighbours[d], p->directions - 1 - d,
                            round, element);
        }
        memset(got, 0xee, bytes);
        clEnqueueWriteBuffer(ranks_q.queue, buffer, CL_TRUE, 0, bytes, own, 0, NULL, NULL);
        clEnqueueWriteBuffer(ranks_q.queue, buffer, CL_TRUE, bytes, bytes, got, 0, NULL, NULL);
        const clump_halo_info before = *clump_halo_get_info(halo);
        CHECK_WORLD(world, clump_halo_begin(halo));
        /* What was sent is the program's again. */
        clEnqueueWriteBuffer(ranks_q.queue, buffer, CL_TRUE, 0, bytes, got, 0, NULL, NULL);
        if (round == 1)
            end_later(world, halo);
        else if (round == 4)
            end_unwritten(world, halo, whole != 0);
        else
            CHECK_WORLD(world, clump_halo_end(halo, NULL));
        clEnqueueReadBuffer(ranks_q.queue, buffer, CL_TRUE, bytes, bytes, got, 0, NULL, NULL);
        for (size_t i = 0; i < bytes && round == 4; i++) CHECK(got[i] == 0xee);
        for (uint32_t d = 0; d < p->directions; d++) {
            const size_t at = each * d, size = desc.receive_bytes[d];
            const int is_there = p->neighbours[d] >= 0;
            CHECK(got[at] == 0xee && got[at + element + size] == 0xee);
            if (round == 4) continue;
            CHECK(is_there ? !memcmp(got + at + element, theirs + at + element, size)
                           : got[at + element] == 0xee);
        }
        const clump_halo_info *info = clump_halo_get_info(halo);
        const uint64_t deltas = info->deltas - before.deltas,
                       sent = info->bytes_sent - before.bytes_sent;
        CHECK(info->exchanges == before.exchanges + 1 && info->parts - before.parts == parts);
        CHECK(info->bytes_whole - before.bytes_whole == whole);
        CHECK(deltas == (round % 3 ? streams : 0));
        CHECK(!streams ||
              (round % 3 ? sent < whole / 2 : sent >= whole && sent <= whole + 64 * parts));
    }
    clump_halo_destroy(halo);
    clReleaseMemObject(buffer);
    free(own);
    free(theirs);
    free(got);
}

/* What MPI_Isend() does to messages of exchanges later than the first. */
static enum { AS_IT_IS, SHORTER, CUT, NEXT_EXCHANGE, MORE_CHANGED, NO_HEAD } spoil;

int MPI_Isend(const void *data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
              MPI_Request *request) {
    if (spoil && count > 32) {
        uint32_t *words = (uint32_t *)(uintptr_t)data; /* a head of magic, changed, number, bytes */
        if (spoil == SHORTER) count--;
        if (spoil == CUT) count = 20;
        if (spoil == NEXT_EXCHANGE) words[2]++;
        if (spoil == MORE_CHANGED) words[1]++;
        if (spoil == NO_HEAD) words[0] = 0;
    }
    return PMPI_Isend(data, count, type, to, tag, comm, request);
}

static int fails_write; /* the next one */

cl_int clEnqueueWriteBuffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t at,
                            size_t bytes, const void *data, cl_uint wait_count,
                            const cl_event *wait_list, cl_event *event) {
    static cl_int (*real)(cl_command_queue, cl_mem, cl_bool, size_t, size_t, const void *, cl_uint,
                          const cl_event *, cl_event *);
    void *found = real ? NULL : dlsym(RTLD_NEXT, "clEnqueueWriteBuffer");
    if (found) memcpy(&real, &found, sizeof real);
    if (fails_write || !real) return fails_write = 0, CL_OUT_OF_RESOURCES;
    return real(queue, buffer, blocking, at, bytes, data, wait_count, wait_list, event);
}

/* A halo with as many bytes in each direction, in a ring. */
static clump_status open_ring(clump_world *world, uint32_t delta, uint64_t bytes, cl_mem *buffer,
                              clump_halo **halo) {
    cl_int code;
    *buffer = clCreateBuffer(ranks_q.cl, CL_MEM_READ_WRITE, 1 << 16, NULL, &code);
    CHECK(!code);
    return clump_halo_create(world,
                             &(clump_halo_desc){.size = sizeof(clump_halo_desc),
                                                .send = *buffer,
                                                .receive = *buffer,
                                                .send_at = {0, 1 << 14},
                                                .send_bytes = {bytes, bytes},
                                                .receive_at = {2 << 14, 3 << 14},
                                                .receive_bytes = {bytes, bytes},
                                                .delta = delta},
                             halo, NULL);
}

static clump_status exchange(clump_halo *halo) {
    const clump_status status = clump_halo_begin(halo);
    return status ? status : clump_halo_end(halo, NULL);
}

/* Ranks of which each gets what it cannot use, or expects something else, are told so. */
static void try_strangers(void) {
    const clump_world_desc desc = {
        .size = sizeof desc, .dimensions = 1, .periodic = {1}, .timeout_s = 30};
    cl_mem buffer;
    clump_halo *halo;
    for (int how = SHORTER; how <= NO_HEAD; how++) {
        clump_world *world = ranks_world(desc);
        CHECK_WORLD(world, open_ring(world, 4, 1 << 14, &buffer, &halo));
        CHECK_WORLD(world, exchange(halo));
        spoil = how;
        CHECK(clump_halo_begin(halo) == CLUMP_OK);
        spoil = AS_IT_IS;
        CHECK(clump_halo_end(halo, NULL) == CLUMP_ERR_RANK);
        CHECK(strstr(clump_world_get_error(world)->message,
                     "cannot apply to the 16384 bytes of "
                     "exchange 1 from direction"));
        CHECK(clump_halo_begin(halo) == CLUMP_ERR_RANK);
        clump_halo_destroy(halo);
        clReleaseMemObject(buffer);
        clump_world_destroy(world);
    }
    for (uint32_t delta = 0; delta <= 4; delta += 4) {
        clump_world *world = ranks_world(desc);
        CHECK_WORLD(world, open_ring(world, delta, 1 << 14, &buffer, &halo));
        CHECK_WORLD(world, exchange(halo));
        CHECK(clump_halo_begin(halo) == CLUMP_OK);
        fails_write = 1;
        CHECK(clump_halo_end(halo, NULL) == CLUMP_ERR_CL && !fails_write);
        CHECK(strstr(clump_world_get_error(world)->message, "clEnqueueWriteBuffer"));
        /* What changes next cannot be told from what was lost. */
        CHECK(exchange(halo) == (delta ? CLUMP_ERR_RANK : CLUMP_OK));
        clump_halo_destroy(halo);
        clReleaseMemObject(buffer);
        clump_world_destroy(world);
    }
    for (int what = 0; what < 2 && ranks_size > 1; what++) {
        clump_world *world = ranks_world(desc);
        const uint32_t odd = (uint32_t)ranks_rank % 2;
        CHECK_WORLD(world, open_ring(world, what ? 4 * odd : 0, what ? 4096 : 4096 + 4096 * odd,
                                     &buffer, &halo));
        CHECK(clump_halo_begin(halo) == CLUMP_OK);
        CHECK(clump_halo_end(halo, NULL) == CLUMP_ERR_RANK);
        const char *words = clump_world_get_error(world)->message;
        CHECK(strstr(words, "Check that both ranks make the same halos"));
        CHECK(what ? !strstr(words, "8192") && strstr(words, "delta = 4") &&
                         strstr(words, "delta = 0")
                   : strstr(words, "sends 8192 bytes") || strstr(words, "expects 8192 bytes"));
        clump_halo_destroy(halo);
        clReleaseMemObject(buffer);
        clump_world_destroy(world);
    }
}

static int find_commands(void *found, const void *data, size_t bytes) {
    static const char *const names[] = {"halo: compare", "halo: read", "halo: write", "halo: apply",
                                        "halo: copy"};
    char *text = calloc(1, bytes + 1);
    CHECK(text);
    memcpy(text, data, bytes);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        *(int *)found += strstr(text, names[i]) != NULL;
    free(text);
    return 0;
}

/* The timeline of the context has the halo's commands. */
static void try_timeline(void) {
    const clump_world_desc desc = {
        .size = sizeof desc, .dimensions = 1, .periodic = {1}, .timeout_s = 30};
    cl_mem buffer;
    clump_halo *halo;
    int found = 0;
    clump_world *world = ranks_world(desc);
    CHECK_WORLD(world, open_ring(world, 4, 1 << 14, &buffer, &halo));
    CHECK_WORLD(world, exchange(halo));
    CLUMP_CHECK(&ranks_q, clump_context_record_timeline(ranks_q.context, 100));
    CHECK_WORLD(world, exchange(halo));
    CLUMP_CHECK(&ranks_q, clump_context_write_timeline(ranks_q.context, find_commands, &found));
    CLUMP_CHECK(&ranks_q, clump_context_record_timeline(ranks_q.context, 0));
    CHECK(found == 5);
    clump_halo_destroy(halo);
    clReleaseMemObject(buffer);
    clump_world_destroy(world);
}

static void try_delta_refusals(clump_world *world) {
    cl_mem buffer;
    clump_halo *halo;
    const uint32_t wrong[] = {3, 128, 0x80000000u};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        CHECK(open_ring(world, wrong[i], 4096, &buffer, &halo) == CLUMP_ERR_USAGE && !halo);
        CHECK(strstr(clump_world_get_error(world)->message, "a power of two up to 64"));
        clReleaseMemObject(buffer);
    }
    const clump_status status = open_ring(world, 8, 4100, &buffer, &halo);
    CHECK(status == (clump_world_get_place(world)->neighbours[0] < 0 &&
                             clump_world_get_place(world)->neighbours[1] < 0
                         ? CLUMP_OK
                         : CLUMP_ERR_USAGE));
    CHECK(!status || strstr(clump_world_get_error(world)->message, "are not whole elements"));
    clump_halo_destroy(halo);
    clReleaseMemObject(buffer);
    CHECK(!clump_halo_get_info(NULL)->exchanges);
}

/* ---- All ranks ------------------------------------------------------------------------------- */

static void try_reductions(clump_world *world) {
    uint64_t sums[2] = {(uint64_t)ranks_rank, 1};
    double most = -ranks_rank;
    CHECK_WORLD(world, clump_world_reduce(world, sums, 2, MPI_UINT64_T, MPI_SUM));
    CHECK(sums[0] == (uint64_t)(ranks_size * (ranks_size - 1) / 2) &&
          sums[1] == (uint64_t)ranks_size);
    CHECK_WORLD(world, clump_world_reduce(world, &most, 1, MPI_DOUBLE, MPI_MAX));
    CHECK(most == 0);
    CHECK_WORLD(world, clump_world_agree(world, CLUMP_OK));
    if (ranks_size == 1) return;
    /* The last rank fails, and all learn who. The world goes on. */
    const int is_last = ranks_rank == ranks_size - 1;
    char words[64];
    clump_status status = clump_world_agree(world, is_last ? CLUMP_ERR_HOST_MEMORY : CLUMP_OK);
    snprintf(words, sizeof words, "rank %d failed: CLUMP_ERR_HOST_MEMORY", ranks_size - 1);
    CHECK(status == (is_last ? CLUMP_ERR_HOST_MEMORY : CLUMP_ERR_RANK));
    CHECK(is_last || strstr(clump_world_get_error(world)->message, words));
    CHECK_WORLD(world, clump_world_agree(world, CLUMP_OK));
}

/* ---- Borders --------------------------------------------------------------------------------- */

enum { ROWS_EACH = 40 };
static uint64_t weights[8 * ROWS_EACH];

/* Rows of all ranks: one after the other, none missing, and none farther than a neighbour's. */
static void check_borders(uint64_t (*rows)[2], const uint64_t old[][2], const clump_borders_desc *d,
                          uint64_t all) {
    uint64_t at = 0;
    for (int r = 0; r < ranks_size; r++) {
        const uint64_t end = rows[r][0] + rows[r][1], old_end = old[r][0] + old[r][1];
        const uint64_t stay = rows[r][0] > old[r][0] ? rows[r][0] : old[r][0];
        const uint64_t stay_end = end < old_end ? end : old_end;
        CHECK(rows[r][0] == at);
        at += rows[r][1];
        /* Some of its own rows stay. */
        CHECK(stay_end > stay && stay_end - stay >= (d->least < old[r][1] ? d->least : old[r][1]));
        CHECK(!d->most || rows[r][1] <= d->most || rows[r][1] <= old[r][1]);
        const uint64_t moved =
            rows[r][0] > old[r][0] ? rows[r][0] - old[r][0] : old[r][0] - rows[r][0];
        CHECK(!d->farthest || moved <= d->farthest);
    }
    CHECK(at == all);
}

/* Until nothing moves. */
static void settle_borders(clump_world *world, clump_borders_desc d, uint64_t rows[8][2]) {
    uint64_t old[8][2];
    for (int r = 0; r < ranks_size; r++) {
        rows[r][0] = (uint64_t)r * ROWS_EACH;
        rows[r][1] = ROWS_EACH;
    }
    int calls = 0;
    do {
        memcpy(old, rows, sizeof old);
        uint64_t *own = rows[ranks_rank];
        d.begin = own[0];
        d.count = own[1];
        d.weights = weights + own[0];
        CHECK_WORLD(world, clump_world_move_borders(world, &d, &own[0], &own[1]));
        CHECK(!MPI_Allgather(MPI_IN_PLACE, 0, MPI_UINT64_T, rows, 2, MPI_UINT64_T, MPI_COMM_WORLD));
        check_borders(rows, (const uint64_t(*)[2])old, &d, (uint64_t)ranks_size * ROWS_EACH);
        CHECK(++calls < 500);
    } while (memcmp(old, rows, (size_t)ranks_size * sizeof *rows) != 0);
}

/* Each border is at the nearest place: half a row's work away from the right one, at most. */
static void check_places(uint64_t rows[8][2], uint64_t all, uint64_t heaviest) {
    uint64_t below = 0;
    for (int r = 0; r < ranks_size; r++) {
        const uint64_t wanted = all * (uint64_t)r / (uint64_t)ranks_size;
        const uint64_t away = below > wanted ? below - wanted : wanted - below;
        CHECK(2 * away <= heaviest + 2);
        for (uint64_t i = 0; i < rows[r][1]; i++) below += weights[rows[r][0] + i];
    }
}

/* Work of a row: the same in all; a crowd in the first ones; several hills; none but in the last
 * ones; none; much in every second domain, so that the others grow at both sides. */
static uint64_t weight_of(int shape, int row, int rows) {
    const uint64_t weights_of[] = {7,
                                   1 + (row < rows / 8) * UINT64_C(100),
                                   (uint64_t)(row % 11 * row),
                                   (row >= rows - 5) * UINT64_C(1000),
                                   0,
                                   row / ROWS_EACH % 2 ? 1 : 100};
    return weights_of[shape];
}

static void try_borders(void) {
    clump_world *world =
        ranks_world((clump_world_desc){.size = sizeof(clump_world_desc), .timeout_s = 30});
    const int rows = ranks_size * ROWS_EACH;
    clump_borders_desc d;
    uint64_t now[8][2];
    for (int shape = 0; shape < 6; shape++) {
        const int is_everywhere = shape != 3 && shape != 4;
        uint64_t all = 0, heaviest = 0;
        for (int i = 0; i < rows; i++) {
            weights[i] = weight_of(shape, i, rows);
            all += weights[i];
            if (weights[i] > heaviest) heaviest = weights[i];
        }
        d = (clump_borders_desc){.size = sizeof d};
        settle_borders(world, d, now);
        if (is_everywhere) check_places(now, all, heaviest);
        if (!shape || shape == 4) CHECK(now[ranks_rank][1] == ROWS_EACH);
        d.least = 3;
        d.farthest = 4;
        settle_borders(world, d, now);
        if (is_everywhere && ranks_size < 8) check_places(now, all, heaviest);
        d.farthest = 0;
        d.most = ROWS_EACH + 10;
        settle_borders(world, d, now);
    }
    /* Refused on all ranks, and the world goes on. */
    uint64_t begin = (uint64_t)ranks_rank * ROWS_EACH, count = 99;
    const clump_borders_desc good = {
        .size = sizeof good, .begin = begin, .count = ROWS_EACH, .weights = weights};
    const int is_last = ranks_rank == ranks_size - 1;
    begin = 77;
    d = good;
    if (is_last) d.weights = NULL;
    CHECK(clump_world_move_borders(world, &d, &begin, &count) ==
          (is_last ? CLUMP_ERR_USAGE : CLUMP_ERR_RANK));
    d = good;
    d.count = 0;
    CHECK(clump_world_move_borders(world, &d, &begin, &count) == CLUMP_ERR_USAGE);
    CHECK(clump_world_move_borders(world, &good, NULL, &count) == CLUMP_ERR_USAGE);
    d = good;
    d.begin += is_last && ranks_rank; /* a gap before the last domain */
    if (ranks_size > 1) {
        const int sees = ranks_rank >= ranks_size - 2;
        char words[160];
        CHECK(clump_world_move_borders(world, &d, &begin, &count) ==
              (sees ? CLUMP_ERR_USAGE : CLUMP_ERR_RANK));
        snprintf(words, sizeof words,
                 "the rows of rank %d end at row %d, but rank %d begins at row %d", ranks_size - 2,
                 (ranks_size - 1) * ROWS_EACH, ranks_size - 1, (ranks_size - 1) * ROWS_EACH + 1);
        CHECK(!sees || strstr(clump_world_get_error(world)->message, words));
    }
    CHECK(begin == 77 && count == 99);
    CHECK_WORLD(world, clump_world_move_borders(world, &good, &begin, &count));
    clump_world_destroy(world);
    world = ranks_world((clump_world_desc){.size = sizeof(clump_world_desc), .dimensions = 2});
    CHECK(clump_world_move_borders(world, &good, &begin, &count) == CLUMP_ERR_UNSUPPORTED);
    clump_world_destroy(world);
}

/* Wrong sizes. A world is made by all ranks, and all of them are refused. */
static clump_world_desc world_desc = {.size = sizeof world_desc};
static const clump_halo_desc halo_desc = {.size = sizeof halo_desc};
static clump_world *sized_world;

static clump_status create_world(void *desc, clump_error *error) {
    clump_world *made;
    clump_status status = clump_world_create(desc, &made, error);
    CHECK(!status == (made != NULL));
    clump_world_destroy(made);
    return status;
}

static clump_status create_halo(void *desc, clump_error *error) {
    clump_halo *made;
    clump_status status = clump_halo_create(sized_world, desc, &made, error);
    CHECK(!status == (made != NULL));
    clump_halo_destroy(made);
    return status;
}

static clump_borders_desc borders_desc = {.size = sizeof borders_desc};

static clump_status move_borders(void *desc, clump_error *error) {
    uint64_t begin, count;
    clump_status status = clump_world_move_borders(sized_world, desc, &begin, &count);
    *error = *clump_world_get_error(sized_world);
    return status;
}

static void try_sizes(void) {
    const sized_case cases[] = {SIZED_TAKEN(clump_borders_desc, &borders_desc, move_borders),
                                SIZED_TAKEN(clump_world_desc, &world_desc, create_world),
                                SIZED_TAKEN(clump_halo_desc, &halo_desc, create_halo)};
    world_desc = (clump_world_desc){.size = sizeof world_desc,
                                    .comm = MPI_COMM_WORLD,
                                    .context = ranks_q.context,
                                    .queue = ranks_q.queue};
    sized_world = ranks_world(world_desc);
    borders_desc.begin = (uint64_t)ranks_rank * ROWS_EACH;
    borders_desc.count = ROWS_EACH;
    borders_desc.weights = weights;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) ranks_check_sized(&cases[i]);
    clump_world_destroy(sized_world);
}

static void try_refusals(void) {
    clump_world_desc desc = {.size = sizeof desc,
                             .comm = MPI_COMM_WORLD,
                             .context = ranks_q.context,
                             .queue = ranks_q.queue,
                             .domains = {(uint32_t)ranks_size + 1}};
    clump_world *world;
    clump_error error;
    CHECK(clump_world_create(&desc, &world, &error) == CLUMP_ERR_USAGE && !world);
    desc.domains[0] = 0;
    desc.dimensions = 4;
    CHECK(clump_world_create(&desc, &world, &error) == CLUMP_ERR_USAGE);
    desc.dimensions = 1;
    desc.message_bytes = UINT64_C(1) << 31;
    CHECK(clump_world_create(&desc, &world, &error) == CLUMP_ERR_USAGE);
    /* Ranks that differ are told, all of them. */
    desc.message_bytes = ranks_rank ? 100 : 200;
    CHECK(clump_world_create(&desc, &world, &error) ==
          (ranks_size > 1 ? CLUMP_ERR_USAGE : CLUMP_OK));
    CHECK(ranks_size == 1 || strstr(error.message, "the ranks have different"));
    clump_world_destroy(world);
}

int main(void) {
    static const uint32_t elements[3][2] = {{1, 16}, {4, 2}, {8, 4}};
    ranks_open(NULL, NULL, 0);
    for (uint32_t dimensions = 1; dimensions <= 3; dimensions++)
        for (int closed = 0; closed < 8; closed += 7) {
            clump_world_desc desc = {.size = sizeof desc,
                                     .dimensions = dimensions,
                                     .periodic = {closed & 1, closed & 2, closed & 4},
                                     .timeout_s = 30,
                                     .message_bytes = dimensions == 2 ? 7 : 0};
            const int periodic[3] = {closed != 0, closed != 0, closed != 0};
            clump_world *world = ranks_world(desc);
            check_place(clump_world_get_place(world), periodic);
            try_halo(world, 3);
            clump_world_destroy(world);
            desc.message_bytes = dimensions == 2 ? 1000 : 0;
            world = ranks_world(desc);
            try_delta(world, elements[dimensions - 1][closed / 7]);
            clump_world_destroy(world);
        }
    clump_world *world =
        ranks_world((clump_world_desc){.size = sizeof(clump_world_desc), .timeout_s = 30});
    try_reductions(world);
    try_delta_refusals(world);
    clump_world_destroy(world);
    try_strangers();
    if (!ranks_out_of_order) try_timeline();
    try_borders();
    try_refusals();
    try_sizes();
    ranks_close();
    return 0;
}
