/* Bad input to collection and its triggers: the right status, words that name what is wrong, the
 * heap unchanged to the last bit; and a weak field where none can be.
 *
 * Read first: include/clump/collect.h, include/clump/collector.h.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cl_fixture.h"
#include "heap/program.h"

static const char schema_text[] =
    "abstract class Agent { uint tag; ref Agent friend; weak ref Agent last; }"
    "class Body : Agent { float x; }"
    "class Rock { uint tag; }";

static const char source[] =
    "__kernel void make(CLUMP_HEAP) {\n"
    "    CLUMP_FOR_EACH_NEW(Body, self, i) {\n"
    "        Body_tag(self) = i;\n"
    "        Body_friend(self) = Body_as_Agent(self);\n"
    "        Body_last(self) = Body_as_Agent(self);\n"
    "    }\n"
    "}\n"
    "__kernel void good(CLUMP_HEAP_NO_ALLOC, __global const uint *dead) {}\n"
    "__kernel void keys(CLUMP_HEAP_NO_ALLOC, __global uint *keys) {\n"
    "    CLUMP_FOR_EACH_KEYED(Body, self, i) keys[i] = Body_tag(self);\n"
    "}\n"
    "__kernel void none(CLUMP_HEAP_NO_ALLOC) {}\n"
    "__kernel void more(CLUMP_HEAP_NO_ALLOC, __global const uint *dead, uint a, uint b) {}\n"
    "__kernel void maker(CLUMP_HEAP, __global const uint *dead) {}\n";

static struct {
    cl_fixture on;
    clump_heap *heap, *other;
    clump_program *program, *foreign;
    clump_kernel *make, *good, *none, *more, *maker, *stranger;
    cl_mem dead;
    uint8_t *before, *after;
    uint64_t bytes;
} t;

static int set_up(void **state) {
    uint64_t made;
    t.heap = cl_fixture_heap_of_blocks(&t.on, schema_text, 20, 1);
    t.other = cl_fixture_heap_of_blocks(&t.on, "class Else { uint a; }", 20, 1);
    t.program = cl_fixture_program(&t.on, t.heap, source, NULL, NULL);
    t.foreign = cl_fixture_program(
        &t.on, t.other, "__kernel void f(CLUMP_HEAP_NO_ALLOC, __global const uint *dead) {}\n",
        NULL, NULL);
    t.make = cl_fixture_kernel(&t.on, t.program, "make");
    t.good = cl_fixture_kernel(&t.on, t.program, "good");
    t.none = cl_fixture_kernel(&t.on, t.program, "none");
    t.more = cl_fixture_kernel(&t.on, t.program, "more");
    t.maker = cl_fixture_kernel(&t.on, t.program, "maker");
    t.stranger = cl_fixture_kernel(&t.on, t.foreign, "f");
    t.dead = cl_fixture_buffer(&t.on, NULL, 4096);
    CHECK_OK(&t.on, clump_heap_do_new(t.heap, t.make, "Body", 200, &made, NULL));
    assert_int_equal(made, 200);
    t.bytes = clump_heap_get_info(t.heap)->bytes;
    t.before = malloc(t.bytes);
    t.after = malloc(t.bytes);
    assert_true(t.before && t.after);
    return 0;
}

static int tear_down(void **state) {
    clump_kernel *kernels[] = {t.make, t.good, t.none, t.more, t.maker, t.stranger};
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) clump_kernel_destroy(kernels[i]);
    clump_program_destroy(t.program);
    clump_program_destroy(t.foreign);
    clump_heap_destroy(t.heap);
    clump_heap_destroy(t.other);
    clReleaseMemObject(t.dead);
    free(t.before);
    free(t.after);
    return 0;
}

static void fetch(uint8_t *image) {
    cl_fixture_heap_read(t.heap, image);
}

#define REFUSED(status, words, call)                                                               \
    do {                                                                                           \
        fetch(t.before);                                                                           \
        clump_status found_ = (call);                                                              \
        cl_fixture_expect_words(clump_context_get_error(t.on.clump), found_, (status), (words),    \
                                #call, __LINE__);                                                  \
        fetch(t.after);                                                                            \
        assert_memory_equal(t.before, t.after, t.bytes);                                           \
    } while (0)
#define USAGE CLUMP_ERR_USAGE
#define NOT_FOUND CLUMP_ERR_NOT_FOUND

/* A report must be nothing but zeros when the call fails. */
static clump_status collect(clump_collect_desc desc) {
    static const clump_collect_report nothing = {.size = sizeof nothing};
    clump_collect_report report = {.size = sizeof report};
    memset(&report, 0xee, sizeof report);
    report.size = sizeof report;
    clump_status status = clump_heap_collect(t.heap, &desc, &report, NULL);
    if (status) assert_memory_equal(&report, &nothing, sizeof report);
    return status;
}
#define TUNED(...)                                                                                 \
    .tuning = &(clump_mark_tuning) {                                                               \
        __VA_ARGS__                                                                                \
    }
