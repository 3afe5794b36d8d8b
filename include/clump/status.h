/* Status codes, and the error record that explains the last failure.
 *
 * A call of the library that can fail returns a clump_status: 0 is success, failures are negative.
 * The exceptions are clump_program_get_kernel() and clump_kernel_with(), which return NULL
 * (program.h), and clump_write_to_path(), which returns an errno (write.h). A call that fails
 * changes nothing, unless its comment says otherwise. A clump_error explains the failure: the
 * cause, the place, and the correct value. See clump_context_get_error() and the `error` parameter
 * of the constructors. The library never prints anything.
 *
 * The comment of a call lists the statuses that it can return. These statuses are possible for all
 * calls, listed or not:
 *   CLUMP_ERR_USAGE        An argument is NULL although its comment does not say "optional" or
 *                          "allowed". If the object itself is NULL, no error record is filled in.
 *   CLUMP_ERR_HOST_MEMORY  The call needs host memory.
 *   CLUMP_ERR_CL           The call uses the device.
 *   CLUMP_ERR_DEVICE       A kernel reported an error that no call has returned yet, and the call
 *                          waits for values, counts or a reduction, or saves, loads, extracts or
 *                          inserts objects, or compacts with an order or a report, or is a step of
 *                          a compactor or collector that counts blocks: see
 *                          clump_heap_desc.errors_on_request.
 *   CLUMP_ERR_BUILD, CLUMP_ERR_UNSUPPORTED
 *                          The call runs kernels of the library. The first call that needs such a
 *                          kernel builds it. The device's compiler refuses it, or runs it only in
 *                          work-groups that are too small. Nothing was changed then.
 *
 * Read first: nothing. Read next: context.h.
 */
#ifndef CLUMP_STATUS_H
#define CLUMP_STATUS_H

#include <stdint.h>

#include "clump/export.h"

#ifdef __cplusplus
extern "C" {
#endif

/* name, value, text. Both the enumeration and the names are made from this list. */
#define CLUMP_STATUS_LIST(X)                                                                       \
    X(CLUMP_OK, 0, "success")                                                                      \
    X(CLUMP_ERR_USAGE, -1, "a call was misused: an argument or the order of calls is wrong")       \
    X(CLUMP_ERR_HOST_MEMORY, -2, "host memory could not be allocated")                             \
    X(CLUMP_ERR_SCHEMA, -3, "a schema is not valid, or two schemas do not fit together")           \
    X(CLUMP_ERR_UNSUPPORTED, -4,                                                                   \
      "the device, or this library as built, lacks what the call needs")                           \
    X(CLUMP_ERR_DEVICE_MEMORY, -5,                                                                 \
      "the device, the heap or the pool has no room for it, or a limit forbids it")                \
    X(CLUMP_ERR_CL, -6, "an OpenCL call failed")                                                   \
    X(CLUMP_ERR_BUILD, -7, "the OpenCL program did not build")                                     \
    X(CLUMP_ERR_NOT_FOUND, -8, "nothing has that name: a class, field, kernel or device")          \
    X(CLUMP_ERR_DEVICE, -9, "a kernel reported an error on the device")                            \
    X(CLUMP_ERR_CORRUPT, -10, "an invariant of the heap does not hold")                            \
    X(CLUMP_ERR_REFERENCE, -11, "a reference names no live object of the class")                   \
    X(CLUMP_ERR_IO, -12, "a file could not be read or written")                                    \
    X(CLUMP_ERR_FORMAT, -13, "a file is cut off, altered, of another kind or of a newer version")  \
    X(CLUMP_ERR_RANK, -14, "another rank of MPI failed, or gave no answer in time")                \
    X(CLUMP_ERR_TOO_SMALL, -15, "an array or buffer of the caller's has too little room")

/* The result of a call. */
typedef enum clump_status {
#define CLUMP_STATUS_ENUM(name, value, text) name = (value),
    CLUMP_STATUS_LIST(CLUMP_STATUS_ENUM)
#undef CLUMP_STATUS_ENUM
} clump_status;

/* Size of clump_error.message in bytes, including the terminating zero. */
#define CLUMP_ERROR_MESSAGE_BYTES 2048

/* The last failure. Plain data: copy it, compare it, print it. */
typedef struct clump_error {
    clump_status status;   /* CLUMP_OK: nothing failed yet */
    int32_t cl_code;       /* the OpenCL error code, 0 if no OpenCL call failed */
    const char *call;      /* static string: the OpenCL function that failed, or "the wait list" for
                              an event that had failed. NULL: neither */
    uint32_t line, column; /* 1-based place in a schema text or user source, or 0 */
    char message[CLUMP_ERROR_MESSAGE_BYTES]; /* a sentence, zero-terminated, cut if too long */
} clump_error;

/* Return the enumerator's name, such as "CLUMP_ERR_USAGE", or "CLUMP_ERR_?" for an invalid value.
 * The string is static. */
CLUMP_API const char *clump_status_name(clump_status status);

/* Return the version of the library that runs, such as "0.1.0". CLUMP_VERSION_TEXT (export.h) is
 * the version of the headers. The string is static. */
CLUMP_API const char *clump_version(void);

/* Return the name of an OpenCL error code, such as "CL_INVALID_VALUE". The result is "" for a code
 * that the library does not know: 0, codes of later versions and of extensions, and a few codes of
 * OpenCL 1.2, such as CL_INVALID_HOST_PTR. The string is static. */
CLUMP_API const char *clump_cl_code_name(int32_t code);

#ifdef __cplusplus
}
#endif
#endif
