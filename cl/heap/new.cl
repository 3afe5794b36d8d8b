/* Do-new: room for n objects of one class at once, without per-object atomics; two launches.
 *
 * Whole fresh blocks first, then free slots of blocks in use, then one more fresh block for the
 * rest, so that repeated do-news of few objects do not open a block each. The host can say how many
 * fresh blocks are filled first, at most. All in address order: the
 * same heap gives the same objects in every run. Runs alone: no other kernel changes the heap
 * meanwhile.
 *
 * The rows are left in the list (whose order is free) with the number of their first object;
 * header.list_of says whose they are, so that a loop of another class or of another kind of kernel
 * does not take them.
 * Read first: reserve.clh, cl/heap/layout.h.
 */
#include "cl/heap/reserve.clh"

static inline __global clumpi_new_supply *new_supplies(const clumpi_view *v) {
    return (__global clumpi_new_supply *)clumpi_words_at(v, v->header->at_scan);
}

/* Gives back what is reserved, and counts. */
__kernel void clumpi_new_count(__global uchar *heap, uint header_at, uint class_id, uint turn) {
    __local clumpi_new_supply count;
    __local reserve_tile tile[1];
    __local reserve_hints hints[1];
    clumpi_view v = clumpi_view_of(heap, header_at);
    reserve_end(&v, turn, tile, hints);
    CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    uint me = (uint)get_local_id(0), items = (uint)get_local_size(0);
    if (me == 0) count.free_blocks = count.free_slots = 0;
    CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE);
    clumpi_range chunk = clumpi_block_chunk(&v);
    CLUMPI_ROLLED for (uint b = chunk.begin + me; b < chunk.end; b += items) {
        uint state = v.states[b];
        if (state == 0) atomic_inc(&count.free_blocks);
        if (clumpi_class_of_state(state) == class_id)
            atomic_add(&count.free_slots,
                       v.classes[class_id].capacity - clumpi_credits_of_state(state));
    }
    CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE);
    if (me == 0) {
        new_supplies(&v)[get_group_id(0)] = count;
        if (get_group_id(0) == 0) v.header->new_rows = 0;
    }
    /* The list's rows are about to be replaced: until it is made anew, no class has any. */
    if (get_group_id(0) == 0)
        CLUMPI_ROLLED for (uint c = me; c <= v.header->class_count + 1; c += items)
            clumpi_words_at(&v, v.header->at_list_begin)[c] = 0;
}

/* How many objects go where; computed alike by every group. */
typedef struct new_plan {
    uint full;  /* fresh blocks filled to capacity: objects 0 .. full*capacity-1 */
    uint part;  /* objects in free slots of blocks in use: the next ones */
    uint extra; /* objects in one more fresh block: the last ones */
    uint blocks_before, slots_before; /* in the chunks of the groups before this one */
} new_plan;

CLUMPI_LOCAL_INLINED new_plan plan_new(const clumpi_view *v, uint capacity, uint count, uint fresh,
                                       __local clumpi_new_supply *before,
                                       __local clumpi_new_supply *all) {
    clumpi_groups_sum((__global const uint *)new_supplies(v),
                      (uint)(sizeof(clumpi_new_supply) / 4u), (__local uint *)before,
                      (__local uint *)all);
    new_plan p = {0, 0, 0, before->free_blocks, before->free_slots};
    uint blocks = all->free_blocks, slots = all->free_slots;
    p.full = min(min(count / capacity, fresh), blocks);
    p.part = min(count - p.full * capacity, slots);
    uint rest = count - p.full * capacity - p.part;
    p.extra = blocks > p.full ? min(rest, capacity) : 0;
    return p;
}

static inline void list_row(const clumpi_view *v, uint granule, ulong mask, uint index) {
    uint at = CLUMPI_ADD(&v->header->new_rows, 1);
    clumpi_words_at(v, v->header->at_list_rows)[at] = granule;
    ((__global ulong *)clumpi_words_at(v, v->header->at_list_masks))[at] = mask;
    clumpi_words_at(v, v->header->at_list_index)[at] = index;
}

/* Row `row` of a fresh block that takes `objects` objects, the first of them number `index`. */
static inline void fill_fresh_row(const clumpi_view *v, uint block, uint class_id, uint row,
                                  uint objects, uint index) {
    if (row * 64u >= objects) return;
    uint slots = min(64u, objects - row * 64u);
    ulong mask = slots == 64u ? ~0ul : (1ul << slots) - 1ul;
    uint granule = clumpi_row_granule(v, block, class_id, row);
    clumpi_row_bits_set(v, granule, mask);
    list_row(v, granule, mask, index + row * 64u);
    if (row) return;
    CLUMPI_STORE(&v->states[block], class_id << CLUMPI_CLASS_SHIFT | objects);
    clumpi_hint_agree(clumpi_home_of(v), class_id, 0, block);
    clumpi_hint_agree(clumpi_home_of(v), 0, 0, block);
}

