/* A world divided into domains, one heap for each rank of MPI. Objects that leave their domain
 * migrate, edges are copied to neighbours, numbers are reduced, and all heaps are saved in one
 * file. This is a separate library on top of the other one, clump-mpi, with a separate target
 * (clump::clump-mpi). clump.h does not include it.
 *
 * Domains are a grid of 1 to 3 dimensions: rank = (z * ny + y) * nx + x. A domain has a neighbour
 * in each *direction*: 2 in one dimension, 8 in two, 26 in three. Directions are numbered by their
 * offsets, x first. In one dimension, 0 is lower and 1 is higher. In two, they are (-1,-1) (0,-1)
 * (1,-1) (-1,0) (1,0) (-1,1) (0,1) (1,1). Data sent in direction d arrives at the other side from
 * direction count - 1 - d. One rank can be the neighbour in several directions, and also be its own
 * neighbour.
 *
 * Calls on halos and migrations communicate with neighbours only, in nonblocking messages of at
 * most message_bytes. No call is all-to-all. All ranks make only these calls together:
 * clump_world_agree(), clump_world_reduce(), clump_world_move_borders(), save, load, and creation
 * and destruction of a world. All ranks make the calls on a world in the same order.
 *
 * Failures. No call waits longer than timeout_s for another rank. A rank that fails notifies the
 * ranks that wait for it. They fail with CLUMP_ERR_RANK, and the error has the rank's number and
 * reason. A halo is the exception: the neighbours wait until timeout_s. The world is *broken* if a
 * rank did not answer in time, MPI failed, a halo could not be begun, or a rank lacked host memory
 * while others waited for it. Then each further call fails at once with the same error message, and
 * memory that messages in flight may still use is not freed. The program must then end with
 * MPI_Abort(), because MPI_Finalize() may wait for ranks that have ended.
 *
 * MPI: the caller initialises and finalises it. One thread makes all calls of a world
 * (MPI_THREAD_FUNNELED suffices). Errors of MPI are returned, not fatal: the communicator is a copy
 * with MPI_ERRORS_RETURN. All ranks have the same byte order.
 *
 * Threads: as for the context.
 * Read first: heap.h, save.h. docs/guide/more-than-one-device.md has a program.
 */
#ifndef CLUMP_MPI_H
#define CLUMP_MPI_H

#include <mpi.h>

#include "clump/extract.h"
#include "clump/heap.h"
#include "clump/save.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Directions of a world of three dimensions. */
#define CLUMP_WORLD_DIRECTIONS_MAX 26

/* ---- The world ------------------------------------------------------------------------------- */

/* A world. */
typedef struct clump_world clump_world;

/* Arguments of clump_world_create(). Equal on all ranks, except context and queue. The call
 * compares dimensions, domains, periodic and message_bytes. */
typedef struct clump_world_desc {
    size_t size;            /* sizeof(clump_world_desc) */
    MPI_Comm comm;          /* required, copied */
    clump_context *context; /* required: the context of this rank's heap. Lives as long as the
                               world */
    /* Halos use the world's queue. Migrations use the context's current queue
     * (clump_context_set_queue()). */
    cl_command_queue queue; /* required: the context's. Retained */
    uint32_t dimensions;    /* 1 .. 3. 0: 1 */
    uint32_t domains[3];    /* along each. Their product is the number of ranks. 0: chosen */
    int periodic[3];        /* 1: the first and the last domain along it are neighbours */
    double timeout_s;       /* longest wait for another rank, seconds. 0: 60 */
    /* largest message of MPI. Larger data is sent in pieces. 1 .. 2^30. 0: 64 MiB */
    uint64_t message_bytes;
} clump_world_desc;

