/* Loading into a heap of another schema: classes and fields are matched by name; what is new is 0;
 * what does not fit is refused with its name, and the heap has no objects then and takes another
 * file.
 *
 * Objects are told by their `id`, which every schema here has: object i of class A has id i, and
 * those of B go on from 1000.
 * Read first: tests/support/saved_heap.h, docs/guide/save.md.
 */
#include <stdlib.h>
#include <string.h>

#include "heap/heap.h"
#include "saved_heap.h"

static cl_fixture on;

enum { COUNT = 300, B_IDS = 1000, C_IDS = 2000 };

/* What is saved. Objects of A refer to A and B, those of B to A. */
static const char saved_text[] =
    "abstract class Root { uint id; }\n"
    "class A : Root { float2 at; ref Root any; ref A next; ushort marks[3]; }\n"
    "class B : Root { long big; ref A a; }\n"
    "class C { uint id; }\n"
    "class Unused { uint id; ref C c; }\n";

static clump_ref any_of(const clump_ref *a, const clump_ref *b, uint32_t i) {
    return i % 3 == 0 ? 0 : i % 3 == 1 ? a[(7 * i) % COUNT] : b[(5 * i) % COUNT];
}

static memory_file file;
static clump_handle of_a, of_b;
static cl_mem registered;

static void make(clump_heap *h, const char *class_name, uint32_t first, clump_ref *refs) {
    static const clump_struct_field id = {"id", 0};
    const clump_struct_desc desc = {sizeof desc, class_name, 4, 1, &id};
    uint32_t ids[COUNT];
    for (uint32_t i = 0; i < COUNT; i++) ids[i] = first + i;
    CHECK_OK(&on, clump_heap_new_structs(h, &desc, ids, COUNT, refs, NULL));
}

static int save_one(void **state) {
    clump_heap *h = cl_fixture_heap(&on, saved_text, 4 << 20, 1);
    clump_ref a[COUNT], b[COUNT], any[COUNT], next[COUNT], back[COUNT];
    float at[COUNT][2];
    uint16_t marks[COUNT];
    int64_t big[COUNT];
    make(h, "A", 0, a);
    make(h, "B", B_IDS, b);
    make(h, "C", C_IDS, NULL);
    for (uint32_t i = 0; i < COUNT; i++) {
        at[i][0] = (float)i;
        at[i][1] = -0.5f * (float)i;
        any[i] = any_of(a, b, i);
        next[i] = a[(i + 1) % COUNT];
        back[i] = i % 2 ? a[COUNT - 1 - i] : 0;
        big[i] = -INT64_C(10000000000) * i;
    }
    CHECK_OK(&on, clump_heap_write_field(h, "A", "at", 0, sizeof *at, at, COUNT));
    CHECK_OK(&on, clump_heap_write_field(h, "A", "any", 0, sizeof *any, any, COUNT));
    CHECK_OK(&on, clump_heap_write_field(h, "A", "next", 0, sizeof *next, next, COUNT));
    for (uint16_t e = 0; e < 3; e++) {
        for (uint32_t i = 0; i < COUNT; i++) marks[i] = (uint16_t)(3 * i + e);
        CHECK_OK(&on, clump_heap_write_field(h, "A", "marks", e, sizeof *marks, marks, COUNT));
    }
    CHECK_OK(&on, clump_heap_write_field(h, "B", "big", 0, sizeof *big, big, COUNT));
    CHECK_OK(&on, clump_heap_write_field(h, "B", "a", 0, sizeof *back, back, COUNT));
    CHECK_OK(&on, clump_heap_create_handle(h, a[17], &of_a));
    CHECK_OK(&on, clump_heap_create_handle(h, b[18], &of_b));
    const clump_ref two[2] = {b[19], a[20]};
    registered = cl_fixture_buffer(&on, two, sizeof two);
    clump_refs *refs;
    CHECK_OK(&on, clump_refs_create(
                      h,
                      &(clump_refs_desc){
                          .size = sizeof(clump_refs_desc), .buffer = registered, .count = 2},
                      &refs, NULL));
    file = saved_bytes(&on, h, 4096);
    clump_heap_destroy(h);
    return 0;
}

static int release_one(void **state) {
    memory_release(&file);
    clReleaseMemObject(registered);
    return 0;
}

/* ---- What fits ------------------------------------------------------------------------------- */

