/* The triggers of compactor.h on a device: every m-th call, blocks that could be freed, automatic.
 * The rule behind `automatic` is tested apart, on simulated programs: unit/test_compactor.c.
 *
 * Read first: include/clump/compactor.h.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <time.h>

#include "account.h"
#include "bench/papers/merge/merge.h"
#include "cl_fixture.h"

static cl_fixture fixture, *const f = &fixture;

static const char schema[] =
    "class Small { uint tag; ref Small next; }\n"
    "abstract class Base { uint tag; ref Base other; }\n"
    "class Left : Base { float4 x; }\n"
    "class Right : Base { uint y[5]; }\n";

static const char source[] =
    "uint mix(uint x) { x ^= x >> 16; x *= 0x85ebca6bu; x ^= x >> 13; x *= 0xc2b2ae35u;\n"
    "    return x ^ x >> 16; }\n"
    "__kernel void make_small(CLUMP_HEAP) {\n"
    "    CLUMP_FOR_EACH_NEW(Small, self, i) { Small_tag(self) = i; Small_next(self) = self; }\n"
    "}\n"
    "__kernel void make_base(CLUMP_HEAP) {\n"
    "    CLUMP_FOR_EACH_NEW(Base, self, i) { Base_tag(self) = i; Base_other(self) = self; }\n"
    "}\n"
    "__kernel void cull(CLUMP_HEAP, uint seed, uint small, uint base) {\n"
    "    CLUMP_FOR_EACH(Small, self)\n"
    "        if (mix(seed ^ Small_tag(self) * 2u) % 100u < small) Small_free(self);\n"
    "    CLUMP_FOR_EACH(Base, self)\n"
    "        if (mix(seed ^ Base_tag(self) * 2u) % 100u < base) Base_free(self);\n"
    "}\n"
    /* Every object points to itself, wherever it is. */
    "__kernel void astray(CLUMP_HEAP_NO_ALLOC) {\n"
    "    uint count = 0;\n"
    "    CLUMP_FOR_EACH(Small, self) count += Small_next(self).id != self.id;\n"
    "    CLUMP_FOR_EACH(Base, self) count += Base_other(self).id != self.id;\n"
    "    CLUMP_REDUCE(uint, count, CLUMP_SUM);\n"
    "}\n";

enum { MAKE_SMALL, MAKE_BASE, CULL, ASTRAY };
static const char *const kernel_names[CL_FIXTURE_KERNELS] = {
    [MAKE_SMALL] = "make_small", [MAKE_BASE] = "make_base", [CULL] = "cull", [ASTRAY] = "astray"};

typedef struct scene {
    cl_fixture_kit kit;
    clump_heap *heap; /* its heap */
    uint32_t seed;
} scene;

static scene scene_open(uint32_t blocks) {
    cl_fixture_kit kit = cl_fixture_kit_open(f, schema, blocks, source, kernel_names);
    return (scene){.kit = kit, .heap = kit.heap};
}

static void scene_close(scene *s) {
    cl_fixture_kit_close(&s->kit);
}

/* So many blocks of each class, full. */
static void scene_fill(scene *s, uint32_t small, uint32_t left, uint32_t right) {
    const struct {
        const char *name;
        uint32_t blocks;
    } classes[] = {{"Small", small}, {"Left", left}, {"Right", right}};
    for (int i = 0; i < 3; i++) {
        uint64_t count =
            (uint64_t)classes[i].blocks * cl_fixture_capacity(s->heap, classes[i].name);
        if (count)
            CHECK_OK(f, clump_heap_do_new(s->heap, s->kit.kernels[i ? MAKE_BASE : MAKE_SMALL],
                                          classes[i].name, count, NULL, NULL));
    }
    CHECK_HEAP(f, s->heap);
}

/* Free so many of a hundred. */
static void scene_cull(scene *s, uint32_t small, uint32_t base) {
    uint32_t seed = test_hash(++s->seed);
    SET_ARG(f, s->kit.kernels[CULL], 0, seed);
    SET_ARG(f, s->kit.kernels[CULL], 1, small);
    SET_ARG(f, s->kit.kernels[CULL], 2, base);
    CHECK_OK(f, clump_heap_do_all(s->heap, s->kit.kernels[CULL], NULL));
}

