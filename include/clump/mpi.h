/* A world divided into domains, one heap for each rank of MPI: objects that leave their domain
 * migrate, edges are copied to neighbours, numbers are reduced, and all heaps are saved in one
 * file. A library of its own on top of the other, clump-mpi, with its own target
 * (clump::clump-mpi), and not part of clump.h.
 *
 * Domains are a grid of 1 to 3 dimensions; rank = (z * ny + y) * nx + x. A domain has a neighbour
 * in each *direction*: 2 in one dimension, 8 in two, 26 in three. Directions are numbered by their
 * offsets, x first: in one dimension 0 is lower and 1 is higher; in two they are (-1,-1) (0,-1)
 * (1,-1) (-1,0) (1,0) (-1,1) (0,1) (1,1). What is sent in direction d comes from direction count -
 * 1 - d at the other side. One rank can be the neighbour in several directions, and its own.
 *
 * A call speaks with neighbours alone, in nonblocking messages of at most message_bytes; nothing is
 * all-to-all. Only clump_world_agree(), clump_world_reduce(), save, load, and creation and
 * destruction of a world are of all ranks. All ranks make the calls on a world in the same order.
 *
 * Failures. No call waits longer than timeout_s for another rank. A rank that fails tells those who
 * wait for it, and they get CLUMP_ERR_RANK with its number and reason. After a rank gave no answer
 * in time, or MPI failed, the world is *broken*: each further call fails with the same words at
 * once, and memory that messages under way may still use is not freed. The program then ends by
 * MPI_Abort(): MPI_Finalize() may wait for ranks that are gone.
 *
 * MPI: the caller initialises and finalises it; all calls of a world are made by one thread
 * (MPI_THREAD_FUNNELED suffices). Errors of MPI's own are returned, not fatal: the communicator is
 * a copy with MPI_ERRORS_RETURN. All ranks have the same byte order.
 *
 * Threads: as for the context. Read first: heap.h, save.h. docs/guide/more-than-one-device.md has a
 * program.
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

/* What a world is made of. The same on all ranks, but context and queue. */
typedef struct clump_world_desc {
    size_t size;            /* sizeof(clump_world_desc) */
    MPI_Comm comm;          /* required; copied */
    clump_context *context; /* required: that of this rank's heap. Lives as long as the world */
    /* Halos are on the world's queue; migrations on the context's queue in use
     * (clump_context_set_queue()). */
    cl_command_queue queue; /* required: the context's. Retained */
    uint32_t dimensions;    /* 1 .. 3; 0: 1 */
    uint32_t domains[3];    /* along each; their product is the number of ranks. 0: chosen */
    int periodic[3];        /* 1: the first and the last domain along it are neighbours */
    double timeout_s;       /* longest wait for another rank, seconds; 0: 60 */
    /* of a message of MPI, at most; larger ones are sent in pieces. 1 .. 2^30; 0: 64 MiB */
    uint64_t message_bytes;
} clump_world_desc;

/* Where this rank is. */
typedef struct clump_world_place {
    int rank, size;      /* of the communicator */
    uint32_t dimensions; /* 1 .. 3 */
    uint32_t domains[3]; /* along each; 1 where there is no such dimension */
    uint32_t at[3];      /* this rank's domain */
    uint32_t directions; /* 2, 8 or 26 */
    int neighbours
        [CLUMP_WORLD_DIRECTIONS_MAX]; /* rank in each direction; -1: the world ends there */
} clump_world_place;

/* CONSTRUCTOR. Of all ranks. Waits without a limit while MPI copies the communicator; all later
 * calls have timeout_s.
 *   desc   [in]             copied
 *   world  [out]            NULL on failure
 *   error  [out, optional]
 * Blocks: yes. Returns CLUMP_OK; CLUMP_ERR_USAGE something is missing or out of range, the domains
 * are not as many as the ranks, or ranks differ in what they say; CLUMP_ERR_HOST_MEMORY;
 * CLUMP_ERR_RANK MPI failed, or another rank did. */
CLUMP_API clump_status clump_world_create(const clump_world_desc *desc, clump_world **world,
                                          clump_error *error);

