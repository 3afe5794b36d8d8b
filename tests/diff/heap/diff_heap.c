/* Random programs of all operations, on heaps of many schemas, against the sequential model.
 *
 * CLUMP_SEED (a number) changes the programs.
 * An argument is a pattern of the tests to run: "test_one_class".
 * Read first: heap_core.h.
 */
#include <stdio.h>
#include <string.h>

#include "heap_core.h"

static cl_fixture fixture;

static void run(const char *schema, uint32_t blocks, uint32_t block_rows, uint32_t steps,
                uint32_t items, uint32_t programs) {
    const char *text = getenv("CLUMP_SEED");
    uint64_t seed = text ? strtoull(text, NULL, 0) : 1;
    for (uint32_t i = 0; i < programs; i++) {
        heap_config config = {.f = &fixture,
                              .schema = schema,
                              .blocks = blocks,
                              .block_rows = block_rows,
                              .seed = seed + i,
                              .steps = steps,
                              .items = items};
        print_message("seed %llu: %u steps, %u blocks, block_rows %u\n",
                      (unsigned long long)config.seed, steps, blocks, block_rows);
        heap_random_program(&config);
    }
}

static void test_one_class(void **state) {
    (void)state;
    static const char schema[] = "class Only { uint a; ref Only next; ref Only more[2] packed; }";
    run(schema, 1, 1, 40, 100, 4);
    run(schema, 60, 1, 60, 600, 4);
    if (cl_fixture_is_whole()) run(schema, 5, 64, 60, 600, 4);
}

/* One byte beside several thousand. */
static void test_sizes(void **state) {
    (void)state;
    run("class Tiny { uchar v; }\n"
        "class Word { uint v; ref Huge huge; }\n"
        "class Huge { ulong16 lots[20]; uchar odd[3] packed; ref Word word; }\n"
        "class Odd { uchar a; uchar b[2] packed; ref Tiny t; }\n",
        9, 1, 80, 300, 4);
}

/* Every type, plain and as arrays, in both layouts, inherited. */
#define FIELDS(p, extra)                                                                           \
    "bool " p "a; char " p "b; uchar " p "c; short " p "d; ushort " p "e; int " p "f; uint " p     \
    "g; long " p "h; ulong " p "i; float " p "j; float3 " p "k; uchar16 " p "l; short2 " p         \
    "m; long4 " p "n; bool " p "o[3]; short " p "p[5]; int3 " p "q[2]; bool " p                    \
    "r[7] packed; ushort " p "s[3] packed; float4 " p "t[2] packed; ref Plain " p                  \
    "u; "                                                                                          \
    "ref Plain " p "v[3]; ref Plain " p "w[2] packed; " extra

static void test_types(void **state) {
    (void)state;
    int fp64 = (fixture.capabilities->features & CLUMP_FEATURE_FP64) != 0;
    run(fp64 ? "class Plain { " FIELDS("x", "double xx; double2 xy[2];") "}\n"
               "aos class Struct : Plain { " FIELDS("y", "double yx; double2 yy[2];") "}\n"
               "class Last : Struct { uchar end; }\n"
             : "class Plain { " FIELDS("x", "") "}\n"
               "aos class Struct : Plain { " FIELDS("y", "") "}\n"
               "class Last : Struct { uchar end; }\n",
        12, 2, 60, 300, 3);
}

/* Trees of classes, abstract ones inside and at their roots; narrow and wide blocks. */
static const char trees[] =
    "abstract class Root { uint tag; ref Root parent; }\n"
    "class A : Root { float x; }\n"
    "abstract class B : Root { ref A a; uchar2 b[3]; }\n"
    "class C : B { ulong c; }\n"
    "class D : C { bool d; ref B other[2]; }\n"
    "aos class E : B { char e; double4 f; ref C c; }\n"
    "class F : A { ushort f[3] packed; }\n"
    "class Alone { uchar u; ref Root r; }\n";

static const char trees_no_fp64[] =
    "abstract class Root { uint tag; ref Root parent; }\n"
    "class A : Root { float x; }\n"
    "abstract class B : Root { ref A a; uchar2 b[3]; }\n"
    "class C : B { ulong c; }\n"
    "class D : C { bool d; ref B other[2]; }\n"
    "aos class E : B { char e; long4 f; ref C c; }\n"
    "class F : A { ushort f[3] packed; }\n"
    "class Alone { uchar u; ref Root r; }\n";

static void test_trees(void **state) {
    (void)state;
    int fp64 = (fixture.capabilities->features & CLUMP_FEATURE_FP64) != 0;
    const char *schema = fp64 ? trees : trees_no_fp64;
    run(schema, 15, 7, 100, 600, 4);
    if (!cl_fixture_is_whole()) return;
    run(schema, 40, 1, 100, 600, 4);
    run(schema, 7, 64, 100, 600, 4);
}

static void test_many_classes(void **state) {
    (void)state;
    static char schema[8192];
    size_t at = 0;
    for (int i = 0; i < 64; i++) {
        at += (size_t)snprintf(schema + at, sizeof schema - at, "class K%d", i);
        if (i % 8) at += (size_t)snprintf(schema + at, sizeof schema - at, " : K%d", i / 8 * 8);
        at += (size_t)snprintf(schema + at, sizeof schema - at,
                               " { uint v%d; uchar w%d; ref K%d r%d; }\n", i, i, (i * 7) % 64, i);
    }
    run(schema, 100, 1, 40, 400, 2);
}

int main(int argc, char **argv) {
    int result = cl_fixture_open(&fixture, NULL);
    if (result) return result;
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_class),    cmocka_unit_test(test_types),
        cmocka_unit_test(test_trees),        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_many_classes),
    };
    const size_t count = cl_fixture_is_whole() ? sizeof tests / sizeof *tests : 3;
    result = _cmocka_run_group_tests("random programs", tests, count, NULL, NULL);
    cl_fixture_close(&fixture);
    return result;
}
