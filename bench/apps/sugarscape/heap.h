/* What only the variant on the heap can tell; `self` is its world. Read first: world.h. */
#ifndef SUGARSCAPE_HEAP_H
#define SUGARSCAPE_HEAP_H

#include "world.h"

clump_heap *sugarscape_heap_get(const void *self);
int sugarscape_heap_compact(void *self, bench_error *error); /* if it is time */
const bench_compacting *sugarscape_heap_compactions(const void *self);

#endif
