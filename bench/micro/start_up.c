/* The benchmark start-up: how long a small program takes until its first do-all is done.
 *
 * Each round has an OpenCL context, a clump_context, a heap, a program and kernels of its own,
 * makes objects and visits them once:
 *
 *     heap_ms      clump_heap_create(), which builds and launches kernels of the library
 *     program_ms   clump_program_create() and both kernels
 *     first_ms     the do-new and the do-all
 *     total_ms     from clump_context_create() until the do-all is done
 *
 * Whether that is a cold or a warm start is decided by what is in `cache`, and in the cache of the
 * OpenCL implementation: docs/measurements/start-up.md.
 *
 * Read first: bench.h.
 */
#include <inttypes.h>
#include <string.h>

#include "bench/harness/bench.h"
#include "bench/harness/registry.h"

#define OBJECTS 1000u

static const char schema_text[] = "class Body { float x; uint id; }";

static const char source[] =
    "__kernel void init(CLUMP_HEAP) {\n"
    "    CLUMP_FOR_EACH_NEW(Body, self, i) { Body_id(self) = i; Body_x(self) = 0; }\n"
    "}\n"
    "__kernel void move(CLUMP_HEAP_NO_ALLOC) {\n"
    "    CLUMP_FOR_EACH(Body, self) Body_x(self) += (float)Body_id(self);\n"
    "}\n";

typedef struct start {
    cl_context context;
    cl_command_queue queue;
    clump_context *clump;
    clump_heap *heap;
    clump_program *program;
    clump_kernel *init, *move;
    bench_error *error;
} start;

static int fail(start *s, const char *what, clump_status status) {
    return status == CLUMP_OK ? 0 : bench_error_clump(s->error, what, s->clump, status);
}

static int open_queue(start *s, const bench_env *env) {
    cl_int code = CL_SUCCESS;
    s->context = clCreateContext(NULL, 1, &env->device, NULL, NULL, &code);
    if (code) return bench_error_cl(s->error, "clCreateContext", code);
    s->queue = clCreateCommandQueue(s->context, env->device, CL_QUEUE_PROFILING_ENABLE, &code);
    return code ? bench_error_cl(s->error, "clCreateCommandQueue", code) : 0;
}

static int create_context(start *s, const bench_env *env, const char *folder) {
    clump_context_desc desc = {.size = sizeof desc,
                               .context = s->context,
                               .device = env->device,
                               .queue = s->queue,
                               .personality = env->capabilities->personality,
                               .cache = {.folder = *folder ? folder : NULL}};
    clump_error detail = {0};
    return clump_context_create(&desc, &s->clump, &detail)
               ? bench_error_set(s->error, "a context: %s", detail.message)
               : 0;
}

static int create_heap(start *s) {
    clump_schema *schema = NULL;
    clump_error detail = {0};
    if (clump_schema_parse(schema_text, strlen(schema_text), NULL, &schema, &detail))
        return bench_error_set(s->error, "the schema: %s", detail.message);
    clump_heap_desc desc = {
        .size = sizeof desc, .context = s->clump, .schema = schema, .bytes = 1u << 20};
    clump_status status = clump_heap_create(&desc, &s->heap, NULL);
    clump_schema_destroy(schema);
    return fail(s, "the heap", status);
}

static int create_program(start *s) {
    clump_program_desc desc = {.size = sizeof desc, .heap = s->heap, .source = source};
    return fail(s, "the program", clump_program_create(&desc, &s->program, NULL)) ||
                   fail(s, "init", clump_kernel_create(s->program, "init", &s->init, NULL)) ||
                   fail(s, "move", clump_kernel_create(s->program, "move", &s->move, NULL))
               ? -1
               : 0;
}

static int visit(start *s) {
    uint64_t made;
    if (fail(s, "a do-new", clump_heap_do_new(s->heap, s->init, "Body", OBJECTS, &made, NULL)) ||
        fail(s, "a do-all", clump_heap_do_all(s->heap, s->move, NULL)))
        return -1;
    cl_int code = clFinish(s->queue);
    return code ? bench_error_cl(s->error, "clFinish", code) : 0;
}

/* Each object was visited once: x is its number. */
static int check(start *s, bench_results *results) {
    static float x[OBJECTS];
    static uint32_t ids[OBJECTS];
    if (fail(s, "x", clump_heap_read_field(s->heap, "Body", "x", 0, sizeof *x, x, OBJECTS, NULL)) ||
        fail(s, "id",
             clump_heap_read_field(s->heap, "Body", "id", 0, sizeof *ids, ids, OBJECTS, NULL)))
        return -1;
    uint32_t right = 0;
    uint64_t sum = 0;
    for (uint32_t i = 0; i < OBJECTS; i++) {
        right += x[i] == (float)ids[i];
        sum += ids[i];
    }
    bench_check(results, right == OBJECTS && sum == (uint64_t)OBJECTS * (OBJECTS - 1) / 2,
                "%u of %u objects visited once", right, OBJECTS);
    return 0;
}

static void release(start *s) {
    clump_kernel_destroy(s->init);
    clump_kernel_destroy(s->move);
    clump_program_destroy(s->program);
    clump_heap_destroy(s->heap);
    clump_context_destroy(s->clump);
    if (s->queue) clReleaseCommandQueue(s->queue);
    if (s->context) clReleaseContext(s->context);
}

typedef struct start_up {
    bench_env *env;
    const bench_values *values;
    bench_results *results;
} start_up;

static int begin(void *self, bench_env *env, const bench_values *values, bench_results *results) {
    *(start_up *)self = (start_up){env, values, results};
    return 0;
}

static int run_round(void *self, uint32_t number, int is_measured) {
    start_up *u = self;
    bench_results *results = u->results;
    start s = {.error = &results->error};
    (void)number;
    (void)is_measured;
    int result = open_queue(&s, u->env);
    double us[5] = {bench_now_us()};
    if (!result) result = create_context(&s, u->env, bench_text(u->values, "cache"));
    us[1] = bench_now_us();
    if (!result) result = create_heap(&s);
    us[2] = bench_now_us();
    if (!result) result = create_program(&s);
    us[3] = bench_now_us();
    if (!result) result = visit(&s);
    us[4] = bench_now_us();
    if (!result) {
        bench_sample(results, "heap_ms", "ms", (us[2] - us[1]) * 1e-3);
        bench_sample(results, "program_ms", "ms", (us[3] - us[2]) * 1e-3);
        bench_sample(results, "first_ms", "ms", (us[4] - us[3]) * 1e-3);
        bench_sample(results, "total_ms", "ms", (us[4] - us[0]) * 1e-3);
        result = check(&s, results);
    }
    release(&s);
    return result;
}

static void end(void *self) {
    (void)self;
}

static const bench_param params[] = {
    {"cache", BENCH_STRING, "", "folder where programs are kept; empty: they are not", 0, 0, NULL},
    {NULL, BENCH_INT, NULL, NULL, 0, 0, NULL}};

const bench_descriptor bench_start_up = {
    .name = "start-up",
    .sentence = "The first do-all of a small program, compiled or kept",
    .params = params,
    .repeat = 1,
    .bytes = sizeof(start_up),
    .has_own_context = 1,
    .begin = begin,
    .round = run_round,
    .end = end};
