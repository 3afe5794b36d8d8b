/* Random programs on pools: allocating, freeing, pinning, mapping, defragmenting in every way,
 * with the contents of all allocations compared against what was written, and all invariants
 * checked.
 *
 *   diff_pool [PROGRAMS [SEED]]
 *
 * Read first: include/clump/pool.h, include/clump/defrag.h.
 */
#include <stdlib.h>
#include <string.h>

#include "cl_fixture.h"
#include "pool/pool.h"

#define LIVE_MAX 160u
#define BYTES_MAX 60000u
#define STEPS 120u

/* On a busy device four steps of five wait, and the fifth copies 4 KiB: 3 MiB take 4,000 such
 * steps. A step without an end in sight is what the limit is for. */
#define STEPS_MAX 50000u

typedef struct thing {
    clump_allocation allocation;
    clump_region region; /* as last told */
    uint32_t tag, bytes;
    int movable;
    uint32_t pins;
} thing;

typedef struct world {
    const cl_fixture *f;
    clump_pool *pool;
    thing things[LIVE_MAX];
    uint32_t count, next_tag;
    uint64_t random;
    uint64_t moved, ignored, destroyed, refused;
    int picky; /* `decide` says ignore and destroy, too */
} world;

static uint32_t pick(world *w, uint32_t below) {
    return test_random(&w->random, below);
}

#define POOL_OK(w, call) pool_ok((w), (call), #call, __LINE__)
static void pool_ok(world *w, clump_status status, const char *call, int line) {
    if (!status) return;
    clump_error error;
    clump_pool_get_error(w->pool, &error);
    fail_msg("line %d: %s returned %s: %s", line, call, clump_status_name(status), error.message);
}

static uint8_t byte_of(const thing *t, uint32_t i) {
    return (uint8_t)(t->tag * 151u + i * 7u + (i >> 8) * 13u);
}

static void fill(world *w, const thing *t) {
    static uint8_t data[BYTES_MAX];
    for (uint32_t i = 0; i < t->bytes; i++) data[i] = byte_of(t, i);
    CHECK_CL(clEnqueueWriteBuffer(w->f->queue, t->region.buffer, CL_TRUE, t->region.offset,
                                  t->bytes, data, 0, NULL, NULL));
    CHECK_CL(clFinish(w->f->queue)); /* see cl_fixture_write() */
}

static void verify(world *w, const thing *t) {
    static uint8_t data[BYTES_MAX];
    clump_allocation_info info = {.size = sizeof info};
    POOL_OK(w, clump_pool_get_info(w->pool, t->allocation, &info));
    if (info.region.buffer != t->region.buffer || info.region.offset != t->region.offset)
        fail_msg("allocation %u has moved, and nobody was told", t->tag);
    assert_int_equal(info.region.bytes, t->bytes);
    assert_ptr_equal(info.user_data, t);
    assert_int_equal(info.pins, t->pins);
    CHECK_CL(clEnqueueReadBuffer(w->f->queue, info.region.buffer, CL_TRUE, info.region.offset,
                                 t->bytes, data, 0, NULL, NULL));
    for (uint32_t i = 0; i < t->bytes; i++)
        if (data[i] != byte_of(t, i))
            fail_msg("allocation %u, %u bytes: byte %u is %u, not %u", t->tag, t->bytes, i, data[i],
                     byte_of(t, i));
}

static void verify_all(world *w) {
    for (uint32_t i = 0; i < w->count; i++) verify(w, &w->things[i]);
    POOL_OK(w, clump_pool_check(w->pool));
    clump_pool_stats stats = {.size = sizeof stats};
    POOL_OK(w, clump_pool_get_stats(w->pool, &stats, NULL));
    assert_int_equal(stats.allocations, w->count);
}

/* ---- What a program does --------------------------------------------------------------------- */

