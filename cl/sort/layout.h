/* The tables that a sort works with, shared by host and device: a buffer of its own.
 *
 *   | clumpi_sort_head | counts[digit][work-group] | places[digit][work-group] |
 *
 * Read first: cl/core/layout.h. Read next: sort.cl.
 */
#ifndef CLUMPI_SORT_LAYOUT_H
#define CLUMPI_SORT_LAYOUT_H

#include "cl/core/layout.h"

#define CLUMPI_SORT_ITEMS 8u    /* pairs of a work-item in a tile */
#define CLUMPI_SORT_BITS 4u     /* of a digit, for work-groups of many items */
#define CLUMPI_SORT_BITS_ONE 8u /* for work-groups of one */
#define CLUMPI_SORT_PASSES 8u   /* over 32 bits, at most */

typedef struct clumpi_sort_head {
    /* By pass, and after the last: 0 if the caller's buffers have the pairs, 1 if the others do. */
    clumpi_u32 turn[CLUMPI_SORT_PASSES + 1u];
    clumpi_u32 pad[16u - CLUMPI_SORT_PASSES - 1u];
} clumpi_sort_head;

/* Byte offset of the counts (0) or the places (1). Number 2 is the end of the buffer. */
static inline clumpi_u64 clumpi_sort_table_at(clumpi_u32 bits, clumpi_u32 groups,
                                              clumpi_u32 number) {
    return sizeof(clumpi_sort_head) + 4u * ((clumpi_u64)groups << bits) * number;
}

#endif
