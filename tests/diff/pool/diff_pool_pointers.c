/* Pools of memory with pointers. A kernel goes by pointers from one allocation to others, before
 * and after defragmentation, and the host sees the same by mapping and by buffers. Refusals;
 * devices that make no buffer over USM; memory that commands still use when it is freed. Where a
 * device has SVM and no USM, the latter is tried with stand-ins (usm.h).
 *
 * Read first: include/clump/pool.h, pointer_chain.h. */
#include <string.h>

#include "diff/core/pointer_chain.h"
#include "usm.h"

static cl_fixture fixture;
static cl_fixture *const f = &fixture;

static const clump_memory kinds[] = {CLUMP_MEMORY_SVM, CLUMP_MEMORY_USM_DEVICE,
                                     CLUMP_MEMORY_USM_HOST, CLUMP_MEMORY_USM_SHARED};
enum { KINDS = sizeof kinds / sizeof *kinds };

static clump_pointers pointers_of(clump_memory memory) {
    return (clump_pointers)(1u << (memory - CLUMP_MEMORY_SVM));
}

static int has(clump_memory memory) {
    return (f->capabilities->pointers & pointers_of(memory)) != 0;
}

/* ---- What OpenCL is told, and answers -------------------------------------------------------- */

static const usm_functions *usm;
static clump_cl_functions real = {.size = sizeof real}; /* what the table below leads to */

static struct {
    enum { SHARE, REFUSE, COPY } views; /* buffers over memory */
    int live, is_old;                   /* is_old: the device says 1.2, and has no extension */
    int is_gpu;                         /* it says so */
    int fails_write;
    uint64_t written_to; /* where the last write of a buffer ended */
    cl_event unfinished; /* must be complete when memory is freed */
    int freed_in_use;
} cl;

static cl_mem CL_API_CALL create_buffer(cl_context context, cl_mem_flags flags, size_t bytes,
                                        void *memory, cl_int *code) {
    if (memory && cl.views == REFUSE) {
        *code = CL_INVALID_HOST_PTR;
        return NULL;
    }
    if (memory && cl.views == COPY)
        flags = (flags & ~(cl_mem_flags)CL_MEM_USE_HOST_PTR) | CL_MEM_COPY_HOST_PTR;
    return clCreateBuffer(context, flags, bytes, memory, code);
}

static cl_int CL_API_CALL get_device_info(cl_device_id device, cl_device_info name, size_t capacity,
                                          void *to, size_t *needed) {
    static const char old[] = "OpenCL 1.2 ", none[] = "";
    const char *text = name == CL_DEVICE_VERSION ? old : name == CL_DEVICE_EXTENSIONS ? none : NULL;
    if (cl.is_old && text) {
        if (needed) *needed = strlen(text) + 1;
        if (to) strcpy(to, text);
        return CL_SUCCESS;
    }
    if (cl.is_gpu && name == CL_DEVICE_TYPE) {
        const cl_device_type type = CL_DEVICE_TYPE_GPU;
        if (needed) *needed = sizeof type;
        if (to) memcpy(to, &type, sizeof type);
        return CL_SUCCESS;
    }
    return (usm->cl.GetDeviceInfo ? usm->cl.GetDeviceInfo : clGetDeviceInfo)(device, name, capacity,
                                                                             to, needed);
}

static cl_int CL_API_CALL write_buffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking,
                                       size_t at, size_t bytes, const void *data, cl_uint count,
                                       const cl_event *list, cl_event *event) {
    if (cl.fails_write) return CL_OUT_OF_RESOURCES;
    cl.written_to = at + bytes;
    return clEnqueueWriteBuffer(queue, buffer, blocking, at, bytes, data, count, list, event);
}

static void note_free(void) {
    cl_int status = CL_COMPLETE;
    cl.live--;
    if (!cl.unfinished) return;
    CHECK_CL(clGetEventInfo(cl.unfinished, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status,
                            &status, NULL));
    cl.freed_in_use |= status != CL_COMPLETE;
}

static void *note_take(void *memory) {
    cl.live += memory != NULL;
    return memory;
}

