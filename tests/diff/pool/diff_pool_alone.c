/* Pools without a clump_context, on a device that says it has no compiler: allocations, moves,
 * buffers of callers; an allocator and OpenCL functions of their own; what such a pool is refused
 * for.
 *
 * Read first: include/clump/pool.h.
 */
#include <string.h>

#include "failing.h"

#define PART 300000u

static cl_int CL_API_CALL no_compiler(cl_device_id device, cl_device_info name, size_t capacity,
                                      void *to, size_t *needed) {
    cl_int code = clGetDeviceInfo(device, name, capacity, to, needed);
    if (!code && to && name == CL_DEVICE_COMPILER_AVAILABLE) *(cl_bool *)to = CL_FALSE;
    return code;
}
static cl_program CL_API_CALL no_program(cl_context context, cl_uint count, const char **texts,
                                         const size_t *lengths, cl_int *code) {
    *code = CL_COMPILER_NOT_AVAILABLE;
    return NULL;
}
static const clump_cl_functions functions = {
    .size = sizeof functions, .GetDeviceInfo = no_compiler, .CreateProgramWithSource = no_program};

static cl_fixture open_fixture(void) {
    cl_fixture f;
    int result = cl_fixture_open(&f, NULL);
    if (result == CL_FIXTURE_SKIP) skip();
    assert_int_equal(result, 0);
    return f;
}

static void pool_ok(clump_pool *pool, clump_status found, int line) {
    clump_error error;
    if (!found) return;
    clump_pool_get_error(pool, &error);
    fail_msg("line %d: %s", line, error.message);
}
#define POOL_OK(pool, call) pool_ok((pool), (call), __LINE__)

static void fill(cl_command_queue queue, const clump_region *region, uint32_t tag) {
    CHECK_CL(clEnqueueFillBuffer(queue, region->buffer, &tag, sizeof tag, region->offset, PART, 0,
                                 NULL, NULL));
}

static void expect(cl_command_queue queue, cl_mem buffer, uint64_t offset, uint32_t tag) {
    static uint32_t words[PART / 4];
    CHECK_CL(clEnqueueReadBuffer(queue, buffer, CL_TRUE, offset, PART, words, 0, NULL, NULL));
    for (uint32_t i = 0; i < PART / 4; i++) assert_int_equal(words[i], tag);
}

static void serves(void **state) {
    cl_fixture f = open_fixture();
    clump_pool *pool;
    clump_error error;
    memset(&failing, 0, sizeof failing);
    clump_pool_desc desc = {.size = sizeof desc,
                            .queue = f.queue,
                            .cl = &functions,
                            .allocator = failing_allocator,
                            .chunk_bytes = 1 << 20};
    clump_context_desc with = {.size = sizeof with,
                               .context = f.context,
                               .device = f.device,
                               .queue = f.queue,
                               .cl = &functions};
    clump_context *context;
    cl_fixture_expect_words(&error, clump_context_create(&with, &context, &error),
                            CLUMP_ERR_UNSUPPORTED, "compiler", "clump_context_create", __LINE__);
    if (clump_pool_create(&desc, &pool, &error)) fail_msg("%s", error.message);
    assert_true(failing.blocks > 0);

    clump_allocation first, second;
    clump_region region;
    clump_allocation_desc part = {.size = sizeof part, .bytes = PART};
    POOL_OK(pool, clump_pool_alloc(pool, &part, &first, NULL));
    POOL_OK(pool, clump_pool_alloc(pool, &part, &second, &region));
    fill(f.queue, &region, 5);
    POOL_OK(pool, clump_pool_change(pool, second, CLUMP_PART_MOVABLE,
                                    &(clump_allocation_desc){.size = sizeof(clump_allocation_desc),
                                                             .movable = 1}));
    cl_mem buffer;
    POOL_OK(pool, clump_pool_create_buffer(pool, &part, 0, NULL, &buffer));
    fill(f.queue, &(clump_region){buffer, 0, PART, NULL}, 6);
    POOL_OK(pool, clump_pool_free(pool, first));
    POOL_OK(pool,
            clump_pool_defragment(
                pool, &(clump_defrag_desc){.size = sizeof(clump_defrag_desc), .until_done = 1},
                NULL, NULL));
    clump_allocation_info info = {.size = sizeof info};
    POOL_OK(pool, clump_pool_get_info(pool, second, &info));
    assert_int_equal(info.region.offset, 0);
    expect(f.queue, info.region.buffer, 0, 5);
    expect(f.queue, buffer, 0, 6);
    void *mapped;
    POOL_OK(pool, clump_pool_map(pool, second, CL_MAP_READ, &mapped));
    assert_int_equal(((const uint32_t *)mapped)[PART / 4 - 1], 5);
    POOL_OK(pool, clump_pool_unmap(pool, second, mapped, NULL));
    POOL_OK(pool, clump_pool_check(pool));

    /* Nothing of it reaches a context that the user has. */
    clump_pool *other;
    clump_pool_stats stats = {.size = sizeof stats};
    POOL_OK(pool, clump_pool_alloc(pool, &part, &first, NULL));
    POOL_OK(pool, clump_pool_alloc(pool, &part, &first, NULL));
    assert_int_equal(
        clump_pool_create(&(clump_pool_desc){.size = sizeof(clump_pool_desc), .context = f.clump},
                          &other, &error),
        CLUMP_OK);
    POOL_OK(other, clump_pool_get_stats(other, &stats, NULL));
    assert_int_equal(stats.context_bytes, 0);
    clump_pool_destroy(other);

    CHECK_CL(clReleaseMemObject(buffer));
    CHECK_CL(clFinish(f.queue));
    clump_pool_destroy(pool);
    cl_fixture_close(&f); /* a device that tells late of the buffer's end has told by now */
    assert_int_equal(failing.blocks, 0);
}

