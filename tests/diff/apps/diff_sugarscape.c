/* Sugarscape on the heap and merged into a grid against sequential C: every cell and every agent
 * after every step. The rules are those of the benchmark, and so is the code.
 *
 * Read first: bench/apps/sugarscape/world.h.
 */
#include <stdlib.h>
#include <string.h>

#include "app_fixture.h"
#include "bench/apps/sugarscape/world.h"

static cl_fixture fixture;

/* All heaps are of one size, so that they have one geometry, for which kernels are compiled
 * once. */
static sugarscape_desc describe(uint32_t width, uint32_t height, uint32_t seed) {
    sugarscape_desc desc = {.world = app_fixture_world(&fixture, 8u << 20),
                            .rules = sugarscape_rules_default()};
    desc.rules.width = width;
    desc.rules.height = height;
    desc.rules.seed = seed;
    return desc;
}

static void run(sugarscape_desc desc, uint32_t steps) {
    bench_error error = {""};
    assert_int_equal(sugarscape_rules_finish(&desc.rules, &error), 0);
    if (sugarscape_compare_run(&desc, steps, 10, &error))
        fail_msg("variant %d, %u x %u, seed %u: %s", (int)desc.world.variant, desc.rules.width,
                 desc.rules.height, desc.rules.seed, error.text);
}

static void run_all(sugarscape_desc desc, uint32_t steps) {
    for (bench_variant variant = BENCH_CLUMP; variant <= app_fixture_last_variant(); variant++) {
        desc.world.variant = variant;
        run(desc, steps);
    }
}

/* The reference after some steps. */
static sugarscape_census find_census(sugarscape_rules rules, uint32_t steps) {
    bench_error error = {""};
    bench_world world;
    assert_int_equal(sugarscape_rules_finish(&rules, &error), 0);
    sugarscape_desc desc = {.world = {.variant = BENCH_SEQUENTIAL}, .rules = rules};
    size_t cells = sugarscape_cells(&rules);
    sugarscape_state *states = calloc(cells, sizeof *states);
    assert_non_null(states);
    assert_int_equal(sugarscape_world_create(&desc, &world, &error), 0);
    for (uint32_t i = 0; i < steps; i++) assert_int_equal(bench_world_step(&world, &error), 0);
    assert_int_equal(bench_world_read(&world, states, &error), 0);
    sugarscape_census census = sugarscape_count(states, cells);
    free(states);
    bench_world_destroy(&world);
    return census;
}

/* ---- What the reference itself must hold to -------------------------------------------------- */

/* Without agents and growth, sugar flows and none is lost, not even at the walls. */
static void test_sugar_stays(void **state) {
    (void)state;
    sugarscape_rules rules = sugarscape_rules_default();
    rules.width = 37;
    rules.height = 29;
    rules.male_permille = rules.female_permille = rules.source_permille = 0;
    sugarscape_census first = find_census(rules, 0), last = find_census(rules, 100);
    assert_true(first.cell_sugar > 0);
    assert_int_equal(first.cell_sugar, last.cell_sugar);
}

/* All the sugar that grows is in the cells or was eaten; none comes from nowhere. */
static void test_growth(void **state) {
    (void)state;
    sugarscape_rules rules = sugarscape_rules_default();
    rules.width = 41;
    rules.height = 23;
    rules.male_permille = rules.female_permille = 0;
    rules.source_permille = 1000;
    rules.max_growth = 1;
    sugarscape_census first = find_census(rules, 0), last = find_census(rules, 10);
    assert_int_equal(last.cell_sugar, first.cell_sugar + 10u * 41u * 23u);
    rules.capacity = 0;
    last = find_census(rules, 10);
    assert_int_equal(last.cell_sugar, first.cell_sugar);
}

/* Who has nobody to mate with has no children; all die of age in the end. Hardly anyone dies who
 * needs little and may grow old. */
static void test_lives(void **state) {
    (void)state;
    sugarscape_rules rules = sugarscape_rules_default();
    rules.width = rules.height = 64;
    rules.female_permille = 0;
    sugarscape_census first = find_census(rules, 0), last = find_census(rules, 1);
    assert_true(last.males > 0 && last.males <= first.males && last.females == 0);
    assert_int_equal(find_census(rules, rules.max_age + 1).males, 0);
    rules.max_age = 10000;
    rules.max_metabolism = 1;
    last = find_census(rules, 50);
    assert_true(last.males <= first.males && last.males > first.males * 9 / 10);
    rules.female_permille = 150;
    rules.male_permille = 0;
    assert_int_equal(find_census(rules, 50).males, 0);
}

/* Families end with the last child that is allowed, and there are children at all. */
static void test_children(void **state) {
    (void)state;
    sugarscape_rules rules = sugarscape_rules_default();
    rules.width = rules.height = 64;
    rules.max_age = 10000;
    rules.mating_age = 0;
    rules.max_metabolism = 1;
    rules.max_children = 1;
    sugarscape_census first = find_census(rules, 0), last = find_census(rules, 40);
    uint64_t before = first.males + first.females, after = last.males + last.females;
    assert_true(after > before + first.females / 2);
    rules.mating_age = 65000;
    last = find_census(rules, 40);
    assert_true(last.males + last.females <= before);
}

