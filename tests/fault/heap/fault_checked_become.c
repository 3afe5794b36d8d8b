/* Objects that change their class in checked heaps: each wrong use of an old place is reported with
 * its line and with the place where the object changed or was freed, and changes nothing. What
 * right programs do there is in diff_become.
 *
 * Each case is a kernel of one work-item on a new object of class A, whose reference is refs[0].
 * It does one thing wrong, in the line of WRONG. It returns in refs[2] how often a call returned
 * something else than it should. Loops over the holders are do-alls.
 *
 * Read first: include/clump/checked.h, cl/api/checked_become.clh.
 */
#include <stdio.h>
#include <string.h>

#include "clump/checked.h"
#include "clump/compact.h"
#include "clump/refs.h"
#include "findings.h"

static const char schema_text[] =
    "class Holder { ref Person p; ref A a; ref Person many[*]; }\n"
    "abstract class Person { uint id; uint log[*]; }\n"
    "class A : Person becomes B { uint age; }\n"
    "class B : Person becomes C { float4 wide; uchar list[*] inline 2; }\n"
    "class C : Person { uint more; }\n";

#define WRONG "/*wrong*/"
#define FREED "/*freed*/"
#define CHANGED "/*changed*/"
#define BEGIN(name)                                                                                \
    "__kernel void " name                                                                          \
    "(CLUMP_HEAP, __global uint *refs) {\n"                                                        \
    "    A a = {refs[0]};\n"                                                                       \
    "    Person p = {refs[0]};\n"
#define CHANGE                                                                                     \
    "    B b = A_become_B(a);" CHANGED                                                             \
    "\n"                                                                                           \
    "    refs[1] = b.id;\n"
#define END "}\n"
#define REUSE(name, then)                                                                          \
    BEGIN(name)                                                                                    \
    CHANGE "    B_free(b);" FREED                                                                  \
           "\n"                                                                                    \
           "    for (uint k = 0; k < 8192; k++) {\n"                                               \
           "        B other = B_new();\n"                                                          \
           "        if ((other.id & SLOTS) != (b.id & SLOTS)) continue;\n"                         \
           "        B_id(other) = 1;\n"                                                            \
           "        refs[1] = other.id;\n"                                                         \
           "        " then                                                                         \
           "\n"                                                                                    \
           "        break;\n"                                                                      \
           "    }\n"                                                                               \
           "    EXPECT(refs[1] != b.id && Person_is_null(Person_follow(p)));\n"                    \
           "    Person_free(p);" WRONG "\n" END

