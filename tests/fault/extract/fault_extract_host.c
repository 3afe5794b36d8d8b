/* Taking objects out and putting them in while each OpenCL call and each request for host memory
 * fails, one run for each: the call fails with words that name what failed, both heaps have the
 * objects and the raw memory that they had and pass their check, and the call works when it is tried
 * again. So does writing arrays, which then may have new elements. Nothing is left at the end of a
 * run.
 *
 * Read first: tests/support/failing.h, tests/fault/save/fault_save_host.c.
 */
#include <stdlib.h>
#include <string.h>

#include "failing.h"
#include "saved_heap.h"

static const char plain_text[] =
    "class A { uint id; ref A next; float2 at[2]; } class B { ref A a; uchar flag; }";
static const char arrays_text[] =
    "class A { uint id; ref A next; float2 at[2]; } "
    "class B { ref A a; uchar flag; ref A list[*] inline 1; }";
static const char *text;
static uint64_t metadata;  /* of a heap of 1 MiB, more on devices that run more at a time */
static const char fill[] = /* a few arrays with elements in raw memory */
    "__kernel void fill(CLUMP_HEAP, CLUMP_NUMBERS) {\n"
    "    CLUMP_FOR_EACH_NUMBERED(B, b, i) {\n"
    "        if (i % 500u) continue;\n"
    "        B_list_resize(b, 4);\n"
    "        for (uint e = 0; e < 4u; e++) B_list(b, e) = CLUMP_AT(A, i % 1500u + e);\n"
    "    }\n"
    "}\n";
enum { COUNT = 3200, OTHERS = 40, LARGE_ARRAYS = 8 };

typedef struct run {
    clump_context *context;
    clump_schema *schema;
    clump_heap *heap, *into;
    clump_extract *extract, *copy, *large, *moved, *loaded;
    memory_file file; /* a saved heap with COUNT objects */
    cl_mem refs;
    uint8_t *data;
    clump_error error;
    uint64_t raw[2]; /* bytes of raw memory in both heaps before the step */
} run;

/* By calls that do not fail and do not count. */
static void read_raw(const run *r, uint64_t raw[2]) {
    clump_heap *const heaps[] = {r->heap, r->into};
    const failing_state kept = failing;
    failing.fail_at = failing.refuse_at = 0;
    for (int i = 0; i < 2; i++) {
        clump_heap_stats stats = {.size = sizeof stats};
        assert_int_equal(clump_heap_read_stats(heaps[i], &stats, NULL, 0), CLUMP_OK);
        raw[i] = stats.raw_bytes;
    }
    failing.calls = kept.calls;
    failing.requests = kept.requests;
    failing.fail_at = kept.fail_at;
    failing.refuse_at = kept.refuse_at;
}

static void expect_raw(const run *r, const char *step) {
    uint64_t raw[2];
    read_raw(r, raw);
    for (int i = 0; i < 2; i++)
        if (raw[i] != r->raw[i])
            fail_msg("after %s and %s: heap %d has %llu bytes of raw memory, not %llu", step,
                     failing.struck ? failing.struck : "a request", i, (unsigned long long)raw[i],
                     (unsigned long long)r->raw[i]);
}

static void expect_count(const run *r, clump_heap *heap, uint64_t objects, const char *step) {
    clump_heap_stats stats = {.size = sizeof stats};
    if (clump_heap_check(heap) || clump_heap_take_errors(heap, NULL) ||
        clump_heap_read_stats(heap, &stats, NULL, 0))
        fail_msg("after %s and %s: %s", step, failing.struck ? failing.struck : "a request",
                 clump_context_get_error(r->context)->message);
    if (stats.objects != objects)
        fail_msg("after %s and %s: %llu objects, not %llu", step,
                 failing.struck ? failing.struck : "a request", (unsigned long long)stats.objects,
                 (unsigned long long)objects);
}

