/* Moving: objects of sources to the holes of targets, and forwarding references to where they were.
 *
 * A work-group takes a batch: as many neighbouring sources of one class as have 16 rows together,
 * or 16 rows of one. It numbers their objects and the holes that they go to from bitmaps alone,
 * copies all columns, and when the last object has left stores forwarding references from the begin
 * of each row on, one for each of its objects. Bitmaps are not touched, so other groups can read
 * them meanwhile; clumpi_fill then sets the bits of the targets.
 *
 * factor 0 is the planner's: holes are numbered through the whole list of targets, and batches go
 * on where the one before ended. Otherwise (bench/papers/merge) source number s of B fills the
 * targets s, s + B, s + 2B, .. of which there are `factor`, with holes numbered from 0; sources
 * that are not marked as moved stay.
 *
 * Read first: plan.clh. Read next: rewrite.cl.
 */
#include "cl/compact/plan.clh"

/* A class, and the sources and holes of the batch at hand. */
typedef struct batch {
    uint class_id, rows, capacity;
    uint source, sources; /* in the list of blocks; how many */
    uint row, row_count;  /* of the first source; of all that are taken */
    /* the first target in the list of blocks, and how many may follow */
    uint target, stride, targets;
    uint first; /* number of the first object of the first source */
} batch;

static inline batch batch_at(const clumpi_view *v, uint index, uint factor) {
    __global const clumpi_class_plan *plans = clumpi_plans(v);
    __global const uint *list = clumpi_plan_list(v);
    __global const clumpi_block_plan *block_plans = clumpi_block_plans(v);
    uint c = 1;
    /* bound: class_count */
    while (c < v->header->class_count &&
           (plans[c].batches == 0 || index >= plans[c].batch_begin + plans[c].batches))
        c++;
    batch b;
    b.class_id = c;
    b.rows = v->classes[c].rows;
    b.capacity = v->classes[c].capacity;
    uint blocks = factor ? 1u : clumpi_batch_blocks(b.rows), parts = clumpi_batch_parts(b.rows);
    uint begin = (index - plans[c].batch_begin) / parts * blocks;
    b.source = plans[c].source_begin + begin;
    b.sources = min(blocks, plans[c].sources - begin);
    b.row = (index - plans[c].batch_begin) % parts * CLUMPI_MOVE_ROWS;
    b.row_count = parts > 1u ? min(CLUMPI_MOVE_ROWS, b.rows - b.row) : b.sources * b.rows;
    const clumpi_block_plan at = block_plans[list[b.source]];
    b.first = at.source.first_object;
    b.target = plans[c].target_begin + at.source.target;
    b.stride = factor ? plans[c].sources : 1u;
    b.targets = factor;
    if (!factor) { /* up to where the next batch begins */
        uint next = begin + b.sources;
        uint end = next < plans[c].sources ? block_plans[list[b.source + b.sources]].source.target
                                           : plans[c].targets - 1;
        b.targets = end - at.source.target + 1;
    }
    return b;
}

static inline uint target_granule(const clumpi_view *v, const batch *b, uint row) {
    uint block = clumpi_plan_list(v)[b->target + row / b->rows * b->stride];
    return clumpi_row_granule(v, block, b->class_id, row % b->rows);
}

/* The place of hole number `number`, by binary search over the targets, then row by row: for
 * targets with so few holes that their rows do not fit in local memory. */
static inline uint place_far(const clumpi_view *v, const batch *b, uint number) {
    __global const uint *list = clumpi_plan_list(v);
    __global const clumpi_block_plan *block_plans = clumpi_block_plans(v);
    uint low = 0, high = b->targets;
    /* bound: 32: a binary search */
    while (high - low > 1) {
        uint middle = (low + high) / 2;
        uint first = block_plans[list[b->target + middle * b->stride]].target.first_hole;
        if (first <= number)
            low = middle;
        else
            high = middle;
    }
    uint block = list[b->target + low * b->stride];
    uint left = number - block_plans[block].target.first_hole;
    for (uint row = 0; row < b->rows; row++) {
        uint granule = clumpi_row_granule(v, block, b->class_id, row);
        ulong holes = ~clumpi_row_bits(v, granule);
        uint count = clumpi_popcount64(holes);
        if (left < count) return granule << 6 | clumpi_nth_bit(holes, left);
        left -= count;
    }
    return 0; /* cannot be: there are as many holes as objects */
}

