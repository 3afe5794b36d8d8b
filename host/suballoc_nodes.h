/* What happens to nodes: cutting a free one, merging freed ones. No checks, no words.
 *
 * Inline, since an allocation takes some 30 ns and calls would be a tenth of that: suballoc.c has
 * these in its calls, suballoc_core.c exports them to the rest of host/.
 *
 * Read first: suballoc.h.
 */
#ifndef CLUMPI_SUBALLOC_NODES_H
#define CLUMPI_SUBALLOC_NODES_H

#include "suballoc.h"

static inline uint32_t clumpi_node_new(clump_suballoc *s) {
    uint32_t i = s->unused;
    if (!i) return clumpi_node_fresh(s);
    s->unused = clumpi_node_at(s, i)->next_link;
    return i;
}

static inline void clumpi_node_set_place(clumpi_node *n, uint64_t offset, uint32_t generation) {
    n->place = offset | (uint64_t)generation << CLUMPI_UNITS_BITS;
}

static inline void clumpi_node_set_extent(clumpi_node *n, uint64_t size, uint64_t state) {
    n->extent = size | state << CLUMPI_UNITS_BITS;
}

static inline void clumpi_node_retire(clump_suballoc *s, uint32_t i, clumpi_node *n) {
    clumpi_node_set_extent(n, 0, CLUMPI_NODE_UNUSED);
    n->next_link = s->unused;
    s->unused = i;
}

static inline void clumpi_index_insert(clump_suballoc *s, uint32_t i, clumpi_node *n) {
    if (s->fit == CLUMP_FIT_GOOD)
        clumpi_bins_insert(s, i, n, clumpi_bin_of(n->size));
    else
        clumpi_tree_insert(s, i);
}

static inline void clumpi_index_remove(clump_suballoc *s, uint32_t i, const clumpi_node *n) {
    if (s->fit == CLUMP_FIT_GOOD)
        clumpi_bins_remove(s, n, clumpi_bin_of(n->size));
    else
        clumpi_tree_remove(s, i);
}

static inline void clumpi_node_set_free(clumpi_node *n, uint64_t offset, uint64_t size) {
    clumpi_node_set_place(n, offset, n->generation);
    clumpi_node_set_extent(n, size, CLUMPI_NODE_FREE);
}

/* A free node gets another place and size; within its bin nothing else has to change. */
static inline void clumpi_node_reshape(clump_suballoc *s, uint32_t i, clumpi_node *n,
                                       uint64_t offset, uint64_t size) {
    if (s->fit != CLUMP_FIT_GOOD) {
        clumpi_tree_remove(s, i);
        clumpi_node_set_free(n, offset, size);
        clumpi_tree_insert(s, i);
        return;
    }
    uint32_t from = clumpi_bin_of(n->size), to = clumpi_bin_of(size);
    clumpi_node_set_free(n, offset, size);
    if (from == to) {
        if (!n->bin_prev) clumpi_bins_set_head(s, to, i, size);
        return;
    }
    clumpi_bins_remove(s, n, from);
    clumpi_bins_insert(s, i, n, to);
}

static inline uint32_t clumpi_nodes_find(const clump_suballoc *s, uint64_t units, uint64_t align) {
    return s->fit == CLUMP_FIT_GOOD ? clumpi_bins_find(s, units, align)
                                    : clumpi_tree_find(s, units, align);
}

/* Cut `front` units off a free node, as a free node before it; for a moment both are free. */
static __attribute__((noinline)) void clumpi_node_split(clump_suballoc *s, uint32_t gap,
                                                        uint32_t node, uint64_t front) {
    clumpi_node *n = clumpi_node_at(s, node), *g = clumpi_node_at(s, gap);
    uint64_t offset = n->offset;
    clumpi_node_reshape(s, node, n, offset + front, n->size - front);
    clumpi_node_set_place(g, offset, g->generation);
    clumpi_node_set_extent(g, front, CLUMPI_NODE_FREE);
    g->prev_link = n->prev_link;
    g->next_link = node | CLUMPI_LINK_FREE;
    clumpi_node_at(s, n->prev)->next_link = gap | CLUMPI_LINK_FREE;
    n->prev_link = gap | CLUMPI_LINK_FREE;
    clumpi_index_insert(s, gap, g);
    s->free_count++;
}

/* The used node, and its number at `number`; NULL without host memory. */
static inline clumpi_node *clumpi_nodes_take(clump_suballoc *s, uint32_t node, uint64_t at,
                                             uint64_t units, void *user_data, uint32_t *number) {
    clumpi_node *n = clumpi_node_at(s, node);
    uint64_t front = at - n->offset, back = n->size - front - units;
    uint32_t used = node, gap = 0;
    if (front && !(gap = clumpi_node_new(s))) return NULL;
    if (back && !(used = clumpi_node_new(s))) {
        if (gap) clumpi_node_retire(s, gap, clumpi_node_at(s, gap));
        return NULL;
    }
    if (front) clumpi_node_split(s, gap, node, front);
    clumpi_node *u = clumpi_node_at(s, used);
    uint32_t prev_link = n->prev_link;
    if (back) { /* what is left keeps the node, and mostly its bin */
        n->prev_link = used;
        u->next_link = node | CLUMPI_LINK_FREE;
        clumpi_node_reshape(s, node, n, at + units, back);
    } else {
        clumpi_node_at(s, n->next)->prev_link = node;
        clumpi_index_remove(s, node, n);
        s->free_count--;
    }
    clumpi_node_set_place(u, at, u->generation);
    clumpi_node_set_extent(u, units, CLUMPI_NODE_USED);
    u->prev_link = prev_link;
    clumpi_node_at(s, prev_link & ~CLUMPI_LINK_FREE)->next_link = used;
    u->user_data = user_data;
    s->used_units += units;
    s->used_count++;
    *number = used;
    return u;
}

static inline void clumpi_nodes_release(clump_suballoc *s, uint32_t node, clumpi_node *n) {
    uint64_t offset = n->offset, size = n->size;
    uint32_t prev = n->prev, next = n->next, merge_prev = n->prev_free, merge_next = n->next_free;
    clumpi_node *before = clumpi_node_at(s, prev), *behind = clumpi_node_at(s, next);
    s->used_units -= size;
    s->used_count--;
    clumpi_node_set_place(n, offset, n->generation + 1u);
    if (!merge_prev && !merge_next) {
        clumpi_node_set_extent(n, size, CLUMPI_NODE_FREE);
        before->next_link = behind->prev_link = node | CLUMPI_LINK_FREE;
        clumpi_index_insert(s, node, n);
        s->free_count++;
        return;
    }
    clumpi_node_retire(s, node, n);
    if (!merge_prev) {
        before->next_link = next | CLUMPI_LINK_FREE;
        behind->prev_link = prev;
        clumpi_node_reshape(s, next, behind, offset, size + behind->size);
        return;
    }
    size += before->size;
    if (merge_next) {
        size += behind->size;
        clumpi_index_remove(s, next, behind);
        uint32_t last = next;
        next = behind->next;
        clumpi_node_retire(s, last, behind);
        behind = clumpi_node_at(s, next);
        s->free_count--;
    }
    before->next_link = next;
    behind->prev_link = prev | CLUMPI_LINK_FREE;
    clumpi_node_reshape(s, prev, before, before->offset, size);
}

#endif
