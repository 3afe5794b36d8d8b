/* Every OpenCL call and every request for host memory made to fail, one run of a scenario for each.
 *
 * The library gets a table of entry points and an allocator that count. In run n the n-th call
 * returns an error without doing anything (or all calls from the n-th on do), or the n-th request
 * for memory is refused. The step of the scenario that this hits must
 *   - return a negative status, with a message that names the OpenCL call,
 *   - leave its results NULL, and a heap that passes its check,
 *   - succeed when it is tried again;
 * and at the end of every run nothing may be left: no host memory, no reference to an OpenCL
 * object.
 */
#include <stdlib.h>
#include <string.h>

#include "bench/papers/merge/merge.h"
#include "cl_fixture.h"
#include "failing.h"

#define OBJECTS 1000u

/* ---- The scenario --------------------------------------------------------------------------- */

typedef struct run {
    cl_fixture on;
    clump_schema *schema;
    clump_context *context;
    clump_heap *heap;
    clump_program *program;
    clump_kernel *init, *move, *count, *drop, *key, *fused;
    clump_handle handle;
    cl_event made, moved;
    clump_ref refs[4 * OBJECTS];
    clump_error error; /* of calls that come before there is a context */
} run;

static const char schema_text[] =
    "class Body { float x; uint id; uchar marks[*] max 3; } class Star : Body { ref Body centre; "
    "uchar tag[3]; }";

static const char source[] =
    "__kernel void init(CLUMP_HEAP) {\n"
    "    CLUMP_FOR_EACH_NEW(Body, self, i) { Body_id(self) = i; Body_x(self) = 0; }\n"
    "}\n"
    "__kernel void move(CLUMP_HEAP_NO_ALLOC, float dt) {\n"
    "    CLUMP_FOR_EACH(Body, self) Body_x(self) += dt;\n"
    "}\n"
    "__kernel void count(CLUMP_HEAP_NO_ALLOC) {\n"
    "    uint n = 0;\n"
    "    CLUMP_FOR_EACH(Body, self) n++;\n"
    "    CLUMP_REDUCE(uint, n, CLUMP_SUM);\n"
    "}\n"
    "__kernel void drop(CLUMP_HEAP) {\n"
    "    CLUMP_FOR_EACH(Body, self) if (Body_id(self) & 1) Body_free(self);\n"
    "}\n"
    "__kernel void key(CLUMP_HEAP_NO_ALLOC, __global uint *keys) {\n"
    "    CLUMP_FOR_EACH_KEYED(Body, self, i) keys[i] = Body_id(self) * 2654435761u;\n"
    "}\n";

static clump_status step_schema(run *r) {
    return clump_schema_parse(schema_text, strlen(schema_text), &failing_allocator, &r->schema,
                              &r->error);
}

static clump_status step_context(run *r) {
    return failing_context(&r->on, &r->context, &r->error);
}

static clump_status step_heap(run *r) {
    clump_heap_desc desc = {
        .size = sizeof desc, .context = r->context, .schema = r->schema, .bytes = 1u << 20};
    return clump_heap_create(&desc, &r->heap, NULL);
}

static clump_status step_program(run *r) {
    clump_program_desc desc = {.size = sizeof desc, .heap = r->heap, .source = source};
    clump_status status = clump_program_create(&desc, &r->program, NULL);
    assert_int_equal(r->program != NULL, !status);
    return status;
}

static clump_status step_kernel_init(run *r) {
    return clump_kernel_create(r->program, "init", &r->init, NULL);
}
static clump_status step_kernel_move(run *r) {
    return clump_kernel_create(r->program, "move", &r->move, NULL);
}
static clump_status step_kernel_count(run *r) {
    return clump_kernel_create(r->program, "count", &r->count, NULL);
}
static clump_status step_kernel_drop(run *r) {
    return clump_kernel_create(r->program, "drop", &r->drop, NULL);
}

static clump_status step_kernel_key(run *r) {
    return clump_kernel_create(r->program, "key", &r->key, NULL);
}

static clump_status step_set_arg(run *r) {
    float dt = 0.5f;
    return clump_kernel_set_arg(r->move, 0, sizeof dt, &dt);
}

