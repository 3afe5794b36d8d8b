/* Programs whose float arithmetic gives the same bits on each device
 * (clump_program_desc.reproducible): what their text and their options may have, and what the
 * device must have.
 *
 * Invariant: a name that OpenCL C defines is refused unless a table here has it, and so is text
 * that the compiler reads from elsewhere or makes of parts.
 *
 * docs/guide/reproducible.md has the promise. Read first: program.c, words.h.
 */
#include <stdio.h>
#include <string.h>

#include "heap/heap.h"
#include "heap/program.h"
#include "heap/words.h"

/* ---- Tables ---------------------------------------------------------------------------------- */

/* Built-in functions that give the same bits everywhere, and beginnings of such: as many in a line
 * as fit. */
/* clang-format off */
static const char *const same[] = {
    "abs", "abs_diff", "add_sat", "all", "any", "barrier", "ceil", "clamp", "clz", "copysign",
    "ctz", "fabs", "fdim", "floor", "fma", "fmod", "frexp", "hadd", "ilogb", "isequal",
    "isfinite", "isgreater", "isgreaterequal", "isinf", "isless", "islessequal",
    "islessgreater", "isnan", "isnormal", "isnotequal", "isordered", "isunordered", "ldexp",
    "logb", "mad_hi", "mad_sat", "max", "mem_fence", "min", "modf", "mul_hi", "nextafter",
    "popcount", "prefetch", "printf", "read_mem_fence", "remainder", "rhadd", "rint", "rotate",
    "round", "select", "shuffle", "shuffle2", "sign", "signbit", "sqrt", "sub_sat", "trunc",
    "upsample", "vec_step", "wait_group_events", "work_group_all", "work_group_any",
    "work_group_barrier", "write_mem_fence",
};
static const char *const same_families[] = {
    "CLK_", "as_", "async_work_group", "atom_", "atomic_", "bit", "convert_", "get_",
    "memory_order_", "memory_scope_", "vload", "vstore",
};
/* clang-format on */

/* Names that are refused, with what to write instead. */
static const struct {
    const char *name, *advice;
} refused[] = {
    {"mad", "it may round once or twice: write fma(a, b, c) or a * b + c"},
    {"mad24", "devices differ where a number has more than 24 bits: write a * b + c"},
    {"mul24", "devices differ where a number has more than 24 bits: write a * b"},
    {"fmin", "OpenCL leaves the sign of 0 to the device: write CLUMP_MIN(a, b)"},
    {"fmax", "OpenCL leaves the sign of 0 to the device: write CLUMP_MAX(a, b)"},
    {"minmag", "OpenCL leaves the sign of 0 to the device: compare fabs(a) with fabs(b)"},
    {"maxmag", "OpenCL leaves the sign of 0 to the device: compare fabs(a) with fabs(b)"},
    {"fract", "devices differ in the sign of 0: write x - floor(x)"},
    {"step", "devices differ for NaN: write x < edge ? 0.0f : 1.0f"},
    {"nan", "OpenCL leaves the bits of NaN to the device: use the macro NAN"},
    {"rsqrt", "OpenCL leaves its accuracy to the device: write 1.0f / sqrt(x)"},
    {"mix", "OpenCL leaves its accuracy to the device: write x + (y - x) * a"},
    {"dot", "OpenCL leaves its accuracy to the device: write a.x * b.x + a.y * b.y"},
    {"cross", "OpenCL leaves its accuracy to the device: write a.y * b.z - a.z * b.y and so on"},
    {"length", "OpenCL leaves its accuracy to the device: write sqrt(v.x * v.x + v.y * v.y)"},
    {"distance", "OpenCL leaves its accuracy to the device: write sqrt() of the sum of squares"},
    {"normalize",
     "OpenCL leaves its accuracy to the device: divide by sqrt() of the sum of "
     "squares"},
    {"hypot", "OpenCL leaves its accuracy to the device: write sqrt(x * x + y * y)"},
    {"CLUMP_ATOMIC_ADD_FLOAT",
     "the order of the additions is not fixed: add integers with "
     "CLUMP_ATOMIC_ADD, such as (int)rint(x * 65536.0f)"},
    {"CLUMP_FOR_WHOLE_CLASS_STAGED",
     "the order of its objects depends on the device: write "
     "CLUMP_FOR_WHOLE_CLASS"},
    {"atomic_float", "the order of the additions is not fixed: add integers"},
    {"atomic_double", "the order of the additions is not fixed: add integers"},
    {"atomic_half", "the order of the additions is not fixed: add integers"},
    {"asm", "the library cannot read it"},
    {"_Pragma", "write it as a line with #pragma"},
};