static void *CL_API_CALL take_svm(cl_context context, cl_bitfield flags, size_t bytes,
                                  cl_uint alignment) {
    return note_take(real.SVMAlloc(context, flags, bytes, alignment));
}
static void CL_API_CALL free_svm(cl_context context, void *memory) {
    note_free();
    real.SVMFree(context, memory);
}
static void *CL_API_CALL take_host(cl_context context, const cl_bitfield *properties, size_t bytes,
                                   cl_uint alignment, cl_int *code) {
    return note_take(real.HostMemAllocINTEL(context, properties, bytes, alignment, code));
}
static void *CL_API_CALL take_device(cl_context context, cl_device_id device,
                                     const cl_bitfield *properties, size_t bytes, cl_uint alignment,
                                     cl_int *code) {
    return note_take(real.DeviceMemAllocINTEL(context, device, properties, bytes, alignment, code));
}
static void *CL_API_CALL take_shared(cl_context context, cl_device_id device,
                                     const cl_bitfield *properties, size_t bytes, cl_uint alignment,
                                     cl_int *code) {
    return note_take(real.SharedMemAllocINTEL(context, device, properties, bytes, alignment, code));
}
static cl_int CL_API_CALL free_usm(cl_context context, void *memory) {
    note_free();
    return real.MemFreeINTEL(context, memory);
}

static int open_all(void) {
    int result = cl_fixture_open(f, NULL);
    if (result) return result;
    if (!f->capabilities->pointers) {
        print_message("skipped: the device has no memory with pointers\n");
        cl_fixture_close(f);
        return CL_FIXTURE_SKIP;
    }
    usm = usm_of(f->device);
    real = usm->cl;
    clumpi_svm_functions_find(&real);
    clump_cl_functions table = usm->cl;
    table.GetDeviceInfo = get_device_info;
    table.CreateBuffer = create_buffer;
    table.EnqueueWriteBuffer = write_buffer;
    table.SVMAlloc = take_svm;
    table.SVMFree = free_svm;
    if (usm->has_usm) {
        table.HostMemAllocINTEL = take_host;
        table.DeviceMemAllocINTEL = take_device;
        table.SharedMemAllocINTEL = take_shared;
        table.MemFreeINTEL = free_usm;
    }
    cl_fixture_close(f);
    return cl_fixture_open(f, &(cl_fixture_desc){.cl = &table});
}

static int as_it_is(void **state) {
    (void)state;
    memset(&cl, 0, sizeof cl);
    return 0;
}

/* ---- Pools ----------------------------------------------------------------------------------- */

static clump_pool *open_pool(uint32_t margin_bytes) {
    clump_pool *pool;
    clump_error error;
    clump_pool_desc desc = {.size = sizeof desc,
                            .context = f->clump,
                            .chunk_bytes = 64 << 10,
                            .margin_bytes = margin_bytes};
    if (clump_pool_create(&desc, &pool, &error)) fail_msg("%s", error.message);
    return pool;
}

static void pool_ok(clump_pool *pool, clump_status status, int line) {
    clump_error error;
    if (!status) return;
    clump_pool_get_error(pool, &error);
    fail_msg("line %d: %s", line, error.message);
}
#define OK(pool, call) pool_ok((pool), (call), __LINE__)

