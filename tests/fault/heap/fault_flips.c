/* Bits flipped: each bit of a small heap's metadata in turn. The heap check finds it, or it lies in
 * one of the areas listed here, each with the reason why no check could find it and why it does no
 * harm; docs/internals/reliability.md says the same in words. Each area must have such a bit, so
 * the list stays true.
 *
 * Then: kernels give the right results with bits of all these areas flipped; and repair makes the
 * heap right again after the others, with all objects as before or with words about what is not.
 *
 * Scratch is not flipped: a call writes what it reads there. Nor is the null row.
 *
 * Read first: cl/core/layout.h, host/heap/check.c, cl/heap/check.cl.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cl_fixture.h"
#include "heap/heap.h"

/* Twin's blocks are like Small's. A row of Large takes several granules, so there are granules
 * where no row starts. */
static const char schema_text[] =
    "abstract class Any { uint a; uint b[31]; } class Small : Any {} class Twin : Any {}"
    "class Large : Any { uint c[31]; ref Any d; }";

/* A third of all objects goes; each of the others makes one of another class. */
static const char source[] =
    "__kernel void make(CLUMP_HEAP) { CLUMP_FOR_EACH_NEW(Any, self, i) Any_a(self) = i; }\n"
    "__kernel void look(CLUMP_HEAP_NO_ALLOC, CLUMP_NUMBERS) {\n"
    "    CLUMP_FOR_EACH_NUMBERED(Any, self, i) Any_a(self) = Any_a(self);\n"
    "}\n"
    "__kernel void churn(CLUMP_HEAP) {\n"
    "    CLUMP_FOR_EACH(Small, self) {\n"
    "        uint a = Any_a(Small_as_Any(self));\n"
    "        if (a % 3 == 0) { Small_free(self); return; }\n"
    "        if (a % 3 == 1) { Twin t = Twin_new(); if (!Twin_is_null(t)) Any_a(Twin_as_Any(t)) = "
    "a; }\n"
    "        else { Large l = Large_new(); if (!Large_is_null(l)) Any_a(Large_as_Any(l)) = a; }\n"
    "    }\n"
    "}\n";

enum { NOT_TRIED = 2 };

static struct {
    cl_fixture on;
    clump_heap *heap;
    clump_program *program;
    clump_kernel *make, *look, *churn;
    uint32_t *before; /* the whole buffer, as it should be */
    int reserved, list_valid, list_numbered, numbers_wanted;
    clumpi_classes list_stale;
    clumpi_window window;
    clumpi_u32 list_turn;
    uint8_t *missed;     /* by bit, from the header on: 1: the check did not find it; NOT_TRIED */
    uint32_t step;       /* each so many bits are flipped: odd, since words have 32 */
    uint64_t begin, end; /* bytes that are flipped */
} t;

/* ---- The heap and its flips ------------------------------------------------------------------ */

static void read_heap(uint64_t at, uint64_t bytes, void *words) {
    CHECK_CL(clEnqueueReadBuffer(t.on.queue, clump_heap_get_info(t.heap)->buffer, CL_TRUE, at,
                                 bytes, words, 0, NULL, NULL));
}
static void write_heap(uint64_t at, uint64_t bytes, const void *words) {
    CHECK_CL(clEnqueueWriteBuffer(t.on.queue, clump_heap_get_info(t.heap)->buffer, CL_TRUE, at,
                                  bytes, words, 0, NULL, NULL));
}

static void flip(uint64_t bit) {
    uint64_t at = bit / 32 * 4;
    uint32_t word = t.before[at / 4] ^ UINT32_C(1) << bit % 32;
    write_heap(at, 4, &word);
}
static void flip_back(uint64_t bit) {
    write_heap(bit / 32 * 4, 4, &t.before[bit / 32]);
}

/* The heap as it is now is what it should be. */
static void remember(void) {
    read_heap(0, t.heap->info.bytes, t.before);
    t.reserved = t.heap->reserved;
    t.list_valid = t.heap->list_valid;
    t.list_numbered = t.heap->list_numbered;
    t.numbers_wanted = t.heap->numbers_wanted;
    t.list_turn = t.heap->list_turn;
    t.list_stale = t.heap->list_stale;
    t.window = t.heap->window;
}
static void recall(void) {
    write_heap(0, t.heap->info.bytes, t.before);
    t.heap->reserved = t.reserved;
    t.heap->list_valid = t.list_valid;
    t.heap->list_numbered = t.list_numbered;
    t.heap->numbers_wanted = t.numbers_wanted;
    t.heap->list_turn = t.list_turn;
    t.heap->list_stale = t.list_stale;
    t.heap->window.left = t.window.left;
    t.heap->window.asked = t.window.asked;
}

