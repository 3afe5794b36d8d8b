/* Checked heaps: each wrong program is told with its line, and is not when the check is left out.
 *
 * Each case is a kernel that does one thing wrong. The line of that is marked in the source by
 * WRONG.
 *
 * Read first: include/clump/checked.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cl_fixture.h"
#include "clump/checked.h"
#include "clump/collect.h"
#include "clump/compact.h"
#include "clump/refs.h"

static const char schema_text[] =
    "abstract class Thing { uint kind; }\n"
    "class Node : Thing { uint id; float x; ref Node next; uint a[4]; ulong wide; }\n"
    "class Small : Thing { uint v; float4 p; }\n"
    "aos class Pair { uchar flag; uint left; uint right; }\n";

/* The line is that of the word in the source. */
#define WRONG "/*wrong*/"
#define FREED "/*freed*/"
#define STAGED "/*staged*/"

static const char source[] =
    "__kernel void init(CLUMP_HEAP, __global uint *out) {\n"
    "    CLUMP_FOR_EACH_NEW(Node, n, i) {\n"
    "        Node_id(n) = i;\n"
    "        Node_next(n) = Node_null;\n"
    "        out[i] = n.id;\n"
    "    }\n"
    "}\n"
    "__kernel void use(CLUMP_HEAP_NO_ALLOC, __global uint *refs) {\n"
    "    Node n = {refs[0]};\n"
    "    Node_id(n) = 5; " WRONG
    "\n"
    "}\n"
    "__kernel void drop(CLUMP_HEAP, __global uint *refs) {\n"
    "    Node n = {refs[0]};\n"
    "    Node_free(n); " FREED WRONG
    "\n"
    "}\n"
    "__kernel void cast(CLUMP_HEAP_NO_ALLOC, __global uint *refs) {\n"
    "    Thing t = {refs[0]};\n"
    "\n"
    "    refs[1] = Thing_is_Node(t); " WRONG
    "\n"
    "}\n"
    "__kernel void bounds(CLUMP_HEAP_NO_ALLOC, __global uint *refs) {\n"
    "    Node n = {refs[0]};\n"
    "    Node_a(n, 3) = 1;\n"
    "    Node_a(n, (ulong)refs[2] << 32 | refs[1]) = 1; " WRONG
    "\n"
    "}\n"
    "__kernel void unwritten(CLUMP_HEAP, __global uint *refs) {\n"
    "    Node n = {refs[0]};\n"
    "    refs[1] = Node_id(n) + Node_next(n).id;\n"
    "    Node_a(n, 1) = 7;\n"
    "    refs[2] = Node_a(n, 1);\n"
    "    Node_x(n) += 1.0f; " WRONG
    "\n"
    "}\n"
    "__kernel void late(CLUMP_HEAP_NO_ALLOC, __global uint *refs, uint what) {\n"
    "    Node n = {refs[0]};\n"
    "    __global uint *id = &Node_id(n);\n"
    "    id[what] = 99;\n"
    "}\n"
    "#define SLOTS 0xffffu\n"
    "__kernel void again(CLUMP_HEAP, __global uint *refs) {\n"
    "    uint slot = refs[0] & SLOTS;\n"
    "    for (uint i = 0; i < 4096; i++) {\n"
    "        Node n = Node_new(); " WRONG
    "\n"
    "        refs[1] = n.id;\n"
    "        if ((n.id & SLOTS) == slot || Node_is_null(n)) break;\n"
    "    }\n"
    "}\n"
    "__kernel void small(CLUMP_HEAP) {\n"
    "    Small s = Small_new(); " WRONG
    "\n"
    "    Small_v(s) = 1;\n"
    "}\n"
    /* A ring of nodes: each names the next, which has the next number. */
    "__kernel void ring(CLUMP_HEAP_NO_ALLOC, CLUMP_NUMBERS, __global uint *refs) {\n"
    "    CLUMP_FOR_EACH_NUMBERED(Node, n, i) {\n"
    "        Node next = CLUMP_AT(Node, i + 1);\n"
    "        if (Node_is_null(next)) next = CLUMP_AT(Node, 0);\n"
    "        Node_next(n) = next;\n"
    "    }\n"
    "}\n"
    /* Takes every second one out, and then frees it. */
    "__kernel void skip(CLUMP_HEAP_NO_ALLOC, __global uint *refs) {\n"
    "    CLUMP_FOR_EACH(Node, n) if (Node_id(n) % 2 == 0) Node_next(n) = Node_next(Node_next(n));\n"
    "}\n"
    "__kernel void odd(CLUMP_HEAP, __global uint *refs) {\n"
    "    CLUMP_FOR_EACH(Node, n) if (Node_id(n) % 2) Node_free(n);\n"
    "}\n"
    /* Two ways to the same object are equal; refs[0]: how many are not. */
    "__kernel void same(CLUMP_HEAP_NO_ALLOC, CLUMP_NUMBERS, __global uint *refs, uint step) {\n"
    "    uint wrong = 0;\n"
    "    CLUMP_FOR_EACH_NUMBERED(Node, n, i) {\n"
    "        Node next = Node_next(n);\n"
    "        wrong += Node_id(next) - Node_id(n) != step && Node_id(next) != 0;\n"
    "        uint found = 0;\n"
    "        CLUMP_FOR_WHOLE_CLASS(Node, other) found += other.id == next.id;\n"
    "        wrong += found != 1 || CLUMP_AT(Node, i).id != n.id;\n"
    "    }\n"
    "    CLUMP_REDUCE(uint, wrong, CLUMP_SUM);\n"
    "}\n"
    /* All with all: each finds itself once. refs[1]: what came of it. */
    "__kernel void together(CLUMP_HEAP_NO_ALLOC, __global uint *refs) {\n"
    "    CLUMP_STAGE(uint2, staged);\n"
    "    CLUMP_STAGE(uint, parts);\n"
    "    Node one = {refs[0]};\n"
    "    CLUMP_FOR_EACH_TOGETHER(Node, self) {\n"
    "        uint sum = 0, mine = CLUMP_TAKES_PART(self) ? Node_id(self) : 0u;\n"
    "        CLUMP_FOR_WHOLE_CLASS_STAGED(Node, other, uint2, it, staged,\n"
    "                             (uint2)(Node_id(Node_next(other)), other.id)) { " STAGED
    "\n"
    "            sum += (it.x ^ mine) + (it.y == self.id);\n"
    "            sum += Node_id(one); " WRONG
    "\n"
    "        }\n"
    "        CLUMP_COMBINE(parts, sum, CLUMP_SUM);\n"
    "        if (CLUMP_OWNS(self)) atomic_add(&refs[1], sum);\n"
    "    }\n"
    "}\n"
    "__kernel void pairs(CLUMP_HEAP, __global uint *out) {\n"
    "    CLUMP_FOR_EACH_NEW(Pair, p, i) {\n"
    "        Pair_flag(p) = 1;\n"
    "        out[i] = p.id;\n"
    "    }\n"
    "}\n"
    "__kernel void part(CLUMP_HEAP, __global uint *refs) {\n"
    "    CLUMP_FOR_EACH(Pair, p) Pair_free(p);\n"
    "}\n"
    "__kernel void none(CLUMP_HEAP_NO_ALLOC) {}\n";

