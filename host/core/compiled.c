/* Programs compiled ahead of time (clump_compiled): SPIR-V of clump-compile in place of source.
 *
 * Invariant: nothing here fails a build or touches the error record. An entry is used only if its
 * SHA-256 holds and its key is that of the text and the options which would be compiled; in any
 * other case the program is built from its source, and the note says why.
 *
 * Read first: core.h, build.c, compiled_key.h.
 */
#include <string.h>

#include "core/compiled_key.h"
#include "core/core.h"
#include "core/device.h"

#ifndef CL_DEVICE_IL_VERSION_KHR
#define CL_DEVICE_IL_VERSION_KHR 0x105B
#endif

/* An entry where it lies. */
typedef struct entry {
    const char *data, *key, *log, *parameters, *il;
    size_t bytes;
    clumpi_compiled_header header;
} entry;

/* Takes a part off what is left. */
static const char *take(const char **at, uint64_t bytes, size_t *left) {
    const char *part = *at;
    if (bytes > *left) return NULL;
    *at += bytes;
    *left -= (size_t)bytes;
    return part;
}

/* The entry at the begin of the data; returns 0 if there is no whole one. */
static int read_entry(const char *data, size_t left, entry *e) {
    const char *at = data;
    if (!take(&at, sizeof e->header, &left)) return 0;
    memcpy(&e->header, data, sizeof e->header);
    const clumpi_compiled_header *h = &e->header;
    e->data = data;
    if (memcmp(h->magic, CLUMPI_COMPILED_MAGIC, sizeof h->magic) != 0 ||
        !(e->key = take(&at, h->key_bytes, &left)) || !(e->log = take(&at, h->log_bytes, &left)) ||
        !(e->parameters = take(&at, h->parameter_bytes, &left)) ||
        !(e->il = take(&at, h->il_bytes, &left)))
        return 0;
    e->bytes = (size_t)(at - data);
    return 1;
}

clump_status clumpi_compiled_open(clump_context *c, const clump_compiled *compiled) {
    const char *at = compiled->data;
    size_t left = compiled->bytes;
    entry e;
    if (!at != !left)
        return clumpi_fail(&c->error, CLUMP_ERR_USAGE,
                           "clump_compiled: set both `data` and `bytes`, or neither");
    for (; left; at += e.bytes, left -= e.bytes)
        if (!read_entry(at, left, &e))
            return clumpi_fail(&c->error, CLUMP_ERR_USAGE,
                               "clump_compiled: byte %zu of %zu is not the beginning of a complete "
                               "program of clump-compile",
                               compiled->bytes - left, compiled->bytes);
    c->compiled = *compiled;
    return CLUMP_OK;
}

typedef cl_program(CL_API_CALL *create_with_il)(cl_context, const void *, size_t, cl_int *);

/* NULL: the device takes no SPIR-V. */
static create_with_il find_function(clump_context *c) {
    char versions[1024] = "";
    cl_platform_id platform = NULL;
    if (!clumpi_device_has(&c->cl, c->device, &c->allocator, "cl_khr_il_program") ||
        c->cl.GetDeviceInfo(c->device, CL_DEVICE_IL_VERSION_KHR, sizeof versions, versions, NULL) ||
        !strstr(versions, "SPIR-V") ||
        c->cl.GetDeviceInfo(c->device, CL_DEVICE_PLATFORM, sizeof platform, &platform, NULL))
        return NULL;
    void *address =
        c->cl.GetExtensionFunctionAddressForPlatform(platform, "clCreateProgramWithILKHR");
    create_with_il function = NULL;
    memcpy(&function, &address, sizeof function); /* C has no conversion between the two */
    return function;
}

/* ---- Why no entry fits ---- */

static const struct {
    const char *word, *text;
    int is_told; /* its values are for people */
} lines[] = {{"library", "by another version of the library", 0},
             {"schema", "for other classes or a heap of another size", 0},
             {"kernels", "from other kernels", 0},
             {"heap", "for heaps with other constants", 1},
             {"options", "with other options", 1}};
#define LINES (sizeof lines / sizeof *lines)

static int is_equal(const entry *e, const char *key, size_t key_bytes, const char *word) {
    size_t bytes, wanted_bytes;
    const char *value = clumpi_compiled_value(e->key, (size_t)e->header.key_bytes, word, &bytes);
    const char *wanted = clumpi_compiled_value(key, key_bytes, word, &wanted_bytes);
    return (!value && !wanted) ||
           (value && wanted && bytes == wanted_bytes && memcmp(value, wanted, bytes) == 0);
}

/* The one of which most lines are equal. Returns how many. */
static uint32_t find_nearest(const clump_compiled *compiled, const char *key, size_t key_bytes,
                             entry *nearest) {
    const char *at = compiled->data, *end = at + compiled->bytes;
    uint32_t best = 0;
    entry e;
    for (; at < end && read_entry(at, (size_t)(end - at), &e); at += e.bytes) {
        size_t bytes;
        if (!clumpi_compiled_value(e.key, (size_t)e.header.key_bytes, "kernels", &bytes) !=
            !clumpi_compiled_value(key, key_bytes, "kernels", &bytes))
            continue; /* one is the library's own program */
        uint32_t count = 1;
        for (size_t i = 0; i < LINES; i++)
            count += (uint32_t)is_equal(&e, key, key_bytes, lines[i].word);
        if (count > best) {
            *nearest = e;
            best = count;
        }
    }
    return best;
}