static void do_alloc(world *w) {
    if (w->count == LIVE_MAX) return;
    thing made = {.tag = w->next_tag++, .movable = pick(w, 8) != 0};
    made.bytes = 1 + pick(w, pick(w, 4) ? 9000 : BYTES_MAX);
    clump_allocation_desc desc = {.size = sizeof desc,
                                  .bytes = made.bytes,
                                  .alignment = pick(w, 6) ? 0 : 128u << pick(w, 5),
                                  .memory = pick(w, 10) ? CLUMP_MEMORY_DEVICE : CLUMP_MEMORY_HOST,
                                  .movable = made.movable,
                                  .unique = pick(w, 30) == 0,
                                  .name = pick(w, 5) ? NULL : "thing",
                                  .user_data = NULL};
    clump_status status = clump_pool_alloc(w->pool, &desc, &made.allocation, &made.region);
    if (status == CLUMP_ERR_DEVICE_MEMORY) {
        w->refused++;
        return;
    }
    POOL_OK(w, status);
    assert_int_equal(made.region.bytes, made.bytes);
    if (desc.alignment) assert_int_equal(made.region.offset % desc.alignment, 0);
    /* Only now: to make room the pool may have moved and destroyed others. */
    thing *t = &w->things[w->count++];
    *t = made;
    POOL_OK(w, clump_pool_change(w->pool, t->allocation, CLUMP_PART_USER_DATA,
                                 &(clump_allocation_desc){.size = sizeof(clump_allocation_desc),
                                                          .user_data = t}));
    fill(w, t);
}

static void forget(world *w, thing *t) {
    *t = w->things[--w->count];
    if (t != &w->things[w->count])
        POOL_OK(w, clump_pool_change(w->pool, t->allocation, CLUMP_PART_USER_DATA,
                                     &(clump_allocation_desc){.size = sizeof(clump_allocation_desc),
                                                              .user_data = t}));
}

static void do_free(world *w) {
    if (!w->count) return;
    thing *t = &w->things[pick(w, w->count)];
    clump_allocation gone = t->allocation;
    if (t->pins) {
        assert_int_equal(clump_pool_free(w->pool, gone), CLUMP_ERR_USAGE);
        return;
    }
    POOL_OK(w, clump_pool_free(w->pool, gone));
    assert_int_equal(clump_pool_free(w->pool, gone), CLUMP_ERR_REFERENCE);
    forget(w, t);
}

static void do_change(world *w) {
    if (!w->count) return;
    thing *t = &w->things[pick(w, w->count)];
    cl_mem buffer;
    void *memory;
    switch (pick(w, 6)) {
    case 0:
        t->movable = !t->movable;
        POOL_OK(w, clump_pool_change(w->pool, t->allocation, CLUMP_PART_MOVABLE,
                                     &(clump_allocation_desc){.size = sizeof(clump_allocation_desc),
                                                              .movable = t->movable}));
        break;
    case 1:
        POOL_OK(w, clump_pool_pin(w->pool, t->allocation, 1));
        t->pins++;
        break;
    case 2:
        if (!t->pins) break;
        POOL_OK(w, clump_pool_pin(w->pool, t->allocation, -1));
        t->pins--;
        break;
    case 3: {
        POOL_OK(w, clump_pool_get_buffer(w->pool, t->allocation, &buffer));
        uint8_t first;
        CHECK_CL(clEnqueueReadBuffer(w->f->queue, buffer, CL_TRUE, 0, 1, &first, 0, NULL, NULL));
        assert_int_equal(first, byte_of(t, 0));
        break;
    }
    case 4:
        POOL_OK(w, clump_pool_map(w->pool, t->allocation, CL_MAP_READ, &memory));
        assert_int_equal(((uint8_t *)memory)[t->bytes - 1], byte_of(t, t->bytes - 1));
        POOL_OK(w, clump_pool_unmap(w->pool, t->allocation, memory, NULL));
        break;
    default: { /* a command that uses it, known by its event */
        static uint8_t byte;
        cl_event event;
        CHECK_CL(clEnqueueReadBuffer(w->f->queue, t->region.buffer, CL_FALSE, t->region.offset, 1,
                                     &byte, 0, NULL, &event));
        POOL_OK(w, clump_pool_use(w->pool, t->allocation, event));
        clReleaseEvent(event);
    }
    }
}

