/* clang-format off */
/* The heap's structures in device memory, shared by host and device.
 *
 *   heap buffer, in 64-byte units ("at_..." offsets count from its start):
 *
 *   | null row | header | class table | states | bitmaps | hints | lists | reservations | columns | scratch | block ...
 *   |<------------------------- blocks 0 .. first_block-1, class RESERVED ------------------------->|<- first_block
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
 *   raw    = classes after those of the schema have slots of raw memory instead of objects: one
 *            size each, and two of which a request takes neighbouring slots, of one row or of whole
 *            blocks (runs.clh). Blocks, rows, bits and credits are those of any class
 *   scratch = memory that a call owns while it runs. What is in it is declared by the part that
 *             uses it:
 *            cl/<part>/layout.h
 *
 * Invariants, true whenever no kernel runs and nothing is reserved (clump_heap_check() verifies
 * them; of what is reserved it knows that its slots are credits, too, reserve.clh):
 *   1. credits(b) = number of bits set in the rows of b, and at most the capacity of its class
 *   2. class(b) = 0 exactly if credits(b) = 0
 *   3. every hint equals its truth: free if class(b) = 0; active[T] if class(b) = T and
 *      credits(b) < capacity(T); upper bits as above
 *
 * All fields are 32-bit so that both sides agree without packing rules. Read next: prelude.clh.
 */
/* clang-format on */
#ifndef CLUMPI_LAYOUT_H
#define CLUMPI_LAYOUT_H

#if defined(__OPENCL_VERSION__) || defined(__OPENCL_C_VERSION__)
typedef uint clumpi_u32;
typedef ulong clumpi_u64;
#else
#include <stdint.h>
typedef uint32_t clumpi_u32;
typedef uint64_t clumpi_u64;
#endif

#define CLUMPI_MAGIC 0x434c4d50u /* "CLMP" */
#define CLUMPI_UNIT 64u          /* bytes per unit of the at_ offsets */
#define CLUMPI_CLASS_SHIFT 24
#define CLUMPI_CREDIT_MASK 0x007fffffu
#define CLUMPI_STRIPED 0x00800000u /* of a state: slots of the block are in stripes (reserve.clh) */
#define CLUMPI_RAW_UNIT 16u        /* bytes: sizes of raw memory are multiples of it */
#define CLUMPI_RAW_ALIGN_MAX 4096u /* bytes: the largest alignment that can be asked for */
#define CLUMPI_RESERVED 255u       /* class of the blocks that hold the metadata */
#define CLUMPI_LEVELS_MAX 6        /* 32^6 > 2^26 blocks */
#define CLUMPI_ROW_SLOTS 64u       /* objects of a row: CLUMP_ROW_SLOTS */
#define CLUMPI_ROWS_MAX 64u /* rows of a block: a block's non-empty rows fit one 64-bit mask */
#define CLUMPI_HOLES 16u    /* holes for each entry of the list of slots */
#define CLUMPI_STRIPES 128u /* of a reservation, at most; a power of two */
#define CLUMPI_ERRORS 10
#define CLUMPI_ERRORS_PLACES 16u /* room for them: lines of 128 bytes */
#define CLUMPI_CLASS_IDS 256u    /* class ids, with 0 and CLUMPI_RESERVED */
#define CLUMPI_REDUCE_BYTES 128u
#define CLUMPI_REDUCE_ITEMS 256u /* largest work-group of a reduction */
#define CLUMPI_LISTS_KEPT                                                                          \
    8u /* lists whose blocks are remembered, with the one that is being made */
#define CLUMPI_LIST_KEYED 256u /* header.list_of, for a key kernel: no class has this id */
#define CLUMPI_LOOP_KEYED                                                                          \
    512u /* in a report, with header.list_of: the loop is CLUMP_FOR_EACH_KEYED */
#define CLUMPI_MALLOC_OTHER 2048u /* in a report: a function of malloc.h that is for other blocks */
#define CLUMPI_LOOP_NOTED 1024u   /* in a report: objects that CLUMP_GRID_NOTE() could not note */