static void scene_check(scene *s, uint64_t objects) {
    uint32_t astray = 1;
    CHECK_HEAP(f, s->heap);
    CHECK_OK(f, clump_heap_reduce(s->heap, s->kit.kernels[ASTRAY], sizeof astray, &astray, NULL));
    assert_int_equal(astray, 0);
    clump_heap_stats stats = {.size = sizeof stats};
    CHECK_OK(f, clump_heap_read_stats(s->heap, &stats, NULL, 0));
    assert_true(stats.objects == objects);
}

static uint64_t scene_objects(scene *s) {
    clump_heap_stats stats = {.size = sizeof stats};
    CHECK_OK(f, clump_heap_read_stats(s->heap, &stats, NULL, 0));
    return stats.objects;
}

/* Blocks that could be freed in a class. */
static uint32_t freeable(scene *s, const char *class_name, double slack) {
    clump_class_stats stats[4] = {{.size = sizeof *stats}};
    CHECK_OK(f, clump_heap_read_stats(s->heap, NULL, stats, 4));
    const clump_class_stats *c = &stats[cl_fixture_class_id(s->heap, class_name) - 1];
    double room = floor((double)c->objects * (1 + slack) + 1e-6);
    double keep = ceil(room / cl_fixture_capacity(s->heap, class_name));
    return keep < c->blocks ? c->blocks - (uint32_t)keep : 0;
}

static uint32_t freeable_all(scene *s) {
    return freeable(s, "Small", 0) + freeable(s, "Left", 0) + freeable(s, "Right", 0);
}

static clump_compactor *open_compactor(const clump_compactor_desc *desc) {
    clump_compactor *compactor;
    CHECK_OK(f, clump_compactor_create(desc, &compactor, NULL));
    return compactor;
}

/* Ask a fresh compactor once. `merge` is optional. */
static int fires(const clump_compactor_desc *desc, const bench_merge *merge,
                 clump_compact_report *report) {
    clump_compactor *compactor = open_compactor(desc);
    int ran = -1;
    if (merge) CHECK_OK(f, bench_merge_compactor(compactor, merge));
    CHECK_OK(f, clump_compactor_tick(compactor, &ran, report, NULL));
    clump_compactor_destroy(compactor);
    return ran;
}

static void every_so_many_calls(void **state) {
    (void)state;
    static const uint32_t every[] = {1, 2, 7, 100};
    scene s = scene_open(40);
    scene_fill(&s, 8, 5, 4);
    for (size_t i = 0; i < sizeof every / sizeof *every; i++) {
        clump_compactor *compactor = open_compactor(&(clump_compactor_desc){
            .size = sizeof(clump_compactor_desc), .heap = s.heap, .every = every[i]});
        for (uint32_t call = 1; call <= 30; call++) {
            int ran = -1;
            if (call % 5 == 0) scene_cull(&s, 10, 5);
            uint64_t objects = scene_objects(&s);
            uint32_t expected = freeable_all(&s);
            clump_compact_report report = {.size = sizeof report, .objects = 1};
            CHECK_OK(f, clump_compactor_tick(compactor, &ran, call % 2 ? &report : NULL, NULL));
            assert_int_equal(ran, call % every[i] == 0);
            if (call % 2) {
                assert_int_equal(report.objects, ran ? objects : 0);
                assert_int_equal(report.blocks_freed, ran ? expected : 0);
            }
            if (ran) assert_int_equal(freeable_all(&s), 0);
            scene_check(&s, objects);
        }
        CHECK_OK(f, clump_compactor_tick(compactor, NULL, NULL, NULL));
        clump_compactor_destroy(compactor);
    }
    scene_close(&s);
}

