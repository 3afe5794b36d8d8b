/* What the device API and the calls around it promise: loops, casts, launches, reductions, events,
 * checked mode, and everything that is refused.
 *
 * Read first: cl/api/device_api.clh, tests/support/cl_fixture.h.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cl_fixture.h"
#include "heap/access.h"

#define DOTS 300u
#define DISKS 200u
#define SQUARES 130u
#define SHAPES (DOTS + DISKS + SQUARES)
#define HEAP_BYTES (1u << 20)

static const char schema[] =
    "abstract class Shape { uint tag; ref Shape next; }\n"
    "class Dot : Shape { float x; float3 at[2]; ushort marks[3] packed; }\n"
    "aos class Disk : Dot { float4 colour; uchar kind; short sizes[2]; }\n"
    "class Square : Shape { uint side; }\n"
    "class Lonely { uint tag; }\n";

static const char source[] =
    "__kernel void make(CLUMP_HEAP, uint base) {\n"
    "    CLUMP_FOR_EACH_NEW(Shape, self, i) {\n"
    "        Shape_tag(self) = base + i;\n"
    "        Shape_next(self) = Shape_null;\n"
    "        if (Shape_is_Dot(self)) Dot_x(Shape_as_Dot(self)) = (float)(base + i) * 0.5f;\n"
    "    }\n"
    "}\n"
    "__kernel void visit(CLUMP_HEAP_NO_ALLOC, uint mode, __global uint *seen, __global uint "
    "*after) "
    "{\n"
    "    if (mode == 0u) CLUMP_FOR_EACH(Shape, self) atomic_inc(&seen[Shape_tag(self)]);\n"
    "    if (mode == 1u) CLUMP_FOR_EACH(Dot, self) { atomic_inc(&seen[Dot_tag(self)]); }\n"
    "    if (mode == 2u) CLUMP_FOR_EACH(Disk, self) atomic_inc(&seen[Disk_tag(self)]);\n"
    "    if (mode == 3u) CLUMP_FOR_EACH(Square, self) atomic_inc(&seen[Square_tag(self)]);\n"
    "    if (mode == 4u) CLUMP_FOR_EACH(Lonely, self) atomic_inc(&seen[Lonely_tag(self)]);\n"
    "    if (mode == 5u) CLUMP_FOR_EACH(Shape, self) {\n"
    "        if (Shape_tag(self) % 2u) continue;\n"
    "        atomic_inc(&seen[Shape_tag(self)]);\n"
    "    }\n"
    "    if (mode == 6u) CLUMP_FOR_EACH(Shape, self) { atomic_inc(&seen[Shape_tag(self)]); break; "
    "}\n"
    "    if (mode == 7u) CLUMP_FOR_EACH(Shape, self) { atomic_inc(&seen[Shape_tag(self)]); return; "
    "}\n"
    "    atomic_inc(after);\n"
    "}\n"
    "__kernel void pairs(CLUMP_HEAP_NO_ALLOC, uint mode, __global uint *seen) {\n"
    "    CLUMP_FOR_EACH(Dot, self) {\n"
    "        CLUMP_FOR_WHOLE_CLASS(Shape, other) {\n"
    "            if (mode == 1u && Shape_tag(other) % 3u) continue;\n"
    "            atomic_inc(&seen[Dot_tag(self)]);\n"
    "            if (mode == 2u) break;\n"
    "        }\n"
    "    }\n"
    "}\n"
    "__kernel void spawn(CLUMP_HEAP, __global uint *visits) {\n"
    "    CLUMP_FOR_EACH(Shape, self) {\n"
    "        atomic_inc(visits);\n"
    "        Square s = Square_new();\n"
    "        if (Square_is_null(s)) continue;\n"
    "        Square_tag(s) = 7u;\n"
    "        Shape_next(self) = Square_as_Shape(s);\n"
    "    }\n"
    "}\n"
    "__kernel void make_of(CLUMP_HEAP, __global uint *out, __global const uint *classes) {\n"
    "    uint item = (uint)get_global_id(0);\n"
    "    Shape s = Shape_new_of(classes[item]);\n"
    "    out[item] = s.id;\n"
    "    if (!Shape_is_null(s)) Shape_tag(s) = item;\n"
    "}\n"
    "__kernel void free_of(CLUMP_HEAP, __global const uint *shapes) {\n"
    "    Shape_free((Shape){shapes[get_global_id(0)]});\n"
    "}\n"
    "__kernel void casts(CLUMP_HEAP_NO_ALLOC, __global uint *out) {\n"
    "    CLUMP_FOR_EACH(Shape, s) {\n"
    "        uint bits = Shape_class_of(s) | Shape_is_Dot(s) << 8 | Shape_is_Disk(s) << 9 |\n"
    "                    Shape_is_Square(s) << 10 | Shape_is_live(s) << 11;\n"
    "        Dot d = Shape_as_Dot(s);\n"
    "        bits |= !Dot_is_null(d) << 12;\n"
    "        if (!Dot_is_null(d)) bits |= (Dot_as_Shape(d).id == s.id) << 13 |\n"
    "            Dot_is_Disk(d) << 14 | (Dot_as_Disk(d).id == s.id) << 15 | Dot_is_live(d) << 17;\n"
    "        Square q = {s.id};\n"
    "        bits |= Square_is_live(q) << 16;\n"
    "        if (Shape_class_of(s) == Disk_CLASS) bits |= 1u << 18;\n"
    "        out[Shape_tag(s)] = bits;\n"
    "    }\n"
    "    Shape n = Shape_null;\n"
    "    Shape bad = {0xffffff80u};\n"
    "    if (get_global_id(0) == 0)\n"
    "        out[0] |= (Shape_is_null(n) + Shape_class_of(n) + Shape_is_live(n) + Shape_is_Dot(n) "
    "+\n"
    "                  !Dot_is_null(Shape_as_Dot(n)) + Shape_class_of(bad) + Shape_is_live(bad) +\n"
    "                  Shape_is_Dot(bad)) << 24;\n"
    "}\n"
    "__kernel void drop(CLUMP_HEAP, uint rest) {\n"
    "    CLUMP_FOR_EACH(Shape, self) if (Shape_tag(self) % 3u == rest) Shape_free(self);\n"
    "}\n"
    "__kernel void sum(CLUMP_HEAP_NO_ALLOC, uint lonely) {\n"
    "    uint n = 0;\n"
    "    if (lonely) CLUMP_FOR_EACH(Lonely, self) n += Lonely_tag(self);\n"
    "    if (!lonely) CLUMP_FOR_EACH(Shape, self) n += Shape_tag(self);\n"
    "    CLUMP_REDUCE(uint, n, CLUMP_SUM);\n"
    "}\n"
    "__kernel void sum_changing(CLUMP_HEAP) {\n"
    "    uint n = 0;\n"
    "    CLUMP_FOR_EACH(Shape, self) n++;\n"
    "    CLUMP_REDUCE(uint, n, CLUMP_SUM);\n"
    "}\n"
    "__kernel void sum4(CLUMP_HEAP_NO_ALLOC) {\n"
    "    float4 s = 0;\n"
    "    CLUMP_FOR_EACH(Dot, d) s += (float4)(1, Dot_x(d), 2, Dot_x(d) * 2);\n"
    "    CLUMP_REDUCE(float4, s, CLUMP_SUM)\n"
    "}\n"
    "__kernel void least(CLUMP_HEAP_NO_ALLOC) {\n"
    "    int m = INT_MAX;\n"
    "    CLUMP_FOR_EACH(Disk, d) m = CLUMP_MIN(m, 5 - (int)Disk_tag(d));\n"
    "    CLUMP_REDUCE(int, m, CLUMP_MIN);\n"
    "}\n"
    "__kernel void most(CLUMP_HEAP_NO_ALLOC) {\n"
    "    ulong m = 0;\n"
    "    CLUMP_FOR_EACH(Square, d) m = CLUMP_MAX(m, (ulong)Square_tag(d) << 33);\n"
    "    CLUMP_REDUCE(ulong, m, CLUMP_MAX);\n"
    "}\n"
    /* All pairs; then a reduction to which only one work-item brings a number. */
    "#define EXTREMES(type) \\\n"
    "__kernel void extremes_##type(CLUMP_HEAP_NO_ALLOC, __global const type *x, __global type "
    "*out, "
    "uint which) { \\\n"
    "    if (get_global_id(0) == 0) \\\n"
    "        for (uint i = 0; i < 64; i++) { \\\n"
    "            out[i] = CLUMP_MIN(x[i / 8], x[i % 8]); \\\n"
    "            out[64 + i] = CLUMP_MAX(x[i / 8], x[i % 8]); \\\n"
    "        } \\\n"
    "    type mine = get_global_id(0) == which ? x[6] : x[0]; \\\n"
    "    CLUMP_REDUCE(type, mine, CLUMP_MIN); \\\n"
    "}\n"
    "EXTREMES(float)\n"
    "#ifdef cl_khr_fp64\n"
    "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n"
    "EXTREMES(double)\n"
    "#endif\n"
    "uchar4 of_vectors(uchar4 a, uchar4 b) { return CLUMP_MAX(CLUMP_MIN(a, b), a); }\n"
    "typedef struct { uint count, low, high, all; } span;\n"
    "static span join(span a, span b) {\n"
    "    span c = {a.count + b.count, min(a.low, b.low), max(a.high, b.high), a.all ^ b.all};\n"
    "    return c;\n"
    "}\n"
    "__kernel void spans(CLUMP_HEAP_NO_ALLOC) {\n"
    "    span s = {0, UINT_MAX, 0, 0};\n"
    "    CLUMP_FOR_EACH(Shape, d) { uint t = Shape_tag(d); span one = {1, t, t, t}; s = join(s, "
    "one); }\n"
    "    CLUMP_REDUCE(span, s, join);\n"
    "}\n"
    "__kernel void fields(CLUMP_HEAP_NO_ALLOC, __global uint *wrong) {\n"
    "    CLUMP_FOR_EACH(Disk, d) {\n"
    "        uint t = Disk_tag(d);\n"
    "        float4 c = Disk_colour(d);\n"
    "        float3 a = Disk_at(d, 1);\n"
    "        if (c.x != t || c.w != t + 3 || a.z != t * 2 || Disk_marks(d, 2) != t % 500u ||\n"
    "            Disk_sizes(d, 1) != -(short)(t % 100) || Disk_kind(d) != (uchar)t)\n"
    "            atomic_inc(wrong);\n"
    "        Disk_colour(d) = c * 2; Disk_at(d, 0) = a; Disk_marks(d, 0) = (ushort)(t + 1);\n"
    "        Disk_sizes(d, 0) = (short)(t - 7); Disk_kind(d) += 1;\n"
    "    }\n"
    "}\n"
    "__kernel void not_a_heap(__global uint *x) { *x = 1; }\n"
    /* its compiler emits invalid PTX for a kernel without parameters */
    "#ifndef __NV_CL_C_VERSION\n"
    "__kernel void nothing(void) {}\n"
    "#endif\n";

/* ---- A table that counts --------------------------------------------------------------------- */

/* whole: launches that look at all blocks of the heap. */
static struct { uint32_t kernels, whole, transfers, waits, arguments, questions; } calls;
/* The argument that is made to fail, counted from 1 since `calls` was cleared; 0: none. Then which
 * it was, and whether it was set since. */