static clump_status step_do_new(run *r) {
    clump_sync sync = {.event = &r->made};
    uint64_t made = 1;
    /* The event is given as soon as the kernel is enqueued; what fails later must not lose it. */
    if (r->made) failing_cl.ReleaseEvent(r->made);
    r->made = NULL;
    clump_status status = clump_heap_do_new(r->heap, r->init, "Body", OBJECTS, &made, &sync);
    assert_int_equal(made, status ? 0 : OBJECTS);
    if (!status) assert_non_null(r->made);
    return status;
}

static clump_status step_do_all(run *r) {
    clump_sync sync = {.wait_count = 1, .wait_list = &r->made, .event = &r->moved};
    clump_status status = clump_heap_do_all(r->heap, r->move, &sync);
    assert_int_equal(r->moved != NULL, !status);
    return status;
}

static clump_status step_reduce(run *r) {
    uint32_t count = 0;
    clump_status status = clump_heap_reduce(r->heap, r->count, sizeof count, &count, NULL);
    /* A do-new that failed half-way may have made its objects, so twice as many are right too. */
    if (!status) assert_true(count == OBJECTS || (failing.struck && count == 2 * OBJECTS));
    return status;
}

static clump_status step_stats(run *r) {
    clump_heap_stats all = {.size = sizeof all};
    clump_class_stats classes[2] = {{.size = sizeof *classes}};
    clump_status status = clump_heap_read_stats(r->heap, &all, classes, 2);
    if (!status) assert_int_equal(all.objects, classes[0].objects + classes[1].objects);
    return status;
}

static clump_status step_count(run *r) {
    uint64_t count;
    return clump_heap_read_count(r->heap, "Star", &count);
}

static clump_status step_check(run *r) {
    return clump_heap_check(r->heap);
}

/* With nothing reserved: what is done of it before it fails changes nothing then. */
static clump_status step_repair(run *r) {
    clump_repair_report report = {.size = sizeof report};
    clump_status status = step_count(r);
    if (!status) status = clump_heap_repair(r->heap, &report);
    if (!status) assert_true(report.blocks == 0 && report.strays == 0);
    return status;
}

static clump_status step_enumerate(run *r) {
    uint64_t count;
    clump_status status = clump_heap_read_refs(r->heap, "Body", r->refs, 4 * OBJECTS, &count);
    if (!status) assert_true(count == OBJECTS || (failing.struck && count == 2 * OBJECTS));
    return status;
}

static clump_status step_read_field(run *r) {
    static float x[4 * OBJECTS];
    return clump_heap_read_field(r->heap, "Body", "x", 0, sizeof *x, x, 4 * OBJECTS, NULL);
}

static clump_status step_write_field(run *r) {
    static uint32_t ids[4 * OBJECTS];
    uint64_t count = 0;
    for (uint32_t i = 0; i < 4 * OBJECTS; i++) ids[i] = i;
    clump_status status = clump_heap_read_count(r->heap, "Body", &count);
    return status ? status
                  : clump_heap_write_field(r->heap, "Body", "id", 0, sizeof *ids, ids, count);
}

static clump_status step_get_field(run *r) {
    uint32_t id = UINT32_MAX;
    clump_status status =
        clump_heap_read_object_field(r->heap, "Body", "id", 0, r->refs[7], sizeof(id), &id);
    if (!status) assert_int_equal(id, 7);
    return status;
}

static clump_status step_set_field(run *r) {
    uint32_t id = 8;
    return clump_heap_write_object_field(r->heap, "Body", "id", 0, r->refs[7], sizeof(id), &id);
}

/* ---- Structs ---- */

typedef struct body {
    uint32_t id;
    float x;
} body;
static const clump_struct_field body_fields[] = {{"id", offsetof(body, id)},
                                                 {"x", offsetof(body, x)}};
static const clump_struct_desc body_desc = {sizeof body_desc, "Body", sizeof(body), 2, body_fields};
static body structs[4 * OBJECTS];
static uint64_t struct_count;

