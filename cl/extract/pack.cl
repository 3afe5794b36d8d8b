/* Chosen objects into the columns of an extract, and the objects of an extract into a heap: all
 * fields of all objects in one launch each, references rewritten as they are copied.
 *
 * Packing. The chosen objects of the list of rows are ranked, so a row knows the number of its
 * first one. A reference asks for that by the granule at which the row starts, and most rows are
 * chosen whole, so they are told by one word that a cache has soon:
 *
 *   word    │ number of the first + 1, if all 64 objects are chosen │ PACK_PARTLY: see the record │ 0: no row starts here
 *   record  │ chosen objects: 64 bits │ number of the first of them │ class │
 *
 * A class is a range of numbers, so a number tells whether the reference is to an object of the
 * field's class.
 *
 * Unpacking. Do-news have made the objects. Most rows were filled from the first slot to
 * the last, with objects of consecutive numbers. So each 64 objects of a class, counted from its
 * first one, have a *place*: the reference of the first, if that is in slot 0 and the others
 * follow; else 0, and `refs` tells, which has references by number. Of objects that come into free
 * blocks it has none, unless the caller wants all of them.
 *
 * Work-items take objects in *lots*, all of one class, and copy a field of all objects of a lot
 * before the next field. On a GPU 64 work-items are a team and take two rows at a time, or twice 64
 * objects: a slot of each row is a work-item's. What is read of both is read before the first is
 * written, since a load that waited for a store before it would leave the memory idle. With four
 * rows a work-item needs so many registers that fewer of them fit. On a CPU a work-item takes a row
 * alone.
 *
 * Only numbers and tables tell where anything goes, so no work-item waits for another. Read first:
 * cl/extract/layout.h, cl/heap/fields.cl.
 */
#include "cl/core/alloc.clh"
#include "cl/core/poison.clh"
#include "cl/core/scan.clh"
#include "cl/extract/layout.h"

/* ---- Tables ---- */

static inline __global const clumpi_pack_class *pack_classes(__global const uchar *work,
                                                             clumpi_pack_counts n) {
    return (__global const clumpi_pack_class *)(work + n.tables_at);
}

static inline __global const clumpi_pack_field *pack_fields(__global const uchar *work,
                                                            clumpi_pack_counts n) {
    return (__global const clumpi_pack_field *)(pack_classes(work, n) + n.classes);
}

static inline __global const clumpi_pack_end *pack_ends(__global const uchar *work,
                                                        clumpi_pack_counts n) {
    return (__global const clumpi_pack_end *)(pack_fields(work, n) + n.fields);
}

static inline __global clumpi_pack_head *pack_head(__global uchar *work) {
    return (__global clumpi_pack_head *)work;
}

#define PACK_PARTLY 0xffffffffu
static inline __global uint *pack_words(__global uchar *work) {
    return (__global uint *)(pack_head(work) + 1);
}

static inline __global uint4 *pack_records(__global uchar *work, clumpi_pack_counts n) {
    return (__global uint4 *)(work + n.records_at);
}

static inline __global uint *pack_places(__global uchar *work) {
    return (__global uint *)(pack_head(work) + 1);
}

static inline __global uint *pack_loose(__global uchar *work, clumpi_pack_counts n) {
    return (__global uint *)(work + n.refs_at);
}

/* ---- Lots ---- */

#if CLUMPI_ROW_PER_ITEM
#define PACK_ROWS 1u /* of a lot */
#define PACK_LOT 64u /* objects of it that a work-item has, at most */
#else
#define PACK_ROWS 2u
#define PACK_LOT 2u
#endif

/* Work-items that take lots together. */
typedef struct pack_team {
    uint me, items;     /* in the team; how many there are */
    uint number, count; /* of the team; of all teams */
} pack_team;

static inline pack_team pack_team_of(void) {
    pack_team team;
#if CLUMPI_ROW_PER_ITEM
    team.me = 0;
    team.items = 1u;
    team.number = (uint)get_global_id(0);
    team.count = (uint)get_global_size(0);
#else /* the host launches groups of a multiple of 64 */
    const uint me = (uint)get_local_id(0), teams = (uint)get_local_size(0) / 64u;
    team.me = me % 64u;
    team.items = 64u;
    team.number = (uint)get_group_id(0) * teams + me / 64u;
    team.count = (uint)get_num_groups(0) * teams;
#endif
    return team;
}

/* A team's lots of a class: begin, begin + step, ... below end. */
typedef struct pack_part {
    uint begin, end, step;
} pack_part;

