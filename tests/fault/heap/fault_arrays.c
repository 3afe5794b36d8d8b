/* Arrays of run-time length that are used wrongly, or have no room: what cl/api/arrays.clh,
 * clump/schema.h and clump/heap.h promise. What is refused is reported where that is promised, and
 * changes nothing.
 *
 * Read first: cl/api/arrays.clh.
 */
#include <stdio.h>
#include <string.h>

#include "cl_fixture.h"
#include "clump/checked.h"
#include "clump/save.h"
#include "core/core.h"
#include "heap/heap.h"

static const char schema_text[] =
    "class Other { uint x; }\n"
    "class Node { uint a[*]; uint b[*] inline 2; uint c[*] max 4; uint guard; }\n";

/* One call by one work-item, for array `which`. out[0]: what it returned. */
static const char source[] =
    "enum { NEW, FREE, LENGTH, CAPACITY, RESIZE, RESERVE, APPEND, TRIM, GET, SET, FILL };\n"
    "#define EACH(x) which == 0u ? x(a) : which == 1u ? x(b) : x(c)\n"
    "__kernel void call(CLUMP_HEAP, __global uint *out, uint id, uint what, uint which, ulong n, "
    "uint x) {\n"
    "    if (get_global_id(0)) return;\n"
    "    Node r = {id};\n"
    "    switch (what) {\n" /* each call stands once: PoCL inlines them all */
    "    case NEW: r = Node_new(); out[0] = r.id; break;\n"
    "    case FREE: Node_free(r); break;\n"
    "#define CALL(f) Node_##f##_length(r)\n"
    "    case LENGTH: out[0] = EACH(CALL); break;\n"
    "#undef CALL\n"
    "#define CALL(f) Node_##f##_capacity(r)\n"
    "    case CAPACITY: out[0] = EACH(CALL); break;\n"
    "#undef CALL\n"
    "#define CALL(f) Node_##f##_resize(r, n)\n"
    "    case RESIZE: out[0] = EACH(CALL); break;\n"
    "#undef CALL\n"
    "#define CALL(f) Node_##f##_reserve(r, n)\n"
    "    case RESERVE: out[0] = EACH(CALL); break;\n"
    "#undef CALL\n"
    "#define CALL(f) Node_##f##_append(r, x)\n"
    "    case APPEND: out[0] = EACH(CALL); break;\n"
    "#undef CALL\n"
    "    case TRIM: if (which == 0u) Node_a_trim(r); else if (which == 1u) Node_b_trim(r); else "
    "Node_c_trim(r); break;\n"
    "#define CALL(f) Node_##f(r, n)\n"
    "    case GET: out[0] = EACH(CALL); break;\n"
    "    case SET: if (which == 0u) Node_a(r, n) = x; else if (which == 1u) Node_b(r, n) = x; else "
    "Node_c(r, n) = x; break;\n"
    /* All elements, from x on. */
    "    case FILL: for (uint i = 0; i < n; i++) { if (which == 0u) Node_a(r, i) = x + i; else if "
    "(which == 1u) Node_b(r, i) = x + i; else Node_c(r, i) = x + i; } break;\n"
    "    }\n"
    "}\n";
enum { NEW, FREE, LENGTH, CAPACITY, RESIZE, RESERVE, APPEND, TRIM, GET, SET, FILL };
enum { A, B, C, ARRAYS };
enum { DONE, NO_MEMORY = 2, FULL, MISUSED }; /* CLUMP_... */
#define WIDE (UINT64_C(1) << 32)             /* 0 as a length */
static const char *const names[] = {"a", "b", "c"};

static struct {
    cl_fixture on;
    clump_heap *heap;
    clump_program *program, *checked;
    clump_kernel *kernel, *checked_kernel, *used;
    cl_mem out;
    uint32_t node; /* with 3 elements in each array */
} t;

static uint32_t call(uint32_t what, uint32_t id, uint32_t which, uint64_t n, uint32_t x) {
    uint32_t out;
    SET_ARG(&t.on, t.used, 0, t.out);
    SET_ARG(&t.on, t.used, 1, id);
    SET_ARG(&t.on, t.used, 2, what);
    SET_ARG(&t.on, t.used, 3, which);
    SET_ARG(&t.on, t.used, 4, n);
    SET_ARG(&t.on, t.used, 5, x);
    CHECK_OK(&t.on, clump_heap_launch(t.heap, t.used, 64, 64, NULL));
    cl_fixture_read(&t.on, t.out, &out, sizeof out);
    CHECK_OK(&t.on, clump_heap_check(t.heap));
    return out;
}

