/* Two devices, each with a clump_context of its own, on threads of their own; then objects go from
 * one to the other and back, and are what they were, with the references between them.
 *
 *     diff_devices           two devices of a platform, of one kind, or else two parts of a device
 *                            (clCreateSubDevices): with a cl_context for each, and with one for
 *                            both. Skipped if there is neither
 *     diff_devices vendors   a device of each of two platforms: skipped unless there are two
 *                            (tests/support/vendors.sh)
 *
 * CLUMP_DEVICE and CLUMP_PERSONALITY count as for cl_fixture.h, whose checks need a context: this
 * test has two.
 * Read first: "Queues" in include/clump/context.h, include/clump/extract.h.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cl_fixture.h"

enum { OBJECTS = 6000, ROUNDS = 6, DEVICES_MOST = 16 };

/* Objects 2k and 2k + 1 have each other. */
static const char schema_text[] = "class Body { uint id; uint sum; bool leaves; ref Body twin; }";
static const char source[] =
    "__kernel void touch(CLUMP_HEAP_NO_ALLOC, uint by) {\n"
    "    CLUMP_FOR_EACH(Body, b) Body_sum(b) = Body_sum(b) * 3u + by;\n"
    "}\n"
    "__kernel void thin(CLUMP_HEAP, uint of) {\n"
    "    CLUMP_FOR_EACH(Body, b) if (Body_id(b) / 2u % of == 0u) Body_free(b);\n"
    "}\n"
    "__kernel void choose(CLUMP_HEAP_NO_ALLOC, uint of) {\n"
    "    CLUMP_FOR_EACH(Body, b) Body_leaves(b) = Body_id(b) / 2u % of == 0u;\n"
    "}\n"
    "__kernel void apart(CLUMP_HEAP_NO_ALLOC) {\n"
    "    uint n = 0;\n"
    "    CLUMP_FOR_EACH(Body, b) n += Body_id(Body_twin(b)) != (Body_id(b) ^ 1u);\n"
    "    CLUMP_REDUCE(uint, n, CLUMP_SUM);\n"
    "}\n";
enum { TOUCH, THIN, CHOOSE, APART, KERNELS };
static const char *const kernel_names[KERNELS] = {"touch", "thin", "choose", "apart"};

typedef struct body {
    uint32_t id, sum;
    uint32_t twin; /* by reference in the heap */
} body;
static const clump_struct_field body_fields[] = {{"id", 0}, {"sum", 4}, {"twin", 8}};
static const clump_struct_desc body_desc = {sizeof body_desc, "Body", sizeof(body), 3, body_fields};

typedef struct side {
    cl_device_id device;
    cl_context context;
    cl_command_queue queue;
    clump_context *clump;
    clump_heap *heap;
    clump_program *program;
    clump_kernel *kernels[KERNELS];
    body bodies[2 * OBJECTS]; /* the model; twin is not looked at */
    uint32_t count;
    uint32_t first; /* id */
    char failure[2400];
} side;

static side sides[2];
static _Atomic(uint64_t) bytes_read; /* by the host */

static cl_int CL_API_CALL counting_read(cl_command_queue queue, cl_mem buffer, cl_bool blocks,
                                        size_t at, size_t bytes, void *data, cl_uint waits,
                                        const cl_event *list, cl_event *event) {
    atomic_fetch_add(&bytes_read, bytes);
    return clEnqueueReadBuffer(queue, buffer, blocks, at, bytes, data, waits, list, event);
}

/* A thread may not end a test of cmocka: it notes down what failed. Returns 1 from its function. */
#define TRY(s, call)                                                                               \
    do {                                                                                           \
        const clump_status status_ = (call);                                                       \
        if (status_) {                                                                             \
            snprintf((s)->failure, sizeof(s)->failure, "%s: %s", #call,                            \
                     clump_context_get_error((s)->clump)->message);                                \
            return 1;                                                                              \
        }                                                                                          \
    } while (0)

/* ---- A side ---------------------------------------------------------------------------------- */

static int by_id(const void *a, const void *b) {
    const body *x = a, *y = b;
    return (x->id > y->id) - (x->id < y->id);
}

