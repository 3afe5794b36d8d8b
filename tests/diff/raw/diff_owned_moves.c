/* Raw memory of arrays moves in a compaction. Two thirds of all objects are freed, so each block of
 * raw memory keeps a third of its allocations. A compaction must leave the fewest blocks for each
 * size, the handles of the owners must name the same elements as before, and the report must say how
 * many allocations moved. Blocks that have memory without an owner stay as they are, with all that
 * is in them. The same in steps, and with checks. Chosen classes, orders and other strategies move
 * nothing of that.
 *
 * The host knows the elements of each object by its number. It decodes states and handles by itself.
 *
 * Read first: include/clump/compact.h, cl/compact/owned.cl, cl_fixture.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cl_fixture.h"
#include "clump/checked.h"
#include "clump/compact.h"
#include "heap/access.h"

enum { NUMBERS = 6000, KEPT = NUMBERS / 3, PINS = 300, PIN_WORDS = 4, ARRAYS = 6 };
enum { DATA, TEXT, FRIENDS, WIDE, BLOB, MORE };
/* What the device copies out for an object: handles and lengths of its arrays, then elements. */
enum { ELEMENTS = 60, OUT_WORDS = ARRAYS * (2 + ELEMENTS) };

static const char schema_text[] =
    "class Owner {\n"
    "    uint number; uint data[*]; uchar text[*] inline 3; ref Owner friends[*] inline 2;\n"
    "    ulong4 wide[*]; raw blob;\n"
    "}\n"
    "aos class Wider : Owner { ushort more[*] inline 1; ref Owner next; }\n";

static const uint32_t element_bytes[ARRAYS] = {4, 1, 4, 32, 1, 2};

/* The same for the device and the host. The longest blobs are larger than any slot. */
#define SHARED                                                                                     \
    static inline uint mix(uint a, uint b, uint c) {                                               \
        uint h = a * 0x9e3779b9u ^ b * 0x85ebca6bu ^ c * 0xc2b2ae35u;                              \
        h ^= h >> 15;                                                                              \
        return h * 0x2c1b3c6du >> 8;                                                               \
    }                                                                                              \
    static inline uint length_of(uint n, uint array) {                                             \
        if (array == 4u && n % 90u == 0u) return 200u;                                             \
        if (array == 4u && n % 150u == 0u) return 5000u;                                           \
        return n % 5u == array ? 0u : mix(n, array, 7u) % (array == 3u ? 5u : 60u);                \
    }                                                                                              \
    static inline uint friend_of(uint n, uint j) {                                                 \
        return mix(n, j, 9u) % 2000u * 3u;                                                         \
    }
#define TEXT_OF(...) #__VA_ARGS__
#define EXPANDED(...) TEXT_OF(__VA_ARGS__)
typedef uint32_t uint;
SHARED

