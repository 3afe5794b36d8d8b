/* After marking: weak references, the list of what dies, and the sweep, which gives the slots of
 * all objects that are still white back to the allocator: an AND for each row; credits and hints
 * for each block. Fields are not touched.
 *
 * Read first: mark.clh, finish.cl.
 */
#include "cl/collect/mark.clh"

/* Does a reference name an object that stays, of the classes first .. last? */
static inline uint stays(const clumpi_mark *m, uint ref, uint first, uint last) {
    return clumpi_names_object(&m->v, &m->r, ref, first, last) && !clumpi_is_white(m, ref);
}

/* Null a weak reference to what does not stay. */
static inline uint null_weak(const clumpi_mark *m, __global uint *place, uint first, uint last) {
    uint ref = *place;
    if (ref == 0 || stays(m, ref, first, last)) return 0;
    *place = 0;
    return 1;
}

/* Weak fields of the objects that stay. A work-group per block. */
__kernel void clumpi_sweep_weak(__global uchar *heap, uint header_at, __global uchar *marks) {
    const clumpi_mark m = clumpi_mark_of(heap, header_at, marks, 0);
    uint nulled = 0;
    for (uint block = m.r.first_block + (uint)get_group_id(0); block < m.r.block_end;
         block += (uint)get_num_groups(0)) {
        uint class_id = clumpi_class_of_state(m.r.states[block]);
        if (class_id == 0) continue;
        __global const clumpi_class *class = &m.v.classes[class_id];
        for (uint c = class->weak; c < class->arrays; c++) {
            const clumpi_column column = clumpi_columns(&m.v)[c];
            for (uint at = (uint)get_local_id(0); at < class->rows * 64u;
                 at += (uint)get_local_size(0)) {
                uint g = clumpi_row_granule(&m.v, block, class_id, at >> 6), slot = at & 63u;
                ulong bits = clumpi_row_bits(&m.v, g) & ~clumpi_mark_row(&m, m.white, g);
                if (!(bits >> slot & 1ul)) continue;
                __global uchar *field =
                    clumpi_granule_at(m.r.memory, g) + column.base + slot * column.stride;
                for (uint e = 0; e < column.count; e++, field += column.step)
                    nulled += null_weak(&m, (__global uint *)field, column.first, column.last);
            }
        }
    }
    if (nulled) CLUMPI_ADD(&m.control->nulled, nulled);
}

/* A registered buffer of weak references, as clumpi_mark_roots() takes it. */
__kernel void clumpi_sweep_weak_outside(__global uchar *heap, uint header_at, __global uchar *marks,
                                        __global uint *refs, ulong offset, uint stride, ulong count,
                                        __global const uint *counted, ulong counted_at) {
    const clumpi_mark m = clumpi_mark_of(heap, header_at, marks, 0);
    uint nulled = 0;
    const clumpi_part part = clumpi_part_of(clumpi_refs_count(count, counted, counted_at));
    for (ulong i = part.begin; i < part.end; i += part.step)
        nulled += null_weak(&m, refs + offset + i * stride, 1, m.r.class_count);
    if (nulled) CLUMPI_ADD(&m.control->nulled, nulled);
}

/* dead[0]: how many objects of the classes first .. last die; then references to them, in no order,
 * as many as there is room for. The host has cleared dead[0]. */
__kernel void clumpi_sweep_list(__global uchar *heap, uint header_at, __global uchar *marks,
                                __global uint *dead, ulong room, uint first, uint last) {
    const clumpi_mark m = clumpi_mark_of(heap, header_at, marks, 0);
    const clumpi_part part = clumpi_part_of(m.r.end);
    for (ulong i = part.begin; i < part.end; i += part.step) {
        uint g = (uint)i;
        ulong bits = clumpi_mark_row(&m, m.white, g);
        if (!bits) continue;
        uint class_id = clumpi_mark_class(&m, g << 6);
        if (class_id < first || class_id > last) continue;
        ulong at = CLUMPI_ADD(dead, clumpi_popcount64(bits));
        /* bound: bits of a word */
        for (; bits && at < room; bits &= bits - 1ul)
            dead[1 + at++] = g << 6 | clumpi_lowest64(bits);
    }
}

/* ---- The sweep ---- */

#define SWEEP_TEAM 16u /* work-items that share a block, at most */
#define SWEEP_ROWS 4u  /* that one of them reads before it writes any */

/* Of the blocks that a work-item, or a work-group, has looked at. */
typedef struct sweep_tally {
    uint dead, marked, blocks;
} sweep_tally;

/* The rows of a block of this class, as far as this member of the team goes. Returns how many
 * objects of them die. */
