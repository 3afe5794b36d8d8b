/* Compaction: compact.c is the call, arguments.c what it refuses, run.c what all strategies launch,
 * planner.c the strategy, owned.c the raw memory of arrays, order.c orders, compactor.c the
 * triggers. A program that has the internal functions can bring a strategy of its own, as
 * bench/papers/merge does.
 *
 * May use: core, schema, heap, sort.
 *
 * Invariant: from the first kernel of a move to the last of `finish` nobody else's kernels run on
 * the heap; afterwards the heap's invariants hold again (cl/core/layout.h).
 *
 * Read first: heap/access.h, heap/timed.h, include/clump/compact.h, cl/compact/plan.clh.
 */
#ifndef CLUMPI_COMPACT_H
#define CLUMPI_COMPACT_H

#include "cl/compact/layout.h"
#include "clump/compact.h"
#include "clump/compactor.h"
#include "heap/checked.h"
#include "heap/program.h"
#include "heap/refs.h"
#include "heap/timed.h"

#define CLUMPI_COMPACT_KERNELS(X)                                                                  \
    X(plan_clear)                                                                                  \
    X(plan_histogram)                                                                              \
    X(plan_threshold)                                                                              \
    X(plan_count)                                                                                  \
    X(plan_write)                                                                                  \
    X(plan_pair)                                                                                   \
    X(move)                                                                                        \
    X(fill)                                                                                        \
    X(rewrite)                                                                                     \
    X(null_dangling)                                                                               \
    X(rewrite_registered)                                                                          \
    X(finish)                                                                                      \
    X(order_begin)                                                                                 \
    X(order_invert)
enum { CLUMPI_COMPACT_KERNELS(CLUMPI_KERNEL_INDEX) };
extern const clumpi_library clumpi_compact_library;
#define CLUMPI_COMPACT_KERNEL(name)                                                                \
    ((clumpi_kernel_id){.library = &clumpi_compact_library, .index = CLUMPI_KERNEL_##name})

typedef struct clumpi_compaction clumpi_compaction;

/* What is done instead of the planner's work. */
typedef struct clumpi_strategy {
    /* Refuse what the desc asks for beside classes; nothing is launched. */
    clump_status (*check)(const clumpi_compaction *r);
    /* Plan and apply, as often as it takes. */
    clump_status (*run)(clumpi_compaction *r);
    const clumpi_library *library; /* its kernels */
    const void *options;           /* its own; must live as long as what has this */
} clumpi_strategy;

struct clumpi_compaction {
    clump_heap *heap;
    const clump_compact_desc *desc;
    const clumpi_strategy *strategy; /* NULL: the planner */
    uint64_t selected[4];            /* bit per class id: takes part. As the kernels' ulong4 */
    int moves_raw;                   /* raw memory that arrays own takes part, too */
    clump_compact_report report;
    int wants_report;
    clumpi_tally *tallies; /* room for those of all work-groups, if a report is wanted */
    clumpi_timed timed;    /* its phases are clump_compact_phase, its times those of the report */
};

static inline int clumpi_is_selected(const clumpi_compaction *r, uint32_t class_id) {
    return (int)(r->selected[class_id / 64] >> (class_id % 64) & 1);
}

/* How a run moves objects: arguments of the kernels move and fill, and the rewriting. */
typedef struct clumpi_moving clumpi_moving;
struct clumpi_moving {
    clumpi_u32 factor; /* targets that each source has to itself, else 0: the planner's */
    clumpi_u32 fresh;  /* class whose targets are free blocks, else 0 */
    cl_mem order;      /* new numbers by old number, or NULL */
    /* Rewrite the references inside the heap; NULL: by forwarding references. */
    clump_status (*rewrite)(clumpi_compaction *r, const clumpi_moving *moving);
};

/* ---- compact.c ---- */

/* clump_heap_compact() by a strategy. */
clump_status clumpi_compact_by(clump_heap *heap, const clump_compact_desc *desc,
                               const clumpi_strategy *strategy, clump_compact_report *report,
                               const clump_sync *sync);

/* Build the programs that such a compaction needs: what is timed, or does not wait, would take
 * seconds with it. */
clump_status clumpi_compact_build(clump_heap *heap, const clump_compact_desc *desc,
                                  const clumpi_strategy *strategy);

/* ---- compactor.c ---- */

/* The compactor keeps a copy, and compacts by it. Refuses what clumpi_compact_by() would refuse. */
clump_status clumpi_compactor_set_strategy(clump_compactor *compactor,
                                           const clumpi_strategy *strategy);

/* ---- arguments.c ---- */

/* What clump_heap_compact() would say to this desc before it does anything. */
clump_status clumpi_compact_check(clump_heap *heap, const clump_compact_desc *desc,
                                  const clumpi_strategy *strategy);

/* Fill in what the desc says, or say what is wrong with it. */
clump_status clumpi_compact_begin(clumpi_compaction *r);

/* ---- run.c ---- */

/* Enqueue a kernel of the library as a part of the run. */
clump_status clumpi_compact_run(clumpi_compaction *r, clump_compact_phase phase,
                                clumpi_kernel_id id, size_t groups, size_t local,
                                const clumpi_arg *args, uint32_t arg_count);

/* Enqueue a kernel that goes through all references inside the heap; args[0] is left for its first
 * argument. */
clump_status clumpi_compact_run_inside(clumpi_compaction *r, clump_compact_phase phase,
                                       clumpi_kernel_id id, clumpi_arg *args, uint32_t arg_count);

/* A kernel with the parameters of clumpi_rewrite_registered() for each registered buffer. check 1:
 * it looks for references to no object, 0: it rewrites. */
clump_status clumpi_compact_run_outside(clumpi_compaction *r, clump_compact_phase phase,
                                        clumpi_kernel_id id, clumpi_u32 check);

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

/* ---- owned.c: nothing, unless raw memory takes part ---- */

/* Slots of raw memory take part if all classes do and the heap has arrays that own some. */
void clumpi_owned_select(clumpi_compaction *r);
clump_status clumpi_owned_build(const clumpi_compaction *r);
/* Before a plan: pinned blocks are out of sight. Afterwards, also if the plan failed, which is
 * `status`: they are back. Returns `status` unless it is CLUMP_OK. */
clump_status clumpi_owned_hide(clumpi_compaction *r);
clump_status clumpi_owned_show(clumpi_compaction *r, clump_status status);
/* After a move: the handles of the owners. */
clump_status clumpi_owned_rewrite(clumpi_compaction *r);
/* Add what the plans say to the report, and return how many slots were moved. */
uint64_t clumpi_owned_report(clumpi_compaction *r, const clumpi_class_plan *plans);

/* ---- planner.c, order.c: plan, and apply ---- */

/* `max_moves` 0: no limit. `moves` as above. */
clump_status clumpi_planner_run(clumpi_compaction *r, uint64_t max_moves, uint64_t *moves);
/* All objects of one class to free blocks, which the caller knows to be enough: in their present
 * order, or object i to place order[i]. */
clump_status clumpi_planner_run_fresh(clumpi_compaction *r, uint32_t class_id, cl_mem order);
clump_status clumpi_order_run(clumpi_compaction *r);
#endif
