/* A quadtree on the heap and in arrays against sequential C: every bit of every body, the number of
 * nodes and the depth of every body, after every step. The rules are those of the benchmark, and so
 * is the code.
 *
 * Read first: bench/apps/barnes-hut/world.h.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app_fixture.h"
#include "bench/apps/barnes-hut/world.h"

static cl_fixture fixture;

static void make_random(collision_body *bodies, uint32_t count, uint32_t seed) {
    const collision_start start = collision_start_default();
    collision_make_random(bodies, count, seed, &start);
}

static barnes_hut_desc describe(const collision_body *bodies, uint32_t count) {
    return (barnes_hut_desc){.world = app_fixture_world(&fixture, 0),
                             .rules = barnes_hut_rules_default(),
                             .bodies = bodies,
                             .count = count};
}

static void run(const barnes_hut_desc *desc, uint32_t steps) {
    bench_error error = {""};
    if (barnes_hut_compare_run(desc, steps, 3, &error))
        fail_msg("variant %d, %u bodies: %s", (int)desc->world.variant, desc->count, error.text);
}

static void run_all(barnes_hut_desc desc, uint32_t steps) {
    for (bench_variant variant = BENCH_CLUMP; variant <= app_fixture_last_variant(); variant++) {
        desc.world.variant = variant;
        run(&desc, steps);
    }
}

static void run_random(uint32_t count, uint32_t seed, double dt, uint32_t steps) {
    collision_body *bodies = calloc(count, sizeof *bodies);
    assert_non_null(bodies);
    make_random(bodies, count, seed);
    barnes_hut_desc desc = describe(bodies, count);
    desc.rules.dt = dt;
    run_all(desc, steps);
    free(bodies);
}

static void test_smallest(void **state) {
    (void)state;
    for (uint32_t count = 1; count < 6; count++) run_random(count, count, 0.2, 20);
}

static void test_middle(void **state) {
    (void)state;
    run_random(64, 1, 0.05, 20);
    run_random(65, 2, 0.2, 20);
    run_random(1000, 3, 0.01, 10);
    run_random(3000, 4, 0.02, 6);
}

/* Everybody moves far in every step: nearly all are taken out and put in again, and walls are
 * hit. */
static void test_wild(void **state) {
    (void)state;
    run_random(700, 5, 1, 12);
}

/* Bodies at the same place, told apart by ids; next to each other down to the last bit; on a
 * lattice; at the corners; with masses far apart. */
static void test_degenerate(void **state) {
    (void)state;
    enum { COUNT = 100 };
    collision_body bodies[COUNT] = {{.mass = 1}};
    barnes_hut_desc desc = describe(bodies, COUNT);
    for (int i = 0; i < COUNT; i++) bodies[i] = (collision_body){.x = 0.25f, .y = -0.5f, .mass = 1};
    run_all(desc, 4);
    for (int i = 0; i < COUNT; i++) bodies[i].x = 1 - (float)i * 0x1p-24f;
    run_all(desc, 4);
    for (int i = 0; i < COUNT; i++) {
        bodies[i] = (collision_body){.x = (float)(i % 10) * 0.125f - 0.5f,
                                     .y = (float)(i / 10) * 0.125f - 0.5f,
                                     .vx = (float)(i % 3) * 0.25f,
                                     .mass = 1};
    }
    run_all(desc, 8);
    for (int i = 0; i < COUNT; i++) {
        bodies[i] = (collision_body){.x = i & 1 ? 1 : -1, .y = i & 2 ? 1 : -1, .vy = 3, .mass = 2};
    }
    run_all(desc, 8);
    make_random(bodies, COUNT, 6);
    for (int i = 0; i < COUNT; i++) bodies[i].mass = i % 10 == 0 ? 1e18f : 1e-18f;
    run_all(desc, 8);
}

/* All fly to the middle and into few cells within a step: long chains in single slots. */
static void test_crowd(void **state) {
    (void)state;
    enum { COUNT = 500 };
    collision_body bodies[COUNT];
    make_random(bodies, COUNT, 7);
    for (int i = 0; i < COUNT; i++) {
        bodies[i].vx = (0.001f * (float)(i % 20) - bodies[i].x) * 10;
        bodies[i].vy = (0.001f * (float)(i / 20) - bodies[i].y) * 10;
    }
    barnes_hut_desc desc = describe(bodies, COUNT);
    desc.rules.dt = 0.1;
    run_all(desc, 3);
}

/* How far cells are opened changes all sums. */
static void test_theta(void **state) {
    (void)state;
    static const double thetas[] = {0.05, 0.3, BARNES_HUT_THETA_MAX};
    collision_body bodies[300];
    make_random(bodies, 300, 8);
    barnes_hut_desc desc = describe(bodies, 300);
    for (size_t i = 0; i < sizeof thetas / sizeof *thetas; i++) {
        desc.rules.theta = thetas[i];
        run_all(desc, 5);
    }
}

