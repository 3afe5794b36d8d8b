/* The heap check: every invariant of layout.h, on the device.
 *
 * Each violation has a key (block, then code; what is wrong with reservations comes first). The
 * first round of launches finds the lowest key. The second, given that key, leaves its details; one
 * work-item alone does what lies outside blocks. So the answer is the same in every run. The result
 * is a clumpi_check.
 *
 * The host has compared the header and the fixed part of the class table before. All else may have
 * any value: nothing is used as an index or as a bound before it was compared with those.
 *
 * Reservations stay as they are. A reserved slot is a credit that no object has, so the first
 * kernel counts them by block, from the stripes, and the second one knows how many credits each
 * block must have.
 *
 * Read first: cl/core/layout.h, cl/core/reserve.clh, cl/heap/layout.h.
 */
#include "cl/core/reserve.clh"
#include "cl/core/scan.clh"
#include "cl/heap/layout.h"

static inline __global clumpi_check *check_of(const clumpi_view *v) {
    return (__global clumpi_check *)clumpi_words_at(v, v->header->at_scan);
}

static inline void violation_at(const clumpi_view *v, uint told, uint key, uint code, uint block,
                                uint class_id, uint expected, uint found) {
    __global clumpi_violation *first = &check_of(v)->first;
    if (!(told & CLUMPI_CHECK_REPORTING)) {
        atomic_min(&first->key, key);
    } else if (first->key == key &&
               !first->is_told) { /* several may share a key: the first found */
        first->is_told = 1;
        first->code = code;
        first->block = block;
        first->class_id = class_id;
        first->expected = expected;
        first->found = found;
    }
}

static inline void violation(const clumpi_view *v, uint told, uint code, uint block, uint class_id,
                             uint expected, uint found) {
    violation_at(v, told, block << CLUMPI_VIOLATION_CODE_BITS | code, code, block, class_id,
                 expected, found);
}

/* Of what is reserved: named before all blocks, since it makes the counts of these wrong, too. */
static inline void violation_reserved(const clumpi_view *v, uint told, uint code, uint class_id,
                                      uint expected, uint found) {
    violation_at(v, told, code, code, v->header->block_end, class_id, expected, found);
}

/* ---- Reservations ---------------------------------------------------------------------------- */

/* By block: slots that are reserved and were not handed out. */
static inline __global uint *check_reserved_slots(const clumpi_view *v) {
    return clumpi_words_at(v, v->header->at_plan_list);
}

/* Does the record of the block that it is of name row number `row`, or, of a row of holes, holes
 * first .. last - 1? */
static inline uint check_named(const clumpi_view *v, uint block, uint is_holes, uint first,
                               uint last) {
    clumpi_striped b = clumpi_striped_of(clumpi_home_of(v), block);
    uint from = is_holes ? b.first_hole : b.first_row,
         count = is_holes ? b.counts >> 16 : (b.counts & 0xffffu) / 64u;
    return first >= from && first < last && last - from <= count && (b.counts & 63u) == 0;
}

/* The block of a row that starts at a granule; CLUMPI_NONE: no row of the class does. */
static inline uint check_row_block(const clumpi_view *v, uint class_id, uint granule) {
    uint granules = v->header->block_granules, block = granule / granules;
    if (block < v->header->first_block || block >= v->header->block_end) return CLUMPI_NONE;
    if (clumpi_class_of_state(v->states[block]) != class_id) return CLUMPI_NONE;
    uint offset = granule - block * granules, k = v->classes[class_id].row_granules;
    return offset % k == 0 && offset / k < v->classes[class_id].rows ? block : CLUMPI_NONE;
}

/* Holes from .. to-1 of entry number `part` of the list of holes: count them for their blocks. 0:
 * it leads astray, or the blocks do not name them. Each row of the list on the way has a hole, so
 * they are less than 128. */
static inline uint check_holes(const clumpi_view *v, uint told, uint class_id, uint part,
                               uint entry, uint from, uint to) {
    __global const uint *partial = clumpi_words_at(v, v->header->at_slots);
    __global const uint *rows = clumpi_words_at(v, v->header->at_list_rows);
    __global const ulong *masks =
        (__global const ulong *)clumpi_words_at(v, v->header->at_list_masks);
    uint at = entry >> 6, most = v->header->slots_rows, seen = 0,
         number = part * CLUMPI_HOLES - (entry & 63u);
    from += entry & 63u;
    to += entry & 63u;
    for (uint i = 0; i < 128u && seen < to; i++) {
        if (at + i >= most || partial[at + i] >= most) return 0;
        uint row = partial[at + i], block = check_row_block(v, class_id, rows[row]);
        uint end = seen + clumpi_popcount64(~masks[row]);
        uint first = max(seen, from), last = min(end, to);
        /* The blocks of those that were handed out may be others by now. */
        if (first < last &&
            (block == CLUMPI_NONE || !check_named(v, block, 1, number + first, number + last)))
            return 0;
        if (first < last && !(told & CLUMPI_CHECK_REPORTING))
            atomic_add(&check_reserved_slots(v)[block], last - first);
        seen = end;
    }
    return seen >= to;
}