static struct {
    cl_fixture on;
    clump_heap *heap;
    clump_program *program, *programs[CLUMP_CHECK_ALL + 1]; /* by what is left out */
    cl_mem refs;
    uint32_t leaks;
    char leak[CLUMP_FINDING_TEXT_BYTES];
} t;

enum { MOST = 4096, SLOTS = 0xffff }; /* SLOTS: some bits that are of no generation */

static void on_leak(void *user, const char *text) {
    assert_ptr_equal(user, &t);
    t.leaks++;
    snprintf(t.leak, sizeof t.leak, "%s", text);
}

static void open_heap(uint32_t without) {
    clump_schema *s;
    assert_int_equal(clump_schema_parse(schema_text, strlen(schema_text), NULL, &s, NULL),
                     CLUMP_OK);
    const clump_checked_desc checked = {
        .size = sizeof checked, .without = without, .events = 100, .on_leak = on_leak, .user = &t};
    clump_heap_desc d = {.size = sizeof d,
                         .context = t.on.clump,
                         .schema = s,
                         .bytes = 4u << 20,
                         .block_rows = 1,
                         .checked = &checked};
    CHECK_OK(&t.on, clump_heap_create(&d, &t.heap, NULL));
    clump_schema_destroy(s);
    assert_int_equal(clump_heap_get_info(t.heap)->checks, CLUMP_CHECK_ALL & ~without);
    clump_program **program = &t.programs[without];
    if (!*program) *program = cl_fixture_program(&t.on, t.heap, source, NULL, NULL);
    t.program = *program;
    t.refs = cl_fixture_buffer(&t.on, NULL, MOST * 4);
}

static void close_heap(void) {
    clump_heap_destroy(t.heap);
    clReleaseMemObject(t.refs);
    t.heap = NULL;
}

/* Launch a kernel alone. */
static void run(const char *name, uint32_t what) {
    clump_kernel *k = cl_fixture_kernel(&t.on, t.program, name);
    if (strcmp(name, "small") != 0 && strcmp(name, "none") != 0) SET_ARG(&t.on, k, 0, t.refs);
    if (strcmp(name, "late") == 0) SET_ARG(&t.on, k, 1, what);
    CHECK_OK(&t.on, clump_heap_launch(t.heap, k, 1, 1, NULL));
    clump_kernel_destroy(k);
}

