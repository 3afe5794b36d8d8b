/* References to moved objects, inside the heap and outside, and references to no object.
 *
 * Only reference columns that can point to a class that takes part are read (Springer's thesis 6.2.3). One bit
 * per block says whether objects left it; only then the slot's bit is looked at, and only if it is set
 * the forwarding reference. What a reference to a dead slot leads to is never read.
 *
 * Read first: plan.clh, move.cl. Read next: finish.cl.
 */
#include "cl/compact/plan.clh"
#include "cl/compact/reach.clh"

#define SEEN_NOTHING 0u
#define SEEN_LIVE 1u     /* a live object, or not looked at closely */
#define SEEN_DANGLING 2u /* none */
#define SEEN_MOVED 3u

typedef struct referent {
    uint kind, ref; /* ref: what is to be stored, for SEEN_MOVED the new reference */
} referent;

/* What a reference to one of the classes first .. last leads to, while sources still have their
 * bitmaps and states. */
static inline referent follow(const clumpi_view *v, const clumpi_reach *r, uint ref, uint first,
                           uint last) {
    referent s = {SEEN_NOTHING, ref};
    if (ref == 0) return s;
    s.kind = SEEN_LIVE;
    uint granule = ref >> 6, block = clumpi_block_of(r, granule);
    if (granule >= r->end || !clumpi_is_moved(r->moved, block)) return s;
    s.kind = SEEN_DANGLING;
    ulong bits = clumpi_row_bits(v, granule);
    if (!(bits >> (ref & 63u) & 1ul)) return s;
    uint class_id = clumpi_class_of_state(r->states[block]);
    if (class_id < first || class_id > last) return s;
    s.kind = SEEN_MOVED;
    s.ref = *clumpi_forward(clumpi_granule_at(r->memory, granule), bits, ref & 63u);
    return s;
}

/* Records of merge.cl in local memory: the table of sources, and in `in_local` mode for each entry the
 * numbers and bitmaps of its source and its targets. entries 0: none, there are forwarding references. */
typedef struct records {
    uint entries, factor, in_local;
    __local uint *table;
    __local uint *blocks;
    __local ulong *bits;
} records;

/* Block number `i` of a record (0: the source, then the targets) and its bitmaps. */
typedef struct recorded {
    uint block;
    __local const ulong *local_bits;
    __global const ulong *bits; /* unless they are local */
} recorded;

static inline recorded recorded_block(const clumpi_view *v, const records *r, uint class_id,
                                      uint entry, uint i) {
    uint rows = v->header->block_rows_max, at = entry * (r->factor + 1u) + i;
    recorded d = {0, r->bits, clumpi_record_bits(v)};
    if (r->in_local) {
        d.block = r->blocks[at];
        d.local_bits += at * rows;
    } else {
        __global const clumpi_class_plan *p = &clumpi_plans(v)[class_id];
        at = p->source_begin + clumpi_block_plans(v)[r->table[entry]].source.target +
             i * p->sources;
        d.block = clumpi_plan_list(v)[at];
        d.bits += at * rows;
    }
    return d;
}

static inline ulong recorded_bits(const records *r, const recorded *d, uint row) {
    return r->in_local ? d->local_bits[row] : d->bits[row];
}

/* As follow(), by working out anew where the object went (ISMM 3.8, Alg. 1). */
static inline referent follow_record(const clumpi_view *v, const clumpi_reach *to, const records *r,
                                  uint ref, uint first, uint last) {
    referent s = {SEEN_NOTHING, ref};
    if (ref == 0) return s;
    s.kind = SEEN_LIVE;
    uint granule = ref >> 6, block = granule < to->end ? clumpi_block_of(to, granule) : 0u;
    uint entry = clumpi_record_entry(block, r->entries);
    if (r->table[entry] != block) return s;
    uint c = clumpi_class_of_state(v->states[block]), k = v->classes[c].row_granules;
    uint offset = granule - block * v->header->block_granules, row = offset / k;
    s.kind = SEEN_DANGLING;
    recorded d = recorded_block(v, r, c, entry, 0);
    if (c < first || c > last || offset % k || row >= v->classes[c].rows) return s;
    ulong bits = recorded_bits(r, &d, row);
    if (!(bits >> (ref & 63u) & 1ul)) return s;
    uint number = clumpi_popcount64(bits & ((1ul << (ref & 63u)) - 1ul));
    for (uint i = 0; i < row; i++) number += clumpi_popcount64(recorded_bits(r, &d, i));
    for (uint i = 1; i <= r->factor; i++) {
        d = recorded_block(v, r, c, entry, i);
        for (row = 0; row < v->classes[c].rows; row++) {
            ulong holes = ~recorded_bits(r, &d, row);
            uint count = clumpi_popcount64(holes);
            if (number < count) {
                s.kind = SEEN_MOVED;
                s.ref = clumpi_row_granule(v, d.block, c, row) << 6 | clumpi_nth_bit(holes, number);
                return s;
            }
            number -= count;
        }
    }
    return s;
}

