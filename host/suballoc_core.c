/* Nodes of a suballocator: slabs, cutting a free one, merging freed ones. See suballoc.h. */
#include <string.h>

#include "suballoc.h"

static int add_slab(clump_suballoc *s) {
    if (s->slab_count >= (UINT64_C(1) << (CLUMPI_LINK_BITS - CLUMPI_SLAB_BITS))) return 0;
    if (!clumpi_grow(&s->allocator, (void **)&s->slabs, &s->slab_capacity, s->slab_count + 1,
                     sizeof *s->slabs))
        return 0;
    size_t links = s->fit == CLUMP_FIT_GOOD ? 0 : CLUMPI_SLAB_NODES * sizeof(clumpi_tree_link);
    clumpi_slab *slab = clumpi_alloc(&s->allocator, sizeof *slab + links);
    if (!slab) return 0;
    uint32_t begin = (uint32_t)s->slab_count << CLUMPI_SLAB_BITS;
    s->slabs[s->slab_count++] = slab;
    for (uint32_t i = CLUMPI_SLAB_NODES; i-- > 0;) { /* the lowest is given out first */
        if (begin + i == 0) continue;                /* 0 is none */
        slab->nodes[i].next_link = s->unused;
        s->unused = begin + i;
    }
    return 1;
}

static uint32_t node_new(clump_suballoc *s) {
    if (!s->unused && !add_slab(s)) return 0;
    uint32_t i = s->unused;
    s->unused = clumpi_node_at(s, i)->next_link;
    return i;
}

static inline void set_place(clumpi_node *n, uint64_t offset, uint32_t generation) {
    n->place = offset | (uint64_t)generation << CLUMPI_UNITS_BITS;
}

static inline void set_extent(clumpi_node *n, uint64_t size, uint64_t state) {
    n->extent = size | state << CLUMPI_UNITS_BITS;
}

static inline void node_retire(clump_suballoc *s, uint32_t i, clumpi_node *n) {
    set_extent(n, 0, CLUMPI_NODE_UNUSED);
    n->next_link = s->unused;
    s->unused = i;
}

static inline void index_insert(clump_suballoc *s, uint32_t i, clumpi_node *n) {
    if (s->fit == CLUMP_FIT_GOOD)
        clumpi_bins_insert(s, i, n, clumpi_bin_of(n->size));
    else
        clumpi_tree_insert(s, i);
}

static inline void index_remove(clump_suballoc *s, uint32_t i, const clumpi_node *n) {
    if (s->fit == CLUMP_FIT_GOOD)
        clumpi_bins_remove(s, n, clumpi_bin_of(n->size));
    else
        clumpi_tree_remove(s, i);
}

static inline void set_free(clumpi_node *n, uint64_t offset, uint64_t size) {
    set_place(n, offset, n->generation);
    set_extent(n, size, CLUMPI_NODE_FREE);
}

/* A free node gets another place and size; within its bin nothing else has to change. */
static inline void reshape(clump_suballoc *s, uint32_t i, clumpi_node *n, uint64_t offset,
                           uint64_t size) {
    if (s->fit != CLUMP_FIT_GOOD) {
        clumpi_tree_remove(s, i);
        set_free(n, offset, size);
        clumpi_tree_insert(s, i);
        return;
    }
    uint32_t from = clumpi_bin_of(n->size), to = clumpi_bin_of(size);
    set_free(n, offset, size);
    if (from == to) return;
    clumpi_bins_remove(s, n, from);
    clumpi_bins_insert(s, i, n, to);
}

int clumpi_suballoc_init(clump_suballoc *s) {
    if (s->fit == CLUMP_FIT_GOOD) {
        s->bins = clumpi_alloc(&s->allocator, (CLUMPI_BINS + CLUMPI_BIN_ROWS) * sizeof *s->bins);
        if (!s->bins) return 0;
        s->bin_bits = s->bins + CLUMPI_BINS;
    }
    uint32_t i = node_new(s);
    if (!i) {
        clumpi_suballoc_clear(s);
        return 0;
    }
    clumpi_node *n = clumpi_node_at(s, i);
    set_extent(n, s->units, CLUMPI_NODE_FREE);
    n->prev_link = n->next_link = 0;
    clumpi_node_at(s, 0)->prev_link = clumpi_node_at(s, 0)->next_link = i | CLUMPI_LINK_FREE;
    s->free_count = 1;
    index_insert(s, i, n);
    return 1;
}

