/* The weights of moves in a pool: equations 4.1 to 4.4 of Eichinger's thesis (docs/guide/pool.md),
 * each worked out by hand for small cases, and that moves are selected by them.
 *
 * The plan's own file is included, since what it exports only shows the order of moves. No device:
 * chunks have no buffers here.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cl_fixture.h"
#include "host/pool/plan.c"

#define UNITS 1000u /* of a chunk */
#define CHUNKS_MAX 11u

/* A pool with chunks of UNITS units of one byte, and a plan. */
typedef struct fixture {
    clump_pool pool;
    clumpi_record *slab;
    clumpi_chunk chunks[CHUNKS_MAX], *list[CHUNKS_MAX], *order[CHUNKS_MAX];
    uint32_t tops[CHUNKS_MAX], records;
    clump_defrag_desc desc;
    clumpi_plan_limits limits;
    plan plan;
} fixture;

static void open_pool(fixture *f, uint32_t chunks) {
    memset(f, 0, sizeof *f);
    f->pool.allocator = clumpi_allocator_resolve(NULL);
    f->slab = calloc(CLUMPI_RECORDS_SLAB, sizeof *f->slab);
    f->pool.slabs = &f->slab;
    clumpi_kind *k = &f->pool.kinds[0];
    *k = (clumpi_kind){.chunks = f->list, .order = f->order, .tops = f->tops, .count = chunks};
    for (uint32_t i = 0; i < chunks; i++) {
        clumpi_chunk *c = f->list[i] = f->order[i] = &f->chunks[i];
        *c = (clumpi_chunk){.bytes = UNITS, .index = i, .rank = i};
        c->ranges.allocator = f->pool.allocator;
        c->ranges.units = UNITS;
        assert_true(clumpi_suballoc_init(&c->ranges));
        f->tops[i] = clumpi_suballoc_top_bin(&c->ranges);
    }
    k->empty = chunks;
    f->limits = (clumpi_plan_limits){.bytes = UINT64_MAX, .ops = UINT32_MAX, .deadline_ns = 1e18};
    f->plan = (plan){.p = &f->pool, .desc = &f->desc, .limits = &f->limits, .kind = k, .alpha = 1};
}

static void close_pool(fixture *f) {
    for (size_t i = 0; i < f->pool.op_count; i++) clumpi_free(&f->pool.allocator, f->pool.ops[i]);
    clumpi_free(&f->pool.allocator, f->pool.ops);
    for (size_t i = 0; i < f->pool.kinds[0].count; i++) clumpi_suballoc_clear(&f->chunks[i].ranges);
    free(f->slab);
}

/* The free node that begins at an offset. */
static uint32_t gap_at(const clumpi_chunk *c, uint64_t offset) {
    for (uint32_t i = clumpi_suballoc_first(&c->ranges); i; i = clumpi_node_at(&c->ranges, i)->next)
        if (clumpi_node_at(&c->ranges, i)->offset == offset &&
            clumpi_node_at(&c->ranges, i)->state == CLUMPI_NODE_FREE)
            return i;
    fail_msg("no gap at %u", (unsigned)offset);
    return 0;
}

/* An allocation at an offset of a chunk, which must be free there. */
static uint32_t put(fixture *f, uint32_t chunk, uint64_t at, uint64_t units) {
    clumpi_chunk *c = &f->chunks[chunk];
    uint32_t i = clumpi_suballoc_first(&c->ranges);
    while (clumpi_node_at(&c->ranges, i)->offset + clumpi_node_at(&c->ranges, i)->size <= at)
        i = clumpi_node_at(&c->ranges, i)->next;
    clumpi_record *r = &f->slab[++f->records];
    *r = (clumpi_record){.chunk = c, .bytes = units, .is_live = 1, .is_movable = 1};
    r->node = clumpi_chunk_take(&f->pool, c, i, at, units, f->records);
    assert_true(r->node != 0);
    c->movable++;
    return f->records;
}

#define EXPECT(found, expected) expect((found), (expected), __LINE__)
static void expect(double found, double expected, int line) {
    if (fabs(found - expected) > 1e-12)
        fail_msg("line %d: %.15g, not %.15g", line, found, expected);
}

/* (4.4): w_loc = alpha * (i + o / n), with i the chunk, o the offset in it, n its size. */
static void location(void **state) {
    fixture f;
    open_pool(&f, 3);
    plan *pl = &f.plan;
    const clumpi_chunk *c = f.chunks;
    EXPECT(place_weight(pl, &c[0], 0, 0, 0, 0, 0), 0);
    EXPECT(place_weight(pl, &c[0], 250, 0, 0, 0, 0), 0.25);
    EXPECT(place_weight(pl, &c[2], 0, 0, 0, 0, 0), 2);
    pl->alpha = 3;
    EXPECT(place_weight(pl, &c[2], 250, 0, 0, 0, 0), 6.75);
    EXPECT(place_weight(pl, &c[1], 999, 0, 0, 0, 0), 5.997);
    pl->alpha = 0;
    EXPECT(place_weight(pl, &c[2], 999, 0, 0, 0, 0), 0);
    close_pool(&f);
}

