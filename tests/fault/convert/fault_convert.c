/* What clump_heap_convert() refuses: each with words that name class or field, and nothing has
 * changed: objects, values, references, the schema, the memory, and the programs that run on it.
 *
 * Read first: include/clump/convert.h. diff_save_schema has the same schemas for a load.
 */
#include <stdlib.h>
#include <string.h>

#include "cl_fixture.h"
#include "saved_heap.h"

static cl_fixture on;

enum { COUNT = 300 };

#define ROOT "abstract class Root { uint id; } "
#define A_REST "ref Root any; ref A next; ushort marks[3]; }"
#define A ROOT "class A : Root { float2 at; " A_REST
#define B " class B : Root { long big; ref A a; }"
#define C " class C { uint id; }"
static const char text[] = A B C;

static clump_heap *heap;
static clump_ref a[COUNT], b[COUNT], c[COUNT];
static clump_handle handle;
static cl_mem registered;
static clump_refs *refs;
static memory_file bytes;
static clump_program *program;
static clump_kernel *touch;

static void make(const char *class_name, clump_ref *out) {
    const clump_struct_field id = {"id", 0};
    uint32_t ids[COUNT];
    for (uint32_t i = 0; i < COUNT; i++) ids[i] = i;
    CHECK_OK(&on, clump_heap_new_structs(
                      heap, &(clump_struct_desc){sizeof(clump_struct_desc), class_name, 4, 1, &id},
                      ids, COUNT, out, NULL));
}

static int open_all(void **state) {
    clump_ref any[COUNT];
    heap = cl_fixture_heap(&on, text, 4 << 20, 2);
    make("A", a);
    make("B", b);
    make("C", c);
    for (int i = 0; i < COUNT; i++) any[i] = i % 3 ? a[(7 * i) % COUNT] : b[(5 * i) % COUNT];
    CHECK_OK(&on, clump_heap_write_field(heap, "A", "any", 0, sizeof *any, any, COUNT));
    CHECK_OK(&on, clump_heap_write_field(heap, "A", "next", 0, sizeof *a, a, COUNT));
    CHECK_OK(&on, clump_heap_write_field(heap, "B", "a", 0, sizeof *a, a, COUNT));
    CHECK_OK(&on, clump_heap_create_handle(heap, a[17], &handle));
    registered = cl_fixture_buffer(&on, b, sizeof b);
    CHECK_OK(&on, clump_refs_create(
                      heap,
                      &(clump_refs_desc){
                          .size = sizeof(clump_refs_desc), .buffer = registered, .count = COUNT},
                      &refs, NULL));
    bytes = saved_bytes(&on, heap, 0);
    program = cl_fixture_program(
        &on, heap,
        "__kernel void touch(CLUMP_HEAP_NO_ALLOC) { CLUMP_FOR_EACH(A, s) A_id(s) += 0; }", NULL,
        NULL);
    touch = cl_fixture_kernel(&on, program, "touch");
    return 0;
}

static int close_all(void **state) {
    clump_kernel_destroy(touch);
    clump_program_destroy(program);
    clump_heap_destroy(heap);
    clump_refs_destroy(refs);
    clReleaseMemObject(registered);
    memory_release(&bytes);
    return 0;
}

/* All is as it was: the references too, so nothing has moved. */
static void expect_same(const char *what) {
    clump_ref now[COUNT], of_handle;
    uint64_t count;
    CHECK_HEAP(&on, heap);
    memory_file file = saved_bytes(&on, heap, 0);
    if (file.bytes != bytes.bytes || memcmp(file.data, bytes.data, bytes.bytes) != 0)
        fail_msg("objects have changed: %s", what);
    memory_release(&file);
    CHECK_OK(&on, clump_heap_read_refs(heap, "A", now, COUNT, &count));
    assert_memory_equal(now, a, sizeof a);
    CHECK_OK(&on, clump_heap_read_refs(heap, "B", now, COUNT, &count));
    assert_memory_equal(now, b, sizeof b);
    cl_fixture_read(&on, registered, now, sizeof now);
    assert_memory_equal(now, b, sizeof b);
    CHECK_OK(&on, clump_heap_read_handle(heap, handle, &of_handle));
    assert_int_equal(of_handle, a[17]);
    CHECK_OK(&on, clump_heap_do_all(heap, touch, NULL));
}

static void refuse(const clump_convert_desc *desc, clump_status status, const char *words,
                   const char *what) {
    clump_convert_report report = {.size = sizeof report, .objects = 7};
    cl_fixture_expect_words(clump_context_get_error(on.clump),
                            clump_heap_convert(heap, desc, &report), status, words, what, __LINE__);
    assert_int_equal(report.objects, 0);
    expect_same(what);
}

static clump_schema *parse(const char *words) {
    clump_schema *schema;
    clump_error error;
    if (clump_schema_parse(words, strlen(words), NULL, &schema, &error))
        fail_msg("%s: %s", words, error.message);
    return schema;
}

