/* clang-format off */
/* The heap's structures in device memory, shared by host and device.
 *
 *   heap buffer, in 64-byte units ("at_..." offsets count from its start):
 *
 *   | null row | header | class table | states | bitmaps | hints | lists | columns | plan | scan | block ...
 *   |<-------------------- blocks 0 .. first_block-1, class RESERVED ----------------------->|<- first_block
 *
 *   block  = block_granules granules of granule_bytes; belongs to one class at a time
 *   row    = 64 slots of a class, row_granules[class] granules, at a granule boundary in its block
 *   ref    = granule << 6 | slot, granules counted from the start of the buffer; 0 is null, so the
 *            null row takes what is written through a null reference and nothing else uses it
 *   state  = class << 24 | credits; class 0 is a free block. The one word of truth of a block
 *   bitmap = one word of 64 bits (or two of 32) per granule; bit s of the granule at which a row
 *            starts tells whether slot s is live; words of other granules stay 0
 *   hint   = bit per block, one set of words for free blocks (set 0) and one for the active blocks
 *            of each class (set = class id); level l+1 has a bit per word of level l that is not 0
 *
 * Invariants, true whenever no kernel runs (clump_heap_check() verifies them):
 *   1. credits(b) = number of bits set in the rows of b, and at most the capacity of its class
 *   2. class(b) = 0 exactly if credits(b) = 0
 *   3. every hint equals its truth: free if class(b) = 0; active[T] if class(b) = T and
 *      credits(b) < capacity(T); upper bits as above
 *   4. blocks[T], active[T] of the class table equal the numbers of such blocks and hints
 *
 * All fields are 32-bit so that both sides agree without packing rules. Read next: prelude.clh.
 */
/* clang-format on */
#ifndef CLUMPI_LAYOUT_H
#define CLUMPI_LAYOUT_H

#if defined(__OPENCL_VERSION__) || defined(__OPENCL_C_VERSION__)
typedef uint clumpi_u32;
#else
#include <stdint.h>
typedef uint32_t clumpi_u32;
#endif

#define CLUMPI_MAGIC 0x434c4d50u /* "CLMP" */
#define CLUMPI_UNIT 64u          /* bytes per unit of the at_ offsets */
#define CLUMPI_CLASS_SHIFT 24
#define CLUMPI_CREDIT_MASK 0x00ffffffu
#define CLUMPI_RESERVED 255u /* class of the blocks that hold the metadata */
#define CLUMPI_LEVELS_MAX 6  /* 32^6 > 2^26 blocks */
#define CLUMPI_ROW_SLOTS 64u /* objects of a row: CLUMP_ROW_SLOTS */
#define CLUMPI_ROWS_MAX 64u  /* rows of a block: a block's non-empty rows fit one 64-bit mask */
#define CLUMPI_RUN_SHIFT 26  /* blocks are fewer than granules, which have 26 bits */
#define CLUMPI_RUN_MAX 31u   /* a run ends with a word of hints */
#define CLUMPI_HOLES (1u << 31)
#define CLUMPI_LANES 32u /* blocks of a class that are filled side by side, at most */
#define CLUMPI_ERRORS 4
#define CLUMPI_REDUCE_BYTES 128u

/* Where the work-items of one lane look first. 32 bytes, so that lanes do not share a sector. */
typedef struct clumpi_lane_hint {
    clumpi_u32 at; /* hint: holes << 31 | run << 26 | block. A block with room; its free slots may
                      be anywhere (holes), not just behind those taken; and how many blocks behind
                      it to open one after the other when it is full. 0: none yet. One word, so
                      that they agree */
    clumpi_u32 pad[7];
} clumpi_lane_hint;

/* One entry per class, index = class id; index 0 is unused. 1280 bytes. */
typedef struct clumpi_class {
    /* Fixed at creation. */
    clumpi_u32 row_granules; /* k */
    clumpi_u32 rows;         /* rows of a block; 0: abstract */
    clumpi_u32 capacity;     /* rows * 64 */
    clumpi_u32 last;         /* last class id of the subtree */
    clumpi_u32 copies, refs,
        columns_end; /* columns copies .. refs-1 are what a move copies, refs ..
                                             columns_end-1 the reference fields */
    clumpi_u32 weak; /* of these, weak .. columns_end-1 are the weak ones */
    clumpi_u32 fixed_pad[24];
    /* Changed by kernels. */
    clumpi_u32 blocks;    /* allocated blocks */
    clumpi_u32 active;    /* set bits of the level-0 active hints */
    clumpi_u32 exhausted; /* value of header.epoch at which a sweep found no room */
    clumpi_u32 spread;    /* lanes that fill blocks of their own: grows with hunger, set back before
                             each launch */
    clumpi_u32 counter_pad[28];
    clumpi_lane_hint lanes[CLUMPI_LANES];
} clumpi_class;

/* Elements of fields of one class, inherited ones included, that lie `step` bytes apart in a row:
 * element e of slot s is at base + e * step + s * stride. 32 bytes. */
