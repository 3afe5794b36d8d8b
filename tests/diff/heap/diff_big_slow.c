/* A heap of several GiB: millions of objects of all classes, freed, made again and counted. Some
 * lie beyond 4 GiB, where offsets have more than 32 bits. On PoCL the heap has several buffers,
 * since one cannot have so much.
 *
 * Takes 6 GiB; skipped where that is more than two thirds of the device's memory.
 * Read first: tests/support/cl_fixture.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cl_fixture.h"

#define GIB (UINT64_C(1) << 30)
#define BYTES (6 * GIB)

static cl_fixture fixture, *const f = &fixture;

static const char schema[] =
    "class Small { uint tag; }\n"
    "abstract class Base { uint tag; uint owner; }\n"
    "class Middle : Base { float4 x[3]; }\n"
    "class Large : Middle { ulong more[30]; }\n";

static const char source[] =
    "__kernel void make(CLUMP_HEAP) {\n"
    "    CLUMP_FOR_EACH_NEW(Base, any, i) { Base_tag(any) = i; }\n"
    "}\n"
    "__kernel void make_small(CLUMP_HEAP) {\n"
    "    CLUMP_FOR_EACH_NEW(Small, any, i) { Small_tag(any) = i; }\n"
    "}\n"
    "__kernel void cull(CLUMP_HEAP) {\n"
    "    CLUMP_FOR_EACH(Small, self) if (Small_tag(self) % 3u) Small_free(self);\n"
    "    CLUMP_FOR_EACH(Base, self) if (Base_tag(self) % 4u == 0u) Base_free(self);\n"
    "}\n"
    "__kernel void breed(CLUMP_HEAP) {\n"
    "    CLUMP_FOR_EACH(Small, self) { Small s = Small_new(); if (!Small_is_null(s)) Small_tag(s) "
    "= 0u; }\n"
    "}\n"
    "__kernel void sum(CLUMP_HEAP_NO_ALLOC) {\n"
    "    ulong s = 0;\n"
    "    CLUMP_FOR_EACH(Small, self) s += Small_tag(self);\n"
    "    CLUMP_FOR_EACH(Base, self) s += Base_tag(self);\n"
    "    CLUMP_REDUCE(ulong, s, CLUMP_SUM);\n"
    "}\n"
    "__kernel void drop(CLUMP_HEAP) {\n"
    "    CLUMP_FOR_EACH(Small, self) Small_free(self);\n"
    "    CLUMP_FOR_EACH(Base, self) Base_free(self);\n"
    "}\n";

static void run(clump_heap *heap, clump_program *program, const char *name) {
    clump_kernel *kernel = cl_fixture_kernel(f, program, name);
    CHECK_OK(f, clump_heap_do_all(heap, kernel, NULL));
    CHECK_HEAP(f, heap);
    clump_kernel_destroy(kernel);
}

static void make(clump_heap *heap, clump_program *program, const char *class_name, uint64_t count) {
    int small = strcmp(class_name, "Small") == 0;
    clump_kernel *kernel = cl_fixture_kernel(f, program, small ? "make_small" : "make");
    uint64_t made;
    CHECK_OK(f, clump_heap_do_new(heap, kernel, class_name, count, &made, NULL));
    assert_true(made == count);
    CHECK_HEAP(f, heap);
    clump_kernel_destroy(kernel);
}

static void expect(clump_heap *heap, clump_program *program, uint64_t small, uint64_t base,
                   uint64_t sum) {
    uint64_t count, found;
    CHECK_OK(f, clump_heap_read_count(heap, "Small", &count));
    assert_true(count == small);
    CHECK_OK(f, clump_heap_read_count(heap, "Base", &count));
    assert_true(count == base);
    clump_kernel *kernel = cl_fixture_kernel(f, program, "sum");
    CHECK_OK(f, clump_heap_reduce(heap, kernel, sizeof found, &found, NULL));
    assert_true(found == sum);
    clump_kernel_destroy(kernel);
}

/* How far from the heap's begin its objects of a class reach, in bytes. */
static uint64_t find_reach(clump_heap *heap, const char *class_name, uint64_t count) {
    clump_ref *refs = malloc(count * sizeof *refs), last = 0;
    assert_non_null(refs);
    CHECK_OK(f, clump_heap_read_refs(heap, class_name, refs, count, &count));
    for (uint64_t i = 0; i < count; i++)
        if (refs[i] > last) last = refs[i];
    free(refs);
    return (uint64_t)(last >> 6) * clump_heap_get_info(heap)->granule_bytes;
}

static void test_big(void **state) {
    const uint64_t bytes = BYTES;
    clump_heap *heap = cl_fixture_heap(f, schema, bytes, 0);
    clump_program *program = cl_fixture_program(f, heap, source, NULL, NULL);
    /* Three quarters of the heap, most of it for the larger classes. */
    uint64_t small = 30000000, middle = bytes * 37 / 100 / 56, large = bytes * 37 / 100 / 296;
    (void)state;
    small = small / 12 * 12;
    middle = middle / 12 * 12;
    large = large / 24 * 24;
    print_message("%llu bytes, %llu + %llu + %llu objects\n", (unsigned long long)bytes,
                  (unsigned long long)small, (unsigned long long)middle, (unsigned long long)large);
    make(heap, program, "Small", small);
    make(heap, program, "Middle", middle);
    make(heap, program, "Large", large);
    uint64_t sum = small * (small - 1) / 2 + middle * (middle - 1) / 2 + large * (large - 1) / 2;
    expect(heap, program, small, middle + large, sum);
    assert_true(find_reach(heap, "Base", middle + large) > 4 * GIB);
    run(heap, program, "cull");
    /* Sums of the multiples of 3 and of 4 below n. */
    uint64_t a = small / 3, b = middle / 4, c = large / 4;
    sum = 3 * (a * (a - 1) / 2) + middle * (middle - 1) / 2 - 4 * (b * (b - 1) / 2) +
          large * (large - 1) / 2 - 4 * (c * (c - 1) / 2);
    expect(heap, program, a, middle - b + large - c, sum);
    run(heap, program, "breed");
    expect(heap, program, 2 * a, middle - b + large - c, sum);
    large /= 2;
    make(heap, program, "Large", large);
    sum += large * (large - 1) / 2;
    expect(heap, program, 2 * a, middle - b + 3 * large - c, sum);
    run(heap, program, "drop");
    expect(heap, program, 0, 0, 0);
    clump_heap_stats stats = {.size = sizeof stats};
    CHECK_OK(f, clump_heap_read_stats(heap, &stats, NULL, 0));
    assert_int_equal(stats.free_blocks, stats.blocks);
    clump_program_destroy(program);
    clump_heap_destroy(heap);
}

int main(void) {
    int result = cl_fixture_open(f, NULL);
    if (result) return result;
    if (f->capabilities->memory_bytes * 2 / 3 < BYTES) {
        fprintf(stderr, "skipped: the device has less than 9 GiB\n");
        cl_fixture_close(f);
        return CL_FIXTURE_SKIP;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_big)};
    result = cmocka_run_group_tests_name("big", tests, NULL, NULL);
    cl_fixture_close(f);
    return result;
}
