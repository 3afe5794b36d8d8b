/* Calls by class (CLUMP_DISPATCH, CLUMP_FOR_EACH_BY_CLASS) against what the host expects of each
 * object: over an abstract class, a concrete one with subclasses and one without; results of
 * several types and none; functions that make and free objects; references in any order, null,
 * freed and none; and what does not build.
 *
 * Read first: cl/api/device_api.clh, tests/support/cl_fixture.h.
 */
#include <stdio.h>
#include <string.h>

#include "clump/checked.h"
#include "support/cl_fixture.h"

enum { DOTS = 300, DISKS = 200, SQUARES = 130, SHAPES = DOTS + DISKS + SQUARES, LONELY = 70 };

/* Disk is below Dot, which is concrete itself; Square is two levels below Shape by way of an
 * abstract class. */
#define SCHEMA                                                                                     \
    "abstract class Shape { uint tag; uint marks; }\n"                                             \
    "class Dot : Shape { float x; }\n"                                                             \
    "class Lonely { uint tag; }\n"                                                                 \
    "abstract class Polygon : Shape { uint corners; }\n"                                           \
    "class Square : Polygon { uint side; }\n"                                                      \
    "abstract class Empty : Polygon { uint nothing; }\n"                                           \
    "class Disk : Dot { float radius; }\n"

