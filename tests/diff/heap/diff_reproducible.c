/* A float program with clump_program_desc.reproducible against the same program in C, bit by bit:
 * each device on which this passes has the bits of all others. Objects are made and freed by
 * what was computed. Kernels are run one after the other and as one (fuse.h). Devices that lack
 * something, and the text without the option.
 *
 * C rounds each operation, as this file is compiled with -ffp-contract=off (tests/CMakeLists.txt).
 *
 *   diff_reproducible without     the program is built without the option: this must fail where the
 *                                 compiler makes one operation of a product and a sum, or where
 *                                 division is not rounded correctly
 *
 * Read first: host/heap/reproducible.c, docs/guide/reproducible.md.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "cl_fixture.h"
#include "clump/fuse.h"

_Static_assert(FLT_EVAL_METHOD == 0, "float is computed as float");

#define SPARKS 3000u
#define STARS 200u
#define ROUNDS 4u
#define ROOM (2 * SPARKS)
#define VALUES 12u
#define CHILD 100000u /* a child of round r has a number that is larger by CHILD << r */

static const char schema[] =
    "class Spark { uint number; float x; float y; float z; float pull; float v[12]; double d[2]; "
    "}\n"
    "class Star { float x; float mass; }\n";

static const char source[] =
    "#define CHILD 100000u\n"
    "static uint hash(uint x) {\n"
    "    x ^= x >> 16;\n    x *= 0x85ebca6bu;\n    x ^= x >> 13;\n    x *= 0xc2b2ae35u;\n"
    "    return x ^ (x >> 16);\n"
    "}\n"
    /* Any float of 2^-31 to 2^32, and a few that are denormal or huge. */
    "static float some(uint key) {\n"
    "    const uint bits = hash(key);\n"
    "    uint exponent = 96u + (bits >> 8 & 63u);\n"
    "    if ((bits & 15u) == 0u) exponent = 0u;\n"
    "    if ((bits & 15u) == 1u) exponent = 254u;\n"
    "    return as_float((hash(bits) & 0x807fffffu) | exponent << 23);\n"
    "}\n"
    /* The bits of NaN are the device's. */
    "static float number_or_0(float x) { return isnan(x) ? 0.0f : x; }\n"
    "static float middle(float x) { return CLUMP_MAX(-1e6f, CLUMP_MIN(x, 1e6f)); }\n"
    "__kernel void init(CLUMP_HEAP_NO_ALLOC) {\n"
    "    CLUMP_FOR_EACH_NEW(Spark, self, i) {\n"
    "        Spark_number(self) = i;\n"
    "        Spark_x(self) = some(4u * i);\n"
    "        Spark_y(self) = some(4u * i + 1u);\n"
    "        Spark_z(self) = some(4u * i + 2u);\n"
    "    }\n"
    "}\n"
    "__kernel void init_stars(CLUMP_HEAP_NO_ALLOC) {\n"
    "    CLUMP_FOR_EACH_NEW(Star, self, i) {\n"
    "        Star_x(self) = middle(some(4u * i + 3u));\n"
    "        Star_mass(self) = (float)i / 7.0f;\n"
    "    }\n"
    "}\n"
    "__kernel void compute(CLUMP_HEAP_NO_ALLOC) {\n"
    "    CLUMP_FOR_EACH(Spark, self) {\n"
    "        const float x = Spark_x(self), y = Spark_y(self), z = Spark_z(self);\n"
    "        Spark_v(self, 0) = number_or_0(x / y);\n"
    "        Spark_v(self, 1) = sqrt(fabs(x));\n"
    "        Spark_v(self, 2) = number_or_0(fma(x, y, z));\n"
    "        Spark_v(self, 3) = number_or_0(x * y + z);\n"
    "        Spark_v(self, 4) = number_or_0(x * x - y * y);\n"
    "        Spark_v(self, 5) = number_or_0(1.0f / sqrt(fabs(y)));\n"
    "        Spark_v(self, 6) = number_or_0(fmod(x, y));\n"
    "        Spark_v(self, 7) = rint(x) + floor(y) - trunc(z);\n"
    "        Spark_v(self, 8) = CLUMP_MIN(x, CLUMP_MAX(-y, z));\n"
    "        Spark_v(self, 9) = convert_float(as_int(x)) + convert_float_rtz(as_uint(y));\n"
    "        Spark_v(self, 10) = (float)convert_int_sat(z) / 3.0f;\n"
    "        Spark_v(self, 11) = number_or_0(nextafter(x, y) * 0.3f);\n"
    "        Spark_d(self, 0) = (REAL)x / y + (REAL)z * (REAL)0.1;\n"
    "        Spark_d(self, 1) = sqrt(fabs((REAL)x * y + z));\n"
    "        if (isnan(Spark_d(self, 0))) Spark_d(self, 0) = 0;\n"
    "    }\n"
    "}\n"
    /* In the order in which the stars were made. */
    "__kernel void attract(CLUMP_HEAP_NO_ALLOC, float softening) {\n"
    "    CLUMP_FOR_EACH(Spark, self) {\n"
    "        const float x = middle(Spark_x(self));\n"
    "        float sum = 0.0f;\n"
    "        CLUMP_FOR_WHOLE_CLASS(Star, star) {\n"
    "            const float dx = Star_x(star) - x;\n"
    "            sum += Star_mass(star) * dx / (dx * dx + softening);\n"
    "        }\n"
    "        Spark_pull(self) = sum;\n"
    "    }\n"
    "}\n"
    "__kernel void live(CLUMP_HEAP, uint round) {\n"
    "    CLUMP_FOR_EACH(Spark, self) {\n"
    "        const uint fate = hash(as_uint(Spark_v(self, 3)) ^ as_uint(Spark_pull(self))) % 6u;\n"
    "        Spark_x(self) = middle(Spark_v(self, 0)) * 0.7f + Spark_pull(self);\n"
    "        Spark_z(self) = middle(Spark_v(self, 4)) / 3.0f - Spark_x(self) * 1.1f;\n"
    "        if (fate == 0u) Spark_free(self);\n"
    "        if (fate != 1u) continue;\n"
    "        Spark child = Spark_new();\n"
    "        if (Spark_is_null(child)) continue;\n"
    "        Spark_number(child) = Spark_number(self) + (CHILD << round);\n"
    "        Spark_x(child) = -Spark_x(self);\n"
    "        Spark_y(child) = middle(Spark_v(self, 5)) + 1.0f;\n"
    "        Spark_z(child) = Spark_pull(self);\n"
    "    }\n"
    "}\n"
    "__kernel void sum(CLUMP_HEAP_NO_ALLOC) {\n"
    "    long all = 0;\n"
    "    CLUMP_FOR_EACH(Spark, self) all += (long)rint(middle(Spark_x(self)) * 65536.0f);\n"
    "    CLUMP_REDUCE(long, all, CLUMP_SUM)\n"
    "}\n"
    "__kernel void least(CLUMP_HEAP_NO_ALLOC) {\n"
    "    float all = INFINITY;\n"
    "    CLUMP_FOR_EACH(Spark, self) all = CLUMP_MIN(all, Spark_x(self));\n"
    "    CLUMP_REDUCE(float, all, CLUMP_MIN)\n"
    "}\n";

