/* Loops of all objects with all (cl/api/staged.clh) against counts made on the host: rows with
 * holes, subclasses, an empty class, fewer objects than work-items and more rows than groups; on
 * CPUs also as GPUs run them, with work-groups of one part and of several.
 *
 * Read first: cl/api/staged.clh, tests/support/cl_fixture.h.
 */
#include <stdio.h>
#include <string.h>

#include "support/cl_fixture.h"

#define POINTS 700u
#define HEAVY 3000u
#define ALL (POINTS + HEAVY)

static const char schema[] =
    "class Point { uint number; uint key; uint below; uint heavy; uint seen; }\n"
    "class Heavy : Point { ulong payload; }\n"
    "class Nobody { uint nothing; }\n";

/* Every Point counts the points with a lower key, adds up the keys of heavy ones, and finds the
 * nobodies that there are not. `seen` counts visits by owners. */
static const char source[] =
    "typedef struct { uint below, nobody; ulong heavy; } found;\n"
    "static found join(found a, found b) {\n"
    "    found c = {a.below + b.below, a.nobody + b.nobody, a.heavy + b.heavy};\n"
    "    return c;\n"
    "}\n"
    "__kernel void make(CLUMP_HEAP, uint first) {\n"
    "    CLUMP_FOR_EACH_NEW(Point, self, i) {\n"
    "        Point_number(self) = first + i;\n"
    "        Point_key(self) = (first + i) * 2654435761u >> 12;\n"
    "        Point_seen(self) = 0u;\n"
    "    }\n"
    "}\n"
    "__kernel void drop(CLUMP_HEAP) {\n"
    "    CLUMP_FOR_EACH(Point, self) {\n"
    "        uint n = Point_number(self);\n"
    "        if (n % 3u == 1u || (n > 900u && n < 1400u)) Point_free(self);\n"
    "    }\n"
    "}\n"
    "__kernel void look(CLUMP_HEAP_NO_ALLOC) {\n"
    "    CLUMP_STAGE(uint, keys);\n"
    "    CLUMP_STAGE(ulong, weights);\n"
    "    CLUMP_STAGE(found, parts);\n"
    "    CLUMP_FOR_EACH_TOGETHER(Point, self) {\n"
    "        uint key = CLUMP_TAKES_PART(self) ? Point_key(self) : 0u;\n"
    "        found f = {0u, 0u, 0ul};\n"
    "        CLUMP_FOR_WHOLE_CLASS_STAGED(Point, other, uint, it, keys, Point_key(other)) {\n"
    "            if (it >= key) continue;\n"
    "            f.below++;\n"
    "        }\n"
    "        CLUMP_FOR_WHOLE_CLASS_STAGED(Heavy, other, ulong, it, weights, "
    "(ulong)Heavy_key(other)) {\n"
    "            f.heavy += it;\n"
    "        }\n"
    "        CLUMP_FOR_WHOLE_CLASS_STAGED(Nobody, other, uint, it, keys, Nobody_nothing(other)) {\n"
    "            f.nobody += 1u + it;\n"
    "        }\n"
    "        CLUMP_COMBINE(parts, f, join);\n"
    "        if (CLUMP_OWNS(self)) {\n"
    "            Point_below(self) = f.below + f.nobody;\n"
    "            Point_heavy(self) = (uint)(f.heavy % 1000003ul);\n"
    "            Point_seen(self) += 1u;\n"
    "        }\n"
    "    }\n"
    "}\n"
    "__kernel void write(CLUMP_HEAP_NO_ALLOC, __global uint4 *out) {\n"
    "    CLUMP_FOR_EACH(Point, self) {\n"
    "        out[Point_number(self)] =\n"
    "            (uint4)(Point_below(self), Point_heavy(self), Point_seen(self), 1u);\n"
    "    }\n"
    "}\n";

static cl_fixture fixture, *const f = &fixture;

static int is_left(uint32_t n) {
    return !(n % 3 == 1 || (n > 900 && n < 1400));
}

static uint32_t key_of(uint32_t n) {
    return n * 2654435761u >> 12;
}

/* What every object must have found; `rounds` visits. */
static void expect(const cl_uint4 *out, uint32_t rounds) {
    uint64_t heavy = 0;
    for (uint32_t n = POINTS; n < ALL; n++) heavy += is_left(n) ? key_of(n) : 0;
    for (uint32_t n = 0; n < ALL; n++) {
        uint32_t below = 0;
        for (uint32_t k = 0; k < ALL; k++) below += is_left(k) && key_of(k) < key_of(n);
        if (!is_left(n)) {
            assert_int_equal(out[n].s[3], 0);
            continue;
        }
        if (out[n].s[0] != below || out[n].s[1] != heavy % 1000003 || out[n].s[2] != rounds)
            fail_msg("object %u: %u below, %u heavy, %u visits; expected %u, %u, %u", n,
                     out[n].s[0], out[n].s[1], out[n].s[2], below, (uint32_t)(heavy % 1000003),
                     rounds);
    }
}