static thing *find(world *w, clump_allocation allocation) {
    for (uint32_t i = 0; i < w->count; i++)
        if (w->things[i].allocation == allocation) return &w->things[i];
    fail_msg("a move of an allocation that is none");
    return NULL;
}

static void moved(void *user, const clump_move *move) {
    world *w = user;
    thing *t = find(w, move->allocation);
    assert_ptr_equal(move->user_data, t);
    assert_true(t->movable && !t->pins);
    assert_ptr_equal(move->from.buffer, t->region.buffer);
    assert_int_equal(move->from.offset, t->region.offset);
    t->region = move->to;
    w->moved++;
}

static clump_move_op decide(void *user, const clump_move *move) {
    world *w = user;
    thing *t = find(w, move->allocation);
    if (!w->picky || pick(w, 4)) return CLUMP_MOVE_COPY;
    if (pick(w, 2)) {
        w->ignored++;
        return CLUMP_MOVE_IGNORE;
    }
    w->destroyed++;
    forget(w, t);
    return CLUMP_MOVE_DESTROY;
}

static void do_finish_moves(world *w) {
    clump_move move;
    for (;;) {
        POOL_OK(w, clump_pool_next_move(w->pool, &move));
        if (!move.allocation) return;
        clump_move_op op = (clump_move_op)(pick(w, 4) ? 0 : 1 + pick(w, 2));
        POOL_OK(w, clump_pool_finish_move(w->pool, move.allocation, op));
        if (op == CLUMP_MOVE_COPY) moved(w, &move);
        if (op == CLUMP_MOVE_DESTROY) forget(w, find(w, move.allocation));
    }
}

static void do_defrag(world *w) {
    clump_defrag_desc desc = {.size = sizeof desc, .order = (clump_defrag_order)pick(w, 2)};
    clump_defrag_weights weights = {0}; /* moves as they are found */
    if (pick(w, 3)) desc.weights = &weights;
    if (pick(w, 2)) {
        weights.location = pick(w, 5) * 0.25;
        weights.free = pick(w, 5) * 0.25;
        weights.free_small = 0.01;
        weights.free_limit = 0.1;
    }
    if (pick(w, 2)) desc.budget_us = 1u << pick(w, 12);
    if (pick(w, 3) == 0) desc.max_moves = 1 + pick(w, 5);
    if (pick(w, 3) == 0) desc.max_bytes = 1 + pick(w, 100000);
    clump_defrag_report report = {.size = sizeof report};
    switch (pick(w, 5)) {
    case 0: desc.manual = 1; break;
    case 1: desc.wait = 1; break;
    case 2: desc.exclusive = 1; break;
    case 3:
        if (pick(w, 3)) break;
        desc.until_done = 1;
        POOL_OK(w, clump_pool_defragment(w->pool, &desc, &report, NULL));
        assert_true(report.done || w->picky);
        return;
    default: break;
    }
    POOL_OK(w, clump_pool_defragment(w->pool, &desc, &report, NULL));
    if (desc.max_moves && !desc.exclusive) assert_true(report.begun <= desc.max_moves);
    if (desc.max_bytes && !desc.exclusive) assert_true(report.copied_bytes <= desc.max_bytes);
    if (desc.wait && desc.budget_us == 0 && !desc.max_bytes) assert_int_equal(report.under_way, 0);
    if (desc.manual) {
        clFinish(w->f->queue);
        do_finish_moves(w);
    }
}