/* ---- The same in C --------------------------------------------------------------------------- */

typedef struct spark {
    uint32_t number;
    float x, y, z, pull, v[VALUES];
    double d[2];
} spark;

static struct {
    spark sparks[ROOM];
    uint32_t count;
    float star_x[STARS], star_mass[STARS];
} model;

static uint32_t bits_of(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static float float_of(uint32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static float some(uint32_t key) {
    const uint32_t bits = test_hash(key);
    uint32_t exponent = 96 + (bits >> 8 & 63);
    if ((bits & 15) == 0) exponent = 0;
    if ((bits & 15) == 1) exponent = 254;
    return float_of((test_hash(bits) & 0x807fffffu) | exponent << 23);
}

static float number_or_0(float x) {
    return isnan(x) ? 0.0f : x;
}
/* Of numbers that differ. */
static float min(float a, float b) {
    return a < b ? a : b;
}
static float max(float a, float b) {
    return a > b ? a : b;
}
static float middle(float x) {
    return max(-1e6f, min(x, 1e6f));
}

/* Towards zero. C has it by the rounding mode only, to which its compilers do not keep. */
static float convert_rtz(uint32_t number) {
    float x = (float)number;
    while ((double)x > (double)number) x = nextafterf(x, 0.0f);
    return x;
}

static float convert_int_sat(float x) {
    const double most = fmax(-2147483648.0, fmin(2147483647.0, (double)x));
    return (float)(int32_t)most;
}

static void model_init(void) {
    model.count = SPARKS;
    for (uint32_t i = 0; i < SPARKS; i++)
        model.sparks[i] =
            (spark){.number = i, .x = some(4 * i), .y = some(4 * i + 1), .z = some(4 * i + 2)};
    for (uint32_t i = 0; i < STARS; i++) {
        model.star_x[i] = middle(some(4 * i + 3));
        model.star_mass[i] = (float)i / 7.0f;
    }
}

static void model_compute(spark *s) {
    const float x = s->x, y = s->y, z = s->z;
    s->v[0] = number_or_0(x / y);
    s->v[1] = sqrtf(fabsf(x));
    s->v[2] = number_or_0(fmaf(x, y, z));
    s->v[3] = number_or_0(x * y + z);
    s->v[4] = number_or_0(x * x - y * y);
    s->v[5] = number_or_0(1.0f / sqrtf(fabsf(y)));
    s->v[6] = number_or_0(fmodf(x, y));
    s->v[7] = rintf(x) + floorf(y) - truncf(z);
    s->v[8] = min(x, max(-y, z));
    s->v[9] = (float)(int32_t)bits_of(x) + convert_rtz(bits_of(y));
    s->v[10] = convert_int_sat(z) / 3.0f;
    s->v[11] = number_or_0(nextafterf(x, y) * 0.3f);
    s->d[0] = (double)x / (double)y + (double)z * 0.1;
    s->d[1] = sqrt(fabs((double)x * (double)y + (double)z));
    if (isnan(s->d[0])) s->d[0] = 0.0;
}

static void model_attract(spark *s, float softening) {
    const float x = middle(s->x);
    s->pull = 0.0f;
    for (uint32_t i = 0; i < STARS; i++) {
        const float dx = model.star_x[i] - x;
        s->pull += model.star_mass[i] * dx / (dx * dx + softening);
    }
}

static void model_live(uint32_t round) {
    const uint32_t before = model.count;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < before; i++) {
        spark *s = &model.sparks[i];
        const uint32_t fate = test_hash(bits_of(s->v[3]) ^ bits_of(s->pull)) % 6;
        s->x = middle(s->v[0]) * 0.7f + s->pull;
        s->z = middle(s->v[4]) / 3.0f - s->x * 1.1f;
        if (fate == 1) {
            assert_true(model.count < ROOM);
            model.sparks[model.count++] = (spark){.number = s->number + (CHILD << round),
                                                  .x = -s->x,
                                                  .y = middle(s->v[5]) + 1.0f,
                                                  .z = s->pull};
        }
        if (fate != 0) model.sparks[kept++] = *s;
    }
    memmove(&model.sparks[kept], &model.sparks[before],
            (model.count - before) * sizeof *model.sparks);
    model.count -= before - kept;
}

/* ---- Comparing ------------------------------------------------------------------------------- */

static cl_fixture fixture, *const f = &fixture;
static int is_reproducible = 1;
static uint32_t numbers[ROOM], differences;

static int by_number(const void *a, const void *b) {
    const uint32_t x = ((const spark *)a)->number, y = ((const spark *)b)->number;
    return (x > y) - (x < y);
}

static const spark *find(uint32_t number) {
    const spark key = {.number = number};
    const spark *found = bsearch(&key, model.sparks, model.count, sizeof *model.sparks, by_number);
    if (!found) fail_msg("the device has spark %u", number);
    return found;
}

/* A field, whose element `element` the model has `at` bytes from the begin of a spark. */
static void compare(clump_heap *heap, const char *field, uint32_t element, size_t bytes,
                    size_t at) {
    static unsigned char found[ROOM * sizeof(double)];
    CHECK_OK(f, clump_heap_read_field(heap, "Spark", field, element, bytes, found, ROOM, NULL));
    for (uint32_t i = 0; i < model.count; i++) {
        const spark *s = find(numbers[i]);
        const char *wanted = (const char *)s + at;
        uint64_t is = 0, should = 0;
        memcpy(&is, found + i * bytes, bytes);
        memcpy(&should, wanted, bytes);
        if (is == should || differences++ >= 10) continue;
        print_error("%s[%u] of spark %u: %#llx, in C %#llx; x %a, y %a, z %a\n", field, element,
                    s->number, (unsigned long long)is, (unsigned long long)should, (double)s->x,
                    (double)s->y, (double)s->z);
    }
}

static void compare_all(clump_heap *heap, int has_doubles) {
    uint64_t count = 0;
    qsort(model.sparks, model.count, sizeof *model.sparks, by_number);
    CHECK_OK(f, clump_heap_read_field(heap, "Spark", "number", 0, sizeof *numbers, numbers, ROOM,
                                      &count));
    assert_int_equal(count, model.count);
    compare(heap, "x", 0, sizeof(float), offsetof(spark, x));
    compare(heap, "y", 0, sizeof(float), offsetof(spark, y));
    compare(heap, "z", 0, sizeof(float), offsetof(spark, z));
    compare(heap, "pull", 0, sizeof(float), offsetof(spark, pull));
    for (uint32_t i = 0; i < VALUES; i++)
        compare(heap, "v", i, sizeof(float), offsetof(spark, v[i]));
    for (uint32_t i = 0; i < 2 && has_doubles; i++)
        compare(heap, "d", i, sizeof(double), offsetof(spark, d[i]));
    if (differences) fail_msg("%u values differ from those of C", differences);
}

static void compare_reductions(clump_heap *heap, clump_kernel *sum, clump_kernel *least) {
    int64_t all = 0, found = 0;
    float lowest = INFINITY, found_lowest = 0;
    for (uint32_t i = 0; i < model.count; i++) {
        all += (int64_t)rintf(middle(model.sparks[i].x) * 65536.0f);
        lowest = min(lowest, model.sparks[i].x);
    }
    CHECK_OK(f, clump_heap_reduce(heap, sum, sizeof found, &found, NULL));
    CHECK_OK(f, clump_heap_reduce(heap, least, sizeof found_lowest, &found_lowest, NULL));
    assert_true(found == all);
    assert_int_equal(bits_of(found_lowest), bits_of(lowest));
}

/* ---- The test -------------------------------------------------------------------------------- */

static void test_bits(void **state) {
    (void)state;
    const int has_doubles = (f->capabilities->features & CLUMP_FEATURE_FP64) != 0;
    clump_heap *heap = cl_fixture_heap(f, schema, 4u << 20, 0);
    clump_program_desc desc = {.size = sizeof desc,
                               .heap = heap,
                               .source = source,
                               .options = has_doubles ? "-DREAL=double" : "-DREAL=float",
                               .reproducible = is_reproducible};
    clump_program *program;
    CHECK_OK(f, clump_program_create(&desc, &program, NULL));
    clump_kernel *init = clump_program_get_kernel(program, "init"),
                 *init_stars = clump_program_get_kernel(program, "init_stars"),
                 *compute = clump_program_get_kernel(program, "compute"),
                 *attract = clump_program_get_kernel(program, "attract"),
                 *live = clump_program_get_kernel(program, "live"), *both;
    float softening = 0.01f;
    SET_ARG(f, attract, 0, softening);
    CHECK_OK(f, clump_kernel_create_fused((clump_kernel *[]){compute, attract}, 2, &both, NULL));
    CHECK_OK(f, clump_heap_do_new(heap, init, "Spark", SPARKS, NULL, NULL));
    CHECK_OK(f, clump_heap_do_new(heap, init_stars, "Star", STARS, NULL, NULL));
    model_init();
    for (uint32_t round = 0; round < ROUNDS; round++) {
        for (uint32_t i = 0; i < model.count; i++) {
            model_compute(&model.sparks[i]);
            model_attract(&model.sparks[i], softening);
        }
        if (round % 2) {
            CHECK_OK(f, clump_heap_do_all(heap, both, NULL));
        } else {
            CHECK_OK(f, clump_heap_do_all(heap, compute, NULL));
            CHECK_OK(f, clump_heap_do_all(heap, attract, NULL));
        }
        compare_all(heap, has_doubles);
        model_live(round);
        SET_ARG(f, live, 0, round);
        CHECK_OK(f, clump_heap_do_all(heap, live, NULL));
    }
    CHECK_HEAP(f, heap);
    print_message("%u sparks at the end\n", model.count);
    compare_reductions(heap, clump_program_get_kernel(program, "sum"),
                       clump_program_get_kernel(program, "least"));
    clump_kernel_destroy(both);
    clump_program_destroy(program);
    clump_heap_destroy(heap);
}

/* ---- Devices and texts ----------------------------------------------------------------------- */

static cl_device_fp_config lacking; /* what the device does not tell of float */

static cl_int CL_API_CALL tell_less(cl_device_id device, cl_device_info name, size_t room, void *to,
                                    size_t *size) {
    const cl_int code = clGetDeviceInfo(device, name, room, to, size);
    if (!code && to && name == CL_DEVICE_SINGLE_FP_CONFIG) *(cl_device_fp_config *)to &= ~lacking;
    return code;
}

/* An empty program for such a device: the status of its creation. */
static clump_status build_on(cl_fixture *on, int reproducible, clump_program **program) {
    clump_heap *heap = cl_fixture_heap(on, "class A { float x; }", 1u << 20, 2);
    const clump_program_desc desc = {.size = sizeof desc,
                                     .heap = heap,
                                     .source = "__kernel void k(CLUMP_HEAP_NO_ALLOC) {}\n",
                                     .reproducible = reproducible};
    const clump_status status = clump_program_create(&desc, program, NULL);
    clump_heap_destroy(heap);
    return status;
}

/* Whether the device rounds quotients correctly in a program without options. */
static int is_rounded(void) {
    enum { COUNT = 1000 };
    static const char text[] =
        "__kernel void k(__global float *x) {\n"
        "    x[get_global_id(0)] /= 7.0f * get_global_id(0) + 3.0f;\n}\n";
    const char *const texts[] = {text};
    const size_t count = COUNT;
    float x[COUNT];
    int right = 1;
    for (int i = 0; i < COUNT; i++) x[i] = 1.0f + (float)i;
    cl_mem buffer = cl_fixture_buffer(f, x, sizeof x);
    cl_int code;
    cl_program program =
        clCreateProgramWithSource(f->context, 1, (const char **)texts, NULL, &code);
    CHECK_CL(code);
    CHECK_CL(clBuildProgram(program, 1, &f->device, NULL, NULL, NULL));
    cl_kernel kernel = clCreateKernel(program, "k", &code);
    CHECK_CL(code);
    CHECK_CL(clSetKernelArg(kernel, 0, sizeof buffer, &buffer));
    CHECK_CL(clEnqueueNDRangeKernel(f->queue, kernel, 1, NULL, &count, NULL, 0, NULL, NULL));
    cl_fixture_read(f, buffer, x, sizeof x);
    for (int i = 0; i < COUNT; i++) right &= x[i] == (1.0f + (float)i) / (7.0f * (float)i + 3.0f);
    clReleaseKernel(kernel);
    clReleaseProgram(program);
    clReleaseMemObject(buffer);
    return right;
}

static void expect_device(cl_device_fp_config lacks, uint32_t disable, const char *words) {
    const clump_cl_functions cl = {.size = sizeof cl, .GetDeviceInfo = tell_less};
    cl_fixture on;
    lacking = lacks;
    assert_int_equal(cl_fixture_open(&on, &(cl_fixture_desc){.cl = &cl, .disable = disable}), 0);
    clump_program *program;
    const clump_status status = build_on(&on, 1, &program);
    if (words)
        cl_fixture_expect_words(clump_context_get_error(on.clump), status, CLUMP_ERR_UNSUPPORTED,
                                words, "clump_program_create", __LINE__);
    else if (status)
        fail_msg("%s", clump_context_get_error(on.clump)->message);
    else
        assert_non_null(strstr(clump_program_get_info(program)->options, " -cl-opt-disable"));
    clump_program_destroy(program);
    cl_fixture_close(&on);
}

static void test_devices(void **state) {
    (void)state;
    expect_device(CL_FP_DENORM, 0, "the device lacks CL_FP_DENORM");
    expect_device(CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT, CLUMP_FEATURE_FP64, "lacks double");
    if (f->capabilities->features & CLUMP_FEATURE_FP64) /* it is tried */
        expect_device(CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT, 0,
                      is_rounded() ? NULL : " of 5242880 were wrong");
}

/* The option changes the text by one line, and nothing without it. */
static void test_text(void **state) {
    (void)state;
    static const char line[] = "#pragma OPENCL FP_CONTRACT OFF\n";
    clump_program *with, *without;
    CHECK_OK(f, build_on(f, 1, &with));
    CHECK_OK(f, build_on(f, 0, &without));
    const char *text = clump_program_get_info(with)->source,
               *other = clump_program_get_info(without)->source, *at = strstr(text, line);
    assert_non_null(at);
    assert_true(at < strstr(text, "#line")); /* so it is in front of all code */
    assert_int_equal(strlen(other), strlen(text) - strlen(line));
    assert_memory_equal(text, other, at - text);
    assert_string_equal(at + strlen(line), other + (at - text));
    assert_null(strstr(clump_program_get_info(without)->options, "rounded"));
    assert_null(strstr(clump_program_get_info(without)->options, "-cl-opt-disable"));
    clump_program_destroy(with);
    clump_program_destroy(without);
}

int main(int argc, char **argv) {
    is_reproducible = argc < 2 || strcmp(argv[1], "without") != 0;
    int result = cl_fixture_open(f, NULL);
    if (!result && !(f->capabilities->features & CLUMP_FEATURE_FP64)) {
        cl_fixture_close(f);
        result = CL_FIXTURE_SKIP;
    }
    if (result) return result;
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_bits), cmocka_unit_test(test_devices),
                                       cmocka_unit_test(test_text)};
    result = cmocka_run_group_tests(tests, NULL, NULL);
    cl_fixture_close(f);
    return result;
}
