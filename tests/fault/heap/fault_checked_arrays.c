/* Arrays of run-time length in checked heaps: each wrong kernel is reported with its line, changes
 * nothing, and is not reported when the check is left out. What right programs do with such arrays
 * in checked heaps is in diff_bounded.
 *
 * Each case is a kernel that does one thing wrong, in the line of WRONG.
 *
 * Read first: include/clump/checked.h, cl/api/checked_arrays.clh.
 */
#include <stdio.h>
#include <string.h>

#include "clump/checked.h"
#include "clump/collect.h"
#include "clump/compact.h"
#include "findings.h"

static const char growing_text[] =
    "class Node { uint id; }\n"
    "class Bag { uint few[*] inline 2; ref Node to[*]; float3 at[*]; uchar marks[*]; uint id; }\n"
    "aos class Sack : Bag { uint more[*]; }\n";
static const char bounded_text[] =
    "class Node { uint id; }\n"
    "class Bag { uint few[*] max 4; ref Node to[*] max 3; float3 at[*] max 2 packed; "
    "uchar marks[*] max 5; uint id; }\n"
    "aos class Sack : Bag { uint more[*] max 3; }\n";

#define WRONG "/*wrong*/"
#define FREED "/*freed*/"
#define CASE(name, statement)                                                                      \
    "__kernel void " name                                                                          \
    "(CLUMP_HEAP, __global uint *refs) {\n"                                                        \
    "    Bag b = {refs[0]};\n"                                                                     \
    "    Sack s = {refs[0]};\n" statement WRONG                                                    \
    "\n"                                                                                           \
    "}\n"

/* A sack with 3, 2, 1 and 4 elements, and 2 more. Both nodes have the number 7. */
static const char source[] =
    "__kernel void init(CLUMP_HEAP, __global uint *refs) {\n"
    "    CLUMP_FOR_EACH_NEW(Sack, s, i) {\n"
    "        Bag b = Sack_as_Bag(s);\n"
    "        Bag_few_resize(b, 3);\n"
    "        for (uint k = 0; k < 3; k++) Bag_few(b, k) = 10 + k;\n"
    "        Bag_to_resize(b, 2);\n"
    "        for (uint k = 0; k < 2; k++) {\n"
    "            Node n = Node_new();\n"
    "            Node_id(n) = 7;\n"
    "            Bag_to(b, k) = n;\n"
    "        }\n"
    "        Bag_at_reserve(b, 2);\n"
    "        Bag_marks_reserve(b, 5);\n"
    "        Bag_at_append(b, (float3)(1, 2, 3));\n"
    "        for (uint k = 0; k < 4; k++) Bag_marks_append(b, (uchar)k);\n"
    "        Sack_more_resize(s, 2);\n"
    "        Sack_more(s, 0) = Sack_more(s, 1) = 5;\n"
    "        Bag_id(b) = 99;\n"
    "        refs[i] = s.id;\n"
    "    }\n"
    "}\n"
    /* refs[1]: 1 if all is as it was made. */
    "__kernel void right(CLUMP_HEAP_NO_ALLOC, __global uint *refs) {\n"
    "    Bag b = {refs[0]};\n"
    "    Sack s = {refs[0]};\n"
    "    uint ok = Bag_few_length(b) == 3 && Bag_to_length(b) == 2 && Bag_at_length(b) == 1 &&\n"
    "              Bag_marks_length(b) == 4 && Sack_more_length(s) == 2 && Bag_id(b) == 99;\n"
    "    ok &= Bag_few_capacity(b) >= 3 && Sack_marks_capacity(s) == 5;\n"
    "    for (uint k = 0; k < 3; k++) ok &= Bag_few(b, k) == 10 + k;\n"
    "    for (uint k = 0; k < 2; k++) ok &= Node_id(Bag_to(b, k)) == 7 && Sack_more(s, k) == 5;\n"
    "    ok &= all(Bag_at(b, 0) == (float3)(1, 2, 3));\n"
    "    for (uint k = 0; k < 4; k++) ok &= Bag_marks(b, k) == k;\n"
    "    refs[1] = ok;\n"
    "}\n"
    "__kernel void drop(CLUMP_HEAP, __global uint *refs) {\n"
    "    Bag b = {refs[0]};\n"
    "    Bag_free(b); " FREED
    "\n"
    "}\n"
    /* The length is beyond what is there, the array has room or not. */
    CASE("write_beyond", "Bag_few(b, 3) = 1;") CASE("read_beyond", "refs[2] = Bag_few(b, 3);")
        CASE("beyond_max", "Bag_few(b, 4) = 1;") CASE("wide", "Bag_few(b, 1ul << 32) = 1;") CASE(
            "negative", "Bag_few(b, -1) = 1;") CASE("reference", "refs[2] = Bag_to(b, 2).id;")
            CASE("packed", "Bag_at(b, 1) = (float3)(0);") CASE("narrow", "Bag_marks(b, 4) = 9;")
                CASE("inherited", "Sack_few(s, 3) = 1;") CASE("subclass", "Sack_more(s, 2) = 1;")
                    CASE("unwritten", "Bag_few_resize(b, 4); refs[2] = Bag_few(b, 3);")
                        CASE("rewritten",
                             "Bag_few_append(b, 5); Bag_few_resize(b, 3); Bag_few_resize(b, 4); "
                             "refs[2] = Bag_few(b, 3);")
    /* By a reference to a freed object. */
    CASE("use", "refs[2] = Bag_few(b, 0);") CASE("ask_length", "refs[2] = Bag_few_length(b);")
        CASE("resize", "refs[2] = Bag_few_resize(b, 1) == CLUMP_MISUSED;")
            CASE("append", "refs[2] = Bag_few_append(b, 1) == CLUMP_NO_ROOM;")
    /* Through a reference in an array. */
    "__kernel void drop_node(CLUMP_HEAP, __global uint *refs) {\n"
    "    Bag b = {refs[0]};\n"
    "    Node_free(Bag_to(b, 1)); " FREED
    "\n"
    "    for (uint k = 0; k < 200; k++) Node_new();\n"
    "}\n" CASE("stale", "refs[2] = Node_id(Bag_to(b, 1));")
    /* Room for others to move to. */
    "__kernel void litter(CLUMP_HEAP, __global uint *refs) {\n"
    "    for (uint k = 0; k < 300; k++) Node_id(Node_new()) = 9;\n"
    "}\n"
    "__kernel void thin(CLUMP_HEAP, __global uint *refs) {\n"
    "    uint k = 0;\n"
    "    CLUMP_FOR_WHOLE_CLASS(Node, n) if (Node_id(n) == 9 && k++ % 4) Node_free(n);\n"
    "}\n";

