/* First fill of a heap's metadata. The host has cleared it and written the header and class table.
 *
 * Leaves: the metadata's own blocks reserved, all others free, the free hints right at every level.
 * Read first: layout.h.
 */
#include "cl/core/scan.clh"

__kernel void clumpi_init(__global uchar *heap, uint header_at) {
    clumpi_view v = clumpi_view_of(heap, header_at);
    uint me = (uint)get_global_id(0), items = (uint)get_global_size(0);
    uint first = v.header->first_block, end = v.header->block_end;
    for (uint b = me; b < first; b += items) v.states[b] = CLUMPI_RESERVED << CLUMPI_CLASS_SHIFT;
    for (uint l = 0; l < v.header->hint_levels; l++) {
        for (uint w = me; w < v.header->hint_count[l]; w += items) {
            uint word = 0;
            for (uint bit = 0; bit < 32u; bit++) { /* the blocks below: index << 5l and on */
                ulong from = (ulong)(w * 32u + bit) << (5u * l), to = from + (1ul << (5u * l));
                if (from < end && to > first) word |= 1u << bit;
            }
            *clumpi_hint_word(clumpi_home_of(&v), 0, l, w) = word;
        }
    }
}

/* Of a heap in segments (segments.clh): where a segment is, whose first byte is byte `at` of the
 * heap. One work-item. */
__kernel void clumpi_segment_set(__global uchar *heap, uint header_at, uint segment, ulong pointer,
                                 ulong at) {
    clumpi_view v = clumpi_view_of(heap, header_at);
    ((__global ulong *)clumpi_words_at(&v, v.header->at_segments))[segment] =
        pointer - (ulong)heap - at;
}