/* Of so many rows. A class goes on with the team after the one that took the last lot of the class
 * before it; dealt: lots of all classes before. On a CPU neighbouring rows go to one work-item. */
static inline pack_part pack_part_of(pack_team team, uint rows, uint *dealt) {
    const uint lots = rows / PACK_ROWS + (rows % PACK_ROWS != 0),
               turn = (team.number + team.count - *dealt % team.count) % team.count;
    pack_part part;
    *dealt += lots;
#if CLUMPI_ROW_PER_ITEM
    const uint size = lots / team.count + (lots % team.count != 0);
    part.begin = min(lots, turn * size);
    part.end = min(lots, part.begin + size);
    part.step = 1u;
#else
    part.begin = turn;
    part.end = lots;
    part.step = team.count;
#endif
    return part;
}

/* Objects of a lot that this work-item has. On a CPU it has the first `here` ones; on a GPU bit j
 * of `here` tells of number j. */
typedef struct pack_lot {
    uint here;
    __global uchar *row[PACK_LOT];
    uint ref[PACK_LOT], number[PACK_LOT]; /* plain; in the class */
} pack_lot;

#if CLUMPI_ROW_PER_ITEM
#define PACK_FOR_EACH(j) for (uint j = 0; j < l->here; j++) /* bound: PACK_LOT */
#else
#define PACK_FOR_EACH(j)                                                                           \
    for (uint j = 0; j < PACK_LOT; j++) /* bound: PACK_LOT */                                      \
        if (l->here >> j & 1u)
#endif

static inline void pack_lot_add(pack_lot *l, uint j, __global uchar *row, uint ref, uint number) {
#if CLUMPI_ROW_PER_ITEM
    j = l->here++;
#else
    l->here |= 1u << j;
#endif
    l->row[j] = row;
    l->ref[j] = ref;
    l->number[j] = number;
}

/* ---- Elements ---- */

/* Element e of object j of the lot, there and there. */
#define PACK_CELL(type, j, e)                                                                      \
    (*(__global type *)(l->row[j] +                                                                \
                        (field.base + (l->ref[j] & 63u) * field.stride + (e)*field.step)))
#define PACK_PLACE(type, j, e)                                                                     \
    (*(__global type *)(columns +                                                                  \
                        (field.at + l->number[j] * (ulong)field.object_bytes + (e)*field.next)))

#define PACK_COPY(type, to, from)                                                                  \
    for (uint e = 0; e < field.count; e++) {                                                       \
        type v[PACK_LOT];                                                                          \
        PACK_FOR_EACH(j) v[j] = from(type, j, e);                                                  \
        PACK_FOR_EACH(j) to(type, j, e) = v[j];                                                    \
    }

/* Elements that are no references. */
#define PACK_COPY_FIELD(to, from)                                                                  \
    if (field.width == 4u)                                                                         \
        PACK_COPY(uint, to, from)                                                                  \
    else if (field.width == 8u)                                                                    \
        PACK_COPY(ulong, to, from)                                                                 \
    else if (field.width == 16u)                                                                   \
        PACK_COPY(uint4, to, from)                                                                 \
    else if (field.width == 2u)                                                                    \
        PACK_COPY(ushort, to, from)                                                                \
    else                                                                                           \
        PACK_COPY(uchar, to, from)

/* ---- Packing ---- */

static inline ulong pack_chosen(__global const uint *chosen, ulong at, uint granule) {
    at += 2ul * granule;
    return (ulong)chosen[at + 1ul] << 32 | chosen[at];
}

/* Numbers of classes, words and records, of the list as it is ranked; how many objects were chosen,
 * which the list should have. chosen: a word of 64 bits for each granule, from chosen[at] on, in
 * halves. */