/* Up to `objects` free slots of a block in use, the first of them number `index`. */
static inline void fill_block(const clumpi_view *v, uint block, uint class_id, uint objects,
                              uint index) {
    uint left = objects;
    CLUMPI_ROLLED for (uint row = 0; row < v->classes[class_id].rows && left; row++) {
        uint granule = clumpi_row_granule(v, block, class_id, row);
        ulong taken = clumpi_row_bits(v, granule), clear = ~taken, mask = clear;
        CLUMPI_ROLLED for (uint surplus = clumpi_popcount64(clear); surplus > left; surplus--)
            mask &= ~(1ul << (63ul - clz(mask))); /* drop the highest */
        if (!mask) continue;
        clumpi_row_bits_set(v, granule, taken | mask);
        list_row(v, granule, mask, index);
        index += clumpi_popcount64(mask);
        left -= clumpi_popcount64(mask);
    }
    CLUMPI_ADD(&v->states[block], objects - left);
    clumpi_hint_agree(clumpi_home_of(v), class_id, 0, block);
}

__kernel void clumpi_new_claim(__global uchar *heap, uint header_at, uint class_id, uint count,
                               uint fresh_most) {
    /* For each block of the tile: objects it takes, the number of the first, 1 if it is fresh. */
    __local uint state[CLUMPI_TILE], objects[CLUMPI_TILE], first[CLUMPI_TILE], fresh[CLUMPI_TILE];
    __local clumpi_new_supply sums[2]; /* of the groups before this one; of all */
    clumpi_view v = clumpi_view_of(heap, header_at);
    uint me = (uint)get_local_id(0), items = (uint)get_local_size(0);
    uint rows = v.classes[class_id].rows, capacity = v.classes[class_id].capacity;
    new_plan p = plan_new(&v, capacity, count, fresh_most, &sums[0], &sums[1]);
    uint made = p.full * capacity + p.part + p.extra;
    if (get_global_id(0) == 0) {
        v.header->new_objects = made;
        v.header->list_of = class_id;
        if (made < count)
            clumpi_report(clumpi_home_of(&v), CLUMPI_ERROR_OUT_OF_MEMORY, count - made, class_id,
                          0);
    }
    clumpi_range chunk = clumpi_block_chunk(&v);
    uint blocks_before = p.blocks_before, slots_before = p.slots_before;
    CLUMPI_ROLLED for (uint tile = chunk.begin; tile < chunk.end; tile += CLUMPI_TILE) {
        uint blocks = min(CLUMPI_TILE, chunk.end - tile), in_blocks = blocks_before,
             in_slots = slots_before;
        CLUMPI_ROLLED for (uint b = me; b < blocks; b += items) state[b] = v.states[tile + b];
        CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE);
        /* every work-item counts along; b == its own: keep */
        CLUMPI_ROLLED for (uint b = 0; b < blocks; b++) {
            uint is_free = state[b] == 0, is_ours = clumpi_class_of_state(state[b]) == class_id;
            uint room = is_ours ? capacity - clumpi_credits_of_state(state[b]) : 0;
            if (b % items == me) {
                fresh[b] = is_free;
                if (is_free) {
                    objects[b] = in_blocks < p.full ? capacity : in_blocks == p.full ? p.extra : 0;
                    first[b] =
                        in_blocks < p.full ? in_blocks * capacity : p.full * capacity + p.part;
                } else {
                    objects[b] = in_slots < p.part ? min(room, p.part - in_slots) : 0;
                    first[b] = p.full * capacity + in_slots;
                }
            }
            in_blocks += is_free;
            in_slots += room;
        }
        blocks_before = in_blocks;
        slots_before = in_slots;
        CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE);
        CLUMPI_ROLLED for (uint i = me; i < blocks * rows; i += items) {
            uint b = i / rows, row = i % rows;
            if (fresh[b] && objects[b])
                fill_fresh_row(&v, tile + b, class_id, row, objects[b], first[b]);
            else if (!fresh[b] && objects[b] && row == 0)
                fill_block(&v, tile + b, class_id, objects[b], first[b]);
        }
        CLUMPI_BARRIER(CLK_LOCAL_MEM_FENCE);
    }
}

/* What arrays of run-time length have in the objects just made: 0 in the columns that say so. */
__kernel void clumpi_new_clear(__global uchar *heap, uint header_at, uint class_id) {
    const clumpi_view v = clumpi_view_of(heap, header_at);
    __global const uint *rows = clumpi_words_at(&v, v.header->at_list_rows);
    __global const ulong *masks =
        (__global const ulong *)clumpi_words_at(&v, v.header->at_list_masks);
    __global const clumpi_column *columns =
        (__global const clumpi_column *)clumpi_words_at(&v, v.header->at_columns);
    const ulong slots = (ulong)v.header->new_rows * 64ul;
    const clumpi_memory memory = clumpi_memory_of(heap, v.header);
    const uint first = v.classes[class_id].cleared, end = v.classes[class_id].columns_end;
    CLUMPI_ROLLED for (ulong at = get_global_id(0); at < slots; at += get_global_size(0)) {
        uint slot = (uint)at & 63u;
        if (!(masks[at >> 6] >> slot & 1ul)) continue;
        CLUMPI_ROLLED for (uint c = first; c < end; c++) {
            __global uchar *word = clumpi_granule_at(memory, rows[at >> 6]) + columns[c].base +
                                   slot * columns[c].stride;
            CLUMPI_ROLLED for (uint e = 0; e < columns[c].count; e++) *
                (__global uint *)(word + e * columns[c].step) = 0;
        }
    }
}
