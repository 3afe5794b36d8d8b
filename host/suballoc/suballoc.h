/* Inside of a suballocator: nodes, and the two indices of free ranges.
 *
 * A node is a range, used or free; nodes are linked by address, so that neighbours merge at once.
 * They live in one array that doubles, and moves then: numbers are kept, pointers never across a
 * call that may need a node. All offsets and sizes here are in units of the granularity. Node 0 is
 * none, of size 0: the links of the first and the last range lead to it, its own lead to them, and
 * what is written to it by a bin's list is never read, so that no operation asks whether there is a
 * neighbour.
 *
 * Invariants: the nodes from clumpi_suballoc_first() along `next` cover 0 .. units once; no two
 * neighbours are free, and links say which are; the index (bins for CLUMP_FIT_GOOD, the tree for
 * the others) holds exactly the free nodes; a bin tells the size of its first node.
 * clump_suballoc_check() verifies them.
 *
 * Read first: include/clump/suballoc.h. Read next: suballoc.c, nodes.h,
 * bins.h, tree.c.
 */
#ifndef CLUMPI_SUBALLOC_H
#define CLUMPI_SUBALLOC_H

#include "clump/suballoc.h"
#include "core/memory.h"

#define CLUMPI_UNITS_BITS 48u
#define CLUMPI_UNITS_MASK ((UINT64_C(1) << CLUMPI_UNITS_BITS) - 1)
#define CLUMPI_GENERATION_ONE (UINT64_C(1) << CLUMPI_UNITS_BITS)
#define CLUMPI_USED_NOT_FREE ((uint64_t)(CLUMPI_NODE_USED - CLUMPI_NODE_FREE) << CLUMPI_UNITS_BITS)

#define CLUMPI_LINK_BITS 31u
#define CLUMPI_LINK_FREE (UINT32_C(1) << CLUMPI_LINK_BITS)

enum { CLUMPI_NODE_UNUSED, CLUMPI_NODE_FREE, CLUMPI_NODE_USED };

/* 32 bytes, so that two share a cache line: at 10^5 ranges, lines missed are what costs. A link
 * also says whether the node it leads to is free, so that a range is freed, without merging, by
 * reading its own line only.
 *
 * Fields are for reading. Words are written whole: after a store to a part of one, the next load
 * of all of it would have to wait for the cache. */
typedef struct clumpi_node {
    union {
        struct {
            uint64_t offset : 48, generation : 16; /* raised when the node becomes unused or free */
        };
        uint64_t place;
    };
    union {
        struct {
            uint64_t size : 48, state : 16;
        };
        uint64_t extent;
    };
    union {
        struct {
            uint32_t prev : 31, prev_free : 1; /* by address */
            uint32_t next : 31, next_free : 1; /* unused nodes: next in the list of these */
        };
        struct {
            uint32_t prev_link, next_link;
        };
        uint64_t links;
    };
    union {
        struct {
            uint32_t bin_prev, bin_next; /* free, with bins */
        };
        uint64_t bin_links;
        void *user_data; /* used */
    };
} clumpi_node;
_Static_assert(sizeof(clumpi_node) == 32, "two nodes to a cache line");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the first field has the low bits");

/* A treap: search tree by key, heap by a hash of the node's number. `max` is the largest size
 * below. */
typedef struct clumpi_tree_link {
    uint32_t left, right;
    uint64_t max;
} clumpi_tree_link;

/* Bins: sizes below 32 have one each, every power of two above is cut into 32. */
#define CLUMPI_BIN_CUTS 32u
#define CLUMPI_BIN_ROWS (CLUMPI_UNITS_BITS - 4u)

/* node | size << 32 of a bin's first node; 0 if it is empty. The size is at most UINT32_MAX, which
 * stands for all from there on. With it a request chooses a node, and knows what will be left of
 * it, while the node's own line is still on its way. */
typedef uint64_t clumpi_bin;

static inline uint32_t clumpi_bin_node(clumpi_bin bin) {
    return (uint32_t)bin;
}
static inline clumpi_bin clumpi_bin_make(uint32_t node, uint64_t size) {
    return node | (size < UINT32_MAX ? size : UINT32_MAX) << 32;
}

