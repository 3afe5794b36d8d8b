/* Merging blocks pair by pair: the strategy of CompactGpu (Springer and Masuhara, ISMM 2019;
 * Springer's thesis ch. 6), with which the papers' figures and the applications are measured beside
 * the library's planner.
 *
 * One source block is merged into n target blocks, pass after pass. An object may move more than
 * once. A static library of its own, which uses the library's internal functions:
 * host/compact/compact.h, clumpi_strategy.
 *
 * Read first: clump/compactor.h. Read next: merge.c, merge.cl.
 */
#ifndef BENCH_MERGE_H
#define BENCH_MERGE_H

#include "clump/compactor.h"

/* How the new place of a moved object is found when a reference to it is rewritten. */
typedef enum bench_merge_rewrite {
    BENCH_REWRITE_FORWARD, /* a forwarding reference where the object was (ISMM 3.4) */
    BENCH_REWRITE_GLOBAL,  /* computed from records in global memory (ISMM 3.8) */
    /* computed from records in local memory: fewer of them fit, so there are more passes */
    BENCH_REWRITE_SHARED
} bench_merge_rewrite;

/* How the candidates of a pass are found. The same ones in any case. */
typedef enum bench_merge_candidates {
    /* each pass reads the states of all blocks (ISMM 3.2, the alternative) */
    BENCH_CANDIDATES_STATES,
    /* the first pass does, and makes a bitmap; later ones read that, and the states of the blocks
     * in it. It takes a bit for each block while the call runs. The paper keeps one for each class
     * also while objects are made and freed */
    BENCH_CANDIDATES_BITMAP
} bench_merge_candidates;

typedef struct bench_merge {
    uint32_t factor;     /* n, 1 .. capacity - 1: blocks at most n / (n + 1) full are candidates */
    uint32_t retain;     /* k1: candidates to leave in each class */
    uint32_t max_passes; /* 0: until no more than k1 are left. Repeated calls of one pass each do
                            what one call without a limit does */
    bench_merge_rewrite rewrite;
    bench_merge_candidates candidates;
} bench_merge;

/* clump_heap_compact() by merging, without slack, steps and orders; blocks. NULL for `merge`: by
 * the planner, as that. */
clump_status bench_merge_compact(clump_heap *heap, const clump_compact_desc *desc,
                                 const bench_merge *merge, clump_compact_report *report,
                                 const clump_sync *sync);

/* The compactor merges from now on; its kernels are built. `merge` must live as long as it. */
clump_status bench_merge_compactor(clump_compactor *compactor, const bench_merge *merge);

#endif
