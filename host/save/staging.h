/* Pieces on their way between device and host: two take turns, so that one is on the bus while the host writes or reads the other.
 *
 *   device   values (gathered, or to be scattered) and the sums of their chunks
 *      │ bus
 *   host     memory that stays mapped: the piece, then its sums
 *
 * Invariant: `moved` has the transfers that use `memory`; nobody touches it until they have been waited for.
 *
 * Read first: cl/save/hash.h, core/core.h.
 */
#ifndef CLUMPI_STAGING_H
#define CLUMPI_STAGING_H

#include "cl/save/hash.h"
#include "core/core.h"

#define CLUMPI_SAVE_KERNELS(X) X(save_sums)
enum { CLUMPI_SAVE_KERNELS(CLUMPI_KERNEL_INDEX) };
extern const clumpi_library clumpi_save_library;
#define CLUMPI_SAVE_KERNEL(name)                                                                   \
    ((clumpi_kernel_id){&clumpi_save_library, CLUMPI_KERNEL_##name, NULL})

typedef struct clumpi_staged {
    cl_mem values, sums; /* on the device */
    cl_mem buffer;       /* whose memory is `memory` */
    uint8_t *memory;     /* the piece on the host */
    uint64_t *host_sums; /* of its chunks, in the same memory */
    cl_event moved[2];   /* of the piece and of its sums; NULL: not under way */
} clumpi_staged;

typedef struct clumpi_staging {
    clump_context *context;
    clumpi_staged places[2];
    uint32_t turn; /* the place that is to be filled */
} clumpi_staging;

/* CONSTRUCTOR. For pieces of up to `most` bytes. After a failure it is closed all the same. */
clump_status clumpi_staging_open(clumpi_staging *staging, clump_context *c, uint32_t most);
/* DESTRUCTOR. Waits for what is under way. One that is all zero is closed. */
void clumpi_staging_close(clumpi_staging *staging);

/* The place whose turn it is, and the other one: that of the piece that is on its way. */
static inline clumpi_staged *clumpi_staging_place(clumpi_staging *staging) {
    return &staging->places[staging->turn];
}
static inline clumpi_staged *clumpi_staging_other(clumpi_staging *staging) {
    return &staging->places[!staging->turn];
}

/* Compute the sums of the piece in place->values, and bring both to the host. Does not block. */
clump_status clumpi_staged_read(clump_context *c, clumpi_staged *place, uint32_t bytes);
/* Bring the piece to the device, and its sums, as computed there, back. Does not block. */
clump_status clumpi_staged_write(clump_context *c, clumpi_staged *place, uint32_t bytes);
/* Until both are done. */
clump_status clumpi_staged_wait(clump_context *c, clumpi_staged *place);

#endif