static int fill(side *s) {
    static body none[2][OBJECTS];
    static clump_ref refs[2][OBJECTS];
    body *bodies = none[s - sides];
    clump_ref *at = refs[s - sides];
    uint64_t made = 0;
    for (uint32_t i = 0; i < OBJECTS; i++) bodies[i] = (body){s->first + i, i, 0};
    TRY(s, clump_heap_new_structs(s->heap, &body_desc, bodies, OBJECTS, at, &made));
    if (made != OBJECTS) return snprintf(s->failure, sizeof s->failure, "not all were made"), 1;
    for (uint32_t i = 0; i < OBJECTS; i++) bodies[i].twin = at[i ^ 1u];
    TRY(s, clump_heap_write_structs(s->heap, &body_desc, at, bodies, OBJECTS));
    memcpy(s->bodies, bodies, sizeof none[0]);
    s->count = OBJECTS;
    return 0;
}

static int touch(side *s, uint32_t by) {
    TRY(s, clump_kernel_set_arg(s->kernels[TOUCH], 0, sizeof by, &by));
    TRY(s, clump_heap_do_all(s->heap, s->kernels[TOUCH], NULL));
    for (uint32_t i = 0; i < s->count; i++) s->bodies[i].sum = s->bodies[i].sum * 3u + by;
    return 0;
}

/* The objects are those of the model, and each has its twin. */
static int compare(side *s) {
    body *found = calloc(2 * OBJECTS, sizeof *found);
    uint64_t count = 0;
    uint32_t apart = 0;
    TRY(s, clump_heap_read_structs(s->heap, &body_desc, NULL, found, 2 * OBJECTS, &count));
    TRY(s, clump_heap_reduce(s->heap, s->kernels[APART], sizeof apart, &apart, NULL));
    TRY(s, clump_heap_take_errors(s->heap, NULL));
    TRY(s, clump_heap_check(s->heap));
    qsort(found, count, sizeof *found, by_id);
    qsort(s->bodies, s->count, sizeof *s->bodies, by_id);
    if (count != s->count || apart)
        snprintf(s->failure, sizeof s->failure, "%llu objects, %u in the model; %u without a twin",
                 (unsigned long long)count, s->count, apart);
    for (uint32_t i = 0; i < s->count && !s->failure[0]; i++)
        if (found[i].id != s->bodies[i].id || found[i].sum != s->bodies[i].sum)
            snprintf(s->failure, sizeof s->failure,
                     "object %u has %u; in the model object %u has %u", found[i].id, found[i].sum,
                     s->bodies[i].id, s->bodies[i].sum);
    free(found);
    return s->failure[0] != 0;
}

static int open_clump(side *s) {
    static const clump_cl_functions functions = {.size = sizeof functions,
                                                 .EnqueueReadBuffer = counting_read};
    clump_context_desc desc = {.size = sizeof desc,
                               .context = s->context,
                               .device = s->device,
                               .queue = s->queue,
                               .cl = &functions};
    const char *personality = getenv("CLUMP_PERSONALITY");
    if (personality && !strcmp(personality, "gpu")) desc.personality = CLUMP_PERSONALITY_GPU;
    if (personality && !strcmp(personality, "cpu")) desc.personality = CLUMP_PERSONALITY_CPU;
    desc.cache.folder = getenv("CLUMP_CACHE");
    clump_error error = {.message = ""};
    clump_schema *schema = NULL;
    if (clump_context_create(&desc, &s->clump, &error) ||
        clump_schema_parse(schema_text, strlen(schema_text), NULL, &schema, &error))
        return snprintf(s->failure, sizeof s->failure, "%s", error.message), 1;
    TRY(s, clump_heap_create(&(clump_heap_desc){.size = sizeof(clump_heap_desc),
                                                .context = s->clump,
                                                .schema = schema,
                                                .bytes = 16u << 20,
                                                .block_rows = 1u + (uint32_t)(s - sides)},
                             &s->heap, NULL));
    clump_schema_destroy(schema);
    TRY(s, clump_program_create(
               &(clump_program_desc){
                   .size = sizeof(clump_program_desc), .heap = s->heap, .source = source},
               &s->program, NULL));
    for (int i = 0; i < KERNELS; i++)
        TRY(s, clump_kernel_create(s->program, kernel_names[i], &s->kernels[i], NULL));
    return 0;
}

