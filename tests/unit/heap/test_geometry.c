/* The geometry of a heap, without a device: sizes of granules, rows and blocks, places of the
 * metadata, the smallest and the largest heap, levels of hints, the reciprocal of block sizes.
 *
 * Small cases are compared with numbers worked out by hand. Heaps of many schemas and sizes are
 * held against what the layout promises: expect_sound() takes nothing from geometry.c but its
 * results.
 * Read first: host/heap/geometry.c, cl/core/layout.h.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* After the above, which it needs. */
#include <cmocka.h>

#include "cl/compact/layout.h"
#include "heap/heap.h"

#define GRANULES (UINT64_C(1) << 26) /* that a reference can number */
#define SCAN_GROUPS 48u
#define REDUCE_GROUPS 96u

static clump_schema *parse(const char *text) {
    clump_schema *schema = NULL;
    clump_error error;
    if (clump_schema_parse(text, strlen(text), NULL, &schema, &error))
        fail_msg("%s in %s", error.message, text);
    return schema;
}

static uint64_t block_bytes(const clumpi_geometry *g) {
    return (uint64_t)g->header.granule_bytes * g->header.block_granules;
}

/* ---- What every geometry promises ------------------------------------------------------------ */

/* A heap that is asked for, and what came of it. */
typedef struct heap_case {
    const clump_schema *schema;
    uint64_t bytes;
    uint32_t block_rows, scan_groups, reduce_groups;
    clumpi_geometry g;
} heap_case;

#define EXPECT(c, condition)                                                                       \
    do {                                                                                           \
        if (!(condition))                                                                          \
            fail_msg(                                                                              \
                "line %d: not %s: %llu bytes, block_rows %u, granule %u, %u granules a block, "    \
                "blocks %u to %u, %u classes",                                                     \
                __LINE__, #condition, (unsigned long long)(c)->bytes, (c)->block_rows,             \
                (c)->g.header.granule_bytes, (c)->g.header.block_granules,                         \
                (c)->g.header.first_block, (c)->g.header.block_end, (c)->g.header.class_count);    \
    } while (0)

/* Row sizes of the concrete classes, in bytes, and what their fields ask of granules. */
typedef struct row_list {
    uint64_t bytes[CLUMP_CLASSES_MAX];
    uint64_t smallest, largest;
    uint64_t largest_of_all; /* abstract ones, too */
    uint32_t count, step;    /* granules are multiples of `step` bytes */
} row_list;

static row_list rows_of(const clump_schema *schema) {
    row_list r = {.smallest = UINT64_MAX, .step = 64};
    for (uint32_t id = 1; id <= clump_schema_get_info(schema)->class_count; id++) {
        const clump_class_info *info = clump_schema_get_info(schema)->classes[id];
        for (uint32_t i = 0; i < info->field_count; i++) {
            const clump_field_info *field = clump_schema_get_info(schema)->classes[id]->fields[i];
            if (field->element_bytes == 128) r.step = 128;
        }
        uint64_t bytes = 64u * (uint64_t)(info->object_bytes < 4 ? 4 : info->object_bytes);
        if (bytes > r.largest_of_all) r.largest_of_all = bytes;
        if (info->is_abstract) continue;
        r.bytes[r.count++] = bytes;
        if (bytes < r.smallest) r.smallest = bytes;
        if (bytes > r.largest) r.largest = bytes;
    }
    return r;
}

static uint64_t up(uint64_t a, uint64_t b) {
    return (a + b - 1) / b;
}

/* The share that granules of so many bytes cost: of the class that loses most by rounding, and of
 * the bitmaps. */
static double cost_of(const row_list *r, uint64_t granule) {
    double worst = 0;
    for (uint32_t i = 0; i < r->count; i++) {
        double taken = (double)(up(r->bytes[i], granule) * granule);
        worst = fmax(worst, 1 - (double)r->bytes[i] / taken);
    }
    return worst + 8 / (double)granule;
}

/* The largest share of a block, in whole thousandths, that no row of some class can use. */
static uint64_t tail_of(const row_list *r, uint64_t granule, uint64_t granules) {
    uint64_t worst = 0;
    for (uint32_t i = 0; i < r->count; i++) {
        uint64_t k = up(r->bytes[i], granule), n = granules / k;
        if (n > 64) n = 64;
        uint64_t tail = (granules - n * k) * 1000 / granules;
        if (tail > worst) worst = tail;
    }
    return worst;
}