/* t.refs gets their references; the first is returned. */
static clump_ref make_of(const char *class_name, const char *kernel, uint32_t count) {
    clump_kernel *init = cl_fixture_kernel(&t.on, t.program, kernel);
    clump_ref ref;
    uint64_t made = 0;
    SET_ARG(&t.on, init, 0, t.refs);
    CHECK_OK(&t.on, clump_heap_do_new(t.heap, init, class_name, count, &made, NULL));
    assert_int_equal(made, count);
    clump_kernel_destroy(init);
    cl_fixture_read(&t.on, t.refs, &ref, sizeof ref);
    return ref;
}

static clump_ref make(uint32_t count) {
    return make_of("Node", "init", count);
}

/* Without its generation. */
static clump_ref plain_of(clump_ref ref) {
    return ref & UINT32_MAX / (clump_heap_get_info(t.heap)->generations + 1);
}

static uint32_t block_of(clump_ref ref) {
    return (plain_of(ref) >> 6) / clump_heap_get_info(t.heap)->block_granules;
}

/* The only finding. */
static clump_finding fetch(void) {
    clump_finding f[4];
    uint64_t count = 0, lost = 7;
    CHECK_OK(&t.on, clump_heap_take_findings(t.heap, f, 4, &count, &lost));
    if (count != 1) {
        for (uint32_t i = 0; i < count && i < 4; i++) print_error("%s\n", f[i].text);
        fail_msg("%u findings", count);
    }
    assert_int_equal(lost, 0);
    print_message("    %s\n", f[0].text);
    return f[0];
}

static void expect_place(clump_place p, const char *kernel, const char *mark) {
    assert_non_null(p.kernel);
    assert_string_equal(p.kernel, kernel);
    assert_string_equal(p.program, "program.cl");
    assert_int_equal(p.line, mark ? cl_fixture_line_in(source, kernel, mark) : 0);
}

/* What the kernel's wrong line did. */
static clump_finding expect(clump_finding_kind kind, const char *kernel, const char *class_name,
                            const char *field, clump_ref ref) {
    const clump_finding f = fetch();
    assert_int_equal(f.kind, kind);
    assert_int_equal(f.count, 1);
    assert_string_equal(f.class_name ? f.class_name : "", class_name);
    assert_string_equal(f.field ? f.field : "", field);
    assert_int_equal(f.ref, ref);
    assert_int_equal(f.work_item, 0);
    expect_place(f.place, kernel, WRONG);
    /* The heap's errors say the same. */
    const clump_status status = clump_heap_take_errors(t.heap, NULL);
    assert_int_equal(status, CLUMP_ERR_DEVICE);
    return f;
}

static void expect_nothing(void) {
    uint64_t count = 7;
    CHECK_OK(&t.on, clump_heap_take_findings(t.heap, NULL, 0, &count, NULL));
    assert_int_equal(count, 0);
    CHECK_HEAP(&t.on, t.heap);
}

/* ---- References ---- */

static void references(uint32_t without) {
    open_heap(without);
    const int on = !(without & CLUMP_CHECK_REFERENCES);
    const clump_ref ref = make(64);
    run("use", 0);
    run("cast", 0);
    expect_nothing();
    run("drop", 0);
    expect_nothing();
    static const char *const kernels[] = {"use", "cast", "drop"};
    static const clump_finding_kind kinds[] = {CLUMP_FINDING_ACCESS, CLUMP_FINDING_CAST,
                                               CLUMP_FINDING_DOUBLE_FREE};
    static const char *const classes[] = {"Node", "Thing", "Node"}, *const fields[] = {"id", "",
                                                                                       ""};
    for (int i = on ? 0 : 2; i < 3; i++) {
        run(kernels[i], 0);
        if (on) {
            clump_finding f = expect(kinds[i], kernels[i], classes[i], fields[i], ref);
            expect_place(f.by, "drop", FREED);
            assert_non_null(strstr(f.text, "it was freed by kernel drop, program.cl:14"));
        } else {
            uint64_t count = 7;
            CHECK_OK(&t.on, clump_heap_take_findings(t.heap, NULL, 0, &count, NULL));
            assert_int_equal(count, 0); /* it is refused all the same */
            CHECK_STATUS(&t.on, clump_heap_take_errors(t.heap, NULL), CLUMP_ERR_DEVICE);
        }
        CHECK_OK(&t.on, clump_heap_check(t.heap));
    }
    close_heap();
}
static void test_references(void **state) {
    references(0);
}
static void test_references_left_out(void **state) {
    references(CLUMP_CHECK_REFERENCES);
}

