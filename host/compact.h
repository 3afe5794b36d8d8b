/* Private: a compaction under way. compact.c is the call, compact_check.c what it refuses,
 * compact_run.c what all strategies launch; planner.c and merge.c are the strategies, order.c the orders
 * of the planner.
 *
 * Read first: internal.h, timed.h, include/clump/compact.h, cl/plan.clh.
 */
#ifndef CLUMPI_COMPACT_H
#define CLUMPI_COMPACT_H

#include "clump/experimental.h"
#include "timed.h"

typedef struct clumpi_compaction {
    clump_heap *heap;
    const clump_compact_desc *desc;
    uint64_t selected[4]; /* bit per class id: takes part. As the kernels' ulong4 */
    clump_compact_report report;
    int wants_report;
    clumpi_tally *tallies; /* room for those of all work-groups, if a report is wanted */
    clumpi_timed timed;    /* its phases are clump_compact_phase, its times those of the report */
} clumpi_compaction;

static inline int clumpi_is_selected(const clumpi_compaction *r, uint32_t class_id) {
    return (int)(r->selected[class_id / 64] >> (class_id % 64) & 1);
}

/* How a run moves objects: arguments of the kernels move and fill. */
typedef struct clumpi_moving {
    clumpi_u32 factor;  /* n of merge, else 0 */
    clumpi_u32 fresh;   /* class whose targets are free blocks, else 0 */
    cl_mem order;       /* new numbers by old number, or NULL */
    clumpi_u32 records; /* of a rewriting that recomputes: entries of its table, else 0 */
    int in_local;       /* all of its records in local memory */
} clumpi_moving;

/* ---- compact_check.c ---- */

/* Fill in what the desc says, or say what is wrong with it. */
clump_status clumpi_compact_begin(clumpi_compaction *r);

/* ---- compact_run.c ---- */

/* Enqueue a kernel of the library as a part of the run. */
clump_status clumpi_compact_run(clumpi_compaction *r, clump_compact_phase phase,
                                clumpi_kernel_id id, size_t groups, size_t local,
                                const clumpi_arg *args, uint32_t arg_count);

/* Work-groups for kernels that take blocks in chunks, and for those that stride over the heap. */
size_t clumpi_compact_plan_groups(const clump_heap *heap);
size_t clumpi_compact_wide_groups(const clump_heap *heap);

/* Work-items of a group that takes a block: no more than the block has slots. */
size_t clumpi_compact_block_local(const clump_heap *heap);

/* The plans as they are on the device, plans[0 .. class_count]. Blocks. */
clump_status clumpi_compact_read_plans(clump_heap *heap, clumpi_class_plan *plans);

/* With a plan on the device: dangling references, moving, filling, rewriting, finishing; then, if a
 * report is wanted, add to it what the plans say. *moves (optional, blocks) is what moved. */
clump_status clumpi_compact_apply(clumpi_compaction *r, const clumpi_moving *moving,
                                  uint64_t *moves);

/* ---- The strategies: plan, and apply ---- */

/* `max_moves` 0: no limit. `moves` as above. */
clump_status clumpi_planner_run(clumpi_compaction *r, uint64_t max_moves, uint64_t *moves);
/* All objects of one class to free blocks, which the caller knows to be enough: in their present
 * order, or object i to place order[i]. */
clump_status clumpi_planner_run_fresh(clumpi_compaction *r, uint32_t class_id, cl_mem order);
clump_status clumpi_order_run(clumpi_compaction *r);
/* CLUMP_ERR_USAGE if the records of one source do not fit in local memory. */
clump_status clumpi_merge_check(const clumpi_compaction *r);
clump_status clumpi_merge_run(clumpi_compaction *r);

#endif