static struct {
    cl_fixture on;
    clump_heap *heap;
    clump_program *program;
    cl_mem refs;
    clump_ref sack;
    const char *schema;
} t;

static void run(const char *name) {
    clump_kernel *k = clump_program_get_kernel(t.program, name);
    assert_non_null(k);
    SET_ARG(&t.on, k, 0, t.refs);
    CHECK_OK(&t.on, clump_heap_launch(t.heap, k, 1, 1, NULL));
}

/* t.refs begins with an object of the class. */
static void open_for(const char *schema, const char *kernels, const char *class_name,
                     uint32_t without) {
    const clump_checked_desc checked = {.size = sizeof checked, .without = without};
    t.heap = cl_fixture_heap_as(&t.on, schema,
                                &(clump_heap_desc){.size = sizeof(clump_heap_desc),
                                                   .bytes = 4u << 20,
                                                   .block_rows = 1,
                                                   .checked = &checked});
    t.program = cl_fixture_program(&t.on, t.heap, kernels, NULL, NULL);
    t.refs = cl_fixture_buffer(&t.on, NULL, 3 * sizeof(clump_ref));
    clump_kernel *init = clump_program_get_kernel(t.program, "init");
    SET_ARG(&t.on, init, 0, t.refs);
    CHECK_OK(&t.on, clump_heap_do_new(t.heap, init, class_name, 1, NULL, NULL));
}

static void open_heap(uint32_t without) {
    open_for(t.schema, source, "Sack", without);
    cl_fixture_read(&t.on, t.refs, &t.sack, sizeof t.sack);
}

static void close_heap(void) {
    clump_program_destroy(t.program);
    clump_heap_destroy(t.heap);
    clReleaseMemObject(t.refs);
}

static uint32_t result(uint32_t at) {
    uint32_t values[3];
    cl_fixture_read(&t.on, t.refs, values, sizeof values);
    return values[at];
}

/* The heap is sound, and nothing is left to report. */
static void expect_nothing(void) {
    expect_no_finding(&t.on, t.heap);
}

static void expect_as_made(void) {
    run("right");
    assert_int_equal(result(1), 1);
    expect_nothing();
}

