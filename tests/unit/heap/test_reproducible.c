/* The text and the options of a reproducible program: a part that can produce other bits on another
 * device is refused, with its line and with advice. All else is accepted.
 *
 * Read first: host/heap/reproducible.c.
 */
#include <stdio.h>
#include <string.h>

#include "heap/heap.h"
#include "heap/program.h"
/* After the above, which need types of it. */
#include "cl_fixture.h"

static clump_error error;

/* options may be NULL. */
static clump_status read_both(const char *source, const char *options) {
    clump_context context = {.allocator = clumpi_allocator_resolve(NULL)};
    const clump_status status = clumpi_reproducible_read(&context, "my.cl", source, options);
    error = context.error;
    return status;
}

static void expect_same(const char *source, const char *options) {
    if (read_both(source, options)) fail_msg("%s\n%s", error.message, source);
}

/* The message has `words`. With `line` 0 the options are refused. */
static void expect_refused(const char *source, const char *options, uint32_t line,
                           const char *words) {
    if (read_both(source, options) != CLUMP_ERR_USAGE || error.line != line ||
        !strstr(error.message, words) || !strstr(error.message, line ? "my.cl:" : "the options"))
        fail_msg("line %u of %u, \"%s\", not \"%s\":\n%s\n%s", error.line, line, error.message,
                 words, source, options ? options : "");
}

static void test_same(void **state) {
    (void)state;
    expect_same("", NULL);
    expect_same(
        "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n"
        "#pragma OPENCL FP_CONTRACT OFF\n"
        "/* sin(x) */ // exp(x)\n"
        "#error native_sin\n"
        "#define HYPOT(x, y) sqrt((x) * (x) + (y) * (y))\n"
        "typedef struct { float expo, len; } pair;\n"
        "__kernel __attribute__((reqd_work_group_size(1, 1, 1)))\n"
        "void k(CLUMP_HEAP, __global float *x) {\n"
        "    pair p = {.expo = 1.0e5f, .len = .5f}, *q = &p;\n"
        "    float y = p.expo / q->len + fma(x[0], 2.f, x[1]), half_way = 3., my_exp;\n"
        "    #pragma unroll\n"
        "    for (uint i = 0; i < 3u; i++) y = HYPOT(y, floor(y)) * copysign(y, rint(y));\n"
        "    if (isnan(y)) printf(\"exp(x) of %f\", y);\n"
        "    CLUMP_ATOMIC_ADD(Fish_age(f), convert_int_sat(as_float(clz(3u)) + Fish_exp(f)));\n"
        "    CLUMP_FOR_WHOLE_CLASS(Fish, other) y = CLUMP_MIN(y, CLUMP_MAX(y, 3.0f));\n"
        "    vstore4(vload4(0, x), 1, x); barrier(CLK_LOCAL_MEM_FENCE);\n"
        "    CLUMP_REDUCE(float2, (y) , CLUMP_MAX) \n"
        "    CLUMP_REDUCE(uint, f(x, (2)), CLUMP_SUM)\n"
        "    CLUMP_REDUCE (ulong4, y, add)\n"
        "}\n",
        " -DN=4  -D M -I/usr/include -cl-std=CL2.0 -w -Wno-unused -cl-opt-disable "
        "-cl-nv-maxrregcount=64 -cl-fp32-correctly-rounded-divide-sqrt");
}

