/* Objects destroyed in every kind of order: what others were made from ends with the last of them.
 * Whatever the order, calls on what is left do what they do, and at the end nothing is left: no
 * host memory, no reference to an OpenCL object.
 *
 * Read first: include/clump/context.h, clump_context_destroy().
 */
#include <string.h>

#include "cl_fixture.h"
#include "clump/collector.h"
#include "clump/compactor.h"
#include "clump/pool.h"
#include "failing.h"

enum { CONTEXT, POOL, HEAP, PROGRAM, KERNEL, KEY, REFS, COMPACTOR, COLLECTOR, PARTS };
static const char *const names[PARTS] = {"context", "pool", "heap",      "program",  "kernel",
                                         "key",     "refs", "compactor", "collector"};

typedef struct parts {
    clump_context *context;
    clump_pool *pool;
    clump_heap *heap;
    clump_program *program;
    clump_kernel *kernel, *key;
    clump_refs *refs;
    clump_compactor *compactor;
    clump_collector *collector;
    int is_gone[PARTS];
} parts;

static unsigned leaked;
static void count_leak(void *user, const clump_allocation_info *info) {
    leaked++;
}

static const char source[] =
    "__kernel void init(CLUMP_HEAP) { CLUMP_FOR_EACH_NEW(Body, b, i) Body_id(b) = i; }\n"
    "__kernel void key(CLUMP_HEAP_NO_ALLOC, __global uint *keys) {\n"
    "    CLUMP_FOR_EACH_KEYED(Body, b, i) keys[i] = ~Body_id(b);\n}\n";

static parts make(const cl_fixture *on, cl_mem buffer) {
    static const char schema_text[] = "class Body { uint id; }";
    parts p = {0};
    clump_error error;
    clump_schema *schema;
    clump_allocation some;
    leaked = 0;
    assert_int_equal(failing_context(on, &p.context, &error), CLUMP_OK);
    clump_pool_desc pool = {.size = sizeof pool, .context = p.context, .leaked = count_leak};
    assert_int_equal(clump_pool_create(&pool, &p.pool, &error), CLUMP_OK);
    assert_int_equal(
        clump_pool_alloc(
            p.pool, &(clump_allocation_desc){.size = sizeof(clump_allocation_desc), .bytes = 10},
            &some, NULL),
        CLUMP_OK);
    assert_int_equal(
        clump_schema_parse(schema_text, strlen(schema_text), &failing_allocator, &schema, &error),
        CLUMP_OK);
    clump_heap_desc heap = {.size = sizeof heap,
                            .context = p.context,
                            .schema = schema,
                            .bytes = 1 << 20,
                            .pool = p.pool};
    assert_int_equal(clump_heap_create(&heap, &p.heap, NULL), CLUMP_OK);
    clump_schema_destroy(schema);
    clump_program_desc program = {.size = sizeof program, .heap = p.heap, .source = source};
    assert_int_equal(clump_program_create(&program, &p.program, NULL), CLUMP_OK);
    assert_int_equal(clump_kernel_create(p.program, "init", &p.kernel, NULL), CLUMP_OK);
    assert_int_equal(clump_kernel_create(p.program, "key", &p.key, NULL), CLUMP_OK);
    clump_refs_desc refs = {.size = sizeof refs, .buffer = buffer, .count = 1};
    assert_int_equal(clump_refs_create(p.heap, &refs, &p.refs, NULL), CLUMP_OK);
    clump_compactor_desc compactor = {
        .size = sizeof compactor,
        .heap = p.heap,
        .every = 1,
        .compact = &(clump_compact_desc){
            .size = sizeof(clump_compact_desc), .order = CLUMP_ORDER_KEY, .key_kernel = p.key}};
    assert_int_equal(clump_compactor_create(&compactor, &p.compactor, NULL), CLUMP_OK);
    clump_collector_desc collector = {.size = sizeof collector, .heap = p.heap, .every = 1};
    assert_int_equal(clump_collector_create(&collector, &p.collector, NULL), CLUMP_OK);
    return p;
}

/* Everything that is there still works. */
static void use(parts *p) {
    if (!p->is_gone[COMPACTOR])
        assert_int_equal(clump_compactor_tick(p->compactor, NULL, NULL, NULL), CLUMP_OK);
    if (!p->is_gone[COLLECTOR])
        assert_int_equal(clump_collector_tick(p->collector, NULL, NULL, NULL), CLUMP_OK);
    if (!p->is_gone[POOL]) assert_int_equal(clump_pool_check(p->pool), CLUMP_OK);
    if (!p->is_gone[PROGRAM]) assert_non_null(clump_program_get_info(p->program)->log);
    if (p->is_gone[HEAP]) return;
    if (!p->is_gone[KERNEL])
        assert_int_equal(clump_heap_do_new(p->heap, p->kernel, "Body", 10, NULL, NULL), CLUMP_OK);
    assert_int_equal(clump_heap_take_errors(p->heap, NULL), CLUMP_OK);
    assert_int_equal(clump_heap_check(p->heap), CLUMP_OK);
}

