/* Colliding bodies on the heap and in arrays against sequential C: every bit of every body after
 * every step. The rules are those of the benchmark, and so is the code.
 *
 * Read first: bench/apps/collision/world.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app_fixture.h"
#include "bench/apps/collision/world.h"

static cl_fixture fixture;

static collision_desc describe(const collision_body *bodies, uint32_t count) {
    return (collision_desc){.world = app_fixture_world(&fixture, 0),
                            .rules = collision_rules_default(),
                            .bodies = bodies,
                            .count = count};
}

static void make_random(collision_body *bodies, uint32_t count, uint32_t seed) {
    const collision_start start = collision_start_default();
    collision_make_random(bodies, count, seed, &start);
}

/* `least` bodies must have merged. Returns the moves of compaction. */
static uint64_t run(const collision_desc *desc, uint32_t steps, uint32_t least) {
    bench_error error = {""};
    uint32_t left = 0;
    uint64_t moves = 0;
    if (collision_compare_run(desc, steps, 5, &left, &moves, &error))
        fail_msg("variant %d, %u bodies: %s", (int)desc->world.variant, desc->count, error.text);
    if (desc->count - left < least)
        fail_msg("variant %d: only %u of %u bodies merged; the test shows nothing",
                 (int)desc->world.variant, desc->count - left, desc->count);
    return moves;
}

static void run_all(collision_desc desc, uint32_t steps, uint32_t least) {
    for (bench_variant variant = BENCH_CLUMP; variant <= app_fixture_last_variant(); variant++) {
        desc.world.variant = variant;
        run(&desc, steps, least);
    }
}

static void run_random(uint32_t count, uint32_t seed, int is_equal, double merge_distance,
                       uint32_t steps, uint32_t least) {
    collision_body *bodies = calloc(count, sizeof *bodies);
    assert_non_null(bodies);
    collision_start start = collision_start_default();
    start.mass_min = is_equal ? start.mass_max : start.mass_min;
    collision_make_random(bodies, count, seed, &start);
    collision_desc desc = describe(bodies, count);
    desc.rules.merge_distance = merge_distance;
    run_all(desc, steps, least);
    free(bodies);
}

static void test_smallest(void **state) {
    (void)state;
    for (uint32_t count = 1; count < 6; count++) run_random(count, count, 0, 0.9, 30, count / 4);
}

static void test_middle(void **state) {
    (void)state;
    run_random(63, 1, 0, 0.05, 40, 10);
    run_random(64, 2, 0, 0.05, 40, 10);
    run_random(333, 3, 0, 0.02, 40, 50);
    run_random(1000, 4, 0, 0.005, 15, 10);
}

/* Ties of mass, decided by id; and merges of nearly all in chains and heaps. */
static void test_crowded(void **state) {
    (void)state;
    run_random(300, 5, 1, 0.02, 40, 50);
    run_random(300, 6, 1, 0.3, 20, 250);
    run_random(500, 7, 0, 0.1, 30, 300);
}

/* Bodies at the same place, on a lattice (equal distances), and with masses far apart. */
static void test_degenerate(void **state) {
    (void)state;
    collision_body bodies[100];
    for (int i = 0; i < 100; i++) {
        bodies[i] = (collision_body){.x = (float)(i % 10) * 0.0625f - 0.25f,
                                     .y = (float)(i / 10) * 0.0625f - 0.25f,
                                     .mass = 1};
    }
    collision_desc desc = describe(bodies, 100);
    desc.rules.merge_distance = 0.07;
    run_all(desc, 20, 50);
    for (int i = 0; i < 100; i++) bodies[i].x = bodies[i].y = 0.25f;
    run_all(desc, 20, 20); /* each is wanted by the one before it: one merge a step */
    for (int i = 0; i < 100; i++) {
        bodies[i].x = (float)i * 0.01f - 0.5f;
        bodies[i].mass = i % 10 == 0 ? 1e18f : 1e-18f;
    }
    run_all(desc, 20, 10);
}

/* All rules that presets choose among, with masses and speeds as in preset=dynasoar: slow, heavy
 * bodies and the raw constant of gravity. The baselines with a work-item for each body, and with
 * four and staged bodies, as on a GPU. */