static struct {
    uint32_t at, index, is_set;
    cl_kernel kernel;
} refused;

static cl_int count_kernel(cl_command_queue q, cl_kernel k, cl_uint dim, const size_t *offset,
                           const size_t *global, const size_t *local, cl_uint n,
                           const cl_event *list, cl_event *event) {
    static const char *const whole[] = {"clumpi_list_", "clumpi_new_",      "clumpi_stats",
                                        "clumpi_rank_", "clumpi_unreserve", "clumpi_sweep_"};
    char name[64] = "";
    CHECK_CL(clGetKernelInfo(k, CL_KERNEL_FUNCTION_NAME, sizeof name, name, NULL));
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
        calls.whole += !strncmp(name, whole[i], strlen(whole[i]));
    calls.kernels++;
    return clEnqueueNDRangeKernel(q, k, dim, offset, global, local, n, list, event);
}
static cl_int count_read(cl_command_queue q, cl_mem m, cl_bool block, size_t offset, size_t bytes,
                         void *data, cl_uint n, const cl_event *list, cl_event *event) {
    calls.transfers++;
    calls.waits += block;
    return clEnqueueReadBuffer(q, m, block, offset, bytes, data, n, list, event);
}
static cl_int count_write(cl_command_queue q, cl_mem m, cl_bool block, size_t offset, size_t bytes,
                          const void *data, cl_uint n, const cl_event *list, cl_event *event) {
    calls.transfers++;
    calls.waits += block;
    return clEnqueueWriteBuffer(q, m, block, offset, bytes, data, n, list, event);
}
static cl_int count_fill(cl_command_queue q, cl_mem m, const void *pattern, size_t pattern_bytes,
                         size_t offset, size_t bytes, cl_uint n, const cl_event *list,
                         cl_event *event) {
    calls.transfers++;
    return clEnqueueFillBuffer(q, m, pattern, pattern_bytes, offset, bytes, n, list, event);
}
static cl_int count_argument(cl_kernel k, cl_uint index, size_t bytes, const void *value) {
    calls.arguments++;
    refused.is_set |= k == refused.kernel && index == refused.index;
    if (calls.arguments != refused.at) return clSetKernelArg(k, index, bytes, value);
    refused.kernel = k;
    refused.index = index;
    refused.is_set = 0;
    return CL_OUT_OF_RESOURCES;
}
static cl_int count_question(cl_kernel k, cl_uint index, cl_kernel_arg_info what, size_t bytes,
                             void *value, size_t *needed) {
    calls.questions++;
    return clGetKernelArgInfo(k, index, what, bytes, value, needed);
}
static cl_int count_finish(cl_command_queue q) {
    calls.waits++;
    return clFinish(q);
}
static const clump_cl_functions counting = {.size = sizeof counting,
                                            .EnqueueNDRangeKernel = count_kernel,
                                            .EnqueueReadBuffer = count_read,
                                            .EnqueueWriteBuffer = count_write,
                                            .EnqueueFillBuffer = count_fill,
                                            .SetKernelArg = count_argument,
                                            .GetKernelArgInfo = count_question,
                                            .Finish = count_finish};

/* ---- The world of the tests: made once, brought back to its start by each -------------------- */

static cl_fixture fixture, *const f = &fixture;
static clump_heap *heap;
static clump_program *program;
static cl_mem seen_buffer, after_buffer;
static uint32_t seen[SHAPES + 1], after;
enum {
    MAKE,
    VISIT,
    PAIRS,
    SPAWN,
    CASTS,
    DROP,
    SUM,
    SUM_CHANGING,
    SUM4,
    LEAST,
    MOST,
    SPANS,
    FIELDS,
    MAKE_OF,
    FREE_OF,
    KERNELS
};
static clump_kernel *kernels[KERNELS];
static const char *const kernel_names[] = {"make", "visit", "pairs",        "spawn",   "casts",
                                           "drop", "sum",   "sum_changing", "sum4",    "least",
                                           "most", "spans", "fields",       "make_of", "free_of"};

static void open_world(const cl_fixture_desc *desc) {
    assert_int_equal(cl_fixture_open(f, desc), 0);
    heap = cl_fixture_heap(f, schema, HEAP_BYTES, 3);
    program = cl_fixture_program(f, heap, source, NULL, NULL);
    for (int i = 0; i < KERNELS; i++) kernels[i] = cl_fixture_kernel(f, program, kernel_names[i]);
    seen_buffer = cl_fixture_buffer(f, NULL, sizeof seen);
    after_buffer = cl_fixture_buffer(f, NULL, sizeof seen);
}

static void close_world(void) {
    clReleaseMemObject(seen_buffer);
    clReleaseMemObject(after_buffer);
    for (int i = 0; i < KERNELS; i++) clump_kernel_destroy(kernels[i]);
    clump_program_destroy(program);
    clump_heap_destroy(heap);
    cl_fixture_close(f);
}

static void make(clump_heap *where, const char *name, uint32_t base, uint32_t count) {
    uint64_t made;
    SET_ARG(f, kernels[MAKE], 0, base);
    CHECK_OK(f, clump_heap_do_new(where, kernels[MAKE], name, count, &made, NULL));
    assert_int_equal(made, count);
}

/* Tags: 0.. dots, then disks, then squares. */
static void populate(clump_heap *where) {
    for (uint32_t rest = 0; rest < 3; rest++) {
        SET_ARG(f, kernels[DROP], 0, rest);
        CHECK_OK(f, clump_heap_do_all(where, kernels[DROP], NULL));
    }
    make(where, "Dot", 0, DOTS);
    make(where, "Disk", DOTS, DISKS);
    make(where, "Square", DOTS + DISKS, SQUARES);
    CHECK_HEAP(f, where);
}

static void clear_seen(void) {
    memset(seen, 0, sizeof seen);
    after = 0;
    cl_fixture_write(f, seen_buffer, seen, sizeof seen);
    cl_fixture_write(f, after_buffer, &after, sizeof after);
}

static void fetch_seen(void) {
    cl_fixture_read(f, seen_buffer, seen, sizeof seen);
    cl_fixture_read(f, after_buffer, &after, sizeof after);
}

static void visit_in(clump_heap *where, uint32_t mode) {
    clear_seen();
    SET_ARG(f, kernels[VISIT], 0, mode);
    SET_ARG(f, kernels[VISIT], 1, seen_buffer);
    SET_ARG(f, kernels[VISIT], 2, after_buffer);
    CHECK_OK(f, clump_heap_do_all(where, kernels[VISIT], NULL));
    fetch_seen();
}

static void visit(uint32_t mode) {
    visit_in(heap, mode);
}

/* Tags first .. end-1 that are multiples of `step` were seen `times` times, and no others. */
static void expect_seen(uint32_t first, uint32_t end, uint32_t step, uint32_t times) {
    for (uint32_t i = 0; i < SHAPES; i++) {
        uint32_t expected = i >= first && i < end && i % step == 0 ? times : 0;
        if (seen[i] != expected) fail_msg("tag %u: %u times, expected %u", i, seen[i], expected);
    }
}

/* ---- Loops ----------------------------------------------------------------------------------- */

static void test_loops(void **state) {
    (void)state;
    populate(heap);
    visit(0);
    expect_seen(0, SHAPES, 1, 1);
    uint32_t items = after; /* of a do-all */
    visit(1);
    expect_seen(0, DOTS + DISKS, 1, 1);
    visit(2);
    expect_seen(DOTS, DOTS + DISKS, 1, 1);
    visit(3);
    expect_seen(DOTS + DISKS, SHAPES, 1, 1);
    visit(4);
    expect_seen(0, 0, 1, 0);
    assert_int_equal(after, items);
    visit(5);
    expect_seen(0, SHAPES, 2, 1);
    assert_int_equal(after, items);
    for (uint32_t mode = 6; mode < 8; mode++) { /* break and return: one object per work-item */
        visit(mode);
        uint32_t sum = 0;
        for (uint32_t i = 0; i < SHAPES; i++) sum += seen[i];
        assert_true(sum >= 1 && sum <= items);
        assert_int_equal(after, mode == 6 ? items : items - sum);
    }
    for (uint32_t mode = 0; mode < 3; mode++) {
        clear_seen();
        SET_ARG(f, kernels[PAIRS], 0, mode);
        SET_ARG(f, kernels[PAIRS], 1, seen_buffer);
        CHECK_OK(f, clump_heap_do_all(heap, kernels[PAIRS], NULL));
        fetch_seen();
        expect_seen(0, DOTS + DISKS, 1, mode == 0 ? SHAPES : mode == 1 ? SHAPES / 3 : 1);
    }
}

static void test_new_objects_wait(void **state) {
    (void)state;
    uint64_t count;
    populate(heap);
    for (uint32_t before = SHAPES; before < 4 * SHAPES; before *= 2) {
        clear_seen();
        SET_ARG(f, kernels[SPAWN], 0, seen_buffer);
        CHECK_OK(f, clump_heap_do_all(heap, kernels[SPAWN], NULL));
        fetch_seen();
        CHECK_HEAP(f, heap);
        assert_int_equal(seen[0], before);
        CHECK_OK(f, clump_heap_read_count(heap, "Shape", &count));
        assert_int_equal(count, 2 * before);
    }
    CHECK_OK(f, clump_heap_read_count(heap, "Square", &count));
    assert_int_equal(count, 4 * SHAPES - DOTS - DISKS);
}

/* While a do-new makes objects no list of all of them holds: other loops of its kernel see none. */
static void test_loops_in_do_new(void **state) {
    (void)state;
    static const uint32_t zeros[10];
    uint32_t mode = 4;
    populate(heap);
    clear_seen();
    SET_ARG(f, kernels[VISIT], 0, mode);
    SET_ARG(f, kernels[VISIT], 1, seen_buffer);
    SET_ARG(f, kernels[VISIT], 2, after_buffer);
    for (int i = 0; i < 2; i++) {
        uint64_t made;
        CHECK_OK(f, clump_heap_do_new(heap, kernels[VISIT], "Lonely", 10, &made, NULL));
        fetch_seen();
        expect_seen(0, SHAPES, 1, 0);
        uint64_t count;
        uint32_t refs[20];
        CHECK_OK(f, clump_heap_read_refs(heap, "Lonely", refs, 20, &count));
        assert_int_equal(count, 10 * (i + 1));
        if (i == 0)
            CHECK_OK(f, clump_heap_write_field(heap, "Lonely", "tag", 0, sizeof *zeros, zeros, 10));
        if (i == 0) visit(4); /* so that there is a list to be forgotten */
        if (i == 0) assert_int_equal(seen[0], 10);
        clear_seen();
    }
}