/* A heap whose memory was in use: what is not written is not 0. */
static clump_heap *soiled_heap(const char *text) {
    clump_heap *h = cl_fixture_heap(&on, text, 4 << 20, 1);
    const clump_heap_info *layout = clump_heap_get_info(h);
    const size_t bytes = layout->bytes - layout->metadata_bytes;
    uint8_t *soil = malloc(bytes);
    memset(soil, 0x6b, bytes);
    CHECK_OK(&on, clumpi_blocks_write(h, layout->metadata_bytes, bytes, soil));
    free(soil);
    return h;
}

static uint32_t id_of(clump_heap *h, clump_ref ref, const char *root) {
    uint32_t id = UINT32_MAX;
    if (ref) CHECK_OK(&on, clump_heap_read_object_field(h, root, "id", 0, ref, sizeof(id), &id));
    return id;
}

static int has_field(clump_heap *h, const char *class_name, const char *name) {
    const clump_schema *s = clump_heap_get_info(h)->schema;
    const clump_class_info *c = clump_schema_find_class(s, class_name);
    return c && clump_schema_find_field(s, c->id, name);
}

/* Of class A, whose objects begin at `from` among those that the call reads for class A. */
static void find_a(clump_heap *h) {
    uint32_t ids[COUNT];
    float at[COUNT][2];
    uint16_t marks[COUNT];
    clump_ref refs[COUNT];
    CHECK_OK(&on, clump_heap_read_field(h, "A", "id", 0, sizeof *ids, ids, COUNT, NULL));
    for (uint32_t i = 0; i < COUNT; i++) assert_int_equal(ids[i], i);
    if (has_field(h, "A", "at")) {
        CHECK_OK(&on, clump_heap_read_field(h, "A", "at", 0, sizeof *at, at, COUNT, NULL));
        for (uint32_t i = 0; i < COUNT; i++)
            assert_true(at[i][0] == (float)i && at[i][1] == -0.5f * (float)i);
    }
    for (uint32_t e = 0; has_field(h, "A", "marks") && e < 3; e++) {
        CHECK_OK(&on, clump_heap_read_field(h, "A", "marks", e, sizeof *marks, marks, COUNT, NULL));
        for (uint32_t i = 0; i < COUNT; i++) assert_int_equal(marks[i], (uint16_t)(3 * i + e));
    }
    if (has_field(h, "A", "next")) {
        CHECK_OK(&on, clump_heap_read_field(h, "A", "next", 0, sizeof *refs, refs, COUNT, NULL));
        for (uint32_t i = 0; i < COUNT; i++)
            assert_int_equal(id_of(h, refs[i], "A"), (i + 1) % COUNT);
    }
}

static void find_any(clump_heap *h, const char *root) {
    clump_ref refs[COUNT];
    CHECK_OK(&on, clump_heap_read_field(h, "A", "any", 0, sizeof *refs, refs, COUNT, NULL));
    for (uint32_t i = 0; i < COUNT; i++)
        assert_int_equal(id_of(h, refs[i], root), i % 3 == 0   ? UINT32_MAX
                                                  : i % 3 == 1 ? (7 * i) % COUNT
                                                               : B_IDS + (5 * i) % COUNT);
}

static void find_b(clump_heap *h) {
    uint32_t ids[COUNT];
    int64_t big[COUNT];
    clump_ref refs[COUNT];
    CHECK_OK(&on, clump_heap_read_field(h, "B", "id", 0, sizeof *ids, ids, COUNT, NULL));
    CHECK_OK(&on, clump_heap_read_field(h, "B", "big", 0, sizeof *big, big, COUNT, NULL));
    CHECK_OK(&on, clump_heap_read_field(h, "B", "a", 0, sizeof *refs, refs, COUNT, NULL));
    for (uint32_t i = 0; i < COUNT; i++) {
        assert_int_equal(ids[i], B_IDS + i);
        assert_true(big[i] == -INT64_C(10000000000) * i);
        assert_int_equal(id_of(h, refs[i], "A"), i % 2 ? COUNT - 1 - i : UINT32_MAX);
    }
}

static void expect_outside(clump_heap *h, cl_mem two) {
    clump_ref refs[2];
    cl_fixture_read(&on, two, refs, sizeof refs);
    assert_int_equal(id_of(h, refs[0], "B"), B_IDS + 19);
    assert_int_equal(id_of(h, refs[1], "A"), 20);
    CHECK_OK(&on, clump_heap_read_handle(h, of_a, &refs[0]));
    CHECK_OK(&on, clump_heap_read_handle(h, of_b, &refs[1]));
    assert_int_equal(id_of(h, refs[0], "A"), 17);
    assert_int_equal(id_of(h, refs[1], "B"), B_IDS + 18);
}

