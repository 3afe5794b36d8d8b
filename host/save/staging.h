/* Pieces on their way between device and host, in a ring of places: while the host writes or reads
 * one, others are on the bus or on the device.
 *
 *   device   values (gathered, or to be scattered), then the sums of their chunks
 *      │ two queues move them, in turn; that in use has the kernels
 *   host     memory that stays mapped: the same
 *
 *       first          first + count
 *   ... │ on their way │ next, free │ ...
 *
 * Invariant: `moved` and `summed` are the transfers that use the host's memory of a place; nobody
 * touches that until they have been waited for.
 * `values` are filled after `used`. What is enqueued for a piece is little, since the host has the
 * other half of the work.
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
    ((clumpi_kernel_id){.library = &clumpi_save_library, .index = CLUMPI_KERNEL_##name})

/* One for the host, one on the bus, one on the device; and one that is ready, since none of them is
 * always as quick. */
#define CLUMPI_PLACES 4u

/* Each transfer waits for a kernel on another queue, which takes NVIDIA's driver 50 microseconds;
 * meanwhile the other lane moves its piece. */
#define CLUMPI_LANES 2u

/* A queue, and the memory of its places. */
typedef struct clumpi_lane {
    clumpi_queue *queue;
    cl_mem memory;
    void *mapped;
} clumpi_lane;

typedef struct clumpi_staged {
    clumpi_lane *lane;
    cl_mem values;       /* on the device, with room for their sums */
    uint8_t *memory;     /* the piece on the host */
    uint64_t *host_sums; /* of its chunks, after it */
    cl_event moved,
        /* transfers of the piece, and of its sums if they do not go with it; NULL: not under way */
        summed;
    cl_event used; /* who read or wrote `values` on the device; NULL: nobody */
} clumpi_staged;

typedef struct clumpi_staging {
    clump_context *context;
    clumpi_lane lanes[CLUMPI_LANES]; /* place n is of number n modulo CLUMPI_LANES */
    clumpi_staged places[CLUMPI_PLACES];
    uint32_t first, count; /* on their way */
    uint32_t most;         /* bytes of a piece */
} clumpi_staging;

/* CONSTRUCTOR. For pieces of up to `most` bytes. *staging is NULL after a failure. */
clump_status clumpi_staging_open(clump_context *c, uint32_t most, clumpi_staging **staging);
/* The same without values on the device: only the host's memory. */
clump_status clumpi_staging_open_host(clump_context *c, uint32_t most, clumpi_staging **staging);
/* DESTRUCTOR, of NULL too. Waits for what is under way. If all went well, and it takes no more than
 * 1/256 of what the device has, the context keeps the host's memory for the next one: to pin it
 * takes NVIDIA's driver 0.4 to 0.8 ms for each MiB. */
void clumpi_staging_close(clumpi_staging *staging, int is_good);

/* Numbers of places: of the piece that is on its way for longest, and of a free one, of which there
 * is one if not all are on their way. */
static inline uint32_t clumpi_staging_oldest(const clumpi_staging *staging) {
    return staging->first;
}
static inline uint32_t clumpi_staging_next(const clumpi_staging *staging) {
    return (staging->first + staging->count) % CLUMPI_PLACES;
}
/* The next place's piece is on its way now; the oldest one's is not any more. */
static inline void clumpi_staging_push(clumpi_staging *staging) {
    staging->count++;
}
static inline void clumpi_staging_pop(clumpi_staging *staging) {
    staging->first = (staging->first + 1) % CLUMPI_PLACES;
    staging->count--;
}

/* Compute the sums of the piece in place->values, and bring both to the host. Does not block. */
clump_status clumpi_staged_read(clumpi_staging *staging, clumpi_staged *place, uint32_t bytes);
/* Bring the piece to the device, and its sums, as computed there, back. Does not block. */
clump_status clumpi_staged_write(clumpi_staging *staging, clumpi_staged *place, uint32_t bytes);
/* Until both are done. */
clump_status clumpi_staged_wait(clumpi_staging *staging, clumpi_staged *place);
/* Commands enqueued so far use place->values: a piece comes there after them. Does not block. */
clump_status clumpi_staged_used(clumpi_staging *staging, clumpi_staged *place);

#endif
