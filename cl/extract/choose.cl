/* Which objects are taken out of a heap: bits of `chosen`, a buffer with the first part of one of
 * marks, in which white objects are chosen (host/collect/chosen.c). Each kernel adds some.
 *
 * Read first: cl/collect/mark.clh.
 */
#include "cl/collect/mark.clh"
#include "cl/core/poison.clh"

/* References from refs[at] on. wrong[0]: how many name no live object; wrong[1]: the first of
 * these. Null is disregarded. */
__kernel void clumpi_choose_refs(__global uchar *heap, uint header_at, __global uchar *chosen,
                                 __global const uint *refs, ulong count, __global uint *wrong) {
    const clumpi_mark m = clumpi_mark_of(heap, header_at, chosen, 0);
    const clumpi_part part = clumpi_part_of(count);
    for (ulong i = part.begin; i < part.end; i += part.step) {
        uint ref = refs[i];
        if (ref == 0) continue;
        if (clumpi_names_object(&m.v, &m.r, ref, 1, m.r.class_count)) {
            (void)CLUMPI_BITS_CLAIM(m.white + clumpi_mark_word(ref), clumpi_mark_bit(ref));
        } else {
            atomic_inc(&wrong[0]);
            atomic_min(&wrong[1], (uint)i);
        }
    }
}

/* All objects of the classes first .. last. */
__kernel void clumpi_choose_classes(__global uchar *heap, uint header_at, __global uchar *chosen,
                                    uint first, uint last) {
    const clumpi_mark m = clumpi_mark_of(heap, header_at, chosen, 0);
    const clumpi_part part = clumpi_part_of(m.r.end);
    for (ulong at = part.begin; at < part.end; at += part.step) {
        uint g = (uint)at;
        ulong bits = clumpi_row_bits(&m.v, g);
        uint class_id = bits ? clumpi_mark_class(&m, g << 6) : 0u;
        if (bits && class_id >= first && class_id <= last)
            clumpi_mark_row_set(&m, m.white, g, bits);
    }
}

/* Is this a reference to an object of the classes first .. last that `named` has? */
static inline uint choose_leads(const clumpi_mark *named, uint ref, uint first, uint last) {
    if (named->v.header->at_checked) ref = clumpi_bare(clumpi_home_of(&named->v), ref);
    if (!clumpi_is_white(named, ref)) return 0;
    const uint class_id = clumpi_mark_class(named, ref);
    return class_id >= first && class_id <= last;
}

/* Is the element of `bytes` not 0? */
static inline uint choose_is_set(__global const uchar *value, uint bytes) {
    if (bytes == 1u) return *value != 0;
    if (bytes == 2u) return *(__global const ushort *)value != 0;
    if (bytes == 4u) return *(__global const uint *)value != 0;
    return *(__global const ulong *)value != 0;
}

/* The bits of the row that starts at a granule, if its objects are of the classes first .. last. */
static inline ulong choose_row(const clumpi_mark *m, uint g, uint first, uint last) {
    const ulong bits = clumpi_row_bits(&m->v, g);
    const uint class_id = clumpi_mark_class(m, g << 6); /* of a free block: none */
    return class_id >= first && class_id <= last ? bits : 0ul;
}

#define CHOOSE_ROWS 4u

/* This work-item's slot of each row. All values are read before the first is looked at, so that
 * their loads are under way together. */
#define CHOOSE_IS_SET(value) ((value) != 0)
#define CHOOSE_LEADS(value) choose_leads(&n, (value), to_first, to_last)
#define CHOOSE_LOOK(type, is_chosen)                                                               \
    {                                                                                              \
        type value[CHOOSE_ROWS];                                                                   \
        for (uint k = 0; k < CHOOSE_ROWS; k++) {                                                   \
            value[k] = 0;                                                                          \
            if (row[k] >> slot & 1ul)                                                              \
                value[k] = *(__global const type *)(clumpi_granule_at(m.r.memory,                  \
                                                                      at + k * teams + me / 64u) + \
                                                    base + slot * stride);                         \
        }                                                                                          \
        for (uint k = 0; k < CHOOSE_ROWS; k++)                                                     \
            ((__local uchar *)seen)[k * teams * 64u + me] = is_chosen(value[k]);                   \
    }

