/* Programs and kernels: the user's OpenCL C, compiled together with the schema of a heap.
 *
 * Before the user's source the library puts the code generated from the schema (a reference type,
 * field accessors, new and free for each class) and the device API, which cl/api/device_api.clh
 * documents. Build messages name the user's file and lines.
 *
 * Read first: heap.h. Read next: run.h.
 */
#ifndef CLUMP_PROGRAM_H
#define CLUMP_PROGRAM_H

#include "clump/heap.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A compiled program. */
typedef struct clump_program clump_program;
/* A kernel of a program, with its parameters. */
typedef struct clump_kernel clump_kernel;

/* Facts about a compiled program. They live as long as the program. */
typedef struct clump_program_info {
    const char *log; /* the whole build log, "" if it is empty */
    /* everything that the compiler gets, readable, with #line marks, including the generated
     * code */
    const char *source;
    const char *options; /* of the build */
    /* number of warnings in the log. A driver with its own cache, such as NVIDIA's, may report them
     * only the first time. `strict` sees them each time */
    uint32_t warnings;
} clump_program_info;

/* Arguments of clump_program_create(): a heap and a source. The other members may be zero. */
typedef struct clump_program_desc {
    size_t size;         /* sizeof(clump_program_desc) */
    clump_heap *heap;    /* required. Any heap of the same context with an equal layout and equal
                            checks can run the program */
    const char *source;  /* required: OpenCL C, zero-terminated. Copied */
    const char *name;    /* name of the source in build messages, default "program.cl" */
    const char *options; /* more build options, such as -D and -I, default none */
    /* 1: every field access verifies its reference (slow, for debugging). A program for a checked
     * heap (checked.h) always has the checks of that heap */
    int checked;
    /* 1: warnings fail the build, as if they were errors */
    int strict;
    /* Optional: gets the log, source and options of a program that does not build, before the call
     * returns. */
    void (*failed)(void *user, const clump_program_info *info);
    void *user;                              /* of failed */
    const struct clump_alloc_tuning *tuning; /* experimental.h. NULL: the default */
    /* 1: float arithmetic produces the same bits on each device, under the conditions of
     * docs/guide/reproducible.md. Text, options and devices that cannot do so are refused. */
    int reproducible;
} clump_program_desc;

/* CONSTRUCTOR. Compile a program.
 *   program  [out]            NULL on failure
 *   error    [out, optional]  a copy of the context's error
 * Blocks: yes, while the device's compiler runs.
 * Returns CLUMP_OK, or:
 *   CLUMP_ERR_BUILD  the program does not build. The error has the first lines of the build log,
 *                    and the line and column in the user's source if the log names them.
 *                    desc->failed gets the whole log. Also if a kernel declares more local memory
 *                    than the device has
 *   CLUMP_ERR_USAGE  also for a reproducible program that is refused, with its line
 *   CLUMP_ERR_UNSUPPORTED  the device cannot run a reproducible program
 *   CLUMP_ERR_CL, CLUMP_ERR_HOST_MEMORY */
CLUMP_API clump_status clump_program_create(const clump_program_desc *desc, clump_program **program,
                                            clump_error *error);

/* DESTRUCTOR. NULL is allowed. A program that still has kernels ends with the last of them. */
CLUMP_API void clump_program_destroy(clump_program *program);

/* Return facts about the program. The result is never NULL. For a NULL program, its texts are
 * empty. */
CLUMP_API const clump_program_info *clump_program_get_info(const clump_program *program);

/* METHOD. Find the kernel `name`, whose first parameter must be CLUMP_HEAP or CLUMP_HEAP_NO_ALLOC.
 * The program makes the kernel at the first call and owns it: the caller does not destroy it, and
 * its parameters keep their values. A name is refused if some compiler has a function or type of
 * that name, such as `step`.
 * Blocks: no.
 * Returns NULL on failure, with the context's error and the statuses of clump_kernel_create()
 * (kernels.h). If a call of run.h gets this NULL, it returns that status and reports that error,
 * even if other calls came between. After several failures it reports the last one. */
