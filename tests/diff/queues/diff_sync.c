/* Every call with a `sync`: what it enqueues waits for the wait list, and its event comes after all
 * of it. The table names each such function of include/clump, which tests/repo/sync.py looks after;
 * clump_halo_end() is for mpi_world. And calls
 * without it that do not block, or need not: they enqueue nothing.
 *
 * A call that only enqueues is given an event of the test that has not happened yet. It must return;
 * its commands must come after that event, by the lists that it gave them (cl_order.h), and its own
 * event must not come before, and must fail with it. A call that waits is given one that happens
 * while it waits.
 *
 * Read first: clump_sync in include/clump/context.h.
 */
#include <pthread.h>
#include <string.h>
#include <time.h>

#include "cl_fixture.h"
#include "cl_order.h"

enum { OBJECTS = 1000, PART = 1 << 20 };

static const char source[] =
    "__kernel void body(CLUMP_HEAP) {\n"
    "    CLUMP_FOR_EACH_NEW(Body, b, i) { Body_id(b) = i; }\n"
    "}\n"
    "__kernel void touch(CLUMP_HEAP_NO_ALLOC) { CLUMP_FOR_EACH(Body, b) Body_id(b) += 1; }\n"
    "__kernel void total(CLUMP_HEAP_NO_ALLOC) {\n"
    "    uint n = 0;\n"
    "    CLUMP_FOR_EACH(Body, b) n += 1;\n"
    "    CLUMP_REDUCE(uint, n, CLUMP_SUM);\n"
    "}\n";
enum { BODY, TOUCH, TOTAL, KERNELS };
static const char *const kernel_names[KERNELS] = {"body", "touch", "total"};

static struct {
    cl_fixture on;
    cl_command_queue queue; /* in order, then out of order */
    clump_heap *heap, *checked;
    clump_program *program;
    clump_kernel *kernels[KERNELS];
    clump_compactor *compactor, *idle_compactor;
    clump_collector *collector, *idle_collector;
    cl_mem values;
    clump_pool *pool;
    clump_allocation mapped;
    void *memory; /* of it */
} t;

/* ---- The calls ------------------------------------------------------------------------------- */

static clump_status run_do_all(const clump_sync *sync) {
    return clump_heap_do_all(t.heap, t.kernels[TOUCH], sync);
}
static clump_status run_launch(const clump_sync *sync) {
    return clump_heap_launch(t.heap, t.kernels[TOUCH], 64, 64, sync);
}
static clump_status run_do_new(const clump_sync *sync) {
    return clump_heap_do_new(t.heap, t.kernels[BODY], "Body", 10, NULL, sync);
}
static clump_status run_do_new_made(const clump_sync *sync) {
    uint64_t made = 0;
    return clump_heap_do_new(t.heap, t.kernels[BODY], "Body", 10, &made, sync);
}
static clump_status run_reduce(const clump_sync *sync) {
    uint32_t n = 0;
    return clump_heap_reduce(t.heap, t.kernels[TOTAL], sizeof n, &n, sync);
}
static clump_status run_reserve(const clump_sync *sync) {
    return clump_heap_reserve(t.heap, "Body", 100, sync);
}
static clump_status run_copy_field(const clump_sync *sync) {
    return clump_heap_copy_field(t.heap, "Body", "id", 0, CLUMP_COPY_TO_BUFFER, t.values, 0,
                                 OBJECTS, sync);
}
static clump_status run_check_memory(const clump_sync *sync) {
    return clump_heap_check_memory(t.checked, sync);
}
static clump_status run_compact(const clump_sync *sync) {
    return clump_heap_compact(t.heap, NULL, NULL, sync);
}
static clump_status run_compact_report(const clump_sync *sync) {
    clump_compact_report report = {.size = sizeof report};
    return clump_heap_compact(t.heap, NULL, &report, sync);
}
static clump_status run_compactor(const clump_sync *sync) {
    return clump_compactor_tick(t.compactor, NULL, NULL, sync);
}
static clump_status run_idle_compactor(const clump_sync *sync) {
    return clump_compactor_tick(t.idle_compactor, NULL, NULL, sync);
}
static clump_status run_collect(const clump_sync *sync) {
    static const char *const roots[] = {"Body"};
    return clump_heap_collect(
        t.heap,
        &(clump_collect_desc){
            .size = sizeof(clump_collect_desc), .root_classes = roots, .root_class_count = 1},
        NULL, sync);
}
static clump_status run_collector(const clump_sync *sync) {
    return clump_collector_tick(t.collector, NULL, NULL, sync);
}
static clump_status run_idle_collector(const clump_sync *sync) {
    return clump_collector_tick(t.idle_collector, NULL, NULL, sync);
}