static const char source[] =
    "#define EXPECT(what) refs[2] += (what) ? 0u : 1u\n" BEGIN("init")
    "    CLUMP_FOR_EACH_NEW(A, self, i) {\n"
    "        A_id(self) = 7;\n"
    "        A_age(self) = 8;\n"
    "        A_log_resize(self, 4);\n"
    "        for (uint k = 0; k < 4; k++) A_log(self, k) = k;\n"
    "        refs[0] = self.id;\n"
    "        refs[2] = 0;\n"
    "        Holder h = Holder_new();\n"
    "        Holder_p(h) = A_as_Person(self);\n"
    "        Holder_a(h) = self;\n"
    "        Holder_many_resize(h, 2);\n"
    "        for (uint k = 0; k < 2; k++) Holder_many(h, k) = A_as_Person(self);\n"
    "    }\n" END
    /* Right. The old place is read, and so are the arrays. */
    BEGIN("change") CHANGE
    "    EXPECT(!A_is_live(a) && !Person_is_live(p) && B_is_live(b));\n"
    "    EXPECT(Person_follow(p).id == b.id && A_is_null(A_follow(a)));\n"
    "    EXPECT(A_age(a) == 8 && Person_id(p) == 7 && B_id(b) == 7 && Person_is_A(p));\n"
    "    EXPECT(A_log(a, 3) == 3 && B_log(b, 3) == 3 && B_list_length(b) == 0);\n"
    "    EXPECT(B_is_null(A_become_B(a)) && A_log_append(a, 1) == CLUMP_NO_ROOM);\n"
    "    EXPECT(all(B_wide(b) == (float4)(0)));\n"
    "    B_id(b) = 70;\n"
    "    B_log_resize(b, 9);\n"
    "    EXPECT(B_list_resize(b, 20) == CLUMP_DONE);\n"
    "    B_list(b, 19) = 1;\n" END
    /* Right: holders lead to the object that is a B, or a C. */
    "__kernel void held(CLUMP_HEAP_NO_ALLOC, __global uint *refs) {\n"
    "    CLUMP_FOR_EACH(Holder, h) {\n"
    "        EXPECT(Holder_p(h).id == refs[1] && A_is_null(Holder_a(h)));\n"
    "        EXPECT(Person_id(Holder_p(h)) == 70);\n"
    "        for (uint k = 0; k < 2; k++) EXPECT(Person_id(Holder_many(h, k)) == 70);\n"
    "    }\n"
    "}\n"
    "__kernel void use_held(CLUMP_HEAP_NO_ALLOC, __global uint *refs) {\n"
    "    CLUMP_FOR_EACH(Holder, h) {\n"
    "        refs[1] = Person_id(Holder_p(h));" WRONG
    "\n"
    "    }\n"
    "}\n"
    /* Written to the old place: lost. */
    BEGIN("lose") CHANGE "    A_id(a) = 9;\n"
    "    EXPECT(B_id(b) == 7);\n" END
    /* After the launch, by a reference that the library does not know. */
    BEGIN("use") "    refs[1] = Person_id(p);" WRONG "\n" END BEGIN("drop") "    Person_free(p);" FREED WRONG
    "\n" END BEGIN("again")
    "    EXPECT(B_is_null(A_become_B(a)) && Person_is_null(Person_follow(p)));\n"
    "    EXPECT(!Person_is_live(p));\n" END
    /* Freed in its new place, by the old reference or the new one, and again. */
    BEGIN("free_twice") CHANGE "    Person_free(p);" FREED "\n"
    "    EXPECT(Person_is_null(Person_follow(p)) && !B_is_live(b));\n"
    "    Person_free(p);" WRONG "\n" END BEGIN("free_new") CHANGE "    B_free(b);" FREED
    "\n"
    "    EXPECT(Person_is_null(Person_follow(p)));\n" END BEGIN("free_as_a") CHANGE
    "    A_free(a);" WRONG "\n" END
    /* The new place is freed and has another object, which stays there or leaves it. */
    REUSE("reuse", "") REUSE("reuse_left", "C_more(B_become_C(other)) = 2;")
    /* Twice in a launch: what is in between is an old place, too. */
    BEGIN("twice") CHANGE "    C c = B_become_C(b);\n"
    "    EXPECT(Person_follow(p).id == c.id && B_is_null(B_follow(b)) && C_id(c) == 7);\n"
    "    C_id(c) = 70;\n"
    "    refs[1] = c.id;\n" END
    "__kernel void refill(CLUMP_HEAP, __global uint *refs) {\n"
    "    A a = {0};\n"
    "    for (uint k = 0; k < 8192 && (a.id & SLOTS) != (refs[0] & SLOTS); k++) a = A_new();\n"
    "    EXPECT((a.id & SLOTS) == (refs[0] & SLOTS) && a.id != refs[0]);\n"
    "}\n";

static struct {
    cl_fixture on;
    clump_heap *heap;
    clump_program *programs[2]; /* of heaps with all checks, and without that of freed objects */
    clump_program *program;
    cl_mem refs;
    clump_ref ref;
} t;

static void run_as(const char *name, int is_loop) {
    clump_kernel *k = clump_program_get_kernel(t.program, name);
    uint32_t values[3];
    assert_non_null(k);
    SET_ARG(&t.on, k, 0, t.refs);
    if (is_loop)
        CHECK_OK(&t.on, clump_heap_do_all(t.heap, k, NULL));
    else
        CHECK_OK(&t.on, clump_heap_launch(t.heap, k, 1, 1, NULL));
    cl_fixture_read(&t.on, t.refs, values, sizeof values);
    if (values[2]) fail_msg("%s: %u calls returned something else", name, values[2]);
}

static void run(const char *name) {
    run_as(name, 0);
}

static void loop(const char *name) {
    run_as(name, 1);
}

