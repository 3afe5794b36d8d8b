/* Sorting on the device.
 *
 * May use: heap, and what it uses.
 *
 * Invariant: see cl/sort/sort.cl.
 */
#ifndef CLUMPI_SORT_H
#define CLUMPI_SORT_H

#include "cl/sort/layout.h"
#include "core/core.h"

#define CLUMPI_SORT_KERNELS(X)                                                                     \
    X(sort_count)                                                                                  \
    X(sort_prefix)                                                                                 \
    X(sort_scatter)                                                                                \
    X(sort_deal)                                                                                   \
    X(sort_finish)
enum { CLUMPI_SORT_KERNELS(CLUMPI_KERNEL_INDEX) };
extern const clumpi_library clumpi_sort_library;
#define CLUMPI_SORT_KERNEL(name)                                                                   \
    ((clumpi_kernel_id){.library = &clumpi_sort_library, .index = CLUMPI_KERNEL_##name})

/* Sort `count` pairs by key, stable. Both buffers have `count` uints; the result is in them. Takes
 * two buffers of the same size while it runs. Blocks: no. On failure the order of the pairs is
 * undefined, and some may be lost. */
clump_status clumpi_sort_pairs(clump_context *c, cl_mem keys, cl_mem values, uint32_t count);

#endif