static void test_casts(void **state) {
    (void)state;
    populate(heap);
    clear_seen();
    SET_ARG(f, kernels[CASTS], 0, seen_buffer);
    CHECK_OK(f, clump_heap_do_all(heap, kernels[CASTS], NULL));
    CHECK_OK(f, clump_heap_do_all(heap, kernels[CASTS], NULL));
    fetch_seen();
    CHECK_HEAP(f, heap);
    uint32_t dot = cl_fixture_class_id(heap, "Dot") | 1u << 8 | 1u << 11 | 3u << 12 | 1u << 17;
    uint32_t disk = cl_fixture_class_id(heap, "Disk") | 3u << 8 | 1u << 11 | 15u << 12 | 3u << 17;
    uint32_t square = cl_fixture_class_id(heap, "Square") | 1u << 10 | 1u << 11 | 1u << 16;
    for (uint32_t i = 0; i < SHAPES; i++) {
        uint32_t expected = i < DOTS ? dot : i < DOTS + DISKS ? disk : square;
        uint32_t found = i ? seen[i] : seen[i] & 0xffffffu;
        if (found != expected) fail_msg("tag %u: %08x, expected %08x", i, found, expected);
    }
    /* Null and garbage: only is_null says 1. The other write of out[0] may come later. */
    assert_true(seen[0] >> 24 <= 1);
}

/* Neighbours that want different classes by number, some of them numbers of none. */
static void test_new_of(void **state) {
    (void)state;
    const uint32_t dot = cl_fixture_class_id(heap, "Dot"), disk = cl_fixture_class_id(heap, "Disk"),
                   square = cl_fixture_class_id(heap, "Square"),
                   shape = cl_fixture_class_id(heap, "Shape");
    /* Abstract; of another class; none; beyond the table. */
    const uint32_t choice[] = {
        dot, square, disk, shape, square, cl_fixture_class_id(heap, "Lonely"),
        0,   disk,   dot,  255,   dot,    0x80000000u + dot};
    enum { CHOICES = 12, GOOD = 7 };
    uint32_t wanted[SHAPES + 1], made[SHAPES + 1];
    const uint32_t items = SHAPES / CHOICES * CHOICES;
    for (uint32_t rest = 0; rest < 3; rest++) {
        SET_ARG(f, kernels[DROP], 0, rest);
        CHECK_OK(f, clump_heap_do_all(heap, kernels[DROP], NULL));
    }
    for (uint32_t i = 0; i < items; i++) wanted[i] = choice[i % CHOICES];
    cl_fixture_write(f, after_buffer, wanted, sizeof wanted);
    SET_ARG(f, kernels[MAKE_OF], 0, seen_buffer);
    SET_ARG(f, kernels[MAKE_OF], 1, after_buffer);
    CHECK_OK(f, clump_heap_launch(heap, kernels[MAKE_OF], items, CHOICES, NULL));
    cl_fixture_read(f, seen_buffer, made, sizeof made);
    clump_device_report report = {.size = sizeof report};
    CHECK_STATUS(f, clump_heap_take_errors(heap, &report), CLUMP_ERR_DEVICE);
    assert_non_null(strstr(clump_context_get_error(f->clump)->message,
                           "Shape_new_of() was called with class "));
    assert_int_equal(report.errors[CLUMP_DEVICE_BAD_CLASS].count,
                     items / CHOICES * (CHOICES - GOOD));
    assert_int_equal(report.errors[CLUMP_DEVICE_BAD_CLASS].class_id, shape);
    clear_seen();
    SET_ARG(f, kernels[CASTS], 0, seen_buffer);
    CHECK_OK(f, clump_heap_do_all(heap, kernels[CASTS], NULL));
    fetch_seen();
    CHECK_HEAP(f, heap);
    for (uint32_t i = 0; i < items; i++) {
        uint32_t k = wanted[i], good = k == dot || k == disk || k == square;
        if ((made[i] != 0) != good || (seen[i] & 0xffu) != (good ? k : 0))
            fail_msg("work-item %u wanted class %08x: reference %08x, class %u", i, k, made[i],
                     seen[i] & 0xffu);
    }
}

/* ---- Launches -------------------------------------------------------------------------------- */

static void expect_launches(uint32_t kernel, uint32_t launches) {
    memset(&calls, 0, sizeof calls);
    CHECK_OK(f, clump_heap_do_all(heap, kernels[kernel], NULL));
    if (calls.kernels != launches || calls.transfers || calls.waits)
        fail_msg("do-all of %s: %u launches, expected %u; %u transfers, %u waits",
                 kernel_names[kernel], calls.kernels, launches, calls.transfers, calls.waits);
}

static void test_launches(void **state) {
    (void)state;
    populate(heap);
    uint32_t mode = 0, rest = 0;
    clear_seen();
    SET_ARG(f, kernels[VISIT], 0, mode);
    SET_ARG(f, kernels[VISIT], 1, seen_buffer);
    SET_ARG(f, kernels[VISIT], 2, after_buffer);
    SET_ARG(f, kernels[PAIRS], 0, mode);
    SET_ARG(f, kernels[PAIRS], 1, seen_buffer);
    SET_ARG(f, kernels[DROP], 0, rest);
    expect_launches(VISIT, 3);
    expect_launches(VISIT, 1);
    expect_launches(VISIT, 1);
    clump_heap_touch(heap);
    expect_launches(VISIT, 3);
    expect_launches(DROP, 1);
    expect_launches(DROP, 3);
    expect_launches(PAIRS, 3);
    expect_launches(VISIT, 1);
    uint64_t count;
    CHECK_OK(f, clump_heap_read_count(heap, "Shape", &count));
    CHECK_HEAP(f, heap);
    expect_launches(VISIT, 1); /* looking into the heap leaves the list alone */
    make(heap, "Dot", 0, 1);
    expect_launches(VISIT, 3);
    memset(&calls, 0, sizeof calls);
    CHECK_OK(f, clump_heap_do_new(heap, kernels[MAKE], "Dot", 1, NULL, NULL));
    assert_true(calls.kernels <= 3 && !calls.transfers && !calls.waits);
    fetch_seen();
    assert_int_equal(seen[SHAPES - SHAPES % 3 - 1], 7);
}

/* Launches that make objects and go over none share lists; one that only frees needs none. */
static void test_windows(void **state) {
    (void)state;
    enum { ITEMS = 32, LAUNCHES = 80 };
    if (!(f->capabilities->features & CLUMP_FEATURE_INT64_ATOMICS)) skip();
    for (uint32_t rest = 0; rest < 3; rest++) {
        SET_ARG(f, kernels[DROP], 0, rest);
        CHECK_OK(f, clump_heap_do_all(heap, kernels[DROP], NULL));
    }
    uint32_t wanted[ITEMS];
    for (uint32_t i = 0; i < ITEMS; i++) wanted[i] = cl_fixture_class_id(heap, "Dot");
    cl_fixture_write(f, after_buffer, wanted, sizeof wanted);
    SET_ARG(f, kernels[MAKE_OF], 0, seen_buffer);
    SET_ARG(f, kernels[MAKE_OF], 1, after_buffer);
    SET_ARG(f, kernels[FREE_OF], 0, seen_buffer);
    memset(&calls, 0, sizeof calls);
    for (uint32_t i = 0; i < LAUNCHES; i++) {
        CHECK_OK(f, clump_heap_launch(heap, kernels[MAKE_OF], ITEMS, ITEMS, NULL));
        CHECK_CL(clFinish(f->queue)); /* so that how many launches a list covers is told */
    }
    const uint32_t lists = (calls.kernels - LAUNCHES) / 2;
    if (lists < 3 || lists > LAUNCHES / 8)
        fail_msg("%u lists for %d launches that make objects", lists, LAUNCHES);
    assert_int_equal(calls.waits, 0);
    uint64_t count;
    CHECK_OK(f, clump_heap_read_count(heap, "Shape", &count));
    assert_int_equal(count, ITEMS * LAUNCHES);
    CHECK_HEAP(f, heap);
    memset(&calls, 0, sizeof calls);
    CHECK_OK(f, clump_heap_launch(heap, kernels[FREE_OF], ITEMS, ITEMS, NULL));
    assert_int_equal(calls.kernels, 1);
    CHECK_OK(f, clump_heap_read_count(heap, "Shape", &count));
    assert_int_equal(count, ITEMS * (LAUNCHES - 1));
    expect_launches(SPAWN, 3); /* it goes over them */
    CHECK_OK(f, clump_heap_read_count(heap, "Shape", &count));
    assert_int_equal(count, 2 * ITEMS * (LAUNCHES - 1));
    CHECK_HEAP(f, heap);
}

/* Objects of the class a launch makes or frees, and how often each tag is there then. */
enum { LIVE_ITEMS = 96 };
static void change_some(uint32_t change, const char *name, uint32_t (*there)[SHAPES + 1]) {
    uint32_t wanted[LIVE_ITEMS];
    for (uint32_t i = 0; i < LIVE_ITEMS; i++) {
        wanted[i] = cl_fixture_class_id(heap, name);
        (*there)[i] += change == MAKE_OF ? 1u : -1u;
    }
    if (change == MAKE_OF) cl_fixture_write(f, after_buffer, wanted, sizeof wanted);
    CHECK_OK(f, clump_heap_launch(heap, kernels[change], LIVE_ITEMS, 32, NULL));
}

/* The same by a call of the host, which takes what is reserved if there is a list. */
static const clump_struct_field tag_field[] = {{"tag", 0}};
static clump_struct_desc tag_desc(const char *name) {
    return (clump_struct_desc){sizeof(clump_struct_desc), name, sizeof(uint32_t), 1, tag_field};
}
static void make_some(const char *name, uint32_t (*there)[SHAPES + 1], cl_mem refs) {
    const clump_struct_desc desc = tag_desc(name);
    uint32_t tags[LIVE_ITEMS];
    clump_ref found[LIVE_ITEMS];
    uint64_t made;
    for (uint32_t i = 0; i < LIVE_ITEMS; i++) (*there)[tags[i] = i]++;
    CHECK_OK(f, clump_heap_new_structs(heap, &desc, tags, LIVE_ITEMS, found, &made));
    assert_int_equal(made, LIVE_ITEMS);
    cl_fixture_write(f, refs, found, sizeof found);
}

/* A do-all over each class, and how many launches these are. */
static uint32_t visit_classes(uint32_t (*there)[SHAPES + 1]) {
    uint32_t launches = 0;
    for (uint32_t mode = 0; mode < 4; mode++) {
        memset(&calls, 0, sizeof calls);
        visit(mode);
        launches += calls.kernels;
        for (uint32_t i = 0; i < SHAPES; i++) {
            uint32_t n = mode == 1   ? there[1][i] + there[2][i]
                         : mode == 0 ? there[1][i] + there[2][i] + there[3][i]
                                     : there[mode][i];
            if (seen[i] != n) fail_msg("loop %u saw tag %u %u times, not %u", mode, i, seen[i], n);
        }
    }
    return launches;
}

static uint32_t header_word(size_t member) {
    uint32_t word;
    CHECK_CL(clEnqueueReadBuffer(f->queue, clump_heap_get_info(heap)->buffer, CL_TRUE,
                                 clumpi_header_offset(heap, member), sizeof word, &word, 0, NULL,
                                 NULL));
    return word;
}

/* On GPUs, up to four do-alls after a launch that changes objects go over rows as they are now, with
 * no list: rows of the list, those reserved behind it, and all if that is not enough. */