/* Nothing is reserved, and requests find the class's stripes, which follow each other. */
static void expect_reservation(const heap_case *c, uint32_t id) {
    const clumpi_header *h = &c->g.header;
    const clumpi_reservation *r = &c->g.classes[id].reserved;
    EXPECT(c,
           h->stripes >= 1 && h->stripes <= CLUMPI_STRIPES && (h->stripes & (h->stripes - 1)) == 0);
    EXPECT(c, r->stripes == h->stripes && r->at_slots == h->at_slots);
    EXPECT(c, (uint64_t)r->at_stripes * 64 ==
                  (uint64_t)h->at_stripes * 64 + (uint64_t)id * h->stripes * sizeof(clumpi_stripe));
    EXPECT(c, r->at_rows == h->at_list_rows && r->at_masks == h->at_list_masks);
    EXPECT(c, !r->holes && !r->least && !r->left);
    for (int turn = 0; turn < 2; turn++) {
        const clumpi_learnt *l = &r->learnt[turn];
        EXPECT(c, !l->demand && !l->asked && !l->idle && !l->is_turnover);
    }
}

static void expect_classes(const heap_case *c) {
    const clumpi_header *h = &c->g.header;
    uint32_t most = 0;
    EXPECT(c, h->class_count == clump_schema_get_info(c->schema)->class_count);
    for (uint32_t id = 1; id <= h->class_count; id++) {
        clump_class_info info;
        const clumpi_class *k = &c->g.classes[id];
        info = *clump_schema_get_info(c->schema)->classes[id];
        EXPECT(c, k->last == info.last && !k->exhausted);
        expect_reservation(c, id);
        if (info.is_abstract) {
            EXPECT(c, !k->rows && !k->capacity && !k->row_granules);
            continue;
        }
        uint64_t bytes = 64u * (uint64_t)(info.object_bytes < 4 ? 4 : info.object_bytes);
        EXPECT(c, k->row_granules == up(bytes, h->granule_bytes));
        EXPECT(c, k->rows >= 1 && k->rows <= 64 && k->rows * k->row_granules <= h->block_granules);
        EXPECT(c, k->rows == 64 || (k->rows + 1) * k->row_granules > h->block_granules);
        EXPECT(c, k->capacity == k->rows * 64);
        if (k->rows > most) most = k->rows;
    }
    EXPECT(c, h->block_rows_max == most && h->capacity_max == most * 64);
}

/* Granule and block are the best ones by the rules in geometry.c's head, up to rounding. */
static void expect_best(const heap_case *c) {
    const clumpi_header *h = &c->g.header;
    const row_list r = rows_of(c->schema);
    uint64_t granule = h->granule_bytes, step = r.step;
    uint64_t from = up(up(c->bytes, GRANULES), step) * step;
    if (from < step) from = step;
    EXPECT(c, granule % step == 0 && granule >= from);
    EXPECT(c, granule <= (r.largest > from ? r.largest : from));
    for (uint64_t s = from; s <= r.largest; s += step)
        EXPECT(c, cost_of(&r, granule) <= cost_of(&r, s) + 2.5e-4);
    uint64_t wanted = c->block_rows;
    if (!wanted) {
        wanted = c->bytes / 1024 / r.smallest;
        wanted = wanted < 1 ? 1 : wanted > 64 ? 64 : wanted;
    }
    uint64_t least = wanted * up(r.smallest, granule);
    if (least < up(r.largest, granule)) least = up(r.largest, granule);
    EXPECT(c, h->block_granules >= least && h->block_granules <= 2 * least);
    uint64_t tail = tail_of(&r, granule, h->block_granules);
    for (uint64_t g = least; g < h->block_granules; g++) /* none before it would have done */
        EXPECT(c, tail_of(&r, granule, g) > 30 && tail_of(&r, granule, g) > tail);
    for (uint64_t g = least; g <= 2 * least && tail > 30; g++)
        EXPECT(c, tail <= tail_of(&r, granule, g));
}

