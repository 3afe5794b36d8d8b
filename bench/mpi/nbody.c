/* n-body in a ring: host side of nbody.cl. Each rank gives the block that it has to the next one
 * while it adds up the pulls of it.
 *
 * Read first: run.h, nbody.cl, bench/apps/collision/model.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/apps/collision/world.h"
#include "run.h"

enum { BODY_INIT, WRITE_BLOCK, ADD_PULLS, UPDATE, WRITE_STATES, KERNEL_COUNT };
static const char *const kernel_names[KERNEL_COUNT] = {"body_init", "write_block", "add_pulls",
                                                       "update", "write_states"};

typedef struct ring {
    collision_rules rules;
    collision_constants constants;
    uint32_t bodies, first, count, room; /* room: of a block */
    clump_heap *heap;
    clump_program *program;
    clump_kernel *kernels[KERNEL_COUNT];
    cl_mem blocks[2], sums, states;
    clump_halo *pass[2]; /* from blocks[i] to blocks[1 - i] of the next rank */
} ring;

static mpi_option options[] = {{"bodies", 2048, 1, 1 << 22, "of all ranks"},
                               {"seed", 42, 0, 4294967295.0, ""},
                               {NULL, 0, 0, 0, NULL}};

#define SET(kernel, at, ...) MPI_SET(run, r->kernels[kernel], at, __VA_ARGS__)

/* All bodies, the same on all ranks. */
static collision_body *make_bodies(mpi_run *run, collision_rules *rules, uint32_t *count) {
    const collision_start start = collision_start_default();
    *rules = collision_rules_default();
    rules->is_merging = 0;
    *count = mpi_u32(run, "bodies");
    collision_body *bodies = calloc(*count, sizeof *bodies);
    if (bodies)
        collision_make_random(bodies, *count, mpi_u32(run, "seed"), &start);
    else
        bench_error_set(&run->error, "host memory ran out for the bodies");
    return bodies;
}

static uint32_t first_of(const mpi_run *run, uint32_t bodies, int rank) {
    return (uint32_t)((uint64_t)bodies * (uint64_t)rank / (uint64_t)run->size);
}

static int create_heap(mpi_run *run, ring *r) {
    static const char *const before[] = {"bench/apps/collision/rules.clh",
                                         "bench/apps/collision/bodies.clh", NULL};
    const bench_heap_desc heap = {.clump = run->context,
                                  .file = "bench/mpi/nbody.schema",
                                  .bytes = (uint64_t)r->count * 48 + (4u << 20)};
    if (bench_heap_create(&heap, &r->heap, &run->error)) return -1;
    const bench_program_desc program = {
        .clump = run->context,
        .heap = r->heap,
        .file = "bench/mpi/nbody.cl",
        .before = before,
        .options = "-DTAKES_HEAVIER=0 -DTAKES_FIRST=0 -DLAW_DAMPED=0",
        .names = kernel_names,
        .count = KERNEL_COUNT};
    return bench_program_create(&program, &r->program, r->kernels, &run->error);
}

/* In one dimension direction 1 is the next rank. */
static int create_passes(mpi_run *run, ring *r) {
    const uint64_t bytes = r->room * sizeof(cl_float4);
    for (int i = 0; i < 2; i++) {
        const clump_halo_desc desc = {.size = sizeof desc,
                                      .send = r->blocks[i],
                                      .receive = r->blocks[1 - i],
                                      .send_bytes = {0, bytes},
                                      .receive_bytes = {bytes, 0}};
        const clump_status status = clump_halo_create(run->world, &desc, &r->pass[i], NULL);
        if (status) return mpi_fail_world(run, "the ring", status);
    }
    return 0;
}

static int make_objects(mpi_run *run, ring *r, const collision_body *bodies) {
    uint64_t made = 0;
    const cl_float4 none = {{0, 0, 0, 0}};
    const uint64_t room = r->room * sizeof(cl_float4);
    cl_int code = clEnqueueWriteBuffer(run->queue, r->states, CL_TRUE, 0, r->count * sizeof *bodies,
                                       bodies + r->first, 0, NULL, NULL);
    for (int i = 0; i < 2 && !code; i++)
        code = clEnqueueFillBuffer(run->queue, r->blocks[i], &none, sizeof none, 0, room, 0, NULL,
                                   NULL);
    if (code) return mpi_fail_cl(run, "the first states", code);
    const clump_status status =
        clump_heap_do_new(r->heap, r->kernels[BODY_INIT], "Body", r->count, &made, NULL);
    if (status) return mpi_fail(run, "the bodies", status);
    return made == r->count ? 0
                            : bench_error_set(&run->error, "the heap has no room for the bodies");
}

static int set_arguments(mpi_run *run, ring *r) {
    const collision_constants *c = &r->constants;
    return SET(BODY_INIT, 0, MPI_ARG(r->states)) ||
                   SET(WRITE_BLOCK, 0, MPI_ARG(r->blocks[0]), MPI_ARG(r->sums), MPI_ARG(r->count),
                       MPI_ARG(r->room)) ||
                   SET(ADD_PULLS, 1, MPI_ARG(r->room), MPI_ARG(r->sums), MPI_ARG(c->softening2),
                       MPI_ARG(c->scale)) ||
                   SET(UPDATE, 0, MPI_ARG(r->sums), MPI_ARG(c->kick), MPI_ARG(c->dt)) ||
                   SET(WRITE_STATES, 0, MPI_ARG(r->states))
               ? -1
               : 0;
}

