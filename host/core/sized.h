/* Structs that begin with their size, so that they can grow: that of the caller's program may be
 * shorter than the library's, or longer (docs/design.md#names).
 *
 * `least` is the size that a struct had in 0.1. No struct has grown since. The first one that does
 * gets a macro of its own here, whose `least` is the offset of its first new member.
 *
 * Read first: include/clump/status.h.
 */
#ifndef CLUMPI_SIZED_H
#define CLUMPI_SIZED_H

#include <stddef.h>

#include "clump/status.h"

/* What a call is asked for: `own` is a copy of `given`, as long as the library's struct. Members
 * that `given` lacks are zero; so are all, but the size, if it is NULL. */
#define CLUMPI_TAKE(type, own, given, error)                                                       \
    clumpi_sized_take(own, sizeof(type), sizeof(type), given, #type, error)
clump_status clumpi_sized_take(void *own, size_t bytes, size_t least, const void *given,
                               const char *type, clump_error *error);

/* Where a call tells something, before it does anything: all but the size becomes zero. NULL is
 * allowed. */
#define CLUMPI_PLACE(type, place, error) clumpi_sized_place(place, sizeof(type), #type, error)
clump_status clumpi_sized_place(void *place, size_t least, const char *type, clump_error *error);

/* Tell it in a place that was found right, as far as there is room. The size stays. NULL is
 * allowed. */
#define CLUMPI_GIVE(place, own) clumpi_sized_give(place, &(own), sizeof(own))
void clumpi_sized_give(void *place, const void *own, size_t bytes);

/* Of an array of places the size of the first counts for all. This one gets it, and zeros. */
void *clumpi_sized_element(void *first, size_t index);

#endif