__kernel void clumpi_pack_rows(__global uchar *heap, uint header_at, __global const uint *chosen,
                               ulong at, clumpi_pack_counts n, __global uchar *work) {
    __local uint sum;
    clumpi_view v = clumpi_view_of(heap, header_at);
    const uint classes = v.header->class_count, granules = v.header->block_granules,
               end = v.header->block_end * granules;
    clumpi_range list = clumpi_list_range(&v, 1u, classes);
    __global const uint *rows = clumpi_words_at(&v, v.header->at_list_rows);
    __global const uint *index = clumpi_words_at(&v, v.header->at_list_index);
    if (get_local_id(0) == 0) sum = 0;
    CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE);
    for (uint r = list.begin + (uint)get_global_id(0); r < list.end;
         r += (uint)get_global_size(0)) {
        const uint g = rows[r], first = index[r];
        const ulong mask = pack_chosen(chosen, at, g);
        pack_words(work)[g] = mask == ~0ul ? first + 1u : PACK_PARTLY;
        if (mask != ~0ul)
            pack_records(work, n)[g] = (uint4)((uint)mask, (uint)(mask >> 32), first,
                                               clumpi_class_of_state(v.states[g / granules]));
    }
    uint mine = 0;
    for (uint g = (uint)get_global_id(0); g < end; g += (uint)get_global_size(0))
        mine +=
            clumpi_popcount32(chosen[at + 2ul * g]) + clumpi_popcount32(chosen[at + 2ul * g + 1ul]);
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
    __global uchar *heap;
    uint header_at;
    __global const uint *words;
    __global const uint4 *records;
    uint end; /* granules of the heap */
    uint is_checked;
    uint left_out, dangling; /* seen by this work-item */
} pack_heap;

static inline pack_heap pack_heap_of(__global uchar *heap, uint header_at, clumpi_pack_counts n,
                                     __global uchar *work) {
    pack_heap h;
    const clumpi_view v = clumpi_view_of(heap, header_at);
    h.heap = heap;
    h.header_at = header_at;
    h.words = pack_words(work);
    h.records = pack_records(work, n);
    h.end = v.header->block_end * v.header->block_granules;
    h.is_checked = v.header->at_checked != 0;
    h.left_out = h.dangling = 0;
    return h;
}

static inline void pack_heap_tell(const pack_heap *h, __global uchar *work) {
    if (h->left_out) atomic_add(&pack_head(work)->left_out, h->left_out);
    if (h->dangling) atomic_add(&pack_head(work)->dangling, h->dangling);
}

/* A reference to an object without a number. */
static inline void pack_count(pack_heap *h, uint is_live) {
    h->left_out += is_live;
    h->dangling += !is_live;
}

/* A reference to what has no row, or a row of a class that is not the field's. */
static inline void pack_count_strange(pack_heap *h, uint ref, const clumpi_pack_field field) {
    if (ref == 0 || ref == CLUMPI_FRESH_REF) return;
    /* Looked up again, since it is seldom needed and would take registers. */
    const clumpi_view v = clumpi_view_of(h->heap, h->header_at);
    const uint is_row =
        clumpi_place_fits(clumpi_place_of(clumpi_home_of(&v), ref >> 6), field.first, field.last);
    pack_count(h, is_row && (clumpi_row_bits(&v, ref >> 6) >> (ref & 63u) & 1ul));
}

/* Of a row of which some objects are chosen. */
static inline uint pack_number_partly(pack_heap *h, uint ref, const clumpi_pack_field field) {
    const uint4 record = h->records[ref >> 6];
    const ulong chosen = (ulong)record.y << 32 | record.x;
    if (record.w < field.first || record.w > field.last) {
        pack_count_strange(h, ref, field);
        return 0;
    }
    if (chosen >> (ref & 63u) & 1ul) return record.z + clumpi_rank_in_row(chosen, ref & 63u) + 1u;
    const clumpi_view v = clumpi_view_of(h->heap, h->header_at);
    pack_count(h, (uint)(clumpi_row_bits(&v, ref >> 6) >> (ref & 63u)) & 1u);
    return 0;
}

/* The number of the object plus 1, or 0. `word`: of the granule of the reference. */
static inline uint pack_number(pack_heap *h, uint ref, uint word, const clumpi_pack_field field) {
    const uint number = word - 1u + (ref & 63u);
    if (word == PACK_PARTLY) return pack_number_partly(h, ref, field);
    if (word && number >= field.from && number < field.to) return number + 1u;
    pack_count_strange(h, ref, field);
    return 0;
}

/* Their words are read before the first is looked at. */
static inline void pack_refs(pack_heap *h, const pack_lot *l, __global uchar *columns,
                             const clumpi_pack_field field) {
    for (uint e = 0; e < field.count; e++) {
        uint v[PACK_LOT];
        uint words[PACK_LOT];
        PACK_FOR_EACH(j) v[j] = PACK_CELL(const uint, j, e);
        if (h->is_checked)
            PACK_FOR_EACH(j) v[j] = clumpi_bare(clumpi_home_in(h->heap, h->header_at), v[j]);
        /* granule 0 has none */
        PACK_FOR_EACH(j) words[j] = h->words[v[j] >> 6 < h->end ? v[j] >> 6 : 0u];
        PACK_FOR_EACH(j) PACK_PLACE(uint, j, e) = pack_number(h, v[j], words[j], field);
    }
}

