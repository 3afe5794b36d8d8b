/* The difference of a halo's edges to those of the last exchange, on the device: what changed is
 * packed, or put into a copy of what was received last. halo.c sends and receives it.
 *
 * A part is the edge of one direction. Parts that are so small that the masks of a stream are no
 * shorter than they are have none: these are sent whole. Both sides know this from the bytes of the
 * part.
 *
 * Invariant: the sender's copy of a part is what the receiver's copy becomes when it has taken the
 * message. The program's buffers are read on one side and written on the other, and may change
 * meanwhile.
 *
 * Read first: cl/mpi/layout.h, world.h.
 */
#ifndef CLUMPI_MPI_DELTA_H
#define CLUMPI_MPI_DELTA_H

#include "cl/mpi/layout.h"
#include "mpi/world.h"

/* What is sent, or what is received. */
typedef struct clumpi_delta_side {
    cl_kernel kernel;
    cl_mem copy, streams, parts, counts;
    clumpi_halo_part table[CLUMPI_HALO_PARTS];
    uint32_t directions[CLUMPI_HALO_PARTS];  /* by part */
    uint32_t numbers[CLUMPI_HALO_PARTS];     /* by part: changed elements, or _WHOLE */
    int part_of[CLUMP_WORLD_DIRECTIONS_MAX]; /* -1: it has no stream */
    uint32_t part_count, chunks;
} clumpi_delta_side;

typedef struct clumpi_delta {
    clump_world *world;
    cl_command_queue queue; /* in order; not retained */
    uint32_t element;       /* bytes. 0: the halo sends all parts whole */
    cl_program program;
    clumpi_delta_side sent, received;
} clumpi_delta;

/* `desc` has no bytes where there is no neighbour. */
clump_status clumpi_delta_open(clumpi_delta *d, clump_world *world, cl_command_queue queue,
                               const clump_halo_desc *desc);
void clumpi_delta_close(clumpi_delta *d);

/* What the program's buffer has is what was sent last. Enqueues. */
cl_int clumpi_delta_keep(clumpi_delta *d, cl_mem edges, const char **call);
/* Pack what changed, and read how much that is: numbers[]. Waits. Its event is the caller's. */
cl_int clumpi_delta_encode(clumpi_delta *d, cl_event *packed, const char **call);
/* Put what was received into the copy: of numbers[], which stay in use until it is done. Enqueues.
 * The event is the caller's, and stays as it is if there is nothing to do. */
cl_int clumpi_delta_decode(clumpi_delta *d, cl_event *unpacked, const char **call);

/* Bytes of the stream of a part that has `number` changed elements. */
static inline uint64_t clumpi_delta_bytes(const clumpi_delta *d, const clumpi_halo_part *part,
                                          uint32_t number) {
    return (uint64_t)part->chunks * CLUMPI_HALO_CHUNK_WORDS * sizeof(clumpi_u32) +
           (uint64_t)number * d->element;
}

#endif