/* (4.3): of two places the lower has the smaller weight. */
static void location_order(void **state) {
    fixture f;
    open_pool(&f, 3);
    double before = -1;
    for (uint32_t i = 0; i < 3; i++)
        for (uint64_t at = 0; at < UNITS; at++) {
            double weight = place_weight(&f.plan, &f.chunks[i], at, 0, 0, 0, 0);
            assert_true(weight > before);
            before = weight;
        }
    close_pool(&f);
}

/* Eichinger's figure 4.4: from 0 up to w_small at s_small, down to 0 at s_limit. */
static void gaps(void **state) {
    fixture f;
    open_pool(&f, 1);
    plan *pl = &f.plan;
    pl->small = 0.1;
    pl->limit = 0.5;
    pl->weight = 2;
    static const double expected[][2] = {{0, 0},   {1, 0.02},  {50, 1},  {99, 1.98},
                                         {100, 2}, {200, 1.5}, {300, 1}, {499, 0.005},
                                         {500, 0}, {1000, 0}};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        EXPECT(gap_weight(pl, expected[i][0], &f.chunks[0]), expected[i][1]);
    /* Shares of another chunk's size. */
    f.chunks[0].ranges.units = 100;
    EXPECT(gap_weight(pl, 5, &f.chunks[0]), 1);
    f.chunks[0].ranges.units = UNITS;
    close_pool(&f);
}

/* Three allocations with gaps of 50, 100, 300 and 400 units around them:
 *   50 free | a 50 | 100 free | b 50 | 300 free | c 50 | 400 free */
static void put_three(fixture *f, uint32_t *a, uint32_t *b, uint32_t *c) {
    *a = put(f, 0, 50, 50);
    *b = put(f, 0, 200, 50);
    *c = put(f, 0, 550, 50);
    f->plan.small = 0.1;
    f->plan.limit = 0.5;
    f->plan.weight = 2; /* of gaps of 50: 1; 100: 2; 300: 1; 400: 0.5 */
}

/* (4.2): w = w_loc + w_free, where w_free is the sum of the gaps before and behind the allocation,
 * its neighbour before it, and its neighbour behind it. */
static void place(void **state) {
    fixture f;
    uint32_t a, b, c;
    open_pool(&f, 1);
    put_three(&f, &a, &b, &c);
    /* b: 2 + 1; a: 1 + 2; c: 1 + 0.5 */
    EXPECT(weight_before(&f.plan, clumpi_record_at(&f.pool, b)), 0.2 + 3 + 3 + 1.5);
    /* a: 1 + 2; nothing before it; b: 2 + 1 */
    EXPECT(weight_before(&f.plan, clumpi_record_at(&f.pool, a)), 0.05 + 3 + 3);
    /* c: 1 + 0.5; b: 2 + 1; nothing behind it */
    EXPECT(weight_before(&f.plan, clumpi_record_at(&f.pool, c)), 0.55 + 1.5 + 3);
    f.plan.alpha = 10;
    EXPECT(weight_before(&f.plan, clumpi_record_at(&f.pool, b)), 2 + 7.5);
    f.plan.weight = 0;
    EXPECT(weight_before(&f.plan, clumpi_record_at(&f.pool, b)), 2);
    close_pool(&f);
}

/* Neighbours that touch have no gap between them. */
static void place_without_gaps(void **state) {
    fixture f;
    open_pool(&f, 1);
    put(&f, 0, 0, 150);
    uint32_t b = put(&f, 0, 150, 100);
    put(&f, 0, 250, 650);
    f.plan.small = 0.1;
    f.plan.limit = 0.5;
    f.plan.weight = 2;
    EXPECT(weight_before(&f.plan, clumpi_record_at(&f.pool, b)), 0.15 + 2); /* the 100 at the end */
    close_pool(&f);
}