static void when_blocks_can_be_freed(void **state) {
    (void)state;
    scene s = scene_open(60);
    uint32_t heap_blocks = clump_heap_get_info(s.heap)->block_count;
    for (uint32_t round = 0; round < 6; round++) {
        scene_fill(&s, 10, 6, 5);
        scene_cull(&s, 15 * round, 90 - 15 * round);
        uint64_t objects = scene_objects(&s);
        uint32_t most = freeable_all(&s);
        clump_compactor_desc desc = {.size = sizeof desc, .heap = s.heap};
        desc.candidates = most + 1;
        assert_int_equal(fires(&desc, NULL, NULL), 0);
        desc.candidates = 0;
        desc.share = fmin(1, (most + 0.5) / heap_blocks);
        assert_int_equal(fires(&desc, NULL, NULL), 0);
        desc.candidates = most + 1; /* neither of both */
        assert_int_equal(fires(&desc, NULL, NULL), 0);
        assert_true(most > 3);
        clump_compact_report report = {.size = sizeof report};
        if (round % 3 == 0)
            desc = (clump_compactor_desc){
                .size = sizeof(clump_compactor_desc), .heap = s.heap, .candidates = most};
        if (round % 3 == 1) desc.share = (most - 0.5) / heap_blocks; /* one of both */
        if (round % 3 == 2) desc.candidates = most;                  /* the other */
        assert_int_equal(fires(&desc, NULL, &report), 1);
        assert_int_equal(report.blocks_freed, most);
        assert_int_equal(fires(&desc, NULL, &report), 0);
        scene_check(&s, objects);
        /* Nothing can be freed: not even a share of next to nothing. */
        desc = (clump_compactor_desc){
            .size = sizeof(clump_compactor_desc), .heap = s.heap, .share = 1e-12};
        assert_int_equal(fires(&desc, NULL, NULL), 0);
        scene_cull(&s, 100, 100);
        scene_check(&s, 0);
    }
    scene_close(&s);
}

static void of_some_classes(void **state) {
    (void)state;
    static const char *const small[] = {"Small"}, *const base[] = {"Base"};
    scene s = scene_open(60);
    scene_fill(&s, 10, 6, 5);
    scene_cull(&s, 60, 0);
    uint64_t objects = scene_objects(&s);
    clump_compact_desc how = {.size = sizeof how, .classes = base, .class_count = 1};
    clump_compactor_desc desc = {
        .size = sizeof desc, .heap = s.heap, .compact = &how, .candidates = 1};
    assert_true(freeable(&s, "Small", 0) > 3);
    assert_int_equal(fires(&desc, NULL, NULL), 0);
    how.classes = small;
    how.slack = 0.5; /* counts less as free */
    uint32_t with_slack = freeable(&s, "Small", 0.5);
    assert_true(with_slack > 0 && with_slack < freeable(&s, "Small", 0));
    desc.candidates = with_slack + 1;
    assert_int_equal(fires(&desc, NULL, NULL), 0);
    desc.candidates = with_slack;
    clump_compact_report report = {.size = sizeof report};
    assert_int_equal(fires(&desc, NULL, &report), 1);
    assert_int_equal(report.blocks_freed, with_slack);
    scene_check(&s, objects);
    /* Subclasses belong to it. The other strategy frees what it can. */
    scene_cull(&s, 0, 70);
    objects = scene_objects(&s);
    desc =
        (clump_compactor_desc){.size = sizeof(clump_compactor_desc),
                               .heap = s.heap,
                               .compact = &(clump_compact_desc){.size = sizeof(clump_compact_desc),
                                                                .classes = base,
                                                                .class_count = 1},
                               .candidates = freeable(&s, "Left", 0) + freeable(&s, "Right", 0)};
    assert_int_equal(fires(&desc, &(bench_merge){.factor = 3}, &report), 1);
    assert_true(report.blocks_freed > 0);
    scene_check(&s, objects);
    scene_close(&s);
}

/* Objects come and go; what the rule does depends on the clock, but it never disturbs. */
static void automatically(void **state) {
    (void)state;
    static const double limits[] = {0, 0.1, 1};
    for (int i = 0; i < 3; i++) {
        scene s = scene_open(200);
        clump_compactor *compactor =
            open_compactor(&(clump_compactor_desc){.size = sizeof(clump_compactor_desc),
                                                   .heap = s.heap,
                                                   .automatic = 1,
                                                   .cost_limit = limits[i]});
        int runs = 0, must_run = limits[i] == 1;
        time_t start = time(NULL);
        /* On a busy machine the rule waits for longer than 400 steps take. */
        for (uint32_t step = 0; step < 400 || (must_run && !runs && time(NULL) - start < 30);
             step++) {
            if (step % 20 == 0) scene_fill(&s, 5, 3, 2);
            scene_cull(&s, 6, 8);
            clump_compact_report report = {.size = sizeof report};
            int ran = -1;
            uint64_t objects = step % 10 ? 0 : scene_objects(&s);
            CHECK_OK(f, clump_compactor_tick(compactor, &ran, &report, NULL));
            assert_true(ran == 0 || ran == 1);
            assert_true(ran || report.objects == 0);
            runs += ran;
            if (ran) CHECK_HEAP(f, s.heap);
            if (step % 10 == 0) scene_check(&s, objects);
        }
        print_message("limit %g: %d runs\n", limits[i], runs);
        if (must_run) assert_true(runs > 0);
        clump_compactor_destroy(compactor);
        scene_close(&s);
    }
}