static void expect_hints(const heap_case *c) {
    const clumpi_header *h = &c->g.header;
    uint32_t bits = h->block_end, words = 0;
    EXPECT(c, h->hint_levels >= 1 && h->hint_levels <= CLUMPI_LEVELS_MAX);
    for (uint32_t l = 0; l < h->hint_levels; l++) {
        EXPECT(c, h->hint_count[l] ==
                      up(bits, 32));          /* a bit per block, or per word of the level below */
        EXPECT(c, h->hint_level[l] == words); /* one behind the other */
        words += h->hint_count[l];
        bits = h->hint_count[l];
        EXPECT(c, (bits == 1) == (l == h->hint_levels - 1));
    }
    EXPECT(c, h->hint_words >= words && h->hint_words < words + 32 && h->hint_words % 32 == 0);
}

/* What calls of the heap have in its scratch, one after the other: of all the most. */
static uint64_t call_bytes(const heap_case *c) {
    const clumpi_header *h = &c->g.header;
    uint64_t sets = h->class_count + 1;
    /* The list: rows, partial rows, objects and empty rows. */
    uint64_t most = (uint64_t)c->scan_groups * sets * 4 * 4;
    const uint64_t others[] = {
        (uint64_t)c->scan_groups * sizeof(clumpi_new_supply),
        (uint64_t)c->reduce_groups * CLUMPI_REDUCE_BYTES,
        offsetof(clumpi_stats_result, classes[sets]),
        sizeof(clumpi_violation),
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (others[i] > most) most = others[i];
    return most;
}

typedef struct area {
    const char *name;
    uint64_t from, bytes;
} area;

static int compare_areas(const void *a, const void *b) {
    const area *x = a, *y = b;
    return x->from < y->from ? -1 : x->from > y->from;
}

/* Who owns the scratch: a call of the heap, or compaction in its first and in its second half. */
typedef enum phase { CALLS, PLANNING, REWRITING, PHASES } phase;

/* The areas begin on lines of 128 bytes, and do not overlap in any phase. Returns the bytes that
 * they take, with the lines that they may leave free. */
static uint64_t expect_areas(const heap_case *c, phase now) {
    const clumpi_header *h = &c->g.header;
    const row_list r = rows_of(c->schema);
    uint64_t blocks = h->block_end, sets = h->class_count + 1, rows = blocks * h->block_rows_max;
    uint64_t columns = 0;
    for (uint32_t id = 1; id <= h->class_count; id++)
        if (c->g.classes[id].owners_end > columns) columns = c->g.classes[id].owners_end;
    EXPECT(c, h->self_at == clumpi_header_at(c->schema) && h->self_at * 64ull >= r.largest_of_all);
    EXPECT(c, h->at_classes * 64ull == h->self_at * 64ull + sizeof *h); /* nobody looks it up */
    /* Each row of the heap is partial, empty or neither; a quarter of all can be rows of holes. */
    EXPECT(c, h->slots_rows == rows && h->slots_holes == rows / 4 * (64 / 16));
    EXPECT(c, h->stripes == 1 ||
                  (h->stripes <= blocks / 4 && h->stripes * sets * sizeof(clumpi_stripe) <=
                                                   h->block_end * block_bytes(&c->g) / 256));
#define AREA(at, bytes) {#at, (uint64_t)h->at * 64, bytes}
    area areas[] = {
        {"the null row", 0, r.largest_of_all},
        AREA(self_at, sizeof *h),
        AREA(at_classes, sets * sizeof(clumpi_class)),
        AREA(at_states, blocks * 4),
        AREA(at_bits, blocks * h->block_granules * 8),
        AREA(at_hints, sets * h->hint_words * 4),
        AREA(at_list_begin, (sets + 1) * 4),
        AREA(at_list_full, sets * 4),
        AREA(at_list_rows, rows * 4),
        AREA(at_list_masks, rows * 8),
        AREA(at_list_index, rows * 4),
        AREA(at_stripes, sets * h->stripes * sizeof(clumpi_stripe)),
        AREA(at_slots, (rows + h->slots_holes) * 4),
        AREA(at_striped, blocks * 12),
        AREA(at_columns, columns * sizeof(clumpi_column)),
        AREA(at_block_plans, blocks * sizeof(clumpi_block_plan)),
        AREA(at_plan_list, blocks * 4),
        AREA(at_moved, up(blocks, 32) * 4),
        AREA(at_scan, now == CALLS ? call_bytes(c) : 0),
        AREA(at_plans, now == CALLS ? 0 : sets * sizeof(clumpi_class_plan)),
        AREA(at_plan_counts,
             now == PLANNING ? c->scan_groups * sets * sizeof(clumpi_block_counts) : 0),
        AREA(at_plan_histograms, now == PLANNING ? sets * (h->capacity_max + 1) * 4 : 0),
        AREA(at_tallies, now == REWRITING
                             ? (uint64_t)c->reduce_groups * CLUMPI_TALLIES * sizeof(clumpi_tally)
                             : 0),
        {"the blocks", h->first_block * block_bytes(&c->g),
         (h->block_end - h->first_block) * block_bytes(&c->g)},
        {"the end", c->g.bytes, 0},
    };
#undef AREA
    const size_t all = sizeof areas / sizeof *areas;
    size_t count = 0;
    uint64_t taken = 0;
    for (size_t i = 0; i < all; i++) {
        if (i < all - 2 && areas[i].from % 128)
            fail_msg("%s is at byte %llu", areas[i].name, (unsigned long long)areas[i].from);
        if (i < all - 2) taken += up(areas[i].bytes, 128) * 128 + 128;
        if (areas[i].bytes || i == all - 1) areas[count++] = areas[i]; /* there in this phase */
    }
    /* The chunks of long arrays, in the place of the list. */
    EXPECT(c, h->at_chunks == h->at_list_rows);
    qsort(areas, count, sizeof *areas, compare_areas);
    for (size_t i = 1; i < count; i++)
        if (areas[i - 1].from + areas[i - 1].bytes > areas[i].from)
            fail_msg("%s, %llu bytes from %llu on, and %s from %llu on overlap", areas[i - 1].name,
                     (unsigned long long)areas[i - 1].bytes, (unsigned long long)areas[i - 1].from,
                     areas[i].name, (unsigned long long)areas[i].from);
    return taken;
}

/* Quotients of all numbers of 26 bits by multiplication, as clumpi_block_of() in
 * cl/compact/reach.clh has it, are exact: m = (2^(32+s) + e) / g with n * e < 2^(32+s) for all
 * n. */
static void expect_reciprocal(const heap_case *c) {
    const clumpi_header *h = &c->g.header;
    static uint8_t seen[1 << 18];
    uint64_t g = h->block_granules, m = h->block_reciprocal, s = h->block_shift;
    EXPECT(c, g < sizeof seen);
    if (g >= sizeof seen || seen[g]) return;
    seen[g] = 1;
    if (g == 1) {
        EXPECT(c, s == UINT32_MAX); /* the quotient is the number */
        return;
    }
    EXPECT(c, s < 26 && m * g > UINT64_C(1) << (32 + s));
    EXPECT(c, (m * g - (UINT64_C(1) << (32 + s))) * GRANULES < UINT64_C(1) << (32 + s));
    uint64_t last = GRANULES / g;
    for (uint64_t i = 0; i <= 200; i++) { /* where quotients change, up to the last */
        uint64_t q = 1 + (last - 1) * i / 200, n = q * g;
        EXPECT(c, (n - 1) * m >> 32 >> s == q - 1);
        EXPECT(c, n * m >> 32 >> s == q);
    }
}

static void expect_sound(const heap_case *c) {
    const clumpi_header *h = &c->g.header;
    EXPECT(c, h->magic == CLUMPI_MAGIC && h->scan_groups == c->scan_groups);
    EXPECT(c, h->epoch == 1); /* class.exhausted begins with 0 */
    EXPECT(c, h->first_block < h->block_end);
    EXPECT(c, (uint64_t)h->block_end * h->block_granules <= GRANULES);
    EXPECT(c, c->g.bytes == h->block_end * block_bytes(&c->g) && c->g.bytes <= c->bytes);
    EXPECT(c, c->bytes - c->g.bytes < block_bytes(&c->g));
    /* Kernels count objects with 32 bits, and loops over them go beyond the last by the work-items
     * of a launch. */
    const uint64_t slots = (uint64_t)(h->block_end - h->first_block) * h->capacity_max;
    EXPECT(c, slots + (c->bytes >> 40 ? 0 : UINT64_C(1) << 22) <= UINT32_MAX);
    expect_classes(c);
    expect_best(c);
    expect_hints(c);
    uint64_t taken = 0;
    for (phase now = CALLS; now < PHASES; now++) {
        uint64_t bytes = expect_areas(c, now);
        if (bytes > taken) taken = bytes;
    }
    /* No block more than they need. */
    EXPECT(c, (c->g.header.first_block - 1) * block_bytes(&c->g) < taken);
    expect_reciprocal(c);
}

static clump_status compute(heap_case *c, const clump_schema *schema, uint64_t bytes,
                            uint32_t block_rows, clump_error *error) {
    uint32_t scan = c->scan_groups, reduce = c->reduce_groups;
    *c = (heap_case){.schema = schema,
                     .bytes = bytes,
                     .block_rows = block_rows,
                     .scan_groups = scan ? scan : SCAN_GROUPS,
                     .reduce_groups = reduce ? reduce : REDUCE_GROUPS};
    memset(&c->g, 0xee, sizeof c->g);
    return clumpi_geometry_compute(schema, bytes, block_rows, c->scan_groups, c->reduce_groups,
                                   (clumpi_extras){0}, &c->g, error);
}

/* ---- Numbers worked out by hand -------------------------------------------------------------- */

static void expect_sizes(const char *text, uint64_t bytes, uint32_t block_rows, uint32_t granule,
                         uint32_t granules) {
    clump_schema *schema = parse(text);
    clump_error error;
    heap_case c = {0};
    if (compute(&c, schema, bytes, block_rows, &error)) fail_msg("%s: %s", text, error.message);
    if (c.g.header.granule_bytes != granule || c.g.header.block_granules != granules)
        fail_msg("%s, block_rows %u: %u granules of %u bytes, expected %u of %u", text, block_rows,
                 c.g.header.block_granules, c.g.header.granule_bytes, granules, granule);
    expect_sound(&c);
    clump_schema_destroy(schema);
}

static void sizes_by_hand(void **state) {
    const uint64_t MiB = 1 << 20;
    /* A forwarding reference must fit, so a row of bytes takes 256. */
    expect_sizes("class A { uchar v; }", MiB, 1, 256, 1);
    expect_sizes("class A { uint v; }", MiB, 1, 256, 1);
    expect_sizes("class A { uint v; uchar w; }", MiB, 1, 320, 1);
    expect_sizes("class A { uint v; }", MiB, 5, 256, 5);
    expect_sizes("class A { uint v; }", 8 * MiB, 64, 256, 64);
    /* Left open: a 1024th of the heap, 1 to 64 rows. */
    expect_sizes("class A { uint v; }", MiB / 2 - 1, 0, 256, 1);
    expect_sizes("class A { uint v; }", MiB / 2, 0, 256, 2);
    expect_sizes("class A { uint v; }", MiB, 0, 256, 4);
    expect_sizes("class A { uint v; }", 17 * MiB, 0, 256, 64);
    /* 4 and 12 bytes: 3 granules of 256 for a row of B. */
    expect_sizes("class A { uint v; } class B { uint v[3]; }", MiB, 1, 256, 3);
    /* 12 and 20 bytes: rows of 3 and 5 granules; of 5 to 10 granules, 10 leave the shortest
     * tail. */
    expect_sizes("class A { uint v[3]; } class B { uint v[5]; }", MiB, 1, 256, 10);
    /* The abstract class has no rows, whatever its size. */
    expect_sizes("abstract class Z { uchar z; } class A : Z { uchar w[7] packed; }", MiB, 1, 512,
                 1);
    /* Elements of 128 bytes: multiples of 128. 129 units in 5 granules of 26. */
    expect_sizes("class A { ulong16 v; }", 4 * MiB, 1, 8192, 1);
    expect_sizes("class A { ulong16 v; uchar w; }", 4 * MiB, 1, 26 * 64, 5);
    /* The largest object. */
    expect_sizes("class A { ulong16 v[512]; }", 64 * MiB, 1, 4194304, 1);
    expect_sizes("class A { ulong16 v[512]; }", 512 * MiB, 3, 4194304, 3);
}

/* ---- Many heaps ------------------------------------------------------------------------------ */

/* Two classes of these sizes, and an abstract one with a reference. */
static clump_schema *pair_of(uint32_t small, uint32_t large) {
    char text[256];
    snprintf(text, sizeof text,
             "abstract class Base { uint z[20]; ref Small r; }\n"
             "class Small { uchar v[%u] packed; }\nclass Large { uchar v[%u] packed; }\n",
             small, large);
    return parse(text);
}

static const uint32_t object_bytes[] = {1,  3,   4,   5,   7,    8,    12,   17,    24,
                                        60, 100, 129, 500, 1023, 4096, 9999, 65535, 65536};
#define SIZES (sizeof object_bytes / sizeof *object_bytes)

static void many_sizes(void **state) {
    static const uint32_t wishes[] = {0, 1, 2, 3, 7, 31, 32, 33, 63, 64};
    uint32_t tried = 0;
    for (size_t i = 0; i < SIZES; i++) {
        for (size_t j = i; j < SIZES; j++) {
            clump_schema *schema = pair_of(object_bytes[i], object_bytes[j]);
            for (size_t k = 0; k < sizeof wishes / sizeof *wishes; k++) {
                clump_error error;
                heap_case c = {.scan_groups = 1 + (uint32_t)(i * j),
                               .reduce_groups = 1 + (uint32_t)k};
                uint64_t bytes = (UINT64_C(1) << (20 + (i + 3 * j + 5 * k) % 13)) + 12345 * k;
                if (compute(&c, schema, bytes, wishes[k], &error)) {
                    assert_int_equal(error.status, CLUMP_ERR_DEVICE_MEMORY);
                    continue;
                }
                expect_sound(&c);
                tried++;
            }
            clump_schema_destroy(schema);
        }
    }
    assert_true(tried > 1000);
}

/* As many classes as there can be. */
static void many_classes(void **state) {
    static char text[CLUMP_CLASSES_MAX * 64];
    size_t at = 0;
    for (int i = 0; i < CLUMP_CLASSES_MAX; i++)
        at += (size_t)snprintf(text + at, sizeof text - at,
                               "class K%d { uchar v[%d] packed; ref K0 r; }\n", i, 1 + i * 5 % 83);
    clump_schema *schema = parse(text);
    for (uint32_t rows = 0; rows <= 64; rows += 16) {
        clump_error error;
        heap_case c = {0};
        assert_int_equal(compute(&c, schema, UINT64_C(1) << 26, rows, &error), CLUMP_OK);
        expect_sound(&c);
    }
    clump_schema_destroy(schema);
}

/* Blocks of one granule up to 64 of them, and of sizes that two classes give. */
static void all_block_sizes(void **state) {
    clump_schema *one = parse("class A { uint v; }");
    clump_error error;
    heap_case c = {0};
    for (uint32_t rows = 1; rows <= 64; rows++) {
        assert_int_equal(compute(&c, one, UINT64_C(1) << 24, rows, &error), CLUMP_OK);
        assert_int_equal(c.g.header.block_granules, rows);
        expect_sound(&c);
    }
    clump_schema_destroy(one);
    for (uint32_t bytes = 5; bytes < 65536; bytes += bytes / 9 + 1) {
        clump_schema *schema = pair_of(4, bytes);
        assert_int_equal(compute(&c, schema, UINT64_C(1) << 34, 1, &error), CLUMP_OK);
        expect_sound(&c);
        clump_schema_destroy(schema);
    }
}

/* Every number of levels that a heap can have. */
static void hint_levels(void **state) {
    clump_schema *schema = parse("class A { uint v; }");
    static const struct {
        uint64_t blocks;
        uint32_t levels;
    } cases[] = {{1024, 2},
                 {1025, 3},
                 {32768, 3},
                 {32769, 4},
                 {1 << 20, 4},
                 {1048577, 5},
                 {UINT64_C(1) << 25, 5},
                 {(UINT64_C(1) << 25) + 1, 6},
                 {GRANULES, 6}};
    clump_error error;
    heap_case c = {.scan_groups = 1, .reduce_groups = 1};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(compute(&c, schema, cases[i].blocks * 256, 1, &error), CLUMP_OK);
        assert_int_equal(c.g.header.block_end, cases[i].blocks);
        assert_int_equal(c.g.header.hint_levels, cases[i].levels);
        expect_sound(&c);
    }
    /* 32 blocks and less: one word. */
    clump_schema *large = parse("class A { ulong16 v[512]; }");
    for (uint64_t blocks = 4; blocks <= 33; blocks += 1 + (blocks == 4) * 27) {
        assert_int_equal(compute(&c, large, blocks << 22, 1, &error), CLUMP_OK);
        assert_int_equal(c.g.header.block_end, blocks);
        assert_int_equal(c.g.header.hint_levels, blocks > 32 ? 2 : 1);
        expect_sound(&c);
    }
    clump_schema_destroy(large);
    clump_schema_destroy(schema);
}

