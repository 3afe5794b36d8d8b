/* Parameters of kernels by value, with C's conversions: clump_kernel_with().
 *
 * Invariant: a number reaches the kernel with the value that the caller wrote, or the call says why
 * not. Only floating numbers are rounded, to the parameter's type.
 *
 * Read first: clump/program.h, heap.h.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "heap/heap.h"

static const clumpi_scalar scalars[] = {{"char", 1, 'i'},   {"uchar", 1, 'u'}, {"short", 2, 'i'},
                                        {"ushort", 2, 'u'}, {"int", 4, 'i'},   {"uint", 4, 'u'},
                                        {"long", 8, 'i'},   {"ulong", 8, 'u'}, {"half", 2, 'h'},
                                        {"float", 4, 'f'},  {"double", 8, 'f'}};

const clumpi_scalar *clumpi_scalar_find(const char *type, unsigned *width) {
    for (size_t i = 0; i < sizeof scalars / sizeof *scalars; i++) {
        const size_t length = strlen(scalars[i].name);
        if (strncmp(type, scalars[i].name, length) != 0) continue;
        char *end;
        const unsigned long n = type[length] ? strtoul(type + length, &end, 10) : 1;
        if (type[length] && (*end || n < 2 || n > 16)) continue;
        *width = (unsigned)n;
        return &scalars[i];
    }
    return NULL;
}

clumpi_parameter clumpi_kernel_parameter(const clump_kernel *k, uint32_t index) {
    clumpi_parameter p = {{0}, {0}};
    const char *kept = k->program->texts.parameters;
    const cl_uint at = index + (k->numbered ? 2 : 1);
    if (!kept || !clumpi_parameter_find(kept, k->name, at, &p))
        clumpi_parameter_ask(k->program->context, k->kernel, at, &p);
    return p;
}

/* The types that numbers are converted to. */
static const clumpi_scalar *find_number(const char *type) {
    unsigned width = 0;
    const clumpi_scalar *found = clumpi_scalar_find(type, &width);
    return found && width == 1 && found->kind != 'h' ? found : NULL;
}

/* Whether an integer, given as bits and sign, is one of `bytes` bytes. */
static int integer_fits(const clump_arg *a, const clumpi_scalar *to) {
    const int is_negative = a->kind == CLUMP_ARG_SIGNED && a->as.integer < 0;
    const unsigned bits = 8 * to->bytes;
    if (is_negative)
        return to->kind == 'i' && (bits == 64 || a->as.integer >= -(INT64_C(1) << (bits - 1)));
    const uint64_t most = UINT64_MAX >> (64 - bits + (to->kind == 'i'));
    return a->as.natural <= most;
}

static double number_of(const clump_arg *a) {
    if (a->kind == CLUMP_ARG_FLOATING) return a->as.floating;
    return a->kind == CLUMP_ARG_SIGNED ? (double)a->as.integer : (double)a->as.natural;
}

/* The value as the parameter's type has it, or why it is not to be had: a static text. */
static const char *convert(const clump_arg *a, const clumpi_scalar *to, void *value) {
    if (to->kind != 'f') {
        if (a->kind == CLUMP_ARG_FLOATING)
            return "a floating number cannot be passed for an integer";
        if (!integer_fits(a, to)) return "the number does not fit the type";
        memcpy(value, &a->as.natural, to->bytes); /* little-endian, as all devices are */
        return NULL;
    }
    const double number = number_of(a);
    const float narrow = (float)number;
    if (to->bytes == sizeof narrow && isfinite(number) && !isfinite(narrow))
        return "the number does not fit the type";
    const double held = to->bytes == sizeof narrow ? (double)narrow : number;
    if (a->kind != CLUMP_ARG_FLOATING && (fabs(held) > 9007199254740992.0 || held != number))
        return "the integer has no exact value in a floating type";
    memcpy(value, to->bytes == sizeof narrow ? (const void *)&narrow : &number, to->bytes);
    return NULL;
}

static clump_status refuse(clump_kernel *k, uint32_t index, const char *why) {
    const clumpi_parameter p = clumpi_kernel_parameter(k, index);
    return clumpi_fail(&k->program->context->error, CLUMP_ERR_USAGE,
                       "kernel %s, parameter %u%s%s %s%s: %s", k->name, index, *p.type ? " (" : "",
                       p.type, p.name, *p.type ? ")" : "", why);
}

/* What the parameter is, of which the device is asked once. */
static const clumpi_kept_arg *find_type(clump_kernel *k, uint32_t index) {
    clumpi_kept_arg *arg = &k->args[index];
    if (arg->has_type) return arg;
    const clumpi_parameter p = clumpi_kernel_parameter(k, index);
    arg->has_type = *p.type != 0;
    arg->is_pointer = strchr(p.type, '*') != NULL;
    arg->number = find_number(p.type);
    return arg;
}

/* A number as C has it, where the device does not tell the parameter's type. */
static clump_status set_as_it_is(clump_kernel *k, uint32_t index, const clump_arg *a) {
    const float narrow = (float)a->as.floating;
    const int is_float = a->kind == CLUMP_ARG_FLOATING && a->bytes == sizeof narrow;
    return clump_kernel_set_arg(k, index, a->bytes,
                                is_float ? (const void *)&narrow : &a->as.natural);
}

static clump_status set(clump_kernel *k, uint32_t index, const clump_arg *a) {
    if (a->kind == CLUMP_ARG_BYTES) return clump_kernel_set_arg(k, index, a->bytes, a->as.value);
    const clumpi_kept_arg *was = find_type(k, index);
    const clumpi_scalar *to = was->number;
    if (a->kind == CLUMP_ARG_MEMORY) {
        if (to) return refuse(k, index, "a buffer cannot be passed for a number");
        return clump_kernel_set_arg(k, index, sizeof(cl_mem), &a->as.memory);
    }
    if (was->is_pointer) return refuse(k, index, "a number cannot be passed for a buffer");
    if (!to && was->has_type)
        return refuse(k, index, "a number cannot be passed for this type. Use clump_arg_bytes()");
    if (!to) return set_as_it_is(k, index, a);
    uint64_t value = 0;
    const char *why = convert(a, to, &value);
    if (why) return refuse(k, index, why);
    if (was->bytes == to->bytes && was->value && memcmp(was->value, &value, to->bytes) == 0)
        return CLUMP_OK; /* the kernel has it */
    return clump_kernel_set_arg(k, index, to->bytes, &value);
}

clump_kernel *clump_kernel_with(clump_kernel *k, const clump_arg *args, uint32_t count) {
    if (!k) return NULL; /* what lacks is told already */
    clump_context *c = k->program->context;
    clump_status status = CLUMP_OK;
    if (k->hooks || count != k->arg_count || (count && !args))
        status =
            clumpi_fail(&c->error, CLUMP_ERR_USAGE,
                        k->hooks ? "kernel %s is fused and has %u own parameters, but %u were given"
                                 : "kernel %s has %u parameters after its heap, but %u were given",
                        k->name, k->hooks ? 0 : k->arg_count, count);
    for (uint32_t i = 0; i < count && !status; i++) status = set(k, i, &args[i]);
    if (status) c->kernel_lacks = c->error;
    return status ? NULL : k;
}