/* The arrays of the node are as they were made. */
static void expect_as_made(void) {
    for (uint32_t which = A; which < ARRAYS; which++) {
        uint32_t values[3];
        uint64_t length;
        CHECK_OK(&t.on, clump_heap_read_object_array(t.heap, "Node", names[which], t.node,
                                                     sizeof *values, values, 3, &length));
        assert_int_equal(length, 3);
        for (uint32_t i = 0; i < 3; i++) assert_int_equal(values[i], 100 * which + 7 + i);
    }
}

static int open_all(void **state) {
    (void)state;
    t.heap = cl_fixture_heap(&t.on, schema_text, 4 << 20, 0);
    t.program = cl_fixture_program(&t.on, t.heap, source, NULL, NULL);
    CHECK_OK(&t.on, clump_program_create(&(clump_program_desc){.size = sizeof(clump_program_desc),
                                                               .heap = t.heap,
                                                               .source = source,
                                                               .checked = 1},
                                         &t.checked, NULL));
    t.kernel = t.used = cl_fixture_kernel(&t.on, t.program, "call");
    t.checked_kernel = cl_fixture_kernel(&t.on, t.checked, "call");
    t.out = cl_fixture_buffer(&t.on, NULL, sizeof(uint32_t));
    t.node = call(NEW, 0, 0, 0, 0);
    assert_int_not_equal(t.node, 0);
    for (uint32_t which = A; which < ARRAYS; which++) {
        assert_int_equal(call(LENGTH, t.node, which, 0, 0), 0);
        assert_int_equal(call(RESIZE, t.node, which, 3, 0), DONE);
        call(FILL, t.node, which, 3, 100 * which + 7);
    }
    cl_fixture_expect_error(&t.on, t.heap, -1, 0, NULL);
    expect_as_made();
    return 0;
}

static int close_all(void **state) {
    (void)state;
    clump_kernel_destroy(t.kernel);
    clump_kernel_destroy(t.checked_kernel);
    clump_program_destroy(t.program);
    clump_program_destroy(t.checked);
    clump_heap_destroy(t.heap);
    clReleaseMemObject(t.out);
    return 0;
}

/* A program built with `checked` sees each index at or beyond the length, though there is room. */
static void bounds(void **state) {
    (void)state;
    t.used = t.checked_kernel;
    for (uint32_t which = A; which < ARRAYS; which++) {
        assert_true(call(CAPACITY, t.node, which, 0, 0) > 3);
        assert_int_equal(call(GET, t.node, which, 2, 0), 100 * which + 9);
        cl_fixture_expect_error(&t.on, t.heap, -1, 0, NULL);
        static const uint64_t wrong[] = {3, 4, 1000, UINT32_MAX, WIDE, WIDE + 1};
        for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
            call(SET, t.node, which, wrong[i], 5);
            cl_fixture_expect_error(&t.on, t.heap, CLUMP_DEVICE_BAD_ACCESS, t.node, "class Node");
            call(GET, t.node, which, wrong[i], 0);
            cl_fixture_expect_error(&t.on, t.heap, CLUMP_DEVICE_BAD_ACCESS, t.node, NULL);
        }
        assert_int_equal(call(APPEND, t.node, which, 0, 1), 3);
        assert_int_equal(call(GET, t.node, which, 3, 0), 1);
        assert_int_equal(call(RESIZE, t.node, which, 3, 0), DONE);
        cl_fixture_expect_error(&t.on, t.heap, -1, 0, NULL);
        /* By a reference that is none: once, by the reference. */
        call(GET, t.node + 1, which, 0, 0);
        cl_fixture_expect_error(&t.on, t.heap, CLUMP_DEVICE_BAD_ACCESS, t.node + 1, NULL);
        assert_int_equal(call(RESIZE, t.node + 1, which, 9, 0), MISUSED);
        cl_fixture_expect_error(&t.on, t.heap, CLUMP_DEVICE_BAD_ACCESS, t.node + 1, NULL);
    }
    t.used = t.kernel;
    expect_as_made();
}