/* The place of this rank. */
typedef struct clump_world_place {
    int rank, size;      /* of the communicator */
    uint32_t dimensions; /* 1 .. 3 */
    uint32_t domains[3]; /* along each, 1 in unused dimensions */
    uint32_t at[3];      /* this rank's domain */
    uint32_t directions; /* 2, 8 or 26 */
    int neighbours
        [CLUMP_WORLD_DIRECTIONS_MAX]; /* rank in each direction, -1 at the edge of the world */
} clump_world_place;

/* CONSTRUCTOR. Make a world. All ranks call this together. It waits without a limit while MPI
 * copies the communicator. All later calls have timeout_s.
 *   desc   [in]   copied
 *   world  [out]  NULL on failure
 *   error  [out, optional]
 * Blocks: yes.
 * Returns CLUMP_OK, or:
 *   CLUMP_ERR_USAGE  a value is missing or out of range, the number of domains is not the number of
 *                    ranks, or the ranks' values differ
 *   CLUMP_ERR_RANK   MPI failed, or another rank failed
 *   CLUMP_ERR_HOST_MEMORY, CLUMP_ERR_CL */
CLUMP_API clump_status clump_world_create(const clump_world_desc *desc, clump_world **world,
                                          clump_error *error);

/* DESTRUCTOR. NULL is allowed. All ranks call this together, before MPI_Finalize(). Destroy halos
 * and migrations before. If the world is broken, the communicator and messages in flight are left
 * to MPI. */
CLUMP_API void clump_world_destroy(clump_world *world);

/* Return the place of this rank. It lives as long as the world. */
CLUMP_API const clump_world_place *clump_world_get_place(const clump_world *world);

/* Return the error of the last failed call on the world, its halos and migrations. The result is
 * never NULL. */
CLUMP_API const clump_error *clump_world_get_error(const clump_world *world);

/* METHOD. Agree on success: each rank passes its status, and afterwards all know whether all
 * succeeded. All ranks call this together.
 * Blocks: yes.
 * Returns `own` if that is not CLUMP_OK, or CLUMP_OK if all ranks passed CLUMP_OK. Fails with
 * CLUMP_ERR_RANK if another rank passed a failure (the error has the rank and its status), or did
 * not answer, or CLUMP_ERR_HOST_MEMORY. */
CLUMP_API clump_status clump_world_agree(clump_world *world, clump_status own);

/* METHOD. Combine numbers of all ranks, for instance results of clump_heap_reduce(), as
 * MPI_Allreduce() does. All ranks call this together.
 *   values    [in, out]  `count` values of the type. All ranks get the result. Unchanged on failure
 *   type, op  of MPI. The last bits of sums of floating-point numbers depend on the number of
 *             ranks, integers do not
 * Blocks: yes.
 * Returns CLUMP_OK, CLUMP_ERR_USAGE, CLUMP_ERR_HOST_MEMORY or CLUMP_ERR_RANK. */
CLUMP_API clump_status clump_world_reduce(clump_world *world, void *values, int count,
                                          MPI_Datatype type, MPI_Op op);

/* ---- Halos: copies of neighbours' edges ------------------------------------------------------ */

/* A halo. */
typedef struct clump_halo clump_halo;

/* Arguments of clump_halo_create(): the parts of buffers to send and receive. The number of bytes
 * sent in a direction equals the number that the neighbour there receives from the opposite
 * direction. */
typedef struct clump_halo_desc {
    size_t size;          /* sizeof(clump_halo_desc) */
    cl_mem send, receive; /* of the context, retained. May be one buffer */
    /* For each direction, in bytes: the begin in the buffer, and the size. 0: nothing. */
    uint64_t send_at[CLUMP_WORLD_DIRECTIONS_MAX];
    uint64_t send_bytes[CLUMP_WORLD_DIRECTIONS_MAX];    /* likewise */
    uint64_t receive_at[CLUMP_WORLD_DIRECTIONS_MAX];    /* likewise */
    uint64_t receive_bytes[CLUMP_WORLD_DIRECTIONS_MAX]; /* likewise */
    /* 0: parts are sent whole. Otherwise the bytes of an element, a power of two up to 64. All
     * begins and sizes are multiples of it. A message then has only the elements that changed since
     * the last exchange, or the part if this is shorter. Equal on all ranks. Costs device memory:
     * twice the parts */
    uint32_t delta;
} clump_halo_desc;

