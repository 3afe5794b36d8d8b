/* Raw memory in checked heaps: each wrong kernel is reported, with its line where that is known, and
 * the place of the allocation or of the free. Right kernels are not.
 *
 * Each case is a kernel that does one thing wrong, in the line of WRONG. It is done with pieces of
 * all kinds: of a slot, of a run of slots, of whole blocks.
 *
 * Read first: include/clump/checked.h, cl/api/checked_raw.clh.
 */
#include <stdio.h>
#include <string.h>

#include "clump/checked.h"
#include "clump/compact.h"
#include "findings.h"

#define WRONG "/*wrong*/"
#define HEAD(name) "__kernel void " name "(CLUMP_HEAP, __global uint *v) {\n"
/* v[0]: a handle, v[1]: its bytes, v[2]: a result, v[3]: a number. */
#define CASE(name, statement) HEAD(name) "    " statement WRONG "\n}\n"
#define MEMORY "__global uchar *p = (__global uchar *)clump_raw_at(v[0]); "

static const char source[] = CASE("make", "v[0] = clump_raw_of(clump_malloc(v[1]));")
    CASE("aligned", "v[0] = clump_raw_of(clump_aligned_alloc(v[3], v[1]));")
        CASE("cleared", "v[0] = clump_raw_of(clump_calloc(v[1], 1));") HEAD("fill") MEMORY
    "for (uint i = 0; i < v[1]; i++) p[i] = (uchar)(i * 7u + 1u); }\n" HEAD("right") MEMORY
    "uint ok = clump_usable_size(p) == v[1];\n"
    "for (uint i = 0; i < v[1]; i++) ok &= p[i] == (uchar)(i * 7u + 1u); v[2] = ok; }\n" CASE(
        "drop", "clump_free(clump_raw_at(v[0]));")
    /* The pointer is not looked up, and so it is not judged by its handle. */
    CASE("drop_again", "clump_free((__global uchar *)clump_heap + v[0] * 16ul);")
        CASE("behind", MEMORY "p[v[1]] = 9;") CASE("far_behind", MEMORY "p[v[1] + 7] = 9;")
            CASE("before", MEMORY "p[-1] = 9;") CASE("head", MEMORY "p[-28] ^= 1;")
                CASE("use", "v[2] = clump_raw_at(v[0]) != 0;") CASE(
                    "size",
                    "v[2] = (uint)clump_usable_size((__global uchar *)clump_heap + v[0] * 16ul);")
                    CASE("late", "*((__global uchar *)clump_heap + v[0] * 16ul + v[3]) = 9;")
                        CASE("middle", MEMORY "clump_free(p + 16);")
                            CASE("outside", "clump_free((__global uchar *)clump_heap + 64);")
    /* To v[3] bytes. */
    CASE("change", MEMORY "v[0] = clump_raw_of(clump_realloc(p, v[3])); v[1] = v[3];")
    /* Many pieces at once, of all sizes, by the functions of cl/api/malloc.h: nothing is wrong. */
    "__kernel void many(CLUMP_HEAP, __global uint *v) {\n"
    "    uint me = (uint)get_global_id(0), lost = 0;\n"
    "    for (uint turn = 0; turn < 4; turn++) {\n"
    "        uint n = (me * 77u + turn * 1009u) % 3000u + 1u;\n"
    "        __global uchar *p = (__global uchar *)clump_heap_malloc(clump_heap, n);\n"
    "        if (!p) { lost = 1; continue; }\n"
    "        for (uint i = 0; i < n; i++) p[i] = (uchar)me;\n"
    "        p = (__global uchar *)clump_heap_realloc(clump_heap, p, n / 2u + 20u);\n"
    "        for (uint i = 0; p && i < min(n, n / 2u + 20u); i++) lost |= p[i] != (uchar)me;\n"
    "        clump_heap_free(clump_heap, p);\n"
    "    }\n"
    "    if (lost) v[2] = 0;\n"
    "}\n";

static struct {
    cl_fixture on;
    clump_heap *heap;
    clump_program *program;
    cl_mem v;
} t;

enum { HANDLE, BYTES, RESULT, NUMBER, VALUES };
static const uint32_t sizes[] = {1, 4, 16, 37, 100, 999, 5000, 70001, 300000};
enum { SIZES = sizeof sizes / sizeof *sizes };

static void open_heap(uint32_t without) {
    const clump_checked_desc checked = {.size = sizeof checked, .without = without};
    t.heap = cl_fixture_heap_as(
        &t.on, "class Node { uint id; }",
        &(clump_heap_desc){
            .size = sizeof(clump_heap_desc), .bytes = 8u << 20, .raw = 1, .checked = &checked});
    t.program = cl_fixture_program(&t.on, t.heap, source, "-DCLUMP_MALLOC_FUNCTIONS", NULL);
    const uint32_t none[VALUES] = {0, 0, 1, 0};
    t.v = cl_fixture_buffer(&t.on, none, sizeof none);
}

static void close_heap(void) {
    clump_program_destroy(t.program);
    clump_heap_destroy(t.heap);
    clReleaseMemObject(t.v);
}