static void too_many(void **state) {
    (void)state;
    const uint64_t before = cl_fixture_raw_bytes(&t.on, t.heap);
    static const uint64_t wishes[] = {5, 1000, UINT32_MAX, WIDE, WIDE + 3};
    for (size_t i = 0; i < sizeof wishes / sizeof *wishes; i++) {
        const uint32_t told = wishes[i] < WIDE ? (uint32_t)wishes[i] : UINT32_MAX;
        assert_int_equal(call(RESIZE, t.node, C, wishes[i], 0), FULL);
        cl_fixture_expect_error(&t.on, t.heap, CLUMP_DEVICE_BAD_SIZE, told,
                                "run-time length of class Node was to have room");
        assert_int_equal(call(RESERVE, t.node, C, wishes[i], 0), FULL);
        cl_fixture_expect_error(&t.on, t.heap, CLUMP_DEVICE_BAD_SIZE, told, "more than its `max`");
    }
    for (uint32_t which = A; which <= B; which++) {
        static const uint64_t most[] = {UINT32_MAX, WIDE, WIDE + 3};
        for (size_t i = 0; i < sizeof most / sizeof *most; i++) {
            assert_int_equal(call(RESIZE, t.node, which, most[i], 0), FULL);
            cl_fixture_expect_error(&t.on, t.heap, CLUMP_DEVICE_BAD_SIZE, UINT32_MAX,
                                    "A size must be 1 to");
        }
        const uint32_t inside = which == B ? 2 : 0;
        assert_int_equal(call(RESERVE, t.node, which, (1 << 29) + inside, 0), FULL);
        cl_fixture_expect_error(&t.on, t.heap, CLUMP_DEVICE_BAD_SIZE, UINT32_C(1) << 31, NULL);
    }
    assert_int_equal(call(RESIZE, t.node, C, 4, 0), DONE);
    assert_int_equal(call(APPEND, t.node, C, 0, 1), UINT32_MAX);
    assert_int_equal(call(LENGTH, t.node, C, 0, 0), 4);
    assert_int_equal(call(RESIZE, t.node, C, 3, 0), DONE);
    cl_fixture_expect_error(&t.on, t.heap, -1, 0, NULL);
    assert_int_equal(cl_fixture_raw_bytes(&t.on, t.heap), before);
    expect_as_made();
}

/* Memory runs out: arrays stay as they are, and come back when there is room. */
static void exhaustion(void **state) {
    (void)state;
    enum { MOST = 64 };
    uint32_t nodes[MOST], n = 0, words = 60000;
    const uint64_t before = cl_fixture_raw_bytes(&t.on, t.heap);
    for (; n < MOST; n++) {
        nodes[n] = call(NEW, 0, 0, 0, 0);
        assert_int_not_equal(nodes[n], 0);
        if (call(RESIZE, nodes[n], A, words, 0) != DONE) break;
    }
    assert_true(n > 4 && n < MOST);
    cl_fixture_expect_error(&t.on, t.heap, CLUMP_DEVICE_OUT_OF_MEMORY, 0, NULL);
    for (uint32_t which = A; which <= B; which++) {
        assert_int_equal(call(RESIZE, t.node, which, words, 0), NO_MEMORY);
        cl_fixture_expect_error(&t.on, t.heap, CLUMP_DEVICE_OUT_OF_MEMORY, 0, NULL);
        assert_int_equal(call(RESERVE, t.node, which, words, 0), NO_MEMORY);
        cl_fixture_expect_error(&t.on, t.heap, CLUMP_DEVICE_OUT_OF_MEMORY, 0, NULL);
    }
    expect_as_made();
    assert_int_equal(call(RESIZE, nodes[0], A, 10, 0), DONE); /* keeps the room */
    assert_int_equal(call(RESIZE, nodes[n], A, words, 0), NO_MEMORY);
    cl_fixture_expect_error(&t.on, t.heap, CLUMP_DEVICE_OUT_OF_MEMORY, 0, NULL);
    call(TRIM, nodes[0], A, 0, 0); /* gives it back */
    assert_int_equal(call(RESIZE, nodes[n], A, words / 2, 0), DONE);
    for (uint32_t i = 0; i <= n; i++) call(FREE, nodes[i], A, 0, 0);
    cl_fixture_expect_error(&t.on, t.heap, -1, 0, NULL);
    assert_int_equal(cl_fixture_raw_bytes(&t.on, t.heap), before);
    expect_as_made();
}

