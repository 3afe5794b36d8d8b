/* Handles of a heap that watches them: a handle whose object was freed reads null, though the slot
 * holds another object by now, and whatever moved in between.
 *
 * Read first: include/clump/refs.h, host/heap/refs.c.
 */
#include <stdlib.h>
#include <string.h>

#include "bench/papers/merge/merge.h"
#include "cl_fixture.h"
#include "clump/collect.h"

static const char schema_text[] =
    "class Node { uint id; ref Node next; } class Sub : Node { uint more; } class Other { uint v; "
    "}";

static const char source[] =
    "__kernel void init(CLUMP_HEAP, uint base, __global uint *out) {\n"
    "    CLUMP_FOR_EACH_NEW(Node, n, i) { Node_id(n) = base + i; Node_next(n) = Node_null; out[i] "
    "= n.id; }\n}\n"
    /* Frees one and makes another, which gets the slot. */
    "__kernel void replace(CLUMP_HEAP, uint ref, __global uint *out) {\n"
    "    Node n = {ref};\n    Node_free(n);\n    Node m = Node_new();\n    Node_id(m) = 77; "
    "Node_next(m) = Node_null;\n"
    "    out[0] = m.id;\n}\n"
    "__kernel void drop(CLUMP_HEAP, __global const uint *dead) {\n"
    "    CLUMP_FOR_EACH(Node, n) if (dead[min(Node_id(n), 4095u)]) Node_free(n);\n}\n"
    "__kernel void misfree(CLUMP_HEAP, uint ref) { Other o = {ref}; Other_free(o); Sub s = {ref}; "
    "Sub_free(s); }\n";

static struct {
    cl_fixture on;
    clump_heap *heap;
    clump_program *program;
    clump_kernel *init, *replace, *drop, *misfree;
    cl_mem out, dead;
} t;

enum { MOST = 4096 };

static int open_all(void **state) {
    clump_schema *s;
    assert_int_equal(clump_schema_parse(schema_text, strlen(schema_text), NULL, &s, NULL),
                     CLUMP_OK);
    clump_heap_desc d = {.size = sizeof d,
                         .context = t.on.clump,
                         .schema = s,
                         .bytes = 2u << 20,
                         .block_rows = 1,
                         .watch_handles = 1};
    CHECK_OK(&t.on, clump_heap_create(&d, &t.heap, NULL));
    clump_schema_destroy(s);
    if (!t.program) t.program = cl_fixture_program(&t.on, t.heap, source, NULL, NULL);
    t.init = cl_fixture_kernel(&t.on, t.program, "init");
    t.replace = cl_fixture_kernel(&t.on, t.program, "replace");
    t.drop = cl_fixture_kernel(&t.on, t.program, "drop");
    t.misfree = cl_fixture_kernel(&t.on, t.program, "misfree");
    t.out = cl_fixture_buffer(&t.on, NULL, MOST * 4);
    t.dead = cl_fixture_buffer(&t.on, NULL, MOST * 4);
    SET_ARG(&t.on, t.init, 1, t.out);
    SET_ARG(&t.on, t.replace, 1, t.out);
    SET_ARG(&t.on, t.drop, 0, t.dead);
    return 0;
}

static int close_all(void **state) {
    clump_kernel_destroy(t.init);
    clump_kernel_destroy(t.replace);
    clump_kernel_destroy(t.drop);
    clump_kernel_destroy(t.misfree);
    clump_heap_destroy(t.heap);
    clReleaseMemObject(t.out);
    clReleaseMemObject(t.dead);
    return 0;
}

static void make(const char *class_name, uint32_t base, uint32_t count, clump_ref *refs) {
    uint64_t made = 0;
    SET_ARG(&t.on, t.init, 0, base);
    CHECK_OK(&t.on, clump_heap_do_new(t.heap, t.init, class_name, count, &made, NULL));
    assert_int_equal(made, count);
    cl_fixture_read(&t.on, t.out, refs, count * sizeof *refs);
}

static clump_ref replace(clump_ref ref) {
    clump_ref other;
    SET_ARG(&t.on, t.replace, 0, ref);
    CHECK_OK(&t.on, clump_heap_launch(t.heap, t.replace, 1, 1, NULL));
    cl_fixture_read(&t.on, t.out, &other, sizeof other);
    return other;
}

static clump_handle handle_of(clump_ref ref) {
    clump_handle h = 0;
    CHECK_OK(&t.on, clump_heap_create_handle(t.heap, ref, &h));
    return h;
}

static clump_ref read_handle(clump_handle h) {
    clump_ref ref = 7;
    CHECK_OK(&t.on, clump_heap_read_handle(t.heap, h, &ref));
    return ref;
}

/* The only free slots are in the object's own row, and in time its own is given out again. */
static clump_ref replace_in_place(clump_ref ref) {
    clump_ref last = ref;
    for (int i = 0; i < MOST; i++)
        if ((last = replace(last)) == ref) return ref;
    fail_msg("the slot of 0x%08x was not given out again", ref);
    return 0;
}

