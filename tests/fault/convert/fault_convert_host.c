/* Converting a heap while each OpenCL call and each request for host memory fails, one run for
 * each: the call fails with words that name what failed; the heap has its objects, its schema, its
 * references and handles as before, and passes its check; and the call works when it is tried
 * again. Nothing is left at the end of a run.
 *
 * Read first: tests/support/failing.h, tests/fault/extract/fault_extract_host.c.
 */
#include <stdlib.h>
#include <string.h>

#include "clump/structs.h"
#include "failing.h"

static const char before[] =
    "class A { uint id; ref A next; ref A links[*]; float2 at[2]; } class B { ref A a; }";
static const char after[] =
    "class B { ref A a; uint more; } aos class A { float2 at[2]; uint id; ref A links[*]; ref A "
    "next; }";
enum { COUNT = 300 };

static unsigned finishes_ignored; /* in all runs of a test */

typedef struct run {
    clump_context *context;
    clump_schema *before, *after;
    clump_heap *heap;
    clump_refs *refs;
    clump_handle handle;
    clump_ref as[COUNT];
    cl_mem registered; /* those of A, and a null after each */
    clump_error error;
} run;

static clump_status make(run *r, const cl_fixture *on) {
    static const clump_struct_field id = {"id", 0};
    clump_ref words[2 * COUNT] = {0};
    uint32_t ids[COUNT];
    uint64_t offsets[COUNT + 1];
    clump_status status = failing_context(on, &r->context, &r->error);
    if (status) return status;
    for (uint32_t i = 0; i < COUNT; i++) ids[i] = i;
    status = clump_heap_create(&(clump_heap_desc){.size = sizeof(clump_heap_desc),
                                                  .context = r->context,
                                                  .schema = r->before,
                                                  .bytes = 1 << 20,
                                                  .watch_handles = 1},
                               &r->heap, NULL);
    if (!status)
        status = clump_heap_new_structs(
            r->heap, &(clump_struct_desc){sizeof(clump_struct_desc), "A", 4, 1, &id}, ids, COUNT,
            r->as, NULL);
    if (!status)
        status = clump_heap_write_field(r->heap, "A", "next", 0, sizeof *r->as, r->as, COUNT);
    for (uint32_t i = 0; i <= COUNT; i++) offsets[i] = 2 * i;
    for (uint32_t i = 0; i < 2 * COUNT; i++) words[i] = r->as[7 * i % COUNT];
    if (!status)
        status = clump_heap_write_arrays(r->heap, "A", "links", NULL, COUNT, offsets, sizeof *words,
                                         words, 2 * COUNT);
    if (!status)
        status = clump_heap_new_structs(
            r->heap, &(clump_struct_desc){sizeof(clump_struct_desc), "B", 4, 0, NULL}, ids, COUNT,
            NULL, NULL);
    if (!status) status = clump_heap_reserve(r->heap, "A", 100, NULL);
    if (!status) status = clump_heap_create_handle(r->heap, r->as[7], &r->handle);
    for (uint32_t i = 0; i < COUNT; i++) {
        words[2 * i] = r->as[i];
        words[2 * i + 1] = 0;
    }
    if (!status) cl_fixture_write(on, r->registered, words, sizeof words);
    if (!status)
        status = clump_refs_create(r->heap,
                                   &(clump_refs_desc){.size = sizeof(clump_refs_desc),
                                                      .buffer = r->registered,
                                                      .stride = 8,
                                                      .count = COUNT},
                                   &r->refs, NULL);
    return status;
}