/* A pool of which one allocation can be moved, another one is mapped. */
static void open_pool(void) {
    clump_allocation first, second;
    const clump_allocation_desc part = {.size = sizeof part, .bytes = PART};
    clump_pool_desc desc = {.size = sizeof desc,
                            .context = t.on.clump,
                            .queue = t.queue,
                            .chunk_bytes = 8 * PART,
                            .flags = 0};
    assert_int_equal(clump_pool_create(&desc, &t.pool, NULL), CLUMP_OK);
    assert_int_equal(clump_pool_alloc(t.pool, &part, &first, NULL), CLUMP_OK);
    assert_int_equal(clump_pool_alloc(t.pool, &part, &t.mapped, NULL), CLUMP_OK);
    assert_int_equal(
        clump_pool_alloc(t.pool,
                         &(clump_allocation_desc){
                             .size = sizeof(clump_allocation_desc), .bytes = PART, .movable = 1},
                         &second, NULL),
        CLUMP_OK);
    assert_int_equal(clump_pool_map(t.pool, t.mapped, CL_MAP_WRITE, &t.memory), CLUMP_OK);
    assert_int_equal(clump_pool_free(t.pool, first), CLUMP_OK);
}
static clump_status run_defragment(const clump_sync *sync) {
    clump_defrag_report report = {.size = sizeof report};
    const clump_status status = clump_pool_defragment(t.pool, NULL, &report, sync);
    if (!status && !report.begun) fail_msg("a step of the pool moves nothing");
    return status;
}
static clump_status run_defragment_done(const clump_sync *sync) {
    return clump_pool_defragment(
        t.pool, &(clump_defrag_desc){.size = sizeof(clump_defrag_desc), .until_done = 1}, NULL,
        sync);
}
static clump_status run_unmap(const clump_sync *sync) {
    return clump_pool_unmap(t.pool, t.mapped, t.memory, sync);
}

enum { ENQUEUES, WAITS };
static const struct {
    const char *name;
    clump_status (*run)(const clump_sync *sync);
    int kind;
    int prepares; /* only its last command waits */
    int of_pool;
} calls[] = {
    {"clump_heap_do_all", run_do_all, ENQUEUES, 0, 0},
    {"clump_heap_launch", run_launch, ENQUEUES, 0, 0},
    {"clump_heap_do_new", run_do_new, ENQUEUES, 0, 0},
    {"clump_heap_do_new", run_do_new_made, WAITS, 0, 0},
    {"clump_heap_reduce", run_reduce, WAITS, 0, 0},
    {"clump_heap_reserve", run_reserve, ENQUEUES, 0, 0},
    {"clump_heap_copy_field", run_copy_field, ENQUEUES, 1, 0},
    {"clump_heap_check_memory", run_check_memory, ENQUEUES, 0, 0},
    {"clump_heap_compact", run_compact, ENQUEUES, 0, 0},
    {"clump_heap_compact", run_compact_report, WAITS, 0, 0},
    {"clump_compactor_tick", run_compactor, ENQUEUES, 0, 0},
    {"clump_compactor_tick", run_idle_compactor, ENQUEUES, 0, 0},
    {"clump_heap_collect", run_collect, WAITS, 0, 0},
    {"clump_collector_tick", run_collector, WAITS, 0, 0},
    {"clump_collector_tick", run_idle_collector, ENQUEUES, 0, 0},
    {"clump_pool_defragment", run_defragment, ENQUEUES, 0, 1},
    {"clump_pool_defragment", run_defragment_done, WAITS, 0, 1},
    {"clump_pool_unmap", run_unmap, ENQUEUES, 0, 1},
};
enum { CALLS = sizeof calls / sizeof *calls };

/* ---- Events ---------------------------------------------------------------------------------- */

static cl_int state_of(cl_event event) {
    cl_int state = CL_QUEUED;
    CHECK_CL(clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL));
    return state;
}

static cl_event make_gate(void) {
    cl_int code = CL_SUCCESS;
    cl_event gate = clCreateUserEvent(t.on.context, &code);
    CHECK_CL(code);
    cl_order_gate(gate);
    return gate;
}

