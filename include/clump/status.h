/* Status codes, and the error record that explains the last failure.
 *
 * Every fallible call of the library returns a clump_status: 0 is success, failures are negative.
 * A call that fails changes nothing, unless its comment says what. A clump_error says why it failed (what
 * was wrong, where, what would be right): see clump_context_get_error() and
 * the `error` parameter of the schema calls. Nothing is ever printed.
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

/* name, value, sentence. The one list from which enum, names and texts are made. */
#define CLUMP_STATUS_LIST(X)                                                                       \
    X(CLUMP_OK, 0, "success")                                                                      \
    X(CLUMP_ERR_USAGE, -1, "a call was misused: an argument or the order of calls is wrong")       \
    X(CLUMP_ERR_MEMORY, -2, "host memory could not be allocated")                                  \
    X(CLUMP_ERR_SCHEMA, -3, "the schema is not valid")                                             \
    X(CLUMP_ERR_UNSUPPORTED, -4, "the device lacks what the call needs")                           \
    X(CLUMP_ERR_CAPACITY, -5, "the request does not fit the memory or the limits given")           \
    X(CLUMP_ERR_CL, -6, "an OpenCL call failed")                                                   \
    X(CLUMP_ERR_BUILD, -7, "the OpenCL program did not build")                                     \
    X(CLUMP_ERR_NOT_FOUND, -8, "nothing has that name: a class, field, kernel, file or device")    \
    X(CLUMP_ERR_DEVICE, -9, "a kernel reported an error on the device")                            \
    X(CLUMP_ERR_CORRUPT, -10, "an invariant of the heap does not hold")                            \
    X(CLUMP_ERR_REFERENCE, -11, "a reference names no live object of the class")                   \
    X(CLUMP_ERR_IO, -12, "a file could not be read or written")                                    \
    X(CLUMP_ERR_FORMAT, -13, "a file is cut off, altered, of another kind or of a newer version")  \
    X(CLUMP_ERR_RANK, -14, "another rank of MPI failed, or gave no answer in time")

/* What a call returns. */
typedef enum clump_status {
#define CLUMP_STATUS_ENUM(name, value, text) name = (value),
    CLUMP_STATUS_LIST(CLUMP_STATUS_ENUM)
#undef CLUMP_STATUS_ENUM
} clump_status;

/* Of clump_error.message, the terminating zero included. */
#define CLUMP_ERROR_MESSAGE_BYTES 2048

/* What went wrong last. Plain data: copy it, compare it, print it. */
typedef struct clump_error {
    clump_status status;   /* CLUMP_OK: nothing failed yet */
    int32_t cl_code;       /* the OpenCL error code, 0 if no OpenCL call failed */
    const char *call;      /* static string: the OpenCL function that failed, or NULL */
    uint32_t line, column; /* 1-based place in a schema text or user source; 0 if none */
    char message[CLUMP_ERROR_MESSAGE_BYTES]; /* a sentence; zero-terminated, cut if too long */
} clump_error;

/* The enumerator's own name, "CLUMP_ERR_USAGE"; "CLUMP_ERR_?" for a value that is none. Static. */
CLUMP_API const char *clump_status_name(clump_status status);

/* One sentence for the status. Static string, never NULL. */
CLUMP_API const char *clump_status_text(clump_status status);

/* The name of an OpenCL error code, "CL_INVALID_VALUE"; "" for one that OpenCL 1.2 does not have. Static. */
CLUMP_API const char *clump_cl_code_name(int32_t code);

#ifdef __cplusplus
}
#endif
#endif
