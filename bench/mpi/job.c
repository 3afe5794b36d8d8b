/* Work that a thread does. Read first: job.h. */
#include "job.h"

static void *run_work(void *of) {
    mpi_job *job = of;
    job->failed = job->work(job->of, &job->error);
    atomic_store(&job->is_busy, 0);
    return NULL;
}

int mpi_job_begin(mpi_run *run, mpi_job *job) {
    atomic_store(&job->is_busy, 1);
    job->is_running = !pthread_create(&job->thread, NULL, run_work, job);
    return job->is_running ? 0 : bench_error_set(&run->error, "no thread for a file");
}

int mpi_job_is_busy(mpi_job *job) {
    return job->is_running && atomic_load(&job->is_busy);
}

int mpi_job_end(mpi_run *run, mpi_job *job) {
    if (job->is_running) pthread_join(job->thread, NULL);
    job->is_running = 0;
    if (job->failed) run->error = job->error;
    return job->failed;
}
