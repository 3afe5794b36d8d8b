/* Wa-Tor on the heap against Wa-Tor in sequential C: every cell and the heap's invariants after
 * every step. The rules are those of the benchmark, and so is the code.
 *
 * Read first: bench/apps/wa-tor/wa_tor.h.
 */
#include "bench/apps/wa-tor/wa_tor.h"
#include "cl_fixture.h"

static cl_fixture fixture;

static void run(uint32_t width, uint32_t height, uint32_t seed, uint32_t block_rows,
                uint32_t steps) {
    wa_tor_heap_desc desc = {.context = fixture.context,
                             .queue = fixture.queue,
                             .clump = fixture.clump,
                             .rules = wa_tor_rules_default(),
                             .block_rows = block_rows};
    desc.rules.width = width;
    desc.rules.height = height;
    desc.rules.seed = seed;
    bench_error error = {""};
    int result = wa_tor_compare_run(&desc, steps, 1, &error);
    if (result)
        fail_msg("%u x %u, seed %u, block_rows %u: %s", width, height, seed, block_rows,
                 error.text);
}

static void test_smallest(void **state) {
    (void)state;
    for (uint32_t seed = 1; seed < 4; seed++) run(8, 8, seed, 1, 60);
}

static void test_middle(void **state) {
    (void)state;
    run(37, 53, 5, 1, 100);
    run(37, 53, 6, 1, 100);
    run(128, 96, 7, 1, 60);
}

static void test_wide_blocks(void **state) {
    (void)state;
    run(200, 130, 8, 16, 40);
}

static void test_few_fish(void **state) {
    (void)state;
    wa_tor_heap_desc desc = {.context = fixture.context,
                             .queue = fixture.queue,
                             .clump = fixture.clump,
                             .rules = wa_tor_rules_default(),
                             .block_rows = 1};
    desc.rules.width = 40;
    desc.rules.height = 25;
    desc.rules.fish_permille = 20; /* the sharks starve, and the fish take the world */
    desc.rules.shark_permille = 300;
    bench_error error = {""};
    if (wa_tor_compare_run(&desc, 120, 1, &error)) fail_msg("%s", error.text);
}

/* Objects move between steps; the world must not notice. */
static void test_compacted(void **state) {
    (void)state;
    static const char *const agents[] = {"Agent"};
    static const clump_compact_desc ways[] = {
        {0},
        {.strategy = CLUMP_COMPACT_MERGE, .factor = 5},
        {.classes = agents,
         .class_count = 1,
         .order = CLUMP_ORDER_FIELD,
         .order_field = "position"},
    };
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        clump_compactor_desc compaction = {.compact = ways[i], .every = 3};
        wa_tor_heap_desc desc = {.context = fixture.context,
                                 .queue = fixture.queue,
                                 .clump = fixture.clump,
                                 .rules = wa_tor_rules_default(),
                                 .compaction = &compaction,
                                 .block_rows = 1};
        desc.rules.width = 90;
        desc.rules.height = 70;
        desc.rules.seed = 11 + (uint32_t)i;
        bench_error error = {""};
        if (wa_tor_compare_run(&desc, 60, 1, &error)) fail_msg("way %zu: %s", i, error.text);
    }
}

int main(void) {
    int result = cl_fixture_open(&fixture, NULL);
    if (result) return result;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_smallest),    cmocka_unit_test(test_middle),
        cmocka_unit_test(test_wide_blocks), cmocka_unit_test(test_few_fish),
        cmocka_unit_test(test_compacted),
    };
    result = cmocka_run_group_tests_name("wa-tor", tests, NULL, NULL);
    cl_fixture_close(&fixture);
    return result;
}
