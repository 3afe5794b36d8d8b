/* Programs and kernels: the user's OpenCL C, compiled together with the schema of a heap.
 *
 * Before the user's source the library puts the code generated from the schema (a reference type, field
 * accessors, new and free per class) and the device API (cl/api/device_api.clh documents it). Build
 * messages name the user's file and lines.
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

/* What a program is made of: a heap and a source. The rest may be zero. */
typedef struct clump_program_desc {
    clump_heap *heap;    /* required; any heap with an equal layout can run the program */
    const char *source;  /* required; OpenCL C, zero-terminated; copied */
    const char *name;    /* what build messages call the source; default "program.cl" */
    const char *options; /* more build options, such as -D and -I; default none */
    int checked; /* 1: every field access verifies its reference (slow; for debugging). A program
                            for a checked heap (checked.h) has that heap's checks, whatever this is */
    int strict;  /* 1: a program that compiles with warnings is refused, as if they were errors */
    const struct clump_alloc_tuning *tuning; /* experimental.h. NULL: as is best */
} clump_program_desc;

/* CONSTRUCTOR. Compile. Blocks: yes, while the device's compiler runs.
 * Returns CLUMP_OK; CLUMP_ERR_BUILD: the context's error has the first lines of the build log, line
 * and column in the user's source if the log names them, clump_program_get_log() has all of it and
 * *program is NOT NULL but can run nothing; CLUMP_ERR_USAGE; CLUMP_ERR_CL; CLUMP_ERR_HOST_MEMORY. */
CLUMP_API clump_status clump_program_create(const clump_program_desc *desc,
                                            clump_program **program);

/* DESTRUCTOR. NULL is allowed. A program that still has kernels ends with the last of them. */
CLUMP_API void clump_program_destroy(clump_program *program);

/* How many warnings the build log has. A driver that keeps what it compiled, as NVIDIA's, may tell them
 * only the first time; `strict` sees them each time. */
CLUMP_API uint32_t clump_program_get_warning_count(const clump_program *program);

/* The whole build log, "" if there was nothing to say. Lives as long as the program. */
CLUMP_API const char *clump_program_get_log(const clump_program *program);

/* Everything handed to the compiler, readable, with #line marks: the dump of the generated code; and the options of
 * the build. Both live as long as the program. */
CLUMP_API const char *clump_program_get_source(const clump_program *program);
CLUMP_API const char *clump_program_get_options(const clump_program *program);

/* CONSTRUCTOR. The kernel `name`, whose first parameter must be CLUMP_HEAP or CLUMP_HEAP_NO_ALLOC.
 * Returns CLUMP_OK; CLUMP_ERR_NOT_FOUND, the error lists the kernels that there are; CLUMP_ERR_USAGE first parameter
 * is no heap, or the name is that of a built-in function or a word of OpenCL C (mix, step), which some
 * implementations compile and then do not find; CLUMP_ERR_UNSUPPORTED the device runs it only in work-groups that are
 * smaller than a row (64) where the library's kernels for GPUs are used; CLUMP_ERR_CL; CLUMP_ERR_HOST_MEMORY. */
CLUMP_API clump_status clump_kernel_create(clump_program *program, const char *name,
                                           clump_kernel **kernel);

/* DESTRUCTOR. NULL is allowed. */
CLUMP_API void clump_kernel_destroy(clump_kernel *kernel);

/* METHOD. Set a parameter. `index` counts from 0 after the heap parameter and CLUMP_NUMBERS. `value` NULL
 * reserves
 * `bytes` of local memory. As clSetKernelArg: the value is copied.
 * Returns CLUMP_OK; CLUMP_ERR_USAGE no such parameter; CLUMP_ERR_CL, the error has the parameter's type and
 * name if the device keeps them. */
CLUMP_API clump_status clump_kernel_set_arg(clump_kernel *kernel, uint32_t index, size_t bytes,
                                            const void *value);

/* METHOD. How many parameters clump_kernel_set_arg() can set; of a fused kernel none. */
CLUMP_API uint32_t clump_kernel_get_arg_count(const clump_kernel *kernel);

#ifdef __cplusplus
}
#endif
#endif
