/* Programs that are kept (clump_cache): a good entry is used, and whatever is wrong with an entry,
 * a folder, the host program's functions or the OpenCL implementation, the program is built from
 * its source and works.
 *
 * Which of both came to pass is seen at the OpenCL entry points.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cl_fixture.h"
#include "core/sha256.h"
#include "failing.h"
#include "heap/program.h"

/* ---- What is counted and changed at the entry points ---- */

static struct {
    unsigned sources, binaries;        /* programs created */
    cl_program of_binary;              /* the last of these */
    const char *driver, *platform;     /* instead of the versions that the device tells */
    int refuse, refuse_build, no_info; /* fail for programs of binaries */
    int no_binary;                     /* fail to give one */
} cl;

static cl_program CL_API_CALL create_of_source(cl_context context, cl_uint count,
                                               const char **texts, const size_t *bytes,
                                               cl_int *code) {
    cl.sources++;
    cl_program program = clCreateProgramWithSource(context, count, texts, bytes, code);
    if (program == cl.of_binary) cl.of_binary = NULL; /* at the address of one that is gone */
    return program;
}

static cl_program CL_API_CALL create_of_binary(cl_context context, cl_uint count,
                                               const cl_device_id *devices, const size_t *bytes,
                                               const unsigned char **binaries, cl_int *status,
                                               cl_int *code) {
    if (cl.refuse) {
        *code = CL_INVALID_BINARY;
        return NULL;
    }
    cl.binaries++;
    cl.of_binary =
        clCreateProgramWithBinary(context, count, devices, bytes, binaries, status, code);
    return cl.of_binary;
}

static cl_int CL_API_CALL build(cl_program program, cl_uint count, const cl_device_id *devices,
                                const char *options, void(CL_CALLBACK *notify)(cl_program, void *),
                                void *user) {
    if (cl.refuse_build && program == cl.of_binary) return CL_BUILD_PROGRAM_FAILURE;
    return clBuildProgram(program, count, devices, options, notify, user);
}

static cl_int CL_API_CALL arg_info(cl_kernel kernel, cl_uint index, cl_kernel_arg_info name,
                                   size_t bytes, void *value, size_t *size) {
    cl_program program = NULL;
    clGetKernelInfo(kernel, CL_KERNEL_PROGRAM, sizeof program, &program, NULL);
    if (cl.no_info && program == cl.of_binary) return CL_KERNEL_ARG_INFO_NOT_AVAILABLE;
    return clGetKernelArgInfo(kernel, index, name, bytes, value, size);
}

static cl_int CL_API_CALL program_info(cl_program program, cl_program_info name, size_t bytes,
                                       void *value, size_t *size) {
    if (cl.no_binary && name == CL_PROGRAM_BINARIES) return CL_OUT_OF_RESOURCES;
    return clGetProgramInfo(program, name, bytes, value, size);
}

static cl_int tell(const char *text, size_t bytes, void *value, size_t *size) {
    if (size) *size = strlen(text) + 1;
    if (value) snprintf(value, bytes, "%s", text);
    return CL_SUCCESS;
}

static cl_int CL_API_CALL device_info(cl_device_id device, cl_device_info name, size_t bytes,
                                      void *value, size_t *size) {
    if (cl.driver && name == CL_DRIVER_VERSION) return tell(cl.driver, bytes, value, size);
    return clGetDeviceInfo(device, name, bytes, value, size);
}

static cl_int CL_API_CALL platform_info(cl_platform_id platform, cl_platform_info name,
                                        size_t bytes, void *value, size_t *size) {
    if (cl.platform && name == CL_PLATFORM_VERSION) return tell(cl.platform, bytes, value, size);
    return clGetPlatformInfo(platform, name, bytes, value, size);
}

static const clump_cl_functions functions = {.size = sizeof functions,
                                             .CreateProgramWithSource = create_of_source,
                                             .CreateProgramWithBinary = create_of_binary,
                                             .BuildProgram = build,
                                             .GetKernelArgInfo = arg_info,
                                             .GetProgramInfo = program_info,
                                             .GetDeviceInfo = device_info,
                                             .GetPlatformInfo = platform_info};

static cl_fixture open_with(clump_cache cache) {
    cl_fixture f;
    int result = cl_fixture_open(&f, &(cl_fixture_desc){.cl = &functions, .cache = cache});
    if (result == CL_FIXTURE_SKIP) skip();
    assert_int_equal(result, 0);
    return f;
}