#define COPY_ELEMENTS(type, ahead)                                                                 \
    {                                                                                              \
        uint e = 0;                                                                                \
        for (; e + ahead <= c.count; e += ahead) {                                                 \
            type w[ahead];                                                                         \
            for (uint k = 0; k < ahead; k++, from += c.step) w[k] = *(__global const type *)from;  \
            for (uint k = 0; k < ahead; k++, to += c.step) *(__global type *)to = w[k];            \
        }                                                                                          \
        for (; e < c.count; e++, from += c.step, to += c.step)                                     \
            *(__global type *)to = *(__global const type *)from;                                   \
    }

/* What copying needs of a class; in private and local memory, because the compiler cannot know that
 * objects do not overlap the heap's tables, and would read these again after each store. */
typedef struct recipe {
    clumpi_memory memory;
    uint columns;
    __local const clumpi_column *near; /* the first COLUMNS_NEAR of them */
    __global const clumpi_column *all;
} recipe;

#define COLUMNS_NEAR 32u

static inline void copy_object(const recipe *r, uint from_id, uint to_id) {
    __global const uchar *from_row = clumpi_granule_at(r->memory, from_id >> 6);
    __global uchar *to_row = clumpi_granule_at(r->memory, to_id >> 6);
    for (uint i = 0; i < r->columns; i++) {
        clumpi_column c;
        if (i < COLUMNS_NEAR)
            c = r->near[i];
        else
            c = r->all[i];
        __global const uchar *from = from_row + c.base + (from_id & 63u) * c.stride;
        __global uchar *to = to_row + c.base + (to_id & 63u) * c.stride;
        if (c.width == 4u)
            COPY_ELEMENTS(uint, 8)
        else if (c.width == 16u)
            COPY_ELEMENTS(uint4, 2)
        else if (c.width == 8u)
            COPY_ELEMENTS(uint2, 4)
        else if (c.width == 2u)
            COPY_ELEMENTS(ushort, 4)
        else
            COPY_ELEMENTS(uchar, 4)
    }
}

#if CLUMPI_ROW_PER_ITEM

#define COPY_ELEMENT(type)                                                                         \
    for (uint n = 0; n < objects; n++)                                                             \
        *(__global type *)(to[n] + at + to_slots[n] * c.stride) =                                  \
            *(__global const type *)(row + at + (slots[n] & 63u) * c.stride);

/* The objects of one row on a CPU: element by element, so that a row is read from its begin to its
 * end and what is known of a column stays in registers. */
CLUMPI_LOCAL_INLINED void copy_row(const recipe *r, __global const uchar *row,
                                   __local const ushort *slots, __local const uint *places,
                                   uint objects) {
    __global uchar *to[64];
    uchar to_slots[64];
    for (uint n = 0; n < objects; n++) {
        to[n] = clumpi_granule_at(r->memory, places[n] >> 6);
        to_slots[n] = (uchar)(places[n] & 63u);
    }
    for (uint i = 0; i < r->columns; i++) {
        const clumpi_column c = r->all[i];
        ulong at = c.base;
        for (uint e = 0; e < c.count; e++, at += c.step) {
            if (c.width == 4u)
                COPY_ELEMENT(uint)
            else if (c.width == 16u)
                COPY_ELEMENT(uint4)
            else if (c.width == 8u)
                COPY_ELEMENT(uint2)
            else if (c.width == 2u)
                COPY_ELEMENT(ushort)
            else
                COPY_ELEMENT(uchar)
        }
    }
}

#endif

/* All call together; `near` may be used after the next barrier. */
CLUMPI_LOCAL_INLINED recipe recipe_of(const clumpi_view *v, uint class_id,
                                      __local clumpi_column *near) {
    __global const clumpi_class *class = &v->classes[class_id];
    recipe r = {clumpi_memory_of(v->heap, v->header), class->refs - class->copies, near,
                clumpi_columns(v) + class->copies};
    for (uint i = (uint)get_local_id(0); i < min(r.columns, COLUMNS_NEAR);
         i += (uint)get_local_size(0))
        near[i] = r.all[i];
    return r;
}

