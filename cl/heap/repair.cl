/* Repair: states and hints made anew from the bitmaps, which are the objects.
 *
 * The host has restored what it knows (header, class table, columns). Then each block gets a class:
 * that of its state if its bits fit it, else one that the old hints or the places of its bits tell.
 * Its bits are its objects, whatever its credits said. Bits that no class explains are cleared. The
 * words of the hints follow, level by level.
 *
 * What is reserved is given up: credits beyond a block's bits go. Marks of runs are made to fit the
 * bits.
 *
 * Read first: cl/core/layout.h, cl/heap/layout.h, check.cl.
 */
#include "cl/core/reserve.clh"
#include "cl/core/scan.clh"
#include "cl/heap/layout.h"

/* The bits of a block as rows of a class. */
typedef struct repair_fit {
    uint live, strays; /* bits of rows; others */
} repair_fit;

static inline repair_fit repair_fit_of(const clumpi_view *v, uint block, uint class_id) {
    uint granules = v->header->block_granules, rows = class_id ? v->classes[class_id].rows : 0u;
    uint k = rows ? v->classes[class_id].row_granules : 1u;
    repair_fit fit = {0, 0};
    for (uint i = 0; i < granules; i++) {
        uint bits = clumpi_popcount64(clumpi_row_bits(v, block * granules + i));
        if (i % k == 0 && i / k < rows)
            fit.live += bits;
        else
            fit.strays += bits;
    }
    return fit;
}

/* Does a hint of old say that a block is free (set 0), or of the class and not full? */
static inline uint repair_hint(const clumpi_view *v, uint set, uint block) {
    return *clumpi_hint_word(clumpi_home_of(v), set, 0, block >> 5) >> (block & 31u) & 1u;
}

/* The one class that a block's bits fit, way 0: and an old hint says so; 1: they are all of its
 * slots; 2: at all. 0: there is none, or several. */
static inline uint repair_find_class(const clumpi_view *v, uint block, uint way) {
    uint found = 0;
    for (uint c = 1; c <= v->header->class_count; c++) {
        uint capacity = v->classes[c].capacity;
        if (v->classes[c].rows == 0 || (way == 0 && !repair_hint(v, c, block))) continue;
        repair_fit fit = repair_fit_of(v, block, c);
        if (fit.strays || fit.live == 0 || (way == 1) != (fit.live == capacity)) continue;
        if (found) return 0;
        found = c;
    }
    return found;
}

/* The class of a block that has bits; 0: it is free, or nothing tells. */
static inline uint repair_class(const clumpi_view *v, uint block, uint state) {
    uint class_id = clumpi_class_of_state(state), credits = clumpi_credits_of_state(state);
    /* two of three say that it is free */
    if (class_id == 0 && (credits == 0 || repair_hint(v, 0, block))) return 0;
    uint is_class = class_id && class_id <= v->header->class_count && v->classes[class_id].rows;
    repair_fit fit = repair_fit_of(v, block, is_class ? class_id : 0u);
    /* the others are what is wrong */
    if (is_class && fit.strays && fit.live == credits) return class_id;
    /* State and hint agree: a block that is not full has one. */
    if (is_class && !fit.strays &&
        repair_hint(v, class_id, block) == (credits < v->classes[class_id].capacity))
        return class_id;
    for (uint way = 0; way < 3u; way++) {
        uint other = repair_find_class(v, block, way);
        if (other) return other;
        if (way == 0 && is_class && fit.strays == 0) return class_id; /* the hint is wrong */
    }
    return is_class && fit.live > fit.strays ? class_id : 0u;
}

/* Clear the bits of a block that are in no row of the class. */
static inline void repair_clear(const clumpi_view *v, uint block, uint class_id) {
    uint granules = v->header->block_granules, rows = class_id ? v->classes[class_id].rows : 0u;
    uint k = rows ? v->classes[class_id].row_granules : 1u;
    for (uint i = 0; i < granules; i++)
        if (i % k != 0 || i / k >= rows) clumpi_row_bits_set(v, block * granules + i, 0);
}

static inline void repair_count(__global uint *counter, uint n) {
    if (n) atomic_add(counter, n);
}

static inline void repair_block(const clumpi_view *v, uint block, uint is_reserving,
                                __global clumpi_repair *done) {
    uint state = v->states[block], credits = clumpi_credits_of_state(state);
    /* Reserved slots are credits, too; how many were left nobody knows. */
    uint is_striped = is_reserving && state & CLUMPI_STRIPED;
    uint counts = is_striped ? clumpi_striped_of(clumpi_home_of(v), block).counts : 0u;
    uint reserved = (counts >> 16) + (counts & 0xffffu);
    repair_fit any = repair_fit_of(v, block, 0); /* all bits, as strays */
    uint class_id = any.strays ? repair_class(v, block, state) : 0u;
    repair_fit fit = repair_fit_of(v, block, class_id);
    uint now = fit.live ? class_id << CLUMPI_CLASS_SHIFT | fit.live : 0u;
    if (fit.strays) repair_clear(v, block, class_id);
    v->states[block] = now;
    repair_count(&done->objects, fit.live);
    uint is_same = clumpi_class_of_state(state) == class_id;
    uint is_held = credits > fit.live && credits - fit.live <= reserved &&
                   (is_same || (class_id == 0 && !fit.strays));
    if (now != (is_striped ? state & ~CLUMPI_STRIPED : state) && !is_held) {
        atomic_inc(&done->blocks);
        if (fit.live && !is_same) atomic_inc(&done->guessed);
        if (fit.live && fit.live > credits) atomic_add(&done->appeared, fit.live - credits);
        /* In a block without bits, credits of a class that is none count as well: there may have
         * been objects. */
        if (credits > fit.live) atomic_add(&done->vanished, credits - fit.live);
    }
    uint is_lost = class_id == 0 && fit.strays && state != 0;
    repair_count(&done->lost_blocks, is_lost);
    repair_count(is_lost ? &done->lost : &done->strays, fit.strays);
}