static void run_with(const char *name, size_t items) {
    clump_kernel *k = clump_program_get_kernel(t.program, name);
    assert_non_null(k);
    SET_ARG(&t.on, k, 0, t.v);
    CHECK_OK(&t.on, clump_heap_launch(t.heap, k, items, items < 64 ? items : 64, NULL));
}
static void run(const char *name) {
    run_with(name, 1);
}

static uint32_t value(int which) {
    uint32_t v[VALUES];
    cl_fixture_read(&t.on, t.v, v, sizeof v);
    return v[which];
}
static void set(int which, uint32_t value) {
    uint32_t v[VALUES];
    cl_fixture_read(&t.on, t.v, v, sizeof v);
    v[which] = value;
    cl_fixture_write(&t.on, t.v, v, sizeof v);
}

static void expect_nothing(void) {
    expect_no_finding(&t.on, t.heap);
}

/* In the kernel's wrong line; has_line 0: after the kernel. */
static void expect_place(clump_place p, const char *kernel, int has_line) {
    assert_non_null(p.kernel);
    assert_string_equal(p.kernel, kernel);
    assert_int_equal(p.line, has_line ? cl_fixture_line_in(source, kernel, WRONG) : 0);
}

/* The only finding. by NULL: nobody is known. words: in its text. */
static void expect(const char *kernel, clump_finding_kind kind, int has_line, const char *by,
                   const char *words) {
    clump_finding f[4];
    uint64_t count = 0;
    CHECK_OK(&t.on, clump_heap_take_findings(t.heap, f, 4, &count, NULL));
    for (uint32_t i = 0; i < count; i++) print_message("    %s\n", f[i].text);
    if (count != 1) fail_msg("%s: %d findings", kernel, (int)count);
    assert_int_equal(f->kind, kind);
    assert_int_equal(f->count, 1);
    expect_place(f->place, kernel, has_line);
    if (by)
        expect_place(f->by, by, 1);
    else
        assert_int_equal(f->by.line, 0);
    if (!strstr(f->text, words)) fail_msg("\"%s\" is not in: %s", words, f->text);
    CHECK_STATUS(&t.on, clump_heap_take_errors(t.heap, NULL), CLUMP_ERR_DEVICE);
    expect_nothing();
}

static void make(uint32_t bytes) {
    set(BYTES, bytes);
    run("make");
    assert_int_not_equal(value(HANDLE), 0);
    run("fill");
    expect_nothing();
}

static void expect_right(void) {
    run("right");
    assert_int_equal(value(RESULT), 1);
    expect_nothing();
}

static void guards(void **state) {
    (void)state;
    open_heap(0);
    for (size_t i = 0; i < SIZES; i++) {
        make(sizes[i]);
        expect_right();
        run("behind");
        expect("behind", CLUMP_FINDING_GAP, 0, "make", "byte 0 behind the end of that");
        run("far_behind");
        expect("far_behind", CLUMP_FINDING_GAP, 0, "make", "byte 7 behind the end of that");
        run("before");
        expect("before", CLUMP_FINDING_GAP, 0, "make", "byte 1 before the begin of that");
        expect_right();
        run("drop");
        expect_nothing();
    }
    set(BYTES, 5000);
    set(NUMBER, 256);
    run("aligned");
    run("fill");
    expect_right();
    run("before");
    expect("before", CLUMP_FINDING_GAP, 0, "aligned", "byte 1 before the begin of that");
    run("drop");
    run("cleared");
    run("behind");
    expect("behind", CLUMP_FINDING_GAP, 0, "cleared", "byte 0 behind the end of that");
    run("head");
    clump_finding f;
    uint64_t count;
    CHECK_OK(&t.on, clump_heap_take_findings(t.heap, &f, 1, &count, NULL));
    assert_int_equal(count, 1);
    assert_non_null(strstr(f.text, "the library's head of raw memory was overwritten"));
    CHECK_STATUS(&t.on, clump_heap_take_errors(t.heap, NULL), CLUMP_ERR_DEVICE);
    close_heap();
}

/* Without the look after each kernel, a free sees it. */
static void guards_at_free(void **state) {
    (void)state;
    open_heap(CLUMP_CHECK_MEMORY);
    for (size_t i = 0; i < SIZES; i++) {
        make(sizes[i]);
        run("behind");
        run("drop");
        expect("drop", CLUMP_FINDING_GAP, 1, "make", "byte 0 behind the end of that");
    }
    close_heap();
    open_heap(CLUMP_CHECK_MEMORY | CLUMP_CHECK_FREED);
    make(100);
    run("behind");
    run("drop");
    expect_nothing();
    close_heap();
}