/* Local memory of a batch. */
typedef struct scratch {
    __local ushort *slots; /* by number of an object in the batch: row << 6 | slot */
    __local uint *places;  /* by the same: its new reference */
    __local uint *row_granule, *row_first;   /* of the batch: granule, number of the first object */
    __local uint *hole_granule, *hole_first; /* of the targets: granule, number of the first hole */
    __local uint *sums;
} scratch;

#define FETCH_SLOTS 16u

/* Ask for a row early if FETCH_SLOTS or more of its slots are `needed`, which are in most of its
 * sectors of 32 bytes. Above all for a target: objects store parts of sectors, and the rest of
 * each, left to the cache, would be read when it writes back, sector by sector. */
static inline void fetch_row(const clumpi_view *v, uint class_id, uint granule, uint slot,
                             ulong needed) {
#if CLUMPI_HAVE_PTX
    if (clumpi_popcount64(needed) < FETCH_SLOTS) return;
    const clumpi_memory memory = clumpi_memory_of(v->heap, v->header);
    uint row_bytes = v->classes[class_id].row_granules * (uint)memory.granule_bytes;
    for (uint at = slot * 32u; at < row_bytes; at += 64u * 32u)
        __asm__ volatile("prefetch.global.L2 [%0];" ::"l"(clumpi_granule_at(memory, granule) + at));
#else
    (void)v, (void)class_id, (void)granule, (void)slot, (void)needed;
#endif
}

/* slots[] of the objects of the batch; returns how many there are. *first is the number of the
 * first. */
static inline uint number_objects(const clumpi_view *v, const batch *b, const scratch *l,
                                  uint *first) {
    uint me = (uint)get_local_id(0), items = (uint)get_local_size(0), before = 0;
    for (uint r = me; r < b->row; r += items) { /* in front of this part of a block */
        uint block = clumpi_plan_list(v)[b->source];
        before +=
            clumpi_popcount64(clumpi_row_bits(v, clumpi_row_granule(v, block, b->class_id, r)));
    }
    for (uint r = me; r < b->row_count; r += items) {
        uint row = b->row + r, block = clumpi_plan_list(v)[b->source + row / b->rows];
        l->row_granule[r] = clumpi_row_granule(v, block, b->class_id, row % b->rows);
        l->row_first[r] = clumpi_popcount64(clumpi_row_bits(v, l->row_granule[r]));
    }
    if (b->row) clumpi_group_scan(before, l->sums);
    *first = b->first + (b->row ? l->sums[items - 1] : 0u);
    CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE);
    uint objects = clumpi_group_scan_array(l->row_first, b->row_count, l->sums);
#if CLUMPI_ROW_PER_ITEM /* from bit to bit instead of slot by slot */
    for (uint r = me; r < b->row_count; r += items) {
        uint number = l->row_first[r];
        for (ulong bits = clumpi_row_bits(v, l->row_granule[r]); bits; bits &= bits - 1ul)
            l->slots[number++] = (ushort)(r << 6 | clumpi_lowest64(bits));
    }
#else
    for (uint i = me; i < b->row_count * 64u; i += items) {
        uint slot = i & 63u;
        ulong bits = clumpi_row_bits(v, l->row_granule[i >> 6]);
        fetch_row(v, b->class_id, l->row_granule[i >> 6], slot, bits);
        if (bits >> slot & 1ul)
            l->slots[l->row_first[i >> 6] + clumpi_popcount64(bits & ((1ul << slot) - 1ul))] =
                (ushort)i;
    }
#endif
    return objects;
}

/* places[] by holes of targets that have no more than CLUMPI_HOLE_ROWS rows. */
static inline void number_holes(const clumpi_view *v, const batch *b, const scratch *l,
                                uint first_object, uint objects) {
    uint me = (uint)get_local_id(0), items = (uint)get_local_size(0), rows = b->targets * b->rows;
    for (uint q = me; q < rows; q += items) {
        l->hole_granule[q] = target_granule(v, b, q);
        l->hole_first[q] = clumpi_popcount64(~clumpi_row_bits(v, l->hole_granule[q]));
    }
    CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE);
    uint holes_in_all = clumpi_group_scan_array(l->hole_first, rows, l->sums);
    /* Holes in front of the first object's are those of the batch before. */
    uint skip =
        first_object - clumpi_block_plans(v)[clumpi_plan_list(v)[b->target]].target.first_hole;
    for (uint q = me; q < rows; q += items)
        if (l->hole_first[q] <= skip &&
            skip < (q + 1u < rows ? l->hole_first[q + 1u] : holes_in_all))
            l->sums[0] = q;
    CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE);
    uint begin = l->sums[0]; /* the row of the first object's hole */