static void refused(void **state) {
    cl_fixture f = open_fixture();
    clump_pool *pool = (clump_pool *)&f;
    clump_error error;
    clump_pool_desc desc = {.size = sizeof desc, .context = f.clump, .cl = &functions};
    cl_fixture_expect_words(&error, clump_pool_create(&desc, &pool, &error), CLUMP_ERR_USAGE,
                            "`cl` must be 0", "clump_pool_create", __LINE__);
    assert_null(pool);
    desc = (clump_pool_desc){
        .size = sizeof(clump_pool_desc), .context = f.clump, .allocator = failing_allocator};
    cl_fixture_expect_words(&error, clump_pool_create(&desc, &pool, &error), CLUMP_ERR_USAGE,
                            "must be 0", "clump_pool_create", __LINE__);
    desc = (clump_pool_desc){.size = sizeof(clump_pool_desc), .chunk_bytes = 1 << 20};
    cl_fixture_expect_words(&error, clump_pool_create(&desc, &pool, &error), CLUMP_ERR_USAGE,
                            "without a context a queue", "clump_pool_create", __LINE__);
    desc = (clump_pool_desc){.size = sizeof(clump_pool_desc),
                             .queue = f.queue,
                             .allocator = {.allocate = failing_allocator.allocate}};
    cl_fixture_expect_words(&error, clump_pool_create(&desc, &pool, &error), CLUMP_ERR_USAGE,
                            "set all three of", "clump_pool_create", __LINE__);
    desc = (clump_pool_desc){.size = sizeof(clump_pool_desc), .queue = f.queue, .alignment = 3};
    cl_fixture_expect_words(&error, clump_pool_create(&desc, &pool, &error), CLUMP_ERR_USAGE,
                            "power of two", "clump_pool_create", __LINE__);

    desc = (clump_pool_desc){.size = sizeof(clump_pool_desc), .queue = f.queue};
    assert_int_equal(clump_pool_create(&desc, &pool, &error), CLUMP_OK);
    clump_schema *schema;
    static const char text[] = "class A { uint x; }";
    assert_int_equal(clump_schema_parse(text, strlen(text), NULL, &schema, &error), CLUMP_OK);
    clump_heap_desc heap_desc = {.size = sizeof heap_desc,
                                 .context = f.clump,
                                 .schema = schema,
                                 .bytes = 4 << 20,
                                 .pool = pool};
    clump_heap *heap;
    CHECK_STATUS(&f, clump_heap_create(&heap_desc, &heap, NULL), CLUMP_ERR_USAGE);
    assert_non_null(strstr(clump_context_get_error(f.clump)->message, "pool"));
    clump_schema_destroy(schema);
    clump_pool_destroy(pool);
    cl_fixture_close(&f);
}

static int live_pool(const cl_fixture *on) {
    clump_pool *pool;
    clump_error error;
    clump_pool_desc desc = {
        .size = sizeof desc, .queue = on->queue, .cl = &failing_cl, .allocator = failing_allocator};
    clump_status status = clump_pool_create(&desc, &pool, &error);
    if (status) return 1;
    clump_pool_destroy(pool);
    return 0;
}

static void failures(void **state) {
    cl_fixture f = open_fixture();
    assert_true(failing_strike_all(live_pool, &f, CL_OUT_OF_RESOURCES, 0) > 10);
    assert_true(failing_refuse_all(live_pool, &f) > 2);
    cl_fixture_close(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(serves),
        cmocka_unit_test(refused),
        cmocka_unit_test(failures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
