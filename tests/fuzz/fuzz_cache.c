/* Fuzzing of entries of kept programs, as clumpi_cache_load() takes them, and of the parameters in
 * them.
 *
 * The first byte says how the others become an entry and which calls fail:
 *     1    they are log, parameters and binary, with the lengths of the first two in front, of an
 *          entry that is right
 *     2    they are an entry in which only magic and SHA-256 are made right; with neither bit they
 *          are all of it
 *     4    load() gives another size when it is called again      8  an OpenCL call fails
 *     16   it is one of the library's own programs, without texts
 *
 * What must hold for all bytes: a program comes of an entry only if all of it is right, and then
 * with its log, its parameters and its binary, byte for byte; nothing is left allocated. OpenCL is
 * not called, only its table.
 * Read first: fuzz.h, host/core/cache.c.
 */
#include "core/core.h"
#include "core/sha256.h"
#include "fuzz.h"

#define IS_PARTS 1u
#define IS_SEALED 2u
#define SIZE_CHANGES 4u
#define CALL_FAILS 8u
#define IS_OWN 16u

#define HEAD_BYTES 72 /* magic, four lengths, SHA-256 */
static const char key_text[] = "platform\nversion\ndevice\noptions\n";
#define KEY_BYTES (sizeof key_text - 1)

/* The entry at hand. */
static struct {
    uint8_t *data;
    size_t bytes;
    unsigned mode, loads, created, released;
    const uint8_t *binary; /* what OpenCL should get */
    size_t binary_bytes;
} entry;

static long blocks; /* of host memory, live */

static void *take(void *user, size_t bytes) {
    (void)user;
    blocks++;
    return malloc(bytes + !bytes);
}
static void *take_more(void *user, void *memory, size_t bytes) {
    (void)user;
    blocks += !memory;
    return realloc(memory, bytes + !bytes);
}
static void give_back(void *user, void *memory) {
    (void)user;
    blocks -= memory != NULL;
    free(memory);
}

static size_t load(void *user, const char *name, void *data, size_t bytes) {
    (void)user;
    REQUIRE(strlen(name) == 2 * CLUMPI_SHA256_BYTES + strlen(".clump"));
    size_t size = entry.bytes;
    if (entry.loads++ && entry.mode & SIZE_CHANGES) size /= 2;
    if (size && size <= bytes) memcpy(data, entry.data, size);
    return size;
}
static void store(void *user, const char *name, const void *data, size_t bytes) {
    (void)user, (void)name, (void)data, (void)bytes;
}

static cl_program CL_API_CALL create(cl_context context, cl_uint count, const cl_device_id *devices,
                                     const size_t *bytes, const unsigned char **data,
                                     cl_int *accepted, cl_int *code) {
    (void)context, (void)devices;
    REQUIRE(count == 1 && entry.binary && *bytes == entry.binary_bytes);
    REQUIRE(!*bytes || memcmp(*data, entry.binary, *bytes) == 0);
    *accepted = CL_SUCCESS;
    *code = entry.mode & CALL_FAILS && *bytes % 2 ? CL_INVALID_BINARY : CL_SUCCESS;
    entry.created += !*code;
    return *code ? NULL : (cl_program)&entry;
}
static cl_int CL_API_CALL build(cl_program program, cl_uint count, const cl_device_id *devices,
                                const char *options, void(CL_CALLBACK *done)(cl_program, void *),
                                void *user) {
    (void)count, (void)devices, (void)options, (void)done, (void)user;
    REQUIRE(program == (cl_program)&entry);
    return entry.mode & CALL_FAILS ? CL_BUILD_PROGRAM_FAILURE : CL_SUCCESS;
}
static cl_int CL_API_CALL release(cl_program program) {
    REQUIRE(program == (cl_program)&entry);
    entry.released++;
    return CL_SUCCESS;
}

static uint64_t length_at(size_t i) {
    uint64_t length;
    memcpy(&length, entry.data + 8 + 8 * i, 8);
    return length;
}

/* Magic and SHA-256 made right. */
static void seal(void) {
    memcpy(entry.data, "clump 3", 8);
    memset(entry.data + 40, 0, CLUMPI_SHA256_BYTES);
    uint8_t digest[CLUMPI_SHA256_BYTES];
    clumpi_sha256(entry.data, entry.bytes, digest);
    memcpy(entry.data + 40, digest, sizeof digest);
}

