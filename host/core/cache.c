/* Built programs that are kept between processes (clump_cache).
 *
 * An entry is a header, the key, the build log, the parameters of the kernels and the binary. The
 * key is a text: device, driver, platform, options, SHA-256 of the source. The entry's name is the
 * key's SHA-256.
 *
 * Invariant: nothing here fails a call or touches the error record. An entry is used only if its
 * SHA-256 holds and its key is the one that was asked for; in any other case the program is built
 * from its source and stored anew. A file appears under its name only when it is complete.
 *
 * Read first: core.h, build.c, sha256.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/core.h"
#include "core/files.h"
#include "core/sha256.h"

#define MAGIC "clump 3" /* with its zero: 8 bytes */
#define DEVICES_MAX 64  /* of a cl_context; programs of one with more are not kept */

/* What follows the header: key, log, parameters, binary. */
typedef struct header {
    char magic[8];
    uint64_t key_bytes, log_bytes, parameter_bytes, binary_bytes;
    uint8_t digest[CLUMPI_SHA256_BYTES]; /* of the whole entry, with zeros here */
} header;

/* ---- A folder ---- */

/* Loads as clump_cache.load() does. Only regular files: others may block. */
static size_t load_file(void *user, const char *name, void *data, size_t bytes) {
    clump_context *c = user;
    clumpi_text path = {.allocator = &c->allocator};
    clumpi_text_append(&path, "%s/%s", c->cache.folder, name);
    int file = path.failed ? -1 : clumpi_file_open_now(path.data);
    clumpi_free(&c->allocator, path.data);
    if (file < 0) return 0;
    struct stat info;
    size_t size = 0;
    if (fstat(file, &info) == 0 && S_ISREG(info.st_mode) && info.st_size > 0)
        size = (size_t)info.st_size;
    size_t done = 0;
    if (size <= bytes) (void)clumpi_file_read(file, data, size, &done);
    close(file);
    return size <= bytes && done < size ? 0 : size;
}

/* Make the folders above the last '/' of the path. */
static void make_folders(char *path) {
    for (char *at = strchr(path + 1, '/'); at; at = strchr(at + 1, '/')) {
        *at = 0;
        clumpi_folder_make(path);
        *at = '/';
    }
}

/* A file of its own first, which is then put in place at once: of what a link leads to, and also of
 * what is no file, since the name is the cache's own. */
static void store_file(void *user, const char *name, const void *data, size_t bytes) {
    clump_context *c = user;
    clumpi_text path = {.allocator = &c->allocator}, part = {.allocator = &c->allocator};
    clumpi_place place;
    clumpi_text_append(&path, "%s/%s", c->cache.folder, name);
    if (!path.failed) make_folders(path.data);
    const int is_found =
        !path.failed && (!clumpi_place_find(&place, path.data) || place.is_special);
    clumpi_text_append(&part, "%s.XXXXXX", is_found ? place.path : "");
    int file = is_found && !part.failed ? clumpi_file_create_own(part.data) : -1;
    if (file >= 0) {
        int failed = clumpi_file_write(file, data, bytes) != 0;
        failed |= clumpi_place_adopt(&place, file) != 0;
        failed |= close(file) != 0;
        if (failed)
            unlink(part.data);
        else
            (void)clumpi_file_replace(-1, part.data, place.path);
    }
    clumpi_free(&c->allocator, path.data);
    clumpi_free(&c->allocator, part.data);
}

clump_status clumpi_cache_open(clump_context *c, const clump_cache *cache) {
    if (!cache->load != !cache->store || (cache->folder && cache->load))
        return clumpi_fail(&c->error, CLUMP_ERR_USAGE,
                           "clump_cache: set folder, or both load and store, or none of the three");
    c->cache = *cache;
    if (!cache->folder) return CLUMP_OK;
    if (!*cache->folder)
        return clumpi_fail(&c->error, CLUMP_ERR_USAGE, "clump_cache: folder is an empty string");
    const char *folder = clumpi_copy_text(&c->allocator, cache->folder, strlen(cache->folder));
    c->cache = (clump_cache){folder, load_file, store_file, c};
    return folder ? CLUMP_OK
                  : clumpi_fail(&c->error, CLUMP_ERR_HOST_MEMORY, "no host memory for a context");
}

