/* The shortest host program (clump/quick.h): which device words choose, and what is said where
 * something is wrong. Devices are made up for the choice; the rest uses the device of the other
 * tests.
 *
 * Read first: include/clump/quick.h.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cl_fixture.h"

/* ---- What quick.h calls ---------------------------------------------------------------------- */

typedef struct made_up {
    const char *platform, *name;
    cl_device_type type;
    clump_status usable;
} made_up;

static const made_up *made; /* NULL: the real ones */
static cl_uint made_count;
static const char *struck; /* the name of the call that fails */

static const made_up *of(const void *id) {
    for (cl_uint i = 0; i < made_count; i++)
        if (id == &made[i]) return &made[i];
    return NULL;
}

/* Each device is of a platform of its own, which has the same number. */
static cl_int get_platforms(cl_uint room, cl_platform_id *to, cl_uint *count) {
    if (!made) return clGetPlatformIDs(room, to, count);
    if (!made_count) return -1001; /* CL_PLATFORM_NOT_FOUND_KHR */
    for (cl_uint i = 0; i < made_count; i++) to[i] = (cl_platform_id)(uintptr_t)&made[i];
    *count = made_count;
    return CL_SUCCESS;
}

static cl_int get_devices(cl_platform_id platform, cl_device_type type, cl_uint room,
                          cl_device_id *to, cl_uint *count) {
    if (!made) return clGetDeviceIDs(platform, type, room, to, count);
    to[0] = (cl_device_id)(uintptr_t)platform;
    *count = 1;
    return of(platform)->type ? CL_SUCCESS : CL_DEVICE_NOT_FOUND;
}

static cl_int get_platform_info(cl_platform_id platform, cl_platform_info what, size_t room,
                                void *to, size_t *needed) {
    if (!made) return clGetPlatformInfo(platform, what, room, to, needed);
    snprintf(to, room, "%s", of(platform)->platform);
    return CL_SUCCESS;
}

static cl_int get_device_info(cl_device_id device, cl_device_info what, size_t room, void *to,
                              size_t *needed) {
    if (!made) return clGetDeviceInfo(device, what, room, to, needed);
    if (what == CL_DEVICE_TYPE)
        memcpy(to, &of(device)->type, sizeof of(device)->type);
    else
        snprintf(to, room, "%s", of(device)->name);
    return CL_SUCCESS;
}

static clump_status probe(cl_device_id device, uint32_t disable, clump_capabilities *capabilities,
                          clump_error *error) {
    if (!made) return clump_device_probe(device, disable, capabilities, error);
    snprintf(error->message, sizeof error->message, "it has no compiler");
    return of(device)->usable;
}

static cl_context create_context(const cl_context_properties *properties, cl_uint count,
                                 const cl_device_id *on, void *callback, void *user, cl_int *code) {
    *code = CL_OUT_OF_HOST_MEMORY;
    if (struck && strcmp(struck, "clCreateContext") == 0) return NULL;
    return clCreateContext(properties, count, on, NULL, user, code);
}

#pragma GCC diagnostic ignored "-Wdeprecated-declarations" /* OpenCL 1.2 has no other */
static cl_command_queue create_queue(cl_context context, cl_device_id device,
                                     cl_command_queue_properties properties, cl_int *code) {
    *code = CL_OUT_OF_RESOURCES;
    if (struck && strcmp(struck, "clCreateCommandQueue") == 0) return NULL;
    return clCreateCommandQueue(context, device, properties, code);
}

#define clGetPlatformIDs get_platforms
#define clGetDeviceIDs get_devices
#define clGetPlatformInfo get_platform_info
#define clGetDeviceInfo get_device_info
#define clCreateContext create_context
#define clCreateCommandQueue create_queue
#define clump_device_probe probe
#include "clump/quick.h"
#undef clGetDeviceInfo

/* ---- Words choose a device ------------------------------------------------------------------- */