/* What sugarscape_rules has under DynaSOAr's rules, in its set-up. */
static void set_dynasoar(sugarscape_rules *rules) {
    rules->is_dynasoar = 1;
    rules->source_permille = 80;
    rules->diffusion = 3;
    rules->max_diffusion = 60;
}

/* Under DynaSOAr's rules: a quarter of the sources grows 50, a quarter 25, the others 12; of small
 * sugar an eighth is lost, as an eighth of that is nothing; and of much more is made than given. */
static void test_dynasoar_sugar(void **state) {
    (void)state;
    sugarscape_rules rules = sugarscape_rules_default();
    set_dynasoar(&rules);
    rules.width = rules.height = 200;
    rules.male_permille = rules.female_permille = 0;
    rules.source_permille = 1000;
    uint64_t cells = 200 * 200, sugar = find_census(rules, 1).cell_sugar;
    assert_int_equal(find_census(rules, 0).cell_sugar, 0);
    assert_in_range(sugar, cells * 21, cells * 23); /* 44 / 4 + 22 / 4 + 11 / 2 */
    rules.max_growth = 255;
    sugar = find_census(rules, 20).cell_sugar;
    assert_true(sugar > cells * 20 * (255 + 127 + 2 * 63) / 4);
    rules.capacity = 0;
    assert_int_equal(find_census(rules, 20).cell_sugar, 0);
}

/* All are born now and live to at least two thirds of the greatest age if they need little, and
 * nobody has a child before the mating age. */
static void test_dynasoar_lives(void **state) {
    (void)state;
    sugarscape_rules rules = sugarscape_rules_default();
    set_dynasoar(&rules);
    rules.width = rules.height = 100;
    rules.source_permille = 1000;
    rules.max_metabolism = 3;
    sugarscape_census first = find_census(rules, 0), last = find_census(rules, 21);
    assert_in_range(first.males + first.females, 2500, 2900);
    assert_true(last.males == first.males && last.females == first.females);
    last = find_census(rules, 30);
    assert_true(last.males + last.females > first.males + first.females + first.females / 2);
    rules.female_permille = 0;
    assert_int_equal(find_census(rules, 66).males, first.males);
    assert_int_equal(find_census(rules, 99).males, 0);
}

/* ---- The variants ---------------------------------------------------------------------------- */

static void test_smallest(void **state) {
    (void)state;
    run_all(describe(1, 1, 1), 5);
    run_all(describe(1, 9, 2), 10);
    run_all(describe(61, 2, 3), 30);
    for (uint32_t seed = 4; seed < 7; seed++) run_all(describe(8, 8, seed), 40);
}

static void test_middle(void **state) {
    (void)state;
    run_all(describe(60, 53, 7), 80); /* the frame ends a row of 64 */
    run_all(describe(67, 41, 8), 80);
    run_all(describe(130, 96, 9), 40);
}

/* Births wherever there is room, so that requests collide; and plenty of equal choices. */
static void test_crowded(void **state) {
    (void)state;
    sugarscape_desc desc = describe(50, 50, 10);
    desc.rules.male_permille = 500;
    desc.rules.female_permille = 450;
    desc.rules.mating_age = 0;
    desc.rules.max_children = 255;
    desc.rules.max_growth = 255;
    desc.rules.source_permille = 1000;
    run_all(desc, 40);
    desc.rules.diffusion = 3;
    desc.rules.max_diffusion = 255;
    run_all(desc, 20);
}

static void test_vision(void **state) {
    (void)state;
    sugarscape_desc desc = describe(45, 33, 12);
    desc.rules.max_vision = 1;
    run_all(desc, 30);
    desc.rules.max_vision = SUGARSCAPE_VISION_MAX;
    run_all(desc, 30);
}

/* Objects move between steps; the world must not notice. */
static void test_compacted(void **state) {
    (void)state;
    static const bench_merge merge = {.factor = 4};
    static const clump_compact_desc ways[] = {
        {.size = sizeof(clump_compact_desc)},
        {.size = sizeof(clump_compact_desc)}, /* by merging */
        {.size = sizeof(clump_compact_desc), .order = CLUMP_ORDER_FIELD, .order_field = "position"},
    };
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        clump_compactor_desc compaction = {
            .size = sizeof compaction, .compact = &ways[i], .every = 3};
        sugarscape_desc desc = describe(90, 70, 20 + (uint32_t)i);
        desc.world.compaction = &compaction;
        desc.world.merge = i == 1 ? &merge : NULL;
        run(desc, 60);
    }
}

