/* The words behind a failure: see error.h. */
#include "error.h"

#include <stdarg.h>
#include <stdio.h>

int(bench_error_set)(bench_error *error, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error->text, sizeof error->text, format, arguments);
    va_end(arguments);
    return -1;
}

int(bench_error_clump)(bench_error *error, const char *what, const clump_context *context,
                       clump_status status) {
    /* A schema that does not parse fails without a context's knowledge: then the name must do. */
    const clump_error *detail = context ? clump_context_get_error(context) : NULL;
    const char *words = detail && detail->status == status ? detail->message : "no words";
    return bench_error_set(error, "%s: %s (%s)", what, words, clump_status_name(status));
}

int(bench_error_cl)(bench_error *error, const char *what, cl_int code) {
    return bench_error_set(error, "%s: OpenCL error %d", what, code);
}