/* is_kept: another piece in the block, which is not free then. */
static void freed(int is_kept) {
    open_heap(0);
    for (size_t i = 0; i < (is_kept ? SIZES - 2 : SIZES); i++) {
        if (is_kept) make(sizes[i]);
        make(sizes[i]);
        run("drop");
        expect_nothing();
        run("use");
        expect("use", CLUMP_FINDING_ACCESS, 1, "drop", "was used, but is not in use");
        run("size");
        expect("size", CLUMP_FINDING_ACCESS, 1, "drop", "freed by kernel drop, program.cl:");
        assert_int_equal(value(RESULT), 0);
        run("drop_again");
        expect("drop_again", CLUMP_FINDING_DOUBLE_FREE, 1, "drop", "was freed again");
        set(NUMBER, 0);
        run("late");
        expect("late", is_kept ? CLUMP_FINDING_FREED : CLUMP_FINDING_GAP, 0, "drop",
               "raw memory there was freed by kernel drop");
    }
    close_heap();
}
static void freed_with_block(void **state) {
    (void)state;
    freed(0);
}
static void freed_within_block(void **state) {
    (void)state;
    freed(1);
}

/* Of all that free it at once, one does. */
static void freed_by_many(void **state) {
    (void)state;
    enum { MANY = 256 };
    clump_device_report report = {.size = sizeof report};
    open_heap(0);
    for (size_t i = 0; i < SIZES; i++) {
        clump_finding f;
        uint64_t count;
        make(sizes[i]);
        run_with("drop_again", MANY);
        CHECK_OK(&t.on, clump_heap_take_findings(t.heap, &f, 1, &count, NULL));
        assert_int_equal(count, 1);
        assert_int_equal(f.kind, CLUMP_FINDING_DOUBLE_FREE);
        assert_int_equal(f.count, MANY - 1);
        CHECK_STATUS(&t.on, clump_heap_take_errors(t.heap, &report), CLUMP_ERR_DEVICE);
        assert_int_equal(report.errors[CLUMP_DEVICE_DOUBLE_FREE].count, MANY - 1);
        expect_nothing();
    }
    close_heap();
}

/* A slot is given out again. */
static void freed_at_next(void **state) {
    (void)state;
    open_heap(CLUMP_CHECK_MEMORY);
    make(100);
    const uint32_t handle = value(HANDLE);
    run("drop");
    set(NUMBER, 99);
    run("late");
    for (int i = 0; i < 4096; i++) {
        run("make");
        if (value(HANDLE) == handle) break;
    }
    assert_int_equal(value(HANDLE), handle);
    expect("make", CLUMP_FINDING_FREED, 1, "drop", "without an owner was written to");
    close_heap();
}

static void pointers(void **state) {
    (void)state;
    open_heap(0);
    for (size_t i = 0; i < SIZES; i++) {
        make(sizes[i]);
        run("middle");
        expect("middle", CLUMP_FINDING_FREE, 1, NULL, "is not in use: none was freed there");
        expect_right();
    }
    run("outside");
    cl_fixture_expect_error(&t.on, t.heap, CLUMP_DEVICE_BAD_POINTER, 0, "raw memory");
    expect_nothing();
    close_heap();
}

static void sizes_change(void **state) {
    (void)state;
    static const uint32_t to[] = {7, 90, 4000, 100000};
    open_heap(0);
    for (size_t i = 0; i < SIZES; i++) {
        for (size_t k = 0; k < sizeof to / sizeof *to; k++) {
            make(sizes[i]);
            const uint32_t before = value(HANDLE);
            set(NUMBER, to[k]);
            run("change");
            assert_int_equal(value(HANDLE) == before, to[k] <= sizes[i]);
            set(BYTES, to[k] < sizes[i] ? to[k] : sizes[i]);
            if (to[k] <= sizes[i]) {
                expect_right();
                run("behind");
                expect("behind", CLUMP_FINDING_GAP, 0, "make", "byte 0 behind the end of that");
            }
            run("drop");
            expect_nothing();
        }
    }
    set(HANDLE, 0);
    run("use"); /* null */
    assert_int_equal(value(RESULT), 0);
    set(BYTES, UINT32_MAX);
    run("make");
    cl_fixture_expect_error(&t.on, t.heap, CLUMP_DEVICE_BAD_SIZE, UINT32_MAX,
                            "A size must be 1 to");
    close_heap();
}

static void many(void **state) {
    (void)state;
    clump_heap_stats stats = {.size = sizeof stats};
    open_heap(0);
    for (int i = 0; i < 3; i++) {
        run_with("many", 256);
        assert_int_equal(value(RESULT), 1);
        expect_nothing();
        CHECK_OK(&t.on, clump_heap_compact(t.heap, NULL, NULL, NULL));
        expect_nothing();
    }
    CHECK_OK(&t.on, clump_heap_read_stats(t.heap, &stats, NULL, 0));
    assert_int_equal(stats.raw_bytes, 0);
    make(5000);
    CHECK_OK(&t.on, clump_heap_compact(t.heap, NULL, NULL, NULL));
    expect_right();
    close_heap();
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(guards),
                                       cmocka_unit_test(guards_at_free),
                                       cmocka_unit_test(freed_with_block),
                                       cmocka_unit_test(freed_within_block),
                                       cmocka_unit_test(freed_by_many),
                                       cmocka_unit_test(freed_at_next),
                                       cmocka_unit_test(pointers),
                                       cmocka_unit_test(sizes_change),
                                       cmocka_unit_test(many)};
    const int code = cl_fixture_open(&t.on, NULL);
    if (code) return code;
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    cl_fixture_close(&t.on);
    return failed;
}