static clump_status step_new_structs(run *r) {
    clump_ref refs[OBJECTS];
    uint64_t count = 1;
    for (uint32_t i = 0; i < OBJECTS; i++) structs[i] = (body){i, 0.5f};
    clump_status status =
        clump_heap_new_structs(r->heap, &body_desc, structs, OBJECTS, refs, &count);
    assert_int_equal(count, status ? 0 : OBJECTS);
    return status;
}
/* One that failed half-way may have made its objects, whose contents are not defined. */
static clump_status step_read_structs(run *r) {
    clump_status status =
        clump_heap_read_structs(r->heap, &body_desc, NULL, structs, 4 * OBJECTS, &struct_count);
    if (!status)
        assert_true(struct_count == OBJECTS ||
                    ((failing.struck || failing.refused) && struct_count == 2 * OBJECTS));
    return status;
}
static clump_status step_write_structs(run *r) {
    for (uint32_t i = 0; i < struct_count; i++) structs[i] = (body){i, 1.5f};
    return clump_heap_write_structs(r->heap, &body_desc, NULL, structs, struct_count);
}
static clump_status step_structs_refs(run *r) {
    uint64_t count = 0;
    clump_status status = clump_heap_read_refs(r->heap, "Body", r->refs, 4 * OBJECTS, &count);
    if (!status) assert_int_equal(count, struct_count);
    return status;
}
static clump_status step_read_chosen(run *r) {
    body chosen[5];
    clump_status status =
        clump_heap_read_structs(r->heap, &body_desc, r->refs + 9, chosen, 5, NULL);
    if (!status) assert_memory_equal(chosen, structs + 9, sizeof chosen);
    return status;
}
static clump_status step_write_chosen(run *r) {
    return clump_heap_write_structs(r->heap, &body_desc, r->refs, structs, 5);
}

static uint64_t offsets[4 * OBJECTS + 1];
static uint8_t marks[12 * OBJECTS];

static clump_status step_write_arrays(run *r) {
    for (uint64_t i = 0; i < struct_count; i++) offsets[i + 1] = offsets[i] + i % 4;
    for (size_t i = 0; i < sizeof marks; i++) marks[i] = (uint8_t)i;
    return clump_heap_write_arrays(r->heap, "Body", "marks", NULL, struct_count, offsets, 1, marks,
                                   sizeof marks);
}
/* Those of the first objects, and then of all. */
static clump_status step_read_arrays(run *r) {
    uint64_t found[4 * OBJECTS + 1];
    uint8_t elements[sizeof marks];
    clump_status status =
        clump_heap_read_arrays(r->heap, "Body", "marks", r->refs, 9, found, 1, elements, 27);
    if (!status)
        status = clump_heap_read_arrays(r->heap, "Body", "marks", NULL, struct_count, found, 1,
                                        elements, sizeof elements);
    if (status) return status;
    assert_memory_equal(found, offsets, (struct_count + 1) * sizeof *found);
    assert_memory_equal(elements, marks, found[struct_count]);
    return CLUMP_OK;
}

static int keep_text(void *user, const void *text, size_t bytes) {
    (void)text;
    *(size_t *)user = bytes;
    return 0;
}
static clump_status step_csv(run *r) {
    size_t bytes = 0;
    clump_status status =
        clump_heap_write_table(r->heap, "Body", CLUMP_TABLE_CSV, keep_text, &bytes);
    assert_int_equal(bytes > 2 * OBJECTS, !status);
    return status;
}
static clump_status step_npy(run *r) {
    size_t bytes = 0;
    clump_status status =
        clump_heap_write_table(r->heap, "Body", CLUMP_TABLE_NPY, keep_text, &bytes);
    assert_int_equal(bytes >= 8 * OBJECTS, !status);
    return status;
}

static clump_status step_dump(run *r) {
    size_t bytes = 0;
    clump_status status = clump_heap_dump(r->heap, keep_text, &bytes);
    assert_int_equal(bytes > 500, !status);
    return status;
}

static clump_status step_timeline(run *r) {
    size_t bytes = 0;
    clump_heap_stats stats = {.size = sizeof stats};
    clump_status status = clump_context_record_timeline(r->context, 2);
    if (!status) status = clump_heap_read_stats(r->heap, &stats, NULL, 0);
    if (!status) status = clump_context_write_timeline(r->context, keep_text, &bytes);
    assert_int_equal(bytes > 300, !status);
    const clump_status stopped = clump_context_record_timeline(r->context, 0);
    return status ? status : stopped;
}

/* The heap goes to another queue, and comes back. */
static clump_status step_queue(run *r) {
    uint64_t count = 0;
    cl_int code = CL_SUCCESS;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations" /* OpenCL 1.2 has no other */
    cl_command_queue other = clCreateCommandQueue(r->on.context, r->on.device, 0, &code);
#pragma GCC diagnostic pop
    CHECK_CL(code);
    clump_status status = clump_context_set_queue(r->context, other);
    assert_ptr_equal(clump_context_get_info(r->context)->queue, status ? r->on.queue : other);
    if (!status) status = clump_heap_reserve(r->heap, "Body", 3, NULL);
    assert_int_equal(clump_context_set_queue(r->context, NULL), CLUMP_OK); /* nothing to fail */
    if (!status) status = clump_heap_read_count(r->heap, "Body", &count);
    CHECK_CL(clReleaseCommandQueue(other));
    return status;
}