/* ---- Building a small program ---- */

#define SOURCE "__kernel void f(__global const uchar *clump_heap) {}\n"

/* 1 if it was compiled, 0 if it came from the cache; in both cases it must be right. */
static int compiles_as(const cl_fixture *f, const char *source, const char *options, char **log) {
    clumpi_user_part user = {"test.cl", 1};
    cl_program program = NULL;
    clumpi_user_texts texts;
    unsigned sources = cl.sources;
    CHECK_OK(f, clumpi_build(f->clump, source, options, &user, &program, &texts));
    assert_non_null(texts.log);
    int compiled = cl.sources != sources;
    assert_int_equal(texts.parameters == NULL, compiled);
    if (!compiled) assert_string_equal(texts.parameters, "f 1 clump_heap\n");
    cl_int code;
    cl_kernel kernel = clCreateKernel(program, "f", &code);
    CHECK_CL(code);
    clReleaseKernel(kernel);
    clReleaseProgram(program);
    if (log) {
        *log = texts.log;
        texts.log = NULL;
    }
    clumpi_user_texts_clear(f->clump, &texts);
    return compiled;
}

static int compiles(const cl_fixture *f) {
    return compiles_as(f, SOURCE, "-cl-kernel-arg-info", NULL);
}

/* ---- Folders ---- */

static char top[64]; /* of all folders of this test */

static const char *path_of(const char *name) {
    static char paths[4][256];
    static unsigned next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof *paths, "%s/%s", top, name);
    return path;
}

/* The number of entries; `first` is the path of one. Anything else in there fails the test. */
static unsigned list_entries(const char *folder, char *first, size_t bytes) {
    unsigned count = 0;
    DIR *d = opendir(folder);
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d)) != NULL;) {
        if (e->d_name[0] == '.') continue;
        const char *end = strrchr(e->d_name, '.');
        if (!end || strcmp(end, ".clump") != 0) fail_msg("%s was left in the folder", e->d_name);
        if (first) snprintf(first, bytes, "%s/%s", folder, e->d_name);
        count++;
    }
    closedir(d);
    return count;
}

/* ---- A cache in memory ---- */

typedef struct shelf {
    char name[96];
    unsigned char *data;
    size_t bytes;
    unsigned loads, stores;
    int lie;  /* 1: tell another size the second time; 2: tell a size and write nothing */
    int drop; /* store nothing */
} shelf;

static size_t shelf_load(void *user, const char *name, void *data, size_t bytes) {
    shelf *s = user;
    s->loads++;
    assert_true(strlen(name) <= 80);
    if (!s->data || strcmp(s->name, name) != 0) return 0;
    if (data && s->lie == 1) return s->bytes - 1;
    if (data && s->bytes <= bytes && s->lie != 2) memcpy(data, s->data, s->bytes);
    return s->bytes;
}

static void shelf_store(void *user, const char *name, const void *data, size_t bytes) {
    shelf *s = user;
    s->stores++;
    if (s->drop) return;
    free(s->data);
    snprintf(s->name, sizeof s->name, "%s", name);
    s->data = malloc(bytes);
    s->bytes = bytes;
    memcpy(s->data, data, bytes);
}

static clump_cache on_shelf(shelf *s) {
    return (clump_cache){.load = shelf_load, .store = shelf_store, .user = s};
}

/* ---- Several processes ---- */

#define PROCESSES 4
#define PROGRAMS (cl_fixture_is_whole() ? 12 : 3)

static void build_all(const cl_fixture *f, int may_compile) {
    for (int i = 0; i < PROGRAMS; i++) {
        char options[64];
        snprintf(options, sizeof options, "-cl-kernel-arg-info -DN=%d", i);
        int compiled = compiles_as(f, SOURCE, options, NULL);
        assert_true(may_compile || !compiled);
    }
}

/* One of them: this program again. */
static int be_a_process(const char *folder) {
    cl_fixture f;
    int result =
        cl_fixture_open(&f, &(cl_fixture_desc){.cl = &functions, .cache = {.folder = folder}});
    if (result) return result;
    build_all(&f, 1);
    cl_fixture_close(&f);
    return 0;
}

