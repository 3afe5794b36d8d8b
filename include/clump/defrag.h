/* Defragmentation of a pool: movable allocations are copied together, such that chunks become
 * empty.
 *
 *   before  │ A │    │ B │    │ C │ │     chunk 1  │ D │             │
 *   after   │ A │ D │  │ B │    │ C │ │   chunk 1  │     (released)  │
 *
 * A step searches for moves, weighs them, copies as much as its budget allows, and swaps the places
 * of allocations that earlier steps copied. A step waits only if the desc says so: a later step
 * swaps a copy that is still in progress. A large allocation may need several steps. After every
 * step all allocations are valid, at the old or the new place. clump_pool_get_info() and the
 * callback `moved` of the pool report the place.
 *
 * Moves lead to a chunk with a greater share in use (or an older one, see `order`), or to a lower
 * offset of the same chunk. If no such move exists, a chunk with holes is copied into the empty
 * one, without its holes. This happens only with CLUMP_DEFRAG_FULLEST, if the waste is 10% or more,
 * and one chunk fewer would suffice. Therefore the steps come to an end without new allocations or
 * frees, and none undoes another.
 *
 * The driver needs time to release chunks that became empty. Steps with a budget therefore leave
 * some of them to the next steps, with half of their budget. Allocations may use them meanwhile.
 *
 * Names are from P. Eichinger's thesis, Vulkan Memory-Management and Defragmentation, chapter 4.
 * Read first: pool.h.
 */
#ifndef CLUMP_DEFRAG_H
#define CLUMP_DEFRAG_H

#include "clump/pool.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Which chunks are emptied. */
typedef enum clump_defrag_order {
    CLUMP_DEFRAG_FULLEST = 0, /* empty the chunk with the least contents first */
    CLUMP_DEFRAG_OLDEST       /* towards the first chunk made, as in Eichinger's thesis */
} clump_defrag_order;

/* Options of clump_pool_defragment(): limits of a step. All zero: everything that can be moved
 * now. */
typedef struct clump_defrag_desc {
    size_t size; /* sizeof(clump_defrag_desc) */
    /* Time of this step. 0: no limit. With `wait`, it is the time of the call. Without, it is the
     * time that the device spends on copies. If it is too short for any copy, one step in five
     * makes a small one, to measure whether copies still need so long. */
    double budget_us;
    uint64_t max_bytes; /* to copy in this step. 0: no limit */
    uint32_t max_moves; /* to begin in this step. 0: no limit */
    int use_pauses;     /* 1: the budget is the time that clump_pool_end_frame() measured, at most
                           budget_us if set */
    int wait;           /* 1: wait for the copies and swap at once */
    /* 1: no command uses movable allocations until the call returns. Implies wait. Allows moves by
     * less than an allocation's size. Such moves destroy the source while they run, and `decide` is
     * not called for them. If OpenCL refuses a copy three times during one, the contents are lost,
     * and the error names the allocation. */
    int exclusive;
    /* 1: one exclusive operation until nothing can be moved. Only order and weights are used, other
     * members are ignored */
    int until_done;
    int manual; /* 1: do not swap. Use clump_pool_next_move() and clump_pool_finish_move() */
    clump_defrag_order order;
    const struct clump_defrag_weights *weights; /* experimental.h. NULL: the default */
} clump_defrag_desc;

/* Results of a step. */
typedef struct clump_defrag_report {
    size_t size;                       /* sizeof(clump_defrag_report) */
    uint32_t begun, finished, dropped; /* moves. Dropped: freed, pinned or ignored meanwhile */
    uint32_t under_way;                /* moves that later steps will finish */
    uint64_t copied_bytes;             /* enqueued in this step */
    uint32_t chunks_released;
    double budget_us;    /* budget of the step, INFINITY without a limit */
    double predicted_us; /* expected time of the step */
    double waste;        /* as in clump_pool_stats, afterwards */
    int done;            /* 1: all moves are made, and none is in progress */
} clump_defrag_report;

/* METHOD. Make one step, or with until_done, steps until nothing can be moved.
 *   desc    [in, optional]   NULL: all zero, which is everything that can be moved now
 *   report  [out, optional]  of all steps together
 *   sync    [in, optional]   of the copies. The event completes with all copies in progress
 * Blocks: with wait, exclusive or until_done.
 * Returns CLUMP_OK, CLUMP_ERR_HOST_MEMORY or CLUMP_ERR_CL. Fails with CLUMP_ERR_USAGE also while
 * another thread's step runs. After a failure the pool is consistent. Moves in progress are dropped
 * or continue. */
CLUMP_API clump_status clump_pool_defragment(clump_pool *pool, const clump_defrag_desc *desc,
                                             clump_defrag_report *report, const clump_sync *sync);

/* METHOD. Swap by hand, with `manual`. clump_pool_next_move() returns a move whose copy has
 * completed. If none has, the allocation of `move` is 0. clump_pool_finish_move() then decides:
 * COPY swaps, IGNORE keeps the old place, DESTROY frees the allocation. Before that, name commands
 * that still use the old place with clump_pool_use().
 * Blocks: no.
 * Returns CLUMP_OK. clump_pool_finish_move() fails with CLUMP_ERR_REFERENCE for an allocation that
 * does not exist, or CLUMP_ERR_USAGE if no move of the allocation waits. Other statuses are
 * CLUMP_ERR_USAGE and CLUMP_ERR_CL. */
CLUMP_API clump_status clump_pool_next_move(clump_pool *pool, clump_move *move);
CLUMP_API clump_status clump_pool_finish_move(clump_pool *pool, clump_allocation allocation,
                                              clump_move_op op);

/* METHOD. Pass on the events of a frame's commands (retained, from a queue with profiling), in
 * their order. The pool measures the pauses between them, and from the last event to the first of
 * the next frame, when they have completed. The budget of a step with use_pauses is then
 *     pause_factor * (least over the last `pause_frames` frames of (longest pause of the frame))
 * in device time (Eichinger's thesis, 4.4.2). It is 0 until so many frames are known. Commands that
 * the device times wrongly, such as with an end before the beginning, are left out, with the pauses
 * next to them. Without events, the call only ends a frame in the pool's trace.
 * Blocks: no.
 * Returns CLUMP_OK. Fails with CLUMP_ERR_IO if the trace could not be written, CLUMP_ERR_USAGE,
 * CLUMP_ERR_HOST_MEMORY or CLUMP_ERR_CL. */
CLUMP_API clump_status clump_pool_end_frame(clump_pool *pool, cl_uint count,
                                            const cl_event *events);

#ifdef __cplusplus
}
#endif
#endif