#if CLUMPI_ROW_PER_ITEM
    for (uint q = begin + me; q < rows && l->hole_first[q] < skip + objects; q += items) {
        uint number = l->hole_first[q] - skip, granule = l->hole_granule[q]; /* modulo 2^32 */
        for (ulong holes = ~clumpi_row_bits(v, granule); holes; holes &= holes - 1ul, number++)
            if (number < objects) l->places[number] = granule << 6 | clumpi_lowest64(holes);
    }
#else
    for (uint i = begin * 64u + me; i < rows * 64u; i += items) {
        uint slot = i & 63u, first = l->hole_first[i >> 6];
        if (first >= skip + objects) break; /* numbers only grow */
        uint granule = l->hole_granule[i >> 6];
        ulong holes = ~clumpi_row_bits(v, granule);
        if (~holes) fetch_row(v, b->class_id, granule, slot, holes);
        uint number = first + clumpi_popcount64(holes & ((1ul << slot) - 1ul)) - skip;
        if (holes >> slot & 1ul && number < objects) l->places[number] = granule << 6 | slot;
    }
#endif
    CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE);
}

/* places[] in free blocks that are filled from the start. */
static inline void number_fresh(const clumpi_view *v, const batch *b, const scratch *l,
                                uint first_object, uint objects, uint ordered,
                                __global const uint *order) {
    uint begin = clumpi_plans(v)[b->class_id].target_begin;
    for (uint n = (uint)get_local_id(0); n < objects; n += (uint)get_local_size(0)) {
        uint number = ordered ? order[first_object + n] : first_object + n;
        uint block = clumpi_plan_list(v)[begin + number / b->capacity];
        number %= b->capacity;
        l->places[n] = clumpi_row_granule(v, block, b->class_id, number >> 6) << 6 | (number & 63u);
    }
}

/* order: new numbers by old number, where `fresh` (targets are free blocks) says so. */
__kernel void clumpi_move(__global uchar *heap, uint header_at, uint factor, uint fresh,
                          uint ordered, __global const uint *order) {
    __local ushort slots[CLUMPI_MOVE_ROWS * 64u];
    __local uint places[CLUMPI_MOVE_ROWS * 64u];
    __local uint row_granule[CLUMPI_MOVE_ROWS], row_first[CLUMPI_MOVE_ROWS];
    __local uint hole_granule[CLUMPI_HOLE_ROWS], hole_first[CLUMPI_HOLE_ROWS], sums[256];
    __local clumpi_column columns[COLUMNS_NEAR];
    const scratch l = {slots, places, row_granule, row_first, hole_granule, hole_first, sums};
    clumpi_view v = clumpi_view_of(heap, header_at);
    uint me = (uint)get_local_id(0), items = (uint)get_local_size(0);
    __global const uint *moved = clumpi_moved(&v);
    for (uint index = (uint)get_group_id(0); index < clumpi_plans(&v)[0].batches;
         index += (uint)get_num_groups(0)) {
        batch b = batch_at(&v, index, factor);
        if (factor && !clumpi_is_moved(moved, clumpi_plan_list(&v)[b.source])) continue;
        const recipe r = recipe_of(&v, b.class_id, columns);
        uint first, objects = number_objects(&v, &b, &l, &first);
        /* One after the other: as a chain of branches PoCL 5.0 does not compile them
         * (docs/portability.md). */
        uint is_near = !fresh && objects && b.targets * b.rows <= CLUMPI_HOLE_ROWS;
        if (is_near) number_holes(&v, &b, &l, first, objects);
        if (fresh) number_fresh(&v, &b, &l, first, objects, ordered, order);
        for (uint n = me; !fresh && !is_near && n < objects; n += items)
            places[n] = place_far(&v, &b, first + n);
        CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE);
#if CLUMPI_ROW_PER_ITEM
        for (uint q = 0; q < b.row_count; q++) {
            uint begin = row_first[q], end = q + 1u < b.row_count ? row_first[q + 1u] : objects;
            copy_row(&r, clumpi_granule_at(r.memory, row_granule[q]), slots + begin, places + begin,
                     end - begin);
        }
#else
        for (uint n = me; n < objects; n += items)
            copy_object(&r, row_granule[slots[n] >> 6] << 6 | (slots[n] & 63u), places[n]);
#endif
        CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE); /* all have left */
        for (uint n = me; n < objects; n += items) {
            uint q = slots[n] >> 6;
            __global uchar *row = clumpi_granule_at(r.memory, row_granule[q]);
            ((__global uint *)row)[n - row_first[q]] = places[n];
        }
        CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE);
    }
}

