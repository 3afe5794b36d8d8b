/* Merging blocks pair by pair, as in the paper (Springer and Masuhara, ISMM 2019): the baseline of the
 * planner, in several passes.
 *
 * May use: what compact may, and compact.
 *
 * Invariant: that of compact.h, for each pass.
 */
#ifndef CLUMPI_MERGE_H
#define CLUMPI_MERGE_H

#include "compact/compact.h"

#define CLUMPI_MERGE_KERNELS(X)                                                                    \
    X(merge_count)                                                                                 \
    X(merge_write)                                                                                 \
    X(merge_claim)                                                                                 \
    X(merge_pair)                                                                                  \
    X(merge_record)
enum { CLUMPI_MERGE_KERNELS(CLUMPI_KERNEL_INDEX) };
extern const clumpi_library clumpi_merge_library;
#define CLUMPI_MERGE_KERNEL(name)                                                                  \
    ((clumpi_kernel_id){&clumpi_merge_library, CLUMPI_KERNEL_##name, NULL})

/* CLUMP_ERR_USAGE if the records of one source do not fit in local memory. */
clump_status clumpi_merge_check(const clumpi_compaction *r);
clump_status clumpi_merge_run(clumpi_compaction *r);

#endif
