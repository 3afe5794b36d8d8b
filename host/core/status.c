/* Names and texts of status codes, and filling of error records. See include/clump/status.h. */
#include "clump/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/memory.h"

const char *clump_status_name(clump_status status) {
    switch (status) {
#define NAME_CASE(name, value, text)                                                               \
    case name: return #name;
        CLUMP_STATUS_LIST(NAME_CASE)
#undef NAME_CASE
    }
    return "CLUMP_ERR_?";
}

const char *clump_status_text(clump_status status) {
    switch (status) {
#define TEXT_CASE(name, value, text)                                                               \
    case name: return text;
        CLUMP_STATUS_LIST(TEXT_CASE)
#undef TEXT_CASE
    }
    return "not a status of this library";
}

static void set_message(clump_error *error, const char *format, va_list args) {
    vsnprintf(error->message, sizeof error->message, format, args);
}

/* Start a record: everything zero except the status. */
static void begin(clump_error *error, clump_status status) {
    memset(error, 0, offsetof(clump_error, message));
    error->status = status;
}

clump_status(clumpi_fail)(clump_error *error, clump_status status, const char *format, ...) {
    if (!error) return status;
    begin(error, status);
    va_list args;
    va_start(args, format);
    set_message(error, format, args);
    va_end(args);
    return status;
}

clump_status clumpi_fail_at(clump_error *error, clump_status status, uint32_t line, uint32_t column,
                            const char *format, ...) {
    if (!error) return status;
    begin(error, status);
    error->line = line;
    error->column = column;
    va_list args;
    va_start(args, format);
    set_message(error, format, args);
    va_end(args);
    return status;
}

clump_status(clumpi_fail_cl)(clump_error *error, const char *call, cl_int code, const char *format,
                             ...) {
    if (!error) return CLUMP_ERR_CL;
    begin(error, CLUMP_ERR_CL);
    error->cl_code = code;
    error->call = call;
    int n = snprintf(error->message, sizeof error->message, "%s returned %d: ", call, (int)code);
    va_list args;
    va_start(args, format);
    if (n > 0 && (size_t)n < sizeof error->message)
        vsnprintf(error->message + n, sizeof error->message - (size_t)n, format, args);
    va_end(args);
    return CLUMP_ERR_CL;
}

int clumpi_is_no_room(cl_int code) {
    return code == CL_MEM_OBJECT_ALLOCATION_FAILURE || code == CL_OUT_OF_RESOURCES ||
           code == CL_OUT_OF_HOST_MEMORY || code == CL_INVALID_BUFFER_SIZE;
}