/* All of it on a thread of its own: the context is made there, too. */
static int work(side *s) {
    if (open_clump(s) || fill(s)) return 1;
    for (uint32_t r = 0; r < ROUNDS; r++) {
        if (touch(s, r)) return 1;
        const uint32_t of = 7 + r;
        TRY(s, clump_kernel_set_arg(s->kernels[THIN], 0, sizeof of, &of));
        TRY(s, clump_heap_do_all(s->heap, s->kernels[THIN], NULL));
        uint32_t kept = 0;
        for (uint32_t i = 0; i < s->count; i++)
            if (s->bodies[i].id / 2 % of) s->bodies[kept++] = s->bodies[i];
        s->count = kept;
        TRY(s, clump_heap_compact(s->heap, NULL, NULL, NULL));
        static const char *const roots[] = {"Body"};
        const clump_collect_desc all = {
            .size = sizeof all, .root_classes = roots, .root_class_count = 1};
        TRY(s, clump_heap_collect(s->heap, &all, NULL, NULL));
        if (compare(s)) return 1;
    }
    return 0;
}

static void *run(void *given) {
    side *s = given;
    (void)work(s);
    return NULL;
}

static void close_side(side *s) {
    for (int i = 0; i < KERNELS; i++) clump_kernel_destroy(s->kernels[i]);
    clump_program_destroy(s->program);
    clump_heap_destroy(s->heap);
    clump_context_destroy(s->clump);
    CHECK_CL(clReleaseCommandQueue(s->queue));
    CHECK_CL(clReleaseContext(s->context));
}

/* ---- From one to the other ------------------------------------------------------------------- */

/* Pairs go, a third of them or so. */
static int migrate(side *from, side *into, uint32_t of, uint64_t *moved) {
    clump_extract_report report = {.size = sizeof report};
    const clump_extract_desc chosen = {
        .size = sizeof chosen, .where_class = "Body", .where_field = "leaves"};
    TRY(from, clump_kernel_set_arg(from->kernels[CHOOSE], 0, sizeof of, &of));
    TRY(from, clump_heap_do_all(from->heap, from->kernels[CHOOSE], NULL));
    atomic_store(&bytes_read, 0);
    TRY(from, clump_heap_migrate(from->heap, &chosen, into->heap, NULL, NULL, &report));
    *moved = report.bytes;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < from->count; i++)
        if (from->bodies[i].id / 2 % of)
            from->bodies[kept++] = from->bodies[i];
        else
            into->bodies[into->count++] = from->bodies[i];
    if (report.objects != from->count - kept || report.left_out || !report.objects)
        return snprintf(from->failure, sizeof from->failure, "%llu objects moved, %u in the model",
                        (unsigned long long)report.objects, from->count - kept),
               1;
    from->count = kept;
    return 0;
}

static void check(const side *s) {
    if (s->failure[0]) fail_msg("device %d: %s", (int)(s - sides), s->failure);
}

static void open_queue(side *s) {
    cl_int code = CL_SUCCESS;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations" /* OpenCL 1.2 has no other */
    s->queue = clCreateCommandQueue(s->context, s->device, 0, &code);
#pragma GCC diagnostic pop
    CHECK_CL(code);
}

