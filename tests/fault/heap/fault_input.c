/* Bad input to every public call: the right status, words that say what was wrong, nothing changed.
 *
 * "Nothing changed" means: after each refused call the heap passes its check, its statistics are
 * what they were, and results are NULL, 0 or untouched. What a schema can have wrong is in
 * unit/test_schema_errors.c; here it is only what the calls of heaps, programs and kernels refuse.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cl_fixture.h"

static const char schema_text[] =
    "abstract class Agent { ref Agent friend; }"
    "class Body : Agent { float x; uint id; ushort pair[3]; }"
    "class Star : Body { float mass; }";

static const char source[] =
    "__kernel void init(CLUMP_HEAP) { CLUMP_FOR_EACH_NEW(Body, self, i) Body_id(self) = i; }\n"
    "__kernel void move(CLUMP_HEAP_NO_ALLOC, float dt, __local uint *scratch) {\n"
    "    CLUMP_FOR_EACH(Body, self) Body_x(self) += dt;\n"
    "}\n"
    "__kernel void count(CLUMP_HEAP_NO_ALLOC) {\n"
    "    uint n = 0;\n"
    "    CLUMP_FOR_EACH(Body, self) n++;\n"
    "    CLUMP_REDUCE(uint, n, CLUMP_SUM);\n"
    "}\n"
    /* its compiler emits invalid PTX for a kernel without parameters */
    "#ifndef __NV_CL_C_VERSION\n"
    "__kernel void bare(void) {}\n"
    "#endif\n"
    "__kernel void plain(__global uint *values) { values[0] = 1; }\n"
    "__kernel void number(uint clump_heap_bytes, CLUMP_HEAP) { clump_heap[0] = 0; }\n";

#define OBJECTS 500u
#define HEAP_BYTES (1u << 20)

static struct {
    cl_fixture on;
    clump_schema *schema;
    clump_heap *heap;
    clump_program *program;
    clump_kernel *init, *move, *count;
    clump_ref refs[OBJECTS];
    /* What must not change. */
    clump_heap_stats stats;
    clump_class_stats classes[3];
} t;

/* ---- What must hold after a refused call ----------------------------------------------------- */

static void check_unchanged(const char *call, int line) {
    clump_heap_stats stats = {.size = sizeof stats};
    clump_class_stats classes[3] = {{.size = sizeof *classes}};
    clump_error kept = *clump_context_get_error(t.on.clump);
    if (clump_heap_check(t.heap) || clump_heap_read_stats(t.heap, &stats, classes, 3) ||
        clump_heap_take_errors(t.heap, NULL))
        fail_msg("line %d, after %s: %s", line, call, clump_context_get_error(t.on.clump)->message);
    for (int i = 0; i < 3; i++) classes[i].reserved = t.classes[i].reserved; /* as lists come */
    if (memcmp(&stats, &t.stats, sizeof stats) != 0 ||
        memcmp(classes, t.classes, sizeof classes) != 0)
        fail_msg("line %d: %s was refused but changed the heap's objects", line, call);
    /* Calls that succeed leave the last error alone. */
    assert_memory_equal(clump_context_get_error(t.on.clump), &kept, sizeof kept);
}

