/* The kernels that rewrite references to moved objects, inside the heap and outside, and null
 * references to no object.
 *
 * Read first: rewrite.clh. Read next: finish.cl.
 */
#include "cl/compact/rewrite.clh"

__kernel void clumpi_rewrite(__global uchar *heap, uint header_at, uint chunks) {
    __local group_memory group;
    const clumpi_view v = clumpi_view_of(heap, header_at);
    const rewrite_mode p = {0};
    rewrite_all(&v, &p, chunks, &group);
}

/* Before anything moves: null the references that name no live object of their class. */
__kernel void clumpi_null_dangling(__global uchar *heap, uint header_at, uint chunks) {
    __local group_memory group;
    const clumpi_view v = clumpi_view_of(heap, header_at);
    const rewrite_mode p = {1};
    rewrite_all(&v, &p, chunks, &group);
}

/* A registered buffer: references at offset + i * stride, in words. Before the move, `check` = 1:
 * those that name no live object of any class are counted, and nulled if asked for. After it,
 * `check` = 0: those to moved objects are rewritten. */
__kernel void clumpi_rewrite_registered(__global uchar *heap, uint header_at, __global uint *refs,
                                        ulong offset, uint stride, ulong count,
                                        __global const uint *counted, ulong counted_at, uint check,
                                        uint null_dangling) {
    __local group_memory group;
    const clumpi_view v = clumpi_view_of(heap, header_at);
    const clumpi_reach r = clumpi_reach_of(&v);
    clumpi_tally t = {0, 0, 0, 0};
    ulong end = clumpi_refs_count(count, counted, counted_at);
    for (ulong i = get_global_id(0); i < end; i += get_global_size(0)) {
        __global uint *place = refs + offset + i * stride;
        uint ref = *place;
        if (ref == 0) continue;
        t.examined++;
        if (check) {
            if (clumpi_names_object(&v, &r, ref, 1, r.class_count)) continue;
            t.dangling++;
            if (null_dangling) *place = 0;
        } else {
            referent seen = follow(&v, &r, ref, 1, r.class_count);
            if (seen.kind != SEEN_MOVED) continue;
            *place = seen.ref;
            t.rewritten++;
        }
    }
    tally_up(&v, t, &group, 0);
}