static uint64_t units(clumpi_u32 at) {
    return (uint64_t)at * CLUMPI_UNIT;
}

/* ---- The areas that no check can judge ------------------------------------------------------- */

typedef enum area_when { ALWAYS, AT_REST, IN_USE } area_when;
typedef struct area {
    const char *name, *reason;
    area_when when; /* in which of the two states of the heap a bit of it is missed; what does not
                       depend on the state is flipped at rest only */
    int runs;       /* kernels run right with a bit of it flipped */
    unsigned missed;
} area;

enum {
    A_EPOCH,
    A_EXHAUSTED,
    A_ERRORS,
    A_RESULTS,
    A_LIST_OF,
    A_BEYOND,
    A_MARK,
    A_FORECAST,
    A_LEFT,
    A_TAKEN,
    A_UNUSED_RESERVATION,
    A_NEXT,
    A_LIMIT,
    A_STRIPED,
    A_RECORD,
    A_SLOTS,
    A_LIST_UNUSED,
    A_HIT,
    A_FULL_CLASS,
    A_PADDING,
    A_AREAS
};
static area areas[A_AREAS] = {
    [A_EPOCH] = {"header.epoch", "any number that no class has as `exhausted` means: look for room",
                 AT_REST, 1, 0},
    [A_EXHAUSTED] = {"class.exhausted, swept", "any number but the epoch means: look for room",
                     ALWAYS, 1, 0},
    [A_ERRORS] = {"header.errors, reduce_done", "a report: whatever kernels count is legal",
                  AT_REST, 0, 0},
    [A_RESULTS] = {"header.new_rows, new_objects, ranked, reduced",
                   "the result of a call, read at its end and written before it is read again",
                   AT_REST, 1, 0},
    [A_LIST_OF] = {"header.list_of", "written with each list, and not read without one", AT_REST, 1,
                   0},
    [A_BEYOND] = {"header.list_beyond", "more rows are looked at than need be; the list clears it",
                  AT_REST, 1, 0},
    [A_MARK] = {"header.reduced_mark", "a number that goes on with each reduction: any is legal",
                AT_REST, 1, 0},
    [A_FORECAST] =
        {"reservation.learnt, header.list_opened, list_covers, list_used, list_present",
         "a forecast: it decides how much is reserved and who does it, not what is right", ALWAYS,
         1, 0},
    [A_LEFT] = {"reservation.left", "0 says that nothing is left; other numbers only say: look",
                ALWAYS, 1, 0},
    [A_TAKEN] =
        {"header.taken, reservation.keep",
         "they decide how much is taken back at a time for other classes, not what is right",
         ALWAYS, 1, 0},
    [A_UNUSED_RESERVATION] = {"reservation.holes, holes_from, empty_from",
                              "nobody reads them while no slot is left that they lead to", ALWAYS,
                              1, 0},
    [A_NEXT] = {"stripe.next", "counts what was asked for, and goes on when nothing is left",
                ALWAYS, 1, 0},
    [A_LIMIT] = {"stripe.limit", "lower, it means that more was taken back for another class",
                 IN_USE, 1, 0},
    [A_STRIPED] = {"CLUMPI_STRIPED of a block",
                   "without slots of the block in stripes it means nothing", IN_USE, 1, 0},
    [A_RECORD] =
        {"what a block has in stripes",
         "read of a block with CLUMPI_STRIPED only; slots that were handed out are all alike",
         ALWAYS, 1, 0},
    [A_SLOTS] = {"list of slots",
                 "read for slots that are reserved only; another row of the same block is as good",
                 ALWAYS, 1, 0},
    [A_LIST_UNUSED] = {"list of objects",
                       "not read while it is not valid, nor its entries beyond the last row",
                       ALWAYS, 1, 0},
    [A_HIT] = {"column.hit", "each compaction writes it before it reads it", AT_REST, 1, 0},
    [A_FULL_CLASS] = {"class of a full block",
                      "two legal states: no hint names a full block, and a class of equal rows has "
                      "the same bits",
                      AT_REST, 0, 0},
    [A_PADDING] = {"between the areas", "nobody reads it", AT_REST, 1, 0},
};

