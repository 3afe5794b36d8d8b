/* Moving: objects of sources to the holes of targets, and forwarding references to where they were.
 *
 * A work-group takes a batch: as many neighbouring sources of one class as have 64 rows together, or
 * one. It works out the new place of every object from bitmaps alone, copies all columns, and when
 * the last object has left overwrites the first 256 bytes of each row with 64 forwarding references,
 * 0 where there was no object. Bitmaps are not touched, so other groups can read them meanwhile;
 * clumpi_fill then sets the bits of the targets.
 *
 * factor 0 is the planner's: holes are numbered through the whole list of targets, and batches go
 * on where the one before ended. Otherwise (merge) source number s of B fills the targets s, s + B,
 * s + 2B, .. of which there are `factor`, with holes numbered from 0.
 *
 * Read first: plan.clh. Read next: rewrite.cl.
 */
#include "cl/plan.clh"

/* A class, and the sources and holes of the batch at hand. */
typedef struct batch {
    uint class_id, rows, capacity;
    uint source, sources; /* in the list of blocks; how many */
    uint target, stride, targets; /* the first target in the list of blocks, and how many may follow */
    uint first;                   /* number of the first object */
} batch;

static inline batch batch_at(const clumpi_view *v, uint index, uint factor) {
    __global const clumpi_class_plan *plans = clumpi_plans(v);
    __global const uint *list = clumpi_plan_list(v);
    __global const uint2 *words = clumpi_plan_words(v);
    uint c = 1;
    while (c < v->header->class_count &&
           (plans[c].batches == 0 || index >= plans[c].batch_begin + plans[c].batches))
        c++;
    batch b;
    b.class_id = c;
    b.rows = v->classes[c].rows;
    b.capacity = v->classes[c].capacity;
    uint blocks = factor ? 1u : clumpi_batch_blocks(b.rows);
    uint begin = (index - plans[c].batch_begin) * blocks;
    b.source = plans[c].source_begin + begin;
    b.sources = min(blocks, plans[c].sources - begin);
    uint2 at = words[list[b.source]];
    b.first = at.x;
    b.target = plans[c].target_begin + at.y;
    b.stride = factor ? plans[c].sources : 1u;
    b.targets = factor;
    if (!factor) { /* up to where the next batch begins */
        uint next = begin + b.sources;
        uint end = next < plans[c].sources ? words[list[b.source + b.sources]].y
                                           : plans[c].targets - 1;
        b.targets = end - at.y + 1;
    }
    return b;
}

static inline uint target_granule(const clumpi_view *v, const batch *b, uint row) {
    uint block = clumpi_plan_list(v)[b->target + row / b->rows * b->stride];
    return clumpi_row_granule(v, block, b->class_id, row % b->rows);
}

/* The place of hole number `number`, by binary search over the targets, then row by row: for targets
 * with so few holes that their rows do not fit in local memory. */
static inline uint place_far(const clumpi_view *v, const batch *b, uint number) {
    __global const uint *list = clumpi_plan_list(v);
    __global const uint2 *words = clumpi_plan_words(v);
    uint low = 0, high = b->targets;
    while (high - low > 1) {
        uint middle = (low + high) / 2;
        if (words[list[b->target + middle * b->stride]].x <= number) low = middle;
        else high = middle;
    }
    uint block = list[b->target + low * b->stride];
    uint left = number - words[block].x;
    for (uint row = 0; row < b->rows; row++) {
        uint granule = clumpi_row_granule(v, block, b->class_id, row);
        ulong holes = ~clumpi_row_bits(v, granule);
        uint count = clumpi_popcount64(holes);
        if (left < count) return granule << 6 | clumpi_nth_bit(holes, left);
        left -= count;
    }
    return 0; /* cannot be: there are as many holes as objects */
}

