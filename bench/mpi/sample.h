/* Files of sampled objects while the steps go on: a kernel lists them in a buffer, and a thread
 * reads the buffer on a queue of its own, and writes PREFIX-STEP-RANK.vtp, where PREFIX is
 * run->file. Rank 0 also writes PREFIX-STEP.pvtp, which names the files of all ranks, and
 * PREFIX.pvd, which names the steps.
 *
 * Invariant: what a file names is complete. Therefore rank 0 names a step when the next sample
 * begins, since then all ranks have agreed that their files of it are written.
 *
 * Read first: job.h, bench/harness/vtk.h.
 */
#ifndef BENCH_MPI_SAMPLE_H
#define BENCH_MPI_SAMPLE_H

#include "run.h"

typedef struct mpi_sample mpi_sample;

/* Room for `most` objects on cells of rows of 2^width_bits, every `stride` steps. */
int mpi_sample_create(mpi_run *run, uint64_t most, uint32_t width_bits, uint32_t stride,
                      mpi_sample **sample);

/* The buffer is 4 words, the first of which is the number of objects, and then 4 words for each:
 * cell, the low and the high half of an identity, state. The kernel counts objects beyond `most`,
 * and does not write them. */
cl_mem mpi_sample_buffer(const mpi_sample *sample);

/* Enqueue the kernel, a do-all, and begin to write what it finds. Waits for the files of the sample
 * before. All ranks call it together. */
int mpi_sample_begin(mpi_run *run, mpi_sample *sample, clump_heap *heap, clump_kernel *kernel,
                     uint32_t step);

/* Wait until all files of all ranks are complete, and print how long steps waited. All ranks call
 * it together. */
int mpi_sample_end(mpi_run *run, mpi_sample *sample);

/* NULL is allowed. */
void mpi_sample_destroy(mpi_sample *sample);

#endif