static void processes_at_the_same_time(void **state) {
    clump_cache cache = {.folder = path_of("shared/by/all")};
    pid_t children[PROCESSES];
    for (int i = 0; i < PROCESSES; i++) {
        children[i] = fork();
        assert_true(children[i] >= 0);
        if (children[i] == 0) {
            /* PoCL 3.1 crashes now and then where processes that ask for binaries share its
             * cache. */
            char name[16];
            snprintf(name, sizeof name, "pocl-%d", i);
            if (mkdir(path_of(name), 0700) || setenv("POCL_CACHE_DIR", path_of(name), 1)) _exit(1);
            execl("/proc/self/exe", "fault_cache", cache.folder, (char *)NULL);
            _exit(1);
        }
    }
    for (int i = 0; i < PROCESSES; i++) {
        int status = 0;
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_true(WIFEXITED(status));
        if (WEXITSTATUS(status) == CL_FIXTURE_SKIP) skip();
        assert_int_equal(WEXITSTATUS(status), 0);
    }
    assert_int_equal(list_entries(cache.folder, NULL, 0), PROGRAMS);
    cl_fixture f = open_with(cache);
    build_all(&f, 0);
    cl_fixture_close(&f);
}

/* ---- Hits and misses ---- */

static void hits_and_misses(void **state) {
    clump_cache cache = {.folder = path_of("hits")};
    cl_fixture f = open_with(cache);
    assert_true(compiles(&f));
    assert_false(compiles(&f));
    assert_true(compiles_as(&f, SOURCE, "-cl-kernel-arg-info -DX=1", NULL));
    assert_true(compiles_as(&f, SOURCE " ", "-cl-kernel-arg-info", NULL));
    assert_int_equal(list_entries(cache.folder, NULL, 0), 3);
    cl_fixture_close(&f);
    f = open_with(cache); /* another context */
    unsigned binaries = cl.binaries;
    assert_false(compiles(&f));
    assert_int_equal(cl.binaries, binaries + 1);
    cl_fixture_close(&f);
    cl.driver = "another driver";
    f = open_with(cache);
    assert_true(compiles(&f));
    assert_false(compiles(&f));
    cl_fixture_close(&f);
    cl.driver = NULL;
    cl.platform = "OpenCL 1.2 of another";
    f = open_with(cache);
    assert_true(compiles(&f));
    cl.platform = NULL;
    assert_false(compiles(&f));
    cl_fixture_close(&f);
}

/* A context of one part of the device, or two: a program for a part is kept, whichever devices the
 * implementation lists for it. */
static void parts_are_kept(void **state) {
    const cl_device_partition_property equally[] = {CL_DEVICE_PARTITION_EQUALLY, 1, 0};
    cl_device_id parts[64];
    cl_uint count = 0;
    cl_fixture whole = open_with((clump_cache){0});
    if (clCreateSubDevices(whole.device, equally, 64, parts, &count) || count < 2) {
        cl_fixture_close(&whole);
        skip();
    }
    for (cl_uint n = 1; n <= 2; n++) {
        shelf s = {0};
        cl_int code;
        cl_fixture f = {.device = parts[n - 1]};
        f.context = clCreateContext(NULL, n, parts, NULL, NULL, &code);
        CHECK_CL(code);
        f.queue = clCreateCommandQueue(f.context, f.device, 0, &code);
        CHECK_CL(code);
        clump_context_desc desc = {.size = sizeof desc,
                                   .context = f.context,
                                   .device = f.device,
                                   .queue = f.queue,
                                   .cl = &functions,
                                   .cache = on_shelf(&s)};
        clump_error error;
        assert_int_equal(clump_context_create(&desc, &f.clump, &error), CLUMP_OK);
        assert_true(compiles(&f));
        assert_int_equal(s.stores, 1);
        assert_false(compiles(&f));
        clump_context_destroy(f.clump);
        clReleaseCommandQueue(f.queue);
        clReleaseContext(f.context);
        free(s.data);
    }
    for (cl_uint i = 0; i < count; i++) clReleaseDevice(parts[i]);
    cl_fixture_close(&whole);
}

static void nothing_is_kept_unasked(void **state) {
    cl_fixture f = open_with((clump_cache){.folder = path_of("unasked")});
    clump_context_desc desc = {.size = sizeof desc,
                               .context = f.context,
                               .device = f.device,
                               .queue = f.queue,
                               .cl = &functions};
    cl_fixture plain = f;
    clump_error error;
    assert_int_equal(clump_context_create(&desc, &plain.clump, &error), CLUMP_OK);
    assert_true(compiles(&plain));
    assert_true(compiles(&plain));
    clump_context_destroy(plain.clump);
    cl_fixture_close(&f);
}

