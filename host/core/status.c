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

clump_status clumpi_tell(const clump_error *kept, clump_status status, clump_error *error) {
    if (!error) return status;
    if (!status)
        *error = (clump_error){0};
    else if (kept && kept->status == status)
        *error = *kept;
    else
        clumpi_fail(error, status, "a description or an object is NULL, but the call needs it");
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

const clump_error clumpi_error_of_null = {.status = CLUMP_ERR_USAGE,
                                          .message = "an argument is NULL, but the call needs it"};

clump_status(clumpi_fail_cl)(clump_error *error, const char *call, cl_int code, const char *format,
                             ...) {
    if (!error) return CLUMP_ERR_CL;
    begin(error, CLUMP_ERR_CL);
    error->cl_code = code;
    error->call = call;
    const char *name = clump_cl_code_name(code);
    int n = snprintf(error->message, sizeof error->message, "%s returned %s%s%d%s: ", call, name,
                     *name ? " (" : "", (int)code, *name ? ")" : "");
    va_list args;
    va_start(args, format);
    if (n > 0 && (size_t)n < sizeof error->message)
        vsnprintf(error->message + n, sizeof error->message - (size_t)n, format, args);
    va_end(args);
    return CLUMP_ERR_CL;
}

const char *clump_cl_code_name(int32_t code) {
#define CL_NAME(name)                                                                              \
    case name: return #name;
    switch (code) {
        CL_NAME(CL_DEVICE_NOT_FOUND)
        CL_NAME(CL_DEVICE_NOT_AVAILABLE)
        CL_NAME(CL_COMPILER_NOT_AVAILABLE)
        CL_NAME(CL_MEM_OBJECT_ALLOCATION_FAILURE)
        CL_NAME(CL_OUT_OF_RESOURCES)
        CL_NAME(CL_OUT_OF_HOST_MEMORY)
        CL_NAME(CL_PROFILING_INFO_NOT_AVAILABLE)
        CL_NAME(CL_MEM_COPY_OVERLAP)
        CL_NAME(CL_IMAGE_FORMAT_MISMATCH)
        CL_NAME(CL_IMAGE_FORMAT_NOT_SUPPORTED)
        CL_NAME(CL_BUILD_PROGRAM_FAILURE)
        CL_NAME(CL_MAP_FAILURE)
        CL_NAME(CL_MISALIGNED_SUB_BUFFER_OFFSET)
        CL_NAME(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST)
        CL_NAME(CL_COMPILE_PROGRAM_FAILURE)
        CL_NAME(CL_LINKER_NOT_AVAILABLE)
        CL_NAME(CL_LINK_PROGRAM_FAILURE)
        CL_NAME(CL_DEVICE_PARTITION_FAILED)
        CL_NAME(CL_KERNEL_ARG_INFO_NOT_AVAILABLE)
        CL_NAME(CL_INVALID_VALUE)
        CL_NAME(CL_INVALID_DEVICE_TYPE)
        CL_NAME(CL_INVALID_PLATFORM)
        CL_NAME(CL_INVALID_DEVICE)
        CL_NAME(CL_INVALID_CONTEXT)
        CL_NAME(CL_INVALID_QUEUE_PROPERTIES)
        CL_NAME(CL_INVALID_COMMAND_QUEUE)
        CL_NAME(CL_INVALID_HOST_PTR)
        CL_NAME(CL_INVALID_MEM_OBJECT)
        CL_NAME(CL_INVALID_IMAGE_FORMAT_DESCRIPTOR)
        CL_NAME(CL_INVALID_IMAGE_SIZE)
        CL_NAME(CL_INVALID_SAMPLER)
        CL_NAME(CL_INVALID_BINARY)
        CL_NAME(CL_INVALID_BUILD_OPTIONS)
        CL_NAME(CL_INVALID_PROGRAM)
        CL_NAME(CL_INVALID_PROGRAM_EXECUTABLE)
        CL_NAME(CL_INVALID_KERNEL_NAME)
        CL_NAME(CL_INVALID_KERNEL_DEFINITION)
        CL_NAME(CL_INVALID_KERNEL)
        CL_NAME(CL_INVALID_ARG_INDEX)
        CL_NAME(CL_INVALID_ARG_VALUE)
        CL_NAME(CL_INVALID_ARG_SIZE)
        CL_NAME(CL_INVALID_KERNEL_ARGS)
        CL_NAME(CL_INVALID_WORK_DIMENSION)
        CL_NAME(CL_INVALID_WORK_GROUP_SIZE)
        CL_NAME(CL_INVALID_WORK_ITEM_SIZE)
        CL_NAME(CL_INVALID_GLOBAL_OFFSET)
        CL_NAME(CL_INVALID_EVENT_WAIT_LIST)
        CL_NAME(CL_INVALID_EVENT)
        CL_NAME(CL_INVALID_OPERATION)
        CL_NAME(CL_INVALID_GL_OBJECT)
        CL_NAME(CL_INVALID_BUFFER_SIZE)
        CL_NAME(CL_INVALID_MIP_LEVEL)
        CL_NAME(CL_INVALID_GLOBAL_WORK_SIZE)
        CL_NAME(CL_INVALID_PROPERTY)
        CL_NAME(CL_INVALID_IMAGE_DESCRIPTOR)
        CL_NAME(CL_INVALID_COMPILER_OPTIONS)
        CL_NAME(CL_INVALID_LINKER_OPTIONS)
        CL_NAME(CL_INVALID_DEVICE_PARTITION_COUNT)
    }
#undef CL_NAME
    return "";
}

int clumpi_is_no_room(cl_int code) {
    return code == CL_MEM_OBJECT_ALLOCATION_FAILURE || code == CL_OUT_OF_RESOURCES ||
           code == CL_OUT_OF_HOST_MEMORY || code == CL_INVALID_BUFFER_SIZE;
}

const char *clump_version(void) {
    return CLUMP_VERSION_TEXT;
}
