/* Host memory and growing text. See memory.h. */
#include "core/memory.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *default_allocate(void *user, size_t bytes) {
    (void)user;
    return malloc(bytes);
}

static void *default_reallocate(void *user, void *memory, size_t bytes) {
    (void)user;
    return realloc(memory, bytes);
}

static void default_release(void *user, void *memory) {
    (void)user;
    free(memory);
}

clump_allocator clumpi_allocator_resolve(const clump_allocator *allocator) {
    if (allocator && allocator->allocate) return *allocator;
    return (clump_allocator){default_allocate, default_reallocate, default_release, NULL};
}

void *clumpi_alloc(const clump_allocator *a, size_t bytes) {
    void *memory = a->allocate(a->user, bytes ? bytes : 1);
    if (memory) memset(memory, 0, bytes ? bytes : 1);
    return memory;
}

int clumpi_grow(const clump_allocator *a, void *array, size_t *capacity, size_t needed,
                size_t element_bytes) {
    if (needed <= *capacity) return 1;
    size_t wanted = *capacity ? *capacity : 8;
    while (wanted < needed) {
        if (wanted > SIZE_MAX / 2 / element_bytes) return 0;
        wanted *= 2;
    }
    void *old; /* copied, not read through a void **, which the caller's pointer need not be */
    memcpy(&old, array, sizeof old);
    void *grown = old ? a->reallocate(a->user, old, wanted * element_bytes)
                      : a->allocate(a->user, wanted * element_bytes);
    if (!grown) return 0;
    memcpy(array, &grown, sizeof grown);
    *capacity = wanted;
    return 1;
}

void clumpi_free(const clump_allocator *a, void *memory) {
    if (memory) a->release(a->user, memory);
}

char *clumpi_copy_text(const clump_allocator *a, const char *text, size_t bytes) {
    char *copy = clumpi_alloc(a, bytes + 1);
    if (copy && bytes) memcpy(copy, text, bytes);
    return copy;
}

void clumpi_text_append_bytes(clumpi_text *text, const char *data, size_t bytes) {
    if (text->failed) return;
    if (!clumpi_grow(text->allocator, &text->data, &text->capacity, text->bytes + bytes + 1, 1)) {
        text->failed = 1;
        return;
    }
    if (bytes) memcpy(text->data + text->bytes, data, bytes);
    text->bytes += bytes;
    text->data[text->bytes] = 0;
}

void clumpi_text_append(clumpi_text *text, const char *format, ...) {
    if (text->failed) return;
    va_list args;
    va_start(args, format);
    int length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (length < 0 || !clumpi_grow(text->allocator, &text->data, &text->capacity,
                                   text->bytes + (size_t)length + 1, 1)) {
        text->failed = 1;
        return;
    }
    va_start(args, format);
    vsnprintf(text->data + text->bytes, (size_t)length + 1, format, args);
    va_end(args);
    text->bytes += (size_t)length;
}

void clumpi_text_append_json(clumpi_text *text, const char *string) {
    if (!string) {
        clumpi_text_append_bytes(text, "null", 4);
        return;
    }
    clumpi_text_append_bytes(text, "\"", 1);
    for (; *string; string++) {
        unsigned char c = (unsigned char)*string;
        if (c < 0x20)
            clumpi_text_append(text, "\\u%04x", c);
        else if (c == '"' || c == '\\')
            clumpi_text_append(text, "\\%c", c);
        else
            clumpi_text_append_bytes(text, string, 1);
    }
    clumpi_text_append_bytes(text, "\"", 1);
}

void clumpi_text_append_share(clumpi_text *text, double share) {
    unsigned millionths = (unsigned)(share * 1e6 + 0.5);
    clumpi_text_append(text, "%u.%06u", millionths / 1000000, millionths % 1000000);
}

int clump_write_to_path(void *path, const void *data, size_t bytes) {
    FILE *file = path ? fopen(path, "wb") : NULL;
    if (!file) return path ? errno : EINVAL;
    errno = 0; /* a stream is not bound to set it */
    int failed = fwrite(data, 1, bytes, file) != bytes;
    int code = errno;
    if (fclose(file) && !failed) failed = 1, code = errno;
    return failed && !code ? EIO : failed ? code : 0;
}

clump_status clumpi_text_write(clumpi_text *text, clump_status status, const char *call,
                               clump_write_fn write, void *user, clump_error *error) {
    int code = 0;
    if (!status && text->failed)
        status = clumpi_fail(error, CLUMP_ERR_HOST_MEMORY, "%s: no host memory for the text", call);
    if (!status) code = write(user, text->data, text->bytes);
    if (code && write == clump_write_to_path)
        status = clumpi_fail(error, CLUMP_ERR_IO, "%s: cannot write %s: %s", call,
                             user ? (const char *)user : "a file without a name", strerror(code));
    else if (code)
        status = clumpi_fail(error, CLUMP_ERR_IO,
                             "%s: the function that receives the text returned %d", call, code);
    clumpi_free(text->allocator, text->data);
    return status;
}