/* Totals of a halo on this rank, from its creation on. The struct lives as long as the halo. */
typedef struct clump_halo_info {
    uint64_t exchanges;   /* ended */
    uint64_t parts;       /* sent, in all directions */
    uint64_t deltas;      /* of these, the parts that were sent as differences */
    uint64_t bytes_whole; /* of the parts, as they are in the buffer */
    uint64_t bytes_sent;  /* passed to MPI */
    /* Seconds. On the device, by profiling of the halo's queue: finding and packing differences,
     * transfers to the host, and transfers to the device with unpacking. The next begin counts the
     * writes of the last exchange */
    double pack_s, read_s, write_s;
    double wait_s; /* on the host: the waits of clump_halo_end() for messages */
} clump_halo_info;

/* CONSTRUCTOR. Make a halo. All ranks make the same halos in the same order, each with a separate
 * desc. The call sends nothing to other ranks. It ignores bytes in directions without a neighbour.
 * Blocks: yes, while memory is mapped, and with `delta` while a program is compiled.
 * Returns CLUMP_OK, or:
 *   CLUMP_ERR_USAGE        parts that are not within the buffers, or a `delta` that is not valid
 *   CLUMP_ERR_UNSUPPORTED  more halos and migrations than MPI's tags allow
 *   CLUMP_ERR_RANK         the world is broken
 *   CLUMP_ERR_HOST_MEMORY, CLUMP_ERR_BUILD, CLUMP_ERR_CL */
CLUMP_API clump_status clump_halo_create(clump_world *world, const clump_halo_desc *desc,
                                         clump_halo **halo, clump_error *error);

/* DESTRUCTOR. NULL is allowed. Waits for a halo that was begun and not ended. */
CLUMP_API void clump_halo_destroy(clump_halo *halo);

/* Return the totals of a halo. The result is never NULL. For a NULL halo, its members are 0. */
CLUMP_API const clump_halo_info *clump_halo_get_info(const clump_halo *halo);

/* METHOD. Begin an exchange: read the parts to send, after all commands enqueued before, and pass
 * them to MPI. Commands enqueued between begin and end run while messages are in flight. They must
 * not use the received parts. They may write the sent parts.
 * Transfers are on a queue of the halo, through pinned memory, in pieces of 1 MiB at most. A piece
 * is sent while the next one is read.
 * Blocks: until the commands enqueued before are done, and the parts are read. Therefore enqueue
 * commands that need no ghosts after it.
 * Returns CLUMP_OK. Fails with CLUMP_ERR_USAGE if it was begun before and not ended, CLUMP_ERR_RANK
 * or CLUMP_ERR_CL. */
CLUMP_API clump_status clump_halo_begin(clump_halo *halo);

/* METHOD. End an exchange: wait for the messages, and enqueue writes of the received data. Commands
 * enqueued later on the world's queue run after the writes. The writes do not wait for commands
 * enqueued between begin and end.
 *   sync  [in, optional]  of the writes
 * Blocks: for other ranks, not for the writes.
 * With `delta` the library has a copy of the received parts, and the program may change them.
 * Returns CLUMP_OK. Fails with CLUMP_ERR_USAGE if it was not begun, CLUMP_ERR_RANK if a neighbour
 * did not answer, sent another number of bytes, has another `delta`, or sent a difference that does
 * not follow the last exchange, or CLUMP_ERR_CL. With `delta`, a failure to keep received data
 * breaks the world. */
CLUMP_API clump_status clump_halo_end(clump_halo *halo, const clump_sync *sync);

/* ---- Migration: objects that leave their domain ---------------------------------------------- */