static clump_status take(run *r) {
    const char *const classes[] = {"B"};
    return clump_heap_extract(r->heap,
                              &(clump_extract_desc){.size = sizeof(clump_extract_desc),
                                                    .ref_buffer = r->refs,
                                                    .ref_buffer_count = COUNT / 2,
                                                    .classes = classes,
                                                    .class_count = 1,
                                                    .where_class = "B",
                                                    .where_field = "flag",
                                                    .follow = 1,
                                                    .free_objects = 1,
                                                    .keep_refs = 1},
                              &r->extract, NULL);
}

static clump_status copy(run *r) {
    const clump_schema *schema = clump_extract_get_info(r->extract)->schema;
    const uint64_t bytes = clump_extract_get_info(r->extract)->bytes;
    uint64_t objects[2];
    for (uint32_t id = 1; id <= 2; id++)
        objects[id - 1] = clump_extract_get_info(r->extract)->objects[id];
    clump_status status = clump_extract_read(r->extract, r->data, bytes);
    return status
               ? status
               : clump_extract_create(r->context, schema, objects, r->data, bytes, &r->copy, NULL);
}

static clump_status put(run *r) {
    clump_ref refs[2 * COUNT];
    return clump_heap_insert(
        r->into, r->copy,
        &(clump_insert_desc){
            .size = sizeof(clump_insert_desc), .refs = refs, .ref_buffer = r->refs});
}

/* Without references: the insertion keeps bits of the new objects instead, as soon as these take
 * less. */
static clump_status put_unnamed(run *r) {
    const clump_heap_info *layout = clump_heap_get_info(r->into);
    const uint64_t granules =
        (uint64_t)(layout->first_block + layout->block_count) * layout->block_granules;
    assert_true(text == arrays_text ||
                clump_extract_get_info(r->copy)->objects[0] * sizeof(clump_ref) > granules * 8);
    return clump_heap_insert(r->into, r->copy, NULL);
}

/* All back, through the calls of both. */
static clump_status move(run *r) {
    const char *const classes[] = {"A", "B"};
    clump_status status =
        clump_heap_migrate(r->into,
                           &(clump_extract_desc){.size = sizeof(clump_extract_desc),
                                                 .classes = classes,
                                                 .class_count = 2,
                                                 .where_class = "B",
                                                 .where_field = "a"},
                           r->heap, NULL, &r->moved, NULL);
    return status;
}

static clump_status load(run *r) {
    r->file.at = 0;
    return clump_extract_load(
        r->context,
        &(clump_load_desc){.size = sizeof(clump_load_desc), .read = memory_read, .user = &r->file},
        &r->loaded, NULL, NULL);
}

/* Every 500th array is longer than before, `large` of them much longer, and the others are empty.
 * Even the large ones are small beside the heap: in which blocks objects are is chance on a GPU. */
static clump_status write(run *r, uint32_t large) {
    enum { MOST = 40, LARGE = 12500 };
    static uint64_t offsets[2 * COUNT + OTHERS + 1];
    static clump_ref elements[MOST * (2 * COUNT + OTHERS) + LARGE_ARRAYS * LARGE];
    uint64_t count = 0;
    clump_status status = clump_heap_read_count(r->into, "B", &count);
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t length = i % 500 != 3 ? 0 : i / 500 < large ? LARGE : MOST - i % 7;
        offsets[i + 1] = offsets[i] + length;
    }
    return status ? status
                  : clump_heap_write_arrays(r->into, "B", "list", NULL, count, offsets,
                                            sizeof *elements, elements, offsets[count]);
}

static clump_status write_large(run *r) {
    return write(r, LARGE_ARRAYS);
}

static clump_status write_small(run *r) {
    return write(r, 0);
}

static clump_status take_large(run *r) {
    const char *const classes[] = {"B"};
    return clump_heap_extract(
        r->into,
        &(clump_extract_desc){
            .size = sizeof(clump_extract_desc), .classes = classes, .class_count = 1},
        &r->large, NULL);
}

