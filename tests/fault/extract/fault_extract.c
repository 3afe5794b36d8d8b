/* Wrong arguments of clump_heap_extract(), clump_heap_insert() and of the calls on extracts: each
 * is refused with words that say what was wrong, and changes nothing.
 *
 * Read first: include/clump/extract.h.
 */
#include <stdlib.h>
#include <string.h>

#include "cl_fixture.h"
#include "heap/access.h"
#include "saved_heap.h"

static const char text[] =
    "abstract class Z { uint z; }\n"
    "class A : Z { uint id; ref A next; float2 at[2]; float mass; ulong many[2]; }\n"
    "class B { ref A a; uchar flag; }\n";
enum { COUNT = 70 };

static cl_fixture on;
static clump_heap *heap;
static clump_ref refs[COUNT];
static clump_extract *extract; /* of all */

static int open_all(void **state) {
    const clump_struct_desc a = {sizeof a, "A", 4, 0, NULL}, b = {sizeof b, "B", 4, 0, NULL};
    const char *const all[] = {"A", "B"};
    uint32_t zeros[COUNT] = {0};
    heap = cl_fixture_heap(&on, text, 1 << 20, 1);
    CHECK_OK(&on, clump_heap_new_structs(heap, &a, zeros, COUNT, refs, NULL));
    CHECK_OK(&on, clump_heap_new_structs(heap, &b, zeros, COUNT, NULL, NULL));
    CHECK_OK(&on, clump_heap_write_field(heap, "B", "a", 0, sizeof *refs, refs, COUNT));
    CHECK_OK(&on, clump_heap_extract(
                      heap,
                      &(clump_extract_desc){
                          .size = sizeof(clump_extract_desc), .classes = all, .class_count = 2},
                      &extract, NULL));
    return 0;
}

static int close_all(void **state) {
    clump_extract_destroy(extract);
    clump_heap_destroy(heap);
    return 0;
}

static void expect_objects(clump_heap *h, uint64_t objects) {
    clump_heap_stats stats = {.size = sizeof stats};
    CHECK_OK(&on, clump_heap_read_stats(h, &stats, NULL, 0));
    assert_int_equal(stats.objects, objects);
    CHECK_HEAP(&on, h);
}

static void refused(clump_heap *h, clump_extract_desc desc, clump_status status,
                    const char *words) {
    clump_extract *e = (clump_extract *)&desc;
    clump_extract_report report = {.size = sizeof report, .objects = 7};
    desc.free_objects = 1;
    cl_fixture_expect_words(clump_context_get_error(on.clump),
                            clump_heap_extract(h, &desc, &e, &report), status, words, words,
                            __LINE__);
    assert_null(e);
    assert_int_equal(report.objects, 0);
}

