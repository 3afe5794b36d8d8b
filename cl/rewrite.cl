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
static inline void tally_up(const clumpi_view *v, uint examined, uint rewritten, uint dangling,
                            __local uint *sums) {
    if (get_local_id(0) == 0) sums[0] = sums[1] = sums[2] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    atomic_add(&sums[0], examined);
    atomic_add(&sums[1], rewritten);
    atomic_add(&sums[2], dangling);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (get_local_id(0) != 0) return;
    clumpi_tally t = {sums[0], sums[1], sums[2], 0};
    clumpi_tallies(v)[get_group_id(0)] = t;
}

#define AHEAD 4u /* rows that a work-item looks at together, so that their latencies overlap */

/* All references of the heap, column element by column element; a work-group per block. */
static inline void rewrite_all(clumpi_view v, records record, __local uint *sums) {
    uint me = (uint)get_local_id(0), items = (uint)get_local_size(0);
    __global const uint *moved = clumpi_words_at(&v, v.header->at_moved);
    uint examined = 0, rewritten = 0, dangling = 0;
    for (uint block = v.header->first_block + (uint)get_group_id(0); block < v.header->block_end;
         block += (uint)get_num_groups(0)) {
        uint c = clumpi_class_of_state(v.states[block]);
        if (c == 0 || clumpi_is_moved(moved, block)) continue;
        uint rows = v.classes[c].rows, row_granules = v.classes[c].row_granules;
        uint granule0 = block * v.header->block_granules;
        for (uint i = v.classes[c].refs; i < v.classes[c].columns_end; i++) {
            clumpi_column column = clumpi_columns(&v)[i];
            for (uint e = 0; column.hit && e < column.count; e++)
                for (uint at = me; at < rows * 64u; at += AHEAD * items) {
                    uint slot = at & 63u;
                    uint live[AHEAD];
                    __global uint *field[AHEAD];
                    sight seen[AHEAD];
                    for (uint k = 0; k < AHEAD; k++) {
                        uint row = (at + k * items) >> 6, here = row < rows;
                        slot = (at + k * items) & 63u;
                        uint granule = granule0 + (here ? row : 0u) * row_granules;
                        field[k] = (__global uint *)(v.heap +
                                                     (ulong)granule * v.header->granule_bytes +
                                                     column.base + e * column.step +
                                                     slot * column.stride);
                        live[k] = here & (uint)(clumpi_row_bits(&v, granule) >> slot);
                        seen[k].ref = *field[k];
                    }
                    for (uint k = 0; k < AHEAD; k++) {
                        uint ref = live[k] & 1u ? seen[k].ref : 0u;
                        seen[k] = record.entries ? follow_record(&v, &record, ref, column.first,
                                                                 column.last)
                                                 : follow(&v, moved, ref, column.first,
                                                          column.last);
                    }
                    for (uint k = 0; k < AHEAD; k++) {
                        examined += seen[k].kind != SEEN_NOTHING;
                        dangling += seen[k].kind == SEEN_DANGLING;
                        if (seen[k].kind != SEEN_MOVED) continue;
                        *field[k] = seen[k].ref;
                        rewritten++;
                    }
                }
        }
    }
    tally_up(&v, examined, rewritten, dangling, sums);
}

__kernel void clumpi_rewrite(__global uchar *heap, uint header_at) {
    __local uint sums[3];
    records none = {0, 0, 0, sums, sums, (__local ulong *)0};
    rewrite_all(clumpi_view_of(heap, header_at), none, sums);
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
    records record = {entries, factor, in_local, table, blocks, bits};
    rewrite_all(v, record, sums);
}

/* Before anything moves: null the references of the same columns that name no live object of their
 * class. `rewritten` of the tally counts them. */
__kernel void clumpi_null_dangling(__global uchar *heap, uint header_at) {
    __local uint sums[3];
    clumpi_view v = clumpi_view_of(heap, header_at);
    uint me = (uint)get_local_id(0), items = (uint)get_local_size(0);
    uint examined = 0, dangling = 0;
    for (uint block = v.header->first_block + (uint)get_group_id(0); block < v.header->block_end;
         block += (uint)get_num_groups(0)) {
        uint c = clumpi_class_of_state(v.states[block]);
        if (c == 0) continue;
        for (uint i = v.classes[c].refs; i < v.classes[c].columns_end; i++) {
            clumpi_column column = clumpi_columns(&v)[i];
            for (uint e = 0; column.hit && e < column.count; e++)
                for (uint at = me; at < v.classes[c].rows * 64u; at += items) {
                    uint granule = clumpi_row_granule(&v, block, c, at >> 6), slot = at & 63u;
                    if (!(clumpi_row_bits(&v, granule) >> slot & 1ul)) continue;
                    __global uint *field =
                        (__global uint *)(v.heap + (ulong)granule * v.header->granule_bytes +
                                          column.base + e * column.step + slot * column.stride);
                    if (*field == 0) continue;
                    examined++;
                    if (names_object(&v, *field, column.first, column.last)) continue;
                    *field = 0;
                    dangling++;
                }
        }
    }
    tally_up(&v, examined, dangling, dangling, sums);
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
    uint examined = 0, rewritten = 0, dangling = 0;
    for (ulong i = get_global_id(0); i < count; i += get_global_size(0)) {
        __global uint *place = refs + offset + i * stride;
        uint ref = *place;
        if (ref == 0) continue;
        examined++;
        if (check) {
            if (names_object(&v, ref, 1, v.header->class_count)) continue;
            dangling++;
            if (null_dangling) *place = 0;
        } else {
            sight s = follow(&v, moved, ref, 1, v.header->class_count);
            if (s.kind != SEEN_MOVED) continue;
            *place = s.ref;
            rewritten++;
        }
    }
    tally_up(&v, examined, rewritten, dangling, sums);
}
