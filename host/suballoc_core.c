/* Nodes of a suballocator: slabs, cutting a free one, merging freed ones. See suballoc.h. */
#include <string.h>

#include "suballoc.h"

static int add_slab(clump_suballoc *s) {
    if (s->slab_count >= (UINT64_C(1) << (32 - CLUMPI_SLAB_BITS))) return 0;
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
        slab->nodes[i].next = s->unused;
        s->unused = begin + i;
    }
    return 1;
}

static uint32_t node_new(clump_suballoc *s) {
    if (!s->unused && !add_slab(s)) return 0;
    uint32_t i = s->unused;
    s->unused = clumpi_node_at(s, i)->next;
    return i;
}

static void node_retire(clump_suballoc *s, uint32_t i) {
    clumpi_node *n = clumpi_node_at(s, i);
    n->state = CLUMPI_NODE_UNUSED;
    n->next = s->unused;
    s->unused = i;
}

static void index_insert(clump_suballoc *s, uint32_t i) {
    if (s->fit == CLUMP_FIT_GOOD)
        clumpi_bins_insert(s, i);
    else
        clumpi_tree_insert(s, i);
}

static void index_remove(clump_suballoc *s, uint32_t i) {
    if (s->fit == CLUMP_FIT_GOOD)
        clumpi_bins_remove(s, i);
    else
        clumpi_tree_remove(s, i);
}

static void set_place(clumpi_node *n, uint64_t offset, uint64_t size) {
    n->offset = offset & CLUMPI_UNITS_MASK;
    n->size = size & CLUMPI_UNITS_MASK;
}

/* A free node gets another place and size; within its bin nothing else has to change. */
static void reshape(clump_suballoc *s, uint32_t i, uint64_t offset, uint64_t size) {
    clumpi_node *n = clumpi_node_at(s, i);
    int stays = s->fit == CLUMP_FIT_GOOD && clumpi_bin_of(n->size) == clumpi_bin_of(size);
    if (!stays) index_remove(s, i);
    set_place(n, offset, size);
    if (!stays) index_insert(s, i);
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
    set_place(n, 0, s->units);
    n->state = CLUMPI_NODE_FREE;
    n->prev = n->next = 0;
    s->first = s->last = i;
    s->free_count = 1;
    index_insert(s, i);
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

/* Put node `i` in front of node `at`. */
static void link_before(clump_suballoc *s, uint32_t i, uint32_t at) {
    clumpi_node *n = clumpi_node_at(s, i), *behind = clumpi_node_at(s, at);
    n->prev = behind->prev;
    n->next = at;
    if (n->prev)
        clumpi_node_at(s, n->prev)->next = i;
    else
        s->first = i;
    behind->prev = i;
}

static void unlink_node(clump_suballoc *s, uint32_t i) {
    clumpi_node *n = clumpi_node_at(s, i);
    if (n->prev)
        clumpi_node_at(s, n->prev)->next = n->next;
    else
        s->first = n->next;
    if (n->next)
        clumpi_node_at(s, n->next)->prev = n->prev;
    else
        s->last = n->prev;
}

uint32_t clumpi_suballoc_take(clump_suballoc *s, uint32_t node, uint64_t at, uint64_t units) {
    clumpi_node *n = clumpi_node_at(s, node);
    uint64_t front = at - n->offset, back = n->size - front - units;
    uint32_t used = node, gap = 0;
    if (front && !(gap = node_new(s))) return 0;
    if (back && !(used = node_new(s))) {
        if (gap) node_retire(s, gap);
        return 0;
    }
    if (back) { /* what is left keeps the node, and mostly its bin */
        link_before(s, used, node);
        reshape(s, node, at + units, back);
        n = clumpi_node_at(s, used);
    } else {
        index_remove(s, node);
        s->free_count--;
    }
    if (gap) {
        link_before(s, gap, used);
        clumpi_node *g = clumpi_node_at(s, gap);
        set_place(g, at - front, front);
        g->state = CLUMPI_NODE_FREE;
        index_insert(s, gap);
        s->free_count++;
    }
    set_place(n, at, units);
    n->state = CLUMPI_NODE_USED;
    n->user_data = NULL;
    s->used_units += units;
    s->used_count++;
    return used;
}

void clumpi_suballoc_release(clump_suballoc *s, uint32_t node) {
    clumpi_node *n = clumpi_node_at(s, node);
    uint64_t offset = n->offset, size = n->size;
    uint32_t prev = n->prev, next = n->next;
    clumpi_node *before = prev ? clumpi_node_at(s, prev) : NULL;
    clumpi_node *behind = next ? clumpi_node_at(s, next) : NULL;
    int merge_prev = before && before->state == CLUMPI_NODE_FREE;
    int merge_next = behind && behind->state == CLUMPI_NODE_FREE;
    s->used_units -= size;
    s->used_count--;
    n->generation++;
    if (!merge_prev && !merge_next) {
        n->state = CLUMPI_NODE_FREE;
        index_insert(s, node);
        s->free_count++;
        return;
    }
    unlink_node(s, node);
    node_retire(s, node);
    if (!merge_prev) {
        reshape(s, next, offset, size + behind->size);
        return;
    }
    uint64_t all = before->size + size;
    if (merge_next) {
        all += behind->size;
        index_remove(s, next);
        unlink_node(s, next);
        node_retire(s, next);
        s->free_count--;
    }
    reshape(s, prev, before->offset, all);
}
