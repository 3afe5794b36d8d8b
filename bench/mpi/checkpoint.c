/* Checkpoints while the steps go on. Read first: checkpoint.h. */
#include "checkpoint.h"

#include <stdlib.h>
#include <string.h>

#include "clump/copy.h"
#include "job.h"

struct mpi_checkpoint {
    mpi_run run; /* the context, queue and world of the thread, and its error */
    clump_heap *copy;
    mpi_complete_fn complete;
    uint32_t words[MPI_CHECKPOINT_WORDS];
    mpi_job job;
    int has_thread;
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

static int write_file(void *of, bench_error *error) {
    mpi_checkpoint *c = of;
    int failed = 0;
    clump_status status = c->complete(c->copy, c->words);
    if (status) {
        failed = mpi_fail(&c->run, "the copy", status);
    } else {
        status = clump_world_save(c->run.world, c->copy, c->run.file, NULL, NULL);
        if (status) failed = mpi_fail_world(&c->run, "the checkpoint", status);
    }
    if (failed) *error = c->run.error;
    return failed;
}

int mpi_checkpoint_create(mpi_run *run, const bench_heap_desc *desc, int has_thread,
                          mpi_complete_fn complete, mpi_checkpoint **checkpoint) {
    mpi_checkpoint *c = *checkpoint = calloc(1, sizeof *c);
    if (!c) return bench_error_set(&run->error, "host memory ran out");
    c->run.file = run->file;
    c->complete = complete;
    c->has_thread = has_thread;
    c->job = (mpi_job){.work = write_file, .of = c};
    if ((has_thread && check_threads(run)) || open_context(run, &c->run)) return -1;
    bench_heap_desc own = *desc;
    own.clump = c->run.context;
    return bench_heap_create(&own, &c->copy, &run->error);
}

int mpi_checkpoint_end(mpi_run *run, mpi_checkpoint *c) {
    return mpi_job_end(run, &c->job);
}

int mpi_checkpoint_begin(mpi_run *run, mpi_checkpoint *c, clump_heap *heap,
                         const uint32_t words[MPI_CHECKPOINT_WORDS]) {
    if (mpi_checkpoint_end(run, c)) return -1;
    memcpy(c->words, words, sizeof c->words);
    const clump_status status = clump_heap_copy(heap, c->copy, NULL);
    if (status) return mpi_fail(run, "the copy", status);
    return c->has_thread ? mpi_job_begin(run, &c->job) : write_file(c, &run->error);
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