void clumpi_cache_close(clump_context *c) {
    if (c->cache.load == load_file) clumpi_free(&c->allocator, (char *)c->cache.folder);
}

/* ---- Keys ---- */

static void append_digest(clumpi_text *t, const void *data, size_t bytes) {
    uint8_t digest[CLUMPI_SHA256_BYTES];
    clumpi_sha256(data, bytes, digest);
    for (size_t i = 0; i < sizeof digest; i++) clumpi_text_append(t, "%02x", digest[i]);
}

/* Whether a line may be a directive that takes in a file: one that names such a directive, or whose
 * name goes on in the next line. */
static int includes_files(const char *source) {
    static const char *const words[] = {"include", "import", "embed"};
    for (const char *at = source; (at = strpbrk(at, "#%")) != NULL;) {
        if (*at == '%' && at[1] != ':') { /* not the other way to write # */
            at++;
            continue;
        }
        at += *at == '%' ? 2 : 1;
        const char *end = at + strcspn(at, "\n");
        if (at[strspn(at, " \tabcdefghijklmnopqrstuvwxyz")] == '\\') return 1;
        for (; at < end; at++)
            for (size_t i = 0; i < sizeof words / sizeof *words; i++)
                if (strncmp(at, words[i], strlen(words[i])) == 0) return 1;
    }
    return 0;
}

clumpi_text clumpi_cache_key(const clump_context *c, const char *source, const char *options) {
    clumpi_text key = {.allocator = &c->allocator};
    if (!c->cache.load || includes_files(source)) return key;
    const clump_capabilities *has = &c->capabilities;
    char version[256] = "";
    cl_platform_id platform = NULL;
    if (c->cl.GetDeviceInfo(c->device, CL_DEVICE_PLATFORM, sizeof platform, &platform, NULL) ||
        c->cl.GetPlatformInfo(platform, CL_PLATFORM_VERSION, sizeof version, version, NULL))
        return key;
    clumpi_text_append(&key, "%s\n%s\n%s\n%s\n%s\n%s\n", has->platform_name, version,
                       has->device_name, has->device_version, has->driver_version, options);
    append_digest(&key, source, strlen(source));
    if (key.failed) {
        clumpi_free(&c->allocator, key.data);
        key.data = NULL;
    }
    return key;
}

/* The name of a key's entry. */
static clumpi_text name_entry(const clumpi_text *key) {
    clumpi_text name = {.allocator = key->allocator};
    append_digest(&name, key->data, key->bytes);
    clumpi_text_append(&name, ".clump");
    return name;
}

/* ---- Entries ---- */

/* Puts the SHA-256 of an entry into its header. */
static void seal(char *entry, size_t bytes, uint8_t digest[CLUMPI_SHA256_BYTES]) {
    memset(entry + offsetof(header, digest), 0, CLUMPI_SHA256_BYTES);
    clumpi_sha256(entry, bytes, digest);
    memcpy(entry + offsetof(header, digest), digest, CLUMPI_SHA256_BYTES);
}

/* Takes a part off what is left of an entry; 0 if it is longer. */
static int take(uint64_t bytes, size_t *left) {
    if (bytes > *left) return 0;
    *left -= (size_t)bytes;
    return 1;
}

/* Whether it is a whole entry of the key. */
static int check(char *entry, size_t bytes, const clumpi_text *key, header *h) {
    if (bytes < sizeof *h) return 0;
    memcpy(h, entry, sizeof *h);
    size_t left = bytes - sizeof *h;
    if (memcmp(h->magic, MAGIC, sizeof h->magic) != 0 || h->key_bytes != key->bytes ||
        !take(h->key_bytes, &left) || !take(h->log_bytes, &left) ||
        !take(h->parameter_bytes, &left) || h->binary_bytes != left ||
        memcmp(entry + sizeof *h, key->data, key->bytes) != 0)
        return 0;
    uint8_t digest[CLUMPI_SHA256_BYTES];
    seal(entry, bytes, digest);
    return memcmp(digest, h->digest, sizeof digest) == 0;
}