/* Fewer than a tenth of the blocks free, and half of the others could be. */
static void automatically_for_memory(void **state) {
    (void)state;
    scene s = scene_open(100);
    scene_fill(&s, clump_heap_get_info(s.heap)->block_count - 2, 0, 0);
    scene_cull(&s, 60, 0);
    uint64_t objects = scene_objects(&s);
    assert_true(freeable_all(&s) > 40);
    clump_compactor *compactor = open_compactor(&(clump_compactor_desc){
        .size = sizeof(clump_compactor_desc), .heap = s.heap, .automatic = 1, .cost_limit = 1});
    int ran = 0;
    clump_compact_report report = {.size = sizeof report};
    /* The rule waits until what it expects to spend is a small part of the time that passed. */
    for (time_t start = time(NULL); !ran && time(NULL) - start < 30;)
        CHECK_OK(f, clump_compactor_tick(compactor, &ran, &report, NULL));
    assert_true(ran);
    assert_true(report.blocks_freed > 40);
    scene_check(&s, objects);
    clump_compactor_destroy(compactor);
    scene_close(&s);
}

/* What clump_heap_compact() says is what a tick says, and the next tick tries again. */
static void passes_failures_on(void **state) {
    (void)state;
    scene s = scene_open(20);
    uint32_t blocks = clump_heap_get_info(s.heap)->block_count;
    scene_fill(&s, blocks, 0, 0);
    scene_cull(&s, 20, 0);
    uint64_t objects = scene_objects(&s);
    clump_compactor *compactor = open_compactor(&(clump_compactor_desc){
        .size = sizeof(clump_compactor_desc),
        .heap = s.heap,
        .compact =
            &(clump_compact_desc){.size = sizeof(clump_compact_desc), .order = CLUMP_ORDER_ADDRESS},
        .every = 2});
    int ran = -1;
    CHECK_OK(f, clump_compactor_tick(compactor, &ran, NULL, NULL));
    CHECK_STATUS(f, clump_compactor_tick(compactor, &ran, NULL, NULL), CLUMP_ERR_DEVICE_MEMORY);
    assert_int_equal(ran, 0);
    scene_check(&s, objects);
    CHECK_OK(f, clump_compactor_tick(compactor, &ran, NULL, NULL));
    CHECK_STATUS(f, clump_compactor_tick(compactor, &ran, NULL, NULL), CLUMP_ERR_DEVICE_MEMORY);
    clump_compactor_destroy(compactor);
    scene_close(&s);
}

static void refuse(const clump_compactor_desc *desc, clump_status status, const char *words) {
    clump_compactor *compactor = (clump_compactor *)desc;
    CHECK_STATUS(f, clump_compactor_create(desc, &compactor, NULL), status);
    assert_null(compactor);
    const char *message = clump_context_get_error(f->clump)->message;
    if (!strstr(message, words)) fail_msg("no \"%s\" in: %s", words, message);
}

/* Whatever a tick does, its programs were built with the compactor. */
static void no_tick_builds(void **state) {
    (void)state;
    static account counted;
    account_open(&counted);
    account_use(&counted);
    cl_fixture own, *const shared = &own;
    assert_int_equal(cl_fixture_open(shared, &(cl_fixture_desc){.cl = &account_cl}), 0);
    cl_fixture_kit kit = cl_fixture_kit_open(shared, schema, 64, source, kernel_names);
    clump_compactor_desc desc = {
        .size = sizeof desc,
        .heap = kit.heap,
        .every = 1,
        .compact = &(clump_compact_desc){.size = sizeof(clump_compact_desc),
                                         .classes = (const char *const[]){"Small"},
                                         .class_count = 1,
                                         .order = CLUMP_ORDER_FIELD,
                                         .order_field = "tag"}};
    clump_compactor *compactor;
    CHECK_OK(shared, clump_compactor_create(&desc, &compactor, NULL));
    CHECK_OK(shared,
             clump_heap_do_new(kit.heap, kit.kernels[MAKE_SMALL], "Small", 200, NULL, NULL));
    int64_t programs = account_read(&counted).references[ACCOUNT_PROGRAM];
    int ran = 0;
    clump_compact_report report = {.size = sizeof report};
    CHECK_OK(shared, clump_compactor_tick(compactor, &ran, &report, NULL));
    assert_true(ran && report.moves > 0);
    assert_int_equal(account_read(&counted).references[ACCOUNT_PROGRAM], programs);
    clump_compactor_destroy(compactor);
    cl_fixture_kit_close(&kit);
    cl_fixture_close(shared);
    account_use(NULL);
    account_close(&counted);
}

