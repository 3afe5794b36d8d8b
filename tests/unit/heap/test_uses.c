/* Whether a kernel needs the list of objects or room for new ones, by its text: never less than it
 * does, and for plain texts not more.
 *
 * Read first: host/heap/uses.c.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clump/kernels.h"
#include "heap/heap.h"
#include "heap/program.h"
/* After the above, which need types of it. */
#include "cl_fixture.h"

static const char schema_text[] =
    "class Fish { uint age; uint bites[*]; } class Shark : Fish { ref Fish last; } "
    "class Weed { uint size; }";
static clump_schema *schema;
static int becomes; /* kernels that may change the class of objects, so far */

/* Of the ids: Fish is 1, Shark 2, Weed 3, raw memory comes after them. */
enum { NOTHING, ASKS = 1, ALL = 1 | 14 << 4 | 30 << 8 };
#define LOOPS(classes) ((classes) << 5)
#define CHANGES(classes) ((classes) << 9)
enum { FISH = 1, SHARK = 2, WEED = 4, RAW = 8 };

#define KERNEL(body) "__kernel void k(CLUMP_HEAP, __global uint *x) { " body " }\n"

static uint32_t uses_with(const char *text, const char *options) {
    clump_context context = {.allocator = clumpi_allocator_resolve(NULL)};
    clump_program p = {.context = &context, .schema = schema};
    p.source = malloc(strlen(text) + 3);
    p.options = malloc(strlen(options) + 1);
    sprintf(p.source, "x\n%s", text);
    strcpy(p.options, options);
    p.user_at = 2;
    clumpi_uses uses;
    assert_int_equal(clumpi_uses_of(&p, "k", &uses), CLUMP_OK);
    becomes += uses.becomes;
    free(p.source);
    free(p.options);
    /* Those of raw memory change together. */
    for (uint32_t id = 5; id < 256; id++)
        assert_int_equal(uses.changes.bits[id / 32] >> id % 32 & 1, uses.changes.bits[0] >> 4 & 1);
    return (uint32_t)uses.asks | (uses.loops.bits[0] & 14) << 4 | (uses.changes.bits[0] & 30) << 8;
}

static void expect(const char *text, uint32_t wanted) {
    const uint32_t uses = uses_with(text, "-cl-std=CL1.2 -DCLUMP_COALESCE=1 -D N=4");
    if (uses != wanted) print_error("uses %x, not %x: %s\n", uses, wanted, text);
    assert_int_equal(uses, wanted);
}

static void test_plain(void **state) {
    expect(KERNEL(""), NOTHING);
    expect(KERNEL("Fish_free((Fish){x[get_global_id(0)]});"), CHANGES(FISH | SHARK | RAW));
    expect(KERNEL("Shark_free((Shark){x[0]});"), CHANGES(SHARK | RAW));
    expect(KERNEL("Fish f = {x[0]}; if (!Fish_is_null(f)) Fish_age(f) += max(1u, x[1]);"), NOTHING);
    expect(KERNEL("x[0] = Fish_bites_length((Fish){x[1]}) + Fish_bites((Fish){x[1]}, 2);"),
           NOTHING);
    expect(KERNEL("CLUMP_ATOMIC_ADD(Fish_age(Shark_as_Fish((Shark){*x})), 1); clump_free(*x);"),
           CHANGES(RAW));
    expect(KERNEL("Shark s = Shark_new(); x[0] = s.id;"), ASKS | CHANGES(SHARK));
    expect(KERNEL("x[0] = clump_malloc(16);"), ASKS | CHANGES(RAW));
    expect(KERNEL("CLUMP_FOR_EACH(Fish, f) Fish_age(f)++;"), LOOPS(FISH | SHARK));
    expect(KERNEL("CLUMP_FOR_EACH( /* all */ Shark, f) CLUMP_FOR_WHOLE_CLASS(Weed, w) ;"),
           LOOPS(SHARK | WEED));
    expect(KERNEL("CLUMP_FOR_EACH(Weed, w) if (x[1]) Fish_new();"),
           ASKS | LOOPS(WEED) | CHANGES(FISH));
    expect(KERNEL("x[0] = Fish_new_of(x[1]).id;"), ASKS | CHANGES(FISH | SHARK));
    expect(KERNEL("Fish_bites_append((Fish){*x}, 1);"), ASKS | CHANGES(RAW));
    expect(KERNEL("x[0] = CLUMP_AT(Weed, 3).id;"), LOOPS(WEED));
    expect(KERNEL("for (uint i = 0; i < 4; i++) { if (x[i]) continue; while (0) ; }"), NOTHING);
    expect(
        "__kernel __attribute__((reqd_work_group_size(64, 1, 1)))\nvoid k(CLUMP_HEAP) {}\n"
        "__kernel __attribute__((reqd_work_group_size(64, 1, 1)))\n"
        "void other(CLUMP_HEAP) { Fish_new(); }",
        NOTHING);
}