static const made_up several[] = {
    {"Portable Language", "pthread-skylake", CL_DEVICE_TYPE_CPU, CLUMP_OK},
    {"Empty", "", 0, CLUMP_OK},
    {"AMD APP", "gfx803", CL_DEVICE_TYPE_GPU, CLUMP_ERR_UNSUPPORTED},
    {"NVIDIA CUDA", "NVIDIA H200", CL_DEVICE_TYPE_GPU, CLUMP_OK},
    {"NVIDIA CUDA", "NVIDIA L4", CL_DEVICE_TYPE_GPU, CLUMP_OK},
    {"Old", "cpu of FPGA", CL_DEVICE_TYPE_ACCELERATOR, CLUMP_OK},
};

static void take(const made_up *which, cl_uint count) {
    made = which;
    made_count = count;
    unsetenv("CLUMP_DEVICE");
}

/* The words lead to the device with that number. */
static void chooses(const char *words, int number) {
    cl_device_id found;
    char name[CLUMP_QUICK_NAME_BYTES], expected[CLUMP_QUICK_NAME_BYTES];
    clump_error e;
    clump_status status = clump_quick_find_device(words, &found, name, &e);
    if (status) fail_msg("\"%s\": %s", words ? words : "NULL", e.message);
    snprintf(expected, sizeof expected, "%s / %s", several[number].platform, several[number].name);
    assert_string_equal(name, expected);
    assert_ptr_equal(found, &several[number]);
}

static void words_choose(void **state) {
    take(several, 6);
    chooses(NULL, 3); /* the first GPU that can be used */
    chooses("", 3);
    chooses("  ", 3);
    chooses("gpu", 3);
    chooses("GPU l4", 4);
    chooses("l4,gpu", 4);
    chooses("NVIDIA", 3);
    chooses("cpu", 0); /* the type, not the part of a name */
    chooses("CPU portable", 0);
    chooses("Portable Language / pthread", 0);
    chooses("accelerator", 5);
    chooses("fpga", 5);
    setenv("CLUMP_DEVICE", "skylake", 1);
    chooses(NULL, 0);
    chooses("", 0);
    chooses("L4", 4); /* the program's words go before the environment's */
    setenv("CLUMP_DEVICE", "", 1);
    chooses(NULL, 3);
}

static void refuses(const char *words, clump_status expected, const char *mentioned) {
    cl_device_id found = (cl_device_id)(uintptr_t)1;
    char name[CLUMP_QUICK_NAME_BYTES] = "x";
    clump_error e;
    clump_status status = clump_quick_find_device(words, &found, name, &e);
    cl_fixture_expect_words(&e, status, expected, mentioned, words ? words : "NULL", __LINE__);
    assert_null(found);
    assert_string_equal(name, "");
    assert_int_equal(clump_quick_find_device(words, &found, NULL, NULL), expected);
}

static void wrong_words(void **state) {
    take(several, 6);
    refuses("radeon", CLUMP_ERR_NOT_FOUND,
            "no OpenCL device fits \"radeon\"; there are: AMD APP / gfx803 (gpu); "
            "NVIDIA CUDA / NVIDIA H200 (gpu); NVIDIA CUDA / NVIDIA L4 (gpu); "
            "Portable Language / pthread-skylake (cpu); Old / cpu of FPGA (accelerator)");
    refuses("nvidia cpu", CLUMP_ERR_NOT_FOUND, "\"nvidia cpu\"; there are: AMD");
    refuses("amd", CLUMP_ERR_UNSUPPORTED, "AMD APP / gfx803: it has no compiler");
    setenv("CLUMP_DEVICE", "radeon", 1);
    refuses(NULL, CLUMP_ERR_NOT_FOUND, "\"radeon\" (from CLUMP_DEVICE); there are: AMD");
    clump_error e;
    clump_status status = clump_quick_find_device("gpu", NULL, NULL, &e);
    cl_fixture_expect_words(&e, status, CLUMP_ERR_USAGE, "no place", "no device", __LINE__);
}