static void *open_later(void *gate) {
    const struct timespec pause = {0, 30000000};
    nanosleep(&pause, NULL);
    clSetUserEventStatus(gate, CL_COMPLETE);
    return NULL;
}

static void expect_ok(uint32_t i, clump_status status) {
    clump_error error = *clump_context_get_error(t.on.clump);
    if (status && calls[i].of_pool) clump_pool_get_error(t.pool, &error);
    if (status) fail_msg("%s: %s", calls[i].name, error.message);
}

static void enqueues(uint32_t i) {
    cl_event gate = make_gate(), event = NULL;
    const uint32_t first = cl_order_commands();
    expect_ok(i, calls[i].run(&(clump_sync){1, &gate, &event}));
    const uint32_t last = calls[i].prepares ? cl_order_commands() - 1 : first;
    const char *early = cl_order_not_after(gate, last), *late = cl_order_not_before(event, first);
    if (early) fail_msg("%s: %s does not wait for the wait list", calls[i].name, early);
    if (late) fail_msg("%s: %s is not among what the event stands for", calls[i].name, late);
    if (!cl_order_fails_with(event, gate))
        fail_msg("%s: its event does not fail with what it waits for", calls[i].name);
    CHECK_CL(clFlush(t.queue));
    for (int n = 0; n < 5; n++) {
        cl_fixture_nap();
        if (state_of(event) == CL_COMPLETE) fail_msg("%s: it did not wait", calls[i].name);
    }
    CHECK_CL(clSetUserEventStatus(gate, CL_COMPLETE));
    CHECK_CL(clWaitForEvents(1, &event));
    assert_int_equal(state_of(event), CL_COMPLETE);
    CHECK_CL(clReleaseEvent(event));
    CHECK_CL(clReleaseEvent(gate));
}

static void waits(uint32_t i) {
    cl_event gate = make_gate(), event = NULL;
    pthread_t thread;
    const uint32_t first = cl_order_commands();
    assert_int_equal(pthread_create(&thread, NULL, open_later, gate), 0);
    expect_ok(i, calls[i].run(&(clump_sync){1, &gate, &event}));
    const cl_int state = state_of(gate);
    assert_int_equal(pthread_join(thread, NULL), 0);
    const char *late = cl_order_not_before(event, first);
    if (state != CL_COMPLETE) fail_msg("%s: it returned before its wait list", calls[i].name);
    if (late) fail_msg("%s: %s is not among what the event stands for", calls[i].name, late);
    CHECK_CL(clWaitForEvents(1, &event));
    CHECK_CL(clReleaseEvent(event));
    CHECK_CL(clReleaseEvent(gate));
}

/* ---- All of them ----------------------------------------------------------------------------- */

static void open_world(int out_of_order) {
    static const char schema[] = "class Body { uint id; }";
    static const char *const roots[] = {"Body"};
    cl_int code = CL_SUCCESS;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations" /* OpenCL 1.2 has no other */
    t.queue =
        clCreateCommandQueue(t.on.context, t.on.device,
                             out_of_order ? CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE : 0, &code);
#pragma GCC diagnostic pop
    if (code) skip(); /* a device may have none out of order */
    cl_order_begin();
    CHECK_OK(&t.on, clump_context_set_queue(t.on.clump, t.queue));
    t.heap = cl_fixture_heap_as(
        &t.on, schema,
        &(clump_heap_desc){.size = sizeof(clump_heap_desc), .bytes = 4u << 20, .block_rows = 2});
    t.checked = cl_fixture_heap_as(
        &t.on, schema,
        &(clump_heap_desc){.size = sizeof(clump_heap_desc),
                           .bytes = 4u << 20,
                           .block_rows = 2,
                           .checked = &(clump_checked_desc){.size = sizeof(clump_checked_desc)}});
    t.program = cl_fixture_program(&t.on, t.heap, source, NULL, NULL);
    for (int i = 0; i < KERNELS; i++)
        t.kernels[i] = cl_fixture_kernel(&t.on, t.program, kernel_names[i]);
    clump_compactor_desc compactor = {.size = sizeof compactor, .heap = t.heap, .every = 1};
    clump_collector_desc collector = {
        .size = sizeof collector,
        .heap = t.heap,
        .every = 1,
        .collect = &(clump_collect_desc){
            .size = sizeof(clump_collect_desc), .root_classes = roots, .root_class_count = 1}};
    CHECK_OK(&t.on, clump_compactor_create(&compactor, &t.compactor, NULL));
    CHECK_OK(&t.on, clump_collector_create(&collector, &t.collector, NULL));
    compactor.every = collector.every = 1000;
    CHECK_OK(&t.on, clump_compactor_create(&compactor, &t.idle_compactor, NULL));
    CHECK_OK(&t.on, clump_collector_create(&collector, &t.idle_collector, NULL));
    t.values = cl_fixture_buffer(&t.on, NULL, OBJECTS * sizeof(uint32_t));
    CHECK_OK(&t.on, clump_heap_do_new(t.heap, t.kernels[BODY], "Body", OBJECTS, NULL, NULL));
}

