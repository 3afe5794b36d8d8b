/* Heaps of a few slots in host memory, laid out as cl/core/layout.h says, and the check of their
 * invariants.
 *
 * A row always has 64 slots. To have heaps of one or two slots, all but `per_row` slots of every row
 * are blocked: their bits are set from the start and belong to nobody, and the capacity of a class
 * counts the others only. So blocks of one slot can fill, empty and change class, and a thread that
 * claims a slot still has to find the very bit that is clear.
 */
#ifndef CLUMP_TESTS_TINY_HEAP_H
#define CLUMP_TESTS_TINY_HEAP_H

#include <stdio.h>
#include <string.h>

#include "tests/protocol/hosted.h"

#define TINY_CLASSES 4u
#define TINY_FILLED 4u
#ifndef TINY_IMAGE_BYTES
#define TINY_IMAGE_BYTES 32768u /* what of it is not in use costs nothing */
#endif
#ifndef TINY_GRANULES
#define TINY_GRANULES 128u
#endif
#define TINY_NEVER 0xffffffffu

typedef struct tiny_spec {
    const char *name;
    uint first_block, blocks, block_granules, per_row;
    uint class_count;
    struct {
        uint row_granules, rows;
    } classes[TINY_CLASSES]; /* index 0: class 1 */
    struct {
        uint block, class_id, live; /* block counts from first_block */
    } filled[TINY_FILLED];
    uint filled_count;
    uint spent; /* 1: an earlier sweep has found no room for the classes for which there is none */
} tiny_spec;

typedef struct tiny_heap {
    uint per_row, bytes; /* bytes: of the image in use */
    uint first_block, blocks, block_granules, class_count;
    _Alignas(128) uchar image[TINY_IMAGE_BYTES];
} tiny_heap;

#ifndef TINY_HEADER_AT
#define TINY_HEADER_AT 1u
#endif

/* Slots of a row that are not blocked; spread, so that with 32-bit words both words have some. */
static inline uint tiny_slot(uint n) {
    return (n * 37u + 5u) & 63u;
}
static inline ulong tiny_usable(uint per_row) {
    ulong usable = 0;
    for (uint i = 0; i < per_row; i++) usable |= 1ul << tiny_slot(i);
    return usable;
}

static inline clumpi_view tiny_view(tiny_heap *h) {
    return clumpi_view_of(h->image, TINY_HEADER_AT);
}
static inline ulong *tiny_bits(tiny_heap *h, uint granule) {
    return (ulong *)(void *)tiny_view(h).bits + granule;
}
static inline clumpi_shape tiny_shape(tiny_heap *h, uint class_id) {
    const clumpi_class *c = &tiny_view(h).classes[class_id];
    return (clumpi_shape){class_id, c->row_granules, c->rows, c->capacity};
}
static inline uint tiny_granule(tiny_heap *h, uint block, uint class_id, uint row) {
    return block * h->block_granules + row * tiny_view(h).classes[class_id].row_granules;
}

/* Room for `class_id` in a block, judged by its state word alone. */
static inline uint tiny_room(tiny_heap *h, uint block, uint class_id) {
    clumpi_view v = tiny_view(h);
    uint state = v.states[block], capacity = v.classes[class_id].capacity;
    if (clumpi_class_of_state(state) == 0) return capacity;
    if (clumpi_class_of_state(state) != class_id) return 0;
    uint credits = clumpi_credits_of_state(state);
    return credits < capacity ? capacity - credits : 0;
}
static inline uint tiny_room_of_class(tiny_heap *h, uint class_id) {
    uint room = 0;
    for (uint b = 0; b < h->blocks; b++) room += tiny_room(h, h->first_block + b, class_id);
    return room;
}

