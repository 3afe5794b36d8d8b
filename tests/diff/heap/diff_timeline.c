/* The timeline of a context against what the test enqueued: names, order and times of commands, on
 * queues in order and out of order; spans of compactions and collections against the commands of
 * these and their reports; what pools did, on several threads too. The trace is read by cJSON.
 *
 *     diff_timeline          the tests
 *     diff_timeline FILE     write a trace, which tests/repo/timeline_perfetto.py opens
 *
 * Read first: include/clump/timeline.h.
 */
#include <cjson/cJSON.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cl_fixture.h"

enum { OBJECTS = 20000, ROUNDS = 5, COMMANDS = 1000, THREADS = 3, CALLS = 4, REGIONS = 24 };
enum { LONGER_NS = 100000 };
enum { REGION_BYTES = 100000, TURNS = 3000 };

#define POOL "things \"of\" all"
#define OF_POOL "things \"of\" all: "

static const char schema_text[] = "class Body { float x; uint id; }";
static const char source[] =
    "__kernel void body(CLUMP_HEAP) { CLUMP_FOR_EACH_NEW(Body, b, i) Body_id(b) = i; }\n"
    "__kernel void touch(CLUMP_HEAP_NO_ALLOC) { CLUMP_FOR_EACH(Body, b) Body_x(b) = 1.0f; }\n"
    "__kernel void thin(CLUMP_HEAP) { CLUMP_FOR_EACH(Body, b) if (Body_id(b) % 3u) Body_free(b); "
    "}\n";

static struct {
    cl_fixture on;
    clump_heap *heap;
    clump_program *program;
    clump_kernel *body, *touch, *thin;
    char *text;
    cJSON *trace;
    int is_out_of_order;
} t;

/* Every command of which the device tells that it ended before it began, or at the end of all
 * times, is counted, and the others have their places. */
static enum { RIGHT, BACKWARDS, FOR_EVER, LONGER } lie;
static cl_event lied_of;

static cl_int CL_API_CALL profiling_info(cl_event event, cl_profiling_info what, size_t bytes,
                                         void *value, size_t *size) {
    cl_int code = clGetEventProfilingInfo(event, what, bytes, value, size);
    if (code || !lie || what != CL_PROFILING_COMMAND_END) return code;
    cl_ulong end = UINT64_MAX;
    if (lie == LONGER) { /* into those after it, as by rounding */
        memcpy(&end, value, sizeof end);
        end += LONGER_NS;
    } else if (event != lied_of)
        return code;
    if (lie == BACKWARDS) {
        code = clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof end, &end, NULL);
        end--;
    }
    memcpy(value, &end, bytes);
    return code;
}

static const clump_cl_functions functions = {.size = sizeof functions,
                                             .GetEventProfilingInfo = profiling_info};

static int keep(void *user, const void *data, size_t bytes) {
    const char *text = data;
    assert_ptr_equal(user, &t);
    assert_int_equal(strlen(text), bytes);
    t.text = malloc(bytes + 1);
    assert_non_null(t.text);
    memcpy(t.text, text, bytes + 1);
    return 0;
}

static void take(void) {
    cJSON_Delete(t.trace);
    free(t.text);
    t.text = NULL;
    CHECK_OK(&t.on, clump_context_write_timeline(t.on.clump, keep, &t));
    const char *end = NULL;
    t.trace = cJSON_ParseWithOpts(t.text, &end, 1);
    if (!t.trace) fail_msg("a timeline is no JSON from here on: %.60s", end);
}

static double number_of(const cJSON *object, const char *name) {
    const cJSON *n = cJSON_GetObjectItem(object, name);
    if (!cJSON_IsNumber(n)) fail_msg("%s is no number", name);
    return n->valuedouble;
}

#define BETWEEN 0.002 /* two traces, or two queues: devices round times, by a nanosecond each */

/* Of a time of the trace, which has whole nanoseconds. */
static int64_t ns(double us) {
    return llround(us * 1e3);
}

static const char *text_of(const cJSON *object, const char *name) {
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItem(object, name));
    if (!text) fail_msg("%s is no text", name);
    return text;
}