static clump_status step_fuse(run *r) {
    clump_kernel *const kernels[] = {r->move, r->move, r->count};
    return clump_kernel_create_fused(kernels, 3, &r->fused, NULL);
}

/* If it fails after its launch, it has moved all the same. */
static clump_status step_run_fused(run *r) {
    uint32_t objects = 0;
    clump_status status = clump_heap_reduce(r->heap, r->fused, sizeof objects, &objects, NULL);
    if (!status) assert_true(objects > 0 && objects % OBJECTS == 0);
    return status;
}

static clump_status step_drop(run *r) {
    return clump_heap_launch(r->heap, r->drop, 64, 1, NULL);
}

static clump_status step_fetch_errors(run *r) {
    clump_device_report report = {.size = sizeof report};
    clump_status status = clump_heap_take_errors(r->heap, &report);
    for (int i = 0; i < CLUMP_DEVICE_ERROR_COUNT; i++) assert_int_equal(report.errors[i].count, 0);
    return status;
}

static clump_status step_handle(run *r) {
    clump_ref ref = 0;
    clump_status status =
        r->handle ? CLUMP_OK : clump_heap_create_handle(r->heap, r->refs[8], &r->handle);
    if (!status) status = clump_heap_read_handle(r->heap, r->handle, &ref);
    if (!status) assert_int_equal(ref, r->refs[8]);
    return status;
}

static clump_status step_compact(run *r) {
    clump_compact_report report = {.size = sizeof report};
    clump_status status = clump_heap_compact(r->heap, NULL, &report, NULL);
    if (!status) assert_true(report.objects > 0);
    return status;
}

static clump_status step_merge(run *r) {
    return bench_merge_compact(r->heap, NULL, &(bench_merge){.factor = 3}, NULL, NULL);
}

static clump_status step_order(run *r) {
    clump_compact_desc desc = {.size = sizeof desc, .order = CLUMP_ORDER_KEY, .key_kernel = r->key};
    return clump_heap_compact(r->heap, &desc, NULL, NULL);
}

/* A root in a buffer, a handle and a class; nothing is freed. */
static clump_status step_mark(run *r) {
    static const char *const stars[] = {"Star"};
    clump_collect_report report = {.size = sizeof report};
    clump_collect_desc desc = {.size = sizeof desc,
                               .roots = r->refs,
                               .root_count = 9,
                               .root_classes = stars,
                               .root_class_count = 1,
                               .only_mark = 1};
    clump_status status = clump_heap_collect(r->heap, &desc, &report, NULL);
    if (!status) assert_true(report.live > 0 && report.roots >= report.live);
    return status;
}

static clump_status step_mark_host(run *r) {
    static const char *const bodies[] = {"Body"};
    clump_collect_report report = {.size = sizeof report};
    clump_collect_desc desc = {.size = sizeof desc,
                               .root_classes = bodies,
                               .root_class_count = 1,
                               .engine = CLUMP_MARK_HOST,
                               .only_mark = 1};
    clump_status status = clump_heap_collect(r->heap, &desc, &report, NULL);
    if (!status) assert_int_equal(report.dead, 0);
    return status;
}

static clump_status step_collector(run *r) {
    clump_collector *collector;
    clump_collector_desc desc = {
        .size = sizeof desc,
        .heap = r->heap,
        .every = 1,
        .fill = 1,
        .out_of_memory = 1,
        .collect = &(clump_collect_desc){.size = sizeof(clump_collect_desc), .only_mark = 1}};
    int ran = 0;
    clump_status status = clump_collector_create(&desc, &collector, NULL);
    if (!status) status = clump_collector_tick(collector, &ran, NULL, NULL);
    assert_int_equal(ran, !status);
    clump_collector_destroy(collector);
    return status;
}

