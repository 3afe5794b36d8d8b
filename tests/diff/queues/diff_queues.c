/* Heaps of one context on several queues: random calls, each on a random heap and queue, against a
 * model of the objects. Commands go through entry points that tell of each two that use one buffer
 * and are not ordered (cl_order.h), so that an order that is missing is found however the device
 * happens to run them. Then queues that are held back by an event of the test: what is on another
 * one does not wait, or does.
 *
 *     diff_queues [ROUNDS [SEED [HEAPS]]]     HEAPS: how many kinds of heaps, 2 to 4; the programs
 *                                             of others take long to compile
 *
 * Read first: "Queues" in include/clump/context.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cl_fixture.h"
#include "cl_order.h"
#include "saved_heap.h"

/* Kinds of heaps: an ordinary one, one in a pool, one that is checked, one with arrays of run-time
 * length. */
enum { ORDINARY, POOLED, CHECKED, ARRAYS, HEAPS };
enum { QUEUES = 4, OBJECTS_MOST = 1 << 16, STEPS = 60, CHECKED_EVENTS = 64 };

static const char schema_text[] = "class Body { uint id; uint sum; bool leaves; }";
static const char arrays_text[] = "class Body { uint id; uint sum; bool leaves; float w[*]; }";
static const char source[] =
    "__kernel void body(CLUMP_HEAP, uint first) {\n"
    "    CLUMP_FOR_EACH_NEW(Body, b, i) { Body_id(b) = first + i; Body_sum(b) = 0; Body_leaves(b) "
    "= "
    "0; }\n"
    "}\n"
    "__kernel void touch(CLUMP_HEAP_NO_ALLOC, uint by) {\n"
    "    CLUMP_FOR_EACH(Body, b) Body_sum(b) = Body_sum(b) * 3u + by;\n"
    "}\n"
    "__kernel void thin(CLUMP_HEAP, uint of, uint rest) {\n"
    "    CLUMP_FOR_EACH(Body, b) if (Body_id(b) % of == rest) Body_free(b);\n"
    "}\n"
    "__kernel void choose(CLUMP_HEAP_NO_ALLOC, uint of, uint rest) {\n"
    "    CLUMP_FOR_EACH(Body, b) Body_leaves(b) = Body_id(b) % of == rest;\n"
    "}\n"
    "__kernel void total(CLUMP_HEAP_NO_ALLOC) {\n"
    "    uint n = 0;\n"
    "    CLUMP_FOR_EACH(Body, b) n += Body_id(b) * 7u + Body_sum(b);\n"
    "    CLUMP_REDUCE(uint, n, CLUMP_SUM);\n"
    "}\n"
    "__kernel void idle(CLUMP_HEAP_NO_ALLOC) { CLUMP_FOR_EACH(Body, b) Body_sum(b) += 0u; }\n"
    "__kernel void one(CLUMP_HEAP, uint id) {\n"
    "    if (get_global_id(0) == 0) {\n"
    "        Body b = Body_new();\n"
    "        Body_id(b) = id; Body_sum(b) = 0; Body_leaves(b) = 0;\n"
    "    }\n"
    "}\n";
enum { BODY, TOUCH, THIN, CHOOSE, TOTAL, ONE, IDLE, KERNELS };
static const char *const kernel_names[KERNELS] = {"body",  "touch", "thin", "choose",
                                                  "total", "one",   "idle"};

typedef struct body {
    uint32_t id, sum;
} body;
static const clump_struct_field body_fields[] = {{"id", 0}, {"sum", 4}};
static const clump_struct_desc body_desc = {sizeof body_desc, "Body", sizeof(body), 2, body_fields};

typedef struct world {
    clump_heap *heap;
    clump_program *program;
    clump_kernel *kernels[KERNELS];
    clump_compactor *compactor;
    clump_collector *collector;
    clump_handle handle; /* of the object `held`; 0: none */
    uint32_t held;
    body *bodies; /* the model, by id */
    uint32_t count;
    int checked, has_arrays;
} world;

static struct {
    cl_fixture on;
    cl_command_queue queues[QUEUES];
    int queue_count;
    clump_pool *pool;
    world worlds[HEAPS];
    uint32_t next_id;
    uint64_t random;
    const char *step; /* what is tried, for the words */
    uint32_t rounds, heaps;
} t;

/* ---- The model ------------------------------------------------------------------------------- */

