/* The functions that allocate the library's host memory.
 *
 * Read first: nothing. Read next: context.h, suballoc.h.
 */
#ifndef CLUMP_ALLOCATOR_H
#define CLUMP_ALLOCATOR_H

#include <stddef.h>

#include "clump/export.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Set all three functions, or leave all three NULL for malloc, realloc and free. The functions have
 * the contracts of their C namesakes. Each gets `user`. This struct does not grow. */
typedef struct clump_allocator {
    void *(*allocate)(void *user, size_t bytes);
    void *(*reallocate)(void *user, void *memory, size_t bytes);
    void (*release)(void *user, void *memory);
    void *user;
} clump_allocator;

#ifdef __cplusplus
}
#endif
#endif