/* What is known of the demand for a class's slots: 32 bytes. */
typedef struct clumpi_learnt {
    clumpi_u32 demand;  /* slots that kernels asked for of late, when the list before was made */
    clumpi_u32 growth;  /* how many objects more there were, when some had been asked for */
    clumpi_u32 objects; /* that there were then */
    clumpi_u32 asked;   /* since then */
    clumpi_u32 pad;
    clumpi_u32 is_turnover; /* 1: those who asked of late freed about as many */
    clumpi_u32 exhausted;   /* clumpi_class.exhausted when the list before was made */
    clumpi_u32 idle;        /* lists since any were asked for, at most 31 */
} clumpi_learnt;

/* What is reserved for a class (cl/core/reserve.clh). 256 bytes. The first line is all that a
 * request for a reserved slot reads; kernels do not change it. */
typedef struct clumpi_reservation {
    clumpi_u32 at_stripes,
        at_slots;          /* the class's stripes; the list of slots, of all classes. In units */
    clumpi_u32 stripes;    /* in use, a power of two */
    clumpi_u32 holes;      /* the first rows: 64 free slots each, of rows that are not empty */
    clumpi_u32 holes_from; /* entry of row 0 in the list of slots */
    /* the other rows are empty; row i has entry empty_from + i. Modulo 2^32 */
    clumpi_u32 empty_from;
    clumpi_u32 at_rows, at_masks; /* header.at_list_rows, at_list_masks */
    clumpi_u32 least;             /* slots that the host wants reserved always */
    clumpi_u32 fixed_pad[23];
    clumpi_u32 left; /* 0: all stripes were seen empty, and stay so */
    /* the limit of each stripe that those who take back for other classes agree on */
    clumpi_u32 keep;
    clumpi_u32 left_pad[14];
    /* list number n of the heap is made by learnt[n & 1] and leaves the other one */
    clumpi_learnt learnt[2];
} clumpi_reservation;

/* One stripe: positions next .. limit - 1 are to be had. One 64-bit word, next << 32 | limit, so
 * that whoever adds to `next` sees both. 128 bytes. */
typedef struct clumpi_stripe {
    clumpi_u32 limit, next;
    clumpi_u32 pad[30];
} clumpi_stripe;

/* Which slots of a block are in stripes, if its state has CLUMPI_STRIPED: some of its holes, whose
 * numbers within the reservation follow each other, and some of its empty rows, or all rows of a
 * fresh block. 12 bytes. */
typedef struct clumpi_striped {
    clumpi_u32 first_hole, first_row; /* first_row: number of the row in the reservation */
    clumpi_u32 counts;                /* holes << 16 | slots of rows: 64 for each */
} clumpi_striped;

/* Positions from .. to-1 of a stripe. */
typedef struct clumpi_span {
    clumpi_u32 stripe, from, to;
} clumpi_span;

/* One entry per class, index = class id; index 0 is unused. The table follows the header. 512
 * bytes. */
typedef struct clumpi_class {
    /* Fixed at creation. */
    clumpi_u32 row_granules; /* k */
    clumpi_u32 rows;         /* rows of a block; 0: abstract */
    clumpi_u32 capacity;     /* rows * 64 */
    clumpi_u32 last;         /* last class id of the subtree */
    clumpi_u32 copies, refs,
        columns_end; /* columns copies .. refs-1 are what a move copies, refs ..
                                             cleared-1 the reference fields */
    /* of these, weak .. arrays-1 are the weak ones, and arrays .. cleared-1 are no columns of
     * references, but of the words of arrays that have some in raw memory (clumpi_raw_refs_of()) */
    clumpi_u32 weak;
    clumpi_u32 slot_bytes; /* of raw memory: a slot; 0: a class of objects */
    clumpi_u32 is_runs; /* 1: a request takes neighbouring slots (runs.clh); nothing is reserved */
    clumpi_u32 arrays,
        /* columns cleared .. columns_end-1 are 0 in a new object: of arrays of run-time length */
        cleared;
    /* 1: of blocks without memory (cl/heap/evict.cl): a full block has one row; nothing is
     * reserved */
    clumpi_u32 is_away;
    /* columns columns_end .. owners_end-1 are the words of all arrays that have raw memory */
    clumpi_u32 owners_end;
    /* of a class whose objects can become others: the references to these are at became_base + slot
     * * became_stride of a row, 0 for an object that is what it was; became_stride 0: none */
    clumpi_u32 became_base, became_stride;
    clumpi_u32 fixed_pad[16];
    /* Changed by kernels. */
    clumpi_u32 exhausted; /* value of header.epoch at which a sweep found no room */
    clumpi_u32 swept;     /* of runs: the same when the last sweep began (runs.clh) */
    clumpi_u32 counter_pad[30];
    clumpi_reservation reserved;
} clumpi_class;

