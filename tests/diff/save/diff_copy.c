/* A heap becomes a copy of another one (clump/copy.h): its saved bytes are those of the original at
 * that moment, whatever happens to the original afterwards, and the copy is a heap like any other.
 * The copy belongs to another context with a queue of its own, which a second thread uses.
 *
 * Read first: tests/support/saved_heap.h.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "clump/copy.h"
#include "saved_heap.h"

enum { BYTES = 4 << 20, OBJECTS = 1500, HANDLES = 90, PACKED = 300, SPREAD = 40, NOW = 23 };

static cl_fixture on, other; /* one cl_context, two clump_contexts */

static void expect_bytes(memory_file a, memory_file b) {
    assert_int_equal(a.bytes, b.bytes);
    for (size_t i = 0; i < a.bytes; i++)
        if (a.data[i] != b.data[i]) fail_msg("byte %zu of %zu differs", i, a.bytes);
    memory_release(&a);
    memory_release(&b);
}

/* ---- What is outside ------------------------------------------------------------------------- */

typedef struct outside {
    cl_mem packed, spread, count;
    clump_refs *refs[2];
} outside;

/* stride: of the second buffer; counted: it has a word of the count. */
static outside outside_of(const cl_fixture *f, clump_heap *h, uint32_t stride, int counted) {
    outside o = {.packed = cl_fixture_buffer(f, NULL, PACKED * 4),
                 .spread = cl_fixture_buffer(f, NULL, SPREAD * 16 + 8),
                 .count = cl_fixture_buffer(f, NULL, 8)};
    const clump_refs_desc descs[2] = {
        {.size = sizeof(clump_refs_desc), .buffer = o.packed, .count = PACKED},
        {.size = sizeof(clump_refs_desc),
         .buffer = o.spread,
         .count = SPREAD,
         .offset = 8,
         .stride = stride,
         .counted = counted ? o.count : NULL,
         .counted_at = 4}};
    for (int i = 0; i < 2; i++) CHECK_OK(f, clump_refs_create(h, &descs[i], &o.refs[i], NULL));
    return o;
}

static void outside_release(outside *o) {
    for (int i = 0; i < 2; i++) clump_refs_destroy(o->refs[i]);
    clReleaseMemObject(o->packed);
    clReleaseMemObject(o->spread);
    clReleaseMemObject(o->count);
}

static void outside_fill(const outside *o, const clump_ref *refs, uint32_t count, uint32_t seed) {
    static clump_ref packed[PACKED], spread[SPREAD * 3 + 2];
    uint64_t random = seed;
    const uint32_t now[2] = {77, NOW + seed};
    for (int i = 0; i < PACKED; i++) packed[i] = refs[test_random(&random, count)];
    for (int i = 0; i < SPREAD * 3 + 2; i++) spread[i] = 0;
    for (int i = 0; i < SPREAD; i++) spread[2 + 3 * i] = refs[test_random(&random, count)];
    cl_fixture_write(&on, o->packed, packed, sizeof packed);
    cl_fixture_write(&on, o->spread, spread, sizeof spread);
    cl_fixture_write(&on, o->count, now, sizeof now);
}

/* Objects, handles, references; later turns add to what is there. Returns a handle that was given
 * back. */
static clump_handle change(clump_heap *heap, const outside *o, uint32_t turn) {
    clump_handle handles[HANDLES];
    clump_ref *refs;
    uint64_t random = 5 + turn;
    saved_fill(&on, heap, 1 + turn, OBJECTS / (1 + turn));
    CHECK_OK(&on, clump_heap_reserve(heap, "Leaf", 300 + turn, NULL));
    const uint32_t count = saved_refs(&on, heap, &refs);
    outside_fill(o, refs, count, turn);
    for (int i = 0; i < HANDLES; i++)
        CHECK_OK(&on,
                 clump_heap_create_handle(heap, refs[test_random(&random, count)], &handles[i]));
    for (int i = 0; i < HANDLES; i += 7) CHECK_OK(&on, clump_heap_destroy_handle(heap, handles[i]));
    free(refs);
    return handles[0];
}

/* ---- Copies ---------------------------------------------------------------------------------- */