/* A migration, which runs again and again. */
typedef struct clump_migration clump_migration;

/* Arguments of clump_migration_create(): which objects leave. */
typedef struct clump_migration_desc {
    size_t size;            /* sizeof(clump_migration_desc) */
    clump_heap *heap;       /* required, of the world's context (which the call does not verify).
                               Destroy the migration before the heap */
    const char *class_name; /* required: objects of this class and its subclasses may leave */
    /* A scalar of an integer type: 0 stays, d + 1 leaves in direction d. It is 0 in objects that
     * arrive. NULL: the program's kernels list the leaving objects (clump_migration_info), which
     * avoids a pass over all objects. */
    const char *field;
    uint32_t most; /* upper limit for objects that leave in a run, in all directions together. 0:
                      65536 */
    int copies;    /* 1: objects stay, and copies arrive: ghosts of neighbours' objects */
} clump_migration_desc;

/* Results of a run on this rank. */
typedef struct clump_migration_report {
    size_t size;            /* sizeof(clump_migration_report) */
    uint64_t left, arrived; /* objects */
    uint64_t bytes;         /* sent */
    /* references of objects that left to objects that did not leave in the same direction. They are
     * null at the other side */
    uint64_t left_out;
    /* Seconds on the host: until the leaving objects are read (with the commands enqueued before),
     * waits for messages, making the arriving objects, and freeing the objects that left */
    double take_s, wait_s, make_s, free_s;
} clump_migration_report;

/* CONSTRUCTOR. Make a migration. All ranks make the same migrations in the same order.
 * Blocks: yes, while a program is compiled.
 * Returns CLUMP_OK, or:
 *   CLUMP_ERR_USAGE        a value is missing, or a field of another type
 *   CLUMP_ERR_NOT_FOUND    no such class or field
 *   CLUMP_ERR_UNSUPPORTED  more halos and migrations than MPI's tags allow
 *   CLUMP_ERR_RANK         the world is broken
 *   CLUMP_ERR_HOST_MEMORY, CLUMP_ERR_BUILD, CLUMP_ERR_CL */
CLUMP_API clump_status clump_migration_create(clump_world *world, const clump_migration_desc *desc,
                                              clump_migration **migration, clump_error *error);

/* DESTRUCTOR. NULL is allowed. */
CLUMP_API void clump_migration_destroy(clump_migration *migration);

/* Buffers of a migration for the program's kernels. The struct lives as long as the migration. The
 * buffers are not retained for the caller. */
typedef struct clump_migration_info {
    /* Without `field`: a counter, followed by two numbers for each object, its reference (`id`) and
     * the direction. A kernel does
     *     uint i = atomic_inc(list);
     *     if (i < most) { list[1 + 2 * i] = self.id; list[2 + 2 * i] = direction; }
     * with each object at most once. clump_migration_run() empties it. NULL with `field`. */
    cl_mem list;
    /* The references of the objects that arrived in the last run: class by class, by id, in each by
     * the direction that they came from. Valid until the next run. NULL if none arrived. */
    cl_mem arrivals;
} clump_migration_info;

/* Return the buffers of a migration. The result is never NULL. For a NULL migration, its members
 * are NULL. */
CLUMP_API const clump_migration_info *clump_migration_get_info(const clump_migration *migration);