/* `measure` stands for a built-in function that the implementation has as a macro. */
static const char source[] =
    "#define measure implementation_measure\n"
    "typedef struct { uint tag, kind; float4 at; } seen;\n"
    "float area_Dot(CLUMP_HEAP_NO_ALLOC, Dot self, float t) { return t + Dot_x(self); }\n"
    "float area_Disk(CLUMP_HEAP_NO_ALLOC, Disk self, float t) { return t * Disk_radius(self); }\n"
    "float area_Square(CLUMP_HEAP_NO_ALLOC, Square self, float t) {\n"
    "    return t * (float)Square_side(self) + 0.5f;\n"
    "}\n"
    "CLUMP_DISPATCH(float, Shape, area, (CLUMP_HEAP_NO_ALLOC, Shape self, float t), (clump_heap, "
    "self, t));\n"
    "CLUMP_DISPATCH(float, Dot, area, (CLUMP_HEAP_NO_ALLOC, Dot self, float t), (clump_heap, self, "
    "t));\n"
    "CLUMP_DISPATCH(float, Polygon, area, (CLUMP_HEAP_NO_ALLOC, Polygon self, float t),\n"
    "               (clump_heap, self, t));\n"
    "CLUMP_DISPATCH(float, Disk, area, (CLUMP_HEAP_NO_ALLOC, Disk self, float t),\n"
    "               (clump_heap, self, t));\n"
    "CLUMP_DISPATCH(float, Empty, area, (CLUMP_HEAP_NO_ALLOC, Empty self, float t),\n"
    "               (clump_heap, self, t));\n"
    /* A vector, a struct with a vector, a reference, a pointer. */
    "float3 measure_Dot(CLUMP_HEAP_NO_ALLOC, Dot self) { return (float3)(1, Dot_x(self), 2); }\n"
    "float3 measure_Disk(CLUMP_HEAP_NO_ALLOC, Disk self) { return (float3)(Disk_radius(self), 3, "
    "4); "
    "}\n"
    "float3 measure_Square(CLUMP_HEAP_NO_ALLOC, Square self) { return (float3)(5, 6, 7); }\n"
    "CLUMP_DISPATCH(float3, Shape, measure, (CLUMP_HEAP_NO_ALLOC, Shape self), (clump_heap, "
    "self));\n"
    "seen see_Dot(CLUMP_HEAP_NO_ALLOC, Dot self, uint k) {\n"
    "    seen s = {Dot_tag(self), k, (float4)(1)}; return s;\n"
    "}\n"
    "seen see_Disk(CLUMP_HEAP_NO_ALLOC, Disk self, uint k) {\n"
    "    seen s = {Disk_tag(self), k + 1, (float4)(2)}; return s;\n"
    "}\n"
    "seen see_Square(CLUMP_HEAP_NO_ALLOC, Square self, uint k) {\n"
    "    seen s = {Square_tag(self), k + 2, (float4)(3)}; return s;\n"
    "}\n"
    "CLUMP_DISPATCH(seen, Shape, see, (CLUMP_HEAP_NO_ALLOC, Shape self, uint k), (clump_heap, "
    "self, "
    "k));\n"
    "__global uint *marks_of_Dot(CLUMP_HEAP_NO_ALLOC, Dot self) { return &Dot_marks(self); }\n"
    "__global uint *marks_of_Disk(CLUMP_HEAP_NO_ALLOC, Disk self) { return &Disk_marks(self); }\n"
    "__global uint *marks_of_Square(CLUMP_HEAP_NO_ALLOC, Square self) { return "
    "&Square_marks(self); "
    "}\n"
    "CLUMP_DISPATCH(__global uint *, Shape, marks_of, (CLUMP_HEAP_NO_ALLOC, Shape self), "
    "(clump_heap, "
    "self));\n"
    /* None. */
    "void mark_Dot(CLUMP_HEAP_NO_ALLOC, Dot self, uint by) { atomic_add(&Dot_marks(self), by); }\n"
    "void mark_Disk(CLUMP_HEAP_NO_ALLOC, Disk self, uint by) {\n"
    "    atomic_add(&Disk_marks(self), 10u * by);\n"
    "}\n"
    "void mark_Square(CLUMP_HEAP_NO_ALLOC, Square self, uint by) {\n"
    "    atomic_add(&Square_marks(self), 100u * by);\n"
    "}\n"
    "CLUMP_DISPATCH_VOID(Shape, mark, (CLUMP_HEAP_NO_ALLOC, Shape self, uint by), (clump_heap, "
    "self, "
    "by));\n"
    /* One that makes and frees: a dot becomes a disk, a disk a square, a square goes. */
    "Shape turn_Dot(CLUMP_HEAP, Dot self) {\n"
    "    Disk d = Disk_new();\n"
    "    if (Disk_is_null(d)) return Shape_null;\n"
    "    Disk_tag(d) = Dot_tag(self); Disk_marks(d) = 0; Disk_x(d) = 0; Disk_radius(d) = 1;\n"
    "    Dot_free(self);\n"
    "    return Disk_as_Shape(d);\n"
    "}\n"
    "Shape turn_Disk(CLUMP_HEAP, Disk self) {\n"
    "    Square s = Square_new();\n"
    "    if (Square_is_null(s)) return Shape_null;\n"
    "    Square_tag(s) = Disk_tag(self); Square_marks(s) = 0; Square_corners(s) = 4; "
    "Square_side(s) = 1;\n"
    "    Disk_free(self);\n"
    "    return Square_as_Shape(s);\n"
    "}\n"
    "Shape turn_Square(CLUMP_HEAP, Square self) { Square_free(self); return Shape_null; }\n"
    "CLUMP_DISPATCH(Shape, Shape, turn, (CLUMP_HEAP, Shape self), (clump_heap, self));\n"

    "__kernel void make(CLUMP_HEAP, uint base) {\n"
    "    CLUMP_FOR_EACH_NEW(Shape, self, i) {\n"
    "        uint tag = base + i;\n"
    "        Dot dot = Shape_as_Dot(self);\n"
    "        Disk disk = Shape_as_Disk(self);\n"
    "        Square square = Shape_as_Square(self);\n"
    "        Shape_tag(self) = tag;\n"
    "        Shape_marks(self) = 0;\n"
    "        if (!Dot_is_null(dot)) Dot_x(dot) = (float)tag * 0.25f;\n"
    "        if (!Disk_is_null(disk)) Disk_radius(disk) = (float)tag * 0.5f;\n"
    "        if (!Square_is_null(square)) Square_side(square) = tag;\n"
    "    }\n"
    "}\n"
    "__kernel void make_lonely(CLUMP_HEAP) {\n"
    "    CLUMP_FOR_EACH_NEW(Lonely, self, i) Lonely_tag(self) = i;\n"
    "}\n"
    /* Other work-items have the same object in the next loop, so each loop has elements of its
     * own. */
    "__kernel void visit(CLUMP_HEAP_NO_ALLOC, __global float *areas, uint shapes) {\n"
    "    CLUMP_FOR_EACH(Shape, self) {\n"
    "        areas[Shape_tag(self)] = Shape_area(clump_heap, self, 3.0f);\n"
    "        Shape_mark(clump_heap, self, 1u);\n"
    "    }\n"
    "    areas += shapes;\n"
    "    CLUMP_FOR_EACH(Dot, self) areas[Dot_tag(self)] = Dot_area(clump_heap, self, 3.0f);\n"
    "    areas += shapes;\n"
    "    CLUMP_FOR_EACH(Disk, self) areas[Disk_tag(self)] = Disk_area(clump_heap, self, 0.5f);\n"
    "    areas += shapes;\n"
    "    CLUMP_FOR_EACH(Polygon, self)\n"
    "        areas[Polygon_tag(self)] = Polygon_area(clump_heap, self, 8.0f);\n"
    "    areas += shapes;\n"
    "    CLUMP_FOR_EACH(Empty, self) areas[0] = 1 + Empty_area(clump_heap, self, 8.0f);\n"
    "}\n"
    "__kernel void each(CLUMP_HEAP_NO_ALLOC, uint by) {\n"
    "    if (by) CLUMP_FOR_EACH_BY_CLASS(Shape, mark, (clump_heap, self, by));\n"
    "    else CLUMP_FOR_EACH_BY_CLASS(Shape, area, (clump_heap, self, 1.0f));\n"
    "    CLUMP_FOR_EACH_BY_CLASS(Dot, mark, (clump_heap, self, 4u));\n"
    "    CLUMP_FOR_EACH_BY_CLASS(Polygon, mark, (clump_heap, self, 4u));\n"
    "    CLUMP_FOR_EACH_BY_CLASS(Empty, mark, (clump_heap, self, 8u));\n"
    "}\n"
    /* Each work-item takes one reference; 16 words of output each. */
    "__kernel void call(CLUMP_HEAP_NO_ALLOC, __global const uint *refs, __global uint *out) {\n"
    "    Shape self = {refs[get_global_id(0)]};\n"
    "    out += 16 * get_global_id(0);\n"
    "    out[0] = as_uint(Shape_area(clump_heap, self, 2.0f));\n"
    "    float3 d = Shape_measure(clump_heap, self);\n"
    "    out[1] = as_uint(d.x); out[2] = as_uint(d.y); out[3] = as_uint(d.z);\n"
    "    seen s = Shape_see(clump_heap, self, 40u);\n"
    "    out[4] = s.tag; out[5] = s.kind; out[6] = as_uint(s.at.x); out[7] = as_uint(s.at.w);\n"
    "    __global uint *marks = Shape_marks_of(clump_heap, self);\n"
    "    if (marks) atomic_add(marks, 1000u);\n"
    "    out[8] = marks != 0;\n"
    "    Shape_mark(clump_heap, self, 2u);\n"
    "}\n"
    "__kernel void turn(CLUMP_HEAP, __global uint *out) {\n"
    "    CLUMP_FOR_EACH(Shape, self) {\n"
    "        uint tag = Shape_tag(self);\n"
    "        out[tag] = Shape_turn(clump_heap, self).id;\n"
    "    }\n"
    "}\n"
    "__kernel void drop(CLUMP_HEAP, uint ref) {\n"
    "    Shape self = {ref};\n"
    "    if (get_global_id(0) == 0) Shape_free(self);\n"
    "}\n";

