/* Pools: what is refused and in which words; every OpenCL call and every request for host memory
 * made to fail.
 *
 * "Nothing changed" means: the dump of the pool is the same to the letter. After a call that
 * failed the pool passes its check, all contents are what was written, and the same call succeeds
 * when it is tried again.
 *
 * Read first: include/clump/pool.h, failing.h.
 */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cl_fixture.h"
#include "failing.h"

/* ---- Bad input ------------------------------------------------------------------------------- */

static char *dumped; /* the last one; the caller of dump() frees it */
static int append(void *user, const void *text, size_t bytes) {
    dumped = malloc(bytes + 1);
    assert_non_null(dumped);
    memcpy(dumped, text, bytes);
    dumped[bytes] = 0;
    return 0;
}

static char *dump(clump_pool *pool) {
    assert_int_equal(clump_pool_dump(pool, CLUMP_POOL_JSON, append, NULL), CLUMP_OK);
    return dumped;
}

/* `refused` of the statistics counts calls, so it may differ. */
static void same_dump(clump_pool *pool, const char *before, int line) {
    char *now = dump(pool);
    const char *a = strstr(before, "\"refused\""), *b = strstr(now, "\"refused\"");
    assert_true(a && b);
    if (a - before != b - now || memcmp(before, now, (size_t)(a - before)) != 0 ||
        strcmp(strchr(a, ','), strchr(b, ',')) != 0)
        fail_msg("line %d: a refused call changed the pool:\n%s\n%s", line, before, now);
    free(now);
}

