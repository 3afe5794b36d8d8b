/* Memory of the host that OpenCL transfers to and from without a copy of its own: a buffer of
 * CL_MEM_ALLOC_HOST_PTR that is mapped as long as it lives (docs/guide/host-access.md). Messages
 * are sent from it, and received in it.
 *
 * Invariant: a broken world keeps it, because a message may still use it.
 *
 * Read first: world.h.
 */
#ifndef CLUMPI_MPI_PINNED_H
#define CLUMPI_MPI_PINNED_H

#include "mpi/world.h"

typedef struct clumpi_pinned {
    cl_mem buffer;
    char *memory; /* NULL: there is none */
    uint64_t bytes;
} clumpi_pinned;

/* At least so many bytes, more than 0. What it had is not kept. CLUMP_ERR_CL: there is none. */
clump_status clumpi_pinned_open(clump_world *world, clumpi_pinned *pinned, uint64_t bytes);
void clumpi_pinned_close(clump_world *world, clumpi_pinned *pinned);

#endif
