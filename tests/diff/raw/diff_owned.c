/* Raw memory that objects own: taken over from clump_malloc(), handed from object to object, given
 * up, freed with the object by a free and by a collection, in its place while objects move. The
 * host knows the bytes of each object by numbers. Then calls that have to be refused, with the
 * report that cl/api/arrays.clh promises and nothing changed.
 *
 * Read first: cl/api/arrays.clh, cl_fixture.h.
 */
#include <stdio.h>
#include <string.h>

#include "cl_fixture.h"

static cl_fixture fixture, *const f = &fixture;

enum { NODES = 1000, BYTES_MAX = 700 };

static const char schema_text[] =
    "class Node { uint number; raw data; ref Node others[*] inline 2; double16 wide[*]; }";

static const char source[] =
    "uint bytes_of(uint k) { return 1u + k * 37u % BYTES_MAX; }\n"
    "__kernel void make(CLUMP_HEAP, __global Node *table, __global uint *failed) {\n"
    "    CLUMP_FOR_EACH_NEW(Node, self, i) {\n"
    "        table[i] = self;\n"
    "        Node_number(self) = i;\n"
    "        __global uchar *p = (__global uchar *)clump_malloc(bytes_of(i));\n"
    "        for (uint b = 0; p && b < bytes_of(i); b++) p[b] = (uchar)(i + b);\n"
    "        uint good = Node_data_memory(self) == 0 && Node_data_adopt(self, p, bytes_of(i)) == "
    "CLUMP_DONE;\n"
    "        good &= Node_data_memory(self) == p && Node_data_length(self) == bytes_of(i);\n"
    "        if (!good) atomic_inc(failed);\n"
    "    }\n"
    "}\n"
    /* Memory goes from the first to the second of two objects; the second's, to the first. */
    "__kernel void swap(CLUMP_HEAP, __global const Node *table, uint count, __global uint *failed) "
    "{\n"
    "    uint k = (uint)get_global_id(0);\n"
    "    if (k >= count / 2u) return;\n"
    "    Node a = table[k], b = table[count - 1u - k];\n"
    "    uint of_a = Node_data_length(a), of_b = Node_data_length(b);\n"
    "    __global uchar *p = Node_data_release(a);\n"
    "    uint good = Node_data_length(a) == 0 && Node_data_capacity(a) == 0 && "
    "Node_data_release(a) == 0;\n"
    "    __global uchar *q = Node_data_release(b);\n"
    "    good &= Node_data_adopt(b, p, of_a) == CLUMP_DONE && Node_data_adopt(a, q, of_b) == "
    "CLUMP_DONE;\n"
    "    if (!good) atomic_inc(failed);\n"
    "}\n"
    /* References, of which the first two lie in the object. What the array had before is freed. */
    "__kernel void link(CLUMP_HEAP, __global const Node *table, uint count, __global uint *failed) "
    "{\n"
    "    CLUMP_FOR_EACH(Node, self) {\n"
    "        uint k = Node_number(self), good = Node_others_resize(self, 5u) == CLUMP_DONE;\n"
    "        __global Node *p = (__global Node *)clump_malloc(3u * sizeof(Node));\n"
    "        for (uint i = 0; good && i < 2u; i++) Node_others(self, i) = table[(k + i) % count];\n"
    "        for (uint i = 0; p && i < 3u; i++) p[i] = table[(k + 2u + i) % count];\n"
    "        if (!good || Node_others_adopt(self, p, 5u) != CLUMP_DONE) atomic_inc(failed);\n"
    "    }\n"
    "}\n"
    "__kernel void unlink(CLUMP_HEAP) { CLUMP_FOR_EACH(Node, self) Node_others_resize(self, 0u); "
    "}\n"
    "__kernel void free_most(CLUMP_HEAP, __global Node *table) {\n"
    "    CLUMP_FOR_EACH(Node, self) {\n"
    "        if (Node_number(self) % 4u == 0u) continue;\n"
    "        table[Node_number(self)] = Node_null;\n"
    "        Node_free(self);\n"
    "    }\n"
    "}\n"
    /* The objects go, and their memory stays. */
    "__kernel void part(CLUMP_HEAP, __global uint *handles) {\n"
    "    CLUMP_FOR_EACH(Node, self) {\n"
    "        uint k = Node_number(self);\n"
    "        handles[k] = clump_raw_of(Node_data_release(self));\n"
    "        Node_free(self);\n"
    "    }\n"
    "}\n"
    "__kernel void free_handles(CLUMP_HEAP, __global const uint *handles, uint count) {\n"
    "    uint k = (uint)get_global_id(0);\n"
    "    if (k < count && handles[k]) clump_free(clump_raw_at(handles[k]));\n"
    "}\n"
    /* What no object has. */
    "__kernel void nobody(CLUMP_HEAP_NO_ALLOC, __global uint *out) {\n"
    "    if (get_global_id(0)) return;\n"
    "    out[0] = Node_data_memory(Node_null) || Node_data_release(Node_null);\n"
    "}\n"
    "enum { NOTHING, INSIDE, FOREIGN, FREED, TOO_MANY, AGAIN, UNALIGNED, NO_OBJECT, FITS };\n"
    "__kernel void wrong(CLUMP_HEAP, Node r, uint what, __global uint *out) {\n"
    "    if (get_global_id(0)) return;\n"
    "    __global uchar *p = (__global uchar *)clump_aligned_alloc(128u, 1024u), *q = p;\n"
    "    uint n = 1000u;\n"
    "    if (what == NOTHING) q = 0;\n"
    "    if (what == INSIDE) q = p + 64;\n"
    "    if (what == FOREIGN) q = (__global uchar *)out;\n"
    "    if (what == FREED) clump_free(p);\n"
    "    if (what == TOO_MANY) n = 5000u;\n"
    "    if (what == AGAIN) q = Node_data_memory(r), n = 2u;\n"
    "    if (what == NO_OBJECT) r = Node_null;\n"
    "    if (what == UNALIGNED) {\n" /* of some small ones not all are aligned like that */
    "        clump_free(p);\n"
    "        p = q = (__global uchar *)clump_malloc(16u);\n"
    "        for (uint i = 0; i < 32u && ((ulong)q & 127ul) == 0; i++) {\n"
    "            q = (__global uchar *)clump_malloc(16u);\n"
    "            clump_free(p);\n"
    "            p = q;\n"
    "        }\n"
    "        out[0] = Node_wide_adopt(r, (__global double16 *)q, 1u);\n"
    "    } else {\n"
    "        out[0] = Node_data_adopt(r, q, n);\n"
    "    }\n"
    "    if (what != FITS && what != FREED) clump_free(p);\n"
    "}\n";