#define COLLECT(...) collect((clump_collect_desc){.size = sizeof(clump_collect_desc), __VA_ARGS__})

static void roots(void **state) {
    static const char *const unknown[] = {"Body", "Bod"}, *const none[] = {NULL};
    REFUSED(USAGE, "root_count is 2", COLLECT(.root_count = 2));
    REFUSED(USAGE, "root_class_count is 3", COLLECT(.root_class_count = 3));
    REFUSED(NOT_FOUND, "\"Bod\"", COLLECT(.root_classes = unknown, .root_class_count = 2));
    REFUSED(NOT_FOUND, "null", COLLECT(.root_classes = none, .root_class_count = 1));
    assert_int_equal(clump_heap_collect(NULL, NULL, NULL, NULL), USAGE);
    cl_event event = NULL;
    REFUSED(USAGE, "wait_list",
            clump_heap_collect(t.heap, NULL, NULL, &(clump_sync){.wait_list = &event}));
}

static void marking(void **state) {
    REFUSED(USAGE, "engine 4", COLLECT(.engine = (clump_mark_engine)4));
    REFUSED(USAGE, "engine -1", COLLECT(.engine = (clump_mark_engine)-1));
    REFUSED(USAGE, "unknown value 2 of `offsets`",
            COLLECT(TUNED(.offsets = (clump_mark_offsets)2)));
    REFUSED(USAGE, "queue_room is 63", COLLECT(.queue_room = 63));
    REFUSED(USAGE, "queue_room", COLLECT(.queue_room = UINT32_MAX));
    REFUSED(USAGE, "narrow is 1025", COLLECT(TUNED(.narrow = 1025)));
    clump_mark_turn turn;
    clump_mark_launch launch;
    REFUSED(USAGE, "the room is 0",
            COLLECT(TUNED(.log = &(clump_mark_log){0, &turn, &launch, 0, 0})));
    REFUSED(USAGE, "the room is 1048577",
            COLLECT(TUNED(.log = &(clump_mark_log){1048577, &turn, &launch, 0, 0})));
    REFUSED(USAGE, "needs turns", COLLECT(TUNED(.log = &(clump_mark_log){1, NULL, &launch, 0, 0})));
}

static void the_dead(void **state) {
    cl_mem small = cl_fixture_buffer(&t.on, NULL, 4);
    REFUSED(USAGE, "has 4 bytes", COLLECT(.dead = small));
    cl_mem foreign = cl_fixture_foreign_buffer(&t.on, 4096);
    REFUSED(USAGE, "the buffer `dead` belongs to another cl_context", COLLECT(.dead = foreign));
    clReleaseMemObject(foreign);
    REFUSED(USAGE, "dead_class", COLLECT(.dead_class = "Body"));
    REFUSED(NOT_FOUND, "\"Nobody\"", COLLECT(.dead = t.dead, .dead_class = "Nobody"));
    REFUSED(USAGE, "buffer `dead`", COLLECT(.finaliser = t.good));
    REFUSED(USAGE, "only_mark", COLLECT(.dead = t.dead, .finaliser = t.good, .only_mark = 1));
    REFUSED(USAGE, "needs a parameter", COLLECT(.dead = t.dead, .finaliser = t.none));
    REFUSED(USAGE, "CLUMP_HEAP_NO_ALLOC", COLLECT(.dead = t.dead, .finaliser = t.maker));
    REFUSED(USAGE, "parameter 1", COLLECT(.dead = t.dead, .finaliser = t.more));
    clReleaseMemObject(small);
}

/* Refused after marking; objects and fields are as before, and only the scratch areas are not. */
static void finaliser_of_another_heap(void **state) {
    uint64_t count;
    clump_collect_desc desc = {.size = sizeof desc, .dead = t.dead, .finaliser = t.stranger};
    CHECK_STATUS(&t.on, clump_heap_collect(t.heap, &desc, NULL, NULL), USAGE);
    CHECK_OK(&t.on, clump_heap_read_count(t.heap, "Body", &count));
    assert_int_equal(count, 200);
    CHECK_HEAP(&t.on, t.heap);
}

