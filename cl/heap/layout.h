/* What host and device share of the heap part: its scratch memory, and how fields are copied.
 *
 * Scratch lies in the heap's buffer, from header.at_scan on. A call owns it from its first kernel
 * to its last, and leaves nothing there for another. Who uses it, and what for:
 *
 *   list of rows   a clumpi_list_tally per work-group, class id   enumerate.cl
 *                  then a clumpi_list_chunk per work-group        chunk.clh
 *   do-new         a clumpi_new_supply per work-group             new.cl
 *   taking         a clumpi_taking per stripe of a class            few.cl
 *   ranking        a word per work-group: objects                 fields.cl
 *   reduction      a result of the user's type per work-group     device_api.clh
 *   statistics     a clumpi_stats_result                          stats.cl
 *   check          a clumpi_check; a word per block at header.at_plan_list: reserved slots
 *                  check.cl
 *   repair         a clumpi_repair                                repair.cl
 *   compaction     what cl/compact/layout.h lists                 plan.clh
 *
 * Invariant: arrays of CLUMPI_CLASS_IDS entries are there for the class ids of the heap only. A
 * copy on the host has room for all, and reads the bytes that there are.
 *
 * Read first: cl/core/layout.h.
 */
#ifndef CLUMPI_HEAP_LAYOUT_H
#define CLUMPI_HEAP_LAYOUT_H

#include "cl/core/layout.h"

/* What a work-group finds of a class for the list of rows. */
typedef struct clumpi_list_tally {
    clumpi_u32 rows;    /* non-empty ones */
    clumpi_u32 partial; /* of these: rows with a free slot */
    clumpi_u32 objects;
    clumpi_u32 empty; /* empty rows of blocks in use; for class 0: free blocks */
} clumpi_list_tally;

/* How a list is made; the sum of some of these. */
enum {
    CLUMPI_LIST_TURN = 1,     /* its number is odd */
    CLUMPI_LIST_NUMBERED = 2, /* objects get numbers */
    /* since the last list, more than kernels changed the heap: header.list_used tells nothing */
    CLUMPI_LIST_ANEW = 4
};

/* The blocks of a work-group for the list of rows. */
typedef struct clumpi_list_chunk {
    clumpi_u32 begin, end;
} clumpi_list_chunk;

/* The elements that arrays of run-time length have in raw memory, counted (elements.cl): ulongs.
 *
 *   0 WRONG      its lower half: ~number of the first array with a word that cannot be right, or 0
 *   1 ROOM       elements for which all arrays have room there
 *   2 SKIP       of the array that has a launch's first element: elements before that one
 *   3 PARTS ..   elements of PART runs each, then of each run of RUN arrays
 */
#define CLUMPI_COUNT_RUN 64u
#define CLUMPI_COUNT_PART 64u
enum { CLUMPI_COUNT_WRONG, CLUMPI_COUNT_ROOM, CLUMPI_COUNT_SKIP, CLUMPI_COUNT_PARTS };
enum { CLUMPI_COUNT_CHECK_LENGTHS = 1, CLUMPI_COUNT_CHECK_ALL = 2 }; /* with room and handle */

/* What a work-group of do-new finds in its blocks. */
typedef struct clumpi_new_supply {
    clumpi_u32 free_blocks;
    clumpi_u32 free_slots; /* in blocks of the class */
} clumpi_new_supply;

/* What a stripe gives of the objects that the host takes. */
typedef struct clumpi_taking {
    clumpi_u32 first; /* number of the first of them */
    clumpi_u32 next;  /* its position */
} clumpi_taking;

/* The statistics; the entry of class 0 counts the free blocks. */
typedef struct clumpi_class_count {
    clumpi_u32 objects, blocks, active; /* active: allocated blocks with a free slot */
    clumpi_u32 reserved;                /* slots that nobody has been given yet */
} clumpi_class_count;

typedef struct clumpi_stats_result {
    clumpi_class_count classes[CLUMPI_CLASS_IDS];
} clumpi_stats_result;
#define CLUMPI_STATS_BYTES(class_count) (((class_count) + 1u) * sizeof(clumpi_class_count))

/* What the check found first, in block order. */
#define CLUMPI_VIOLATION_CODE_BITS 5
typedef struct clumpi_violation {
    /* block << CLUMPI_VIOLATION_CODE_BITS | code, of reservations the code alone; 0xffffffff:
     * nothing */
    clumpi_u32 key;
    clumpi_u32 code, block, class_id, expected, found;
    clumpi_u32 is_told; /* 1: the words above are those of the key */
    clumpi_u32 pad;
} clumpi_violation;

typedef struct clumpi_check {
    clumpi_violation first;
    clumpi_u32 rows[CLUMPI_CLASS_IDS]; /* by class id: rows with objects */
} clumpi_check;
#define CLUMPI_CHECK_BYTES(class_count)                                                            \
    (sizeof(clumpi_violation) + ((class_count) + 1u) * sizeof(clumpi_u32))

