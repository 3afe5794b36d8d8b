/* The scratch memory of compaction, shared by host and device. It lies in the heap's buffer, so
 * that only an order, which sorts, asks for more; host/heap/geometry.c places it.
 *
 *   header.             holds                                                      from .. to
 *   at_plans            clumpi_class_plan [class id]; entry 0: sums                plan .. finish
 *   at_plan_counts      clumpi_block_counts [work-group][class id]                 plan
 *   at_plan_histograms  words [class id][capacity_max + 1]: blocks by objects      plan
 *   at_tallies          clumpi_tally [work-group]                                  check, rewrite
 *   at_plan_list        block numbers: those that give and take, class by class    plan .. finish
 *   at_block_plans      clumpi_block_plan [block]                                  plan .. finish
 *   at_moved            a bit per block: its objects leave                         plan .. finish
 *   at_chunks           clumpi_array_chunk [1 + chunk]: parts of long arrays       check, rewrite
 *
 * The plans and what follows them are in the scratch of calls (cl/heap/layout.h). The tallies stand
 * where the counts and histograms were, which nobody needs once the plan is made. The chunks stand
 * in the place of the do-all's list (at_list_rows), which the objects that move make invalid
 * anyway. All other memory is only of this part.
 *
 * Read first: cl/core/layout.h. Read next: plan.clh.
 */
#ifndef CLUMPI_COMPACT_LAYOUT_H
#define CLUMPI_COMPACT_LAYOUT_H

#include "cl/core/layout.h"

/* Of a class. */
typedef struct clumpi_class_plan {
    clumpi_u32 selected;          /* 1: the class takes part */
    clumpi_u32 objects, blocks;   /* live; allocated blocks before */
    clumpi_u32 full;              /* of these, blocks without a free slot */
    clumpi_u32 threshold, ties;   /* blocks that stay: with more credits than `threshold`, and the
                                   first `ties` with as many */
    clumpi_u32 below, below_ties; /* blocks that give, of the others: with fewer credits than
                                     `below`, and the first `below_ties` with as many */
    clumpi_u32 moves, moves_left; /* objects in blocks that give; in others that should give */
    clumpi_u32 sources, targets;  /* blocks that give; that take */
    clumpi_u32 source_begin, target_begin; /* where they begin in the list of blocks */
    clumpi_u32 batch_begin, batches;       /* of the move kernel */
    clumpi_u32 freed;                      /* sources that give: all of the planner's */
    /* of entry 0: blocks of raw memory that stay as they are, and what is in use of them */
    clumpi_u32 pinned_blocks, pinned_units;
    clumpi_u32 pad;
} clumpi_class_plan;

/* Blocks that a work-group of the planner saw, or (in the kernels) that were seen so far. */
typedef struct clumpi_block_counts {
    clumpi_u32 sources, objects; /* blocks below `below`, and their objects */
    clumpi_u32 targets, holes;   /* blocks above `threshold` with free slots, and these */
    clumpi_u32 ties;             /* blocks at `threshold` */
    clumpi_u32 below_ties;       /* blocks at `below`, if that is not `threshold` */
} clumpi_block_counts;

/* Of a block. Objects of a class that leave are numbered, and so are the holes that they go to:
 * object i goes to hole i. `raw` holds before that (owned.cl), and for pinned blocks until the plan
 * is made. */
typedef union clumpi_block_plan {
    struct {
        clumpi_u32 first_object; /* number of its first object */
        clumpi_u32 target;       /* place in the list of targets where the hole of that number is */
    } source;
    struct {
        clumpi_u32 first_hole; /* number of its first hole */
        clumpi_u32 coming;     /* objects that come in all */
    } target;
    struct {
        clumpi_u32 owned; /* slots that an owner has */
        clumpi_u32 state; /* of a block that is set aside */
    } raw;
} clumpi_block_plan;

/* What a work-group of a rewriting kernel saw. */
typedef struct clumpi_tally {
    clumpi_u32 examined, rewritten, dangling, pad;
} clumpi_tally;

/* References that lie together in raw memory: a part of an array of run-time length. 16 bytes. */
typedef struct clumpi_array_chunk {
    clumpi_u32 count, at; /* references; the first is in unit `at` of the heap (CLUMPI_RAW_UNIT) */
    clumpi_u32 column, pad; /* of the array's words */
} clumpi_array_chunk;

#define CLUMPI_CHUNK_REFS                                                                          \
    4096u /* of a chunk, unless the heap is too large for that (clumpi_array_chunk_most()) */
#define CLUMPI_TALLIES 4u    /* work-groups that compaction launches for each one of other passes */
#define CLUMPI_MOVE_ROWS 16u /* rows of sources that a work-group moves at a time, at most */
#define CLUMPI_HOLE_ROWS 256u /* rows of targets whose free slots it numbers in local memory */

#endif