static const char source[] = EXPANDED(SHARED) "\n"
    "#define FILL(C, name, array, type)                                                         \\\n"
    "    C##_##name##_resize(self, length_of(n, array));                                        \\\n"
    "    for (uint i = 0; i < C##_##name##_length(self); i++)                                   \\\n"
    "        C##_##name(self, i) = (type)mix(n, array, i)\n"
    "__kernel void make(CLUMP_HEAP, __global uint *next) {\n"
    "    CLUMP_FOR_EACH_NEW(Owner, self, i) Owner_number(self) = atomic_inc(next);\n"
    "}\n"
    "__kernel void fill(CLUMP_HEAP, __global Owner *table) {\n"
    "    CLUMP_FOR_EACH(Owner, self) {\n"
    "        uint n = Owner_number(self);\n"
    "        table[n] = self;\n"
    "        FILL(Owner, data, 0u, uint);\n"
    "        FILL(Owner, text, 1u, uchar);\n"
    "        FILL(Owner, wide, 3u, ulong);\n"
    "        FILL(Owner, blob, 4u, uchar);\n"
    "        if (!Owner_is_Wider(self)) continue;\n"
    "        Wider w = Owner_as_Wider(self);\n"
    "        Wider_next(w) = self;\n"
    "        Wider_more_resize(w, length_of(n, 5u));\n"
    "        for (uint i = 0; i < Wider_more_length(w); i++) Wider_more(w, i) = mix(n, 5u, i);\n"
    "    }\n"
    "}\n"
    "__kernel void befriend(CLUMP_HEAP, __global const Owner *table) {\n"
    "    CLUMP_FOR_EACH(Owner, self) {\n"
    "        uint n = Owner_number(self);\n"
    "        Owner_friends_resize(self, length_of(n, 2u));\n"
    "        for (uint j = 0; j < Owner_friends_length(self); j++)\n"
    "            Owner_friends(self, j) = table[friend_of(n, j)];\n"
    "    }\n"
    "}\n"
    "__kernel void thin(CLUMP_HEAP) {\n"
    "    CLUMP_FOR_EACH(Owner, self) if (Owner_number(self) % 3u) Owner_free(self);\n"
    "}\n"
    /* Memory that nobody owns, in the gaps; and memory with an alignment for some of the blobs. */
    "__kernel void pin(CLUMP_HEAP, __global uint *handles, uint count) {\n"
    "    uint i = (uint)get_global_id(0);\n"
    "    __global uint *p = i < count ? (__global uint *)clump_malloc(16u + i % 9u * 30u) : 0;\n"
    "    for (uint k = 0; p && k < 4u; k++) p[k] = mix(i, k, 1u);\n"
    "    if (i < count) handles[i] = clump_raw_of(p);\n"
    "}\n"
    "__kernel void align(CLUMP_HEAP) {\n"
    "    CLUMP_FOR_EACH(Owner, self) {\n"
    "        uint n = Owner_number(self);\n"
    "        if (n % 90u) continue;\n"
    "        __global uchar *p = (__global uchar *)clump_aligned_alloc(512u, 200u);\n"
    "        for (uint i = 0; p && i < 200u; i++) p[i] = (uchar)mix(n, 4u, i);\n"
    "        if (Owner_blob_adopt(self, p, 200u) != CLUMP_DONE) return;\n"
    "    }\n"
    "}\n"
    "__kernel void look(CLUMP_HEAP_NO_ALLOC, __global const uint *handles, __global uint *words) {\n"
    "    uint i = (uint)get_global_id(0);\n"
    "    __global const uint *p = (__global const uint *)clump_raw_at(handles[i >> 2]);\n"
    "    words[i] = p ? p[i & 3u] : 0u;\n"
    "}\n"
    "#define OUT(C, r, name, array, value)                                                      \\\n"
    "    to[2u * array] = clump_raw_of(C##_##name##_memory(r));                                 \\\n"
    "    to[2u * array + 1u] = C##_##name##_length(r);                                          \\\n"
    "    for (uint i = 0; i < min(C##_##name##_length(r), ELEMENTS); i++)                       \\\n"
    "        to[2u * ARRAYS + array * ELEMENTS + i] = value(C##_##name(r, i))\n"
    "#define PLAIN(x) (uint)(x)\n"
    "#define FIRST(x) (uint)(x).w\n"
    "#define NUMBER(x) Owner_number(x)\n"
    "__kernel void copy_out(CLUMP_HEAP_NO_ALLOC, __global uint *out) {\n"
    "    CLUMP_FOR_EACH(Owner, self) {\n"
    "        __global uint *to = out + Owner_number(self) / 3u * OUT_WORDS;\n"
    "        OUT(Owner, self, data, 0u, PLAIN);\n"
    "        OUT(Owner, self, text, 1u, PLAIN);\n"
    "        OUT(Owner, self, friends, 2u, NUMBER);\n"
    "        OUT(Owner, self, wide, 3u, FIRST);\n"
    "        OUT(Owner, self, blob, 4u, PLAIN);\n"
    "        to[11] = 0xffffffffu;\n"
    "        if (!Owner_is_Wider(self)) continue;\n"
    "        Wider w = Owner_as_Wider(self);\n"
    "        OUT(Wider, w, more, 5u, PLAIN);\n"
    "        if (Owner_number(Wider_next(w)) != Owner_number(self)) to[11] = 0xfffffffeu;\n"
    "    }\n"
    "}\n"
    /* The memory of all arrays is as free as before: they give it back, and get it again. */
    "__kernel void change(CLUMP_HEAP) {\n"
    "    CLUMP_FOR_EACH(Owner, self) {\n"
    "        uint n = Owner_number(self);\n"
    "        Owner_data_resize(self, 0u);\n"
    "        Owner_data_trim(self);\n"
    "        FILL(Owner, data, 0u, uint);\n"
    "    }\n"
    "}\n"
    "__kernel void keys(CLUMP_HEAP_NO_ALLOC, __global uint *keys) {\n"
    "    CLUMP_FOR_EACH_KEYED(Owner, self, n) keys[n] = Owner_number(self) * 7u % 1000u;\n"
    "}\n";

