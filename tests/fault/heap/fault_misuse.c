/* Programs that are wrong in ways that OpenCL lets pass: each is refused, or reported, in words
 * that say what to do, and no object that it had no business with changes.
 * docs/internals/reliability.md lists the promises.
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

/* ---- What does not build --------------------------------------------------------------------- */

/* Fails with words in the message and the place in the user's text; the log is kept. */
static void refuse_build(clump_heap *heap, const char *text, uint32_t line, const char *words) {
    clump_program *p = NULL;
    cl_fixture_log kept = {.source = text};
    clump_program_desc d = {.size = sizeof d,
                            .heap = heap,
                            .source = text,
                            .name = "mine.cl",
                            .failed = cl_fixture_keep_log,
                            .user = &kept};
    clump_status status = clump_program_create(&d, &p, NULL);
    const clump_error *e = clump_context_get_error(on.clump);
    cl_fixture_expect_words(e, status, CLUMP_ERR_BUILD, words, text, __LINE__);
    if (e->line != line) fail_msg("%s\nis wrong in line %u, reported is %u", text, line, e->line);
    assert_null(p);
    assert_true(*kept.log);
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
                     "must have CLUMP_HEAP or CLUMP_HEAP_NO_ALLOC as its first parameter");
    /* Nor the parameter of numbers. */
    refuse_build(
        heap,
        "\n__kernel void a(CLUMP_HEAP_NO_ALLOC) { Big b = CLUMP_AT(Big, 3); Big_a(b) = 1; }\n", 2,
        "must have CLUMP_NUMBERS as its second parameter");
    refuse_build(heap,
                 "\n__kernel void a(CLUMP_HEAP_NO_ALLOC) { CLUMP_FOR_EACH_NUMBERED(Big, b, i) "
                 "Big_a(b) = i; }\n",
                 2, "must have CLUMP_NUMBERS as its second parameter");
    clump_heap_destroy(heap);
}

/* Containers without what defines them. */
static void containers_undefined(void **state) {
    static const char with[] =
        "class Words { ref Word heads[*]; }"
        "class Word { uint key; uint value; ref Word next; uint erased; }"
        "class Trail { uint first; uint filling; uint growing; ref Page pages[28]; }"
        "class Page { uint items[*]; }"
        "class Cells { float origin[3]; float scale; uint count[3]; uint starts[*];"
        "              ref Word sorted[*]; }";
    static const char *const texts[] = {
        "\n__kernel void a(CLUMP_HEAP) { CLUMP_FOR_EACH(Words, w) CLUMP_MAP_FIND(Words, w, 1); }\n",
        "\n__kernel void a(CLUMP_HEAP) { CLUMP_FOR_EACH(Trail, t) CLUMP_VECTOR_APPEND(Trail, t, "
        "1); "
        "}\n",
        "\n__kernel void a(CLUMP_HEAP) { CLUMP_FOR_EACH(Cells, c) CLUMP_GRID_KEY(Cells, c, "
        "Word_null); }\n",
        "\n__kernel void a(CLUMP_HEAP) { CLUMP_FOR_EACH(Cells, c) CLUMP_FOR_NEAR(Word, o, c, "
        "(float3)(0.0f), 1.0f) Word_key(o) = 1; }\n",
    };
    clump_heap *heap = cl_fixture_heap(&on, with, 4u << 20, 0);
    clump_heap *without = cl_fixture_heap(&on, two_classes, 4u << 20, 0);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        refuse_build(heap, texts[i], 2, "CLUMP_GRID_DEFINE for its classes, at file scope");
    refuse_build(
        without,
        "\n__kernel void a(CLUMP_HEAP) { CLUMP_FOR_EACH(Big, b) CLUMP_MAP_FIND(Big, b, 1); "
        "}\n",
        2, "needs an array of run-time length in the schema");
    clump_heap_destroy(without);
    clump_heap_destroy(heap);
}

/* A driver that keeps what it compiled, and tells warnings only when it compiles: here, of no
 * program. */