/* There is room for the objects, and not for all of their arrays, in whatever order. That is also
 * what it says if a call fails later. */
static clump_status put_large(run *r) {
    const clump_status status = clump_heap_insert(r->into, r->large, NULL);
    assert_int_not_equal(status, CLUMP_OK);
    if (status != CLUMP_ERR_DEVICE_MEMORY ||
        !strstr(clump_context_get_error(r->context)->message, "no raw memory for"))
        return status;
    if (!(failing_hit() && failing.persistent)) expect_raw(r, "no room");
    return CLUMP_OK;
}

/* By a context whose calls do not fail. */
static memory_file saved(const cl_fixture *on) {
    const clump_struct_desc a = {sizeof a, "A", 4, 0, NULL};
    static const uint32_t zeros[COUNT];
    clump_heap *heap = cl_fixture_heap(on, text, 1 << 20, 1);
    CHECK_OK(on, clump_heap_new_structs(heap, &a, zeros, COUNT, NULL, NULL));
    memory_file file = saved_bytes(on, heap, 0);
    metadata = clump_heap_get_info(heap)->metadata_bytes;
    clump_heap_destroy(heap);
    return file;
}

static clump_status fill_arrays(run *r) {
    clump_program *p;
    clump_status status = clump_program_create(
        &(clump_program_desc){
            .size = sizeof(clump_program_desc), .heap = r->heap, .source = fill, .name = "fill"},
        &p, NULL);
    clump_kernel *k = NULL;
    if (!status) status = clump_kernel_create(p, "fill", &k, NULL);
    if (!status) status = clump_heap_do_all(r->heap, k, NULL);
    clump_kernel_destroy(k);
    clump_program_destroy(p);
    return status;
}

static clump_status make(run *r, const cl_fixture *on) {
    const clump_struct_desc a = {sizeof a, "A", 4, 0, NULL}, b = {sizeof b, "B", 4, 0, NULL};
    uint32_t zeros[COUNT] = {0};
    clump_ref as[COUNT];
    clump_status status = failing_context(on, &r->context, &r->error);
    if (status) return status;
    clump_heap_desc desc = {.size = sizeof desc,
                            .context = r->context,
                            .schema = r->schema,
                            .bytes = metadata + (1000 << 10)};
    status = clump_heap_create(&desc, &r->heap, NULL);
    desc.block_rows = 2;
    if (text != arrays_text) desc.bytes -= 628 << 10;
    if (!status) status = clump_heap_create(&desc, &r->into, NULL);
    if (!status) status = clump_heap_new_structs(r->heap, &a, zeros, COUNT, as, NULL);
    if (!status) status = clump_heap_write_field(r->heap, "A", "next", 0, sizeof *as, as, COUNT);
    if (!status) status = clump_heap_new_structs(r->heap, &b, zeros, COUNT, NULL, NULL);
    if (!status) status = clump_heap_new_structs(r->into, &b, zeros, OTHERS, NULL, NULL);
    if (!status && text == arrays_text) status = fill_arrays(r);
    if (!status) cl_fixture_write(on, r->refs, as, sizeof as);
    return status;
}

/* The log of a program that was built. */
static int is_log(void) {
    return failing.struck && strcmp(failing.struck, "clGetProgramBuildInfo") == 0;
}

/* One step; then once more if it failed. Returns 0 if the run is over. */
static int step(run *r, const char *name, clump_status (*call)(run *), uint64_t there,
                uint64_t here) {
    const int was_hit = failing_hit();
    read_raw(r, r->raw);
    clump_status status = call(r);
    if (!status) {
        if (failing_hit() && !was_hit && !failing_may_be_ignored() && !is_log() &&
            call != put_large)
            fail_msg("%s succeeds though %s failed", name,
                     failing.struck ? failing.struck : "a request for memory");
        return !(failing_hit() && failing.persistent);
    }
    failing_check_words(r->context ? clump_context_get_error(r->context) : &r->error, name, status);
    if (failing.persistent) return 0;
    expect_count(r, r->heap, there, name);
    expect_count(r, r->into, here, name);
    if (call != write_large && call != write_small)
        expect_raw(r, name); /* those may have written all before they fail */
    status = call(r);
    if (status)
        fail_msg("%s, second try after %s: %s", name, failing.struck ? failing.struck : "a request",
                 clump_context_get_error(r->context)->message);
    return 1;
}