enum { NOTHING, INSIDE, FOREIGN, FREED, TOO_MANY, AGAIN, UNALIGNED, NO_OBJECT, FITS };
enum { DONE, FULL = 3, MISUSED }; /* CLUMP_... */

static struct {
    clump_heap *heap;
    clump_program *program;
    cl_mem table, failed, handles;
    uint32_t is[NODES];
} t;

static clump_kernel *kernel(const char *name) {
    return cl_fixture_kernel(f, t.program, name);
}

static void expect_bytes(uint32_t k, uint32_t of) {
    uint8_t data[BYTES_MAX];
    uint64_t n;
    CHECK_OK(f, clump_heap_read_object_array(t.heap, "Node", "data", t.is[k], sizeof *data, data,
                                             BYTES_MAX, &n));
    assert_int_equal(n, 1 + of * 37 % BYTES_MAX);
    for (uint32_t b = 0; b < n; b++)
        if (data[b] != (uint8_t)(of + b)) fail_msg("node %u, byte %u: %u", k, b, data[b]);
}

/* All calls were good, and the heap is sound. swapped: node k has what node NODES - 1 - k had at
 * first. */
static void done(int swapped) {
    uint32_t failed;
    CHECK_HEAP(f, t.heap);
    cl_fixture_read(f, t.failed, &failed, sizeof failed);
    assert_int_equal(failed, 0);
    cl_fixture_read(f, t.table, t.is, sizeof t.is);
    for (uint32_t k = 0; k < NODES; k += 7)
        if (t.is[k]) expect_bytes(k, swapped ? NODES - 1 - k : k);
}