static int within(uint64_t at, uint64_t begin, uint64_t bytes) {
    return at >= begin && at - begin < bytes;
}
#define IN_MEMBER(at, base, type, member)                                                          \
    within(at, (base) + offsetof(type, member), sizeof(((type *)0)->member))

/* Which area a byte of the class table is in, or A_AREAS. */
static int class_area(uint64_t at) {
    const uint64_t table = units(t.heap->geometry.header.at_classes);
    uint64_t base = table + (at - table) / sizeof(clumpi_class) * sizeof(clumpi_class);
    if (IN_MEMBER(at, base, clumpi_class, exhausted) || IN_MEMBER(at, base, clumpi_class, swept))
        return A_EXHAUSTED;
    if (IN_MEMBER(at, base, clumpi_class, reserved.learnt)) return A_FORECAST;
    if (IN_MEMBER(at, base, clumpi_class, reserved.left)) return A_LEFT;
    if (IN_MEMBER(at, base, clumpi_class, reserved.keep)) return A_TAKEN;
    if (IN_MEMBER(at, base, clumpi_class, reserved.holes) ||
        IN_MEMBER(at, base, clumpi_class, reserved.holes_from) ||
        IN_MEMBER(at, base, clumpi_class, reserved.empty_from))
        return A_UNUSED_RESERVATION;
    return A_AREAS;
}

/* The area of word number `word` of a stripe. A limit may become lower. */
static int stripe_area(uint64_t bit, uint64_t word) {
    if (word == offsetof(clumpi_stripe, next) / 4) return A_NEXT;
    int is_set = t.before[bit / 32] >> bit % 32 & 1;
    return word == offsetof(clumpi_stripe, limit) / 4 && is_set ? A_LIMIT : A_AREAS;
}

/* Bytes of each area of the metadata; what lies between them is padding. */
static int area_of(uint64_t bit) {
    const clumpi_geometry *g = &t.heap->geometry;
    const clumpi_header *h = &g->header;
    const uint64_t at = bit / 8, sets = h->class_count + 1, blocks = h->block_end;
    const uint64_t header = units(h->self_at), rows = blocks * h->block_rows_max;
    if (within(at, header, sizeof *h)) {
        if (IN_MEMBER(at, header, clumpi_header, epoch)) return A_EPOCH;
        if (IN_MEMBER(at, header, clumpi_header, taken)) return A_TAKEN;
        if (IN_MEMBER(at, header, clumpi_header, errors) ||
            IN_MEMBER(at, header, clumpi_header, reduce_done))
            return A_ERRORS;
        if (IN_MEMBER(at, header, clumpi_header, new_rows) ||
            IN_MEMBER(at, header, clumpi_header, new_objects) ||
            IN_MEMBER(at, header, clumpi_header, ranked) ||
            IN_MEMBER(at, header, clumpi_header, reduced))
            return A_RESULTS;
        if (IN_MEMBER(at, header, clumpi_header, list_opened)) return A_FORECAST;
        if (IN_MEMBER(at, header, clumpi_header, list_covers)) return A_FORECAST;
        if (IN_MEMBER(at, header, clumpi_header, list_used)) return A_FORECAST;
        if (IN_MEMBER(at, header, clumpi_header, list_present)) return A_FORECAST;
        if (IN_MEMBER(at, header, clumpi_header, list_of))
            return t.list_valid ? A_AREAS : A_LIST_OF;
        if (IN_MEMBER(at, header, clumpi_header, list_beyond)) return A_BEYOND;
        if (IN_MEMBER(at, header, clumpi_header, reduced_mark)) return A_MARK;
        return A_AREAS;
    }
    if (within(at, units(h->at_classes), sets * sizeof(clumpi_class))) return class_area(at);
    if (within(at, units(h->at_states), blocks * 4)) {
        uint32_t state = t.before[at / 4], id = state >> CLUMPI_CLASS_SHIFT;
        int full =
            id && id < CLUMPI_RESERVED && (state & CLUMPI_CREDIT_MASK) == g->classes[id].capacity;
        if (UINT32_C(1) << bit % 32 == CLUMPI_STRIPED) return A_STRIPED;
        return full && bit % 32 >= CLUMPI_CLASS_SHIFT ? A_FULL_CLASS : A_AREAS;
    }
    if (within(at, units(h->at_bits), blocks * h->block_granules * 8)) return A_AREAS;
    if (within(at, units(h->at_hints), sets * h->hint_words * 4)) return A_AREAS;
    if (within(at, units(h->at_list_begin), (sets + 2) * 4) ||
        within(at, units(h->at_list_full), sets * 4) ||
        within(at, units(h->at_list_reserved), (sets + 2) * 4) ||
        within(at, units(h->at_list_rows), rows * 4) ||
        within(at, units(h->at_list_masks), rows * 8) ||
        within(at, units(h->at_list_index), rows * 4))
        return A_LIST_UNUSED;
    if (within(at, units(h->at_stripes), sets * h->stripes * sizeof(clumpi_stripe)))
        return stripe_area(bit, (at - units(h->at_stripes)) % sizeof(clumpi_stripe) / 4);
    if (within(at, units(h->at_slots), ((uint64_t)h->slots_rows + h->slots_holes) * 4))
        return A_SLOTS;
    if (within(at, units(h->at_striped), blocks * sizeof(clumpi_striped))) return A_RECORD;
    if (within(at, units(h->at_columns),
               g->classes[h->class_count].owners_end * sizeof(clumpi_column)))
        return (at - units(h->at_columns)) % sizeof(clumpi_column) / 4 ==
                       offsetof(clumpi_column, hit) / 4
                   ? A_HIT
                   : A_AREAS;
    return A_PADDING;
}

