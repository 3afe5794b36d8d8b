/* Saving and loading while each OpenCL call and each request for host memory fails, one run for
 * each: the call fails with words that name what failed, heaps pass their check, the heap that was
 * to be loaded has no objects and no handles, and the call works when it is tried again. Nothing is
 * left at the end of a run.
 *
 * Read first: tests/support/failing.h, tests/fault/heap/fault_host.c.
 */
#include <stdlib.h>
#include <string.h>

#include "failing.h"
#include "saved_heap.h"

static const char text[] = "class A { uint id; ref A next; float2 at[2]; } class B { ref A a; }";
static const char less[] =
    "class A { uint id; ref A next; float2 at[2]; long more; } class B { ref A a; }";
enum { COUNT = 300 };

typedef struct run {
    clump_context *context;
    clump_schema *schema, *other_schema;
    clump_heap *heap, *loaded;
    clump_refs *refs[2];
    cl_mem outside[2];
    memory_file file;
    clump_error error;
} run;

/* Nothing was loaded. Without calls that fail, since these are calls, too. */
static void expect_empty(run *r, const char *step) {
    clump_heap_stats stats = {.size = sizeof stats};
    clump_ref ref;
    if (clump_heap_check(r->loaded) || clump_heap_check(r->heap))
        fail_msg("after %s and %s: %s", step, failing.struck ? failing.struck : "a request",
                 clump_context_get_error(r->context)->message);
    assert_int_equal(clump_heap_read_stats(r->loaded, &stats, NULL, 0), CLUMP_OK);
    assert_int_equal(stats.objects, 0);
    assert_int_equal(stats.free_blocks, stats.blocks);
    assert_int_equal(clump_heap_read_handle(r->loaded, 1, &ref), CLUMP_ERR_USAGE);
}

static clump_status save(run *r) {
    r->file.bytes = 0;
    return clump_heap_save(r->heap,
                           &(clump_save_desc){.size = sizeof(clump_save_desc),
                                              .write = memory_write,
                                              .user = &r->file,
                                              .piece_bytes = 4096},
                           NULL);
}

static clump_status load(run *r) {
    r->file.at = 0;
    return clump_heap_load(
        r->loaded,
        &(clump_load_desc){.size = sizeof(clump_load_desc), .read = memory_read, .user = &r->file},
        NULL);
}

static clump_status make(run *r, const cl_fixture *on) {
    const clump_struct_desc a = {sizeof a, "A", 4, 0, NULL};
    uint32_t zeros[COUNT] = {0};
    clump_ref as[COUNT];
    clump_handle handle;
    clump_status status = failing_context(on, &r->context, &r->error);
    if (status) return status;
    clump_heap_desc desc = {
        .size = sizeof desc, .context = r->context, .schema = r->schema, .bytes = 1 << 20};
    status = clump_heap_create(&desc, &r->heap, NULL);
    desc.schema = r->other_schema;
    if (!status) status = clump_heap_create(&desc, &r->loaded, NULL);
    if (!status) status = clump_heap_new_structs(r->heap, &a, zeros, COUNT, as, NULL);
    if (!status) status = clump_heap_write_field(r->heap, "A", "next", 0, sizeof *as, as, COUNT);
    if (!status) status = clump_heap_create_handle(r->heap, as[3], &handle);
    if (!status) status = clump_heap_reserve(r->heap, "A", 5, NULL);
    for (int i = 0; i < 2 && !status; i++)
        status = clump_refs_create(
            i ? r->loaded : r->heap,
            &(clump_refs_desc){
                .size = sizeof(clump_refs_desc), .buffer = r->outside[i], .count = 2},
            &r->refs[i], NULL);
    return status;
}

/* One step; then once more if it failed. Returns 0 if the run is over. */
static int step(run *r, const char *name, clump_status (*call)(run *)) {
    const int was_hit = failing_hit();
    clump_status status = call(r);
    if (!status) {
        if (failing_hit() && !was_hit && !failing_may_be_ignored())
            fail_msg("%s succeeds though %s failed", name,
                     failing.struck ? failing.struck : "a request for memory");
        return !(failing_hit() && failing.persistent);
    }
    failing_check_words(r->context ? clump_context_get_error(r->context) : &r->error, name, status);
    if (failing.persistent) return 0;
    expect_empty(r, name);
    status = call(r);
    if (status)
        fail_msg("%s, second try after %s: %s", name, failing.struck ? failing.struck : "a request",
                 clump_context_get_error(r->context)->message);
    return 1;
}

