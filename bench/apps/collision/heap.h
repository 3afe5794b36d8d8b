/* What only the variant on the heap can tell; `self` is its world. Read first: world.h. */
#ifndef COLLISION_HEAP_H
#define COLLISION_HEAP_H

#include "world.h"

clump_heap *collision_heap_get(const void *self);
int collision_heap_compact(void *self, bench_error *error); /* if it is time */
const bench_compacting *collision_heap_compactions(const void *self);

#endif
