/* Work of a rank that a thread does while the steps go on, one piece at a time: checkpoints, and
 * files of a sample.
 *
 * Invariant: between mpi_job_begin() and mpi_job_end() only the thread uses what the work uses.
 *
 * Read first: run.h.
 */
#ifndef BENCH_MPI_JOB_H
#define BENCH_MPI_JOB_H

#include <pthread.h>
#include <stdatomic.h>

#include "run.h"

/* Zero at the beginning. */
typedef struct mpi_job {
    int (*work)(void *of, bench_error *error); /* returns 0, or -1 with words */
    void *of;
    pthread_t thread;
    int is_running, failed;
    atomic_int is_busy; /* the thread is not done with it */
    bench_error error;
} mpi_job;

/* Begin job->work(job->of). The work before has ended. */
int mpi_job_begin(mpi_run *run, mpi_job *job);

/* Would mpi_job_end() wait? */
int mpi_job_is_busy(mpi_job *job);

/* Wait for it, if it was begun. Returns what it returned, also if asked again. */
int mpi_job_end(mpi_run *run, mpi_job *job);

#endif