static void close_world(void) {
    clump_compactor_destroy(t.compactor);
    clump_compactor_destroy(t.idle_compactor);
    clump_collector_destroy(t.collector);
    clump_collector_destroy(t.idle_collector);
    for (int i = 0; i < KERNELS; i++) clump_kernel_destroy(t.kernels[i]);
    clump_program_destroy(t.program);
    clump_heap_destroy(t.heap);
    clump_heap_destroy(t.checked);
    CHECK_CL(clReleaseMemObject(t.values));
    CHECK_OK(&t.on, clump_context_set_queue(t.on.clump, NULL));
    CHECK_CL(clReleaseCommandQueue(t.queue));
}

static void try_call(uint32_t i, void (*how)(uint32_t i)) {
    cl_order_begin();
    if (calls[i].of_pool)
        open_pool();
    else /* it builds kernels, and takes its turn after another heap on the queue */
        expect_ok(i, calls[i].run(NULL));
    how(i);
    CHECK_CL(clFinish(t.queue));
    if (calls[i].of_pool) clump_pool_destroy(t.pool);
}

static void try_all(int out_of_order) {
    open_world(out_of_order);
    for (uint32_t i = 0; i < CALLS; i++) try_call(i, calls[i].kind == WAITS ? waits : enqueues);
    CHECK_HEAP(&t.on, t.heap);
    const char *complaint = cl_order_complaint();
    if (complaint) fail_msg("%s", complaint);
    close_world();
}

/* ---- What enqueues nothing -------------------------------------------------------------------- */