enum { MAKE, MAKE_LONELY, VISIT, EACH, CALL, TURN, DROP, KERNELS };
static const char *const kernel_names[KERNELS] = {"make", "make_lonely", "visit", "each",
                                                  "call", "turn",        "drop"};

static cl_fixture fixture, *const f = &fixture;
static clump_heap *heap;
static clump_program *program;
static clump_kernel *kernels[KERNELS];
static cl_mem in, out;

enum { OUT_WORDS = 16, MOST = SHAPES + LONELY };
static uint32_t refs[MOST], tags[SHAPES], words[MOST * OUT_WORDS];

static void make(const char *name, uint32_t base, uint32_t count) {
    SET_ARG(f, kernels[MAKE], 0, base);
    CHECK_OK(f, clump_heap_do_new(heap, kernels[MAKE], name, count, NULL, NULL));
}

/* Tags: dots, then disks, then squares. */
static void open_world(clump_heap *made, const cl_fixture_build *how) {
    heap = made;
    program = cl_fixture_program(f, heap, source, NULL, how);
    for (int i = 0; i < KERNELS; i++) kernels[i] = cl_fixture_kernel(f, program, kernel_names[i]);
    in = cl_fixture_buffer(f, NULL, sizeof refs);
    out = cl_fixture_buffer(f, NULL, sizeof words);
    SET_ARG(f, kernels[VISIT], 0, out);
    SET_ARG(f, kernels[CALL], 0, in);
    SET_ARG(f, kernels[CALL], 1, out);
    SET_ARG(f, kernels[TURN], 0, out);
    make("Dot", 0, DOTS);
    make("Disk", DOTS, DISKS);
    make("Square", DOTS + DISKS, SQUARES);
    CHECK_OK(f, clump_heap_do_new(heap, kernels[MAKE_LONELY], "Lonely", LONELY, NULL, NULL));
    uint64_t count;
    CHECK_OK(f, clump_heap_read_refs(heap, "Shape", refs, SHAPES, &count));
    assert_int_equal(count, SHAPES);
    CHECK_OK(f, clump_heap_read_field(heap, "Shape", "tag", 0, sizeof *tags, tags, SHAPES, NULL));
}