static void test_live(void **state) {
    (void)state;
    static const char *const names[] = {NULL, "Dot", "Disk", "Square"};
    static uint32_t there[4][SHAPES + 1];
    const int is_gpu = f->capabilities->personality == CLUMP_PERSONALITY_GPU &&
                       f->capabilities->features & CLUMP_FEATURE_INT64_ATOMICS;
    uint32_t live = 0, beyond = 0;
    cl_mem refs = cl_fixture_buffer(f, NULL, LIVE_ITEMS * sizeof(uint32_t));
    SET_ARG(f, kernels[MAKE_OF], 0, refs);
    SET_ARG(f, kernels[MAKE_OF], 1, after_buffer);
    SET_ARG(f, kernels[FREE_OF], 0, refs);
    memset(there, 0, sizeof there);
    populate(heap);
    for (uint32_t i = 0; i < SHAPES; i++) there[i < DOTS ? 1 : i < DOTS + DISKS ? 2 : 3][i] = 1;
    /* Of each class as often in turn that a block of it begins and, when they are freed, ends, so
     * that another class gets it. */
    for (uint32_t round = 0; round < 24; round++) {
        const uint32_t c = 1 + round / 4 % 3;
        change_some(MAKE_OF, names[c], &there[c]);
        uint32_t launches = visit_classes(there);
        beyond += launches == 4 && header_word(offsetof(clumpi_header, list_beyond));
        live += launches == 4;
        change_some(FREE_OF, names[c], &there[c]);
        if (round % 2 == 0) continue;
        visit_classes(there);
        make_some(names[c], &there[c], refs);
        (void)visit_classes(there);
        CHECK_HEAP(f, heap);
        change_some(FREE_OF, names[c], &there[c]);
        live += visit_classes(there) == 4;
    }
    if (is_gpu ? live < 30 || !beyond || beyond == 24 : live > 0)
        fail_msg("%u of 48 rounds needed no list, and %u of them looked at all rows", live, beyond);
    change_some(MAKE_OF, "Dot", &there[1]);
    if (is_gpu) assert_int_equal(visit_classes(there), 4);
    expect_launches(VISIT, 3); /* the fifth makes a list */
    expect_launches(VISIT, 1);
    change_some(FREE_OF, "Dot", &there[1]);
    uint32_t lonely = 0, sum = 0;
    SET_ARG(f, kernels[SUM], 0, lonely);
    memset(&calls, 0, sizeof calls);
    CHECK_OK(f, clump_heap_reduce(heap, kernels[SUM], sizeof sum, &sum, NULL));
    assert_true(calls.kernels >= 3); /* of floats it would depend on the order of the rows */
    assert_int_equal(sum, SHAPES * (SHAPES - 1) / 2);
    /* If a list is made all the same each time, do-alls are soon as they were. */
    uint32_t last = 0;
    for (uint32_t round = 0; round < 6; round++) {
        change_some(round % 2 ? FREE_OF : MAKE_OF, "Dot", &there[1]);
        last = visit_classes(there);
        CHECK_OK(f, clump_heap_reduce(heap, kernels[SUM], sizeof sum, &sum, NULL));
    }
    assert_int_equal(last, 6);
    CHECK_HEAP(f, heap);
    clReleaseMemObject(refs);
}

enum { FEW = 20, MANY = 60, FEW_LINE = 128 };

/* How many lines of a heap differ from an image of it. */
static uint64_t changed_lines(clump_heap *where, const unsigned char *before) {
    const uint64_t bytes = clump_heap_get_info(where)->bytes;
    unsigned char *now = malloc(bytes);
    uint64_t lines = 0;
    assert_non_null(now);
    cl_fixture_heap_read(where, now);
    for (uint64_t at = 0; at < bytes; at += FEW_LINE)
        lines += memcmp(before + at, now + at, FEW_LINE) != 0;
    free(now);
    return lines;
}

/* One call makes FEW objects of what is reserved. Returns its launches. */
static uint32_t expect_few(clump_heap *where, const clump_extract *extract, clump_ref *refs) {
    const clump_struct_desc desc = tag_desc("Dot");
    uint32_t tags[FEW];
    uint64_t made = FEW, before, now;
    for (uint32_t i = 0; i < FEW; i++) tags[i] = i;
    unsigned char *image = malloc(clump_heap_get_info(where)->bytes);
    assert_non_null(image);
    visit_in(where, 0); /* so that there is a list */
    CHECK_OK(f, clump_heap_read_count(where, "Dot", &before));
    cl_fixture_heap_read(where, image);
    memset(&calls, 0, sizeof calls);
    if (extract)
        CHECK_OK(f, clump_heap_insert(
                        where, extract,
                        &(clump_insert_desc){.size = sizeof(clump_insert_desc), .refs = refs}));
    else
        CHECK_OK(f, clump_heap_new_structs(where, &desc, tags, FEW, refs, &made));
    const uint32_t launches = calls.kernels, whole = calls.whole;
    const uint64_t lines = changed_lines(where, image);
    free(image);
    if (made != FEW || whole || lines > 16 * FEW)
        fail_msg("%s: %u objects made, %u launches over the whole heap, %u lines changed",
                 extract ? "insert" : "new_structs", (uint32_t)made, whole, (uint32_t)lines);
    CHECK_OK(f, clump_heap_read_count(where, "Dot", &now));
    assert_int_equal(now, before + FEW);
    CHECK_HEAP(f, where);
    return launches;
}

/* Launches of what makes few objects in a heap so many times as large; their references, each
 * time. */
static void few_in(uint32_t times, uint32_t launches[2], clump_ref refs[3][FEW]) {
    clump_ref first[FEW];
    clump_extract *extract;
    uint32_t rest = 1;
    clump_heap *where = cl_fixture_heap(f, schema, (uint64_t)times * HEAP_BYTES, 3);
    for (uint32_t i = 0; i < 10 * times; i++) make(where, "Dot", 0, DOTS);
    SET_ARG(f, kernels[DROP], 0, rest);
    CHECK_OK(f, clump_heap_do_all(where, kernels[DROP], NULL));
    visit_in(where, 0);
    const clump_struct_desc desc = tag_desc("Dot");
    uint32_t tags[FEW] = {0};
    CHECK_OK(f, clump_heap_new_structs(where, &desc, tags, FEW, first, NULL)); /* the demand */
    const clump_extract_desc some = {.size = sizeof some, .refs = first, .ref_count = FEW};
    CHECK_OK(f, clump_heap_extract(where, &some, &extract, NULL));
    launches[0] = expect_few(where, NULL, refs[0]);
    launches[1] = expect_few(where, extract, refs[1]);
    clump_extract_destroy(extract);
    /* What is reserved is not enough for all of these. */
    uint64_t before, now;
    CHECK_OK(f, clump_heap_read_count(where, "Dot", &before));
    memset(&calls, 0, sizeof calls);
    for (uint32_t i = 0; i < MANY; i++)
        CHECK_OK(f, clump_heap_new_structs(where, &desc, tags, FEW, refs[2], NULL));
    if (calls.whole < 2 || calls.whole > MANY / 4)
        fail_msg("%u launches over the whole heap in %d calls", calls.whole, MANY);
    CHECK_OK(f, clump_heap_read_count(where, "Dot", &now));
    assert_int_equal(now, before + MANY * FEW);
    CHECK_HEAP(f, where);
    clump_heap_destroy(where);
}

/* Few objects that the host makes cost the same in each heap, and the same heap has them at the
 * same places. */
static void test_few(void **state) {
    (void)state;
    uint32_t small[2], again[2], large[2];
    static clump_ref refs[3][3][FEW];
    if (!(f->capabilities->features & CLUMP_FEATURE_INT64_ATOMICS)) skip();
    few_in(1, small, refs[0]);
    few_in(1, again, refs[1]);
    few_in(8, large, refs[2]);
    assert_memory_equal(refs[0], refs[1], sizeof refs[0]);
    assert_memory_equal(small, large, sizeof small);
}

/* One work-item has all rows on CPUs, where loops begin several at a time; on GPUs it has none. */
static void test_one_work_item(void **state) {
    (void)state;
    uint32_t sum = 0;
    populate(heap);
    SET_ARG(f, kernels[VISIT], 1, seen_buffer);
    SET_ARG(f, kernels[VISIT], 2, after_buffer);
    for (uint32_t mode = 0; mode < 8; mode++) {
        if (mode >= 1 && mode <= 4) continue; /* test_few_teams */
        SET_ARG(f, kernels[VISIT], 0, mode);
        clear_seen();
        CHECK_OK(f, clump_heap_launch(heap, kernels[VISIT], 1, 1, NULL));
        fetch_seen();
        if (mode == 0) sum = seen[0];
        assert_in_range(sum, 0, 1);
        if (mode < 6) {
            expect_seen(0, SHAPES, mode == 5 ? 2 : 1, sum);
            continue;
        }
        uint32_t visited = 0; /* break and return: one object */
        for (uint32_t i = 0; i < SHAPES; i++) visited += seen[i];
        assert_int_equal(visited, sum);
        assert_int_equal(after, mode == 6 ? 1 : 1 - sum);
    }
}

/* With fewer teams of 64 work-items than there are rows, so that each takes several; and with about
 * as many, where the team that takes the first row of a class is not the first. */
static void test_few_teams(void **state) {
    (void)state;
    static const uint32_t first[] = {0, 0, DOTS, DOTS + DISKS};
    static const uint32_t end[] = {SHAPES, DOTS + DISKS, DOTS + DISKS, SHAPES};
    populate(heap);
    SET_ARG(f, kernels[VISIT], 1, seen_buffer);
    SET_ARG(f, kernels[VISIT], 2, after_buffer);
    for (uint32_t mode = 0; mode < 4; mode++) {
        SET_ARG(f, kernels[VISIT], 0, mode);
        for (size_t teams = 1; teams <= 10; teams++) {
            clear_seen();
            CHECK_OK(f, clump_heap_launch(heap, kernels[VISIT], teams * 64, 64, NULL));
            fetch_seen();
            expect_seen(first[mode], end[mode], 1, 1);
            assert_int_equal(after, teams * 64);
            clear_seen(); /* half a team more, which takes nothing */
            CHECK_OK(f, clump_heap_launch(heap, kernels[VISIT], teams * 64 + 32, 32, NULL));
            fetch_seen();
            expect_seen(first[mode], end[mode], 1, 1);
        }
    }
}

/* ---- Reductions ------------------------------------------------------------------------------ */