static void copy_as(const clump_heap_desc *desc, clump_pool *pool) {
    clump_heap_desc in_pool = *desc;
    in_pool.pool = pool;
    clump_heap *heap = cl_fixture_heap_as(&on, saved_schema, desc),
               *copy = cl_fixture_heap_as(&other, saved_schema, &in_pool);
    const clump_heap_info *info = clump_heap_get_info(heap);
    assert_int_equal(info->buffer_blocks != 0, getenv("CLUMP_TEST_BUFFERS") != NULL);
    outside o = outside_of(&on, heap, 12, 1), p = outside_of(&other, copy, 12, 1);
    clump_ref ref;
    CHECK_OK(&on, clump_heap_copy(heap, copy, NULL)); /* of a heap without anything */
    expect_bytes(saved_bytes(&on, heap, 0), saved_bytes(&other, copy, 0));
    for (uint32_t turn = 0; turn < 2; turn++) {
        const clump_handle free_one = change(heap, &o, turn);
        memory_file before = saved_bytes(&on, heap, 0);
        CHECK_OK(&on, clump_heap_copy(heap, copy, NULL));
        expect_bytes(before, saved_bytes(&on, heap, 0)); /* it is as it was */
        before = saved_bytes(&on, heap, 0);
        CHECK_OK(&on, clump_heap_copy(heap, copy, NULL));
        change(heap, &o, 2); /* enqueued at once */
        expect_bytes(before, saved_bytes(&other, copy, 0));
        CHECK_HEAP(&other, copy);
        CHECK_STATUS(&other, clump_heap_read_handle(copy, free_one, &ref), CLUMP_ERR_USAGE);
    }
    CHECK_OK(&on, clump_heap_copy(heap, copy, NULL));
    saved_fill(&other, copy, 9, OBJECTS / 2); /* a heap like any other */
    CHECK_OK(&other, clump_heap_compact(copy, NULL, NULL, NULL));
    CHECK_HEAP(&other, copy);
    CHECK_HEAP(&on, heap);
    outside_release(&o);
    outside_release(&p);
    clump_heap_destroy(copy);
    clump_heap_destroy(heap);
}

static void equal_bytes(void **state) {
    const clump_heap_desc plain = {.size = sizeof plain, .bytes = BYTES, .block_rows = 2};
    const clump_heap_desc watched = {.size = sizeof watched, .bytes = BYTES, .watch_handles = 1};
    const clump_heap_desc small = {.size = sizeof small, .bytes = 2 << 20};
    clump_pool *pool;
    const clump_pool_desc desc = {.size = sizeof desc, .context = other.clump};
    CHECK_OK(&other, clump_pool_create(&desc, &pool, NULL));
    unsetenv("CLUMP_TEST_BUFFERS"); /* a heap in a pool has one buffer */
    copy_as(&plain, NULL);
    copy_as(&watched, pool);
    setenv("CLUMP_TEST_BUFFERS", "4", 1);
    if (on.capabilities->pointers & CLUMP_POINTERS_SVM) copy_as(&small, NULL);
    unsetenv("CLUMP_TEST_BUFFERS");
    clump_pool_destroy(pool);
}

static void *save_copy(void *copy) {
    memory_file *file = calloc(1, sizeof *file);
    assert_non_null(file);
    *file = saved_bytes(&other, copy, 4096);
    return file;
}

/* A thread saves the copy while kernels change the original. */
static void saved_by_a_thread(void **state) {
    const clump_heap_desc desc = {.size = sizeof desc, .bytes = BYTES};
    clump_heap *heap = cl_fixture_heap_as(&on, saved_schema, &desc),
               *copy = cl_fixture_heap_as(&other, saved_schema, &desc);
    for (uint32_t turn = 0; turn < 3; turn++) {
        saved_fill(&on, heap, 20 + turn, OBJECTS / 3);
        memory_file before = saved_bytes(&on, heap, 4096);
        pthread_t thread;
        void *file;
        CHECK_OK(&on, clump_heap_copy(heap, copy, NULL));
        assert_int_equal(pthread_create(&thread, NULL, save_copy, copy), 0);
        saved_fill(&on, heap, 30 + turn, OBJECTS / 3);
        assert_int_equal(pthread_join(thread, &file), 0);
        expect_bytes(before, *(memory_file *)file);
        free(file);
    }
    clump_heap_destroy(copy);
    clump_heap_destroy(heap);
}