static int by_id(const void *a, const void *b) {
    const body *x = a, *y = b;
    return (x->id > y->id) - (x->id < y->id);
}

static uint32_t total_of(const world *w) {
    uint32_t sum = 0;
    for (uint32_t i = 0; i < w->count; i++) sum += w->bodies[i].id * 7u + w->bodies[i].sum;
    return sum;
}

static void add_bodies(world *w, uint32_t first, uint32_t count) {
    assert_true(w->count + count <= OBJECTS_MOST);
    for (uint32_t i = 0; i < count; i++) w->bodies[w->count++] = (body){first + i, 0};
    qsort(w->bodies, w->count, sizeof(body), by_id);
}

/* Those with id % of == rest leave; they go to `into`, unless that is NULL. */
static void leave(world *w, uint32_t of, uint32_t rest, world *into) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < w->count; i++)
        if (w->bodies[i].id % of != rest)
            w->bodies[kept++] = w->bodies[i];
        else if (into)
            into->bodies[into->count++] = w->bodies[i];
    w->count = kept;
    if (into) qsort(into->bodies, into->count, sizeof(body), by_id);
}

static void same_bodies(const world *w, body *found, uint64_t count) {
    if (count != w->count)
        fail_msg("%s: %llu objects, and %u in the model", t.step, (unsigned long long)count,
                 w->count);
    qsort(found, count, sizeof *found, by_id);
    for (uint32_t i = 0; i < count; i++)
        if (memcmp(&found[i], &w->bodies[i], sizeof *found) != 0)
            fail_msg("%s: object %u has %u, and in the model object %u has %u", t.step, found[i].id,
                     found[i].sum, w->bodies[i].id, w->bodies[i].sum);
}

static void compare(world *w) {
    body *found = calloc(OBJECTS_MOST, sizeof *found);
    uint64_t count = 0;
    CHECK_OK(&t.on,
             clump_heap_read_structs(w->heap, &body_desc, NULL, found, OBJECTS_MOST, &count));
    same_bodies(w, found, count);
    free(found);
}

/* ---- Queues ---------------------------------------------------------------------------------- */

static cl_command_queue make_queue(cl_command_queue_properties properties) {
    cl_int code = CL_SUCCESS;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations" /* OpenCL 1.2 has no other */
    cl_command_queue queue = clCreateCommandQueue(t.on.context, t.on.device, properties, &code);
#pragma GCC diagnostic pop
    return code ? NULL : queue;
}

/* In order with profiling, in order, out of order: as far as the device has them. */
static void open_queues(void) {
    const cl_command_queue_properties kinds[QUEUES] = {
        0, CL_QUEUE_PROFILING_ENABLE, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE,
        CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE | CL_QUEUE_PROFILING_ENABLE};
    t.queue_count = 0;
    for (int i = 0; i < QUEUES; i++) {
        cl_command_queue queue = make_queue(kinds[i]);
        if (queue) t.queues[t.queue_count++] = queue;
    }
    assert_true(t.queue_count >= 2);
}

static void close_queues(void) {
    CHECK_OK(&t.on, clump_context_set_queue(t.on.clump, NULL));
    for (int i = 0; i < t.queue_count; i++) {
        cl_uint references = 0;
        for (int n = 0; n < 1000 && references != 1; n++) { /* a device may let go of it later */
            if (n) cl_fixture_nap();
            CHECK_CL(clGetCommandQueueInfo(t.queues[i], CL_QUEUE_REFERENCE_COUNT, sizeof references,
                                           &references, NULL));
        }
        if (references != 1) fail_msg("queue %d has %u references", i, references);
        CHECK_CL(clReleaseCommandQueue(t.queues[i]));
    }
}

/* One of them, or that of the context. */
static void any_queue(void) {
    const uint32_t i = test_random(&t.random, (uint32_t)t.queue_count + 1);
    CHECK_OK(&t.on, clump_context_set_queue(t.on.clump, i ? t.queues[i - 1] : NULL));
    assert_ptr_equal(clump_context_get_info(t.on.clump)->queue, i ? t.queues[i - 1] : t.on.queue);
}

static void finish_all(void) {
    CHECK_CL(clFinish(t.on.queue));
    for (int i = 0; i < t.queue_count; i++) CHECK_CL(clFinish(t.queues[i]));
}