/* DynaSOAr's rules with our objects, with those of its program, and in arrays. */
static void test_dynasoar(void **state) {
    (void)state;
    static const uint32_t sizes[][2] = {{1, 1}, {9, 1}, {61, 37}, {67, 41}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        sugarscape_desc desc = describe(sizes[i][0], sizes[i][1], 30 + (uint32_t)i);
        set_dynasoar(&desc.rules);
        if (i == 2) { /* crowded, and they see farther */
            desc.rules.male_permille = 450;
            desc.rules.female_permille = 500;
            desc.rules.mating_age = 0;
            desc.rules.max_vision = 5;
            desc.rules.source_permille = 1000;
        }
        run_all(desc, i < 2 ? 10 : 60);
        desc.world.variant = BENCH_CLUMP;
        desc.is_dynasoar_model = 1;
        run(desc, i < 2 ? 10 : 60);
    }
}

static void test_dynasoar_compacted(void **state) {
    (void)state;
    clump_compactor_desc compaction = {
        .size = sizeof compaction,
        .compact = &(clump_compact_desc){.size = sizeof(clump_compact_desc),
                                         .order = CLUMP_ORDER_FIELD,
                                         .order_field = "position"},
        .every = 3};
    sugarscape_desc desc = describe(60, 50, 40);
    set_dynasoar(&desc.rules);
    desc.rules.source_permille = 500;
    desc.world.compaction = &compaction;
    run(desc, 40);
    desc.is_dynasoar_model = 1;
    run(desc, 40);
}

/* ---- What is wrong --------------------------------------------------------------------------- */

static void test_wrong_rules(void **state) {
    (void)state;
    static const struct {
        size_t field;
        uint32_t value;
        const char *words;
    } faults[] = {
#define FAULT(field, value, words) {offsetof(sugarscape_rules, field), value, words}
        FAULT(width, 0, "width must be 1 to 65535, not 0"),
        FAULT(height, 65536, "height must be 1 to 65535, not 65536"),
        FAULT(male_permille, 900, "males and females together must be 0 to 1000, not 1050"),
        FAULT(max_vision, 8, "max_vision must be 1 to 7, not 8"),
        FAULT(max_age, 0, "max_age must be"),
        FAULT(max_metabolism, 65536, "max_metabolism must be"),
        FAULT(diffusion, 2, "diffusion must be 3 to 31, not 2"),
    };
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        bench_error error = {""};
        sugarscape_rules rules = sugarscape_rules_default();
        memcpy((char *)&rules + faults[i].field, &faults[i].value, sizeof faults[i].value);
        assert_int_equal(sugarscape_rules_finish(&rules, &error), -1);
        if (!strstr(error.text, faults[i].words))
            fail_msg("fault %zu is reported as '%s'", i, error.text);
    }
    bench_error error = {""};
    sugarscape_rules rules = sugarscape_rules_default();
    rules.width = rules.height = 60000;
    assert_int_equal(sugarscape_rules_finish(&rules, &error), -1);
    assert_non_null(strstr(error.text, "more than 2^27"));
}

/* Heaps that are too small for the cells, for the first agents, and for their children. */
static void test_full_heap(void **state) {
    (void)state;
    static const struct {
        uint32_t width, females;
        const char *words;
    } heaps[] = {
        {800, 0, "objects of Cell"}, {500, 900, "objects of Female"}, {500, 20, "no slot"}};
    for (size_t i = 0; i < sizeof heaps / sizeof *heaps; i++) {
        bench_error error = {""};
        bench_world world;
        sugarscape_desc desc = describe(heaps[i].width, 500, 1);
        desc.rules.male_permille = 20;
        desc.rules.female_permille = heaps[i].females;
        desc.rules.mating_age = 0;
        desc.rules.source_permille = 1000;
        assert_int_equal(sugarscape_rules_finish(&desc.rules, &error), 0);
        int result = sugarscape_world_create(&desc, &world, &error);
        assert_int_equal(result, i < 2 ? -1 : 0);
        for (int step = 0; result == 0 && step < 50; step++) {
            result = bench_world_step(&world, &error);
            if (result == 0) result = bench_world_finish(&world, &error);
        }
        assert_int_equal(result, -1);
        if (!strstr(error.text, heaps[i].words))
            fail_msg("heap %zu is reported as '%s'", i, error.text);
        bench_world_destroy(&world);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sugar_stays),
        cmocka_unit_test(test_growth),
        cmocka_unit_test(test_lives),
        cmocka_unit_test(test_children),
        cmocka_unit_test(test_smallest),
        cmocka_unit_test(test_middle),
        cmocka_unit_test(test_crowded),
        cmocka_unit_test(test_vision),
        cmocka_unit_test(test_compacted),
        cmocka_unit_test(test_wrong_rules),
        cmocka_unit_test(test_full_heap),
        cmocka_unit_test(test_dynasoar_sugar),
        cmocka_unit_test(test_dynasoar_lives),
        cmocka_unit_test(test_dynasoar),
        cmocka_unit_test(test_dynasoar_compacted),
    };
    return APP_FIXTURE_RUN("sugarscape", &fixture, tests);
}