/* What kernels reported stays with the heap that they ran on. */
static void errors_stay(void **state) {
    const clump_heap_desc desc = {.size = sizeof desc, .bytes = 1 << 20};
    const clump_struct_desc lone = {.size = sizeof lone, .class_name = "Lone", .bytes = 4};
    enum { TOO_MANY = 1 << 20 };
    clump_heap *heap = cl_fixture_heap_as(&on, saved_schema, &desc),
               *copy = cl_fixture_heap_as(&other, saved_schema, &desc);
    clump_device_report report = {.size = sizeof report};
    uint32_t *structs = calloc(TOO_MANY, sizeof *structs);
    for (int turn = 0; turn < 2; turn++) { /* of the heap, then of the copy */
        const cl_fixture *f = turn ? &other : &on;
        clump_heap *full = turn ? copy : heap;
        uint64_t made;
        CHECK_OK(f, clump_heap_new_structs(full, &lone, structs, TOO_MANY, NULL, &made));
        assert_true(made < TOO_MANY);
        CHECK_OK(&on, clump_heap_copy(heap, copy, NULL));
        CHECK_STATUS(f, clump_heap_take_errors(full, &report), CLUMP_ERR_DEVICE);
        CHECK_OK(turn ? &on : &other, clump_heap_take_errors(turn ? heap : copy, &report));
    }
    free(structs);
    clump_heap_destroy(copy);
    clump_heap_destroy(heap);
}

static int is_done(cl_command_queue queue, cl_event event) {
    cl_int state = 0;
    CHECK_CL(clFlush(queue));
    cl_fixture_nap();
    CHECK_CL(clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL));
    return state == CL_COMPLETE;
}

static void end_event(cl_event event, int wait) {
    if (wait) CHECK_CL(clWaitForEvents(1, &event));
    CHECK_CL(clReleaseEvent(event));
}

/* The copy waits for what was enqueued on both queues, and for the caller's event; what comes later
 * on its own queue waits for the copy. f: the context of the copy. */
static void order_events(const cl_fixture *f) {
    const clump_heap_desc desc = {.size = sizeof desc, .bytes = BYTES};
    clump_heap *heap = cl_fixture_heap_as(&on, saved_schema, &desc),
               *copy = cl_fixture_heap_as(f, saved_schema, &desc);
    saved_fill(&on, heap, 40, OBJECTS);
    for (int way = 0; way < 2; way++) {
        memory_file before = saved_bytes(&on, heap, 0);
        cl_int code;
        cl_event begin = clCreateUserEvent(on.context, &code), end, later;
        clump_sync sync = {.event = &end};
        CHECK_CL(code);
        if (way) {
            sync.wait_count = 1;
            sync.wait_list = &begin;
        } else {
            CHECK_CL(clEnqueueMarkerWithWaitList(f->queue, 1, &begin, NULL));
        }
        CHECK_OK(&on, clump_heap_copy(heap, copy, &sync));
        assert_false(is_done(on.queue, end));
        CHECK_CL(clEnqueueMarkerWithWaitList(f->queue, 0, NULL, &later));
        assert_false(is_done(f->queue, later));
        CHECK_CL(clSetUserEventStatus(begin, CL_COMPLETE));
        end_event(end, 1);
        end_event(later, 1);
        end_event(begin, 0);
        expect_bytes(before, saved_bytes(f, copy, 0));
        saved_fill(&on, heap, 41, OBJECTS / 9);
    }
    clump_heap_destroy(copy);
    clump_heap_destroy(heap);
}

static void ordered_by_events(void **state) {
    order_events(&other);
    order_events(&on);
}

/* A kernel has just made and freed objects: the list is outdated, and slots are reserved. */
static void behind_a_kernel(void **state) {
    static const char source[] =
        "__kernel void turn(CLUMP_HEAP, uint of) {\n"
        "    CLUMP_FOR_EACH(Lone, s) {\n"
        "        Lone more = Lone_new();\n"
        "        if (!Lone_is_null(more)) Lone_one(more) = 7;\n"
        "        if (Lone_one(s) % of == 1) Lone_free(s);\n"
        "    }\n}\n";
    const clump_heap_desc desc = {.size = sizeof desc, .bytes = BYTES, .block_rows = 1};
    clump_heap *heap = cl_fixture_heap_as(&on, saved_schema, &desc),
               *copy = cl_fixture_heap_as(&other, saved_schema, &desc);
    clump_program *program = cl_fixture_program(&on, heap, source, NULL, NULL);
    clump_kernel *turn = cl_fixture_kernel(&on, program, "turn");
    saved_fill(&on, heap, 50, OBJECTS);
    saved_fill(&other, copy, 51, OBJECTS);
    for (uint32_t of = 3; of < 7; of++) {
        SET_ARG(&on, turn, 0, of);
        CHECK_OK(&on, clump_heap_do_all(heap, turn, NULL));
        CHECK_OK(&on, clump_heap_copy(heap, copy, NULL));
        if (of == 5) CHECK_HEAP(&other, copy);
        expect_bytes(saved_bytes(&other, copy, 0), saved_bytes(&on, heap, 0));
        CHECK_OK(&on, clump_heap_do_all(heap, turn, NULL));
        CHECK_OK(&on, clump_heap_copy(heap, copy, NULL));
        CHECK_OK(&other, clump_heap_compact(copy, NULL, NULL, NULL)); /* first of all */
        CHECK_HEAP(&other, copy);
    }
    saved_fill(&other, copy, 52, OBJECTS); /* it makes objects, too */
    CHECK_HEAP(&other, copy);
    clump_kernel_destroy(turn);
    clump_program_destroy(program);
    clump_heap_destroy(copy);
    clump_heap_destroy(heap);
}