/* METHOD. Move objects that leave: send them, make them at the other side, and then free them here.
 * Each neighbour answers. Therefore no object is lost, and none is in two heaps, except if the
 * world breaks. All fields move with the objects, and so do the elements and capacities of arrays
 * that grow. A reference in a field or an element to an object that leaves in the same direction
 * stays valid, other references become null there. References here to objects that left dangle. If
 * the heap of a neighbour is full, or the neighbour fails, its objects stay here with their fields
 * and arrays, and the next run sends them. This does not break the world. A full heap also reports
 * OUT_OF_MEMORY (clump_heap_take_errors()).
 *   report  [out, optional]
 * An earlier error of a kernel that no call has returned yet is also an error here, and objects
 * stay as if the heap were full. To avoid this, call clump_heap_take_errors() before the run, or
 * set errors_on_request (heap.h). Costs on the device: launches and memory for the objects that
 * leave and arrive, not for the heap. Each array that grows costs two launches at each side, some
 * transfers, and up to 80 MiB for its elements.
 * Blocks: yes.
 * Returns CLUMP_OK, or:
 *   CLUMP_ERR_TOO_SMALL      more than `most` objects would leave. None left
 *   CLUMP_ERR_DEVICE_MEMORY  arriving objects, or their arrays, do not fit into this heap. They
 *                            stay at the other side
 *   CLUMP_ERR_USAGE          a direction at the edge of the world, or an object twice in the list
 *   CLUMP_ERR_REFERENCE      the list has a reference that names no live object of the class
 *   CLUMP_ERR_RANK           a neighbour failed, or did not answer
 *   CLUMP_ERR_HOST_MEMORY, CLUMP_ERR_CL */
CLUMP_API clump_status clump_migration_run(clump_migration *migration,
                                           clump_migration_report *report);

/* ---- Borders that move ----------------------------------------------------------------------- */

/* Arguments of clump_world_move_borders(): the rows of this rank's domain, in a world of one
 * dimension. Rows are what the program divides the dimension into: rows of cells, layers of space.
 * The rows of rank r end where rank r + 1 begins. */
typedef struct clump_borders_desc {
    size_t size;             /* sizeof(clump_borders_desc) */
    uint64_t begin, count;   /* begin .. begin + count - 1 are of this domain. At least one */
    const uint64_t *weights; /* required: work of each of them in a step, for instance the number of
                                its objects. The sum of all ranks must be less than 2^63 */
    uint64_t least;          /* rows that stay with a domain. 0: 1 */
    uint64_t most;           /* rows that a domain can have. A larger one does not grow. 0: any */
    uint64_t farthest;       /* rows by which a border moves at most. 0: as far as `least` allows */
} clump_borders_desc;

/* METHOD. Choose new borders, so that all domains have about the same work. Border r, below the
 * domain of rank r, moves to the row that has r / ranks of all work below it, or as near as it may:
 * it passes only through rows of the two domains beside it, and of these each keeps `least`.
 * Therefore all objects whose domain changes go to a neighbour, and one migration moves them.
 * Borders that have to go farther need more calls. The first and the last row of the world stay.
 * Equal weights result in equal borders, on any machine. The call changes no objects: the program
 * makes and frees what belongs to rows, and runs the migration. All ranks call this together.
 *   desc          [in]   `least`, `most` and `farthest` are equal on all ranks
 *   begin, count  [out]  rows of this domain from now on. Unchanged on failure
 * Costs two sums and two agreements of log2(ranks) messages, and two messages to each neighbour.
 * Blocks: yes.
 * Returns CLUMP_OK, or:
 *   CLUMP_ERR_USAGE        a value is missing, or rows of two neighbours do not meet
 *   CLUMP_ERR_UNSUPPORTED  a world of more than one dimension
 *   CLUMP_ERR_RANK         another rank failed, or did not answer
 *   CLUMP_ERR_HOST_MEMORY */
CLUMP_API clump_status clump_world_move_borders(clump_world *world, const clump_borders_desc *desc,
                                                uint64_t *begin, uint64_t *count);

/* ---- One file -------------------------------------------------------------------------------- */