static cl_fixture fixture, *const f = &fixture;

static struct {
    clump_heap *heap;
    clump_program *program;
    cl_mem pins, words, out;
    int has_pins;
    uint32_t handles[PINS];
    uint32_t now[KEPT][OUT_WORDS], before[KEPT][OUT_WORDS];
    uint8_t *image;
} t;

/* ---- The heap as the host sees it ------------------------------------------------------------- */

/* Of a size. */
typedef struct tally {
    uint32_t blocks, used, pinned, pinned_used;
} tally;

static struct {
    tally of[CLUMPI_CLASS_IDS];
    uint32_t *owned, *states, *used; /* by block */
    uint64_t pinned_bytes;
    uint32_t pinned_blocks, blocks;
} seen, seen_before;

static uint64_t block_bytes(void) {
    return clumpi_block_bytes(t.heap);
}

/* Slots of a block that are in use. Credits include those that are reserved. */
static uint32_t used_of(uint32_t block, uint32_t id) {
    const clumpi_geometry *g = clumpi_heap_geometry(t.heap);
    uint32_t used = 0;
    for (uint32_t row = 0; row < g->classes[id].rows; row++) {
        uint64_t bits;
        const uint64_t granule =
            (uint64_t)block * g->header.block_granules + row * g->classes[id].row_granules;
        memcpy(&bits, t.image + (uint64_t)g->header.at_bits * CLUMPI_UNIT + granule * sizeof bits,
               sizeof bits);
        used += (uint32_t)__builtin_popcountll(bits);
    }
    return used;
}

/* The slot of a handle, without runs: its class, or 0. */
static uint32_t decode(uint32_t handle, uint32_t *block, uint32_t *shift) {
    const clumpi_geometry *g = clumpi_heap_geometry(t.heap);
    const uint64_t at = (uint64_t)handle * CLUMPI_RAW_UNIT;
    *block = (uint32_t)(at / block_bytes());
    const uint32_t id = seen.states[*block] >> CLUMPI_CLASS_SHIFT;
    if (id < g->header.first_raw || id > g->header.class_count || g->classes[id].is_runs) return 0;
    const uint64_t row = (uint64_t)g->classes[id].row_granules * g->header.granule_bytes;
    *shift = (uint32_t)(at % block_bytes() % row % g->classes[id].slot_bytes);
    return id;
}

static void count_owned(uint32_t k, uint32_t array) {
    const clumpi_geometry *g = clumpi_heap_geometry(t.heap);
    const uint32_t handle = t.now[k][2 * array], bytes = element_bytes[array];
    uint32_t block, shift, id = handle ? decode(handle, &block, &shift) : 0;
    if (!id ||
        (bytes > 16 && (g->classes[id].slot_bytes % bytes || g->header.granule_bytes % bytes)))
        return;
    if (g->checked.events ? shift >= CLUMPI_PIECE_BEFORE : !shift) seen.owned[block]++;
}

static void see(void) {
    const clumpi_geometry *g = clumpi_heap_geometry(t.heap);
    const clumpi_header *h = &g->header;
    cl_fixture_heap_read(t.heap, t.image);
    memset(seen.of, 0, sizeof seen.of);
    memset(seen.owned, 0, h->block_end * sizeof *seen.owned);
    memcpy(seen.states, t.image + (uint64_t)h->at_states * CLUMPI_UNIT,
           h->block_end * sizeof *seen.states);
    seen.pinned_bytes = seen.pinned_blocks = seen.blocks = 0;
    for (uint32_t k = 0; k < KEPT; k++)
        for (uint32_t a = 0; a < ARRAYS; a++) count_owned(k, a);
    for (uint32_t b = h->first_block; b < h->block_end; b++) {
        const uint32_t id = seen.states[b] >> CLUMPI_CLASS_SHIFT;
        if (id < h->first_raw || id > h->class_count) continue;
        const uint32_t used = seen.used[b] = used_of(b, id);
        if (!used) continue; /* all of it is reserved */
        const int is_pinned = seen.owned[b] != used;
        seen.blocks++;
        seen.of[id].blocks++;
        seen.of[id].used += used;
        seen.of[id].pinned += (uint32_t)is_pinned;
        seen.of[id].pinned_used += is_pinned ? used : 0;
        seen.pinned_blocks += (uint32_t)is_pinned;
        seen.pinned_bytes += is_pinned ? (uint64_t)used * g->classes[id].slot_bytes : 0;
    }
}