/* Files may change. */
static void what_includes_files_is_not_kept(void **state) {
    static const char *const sources[] = {
        "#include \"empty.h\"\n" SOURCE,
        " # \tinclude \"empty.h\"\n" SOURCE,
        "%:include \"empty.h\"\n" SOURCE,
        "#/**/include \"empty.h\"\n" SOURCE,
        "#inc\\\nlude \"empty.h\"\n" SOURCE,
        "int a(int b) { return b % 3; }\n#include \"empty.h\"\n" SOURCE};
    cl_fixture f = open_with((clump_cache){.folder = path_of("includes")});
    char options[256];
    mkdir(path_of("headers"), 0700);
    FILE *empty = fopen(path_of("headers/empty.h"), "w");
    assert_non_null(empty);
    fclose(empty);
    snprintf(options, sizeof options, "-cl-kernel-arg-info -I %s", path_of("headers"));
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
        assert_true(compiles_as(&f, sources[i], options, NULL));
        assert_true(compiles_as(&f, sources[i], options, NULL));
    }
    static const char kept[] = "#define A(x) \\\n (x % 3)\n// include\n" SOURCE;
    assert_true(compiles_as(&f, kept, options, NULL));
    assert_false(compiles_as(&f, kept, options, NULL));
    cl_fixture_close(&f);
}

static void the_log_is_kept(void **state) {
    shelf s = {0};
    cl_fixture f = open_with(on_shelf(&s));
    char *first, *second;
    static const char source[] = "#warning some words\n" SOURCE;
    assert_true(compiles_as(&f, source, "-cl-kernel-arg-info", &first));
    if (strstr(f.capabilities->platform_name, "Portable Computing"))
        assert_non_null(strstr(first, "some words"));
    assert_false(compiles_as(&f, source, "-cl-kernel-arg-info", &second));
    assert_string_equal(first, second);
    clumpi_free(&f.clump->allocator, first);
    clumpi_free(&f.clump->allocator, second);
    cl_fixture_close(&f);
    free(s.data);
}

/* The whole of it: a heap, whose kernels are the library's, and a program that may not change
 * objects. */
static void heaps_and_programs(void **state) {
    clump_cache cache = {.folder = path_of("whole")};
    char refusals[2][CLUMP_ERROR_MESSAGE_BYTES];
    for (int round = 0; round < 2; round++) {
        cl_fixture f = open_with(cache);
        cl.sources = cl.binaries = 0;
        cl.no_info = round; /* of what a kept program's kernels take */
        clump_heap *heap = cl_fixture_heap(&f, "class A { uint x; }", 1u << 20, 0);
        clump_program *program = cl_fixture_program(
            &f, heap,
            "__kernel void makes(CLUMP_HEAP_NO_ALLOC) {}\n" /* not what "make" is */
            "__kernel void make(CLUMP_HEAP) { CLUMP_FOR_EACH_NEW(A, a, i) A_x(a) = i; }\n"
            "__kernel void look(CLUMP_HEAP_NO_ALLOC) { CLUMP_FOR_EACH(A, a) A_x(a) += 1; }\n"
            "__kernel void takes(CLUMP_HEAP_NO_ALLOC, float dt, __global const uint *list) {}\n"
            "__kernel void wrong(__global uint *numbers) {}\n"
            "__kernel void longer(__global uint *clump_heap_with_a_name_that_is_longer_than_any_"
            "that_the_library_has) {}\n"
            "#ifndef __NV_CL_C_VERSION\n" /* which cannot compile it: docs/portability.md */
            "__kernel void none(void) {}\n"
            "#endif\n",
            NULL, NULL);
        clump_kernel *make = cl_fixture_kernel(&f, program, "make"),
                     *look = cl_fixture_kernel(&f, program, "look"),
                     *makes = cl_fixture_kernel(&f, program, "makes"), *wrong;
        clump_status status;
        CHECK_STATUS(&f, clump_kernel_create(program, "wrong", &wrong, NULL), CLUMP_ERR_USAGE);
        CHECK_STATUS(&f, clump_kernel_create(program, "longer", &wrong, NULL), CLUMP_ERR_USAGE);
        status = clump_kernel_create(program, "none", &wrong, NULL);
        assert_true(status == CLUMP_ERR_USAGE || status == CLUMP_ERR_NOT_FOUND);
        CHECK_STATUS(&f, clump_kernel_create(program, "mak", &wrong, NULL), CLUMP_ERR_NOT_FOUND);
        assert_true(makes->fixed);
        clump_kernel_destroy(makes);
        assert_false(make->fixed);
        assert_true(look->fixed);
        uint64_t made;
        uint32_t x[100], sum = 0;
        CHECK_OK(&f, clump_heap_do_new(heap, make, "A", 100, &made, NULL));
        CHECK_OK(&f, clump_heap_do_all(heap, look, NULL));
        CHECK_OK(&f, clump_heap_read_field(heap, "A", "x", 0, sizeof *x, x, 100, NULL));
        for (int i = 0; i < 100; i++) sum += x[i];
        assert_int_equal(sum, 100 * 101 / 2);
        assert_int_equal(cl.sources > 0, round == 0);
        assert_int_equal(cl.binaries > 1, round == 1);
        /* The words about a parameter are those of a program that was built from source. */
        clump_kernel *takes = cl_fixture_kernel(&f, program, "takes");
        double dt = 1;
        CHECK_STATUS(&f, clump_kernel_set_arg(takes, 0, sizeof dt, &dt), CLUMP_ERR_CL);
        snprintf(refusals[round], sizeof refusals[round], "%s",
                 clump_context_get_error(f.clump)->message);
        clump_kernel_destroy(takes);
        cl.no_info = 0;
        clump_kernel_destroy(make);
        clump_kernel_destroy(look);
        clump_program_destroy(program);
        clump_heap_destroy(heap);
        cl_fixture_close(&f);
    }
    assert_string_equal(refusals[1], refusals[0]);
}