typedef struct clumpi_column {
    clumpi_u32 base, stride, step, count;
    clumpi_u32 width;       /* bytes of an element: 1, 2, 4, 8 or 16 */
    clumpi_u32 first, last; /* of a reference: the classes that it can point to */
    clumpi_u32 hit; /* changed by each compaction: it can point to a class that takes part */
} clumpi_column;

/* What kernels report, one entry per kind; the order is CLUMP_DEVICE_ERROR_LIST of heap.h. */
typedef struct clumpi_error {
    clumpi_u32 count, class_id, ref, work_item;
} clumpi_error;

typedef struct clumpi_header {
    /* Fixed at creation. */
    clumpi_u32 magic;
    clumpi_u32 self_at; /* of this header, in units */
    clumpi_u32 granule_bytes, block_granules;
    clumpi_u32 first_block, block_end; /* usable blocks: first_block .. block_end - 1 */
    clumpi_u32 class_count;
    clumpi_u32 block_rows_max; /* most rows any class has in a block */
    clumpi_u32 at_classes, at_states, at_bits, at_hints;
    clumpi_u32 at_list_rows, at_list_masks, at_list_index, at_list_begin, at_list_full, at_scan;
    clumpi_u32 at_columns, at_plan, at_moved; /* columns; two words and a bit per block */
    clumpi_u32 capacity_max;                  /* most objects any class has in a block */
    clumpi_u32 block_reciprocal,
        block_shift; /* granule / block_granules = mul_hi(granule, reciprocal)
                                                 >> shift; shift 0xffffffff: block_granules is 1 */
    clumpi_u32 scan_groups;
    clumpi_u32 hint_words, hint_levels;       /* words of one set; levels, the last has one word */
    clumpi_u32 hint_level[CLUMPI_LEVELS_MAX]; /* first word of each level within a set */
    clumpi_u32 hint_count[CLUMPI_LEVELS_MAX]; /* words of each level */
    clumpi_u32 fixed_pad[25];
    /* Changed by kernels; each group on a 128-byte line of its own. */
    clumpi_u32 epoch; /* grows when room appears: a full block gets a free slot, a block is freed */
    clumpi_u32 epoch_pad[31];
    clumpi_error errors[CLUMPI_ERRORS];
    clumpi_u32 error_pad[16];
    clumpi_u32 new_rows, new_objects; /* of the last do-new: rows of its list, objects made */
    clumpi_u32 reduce_done;           /* groups that stored their partial result */
    clumpi_u32 new_pad[29];
    clumpi_u32 reduced[CLUMPI_REDUCE_BYTES / 4]; /* result of the last reduction */
} clumpi_header;

/* Where a kernel over numbered objects finds the list, in units: its second parameter, CLUMP_NUMBERS.
 * It is the same for all launches on a heap. */
typedef struct clumpi_numbers {
    clumpi_u32 rows, masks, index, begin, full;
} clumpi_numbers;

/* Compaction (cl/compact/plan.clh). The scan area has, while one runs: a plan per class id (entry 0: sums),
 * then the counts of each work-group and a histogram per class, in whose place the tallies of the
 * rewriting work-groups come later. at_plan has two words per block, at_moved a bit: 1 for a block
 * whose objects leave. The list area has the numbers of the blocks that give and take. */
typedef struct clumpi_class_plan {
    clumpi_u32 selected; /* 1: the class takes part */
    clumpi_u32 objects, blocks,
        full; /* live; allocated blocks before; of which without a free slot */
    clumpi_u32 threshold,
        ties; /* blocks that stay: with more credits than `threshold`, and the first
                                   `ties` with as many */
    clumpi_u32 below, below_ties; /* blocks that give, of the others: with fewer credits than
                                     `below`, and the first `below_ties` with as many */
    clumpi_u32 moves, moves_left; /* objects in blocks that give; in others that should give */
    clumpi_u32 sources, targets;  /* blocks that give; that take */
    clumpi_u32 source_begin, target_begin; /* where they begin in the list of blocks */
    clumpi_u32 batch_begin, batches;       /* of the move kernel */
    clumpi_u32 freed; /* sources that give in this pass: all of the planner's */
    clumpi_u32 pad[3];
} clumpi_class_plan;

/* Counts of a work-group of the planner, per class. */
enum {
    CLUMPI_COUNT_SOURCES, /* blocks below `below`, and their objects */
    CLUMPI_COUNT_OBJECTS,
    CLUMPI_COUNT_TARGETS, /* blocks above `threshold` with free slots, and these */
    CLUMPI_COUNT_HOLES,
    CLUMPI_COUNT_TIES,       /* blocks at `threshold` */
    CLUMPI_COUNT_BELOW_TIES, /* blocks at `below`, if that is not `threshold` */
    CLUMPI_COUNTS
};

/* What a work-group of a rewriting kernel saw. */
typedef struct clumpi_tally {
    clumpi_u32 examined, rewritten, dangling, pad;
} clumpi_tally;