static void refused(clump_pool *pool, clump_status status, clump_status expected, const char *words,
                    const char *call, int line, const char *before) {
    clump_error error;
    clump_pool_get_error(pool, &error);
    cl_fixture_expect_words(&error, status, expected, words, call, line);
    if (before) same_dump(pool, before, line);
}
#define REFUSED(pool, call, status, words, before)                                                 \
    refused((pool), (call), (status), (words), #call, __LINE__, (before))

static clump_error error_of(clump_pool *pool) {
    clump_error error;
    return *clump_pool_get_error(pool, &error);
}

static cl_fixture open_fixture(const clump_cl_functions *cl) {
    cl_fixture f;
    cl_fixture_desc desc = {.cl = cl};
    int result = cl_fixture_open(&f, &desc);
    if (result == CL_FIXTURE_SKIP) skip();
    assert_int_equal(result, 0);
    return f;
}

static void no_pool(clump_pool_desc desc, const char *words, int line) {
    clump_pool *pool = (clump_pool *)&desc;
    clump_error error;
    clump_status status = clump_pool_create(&desc, &pool, &error);
    assert_null(pool);
    cl_fixture_expect_words(&error, status, CLUMP_ERR_USAGE, words, "clump_pool_create", line);
}

static void bad_descs(void **state) {
    cl_fixture f = open_fixture(NULL), other = open_fixture(NULL);
    clump_pool_desc d = {.size = sizeof d};
    no_pool((clump_pool_desc){.size = sizeof(clump_pool_desc)}, "with a context", __LINE__);
#define BAD(member, value, words)                                                                  \
    do {                                                                                           \
        d = (clump_pool_desc){                                                                     \
            .size = sizeof(clump_pool_desc), .context = f.clump, .member = (value)};               \
        no_pool(d, words, __LINE__);                                                               \
    } while (0)
    BAD(alignment, 384, "power of two");
    BAD(alignment, 8, "base alignment");
    BAD(chunk_bytes, 1, "chunks of 1 bytes");
    BAD(limit_bytes, 1, "is too small for one chunk");
    BAD(unique_share, 1.5, "unique_share is 1.5");
    BAD(unique_share, -1, "unique_share is -1");
    BAD(pause_frames, 65, "pause_frames is 65");
    BAD(pause_factor, 1.5, "pause_factor is 1.5");
    BAD(pause_factor, NAN, "pause_factor");
    BAD(fit, CLUMP_FIT_COUNT, "strategy 4");
    BAD(margin_bytes, 2u << 20, "margins of 2097152");
    BAD(flags, CLUMP_POOL_COMPACT_WHEN_FULL, "`moved`");
    BAD(flags, 1u << 4, "unknown pool flag 0x10");
    BAD(flags, UINT32_MAX, "unknown pool flag 0xfffffff0");
    BAD(chunk_bytes, UINT64_C(1) << 60,
        "chunks of 1152921504606846976 bytes are too large: the device has");
    BAD(chunk_bytes, UINT64_MAX,
        "chunks of 18446744073709551615 bytes are too large: the device has");
    BAD(queue, other.queue, "another cl_context");
#undef BAD
    clump_pool_destroy(NULL);
    cl_fixture_close(&other);
    cl_fixture_close(&f);
}

static void bad_calls(void **state) {
    cl_fixture f = open_fixture(NULL);
    clump_pool *pool, *other;
    clump_error error;
    clump_pool_desc desc = {
        .size = sizeof desc, .context = f.clump, .chunk_bytes = 1 << 20, .limit_bytes = 4 << 20};
    assert_int_equal(clump_pool_create(&desc, &pool, &error), CLUMP_OK);
    assert_int_equal(clump_pool_create(&desc, &other, &error), CLUMP_OK);
    clump_allocation_desc a = {
        .size = sizeof a, .bytes = 1000, .movable = 1, .name = "\"quoted\" \\ and\n so on"};
    clump_allocation live, gone, foreign, none = 5;
    clump_region region;
    clump_allocation_info info = {.size = sizeof info};
    cl_mem buffer;
    void *memory;
    assert_int_equal(clump_pool_alloc(pool, &a, &gone, NULL), CLUMP_OK);
    assert_int_equal(clump_pool_alloc(pool, &a, &live, NULL), CLUMP_OK);
    assert_int_equal(clump_pool_alloc(other, &a, &foreign, NULL), CLUMP_OK);
    assert_int_equal(clump_pool_free(pool, gone), CLUMP_OK);
    char *before = dump(pool);
    assert_non_null(strstr(before, "\\\"quoted\\\" \\\\ and\\u000a so on"));
#define ALLOC(change, status, words)                                                               \
    do {                                                                                           \
        clump_allocation_desc bad = a;                                                             \
        change;                                                                                    \
        none = 5;                                                                                  \
        REFUSED(pool, clump_pool_alloc(pool, &bad, &none, &region), status, words, before);        \
        assert_true(!none && !region.buffer);                                                      \
    } while (0)
    ALLOC(bad.bytes = 0, CLUMP_ERR_USAGE, "at least 1 byte");
    ALLOC(bad.bytes = UINT64_MAX, CLUMP_ERR_DEVICE_MEMORY, "is 4194304");
    assert_null(strstr(error_of(pool).message, "multiple of"));
    ALLOC(bad.bytes = UINT64_MAX - 3000, CLUMP_ERR_DEVICE_MEMORY, "too large");
    ALLOC(bad.bytes = 4 << 20, CLUMP_ERR_DEVICE_MEMORY, "is limited to 4194304");
    ALLOC(bad.alignment = 48, CLUMP_ERR_USAGE, "power of two");
    ALLOC(bad.alignment = UINT64_C(1) << 63, CLUMP_ERR_DEVICE_MEMORY,
          "1000 bytes at a multiple of 9223372036854775808");
    ALLOC(bad.memory = CLUMP_MEMORY_COUNT, CLUMP_ERR_USAGE, "unknown memory 6");
    REFUSED(pool, clump_pool_alloc(pool, NULL, &none, NULL), CLUMP_ERR_USAGE, "desc", before);
    REFUSED(pool, clump_pool_alloc(pool, &a, NULL, NULL), CLUMP_ERR_USAGE, "a pointer", before);
#define ALL_CALLS(X, h)                                                                            \
    X(clump_pool_free(pool, h))                                                                    \
    X(clump_pool_get_info(pool, h, &info))                                                         \
    X(clump_pool_get_buffer(pool, h, &buffer))                                                     \
    X(clump_pool_change(                                                                           \
        pool, h, CLUMP_PART_MOVABLE,                                                               \
        &(clump_allocation_desc){.size = sizeof(clump_allocation_desc), .movable = 1}))            \
    X(clump_pool_pin(pool, h, 1))                                                                  \
    X(clump_pool_pin(pool, h, -1))                                                                 \
    X(clump_pool_use(pool, h, NULL))                                                               \
    X(clump_pool_change(                                                                           \
        pool, h, CLUMP_PART_NAME,                                                                  \
        &(clump_allocation_desc){.size = sizeof(clump_allocation_desc), .name = "x"}))             \
    X(clump_pool_change(                                                                           \
        pool, h, CLUMP_PART_USER_DATA,                                                             \
        &(clump_allocation_desc){.size = sizeof(clump_allocation_desc), .user_data = NULL}))       \
    X(clump_pool_map(pool, h, CL_MAP_READ, &memory))                                               \
    X(clump_pool_unmap(pool, h, &region, NULL))                                                    \
    X(clump_pool_finish_move(pool, h, CLUMP_MOVE_COPY))
#define IS_GONE(call) REFUSED(pool, call, CLUMP_ERR_REFERENCE, "already freed", before);
#define IS_FOREIGN(call)                                                                           \
    REFUSED(pool, call, CLUMP_ERR_REFERENCE, "does not belong to this pool", before);
    ALL_CALLS(IS_GONE, gone)
    if (foreign >> 48 != live >> 48) { /* their marks are equal once in 65,536 runs */
        ALL_CALLS(IS_FOREIGN, foreign)
    }
    ALL_CALLS(IS_FOREIGN, live + 100000)
    REFUSED(pool, clump_pool_pin(pool, live, -1), CLUMP_ERR_USAGE, "pinned 0 times", before);
    REFUSED(pool, clump_pool_use(pool, live, NULL), CLUMP_ERR_USAGE, "the event is NULL", before);
    REFUSED(pool, clump_pool_map(pool, live, 0, &memory), CLUMP_ERR_USAGE, "CL_MAP_READ", before);
    REFUSED(pool, clump_pool_unmap(pool, live, &region, NULL), CLUMP_ERR_USAGE, "not mapped",
            before);
    REFUSED(pool, clump_pool_get_info(pool, live, NULL), CLUMP_ERR_USAGE, "a pointer", before);
    REFUSED(pool, clump_pool_get_buffer(pool, live, NULL), CLUMP_ERR_USAGE, "a pointer", before);
    REFUSED(pool, clump_pool_get_stats(pool, NULL, NULL), CLUMP_ERR_USAGE, "a pointer", before);
    REFUSED(pool, clump_pool_dump(pool, CLUMP_POOL_JSON, NULL, NULL), CLUMP_ERR_USAGE, "function",
            before);
    REFUSED(pool, clump_pool_dump(pool, CLUMP_POOL_SVG, CLUMP_TO_PATH("/dev/full")), CLUMP_ERR_IO,
            "cannot write /dev/full: No space", before);
    REFUSED(pool, clump_pool_dump(pool, (clump_pool_format)2, append, NULL), CLUMP_ERR_USAGE,
            "unknown format 2", before);
    REFUSED(pool, clump_pool_change(pool, live, 0, &a), CLUMP_ERR_USAGE, "0x0, but must be in 0x7",
            before);
    REFUSED(pool, clump_pool_change(pool, live, 9, &a), CLUMP_ERR_USAGE, "0x9, but must be in 0x7",
            before);
    REFUSED(pool, clump_pool_change(pool, live, 1, NULL), CLUMP_ERR_USAGE, "values", before);
    REFUSED(pool, clump_pool_next_move(pool, NULL), CLUMP_ERR_USAGE, "a pointer", before);
    REFUSED(pool, clump_pool_finish_move(pool, live, CLUMP_MOVE_COPY), CLUMP_ERR_USAGE,
            "no move of the allocation", before);
    REFUSED(pool, clump_pool_end_frame(pool, 1, NULL), CLUMP_ERR_USAGE, "or neither", before);
#define STEP(member, value, words)                                                                 \
    REFUSED(pool,                                                                                  \
            clump_pool_defragment(                                                                 \
                pool, &(clump_defrag_desc){.size = sizeof(clump_defrag_desc), .member = (value)},  \
                NULL, NULL),                                                                       \
            CLUMP_ERR_USAGE, words, before)
    REFUSED(pool, clump_pool_defragment(pool, NULL, NULL, &(clump_sync){.wait_count = 1}),
            CLUMP_ERR_USAGE, "clump_pool_defragment: set both wait_count and wait_list", before);
    STEP(order, (clump_defrag_order)2, "order 2");
    STEP(budget_us, -1, "budget_us is -1");
    STEP(budget_us, NAN, "budget_us");
    STEP(budget_us, INFINITY, "budget_us");
    STEP(weights, &(clump_defrag_weights){.location = -1}, "weights are -1");
    STEP(weights, &(clump_defrag_weights){.location = INFINITY}, "weights are inf");
    STEP(weights, &(clump_defrag_weights){.free = INFINITY}, "and inf");
    STEP(weights, &(clump_defrag_weights){.free = NAN}, "weights");
    STEP(weights, &(clump_defrag_weights){.free_limit = 0.5}, "free_small");
    REFUSED(
        pool,
        clump_pool_defragment(
            pool, &(clump_defrag_desc){.size = sizeof(clump_defrag_desc), .manual = 1, .wait = 1},
            NULL, NULL),
        CLUMP_ERR_USAGE, "manual", before);
    free(before);
    /* What is in use is not freed. */
    assert_int_equal(clump_pool_pin(pool, live, 1), CLUMP_OK);
    before = dump(pool);
    REFUSED(pool, clump_pool_free(pool, live), CLUMP_ERR_USAGE, "1 pins", before);
    free(before);
    assert_int_equal(clump_pool_pin(pool, live, -1), CLUMP_OK);
    assert_int_equal(clump_pool_map(pool, live, CL_MAP_WRITE, &memory), CLUMP_OK);
    before = dump(pool);
    REFUSED(pool, clump_pool_free(pool, live), CLUMP_ERR_USAGE, "1 maps", before);
    free(before);
    assert_int_equal(clump_pool_unmap(pool, live, memory, NULL), CLUMP_OK);
    /* What is not named stays. */
    a = (clump_allocation_desc){
        .size = sizeof(clump_allocation_desc), .name = "again", .user_data = &a};
    assert_int_equal(clump_pool_change(pool, live, CLUMP_PART_USER_DATA, &a), CLUMP_OK);
    assert_int_equal(clump_pool_get_info(pool, live, &info), CLUMP_OK);
    assert_true(info.movable && info.user_data == &a && strcmp(info.name, "again") != 0);
    assert_int_equal(clump_pool_change(pool, live, CLUMP_PART_NAME | CLUMP_PART_MOVABLE, &a),
                     CLUMP_OK);
    assert_int_equal(clump_pool_get_info(pool, live, &info), CLUMP_OK);
    assert_true(!info.movable && info.user_data == &a && strcmp(info.name, "again") == 0);
    assert_int_equal(clump_pool_free(pool, live), CLUMP_OK);
    clump_pool_destroy(pool);
    clump_pool_destroy(other);
    /* Every call without a pool. */
    pool = NULL;
#define NO_POOL(call) REFUSED(pool, call, CLUMP_ERR_USAGE, "the pool is NULL", NULL);
    ALL_CALLS(NO_POOL, live)
    clump_pool_stats stats = {.size = sizeof stats};
    NO_POOL(clump_pool_alloc(pool, &a, &none, NULL))
    NO_POOL(clump_pool_get_stats(pool, &stats, NULL))
    NO_POOL(clump_pool_check(pool))
    NO_POOL(clump_pool_trim(pool))
    NO_POOL(clump_pool_dump(pool, CLUMP_POOL_JSON, append, NULL))
    NO_POOL(clump_pool_defragment(
        pool, &(clump_defrag_desc){.size = sizeof(clump_defrag_desc), .until_done = 1}, NULL, NULL))
    NO_POOL(clump_pool_defragment(pool, NULL, NULL, NULL))
    NO_POOL(clump_pool_end_frame(pool, 0, NULL))
    assert_null(clump_pool_get_error(pool, NULL));
    cl_fixture_close(&f);
}

/* Limits of a pool and of all pools; a full pool defragments and tries again. */
static clump_allocation moved_last;
static clump_pool *moving_pool;
/* The request that made room is still under way: nobody may see anything of it. */
static void note_move(void *user, const clump_move *move) {
    moved_last = move->allocation;
    assert_int_equal(clump_pool_check(moving_pool), CLUMP_OK);
    clump_allocation_info info = {.size = sizeof info};
    assert_int_equal(clump_pool_get_info(moving_pool, 0, &info), CLUMP_OK);
    while (info.next) {
        assert_int_equal(clump_pool_get_info(moving_pool, info.next, &info), CLUMP_OK);
        assert_non_null(info.region.buffer);
    }
}

static uint64_t context_bytes(clump_pool *pool) {
    clump_pool_stats stats = {.size = sizeof stats};
    assert_int_equal(clump_pool_get_stats(pool, &stats, NULL), CLUMP_OK);
    return stats.context_bytes;
}

static clump_context *limited_context(const cl_fixture *f, uint64_t bytes) {
    clump_context *made;
    const clump_context_desc desc = {.size = sizeof desc,
                                     .context = f->context,
                                     .device = f->device,
                                     .queue = f->queue,
                                     .pool_limit_bytes = bytes};
    assert_int_equal(clump_context_create(&desc, &made, NULL), CLUMP_OK);
    return made;
}

static void limits(void **state) {
    cl_fixture f = open_fixture(NULL);
    clump_pool *pool;
    clump_error error;
    clump_pool_desc desc = {.size = sizeof desc,
                            .context = f.clump,
                            .chunk_bytes = 1 << 20,
                            .limit_bytes = 2 << 20,
                            .unique_share = 1,
                            .flags = CLUMP_POOL_COMPACT_WHEN_FULL,
                            .moved = note_move};
    assert_int_equal(clump_pool_create(&desc, &pool, &error), CLUMP_OK);
    moving_pool = pool;
    clump_allocation all[8], large;
    clump_allocation_desc a = {.size = sizeof a, .bytes = 256 << 10, .movable = 1};
    for (int i = 0; i < 8; i++)
        assert_int_equal(clump_pool_alloc(pool, &a, &all[i], NULL), CLUMP_OK);
    REFUSED(pool, clump_pool_alloc(pool, &a, &large, NULL), CLUMP_ERR_DEVICE_MEMORY,
            "limited to 2097152", NULL);
    for (int i = 0; i < 8; i += 2) assert_int_equal(clump_pool_free(pool, all[i]), CLUMP_OK);
    a.bytes = 1 << 20; /* a whole chunk, of which there is none before moves */
    assert_int_equal(clump_pool_alloc(pool, &a, &large, NULL), CLUMP_OK);
    assert_true(moved_last != 0);
    assert_int_equal(clump_pool_check(pool), CLUMP_OK);
    assert_int_equal(clump_pool_free(pool, large), CLUMP_OK);
    clump_pool_trim(pool);
    assert_int_equal(context_bytes(pool), 1 << 20);
    clump_pool_destroy(pool);
    /* One pool has all that the context allows. */
    clump_pool *other;
    desc.context = limited_context(&f, 1 << 20);
    assert_int_equal(clump_pool_create(&desc, &pool, &error), CLUMP_OK);
    assert_int_equal(clump_pool_create(&desc, &other, &error), CLUMP_OK);
    assert_int_equal(clump_pool_alloc(other, &a, &large, NULL), CLUMP_OK);
    assert_int_equal(context_bytes(pool), 1 << 20);
    REFUSED(pool, clump_pool_alloc(pool, &a, &large, NULL), CLUMP_ERR_DEVICE_MEMORY,
            "pools of the context", NULL);
    clump_pool_destroy(other);
    assert_int_equal(clump_pool_alloc(pool, &a, &large, NULL), CLUMP_OK);
    clump_pool_destroy(pool);
    clump_context_destroy(desc.context);
    cl_fixture_close(&f);
}

#define FILL_MOST (UINT64_C(128) << 20)

/* Allocate one unit after the other until the pool refuses, or has given far too much: a CPU never
 * refuses. */
static uint64_t fill(clump_pool *pool, uint64_t unit, clump_memory memory) {
    clump_allocation made;
    clump_allocation_desc one = {.size = sizeof one, .bytes = 1, .memory = memory};
    uint64_t bytes = 0;
    while (!clump_pool_alloc(pool, &one, &made, NULL))
        if ((bytes += unit) > FILL_MOST) fail_msg("the pool goes on for ever");
    assert_int_equal(error_of(pool).status, CLUMP_ERR_DEVICE_MEMORY);
    return bytes;
}

/* A limit of any size is given out to the last unit, whatever the size of chunks. */
static void small_limits(void **state) {
    cl_fixture f = open_fixture(NULL);
    const uint64_t unit = 4096;
    const uint64_t limits[] = {4096, 10000, 40960, 100000, 131072, 300000, 1 << 20, 3 << 19};
    const uint64_t chunks[] = {0, 4096, 40960, 1 << 20};
    clump_pool *pool;
    clump_error error;
    clump_allocation made;
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        for (size_t k = 0; k < sizeof chunks / sizeof *chunks; k++) {
            clump_pool_desc desc = {.size = sizeof desc,
                                    .context = f.clump,
                                    .alignment = unit,
                                    .chunk_bytes = chunks[k],
                                    .limit_bytes = limits[i]};
            if (chunks[k] > limits[i]) continue;
            assert_int_equal(clump_pool_create(&desc, &pool, &error), CLUMP_OK);
            assert_int_equal(fill(pool, unit, CLUMP_MEMORY_DEVICE), limits[i] / unit * unit);
            clump_pool_destroy(pool);
        }
    /* One kind of memory leaves room for another. */
    clump_pool_desc desc = {
        .size = sizeof desc, .context = f.clump, .alignment = unit, .limit_bytes = 1 << 20};
    assert_int_equal(clump_pool_create(&desc, &pool, &error), CLUMP_OK);
    for (int i = 0; i < 20; i++) {
        clump_allocation_desc one = {.size = sizeof one,
                                     .bytes = 1,
                                     .memory = i % 2 ? CLUMP_MEMORY_HOST : CLUMP_MEMORY_DEVICE};
        assert_int_equal(clump_pool_alloc(pool, &one, &made, NULL), CLUMP_OK);
    }
    assert_true(context_bytes(pool) <= 1 << 18);
    clump_pool_destroy(pool);
    /* When there is a chunk, the limit of all pools leaves less than another would be. */
    desc = (clump_pool_desc){.size = sizeof(clump_pool_desc),
                             .context = limited_context(&f, (1 << 20) + 100000),
                             .alignment = unit,
                             .chunk_bytes = 1 << 20};
    assert_int_equal(clump_pool_create(&desc, &pool, &error), CLUMP_OK);
    clump_allocation_desc one = {.size = sizeof one, .bytes = 1};
    assert_int_equal(clump_pool_alloc(pool, &one, &made, NULL), CLUMP_OK);
    assert_int_equal(context_bytes(pool), 1 << 20);
    const uint64_t of_host = fill(pool, unit, CLUMP_MEMORY_HOST);
    assert_int_equal(of_host, 100000 / unit * unit);
    assert_int_equal(unit + fill(pool, unit, CLUMP_MEMORY_DEVICE) + of_host,
                     ((1 << 20) + 100000) / unit * unit);
    clump_pool_destroy(pool);
    clump_context_destroy(desc.context);
    cl_fixture_close(&f);
}

static cl_ulong told_memory;
static cl_int CL_API_CALL small_device(cl_device_id device, cl_device_info name, size_t bytes,
                                       void *value, size_t *size) {
    const cl_int code = clGetDeviceInfo(device, name, bytes, value, size);
    if (!code && name == CL_DEVICE_GLOBAL_MEM_SIZE && value)
        memcpy(value, &told_memory, sizeof told_memory);
    return code;
}

/* A CPU gives more memory than there is, so pools without a limit stop before. */
static void memory_of_cpus(void **state) {
    static const clump_cl_functions tells_less = {.size = sizeof tells_less,
                                                  .GetDeviceInfo = small_device};
    const uint64_t unit = 1 << 20, share = 48 << 20;
    told_memory = 64 << 20;
    cl_fixture f = open_fixture(&tells_less);
    if (!f.capabilities->is_cpu) {
        cl_fixture_close(&f);
        skip();
    }
    assert_int_equal(f.capabilities->memory_bytes, 64 << 20);
    clump_pool *pool, *second;
    clump_error error;
    clump_pool_desc desc = {.size = sizeof desc, .context = f.clump, .alignment = unit};
    assert_int_equal(clump_pool_create(&desc, &pool, &error), CLUMP_OK);
    assert_int_equal(fill(pool, unit, CLUMP_MEMORY_DEVICE), share);
    error = error_of(pool);
    cl_fixture_expect_words(&error, error.status, CLUMP_ERR_DEVICE_MEMORY,
                            "three quarters of the memory", "clump_pool_alloc", __LINE__);
    assert_int_equal(clump_pool_create(&desc, &second, &error), CLUMP_OK);
    assert_int_equal(fill(second, unit, CLUMP_MEMORY_DEVICE), 0); /* all pools together */
    clump_pool_destroy(second);
    desc.limit_bytes = 60 << 20; /* who sets a limit knows better */
    clump_pool_destroy(pool);
    assert_int_equal(clump_pool_create(&desc, &pool, &error), CLUMP_OK);
    assert_int_equal(fill(pool, unit, CLUMP_MEMORY_DEVICE), desc.limit_bytes);
    clump_pool_destroy(pool);
    cl_fixture_close(&f);
}

/* Of a device that does not say how much memory it has, pools take what they are allowed. */
static void memory_is_not_told(void **state) {
    static const clump_cl_functions tells_less = {.size = sizeof tells_less,
                                                  .GetDeviceInfo = small_device};
    static const cl_ulong memories[] = {0, UINT64_MAX};
    (void)state;
    for (int i = 0; i < 2; i++) {
        told_memory = memories[i];
        cl_fixture f = open_fixture(&tells_less);
        clump_pool *pool;
        clump_error error;
        clump_pool_desc desc = {
            .size = sizeof desc, .context = f.clump, .alignment = 4096, .limit_bytes = 1 << 20};
        assert_int_equal(clump_pool_create(&desc, &pool, &error), CLUMP_OK);
        assert_int_equal(fill(pool, 4096, CLUMP_MEMORY_DEVICE), desc.limit_bytes);
        clump_pool_destroy(pool);
        cl_fixture_close(&f);
    }
}

static unsigned leaks;
static void count_leak(void *user, const clump_allocation_info *info) {
    assert_string_equal(info->name, "forgotten");
    assert_ptr_equal(info->user_data, user);
    assert_int_equal(info->region.bytes, 77);
    leaks++;
}

/* Margins show who writes behind an end; what is left at the end is reported. */
static void debugging(void **state) {
    cl_fixture f = open_fixture(NULL);
    clump_pool *pool;
    clump_error error;
    int marker;
    clump_pool_desc desc = {.size = sizeof desc,
                            .context = f.clump,
                            .margin_bytes = 16,
                            .leaked = count_leak,
                            .user = &marker};
    assert_int_equal(clump_pool_create(&desc, &pool, &error), CLUMP_OK);
    clump_allocation_desc a = {.size = sizeof a, .bytes = 300, .name = "narrow", .movable = 1};
    clump_allocation narrow, forgotten;
    clump_region region;
    assert_int_equal(clump_pool_alloc(pool, &a, &narrow, &region), CLUMP_OK);
    a = (clump_allocation_desc){.size = sizeof(clump_allocation_desc),
                                .bytes = 77,
                                .name = "forgotten",
                                .user_data = &marker};
    assert_int_equal(clump_pool_alloc(pool, &a, &forgotten, NULL), CLUMP_OK);
    assert_int_equal(clump_pool_check(pool), CLUMP_OK);
    uint64_t unit = f.capabilities->base_align_bytes < 16 ? 16 : f.capabilities->base_align_bytes;
    uint64_t behind = region.offset + (300 + unit - 1) / unit * unit;
    uint8_t byte = 1;
    CHECK_CL(
        clEnqueueWriteBuffer(f.queue, region.buffer, CL_TRUE, behind + 4, 1, &byte, 0, NULL, NULL));
    REFUSED(pool, clump_pool_check(pool), CLUMP_ERR_CORRUPT, "(narrow), 300 bytes", NULL);
    assert_int_equal(clump_pool_free(pool, narrow), CLUMP_OK);
    assert_int_equal(clump_pool_check(pool), CLUMP_OK);
    clump_allocation_info info = {.size = sizeof info};
    assert_int_equal(clump_pool_get_info(pool, 0, &info), CLUMP_OK);
    assert_int_equal(info.next, forgotten);
    assert_int_equal(clump_pool_get_info(pool, forgotten, &info), CLUMP_OK);
    assert_int_equal(info.next, 0);
    leaks = 0;
    clump_pool_destroy(pool);
    assert_int_equal(leaks, 1);
    cl_fixture_close(&f);
}

/* A write over the end is seen however far it goes, and however many bytes are left in the last
 * unit. */
static void margins_to_the_byte(void **state) {
    static const uint32_t sizes[] = {1000, 1024, 1, 127, 128, 129, 4096};
    static uint8_t junk[8192];
    cl_fixture f = open_fixture(NULL);
    clump_pool *pool;
    clump_error error;
    clump_pool_desc desc = {.size = sizeof desc, .context = f.clump, .margin_bytes = 128};
    assert_int_equal(clump_pool_create(&desc, &pool, &error), CLUMP_OK);
    memset(junk, 0x55, sizeof junk);
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (uint32_t over = 0; over <= 128; over += over < 32 ? 1 : 24) {
            clump_allocation_desc a = {
                .size = sizeof a, .bytes = sizes[s], .name = "mine", .unique = over % 2};
            clump_allocation made;
            clump_region r;
            char words[64];
            assert_int_equal(clump_pool_alloc(pool, &a, &made, &r), CLUMP_OK);
            CHECK_CL(clEnqueueWriteBuffer(f.queue, r.buffer, CL_TRUE, r.offset, sizes[s] + over,
                                          junk, 0, NULL, NULL));
            snprintf(words, sizeof words, "(mine), %u bytes", sizes[s]);
            if (!over)
                assert_int_equal(clump_pool_check(pool), CLUMP_OK);
            else
                REFUSED(pool, clump_pool_check(pool), CLUMP_ERR_CORRUPT, words, NULL);
            snprintf(words, sizeof words, "to bytes 1 to %u after its end", over);
            if (over) assert_non_null(strstr(error_of(pool).message, words));
            assert_int_equal(clump_pool_free(pool, made), CLUMP_OK);
        }
    clump_pool_destroy(pool);
    cl_fixture_close(&f);
}

/* A queue that is late: margins are written when a thread has opened the gate. */
static cl_context gate_context;
static cl_event late_fill;

static void *open_gate(void *event) {
    nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
    CHECK_CL(clSetUserEventStatus(event, CL_COMPLETE));
    return NULL;
}

static cl_int CL_API_CALL fill_late(cl_command_queue a, cl_mem b, const void *c, size_t d, size_t e,
                                    size_t g, cl_uint h, const cl_event *i, cl_event *event) {
    cl_int code;
    pthread_t thread;
    cl_event gate = clCreateUserEvent(gate_context, &code);
    CHECK_CL(code);
    CHECK_CL(clEnqueueFillBuffer(a, b, c, d, e, g, 1, &gate, &late_fill));
    if (event) {
        CHECK_CL(clRetainEvent(late_fill));
        *event = late_fill;
    }
    assert_int_equal(pthread_create(&thread, NULL, open_gate, gate), 0);
    pthread_detach(thread);
    return CL_SUCCESS;
}

/* A margin is there when its allocation is: later it might be in somebody else's, who uses another
 * queue. */
static void margins_are_waited_for(void **state) {
    cl_fixture f = open_fixture(
        &(clump_cl_functions){.size = sizeof(clump_cl_functions), .EnqueueFillBuffer = fill_late});
    gate_context = f.context;
    clump_pool *pool;
    clump_error error;
    clump_pool_desc desc = {.size = sizeof desc,
                            .context = f.clump,
                            .margin_bytes = 128,
                            .flags = CLUMP_POOL_UNTOUCHED};
    assert_int_equal(clump_pool_create(&desc, &pool, &error), CLUMP_OK);
    clump_allocation made;
    assert_int_equal(
        clump_pool_alloc(
            pool, &(clump_allocation_desc){.size = sizeof(clump_allocation_desc), .bytes = 1000},
            &made, NULL),
        CLUMP_OK);
    cl_int state_of_fill = CL_QUEUED;
    CHECK_CL(clGetEventInfo(late_fill, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state_of_fill,
                            &state_of_fill, NULL));
    assert_int_equal(state_of_fill, CL_COMPLETE);
    CHECK_CL(clReleaseEvent(late_fill));
    clump_pool_destroy(pool);
    cl_fixture_close(&f);
}

static cl_mem used_first, parent_of_last;

static cl_int CL_API_CALL read_noted(cl_command_queue queue, cl_mem buffer, cl_bool blocking,
                                     size_t offset, size_t bytes, void *data, cl_uint count,
                                     const cl_event *list, cl_event *event) {
    if (blocking) used_first = buffer;
    return clEnqueueReadBuffer(queue, buffer, blocking, offset, bytes, data, count, list, event);
}

static cl_mem CL_API_CALL sub_noted(cl_mem parent, cl_mem_flags flags, cl_buffer_create_type type,
                                    const void *place, cl_int *code) {
    assert_ptr_equal(used_first, parent);
    parent_of_last = parent;
    return clCreateSubBuffer(parent, flags, type, place, code);
}

/* NVIDIA's driver loses what a kernel writes to a sub-buffer while the first command runs that uses
 * the buffer itself. */
static void buffers_are_used_before_their_parts(void **state) {
    cl_fixture f = open_fixture(&(clump_cl_functions){.size = sizeof(clump_cl_functions),
                                                      .EnqueueReadBuffer = read_noted,
                                                      .CreateSubBuffer = sub_noted});
    for (int is_lent = 0; is_lent < 2; is_lent++) {
        clump_pool *pool;
        clump_error error;
        clump_pool_desc desc = {
            .size = sizeof desc, .context = f.clump, .flags = CLUMP_POOL_UNTOUCHED};
        assert_int_equal(clump_pool_create(&desc, &pool, &error), CLUMP_OK);
        const clump_allocation_desc small = {.size = sizeof small, .bytes = 1000};
        clump_allocation made;
        cl_mem buffer;
        used_first = parent_of_last = NULL;
        if (is_lent) {
            assert_int_equal(clump_pool_create_buffer(pool, &small, 1, &f.queue, &buffer),
                             CLUMP_OK);
            CHECK_CL(clReleaseMemObject(buffer));
        } else {
            assert_int_equal(clump_pool_alloc(pool, &small, &made, NULL), CLUMP_OK);
            assert_int_equal(clump_pool_get_buffer(pool, made, &buffer), CLUMP_OK);
        }
        assert_non_null(parent_of_last);
        clump_pool_destroy(pool);
    }
    cl_fixture_close(&f);
}

/* What a heap has from a pool is the heap's: nobody frees or moves it under its objects. Messages
 * tell whose limit was in the way. */
static void memory_of_heaps(void **state) {
    cl_fixture f = open_fixture(NULL);
    clump_pool *pool;
    clump_error error;
    clump_pool_desc desc = {
        .size = sizeof desc, .context = f.clump, .limit_bytes = 16 << 20, .name = "narrow"};
    assert_int_equal(clump_pool_create(&desc, &pool, &error), CLUMP_OK);
    static const char text[] = "class A { int x; }";
    clump_schema *schema;
    assert_int_equal(clump_schema_parse(text, strlen(text), NULL, &schema, NULL), CLUMP_OK);
    clump_heap *heap;
    clump_heap_desc h = {
        .size = sizeof h, .context = f.clump, .schema = schema, .bytes = 17 << 20, .pool = pool};
    clump_status status = clump_heap_create(&h, &heap, NULL);
    cl_fixture_expect_words(clump_context_get_error(f.clump), status, CLUMP_ERR_DEVICE_MEMORY,
                            "limit_bytes of pool narrow is 16777216", "clump_heap_create",
                            __LINE__);
    assert_null(strstr(clump_context_get_error(f.clump)->message, "multiple of"));
    h.bytes = 8 << 20;
    CHECK_OK(&f, clump_heap_create(&h, &heap, NULL));
    clump_allocation_info info = {.size = sizeof info};
    assert_int_equal(clump_pool_get_info(pool, 0, &info), CLUMP_OK);
    const clump_allocation allocation_of_heap = info.next;
    assert_true(allocation_of_heap != 0);
    REFUSED(pool, clump_pool_free(pool, allocation_of_heap), CLUMP_ERR_USAGE, "belongs to a heap",
            NULL);
    REFUSED(pool,
            clump_pool_change(
                pool, allocation_of_heap, CLUMP_PART_MOVABLE,
                &(clump_allocation_desc){.size = sizeof(clump_allocation_desc), .movable = 1}),
            CLUMP_ERR_USAGE, "belongs to a heap", NULL);
    assert_int_equal(clump_pool_change(pool, allocation_of_heap, CLUMP_PART_MOVABLE,
                                       &(clump_allocation_desc){
                                           .size = sizeof(clump_allocation_desc), .movable = 0}),
                     CLUMP_OK);
    CHECK_HEAP(&f, heap);
    /* A pin does not outlive the heap. */
    assert_int_equal(clump_pool_pin(pool, allocation_of_heap, 1), CLUMP_OK);
    clump_heap_destroy(heap);
    REFUSED(pool, clump_pool_free(pool, allocation_of_heap), CLUMP_ERR_REFERENCE,
            "is already freed", NULL);
    clump_pool_stats stats = {.size = sizeof stats};
    assert_int_equal(clump_pool_get_stats(pool, &stats, NULL), CLUMP_OK);
    assert_int_equal(stats.allocations, 0);
    char *json = dump(pool);
    assert_non_null(strstr(json, "\"waste\": 0.000000}"));
    free(json);
    clump_pool_destroy(pool);
    clump_schema_destroy(schema);
    cl_fixture_close(&f);
}

/* Host memory is what OpenCL is asked for, in chunks and in chunks of their own, and nothing else
 * is. */
static void memories(void **state) {
    cl_fixture f = open_fixture(NULL);
    clump_pool *pool;
    clump_error error;
    clump_pool_desc desc = {.size = sizeof desc, .context = f.clump};
    assert_int_equal(clump_pool_create(&desc, &pool, &error), CLUMP_OK);
    for (int i = 0; i < 4; i++) {
        clump_memory memory = i & 1 ? CLUMP_MEMORY_HOST : CLUMP_MEMORY_DEVICE;
        clump_allocation_desc a = {
            .size = sizeof a, .bytes = 1000, .memory = memory, .unique = i >> 1};
        clump_allocation made;
        clump_region region;
        cl_mem_flags flags = 0;
        assert_int_equal(clump_pool_alloc(pool, &a, &made, &region), CLUMP_OK);
        CHECK_CL(clGetMemObjectInfo(region.buffer, CL_MEM_FLAGS, sizeof flags, &flags, NULL));
        assert_int_equal((flags & CL_MEM_ALLOC_HOST_PTR) != 0, memory == CLUMP_MEMORY_HOST);
        assert_int_equal(clump_pool_free(pool, made), CLUMP_OK);
    }
    clump_pool_destroy(pool);
    cl_fixture_close(&f);
}

static char trace[256];
static int keep_trace(void *user, const void *line, size_t bytes) {
    strncat(trace, line, bytes);
    return 0;
}

/* What a trace has of a program's calls, and only of those that succeeded. */
static void traces(void **state) {
    cl_fixture f = open_fixture(NULL);
    clump_pool *pool;
    clump_error error;
    clump_pool_desc desc = {
        .size = sizeof desc, .context = f.clump, .limit_bytes = 1 << 20, .trace = keep_trace};
    assert_int_equal(clump_pool_create(&desc, &pool, &error), CLUMP_OK);
    clump_allocation a, b, c;
    clump_allocation_desc d = {.size = sizeof d, .bytes = 1000, .movable = 1};
    assert_int_equal(clump_pool_alloc(pool, &d, &a, NULL), CLUMP_OK);
    d = (clump_allocation_desc){.size = sizeof(clump_allocation_desc), .bytes = 77};
    assert_int_equal(clump_pool_alloc(pool, &d, &b, NULL), CLUMP_OK);
    d.bytes = 4 << 20;
    assert_int_equal(clump_pool_alloc(pool, &d, &c, NULL), CLUMP_ERR_DEVICE_MEMORY);
    assert_int_equal(clump_pool_change(pool, b, CLUMP_PART_MOVABLE,
                                       &(clump_allocation_desc){
                                           .size = sizeof(clump_allocation_desc), .movable = 1}),
                     CLUMP_OK);
    assert_int_equal(clump_pool_free(pool, a), CLUMP_OK);
    assert_int_equal(clump_pool_free(pool, a), CLUMP_ERR_REFERENCE);
    assert_int_equal(clump_pool_end_frame(pool, 0, NULL), CLUMP_OK);
    assert_string_equal(trace, "a 1 1000 m\na 2 77\nm 2 1\nf 1\ne\n");
    clump_pool_destroy(pool);
    cl_fixture_close(&f);
}

/* The disk is full after two lines: allocations go on, and it is told. */
static int write_two(void *lines, const void *line, size_t bytes) {
    assert_true(line && bytes);
    return ++*(int *)lines > 2 ? 28 : 0;
}

static void trace_ends(void **state) {
    cl_fixture f = open_fixture(NULL);
    clump_pool *pool;
    clump_error error;
    int lines = 0;
    clump_pool_desc desc = {
        .size = sizeof desc, .context = f.clump, .trace = write_two, .user = &lines};
    assert_int_equal(clump_pool_create(&desc, &pool, &error), CLUMP_OK);
    clump_allocation a[4];
    const clump_allocation_desc d = {.size = sizeof d, .bytes = 1000};
    for (int i = 0; i < 2; i++) assert_int_equal(clump_pool_alloc(pool, &d, &a[i], NULL), CLUMP_OK);
    assert_int_equal(clump_pool_check(pool), CLUMP_OK);
    for (int i = 2; i < 4; i++) assert_int_equal(clump_pool_alloc(pool, &d, &a[i], NULL), CLUMP_OK);
    REFUSED(pool, clump_pool_check(pool), CLUMP_ERR_IO, "returned 28", NULL);
    REFUSED(pool, clump_pool_end_frame(pool, 0, NULL), CLUMP_ERR_IO, "returned 28", NULL);
    assert_int_equal(lines, 3);
    clump_pool_destroy(pool);
    cl_fixture_close(&f);
}

/* A place is not given out again before the commands that use it have completed. */
static void uses_are_waited_for(void **state) {
    cl_fixture f = open_fixture(NULL);
    clump_pool *pool;
    clump_error error;
    clump_pool_desc desc = {.size = sizeof desc, .context = f.clump, .chunk_bytes = 1 << 20};
    assert_int_equal(clump_pool_create(&desc, &pool, &error), CLUMP_OK);
    clump_allocation a, b, c;
    clump_region of_a, of_b, of_c;
    clump_allocation_desc d = {.size = sizeof d, .bytes = 400 << 10};
    cl_int code;
    cl_event blocks = clCreateUserEvent(f.context, &code);
    assert_int_equal(clump_pool_alloc(pool, &d, &a, &of_a), CLUMP_OK);
    assert_int_equal(clump_pool_use(pool, a, blocks), CLUMP_OK);
    cl_event over =
        clCreateUserEvent(f.context, &code); /* one more, which is no reason to forget */
    CHECK_CL(clSetUserEventStatus(over, CL_COMPLETE));
    assert_int_equal(clump_pool_use(pool, a, over), CLUMP_OK);
    clReleaseEvent(over);
    assert_int_equal(clump_pool_free(pool, a), CLUMP_OK);
    clump_pool_stats stats = {.size = sizeof stats};
    clump_pool_get_stats(pool, &stats, NULL);
    assert_int_equal(stats.waiting_bytes, 400 << 10);
    assert_int_equal(stats.allocations, 0);
    assert_int_equal(clump_pool_alloc(pool, &d, &b, &of_b), CLUMP_OK);
    assert_true(of_b.offset != of_a.offset);
    assert_int_equal(clump_pool_check(pool), CLUMP_OK);
    CHECK_CL(clSetUserEventStatus(blocks, CL_COMPLETE));
    assert_int_equal(clump_pool_trim(pool), CLUMP_OK);
    assert_int_equal(clump_pool_alloc(pool, &d, &c, &of_c), CLUMP_OK);
    assert_int_equal(of_c.offset, of_a.offset);
    assert_int_equal(clump_pool_check(pool), CLUMP_OK);
    clReleaseEvent(blocks);
    clump_pool_destroy(pool);
    cl_fixture_close(&f);
}

/* A copy waits for the commands that use its source, and nothing waits for the copy. */
static void copies_wait_for_uses(void **state) {
    cl_fixture f = open_fixture(NULL);
    clump_pool *pool;
    clump_error error;
    clump_pool_desc desc = {.size = sizeof desc, .context = f.clump, .chunk_bytes = 1 << 20};
    assert_int_equal(clump_pool_create(&desc, &pool, &error), CLUMP_OK);
    clump_allocation a, b;
    clump_region of_b;
    clump_allocation_info info = {.size = sizeof info};
    clump_allocation_desc d = {.size = sizeof d, .bytes = 300 << 10, .movable = 1};
    assert_int_equal(clump_pool_alloc(pool, &d, &a, NULL), CLUMP_OK);
    d.bytes = 100 << 10;
    assert_int_equal(clump_pool_alloc(pool, &d, &b, &of_b), CLUMP_OK);
    assert_int_equal(clump_pool_free(pool, a), CLUMP_OK);
    cl_int code;
    cl_event blocks = clCreateUserEvent(f.context, &code);
    assert_int_equal(clump_pool_use(pool, b, blocks), CLUMP_OK);
    clump_defrag_report report = {.size = sizeof report};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(clump_pool_defragment(pool, NULL, &report, NULL), CLUMP_OK);
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL); /* enough for one that does not */
        assert_int_equal(report.begun, i == 0);
        assert_true(report.under_way == 1 && !report.finished && !report.done);
        assert_int_equal(clump_pool_get_info(pool, b, &info), CLUMP_OK);
        assert_true(info.moving && info.region.offset == of_b.offset);
    }
    CHECK_CL(clSetUserEventStatus(blocks, CL_COMPLETE));
    CHECK_CL(clFinish(f.queue));
    assert_int_equal(clump_pool_defragment(pool, NULL, &report, NULL), CLUMP_OK);
    assert_true(report.finished == 1 && !report.under_way);
    assert_int_equal(clump_pool_get_info(pool, b, &info), CLUMP_OK);
    assert_true(!info.moving && info.region.offset == 0);
    clReleaseEvent(blocks);
    assert_int_equal(clump_pool_check(pool), CLUMP_OK);
    clump_pool_destroy(pool);
    cl_fixture_close(&f);
}