static void run_program(const cl_fixture *f, uint64_t seed, unsigned number, world *sum) {
    world *w = calloc(1, sizeof *w);
    assert_non_null(w);
    w->f = f;
    w->random = (seed << 32) + number;
    w->picky = number % 3 == 1;
    clump_pool_desc desc = {.size = sizeof desc,
                            .context = f->clump,
                            .chunk_bytes = 128u << (10 + pick(w, 2)),
                            .limit_bytes = pick(w, 2) ? 0 : 512u << 10,
                            .fit = (clump_fit)(number % CLUMP_FIT_COUNT),
                            .margin_bytes = pick(w, 3) ? 0 : 1 + pick(w, 300),
                            .flags = pick(w, 3) ? 0 : CLUMP_POOL_COMPACT_WHEN_FULL,
                            .user = w,
                            .decide = decide,
                            .moved = moved};
    if (pick(w, 4) == 0) desc.flags |= CLUMP_POOL_KEEP_NONE;
    if (pick(w, 4) == 0) desc.flags |= CLUMP_POOL_SINGLE_THREADED;
    clump_error error = {.status = CLUMP_OK}; /* a call that succeeds leaves it alone */
    cl_fixture_expect_words(&error, clump_pool_create(&desc, &w->pool, &error), CLUMP_OK, "",
                            "clump_pool_create", __LINE__);
    for (unsigned step = 0; step < STEPS; step++) {
        uint32_t what = pick(w, 16);
        /* Fill, then thin out, then fill again. */
        uint32_t allocating = step % 60 < 30 ? 9 : 3;
        if (what < allocating)
            do_alloc(w);
        else if (what < 12)
            do_free(w);
        else if (what < 14)
            do_change(w);
        else
            do_defrag(w);
        if (step % 12 == 11) verify_all(w);
    }
    verify_all(w);
    for (uint32_t i = 0; i < w->count; i++)
        for (; w->things[i].pins; w->things[i].pins--)
            POOL_OK(w, clump_pool_pin(w->pool, w->things[i].allocation, -1));
    if (number % 2)
        while (w->count) do_free(w);
    clump_pool_trim(w->pool);
    POOL_OK(w, clump_pool_check(w->pool));
    sum->moved += w->moved;
    sum->ignored += w->ignored;
    sum->destroyed += w->destroyed;
    sum->refused += w->refused;
    clump_pool_destroy(w->pool);
    clump_pool *last;
    clump_pool_stats stats = {.size = sizeof stats};
    CHECK_OK(f, clump_pool_create(
                    &(clump_pool_desc){.size = sizeof(clump_pool_desc), .context = f->clump}, &last,
                    NULL));
    POOL_OK(w, clump_pool_get_stats(last, &stats, NULL));
    assert_int_equal(stats.context_bytes, 0);
    clump_pool_destroy(last);
    free(w);
}

static unsigned programs = 60;
static uint64_t seed = 1;

static void random_programs(void **state) {
    static world sum;
    for (int out_of_order = 0; out_of_order < 2; out_of_order++) {
        cl_fixture f;
        cl_fixture_desc desc = {.out_of_order = out_of_order};
        int result = cl_fixture_open(&f, &desc);
        if (result == CL_FIXTURE_SKIP) continue;
        assert_int_equal(result, 0);
        for (unsigned i = 0; i < programs; i++)
            run_program(&f, seed + (uint64_t)out_of_order, i, &sum);
        cl_fixture_close(&f);
    }
    print_message("%llu moves, %llu ignored, %llu destroyed, %llu requests refused\n",
                  (unsigned long long)sum.moved, (unsigned long long)sum.ignored,
                  (unsigned long long)sum.destroyed, (unsigned long long)sum.refused);
    if (programs >= 40) assert_true(sum.moved > 500 && sum.ignored && sum.destroyed && sum.refused);
}

/* ---- Convergence ----------------------------------------------------------------------------- */

/* What each planned move lowers (host/pool/plan.c), with the moves under way counted as done: first
 * `high`, or it stays and `low` falls. So no state ever comes back, although a single allocation
 * may. */
#define CHUNKS_MAX 64u

typedef struct potential {
    uint64_t high, low;
} potential;