/* Elements of fields of one class, inherited ones included, that lie `step` bytes apart in a row:
 * element e of slot s is at base + e * step + s * stride. Of an array of run-time length whose
 * elements are references: its words 0 .. 2 (cl/api/arrays.clh) are at base + k * step + s *
 * stride, and `count` elements lie in the object. Of an owner (clumpi_class.owners_end): the same,
 * for elements of `width` bytes. Of a slot of raw memory: all of it. 32 bytes. */
typedef struct clumpi_column {
    clumpi_u32 base, stride, step, count;
    clumpi_u32 width;       /* bytes of an element: 1, 2, 4, 8 or 16, of an owner up to 128 */
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
    clumpi_u32 at_list_rows, at_list_masks, at_list_index, at_list_begin, at_list_full;
    clumpi_u32 at_scan; /* scratch of one call after the other: cl/heap/layout.h */
    clumpi_u32 at_columns;
    clumpi_u32 capacity_max; /* most objects any class has in a block */
    clumpi_u32 block_reciprocal,
        block_shift; /* granule / block_granules = mul_hi(granule, reciprocal)
                                                 >> shift; shift 0xffffffff: block_granules is 1 */
    clumpi_u32 scan_groups;
    clumpi_u32 hint_words, hint_levels;       /* words of one set; levels, the last has one word */
    clumpi_u32 hint_level[CLUMPI_LEVELS_MAX]; /* first word of each level within a set */
    clumpi_u32 hint_count[CLUMPI_LEVELS_MAX]; /* words of each level */
    /* Scratch of compaction: cl/compact/layout.h. */
    clumpi_u32 at_plans, at_plan_counts, at_plan_histograms, at_tallies;
    clumpi_u32 at_plan_list, at_block_plans, at_moved;
    clumpi_u32 at_chunks;
    clumpi_u32 at_stripes, at_slots;    /* reservations: stripes; the list of slots */
    clumpi_u32 at_striped;              /* a clumpi_striped for each block */
    clumpi_u32 stripes;                 /* of a class, at most */
    clumpi_u32 slots_rows, slots_holes; /* entries of the list of slots: for rows; then for holes */
    clumpi_u32 reduce_groups;           /* most work-groups of a reduction */
    /* bit per slot, as at_bits: handles were made of its object; 0: none are kept */
    clumpi_u32 at_watch;
    clumpi_u32 at_checked; /* a clumpi_checks; 0: the heap is not checked */
    /* classes first_raw .. class_count are raw memory, the last two of runs; class_count + 1: there
     * is none */
    clumpi_u32 first_raw;
    clumpi_u32 raw_units; /* the largest slot of a class that is not of runs, in CLUMPI_RAW_UNIT */
    clumpi_u32 raw_most;  /* the largest request, likewise */
    clumpi_u32 at_marks,
        /* where runs begin and end (runs.clh); rows of a block that can have some. After the last
         * block's marks: CLUMPI_RUN_NOTES_BYTES() */
        mark_rows;
    /* of a heap in segments (segments.clh): what is added to the addresses of each; 0: there are
     * none */
    clumpi_u32 at_segments;
    clumpi_u32 segment_reciprocal,
        segment_shift; /* granule / granules of a segment, as block_reciprocal and block_shift */
    /* the number of the last launch that may erase keys of maps, which the host writes before it
     * (cl/api/map.clh); 0: there was none */
    clumpi_u32 map_turn;
    /* by class id: behind the rows of the list, where its rows begin that had reserved slots only
     * (enumerate.cl) */
    clumpi_u32 at_list_reserved;
    /* Changed by kernels; each group on a 128-byte line of its own. */
    clumpi_u32 epoch; /* grows when room appears: a full block gets a free slot, a block is freed */
    clumpi_u32 taken; /* how often reserved slots were taken back for other classes */
    clumpi_u32 epoch_pad[30];
    clumpi_error errors[CLUMPI_ERRORS_PLACES];
    clumpi_u32 new_rows, new_objects; /* of the last do-new: rows of its list, objects made */
    clumpi_u32 ranked;                /* objects that the last ranking numbered (fields.cl) */
    /* what the list is for: 0 all objects; a class, a do-new of it; CLUMPI_LIST_KEYED */
    clumpi_u32 list_of;
    clumpi_u32 list_opened
        /* free blocks that lists reserved: by number modulo 2; from 2 on, the lists before these
         * two, the latest first (chunk.clh) */
        [CLUMPI_LISTS_KEPT];
    /* how many launches like those before the last list have their slots reserved with it;
     * CLUMPI_NONE: nothing was ever asked for, so nobody knows */
    clumpi_u32 list_covers;
    /* after the last block that was in use when the list was made; by number modulo 2 */
    clumpi_u32 list_used[2];
    /* bits of class ids: no other class has a count in the list; by number modulo 2. The list
     * before clears them */
    clumpi_u32 list_present[2][CLUMPI_CLASS_IDS / 32u];
    /* 1: since the list was made an object got another slot than a reserved one (block.clh) */
    clumpi_u32 list_beyond;
    clumpi_u32 became; /* 1: objects became others since references were settled (become.clh) */
    clumpi_u32 new_pad[29];
    /* groups that stored their partial result; not 0 after a reduction: some groups did not */
    clumpi_u32 reduce_done;
    clumpi_u32 reduced_mark; /* 0, or of the last reduction: its number << 8 | bytes of its type */
    clumpi_u32 reduced[CLUMPI_REDUCE_BYTES / 4]; /* result of the last reduction */
} clumpi_header;

