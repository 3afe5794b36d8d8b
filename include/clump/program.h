/* Programs and kernels: the user's OpenCL C, compiled together with the schema of a heap.
 *
 * Before the user's source the library puts the code generated from the schema (a reference type,
 * field accessors, new and free per class) and the device API (cl/api/device_api.clh documents it).
 * Build messages name the user's file and lines.
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

/* What is known of a program that was compiled. Lives as long as the program. */
typedef struct clump_program_info {
    const char *log; /* the whole build log, "" if there was nothing to say */
    /* everything handed to the compiler, readable, with #line marks: the generated code, too */
    const char *source;
    const char *options; /* of the build */
    /* in the log. A driver that keeps what it compiled, as NVIDIA's, may tell them only the first
     * time; `strict` sees them each time */
    uint32_t warnings;
} clump_program_info;

/* What a program is made of: a heap and a source. The rest may be zero. */
typedef struct clump_program_desc {
    size_t size;         /* sizeof(clump_program_desc) */
    clump_heap *heap;    /* required; any heap with an equal layout can run the program */
    const char *source;  /* required; OpenCL C, zero-terminated; copied */
    const char *name;    /* what build messages call the source; default "program.cl" */
    const char *options; /* more build options, such as -D and -I; default none */
    int checked; /* 1: every field access verifies its reference (slow; for debugging). A program
                            for a checked heap (checked.h) has that heap's checks, whatever this
                            is */
    int strict;  /* 1: a program that compiles with warnings is refused, as if they were errors */
    /* Optional: gets what there is of a program that does not build, before the call returns. */
    void (*failed)(void *user, const clump_program_info *info);
    void *user;                              /* of failed */
    const struct clump_alloc_tuning *tuning; /* experimental.h. NULL: as is best */
    /* 1: float arithmetic produces the same bits on each device, under the conditions of
     * docs/guide/reproducible.md. Text, options and devices that cannot do so are refused. */
    int reproducible;
} clump_program_desc;

/* CONSTRUCTOR. Compile. Blocks: yes, while the device's compiler runs.
 * Returns CLUMP_OK; CLUMP_ERR_BUILD: the error has the first lines of the build log, line and
 * column in the user's source if the log names them, and desc->failed gets all of it;
 * CLUMP_ERR_USAGE, with the line in the user's source where a reproducible program is refused,
 * CLUMP_ERR_UNSUPPORTED where the device cannot run one; CLUMP_ERR_CL; CLUMP_ERR_HOST_MEMORY.
 *   program  [out]            NULL on failure
 *   error    [out, optional]  as the context keeps it */
CLUMP_API clump_status clump_program_create(const clump_program_desc *desc, clump_program **program,
                                            clump_error *error);

/* DESTRUCTOR. NULL is allowed. A program that still has kernels ends with the last of them. */
CLUMP_API void clump_program_destroy(clump_program *program);

/* What is known of it. Not NULL; of NULL, empty texts. */
CLUMP_API const clump_program_info *clump_program_get_info(const clump_program *program);

/* METHOD. The kernel `name`, whose first parameter must be CLUMP_HEAP or CLUMP_HEAP_NO_ALLOC. The
 * program makes it when it is asked for first, and keeps it: it is not destroyed by the caller, and
 * its parameters stay as they were set.
 * A name that some compiler has as a function or a type, such as `step`, is refused.
 * Blocks: no. Returns NULL on failure, with the context's error and the statuses of
 * clump_kernel_create(). The calls of run.h return that status and those words when they are given
 * this NULL, also if other calls come between: of several that failed, those of the last. */
CLUMP_API clump_kernel *clump_program_get_kernel(clump_program *program, const char *name);

/* METHOD. Set a parameter. `index` counts from 0 after the heap parameter and CLUMP_NUMBERS.
 * `value` NULL reserves
 * `bytes` of local memory. As clSetKernelArg: the value is copied.
 * Returns CLUMP_OK; CLUMP_ERR_USAGE no such parameter; CLUMP_ERR_CL, the error has the parameter's
 * type and name if the device keeps them. */