static cl_int CL_API_CALL tell_no_warnings(cl_program program, cl_device_id device,
                                           cl_program_build_info what, size_t bytes, void *value,
                                           size_t *needed) {
    cl_build_status built = CL_BUILD_NONE;
    cl_int code =
        clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_STATUS, sizeof built, &built, NULL);
    if (code || what != CL_PROGRAM_BUILD_LOG || built != CL_BUILD_SUCCESS)
        return clGetProgramBuildInfo(program, device, what, bytes, value, needed);
    if (needed) *needed = 1;
    if (value && bytes) *(char *)value = 0;
    return CL_SUCCESS;
}

/* For compilers, this is only a reason to warn. */
static const char broken_promise[] =
    "\nvoid f(CLUMP_HEAP, Big b) { Big_free(b); }\n"
    "__kernel void a(CLUMP_HEAP_NO_ALLOC) { CLUMP_FOR_EACH(Big, b) f(clump_heap, b); }\n";

/* It is refused where nobody hears the warning, too. */
static void changes_under_fixed_unheard(void **state) {
    static const clump_cl_functions quiet = {.size = sizeof quiet,
                                             .GetProgramBuildInfo = tell_no_warnings};
    const clump_context_desc desc = {.size = sizeof desc,
                                     .context = on.context,
                                     .device = on.device,
                                     .queue = on.queue,
                                     .personality = on.capabilities->personality,
                                     .cl = &quiet};
    clump_context *hearing = on.clump;
    assert_int_equal(clump_context_create(&desc, &on.clump, NULL), CLUMP_OK);
    clump_heap *heap = cl_fixture_heap(&on, two_classes, 4u << 20, 0);
    refuse_build(heap, broken_promise, 3, "Make CLUMP_HEAP its first parameter");
    clump_heap_destroy(heap);
    clump_context_destroy(on.clump);
    on.clump = hearing;
}

static void changes_under_fixed(void **state) {
    static const char *const direct[] = {
        "\n__kernel void a(CLUMP_HEAP_NO_ALLOC) { CLUMP_FOR_EACH(Big, b) { Big c = Big_new(); "
        "Big_a(c) = 1; } }\n",
        "\n__kernel void a(CLUMP_HEAP_NO_ALLOC) { CLUMP_FOR_EACH(Big, b) Big_free(b); }\n",
        "\n__kernel void a(CLUMP_HEAP_NO_ALLOC) { CLUMP_GROUP_SCRATCH; Big b = Big_group_new(1); "
        "Big_a(b) = 1; }\n",
        "\nvoid f(CLUMP_HEAP_NO_ALLOC) { Big b = Big_new(); Big_free(b); }\n"
        "__kernel void a(CLUMP_HEAP) { f(clump_heap); }\n",
    };
    clump_heap *heap = cl_fixture_heap(&on, two_classes, 4u << 20, 0);
    for (size_t i = 0; i < sizeof direct / sizeof *direct; i++)
        refuse_build(heap, direct[i], 2, "Make CLUMP_HEAP its first parameter");
    /* Some compilers keep what they compiled, and warn once. */
    for (int i = 0; i < 2; i++)
        refuse_build(heap, broken_promise, 3, "Make CLUMP_HEAP its first parameter");
    /* What is right, stays right: less promised is handed over, and a user's own pointers are the
     * user's. */
    build(heap,
          "uint f(CLUMP_HEAP_NO_ALLOC, Big b) { return Big_a(b); }\n"
          "void g(__global uchar *p) { p[0] = 1; }\n"
          "__kernel void a(CLUMP_HEAP, __global const uchar *p) {\n"
          "    CLUMP_FOR_EACH(Big, b) if (f(clump_heap, b)) Big_free(b);\n    g(p);\n}\n");
    clump_heap_destroy(heap);
}

/* CLUMP_HEAP_NO_ALLOC is about objects: fields may be written, references among them, and are
 * looked at by compaction and collection as they are. */
