/* Checkpoints while the steps go on: the heap is copied on the device, and a thread of this program
 * saves the copies of all ranks in one file, which replaces the one before when it is complete.
 *
 * No step waits for a file (writer=1): a checkpoint that is due while the file before is written
 * begins after the first step at which that is complete on all ranks. One that is due meanwhile is
 * the same one. All ranks begin the same checkpoints, since they agree about each of these steps.
 *
 * Invariant: the thread uses a clump_context, a queue and a world of its own, and the rank uses
 * them only while there is no thread.
 *
 * Read first: run.h, include/clump/copy.h.
 */
#ifndef BENCH_MPI_CHECKPOINT_H
#define BENCH_MPI_CHECKPOINT_H

#include "run.h"

#define MPI_CHECKPOINT_WORDS 5

typedef struct mpi_checkpoint mpi_checkpoint;

/* What the thread does with the copy before it is saved, by numbers that mpi_checkpoint_begin()
 * got. */
typedef clump_status (*mpi_complete_fn)(void *of, clump_heap *copy, const uint32_t *words);

/* A second heap, made as `desc` says, in a context of its own. All ranks call it together. */
int mpi_checkpoint_create(mpi_run *run, const bench_heap_desc *desc, mpi_complete_fn complete,
                          void *of, mpi_checkpoint **checkpoint);

/* The second heap and its context, for programs that `complete` needs. */
clump_heap *mpi_checkpoint_heap(const mpi_checkpoint *checkpoint);
clump_context *mpi_checkpoint_context(const mpi_checkpoint *checkpoint);

/* After each step, with the number of steps that were made: is a checkpoint to begin now? At the
 * end, one that is due waits for the file before. All ranks call it together, and get the same.
 * NULL: never. */
int mpi_checkpoint_is_next(mpi_run *run, mpi_checkpoint *checkpoint, uint32_t step, int is_end,
                           int *is_next);

/* Then: copy the heap, and begin to write run->file. */
int mpi_checkpoint_begin(mpi_run *run, mpi_checkpoint *checkpoint, clump_heap *heap,
                         const uint32_t words[MPI_CHECKPOINT_WORDS]);

/* Wait until the last one is complete. Rank 0 prints which it is, and what all of them cost. All
 * ranks call it together. NULL is allowed. */
int mpi_checkpoint_end(mpi_run *run, mpi_checkpoint *checkpoint);

/* NULL is allowed. */
void mpi_checkpoint_destroy(mpi_checkpoint *checkpoint);

#endif