#define COPY_ELEMENTS(type)                                                                        \
    {                                                                                              \
        uint e = 0;                                                                                \
        for (; e + 4 <= c.count; e += 4, from += 4 * c.step, to += 4 * c.step) {                   \
            type w0 = *(__global const type *)from;                                                \
            type w1 = *(__global const type *)(from + c.step);                                     \
            type w2 = *(__global const type *)(from + 2 * c.step);                                 \
            type w3 = *(__global const type *)(from + 3 * c.step);                                 \
            *(__global type *)to = w0;                                                             \
            *(__global type *)(to + c.step) = w1;                                                  \
            *(__global type *)(to + 2 * c.step) = w2;                                              \
            *(__global type *)(to + 3 * c.step) = w3;                                              \
        }                                                                                          \
        for (; e < c.count; e++, from += c.step, to += c.step)                                     \
            *(__global type *)to = *(__global const type *)from;                                   \
    }

static inline void copy_object(const clumpi_view *v, uint class_id, uint from_id, uint to_id) {
    ulong bytes = v->header->granule_bytes;
    __global const uchar *from_row = v->heap + (ulong)(from_id >> 6) * bytes;
    __global uchar *to_row = v->heap + (ulong)(to_id >> 6) * bytes;
    for (uint i = v->classes[class_id].copies; i < v->classes[class_id].refs; i++) {
        clumpi_column c = clumpi_columns(v)[i];
        __global const uchar *from = from_row + c.base + (from_id & 63u) * c.stride;
        __global uchar *to = to_row + c.base + (to_id & 63u) * c.stride;
        if (c.width == 4u) COPY_ELEMENTS(uint)
        else if (c.width == 16u) COPY_ELEMENTS(uint4)
        else if (c.width == 8u) COPY_ELEMENTS(uint2)
        else if (c.width == 2u) COPY_ELEMENTS(ushort)
        else COPY_ELEMENTS(uchar)
    }
}