static void a_slot_given_out_again(void **state) {
    clump_ref refs[130];
    make("Node", 0, 130, refs);
    clump_handle a = handle_of(refs[3]), twin = handle_of(refs[3]), b = handle_of(refs[4]);
    clump_ref again = replace_in_place(refs[3]);
    assert_int_equal(read_handle(a), 0);
    assert_int_equal(read_handle(a), 0); /* it stays so */
    assert_int_equal(read_handle(b), refs[4]);
    /* A handle of the new object is one of its own; the twin of the old one was not looked at
     * since. */
    clump_handle fresh = handle_of(again);
    assert_int_equal(read_handle(twin), 0);
    assert_int_equal(read_handle(fresh), again);
    /* Without a handle in the slot, a second is nothing else. */
    CHECK_OK(&t.on, clump_heap_destroy_handle(t.heap, fresh));
    clump_handle second = handle_of(again);
    assert_int_equal(read_handle(second), again);
    assert_int_equal(read_handle(b), refs[4]);
    CHECK_HEAP(&t.on, t.heap);
}

/* What is refused frees nothing. */
static void refused_frees(void **state) {
    clump_ref refs[64];
    clump_device_report report = {.size = sizeof report};
    make("Node", 0, 64, refs);
    clump_handle a = handle_of(refs[9]);
    SET_ARG(&t.on, t.misfree, 0, refs[9]);
    CHECK_OK(&t.on, clump_heap_launch(t.heap, t.misfree, 1, 1, NULL));
    CHECK_STATUS(&t.on, clump_heap_take_errors(t.heap, &report), CLUMP_ERR_DEVICE);
    assert_int_equal(report.errors[CLUMP_DEVICE_BAD_REFERENCE].count, 2);
    assert_int_equal(read_handle(a), refs[9]);
    CHECK_HEAP(&t.on, t.heap);
}

/* A handle of an object that is gone is no root: it does not keep the next one alive, nor is it a
 * null that hides others. */
static void no_root(void **state) {
    clump_ref refs[64];
    make("Node", 0, 64, refs);
    clump_handle gone = handle_of(refs[5]), there = handle_of(refs[6]);
    replace_in_place(refs[5]);
    /* The object of a handle that was given up is still watched, until it dies. */
    CHECK_OK(&t.on, clump_heap_destroy_handle(t.heap, handle_of(refs[7])));
    uint64_t count = 0;
    CHECK_OK(&t.on, clump_heap_collect(t.heap, NULL, NULL, NULL));
    CHECK_OK(&t.on, clump_heap_read_count(t.heap, "Node", &count));
    assert_int_equal(count, 1);
    assert_int_equal(read_handle(gone), 0);
    assert_int_equal(read_handle(there), refs[6]);
    CHECK_HEAP(&t.on, t.heap);
}

/* Objects come, go, move and are collected; a model on the host knows which are there. */
static void rounds(void **state) {
    static uint32_t dead[MOST];
    static clump_handle handles[MOST];
    static clump_ref refs[MOST];
    const bench_merge merge = {.factor = 1};
    uint64_t random = 17;
    uint32_t made = 0;
    memset(dead, 0, sizeof dead);
    for (uint32_t round = 0; round < 24; round++) {
        uint32_t count = 1 + test_random(&random, 160), first = made;
        make(test_random(&random, 2) ? "Sub" : "Node", first, count, refs);
        made += count;
        for (uint32_t i = 0; i < count; i++)
            handles[first + i] = test_random(&random, 3) ? handle_of(refs[i]) : 0;
        for (uint32_t i = 0; i < made; i++) dead[i] |= test_random(&random, 3) == 0;
        cl_fixture_write(&t.on, t.dead, dead, sizeof dead);
        CHECK_OK(&t.on, clump_heap_do_all(t.heap, t.drop, NULL));
        clump_compact_desc how = {.size = sizeof how,
                                  .order = round % 4 == 1 ? CLUMP_ORDER_ADDRESS : CLUMP_ORDER_ANY};
        if (round % 2) make("Node", MOST - 1, 40, refs); /* take slots before anybody looks */
        if (round % 3)
            CHECK_OK(&t.on,
                     bench_merge_compact(t.heap, &how, round % 4 == 2 ? &merge : NULL, NULL, NULL));
        for (uint32_t i = 0; i < made; i++) {
            uint32_t id = MOST;
            if (!handles[i]) continue;
            clump_ref ref = read_handle(handles[i]);
            if (dead[i] ? ref != 0 : ref == 0)
                fail_msg("round %u: object %u is %s, its handle reads 0x%08x", round, i,
                         dead[i] ? "gone" : "there", ref);
            if (ref)
                CHECK_OK(&t.on, clump_heap_read_object_field(t.heap, "Node", "id", 0, ref,
                                                             sizeof(id), &id));
            if (ref) assert_int_equal(id, i);
            if (!dead[i]) continue;
            CHECK_OK(&t.on, clump_heap_destroy_handle(t.heap, handles[i]));
            handles[i] = 0;
        }
        if (round % 2) { /* and give them back */
            dead[MOST - 1] = 1;
            cl_fixture_write(&t.on, t.dead, dead, sizeof dead);
            CHECK_OK(&t.on, clump_heap_do_all(t.heap, t.drop, NULL));
            dead[MOST - 1] = 0;
        }
        CHECK_HEAP(&t.on, t.heap);
    }
    assert_true(made > 1000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_slot_given_out_again, open_all, close_all),
        cmocka_unit_test_setup_teardown(refused_frees, open_all, close_all),
        cmocka_unit_test_setup_teardown(no_root, open_all, close_all),
        cmocka_unit_test_setup_teardown(rounds, open_all, close_all),
    };
    int result = cl_fixture_open(&t.on, NULL);
    if (result) return result;
    result = cmocka_run_group_tests(tests, NULL, NULL);
    clump_program_destroy(t.program);
    cl_fixture_close(&t.on);
    return result;
}
