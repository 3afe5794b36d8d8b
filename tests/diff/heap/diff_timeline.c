/* The timeline of a context against what the test enqueued: names, order and times of commands, on queues in order and out of
 * order. The trace is read by cJSON.
 *
 *     diff_timeline          the tests
 *     diff_timeline FILE     write a trace, which tests/repo/timeline_perfetto.py opens
 *
 * Read first: include/clump/timeline.h.
 */
#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cl_fixture.h"

enum { OBJECTS = 20000, ROUNDS = 5, COMMANDS = 1000, THREADS = 3 };

static const char schema_text[] = "class Body { float x; uint id; }";
static const char source[] =
    "__kernel void body(CLUMP_HEAP) { CLUMP_FOR_EACH_NEW(Body, b, i) Body_id(b) = i; }\n"
    "__kernel void touch(CLUMP_HEAP_FIXED) { CLUMP_FOR_EACH(Body, b) Body_x(b) = 1.0f; }\n"
    "__kernel void thin(CLUMP_HEAP) { CLUMP_FOR_EACH(Body, b) if (Body_id(b) % 3u) Body_free(b); "
    "}\n";

static struct {
    cl_fixture on;
    clump_heap *heap;
    clump_program *program;
    clump_kernel *body, *touch, *thin;
    char *text;
    cJSON *trace;
} t;

static void keep(void *user, const char *text, size_t bytes) {
    assert_ptr_equal(user, &t);
    assert_int_equal(strlen(text), bytes);
    t.text = malloc(bytes + 1);
    assert_non_null(t.text);
    memcpy(t.text, text, bytes + 1);
}

static void take(void) {
    cJSON_Delete(t.trace);
    free(t.text);
    t.text = NULL;
    CHECK_OK(&t.on, clump_timeline_write(t.on.clump, keep, &t));
    const char *end = NULL;
    t.trace = cJSON_ParseWithOpts(t.text, &end, 1);
    if (!t.trace) fail_msg("a timeline is no JSON from here on: %.60s", end);
}

static double number_of(const cJSON *object, const char *name) {
    const cJSON *n = cJSON_GetObjectItem(object, name);
    if (!cJSON_IsNumber(n)) fail_msg("%s is no number", name);
    return n->valuedouble;
}

static const char *text_of(const cJSON *object, const char *name) {
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItem(object, name));
    if (!text) fail_msg("%s is no text", name);
    return text;
}

/* Commands of a name, or of all. Each has a name and a thread, begins after the one before has ended, and takes no less than
 * no time; `from`: not before that. Returns how many. */
static int count(const char *name, double from) {
    int found = 0;
    const cJSON *e;
    double end = from;
    cJSON_ArrayForEach(e, cJSON_GetObjectItem(t.trace, "traceEvents")) {
        if (strcmp(text_of(e, "ph"), "X") != 0) continue;
        const double at = number_of(e, "ts"), takes = number_of(e, "dur");
        const int thread = (int)number_of(e, "tid");
        assert_true(takes >= 0);
        if (at + 0.002 < end) fail_msg("%s begins at %f, before %f", text_of(e, "name"), at, end);
        end = at + takes;
        assert_in_range(thread, 1, THREADS);
        const int is_library = strncmp(text_of(e, "name"), "clumpi_", 7) == 0;
        const cJSON *args = cJSON_GetObjectItem(e, "args");
        assert_int_equal(thread, args ? THREADS : is_library ? 2 : 1);
        if (args) assert_true(number_of(args, "bytes") > 0);
        found += !name || strcmp(text_of(e, "name"), name) == 0;
    }
    return found;
}

static double dropped(void) {
    return number_of(cJSON_GetObjectItem(t.trace, "otherData"), "dropped");
}

static double last_end(void) {
    const cJSON *all = cJSON_GetObjectItem(t.trace, "traceEvents"),
                *e = cJSON_GetArrayItem(all, cJSON_GetArraySize(all) - 1);
    return number_of(e, "ts") + number_of(e, "dur");
}

static void close_heap(void) {
    clump_kernel_destroy(t.body);
    clump_kernel_destroy(t.touch);
    clump_kernel_destroy(t.thin);
    clump_program_destroy(t.program);
    CHECK_HEAP(&t.on, t.heap);
    clump_heap_destroy(t.heap);
    cJSON_Delete(t.trace);
    free(t.text);
    t.trace = NULL;
    t.text = NULL;
}

static void open_heap(void) {
    t.heap = cl_fixture_heap(&t.on, schema_text, 8u << 20, 2);
    t.program = cl_fixture_program(&t.on, t.heap, source, NULL, NULL);
    t.body = cl_fixture_kernel(&t.on, t.program, "body");
    t.touch = cl_fixture_kernel(&t.on, t.program, "touch");
    t.thin = cl_fixture_kernel(&t.on, t.program, "thin");
}