/* What requests for runs leave for others (runs.clh): for 1 to 64 slots of both classes, and as
 * many blocks, an epoch; for as many slots a place; then for each word of hints of both classes a
 * word, and one for each number of slots. */
#define CLUMPI_RUN_NOTES_BYTES(hint_words)                                                         \
    (4u * (5u * CLUMPI_ROW_SLOTS + 2u * (hint_words) * (CLUMPI_ROW_SLOTS + 1u)))

/* Where a kernel over numbered objects finds the list, in units: its second parameter,
 * CLUMP_NUMBERS. It is the same for all launches on a heap. */
typedef struct clumpi_numbers {
    clumpi_u32 rows, masks, index, begin, full;
} clumpi_numbers;

/* ---- Checked heaps (clump/checked.h) ----
 *
 * Each byte of a block that is in no field of a live object has CLUMPI_FREED_BYTE, in all blocks:
 * free slots, gaps between the columns of a row, the ends of rows and blocks, free blocks. An
 * object begins with the word that says where it was made; then come its fields, a gap after each.
 *
 * A reference has the generation of its slot in the bits that no plain reference of the heap needs:
 * it is raised when the object is freed. 0 fits every generation. The null row has none.
 */
#define CLUMPI_FREED_BYTE 0xddu
#define CLUMPI_FREED_WORD 0xddddddddu
#define CLUMPI_FRESH_WORD                                                                          \
    0xfffafffau /* in fields that were never written; no number in all floating types */
/* The same in references: a slot of the null row. It leads nowhere, and is not counted with those
 * that do. */
#define CLUMPI_FRESH_REF 61u
#define CLUMPI_STALE_REF 62u /* what references to freed objects become where objects move */
#define CLUMPI_MADE_BYTES 4u /* of an object: where it was made */
#define CLUMPI_GAP_BYTES 1u  /* for each object, behind each column */
/* Of raw memory (pieces.clh): bytes of a slot before its piece, or more for an alignment; bytes
 * behind it; bytes of the heap for which one free is recorded. */
#define CLUMPI_PIECE_BEFORE 32u
#define CLUMPI_PIECE_BEHIND 16u
#define CLUMPI_PIECE_CELL 64u
#define CLUMPI_FINDINGS                                                                            \
    64u /* different ones that are kept until they are fetched; a power of two */