/* What the arrays need, whatever failed when they were written. */
static int is_written(run *r, int are_large) {
    static uint64_t sizes[2];
    uint64_t *bytes = &sizes[are_large];
    read_raw(r, r->raw);
    if (!*bytes) *bytes = r->raw[1];
    if (r->raw[1] != *bytes)
        fail_msg("written arrays have %llu bytes, and %llu after %s", (unsigned long long)*bytes,
                 (unsigned long long)r->raw[1], failing.struck ? failing.struck : "a request");
    return 1;
}

/* Arrays that get other memory, and some that find none. */
static int change_arrays(run *r, uint64_t there, uint64_t here) {
    return text != arrays_text ||
           (step(r, "write", write_large, there, here) && is_written(r, 1) &&
            step(r, "extract large ones", take_large, there, here) &&
            step(r, "insert without room", put_large, there, here) &&
            step(r, "write again", write_small, there, here) && is_written(r, 0));
}

/* What is before the first extract may fail as it likes: fault_host has that. */
static int run_once(const cl_fixture *on, const char *schema) {
    text = schema;
    run r = {.refs = cl_fixture_buffer(on, NULL, 2 * COUNT * sizeof(clump_ref)),
             .data = calloc(1, 1 << 18),
             .file = saved(on)};
    assert_int_equal(clump_schema_parse(text, strlen(text), NULL, &r.schema, NULL), CLUMP_OK);
    clump_status status = make(&r, on);
    if (status && !failing_hit())
        fail_msg("nothing can be tried: %s", clump_context_get_error(r.context)->message);
    const uint64_t left = COUNT / 2, taken = 2 * COUNT - left;
    const int is_done = !status && step(&r, "extract", take, 2 * COUNT, OTHERS) &&
                        step(&r, "copy", copy, left, OTHERS) &&
                        step(&r, "insert", put, left, OTHERS) &&
                        step(&r, "insert again", put_unnamed, left, OTHERS + taken) &&
                        change_arrays(&r, left, OTHERS + 2 * taken) &&
                        step(&r, "migrate", move, left, OTHERS + 2 * taken) &&
                        step(&r, "load", load, OTHERS + left + 2 * taken, 0);
    const int came = failing_hit();
    if (is_done) {
        failing.fail_at = failing.refuse_at = 0; /* what looks at the heaps is not tried here */
        expect_count(&r, r.heap, OTHERS + left + 2 * taken, "all");
        expect_count(&r, r.into, 0, "all");
        assert_int_equal(clump_extract_get_info(r.loaded)->objects[0], COUNT);
    }
    clump_extract_destroy(r.extract);
    clump_extract_destroy(r.copy);
    clump_extract_destroy(r.large);
    clump_extract_destroy(r.moved);
    clump_extract_destroy(r.loaded);
    memory_release(&r.file);
    clump_heap_destroy(r.heap);
    clump_heap_destroy(r.into);
    clump_context_destroy(r.context);
    clump_schema_destroy(r.schema);
    clReleaseMemObject(r.refs);
    free(r.data);
    failing_check_nothing_left();
    return came;
}

static int run_plain(const cl_fixture *on) {
    return run_once(on, plain_text);
}

static int run_arrays(const cl_fixture *on) {
    return run_once(on, arrays_text);
}

int main(void) {
    static failing_part plain = {run_plain, NULL}, arrays = {run_arrays, NULL};
    const struct CMUnitTest tests[] = {FAILING_TESTS(&plain), FAILING_TESTS(&arrays)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