/* Commands of a name, or of all. Spans are looked at elsewhere, and so are pools. Each has a name
 * and a thread, begins after the one before has ended, and takes no less than no time; `from`: not
 * before that. Returns how many. */
static int count(const char *name, double from) {
    int found = 0;
    const cJSON *e;
    double end = from;
    cJSON_ArrayForEach(e, cJSON_GetObjectItem(t.trace, "traceEvents")) {
        if (strcmp(text_of(e, "ph"), "X") != 0) continue;
        const double at = number_of(e, "ts"), takes = number_of(e, "dur");
        const int thread = (int)number_of(e, "tid");
        assert_true(takes >= 0);
        if (thread > THREADS) continue;
        if (ns(at) < ns(end)) fail_msg("%s begins at %f, before %f", text_of(e, "name"), at, end);
        end = at + takes;
        assert_in_range(thread, 1, CALLS);
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

static double end_of(const cJSON *e) {
    return number_of(e, "ts") + number_of(e, "dur");
}

/* The next event after `e`, or the first, of a phase and a name. */
static const cJSON *next(const cJSON *e, const char *phase, const char *name) {
    const cJSON *all = cJSON_GetObjectItem(t.trace, "traceEvents");
    for (e = e ? e->next : all->child; e; e = e->next)
        if (!strcmp(text_of(e, "ph"), phase) && !strcmp(text_of(e, "name"), name)) return e;
    return NULL;
}

static double arg_of(const cJSON *e, const char *name) {
    return number_of(cJSON_GetObjectItem(e, "args"), name);
}

static double last_end(void) {
    const cJSON *all = cJSON_GetObjectItem(t.trace, "traceEvents");
    return end_of(cJSON_GetArrayItem(all, cJSON_GetArraySize(all) - 1));
}

/* A span reaches from the first command to the last, and has a thread of its own. */
static void check_span(const cJSON *span, double from, double to) {
    assert_non_null(span);
    assert_int_equal(number_of(span, "tid"), CALLS);
    const double begins = number_of(span, "ts"), ends = end_of(span);
    if (ns(begins) != ns(from) || ns(ends) != ns(to))
        fail_msg("%s is from %f to %f; its commands from %f to %f", text_of(span, "name"), begins,
                 ends, from, to);
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
    CHECK_OK(&t.on, clump_heap_do_new(t.heap, t.body, "Body", OBJECTS, NULL, NULL));
    for (int i = 0; i < ROUNDS; i++) CHECK_OK(&t.on, clump_heap_do_all(t.heap, t.touch, NULL));
    CHECK_OK(&t.on, clump_heap_do_all(t.heap, t.thin, NULL));
    CHECK_OK(&t.on, clump_heap_compact(t.heap, NULL, NULL, NULL));
    clump_heap_stats stats = {.size = sizeof stats};
    CHECK_OK(&t.on, clump_heap_read_stats(t.heap, &stats, NULL, 0));
    CHECK_OK(&t.on, clump_heap_reserve(t.heap, "Body", 10, NULL));
}

static void commands(void **state) {
    (void)state;
    lie = RIGHT;
    open_heap();
    CHECK_OK(&t.on, clump_context_record_timeline(t.on.clump, COMMANDS));
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
    CHECK_OK(&t.on, clump_heap_do_all(t.heap, t.touch, &(clump_sync){.event = &event}));
    CHECK_CL(clWaitForEvents(1, &event)); /* the caller's own */
    CHECK_CL(clReleaseEvent(event));
    take();
    assert_int_equal(count("touch", end - BETWEEN), 1);
    assert_int_equal(count("body", 0), 0);
    close_heap();
}

/* More commands than there is room for; none; recording that ends. */
static void bounds(void **state) {
    (void)state;
    open_heap();
    CHECK_OK(&t.on, clump_context_record_timeline(t.on.clump, COMMANDS));
    simulate();
    take();
    const int all = count(NULL, 0);
    clump_heap_destroy(t.heap);
    t.heap = cl_fixture_heap(&t.on, schema_text, 8u << 20, 2);
    CHECK_OK(&t.on, clump_context_record_timeline(t.on.clump, 3));
    simulate();
    take();
    assert_int_equal(count(NULL, 0), 3);
    assert_true(dropped() == all - 3 + 1); /* and the span of the compaction */
    take();
    assert_int_equal(count(NULL, 0), 0);
    assert_true(dropped() == 0);
    CHECK_OK(&t.on, clump_context_record_timeline(t.on.clump, 0));
    CHECK_OK(&t.on, clump_heap_do_all(t.heap, t.touch, NULL));
    assert_int_equal(clump_context_write_timeline(t.on.clump, keep, &t), CLUMP_ERR_USAGE);
    /* What was recorded and not written goes with the context. */
    CHECK_OK(&t.on, clump_context_record_timeline(t.on.clump, COMMANDS));
    CHECK_OK(&t.on, clump_heap_do_all(t.heap, t.touch, NULL));
    close_heap();
}

static void wrong_times(void **state) {
    (void)state;
    open_heap();
    CHECK_OK(&t.on, clump_heap_do_new(t.heap, t.body, "Body", OBJECTS, NULL, NULL));
    CHECK_OK(&t.on, clump_heap_do_all(t.heap, t.touch, NULL)); /* the list is made */
    for (lie = BACKWARDS; lie <= FOR_EVER; lie++) {
        CHECK_OK(&t.on, clump_context_record_timeline(t.on.clump, COMMANDS));
        for (int i = 0; i < 3; i++) {
            cl_event event;
            CHECK_OK(&t.on, clump_heap_do_all(t.heap, t.touch, &(clump_sync){.event = &event}));
            if (i == 1) lied_of = event; /* which the timeline holds */
            CHECK_CL(clReleaseEvent(event));
        }
        take();
        assert_int_equal(count("touch", 0), 2);
        assert_true(dropped() == 1);
        assert_true(last_end() < 1e9); /* no 600 years, but less than a quarter of an hour */
    }
    lied_of = NULL;
    lie = LONGER; /* and yet no two of a queue overlap, nor do spans */
    CHECK_OK(&t.on, clump_context_record_timeline(t.on.clump, COMMANDS));
    for (int i = 0; i < ROUNDS; i++) CHECK_OK(&t.on, clump_heap_do_all(t.heap, t.touch, NULL));
    for (int i = 0; i < 2; i++) CHECK_OK(&t.on, clump_heap_collect(t.heap, NULL, NULL, NULL));
    take();
    assert_int_equal(count("touch", 0), ROUNDS);
    assert_true(dropped() == 0);
    const cJSON *first = next(NULL, "X", "collection"), *second = next(first, "X", "collection");
    assert_non_null(second);
    assert_true(ns(end_of(first)) <= ns(number_of(second, "ts")));
    lie = RIGHT;
    close_heap();
}

static cl_command_queue make_queue(cl_command_queue_properties properties) {
    cl_int code = CL_SUCCESS;
    cl_command_queue queue = clCreateCommandQueue(t.on.context, t.on.device, properties, &code);
    CHECK_CL(code);
    return queue;
}

/* A fill that the program enqueues on a queue, and adds. */
static void add_fill(cl_command_queue queue, cl_mem buffer, const char *name) {
    static const cl_uint one = 1;
    cl_event event;
    CHECK_CL(clEnqueueFillBuffer(queue, buffer, &one, sizeof one, 0, 1000, 0, NULL, &event));
    CHECK_OK(&t.on, clump_context_add_to_timeline(t.on.clump, name, 1000, event));
    CHECK_CL(clReleaseEvent(event));
}

/* Commands that the program adds: with those of their queue, if it is the context's, or with each
 * other. */
static void added(void **state) {
    (void)state;
    open_heap();
    cl_int code = CL_SUCCESS;
    cl_mem buffer = clCreateBuffer(t.on.context, CL_MEM_READ_WRITE, 1000, NULL, &code);
    CHECK_CL(code);
    cl_event user = clCreateUserEvent(t.on.context, &code);
    CHECK_CL(code);
    cl_command_queue other = make_queue(CL_QUEUE_PROFILING_ENABLE), silent = make_queue(0);
    cl_command_queue loose =
        make_queue(CL_QUEUE_PROFILING_ENABLE | CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    add_fill(other, buffer, "unseen"); /* nothing is being recorded */
    CHECK_OK(&t.on, clump_context_record_timeline(t.on.clump, COMMANDS));
    CHECK_OK(&t.on, clump_heap_do_new(t.heap, t.body, "Body", OBJECTS, NULL, NULL));
    add_fill(t.on.queue, buffer, "mine");
    add_fill(other, buffer, "other");
    add_fill(other, buffer, "again");
    add_fill(silent, buffer, "silent");
    add_fill(loose, buffer, "loose");
    assert_int_equal(clump_context_add_to_timeline(t.on.clump, "user", 0, user), CLUMP_ERR_USAGE);
    assert_non_null(strstr(clump_context_get_error(t.on.clump)->message, "a user event"));
    CHECK_CL(clFinish(other));
    take();
    assert_true(dropped() == (t.is_out_of_order ? 3 : 2));
    assert_true(!next(NULL, "X", "unseen") && !next(NULL, "X", "silent"));
    assert_null(next(NULL, "X", "loose"));
    const cJSON *of_other = next(NULL, "X", "other"), *again = next(NULL, "X", "again");
    assert_true(number_of(cJSON_GetObjectItem(of_other, "args"), "bytes") == 1000);
    assert_true(number_of(of_other, "tid") > 1000000);
    assert_true(number_of(again, "tid") == number_of(of_other, "tid"));
    /* One after the other, in the order of the times that the device reports: docs/portability.md
     * has a queue in order whose second fill was first. */
    const cJSON *const pair[] = {of_other, again};
    const int is_later = number_of(of_other, "ts") > number_of(again, "ts");
    assert_true(ns(end_of(pair[is_later])) <= ns(number_of(pair[!is_later], "ts")));
    const cJSON *mine = next(NULL, "X", "mine");
    assert_true(t.is_out_of_order ? !mine : number_of(mine, "tid") == 3);
    close_heap();
    CHECK_CL(clSetUserEventStatus(user, CL_COMPLETE)); /* NVIDIA's contexts wait for it */
    CHECK_CL(clReleaseEvent(user));
    CHECK_CL(clReleaseMemObject(buffer));
    CHECK_CL(clReleaseCommandQueue(other));
    CHECK_CL(clReleaseCommandQueue(silent));
    CHECK_CL(clReleaseCommandQueue(loose));
}

/* Threads of another queue are its own, and named; what is on a queue without profiling is
 * counted. */
static void queues(void **state) {
    (void)state;
    open_heap();
    CHECK_OK(&t.on, clump_heap_do_new(t.heap, t.body, "Body", OBJECTS, NULL, NULL));
    CHECK_OK(&t.on, clump_heap_do_all(t.heap, t.touch, NULL)); /* the list is made */
    /* Commands on one out of order have events for the order, all without times. */
    const cl_command_queue_properties as_first =
        t.is_out_of_order ? CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE : 0;
    cl_command_queue other = make_queue(CL_QUEUE_PROFILING_ENABLE), silent = make_queue(as_first);
    CHECK_OK(&t.on, clump_context_record_timeline(t.on.clump, COMMANDS));
    CHECK_OK(&t.on, clump_heap_do_all(t.heap, t.touch, NULL));
    CHECK_OK(&t.on, clump_context_set_queue(t.on.clump, other));
    CHECK_OK(&t.on, clump_heap_do_all(t.heap, t.touch, NULL));
    CHECK_OK(&t.on, clump_heap_compact(t.heap, NULL, NULL, NULL));
    CHECK_OK(&t.on, clump_context_set_queue(t.on.clump, silent));
    CHECK_OK(&t.on, clump_heap_do_all(t.heap, t.touch, NULL));
    assert_int_equal(clump_context_record_timeline(t.on.clump, COMMANDS), CLUMP_ERR_USAGE);
    take();
    assert_true(dropped() >= 1 && dropped() <= 4); /* and the list of objects */
    const cJSON *first = next(NULL, "X", "touch"), *second = next(first, "X", "touch");
    assert_non_null(second);
    assert_null(next(second, "X", "touch"));
    assert_int_equal(number_of(first, "tid"), 1);
    const int program = (int)number_of(second, "tid");
    assert_true(program > 1000000);
    assert_true(number_of(second, "ts") + BETWEEN >= end_of(first)); /* one heap */
    assert_int_equal(number_of(next(NULL, "X", "clumpi_move"), "tid"), program + 1);
    assert_int_equal(number_of(next(NULL, "X", "compaction"), "tid"), program + CALLS - 1);
    int named = 0;
    for (const cJSON *e = NULL; (e = next(e, "M", "thread_name")) != NULL;)
        named += number_of(e, "tid") >= program &&
                 !strncmp(text_of(cJSON_GetObjectItem(e, "args"), "name"), "queue ", 6);
    assert_int_equal(named, CALLS);
    CHECK_OK(&t.on, clump_context_set_queue(t.on.clump, NULL));
    close_heap();
    CHECK_CL(clReleaseCommandQueue(other));
    CHECK_CL(clReleaseCommandQueue(silent));
}

static void without_profiling(void **state) {
    (void)state;
    cl_command_queue queue = make_queue(0);
    clump_context_desc desc = {
        .size = sizeof desc, .context = t.on.context, .device = t.on.device, .queue = queue};
    clump_context *c = NULL;
    clump_error error;
    assert_int_equal(clump_context_create(&desc, &c, &error), CLUMP_OK);
    assert_int_equal(clump_context_record_timeline(c, 10), CLUMP_ERR_USAGE);
    if (!strstr(clump_context_get_error(c)->message, "CL_QUEUE_PROFILING_ENABLE"))
        fail_msg("it says \"%s\"", clump_context_get_error(c)->message);
    assert_int_equal(clump_context_record_timeline(c, 0), CLUMP_OK);
    clump_context_destroy(c);
    CHECK_CL(clReleaseCommandQueue(queue));
}

/* Spans reach over the commands of one call, and say what its report says. */
static void spans(void **state) {
    (void)state;
    open_heap();
    CHECK_OK(&t.on, clump_heap_do_new(t.heap, t.body, "Body", OBJECTS, NULL, NULL));
    CHECK_OK(&t.on, clump_heap_do_all(t.heap, t.thin, NULL));
    CHECK_OK(&t.on, clump_context_record_timeline(t.on.clump, COMMANDS));
    clump_compact_report compacted = {.size = sizeof compacted};
    CHECK_OK(&t.on, clump_heap_compact(t.heap, NULL, &compacted, NULL));
    take();
    const cJSON *all = cJSON_GetObjectItem(t.trace, "traceEvents");
    const cJSON *last = cJSON_GetArrayItem(all, cJSON_GetArraySize(all) - 1);
    const cJSON *span = next(NULL, "X", "compaction");
    assert_ptr_equal(span, last); /* it is written when it is over */
    check_span(span, 0, end_of(last->prev));
    assert_true(arg_of(span, "moves") == (double)compacted.moves && compacted.moves > 0);
    assert_true(arg_of(span, "bytes_moved") == (double)compacted.bytes_moved);
    assert_true(arg_of(span, "blocks_freed") == (double)compacted.blocks_freed);
    assert_null(next(span, "X", "compaction"));
    /* One in another, after a command of its own, without a report. */
    CHECK_OK(&t.on, clump_heap_do_all(t.heap, t.touch, NULL));
    take();
    const double touched = end_of(next(NULL, "X", "touch"));
    const clump_collect_desc both = {
        .size = sizeof both,
        .root_classes = (const char *[]){"Body"},
        .root_class_count = 1,
        .compact = &(clump_compact_desc){.size = sizeof(clump_compact_desc)}};
    CHECK_OK(&t.on, clump_heap_do_all(t.heap, t.touch, NULL));
    CHECK_OK(&t.on, clump_heap_collect(t.heap, &both, NULL, NULL));
    take();
    const cJSON *inner = next(NULL, "X", "compaction"), *outer = next(NULL, "X", "collection");
    const cJSON *touch = next(NULL, "X", "touch"), *plan = next(NULL, "X", "clumpi_plan_clear");
    assert_non_null(touch);
    assert_non_null(plan);
    assert_non_null(inner);
    check_span(inner, number_of(plan, "ts"), end_of(inner->prev));
    check_span(outer, number_of(touch->next, "ts"), end_of(inner));
    assert_true(number_of(touch, "ts") + BETWEEN >= touched);
    assert_null(cJSON_GetObjectItem(inner, "args"));
    assert_null(cJSON_GetObjectItem(outer, "args"));
    clump_collect_report found = {.size = sizeof found};
    CHECK_OK(&t.on, clump_heap_collect(t.heap, NULL, &found, NULL)); /* nothing is a root */
    take();
    outer = next(NULL, "X", "collection");
    assert_true(arg_of(outer, "live") == 0 && arg_of(outer, "dead") == (double)found.dead);
    assert_true(arg_of(outer, "blocks_freed") == (double)found.blocks_freed && found.dead > 0);
    /* A part of its commands is no span. */
    const int commands = count(NULL, 0);
    CHECK_OK(&t.on, clump_context_record_timeline(t.on.clump, 2));
    CHECK_OK(&t.on, clump_heap_collect(t.heap, NULL, &found, NULL));
    take();
    assert_int_equal(count(NULL, 0), 2);
    assert_null(next(NULL, "X", "collection"));
    assert_true(dropped() > 0 && dropped() <= commands);
    close_heap();
}

static clump_pool *open_pool(void) {
    clump_pool *pool = NULL;
    clump_error error;
    const clump_pool_desc desc = {
        .size = sizeof desc, .context = t.on.clump, .name = POOL, .chunk_bytes = 1 << 20};
    if (clump_pool_create(&desc, &pool, &error)) fail_msg("no pool: %s", error.message);
    return pool;
}

#define CHECK_POOL(pool, call)                                                                     \
    do {                                                                                           \
        if (call) {                                                                                \
            clump_error why;                                                                       \
            clump_pool_get_error(pool, &why);                                                      \
            fail_msg("%s: %s", #call, why.message);                                                \
        }                                                                                          \
    } while (0)

/* Every second region goes, and the others move together. */
static void use_pool(clump_pool *pool, clump_defrag_report *report) {
    clump_allocation regions[REGIONS];
    for (int i = 0; i < REGIONS; i++)
        CHECK_POOL(pool,
                   clump_pool_alloc(pool,
                                    &(clump_allocation_desc){.size = sizeof(clump_allocation_desc),
                                                             .bytes = REGION_BYTES + i,
                                                             .movable = 1},
                                    &regions[i], NULL));
    for (int i = 0; i < REGIONS; i += 2) CHECK_POOL(pool, clump_pool_free(pool, regions[i]));
    CHECK_POOL(pool, clump_pool_defragment(
                         pool, &(clump_defrag_desc){.size = sizeof(clump_defrag_desc), .wait = 1},
                         report, NULL));
    for (int i = 1; i < REGIONS; i += 2) CHECK_POOL(pool, clump_pool_free(pool, regions[i]));
}

/* Events of a name on the threads of the pool: how many, and the sum of an argument. All are within
 * a time. */
static int sum_of(const char *phase, const char *name, const char *arg, double *sum, double from,
                  double to) {
    int found = 0;
    *sum = 0;
    for (const cJSON *e = NULL; (e = next(e, phase, name)) != NULL; found++) {
        const double at = number_of(e, "ts"), ends = strcmp(phase, "X") ? at : end_of(e);
        if (at < from || ends > to)
            fail_msg("%s from %f to %f is not within %f and %f", name, at, ends, from, to);
        assert_true(number_of(e, "tid") > 100);
        *sum += arg_of(e, arg);
    }
    return found;
}

static void naps(void) {
    for (int i = 0; i < 10; i++) cl_fixture_nap();
}

static void pools(void **state) {
    (void)state;
    open_heap();
    CHECK_OK(&t.on, clump_heap_do_new(t.heap, t.body, "Body", OBJECTS, NULL, NULL));
    clump_pool *pool = open_pool();
    CHECK_OK(&t.on, clump_context_record_timeline(t.on.clump, COMMANDS));
    CHECK_OK(&t.on, clump_heap_do_all(t.heap, t.touch, NULL));
    CHECK_CL(clFinish(t.on.queue));
    naps(); /* what clocks may be told apart by */
    clump_defrag_report report = {.size = sizeof report};
    use_pool(pool, &report);
    naps();
    CHECK_OK(&t.on, clump_heap_do_all(t.heap, t.touch, NULL));
    clump_pool_destroy(pool); /* its name stays */
    take();
    const cJSON *before = next(NULL, "X", "touch"), *after = next(before, "X", "touch");
    const double from = end_of(before), to = number_of(after, "ts");
    double sum;
    assert_int_equal(sum_of("X", "allocation", "bytes", &sum, from, to), REGIONS);
    assert_true(sum == REGIONS * REGION_BYTES + REGIONS * (REGIONS - 1) / 2);
    assert_int_equal(sum_of("X", "free", "bytes", &sum, from, to), REGIONS);
    assert_true(sum == REGIONS * REGION_BYTES + REGIONS * (REGIONS - 1) / 2);
    assert_int_equal(sum_of("X", "step", "copied_bytes", &sum, from, to), 1);
    assert_true(sum == (double)report.copied_bytes && report.copied_bytes > 0);
    (void)sum_of("X", "step", "finished", &sum, from, to);
    assert_true(sum == report.finished);
    assert_int_equal(sum_of("b", OF_POOL "move", "bytes", &sum, from, to), report.finished);
    assert_true(sum == (double)report.copied_bytes);
    for (const cJSON *b = NULL, *e = NULL; (b = next(b, "b", OF_POOL "move")) != NULL;) {
        e = next(e, "e", OF_POOL "move");
        assert_non_null(e);
        assert_true(cJSON_Compare(cJSON_GetObjectItem(e, "id2"), cJSON_GetObjectItem(b, "id2"), 1));
        assert_true(number_of(e, "ts") >= number_of(b, "ts"));
    }
    assert_true(dropped() == 0);
    int named = 0;
    for (const cJSON *e = NULL; (e = next(e, "M", "thread_name")) != NULL;)
        named +=
            !strncmp(text_of(cJSON_GetObjectItem(e, "args"), "name"), OF_POOL, sizeof OF_POOL - 1);
    assert_int_equal(named, 2);
    close_heap();
}

/* Perfetto would make one track of two with one name. */
static void pools_of_one_name(void **state) {
    (void)state;
    char names[8][100], moves[2][100] = {"", ""};
    int count = 0, kinds = 0;
    CHECK_OK(&t.on, clump_context_record_timeline(t.on.clump, COMMANDS));
    for (int i = 0; i < 2; i++) {
        clump_pool *pool = open_pool();
        use_pool(pool, &(clump_defrag_report){.size = sizeof(clump_defrag_report)});
        clump_pool_destroy(pool);
    }
    take();
    for (const cJSON *e = NULL; (e = next(e, "M", "thread_name")) != NULL; count++) {
        assert_true(count < 8);
        snprintf(names[count], sizeof names[count], "%s",
                 text_of(cJSON_GetObjectItem(e, "args"), "name"));
        for (int i = 0; i < count; i++) assert_string_not_equal(names[i], names[count]);
    }
    assert_int_equal(count, CALLS + 2 * 2);
    const cJSON *e;
    cJSON_ArrayForEach(e, cJSON_GetObjectItem(t.trace, "traceEvents")) {
        if (strcmp(text_of(e, "ph"), "b") != 0) continue;
        int i = 0;
        while (i < kinds && strcmp(moves[i], text_of(e, "name")) != 0) i++;
        assert_true(i < 2);
        if (i < kinds) continue;
        snprintf(moves[kinds++], sizeof moves[0], "%s", text_of(e, "name"));
        assert_int_equal(strncmp(moves[i], POOL " (", sizeof POOL + 1), 0);
    }
    assert_int_equal(kinds, 2);
    CHECK_OK(&t.on, clump_context_record_timeline(t.on.clump, 0));
    cJSON_Delete(t.trace);
    free(t.text);
    t.trace = NULL;
    t.text = NULL;
}

/* A pool of other threads, while the context writes. Returns NULL, or the pool if a call failed. */
static void *turn(void *pool) {
    for (int i = 0; i < TURNS; i++) {
        clump_allocation region;
        if (clump_pool_alloc(
                pool,
                &(clump_allocation_desc){.size = sizeof(clump_allocation_desc), .bytes = 1000 + i},
                &region, NULL) ||
            clump_pool_free(pool, region))
            return pool;
    }
    return NULL;
}

typedef struct call_times {
    long long from, to;
} call_times;
static int compare_calls(const void *a, const void *b) {
    const call_times *x = a, *y = b;
    return x->from < y->from ? -1 : x->from > y->from;
}

/* Calls on the pool in one trace, which has them in the order in which threads told of them: none
 * begins before the last is over. */
static void check_calls(void) {
    static call_times calls[2 * 2 * TURNS];
    size_t n = 0;
    const cJSON *e;
    cJSON_ArrayForEach(e, cJSON_GetObjectItem(t.trace, "traceEvents")) {
        if (strcmp(text_of(e, "ph"), "X") != 0 || number_of(e, "tid") < 100) continue;
        assert_true(n < 2 * 2 * TURNS);
        calls[n++] = (call_times){ns(number_of(e, "ts")), ns(end_of(e))};
    }
    qsort(calls, n, sizeof *calls, compare_calls);
    for (size_t i = 1; i < n; i++)
        if (calls[i].from < calls[i - 1].to)
            fail_msg("calls overlap by %lld ns", calls[i - 1].to - calls[i].from);
}

static void threads(void **state) {
    (void)state;
    open_heap();
    CHECK_OK(&t.on, clump_heap_do_new(t.heap, t.body, "Body", OBJECTS, NULL, NULL));
    clump_pool *pool = open_pool();
    CHECK_OK(&t.on, clump_context_record_timeline(t.on.clump, 2 * 2 * TURNS + COMMANDS));
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) assert_int_equal(pthread_create(&threads[i], NULL, turn, pool), 0);
    double bytes = 0, freed = 0;
    int calls = 0, touched = 0;
    for (int i = 0; i < 3 * ROUNDS; i++) {
        CHECK_OK(&t.on, clump_heap_do_all(t.heap, t.touch, NULL));
        for (int k = 0; k < 2 && i + 1 == 3 * ROUNDS; k++) {
            void *failed = NULL;
            assert_int_equal(pthread_join(threads[k], &failed), 0);
            if (failed) fail_msg("a call of a thread failed");
        }
        take();
        double sum;
        calls += sum_of("X", "allocation", "bytes", &sum, 0, 1e15);
        bytes += sum;
        calls += sum_of("X", "free", "bytes", &sum, 0, 1e15);
        freed += sum;
        touched += count("touch", 0);
        check_calls();
        assert_true(dropped() == 0);
    }
    assert_int_equal(calls, 2 * 2 * TURNS);
    assert_int_equal(touched, 3 * ROUNDS);
    assert_true(bytes == 2.0 * TURNS * 1000 + (double)TURNS * (TURNS - 1) && freed == bytes);
    clump_pool_destroy(pool);
    close_heap();
}

static int write_file(const char *path) {
    open_heap();
    CHECK_OK(&t.on, clump_context_record_timeline(t.on.clump, COMMANDS));
    simulate();
    CHECK_OK(&t.on, clump_heap_collect(
                        t.heap, NULL, &(clump_collect_report){.size = sizeof(clump_collect_report)},
                        NULL));
    for (int i = 0; i < 2; i++) {
        clump_pool *pool = open_pool();
        use_pool(pool, &(clump_defrag_report){.size = sizeof(clump_defrag_report)});
        clump_pool_destroy(pool);
    }
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
        const int code = cl_fixture_open(
            &t.on, &(cl_fixture_desc){.cl = &functions, .out_of_order = out_of_order});
        t.is_out_of_order = out_of_order;
        if (code == CL_FIXTURE_SKIP && out_of_order) break; /* the device has no such queue */
        if (code) return code;
        const struct CMUnitTest tests[] = {cmocka_unit_test(commands),
                                           cmocka_unit_test(added),
                                           cmocka_unit_test(bounds),
                                           cmocka_unit_test(wrong_times),
                                           cmocka_unit_test(spans),
                                           cmocka_unit_test(pools),
                                           cmocka_unit_test(pools_of_one_name),
                                           cmocka_unit_test(threads),
                                           cmocka_unit_test(queues),
                                           cmocka_unit_test(without_profiling)};
        failed += cmocka_run_group_tests_name(out_of_order ? "out of order" : "in order", tests,
                                              NULL, NULL);
        cl_fixture_close(&t.on);
    }
    return failed;
}
