/* The core of the other tests at small size, on every path that the device and the tuning allow.
 *
 * With the argument "tiny": so small that a checker, which interprets the kernels, has time for it.
 * Read first: fill_core.h, heap_core.h.
 */
#include <string.h>

#include "fill_core.h"
#include "heap_core.h"

static cl_fixture fixture;
static cl_fixture_build build;
static int tiny;

static void test_fill(void **state) {
    (void)state;
    fill_test t;
    fill_open(&t, &fixture, tiny ? 4 : 20, tiny ? 1 : 2, &build);
    uint32_t most = (uint32_t)cl_fixture_free_slots(&fixture, t.heap, "Small") + 1000;
    uint32_t *refs = malloc(2 * most * sizeof *refs);
    assert_non_null(refs);
    if (tiny) {
        t.collective = 1;
        fill_make(&t, "Small", 2, 100, refs);
        fill_expect(&t, "Small", 100, refs);
        fill_free(&t, "Small", 100, refs);
        fill_swap(&t, refs, refs + most);
        fill_garbage(&t);
        free(refs);
        fill_close(&t);
        return;
    }
    fill_and_empty(&t, "Right", refs);
    fill_side_by_side(&t, "Small", "Big", refs, refs + most);
    fill_by_do_new(&t, "Left", refs);
    fill_swap(&t, refs, refs + most);
    fill_double_free(&t, "Small", refs);
    fill_garbage(&t);
    free(refs);
    fill_close(&t);
}

static void test_programs(void **state) {
    (void)state;
    for (uint64_t seed = 100; seed < 103; seed++) {
        heap_config config = {
            .f = &fixture,
            .schema =
                "abstract class Base { uint t; ref Base next; } class A : Base { ulong x; }\n"
                "aos class B : A { uchar y; float3 z; } class C : Base { short w[3]; }\n",
            .blocks = tiny ? 5 : 30,
            .block_rows = 2,
            .seed = seed,
            .steps = tiny ? 8 : 50,
            .items = tiny ? 40 : 400,
            .build = build};
        heap_random_program(&config);
    }
}

static int run(const char *name, uint32_t disable, cl_fixture_build with, int out_of_order) {
    cl_fixture_desc desc = {.disable = disable, .out_of_order = out_of_order};
    int result = cl_fixture_open(&fixture, &desc);
    if (result == CL_FIXTURE_SKIP && out_of_order) return 0;
    if (result) return result;
    build = with;
    print_message("%s: %u-bit words, %s\n", name, fixture.capabilities->word_bits,
                  fixture.capabilities->coalescing);
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_programs),
                                       cmocka_unit_test(test_fill)};
    const size_t count = cl_fixture_is_whole() || disable ? 2 : 1;
    result = _cmocka_run_group_tests(name, tests, count, NULL, NULL);
    cl_fixture_close(&fixture);
    return result;
}

int main(int argc, char **argv) {
    tiny = argc > 1 && strcmp(argv[1], "tiny") == 0;
    int result = cl_fixture_open(&fixture, NULL);
    if (result) return result;
    uint32_t features = fixture.capabilities->features;
    cl_fixture_close(&fixture);
    cl_fixture_build none = {0},
                     all = {.tuning = {.no_coalescing = 1, .no_rotation = 1, .retries = 1}};
    if (features & CLUMP_FEATURE_INT64_ATOMICS)
        result |= run("32-bit words", CLUMP_FEATURE_INT64_ATOMICS, none, 0);
    if (features & CLUMP_FEATURE_PTX) result |= run("no PTX", CLUMP_FEATURE_PTX, none, 0);
    if (features & CLUMP_FEATURE_SUBGROUPS)
        result |= run("nothing optional but doubles",
                      CLUMP_FEATURE_ALL & ~(uint32_t)CLUMP_FEATURE_FP64, none, 0);
    result |= run("no coalescing, no rotation, one retry", 0, all, !cl_fixture_is_whole());
    if (cl_fixture_is_whole())
        result |= run("no rotation", 0, (cl_fixture_build){.tuning.no_rotation = 1}, 1);
    if (features & (CLUMP_FEATURE_PTX | CLUMP_FEATURE_SUBGROUPS))
        result |= run("no coalescing", 0, (cl_fixture_build){.tuning.no_coalescing = 1}, 0);
    if (cl_fixture_is_whole()) result |= run("checked", 0, (cl_fixture_build){.checked = 1}, 0);
    return result;
}