/* The slot is given out again; the reference is of the object before, or of the one before that. */
static void stale(uint32_t without) {
    open_heap(without);
    const clump_ref ref = make(1);
    clump_ref refs[2];
    uint32_t generations = clump_heap_get_info(t.heap)->generations;
    if (without)
        assert_int_equal(generations, 0);
    else
        assert_true(generations >= 255 && !(generations & (generations + 1)));
    run("drop", 0);
    for (uint32_t times = 1; times < 4; times++) {
        run("again", 0); /* until the slot is had */
        cl_fixture_read(&t.on, t.refs, refs, sizeof refs);
        const clump_ref now = refs[1];
        assert_int_equal(now & SLOTS, ref & SLOTS);
        if (without) {
            run("use", 0);
            expect_nothing();
            break;
        }
        assert_int_not_equal(now, ref);
        run("use", 0);
        clump_finding f = expect(CLUMP_FINDING_ACCESS, "use", "Node", "id", ref);
        expect_place(f.by, "drop", FREED);
        assert_non_null(strstr(f.text, "and its slot has an object of class Node now"));
        run("cast", 0);
        expect(CLUMP_FINDING_CAST, "cast", "Thing", "", ref);
        run("drop", 0);
        f = expect(CLUMP_FINDING_DOUBLE_FREE, "drop", "Node", "", ref);
        expect_place(f.by, "drop", FREED);
        uint32_t id;
        cl_fixture_expect_words(
            clump_context_get_error(t.on.clump),
            clump_heap_read_object_field(t.heap, "Node", "id", 0, ref, sizeof(id), &id),
            CLUMP_ERR_REFERENCE, "names no live object", "read", __LINE__);
        CHECK_OK(&t.on,
                 clump_heap_read_object_field(t.heap, "Node", "id", 0, now, sizeof(id), &id));
        /* The one that is there is right, and freed in its turn. */
        cl_fixture_write(&t.on, t.refs, &now, sizeof now);
        run("use", 0);
        run("cast", 0);
        expect_nothing();
        run("drop", 0);
        expect_nothing();
        cl_fixture_write(&t.on, t.refs, &ref, sizeof ref);
    }
    close_heap();
}
static void test_stale(void **state) {
    stale(0);
}
static void test_stale_left_out(void **state) {
    stale(CLUMP_CHECK_GENERATIONS);
}

/* Run a kernel over all objects. */
static void run_all(const char *name) {
    clump_kernel *k = cl_fixture_kernel(&t.on, t.program, name);
    SET_ARG(&t.on, k, 0, t.refs);
    CHECK_OK(&t.on, clump_heap_do_all(t.heap, k, NULL));
    clump_kernel_destroy(k);
}

static void expect_same(uint32_t step) {
    clump_kernel *k = cl_fixture_kernel(&t.on, t.program, "same");
    uint32_t wrong = 77;
    SET_ARG(&t.on, k, 0, t.refs);
    SET_ARG(&t.on, k, 1, step);
    CHECK_OK(&t.on, clump_heap_reduce(t.heap, k, sizeof wrong, &wrong, NULL));
    clump_kernel_destroy(k);
    assert_int_equal(wrong, 0);
    expect_nothing();
}

/* Objects that are there are found by all references to them, whoever has these, whatever moved or
 * was collected; references to others are told. */
static void test_generations_move(void **state) {
    enum { NODES = 600 };
    static clump_ref refs[NODES], now[NODES];
    clump_ref held = 0;
    clump_handle live, dead;
    clump_refs *registered;
    uint64_t count;
    uint32_t id = 0;
    open_heap(0);
    make(NODES);
    run("drop", 0); /* so that generations differ */
    make(1);
    run_all("ring");
    expect_nothing();
    CHECK_OK(&t.on, clump_heap_read_refs(t.heap, "Node", refs, NODES, &count));
    assert_int_equal(count, NODES);
    for (uint32_t i = 0; i < NODES; i++)
        CHECK_OK(&t.on,
                 clump_heap_write_object_field(t.heap, "Node", "id", 0, refs[i], sizeof(i), &i));
    expect_same(1);
    CHECK_OK(&t.on, clump_heap_create_handle(t.heap, refs[10], &live));
    CHECK_OK(&t.on, clump_heap_create_handle(t.heap, refs[11], &dead));
    cl_fixture_write(&t.on, t.refs, refs, sizeof refs);
    clump_refs_desc d = {.size = sizeof d, .buffer = t.refs, .count = NODES};
    CHECK_OK(&t.on, clump_refs_create(t.heap, &d, &registered, NULL));
    run_all("skip");
    run_all("odd");
    expect_same(2);
    for (int round = 0; round < 3; round++) {
        clump_compact_desc how = {.size = sizeof how,
                                  .order = round == 1 ? CLUMP_ORDER_ADDRESS : CLUMP_ORDER_ANY};
        if (round < 2)
            CHECK_OK(&t.on, clump_heap_compact(t.heap, &how, NULL, NULL));
        else
            CHECK_OK(&t.on, clump_heap_collect(t.heap, NULL, NULL, NULL));
        expect_same(2);
        CHECK_OK(&t.on, clump_heap_read_handle(t.heap, live, &held));
        CHECK_OK(&t.on,
                 clump_heap_read_object_field(t.heap, "Node", "id", 0, held, sizeof(id), &id));
        assert_int_equal(id, 10);
        CHECK_OK(&t.on, clump_heap_read_handle(t.heap, dead, &held));
        assert_int_equal(held, 0);
        cl_fixture_read(&t.on, t.refs, now, sizeof now);
        for (uint32_t i = 0; i < NODES; i += 50)
            CHECK_OK(&t.on, clump_heap_read_object_field(t.heap, "Node", "id", 0, now[i],
                                                         sizeof(id), &id));
        assert_int_equal(now[1], 62); /* a slot of the null row: what such an access is told */
    }
    clump_refs_destroy(registered);
    cl_fixture_write(&t.on, t.refs, &now[1], sizeof now[1]);
    run("use", 0);
    clump_finding f = expect(CLUMP_FINDING_ACCESS, "use", "Node", "id", now[1]);
    assert_non_null(strstr(f.text, "its object was freed before others were moved or collected"));
    close_heap();
}

