/* Pieces that take turns (pipe.h).
 *
 * Invariant: piece i is in part i modulo PARTS of the memory; done[] of that part is its transfer,
 * which is waited for before anything else uses the part.
 *
 * Read first: pipe.h.
 */
#include "pipe.h"

#include <string.h>

#define PARTS 4u
#define PART_BYTES ((size_t)16 << 20)

typedef struct ring {
    bench_rig *rig;
    cl_mem there, buffer;
    uint64_t bytes;
    uint8_t *memory;
    cl_event done[PARTS];
    pipe_place place;
    void *user;
} ring;

static size_t bytes_of(const ring *r, uint64_t piece) {
    const uint64_t left = r->bytes - piece * PART_BYTES;
    return left < PART_BYTES ? (size_t)left : PART_BYTES;
}

static uint8_t *part_of(const ring *r, uint64_t piece) {
    return r->memory + piece % PARTS * PART_BYTES;
}

static int start(ring *r, uint64_t piece, int out) {
    cl_command_queue queue = r->rig->env->queue;
    cl_event *done = &r->done[piece % PARTS];
    const size_t at = (size_t)(piece * PART_BYTES), bytes = bytes_of(r, piece);
    cl_int code = out ? clEnqueueReadBuffer(queue, r->there, CL_FALSE, at, bytes, part_of(r, piece),
                                            0, NULL, done)
                      : clEnqueueWriteBuffer(queue, r->there, CL_FALSE, at, bytes,
                                             part_of(r, piece), 0, NULL, done);
    if (!code) code = clFlush(queue);
    return code ? bench_error_set(r->rig->error, "a transfer of a piece: %d", (int)code) : 0;
}

static int wait(ring *r, uint64_t piece) {
    cl_event *done = &r->done[piece % PARTS];
    if (!*done) return 0;
    cl_int code = clWaitForEvents(1, done);
    clReleaseEvent(*done);
    *done = NULL;
    return code ? bench_error_set(r->rig->error, "a transfer of a piece: %d", (int)code) : 0;
}

static int hand_over(ring *r, uint64_t piece) {
    return r->place(r->user, part_of(r, piece), bytes_of(r, piece))
               ? bench_error_set(r->rig->error, "the place of a plain copy does not take its bytes")
               : 0;
}

static int turn_out(ring *r, uint64_t pieces) {
    for (uint64_t i = 0; i < pieces + PARTS - 1; i++) {
        if (i < pieces && start(r, i, 1)) return -1;
        if (i < PARTS - 1) continue;
        const uint64_t oldest = i - (PARTS - 1);
        if (oldest < pieces && (wait(r, oldest) || hand_over(r, oldest))) return -1;
    }
    return 0;
}

static int turn_in(ring *r, uint64_t pieces) {
    for (uint64_t i = 0; i < pieces; i++)
        if (wait(r, i) || hand_over(r, i) || start(r, i, 0)) return -1;
    for (uint64_t i = 0; i < PARTS; i++)
        if (wait(r, i)) return -1;
    return 0;
}

static int run(ring *r, int out, double *us) {
    bench_env *env = r->rig->env;
    const uint64_t pieces = (r->bytes + PART_BYTES - 1) / PART_BYTES;
    cl_int code = CL_SUCCESS;
    r->buffer =
        clCreateBuffer(env->context, CL_MEM_ALLOC_HOST_PTR, PARTS * PART_BYTES, NULL, &code);
    if (code) return bench_error_set(r->rig->error, "no memory for transfers: %d", (int)code);
    r->memory = clEnqueueMapBuffer(env->queue, r->buffer, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0,
                                   PARTS * PART_BYTES, 0, NULL, NULL, &code);
    int result =
        code ? bench_error_set(r->rig->error, "no memory for transfers: %d", (int)code) : 0;
    if (!result) memset(r->memory, 1, PARTS * PART_BYTES); /* its pages are there */
    clFinish(env->queue);
    const double begin = bench_now_us();
    if (!result) result = out ? turn_out(r, pieces) : turn_in(r, pieces);
    *us = bench_now_us() - begin;
    clFinish(env->queue);
    for (uint64_t i = 0; i < PARTS; i++) (void)wait(r, i); /* of a run that failed */
    if (r->memory) clEnqueueUnmapMemObject(env->queue, r->buffer, r->memory, 0, NULL, NULL);
    clFinish(env->queue);
    clReleaseMemObject(r->buffer);
    return result;
}

int pipe_out(bench_rig *rig, cl_mem there, uint64_t bytes, pipe_place place, void *user,
             double *us) {
    ring r = {.rig = rig, .there = there, .bytes = bytes, .place = place, .user = user};
    return run(&r, 1, us);
}

int pipe_in(bench_rig *rig, cl_mem there, uint64_t bytes, pipe_place place, void *user,
            double *us) {
    ring r = {.rig = rig, .there = there, .bytes = bytes, .place = place, .user = user};
    return run(&r, 0, us);
}
