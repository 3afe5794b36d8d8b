/* The file of all heaps (mpi.h):
 *
 *   head   64 bytes: "CLUMPWLD", version, ranks, dimensions, domains x y z (4 bytes each), 24 bytes
 *          of 0, hash of these
 *   table  of each rank 24 bytes: where its part begins, how many bytes it has, hash of these and
 *          of the rank
 *   parts  one after the other: what clump_heap_save() writes, with its own checksums
 *
 * Numbers are little-endian as all else; hashes are 64-bit FNV-1a. world_file.c has the file,
 * save.c writes it, load.c reads it.
 *
 * Invariant: no call on the file is of several ranks, so none waits for a rank that has ended: each
 * opens the file alone (MPI_COMM_SELF), writes its own bytes, and ranks agree with a deadline
 * between the steps. A collective call of MPI-IO cannot be given one.
 *
 * Read first: world.h, docs/internals/save.md.
 */
#ifndef CLUMPI_MPI_WORLD_FILE_H
#define CLUMPI_MPI_WORLD_FILE_H

#include "mpi/world.h"

typedef struct clumpi_world_file_head {
    char magic[8];
    uint32_t version, ranks, dimensions, domains[3];
    char rest[24];
    uint64_t hash;
} clumpi_world_file_head;

typedef struct clumpi_world_file_entry {
    uint64_t begin, bytes, hash;
} clumpi_world_file_entry;

/* The file, as this rank has it open, and the part that is written or read. */
typedef struct clumpi_world_file {
    clump_world *world;
    const char *path;
    MPI_File handle;
    int is_open, is_made;      /* made: by this rank */
    uint64_t begin, bytes, at; /* of the part: its place, its size, and what is done of it */
    clump_status status;       /* of the file; the world's error has words */
    clump_progress_fn progress;
    void *user;
} clumpi_world_file;

/* What the head of this world's file has. */
clumpi_world_file_head clumpi_world_file_head_of(const clump_world *world);
/* Where the first part begins, and the entry of one. */
uint64_t clumpi_world_file_begin(uint32_t ranks);
uint64_t clumpi_world_file_entry_at(uint32_t part);
uint64_t clumpi_world_file_entry_hash(const clumpi_world_file_entry *entry, uint32_t part);

clump_status clumpi_world_file_open(clumpi_world_file *file, int mode);
/* Gives `status`, or that of the closing if it was none. */
clump_status clumpi_world_file_close(clumpi_world_file *file, clump_status status);
clump_status clumpi_world_file_write(clumpi_world_file *file, uint64_t at, const void *data,
                                     uint64_t bytes);
/* How many bytes there were. */
uint64_t clumpi_world_file_read(clumpi_world_file *file, uint64_t at, void *data, uint64_t bytes);

clump_status clumpi_world_file_fail(clumpi_world_file *file, const char *what, int code);
/* CLUMP_ERR_FORMAT, unless the file has failed before. */
clump_status clumpi_world_file_bad(clumpi_world_file *file, const char *what);
/* The head, whole and of this version. */
clump_status clumpi_world_file_read_head(clumpi_world_file *file, clumpi_world_file_head *head);
/* The words of the file, else those of the heap, whose call gave `status`. */
clump_status clumpi_world_file_heap_status(clumpi_world_file *file, clump_status status);
/* clump_progress_fn, of the program's if it has one. */
int clumpi_world_file_progress(void *user, uint64_t done, uint64_t all);

#endif