/* Slots from .. to-1 of a reserved row. */
static inline void check_reserved_row(const clumpi_view *v, uint told, uint class_id, uint row,
                                      uint from, uint to) {
    __global const clumpi_reservation *r = &v->classes[class_id].reserved;
    uint is_holes = row < r->holes, at = r->empty_from + row, right = is_holes, entry = 0;
    uint most = v->header->slots_rows + v->header->slots_holes;
    __global const uint *slots = clumpi_words_at(v, v->header->at_slots);
    for (uint i = 0; i < CLUMPI_ROW_SLOTS / CLUMPI_HOLES; i++) {
        uint begin = max(from, i * CLUMPI_HOLES), end = min(to, (i + 1u) * CLUMPI_HOLES);
        uint part = row * (CLUMPI_ROW_SLOTS / CLUMPI_HOLES) + i;
        if (!is_holes || !right || begin >= end) continue;
        at = r->holes_from + part;
        entry = at < most ? slots[at] : 0u;
        right = at < most && check_holes(v, told, class_id, part, entry, begin - i * CLUMPI_HOLES,
                                         end - i * CLUMPI_HOLES);
    }
    if (!is_holes && at < v->header->slots_rows) {
        entry = slots[at];
        uint block = entry & 63u ? CLUMPI_NONE : check_row_block(v, class_id, entry >> 6);
        right = block != CLUMPI_NONE && check_named(v, block, 0, row, row + 1u);
        if (right && !(told & CLUMPI_CHECK_REPORTING))
            atomic_add(&check_reserved_slots(v)[block], to - from);
    }
    if (!right) violation_reserved(v, told, CLUMPI_VIOLATION_SLOT, class_id, row, entry);
}

/* The stripes of a class. Returns the rows up to the last one that a stripe ends in. */
static inline uint check_stripes(const clumpi_view *v, uint told, uint class_id, uint me) {
    __global const clumpi_reservation *r = &v->classes[class_id].reserved;
    __global const clumpi_stripe *stripes =
        (__global const clumpi_stripe *)clumpi_words_at(v, r->at_stripes);
    uint concrete = v->classes[class_id].rows != 0, rows = 0;
    /* rows of a stripe; as slots they may be more than 32 bits can count */
    uint most = (v->header->slots_rows + v->header->slots_holes) / r->stripes + 1u;
    if (!concrete || !(told & CLUMPI_CHECK_RESERVED)) most = 0;
    for (uint s = 0; s < v->header->stripes; s++) {
        uint next = stripes[s].next, limit = stripes[s].limit;
        if (limit > (s < r->stripes ? (ulong)most * 64ul : 0ul)) {
            if (me == 0) violation_reserved(v, told, CLUMPI_VIOLATION_STRIPE, class_id, s, limit);
            continue;
        }
        if (next >= limit) continue;
        rows = max(rows, (limit / 64u + (limit % 64u != 0)) * r->stripes);
        if (me == 0 && r->left == 0)
            violation_reserved(v, told, CLUMPI_VIOLATION_LEFT, class_id, s, 0);
    }
    return rows;
}

__kernel void clumpi_check_reserved(__global uchar *heap, uint header_at, uint told) {
    clumpi_view v = clumpi_view_of(heap, header_at);
    uint me = (uint)get_global_id(0), items = (uint)get_global_size(0);
    for (uint c = 0; c <= v.header->class_count; c++) {
        __global const clumpi_reservation *r = &v.classes[c].reserved;
        __global const clumpi_stripe *stripes =
            (__global const clumpi_stripe *)clumpi_words_at(&v, r->at_stripes);
        for (uint s = me; s < v.header->stripes; s += items)
            for (uint i = 0; i < sizeof stripes->pad / 4u; i++)
                if (stripes[s].pad[i])
                    violation_reserved(&v, told, CLUMPI_VIOLATION_STRIPE, c, s, stripes[s].pad[i]);
        uint rows = check_stripes(&v, told, c, me);
        for (uint row = me; row < rows; row += items) {
            uint begin = row / r->stripes * 64u, next = stripes[row % r->stripes].next;
            uint limit = stripes[row % r->stripes].limit;
            uint from = max(next, begin), to = min(limit, begin + 64u);
            if (from < to) check_reserved_row(&v, told, c, row, from - begin, to - begin);
        }
    }
}