static void null_reference(void **state) {
    (void)state;
    const uint64_t before = cl_fixture_raw_bytes(&t.on, t.heap);
    /* The null row has anything: as lengths, and as handles, which lead to the heap's header. */
    static uint32_t row[1 << 16];
    const uint32_t header = t.heap->geometry.header.self_at * 4, bytes = header * CLUMPI_RAW_UNIT;
    assert_true(bytes <= sizeof row);
    for (uint32_t i = 0; i < bytes / 4; i++) row[i] = header;
    CHECK_OK(&t.on, clumpi_write(t.on.clump, clump_heap_get_info(t.heap)->buffer, 0, bytes, row));
    for (uint32_t which = A; which < ARRAYS; which++) {
        for (uint32_t slot = 0; slot < 64; slot++) {
            call(FILL, slot, which, 3, header);
            assert_int_equal(call(LENGTH, slot, which, 0, 0), 0);
            assert_int_equal(call(CAPACITY, slot, which, 0, 0), 0);
            if (slot > 2) continue;
            assert_int_equal(call(RESIZE, slot, which, 2, 0), MISUSED);
            assert_int_equal(call(RESERVE, slot, which, 2, 0), MISUSED);
            assert_int_equal(call(APPEND, slot, which, 0, 1), UINT32_MAX);
            call(TRIM, slot, which, 0, 0);
            call(SET, slot, A, 100000, 1); /* far beyond any array: the null row, too */
        }
    }
    cl_fixture_expect_error(&t.on, t.heap, -1, 0, NULL);
    assert_int_equal(cl_fixture_raw_bytes(&t.on, t.heap), before);
    expect_as_made();
    /* Elements of an array that never had memory. */
    uint32_t node = call(NEW, 0, 0, 0, 0);
    call(SET, node, A, 0, 1);
    call(SET, node, A, 1 << 20, 1);
    call(SET, node, B, 1 << 20, 1);
    call(FREE, node, 0, 0, 0);
    cl_fixture_expect_error(&t.on, t.heap, -1, 0, NULL);
    assert_int_equal(cl_fixture_raw_bytes(&t.on, t.heap), before);
}

static void frees(void **state) {
    (void)state;
    const uint64_t before = cl_fixture_raw_bytes(&t.on, t.heap);
    uint32_t node = call(NEW, 0, 0, 0, 0);
    for (uint32_t which = A; which <= B; which++)
        assert_int_equal(call(RESIZE, node, which, 500, 0), DONE);
    assert_true(cl_fixture_raw_bytes(&t.on, t.heap) > before);
    call(FREE, node, 0, 0, 0);
    cl_fixture_expect_error(&t.on, t.heap, -1, 0, NULL);
    assert_int_equal(cl_fixture_raw_bytes(&t.on, t.heap), before);
    call(FREE, node, 0, 0, 0);
    cl_fixture_expect_error(&t.on, t.heap, CLUMP_DEVICE_DOUBLE_FREE, node, NULL);
    assert_int_equal(cl_fixture_raw_bytes(&t.on, t.heap), before);
    /* A handle that was overwritten is refused, like any pointer; the object goes. */
    node = call(NEW, 0, 0, 0, 0);
    const clump_field_info *memory = clump_schema_find_field(
        clump_heap_get_info(t.heap)->schema, cl_fixture_class_id(t.heap, "Node"), "a_memory");
    const uint32_t wrong = t.heap->geometry.header.self_at * 4;
    CHECK_OK(&t.on, clumpi_write(t.on.clump, clump_heap_get_info(t.heap)->buffer,
                                 (uint64_t)(node >> 6) * t.heap->info.granule_bytes +
                                     memory->base_bytes + (node & 63) * memory->stride_bytes,
                                 sizeof wrong, &wrong));
    call(FREE, node, 0, 0, 0);
    cl_fixture_expect_error(&t.on, t.heap, CLUMP_DEVICE_BAD_POINTER, 0, NULL);
    assert_int_equal(cl_fixture_raw_bytes(&t.on, t.heap), before);
    expect_as_made();
}

/* What changes room is for CLUMP_HEAP, the rest for all kernels. */
static void fixed(void **state) {
    (void)state;
    static const struct {
        const char *body;
        clump_status status;
    } bodies[] = {
        {"(void)(Node_a_length(r) + Node_b_capacity(r) + Node_a_append(r, 1u)); Node_c(r, 0) = 1;",
         CLUMP_OK},
        {"(void)Node_a_resize(r, 1u);", CLUMP_ERR_BUILD},
        {"(void)Node_c_resize(r, 1u);", CLUMP_ERR_BUILD},
        {"(void)Node_b_reserve(r, 1u);", CLUMP_ERR_BUILD},
        {"Node_b_trim(r);", CLUMP_ERR_BUILD},
        {"Node_a_length(r) = 1u;", CLUMP_ERR_BUILD}};
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        char text[300];
        clump_program *program;
        snprintf(text, sizeof text,
                 "__kernel void k(CLUMP_HEAP_NO_ALLOC, uint id) { Node r = {id}; %s }\n",
                 bodies[i].body);
        clump_status status = clump_program_create(
            &(clump_program_desc){
                .size = sizeof(clump_program_desc), .heap = t.heap, .source = text},
            &program, NULL);
        if (status != bodies[i].status) fail_msg("%s: %s", text, clump_status_name(status));
        clump_program_destroy(program);
    }
}

