/* The heap check finds what is planted: for every kind of violation a corruption is written
 * straight into the buffer, the check must name block, class and both values, and be content once
 * the words are put back. The check itself must change nothing but its own scratch area.
 *
 * Read first: cl/core/layout.h, cl/heap/check.cl.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cl_fixture.h"
#include "heap/heap.h"

/* A row of Large takes four granules, so that there are granules where no row starts; 1500 blocks
 * give the hints three levels. */
static const char schema_text[] =
    "abstract class Any { uint a; } class Small : Any {} class Large : Any { uint b[3]; }";
#define BLOCKS 1500u

static const char source[] =
    "__kernel void make(CLUMP_HEAP) {\n"
    "    CLUMP_FOR_EACH_NEW(Any, self, i) Any_a(self) = i;\n"
    "}\n"
    "__kernel void grow(CLUMP_HEAP) {\n"
    "    CLUMP_FOR_EACH(Large, self) {\n"
    "        Small s = Small_new();\n"
    "        if (!Small_is_null(s)) Any_a(Small_as_Any(s)) = Any_a(Large_as_Any(self));\n"
    "    }\n"
    "}\n"
    "__kernel void look(CLUMP_HEAP_NO_ALLOC, CLUMP_NUMBERS) {\n"
    "    CLUMP_FOR_EACH_NUMBERED(Any, self, i) Any_a(self) = i;\n"
    "}\n";

static struct {
    cl_fixture on;
    clump_heap *heap;
    const clumpi_header *header;
    uint32_t small, large, any;      /* class ids */
    uint32_t full, part, large_part; /* blocks: of Small; of Small with room; of Large with room */
    uint32_t empty;                  /* a free block */
    clump_program *program;
    clump_kernel *grow, *look;
    unsigned seen[CLUMPI_VIOLATION_COUNT];
} t;

/* ---- Words of the buffer --------------------------------------------------------------------- */

/* The old value of each word that was overwritten, the latest last. */
static struct {
    uint64_t offset;
    uint32_t old;
} planted[16];
static unsigned planted_count;

static uint32_t get(uint64_t offset) {
    uint32_t word;
    CHECK_CL(clEnqueueReadBuffer(t.on.queue, clump_heap_get_info(t.heap)->buffer, CL_TRUE, offset,
                                 4, &word, 0, NULL, NULL));
    return word;
}

static void put(uint64_t offset, uint32_t word) {
    CHECK_CL(clEnqueueWriteBuffer(t.on.queue, clump_heap_get_info(t.heap)->buffer, CL_TRUE, offset,
                                  4, &word, 0, NULL, NULL));
}

static void plant(uint64_t offset, uint32_t word) {
    assert_true(planted_count < sizeof planted / sizeof *planted);
    planted[planted_count].offset = offset;
    planted[planted_count++].old = get(offset);
    put(offset, word);
}

static void flip(uint64_t offset, uint32_t bits) {
    plant(offset, get(offset) ^ bits);
}

static void undo(void) {
    while (planted_count) {
        planted_count--;
        put(planted[planted_count].offset, planted[planted_count].old);
    }
}

static uint64_t state_at(uint32_t block) {
    return (uint64_t)t.header->at_states * CLUMPI_UNIT + block * 4u;
}

static uint64_t bits_at(uint32_t block, uint32_t granule) {
    return (uint64_t)t.header->at_bits * CLUMPI_UNIT +
           ((uint64_t)block * t.header->block_granules + granule) * 8u;
}

static uint64_t hint_at(uint32_t set, uint32_t level, uint32_t index) {
    return (uint64_t)t.header->at_hints * CLUMPI_UNIT +
           ((uint64_t)set * t.header->hint_words + t.header->hint_level[level] + index / 32) * 4u;
}

static uint64_t header_at(size_t member) {
    return (uint64_t)t.header->self_at * CLUMPI_UNIT + member;
}