/* ---- Every call fails ------------------------------------------------------------------------ */

#define THINGS 12u

typedef struct run {
    cl_fixture on;
    clump_context *context;
    long blocks; /* of host memory that the context takes */
    clump_pool *pool;
    clump_allocation things[THINGS];
    uint32_t bytes[THINGS];
    cl_event event;
    void *mapped;
    clump_error error;
} run;

static clump_status step_context(run *r) {
    clump_status status = failing_context(&r->on, &r->context, &r->error);
    r->blocks = failing.blocks;
    return status;
}

static clump_status step_pool(run *r) {
    clump_pool_desc desc = {
        .size = sizeof desc, .context = r->context, .chunk_bytes = 64 << 10, .margin_bytes = 64};
    return clump_pool_create(&desc, &r->pool, &r->error);
}

static uint8_t byte_of(uint32_t thing, uint32_t i) {
    return (uint8_t)(thing * 37 + i * 5 + 1);
}

static clump_status step_alloc(run *r) {
    for (uint32_t i = 0; i < THINGS; i++) {
        if (r->things[i]) continue;
        r->bytes[i] = 1000 + 4000 * (i % 5);
        clump_allocation_desc desc = {.size = sizeof desc,
                                      .bytes = r->bytes[i],
                                      .movable = i % 6 != 1,
                                      .memory = i == 5 ? CLUMP_MEMORY_HOST : CLUMP_MEMORY_DEVICE,
                                      .unique = i == 8,
                                      .name = i % 4 ? NULL : "thing"};
        clump_region region;
        clump_status status = clump_pool_alloc(r->pool, &desc, &r->things[i], &region);
        if (status) return status;
        static uint8_t data[20000];
        for (uint32_t k = 0; k < r->bytes[i]; k++) data[k] = byte_of(i, k);
        CHECK_CL(clEnqueueWriteBuffer(r->on.queue, region.buffer, CL_TRUE, region.offset,
                                      r->bytes[i], data, 0, NULL, NULL));
    }
    return CLUMP_OK;
}