static void test_rules(void **state) {
    (void)state;
    static const collision_start start = {
        .extent = 1, .speed = 0.0005, .mass_min = 37.5, .mass_max = 75};
    collision_body bodies[700];
    collision_make_random(bodies, 700, 42, &start);
    collision_desc desc = describe(bodies, 700);
    desc.rules = (collision_rules){.dt = 0.05,
                                   .gravity_constant = 6.673e-11,
                                   .softening = 0.22360679774997896,
                                   .merge_distance = 0.05,
                                   .is_merging = 1};
    for (unsigned rules = 0; rules < 8; rules++) {
        desc.rules.law = rules & 1 ? COLLISION_DAMPED : COLLISION_PLUMMER;
        desc.rules.takes_heavier = rules >> 1 & 1;
        desc.rules.takes_first = rules >> 2 & 1;
        desc.parts = rules % 2 ? 1 : 4;
        run_all(desc, 10, 200);
    }
    desc.rules.is_merging = 0;
    run_all(desc, 5, 0);
}

static void test_not_merging(void **state) {
    (void)state;
    collision_body bodies[400];
    make_random(bodies, 400, 8);
    collision_desc desc = describe(bodies, 400);
    desc.rules.is_merging = 0;
    run_all(desc, 30, 0);
}

/* Objects move between steps; the bodies must not notice. */
static void test_compacted(void **state) {
    (void)state;
    static const bench_merge merge = {.factor = 3};
    static const clump_compact_desc ways[] = {
        {.size = sizeof(clump_compact_desc)},
        {.size = sizeof(clump_compact_desc)}, /* by merging */
        {.size = sizeof(clump_compact_desc), .order = CLUMP_ORDER_FIELD, .order_field = "id"},
    };
    collision_body bodies[600];
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        clump_compactor_desc compaction = {
            .size = sizeof compaction, .compact = &ways[i], .every = 2};
        make_random(bodies, 600, 9 + (uint32_t)i);
        collision_desc desc = describe(bodies, 600);
        desc.rules.merge_distance = 0.03;
        desc.world.compaction = &compaction;
        desc.world.merge = i == 1 ? &merge : NULL;
        if (run(&desc, 40, 100) == 0) fail_msg("way %zu moved nothing; the test shows nothing", i);
    }
}

/* What the reference itself must hold to: two bodies become one, mass and momentum stay. */
static void test_one_merge(void **state) {
    (void)state;
    bench_error error = {""};
    collision_body bodies[2] = {{.x = 0.5f, .y = 0.25f, .vx = 1, .mass = 1},
                                {.x = 0.5f, .y = 0.25f, .vy = 2, .mass = 3}};
    collision_desc desc = describe(bodies, 2);
    desc.world.variant = BENCH_SEQUENTIAL;
    desc.rules.gravity = 0;
    desc.rules.merge_distance = 0.1;
    bench_world world;
    collision_body after[2];
    assert_int_equal(collision_world_create(&desc, &world, &error), 0);
    assert_int_equal(bench_world_step(&world, &error), 0);
    assert_int_equal(bench_world_read(&world, after, &error), 0);
    bench_world_destroy(&world);
    assert_true(after[0].mass == 0); /* the lighter one is gone, and the heavier has its id */
    assert_true(after[1].mass == 4);
    assert_float_equal(after[1].vx, 0.25, 1e-6);
    assert_float_equal(after[1].vy, 1.5, 1e-6);
    assert_float_equal(after[1].x, 0.505, 1e-6);
    assert_float_equal(after[1].y, 0.26, 1e-6);
}

/* Two bodies at distance 1/2 pull each other as Newton says. */
static void test_pull(void **state) {
    (void)state;
    bench_error error = {""};
    collision_body bodies[2] = {{.x = -0.25f, .mass = 1}, {.x = 0.25f, .mass = 3}};
    collision_desc desc = describe(bodies, 2);
    desc.world.variant = BENCH_SEQUENTIAL;
    desc.rules.gravity = 4; /* of mass 4: G is 1 */
    desc.rules.softening = 1e-4;
    bench_world world;
    collision_body after[2];
    assert_int_equal(collision_world_create(&desc, &world, &error), 0);
    assert_int_equal(bench_world_step(&world, &error), 0);
    assert_int_equal(bench_world_read(&world, after, &error), 0);
    bench_world_destroy(&world);
    assert_float_equal(after[0].vx, 0.12, 1e-5); /* 3 / (1/2)^2 for dt 0.01 */
    assert_float_equal(after[1].vx, -0.04, 1e-5);
    assert_true(after[0].vy == 0 && after[1].vy == 0);
}

/* A step of two bodies from rest with G = 1 and no damping to speak of. */
static void step_pair(const collision_rules *rules, collision_body after[2]) {
    static const collision_body bodies[2] = {{.x = -0.25f, .mass = 1}, {.x = 0.25f, .mass = 3}};
    bench_error error = {""};
    bench_world world;
    collision_desc desc = describe(bodies, 2);
    desc.world.variant = BENCH_SEQUENTIAL;
    desc.rules = *rules;
    assert_int_equal(collision_world_create(&desc, &world, &error), 0);
    assert_int_equal(bench_world_step(&world, &error), 0);
    assert_int_equal(bench_world_read(&world, after, &error), 0);
    bench_world_destroy(&world);
}

