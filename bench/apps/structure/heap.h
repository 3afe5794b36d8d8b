/* What only the variant on the heap can tell; `self` is its world. Read first: world.h. */
#ifndef STRUCTURE_HEAP_H
#define STRUCTURE_HEAP_H

#include "world.h"

clump_heap *structure_heap_get(const void *self);
const bench_compacting *structure_heap_compactions(const void *self);
int structure_heap_compact(void *self, bench_error *error); /* if it is time */

#endif
