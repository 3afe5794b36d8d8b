/* A checkpoint is saved over an older one, and the process is killed by SIGKILL between any two of
 * its calls that change the disk: each write, bringing the file to the disk, giving it its name,
 * bringing the folder to the disk. The file of that name is the old checkpoint, byte by byte, until
 * it is the new one, and the next save does with what is left what it has to.
 *
 *     fault_save_killed                 the test
 *     fault_save_killed child PATH N    save to PATH, and be killed instead of doing call number N
 *
 * The calls of the library are these of this file, which the linker takes before those of the C
 * library. What the machine's power does, no test here shows.
 *
 * Read first: host/save/stream.c, docs/internals/save.md.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "saved_heap.h"

#if defined(__linux__) && defined(SYS_renameat)

enum { COUNT = 70, CALLS_LEAST = 15, CALLS_MOST = 100 };

/* ---- The calls ------------------------------------------------------------------------------- */

static int is_saving;
static long calls, killed_at;

static void count_call(void) {
    if (is_saving && ++calls == killed_at) kill(getpid(), SIGKILL);
}

ssize_t write(int file, const void *data, size_t bytes) {
    count_call();
    return syscall(SYS_write, file, data, bytes);
}

int fsync(int file) {
    count_call();
    return (int)syscall(SYS_fsync, file);
}

int rename(const char *from, const char *to) {
    count_call();
    return (int)syscall(SYS_renameat, -100 /* AT_FDCWD */, from, -100, to);
}

/* ---- The child ------------------------------------------------------------------------------- */

static const char text[] =
    "class A { uint id; ref A next; ref B b; } class B { ushort v[2]; ref A a; }";

/* Objects whose ids go on from `first`, with a handle and a registered buffer. */
static clump_status save(const cl_fixture *on, const char *path, uint32_t first) {
    static const clump_struct_field id = {"id", 0};
    uint32_t ids[COUNT];
    clump_ref as[COUNT];
    clump_handle handle;
    clump_refs *refs; /* ends with the context */
    clump_heap *heap = cl_fixture_heap(on, text, 1 << 20, 1);
    for (uint32_t i = 0; i < COUNT; i++) ids[i] = first + i;
    CHECK_OK(on, clump_heap_new_structs(
                     heap, &(clump_struct_desc){sizeof(clump_struct_desc), "A", 4, 1, &id}, ids,
                     COUNT, as, NULL));
    CHECK_OK(on, clump_heap_new_structs(
                     heap, &(clump_struct_desc){sizeof(clump_struct_desc), "B", 4, 0, NULL}, ids,
                     COUNT, NULL, NULL));
    CHECK_OK(on, clump_heap_write_field(heap, "A", "next", 0, sizeof *as, as, COUNT));
    CHECK_OK(on, clump_heap_create_handle(heap, as[5], &handle));
    cl_mem buffer = cl_fixture_buffer(on, as, sizeof as);
    CHECK_OK(on, clump_refs_create(
                     heap,
                     &(clump_refs_desc){
                         .size = sizeof(clump_refs_desc), .buffer = buffer, .count = COUNT},
                     &refs, NULL));
    memory_file warm = saved_bytes(on, heap, 4096); /* kernels are compiled, and kept in files */
    memory_release(&warm);
    const clump_save_desc desc = {.size = sizeof desc, .path = path, .piece_bytes = 4096};
    is_saving = 1;
    const clump_status status = clump_heap_save(heap, &desc, NULL);
    is_saving = 0;
    clump_heap_destroy(heap);
    clReleaseMemObject(buffer);
    return status;
}

static int child(const char *path, const char *number) {
    cl_fixture on;
    if (cl_fixture_open(&on, NULL)) return 1;
    killed_at = atol(number);
    const clump_status status = save(&on, path, 1000);
    cl_fixture_close(&on);
    return status ? 1 : 0;
}

/* ---- The test -------------------------------------------------------------------------------- */

static const char *program_name;
static struct { char folder[48], path[64], part[72]; } names;

typedef struct file {
    uint8_t *data;
    size_t bytes;
} file;

static file read_file(const char *path) {
    file f = {.data = malloc(1 << 16)};
    FILE *from = fopen(path, "rb");
    if (from) {
        f.bytes = fread(f.data, 1, 1 << 16, from);
        fclose(from);
    }
    return f;
}

static int is_file(const char *path, const file *expected) {
    file f = read_file(path);
    const int same = f.bytes == expected->bytes && memcmp(f.data, expected->data, f.bytes) == 0;
    free(f.data);
    return same;
}

static void put_file(const char *path, const file *content) {
    FILE *to = fopen(path, "wb");
    assert_non_null(to);
    assert_int_equal(fwrite(content->data, 1, content->bytes, to), content->bytes);
    assert_int_equal(fclose(to), 0);
}

/* What it ended with. */
static int run_child(long number) {
    char word[24];
    snprintf(word, sizeof word, "%ld", number);
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (!pid) {
        execl(program_name, program_name, "child", names.path, word, (char *)NULL);
        _exit(99);
    }
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static void at_each_call(void **state) {
    cl_fixture on;
    clump_error error;
    struct stat found;
    if (cl_fixture_open(&on, NULL)) skip();
    strcpy(names.folder, "/tmp/clump-fault-save-killed-XXXXXX");
    assert_non_null(mkdtemp(names.folder));
    snprintf(names.path, sizeof names.path, "%s/heap", names.folder);
    snprintf(names.part, sizeof names.part, "%s.part", names.path);
    CHECK_OK(&on, save(&on, names.path, 7));
    const file old = read_file(names.path);
    calls = 0;
    CHECK_OK(&on, save(&on, names.path, 1000)); /* what the child saves */
    const long all = calls;
    const file new = read_file(names.path);
    assert_int_equal(old.bytes, new.bytes);
    assert_memory_not_equal(old.data, new.data, old.bytes);
    assert_true(all >= CALLS_LEAST && all <= CALLS_MOST);
    put_file(names.path, &old);
    int is_new = 0;
    for (long n = 1; n <= all; n++) {
        const int status = run_child(n);
        if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
            fail_msg("call %ld of %ld: the child ended with 0x%x", n, all, (unsigned)status);
        if (is_file(names.path, &new))
            is_new = 1;
        else if (is_new || !is_file(names.path, &old))
            fail_msg("killed at call %ld of %ld: the file is neither checkpoint", n, all);
        assert_int_equal(clump_saved_read(&(clump_load_desc){.size = sizeof(clump_load_desc),
                                                             .path = names.path},
                                          NULL, NULL, NULL, &error),
                         CLUMP_OK);
        /* With its name it has all of its bytes, and the part is there no more. */
        assert_int_equal(stat(names.part, &found) == 0, !is_new);
    }
    assert_true(
        is_new); /* killed after it got its name: before the folder is brought to the disk */
    put_file(names.path, &old);
    file longer = {.data = calloc(2, old.bytes), .bytes = 2 * old.bytes};
    put_file(names.part, &longer); /* a part that somebody left */
    free(longer.data);
    assert_int_equal(run_child(0), 0);
    assert_true(is_file(names.path, &new));
    assert_int_not_equal(stat(names.part, &found), 0);
    unlink(names.path);
    assert_int_equal(rmdir(names.folder), 0);
    free(old.data);
    free(new.data);
    cl_fixture_close(&on);
}

int main(int count, char **words) {
    program_name = words[0];
    if (count == 4 && strcmp(words[1], "child") == 0) return child(words[2], words[3]);
    const struct CMUnitTest tests[] = {cmocka_unit_test(at_each_call)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void) {
    return CL_FIXTURE_SKIP;
}

#endif