#define LONG_ARRAYS 256u /* arrays that a block's objects leave to the work-group; others are done at once */

/* Local memory of a work-group. */
typedef struct group_memory {
    clumpi_tally sums;
#if CLUMPI_REF_ARRAYS
    uint arrays, chunk;  /* that it rewrites together; place of the first chunk of one */
    uint refs[LONG_ARRAYS]; /* the objects that have them */
#endif
} group_memory;

/* Sum up what the work-items of a group saw; one entry per group. more: to what the launch before saw. */
CLUMPI_LOCAL_INLINED void tally_up(const clumpi_view *v, clumpi_tally t, __local group_memory *group, uint more) {
    __local clumpi_tally *sums = &group->sums;
    __global clumpi_tally *entry = &clumpi_tallies(v)[get_group_id(0)];
    if (get_local_id(0) == 0) {
        sums->examined = more ? entry->examined : 0u;
        sums->rewritten = more ? entry->rewritten : 0u;
        sums->dangling = more ? entry->dangling : 0u;
    }
    CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE);
    atomic_add(&sums->examined, t.examined);
    atomic_add(&sums->rewritten, t.rewritten);
    atomic_add(&sums->dangling, t.dangling);
    CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE);
    if (get_local_id(0) != 0) return;
    sums->pad = 0;
    *entry = *sums;
}

/* What is done with references. */
typedef struct rewrite_mode {
    uint null_dangling; /* 1: nothing moved yet; null what names no live object of its class */
    records record;     /* of recomputation */
} rewrite_mode;

static inline referent look(const clumpi_view *v, const clumpi_reach *r, const rewrite_mode *p,
                         const clumpi_column *column, uint ref) {
    if (p->record.entries)
        return follow_record(v, r, &p->record, ref, column->first, column->last);
    if (!p->null_dangling) return follow(v, r, ref, column->first, column->last);
    referent s = {SEEN_NOTHING, 0};
    if (ref)
        s.kind = clumpi_names_object(v, r, ref, column->first, column->last) ? SEEN_LIVE
                                                                             : SEEN_DANGLING;
    return s;
}

/* One field; `ref` is what it holds, or 0 for a slot without an object. */
static inline void rewrite_field(const clumpi_view *v, const clumpi_reach *r, const rewrite_mode *p,
                                 const clumpi_column *column, __global uint *field, uint ref,
                                 clumpi_tally *tally) {
    referent seen = look(v, r, p, column, ref);
    tally->examined += seen.kind != SEEN_NOTHING;
    tally->dangling += seen.kind == SEEN_DANGLING;
    tally->rewritten += seen.kind == SEEN_MOVED;
    if (seen.kind == (p->null_dangling ? SEEN_DANGLING : SEEN_MOVED)) *field = seen.ref;
}

#if CLUMPI_ROW_PER_ITEM

#define ROWS_AT_ONCE 8u

/* The references of up to ROWS_AT_ONCE rows on a CPU, in sweeps: reading them, which lead into sources,
 * which of these to live objects, and storing the new ones. What is left goes to the front of a list
 * without a branch, as a branch on what nobody can foresee costs more than all the rest; and a sweep
 * over many has its look-ups overlap. */