static uint64_t striped_at(uint32_t block) {
    return (uint64_t)t.header->at_striped * CLUMPI_UNIT + block * sizeof(clumpi_striped);
}
static uint32_t class_of(uint32_t block) {
    return get(state_at(block)) >> CLUMPI_CLASS_SHIFT;
}
static uint32_t credits_of(uint32_t block) {
    return get(state_at(block)) & CLUMPI_CREDIT_MASK;
}
static uint32_t capacity_of(uint32_t id) {
    return t.heap->geometry.classes[id].capacity;
}
static uint32_t state_of(uint32_t id, uint32_t credits) {
    return id << CLUMPI_CLASS_SHIFT | credits;
}

/* ---- What must hold -------------------------------------------------------------------------- */

/* The check says these words, twice the same; and nothing once the words are back. */
static void expect(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void expect(const char *format, ...) {
    char words[512];
    va_list args;
    va_start(args, format);
    vsnprintf(words, sizeof words, format, args);
    va_end(args);
    for (int i = 0; i < 2; i++) {
        clump_status status = clump_heap_check(t.heap);
        const char *message = clump_context_get_error(t.on.clump)->message;
        if (!status) fail_msg("the check does not see: %s", words);
        assert_int_equal(status, CLUMP_ERR_CORRUPT);
        if (strcmp(message, words) != 0) fail_msg("expected: %s\nfound:    %s", words, message);
    }
    undo();
    CHECK_OK(&t.on, clump_heap_check(t.heap));
}

/* The same for a violation of layout.h's list, which is marked as seen. */
#define EXPECT(code, ...)                                                                          \
    do {                                                                                           \
        t.seen[CLUMPI_VIOLATION_##code]++;                                                         \
        expect(__VA_ARGS__);                                                                       \
    } while (0)

static uint32_t find_block(uint32_t id, int full) {
    for (uint32_t b = t.header->first_block; b < t.header->block_end; b++)
        if (class_of(b) == id && (!id || (credits_of(b) == capacity_of(id)) == full)) return b;
    fail_msg("no block of class %u, full: %d", id, full);
    return 0;
}

/* A word of hints that is for no blocks. */
static uint32_t spare_hint_word(const clumpi_header *h) {
    return h->hint_level[h->hint_levels - 1] + 1;
}

static int set_up(void **state) {
    /* Metadata takes more blocks on larger devices, and hints are for these, too: so their words
     * may fill a line. */
    for (uint32_t blocks = BLOCKS; !t.heap; blocks += 32) {
        t.heap = cl_fixture_heap_of_blocks(&t.on, schema_text, blocks, 4);
        t.header = &t.heap->geometry.header;
        if (spare_hint_word(t.header) < t.header->hint_words) break;
        clump_heap_destroy(t.heap);
        t.heap = NULL;
    }
    t.any = cl_fixture_class_id(t.heap, "Any");
    t.small = cl_fixture_class_id(t.heap, "Small");
    t.large = cl_fixture_class_id(t.heap, "Large");
    assert_true(t.header->hint_levels >= 3);
    assert_true(t.heap->geometry.classes[t.large].row_granules > 1);
    t.program = cl_fixture_program(&t.on, t.heap, source, NULL, NULL);
    t.grow = cl_fixture_kernel(&t.on, t.program, "grow");
    t.look = cl_fixture_kernel(&t.on, t.program, "look");
    clump_kernel *k = cl_fixture_kernel(&t.on, t.program, "make");
    uint64_t made;
    CHECK_OK(&t.on,
             clump_heap_do_new(t.heap, k, "Small", 2 * capacity_of(t.small) + 70, &made, NULL));
    CHECK_OK(&t.on, clump_heap_do_new(t.heap, k, "Large", capacity_of(t.large) + 3, &made, NULL));
    clump_kernel_destroy(k);
    CHECK_HEAP(&t.on, t.heap);
    t.full = find_block(t.small, 1);
    t.part = find_block(t.small, 0);
    t.large_part = find_block(t.large, 0);
    t.empty = find_block(0, 0);
    return 0;
}

static int tear_down(void **state) {
    clump_kernel_destroy(t.grow);
    clump_kernel_destroy(t.look);
    clump_program_destroy(t.program);
    clump_heap_destroy(t.heap);
    return 0;
}

/* ---- States ---------------------------------------------------------------------------------- */

static void class_of_a_block(void **state) {
    const uint32_t strange[] = {t.large + 1, t.any, 9, 254, CLUMPI_RESERVED};
    for (size_t i = 0; i < sizeof strange / sizeof *strange; i++) {
        uint32_t word = state_of(strange[i], 5);
        plant(state_at(t.part), word);
        EXPECT(CLASS, "block %u: its class %u is none of the schema (state %u, found %u)", t.part,
               strange[i], word, strange[i]);
    }
    plant(state_at(t.header->block_end - 1), state_of(200, 0));
    EXPECT(CLASS, "block %u: its class 200 is none of the schema (state %u, found 200)",
           t.header->block_end - 1, state_of(200, 0));
}

static void credits(void **state) {
    uint32_t capacity = capacity_of(t.small);
    plant(state_at(t.full), state_of(t.small, capacity + 1));
    EXPECT(CAPACITY, "block %u: class %u holds at most %u objects a block, credits say %u", t.full,
           t.small, capacity, capacity + 1);
    plant(state_at(t.part), state_of(t.small, CLUMPI_CREDIT_MASK));
    EXPECT(CAPACITY, "block %u: class %u holds at most %u objects a block, credits say 8388607",
           t.part, t.small, capacity);
    plant(state_at(t.empty), 3);
    EXPECT(FREE_CREDITS, "block %u: it is free (class 0) and must have 0 credits, has 3", t.empty);
    plant(state_at(t.part), state_of(t.small, 0));
    EXPECT(EMPTY, "block %u: it belongs to class %u and must have at least 1 credit, has 0", t.part,
           t.small);
    plant(state_at(t.empty), state_of(t.small, 0));
    EXPECT(EMPTY, "block %u: it belongs to class %u and must have at least 1 credit, has 0",
           t.empty, t.small);
    plant(state_at(t.large_part), 0); /* its objects are forgotten: their bits are what is seen */
    EXPECT(STRAY, "block %u: of class 0 has bits set in granule 0 where no row starts: 3 of them",
           t.large_part);
}

/* ---- Bitmaps --------------------------------------------------------------------------------- */

static void bitmaps(void **state) {
    uint32_t had = credits_of(t.part);
    const char *words = "block %u: of class %u has %u credits, but %u live slots in its bitmaps";
    flip(bits_at(t.part, 0), 1); /* an object vanishes */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    EXPECT(BITS, words, t.part, t.small, had, had - 1);
    flip(bits_at(t.part, 1) + 4, 1u << 31); /* one appears, in the upper half of the second row */
    EXPECT(BITS, words, t.part, t.small, had, had + 1);
    plant(state_at(t.part), state_of(t.small, had + 1)); /* a credit leaks */
    EXPECT(BITS, words, t.part, t.small, had + 1, had);
    flip(bits_at(t.full, 0), ~0u); /* a whole word is overwritten */
    EXPECT(BITS, words, t.full, t.small, capacity_of(t.small), capacity_of(t.small) - 32);
#pragma GCC diagnostic pop
}

static void bits_where_no_row_starts(void **state) {
    flip(bits_at(t.large_part, 1), 1u << 7);
    EXPECT(STRAY, "block %u: of class %u has bits set in granule 1 where no row starts: 1 of them",
           t.large_part, t.large);
    flip(bits_at(t.large_part, 3) + 4, 3u << 30);
    EXPECT(STRAY, "block %u: of class %u has bits set in granule 3 where no row starts: 2 of them",
           t.large_part, t.large);
    flip(bits_at(t.empty, 2), 1);
    EXPECT(STRAY, "block %u: of class 0 has bits set in granule 2 where no row starts: 1 of them",
           t.empty);
}

/* ---- Hints ----------------------------------------------------------------------------------- */

static void hints_of_blocks(void **state) {
    flip(hint_at(0, 0, t.empty), 1u << t.empty % 32);
    EXPECT(FREE_HINT, "block %u: of class 0: the free hint should be 1, is 0", t.empty);
    flip(hint_at(0, 0, t.full), 1u << t.full % 32);
    EXPECT(FREE_HINT, "block %u: of class 0: the free hint should be 0, is 1", t.full);
    flip(hint_at(t.small, 0, t.part), 1u << t.part % 32);
    EXPECT(ACTIVE_HINT, "block %u: the active hint of class %u should be 1, is 0", t.part, t.small);
    flip(hint_at(t.small, 0, t.full), 1u << t.full % 32);
    EXPECT(ACTIVE_HINT, "block %u: the active hint of class %u should be 0, is 1", t.full, t.small);
    flip(hint_at(t.large, 0, t.part), 1u << t.part % 32);
    EXPECT(ACTIVE_HINT, "block %u: the active hint of class %u should be 0, is 1", t.part, t.large);
    flip(hint_at(t.any, 0, t.empty), 1u << t.empty % 32);
    EXPECT(ACTIVE_HINT, "block %u: the active hint of class %u should be 0, is 1", t.empty, t.any);
}

/* A wrong upper bit, and all above it in line with it, so that there is one violation only. */
static void flip_upwards(uint32_t set, uint32_t level, uint32_t block) {
    for (; level < t.header->hint_levels; level++) {
        uint32_t index = block >> 5 * level;
        flip(hint_at(set, level, index), 1u << index % 32);
    }
}

static void hints_of_hints(void **state) {
    for (uint32_t level = 1; level < t.header->hint_levels; level++) {
        flip_upwards(t.small, level, t.part); /* the one active block */
        EXPECT(UPPER_HINT, "the heap: an upper bit of hint set %u should be 1, is 0", t.small);
        flip_upwards(t.any, level, t.part); /* there is none */
        EXPECT(UPPER_HINT, "the heap: an upper bit of hint set %u should be 0, is 1", t.any);
        uint32_t index = (t.header->block_end - 1) >> 5 * level; /* one of many free ones */
        flip(hint_at(0, level, index), 1u << index % 32);
        EXPECT(UPPER_HINT, "the heap: an upper bit of hint set 0 should be 1, is 0");
    }
}

static void header(void **state) {
    const size_t members[] = {offsetof(clumpi_header, magic), offsetof(clumpi_header, block_end),
                              offsetof(clumpi_header, at_scan),
                              offsetof(clumpi_header, hint_count)};
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        uint32_t was = get(header_at(members[i]));
        flip(header_at(members[i]), 1);
        expect(
            "the heap's header was overwritten on the device: word %u is 0x%08x, and was "
            "0x%08x. Call clump_heap_repair() to restore it",
            (unsigned)(members[i] / 4), was ^ 1, was);
    }
}

static uint64_t class_at(uint32_t id, size_t member) {
    return (uint64_t)t.header->at_classes * CLUMPI_UNIT + id * sizeof(clumpi_class) + member;
}

static void class_table_and_columns(void **state) {
    uint32_t capacity = capacity_of(t.small), stripes = t.header->stripes;
    flip(class_at(t.small, offsetof(clumpi_class, capacity)), 2);
    expect(
        "the class table's entry of class Small was overwritten on the device: word 2 is "
        "0x%08x, and was 0x%08x. Call clump_heap_repair() to restore it",
        capacity ^ 2, capacity);
    plant(class_at(t.large, offsetof(clumpi_class, reserved.stripes)), 3);
    expect(
        "the class table's entry of class Large was overwritten on the device: word %u is "
        "0x00000003, and was 0x%08x. Call clump_heap_repair() to restore it",
        (unsigned)(offsetof(clumpi_class, reserved.stripes) / 4), stripes);
    uint32_t column = t.heap->geometry.classes[t.small].copies;
    uint64_t at = (uint64_t)t.header->at_columns * CLUMPI_UNIT + column * sizeof(clumpi_column);
    uint32_t base = get(at);
    plant(at, 77);
    expect(
        "a column of class Small was overwritten on the device: word 0 is 0x0000004d, and was "
        "0x%08x. Call clump_heap_repair() to restore it",
        base);
}

/* ---- Handles --------------------------------------------------------------------------------- */

static void watched_slots(void **state) {
    clump_heap *const plain = t.heap;
    const clumpi_header *const header = t.header;
    clump_kernel *k = cl_fixture_kernel(&t.on, t.program, "make");
    clump_ref refs[3];
    uint64_t made, count;
    clump_handle handle;
    t.heap = cl_fixture_heap_watching(&t.on, plain);
    t.header = &t.heap->geometry.header;
    CHECK_OK(&t.on, clump_heap_do_new(t.heap, k, "Small", 3, &made, NULL));
    CHECK_OK(&t.on, clump_heap_read_refs(t.heap, "Small", refs, 3, &count));
    for (int i = 0; i < 3; i++) CHECK_OK(&t.on, clump_heap_create_handle(t.heap, refs[i], &handle));
    CHECK_OK(&t.on, clump_heap_check(t.heap));
    const uint64_t watch = (uint64_t)t.header->at_watch * CLUMPI_UNIT;
    uint32_t granule = refs[0] >> 6, block = granule / t.header->block_granules;
    granule %= t.header->block_granules;
    flip(watch + (refs[0] >> 6) * UINT64_C(8) + 4, 3u << 30);
    EXPECT(WATCHED, "block %u: of class %u watches slots without objects in granule %u: 2 of them",
           block, t.small, granule);
    flip(watch, 1);
    EXPECT(WATCHED, "block 0: of class 255 watches slots without objects in granule 0: 1 of them");
    clump_kernel_destroy(k);
    clump_heap_destroy(t.heap);
    t.heap = plain;
    t.header = header;
}

/* ---- Raw memory ------------------------------------------------------------------------------ */

/* A run of two blocks and some slots, and one of 20 slots of a row. */
static void runs_of_raw_memory(void **state) {
    clump_heap *const plain = t.heap;
    const clumpi_header *const header = t.header;
    CHECK_OK(&t.on, clump_heap_create(&(clump_heap_desc){.size = sizeof(clump_heap_desc),
                                                         .context = t.on.clump,
                                                         .bytes = UINT64_C(4) << 20,
                                                         .raw = 1},
                                      &t.heap, NULL));
    t.header = &t.heap->geometry.header;
    const uint32_t blocks_class = t.header->class_count, rows_class = blocks_class - 1;
    const uint64_t sizes[] = {
        (uint64_t)t.header->granule_bytes * t.header->block_granules * 2 + 100,
        t.heap->geometry.classes[rows_class].slot_bytes * UINT64_C(20)};
    clump_program *p =
        cl_fixture_program(&t.on, t.heap,
                           "__kernel void take(CLUMP_HEAP, ulong bytes) {\n"
                           "    if (get_global_id(0) == 0) clump_malloc(bytes);\n}\n",
                           NULL, NULL);
    clump_kernel *k = cl_fixture_kernel(&t.on, p, "take");
    for (int i = 0; i < 2; i++) {
        SET_ARG(&t.on, k, 0, sizes[i]);
        CHECK_OK(&t.on, clump_heap_launch(t.heap, k, 64, 64, NULL));
    }
    CHECK_HEAP(&t.on, t.heap);
    uint32_t first = t.header->first_block, row_block = first;
    while (class_of(first) != blocks_class) first++;
    while (class_of(row_block) != rows_class) row_block++;
    const uint64_t block_marks = t.header->mark_rows * UINT64_C(16);
    const uint64_t marks = (uint64_t)t.header->at_marks * CLUMPI_UNIT;
    flip(marks + first * block_marks, 1); /* where it begins */
    EXPECT(MARKS,
           "block %u: of class %u: runs of raw memory in row 0 begin or end in 1 wrong places",
           first, blocks_class);
    flip(marks + (first + 1) * block_marks, 1 << 5); /* another one, in its middle */
    EXPECT(MARKS,
           "block %u: of class %u: runs of raw memory in row 0 begin or end in 1 wrong places",
           first + 1, blocks_class);
    flip(marks + first * block_marks + 12, 1u << 31); /* it ends with its first block */
    EXPECT(MARKS,
           "block %u: of class %u: runs of raw memory in row 0 begin or end in 1 wrong places",
           first + 1, blocks_class);
    flip(marks + row_block * block_marks + 8, 3u << 18); /* it ends one slot before its last */
    EXPECT(MARKS,
           "block %u: of class %u: runs of raw memory in row 0 begin or end in 2 wrong places",
           row_block, rows_class);
    flip(marks + row_block * block_marks + 16, 6); /* in an empty row */
    EXPECT(MARKS,
           "block %u: of class %u: runs of raw memory in row 1 begin or end in 2 wrong places",
           row_block, rows_class);
    flip(marks, 1);
    EXPECT(MARKS,
           "block 0: of class 255: runs of raw memory in row 0 begin or end in 1 wrong places");
    clump_kernel_destroy(k);
    clump_program_destroy(p);
    clump_heap_destroy(t.heap);
    t.heap = plain;
    t.header = header;
}

/* ---- Words that are for no block ------------------------------------------------------------- */

static void hints_of_nothing(void **state) {
    uint32_t last = t.header->hint_levels - 1, word = spare_hint_word(t.header);
    plant(hint_at(t.large, last, 32), 5);
    EXPECT(OUTSIDE, "the heap: hint set %u: word %u names blocks that are not there, by its bits 5",
           t.large, word);
}

static void out_of_memory_by_mistake(void **state) {
    uint32_t epoch = get(header_at(offsetof(clumpi_header, epoch)));
    uint32_t last = t.header->hint_levels - 1;
    plant(class_at(t.small, offsetof(clumpi_class, exhausted)), epoch);
    EXPECT(EXHAUSTED,
           "the heap: class %u counts as out of memory since epoch %u, but hints %u say where room "
           "is",
           t.small, epoch, get(hint_at(0, last, 0)) | get(hint_at(t.small, last, 0)));
}

/* ---- Reservations and the list --------------------------------------------------------------- */

static uint64_t stripe_at(uint32_t id, uint32_t stripe, size_t member) {
    return ((uint64_t)t.header->at_stripes * CLUMPI_UNIT) +
           ((uint64_t)id * t.header->stripes + stripe) * sizeof(clumpi_stripe) + member;
}

static void stripes_at_rest(void **state) {
    plant(stripe_at(t.small, 0, offsetof(clumpi_stripe, limit)), 64);
    EXPECT(STRIPE,
           "the heap: class %u: stripe 0 of what is reserved ends at 64, where nothing is reserved",
           t.small);
    flip(state_at(t.part),
         CLUMPI_STRIPED); /* nothing is in stripes, so it is a number of credits */
    EXPECT(CAPACITY, "block %u: class %u holds at most %u objects a block, credits say %u", t.part,
           t.small, capacity_of(t.small), credits_of(t.part) + CLUMPI_STRIPED);
}

static void skip_without_reservations(void) {
    if (t.on.capabilities->word_bits != 64) skip();
}

/* From here on slots are reserved, some of them are in use, and the list of objects is valid. */
static void in_use(void **state) {
    CHECK_OK(&t.on, clump_heap_do_all(t.heap, t.grow, NULL));
    CHECK_OK(&t.on, clump_heap_do_all(t.heap, t.look, NULL));
    assert_true(t.heap->reserved && t.heap->list_valid && t.heap->list_numbered);
    CHECK_OK(&t.on, clump_heap_check(t.heap));
    skip_without_reservations();
    t.part = 0;
    for (uint32_t b = t.header->first_block; b < t.header->block_end && !t.part; b++)
        if (class_of(b) == t.small && get(bits_at(b, 0)) && get(state_at(b)) & CLUMPI_STRIPED &&
            get(striped_at(b) + 8) >> 16)
            t.part = b; /* has objects and reserved holes */
    assert_true(t.part != 0);
}

static uint32_t live_in(uint32_t block) {
    uint32_t live = 0;
    for (uint32_t g = 0; g < t.header->block_granules; g++)
        live += (uint32_t)__builtin_popcount(get(bits_at(block, g))) +
                (uint32_t)__builtin_popcount(get(bits_at(block, g) + 4));
    return live;
}

static void reserved_slots(void **state) {
    skip_without_reservations();
    uint32_t held = credits_of(t.part) - live_in(t.part), bits = get(bits_at(t.part, 0));
    flip(bits_at(t.part, 0), bits & (0 - bits));
    EXPECT(HELD, "block %u: of class %u has %u reserved slots, but %u credits that no object has",
           t.part, t.small, held, held + 1);
    flip(state_at(t.part), CLUMPI_STRIPED);
    EXPECT(STRIPED, "block %u: of class %u: stripes have %u slots of it, by its own record 0",
           t.part, t.small, held);
}

static void stripes(void **state) {
    skip_without_reservations();
    uint32_t count = get(class_at(t.small, offsetof(clumpi_class, reserved.stripes))), s = 0;
    uint32_t holes = get(class_at(t.small, offsetof(clumpi_class, reserved.holes)));
    uint32_t from = get(class_at(t.small, offsetof(clumpi_class, reserved.empty_from)));
    while (get(stripe_at(t.small, s, offsetof(clumpi_stripe, next))) >=
           get(stripe_at(t.small, s, offsetof(clumpi_stripe, limit))))
        s++;
    plant(class_at(t.small, offsetof(clumpi_class, reserved.left)), 0);
    EXPECT(LEFT,
           "the heap: class %u: stripe %u has reserved slots, but 0 are said to be left in all",
           t.small, s);
    plant(stripe_at(t.small, 0, offsetof(clumpi_stripe, limit)), 1u << 30);
    EXPECT(STRIPE,
           "the heap: class %u: stripe 0 of what is reserved ends at 1073741824, where nothing is "
           "reserved",
           t.small);
    uint32_t row =
        (get(stripe_at(t.small, s, offsetof(clumpi_stripe, limit))) - 1) / 64 * count + s;
    assert_true(row >= holes); /* its last row is an empty one */
    plant((uint64_t)t.header->at_slots * CLUMPI_UNIT + (uint64_t)(from + row) * 4, 320);
    EXPECT(SLOT, "the heap: class %u: row %u of what is reserved is at 320, where no block has it",
           t.small, row);
}

static void list_of_objects(void **state) {
    plant(header_at(offsetof(clumpi_header, list_of)), t.small);
    expect(
        "the heap was overwritten: its list has all objects, but names %u as its class. "
        "Call clump_heap_repair() to restore it",
        t.small);
    plant((uint64_t)t.header->at_list_rows * CLUMPI_UNIT, 3);
    EXPECT(LIST, "the heap: class %u: entry 0 of the list of objects is wrong: granule or number 3",
           t.small);
    uint64_t begin = (uint64_t)t.header->at_list_begin * CLUMPI_UNIT;
    uint32_t last = t.header->class_count;
    uint32_t rows = get(begin + (last + 1) * 4u) - get(begin + last * 4u);
    plant(begin + (last + 1) * 4u, get(begin + last * 4u) + rows - 1);
    EXPECT(LIST_ROWS, "the heap: class %u has %u rows with objects, but %u in the list of objects",
           last, rows, rows - 1);
}

/* ---- Several at once, and none --------------------------------------------------------------- */

static void lowest_block_is_named(void **state) {
    uint32_t low = t.empty, high = t.header->block_end - 2;
    assert_true(low < high);
    plant(state_at(high), 7);
    plant(state_at(low), 5);
    flip(hint_at(0, 0, low), 1u << low % 32);
    expect("block %u: it is free (class 0) and must have 0 credits, has 5", low);
}

/* Of several violations of one kind in a block the first is told, and no mixture of them. */
static void first_of_a_kind_is_named(void **state) {
    flip(bits_at(t.large_part, 3), 7u);
    flip(bits_at(t.large_part, 1), 1u << 7);
    expect("block %u: of class %u has bits set in granule 1 where no row starts: 1 of them",
           t.large_part, t.large);
}

static void check_changes_nothing(void **state) {
    const clump_heap_info *l = clump_heap_get_info(t.heap);
    uint64_t scan = (uint64_t)t.header->at_scan * CLUMPI_UNIT;
    char *before = malloc(l->bytes), *after = malloc(l->bytes);
    cl_mem buffer = clump_heap_get_info(t.heap)->buffer;
    flip(state_at(t.part), 1); /* the second pass, which reports, runs too */
    CHECK_CL(clEnqueueReadBuffer(t.on.queue, buffer, CL_TRUE, 0, l->bytes, before, 0, NULL, NULL));
    assert_int_equal(clump_heap_check(t.heap), CLUMP_ERR_CORRUPT);
    CHECK_CL(clEnqueueReadBuffer(t.on.queue, buffer, CL_TRUE, 0, l->bytes, after, 0, NULL, NULL));
    undo();
    assert_true(scan < l->metadata_bytes);
    assert_memory_equal(before, after, scan);
    assert_memory_equal(before + l->metadata_bytes, after + l->metadata_bytes,
                        l->bytes - l->metadata_bytes);
    free(before);
    free(after);
    CHECK_OK(&t.on, clump_heap_check(t.heap));
}

static void all_kinds_were_seen(void **state) {
    skip_without_reservations();
    static const char *const names[] = {
#define NAME(name, text) #name,
        CLUMPI_VIOLATION_LIST(NAME)
#undef NAME
    };
    for (int i = 0; i < CLUMPI_VIOLATION_COUNT; i++)
        if (!t.seen[i]) fail_msg("no test plants the violation %s", names[i]);
}

/* Whatever a failed test left. */
static int put_back(void **state) {
    undo();
    return 0;
}

int main(void) {
#define TEST(name) cmocka_unit_test_teardown(name, put_back)
    const struct CMUnitTest tests[] = {
        TEST(class_of_a_block),
        TEST(credits),
        TEST(bitmaps),
        TEST(bits_where_no_row_starts),
        TEST(hints_of_blocks),
        TEST(hints_of_hints),
        TEST(header),
        TEST(class_table_and_columns),
        TEST(watched_slots),
        TEST(runs_of_raw_memory),
        TEST(hints_of_nothing),
        TEST(out_of_memory_by_mistake),
        TEST(stripes_at_rest),
        TEST(lowest_block_is_named),
        TEST(first_of_a_kind_is_named),
        TEST(check_changes_nothing),
        TEST(in_use),
        TEST(reserved_slots),
        TEST(stripes),
        TEST(list_of_objects),
        TEST(all_kinds_were_seen),
    };
#undef TEST
    int result = cl_fixture_open(&t.on, NULL);
    if (result) return result;
    result = cmocka_run_group_tests(tests, set_up, tear_down);
    cl_fixture_close(&t.on);
    return result;
}