/* DESTRUCTOR. Of all ranks, before MPI_Finalize(); NULL is allowed. Halos and migrations are
 * destroyed before. Of a broken world the communicator and messages under way are left to MPI. */
CLUMP_API void clump_world_destroy(clump_world *world);

/* Lives as long as the world. */
CLUMP_API const clump_world_place *clump_world_get_place(const clump_world *world);

/* The error of the last failed call on the world, its halos and migrations. Never NULL. */
CLUMP_API const clump_error *clump_world_get_error(const clump_world *world);

/* METHOD. All ranks succeeded so far, or all know that one did not: every rank gives its own
 * status. Of all ranks.
 * Blocks: yes. Returns `own` if it is no success; CLUMP_OK all gave CLUMP_OK; CLUMP_ERR_RANK
 * another one did not, the error names the rank and its status, or one gave no answer. */
CLUMP_API clump_status clump_world_agree(clump_world *world, clump_status own);

/* METHOD. Combine numbers of all ranks, for instance results of clump_heap_reduce(). Of all ranks;
 * as MPI_Allreduce().
 *   values  [in, out]  `count` of them of the type; all ranks get the result. Unchanged on failure
 *   type, op           of MPI. Sums of floating-point numbers depend on the number of ranks in
 *                      their last bits, integers do not
 * Blocks: yes. Returns CLUMP_OK; CLUMP_ERR_USAGE; CLUMP_ERR_HOST_MEMORY; CLUMP_ERR_RANK. */
CLUMP_API clump_status clump_world_reduce(clump_world *world, void *values, int count,
                                          MPI_Datatype type, MPI_Op op);

/* ---- Halos: copies of neighbours' edges ------------------------------------------------------ */

/* A halo. */
typedef struct clump_halo clump_halo;

/* Which parts of which buffers go where. Bytes that are sent in a direction are as many as the
 * neighbour there receives from the opposite one. */
typedef struct clump_halo_desc {
    size_t size;          /* sizeof(clump_halo_desc) */
    cl_mem send, receive; /* of the context; retained; may be one buffer */
    /* Of each direction, bytes: where it begins in the buffer, and how many; 0: nothing. */
    uint64_t send_at[CLUMP_WORLD_DIRECTIONS_MAX];
    uint64_t send_bytes[CLUMP_WORLD_DIRECTIONS_MAX];    /* likewise */
    uint64_t receive_at[CLUMP_WORLD_DIRECTIONS_MAX];    /* likewise */
    uint64_t receive_bytes[CLUMP_WORLD_DIRECTIONS_MAX]; /* likewise */
} clump_halo_desc;

/* CONSTRUCTOR. All ranks make the same halos in the same order, each with its own desc. Says
 * nothing to other ranks. Bytes in directions without a neighbour are disregarded.
 * Blocks: no. Returns CLUMP_OK; CLUMP_ERR_USAGE parts that are not within the buffers;
 * CLUMP_ERR_DEVICE_MEMORY too many halos and migrations for the tags of MPI; CLUMP_ERR_HOST_MEMORY;
 * CLUMP_ERR_CL. */
CLUMP_API clump_status clump_halo_create(clump_world *world, const clump_halo_desc *desc,
                                         clump_halo **halo, clump_error *error);

/* DESTRUCTOR. NULL is allowed. A halo that was begun and not ended is waited for. */
CLUMP_API void clump_halo_destroy(clump_halo *halo);

/* METHOD. Begin an exchange: reads what is sent, after all that was enqueued so far, and gives it
 * to MPI. What is enqueued between begin and end runs while messages are under way; it must not use
 * the parts that are received.
 * Blocks: until what was enqueued before is done. Returns CLUMP_OK; CLUMP_ERR_USAGE it was begun
 * before; CLUMP_ERR_RANK; CLUMP_ERR_CL. */
CLUMP_API clump_status clump_halo_begin(clump_halo *halo);

/* METHOD. End it: waits for the messages, and enqueues writes of what was received.
 *   sync  [in, optional]  of the writes
 * Blocks: for other ranks; not for the writes. Returns CLUMP_OK; CLUMP_ERR_USAGE it was not begun;
 * CLUMP_ERR_RANK a neighbour gave no answer, or sent another number of bytes; CLUMP_ERR_CL. */