/* ---- Worlds ---------------------------------------------------------------------------------- */

static void open_world(world *w, int kind) {
    clump_heap_desc desc = {.size = sizeof desc, .bytes = 4u << 20, .block_rows = 2};
    *w = (world){.checked = kind == CHECKED, .has_arrays = kind == ARRAYS};
    const clump_checked_desc checked = {.size = sizeof checked, .events = CHECKED_EVENTS};
    if (w->checked) desc.checked = &checked;
    if (kind == POOLED) desc.pool = t.pool;
    desc.watch_handles = kind == ORDINARY;
    w->heap = cl_fixture_heap_as(&t.on, w->has_arrays ? arrays_text : schema_text, &desc);
    w->program = cl_fixture_program(&t.on, w->heap, source, NULL,
                                    &(cl_fixture_build){.checked = w->checked});
    for (int i = 0; i < KERNELS; i++)
        w->kernels[i] = cl_fixture_kernel(&t.on, w->program, kernel_names[i]);
    CHECK_OK(&t.on, clump_compactor_create(
                        &(clump_compactor_desc){
                            .size = sizeof(clump_compactor_desc), .heap = w->heap, .every = 1},
                        &w->compactor, NULL));
    static const char *const roots[] = {"Body"};
    CHECK_OK(&t.on, clump_collector_create(
                        &(clump_collector_desc){
                            .size = sizeof(clump_collector_desc),
                            .heap = w->heap,
                            .collect = &(clump_collect_desc){.size = sizeof(clump_collect_desc),
                                                             .root_classes = roots,
                                                             .root_class_count = 1},
                            .every = 2,
                            .out_of_memory = 1},
                        &w->collector, NULL));
    w->bodies = calloc(OBJECTS_MOST, sizeof *w->bodies);
}

static void close_world(world *w) {
    any_queue();
    CHECK_OK(&t.on, clump_heap_do_all(w->heap, w->kernels[IDLE], NULL));
    any_queue();
    clump_compactor_destroy(w->compactor);
    clump_collector_destroy(w->collector);
    for (int i = 0; i < KERNELS; i++) clump_kernel_destroy(w->kernels[i]);
    clump_program_destroy(w->program);
    clump_heap_destroy(w->heap);
    free(w->bodies);
}

/* ---- Steps ----------------------------------------------------------------------------------- */

/* Between two calls of a step: a launch on any queue, which nothing waits for, and then any
 * queue. */
static void elsewhere(world *w) {
    any_queue();
    CHECK_OK(&t.on, clump_heap_do_all(w->heap, w->kernels[IDLE], NULL));
    any_queue();
}

static void forget_handle(world *w) {
    if (w->handle) CHECK_OK(&t.on, clump_heap_destroy_handle(w->heap, w->handle));
    w->handle = 0;
}

static void step_new(world *w) {
    const uint32_t count = 1 + test_random(&t.random, 600), first = t.next_id;
    uint64_t made = 0;
    t.next_id += count;
    SET_ARG(&t.on, w->kernels[BODY], 0, first);
    CHECK_OK(&t.on, clump_heap_do_new(w->heap, w->kernels[BODY], "Body", count,
                                      test_random(&t.random, 2) ? &made : NULL, NULL));
    assert_true(!made || made == count);
    add_bodies(w, first, count);
}

static void step_touch(world *w) {
    const uint32_t by = test_random(&t.random, 1000);
    SET_ARG(&t.on, w->kernels[TOUCH], 0, by);
    CHECK_OK(&t.on, clump_heap_do_all(w->heap, w->kernels[TOUCH], NULL));
    for (uint32_t i = 0; i < w->count; i++) w->bodies[i].sum = w->bodies[i].sum * 3u + by;
}

static void step_thin(world *w) {
    const uint32_t of = 2 + test_random(&t.random, 5), rest = test_random(&t.random, of);
    if (w->handle && w->held % of == rest) forget_handle(w);
    SET_ARG(&t.on, w->kernels[THIN], 0, of);
    SET_ARG(&t.on, w->kernels[THIN], 1, rest);
    CHECK_OK(&t.on, clump_heap_do_all(w->heap, w->kernels[THIN], NULL));
    leave(w, of, rest, NULL);
}

