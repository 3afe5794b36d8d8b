/* A suballocator: allocates ranges of offsets. It knows no device, and uses only host memory for
 * its data.
 *
 *   0                                                                     bytes
 *   │ used │ used │  free  │ used │ free │ used │            free           │
 *
 * A pool (pool.h) has one for each chunk. Programs can also use one without a pool, for anything
 * that is cut into ranges: a mapped file, an array of slots, an existing buffer. Two ranges never
 * overlap. Neighbouring free ranges are always one. A request fails only if no free range can hold
 * it.
 *
 * Threads: one suballocator belongs to one thread at a time.
 * Needs no OpenCL header. Read first: status.h, allocator.h. Read next: pool.h.
 */
#ifndef CLUMP_SUBALLOC_H
#define CLUMP_SUBALLOC_H

#include <stdint.h>

#include "clump/allocator.h"
#include "clump/export.h"
#include "clump/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A suballocator. */
typedef struct clump_suballoc clump_suballoc;

/* An allocated range. 0 means no range. The value contains a generation and a mark of its
 * suballocator. A range that is freed twice, or passed to the wrong suballocator, is therefore
 * refused (except in one case of 65,536). */
typedef uint64_t clump_range;

/* Which free range serves a request, if several can. Among equal ones the lowest offset wins,
 * except with CLUMP_FIT_GOOD. */
typedef enum clump_fit {
    /* of nearly the best size, in constant time (two-level segregated fit). Aligned requests, and
     * requests that only ranges of about their size can serve, may try several */
    CLUMP_FIT_GOOD = 0,
    CLUMP_FIT_FIRST, /* the lowest offset. The time grows with the logarithm of the free ranges */
    CLUMP_FIT_BEST,  /* the smallest, in the same time. Aligned requests may try several */
    CLUMP_FIT_WORST, /* the largest, in the same time */
    CLUMP_FIT_COUNT
} clump_fit;

/* Arguments of clump_suballoc_create(). All members except `size` and `bytes` may be zero. */
typedef struct clump_suballoc_desc {
    size_t size;    /* sizeof(clump_suballoc_desc) */
    uint64_t bytes; /* offsets are below this, at least the granularity */
    /* power of two: offsets are multiples of it, sizes are rounded up to it. 0: 1. bytes /
     * granularity must be below 2^48 */
    uint64_t granularity;
    clump_fit fit;             /* 0: CLUMP_FIT_GOOD */
    clump_allocator allocator; /* default: malloc, realloc, free */
} clump_suballoc_desc;

/* CONSTRUCTOR. Make a suballocator.
 *   suballoc  [out]            NULL on failure
 *   error     [out, optional]  the reason of a failure
 * Returns CLUMP_OK, CLUMP_ERR_USAGE or CLUMP_ERR_HOST_MEMORY. */
CLUMP_API clump_status clump_suballoc_create(const clump_suballoc_desc *desc,
                                             clump_suballoc **suballoc, clump_error *error);

/* DESTRUCTOR. NULL is allowed, and so are ranges that were not freed. */
CLUMP_API void clump_suballoc_destroy(clump_suballoc *suballoc);

/* METHOD. Allocate a range.
 *   bytes      at least 1, rounded up to the granularity
 *   alignment  of the offset: a power of two, or 0 for the granularity
 *   user_data  kept with the range
 *   range      [out]  0 on failure
 *   offset     [out, optional]
 * Returns CLUMP_OK. Fails with CLUMP_ERR_DEVICE_MEMORY if no free range can hold it,
 * CLUMP_ERR_USAGE or CLUMP_ERR_HOST_MEMORY. */
CLUMP_API clump_status clump_suballoc_alloc(clump_suballoc *suballoc, uint64_t bytes,
                                            uint64_t alignment, void *user_data, clump_range *range,
                                            uint64_t *offset);

/* METHOD. Free a range. 0 is allowed and does nothing.
 * Returns CLUMP_OK. Fails with CLUMP_ERR_REFERENCE if the range is not from this suballocator, or
 * was freed before. */
CLUMP_API clump_status clump_suballoc_free(clump_suballoc *suballoc, clump_range range);

/* Facts about a range. */
typedef struct clump_range_info {
    size_t size;            /* sizeof(clump_range_info) */
    uint64_t offset, bytes; /* bytes, rounded up */
    void *user_data;
    clump_range next; /* the next range, in the order of offsets. 0 after the last */
} clump_range_info;

/* METHOD. Get facts about a range. With `range` 0, the call only returns the first range, as
 * `next`.
 * Returns CLUMP_OK or CLUMP_ERR_REFERENCE. */
CLUMP_API clump_status clump_suballoc_get_info(const clump_suballoc *suballoc, clump_range range,
                                               clump_range_info *info);

/* Counters that every call updates. */
typedef struct clump_suballoc_stats {
    size_t size;                /* sizeof(clump_suballoc_stats) */
    uint64_t bytes, used_bytes; /* total, and allocated */
    uint64_t ranges;            /* allocated */
    uint64_t free_ranges;
    uint64_t metadata_bytes; /* host memory */
} clump_suballoc_stats;

/* Facts that need a walk over all ranges. Smallest values are 0 if no such range exists. */
typedef struct clump_suballoc_details {
    size_t size;                   /* sizeof(clump_suballoc_details) */
    uint64_t range_min, range_max; /* bytes of the smallest and the largest allocated range */
    uint64_t free_min, free_max;   /* of the free ones */
    double fragmentation; /* 1 - free_max / free bytes: 0 if all free bytes are in one range */
} clump_suballoc_details;

/* METHOD. Get counters and facts. The call runs in constant time without `details`. With `details`
 * it walks all ranges.
 *   stats    [out, optional]
 *   details  [out, optional]
 * Returns CLUMP_OK or CLUMP_ERR_USAGE. */
CLUMP_API clump_status clump_suballoc_get_stats(const clump_suballoc *suballoc,
                                                clump_suballoc_stats *stats,
                                                clump_suballoc_details *details);

/* METHOD. Verify all invariants: the ranges cover everything once, free ranges are never
 * neighbours, the index of free ranges has exactly these, the counters are correct. Walks all
 * ranges and changes nothing.
 * Returns CLUMP_OK. Fails with CLUMP_ERR_CORRUPT: the error has the invariant and the place. */
CLUMP_API clump_status clump_suballoc_check(clump_suballoc *suballoc);

/* Return the error of the last failed call. The result is never NULL. clump_suballoc_get_info()
 * does not change it for a wrong range. */
CLUMP_API const clump_error *clump_suballoc_get_error(const clump_suballoc *suballoc);

#ifdef __cplusplus
}
#endif
#endif