/* ---- Entries that are wrong ---- */

/* An entry as it is now is not used, and a good one takes its place. */
static void expect_rebuilt(const cl_fixture *f, shelf *s, const char *what, size_t at) {
    unsigned stores = s->stores;
    if (!compiles(f)) fail_msg("an entry was used with %s at %zu", what, at);
    if (s->stores != stores + 1) fail_msg("nothing was stored after %s at %zu", what, at);
    assert_false(compiles(f));
}

static void damaged_entries(void **state) {
    shelf s = {0};
    cl_fixture f = open_with(on_shelf(&s));
    assert_true(compiles(&f));
    size_t bytes = s.bytes;
    unsigned char *good = malloc(bytes + 1);
    memcpy(good, s.data, bytes);
    good[bytes] = 0;
    clumpi_text key = clumpi_cache_key(f.clump, SOURCE, "-cl-kernel-arg-info");
    s.data = realloc(s.data, bytes + 1);
    /* Every byte of the header and most of the key, then many: looked at without rebuilding. */
    for (size_t at = 0; at < bytes; at += at < 512 ? 1 : 97)
        for (int bit = 0; bit < 8; bit += 7) {
            cl_program program;
            s.data[at] ^= (unsigned char)(1 << bit);
            if (clumpi_cache_load(f.clump, &key, "-cl-kernel-arg-info", &program, NULL))
                fail_msg("byte %zu of %zu was damaged and the entry used", at, bytes);
            s.data[at] = good[at];
        }
    for (s.bytes = 1; s.bytes <= bytes + 1;
         s.bytes += s.bytes < 512 || s.bytes >= bytes - 1 ? 1 : bytes / 50) {
        cl_program program;
        if (s.bytes > bytes + 1 || s.bytes == bytes) continue;
        s.data[bytes] = 0;
        if (clumpi_cache_load(f.clump, &key, "-cl-kernel-arg-info", &program, NULL))
            fail_msg("an entry of %zu bytes was cut to %zu and used", bytes, s.bytes);
    }
    clumpi_free(&f.clump->allocator, key.data);
    s.bytes = bytes;
    assert_false(compiles(&f)); /* it is whole again */
    s.data[bytes - 1] ^= 1;
    expect_rebuilt(&f, &s, "damage", bytes - 1);
    s.bytes /= 2;
    expect_rebuilt(&f, &s, "its end", s.bytes);
    /* Whole, but with a binary that would end after the entry. */
    for (size_t at = 8; at <= 32; at += 8) { /* the sizes of key, log, parameters, binary */
        s.data[at]++;
        memset(s.data + 40, 0, CLUMPI_SHA256_BYTES);
        uint8_t digest[CLUMPI_SHA256_BYTES];
        clumpi_sha256(s.data, s.bytes, digest);
        memcpy(s.data + 40, digest, sizeof digest);
        expect_rebuilt(&f, &s, "a wrong size", at);
    }
    /* A good entry of another program under this one's name; only the hash of the source
     * differs. */
    char name[96];
    snprintf(name, sizeof name, "%s", s.name);
    assert_true(compiles_as(&f, SOURCE "\n", "-cl-kernel-arg-info", NULL));
    assert_string_not_equal(name, s.name);
    snprintf(s.name, sizeof s.name, "%s", name);
    expect_rebuilt(&f, &s, "another key", 0);
    free(good);
    cl_fixture_close(&f);
    free(s.data);
}