#define REFUSED(expression, code, words)                                                           \
    cl_fixture_expect_words(clump_context_get_error(t.on.clump), expression, code, words,          \
                            #expression, __LINE__)

static void from_the_host(void **state) {
    (void)state;
    uint32_t values[8];
    uint64_t length;
    const clump_status usage = CLUMP_ERR_USAGE;
    clump_heap *h = t.heap;
    REFUSED(clump_heap_read_object_array(h, "Node", "a", t.node, 0, NULL, 3, &length), usage,
            "a pointer");
    REFUSED(clump_heap_read_object_array(h, "Node", "a", t.node, sizeof *values, values, 3, NULL),
            usage, "a pointer");
    REFUSED(
        clump_heap_read_object_array(h, "Node", "z", t.node, sizeof *values, values, 3, &length),
        CLUMP_ERR_NOT_FOUND, "no field \"z\"");
    REFUSED(
        clump_heap_read_object_array(h, "Gone", "a", t.node, sizeof *values, values, 3, &length),
        CLUMP_ERR_NOT_FOUND, "Gone");
    REFUSED(clump_heap_read_object_array(h, "Node", "guard", t.node, sizeof *values, values, 3,
                                         &length),
            usage, "is not an array of run-time length");
    REFUSED(clump_heap_read_object_array(h, "Node", "a", t.node + 1, sizeof *values, values, 3,
                                         &length),
            CLUMP_ERR_REFERENCE, "no live object");
    REFUSED(
        clump_heap_read_object_array(h, "Other", "x", t.node, sizeof *values, values, 3, &length),
        usage, "is not an array");
    CHECK_OK(&t.on, clump_heap_read_object_array(h, "Node", "b", t.node, 0, NULL, 0, &length));
    assert_int_equal(length, 3);
    values[2] = 4711;
    REFUSED(
        clump_heap_read_object_array(h, "Node", "b", t.node, sizeof *values, values, 2, &length),
        CLUMP_ERR_TOO_SMALL, "room for 2 elements, but 3 are needed");
    assert_int_equal(length, 3);
    REFUSED(clump_heap_read_object_array(h, "Node", "b", t.node, 1, values, 3, &length), usage,
            "but 1 bytes were passed");
    assert_int_equal(values[2], 4711);
    CHECK_OK(&t.on, clump_heap_read_object_array(h, "Node", "b", t.node, sizeof *values, values, 3,
                                                 &length));
    assert_true(values[0] == 107 && values[1] == 108 && length == 3);
    /* Fields of arrays that grow: to be read, one word an object, and not to be written. */
    CHECK_OK(&t.on, clump_heap_read_object_field(h, "Node", "a_length", 0, t.node, sizeof *values,
                                                 values));
    assert_int_equal(values[0], 3);
    for (uint32_t i = 0; i < 3; i++) {
        static const char *const parts[] = {"a_length", "b_capacity", "a_memory"};
        REFUSED(
            clump_heap_write_object_field(h, "Node", parts[i], 0, t.node, sizeof *values, values),
            usage, "call clump_heap_write_arrays()");
        REFUSED(clump_heap_write_object_field(h, "Node", names[i % 2], 0, t.node, sizeof *values,
                                              values),
                usage, "call clump_heap_write_arrays()");
    }
    const clump_struct_field field = {"a_length", 0};
    const clump_struct_desc of_array = {sizeof of_array, "Node", 8, 1, &field};
    CHECK_OK(&t.on, clump_heap_read_structs(h, &of_array, NULL, values, 1, &length));
    assert_int_equal(values[0], 3);
    expect_as_made();
}

int main(void) {
    int status = cl_fixture_open(&t.on, &(cl_fixture_desc){0});
    if (status) return status;
    const clump_capabilities *c = t.on.capabilities;
    if (c->is_cpu && c->personality == CLUMP_PERSONALITY_GPU) {
        /* All calls in one kernel: PoCL inlines each, and then compiles for longer than a test may
         * take. */
        cl_fixture_close(&t.on);
        return CL_FIXTURE_SKIP;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bounds),         cmocka_unit_test(too_many), cmocka_unit_test(exhaustion),
        cmocka_unit_test(null_reference), cmocka_unit_test(frees),    cmocka_unit_test(fixed),
        cmocka_unit_test(from_the_host)};
    status = cmocka_run_group_tests(tests, open_all, close_all);
    cl_fixture_close(&t.on);
    return status;
}