static void wrong_choices(void **state) {
    const char *const none[] = {"A", "Nobody"}, *const null[] = {NULL};
    cl_mem buffer = cl_fixture_buffer(&on, refs, sizeof refs);
    clump_ref some[COUNT];
    clump_extract *e = NULL;
    memcpy(some, refs, sizeof some);
    some[3] = refs[3] + 64 * 4096;
    some[40] = 0xfffffff0u;
    cl_mem wrong = cl_fixture_buffer(&on, some, sizeof some);
    const clump_extract_desc good = {.size = sizeof good, .refs = refs, .ref_count = COUNT};
    refused(heap, (clump_extract_desc){.size = sizeof(clump_extract_desc)}, CLUMP_ERR_USAGE,
            "no objects are chosen");
    refused(heap, (clump_extract_desc){.size = sizeof(clump_extract_desc), .follow = 1},
            CLUMP_ERR_USAGE, "no objects are chosen");
    refused(
        heap,
        (clump_extract_desc){.size = sizeof(clump_extract_desc), .classes = none, .ref_count = 3},
        CLUMP_ERR_USAGE, "ref_count is not 0");
    refused(
        heap,
        (clump_extract_desc){.size = sizeof(clump_extract_desc), .refs = refs, .class_count = 3},
        CLUMP_ERR_USAGE, "class_count is not 0");
    refused(heap,
            (clump_extract_desc){
                .size = sizeof(clump_extract_desc), .refs = refs, .ref_buffer_count = 3},
            CLUMP_ERR_USAGE, "ref_buffer_count is not 0");
    refused(
        heap,
        (clump_extract_desc){.size = sizeof(clump_extract_desc), .refs = some, .ref_count = COUNT},
        CLUMP_ERR_REFERENCE,
        "2 of 70 references in refs name no live object. The first one is number 3, 0x");
    refused(heap,
            (clump_extract_desc){
                .size = sizeof(clump_extract_desc), .ref_buffer = wrong, .ref_buffer_count = COUNT},
            CLUMP_ERR_REFERENCE, "2 of 70 references in ref_buffer");
    refused(heap,
            (clump_extract_desc){.size = sizeof(clump_extract_desc),
                                 .ref_buffer = wrong,
                                 .ref_buffer_at = 160,
                                 .ref_buffer_count = COUNT - 40},
            CLUMP_ERR_REFERENCE,
            "1 of 30 references in ref_buffer name no live object. The first one is number 0, "
            "0xfffffff0");
    refused(heap,
            (clump_extract_desc){.size = sizeof(clump_extract_desc),
                                 .ref_buffer = buffer,
                                 .ref_buffer_count = COUNT + 1},
            CLUMP_ERR_USAGE, "71 references from byte 0 on do not fit");
    refused(heap,
            (clump_extract_desc){.size = sizeof(clump_extract_desc),
                                 .ref_buffer = buffer,
                                 .ref_buffer_at = 4,
                                 .ref_buffer_count = COUNT},
            CLUMP_ERR_USAGE, "70 references from byte 4 on do not fit");
    refused(heap,
            (clump_extract_desc){.size = sizeof(clump_extract_desc),
                                 .ref_buffer = buffer,
                                 .ref_buffer_at = UINT64_MAX - 3},
            CLUMP_ERR_USAGE, "do not fit in a buffer of 280 bytes");
    refused(heap,
            (clump_extract_desc){.size = sizeof(clump_extract_desc),
                                 .ref_buffer = buffer,
                                 .ref_buffer_at = 2,
                                 .ref_buffer_count = 1},
            CLUMP_ERR_USAGE, "multiple of 4");
    cl_mem foreign = cl_fixture_foreign_buffer(&on, 65536);
    refused(heap,
            (clump_extract_desc){
                .size = sizeof(clump_extract_desc), .ref_buffer = foreign, .ref_buffer_count = 1},
            CLUMP_ERR_USAGE, "the buffer of references belongs to another cl_context");
    refused(heap,
            (clump_extract_desc){.size = sizeof(clump_extract_desc),
                                 .refs = refs,
                                 .ref_count = COUNT,
                                 .buffer = foreign},
            CLUMP_ERR_USAGE, "the buffer of an extract belongs to another cl_context");
    clReleaseMemObject(foreign);
    refused(
        heap,
        (clump_extract_desc){.size = sizeof(clump_extract_desc), .classes = none, .class_count = 2},
        CLUMP_ERR_NOT_FOUND, "Nobody");
    refused(
        heap,
        (clump_extract_desc){.size = sizeof(clump_extract_desc), .classes = null, .class_count = 1},
        CLUMP_ERR_NOT_FOUND, "no class");
    refused(heap, (clump_extract_desc){.size = sizeof(clump_extract_desc), .where_class = "B"},
            CLUMP_ERR_USAGE, "set both where_class and where_field");
    refused(heap, (clump_extract_desc){.size = sizeof(clump_extract_desc), .where_field = "flag"},
            CLUMP_ERR_USAGE, "set both where_class and where_field");
    refused(heap,
            (clump_extract_desc){
                .size = sizeof(clump_extract_desc), .where_class = "C", .where_field = "flag"},
            CLUMP_ERR_NOT_FOUND, "C");
    refused(heap,
            (clump_extract_desc){
                .size = sizeof(clump_extract_desc), .where_class = "Z", .where_field = "flag"},
            CLUMP_ERR_NOT_FOUND, "no field \"flag\"");
    refused(heap,
            (clump_extract_desc){
                .size = sizeof(clump_extract_desc), .where_class = "A", .where_field = "mass"},
            CLUMP_ERR_USAGE, "mass of class A is float");
    refused(heap,
            (clump_extract_desc){
                .size = sizeof(clump_extract_desc), .where_class = "A", .where_field = "at"},
            CLUMP_ERR_USAGE, "at of class A is float2[2]");
    refused(heap,
            (clump_extract_desc){
                .size = sizeof(clump_extract_desc), .where_class = "A", .where_field = "many"},
            CLUMP_ERR_USAGE, "many of class A is ulong[2]");
    refused(heap,
            (clump_extract_desc){
                .size = sizeof(clump_extract_desc), .where_class = "A", .where_field = "next"},
            CLUMP_ERR_USAGE, "next of class A is a reference. Name the objects");
    CHECK_STATUS(&on, clump_heap_extract(heap, NULL, &e, NULL), CLUMP_ERR_USAGE);
    CHECK_STATUS(&on, clump_heap_extract(heap, &good, NULL, NULL), CLUMP_ERR_USAGE);
    assert_int_equal(clump_heap_extract(NULL, &good, &e, NULL), CLUMP_ERR_USAGE);
    clReleaseMemObject(buffer);
    clReleaseMemObject(wrong);
    expect_objects(heap, 2 * COUNT);
    /* No reference at all is a choice. */
    clump_extract_report report = {.size = sizeof report};
    CHECK_OK(&on, clump_heap_extract(
                      heap,
                      &(clump_extract_desc){
                          .size = sizeof(clump_extract_desc), .refs = refs, .free_objects = 1},
                      &e, &report));
    assert_int_equal(report.objects + report.bytes, 0);
    CHECK_OK(&on, clump_heap_insert(heap, e, NULL));
    clump_extract_destroy(e);
    expect_objects(heap, 2 * COUNT);
}