static void compaction(void **state) {
    static const char *const unknown[] = {"Bod"};
    clump_compact_desc bad = {.size = sizeof bad, .slack = 2},
                       nobody = {.size = sizeof nobody, .classes = unknown, .class_count = 1},
                       fine = {.size = sizeof fine};
    REFUSED(USAGE, "slack is 2", COLLECT(.compact = &bad));
    REFUSED(NOT_FOUND, "\"Bod\"", COLLECT(.compact = &nobody));
    REFUSED(USAGE, "cannot be set together", COLLECT(.compact = &fine, .only_mark = 1));
}

static clump_status create(clump_collector_desc desc) {
    clump_collector *collector = (clump_collector *)&desc;
    desc.heap = t.heap;
    clump_status status = clump_collector_create(&desc, &collector, NULL);
    if (status) assert_null(collector);
    return status;
}
#define CREATE(...)                                                                                \
    create((clump_collector_desc){.size = sizeof(clump_collector_desc), __VA_ARGS__})

static void triggers(void **state) {
    REFUSED(USAGE, "needs a trigger", CREATE(.growth = 0.5));
    REFUSED(USAGE, "fill of a collector is 1.5", CREATE(.fill = 1.5));
    REFUSED(USAGE, "fill of a collector is -1", CREATE(.fill = -1));
    REFUSED(USAGE, "fill", CREATE(.fill = NAN));
    REFUSED(USAGE, "growth of a collector is 2", CREATE(.every = 1, .growth = 2));
    REFUSED(USAGE, "narrow is 2000",
            CREATE(.every = 1, .collect = &(clump_collect_desc){.size = sizeof(clump_collect_desc),
                                                                TUNED(.narrow = 2000)}));
    clump_collector_desc desc = {.size = sizeof desc, .heap = t.heap, .every = 1};
    REFUSED(USAGE, "a pointer", clump_collector_create(&desc, NULL, NULL));
    clump_collector *none = NULL;
    int ran = 1;
    assert_int_equal(clump_collector_create(NULL, &none, NULL), USAGE);
    assert_int_equal(clump_collector_tick(NULL, &ran, NULL, NULL), USAGE);
    assert_int_equal(ran, 0);
    clump_collector_destroy(NULL);
}

/* The kernels of a collection and of its compaction live as long as the collector. */
static void kernels_are_kept(void **state) {
    clump_kernel *keys = cl_fixture_kernel(&t.on, t.program, "keys");
    const clump_compact_desc compact = {
        .size = sizeof compact, .order = CLUMP_ORDER_KEY, .key_kernel = keys};
    const clump_collect_desc collect = {
        .size = sizeof collect, .dead = t.dead, .finaliser = t.good, .compact = &compact};
    const clump_collector_desc desc = {
        .size = sizeof desc, .heap = t.heap, .every = 1, .collect = &collect};
    const uint32_t before[] = {keys->users, t.good->users};
    clump_collector *collector;
    CHECK_OK(&t.on, clump_collector_create(&desc, &collector, NULL));
    assert_int_equal(keys->users, before[0] + 1);
    assert_int_equal(t.good->users, before[1] + 1);
    clump_collector_destroy(collector);
    assert_int_equal(keys->users, before[0]);
    assert_int_equal(t.good->users, before[1]);
    clump_kernel_destroy(keys);
}

/* After all that the heap still collects: without roots everything dies, once. */
static void still_works(void **state) {
    clump_collect_report report = {.size = sizeof report};
    clump_ref refs[3] = {0, 0xffffffffu, 64};
    clump_collect_desc desc = {.size = sizeof desc, .roots = refs, .root_count = 3};
    CHECK_OK(&t.on, clump_heap_collect(t.heap, &desc, &report, NULL));
    assert_int_equal(report.dead, 200);
    assert_int_equal(report.roots, 2);
    assert_int_equal(report.roots_dangling, 2);
    CHECK_HEAP(&t.on, t.heap);
    CHECK_OK(&t.on, clump_heap_collect(t.heap, &desc, &report, NULL));
    assert_int_equal(report.dead + report.live, 0);
    CHECK_HEAP(&t.on, t.heap);
}

int main(void) {
    int result = cl_fixture_open(&t.on, NULL);
    if (result) return result;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(roots),
        cmocka_unit_test(marking),
        cmocka_unit_test(the_dead),
        cmocka_unit_test(finaliser_of_another_heap),
        cmocka_unit_test(compaction),
        cmocka_unit_test(triggers),
        cmocka_unit_test(kernels_are_kept),
        cmocka_unit_test(still_works),
    };
    result = cmocka_run_group_tests(tests, set_up, tear_down);
    cl_fixture_close(&t.on);
    return result;
}