/* Make, drop, look with each of `locals` (0: a do-all), compare. `options` are for the look
 * alone. */
static void look_around(const char *options, const size_t *locals, size_t count) {
    clump_heap *heap = cl_fixture_heap(f, schema, 8u << 20, 2);
    clump_program *program = cl_fixture_program(f, heap, source, NULL, NULL);
    clump_program *looker = cl_fixture_program(f, heap, source, options, NULL);
    clump_kernel *make = cl_fixture_kernel(f, program, "make");
    clump_kernel *drop = cl_fixture_kernel(f, program, "drop");
    clump_kernel *look = cl_fixture_kernel(f, looker, "look");
    clump_kernel *write = cl_fixture_kernel(f, program, "write");
    static cl_uint4 out[ALL];
    memset(out, 0, sizeof out);
    cl_mem buffer = cl_fixture_buffer(f, out, sizeof out);
    uint32_t first = 0;
    SET_ARG(f, make, 0, first);
    CHECK_OK(f, clump_heap_do_new(heap, make, "Point", POINTS, NULL, NULL));
    first = POINTS;
    SET_ARG(f, make, 0, first);
    CHECK_OK(f, clump_heap_do_new(heap, make, "Heavy", HEAVY, NULL, NULL));
    CHECK_OK(f, clump_heap_do_all(heap, drop, NULL));
    for (size_t i = 0; i < count; i++) {
        if (locals[i] == 0)
            CHECK_OK(f, clump_heap_do_all(heap, look, NULL));
        else
            CHECK_OK(f, clump_heap_launch(heap, look, 3 * locals[i], locals[i], NULL));
    }
    SET_ARG(f, write, 0, buffer);
    CHECK_OK(f, clump_heap_do_all(heap, write, NULL));
    cl_fixture_read(f, buffer, out, sizeof out);
    expect(out, (uint32_t)count);
    CHECK_HEAP(f, heap);
    clReleaseMemObject(buffer);
    clump_kernel_destroy(make);
    clump_kernel_destroy(drop);
    clump_kernel_destroy(look);
    clump_kernel_destroy(write);
    clump_program_destroy(program);
    clump_program_destroy(looker);
    clump_heap_destroy(heap);
}

static void test_as_the_device_does(void **state) {
    (void)state;
    static const size_t do_all = 0;
    look_around(NULL, &do_all, 1);
}

static void test_as_gpus_do(void **state) {
    (void)state;
    static const size_t locals[] = {64, 128, 256};
    look_around("-DCLUMPI_ROW_PER_ITEM=0", locals, 3);
}

/* A stage of another type than what goes through it would convert it, on GPUs only: neither
 * builds. */
static void test_types(void **state) {
    (void)state;
    static const struct {
        const char *stage, *it, *parts, *sum, *words;
    } cases[] = {{"uint", "uint", "ulong", "ulong", NULL},
                 {"uint", "unsigned", "float2", "float2", NULL},
                 {"uint", "float", "float", "float", "type_of_stage_staged"},
                 {"float", "uint", "uint", "uint", "type_of_stage_staged"},
                 {"uint", "int", "uint", "uint", "type_of_stage_staged"},
                 {"uint", "uint", "float", "uint", "must have the type of the stage"},
                 {"uint", "uint", "uint", "ulong", "must have the type of the stage"},
                 {"uint", "uint", "uint", "int", "must have the type of the stage"}};
    static const char *const options[] = {NULL, "-DCLUMPI_ROW_PER_ITEM=0"};
    const size_t step = cl_fixture_each(3);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i += step) {
        char text[700];
        snprintf(
            text, sizeof text,
            "__kernel void look(CLUMP_HEAP_NO_ALLOC) {\n"
            "    CLUMP_STAGE(%s, staged);\n"
            "    CLUMP_STAGE(%s, parts);\n"
            "    CLUMP_FOR_EACH_TOGETHER(Point, self) {\n"
            "        %s sum = 0;\n"
            "        CLUMP_FOR_WHOLE_CLASS_STAGED(Point, other, %s, it, staged, 1) { sum += 1; }\n"
            "        CLUMP_COMBINE(parts, sum, CLUMP_SUM);\n"
            "    }\n"
            "}\n",
            cases[i].stage, cases[i].parts, cases[i].sum, cases[i].it);
        for (int k = 0; k < (cl_fixture_is_whole() ? 2 : 1); k++)
            cl_fixture_expect_build(f, schema, text, options[k], cases[i].words);
    }
}

int main(void) {
    int result = cl_fixture_open(f, NULL);
    if (result) return result;
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_as_the_device_does),
                                       cmocka_unit_test(test_as_gpus_do),
                                       cmocka_unit_test(test_types)};
    result = cmocka_run_group_tests(tests, NULL, NULL);
    cl_fixture_close(f);
    return result;
}