static clump_status step_sub_buffer(run *r) {
    cl_mem buffer;
    return clump_pool_get_buffer(r->pool, r->things[2], &buffer);
}

/* Taken back or not, the buffer is gone for the caller. */
static clump_status step_buffer(run *r) {
    cl_mem buffer;
    clump_allocation_desc desc = {.size = sizeof desc, .bytes = 700, .name = "lent"};
    cl_command_queue both[2] = {r->on.queue, r->on.queue};
    clump_status status = clump_pool_create_buffer(r->pool, &desc, 2, both, &buffer);
    assert_int_equal(buffer != NULL, !status);
    if (status) return status;
    CHECK_CL(clReleaseMemObject(buffer));
    failing.live[FAILING_BUFFER]--;
    return CLUMP_OK;
}

static clump_status step_taken_back(run *r) {
    clump_pool_stats stats = {.size = sizeof stats};
    /* The device may tell of the release late, and one call may fail. A later step would take the
     * buffer back if this one did not wait for it, and a failure of that would be counted as the
     * later step's. */
    for (int i = 0; i < (failing.persistent && failing.struck ? 2 : 5000); i++) {
        CHECK_CL(clFinish(r->on.queue));
        assert_int_equal(clump_pool_get_stats(r->pool, &stats, NULL), CLUMP_OK);
        if (stats.allocations == THINGS) break;
        cl_fixture_nap();
    }
    if (!failing.persistent || !failing.struck)
        assert_int_equal(stats.allocations, THINGS); /* the second try, if one call failed */
    return CLUMP_OK;
}

