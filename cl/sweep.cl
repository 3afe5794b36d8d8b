/* After marking: weak references, the list of what dies, and the sweep, which gives the slots of
 * all objects that are still white back to the allocator: an AND for each row, credits for each
 * block. Fields are not touched. Hints and the counters of active blocks follow in finish.cl.
 *
 * Read first: mark.clh, finish.cl.
 */
#include "cl/mark.clh"

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
        for (uint c = class->weak; c < class->columns_end; c++) {
            const clumpi_column column = clumpi_columns(&m.v)[c];
            for (uint at = (uint)get_local_id(0); at < class->rows * 64u;
                 at += (uint)get_local_size(0)) {
                uint g = clumpi_row_granule(&m.v, block, class_id, at >> 6), slot = at & 63u;
                ulong bits = clumpi_row_bits(&m.v, g) & ~clumpi_mark_row(&m, m.white, g);
                if (!(bits >> slot & 1ul)) continue;
                __global uchar *field =
                    heap + g * m.r.granule_bytes + column.base + slot * column.stride;
                for (uint e = 0; e < column.count; e++, field += column.step)
                    nulled += null_weak(&m, (__global uint *)field, column.first, column.last);
            }
        }
    }
    if (nulled) CLUMPI_ADD(&m.control->nulled, nulled);
}

/* A registered buffer of weak references, at offset + i * stride, in words. */
__kernel void clumpi_sweep_weak_outside(__global uchar *heap, uint header_at,
                                        __global uchar *marks, __global uint *refs, ulong offset,
                                        uint stride, ulong count) {
    const clumpi_mark m = clumpi_mark_of(heap, header_at, marks, 0);
    uint nulled = 0;
    const clumpi_part part = clumpi_part_of(count);
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
        for (; bits && at < room; bits &= bits - 1ul)
            dead[1 + at++] = g << 6 | clumpi_lowest64(bits);
    }
}

/* What only counting needs of a sweep, or (change 1) the sweep. Tiles of blocks; a team takes a
 * block's rows side by side. */
__kernel void clumpi_sweep(__global uchar *heap, uint header_at, __global uchar *marks,
                           uint change) {
    __local uint kind[CLUMPI_TILE], dying[CLUMPI_TILE], freed[256], sums[3];
    const clumpi_mark m = clumpi_mark_of(heap, header_at, marks, 0);
    const clumpi_view v = m.v;
    uint me = (uint)get_local_id(0), items = (uint)get_local_size(0);
    uint classes = v.header->class_count;
    clumpi_team team = clumpi_team_of(v.header->block_rows_max);
    for (uint c = me; c <= classes; c += items) freed[c] = 0;
    if (me == 0) sums[0] = sums[1] = sums[2] = 0;
    if (change) { /* for finish.cl: all classes take part */
        __global uint *plans = (__global uint *)clumpi_plans(&v);
        const uint words = sizeof(clumpi_class_plan) / 4u;
        for (uint i = (uint)get_global_id(0); i < (classes + 1u) * words;
             i += (uint)get_global_size(0))
            plans[i] = i % words == 0; /* clumpi_class_plan.selected */
    }
    clumpi_range chunk = clumpi_block_chunk(&v);
    for (uint tile = chunk.begin; tile < chunk.end; tile += CLUMPI_TILE) {
        uint blocks = min(CLUMPI_TILE, chunk.end - tile);
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint b = me; b < blocks; b += items) {
            kind[b] = clumpi_class_of_state(v.states[tile + b]);
            dying[b] = 0;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint b = team.index; b < blocks; b += team.count) {
            if (kind[b] == 0) continue;
            uint rows = v.classes[kind[b]].rows, die = 0, stay = 0;
            for (uint row = team.member; row < rows; row += team.size) {
                uint g = clumpi_row_granule(&v, tile + b, kind[b], row);
                ulong white = clumpi_mark_row(&m, m.white, g), bits = clumpi_row_bits(&v, g);
                die += clumpi_popcount64(white);
                stay += clumpi_popcount64(bits & ~white);
                if (change && white) clumpi_row_bits_set(&v, g, bits & ~white);
            }
            if (die) atomic_add(&dying[b], die);
            if (die) atomic_add(&sums[0], die);
            if (stay) atomic_add(&sums[1], stay);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint b = me; b < blocks; b += items) {
            if (kind[b]) atomic_inc(&sums[2]);
            if (!dying[b]) continue;
            uint credits = clumpi_credits_of_state(v.states[tile + b]) - dying[b];
            if (!credits) atomic_inc(&freed[kind[b]]);
            if (change)
                v.states[tile + b] = credits ? kind[b] << CLUMPI_CLASS_SHIFT | credits : 0u;
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint c = 1 + me; c <= classes; c += items) {
        if (!freed[c]) continue;
        CLUMPI_ADD(&m.control->blocks_freed, freed[c]);
        if (change) CLUMPI_SUB(&v.classes[c].blocks, freed[c]);
    }
    if (me != 0) return;
    if (sums[0]) CLUMPI_ADD(&m.control->dead, sums[0]);
    if (sums[1]) CLUMPI_ADD(&m.control->marked, sums[1]);
    if (sums[2]) CLUMPI_ADD(&m.control->blocks, sums[2]);
}