static void open_heap(uint32_t without) {
    const clump_checked_desc checked = {.size = sizeof checked, .without = without};
    t.heap = cl_fixture_heap_as(&t.on, schema_text,
                                &(clump_heap_desc){.size = sizeof(clump_heap_desc),
                                                   .bytes = 4u << 20,
                                                   .block_rows = 1,
                                                   .checked = &checked});
    const uint32_t generations = clump_heap_get_info(t.heap)->generations;
    char options[64];
    clump_program **program = &t.programs[without != 0];
    snprintf(options, sizeof options, "-DSLOTS=%uu", UINT32_MAX / (generations + 1));
    if (!*program) *program = cl_fixture_program(&t.on, t.heap, source, options, NULL);
    t.program = *program;
    t.refs = cl_fixture_buffer(&t.on, NULL, 3 * sizeof(clump_ref));
    clump_kernel *init = clump_program_get_kernel(t.program, "init");
    SET_ARG(&t.on, init, 0, t.refs);
    CHECK_OK(&t.on, clump_heap_do_new(t.heap, init, "A", 1, NULL, NULL));
    cl_fixture_read(&t.on, t.refs, &t.ref, sizeof t.ref);
}

static void expect_nothing(void) {
    expect_no_finding(&t.on, t.heap);
}

static void close_heap(void) {
    expect_nothing();
    clump_heap_destroy(t.heap);
    clReleaseMemObject(t.refs);
}

static clump_ref new_place(void) {
    clump_ref refs[2];
    cl_fixture_read(&t.on, t.refs, refs, sizeof refs);
    return refs[1];
}

static void expect_place(clump_place p, const char *kernel, const char *mark) {
    assert_non_null(p.kernel);
    assert_string_equal(p.kernel, kernel);
    assert_int_equal(p.line, mark ? cl_fixture_line_in(source, kernel, mark) : 0);
}

/* The only finding. */
static clump_finding expect(clump_finding_kind kind, const char *kernel, const char *class_name,
                            clump_ref ref, const char *words) {
    const clump_finding f = expect_one_finding(&t.on, t.heap, kernel, kind, class_name, ref);
    expect_place(f.place, kernel, kind == CLUMP_FINDING_FREED ? NULL : WRONG);
    if (!strstr(f.text, words)) fail_msg("no \"%s\" in: %s", words, f.text);
    CHECK_STATUS(&t.on, clump_heap_take_errors(t.heap, NULL), CLUMP_ERR_DEVICE);
    return f;
}

/* References have the generation of the new place, and that of the old one is over. */
static void changed(void **state) {
    (void)state;
    for (int is_twice = 0; is_twice < 2; is_twice++) {
        const char *const kernel = is_twice ? "twice" : "change";
        clump_refs *registered;
        clump_ref outside, now;
        clump_handle handle;
        uint32_t id;
        open_heap(0);
        cl_mem buffer = cl_fixture_buffer(&t.on, &t.ref, sizeof t.ref);
        const clump_refs_desc desc = {.size = sizeof desc, .buffer = buffer, .count = 1};
        CHECK_OK(&t.on, clump_refs_create(t.heap, &desc, &registered, NULL));
        CHECK_OK(&t.on, clump_heap_create_handle(t.heap, t.ref, &handle));
        run(kernel);
        expect_nothing();
        const clump_ref to = new_place();
        cl_fixture_read(&t.on, buffer, &outside, sizeof outside);
        assert_int_equal(outside, to);
        CHECK_OK(&t.on, clump_heap_read_handle(t.heap, handle, &now));
        assert_int_equal(now, to);
        CHECK_OK(&t.on,
                 clump_heap_read_object_field(t.heap, "Person", "id", 0, to, sizeof id, &id));
        assert_int_equal(id, 70);
        loop("held");
        expect_nothing();
        clump_refs_destroy(registered);
        CHECK_CL(clReleaseMemObject(buffer));
        run("again");
        expect_nothing();
        run("use");
        clump_finding f = expect(CLUMP_FINDING_ACCESS, "use", "Person", t.ref,
                                 is_twice ? "it changed its class in kernel twice"
                                          : "it changed its class in kernel change");
        expect_place(f.by, kernel, CHANGED);
        run("drop");
        f = expect(CLUMP_FINDING_DOUBLE_FREE, "drop", "Person", t.ref, "it changed its class in");
        expect_place(f.by, kernel, CHANGED);
        clump_live live[2];
        uint64_t count;
        CHECK_OK(&t.on, clump_heap_read_live(t.heap, live, 2, &count));
        assert_int_equal(count, 2);
        assert_string_equal(live[1].class_name, is_twice ? "C" : "B");
        if (!is_twice) expect_place(live[1].place, kernel, CHANGED);
        run("refill");
        run("use");
        f = expect(CLUMP_FINDING_ACCESS, "use", "Person", t.ref,
                   "and its slot has an object of class A now");
        expect_place(f.by, kernel, CHANGED);
        CHECK_OK(&t.on, clump_heap_compact(t.heap, NULL, NULL, NULL));
        run("use");
        f = expect(CLUMP_FINDING_ACCESS, "use", "Person", t.ref, kernel);
        expect_place(f.by, kernel, CHANGED);
        close_heap();
    }
}

