/* The Game of Life and a generational automaton on the heap, as a grid, and in sequential C twice:
 * every cell, every agent, and the heap's invariants. The code is that of the benchmark. Then what
 * its patterns are read from, well-formed and not.
 *
 * Read first: bench/apps/game-of-life/world.h, pattern.h.
 */
#include <stdlib.h>
#include <string.h>

#include "app_fixture.h"
#include "bench/apps/game-of-life/pattern.h"
#include "bench/apps/game-of-life/world.h"

#define PATTERNS CLUMP_SOURCE_DIR "/bench/apps/game-of-life/patterns/"

static cl_fixture fixture;

/* NOLINTNEXTLINE(readability-non-const-parameter): callers fill the codes afterwards. */
static life_desc get_desc(uint32_t width, uint32_t height, const char *rule, life_code *codes) {
    life_desc desc = {.world = app_fixture_world(&fixture, 0),
                      .rules = {.width = width, .height = height},
                      .codes = codes};
    bench_error error;
    if (life_rule_parse(rule, &desc.rules, &error)) fail_msg("%s", error.text);
    return desc;
}

/* All variants, or that on the heap. */
static void run(life_desc desc, uint32_t steps, uint32_t check_every, life_code *last) {
    static const bench_variant variants[] = {BENCH_CLUMP, BENCH_SOA, BENCH_SEQUENTIAL};
    const size_t count = cl_fixture_is_whole() ? sizeof variants / sizeof *variants : 1;
    for (size_t i = 0; i < count; i++) {
        bench_error error = {""};
        desc.world.variant = variants[i];
        if (life_compare_run(&desc, steps, check_every, last, &error))
            fail_msg("variant %d, %u x %u: %s", (int)variants[i], desc.rules.width,
                     desc.rules.height, error.text);
    }
}

static void run_random(uint32_t width, uint32_t height, const char *rule, uint32_t seed,
                       uint32_t permille, uint32_t steps) {
    life_code *codes = malloc((size_t)width * height * sizeof *codes);
    life_desc desc = get_desc(width, height, rule, codes);
    life_fill(&desc.rules, seed, permille, codes);
    run(desc, steps, 1, NULL);
    free(codes);
}

/* Worlds of one cell, row or column, and rows that are no multiple of a word. */
static void test_edges(void **state) {
    (void)state;
    static const uint32_t sizes[][2] = {{1, 1}, {1, 9}, {9, 1}, {2, 2}, {3, 5}, {4, 4}, {5, 3}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        run_random(sizes[i][0], sizes[i][1], "23/3", 3, 600, 8);
}

static void test_random_worlds(void **state) {
    (void)state;
    run_random(64, 64, "23/3", 1, 300, 100);
    run_random(67, 43, "23/3", 2, 500, 100);
    run_random(130, 250, "23/3", 3, 100, 60);
    run_random(201, 33, "B36/S23", 4, 300, 60);
    run_random(50, 50, "23/3", 5, 0, 3);
    run_random(50, 50, "23/3", 6, 1000, 3);
}

static void test_generations(void **state) {
    (void)state;
    run_random(90, 70, "0235678/3468/255", 7, 100, 300); /* the first dying cells are dead again */
    run_random(61, 59, "/2/3", 8, 200, 80);              /* Brian's Brain */
    run_random(66, 40, "345/2/4", 9, 200, 80);           /* Star Wars */
    run_random(33, 47, "012345678/12345678/256", 10, 10, 60);
    run_random(40, 40, "/3/256", 11, 300, 300);
}

/* The same with the objects and phases of DynaSOAr's programs, whose candidates stay a step longer;
 * and states that do not fit in a byte. */
static void test_dynasoar_model(void **state) {
    (void)state;
    static const char *const rules[] = {"23/3", "345/2/4", "0235678/3468/257", "/3/512"};
    life_code codes[39 * 37];
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        life_desc desc = get_desc(39, 37, rules[i], codes);
        life_fill(&desc.rules, 30 + (uint32_t)i, 150, codes);
        run(desc, desc.rules.states > 256 ? 30 : 0, 10, NULL);
        desc.rules.is_dynasoar_model = 1;
        run(desc, desc.rules.states > 4 ? desc.rules.states + 20 : 60, 10, NULL);
    }
}

