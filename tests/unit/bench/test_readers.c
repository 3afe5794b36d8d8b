/* Files that benchmarks read: graphs as SciPy, NetworkX, METIS and others write them, patterns as
 * Golly writes them, tables. Each is read as its writer means it, or refused with words that say
 * why.
 *
 * Read first: bench/graph/file.c, bench/apps/game-of-life/pattern.h.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
/* After the above, which it needs. */
#include <cmocka.h>

#include "bench/apps/game-of-life/pattern.h"
#include "bench/graph/pairs.h"
#include "bench/harness/series.h"

static char path[64];

static void write_file(const char *data, size_t bytes) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, bytes, file), bytes);
    assert_int_equal(fclose(file), 0);
}

static int choose_path(void **state) {
    (void)state;
    snprintf(path, sizeof path, "/tmp/clump-readers-%d", (int)getpid());
    return 0;
}

static int remove_file(void **state) {
    (void)state;
    return unlink(path);
}

/* The graph as text: "3: 0-1 1-2"; or the error. */
static const char *read_graph(void) {
    static char text[sizeof(bench_error)];
    graph_pairs pairs = {0};
    graph g = {0};
    bench_error error;
    if (graph_file_read(path, &pairs, &error) || graph_pairs_link(&pairs, &g, &error)) {
        snprintf(text, sizeof text, "%s", error.text);
    } else {
        size_t bytes = (size_t)snprintf(text, sizeof text, "%u:", g.vertices);
        for (uint32_t v = 0; v < g.vertices; v++)
            for (uint32_t e = g.offset[v]; e < g.offset[v + 1]; e++)
                if (g.target[e] > v && bytes < sizeof text)
                    bytes += (size_t)snprintf(text + bytes, sizeof text - bytes, " %u-%u", v,
                                              g.target[e]);
        graph_release(&g);
    }
    free(pairs.ends);
    return text;
}

/* The graph, or a part of the error's words. */
static void expect_graph(const char *data, const char *expected) {
    write_file(data, strlen(data));
    const char *text = read_graph();
    int is_graph = strchr(expected, ':') && expected[0] >= '0' && expected[0] <= '9';
    if (is_graph ? strcmp(text, expected) != 0 : !strstr(text, expected))
        fail_msg("%s\nexpected: %s\nread as:  %s", data, expected, text);
}

#define MATRIX "%%MatrixMarket matrix coordinate "

static void matrices(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {MATRIX "pattern general\n% c\n\n3 3 2\n1 2\n\n3 2\n", "3: 0-1 1-2"},
        {"%%matrixmarket MATRIX Coordinate Pattern General\r\n3 3 1\r\n1 3\r\n", "3: 0-2"},
        {MATRIX "real symmetric\n4 4 2\n2 1 -1.5e3\n  3\t1 nan", "4: 0-1 0-2"},
        {MATRIX "complex hermitian\n2 2 1\n2 1 1 -2\n", "2: 0-1"},
        {MATRIX "pattern general\n3 3 1\n4 1\n", "line 3: 4 is no vertex"},
        {MATRIX "pattern general\n3 3 1\n1 0\n", "line 3: 0 is no vertex"},
        {MATRIX "pattern general\n3 3 3\n1 2\n2 3\n", "ends after 2 of 3 entries"},
        {MATRIX "pattern general\n3 3 1\n1 2\n2 3\n", "line 4: there are more than 1 entries"},
        {MATRIX "pattern general\n3 4 1\n1 2\n", "3 rows and 4 columns"},
        {MATRIX "pattern general\n3 3 1\n1 2 7\n", "line 3: expected a row, a column, and nothing"},
        {MATRIX "real general\n3 3 1\n1 2\n", "line 3: expected a row, a column, and a number"},
        {MATRIX "pattern general\n99999999999 99999999999 1\n1 2\n", "at most 4294967293"},
        {MATRIX "pattern general\n", "ends before the numbers of rows"},
        {MATRIX "quaternion general\n1 1 0\n", "expected real, integer, complex or pattern"},
        {"%%MatrixMarket matrix array real general\n1 2\n1\n2\n", "this is a \"matrix array\""}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect_graph(cases[i][0], cases[i][1]);
}