static inline void rewrite_rows(const clumpi_view *v, const clumpi_reach *r,
                                const clumpi_column *column, __global uchar *fields, uint granule,
                                uint row_granules, uint rows, clumpi_tally *tally) {
    uint refs[ROWS_AT_ONCE * 64u];
    ushort slots[ROWS_AT_ONCE * 64u];
    uint into = 0, live = 0;
    ulong row_bytes = row_granules * r->memory.granule_bytes;
    for (uint row = 0; row < rows; row++)
        for (uint slot = 0; slot < 64u; slot++)
            refs[row << 6 | slot] =
                *(__global const uint *)(fields + row * row_bytes + slot * column->stride);
    for (uint row = 0; row < rows; row++) {
        ulong bits = clumpi_row_bits(v, granule + row * row_granules);
        for (uint slot = 0; slot < 64u; slot++) {
            uint ref = refs[row << 6 | slot] & (0u - (uint)(bits >> slot & 1ul));
            uint target = ref >> 6, block = target < r->end ? clumpi_block_of(r, target) : 0u;
            tally->examined += ref != 0;
            refs[into] = ref;
            slots[into] = (ushort)(row << 6 | slot);
            into += clumpi_is_moved(r->moved, block);
        }
    }
    for (uint i = 0; i < into; i++) {
        uint ref = refs[i], block = clumpi_block_of(r, ref >> 6);
        uint class_id = clumpi_class_of_state(r->states[block]);
        slots[live] = slots[i];
        refs[live] = ref;
        live += (uint)(clumpi_row_bits(v, ref >> 6) >> (ref & 63u) & 1ul) &
                (class_id >= column->first) & (class_id <= column->last);
    }
    for (uint i = 0; i < live; i++) {
        refs[i] = *clumpi_forward(clumpi_granule_at(r->memory, refs[i] >> 6),
                                  clumpi_row_bits(v, refs[i] >> 6), refs[i] & 63u);
    }
    for (uint i = 0; i < live; i++)
        *(__global uint *)(fields + (slots[i] >> 6) * row_bytes +
                           (slots[i] & 63u) * column->stride) = refs[i];
    tally->dangling += into - live;
    tally->rewritten += live;
}

#endif

/* The references in one element of a column, of all rows of a block. On a GPU one loop over all slots,
 * one reference at a time: looking at several together was tried, or reading the next one early, and lost
 * as much by needing registers as it won, and two loops cost an eighth. On a CPU so too, except for
 * references to moved objects. */
static inline void rewrite_element(const clumpi_view *v, const clumpi_reach *r, const rewrite_mode *p,
                                   const clumpi_column *column, ulong base, uint granule, uint rows,
                                   uint row_granules, clumpi_tally *tally) {
#if CLUMPI_ROW_PER_ITEM
    if (!p->record.entries && !p->null_dangling) {
        clumpi_tally t = {0, 0, 0, 0};
        __global uchar *fields = clumpi_granule_at(r->memory, granule) + base;
        for (uint row = 0; row < rows; row += ROWS_AT_ONCE)
            rewrite_rows(v, r, column, fields + row * row_granules * r->memory.granule_bytes,
                         granule + row * row_granules, row_granules, min(rows - row, ROWS_AT_ONCE),
                         &t);
        tally->examined += t.examined;
        tally->dangling += t.dangling;
        tally->rewritten += t.rewritten;
        return;
    }
#endif
    for (uint at = (uint)get_local_id(0); at < rows * 64u; at += (uint)get_local_size(0)) {
        uint g = granule + (at >> 6) * row_granules, slot = at & 63u;
        __global uint *field =
            (__global uint *)(clumpi_granule_at(r->memory, g) + base + slot * column->stride);
        uint value = *field; /* before it is known to be one, so that both loads overlap */
        uint ref = clumpi_row_bits(v, g) >> slot & 1ul ? value : 0u;
        rewrite_field(v, r, p, column, field, ref, tally);
    }
}

#if CLUMPI_REF_ARRAYS /* ---- Arrays of run-time length ---- */

/* What arrays of references have in raw memory can be a handful of elements or most of the heap. An array of few is rewritten
 * by the work-item that finds it, one of more than FEW by the work-group, and a long one is cut into chunks, which the next launch
 * deals out to all work-groups. */
#define FEW 32u

/* References number me, me + items, ... */
static inline void rewrite_part(const clumpi_view *v, const clumpi_reach *r, const rewrite_mode *p,
                                const clumpi_column *array, clumpi_outside o, uint me, uint items, clumpi_tally *tally) {
    for (uint e = me; e < o.count; e += items) rewrite_field(v, r, p, array, o.refs + e, o.refs[e], tally);
}