/* What load() has under the key's name, or NULL. */
static char *load_entry(clump_context *c, const clumpi_text *key, size_t *bytes) {
    clumpi_text name = name_entry(key);
    *bytes = name.failed ? 0 : c->cache.load(c->cache.user, name.data, NULL, 0);
    char *entry = *bytes ? clumpi_alloc(&c->allocator, *bytes) : NULL;
    /* If it is replaced between the two calls, check() finds that. */
    if (entry) c->cache.load(c->cache.user, name.data, entry, *bytes);
    clumpi_free(&c->allocator, name.data);
    return entry;
}

static int build_binary(clump_context *c, const char *binary, size_t bytes, const char *options,
                        cl_program *program) {
    const unsigned char *data = (const unsigned char *)binary;
    cl_int accepted = CL_SUCCESS, code = CL_SUCCESS;
    cl_program p =
        c->cl.CreateProgramWithBinary(c->context, 1, &c->device, &bytes, &data, &accepted, &code);
    if (code) return 0;
    if (accepted || c->cl.BuildProgram(p, 1, &c->device, options, NULL, NULL)) {
        c->cl.ReleaseProgram(p);
        return 0;
    }
    *program = p;
    return 1;
}

/* Copies what an entry says for a user's program; 0 without host memory. */
static int copy_texts(clump_context *c, const char *log, const header *h,
                      clumpi_user_texts *texts) {
    texts->log = clumpi_copy_text(&c->allocator, log, (size_t)h->log_bytes);
    texts->parameters =
        clumpi_copy_text(&c->allocator, log + h->log_bytes, (size_t)h->parameter_bytes);
    return texts->log && texts->parameters;
}

int clumpi_cache_load(clump_context *c, const clumpi_text *key, const char *options,
                      cl_program *program, clumpi_user_texts *texts) {
    if (!key->data) return 0;
    size_t bytes;
    header h;
    char *entry = load_entry(c, key, &bytes);
    int found = entry && check(entry, bytes, key, &h);
    if (found) {
        const char *log = entry + sizeof h + h.key_bytes;
        found = (!texts || copy_texts(c, log, &h, texts)) &&
                build_binary(c, log + h.log_bytes + h.parameter_bytes, (size_t)h.binary_bytes,
                             options, program);
    }
    if (!found && texts) clumpi_user_texts_clear(c, texts);
    clumpi_free(&c->allocator, entry);
    return found;
}

/* The device of which a sub-device is a part, in the end; another device itself. */
static cl_device_id root_of(clump_context *c, cl_device_id device) {
    for (int depth = 0; depth < DEVICES_MAX; depth++) {
        cl_device_id parent = NULL;
        if (c->cl.GetDeviceInfo(device, CL_DEVICE_PARENT_DEVICE, sizeof parent, &parent, NULL) ||
            !parent)
            break;
        device = parent;
    }
    return device;
}

/* Which of a program's devices is the context's, and how large its binary is: 0 if there is none.
 * PoCL lists for a sub-device the device of which it is a part. */
static size_t find_binary(clump_context *c, cl_program program, cl_uint *count, cl_uint *index) {
    cl_device_id devices[DEVICES_MAX];
    size_t sizes[DEVICES_MAX], bytes = 0;
    if (c->cl.GetProgramInfo(program, CL_PROGRAM_DEVICES, sizeof devices, devices, &bytes))
        return 0;
    *count = (cl_uint)(bytes / sizeof *devices);
    *index = 0;
    while (*index < *count && devices[*index] != c->device) ++*index;
    if (*index == *count) {
        cl_device_id root = root_of(c, c->device);
        for (*index = 0; *index < *count && devices[*index] != root;) ++*index;
    }
    if (*index == *count ||
        c->cl.GetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof sizes, sizes, NULL))
        return 0;
    return sizes[*index];
}