/* Load into a heap of that schema, and look at all that it has of the saved one. */
static clump_heap *load_into(const char *text, uint32_t lost, uint32_t gained) {
    clump_heap *h = soiled_heap(text);
    cl_mem two = cl_fixture_buffer(&on, NULL, 8);
    clump_refs *refs;
    clump_load_report report = {.size = sizeof report};
    CHECK_OK(&on,
             clump_refs_create(
                 h, &(clump_refs_desc){.size = sizeof(clump_refs_desc), .buffer = two, .count = 2},
                 &refs, NULL));
    CHECK_OK(&on, load_bytes(h, &file, &report));
    assert_int_equal(report.fields_lost, lost);
    assert_int_equal(report.fields_gained, gained);
    CHECK_HEAP(&on, h);
    find_a(h);
    find_b(h);
    expect_outside(h, two);
    clump_refs_destroy(refs);
    clReleaseMemObject(two);
    return h;
}

static void expect_zeros(clump_heap *h, const char *class_name, const char *field,
                         uint32_t elements, uint32_t bytes) {
    uint8_t *values = malloc((size_t)COUNT * bytes);
    for (uint32_t e = 0; e < elements; e++) {
        CHECK_OK(&on, clump_heap_read_field(h, class_name, field, e, bytes, values, COUNT, NULL));
        for (size_t i = 0; i < (size_t)COUNT * bytes; i++) assert_int_equal(values[i], 0);
    }
    free(values);
}

static void the_same(void **state) {
    clump_heap *h = load_into(saved_text, 0, 0);
    find_any(h, "Root");
    clump_heap_destroy(h);
}

/* Other ids, another order of fields, struct layouts, packed arrays, weak references. */
static void another_order(void **state) {
    clump_heap *h = load_into(
        "class C { uint id; } aos class B : Root { ref A a; long big; }\n"
        "class Unused { uint id; ref C c; } abstract class Root { uint id; }\n"
        "aos class A : Root { ushort marks[3] packed; weak ref A next; float2 at; ref Root any; }",
        0, 0);
    find_any(h, "Root");
    clump_heap_destroy(h);
}

static void gained(void **state) {
    clump_heap *h = load_into(
        "abstract class Top { uchar16 first; }\n"
        "abstract class Root : Top { uint id; ref Root more; }\n"
        "class A : Root { float2 at; long4 wide[2]; ref Root any; ref A next; ushort marks[3]; "
        "}\n"
        "class Between : Root { uint filler; }\n"
        "class B : Between { long big; ref A a; char c[5] packed; }\n"
        "class C { uint id; } class Unused { uint id; ref C c; } class Fresh { uint x; }\n",
        0, 5); /* first and more of both, wide of A, filler and c of B */
    find_any(h, "Root");
    expect_zeros(h, "A", "first", 1, 16);
    expect_zeros(h, "A", "more", 1, 4);
    expect_zeros(h, "A", "wide", 2, 32);
    expect_zeros(h, "B", "first", 1, 16);
    expect_zeros(h, "B", "filler", 1, 4);
    expect_zeros(h, "B", "more", 1, 4);
    expect_zeros(h, "B", "c", 5, 1);
    clump_heap_destroy(h);
}

/* Also a base: A and B have no common one any more. */
static void lost(void **state) {
    clump_heap *h = load_into(
        "class B { long big; ref A a; uint id; } class A { uint id; ref A next; }\n"
        "class C { uint id; }",
        3, 0);
    clump_heap_destroy(h);
}

/* A class moves below another, and a field refers to a base of what it referred to. */
static void other_bases(void **state) {
    clump_heap *h = load_into(
        "class C { uint id; } class B : C { long big; ref C a; }\n"
        "class A : C { float2 at; ref C any; ref A next; ushort marks[3]; }\n",
        0, 0);
    find_any(h, "C");
    clump_heap_destroy(h);
}

/* A field refers to a narrower class, and all that it refers to is of it. */
static void narrower(void **state) {
    static const char wide[] = "class R { uint id; ref R r; } class S : R { uint s; }";
    static const char narrow[] = "class R { uint id; ref S r; } class S : R { uint s; }";
    const clump_struct_desc s = {sizeof s, "S", 4, 0, NULL};
    uint32_t zeros[10] = {0};
    clump_ref refs[10];
    clump_heap *a = cl_fixture_heap(&on, wide, 2 << 20, 1),
               *b = cl_fixture_heap(&on, narrow, 2 << 20, 1);
    CHECK_OK(&on, clump_heap_new_structs(a, &s, zeros, 10, refs, NULL));
    CHECK_OK(&on, clump_heap_write_field(a, "R", "r", 0, sizeof *refs, refs, 10));
    memory_file f = saved_bytes(&on, a, 0);
    CHECK_OK(&on, load_bytes(b, &f, NULL));
    CHECK_HEAP(&on, b);
    memory_release(&f);
    clump_heap_destroy(a);
    clump_heap_destroy(b);
}