static void no_device(void **state) {
    take(several, 0);
    refuses(NULL, CLUMP_ERR_NOT_FOUND, "there is no OpenCL device");
    take(several + 1, 1); /* a platform, without a device */
    refuses("gpu", CLUMP_ERR_NOT_FOUND, "there is no OpenCL device");
}

/* ---- What is made of a desc ------------------------------------------------------------------ */

static char real_words[CLUMP_QUICK_NAME_BYTES]; /* of the fixture's device */

static void nothing_left(const clump_quick *q) {
    clump_quick zero;
    memset(&zero, 0, sizeof zero);
    zero.error = q->error;
    assert_memory_equal(q, &zero, sizeof zero);
}

static const char schema[] = "class Body {\n    float x;\n}";

static void fails(const clump_quick_desc *desc, clump_status expected, const char *mentioned) {
    clump_quick q;
    clump_quick_desc real = *desc;
    real.device = real_words;
    clump_status status = clump_quick_open(&q, &real);
    cl_fixture_expect_words(clump_quick_get_error(&q), status, expected, mentioned, mentioned,
                            __LINE__);
    nothing_left(&q);
    clump_quick_close(&q); /* harmless */
}

static size_t load_nothing(void *user, const char *name, void *data, size_t bytes) {
    return 0;
}

static void wrong_descs(void **state) {
    take(NULL, 0);
    fails(&(clump_quick_desc){.schema = "class Body {\n    flot x;\n}"}, CLUMP_ERR_SCHEMA,
          "did you mean \"float\"");
    fails(&(clump_quick_desc){.schema = schema, .source = "__kernel void f(CLUMP_HEAP) { boo(); }"},
          CLUMP_ERR_BUILD, "boo");
    fails(&(clump_quick_desc){.schema = schema,
                              .source = "__kernel void f(CLUMP_HEAP) { }",
                              .program = {.name = "my.cl", .options = "-DONE", .strict = 1},
                              .heap = {.bytes = 10}},
          CLUMP_ERR_DEVICE_MEMORY, "bytes");
    fails(&(clump_quick_desc){.schema = schema, .heap = {.device_share = NAN}}, CLUMP_ERR_USAGE,
          "above 0 and at most 1");
    fails(&(clump_quick_desc){.schema = schema, .heap = {.device_share = -0.5}}, CLUMP_ERR_USAGE,
          "device_share is -0.5");
    fails(&(clump_quick_desc){.source = "__kernel void f(CLUMP_HEAP) { }"}, CLUMP_ERR_USAGE,
          "no heap to build it for");
    fails(&(clump_quick_desc){.context = {.cache = {.load = load_nothing}}}, CLUMP_ERR_USAGE,
          "cache");
    struck = "clCreateContext";
    fails(&(clump_quick_desc){.schema = schema}, CLUMP_ERR_CL,
          "clCreateContext returned CL_OUT_OF_HOST_MEMORY (-6)");
    struck = "clCreateCommandQueue";
    fails(&(clump_quick_desc){.schema = schema}, CLUMP_ERR_CL,
          "clCreateCommandQueue returned CL_OUT_OF_RESOURCES (-5)");
    struck = NULL;
    take(several, 0);
    fails(&(clump_quick_desc){.schema = schema}, CLUMP_ERR_NOT_FOUND, "no OpenCL device");
    take(NULL, 0);
}