#define CLUMPI_SITE_LINE_BITS 20 /* a site: number of the kernel << 20 | line of the source */
#define CLUMPI_SITE_LINE_MASK 0xfffffu

/* The checks of a program and of a heap: CLUMP_CHECK_... of clump/checked.h. */
#define CLUMPI_CHECKS_REFERENCES 1u
#define CLUMPI_CHECKS_BOUNDS 2u
#define CLUMPI_CHECKS_READS 4u
#define CLUMPI_CHECKS_FREED 8u
#define CLUMPI_CHECKS_MEMORY 16u
#define CLUMPI_CHECKS_HISTORY 32u
#define CLUMPI_CHECKS_LEAKS 64u
#define CLUMPI_CHECKS_GENERATIONS 128u

/* clumpi_finding.kind: clump_finding_kind of clump/checked.h. */
#define CLUMPI_FINDING_ACCESS 0u
#define CLUMPI_FINDING_CAST 1u
#define CLUMPI_FINDING_FREE 2u
#define CLUMPI_FINDING_DOUBLE_FREE 3u
#define CLUMPI_FINDING_BOUNDS 4u
#define CLUMPI_FINDING_READ 5u
#define CLUMPI_FINDING_FREED 6u
#define CLUMPI_FINDING_GAP 7u

/* What kernels find, once for each kind, site, class and field; the first of them leaves its
 * detail. 64 bytes. */
typedef struct clumpi_finding {
    clumpi_u32 key;   /* of the above; 0: the entry is free */
    clumpi_u32 count; /* how often */
    clumpi_u32 order; /* which was first */
    clumpi_u32 kind;
    clumpi_u32 site;
    clumpi_u32 class_id; /* that the access expects, or that has the memory; 0: a free block */
    clumpi_u32 at; /* byte in the row: the field, what was overwritten; CLUMPI_NOWHERE: no field */
    clumpi_u32 ref, work_item;
    clumpi_u32 detail; /* index, class that was found, value */
    /* who freed the object, or made it; by_site 0: not known; by_item CLUMPI_CHANGED: the object
     * changed its class there */
    clumpi_u32 by_site, by_item;
    clumpi_u32 is_stale; /* 1: the slot was given out again since */
    clumpi_u32 pad[3];
} clumpi_finding;
#define CLUMPI_NOWHERE 0xffffffffu
#define CLUMPI_CHANGED 0xffffffffu /* no work-item has that number */

/* An allocation or a free. */
typedef struct clumpi_event {
    clumpi_u32 what; /* class << 1 | 1, if it was freed */
    clumpi_u32 ref, site, work_item;
} clumpi_event;

/* Bytes of a row that are in no field: from .. to-1, multiples of 4. */
typedef struct clumpi_gap {
    clumpi_u32 from, to;
} clumpi_gap;

typedef struct clumpi_checks {
    clumpi_u32 runs;       /* number of the kernel that runs; 0: the host has launched none */
    clumpi_u32 lost;       /* findings for which there was no entry */
    clumpi_u32 order;      /* of the next one */
    clumpi_u32 event_next; /* events so far, modulo 2^32 */
    clumpi_u32 events;     /* that the ring has, a power of two */
    clumpi_u32 at_events;  /* the ring, in units */
    /* two words for each slot, by reference: site and work-item of its last free */
    clumpi_u32 at_freed;
    clumpi_u32 at_gaps; /* gaps of class c: gaps[c] .. gaps[c + 1] - 1 */
    clumpi_u32
        at_generations;     /* 16 bits for each slot, by plain reference: its generation less 1 */
    clumpi_u32 generations; /* how many there are, from 1 on; 0: references have none */
    clumpi_u32 ref_mask,
        ref_shift;       /* of the plain part of a reference; of the generation above it */
    clumpi_u32 is_plain; /* 1: references have none for now: objects are about to move */
    /* with raw memory, two words for each CLUMPI_PIECE_CELL bytes of the heap: site and work-item
     * of the last free there (pieces.clh) */
    clumpi_u32 at_pieces;
    clumpi_u32 pad[2];
    clumpi_finding findings[CLUMPI_FINDINGS];
    clumpi_u32 gaps[CLUMPI_CLASS_IDS + 1];
} clumpi_checks;

#endif
