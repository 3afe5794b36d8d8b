/* Sums and products of heaps with 2^26 rows and billions of objects, without their memory: a header
 * says that there are so many, and the functions that compute with that run as C. A heap of that
 * size would need 64 GiB and a GPU.
 *
 * Read first: cl/core/reserve.clh, cl/heap/reserve.clh, cl/heap/check.cl, alone.h.
 */
#include <stdio.h>
#include <string.h>

#define __global
#define __local
#define __kernel static inline
#define CLK_LOCAL_MEM_FENCE 0
#define CLK_GLOBAL_MEM_FENCE 0
#define CLUMPI_ROW_PER_ITEM 1

#include "tests/protocol/alone.h"

static inline ulong get_group_id(uint dimension) {
    return (void)dimension, 0;
}
static inline ulong get_num_groups(uint dimension) {
    return (void)dimension, 1;
}
static inline ulong get_global_id(uint dimension) {
    return (void)dimension, 0;
}
static inline ulong get_global_size(uint dimension) {
    return (void)dimension, 1;
}
static inline uint atomic_inc(uint *word) {
    return atomic_add(word, 1);
}

#include "cl/heap/reserve.clh"
/* After that, which it needs. */
#include "cl/heap/check.cl"

static inline uint hosted_thread(void) {
    return 0;
}

static inline ulong hosted_op(enum hosted_kind kind, void *cell, ulong value, ulong expected,
                              hosted_site site) {
    uint *word = cell, old = word ? *word : 0;
    ulong old64 = 0;
    if (kind == HOSTED_LOAD64 || kind == HOSTED_CAS64) memcpy(&old64, cell, sizeof old64);
    switch (kind) {
    case HOSTED_LOAD:
    case HOSTED_LOAD_CACHED: return old;
    case HOSTED_STORE: *word = (uint)value; return old;
    case HOSTED_ADD: *word += (uint)value; return old;
    case HOSTED_OR: *word |= (uint)value; return old;
    case HOSTED_LOAD64: return old64;
    case HOSTED_CAS64:
        if (old64 == expected) memcpy(cell, &value, sizeof value);
        return old64;
    case HOSTED_FENCE:
    case HOSTED_FENCE_ACQ_REL: return 0;
    default: printf("FAILED: %s does more than this test knows\n", site.function); return 0;
    }
}

static uint failures;
#define EXPECT(condition)                                                                          \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            printf("FAILED: line %d: not %s\n", __LINE__, #condition);                             \
            failures++;                                                                            \
        }                                                                                          \
    } while (0)

/* ---- A heap of 64 GiB with a class of 16 bytes ------------------------------------------------ */

enum { SCAN_AT = 16384, STRIPES_AT = 32768, CLASS = 1 };
static _Alignas(128) uchar image[131072];

/* Granules and rows of 1 KiB, 64 rows a block: 2^20 blocks, of which the first are metadata. */
#define BLOCKS (1u << 20)
#define FIRST_BLOCK 36000u
#define ROWS ((BLOCKS - FIRST_BLOCK) * 64u)

static clumpi_view begin(void) {
    clumpi_view v = clumpi_view_of(image, 0);
    memset(image, 0, sizeof image);
    v.header->block_granules = 64;
    v.header->block_rows_max = 64;
    v.header->first_block = FIRST_BLOCK;
    v.header->block_end = BLOCKS;
    v.header->class_count = CLASS;
    v.header->first_raw = CLASS + 1;
    v.header->slots_rows = v.header->slots_holes = BLOCKS * 64u;
    v.header->stripes = CLUMPI_STRIPES;
    v.header->at_stripes = STRIPES_AT / CLUMPI_UNIT;
    v.header->at_scan = SCAN_AT / CLUMPI_UNIT;
    v.classes[CLASS].rows = 64;
    v.classes[CLASS].row_granules = 1;
    v.classes[CLASS].capacity = 4096;
    v.classes[CLASS].reserved.at_stripes =
        (STRIPES_AT + CLUMPI_STRIPES * (uint)sizeof(clumpi_stripe)) / CLUMPI_UNIT;
    v.classes[CLASS].reserved.stripes = 1;
    v.classes[CLASS].reserved.left = 1;
    return v;
}

static clumpi_stripe *stripes_of(const clumpi_view *v) {
    return (clumpi_stripe *)(void *)(image + v->classes[CLASS].reserved.at_stripes * CLUMPI_UNIT);
}

/* ---- The check ------------------------------------------------------------------------------- */

/* Rows that the check goes through, or 0 and a violation. */
static uint check_limit(uint stripes, uint limit, uint *key) {
    const clumpi_view v = begin();
    clumpi_check *check = check_of(&v);
    check->first.key = UINT32_MAX;
    v.classes[CLASS].reserved.stripes = stripes;
    stripes_of(&v)->limit = limit;
    const uint rows = check_stripes(&v, CLUMPI_CHECK_RESERVED, CLASS, 0);
    *key = check->first.key;
    return rows;
}

static void test_check(void) {
    uint key;
    for (uint stripes = 1; stripes <= CLUMPI_STRIPES; stripes *= 2) {
        EXPECT(check_limit(stripes, 640, &key) == 10 * stripes && key == UINT32_MAX);
        EXPECT(check_limit(stripes, 65, &key) == 2 * stripes && key == UINT32_MAX);
    }
    EXPECT(check_limit(1, 4000000000u, &key) == 62500000u && key == UINT32_MAX);
    EXPECT(check_limit(1, UINT32_MAX, &key) == 1u << 26 && key == UINT32_MAX);
    EXPECT(check_limit(CLUMPI_STRIPES, 1u << 27, &key) == 0 && key != UINT32_MAX);
}

