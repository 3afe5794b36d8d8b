/* Chosen objects into the columns of an extract, and the objects of an extract into a heap: all fields of all objects in one launch each,
 * references rewritten as they are copied.
 *
 * Packing. The chosen objects of the list of rows are ranked, so a row knows the number of its first one. A *record*
 * tells all of a row that a reference into it asks for, by the granule at which the row starts:
 *
 *   record │ chosen objects: 64 bits │ number of the first of them │ class │      0 where no row with objects starts
 *
 * Unpacking. Do-news have made the objects. Most rows were filled from the first slot to
 * the last, with objects of consecutive numbers. So each 64 objects of a class, counted from its first one, have a *place*: the
 * reference of the first, if that is in slot 0 and the others follow; else 0, and `refs` tells, which has references by number. Of
 * objects that come into free blocks it has none, unless the caller wants all of them.
 *
 * 64 work-items take a row, or 64 objects of a class. On a GPU four elements are read before the first is written: a load
 * that waited for a store before it would leave the memory idle. A CPU looks ahead by itself.
 *
 * Only numbers and tables tell where anything goes, so no work-item waits for another. Read first: cl/extract/layout.h,
 * cl/heap/fields.cl.
 */
#include "cl/core/poison.clh"
#include "cl/core/scan.clh"
#include "cl/extract/layout.h"

/* ---- Tables ---- */

static inline __global const clumpi_pack_class *pack_classes(__global const uchar *tables) {
    return (__global const clumpi_pack_class *)tables;
}

static inline __global const clumpi_pack_field *pack_fields(__global const uchar *tables, clumpi_pack_counts n) {
    return (__global const clumpi_pack_field *)(pack_classes(tables) + n.classes);
}

static inline __global const clumpi_pack_end *pack_ends(__global const uchar *tables, clumpi_pack_counts n) {
    return (__global const clumpi_pack_end *)(pack_fields(tables, n) + n.fields);
}

static inline __global clumpi_pack_head *pack_head(__global uchar *work) { return (__global clumpi_pack_head *)work; }

static inline __global uint4 *pack_records(__global uchar *work) { return (__global uint4 *)(pack_head(work) + 1); }

static inline __global uint *pack_places(__global uchar *work) { return (__global uint *)(pack_head(work) + 1); }

/* What this work-item and those beside it take of begin .. end-1, each of which is for 64 work-items. On a GPU neighbouring ones go to
 * neighbouring groups, so that all have the same to do wherever the chosen objects are. */
typedef struct pack_part {
    uint begin, end, step;
    uint me, items; /* this work-item takes slots me, me + items, ... */
} pack_part;

static inline pack_part pack_part_of(uint begin, uint end) {
    pack_part part;
    const uint local_items = (uint)get_local_size(0), me = (uint)get_local_id(0);
    part.items = min(local_items, 64u);
    part.me = me % part.items;
#if CLUMPI_ROW_PER_ITEM
    const clumpi_range chunk = clumpi_chunk(begin, end);
    part.begin = chunk.begin;
    part.end = chunk.end;
    part.step = 1u;
#else
    const uint teams = local_items / part.items;
    part.begin = begin + (uint)get_group_id(0) * teams + me / part.items;
    part.end = end;
    part.step = (uint)get_num_groups(0) * teams;
#endif
    return part;
}

/* ---- Elements ---- */

#if CLUMPI_ROW_PER_ITEM
#define PACK_AHEAD 1u
#else
#define PACK_AHEAD 4u
#endif

/* An object: where its row is, and its number in the class. */
typedef struct pack_object {
    __global uchar *row;
    __global uchar *columns;
    uint slot, number;
} pack_object;

/* Element e of the object `o` there and there. */
#define PACK_CELL(type, e) (*(__global type *)(o.row + (field.base + o.slot * field.stride + (e) * field.step)))
#define PACK_PLACE(type, e)                                                                       \
    (*(__global type *)(o.columns + (field.at + o.number * (ulong)field.object_bytes + (e) * field.next)))

#define PACK_COPY(type, to, from)                                                                 \
    for (uint e = 0; e < field.count; e += PACK_AHEAD) {                                                   \
        type v[PACK_AHEAD];                                                                                 \
        for (uint k = 0; k < PACK_AHEAD; k++)                                                              \
            if (e + k < field.count) v[k] = from(type, e + k);                                     \
        for (uint k = 0; k < PACK_AHEAD; k++)                                                              \
            if (e + k < field.count) to(type, e + k) = v[k];                                       \
    }