static void expect_place(clump_place p, const char *kernel, const char *mark) {
    assert_non_null(p.kernel);
    assert_string_equal(p.kernel, kernel);
    assert_int_equal(p.line, cl_fixture_line_in(source, kernel, mark));
}

/* The only finding is that of the kernel's wrong line. */
static clump_finding expect(const char *kernel, clump_finding_kind kind, const char *class_name,
                            const char *field, clump_ref ref) {
    const clump_finding f = expect_one_finding(&t.on, t.heap, kernel, kind, class_name, ref);
    assert_string_equal(f.field, field);
    expect_place(f.place, kernel, WRONG);
    CHECK_STATUS(&t.on, clump_heap_take_errors(t.heap, NULL), CLUMP_ERR_DEVICE);
    return f;
}

static const struct {
    const char *kernel, *class_name, *field;
    uint32_t index;
} beyond[] = {{"write_beyond", "Bag", "few", 3},
              {"read_beyond", "Bag", "few", 3},
              {"beyond_max", "Bag", "few", 4},
              {"wide", "Bag", "few", UINT32_MAX},
              {"negative", "Bag", "few", UINT32_MAX},
              {"reference", "Bag", "to", 2},
              {"packed", "Bag", "at", 1},
              {"narrow", "Bag", "marks", 4},
              {"inherited", "Sack", "few", 3},
              {"subclass", "Sack", "more", 2}};

static void bounds(void **state) {
    (void)state;
    open_heap(0);
    expect_as_made();
    for (size_t i = 0; i < sizeof beyond / sizeof *beyond; i++) {
        run(beyond[i].kernel);
        const clump_finding f = expect(beyond[i].kernel, CLUMP_FINDING_BOUNDS, beyond[i].class_name,
                                       beyond[i].field, t.sack);
        assert_int_equal(f.index, beyond[i].index);
        expect_as_made();
    }
    close_heap();
}

static void bounds_left_out(void **state) {
    (void)state;
    open_heap(CLUMP_CHECK_BOUNDS);
    run("write_beyond");
    if (t.schema == growing_text) { /* the guard behind the raw memory had it */
        clump_finding f;
        uint64_t count;
        CHECK_OK(&t.on, clump_heap_take_findings(t.heap, &f, 1, &count, NULL));
        assert_int_equal(count, 1);
        assert_int_equal(f.kind, CLUMP_FINDING_GAP);
        assert_string_equal(f.by.kernel, "init");
        assert_non_null(strstr(f.text, "byte 0 behind the end of that"));
        CHECK_STATUS(&t.on, clump_heap_take_errors(t.heap, NULL), CLUMP_ERR_DEVICE);
    }
    run("narrow");
    expect_as_made();
    close_heap();
}

static void reads(uint32_t without) {
    static const char *const kernels[] = {"unwritten", "rewritten"};
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
        open_heap(without);
        run(kernels[i]);
        if (!without) {
            const clump_finding f = expect(kernels[i], CLUMP_FINDING_READ, "Bag", "few", t.sack);
            assert_string_equal(f.by.kernel, "init");
        }
        expect_nothing();
        close_heap();
    }
}
static void reads_all(void **state) {
    (void)state;
    reads(0);
}
static void reads_left_out(void **state) {
    (void)state;
    reads(CLUMP_CHECK_READS);
}

static void references(void **state) {
    (void)state;
    static const char *const kernels[] = {"use", "ask_length", "resize", "append"};
    open_heap(0);
    run("drop");
    expect_nothing();
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
        run(kernels[i]);
        const clump_finding f = expect(kernels[i], CLUMP_FINDING_ACCESS, "Bag", "few", t.sack);
        expect_place(f.by, "drop", FREED);
        if (i) assert_int_equal(result(2), i > 1); /* length 0; it is refused */
        expect_nothing();
    }
    close_heap();
}

/* A reference in an array is not valid for the next object in the slot. */
static void stale(void **state) {
    (void)state;
    clump_ref to[3];
    uint64_t length;
    open_heap(0);
    CHECK_OK(&t.on,
             clump_heap_read_object_array(t.heap, "Bag", "to", t.sack, sizeof *to, to, 3, &length));
    assert_int_equal(length, 2);
    run("drop_node");
    expect_nothing();
    run("stale");
    const clump_finding f = expect("stale", CLUMP_FINDING_ACCESS, "Node", "id", to[1]);
    assert_non_null(strstr(f.text, "its slot has an object of class Node now"));
    expect_place(f.by, "drop_node", FREED);
    expect_nothing();
    close_heap();
}