static void refused(clump_pool *pool, clump_status status, clump_status expected, const char *words,
                    const char *call, int line) {
    clump_error error;
    clump_pool_get_error(pool, &error);
    cl_fixture_expect_words(&error, status, expected, words, call, line);
}
#define REFUSED(pool, call, status, words)                                                         \
    refused((pool), (call), (status), (words), #call, __LINE__)

/* The host writes or reads an allocation; of the device's own memory without a buffer by the
 * extension's copy. */
static void move_bytes(clump_pool *pool, clump_allocation allocation, uint64_t at, void *data,
                       size_t bytes, int is_write) {
    clump_allocation_info info = {.size = sizeof info};
    void *mapped;
    OK(pool, clump_pool_get_info(pool, allocation, &info));
    char *there = (char *)info.region.pointer + at;
    assert_true(at + bytes <= info.region.bytes);
    if (info.memory == CLUMP_MEMORY_USM_DEVICE && !info.region.buffer) {
        CHECK_CL(f->clump->cl.EnqueueMemcpyINTEL(f->queue, CL_TRUE, is_write ? there : data,
                                                 is_write ? data : there, bytes, 0, NULL, NULL));
        return;
    }
    OK(pool, clump_pool_map(pool, allocation, is_write ? CL_MAP_WRITE : CL_MAP_READ, &mapped));
    if (info.memory != CLUMP_MEMORY_USM_DEVICE) assert_ptr_equal(mapped, info.region.pointer);
    memcpy(is_write ? (char *)mapped + at : data, is_write ? data : (char *)mapped + at, bytes);
    cl_event unmapped = NULL; /* also where there is nothing to unmap */
    OK(pool, clump_pool_unmap(pool, allocation, mapped, &(clump_sync){.event = &unmapped}));
    CHECK_CL(clWaitForEvents(1, &unmapped));
    CHECK_CL(clReleaseEvent(unmapped));
}

/* ---- Chains ---------------------------------------------------------------------------------- */

#define THINGS 60u

typedef struct thing {
    clump_allocation allocation, beside; /* beside: movable, of the device, as large */
    clump_region region;
    uint32_t at; /* of its node */
} thing;

static void check_chain(clump_pool *pool, chain *c, clump_memory memory, thing *things) {
    void *regions[THINGS];
    for (uint32_t i = 0; i < THINGS; i++) {
        clump_allocation_info info = {.size = sizeof info};
        OK(pool, clump_pool_get_info(pool, things[i].allocation, &info));
        assert_ptr_equal(info.region.pointer, things[i].region.pointer);
        assert_ptr_equal(info.region.buffer, things[i].region.buffer);
        assert_int_equal(info.region.offset, things[i].region.offset);
        assert_int_equal(info.memory, memory);
        chain_node blank = {0};
        move_bytes(pool, things[i].allocation, things[i].at + offsetof(chain_node, sum), &blank,
                   sizeof blank.sum, 1);
        regions[i] = info.region.pointer;
    }
    chain_run(c, pointers_of(memory), (char *)things[0].region.pointer + things[0].at, THINGS,
              THINGS, regions);
    for (uint32_t i = 0; i < THINGS; i++) {
        chain_node got;
        move_bytes(pool, things[i].allocation, things[i].at, &got, sizeof got, 0);
        assert_int_equal(got.value, i + 1);
        assert_int_equal(got.sum, (i + 1) * (i + 2) / 2);
        if (!things[i].region.buffer) continue;
        /* The same by a buffer of its own. */
        cl_mem buffer;
        OK(pool, clump_pool_get_buffer(pool, things[i].allocation, &buffer));
        memset(&got, 0, sizeof got);
        CHECK_CL(clEnqueueReadBuffer(f->queue, buffer, CL_TRUE, things[i].at, sizeof got, &got, 0,
                                     NULL, NULL));
        assert_int_equal(got.sum, (i + 1) * (i + 2) / 2);
    }
    OK(pool, clump_pool_check(pool));
}

static const char *const dump_names[CLUMP_MEMORY_COUNT] = {
    [CLUMP_MEMORY_SVM] = "\"memory\": \"svm\"",
    [CLUMP_MEMORY_USM_DEVICE] = "\"memory\": \"usm device\"",
    [CLUMP_MEMORY_USM_HOST] = "\"memory\": \"usm host\"",
    [CLUMP_MEMORY_USM_SHARED] = "\"memory\": \"usm shared\""};

static int look_for_memory(void *name, const void *data, size_t bytes) {
    const char *text = data;
    assert_true(text[bytes] == 0);
    assert_non_null(strstr(text, name));
    assert_non_null(strstr(text, "\"memory\": \"device\""));
    return 0;
}

static void chain_through(clump_memory memory) {
    clump_pool *pool = open_pool(0);
    chain c = chain_open(f);
    thing things[THINGS];
    clump_allocation gaps[THINGS], gaps_beside[THINGS];
    clump_pool_stats stats = {.size = sizeof stats};
    uint64_t state = 3;
    for (uint32_t i = 0; i < THINGS; i++) {
        const uint32_t bytes = 16 + test_random(&state, 6000);
        clump_allocation_desc with = {
            .size = sizeof with, .bytes = bytes, .memory = memory, .unique = i == 7};
        clump_allocation_desc plain = {.size = sizeof plain, .bytes = bytes, .movable = 1};
        if (i % 5 == 0) with.alignment = 128;
        OK(pool, clump_pool_alloc(pool, &with, &things[i].allocation, &things[i].region));
        assert_non_null(things[i].region.pointer);
        assert_int_equal((uintptr_t)things[i].region.pointer % 128, 0);
        OK(pool, clump_pool_alloc(pool, &plain, &things[i].beside, NULL));
        OK(pool, clump_pool_alloc(pool, &with, &gaps[i], NULL));
        OK(pool, clump_pool_alloc(pool, &plain, &gaps_beside[i], NULL));
        things[i].at = test_random(&state, bytes / 16) * 16;
    }
    for (uint32_t i = 0; i < THINGS; i++) {
        chain_node node = {.value = i + 1};
        if (i + 1 < THINGS) node.next = (uintptr_t)things[i + 1].region.pointer + things[i + 1].at;
        move_bytes(pool, things[i].allocation, things[i].at, &node, sizeof node, 1);
    }
    check_chain(pool, &c, memory, things);
    for (uint32_t i = 0; i < THINGS; i++) {
        OK(pool, clump_pool_free(pool, gaps[i]));
        OK(pool, clump_pool_free(pool, gaps_beside[i]));
    }
    OK(pool, clump_pool_defragment(
                 pool, &(clump_defrag_desc){.size = sizeof(clump_defrag_desc), .until_done = 1},
                 NULL, NULL));
    OK(pool, clump_pool_get_stats(pool, &stats, NULL));
    assert_true(stats.moves > 10); /* of those beside */
    assert_true(cl.live > 1);
    check_chain(pool, &c, memory, things);
    OK(pool, clump_pool_dump(pool, CLUMP_POOL_JSON, look_for_memory, (void *)dump_names[memory]));
    for (uint32_t i = 0; i < THINGS; i++) {
        OK(pool, clump_pool_free(pool, things[i].allocation));
        OK(pool, clump_pool_free(pool, things[i].beside));
    }
    assert_int_equal(cl.live, 1); /* one chunk is kept */
    OK(pool, clump_pool_trim(pool));
    assert_int_equal(cl.live, 0);
    OK(pool, clump_pool_check(pool));
    chain_close(&c);
    clump_pool_destroy(pool);
}

static void chains(void **state) {
    (void)state;
    for (int i = 0; i < KINDS; i++) {
        if (!has(kinds[i])) continue;
        print_message("%s%s\n", clumpi_pointers_name(pointers_of(kinds[i])),
                      i && usm->is_stand_in ? ", by stand-ins" : "");
        chain_through(kinds[i]);
    }
}

/* ---- Devices that make no buffer over USM ---------------------------------------------------- */

static void without_view(clump_memory memory) {
    clump_pool *pool = open_pool(64);
    clump_allocation a;
    clump_region region;
    cl_mem buffer;
    void *mapped;
    uint8_t sent[1000], got[1000];
    for (uint32_t i = 0; i < sizeof sent; i++) sent[i] = (uint8_t)(i * 7);
    clump_allocation_desc desc = {
        .size = sizeof desc, .bytes = sizeof sent, .memory = memory, .name = "usm"};
    OK(pool, clump_pool_alloc(pool, &desc, &a, &region));
    assert_null(region.buffer);
    assert_non_null(region.pointer);
    REFUSED(pool, clump_pool_get_buffer(pool, a, &buffer), CLUMP_ERR_UNSUPPORTED,
            "makes no cl_mem of");
    assert_null(buffer);
    if (memory == CLUMP_MEMORY_USM_DEVICE)
        REFUSED(pool, clump_pool_map(pool, a, CL_MAP_READ, &mapped), CLUMP_ERR_UNSUPPORTED,
                "clump_pool_map: the device");
    move_bytes(pool, a, 0, sent, sizeof sent, 1);
    move_bytes(pool, a, 0, got, sizeof got, 0);
    assert_memory_equal(sent, got, sizeof got);
    OK(pool, clump_pool_check(pool)); /* reads the margin */
    CHECK_CL(f->clump->cl.EnqueueMemcpyINTEL(
        f->queue, CL_TRUE, (char *)region.pointer + sizeof sent + 3, sent, 5, 0, NULL, NULL));
    REFUSED(pool, clump_pool_check(pool), CLUMP_ERR_CORRUPT, "bytes 4 to 8 after its end");
    OK(pool, clump_pool_free(pool, a));
    clump_pool_destroy(pool);
    assert_int_equal(cl.live, 0);
}

static void no_views(void **state) {
    (void)state;
    for (int i = 1; i < KINDS; i++) {
        if (!has(kinds[i])) continue;
        cl.views = REFUSE;
        without_view(kinds[i]);
        cl.views = COPY; /* it has one, which is not the same memory */
        without_view(kinds[i]);
    }
    if (!has(CLUMP_MEMORY_SVM)) return;
    /* Of SVM the standard promises one. */
    clump_pool *pool = open_pool(0);
    clump_allocation a;
    cl.views = REFUSE;
    REFUSED(pool,
            clump_pool_alloc(
                pool,
                &(clump_allocation_desc){
                    .size = sizeof(clump_allocation_desc), .bytes = 9, .memory = CLUMP_MEMORY_SVM},
                &a, NULL),
            CLUMP_ERR_CL, "clCreateBuffer");
    assert_int_equal(cl.live, 0);
    clump_pool_destroy(pool);
}

/* ---- Refusals -------------------------------------------------------------------------------- */

static void refusals(void **state) {
    clump_pool *pool = open_pool(0);
    clump_allocation a = 0, plain = 0;
    clump_region region;
    cl_mem buffer;
    void *mapped;
    (void)state;
    OK(pool, clump_pool_alloc(
                 pool, &(clump_allocation_desc){.size = sizeof(clump_allocation_desc), .bytes = 9},
                 &plain, &region));
    assert_null(region.pointer);
    for (int i = 0; i < KINDS; i++) {
        const clump_allocation_desc desc = {.size = sizeof desc, .bytes = 100, .memory = kinds[i]};
        clump_allocation_desc bad = desc;
        if (!has(kinds[i])) {
            REFUSED(pool, clump_pool_alloc(pool, &desc, &a, NULL), CLUMP_ERR_UNSUPPORTED,
                    clumpi_pointers_name(pointers_of(kinds[i])));
            continue;
        }
        bad.movable = 1;
        REFUSED(pool, clump_pool_alloc(pool, &bad, &a, NULL), CLUMP_ERR_USAGE,
                "`movable` must be 0");
        bad = desc;
        bad.alignment = 256;
        REFUSED(pool, clump_pool_alloc(pool, &bad, &a, NULL), CLUMP_ERR_USAGE, "multiples of 128");
        REFUSED(pool, clump_pool_create_buffer(pool, &desc, 0, NULL, &buffer), CLUMP_ERR_USAGE,
                "may outlive its pool");
        assert_int_equal(cl.live, 0);
        OK(pool, clump_pool_alloc(pool, &desc, &a, &region));
        REFUSED(pool,
                clump_pool_change(
                    pool, a, CLUMP_PART_MOVABLE,
                    &(clump_allocation_desc){.size = sizeof(clump_allocation_desc), .movable = 1}),
                CLUMP_ERR_USAGE, "because of its pointer");
        OK(pool, clump_pool_change(pool, a, CLUMP_PART_MOVABLE,
                                   &(clump_allocation_desc){.size = sizeof(clump_allocation_desc),
                                                            .movable = 0}));
        OK(pool, clump_pool_map(pool, a, CL_MAP_READ, &mapped));
        REFUSED(pool, clump_pool_free(pool, a), CLUMP_ERR_USAGE, "1 maps");
        if (kinds[i] >= CLUMP_MEMORY_USM_HOST)
            REFUSED(pool, clump_pool_unmap(pool, a, &region, NULL), CLUMP_ERR_USAGE,
                    "not returned by");
        OK(pool, clump_pool_unmap(pool, a, mapped, NULL));
        OK(pool, clump_pool_free(pool, a));
        OK(pool, clump_pool_trim(pool));
        assert_int_equal(cl.live, 0);
    }
    clump_pool_destroy(pool);
    /* A device of OpenCL 1.2, also by its queue alone. */
    cl_fixture old;
    clump_error error;
    clump_cl_functions table = f->clump->cl;
    cl.is_old = 1;
    assert_int_equal(cl_fixture_open(&old, &(cl_fixture_desc){.cl = &table}), 0);
    assert_int_equal(old.capabilities->pointers, 0);
    assert_int_equal(
        clump_pool_create(&(clump_pool_desc){.size = sizeof(clump_pool_desc), .context = old.clump},
                          &pool, &error),
        0);
    for (int i = 0; i < KINDS; i++)
        REFUSED(pool,
                clump_pool_alloc(
                    pool,
                    &(clump_allocation_desc){
                        .size = sizeof(clump_allocation_desc), .bytes = 9, .memory = kinds[i]},
                    &a, NULL),
                CLUMP_ERR_UNSUPPORTED, clumpi_pointers_name(pointers_of(kinds[i])));
    clump_pool_destroy(pool);
    cl_fixture_close(&old);
}

/* ---- New chunks of GPUs ---------------------------------------------------------------------- */

/* Their last word is written, by a buffer where there is one. */
static void touches(void **state) {
    (void)state;
    for (int i = -1; i < KINDS; i++) {
        cl_fixture gpu;
        clump_cl_functions table = f->clump->cl;
        clump_pool *pool;
        clump_error error;
        clump_allocation a;
        if (i >= 0 && !has(kinds[i])) continue;
        for (int views = SHARE; views <= (i > 0 ? REFUSE : SHARE); views++) {
            cl.is_gpu = 1;
            cl.views = views;
            assert_int_equal(cl_fixture_open(&gpu, &(cl_fixture_desc){.cl = &table}), 0);
            assert_int_equal(gpu.capabilities->is_cpu, 0);
            clump_pool_desc desc = {
                .size = sizeof desc, .context = gpu.clump, .chunk_bytes = 64 << 10};
            assert_int_equal(clump_pool_create(&desc, &pool, &error), CLUMP_OK);
            cl.written_to = 0;
            OK(pool, clump_pool_alloc(
                         pool,
                         &(clump_allocation_desc){.size = sizeof(clump_allocation_desc),
                                                  .bytes = 9,
                                                  .memory = i < 0 ? CLUMP_MEMORY_DEVICE : kinds[i]},
                         &a, NULL));
            assert_int_equal(cl.written_to, views == REFUSE ? 0 : 64 << 10);
            cl.fails_write = i < 0;
            if (i < 0)
                REFUSED(
                    pool,
                    clump_pool_alloc(pool,
                                     &(clump_allocation_desc){.size = sizeof(clump_allocation_desc),
                                                              .bytes = 64 << 10},
                                     &a, NULL),
                    CLUMP_ERR_DEVICE_MEMORY, "clEnqueueWriteBuffer returned CL_OUT_OF_RESOURCES");
            cl.fails_write = 0;
            clump_pool_destroy(pool);
            cl_fixture_close(&gpu);
        }
    }
    assert_int_equal(cl.live, 0);
}

/* ---- Freed while commands use it ------------------------------------------------------------- */

/* A ring that the kernel follows for a while. */
static void freed_in_use(clump_memory memory, int how) {
    clump_pool *pool = open_pool(0);
    chain c = chain_open(f);
    clump_allocation a;
    clump_region region;
    const size_t one = 1;
    const cl_uint rounds = 3000000;
    OK(pool,
       clump_pool_alloc(pool,
                        &(clump_allocation_desc){
                            .size = sizeof(clump_allocation_desc), .bytes = 64, .memory = memory},
                        &a, &region));
    chain_node node = {(uintptr_t)region.pointer, 1, 0};
    move_bytes(pool, a, 0, &node, sizeof node, 1);
    chain_set(&c, pointers_of(memory), region.pointer, rounds, 1, &region.pointer);
    CHECK_CL(
        clEnqueueNDRangeKernel(f->queue, c.kernel, 1, NULL, &one, &one, 0, NULL, &cl.unfinished));
    CHECK_CL(clFlush(f->queue));
    if (how == 2 && memory != CLUMP_MEMORY_USM_DEVICE) { /* mapping waits, too */
        move_bytes(pool, a, 0, &node, sizeof node, 0);
        assert_int_equal(node.sum, rounds);
    }
    if (how < 2) OK(pool, clump_pool_free(pool, a));
    if (how == 0) OK(pool, clump_pool_trim(pool));
    if (how == 0) assert_int_equal(cl.live, 0);
    clump_pool_destroy(pool);
    assert_int_equal(cl.live, 0);
    assert_int_equal(cl.freed_in_use, 0);
    clReleaseEvent(cl.unfinished);
    cl.unfinished = NULL;
    chain_close(&c);
}

static void in_use(void **state) {
    (void)state;
    for (int i = 0; i < KINDS; i++)
        for (int how = 0; how < 3 && has(kinds[i]); how++) freed_in_use(kinds[i], how);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(chains, as_it_is),   cmocka_unit_test_setup(no_views, as_it_is),
        cmocka_unit_test_setup(refusals, as_it_is), cmocka_unit_test_setup(touches, as_it_is),
        cmocka_unit_test_setup(in_use, as_it_is),
    };
    int result = open_all();
    if (result) return result;
    result = cmocka_run_group_tests(tests, NULL, NULL);
    cl_fixture_close(f);
    return result;
}