/* Leave a long array to the next launch, by the whole group. 0: there is no room for its chunks. */
CLUMPI_LOCAL_INLINED uint leave_chunks(const clumpi_view *v, uint column, clumpi_outside o, uint most,
                                __local group_memory *group) {
    __global clumpi_array_chunk *chunks = clumpi_array_chunks(v);
    uint count = (o.count - 1u) / most + 1u, room = clumpi_array_chunk_room(v);
    CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE); /* group->chunk was read */
    if (get_local_id(0) == 0) group->chunk = CLUMPI_ADD(&chunks->count, count);
    CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE);
    uint first = min(group->chunk, room), fits = count <= room - first;
    uint at = (uint)(((__global uchar *)o.refs - v->heap) / CLUMPI_RAW_UNIT), step = most / (CLUMPI_RAW_UNIT / 4u);
    for (uint i = (uint)get_local_id(0); i < min(count, room - first); i += (uint)get_local_size(0)) {
        clumpi_array_chunk chunk = {fits ? min(o.count - i * most, most) : 0u, at + i * step, column, 0};
        chunks[1u + first + i] = chunk;
    }
    return fits;
}

/* Of all objects of a block; together. */
CLUMPI_LOCAL_INLINED void rewrite_arrays(const clumpi_view *v, const clumpi_reach *r, const rewrite_mode *p,
                                  uint column, uint granule, uint rows, uint row_granules,
                                  __local group_memory *group, clumpi_tally *tally) {
    const clumpi_column words = clumpi_columns(v)[column], *array = &words;
    if (!array->hit) return; /* all of the group */
    uint me = (uint)get_local_id(0), items = (uint)get_local_size(0), most = clumpi_array_chunk_most(v);
    CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE); /* group->refs was read */
    if (me == 0) group->arrays = 0;
    CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE);
    for (uint at = me; at < rows * 64u; at += items) {
        uint g = granule + (at >> 6) * row_granules, ref = g << 6 | (at & 63u);
        if (!(clumpi_row_bits(v, g) >> (at & 63u) & 1ul)) continue;
        const clumpi_outside o = clumpi_outside_of(r, array, ref);
        uint place = o.count > FEW ? atomic_inc(&group->arrays) : LONG_ARRAYS;
        if (place < LONG_ARRAYS) group->refs[place] = ref;
        else rewrite_part(v, r, p, array, o, 0, 1, tally);
    }
    CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE);
    uint count = min(group->arrays, LONG_ARRAYS);
    for (uint i = 0; i < count; i++) {
        const clumpi_outside o = clumpi_outside_of(r, array, group->refs[i]);
        uint is_left = o.count > most ? leave_chunks(v, column, o, most, group) : 0u;
        if (!is_left) rewrite_part(v, r, p, array, o, me, items, tally);
    }
    CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE);
}

/* The chunks that rewrite_all() left, in the launch after it. */
CLUMPI_LOCAL_INLINED void rewrite_chunks(const clumpi_view *v, const rewrite_mode *p, __local group_memory *group) {
    const clumpi_reach r = clumpi_reach_of(v);
    clumpi_tally tally = {0, 0, 0, 0};
    __global const clumpi_array_chunk *chunks = clumpi_array_chunks(v);
    uint count = min(chunks->count, clumpi_array_chunk_room(v));
    for (uint i = (uint)get_group_id(0); i < count; i += (uint)get_num_groups(0)) {
        const clumpi_array_chunk chunk = chunks[1u + i];
        const clumpi_column array = clumpi_columns(v)[chunk.column];
        const clumpi_outside o = {(__global uint *)(v->heap + (ulong)chunk.at * CLUMPI_RAW_UNIT), chunk.count};
        rewrite_part(v, &r, p, &array, o, (uint)get_local_id(0), (uint)get_local_size(0), &tally);
    }
    tally_up(v, tally, group, 1);
}

#endif