static void bad_input(void **state) {
    (void)state;
    scene s = scene_open(10);
    clump_heap *heap = s.heap;
    clump_compactor *compactor;
    int ran = -1;
    CHECK_STATUS(f, clump_compactor_create(NULL, &compactor, NULL), CLUMP_ERR_USAGE);
    assert_null(compactor);
    CHECK_STATUS(f,
                 clump_compactor_create(
                     &(clump_compactor_desc){.size = sizeof(clump_compactor_desc), .every = 1},
                     &compactor, NULL),
                 CLUMP_ERR_USAGE);
    CHECK_STATUS(
        f,
        clump_compactor_create(
            &(clump_compactor_desc){.size = sizeof(clump_compactor_desc), .heap = heap, .every = 1},
            NULL, NULL),
        CLUMP_ERR_USAGE);
    CHECK_STATUS(f, clump_compactor_tick(NULL, &ran, NULL, NULL), CLUMP_ERR_USAGE);
    assert_int_equal(ran, 0);
    clump_compactor_destroy(NULL);
    const clump_status usage = CLUMP_ERR_USAGE;
    refuse(&(clump_compactor_desc){.size = sizeof(clump_compactor_desc), .heap = heap}, usage,
           "0 are set");
    refuse(
        &(clump_compactor_desc){
            .size = sizeof(clump_compactor_desc), .heap = heap, .every = 1, .automatic = 1},
        usage, "2 are set");
    refuse(
        &(clump_compactor_desc){
            .size = sizeof(clump_compactor_desc), .heap = heap, .every = 1, .candidates = 1},
        usage, "2 are set");
    refuse(&(clump_compactor_desc){.size = sizeof(clump_compactor_desc),
                                   .heap = heap,
                                   .every = 1,
                                   .share = 0.5,
                                   .automatic = 1},
           usage, "3 are set");
    static const double wrong[] = {-0.1, 1.1, -INFINITY, INFINITY, NAN};
    for (int i = 0; i < 5; i++) {
        refuse(
            &(clump_compactor_desc){
                .size = sizeof(clump_compactor_desc), .heap = heap, .share = wrong[i]},
            usage, "share");
        refuse(&(clump_compactor_desc){.size = sizeof(clump_compactor_desc),
                                       .heap = heap,
                                       .automatic = 1,
                                       .cost_limit = wrong[i]},
               usage, "cost_limit");
    }
    static const char *const nobody[] = {"Nobody"};
    refuse(
        &(clump_compactor_desc){.size = sizeof(clump_compactor_desc),
                                .heap = heap,
                                .every = 1,
                                .compact = &(clump_compact_desc){.size = sizeof(clump_compact_desc),
                                                                 .classes = nobody,
                                                                 .class_count = 1}},
        CLUMP_ERR_NOT_FOUND, "Nobody");
    refuse(
        &(clump_compactor_desc){
            .size = sizeof(clump_compactor_desc),
            .heap = heap,
            .every = 1,
            .compact = &(clump_compact_desc){.size = sizeof(clump_compact_desc), .slack = 2}},
        usage, "slack");
    CHECK_OK(f, clump_compactor_create(
                    &(clump_compactor_desc){
                        .size = sizeof(clump_compactor_desc), .heap = heap, .every = 1},
                    &compactor, NULL));
    CHECK_STATUS(f, bench_merge_compactor(compactor, &(bench_merge){0}), usage);
    assert_non_null(strstr(clump_context_get_error(f->clump)->message, "factor is 0"));
    clump_compactor_destroy(compactor);
    scene_close(&s);
}

int main(void) {
    int result = cl_fixture_open(f, NULL);
    if (result) return result;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_so_many_calls),      cmocka_unit_test(when_blocks_can_be_freed),
        cmocka_unit_test(of_some_classes),          cmocka_unit_test(automatically),
        cmocka_unit_test(automatically_for_memory), cmocka_unit_test(passes_failures_on),
        cmocka_unit_test(no_tick_builds),           cmocka_unit_test(bad_input),
    };
    result = cmocka_run_group_tests(tests, NULL, NULL);
    cl_fixture_close(f);
    return result;
}