/* Is it a bit that does not depend on what kernels did: of the header, of columns, of padding? */
static int is_known_to_host(uint64_t bit) {
    const clumpi_header *h = &t.heap->geometry.header;
    int a = area_of(bit);
    if (IN_MEMBER(bit / 8, units(h->self_at), clumpi_header, list_of)) return 0;
    return a == A_PADDING || a == A_HIT || bit / 8 < units(h->at_classes) ||
           (a == A_AREAS &&
            within(bit / 8, units(h->at_classes), (h->class_count + 1) * sizeof(clumpi_class))) ||
           bit / 8 >= units(h->at_columns);
}

/* ---- Flips ----------------------------------------------------------------------------------- */

/* Flip each bit; all that are missed must be in an area that is listed. */
static void flip_all(area_when state) {
    unsigned found = 0, missed = 0, wrong = 0;
    for (int a = 0; a < A_AREAS; a++) areas[a].missed = 0;
    for (uint64_t bit = t.begin * 8; bit < t.end * 8; bit += t.step) {
        if (state == IN_USE && is_known_to_host(bit)) continue; /* as at rest; whole words are */
        clumpi_u32 told, key;
        flip(bit);
        clump_status status = clumpi_check_find(t.heap, &told, &key);
        if (bit / 32 != (bit + t.step) / 32) flip_back(bit);
        t.missed[bit - t.begin * 8] = status == CLUMP_OK && key == UINT32_MAX;
        if (!t.missed[bit - t.begin * 8]) {
            if (status != CLUMP_ERR_CORRUPT) CHECK_OK(&t.on, status);
            found++;
            continue;
        }
        missed++;
        int a = area_of(bit);
        if (a == A_AREAS) {
            if (wrong++ < 20)
                print_error("bit %u of the word at byte %llu (header at %llu) is not found\n",
                            (unsigned)(bit % 32), (unsigned long long)(bit / 32 * 4),
                            (unsigned long long)units(t.heap->geometry.header.self_at));
        } else {
            areas[a].missed++;
        }
    }
    print_message("%u bits: %u found, %u not\n", found + missed, found, missed);
    for (int a = 0; a < A_AREAS; a++) {
        print_message("  %6u %s: %s\n", areas[a].missed, areas[a].name, areas[a].reason);
        const int is_listed = areas[a].when == ALWAYS || areas[a].when == state;
        if (areas[a].missed ? !is_listed : is_listed && t.step == 1) {
            print_error("%s: the list says something else\n", areas[a].name);
            wrong++;
        }
    }
    assert_int_equal(wrong, 0);
    CHECK_HEAP(&t.on, t.heap); /* all is as it was */
}