/* ---- Packing ---- */

/* Numbers of classes, and records, of the list as it is ranked; how many objects were chosen, which the list should have.
 * chosen: a word of 64 bits for each granule, from chosen[at] on, in halves. */
__kernel void clumpi_pack_rows(__global uchar *heap, uint header_at, __global const uint *chosen, ulong at,
                               __global uchar *work) {
    __local uint sum;
    clumpi_view v = clumpi_view_of(heap, header_at);
    const uint classes = v.header->class_count, granules = v.header->block_granules, end = v.header->block_end * granules;
    clumpi_range list = clumpi_list_range(&v, 1u, classes);
    __global const uint *rows = clumpi_words_at(&v, v.header->at_list_rows);
    __global const uint *index = clumpi_words_at(&v, v.header->at_list_index);
    __global const ulong *masks = (__global const ulong *)clumpi_words_at(&v, v.header->at_list_masks);
    if (get_local_id(0) == 0) sum = 0;
    CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE);
    for (uint r = list.begin + (uint)get_global_id(0); r < list.end; r += (uint)get_global_size(0)) {
        const uint g = rows[r], low = (uint)masks[r] & chosen[at + 2ul * g],
                   high = (uint)(masks[r] >> 32) & chosen[at + 2ul * g + 1ul];
        pack_records(work)[g] = (uint4)(low, high, index[r], clumpi_class_of_state(v.states[g / granules]));
    }
    uint mine = 0;
    for (uint g = (uint)get_global_id(0); g < end; g += (uint)get_global_size(0))
        mine += clumpi_popcount32(chosen[at + 2ul * g]) + clumpi_popcount32(chosen[at + 2ul * g + 1ul]);
    if (mine) atomic_add(&sum, mine);
    CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE);
    if (get_local_id(0) == 0 && sum) atomic_add(&pack_head(work)->chosen, sum);
    if (get_group_id(0) != 0) return;
    for (uint c = 1u + (uint)get_local_id(0); c <= classes + 1u; c += (uint)get_local_size(0)) {
        const uint row = clumpi_words_at(&v, v.header->at_list_begin)[c];
        pack_head(work)->numbers[c] = row < list.end ? index[row] : v.header->ranked;
    }
}

typedef struct pack_heap {
    clumpi_view v;
    clumpi_home home;
    __global const uint4 *records;
    uint end; /* granules of the heap */
    uint is_checked;
    uint left_out, dangling; /* seen by this work-item */
} pack_heap;

/* The number of the object plus 1. `record`: of the granule of the reference. What names the null row is none: what a field had that was
 * never written, in a checked heap. */
static inline uint pack_number(pack_heap *h, uint ref, uint4 record, const clumpi_pack_field field) {
    const uint slot = ref & 63u, is_member = record.w >= field.first && record.w <= field.last;
    const ulong chosen = (ulong)record.y << 32 | record.x;
    if (is_member && (chosen >> slot & 1ul)) return record.z + clumpi_rank_in_row(chosen, slot) + 1u;
    if (ref == 0) return 0;
    const uint is_live = is_member ? (uint)(clumpi_row_bits(&h->v, ref >> 6) >> slot) & 1u : 0u;
    h->left_out += is_live;
    h->dangling += !is_live && (ref >> 6 || ref == CLUMPI_STALE_REF);
    return 0;
}

/* A few references, whose records are read before the first is looked at. */
static inline void pack_refs(pack_heap *h, const pack_object o, const clumpi_pack_field field, uint from) {
    uint v[PACK_AHEAD];
    uint4 records[PACK_AHEAD];
    for (uint k = 0; k < PACK_AHEAD; k++) v[k] = from + k < field.count ? PACK_CELL(const uint, from + k) : 0u;
    if (h->is_checked)
        for (uint k = 0; k < PACK_AHEAD; k++) v[k] = clumpi_bare(h->home, v[k]);
    for (uint k = 0; k < PACK_AHEAD; k++) records[k] = h->records[v[k] >> 6 < h->end ? v[k] >> 6 : 0u];
    for (uint k = 0; k < PACK_AHEAD; k++) v[k] = pack_number(h, v[k], records[k], field);
    for (uint k = 0; k < PACK_AHEAD; k++)
        if (from + k < field.count) PACK_PLACE(uint, from + k) = v[k];
}