static void right_descs(void **state) {
    take(NULL, 0);
    clump_quick q;
    setenv("CLUMP_DEVICE", real_words, 1);
    CLUMP_CHECK(&q, clump_quick_open(&q, NULL));
    assert_non_null(q.queue);
    assert_null(q.heap);
    clump_quick_close(&q);
    nothing_left(&q);

    CLUMP_CHECK(&q, clump_quick_open(&q, &(clump_quick_desc){.schema = schema, .out_of_order = 1}));
    assert_string_equal(q.name, real_words);
    assert_true(clump_heap_get_info(q.heap)->bytes > CLUMP_QUICK_HEAP_BYTES / 2);
    assert_true(clump_heap_get_info(q.heap)->bytes <= CLUMP_QUICK_HEAP_BYTES);
    assert_null(q.program);
    cl_command_queue_properties properties = 0, can = 0;
    CLUMP_CHECK(q.queue, clGetCommandQueueInfo(q.queue, CL_QUEUE_PROPERTIES, sizeof properties,
                                               &properties, NULL));
    CLUMP_CHECK(q.device,
                clGetDeviceInfo(q.device, CL_DEVICE_QUEUE_PROPERTIES, sizeof can, &can, NULL));
    assert_true(properties & CL_QUEUE_PROFILING_ENABLE);
    assert_int_equal(properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE,
                     can & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    clump_quick_close(&q);

    clump_quick_desc raw = {.heap = {.bytes = 1 << 22, .raw = 1}};
    CLUMP_CHECK(&q, clump_quick_open(&q, &raw));
    assert_true(clump_heap_get_info(q.heap)->bytes <= 1 << 22);
    clump_quick_close(&q);
}

/* ---- Parameters ------------------------------------------------------------------------------ */

static void arguments(void **state) {
    take(NULL, 0);
    static const char source[] =
        "__kernel void one(CLUMP_HEAP_NO_ALLOC, __global uint *to) { to[get_global_id(0)] = 1; }\n"
        "__kernel void eight(CLUMP_HEAP_NO_ALLOC, __global uint *to, uint b, ulong c, ushort d, "
        "uchar "
        "e,\n"
        "                    uint4 f, int g, uint h) {\n"
        "    to[1] = b; to[2] = c; to[3] = d; to[4] = e; to[5] = f.w; to[6] = g; to[7] = h;\n"
        "}\n";
    clump_quick q;
    clump_quick_desc desc = {.device = real_words, .schema = schema, .source = source};
    CLUMP_CHECK(&q, clump_quick_open(&q, &desc));
    clump_kernel *one, *eight;
    CLUMP_CHECK(&q, clump_kernel_create(q.program, "one", &one, NULL));
    CLUMP_CHECK(&q, clump_kernel_create(q.program, "eight", &eight, NULL));
    uint32_t found[8] = {0};
    cl_int code;
    cl_mem to = clCreateBuffer(q.cl, CL_MEM_COPY_HOST_PTR, sizeof found, found, &code);
    CLUMP_CHECK(q.cl, code);
    uint32_t b = 12, h = 18, one_too_many = 0;
    uint64_t c = 13;
    uint16_t d = 14;
    uint8_t e = 15;
    cl_uint4 f = {{0, 0, 0, 16}};
    int32_t g = 17;
    CLUMP_CHECK(&q, CLUMP_SET_ARGS(one, to));
    CLUMP_CHECK(&q, CLUMP_SET_ARGS(eight, to, b, c, d, e, f, g, h));
    CLUMP_CHECK(&q, clump_heap_launch(q.heap, one, 1, 1, NULL));
    CLUMP_CHECK(&q, clump_heap_launch(q.heap, eight, 1, 1, NULL));
    CLUMP_CHECK(q.queue,
                clEnqueueReadBuffer(q.queue, to, CL_TRUE, 0, sizeof found, found, 0, NULL, NULL));
    const uint32_t expected[8] = {1, 12, 13, 14, 15, 16, 17, 18};
    assert_memory_equal(found, expected, sizeof expected);

    /* Two to seven at a time: those behind keep what they have. */
    uint32_t changed = 99;
    CLUMP_CHECK(&q, CLUMP_SET_ARGS(eight, to, changed));
    CLUMP_CHECK(&q, CLUMP_SET_ARGS(eight, to, b, c));
    CLUMP_CHECK(&q, CLUMP_SET_ARGS(eight, to, b, c, d));
    CLUMP_CHECK(&q, CLUMP_SET_ARGS(eight, to, b, c, d, e));
    CLUMP_CHECK(&q, CLUMP_SET_ARGS(eight, to, b, c, d, e, f));
    CLUMP_CHECK(&q, CLUMP_SET_ARGS(eight, to, b, c, d, e, f, g));
    CLUMP_CHECK(&q, clump_heap_launch(q.heap, eight, 1, 1, NULL));
    CLUMP_CHECK(q.queue,
                clEnqueueReadBuffer(q.queue, to, CL_TRUE, 0, sizeof found, found, 0, NULL, NULL));
    assert_memory_equal(found, expected, sizeof expected);
    clump_status status = CLUMP_SET_ARGS(one, to, one_too_many);
    cl_fixture_expect_words(clump_quick_get_error(&q), status, CLUMP_ERR_USAGE, "parameter",
                            "CLUMP_SET_ARGS", __LINE__);
    clReleaseMemObject(to);
    clump_kernel_destroy(one);
    clump_kernel_destroy(eight);
    clump_quick_close(&q);
}

/* ---- CLUMP_CHECK ----------------------------------------------------------------------------- */

static void check_quick(void) {
    clump_quick q;
    memset(&q, 0, sizeof q);
    q.error = (clump_error){
        .status = CLUMP_ERR_SCHEMA, .line = 3, .column = 7, .message = "no such type"};
    CLUMP_CHECK(&q, CLUMP_OK);
    CLUMP_CHECK(&q, CLUMP_ERR_SCHEMA);
}
static void check_other_words(void) { /* the record is of another failure */
    clump_quick q;
    memset(&q, 0, sizeof q);
    q.error = (clump_error){.status = CLUMP_ERR_SCHEMA, .message = "no such type"};
    CLUMP_CHECK(&q, CLUMP_ERR_USAGE);
}
static void check_cl(void) {
    CLUMP_CHECK((cl_context)NULL, CL_SUCCESS);
    CLUMP_CHECK((cl_context)NULL, CL_INVALID_VALUE);
}

/* In a process of its own, in which OpenCL was not used, it ends with status 1 and says the
 * words. */
static void ends(void (*check)(void), const char *words) {
    int ends_of[2];
    char said[2048] = "";
    assert_int_equal(pipe(ends_of), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (!child) {
        dup2(ends_of[1], 2);
        check();
        _exit(0);
    }
    close(ends_of[1]);
    size_t length = 0;
    for (ssize_t n; length < sizeof said - 1 &&
                    (n = read(ends_of[0], said + length, sizeof said - 1 - length)) > 0;)
        length += (size_t)n;
    close(ends_of[0]);
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 1);
    if (!strstr(said, words) || !strstr(said, __FILE__))
        fail_msg("it says \"%s\", which does not mention \"%s\" and the file", said, words);
}

static void checks_end(void **state) {
    ends(check_quick, "CLUMP_ERR_SCHEMA in line 3, column 7: no such type");
    ends(check_other_words, "CLUMP_ERR_USAGE\n");
    ends(check_cl, "OpenCL returned -30 CL_INVALID_VALUE");
}

int main(void) {
    const struct CMUnitTest without_a_device[] = {
        cmocka_unit_test(checks_end),
        cmocka_unit_test(words_choose),
        cmocka_unit_test(wrong_words),
        cmocka_unit_test(no_device),
    };
    const struct CMUnitTest on_a_device[] = {
        cmocka_unit_test(wrong_descs),
        cmocka_unit_test(right_descs),
        cmocka_unit_test(arguments),
    };
    const char *wanted = getenv("CLUMP_DEVICE");
    char words[CLUMP_QUICK_NAME_BYTES];
    snprintf(words, sizeof words, "%s", wanted ? wanted : "");
    int failed = cmocka_run_group_tests(without_a_device, NULL, NULL);
    take(NULL, 0);
    cl_device_id device;
    clump_error e;
    if (clump_quick_find_device(words, &device, real_words, &e)) {
        fprintf(stderr, "skipped: %s\n", e.message);
        return failed ? failed : CL_FIXTURE_SKIP;
    }
    return failed + cmocka_run_group_tests(on_a_device, NULL, NULL);
}