static void schemas(void **state) {
    static const struct {
        const char *text, *words;
    } cases[] = {
        {ROOT "class A : Root { float3 at; " A_REST B C,
         "field at of class A is float2 in the heap, but float3 in the new schema"},
        {ROOT "class A : Root { float2 at[2]; " A_REST B C,
         "field at of class A is float2 in the heap, but float2[2] in the new schema"},
        {ROOT "class A : Root { float2 at; ref Root any; uint next; ushort marks[3]; }" B C,
         "field next of class A is ref in the heap, but uint in the new schema"},
        {ROOT "class A : Root { float2 at; ref Root any; ref A next; ushort marks[4]; }" B C,
         "field marks of class A is ushort[3] in the heap, but ushort[4] in the new schema"},
        {"abstract class Root { int id; } class A : Root { float2 at; " A_REST B C,
         "field id of class A is uint in the heap, but int in the new schema"},
        {ROOT "class A : Root { float2 at; ref A any; ref A next; ushort marks[3]; }" B C,
         "field any of class A has 100 references in the heap to objects that are not of class A, "
         "to "
         "which it refers in the new schema"},
        {A B, "the heap has 300 objects of class C, which the new schema lacks"},
        {ROOT "abstract class A : Root { float2 at; " A_REST " class D : A { uint d; }" B C,
         "the heap has 300 objects of class A, which is abstract in the new schema"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        clump_schema *schema = parse(cases[i].text);
        refuse(&(clump_convert_desc){.size = sizeof(clump_convert_desc), .schema = schema},
               CLUMP_ERR_SCHEMA, cases[i].words, cases[i].text);
        clump_schema_destroy(schema);
    }
}

static void wrong_calls(void **state) {
    clump_schema *schema = parse(text);
    clump_convert_desc desc = {.size = sizeof desc, .schema = schema};
    refuse(NULL, CLUMP_ERR_USAGE, "needs a schema", "no description");
    refuse(&(clump_convert_desc){.size = sizeof(clump_convert_desc)}, CLUMP_ERR_USAGE,
           "needs a schema", "no schema");
    desc.block_rows = 65;
    refuse(&desc, CLUMP_ERR_USAGE, "block_rows is 65", "block_rows");
    desc.block_rows = 0;
    desc.bytes = 4096;
    refuse(&desc, CLUMP_ERR_DEVICE_MEMORY, "", "too few bytes");
    desc.bytes = UINT64_MAX / 2;
    refuse(&desc, CLUMP_ERR_DEVICE_MEMORY, "the device has", "too many bytes");
    assert_int_equal(clump_heap_convert(NULL, &desc, NULL), CLUMP_ERR_USAGE);
    clump_schema_destroy(schema);
}

/* Objects that grow beyond the memory that the heap has. */
static void no_room(void **state) {
    clump_schema *schema = parse(ROOT "class A : Root { ulong8 more[128]; float2 at; " A_REST B C);
    refuse(
        &(clump_convert_desc){
            .size = sizeof(clump_convert_desc), .schema = schema, .block_rows = 1},
        CLUMP_ERR_DEVICE_MEMORY, "the 900 objects of the heap need", "no room");
    CHECK_OK(&on, clump_heap_convert(
                      heap,
                      &(clump_convert_desc){
                          .size = sizeof(clump_convert_desc), .schema = schema, .bytes = 16 << 20},
                      NULL));
    CHECK_HEAP(&on, heap);
    clump_schema_destroy(schema);
    close_all(NULL);
    open_all(NULL);
}

/* A heap whose errors nobody has seen. */
static void unseen_errors(void **state) {
    clump_schema *schema = parse("class A { uint id; }");
    const clump_convert_desc desc = {.size = sizeof desc, .schema = schema};
    clump_heap *failed = cl_fixture_heap_of_blocks(&on, "class A { uint id; }", 1, 1);
    const uint32_t ids[100] = {0};
    uint64_t made;
    CHECK_OK(&on, clump_heap_new_structs(
                      failed, &(clump_struct_desc){sizeof(clump_struct_desc), "A", 4, 0, NULL}, ids,
                      100, NULL, &made));
    assert_int_equal(made, 64);
    cl_fixture_expect_words(clump_context_get_error(on.clump),
                            clump_heap_convert(failed, &desc, NULL), CLUMP_ERR_USAGE,
                            "clump_heap_take_errors() first", "errors", __LINE__);
    clump_device_report report = {.size = sizeof report}; /* they are still there */
    CHECK_STATUS(&on, clump_heap_take_errors(failed, &report), CLUMP_ERR_DEVICE);
    assert_int_equal(report.errors[CLUMP_DEVICE_OUT_OF_MEMORY].count, 36);
    CHECK_OK(&on, clump_heap_convert(failed, &desc, NULL));
    CHECK_HEAP(&on, failed);
    clump_heap_destroy(failed);
    clump_schema_destroy(schema);
}

int main(void) {
    const int code = cl_fixture_open(&on, NULL);
    if (code) return code;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(schemas),
        cmocka_unit_test(wrong_calls),
        cmocka_unit_test(no_room),
        cmocka_unit_test(unseen_errors),
    };
    const int failed = cmocka_run_group_tests(tests, open_all, close_all);
    cl_fixture_close(&on);
    return failed;
}