static clump_schema *parse(const char *schema) {
    clump_schema *s;
    assert_int_equal(clump_schema_parse(schema, strlen(schema), NULL, &s, NULL), CLUMP_OK);
    return s;
}

/* What is before the first save may fail as it likes: fault_host has that. */
static int run_once(const cl_fixture *on) {
    run r = {.schema = parse(text), .other_schema = parse(less)};
    for (int i = 0; i < 2; i++) r.outside[i] = cl_fixture_buffer(on, NULL, 8);
    clump_status status = make(&r, on);
    const int is_done = !status && step(&r, "save", save) && step(&r, "load", load);
    const int came = failing_hit();
    if (is_done) {
        uint64_t count = 0;
        failing.fail_at = failing.refuse_at = 0; /* what looks at the heap is not tried here */
        clump_ref ref = 0;
        assert_int_equal(clump_heap_check(r.loaded), CLUMP_OK);
        assert_int_equal(clump_heap_read_count(r.loaded, "A", &count), CLUMP_OK);
        assert_int_equal(count, COUNT);
        assert_int_equal(clump_heap_read_handle(r.loaded, 1, &ref), CLUMP_OK);
        assert_int_not_equal(ref, 0);
    }
    for (int i = 0; i < 2; i++) clump_refs_destroy(r.refs[i]);
    clump_heap_destroy(r.heap);
    clump_heap_destroy(r.loaded);
    clump_context_destroy(r.context);
    clump_schema_destroy(r.schema);
    clump_schema_destroy(r.other_schema);
    for (int i = 0; i < 2; i++) clReleaseMemObject(r.outside[i]);
    memory_release(&r.file);
    failing_check_nothing_left();
    return came;
}

/* What needs no device has an allocator of its own. */
static memory_file saved;
static int look_once(const cl_fixture *on) {
    clump_saved *opened = (clump_saved *)&saved;
    clump_error error = {0};
    const clump_load_desc from = {.size = sizeof from, .read = memory_read, .user = &saved};
    saved.at = 0;
    clump_status status = clump_saved_open(&from, &failing_allocator, &opened, &error);
    assert_int_equal(status, failing.refused ? CLUMP_ERR_HOST_MEMORY : CLUMP_OK);
    assert_int_equal(opened == NULL, status != CLUMP_OK);
    clump_saved_close(opened);
    const int was_refused = failing.refused;
    saved.at = 0;
    status = clump_saved_read(&from, &failing_allocator, NULL, NULL, &error);
    assert_int_equal(status, failing.refused && !was_refused ? CLUMP_ERR_HOST_MEMORY : CLUMP_OK);
    const int came = failing.refused;
    failing_check_nothing_left();
    return came;
}

static void requests_without_a_device(void **state) {
    cl_fixture on = failing_open(0);
    clump_heap *heap = cl_fixture_heap(&on, saved_schema, 1 << 20, 1);
    cl_mem outside = cl_fixture_buffer(&on, NULL, 8);
    clump_refs *refs;
    CHECK_OK(&on,
             clump_refs_create(
                 heap,
                 &(clump_refs_desc){.size = sizeof(clump_refs_desc), .buffer = outside, .count = 2},
                 &refs, NULL));
    saved_fill(&on, heap, 1, 100);
    saved = saved_bytes(&on, heap, 4096);
    assert_true(failing_refuse_all(look_once, &on) > 10);
    memory_release(&saved);
    clump_refs_destroy(refs);
    clReleaseMemObject(outside);
    clump_heap_destroy(heap);
    failing_close(&on);
}

int main(void) {
    static failing_part part = {run_once, NULL};
    const struct CMUnitTest tests[] = {
        FAILING_TESTS(&part),
        cmocka_unit_test(requests_without_a_device),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