/* The objects of a row that this work-item has. `first`: number of the row's first. */
#define PACK_FOR_EACH(body)                                                                       \
    for (uint slot = part.me; slot < 64u; slot += part.items) {                                    \
        if (!(mask >> slot & 1ul)) continue;                                                       \
        const pack_object o = {row, columns, slot, first + clumpi_rank_in_row(mask, slot)};        \
        body                                                                                       \
    }

static inline void pack_row(pack_heap *h, const pack_part part, __global uchar *row, __global uchar *columns, ulong mask,
                            uint first, const clumpi_pack_field field) {
    if (field.first) {
        PACK_FOR_EACH(for (uint e = 0; e < field.count; e += PACK_AHEAD) pack_refs(h, o, field, e);)
    } else if (field.width == 4u) {
        PACK_FOR_EACH(PACK_COPY(uint, PACK_PLACE, PACK_CELL))
    } else if (field.width == 8u) {
        PACK_FOR_EACH(PACK_COPY(ulong, PACK_PLACE, PACK_CELL))
    } else if (field.width == 16u) {
        PACK_FOR_EACH(PACK_COPY(uint4, PACK_PLACE, PACK_CELL))
    } else if (field.width == 2u) {
        PACK_FOR_EACH(PACK_COPY(ushort, PACK_PLACE, PACK_CELL))
    } else {
        PACK_FOR_EACH(PACK_COPY(uchar, PACK_PLACE, PACK_CELL))
    }
}

/* All fields of all chosen objects, and their references into `refs`, unless that is null. */
__kernel void clumpi_pack_objects(__global uchar *heap, uint header_at, __global const uchar *tables,
                                  clumpi_pack_counts n, __global uchar *work, __global uchar *columns,
                                  __global uint *refs) {
    pack_heap h;
    h.v = clumpi_view_of(heap, header_at);
    h.home = clumpi_home_of(&h.v);
    h.records = pack_records(work);
    h.end = h.v.header->block_end * h.v.header->block_granules;
    h.is_checked = h.v.header->at_checked != 0;
    h.left_out = h.dangling = 0;
    const clumpi_memory memory = clumpi_memory_of(heap, h.v.header);
    __global const uint *rows = clumpi_words_at(&h.v, h.v.header->at_list_rows);
    __global const uint *begin = clumpi_words_at(&h.v, h.v.header->at_list_begin);
    __global const clumpi_pack_class *classes = pack_classes(tables);
    __global const clumpi_pack_end *ends = pack_ends(tables, n);
    for (uint i = (uint)get_global_id(0); i < n.ends * CLUMPI_PACK_ALIGN; i += (uint)get_global_size(0))
        if (i % CLUMPI_PACK_ALIGN < ends[i / CLUMPI_PACK_ALIGN].bytes)
            columns[ends[i / CLUMPI_PACK_ALIGN].at + i % CLUMPI_PACK_ALIGN] = 0;
    const pack_part part = pack_part_of(begin[classes[0].class_id], begin[classes[n.classes - 1u].class_id + 1u]);
    if (part.begin >= part.end) return;
    uint k = 0, class_end = begin[classes[0].class_id + 1u];
    clumpi_pack_class c = classes[0];
    /* The next row's granule and record are read while this one is copied. */
    const uint last = part.end - 1u;
    uint granule = rows[part.begin], next_granule = rows[min(part.begin + part.step, last)];
    uint4 record = h.records[granule];
    for (uint r = part.begin; r < part.end; r += part.step) {
        const uint4 next_record = h.records[next_granule];
        const uint after_granule = rows[min(r + 2u * part.step, last)];
        const ulong mask = (ulong)record.y << 32 | record.x;
        while (r >= class_end && k + 1u < n.classes) { /* bound: a class each time */
            c = classes[++k];
            class_end = begin[c.class_id + 1u];
        }
        const uint first = record.z - c.first;
        __global uchar *row = clumpi_granule_at(memory, granule);
        for (uint f = c.begin; mask && f < c.end; f++)
            pack_row(&h, part, row, columns, mask, first, pack_fields(tables, n)[f]);
        if (refs)
            PACK_FOR_EACH(const uint ref = granule << 6 | slot;
                          refs[c.first + o.number] = h.is_checked ? clumpi_named(h.home, ref) : ref;)
        granule = next_granule;
        next_granule = after_granule;
        record = next_record;
    }
    if (h.left_out) atomic_add(&pack_head(work)->left_out, h.left_out);
    if (h.dangling) atomic_add(&pack_head(work)->dangling, h.dangling);
}