static void say_difference(clumpi_text *note, const char *key, size_t key_bytes, const entry *e) {
    const char *between = " was compiled ";
    for (size_t i = 0; i < LINES; i++) {
        if (is_equal(e, key, key_bytes, lines[i].word)) continue;
        clumpi_text_append(note, "%s%s", between, lines[i].text);
        between = ", ";
        if (!lines[i].is_told) continue;
        size_t bytes, wanted_bytes;
        const char *value =
            clumpi_compiled_value(e->key, (size_t)e->header.key_bytes, lines[i].word, &bytes);
        const char *wanted = clumpi_compiled_value(key, key_bytes, lines[i].word, &wanted_bytes);
        if (value && wanted)
            clumpi_text_append(note, " (%.*s instead of %.*s)", (int)bytes, value,
                               (int)wanted_bytes, wanted);
    }
}

/* ---- Loading ---- */

/* Whether it is undamaged. */
static int check(clump_context *c, const entry *e) {
    char *copy = clumpi_alloc(&c->allocator, e->bytes);
    if (!copy) return 0;
    uint8_t digest[CLUMPI_SHA256_BYTES];
    memcpy(copy, e->data, e->bytes);
    memset(copy + offsetof(clumpi_compiled_header, digest), 0, sizeof digest);
    clumpi_sha256(copy, e->bytes, digest);
    clumpi_free(&c->allocator, copy);
    return memcmp(digest, e->header.digest, sizeof digest) == 0;
}

/* The preprocessor has run, and the language is chosen. What is left is for the device's own
 * compiler, such as
 * -cl-denorms-are-zero, of which SPIR-V has nothing. */
static void append_device_options(clumpi_text *t, const char *options) {
    static const char *const done[] = {"-cl-std=", "-cl-kernel-arg-info"};
    size_t bytes;
    for (const char *at = options; *at; at += bytes) {
        at += strspn(at, " ");
        bytes = strcspn(at, " ");
        if (strncmp(at, "-cl-", 4) != 0 || strncmp(at, done[0], strlen(done[0])) == 0 ||
            strncmp(at, done[1], strlen(done[1])) == 0)
            continue;
        clumpi_text_append_bytes(t, at, bytes);
        clumpi_text_append_bytes(t, " ", 1);
    }
}

static int build_il(clump_context *c, const entry *e, const char *options, create_with_il create,
                    cl_program *program, clumpi_text *note) {
    cl_int code = CL_SUCCESS;
    clumpi_text left = {.allocator = &c->allocator};
    clumpi_text_append_bytes(&left, "", 0);
    append_device_options(&left, options);
    if (left.failed) {
        clumpi_free(&c->allocator, left.data);
        return 0;
    }
    cl_program p = create(c->context, e->il, (size_t)e->header.il_bytes, &code);
    const char *call = "clCreateProgramWithILKHR";
    if (!code) {
        call = "clBuildProgram";
        code = c->cl.BuildProgram(p, 1, &c->device, left.data, NULL, NULL);
        if (code) c->cl.ReleaseProgram(p);
    }
    clumpi_free(&c->allocator, left.data);
    if (code)
        clumpi_text_append(note, "the device's compiler rejects the SPIR-V: %s returned %d", call,
                           code);
    else
        *program = p;
    return !code;
}

static int copy_texts(clump_context *c, const entry *e, clumpi_user_texts *texts) {
    texts->log = clumpi_copy_text(&c->allocator, e->log, (size_t)e->header.log_bytes);
    texts->parameters =
        clumpi_copy_text(&c->allocator, e->parameters, (size_t)e->header.parameter_bytes);
    return texts->log && texts->parameters;
}

/* As clumpi_compiled_load(); the note says why not. */
static int load(clump_context *c, const char *key, size_t key_bytes, const char *options,
                cl_program *program, clumpi_user_texts *texts, clumpi_text *note) {
    entry e;
    create_with_il create = find_function(c);
    if (!create) {
        clumpi_text_append(note, "the device does not accept SPIR-V");
        return 0;
    }
    uint32_t equal = find_nearest(&c->compiled, key, key_bytes, &e);
    if (!equal) {
        clumpi_text_append(note, "no compiled program of kernels is available");
        return 0;
    }
    if (equal <= LINES) {
        clumpi_text_append(note, "the nearest compiled program");
        say_difference(note, key, key_bytes, &e);
        return 0;
    }
    if (!check(c, &e)) {
        clumpi_text_append(note, "the compiled program is damaged");
        return 0;
    }
    if (texts && !copy_texts(c, &e, texts)) return 0;
    return build_il(c, &e, options, create, program, note);
}

int clumpi_compiled_load(clump_context *c, const char *source, const char *options,
                         cl_program *program, clumpi_user_texts *texts, clumpi_text *note) {
    if (!c->compiled.bytes) return 0;
    char *key = clumpi_alloc(&c->allocator, clumpi_compiled_key_room(options));
    if (!key) return 0;
    clumpi_text_append(note, "note: built from source: ");
    int found =
        load(c, key, clumpi_compiled_key(source, options, key), options, program, texts, note);
    clumpi_free(&c->allocator, key);
    clumpi_text_append(note, "\n");
    if (found) {
        clumpi_free(&c->allocator, note->data);
        *note = (clumpi_text){.allocator = &c->allocator};
        clumpi_text_append(note, "note: compiled ahead of time\n");
    } else if (texts) {
        clumpi_user_texts_clear(c, texts);
    }
    return found;
}