/* The rules of preset=dynasoar: cells are points from a fixed distance on, in double precision and
 * with the damped law; and each of these alone. The bodies are slow there, so that one step is like
 * the next: faster ones move through the tree. */
static void test_rules(void **state) {
    (void)state;
    static const double openings[] = {0, 0.25, 0.9, 0.01};
    collision_body bodies[700];
    make_random(bodies, 700, 42);
    barnes_hut_desc desc = describe(bodies, 700);
    desc.rules.dt = 0.05;
    int has_doubles = barnes_hut_has_doubles(desc.world.device);
    for (unsigned rules = 0; rules < 16; rules++) {
        desc.rules.opening = openings[rules & 3];
        desc.rules.is_precise = has_doubles && rules >> 2 & 1;
        desc.rules.law = rules >> 3 ? COLLISION_DAMPED : COLLISION_PLUMMER;
        run_all(desc, 5);
    }
    const collision_start start = {
        .extent = 0.99, .speed = 0.0005, .mass_min = 500, .mass_max = 1000};
    collision_make_random(bodies, 700, 42, &start);
    desc.rules = (barnes_hut_rules){.dt = 0.0075,
                                    .gravity_constant = 6.673e-11,
                                    .softening = 0.22360679774997896,
                                    .law = COLLISION_DAMPED,
                                    .opening = 0.25,
                                    .is_precise = has_doubles};
    run_all(desc, 10);
}

/* Objects move between steps, the root too; the tree must not notice. */
static void test_compacted(void **state) {
    (void)state;
    static const bench_merge merge = {.factor = 3};
    static const clump_compact_desc ways[] = {
        {.size = sizeof(clump_compact_desc)},
        {.size = sizeof(clump_compact_desc)}, /* by merging */
        {.size = sizeof(clump_compact_desc), .order = CLUMP_ORDER_ADDRESS},
        {.size = sizeof(clump_compact_desc), .order = CLUMP_ORDER_FIELD}, /* by Morton code */
    };
    collision_body bodies[600];
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        clump_compactor_desc compaction = {
            .size = sizeof compaction, .compact = &ways[i], .every = 2};
        make_random(bodies, 600, 9 + (uint32_t)i);
        barnes_hut_desc desc = describe(bodies, 600);
        desc.rules.dt = 0.05;
        desc.world.compaction = &compaction;
        desc.world.merge = i == 1 ? &merge : NULL;
        run(&desc, 12);
    }
}

static uint32_t count_blocks(barnes_hut_desc desc, clump_compact_order order) {
    clump_compactor_desc compaction = {
        .size = sizeof compaction,
        .compact = &(clump_compact_desc){.size = sizeof(clump_compact_desc), .order = order},
        .every = 1};
    bench_error error = {""};
    bench_world world;
    clump_heap_stats stats = {.size = sizeof stats};
    desc.world.compaction = &compaction;
    if (barnes_hut_world_create(&desc, &world, &error)) fail_msg("%s", error.text);
    CHECK_OK(&fixture, clump_heap_read_stats(bench_world_heap(&world), &stats, NULL, 0));
    bench_world_destroy(&world);
    return stats.blocks;
}

/* An order moves all objects of a class into free blocks: a heap of default size has them. */
static void test_room_for_order(void **state) {
    (void)state;
    collision_body bodies[100];
    make_random(bodies, 100, 15);
    barnes_hut_desc desc = describe(bodies, 100);
    uint32_t any = count_blocks(desc, CLUMP_ORDER_ANY);
    assert_true(count_blocks(desc, CLUMP_ORDER_ADDRESS) >= 2 * any - 1);
}