CLUMP_API clump_status clump_kernel_set_arg(clump_kernel *kernel, uint32_t index, size_t bytes,
                                            const void *value);

/* ---- Parameters by value --------------------------------------------------------------------- */

/* What a parameter is given. Made by CLUMP_ARG() and the functions below. */
typedef enum clump_arg_kind {
    CLUMP_ARG_SIGNED,
    CLUMP_ARG_UNSIGNED,
    CLUMP_ARG_FLOATING,
    CLUMP_ARG_MEMORY, /* a cl_mem */
    CLUMP_ARG_BYTES   /* `bytes` at `value`; NULL: local memory */
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
 * They are checked against the kernel's own: an integer must fit its type, a floating number is
 * rounded to float as in C and is not taken for an integer, a buffer is not a number. Where the
 * device does not tell types (programs that were not built from source), C's types are taken.
 * Returns NULL on failure, as clump_program_get_kernel() does: CLUMP_ERR_USAGE another number of
 * parameters, or a value that does not fit, and the error names the parameter; CLUMP_ERR_CL;
 * CLUMP_ERR_HOST_MEMORY. NULL for NULL. */
CLUMP_API clump_kernel *clump_kernel_with(clump_kernel *kernel, const clump_arg *args,
                                          uint32_t count);

#ifndef __cplusplus /* clump.hpp has its own */
/* `bytes` of local memory. */
static inline clump_arg clump_arg_local(size_t bytes) {
    return (clump_arg){CLUMP_ARG_BYTES, bytes, {.value = NULL}};
}
/* A struct or vector of `bytes`, which is read within the call. */
static inline clump_arg clump_arg_bytes(const void *value, size_t bytes) {
    return (clump_arg){CLUMP_ARG_BYTES, bytes, {.value = value}};
}
/* A buffer, an image or a pipe. */
static inline clump_arg clump_arg_memory(cl_mem memory) {
    return (clump_arg){CLUMP_ARG_MEMORY, sizeof memory, {.memory = memory}};
}
/* A signed integer, of any length. */
static inline clump_arg clump_arg_signed(long long value) {
    return (clump_arg){CLUMP_ARG_SIGNED, sizeof value, {.integer = value}};
}
/* An unsigned integer, of any length. */
static inline clump_arg clump_arg_unsigned(unsigned long long value) {
    return (clump_arg){CLUMP_ARG_UNSIGNED, sizeof value, {.natural = value}};
}
/* A signed integer. */
static inline clump_arg clump_arg_int(int value) {
    return (clump_arg){CLUMP_ARG_SIGNED, sizeof value, {.integer = value}};
}
/* An unsigned integer. */
static inline clump_arg clump_arg_uint(unsigned value) {
    return (clump_arg){CLUMP_ARG_UNSIGNED, sizeof value, {.natural = value}};
}
/* A number, which a parameter of type float or double takes. */
static inline clump_arg clump_arg_float(float value) {
    return (clump_arg){CLUMP_ARG_FLOATING, sizeof value, {.floating = (double)value}};
}
/* A number, as clump_arg_float(). */
static inline clump_arg clump_arg_double(double value) {
    return (clump_arg){CLUMP_ARG_FLOATING, sizeof value, {.floating = value}};
}
/* What was made already. */
static inline clump_arg clump_arg_itself(clump_arg arg) {
    return arg;
}

/* A number, a cl_mem, or what the functions above return. Numbers shorter than int count as int. */
/* clang-format off */
#define CLUMP_ARG(x)                                                                               \
    _Generic((x),                                                                                  \
             float: clump_arg_float, double: clump_arg_double,                                     \
             cl_mem: clump_arg_memory, clump_arg: clump_arg_itself,                                \
             unsigned: clump_arg_uint, unsigned long: clump_arg_unsigned,                          \
             unsigned long long: clump_arg_unsigned,                                               \
             long: clump_arg_signed, long long: clump_arg_signed, default: clump_arg_int)(x)
/* clang-format on */
/* Up to 12 of them, and their number. */
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