static void step_one(world *w) {
    const uint32_t id = t.next_id++;
    SET_ARG(&t.on, w->kernels[ONE], 0, id);
    CHECK_OK(&t.on, clump_heap_launch(w->heap, w->kernels[ONE], 64, 1, NULL));
    add_bodies(w, id, 1);
}

static void step_total(world *w) {
    uint32_t sum = 0;
    if (!w->count) return;
    CHECK_OK(&t.on, clump_heap_reduce(w->heap, w->kernels[TOTAL], sizeof sum, &sum, NULL));
    if (sum != total_of(w)) fail_msg("a reduction is %u, and in the model %u", sum, total_of(w));
}

static void step_compact(world *w) {
    clump_compact_report report = {.size = sizeof report};
    const clump_compact_desc ordered = {
        .size = sizeof ordered, .order = CLUMP_ORDER_FIELD, .order_field = "id"};
    const uint32_t how = test_random(&t.random, 4);
    if (how == 3) {
        const clump_status status = clump_heap_compact(w->heap, &ordered, NULL, NULL);
        if (status != CLUMP_ERR_DEVICE_MEMORY) CHECK_OK(&t.on, status);
    } else {
        CHECK_OK(&t.on, clump_heap_compact(
                            w->heap,
                            how == 2 ? &(clump_compact_desc){.size = sizeof(clump_compact_desc),
                                                             .max_us = 1e6}
                                     : NULL,
                            how ? &report : NULL, NULL));
    }
}

static void step_compactor(world *w) {
    int ran = 0;
    CHECK_OK(&t.on, clump_compactor_tick(w->compactor, &ran, NULL, NULL));
    assert_true(ran);
}

static void step_collect(world *w) {
    static const char *const roots[] = {"Body"};
    clump_collect_report report = {.size = sizeof report};
    clump_collect_desc desc = {.size = sizeof desc, .root_classes = roots, .root_class_count = 1};
    desc.engine = (clump_mark_engine)test_random(&t.random, CLUMP_MARK_HOST + 1);
    CHECK_OK(&t.on, clump_heap_collect(w->heap, &desc, &report, NULL));
    assert_int_equal(report.live, w->count);
    assert_int_equal(report.dead, 0);
}

static void step_collector(world *w) {
    int ran = 0;
    CHECK_OK(&t.on, clump_collector_tick(w->collector, &ran, NULL, NULL));
}

static void step_count(world *w) {
    uint64_t count = 0;
    clump_heap_stats stats = {.size = sizeof stats};
    CHECK_OK(&t.on, clump_heap_read_count(w->heap, "Body", &count));
    assert_int_equal(count, w->count);
    elsewhere(w);
    CHECK_OK(&t.on, clump_heap_read_stats(w->heap, &stats, NULL, 0));
    assert_int_equal(stats.objects, w->count);
}

static void step_check(world *w) {
    CHECK_OK(&t.on, clump_heap_check(w->heap));
    elsewhere(w);
    CHECK_OK(&t.on, clump_heap_take_errors(w->heap, NULL));
}

static void step_repair(world *w) {
    clump_repair_report report = {.size = sizeof report};
    CHECK_OK(&t.on, clump_heap_repair(w->heap, &report));
    assert_int_equal(report.objects, w->count);
}

static void step_reserve(world *w) {
    CHECK_OK(&t.on, clump_heap_reserve(w->heap, "Body", test_random(&t.random, 500), NULL));
}

/* Fields, one after the other, each on a queue. */
static void step_fields(world *w) {
    body *found = calloc(OBJECTS_MOST, sizeof *found);
    uint32_t *values = calloc(OBJECTS_MOST, 2 * sizeof *values), *sums = values + OBJECTS_MOST;
    CHECK_OK(&t.on, clump_heap_read_field(w->heap, "Body", "id", 0, sizeof *values, values,
                                          OBJECTS_MOST, NULL));
    elsewhere(w);
    CHECK_OK(&t.on, clump_heap_read_field(w->heap, "Body", "sum", 0, sizeof *sums, sums,
                                          OBJECTS_MOST, NULL));
    for (uint32_t i = 0; i < w->count; i++) found[i] = (body){values[i], sums[i]++};
    same_bodies(w, found, w->count);
    elsewhere(w);
    CHECK_OK(&t.on,
             clump_heap_write_field(w->heap, "Body", "sum", 0, sizeof *sums, sums, w->count));
    for (uint32_t i = 0; i < w->count; i++) w->bodies[i].sum++;
    free(values);
    free(found);
}