static void close_world(void) {
    clReleaseMemObject(in);
    clReleaseMemObject(out);
    for (int i = 0; i < KERNELS; i++) clump_kernel_destroy(kernels[i]);
    clump_program_destroy(program);
    clump_heap_destroy(heap);
}

static int is_dot(uint32_t tag) {
    return tag < DOTS;
}
static int is_disk(uint32_t tag) {
    return tag >= DOTS && tag < DOTS + DISKS;
}

/* What the functions of the exact classes compute. */
static float area(uint32_t tag, float t) {
    if (is_dot(tag)) return t + (float)tag * 0.25f;
    if (is_disk(tag)) return t * ((float)tag * 0.5f);
    return t * (float)tag + 0.5f;
}

static void expect_marks(uint32_t dot, uint32_t per_call) {
    static uint32_t marks[SHAPES];
    CHECK_OK(f,
             clump_heap_read_field(heap, "Shape", "marks", 0, sizeof *marks, marks, SHAPES, NULL));
    for (uint32_t i = 0; i < SHAPES; i++) {
        uint32_t by = is_dot(tags[i]) ? dot : is_disk(tags[i]) ? 10 * dot : 100 * dot;
        if (marks[i] != by + per_call)
            fail_msg("tag %u: %u marks, expected %u", tags[i], marks[i], by + per_call);
    }
}

/* What each loop of `visit` calls for an object; 0: it does not come there. */
static float visited(int loop, uint32_t tag) {
    switch (loop) {
    case 0: return area(tag, 3.0f);
    case 1: return is_dot(tag) || is_disk(tag) ? area(tag, 3.0f) : 0;
    case 2: return is_disk(tag) ? area(tag, 0.5f) : 0;
    case 3: return is_dot(tag) || is_disk(tag) ? 0 : area(tag, 8.0f);
    default: return 0;
    }
}

enum { LOOPS = 5 };

static void visit(void) {
    static float areas[LOOPS * SHAPES];
    uint32_t shapes = SHAPES;
    memset(words, 0, sizeof words);
    cl_fixture_write(f, out, words, sizeof words);
    SET_ARG(f, kernels[VISIT], 1, shapes);
    CHECK_OK(f, clump_heap_do_all(heap, kernels[VISIT], NULL));
    cl_fixture_read(f, out, areas, sizeof areas);
    for (uint32_t i = 0; i < LOOPS * SHAPES; i++) {
        float expected = visited((int)(i / SHAPES), i % SHAPES);
        float tolerance = expected * 1e-6f; /* devices may contract a product and a sum */
        if (!(areas[i] >= expected - tolerance && areas[i] <= expected + tolerance))
            fail_msg("loop %u, tag %u: %g, expected %g", i / SHAPES, i % SHAPES, (double)areas[i],
                     (double)expected);
    }
    expect_marks(1, 0);
    uint32_t by = 1;
    SET_ARG(f, kernels[EACH], 0, by);
    CHECK_OK(f, clump_heap_do_all(heap, kernels[EACH], NULL));
    expect_marks(1 + 1 + 4, 0);
}

