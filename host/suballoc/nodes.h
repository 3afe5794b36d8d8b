/* What happens to nodes: cutting a free one, merging freed ones. No checks, no words.
 *
 * Inline, since an allocation takes some 25 ns and calls would be a tenth of that: suballoc.c has
 * these in its calls, core.c exports them to the rest of host/.
 *
 * Read first: suballoc.h.
 */
#ifndef CLUMPI_SUBALLOC_NODES_H
#define CLUMPI_SUBALLOC_NODES_H

#include "suballoc/suballoc.h"

/* A node for the caller to fill in; 0 without host memory. All others may have moved. */
static inline uint32_t clumpi_node_new(clump_suballoc *s) {
    if (!s->unused && !clumpi_nodes_make(s)) return 0;
    uint32_t i = s->unused;
    s->unused = clumpi_node_at(s, i)->next_link;
    return i;
}

static inline void clumpi_node_retire(clump_suballoc *s, uint32_t i, clumpi_node *n) {
    n->extent = 0;
    n->next_link = s->unused;
    s->unused = i;
}

static inline void clumpi_node_set_place(clumpi_node *n, uint64_t offset) {
    n->place = offset | (n->place & ~CLUMPI_UNITS_MASK); /* the generation stays */
}

static inline void clumpi_node_set_extent(clumpi_node *n, uint64_t size, uint64_t state) {
    n->extent = size | state << CLUMPI_UNITS_BITS;
}

/* Give out a free node, whole. The index is left to the caller. */
static inline void clumpi_node_give(clump_suballoc *s, uint32_t i, clumpi_node *n, uint64_t units) {
    clumpi_node_at(s, n->prev)->next_link = i;
    clumpi_node_at(s, n->next)->prev_link = i;
    n->extent += CLUMPI_USED_NOT_FREE;
    s->free_count--;
    s->used_units += units;
    s->used_count++;
}

/* Give out the first units of free node `i` as node `used`. The rest keeps the node, and mostly
 * its bin; its place, its extent and the index are left to the caller. */
static inline void clumpi_node_give_front(clump_suballoc *s, uint32_t i, clumpi_node *n,
                                          uint32_t used, clumpi_node *u, uint64_t units) {
    uint32_t prev_link = n->prev_link;
    clumpi_node_at(s, prev_link & ~CLUMPI_LINK_FREE)->next_link = used;
    n->prev_link = used;
    clumpi_node_set_place(u, n->offset);
    clumpi_node_set_extent(u, units, CLUMPI_NODE_USED);
    u->links = prev_link | (uint64_t)(i | CLUMPI_LINK_FREE) << 32;
    s->used_units += units;
    s->used_count++;
}

static inline void clumpi_index_insert(clump_suballoc *s, clump_fit fit, uint32_t i, clumpi_node *n,
                                       uint64_t size) {
    if (fit == CLUMP_FIT_GOOD)
        clumpi_bins_insert(s, i, n, size, clumpi_bin_of(size));
    else
        clumpi_tree_insert(s, i);
}

static inline void clumpi_index_remove(clump_suballoc *s, clump_fit fit, uint32_t i,
                                       const clumpi_node *n) {
    if (fit == CLUMP_FIT_GOOD)
        clumpi_bins_remove(s, n, clumpi_bin_of(n->size));
    else
        clumpi_tree_remove(s, i);
}

/* A free node gets another place and size, both told as what is added; within its bin nothing else
 * has to change. */
static inline void clumpi_node_reshape(clump_suballoc *s, clump_fit fit, uint32_t i, clumpi_node *n,
                                       uint64_t move, uint64_t grow) {
    if (fit != CLUMP_FIT_GOOD) {
        clumpi_tree_remove(s, i);
        n->place += move;
        n->extent += grow;
        clumpi_tree_insert(s, i);
        return;
    }
    uint64_t size = n->size + grow;
    uint32_t from = clumpi_bin_of(n->size), to = clumpi_bin_of(size);
    n->place += move;
    clumpi_node_set_extent(n, size, CLUMPI_NODE_FREE);
    if (from == to) {
        if (!n->bin_prev) clumpi_bins_set_head(s, to, i, size);
        return;
    }
    clumpi_bins_remove(s, n, from);
    clumpi_bins_insert(s, i, n, size, to);
}

/* The first node of a bin loses its first units; `back` are left. */
static inline void clumpi_bins_cut(clump_suballoc *s, uint32_t bin, uint32_t i, clumpi_node *n,
                                   uint64_t units, uint64_t back) {
    n->place += units;
    clumpi_node_set_extent(n, back, CLUMPI_NODE_FREE);
    uint32_t to = clumpi_bin_of(back);
    if (to == bin) {
        clumpi_bins_set_head(s, bin, i, back);
        return;
    }
    clumpi_bins_pop(s, n, bin);
    clumpi_bins_insert(s, i, n, back, to);
}

static inline void clumpi_node_free(clump_suballoc *s, clump_fit fit, uint32_t node) {
    clumpi_node *n = clumpi_node_at(s, node);
    uint64_t size = n->size;
    uint32_t prev = n->prev, next = n->next, merge_prev = n->prev_free, merge_next = n->next_free;
    clumpi_node *before = clumpi_node_at(s, prev), *after = clumpi_node_at(s, next);
    s->used_units -= size;
    s->used_count--;
    n->place += CLUMPI_GENERATION_ONE;
    if (!merge_prev && !merge_next) {
        clumpi_node_set_extent(n, size, CLUMPI_NODE_FREE);
        before->next_link = after->prev_link = node | CLUMPI_LINK_FREE;
        clumpi_index_insert(s, fit, node, n, size);
        s->free_count++;
        return;
    }
    clumpi_node_retire(s, node, n);
    if (!merge_prev) {
        before->next_link = next | CLUMPI_LINK_FREE;
        after->prev_link = prev;
        clumpi_node_reshape(s, fit, next, after, 0 - size, size);
        return;
    }
    if (merge_next) {
        size += after->size;
        clumpi_index_remove(s, fit, next, after);
        uint32_t last = next;
        next = after->next;
        clumpi_node_retire(s, last, after);
        after = clumpi_node_at(s, next);
        s->free_count--;
    }
    before->next_link = next;
    after->prev_link = prev | CLUMPI_LINK_FREE;
    clumpi_node_reshape(s, fit, prev, before, 0, size);
}

#endif