/* A cross of the first world of DynaSOAr's generation, and a second, and no third. */
static void test_bursts(void **state) {
    (void)state;
    static life_code codes[331 * 326];
    life_rules rules = {.width = 331, .height = 326};
    life_fill_bursts(&rules, codes);
    uint32_t cross = 95 + 3 + 3 + 7 + 7 + 11;
    assert_int_equal(life_count(&rules, codes).alive, 2 * (2 * cross + 201));
    assert_int_equal(codes[110 * 331 + 10], 1);
    assert_int_equal(codes[110 * 331 + 9], 0);
    assert_int_equal(codes[105 * 331 + 111], 1);
    assert_int_equal(codes[105 * 331 + 112], 0);
    assert_int_equal(codes[315 * 331 + 215], 1);
    life_desc desc = get_desc(331, 326, "0235678/3468/257", codes);
    desc.rules.is_dynasoar_model = 1;
    run(desc, 10, 10, NULL);
}

/* The pattern in the middle of a world, and the world after so many steps. */
static void run_pattern(const char *name, uint32_t width, uint32_t height, uint32_t steps,
                        life_code *first, life_code *last) {
    life_desc desc = get_desc(width, height, "23/3", first);
    life_pattern pattern;
    bench_error error;
    if (life_pattern_read(name, &pattern, &error) ||
        life_pattern_place(&pattern, &desc.rules, first, &error))
        fail_msg("%s", error.text);
    life_pattern_release(&pattern);
    run(desc, steps, 20, last);
}

/* One cell down and one to the right every 4 steps. */
static void test_glider(void **state) {
    (void)state;
    static life_code first[71 * 71], last[71 * 71];
    run_pattern(PATTERNS "glider.rle", 71, 71, 120, first, last);
    for (int y = 0; y < 71; y++)
        for (int x = 0; x < 71; x++)
            assert_int_equal(last[y * 71 + x],
                             y < 30 || x < 30 ? 0 : first[(y - 30) * 71 + x - 30]);
}

/* 36 cells in the gun, and 5 in each of the gliders that it has let go: one every 30 steps. */
static void test_gosper_gun(void **state) {
    (void)state;
    static life_code first[160 * 160], last[160 * 160];
    run_pattern(PATTERNS "gosper-gun.rle", 160, 160, 150, first, last);
    life_rules rules = {.width = 160, .height = 160};
    assert_int_equal(life_count(&rules, first).alive, 36);
    assert_int_equal(life_count(&rules, last).alive, 36 + 5 * 5);
}

/* 116 cells are left in an unbounded world, gliders that leave among them; here, the first
 * steps. */
static void test_r_pentomino(void **state) {
    (void)state;
    static life_code first[120 * 110], last[120 * 110];
    run_pattern(PATTERNS "r-pentomino.pbm", 120, 110, 100, first, last);
    life_rules rules = {.width = 120, .height = 110};
    assert_int_equal(life_count(&rules, first).alive, 5);
}

/* Objects move between steps; the world must not notice. */
static void test_compacted(void **state) {
    (void)state;
    static life_code codes[120 * 90];
    static const char *const agents[] = {"Agent"};
    static const bench_merge merge = {.factor = 5};
    static const clump_compact_desc ways[] = {
        {.size = sizeof(clump_compact_desc)},
        {.size = sizeof(clump_compact_desc)}, /* by merging */
        {.size = sizeof(clump_compact_desc),
         .classes = agents,
         .class_count = 1,
         .order = CLUMP_ORDER_FIELD,
         .order_field = "cell"},
    };
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        clump_compactor_desc compaction = {
            .size = sizeof compaction, .compact = &ways[i], .every = 3};
        life_desc desc = get_desc(120, 90, i % 2 ? "345/2/4" : "23/3", codes);
        desc.world.compaction = &compaction;
        desc.world.merge = i == 1 ? &merge : NULL;
        life_fill(&desc.rules, 20 + (uint32_t)i, 300, codes);
        run(desc, 60, 1, NULL);
    }
}

/* ---- Patterns -------------------------------------------------------------------------------- */

