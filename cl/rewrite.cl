/* References to moved objects, inside the heap and outside, and references to no object.
 *
 * Only reference columns that can point to a class that takes part are read (thesis 6.2.3). One bit
 * per block says whether objects left it; only then the slot's bit is looked at, and only if it is set
 * the forwarding reference. What a reference to a dead slot leads to is never read.
 *
 * Read first: plan.clh, move.cl. Read next: finish.cl.
 */
#include "cl/plan.clh"

/* Does a reference name a live object of the classes first .. last? Garbage does not. */
static inline uint names_object(const clumpi_view *v, uint ref, uint first, uint last) {
    uint granules = v->header->block_granules, granule = ref >> 6, block = granule / granules;
    if (block < v->header->first_block || block >= v->header->block_end) return 0;
    uint class_id = clumpi_class_of_state(v->states[block]);
    if (class_id < first || class_id > last) return 0;
    /* Where no row starts all bits are 0. */
    return (uint)(clumpi_row_bits(v, granule) >> (ref & 63u)) & 1u;
}

#define SEEN_NOTHING 0u
#define SEEN_LIVE 1u     /* a live object, or not looked at closely */
#define SEEN_DANGLING 2u /* none */
#define SEEN_MOVED 3u

typedef struct sight {
    uint kind, ref; /* for SEEN_MOVED: the new reference */
} sight;

/* What a reference to one of the classes first .. last leads to, while sources still have their
 * bitmaps and states. */
static inline sight follow(const clumpi_view *v, __global const uint *moved, uint ref, uint first,
                           uint last) {
    sight s = {SEEN_NOTHING, ref};
    if (ref == 0) return s;
    s.kind = SEEN_LIVE;
    uint granule = ref >> 6, block = granule / v->header->block_granules;
    if (block >= v->header->block_end || !clumpi_is_moved(moved, block)) return s;
    s.kind = SEEN_DANGLING;
    uint class_id = clumpi_class_of_state(v->states[block]);
    if (class_id < first || class_id > last) return s;
    if (!(clumpi_row_bits(v, granule) >> (ref & 63u) & 1ul)) return s;
    __global const uint *row =
        (__global const uint *)(v->heap + (ulong)granule * v->header->granule_bytes);
    s.kind = SEEN_MOVED;
    s.ref = row[ref & 63u];
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
        at = p->source_begin + clumpi_plan_words(v)[r->table[entry]].y + i * p->sources;
        d.block = clumpi_plan_list(v)[at];
        d.bits += at * rows;
    }
    return d;
}

static inline ulong recorded_bits(const records *r, const recorded *d, uint row) {
    return r->in_local ? d->local_bits[row] : d->bits[row];
}