static void functions_that_lie(void **state) {
    shelf s = {0};
    cl_fixture f = open_with(on_shelf(&s));
    assert_true(compiles(&f));
    s.lie = 1;
    assert_true(compiles(&f));
    s.lie = 2;
    assert_true(compiles(&f));
    s.lie = 0;
    assert_false(compiles(&f));
    free(s.data);
    s.data = NULL;
    s.drop = 1;
    assert_true(compiles(&f));
    assert_true(compiles(&f));
    cl_fixture_close(&f);
}

/* ---- Folders that are wrong ---- */

static void write_file(const char *path, const char *text) {
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void folders_that_cannot_be_used(void **state) {
    write_file(path_of("file"), "in the way");
    const char *const folders[] = {path_of("file"), path_of("file/below"), "/proc/clump/cache"};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        cl_fixture f = open_with((clump_cache){.folder = folders[i]});
        assert_true(compiles(&f));
        assert_true(compiles(&f));
        assert_int_equal(clump_context_get_error(f.clump)->status, CLUMP_OK);
        cl_fixture_close(&f);
    }
}

static void files_that_are_wrong(void **state) {
    clump_cache cache = {.folder = path_of("files")};
    cl_fixture f = open_with(cache);
    char path[512];
    assert_true(compiles(&f));
    assert_int_equal(list_entries(cache.folder, path, sizeof path), 1);
    write_file(path, "of another program");
    assert_true(compiles(&f));
    assert_false(compiles(&f));
    assert_int_equal(truncate(path, 100), 0);
    assert_true(compiles(&f));
    assert_false(compiles(&f));
    assert_int_equal(truncate(path, 0), 0);
    assert_true(compiles(&f));
    assert_false(compiles(&f));
    char other[520];
    struct stat is;
    snprintf(other, sizeof other, "%s/other.clump", path_of(""));
    write_file(other, "behind a link, which stays, and so does the mode");
    assert_int_equal(chmod(other, 0640), 0);
    unlink(path);
    assert_int_equal(symlink("../other.clump", path), 0);
    assert_true(compiles(&f));
    assert_false(compiles(&f));
    assert_true(!lstat(path, &is) && S_ISLNK(is.st_mode));
    assert_true(!lstat(other, &is) && S_ISREG(is.st_mode) && is.st_size > 100);
    assert_int_equal(is.st_mode & 07777, 0640);
    unlink(path);
    assert_int_equal(mkfifo(path, 0600), 0); /* must not be waited for */
    assert_true(compiles(&f));
    assert_false(compiles(&f));
    unlink(path);
    assert_int_equal(mkdir(path, 0700), 0); /* cannot be replaced */
    assert_true(compiles(&f));
    assert_true(compiles(&f));
    assert_int_equal(list_entries(cache.folder, NULL, 0), 1);
    cl_fixture_close(&f);
}

/* ---- Implementations that do not take their binaries, or do not give them ---- */

static void implementations_that_refuse(void **state) {
    int *const refusals[] = {&cl.refuse, &cl.refuse_build};
    shelf s = {0};
    cl_fixture f = open_with(on_shelf(&s));
    cl.no_binary = 1;
    assert_true(compiles(&f));
    assert_int_equal(s.stores, 0);
    cl.no_binary = 0;
    assert_true(compiles(&f));
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        assert_false(compiles(&f));
        *refusals[i] = 1;
        assert_true(compiles(&f));
        *refusals[i] = 0;
    }
    /* Kernels of a binary that do not know about their parameters: what was known is kept. */
    cl.no_info = 1;
    assert_false(compiles(&f));
    cl.no_info = 0;
    assert_int_equal(clump_context_get_error(f.clump)->status, CLUMP_OK);
    cl_fixture_close(&f);
    free(s.data);
}