/* A block without memory (evict.cl) is told by the table of frames, whatever its bits are: it stays
 * away, with none of the heap's objects. `spare` is the frame of these; CLUMPI_NONE: there are
 * none. Returns 0 if the block has memory. */
static inline uint repair_away(const clumpi_view *v, uint block, uint spare,
                               __global clumpi_repair *done) {
    ulong block_bytes = (ulong)v->header->block_granules * v->header->granule_bytes;
    if (spare == CLUMPI_NONE) return 0;
    if (((__global const ulong *)clumpi_words_at(v, v->header->at_segments))[block] !=
        ((ulong)spare - (ulong)block) * block_bytes)
        return 0;
    uint away = v->header->class_count << CLUMPI_CLASS_SHIFT | CLUMPI_ROW_SLOTS;
    if (v->states[block] != away) atomic_inc(&done->blocks);
    v->states[block] = away;
    for (uint i = 0; i < v->header->block_granules; i++)
        clumpi_row_bits_set(v, block * v->header->block_granules + i, i ? 0ul : ~0ul);
    return 1;
}

/* Handles of objects that are gone name nobody. */
static inline void repair_watch(const clumpi_view *v, uint block) {
    uint granules = v->header->block_granules;
    for (uint i = 0; i < granules; i++)
        clumpi_watch_keep(v, block * granules + i, clumpi_row_bits(v, block * granules + i));
}

__kernel void clumpi_repair_blocks(__global uchar *heap, uint header_at, uint is_reserving,
                                   uint spare) {
    clumpi_view v = clumpi_view_of(heap, header_at);
    __global clumpi_repair *done = (__global clumpi_repair *)clumpi_words_at(&v, v.header->at_scan);
    for (uint b = (uint)get_global_id(0); b < v.header->block_end; b += (uint)get_global_size(0)) {
        if (b >= v.header->first_block) {
            if (repair_away(&v, b, spare, done)) continue;
            repair_block(&v, b, is_reserving, done);
        } else {
            v.states[b] = CLUMPI_RESERVED << CLUMPI_CLASS_SHIFT;
            repair_clear(&v, b, 0);
        }
        repair_watch(&v, b);
    }
}

/* Marks of runs (runs.clh), once blocks have their classes: memory begins where the marks say so,
 * and where nothing is taken before; it ends before the next begin, and before what is not taken.
 * So a begin that was lost makes one run of two. Others read only the begin mark of a first slot,
 * which stays as it is where it counts. */
__kernel void clumpi_repair_marks(__global uchar *heap, uint header_at) {
    clumpi_view v = clumpi_view_of(heap, header_at);
    uint last = v.header->class_count;
    for (uint b = (uint)get_global_id(0); b < v.header->block_end; b += (uint)get_global_size(0)) {
        uint class_id = clumpi_class_of_state(v.states[b]);
        uint rows = class_id <= last && v.classes[class_id].is_runs ? v.classes[class_id].rows : 0u;
        uint of_blocks = rows && class_id == last;
        uint is_before = of_blocks && clumpi_class_of_state(v.states[b - 1u]) == class_id;
        uint is_after = of_blocks && b + 1u < v.header->block_end &&
                        clumpi_class_of_state(v.states[b + 1u]) == class_id;
        ulong before = is_before
                           ? clumpi_row_bits(&v, clumpi_row_granule(&v, b - 1u, class_id, 0)) >> 63
                           : 0ul;
        ulong after = is_after ? clumpi_row_bits(&v, clumpi_row_granule(&v, b + 1u, class_id, 0)) &
                                     ~clumpi_marks_word(&v, b + 1u, 0, 0) & 1ul
                               : 0ul;
        for (uint row = 0; row < v.header->mark_rows; row++) {
            ulong bits =
                row < rows ? clumpi_row_bits(&v, clumpi_row_granule(&v, b, class_id, row)) : 0ul;
            ulong begins = bits & (clumpi_marks_word(&v, b, row, 0) | ~(bits << 1 | before));
            ulong goes_on = (bits & ~begins) >> 1 | after << 63;
            clumpi_marks_word_set(&v, b, row, 0, begins);
            clumpi_marks_word_set(&v, b, row, 1, bits & ~goes_on);
        }
    }
}

/* The words of one level of all hints, from the level below. */
__kernel void clumpi_repair_hints(__global uchar *heap, uint header_at, uint level) {
    clumpi_view v = clumpi_view_of(heap, header_at);
    uint words = v.header->hint_count[level];
    uint first = level ? 0u : v.header->first_block;
    uint end = level ? v.header->hint_count[level - 1u] : v.header->block_end;
    for (uint i = (uint)get_global_id(0); i < words * (v.header->class_count + 1u);
         i += (uint)get_global_size(0)) {
        uint set = i / words, word = i % words, bits = 0;
        for (uint bit = 0; bit < 32u; bit++) {
            uint index = word * 32u + bit;
            if (index >= first && index < end)
                bits |= clumpi_hint_truth(clumpi_home_of(&v), set, level, index) << bit;
        }
        *clumpi_hint_word(clumpi_home_of(&v), set, level, word) = bits;
    }
    /* After the last level comes nothing. */
    if (level + 1u < v.header->hint_levels) return;
    uint used = v.header->hint_level[level] + words;
    for (uint set = 0; set <= v.header->class_count; set++)
        for (uint i = used + (uint)get_global_id(0); i < v.header->hint_words;
             i += (uint)get_global_size(0))
            *clumpi_hint_word(clumpi_home_of(&v), set, 0, i) = 0;
}
