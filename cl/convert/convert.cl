/* Objects of one heap become those of another, which has as many of each class and nothing else:
 * their values, and references to them.
 *
 * Objects have numbers in the order of the old heap's list of rows (dense.cl). The new heap was
 * filled by do-news: its list of rows has full rows, but for the last of each class. So an object
 * has a *place*: 64 times the row of the new list, plus the slot. Table `places` has that of the
 * first object of each old row, by granule; all others of the row follow.
 *
 *   old row   │ 1 1 0 1 ... │  places[granule] = p           new rows  │ p-2 p-1 p p+1 │ p+2 ...
 *
 * Only numbers and tables tell where anything goes, so no work-item waits for another. Nothing of
 * the old heap changes.
 *
 * Read first: cl/convert/layout.h, cl/heap/dense.cl.
 */
#include "cl/convert/layout.h"
#include "cl/core/alloc.clh"
#include "cl/core/poison.clh"
#include "cl/core/scan.clh"

typedef struct convert_heaps {
    clumpi_view from, to;
    clumpi_home from_home, to_home;
    __global const clumpi_convert_class *classes;
    __global const uint *places;
    __global const uint *to_rows;
} convert_heaps;

static inline convert_heaps convert_heaps_of(__global uchar *from, uint from_at, __global uchar *to,
                                             uint to_at,
                                             __global const clumpi_convert_class *classes,
                                             __global const uint *places) {
    convert_heaps h;
    h.from = clumpi_view_of(from, from_at);
    h.to = clumpi_view_of(to, to_at);
    h.from_home = clumpi_home_of(&h.from);
    h.to_home = clumpi_home_of(&h.to);
    h.classes = classes;
    h.places = places;
    h.to_rows = clumpi_words_at(&h.to, h.to.header->at_list_rows);
    return h;
}

static inline uint convert_class_of(const clumpi_view *v, uint granule) {
    return clumpi_class_of_state(v->states[granule / v->header->block_granules]);
}

/* places[granule at which an old row starts]: of its first object. */
__kernel void clumpi_convert_places(__global uchar *from, uint from_at, __global uchar *to,
                                    uint to_at, __global const clumpi_convert_class *classes,
                                    __global uint *places) {
    const convert_heaps h = convert_heaps_of(from, from_at, to, to_at, classes, places);
    clumpi_range list = clumpi_list_range(&h.from, 1u, h.from.header->first_raw - 1u);
    __global const uint *rows = clumpi_words_at(&h.from, h.from.header->at_list_rows);
    __global const uint *index = clumpi_words_at(&h.from, h.from.header->at_list_index);
    __global const uint *begin = clumpi_words_at(&h.to, h.to.header->at_list_begin);
    for (uint r = list.begin + (uint)get_global_id(0); r < list.end;
         r += (uint)get_global_size(0)) {
        const clumpi_convert_class c = classes[convert_class_of(&h.from, rows[r])];
        places[rows[r]] = begin[c.to] * 64u + (index[r] - c.first);
    }
}

/* The new reference for one to an object of the classes from_first .. from_last, of which it must
 * be one of to_first .. to_last. Null for all others, which are counted. */
static inline uint convert_ref(const convert_heaps *h, uint ref, uint from_first, uint from_last,
                               uint to_first, uint to_last, uint *dangling, uint *strange) {
    uint granule, is_stale = 0, is_live = 0;
    ulong bits = 0;
    if (ref == 0) return 0;
    if (h->from.header->at_checked) {
        is_stale = clumpi_age(h->from_home, ref) != 0;
        ref = clumpi_plain(h->from_home, ref);
    }
    granule = ref >> 6;
    clumpi_place place = clumpi_place_of(h->from_home, granule);
    if (!is_stale && clumpi_place_fits(place, from_first, from_last)) {
        bits = clumpi_row_bits(&h->from, granule);
        is_live = (uint)(bits >> (ref & 63u)) & 1u;
    }
    if (!is_live) {
        *dangling += ref != CLUMPI_FRESH_REF;
        return 0;
    }
    uint to = h->classes[place.class_id].to;
    if (to < to_first || to > to_last) {
        *strange += 1u;
        return 0;
    }
    uint at = h->places[granule] + clumpi_rank_in_row(bits, ref & 63u);
    ref = h->to_rows[at >> 6] << 6 | (at & 63u);
    return h->to.header->at_checked ? clumpi_named(h->to_home, ref) : ref;
}

/* Where the objects of an old row are in the new heap: the first few in one row, the others in the
 * next. */
typedef struct convert_row {
    __global const uchar *from;
    __global uchar *to[2];
    ulong mask;
    uint slot; /* of the first object in the new row */
} convert_row;

static inline convert_row convert_row_of(const convert_heaps *h, uint granule, ulong mask) {
    const uint first = h->places[granule], last = first + clumpi_popcount64(mask) - 1u;
    const ulong bytes = h->to.header->granule_bytes;
    convert_row row;
    row.from = h->from.heap + granule * (ulong)h->from.header->granule_bytes;
    row.to[0] = h->to.heap + h->to_rows[first >> 6] * bytes;
    row.to[1] = h->to.heap + h->to_rows[last >> 6] * bytes;
    row.mask = mask;
    row.slot = first & 63u;
    return row;
}

/* The slots of a row that this work-item has, with where each is read and written. */
#define CONVERT_FOR_EACH(row, field, me, items, body)                                              \
    for (uint slot = (me); slot < 64u; slot += (items)) {                                          \
        if (!((row).mask >> slot & 1ul)) continue;                                                 \
        const uint at = (row).slot + clumpi_rank_in_row((row).mask, slot);                         \
        __global const uchar *from = (row).from + (field).from_base + slot * (field).from_stride;  \
        __global uchar *to = (row).to[at >> 6] + (field).to_base + (at & 63u) * (field).to_stride; \
        for (uint e = 0; e < (field).count; e++, from += (field).from_step, to += (field).to_step) \
            body;                                                                                  \
    }

