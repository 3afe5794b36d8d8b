/* Nodes of a suballocator: their memory, the first node, and what nodes.h does with them
 * for the other files of host/. See suballoc.h. */
#include <string.h>

#include "suballoc/nodes.h"

#define MADE_NODES 16u

/* Room for MADE_NODES more. */
static int grow(clump_suballoc *s) {
    size_t needed = (size_t)s->fresh + MADE_NODES + 1; /* one more, to align the others */
    if (needed > CLUMPI_LINK_FREE) return 0;
    if (s->fit != CLUMP_FIT_GOOD &&
        !clumpi_grow(&s->allocator, &s->links, &s->link_capacity, needed, sizeof *s->links))
        return 0;
    size_t was = (size_t)((char *)s->nodes - (char *)s->node_memory);
    if (!clumpi_grow(&s->allocator, &s->node_memory, &s->capacity, needed, sizeof *s->nodes))
        return 0;
    char *memory = (char *)s->node_memory;
    size_t gap = (0 - (uintptr_t)memory) % sizeof *s->nodes;
    if (gap != was) memmove(memory + gap, memory + was, s->fresh * sizeof *s->nodes);
    s->nodes = (clumpi_node *)(void *)(memory + gap);
    return 1;
}

int clumpi_nodes_make(clump_suballoc *s) {
    if (!grow(s)) return 0;
    s->unused = s->fresh;
    for (uint32_t left = MADE_NODES; left--; s->fresh++)
        *clumpi_node_at(s, s->fresh) = (clumpi_node){.next_link = left ? s->fresh + 1 : 0};
    return 1;
}

int clumpi_suballoc_init(clump_suballoc *s) {
    if (s->fit == CLUMP_FIT_GOOD) {
        uint32_t rows = clumpi_bin_of(s->units) / CLUMPI_BIN_CUTS + 1;
        s->bin_end = rows * CLUMPI_BIN_CUTS;
        s->bins = clumpi_alloc(&s->allocator, (s->bin_end + 1) * sizeof *s->bins);
        if (!s->bins) return 0;
        s->bin_rows = UINT64_C(1) << rows;
        s->bin_bits[rows] = 1;
    }
    if (!clumpi_nodes_make(s)) {
        clumpi_suballoc_clear(s);
        return 0;
    }
    s->unused = 1; /* node 0 is none */
    uint32_t i = clumpi_node_new(s);
    clumpi_node *n = clumpi_node_at(s, i);
    clumpi_node_set_extent(n, s->units, CLUMPI_NODE_FREE);
    n->prev_link = n->next_link = 0;
    clumpi_node_at(s, 0)->prev_link = clumpi_node_at(s, 0)->next_link = i | CLUMPI_LINK_FREE;
    s->free_count = 1;
    clumpi_index_insert(s, s->fit, i, n, s->units);
    return 1;
}

void clumpi_suballoc_clear(clump_suballoc *s) {
    clumpi_free(&s->allocator, s->node_memory);
    clumpi_free(&s->allocator, s->links);
    clumpi_free(&s->allocator, s->bins);
    s->node_memory = NULL;
    s->nodes = NULL;
    s->links = NULL;
    s->capacity = s->link_capacity = 0;
    s->fresh = s->unused = 0;
    s->bins = NULL;
}

uint32_t clumpi_suballoc_top_bin(const clump_suballoc *s) {
    if (s->fit == CLUMP_FIT_GOOD) return clumpi_bins_top(s);
    return s->root ? clumpi_bin_of(clumpi_link_at(s, s->root)->max) : 0;
}

uint32_t clumpi_suballoc_find(const clump_suballoc *s, uint64_t units, uint64_t align) {
    return s->fit == CLUMP_FIT_GOOD ? clumpi_bins_find(s, units, align)
                                    : clumpi_tree_find(s, units, align);
}

/* Cut `front` units off a free node, as a free node before it; for a moment both are free. */
static void split(clump_suballoc *s, uint32_t gap, uint32_t node, uint64_t front) {
    clumpi_node *n = clumpi_node_at(s, node), *g = clumpi_node_at(s, gap);
    clumpi_node_set_place(g, n->offset);
    clumpi_node_set_extent(g, front, CLUMPI_NODE_FREE);
    g->prev_link = n->prev_link;
    g->next_link = node | CLUMPI_LINK_FREE;
    clumpi_node_reshape(s, s->fit, node, n, front, 0 - front);
    clumpi_node_at(s, n->prev)->next_link = gap | CLUMPI_LINK_FREE;
    n->prev_link = gap | CLUMPI_LINK_FREE;
    clumpi_index_insert(s, s->fit, gap, g, front);
    s->free_count++;
}

uint32_t clumpi_suballoc_take(clump_suballoc *s, uint32_t node, uint64_t at, uint64_t units) {
    uint64_t front = at - clumpi_node_at(s, node)->offset;
    uint64_t back = clumpi_node_at(s, node)->size - front - units;
    uint32_t used = node, gap = 0;
    if (front && !(gap = clumpi_node_new(s))) return 0;
    if (back && !(used = clumpi_node_new(s))) {
        if (gap) clumpi_node_retire(s, gap, clumpi_node_at(s, gap));
        return 0;
    }
    if (front) split(s, gap, node, front);
    clumpi_node *n = clumpi_node_at(s, node);
    if (back) {
        clumpi_node_give_front(s, node, n, used, clumpi_node_at(s, used), units);
        clumpi_node_reshape(s, s->fit, node, n, units, 0 - units);
    } else {
        clumpi_index_remove(s, s->fit, node, n);
        clumpi_node_give(s, node, n, units);
    }
    return used;
}

void clumpi_suballoc_release(clump_suballoc *s, uint32_t node) {
    clumpi_node_free(s, s->fit, node);
}
