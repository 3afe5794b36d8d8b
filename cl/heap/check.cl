/* The heap check: every invariant of layout.h, on the device.
 *
 * Each violation has a key (block << 4 | code). The first launch finds the lowest key, the second,
 * given that key, leaves its details; what lies outside blocks is then left to one work-item. So
 * the answer is the same in every run. The result is a clumpi_violation.
 *
 * Read first: cl/core/layout.h, cl/heap/layout.h.
 */
#include "cl/core/scan.clh"
#include "cl/heap/layout.h"

static inline __global clumpi_violation *check_of(const clumpi_view *v) {
    return (__global clumpi_violation *)clumpi_words_at(v, v->header->at_scan);
}

static inline void violation(__global clumpi_violation *first, uint reporting, uint code, uint block,
                             uint class_id, uint expected, uint found) {
    uint key = block << 4 | code;
    if (!reporting) {
        atomic_min(&first->key, key);
    } else if (first->key == key && !first->is_told) { /* several may share a key: the first found */
        first->is_told = 1;
        first->code = code;
        first->block = block;
        first->class_id = class_id;
        first->expected = expected;
        first->found = found;
    }
}

/* Bits of a block against its credits. */
static inline void check_bits(const clumpi_view *v, __global clumpi_violation *first, uint reporting,
                              uint block, uint class_id, uint credits) {
    uint granules = v->header->block_granules, live = 0;
    uint k = class_id ? v->classes[class_id].row_granules : 1u;
    uint rows = class_id ? v->classes[class_id].rows : 0u;
    for (uint i = 0; i < granules; i++) {
        uint bits = clumpi_popcount64(clumpi_row_bits(v, block * granules + i));
        if (i % k == 0 && i / k < rows)
            live += bits;
        else if (bits)
            violation(first, reporting, CLUMPI_VIOLATION_STRAY, block, class_id, i, bits);
    }
    if (live != credits)
        violation(first, reporting, CLUMPI_VIOLATION_BITS, block, class_id, credits, live);
}

static inline void check_block(const clumpi_view *v, __global clumpi_violation *first, uint reporting,
                               uint block) {
    uint state = v->states[block];
    uint class_id = clumpi_class_of_state(state), credits = clumpi_credits_of_state(state);
    if (class_id > v->header->class_count || (class_id && !v->classes[class_id].rows)) {
        violation(first, reporting, CLUMPI_VIOLATION_CLASS, block, class_id, state, class_id);
        return;
    }
    uint capacity = class_id ? v->classes[class_id].capacity : 0;
    if (class_id && credits > capacity)
        violation(first, reporting, CLUMPI_VIOLATION_CAPACITY, block, class_id, capacity, credits);
    if (!class_id && credits)
        violation(first, reporting, CLUMPI_VIOLATION_FREE_CREDITS, block, 0, 0, credits);
    if (class_id && !credits)
        violation(first, reporting, CLUMPI_VIOLATION_EMPTY, block, class_id, 1, 0);
    check_bits(v, first, reporting, block, class_id, credits);
    for (uint set = 0; set <= v->header->class_count; set++) {
        uint truth = clumpi_hint_truth(clumpi_home_of(v), set, 0, block);
        uint hint = *clumpi_hint_word(clumpi_home_of(v), set, 0, block >> 5) >> (block & 31u) & 1u;
        if (truth != hint)
            violation(first, reporting,
                      set ? CLUMPI_VIOLATION_ACTIVE_HINT : CLUMPI_VIOLATION_FREE_HINT, block, set,
                      truth, hint);
    }
}

__kernel void clumpi_check_blocks(__global uchar *heap, uint header_at, uint reporting) {
    clumpi_view v = clumpi_view_of(heap, header_at);
    __global clumpi_violation *first = check_of(&v);
    for (uint b = v.header->first_block + (uint)get_global_id(0); b < v.header->block_end;
         b += (uint)get_global_size(0))
        check_block(&v, first, reporting, b);
}

/* Upper hints. */
__kernel void clumpi_check_rest(__global uchar *heap, uint header_at, uint reporting) {
    clumpi_view v = clumpi_view_of(heap, header_at);
    __global clumpi_violation *first = check_of(&v);
    uint end = v.header->block_end, me = (uint)get_global_id(0), items = (uint)get_global_size(0);
    for (uint set = 0; set <= v.header->class_count; set++) {
        for (uint l = 1; l < v.header->hint_levels; l++) {
            for (uint i = me; i < v.header->hint_count[l - 1]; i += items) {
                uint truth = clumpi_hint_truth(clumpi_home_of(&v), set, l, i);
                uint hint = *clumpi_hint_word(clumpi_home_of(&v), set, l, i >> 5) >> (i & 31u) & 1u;
                if (truth != hint)
                    violation(first, reporting, CLUMPI_VIOLATION_UPPER_HINT, end, set, truth,
                              hint);
            }
        }
    }
}
