/* A device that is none: it answers what the library asks of a device as the command line says, its
 * buffers hold nothing, and its compiler is clang with llvm-spirv. So clump-compile compiles what
 * the library would compile, by the library itself, with its words for what is wrong.
 *
 * Invariant: nothing is launched. After a failure `failure` has words, or the library's error says
 * it.
 *
 * Read next: device.c, clang.c, spirv.c.
 */
#ifndef COMPILE_DEVICE_H
#define COMPILE_DEVICE_H

#include "clump/all.h"

/* What is asked for. */
typedef struct compile_target {
    const char *language;          /* "CL1.2", "CL2.0" or "CL3.0" */
    uint32_t features;             /* clump_feature bits */
    clump_personality personality; /* CPU or GPU */
    int only_source;               /* nothing is compiled, and all programs count as good */
    int only_bitcode;              /* compile_run() makes LLVM's bitcode, and no SPIR-V of it */
    const char *clang, *llvm_spirv;
} compile_target;

/* What the compiler made of a program. */
typedef struct compile_result {
    char *log; /* "" if there is nothing to say; NULL without memory */
    /* a line for each kernel: "KERNEL 1 FIRST SECOND", with 0 if the first does not point to
     * const */
    char *parameters;
    char *il; /* NULL: it does not compile */
    size_t il_bytes;
} compile_result;

/* Runs clang, llvm-spirv and, where it is installed, spirv-val. Returns 0; -1 if a program could
 * not be run or refused what the one before made, after words on standard error. */
int compile_run(const compile_target *target, const char *source, const char *options,
                compile_result *result);
void compile_result_clear(compile_result *result);

/* Takes out of a module, for the validator, what the rules of OpenCL 2.2 do not know and devices
 * have: its instructions become others that have a result of the same type. Returns whether there
 * was something. */
int compile_spirv_leave_out(uint32_t *words, size_t count);

/* A file of entries, as host/core/compiled_key.h has it. */
typedef struct compile_file {
    char *data;
    size_t bytes;
    int failed; /* a tool could not be run, or there was no memory: words were written */
} compile_file;

/* Opens the context of such a device. Programs that are built go to `file`, which stays the
 * caller's. One at a time. */
clump_status compile_device_open(const compile_target *target, compile_file *file,
                                 clump_context **context, clump_error *error);

#endif
