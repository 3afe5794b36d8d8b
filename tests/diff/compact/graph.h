/* The objects of a heap before and after objects moved: the same graph.
 *
 * Objects without a tag are known by the references that lead to them, and those that nobody refers
 * to by their number and values.
 *
 * Read first: world.h.
 */
#ifndef GRAPH_H
#define GRAPH_H

#include "world.h"

/* What a host can know of a compaction from before and after. */
typedef struct graph_counts {
    uint64_t moved, bytes_moved;  /* objects that are elsewhere */
    uint64_t examined, rewritten; /* references, as in clump_compact_report */
    uint64_t dangling;            /* of the examined: that name no object */
    uint64_t dangling_sources;    /* of which: into blocks that gave up objects */
} graph_counts;

typedef struct graph_rules {
    const uint8_t *part;   /* by class id: takes part; NULL: all */
    const uint8_t *source; /* by block: objects moved out of it; NULL: blocks that were freed */
    int null_dangling;
    int passes; /* 1: there were several, so a slot that was filled by one may be left by the next:
                   dangling references that happened to lead there may have followed */
} graph_rules;

/* Where each object of `a` is in `b`, by number; 0 if that cannot be known. The caller frees it. */
clump_ref *find_moves(const snapshot *a, const snapshot *b);

/* The graph after is the graph before, field for field. */
void same_graph(const snapshot *a, const snapshot *b, const graph_rules *r, graph_counts *c);

/* What clump_heap_read_refs() says is what the image holds. */
void same_enumeration(const snapshot *s);

/* Are objects in the same slots? States and bitmaps alone. */
int same_slots(const snapshot *a, const snapshot *b);

#endif