static clump_status step_name(run *r) {
    return clump_pool_change(
        r->pool, r->things[3], CLUMP_PART_NAME,
        &(clump_allocation_desc){.size = sizeof(clump_allocation_desc), .name = "another name"});
}

static clump_status step_map(run *r) {
    clump_status status = clump_pool_map(r->pool, r->things[3], CL_MAP_READ, &r->mapped);
    assert_int_equal(r->mapped != NULL, !status);
    return status;
}

static clump_status step_unmap(run *r) {
    return clump_pool_unmap(r->pool, r->things[3], r->mapped, NULL);
}

static clump_status step_use(run *r) {
    if (!r->event) CHECK_CL(clEnqueueMarkerWithWaitList(r->on.queue, 0, NULL, &r->event));
    return clump_pool_use(r->pool, r->things[4], r->event);
}

static clump_status step_frame(run *r) {
    CHECK_CL(clFinish(r->on.queue));
    return clump_pool_end_frame(r->pool, 1, &r->event);
}

static clump_status step_free(run *r) {
    for (uint32_t i = 0; i < THINGS; i += 2) {
        clump_status status = clump_pool_free(r->pool, r->things[i]);
        if (status) return status;
        r->things[i] = 0;
    }
    return CLUMP_OK;
}

static clump_status step_async(run *r) {
    cl_event copied = NULL;
    const clump_status status = clump_pool_defragment(
        r->pool, &(clump_defrag_desc){.size = sizeof(clump_defrag_desc), .max_moves = 2}, NULL,
        &(clump_sync){.event = &copied});
    if (copied) failing_cl.ReleaseEvent(copied);
    return status;
}