/* Names with two underscores that all compilers of OpenCL C have; others belong to one of them,
 * except those that end with two more: macros and attributes. */
static const char *const underscored[] = {
    "__kernel",    "__global",     "__local",      "__constant",  "__private",  "__generic",
    "__read_only", "__write_only", "__read_write", "__attribute", "__restrict", "__inline"};

/* Build options that leave results as they are, and beginnings of such. */
static const char *const harmless[] = {"-w",
                                       "-g",
                                       "-cl-opt-disable",
                                       "-cl-kernel-arg-info",
                                       "-cl-strict-aliasing",
                                       "-cl-uniform-work-group-size",
                                       "-cl-single-precision-constant",
                                       "-cl-fp32-correctly-rounded-divide-sqrt",
                                       "-cl-nv-verbose"};
static const char *const harmless_families[] = {
    "-U", "-I", "-W", "-cl-std=", "-cl-nv-maxrregcount=", "-cl-nv-opt-level="};

#define COUNT(table) (sizeof(table) / sizeof *(table))

/* A piece of a text that ends elsewhere. */
typedef struct word {
    const char *at;
    size_t bytes;
} word;

static int is(word w, const char *name) {
    return w.bytes == strlen(name) && memcmp(w.at, name, w.bytes) == 0;
}

static int begins(word w, const char *prefix) {
    return w.bytes >= strlen(prefix) && memcmp(w.at, prefix, strlen(prefix)) == 0;
}

static int begins_one_of(word w, const char *const *prefixes, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (begins(w, prefixes[i])) return 1;
    return 0;
}

static int is_one_of(word w, const char *const *names, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (is(w, names[i])) return 1;
    return 0;
}

static word word_at(const char *at) {
    word w = {at, 0};
    while (clumpi_is_word(at[w.bytes])) w.bytes++;
    return w;
}

/* ---- The text -------------------------------------------------------------------------------- */

typedef struct reading {
    clump_context *context;
    const char *name, *text; /* NULL: the build options */
    const char *end;
    clump_status status;
} reading;

/* `also` is more about where it cannot stand. */
static void refuse(reading *r, word w, const char *also, const char *why) {
    clump_error *e = &r->context->error;
    char place[96] = "";
    uint32_t line = 1;
    if (r->status) return;
    for (const char *at = r->text; at && at < w.at; at++) line += *at == '\n';
    if (r->text) snprintf(place, sizeof place, "%.64s:%u: ", r->name, line);
    r->status = clumpi_fail(e, CLUMP_ERR_USAGE,
                            "%s%.*s is not possible in %s of a reproducible program%s: %s", place,
                            (int)w.bytes, w.at, r->text ? "the source" : "the options", also, why);
    if (r->text) e->line = line;
}

static int is_of_one_compiler(word w) {
    if (!begins(w, "__") || is_one_of(w, underscored, COUNT(underscored))) return 0;
    return w.bytes < 5 || memcmp(w.at + w.bytes - 2, "__", 2) != 0 || is(w, "__asm__");
}

/* CLUMP_REDUCE(type, value, combine) brings values together in an order that depends on the
 * device. */
static void read_reduction(reading *r, word name) {
    const char *at = clumpi_skip_space(name.at + name.bytes);
    word type = {at, 0}, last = {at, 0};
    uint32_t depth = 0;
    while (at < r->end && (depth || *at == '(')) {
        const char *next = clumpi_skip_one(at);
        if (next == at && (*at == '"' || *at == '\'')) next = clumpi_skip_literal(at);
        if (next != at) {
            at = next;
            continue;
        }
        last = clumpi_is_word(*at) ? word_at(at) : last;
        if (!type.bytes) type = last;
        depth += *at == '(';
        depth -= *at == ')';
        at += clumpi_is_word(*at) ? last.bytes : 1;
    }
    static const char *const integers[] = {"unsigned", "signed", "size_t"};
    static const char *const ordered[] = {"CLUMP_MIN", "CLUMP_MAX"};
    char text[16] = "";
    unsigned width;
    if (type.bytes < sizeof text) memcpy(text, type.at, type.bytes);
    const clumpi_scalar *scalar = clumpi_scalar_find(text, &width);
    const int is_integer = (scalar && (scalar->kind == 'i' || scalar->kind == 'u')) ||
                           is_one_of(type, integers, COUNT(integers));
    if (!is_integer && !is_one_of(last, ordered, COUNT(ordered)))
        refuse(r, name, "",
               "the order of its values is the device's, so only a type of integers is the same "
               "everywhere, or CLUMP_MIN and CLUMP_MAX. Sum integers, such as "
               "(long)rint(x * 65536.0f)");
}