static void fetch(void) {
    clump_kernel *copy = cl_fixture_kernel(f, t.program, "copy_out");
    SET_ARG(f, copy, 0, t.out);
    CHECK_OK(f, clump_heap_do_all(t.heap, copy, NULL));
    clump_kernel_destroy(copy);
    CHECK_HEAP(f, t.heap);
    cl_fixture_read(f, t.out, t.now, sizeof t.now);
    see();
}

/* All elements are those of the model. */
static void expect_elements(void) {
    for (uint32_t k = 0; k < KEPT; k++) {
        const uint32_t n = 3 * k, *w = t.now[k];
        for (uint32_t a = 0; a < ARRAYS; a++) {
            if (a == MORE && w[11] == UINT32_MAX) continue; /* not of the subclass */
            if (w[2 * a + 1] != length_of(n, a))
                fail_msg("object %u, array %u: %u elements of %u", n, a, w[2 * a + 1],
                         length_of(n, a));
            for (uint32_t i = 0; i < length_of(n, a) && i < ELEMENTS; i++) {
                uint32_t is = mix(n, a, i);
                if (a == TEXT || a == BLOB) is &= 0xff;
                if (a == MORE) is &= 0xffff;
                if (a == FRIENDS) is = friend_of(n, i);
                if (w[2 * ARRAYS + a * ELEMENTS + i] != is)
                    fail_msg("object %u, array %u, element %u: %u, and not %u", n, a, i,
                             w[2 * ARRAYS + a * ELEMENTS + i], is);
            }
        }
    }
}

static void expect_pins(void) {
    uint32_t words[PINS * PIN_WORDS];
    clump_kernel *look = cl_fixture_kernel(f, t.program, "look");
    if (!t.has_pins) return;
    SET_ARG(f, look, 0, t.pins);
    SET_ARG(f, look, 1, t.words);
    CHECK_OK(f, clump_heap_launch(t.heap, look, PINS * PIN_WORDS, 4, NULL));
    clump_kernel_destroy(look);
    cl_fixture_read(f, t.words, words, sizeof words);
    for (uint32_t i = 0; i < PINS * PIN_WORDS; i++)
        if (words[i] != mix(i / PIN_WORDS, i % PIN_WORDS, 1)) fail_msg("word %u of the pins", i);
}

/* ---- Making and ending it --------------------------------------------------------------------- */

static void all(const char *name, cl_mem argument) {
    clump_kernel *k = cl_fixture_kernel(f, t.program, name);
    if (argument) SET_ARG(f, k, 0, argument);
    CHECK_OK(f, clump_heap_do_all(t.heap, k, NULL));
    clump_kernel_destroy(k);
    CHECK_HEAP(f, t.heap);
}

/* Few rows make small slots, beyond which memory is in runs. */
enum { FEW_ROWS = 2, MANY_ROWS = 40 };

