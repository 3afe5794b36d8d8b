/* Statistics of a suballocator and the check of its invariants. Read first: suballoc.h. */
#include <string.h>

#include "suballoc/suballoc.h"

static void widen(uint64_t bytes, uint64_t *min, uint64_t *max) {
    if (!*min || bytes < *min) *min = bytes;
    if (bytes > *max) *max = bytes;
}

void clumpi_suballoc_walk(const clump_suballoc *s, clump_suballoc_details *d) {
    *d = (clump_suballoc_details){0};
    for (uint32_t i = clumpi_suballoc_first(s); i; i = clumpi_node_at(s, i)->next) {
        const clumpi_node *n = clumpi_node_at(s, i);
        uint64_t bytes = (uint64_t)n->size << s->unit_shift;
        if (n->state == CLUMPI_NODE_USED)
            widen(bytes, &d->range_min, &d->range_max);
        else
            widen(bytes, &d->free_min, &d->free_max);
    }
    uint64_t free_bytes = (s->units - s->used_units) << s->unit_shift;
    if (free_bytes) d->fragmentation = 1 - (double)d->free_max / (double)free_bytes;
}

clump_status clump_suballoc_get_stats(const clump_suballoc *s, clump_suballoc_stats *stats,
                                      clump_suballoc_details *details) {
    if (!s) return CLUMP_ERR_USAGE;
    clump_error *error = &((clump_suballoc *)s)->error;
    clump_status status = CLUMPI_PLACE(clump_suballoc_stats, stats, error);
    if (!status) status = CLUMPI_PLACE(clump_suballoc_details, details, error);
    if (status) return status;
    const size_t bins = s->bins ? (s->bin_end + 1) * sizeof *s->bins : 0;
    const clump_suballoc_stats own = {
        .bytes = s->units << s->unit_shift,
        .used_bytes = s->used_units << s->unit_shift,
        .ranges = s->used_count,
        .free_ranges = s->free_count,
        .metadata_bytes =
            sizeof *s + bins + s->capacity * sizeof *s->nodes + s->link_capacity * sizeof *s->links,
    };
    CLUMPI_GIVE(stats, own);
    if (!details) return CLUMP_OK;
    clump_suballoc_details walked;
    clumpi_suballoc_walk(s, &walked);
    CLUMPI_GIVE(details, walked);
    return CLUMP_OK;
}

static clump_status corrupt(clump_suballoc *s, const char *what, uint64_t found,
                            uint64_t expected) {
    return clumpi_fail(&s->error, CLUMP_ERR_CORRUPT, "%s: %llu instead of %llu", what,
                       (unsigned long long)found, (unsigned long long)expected);
}

/* Every bin's nodes are free and of its sizes; returns how many there are, or -1. */
static int64_t check_bins(const clump_suballoc *s) {
    int64_t count = 0;
    uint32_t rows = s->bin_end / CLUMPI_BIN_CUTS;
    if (s->bin_rows >> rows != 1 || s->bin_bits[rows] != 1 || s->bins[s->bin_end]) return -1;
    for (uint32_t bin = 0; bin < s->bin_end; bin++) {
        uint32_t row = bin / CLUMPI_BIN_CUTS, bit = bin % CLUMPI_BIN_CUTS;
        if ((s->bin_bits[row] >> bit & 1) != (s->bins[bin] != 0)) return -1;
        if ((s->bin_rows >> row & 1) != (s->bin_bits[row] != 0)) return -1;
        uint32_t head = clumpi_bin_node(s->bins[bin]);
        if (s->bins[bin] != clumpi_bin_make(head, clumpi_node_at(s, head)->size)) return -1;
        for (uint32_t i = head, prev = 0; i; prev = i, i = clumpi_node_at(s, i)->bin_next) {
            const clumpi_node *n = clumpi_node_at(s, i);
            if (n->state != CLUMPI_NODE_FREE || n->bin_prev != prev ||
                clumpi_bin_of(n->size) != bin)
                return -1;
            if ((uint64_t)++count > s->free_count) return -1;
        }
    }
    return count;
}

clump_status clump_suballoc_check(clump_suballoc *s) {
    if (!s) return CLUMP_ERR_USAGE;
    uint64_t end = 0, used = 0, used_count = 0, free_count = 0, before = CLUMPI_NODE_USED;
    const clumpi_node *none = clumpi_node_at(s, 0);
    uint32_t prev = 0, told_free = none->next_free;
    for (uint32_t i = none->next; i; prev = i, i = clumpi_node_at(s, i)->next) {
        const clumpi_node *n = clumpi_node_at(s, i);
        if (n->offset != end) return corrupt(s, "beginning of a range, in units", n->offset, end);
        if (n->prev != prev) return corrupt(s, "the node before a range", n->prev, prev);
        if (!n->size) return corrupt(s, "units of the range at some offset", 0, 1);
        if (n->state != CLUMPI_NODE_USED && n->state != CLUMPI_NODE_FREE)
            return corrupt(s, "state of a range", n->state, CLUMPI_NODE_USED);
        if (n->state == CLUMPI_NODE_FREE && before == CLUMPI_NODE_FREE)
            return corrupt(s, "two free ranges side by side, the second at unit", n->offset, 0);
        if (n->prev_free != (before == CLUMPI_NODE_FREE))
            return corrupt(s, "mark that the range before is free", n->prev_free, !n->prev_free);
        if (told_free != (n->state == CLUMPI_NODE_FREE))
            return corrupt(s, "mark that the range after is free", told_free, !told_free);
        told_free = n->next_free;
        before = n->state;
        if (n->state == CLUMPI_NODE_USED) {
            used += n->size;
            used_count++;
        } else {
            free_count++;
        }
        end += n->size;
        if (end > s->units) break;
    }
    if (end != s->units) return corrupt(s, "units in all ranges", end, s->units);
    if (prev != none->prev) return corrupt(s, "the last node", none->prev, prev);
    if (told_free || none->prev_free != (before == CLUMPI_NODE_FREE))
        return corrupt(s, "mark that the last range is free", none->prev_free, !none->prev_free);
    if (used != s->used_units) return corrupt(s, "units in use", s->used_units, used);
    if (used_count != s->used_count) return corrupt(s, "ranges in use", s->used_count, used_count);
    if (free_count != s->free_count) return corrupt(s, "free ranges", s->free_count, free_count);
    int64_t indexed = s->fit == CLUMP_FIT_GOOD ? check_bins(s) : clumpi_tree_check(s);
    if (indexed != (int64_t)free_count)
        return corrupt(s, "free ranges in the index", (uint64_t)indexed, free_count);
    return CLUMP_OK;
}