static void lost(void **state) {
    (void)state;
    open_heap(0);
    run("lose");
    const clump_finding f = expect(CLUMP_FINDING_FREED, "lose", "A", t.ref,
                                   "written to in the place that the object had left");
    expect_place(f.by, "lose", CHANGED);
    close_heap();
}
static void lost_left_out(void **state) {
    (void)state;
    open_heap(CLUMP_CHECK_FREED);
    run("lose");
    close_heap();
}

/* Later uses are reported with the place of the free, through a field, too. */
static void expect_freed(const char *kernel, const char *by) {
    run("use");
    clump_finding f = expect(CLUMP_FINDING_ACCESS, "use", "Person", t.ref, "it was freed by");
    expect_place(f.by, kernel, by);
    loop("use_held");
    f = expect(CLUMP_FINDING_ACCESS, "use_held", "Person", t.ref, "it was freed by");
    expect_place(f.by, kernel, by);
    run("drop");
    f = expect(CLUMP_FINDING_DOUBLE_FREE, "drop", "Person", t.ref, "it was freed by");
    expect_place(f.by, kernel, by);
}

static void freed(void **state) {
    (void)state;
    open_heap(0);
    run("free_twice");
    clump_finding f = expect(CLUMP_FINDING_DOUBLE_FREE, "free_twice", "Person", new_place(),
                             "it was freed by kernel free_twice");
    expect_place(f.by, "free_twice", FREED);
    expect_freed("free_twice", FREED);
    close_heap();
    open_heap(0);
    run("free_new");
    expect_nothing();
    expect_freed("free_new", FREED);
    close_heap();
    open_heap(0); /* it is no A any more */
    run("free_as_a");
    expect(CLUMP_FINDING_FREE, "free_as_a", "A", new_place(), "the object there is of class B");
    close_heap();
}

/* Another object comes to the new place in the same launch: the old reference does not lead to it. */
static void reused_by(const char *kernel, const char *by) {
    open_heap(0);
    run(kernel);
    uint64_t count = 0;
    const clump_ref other = new_place();
    clump_finding f[4];
    CHECK_OK(&t.on, clump_heap_take_findings(t.heap, f, 4, &count, NULL));
    assert_int_equal(count, 1);
    assert_int_equal(f->kind, CLUMP_FINDING_DOUBLE_FREE);
    assert_int_not_equal(f->ref, other);
    assert_int_equal(f->ref & UINT32_MAX / (clump_heap_get_info(t.heap)->generations + 1),
                     other & UINT32_MAX / (clump_heap_get_info(t.heap)->generations + 1));
    expect_place(f->by, kernel, FREED);
    CHECK_STATUS(&t.on, clump_heap_take_errors(t.heap, NULL), CLUMP_ERR_DEVICE);
    expect_freed(kernel, by);
    close_heap();
}
static void reused(void **state) {
    (void)state;
    reused_by("reuse", FREED);
    reused_by("reuse_left", CHANGED); /* another object left the new place */
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(changed), cmocka_unit_test(lost),
                                       cmocka_unit_test(freed), cmocka_unit_test(reused)};
    const struct CMUnitTest others[] = {cmocka_unit_test(lost_left_out)};
    const int code = cl_fixture_open(&t.on, NULL);
    if (code) return code;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    if (cl_fixture_is_whole())
        failed += cmocka_run_group_tests_name("left out", others, NULL, NULL);
    for (int i = 0; i < 2; i++) clump_program_destroy(t.programs[i]);
    cl_fixture_close(&t.on);
    return failed;
}
