/* Heaps of a few slots in host memory, laid out as cl/core/layout.h says, and the check of their
 * invariants.
 *
 * A row always has 64 slots. To have heaps of one or two slots, all but `per_row` slots of every
 * row are blocked: their bits are set from the start and belong to nobody, and the capacity of a
 * class counts the others only. So blocks of one slot can fill, empty and change class, and a
 * thread that claims a slot still has to find the very bit that is clear.
 *
 * Slots can be reserved (64-bit words only), as cl/heap/reserve.clh leaves them: credits in the
 * states of their blocks, and positions next .. limit-1 of stripes. A heap of few slots has what a
 * large one has: the holes that a stripe begins with are at the end of its rows of holes, and an
 * empty row follows them without a gap. Before them in these rows, the list of objects has rows of
 * a granule that nobody uses. Of a row whose holes are not all reserved, or not in one stripe, the
 * list shows only those that are, and a row more than once. What each position should give is
 * written down beside, so that the checks do not depend on the list.
 *
 * A block's slots follow each other in one stripe here, holes in one and empty rows in one. So a
 * record of the block (clumpi_striped) says where they begin; hosted.h reads it.
 */
#ifndef CLUMP_TESTS_TINY_HEAP_H
#define CLUMP_TESTS_TINY_HEAP_H

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#ifndef TINY_HEADER_AT /* else: not known when this is compiled */
#define TINY_HEADER_AT 1u
#define CLUMPI_HEADER_AT TINY_HEADER_AT
#endif
#include "tests/protocol/hosted.h"

#define TINY_CLASSES 4u
#define TINY_FILLED 4u
#ifndef TINY_IMAGE_BYTES
#define TINY_IMAGE_BYTES 65536u /* what of it is not in use costs nothing */
#endif
#ifndef TINY_GRANULES
#define TINY_GRANULES 128u
#endif
#define TINY_STRIPES 2u
/* Of a class, at most: rows in the list of objects; entries of the list of slots; slots in rows of
 * holes. */
#define TINY_LIST 192u
#define TINY_SLOTS (TINY_LIST + 256u)
#define TINY_HOLES 1024u
#ifndef TINY_RESERVED
#define TINY_RESERVED 12u
#endif
#define TINY_FAR 0x3fffffffu /* one less than CLUMPI_NEXT_FAR */
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
    uint stripes; /* of every class: 1 or TINY_STRIPES */
    /* What is reserved, in the order of the positions of each stripe: the next free slots of a
     * block of the class or, as holes, of a free one; then `empty`: the first slots of the block's
     * next empty rows. What follows in the stripe begins a new row, so only the last ones may be
     * less than 64. */
    struct {
        uint stripe, block, class_id, slots, empty;
    } reserved[TINY_RESERVED];
    uint reserved_count;
    uint far;  /* 1: all that was given out and given back, and `next` is about to be set back */
    uint runs; /* 1: the last class is one of runs of blocks (runs.clh); rows have 64 slots then */
    uint old_run; /* slots of a run that there is from the start; 0: none */
} tiny_spec;

/* The lists of a class's reservation. They do not change. */
typedef struct tiny_lists {
    uint slots
        [TINY_SLOTS]; /* numbers of rows with holes; then empty rows; rows of holes at the end */
    uint rows[TINY_LIST]; /* the list of objects */
    ulong masks[TINY_LIST];
    uint holes[TINY_HOLES]; /* by position: what it should give */
} tiny_lists;

typedef struct tiny_heap {
    uint per_row, bytes; /* bytes: of the image, what can change */
    uint first_block, blocks, block_granules, class_count;
    uint at_lists; /* of class 1, in units */
    uint limits[TINY_CLASSES]
               [TINY_STRIPES]; /* of the stripes, before anybody took something back */
    _Alignas(128) uchar image[TINY_IMAGE_BYTES];
} tiny_heap;

