/* Which objects are taken out of a heap: bits of `chosen`, a buffer with the first part of one of marks, in which white
 * objects are chosen (host/collect/chosen.c). Each kernel adds some.
 *
 * Read first: cl/collect/mark.clh.
 */
#include "cl/collect/mark.clh"

/* References from refs[at] on. wrong[0]: how many name no live object; wrong[1]: the first of these. Null is disregarded. */
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
        if (bits && class_id >= first && class_id <= last) clumpi_mark_row_set(&m, m.white, g, bits);
    }
}

/* Those of them in which the element of `bytes` at base + slot * stride of the row is not 0. */
__kernel void clumpi_choose_where(__global uchar *heap, uint header_at, __global uchar *chosen,
                                  uint first, uint last, uint base, uint stride, uint bytes) {
    const clumpi_mark m = clumpi_mark_of(heap, header_at, chosen, 0);
    const clumpi_part part = clumpi_part_of(m.r.end * 64ul);
    for (ulong at = part.begin; at < part.end; at += part.step) {
        uint ref = (uint)at, g = ref >> 6, slot = ref & 63u;
        if (!(clumpi_row_bits(&m.v, g) >> slot & 1ul)) continue;
        uint class_id = clumpi_mark_class(&m, ref), is_set = 0;
        if (class_id < first || class_id > last) continue;
        __global const uchar *value = clumpi_granule_at(m.r.memory, g) + base + slot * stride;
        if (bytes == 1u) is_set = *value != 0;
        else if (bytes == 2u) is_set = *(__global const ushort *)value != 0;
        else if (bytes == 4u) is_set = *(__global const uint *)value != 0;
        else is_set = *(__global const ulong *)value != 0;
        if (is_set) (void)CLUMPI_BITS_CLAIM(m.white + clumpi_mark_word(ref), clumpi_mark_bit(ref));
    }
}