CLUMP_API clump_status clump_halo_end(clump_halo *halo, const clump_sync *sync);

/* ---- Migration: objects that leave their domain ---------------------------------------------- */

/* A migration, which is run again and again. */
typedef struct clump_migration clump_migration;

/* Whose objects leave, and how it is known which. */
typedef struct clump_migration_desc {
    size_t size;            /* sizeof(clump_migration_desc) */
    clump_heap *heap;       /* required; the migration must be destroyed before it */
    const char *class_name; /* required: objects of this class and its subclasses may leave */
    /* A scalar of an integer type: 0 stays, d + 1 leaves in direction d. It is 0 in objects that
     * arrive. NULL: the program's kernels list those that leave (clump_migration_info), which saves
     * a look at all objects. */
    const char *field;
    uint32_t most; /* objects that leave in a run, at most, in all directions together; 0: 65536 */
    int copies;    /* 1: objects stay, and copies arrive: ghosts of neighbours' objects */
} clump_migration_desc;

/* What a run did on this rank. */
typedef struct clump_migration_report {
    size_t size;            /* sizeof(clump_migration_report) */
    uint64_t left, arrived; /* objects */
    uint64_t bytes;         /* sent */
    /* references of objects that left, to objects that did not leave in the same direction: null
     * there */
    uint64_t left_out;
} clump_migration_report;

/* CONSTRUCTOR. All ranks make the same migrations in the same order.
 * Blocks: yes, while a program is compiled. Returns CLUMP_OK; CLUMP_ERR_USAGE something is missing,
 * a heap of another context or with arrays of run-time length, or a field of another type;
 * CLUMP_ERR_NOT_FOUND; CLUMP_ERR_DEVICE_MEMORY; CLUMP_ERR_HOST_MEMORY; CLUMP_ERR_BUILD;
 * CLUMP_ERR_CL. */
CLUMP_API clump_status clump_migration_create(clump_world *world, const clump_migration_desc *desc,
                                              clump_migration **migration, clump_error *error);

/* DESTRUCTOR. NULL is allowed. */
CLUMP_API void clump_migration_destroy(clump_migration *migration);

/* What kernels of the program use of a migration. Lives as long as it; what it names is not
 * retained for the caller. */
typedef struct clump_migration_info {
    /* Without `field`: a word counts; after it come 2 words for each object: its reference (`id`),
     * and the direction. A kernel does
     *     uint i = atomic_inc(list);
     *     if (i < most) { list[1 + 2 * i] = self.id; list[2 + 2 * i] = direction; }
     * with each object at most once. clump_migration_run() empties it. NULL with `field`. */
    cl_mem list;
    /* The references of the objects that arrived in the last run: class by class, by id, in each by
     * the direction that they came from. Valid until the next run. NULL: none arrived. */
    cl_mem arrivals;
} clump_migration_info;

/* Not NULL; of NULL, zeros. */
CLUMP_API const clump_migration_info *clump_migration_get_info(const clump_migration *migration);

/* METHOD. Objects that leave are sent, made at the other side, and freed here when they are there.
 * Each neighbour answers, so no object is lost, and none is in two heaps, except if the world
 * breaks. All fields go along; a reference to an object that leaves in the same direction stays
 * one, another becomes null there. What refers to them here dangles. Where a neighbour has no room,
 * or fails, the objects that were to go there stay, and so do their fields: the next run sends
 * them. The world is not broken by that. A heap without room has also reported OUT_OF_MEMORY
 * (clump_heap_take_errors()).
 *   report  [out, optional]
 * What kernels reported before and nobody was told is an error here, too: as where a rank has no
 * room, objects stay. clump_heap_take_errors() before the run, or errors_on_request (heap.h).
 * Blocks: yes. Costs on the device: launches and memory for the objects that leave and arrive, not
 * for the heap. Returns CLUMP_OK; CLUMP_ERR_TOO_SMALL more than `most` leave (none did);
 * CLUMP_ERR_DEVICE_MEMORY here is no room for those that arrive (they stay where they are);
 * CLUMP_ERR_USAGE a direction where the world ends; CLUMP_ERR_REFERENCE the list has what is no
 * live object of the class; CLUMP_ERR_RANK a neighbour failed, or gave no answer;
 * CLUMP_ERR_HOST_MEMORY; CLUMP_ERR_CL. */