static void lists(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {"# from to\n0 1\n1\t2\r\n\n2 0\n", "3: 0-1 0-2 1-2"},
        {"0 1 2.5\n1 2 3\n", "3: 0-1 1-2"},
        {"0 1 {}\n1 2 {'weight': 3}\n", "3: 0-1 1-2"},
        {"0 1\n9 9\n", "10: 0-1"},
        {"7 11\n5 3 2\n1 3 4\n", "line 2: 3 numbers, where the lines before have 2. METIS"},
        {"5 5\n2 5\n1 3\n2 4\n3 5\n1 4\n", "may be an edge, or counts: 5 lines"}, /* METIS */
        {"4 3\n1 2\n2 3\n3 4\n", "may be an edge, or counts: 3 lines"},
        {"4 4 3\n1 2 5\n2 3 5\n3 4 5\n", "may be an edge, or counts: 3 lines"},
        {"0 1\n5\n", "line 2: expected two numbers"},
        {"0,1\n", "line 1: expected two numbers"},
        {"0 -18446744073709551615\n", "line 1: expected two numbers"},
        {"1 2a\n", "line 1: expected two numbers"},
        {"1 4294967294\n", "line 1: expected two numbers"},
        {"p edge 3 2\ne 1 2\n", "line 1: expected two numbers"},
        {"", "is empty"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect_graph(cases[i][0], cases[i][1]);
}

/* A comment is one, however long; and a zero byte is no text. */
static void long_lines(void **state) {
    (void)state;
    char text[4096];
    memset(text, ' ', sizeof text);
    for (size_t i = 0; i + 4 < sizeof text; i += 4) memcpy(text + i, "5 6 ", 4);
    memcpy(text, "# ", 2);
    memcpy(text + sizeof text - 5, "\n0 1\n", 5);
    write_file(text, sizeof text);
    assert_string_equal(read_graph(), "2: 0-1");
    write_file("0 1\n\0", 5);
    assert_non_null(strstr(read_graph(), "line 2: a zero byte"));
}

static void compressed(void **state) {
    (void)state;
    gzFile out = gzopen(path, "wb");
    assert_non_null(out);
    for (int i = 0; i < 2000; i++) gzprintf(out, "%d %d\n", i, i * 7919 % 2003);
    assert_int_equal(gzclose(out), Z_OK);
    assert_int_equal(strncmp(read_graph(), "2003:", 5), 0);
    static char data[32768];
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t bytes = fread(data, 1, sizeof data, file);
    fclose(file);
    assert_true(bytes > 1000 && bytes < sizeof data);
    write_file(data, bytes - 200);
    assert_non_null(strstr(read_graph(), "cut or damaged"));
    data[bytes - 6] ^= 1; /* of the checksum */
    write_file(data, bytes);
    assert_non_null(strstr(read_graph(), "cut or damaged"));
}

/* Two nodes, of which 0 refers to 1; one kind. */
static void heap_graphs(void **state) {
    (void)state;
    const uint32_t words[] = {2, 1, 1, 1, 0, 0, 1, 1, 1, 8, 8, 0};
    char data[8 + sizeof words + 3] = "HGRAPH1";
    memcpy(data + 8, words, sizeof words);
    memset(data + 8 + sizeof words, 0, 3);
    write_file(data, sizeof data - 1);
    assert_string_equal(read_graph(), "2: 0-1");
    write_file(data, sizeof data - 2);
    assert_non_null(strstr(read_graph(), "ends too early"));
    write_file(data, sizeof data);
    assert_non_null(strstr(read_graph(), "something behind its end"));
    data[sizeof data - 2] = 1;
    write_file(data, sizeof data - 1);
    assert_non_null(strstr(read_graph(), "a kind that it has not"));
}

/* ---- Patterns -------------------------------------------------------------------------------- */

/* Rows of "." and "o" with "/" between them; or the error of the pattern, or of its rule. */
static const char *read_pattern(const char *data, size_t bytes) {
    static char text[sizeof(bench_error)];
    life_pattern pattern;
    life_rules rules = {0};
    bench_error error;
    if (life_pattern_parse("file", data, bytes, &pattern, &error)) {
        snprintf(text, sizeof text, "%s", error.text);
        return text;
    }
    if (pattern.rule[0] && life_rule_parse(pattern.rule, &rules, &error)) {
        snprintf(text, sizeof text, "%s", error.text);
    } else {
        char *at = text;
        for (uint32_t y = 0; y < pattern.height; y++, *at++ = '/')
            for (uint32_t x = 0; x < pattern.width; x++)
                *at++ = pattern.cells[y * pattern.width + x] ? 'o' : '.';
        at[-1] = 0;
    }
    life_pattern_release(&pattern);
    return text;
}

static void expect_pattern(const char *data, const char *expected) {
    const char *text = read_pattern(data, strlen(data));
    if (expected[0] == '.' || expected[0] == 'o' ? strcmp(text, expected) != 0
                                                 : !strstr(text, expected))
        fail_msg("%s\nexpected: %s\nread as:  %s", data, expected, text);
}

static void patterns(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {"x = 3, y = 3, rule = B3/S23\nbo$2bo$3o!\n", ".o./..o/ooo"},
        {"\r\n\r\n#N a name\r\n\r\nx=3,y=1\r\n3o!\r\n", "ooo"},
        {"#CXRLE Pos=-1,-1\nx = 12, y = 1\n1\n2o!\n", "oooooooooooo"},
        {"x = 12, y = 1\n12\no!\n", "oooooooooooo"},
        {"x = 3, y = 2\n3o$\n# a comment\n#C 3b!\n2o!\nanything", "ooo/oo."},
        {"x = 3, y = 2\n3o$2o", "ooo/oo."},
        {"x = 3, y = 2\n3o", "ends without !, and not all rows were there"},
        {"x = 3, y = 2\n3o$2", "ends without !"},
        {"x = 3, y = 1, rule = B36/S23\nA.A!", "o.o"},
        {"x = 3, y = 1\nAB!", "a third state"},
        {"x = 3, y = 1\npAo!", "a third state"},
        {"x = 3, y = 1\n1 2o!", "expected b, o, $"},
        {"x = 2, y = 1\n3o!", "a row is longer than the header says"},
        {"x = 3, y = 1, rule = 23/3\n3o!", "ooo"},
        {"x = 3, y = 1, rule = s23/b3\n3o!", "ooo"},
        {"x = 3, y = 1, rule = B3S23\n3o!", "ooo"},
        {"x = 3, y = 1, rule = B2/S/C3\n3o!", "ooo"},
        {"x = 3, y = 1, rule = B3/S23:T30,20\n3o!", "has a bounded grid"},
        {"x = 3, y = 1, rule = B2-a/S12\n3o!", "is no rule"},
        {"x = 3, y = 1, rule = B3/S23H\n3o!", "is no rule"},
        {"x = 3, y = 1, rule = B3/B3\n3o!", "is no rule"},
        {"x = 3, y = 1, rule = LifeHistory\n3o!", "is no rule"},
        {"[M2] (golly 3.3)\n", "is a macrocell file: bgolly -m 0 -o OTHER.rle FILE"},
        {"#Life 1.06\n0 -1\n", "is a Life 1.05 or 1.06 file: bgolly"},
        {"#MCell 4.00\n", "is an MCell file: bgolly"},
        {"!Name: Glider\n.O.\n", "is a plain text pattern: bgolly"},
        {"\x1f\x8b\x08", "is compressed: gzip -dc"},
        {"PK\x03\x04", "is a zip archive"},
        {"P1\n3 1\n1 0 1\n", "o.o"},
        {"P1\n3 1\n101 1\n", "something follows the pixels"},
        {"P2\n3 1\n9\n0 9 4\n \n", "o.o"},
        {"P5\n2 1\n255\nA\xff"
         "A",
         "something follows the pixels"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect_pattern(cases[i][0], cases[i][1]);
    assert_non_null(strstr(read_pattern("x = 3, y = 1\n3\0o!", 18), "expected b, o, $"));
}

static void rules_mean_what_golly_means(void **state) {
    (void)state;
    static const char *const alike[] = {"B36/S125", "b36s125", "S125/B36",
                                        "s125b36",  "125/36",  "B36/S125/2"};
    for (size_t i = 0; i < sizeof alike / sizeof *alike; i++) {
        life_rules rules = {0};
        bench_error error;
        assert_int_equal(life_rule_parse(alike[i], &rules, &error), 0);
        assert_int_equal(rules.born, 1 << 3 | 1 << 6);
        assert_int_equal(rules.survive, 1 << 1 | 1 << 2 | 1 << 5);
        assert_int_equal(rules.states, 2);
    }
}

/* ---- Tables ---------------------------------------------------------------------------------- */

static void tables(void **state) {
    (void)state;
    static const struct {
        const char *data;
        size_t rows; /* 0: it is refused */
    } cases[] = {{"a,b\n1,2\n3,4\n", 2}, {"a,b\n1,2\n3,4", 0},    {"a,b\n1,2\n3,", 0},
                 {"a,b\n1,2\n3", 0},     {"a,b\n1,2\n3,4\n5", 0}, {"a,b\n1,2,3\n", 0},
                 {"a,b\n1,x\n", 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bench_series series = {.columns = 0};
        bench_error error;
        write_file(cases[i].data, strlen(cases[i].data));
        int failed = bench_series_read_csv(&series, path, &error);
        if (failed != -(cases[i].rows == 0) || (!failed && series.rows != cases[i].rows))
            fail_msg("%s\n%zu rows", cases[i].data, series.rows);
        bench_series_release(&series);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(matrices),    cmocka_unit_test(lists),
        cmocka_unit_test(long_lines),  cmocka_unit_test(compressed),
        cmocka_unit_test(heap_graphs), cmocka_unit_test(tables),
        cmocka_unit_test(patterns),    cmocka_unit_test(rules_mean_what_golly_means)};
    return cmocka_run_group_tests(tests, choose_path, remove_file);
}
