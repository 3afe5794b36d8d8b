/* Host memory and error records, for all files of host/.
 *
 * All host memory of the library goes through a clump_allocator, so that a user can account for it
 * and a test can make the n-th request fail. Read first: include/clump/context.h.
 */
#ifndef CLUMPI_MEMORY_H
#define CLUMPI_MEMORY_H

#include <stddef.h>

#include "clump/context.h"
#include "clump/write.h"
#include "core/sized.h"

/* A complete allocator: the user's, or malloc's where the user gave none. */
clump_allocator clumpi_allocator_resolve(const clump_allocator *allocator);

/* Zeroed memory, or NULL; bytes may be 0 (returns a unique pointer). */
void *clumpi_alloc(const clump_allocator *a, size_t bytes);

/* Grow an array to hold at least `needed` elements, doubling. Returns 0 and leaves all as it was if
 * memory runs out. `array` is the address of a pointer to the elements, whatever their type is;
 * that pointer may be NULL when *capacity is 0. New elements are not cleared. */
int clumpi_grow(const clump_allocator *a, void *array, size_t *capacity, size_t needed,
                size_t element_bytes);

void clumpi_free(const clump_allocator *a, void *memory); /* NULL is allowed */

/* A zero-terminated copy of `bytes` bytes of text, or NULL. */
char *clumpi_copy_text(const clump_allocator *a, const char *text, size_t bytes);

/* The kind of formats for the compiler's checks. MinGW-w64 has two, of which
 * __USE_MINGW_ANSI_STDIO, set by CMakeLists.txt, takes C's. */
#ifdef __MINGW32__
#define CLUMPI_PRINTF gnu_printf
#else
#define CLUMPI_PRINTF printf
#endif

/* Growing text. A failed append leaves `failed` set and the text as it was; check it once at the
 * end. Release with clumpi_free(text.data). */
typedef struct clumpi_text {
    const clump_allocator *allocator;
    char *data;
    size_t bytes, capacity;
    int failed;
} clumpi_text;

void clumpi_text_append(clumpi_text *text, const char *format, ...)
    __attribute__((format(CLUMPI_PRINTF, 2, 3)));
void clumpi_text_append_bytes(clumpi_text *text, const char *data, size_t bytes);

/* For JSON: a string in quotes, or null; a number from 0 to 1 with six places, with a point in
 * every locale. */
void clumpi_text_append_json(clumpi_text *text, const char *string);
void clumpi_text_append_share(clumpi_text *text, double share);

/* The end of a call that writes: if all went well so far, the whole text goes to the caller's
 * function; in any case it is released. `call` is for the error, which is that of the text, too. */
clump_status clumpi_text_write(clumpi_text *text, clump_status status, const char *call,
                               clump_write_fn write, void *user, clump_error *error);

/* Fill an error record (NULL is allowed) and return its status, for `return clumpi_fail(...)`. */
clump_status clumpi_fail(clump_error *error, clump_status status, const char *format, ...)
    __attribute__((format(CLUMPI_PRINTF, 3, 4)));

/* The same with a place in a text. */
clump_status clumpi_fail_at(clump_error *error, clump_status status, uint32_t line, uint32_t column,
                            const char *format, ...) __attribute__((format(CLUMPI_PRINTF, 5, 6)));

/* The end of a constructor: the caller's record, which may be NULL, gets what the context keeps.
 * `kept` is NULL where the constructor was not told of a context. */
clump_status clumpi_tell(const clump_error *kept, clump_status status, clump_error *error);

/* The last error of what is not there. */
extern const clump_error clumpi_error_of_null;

/* The same for an OpenCL call that returned `code`. */
clump_status clumpi_fail_cl(clump_error *error, const char *call, cl_int code, const char *format,
                            ...) __attribute__((format(CLUMPI_PRINTF, 4, 5)));

/* clang-tidy reads one file at a time: this shows it that a failure's status comes back. */
#ifdef __clang_analyzer__
#define clumpi_fail(error, status, ...) ((void)(clumpi_fail)(error, status, __VA_ARGS__), (status))
#define clumpi_fail_cl(...) ((void)(clumpi_fail_cl)(__VA_ARGS__), CLUMP_ERR_CL)
#endif

/* Whether an OpenCL call's code says that memory is lacking. */
int clumpi_is_no_room(cl_int code);

#endif
