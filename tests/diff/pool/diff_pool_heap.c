/* Heaps whose memory comes from a pool: several from one, compacted and freed, beside allocations
 * that move.
 *
 * Read first: include/clump/heap.h, include/clump/pool.h.
 */
#include <string.h>

#include "cl_fixture.h"

static const char schema_text[] = "class Body { uint id; ref Body friend; float x; }";
static const char source[] =
    "__kernel void make(CLUMP_HEAP, uint base) {\n"
    "    CLUMP_FOR_EACH_NEW(Body, self, i) {\n"
    "        Body_id(self) = base + i;\n"
    "        Body_friend(self) = self;\n"
    "        Body_x(self) = i;\n"
    "    }\n"
    "}\n"
    "__kernel void thin_out(CLUMP_HEAP) {\n"
    "    CLUMP_FOR_EACH(Body, self) if (Body_id(self) % 3) Body_free(self);\n"
    "}\n"
    "__kernel void sum(CLUMP_HEAP_NO_ALLOC) {\n"
    "    uint n = 0;\n"
    "    CLUMP_FOR_EACH(Body, self) {\n"
    "        n += Body_id(self);\n"
    "        if (Body_id(Body_friend(self)) != Body_id(self)) n += 1000000;\n"
    "    }\n"
    "    CLUMP_REDUCE(uint, n, CLUMP_SUM);\n"
    "}\n";

#define OBJECTS 3000u
#define HEAPS 3u

static uint32_t expected_sum(uint32_t base) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < OBJECTS; i++)
        if ((base + i) % 3 == 0) n += base + i;
    return n;
}

static clump_schema *parse(void) {
    clump_schema *schema;
    assert_int_equal(clump_schema_parse(schema_text, strlen(schema_text), NULL, &schema, NULL),
                     CLUMP_OK);
    return schema;
}

static void several_heaps(void **state) {
    cl_fixture f;
    int result = cl_fixture_open(&f, NULL);
    if (result == CL_FIXTURE_SKIP) skip();
    assert_int_equal(result, 0);
    clump_pool *pool;
    clump_error error;
    clump_pool_desc of_pool = {.size = sizeof of_pool, .context = f.clump, .chunk_bytes = 4 << 20};
    assert_int_equal(clump_pool_create(&of_pool, &pool, &error), CLUMP_OK);
    clump_schema *schema = parse();
    clump_heap *heaps[HEAPS];
    clump_program *programs[HEAPS];
    clump_allocation gaps[HEAPS], moving;
    /* Gaps between the heaps, which something movable can fill. */
    for (uint32_t i = 0; i < HEAPS; i++) {
        clump_allocation_desc gap = {.size = sizeof gap, .bytes = 100000};
        assert_int_equal(clump_pool_alloc(pool, &gap, &gaps[i], NULL), CLUMP_OK);
        clump_heap_desc desc = {.size = sizeof desc,
                                .context = f.clump,
                                .schema = schema,
                                .bytes = i == 2 ? 3 << 20 : 1 << 20,
                                .pool = pool};
        CHECK_OK(&f, clump_heap_create(&desc, &heaps[i], NULL));
        programs[i] = cl_fixture_program(&f, heaps[i], source, NULL, NULL);
        clump_kernel *make = cl_fixture_kernel(&f, programs[i], "make");
        uint32_t base = 100 * i;
        CHECK_OK(&f, clump_kernel_set_arg(make, 0, sizeof base, &base));
        uint64_t made;
        CHECK_OK(&f, clump_heap_do_new(heaps[i], make, "Body", OBJECTS, &made, NULL));
        assert_int_equal(made, OBJECTS);
        clump_kernel_destroy(make);
    }
    clump_pool_stats stats = {.size = sizeof stats};
    clump_pool_get_stats(pool, &stats, NULL);
    assert_int_equal(stats.chunks, 1);
    assert_int_equal(stats.unique, 1); /* the large heap */
    clump_allocation_desc d = {.size = sizeof d, .bytes = 90000, .movable = 1};
    assert_int_equal(clump_pool_alloc(pool, &d, &moving, NULL), CLUMP_OK);
    for (uint32_t i = 0; i < HEAPS; i++) assert_int_equal(clump_pool_free(pool, gaps[i]), CLUMP_OK);
    assert_int_equal(
        clump_pool_defragment(
            pool, &(clump_defrag_desc){.size = sizeof(clump_defrag_desc), .until_done = 1}, NULL,
            NULL),
        CLUMP_OK);
    clump_pool_get_stats(pool, &stats, NULL);
    assert_true(stats.moves > 0);
    for (uint32_t i = 0; i < HEAPS; i++) {
        clump_kernel *thin = cl_fixture_kernel(&f, programs[i], "thin_out");
        clump_kernel *sum = cl_fixture_kernel(&f, programs[i], "sum");
        CHECK_OK(&f, clump_heap_do_all(heaps[i], thin, NULL));
        CHECK_OK(&f, clump_heap_compact(heaps[i], NULL, NULL, NULL));
        CHECK_HEAP(&f, heaps[i]);
        uint32_t n = 0;
        CHECK_OK(&f, clump_heap_reduce(heaps[i], sum, sizeof n, &n, NULL));
        assert_int_equal(n, expected_sum(100 * i));
        clump_kernel_destroy(thin);
        clump_kernel_destroy(sum);
    }
    assert_int_equal(clump_pool_check(pool), CLUMP_OK);
    for (uint32_t i = 0; i < HEAPS; i++) {
        clump_program_destroy(programs[i]);
        clump_heap_destroy(heaps[i]);
    }
    clump_pool_get_stats(pool, &stats, NULL);
    assert_int_equal(stats.allocations, 1);
    clump_pool_destroy(pool);
    clump_schema_destroy(schema);
    cl_fixture_close(&f);
}

static void refusals(void **state) {
    cl_fixture f, other;
    int result = cl_fixture_open(&f, NULL);
    if (result == CL_FIXTURE_SKIP) skip();
    assert_int_equal(cl_fixture_open(&other, NULL), 0);
    clump_pool *pool;
    clump_error error;
    uint64_t bytes = cl_fixture_small_heap_bytes(f.clump), limit = 4 * bytes;
    clump_pool_desc of_pool = {
        .size = sizeof of_pool, .context = f.clump, .chunk_bytes = limit, .limit_bytes = limit};
    assert_int_equal(clump_pool_create(&of_pool, &pool, &error), CLUMP_OK);
    clump_schema *schema = parse();
    clump_heap *heap;
    clump_heap_desc desc = {.size = sizeof desc,
                            .context = other.clump,
                            .schema = schema,
                            .bytes = bytes,
                            .pool = pool};
    clump_status status = clump_heap_create(&desc, &heap, NULL);
    cl_fixture_expect_words(clump_context_get_error(other.clump), status, CLUMP_ERR_USAGE,
                            "another clump_context", "clump_heap_create", __LINE__);
    desc.context = f.clump;
    desc.bytes = 2 * limit;
    status = clump_heap_create(&desc, &heap, NULL);
    cl_fixture_expect_words(clump_context_get_error(f.clump), status, CLUMP_ERR_DEVICE_MEMORY,
                            "limit_bytes of pool", "clump_heap_create", __LINE__);
    clump_pool_stats stats = {.size = sizeof stats};
    clump_pool_get_stats(pool, &stats, NULL);
    assert_int_equal(stats.allocations, 0);
    assert_null(heap);
    clump_pool_destroy(pool);
    clump_schema_destroy(schema);
    cl_fixture_close(&other);
    cl_fixture_close(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(several_heaps), cmocka_unit_test(refusals)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