/* (4.2) of a place that an allocation would have: what is left of the gap it goes to counts. */
static void place_after(void **state) {
    fixture f;
    uint32_t a, b, c;
    open_pool(&f, 1);
    put_three(&f, &a, &b, &c);
    uint32_t gap = gap_at(&f.chunks[0], 250); /* 300 units, between b and c */
    /* 50 units at its begin: 0 + 250 (1.25); b: 2 + 0; c: 1.25 + 0.5 */
    EXPECT(weight_after(&f.plan, &f.chunks[0], gap, 250, 50), 0.25 + 1.25 + 2 + 1.75);
    /* 150 units, 50 behind its begin: 1 + 2 (100 are left); b: 2 + 1; c: 2 + 0.5 */
    EXPECT(weight_after(&f.plan, &f.chunks[0], gap, 300, 150), 0.3 + 3 + 3 + 2.5);
    /* all of it: b: 2 + 0; c: 0 + 0.5 */
    EXPECT(weight_after(&f.plan, &f.chunks[0], gap, 250, 300), 0.25 + 0 + 2 + 0.5);
    close_pool(&f);
}

/* (4.1): dw = w_after - w_before; of an allocation's moves the one with the least is kept. */
static void difference(void **state) {
    fixture f;
    uint32_t a, b, c;
    open_pool(&f, 1);
    put_three(&f, &a, &b, &c);
    option o = {.record = c};
    weigh_all(&f.plan, &o);
    assert_int_equal(o.free_node, gap_at(&f.chunks[0], 0));
    /* To 0, in front of a. After: no gap left there, a: 0 + 2. Before: 0.55 + 1.5 + 3. To 100,
     * between a and b: 0.1 + (0 + 1) + (1 + 0) + (1 + 1), which is more. */
    EXPECT(o.weight, (0 + 0 + 2) - 5.05);
    option other = {.record = c};
    weigh(&f.plan, &f.chunks[0], gap_at(&f.chunks[0], 100), 5.05, &other);
    EXPECT(other.weight, 4.1 - 5.05);
    weigh(&f.plan, &f.chunks[0], gap_at(&f.chunks[0], 0), 5.05, &other);
    EXPECT(other.weight, 2 - 5.05); /* less: taken instead */
    weigh(&f.plan, &f.chunks[0], gap_at(&f.chunks[0], 100), 5.05, &other);
    EXPECT(other.weight, 2 - 5.05); /* more: not taken */
    f.plan.is_unweighted = 1;       /* the first one found, then */
    other = (option){.record = c};
    weigh_all(&f.plan, &other);
    assert_int_equal(other.free_node, gap_at(&f.chunks[0], 0));
    EXPECT(other.weight, 0);
    close_pool(&f);
}

/* The moves that a plan selects, at most `ops`. */
static void select_moves(fixture *f, uint32_t ops) {
    f->limits.ops = ops;
    assert_int_equal(clumpi_plan(&f->pool, &f->desc, &f->limits), CLUMP_OK);
}

/* 110 free | wall 290 | m1 110 | wall 100 | m2 100 | 290 free: m2 leaves a gap of 10 where it goes,
 * m1 none. m2 gains more by its place (0.61 against 0.4). The gap counts twice: m2's and the
 * wall's. */
static void put_choice(fixture *f, uint32_t *exact, uint32_t *far) {
    open_pool(f, 1);
    clumpi_record_at(&f->pool, put(f, 0, 110, 290))->is_movable = 0;
    *exact = put(f, 0, 400, 110);
    clumpi_record_at(&f->pool, put(f, 0, 510, 100))->is_movable = 0;
    *far = put(f, 0, 610, 100);
}

/* By their places alone (which is the preset) the allocation with the highest goes first; gaps that
 * weigh enough let the one go first that leaves none. */
static void selection(void **state) {
    fixture f;
    uint32_t exact, far;
    put_choice(&f, &exact, &far);
    select_moves(&f, 1);
    assert_int_equal(f.pool.op_count, 1);
    assert_int_equal(f.pool.ops[0]->record, far);
    assert_int_equal(f.pool.ops[0]->to_at, 0);
    close_pool(&f);

    put_choice(&f, &exact, &far);
    f.desc.weights =
        &(clump_defrag_weights){.location = 1, .free = 0.5, .free_small = 0.01, .free_limit = 0.1};
    select_moves(&f, 1);
    assert_int_equal(f.pool.op_count, 1);
    assert_int_equal(f.pool.ops[0]->record, exact);
    close_pool(&f);

    /* Where the worst gap is one of 90, one of 10 weighs too little: 2 * 0.5 / 9. */
    put_choice(&f, &exact, &far);
    f.desc.weights =
        &(clump_defrag_weights){.location = 1, .free = 0.5, .free_small = 0.09, .free_limit = 0.1};
    select_moves(&f, 1);
    assert_int_equal(f.pool.ops[0]->record, far);
    close_pool(&f);

    /* Without weights the first one found. */
    put_choice(&f, &exact, &far);
    f.desc.weights = &(clump_defrag_weights){0};
    select_moves(&f, 1);
    assert_int_equal(f.pool.ops[0]->record, exact);
    close_pool(&f);
}