static potential calc_potential(clump_pool *pool, clump_defrag_order order) {
    clump_pool *p = pool;
    clumpi_pool_enter(p);
    const clumpi_kind *k = &p->kinds[CLUMP_MEMORY_DEVICE];
    uint64_t squares = 0, serials = 0, offsets = 0, used[CHUNKS_MAX] = {0};
    assert_true(k->count <= CHUNKS_MAX);
    for (size_t i = 0; i < k->count; i++) {
        const clump_suballoc *ranges = &k->chunks[i]->ranges;
        for (uint32_t at = clumpi_suballoc_first(ranges); at;
             at = clumpi_node_at(ranges, at)->next) {
            const clumpi_node *n = clumpi_node_at(ranges, at);
            if (n->state != CLUMPI_NODE_USED || !n->user_data) continue;
            const clumpi_op *op = clumpi_record_at(p, (uint32_t)(uintptr_t)n->user_data)->op;
            const clumpi_chunk *c = op ? op->to : k->chunks[i];
            used[c->index] += n->size;
            serials += c->serial;
            offsets += op ? op->to_at >> p->unit_shift : n->offset;
        }
    }
    for (size_t i = 0; i < k->count; i++) squares += used[i] * used[i];
    clumpi_pool_leave(p);
    return (potential){order == CLUMP_DEFRAG_OLDEST ? serials : UINT64_MAX - squares, offsets};
}

static int is_lower(potential a, potential b) {
    return a.high != b.high ? a.high < b.high : a.low < b.low;
}

/* Half of everything is freed; steps with a budget bring the waste down, and come to an end. */
static void converges(void **state) {
    cl_fixture f;
    int result = cl_fixture_open(&f, NULL);
    if (result == CL_FIXTURE_SKIP) skip();
    for (unsigned number = 0; number < 8; number++) {
        int many = number >= 4; /* more pairs than are all looked at */
        clump_pool_desc desc = {.size = sizeof desc,
                                .context = f.clump,
                                .chunk_bytes = 1 << 20,
                                .fit = (clump_fit)(number % CLUMP_FIT_COUNT)};
        clump_pool *pool;
        clump_error error;
        assert_int_equal(clump_pool_create(&desc, &pool, &error), CLUMP_OK);
        static clump_allocation all[4000];
        uint64_t random = number;
        uint32_t count = many ? 4000 : 60;
        for (uint32_t i = 0; i < count; i++) {
            uint32_t bytes =
                many ? 500 + test_random(&random, 6000) : 20000 + test_random(&random, 200000);
            clump_allocation_desc a = {.size = sizeof a, .bytes = bytes, .movable = 1};
            assert_int_equal(clump_pool_alloc(pool, &a, &all[i], NULL), CLUMP_OK);
        }
        for (uint32_t i = 0; i < count; i++)
            if (test_random(&random, 100) < 55)
                assert_int_equal(clump_pool_free(pool, all[i]), CLUMP_OK);
        clump_pool_stats before = {.size = sizeof before}, after = {.size = sizeof after};
        clump_pool_get_stats(pool, &before, NULL);
        assert_true(before.waste > 0.4);
        clump_defrag_desc step = {
            .size = sizeof step, .budget_us = 300, .wait = 1, .order = number % 2};
        clump_defrag_report report = {.size = sizeof report};
        unsigned steps = 0;
        potential last = calc_potential(pool, step.order);
        do {
            assert_int_equal(clump_pool_defragment(pool, &step, &report, NULL), CLUMP_OK);
            potential now = calc_potential(pool, step.order);
            if (report.begun ? !is_lower(now, last) : is_lower(now, last) || is_lower(last, now))
                fail_msg("pool %u: step %u began %u moves, from %llu, %llu to %llu, %llu", number,
                         steps, report.begun, (unsigned long long)last.high,
                         (unsigned long long)last.low, (unsigned long long)now.high,
                         (unsigned long long)now.low);
            last = now;
            assert_true(++steps < STEPS_MAX);
        } while (!report.done);
        clump_pool_trim(pool);
        clump_pool_get_stats(pool, &after, NULL);
        print_message("waste %.3f to %.3f in %u steps, %llu moves of %llu, chunks %u to %u\n",
                      before.waste, after.waste, steps, (unsigned long long)after.moves,
                      (unsigned long long)after.allocations, before.chunks, after.chunks);
        /* As few chunks as can be, filled to 97%; with few large allocations, which cannot be
         * packed tightly, one more. */
        assert_true(after.chunks <= (double)after.used_bytes / (0.97 * (1 << 20)) + 1 + !many);
        assert_int_equal(clump_pool_defragment(pool, &step, &report, NULL), CLUMP_OK);
        assert_true(report.done && !report.begun);
        assert_int_equal(
            clump_pool_defragment(
                pool, &(clump_defrag_desc){.size = sizeof(clump_defrag_desc), .until_done = 1},
                &report, NULL),
            CLUMP_OK);
        assert_true(report.done);
        assert_int_equal(clump_pool_check(pool), CLUMP_OK);
        clump_pool_details details = {.size = sizeof details};
        clump_pool_get_stats(pool, NULL, &details);
        assert_true(details.fragmentation < 1e-9); /* nothing stays: one free range a chunk */
        clump_pool_destroy(pool);
    }
    cl_fixture_close(&f);
}