static void there_and_back(int share) {
    pthread_t threads[2];
    cl_int code = CL_SUCCESS;
    const cl_device_id devices[2] = {sides[0].device, sides[1].device};
    for (int i = 0; i < 2; i++) {
        side *s = &sides[i];
        memset(s, 0, sizeof *s);
        s->device = devices[i];
        s->first = (uint32_t)i * 100000;
        if (i && share) {
            s->context = sides[0].context;
            code = clRetainContext(s->context);
        } else {
            s->context = clCreateContext(NULL, share ? 2 : 1, share ? devices : &devices[i], NULL,
                                         NULL, &code);
        }
        CHECK_CL(code);
        open_queue(s);
    }
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, run, &sides[i]), 0);
    for (int i = 0; i < 2; i++) assert_int_equal(pthread_join(threads[i], NULL), 0);
    for (int i = 0; i < 2; i++) check(&sides[i]);
    /* This thread has both contexts now. */
    for (uint32_t r = 0; r < ROUNDS; r++) {
        side *from = &sides[r % 2], *into = &sides[!(r % 2)];
        static const uint32_t primes[] = {2, 3, 5};
        uint64_t moved = 0;
        if (migrate(from, into, primes[r % 3], &moved)) check(from);
        const uint64_t came_over = atomic_load(&bytes_read);
        if (share ? came_over >= moved : came_over < moved)
            fail_msg("the host read %llu bytes for %llu that moved", (unsigned long long)came_over,
                     (unsigned long long)moved);
        if (touch(into, r) || compare(into)) check(into);
        if (touch(from, r + 1) || compare(from)) check(from);
    }
    for (int i = 0; i < 2; i++) close_side(&sides[i]);
}

static void apart(void **state) {
    (void)state;
    there_and_back(0);
}

static void together(void **state) {
    (void)state;
    there_and_back(1);
}

/* ---- Devices --------------------------------------------------------------------------------- */

static cl_uint list(cl_platform_id platform, cl_device_type type, cl_device_id *devices) {
    cl_uint count = 0;
    if (clGetDeviceIDs(platform, type, DEVICES_MOST, devices, &count)) return 0;
    return count < DEVICES_MOST ? count : DEVICES_MOST;
}

/* Two of one kind on the platform of `device`, or two parts of it. */
static int find_pair(cl_device_id device) {
    cl_platform_id platform = NULL;
    cl_device_type type = 0;
    cl_device_id found[DEVICES_MOST];
    clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof platform, &platform, NULL);
    clGetDeviceInfo(device, CL_DEVICE_TYPE, sizeof type, &type, NULL);
    if (list(platform, type, found) >= 2) {
        sides[0].device = found[0];
        sides[1].device = found[1];
        return 1;
    }
    cl_uint units = 0;
    clGetDeviceInfo(device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof units, &units, NULL);
    const cl_device_partition_property halves[] = {CL_DEVICE_PARTITION_EQUALLY,
                                                   (cl_device_partition_property)(units / 2), 0};
    cl_uint count = 0;
    if (units < 2 || clCreateSubDevices(device, halves, DEVICES_MOST, found, &count) || count < 2)
        return 0;
    sides[0].device = found[0];
    sides[1].device = found[1];
    printf("two parts of a device with %u compute units\n", units);
    return 1;
}

/* A device of each of the first two platforms that have one. */
static int find_vendors(void) {
    cl_platform_id platforms[DEVICES_MOST];
    cl_uint count = 0;
    int found = 0;
    if (clGetPlatformIDs(DEVICES_MOST, platforms, &count)) return 0;
    for (cl_uint i = 0; i < count && i < DEVICES_MOST && found < 2; i++) {
        cl_device_id devices[DEVICES_MOST];
        char name[128] = "";
        if (!list(platforms[i], CL_DEVICE_TYPE_ALL, devices)) continue;
        clGetPlatformInfo(platforms[i], CL_PLATFORM_NAME, sizeof name, name, NULL);
        printf("device %d: %s\n", found, name);
        sides[found++].device = devices[0];
    }
    return found == 2;
}

int main(int argc, char **argv) {
    const int vendors = argc > 1 && !strcmp(argv[1], "vendors");
    cl_fixture on;
    const int code = cl_fixture_open(&on, NULL);
    if (code) return code;
    cl_device_id device = on.device;
    cl_fixture_close(&on);
    if (vendors ? !find_vendors() : !find_pair(device)) {
        printf("skipped: no two %s\n", vendors ? "platforms" : "devices or parts of one");
        return CL_FIXTURE_SKIP;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(apart), cmocka_unit_test(together)};
    return vendors ? _cmocka_run_group_tests("vendors", tests, 1, NULL, NULL)
                   : cmocka_run_group_tests(tests, NULL, NULL);
}