/* order: new numbers by old number, where `fresh` (targets are free blocks) says so. */
__kernel void clumpi_move(__global uchar *heap, uint header_at, uint factor, uint fresh,
                          uint ordered, __global const uint *order) {
    __local uint places[CLUMPI_MOVE_ROWS * 64u]; /* new references of the batch's slots; 0: none */
    __local ulong row_bits[CLUMPI_MOVE_ROWS];
    __local uint row_granule[CLUMPI_MOVE_ROWS], row_first[CLUMPI_MOVE_ROWS];
    __local uint hole_granule[CLUMPI_HOLE_ROWS], hole_first[CLUMPI_HOLE_ROWS], sums[256];
    clumpi_view v = clumpi_view_of(heap, header_at);
    uint me = (uint)get_local_id(0), items = (uint)get_local_size(0);
    __global const uint *list = clumpi_plan_list(&v);
    __global const uint *moved = clumpi_words_at(&v, v.header->at_moved);
    for (uint index = (uint)get_group_id(0); index < clumpi_plans(&v)[0].batches;
         index += (uint)get_num_groups(0)) {
        batch b = batch_at(&v, index, factor);
        if (factor && !clumpi_is_moved(moved, list[b.source])) continue; /* not in this pass */
        uint rows = b.sources * b.rows, hole_rows = b.targets * b.rows;
        uint near = !fresh && hole_rows <= CLUMPI_HOLE_ROWS;
        for (uint r = me; r < rows; r += items) {
            uint granule = clumpi_row_granule(&v, list[b.source + r / b.rows], b.class_id,
                                              r % b.rows);
            ulong bits = clumpi_row_bits(&v, granule);
            row_granule[r] = granule;
            row_bits[r] = bits;
            row_first[r] = clumpi_popcount64(bits);
        }
        for (uint q = me; near && q < hole_rows; q += items) {
            uint granule = target_granule(&v, &b, q);
            hole_granule[q] = granule;
            hole_first[q] = clumpi_popcount64(~clumpi_row_bits(&v, granule));
        }
        uint hole = near ? clumpi_plan_words(&v)[list[b.target]].x : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        clumpi_group_scan_array(row_first, rows, sums);
        if (near) clumpi_group_scan_array(hole_first, hole_rows, sums);
        uint q = 0; /* the row of the last hole found: numbers only grow */
        for (uint i = me; i < rows * 64u; i += items) {
            uint slot = i & 63u, place = 0;
            ulong bits = row_bits[i >> 6];
            if (bits >> slot & 1ul) {
                uint number = b.first + row_first[i >> 6] +
                              clumpi_popcount64(bits & ((1ul << slot) - 1ul));
                if (fresh) {
                    if (ordered) number = order[number];
                    uint block = list[clumpi_plans(&v)[b.class_id].target_begin +
                                      number / b.capacity];
                    number %= b.capacity;
                    place = clumpi_row_granule(&v, block, b.class_id, number >> 6) << 6 |
                            (number & 63u);
                } else if (near) {
                    number -= hole;
                    while (q + 1 < hole_rows && hole_first[q + 1] <= number) q++;
                    uint granule = hole_granule[q];
                    place = granule << 6 |
                            clumpi_nth_bit(~clumpi_row_bits(&v, granule), number - hole_first[q]);
                } else {
                    place = place_far(&v, &b, number);
                }
            }
            places[i] = place;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint i = me; i < rows * 64u; i += items)
            if (places[i])
                copy_object(&v, b.class_id, row_granule[i >> 6] << 6 | (i & 63u), places[i]);
        barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE); /* all have left */
        for (uint i = me; i < rows * 64u; i += items) {
            ulong row = (ulong)row_granule[i >> 6] * v.header->granule_bytes;
            if (row_bits[i >> 6]) ((__global uint *)(v.heap + row))[i & 63u] = places[i];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

/* Bits, credits and hints of the targets. A work-group per target. */
__kernel void clumpi_fill(__global uchar *heap, uint header_at, uint fresh) {
    __local uint holes_before[CLUMPI_ROWS_MAX], sums[256];
    clumpi_view v = clumpi_view_of(heap, header_at);
    uint me = (uint)get_local_id(0), items = (uint)get_local_size(0);
    for (uint c = 1; c <= v.header->class_count; c++) {
        __global const clumpi_class_plan *p = &clumpi_plans(&v)[c];
        uint rows = v.classes[c].rows, capacity = v.classes[c].capacity;
        if (!p->moves) continue;
        for (uint t = (uint)get_group_id(0); t < p->targets; t += (uint)get_num_groups(0)) {
            uint block = clumpi_plan_list(&v)[p->target_begin + t];
            uint2 at = clumpi_plan_words(&v)[block];
            uint credits = fresh ? 0u : clumpi_credits_of_state(v.states[block]);
            uint coming = at.y > at.x ? min(at.y - at.x, capacity - credits) : 0u;
            if (!coming) continue;
            for (uint r = me; r < rows; r += items)
                holes_before[r] = clumpi_popcount64(
                    ~clumpi_row_bits(&v, clumpi_row_granule(&v, block, c, r)));
            barrier(CLK_LOCAL_MEM_FENCE);
            clumpi_group_scan_array(holes_before, rows, sums);
            for (uint r = me; r < rows; r += items) {
                uint granule = clumpi_row_granule(&v, block, c, r);
                ulong bits = clumpi_row_bits(&v, granule), holes = ~bits;
                if (holes_before[r] >= coming || !holes) continue;
                uint take = coming - holes_before[r];
                if (take < clumpi_popcount64(holes)) holes &= (1ul << clumpi_nth_bit(holes, take)) - 1ul;
                clumpi_row_bits_set(&v, granule, bits | holes);
            }
            barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
            if (me == 0) {
                CLUMPI_STORE(&v.states[block], c << CLUMPI_CLASS_SHIFT | (credits + coming));
                if (fresh) {
                    CLUMPI_ADD(&v.classes[c].blocks, 1);
                    clumpi_hint_agree(&v, 0, 0, block);
                }
                if (fresh || credits + coming == capacity) clumpi_hint_agree(&v, c, 0, block);
            }
        }
    }
}