/* Roots that the host names have generations, too. */
static void test_roots(void **state) {
    clump_ref roots[2];
    clump_collect_report report = {.size = sizeof report};
    uint64_t nodes = 7;
    open_heap(0);
    make(10);
    cl_fixture_read(&t.on, t.refs, roots, sizeof roots);
    run("drop", 0);
    const clump_collect_desc desc = {.size = sizeof desc, .roots = roots, .root_count = 2};
    CHECK_OK(&t.on, clump_heap_collect(t.heap, &desc, &report, NULL));
    assert_int_equal(report.roots, 2);
    assert_int_equal(report.roots_dangling, 1);
    CHECK_OK(&t.on, clump_heap_read_count(t.heap, "Node", &nodes));
    assert_int_equal(nodes, 1);
    cl_fixture_write(&t.on, t.refs, &roots[1], sizeof roots[1]);
    run("use", 0);
    expect_nothing();
    close_heap();
}

/* Loops of all with all: a right one is told nothing; a wrong access where values are staged, and
 * one where they are used, have their lines. How often they are found depends on how many
 * work-items share the values. */
static void test_staged(void **state) {
    enum { NODES = 150 };
    static clump_ref refs[NODES];
    uint32_t out[2], expected = 0, before = 0;
    uint64_t count;
    open_heap(0);
    out[0] = make(NODES);
    out[1] = 0;
    run_all("ring");
    cl_fixture_write(&t.on, t.refs, out, sizeof out);
    run_all("together");
    expect_nothing();
    cl_fixture_read(&t.on, t.refs, out, sizeof out);
    for (uint32_t i = 0; i < NODES; i++)
        for (uint32_t k = 0; k < NODES; k++) expected += (i ^ k) + (i == k);
    assert_int_equal(out[1], expected);

    /* The last one is freed; one that names it is left. */
    CHECK_OK(&t.on, clump_heap_read_refs(t.heap, "Node", refs, NODES, &count));
    const clump_ref gone = refs[NODES - 1];
    cl_fixture_write(&t.on, t.refs, &gone, sizeof gone);
    run("drop", 0);
    static const char *const marks[] = {STAGED, WRONG};
    for (int body = 0; body < 2; body++) {
        /* First the field, then the reference that all use. */
        cl_fixture_write(&t.on, t.refs, body ? &gone : &refs[0], sizeof gone);
        CHECK_OK(&t.on, clump_heap_write_object_field(t.heap, "Node", "next", 0, refs[NODES - 2],
                                                      sizeof *(body ? &refs[0] : &gone),
                                                      body ? &refs[0] : &gone));
        run_all("together");
        const clump_finding f = fetch();
        assert_int_equal(f.kind, CLUMP_FINDING_ACCESS);
        assert_true(f.count > before);
        assert_string_equal(f.field, "id");
        assert_int_equal(f.ref, gone);
        expect_place(f.place, "together", marks[body]);
        expect_place(f.by, "drop", FREED);
        CHECK_STATUS(&t.on, clump_heap_take_errors(t.heap, NULL), CLUMP_ERR_DEVICE);
        before = f.count; /* a value is used more often than it is staged */
    }
    CHECK_HEAP(&t.on, t.heap);
    close_heap();
}

/* A null, a number that is none, a reference of another class, one that was never written. */
static void test_kinds_of_references(void **state) {
    static const struct {
        clump_ref ref;
        const char *words;
    } cases[] = {{0, "it is null"},
                 {1, "no object was freed there"}, /* and more, see below */
                 {61, "read from a field that was never written"},
                 {0xdddddddd, "read from an object that was freed"}};
    open_heap(0);
    const clump_ref far = plain_of(make(1)) + (64 << 6);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const clump_ref ref = cases[i].ref == 1 ? far : cases[i].ref;
        cl_fixture_write(&t.on, t.refs, &ref, 4);
        run("use", 0);
        clump_finding f = expect(CLUMP_FINDING_ACCESS, "use", "Node", "id", ref);
        if (!strstr(f.text, cases[i].words)) fail_msg("%s: %s", cases[i].words, f.text);
    }
    run("small", 0);
    uint64_t count;
    clump_ref small;
    CHECK_OK(&t.on, clump_heap_read_refs(t.heap, "Small", &small, 1, &count));
    cl_fixture_write(&t.on, t.refs, &small, 4);
    run("use", 0);
    clump_finding f = expect(CLUMP_FINDING_ACCESS, "use", "Node", "id", small);
    assert_non_null(strstr(f.text, "the object there is of class Small"));
    run("drop", 0);
    f = expect(CLUMP_FINDING_FREE, "drop", "Node", "", small);
    assert_non_null(strstr(f.text, "the object there is of class Small"));
    CHECK_OK(&t.on, clump_heap_check(t.heap));
    close_heap();
}

