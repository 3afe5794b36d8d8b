/* Programs that are wrong in ways that OpenCL lets pass: each is refused, or reported, in words that say what to do,
 * and no object that it had no business with changes. docs/internals/reliability.md lists the promises.
 *
 * Each part was a program that did harm without a word, or ended the process.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cl_fixture.h"

#define USAGE CLUMP_ERR_USAGE

static cl_fixture on;

static const char two_classes[] =
    "class Big { uint a; uint b; uint c; uint d; } class Small { uint v; } class Tiny : Small { "
    "uint w; }";

/* ---- What does not build ----------------------------------------------------------------------- */

/* Fails with words in the message and the place in the user's text; the log is kept. */
static void refuse_build(clump_heap *heap, const char *text, uint32_t line, const char *words) {
    clump_program *p = NULL;
    clump_program_desc d = {.heap = heap, .source = text, .name = "mine.cl"};
    clump_status status = clump_program_create(&d, &p);
    const clump_error *e = clump_context_get_error(on.clump);
    cl_fixture_expect_words(e, status, CLUMP_ERR_BUILD, words, text, __LINE__);
    if (e->line != line) fail_msg("%s\nis wrong in line %u, reported is %u", text, line, e->line);
    assert_non_null(p);
    assert_true(*clump_program_get_log(p));
    clump_kernel *k = NULL;
    assert_int_equal(clump_kernel_create(p, "a", &k), USAGE);
    assert_null(k);
    clump_program_destroy(p);
}

static void build(clump_heap *heap, const char *text) {
    clump_program_destroy(cl_fixture_program(&on, heap, text, NULL, NULL));
}

static void no_heap_parameter(void **state) {
    static const char *const texts[] = {
        "\n__kernel void a(__global int *p) { CLUMP_FOR_EACH(Big, b) Big_a(b) = 1; }\n",
        "\n__kernel void a(__global int *p) { Big b = Big_new(); }\n",
        "\nvoid f(Big b) { Big_a(b) = 1; }\n__kernel void a(CLUMP_HEAP) { f(Big_null); }\n",
        "\n__kernel void a(__global int *p) { CLUMP_FOR_EACH_NEW(Big, b, i) Big_a(b) = 1; }\n",
        "\n__kernel void a(__global int *p) { Big b = Big_null; Big_free(b); p[0] = "
        "Big_is_live(b); }\n",
        "\n__kernel void a(__global int *p) { uint n = 0; CLUMP_REDUCE(uint, n, CLUMP_SUM); }\n",
        "\n__kernel void a(uint id) { Small s = {id}; if (Small_is_Tiny(s)) Small_v(s) = "
        "Small_class_of(s); }\n",
    };
    clump_heap *heap = cl_fixture_heap(&on, two_classes, 4u << 20, 0);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        refuse_build(heap, texts[i], 2,
                     "must have CLUMP_HEAP or CLUMP_HEAP_FIXED as its first parameter");
    /* Nor the parameter of numbers. */
    refuse_build(
        heap, "\n__kernel void a(CLUMP_HEAP_FIXED) { Big b = CLUMP_AT(Big, 3); Big_a(b) = 1; }\n",
        2, "must have CLUMP_NUMBERS as its second parameter");
    refuse_build(heap,
                 "\n__kernel void a(CLUMP_HEAP_FIXED) { CLUMP_FOR_EACH_NUMBERED(Big, b, i) "
                 "Big_a(b) = i; }\n",
                 2, "must have CLUMP_NUMBERS as its second parameter");
    clump_heap_destroy(heap);
}