/* ---- Limits ---------------------------------------------------------------------------------- */

static void expect_refused(heap_case *c, const clump_schema *schema, uint64_t bytes, uint32_t rows,
                           const char *words) {
    clump_error error = {0};
    clump_status status = compute(c, schema, bytes, rows, &error);
    if (status != CLUMP_ERR_DEVICE_MEMORY || error.status != status)
        fail_msg("%llu bytes, block_rows %u: %s", (unsigned long long)bytes, rows,
                 clump_status_name(status));
    if (!strstr(error.message, words))
        fail_msg("\"%s\" does not mention \"%s\"", error.message, words);
}

/* The message of a heap that is too small names the number of bytes that is just enough. */
static void smallest_heap(void **state) {
    static const uint32_t wishes[] = {0, 1, 5, 64};
    for (size_t i = 0; i < SIZES; i++) {
        clump_schema *schema = pair_of(4, object_bytes[i]);
        for (size_t k = 0; k < sizeof wishes / sizeof *wishes; k++) {
            clump_error error = {0};
            heap_case c = {.scan_groups = 1 + (uint32_t)i,
                           .reduce_groups = 1 + (uint32_t)(7 * i * k)};
            assert_int_equal(compute(&c, schema, 1, wishes[k], &error), CLUMP_ERR_DEVICE_MEMORY);
            const char *need = strstr(error.message, "need ");
            assert_non_null(need);
            uint64_t least = strtoull(need + 5, NULL, 10);
            char words[64];
            snprintf(words, sizeof words, "need %llu bytes", (unsigned long long)least);
            const uint64_t fewer[] = {least - 1, least - 1000, least / 2, least / 7, 0};
            for (size_t j = 0; j < sizeof fewer / sizeof *fewer; j++)
                expect_refused(&c, schema, fewer[j], wishes[k], words);
            expect_refused(&c, schema, least - 1, wishes[k],
                           object_bytes[i] > 4 ? "class Large" : "class Small");
            if (compute(&c, schema, least, wishes[k], &error)) fail_msg("%s", error.message);
            EXPECT(&c, c.g.header.block_end - c.g.header.first_block == 1 && c.g.bytes == least);
            expect_sound(&c);
        }
        clump_schema_destroy(schema);
    }
}

