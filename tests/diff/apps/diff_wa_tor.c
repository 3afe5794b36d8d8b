/* Wa-Tor on the heap and in plain OpenCL against Wa-Tor in sequential C: every cell and the heap's
 * invariants after every step. The rules are those of the benchmark, and so is the code.
 *
 * Read first: bench/apps/wa-tor/world.h.
 */
#include "app_fixture.h"
#include "bench/apps/wa-tor/world.h"

static cl_fixture fixture;

static const char *const variants[] = {
    [BENCH_CLUMP] = "clump", [BENCH_SOA] = "soa", [BENCH_AOS] = "aos"};

/* A heap of one size: kernels are compiled for it. */
static wa_tor_desc describe(uint32_t width, uint32_t height, uint32_t seed) {
    wa_tor_desc desc = {.world = app_fixture_world(&fixture, 10 << 20),
                        .rules = wa_tor_rules_default()};
    desc.rules.width = width;
    desc.rules.height = height;
    desc.rules.seed = seed;
    return desc;
}

/* Returns the moves of compaction. */
static uint64_t run(const wa_tor_desc *desc, uint32_t steps) {
    uint64_t moves = 0;
    bench_error error = {""};
    if (wa_tor_compare_run(desc, steps, 1, &moves, &error))
        fail_msg("%s, %u x %u, seed %u, block_rows %u: %s", variants[desc->world.variant],
                 desc->rules.width, desc->rules.height, desc->rules.seed, desc->world.block_rows,
                 error.text);
    return moves;
}

static void run_all(wa_tor_desc desc, uint32_t steps) {
    const size_t count = app_fixture_last_variant() + 1;
    for (size_t i = 0; i < count; i++) {
        desc.world.variant = (bench_variant)i;
        run(&desc, steps);
    }
}

static void test_smallest(void **state) {
    (void)state;
    for (uint32_t seed = 1; seed < 4; seed++) run_all(describe(8, 8, seed), 60);
}

/* Where a cell is its own neighbour, or the same one twice. */
static void test_narrow(void **state) {
    (void)state;
    run_all(describe(1, 1, 1), 5);
    run_all(describe(1, 40, 1), 40);
    run_all(describe(70, 2, 2), 40);
}

static void test_middle(void **state) {
    (void)state;
    run_all(describe(37, 53, 5), 100);
    run_all(describe(37, 53, 6), 100);
    run_all(describe(128, 96, 7), 60);
}

/* And a heap of the size that the world asks for. */
static void test_wide_blocks(void **state) {
    (void)state;
    wa_tor_desc desc = describe(200, 130, 8);
    desc.world.heap_bytes = 0;
    desc.world.block_rows = 16;
    run(&desc, 40);
}

/* The sharks starve, and the fish take the world. */
static void test_few_fish(void **state) {
    (void)state;
    wa_tor_desc desc = describe(40, 25, 42);
    desc.rules.fish_permille = 20;
    desc.rules.shark_permille = 300;
    run_all(desc, 120);
}

/* The rules of preset=dynasoar, in small: the leaner objects, those of DynaSOAr's program and the
 * baselines. Newborns whose timer is drawn below 0 spawn at their first move, so there are more
 * births than with timers from 0. */
static void test_dynasoar(void **state) {
    (void)state;
    wa_tor_desc desc = describe(64, 80, 42);
    desc.rules.fish_permille = desc.rules.shark_permille = 250;
    desc.rules.shark_spawn = desc.rules.shark_gain = 4;
    desc.rules.shark_energy = 2;
    desc.rules.has_drawn_timers = 1;
    run_all(desc, 120);
    desc.world.variant = BENCH_CLUMP;
    desc.is_dynasoar_model = 1;
    run(&desc, 120);
    desc.rules.has_drawn_timers = 0;
    run(&desc, 40);
}

/* Cells that are their own neighbours, in the objects of DynaSOAr's program; and agents that are
 * sorted by their cells, to which they refer there. */
static void test_dynasoar_model(void **state) {
    (void)state;
    static const char *const agents[] = {"Agent"};
    static const uint32_t sizes[][2] = {{1, 1}, {1, 40}, {70, 2}};
    clump_compactor_desc compaction = {
        .size = sizeof compaction,
        .compact = &(clump_compact_desc){.size = sizeof(clump_compact_desc),
                                         .classes = agents,
                                         .class_count = 1,
                                         .order = CLUMP_ORDER_FIELD,
                                         .order_field = "position"},
        .every = 3};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        wa_tor_desc desc = describe(sizes[i][0], sizes[i][1], 1 + (uint32_t)i);
        desc.is_dynasoar_model = 1;
        run(&desc, 40);
    }
    wa_tor_desc desc = describe(90, 70, 14);
    desc.is_dynasoar_model = 1;
    desc.world.compaction = &compaction;
    if (run(&desc, 60) == 0) fail_msg("nothing moved; the test shows nothing");
}

/* Objects move between steps; the world must not notice. */
static void test_compacted(void **state) {
    (void)state;
    static const char *const agents[] = {"Agent"};
    static const bench_merge merge = {.factor = 5};
    static const clump_compact_desc ways[] = {
        {.size = sizeof(clump_compact_desc)},
        {.size = sizeof(clump_compact_desc)}, /* by merging */
        {.size = sizeof(clump_compact_desc),
         .classes = agents,
         .class_count = 1,
         .order = CLUMP_ORDER_FIELD,
         .order_field = "position"},
    };
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        clump_compactor_desc compaction = {
            .size = sizeof compaction, .compact = &ways[i], .every = 3};
        wa_tor_desc desc = describe(90, 70, 11 + (uint32_t)i);
        desc.world.compaction = &compaction;
        desc.world.merge = i == 1 ? &merge : NULL;
        if (run(&desc, 60) == 0) fail_msg("way %zu moved nothing; the test shows nothing", i);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_smallest),
        cmocka_unit_test(test_narrow),
        cmocka_unit_test(test_few_fish),
        cmocka_unit_test(test_compacted),
    };
    const struct CMUnitTest all[] = {
        cmocka_unit_test(test_smallest), cmocka_unit_test(test_narrow),
        cmocka_unit_test(test_few_fish), cmocka_unit_test(test_compacted),
        cmocka_unit_test(test_middle),   cmocka_unit_test(test_wide_blocks),
        cmocka_unit_test(test_dynasoar), cmocka_unit_test(test_dynasoar_model),
    };
    if (cl_fixture_is_whole()) return APP_FIXTURE_RUN("wa-tor", &fixture, all);
    return APP_FIXTURE_RUN("wa-tor", &fixture, tests);
}