/* Garbage goes; what is left is compacted. */
static clump_status step_collect(run *r) {
    static const char *const bodies[] = {"Body"};
    static const clump_compact_desc compact = {.size = sizeof compact};
    clump_collect_report report = {.size = sizeof report};
    clump_collect_desc desc = {
        .size = sizeof desc, .root_classes = bodies, .root_class_count = 1, .compact = &compact};
    clump_status status = clump_heap_collect(r->heap, &desc, &report, NULL);
    if (!status) assert_int_equal(report.dead, 0);
    return status;
}

/* A device that gives up while objects move leaves the heap as it is (compact.h). */
static int moves_objects(clump_status (*step)(run *r)) {
    return step == step_compact || step == step_merge || step == step_order || step == step_collect;
}

/* Fails in good order: with its own status, the log told, and all of it released. */
static clump_status step_broken(run *r) {
    cl_fixture_log kept = {.source = "__kernel void f(CLUMP_HEAP) { x = 1; }"};
    clump_program_desc desc = {.size = sizeof desc,
                               .heap = r->heap,
                               .source = kept.source,
                               .failed = cl_fixture_keep_log,
                               .user = &kept};
    clump_program *broken;
    clump_status status = clump_program_create(&desc, &broken, NULL);
    assert_true(status < 0 && !broken && kept.has_source == (status == CLUMP_ERR_BUILD));
    const clump_error *e = clump_context_get_error(r->context);
    /* Failures of what fetches the log leave a message without it; others are about themselves. */
    if (status == CLUMP_ERR_BUILD && e->cl_code != failing.code) return CLUMP_OK;
    return status;
}

typedef struct session_step {
    const char *name;
    clump_status (*call)(run *r);
} session_step;
#define STEP(name) {#name, step_##name},
static const session_step all_steps[] = {
    STEP(schema) STEP(context) STEP(heap) STEP(program) STEP(kernel_init) STEP(kernel_move)
        STEP(kernel_count) STEP(kernel_drop) STEP(set_arg) STEP(do_new) STEP(do_all) STEP(reduce)
            STEP(fuse) STEP(run_fused) STEP(stats) STEP(count) STEP(check) STEP(repair)
                STEP(enumerate) STEP(read_field) STEP(write_field) STEP(get_field) STEP(set_field)
                    STEP(handle) STEP(drop) STEP(fetch_errors) STEP(kernel_key) STEP(mark)
                        STEP(mark_host) STEP(collector) STEP(compact) STEP(check) STEP(merge)
                            STEP(order) STEP(check) STEP(collect) STEP(check) STEP(broken)};
/* A session of their own: as many runs as a session has calls, each as long as the session. */
static const session_step struct_steps[] = {
    STEP(schema) STEP(context) STEP(heap) STEP(new_structs) STEP(read_structs) STEP(write_structs)
        STEP(structs_refs) STEP(read_chosen) STEP(write_chosen) STEP(write_arrays) STEP(read_arrays)
            STEP(csv) STEP(npy) STEP(dump) STEP(timeline) STEP(queue) STEP(fetch_errors)
                STEP(check)};
#undef STEP
static const session_step *steps;
static size_t steps_chosen;
static void choose_steps(const session_step *all, size_t count) {
    steps = all;
    steps_chosen = count;
}

static void destroy(run *r) {
    if (r->made) failing_cl.ReleaseEvent(r->made);
    if (r->moved) failing_cl.ReleaseEvent(r->moved);
    clump_kernel_destroy(r->init);
    clump_kernel_destroy(r->move);
    clump_kernel_destroy(r->count);
    clump_kernel_destroy(r->drop);
    clump_kernel_destroy(r->key);
    clump_kernel_destroy(r->fused);
    clump_program_destroy(r->program);
    clump_heap_destroy(r->heap);
    clump_context_destroy(r->context);
    clump_schema_destroy(r->schema);
}

/* ---- What must hold ------------------------------------------------------------------------- */

/* Failures that do not have to fail the step: of releasing, of fetching a build log, of memory for
 * the log of a program that is wrong anyway. */
static int may_be_ignored(clump_status (*step)(run *r)) {
    if (failing.refused) return step == step_broken;
    return strncmp(failing.struck, "clRelease", 9) == 0 ||
           strcmp(failing.struck, "clGetProgramBuildInfo") == 0;
}