#define CLUMPI_TALLIES 4u    /* work-groups that compaction launches for each one of other passes */
#define CLUMPI_MOVE_ROWS 32u /* rows of sources that a work-group moves at a time, at most */
#define CLUMPI_HOLE_ROWS 512u /* rows of targets whose free slots it numbers in local memory */

/* Marking (cl/collect/mark.clh): a buffer of the library's own. The control block, references of an object by
 * class id (256 words), then for each granule a word of white objects and one of grey objects, which are to
 * be scanned, then two queues of `capacity` references.
 *
 * Steps are launches of one kernel. Step n reads what [n % 3] says, writes [(n + 1) % 3] and clears
 * [(n + 2) % 3], so that no step changes what it decides by. */
typedef struct clumpi_mark_control {
    /* Set by the host. */
    clumpi_u32 capacity;
    clumpi_u32 narrow;      /* frontiers of at most so many objects are for one work-group alone */
    clumpi_u32 wide;        /* more references than that are shared by a work-group */
    clumpi_u32 rows_above;  /* what a frontier of more objects leads to is marked by rows next */
    clumpi_u32 rows_below;  /* what a sweep of at most so many objects leads to, by the queue */
    clumpi_u32 refill;      /* 1: by the queue only; grey objects go back to it */
    clumpi_u32 histogram;   /* 1: the i-th references of a tile together; 0: by prefix sums */
    clumpi_u32 levels_most; /* that one work-group does in a launch, at most CLUMPI_NARROW_LEVELS */
    clumpi_u32 host_pad[24];
    /* Changed by steps. */
    clumpi_u32 queued
        [3]; /* objects in the queue; more than `capacity`: the others are grey in their words */
    clumpi_u32 grey[3];    /* 1: there are grey objects */
    clumpi_u32 scanned[3]; /* objects of a sweep */
    clumpi_u32 cursor[3];  /* tiles given out */
    clumpi_u32 path;       /* CLUMPI_MARK_... of the last step */
    clumpi_u32 levels, sweeps, refills, narrow_levels, changes, peak;
    clumpi_u32 overflows;            /* objects that found the queue full */
    clumpi_u32 read[2], followed[2]; /* references, low and high words; followed: not null */
    clumpi_u32 roots, roots_dangling;
    clumpi_u32 nulled;                             /* weak references */
    clumpi_u32 marked, dead, blocks, blocks_freed; /* blocks: in use before the sweep */
    clumpi_u32 step_pad[1];
} clumpi_mark_control;

enum {
    CLUMPI_MARK_NONE,
    CLUMPI_MARK_NARROW,
    CLUMPI_MARK_QUEUE,
    CLUMPI_MARK_ROWS,
    CLUMPI_MARK_REFILL
};

#define CLUMPI_MARK_REFS_AT 256u /* byte offsets in the buffer */
#define CLUMPI_MARK_WHITE_AT 1280u
#define CLUMPI_MARK_ITEMS 256u  /* most work-items of a group */
#define CLUMPI_NARROW_MAX 1024u /* largest `narrow` */
#define CLUMPI_NARROW_LEVELS 8192u

/* What the check kernel found first, in block order. */
typedef struct clumpi_violation {
    clumpi_u32 key; /* block << 4 | code; 0xffffffff: nothing */
    clumpi_u32 code, block, class_id, expected, found;
} clumpi_violation;
/* The check's result: a violation, and from word 8 on two tallies per class id. */
#define CLUMPI_CHECK_BYTES(classes) ((8u + 2u * ((classes) + 1u)) * 4u)
/* The statistics: three words per class id. */
#define CLUMPI_STATS_BYTES(classes) (3u * ((classes) + 1u) * 4u)

/* code of a clumpi_violation, and its words; %u are class, expected and found, in this order. */
#define CLUMPI_VIOLATION_LIST(X)                                                                   \
    X(CLASS, "its class %u is none of the schema (state %u, found %u)")                            \
    X(CAPACITY, "class %u holds at most %u objects a block, credits say %u")                       \
    X(FREE_CREDITS, "it is free (class %u) and must have %u credits, has %u")                      \
    X(EMPTY, "it belongs to class %u and must have at least %u credit, has %u")                    \
    X(BITS, "of class %u has %u credits, but %u live slots in its bitmaps")                        \
    X(STRAY, "of class %u has bits set in granule %u where no row starts: %u of them")             \
    X(FREE_HINT, "of class %u: the free hint should be %u, is %u")                                 \
    X(ACTIVE_HINT, "the active hint of class %u should be %u, is %u")                              \
    X(UPPER_HINT, "an upper bit of hint set %u should be %u, is %u")                               \
    X(BLOCKS, "class %u has %u allocated blocks, its counter says %u")                             \
    X(ACTIVE, "class %u has %u active hints, its counter says %u")

enum {
#define CLUMPI_VIOLATION_ENUM(name, text) CLUMPI_VIOLATION_##name,
    CLUMPI_VIOLATION_LIST(CLUMPI_VIOLATION_ENUM)
#undef CLUMPI_VIOLATION_ENUM
        CLUMPI_VIOLATION_COUNT
};

#endif