/* The damped law and the raw constant: m / (d^2 + s^2). The heavier body goes into the lighter
 * one. */
static void test_damped(void **state) {
    (void)state;
    collision_body after[2];
    collision_rules rules = {.dt = 0.01,
                             .gravity_constant = 2,
                             .softening = 0.5,
                             .law = COLLISION_DAMPED,
                             .merge_distance = 0.6};
    step_pair(&rules, after);
    assert_float_equal(after[0].vx, 0.12, 1e-5); /* 0.01 * 2 * 3 / (1/4 + 1/4) */
    assert_float_equal(after[1].vx, -0.04, 1e-5);
    rules.is_merging = rules.takes_heavier = 1;
    step_pair(&rules, after);
    assert_true(after[0].mass == 4 && after[1].mass == 0);
    rules.takes_heavier = 0;
    step_pair(&rules, after);
    assert_true(after[0].mass == 0 && after[1].mass == 4);
}

/* Of two that may be taken in, one is nearer and the other was made first. */
static void test_choice(void **state) {
    (void)state;
    static const collision_body bodies[3] = {
        {.x = 0.2f, .mass = 1}, {.x = 0.1f, .mass = 1}, {.x = 0, .mass = 3}};
    bench_error error = {""};
    for (int is_first = 0; is_first < 2; is_first++) {
        bench_world world;
        collision_body after[3];
        collision_desc desc = describe(bodies, 3);
        desc.world.variant = BENCH_SEQUENTIAL;
        desc.rules.gravity = 0;
        desc.rules.merge_distance = 0.3;
        desc.rules.takes_first = is_first;
        assert_int_equal(collision_world_create(&desc, &world, &error), 0);
        assert_int_equal(bench_world_step(&world, &error), 0);
        assert_int_equal(bench_world_read(&world, after, &error), 0);
        bench_world_destroy(&world);
        assert_true(after[0].mass == (is_first ? 0.0f : 1.0f));
        assert_true(after[1].mass == (is_first ? 1.0f : 0.0f));
        assert_true(after[2].mass == 4);
    }
}

/* A file of first states, and what is said of lines that are wrong. */
static int read_text(const char *text, collision_body **bodies, uint32_t *count,
                     bench_error *error) {
    char path[] = "diff_collision.XXXXXX";
    app_fixture_write_text(path, text);
    int result = collision_read_csv(path, bodies, count, error);
    remove(path);
    return result;
}

static void test_input(void **state) {
    (void)state;
    static const struct {
        const char *text, *words;
    } faults[] = {
        {"", "has no bodies"},
        {"0,0,0,0,1\n0,0,0,0\n", "line 2: there must be five numbers"},
        {"0,0,0,0,1,2\n", "line 1: there must be five numbers"},
        {"# c\n0,0,0,x,1\n", "line 2: there must be five numbers"},
        {"0,-1.5,0,0,1\n", "x and y must lie between"},
        {"0,0,nan,0,1\n", "vx and vy must lie between"},
        {"0,0,0,0,0\n", "the mass must lie between"},
    };
    bench_error error = {""};
    collision_body *bodies;
    uint32_t count;
    assert_int_equal(
        read_text("x,y,vx,vy,mass\n\n# c\n-1,0.5, 2,-3e1 ,4\r\n0,0,0,0,1", &bodies, &count, &error),
        0);
    assert_int_equal(count, 2);
    assert_true(bodies[0].x == -1 && bodies[0].y == 0.5f && bodies[0].vx == 2);
    assert_true(bodies[0].vy == -30 && bodies[0].mass == 4 && bodies[1].mass == 1);
    free(bodies);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        assert_int_equal(read_text(faults[i].text, &bodies, &count, &error), -1);
        assert_null(bodies);
        if (!strstr(error.text, faults[i].words))
            fail_msg("fault %zu is reported as '%s'", i, error.text);
    }
    assert_int_equal(collision_read_csv("no/such/file.csv", &bodies, &count, &error), -1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_merge),   cmocka_unit_test(test_pull),
        cmocka_unit_test(test_smallest),    cmocka_unit_test(test_middle),
        cmocka_unit_test(test_crowded),     cmocka_unit_test(test_degenerate),
        cmocka_unit_test(test_not_merging), cmocka_unit_test(test_compacted),
        cmocka_unit_test(test_input),       cmocka_unit_test(test_rules),
        cmocka_unit_test(test_damped),      cmocka_unit_test(test_choice),
    };
    return APP_FIXTURE_RUN("collision", &fixture, tests);
}