#define CONVERT_COPY(type, zero)                                                                   \
    if (field.is_new) {                                                                            \
        CONVERT_FOR_EACH(row, field, me, items, *(__global type *)to = zero)                       \
    } else {                                                                                       \
        CONVERT_FOR_EACH(row, field, me, items,                                                    \
                         *(__global type *)to = *(__global const type *)from)                      \
    }

static inline void convert_values(const convert_row row, const clumpi_convert_field field, uint me,
                                  uint items) {
    if (field.width == 4u) {
        CONVERT_COPY(uint, 0u)
    } else if (field.width == 8u) {
        CONVERT_COPY(ulong, 0ul)
    } else if (field.width == 16u) {
        CONVERT_COPY(uint4, (uint4)(0u))
    } else if (field.width == 2u) {
        CONVERT_COPY(ushort, (ushort)0)
    } else {
        CONVERT_COPY(uchar, (uchar)0)
    }
}

static inline void convert_refs(const convert_heaps *h, const convert_row row,
                                const clumpi_convert_field field, uint me, uint items,
                                __global clumpi_convert_wrong *wrong) {
    uint dangling = 0, strange = 0;
    CONVERT_FOR_EACH(row, field, me, items,
                     *(__global uint *)to = convert_ref(
                         h, *(__global const uint *)from, field.from_first, field.from_last,
                         field.to_first, field.to_last, &dangling, &strange))
    if (dangling) atomic_add(&wrong->dangling, dangling);
    if (strange) atomic_add(&wrong->strange, strange);
}

/* All fields of all objects. wrong: of each entry of `fields`. */
__kernel void clumpi_convert_objects(__global uchar *from, uint from_at, __global uchar *to,
                                     uint to_at, __global const clumpi_convert_class *classes,
                                     __global const uint *places,
                                     __global const clumpi_convert_field *fields,
                                     __global clumpi_convert_wrong *wrong) {
    const convert_heaps h = convert_heaps_of(from, from_at, to, to_at, classes, places);
    __global const uint *rows = clumpi_words_at(&h.from, h.from.header->at_list_rows);
    __global const ulong *masks =
        (__global const ulong *)clumpi_words_at(&h.from, h.from.header->at_list_masks);
    clumpi_range list = clumpi_list_range(&h.from, 1u, h.from.header->first_raw - 1u);
    clumpi_range chunk = clumpi_chunk(list.begin, list.end);
    uint items = min((uint)get_local_size(0), 64u), me = (uint)get_local_id(0);
    for (uint r = chunk.begin + me / items; r < chunk.end; r += (uint)get_local_size(0) / items) {
        const clumpi_convert_class c = classes[convert_class_of(&h.from, rows[r])];
        const convert_row row = convert_row_of(&h, rows[r], masks[r]);
        for (uint f = c.begin; f < c.end; f++) {
            const clumpi_convert_field field = fields[f];
            if (field.from_first)
                convert_refs(&h, row, field, me % items, items, &wrong[f]);
            else
                convert_values(row, field, me % items, items);
        }
    }
}

/* Of arrays that grow: `count` elements of field f, which are references, in words[]. */
__kernel void clumpi_convert_elements(__global uchar *from, uint from_at, __global uchar *to,
                                      uint to_at, __global const clumpi_convert_class *classes,
                                      __global const uint *places,
                                      __global const clumpi_convert_field *fields, uint f,
                                      __global uint *words, uint count,
                                      __global clumpi_convert_wrong *wrong) {
    const convert_heaps h = convert_heaps_of(from, from_at, to, to_at, classes, places);
    const clumpi_convert_field field = fields[f];
    uint dangling = 0, strange = 0;
    for (uint i = (uint)get_global_id(0); i < count; i += (uint)get_global_size(0))
        words[i] = convert_ref(&h, words[i], field.from_first, field.from_last, field.to_first,
                               field.to_last, &dangling, &strange);
    if (dangling) atomic_add(&wrong[f].dangling, dangling);
    if (strange) atomic_add(&wrong[f].strange, strange);
}

/* Of `count` references at outside[at], `stride` words apart: what they are, and what they
 * become. */
__kernel void clumpi_convert_outside(__global uchar *from, uint from_at, __global uchar *to,
                                     uint to_at, __global const clumpi_convert_class *classes,
                                     __global const uint *places, __global const uint *outside,
                                     ulong at, ulong stride, ulong count, __global uint *were,
                                     __global uint *become, __global clumpi_convert_wrong *wrong) {
    const convert_heaps h = convert_heaps_of(from, from_at, to, to_at, classes, places);
    uint dangling = 0, strange = 0;
    for (ulong i = get_global_id(0); i < count; i += get_global_size(0)) {
        were[i] = outside[at + i * stride];
        become[i] = convert_ref(&h, were[i], 1u, h.from.header->first_raw - 1u, 1u,
                                h.to.header->first_raw - 1u, &dangling, &strange);
    }
    if (dangling) atomic_add(&wrong->dangling, dangling);
}

/* The words go there. */
__kernel void clumpi_convert_commit(__global uint *outside, ulong at, ulong stride, ulong count,
                                    __global const uint *words) {
    for (ulong i = get_global_id(0); i < count; i += get_global_size(0))
        outside[at + i * stride] = words[i];
}