/* Set all hints and counters to what the states say. */
static inline void tiny_make_hints(tiny_heap *h) {
    clumpi_view v = tiny_view(h);
    uint levels = v.header->hint_levels;
    for (uint set = 0; set <= h->class_count; set++) {
        uint *words = v.hints + set * v.header->hint_words;
        uint blocks = 0, active = 0;
        for (uint b = h->first_block; b < h->first_block + h->blocks; b++) {
            uint mine = clumpi_class_of_state(v.states[b]) == set;
            uint on = mine && (set == 0 || tiny_room(h, b, set));
            blocks += mine;
            active += on;
            for (uint l = 0, index = b; on && l < levels; l++, index >>= 5)
                words[v.header->hint_level[l] + (index >> 5)] |= 1u << (index & 31u);
        }
        v.classes[set].blocks = set ? blocks : 0;
        v.classes[set].active = set ? active : 0;
    }
}

/* Fill the header: offsets and levels. Returns the size of the image. */
static inline uint tiny_make_header(tiny_heap *h, const tiny_spec *spec) {
    clumpi_header *header = (clumpi_header *)(void *)(h->image + TINY_HEADER_AT * CLUMPI_UNIT);
    uint end = spec->first_block + spec->blocks, granules = end * spec->block_granules;
    header->magic = CLUMPI_MAGIC;
    header->self_at = TINY_HEADER_AT;
    header->granule_bytes = 256;
    header->block_granules = spec->block_granules;
    header->first_block = spec->first_block;
    header->block_end = end;
    header->class_count = spec->class_count;
    uint words = 0, bits = end;
    do {
        bits = (bits + 31u) / 32u;
        header->hint_level[header->hint_levels] = words;
        header->hint_count[header->hint_levels++] = bits;
        words += bits;
    } while (bits > 1);
    header->hint_words = words;
    uint at = TINY_HEADER_AT;
#define TINY_PLACE(field, bytes)                                                                   \
    (header->field = at, at += ((uint)(bytes) + CLUMPI_UNIT - 1u) / CLUMPI_UNIT)
    at += (uint)((sizeof(clumpi_header) + CLUMPI_UNIT - 1u) / CLUMPI_UNIT);
    TINY_PLACE(at_classes, (spec->class_count + 1u) * sizeof(clumpi_class));
    TINY_PLACE(at_states, end * 4u);
    TINY_PLACE(at_bits, granules * 8u);
    TINY_PLACE(at_hints, (spec->class_count + 1u) * words * 4u);
#undef TINY_PLACE
    return at * CLUMPI_UNIT;
}

/* Build the heap. Returns 0 if it does not fit. */
static inline int tiny_make(tiny_heap *h, const tiny_spec *spec) {
    memset(h, 0, sizeof *h);
    h->per_row = spec->per_row;
    h->first_block = spec->first_block;
    h->blocks = spec->blocks;
    h->block_granules = spec->block_granules;
    h->class_count = spec->class_count;
    h->bytes = tiny_make_header(h, spec);
    if (h->bytes > TINY_IMAGE_BYTES) return 0;
    if ((spec->first_block + spec->blocks) * spec->block_granules > TINY_GRANULES) return 0;
    clumpi_view v = tiny_view(h);
    for (uint b = 0; b < spec->first_block; b++)
        v.states[b] = CLUMPI_RESERVED << CLUMPI_CLASS_SHIFT;
    for (uint id = 1; id <= spec->class_count; id++) {
        clumpi_class *c = &v.classes[id];
        c->row_granules = spec->classes[id - 1].row_granules;
        c->rows = spec->classes[id - 1].rows;
        c->capacity = c->rows * spec->per_row;
        c->last = id;
        c->spread = 1;
    }
    ulong blocked = ~tiny_usable(spec->per_row);
    for (uint g = spec->first_block * spec->block_granules;
         g < (spec->first_block + spec->blocks) * spec->block_granules; g++)
        *tiny_bits(h, g) = blocked;
    for (uint i = 0; i < spec->filled_count; i++) {
        uint block = spec->first_block + spec->filled[i].block, id = spec->filled[i].class_id;
        v.states[block] = id << CLUMPI_CLASS_SHIFT | spec->filled[i].live;
        for (uint n = 0; n < spec->filled[i].live; n++)
            *tiny_bits(h, tiny_granule(h, block, id, n / spec->per_row)) |=
                1ul << tiny_slot(n % spec->per_row);
    }
    tiny_make_hints(h);
    for (uint id = 1; id <= spec->class_count; id++)
        v.classes[id].exhausted =
            spec->spent && !tiny_room_of_class(h, id) ? v.header->epoch : TINY_NEVER;
    return 1;
}