static void test_reductions(void **state) {
    (void)state;
    populate(heap);
    uint32_t lonely = 0, sum = 1, n = SHAPES;
    for (int again = 0; again < 2; again++) {
        lonely = 0;
        SET_ARG(f, kernels[SUM], 0, lonely);
        CHECK_OK(f, clump_heap_reduce(heap, kernels[SUM], sizeof sum, &sum, NULL));
        assert_int_equal(sum, n * (n - 1) / 2);
        lonely = 1;
        SET_ARG(f, kernels[SUM], 0, lonely);
        CHECK_OK(f, clump_heap_reduce(heap, kernels[SUM], sizeof sum, &sum, NULL));
        assert_int_equal(sum, 0);
        cl_float4 four;
        CHECK_OK(f, clump_heap_reduce(heap, kernels[SUM4], sizeof four, &four, NULL));
        uint32_t dots = DOTS + DISKS, tags = dots * (dots - 1) / 2;
        assert_true(four.s[0] == dots && four.s[1] == tags * 0.5f && four.s[2] == 2 * dots &&
                    four.s[3] == tags);
        int32_t least;
        CHECK_OK(f, clump_heap_reduce(heap, kernels[LEAST], sizeof least, &least, NULL));
        assert_int_equal(least, 5 - (int)(dots - 1));
        uint64_t most;
        CHECK_OK(f, clump_heap_reduce(heap, kernels[MOST], sizeof most, &most, NULL));
        assert_true(most == (uint64_t)(SHAPES - 1) << 33);
        uint32_t span[4], all = 0;
        for (uint32_t i = 0; i < n; i++) all ^= i;
        CHECK_OK(f, clump_heap_reduce(heap, kernels[SPANS], sizeof span, span, NULL));
        assert_true(span[0] == n && span[1] == 0 && span[2] == n - 1 && span[3] == all);
    }
    /* Groups of kernels that may change the heap are smaller, and not more than have room. */
    clump_device_report report = {.size = sizeof report};
    CHECK_OK(f, clump_heap_do_all(heap, kernels[SUM_CHANGING], NULL));
    CHECK_OK(f, clump_heap_take_errors(heap, &report));
    CHECK_OK(f, clump_heap_reduce(heap, kernels[SUM_CHANGING], sizeof sum, &sum, NULL));
    assert_int_equal(sum, n);
    /* By odd numbers of work-groups, too. */
    clumpi_launch_sizes before = f->clump->sizes;
    lonely = 0;
    SET_ARG(f, kernels[SUM], 0, lonely);
    for (size_t groups = 1; groups <= 7; groups++) {
        f->clump->sizes.do_all_global = groups * before.do_all_local;
        CHECK_OK(f, clump_heap_reduce(heap, kernels[SUM], sizeof sum, &sum, NULL));
        assert_int_equal(sum, n * (n - 1) / 2);
    }
    f->clump->sizes = before;
    CHECK_STATUS(f, clump_heap_reduce(heap, kernels[SUM], 0, &sum, NULL), CLUMP_ERR_USAGE);
    CHECK_STATUS(f, clump_heap_reduce(heap, kernels[SUM], 4, NULL, NULL), CLUMP_ERR_USAGE);
    CHECK_STATUS(f, clump_heap_reduce(heap, kernels[SUM], 129, &sum, NULL), CLUMP_ERR_USAGE);
}

/* ---- Fields ---------------------------------------------------------------------------------- */

static void write_disks(const uint32_t *tags) {
    cl_float4 colour[DISKS], at[DISKS];
    uint16_t marks[DISKS];
    int16_t sizes[DISKS];
    uint8_t kind[DISKS];
    for (uint32_t i = 0; i < DISKS; i++) {
        float t = (float)tags[i];
        colour[i] = (cl_float4){{t, t + 1, t + 2, t + 3}};
        at[i] = (cl_float4){{t, -t, t * 2, 0}};
        marks[i] = (uint16_t)(tags[i] % 500);
        sizes[i] = (int16_t) - (int)(tags[i] % 100);
        kind[i] = (uint8_t)tags[i];
    }
    CHECK_OK(f, clump_heap_write_field(heap, "Disk", "colour", 0, sizeof *colour, colour, DISKS));
    CHECK_OK(f, clump_heap_write_field(heap, "Disk", "at", 1, sizeof *at, at, DISKS));
    CHECK_OK(f, clump_heap_write_field(heap, "Disk", "marks", 2, sizeof *marks, marks, DISKS));
    CHECK_OK(f, clump_heap_write_field(heap, "Disk", "sizes", 1, sizeof *sizes, sizes, DISKS));
    CHECK_OK(f, clump_heap_write_field(heap, "Disk", "kind", 0, sizeof *kind, kind, DISKS));
}

#define RESERVED 4000u

/* Slots that were reserved for disks when a list was made. */
static uint64_t reserved_disks(void) {
    clump_class_stats classes[16] = {{.size = sizeof(clump_class_stats)}};
    clump_class_info info;
    uint32_t wrong = 0;
    info = *clump_schema_find_class(clump_heap_get_info(heap)->schema, "Disk");
    cl_fixture_write(f, after_buffer, &wrong, sizeof wrong);
    SET_ARG(f, kernels[FIELDS], 0, after_buffer);
    CHECK_OK(f, clump_heap_do_all(heap, kernels[FIELDS], NULL));
    CHECK_OK(f, clump_heap_read_stats(heap, NULL, classes, 16));
    return classes[info.id - 1].reserved;
}

/* Of floating types: NaN counts for nothing and -0 is less than +0, whatever the device's own
 * functions say. `bits` are a value's. */
#define TEST_EXTREMES(type, word, nan, infinity)                                                   \
    static void test_extremes_##type(void **state) {                                               \
        const type x[8] = {nan, -infinity, -1, -0.0f, 0, 1, 2, infinity};                          \
        type out[128], only = 0;                                                                   \
        uint32_t which = 5;                                                                        \
        (void)state;                                                                               \
        if (sizeof(type) == 8 && !(f->capabilities->features & CLUMP_FEATURE_FP64)) skip();        \
        clump_kernel *k = cl_fixture_kernel(f, program, "extremes_" #type);                        \
        cl_mem in = cl_fixture_buffer(f, x, sizeof x),                                             \
               to = cl_fixture_buffer(f, NULL, sizeof out);                                        \
        SET_ARG(f, k, 0, in);                                                                      \
        SET_ARG(f, k, 1, to);                                                                      \
        SET_ARG(f, k, 2, which);                                                                   \
        CHECK_OK(f, clump_heap_reduce(heap, k, sizeof only, &only, NULL));                         \
        assert_true(only == 2);                                                                    \
        cl_fixture_read(f, to, out, sizeof out);                                                   \
        for (int i = 0; i < 64; i++) {                                                             \
            /* x is in order, but for the NaN. */                                                  \
            int a = i / 8, b = i % 8, low = a < b ? a : b, high = a < b ? b : a;                   \
            if (!low) low = high;                                                                  \
            word found[2], expected[2];                                                            \
            memcpy(&found[0], &out[i], sizeof(type));                                              \
            memcpy(&found[1], &out[64 + i], sizeof(type));                                         \
            memcpy(&expected[0], &x[low], sizeof(type));                                           \
            memcpy(&expected[1], &x[high], sizeof(type));                                          \
            for (int m = 0; m < 2; m++) {                                                          \
                if (high == 0 ? out[64 * m + i] != out[64 * m + i] : found[m] == expected[m])      \
                    continue;                                                                      \
                fail_msg("CLUMP_M%s(%g, %g) is %g", m ? "AX" : "IN", (double)x[a], (double)x[b],   \
                         (double)out[64 * m + i]);                                                 \
            }                                                                                      \
        }                                                                                          \
        CHECK_CL(clReleaseMemObject(in));                                                          \
        CHECK_CL(clReleaseMemObject(to));                                                          \
        clump_kernel_destroy(k);                                                                   \
    }
TEST_EXTREMES(float, uint32_t, NAN, INFINITY)
TEST_EXTREMES(double, uint64_t, NAN, INFINITY)

static void test_reserve(void **state) {
    (void)state;
    if (!(f->capabilities->features & CLUMP_FEATURE_INT64_ATOMICS)) skip();
    populate(heap);
    CHECK_OK(f, clump_heap_reserve(heap, "Disk", 0, NULL));
    uint64_t before = reserved_disks();
    assert_true(before < RESERVED);
    memset(&calls, 0, sizeof calls);
    CHECK_OK(f, clump_heap_reserve(heap, "Disk", RESERVED, NULL));
    assert_true(calls.transfers == 1 && !calls.waits);
    uint64_t reserved = reserved_disks();
    assert_true(reserved >= RESERVED && reserved < 4 * RESERVED);
    clump_class_stats classes[16] = {{.size = sizeof(clump_class_stats)}};
    CHECK_OK(f, clump_heap_read_stats(heap, NULL, classes, 16)); /* the call before left them */
    uint64_t again = 0;
    for (int i = 0; i < 16; i++) again = classes[i].reserved > again ? classes[i].reserved : again;
    assert_int_equal(again, reserved);
    CHECK_OK(f, clump_heap_check(heap));
    CHECK_STATUS(f, clump_heap_reserve(heap, "Disc", 1, NULL), CLUMP_ERR_NOT_FOUND);
    CHECK_STATUS(f, clump_heap_reserve(heap, NULL, 1, NULL), CLUMP_ERR_NOT_FOUND);
    CHECK_STATUS(f, clump_heap_reserve(heap, "Shape", 1, NULL), CLUMP_ERR_USAGE);
    CHECK_STATUS(f, clump_heap_reserve(heap, "Disk", (UINT64_C(1) << 31) + 1, NULL),
                 CLUMP_ERR_USAGE);
    assert_int_equal(clump_heap_reserve(NULL, "Disk", 1, NULL), CLUMP_ERR_USAGE);
    CHECK_OK(f, clump_heap_reserve(heap, "Disk", 0, NULL));
}

static void test_fields(void **state) {
    (void)state;
    populate(heap);
    uint32_t tags[DISKS], refs[DISKS], wrong = 0;
    uint64_t count;
    CHECK_OK(f, clump_heap_read_field(heap, "Disk", "tag", 0, sizeof *tags, tags, DISKS, NULL));
    CHECK_OK(f, clump_heap_read_refs(heap, "Disk", refs, DISKS, &count));
    assert_int_equal(count, DISKS);
    write_disks(tags);
    cl_fixture_write(f, after_buffer, &wrong, sizeof wrong);
    SET_ARG(f, kernels[FIELDS], 0, after_buffer);
    CHECK_OK(f, clump_heap_do_all(heap, kernels[FIELDS], NULL));
    cl_fixture_read(f, after_buffer, &wrong, sizeof wrong);
    assert_int_equal(wrong, 0);
    /* The same order for enumerating, for reading all, and for reading one by one. */
    cl_float4 at[DISKS], colour;
    int16_t sizes[DISKS], size;
    uint16_t mark;
    uint8_t kind;
    CHECK_OK(f, clump_heap_read_field(heap, "Disk", "at", 0, sizeof *at, at, DISKS, NULL));
    CHECK_OK(f, clump_heap_read_field(heap, "Disk", "sizes", 0, sizeof *sizes, sizes, DISKS, NULL));
    for (uint32_t i = 0; i < DISKS; i += 7) {
        uint32_t tag;
        float t = (float)tags[i];
        CHECK_OK(f,
                 clump_heap_read_object_field(heap, "Shape", "tag", 0, refs[i], sizeof(tag), &tag));
        assert_int_equal(tag, tags[i]);
        assert_true(at[i].s[0] == t && at[i].s[1] == -t && at[i].s[2] == 2 * t);
        CHECK_OK(f, clump_heap_read_object_field(heap, "Disk", "colour", 0, refs[i], sizeof(colour),
                                                 &colour));
        assert_true(colour.s[0] == 2 * t && colour.s[3] == 2 * (t + 3));
        CHECK_OK(
            f, clump_heap_read_object_field(heap, "Dot", "marks", 0, refs[i], sizeof(mark), &mark));
        assert_int_equal(mark, tag + 1);
        CHECK_OK(f, clump_heap_read_object_field(heap, "Disk", "sizes", 0, refs[i], sizeof(size),
                                                 &size));
        assert_true(size == (int16_t)(tag - 7) && size == sizes[i]);
        CHECK_OK(
            f, clump_heap_read_object_field(heap, "Disk", "kind", 0, refs[i], sizeof(kind), &kind));
        assert_int_equal(kind, (uint8_t)(tag + 1));
        mark = (uint16_t)i;
        CHECK_OK(f, clump_heap_write_object_field(heap, "Dot", "marks", 1, refs[i], sizeof(mark),
                                                  &mark));
    }
    uint16_t marks[DISKS];
    CHECK_OK(f, clump_heap_read_field(heap, "Disk", "marks", 1, sizeof *marks, marks, DISKS, NULL));
    for (uint32_t i = 0; i < DISKS; i += 7) assert_int_equal(marks[i], i);
    clump_ref again[DISKS];
    CHECK_OK(f, clump_heap_read_refs(heap, "Disk", again, DISKS, &count));
    assert_int_equal(count, DISKS);
    assert_memory_equal(again, refs, sizeof again);
}