/* ---- Unpacking ---- */

/* After a do-new of the objects of class `c`: their references and places. What was not made has reference 0, and is counted.
 * chosen: null, or gets their bits, two words for each granule from chosen[at] on. */
__kernel void clumpi_pack_made(__global uchar *heap, uint header_at, clumpi_pack_class c, __global uint *refs,
                               __global uchar *work, __global uint *chosen, ulong at) {
    clumpi_view v = clumpi_view_of(heap, header_at);
    __global const uint *rows = clumpi_words_at(&v, v.header->at_list_rows);
    __global const uint *index = clumpi_words_at(&v, v.header->at_list_index);
    __global const ulong *masks = (__global const ulong *)clumpi_words_at(&v, v.header->at_list_masks);
    const uint made = min(v.header->new_objects, c.count);
    const pack_part part = pack_part_of(0, v.header->new_rows);
    for (uint r = part.begin; r < part.end; r += part.step) {
        const ulong mask = masks[r];
        const uint number = index[r], ref = rows[r] << 6;
        for (uint slot = part.me; slot < 64u; slot += part.items)
            if (number >= c.sure && (mask >> slot & 1ul))
                refs[c.loose + number - c.sure + clumpi_rank_in_row(mask, slot)] = ref | slot;
        if (part.me != 0) continue;
        /* From slot 0 on without a hole, and no other row has one of these 64 objects. */
        const uint objects = clumpi_popcount64(mask),
                   is_whole = number % 64u == 0 &&
                              (objects == 64u || ((mask & (mask + 1ul)) == 0 && number + objects == c.count));
        if (is_whole) pack_places(work)[c.places + number / 64u] = ref;
        else if (number < c.sure) atomic_add(&pack_head(work)->unmade, objects);
        if (!chosen) continue;
        chosen[at + 2ul * rows[r]] |= (uint)mask;
        chosen[at + 2ul * rows[r] + 1ul] |= (uint)(mask >> 32);
    }
    for (uint i = max(made, c.sure) + (uint)get_global_id(0); i < c.count; i += (uint)get_global_size(0))
        refs[c.loose + i - c.sure] = 0;
    if (get_global_id(0) == 0 && made < c.count) atomic_add(&pack_head(work)->unmade, c.count - made);
}

typedef struct unpack_extract {
    clumpi_home home; /* that the objects come into */
    clumpi_memory memory;
    __global const uint *refs, *places;
    __global const clumpi_pack_class *classes;
    clumpi_pack_counts n;
    uint is_checked;
    uint no_object, no_member; /* seen by this work-item */
} unpack_extract;

/* The class that has a number: the last that does not begin above it. */
static inline uint unpack_class_of(const unpack_extract *x, uint number) {
    uint k = 0;
    for (uint step = 1u << (31u - clz(x->n.classes)); step; step >>= 1)
        if (step < x->n.classes - k && x->classes[k + step].first <= number) k += step;
    return k;
}

/* A number plus 1 becomes a reference, plain. Those that no object has, or one of another class than the field's, become null. */
static inline uint unpack_ref(unpack_extract *x, uint word, const clumpi_pack_field field) {
    if (word == 0) return 0;
    const uint number = word - 1u;
    if (number >= x->n.objects) {
        x->no_object++;
        return 0;
    }
    uint is_member = number >= field.from && number < field.to, k = field.target;
    if (is_member && k == CLUMPI_PACK_SEVERAL) {
        k = unpack_class_of(x, number);
        is_member = x->classes[k].class_id >= field.first && x->classes[k].class_id <= field.last;
    }
    if (!is_member) {
        x->no_member++;
        return 0;
    }
    __global const clumpi_pack_class *c = x->classes + k;
    const uint in_class = number - c->first, place = x->places[c->places + in_class / 64u];
    return place ? place + in_class % 64u : x->refs[c->loose + in_class - c->sure];
}