/* The sum of one object, by its reference. */
static void step_object(world *w) {
    clump_ref *refs = calloc(OBJECTS_MOST, sizeof *refs);
    uint64_t count = 0;
    CHECK_OK(&t.on, clump_heap_read_refs(w->heap, "Body", refs, OBJECTS_MOST, &count));
    assert_int_equal(count, w->count);
    if (count) {
        const clump_ref ref = refs[test_random(&t.random, (uint32_t)count)];
        uint32_t id = 0, sum = test_random(&t.random, 100);
        elsewhere(w);
        CHECK_OK(&t.on,
                 clump_heap_read_object_field(w->heap, "Body", "id", 0, ref, sizeof(id), &id));
        elsewhere(w);
        CHECK_OK(&t.on,
                 clump_heap_write_object_field(w->heap, "Body", "sum", 0, ref, sizeof(sum), &sum));
        body *b = bsearch(&(body){.id = id}, w->bodies, w->count, sizeof *b, by_id);
        assert_non_null(b);
        b->sum = sum;
        if (w->has_arrays) {
            uint64_t length = 1;
            elsewhere(w);
            CHECK_OK(&t.on,
                     clump_heap_read_object_array(w->heap, "Body", "w", ref, 0, NULL, 0, &length));
            assert_int_equal(length, 0);
        }
    }
    free(refs);
}

/* All at once, some by reference, and new ones. */
static void step_structs(world *w) {
    body *found = calloc(OBJECTS_MOST, sizeof *found), made[5], some[5];
    clump_ref refs[5];
    uint64_t count = 0;
    CHECK_OK(&t.on,
             clump_heap_read_structs(w->heap, &body_desc, NULL, found, OBJECTS_MOST, &count));
    for (uint64_t i = 0; i < count; i++) found[i].sum += 5;
    elsewhere(w);
    CHECK_OK(&t.on, clump_heap_write_structs(w->heap, &body_desc, NULL, found, count));
    for (uint32_t i = 0; i < w->count; i++) w->bodies[i].sum += 5;
    for (uint32_t i = 0; i < 5; i++) made[i] = (body){t.next_id + i, i};
    elsewhere(w);
    CHECK_OK(&t.on, clump_heap_new_structs(w->heap, &body_desc, made, 5, refs, NULL));
    elsewhere(w);
    CHECK_OK(&t.on, clump_heap_read_structs(w->heap, &body_desc, refs, some, 5, NULL));
    assert_memory_equal(some, made, sizeof some);
    for (uint32_t i = 0; i < 5; i++) some[i].sum = 0;
    elsewhere(w);
    CHECK_OK(&t.on, clump_heap_write_structs(w->heap, &body_desc, refs, some, 5));
    add_bodies(w, t.next_id, 5);
    t.next_id += 5;
    free(found);
}

static int keep_bytes(void *user, const void *text, size_t bytes) {
    (void)text;
    *(size_t *)user = bytes;
    return 0;
}

static void step_texts(world *w) {
    size_t bytes = 0;
    CHECK_OK(&t.on, clump_heap_dump(w->heap, keep_bytes, &bytes));
    assert_true(bytes > 500);
    if (w->has_arrays) return;
    elsewhere(w);
    CHECK_OK(&t.on, clump_heap_write_table(w->heap, "Body", CLUMP_TABLE_CSV, keep_bytes, &bytes));
    assert_true(bytes >= 4ull * w->count);
    elsewhere(w);
    CHECK_OK(&t.on, clump_heap_write_table(w->heap, "Body", CLUMP_TABLE_NPY, keep_bytes, &bytes));
    assert_true(bytes >= 9ull * w->count);
}

static void step_handle(world *w) {
    clump_ref ref = 0;
    if (w->handle) {
        uint32_t id = 0;
        CHECK_OK(&t.on, clump_heap_read_handle(w->heap, w->handle, &ref));
        elsewhere(w);
        CHECK_OK(&t.on,
                 clump_heap_read_object_field(w->heap, "Body", "id", 0, ref, sizeof(id), &id));
        assert_int_equal(id, w->held);
        any_queue(); /* its place outside of the heap is in use now, too */
        CHECK_OK(&t.on, clump_heap_compact(w->heap, NULL, NULL, NULL));
        any_queue();
        forget_handle(w);
        return;
    }
    ref = cl_fixture_first(&t.on, w->heap, "Body");
    if (!ref) return;
    elsewhere(w);
    CHECK_OK(&t.on, clump_heap_create_handle(w->heap, ref, &w->handle));
    elsewhere(w);
    CHECK_OK(&t.on, clump_heap_read_object_field(w->heap, "Body", "id", 0, ref, sizeof(w->held),
                                                 &w->held));
}