CLUMP_API clump_kernel *clump_program_get_kernel(clump_program *program, const char *name);

/* METHOD. Set one parameter. `index` counts from 0 after the heap parameter and CLUMP_NUMBERS. The
 * value is copied, as by clSetKernelArg. A NULL `value` reserves `bytes` of local memory.
 * Returns CLUMP_OK. Fails with CLUMP_ERR_USAGE if the kernel has fewer parameters or is fused, or
 * `bytes` is 0, or more local memory than the device has, CLUMP_ERR_HOST_MEMORY, or CLUMP_ERR_CL.
 * In the last case, the error has the parameter's type and name if the device keeps them. */
CLUMP_API clump_status clump_kernel_set_arg(clump_kernel *kernel, uint32_t index, size_t bytes,
                                            const void *value);

/* ---- Parameters by value --------------------------------------------------------------------- */

/* The kind of a parameter's value. CLUMP_ARG() and the functions below set it. */
typedef enum clump_arg_kind {
    CLUMP_ARG_SIGNED,
    CLUMP_ARG_UNSIGNED,
    CLUMP_ARG_FLOATING,
    CLUMP_ARG_MEMORY, /* a cl_mem */
    CLUMP_ARG_BYTES   /* `bytes` at `value`, or local memory if that is NULL */
} clump_arg_kind;
/* One parameter. */
typedef struct clump_arg {
    clump_arg_kind kind;
    size_t bytes; /* of the C type */
    union {
        int64_t integer;
        uint64_t natural;
        double floating;
        cl_mem memory;
        const void *value;
    } as;
} clump_arg;

/* METHOD. Set all parameters, after the heap and CLUMP_NUMBERS, and return the kernel:
 *
 *     clump_heap_do_all(heap, clump_kernel_with(move, CLUMP_ARGS(0.01f, count, buffer)), NULL);
 *
 * The call compares each value with the type of the kernel's parameter. An integer must fit, and be
 * exact in a floating type. A floating-point number is rounded to float as in C, must be in its
 * range, and cannot set an integer. A buffer cannot set a number. If the device does not report
 * types (programs that were not built from source), the values keep their C types. A number that
 * the kernel already has is not set again.
 * Returns NULL on failure, as clump_program_get_kernel() does, and NULL for a NULL kernel.
 * CLUMP_ERR_USAGE means that the number of parameters is wrong or that a value does not fit: the
 * error names the parameter. Other statuses are CLUMP_ERR_CL and CLUMP_ERR_HOST_MEMORY. */
CLUMP_API clump_kernel *clump_kernel_with(clump_kernel *kernel, const clump_arg *args,
                                          uint32_t count);

#ifndef __cplusplus /* clump.hpp has other ones */
/* Reserve `bytes` of local memory. */
static inline clump_arg clump_arg_local(size_t bytes) {
    return (clump_arg){CLUMP_ARG_BYTES, bytes, {.value = NULL}};
}
/* Pass a struct or vector of `bytes`. The call reads it. */
static inline clump_arg clump_arg_bytes(const void *value, size_t bytes) {
    return (clump_arg){CLUMP_ARG_BYTES, bytes, {.value = value}};
}
/* Pass a buffer, an image or a pipe. */
static inline clump_arg clump_arg_memory(cl_mem memory) {
    return (clump_arg){CLUMP_ARG_MEMORY, sizeof memory, {.memory = memory}};
}
/* Pass a signed integer of any length. */
static inline clump_arg clump_arg_signed(long long value) {
    return (clump_arg){CLUMP_ARG_SIGNED, sizeof value, {.integer = value}};
}
/* Pass an unsigned integer of any length. */
static inline clump_arg clump_arg_unsigned(unsigned long long value) {
    return (clump_arg){CLUMP_ARG_UNSIGNED, sizeof value, {.natural = value}};
}
/* Pass an int. */
static inline clump_arg clump_arg_int(int value) {
    return (clump_arg){CLUMP_ARG_SIGNED, sizeof value, {.integer = value}};
}
/* Pass an unsigned int. */
static inline clump_arg clump_arg_uint(unsigned value) {
    return (clump_arg){CLUMP_ARG_UNSIGNED, sizeof value, {.natural = value}};
}
/* Pass a number to a parameter of type float or double. */
static inline clump_arg clump_arg_float(float value) {
    return (clump_arg){CLUMP_ARG_FLOATING, sizeof value, {.floating = (double)value}};
}
/* Pass a number, as clump_arg_float() does. */
static inline clump_arg clump_arg_double(double value) {
    return (clump_arg){CLUMP_ARG_FLOATING, sizeof value, {.floating = value}};
}
/* Pass a value that is already a clump_arg. */
static inline clump_arg clump_arg_itself(clump_arg arg) {
    return arg;
}