static void changes_under_fixed(void **state) {
    static const char *const direct[] = {
        "\n__kernel void a(CLUMP_HEAP_FIXED) { CLUMP_FOR_EACH(Big, b) { Big c = Big_new(); "
        "Big_a(c) = 1; } }\n",
        "\n__kernel void a(CLUMP_HEAP_FIXED) { CLUMP_FOR_EACH(Big, b) Big_free(b); }\n",
        "\n__kernel void a(CLUMP_HEAP_FIXED) { CLUMP_GROUP_SCRATCH; Big b = Big_group_new(1); "
        "Big_a(b) = 1; }\n",
        "\nvoid f(CLUMP_HEAP_FIXED) { Big b = Big_new(); Big_free(b); }\n"
        "__kernel void a(CLUMP_HEAP) { f(clump_heap); }\n",
    };
    clump_heap *heap = cl_fixture_heap(&on, two_classes, 4u << 20, 0);
    for (size_t i = 0; i < sizeof direct / sizeof *direct; i++)
        refuse_build(heap, direct[i], 2, "its first parameter must be CLUMP_HEAP then");
    /* For compilers, this is only a reason to warn. */
    refuse_build(heap,
                 "\nvoid f(CLUMP_HEAP, Big b) { Big_free(b); }\n"
                 "__kernel void a(CLUMP_HEAP_FIXED) { CLUMP_FOR_EACH(Big, b) f(clump_heap, b); }\n",
                 3, "its first parameter must be CLUMP_HEAP then");
    /* What is right, stays right: less promised is handed over, and a user's own pointers are the user's. */
    build(heap,
          "uint f(CLUMP_HEAP_FIXED, Big b) { return Big_a(b); }\n"
          "void g(__global uchar *p) { p[0] = 1; }\n"
          "__kernel void a(CLUMP_HEAP, __global const uchar *p) {\n"
          "    CLUMP_FOR_EACH(Big, b) if (f(clump_heap, b)) Big_free(b);\n    g(p);\n}\n");
    clump_heap_destroy(heap);
}

/* CLUMP_HEAP_FIXED is about objects: fields may be written, references among them, and are looked at by compaction
 * and collection as they are. */
static void references_written_under_fixed(void **state) {
    clump_heap *heap = cl_fixture_heap(&on, "class Node { ref Node next; uint id; }", 4u << 20, 1);
    clump_program *p = cl_fixture_program(
        &on, heap,
        "__kernel void init(CLUMP_HEAP) {\n"
        "    CLUMP_FOR_EACH_NEW(Node, n, i) { Node_id(n) = i; Node_next(n) = Node_null; }\n}\n"
        "__kernel void link(CLUMP_HEAP_FIXED, CLUMP_NUMBERS) {\n"
        "    CLUMP_FOR_EACH_NUMBERED(Node, n, i) if (i % 64 == 0) Node_next(n) = CLUMP_AT(Node, i "
        "+ 64);\n}\n"
        "__kernel void check(CLUMP_HEAP_FIXED) {\n"
        "    uint wrong = 0;\n"
        "    CLUMP_FOR_EACH(Node, n) {\n"
        "        Node to = Node_next(n);\n"
        "        wrong += Node_is_null(to) ? Node_id(n) != 960u : Node_id(to) != Node_id(n) + "
        "64u;\n"
        "    }\n"
        "    CLUMP_REDUCE(uint, wrong, CLUMP_SUM);\n}\n",
        NULL, NULL);
    clump_kernel *init = cl_fixture_kernel(&on, p, "init"),
                 *link = cl_fixture_kernel(&on, p, "link"),
                 *check = cl_fixture_kernel(&on, p, "check");
    clump_ref first[1];
    uint64_t count = 0;
    uint32_t wrong = 1;
    CHECK_OK(&on, clump_do_new(heap, "Node", 1024, init, NULL, NULL));
    CHECK_OK(&on, clump_do_all(heap, link, NULL));
    CHECK_OK(&on, clump_heap_read_refs(heap, "Node", first, 1, &count));
    clump_collect_desc collect = {.roots = first, .root_count = 1};
    CHECK_OK(&on, clump_collect(heap, &collect, NULL, NULL));
    CHECK_OK(&on, clump_heap_calc_count(heap, "Node", &count));
    assert_int_equal(count, 16); /* what the root leads to */
    CHECK_OK(&on, clump_compact(heap, NULL, NULL, NULL));
    CHECK_OK(&on, clump_reduce(heap, check, &wrong, sizeof wrong, NULL));
    assert_int_equal(wrong, 0);
    CHECK_HEAP(&on, heap);
    clump_kernel_destroy(init);
    clump_kernel_destroy(link);
    clump_kernel_destroy(check);
    clump_program_destroy(p);
    clump_heap_destroy(heap);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_heap_parameter),
        cmocka_unit_test(changes_under_fixed),
        cmocka_unit_test(references_written_under_fixed),
    };
    int result = cl_fixture_open(&on, NULL);
    if (result) return result;
    result = cmocka_run_group_tests(tests, NULL, NULL);
    cl_fixture_close(&on);
    return result;
}