static void open_heap(int is_checked, int has_pins, uint32_t block_rows) {
    static const clump_checked_desc checked = {.size = sizeof checked};
    char options[60];
    const uint32_t count = PINS, zero = 0;
    snprintf(options, sizeof options, "-DELEMENTS=%du -DARRAYS=%du -DOUT_WORDS=%du", ELEMENTS,
             ARRAYS, OUT_WORDS);
    t.heap = cl_fixture_heap_as(f, schema_text,
                                &(clump_heap_desc){.size = sizeof(clump_heap_desc),
                                                   .bytes = 24 << 20,
                                                   .block_rows = block_rows,
                                                   .checked = is_checked ? &checked : NULL});
    t.program = cl_fixture_program(f, t.heap, source, options, NULL);
    const uint32_t blocks = clumpi_heap_geometry(t.heap)->header.block_end;
    t.image = malloc(clump_heap_get_info(t.heap)->bytes);
    uint32_t **const lists[] = {&seen.owned, &seen.states, &seen.used, &seen_before.states,
                                &seen_before.used};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        assert_non_null(*lists[i] = calloc(blocks, sizeof **lists[i]));
    assert_non_null(t.image);
    t.pins = cl_fixture_buffer(f, NULL, sizeof t.handles);
    t.words = cl_fixture_buffer(f, NULL, PINS * PIN_WORDS * sizeof(uint32_t));
    t.out = cl_fixture_buffer(f, NULL, sizeof t.now);
    cl_mem table = cl_fixture_buffer(f, NULL, NUMBERS * sizeof(clump_ref)),
           next = cl_fixture_buffer(f, &zero, sizeof zero);
    clump_kernel *make = cl_fixture_kernel(f, t.program, "make");
    SET_ARG(f, make, 0, next);
    CHECK_OK(f, clump_heap_do_new(t.heap, make, "Owner", NUMBERS / 2, NULL, NULL));
    CHECK_OK(f, clump_heap_do_new(t.heap, make, "Wider", NUMBERS / 2, NULL, NULL));
    clump_kernel_destroy(make);
    all("fill", table);
    all("befriend", table);
    all("thin", NULL);
    all("align", NULL);
    t.has_pins = has_pins;
    if (has_pins) {
        clump_kernel *pin = cl_fixture_kernel(f, t.program, "pin");
        SET_ARG(f, pin, 0, t.pins);
        SET_ARG(f, pin, 1, count);
        CHECK_OK(f, clump_heap_launch(t.heap, pin, 320, 64, NULL));
        clump_kernel_destroy(pin);
    }
    clReleaseMemObject(table);
    clReleaseMemObject(next);
    fetch();
    expect_elements();
    expect_pins();
}

static void close_heap(void) {
    clump_program_destroy(t.program);
    clump_heap_destroy(t.heap);
    clReleaseMemObject(t.pins);
    clReleaseMemObject(t.words);
    clReleaseMemObject(t.out);
    free(t.image);
    free(seen.owned);
    free(seen.states);
    free(seen.used);
    free(seen_before.states);
    free(seen_before.used);
}

/* ---- Compacting ------------------------------------------------------------------------------- */

static clump_compact_report compact(clump_compact_desc desc) {
    clump_compact_report report = {.size = sizeof report};
    uint32_t *states = seen_before.states, *used = seen_before.used;
    const size_t bytes = clumpi_heap_geometry(t.heap)->header.block_end * sizeof *used;
    fetch();
    memcpy(t.before, t.now, sizeof t.before);
    seen_before = seen;
    seen_before.states = memcpy(states, seen.states, bytes);
    seen_before.used = memcpy(used, seen.used, bytes);
    desc.size = sizeof desc;
    CHECK_OK(f, clump_heap_compact(t.heap, &desc, &report, NULL));
    fetch();
    expect_elements();
    expect_pins();
    return report;
}

/* What the report says of raw memory is what the host sees. */
static void expect_report(const clump_compact_report *r) {
    uint64_t moves = 0, bytes = 0;
    for (uint32_t k = 0; k < KEPT; k++)
        for (uint32_t a = 0; a < ARRAYS; a++) {
            uint32_t block, shift, handle = t.now[k][2 * a];
            if (a == MORE && t.now[k][11] == UINT32_MAX) continue;
            if (handle == t.before[k][2 * a]) continue;
            moves++;
            bytes +=
                clumpi_heap_geometry(t.heap)->classes[decode(handle, &block, &shift)].slot_bytes;
        }
    assert_int_equal(r->raw_moves, moves);
    assert_int_equal(r->raw_bytes_moved, bytes);
    assert_int_equal(r->raw_blocks_freed, seen_before.blocks - seen.blocks);
    assert_int_equal(r->raw_blocks_pinned, seen.pinned_blocks);
    assert_int_equal(r->raw_bytes_pinned, seen.pinned_bytes);
}