void clumpi_suballoc_clear(clump_suballoc *s) {
    for (size_t i = 0; i < s->slab_count; i++) clumpi_free(&s->allocator, s->slabs[i]);
    clumpi_free(&s->allocator, s->slabs);
    clumpi_free(&s->allocator, s->bins);
    s->slabs = NULL;
    s->slab_count = 0;
    s->bins = NULL;
}

uint32_t clumpi_suballoc_find(const clump_suballoc *s, uint64_t units, uint64_t align) {
    return s->fit == CLUMP_FIT_GOOD ? clumpi_bins_find(s, units, align)
                                    : clumpi_tree_find(s, units, align);
}

uint32_t clumpi_suballoc_top_bin(const clump_suballoc *s) {
    if (s->fit == CLUMP_FIT_GOOD) return clumpi_bins_top(s);
    return s->root ? clumpi_bin_of(clumpi_link_at(s, s->root)->max) : 0;
}

/* Cut `front` units off a free node, as a free node before it; for a moment both are free. */
static __attribute__((noinline)) void split_front(clump_suballoc *s, uint32_t gap, uint32_t node, uint64_t front) {
    clumpi_node *n = clumpi_node_at(s, node), *g = clumpi_node_at(s, gap);
    uint64_t offset = n->offset;
    reshape(s, node, n, offset + front, n->size - front);
    set_place(g, offset, g->generation);
    set_extent(g, front, CLUMPI_NODE_FREE);
    g->prev_link = n->prev_link;
    g->next_link = node | CLUMPI_LINK_FREE;
    clumpi_node_at(s, n->prev)->next_link = gap | CLUMPI_LINK_FREE;
    n->prev_link = gap | CLUMPI_LINK_FREE;
    index_insert(s, gap, g);
    s->free_count++;
}

uint32_t clumpi_suballoc_take(clump_suballoc *s, uint32_t node, uint64_t at, uint64_t units) {
    clumpi_node *n = clumpi_node_at(s, node);
    uint64_t front = at - n->offset, back = n->size - front - units;
    uint32_t used = node, gap = 0;
    if (front && !(gap = node_new(s))) return 0;
    if (back && !(used = node_new(s))) {
        if (gap) node_retire(s, gap, clumpi_node_at(s, gap));
        return 0;
    }
    if (front) split_front(s, gap, node, front);
    clumpi_node *u = clumpi_node_at(s, used);
    uint32_t prev_link = n->prev_link;
    if (back) { /* what is left keeps the node, and mostly its bin */
        n->prev_link = used;
        u->next_link = node | CLUMPI_LINK_FREE;
        reshape(s, node, n, at + units, back);
    } else {
        clumpi_node_at(s, n->next)->prev_link = node;
        index_remove(s, node, n);
        s->free_count--;
    }
    set_place(u, at, u->generation);
    set_extent(u, units, CLUMPI_NODE_USED);
    u->prev_link = prev_link;
    clumpi_node_at(s, prev_link & ~CLUMPI_LINK_FREE)->next_link = used;
    u->user_data = NULL;
    s->used_units += units;
    s->used_count++;
    return used;
}

void clumpi_suballoc_release(clump_suballoc *s, uint32_t node) {
    clumpi_node *n = clumpi_node_at(s, node);
    uint64_t offset = n->offset, size = n->size;
    uint32_t prev = n->prev, next = n->next, merge_prev = n->prev_free, merge_next = n->next_free;
    clumpi_node *before = clumpi_node_at(s, prev), *behind = clumpi_node_at(s, next);
    s->used_units -= size;
    s->used_count--;
    set_place(n, offset, n->generation + 1u);
    if (!merge_prev && !merge_next) {
        set_extent(n, size, CLUMPI_NODE_FREE);
        before->next_link = behind->prev_link = node | CLUMPI_LINK_FREE;
        index_insert(s, node, n);
        s->free_count++;
        return;
    }
    node_retire(s, node, n);
    if (!merge_prev) {
        before->next_link = next | CLUMPI_LINK_FREE;
        behind->prev_link = prev;
        reshape(s, next, behind, offset, size + behind->size);
        return;
    }
    size += before->size;
    if (merge_next) {
        size += behind->size;
        index_remove(s, next, behind);
        uint32_t last = next;
        next = behind->next;
        node_retire(s, last, behind);
        behind = clumpi_node_at(s, next);
        s->free_count--;
    }
    before->next_link = next;
    behind->prev_link = prev | CLUMPI_LINK_FREE;
    reshape(s, prev, before, before->offset, size);
}