static inline void pack_field(pack_heap *h, const pack_lot *l, __global uchar *columns,
                              const clumpi_pack_field field) {
    if (field.first)
        pack_refs(h, l, columns, field);
    else
        PACK_COPY_FIELD(PACK_PLACE, PACK_CELL)
}

/* The chosen objects of rows of the list, of a class whose last row is before `end`. */
static inline void pack_take(const clumpi_memory memory, __global const uint *rows,
                             __global const uint *index, __global const uint *chosen, ulong at,
                             const pack_team team, uint begin, uint end, uint first, pack_lot *l) {
    l->here = 0;
    for (uint j = 0; j < PACK_ROWS; j++) {
        const uint r = min(begin + j, end - 1u), granule = rows[r], number = index[r] - first;
        const ulong mask = begin + j < end ? pack_chosen(chosen, at, granule) : 0ul;
        __global uchar *row = clumpi_granule_at(memory, granule);
        for (uint slot = team.me; slot < 64u; slot += team.items)
            if (mask >> slot & 1ul)
                pack_lot_add(l, j, row, granule << 6 | slot,
                             number + clumpi_rank_in_row(mask, slot));
    }
}

/* All fields of all chosen objects, and their references into `refs`, unless that is null. */
__kernel void clumpi_pack_objects(__global uchar *heap, uint header_at, __global const uint *chosen,
                                  ulong at, clumpi_pack_counts n, __global uchar *work,
                                  __global uchar *columns, __global uint *refs) {
    pack_heap h = pack_heap_of(heap, header_at, n, work);
    const clumpi_view v = clumpi_view_of(heap, header_at);
    const clumpi_memory memory = clumpi_memory_of(heap, v.header);
    __global const uint *rows = clumpi_words_at(&v, v.header->at_list_rows);
    __global const uint *index = clumpi_words_at(&v, v.header->at_list_index);
    __global const uint *begin = clumpi_words_at(&v, v.header->at_list_begin);
    __global const clumpi_pack_end *ends = pack_ends(work, n);
    for (uint i = (uint)get_global_id(0); i < n.ends * CLUMPI_PACK_ALIGN;
         i += (uint)get_global_size(0))
        if (i % CLUMPI_PACK_ALIGN < ends[i / CLUMPI_PACK_ALIGN].bytes)
            columns[ends[i / CLUMPI_PACK_ALIGN].at + i % CLUMPI_PACK_ALIGN] = 0;
    const pack_team team = pack_team_of();
    uint dealt = 0;
    for (uint k = 0; k < n.classes; k++) {
        const clumpi_pack_class c = pack_classes(work, n)[k];
        const uint first_row = begin[c.class_id], row_end = begin[c.class_id + 1u];
        const pack_part part = pack_part_of(team, row_end - first_row, &dealt);
        for (uint i = part.begin; i < part.end; i += part.step) {
            pack_lot lot;
            const pack_lot *l = &lot;
            pack_take(memory, rows, index, chosen, at, team, first_row + i * PACK_ROWS, row_end,
                      c.first, &lot);
            if (!lot.here) continue;
            for (uint f = c.begin; f < c.end; f++)
                pack_field(&h, l, columns, pack_fields(work, n)[f]);
            if (!refs) continue;
            PACK_FOR_EACH(j)
            refs[c.first + lot.number[j]] =
                h.is_checked ? clumpi_named(clumpi_home_in(heap, header_at), lot.ref[j])
                             : lot.ref[j];
        }
    }
    pack_heap_tell(&h, work);
}

/* References of `count` elements of arrays, from word `at` of the extract on. */
__kernel void clumpi_pack_elements(__global uchar *heap, uint header_at, clumpi_pack_counts n,
                                   __global uchar *work, __global uint *columns, ulong at,
                                   uint count, clumpi_pack_field field) {
    pack_heap h = pack_heap_of(heap, header_at, n, work);
    for (uint i = (uint)get_global_id(0); i < count; i += (uint)get_global_size(0)) {
        uint ref = columns[at + i];
        if (h.is_checked) ref = clumpi_bare(clumpi_home_in(heap, header_at), ref);
        columns[at + i] = pack_number(&h, ref, h.words[ref >> 6 < h.end ? ref >> 6 : 0u], field);
    }
    pack_heap_tell(&h, work);
}