/* Where in a target the last object goes: rows before `row` become full, of that one `mask` is
 * added. */
typedef struct cut {
    uint row;
    ulong mask;
} cut;

static inline cut find_cut(const clumpi_view *v, uint block, uint class_id, uint coming) {
    cut c = {0, 0};
    for (uint row = 0; row < v->classes[class_id].rows; row++) {
        ulong holes = ~clumpi_row_bits(v, clumpi_row_granule(v, block, class_id, row));
        uint count = clumpi_popcount64(holes);
        c.row = row;
        if (coming < count) {
            c.mask = coming ? holes & ((1ul << clumpi_nth_bit(holes, coming)) - 1ul) : 0ul;
            return c;
        }
        coming -= count;
    }
    c.row++; /* all rows become full */
    return c;
}

/* Bits and credits of the targets. A work-group takes as many targets as have 16 rows together. */
__kernel void clumpi_fill(__global uchar *heap, uint header_at, uint fresh) {
    __local uint coming[CLUMPI_MOVE_ROWS]; /* per target */
    clumpi_view v = clumpi_view_of(heap, header_at);
    uint me = (uint)get_local_id(0), items = (uint)get_local_size(0);
    for (uint c = 1; c <= v.header->class_count; c++) {
        __global const clumpi_class_plan *p = &clumpi_plans(&v)[c];
        uint rows = v.classes[c].rows, capacity = v.classes[c].capacity;
        if (!p->moves) continue;
        uint blocks = clumpi_batch_blocks(rows);
        __global const uint *list = clumpi_plan_list(&v) + p->target_begin;
        for (uint first = (uint)get_group_id(0) * blocks; first < p->targets;
             first += (uint)get_num_groups(0) * blocks) {
            uint count = min(blocks, p->targets - first);
            for (uint t = me; t < count; t += items) {
                uint block = list[first + t];
                const clumpi_block_plan plan = clumpi_block_plans(&v)[block];
                uint coming_in = plan.target.coming, hole = plan.target.first_hole;
                uint holes = capacity - (fresh ? 0u : clumpi_credits_of_state(v.states[block]));
                coming[t] = coming_in > hole ? min(coming_in - hole, holes) : 0u;
                if (coming[t])
                    CLUMPI_STORE(&v.states[block],
                                 c << CLUMPI_CLASS_SHIFT | (capacity - holes + coming[t]));
            }
            CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
            for (uint i = me; i < count * rows; i += items) {
                uint block = list[first + i / rows], row = i % rows, objects = coming[i / rows];
                if (!objects) continue;
                if (clumpi_credits_of_state(CLUMPI_LOAD(&v.states[block])) == capacity) {
                    clumpi_row_bits_set(&v, clumpi_row_granule(&v, block, c, row), ~0ul);
                } else if (row == 0) { /* alone: it reads what it changes */
                    cut end = find_cut(&v, block, c, objects);
                    for (uint r = 0; r < end.row; r++)
                        clumpi_row_bits_set(&v, clumpi_row_granule(&v, block, c, r), ~0ul);
                    uint granule = clumpi_row_granule(&v, block, c, min(end.row, rows - 1u));
                    if (end.mask)
                        clumpi_row_bits_set(&v, granule, clumpi_row_bits(&v, granule) | end.mask);
                }
            }
            CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE);
        }
    }
}