static void check_failure(const run *r, const char *step, clump_status status) {
    const clump_error *e = r->context ? clump_context_get_error(r->context) : &r->error;
    assert_true(status < 0);
    assert_int_equal(e->status, status);
    assert_true(strlen(e->message) > 10);
    if (failing.refused) {
        if (status != CLUMP_ERR_HOST_MEMORY)
            fail_msg("step %s, request %llu refused: %s: %s", step,
                     (unsigned long long)failing.refuse_at, clump_status_name(status), e->message);
        return;
    }
    if (!failing.struck) fail_msg("step %s fails by itself: %s", step, e->message);
    /* A lost device that was first asked to let go, or for a build log, is noticed later. */
    int quiet = strncmp(failing.struck, "clRelease", 9) == 0 ||
                strcmp(failing.struck, "clGetProgramBuildInfo") == 0;
    int later = failing.persistent && quiet && e->call != NULL;
    if (!later &&
        (!strstr(e->message, failing.struck) || !e->call || strcmp(e->call, failing.struck) != 0))
        fail_msg("step %s: call %llu, %s, failed, but the message is: %s", step,
                 (unsigned long long)failing.calls, failing.struck, e->message);
    assert_int_equal(e->cl_code, failing.code);
}

/* One run. Returns 1 if the failure came to pass. */
static int run_once(const cl_fixture *on) {
    static run r;
    memset(&r, 0, sizeof r);
    r.on = *on;
    for (size_t i = 0; i < steps_chosen; i++) {
        int hit_before = failing.struck || failing.refused;
        if (hit_before && steps[i].call == step_broken) break; /* slow, and nothing new */
        clump_status status = steps[i].call(&r);
        int hit = (failing.struck || failing.refused) && !hit_before;
        if (!status) {
            if (hit && !may_be_ignored(steps[i].call))
                fail_msg("step %s succeeds though %s failed", steps[i].name,
                         failing.struck ? failing.struck : "a request for memory");
            continue;
        }
        if (!hit && failing.persistent) break; /* what was hit first could be ignored */
        if (!hit && failing.struck)
            fail_msg("step %s fails long after %s", steps[i].name, failing.struck);
        check_failure(&r, steps[i].name, status);
        if (failing.persistent || (failing.struck && moves_objects(steps[i].call))) break;
        /* A repair that failed is to be repeated; before that nothing is promised. */
        if (r.heap && steps[i].call != step_repair && clump_heap_check(r.heap))
            fail_msg("after step %s: %s", steps[i].name,
                     clump_context_get_error(r.context)->message);
        status = steps[i].call(&r);
        if (status)
            fail_msg("step %s, second try after %s failed: %s", steps[i].name,
                     failing.struck ? failing.struck : "a request",
                     r.context ? clump_context_get_error(r.context)->message : r.error.message);
    }
    destroy(&r);
    int came = failing.struck || failing.refused;
    failing_check_nothing_left();
    return came;
}

static void structs_fail(void **state) {
    (void)state;
    choose_steps(struct_steps, sizeof struct_steps / sizeof *struct_steps);
    failing_strike_device(run_once, 0, CL_OUT_OF_RESOURCES, 0, 50);
    failing_strike_device(run_once, 0, CL_OUT_OF_HOST_MEMORY, 1, 50);
    failing_refuse_device(run_once, 10);
}

static void nothing_fails(void **state) {
    cl_fixture on = failing_open(0);
    memset(&failing, 0, sizeof failing);
    assert_false(run_once(&on));
    print_message("%llu OpenCL calls, %llu requests for memory\n",
                  (unsigned long long)failing.calls, (unsigned long long)failing.requests);
    failing_close(&on);
}

/* ---- A wait list whose command failed -------------------------------------------------------- */

static cl_event failed; /* what it stands for did not run, so what waits for it does not */

static int waits_for_it(cl_uint count, const cl_event *list) {
    for (cl_uint i = 0; i < count; i++)
        if (list[i] == failed) return 1;
    return 0;
}

static cl_int CL_API_CALL enqueue(cl_command_queue q, cl_kernel kernel, cl_uint n, const size_t *o,
                                  const size_t *global, const size_t *local, cl_uint waits,
                                  const cl_event *list, cl_event *event) {
    if (!waits_for_it(waits, list))
        return clEnqueueNDRangeKernel(q, kernel, n, o, global, local, waits, list, event);
    return event ? clEnqueueMarkerWithWaitList(q, 0, NULL, event) : CL_SUCCESS;
}

