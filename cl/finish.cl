/* The end of a compaction: sources become free blocks.
 *
 * Read first: plan.clh, rewrite.cl.
 */
#include "cl/plan.clh"

/* A work-group per source. */
__kernel void clumpi_finish(__global uchar *heap, uint header_at) {
    clumpi_view v = clumpi_view_of(heap, header_at);
    uint me = (uint)get_local_id(0), items = (uint)get_local_size(0);
    for (uint c = 1; c <= v.header->class_count; c++) {
        __global const clumpi_class_plan *p = &clumpi_plans(&v)[c];
        for (uint s = (uint)get_group_id(0); s < p->sources; s += (uint)get_num_groups(0)) {
            uint block = clumpi_plan_list(&v)[p->source_begin + s];
            if (!clumpi_is_moved(clumpi_words_at(&v, v.header->at_moved), block)) continue;
            for (uint r = me; r < v.classes[c].rows; r += items)
                clumpi_row_bits_set(&v, clumpi_row_granule(&v, block, c, r), 0);
            if (me != 0) continue;
            CLUMPI_STORE(&v.states[block], 0u);
            CLUMPI_SUB(&v.classes[c].blocks, 1);
            clumpi_hint_agree(&v, c, 0, block);
            clumpi_hint_agree(&v, 0, 0, block);
            if (s == 0) CLUMPI_ADD(&v.header->epoch, 1); /* room appeared: cl/alloc.clh */
        }
    }
}