static void expect_cells(const char *data, size_t bytes, uint32_t width, uint32_t height,
                         const char *cells) {
    life_pattern pattern;
    bench_error error;
    if (life_pattern_parse("test", data, bytes, &pattern, &error)) fail_msg("%s", error.text);
    assert_int_equal(pattern.width, width);
    assert_int_equal(pattern.height, height);
    for (size_t i = 0; i < (size_t)width * height; i++)
        if (pattern.cells[i] != (cells[i] == '*')) fail_msg("%.20s: cell %zu", data, i);
    life_pattern_release(&pattern);
}
#define EXPECT_CELLS(data, width, height, cells)                                                   \
    expect_cells(data, sizeof data - 1, width, height, cells)

static void test_formats(void **state) {
    (void)state;
    EXPECT_CELLS("P1\n3 2\n0 1 0\n1 0 1\n", 3, 2, ".*.*.*");
    EXPECT_CELLS("P1 # one\n#two\n3 2 010101", 3, 2, ".*.*.*");
    EXPECT_CELLS("P4\n9 2\n\x80\x80\x01\x00", 9, 2, "*.......*.......*.");
    EXPECT_CELLS("P2\n# by hand\n3 1\n255\n0 127 128", 3, 1, "**.");
    EXPECT_CELLS("P5\n3 1\n255\n\x00\x7f\x80", 3, 1, "**.");
    EXPECT_CELLS("P5 2 1 65535\n\x00\xff\xff\x00", 2, 1, "*.");
    EXPECT_CELLS("#C x\nx = 3, y = 3, rule = B3/S23\nbob$2bo$3o!", 3, 3, ".*...****");
    EXPECT_CELLS("x=3,y=4\r\n o2$\r\n2b\no !", 3, 4, "*.......*...");
}

static void test_malformed(void **state) {
    (void)state;
#define BAD(text, word)                                                                            \
    { text, sizeof text - 1, word }
    static const struct {
        const char *data;
        size_t bytes;
        const char *word; /* of the error */
    } cases[] = {
        BAD("", "no pattern"),
        BAD("P", "no pattern"),
        BAD("P3\n1 1\n255\n0 0 0", "no pattern"),
        BAD("P13 1\n111", "space"),
        BAD("P1\n", "width, but the file ends"),
        BAD("P1\n-3 2\n", "width"),
        BAD("P1\n3\n", "height"),
        BAD("P1\n0 3\n", "0 x 3 cells"),
        BAD("P1\n99999 99999\n1", "99999 x 99999 cells"),
        BAD("P1\n99999999999999999999 1\n1", "width is above"),
        BAD("P1\n2 2\n0 1 1", "ends before all pixels"),
        BAD("P1\n2 2\n0 1 1 2", "0 or 1"),
        BAD("P2\n2 1\n0\n0 0", "maximum gray is 0"),
        BAD("P2\n2 1\n70000\n0 0", "maximum gray is above"),
        BAD("P2\n2 1\n9\n0 10", "line 4: a pixel is above 9"),
        BAD("P2\n2 1\n9\n0", "a pixel, but the file ends"),
        BAD("P2\n2 1\n9\n0 x", "expected a pixel"),
        BAD("P4\n9 2\n\x01\x01\x01", "ends in row 1"),
        BAD("P4\n9 2", "space before the pixels"),
        BAD("P5\n2 2\n255\n123", "3 bytes of pixels, not 4"),
        BAD("P5\n1 1\n9\nx", "above the maximum 9"),
        BAD("#C only a comment\n", "expected 'x ='"),
        BAD("x = 3\n3o!", "comma"),
        BAD("x = 3, z = 3\n3o!", "expected 'y ='"),
        BAD("x = 3, y = , rule\n", "height"),
        BAD("x = 3, y = 1, rules = B3/S23\n3o!", "expected = behind rule"),
        BAD("x = 3, y = 1 3o!", "end of the header"),
        BAD("x = 3, y = 2\n3o", "without !"),
        BAD("x = 3, y = 1\n4o!", "line 2: a row is longer"),
        BAD("x = 3, y = 1\n2o2b!", "a row is longer"),
        BAD("x = 3, y = 1\n3o$o!", "more rows"),
        BAD("x = 3, y = 1\n3o9$o!", "more rows"),
        BAD("x = 3, y = 1\n0o!", "expected b, o"),
        BAD("x = 3, y = 1\n3!", "expected b, o"),
        BAD("x = 3, y = 1\n2B!", "third state"),
        BAD("x = 3, y = 1\n99999999999o!", "a run is above"),
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        life_pattern pattern;
        bench_error error = {""};
        /* A copy without a byte behind it, for sanitizers to watch. */
        char *data = malloc(cases[i].bytes ? cases[i].bytes : 1);
        memcpy(data, cases[i].data, cases[i].bytes);
        assert_int_equal(life_pattern_parse("test", data, cases[i].bytes, &pattern, &error), -1);
        assert_null(pattern.cells);
        if (!strstr(error.text, cases[i].word))
            fail_msg("case %zu: '%s' has no '%s'", i, error.text, cases[i].word);
        free(data);
    }
}