/* Why the name cannot stand in the text; NULL: it can. */
static const char *reason_of(word w, const char *name, int is_builtin) {
    for (size_t i = 0; i < COUNT(refused); i++)
        if (is(w, refused[i].name)) return refused[i].advice;
    if (is_of_one_compiler(w)) return "the name belongs to one compiler";
    unsigned width;
    const clumpi_scalar *scalar = clumpi_scalar_find(name, &width);
    if ((scalar && scalar->kind == 'h') || strstr(name, "_half"))
        return scalar || is_builtin ? "devices differ in the arithmetic of half: use float" : NULL;
    if (!is_builtin || is_one_of(w, same, COUNT(same)) ||
        begins_one_of(w, same_families, COUNT(same_families)))
        return NULL;
    return "OpenCL leaves its result to the device: compute it with + - * /, sqrt() and fma()";
}

static void read_word(reading *r, word w) {
    char name[64] = ""; /* OpenCL C has no name that is as long */
    if (w.bytes < sizeof name) memcpy(name, w.at, w.bytes);
    const int is_builtin = clumpi_reserved_builtin(name) != NULL;
    const char *reason = reason_of(w, name, is_builtin);
    if (reason) refuse(r, w, is_builtin ? ", nor as another name" : "", reason);
    if (is(w, "CLUMP_REDUCE")) read_reduction(r, w);
}

/* A line of the preprocessor. Returns where to go on. */
static const char *read_directive(reading *r, const char *at) {
    static const char *const skipped[] = {"error", "warning", "line"};
    static const char *const unrolled[] = {"unroll", "nounroll"};
    const char *end = clumpi_skip_directive(at);
    const word name = word_at(clumpi_skip_space(at + 1));
    if (is_one_of(name, skipped, COUNT(skipped))) return end;
    if (is(name, "include") || is(name, "import") || is(name, "embed"))
        refuse(r, name, "", "the library does not read the file. Put its text into the source");
    if (!is(name, "pragma")) return name.at + name.bytes;
    const word first = word_at(clumpi_skip_space(name.at + name.bytes));
    const word second = word_at(clumpi_skip_space(first.at + first.bytes));
    const word third = word_at(clumpi_skip_space(second.at + second.bytes));
    if (!is_one_of(first, unrolled, COUNT(unrolled)) &&
        !(is(first, "OPENCL") &&
          (is(second, "EXTENSION") || (is(second, "FP_CONTRACT") && is(third, "OFF")))))
        refuse(r, (word){name.at, (size_t)(end - name.at)}, "", "it may change results");
    return end;
}

static void read_text(reading *r, const char *at) {
    int is_line_begin = 1;
    while (at < r->end && !r->status) {
        const char *next = clumpi_skip_one(at);
        if (next != at) {
            is_line_begin |= *at == '\n';
            at = next;
            continue;
        }
        if (*at == '#' && is_line_begin && r->text) {
            next = read_directive(r, at);
        } else if (*at == '"' || *at == '\'') {
            next = clumpi_skip_literal(at);
        } else if (clumpi_is_word(*at)) {
            const word w = word_at(at);
            if (*at < '0' || *at > '9') read_word(r, w);
            next = at + w.bytes;
        } else {
            if (at[0] == '#' && at[1] == '#')
                refuse(r, (word){at, 2}, "",
                       "the library does not read names that the preprocessor makes");
            next = at + 1;
        }
        is_line_begin = 0;
        at = next;
    }
}

/* ---- Options --------------------------------------------------------------------------------- */