static clump_status step_wait(run *r) {
    return clump_pool_defragment(
        r->pool, &(clump_defrag_desc){.size = sizeof(clump_defrag_desc), .wait = 1, .max_moves = 2},
        NULL, NULL);
}

static clump_status step_manual(run *r) {
    clump_status status = clump_pool_defragment(
        r->pool, &(clump_defrag_desc){.size = sizeof(clump_defrag_desc), .manual = 1}, NULL, NULL);
    clFinish(r->on.queue);
    clump_move move = {0};
    while (!status && !(status = clump_pool_next_move(r->pool, &move)) && move.allocation)
        status = clump_pool_finish_move(r->pool, move.allocation, CLUMP_MOVE_COPY);
    return status;
}

static clump_status step_free_more(run *r) {
    clump_status status = clump_pool_free(r->pool, r->things[3]);
    if (!status) r->things[3] = 0;
    return status;
}

static clump_status step_to_the_end(run *r) {
    return clump_pool_defragment(
        r->pool, &(clump_defrag_desc){.size = sizeof(clump_defrag_desc), .until_done = 1}, NULL,
        NULL);
}

static clump_status step_check(run *r) {
    return clump_pool_check(r->pool);
}

static int ignore_text(void *user, const void *data, size_t bytes) {
    const char *text = data;
    assert_true(bytes > 20 && text[bytes - 1] == '\n');
    return 0;
}

