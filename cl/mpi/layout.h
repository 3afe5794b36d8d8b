/* What host and kernels of a halo share: where the parts of its directions lie, and the stream of
 * what changed in a part.
 *
 * Elements of a part are counted from 0. A chunk is CLUMPI_HALO_CHUNK of them, which a work-group
 * of CLUMPI_HALO_LANES handles. Element k * CLUMPI_HALO_LANES + lane of a chunk is bit k of the
 * lane's mask. A stream, in words of 32 bits:
 *
 *   | for each chunk: number of its first changed element | chunks * LANES masks | changed elements
 *
 * The changed elements of a chunk lie together: those of lane 0 in the order of their bits, then
 * those of lane 1. Chunks are in any order.
 *
 * Read next: halo.cl, host/mpi/delta.h.
 */
#ifndef CLUMPI_MPI_LAYOUT_H
#define CLUMPI_MPI_LAYOUT_H

#include "cl/core/layout.h"

#define CLUMPI_HALO_LANES 64u
#define CLUMPI_HALO_CHUNK 2048u
#define CLUMPI_HALO_PARTS 26u /* CLUMP_WORLD_DIRECTIONS_MAX */
/* Words of a stream before its changed elements, for each chunk. */
#define CLUMPI_HALO_CHUNK_WORDS (CLUMPI_HALO_LANES + 1u)
#define CLUMPI_HALO_WHOLE 0xffffffffu /* for a number of changed elements: there is no stream */

/* The part of a direction. 40 bytes. */
typedef struct clumpi_halo_part {
    clumpi_u64 at;        /* first element in the program's buffer */
    clumpi_u64 copy_at;   /* in the copy of what was sent or received last */
    clumpi_u64 stream_at; /* first word of its stream */
    clumpi_u32 elements;
    clumpi_u32 first_chunk; /* the work-group that has it */
    clumpi_u32 chunks;
    clumpi_u32 most; /* changed elements for which the stream has room */
} clumpi_halo_part;

#endif
