/* What only the variant on the heap can tell; `self` is its world. Read first: world.h. */
#ifndef BARNES_HUT_HEAP_H
#define BARNES_HUT_HEAP_H

#include "world.h"

/* Objects that do not hang in the tree as they must. Waits. */
int barnes_hut_heap_count_faults(void *self, uint32_t *faults, bench_error *error);

#endif