CLUMP_API clump_status clump_migration_run(clump_migration *migration,
                                           clump_migration_report *report);

/* ---- One file -------------------------------------------------------------------------------- */

/* METHOD. Save the heaps of all ranks in one file, by MPI-IO: a head says how many there are and
 * where; the part of each rank is what clump_heap_save() writes. Of all ranks. The file gets its
 * name when it is whole, as in save.h. Each heap is saved twice, the first time to learn how many
 * bytes it takes; no rank has more in memory than pieces.
 *   path   [in]            the same file for all ranks
 *   desc   [in, optional]  piece_bytes, zstd_level, compact and progress are used
 *   report [out, optional] of this rank's heap
 * Blocks: yes. Returns, on all ranks, CLUMP_OK; or as clump_heap_save() where it failed;
 * CLUMP_ERR_IO; CLUMP_ERR_RANK: another rank failed, or gave no answer. */
CLUMP_API clump_status clump_world_save(clump_world *world, clump_heap *heap, const char *path,
                                        const clump_save_desc *desc, clump_save_report *report);

/* METHOD. Load what clump_world_save() wrote, with as many ranks and domains;
 * clump_world_load_parts() takes others. Of all ranks.
 *   desc   [in, optional]  without_registered and progress are used
 * Blocks: yes. Returns, on all ranks, CLUMP_OK; or as clump_heap_load() where it failed;
 * CLUMP_ERR_USAGE the file is of another number of ranks, or of other domains: the error says
 * which; CLUMP_ERR_FORMAT; CLUMP_ERR_IO; CLUMP_ERR_RANK another rank failed: this rank's heap may
 * be loaded then, and is not to be used. */
CLUMP_API clump_status clump_world_load(clump_world *world, clump_heap *heap, const char *path,
                                        const clump_load_desc *desc, clump_load_report *report);

/* The world that a file is of. */
typedef struct clump_world_saved {
    size_t size;         /* sizeof(clump_world_saved) */
    uint32_t ranks;      /* and parts: part n is the heap of rank n */
    uint32_t dimensions; /* 1 .. 3 */
    uint32_t domains[3]; /* along each; rank = (z * domains[1] + y) * domains[0] + x */
} clump_world_saved;

/* METHOD. Read the head of what clump_world_save() wrote. Of this rank alone.
 *   saved  [out]  all 0 on failure
 * Blocks: yes. Returns CLUMP_OK; CLUMP_ERR_USAGE; CLUMP_ERR_FORMAT; CLUMP_ERR_IO; CLUMP_ERR_RANK
 * the world is broken. */
CLUMP_API clump_status clump_world_read_saved(clump_world *world, const char *path,
                                              clump_world_saved *saved);

/* METHOD. Add the objects of some parts to this rank's heap, for a world of other domains than the
 * one that was saved: with fewer ranks each takes several parts; with more of them several take the
 * same part, and each frees what is not in its domain. Of all ranks; each says which parts, or
 * none.
 *   heap    [in]            may have objects; those of the first part are made first. The schema
 *                           must have the fields of the file, as for clump_heap_insert()
 *   parts   [in]            `count` different numbers, 0 .. clump_world_saved.ranks - 1
 *   desc    [in, optional]  progress is used; it is told of each part by itself
 *   report  [out, optional] of this rank: objects, and bytes of their values; of a failure those
 *           that were made before
 * References within a part stay. Those of registered buffers and handles are left out. The memory
 * of one part's values is needed beside the heap. A rank that has loaded its parts waits for the
 * others, so timeout_s must be longer than they take.
 * Blocks: yes. Returns, on all ranks, CLUMP_OK; or as clump_extract_load() and clump_heap_insert()
 * where it failed; CLUMP_ERR_USAGE a part that the file does not have, or one twice; CLUMP_ERR_RANK
 * another rank failed. After a failure the heap has the objects of the parts before. */
CLUMP_API clump_status clump_world_load_parts(clump_world *world, clump_heap *heap,
                                              const char *path, const uint32_t *parts,
                                              uint32_t count, const clump_load_desc *desc,
                                              clump_extract_report *report);

#ifdef __cplusplus
}
#endif
#endif
