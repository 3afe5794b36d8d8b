/* What host and device share of the heap part: its scratch memory, and how fields are copied.
 *
 * Scratch lies in the heap's buffer, from header.at_scan on. A call owns it from its first kernel to its
 * last, and leaves nothing there for another. Who uses it, and what for:
 *
 *   list of rows   a clumpi_list_tally per work-group, class id   enumerate.cl
 *   do-new         a clumpi_new_supply per work-group             new.cl
 *   ranking        a word per work-group: objects                 fields.cl
 *   reduction      a result of the user's type per work-group     device_api.clh
 *   statistics     a clumpi_stats_result                          stats.cl
 *   check          a clumpi_violation                             check.cl
 *   compaction     what cl/compact/layout.h lists                 plan.clh
 *
 * Invariant: arrays of CLUMPI_CLASS_IDS entries are there for the class ids of the heap only. A copy on
 * the host has room for all, and reads the bytes that there are.
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

/* What a work-group of do-new finds in its blocks. */
typedef struct clumpi_new_supply {
    clumpi_u32 free_blocks;
    clumpi_u32 free_slots; /* in blocks of the class */
} clumpi_new_supply;

/* The statistics; the entry of class 0 counts the free blocks. */
typedef struct clumpi_class_count {
    clumpi_u32 objects, blocks, active; /* active: allocated blocks with a free slot */
    clumpi_u32 reserved; /* slots that were given back unused since the last list */
} clumpi_class_count;

typedef struct clumpi_stats_result {
    clumpi_class_count classes[CLUMPI_CLASS_IDS];
} clumpi_stats_result;
#define CLUMPI_STATS_BYTES(class_count) (((class_count) + 1u) * sizeof(clumpi_class_count))

/* What the check found first, in block order. */
typedef struct clumpi_violation {
    clumpi_u32 key; /* block << 4 | code; 0xffffffff: nothing */
    clumpi_u32 code, block, class_id, expected, found;
    clumpi_u32 is_told; /* 1: the words above are those of the key */
    clumpi_u32 pad;
} clumpi_violation;

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
    X(UPPER_HINT, "an upper bit of hint set %u should be %u, is %u")

enum {
#define CLUMPI_VIOLATION_ENUM(name, text) CLUMPI_VIOLATION_##name,
    CLUMPI_VIOLATION_LIST(CLUMPI_VIOLATION_ENUM)
#undef CLUMPI_VIOLATION_ENUM
        CLUMPI_VIOLATION_COUNT
};

/* What clumpi_field_copy does. */
enum { CLUMPI_COPY_READ, CLUMPI_COPY_WRITE, CLUMPI_COPY_REFS };

#endif
