/* A suballocator: gives out ranges of offsets. It knows no device and touches no memory except
 * its own.
 *
 *   0                                                                     bytes
 *   │ used │ used │  free  │ used │ free │ used │            free           │
 *
 * A pool (pool.h) has one for each chunk; alone it serves whatever is cut into ranges: a mapped
 * file, an array of slots, a buffer that somebody else made. Two ranges never overlap,
 * neighbouring free ranges are always one, and a request is refused only if no free range can hold
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

/* A range that was given out; 0 is none. It carries a generation and a mark of its suballocator,
 * so that a range freed twice or given to the wrong suballocator is refused (except in one case of
 * 65,536). */
typedef uint64_t clump_range;

/* Which free range serves a request, of those that can. Ties go to the lowest offset. */
typedef enum clump_fit {
    CLUMP_FIT_GOOD =
        0,           /* one of nearly the best size, in constant time (two-level segregated fit) */
    CLUMP_FIT_FIRST, /* the lowest offset; time grows with the logarithm of the free ranges */
    CLUMP_FIT_BEST,  /* the smallest; likewise. Aligned requests may have to try several */
    CLUMP_FIT_WORST, /* the largest; likewise */
    CLUMP_FIT_COUNT
} clump_fit;

/* What a suballocator is made of. All zero, except `bytes`, is an ordinary one. */
typedef struct clump_suballoc_desc {
    size_t size;          /* sizeof(clump_suballoc_desc) */
    uint64_t bytes;       /* offsets are below this; at least the granularity */
    uint64_t granularity; /* power of two: offsets are multiples of it, sizes are rounded up to it;
                                    0: 1. bytes / granularity is below 2^48 */
    clump_fit fit;        /* 0: CLUMP_FIT_GOOD */
    clump_allocator allocator; /* default: malloc, realloc, free */
} clump_suballoc_desc;

/* CONSTRUCTOR.
 *   suballoc  [out]            NULL on failure
 *   error     [out, optional]  says why it failed
 * Returns CLUMP_OK; CLUMP_ERR_USAGE; CLUMP_ERR_HOST_MEMORY. */
CLUMP_API clump_status clump_suballoc_create(const clump_suballoc_desc *desc,
                                             clump_suballoc **suballoc, clump_error *error);

/* DESTRUCTOR. NULL is allowed, and so are ranges that were not freed. */
CLUMP_API void clump_suballoc_destroy(clump_suballoc *suballoc);

/* METHOD. Give out a range.
 *   bytes      at least 1; rounded up to the granularity
 *   alignment  of the offset: a power of two, or 0 for the granularity
 *   user_data  kept with the range
 *   range      [out]            0 on failure
 *   offset     [out, optional]
 * Returns CLUMP_OK; CLUMP_ERR_DEVICE_MEMORY no free range can hold it; CLUMP_ERR_USAGE;
 * CLUMP_ERR_HOST_MEMORY. */
CLUMP_API clump_status clump_suballoc_alloc(clump_suballoc *suballoc, uint64_t bytes,
                                            uint64_t alignment, void *user_data, clump_range *range,
                                            uint64_t *offset);

/* METHOD. Take a range back; 0 is allowed and does nothing.
 * Returns CLUMP_OK; CLUMP_ERR_REFERENCE it is no range of this suballocator, or was freed
 * before. */
CLUMP_API clump_status clump_suballoc_free(clump_suballoc *suballoc, clump_range range);

/* What is known of a range. */
typedef struct clump_range_info {
    size_t size;            /* sizeof(clump_range_info) */
    uint64_t offset, bytes; /* bytes as rounded up */
    void *user_data;
    clump_range next; /* the one after it, in the order of their offsets; 0 after the last */
} clump_range_info;

/* METHOD. What is known of a range; with `range` 0 only the first one, as `next`. Returns CLUMP_OK;
 * CLUMP_ERR_REFERENCE. */
CLUMP_API clump_status clump_suballoc_get_info(const clump_suballoc *suballoc, clump_range range,
                                               clump_range_info *info);

/* Counters that every call brings up to date. */
typedef struct clump_suballoc_stats {
    size_t size;                /* sizeof(clump_suballoc_stats) */
    uint64_t bytes, used_bytes; /* in all; given out */
    uint64_t ranges;            /* given out */
    uint64_t free_ranges;
    uint64_t metadata_bytes; /* host memory */
} clump_suballoc_stats;

/* Facts that take a walk over all ranges. Smallest values are 0 where there is nothing. */
typedef struct clump_suballoc_details {
    size_t size;                   /* sizeof(clump_suballoc_details) */
    uint64_t range_min, range_max; /* bytes of the smallest and the largest range given out */
    uint64_t free_min, free_max;   /* of the free ones */
    double fragmentation; /* 1 - free_max / free bytes: 0 if all free bytes are in one range */
} clump_suballoc_details;

/* METHOD. Constant time without `details`; with them it walks all ranges.
 *   stats    [out, optional]
 *   details  [out, optional]
 * Returns CLUMP_OK; CLUMP_ERR_USAGE. */
CLUMP_API clump_status clump_suballoc_get_stats(const clump_suballoc *suballoc,
                                                clump_suballoc_stats *stats,
                                                clump_suballoc_details *details);

/* METHOD. Verify all invariants: the ranges cover everything once, no two free ones are
 * neighbours, the index of free ranges holds exactly these, the counters are right. Walks all
 * ranges; changes nothing.
 * Returns CLUMP_OK; CLUMP_ERR_CORRUPT, and the error says which and where. */
CLUMP_API clump_status clump_suballoc_check(clump_suballoc *suballoc);

/* The error of the last failed call. Never NULL. */
CLUMP_API const clump_error *clump_suballoc_get_error(const clump_suballoc *suballoc);

#ifdef __cplusplus
}
#endif
#endif