/* ---- Requests -------------------------------------------------------------------------------- */

/* Where a stripe is after a request found it at `next`, and it was set back. */
static uint rewind_from(uint next, uint limit) {
    const clumpi_view v = begin();
    clumpi_stripe *s = stripes_of(&v);
    s->next = next;
    s->limit = limit;
    clumpi_stripe_rewind(clumpi_home_of(&v), &v.classes[CLASS].reserved, 0);
    EXPECT(s->limit == limit);
    return s->next;
}

static void test_rewind(void) {
    EXPECT(rewind_from(CLUMPI_NEXT_FAR + 32u, 6400) == CLUMPI_NEXT_FAR / 2u);
    EXPECT(rewind_from(CLUMPI_NEXT_FAR - 1u, 6400) == CLUMPI_NEXT_FAR - 1u);
    /* It has slots left. */
    EXPECT(rewind_from(CLUMPI_NEXT_FAR + 32u, 0x60000000u) == CLUMPI_NEXT_FAR + 32u);
    /* It is empty, and stays so. */
    EXPECT(rewind_from(0x60000020u, 0x60000000u) == 0x60000000u);
    EXPECT(rewind_from(0xfffffff0u, 4000000000u) == 4000000000u);
}

/* Two do-news of 2^31 objects for which there is no room are 2^32 errors, and not none. */
static void test_report(void) {
    const clumpi_view v = begin();
    const clumpi_error *e = &v.header->errors[CLUMPI_ERROR_OUT_OF_MEMORY];
    clumpi_report(clumpi_home_of(&v), CLUMPI_ERROR_OUT_OF_MEMORY, 1u << 31, CLASS, 5);
    EXPECT(e->count == 1u << 31 && e->ref == 5);
    clumpi_report(clumpi_home_of(&v), CLUMPI_ERROR_OUT_OF_MEMORY, 1u << 31, CLASS, 6);
    EXPECT(e->count == 1u << 31 && e->ref == 5);
    clumpi_report(clumpi_home_of(&v), CLUMPI_ERROR_OUT_OF_MEMORY, 1u, CLASS, 7);
    EXPECT(e->count == (1u << 31) + 1u && e->ref == 5);
}

/* ---- What is reserved ------------------------------------------------------------------------ */

/* The plan for a class whose blocks have so many rows with objects, objects, and empty rows, in a
 * heap with that many free blocks. `asked`: slots that the last launch asked for. */
static void test_plan(uint filled, uint objects, uint empty, uint free_blocks, uint asked,
                      uint least, uint neighbours) {
    const clumpi_view v = begin();
    clumpi_list_tally totals[CLUMPI_CLASS_IDS] = {{.empty = free_blocks}};
    reserve_plan plans[CLUMPI_CLASS_IDS];
    reserve_classes all;
    clumpi_reservation *r = &v.classes[CLASS].reserved;
    const reserve_window w = {1, 1, 0};
    totals[CLASS] =
        (clumpi_list_tally){.rows = filled, .partial = filled, .objects = objects, .empty = empty};
    r->learnt[0].asked = asked;
    r->learnt[0].objects = objects;
    r->least = least;
    const reserve_known known = reserve_known_of(&v, CLASS, 0);
    reserve_share(&v, totals, &known, 0, w, 1u << 20, objects, plans, &all);
    const reserve_plan p = plans[CLASS];
    const ulong rows = (ulong)p.hole_rows + p.empty_rows + p.blocks * 64ul;
    EXPECT(p.hole_rows <= (filled * 64ul - objects) / 64ul);
    EXPECT(p.hole_rows * 4ul <= v.header->slots_holes);
    EXPECT(p.empty_rows <= empty && p.blocks <= free_blocks);
    EXPECT(p.rows_at + (ulong)p.empty_rows + p.blocks * 64ul <= v.header->slots_rows);
    EXPECT(p.wanted >= max(asked, least) / 64u);
    reserve_open(&v, 0, w, neighbours, totals, plans);
    ulong slots = 0;
    for (uint s = 0; s < CLUMPI_STRIPES; s++) slots += stripes_of(&v)[s].limit;
    EXPECT(slots == rows * 64ul);
    if (asked) EXPECT(r->learnt[1].demand >= asked);
}

static void test_plans(void) {
    static const uint asked[] = {0, 1, 1u << 20, 1u << 30, 1u << 31};
    static const uint crowds[] = {1, 4096, 1u << 24};
    for (uint i = 0; i < sizeof asked / sizeof *asked; i++)
        for (uint k = 0; k < sizeof crowds / sizeof *crowds; k++) {
            const uint neighbours = crowds[k];
            test_plan(ROWS, (uint)(ROWS * 60ul), 0, 0, asked[i], 0, neighbours);
            test_plan(ROWS, ROWS * 2u, 0, 0, asked[i], 0, neighbours);
            test_plan(0, 0, 0, BLOCKS - FIRST_BLOCK, asked[i], 0, neighbours);
            test_plan(0, 0, 0, BLOCKS - FIRST_BLOCK, asked[i], 1u << 31, neighbours);
            test_plan(ROWS / 2, ROWS / 2 * 63u, ROWS / 4, (BLOCKS - FIRST_BLOCK) / 4, asked[i],
                      1u << 31, neighbours);
        }
}

int main(void) {
    test_check();
    test_rewind();
    test_report();
    test_plans();
    return failures != 0;
}