/* ---- What does not fit ----------------------------------------------------------------------- */

#define A_REST "ref Root any; ref A next; ushort marks[3]; }"
#define ROOT "abstract class Root { uint id; } "
#define B_AND_C " class B : Root { long big; ref A a; } class C { uint id; }"

static void refused(void **state) {
    static const struct {
        const char *text, *words[3];
        clump_status status;
    } cases[] = {
        {ROOT "class A : Root { float3 at; " A_REST B_AND_C,
         {"field at of class A", "float2", "float3"},
         CLUMP_ERR_SCHEMA},
        {ROOT "class A : Root { int2 at; " A_REST B_AND_C,
         {"field at of class A", "float2", "int2"},
         CLUMP_ERR_SCHEMA},
        {ROOT "class A : Root { float2 at[2]; " A_REST B_AND_C,
         {"field at of class A", "float2", "float2[2]"},
         CLUMP_ERR_SCHEMA},
        {ROOT "class A : Root { float2 at; ref Root any; ref A next; ushort marks[4]; }" B_AND_C,
         {"field marks of class A", "ushort[3]", "ushort[4]"},
         CLUMP_ERR_SCHEMA},
        {ROOT "class A : Root { float2 at; ref Root any; uint next; ushort marks[3]; }" B_AND_C,
         {"field next of class A", "ref", "uint"},
         CLUMP_ERR_SCHEMA},
        {"abstract class Root { int id; } class A : Root { float2 at; " A_REST B_AND_C,
         {"field id of class A", "uint", "int"},
         CLUMP_ERR_SCHEMA},
        {ROOT "class A : Root { float2 at; ref A any; ref A next; ushort marks[3]; }" B_AND_C,
         {"field any of class A has 100 references", "not of class A", ""},
         CLUMP_ERR_SCHEMA},
        {ROOT "class A : Root { float2 at; " A_REST " class B : Root { long big; ref A a; }",
         {"300 objects of class C", "lacks", ""},
         CLUMP_ERR_SCHEMA},
        {ROOT "abstract class A : Root { float2 at; " A_REST " class D : A { uint d; }" B_AND_C,
         {"300 objects of class A", "abstract", ""},
         CLUMP_ERR_SCHEMA},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        clump_heap *h = soiled_heap(cases[i].text);
        cl_mem two = cl_fixture_buffer(&on, NULL, 8);
        clump_refs *refs;
        clump_heap_stats stats = {.size = sizeof stats};
        uint32_t words[2] = {1, 1};
        CHECK_OK(
            &on,
            clump_refs_create(
                h, &(clump_refs_desc){.size = sizeof(clump_refs_desc), .buffer = two, .count = 2},
                &refs, NULL));
        const clump_status status = load_bytes(h, &file, NULL);
        for (int w = 0; w < 3; w++)
            cl_fixture_expect_words(clump_context_get_error(on.clump), status, cases[i].status,
                                    cases[i].words[w], cases[i].text, __LINE__);
        CHECK_OK(&on, clump_heap_read_stats(h, &stats, NULL, 0));
        assert_int_equal(stats.objects, 0);
        assert_int_equal(stats.free_blocks, stats.blocks);
        CHECK_HEAP(&on, h);
        cl_fixture_read(&on, two, words, sizeof words);
        assert_int_equal(words[0] | words[1], 0);
        assert_int_equal(clump_heap_read_handle(h, of_a, &words[0]), CLUMP_ERR_USAGE);
        clump_refs_destroy(refs);
        clReleaseMemObject(two);
        clump_heap_destroy(h);
    }
}

int main(void) {
    const int code = cl_fixture_open(&on, NULL);
    if (code) return code;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same), cmocka_unit_test(another_order), cmocka_unit_test(gained),
        cmocka_unit_test(lost),     cmocka_unit_test(other_bases),   cmocka_unit_test(narrower),
        cmocka_unit_test(refused),
    };
    const int failed = cmocka_run_group_tests(tests, save_one, release_one);
    cl_fixture_close(&on);
    return failed;
}