/* Holes into which nothing fits: packing chunks anew brings the waste down, without an exclusive
 * step. */
static void packs_anew(void **state) {
    cl_fixture f;
    int result = cl_fixture_open(&f, NULL);
    if (result == CL_FIXTURE_SKIP) skip();
    static world w;
    memset(&w, 0, sizeof w);
    w.f = &f;
    clump_pool_desc desc = {.size = sizeof desc,
                            .context = f.clump,
                            .chunk_bytes = 512 << 10,
                            .user = &w,
                            .moved = moved};
    clump_error error;
    assert_int_equal(clump_pool_create(&desc, &w.pool, &error), CLUMP_OK);
    clump_allocation holes[LIVE_MAX];
    for (uint32_t i = 0; i < 64; i++) {
        thing *t = &w.things[w.count++];
        *t = (thing){.tag = i, .movable = 1, .bytes = 50000 + i};
        clump_allocation_desc a = {
            .size = sizeof a, .bytes = t->bytes, .movable = 1, .user_data = t};
        POOL_OK(&w, clump_pool_alloc(w.pool, &a, &t->allocation, &t->region));
        fill(&w, t);
        a = (clump_allocation_desc){.size = sizeof(clump_allocation_desc), .bytes = 30000};
        POOL_OK(&w, clump_pool_alloc(w.pool, &a, &holes[i], NULL));
    }
    for (uint32_t i = 0; i < 64; i++) POOL_OK(&w, clump_pool_free(w.pool, holes[i]));
    clump_pool_stats before = {.size = sizeof before}, after = {.size = sizeof after};
    clump_pool_details details = {.size = sizeof details};
    POOL_OK(&w, clump_pool_get_stats(w.pool, &before, &details));
    assert_true(details.fragmentation > 0.5 &&
                details.fragmentation < 1); /* many holes in each chunk */
    clump_defrag_desc step = {.size = sizeof step, .budget_us = 500, .wait = 1};
    clump_defrag_report report = {.size = sizeof report};
    unsigned steps = 0;
    do {
        POOL_OK(&w, clump_pool_defragment(w.pool, &step, &report, NULL));
        if (steps % 4 == 0) verify_all(&w);
        assert_true(++steps < STEPS_MAX);
    } while (!report.done);
    verify_all(&w);
    POOL_OK(&w, clump_pool_trim(w.pool));
    POOL_OK(&w, clump_pool_get_stats(w.pool, &after, NULL));
    print_message("waste %.3f to %.3f in %u steps, %llu moves of 64\n", before.waste, after.waste,
                  steps, (unsigned long long)after.moves);
    assert_true(before.waste > 0.35 && after.waste < 0.15);
    assert_true(after.moves < 300);
    clump_pool_destroy(w.pool);
    cl_fixture_close(&f);
}

int main(int argc, char **argv) {
    if (argc > 1) programs = (unsigned)strtoul(argv[1], NULL, 0);
    if (argc > 2) seed = strtoull(argv[2], NULL, 0);
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_programs),
                                       cmocka_unit_test(converges), cmocka_unit_test(packs_anew)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