static void destroy(parts *p, int which) {
    p->is_gone[which] = 1;
    switch (which) {
    case CONTEXT: clump_context_destroy(p->context); break;
    case POOL: clump_pool_destroy(p->pool); break;
    case HEAP: clump_heap_destroy(p->heap); break;
    case PROGRAM: clump_program_destroy(p->program); break;
    case KERNEL: clump_kernel_destroy(p->kernel); break;
    case KEY: clump_kernel_destroy(p->key); break;
    case REFS: clump_refs_destroy(p->refs); break;
    case COMPACTOR: clump_compactor_destroy(p->compactor); break;
    default: clump_collector_destroy(p->collector); break;
    }
}

/* References may be unregistered until the context ends, which the last of the others does. */
static int may_go(const parts *p, int which) {
    int others = 0;
    for (int i = 0; i < PARTS; i++) others += i != REFS && !p->is_gone[i];
    return which == REFS || p->is_gone[REFS] || others > 1;
}

/* `order`: a number for each part; the least goes first. */
static void run(const cl_fixture *on, cl_mem buffer, const uint32_t order[PARTS]) {
    memset(&failing, 0, sizeof failing);
    parts p = make(on, buffer);
    for (int n = 0; n < PARTS; n++) {
        int next = -1;
        for (int i = 0; i < PARTS; i++)
            if (!p.is_gone[i] && may_go(&p, i) && (next < 0 || order[i] < order[next])) next = i;
        use(&p);
        destroy(&p, next);
        print_message("%s%s", n ? ", " : "", names[next]);
    }
    print_message("\n");
    assert_int_equal(leaked, 1); /* the allocation that nobody freed, and not the heap's */
    failing_check_nothing_left();
}

static void every_order(void **state) {
    cl_fixture on;
    int result = cl_fixture_open(&on, NULL);
    if (result == CL_FIXTURE_SKIP) skip();
    assert_int_equal(result, 0);
    cl_mem buffer = cl_fixture_buffer(&on, NULL, 4);
    uint32_t order[PARTS];
    for (uint32_t i = 0; i < PARTS; i++) order[i] = i; /* what others are made from first */
    run(&on, buffer, order);
    for (uint32_t i = 0; i < PARTS; i++) order[i] = PARTS - i;
    run(&on, buffer, order);
    uint64_t random = 1;
    for (int i = 0; i < 24; i++) {
        for (uint32_t k = 0; k < PARTS; k++) order[k] = test_random(&random, 1u << 30);
        run(&on, buffer, order);
    }
    clReleaseMemObject(buffer);
    clFinish(on.queue);
    failing_forget_programs();
    cl_fixture_close(&on);
}

/* The registered references of a heap that is gone are still the caller's, one by one, and are not
 * lost if they are forgotten. */
static void references_after_their_heap(void **state) {
    cl_fixture on;
    int result = cl_fixture_open(&on, NULL);
    if (result == CL_FIXTURE_SKIP) skip();
    assert_int_equal(result, 0);
    cl_mem buffer = cl_fixture_buffer(&on, NULL, 64);
    memset(&failing, 0, sizeof failing);
    parts p = make(&on, buffer);
    clump_refs *more[4];
    for (uint32_t i = 0; i < 4; i++) {
        clump_refs_desc refs = {.size = sizeof refs, .buffer = buffer, .offset = 4 * i, .count = 1};
        assert_int_equal(clump_refs_create(p.heap, &refs, &more[i], NULL), CLUMP_OK);
    }
    clump_refs_destroy(more[1]);
    destroy(&p, COMPACTOR);
    destroy(&p, COLLECTOR);
    destroy(&p, HEAP);
    cl_uint references = 0;
    CHECK_CL(
        clGetMemObjectInfo(buffer, CL_MEM_REFERENCE_COUNT, sizeof references, &references, NULL));
    assert_int_equal(references, 1); /* the heap let go of it */
    clump_refs_destroy(more[2]);
    clump_refs_destroy(more[0]);
    clump_refs_destroy(NULL);
    for (int i = 0; i < PARTS; i++)
        if (!p.is_gone[i] && i != REFS) destroy(&p, i); /* p.refs and more[3] are forgotten */
    failing_check_nothing_left();
    clReleaseMemObject(buffer);
    clFinish(on.queue);
    failing_forget_programs();
    cl_fixture_close(&on);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_order),
                                       cmocka_unit_test(references_after_their_heap)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