static uint32_t enqueued;
static void quiet(clump_status status, clump_status expected, const char *call) {
    if (status != expected) fail_msg("%s returns %s", call, clump_status_name(status));
    if (cl_order_commands() != enqueued) fail_msg("%s enqueues something", call);
}
#define QUIET_AS(call, expected)                                                                   \
    do {                                                                                           \
        enqueued = cl_order_commands();                                                            \
        quiet(call, expected, #call);                                                              \
    } while (0)
#define QUIET(call) QUIET_AS(call, CLUMP_OK)

static int drop_text(void *user, const void *text, size_t bytes) {
    (void)user;
    (void)text;
    return bytes == 0;
}

static void quiet_pool(void) {
    clump_allocation a;
    clump_region region;
    clump_allocation_info info = {.size = sizeof info};
    clump_pool_stats stats = {.size = sizeof stats};
    clump_move move;
    cl_mem buffer;
    const clump_allocation_desc part = {.size = sizeof part, .bytes = PART};
    cl_event gate = make_gate();
    QUIET(clump_pool_alloc(t.pool, &part, &a, &region)); /* there is a chunk with room */
    QUIET(clump_pool_get_info(t.pool, a, &info));
    QUIET(clump_pool_get_buffer(t.pool, a, &buffer));
    QUIET(clump_pool_set_queues(t.pool, 1, &t.queue));
    QUIET(clump_pool_change(t.pool, a, CLUMP_PART_NAME, &part));
    QUIET(clump_pool_pin(t.pool, a, 1));
    QUIET(clump_pool_pin(t.pool, a, -1));
    QUIET(clump_pool_use(t.pool, a, gate));
    QUIET(clump_pool_get_stats(t.pool, &stats, NULL));
    QUIET(clump_pool_check(t.pool)); /* without margins */
    QUIET(clump_pool_dump(t.pool, CLUMP_POOL_JSON, drop_text, NULL));
    QUIET(clump_pool_get_info(t.pool, 0, &info));
    QUIET(clump_pool_next_move(t.pool, &move));
    QUIET_AS(clump_pool_finish_move(t.pool, a, CLUMP_MOVE_COPY), CLUMP_ERR_USAGE);
    QUIET(clump_pool_end_frame(t.pool, 0, NULL));
    QUIET(clump_pool_free(t.pool, a));
    QUIET(clump_pool_create_buffer(t.pool, &part, 0, NULL, &buffer));
    CHECK_CL(clReleaseMemObject(buffer));
    CHECK_CL(clSetUserEventStatus(gate, CL_COMPLETE));
    CHECK_CL(clReleaseEvent(gate));
}

static void quiet_calls(void **state) {
    (void)state;
    clump_collector *collector;
    clump_context *context;
    clump_kernel *kernel;
    clump_refs *refs;
    clump_pool *pool;
    static const char *const roots[] = {"Body"};
    const uint64_t objects[] = {100};
    uint64_t bytes = 0;
    open_world(0);
    open_pool();
    QUIET(clump_context_create(&(clump_context_desc){.size = sizeof(clump_context_desc),
                                                     .context = t.on.context,
                                                     .device = t.on.device,
                                                     .queue = t.on.queue,
                                                     .cl = &cl_order_functions},
                               &context, NULL));
    clump_context_destroy(context);
    QUIET(clump_context_set_queue(t.on.clump, NULL));
    QUIET(clump_context_set_queue(t.on.clump, t.queue));
    QUIET(clump_context_record_timeline(t.on.clump, 0));
    cl_int code = CL_SUCCESS;
    cl_event unused = clCreateUserEvent(t.on.context, &code);
    QUIET(clump_context_add_to_timeline(t.on.clump, "command", 0, unused));
    clReleaseEvent(unused);
    QUIET(clump_heap_get_bytes_needed(
        &(clump_heap_desc){.size = sizeof(clump_heap_desc),
                           .context = t.on.clump,
                           .schema = clump_heap_get_info(t.heap)->schema},
        objects, &bytes, NULL));
    enqueued = cl_order_commands();
    quiet(clump_program_get_kernel(t.program, "touch") ? CLUMP_OK : CLUMP_ERR_CL, CLUMP_OK,
          "clump_program_get_kernel");
    QUIET(clump_kernel_create(t.program, "touch", &kernel, NULL));
    clump_kernel_destroy(kernel);
    cl_program own = NULL;
    const char *text = "__kernel void f(__global uint *heap) { heap[0] = heap[0]; }";
    own = clCreateProgramWithSource(t.on.context, 1, &text, NULL, &code);
    CHECK_CL(code);
    CHECK_CL(clBuildProgram(own, 1, &t.on.device, "", NULL, NULL));
    cl_kernel f = clCreateKernel(own, "f", &code);
    CHECK_CL(code);
    QUIET(clump_heap_set_kernel(t.heap, f));
    CHECK_CL(clReleaseKernel(f));
    CHECK_CL(clReleaseProgram(own));
    QUIET(clump_refs_create(
        t.heap,
        &(clump_refs_desc){.size = sizeof(clump_refs_desc), .buffer = t.values, .count = OBJECTS},
        &refs, NULL));
    clump_refs_destroy(refs);
    QUIET(clump_collector_create(
        &(clump_collector_desc){.size = sizeof(clump_collector_desc),
                                .heap = t.heap,
                                .every = 1,
                                .collect = &(clump_collect_desc){.size = sizeof(clump_collect_desc),
                                                                 .root_classes = roots,
                                                                 .root_class_count = 1}},
        &collector, NULL));
    clump_collector_destroy(collector);
    QUIET(clump_pool_create(
        &(clump_pool_desc){.size = sizeof(clump_pool_desc), .context = t.on.clump}, &pool, NULL));
    clump_pool_destroy(pool);
    quiet_pool();
    /* The first call after the end of a caller's buffer puts a marker into its queue. */
    assert_int_equal(clump_pool_trim(t.pool), CLUMP_OK);
    CHECK_CL(clFinish(t.queue));
    QUIET(clump_pool_trim(t.pool));
    assert_int_equal(clump_pool_unmap(t.pool, t.mapped, t.memory, NULL), CLUMP_OK);
    clump_pool_destroy(t.pool);
    close_world();
}

static void in_order(void **state) {
    (void)state;
    try_all(0);
}

static void out_of_order(void **state) {
    (void)state;
    try_all(1);
}

int main(void) {
    const int code = cl_fixture_open(&t.on, &(cl_fixture_desc){.cl = &cl_order_functions});
    if (code) return code;
    const struct CMUnitTest tests[] = {cmocka_unit_test(in_order), cmocka_unit_test(out_of_order),
                                       cmocka_unit_test(quiet_calls)};
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    cl_fixture_close(&t.on);
    return failed;
}