static void references_written_under_fixed(void **state) {
    clump_heap *heap = cl_fixture_heap(&on, "class Node { ref Node next; uint id; }", 4u << 20, 1);
    clump_program *p = cl_fixture_program(
        &on, heap,
        "__kernel void init(CLUMP_HEAP) {\n"
        "    CLUMP_FOR_EACH_NEW(Node, n, i) { Node_id(n) = i; Node_next(n) = Node_null; }\n}\n"
        "__kernel void link(CLUMP_HEAP_NO_ALLOC, CLUMP_NUMBERS) {\n"
        "    CLUMP_FOR_EACH_NUMBERED(Node, n, i) if (i % 64 == 0) Node_next(n) = CLUMP_AT(Node, i "
        "+ 64);\n}\n"
        "__kernel void check(CLUMP_HEAP_NO_ALLOC) {\n"
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
    uint32_t wrong = 1;
    CHECK_OK(&on, clump_heap_do_new(heap, init, "Node", 1024, NULL, NULL));
    CHECK_OK(&on, clump_heap_do_all(heap, link, NULL));
    const clump_ref first = cl_fixture_first(&on, heap, "Node");
    uint64_t count = 0;
    clump_collect_desc collect = {.size = sizeof collect, .roots = &first, .root_count = 1};
    CHECK_OK(&on, clump_heap_collect(heap, &collect, NULL, NULL));
    CHECK_OK(&on, clump_heap_read_count(heap, "Node", &count));
    assert_int_equal(count, 16); /* what the root leads to */
    CHECK_OK(&on, clump_heap_compact(heap, NULL, NULL, NULL));
    CHECK_OK(&on, clump_heap_reduce(heap, check, sizeof wrong, &wrong, NULL));
    assert_int_equal(wrong, 0);
    CHECK_HEAP(&on, heap);
    clump_kernel_destroy(init);
    clump_kernel_destroy(link);
    clump_kernel_destroy(check);
    clump_program_destroy(p);
    clump_heap_destroy(heap);
}

/* ---- What is launched as something else ------------------------------------------------------ */

/* A schema with as many Smalls as are asked for, of which those with a number below `holes` are
 * gone. */
typedef struct world {
    clump_heap *heap;
    clump_program *program; /* one for all worlds */
    clump_kernel *small, *big;
} world;

static clump_program *world_program;

static const char world_kernels[] =
    "__kernel void big(CLUMP_HEAP) {\n"
    "    CLUMP_FOR_EACH_NEW(Big, o, i) { Big_a(o) = 1; Big_b(o) = 2; Big_c(o) = 3; Big_d(o) = 4; "
    "}\n}\n"
    "__kernel void small(CLUMP_HEAP) { CLUMP_FOR_EACH_NEW(Small, o, i) Small_v(o) = 1000 + i; }\n"
    "__kernel void some(CLUMP_HEAP) { CLUMP_FOR_EACH(Small, o) if (Small_v(o) < 1256) "
    "Small_free(o); }\n"
    "__kernel void free_big(CLUMP_HEAP) { CLUMP_FOR_EACH(Big, o) Big_free(o); }\n"
    "__kernel void loops(CLUMP_HEAP_NO_ALLOC, __global uint *seen) {\n"
    "    CLUMP_FOR_EACH_NEW(Big, o, i) atomic_inc(seen);\n"
    "    CLUMP_FOR_EACH(Big, o) atomic_inc(seen + 1);\n}\n"
    "__kernel void keys(CLUMP_HEAP_NO_ALLOC, __global uint *keys) {\n"
    "    CLUMP_FOR_EACH_KEYED(Small, o, i) keys[i] = ~Small_v(o);\n}\n"
    "__kernel void new_keys(CLUMP_HEAP_NO_ALLOC, __global uint *keys) {\n"
    "    CLUMP_FOR_EACH_NEW(Small, o, i) keys[i] = Small_v(o);\n}\n"
    "__kernel void count(CLUMP_HEAP_NO_ALLOC) {\n"
    "    ulong s = 0;\n    CLUMP_FOR_EACH(Small, o) s += 1ul << 33;\n    CLUMP_REDUCE(ulong, s, "
    "CLUMP_SUM);\n}\n"
    "__kernel void other(CLUMP_HEAP_NO_ALLOC) { CLUMP_FOR_EACH(Small, o) Small_v(o)++; }\n"
    "__kernel void maybe(CLUMP_HEAP_NO_ALLOC, uint does) {\n"
    "    if (!does || (does == 2 && get_group_id(0) == 1)) return;\n    uint s = 7;\n    "
    "CLUMP_REDUCE(uint, s, CLUMP_MAX);\n}\n";

static world world_open(void) {
    world w;
    clump_schema *s;
    assert_int_equal(clump_schema_parse(two_classes, strlen(two_classes), NULL, &s, NULL),
                     CLUMP_OK);
    clump_heap_desc d = {.size = sizeof d,
                         .context = on.clump,
                         .schema = s,
                         .bytes = 1u << 20,
                         .block_rows = 1,
                         .errors_on_request = 1};
    CHECK_OK(&on, clump_heap_create(&d, &w.heap, NULL));
    clump_schema_destroy(s);
    if (!world_program) world_program = cl_fixture_program(&on, w.heap, world_kernels, NULL, NULL);
    w.program = world_program;
    w.small = cl_fixture_kernel(&on, w.program, "small");
    w.big = cl_fixture_kernel(&on, w.program, "big");
    return w;
}

static void world_close(world *w) {
    clump_kernel_destroy(w->small);
    clump_kernel_destroy(w->big);
    clump_heap_destroy(w->heap);
}

/* What kernels reported, WRONG_LAUNCH alone and in these words. */
static void expect_wrong_launch(clump_heap *heap, const char *words) {
    clump_device_report r = {.size = sizeof r};
    clump_status status = clump_heap_take_errors(heap, &r);
    cl_fixture_expect_words(clump_context_get_error(on.clump), status, CLUMP_ERR_DEVICE, words,
                            "clump_heap_take_errors", __LINE__);
    for (int i = 0; i < CLUMP_DEVICE_ERROR_COUNT; i++)
        assert_int_equal(r.errors[i].count != 0, i == CLUMP_DEVICE_WRONG_LAUNCH);
    CHECK_HEAP(&on, heap);
}

/* A do-new of one class with the kernel of another, in a heap with holes: the objects around are
 * what they were. */
static void new_of_another_class(void **state) {
    static uint32_t values[2000];
    uint64_t made = 0;
    world w = world_open();
    clump_kernel *some = cl_fixture_kernel(&on, w.program, "some");
    CHECK_OK(&on, clump_heap_do_new(w.heap, w.small, "Small", 1024, NULL, NULL));
    CHECK_OK(&on, clump_heap_do_all(w.heap, some, NULL));
    CHECK_HEAP(&on, w.heap);
    CHECK_OK(&on, clump_heap_do_new(w.heap, w.big, "Small", 256, &made, NULL)); /* meant "Big" */
    assert_int_equal(made, 256);
    expect_wrong_launch(
        w.heap, "CLUMP_FOR_EACH_NEW(Big, ...) was run by a clump_heap_do_new() of class Small");
    CHECK_OK(&on,
             clump_heap_read_field(w.heap, "Small", "v", 0, sizeof *values, values, 2000, NULL));
    uint32_t innocent = 0;
    for (uint32_t i = 0; i < 1024; i++) innocent += values[i] >= 1256 && values[i] < 2024;
    assert_int_equal(innocent, 768);
    /* A loop of a subclass of what is made would take others' fields; that of a base is right. */
    CHECK_OK(&on, clump_heap_do_new(w.heap, w.small, "Tiny", 100, &made, NULL));
    CHECK_HEAP(&on, w.heap);
    CHECK_OK(&on,
             clump_heap_read_field(w.heap, "Tiny", "v", 0, sizeof *values, values, 2000, NULL));
    for (uint32_t i = 0; i < 100; i++) assert_in_range(values[i], 1000, 1099);
    clump_kernel_destroy(some);
    world_close(&w);
}

/* The kernel of a do-new by a do-all, a launch and as a key kernel: it visits nothing. */
static void new_kernel_run_otherwise(void **state) {
    static uint32_t values[1024];
    world w = world_open();
    clump_kernel *free_big = cl_fixture_kernel(&on, w.program, "free_big");
    clump_kernel *loops = cl_fixture_kernel(&on, w.program, "loops");
    clump_kernel *keys = cl_fixture_kernel(&on, w.program, "new_keys");
    uint32_t seen[2] = {0, 0};
    cl_mem buffer = cl_fixture_buffer(&on, seen, sizeof seen);
    SET_ARG(&on, loops, 0, buffer);
    CHECK_OK(&on, clump_heap_do_new(w.heap, w.small, "Small", 1024, NULL, NULL));
    CHECK_OK(&on, clump_heap_do_new(w.heap, w.big, "Big", 64 * 8, NULL, NULL));
    CHECK_OK(&on, clump_heap_do_all(w.heap, free_big, NULL));
    CHECK_HEAP(&on, w.heap);
    CHECK_OK(&on, clump_heap_do_all(w.heap, w.big, NULL));
    expect_wrong_launch(w.heap, "CLUMP_FOR_EACH_NEW(Big, ...) was not run by clump_heap_do_new()");
    CHECK_OK(&on, clump_heap_launch(w.heap, w.big, 64, 64, NULL));
    expect_wrong_launch(w.heap, "CLUMP_FOR_EACH_NEW(Big, ...) was not run by clump_heap_do_new()");
    clump_compact_desc order = {.size = sizeof order, .order = CLUMP_ORDER_KEY, .key_kernel = keys};
    CHECK_OK(&on, clump_heap_compact(w.heap, &order, NULL, NULL));
    expect_wrong_launch(w.heap,
                        "CLUMP_FOR_EACH_NEW(Small, ...) was not run by clump_heap_do_new()");
    CHECK_OK(&on,
             clump_heap_read_field(w.heap, "Small", "v", 0, sizeof *values, values, 1024, NULL));
    for (uint32_t i = 0; i < 1024; i++) assert_in_range(values[i], 1000, 2023);
    /* In one kernel both loops: each sees what is its own. */
    CHECK_OK(&on, clump_heap_do_new(w.heap, loops, "Big", 100, NULL, NULL));
    CHECK_HEAP(&on, w.heap);
    CHECK_OK(&on, clump_heap_do_all(w.heap, loops, NULL));
    cl_fixture_read(&on, buffer, seen, sizeof seen);
    assert_int_equal(seen[0], 100);
    assert_int_equal(seen[1], 100);
    expect_wrong_launch(w.heap, "CLUMP_FOR_EACH_NEW(Big, ...) was not run by clump_heap_do_new()");
    clReleaseMemObject(buffer);
    clump_kernel_destroy(free_big);
    clump_kernel_destroy(loops);
    clump_kernel_destroy(keys);
    world_close(&w);
}

/* A key kernel by a do-all: numbers of an earlier call would be places in its buffer. */
static void key_kernel_run_otherwise(void **state) {
    static uint32_t values[1024], zeros[4096], found[4096];
    world w = world_open();
    clump_kernel *keys = cl_fixture_kernel(&on, w.program, "keys");
    cl_mem buffer = cl_fixture_buffer(&on, NULL, sizeof zeros);
    CHECK_OK(&on, clump_heap_do_new(w.heap, w.small, "Small", 1024, NULL, NULL));
    CHECK_OK(&on, clump_heap_read_field(w.heap, "Small", "v", 0, sizeof *values, values, 1024,
                                        NULL)); /* numbers them */
    for (int after = 0; after < 2; after++) {
        SET_ARG(&on, keys, 0, buffer);
        CHECK_OK(&on, clump_heap_do_all(w.heap, keys, NULL));
        expect_wrong_launch(w.heap,
                            "CLUMP_FOR_EACH_KEYED(Small, ...) was not run as the key_kernel");
        CHECK_OK(&on, clump_heap_do_new(w.heap, keys, "Small", 1, NULL, NULL));
        expect_wrong_launch(w.heap,
                            "CLUMP_FOR_EACH_KEYED(Small, ...) was not run as the key_kernel");
        cl_fixture_read(&on, buffer, found, sizeof found);
        assert_memory_equal(found, zeros, sizeof zeros);
        /* As what it is, it is right, and the next round is as before. */
        clump_compact_desc order = {
            .size = sizeof order, .order = CLUMP_ORDER_KEY, .key_kernel = keys};
        CHECK_OK(&on, clump_heap_compact(w.heap, &order, NULL, NULL));
        CHECK_HEAP(&on, w.heap);
    }
    clReleaseMemObject(buffer);
    clump_kernel_destroy(keys);
    world_close(&w);
}

static void refuse_reduction(world *w, clump_kernel *k, size_t bytes, const char *words) {
    uint8_t result[128];
    memset(result, 7, sizeof result);
    clump_status status = clump_heap_reduce(w->heap, k, bytes, result, NULL);
    cl_fixture_expect_words(clump_context_get_error(on.clump), status, USAGE, words,
                            "clump_heap_reduce", __LINE__);
    for (size_t i = 0; i < sizeof result; i++) assert_int_equal(result[i], 7);
}

static void reductions(void **state) {
    world w = world_open();
    clump_kernel *count = cl_fixture_kernel(&on, w.program, "count");
    clump_kernel *fresh = cl_fixture_kernel(&on, w.program, "count");
    clump_kernel *other = cl_fixture_kernel(&on, w.program, "other");
    clump_kernel *maybe = cl_fixture_kernel(&on, w.program, "maybe");
    uint64_t n = 0;
    uint32_t does = 1, seven = 0, objects = 100;
    CHECK_OK(&on, clump_heap_do_new(w.heap, w.small, "Small", objects, NULL, NULL));
    CHECK_OK(&on, clump_heap_reduce(w.heap, count, sizeof n, &n, NULL));
    assert_int_equal(n >> 33, 100);
    refuse_reduction(&w, other, 8, "the kernel did not reach a CLUMP_REDUCE");
    CHECK_OK(&on, clump_heap_do_all(w.heap, count, NULL)); /* leaves a result that nobody read */
    refuse_reduction(&w, other, 8, "the kernel did not reach a CLUMP_REDUCE");
    refuse_reduction(&w, count, 4, "4 bytes, but the type in the kernel's CLUMP_REDUCE has 8");
    refuse_reduction(&w, fresh, 4, "4 bytes, but the type in the kernel's CLUMP_REDUCE has 8");
    refuse_reduction(&w, fresh, 128, "128 bytes, but the type in the kernel's CLUMP_REDUCE has 8");
    CHECK_OK(&on, clump_heap_reduce(w.heap, fresh, sizeof n, &n, NULL));
    assert_int_equal(n >> 33, 100);
    /* What a kernel did once it may not do again. */
    SET_ARG(&on, maybe, 0, does);
    CHECK_OK(&on, clump_heap_reduce(w.heap, maybe, sizeof seven, &seven, NULL));
    assert_int_equal(seven, 7);
    does = 0;
    SET_ARG(&on, maybe, 0, does);
    refuse_reduction(&w, maybe, 4, "the kernel did not reach a CLUMP_REDUCE");
    /* Another kernel of the same type does it meanwhile, in a call that reads no result. */
    clump_kernel *always = cl_fixture_kernel(&on, w.program, "maybe");
    does = 1;
    SET_ARG(&on, always, 0, does);
    CHECK_OK(&on, clump_heap_reduce(w.heap, always, sizeof seven, &seven, NULL));
    CHECK_OK(&on, clump_heap_do_all(w.heap, always, NULL));
    refuse_reduction(&w, maybe, 4, "the kernel did not reach a CLUMP_REDUCE");
    /* A kernel of which one work-group returns before: no later reduction counts what the others
     * left. */
    does = 2;
    SET_ARG(&on, maybe, 0, does);
    for (int read = 0; read < 2; read++) {
        if (read) {
            refuse_reduction(&w, maybe, 4,
                             "work-groups of kernel maybe reached the end of CLUMP_REDUCE");
            CHECK_OK(&on, clump_heap_take_errors(w.heap, NULL)); /* it was told of */
        } else {
            CHECK_OK(&on, clump_heap_do_all(w.heap, maybe, NULL));
            CHECK_OK(&on, clump_heap_check(w.heap)); /* nothing is damaged */
        }
        for (int again = 0; again < 2; again++) {
            CHECK_OK(&on, clump_heap_reduce(w.heap, always, sizeof seven, &seven, NULL));
            CHECK_OK(&on, clump_heap_reduce(w.heap, count, sizeof n, &n, NULL));
            assert_int_equal(n >> 33, objects);
            objects += 10;
            CHECK_OK(&on, clump_heap_do_new(w.heap, w.small, "Small", 10, NULL, NULL));
            CHECK_OK(&on, clump_heap_reduce(w.heap, count, sizeof n, &n, NULL));
            assert_int_equal(n >> 33, objects);
        }
        if (!read) expect_wrong_launch(w.heap, "in a kernel with CLUMP_REDUCE, only");
    }
    /* The same where nothing else reduces before the errors are asked for. */
    CHECK_OK(&on, clump_heap_do_all(w.heap, maybe, NULL));
    expect_wrong_launch(w.heap, "in a kernel with CLUMP_REDUCE, only");
    CHECK_OK(&on, clump_heap_take_errors(w.heap, NULL));
    CHECK_OK(&on, clump_heap_reduce(w.heap, always, sizeof seven, &seven, NULL));
    /* Repair begins with new numbers. */
    CHECK_OK(&on, clump_heap_reduce(w.heap, always, sizeof seven, &seven, NULL));
    CHECK_OK(&on, clump_heap_repair(w.heap, NULL));
    CHECK_OK(&on, clump_heap_reduce(w.heap, always, sizeof seven, &seven, NULL));
    clump_kernel_destroy(always);
    CHECK_HEAP(&on, w.heap);
    clump_kernel_destroy(count);
    clump_kernel_destroy(fresh);
    clump_kernel_destroy(other);
    clump_kernel_destroy(maybe);
    world_close(&w);
}

/* More parts than there is room for, as a launch of one's own may have: they would lie on the
 * metadata. */
static void reduction_of_many_groups(void **state) {
    world w = world_open();
    clump_kernel *count = cl_fixture_kernel(&on, w.program, "count");
    CHECK_OK(&on, clump_heap_do_new(w.heap, w.small, "Small", 100, NULL, NULL));
    CHECK_OK(&on, clump_heap_launch(w.heap, count, 1u << 20, 1, NULL));
    expect_wrong_launch(w.heap, "launched in more work-groups than a reduction has");
    if (on.capabilities->work_group_max >= 512) {
        clump_status status = clump_heap_launch(w.heap, count, 512, 512, NULL);
        if (status == CLUMP_OK) expect_wrong_launch(w.heap, "groups of more than 256 work-items");
    }
    uint64_t n = 0;
    CHECK_OK(&on, clump_heap_reduce(w.heap, count, sizeof n, &n, NULL));
    assert_int_equal(n >> 33, 100);
    clump_kernel_destroy(count);
    refuse_build(
        w.heap,
        "typedef struct wide { uint a[33]; } wide;\n"
        "__kernel void a(CLUMP_HEAP_NO_ALLOC) { wide s; CLUMP_REDUCE(wide, s, CLUMP_SUM); }\n",
        2, "type_of_a_reduction_has_at_most_128_bytes");
    world_close(&w);
}

/* ---- Checked programs ------------------------------------------------------------------------ */

static void checked_references(void **state) {
    static const char *const names[] = {"access", "test", "cast", "kind", "garbage"};
    world w = world_open();
    clump_program *p = cl_fixture_program(
        &on, w.heap,
        "#define DEAD Tiny t = Tiny_new(), keep = Tiny_new(); Tiny_free(t); Small s = "
        "Tiny_as_Small(t)\n"
        "__kernel void access(CLUMP_HEAP, __global uint *out) { DEAD; Small_v(s) = 1; }\n"
        "__kernel void test(CLUMP_HEAP, __global uint *out) { DEAD; out[0] = Small_is_Tiny(s); }\n"
        "__kernel void cast(CLUMP_HEAP, __global uint *out) { DEAD; out[0] = "
        "!Tiny_is_null(Small_as_Tiny(s)); }\n"
        "__kernel void kind(CLUMP_HEAP, __global uint *out) { DEAD; out[0] = Small_class_of(s); }\n"
        "__kernel void garbage(CLUMP_HEAP, __global uint *out) {\n"
        "    Small s = {12345u * 64u};\n    Tiny t = Small_as_Tiny(s);\n    out[0] = "
        "!Tiny_is_null(t);\n}\n"
        "__kernel void right(CLUMP_HEAP, __global uint *out) {\n"
        "    Tiny t = Tiny_new();\n    Small s = Tiny_as_Small(t);\n"
        "    out[0] = Small_is_Tiny(s) + (Small_class_of(s) == Tiny_CLASS) + "
        "Small_is_Tiny(Small_null) +\n"
        "             Small_class_of(Small_null) + (Small_as_Tiny(s).id == t.id);\n}\n",
        NULL, &(cl_fixture_build){.checked = 1});
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        uint32_t out = 0;
        cl_mem buffer = cl_fixture_buffer(&on, &out, sizeof out);
        clump_kernel *k = cl_fixture_kernel(&on, p, names[i]);
        SET_ARG(&on, k, 0, buffer);
        CHECK_OK(&on, clump_heap_launch(w.heap, k, 1, 1, NULL));
        clump_device_report r = {.size = sizeof r};
        clump_status status = clump_heap_take_errors(w.heap, &r);
        cl_fixture_expect_words(clump_context_get_error(on.clump), status, CLUMP_ERR_DEVICE,
                                "names no live object of the class", names[i], __LINE__);
        assert_int_equal(r.errors[CLUMP_DEVICE_BAD_ACCESS].count, 1);
        assert_int_equal(r.errors[CLUMP_DEVICE_BAD_REFERENCE].count, 0);
        cl_fixture_read(&on, buffer, &out, sizeof out);
        assert_int_equal(out, 0); /* no class, no subclass */
        CHECK_OK(&on, clump_heap_check(w.heap));
        clump_kernel_destroy(k);
        clReleaseMemObject(buffer);
    }
    uint32_t out = 0;
    cl_mem buffer = cl_fixture_buffer(&on, &out, sizeof out);
    clump_kernel *right = cl_fixture_kernel(&on, p, "right");
    SET_ARG(&on, right, 0, buffer);
    CHECK_OK(&on, clump_heap_launch(w.heap, right, 1, 1, NULL));
    CHECK_HEAP(&on, w.heap);
    cl_fixture_read(&on, buffer, &out, sizeof out);
    assert_int_equal(out, 3);
    clReleaseMemObject(buffer);
    clump_kernel_destroy(right);
    clump_program_destroy(p);
    world_close(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_heap_parameter),
        cmocka_unit_test(containers_undefined),
        cmocka_unit_test(changes_under_fixed),
        cmocka_unit_test(changes_under_fixed_unheard),
        cmocka_unit_test(references_written_under_fixed),
        cmocka_unit_test(new_of_another_class),
        cmocka_unit_test(new_kernel_run_otherwise),
        cmocka_unit_test(key_kernel_run_otherwise),
        cmocka_unit_test(reductions),
        cmocka_unit_test(reduction_of_many_groups),
        cmocka_unit_test(checked_references),
    };
    int result = cl_fixture_open(&on, NULL);
    if (result) return result;
    result = cmocka_run_group_tests(tests, NULL, NULL);
    clump_program_destroy(world_program);
    cl_fixture_close(&on);
    return result;
}