/* Objects of the classes first .. last in which the element of `bytes` at base + slot * stride of
 * the row is not 0. If to_last is not 0, it is a reference, and must lead to an object of the
 * classes to_first .. to_last that `named` has. That is a copy of `chosen`, since the result must
 * not depend on what other work-items have chosen so far. On a GPU 64 work-items look at a row, and
 * one for each half of it writes what they saw: an atomic operation for each object would cost more
 * than to read it. */
__kernel void clumpi_choose_where(__global uchar *heap, uint header_at, __global uchar *chosen,
                                  uint first, uint last, uint base, uint stride, uint bytes,
                                  __global uchar *named, uint to_first, uint to_last) {
    const clumpi_mark m = clumpi_mark_of(heap, header_at, chosen, 0);
    const clumpi_mark n = clumpi_mark_of(heap, header_at, named, 0);
#if CLUMPI_ROW_PER_ITEM
    const clumpi_part part = clumpi_part_of(m.r.end);
    for (ulong at = part.begin; at < part.end; at += part.step) {
        const uint g = (uint)at;
        const ulong row = choose_row(&m, g, first, last);
        if (!row) continue;
        __global const uchar *values = clumpi_granule_at(m.r.memory, g) + base;
        ulong set = 0;
        for (uint slot = 0; slot < 64u; slot++)
            if (row >> slot & 1ul)
                set |=
                    (ulong)(to_last ? CHOOSE_LEADS(*(__global const uint *)(values + slot * stride))
                                    : choose_is_set(values + slot * stride, bytes))
                    << slot;
        if (set) clumpi_mark_row_set(&m, m.white, g, clumpi_mark_row(&m, m.white, g) | set);
    }
#else
    /* The host launches at most 256 work-items a group, and a multiple of 64. Each looks at a slot
     * of CHOOSE_ROWS rows. */
    __local uint seen[256 * CHOOSE_ROWS / 4u]; /* a byte for each */
    __global uint *halves = (__global uint *)m.white;
    const uint me = (uint)get_local_id(0), teams = (uint)get_local_size(0) / 64u, slot = me & 63u,
               rows = teams * CHOOSE_ROWS;
    for (uint at = (uint)get_group_id(0) * rows; at < m.r.end;
         at += (uint)get_num_groups(0) * rows) {
        ulong row[CHOOSE_ROWS];
        for (uint k = 0; k < CHOOSE_ROWS; k++) {
            const uint g = at + k * teams + me / 64u;
            row[k] = choose_row(&m, min(g, m.r.end - 1u), first, last) & (g < m.r.end ? ~0ul : 0ul);
        }
        if (to_last)
            CHOOSE_LOOK(uint, CHOOSE_LEADS)
        else if (bytes == 1u)
            CHOOSE_LOOK(uchar, CHOOSE_IS_SET)
        else if (bytes == 2u)
            CHOOSE_LOOK(ushort, CHOOSE_IS_SET)
        else if (bytes == 4u)
            CHOOSE_LOOK(uint, CHOOSE_IS_SET)
        else
            CHOOSE_LOOK(ulong, CHOOSE_IS_SET)
        barrier(CLK_LOCAL_MEM_FENCE);
        uint set = 0; /* of half a row: four bytes, each 0 or 1, become four bits at a time */
        for (uint k = 0; me < 2u * rows && k < 8u; k++)
            set |= (seen[8u * me + k] * 0x01020408u >> 24 & 15u) << 4u * k;
        if (set) halves[2u * at + me] |= set;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
#endif
}