/* Pinned blocks are as before, and the others of each size are as few as can be. */
static void expect_fewest(void) {
    const clumpi_geometry *g = clumpi_heap_geometry(t.heap);
    for (uint32_t b = g->header.first_block; b < g->header.block_end; b++) {
        const uint32_t id = seen.states[b] >> CLUMPI_CLASS_SHIFT;
        const int is_raw = id >= g->header.first_raw && id <= g->header.class_count;
        if (is_raw && seen.owned[b] != seen.used[b]) {
            assert_int_equal(id, seen_before.states[b] >> CLUMPI_CLASS_SHIFT);
            assert_int_equal(seen.used[b], seen_before.used[b]);
        }
    }
    for (uint32_t id = g->header.first_raw; id <= g->header.class_count; id++) {
        const tally *c = &seen.of[id], *before = &seen_before.of[id];
        const uint32_t capacity = g->classes[id].capacity, free = c->used - c->pinned_used;
        assert_int_equal(c->used, before->used);
        assert_int_equal(c->pinned, before->pinned);
        assert_int_equal(c->pinned_used, before->pinned_used);
        if (c->blocks - c->pinned != (free + capacity - 1) / capacity)
            fail_msg("%u blocks for %u slots of %u bytes", c->blocks - c->pinned, free,
                     g->classes[id].slot_bytes);
    }
}

static void tell(const char *what, const clump_compact_report *r) {
    printf("%s: %llu allocations moved, %u of %u blocks freed, %u pinned\n", what,
           (unsigned long long)r->raw_moves, r->raw_blocks_freed, seen_before.blocks,
           r->raw_blocks_pinned);
}

static void test_all(void **state) {
    (void)state;
    for (int is_checked = 0; is_checked < 2; is_checked++) {
        const int has_pins = !is_checked;
        open_heap(is_checked, has_pins, is_checked ? MANY_ROWS : FEW_ROWS);
        clump_compact_report r = compact((clump_compact_desc){.null_dangling = has_pins});
        tell(is_checked ? "checked" : "all", &r);
        expect_report(&r);
        expect_fewest();
        assert_true(r.moves && r.raw_moves > 500 && r.moves_left == 0);
        r = compact((clump_compact_desc){0});
        assert_int_equal(r.raw_moves + r.moves, 0);
        all("change", NULL);
        r = compact((clump_compact_desc){0});
        expect_report(&r);
        expect_fewest();
        close_heap();
    }
}

/* Each step makes at most so many moves. All together leave as few blocks as one run. */
static void test_steps(void **state) {
    (void)state;
    enum { MOVES = 400 };
    uint32_t steps = 0;
    clump_compact_report r;
    open_heap(0, 1, FEW_ROWS);
    do {
        r = compact((clump_compact_desc){.max_moves = MOVES});
        expect_report(&r);
        assert_in_range(r.moves + r.raw_moves, 1, MOVES);
    } while (r.moves_left && ++steps < 100);
    tell("last step", &r);
    assert_in_range(steps, 4, 99);
    expect_fewest();
    close_heap();
}

static void test_stays(void **state) {
    (void)state;
    static const char *const owners[] = {"Owner"};
    open_heap(0, 0, FEW_ROWS);
    clump_kernel *keys = cl_fixture_kernel(f, t.program, "keys");
    const clump_compact_desc descs[] = {{.classes = owners, .class_count = 1},
                                        {.order = CLUMP_ORDER_ADDRESS},
                                        {.order = CLUMP_ORDER_KEY, .key_kernel = keys}};
    clump_heap_stats stats = {.size = sizeof stats};
    CHECK_OK(f, clump_heap_read_stats(t.heap, &stats, NULL, 0));
    for (size_t i = 0; i < sizeof descs / sizeof *descs; i++) {
        const clump_compact_report r = compact(descs[i]);
        assert_true(r.moves && r.raw_moves + r.raw_blocks_freed == 0);
        assert_int_equal(r.raw_blocks_pinned, stats.raw_blocks);
        assert_int_equal(r.raw_bytes_pinned, stats.raw_bytes);
        assert_int_equal(seen.blocks, seen_before.blocks);
    }
    clump_kernel_destroy(keys);
    close_heap();
}

int main(void) {
    int status = cl_fixture_open(f, NULL);
    if (status) return status;
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_all), cmocka_unit_test(test_steps),
                                       cmocka_unit_test(test_stays)};
    status = cmocka_run_group_tests_name("owned moves", tests, NULL, NULL);
    cl_fixture_close(f);
    return status;
}