/* A block says that it has no objects, but their bits are there. What is chosen and not listed must
 * not go. */
static void corrupt(void **state) {
    const clump_struct_desc a = {sizeof a, "A", 4, 0, NULL};
    const char *const all[] = {"A"};
    uint32_t zeros[COUNT] = {0}, word;
    clump_ref some[COUNT];
    clump_heap *other = cl_fixture_heap(&on, text, 1 << 20, 1);
    CHECK_OK(&on, clump_heap_new_structs(other, &a, zeros, COUNT, some, NULL));
    const clumpi_header *h = &clumpi_heap_geometry(other)->header;
    const uint64_t block = (some[0] >> 6) / h->block_granules,
                   at = (uint64_t)h->at_states * CLUMPI_UNIT + 4 * block;
    CHECK_CL(clEnqueueReadBuffer(on.queue, clumpi_heap_buffer(other), CL_TRUE, at, 4, &word, 0,
                                 NULL, NULL));
    word &= ~CLUMPI_CREDIT_MASK;
    CHECK_CL(clEnqueueWriteBuffer(on.queue, clumpi_heap_buffer(other), CL_TRUE, at, 4, &word, 0,
                                  NULL, NULL));
    refused(
        other,
        (clump_extract_desc){.size = sizeof(clump_extract_desc), .classes = all, .class_count = 1},
        CLUMP_ERR_CORRUPT, "objects are in the list of objects. Call clump_heap_check()");
    uint64_t bits;
    CHECK_CL(clEnqueueReadBuffer(on.queue, clumpi_heap_buffer(other), CL_TRUE,
                                 (uint64_t)h->at_bits * CLUMPI_UNIT + 8 * (uint64_t)(some[0] >> 6),
                                 8, &bits, 0, NULL, NULL));
    assert_int_equal(bits, UINT64_MAX);
    clump_heap_destroy(other);
}

/* ---- Insertion ------------------------------------------------------------------------------- */