/* ---- Fields ---- */

static void bounds(uint32_t without) {
    open_heap(without);
    const int on = !(without & CLUMP_CHECK_BOUNDS);
    uint32_t index[3] = {make(64), 4, 0};
    cl_fixture_write(&t.on, t.refs, index, sizeof index);
    run("bounds", 0);
    if (on) {
        clump_finding f = expect(CLUMP_FINDING_BOUNDS, "bounds", "Node", "a", index[0]);
        assert_int_equal(f.index, 4);
        index[1] = 0, index[2] = 1; /* 2^32 is not 0 */
        cl_fixture_write(&t.on, t.refs, index, sizeof index);
        run("bounds", 0);
        f = expect(CLUMP_FINDING_BOUNDS, "bounds", "Node", "a", index[0]);
        assert_int_equal(f.index, UINT32_MAX);
    } else {
        uint64_t count = 0; /* the gap behind the array had it */
        CHECK_OK(&t.on, clump_heap_take_findings(t.heap, NULL, 0, &count, NULL));
        assert_int_equal(count, 1);
        CHECK_STATUS(&t.on, clump_heap_take_errors(t.heap, NULL), CLUMP_ERR_DEVICE);
    }
    close_heap();
}
static void test_bounds(void **state) {
    bounds(0);
}
static void test_bounds_left_out(void **state) {
    bounds(CLUMP_CHECK_BOUNDS);
}

static void reads(uint32_t without) {
    open_heap(without);
    clump_ref ref = make(64);
    run("unwritten", 0);
    if (without) {
        expect_nothing();
    } else {
        clump_finding f = expect(CLUMP_FINDING_READ, "unwritten", "Node", "x", ref);
        expect_place(f.by, "init", NULL);
    }
    /* It is written now, and stays so where objects move. */
    CHECK_OK(&t.on, clump_heap_compact(t.heap, NULL, NULL, NULL));
    run("cast", 0);
    expect_nothing();
    close_heap();
}
static void test_reads(void **state) {
    reads(0);
}
static void test_reads_left_out(void **state) {
    reads(CLUMP_CHECK_READS);
}

/* ---- Memory ---- */

/* A pointer to a field is kept beyond the free: the check of references is left out. */
static void freed(uint32_t without) {
    open_heap(CLUMP_CHECK_REFERENCES | CLUMP_CHECK_MEMORY | without);
    const clump_ref ref = make(1);
    run("drop", 0);
    run("late", 0);
    expect_nothing(); /* nobody has looked */
    run("again", 0);
    if (without) {
        expect_nothing();
    } else {
        clump_finding f = expect(CLUMP_FINDING_FREED, "again", "Node", "id", ref);
        expect_place(f.by, "drop", FREED);
        assert_non_null(strstr(f.text, "0x00000063"));
    }
    close_heap();
}
static void test_freed(void **state) {
    freed(0);
}
static void test_freed_left_out(void **state) {
    freed(CLUMP_CHECK_FREED);
}

/* The same, and what lies behind a column, found at the kernel that did it. */
static void memory(uint32_t without) {
    open_heap(CLUMP_CHECK_REFERENCES | without);
    const clump_ref ref = make(64);
    run("late", 64);
    if (without)
        expect_nothing();
    else {
        clump_finding f = fetch();
        assert_int_equal(f.kind, CLUMP_FINDING_GAP);
        assert_string_equal(f.class_name, "Node");
        assert_string_equal(f.field, "id");
        expect_place(f.place, "late", NULL);
        CHECK_STATUS(&t.on, clump_heap_take_errors(t.heap, NULL), CLUMP_ERR_DEVICE);
    }
    run("drop", 0);
    run("late", 0);
    if (without) {
        expect_nothing();
        CHECK_OK(&t.on, clump_heap_check_memory(t.heap, NULL)); /* on demand, it finds both */
        uint64_t count = 0;
        CHECK_OK(&t.on, clump_heap_take_findings(t.heap, NULL, 0, &count, NULL));
        assert_int_equal(count, 2);
        CHECK_STATUS(&t.on, clump_heap_take_errors(t.heap, NULL), CLUMP_ERR_DEVICE);
    } else {
        clump_finding f = fetch();
        assert_int_equal(f.kind, CLUMP_FINDING_FREED);
        assert_string_equal(f.field, "id");
        assert_int_equal(f.ref, ref);
        expect_place(f.place, "late", NULL);
        expect_place(f.by, "drop", FREED);
        CHECK_STATUS(&t.on, clump_heap_take_errors(t.heap, NULL), CLUMP_ERR_DEVICE);
    }
    run("none", 0);
    expect_nothing(); /* told once */
    close_heap();
}
static void test_memory(void **state) {
    memory(0);
}
static void test_memory_left_out(void **state) {
    memory(CLUMP_CHECK_MEMORY);
}