/* 2^26 granules of the largest row, and one byte more. */
static void largest_heap(void **state) {
    for (size_t i = 0; i < SIZES; i++) {
        static const uint32_t rows[] = {0, 1, 64};
        clump_schema *schema = pair_of(4, object_bytes[i]);
        uint64_t most = GRANULES * rows_of(schema).largest;
        for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
            clump_error error;
            heap_case c = {0};
            for (uint64_t bytes = most; bytes > most / 8; bytes -= most / 5) {
                if (compute(&c, schema, bytes, rows[k], &error)) fail_msg("%s", error.message);
                expect_sound(&c);
            }
            expect_refused(&c, schema, most + 1, rows[k], "too large for 32-bit references");
            char words[64];
            snprintf(words, sizeof words, "at most %llu bytes", (unsigned long long)most);
            expect_refused(&c, schema, most + 1, rows[k], words);
            expect_refused(&c, schema, UINT64_MAX, rows[k], words);
        }
        clump_schema_destroy(schema);
    }
}

/* What docs/guide/limits.md says of a class of 16 bytes. */
static void billions_of_objects(void **state) {
    (void)state;
    clump_schema *schema = parse("class Agent { uint cell; ulong identity; uint state; }");
    for (uint64_t gib = 1; gib <= 64; gib *= 2) {
        clump_error error;
        heap_case c = {0};
        if (compute(&c, schema, gib << 30, 0, &error)) fail_msg("%s", error.message);
        expect_sound(&c);
        const clumpi_header *h = &c.g.header;
        const uint64_t slots = (uint64_t)(h->block_end - h->first_block) * h->capacity_max;
        EXPECT(&c, h->granule_bytes == 1024 && (double)(gib << 30) < 16.6 * (double)slots);
        EXPECT(&c, gib < 64 || slots > UINT64_C(4150000000));
    }
    clump_schema_destroy(schema);
}

