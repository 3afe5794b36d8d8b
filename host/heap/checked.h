/* Checked heaps, as other parts see them: what moves, makes or frees objects calls these. Of
 * other heaps they do nothing.
 *
 * Invariant: outside of plain_begin() and plain_end() the references of a checked heap have
 * generations.
 *
 * Read first: access.h. Implementation: checked.c.
 */
#ifndef CLUMPI_CHECKED_H
#define CLUMPI_CHECKED_H

#include "clump/checked.h"
#include "heap/access.h"

/* Objects of a do-new: the list has them, and its kernel has begun. */
clump_status clumpi_checking_new(clump_heap *heap, clumpi_u32 class_id);

/* Around what moves or frees objects: it sees plain references. `begin` within another does
 * nothing, and says so by *is_begun 0, which `end` takes. */
clump_status clumpi_checking_plain_begin(clump_heap *heap, int *is_begun);
clump_status clumpi_checking_plain_end(clump_heap *heap, int is_begun);

/* References that the library made, in a buffer from number `at` on, get their generations. */
clump_status clumpi_checking_name(clump_heap *heap, cl_mem refs, uint64_t at, uint64_t count);

/* References that were given to such a call: without their generations. */
clump_status clumpi_checking_bare(clump_heap *heap, cl_mem refs, uint64_t at, uint64_t count);

/* Compaction, collection or repair moved or freed objects. */
clump_status clumpi_checking_settle(clump_heap *heap);

/* `next`, which is new and has no objects, will take the place of `heap`. Its objects get later
 * generations than those of `heap`, so an old reference names none of them. If references of the
 * two have their generations in other bits, nothing changes. */
clump_status clumpi_checking_follow(clump_heap *next, const clump_heap *heap);

/* `next` is the same heap in other memory: it goes on with what was found in it, and with the names
 * of its kernels. Who made an object that was copied, its copy tells, too. The other way about it
 * is taken back. */
void clumpi_checking_hand_over(clump_heap *heap, clump_heap *next);

/* Take over the findings that are on the device, and clear them there. */
clump_status clumpi_checking_collect(clump_heap *heap);
#endif