/* Saved, and loaded into a heap that begins and ends on other queues. */
static void step_save(world *w) {
    if (w->has_arrays || w->checked) return;
    memory_file file = saved_bytes(&t.on, w->heap, 4096);
    any_queue();
    world other = {.heap = cl_fixture_heap(&t.on, schema_text, 4u << 20, 3),
                   .bodies = w->bodies,
                   .count = w->count};
    CHECK_OK(&t.on, clump_heap_reserve(other.heap, "Body", 10, NULL));
    any_queue();
    CHECK_OK(&t.on, load_bytes(other.heap, &file, NULL));
    any_queue();
    compare(&other);
    CHECK_OK(&t.on, clump_heap_reserve(other.heap, "Body", 10, NULL));
    any_queue();
    clump_heap_destroy(other.heap);
    memory_release(&file);
}

/* What a checked heap has besides. */
static void step_checked(world *w) {
    if (!w->checked) return;
    uint64_t count = 0;
    clump_event events[CHECKED_EVENTS];
    CHECK_OK(&t.on, clump_heap_check_memory(w->heap, NULL));
    elsewhere(w);
    CHECK_OK(&t.on, clump_heap_take_findings(w->heap, NULL, 0, &count, NULL));
    elsewhere(w);
    CHECK_OK(&t.on, clump_heap_read_live(w->heap, NULL, 0, &count));
    elsewhere(w);
    CHECK_OK(&t.on, clump_heap_read_events(w->heap, events, CHECKED_EVENTS, &count));
}

static void choose(world *w, uint32_t of, uint32_t rest) {
    SET_ARG(&t.on, w->kernels[CHOOSE], 0, of);
    SET_ARG(&t.on, w->kernels[CHOOSE], 1, rest);
    CHECK_OK(&t.on, clump_heap_do_all(w->heap, w->kernels[CHOOSE], NULL));
}

/* From one heap to another, in one call, or by an extract that is used on several queues. */
static void step_migrate(world *w) {
    world *into = &t.worlds[test_random(&t.random, t.heaps)];
    const uint32_t of = 3 + test_random(&t.random, 5), rest = test_random(&t.random, of);
    const clump_extract_desc chosen = {
        .size = sizeof chosen, .where_class = "Body", .where_field = "leaves", .free_objects = 1};
    if (into == w || w->has_arrays || into->has_arrays) return;
    if (w->handle && w->held % of == rest) forget_handle(w);
    choose(w, of, rest);
    elsewhere(w);
    elsewhere(into);
    if (test_random(&t.random, 2)) {
        CHECK_OK(&t.on, clump_heap_migrate(w->heap, &chosen, into->heap, NULL, NULL, NULL));
    } else {
        clump_extract *e = NULL;
        CHECK_OK(&t.on, clump_heap_extract(w->heap, &chosen, &e, NULL));
        const uint64_t bytes = clump_extract_get_info(e)->bytes;
        void *data = malloc(bytes + 1);
        elsewhere(w);
        CHECK_OK(&t.on, clump_extract_read(e, data, bytes));
        elsewhere(w);
        elsewhere(into);
        CHECK_OK(&t.on, clump_heap_insert(into->heap, e, NULL));
        elsewhere(w);
        clump_extract_destroy(e);
        free(data);
    }
    leave(w, of, rest, into);
    elsewhere(w); /* it was used before and after the other one */
    elsewhere(into);
}