static void test_followed(void **state) {
    expect("uint f(CLUMP_HEAP) { return Fish_new().id; }\n" KERNEL("x[0] = f(clump_heap);"),
           ASKS | CHANGES(FISH));
    expect("uint f(CLUMP_HEAP) { return Fish_new().id; }\n" KERNEL("x[0] = 1;"), NOTHING);
    expect(
        "void g(uint n);\nvoid f(uint n) { if (n) g(n - 1); }\n"
        "void g(uint n) { if (n) f(n - 1); CLUMP_FOR_EACH(Fish, s) ; }\n" KERNEL("f(3);"),
        LOOPS(FISH | SHARK));
    expect("#define MAKE Fish_new\n" KERNEL("x[0] = MAKE().id;"), ASKS | CHANGES(FISH));
    expect("#define A B\n#define B \\\n    Fish_new()\n" KERNEL("x[0] = A.id;"),
           ASKS | CHANGES(FISH));
    expect("# define A(x) CLUMP_FOR_EACH(Fish, x)\n" KERNEL("A(f) x[0] = 1;"), LOOPS(FISH | SHARK));
    expect("#define A(T) CLUMP_FOR_EACH(T, x)\n" KERNEL("A(Fish) x[0] = 1;"), ALL);
    expect("#define max(a, b) Fish_new()\n" KERNEL("max(1, 2);"), ASKS | CHANGES(FISH));
    expect("#if 0\n#define A 1\n#else\n#define A Fish_new()\n#endif\n" KERNEL("A;"),
           ASKS | CHANGES(FISH));
    assert_int_equal(uses_with(KERNEL("x[0] = MADE.id;"), "-DMADE=Fish_new()"),
                     ASKS | CHANGES(FISH));
    assert_int_equal(uses_with(KERNEL("x[0] = MADE;"), "-D CLUMPI=1 -DMADE=3"), NOTHING);
}

/* A class whose name goes on as members of another one do. */
static void test_names(void **state) {
    static const char text[] =
        "class Fish { uint a; } class Fish_is_rare { uint n; } "
        "class Fish_as_food { uint n; }";
    clump_schema *const kept = schema;
    assert_int_equal(clump_schema_parse(text, strlen(text), NULL, &schema, NULL), CLUMP_OK);
    expect(KERNEL("Fish_is_rare r = Fish_is_rare_new();"), ASKS | CHANGES(SHARK));
    expect(KERNEL("Fish_as_food r = Fish_as_food_new();"), ASKS | CHANGES(WEED));
    clump_schema_destroy(schema);
    schema = kept;
}

/* Classes of objects change. */
static void test_becomes(void **state) {
    static const char text[] =
        "class Fish becomes Weed { uint a; } class Shark : Fish { uint b; } class Weed { uint c; }";
    clump_schema *const kept = schema;
    assert_int_equal(clump_schema_parse(text, strlen(text), NULL, &schema, NULL), CLUMP_OK);
    becomes = 0;
    expect(KERNEL("Fish f = {x[0]}; x[0] = Fish_follow(f).id;"), NOTHING);
    expect(KERNEL("Fish_free(Fish_new());"), ASKS | CHANGES(FISH | SHARK | RAW));
    assert_int_equal(becomes, 0);
    expect(KERNEL("Fish f = {x[0]}; Fish_become_Weed(f);"),
           ASKS | CHANGES(FISH | SHARK | WEED | RAW));
    expect(KERNEL("Fish f = {x[0]}; Fish_become_other(f);"), ALL);
    assert_int_equal(becomes, 2);
    clump_schema_destroy(schema);
    schema = kept;
    expect(KERNEL("Fish f = {x[0]}; x[0] = Fish_follow(f).id;"), ALL);
}

/* What is not understood is taken for the worst. */
static void test_doubts(void **state) {
    expect("#include \"my.clh\"\n" KERNEL(""), ALL);
    expect("#define P(a, b) a##b\n" KERNEL("P(Fish, _new)();"), ALL);
    expect("#define FN(n) uint n(CLUMP_HEAP) { return Fish_new().id; }\nFN(f)\n" KERNEL(
               "x[0] = f(clump_heap);"),
           ALL);
    expect(
        "#define CALL(f) f(clump_heap)\n#define FN(n) void n(CLUMP_HEAP) { Fish_new(); }\n"
        "FN(f)\n" KERNEL("CALL(f);"),
        ALL);
    expect("#define K(n) __kernel void n(CLUMP_HEAP) { }\nK(k)\n", ALL);
    expect(KERNEL("Fi\\\nsh_new();"), ALL);
    expect("void f(CLUMP_HEAP) <% Fish_new(); %>\n" KERNEL("f(clump_heap);"), ALL);
    expect(KERNEL("Fish_append_all(x);"), ALL);
    expect(KERNEL("CLUMP_MAP_INSERT(Words, 1, 2);"), ALL);
    expect(KERNEL("{"), ALL);
    expect("}" KERNEL(""), ALL);
    expect("// __kernel void k(CLUMP_HEAP) {}\n", ALL);
    expect(KERNEL("/* Fish_new() */ \"Fish_new()\"; // CLUMP_FOR_EACH"), ALL); /* the bracket */
    expect(KERNEL("/* Fish_new() */ \"Fish_new()\"; // CLUMP_FOR_EACH\n"), NOTHING);
    assert_int_equal(uses_with(KERNEL(""), "-include my.clh"), ALL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain), cmocka_unit_test(test_followed), cmocka_unit_test(test_names),
        cmocka_unit_test(test_becomes), cmocka_unit_test(test_doubts)};
    if (clump_schema_parse(schema_text, strlen(schema_text), NULL, &schema, NULL) != CLUMP_OK)
        return 1;
    int result = cmocka_run_group_tests(tests, NULL, NULL);
    clump_schema_destroy(schema);
    return result;
}