/* The parameters after the first, for messages. A device that cannot tell one is not asked for the
 * next. */
static void append_others(clump_context *c, cl_kernel kernel, const char *name, cl_uint count,
                          clumpi_text *t) {
    clumpi_parameter p;
    for (cl_uint i = 1; i < count && clumpi_parameter_ask(c, kernel, i, &p); i++)
        clumpi_text_append(t, " %s %u %s %s\n", name, (unsigned)i, p.name, p.type);
}

/* The parameters of each kernel of a program that was built from source; returns whether the first
 * ones are known. */
static int append_parameters(clump_context *c, cl_program program, clumpi_text *t) {
    size_t bytes = 0;
    if (c->cl.GetProgramInfo(program, CL_PROGRAM_KERNEL_NAMES, 0, NULL, &bytes)) return 0;
    char *names = clumpi_alloc(&c->allocator, bytes + 1);
    int known =
        names && !c->cl.GetProgramInfo(program, CL_PROGRAM_KERNEL_NAMES, bytes, names, NULL);
    for (char *name = names, *end; known && *name; name = end) {
        end = name + strcspn(name, ";");
        if (*end) *end++ = 0;
        cl_int code = CL_SUCCESS;
        cl_kernel kernel = c->cl.CreateKernel(program, name, &code);
        clumpi_parameters p;
        cl_uint count = 0;
        if (!code) {
            code = c->cl.GetKernelInfo(kernel, CL_KERNEL_NUM_ARGS, sizeof count, &count, NULL);
            if (!code) code = clumpi_parameters_ask(c, kernel, count, &p);
            if (!code) {
                clumpi_text_append(t, "%s %d %s%s%s\n", name, p.is_const, p.first,
                                   *p.second ? " " : "", p.second);
                append_others(c, kernel, name, count, t);
            }
            c->cl.ReleaseKernel(kernel);
        }
        if (code && code != CL_KERNEL_ARG_INFO_NOT_AVAILABLE && code != CL_INVALID_ARG_INDEX)
            known = 0;
    }
    clumpi_free(&c->allocator, names);
    return known && !t->failed;
}

/* Returns where what follows goes. */
static char *append(char *at, const void *data, size_t bytes) {
    if (bytes) memcpy(at, data, bytes);
    return at + bytes;
}

void clumpi_cache_store(clump_context *c, const clumpi_text *key, cl_program program,
                        const char *log) {
    cl_uint count, index;
    size_t binary_bytes = key->data ? find_binary(c, program, &count, &index) : 0;
    if (!binary_bytes) return;
    clumpi_text parameters = {.allocator = &c->allocator};
    int known = !log || append_parameters(c, program, &parameters);
    header h = {MAGIC, key->bytes, log ? strlen(log) : 0, parameters.bytes, binary_bytes, {0}};
    size_t bytes = sizeof h + key->bytes + (size_t)h.log_bytes + parameters.bytes + binary_bytes;
    char *entry = known ? clumpi_alloc(&c->allocator, bytes) : NULL;
    clumpi_text name = name_entry(key);
    if (entry && !name.failed) {
        char *at = entry;
        unsigned char *binaries[DEVICES_MAX] = {NULL}; /* NULL: not asked for */
        at = append(at, &h, sizeof h);
        at = append(at, key->data, key->bytes);
        at = append(at, log, (size_t)h.log_bytes);
        at = append(at, parameters.data, parameters.bytes);
        binaries[index] = (unsigned char *)at;
        if (!c->cl.GetProgramInfo(program, CL_PROGRAM_BINARIES, count * sizeof *binaries, binaries,
                                  NULL)) {
            seal(entry, bytes, h.digest);
            c->cache.store(c->cache.user, name.data, entry, bytes);
        }
    }
    clumpi_free(&c->allocator, parameters.data);
    clumpi_free(&c->allocator, name.data);
    clumpi_free(&c->allocator, entry);
}
