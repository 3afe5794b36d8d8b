/* Defragmentation of a pool: movable allocations are copied together, so that chunks become empty.
 *
 *   before  │ A │    │ B │    │ C │ │     chunk 1  │ D │             │
 *   after   │ A │ D │  │ B │    │ C │ │   chunk 1  │     (released)  │
 *
 * A step looks for moves, weighs them, copies as much as its budget allows, and swaps what earlier
 * steps copied. A step waits only if it is asked to: a copy that is still under way is swapped by a
 * later step. A large allocation may take several steps. After every step all allocations are
 * valid, at the old or the new place: clump_pool_get_info() tells, and the callback `moved` of the
 * pool.
 *
 * Moves lead to a chunk of which a greater share is in use (or an older one, see `order`) or to a
 * lower offset of the same chunk. When there is no such move, the waste is 10% or more, and the
 * chunks could be one fewer, a chunk with holes is copied into the empty one, without its holes.
 * So without new allocations or frees the steps come to an end, and none undoes another.
 *
 * Releasing chunks that became empty takes time of the driver, so steps with a budget leave some of
 * them to the next steps, with half of their budget. Allocations may use them meanwhile.
 *
 * Names as in Eichinger's thesis: P. Eichinger, Vulkan Memory-Management and Defragmentation,
 * chapter 4.
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
    CLUMP_DEFRAG_FULLEST = 0, /* empty the chunk with the least in it first */
    CLUMP_DEFRAG_OLDEST       /* towards the first chunk made, as Eichinger's thesis does */
} clump_defrag_order;

/* How far a step goes. All zero: everything that can be moved now. */
typedef struct clump_defrag_desc {
    size_t size; /* sizeof(clump_defrag_desc) */
    /* Time of this step; 0: no limit. With `wait` the time that the call takes, without it the time
     * the device spends copying. Where it is too short for any copy, one step in five makes a small
     * one, to see whether copies still take so long. */
    double budget_us;
    uint64_t max_bytes; /* to copy in this step; 0: no limit */
    uint32_t max_moves; /* to begin in this step; 0: no limit */
    int use_pauses; /* the budget is what clump_pool_end_frame() learnt, at most budget_us if set */
    int wait;       /* wait for the copies and swap at once */
    /* No command uses movable allocations until the call returns; implies wait. Allows moves by
     * less than an allocation's size. They destroy the source as they go, are not asked about
     * (`decide`), and if OpenCL refuses a copy three times in the middle of one, its contents are
     * lost; the error then says whose. */
    int exclusive;
    /* as one exclusive operation: of the others, only order and weights count */
    int until_done;
    int manual; /* do not swap: clump_pool_next_move() and clump_pool_finish_move() */
    clump_defrag_order order;
    const struct clump_defrag_weights *weights; /* experimental.h. NULL: as is best */
} clump_defrag_desc;

/* What a step did. */
typedef struct clump_defrag_report {
    size_t size;                       /* sizeof(clump_defrag_report) */
    uint32_t begun, finished, dropped; /* moves; dropped: freed, pinned or ignored meanwhile */
    uint32_t under_way;                /* moves that later steps will finish */
    uint64_t copied_bytes;             /* enqueued in this step */
    uint32_t chunks_released;
    double budget_us;    /* what the step had, INFINITY without a limit */
    double predicted_us; /* what it was expected to take */
    double waste;        /* as in clump_pool_stats, afterwards */
    int done;            /* nothing is left to move, and nothing is under way */
} clump_defrag_report;

/* METHOD. One step; with until_done, steps until there is nothing left to move.
 *   desc    [in, optional]   NULL: all zero, that is everything that can be moved now
 *   report  [out, optional]  of all steps together
 *   sync    [in, optional]   of the copies; the event completes with all that are under way
 * Blocks: with wait, exclusive or until_done. Returns CLUMP_OK; CLUMP_ERR_USAGE, also while another
 * thread's step runs; CLUMP_ERR_HOST_MEMORY; CLUMP_ERR_CL. After a failure the pool is consistent;
 * moves that were under way are dropped or go on. */
CLUMP_API clump_status clump_pool_defragment(clump_pool *pool, const clump_defrag_desc *desc,
                                             clump_defrag_report *report, const clump_sync *sync);

/* METHOD. With `manual`: a move whose copy has completed, in `move`; its allocation 0 if there is
 * none. Then say what to do: COPY swaps, IGNORE keeps the old place, DESTROY frees the allocation.
 * Commands that still use the old place are named with clump_pool_use() before.
 * Blocks: no. Returns CLUMP_OK;
 * CLUMP_ERR_REFERENCE, from the second, an allocation of which no move waits; CLUMP_ERR_USAGE;
 * CLUMP_ERR_CL. */
CLUMP_API clump_status clump_pool_next_move(clump_pool *pool, clump_move *move);
CLUMP_API clump_status clump_pool_finish_move(clump_pool *pool, clump_allocation allocation,
                                              clump_move_op op);

/* METHOD. Hand over the events of a frame's commands (retained; from a queue with profiling), in
 * their order. The pauses between them, and from the last to the first of the next frame, are
 * looked at when they have completed. A step with use_pauses may then take
 *     pause_factor * (least over the last `pause_frames` frames of (longest pause of the frame))
 * (Eichinger's thesis 4.4.2), measured in device time. 0 until as many frames are known. Commands
 * whose times the device tells wrong (an end before the beginning, say) are left out, with the
 * pauses next to them. Without events the call only ends a frame in the pool's trace.
 * Blocks: no. Returns CLUMP_OK; CLUMP_ERR_IO the trace could not be written; CLUMP_ERR_USAGE;
 * CLUMP_ERR_HOST_MEMORY; CLUMP_ERR_CL. */
CLUMP_API clump_status clump_pool_end_frame(clump_pool *pool, cl_uint count,
                                            const cl_event *events);

#ifdef __cplusplus
}
#endif
#endif
