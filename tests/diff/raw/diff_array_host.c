/* Arrays of run-time length and calls of the host that are not about them.
 *
 * Objects that the host makes from structs have arrays of length 0, whatever their memory had
 * before, also if the array has no element in the object, and if the host does not ask for
 * references. Every engine reads each reference once where the columns of full rows come before
 * arrays outside of the objects.
 *
 * Read first: host/heap/structs.c, cl/collect/mark.cl, cl_fixture.h.
 */
#include <stdlib.h>
#include <string.h>

#include "cl_fixture.h"

static cl_fixture fixture, *const f = &fixture;

enum { HEAP_BYTES = 4 << 20 };

static cl_fixture_kit open_kit(const char *schema, const char *source, const char *first,
                               const char *second) {
    cl_fixture_kit kit = {.heap = cl_fixture_heap(f, schema, HEAP_BYTES, 2)};
    kit.program = cl_fixture_program(f, kit.heap, source, NULL, NULL);
    kit.kernels[0] = cl_fixture_kernel(f, kit.program, first);
    kit.kernels[1] = cl_fixture_kernel(f, kit.program, second);
    return kit;
}

/* ---- Structs --------------------------------------------------------------------------------- */

typedef struct item {
    uint32_t number, other;
} item;

static const char item_schema[] =
    "class Item { uint number; ulong2 outside[*]; uint other; ref Item in[*] inline 3; }";

/* Lengths that are not 0 are counted; then arrays get elements, so that the next objects find their
 * words. */
static const char item_source[] =
    "__kernel void use(CLUMP_HEAP, __global uint *wrong) {\n"
    "    CLUMP_FOR_EACH(Item, self) {\n"
    "        if (Item_outside_length(self) | Item_in_length(self)) atomic_inc(wrong);\n"
    "        if (Item_outside_resize(self, 5) != CLUMP_DONE || Item_in_resize(self, 6) != "
    "CLUMP_DONE) atomic_inc(wrong);\n"
    "        for (uint i = 0; i < 6; i++) Item_in(self, i) = self;\n"
    "    }\n"
    "}\n"
    "__kernel void drop(CLUMP_HEAP) { CLUMP_FOR_EACH(Item, self) Item_free(self); }\n";

static void test_structs(void **state) {
    (void)state;
    enum { ITEMS = 500 };
    const clump_struct_field fields[] = {{"number", offsetof(item, number)},
                                         {"other", offsetof(item, other)}};
    const clump_struct_desc desc = {.size = sizeof desc,
                                    .class_name = "Item",
                                    .bytes = sizeof(item),
                                    .fields = fields,
                                    .field_count = 2};
    cl_fixture_kit kit = open_kit(item_schema, item_source, "use", "drop");
    cl_mem wrong = cl_fixture_buffer(f, NULL, sizeof(uint32_t));
    item items[ITEMS], found[ITEMS];
    clump_ref refs[ITEMS];
    for (uint32_t i = 0; i < ITEMS; i++) items[i] = (item){i, ~i};
    SET_ARG(f, kit.kernels[0], 0, wrong);
    for (uint32_t turn = 0; turn < 3; turn++) {
        uint64_t made = 0, count = 0;
        uint32_t failed = UINT32_MAX;
        /* Without references first: nothing may be written in their place. */
        CHECK_OK(f,
                 clump_heap_new_structs(kit.heap, &desc, items, ITEMS, turn ? refs : NULL, &made));
        assert_int_equal(made, ITEMS);
        CHECK_OK(f, clump_heap_read_structs(kit.heap, &desc, NULL, found, ITEMS, &count));
        assert_int_equal(count, ITEMS);
        for (uint32_t i = 0; i < ITEMS; i++) assert_int_equal(found[i].other, ~found[i].number);
        if (turn) {
            CHECK_OK(f, clump_heap_read_structs(kit.heap, &desc, refs, found, ITEMS, NULL));
            assert_memory_equal(found, items, sizeof items);
        }
        CHECK_OK(f, clump_heap_do_all(kit.heap, kit.kernels[0], NULL));
        cl_fixture_read(f, wrong, &failed, sizeof failed);
        assert_int_equal(failed, 0);
        CHECK_OK(f, clump_heap_check(kit.heap));
        CHECK_OK(f, clump_heap_do_all(kit.heap, kit.kernels[1], NULL));
        clump_heap_stats stats = {.size = sizeof stats};
        CHECK_OK(f, clump_heap_read_stats(kit.heap, &stats, NULL, 0));
        assert_int_equal(stats.raw_bytes, 0);
    }
    clReleaseMemObject(wrong);
    cl_fixture_kit_close(&kit);
}