static inline void tiny_copy(tiny_heap *to, const tiny_heap *from) {
    memcpy(to, from, offsetof(tiny_heap, image) + from->bytes);
}

/* Slots of a row that are not blocked. With 32-bit words both words have some; with 64-bit words
 * those come first of which a fresh row's positions begin. */
static inline uint tiny_slot(uint n) {
    return HOSTED_WORD_BITS == 64 ? n : (n * 37u + 5u) & 63u;
}
static inline ulong tiny_usable(uint per_row) {
    ulong usable = 0;
    for (uint i = 0; i < per_row; i++) usable |= 1ul << tiny_slot(i);
    return usable;
}

static inline clumpi_view tiny_view(tiny_heap *h) {
    return clumpi_view_of(h->image, TINY_HEADER_AT);
}
static inline clumpi_home tiny_home(tiny_heap *h) {
    return clumpi_home_in(h->image, TINY_HEADER_AT);
}
static inline ulong *tiny_bits(tiny_heap *h, uint granule) {
    return (ulong *)(void *)tiny_view(h).bits + granule;
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

/* ---- Reservations ---- */

/* The stripes of a class. */
static inline clumpi_stripe *tiny_stripes(tiny_heap *h, uint class_id) {
    return (clumpi_stripe *)(void *)(h->image + tiny_view(h).classes[class_id].reserved.at_stripes *
                                                    CLUMPI_UNIT);
}
static inline tiny_lists *tiny_lists_of(tiny_heap *h, const clumpi_reservation *r) {
    return (tiny_lists *)(void *)(h->image + r->at_slots * CLUMPI_UNIT);
}

static inline clumpi_striped *tiny_striped(tiny_heap *h) {
    return (clumpi_striped *)(void *)(h->image + tiny_view(h).header->at_striped * CLUMPI_UNIT);
}

/* The slot of a position of a stripe. */
static inline uint tiny_reserved_slot(tiny_heap *h, const clumpi_reservation *r, uint stripe,
                                      uint at) {
    const tiny_lists *lists = tiny_lists_of(h, r);
    uint row = at / 64u * r->stripes + stripe;
    if (row < r->holes) return lists->holes[row * 64u + at % 64u];
    return lists->slots[TINY_LIST + row - r->holes] + at % 64u;
}

/* Positions from .. to-1 of a stripe that are slots of the block. */
static inline uint tiny_positions(tiny_heap *h, uint block, uint class_id, uint stripe, uint from,
                                  uint to) {
    const clumpi_reservation *r = &tiny_view(h).classes[class_id].reserved;
    uint found = 0;
    for (uint at = from; at < to; at++)
        found += (tiny_reserved_slot(h, r, stripe, at) >> 6) / h->block_granules == block;
    return found;
}

/* Slots of the block that can be had from stripes of the class, and those that were taken back and
 * are still credits of the block. */
static inline uint tiny_reserved(tiny_heap *h, uint block, uint class_id) {
    uint found = 0, is_striped = (tiny_view(h).states[block] & CLUMPI_STRIPED) != 0;
    for (uint s = 0; s < tiny_view(h).classes[class_id].reserved.stripes; s++) {
        const clumpi_stripe *stripe = tiny_stripes(h, class_id) + s;
        found += tiny_positions(h, block, class_id, s, stripe->next, stripe->limit);
        if (is_striped)
            found +=
                tiny_positions(h, block, class_id, s, stripe->limit, h->limits[class_id - 1u][s]);
    }
    return found;
}
static inline uint tiny_reserved_of_all(tiny_heap *h, uint block) {
    uint found = 0;
    for (uint id = 1; id <= h->class_count; id++) found += tiny_reserved(h, block, id);
    return found;
}

/* 1: something that was reserved has been taken back. */
static inline int tiny_took_back(tiny_heap *h) {
    for (uint id = 1; id <= h->class_count; id++)
        for (uint s = 0; s < tiny_view(h).classes[id].reserved.stripes; s++)
            if (tiny_stripes(h, id)[s].limit < h->limits[id - 1u][s]) return 1;
    return 0;
}

/* Slots that a request of the class can get in a block: those that the state shows, those that are
 * reserved for the class or were, and all of a block in which nothing but slots reserved for others
 * is in use. */
static inline uint tiny_room_with_reserved(tiny_heap *h, uint block, uint class_id) {
    uint state = tiny_view(h).states[block], room = tiny_room(h, block, class_id);
    if (clumpi_class_of_state(state) == 0) return room;
    if (clumpi_class_of_state(state) == class_id) return room + tiny_reserved(h, block, class_id);
    uint reserved = tiny_reserved(h, block, clumpi_class_of_state(state));
    return reserved && reserved == clumpi_credits_of_state(state)
               ? tiny_view(h).classes[class_id].capacity
               : 0;
}
static inline uint tiny_room_of_class(tiny_heap *h, uint class_id) {
    uint room = 0;
    for (uint b = 0; b < h->blocks; b++)
        room += tiny_room_with_reserved(h, h->first_block + b, class_id);
    return room;
}

/* The words of a set of hints. */
static inline uint *tiny_hints(tiny_heap *h, uint set) {
    return clumpi_hint_word(tiny_home(h), set, 0, 0);
}

/* Set all hints to what the states say. */
static inline void tiny_make_hints(tiny_heap *h) {
    clumpi_view v = tiny_view(h);
    uint levels = v.header->hint_levels;
    for (uint set = 0; set <= h->class_count; set++) {
        uint *words = tiny_hints(h, set);
        for (uint b = h->first_block; b < h->first_block + h->blocks; b++) {
            uint mine = clumpi_class_of_state(v.states[b]) == set;
            uint on = mine && (set == 0 || tiny_room(h, b, set));
            for (uint l = 0, index = b; on && l < levels; l++, index >>= 5)
                words[v.header->hint_level[l] + (index >> 5)] |= 1u << (index & 31u);
        }
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
    header->slots_rows = TINY_LIST;
    header->epoch = 1;
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
    header->stripes = spec->stripes ? spec->stripes : 1;
    at += at % 2u; /* stripes have 64-bit words */
    TINY_PLACE(at_stripes, (spec->class_count + 1u) * TINY_STRIPES * sizeof(clumpi_stripe));
    TINY_PLACE(at_hints, (spec->class_count + 1u) * words * 4u);
    header->mark_rows = spec->runs;
    TINY_PLACE(at_marks, spec->runs * (end * 16u + CLUMPI_RUN_NOTES_BYTES(header->hint_count[0])));
#undef TINY_PLACE
    header->at_striped = at; /* does not change, nor do the lists */
    h->at_lists = at + (uint)((end * sizeof(clumpi_striped) + CLUMPI_UNIT - 1u) / CLUMPI_UNIT);
    return at * CLUMPI_UNIT;
}

/* Where the lists of a class end, and a stripe of it. */
typedef struct tiny_reserving {
    uint class_id, rows, partial; /* rows of the list of objects; of these, rows with holes */
    uint stripe, hole_rows, at;   /* hole_rows: of each stripe; at: its next position */
} tiny_reserving;

/* A row in the list of objects, the holes of which are the next positions of the stripe. As
 * list_filled() of cl/heap/enumerate.cl leaves it. Returns 0 if it does not fit. */
static inline int tiny_list_row(tiny_heap *h, clumpi_reservation *r, uint granule, ulong holes,
                                tiny_reserving *to) {
    tiny_lists *lists = tiny_lists_of(h, r);
    uint count = clumpi_popcount64(holes), parts = CLUMPI_ROW_SLOTS / CLUMPI_HOLES;
    if (to->rows + 2u > TINY_LIST || to->at + count > to->hole_rows * 64u) return 0;
    lists->rows[to->rows] = granule;
    lists->masks[to->rows] = ~holes;
    lists->slots[to->partial] = to->rows;
    for (uint i = (to->at + CLUMPI_HOLES - 1u) / CLUMPI_HOLES; i * CLUMPI_HOLES - to->at < count;
         i++)
        lists->slots[r->holes_from + (i / parts * r->stripes + to->stripe) * parts + i % parts] =
            to->partial << 6 | (i * CLUMPI_HOLES - to->at);
    for (; holes; holes &= holes - 1, to->at++)
        lists->holes[(to->at / 64u * r->stripes + to->stripe) * 64u + to->at % 64u] =
            granule << 6 | clumpi_lowest64(holes);
    to->partial++;
    to->rows++;
    lists->masks[to->rows++] = ~0ul; /* rows without holes lie between those with some */
    return 1;
}

/* The holes of a stripe before what is reserved: the last few are alone in their rows, so that a
 * request looks at more rows than at a time. */
static inline int tiny_reserve_pad(tiny_heap *h, clumpi_reservation *r, uint holes,
                                   tiny_reserving *to) {
    const uint alone = CLUMPI_LOOK + 2u;
    int good = 1;
    for (uint count; good && holes; holes -= count) {
        count = holes > alone ? min(holes - alone, 64u) : 1u;
        good = tiny_list_row(h, r, 0, count < 64u ? (1ul << count) - 1ul : ~0ul, to);
    }
    return good;
}

/* Slots of a row that no entry of the specification has so far. */
static inline ulong tiny_unreserved(tiny_heap *h, const clumpi_reservation *r, uint granule,
                                    const tiny_reserving *to) {
    const tiny_lists *lists = tiny_lists_of(h, r);
    ulong slots = ~*tiny_bits(h, granule) & tiny_usable(h->per_row);
    for (uint i = 0; i < to->rows; i++)
        if (lists->rows[i] == granule) slots &= lists->masks[i];
    for (uint i = TINY_LIST; i < r->holes_from; i++)
        if (lists->slots[i] == granule << 6) return 0;
    return slots;
}

/* Append the slots of entry `i` of the specification to its stripe. Returns 0 if they do not
 * fit. */
static inline int tiny_reserve_entry(tiny_heap *h, const tiny_spec *spec, uint i,
                                     tiny_reserving *to) {
    clumpi_view v = tiny_view(h);
    uint block = spec->first_block + spec->reserved[i].block, id = to->class_id,
         left = spec->reserved[i].slots, rows = v.classes[id].rows;
    clumpi_reservation *r = &v.classes[id].reserved;
    ulong usable = tiny_usable(h->per_row);
    uint credits = clumpi_credits_of_state(v.states[block]);
    if (credits && clumpi_class_of_state(v.states[block]) != id) return 0;
    if (credits + left > v.classes[id].capacity) return 0;
    clumpi_striped *record = &tiny_striped(h)[block];
    if (spec->reserved[i].empty) {
        if (record->counts & 0xffffu) return 0;
        record->first_row = HOSTED_POSITION(to->stripe, to->at);
        record->counts |= left;
    } else {
        if (record->counts >> 16) return 0;
        record->first_hole = HOSTED_POSITION(to->stripe, to->at);
        record->counts |= left << 16;
    }
    if (!spec->far) v.states[block] = id << CLUMPI_CLASS_SHIFT | CLUMPI_STRIPED | (credits + left);
    /* Holes of rows with objects before those of empty rows. */
    for (uint k = 0; left && k < 2u * rows; k++) {
        uint granule = tiny_granule(h, block, id, k % rows);
        uint is_empty = !(*tiny_bits(h, granule) & usable);
        ulong slots = tiny_unreserved(h, r, granule, to);
        if (!slots || is_empty != k / rows) continue;
        uint list_row = to->at / 64u * r->stripes + to->stripe;
        if (!spec->reserved[i].empty) {
            while (clumpi_popcount64(slots) > left) slots &= ~(1ul << (63 - __builtin_clzl(slots)));
            if (!tiny_list_row(h, r, granule, slots, to)) return 0;
            left -= clumpi_popcount64(slots);
        } else if (is_empty && slots == usable) {
            uint count = min(left, h->per_row), at = TINY_LIST + list_row - r->holes;
            if (to->at % 64u || list_row < r->holes || at >= r->holes_from) return 0;
            tiny_lists_of(h, r)->slots[at] = granule << 6;
            to->at += count;
            left -= count;
        }
    }
    return left == 0;
}

/* Reserve what the specification says for a class. */
static inline int tiny_reserve(tiny_heap *h, const tiny_spec *spec, uint class_id) {
    clumpi_reservation *r = &tiny_view(h).classes[class_id].reserved;
    const clumpi_header *header = tiny_view(h).header;
    uint at_lists = h->at_lists + (class_id - 1u) * (uint)(sizeof(tiny_lists) / CLUMPI_UNIT);
    r->at_slots = at_lists + (uint)(offsetof(tiny_lists, slots) / CLUMPI_UNIT);
    r->at_rows = at_lists + (uint)(offsetof(tiny_lists, rows) / CLUMPI_UNIT);
    r->at_masks = at_lists + (uint)(offsetof(tiny_lists, masks) / CLUMPI_UNIT);
    r->at_stripes =
        header->at_stripes + class_id * TINY_STRIPES * (uint)(sizeof(clumpi_stripe) / CLUMPI_UNIT);
    r->stripes = header->stripes;
    uint holes[TINY_STRIPES] = {0}, hole_rows = 0;
    for (uint i = 0; i < spec->reserved_count; i++)
        if (spec->reserved[i].class_id == class_id && !spec->reserved[i].empty)
            holes[spec->reserved[i].stripe] += spec->reserved[i].slots;
    for (uint s = 0; s < r->stripes; s++) hole_rows = max(hole_rows, (holes[s] + 63u) / 64u);
    r->holes = hole_rows * r->stripes;
    if (r->holes * 64u > TINY_HOLES) return 0;
    r->holes_from = TINY_SLOTS - r->holes * (CLUMPI_ROW_SLOTS / CLUMPI_HOLES);
    r->empty_from = TINY_LIST - r->holes;
    tiny_reserving to = {.class_id = class_id, .hole_rows = hole_rows};
    for (to.stripe = 0; to.stripe < r->stripes; to.stripe++) {
        clumpi_stripe *stripe = tiny_stripes(h, class_id) + to.stripe;
        to.at = 0;
        if (!tiny_reserve_pad(h, r, hole_rows * 64u - holes[to.stripe], &to)) return 0;
        stripe->next = to.at;
        for (uint i = 0; i < 2u * spec->reserved_count; i++) { /* holes, then empty rows */
            uint k = i % spec->reserved_count, empty = i / spec->reserved_count;
            if (spec->reserved[k].class_id == class_id && spec->reserved[k].stripe == to.stripe &&
                spec->reserved[k].empty == empty && !tiny_reserve_entry(h, spec, k, &to))
                return 0;
        }
        stripe->limit = h->limits[class_id - 1u][to.stripe] = to.at;
        r->left += to.at - stripe->next;
        r->keep = max(r->keep, to.at);
        if (spec->far) stripe->next = TINY_FAR;
    }
    return 1;
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
    if (h->at_lists * CLUMPI_UNIT + TINY_CLASSES * sizeof(tiny_lists) > TINY_IMAGE_BYTES) return 0;
    if (spec->reserved_count && HOSTED_WORD_BITS != 64) return 0;
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
        c->is_runs = spec->runs && id == spec->class_count;
    }
    ulong blocked = ~tiny_usable(spec->per_row);
    hosted_blocked = HOSTED_WORD_BITS == 64 ? blocked : 0;
    for (uint g = spec->first_block * spec->block_granules;
         g < (spec->first_block + spec->blocks) * spec->block_granules; g++)
        *tiny_bits(h, g) = blocked;
    for (uint i = 0; i < spec->filled_count; i++) {
        uint block = spec->first_block + spec->filled[i].block, id = spec->filled[i].class_id;
        v.states[block] = id << CLUMPI_CLASS_SHIFT | spec->filled[i].live;
        for (uint n = 0; n < spec->filled[i].live; n++) {
            /* Where slots are reserved, these come first: who claims one takes them before those
             * that are freed. */
            uint at = spec->reserved_count ? v.classes[id].capacity - 1u - n : n;
            *tiny_bits(h, tiny_granule(h, block, id, at / spec->per_row)) |=
                1ul << tiny_slot(at % spec->per_row);
        }
    }
    for (uint id = 1; id <= spec->class_count; id++)
        if (!tiny_reserve(h, spec, id)) return 0;
    tiny_make_hints(h);
    /* The launch that reserves something moves the epoch. */
    for (uint id = 1; id <= spec->class_count; id++)
        v.classes[id].exhausted = spec->spent && !spec->reserved_count && !tiny_room_of_class(h, id)
                                      ? v.header->epoch
                                      : TINY_NEVER;
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
    uint reserved = tiny_reserved_of_all(h, block);
    ulong usable = tiny_usable(h->per_row);
#define TINY_EXPECT(condition, ...)                                                                \
    if (!(condition)) return snprintf(text, size, __VA_ARGS__), 0
    TINY_EXPECT(kind <= h->class_count, "block %u has no class of the heap: %u", block, kind);
    TINY_EXPECT((kind == 0) == (credits == 0), "block %u: class %u with %u credits", block, kind,
                credits);
    TINY_EXPECT(kind || !(v.states[block] & CLUMPI_STRIPED),
                "block %u is free, and slots of it are in stripes", block);
    TINY_EXPECT(credits == live + reserved, "block %u: %u credits, %u live slots, %u reserved ones",
                block, credits, live, reserved);
    TINY_EXPECT(reserved == (kind ? tiny_reserved(h, block, kind) : 0),
                "block %u of class %u: slots of it are reserved for another class", block, kind);
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

/* All invariants that layout.h lists, and what is reserved counted along. True whenever nobody
 * runs. Returns 0 and says what is wrong. */
static inline int tiny_check(tiny_heap *h, char *text, size_t size) {
    static _Thread_local tiny_heap want; /* only its hints are used */
    clumpi_view v = tiny_view(h);
    for (uint b = h->first_block; b < h->first_block + h->blocks; b++)
        if (!tiny_check_block(h, b, text, size)) return 0;
    tiny_copy(&want, h);
    memset(tiny_hints(&want, 0), 0, (h->class_count + 1u) * v.header->hint_words * 4u);
    tiny_make_hints(&want);
    for (uint set = 0; set <= h->class_count; set++)
        for (uint i = 0; i < v.header->hint_words; i++)
            TINY_EXPECT(tiny_hints(h, set)[i] == tiny_hints(&want, set)[i],
                        "hints of set %u, word %u: %08x, should be %08x", set, i,
                        tiny_hints(h, set)[i], tiny_hints(&want, set)[i]);
    for (uint id = 1; id <= h->class_count; id++)
        for (uint s = 0; s < v.classes[id].reserved.stripes; s++)
            TINY_EXPECT(v.classes[id].reserved.left ||
                            tiny_stripes(h, id)[s].next >= tiny_stripes(h, id)[s].limit,
                        "stripe %u of class %u has slots left, but is marked as empty", s, id);
    TINY_EXPECT(v.header->errors[CLUMPI_ERROR_RETRY_BOUND].count == 0, "a retry bound was reached");
    return 1;
}

#endif