static float as_float(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static void call(uint32_t count, const uint32_t *which) {
    memset(words, 0xee, sizeof words);
    cl_fixture_write(f, in, which, count * sizeof *which);
    cl_fixture_write(f, out, words, sizeof words);
    CHECK_OK(f, clump_heap_launch(heap, kernels[CALL], count, 1, NULL));
    cl_fixture_read(f, out, words, sizeof words);
}

/* `tag` SHAPES: the result of a reference that names nobody. */
static void expect_call(const uint32_t *w, uint32_t tag) {
    float x = (float)tag * 0.25f, radius = (float)tag * 0.5f;
    float dot[] = {1, x, 2}, disk[] = {radius, 3, 4}, square[] = {5, 6, 7}, none[] = {0, 0, 0};
    uint32_t kind = tag == SHAPES ? 0 : is_dot(tag) ? 1 : is_disk(tag) ? 2 : 3;
    const float *distance = kind == 0 ? none : kind == 1 ? dot : kind == 2 ? disk : square;
    int is_right = as_float(w[0]) == (kind ? area(tag, 2.0f) : 0);
    for (int i = 0; i < 3; i++) is_right &= as_float(w[1 + i]) == distance[i];
    is_right &= w[4] == (kind ? tag : 0) && w[5] == (kind ? 39 + kind : 0);
    is_right &= as_float(w[6]) == (float)kind && as_float(w[7]) == (float)kind;
    is_right &= w[8] == (kind != 0);
    if (!is_right)
        fail_msg("tag %u: area %g, distance %g %g %g, seen %u %u %g %g, pointer %u", tag,
                 (double)as_float(w[0]), (double)as_float(w[1]), (double)as_float(w[2]),
                 (double)as_float(w[3]), w[4], w[5], (double)as_float(w[6]), (double)as_float(w[7]),
                 w[8]);
}

/* References in an order of no order, and null among them. */
static void call_in_no_order(void) {
    uint32_t shuffled[SHAPES + 1], tag_of[SHAPES + 1];
    uint64_t random = 5;
    memcpy(shuffled, refs, SHAPES * sizeof *refs);
    memcpy(tag_of, tags, sizeof tags);
    shuffled[SHAPES] = 0;
    tag_of[SHAPES] = SHAPES;
    for (uint32_t i = SHAPES; i > 0; i--) {
        uint32_t j = test_random(&random, i + 1), ref = shuffled[i], tag = tag_of[i];
        shuffled[i] = shuffled[j], tag_of[i] = tag_of[j];
        shuffled[j] = ref, tag_of[j] = tag;
    }
    call(SHAPES + 1, shuffled);
    for (uint32_t i = 0; i <= SHAPES; i++) expect_call(&words[(size_t)OUT_WORDS * i], tag_of[i]);
    expect_marks(6 + 2, 1000);
}

static void expect_counts(uint32_t dots, uint32_t disks, uint32_t squares) {
    uint64_t dot, disk, square;
    CHECK_OK(f, clump_heap_read_count(heap, "Dot", &dot));
    CHECK_OK(f, clump_heap_read_count(heap, "Disk", &disk));
    CHECK_OK(f, clump_heap_read_count(heap, "Square", &square));
    assert_int_equal(dot - disk, dots);
    assert_int_equal(disk, disks);
    assert_int_equal(square, squares);
}

static void turn(void) {
    CHECK_OK(f, clump_heap_do_all(heap, kernels[TURN], NULL));
    cl_fixture_read(f, out, words, SHAPES * sizeof *words);
    for (uint32_t tag = 0; tag < SHAPES; tag++)
        assert_int_equal(words[tag] != 0, is_dot(tag) || is_disk(tag));
    expect_counts(0, DOTS, DISKS);
    CHECK_OK(f, clump_heap_do_all(heap, kernels[TURN], NULL));
    expect_counts(0, 0, DOTS);
}

static void run_all(clump_heap *made, const cl_fixture_build *how) {
    open_world(made, how);
    visit();
    call_in_no_order();
    CHECK_HEAP(f, heap);
    turn();
    CHECK_HEAP(f, heap);
    close_world();
}

static void test_program(void **state) {
    (void)state;
    run_all(cl_fixture_heap(f, SCHEMA, 4u << 20, 2), NULL);
}

static void test_checked_program(void **state) {
    (void)state;
    run_all(cl_fixture_heap(f, SCHEMA, 4u << 20, 2), &(cl_fixture_build){.checked = 1});
}

static clump_heap *checked_heap(void) {
    clump_schema *schema;
    clump_heap *made;
    assert_int_equal(clump_schema_parse(SCHEMA, strlen(SCHEMA), NULL, &schema, NULL), CLUMP_OK);
    const clump_checked_desc checked = {.size = sizeof checked, .without = 0};
    const clump_heap_desc desc = {.size = sizeof desc,
                                  .context = f->clump,
                                  .schema = schema,
                                  .bytes = 4u << 20,
                                  .block_rows = 2,
                                  .checked = &checked};
    CHECK_OK(f, clump_heap_create(&desc, &made, NULL));
    clump_schema_destroy(schema);
    return made;
}

static void test_checked_heap(void **state) {
    (void)state;
    run_all(checked_heap(), NULL);
}

/* ---- References that name no shape ----------------------------------------------------------- */

/* `call` has five calls; each CLUMP_DISPATCH has a line of its own. */
enum { CALLS = 5 };
static const char *const called[CALLS] = {
    "CLUMP_DISPATCH(float, Shape, area", "CLUMP_DISPATCH(float3, Shape, measure",
    "CLUMP_DISPATCH(seen, Shape, see", "CLUMP_DISPATCH(__global uint *, Shape, marks_of",
    "CLUMP_DISPATCH_VOID(Shape, mark"};

/* Freed, of another class, none: each is reported by each call, whose result is zero. Null is none,
 * too, and is not reported. */
static void call_wrong(void) {
    enum { WRONG = 3, FREED = 7 };
    uint32_t wrong[WRONG + 1] = {refs[FREED], 0, 0x7fffff80u, 0};
    uint64_t count;
    CHECK_OK(f, clump_heap_read_count(heap, "Lonely", &count));
    assert_int_equal(count, LONELY);
    wrong[1] = cl_fixture_first(f, heap, "Lonely");
    SET_ARG(f, kernels[DROP], 0, wrong[0]);
    CHECK_OK(f, clump_heap_do_all(heap, kernels[DROP], NULL));
    call(WRONG + 1, wrong);
    for (uint32_t i = 0; i <= WRONG; i++) expect_call(&words[(size_t)OUT_WORDS * i], SHAPES);
    clump_device_report report = {.size = sizeof report};
    CHECK_STATUS(f, clump_heap_take_errors(heap, &report), CLUMP_ERR_DEVICE);
    assert_int_equal(report.errors[CLUMP_DEVICE_BAD_ACCESS].count, WRONG * CALLS);
    assert_int_equal(report.errors[CLUMP_DEVICE_BAD_ACCESS].class_id,
                     cl_fixture_class_id(heap, "Shape"));
}

static void test_wrong_in_checked_program(void **state) {
    (void)state;
    open_world(cl_fixture_heap(f, SCHEMA, 4u << 20, 2), &(cl_fixture_build){.checked = 1});
    call_wrong();
    CHECK_HEAP(f, heap);
    close_world();
}

static void test_wrong_in_checked_heap(void **state) {
    (void)state;
    clump_finding findings[64];
    uint64_t count, of_call[CALLS] = {0};
    open_world(checked_heap(), NULL);
    call_wrong();
    CHECK_OK(f, clump_heap_take_findings(heap, findings, 64, &count, NULL));
    assert_in_range(count, CALLS, 64);
    for (uint32_t i = 0; i < count; i++) {
        print_message("    %s\n", findings[i].text);
        assert_int_equal(findings[i].kind, CLUMP_FINDING_CAST);
        assert_string_equal(findings[i].place.kernel, "call");
        for (uint32_t k = 0; k < CALLS; k++)
            if (findings[i].place.line == cl_fixture_line_of(source, called[k]))
                of_call[k] += findings[i].count;
    }
    for (uint32_t k = 0; k < CALLS; k++) assert_int_equal(of_call[k], 3);
    CHECK_HEAP(f, heap);
    close_world();
}

/* ---- What does not build --------------------------------------------------------------------- */

#define TWO "class Base { uint a; } class Below : Base { uint b; } "
#define OF_BASE "uint f_Base(CLUMP_HEAP_NO_ALLOC, Base self) { return Base_a(self); }\n"
#define OF_BELOW "uint f_Below(CLUMP_HEAP_NO_ALLOC, Below self) { return Below_b(self); }\n"
#define DISPATCH                                                                                   \
    "CLUMP_DISPATCH(uint, Base, f, (CLUMP_HEAP_NO_ALLOC, Base self), (clump_heap, self));\n"
#define KERNEL                                                                                     \
    "__kernel void k(CLUMP_HEAP_NO_ALLOC, uint r) { Base b = {r}; Base_f(clump_heap, b); }\n"

static void test_unbuilt(void **state) {
    (void)state;
    cl_fixture_expect_build(f, TWO, OF_BASE OF_BELOW DISPATCH KERNEL, NULL, NULL);
    /* A function is missing: of the class below, of the class itself. */
    cl_fixture_expect_build(f, TWO, OF_BASE DISPATCH KERNEL, NULL, "f_Below");
    cl_fixture_expect_build(f, TWO, OF_BELOW DISPATCH KERNEL, NULL, "f_Base");
    /* The class has a field of the name, whose accessor is a macro: the error has the line of the
     * dispatch. */
    cl_fixture_expect_build(f, "class Base { uint a; uint f; } class Below : Base { uint b; }",
                            OF_BASE OF_BELOW DISPATCH KERNEL, NULL, "program.cl:3");
    /* A function of one class makes objects, and the call promises that none does. */
    cl_fixture_expect_build(
        f, TWO,
        OF_BASE "uint f_Below(CLUMP_HEAP, Below self) { return Below_new().id; }\n" DISPATCH KERNEL,
        NULL, "program.cl:3");
    /* The parameter is not called self. */
    cl_fixture_expect_build(
        f, TWO,
        OF_BASE OF_BELOW
        "CLUMP_DISPATCH(uint, Base, f, (CLUMP_HEAP_NO_ALLOC, Base b), (clump_heap, b));\n",
        NULL, "self");
    /* A function returns another type than the result, to which C would convert it. */
    static const char *const other[] = {"int", "float", "ulong", "uchar"};
    for (size_t i = 0; i < sizeof other / sizeof *other; i++) {
        char text[500];
        snprintf(
            text, sizeof text,
            OF_BASE
            "%s f_Below(CLUMP_HEAP_NO_ALLOC, Below self) { return (%s)Below_b(self); }\n" DISPATCH
                KERNEL,
            other[i], other[i]);
        cl_fixture_expect_build(f, TWO, text, NULL, "must return the type of the result");
    }
    cl_fixture_expect_build(
        f, TWO,
        "typedef unsigned int number;\n" OF_BASE
        "number f_Below(CLUMP_HEAP_NO_ALLOC, Below self) { return Below_b(self); }\n" DISPATCH
            KERNEL,
        NULL, NULL);
}

int main(void) {
    int result = cl_fixture_open(f, NULL);
    if (result) return result;
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_program),
                                       cmocka_unit_test(test_checked_program),
                                       cmocka_unit_test(test_checked_heap),
                                       cmocka_unit_test(test_wrong_in_checked_program),
                                       cmocka_unit_test(test_wrong_in_checked_heap),
                                       cmocka_unit_test(test_unbuilt)};
    result = cmocka_run_group_tests_name("calls by class", tests, NULL, NULL);
    cl_fixture_close(f);
    return result;
}