/* 64 objects of a class, or what is left of it. */
typedef struct unpack_unit {
    uint place;
    uint number, loose, count; /* of the first one, in the class; its entry in `refs`, without a place; how many */
} unpack_unit;

static inline pack_object unpack_object(const unpack_extract *x, __global uchar *columns, const unpack_unit unit, uint i) {
    const uint ref = unit.place ? unit.place + i : x->refs[unit.loose + i];
    const pack_object o = {clumpi_granule_at(x->memory, ref >> 6), columns, ref & 63u, unit.number + i};
    return o;
}

static inline void unpack_refs(unpack_extract *x, const pack_object o, const clumpi_pack_field field, uint from) {
    uint v[PACK_AHEAD];
    for (uint k = 0; k < PACK_AHEAD; k++) v[k] = from + k < field.count ? PACK_PLACE(const uint, from + k) : 0u;
    for (uint k = 0; k < PACK_AHEAD; k++) v[k] = unpack_ref(x, v[k], field);
    if (x->is_checked)
        for (uint k = 0; k < PACK_AHEAD; k++) v[k] = clumpi_named(x->home, v[k]);
    for (uint k = 0; k < PACK_AHEAD; k++)
        if (from + k < field.count) PACK_CELL(uint, from + k) = v[k];
}

#define UNPACK_FOR_EACH(body)                                                                     \
    for (uint i = part.me; i < unit.count; i += part.items) {                                      \
        const pack_object o = unpack_object(x, columns, unit, i);                                  \
        body                                                                                       \
    }

static inline void unpack_row(unpack_extract *x, const pack_part part, __global uchar *columns, const unpack_unit unit,
                              const clumpi_pack_field field) {
    if (field.first) {
        UNPACK_FOR_EACH(for (uint e = 0; e < field.count; e += PACK_AHEAD) unpack_refs(x, o, field, e);)
    } else if (field.width == 4u) {
        UNPACK_FOR_EACH(PACK_COPY(uint, PACK_CELL, PACK_PLACE))
    } else if (field.width == 8u) {
        UNPACK_FOR_EACH(PACK_COPY(ulong, PACK_CELL, PACK_PLACE))
    } else if (field.width == 16u) {
        UNPACK_FOR_EACH(PACK_COPY(uint4, PACK_CELL, PACK_PLACE))
    } else if (field.width == 2u) {
        UNPACK_FOR_EACH(PACK_COPY(ushort, PACK_CELL, PACK_PLACE))
    } else {
        UNPACK_FOR_EACH(PACK_COPY(uchar, PACK_CELL, PACK_PLACE))
    }
}

/* All fields of all objects. If some could not be made as they should, nothing: the host undoes the others. */
__kernel void clumpi_unpack_objects(__global uchar *heap, uint header_at, __global const uchar *tables,
                                    clumpi_pack_counts n, __global uchar *work, __global uchar *columns,
                                    __global const uint *refs, uint places) {
    unpack_extract x;
    const clumpi_view v = clumpi_view_of(heap, header_at);
    x.home = clumpi_home_of(&v);
    x.memory = clumpi_memory_of(heap, v.header);
    x.refs = refs;
    x.places = pack_places(work);
    x.classes = pack_classes(tables);
    x.n = n;
    x.is_checked = v.header->at_checked != 0;
    x.no_object = x.no_member = 0;
    if (pack_head(work)->unmade) return;
    const pack_part part = pack_part_of(0, places);
    uint k = 0;
    clumpi_pack_class c = x.classes[0];
    for (uint p = part.begin; p < part.end; p += part.step) {
        while (k + 1u < n.classes && p >= x.classes[k + 1u].places) c = x.classes[++k]; /* bound: a class each time */
        const uint number = (p - c.places) * 64u;
        const unpack_unit unit = {x.places[p], number, c.loose + number - c.sure, min(64u, c.count - number)};
        for (uint f = c.begin; f < c.end; f++) unpack_row(&x, part, columns, unit, pack_fields(tables, n)[f]);
    }
    if (x.no_object) atomic_add(&pack_head(work)->no_object, x.no_object);
    if (x.no_member) atomic_add(&pack_head(work)->no_member, x.no_member);
}