static void make_entry(const uint8_t *data, size_t bytes) {
    int is_parts = entry.mode & IS_PARTS && bytes >= 2;
    uint64_t lengths[4] = {KEY_BYTES};
    if (is_parts) {
        lengths[1] = data[0];
        lengths[2] = data[1];
        data += 2;
        bytes -= 2;
        lengths[3] = bytes - lengths[1] - lengths[2]; /* below 0 if they are too long */
    }
    entry.bytes = bytes + (is_parts ? HEAD_BYTES + KEY_BYTES : 0);
    entry.data = malloc(entry.bytes + !entry.bytes);
    REQUIRE(entry.data);
    uint8_t *at = entry.data;
    if (is_parts) {
        memcpy(at + 8, lengths, sizeof lengths);
        memcpy(at + HEAD_BYTES, key_text, KEY_BYTES);
        at += HEAD_BYTES + KEY_BYTES;
    }
    if (bytes) memcpy(at, data, bytes);
    if (is_parts || (entry.mode & IS_SEALED && entry.bytes >= HEAD_BYTES)) seal();
}

/* Whether the entry is right, by the format alone; lengths are added up where they cannot wrap
 * around. */
static int is_right(void) {
    if (entry.bytes < HEAD_BYTES || memcmp(entry.data, "clump 3", 8) != 0) return 0;
    unsigned __int128 sum = HEAD_BYTES;
    for (size_t i = 0; i < 4; i++) sum += length_at(i);
    if (sum != entry.bytes || length_at(0) != KEY_BYTES) return 0;
    if (memcmp(entry.data + HEAD_BYTES, key_text, KEY_BYTES) != 0) return 0;
    uint8_t digest[CLUMPI_SHA256_BYTES], *copy = malloc(entry.bytes);
    REQUIRE(copy);
    memcpy(copy, entry.data, entry.bytes);
    memset(copy + 40, 0, CLUMPI_SHA256_BYTES);
    clumpi_sha256(copy, entry.bytes, digest);
    free(copy);
    return memcmp(digest, entry.data + 40, sizeof digest) == 0;
}

static void check_parameters(const char *parameters) {
    static const char *const names[] = {"init", "split", "a", ""};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        clumpi_parameters p;
        clumpi_parameter one;
        const int is_known = clumpi_parameter_find(parameters, names[i], 1, &one);
        REQUIRE(strlen(one.type) < sizeof one.type && strlen(one.name) < sizeof one.name);
        REQUIRE(is_known == (*one.type && *one.name));
        cl_int code = clumpi_parameters_find(parameters, names[i], &p);
        REQUIRE(code == CL_SUCCESS || code == CL_KERNEL_ARG_INFO_NOT_AVAILABLE);
        REQUIRE(memchr(p.first, 0, sizeof p.first) && memchr(p.second, 0, sizeof p.second));
        REQUIRE(code == CL_SUCCESS || (!p.first[0] && !p.second[0] && !p.is_const));
        REQUIRE(!strpbrk(p.first, " \n") && !strpbrk(p.second, " \n"));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    memset(&entry, 0, sizeof entry);
    entry.mode = bytes ? data[0] : 0;
    make_entry(data + (bytes > 0), bytes - (bytes > 0));
    int right = is_right();
    if (right) {
        uint64_t before = HEAD_BYTES + KEY_BYTES + length_at(1) + length_at(2);
        entry.binary = entry.data + before;
        entry.binary_bytes = (size_t)(entry.bytes - before);
    }
    clump_context c = {
        .allocator = {take, take_more, give_back, NULL},
        .cl = {.CreateProgramWithBinary = create, .BuildProgram = build, .ReleaseProgram = release},
        .cache = {NULL, load, store, NULL}};
    clumpi_text key = {.allocator = &c.allocator};
    clumpi_text_append(&key, "%s", key_text);
    clumpi_user_texts texts = {0};
    cl_program program = NULL;
    int found = clumpi_cache_load(&c, &key, "", &program, entry.mode & IS_OWN ? NULL : &texts);
    REQUIRE(!found || (right && !(entry.mode & CALL_FAILS)));
    REQUIRE(found || !right || entry.mode & (SIZE_CHANGES | CALL_FAILS));
    REQUIRE(entry.created == (unsigned)found + entry.released && found == (program != NULL));
    if (found && !(entry.mode & IS_OWN)) {
        const char *parts = (const char *)entry.data + HEAD_BYTES + KEY_BYTES;
        REQUIRE(memcmp(texts.log, parts, (size_t)length_at(1)) == 0);
        REQUIRE(memcmp(texts.parameters, parts + length_at(1), (size_t)length_at(2)) == 0);
        REQUIRE(!texts.log[length_at(1)] && !texts.parameters[length_at(2)]);
        check_parameters(texts.parameters);
    } else {
        REQUIRE(!texts.log && !texts.parameters);
    }
    clumpi_user_texts_clear(&c, &texts);
    clumpi_free(&c.allocator, key.data);
    REQUIRE(blocks == 0);
    free(entry.data);
    return 0;
}