/* The call is refused, and the context's error says so. */
#define REFUSED(status, words, call)                                                               \
    do {                                                                                           \
        clump_status found_ = (call);                                                              \
        cl_fixture_expect_words(clump_context_get_error(t.on.clump), found_, (status), (words),    \
                                #call, __LINE__);                                                  \
        check_unchanged(#call, __LINE__);                                                          \
    } while (0)

/* There is no object to ask for words. */
#define REFUSED_SILENTLY(call)                                                                     \
    do {                                                                                           \
        assert_int_equal((call), CLUMP_ERR_USAGE);                                                 \
        check_unchanged(#call, __LINE__);                                                          \
    } while (0)

#define USAGE CLUMP_ERR_USAGE
#define NOT_FOUND CLUMP_ERR_NOT_FOUND

static clump_schema *parse(const char *text) {
    clump_schema *s;
    clump_error error;
    if (clump_schema_parse(text, strlen(text), NULL, &s, &error)) fail_msg("%s", error.message);
    return s;
}

static int set_up(void **state) {
    t.schema = parse(schema_text);
    t.heap = cl_fixture_heap(&t.on, schema_text, HEAP_BYTES, 0);
    t.program = cl_fixture_program(&t.on, t.heap, source, NULL, NULL);
    t.init = cl_fixture_kernel(&t.on, t.program, "init");
    t.move = cl_fixture_kernel(&t.on, t.program, "move");
    t.count = cl_fixture_kernel(&t.on, t.program, "count");
    uint64_t made = 0, count = 0;
    CHECK_OK(&t.on, clump_heap_do_new(t.heap, t.init, "Body", OBJECTS, &made, NULL));
    assert_int_equal(made, OBJECTS);
    CHECK_OK(&t.on, clump_heap_read_refs(t.heap, "Body", t.refs, OBJECTS, &count));
    CHECK_OK(&t.on, clump_heap_check(t.heap));
    CHECK_OK(&t.on, clump_heap_read_stats(t.heap, NULL, NULL, 0)); /* as check_unchanged() does */
    t.stats.size = sizeof t.stats;
    t.classes[0].size = sizeof t.classes[0];
    CHECK_OK(&t.on, clump_heap_read_stats(t.heap, &t.stats, t.classes, 3));
    assert_int_equal(t.stats.objects, OBJECTS);
    return 0;
}

static int tear_down(void **state) {
    clump_kernel_destroy(t.init);
    clump_kernel_destroy(t.move);
    clump_kernel_destroy(t.count);
    clump_program_destroy(t.program);
    clump_heap_destroy(t.heap);
    clump_schema_destroy(t.schema);
    return 0;
}

/* ---- Contexts -------------------------------------------------------------------------------- */

static void refuse_context(const clump_context_desc *desc, const char *words, int line) {
    clump_context *made = (clump_context *)&t;
    clump_error error = {.status = CLUMP_OK};
    clump_status status = clump_context_create(desc, &made, &error);
    cl_fixture_expect_words(&error, status, USAGE, words, "clump_context_create", line);
    assert_null(made);
    made = (clump_context *)&t;
    assert_int_equal(clump_context_create(desc, &made, NULL), USAGE); /* words are optional */
    assert_null(made);
}

static void *some_allocate(void *user, size_t bytes) {
    return malloc(bytes);
}

static void contexts(void **state) {
    const clump_context_desc good = {
        .size = sizeof good, .context = t.on.context, .device = t.on.device, .queue = t.on.queue};
    clump_context_desc d = good;
    clump_error error;
    assert_int_equal(clump_context_create(&good, NULL, &error), USAGE);
    refuse_context(NULL, "needs a desc", __LINE__);
    d.context = NULL;
    refuse_context(&d, "context, device and queue", __LINE__);
    d = good;
    d.device = NULL;
    refuse_context(&d, "context, device and queue", __LINE__);
    d = good;
    d.queue = NULL;
    refuse_context(&d, "context, device and queue", __LINE__);
    d = good;
    d.allocator.allocate = some_allocate;
    refuse_context(&d, "or none", __LINE__);
    d = good;
    cl_int code;
    d.context = clCreateContext(NULL, 1, &t.on.device, NULL, NULL, &code);
    CHECK_CL(code);
    refuse_context(&d, "another cl_context", __LINE__);
    clReleaseContext(d.context);
    clump_context_destroy(NULL);
    check_unchanged("clump_context_create", __LINE__);
}

/* rusticl of Mesa 22.3 has no sub-devices, says so, and crashes when it is asked for some. */
static int has_sub_devices(void) {
    cl_device_partition_property ways[16] = {0};
    size_t bytes = 0;
    if (clGetDeviceInfo(t.on.device, CL_DEVICE_PARTITION_PROPERTIES, sizeof ways, ways, &bytes))
        return 0;
    for (size_t i = 0; i < bytes / sizeof *ways; i++)
        if (ways[i] == CL_DEVICE_PARTITION_EQUALLY) return 1;
    return 0;
}

/* A queue on another device of the same context; half of the device serves as the other one. */
static void queue_of_another_device(void **state) {
    const cl_device_partition_property halves[] = {CL_DEVICE_PARTITION_EQUALLY, 1, 0};
    cl_device_id parts[64] = {NULL};
    cl_uint count = 0;
    cl_int code = CL_SUCCESS;
    if (has_sub_devices()) code = clCreateSubDevices(t.on.device, halves, 64, parts, &count);
    if (code || count == 0) {
        print_message("left out: the device has no sub-devices (%d)\n", (int)code);
        skip();
    }
    cl_device_id both[2] = {t.on.device, parts[0]};
    cl_context context = clCreateContext(NULL, 2, both, NULL, NULL, &code);
    if (code) {
        print_message("left out: no context of a device and its sub-device (%d)\n", (int)code);
        skip();
    }
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations" /* OpenCL 1.2 has no other */
    cl_command_queue queue = clCreateCommandQueue(context, parts[0], 0, &code);
#pragma GCC diagnostic pop
    CHECK_CL(code);
    clump_context_desc d = {
        .size = sizeof d, .context = context, .device = t.on.device, .queue = queue};
    refuse_context(&d, "another device", __LINE__);
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
    for (cl_uint i = 0; i < count && i < 64; i++) clReleaseDevice(parts[i]);
}

static void probes(void **state) {
    clump_capabilities c = {.size = sizeof c};
    clump_error error;
    assert_int_equal(clump_device_probe(NULL, 0, &c, &error), USAGE);
    assert_non_null(strstr(error.message, "needs a device"));
    assert_int_equal(clump_device_probe(t.on.device, 0, NULL, NULL), USAGE);
    assert_int_equal(clump_device_probe(t.on.device, CLUMP_FEATURE_ALL, &c, NULL), CLUMP_OK);
    assert_int_equal(c.features, 0);
    assert_int_equal(c.word_bits, 32);
    assert_string_equal(c.coalescing, "scalar");
}

/* ---- Schemas --------------------------------------------------------------------------------- */

static void schemas(void **state) {
    clump_schema *s = (clump_schema *)&t;
    clump_error error;
    clump_allocator partly = {.allocate = some_allocate};
    assert_int_equal(clump_schema_parse("", 0, &partly, &s, NULL), USAGE);
    assert_null(s);
    assert_int_equal(clump_schema_parse(NULL, 5, NULL, &s, &error), USAGE);
    assert_int_equal(clump_schema_parse("class", 5, NULL, NULL, &error), USAGE);
    assert_int_equal(clump_schema_parse("class", 5, NULL, &s, &error), CLUMP_ERR_SCHEMA);
    assert_null(s);
    assert_int_equal(clump_schema_parse_file("no/such/file", NULL, &s, &error), CLUMP_ERR_IO);
    assert_non_null(strstr(error.message, "no/such/file"));
    assert_null(s);
    assert_int_equal(clump_schema_parse_file(NULL, NULL, &s, &error), USAGE);
    assert_int_equal(clump_schema_get_info(NULL)->class_count, 0);
    clump_schema_destroy(NULL);
}

/* ---- Heaps ----------------------------------------------------------------------------------- */

static clump_status make_heap(const clump_schema *schema, uint64_t bytes, double share,
                              uint32_t rows) {
    clump_heap *heap = (clump_heap *)&t;
    clump_heap_desc d = {.size = sizeof d,
                         .context = t.on.clump,
                         .schema = schema,
                         .bytes = bytes,
                         .device_share = share,
                         .block_rows = rows};
    clump_status status = clump_heap_create(&d, &heap, NULL);
    assert_int_equal(heap == NULL, status != CLUMP_OK);
    if (!status) clump_heap_destroy(heap);
    return status;
}

static void heaps(void **state) {
    clump_heap *heap = (clump_heap *)&t;
    clump_heap_desc d = {.size = sizeof d, .schema = t.schema, .bytes = HEAP_BYTES};
    REFUSED_SILENTLY(clump_heap_create(NULL, &heap, NULL));
    REFUSED_SILENTLY(clump_heap_create(&d, &heap, NULL)); /* no context */
    assert_null(heap);
    d.context = t.on.clump;
    REFUSED(USAGE, "a pointer for the heap", clump_heap_create(&d, NULL, NULL));
    REFUSED(USAGE, "needs a schema", make_heap(NULL, HEAP_BYTES, 0, 0));
    REFUSED(USAGE, "one of bytes and device_share", make_heap(t.schema, 0, 0, 0));
    REFUSED(USAGE, "one of bytes and device_share", make_heap(t.schema, HEAP_BYTES, 0.5, 0));
    REFUSED(USAGE, "-0.5", make_heap(t.schema, 0, -0.5, 0));
    REFUSED(USAGE, "1.5", make_heap(t.schema, 0, 1.5, 0));
    REFUSED(USAGE, "device_share", make_heap(t.schema, 0, NAN, 0));
    REFUSED(USAGE, "device_share", make_heap(t.schema, 0, INFINITY, 0));
    REFUSED(USAGE, "block_rows is 65", make_heap(t.schema, HEAP_BYTES, 0, 65));
    REFUSED(USAGE, "block_rows", make_heap(t.schema, HEAP_BYTES, 0, UINT32_MAX));
    assert_int_equal(make_heap(t.schema, HEAP_BYTES, 0, 64), CLUMP_OK);
}

static void heap_sizes(void **state) {
    uint64_t memory = t.on.capabilities->memory_bytes;
    REFUSED(CLUMP_ERR_DEVICE_MEMORY, "too small", make_heap(t.schema, 1, 0, 0));
    REFUSED(CLUMP_ERR_DEVICE_MEMORY, "class Star", make_heap(t.schema, 4096, 0, 0));
    REFUSED(CLUMP_ERR_DEVICE_MEMORY, "too small", make_heap(t.schema, 0, 1e-12, 0));
    REFUSED(CLUMP_ERR_DEVICE_MEMORY, "the device has", make_heap(t.schema, memory + 1, 0, 0));
    REFUSED(CLUMP_ERR_DEVICE_MEMORY, "the device has", make_heap(t.schema, UINT64_MAX, 0, 0));
    REFUSED(CLUMP_ERR_DEVICE_MEMORY, "the device has", make_heap(t.schema, UINT64_MAX / 2, 0, 0));
    /* The message says what would fit: try that, and one byte less. */
    uint64_t needed = 0;
    assert_int_equal(make_heap(t.schema, 4096, 0, 1), CLUMP_ERR_DEVICE_MEMORY);
    const char *words = strstr(clump_context_get_error(t.on.clump)->message, "need ");
    assert_non_null(words);
    needed = strtoull(words + 5, NULL, 10);
    assert_int_equal(make_heap(t.schema, needed, 0, 1), CLUMP_OK);
    assert_int_equal(make_heap(t.schema, needed - 1, 0, 1), CLUMP_ERR_DEVICE_MEMORY);
    /* Objects of one byte take four: 2^26 rows of 64 are all that references can tell apart. */
    clump_schema *bytes = parse("class Byte { uchar b; }");
    uint64_t most = (UINT64_C(1) << 26) * 64 * 4;
    if (memory > most)
        REFUSED(CLUMP_ERR_DEVICE_MEMORY, "17179869184", make_heap(bytes, most + 1, 0, 0));
    clump_schema_destroy(bytes);
}

/* A device that gives less for one buffer than it has in all, as the real one may or may not be:
 * some refuse when the buffer is made, others when it is first written. */
static cl_int no_room_code;

static cl_mem CL_API_CALL no_buffer(cl_context context, cl_mem_flags flags, size_t bytes,
                                    void *memory, cl_int *code) {
    *code = no_room_code;
    return NULL;
}

static cl_int CL_API_CALL no_fill(cl_command_queue queue, cl_mem buffer, const void *pattern,
                                  size_t pattern_bytes, size_t offset, size_t bytes, cl_uint waits,
                                  const cl_event *wait_list, cl_event *event) {
    return no_room_code;
}

static void refuse_room(const clump_cl_functions *cl, const char *words, int line) {
    clump_context_desc c = {.size = sizeof c,
                            .context = t.on.context,
                            .device = t.on.device,
                            .queue = t.on.queue,
                            .cl = cl};
    clump_context *context;
    assert_int_equal(clump_context_create(&c, &context, NULL), CLUMP_OK);
    clump_heap *heap = (clump_heap *)&t;
    clump_heap_desc d = {
        .size = sizeof d, .context = context, .schema = t.schema, .bytes = HEAP_BYTES};
    clump_status status = clump_heap_create(&d, &heap, NULL);
    const clump_error *error = clump_context_get_error(context);
    cl_fixture_expect_words(error, status, CLUMP_ERR_DEVICE_MEMORY, words, "clump_heap_create",
                            line);
    assert_non_null(strstr(error->message, "reports that one buffer can have"));
    assert_int_equal(error->cl_code, no_room_code);
    assert_null(heap);
    clump_context_destroy(context);
}

static void more_than_a_device_gives(void **state) {
    const clump_cl_functions unmade = {.size = sizeof unmade, .CreateBuffer = no_buffer};
    const clump_cl_functions unfilled = {.size = sizeof unfilled, .EnqueueFillBuffer = no_fill};
    char words[64];
    snprintf(words, sizeof words, "no room for a heap of %u bytes", (unsigned)HEAP_BYTES);
    no_room_code = CL_INVALID_BUFFER_SIZE;
    refuse_room(&unmade, words, __LINE__);
    no_room_code = CL_MEM_OBJECT_ALLOCATION_FAILURE;
    refuse_room(&unmade, words, __LINE__);
    refuse_room(&unfilled, words, __LINE__);
    /* For real, where it costs nothing: CPUs take memory page by page. */
    const clump_capabilities *device = t.on.capabilities;
    uint64_t bytes = device->allocation_bytes + (UINT64_C(64) << 20);
    if (!device->is_cpu || bytes > device->memory_bytes) return;
    if (make_heap(t.schema, bytes, 0, 0) != CLUMP_OK) {
        REFUSED(CLUMP_ERR_DEVICE_MEMORY, "one buffer can have", make_heap(t.schema, bytes, 0, 0));
        REFUSED(CLUMP_ERR_DEVICE_MEMORY, "one buffer can have", make_heap(t.schema, 0, 1.0, 0));
    }
}

static void types_that_a_device_lacks(void **state) {
    clump_context_desc d = {.size = sizeof d,
                            .context = t.on.context,
                            .device = t.on.device,
                            .queue = t.on.queue,
                            .disable = CLUMP_FEATURE_FP64};
    clump_context *without;
    clump_heap *heap;
    assert_int_equal(clump_context_create(&d, &without, NULL), CLUMP_OK);
    clump_schema *s = parse("class A { double weight; }");
    clump_heap_desc h = {.size = sizeof h, .context = without, .schema = s, .bytes = HEAP_BYTES};
    clump_status status = clump_heap_create(&h, &heap, NULL);
    cl_fixture_expect_words(clump_context_get_error(without), status, CLUMP_ERR_UNSUPPORTED,
                            "weight", "clump_heap_create", __LINE__);
    assert_null(heap);
    clump_schema_destroy(s);
    clump_context_destroy(without);
}

/* ---- Many classes, large classes ------------------------------------------------------------- */

static clump_schema *many_classes(uint32_t count, clump_status expected) {
    static char text[64 * (CLUMP_CLASSES_MAX + 1)];
    clump_schema *s;
    clump_error error;
    size_t bytes = 0;
    for (uint32_t i = 0; i < count; i++)
        bytes += (size_t)snprintf(text + bytes, sizeof text - bytes, "class C%u { uint x[%u]; }\n",
                                  i, 1 + i % 7);
    assert_int_equal(clump_schema_parse(text, bytes, NULL, &s, &error), expected);
    if (expected) assert_non_null(strstr(error.message, "C250"));
    if (!expected) assert_int_equal(clump_schema_get_info(s)->class_count, CLUMP_CLASSES_MAX);
    return s;
}

static void most_classes(void **state) {
    clump_schema *s = many_classes(CLUMP_CLASSES_MAX + 1, CLUMP_ERR_SCHEMA);
    clump_schema_destroy(s);
    s = many_classes(CLUMP_CLASSES_MAX, CLUMP_OK);
    clump_heap *heap;
    clump_heap_desc d = {.size = sizeof d, .context = t.on.clump, .schema = s, .bytes = 16u << 20};
    CHECK_OK(&t.on, clump_heap_create(&d, &heap, NULL));
    clump_schema_destroy(s);
    CHECK_HEAP(&t.on, heap);
    /* The last class works as any other. */
    clump_program *p = cl_fixture_program(
        &t.on, heap,
        "__kernel void f(CLUMP_HEAP) { CLUMP_FOR_EACH_NEW(C249, o, i) C249_x(o, 0) = i; }", NULL,
        NULL);
    clump_kernel *k = cl_fixture_kernel(&t.on, p, "f");
    static clump_class_stats stats[CLUMP_CLASSES_MAX] = {{.size = sizeof *stats}};
    uint64_t made;
    CHECK_OK(&t.on, clump_heap_do_new(heap, k, "C249", 1000, &made, NULL));
    CHECK_OK(&t.on, clump_heap_read_stats(heap, NULL, stats, CLUMP_CLASSES_MAX));
    assert_int_equal(stats[CLUMP_CLASSES_MAX - 1].objects, 1000);
    CHECK_HEAP(&t.on, heap);
    clump_kernel_destroy(k);
    clump_program_destroy(p);
    clump_heap_destroy(heap);
}

static void large_classes(void **state) {
    clump_schema *s;
    clump_error error;
    const char *text = "class Big { uchar bytes[65537]; }";
    assert_int_equal(clump_schema_parse(text, strlen(text), NULL, &s, &error), CLUMP_ERR_SCHEMA);
    assert_non_null(strstr(error.message, "too large"));
    text = "class Base { uchar a[65536]; } class Sub : Base { uchar b; }";
    assert_int_equal(clump_schema_parse(text, strlen(text), NULL, &s, &error), CLUMP_ERR_SCHEMA);
    assert_non_null(strstr(error.message, "Sub"));
    s = parse("class Big { uchar bytes[65536]; }");
    REFUSED(CLUMP_ERR_DEVICE_MEMORY, "class Big, 4194304", make_heap(s, 8u << 20, 0, 0));
    assert_int_equal(make_heap(s, 32u << 20, 0, 0), CLUMP_OK);
    clump_schema_destroy(s);
}

/* ---- Programs -------------------------------------------------------------------------------- */

static clump_status make_program(const char *text, const char *name, uint32_t retries) {
    clump_program *p = (clump_program *)&t;
    clump_program_desc d = {.size = sizeof d,
                            .heap = t.heap,
                            .source = text,
                            .name = name,
                            .tuning = &(clump_alloc_tuning){.retries = retries}};
    clump_status status = clump_program_create(&d, &p, NULL);
    if (status) assert_null(p);
    clump_program_destroy(p);
    return status;
}

static void programs(void **state) {
    clump_program *p = (clump_program *)&t;
    clump_program_desc d = {.size = sizeof d, .source = source};
    REFUSED_SILENTLY(clump_program_create(NULL, &p, NULL));
    REFUSED_SILENTLY(clump_program_create(&d, &p, NULL)); /* no heap */
    assert_null(p);
    d.heap = t.heap;
    REFUSED(USAGE, "a pointer for the program", clump_program_create(&d, NULL, NULL));
    REFUSED(USAGE, "source", make_program(NULL, NULL, 0));
    REFUSED(USAGE, "name", make_program(source, "", 0));
    REFUSED(USAGE, "name", make_program(source, "a\"b.cl", 0));
    REFUSED(USAGE, "name", make_program(source, "a\nb.cl", 0));
    REFUSED(USAGE, "1025", make_program(source, NULL, 1025));
    clump_program_destroy(NULL);
    clump_kernel_destroy(NULL);
}

/* The place must be that of the user's own text, wherever the library puts it. */
static void refuse_source(const char *text, const char *name, uint32_t line, uint32_t column,
                          const char *words) {
    clump_program *p = NULL;
    cl_fixture_log kept = {.source = text};
    clump_program_desc d = {.size = sizeof d,
                            .heap = t.heap,
                            .source = text,
                            .name = name,
                            .failed = cl_fixture_keep_log,
                            .user = &kept};
    REFUSED(CLUMP_ERR_BUILD, name ? name : "program.cl", clump_program_create(&d, &p, NULL));
    const clump_error *e = clump_context_get_error(t.on.clump);
    if (e->line != line || (column && e->column != column))
        fail_msg("the error is at %u:%u, reported at %u:%u\n%s", line, column, e->line, e->column,
                 e->message);
    assert_non_null(strstr(e->message, words));
    assert_null(p);
    assert_non_null(strstr(kept.log, words));
    assert_true(kept.has_source);
}

static void wrong_sources(void **state) {
    refuse_source("\n__kernel void f(CLUMP_HEAP) {\n    int x = ;\n}\n", "user.cl", 3, 13,
                  "expected");
    refuse_source("__kernel void f(CLUMP_HEAP) { Body b; Body_nope(b) = 1; }", NULL, 1, 0,
                  "Body_nope");
    /* An abstract class has no objects of its own. */
    refuse_source("// one\n__kernel void f(CLUMP_HEAP) {\n\n  Agent a = Agent_new();\n}\n",
                  "a b.cl", 4, 0, "Agent_new");
    /* A Star is a Body, but not the other way round. */
    refuse_source(
        "__kernel void f(CLUMP_HEAP, uint id) {\n"
        "    Body b = {id};\n"
        "    Star s = b;\n}\n",
        NULL, 3, 10, "Star");
}

static void kernels(void **state) {
    /* Some compile to kernels that are not found, others are none. */
    static const char *const built_in[] = {"mix",    "step", "convert_int",
                                           "float4", "if",   "clump_it"};
    clump_kernel *k = (clump_kernel *)&t;
    float dt = 1;
    REFUSED_SILENTLY(clump_kernel_create(NULL, "init", &k, NULL));
    assert_null(k);
    REFUSED(USAGE, "a name and a pointer", clump_kernel_create(t.program, NULL, &k, NULL));
    REFUSED(USAGE, "a name and a pointer", clump_kernel_create(t.program, "init", NULL, NULL));
    REFUSED(NOT_FOUND, "\"nope\". It has ", clump_kernel_create(t.program, "nope", &k, NULL));
    for (size_t i = 0; i < sizeof built_in / sizeof *built_in; i++)
        REFUSED(USAGE, built_in[i], clump_kernel_create(t.program, built_in[i], &k, NULL));
    REFUSED(NOT_FOUND, "\"\"", clump_kernel_create(t.program, "", &k, NULL));
    if (!strstr(clump_context_get_info(t.on.clump)->capabilities->platform_name, "NVIDIA"))
        REFUSED(USAGE, "no parameters", clump_kernel_create(t.program, "bare", &k, NULL));
    REFUSED(USAGE, "first parameter", clump_kernel_create(t.program, "plain", &k, NULL));
    REFUSED(USAGE, "first parameter", clump_kernel_create(t.program, "number", &k, NULL));
    assert_null(k);
    REFUSED_SILENTLY(clump_kernel_set_arg(NULL, 0, sizeof dt, &dt));
    REFUSED(USAGE, "parameter 2", clump_kernel_set_arg(t.move, 2, sizeof dt, &dt));
    REFUSED(USAGE, "4294967295", clump_kernel_set_arg(t.move, UINT32_MAX, sizeof dt, &dt));
    REFUSED(USAGE, "parameter 0", clump_kernel_set_arg(t.init, 0, sizeof dt, &dt));
    assert_int_equal(clump_kernel_get_arg_count(t.move), 2);
    assert_int_equal(clump_kernel_get_arg_count(t.init), 0);
    assert_int_equal(clump_kernel_get_arg_count(NULL), 0);
    REFUSED(USAGE, "0 bytes", clump_kernel_set_arg(t.move, 1, 0, NULL));
}

/* ---- Running --------------------------------------------------------------------------------- */

/* An argument that OpenCL refuses: the code's name, the kernel's, the parameter's, and the size
 * wanted. */
static void arguments_of_wrong_size(void **state) {
    double dt = 1;
    clump_status status = clump_kernel_set_arg(t.move, 0, sizeof dt, &dt);
    const clump_error *e = clump_context_get_error(t.on.clump);
    cl_fixture_expect_words(
        e, status, CLUMP_ERR_CL,
        "clSetKernelArg returned CL_INVALID_ARG_SIZE (-51): kernel move, parameter 0",
        "clump_kernel_set_arg", __LINE__);
    assert_int_equal(e->cl_code, CL_INVALID_ARG_SIZE);
    /* Not every device keeps types and names. */
    assert_non_null(strstr(e->message, strchr(e->message, '(') == strrchr(e->message, '(')
                                           ? "8 bytes"
                                           : "(float dt), 8 bytes, but its type has 4"));
    check_unchanged("clump_kernel_set_arg", __LINE__);
}

/* A kernel by name, and its parameters by value. What lacks is told by the launch. */
#define RUN_WITH(...) clump_heap_do_all(t.heap, clump_kernel_with(k, CLUMP_ARGS(__VA_ARGS__)), NULL)
static void kernels_by_name(void **state) {
    if (!(t.on.capabilities->features & CLUMP_FEATURE_FP64)) skip();
    clump_program *p = cl_fixture_program(
        &t.on, t.heap,
        "__kernel void keep(CLUMP_HEAP_NO_ALLOC, float f, uint u, char c, ulong n, double2 v,\n"
        "                   __global double *out, __local uint *l) {\n"
        "    if (get_global_id(0)) return;\n"
        "    out[0] = f; out[1] = u; out[2] = c; out[3] = n; out[4] = v.y;\n}\n",
        NULL, NULL);
    clump_kernel *k = clump_program_get_kernel(p, "keep");
    assert_non_null(k);
    assert_ptr_equal(clump_program_get_kernel(p, "keep"), k);
    clump_kernel_destroy(k); /* the program keeps it */
    REFUSED(NOT_FOUND, "\"kept\". It has keep",
            clump_heap_do_all(t.heap, clump_program_get_kernel(p, "kept"), NULL));
    REFUSED(USAGE, "the kernel is NULL", clump_heap_do_all(t.heap, NULL, NULL));
    double out[5] = {0};
    const cl_double2 v = {{1, 2.5}};
    cl_mem buffer = cl_fixture_buffer(&t.on, out, sizeof out);
    CHECK_OK(&t.on, RUN_WITH(0.1, 7, -128, UINT64_MAX >> 1, clump_arg_bytes(&v, sizeof v), buffer,
                             clump_arg_local(64)));
    cl_fixture_read(&t.on, buffer, out, sizeof out);
    assert_true(out[0] == (double)0.1f && out[1] == 7 && out[2] == -128 && out[4] == 2.5);
    assert_true(out[3] == 9223372036854775807.0);
    REFUSED(USAGE, "has 7 parameters after its heap, but 2 were given", RUN_WITH(0.1f, 7));
    REFUSED(USAGE, "the kernel is NULL", clump_heap_do_all(t.heap, NULL, NULL)); /* told once */
    clump_program_get_kernel(p, "kept");
    CHECK_OK(&t.on, clump_heap_do_all(t.heap, k, NULL)); /* what comes between is no matter */
    assert_ptr_equal(clump_program_get_kernel(p, "keep"), k);
    REFUSED(NOT_FOUND, "\"kept\". It has keep", clump_heap_do_all(t.heap, NULL, NULL));
    REFUSED(USAGE, "the kernel is NULL", clump_heap_do_all(t.heap, NULL, NULL)); /* told once */
    const clump_arg local = clump_arg_local(64), two = clump_arg_bytes(&v, sizeof v);
    /* The words of OpenCL's own refusal have the type where the device tells it. */
    assert_true(clump_kernel_set_arg(k, 1, sizeof v, &v) != CLUMP_OK);
    if (strstr(clump_context_get_error(t.on.clump)->message, "(uint u)")) {
        REFUSED(USAGE, "parameter 1 (uint u): the number does not fit",
                RUN_WITH(1, -1, 0, 0, two, buffer, local));
        REFUSED(USAGE, "parameter 1 (uint u): a floating number",
                RUN_WITH(1, 1.0, 0, 0, two, buffer, local));
        REFUSED(USAGE, "parameter 2 (char c): the number does not fit",
                RUN_WITH(1, 1, 128, 0, two, buffer, local));
        REFUSED(USAGE, "parameter 0 (float f): the number does not fit",
                RUN_WITH(1e39, 1, 1, 0, two, buffer, local));
        REFUSED(USAGE, "parameter 0 (float f): the integer has no exact value",
                RUN_WITH(16777217, 1, 1, 0, two, buffer, local));
        REFUSED(USAGE, "parameter 0 (float f): a buffer cannot be passed for a number",
                RUN_WITH(buffer, 1, 1, 0, two, buffer, local));
        REFUSED(USAGE, "parameter 4 (double2 v): a number cannot be passed for this type",
                RUN_WITH(1, 1, 1, 0, 1, buffer, local));
        REFUSED(USAGE, "out): a number cannot be passed for a buffer",
                RUN_WITH(1, 1, 1, 0, two, 5, local));
    } else {
        print_message("left out: the device does not tell the types of parameters\n");
    }
    assert_null(clump_kernel_with(NULL, NULL, 0));
    assert_null(clump_program_get_kernel(NULL, "keep"));
    clReleaseMemObject(buffer);
    clump_program_destroy(p);
}

/* What a kernel reported is told once by the next call that waits, which does nothing then. */
static void errors_surface(void **state) {
    for (int on_request = 0; on_request < 2; on_request++) {
        const clump_status told = on_request ? CLUMP_OK : CLUMP_ERR_DEVICE;
        clump_heap *heap;
        uint64_t count = 7;
        CHECK_OK(&t.on,
                 clump_heap_create(&(clump_heap_desc){.size = sizeof(clump_heap_desc),
                                                      .context = t.on.clump,
                                                      .schema = clump_heap_get_info(t.heap)->schema,
                                                      .bytes = HEAP_BYTES,
                                                      .errors_on_request = on_request},
                                   &heap, NULL));
        const uint64_t room = cl_fixture_free_slots(&t.on, heap, "Body");
        CHECK_OK(&t.on, clump_heap_do_new(heap, t.init, "Body", room, NULL, NULL));
        CHECK_OK(&t.on, clump_heap_read_count(heap, "Body", &count));
        for (int again = 0; again < 2; again++) {
            CHECK_OK(&t.on, clump_heap_do_new(heap, t.init, "Body", 3, NULL, NULL));
            CHECK_STATUS(&t.on, clump_heap_read_count(heap, "Body", &count), told);
            if (told)
                assert_non_null(
                    strstr(clump_context_get_error(t.on.clump)->message, "returned null"));
            assert_int_equal(count, told ? 0 : room);
            CHECK_OK(&t.on, clump_heap_read_count(heap, "Body", &count));
            assert_int_equal(count, room);
        }
        clump_device_report report = {.size = sizeof report};
        CHECK_STATUS(&t.on, clump_heap_take_errors(heap, &report), CLUMP_ERR_DEVICE);
        assert_int_equal(report.errors[CLUMP_DEVICE_OUT_OF_MEMORY].count, 6);
        CHECK_OK(&t.on, clump_heap_read_count(heap, "Body", &count));
        /* A kernel that somebody else launched. */
        CHECK_OK(&t.on, clump_heap_do_new(heap, t.init, "Body", 1, NULL, NULL));
        CHECK_STATUS(&t.on, clump_heap_read_refs(heap, "Body", NULL, 0, &count), told);
        clump_heap_touch(heap);
        CHECK_OK(&t.on, clump_heap_read_refs(heap, "Body", NULL, 0, &count));
        clump_heap_destroy(heap);
    }
}

/* Sizes of groups that a call chooses itself are not those of such a kernel. */
static void required_group_size(void **state) {
    clump_program *p = cl_fixture_program(
        &t.on, t.heap,
        "__attribute__((reqd_work_group_size(2, 1, 1))) __kernel void two(CLUMP_HEAP_NO_ALLOC) {}\n"
        "__attribute__((reqd_work_group_size(1, 1, 2))) __kernel void flat(CLUMP_HEAP_NO_ALLOC) "
        "{}\n",
        NULL, NULL);
    clump_kernel *two = cl_fixture_kernel(&t.on, p, "two");
    clump_kernel *flat = NULL;
    uint32_t n;
    REFUSED(USAGE, "clump_heap_do_all: kernel two must run in groups of 2 x 1 x 1",
            clump_heap_do_all(t.heap, two, NULL));
    REFUSED(USAGE, "choose the sizes with clump_heap_launch()",
            clump_heap_reduce(t.heap, two, 4, &n, NULL));
    REFUSED(USAGE, "choose the sizes with clump_heap_launch()",
            clump_heap_do_new(t.heap, two, "Body", 1, NULL, NULL));
    REFUSED(USAGE, "this call runs groups of 1", clump_heap_launch(t.heap, two, 2, 1, NULL));
    CHECK_OK(&t.on, clump_heap_launch(t.heap, two, 64, 2, NULL));
    if (clump_kernel_create(p, "flat", &flat, NULL) == CLUMP_OK) {
        REFUSED(USAGE, "groups of 1 x 1 x 2", clump_heap_launch(t.heap, flat, 2, 1, NULL));
        clump_kernel_destroy(flat);
    }
    clump_kernel_destroy(two);
    clump_program_destroy(p);
}

/* Warnings can be counted, and refused. */
static void warnings(void **state) {
    static const char text[] =
        "__kernel void f(CLUMP_HEAP_NO_ALLOC, __global const uint *in, __global uint *out) {\n"
        "    __global uint *p = in;\n    out[0] = p[0];\n}\n";
    clump_program *p = cl_fixture_program(&t.on, t.heap, text, NULL, NULL);
    uint32_t count = clump_program_get_info(p)->warnings;
    clump_program_destroy(p);
    assert_int_equal(clump_program_get_info(t.program)->warnings, 0);
    if (!count) {
        print_message("left out: the compiler says nothing\n");
        skip();
    }
    cl_fixture_log kept = {.source = text};
    clump_program_desc d = {.size = sizeof d,
                            .heap = t.heap,
                            .source = text,
                            .strict = 1,
                            .failed = cl_fixture_keep_log,
                            .user = &kept};
    REFUSED(CLUMP_ERR_BUILD, "program.cl compiles with 1 warnings",
            clump_program_create(&d, &p, NULL));
    assert_non_null(strstr(clump_context_get_error(t.on.clump)->message, "discards qualifiers"));
    assert_int_equal(kept.warnings, count);
    d.source = "__kernel void f(CLUMP_HEAP_NO_ALLOC) {}\n";
    CHECK_OK(&t.on, clump_program_create(&d, &p, NULL));
    clump_program_destroy(p);
}

static void arguments_not_set(void **state) {
    clump_kernel *move = cl_fixture_kernel(&t.on, t.program, "move");
    float dt = 1;
    REFUSED(USAGE, "parameter 0", clump_heap_do_all(t.heap, move, NULL));
    SET_ARG(&t.on, move, 0, dt);
    REFUSED(USAGE, "parameter 1", clump_heap_do_all(t.heap, move, NULL));
    REFUSED(USAGE, "clump_heap_launch: parameter 1", clump_heap_launch(t.heap, move, 1, 1, NULL));
    CHECK_OK(&t.on, clump_kernel_set_arg(move, 1, 64, NULL));
    CHECK_OK(&t.on, clump_heap_do_all(t.heap, move, NULL));
    clump_kernel_destroy(move);
}

static void launches(void **state) {
    REFUSED_SILENTLY(clump_heap_do_all(NULL, t.init, NULL));
    REFUSED(USAGE, "clump_heap_do_all: the kernel is NULL", clump_heap_do_all(t.heap, NULL, NULL));
    REFUSED(USAGE, "clump_heap_launch: the kernel is NULL",
            clump_heap_launch(t.heap, NULL, 64, 64, NULL));
    REFUSED_SILENTLY(clump_heap_launch(NULL, t.init, 64, 64, NULL));
    REFUSED(USAGE, "0 work-items", clump_heap_launch(t.heap, t.init, 0, 64, NULL));
    REFUSED(USAGE, "groups of 0", clump_heap_launch(t.heap, t.init, 64, 0, NULL));
    REFUSED(USAGE, "multiple", clump_heap_launch(t.heap, t.init, 65, 64, NULL));
    REFUSED(USAGE, "multiple", clump_heap_launch(t.heap, t.init, 64, 128, NULL));
    /* A group that no device has. */
    REFUSED(USAGE, "in groups of at most",
            clump_heap_launch(t.heap, t.init, (size_t)1 << 40, (size_t)1 << 40, NULL));
}

static void wait_lists(void **state) {
    cl_event event = NULL;
    uint32_t n = 7;
    uint64_t made = 7;
    const clump_sync no_list = {.wait_count = 1}, no_count = {.wait_list = &event};
    REFUSED(USAGE, "clump_heap_do_all: set both wait_count",
            clump_heap_do_all(t.heap, t.init, &no_list));
    REFUSED(USAGE, "clump_heap_do_all: set both wait_count",
            clump_heap_do_all(t.heap, t.init, &no_count));
    REFUSED(USAGE, "wait_list", clump_heap_launch(t.heap, t.init, 64, 64, &no_list));
    REFUSED(USAGE, "wait_list", clump_heap_do_new(t.heap, t.init, "Body", 1, &made, &no_count));
    assert_int_equal(made, 0);
    REFUSED(USAGE, "wait_list", clump_heap_reduce(t.heap, t.count, sizeof n, &n, &no_list));
    assert_int_equal(n, 7);
}

static void new_objects(void **state) {
    uint64_t made = 7;
    const uint64_t most = UINT64_C(1) << 31;
    REFUSED_SILENTLY(clump_heap_do_new(NULL, t.init, "Body", 1, &made, NULL));
    assert_int_equal(made, 0);
    REFUSED(USAGE, "clump_heap_do_new: the kernel is NULL",
            clump_heap_do_new(t.heap, NULL, "Body", 1, &made, NULL));
    REFUSED(NOT_FOUND, "(null)", clump_heap_do_new(t.heap, t.init, NULL, 1, &made, NULL));
    REFUSED(NOT_FOUND, "\"body\"", clump_heap_do_new(t.heap, t.init, "body", 1, &made, NULL));
    REFUSED(USAGE, "Agent is abstract", clump_heap_do_new(t.heap, t.init, "Agent", 1, &made, NULL));
    REFUSED(USAGE, "2147483649", clump_heap_do_new(t.heap, t.init, "Body", most + 1, &made, NULL));
    REFUSED(USAGE, "2^31", clump_heap_do_new(t.heap, t.init, "Body", UINT64_MAX, &made, NULL));
    CHECK_OK(&t.on, clump_heap_do_new(t.heap, t.init, "Body", 0, &made, NULL));
    assert_int_equal(made, 0);
    check_unchanged("a do-new of no objects", __LINE__);
}

static void reductions(void **state) {
    uint8_t result[129] = {[0] = 7, [128] = 7};
    REFUSED_SILENTLY(clump_heap_reduce(NULL, t.count, 4, result, NULL));
    REFUSED(USAGE, "clump_heap_reduce: the kernel is NULL",
            clump_heap_reduce(t.heap, NULL, 4, result, NULL));
    REFUSED(USAGE, "clump_heap_reduce", clump_heap_reduce(t.heap, t.count, 4, NULL, NULL));
    REFUSED(USAGE, "0 bytes", clump_heap_reduce(t.heap, t.count, 0, result, NULL));
    REFUSED(USAGE, "129 bytes", clump_heap_reduce(t.heap, t.count, 129, result, NULL));
    REFUSED(USAGE, "1 to 128", clump_heap_reduce(t.heap, t.count, SIZE_MAX, result, NULL));
    assert_int_equal(result[0], 7);
    CHECK_OK(&t.on, clump_heap_reduce(t.heap, t.count, 4, result, NULL));
    assert_int_equal(result[4] | result[128], 7);
    assert_int_equal(result[0] | result[1] << 8, OBJECTS);
}

/* Programs of one heap and another heap of other classes, other geometry, another context. */
static void heaps_of_another_layout(void **state) {
    static const char *const others[] = {
        "class Body { float x; uint id; ushort pair[3]; }",
        "abstract class Agent { ref Agent friend; }"
        "class Body : Agent { float x; int id; ushort pair[3]; } class Star : Body { float mass; }",
        "abstract class Agent { ref Agent friend; }"
        "class Body : Agent { float x; uint id; ushort pair[3] packed; }"
        "class Star : Body { float mass; }",
    };
    uint64_t made;
    uint32_t n;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        clump_heap *other = cl_fixture_heap(&t.on, others[i], HEAP_BYTES, 0);
        REFUSED(USAGE, "another layout: the classes differ",
                clump_heap_do_all(other, t.init, NULL));
        REFUSED(USAGE, "another layout", clump_heap_launch(other, t.init, 1, 1, NULL));
        REFUSED(USAGE, "another layout", clump_heap_do_new(other, t.init, "Body", 1, &made, NULL));
        REFUSED(USAGE, "another layout", clump_heap_reduce(other, t.count, sizeof n, &n, NULL));
        clump_heap_destroy(other);
    }
    clump_heap *wider = cl_fixture_heap(&t.on, schema_text, HEAP_BYTES, 5);
    REFUSED(USAGE, "another layout: block_granules is", clump_heap_do_all(wider, t.init, NULL));
    clump_heap_destroy(wider);
    clump_heap *raw;
    CHECK_OK(&t.on,
             clump_heap_create(&(clump_heap_desc){.size = sizeof(clump_heap_desc),
                                                  .context = t.on.clump,
                                                  .schema = clump_heap_get_info(t.heap)->schema,
                                                  .bytes = HEAP_BYTES,
                                                  .raw = 1},
                               &raw, NULL));
    REFUSED(USAGE, "another layout: raw is 0 there, but 1 here",
            clump_heap_do_all(raw, t.init, NULL));
    clump_heap_destroy(raw);
    cl_fixture on;
    assert_int_equal(cl_fixture_open(&on, NULL), 0);
    clump_heap *foreign = cl_fixture_heap(&on, schema_text, HEAP_BYTES, 0);
    assert_int_equal(clump_heap_do_all(foreign, t.init, NULL), USAGE);
    assert_non_null(strstr(clump_context_get_error(on.clump)->message, "another context"));
    clump_heap_destroy(foreign);
    cl_fixture_close(&on);
    clump_heap *same = cl_fixture_heap(&t.on, schema_text, HEAP_BYTES, 0);
    CHECK_OK(&t.on, clump_heap_do_all(same, t.init, NULL));
    clump_heap_destroy(same);
}

/* ---- Looking into the heap ------------------------------------------------------------------- */

static int no_text(void *user, const void *text, size_t bytes) {
    fail_msg("a refused dump writes %zu bytes: %s", bytes, (const char *)text);
    return 0;
}

static int full_disk(void *user, const void *text, size_t bytes) {
    assert_null(user);
    assert_true(text && bytes);
    return 28;
}

/* The disk is full: the call fails, says so, and works the next time. */
static void unwritten(void **state) {
    clump_context *c = t.on.clump;
    REFUSED(CLUMP_ERR_IO, "receives the text returned 28",
            clump_heap_dump(t.heap, full_disk, NULL));
    REFUSED(CLUMP_ERR_IO, "receives the text returned 28",
            clump_heap_write_table(t.heap, "Body", CLUMP_TABLE_CSV, full_disk, NULL));
    REFUSED(CLUMP_ERR_IO, "receives the text returned 28",
            clump_heap_write_table(t.heap, "Body", CLUMP_TABLE_NPY, full_disk, NULL));
    REFUSED(CLUMP_ERR_IO, "cannot write /dev/full: No space",
            clump_heap_dump(t.heap, CLUMP_TO_PATH("/dev/full")));
    REFUSED(CLUMP_ERR_IO, "cannot write /no/such/folder: No such file",
            clump_heap_dump(t.heap, CLUMP_TO_PATH("/no/such/folder")));
    REFUSED(USAGE, "unknown format 2",
            clump_heap_write_table(t.heap, "Body", (clump_table_format)2, no_text, NULL));
    REFUSED(CLUMP_ERR_IO, "without a name", clump_heap_dump(t.heap, CLUMP_TO_PATH(NULL)));
    CHECK_OK(&t.on, clump_context_record_timeline(c, 100));
    CHECK_OK(&t.on, clump_heap_check(t.heap));
    REFUSED(CLUMP_ERR_IO, "receives the text returned 28",
            clump_context_write_timeline(c, full_disk, NULL));
    CHECK_OK(&t.on, clump_context_write_timeline(c, CLUMP_TO_PATH("/dev/null")));
    CHECK_OK(&t.on, clump_context_record_timeline(c, 0));
    CHECK_OK(&t.on,
             clump_heap_write_table(t.heap, "Body", CLUMP_TABLE_NPY, CLUMP_TO_PATH("/dev/null")));
    (void)state;
}

static void counts(void **state) {
    clump_class_stats classes[3] = {{.size = sizeof(clump_class_stats), .objects = 7}};
    clump_device_report report = {.size = sizeof report, .errors[0].count = 7};
    uint64_t count = 7;
    clump_ref refs[2] = {7, 7};
    REFUSED_SILENTLY(clump_heap_take_errors(NULL, &report));
    assert_int_equal(report.errors[0].count, 0);
    REFUSED_SILENTLY(clump_heap_check(NULL));
    clump_repair_report repair = {.size = sizeof repair, .objects = 7};
    REFUSED_SILENTLY(clump_heap_repair(NULL, &repair));
    assert_int_equal(repair.objects, 0);
    REFUSED_SILENTLY(clump_heap_read_stats(NULL, NULL, NULL, 0));
    assert_string_equal(clump_version(), CLUMP_VERSION_TEXT);
    REFUSED(CLUMP_ERR_TOO_SMALL, "room for 2 classes",
            clump_heap_read_stats(t.heap, NULL, classes, 2));
    assert_int_equal(classes[0].objects, 7);
    REFUSED_SILENTLY(clump_heap_dump(NULL, no_text, NULL));
    REFUSED(USAGE, "a function that receives the text", clump_heap_dump(t.heap, NULL, NULL));
    REFUSED_SILENTLY(clump_context_set_queue(NULL, t.on.queue));
    assert_null(clump_context_get_info(NULL)->queue);
    REFUSED_SILENTLY(clump_context_record_timeline(NULL, 10));
    REFUSED_SILENTLY(clump_context_write_timeline(NULL, no_text, NULL));
    REFUSED_SILENTLY(clump_context_add_to_timeline(NULL, "", 0, NULL));
    REFUSED(USAGE, "needs a name and an event",
            clump_context_add_to_timeline(t.on.clump, "name", 0, NULL));
    REFUSED(USAGE, "nothing is being recorded",
            clump_context_write_timeline(t.on.clump, no_text, NULL));
    REFUSED(USAGE, "a function that receives the text",
            clump_context_write_timeline(t.on.clump, NULL, NULL));
    REFUSED(USAGE, "at most 16777216", clump_context_record_timeline(t.on.clump, (1u << 24) + 1));
    REFUSED_SILENTLY(clump_heap_read_count(NULL, "Body", &count));
    assert_int_equal(count, 0);
    REFUSED(USAGE, "a pointer for the count", clump_heap_read_count(t.heap, "Body", NULL));
    REFUSED(NOT_FOUND, "(null)", clump_heap_read_count(t.heap, NULL, &count));
    REFUSED(NOT_FOUND, "\"Planet\"", clump_heap_read_count(t.heap, "Planet", &count));
    REFUSED_SILENTLY(clump_heap_read_refs(NULL, "Body", refs, 2, &count));
    REFUSED(USAGE, "a pointer for the count", clump_heap_read_refs(t.heap, "Body", refs, 2, NULL));
    REFUSED(NOT_FOUND, "(null)", clump_heap_read_refs(t.heap, NULL, refs, 2, &count));
    REFUSED(NOT_FOUND, "\"Planet\"", clump_heap_read_refs(t.heap, "Planet", refs, 2, &count));
    assert_int_equal(refs[0], 7);
    /* Too little room: the count says how much is needed, and nothing is written. */
    REFUSED(CLUMP_ERR_TOO_SMALL, "room for 1 references, but 500 are needed",
            clump_heap_read_refs(t.heap, "Body", refs, 1, &count));
    assert_int_equal(count, OBJECTS);
    assert_int_equal(refs[0], 7);
    CHECK_OK(&t.on, clump_heap_read_refs(t.heap, "Body", NULL, 0, &count));
    assert_int_equal(count, OBJECTS);
    clump_heap_destroy(NULL);
}

static void fields(void **state) {
    static uint32_t ids[OBJECTS + 1];
    clump_heap *h = t.heap;
    memset(ids, 7, sizeof ids);
    REFUSED_SILENTLY(clump_heap_read_field(NULL, "Body", "id", 0, sizeof *ids, ids, OBJECTS, NULL));
    REFUSED_SILENTLY(clump_heap_write_field(NULL, "Body", "id", 0, sizeof *ids, ids, OBJECTS));
    REFUSED(USAGE, "a pointer", clump_heap_read_field(h, "Body", "id", 0, 0, NULL, OBJECTS, NULL));
    REFUSED(USAGE, "values", clump_heap_write_field(h, "Body", "id", 0, 0, NULL, OBJECTS));
    REFUSED(NOT_FOUND, "\"Nope\"",
            clump_heap_read_field(h, "Nope", "id", 0, sizeof *ids, ids, OBJECTS, NULL));
    REFUSED(NOT_FOUND, "(null)",
            clump_heap_read_field(h, NULL, "id", 0, sizeof *ids, ids, OBJECTS, NULL));
    REFUSED(NOT_FOUND, "\"nope\"",
            clump_heap_read_field(h, "Body", "nope", 0, sizeof *ids, ids, OBJECTS, NULL));
    REFUSED(NOT_FOUND, "(null)",
            clump_heap_read_field(h, "Body", NULL, 0, sizeof *ids, ids, OBJECTS, NULL));
    REFUSED(NOT_FOUND, "mass",
            clump_heap_read_field(h, "Body", "mass", 0, sizeof *ids, ids, OBJECTS, NULL));
    REFUSED(NOT_FOUND, "\"nope\"",
            clump_heap_write_field(h, "Body", "nope", 0, sizeof *ids, ids, OBJECTS));
    REFUSED(USAGE, "1 elements, so element 1",
            clump_heap_read_field(h, "Body", "id", 1, sizeof *ids, ids, OBJECTS, NULL));
    REFUSED(USAGE, "3 elements, so element 3",
            clump_heap_read_field(h, "Body", "pair", 3, sizeof *ids, ids, OBJECTS, NULL));
    REFUSED(USAGE, "4294967295",
            clump_heap_write_field(h, "Body", "pair", UINT32_MAX, sizeof *ids, ids, OBJECTS));
    REFUSED(CLUMP_ERR_TOO_SMALL, "room for 499",
            clump_heap_read_field(h, "Body", "id", 0, sizeof *ids, ids, OBJECTS - 1, NULL));
    REFUSED(CLUMP_ERR_TOO_SMALL, "room for 0",
            clump_heap_read_field(h, "Body", "id", 0, sizeof *ids, ids, 0, NULL));
    REFUSED(USAGE,
            "a value of field id of class Body is a uint of 4 bytes, but 8 bytes were passed",
            clump_heap_read_field(h, "Body", "id", 0, sizeof(uint64_t), ids, OBJECTS, NULL));
    REFUSED(USAGE, "a uint of 4 bytes, but 2 bytes were passed",
            clump_heap_write_field(h, "Body", "id", 0, sizeof(uint16_t), ids, OBJECTS));
    uint64_t there = 7;
    REFUSED(CLUMP_ERR_TOO_SMALL, "room for 0",
            clump_heap_read_field(h, "Body", "id", 0, 0, NULL, 0, NULL));
    REFUSED(CLUMP_ERR_TOO_SMALL, "room for 1",
            clump_heap_read_field(h, "Body", "id", 0, sizeof *ids, ids, 1, &there));
    assert_int_equal(there, OBJECTS);
    REFUSED(NOT_FOUND, "nope",
            clump_heap_read_field(h, "Body", "nope", 0, sizeof *ids, ids, 1, &there));
    assert_int_equal(there, 0);
    assert_int_equal(ids[0], 0x07070707); /* nothing was read */
    CHECK_OK(&t.on, clump_heap_read_field(h, "Star", "id", 0, 0, NULL, 0, &there));
    CHECK_OK(&t.on, clump_heap_read_field(h, "Star", "id", 0, 0, NULL, 0, NULL));
    CHECK_OK(&t.on, clump_heap_write_field(h, "Star", "id", 0, 0, NULL, 0));
    assert_int_equal(there, 0);
    REFUSED(USAGE, "499 values",
            clump_heap_write_field(h, "Body", "id", 0, sizeof *ids, ids, OBJECTS - 1));
    REFUSED(USAGE, "501 values",
            clump_heap_write_field(h, "Body", "id", 0, sizeof *ids, ids, OBJECTS + 1));
    CHECK_OK(&t.on, clump_heap_read_field(h, "Body", "id", 0, sizeof *ids, ids, OBJECTS + 1, NULL));
    for (uint32_t i = 1; i < OBJECTS; i++) assert_true(ids[i] < OBJECTS); /* nor written */
    assert_int_equal(ids[OBJECTS], 0x07070707);
}

static void references(void **state) {
    uint32_t id = 7, granule = t.refs[0] >> 6;
    clump_heap *h = t.heap;
    const clump_heap_info *l = clump_heap_get_info(h);
    uint32_t end = (l->first_block + l->block_count) * l->block_granules;
    const clump_ref bad[] = {
        0,                       /* null */
        UINT32_MAX,              /* outside of the heap */
        end << 6,                /* right behind it */
        1u << 6,                 /* in the metadata */
        (granule + 1) << 6,      /* where no row of its class starts */
        t.refs[OBJECTS - 1] + 1, /* a free slot */
        (end - 1) << 6,          /* in a free block */
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        REFUSED(CLUMP_ERR_REFERENCE, "names no live object of class Body",
                clump_heap_read_object_field(h, "Body", "id", 0, bad[i], sizeof(id), &id));
        REFUSED(CLUMP_ERR_REFERENCE, "names no live object of class Body",
                clump_heap_write_object_field(h, "Body", "id", 0, bad[i], sizeof(id), &id));
    }
    REFUSED(CLUMP_ERR_REFERENCE, "class Star",
            clump_heap_read_object_field(h, "Star", "id", 0, t.refs[0], sizeof(id), &id));
    REFUSED_SILENTLY(
        clump_heap_read_object_field(NULL, "Body", "id", 0, t.refs[0], sizeof(id), &id));
    REFUSED_SILENTLY(
        clump_heap_write_object_field(NULL, "Body", "id", 0, t.refs[0], sizeof(id), &id));
    REFUSED(USAGE, "a pointer",
            clump_heap_read_object_field(h, "Body", "id", 0, t.refs[0], 0, NULL));
    REFUSED(USAGE, "value", clump_heap_write_object_field(h, "Body", "id", 0, t.refs[0], 0, NULL));
    REFUSED(NOT_FOUND, "\"no\"",
            clump_heap_read_object_field(h, "no", "id", 0, t.refs[0], sizeof(id), &id));
    REFUSED(NOT_FOUND, "\"no\"",
            clump_heap_write_object_field(h, "Body", "no", 0, t.refs[0], sizeof(id), &id));
    REFUSED(USAGE, "elements",
            clump_heap_read_object_field(h, "Body", "pair", 3, t.refs[0], sizeof(id), &id));
    assert_int_equal(id, 7);
    CHECK_OK(&t.on,
             clump_heap_read_object_field(h, "Agent", "friend", 0, t.refs[0], sizeof(id), &id));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(contexts),
        cmocka_unit_test(queue_of_another_device),
        cmocka_unit_test(probes),
        cmocka_unit_test(schemas),
        cmocka_unit_test(heaps),
        cmocka_unit_test(heap_sizes),
        cmocka_unit_test(more_than_a_device_gives),
        cmocka_unit_test(types_that_a_device_lacks),
        cmocka_unit_test(most_classes),
        cmocka_unit_test(large_classes),
        cmocka_unit_test(programs),
        cmocka_unit_test(wrong_sources),
        cmocka_unit_test(kernels),
        cmocka_unit_test(arguments_of_wrong_size),
        cmocka_unit_test(kernels_by_name),
        cmocka_unit_test(errors_surface),
        cmocka_unit_test(required_group_size),
        cmocka_unit_test(warnings),
        cmocka_unit_test(arguments_not_set),
        cmocka_unit_test(launches),
        cmocka_unit_test(wait_lists),
        cmocka_unit_test(new_objects),
        cmocka_unit_test(reductions),
        cmocka_unit_test(heaps_of_another_layout),
        cmocka_unit_test(unwritten),
        cmocka_unit_test(counts),
        cmocka_unit_test(fields),
        cmocka_unit_test(references),
    };
    int result = cl_fixture_open(&t.on, NULL);
    if (result) return result;
    result = cmocka_run_group_tests(tests, set_up, tear_down);
    cl_fixture_close(&t.on);
    return result;
}
