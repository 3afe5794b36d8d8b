/* Nodes of a suballocator: slabs, the first node, and what suballoc_nodes.h does with them for the
 * other files of host/. See suballoc.h. */
#include <string.h>

#include "suballoc_nodes.h"

static int add_slab(clump_suballoc *s) {
    if (s->slab_count >= (UINT64_C(1) << (CLUMPI_LINK_BITS - CLUMPI_SLAB_BITS))) return 0;
    if (!clumpi_grow(&s->allocator, (void **)&s->slabs, &s->slab_capacity, s->slab_count + 1,
                     sizeof *s->slabs))
        return 0;
    size_t links = s->fit == CLUMP_FIT_GOOD ? 0 : CLUMPI_SLAB_NODES * sizeof(clumpi_tree_link);
    clumpi_slab *slab = s->allocator.allocate(s->allocator.user, sizeof *slab + links);
    if (!slab) return 0;
    s->slabs[s->slab_count++] = slab;
    return 1;
}

uint32_t clumpi_node_fresh(clump_suballoc *s) {
    if (s->fresh == s->slab_count << CLUMPI_SLAB_BITS && !add_slab(s)) return 0;
    memset(clumpi_node_at(s, s->fresh), 0, sizeof(clumpi_node));
    return s->fresh++;
}

int clumpi_suballoc_init(clump_suballoc *s) {
    if (s->fit == CLUMP_FIT_GOOD) {
        s->bins = clumpi_alloc(&s->allocator, (CLUMPI_BINS + 1) * sizeof *s->bins);
        if (!s->bins) return 0;
        s->bin_rows = UINT64_C(1) << CLUMPI_BIN_ROWS;
        s->bin_bits[CLUMPI_BIN_ROWS] = 1;
    }
    clumpi_node_fresh(s); /* node 0, which is none; then there is a slab, or no memory */
    uint32_t i = s->slab_count ? clumpi_node_fresh(s) : 0;
    if (!i) {
        clumpi_suballoc_clear(s);
        return 0;
    }
    clumpi_node *n = clumpi_node_at(s, i);
    clumpi_node_set_extent(n, s->units, CLUMPI_NODE_FREE);
    n->prev_link = n->next_link = 0;
    clumpi_node_at(s, 0)->prev_link = clumpi_node_at(s, 0)->next_link = i | CLUMPI_LINK_FREE;
    s->free_count = 1;
    clumpi_index_insert(s, i, n);
    return 1;
}

void clumpi_suballoc_clear(clump_suballoc *s) {
    for (size_t i = 0; i < s->slab_count; i++) clumpi_free(&s->allocator, s->slabs[i]);
    clumpi_free(&s->allocator, s->slabs);
    clumpi_free(&s->allocator, s->bins);
    s->slabs = NULL;
    s->slab_count = 0;
    s->fresh = s->unused = 0;
    s->bins = NULL;
}

uint32_t clumpi_suballoc_top_bin(const clump_suballoc *s) {
    if (s->fit == CLUMP_FIT_GOOD) return clumpi_bins_top(s);
    return s->root ? clumpi_bin_of(clumpi_link_at(s, s->root)->max) : 0;
}

uint32_t clumpi_suballoc_find(const clump_suballoc *s, uint64_t units, uint64_t align) {
    return clumpi_nodes_find(s, units, align);
}

uint32_t clumpi_suballoc_take(clump_suballoc *s, uint32_t node, uint64_t at, uint64_t units) {
    uint32_t used;
    return clumpi_nodes_take(s, node, at, units, NULL, &used) ? used : 0;
}

void clumpi_suballoc_release(clump_suballoc *s, uint32_t node) {
    clumpi_nodes_release(s, node, clumpi_node_at(s, node));
}