/* Live objects of a block, by its bitmaps. */
static inline uint tiny_live(tiny_heap *h, uint block) {
    ulong usable = tiny_usable(h->per_row);
    uint live = 0;
    for (uint g = 0; g < h->block_granules; g++)
        live += clumpi_popcount64(*tiny_bits(h, block * h->block_granules + g) & usable);
    return live;
}

/* Invariants of one block, for tiny_check(). */
static inline int tiny_check_block(tiny_heap *h, uint block, char *text, size_t size) {
    clumpi_view v = tiny_view(h);
    uint kind = clumpi_class_of_state(v.states[block]);
    uint credits = clumpi_credits_of_state(v.states[block]), live = tiny_live(h, block),
         in_rows = 0;
    ulong usable = tiny_usable(h->per_row);
#define TINY_EXPECT(condition, ...)                                                                \
    if (!(condition)) return snprintf(text, size, __VA_ARGS__), 0
    TINY_EXPECT(kind <= h->class_count, "block %u has no class of the heap: %u", block, kind);
    TINY_EXPECT((kind == 0) == (credits == 0), "block %u: class %u with %u credits", block, kind,
                credits);
    TINY_EXPECT(credits == live, "block %u: %u credits, %u live slots", block, credits, live);
    if (kind) {
        const clumpi_class *c = &v.classes[kind];
        TINY_EXPECT(credits <= c->capacity, "block %u: %u credits, capacity %u", block, credits,
                    c->capacity);
        for (uint row = 0; row < c->rows; row++)
            in_rows += clumpi_popcount64(*tiny_bits(h, tiny_granule(h, block, kind, row)) & usable);
        TINY_EXPECT(in_rows == live, "block %u: bits where no row starts", block);
    }
    for (uint g = 0; g < h->block_granules; g++)
        TINY_EXPECT((*tiny_bits(h, block * h->block_granules + g) | usable) == ~0ul,
                    "block %u: a bit that belongs to nobody was cleared", block);
    return 1;
}

/* All invariants that layout.h lists, true whenever nobody runs. Returns 0 and says what is wrong. */
static inline int tiny_check(tiny_heap *h, char *text, size_t size) {
    static _Thread_local tiny_heap want; /* only its hints and counters are used */
    clumpi_view v = tiny_view(h);
    for (uint b = h->first_block; b < h->first_block + h->blocks; b++)
        if (!tiny_check_block(h, b, text, size)) return 0;
    want = *h;
    clumpi_view w = tiny_view(&want);
    memset(w.hints, 0, (h->class_count + 1u) * v.header->hint_words * 4u);
    tiny_make_hints(&want);
    for (uint set = 0; set <= h->class_count; set++) {
        for (uint i = 0; i < v.header->hint_words; i++) {
            uint at = set * v.header->hint_words + i;
            TINY_EXPECT(v.hints[at] == w.hints[at],
                        "hints of set %u, word %u: %08x, should be %08x", set, i, v.hints[at],
                        w.hints[at]);
        }
        const clumpi_class *c = &v.classes[set], *d = &w.classes[set];
        TINY_EXPECT(c->blocks == d->blocks, "class %u: counts %u blocks, has %u", set, c->blocks,
                    d->blocks);
        TINY_EXPECT(c->active == d->active, "class %u: counts %u active blocks, has %u", set,
                    c->active, d->active);
    }
    TINY_EXPECT(v.header->errors[CLUMPI_ERROR_RETRY_BOUND].count == 0, "a retry bound was reached");
    return 1;
}

#endif
