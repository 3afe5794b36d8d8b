/* Checkpoints while the steps go on: the heap is copied on the device, and a thread of this program
 * saves the copies of all ranks in one file, which replaces the one before when it is complete.
 *
 * Invariant: the thread uses a clump_context, a queue and a world of its own, and the rank uses
 * them only while there is no thread.
 *
 * Read first: run.h, include/clump/copy.h.
 */
#ifndef BENCH_MPI_CHECKPOINT_H
#define BENCH_MPI_CHECKPOINT_H

#include "run.h"

#define MPI_CHECKPOINT_WORDS 4

typedef struct mpi_checkpoint mpi_checkpoint;

/* What else is to be saved with the objects, from numbers that mpi_checkpoint_begin() got. */
typedef clump_status (*mpi_complete_fn)(clump_heap *copy, const uint32_t *words);

/* A second heap, made as `desc` says, in a context of its own. has_thread 0: each checkpoint is
 * written before the next step. All ranks call it together. */
int mpi_checkpoint_create(mpi_run *run, const bench_heap_desc *desc, int has_thread,
                          mpi_complete_fn complete, mpi_checkpoint **checkpoint);

/* Copy the heap, and begin to write run->file. Waits for the checkpoint before. */
int mpi_checkpoint_begin(mpi_run *run, mpi_checkpoint *checkpoint, clump_heap *heap,
                         const uint32_t words[MPI_CHECKPOINT_WORDS]);

/* Wait until the last one is complete. */
int mpi_checkpoint_end(mpi_run *run, mpi_checkpoint *checkpoint);

/* NULL is allowed. */
void mpi_checkpoint_destroy(mpi_checkpoint *checkpoint);

#endif
