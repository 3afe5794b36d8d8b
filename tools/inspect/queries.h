/* What is asked of saved heaps: who keeps most, and who keeps one object. Read first: graph.h. */
#ifndef QUERIES_H
#define QUERIES_H

#include "graph.h"
#include "inspect.h"

enum { TOP_MOST = 1000 };

/* Tables on standard output, of up to `most` rows, at most TOP_MOST. Returns 1; or 0 with words on
 * stderr. */
int show_holders(const char *path, const root_choice *choice, uint32_t most);

/* Of each object a shortest way to it from a root, or that there is none. An object is
 * "CLASS:NUMBER", from 0 on in the order of
 * clump_heap_read_refs(), or "CLASS.FIELD=VALUE", the first object of the class or its subclasses
 * whose field, a whole number, is that.
 * Returns 1; or 0 with words on stderr. */
int show_paths(const char *path, const root_choice *choice, char *const *objects, size_t count);

#endif