static void destroy(void *self) {
    ring *r = self;
    const cl_mem buffers[] = {r->blocks[0], r->blocks[1], r->sums, r->states};
    for (int i = 0; i < 2; i++) clump_halo_destroy(r->pass[i]);
    for (int i = 0; i < KERNEL_COUNT; i++) clump_kernel_destroy(r->kernels[i]);
    clump_program_destroy(r->program);
    clump_heap_destroy(r->heap);
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++)
        if (buffers[i]) clReleaseMemObject(buffers[i]);
    free(r);
}

static int create(mpi_run *run, void **self) {
    ring *r = calloc(1, sizeof *r);
    if (!r) return bench_error_set(&run->error, "host memory ran out");
    collision_body *bodies = make_bodies(run, &r->rules, &r->bodies);
    int result = bodies ? 0 : -1;
    r->first = first_of(run, r->bodies, run->rank);
    r->count = first_of(run, r->bodies, run->rank + 1) - r->first;
    r->room = (r->bodies + (uint32_t)run->size - 1) / (uint32_t)run->size;
    if (!result && r->bodies < (uint32_t)run->size)
        result = bench_error_set(&run->error, "%u bodies for %d ranks", r->bodies, run->size);
    result = mpi_agree(run, result);
    if (!result) {
        r->constants = collision_find_constants(&r->rules, bodies, r->bodies);
        result = create_heap(run, r) ||
                 mpi_buffer(run, r->room * sizeof(cl_float4), &r->blocks[0]) ||
                 mpi_buffer(run, r->room * sizeof(cl_float4), &r->blocks[1]) ||
                 mpi_buffer(run, r->room * sizeof(cl_long2), &r->sums) ||
                 mpi_buffer(run, r->room * sizeof *bodies, &r->states) || create_passes(run, r) ||
                 set_arguments(run, r) || make_objects(run, r, bodies);
    }
    free(bodies);
    if (result) {
        destroy(r);
        return -1;
    }
    *self = r;
    return 0;
}

static int step(mpi_run *run, void *self, mpi_times *times) {
    ring *r = self;
    if (mpi_do_all(run, r->heap, r->kernels[WRITE_BLOCK])) return -1;
    for (int i = 0; i < run->size; i++) {
        const int has_next = i + 1 < run->size, now = i % 2;
        cl_int code = clFinish(run->queue); /* so that the ring's time is its own */
        if (code) return mpi_fail_cl(run, "clFinish", code);
        double before = MPI_Wtime();
        clump_status status = has_next ? clump_halo_begin(r->pass[now]) : CLUMP_OK;
        if (status) return mpi_fail_world(run, "the ring", status);
        times->halo += MPI_Wtime() - before;
        if (SET(ADD_PULLS, 0, MPI_ARG(r->blocks[now])) ||
            mpi_do_all(run, r->heap, r->kernels[ADD_PULLS]))
            return -1;
        before = MPI_Wtime();
        status = has_next ? clump_halo_end(r->pass[now], NULL) : CLUMP_OK;
        if (status) return mpi_fail_world(run, "the ring", status);
        times->halo += MPI_Wtime() - before;
        if (has_next) times->bytes += r->room * sizeof(cl_float4);
    }
    if (mpi_do_all(run, r->heap, r->kernels[UPDATE])) return -1;
    const cl_int code = clFinish(run->queue);
    return code ? mpi_fail_cl(run, "clFinish", code) : 0;
}

/* All states on all ranks: what is compared is small. */
static int checksum(mpi_run *run, void *self, uint64_t *found) {
    ring *r = self;
    collision_body *all = calloc(r->bodies, sizeof *all);
    if (!all) return bench_error_set(&run->error, "host memory ran out for the bodies");
    int result = mpi_do_all(run, r->heap, r->kernels[WRITE_STATES]);
    const cl_int code =
        result ? CL_SUCCESS
               : clEnqueueReadBuffer(run->queue, r->states, CL_TRUE, 0, r->count * sizeof *all,
                                     all + r->first, 0, NULL, NULL);
    if (code) result = mpi_fail_cl(run, "clEnqueueReadBuffer", code);
    for (int rank = 0; rank < run->size && !result; rank++) {
        const uint32_t first = first_of(run, r->bodies, rank);
        MPI_Bcast(all + first, (int)((first_of(run, r->bodies, rank + 1) - first) * sizeof *all),
                  MPI_BYTE, rank, MPI_COMM_WORLD);
    }
    if (!result) *found = collision_checksum(all, r->bodies);
    free(all);
    return result;
}

static int reference(mpi_run *run, uint32_t steps, uint64_t *expected) {
    collision_desc desc = {.world.variant = BENCH_SEQUENTIAL};
    const bench_world_ops *ops = &collision_sequential_ops.world;
    void *world = NULL;
    collision_body *bodies = make_bodies(run, &desc.rules, &desc.count);
    if (!bodies) return -1;
    desc.bodies = bodies;
    const collision_constants constants = collision_find_constants(&desc.rules, bodies, desc.count);
    int result = collision_sequential_ops.create(&desc, &constants, &world, &run->error);
    for (uint32_t i = 0; i < steps && !result; i++) result = ops->step(world, NULL, &run->error);
    if (!result) result = ops->read(world, bodies, &run->error);
    if (!result) *expected = collision_checksum(bodies, desc.count);
    free(bodies);
    if (world) ops->destroy(world);
    return result;
}

static int report(mpi_run *run, void *self) {
    const ring *r = self;
    const clump_status status = clump_heap_take_errors(r->heap, NULL);
    return status ? mpi_fail(run, "the heap", status) : 0;
}

const mpi_app mpi_nbody = {.name = "nbody",
                           .options = options,
                           .periodic = 1,
                           .create = create,
                           .step = step,
                           .checksum = checksum,
                           .reference = reference,
                           .report = report,
                           .destroy = destroy};