static void test_functions(void **state) {
    (void)state;
    static const char *const names[] = {"sin",
                                        "cos",
                                        "tan",
                                        "exp",
                                        "exp2",
                                        "log",
                                        "pow",
                                        "powr",
                                        "pown",
                                        "rsqrt",
                                        "cbrt",
                                        "hypot",
                                        "atan2",
                                        "tanh",
                                        "erf",
                                        "tgamma",
                                        "mad",
                                        "mad24",
                                        "mul24",
                                        "fmin",
                                        "fmax",
                                        "minmag",
                                        "maxmag",
                                        "fract",
                                        "step",
                                        "mix",
                                        "smoothstep",
                                        "dot",
                                        "cross",
                                        "length",
                                        "distance",
                                        "normalize",
                                        "fast_length",
                                        "degrees",
                                        "radians",
                                        "native_sin",
                                        "native_divide",
                                        "half_sqrt",
                                        "nan",
                                        "sincos",
                                        "vload_half",
                                        "vstorea_half4",
                                        "convert_half",
                                        "read_imagef",
                                        "work_group_reduce_add",
                                        "sub_group_reduce_add",
                                        "remquo",
                                        "CLUMP_ATOMIC_ADD_FLOAT",
                                        "CLUMP_FOR_WHOLE_CLASS_STAGED",
                                        "CLUMP_REDUCE",
                                        "half",
                                        "half4",
                                        "atomic_float",
                                        "asm",
                                        "__asm__",
                                        "__builtin_sinf",
                                        "__nv_sinf",
                                        "_Pragma"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char text[200];
        snprintf(text, sizeof text, "\nvoid f(float x) {\n    x = %s(x);\n}\n", names[i]);
        expect_refused(text, NULL, 3, names[i]);
        snprintf(text, sizeof text, "#define F %s\n", names[i]);
        expect_refused(text, NULL, 1, names[i]);
        snprintf(text, sizeof text, "-DF=%s", names[i]);
        expect_refused("", text, 0, names[i]);
    }
    expect_refused("float f(float x) {\n    float length = x;\n}", "", 2, "nor as another name");
    expect_refused("float x = 2.0f*exp(3.0f);", "", 1, "+ - * /, sqrt() and fma()");
    expect_refused("float x = rsqrt(3.0f);", "", 1, "write 1.0f / sqrt(x)");
}

static void test_reductions(void **state) {
    (void)state;
    static const char *const refused[] = {"CLUMP_REDUCE(float, x, CLUMP_SUM)",
                                          "CLUMP_REDUCE(double2, x, CLUMP_SUM)",
                                          "CLUMP_REDUCE(real, x, add)",
                                          "CLUMP_REDUCE(float, CLUMP_MIN(x, y), CLUMP_SUM)",
                                          "CLUMP_REDUCE",
                                          "CLUMP_REDUCE) CLUMP_MIN"};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        expect_refused(refused[i], "", 1, "such as (long)rint(x * 65536.0f)");
}

static void test_lines(void **state) {
    (void)state;
    expect_refused("\n#include \"a.clh\"\n", "", 2, "include");
    expect_refused("# pragma OPENCL FP_CONTRACT ON\n", "", 1, "pragma OPENCL FP_CONTRACT ON");
    expect_refused("#pragma STDC FP_CONTRACT OFF\n", "", 1, "it may change results");
    expect_refused("#pragma clang fp contract(fast)\n", "", 1, "it may change results");
    expect_refused("#define P(a, b) a##b\n", "", 1, "names that the preprocessor makes");
    expect_refused("\n%:define A\n", "", 2, "%:");
    expect_refused("float x = na\\\ntive_sin(x);\n", "", 1, "in this form");
}

static void test_options(void **state) {
    (void)state;
    static const char *const refused[] = {"-cl-fast-relaxed-math",
                                          "-cl-mad-enable",
                                          "-cl-unsafe-math-optimizations",
                                          "-cl-finite-math-only",
                                          "-cl-no-signed-zeros",
                                          "-cl-denorms-are-zero",
                                          "-include",
                                          "-ffast-math",
                                          "-cl-intel-gtpin-rera",
                                          "-cl-strict-aliasing-not",
                                          "-x"};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        char text[100];
        snprintf(text, sizeof text, "-DN=1 %s", refused[i]);
        expect_refused("", text, 0, refused[i]);
    }
    expect_refused("", "-D F=exp", 0, "exp");
    expect_refused("", "-DF(a)=b##a", 0, "##");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same), cmocka_unit_test(test_functions),
        cmocka_unit_test(test_reductions), cmocka_unit_test(test_lines),
        cmocka_unit_test(test_options)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