/* ---- Refusals -------------------------------------------------------------------------------- */

static void refuse(clump_heap *heap, clump_heap *copy, clump_status status, const char *words) {
    cl_fixture_expect_words(clump_context_get_error(on.clump), clump_heap_copy(heap, copy, NULL),
                            status, words, "clump_heap_copy", __LINE__);
}

static void refused(void **state) {
    const clump_heap_desc desc = {.size = sizeof desc, .bytes = 1 << 20, .block_rows = 2};
    clump_heap_desc wrong = desc;
    clump_heap *heap = cl_fixture_heap_as(&on, saved_schema, &desc), *copy;
    assert_int_equal(clump_heap_copy(NULL, heap, NULL), CLUMP_ERR_USAGE);
    refuse(heap, NULL, CLUMP_ERR_USAGE, "needs two heaps");
    refuse(heap, heap, CLUMP_ERR_USAGE, "needs two heaps");
    copy = cl_fixture_heap_as(&other, "class Lone { uchar one; }", &desc);
    refuse(heap, copy, CLUMP_ERR_SCHEMA, "the schemas differ");
    clump_heap_destroy(copy);
    for (int i = 0; i < 3; i++) {
        wrong = desc;
        if (i == 0) wrong.bytes *= 2;
        if (i == 1) wrong.block_rows = 40;
        if (i == 2) wrong.watch_handles = 1;
        copy = cl_fixture_heap_as(&other, saved_schema, &wrong);
        refuse(heap, copy, CLUMP_ERR_USAGE, "with the clump_heap_desc of the heap");
        clump_heap_destroy(copy);
    }
    cl_fixture far;
    if (!cl_fixture_open_other(&far, &(cl_fixture_desc){0})) {
        copy = cl_fixture_heap_as(&far, saved_schema, &desc);
        refuse(heap, copy, CLUMP_ERR_USAGE, "another cl_context");
        clump_heap_destroy(copy);
        cl_fixture_close(&far);
    }
    copy = cl_fixture_heap_as(&other, saved_schema, &desc);
    saved_fill(&other, copy, 3, 200);
    memory_file before = saved_bytes(&other, copy, 0);
    outside o = outside_of(&on, heap, 12, 1), p;
    refuse(heap, copy, CLUMP_ERR_USAGE, "the heap has more registered buffers");
    expect_bytes(before, saved_bytes(&other, copy, 0)); /* as it was */
    p = outside_of(&other, copy, 16, 1);
    refuse(heap, copy, CLUMP_ERR_USAGE, "differ in count, stride or counted");
    outside_release(&p);
    p = outside_of(&other, copy, 12, 0);
    refuse(heap, copy, CLUMP_ERR_USAGE, "differ in count, stride or counted");
    outside_release(&p);
    p = outside_of(&other, copy, 12, 1);
    outside_release(&o);
    refuse(heap, copy, CLUMP_ERR_USAGE, "the copy has more registered buffers");
    outside_release(&p);
    clump_heap_destroy(copy);
    clump_heap_destroy(heap);
}

int main(void) {
    const int code = cl_fixture_open(&on, NULL);
    if (code) return code;
    cl_int failed;
    other = on;
    other.queue = clCreateCommandQueue(on.context, on.device, 0, &failed);
    const clump_context_desc desc = {.size = sizeof desc,
                                     .context = on.context,
                                     .device = on.device,
                                     .queue = other.queue,
                                     .personality = on.capabilities->personality};
    clump_error error;
    if (failed || clump_context_create(&desc, &other.clump, &error)) return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_bytes),     cmocka_unit_test(saved_by_a_thread),
        cmocka_unit_test(errors_stay),     cmocka_unit_test(ordered_by_events),
        cmocka_unit_test(behind_a_kernel), cmocka_unit_test(refused),
    };
    const int result = cmocka_run_group_tests(tests, NULL, NULL);
    clump_context_destroy(other.clump);
    clReleaseCommandQueue(other.queue);
    cl_fixture_close(&on);
    return result;
}