/* One parameter: a number, a cl_mem, or the result of a function above. Numbers shorter than int
 * count as int. */
/* clang-format off */
#define CLUMP_ARG(x)                                                                               \
    _Generic((x),                                                                                  \
             float: clump_arg_float, double: clump_arg_double,                                     \
             cl_mem: clump_arg_memory, clump_arg: clump_arg_itself,                                \
             unsigned: clump_arg_uint, unsigned long: clump_arg_unsigned,                          \
             unsigned long long: clump_arg_unsigned,                                               \
             long: clump_arg_signed, long long: clump_arg_signed, default: clump_arg_int)(x)
/* clang-format on */
/* Up to 12 parameters, and their number. */
#define CLUMP_ARGS(...)                                                                            \
    ((const clump_arg[]){                                                                          \
        CLUMP_ARGS_OF(__VA_ARGS__, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)(__VA_ARGS__)}),       \
        CLUMP_ARGS_COUNT(__VA_ARGS__, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define CLUMP_ARGS_COUNT(a, b, c, d, e, f, g, h, i, j, k, l, n, ...) n
#define CLUMP_ARGS_OF(a, b, c, d, e, f, g, h, i, j, k, l, n, ...) CLUMP_ARGS_##n
#define CLUMP_ARGS_1(x) CLUMP_ARG(x)
#define CLUMP_ARGS_2(x, ...) CLUMP_ARG(x), CLUMP_ARGS_1(__VA_ARGS__)
#define CLUMP_ARGS_3(x, ...) CLUMP_ARG(x), CLUMP_ARGS_2(__VA_ARGS__)
#define CLUMP_ARGS_4(x, ...) CLUMP_ARG(x), CLUMP_ARGS_3(__VA_ARGS__)
#define CLUMP_ARGS_5(x, ...) CLUMP_ARG(x), CLUMP_ARGS_4(__VA_ARGS__)
#define CLUMP_ARGS_6(x, ...) CLUMP_ARG(x), CLUMP_ARGS_5(__VA_ARGS__)
#define CLUMP_ARGS_7(x, ...) CLUMP_ARG(x), CLUMP_ARGS_6(__VA_ARGS__)
#define CLUMP_ARGS_8(x, ...) CLUMP_ARG(x), CLUMP_ARGS_7(__VA_ARGS__)
#define CLUMP_ARGS_9(x, ...) CLUMP_ARG(x), CLUMP_ARGS_8(__VA_ARGS__)
#define CLUMP_ARGS_10(x, ...) CLUMP_ARG(x), CLUMP_ARGS_9(__VA_ARGS__)
#define CLUMP_ARGS_11(x, ...) CLUMP_ARG(x), CLUMP_ARGS_10(__VA_ARGS__)
#define CLUMP_ARGS_12(x, ...) CLUMP_ARG(x), CLUMP_ARGS_11(__VA_ARGS__)
#endif

#ifdef __cplusplus
}
#endif
#endif