/* Chunks by the share in use, what is leaving not counted; or by age. */
static void order(void **state) {
    fixture f;
    open_pool(&f, 3);
    put(&f, 0, 0, 100);
    put(&f, 1, 0, 300);
    put(&f, 2, 0, 200);
    order_chunks(&f.plan);
    assert_int_equal(f.chunks[1].rank, 0);
    assert_int_equal(f.chunks[2].rank, 1);
    assert_int_equal(f.chunks[0].rank, 2);
    f.chunks[1].leaving_units = 250;
    order_chunks(&f.plan);
    assert_int_equal(f.chunks[2].rank, 0);
    assert_int_equal(f.chunks[0].rank, 1);
    assert_int_equal(f.chunks[1].rank, 2);
    /* Moves go to where as much is in use, whatever the ranks were when they were found. */
    const clumpi_record *third = clumpi_record_at(&f.pool, 3);
    assert_false(is_below(&f.plan, &f.chunks[0], 0, third));
    assert_true(is_below(&f.plan, &f.chunks[2], 0, clumpi_record_at(&f.pool, 1)));
    f.chunks[2].leaving_units = 150;
    assert_false(is_below(&f.plan, &f.chunks[2], 0, clumpi_record_at(&f.pool, 1)));
    f.desc.order = CLUMP_DEFRAG_OLDEST;
    order_chunks(&f.plan);
    for (uint32_t i = 0; i < 3; i++) assert_int_equal(f.chunks[i].rank, i);
    assert_true(is_below(&f.plan, &f.chunks[0], 0, third));
    assert_false(is_below(&f.plan, &f.chunks[2], 0, clumpi_record_at(&f.pool, 1)));
    close_pool(&f);
}

/* An allocation that moves within its chunk is counted once: while it holds two ranges, the chunk
 * does not look fuller than others, so nothing moves there that would move back afterwards. */
static void order_under_way(void **state) {
    fixture f;
    open_pool(&f, 2);
    uint32_t moving = put(&f, 0, 500, 300), other = put(&f, 1, 0, 400);
    uint32_t target = clumpi_chunk_take(&f.pool, &f.chunks[0], gap_at(&f.chunks[0], 0), 0, 300, 0);
    assert_non_null(clumpi_op_new(&f.pool, moving, &f.chunks[0], target));
    order_chunks(&f.plan);
    assert_int_equal(f.chunks[1].rank, 0);
    assert_false(is_below(&f.plan, &f.chunks[0], 300, clumpi_record_at(&f.pool, other)));
    close_pool(&f);
}

/* Packing a chunk anew helps where the waste in the chunks that are in use is large; the empty one,
 * which it needs, is no waste. */
static void packing(void **state) {
    static const uint64_t used[][2] = {{950, 950}, {950, 500}, {400, 400}};
    for (int i = 0; i < 3; i++) {
        fixture f;
        open_pool(&f, 3);
        put(&f, 0, 0, used[i][0]);
        put(&f, 1, 0, used[i][1]);
        assert_ptr_equal(choose_empty(&f.plan), i == 2 ? &f.chunks[2] : NULL);
        close_pool(&f);
    }
}

/* It helps from a waste of 10% on: ten chunks in use with exactly that, and an empty one. */
static void packing_limit(void **state) {
    for (uint64_t rest = 900; rest <= 901; rest++) {
        fixture f;
        open_pool(&f, 11);
        for (uint32_t c = 0; c < 10; c++) put(&f, c, 0, c ? 900 : rest);
        assert_ptr_equal(choose_empty(&f.plan), rest == 900 ? &f.chunks[10] : NULL);
        close_pool(&f);
    }
}

/* The holes of a chunk are its free ranges but the largest, wherever that is. */
static void scattered(void **state) {
    fixture f;
    open_pool(&f, 1);
    put(&f, 0, 100, 200); /* free: 100, 400, 50 */
    put(&f, 0, 700, 250);
    assert_int_equal(scattered_units(&f.plan, &f.chunks[0]), 150);
    close_pool(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(location),
        cmocka_unit_test(location_order),
        cmocka_unit_test(gaps),
        cmocka_unit_test(place),
        cmocka_unit_test(place_after),
        cmocka_unit_test(place_without_gaps),
        cmocka_unit_test(difference),
        cmocka_unit_test(selection),
        cmocka_unit_test(order),
        cmocka_unit_test(packing),
        cmocka_unit_test(order_under_way),
        cmocka_unit_test(packing_limit),
        cmocka_unit_test(scattered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
