/* Keys of programs compiled ahead of time. Also a part of the tool clump-compile, so nothing else
 * of the library is used.
 *
 * Read first: compiled_key.h; how a program's text is put together: host/heap/program.c.
 */
#include "core/compiled_key.h"

#include <stdio.h>
#include <string.h>

/* The opening constants are a few lines; what is longer is cut, in all keys alike. */
#define CONSTANTS_MAX 512u

size_t clumpi_compiled_key_room(const char *options) {
    const size_t digest = 2 * (size_t)CLUMPI_SHA256_BYTES + 16; /* a word, its digits, a blank */
    return strlen(options) + CONSTANTS_MAX + 4 * digest;
}

static char *put_digest(char *at, const char *word, const char *from, const char *end) {
    uint8_t digest[CLUMPI_SHA256_BYTES];
    clumpi_sha256(from, (size_t)(end - from), digest);
    at += sprintf(at, "%s ", word);
    for (size_t i = 0; i < sizeof digest; i++) at += sprintf(at, "%02x", digest[i]);
    *at++ = '\n';
    return at;
}

/* "#define CLUMPI_NAME VALUE" of each line, without what is alike in all. */
static char *put_constants(char *at, const char *from, const char *end) {
    static const char define[] = "#define CLUMPI_";
    const char *most = at + CONSTANTS_MAX - 1;
    at += sprintf(at, "heap ");
    for (int first = 1; from < end; first = 0) {
        const char *line_end = memchr(from, '\n', (size_t)(end - from));
        if (!line_end) line_end = end;
        if (strncmp(from, define, sizeof define - 1) == 0) from += sizeof define - 1;
        if (!first && at < most) *at++ = ',';
        if (!first && at < most) *at++ = ' ';
        while (from < line_end && at < most) *at++ = *from++;
        from = line_end + 1;
    }
    *at++ = '\n';
    return at;
}

size_t clumpi_compiled_key(const char *source, const char *options, char *key) {
    static const char generated[] = "#line 1 \"(generated from the schema)\"\n",
                      part[] = "#line 1 \"";
    const char *end = source + strlen(source), *code = strstr(source, part);
    const char *schema = strstr(source, generated);
    const char *user = schema ? strstr(schema + sizeof generated - 1, part) : NULL;
    const char *kernels = user ? strchr(user, '\n') : NULL;
    char *at = key;
    if (!code || !kernels) {
        at = put_digest(at, "library", source, end);
    } else {
        at = put_digest(at, "library", code, schema);
        at = put_digest(at, "schema", schema, user);
        at = put_digest(at, "kernels", kernels, end);
        at = put_constants(at, source, code);
    }
    at += sprintf(at, "options %s\n", options);
    return (size_t)(at - key);
}

const char *clumpi_compiled_value(const char *key, size_t key_bytes, const char *word,
                                  size_t *bytes) {
    size_t length = strlen(word);
    for (const char *at = key, *end = key + key_bytes, *next; at < end; at = next + 1) {
        next = memchr(at, '\n', (size_t)(end - at));
        if (!next) break;
        if ((size_t)(next - at) > length && memcmp(at, word, length) == 0 && at[length] == ' ') {
            *bytes = (size_t)(next - at) - length - 1;
            return at + length + 1;
        }
    }
    *bytes = 0;
    return NULL;
}