static void simulate(void) {
    CHECK_OK(&t.on, clump_do_new(t.heap, "Body", OBJECTS, t.body, NULL, NULL));
    for (int i = 0; i < ROUNDS; i++) CHECK_OK(&t.on, clump_do_all(t.heap, t.touch, NULL));
    CHECK_OK(&t.on, clump_do_all(t.heap, t.thin, NULL));
    CHECK_OK(&t.on, clump_compact(t.heap, NULL, NULL, NULL));
    clump_heap_stats stats;
    CHECK_OK(&t.on, clump_heap_calc_stats(t.heap, &stats, NULL, 0));
    CHECK_OK(&t.on, clump_heap_reserve(t.heap, "Body", 10));
}

static void commands(void **state) {
    (void)state;
    open_heap();
    CHECK_OK(&t.on, clump_timeline_record(t.on.clump, COMMANDS));
    simulate();
    take();
    assert_int_equal(count("body", 0), 1);
    assert_int_equal(count("touch", 0), ROUNDS);
    assert_int_equal(count("thin", 0), 1);
    assert_int_equal(count("clumpi_new_claim", 0), 1);
    assert_int_equal(count("clumpi_list_write", 0), 1); /* of the first touch() */
    assert_int_equal(count("clumpi_rewrite", 0), 1);
    assert_int_equal(count("fill", 0),
                     2); /* the result of the statistics; a word for clump_heap_reserve() */
    assert_int_equal(count("read", 0), 1);
    assert_true(dropped() == 0);
    /* It was forgotten; times go on. */
    const double end = last_end();
    cl_event event = NULL;
    CHECK_OK(&t.on, clump_do_all(t.heap, t.touch, &(clump_sync){.event = &event}));
    CHECK_CL(clWaitForEvents(1, &event)); /* the caller's own */
    CHECK_CL(clReleaseEvent(event));
    take();
    assert_int_equal(count("touch", end - 0.002), 1);
    assert_int_equal(count("body", 0), 0);
    close_heap();
}

/* More commands than there is room for; none; recording that ends. */
static void bounds(void **state) {
    (void)state;
    open_heap();
    CHECK_OK(&t.on, clump_timeline_record(t.on.clump, COMMANDS));
    simulate();
    take();
    const int all = count(NULL, 0);
    clump_heap_destroy(t.heap);
    t.heap = cl_fixture_heap(&t.on, schema_text, 8u << 20, 2);
    CHECK_OK(&t.on, clump_timeline_record(t.on.clump, 3));
    simulate();
    take();
    assert_int_equal(count(NULL, 0), 3);
    assert_true(dropped() == all - 3);
    take();
    assert_int_equal(count(NULL, 0), 0);
    assert_true(dropped() == 0);
    CHECK_OK(&t.on, clump_timeline_record(t.on.clump, 0));
    CHECK_OK(&t.on, clump_do_all(t.heap, t.touch, NULL));
    assert_int_equal(clump_timeline_write(t.on.clump, keep, &t), CLUMP_ERR_USAGE);
    /* What was recorded and not written goes with the context. */
    CHECK_OK(&t.on, clump_timeline_record(t.on.clump, COMMANDS));
    CHECK_OK(&t.on, clump_do_all(t.heap, t.touch, NULL));
    close_heap();
}

static void without_profiling(void **state) {
    (void)state;
    cl_int code = CL_SUCCESS;
    cl_command_queue queue = clCreateCommandQueue(t.on.context, t.on.device, 0, &code);
    CHECK_CL(code);
    clump_context_desc desc = {.context = t.on.context, .device = t.on.device, .queue = queue};
    clump_context *c = NULL;
    clump_error error;
    assert_int_equal(clump_context_create(&desc, &c, &error), CLUMP_OK);
    assert_int_equal(clump_timeline_record(c, 10), CLUMP_ERR_USAGE);
    if (!strstr(clump_context_get_error(c)->message, "CL_QUEUE_PROFILING_ENABLE"))
        fail_msg("it says \"%s\"", clump_context_get_error(c)->message);
    assert_int_equal(clump_timeline_record(c, 0), CLUMP_OK);
    clump_context_destroy(c);
    CHECK_CL(clReleaseCommandQueue(queue));
}

static int write_file(const char *path) {
    open_heap();
    CHECK_OK(&t.on, clump_timeline_record(t.on.clump, COMMANDS));
    simulate();
    take();
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(t.text, file);
    assert_int_equal(fclose(file), 0);
    close_heap();
    return 0;
}

int main(int argc, char **argv) {
    int failed = 0;
    if (argc > 1) {
        int code = cl_fixture_open(&t.on, NULL);
        if (code) return code;
        code = write_file(argv[1]);
        cl_fixture_close(&t.on);
        return code;
    }
    for (int out_of_order = 0; out_of_order < 2; out_of_order++) {
        const int code = cl_fixture_open(&t.on, &(cl_fixture_desc){.out_of_order = out_of_order});
        if (code == CL_FIXTURE_SKIP && out_of_order) break; /* the device has no such queue */
        if (code) return code;
        const struct CMUnitTest tests[] = {cmocka_unit_test(commands), cmocka_unit_test(bounds),
                                           cmocka_unit_test(without_profiling)};
        failed += cmocka_run_group_tests_name(out_of_order ? "out of order" : "in order", tests,
                                              NULL, NULL);
        cl_fixture_close(&t.on);
    }
    return failed;
}