/* As follow(), by working out anew where the object went (ISMM 3.8, Alg. 1). */
static inline sight follow_record(const clumpi_view *v, const records *r, uint ref, uint first,
                                  uint last) {
    sight s = {SEEN_NOTHING, ref};
    if (ref == 0) return s;
    s.kind = SEEN_LIVE;
    uint granule = ref >> 6, block = granule / v->header->block_granules;
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

/* Sum up what the work-items of a group saw; one entry per group. */
static inline void tally_up(const clumpi_view *v, clumpi_tally t, __local uint *sums) {
    if (get_local_id(0) == 0) sums[0] = sums[1] = sums[2] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    atomic_add(&sums[0], t.examined);
    atomic_add(&sums[1], t.rewritten);
    atomic_add(&sums[2], t.dangling);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (get_local_id(0) != 0) return;
    clumpi_tally all = {sums[0], sums[1], sums[2], 0};
    clumpi_tallies(v)[get_group_id(0)] = all;
}

#define AHEAD 4u /* rows that a work-item looks at together, so that their latencies overlap */

/* What is done with references. */
typedef struct purpose {
    uint null_dangling; /* 1: nothing moved yet; null what names no live object of its class */
    records record;     /* of recomputation */
} purpose;

static inline sight look(const clumpi_view *v, const purpose *p, __global const uint *moved,
                         const clumpi_column *column, uint ref) {
    if (p->record.entries) return follow_record(v, &p->record, ref, column->first, column->last);
    if (!p->null_dangling) return follow(v, moved, ref, column->first, column->last);
    sight s = {SEEN_NOTHING, 0};
    if (ref)
        s.kind = names_object(v, ref, column->first, column->last) ? SEEN_LIVE : SEEN_DANGLING;
    return s;
}

/* Up to four rows that a team of work-items looks at; class 0: none. */
typedef struct looked_at {
    uint class_id[AHEAD], granule[AHEAD];
    ulong bits[AHEAD];
} looked_at;

static inline uint first_class(const looked_at *l) {
    uint c = 0;
    for (uint k = 0; k < AHEAD; k++) c = c ? c : l->class_id[k];
    return c;
}

/* The references of all rows of class c. */
static inline void rewrite_rows(const clumpi_view *v, const purpose *p, __global const uint *moved,
                                const looked_at *rows, uint c, uint lane, uint lanes,
                                clumpi_tally *tally) {
    for (uint i = v->classes[c].refs; i < v->classes[c].columns_end; i++) {
        clumpi_column column = clumpi_columns(v)[i];
        if (!column.hit) continue;
        for (uint e = 0; e < column.count; e++)
            for (uint slot = lane; slot < 64u; slot += lanes) {
                __global uint *field[AHEAD];
                uint ref[AHEAD];
                sight seen[AHEAD];
                for (uint k = 0; k < AHEAD; k++) {
                    uint here = rows->class_id[k] == c;
                    field[k] = (__global uint *)(v->heap +
                                                 (ulong)rows->granule[k] * v->header->granule_bytes +
                                                 column.base + e * column.step +
                                                 slot * column.stride);
                    ref[k] = here && rows->bits[k] >> slot & 1ul ? *field[k] : 0u;
                }
                for (uint k = 0; k < AHEAD; k++) seen[k] = look(v, p, moved, &column, ref[k]);
                for (uint k = 0; k < AHEAD; k++) {
                    tally->examined += seen[k].kind != SEEN_NOTHING;
                    tally->dangling += seen[k].kind == SEEN_DANGLING;
                    tally->rewritten += seen[k].kind == SEEN_MOVED;
                    if (seen[k].kind == (p->null_dangling ? SEEN_DANGLING : SEEN_MOVED))
                        *field[k] = seen[k].ref;
                }
            }
    }
}

/* All references of the heap that can point to a class that takes part. 64 work-items are a team and
 * take rows together, four at a time; on a CPU a team is one work-item. */
static inline void rewrite_all(clumpi_view v, purpose p, __local uint *sums) {
    uint me = (uint)get_local_id(0), items = (uint)get_local_size(0), lanes = min(items, 64u);
    uint teams_here = items / lanes, teams = (uint)get_num_groups(0) * teams_here;
    uint team = (uint)get_group_id(0) * teams_here + me / lanes;
    uint rows_max = v.header->block_rows_max;
    uint rows = (v.header->block_end - v.header->first_block) * rows_max;
    __global const uint *moved = clumpi_words_at(&v, v.header->at_moved);
    clumpi_tally tally = {0, 0, 0, 0};
    for (uint at = team; at < rows; at += AHEAD * teams) {
        looked_at l;
        for (uint k = 0; k < AHEAD; k++) {
            uint row = min(at + k * teams, rows - 1u), in_block = row % rows_max;
            uint block = v.header->first_block + row / rows_max;
            uint c = clumpi_class_of_state(v.states[block]);
            if (at + k * teams >= rows || c > v.header->class_count) c = 0;
            if (in_block >= v.classes[c].rows || (!p.null_dangling && clumpi_is_moved(moved, block)))
                c = 0;
            l.class_id[k] = c;
            l.granule[k] = block * v.header->block_granules +
                           (c ? in_block * v.classes[c].row_granules : 0u);
            l.bits[k] = clumpi_row_bits(&v, l.granule[k]);
        }
        /* Mostly all four are of one class. No index that varies, so that all stays in registers. */
        for (uint c = first_class(&l); c; c = first_class(&l)) {
            rewrite_rows(&v, &p, moved, &l, c, me % lanes, lanes, &tally);
            for (uint k = 0; k < AHEAD; k++)
                if (l.class_id[k] == c) l.class_id[k] = 0;
        }
    }
    tally_up(&v, tally, sums);
}

__kernel void clumpi_rewrite(__global uchar *heap, uint header_at) {
    __local uint sums[3];
    purpose p = {0, {0, 0, 0, sums, sums, (__local ulong *)0}};
    rewrite_all(clumpi_view_of(heap, header_at), p, sums);
}

/* Before anything moves: null the references that name no live object of their class. */
__kernel void clumpi_null_dangling(__global uchar *heap, uint header_at) {
    __local uint sums[3];
    purpose p = {1, {0, 0, 0, sums, sums, (__local ulong *)0}};
    rewrite_all(clumpi_view_of(heap, header_at), p, sums);
}

/* table: entries words; blocks and bits: (factor + 1) * entries words, and block_rows_max times as many
 * bitmaps, where `in_local` says so. */
__kernel void clumpi_rewrite_recompute(__global uchar *heap, uint header_at, uint entries,
                                       uint factor, uint in_local, __local uint *table,
                                       __local uint *blocks, __local ulong *bits) {
    __local uint sums[3];
    clumpi_view v = clumpi_view_of(heap, header_at);
    uint me = (uint)get_local_id(0), items = (uint)get_local_size(0), all = factor + 1u;
    uint rows = v.header->block_rows_max;
    for (uint i = me; i < entries; i += items) table[i] = clumpi_record_table(&v)[i];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint i = me; in_local && i < entries * all; i += items) {
        uint source = table[i / all];
        if (source == CLUMPI_NONE) continue;
        uint c = clumpi_class_of_state(v.states[source]);
        __global const clumpi_class_plan *p = &clumpi_plans(&v)[c];
        uint at = p->source_begin + clumpi_plan_words(&v)[source].y + i % all * p->sources;
        blocks[i] = clumpi_plan_list(&v)[at];
        for (uint row = 0; row < rows; row++)
            bits[i * rows + row] = clumpi_record_bits(&v)[at * rows + row];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    purpose p = {0, {entries, factor, in_local, table, blocks, bits}};
    rewrite_all(v, p, sums);
}

/* A registered buffer: references at offset + i * stride, in words. Before the move, `check` = 1: those
 * that name no live object of any class are counted, and nulled if asked for. After it, `check` = 0:
 * those to moved objects are rewritten. */
__kernel void clumpi_rewrite_outside(__global uchar *heap, uint header_at, __global uint *refs,
                                     ulong offset, uint stride, ulong count, uint check,
                                     uint null_dangling) {
    __local uint sums[3];
    clumpi_view v = clumpi_view_of(heap, header_at);
    __global const uint *moved = clumpi_words_at(&v, v.header->at_moved);
    clumpi_tally t = {0, 0, 0, 0};
    for (ulong i = get_global_id(0); i < count; i += get_global_size(0)) {
        __global uint *place = refs + offset + i * stride;
        uint ref = *place;
        if (ref == 0) continue;
        t.examined++;
        if (check) {
            if (names_object(&v, ref, 1, v.header->class_count)) continue;
            t.dangling++;
            if (null_dangling) *place = 0;
        } else {
            sight s = follow(&v, moved, ref, 1, v.header->class_count);
            if (s.kind != SEEN_MOVED) continue;
            *place = s.ref;
            t.rewritten++;
        }
    }
    tally_up(&v, t, sums);
}