/* What the check is told; the sum of some of these. */
enum {
    CLUMPI_CHECK_REPORTING = 1, /* the lowest key is known: leave its details */
    CLUMPI_CHECK_RESERVED = 2,  /* slots may be reserved */
    CLUMPI_CHECK_LIST = 4,      /* the list of objects is valid */
    CLUMPI_CHECK_NUMBERS = 8    /* and has numbers */
};

/* code of a clumpi_violation, and its words; %u are class, expected and found, in this order. Up to
 * MARKS they are of a block, the others of the heap. */
#define CLUMPI_VIOLATION_LIST(X)                                                                   \
    X(CLASS, "its class %u is none of the schema (state %u, found %u)")                            \
    X(CAPACITY, "class %u holds at most %u objects a block, credits say %u")                       \
    X(FREE_CREDITS, "it is free (class %u) and must have %u credits, has %u")                      \
    X(EMPTY, "it belongs to class %u and must have at least %u credit, has %u")                    \
    X(STRIPED, "of class %u: stripes have %u slots of it, by its own record %u")                   \
    X(BITS, "of class %u has %u credits, but %u live slots in its bitmaps")                        \
    X(STRAY, "of class %u has bits set in granule %u where no row starts: %u of them")             \
    X(FREE_HINT, "of class %u: the free hint should be %u, is %u")                                 \
    X(ACTIVE_HINT, "the active hint of class %u should be %u, is %u")                              \
    X(HELD, "of class %u has %u reserved slots, but %u credits that no object has")                \
    X(WATCHED, "of class %u watches slots without objects in granule %u: %u of them")              \
    X(MARKS, "of class %u: runs of raw memory in row %u begin or end in %u wrong places")          \
    X(UPPER_HINT, "an upper bit of hint set %u should be %u, is %u")                               \
    X(OUTSIDE, "hint set %u: word %u names blocks that are not there, by its bits %u")             \
    X(EXHAUSTED,                                                                                   \
      "class %u counts as out of memory since epoch %u, but hints %u say where room is")           \
    X(STRIPE, "class %u: stripe %u of what is reserved ends at %u, where nothing is reserved")     \
    X(SLOT, "class %u: row %u of what is reserved is at %u, where no block has it")                \
    X(LEFT, "class %u: stripe %u has reserved slots, but %u are said to be left in all")           \
    X(LIST, "class %u: entry %u of the list of objects is wrong: granule or number %u")            \
    X(LIST_ROWS, "class %u has %u rows with objects, but %u in the list of objects")

enum {
#define CLUMPI_VIOLATION_ENUM(name, text) CLUMPI_VIOLATION_##name,
    CLUMPI_VIOLATION_LIST(CLUMPI_VIOLATION_ENUM)
#undef CLUMPI_VIOLATION_ENUM
        CLUMPI_VIOLATION_COUNT
};

/* What the repair did (clump_repair_report of clump/heap.h). */
typedef struct clumpi_repair {
    clumpi_u32 objects;            /* live, as the bitmaps have it */
    clumpi_u32 blocks;             /* of which the state was not what the bitmaps say */
    clumpi_u32 appeared, vanished; /* bits more and fewer than credits */
    clumpi_u32 lost_blocks, lost;  /* blocks with bits whose class nothing tells; those bits */
    clumpi_u32 strays;             /* other bits where no row can start */
    /* blocks whose class was told by hints or by the places of their bits */
    clumpi_u32 guessed;
} clumpi_repair;

/* What clumpi_field_copy does. */
enum { CLUMPI_COPY_READ, CLUMPI_COPY_WRITE, CLUMPI_COPY_REFS };

/* A field of a class, and where structs on the host have it (structs.cl). */
typedef struct clumpi_struct_field {
    clumpi_u32 base, stride, step; /* in a row: of slot 0, to the next slot, to the next element */
    clumpi_u32 count;              /* elements; 0: the objects' references are asked for */
    clumpi_u32 bytes, next;        /* of an element; in the struct from one to the next */
    clumpi_u32 piece;              /* what all of these are multiples of: 1, 2, 4, 8 or 16 */
    clumpi_u32 is_read;            /* 1: from the heap to the struct; 0: the other way */
    clumpi_u64 at, struct_bytes;   /* of the first struct; from one to the next */
    /* of the objects' numbers, from .. to-1; number `from` is the first struct. Only of objects of
     * classes: new objects and chosen ones are all copied */
    clumpi_u32 from, to;
} clumpi_struct_field;

/* Where the objects of a class are by the numbers of a file, and by those of the heap
 * (dense.cl). */
typedef struct clumpi_dense_span {
    clumpi_u32 from, to; /* number of the first one in the file; in the heap */
    clumpi_u32 class_id; /* in the heap */
    clumpi_u32 pad;
} clumpi_dense_span;

/* What dense.cl counts. */
typedef struct clumpi_dense_wrong {
    clumpi_u32 nulled; /* references that named no object of the classes asked for */
    /* numbers that no object has; of objects of other classes than asked for */
    clumpi_u32 no_object, no_member;
    clumpi_u32 pad;
} clumpi_dense_wrong;

#endif