typedef void (*step)(world *w);
#define STEP(name)                                                                                 \
    { step_##name, #name }
static const struct {
    step run;
    const char *name;
} steps[] = {STEP(new),     STEP(new),       STEP(new),    STEP(touch),     STEP(touch),
             STEP(thin),    STEP(one),       STEP(total),  STEP(total),     STEP(compact),
             STEP(collect), STEP(compactor), STEP(count),  STEP(collector), STEP(check),
             STEP(repair),  STEP(reserve),   STEP(fields), STEP(object),    STEP(structs),
             STEP(texts),   STEP(handle),    STEP(handle), STEP(save),      STEP(checked),
             STEP(migrate), STEP(migrate)};
enum { STEPS_KINDS = sizeof steps / sizeof *steps };

/* The pool of a heap takes and frees regions on a queue of its own meanwhile. */
static void use_pool(void) {
    clump_allocation region = 0;
    assert_int_equal(
        clump_pool_alloc(
            t.pool, &(clump_allocation_desc){.size = sizeof(clump_allocation_desc), .bytes = 5000},
            &region, NULL),
        CLUMP_OK);
    assert_int_equal(clump_pool_free(t.pool, region), CLUMP_OK);
}

static void check_order(void) {
    const char *complaint = cl_order_complaint();
    if (complaint) fail_msg("%s: %s", t.step, complaint);
}

/* One step on a heap, on any queue. */
static void take_step(world *w, uint32_t i) {
    t.step = steps[i].name;
    elsewhere(w);
    steps[i].run(w);
    check_order();
    if (w->count > 3000) {
        elsewhere(w);
        forget_handle(w);
        step_thin(w);
    }
    use_pool();
}

static void random_calls(void **state) {
    (void)state;
    clump_error error;
    open_queues();
    cl_order_begin();
    if (clump_pool_create(
            &(clump_pool_desc){
                .size = sizeof(clump_pool_desc), .context = t.on.clump, .queue = t.queues[0]},
            &t.pool, &error))
        fail_msg("no pool: %s", error.message);
    for (uint32_t i = 0; i < t.heaps; i++) open_world(&t.worlds[i], (int)i);
    uint32_t crossings = 0;
    for (uint32_t r = 0; r < t.rounds; r++) {
        finish_all();
        cl_order_begin();
        /* Each kind of step on each heap, and then whatever comes. */
        for (uint32_t n = 0; n < STEPS_KINDS * t.heaps + STEPS; n++) {
            const int is_random = n >= STEPS_KINDS * t.heaps;
            take_step(&t.worlds[is_random ? test_random(&t.random, t.heaps) : n % t.heaps],
                      is_random ? test_random(&t.random, STEPS_KINDS) : n / t.heaps);
            if (cl_order_commands() > 4500) {
                crossings += cl_order_crossings();
                finish_all();
                cl_order_begin();
            }
        }
        for (uint32_t i = 0; i < t.heaps; i++) {
            any_queue();
            t.step = "the end of a round";
            compare(&t.worlds[i]);
            CHECK_HEAP(&t.on, t.worlds[i].heap);
            check_order();
        }
        crossings += cl_order_crossings();
    }
    if (crossings < 20 * t.rounds) fail_msg("only %u waits for another queue", crossings);
    for (uint32_t i = 0; i < t.heaps; i++) close_world(&t.worlds[i]);
    clump_pool_destroy(t.pool);
    check_order();
    close_queues();
}

/* ---- Queues that are held back --------------------------------------------------------------- */

static int is_complete(cl_event event) {
    cl_int state = CL_QUEUED;
    CHECK_CL(clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL));
    return state == CL_COMPLETE;
}

/* touch() on a heap, which waits for an event or gives one back. */
static void touch_with(world *w, cl_event wait, cl_event *event) {
    const uint32_t by = test_random(&t.random, 1000);
    SET_ARG(&t.on, w->kernels[TOUCH], 0, by);
    CHECK_OK(&t.on, clump_heap_do_all(w->heap, w->kernels[TOUCH],
                                      &(clump_sync){.wait_count = wait != NULL,
                                                    .wait_list = wait ? &wait : NULL,
                                                    .event = event}));
    for (uint32_t i = 0; i < w->count; i++) w->bodies[i].sum = w->bodies[i].sum * 3u + by;
}

/* A heap's launch is held back on one queue. Another heap on another queue does not wait; the same
 * heap there does. */
