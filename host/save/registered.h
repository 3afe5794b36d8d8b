/* What saving and loading share of a heap.
 *
 * Read first: format.h, heap/refs.h.
 */
#ifndef CLUMPI_REGISTERED_H
#define CLUMPI_REGISTERED_H

#include "heap/refs.h"

/* The registered buffers of a heap in the order of their registration, without that of the handles.
 * *list is the caller's to free, or
 * NULL. */
clump_status clumpi_registered_list(clump_heap *heap, const clump_refs ***list, uint32_t *count);

#endif