/* ---- Blocks ---------------------------------------------------------------------------------- */

/* Only slots with an object are watched. */
static inline void check_watched(const clumpi_view *v, uint told, uint block, uint class_id) {
    uint granules = v->header->at_watch ? v->header->block_granules : 0u;
    for (uint i = 0; i < granules; i++) {
        __global const uint *words = clumpi_watch_words(v, block * granules + i);
        ulong astray =
            ((ulong)words[1] << 32 | words[0]) & ~clumpi_row_bits(v, block * granules + i);
        if (astray)
            violation(v, told, CLUMPI_VIOLATION_WATCHED, block, class_id, i,
                      clumpi_popcount64(astray));
    }
}

/* Marks of runs (runs.clh): a slot that is taken and not the end of one is followed by one that is
 * taken and not the begin of another. In the class of blocks that goes on from block to block. */
static inline void check_marks(const clumpi_view *v, uint told, uint block, uint class_id) {
    uint rows = class_id <= v->header->class_count && v->classes[class_id].is_runs
                    ? v->classes[class_id].rows
                    : 0u;
    uint of_blocks = rows && class_id == v->header->class_count, before = 0, goes_on = 0;
    if (of_blocks && clumpi_class_of_state(v->states[block - 1u]) == class_id)
        before = (uint)((clumpi_row_bits(v, clumpi_row_granule(v, block - 1u, class_id, 0)) &
                         ~clumpi_marks_word(v, block - 1u, 0, 1)) >>
                        63);
    if (of_blocks && block + 1u < v->header->block_end)
        goes_on = clumpi_class_of_state(v->states[block + 1u]) == class_id;
    for (uint row = 0; row < v->header->mark_rows; row++) {
        ulong begins = clumpi_marks_word(v, block, row, 0),
              ends = clumpi_marks_word(v, block, row, 1), bits = 0;
        if (row < rows) bits = clumpi_row_bits(v, clumpi_row_granule(v, block, class_id, row));
        ulong open = bits & ~ends;
        ulong wrong = ((begins | ends) & ~bits) | ((open << 1 | before) ^ (bits & ~begins));
        if (!goes_on) wrong |= open & 1ul << 63;
        if (wrong)
            violation(v, told, CLUMPI_VIOLATION_MARKS, block, class_id, row,
                      clumpi_popcount64(wrong));
        before = 0; /* other rows are those of the other class of runs */
    }
}

/* Bits of a block against its credits; `held` of them belong to no object. */
static inline void check_bits(const clumpi_view *v, uint told, uint block, uint class_id,
                              uint credits, uint held) {
    uint granules = v->header->block_granules, live = 0, rows_used = 0;
    uint k = class_id ? v->classes[class_id].row_granules : 1u;
    uint rows = class_id ? v->classes[class_id].rows : 0u;
    for (uint i = 0; i < granules; i++) {
        uint bits = clumpi_popcount64(clumpi_row_bits(v, block * granules + i));
        if (i % k == 0 && i / k < rows)
            live += bits, rows_used += bits != 0;
        else if (bits)
            violation(v, told, CLUMPI_VIOLATION_STRAY, block, class_id, i, bits);
    }
    if (rows_used && (told & (CLUMPI_CHECK_LIST | CLUMPI_CHECK_REPORTING)) == CLUMPI_CHECK_LIST)
        atomic_add(&check_of(v)->rows[class_id], rows_used);
    if (live + held == credits) return;
    if (told & CLUMPI_CHECK_RESERVED && live <= credits)
        violation(v, told, CLUMPI_VIOLATION_HELD, block, class_id, held, credits - live);
    else
        violation(v, told, CLUMPI_VIOLATION_BITS, block, class_id, credits, live);
}

/* What a block has in stripes, by its own record. */
static inline clumpi_striped_count check_striped(const clumpi_view *v, uint class_id, uint block) {
    __global const clumpi_reservation *r = &v->classes[class_id].reserved;
    __global const clumpi_stripe *stripes =
        (__global const clumpi_stripe *)clumpi_words_at(v, r->at_stripes);
    clumpi_striped record = clumpi_striped_of(clumpi_home_of(v), block);
    clumpi_striped_count n = {0, 0};
    for (uint i = 0; i < clumpi_spans(record); i++) {
        clumpi_span s = clumpi_span_of(record, r->stripes, i);
        clumpi_count_span(&n, s, stripes[s.stripe].next, stripes[s.stripe].limit);
    }
    return n;
}

