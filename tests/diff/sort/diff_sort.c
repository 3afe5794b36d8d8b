/* The radix sort of the library against qsort: keys of every kind, counts around the sizes of
 * tiles and work-groups, work-groups of one item and of many on any device. Values are the places
 * of the pairs before, so that they show whether equal keys kept their order.
 *
 * With a number as argument: sort that many pairs of random keys, and print how long it takes. With
 * "tiny": few pairs by few groups, for Oclgrind, which sees accesses out of bounds that change no
 * result.
 *
 * Read first: cl/sort/sort.cl.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cl_fixture.h"
#include "heap/access.h"
#include "sort/sort.h"

static cl_fixture fixture;

typedef struct pair {
    uint32_t key, place;
} pair;

static int compare_pairs(const void *a, const void *b) {
    const pair *p = a, *q = b;
    if (p->key != q->key) return p->key < q->key ? -1 : 1;
    return p->place < q->place ? -1 : p->place > q->place;
}

typedef enum key_kind { RANDOM, FEW, SORTED, REVERSED, EQUAL, EXTREME, ONE_DIGIT, KINDS } key_kind;
static const char *const kind_names[KINDS] = {"random", "few different", "sorted",   "reversed",
                                              "equal",  "extreme",       "one digit"};

static uint32_t make_key(key_kind kind, uint32_t i, uint32_t count) {
    uint32_t random = test_hash(i * 2 + (uint32_t)kind);
    switch (kind) {
    case FEW: return random % 7 * 0x01010101u;
    case SORTED: return i * 3;
    case REVERSED: return count - i;
    case EQUAL: return 0xdeadbeefu;
    case EXTREME: return random & 1 ? (random & 2 ? UINT32_MAX : 0x80000000u) : random & 2 ? 0 : 1;
    case ONE_DIGIT: return 0x12005678u | (random & 0xffu) << 16; /* the other passes are skipped */
    default: return random;
    }
}

static void check_sort(key_kind kind, uint32_t count) {
    size_t bytes = count * sizeof(uint32_t), guard = 64;
    uint32_t *keys = malloc(bytes + guard), *values = malloc(bytes + guard);
    pair *pairs = malloc(count * sizeof *pairs + 1);
    assert_true(keys && values && pairs);
    memset(keys, 0x5a, bytes + guard);
    memset(values, 0x5a, bytes + guard);
    for (uint32_t i = 0; i < count; i++) {
        keys[i] = make_key(kind, i, count);
        values[i] = i;
        pairs[i] = (pair){keys[i], i};
    }
    cl_mem key_buffer = cl_fixture_buffer(&fixture, keys, bytes + guard);
    cl_mem value_buffer = cl_fixture_buffer(&fixture, values, bytes + guard);
    CHECK_OK(&fixture, clumpi_sort_pairs(fixture.clump, key_buffer, value_buffer, count));
    CHECK_OK(&fixture, clumpi_finish(fixture.clump));
    cl_fixture_read(&fixture, key_buffer, keys, bytes + guard);
    cl_fixture_read(&fixture, value_buffer, values, bytes + guard);
    qsort(pairs, count, sizeof *pairs, compare_pairs);
    for (uint32_t i = 0; i < count; i++)
        if (keys[i] != pairs[i].key || values[i] != pairs[i].place)
            fail_msg("%s, %u pairs, groups of %zu: place %u has %x from %u, expected %x from %u",
                     kind_names[kind], count, fixture.clump->sizes.scan_local, i, keys[i],
                     values[i], pairs[i].key, pairs[i].place);
    for (size_t i = 0; i < guard; i++) {
        assert_int_equal(((unsigned char *)(keys + count))[i], 0x5a);
        assert_int_equal(((unsigned char *)(values + count))[i], 0x5a);
    }
    CHECK_CL(clReleaseMemObject(key_buffer));
    CHECK_CL(clReleaseMemObject(value_buffer));
    free(keys);
    free(values);
    free(pairs);
}

/* Every kind and count with work-groups of so many items. */
static void check_all(size_t local) {
    static const uint32_t counts[] = {0,   1,   2,    3,    7,    8,    9,     63,    64,   255,
                                      256, 257, 2047, 2048, 2049, 4096, 10007, 65535, 65536};
    clumpi_launch_sizes before = fixture.clump->sizes;
    fixture.clump->sizes.scan_local = local;
    for (key_kind kind = 0; kind < KINDS; kind++) {
        for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) check_sort(kind, counts[i]);
        check_sort(kind, 1000003);
    }
    fixture.clump->sizes = before;
}

static void groups_of_one(void **state) {
    (void)state;
    check_all(1);
}

static void groups_of_many(void **state) {
    (void)state;
    if (fixture.capabilities->work_group_max < 256) skip();
    check_all(256);
}

static void groups_of_a_few(void **state) {
    (void)state;
    if (fixture.capabilities->work_group_max < 192) skip();
    check_all(64);
    check_all(192); /* no power of two */
}

/* Tables of more groups than a tile of the prefix kernel has items. */
static void many_groups(void **state) {
    (void)state;
    clumpi_launch_sizes before = fixture.clump->sizes;
    fixture.clump->sizes.scan_groups = 1000;
    check_sort(RANDOM, 300000);
    check_sort(FEW, 300000);
    fixture.clump->sizes = before;
}

