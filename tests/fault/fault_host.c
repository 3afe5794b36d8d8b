/* Every OpenCL call and every request for host memory made to fail, one run of a scenario for each.
 *
 * The library gets a table of entry points and an allocator that count. In run n the n-th call
 * returns an error without doing anything (or all calls from the n-th on do), or the n-th request
 * for memory is refused. The step of the scenario that this hits must
 *   - return a negative status, with a message that names the OpenCL call,
 *   - leave its results NULL, and a heap that passes its check,
 *   - succeed when it is tried again;
 * and at the end of every run nothing may be left: no host memory, no reference to an OpenCL object.
 */
#include <stdlib.h>
#include <string.h>

#include "cl_fixture.h"

#define OBJECTS 1000u

/* ---- Calls that count and fail -------------------------------------------------------------- */

enum { CONTEXT, QUEUE, BUFFER, PROGRAM, KERNEL, EVENT, KINDS };

/* An object whose release was made to fail: the test releases it in the library's place. */
typedef struct leftover {
    int kind;
    void *object;
} leftover;

static struct {
    uint64_t calls, fail_at; /* OpenCL calls so far; the one to fail, from 1; 0: none */
    int persistent;          /* all later ones fail too */
    cl_int code;
    const char *struck; /* the call that was made to fail first */
    uint64_t requests, refuse_at;
    int refused;
    long blocks;       /* of host memory, live */
    long live[KINDS];  /* references held */
    leftover left[64]; /* of a persistent failure: one for every object of the scenario */
    unsigned left_count;
} f;

static const char optional_query[] = "clGetDeviceInfo of a vendor's own";

static int strike(const char *name) {
    f.calls++;
    if (!f.fail_at || f.calls < f.fail_at || (f.calls > f.fail_at && !f.persistent)) return 0;
    if (!f.struck) f.struck = name;
    return 1;
}

static cl_int retained(int kind, cl_int code) {
    if (!code) f.live[kind]++;
    return code;
}

static cl_int unreleased(int kind, void *object) {
    assert_true(f.left_count < sizeof f.left / sizeof *f.left);
    f.left[f.left_count++] = (leftover){kind, object};
    return f.code;
}

/* Programs are compiled once for all runs: a run's clCreateProgramWithSource gets a reference to the
 * program that an earlier run made of the same text, and builds it only if none has
 * yet. */
static struct {
    cl_program program;
    char *source;
    int built;
    cl_int result;
} cached[8];
static unsigned cached_count;

static cl_program cache_program(cl_context context, const char *source, cl_int *code) {
    for (unsigned i = 0; i < cached_count; i++) {
        if (strcmp(cached[i].source, source) != 0) continue;
        *code = clRetainProgram(cached[i].program);
        return cached[i].program;
    }
    cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, code);
    assert_int_equal(*code, CL_SUCCESS);
    assert_true(cached_count < sizeof cached / sizeof *cached);
    clRetainProgram(program);
    cached[cached_count].program = program;
    cached[cached_count].built = 0;
    cached[cached_count++].source = strdup(source);
    return program;
}

static void forget_programs(void) {
    for (unsigned i = 0; i < cached_count; i++) {
        clReleaseProgram(cached[i].program);
        free(cached[i].source);
    }
    cached_count = 0;
}

#define PASS(name, parameters, ...)                                                                \
    static cl_int CL_API_CALL fail_##name parameters {                                             \
        return strike("cl" #name) ? f.code : cl##name(__VA_ARGS__);                                \
    }
#define RETAIN(name, type, kind)                                                                   \
    static cl_int CL_API_CALL fail_##name(type object) {                                           \
        return strike("cl" #name) ? f.code : retained(kind, cl##name(object));                     \
    }
