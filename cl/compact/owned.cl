/* Raw memory that arrays own. A slot of it moves like an object of its class (plan.cl, move.cl).
 * The kernels here run around that, in heaps that have such arrays:
 *
 *   owners        before the plan: how many slots of each block have an owner, which is an array
 *                 whose words have the slot's handle. After the move: the new handles
 *   owners_aside  before the plan: blocks that have a slot without an owner are *pinned*. They get
 *                 a class that the planner does not know, so they neither give nor take. After the
 *                 plan they get their class back
 *
 * Nobody knows all places that have the handle of a slot without an owner. Memory with an alignment
 * that slots do not have counts as memory without an owner, and so do runs.
 *
 * Read first: plan.clh, reach.clh, cl/api/arrays.clh. Read next: plan.cl.
 */
#include "cl/compact/plan.clh"
#include "cl/compact/reach.clh"

/* The slot in use that has a handle. */
typedef struct owned_slot {
    uint ref; /* in the form of a reference to an object; 0: none */
    uint block, class_id;
    uint shift; /* bytes from its begin to the memory */
} owned_slot;

/* Handles that were overwritten lead to no slot outside of the heap. */
static inline owned_slot slot_of(const clumpi_view *v, const clumpi_reach *r, uint handle) {
    owned_slot none = {0, 0, 0, 0}, s;
    uint granule_units = (uint)r->memory.granule_bytes / CLUMPI_RAW_UNIT,
         granule = handle / granule_units;
    s.block = clumpi_block_of(r, granule);
    if (s.block < r->first_block || granule >= r->end) return none;
    s.class_id = clumpi_class_of_state(r->states[s.block]);
    if (s.class_id <= r->class_count || s.class_id > v->header->class_count) return none;
    __global const clumpi_class *class = &v->classes[s.class_id];
    uint row = (granule - s.block * r->granules) / class->row_granules;
    if (class->is_runs || row >= class->rows) return none;
    granule = s.block * r->granules + row * class->row_granules;
    uint into = (handle - granule * granule_units) * CLUMPI_RAW_UNIT,
         slot = into / class->slot_bytes;
    if (slot > 63u || !(clumpi_row_bits(v, granule) >> slot & 1ul)) return none;
    s.ref = granule << 6 | slot;
    s.shift = into % class->slot_bytes;
    return s;
}

/* Does the memory have the same place in any slot of the class, for elements of so many bytes? */
static inline uint can_move(const clumpi_view *v, const owned_slot *s, uint bytes) {
    uint aligned = v->classes[s->class_id].slot_bytes | v->header->granule_bytes;
    if (bytes > CLUMPI_RAW_UNIT && aligned & (bytes - 1u)) return 0;
    return v->header->at_checked ? s->shift >= CLUMPI_PIECE_BEFORE : s->shift == 0;
}

/* The handle of memory in a slot of a block that objects left. */
static inline uint moved_handle(const clumpi_view *v, const clumpi_reach *r, const owned_slot *s) {
    uint granule = s->ref >> 6;
    uint to = *clumpi_forward(clumpi_granule_at(r->memory, granule), clumpi_row_bits(v, granule),
                              s->ref & 63u);
    uint into = (to & 63u) * v->classes[s->class_id].slot_bytes + s->shift;
    return (to >> 6) * ((uint)r->memory.granule_bytes / CLUMPI_RAW_UNIT) + into / CLUMPI_RAW_UNIT;
}

/* All arrays that have raw memory; a work-group per block. */
__kernel void clumpi_owners(__global uchar *heap, uint header_at, uint has_moved) {
    const clumpi_view v = clumpi_view_of(heap, header_at);
    const clumpi_reach r = clumpi_reach_of(&v);
    for (uint block = r.first_block + (uint)get_group_id(0); block < r.block_end;
         block += (uint)get_num_groups(0)) {
        uint c = clumpi_class_of_state(r.states[block]);
        if (c == 0 || c > r.class_count) continue;
        if (has_moved && clumpi_is_moved(r.moved, block)) continue;
        uint rows = v.classes[c].rows, row_granules = v.classes[c].row_granules;
        for (uint i = v.classes[c].columns_end; i < v.classes[c].owners_end; i++) {
            const clumpi_column words = clumpi_columns(&v)[i];
            for (uint at = (uint)get_local_id(0); at < rows * 64u; at += (uint)get_local_size(0)) {
                uint granule = block * r.granules + (at >> 6) * row_granules, slot = at & 63u;
                __global uint *handle =
                    (__global uint *)(clumpi_granule_at(r.memory, granule) + words.base +
                                      2u * words.step + slot * words.stride);
                if (!(clumpi_row_bits(&v, granule) >> slot & 1ul)) continue;
                const owned_slot s = slot_of(&v, &r, *handle);
                if (!s.ref) continue;
                if (has_moved && clumpi_is_moved(r.moved, s.block))
                    *handle = moved_handle(&v, &r, &s);
                else if (!has_moved && can_move(&v, &s, words.width))
                    atomic_inc(&clumpi_block_plans(&v)[s.block].raw.owned);
            }
        }
    }
}

/* ends 0: blocks step aside; 1: they come back. */
__kernel void clumpi_owners_aside(__global uchar *heap, uint header_at, uint ends) {
    const clumpi_view v = clumpi_view_of(heap, header_at);
    __global clumpi_class_plan *sums = clumpi_plans(&v);
    for (uint b = v.header->first_block + (uint)get_global_id(0); b < v.header->block_end;
         b += (uint)get_global_size(0)) {
        uint state = v.states[b], c = clumpi_class_of_state(state);
        __global clumpi_block_plan *plan = &clumpi_block_plans(&v)[b];
        if (ends) {
            if (c == CLUMPI_RESERVED) v.states[b] = plan->raw.state;
            continue;
        }
        if (c < v.header->first_raw || c > v.header->class_count) continue;
        uint used = clumpi_credits_of_state(state);
        if (plan->raw.owned == used) continue; /* a run is never owned */
        atomic_inc(&sums->pinned_blocks);
        atomic_add(&sums->pinned_units, used * (v.classes[c].slot_bytes / CLUMPI_RAW_UNIT));
        plan->raw.state = state;
        v.states[b] = CLUMPI_RESERVED << CLUMPI_CLASS_SHIFT;
    }
}