static void same_result_again(void **state) {
    (void)state;
    for (int i = 0; i < 5; i++) check_sort(FEW, 123457);
}

/* Buffers that live, of those that the library makes. */
static long buffers;

static cl_mem CL_API_CALL create_buffer(cl_context context, cl_mem_flags flags, size_t bytes,
                                        void *from, cl_int *code) {
    cl_mem made = clCreateBuffer(context, flags, bytes, from, code);
    buffers += made != NULL;
    return made;
}

static cl_int CL_API_CALL release_buffer(cl_mem buffer) {
    buffers--;
    return clReleaseMemObject(buffer);
}

static int open_counting(void **state) {
#define LINKED(name, result, parameters) .name = cl##name,
    static clump_cl_functions functions = {sizeof functions, CLUMP_CL_FUNCTION_LIST(LINKED)};
#undef LINKED
    functions.CreateBuffer = create_buffer;
    functions.ReleaseMemObject = release_buffer;
    return cl_fixture_open(&fixture, &(cl_fixture_desc){.cl = &functions});
}

static void nothing_is_left(void **state) {
    (void)state;
    long before = buffers;
    check_sort(RANDOM, 1000);
    assert_int_equal(buffers, before);
}

static void tiny(void **state) {
    static const size_t locals[] = {1, 256};
    static const uint32_t counts[] = {9, 2100};
    (void)state;
    fixture.clump->sizes.scan_groups = 2;
    for (size_t i = 0; i < 2; i++) {
        int is_gpu = fixture.capabilities->personality == CLUMP_PERSONALITY_GPU;
        if (is_gpu != (locals[i] > 1) || locals[i] > fixture.capabilities->work_group_max) continue;
        fixture.clump->sizes.scan_local = locals[i];
        for (size_t n = 0; n < 2; n++) check_sort(FEW, counts[n]);
    }
}

static double now(void) {
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void measure(uint32_t count) {
    size_t bytes = count * sizeof(uint32_t);
    uint32_t *keys = malloc(bytes);
    assert_non_null(keys);
    cl_mem values = cl_fixture_buffer(&fixture, NULL, bytes);
    for (key_kind kind = 0; kind < KINDS; kind++) {
        for (uint32_t i = 0; i < count; i++) keys[i] = make_key(kind, i, count);
        cl_mem buffer = cl_fixture_buffer(&fixture, keys, bytes);
        double best = 1e9;
        for (int i = 0; i < 7; i++) {
            cl_fixture_write(&fixture, buffer, keys, bytes);
            double start = now();
            CHECK_OK(&fixture, clumpi_sort_pairs(fixture.clump, buffer, values, count));
            CHECK_OK(&fixture, clumpi_finish(fixture.clump));
            double taken = now() - start;
            if (taken < best) best = taken;
        }
        print_message("%-14s %u pairs: %.3f ms, %.3f G/s\n", kind_names[kind], count, best * 1e3,
                      count / best * 1e-9);
        CHECK_CL(clReleaseMemObject(buffer));
    }
    CHECK_CL(clReleaseMemObject(values));
    free(keys);
}

static int open_for_one(void **state) {
    return cl_fixture_open(&fixture, &(cl_fixture_desc){.personality = CLUMP_PERSONALITY_CPU});
}
static int open_for_many(void **state) {
    return cl_fixture_open(&fixture, &(cl_fixture_desc){.personality = CLUMP_PERSONALITY_GPU});
}
static int open_as_it_is(void **state) {
    return cl_fixture_open(&fixture, NULL);
}
static int close_again(void **state) {
    cl_fixture_close(&fixture);
    return 0;
}

int main(int argc, char **argv) {
    int result = cl_fixture_open(&fixture, NULL);
    if (result) return result;
    int is_tiny = argc > 1 && strcmp(argv[1], "tiny") == 0;
    if (argc > 1 && !is_tiny) measure((uint32_t)strtoul(argv[1], NULL, 0));
    cl_fixture_close(&fixture);
    if (is_tiny) {
        const struct CMUnitTest few[] = {
            cmocka_unit_test_setup_teardown(tiny, open_for_one, close_again),
            cmocka_unit_test_setup_teardown(tiny, open_for_many, close_again),
        };
        return cmocka_run_group_tests_name("tiny", few, NULL, NULL);
    }
    if (argc > 1) return 0;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(groups_of_one, open_for_one, close_again),
        cmocka_unit_test_setup_teardown(many_groups, open_as_it_is, close_again),
        cmocka_unit_test_setup_teardown(same_result_again, open_as_it_is, close_again),
        cmocka_unit_test_setup_teardown(nothing_is_left, open_counting, close_again),
    };
    const struct CMUnitTest others[] = {
        cmocka_unit_test_setup_teardown(groups_of_many, open_for_many, close_again),
        cmocka_unit_test_setup_teardown(groups_of_a_few, open_for_many, close_again),
    };
    result = cmocka_run_group_tests(tests, NULL, NULL);
    if (cl_fixture_is_whole()) result += cmocka_run_group_tests(others, NULL, NULL);
    return result;
}