static void read_options(reading *r, const char *options) {
    static const char blank[] = " \t\r\n";
    for (const char *at = options + strspn(options, blank); *at && !r->status;
         at += strspn(at, blank)) {
        const word option = {at, strcspn(at, blank)};
        at += option.bytes;
        r->end = at;
        if (begins(option, "-D"))
            read_text(r, option.at + 2);
        else if (*option.at != '-') /* what -D or -I is given */
            read_text(r, option.at);
        else if (!is_one_of(option, harmless, COUNT(harmless)) &&
                 !begins_one_of(option, harmless_families, COUNT(harmless_families)))
            refuse(r, option, "", "it may change results");
    }
}

clump_status clumpi_reproducible_read(clump_context *c, const char *name, const char *source,
                                      const char *options) {
    reading r = {.context = c, .name = name, .text = source, .end = source + strlen(source)};
    const char *odd = clumpi_odd_text(source);
    if (odd)
        refuse(&r, (word){odd, 2}, "", "the library does not read names or signs in this form");
    read_text(&r, source);
    r.text = NULL;
    if (options) read_options(&r, options);
    return r.status;
}

/* ---- The device ------------------------------------------------------------------------------ */

/* For devices that do not promise correct division. Of these, Intel's CPU runtime adds the numbers
 * of a loop in another order when it optimises (docs/portability.md). */
#define UNOPTIMISED "-cl-opt-disable"

static const char *const kernel_files[] = {"cl/heap/divide.cl"};
static const char *const kernel_names[] = {"clumpi_divide_check"};
static const clumpi_library library = CLUMPI_LIBRARY(UNOPTIMISED, NULL);

#define DIVIDE_ITEMS ((size_t)1 << 14)

/* How many quotients and roots are wrong, of 160 for each work-item: in groups, and one by one,
 * since compilers make vectors of a group. */
static clump_status count_wrong(clump_context *c, uint32_t *wrong) {
    cl_mem buffer;
    const clumpi_arg arg = {sizeof buffer, &buffer};
    const clumpi_kernel_id id = {.library = &library};
    clump_status status = clumpi_buffer_create(c, sizeof *wrong, "a check of division", &buffer);
    if (!status) status = clumpi_clear(c, buffer, 0, sizeof *wrong);
    if (!status) status = clumpi_run_kernel(c, id, DIVIDE_ITEMS, 64, &arg, 1, NULL);
    if (!status) status = clumpi_run_kernel(c, id, DIVIDE_ITEMS, 1, &arg, 1, NULL);
    if (!status) status = clumpi_read(c, buffer, 0, sizeof *wrong, wrong);
    clumpi_buffer_release(c, &buffer);
    return status;
}

/* A device that does not promise them may have them: each context tries once. */
static clump_status try_division(clump_context *c) {
    uint32_t wrong = 0;
    if (c->divides) return CLUMP_OK;
    if (!(c->capabilities.features & CLUMP_FEATURE_FP64))
        return clumpi_fail(&c->error, CLUMP_ERR_UNSUPPORTED,
                           "a reproducible program needs division and sqrt() of float that are "
                           "rounded correctly. The device does not promise them "
                           "(CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT), and lacks double to try them");
    clump_status status = count_wrong(c, &wrong);
    if (status) return status;
    if (wrong)
        return clumpi_fail(&c->error, CLUMP_ERR_UNSUPPORTED,
                           "a reproducible program needs division and sqrt() of float that are "
                           "rounded correctly. The device does not promise them "
                           "(CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT), and %u of %zu were wrong",
                           wrong, DIVIDE_ITEMS * 2 * 160);
    c->divides = 1;
    return CLUMP_OK;
}

clump_status clumpi_reproducible_options(clump_context *c, clumpi_text *options) {
    cl_device_fp_config has = 0;
    cl_int code =
        c->cl.GetDeviceInfo(c->device, CL_DEVICE_SINGLE_FP_CONFIG, sizeof has, &has, NULL);
    if (code) return clumpi_fail_cl(&c->error, "clGetDeviceInfo", code, "of float");
    if (!(has & CL_FP_DENORM))
        return clumpi_fail(&c->error, CLUMP_ERR_UNSUPPORTED,
                           "a reproducible program needs denormal numbers of float, and the "
                           "device lacks CL_FP_DENORM");
    const int is_promised = (has & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT) != 0;
    clumpi_text_append(options, " %s",
                       is_promised ? "-cl-fp32-correctly-rounded-divide-sqrt" : UNOPTIMISED);
    return is_promised ? CLUMP_OK : try_division(c);
}