/* Fields to a buffer and back on the device: as the host reads them, no byte beside them, and no
 * more than asked for. */
static void copy_field(const char *name, uint32_t index, size_t bytes, uint32_t most) {
    enum { WIDEST = 16, AT = 3 };
    static uint8_t plain[SHAPES * WIDEST], copied[(SHAPES + 2 * AT) * WIDEST],
        wanted[sizeof copied];
    uint64_t there;
    CHECK_OK(f, clump_heap_read_count(heap, "Dot", &there));
    const size_t count = most < there ? most : (size_t)there;
    memset(copied, 7, sizeof copied);
    memset(wanted, 7, sizeof wanted);
    cl_mem buffer = cl_fixture_buffer(f, copied, sizeof copied);
    CHECK_OK(f, clump_heap_read_field(heap, "Dot", name, index, bytes, plain, SHAPES, NULL));
    memcpy(wanted + AT * bytes, plain, count * bytes);
    cl_event done;
    CHECK_OK(f, clump_heap_copy_field(heap, "Dot", name, index, CLUMP_COPY_TO_BUFFER, buffer,
                                      AT * bytes, most, &(clump_sync){.event = &done}));
    CHECK_CL(clWaitForEvents(1, &done));
    clReleaseEvent(done);
    cl_fixture_read(f, buffer, copied, sizeof copied);
    assert_memory_equal(copied, wanted, sizeof copied);
    /* Back, the first of them with other values. */
    for (size_t i = 0; i < count * bytes; i++) copied[AT * bytes + i] ^= 0x11;
    cl_fixture_write(f, buffer, copied, sizeof copied);
    CHECK_OK(f, clump_heap_copy_field(heap, "Dot", name, index, CLUMP_COPY_FROM_BUFFER, buffer,
                                      AT * bytes, most, NULL));
    for (size_t i = 0; i < count * bytes; i++) plain[i] ^= 0x11;
    CHECK_OK(f, clump_heap_read_field(heap, "Dot", name, index, bytes, wanted, SHAPES, NULL));
    assert_memory_equal(wanted, plain, (size_t)there * bytes);
    clReleaseMemObject(buffer);
}

static void test_copied_fields(void **state) {
    (void)state;
    populate(heap);
    const uint32_t rest = 1;
    SET_ARG(f, kernels[DROP], 0, rest);
    CHECK_OK(f, clump_heap_do_all(heap, kernels[DROP], NULL)); /* rows with gaps */
    static const uint32_t most[] = {0, 1, 63, 64, 65, 100, SHAPES};
    for (size_t i = 0; i < sizeof most / sizeof *most; i++) {
        copy_field("tag", 0, 4, most[i]);
        copy_field("marks", 1, 2, most[i]);
        copy_field("at", 0, 16, most[i]);
    }
    cl_mem small = cl_fixture_buffer(f, NULL, 64);
    CHECK_STATUS(
        f, clump_heap_copy_field(heap, "Dot", "tag", 0, CLUMP_COPY_TO_BUFFER, small, 4, 16, NULL),
        CLUMP_ERR_TOO_SMALL);
    CHECK_STATUS(
        f, clump_heap_copy_field(heap, "Dot", "tag", 0, CLUMP_COPY_TO_BUFFER, small, 2, 1, NULL),
        CLUMP_ERR_USAGE);
    CHECK_STATUS(
        f, clump_heap_copy_field(heap, "Dot", "tag", 0, CLUMP_COPY_TO_BUFFER, NULL, 0, 1, NULL),
        CLUMP_ERR_CL);
    CHECK_STATUS(
        f, clump_heap_copy_field(heap, "Dot", "none", 0, CLUMP_COPY_TO_BUFFER, small, 0, 1, NULL),
        CLUMP_ERR_NOT_FOUND);
    CHECK_STATUS(
        f, clump_heap_copy_field(heap, "Dot", "tag", 0, (clump_copy_direction)2, small, 0, 1, NULL),
        CLUMP_ERR_USAGE);
    assert_int_equal(
        clump_heap_copy_field(NULL, "Dot", "tag", 0, CLUMP_COPY_TO_BUFFER, small, 0, 1, NULL),
        CLUMP_ERR_USAGE);
    clReleaseMemObject(small);
    /* As many as there is room for, and a heap for as many as are wanted. */
    const uint64_t room = cl_fixture_free_slots(f, heap, "Square");
    uint64_t made;
    CHECK_OK(f, clump_heap_do_new(heap, kernels[MAKE], "Square", room, &made, NULL));
    assert_int_equal(made, room);
    assert_int_equal(cl_fixture_free_slots(f, heap, "Square"), 0);
    assert_int_equal(cl_fixture_free_slots(f, heap, "Shape"), 0); /* abstract */
    const clump_schema *classes = clump_heap_get_info(heap)->schema;
    clump_heap_desc desc = {.size = sizeof desc, .context = f->clump, .schema = classes};
    uint64_t objects[8];
    assert_true(clump_schema_get_info(classes)->class_count <= 8);
    for (uint32_t id = 1; id <= clump_schema_get_info(classes)->class_count; id++) {
        const clump_class_info *info = clump_schema_get_info(classes)->classes[id];
        objects[id - 1] = info->is_abstract ? 0 : 1000 * id + 1;
    }
    /* None of an abstract class; and no number is so large that it looks like a small one. */
    uint64_t bytes = 1, impossible[8];
    for (uint32_t id = 1; id <= clump_schema_get_info(classes)->class_count; id++) {
        const int is_abstract = clump_schema_get_info(classes)->classes[id]->is_abstract;
        memcpy(impossible, objects, sizeof impossible);
        impossible[id - 1] = is_abstract ? 1 : UINT64_MAX;
        CHECK_STATUS(f, clump_heap_get_bytes_needed(&desc, impossible, &bytes, NULL),
                     is_abstract ? CLUMP_ERR_USAGE : CLUMP_ERR_DEVICE_MEMORY);
        assert_int_equal(bytes, 0);
    }
    CHECK_OK(f, clump_heap_get_bytes_needed(&desc, objects, &desc.bytes, NULL));
    clump_heap *exact;
    CHECK_OK(f, clump_heap_create(&desc, &exact, NULL));
    for (uint32_t id = 1; id <= clump_schema_get_info(classes)->class_count; id++) {
        const clump_class_info *info = clump_schema_get_info(classes)->classes[id];
        if (info->is_abstract) continue;
        static const uint8_t structs[10000];
        const clump_struct_desc none = {sizeof none, info->name, 1, 0, NULL};
        CHECK_OK(f, clump_heap_new_structs(exact, &none, structs, objects[id - 1], NULL, &made));
        assert_int_equal(made, objects[id - 1]);
    }
    clump_heap_destroy(exact);
    /* The largest heaps that references can name, for what no test has the memory. */
    static const struct {
        const char *text;
        uint64_t objects, least;
    } huge[] = {{"class A { uint x[4]; }", 4150000000, UINT64_C(63) << 30},
                {"class A { uint x[5]; }", 4170000000, UINT64_C(79) << 30},
                {"class A { uint x[9]; }", 4200000000, UINT64_C(142) << 30}};
    for (size_t i = 0; i < sizeof huge / sizeof *huge; i++) {
        clump_schema *one = NULL;
        clump_heap_desc big = {.size = sizeof big, .context = f->clump};
        const uint64_t more = huge[i].objects + huge[i].objects / 50;
        CHECK_OK(f, clump_schema_parse(huge[i].text, strlen(huge[i].text), NULL, &one, NULL));
        big.schema = one;
        CHECK_OK(f, clump_heap_get_bytes_needed(&big, &huge[i].objects, &bytes, NULL));
        assert_true(bytes > huge[i].least && bytes < huge[i].least / 100 * 102);
        CHECK_STATUS(f, clump_heap_get_bytes_needed(&big, &more, &bytes, NULL),
                     CLUMP_ERR_DEVICE_MEMORY);
        clump_schema_destroy(one);
    }
}

static void test_bad_fields(void **state) {
    (void)state;
    populate(heap);
    uint32_t refs[DOTS + DISKS], squares[SQUARES], tag = 77, values[SHAPES];
    uint64_t count;
    CHECK_OK(f, clump_heap_read_refs(heap, "Square", squares, SQUARES, &count));
    CHECK_OK(f, clump_heap_read_refs(heap, "Dot", refs, DOTS + DISKS, &count));
    assert_int_equal(count, DOTS + DISKS);
    uint32_t bad[] = {0, 1, 64, UINT32_MAX, squares[0], refs[0] + 64, refs[0] ^ 0x40000000u};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        if (i == 5 && clump_heap_read_object_field(heap, "Dot", "tag", 0, bad[i], sizeof(tag),
                                                   &tag) == CLUMP_OK)
            continue; /* the next row may begin there */
        CHECK_STATUS(f,
                     clump_heap_read_object_field(heap, "Dot", "tag", 0, bad[i], sizeof(tag), &tag),
                     CLUMP_ERR_REFERENCE);
        CHECK_STATUS(
            f, clump_heap_write_object_field(heap, "Dot", "tag", 0, bad[i], sizeof(tag), &tag),
            CLUMP_ERR_REFERENCE);
    }
    CHECK_OK(f,
             clump_heap_read_object_field(heap, "Shape", "tag", 0, squares[0], sizeof(tag), &tag));
    CHECK_STATUS(f,
                 clump_heap_read_object_field(heap, "Dot", "side", 0, refs[0], sizeof(tag), &tag),
                 CLUMP_ERR_NOT_FOUND);
    CHECK_STATUS(f, clump_heap_read_object_field(heap, "Dat", "tag", 0, refs[0], sizeof(tag), &tag),
                 CLUMP_ERR_NOT_FOUND);
    CHECK_STATUS(f, clump_heap_read_object_field(heap, "Dot", "tag", 1, refs[0], sizeof(tag), &tag),
                 CLUMP_ERR_USAGE);
    CHECK_STATUS(
        f, clump_heap_read_field(heap, "Shape", "tag", 0, sizeof *values, values, SHAPES - 1, NULL),
        CLUMP_ERR_TOO_SMALL);
    CHECK_STATUS(
        f, clump_heap_write_field(heap, "Shape", "tag", 0, sizeof *values, values, SHAPES - 1),
        CLUMP_ERR_USAGE);
    CHECK_STATUS(f,
                 clump_heap_read_field(heap, "Dot", "at", 2, sizeof(float), values, SHAPES, NULL),
                 CLUMP_ERR_USAGE);
    CHECK_STATUS(f,
                 clump_heap_read_field(heap, "Dot", "y", 0, sizeof *values, values, SHAPES, NULL),
                 CLUMP_ERR_NOT_FOUND);
    CHECK_STATUS(f, clump_heap_read_refs(heap, "None", NULL, 0, &count), CLUMP_ERR_NOT_FOUND);
    CHECK_STATUS(f, clump_heap_read_count(heap, "None", &count), CLUMP_ERR_NOT_FOUND);
    clump_class_stats few[2] = {{.size = sizeof *few}};
    CHECK_STATUS(f, clump_heap_read_stats(heap, NULL, few, 2), CLUMP_ERR_TOO_SMALL);
    /* A freed one is none any more. */
    CHECK_OK(f, clump_heap_read_object_field(heap, "Dot", "tag", 0, refs[1], sizeof(tag), &tag));
    uint32_t rest = tag % 3;
    SET_ARG(f, kernels[DROP], 0, rest);
    CHECK_OK(f, clump_heap_do_all(heap, kernels[DROP], NULL));
    CHECK_STATUS(f, clump_heap_read_object_field(heap, "Dot", "tag", 0, refs[1], sizeof(tag), &tag),
                 CLUMP_ERR_REFERENCE);
    CHECK_HEAP(f, heap);
}