static clump_status step_dump(run *r) {
    clump_status status = clump_pool_dump(r->pool, CLUMP_POOL_JSON, ignore_text, NULL);
    return status ? status : clump_pool_dump(r->pool, CLUMP_POOL_SVG, ignore_text, NULL);
}

static const struct {
    const char *name;
    clump_status (*call)(run *r);
} steps[] = {
#define FAULT_STEP(name) {#name, step_##name},
    FAULT_STEP(context) FAULT_STEP(pool) FAULT_STEP(alloc) FAULT_STEP(sub_buffer) FAULT_STEP(buffer)
        FAULT_STEP(taken_back) FAULT_STEP(name) FAULT_STEP(map) FAULT_STEP(unmap) FAULT_STEP(use)
            FAULT_STEP(frame) FAULT_STEP(free) FAULT_STEP(async) FAULT_STEP(wait) FAULT_STEP(manual)
                FAULT_STEP(free_more) FAULT_STEP(to_the_end) FAULT_STEP(check) FAULT_STEP(dump)
#undef FAULT_STEP
};
#define FAULT_STEPS (sizeof steps / sizeof *steps)

/* Failures that a step may live through: of releasing; of asking how far a command is, or how long
 * it took; of memory that is asked for again, or not necessary; of what sliding tries again. */
static int may_be_ignored(clump_status (*step)(run *r)) {
    if (failing.refused) return step != step_context && step != step_pool;
    static const char *const quiet[] = {"clRelease", "clGetEventInfo", "clGetEventProfilingInfo",
                                        "clFlush"};
    for (unsigned i = 0; i < sizeof quiet / sizeof *quiet; i++)
        if (strncmp(failing.struck, quiet[i], strlen(quiet[i])) == 0) return 1;
    if (step == step_alloc && failing.code == CL_OUT_OF_RESOURCES) return 1;
    return step == step_to_the_end || step == step_taken_back;
}