/* ---- Unpacking ---- */

/* After a do-new of the objects of class `c`: their places, and the references of those beyond the
 * sure ones. What was not made has reference 0, and is counted. chosen: null, or gets their bits,
 * two words for each granule from chosen[at] on. */
__kernel void clumpi_pack_made(__global uchar *heap, uint header_at, clumpi_pack_class c,
                               clumpi_pack_counts n, __global uchar *work, __global uint *chosen,
                               ulong at) {
    clumpi_view v = clumpi_view_of(heap, header_at);
    __global const uint *rows = clumpi_words_at(&v, v.header->at_list_rows);
    __global const uint *index = clumpi_words_at(&v, v.header->at_list_index);
    __global const ulong *masks =
        (__global const ulong *)clumpi_words_at(&v, v.header->at_list_masks);
    __global uint *refs = pack_loose(work, n);
    const uint made = min(v.header->new_objects, c.count), new_rows = v.header->new_rows;
    const pack_team team = pack_team_of();
    for (uint r = team.number; r < new_rows; r += team.count) {
        const ulong mask = masks[r];
        const uint number = index[r], ref = rows[r] << 6;
        for (uint slot = team.me; slot < 64u; slot += team.items)
            if (number >= c.sure && (mask >> slot & 1ul))
                refs[c.loose + number - c.sure + clumpi_rank_in_row(mask, slot)] = ref | slot;
        if (team.me != 0) continue;
        /* From slot 0 on without a hole, and no other row has one of these 64 objects. */
        const uint objects = clumpi_popcount64(mask),
                   is_whole = number % 64u == 0 &&
                              (objects == 64u ||
                               ((mask & (mask + 1ul)) == 0 && number + objects == c.count));
        if (is_whole)
            pack_places(work)[c.places + number / 64u] = ref;
        else if (number < c.sure)
            atomic_add(&pack_head(work)->unmade, objects);
        if (!chosen) continue;
        chosen[at + 2ul * rows[r]] |= (uint)mask;
        chosen[at + 2ul * rows[r] + 1ul] |= (uint)(mask >> 32);
    }
    for (uint i = max(made, c.sure) + (uint)get_global_id(0); i < c.count;
         i += (uint)get_global_size(0))
        refs[c.loose + i - c.sure] = 0;
    if (get_global_id(0) == 0 && made < c.count)
        atomic_add(&pack_head(work)->unmade, c.count - made);
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

static inline unpack_extract unpack_extract_of(__global uchar *heap, uint header_at,
                                               clumpi_pack_counts n, __global uchar *work) {
    unpack_extract x;
    const clumpi_view v = clumpi_view_of(heap, header_at);
    x.home = clumpi_home_of(&v);
    x.memory = clumpi_memory_of(heap, v.header);
    x.refs = pack_loose(work, n);
    x.places = pack_places(work);
    x.classes = pack_classes(work, n);
    x.n = n;
    x.is_checked = v.header->at_checked != 0;
    x.no_object = x.no_member = 0;
    return x;
}

static inline void unpack_tell(const unpack_extract *x, __global uchar *work) {
    if (x->no_object) atomic_add(&pack_head(work)->no_object, x->no_object);
    if (x->no_member) atomic_add(&pack_head(work)->no_member, x->no_member);
}

/* The class that has a number: the last that does not begin above it. */
static inline uint unpack_class_of(const unpack_extract *x, uint number) {
    uint k = 0;
    for (uint step = 1u << (31u - clz(x->n.classes)); step; step >>= 1)
        if (step < x->n.classes - k && x->classes[k + step].first <= number) k += step;
    return k;
}

/* What tells where the objects of a class are. */
typedef struct unpack_target {
    /* numbers of its first object, place, and entry in `refs`, modulo 2^32 as if all had one */
    uint first, places, loose;
} unpack_target;

static inline unpack_target unpack_target_of(const clumpi_pack_class c) {
    unpack_target t;
    t.first = c.first;
    t.places = c.places;
    t.loose = c.loose - c.sure;
    return t;
}

static inline uint unpack_find(const unpack_extract *x, const unpack_target t, uint number) {
    const uint in_class = number - t.first, place = x->places[t.places + in_class / 64u];
    return place ? place + in_class % 64u : x->refs[t.loose + in_class];
}

/* A number plus 1 becomes a reference, plain. Those that no object has, or one of another class
 * than the field's, become null. */
static inline uint unpack_ref(unpack_extract *x, uint word, const clumpi_pack_field field,
                              const unpack_target target) {
    const uint number = word - 1u;
    if (word == 0) return 0;
    if (number >= x->n.objects) {
        x->no_object++;
        return 0;
    }
    if (number < field.from || number >= field.to) {
        x->no_member++;
        return 0;
    }
    if (field.target != CLUMPI_PACK_SEVERAL) return unpack_find(x, target, number);
    const clumpi_pack_class c = x->classes[unpack_class_of(x, number)];
    if (c.class_id >= field.first && c.class_id <= field.last)
        return unpack_find(x, unpack_target_of(c), number);
    x->no_member++;
    return 0;
}

static inline void unpack_refs(unpack_extract *x, const pack_lot *l, __global uchar *columns,
                               const clumpi_pack_field field) {
    const unpack_target target =
        unpack_target_of(x->classes[field.target == CLUMPI_PACK_SEVERAL ? 0u : field.target]);
    for (uint e = 0; e < field.count; e++) {
        uint v[PACK_LOT];
        PACK_FOR_EACH(j) v[j] = PACK_PLACE(const uint, j, e);
        PACK_FOR_EACH(j) v[j] = unpack_ref(x, v[j], field, target);
        if (x->is_checked) PACK_FOR_EACH(j) v[j] = clumpi_named(x->home, v[j]);
        PACK_FOR_EACH(j) PACK_CELL(uint, j, e) = v[j];
    }
}

static inline void unpack_field(unpack_extract *x, const pack_lot *l, __global uchar *columns,
                                const clumpi_pack_field field) {
    if (field.first)
        unpack_refs(x, l, columns, field);
    else
        PACK_COPY_FIELD(PACK_CELL, PACK_PLACE)
}

/* Of a class, 64 objects from number `unit` * 64 on, then the next ones. */
static inline void unpack_take(const unpack_extract *x, const pack_team team,
                               const clumpi_pack_class c, uint unit, pack_lot *l) {
    l->here = 0;
    for (uint j = 0; j < PACK_ROWS; j++) {
        const uint begin = (unit + j) * 64u,
                   count = begin < c.count ? min(64u, c.count - begin) : 0u,
                   place = count ? x->places[c.places + unit + j] : 0u;
        for (uint i = team.me; i < count; i += team.items) {
            const uint ref = place ? place + i : x->refs[c.loose + begin - c.sure + i];
            pack_lot_add(l, j, clumpi_granule_at(x->memory, ref >> 6), ref, begin + i);
        }
    }
}

/* All fields of all objects. If some could not be made as they should, nothing: the host undoes the
 * others. */
__kernel void clumpi_unpack_objects(__global uchar *heap, uint header_at, clumpi_pack_counts n,
                                    __global uchar *work, __global uchar *columns) {
    unpack_extract x = unpack_extract_of(heap, header_at, n, work);
    if (pack_head(work)->unmade) return;
    const pack_team team = pack_team_of();
    uint dealt = 0;
    for (uint k = 0; k < n.classes; k++) {
        const clumpi_pack_class c = x.classes[k];
        const pack_part part = pack_part_of(team, c.count / 64u + (c.count % 64u != 0), &dealt);
        for (uint i = part.begin; i < part.end; i += part.step) {
            pack_lot lot;
            unpack_take(&x, team, c, i * PACK_ROWS, &lot);
            for (uint f = c.begin; f < c.end; f++)
                unpack_field(&x, &lot, columns, pack_fields(work, n)[f]);
        }
    }
    unpack_tell(&x, work);
}

/* References of `count` elements of arrays, from word `at` of the extract on. */
__kernel void clumpi_unpack_elements(__global uchar *heap, uint header_at, clumpi_pack_counts n,
                                     __global uchar *work, __global const uint *columns, ulong at,
                                     uint count, clumpi_pack_field field, __global uint *refs) {
    unpack_extract x = unpack_extract_of(heap, header_at, n, work);
    const unpack_target target =
        unpack_target_of(x.classes[field.target == CLUMPI_PACK_SEVERAL ? 0u : field.target]);
    for (uint i = (uint)get_global_id(0); i < count; i += (uint)get_global_size(0)) {
        const uint ref = unpack_ref(&x, columns[at + i], field, target);
        refs[i] = x.is_checked ? clumpi_named(x.home, ref) : ref;
    }
    unpack_tell(&x, work);
}