/* ---- Two heaps, refusals --------------------------------------------------------------------- */

static void test_two_heaps(void **state) {
    (void)state;
    clump_heap *second = cl_fixture_heap(f, schema, HEAP_BYTES * 2, 3);
    populate(heap);
    populate(second);
    uint32_t rest = 1;
    SET_ARG(f, kernels[DROP], 0, rest);
    CHECK_OK(f, clump_heap_do_all(second, kernels[DROP], NULL));
    visit_in(heap, 0);
    expect_seen(0, SHAPES, 1, 1);
    visit_in(second, 0);
    for (uint32_t i = 0; i < SHAPES; i++) assert_int_equal(seen[i], i % 3 != 1);
    visit_in(heap, 1);
    expect_seen(0, DOTS + DISKS, 1, 1);
    CHECK_HEAP(f, second);
    clump_heap_destroy(second);
    /* Other layouts: a wider block, another field, another name, fewer classes. */
    static const struct {
        const char *text;
        uint32_t rows;
    } others[] = {
        {schema, 60},
        {"abstract class Shape { uint tag; ref Shape next; }\n"
         "class Dot : Shape { float x; float3 at[2]; ushort marks[3]; }\n"
         "aos class Disk : Dot { float4 colour; uchar kind; short sizes[2]; }\n"
         "class Square : Shape { uint side; } class Lonely { uint tag; }",
         3},
        {"abstract class Shape { uint tag; ref Shape next; }\n"
         "class Dot : Shape { float x; float3 at[2]; ushort marks[3] packed; }\n"
         "aos class Disk : Dot { float4 colour; uchar kind; short sizes[2]; }\n"
         "class Square : Shape { uint edge; } class Lonely { uint tag; }",
         3},
        {"abstract class Shape { uint tag; ref Shape next; } class Dot : Shape { float x; }", 3},
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        second = cl_fixture_heap(f, others[i].text, HEAP_BYTES, others[i].rows);
        CHECK_STATUS(f, clump_heap_do_all(second, kernels[DROP], NULL), CLUMP_ERR_USAGE);
        CHECK_STATUS(f, clump_heap_do_new(second, kernels[MAKE], "Dot", 1, NULL, NULL),
                     CLUMP_ERR_USAGE);
        CHECK_HEAP(f, second);
        clump_heap_destroy(second);
    }
}

/* ---- Arguments that a kernel has are not set again ------------------------------------------- */

static void expect_arguments(uint32_t found, uint32_t least, uint32_t most, int line) {
    if (found < least || found > most)
        fail_msg("line %d: %u arguments set, expected %u to %u", line, found, least, most);
}

/* A do-all that visits all shapes of a heap: how many arguments were set for it. */
static uint32_t visit_all(clump_heap *where) {
    clear_seen();
    memset(&calls, 0, sizeof calls);
    CHECK_OK(f, clump_heap_do_all(where, kernels[VISIT], NULL));
    const uint32_t set = calls.arguments;
    fetch_seen();
    return set;
}

/* Heaps take turns, are destroyed, and others get their place: each launch is of its own heap. */
static void test_arguments_of_heaps(void **state) {
    (void)state;
    enum { HEAPS = 18 }; /* a program knows fewer */
    clump_heap *many[HEAPS];
    populate(heap);
    visit(0);
    visit_all(heap);
    expect_arguments(visit_all(heap), 0, 0, __LINE__);
    clump_heap_touch(heap);
    expect_arguments(visit_all(heap), 1, 2, __LINE__); /* of the list: its turn */
    clump_heap_touch(heap);
    expect_arguments(visit_all(heap), 1, 2, __LINE__);
    expect_seen(0, SHAPES, 1, 1);
    for (uint32_t i = 0; i < HEAPS; i++) {
        many[i] = cl_fixture_heap(f, schema, HEAP_BYTES, 3);
        make(many[i], "Dot", i, 1);
    }
    for (uint32_t i = 0; i < 2 * HEAPS; i++) {
        const uint32_t which = i * 5 % HEAPS;
        expect_arguments(visit_all(many[which]), 1, 6, __LINE__);
        expect_seen(which, which + 1, 1, 1);
    }
    for (uint32_t i = 0; i < HEAPS; i++) clump_heap_destroy(many[i]);
    for (uint32_t i = 0; i < HEAPS; i++) { /* each may have the memory of the one before */
        clump_heap *next = cl_fixture_heap(f, schema, HEAP_BYTES, 3);
        expect_arguments(visit_all(next), 1, 20, __LINE__);
        expect_seen(0, 0, 1, 0);
        make(next, "Dot", i, 1);
        visit_all(next);
        expect_seen(i, i + 1, 1, 1);
        clump_heap_destroy(next);
        next = cl_fixture_heap(f, "class Other { uint tag; }", HEAP_BYTES, 3);
        CHECK_STATUS(f, clump_heap_do_all(next, kernels[VISIT], NULL), CLUMP_ERR_USAGE);
        clump_heap_destroy(next);
    }
    visit_all(heap);
    expect_seen(0, SHAPES, 1, 1);
}

/* If OpenCL refuses an argument, it is set again by the next launch. */
static void test_arguments_refused(void **state) {
    (void)state;
    clump_heap *second = cl_fixture_heap(f, schema, HEAP_BYTES, 3);
    populate(heap);
    visit(0);
    uint32_t failures = 0, failed = 1;
    while (failed) {
        make(second, "Dot", failures, 1); /* so that a list has to be made */
        visit_all(heap);
        memset(&calls, 0, sizeof calls);
        refused.at = failures + 1;
        failed = clump_heap_do_all(second, kernels[VISIT], NULL) == CLUMP_ERR_CL;
        refused.at = 0;
        visit_all(second);
        expect_seen(0, failures + 1, 1, 1);
        assert_true(!failed || refused.is_set);
        clump_heap_touch(heap);
        visit_all(heap);
        expect_seen(0, SHAPES, 1, 1);
        failures += failed;
    }
    assert_in_range(failures, 3, 12); /* at least the heap of three kernels */
    CHECK_HEAP(f, heap);
    CHECK_HEAP(f, second);
    clump_heap_destroy(second);
}

/* Numbers by value. */
static void test_arguments_by_value(void **state) {
    (void)state;
    static const uint32_t modes[] = {0, 0, 3, 3, 0};
    populate(heap);
    for (int i = 0; i < 5; i++) {
        clear_seen();
        memset(&calls, 0, sizeof calls);
        CHECK_OK(
            f, clump_heap_do_all(heap,
                                 clump_kernel_with(kernels[VISIT],
                                                   CLUMP_ARGS(modes[i], seen_buffer, after_buffer)),
                                 NULL));
        const int is_new = i > 0 && modes[i] != modes[i - 1];
        if (i > 0) expect_arguments(calls.arguments, 2 + is_new, 2 + is_new, __LINE__);
        if (i > 0) assert_int_equal(calls.questions, 0);
        fetch_seen();
        expect_seen(modes[i] ? DOTS + DISKS : 0, SHAPES, 1, 1);
    }
    /* One that was set otherwise in between. */
    visit(1);
    expect_seen(0, DOTS + DISKS, 1, 1);
    clear_seen();
    CHECK_OK(f,
             clump_heap_do_all(
                 heap, clump_kernel_with(kernels[VISIT], CLUMP_ARGS(0, seen_buffer, after_buffer)),
                 NULL));
    fetch_seen();
    expect_seen(0, SHAPES, 1, 1);
}

static void test_refusals(void **state) {
    (void)state;
    populate(heap);
    clump_kernel *k = NULL;
    uint64_t made;
    uint32_t value = 0;
    CHECK_STATUS(f, clump_kernel_create(program, "absent", &k, NULL), CLUMP_ERR_NOT_FOUND);
    assert_null(k);
    CHECK_STATUS(f, clump_kernel_create(program, "not_a_heap", &k, NULL), CLUMP_ERR_USAGE);
    if (!strstr(f->capabilities->platform_name, "NVIDIA"))
        CHECK_STATUS(f, clump_kernel_create(program, "nothing", &k, NULL), CLUMP_ERR_USAGE);
    k = cl_fixture_kernel(f, program, "visit");
    CHECK_OK(f, clump_kernel_set_arg(k, 0, sizeof value, &value));
    CHECK_OK(f, clump_kernel_set_arg(k, 2, sizeof after_buffer, &after_buffer));
    CHECK_STATUS(f, clump_kernel_set_arg(k, 3, sizeof value, &value), CLUMP_ERR_USAGE);
    CHECK_STATUS(f, clump_kernel_set_arg(k, 0, 2 * sizeof value, &value), CLUMP_ERR_CL);
    CHECK_STATUS(f, clump_heap_do_all(heap, k, NULL), CLUMP_ERR_USAGE);
    assert_non_null(strstr(clump_context_get_error(f->clump)->message, "1"));
    CHECK_STATUS(f, clump_heap_launch(heap, k, 64, 64, NULL), CLUMP_ERR_USAGE);
    CHECK_STATUS(f, clump_heap_reduce(heap, k, 4, &value, NULL), CLUMP_ERR_USAGE);
    CHECK_OK(f, clump_kernel_set_arg(k, 1, sizeof seen_buffer, &seen_buffer));
    CHECK_STATUS(f, clump_heap_launch(heap, k, 65, 64, NULL), CLUMP_ERR_USAGE);
    CHECK_STATUS(f, clump_heap_launch(heap, k, 0, 64, NULL), CLUMP_ERR_USAGE);
    CHECK_STATUS(f, clump_heap_launch(heap, k, 64, 0, NULL), CLUMP_ERR_USAGE);
    CHECK_STATUS(f, clump_heap_do_new(heap, kernels[MAKE], "None", 1, &made, NULL),
                 CLUMP_ERR_NOT_FOUND);
    CHECK_STATUS(f, clump_heap_do_new(heap, kernels[MAKE], NULL, 1, &made, NULL),
                 CLUMP_ERR_NOT_FOUND);
    CHECK_STATUS(f, clump_heap_do_new(heap, kernels[MAKE], "Shape", 1, &made, NULL),
                 CLUMP_ERR_USAGE);
    CHECK_STATUS(
        f, clump_heap_do_new(heap, kernels[MAKE], "Dot", (UINT64_C(1) << 31) + 1, &made, NULL),
        CLUMP_ERR_USAGE);
    clump_sync sync = {.wait_count = 1};
    CHECK_STATUS(f, clump_heap_do_all(heap, k, &sync), CLUMP_ERR_USAGE);
    assert_int_equal(clump_heap_do_all(NULL, k, NULL), CLUMP_ERR_USAGE);
    assert_int_equal(clump_heap_do_all(heap, NULL, NULL), CLUMP_ERR_USAGE);
    clump_kernel_destroy(k);
    clump_kernel_destroy(NULL);
    visit(0);
    expect_seen(0, SHAPES, 1, 1);
    CHECK_HEAP(f, heap);
}