/* Memory that runs out is said, not waited for: at the start, and while a tree grows. */
static void test_no_memory(void **state) {
    (void)state;
    bench_error error = {""};
    collision_body bodies[2000];
    bench_world world;
    make_random(bodies, 2000, 10);
    barnes_hut_desc desc = describe(bodies, 2000);
    desc.nodes = 100;
    desc.world.variant = BENCH_SOA;
    assert_int_equal(barnes_hut_world_create(&desc, &world, &error), -1);
    assert_string_equal(error.text, "100 nodes are too few for 2000 bodies as they lie; give more");
    desc.world.variant = BENCH_CLUMP;
    /* Not even enough for the bodies; enough for them, but not for the nodes. On GPUs metadata take
     * so much that the first is none for the heap either, and where the second is, depends on the
     * device. */
    desc.world.heap_bytes = 60000;
    assert_int_equal(barnes_hut_world_create(&desc, &world, &error), -1);
    assert_true(strstr(error.text, "of 2000 objects of Body") ||
                strstr(error.text, "a heap of 60000 bytes is too small"));
    int is_short_of_nodes = 0;
    for (desc.world.heap_bytes = 150000; barnes_hut_world_create(&desc, &world, &error);
         desc.world.heap_bytes += 30000) {
        is_short_of_nodes |= strstr(error.text, "for class TreeNode") != NULL;
        assert_true(desc.world.heap_bytes < 8000000);
    }
    bench_world_destroy(&world);
    assert_true(is_short_of_nodes);
    /* Four bodies need one node at first, and a chain of nodes when two of them meet. */
    for (int i = 0; i < 4; i++) {
        bodies[i] =
            (collision_body){.x = i & 1 ? 0.53f : -0.53f, .y = i & 2 ? 0.53f : -0.53f, .mass = 1};
    }
    bodies[0].vx = 106.001f; /* to 1e-5 beside the next */
    desc.world.variant = BENCH_AOS;
    desc.count = 4;
    desc.nodes = 4;
    desc.rules.gravity = 0;
    assert_int_equal(barnes_hut_world_create(&desc, &world, &error), 0);
    assert_int_equal(bench_world_step(&world, &error), 0);
    assert_int_equal(bench_world_finish(&world, &error), -1);
    assert_int_equal(bench_world_step(&world, &error), 0); /* who is outside does no harm */
    assert_int_equal(bench_world_finish(&world, &error), -1);
    bench_world_destroy(&world);
}

static void test_refused(void **state) {
    (void)state;
    bench_error error = {""};
    bench_world world;
    collision_body body = {.mass = 1};
    barnes_hut_desc desc = describe(&body, 0);
    assert_int_equal(barnes_hut_world_create(&desc, &world, &error), -1);
    assert_non_null(strstr(error.text, "1 to 4194304 bodies, not 0"));
    desc.count = 1;
    desc.rules.theta = 0.8;
    assert_int_equal(barnes_hut_world_create(&desc, &world, &error), -1);
    assert_non_null(strstr(error.text, "at most 0.7, not 0.8"));
}

/* The damped law, and how far a fixed opening is off: if all cells are opened, not at all. */
static void test_opening(void **state) {
    (void)state;
    bench_error error = {""};
    collision_body bodies[2000];
    double difference = 1;
    make_random(bodies, 2000, 11);
    barnes_hut_rules rules = barnes_hut_rules_default();
    rules.law = COLLISION_DAMPED;
    rules.softening = 0.22360679774997896;
    rules.opening = 3; /* all cells are opened */
    rules.is_precise = 1;
    assert_int_equal(barnes_hut_measure_error(&rules, bodies, 2000, &difference, &error), 0);
    assert_true(difference < 1e-6);
    rules.opening = 0.25;
    assert_int_equal(barnes_hut_measure_error(&rules, bodies, 2000, &difference, &error), 0);
    if (!(difference >= 0.13 && difference <= 0.15)) fail_msg("forces are off by %g", difference);
}

/* Against the sum over all pairs: near it, but not so near that no cell was taken for a point. */
static void test_accuracy(void **state) {
    (void)state;
    static const double thetas[] = {0.05, 0.3, 0.5, BARNES_HUT_THETA_MAX};
    bench_error error = {""};
    double difference = 0;
    collision_body bodies[2000];
    for (uint32_t seed = 11; seed < 14; seed++) {
        make_random(bodies, 2000, seed);
        for (size_t i = 0; i < sizeof thetas / sizeof *thetas; i++) {
            barnes_hut_rules rules = barnes_hut_rules_default();
            rules.theta = thetas[i];
            assert_int_equal(barnes_hut_measure_error(&rules, bodies, 2000, &difference, &error),
                             0);
            double most = BARNES_HUT_ERROR_MOST(rules.theta), least = most / 20;
            if (!(difference >= least && difference <= most))
                fail_msg("theta %g, seed %u: forces are off by %g", rules.theta, seed, difference);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_smallest),  cmocka_unit_test(test_middle),
        cmocka_unit_test(test_wild),      cmocka_unit_test(test_degenerate),
        cmocka_unit_test(test_crowd),     cmocka_unit_test(test_theta),
        cmocka_unit_test(test_compacted), cmocka_unit_test(test_room_for_order),
        cmocka_unit_test(test_no_memory), cmocka_unit_test(test_refused),
        cmocka_unit_test(test_accuracy),  cmocka_unit_test(test_rules),
        cmocka_unit_test(test_opening),
    };
    return APP_FIXTURE_RUN("barnes-hut", &fixture, tests);
}