/* A checked heap has 648 bytes beside each granule, which may be more than a row of small
 * objects. */
static void checked_heaps(void **state) {
    for (uint32_t bytes = 1; bytes <= 64; bytes++) {
        char text[64];
        snprintf(text, sizeof text, "class C { uchar f[%u]; }", bytes);
        clump_schema *schema = parse(text);
        for (int generations = 0; generations < 2; generations++) {
            clumpi_geometry g;
            clump_error error = {0};
            const clumpi_extras extras = {.events = 4096, .generations = generations};
            if (clumpi_geometry_compute(schema, UINT64_C(64) << 20, 0, SCAN_GROUPS, REDUCE_GROUPS,
                                        extras, &g, &error))
                fail_msg("objects of %u bytes: %s", bytes, error.message);
            uint32_t blocks = g.header.block_end - g.header.first_block;
            uint64_t room = (uint64_t)blocks * g.classes[1].capacity * bytes;
            if (room < (UINT64_C(64) << 20) * (bytes < 4 ? bytes : 4) / 100)
                fail_msg("objects of %u bytes have %llu bytes in all", bytes,
                         (unsigned long long)room);
        }
        clump_schema_destroy(schema);
    }
}

/* Buffers that are too small for the metadata: the error names a size that is large enough, and the
 * checks' share. */