static void expect_build_error(const char *text, const char *name, uint32_t line,
                               const char *words) {
    clump_program *p = NULL;
    cl_fixture_log kept = {.source = text};
    clump_program_desc desc = {.size = sizeof desc,
                               .heap = heap,
                               .source = text,
                               .name = name,
                               .failed = cl_fixture_keep_log,
                               .user = &kept};
    CHECK_STATUS(f, clump_program_create(&desc, &p, NULL), CLUMP_ERR_BUILD);
    const clump_error *e = clump_context_get_error(f->clump);
    assert_null(p);
    /* What is not declared may be found to be missing by NVIDIA's linker only, which knows no
     * place. */
    int has_place = strncmp(kept.log, "ptxas fatal", 11) != 0;
    if (e->line != (has_place ? line : 0) || (e->column != 0) != has_place ||
        !strstr(e->message, words))
        fail_msg("line %u, column %u, expected line %u and \"%s\": %s", e->line, e->column, line,
                 words, e->message);
    assert_non_null(strstr(kept.log, words));
    assert_true(kept.has_source);
}

static void test_build_errors(void **state) {
    (void)state;
    expect_build_error("\n\n    __kernel void f(CLUMP_HEAP) { undeclared = 1; }\n", NULL, 3,
                       "undeclared");
    expect_build_error(
        "__kernel void f(CLUMP_HEAP) {\n    Dot d = Dot_new();\n    Dot_y(d) = 1;\n}",
        "my kernels.cl", 3, "Dot_y");
    expect_build_error("__kernel void f(CLUMP_HEAP) {\n    Shape_new();\n}", "a.cl", 2,
                       "Shape_new");
    expect_build_error("__kernel void f(CLUMP_HEAP) {\n    Dot d = Square_new();\n}", "a.cl", 2,
                       "Dot");
    clump_program *p;
    clump_program_desc desc = {.size = sizeof desc, .heap = heap};
    CHECK_STATUS(f, clump_program_create(&desc, &p, NULL), CLUMP_ERR_USAGE);
    assert_null(p);
    desc.source = source;
    desc.name = "a\"b";
    CHECK_STATUS(f, clump_program_create(&desc, &p, NULL), CLUMP_ERR_USAGE);
    desc.name = NULL;
    desc.tuning = &(clump_alloc_tuning){.retries = 1025};
    CHECK_STATUS(f, clump_program_create(&desc, &p, NULL), CLUMP_ERR_USAGE);
}

/* ---- Checked mode ---------------------------------------------------------------------------- */

static void expect_poke(clump_kernel *poke, uint32_t ref, uint32_t reports) {
    SET_ARG(f, poke, 0, ref);
    CHECK_OK(f, clump_heap_launch(heap, poke, 1, 1, NULL));
    clump_device_report report = {.size = sizeof report};
    CHECK_STATUS(f, clump_heap_take_errors(heap, &report), reports ? CLUMP_ERR_DEVICE : CLUMP_OK);
    assert_int_equal(report.errors[CLUMP_DEVICE_BAD_ACCESS].count, reports);
    if (reports) assert_int_equal(report.errors[CLUMP_DEVICE_BAD_ACCESS].ref, ref);
    CHECK_HEAP(f, heap);
}

static void test_checked(void **state) {
    (void)state;
    static const char text[] =
        "__kernel void poke(CLUMP_HEAP_NO_ALLOC, uint ref) {\n"
        "    Dot d = {ref};\n"
        "    Dot_x(d) = 5.0f;\n"
        "    Dot_marks(d, 1) = Dot_tag(d);\n"
        "}\n";
    cl_fixture_build how = {.checked = 1};
    clump_program *checked = cl_fixture_program(f, heap, text, NULL, &how);
    clump_kernel *poke = cl_fixture_kernel(f, checked, "poke");
    populate(heap);
    uint32_t refs[DOTS + DISKS], squares[SQUARES], tag;
    float x[DOTS + DISKS];
    uint64_t count;
    CHECK_OK(f, clump_heap_read_refs(heap, "Dot", refs, DOTS + DISKS, &count));
    CHECK_OK(f, clump_heap_read_refs(heap, "Square", squares, SQUARES, &count));
    expect_poke(poke, refs[0], 0);
    expect_poke(poke, refs[DOTS + DISKS - 1], 0);
    CHECK_OK(f, clump_heap_read_field(heap, "Dot", "x", 0, sizeof *x, x, DOTS + DISKS, NULL));
    assert_true(x[0] == 5.0f && x[DOTS + DISKS - 1] == 5.0f);
    expect_poke(poke, 0, 3);
    expect_poke(poke, squares[3], 3);
    expect_poke(poke, UINT32_MAX, 3);
    expect_poke(poke, 70, 3);
    CHECK_OK(f, clump_heap_read_object_field(heap, "Dot", "tag", 0, refs[1], sizeof(tag), &tag));
    uint32_t rest = tag % 3;
    SET_ARG(f, kernels[DROP], 0, rest);
    CHECK_OK(f, clump_heap_do_all(heap, kernels[DROP], NULL));
    expect_poke(poke, refs[1], 3);
    clump_kernel_destroy(poke);
    clump_program_destroy(checked);
}

/* ---- Wait lists and events ------------------------------------------------------------------- */

static int is_complete(cl_event event) {
    cl_int status = CL_QUEUED;
    CHECK_CL(
        clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL));
    return status == CL_COMPLETE;
}

static void test_events(void **state) {
    (void)state;
    populate(heap);
    clear_seen();
    cl_int code;
    cl_event gate = clCreateUserEvent(f->context, &code), done[4] = {0};
    CHECK_CL(code);
    uint32_t mode = 0, base = SHAPES - 5;
    SET_ARG(f, kernels[VISIT], 0, mode);
    SET_ARG(f, kernels[VISIT], 1, seen_buffer);
    SET_ARG(f, kernels[VISIT], 2, after_buffer);
    SET_ARG(f, kernels[MAKE], 0, base);
    clump_heap_touch(heap);
    clump_sync first = {1, &gate, &done[0]}, second = {1, &done[0], &done[1]};
    clump_sync third = {2, done, &done[2]}, fourth = {0, NULL, &done[3]};
    CHECK_OK(f, clump_heap_do_all(heap, kernels[VISIT], &first));
    CHECK_OK(f, clump_heap_do_all(heap, kernels[VISIT], &second));
    CHECK_OK(f, clump_heap_do_new(heap, kernels[MAKE], "Dot", 5, NULL, &third));
    CHECK_OK(f, clump_heap_do_all(heap, kernels[VISIT], &fourth));
    CHECK_CL(clFlush(f->queue));
    for (int i = 0; i < 4; i++) {
        assert_non_null(done[i]);
        assert_false(is_complete(done[i]));
    }
    CHECK_CL(clSetUserEventStatus(gate, CL_COMPLETE));
    CHECK_CL(clWaitForEvents(4, done));
    cl_ulong start[4], end[4];
    for (int i = 0; i < 4; i++) {
        CHECK_CL(clGetEventProfilingInfo(done[i], CL_PROFILING_COMMAND_START, 8, &start[i], NULL));
        CHECK_CL(clGetEventProfilingInfo(done[i], CL_PROFILING_COMMAND_END, 8, &end[i], NULL));
        assert_true(start[i] <= end[i] && (i == 0 || end[i - 1] <= start[i]));
        CHECK_CL(clReleaseEvent(done[i]));
    }
    fetch_seen();
    for (uint32_t i = 0; i < SHAPES; i++) assert_int_equal(seen[i], i < base ? 3 : 4);
    uint32_t lonely = 0, sum;
    cl_event reduced = NULL;
    clump_sync last = {1, &gate, &reduced};
    SET_ARG(f, kernels[SUM], 0, lonely);
    CHECK_OK(f, clump_heap_reduce(heap, kernels[SUM], sizeof sum, &sum, &last));
    assert_true(is_complete(reduced));
    clReleaseEvent(reduced);
    clReleaseEvent(gate);
    CHECK_HEAP(f, heap);
}

int main(void) {
    int result = cl_fixture_open(f, NULL); /* is there a device at all? */
    if (result) return result;
    cl_fixture_close(f);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_loops),
        cmocka_unit_test(test_new_objects_wait),
        cmocka_unit_test(test_casts),
        cmocka_unit_test(test_launches),
        cmocka_unit_test(test_windows),
        cmocka_unit_test(test_live),
        cmocka_unit_test(test_few),
        cmocka_unit_test(test_new_of),
        cmocka_unit_test(test_one_work_item),
        cmocka_unit_test(test_few_teams),
        cmocka_unit_test(test_reductions),
        cmocka_unit_test(test_extremes_float),
        cmocka_unit_test(test_extremes_double),
        cmocka_unit_test(test_fields),
        cmocka_unit_test(test_reserve),
        cmocka_unit_test(test_copied_fields),
        cmocka_unit_test(test_bad_fields),
        cmocka_unit_test(test_two_heaps),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_build_errors),
        cmocka_unit_test(test_checked),
        cmocka_unit_test(test_events),
        cmocka_unit_test(test_loops_in_do_new),
        cmocka_unit_test(test_arguments_of_heaps),
        cmocka_unit_test(test_arguments_refused),
        cmocka_unit_test(test_arguments_by_value),
    };
    const struct CMUnitTest again[] = {
        cmocka_unit_test(test_loops),          cmocka_unit_test(test_new_objects_wait),
        cmocka_unit_test(test_launches),       cmocka_unit_test(test_reductions),
        cmocka_unit_test(test_extremes_float), cmocka_unit_test(test_fields),
        cmocka_unit_test(test_events),
    };
    open_world(&(cl_fixture_desc){.cl = &counting});
    result = cmocka_run_group_tests_name("api, queue in order", tests, NULL, NULL);
    close_world();
    if (cl_fixture_open(f, &(cl_fixture_desc){.out_of_order = 1}) == 0) {
        cl_fixture_close(f);
        open_world(&(cl_fixture_desc){.cl = &counting, .out_of_order = 1});
        result += cmocka_run_group_tests_name("api, queue out of order", again, NULL, NULL);
        close_world();
    }
    return result;
}