/* All is there, at references that are the same as before, or are not. */
static void expect(const run *r, const cl_fixture *on, const char *text, int is_moved) {
    clump_ref now[COUNT], words[2 * COUNT], of_handle = 0;
    uint32_t ids[COUNT];
    uint64_t count = 0;
    clump_class_info b;
    const clump_schema *schema = clump_heap_get_info(r->heap)->schema;
    if (clump_heap_check(r->heap) || clump_heap_take_errors(r->heap, NULL) ||
        clump_heap_read_refs(r->heap, "A", now, COUNT, &count) ||
        clump_heap_read_field(r->heap, "A", "id", 0, sizeof *ids, ids, COUNT, NULL) ||
        clump_heap_read_handle(r->heap, r->handle, &of_handle))
        fail_msg("%s, after %s: %s", text, failing.struck ? failing.struck : "a request",
                 clump_context_get_error(r->context)->message);
    cl_fixture_read(on, r->registered, words, sizeof words);
    assert_int_equal(count, COUNT);
    assert_int_equal(of_handle, now[7]);
    assert_int_equal(memcmp(now, r->as, sizeof now) != 0, is_moved);
    b = *clump_schema_find_class(schema, "B");
    assert_int_equal(clump_schema_find_field(schema, b.id, "more") != NULL, is_moved);
    for (uint32_t i = 0; i < COUNT; i++) {
        if (words[2 * i] != now[i] || words[2 * i + 1] || ids[i] != i)
            fail_msg("%s, after %s: registered reference %u is 0x%08x, not 0x%08x", text,
                     failing.struck ? failing.struck : "a request", i, words[2 * i], now[i]);
    }
    clump_ref next[COUNT];
    if (clump_heap_read_field(r->heap, "A", "next", 0, sizeof *next, next, COUNT, NULL) ||
        memcmp(next, now, sizeof now) != 0)
        fail_msg("%s, after %s: field next", text, failing.struck ? failing.struck : "a request");
    uint64_t offsets[COUNT + 1];
    if (clump_heap_read_arrays(r->heap, "A", "links", NULL, COUNT, offsets, sizeof *words, words,
                               2 * COUNT))
        fail_msg("%s, after %s: %s", text, failing.struck ? failing.struck : "a request",
                 clump_context_get_error(r->context)->message);
    for (uint32_t i = 0; i < 2 * COUNT; i++)
        if (offsets[i / 2 + 1] != 2 * (i / 2 + 1) || words[i] != now[7 * i % COUNT])
            fail_msg("%s, after %s: element %u", text,
                     failing.struck ? failing.struck : "a request", i);
}

/* The warnings of a program that was built: the heap compiles the kernel that makes arrays. */
static int struck_warnings(void) {
    return failing.struck && strcmp(failing.struck, "clGetProgramBuildInfo") == 0;
}

/* What is before the conversion may fail as it likes: fault_host has that. Returns whether a
 * failure came. */
static int convert(run *r, const cl_fixture *on) {
    const clump_convert_desc desc = {.size = sizeof desc, .schema = r->after, .bytes = 2 << 20};
    const int was_hit = failing_hit();
    clump_status status = clump_heap_convert(r->heap, &desc, NULL);
    const int is_finish = failing.struck && strcmp(failing.struck, "clFinish") == 0;
    if (!status && failing_hit() && !was_hit && is_finish && !finishes_ignored++) {
        /* That before the old memory is released, which nothing uses any more. There is one. */
    } else if (!status && failing_hit() && !was_hit && !struck_warnings() &&
               !failing_may_be_ignored())
        fail_msg("the conversion succeeds though %s failed",
                 failing.struck ? failing.struck : "a request for memory");
    const int came = failing_hit();
    if (status) {
        failing_check_words(clump_context_get_error(r->context), "convert", status);
        if (failing.persistent) return came;
        failing.fail_at = failing.refuse_at = 0; /* what looks at the heap is not tried here */
        expect(r, on, "the heap is as before", 0);
        status = clump_heap_convert(r->heap, &desc, NULL);
        if (status)
            fail_msg("second try after %s: %s", failing.struck ? failing.struck : "a request",
                     clump_context_get_error(r->context)->message);
    }
    if (came && failing.persistent) return came;
    failing.fail_at = failing.refuse_at = 0;
    expect(r, on, "the heap is converted", 1);
    return came;
}

static int run_once(const cl_fixture *on) {
    run r = {.registered = cl_fixture_buffer(on, NULL, 2 * COUNT * sizeof(clump_ref))};
    assert_int_equal(clump_schema_parse(before, strlen(before), NULL, &r.before, NULL), CLUMP_OK);
    assert_int_equal(clump_schema_parse(after, strlen(after), NULL, &r.after, NULL), CLUMP_OK);
    const clump_status status = make(&r, on);
    if (status && !failing_hit())
        fail_msg("the heap could not be made: %s",
                 r.context ? clump_context_get_error(r.context)->message : r.error.message);
    const int came = status ? failing_hit() : convert(&r, on);
    clump_refs_destroy(r.refs);
    clump_heap_destroy(r.heap);
    clump_context_destroy(r.context);
    clump_schema_destroy(r.before);
    clump_schema_destroy(r.after);
    clReleaseMemObject(r.registered);
    failing_check_nothing_left();
    return came;
}

static void begin(void) {
    finishes_ignored = 0;
}

int main(void) {
    static failing_part part = {run_once, begin};
    const struct CMUnitTest tests[] = {
        FAILING_TESTS(&part),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
