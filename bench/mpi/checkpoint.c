/* Checkpoints while the steps go on. Read first: checkpoint.h. */
#include "checkpoint.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clump/copy.h"
#include "job.h"

enum { STEP_WRITES, NO_STEP_WAITS }; /* writer=; 2: a thread writes, and the step waits for it */

struct mpi_checkpoint {
    mpi_run run; /* the context, queue and world of the thread, and its error */
    clump_heap *copy;
    mpi_complete_fn complete;
    void *of;
    uint32_t words[MPI_CHECKPOINT_WORDS];
    mpi_job job;
    uint32_t writer, due, step; /* due: since this step, 0: none is; step of the last that began */
    uint32_t count, late, latest; /* that began; after they were due; by at most so many steps */
    uint64_t steps;               /* a hash of those of all that began */
    double costs_s;               /* of this rank: copies and waits */
};

static int open_context(mpi_run *run, mpi_run *own) {
    cl_int code;
    clump_error error;
    own->queue = clCreateCommandQueue(run->cl, run->device, 0, &code);
    if (code) return mpi_fail_cl(run, "clCreateCommandQueue", code);
    const clump_context_desc desc = {
        .size = sizeof desc,
        .context = run->cl,
        .device = run->device,
        .queue = own->queue,
        .personality = clump_context_get_info(run->context)->capabilities->personality};
    if (clump_context_create(&desc, &own->context, &error))
        return bench_error_set(&run->error, "%s", error.message);
    const clump_world_desc world = {.size = sizeof world,
                                    .comm = MPI_COMM_WORLD,
                                    .context = own->context,
                                    .queue = own->queue,
                                    .timeout_s = mpi_real(run, "timeout")};
    return clump_world_create(&world, &own->world, &error)
               ? bench_error_set(&run->error, "%s", error.message)
               : 0;
}

static int check_threads(mpi_run *run) {
    int level = MPI_THREAD_SINGLE;
    MPI_Query_thread(&level);
    return level == MPI_THREAD_MULTIPLE
               ? 0
               : bench_error_set(&run->error,
                                 "this MPI has no MPI_THREAD_MULTIPLE, which a thread "
                                 "that writes checkpoints needs: set writer=0");
}

/* A rank without a heap to save fails all of them at once, so none waits for it. */
static int write_file(void *of, bench_error *error) {
    mpi_checkpoint *c = of;
    const clump_status completed = c->complete(c->of, c->copy, c->words);
    int failed = completed ? mpi_fail(&c->run, "the copy", completed) : 0;
    const clump_status saved =
        clump_world_save(c->run.world, failed ? NULL : c->copy, c->run.file, NULL, NULL);
    if (!failed && saved) failed = mpi_fail_world(&c->run, "the checkpoint", saved);
    if (failed) *error = c->run.error;
    return failed;
}

int mpi_checkpoint_create(mpi_run *run, const bench_heap_desc *desc, mpi_complete_fn complete,
                          void *of, mpi_checkpoint **checkpoint) {
    mpi_checkpoint *c = *checkpoint = calloc(1, sizeof *c);
    if (!c) return bench_error_set(&run->error, "host memory ran out");
    c->run.file = run->file;
    c->complete = complete;
    c->of = of;
    c->writer = mpi_u32(run, "writer");
    c->job = (mpi_job){.work = write_file, .of = c};
    if ((c->writer && check_threads(run)) || open_context(run, &c->run)) return -1;
    bench_heap_desc own = *desc;
    own.clump = c->run.context;
    return bench_heap_create(&own, &c->copy, &run->error);
}

clump_heap *mpi_checkpoint_heap(const mpi_checkpoint *c) {
    return c->copy;
}

clump_context *mpi_checkpoint_context(const mpi_checkpoint *c) {
    return c->run.context;
}

int mpi_checkpoint_is_next(mpi_run *run, mpi_checkpoint *c, uint32_t step, int is_end,
                           int *is_next) {
    *is_next = 0;
    if (!c) return 0;
    if (!c->due && !is_end && step % mpi_u32(run, "checkpoint") == 0) c->due = step;
    if (!c->due) return 0;
    int busy = 0;
    if (c->writer == NO_STEP_WAITS && !is_end) {
        busy = mpi_job_is_busy(&c->job);
        const clump_status status = clump_world_reduce(run->world, &busy, 1, MPI_INT, MPI_MAX);
        if (status) return mpi_fail_world(run, "a checkpoint", status);
    }
    if (busy) return 0;
    const uint32_t late = step - c->due;
    c->count++;
    c->late += late > 0;
    if (late > c->latest) c->latest = late;
    c->step = step;
    c->steps = c->steps * 31 + step;
    c->due = 0;
    *is_next = 1;
    return 0;
}

int mpi_checkpoint_begin(mpi_run *run, mpi_checkpoint *c, clump_heap *heap,
                         const uint32_t words[MPI_CHECKPOINT_WORDS]) {
    const double before = MPI_Wtime();
    if (mpi_job_end(run, &c->job)) return -1;
    memcpy(c->words, words, sizeof c->words);
    const clump_status status = clump_heap_copy(heap, c->copy, NULL);
    if (status) return mpi_fail(run, "the copy", status);
    const cl_int code = clFinish(run->queue); /* so that the copy's time is counted here */
    if (code) return mpi_fail_cl(run, "clFinish", code);
    const int failed =
        c->writer == STEP_WRITES ? write_file(c, &run->error) : mpi_job_begin(run, &c->job);
    c->costs_s += MPI_Wtime() - before;
    return failed;
}

int mpi_checkpoint_end(mpi_run *run, mpi_checkpoint *c) {
    if (!c) return 0;
    double costs_s = c->costs_s;
    uint64_t steps[2] = {c->steps, UINT64_MAX - c->steps};
    if (mpi_job_end(run, &c->job)) return -1;
    clump_status status = clump_world_reduce(run->world, &costs_s, 1, MPI_DOUBLE, MPI_MAX);
    if (!status) status = clump_world_reduce(run->world, steps, 2, MPI_UINT64_T, MPI_MAX);
    if (status) return mpi_fail_world(run, "times", status);
    run->all_failed = steps[0] != UINT64_MAX - steps[1];
    if (run->all_failed)
        return bench_error_set(&run->error, "ranks began their checkpoints at different steps");
    if (!run->rank)
        printf(
            "checkpoints: %u, the last of step %u; %u late, by up to %u steps; %.3f ms a step "
            "for copies and waits\n",
            c->count, c->step, c->late, c->latest,
            costs_s * 1e3 / (mpi_real(run, "steps") + mpi_real(run, "warmup")));
    return 0;
}

void mpi_checkpoint_destroy(mpi_checkpoint *c) {
    if (!c) return;
    if (c->job.is_running) pthread_join(c->job.thread, NULL);
    clump_heap_destroy(c->copy);
    clump_world_destroy(c->run.world);
    clump_context_destroy(c->run.context);
    if (c->run.queue) clReleaseCommandQueue(c->run.queue);
    free(c);
}