static void hold(cl_command_queue one, cl_command_queue other) {
    world *held = &t.worlds[0], *free_one = &t.worlds[1];
    cl_event second = NULL;
    cl_int code = CL_SUCCESS;
    cl_event gate = clCreateUserEvent(t.on.context, &code);
    CHECK_CL(code);
    CHECK_OK(&t.on, clump_context_set_queue(t.on.clump, one));
    touch_with(held, gate, NULL);
    CHECK_OK(&t.on, clump_context_set_queue(t.on.clump, other));
    for (int i = 0; i < 5; i++) step_touch(free_one);
    CHECK_OK(&t.on, clump_heap_compact(free_one->heap, NULL, NULL, NULL));
    t.step = "a heap beside one that is held back";
    compare(free_one);
    touch_with(held, NULL, &second);
    CHECK_CL(clFlush(other));
    for (int i = 0; i < 30; i++) {
        cl_fixture_nap();
        if (is_complete(second)) fail_msg("a launch on another queue did not wait for the first");
    }
    CHECK_CL(clSetUserEventStatus(gate, CL_COMPLETE));
    t.step = "a heap that was held back";
    compare(held); /* a blocking read waits for both */
    assert_true(is_complete(second));
    CHECK_CL(clReleaseEvent(second));
    CHECK_CL(clReleaseEvent(gate));
}

static void held_back(void **state) {
    (void)state;
    open_queues();
    cl_order_begin();
    for (int i = 0; i < 2; i++) {
        open_world(&t.worlds[i], ORDINARY);
        t.step = "new";
        step_new(&t.worlds[i]);
    }
    for (int i = 0; i < t.queue_count; i++)
        for (int k = 0; k < t.queue_count; k++)
            if (i != k) hold(t.queues[i], t.queues[k]);
    check_order();
    for (int i = 0; i < 2; i++) close_world(&t.worlds[i]);
    close_queues();
}

/* ---- What is refused, and what is not asked for ---------------------------------------------- */

static void refused(void **state) {
    (void)state;
    cl_int code = CL_SUCCESS;
    cl_context foreign = clCreateContext(NULL, 1, &t.on.device, NULL, NULL, &code);
    CHECK_CL(code);
    cl_context own = t.on.context;
    t.on.context = foreign;
    cl_command_queue queue = make_queue(0);
    t.on.context = own;
    assert_non_null(queue);
    cl_fixture_expect_words(clump_context_get_error(t.on.clump),
                            clump_context_set_queue(t.on.clump, queue), CLUMP_ERR_USAGE,
                            "another cl_context", "clump_context_set_queue", __LINE__);
    assert_ptr_equal(clump_context_get_info(t.on.clump)->queue, t.on.queue);
    assert_int_equal(clump_context_set_queue(NULL, t.on.queue), CLUMP_ERR_USAGE);
    assert_null(clump_context_get_info(NULL)->queue);
    CHECK_CL(clReleaseCommandQueue(queue));
    CHECK_CL(clReleaseContext(foreign));
    CHECK_OK(&t.on, clump_context_set_queue(t.on.clump, t.on.queue)); /* that it has already */
}

/* On one queue nothing is enqueued for the order, whatever the program calls; and a heap that goes
 * back and forth has two markers for each way. */
static void costs(void **state) {
    (void)state;
    open_queues();
    cl_order_begin();
    world *w = &t.worlds[0];
    open_world(w, ORDINARY);
    step_new(w);
    step_touch(w);
    finish_all();
    cl_order_begin();
    for (int i = 0; i < 10; i++) {
        CHECK_OK(&t.on, clump_context_set_queue(t.on.clump, i % 2 ? t.on.queue : NULL));
        step_touch(w);
    }
    assert_int_equal(cl_order_commands(), 10);
    assert_int_equal(cl_order_crossings(), 0);
    for (int i = 0; i < 10; i++) {
        CHECK_OK(&t.on, clump_context_set_queue(t.on.clump, i % 2 ? NULL : t.queues[0]));
        step_touch(w);
    }
    assert_int_equal(cl_order_commands(), 20 + 2 * 10);
    assert_int_equal(cl_order_crossings(), 10);
    close_world(w);
    close_queues();
}

int main(int argc, char **argv) {
    t.rounds = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 2;
    t.random = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    t.heaps = argc > 3 ? (uint32_t)strtoul(argv[3], NULL, 10) : 2;
    if (t.heaps < 2 || t.heaps > HEAPS) return 2;
    const int code = cl_fixture_open(&t.on, &(cl_fixture_desc){.cl = &cl_order_functions});
    if (code) return code;
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_calls), cmocka_unit_test(held_back),
                                       cmocka_unit_test(refused), cmocka_unit_test(costs)};
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    cl_fixture_close(&t.on);
    return failed;
}