/* Compaction moves structs to a block that objects of another class had before. What these left
 * between the fields of the structs is not told when the block is free again. */
static void test_padding(void **state) {
    enum { PAIRS = 200 };
    static clump_ref pairs[PAIRS];
    const clump_compact_desc order = {.size = sizeof order, .order = CLUMP_ORDER_ADDRESS};
    clump_class_stats classes[4] = {{.size = sizeof *classes}}; /* the last is Pair */
    uint64_t count;
    open_heap(0);
    const uint32_t nodes_at = block_of(make(PAIRS));
    make_of("Pair", "pairs", PAIRS);
    CHECK_OK(&t.on, clump_heap_compact(t.heap, &order, NULL, NULL));
    CHECK_OK(&t.on, clump_heap_read_refs(t.heap, "Pair", pairs, PAIRS, &count));
    uint32_t there = 0;
    for (uint32_t i = 0; i < PAIRS; i++) there += block_of(pairs[i]) == nodes_at;
    assert_true(there > 0);
    run_all("part");
    /* This gives back what is reserved, too. */
    CHECK_OK(&t.on, clump_heap_read_stats(t.heap, NULL, classes, 4));
    assert_int_equal(classes[3].blocks, 0);
    CHECK_OK(&t.on, clump_heap_check_memory(t.heap, NULL));
    expect_nothing();
    close_heap();
}

/* ---- History, leaks ---- */

static void test_history(void **state) {
    static clump_event events[128];
    uint64_t count = 0;
    open_heap(0);
    const clump_ref ref = make(2);
    run("drop", 0);
    run("small", 0);
    CHECK_OK(&t.on, clump_heap_read_events(t.heap, events, 128, &count));
    assert_int_equal(count, 4);
    assert_int_equal(events[2].is_free, 1);
    assert_int_equal(events[2].ref, ref);
    assert_string_equal(events[2].class_name, "Node");
    expect_place(events[2].place, "drop", FREED);
    assert_int_equal(events[3].is_free, 0);
    assert_string_equal(events[3].class_name, "Small");
    expect_place(events[3].place, "small", WRONG);
    make(1000); /* more than there is room for */
    CHECK_OK(&t.on, clump_heap_read_events(t.heap, events, 128, &count));
    assert_int_equal(count, 128);
    for (uint32_t i = 0; i < 128; i++) expect_place(events[i].place, "init", NULL);
    close_heap();
    open_heap(CLUMP_CHECK_HISTORY);
    make(1);
    cl_fixture_expect_words(clump_context_get_error(t.on.clump),
                            clump_heap_read_events(t.heap, events, 128, &count), CLUMP_ERR_USAGE,
                            "without CLUMP_CHECK_HISTORY", "read_events", __LINE__);
    close_heap();
}

static void test_leaks(void **state) {
    clump_live live[4];
    uint64_t count = 0;
    t.leaks = 0;
    open_heap(0);
    make(10);
    for (int i = 0; i < 3; i++) run("small", 0);
    make(5);
    run("drop", 0);
    CHECK_OK(&t.on, clump_heap_compact(t.heap, NULL, NULL, NULL));
    CHECK_OK(&t.on, clump_heap_read_live(t.heap, live, 4, &count));
    assert_int_equal(count, 2);
    assert_string_equal(live[0].class_name, "Node");
    assert_int_equal(live[0].objects, 14);
    expect_place(live[0].place, "init", NULL);
    assert_string_equal(live[1].class_name, "Small");
    assert_int_equal(live[1].objects, 3);
    expect_place(live[1].place, "small", WRONG);
    expect_nothing();
    close_heap();
    assert_int_equal(t.leaks, 2);
    print_message("    %s\n", t.leak);
    assert_non_null(
        strstr(t.leak, "3 objects of class Small are left, made by kernel small, program.cl:"));
    t.leaks = 0;
    open_heap(CLUMP_CHECK_LEAKS);
    make(10);
    close_heap();
    assert_int_equal(t.leaks, 0);
}

/* ---- The rest of the library ---- */

/* Objects come, go, move and are collected, in a right program: nothing is found, and all is as it
 * should be. */