static uint64_t count_of(const char *name) {
    uint64_t count;
    CHECK_OK(&t.on, clump_heap_read_count(t.heap, name, &count));
    return count;
}

/* A bit of each area at a time: kernels do what they do with none. */
static void run_with_flips(void) {
    static const char *const names[] = {"Small", "Twin", "Large"};
    uint64_t expected[3], seed = 5;
    recall();
    CHECK_OK(&t.on, clump_heap_do_all(t.heap, t.churn, NULL));
    for (int i = 0; i < 3; i++) expected[i] = count_of(names[i]);
    CHECK_HEAP(&t.on, t.heap);
    for (int round = 0; round < 24; round++) {
        recall();
        for (int a = 0; a < A_AREAS; a++) {
            uint64_t bits = (t.end - t.begin) * 8,
                     bit = t.begin * 8 + test_random(&seed, (uint32_t)bits);
            for (uint64_t i = 0; areas[a].runs && i < bits;
                 i++, bit = bit + 1 < t.end * 8 ? bit + 1 : t.begin * 8)
                if (t.missed[bit - t.begin * 8] == 1 && area_of(bit) == a) {
                    flip(bit);
                    break;
                }
        }
        CHECK_OK(&t.on, clump_heap_do_all(t.heap, t.look, NULL));
        CHECK_OK(&t.on, clump_heap_do_all(t.heap, t.churn, NULL));
        CHECK_HEAP(&t.on, t.heap);
        for (int i = 0; i < 3; i++) assert_int_equal(count_of(names[i]), expected[i]);
        CHECK_HEAP(&t.on, t.heap);
    }
    recall();
}

/* ---- Repair ---------------------------------------------------------------------------------- */

static int is_in_bits(uint64_t bit) {
    const clumpi_header *h = &t.heap->geometry.header;
    return within(bit / 8, units(h->at_bits), (uint64_t)h->block_end * h->block_granules * 8);
}

/* After the repair: the objects that there were. */
static int same_objects(const uint32_t *now) {
    const clumpi_header *h = &t.heap->geometry.header;
    uint64_t bits = units(h->at_bits) / 4, words = (uint64_t)h->block_end * h->block_granules * 2;
    if (memcmp(now + bits, t.before + bits, words * 4) != 0) return 0;
    for (uint32_t b = h->first_block; b < h->block_end; b++) {
        uint64_t at = units(h->at_states) / 4 + b, live = 0;
        for (uint32_t g = 0; g < h->block_granules * 2; g++)
            live += t.before[bits + (uint64_t)b * h->block_granules * 2 + g] != 0;
        uint32_t is = now[at] >> CLUMPI_CLASS_SHIFT, was = t.before[at] >> CLUMPI_CLASS_SHIFT;
        if (is != (live ? was : 0)) return 0; /* a block with nothing but reserved slots is free */
    }
    return 1;
}

/* Is it a bit of a block with reserved slots? These are credits, too, so no object is missed
 * there. */
static int is_reserved(uint64_t bit) {
    const clumpi_header *h = &t.heap->geometry.header;
    uint64_t block = (bit / 8 - units(h->at_bits)) / 8 / h->block_granules;
    return (t.before[units(h->at_states) / 4 + block] & CLUMPI_STRIPED) != 0;
}

/* Does the state of a block say that no slot is free? Then its class is believed: no hint tells
 * another. */
static int is_full_by_state(uint64_t bit) {
    uint32_t state = t.before[bit / 32], id = state >> CLUMPI_CLASS_SHIFT;
    return id && (state & CLUMPI_CREDIT_MASK) == t.heap->geometry.classes[id].capacity;
}

/* After each `step`-th flip that the check finds, and each in the states: repair makes the heap
 * right. */