struct clump_suballoc {
    clump_allocator allocator;
    clumpi_node *nodes;      /* aligned in node_memory: none lies in two cache lines */
    clumpi_tree_link *links; /* as many, with the tree; else NULL */
    clumpi_node *node_memory;
    size_t capacity, link_capacity; /* of node_memory, links */
    uint32_t unused;                /* list of nodes that are neither used nor free */
    uint32_t fresh;      /* nodes from here on never were, nor written to: chunks come and go */
    uint32_t unit_shift; /* log2 of the granularity */
    clump_fit fit;
    uint32_t mark; /* in the ranges of this suballocator: their upper 16 bits */
    uint64_t units, used_units, free_count, used_count;
    uint32_t root;     /* of the tree */
    uint64_t bin_rows; /* bit r: a bin of row r has a node; the row of bin_end always */
    uint32_t bin_bits[CLUMPI_BIN_ROWS + 1]; /* [r], bit i: bin 32 * r + i has one */
    uint32_t bin_end;                       /* bins there are: rows up to that of all units */
    clumpi_bin *bins; /* and one more, which stays empty and ends searches; NULL with the tree */
    clump_error error;
};

static inline clumpi_node *clumpi_node_at(const clump_suballoc *s, uint32_t i) {
    return &s->nodes[i];
}

static inline clumpi_tree_link *clumpi_link_at(const clump_suballoc *s, uint32_t i) {
    return &s->links[i];
}

/* By address; 0: none. */
/* What clump_suballoc_get_stats() tells as details. */
void clumpi_suballoc_walk(const clump_suballoc *s, clump_suballoc_details *d);

static inline uint32_t clumpi_suballoc_first(const clump_suballoc *s) {
    return s->nodes[0].next;
}
static inline uint32_t clumpi_suballoc_last(const clump_suballoc *s) {
    return s->nodes[0].prev;
}

/* Where a range of `units`, at a multiple of `align` (a power of two), lies in a free node. */
static inline uint64_t clumpi_node_place(const clumpi_node *node, uint64_t align) {
    return (node->offset + align - 1) & ~(align - 1);
}
static inline int clumpi_node_fits(const clumpi_node *node, uint64_t units, uint64_t align) {
    uint64_t end = node->offset + node->size, at = clumpi_node_place(node, align);
    return at <= end && end - at >= units;
}

/* ---- core.c: nodes. No checks, no words. -------------------------------------------- */

/* 0 without host memory. The suballocator has its members units, unit_shift, fit, allocator set. */
int clumpi_suballoc_init(clump_suballoc *s);
void clumpi_suballoc_clear(clump_suballoc *s); /* gives all host memory back */

/* Put nodes that never were used into the list of unused ones, which is empty. All nodes may move.
 * 0 without host memory. */
int clumpi_nodes_make(clump_suballoc *s);

/* The free node that the strategy takes for a request, or 0. Changes nothing. */
uint32_t clumpi_suballoc_find(const clump_suballoc *s, uint64_t units, uint64_t align);

/* Cut units .. out of the free node, at `at`. Returns the used node; 0 without host memory. */
uint32_t clumpi_suballoc_take(clump_suballoc *s, uint32_t node, uint64_t at, uint64_t units);
void clumpi_suballoc_release(clump_suballoc *s, uint32_t node);

/* The bin of the largest free node, 0 if there is none: a request whose clumpi_bin_above() is at
 * most that has room. */
uint32_t clumpi_suballoc_top_bin(const clump_suballoc *s);

/* ---- tree.c ------------------------------------------------------------------------ */

/* Offset and size of a node must not change while it is in the tree. */
void clumpi_tree_insert(clump_suballoc *s, uint32_t node);
void clumpi_tree_remove(clump_suballoc *s, uint32_t node);
uint32_t clumpi_tree_find(const clump_suballoc *s, uint64_t units, uint64_t align);
/* Nodes in the tree if it is well formed, else -1. */
int64_t clumpi_tree_check(const clump_suballoc *s);

/* The bin that holds nodes of a size: clumpi_bin_of(); the lowest bin whose nodes all have the
 * size, or more: clumpi_bin_above(). */
#include "suballoc/bins.h"

#endif