static void test_right(void **state) {
    open_heap(0);
    for (uint32_t round = 0; round < 6; round++) {
        clump_ref refs[200];
        make(200);
        cl_fixture_read(&t.on, t.refs, refs, sizeof refs);
        for (uint32_t i = 0; i < 12; i++) {
            clump_ref one = refs[i * 16 + round];
            cl_fixture_write(&t.on, t.refs, &one, sizeof one);
            run("drop", 0);
        }
        run("small", 0);
        if (round % 3 == 1) CHECK_OK(&t.on, clump_heap_compact(t.heap, NULL, NULL, NULL));
        if (round % 3 == 2) { /* of a block, one object stays */
            clump_handle held;
            CHECK_OK(&t.on, clump_heap_create_handle(t.heap, refs[100], &held));
            CHECK_OK(&t.on, clump_heap_collect(t.heap, NULL, NULL, NULL));
        }
        CHECK_OK(&t.on, clump_heap_check_memory(t.heap, NULL));
        expect_nothing();
    }
    uint64_t nodes = 7;
    CHECK_OK(&t.on, clump_heap_read_count(t.heap, "Node", &nodes));
    assert_int_equal(nodes, 2);
    close_heap();
}

/* Programs of other heaps are refused in words, and descs that make no sense. */
static void test_refused(void **state) {
    clump_heap *plain = cl_fixture_heap(&t.on, schema_text, 4u << 20, 1), *none;
    const clump_error *error = clump_context_get_error(t.on.clump);
    open_heap(CLUMP_CHECK_LEAKS);
    clump_kernel *small = cl_fixture_kernel(&t.on, t.program, "small");
    cl_fixture_expect_words(error, clump_heap_launch(plain, small, 1, 1, NULL), CLUMP_ERR_USAGE,
                            "with other checks, but the heap is not checked", "launch", __LINE__);
    clump_program *p =
        cl_fixture_program(&t.on, plain, "__kernel void k(CLUMP_HEAP_NO_ALLOC) {}", NULL, NULL);
    clump_kernel *k = cl_fixture_kernel(&t.on, p, "k");
    cl_fixture_expect_words(error, clump_heap_launch(t.heap, k, 1, 1, NULL), CLUMP_ERR_USAGE,
                            "not checked, but the heap is checked", "launch", __LINE__);
    clump_kernel_destroy(k);
    clump_program_destroy(p);
    clump_checked_desc bad = {.size = sizeof bad, .without = 256};
    clump_heap_desc d = {.size = sizeof d,
                         .context = t.on.clump,
                         .schema = clump_heap_get_info(plain)->schema,
                         .bytes = 4u << 20,
                         .checked = &bad};
    cl_fixture_expect_words(error, clump_heap_create(&d, &none, NULL), CLUMP_ERR_USAGE,
                            "all checks together are 0xff", "create", __LINE__);
    bad.without = CLUMP_CHECK_ALL;
    cl_fixture_expect_words(error, clump_heap_create(&d, &none, NULL), CLUMP_ERR_USAGE,
                            "leaves no check", "create", __LINE__);
    bad = (clump_checked_desc){.size = sizeof(clump_checked_desc), .events = (1u << 24) + 1};
    cl_fixture_expect_words(error, clump_heap_create(&d, &none, NULL), CLUMP_ERR_USAGE,
                            "at most 16777216", "create", __LINE__);
    clump_kernel_destroy(small);
    close_heap();
    clump_heap_destroy(plain);
}

/* With the argument `all` also what each check that is left out does not tell: a program is built
 * for each. */
int main(int argc, char **argv) {
    const struct CMUnitTest with_all[] = {
        cmocka_unit_test(test_references),       cmocka_unit_test(test_stale),
        cmocka_unit_test(test_generations_move), cmocka_unit_test(test_roots),
        cmocka_unit_test(test_staged),           cmocka_unit_test(test_kinds_of_references),
        cmocka_unit_test(test_bounds),           cmocka_unit_test(test_reads),
        cmocka_unit_test(test_padding),          cmocka_unit_test(test_right),
    };
    const struct CMUnitTest with_some[] = {
        cmocka_unit_test(test_references_left_out),
        cmocka_unit_test(test_stale_left_out),
        cmocka_unit_test(test_bounds_left_out),
        cmocka_unit_test(test_reads_left_out),
        cmocka_unit_test(test_freed),
        cmocka_unit_test(test_freed_left_out),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_memory_left_out),
        cmocka_unit_test(test_history),
        cmocka_unit_test(test_leaks),
        cmocka_unit_test(test_refused),
    };
    int result = cl_fixture_open(&t.on, NULL);
    if (result) return result;
    result = cmocka_run_group_tests_name("all checks", with_all, NULL, NULL);
    if (argc > 1 && strcmp(argv[1], "all") == 0)
        result += cmocka_run_group_tests_name("some checks", with_some, NULL, NULL);
    for (size_t i = 0; i <= CLUMP_CHECK_ALL; i++) clump_program_destroy(t.programs[i]);
    cl_fixture_close(&t.on);
    return result;
}