/* ---- Marking --------------------------------------------------------------------------------- */

/* Four columns of references fill what a work-item reads at a time with one full row. */
static const char node_schema[] =
    "class Node { ref Node a; ref Node b; ref Node c; ref Node d; ref Node more[*]; uint number; }";

static const char node_source[] =
    "__kernel void make(CLUMP_HEAP) {\n"
    "    CLUMP_FOR_EACH_NEW(Node, self, i) {\n"
    "        Node_number(self) = i;\n"
    "        Node_a(self) = Node_b(self) = Node_c(self) = Node_d(self) = i % 3u ? self : "
    "Node_null;\n"
    "    }\n"
    "}\n"
    "__kernel void link(CLUMP_HEAP, __global uint *failed) {\n"
    "    CLUMP_FOR_EACH(Node, self) {\n"
    "        uint n = Node_number(self) % 8u;\n"
    "        if (Node_more_resize(self, n) != CLUMP_DONE) atomic_inc(failed);\n"
    "        for (uint i = 1; i < n; i++) Node_more(self, i) = self;\n" /* the first one is null */
    "    }\n"
    "}\n";

static void test_full_rows(void **state) {
    (void)state;
    enum { NODES = 64 * 50 };
    static const char *const classes[] = {"Node"};
    cl_fixture_kit kit = open_kit(node_schema, node_source, "make", "link");
    cl_mem failed = cl_fixture_buffer(f, NULL, sizeof(uint32_t));
    uint64_t read = 0, followed = 0, made = 0;
    uint32_t wrong = 1;
    SET_ARG(f, kit.kernels[1], 0, failed);
    CHECK_OK(f, clump_heap_do_new(kit.heap, kit.kernels[0], "Node", NODES, &made, NULL));
    assert_int_equal(made, NODES);
    CHECK_OK(f, clump_heap_do_all(kit.heap, kit.kernels[1], NULL));
    cl_fixture_read(f, failed, &wrong, sizeof wrong);
    assert_int_equal(wrong, 0);
    for (uint32_t i = 0; i < NODES; i++) {
        read += 4 + i % 8;
        followed += (i % 3 ? 4 : 0) + (i % 8 ? i % 8 - 1 : 0);
    }
    for (int engine = CLUMP_MARK_AUTO; engine <= CLUMP_MARK_HOST; engine++) {
        const clump_collect_desc desc = {.size = sizeof desc,
                                         .root_classes = classes,
                                         .root_class_count = 1,
                                         .engine = (clump_mark_engine)engine,
                                         .only_mark = 1};
        clump_collect_report report = {.size = sizeof report};
        CHECK_OK(f, clump_heap_collect(kit.heap, &desc, &report, NULL));
        assert_int_equal(report.live, NODES);
        assert_int_equal(report.refs_read, read);
        assert_int_equal(report.refs_followed, followed);
    }
    clReleaseMemObject(failed);
    cl_fixture_kit_close(&kit);
}

int main(void) {
    int status = cl_fixture_open(f, NULL);
    if (status) return status;
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_structs),
                                       cmocka_unit_test(test_full_rows)};
    status = cmocka_run_group_tests_name("arrays and the host", tests, NULL, NULL);
    cl_fixture_close(f);
    return status;
}