static void open_heap(void) {
    char options[60];
    uint64_t made, before = 0;
    const uint32_t zero = 0, count = NODES;
    snprintf(options, sizeof options, "-DBYTES_MAX=%du", BYTES_MAX);
    t.heap = cl_fixture_heap(f, schema_text, 8 << 20, 2);
    t.program = cl_fixture_program(f, t.heap, source, options, NULL);
    memset(t.is, 0, sizeof t.is);
    t.table = cl_fixture_buffer(f, t.is, sizeof t.is);
    t.handles = cl_fixture_buffer(f, t.is, sizeof t.is);
    t.failed = cl_fixture_buffer(f, &zero, sizeof zero);
    clump_kernel *make = kernel("make"), *link = kernel("link");
    SET_ARG(f, make, 0, t.table);
    SET_ARG(f, make, 1, t.failed);
    CHECK_OK(f, clump_heap_do_new(t.heap, make, "Node", NODES, &made, NULL));
    assert_int_equal(made, NODES);
    SET_ARG(f, link, 0, t.table);
    SET_ARG(f, link, 1, count);
    SET_ARG(f, link, 2, t.failed);
    for (uint32_t i = 0; i < 2; i++) { /* the second frees what the first took */
        CHECK_OK(f, clump_heap_do_all(t.heap, link, NULL));
        if (i) assert_int_equal(cl_fixture_raw_bytes(f, t.heap), before);
        before = cl_fixture_raw_bytes(f, t.heap);
    }
    clump_kernel_destroy(make);
    clump_kernel_destroy(link);
    done(0);
}

static void close_heap(void) {
    clump_program_destroy(t.program);
    clump_heap_destroy(t.heap);
    clReleaseMemObject(t.table);
    clReleaseMemObject(t.handles);
    clReleaseMemObject(t.failed);
}

static void swap(void) {
    const uint32_t count = NODES;
    clump_kernel *k = kernel("swap");
    SET_ARG(f, k, 0, t.table);
    SET_ARG(f, k, 1, count);
    SET_ARG(f, k, 2, t.failed);
    const uint64_t before = cl_fixture_raw_bytes(f, t.heap);
    CHECK_OK(f, clump_heap_launch(t.heap, k, 512, 64, NULL));
    clump_kernel_destroy(k);
    assert_int_equal(cl_fixture_raw_bytes(f, t.heap), before);
    done(1);
}

static void run_all(const char *name) {
    clump_kernel *k = kernel(name);
    CHECK_OK(f, clump_heap_do_all(t.heap, k, NULL));
    clump_kernel_destroy(k);
}

/* Three quarters of the objects are freed and the others move; then one in two that are left has no
 * reference to it. */
static void free_move_collect(void) {
    clump_kernel *k = kernel("free_most");
    clump_refs *refs;
    clump_compact_report moved = {.size = sizeof moved};
    clump_collect_report collected = {.size = sizeof collected};
    SET_ARG(f, k, 0, t.table);
    CHECK_OK(f, clump_heap_do_all(t.heap, k, NULL));
    clump_kernel_destroy(k);
    done(1);
    CHECK_OK(f, clump_refs_create(
                    t.heap,
                    &(clump_refs_desc){
                        .size = sizeof(clump_refs_desc), .buffer = t.table, .count = NODES},
                    &refs, NULL));
    CHECK_OK(f, clump_heap_compact(
                    t.heap,
                    &(clump_compact_desc){.size = sizeof(clump_compact_desc), .null_dangling = 1},
                    &moved, NULL));
    assert_true(moved.moves > 0);
    done(1);
    for (uint32_t n = 0; n < NODES; n += 8) t.is[n] = 0;
    cl_fixture_write(f, t.table, t.is, sizeof t.is);
    run_all("unlink");
    const uint64_t before = cl_fixture_raw_bytes(f, t.heap);
    CHECK_OK(f, clump_heap_collect(t.heap, NULL, &collected, NULL));
    assert_int_equal(collected.dead, NODES / 8);
    assert_int_equal(collected.live, NODES / 8);
    assert_true(cl_fixture_raw_bytes(f, t.heap) < before);
    done(1);
    clump_refs_destroy(refs);
}

