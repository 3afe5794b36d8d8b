/* The end of a launch that changed the class of objects: references lead to the new places, and the
 * old ones are freed. Nothing moves. If header.became is 0, nothing changed, and these kernels end
 * at once.
 *
 *   clumpi_settle_mark        blocks that have old places; columns that can lead there
 *   clumpi_settle_left        in a checked heap: where the objects of old places went
 *   clumpi_settle_rewrite     references inside the heap
 *   clumpi_settle_registered  references outside
 *   clumpi_settle_free        the old places
 *
 * Invariant: while they run, no other kernel uses the heap, so an old place keeps its bit and its
 * word until the last of them.
 *
 * Read first: became.clh, rewrite.clh.
 */
#include "cl/compact/became.clh"
#include "cl/compact/rewrite.clh"
#include "cl/core/alloc.clh"

#if CLUMPI_CHECKED_BECOMES
/* An old place that is about to be freed. Was a value written there that is lost? References that
 * the library does not know will be told where the object went. */
static inline void leave_place(const clumpi_view *v, const clumpi_reach *r, uint class_id, uint old,
                               uint to) {
    clumpi_home h = clumpi_home_of(v);
    __global uint *freed = clumpi_last_free(h, old);
    if (freed[1] != CLUMPI_CHANGED && clumpi_slot_hash(h, class_id, old) != freed[1]) {
        clumpi_finding f = clumpi_finding_of(h, CLUMPI_FINDING_FREED, class_id, 0, CLUMPI_NOWHERE,
                                             clumpi_named(h, old));
        f.by_site = freed[0];
        f.by_item = CLUMPI_CHANGED;
        clumpi_find(h, f);
        clumpi_report(h, CLUMPI_ERROR_FINDING, 1, class_id, f.ref);
    }
    freed[1] = CLUMPI_CHANGED;
    /* bound: changes of an object in a launch */
    for (uint next = to; next; next = became_of(v, r, PLAIN(v, to))) to = next;
    if (clumpi_names_object(v, r, PLAIN(v, to), 1u, r->class_count)) return;
    uint end = clumpi_plain(h, to),
         is_known = clumpi_age(h, to) <= 1u && !clumpi_slot_is_left(h, end);
    freed[0] = is_known ? clumpi_last_free(h, end)[0] : 0u;
    freed[1] = is_known ? clumpi_last_free(h, end)[1] : 0u;
}
#endif

/* A work-group per block; the host has cleared the marks. becoming: the classes that can have old
 * places. */
__kernel void clumpi_settle_mark(__global uchar *heap, uint header_at, ulong4 becoming) {
    const clumpi_view v = clumpi_view_of(heap, header_at);
    if (!v.header->became) return;
    const clumpi_reach r = clumpi_reach_of(&v);
    for (uint c = 1u + (uint)get_group_id(0); c <= r.class_count; c += (uint)get_num_groups(0))
        clumpi_mark_columns(&v, c, becoming);
    for (uint block = r.first_block + (uint)get_group_id(0); block < r.block_end;
         block += (uint)get_num_groups(0)) {
        uint c = clumpi_class_of_state(r.states[block]), found = 0;
        if (c == 0 || c > r.class_count || v.classes[c].became_stride == 0u) continue;
        for (uint at = (uint)get_local_id(0); at < v.classes[c].rows * 64u;
             at += (uint)get_local_size(0)) {
            uint g = clumpi_row_granule(&v, block, c, at >> 6), slot = at & 63u;
            uint to = became_in(&v, &r.memory, c, g, slot);
            found |= to && clumpi_row_bits(&v, g) >> slot & 1ul;
        }
        if (found) atomic_or(&clumpi_moved(&v)[block >> 5], 1u << (block & 31u));
    }
}

#if CLUMPI_CHECKED_BECOMES
/* Once blocks are marked: a work-group per block. */
__kernel void clumpi_settle_left(__global uchar *heap, uint header_at) {
    const clumpi_view v = clumpi_view_of(heap, header_at);
    if (!v.header->became) return;
    const clumpi_reach r = clumpi_reach_of(&v);
    for (uint block = r.first_block + (uint)get_group_id(0); block < r.block_end;
         block += (uint)get_num_groups(0)) {
        if (!clumpi_is_moved(r.moved, block)) continue;
        uint c = clumpi_class_of_state(r.states[block]);
        for (uint at = (uint)get_local_id(0); at < v.classes[c].rows * 64u;
             at += (uint)get_local_size(0)) {
            uint g = clumpi_row_granule(&v, block, c, at >> 6), slot = at & 63u;
            uint to = became_in(&v, &r.memory, c, g, slot);
            if (to && clumpi_row_bits(&v, g) >> slot & 1ul)
                leave_place(&v, &r, c, g << 6 | slot, to);
        }
    }
}
#endif

__kernel void clumpi_settle_rewrite(__global uchar *heap, uint header_at, uint chunks) {
    __local group_memory group;
    const clumpi_view v = clumpi_view_of(heap, header_at);
    const rewrite_mode p = {0};
    if (v.header->became) rewrite_all(&v, &p, chunks, &group);
}

/* A registered buffer, as clumpi_rewrite_registered() takes it. */
__kernel void clumpi_settle_registered(__global uchar *heap, uint header_at, __global uint *refs,
                                       ulong offset, uint stride, ulong count,
                                       __global const uint *counted, ulong counted_at, uint check,
                                       uint null_dangling) {
    const clumpi_view v = clumpi_view_of(heap, header_at);
    (void)check, (void)null_dangling;
    if (!v.header->became) return;
    const clumpi_reach r = clumpi_reach_of(&v);
    const records none = {0};
    ulong end = clumpi_refs_count(count, counted, counted_at);
    for (ulong i = get_global_id(0); i < end; i += get_global_size(0)) {
        __global uint *place = refs + offset + i * stride;
        referent seen = follow_record(&v, &r, &none, *place, 1u, r.class_count);
        if (seen.kind == SEEN_MOVED) *place = seen.ref;
    }
}

/* A work-group per block, a work-item per row. */
__kernel void clumpi_settle_free(__global uchar *heap, uint header_at) {
    const clumpi_view v = clumpi_view_of(heap, header_at);
    const clumpi_reach r = clumpi_reach_of(&v);
    for (uint block = r.first_block + (uint)get_group_id(0); block < r.block_end;
         block += (uint)get_num_groups(0)) {
        if (!clumpi_is_moved(r.moved, block)) continue;
        uint c = clumpi_class_of_state(CLUMPI_LOAD(&r.states[block]));
        for (uint row = (uint)get_local_id(0); c && row < v.classes[c].rows;
             row += (uint)get_local_size(0)) {
            uint g = clumpi_row_granule(&v, block, c, row);
            ulong bits = clumpi_row_bits(&v, g), old = 0;
            for (; bits; bits &= bits - 1ul) {
                if (!became_in(&v, &r.memory, c, g, clumpi_lowest64(bits))) continue;
                old |= bits & (0ul - bits);
#if CLUMPI_CHECKED_BECOMES
                uint ref = g << 6 | clumpi_lowest64(bits);
                clumpi_generation_raise(clumpi_home_of(&v), ref);
                clumpi_slot_free(clumpi_home_of(&v), c, ref);
#endif
            }
            if (old) clumpi_free_slots(clumpi_home_of(&v), c, c, g, old);
        }
    }
    if (get_global_id(0) == 0) v.header->became = 0;
}