#define RELEASE(name, type, kind)                                                                  \
    static cl_int CL_API_CALL fail_##name(type object) {                                           \
        if (strike("cl" #name)) return unreleased(kind, object);                                   \
        f.live[kind]--;                                                                            \
        return cl##name(object);                                                                   \
    }
#define CREATE(name, type, kind, parameters, ...)                                                  \
    static type CL_API_CALL fail_##name parameters {                                               \
        if (strike("cl" #name)) {                                                                  \
            *code = f.code;                                                                        \
            return NULL;                                                                           \
        }                                                                                          \
        type object = cl##name(__VA_ARGS__);                                                       \
        if (object) f.live[kind]++;                                                                \
        return object;                                                                             \
    }
/* The last parameter is the event to give back, which may be NULL. */
#define ENQUEUE(name, parameters, ...)                                                             \
    static cl_int CL_API_CALL fail_##name parameters {                                             \
        if (strike("cl" #name)) return f.code;                                                     \
        cl_int code = cl##name(__VA_ARGS__);                                                       \
        return event ? retained(EVENT, code) : code;                                               \
    }

/* What a device need not have is asked for by its vendor's number, and a failure means no. */
static cl_int CL_API_CALL fail_GetDeviceInfo(cl_device_id a, cl_device_info b, size_t c, void *d,
                                             size_t *e) {
    int optional = b >= 0x4000 && b < 0x5000;
    if (strike(optional ? optional_query : "clGetDeviceInfo")) return f.code;
    return clGetDeviceInfo(a, b, c, d, e);
}
PASS(GetPlatformInfo, (cl_platform_id a, cl_platform_info b, size_t c, void *d, size_t *e), a, b, c,
     d, e)
PASS(GetContextInfo, (cl_context a, cl_context_info b, size_t c, void *d, size_t *e), a, b, c, d, e)
PASS(GetCommandQueueInfo,
     (cl_command_queue a, cl_command_queue_info b, size_t c, void *d, size_t *e), a, b, c, d, e)
RETAIN(RetainContext, cl_context, CONTEXT)
RELEASE(ReleaseContext, cl_context, CONTEXT)
RETAIN(RetainCommandQueue, cl_command_queue, QUEUE)
RELEASE(ReleaseCommandQueue, cl_command_queue, QUEUE)
CREATE(CreateBuffer, cl_mem, BUFFER,
       (cl_context a, cl_mem_flags b, size_t c, void *d, cl_int *code), a, b, c, d, code)
RETAIN(RetainMemObject, cl_mem, BUFFER)
RELEASE(ReleaseMemObject, cl_mem, BUFFER)
PASS(GetMemObjectInfo, (cl_mem a, cl_mem_info b, size_t c, void *d, size_t *e), a, b, c, d, e)
static cl_program CL_API_CALL fail_CreateProgramWithSource(cl_context a, cl_uint b, const char **c,
                                                           const size_t *d, cl_int *code) {
    if (strike("clCreateProgramWithSource")) {
        *code = f.code;
        return NULL;
    }
    f.live[PROGRAM]++;
    return cache_program(a, c[0], code);
}

static cl_int CL_API_CALL fail_BuildProgram(cl_program a, cl_uint b, const cl_device_id *c,
                                            const char *d, void(CL_CALLBACK *e)(cl_program, void *),
                                            void *g) {
    if (strike("clBuildProgram")) return f.code;
    unsigned i = 0;
    while (cached[i].program != a) i++;
    if (!cached[i].built) cached[i].result = clBuildProgram(a, b, c, d, e, g);
    cached[i].built = 1;
    return cached[i].result;
}

PASS(GetProgramBuildInfo,
     (cl_program a, cl_device_id b, cl_program_build_info c, size_t d, void *e, size_t *g), a, b, c,
     d, e, g)
RELEASE(ReleaseProgram, cl_program, PROGRAM)
CREATE(CreateKernel, cl_kernel, KERNEL, (cl_program a, const char *b, cl_int *code), a, b, code)
RELEASE(ReleaseKernel, cl_kernel, KERNEL)
PASS(SetKernelArg, (cl_kernel a, cl_uint b, size_t c, const void *d), a, b, c, d)
PASS(GetKernelInfo, (cl_kernel a, cl_kernel_info b, size_t c, void *d, size_t *e), a, b, c, d, e)
PASS(GetKernelArgInfo, (cl_kernel a, cl_uint b, cl_kernel_arg_info c, size_t d, void *e, size_t *g),
     a, b, c, d, e, g)
PASS(GetKernelWorkGroupInfo,
     (cl_kernel a, cl_device_id b, cl_kernel_work_group_info c, size_t d, void *e, size_t *g), a, b,
     c, d, e, g)
ENQUEUE(EnqueueNDRangeKernel,
        (cl_command_queue a, cl_kernel b, cl_uint c, const size_t *d, const size_t *e,
         const size_t *g, cl_uint h, const cl_event *i, cl_event *event),
        a, b, c, d, e, g, h, i, event)
ENQUEUE(EnqueueReadBuffer,
        (cl_command_queue a, cl_mem b, cl_bool c, size_t d, size_t e, void *g, cl_uint h,
         const cl_event *i, cl_event *event),
        a, b, c, d, e, g, h, i, event)
ENQUEUE(EnqueueWriteBuffer,
        (cl_command_queue a, cl_mem b, cl_bool c, size_t d, size_t e, const void *g, cl_uint h,
         const cl_event *i, cl_event *event),
        a, b, c, d, e, g, h, i, event)
ENQUEUE(EnqueueFillBuffer,
        (cl_command_queue a, cl_mem b, const void *c, size_t d, size_t e, size_t g, cl_uint h,
         const cl_event *i, cl_event *event),
        a, b, c, d, e, g, h, i, event)
ENQUEUE(EnqueueCopyBuffer,
        (cl_command_queue a, cl_mem b, cl_mem c, size_t d, size_t e, size_t g, cl_uint h,
         const cl_event *i, cl_event *event),
        a, b, c, d, e, g, h, i, event)
ENQUEUE(EnqueueMarkerWithWaitList,
        (cl_command_queue a, cl_uint b, const cl_event *c, cl_event *event), a, b, c, event)
RETAIN(RetainEvent, cl_event, EVENT)
RELEASE(ReleaseEvent, cl_event, EVENT)
PASS(GetEventProfilingInfo, (cl_event a, cl_profiling_info b, size_t c, void *d, size_t *e), a, b,
     c, d, e)
PASS(Flush, (cl_command_queue a), a)
PASS(Finish, (cl_command_queue a), a)

static const clump_cl_functions failing = {
#define MEMBER(name) .name = fail_##name,
    CLUMP_CL_FUNCTION_LIST(MEMBER)
#undef MEMBER
};

static int refuse(void) {
    f.requests++;
    if (f.requests != f.refuse_at) return 0;
    f.refused = 1;
    return 1;
}

static void *allocate(void *user, size_t bytes) {
    if (refuse()) return NULL;
    void *memory = malloc(bytes);
    if (memory) f.blocks++;
    return memory;
}

static void *reallocate(void *user, void *memory, size_t bytes) {
    if (refuse()) return NULL;
    if (!memory) f.blocks++;
    return realloc(memory, bytes);
}

static void release(void *user, void *memory) {
    f.blocks -= memory != NULL;
    free(memory);
}

static const clump_allocator refusing = {allocate, reallocate, release, NULL};

/* ---- The scenario --------------------------------------------------------------------------- */

typedef struct run {
    cl_fixture on;
    clump_schema *schema;
    clump_context *context;
    clump_heap *heap;
    clump_program *program, *broken;
    clump_kernel *init, *move, *count, *drop, *key;
    clump_handle handle;
    cl_event made, moved;
    clump_ref refs[4 * OBJECTS];
    clump_error error; /* of calls that come before there is a context */
} run;

static const char schema_text[] =
    "class Body { float x; uint id; } class Star : Body { ref Body centre; uchar tag[3]; }";

static const char source[] =
    "__kernel void init(CLUMP_HEAP) {\n"
    "    CLUMP_FOR_EACH_NEW(Body, self, i) { Body_id(self) = i; Body_x(self) = 0; }\n"
    "}\n"
    "__kernel void move(CLUMP_HEAP_FIXED, float dt) {\n"
    "    CLUMP_FOR_EACH(Body, self) Body_x(self) += dt;\n"
    "}\n"
    "__kernel void count(CLUMP_HEAP_FIXED) {\n"
    "    uint n = 0;\n"
    "    CLUMP_FOR_EACH(Body, self) n++;\n"
    "    CLUMP_REDUCE(uint, n, CLUMP_SUM);\n"
    "}\n"
    "__kernel void drop(CLUMP_HEAP) {\n"
    "    CLUMP_FOR_EACH(Body, self) if (Body_id(self) & 1) Body_free(self);\n"
    "}\n"
    "__kernel void key(CLUMP_HEAP_FIXED, __global uint *keys) {\n"
    "    CLUMP_FOR_EACH_NUMBERED(Body, self, i) keys[i] = Body_id(self) * 2654435761u;\n"
    "}\n";

static clump_status step_schema(run *r) {
    return clump_schema_parse(schema_text, strlen(schema_text), &refusing, &r->schema, &r->error);
}

static clump_status step_context(run *r) {
    clump_context_desc desc = {.context = r->on.context,
                               .device = r->on.device,
                               .queue = r->on.queue,
                               .allocator = refusing,
                               .cl = &failing};
    return clump_context_create(&desc, &r->context, &r->error);
}

static clump_status step_heap(run *r) {
    clump_heap_desc desc = {.context = r->context, .schema = r->schema, .bytes = 1u << 20};
    return clump_heap_create(&desc, &r->heap);
}

static clump_status step_program(run *r) {
    clump_program_desc desc = {.heap = r->heap, .source = source};
    clump_status status = clump_program_create(&desc, &r->program);
    if (status) { /* CLUMP_ERR_BUILD leaves a program for its log */
        assert_int_equal(r->program != NULL, status == CLUMP_ERR_BUILD);
        clump_program_destroy(r->program);
        r->program = NULL;
    }
    return status;
}

static clump_status step_kernel_init(run *r) {
    return clump_kernel_create(r->program, "init", &r->init);
}
static clump_status step_kernel_move(run *r) {
    return clump_kernel_create(r->program, "move", &r->move);
}
static clump_status step_kernel_count(run *r) {
    return clump_kernel_create(r->program, "count", &r->count);
}
static clump_status step_kernel_drop(run *r) {
    return clump_kernel_create(r->program, "drop", &r->drop);
}

static clump_status step_kernel_key(run *r) {
    return clump_kernel_create(r->program, "key", &r->key);
}

static clump_status step_set_arg(run *r) {
    float dt = 0.5f;
    return clump_kernel_set_arg(r->move, 0, sizeof dt, &dt);
}

static clump_status step_do_new(run *r) {
    clump_sync sync = {.event = &r->made};
    uint64_t made = 1;
    /* The event is given as soon as the kernel is enqueued; what fails later must not lose it. */
    if (r->made) fail_ReleaseEvent(r->made);
    r->made = NULL;
    clump_status status = clump_do_new(r->heap, "Body", OBJECTS, r->init, &made, &sync);
    assert_int_equal(made, status ? 0 : OBJECTS);
    if (!status) assert_non_null(r->made);
    return status;
}

static clump_status step_do_all(run *r) {
    clump_sync sync = {.wait_count = 1, .wait_list = &r->made, .event = &r->moved};
    clump_status status = clump_do_all(r->heap, r->move, &sync);
    assert_int_equal(r->moved != NULL, !status);
    return status;
}

static clump_status step_reduce(run *r) {
    uint32_t count = 0;
    clump_status status = clump_reduce(r->heap, r->count, &count, sizeof count, NULL);
    /* A do-new that failed half-way may have made its objects, so twice as many are right too. */
    if (!status) assert_true(count == OBJECTS || (f.struck && count == 2 * OBJECTS));
    return status;
}

static clump_status step_stats(run *r) {
    clump_heap_stats all;
    clump_class_stats classes[2];
    clump_status status = clump_heap_calc_stats(r->heap, &all, classes, 2);
    if (!status) assert_int_equal(all.objects, classes[0].objects + classes[1].objects);
    return status;
}

static clump_status step_count(run *r) {
    uint64_t count;
    return clump_heap_count(r->heap, "Star", &count);
}

static clump_status step_check(run *r) {
    return clump_heap_check(r->heap);
}

static clump_status step_enumerate(run *r) {
    uint64_t count;
    clump_status status = clump_heap_enumerate(r->heap, "Body", r->refs, 4 * OBJECTS, &count);
    if (!status) assert_true(count == OBJECTS || (f.struck && count == 2 * OBJECTS));
    return status;
}

static clump_status step_read_field(run *r) {
    static float x[4 * OBJECTS];
    return clump_heap_read_field(r->heap, "Body", "x", 0, x, 4 * OBJECTS);
}

static clump_status step_write_field(run *r) {
    static uint32_t ids[4 * OBJECTS];
    uint64_t count = 0;
    for (uint32_t i = 0; i < 4 * OBJECTS; i++) ids[i] = i;
    clump_status status = clump_heap_count(r->heap, "Body", &count);
    return status ? status : clump_heap_write_field(r->heap, "Body", "id", 0, ids, count);
}

static clump_status step_get_field(run *r) {
    uint32_t id = UINT32_MAX;
    clump_status status = clump_heap_get_field(r->heap, r->refs[7], "Body", "id", 0, &id);
    if (!status) assert_int_equal(id, 7);
    return status;
}

static clump_status step_set_field(run *r) {
    uint32_t id = 8;
    return clump_heap_set_field(r->heap, r->refs[7], "Body", "id", 0, &id);
}

static clump_status step_drop(run *r) {
    return clump_launch(r->heap, r->drop, 64, 1, NULL);
}

static clump_status step_poll(run *r) {
    clump_device_report report;
    clump_status status = clump_heap_poll(r->heap, &report);
    for (int i = 0; i < CLUMP_DEVICE_ERROR_COUNT; i++) assert_int_equal(report.errors[i].count, 0);
    return status;
}

static clump_status step_handle(run *r) {
    clump_ref ref = 0;
    clump_status status =
        r->handle ? CLUMP_OK : clump_handle_create(r->heap, r->refs[8], &r->handle);
    if (!status) status = clump_handle_get(r->heap, r->handle, &ref);
    if (!status) assert_int_equal(ref, r->refs[8]);
    return status;
}

static clump_status step_compact(run *r) {
    clump_compact_report report;
    clump_status status = clump_compact(r->heap, NULL, &report, NULL);
    if (!status) assert_true(report.objects > 0);
    return status;
}

static clump_status step_merge(run *r) {
    clump_compact_desc desc = {.strategy = CLUMP_COMPACT_MERGE, .factor = 3};
    return clump_compact(r->heap, &desc, NULL, NULL);
}

static clump_status step_order(run *r) {
    clump_compact_desc desc = {.order = CLUMP_ORDER_KEY, .key_kernel = r->key};
    return clump_compact(r->heap, &desc, NULL, NULL);
}

/* A root in a buffer, a handle and a class; nothing is freed. */
static clump_status step_mark(run *r) {
    static const char *const stars[] = {"Star"};
    clump_collect_report report;
    clump_collect_desc desc = {.roots = r->refs,
                               .root_count = 9,
                               .root_classes = stars,
                               .root_class_count = 1,
                               .only_mark = 1};
    clump_status status = clump_collect(r->heap, &desc, &report, NULL);
    if (!status) assert_true(report.live > 0 && report.roots >= report.live);
    return status;
}

static clump_status step_mark_host(run *r) {
    static const char *const bodies[] = {"Body"};
    clump_collect_report report;
    clump_collect_desc desc = {
        .root_classes = bodies, .root_class_count = 1, .engine = CLUMP_MARK_HOST, .only_mark = 1};
    clump_status status = clump_collect(r->heap, &desc, &report, NULL);
    if (!status) assert_int_equal(report.dead, 0);
    return status;
}

static clump_status step_collector(run *r) {
    clump_collector *collector;
    clump_collector_desc desc = {
        .heap = r->heap, .every = 1, .fill = 1, .out_of_memory = 1, .collect = {.only_mark = 1}};
    int ran = 0;
    clump_status status = clump_collector_create(&desc, &collector);
    if (!status) status = clump_collector_poll(collector, &ran, NULL);
    assert_int_equal(ran, !status);
    clump_collector_destroy(collector);
    return status;
}

/* Garbage goes; what is left is compacted. */
static clump_status step_collect(run *r) {
    static const char *const bodies[] = {"Body"};
    static const clump_compact_desc compact;
    clump_collect_report report;
    clump_collect_desc desc = {.root_classes = bodies, .root_class_count = 1, .compact = &compact};
    clump_status status = clump_collect(r->heap, &desc, &report, NULL);
    if (!status) assert_int_equal(report.dead, 0);
    return status;
}

/* A device that gives up while objects move leaves the heap as it is (compact.h). */
static int moves_objects(clump_status (*step)(run *r)) {
    return step == step_compact || step == step_merge || step == step_order || step == step_collect;
}

/* Fails in good order: with its own status, the log kept, and all of it released. */
static clump_status step_broken(run *r) {
    clump_program_desc desc = {.heap = r->heap, .source = "__kernel void f(CLUMP_HEAP) { x = 1; }"};
    clump_status status = clump_program_create(&desc, &r->broken);
    assert_int_equal(r->broken != NULL, status == CLUMP_ERR_BUILD);
    assert_true(status < 0);
    clump_program_destroy(r->broken);
    r->broken = NULL;
    const clump_error *e = clump_context_get_error(r->context);
    /* Failures of what fetches the log leave a message without it; others are about themselves. */
    if (status == CLUMP_ERR_BUILD && e->cl_code != f.code) return CLUMP_OK;
    return status;
}

static const struct {
    const char *name;
    clump_status (*call)(run *r);
} steps[] = {
#define STEP(name) {#name, step_##name},
    STEP(schema) STEP(context) STEP(heap) STEP(program) STEP(kernel_init) STEP(kernel_move)
        STEP(kernel_count) STEP(kernel_drop) STEP(set_arg) STEP(do_new) STEP(do_all) STEP(reduce)
            STEP(stats) STEP(count) STEP(check) STEP(enumerate) STEP(read_field) STEP(write_field)
                STEP(get_field) STEP(set_field) STEP(handle) STEP(drop) STEP(poll) STEP(kernel_key)
                    STEP(mark) STEP(mark_host) STEP(collector) STEP(compact) STEP(check) STEP(merge)
                        STEP(order) STEP(check) STEP(collect) STEP(check) STEP(broken)
#undef STEP
};
#define STEPS (sizeof steps / sizeof *steps)

static void destroy(run *r) {
    if (r->made) fail_ReleaseEvent(r->made);
    if (r->moved) fail_ReleaseEvent(r->moved);
    clump_kernel_destroy(r->init);
    clump_kernel_destroy(r->move);
    clump_kernel_destroy(r->count);
    clump_kernel_destroy(r->drop);
    clump_kernel_destroy(r->key);
    clump_program_destroy(r->program);
    clump_heap_destroy(r->heap);
    clump_context_destroy(r->context);
    clump_schema_destroy(r->schema);
}

/* ---- What must hold ------------------------------------------------------------------------- */

/* Failures that do not have to fail the step: of releasing, of fetching a build log, of memory for
 * the log of a program that is wrong anyway. */
static int may_be_ignored(clump_status (*step)(run *r)) {
    if (f.refused) return step == step_broken;
    return strncmp(f.struck, "clRelease", 9) == 0 || f.struck == optional_query ||
           strcmp(f.struck, "clGetProgramBuildInfo") == 0;
}

static void check_failure(const run *r, const char *step, clump_status status) {
    const clump_error *e = r->context ? clump_context_get_error(r->context) : &r->error;
    assert_true(status < 0);
    assert_int_equal(e->status, status);
    assert_true(strlen(e->message) > 10);
    if (f.refused) {
        if (status != CLUMP_ERR_MEMORY)
            fail_msg("step %s, request %llu refused: %s: %s", step, (unsigned long long)f.refuse_at,
                     clump_status_name(status), e->message);
        return;
    }
    if (!f.struck) fail_msg("step %s fails by itself: %s", step, e->message);
    /* A lost device that was first asked what it need not have, or to let go, is noticed later. */
    int quiet = f.struck == optional_query || strncmp(f.struck, "clRelease", 9) == 0;
    int later = f.persistent && quiet && e->call != NULL;
    if (!later && (!strstr(e->message, f.struck) || !e->call || strcmp(e->call, f.struck) != 0))
        fail_msg("step %s: call %llu, %s, failed, but the message is: %s", step,
                 (unsigned long long)f.calls, f.struck, e->message);
    assert_int_equal(e->cl_code, f.code);
}

static void check_nothing_left(void) {
    static const char *const names[] = {"context", "queue", "buffer", "program", "kernel", "event"};
    for (unsigned i = 0; i < f.left_count; i++) {
        leftover l = f.left[i];
        f.live[l.kind]--;
        switch (l.kind) {
        case CONTEXT: clReleaseContext(l.object); break;
        case QUEUE: clReleaseCommandQueue(l.object); break;
        case BUFFER: clReleaseMemObject(l.object); break;
        case PROGRAM: clReleaseProgram(l.object); break;
        case KERNEL: clReleaseKernel(l.object); break;
        default: clReleaseEvent(l.object);
        }
    }
    for (int kind = 0; kind < KINDS; kind++)
        if (f.live[kind])
            fail_msg("%ld references to a %s left after %s (call %llu) failed", f.live[kind],
                     names[kind], f.struck ? f.struck : "nothing", (unsigned long long)f.fail_at);
    if (f.blocks)
        fail_msg("%ld blocks of host memory left after %s (call %llu, request %llu) failed",
                 f.blocks, f.struck ? f.struck : "a request", (unsigned long long)f.fail_at,
                 (unsigned long long)f.refuse_at);
}

/* One run. Returns 1 if the failure came to pass. */
static int run_once(const cl_fixture *on) {
    static run r;
    memset(&r, 0, sizeof r);
    r.on = *on;
    for (size_t i = 0; i < STEPS; i++) {
        int hit_before = f.struck || f.refused;
        if (hit_before && steps[i].call == step_broken) break; /* slow, and nothing new */
        clump_status status = steps[i].call(&r);
        int hit = (f.struck || f.refused) && !hit_before;
        if (!status) {
            if (hit && !may_be_ignored(steps[i].call))
                fail_msg("step %s succeeds though %s failed", steps[i].name,
                         f.struck ? f.struck : "a request for memory");
            continue;
        }
        if (!hit && f.persistent) break; /* what was hit first could be ignored */
        if (!hit && f.struck) fail_msg("step %s fails long after %s", steps[i].name, f.struck);
        check_failure(&r, steps[i].name, status);
        if (f.persistent || (f.struck && moves_objects(steps[i].call))) break;
        if (r.heap && clump_heap_check(r.heap))
            fail_msg("after step %s: %s", steps[i].name,
                     clump_context_get_error(r.context)->message);
        status = steps[i].call(&r);
        if (status)
            fail_msg("step %s, second try after %s failed: %s", steps[i].name,
                     f.struck ? f.struck : "a request",
                     r.context ? clump_context_get_error(r.context)->message : r.error.message);
    }
    destroy(&r);
    int came = f.struck || f.refused;
    check_nothing_left();
    return came;
}

/* Opens the device for one test; without what it needs the test is skipped. */
static cl_fixture open_device(int out_of_order) {
    cl_fixture on;
    cl_fixture_desc desc = {.out_of_order = out_of_order};
    int result = cl_fixture_open(&on, &desc);
    if (result == CL_FIXTURE_SKIP) skip();
    assert_int_equal(result, 0);
    return on;
}

static void close_device(cl_fixture *on) {
    clFinish(on->queue);
    forget_programs();
    cl_fixture_close(on);
}

static void strike_all(int out_of_order, cl_int code, int persistent) {
    cl_fixture on = open_device(out_of_order);
    uint64_t n = 0;
    do {
        memset(&f, 0, sizeof f);
        f.fail_at = ++n;
        f.code = code;
        f.persistent = persistent;
    } while (run_once(&on));
    print_message("%llu calls made to fail\n", (unsigned long long)n - 1);
    assert_true(n > 200);
    close_device(&on);
}

static void calls_fail_in_order(void **state) {
    strike_all(0, CL_OUT_OF_RESOURCES, 0);
}

static void calls_fail_out_of_order(void **state) {
    strike_all(1, CL_MEM_OBJECT_ALLOCATION_FAILURE, 0);
}

static void device_is_lost(void **state) {
    strike_all(0, CL_OUT_OF_HOST_MEMORY, 1);
}

static void requests_are_refused(void **state) {
    cl_fixture on = open_device(0);
    uint64_t n = 0;
    do {
        memset(&f, 0, sizeof f);
        f.refuse_at = ++n;
    } while (run_once(&on));
    print_message("%llu requests refused\n", (unsigned long long)n - 1);
    assert_true(n > 20);
    close_device(&on);
}

static void nothing_fails(void **state) {
    cl_fixture on = open_device(0);
    memset(&f, 0, sizeof f);
    assert_false(run_once(&on));
    print_message("%llu OpenCL calls, %llu requests for memory\n", (unsigned long long)f.calls,
                  (unsigned long long)f.requests);
    close_device(&on);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_fails),        cmocka_unit_test(calls_fail_in_order),
        cmocka_unit_test(device_is_lost),       cmocka_unit_test(calls_fail_out_of_order),
        cmocka_unit_test(requests_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