static void repair_flips(unsigned step) {
    const clumpi_header *h = &t.heap->geometry.header;
    const uint64_t fields = t.heap->info.metadata_bytes, bytes = t.heap->info.bytes;
    uint32_t *now = malloc(bytes);
    unsigned as_before = 0, told = 0, until = step;
    for (uint64_t bit = t.begin * 8; bit < t.end * 8; bit++) {
        int is_state = within(bit / 8, units(h->at_states), (uint64_t)h->block_end * 4);
        if (t.missed[bit - t.begin * 8] || (!is_state && --until)) continue;
        if (!is_state) until = step;
        flip(bit);
        assert_int_equal(clump_heap_check(t.heap), CLUMP_ERR_CORRUPT);
        clump_repair_report report = {.size = sizeof report};
        clump_status status = clump_heap_repair(t.heap, &report);
        CHECK_OK(&t.on, clump_heap_check(t.heap));
        read_heap(0, bytes, now);
        int same = same_objects(now);
        assert_memory_equal((char *)now + fields, (char *)t.before + fields, bytes - fields);
        if (status == CLUMP_OK) {
            as_before++;
            if (!same && !(is_state && is_full_by_state(bit)) &&
                !(is_in_bits(bit) && is_reserved(bit)))
                fail_msg("bit %llu: repair says that all is as before", (unsigned long long)bit);
            assert_int_equal(report.appeared + report.vanished + report.lost, 0);
        } else {
            told++;
            assert_int_equal(status, CLUMP_ERR_CORRUPT);
            assert_true(report.appeared + report.vanished + report.lost > 0);
            /* Where the record of what is reserved is wrong, reserved slots count as vanished. */
            if (!is_in_bits(bit) && !is_state && area_of(bit) != A_RECORD)
                fail_msg("bit %llu: repair says that objects were lost", (unsigned long long)bit);
        }
        recall();
    }
    print_message("%u repaired with all objects as before, %u with words\n", as_before, told);
    assert_true(as_before > (t.step > 1 ? 20 : 100) && told > (t.step > 1 ? 2 : 10));
    free(now);
}

/* ---- The two states of the heap -------------------------------------------------------------- */

static void at_rest(void **state) {
    remember();
    assert_true(!t.heap->reserved && !t.heap->list_valid);
    flip_all(AT_REST);
    run_with_flips();
    repair_flips(5);
}

/* Slots are reserved, some were handed out, and the list of objects is valid, with numbers. */
static void in_use(void **state) {
    if (t.on.capabilities->word_bits != 64) skip(); /* nothing is reserved */
    CHECK_OK(&t.on, clump_heap_do_all(t.heap, t.churn, NULL));
    clump_heap_touch(t.heap);
    CHECK_OK(&t.on, clump_heap_do_all(t.heap, t.look, NULL));
    remember();
    assert_true(t.heap->reserved && clumpi_list_is_current(t.heap) && t.heap->list_numbered);
    flip_all(IN_USE);
    run_with_flips();
    repair_flips(5);
}

/* ---- Watched handles ------------------------------------------------------------------------- */

enum { WATCHED = 70, EACH = 3 };

static clump_ref handles[WATCHED];

/* All handles read as the references that they are made of, but null where `except` is. */
static void expect_handles(const clump_ref *refs, clump_ref except) {
    for (int i = 0; i < WATCHED; i += EACH) {
        clump_ref ref;
        CHECK_OK(&t.on, clump_heap_read_handle(t.heap, handles[i], &ref));
        assert_int_equal(ref, refs[i] == except ? 0 : refs[i]);
    }
}

/* Bits of slots with an object cannot be judged: one more means nothing, one fewer makes handles of
 * the object null. Others are found, and repair clears them. */
