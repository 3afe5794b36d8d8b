/* Objects for the host out of what is reserved, as kernels get theirs: two launches, whose work
 * grows with the objects and not with the heap.
 *
 * Each stripe gives in proportion to what it has left, so that kernels later find some in all of
 * them. Nothing else runs meanwhile: the same heap gives the same objects, in the same order. If
 * there is too little, or objects have slots that were not reserved for them and may be these,
 * nothing is taken. What was asked for counts as demand all the same.
 *
 * Read first: cl/core/reserve.clh, cl/heap/layout.h, host/heap/few.c.
 */
#include "cl/core/alloc.clh"
#include "cl/core/scan.clh"
#include "cl/heap/layout.h"

#if CLUMPI_HAVE_INT64_ATOMICS

static inline __global clumpi_taking *take_plan(const clumpi_view *v) {
    return (__global clumpi_taking *)clumpi_words_at(v, v->header->at_scan);
}

/* How many of `count` objects come before place `at` of `room`. */
static inline uint take_share(uint at, uint room, uint count) {
    return room ? (uint)((ulong)at * count / room) : 0u;
}

/* One work-group. header.new_objects becomes `count` if they are taken, or else 0. It becomes
 * CLUMPI_NONE if the class had no objects when the list was made: a do-new makes the first ones, in
 * the order of their addresses. turn: number of the next list, modulo 2. */
__kernel void clumpi_take_plan(__global uchar *heap, uint header_at, uint class_id, uint count,
                               uint turn) {
    __local uint before[CLUMPI_STRIPES], sums[256];
    const clumpi_view v = clumpi_view_of(heap, header_at);
    const clumpi_home h = clumpi_home_of(&v);
    __global const clumpi_reservation *r = clumpi_reservation_of(h, class_id);
    const uint me = (uint)get_local_id(0), items = (uint)get_local_size(0), stripes = r->stripes;
    for (uint s = me; s < stripes; s += items) {
        __global const clumpi_stripe *stripe = clumpi_stripe_of(h, r, s);
        before[s] = stripe->limit - min(stripe->next, stripe->limit);
    }
    CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE);
    const uint room = clumpi_group_scan_array(before, stripes, sums);
    const uint is_first = r->learnt[turn].objects == 0;
    const uint is_taken = room >= count && !v.header->list_beyond && !is_first;
    for (uint s = me; s < stripes; s += items) {
        __global clumpi_stripe *stripe = clumpi_stripe_of(h, r, s);
        const clumpi_taking from = {take_share(before[s], room, count), stripe->next};
        const uint end = take_share(s + 1u < stripes ? before[s + 1u] : room, room, count);
        take_plan(&v)[s] = from;
        if (is_taken) stripe->next += end - from.first;
        if (!is_taken && !is_first && s == 0) stripe->next += count;
    }
    if (me == 0) v.header->new_objects = is_taken ? count : is_first ? CLUMPI_NONE : 0u;
}

/* refs[at], ...: the objects, if they are taken. */
__kernel void clumpi_take_claim(__global uchar *heap, uint header_at, uint class_id, uint count,
                                __global uint *refs, ulong at) {
    const clumpi_view v = clumpi_view_of(heap, header_at);
    const clumpi_home h = clumpi_home_of(&v);
    __global const clumpi_reservation *r = clumpi_reservation_of(h, class_id);
    __global const clumpi_taking *plan = take_plan(&v);
    if (v.header->new_objects != count) return;
    for (uint i = (uint)get_global_id(0); i < count; i += (uint)get_global_size(0)) {
        uint stripe = 0; /* the last that begins at `i` or before */
        for (uint step = r->stripes / 2u; step; step >>= 1)
            if (plan[stripe + step].first <= i) stripe += step;
        uint ref = clumpi_reserved_slot(h, r, stripe, plan[stripe].next + i - plan[stripe].first);
        const ulong bit = 1ul << (ref & 63u);
        if (CLUMPI_BITS_CLAIM(clumpi_bits_of(h, ref >> 6), bit) & bit)
            ref = clumpi_claim(h, class_id, (ref >> 6) / CLUMPI_BLOCK_GRANULES(v.header), ref);
        refs[at + i] = ref;
    }
}

#endif