/* A block of the metadata: no kernel looks at it, so it is as it was made. */
static inline void check_metadata_block(const clumpi_view *v, uint told, uint block) {
    uint state = v->states[block], granules = v->header->block_granules;
    if (state != CLUMPI_RESERVED << CLUMPI_CLASS_SHIFT)
        violation(v, told, CLUMPI_VIOLATION_CLASS, block, clumpi_class_of_state(state), state,
                  clumpi_class_of_state(state));
    for (uint i = 0; i < granules; i++) {
        uint bits = clumpi_popcount64(clumpi_row_bits(v, block * granules + i));
        if (bits) violation(v, told, CLUMPI_VIOLATION_STRAY, block, CLUMPI_RESERVED, i, bits);
    }
    check_watched(v, told, block, CLUMPI_RESERVED);
    check_marks(v, told, block, CLUMPI_RESERVED);
}

static inline void check_block(const clumpi_view *v, uint told, uint block) {
    uint state = v->states[block], class_id = clumpi_class_of_state(state);
    /* CLUMPI_STRIPED is legal in a block of a class while slots are reserved; else it counts as
     * credits. */
    uint is_striped = (told & CLUMPI_CHECK_RESERVED) && class_id && (state & CLUMPI_STRIPED);
    uint credits = state - (class_id << CLUMPI_CLASS_SHIFT) - (is_striped ? CLUMPI_STRIPED : 0u);
    uint listed = told & CLUMPI_CHECK_RESERVED ? check_reserved_slots(v)[block] : 0u;
    if (class_id > v->header->class_count || (class_id && !v->classes[class_id].rows)) {
        violation(v, told, CLUMPI_VIOLATION_CLASS, block, class_id, state, class_id);
        return;
    }
    uint capacity = class_id ? v->classes[class_id].capacity : 0;
    if (class_id && credits > capacity)
        violation(v, told, CLUMPI_VIOLATION_CAPACITY, block, class_id, capacity, credits);
    if (!class_id && credits)
        violation(v, told, CLUMPI_VIOLATION_FREE_CREDITS, block, 0, 0, credits);
    if (class_id && !credits) violation(v, told, CLUMPI_VIOLATION_EMPTY, block, class_id, 1, 0);
    clumpi_striped_count striped = {0, 0};
    if (is_striped) striped = check_striped(v, class_id, block);
    if (striped.left != listed)
        violation(v, told, CLUMPI_VIOLATION_STRIPED, block, class_id, listed, striped.left);
    check_bits(v, told, block, class_id, credits, striped.left + striped.revoked);
    check_watched(v, told, block, class_id);
    check_marks(v, told, block, class_id);
    for (uint set = 0; set <= v->header->class_count; set++) {
        uint truth = clumpi_hint_truth(clumpi_home_of(v), set, 0, block);
        uint hint = *clumpi_hint_word(clumpi_home_of(v), set, 0, block >> 5) >> (block & 31u) & 1u;
        if (truth != hint)
            violation(v, told, set ? CLUMPI_VIOLATION_ACTIVE_HINT : CLUMPI_VIOLATION_FREE_HINT,
                      block, set, truth, hint);
    }
}

__kernel void clumpi_check_blocks(__global uchar *heap, uint header_at, uint told) {
    clumpi_view v = clumpi_view_of(heap, header_at);
    for (uint b = (uint)get_global_id(0); b < v.header->block_end; b += (uint)get_global_size(0)) {
        if (b < v.header->first_block)
            check_metadata_block(&v, told, b);
        else
            check_block(&v, told, b);
    }
}

/* ---- Outside blocks -------------------------------------------------------------------------- */

/* Bits begin .. end-1, of those of word number `word`. */
static inline uint check_mask(uint word, uint begin, uint end) {
    uint from = word * 32u, mask = ~0u;
    if (begin > from) mask &= begin - from < 32u ? ~0u << (begin - from) : 0u;
    if (end < from + 32u) mask &= end > from ? ~0u >> (from + 32u - end) : 0u;
    return mask;
}

/* Upper hints; and bits of all levels, and words after the last level, for blocks that are not
 * there. */
