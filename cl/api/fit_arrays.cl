/* Raw memory for the arrays of run-time length that a load or an insertion made, where it is short:
 * the largest first, and each in the shortest gap that is long enough. Otherwise small arrays use
 * the blocks that large ones need. One work-item does that, except for slots, which fit in any
 * order. make_arrays.cl is quicker, and comes first. This is also a program of its heap.
 *
 * Gaps are listed by row: `gaps` has the class of runs whose rows are listed, the first row with a
 * gap of 1, of 2, .. of 64 slots, and then for each row the next one with the same gap. A row is
 * its number plus 1, and 0 ends a list. A row whose gap is no longer as listed is left out.
 *
 * Read first: make_arrays.cl, cl/core/runs.clh.
 */
#ifndef CLUMPI_ARRAYS_CLH /* a program has it before */
#include "cl/api/arrays.clh"
#endif

/* A row into the list of its longest gap. */
static inline void clumpi_fit_list(clumpi_home h, uint class_id, uint row, __global uint *gaps) {
    uint rows = clumpi_class_entry(h, class_id)->rows;
    uint granules = CLUMPI_BLOCK_GRANULES(clumpi_header_of(h));
    uint granule = (clumpi_header_of(h)->first_block + row / rows) * granules +
                   row % rows * clumpi_class_entry(h, class_id)->row_granules;
    ulong clear = ~clumpi_row_load(clumpi_bits_of(h, granule));
    uint gap = 0;
    for (; clear; clear &= clear >> 1) gap++; /* bound: 64 */
    if (gap == 0) return;
    gaps[CLUMPI_ROW_SLOTS + 1u + row] = gaps[gap];
    gaps[gap] = row + 1u;
}

/* The rows of a block, if it is of the class. */
static inline void clumpi_fit_list_block(clumpi_home h, uint class_id, uint block,
                                         __global uint *gaps) {
    uint rows = clumpi_class_entry(h, class_id)->rows;
    if (clumpi_class_of_state(CLUMPI_LOAD(clumpi_state_of(h, block))) != class_id) return;
    for (uint r = 0; r < rows; r++)
        clumpi_fit_list(h, class_id, (block - clumpi_header_of(h)->first_block) * rows + r, gaps);
}

static inline void clumpi_fit_list_all(clumpi_home h, uint class_id, __global uint *gaps) {
    gaps[0] = class_id;
    for (uint gap = 1; gap <= CLUMPI_ROW_SLOTS; gap++) gaps[gap] = 0;
    for (uint block = clumpi_header_of(h)->first_block; block < clumpi_header_of(h)->block_end;
         block++)
        clumpi_fit_list_block(h, class_id, block, gaps);
}

/* `count` slots of one row. 0: no room. */
CLUMPI_CALLED uint clumpi_fit_run(clumpi_home h, uint class_id, uint count, __global uint *gaps) {
    uint rows = clumpi_class_entry(h, class_id)->rows;
    if (gaps[0] != class_id) clumpi_fit_list_all(h, class_id, gaps);
    for (uint gap = count; gap <= CLUMPI_ROW_SLOTS; gap++) {
        uint row = gaps[gap] - 1u, unsure = 0;
        if (gaps[gap] == 0) continue;
        gaps[gap] = gaps[CLUMPI_ROW_SLOTS + 1u + row];
        uint ref = clumpi_run_in_block(h, class_id, clumpi_header_of(h)->first_block + row / rows,
                                       count, row % rows * (CLUMPI_ROW_SLOTS / count), &unsure);
        clumpi_fit_list(h, class_id, row, gaps);
        if (ref) return ref;
    }
    uint ref = clumpi_run_of_row(h, class_id, count, 0);
    if (ref)
        clumpi_fit_list_block(h, class_id, (ref >> 6) / CLUMPI_BLOCK_GRANULES(clumpi_header_of(h)),
                              gaps);
    return ref;
}

static inline __global void *clumpi_fit_alloc(__global uchar *heap, ulong align, ulong bytes,
                                              __global uint *gaps) {
#ifdef CLUMPI_CHECKS /* a program of a checked heap has checked_raw.clh */
    clumpi_home h = clumpi_home_for(heap, CLUMPI_ITEM);
    ulong all = clumpi_checked_with_guards(align, bytes);
#else
    clumpi_home h = clumpi_home_in(heap, CLUMPI_HEADER_AT);
    ulong all = clumpi_raw_with_align(h, align, bytes);
#endif
    uint class_id = clumpi_raw_run_class(h, all), count = CLUMPI_ROW_SLOTS + 1u;
    if (all > (ulong)clumpi_header_of(h)->raw_units * CLUMPI_RAW_UNIT && clumpi_raw_can_be(h, all))
        count = clumpi_raw_run_slots(h, class_id, all);
    if (count > CLUMPI_ROW_SLOTS) return clumpi_aligned_alloc(heap, align, bytes);
    uint ref = clumpi_fit_run(h, class_id, count, gaps);
    __global uchar *slot = ref ? clumpi_raw_address(h, ref, class_id) : (__global uchar *)0;
#ifdef CLUMPI_CHECKS
    return clumpi_checked_piece_in(h, slot, align, bytes, 0u);
#else
    return clumpi_raw_align(heap, slot, align);
#endif
}

/* Two numbers of each array, from array `from` on: for how many elements it needs memory, which
 * becomes the handle of the memory or 0, and the bytes of an element, which become 0. lanes:
 * work-items that do something, 1 for more than a slot. is_free: they free the memory of the
 * handles, which become 0. */
__kernel void fit_arrays(CLUMP_HEAP, __global uint *words, uint from, uint to, uint lanes,
                         uint is_free, __global uint *gaps) {
    uint me = (uint)get_global_id(0);
    if (me >= lanes) return;
    for (uint i = from + me; i < to; i += lanes) {
        uint had = words[2u * i], bytes = words[2u * i + 1u];
        __global uchar *p;
        if (is_free) {
            p = had ? clump_heap + (ulong)had * CLUMPI_RAW_UNIT : (__global uchar *)0;
            clumpi_raw_free(clump_heap, p);
            words[2u * i] = 0;
            continue;
        }
        p = clumpi_fit_alloc(clump_heap, max(bytes, CLUMPI_RAW_UNIT), (ulong)had * bytes, gaps);
        words[2u * i] = p ? clumpi_raw_unit(clump_heap, p) : 0u;
        words[2u * i + 1u] = 0;
    }
}