/* What the objects gave up outlives them. */
static void part(void) {
    clump_kernel *k = kernel("part"), *end = kernel("free_handles");
    const uint32_t count = NODES;
    uint64_t live;
    SET_ARG(f, k, 0, t.handles);
    CHECK_OK(f, clump_heap_do_all(t.heap, k, NULL));
    CHECK_OK(f, clump_heap_read_count(t.heap, "Node", &live));
    assert_int_equal(live, 0);
    uint64_t least = 0;
    for (uint32_t n = 4; n < NODES; n += 8) least += 1 + (NODES - 1 - n) * 37 % BYTES_MAX;
    assert_true(cl_fixture_raw_bytes(f, t.heap) >= least);
    SET_ARG(f, end, 0, t.handles);
    SET_ARG(f, end, 1, count);
    CHECK_OK(f, clump_heap_launch(t.heap, end, 1024, 64, NULL));
    CHECK_HEAP(f, t.heap);
    assert_int_equal(cl_fixture_raw_bytes(f, t.heap), 0);
    clump_kernel_destroy(k);
    clump_kernel_destroy(end);
}

static uint32_t try(clump_kernel *k, uint32_t what) {
    uint32_t out;
    SET_ARG(f, k, 0, t.is[3]);
    SET_ARG(f, k, 1, what);
    SET_ARG(f, k, 2, t.handles);
    CHECK_OK(f, clump_heap_launch(t.heap, k, 64, 64, NULL));
    CHECK_OK(f, clump_heap_check(t.heap));
    cl_fixture_read(f, t.handles, &out, sizeof out);
    return out;
}

static void refused(void) {
    static const struct {
        uint32_t what, status;
        int kind; /* of the report; -1: none */
    } cases[] = {{NOTHING, MISUSED, -1},
                 {INSIDE, MISUSED, CLUMP_DEVICE_BAD_POINTER},
                 {FOREIGN, MISUSED, CLUMP_DEVICE_BAD_POINTER},
                 {FREED, MISUSED, CLUMP_DEVICE_DOUBLE_FREE},
                 {TOO_MANY, FULL, CLUMP_DEVICE_BAD_SIZE},
                 {UNALIGNED, MISUSED, CLUMP_DEVICE_BAD_POINTER},
                 {NO_OBJECT, MISUSED, -1}};
    clump_kernel *k = kernel("wrong");
    const uint64_t before = cl_fixture_raw_bytes(f, t.heap);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(try(k, cases[i].what), cases[i].status);
        clump_device_report r = {.size = sizeof r};
        clump_heap_take_errors(t.heap, &r);
        for (int e = 0; e < CLUMP_DEVICE_ERROR_COUNT; e++)
            if (r.errors[e].count != (e == cases[i].kind))
                fail_msg("case %zu: %u reports of kind %d", i, (unsigned)r.errors[e].count, e);
        assert_int_equal(cl_fixture_raw_bytes(f, t.heap), before);
        expect_bytes(3, NODES - 4);
    }
    uint8_t two[2];
    uint64_t n;
    uint32_t out;
    clump_kernel *nobody = kernel("nobody");
    SET_ARG(f, nobody, 0, t.handles);
    CHECK_OK(f, clump_heap_launch(t.heap, nobody, 64, 64, NULL));
    clump_kernel_destroy(nobody);
    cl_fixture_read(f, t.handles, &out, sizeof out);
    assert_int_equal(out, 0);
    CHECK_HEAP(f, t.heap);
    assert_int_equal(try(k, AGAIN), DONE); /* its own: another length, and nothing is freed */
    CHECK_OK(
        f, clump_heap_read_object_array(t.heap, "Node", "data", t.is[3], sizeof *two, two, 2, &n));
    assert_true(n == 2 && two[1] == (uint8_t)(NODES - 4 + 1));
    assert_int_equal(try(k, FITS), DONE); /* in the place of what it had */
    cl_fixture_expect_error(f, t.heap, -1, 0, NULL);
    CHECK_OK(f, clump_heap_read_object_array(t.heap, "Node", "data", t.is[3], 1, NULL, 0, &n));
    assert_int_equal(n, 1000);
    clump_kernel_destroy(k);
}

static void test_owned(void **state) {
    (void)state;
    open_heap();
    swap();
    free_move_collect();
    part();
    close_heap();
}

static void test_refused(void **state) {
    (void)state;
    open_heap();
    swap();
    refused();
    close_heap();
}

int main(void) {
    int status = cl_fixture_open(f, NULL);
    if (status) return status;
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_owned),
                                       cmocka_unit_test(test_refused)};
    status = cmocka_run_group_tests_name("owned", tests, NULL, NULL);
    cl_fixture_close(f);
    return status;
}