/* METHOD. Save the heaps of all ranks in one file, by MPI-IO. A head has the number and places of
 * the parts. The part of each rank is the output of clump_heap_save(). All ranks call this
 * together. The file gets its name when it is complete, as in save.h. With zstd_level each heap is
 * saved twice, the first time to find its size. A rank has only pieces in memory.
 *   path    [in]             the same file for all ranks
 *   desc    [in, optional]   only piece_bytes, zstd_level, compact and progress are used
 *   report  [out, optional]  of this rank's heap
 * Blocks: yes.
 * Returns, on all ranks, CLUMP_OK. A rank that fails returns a status of clump_heap_save(), or
 * CLUMP_ERR_IO. If another rank failed or did not answer, a rank returns CLUMP_ERR_RANK. */
CLUMP_API clump_status clump_world_save(clump_world *world, clump_heap *heap, const char *path,
                                        const clump_save_desc *desc, clump_save_report *report);

/* METHOD. Load a file of clump_world_save(), with the same number of ranks and domains. For other
 * numbers, use clump_world_load_parts(). All ranks call this together.
 *   desc  [in, optional]  only without_registered and progress are used
 * Blocks: yes.
 * Returns, on all ranks, CLUMP_OK, or:
 *   CLUMP_ERR_USAGE  the file has another number of ranks, or other domains: the error has these
 *   CLUMP_ERR_RANK   another rank failed. This rank's heap may be loaded then, but must not be used
 *   CLUMP_ERR_FORMAT, CLUMP_ERR_IO
 * A rank that fails can also return any status of clump_heap_load(). */
CLUMP_API clump_status clump_world_load(clump_world *world, clump_heap *heap, const char *path,
                                        const clump_load_desc *desc, clump_load_report *report);

/* The world that a file was saved from. */
typedef struct clump_world_saved {
    size_t size;         /* sizeof(clump_world_saved) */
    uint32_t ranks;      /* number of ranks, and of parts: part n is the heap of rank n */
    uint32_t dimensions; /* 1 .. 3 */
    uint32_t domains[3]; /* along each: rank = (z * domains[1] + y) * domains[0] + x */
} clump_world_saved;

/* METHOD. Read the head of a file of clump_world_save(). This rank reads by itself.
 *   saved  [out]  all 0 on failure
 * Blocks: yes.
 * Returns CLUMP_OK. Fails with CLUMP_ERR_RANK if the world is broken, CLUMP_ERR_USAGE,
 * CLUMP_ERR_FORMAT or CLUMP_ERR_IO. */
CLUMP_API clump_status clump_world_read_saved(clump_world *world, const char *path,
                                              clump_world_saved *saved);

/* METHOD. Add the objects of some parts to this rank's heap, for a world whose domains differ from
 * the saved ones. With fewer ranks, each rank loads several parts. With more ranks, several ranks
 * load the same part, and each frees the objects outside its domain. All ranks call this together.
 * Each names its parts, or none.
 *   heap    [in]             may have objects. Objects of the first part are made first. The schema
 *                            must have the fields of the file, as for clump_heap_insert()
 *   parts   [in]             `count` different numbers, 0 .. clump_world_saved.ranks - 1
 *   desc    [in, optional]   only progress is used. It counts each part separately
 *   report  [out, optional]  of this rank: objects, and bytes of their values. After a failure, the
 *                            objects made before
 * References within a part stay. References of registered buffers and handles are left out. The
 * call needs memory for the values of one part, in addition to the heap. A rank that has loaded its
 * parts waits for the others. Therefore timeout_s must be longer than they need.
 * Blocks: yes.
 * Returns, on all ranks, CLUMP_OK, or:
 *   CLUMP_ERR_USAGE  a part that the file does not have, or one twice
 *   CLUMP_ERR_RANK   another rank failed
 * A rank that fails can also return any status of clump_extract_load() and clump_heap_insert().
 * After a failure the heap has the objects of the parts before. */
CLUMP_API clump_status clump_world_load_parts(clump_world *world, clump_heap *heap,
                                              const char *path, const uint32_t *parts,
                                              uint32_t count, const clump_load_desc *desc,
                                              clump_extract_report *report);

#ifdef __cplusplus
}
#endif
#endif