static inline void check_hints(const clumpi_view *v, uint told, uint set, uint me, uint items) {
    __global const clumpi_header *h = v->header;
    __global const uint *words = clumpi_hint_word(clumpi_home_of(v), set, 0, 0);
    uint end = h->block_end, used = h->hint_level[h->hint_levels - 1] + 1u;
    for (uint l = 0; l < h->hint_levels; l++) {
        uint first = l ? 0u : h->first_block, last = l ? h->hint_count[l - 1] : end;
        for (uint w = me; w < h->hint_count[l]; w += items) {
            uint extra = words[h->hint_level[l] + w] & ~check_mask(w, first, last);
            if (extra)
                violation(v, told, CLUMPI_VIOLATION_OUTSIDE, end, set, h->hint_level[l] + w, extra);
        }
        for (uint i = me; l && i < last; i += items) {
            uint truth = clumpi_hint_truth(clumpi_home_of(v), set, l, i);
            uint hint = words[h->hint_level[l] + (i >> 5)] >> (i & 31u) & 1u;
            if (truth != hint)
                violation(v, told, CLUMPI_VIOLATION_UPPER_HINT, end, set, truth, hint);
        }
    }
    for (uint w = used + me; w < h->hint_words; w += items)
        if (words[w]) violation(v, told, CLUMPI_VIOLATION_OUTSIDE, end, set, w, words[w]);
    /* A sweep that found nothing left the epoch: while that stands, nobody looks for room. */
    uint room = words[used - 1] | *clumpi_hint_word(clumpi_home_of(v), 0, 0, used - 1);
    if (me == 0 && v->classes[set].rows && v->classes[set].exhausted == h->epoch && room)
        violation(v, told, CLUMPI_VIOLATION_EXHAUSTED, end, set, h->epoch, room);
    /* Of runs, one for each number of slots (runs.clh). */
    if (!v->classes[set].is_runs) return;
    __global const uint *vain = (__global const uint *)clumpi_marks_of(clumpi_home_of(v), end, 0);
    uint from = set == h->class_count ? CLUMPI_ROW_SLOTS : 0u,
         free = *clumpi_hint_word(clumpi_home_of(v), 0, 0, used - 1);
    for (uint i = me; free && i < CLUMPI_ROW_SLOTS; i += items)
        if (vain[from + i] == h->epoch)
            violation(v, told, CLUMPI_VIOLATION_EXHAUSTED, end, set, h->epoch, free);
}

/* Rows of a class in the list: ascending, with the bitmaps that there are, as many as there are; so
 * it has all. numbers: that of each row's first object, and where the first row with a hole
 * stands. */
static inline void check_list(const clumpi_view *v, uint told, uint c, uint me, uint items) {
    __global const uint *begins = clumpi_words_at(v, v->header->at_list_begin);
    __global const uint *rows = clumpi_words_at(v, v->header->at_list_rows);
    __global const uint *index = clumpi_words_at(v, v->header->at_list_index);
    __global const ulong *masks =
        (__global const ulong *)clumpi_words_at(v, v->header->at_list_masks);
    uint begin = begins[c], end = begins[c + 1],
         full = clumpi_words_at(v, v->header->at_list_full)[c];
    uint numbered = told & CLUMPI_CHECK_NUMBERS, heap_end = v->header->block_end;
    if ((c == 1 && begin) || begin > end || end > v->header->slots_rows) {
        if (me == 0) violation(v, told, CLUMPI_VIOLATION_LIST, heap_end, c, begin, end);
        return;
    }
    if (me == 0 && end - begin != check_of(v)->rows[c])
        violation(v, told, CLUMPI_VIOLATION_LIST_ROWS, heap_end, c, check_of(v)->rows[c],
                  end - begin);
    if (me == 0 && numbered && (full < begin || full > end || (full < end && ~masks[full] == 0)))
        violation(v, told, CLUMPI_VIOLATION_LIST, heap_end, c, full, full);
    for (uint i = begin + me; i < end; i += items) {
        uint is_there = check_row_block(v, c, rows[i]) != CLUMPI_NONE;
        uint right = is_there && masks[i] && masks[i] == clumpi_row_bits(v, rows[i]) &&
                     (i == begin || rows[i - 1] < rows[i]);
        if (!right) violation(v, told, CLUMPI_VIOLATION_LIST, heap_end, c, i, rows[i]);
        uint number = i ? index[i - 1] + clumpi_popcount64(masks[i - 1]) : 0u;
        if (numbered && (index[i] != number || (i < full && ~masks[i])))
            violation(v, told, CLUMPI_VIOLATION_LIST, heap_end, c, i, index[i]);
    }
}

__kernel void clumpi_check_rest(__global uchar *heap, uint header_at, uint told) {
    clumpi_view v = clumpi_view_of(heap, header_at);
    uint me = (uint)get_global_id(0), items = (uint)get_global_size(0);
    for (uint set = 0; set <= v.header->class_count; set++) check_hints(&v, told, set, me, items);
    for (uint c = 1; told & CLUMPI_CHECK_LIST && c <= v.header->class_count; c++)
        check_list(&v, told, c, me, items);
}