/* All references of the heap that can point to a class that takes part; a work-group per block. */
CLUMPI_LOCAL_INLINED void rewrite_blocks(const clumpi_view *v, const rewrite_mode *p, __local group_memory *group) {
    const clumpi_reach r = clumpi_reach_of(v);
    clumpi_tally tally = {0, 0, 0, 0};
    for (uint block = r.first_block + (uint)get_group_id(0); block < r.block_end;
         block += (uint)get_num_groups(0)) {
        uint c = clumpi_class_of_state(r.states[block]);
        if (c == 0 || (!p->null_dangling && clumpi_is_moved(r.moved, block))) continue;
        uint rows = v->classes[c].rows, row_granules = v->classes[c].row_granules;
        uint end = v->classes[c].arrays;
        for (uint i = v->classes[c].refs; i < end; i++) {
            clumpi_column column = clumpi_columns(v)[i];
            for (uint e = 0; column.hit && e < column.count; e++)
                rewrite_element(v, &r, p, &column, column.base + e * (ulong)column.step,
                                block * r.granules, rows, row_granules, &tally);
        }
#if CLUMPI_REF_ARRAYS
        for (uint i = end; i < v->classes[c].cleared; i++)
            rewrite_arrays(v, &r, p, i, block * r.granules, rows, row_granules, group, &tally);
#endif
    }
    tally_up(v, tally, group, 0);
}

/* chunks 1: the arrays that the launch before left, else everything else. The same for all work-items. */
CLUMPI_LOCAL_INLINED void rewrite_all(const clumpi_view *v, const rewrite_mode *p, uint chunks, __local group_memory *group) {
#if CLUMPI_REF_ARRAYS
    if (chunks) {
        rewrite_chunks(v, p, group);
        CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE); /* for PoCL: docs/portability.md */
        return;
    }
#endif
    (void)chunks;
    rewrite_blocks(v, p, group);
}

__kernel void clumpi_rewrite(__global uchar *heap, uint header_at, uint chunks) {
    __local group_memory group;
    const clumpi_view v = clumpi_view_of(heap, header_at);
    const rewrite_mode p = {0, {0, 0, 0, &group.sums.pad, &group.sums.pad, (__local ulong *)0}};
    rewrite_all(&v, &p, chunks, &group);
}

/* Before anything moves: null the references that name no live object of their class. */
__kernel void clumpi_null_dangling(__global uchar *heap, uint header_at, uint chunks) {
    __local group_memory group;
    const clumpi_view v = clumpi_view_of(heap, header_at);
    const rewrite_mode p = {1, {0, 0, 0, &group.sums.pad, &group.sums.pad, (__local ulong *)0}};
    rewrite_all(&v, &p, chunks, &group);
}

/* table: entries words; blocks and bits: (factor + 1) * entries words, and block_rows_max times as many
 * bitmaps, where `in_local` says so. */
__kernel void clumpi_rewrite_recompute(__global uchar *heap, uint header_at, uint chunks,
                                       uint entries, uint factor, uint in_local, __local uint *table,
                                       __local uint *blocks, __local ulong *bits) {
    __local group_memory group;
    const clumpi_view v = clumpi_view_of(heap, header_at);
    uint me = (uint)get_local_id(0), items = (uint)get_local_size(0), all = factor + 1u;
    uint rows = v.header->block_rows_max;
    for (uint i = me; i < entries; i += items) table[i] = clumpi_record_table(&v)[i];
    CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE);
    for (uint i = me; in_local && i < entries * all; i += items) {
        uint source = table[i / all];
        if (source == CLUMPI_NONE) continue;
        uint c = clumpi_class_of_state(v.states[source]);
        __global const clumpi_class_plan *p = &clumpi_plans(&v)[c];
        uint at = p->source_begin + clumpi_block_plans(&v)[source].source.target + i % all * p->sources;
        blocks[i] = clumpi_plan_list(&v)[at];
        for (uint row = 0; row < rows; row++)
            bits[i * rows + row] = clumpi_record_bits(&v)[at * rows + row];
    }
    CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE);
    const rewrite_mode p = {0, {entries, factor, in_local, table, blocks, bits}};
    rewrite_all(&v, &p, chunks, &group);
}

/* A registered buffer: references at offset + i * stride, in words. Before the move, `check` = 1: those
 * that name no live object of any class are counted, and nulled if asked for. After it, `check` = 0:
 * those to moved objects are rewritten. */
__kernel void clumpi_rewrite_outside(__global uchar *heap, uint header_at, __global uint *refs,
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