/* ---- Wrong descs, failing calls and requests ---- */

static void descs_that_are_refused(void **state) {
    shelf s = {0};
    cl_fixture f = open_with(on_shelf(&s));
    const clump_cache wrong[] = {{.folder = ""},
                                 {.load = shelf_load},
                                 {.store = shelf_store},
                                 {.folder = "x", .load = shelf_load, .store = shelf_store}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        clump_context_desc desc = {.size = sizeof desc,
                                   .context = f.context,
                                   .device = f.device,
                                   .queue = f.queue,
                                   .cache = wrong[i]};
        clump_context *context;
        clump_error error;
        clump_status status = clump_context_create(&desc, &context, &error);
        cl_fixture_expect_words(&error, status, CLUMP_ERR_USAGE, "clump_cache", "context",
                                __LINE__);
        assert_null(context);
    }
    cl_fixture_close(&f);
}

static const char *failing_folder;

/* A program twice, where a call or request may fail: either it works, or the call fails in
 * order. */
static int build_twice(const cl_fixture *on) {
    clump_context_desc desc = {.size = sizeof desc,
                               .context = on->context,
                               .device = on->device,
                               .queue = on->queue,
                               .allocator = failing_allocator,
                               .cl = &failing_cl,
                               .cache = {.folder = failing_folder}};
    clump_context *context;
    clump_error error;
    char path[512];
    if (access(failing_folder, F_OK) == 0 && list_entries(failing_folder, path, sizeof path))
        unlink(path);
    clump_status status = clump_context_create(&desc, &context, &error);
    assert_int_equal(context == NULL, status < 0);
    for (int i = 0; context && i < 2; i++) {
        clumpi_user_part user = {"test.cl", 1};
        cl_program program = NULL;
        clumpi_user_texts texts;
        int hit_before = failing.struck || failing.refused;
        status = clumpi_build(context, SOURCE, "-cl-kernel-arg-info", &user, &program, &texts);
        assert_int_equal(program == NULL, status < 0);
        if (texts.parameters) assert_string_equal(texts.parameters, "f 1 clump_heap\n");
        if (status && (hit_before || !(failing.struck || failing.refused)))
            fail_msg("it fails by itself: %s", clump_context_get_error(context)->message);
        clumpi_user_texts_clear(context, &texts);
        if (program) failing_cl.ReleaseProgram(program);
    }
    clump_context_destroy(context);
    int came = failing.struck || failing.refused;
    failing_check_nothing_left();
    return came;
}

static void failing_calls_and_requests(void **state) {
    failing_folder = path_of("failing");
    cl_fixture f = open_with((clump_cache){.folder = failing_folder});
    assert_true(failing_strike_all(build_twice, &f, CL_OUT_OF_RESOURCES, 0) > 30);
    assert_true(failing_refuse_all(build_twice, &f) > 20);
    failing_forget_programs();
    cl_fixture_close(&f);
}

int main(int argc, char **argv) {
    if (argc > 1) return be_a_process(argv[1]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(processes_at_the_same_time),
        cmocka_unit_test(hits_and_misses),
        cmocka_unit_test(parts_are_kept),
        cmocka_unit_test(nothing_is_kept_unasked),
        cmocka_unit_test(what_includes_files_is_not_kept),
        cmocka_unit_test(the_log_is_kept),
        cmocka_unit_test(heaps_and_programs),
        cmocka_unit_test(damaged_entries),
        cmocka_unit_test(functions_that_lie),
        cmocka_unit_test(folders_that_cannot_be_used),
        cmocka_unit_test(files_that_are_wrong),
        cmocka_unit_test(implementations_that_refuse),
        cmocka_unit_test(descs_that_are_refused),
        cmocka_unit_test(failing_calls_and_requests),
    };
    snprintf(top, sizeof top, "/tmp/clump-fault_cache-XXXXXX");
    if (!mkdtemp(top)) return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", top);
    return system(command) ? 1 : failed;
}