static cl_int CL_API_CALL mark(cl_command_queue q, cl_uint waits, const cl_event *list,
                               cl_event *event) {
    const int is_in_vain = waits_for_it(waits, list);
    return clEnqueueMarkerWithWaitList(q, is_in_vain ? 0 : waits, is_in_vain ? NULL : list, event);
}

static cl_int CL_API_CALL event_info(cl_event event, cl_event_info name, size_t bytes, void *to,
                                     size_t *needed) {
    const cl_int error = CL_OUT_OF_RESOURCES;
    cl_int code = clGetEventInfo(event, name, bytes, to, needed);
    if (!code && event == failed && name == CL_EVENT_COMMAND_EXECUTION_STATUS)
        memcpy(to, &error, sizeof error);
    return code;
}

/* Nothing is taken for a result, and nothing later goes by what was not done. */
static void a_wait_list_fails(void **state) {
    (void)state;
    const clump_cl_functions cl = {.size = sizeof cl,
                                   .EnqueueNDRangeKernel = enqueue,
                                   .EnqueueMarkerWithWaitList = mark,
                                   .GetEventInfo = event_info};
    run r = {0};
    memset(&failing, 0, sizeof failing);
    const int code = cl_fixture_open(&r.on, &(cl_fixture_desc){.cl = &cl});
    if (code == CL_FIXTURE_SKIP) skip();
    assert_int_equal(code, 0);
    r.context = r.on.clump;
    assert_int_equal(step_schema(&r) | step_heap(&r) | step_program(&r) | step_kernel_init(&r) |
                         step_kernel_count(&r) | step_kernel_move(&r) | step_kernel_drop(&r) |
                         step_set_arg(&r),
                     CLUMP_OK);
    const clump_error *error = clump_context_get_error(r.context);
    const clump_sync sync = {.wait_count = 1, .wait_list = &failed};
    uint64_t made = 0;
    uint32_t n = 0;
    CHECK_CL(clEnqueueMarkerWithWaitList(r.on.queue, 0, NULL, &failed));
    CHECK_OK(&r.on, clump_heap_do_new(r.heap, r.init, "Body", OBJECTS, &made, NULL));
    CHECK_OK(&r.on, clump_heap_reduce(r.heap, r.count, sizeof n, &n, NULL));
    assert_int_equal(n, OBJECTS);
    n = 7;
    cl_fixture_expect_words(error, clump_heap_reduce(r.heap, r.count, sizeof n, &n, &sync),
                            CLUMP_ERR_CL, "event 0 belongs to a command that failed",
                            "clump_heap_reduce", __LINE__);
    assert_int_equal(n, 7);
    cl_fixture_expect_words(error, clump_heap_do_new(r.heap, r.init, "Body", 10, &made, &sync),
                            CLUMP_ERR_CL, "event 0 belongs to a command that failed",
                            "clump_heap_do_new", __LINE__);
    assert_int_equal(made, 0);
    cl_fixture_expect_words(error, clump_heap_compact(r.heap, NULL, NULL, &sync), CLUMP_ERR_CL,
                            "event 0 belongs to a command that failed", "clump_heap_compact",
                            __LINE__);
    CHECK_HEAP(&r.on, r.heap);
    CHECK_OK(&r.on, clump_heap_reduce(r.heap, r.count, sizeof n, &n, NULL));
    assert_int_equal(n, OBJECTS);
    /* A list that was to be made by what did not run. */
    CHECK_OK(&r.on, clump_heap_do_all(r.heap, r.drop, NULL));
    CHECK_OK(&r.on, clump_heap_do_all(r.heap, r.move, &sync));
    CHECK_OK(&r.on, clump_heap_reduce(r.heap, r.count, sizeof n, &n, NULL));
    assert_int_equal(n, OBJECTS / 2);
    CHECK_CL(clReleaseEvent(failed));
    failed = NULL;
    clump_kernel_destroy(r.init);
    clump_kernel_destroy(r.count);
    clump_kernel_destroy(r.move);
    clump_kernel_destroy(r.drop);
    clump_program_destroy(r.program);
    clump_heap_destroy(r.heap);
    clump_schema_destroy(r.schema);
    cl_fixture_close(&r.on);
}

int main(void) {
    static failing_part part = {run_once, NULL};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_fails),
        FAILING_TESTS(&part),
        cmocka_unit_test(structs_fail),
        cmocka_unit_test(a_wait_list_fails),
    };
    choose_steps(all_steps, sizeof all_steps / sizeof *all_steps);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
