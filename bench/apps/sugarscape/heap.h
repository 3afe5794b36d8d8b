/* What only the variant on the heap can tell; `self` is its world. Read first: world.h. */
#ifndef SUGARSCAPE_HEAP_H
#define SUGARSCAPE_HEAP_H

#include "world.h"

clump_heap *sugarscape_heap_get(const void *self);
const bench_compacting *sugarscape_heap_compactions(const void *self);

#endif