static void schemas(void **state) {
    static const struct {
        const char *text, *words;
    } cases[] = {
        {"class A { uint z; uint id; ref A next; float2 at[2]; float mass; ulong many[2]; }",
         "70 objects of class B, which the heap's schema lacks"},
        {"abstract class B { uchar flag; ref A a; } class A : B { uint z; uint id; ref A next; "
         "float2 at[2]; float mass; ulong many[2]; }",
         "field flag of class A is in the heap's schema, but not in the extract"},
        {"class A { uint z; uint id; ref A next; float2 at[2]; float mass; ulong many[2]; } "
         "abstract class B { uchar flag; ref A a; } class C : B { uint c; }",
         "70 objects of class B, which is abstract in the heap's schema"},
        {"class A { uint z; uint id; ref A next; float2 at[2]; ulong many[2]; } class B { uchar "
         "flag; ref A a; }",
         "field mass of class A is in the extract, but not in the heap's schema"},
        {"class A { uint z; uint id; ref A next; float2 at[2]; float mass; ulong many[2]; float "
         "more; } class B { uchar flag; ref A a; }",
         "field more of class A is in the heap's schema, but not in the extract"},
        {"class A { uint z; uint id; ref A next; float2 at[3]; float mass; ulong many[2]; } class "
         "B { uchar flag; ref A a; }",
         "field at of class A is float2[2] in the extract, but float2[3] in the heap's schema"},
        {"class A { uint z; int id; ref A next; float2 at[2]; float mass; ulong many[2]; } class B "
         "{ uchar flag; ref A a; }",
         "field id of class A is uint in the extract, but int in the heap's schema"},
        {"class A { uint z; uint id; ref A next; float2 at[2]; float mass; ulong many[2]; } class "
         "B { uchar flag; ref B a; }",
         "field a of class B refers to class A in the extract, but to class B in the heap's "
         "schema"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        clump_heap *other = cl_fixture_heap(&on, cases[i].text, 1 << 20, 1);
        cl_fixture_expect_words(clump_context_get_error(on.clump),
                                clump_heap_insert(other, extract, NULL), CLUMP_ERR_SCHEMA,
                                cases[i].words, "insert", __LINE__);
        expect_objects(other, 0);
        clump_heap_destroy(other);
    }
}

/* A buffer of the caller is too small by a byte; what it has to hold is told. */
static void small_buffer(void **state) {
    const char *const all[] = {"A", "B"};
    const uint64_t bytes = clump_extract_get_info(extract)->bytes;
    clump_extract_desc desc = {
        .size = sizeof desc, .classes = all, .class_count = 2, .free_objects = 1};
    clump_extract_report report = {.size = sizeof report};
    clump_extract *e;
    desc.buffer = cl_fixture_buffer(&on, NULL, bytes - 1);
    cl_fixture_expect_words(clump_context_get_error(on.clump),
                            clump_heap_extract(heap, &desc, &e, &report), CLUMP_ERR_TOO_SMALL,
                            "the 140 objects need", "extract", __LINE__);
    assert_null(e);
    assert_int_equal(report.objects, 2 * COUNT);
    assert_int_equal(report.bytes, bytes);
    clReleaseMemObject(desc.buffer);
    expect_objects(heap, 2 * COUNT);
    desc.free_objects = 0;
    desc.buffer = cl_fixture_buffer(&on, NULL, bytes);
    CHECK_OK(&on, clump_heap_extract(heap, &desc, &e, &report));
    assert_ptr_equal(clump_extract_get_info(e)->buffer, desc.buffer);
    clReleaseMemObject(desc.buffer); /* the extract keeps it */
    uint8_t *a = malloc(bytes), *b = malloc(bytes);
    CHECK_OK(&on, clump_extract_read(extract, a, bytes));
    CHECK_OK(&on, clump_extract_read(e, b, bytes));
    assert_memory_equal(a, b, bytes);
    clump_extract_destroy(e);
    free(a);
    free(b);
}

static void no_room(void **state) {
    clump_heap *small = cl_fixture_heap_of_blocks(&on, text, 1, 1);
    uint32_t zeros[1] = {0};
    const clump_struct_desc b = {sizeof b, "B", 4, 0, NULL};
    CHECK_OK(&on, clump_heap_new_structs(small, &b, zeros, 1, NULL, NULL));
    cl_fixture_expect_words(clump_context_get_error(on.clump),
                            clump_heap_insert(small, extract, NULL), CLUMP_ERR_DEVICE_MEMORY,
                            "the 140 objects need", "insert", __LINE__);
    expect_objects(small, 1);
    clump_heap_destroy(small);
}

static void wrong_calls(void **state) {
    cl_mem buffer = cl_fixture_buffer(&on, NULL, 4 * 2 * COUNT);
    clump_heap *into = cl_fixture_heap(&on, text, 1 << 20, 1);
    cl_fixture_expect_words(
        clump_context_get_error(on.clump),
        clump_heap_insert(
            into, extract,
            &(clump_insert_desc){
                .size = sizeof(clump_insert_desc), .ref_buffer = buffer, .ref_buffer_at = 4}),
        CLUMP_ERR_USAGE, "140 references from byte 4 on do not fit", "insert", __LINE__);
    cl_fixture_expect_words(
        clump_context_get_error(on.clump),
        clump_heap_insert(
            into, extract,
            &(clump_insert_desc){
                .size = sizeof(clump_insert_desc), .ref_buffer = buffer, .ref_buffer_at = 1}),
        CLUMP_ERR_USAGE, "multiple of 4", "insert", __LINE__);
    CHECK_STATUS(&on, clump_heap_insert(into, NULL, NULL), CLUMP_ERR_USAGE);
    assert_int_equal(clump_heap_insert(NULL, extract, NULL), CLUMP_ERR_USAGE);
    expect_objects(into, 0);
    CHECK_OK(&on, clump_heap_insert(into, extract,
                                    &(clump_insert_desc){.size = sizeof(clump_insert_desc),
                                                         .ref_buffer = buffer}));
    expect_objects(into, 2 * COUNT);
    clump_heap_destroy(into);
    clReleaseMemObject(buffer);
}

static void wrong_moves(void **state) {
    clump_heap *into = cl_fixture_heap(&on, "class A { uint other; }", 1 << 20, 1);
    const clump_extract_desc desc = {.size = sizeof desc, .refs = refs, .ref_count = COUNT},
                             none = {.size = sizeof none, .ref_count = 1};
    clump_extract *e = (clump_extract *)&desc;
    clump_extract_report report = {.size = sizeof report, .objects = 7};
    cl_fixture_expect_words(clump_context_get_error(on.clump),
                            clump_heap_migrate(heap, &desc, heap, NULL, &e, &report),
                            CLUMP_ERR_USAGE, "must be different", "migrate", __LINE__);
    assert_null(e);
    assert_int_equal(report.objects, 0);
    CHECK_STATUS(&on, clump_heap_migrate(heap, NULL, into, NULL, NULL, NULL), CLUMP_ERR_USAGE);
    CHECK_STATUS(&on, clump_heap_migrate(heap, &none, into, NULL, NULL, NULL), CLUMP_ERR_USAGE);
    CHECK_STATUS(&on, clump_heap_migrate(heap, &desc, into, NULL, NULL, NULL), CLUMP_ERR_SCHEMA);
    assert_int_equal(clump_heap_migrate(NULL, &desc, into, NULL, NULL, NULL), CLUMP_ERR_USAGE);
    assert_int_equal(clump_heap_migrate(heap, &desc, NULL, NULL, NULL, NULL), CLUMP_ERR_USAGE);
    expect_objects(heap, 2 * COUNT);
    expect_objects(into, 0);
    /* Nothing to move is no failure. */
    CHECK_OK(&on, clump_heap_migrate(
                      heap, &(clump_extract_desc){.size = sizeof(clump_extract_desc), .refs = refs},
                      into, NULL, NULL, &report));
    assert_int_equal(report.objects, 0);
    expect_objects(heap, 2 * COUNT);
    clump_heap_destroy(into);
}

/* ---- Extracts -------------------------------------------------------------------------------- */

static void refused_create(const clump_schema *schema, const uint64_t *objects, const void *data,
                           uint64_t bytes, const char *words) {
    clump_extract *e = (clump_extract *)&on;
    cl_fixture_expect_words(clump_context_get_error(on.clump),
                            clump_extract_create(on.clump, schema, objects, data, bytes, &e, NULL),
                            CLUMP_ERR_USAGE, words, words, __LINE__);
    assert_null(e);
}

static void extracts(void **state) {
    const clump_schema *schema = clump_extract_get_info(extract)->schema;
    const uint64_t bytes = clump_extract_get_info(extract)->bytes;
    uint8_t *data = calloc(bytes + 1, 1);
    uint64_t objects[3];
    clump_class_info a, b, z;
    clump_extract *e;
    a = *clump_schema_find_class(schema, "A");
    b = *clump_schema_find_class(schema, "B");
    z = *clump_schema_find_class(schema, "Z");
    for (uint32_t id = 1; id <= 3; id++)
        objects[id - 1] = clump_extract_get_info(extract)->objects[id];
    refused_create(NULL, objects, data, bytes, "needs a schema");
    refused_create(schema, NULL, data, bytes, "needs a schema");
    refused_create(schema, objects, NULL, bytes, "but `data` is NULL");
    refused_create(schema, objects, data, bytes - 1, "the 140 objects need");
    refused_create(schema, objects, data, bytes + 1, "the 140 objects need");
    objects[z.id - 1] = 1;
    refused_create(schema, objects, data, bytes,
                   "1 objects of class Z are not possible: it is abstract");
    objects[z.id - 1] = 0;
    objects[a.id - 1] = UINT32_MAX / 2; /* known to be wrong before a buffer is made for them */
    refused_create(schema, objects, data, bytes, "objects need");
    objects[a.id - 1] = UINT32_MAX;
    refused_create(schema, objects, NULL, 0, "too many objects");
    objects[a.id - 1] = UINT64_MAX;
    refused_create(schema, objects, NULL, 0, "too many objects");
    objects[a.id - 1] = UINT32_MAX - 64 - COUNT;
    objects[b.id - 1] = COUNT + 1;
    refused_create(schema, objects, NULL, 0, "too many objects");
    assert_int_equal(clump_extract_create(NULL, schema, objects, NULL, 0, &e, NULL),
                     CLUMP_ERR_USAGE);
    CHECK_STATUS(&on, clump_extract_create(on.clump, schema, objects, NULL, 0, NULL, NULL),
                 CLUMP_ERR_USAGE);
    CHECK_STATUS(&on, clump_extract_read(extract, data, bytes - 1), CLUMP_ERR_USAGE);
    CHECK_STATUS(&on, clump_extract_read(extract, NULL, bytes), CLUMP_ERR_USAGE);
    assert_int_equal(clump_extract_read(NULL, data, bytes), CLUMP_ERR_USAGE);
    assert_int_equal(clump_extract_get_info(NULL)->column_count, 0);
    assert_int_equal(clump_extract_get_info(extract)->objects[4], 0);
    assert_int_equal(clump_extract_get_info(NULL)->objects[0], 0);
    assert_int_equal(clump_extract_get_info(NULL)->bytes, 0);
    assert_null(clump_extract_get_info(NULL)->buffer);
    assert_null(clump_extract_get_info(NULL)->refs);
    assert_null(clump_extract_get_info(NULL)->schema);
    clump_extract_destroy(NULL);
    free(data);
}

static void load_refused(const clump_load_desc *desc, clump_status status, const char *words) {
    clump_extract *e = extract;
    clump_extract_report report = {.size = sizeof report, .objects = 7};
    cl_fixture_expect_words(clump_context_get_error(on.clump),
                            clump_extract_load(on.clump, desc, &e, &report, NULL), status, words,
                            words, __LINE__);
    assert_null(e);
    assert_int_equal(report.objects, 0);
}

/* Saved heaps that cannot be extracts: nothing stays of them. */
static void wrong_files(void **state) {
    memory_file file = saved_bytes(&on, heap, 0);
    clump_load_desc desc = {.size = sizeof desc, .read = memory_read, .user = &file};
    clump_extract *e = extract;
    assert_int_equal(clump_extract_load(NULL, &desc, &e, NULL, NULL), CLUMP_ERR_USAGE);
    assert_null(e);
    cl_fixture_expect_words(clump_context_get_error(on.clump),
                            clump_extract_load(on.clump, &desc, NULL, NULL, NULL), CLUMP_ERR_USAGE,
                            "clump_extract_load", "a pointer for the result", __LINE__);
    load_refused(NULL, CLUMP_ERR_USAGE, "clump_extract_load");
    load_refused(&(clump_load_desc){.size = sizeof(clump_load_desc)}, CLUMP_ERR_USAGE,
                 "clump_extract_load");
    load_refused(&(clump_load_desc){.size = sizeof(clump_load_desc), .path = "no/such/file"},
                 CLUMP_ERR_IO, "no/such/file");
    for (size_t at = 9; at < file.bytes; at += 61) {
        file.data[at] ^= 8;
        file.at = 0;
        load_refused(&desc, CLUMP_ERR_FORMAT, "");
        file.data[at] ^= 8;
    }
    const size_t bytes = file.bytes;
    for (file.bytes = 0; file.bytes < bytes; file.bytes += 83) {
        file.at = 0;
        load_refused(&desc, CLUMP_ERR_FORMAT, "");
    }
    file.bytes = bytes;
    file.at = 0;
    CHECK_OK(&on, clump_extract_load(on.clump, &desc, &e, NULL, NULL));
    assert_int_equal(clump_extract_get_info(e)->objects[0], 2 * COUNT);
    clump_extract_destroy(e);
    memory_release(&file);
}

int main(void) {
    const int code = cl_fixture_open(&on, NULL);
    if (code) return code;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_choices), cmocka_unit_test(corrupt),
        cmocka_unit_test(schemas),       cmocka_unit_test(small_buffer),
        cmocka_unit_test(no_room),       cmocka_unit_test(wrong_calls),
        cmocka_unit_test(extracts),      cmocka_unit_test(wrong_moves),
        cmocka_unit_test(wrong_files),
    };
    const int failed = cmocka_run_group_tests(tests, open_all, close_all);
    cl_fixture_close(&on);
    return failed;
}