static void check_contents(run *r, const char *step) {
    for (uint32_t i = 0; i < THINGS; i++) {
        if (!r->things[i]) continue;
        clump_allocation_info info = {.size = sizeof info};
        assert_int_equal(clump_pool_get_info(r->pool, r->things[i], &info), CLUMP_OK);
        static uint8_t data[20000];
        CHECK_CL(clEnqueueReadBuffer(r->on.queue, info.region.buffer, CL_TRUE, info.region.offset,
                                     r->bytes[i], data, 0, NULL, NULL));
        for (uint32_t k = 0; k < r->bytes[i]; k++)
            if (data[k] != byte_of(i, k))
                fail_msg("step %s: byte %u of allocation %u is wrong after %s (call %llu)", step, k,
                         i, failing.struck ? failing.struck : "a request",
                         (unsigned long long)failing.fail_at);
    }
}

static void check_failure(run *r, const char *step, clump_status status) {
    clump_error e = r->error;
    if (r->pool) clump_pool_get_error(r->pool, &e);
    assert_int_equal(e.status, status);
    assert_true(strlen(e.message) > 10);
    if (failing.refused) {
        assert_int_equal(status, CLUMP_ERR_HOST_MEMORY);
        return;
    }
    if (!failing.struck) fail_msg("step %s fails by itself: %s", step, e.message);
    assert_true(status == CLUMP_ERR_CL || status == CLUMP_ERR_DEVICE_MEMORY);
    if (failing.persistent) return; /* the first may have been lived through */
    if (!strstr(e.message, failing.struck) || !e.call || strcmp(e.call, failing.struck) != 0)
        fail_msg("step %s: call %llu, %s, failed, but the message is: %s", step,
                 (unsigned long long)failing.calls, failing.struck, e.message);
    assert_int_equal(e.cl_code, failing.code);
}

/* One run. Returns 1 if the failure came to pass. */
static int run_once(const cl_fixture *on) {
    static run r;
    memset(&r, 0, sizeof r);
    r.on = *on;
    for (size_t i = 0; i < FAULT_STEPS; i++) {
        int hit_before = failing.struck || failing.refused;
        clump_status status = steps[i].call(&r);
        int hit = (failing.struck || failing.refused) && !hit_before;
        if (!status) {
            if (hit && !may_be_ignored(steps[i].call))
                fail_msg("step %s succeeds though %s failed", steps[i].name,
                         failing.struck ? failing.struck : "a request for memory");
            continue;
        }
        if (!hit && !failing.persistent)
            fail_msg("step %s fails long after %s", steps[i].name,
                     failing.struck ? failing.struck : "a request");
        check_failure(&r, steps[i].name, status);
        if (failing.persistent) break;
        if (r.pool && clump_pool_check(r.pool)) {
            clump_pool_get_error(r.pool, &r.error);
            fail_msg("after step %s: %s", steps[i].name, r.error.message);
        }
        if (r.pool) check_contents(&r, steps[i].name);
        status = steps[i].call(&r);
        if (status) {
            if (r.pool) clump_pool_get_error(r.pool, &r.error);
            fail_msg("step %s, second try: %s", steps[i].name, r.error.message);
        }
    }
    int came = failing.struck || failing.refused;
    if (!failing.persistent && r.pool) {
        failing.fail_at = failing.refuse_at = 0; /* the scenario is over */
        assert_int_equal(clump_pool_check(r.pool), CLUMP_OK);
        check_contents(&r, "at the end");
    }
    clFinish(on->queue);
    clump_pool_destroy(r.pool);
    /* Nothing of the pool, and the account of all pools of the context; what the device tells late
     * may be freed late. */
    for (int i = 0; r.pool && failing.blocks != r.blocks + 1 && i < 5000; i++) cl_fixture_nap();
    if (r.pool) assert_int_equal(failing.blocks, r.blocks + 1);
    clump_context_destroy(r.context);
    if (r.event) clReleaseEvent(r.event);
    failing_check_nothing_left();
    return came;
}

static void strike_all(cl_int code, int persistent) {
    cl_fixture on = open_fixture(NULL);
    assert_true(failing_strike_all(run_once, &on, code, persistent) > 60);
    cl_fixture_close(&on);
}

static void calls_fail(void **state) {
    strike_all(CL_INVALID_OPERATION, 0);
}

static void memory_is_short(void **state) {
    strike_all(CL_OUT_OF_RESOURCES, 0);
}

static void device_is_lost(void **state) {
    strike_all(CL_OUT_OF_HOST_MEMORY, 1);
}

static void requests_are_refused(void **state) {
    cl_fixture on = open_fixture(NULL);
    assert_true(failing_refuse_all(run_once, &on) > 20);
    cl_fixture_close(&on);
}

/* A heap from a pool, likewise: what fails leaves no heap, and the pool as it was. Returns 1 if the
 * failure came to pass. */
static int make_heap(const cl_fixture *on, const clump_schema *schema) {
    run r = {.on = *on};
    if (step_context(&r)) {
        failing_check_nothing_left();
        return 1;
    }
    clump_heap *heap = NULL;
    clump_status status = step_pool(&r);
    if (!status) {
        clump_heap_desc desc = {.size = sizeof desc,
                                .context = r.context,
                                .schema = schema,
                                .bytes = cl_fixture_small_heap_bytes(r.context),
                                .pool = r.pool};
        status = clump_heap_create(&desc, &heap, NULL);
        assert_int_equal(heap != NULL, !status);
        if (status) assert_int_equal(clump_context_get_error(r.context)->status, status);
        clump_pool_stats stats = {.size = sizeof stats};
        assert_int_equal(clump_pool_get_stats(r.pool, &stats, NULL), CLUMP_OK);
        assert_int_equal(stats.allocations, !status);
        failing.fail_at = failing.refuse_at = 0;
        assert_int_equal(clump_pool_check(r.pool), CLUMP_OK);
    }
    int came = failing.struck || failing.refused;
    if (!came) assert_int_equal(status, CLUMP_OK);
    clump_heap_destroy(heap);
    clump_pool_destroy(r.pool);
    clump_context_destroy(r.context);
    failing_check_nothing_left();
    return came;
}

static void heaps_from_pools(void **state) {
    static const char text[] = "class Body { uint id; }";
    cl_fixture on = open_fixture(NULL);
    clump_schema *schema;
    assert_int_equal(clump_schema_parse(text, strlen(text), NULL, &schema, NULL), CLUMP_OK);
    for (int refuses = 0; refuses < 2; refuses++) {
        uint64_t n = 0;
        do {
            memset(&failing, 0, sizeof failing);
            failing.code = CL_INVALID_OPERATION;
            if (refuses)
                failing.refuse_at = ++n;
            else
                failing.fail_at = ++n;
        } while (make_heap(&on, schema));
        print_message("%llu failures\n", (unsigned long long)n - 1);
        assert_true(n > 15);
    }
    clump_schema_destroy(schema);
    clFinish(on.queue);
    failing_forget_programs();
    cl_fixture_close(&on);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_descs),
        cmocka_unit_test(bad_calls),
        cmocka_unit_test(limits),
        cmocka_unit_test(small_limits),
        cmocka_unit_test(memory_of_cpus),
        cmocka_unit_test(memory_is_not_told),
        cmocka_unit_test(debugging),
        cmocka_unit_test(margins_to_the_byte),
        cmocka_unit_test(margins_are_waited_for),
        cmocka_unit_test(buffers_are_used_before_their_parts),
        cmocka_unit_test(memory_of_heaps),
        cmocka_unit_test(memories),
        cmocka_unit_test(traces),
        cmocka_unit_test(trace_ends),
        cmocka_unit_test(uses_are_waited_for),
        cmocka_unit_test(copies_wait_for_uses),
        cmocka_unit_test(calls_fail),
        cmocka_unit_test(memory_is_short),
        cmocka_unit_test(device_is_lost),
        cmocka_unit_test(requests_are_refused),
        cmocka_unit_test(heaps_from_pools),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