/* Objects move, references in arrays keep theirs, and memory of arrays ends with the objects. */
static void moved(void **state) {
    (void)state;
    const clump_compact_desc order = {.size = sizeof order, .order = CLUMP_ORDER_ADDRESS};
    clump_handle held;
    clump_heap_stats stats = {.size = sizeof stats};
    uint64_t nodes;
    open_heap(0);
    CHECK_OK(&t.on, clump_heap_create_handle(t.heap, t.sack, &held));
    run("litter");
    run("thin");
    for (int i = 0; i < 2; i++) {
        if (i)
            CHECK_OK(&t.on, clump_heap_collect(t.heap, NULL, NULL, NULL));
        else
            CHECK_OK(&t.on, clump_heap_compact(t.heap, &order, NULL, NULL));
        CHECK_OK(&t.on, clump_heap_read_handle(t.heap, held, &t.sack));
        cl_fixture_write(&t.on, t.refs, &t.sack, sizeof t.sack);
        expect_as_made();
    }
    CHECK_OK(&t.on, clump_heap_read_count(t.heap, "Node", &nodes));
    assert_int_equal(nodes, 2);
    CHECK_OK(&t.on, clump_heap_destroy_handle(t.heap, held));
    CHECK_OK(&t.on, clump_heap_collect(t.heap, NULL, NULL, NULL));
    expect_nothing();
    CHECK_OK(&t.on, clump_heap_read_stats(t.heap, &stats, NULL, 0));
    assert_int_equal(stats.raw_bytes, 0);
    close_heap();
    open_heap(0);
    run("drop");
    expect_nothing();
    CHECK_OK(&t.on, clump_heap_read_stats(t.heap, &stats, NULL, 0));
    assert_int_equal(stats.raw_bytes, 0);
    close_heap();
}

/* The library's own use of arrays. */
static void vector(void **state) {
    (void)state;
    static const char kernels[] =
        "CLUMP_VECTOR_DEFINE(Trail, Page, uint);\n"
        "__kernel void init(CLUMP_HEAP, __global uint *refs) {\n"
        "    CLUMP_FOR_EACH_NEW(Trail, v, i) {\n"
        "        Page_free(Page_new());\n"
        "        CLUMP_VECTOR_MAKE(Trail, v, 1);\n"
        "        for (uint k = 0; k < 100; k++) CLUMP_VECTOR_APPEND(Trail, v, k * k);\n"
        "        refs[i] = v.id;\n"
        "    }\n"
        "}\n"
        "__kernel void right(CLUMP_HEAP_NO_ALLOC, __global uint *refs) {\n"
        "    Trail v = {refs[0]};\n"
        "    uint ok = CLUMP_VECTOR_LENGTH(Trail, v) == 100;\n"
        "    for (uint k = 0; k < 100; k++) ok &= CLUMP_VECTOR_AT(Trail, v, k) == k * k;\n"
        "    refs[1] = ok;\n"
        "}\n";
    open_for(
        "class Trail { uint first; uint filling; uint growing; ref Page pages[28]; }\n"
        "class Page { uint items[*] max 128; }\n",
        kernels, "Trail", 0);
    expect_as_made();
    close_heap();
}

/* A short run has arrays that grow in heaps that have all checks, for which the source is compiled
 * once, without a compaction. */
int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(bounds), cmocka_unit_test(reads_all),
                                       cmocka_unit_test(references), cmocka_unit_test(stale)};
    const struct CMUnitTest others[] = {cmocka_unit_test(moved), cmocka_unit_test(bounds_left_out),
                                        cmocka_unit_test(reads_left_out), cmocka_unit_test(vector)};
    const int code = cl_fixture_open(&t.on, NULL);
    if (code) return code;
    t.schema = growing_text;
    int failed = cmocka_run_group_tests_name("arrays that grow", tests, NULL, NULL);
    if (cl_fixture_is_whole()) {
        failed += cmocka_run_group_tests_name("arrays that grow, others", others, NULL, NULL);
        t.schema = bounded_text;
        failed += cmocka_run_group_tests_name("arrays with max", tests, NULL, NULL);
        failed += cmocka_run_group_tests_name("arrays with max, others", others, NULL, NULL);
    }
    cl_fixture_close(&t.on);
    return failed;
}
