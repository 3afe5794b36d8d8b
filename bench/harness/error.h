/* The words behind a failure, for all of bench/.
 *
 * A function that can fail takes a bench_error, returns 0 or -1, and leaves a sentence there when
 * it returns -1. Nothing below main.c prints an error.
 *
 * Read first: nothing.
 */
#ifndef BENCH_ERROR_H
#define BENCH_ERROR_H

#include "clump/context.h"

typedef struct bench_error {
    char text[2048];
} bench_error;

/* Each returns -1, for `return bench_error_set(...)`. */
int bench_error_set(bench_error *error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* `what` was tried, and the library's call failed: its own words, from the context's error. */
int bench_error_clump(bench_error *error, const char *what, const clump_context *context,
                      clump_status status);

/* `what` was tried, and an OpenCL call returned `code`. */
int bench_error_cl(bench_error *error, const char *what, cl_int code);

/* clang-tidy reads one file at a time: this shows it that all three fail. */
#ifdef __clang_analyzer__
#define bench_error_set(...) ((void)(bench_error_set)(__VA_ARGS__), -1)
#define bench_error_clump(...) ((void)(bench_error_clump)(__VA_ARGS__), -1)
#define bench_error_cl(...) ((void)(bench_error_cl)(__VA_ARGS__), -1)
#endif

#endif