static void watched(void **state) {
    clump_heap *const plain = t.heap;
    clump_ref refs[WATCHED];
    uint64_t made, count;
    unsigned found = 0, more = 0, fewer = 0;
    t.heap = cl_fixture_heap_watching(&t.on, plain);
    const clumpi_header *h = &t.heap->geometry.header;
    CHECK_OK(&t.on, clump_heap_do_new(t.heap, t.make, "Small", WATCHED, &made, NULL));
    CHECK_OK(&t.on, clump_heap_read_refs(t.heap, "Small", refs, WATCHED, &count));
    assert_int_equal(count, WATCHED);
    for (int i = 0; i < WATCHED; i += EACH)
        CHECK_OK(&t.on, clump_heap_create_handle(t.heap, refs[i], &handles[i]));
    uint32_t *before = t.before;
    t.before = malloc(t.heap->info.bytes);
    remember();
    CHECK_OK(&t.on, clump_heap_check(t.heap));
    const uint64_t watch = units(h->at_watch) * 8, bits = units(h->at_bits) * 8;
    for (uint64_t i = 0; i < (uint64_t)h->block_end * h->block_granules * 64; i++) {
        const uint64_t bit = watch + i, slot = bits + i;
        clumpi_u32 told, key;
        int is_object = t.before[slot / 32] >> slot % 32 & 1;
        if (!is_object && i % t.step) continue;
        flip(bit);
        CHECK_OK(&t.on, clumpi_check_find(t.heap, &told, &key));
        int was_watched = t.before[bit / 32] >> bit % 32 & 1;
        if (is_object != (key == UINT32_MAX))
            fail_msg("slot %llu: object %d, watched before %d, key %u", (unsigned long long)i,
                     is_object, was_watched, key);
        assert_true(is_object || !was_watched);
        if (!is_object && found++ % 97 == 0) {
            CHECK_OK(&t.on, clump_heap_repair(t.heap, NULL));
            CHECK_OK(&t.on, clump_heap_check(t.heap));
            expect_handles(refs, 0);
            recall();
        }
        more += is_object && !was_watched;
        if (was_watched) {
            fewer++;
            expect_handles(refs, (clump_ref)i);
            for (int j = 0; j < WATCHED; j += EACH) /* of a slot that was null'd by the look */
                if (refs[j] == (clump_ref)i) {
                    CHECK_OK(&t.on, clump_heap_destroy_handle(t.heap, handles[j]));
                    CHECK_OK(&t.on, clump_heap_create_handle(t.heap, refs[j], &handles[j]));
                }
        }
        flip_back(bit);
    }
    print_message("%u bits found; not found: %u set, %u cleared\n", found, more, fewer);
    assert_int_equal(fewer, (WATCHED + EACH - 1) / EACH);
    assert_int_equal(more + fewer, WATCHED);
    free(t.before);
    t.before = before;
    clump_heap_destroy(t.heap);
    t.heap = plain;
}

static int set_up(void **state) {
    t.heap = cl_fixture_heap_of_blocks(&t.on, schema_text, 14, 2);
    t.program = cl_fixture_program(&t.on, t.heap, source, NULL, NULL);
    t.make = cl_fixture_kernel(&t.on, t.program, "make");
    t.look = cl_fixture_kernel(&t.on, t.program, "look");
    t.churn = cl_fixture_kernel(&t.on, t.program, "churn");
    const clumpi_geometry *g = &t.heap->geometry;
    const clumpi_header *h = &g->header;
    uint32_t small = cl_fixture_class_id(t.heap, "Small"),
             twin = cl_fixture_class_id(t.heap, "Twin");
    assert_int_equal(g->classes[small].capacity, g->classes[twin].capacity);
    uint64_t made;
    CHECK_OK(&t.on, clump_heap_do_new(t.heap, t.make, "Small", g->classes[small].capacity + 40,
                                      &made, NULL));
    CHECK_OK(&t.on, clump_heap_do_new(t.heap, t.make, "Large",
                                      cl_fixture_capacity(t.heap, "Large") + 3, &made, NULL));
    t.begin = units(h->self_at);
    t.end = units(h->at_block_plans); /* scratch from there on */
    t.before = malloc(t.heap->info.bytes);
    t.missed = malloc((t.end - t.begin) * 8);
    memset(t.missed, NOT_TRIED, (t.end - t.begin) * 8);
    t.step = cl_fixture_each(1);
    t.step += t.step > 1 && t.step % 2 == 0;
    return 0;
}

static int tear_down(void **state) {
    clump_kernel_destroy(t.make);
    clump_kernel_destroy(t.look);
    clump_kernel_destroy(t.churn);
    clump_program_destroy(t.program);
    clump_heap_destroy(t.heap);
    free(t.before);
    free(t.missed);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(at_rest), cmocka_unit_test(in_use),
                                       cmocka_unit_test(watched)};
    int result = cl_fixture_open(&t.on, NULL);
    if (result) return result;
    result = cmocka_run_group_tests(tests, set_up, tear_down);
    cl_fixture_close(&t.on);
    return result;
}