static void small_buffers(void **state) {
    (void)state;
    clump_schema *schema = parse("class A { uint id; ref A next; } class B { float4 p; }");
    static const char words[] = "Set buffer_bytes to ";
    for (uint64_t bytes = UINT64_C(1) << 19; bytes <= UINT64_C(1) << 30; bytes = bytes * 5 / 2)
        for (uint32_t rows = 0; rows <= 64; rows += 16)
            for (int checked = 0; checked < 2; checked++) {
                clumpi_geometry g;
                clump_error error = {0};
                clumpi_extras extras = {.segment_bytes = 1024};
                if (checked) extras.events = 4096, extras.generations = 1;
                assert_int_equal(clumpi_geometry_compute(schema, bytes, rows, SCAN_GROUPS,
                                                         REDUCE_GROUPS, extras, &g, &error),
                                 CLUMP_ERR_DEVICE_MEMORY);
                if (strstr(error.message, "is too small")) continue; /* in one buffer, too */
                assert_int_equal(strstr(error.message, "for its checks") != NULL, checked);
                const char *told = strstr(error.message, words);
                assert_non_null(told);
                extras.segment_bytes = strtoull(told + sizeof words - 1, NULL, 10);
                if (clumpi_geometry_compute(schema, bytes, rows, SCAN_GROUPS, REDUCE_GROUPS, extras,
                                            &g, &error))
                    fail_msg("%s", error.message);
                assert_true(g.segment_blocks > g.header.first_block);
                assert_true(g.segment_blocks * block_bytes(&g) <= extras.segment_bytes);
            }
    clump_schema_destroy(schema);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_by_hand), cmocka_unit_test(many_sizes),
        cmocka_unit_test(many_classes),  cmocka_unit_test(all_block_sizes),
        cmocka_unit_test(hint_levels),   cmocka_unit_test(smallest_heap),
        cmocka_unit_test(largest_heap),  cmocka_unit_test(checked_heaps),
        cmocka_unit_test(small_buffers), cmocka_unit_test(billions_of_objects),
    };
    return cmocka_run_group_tests_name("geometry", tests, NULL, NULL);
}