static void test_placing(void **state) {
    (void)state;
    static const char glider[] = "x = 3, y = 3, rule = B3/S23\nbob$2bo$3o!";
    life_code codes[5 * 5];
    life_pattern pattern;
    bench_error error;
    life_desc small = get_desc(2, 5, "23/3", codes), other = get_desc(5, 5, "23/36", codes);
    life_desc same = get_desc(5, 5, "23/3", codes);
    assert_int_equal(life_pattern_parse("test", glider, sizeof glider - 1, &pattern, &error), 0);
    assert_int_equal(life_pattern_place(&pattern, &small.rules, codes, &error), -1);
    assert_non_null(strstr(error.text, "3 x 3 cells, the world only 2 x 5"));
    assert_int_equal(life_pattern_place(&pattern, &other.rules, codes, &error), -1);
    assert_non_null(strstr(error.text, "for the rule B3/S23"));
    assert_int_equal(life_pattern_place(&pattern, &same.rules, codes, &error), 0);
    for (int i = 0; i < 25; i++)
        assert_int_equal(codes[i], i == 7 || i == 13 || (i > 15 && i < 19));
    life_pattern_release(&pattern);
    assert_int_equal(life_pattern_read("no such file", &pattern, &error), -1);
    assert_non_null(strstr(error.text, "cannot open no such file"));
}

static void test_rules(void **state) {
    (void)state;
    static const char *const bad[] = {
        "",     "23",    "B3",      "23/3/",   "23/3/1", "23/3/513", "29/3",
        "22/3", "B3/23", "23/3/4x", "23/3/-4", "S23/S3", "23/3 ",    "23/3/99999999999999999999"};
    life_rules rules = {.width = 1, .height = 1};
    bench_error error;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (life_rule_parse(bad[i], &rules, &error) != -1) fail_msg("'%s' is a rule", bad[i]);
    assert_int_equal(life_rule_parse("B36/S23", &rules, &error), 0);
    assert_int_equal(rules.born, 1 << 3 | 1 << 6);
    assert_int_equal(rules.survive, 1 << 2 | 1 << 3);
    assert_int_equal(rules.states, 2);
    assert_int_equal(life_rule_parse("02/3/256", &rules, &error), 0);
    assert_int_equal(rules.states, 256);
    assert_int_equal(rules.survive, 1 << 0 | 1 << 2);
    assert_int_equal(life_rules_check(&rules, &error), 0);
    assert_int_equal(life_rule_parse("23/03", &rules, &error), 0);
    assert_int_equal(life_rules_check(&rules, &error), -1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_edges),       cmocka_unit_test(test_random_worlds),
        cmocka_unit_test(test_generations), cmocka_unit_test(test_glider),
        cmocka_unit_test(test_gosper_gun),  cmocka_unit_test(test_r_pentomino),
        cmocka_unit_test(test_compacted),   cmocka_unit_test(test_formats),
        cmocka_unit_test(test_malformed),   cmocka_unit_test(test_placing),
        cmocka_unit_test(test_rules),       cmocka_unit_test(test_dynasoar_model),
        cmocka_unit_test(test_bursts),
    };
    return APP_FIXTURE_RUN("game-of-life", &fixture, tests);
}