static inline uint sweep_rows(const clumpi_mark *m, const clumpi_team *team, uint block,
                              uint class_id, uint change) {
    uint first = clumpi_row_granule(&m->v, block, class_id, 0), die = 0;
    uint rows = m->v.classes[class_id].rows, row_granules = m->v.classes[class_id].row_granules;
    for (uint row = team->member; row < rows; row += SWEEP_ROWS * team->size) {
        uint g[SWEEP_ROWS];
        ulong white[SWEEP_ROWS], bits[SWEEP_ROWS];
        for (uint i = 0; i < SWEEP_ROWS; i++) {
            uint is_row = row + i * team->size < rows;
            g[i] = first + (is_row ? row + i * team->size : row) * row_granules;
            white[i] = is_row ? clumpi_mark_row(m, m->white, g[i]) : 0ul;
            bits[i] = change && is_row ? clumpi_row_bits(&m->v, g[i]) : 0ul;
        }
        for (uint i = 0; i < SWEEP_ROWS; i++) {
            die += clumpi_popcount64(white[i]);
            if (!change || !white[i]) continue;
            clumpi_row_bits_set(&m->v, g[i], bits[i] & ~white[i]);
            clumpi_watch_keep(&m->v, g[i], bits[i] & ~white[i]);
        }
    }
    return die;
}

/* What only counting needs of a sweep, or (change 1) the sweep. A work-group takes the blocks of a
 * hint word at a time; teams take the blocks, rows side by side. */
__kernel void clumpi_sweep(__global uchar *heap, uint header_at, __global uchar *marks,
                           uint change) {
    __local uint states[CLUMPI_TILE], dying[CLUMPI_TILE];
    __local sweep_tally sums;
    __local uint hints[256], freed[1]; /* hints: by class */
    const clumpi_mark m = clumpi_mark_of(heap, header_at, marks, 0);
    const clumpi_view v = m.v;
    uint me = (uint)get_local_id(0), items = (uint)get_local_size(0);
    uint classes = v.header->class_count;
    clumpi_team team = clumpi_team_of(min(SWEEP_TEAM, v.header->block_rows_max));
    sweep_tally t = {0, 0, 0};
    if (me == 0) freed[0] = 0;
    if (me == 0) sums.dead = sums.marked = sums.blocks = 0;
    for (uint word = (uint)get_group_id(0); word < v.header->hint_count[0];
         word += (uint)get_num_groups(0)) {
        uint begin = max(word * 32u, m.r.first_block), end = min(word * 32u + 32u, m.r.block_end);
        CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE);
        for (uint c = me; c <= classes; c += items) hints[c] = 0;
        for (uint b = me; begin + b < end; b += items) {
            states[b] = v.states[begin + b];
            dying[b] = 0;
        }
        CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE);
        for (uint b = team.index; b < CLUMPI_TILE && begin + b < end; b += team.count) {
            uint class_id = clumpi_class_of_state(states[b]);
            uint die = class_id ? sweep_rows(&m, &team, begin + b, class_id, change) : 0u;
            if (die) atomic_add(&dying[b], die);
        }
        CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE);
        for (uint b = me; begin + b < end; b += items) {
            uint class_id = clumpi_class_of_state(states[b]);
            uint credits = clumpi_credits_of_state(states[b]) - dying[b];
            if (class_id && class_id <= m.r.class_count) { /* not of raw memory */
                t.blocks++;
                t.dead += dying[b];
                t.marked += credits;
            }
            if (dying[b]) {
                if (!credits) {
                    atomic_inc(&freed[0]);
                    class_id = 0;
                }
                if (change)
                    v.states[begin + b] = class_id ? class_id << CLUMPI_CLASS_SHIFT | credits : 0u;
            }
            if (class_id == 0 || credits < v.classes[class_id].capacity)
                atomic_or(&hints[class_id], 1u << (begin + b & 31u));
        }
        CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE);
        for (uint c = me; change && c <= classes; c += items) {
            __global uint *hint = clumpi_hint_word(clumpi_home_of(&v), c, 0, word);
            uint was = *hint;
            if (hints[c] == was) continue;
            *hint = hints[c];
            clumpi_hint_follow(clumpi_home_of(&v), c, word, was, hints[c]);
        }
    }
    if (t.dead) atomic_add(&sums.dead, t.dead);
    if (t.marked) atomic_add(&sums.marked, t.marked);
    if (t.blocks) atomic_add(&sums.blocks, t.blocks);
    CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE);
    if (me != 0) return;
    if (freed[0]) CLUMPI_ADD(&m.control->blocks_freed, freed[0]);
    if (sums.dead) CLUMPI_ADD(&m.control->dead, sums.dead);
    if (sums.marked) CLUMPI_ADD(&m.control->marked, sums.marked);
    if (sums.blocks) CLUMPI_ADD(&m.control->blocks, sums.blocks);
    if (change && get_group_id(0) == 0)
        CLUMPI_ADD(&v.header->epoch, 1); /* room appeared: cl/core/alloc.clh */
}
