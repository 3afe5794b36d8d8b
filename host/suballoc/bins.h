/* Free ranges in bins by size: two levels of bitmaps find a bin that has a node in constant time.
 *
 * The algorithm is the published two-level segregated fit (Masmano et al., 2004). What differs: a
 * request asks first for one node of its own bin, which may be too small, so that a range that was
 * just freed serves the next request of its size whatever that is; and looks at all of them before
 * it gives up. Functions are inline: they are short, and each call of them would be seen.
 *
 * Included by suballoc.h, which is to be read first.
 */
#ifndef CLUMPI_SUBALLOC_BINS_H
#define CLUMPI_SUBALLOC_BINS_H

#define CLUMPI_CUT_BITS 5u
_Static_assert(CLUMPI_BIN_CUTS == 1u << CLUMPI_CUT_BITS, "a row's bits are one 32-bit word");

static inline uint32_t clumpi_log2_of(uint64_t x) {
    return (uint32_t)__builtin_clzll(x) ^ 63u; /* not 63 - ...: one instruction */
}

/* Without branches: sizes are what a processor cannot foresee. */
static inline uint32_t clumpi_bin_shift(uint64_t units) {
    return clumpi_log2_of(units | CLUMPI_BIN_CUTS) - CLUMPI_CUT_BITS;
}

static inline uint32_t clumpi_bin_of(uint64_t units) {
    uint32_t shift = clumpi_bin_shift(units);
    return (shift << CLUMPI_CUT_BITS) + (uint32_t)(units >> shift);
}

static inline uint32_t clumpi_bin_above(uint64_t units) {
    return clumpi_bin_of(units + ((UINT64_C(1) << clumpi_bin_shift(units)) - 1));
}

static inline void clumpi_bins_set_head(clump_suballoc *s, uint32_t bin, uint32_t node,
                                        uint64_t size) {
    s->bins[bin] = clumpi_bin_make(node, size);
}

static inline uint64_t clumpi_bins_head_size(const clump_suballoc *s, uint32_t bin) {
    uint64_t size = s->bins[bin] >> 32;
    return size < UINT32_MAX ? size : clumpi_node_at(s, clumpi_bin_node(s->bins[bin]))->size;
}

/* `size` is the node's, `bin` that of the size. */
static inline void clumpi_bins_insert(clump_suballoc *s, uint32_t i, clumpi_node *n, uint64_t size,
                                      uint32_t bin) {
    uint32_t head = clumpi_bin_node(s->bins[bin]);
    n->bin_links = (uint64_t)head << 32; /* none before it */
    clumpi_node_at(s, head)->bin_prev = i;
    clumpi_bins_set_head(s, bin, i, size);
    s->bin_bits[bin >> CLUMPI_CUT_BITS] |= 1u << (bin & (CLUMPI_BIN_CUTS - 1));
    s->bin_rows |= UINT64_C(1) << (bin >> CLUMPI_CUT_BITS);
}

/* Remove the first node of a bin. */
static inline void clumpi_bins_pop(clump_suballoc *s, const clumpi_node *n, uint32_t bin) {
    uint32_t next = n->bin_next, row = bin >> CLUMPI_CUT_BITS;
    clumpi_node *after = clumpi_node_at(s, next);
    after->bin_prev = 0;
    clumpi_bins_set_head(s, bin, next, after->size);
    uint32_t bits = s->bin_bits[row] & ~((uint32_t)!next << (bin & (CLUMPI_BIN_CUTS - 1)));
    s->bin_bits[row] = bits;
    s->bin_rows &= ~((uint64_t)!bits << row);
}

static inline void clumpi_bins_remove(clump_suballoc *s, const clumpi_node *n, uint32_t bin) {
    uint32_t prev = n->bin_prev, next = n->bin_next;
    if (!prev) {
        clumpi_bins_pop(s, n, bin);
        return;
    }
    clumpi_node_at(s, next)->bin_prev = prev;
    clumpi_node_at(s, prev)->bin_next = next;
}

/* The lowest bin from `bin` on, which is at most bin_end, that has a node; else bin_end. */
static inline uint32_t clumpi_bins_next(const clump_suballoc *s, uint32_t bin) {
    uint32_t row = bin >> CLUMPI_CUT_BITS;
    uint32_t bits = s->bin_bits[row] & (UINT32_MAX << (bin & (CLUMPI_BIN_CUTS - 1)));
    if (!bits) {
        row = (uint32_t)__builtin_ctzll(s->bin_rows & ~((UINT64_C(2) << row) - 1));
        bits = s->bin_bits[row];
    }
    return (row << CLUMPI_CUT_BITS) + (uint32_t)__builtin_ctz(bits);
}

static inline uint32_t clumpi_bins_top(const clump_suballoc *s) {
    uint64_t rows = s->bin_rows & ((UINT64_C(1) << (s->bin_end >> CLUMPI_CUT_BITS)) - 1);
    if (!rows) return 0;
    uint32_t row = clumpi_log2_of(rows);
    return (row << CLUMPI_CUT_BITS) + clumpi_log2_of(s->bin_bits[row]);
}

/* Any of the bins from the request's own up to `sure`, which are not large enough for certain. */
static __attribute__((noinline)) uint32_t clumpi_bins_search(const clump_suballoc *s,
                                                             uint64_t units, uint64_t align,
                                                             uint32_t sure) {
    for (uint32_t bin = clumpi_bins_next(s, clumpi_bin_of(units)); bin < sure;
         bin = clumpi_bins_next(s, bin + 1))
        for (uint32_t i = clumpi_bin_node(s->bins[bin]); i; i = clumpi_node_at(s, i)->bin_next)
            if (clumpi_node_fits(clumpi_node_at(s, i), units, align)) return i;
    return 0;
}

/* The bin whose first node serves a request: its own if that is large enough, else the lowest whose
 * nodes all are. Without branches on sizes. */
static inline uint32_t clumpi_bins_pick(const clump_suballoc *s, uint64_t units) {
    uint32_t own = clumpi_bin_of(units);
    return clumpi_bins_next(s, own + (clumpi_bins_head_size(s, own) < units));
}

static inline uint32_t clumpi_bins_find(const clump_suballoc *s, uint64_t units, uint64_t align) {
    uint32_t own = clumpi_bin_of(units), sure = own + 1, node;
    if (align == 1) {
        node = clumpi_bin_node(s->bins[clumpi_bins_pick(s, units)]);
    } else {
        node = clumpi_bin_node(s->bins[clumpi_bins_next(s, own)]);
        if (node && clumpi_node_fits(clumpi_node_at(s, node), units, align)) return node;
        sure = clumpi_bin_above(units + align - 1);
        if (sure > s->bin_end) sure = s->bin_end;
        node = clumpi_bin_node(s->bins[clumpi_bins_next(s, sure)]);
    }
    return node ? node : clumpi_bins_search(s, units, align, sure);
}

#endif
