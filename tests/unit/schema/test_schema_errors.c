/* Schemas that are refused: each with its status, its place in the text and its words.
 *
 * Most cases are texts; the same mistakes through the C API follow, where a call can make them, and
 * garbage by the megabyte, which must be refused in linear time.
 * Read first: include/clump/schema.h, host/schema/parse.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
/* After the above, which it needs. */
#include <cmocka.h>

#include "schema/schema.h"
#include "tests/unit/schema/declare.h"

typedef struct bad_text {
    const char *text;
    uint32_t line, column;
    const char *words; /* part of the message */
} bad_text;

#define A40 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define A64 A40 "aaaaaaaaaaaaaaaaaaaaaaaa"

/* The longest name of an array of run-time length. */
#define ARRAY_NAME "n123456789012345678901234567890123456789012345678901234"

static const bad_text grammar[] = {
    {"", 1, 1, "the schema has no class"},
    {" \n // nothing\n", 3, 1, "the schema has no class"},
    {"/* a\n/* b */\n ", 3, 2, "the schema has no class"},
    {"abstract class A { int x; }", 1, 16, "all classes are abstract"},
    {"Class A {}", 1, 1,
     "expected \"class\", \"abstract\", \"aos\" or \"soa\", found \"Class\"; did "
     "you mean \"class\"?"},
    {"abstrct class A {}", 1, 1, "did you mean \"abstract\"?"},
    {"aos abstract A { }", 1, 14, "expected \"class\""},
    {"aos soa class A { int x; }", 1, 5, "a class has one layout"},
    {"class", 1, 6, "expected the name of the class, found the end of the text"},
    {"class {", 1, 7, "expected the name of the class, found \"{\""},
    {"class 1A {", 1, 7, "expected the name of the class, found \"1A\""},
    {"class A int x;", 1, 9, "expected \":\", \"becomes\" or \"{\", found \"int\""},
    {"class A becomes { int x; }", 1, 17, "expected the name of the class that objects become"},
    {"class A becomes B int x;", 1, 19, "expected \",\" or \"{\", found \"int\""},
    {"class A becomes B, { int x; }", 1, 20, "expected the name of the class that objects become"},
    {"class A becomes B { int x; }", 1, 17,
     "\"becomes\" of class \"A\" refers to class \"B\", which is not declared"},
    {"class Ab becomes AB { int x; } class Abc { int x; }", 1, 18, "did you mean \"Ab\"?"},
    {"class A becomes A { int x; }", 1, 17,
     "class \"A\" cannot become class \"A\", which is itself"},
    {"abstract class A { int x; } class B becomes A { int y; }", 1, 45,
     "class \"B\" cannot become class \"A\", which is abstract"},
    {"class B { int x; } class A becomes B, B { int x; }", 1, 39,
     "class \"A\" becomes class \"B\" twice"},
    {"class A { char x[65536]; } class B : A becomes A { }", 1, 34,
     "class \"B\" is too large: with the 4 bytes for \"becomes\" an object needs 65540 bytes"},
    {"class B { int x; } class A becomes B { int become_B; }", 1, 44,
     "the generated name \"A_become_B\" has two origins"},
    {"class B { int x; } class A becomes B { int y; } class C : A { int follow; }", 1, 67,
     "the generated name \"C_follow\" has two origins"},
    {"class B { int follow; } class A : B becomes C { int y; } class C { int z; }", 1, 15,
     "has two origins"},
    {"class A : { int x; }", 1, 11, "expected the name of the base class, found \"{\""},
    {"class B {int x;} class A : B, C {}", 1, 29, "expected \"becomes\" or \"{\", found \",\""},
    {"class A {\n  int x;\n", 3, 1, "expected a type, \"ref\" or \"}\", found the end of the text"},
    {"class A { int x; };", 1, 19, "found \";\" (no \";\" follows a class)"},
    {"class A { int x; } }", 1, 20, "found \"}\""},
    {"class A { { int x; } }", 1, 11, "found \"{\" (braces do not nest)"},
    {"class A { int x;\nclass B { int y; }", 2, 1, "is the \"}\" of class \"A\" missing?"},
    {"class A { flaot x; }", 1, 11, "found \"flaot\"; did you mean \"float\"?"},
    {"class A { bool2 x; }", 1, 11, "found \"bool2\"; did you mean \"bool\"?"},
    {"class A { Float4 x; }", 1, 11, "did you mean \"float4\"?"},
    {"class A { int x; A y; }", 1, 18, "a reference is written \"ref A\""},
    {"class A { size_t x; }", 1, 11, "expected a type, \"ref\" or \"}\", found \"size_t\""},
    {"class A { int; }", 1, 14, "expected the name of the field, found \";\""},
    {"class A { int *x; }", 1, 15, "expected the name of the field, found \"*\""},
    {"class A { weak int x; }", 1, 16,
     "expected \"ref\", found \"int\" (only references can be weak)"},
    {"class A { weak; }", 1, 15, "expected \"ref\", found \";\""},
    {"class A { weak weak ref A a; }", 1, 16, "expected \"ref\", found \"weak\""},
    {"class A { ref; }", 1, 14, "expected the name of the class referred to, found \";\""},
    {"class A { ref B; }", 1, 16, "expected the name of the field, found \";\""},
    {"class A { int x, y; }", 1, 16, "expected \"[\" or \";\", found \",\""},
    {"class A { int x }", 1, 17, "expected \"[\" or \";\", found \"}\""},
    {"class A { int x packed; }", 1, 17, "only an array can be packed"},
    {"class A { int x[]; }", 1, 17,
     "expected the number of elements, in decimal, or \"*\", found \"]\""},
    {"class A { int x[n]; }", 1, 17,
     "expected the number of elements, in decimal, or \"*\", found \"n\""},
    {"class A { int x[-1]; }", 1, 17, "found \"-\""},
    {"class A { int x[0x10]; }", 1, 17, "found \"0x10\""},
    {"class A { int x[010]; }", 1, 17, "found \"010\""},
    {"class A { int x[0]; }", 1, 17, "expected at least 1 element, found \"0\""},
    {"class A { int x[65537]; }", 1, 17, "the number \"65537\" is too large"},
    {"class A { int x[99999999999999999999999999]; }", 1, 17,
     "the number \"99999999999999999999999999\" is too large"},
    {"class A { int x[18446744073709551617]; }", 1, 17, "is too large"},
    {"class A { int x[16385]; }", 1, 17, "array \"x\" is too large: 16385 elements of 4 bytes"},
    {"class A { int x[3; }", 1, 18, "expected \"]\", found \";\""},
    {"class A { int x[3] Packed; }", 1, 20, "expected \"packed\" or \";\", found \"Packed\""},
    {"class A { int x[3] packed packed; }", 1, 27, "expected \";\", found \"packed\""},
    {"class A { int x[*; }", 1, 18, "expected \"]\", found \";\""},
    {"class A { int x[**]; }", 1, 18, "expected \"]\", found \"*\""},
    {"class A { int x[*] 4; }", 1, 20, "expected \"inline\", \"max\" or \";\", found \"4\""},
    {"class A { int x[*] packed; }", 1, 20, "only elements in the object can be packed"},
    {"class A { int x[*] inline; }", 1, 26, "expected the number of elements in the object"},
    {"class A { int x[*] inline 0; }", 1, 27, "expected at least 1 element, found \"0\""},
    {"class A { int x[*] max 0; }", 1, 24, "expected at least 1 element, found \"0\""},
    {"class A { int x[*] max *; }", 1, 24, "found \"*\""},
    {"class A { int x[*] max 16385; }", 1, 24, "array \"x\" is too large: 16385 elements"},
    {"class A { int x[*] max 4 inline 2; }", 1, 26, "expected \"packed\" or \";\""},
    {"class A { int x[3] max 4; }", 1, 20, "expected \"packed\" or \";\", found \"max\""},
    {"class A { weak ref A x[*] max 4; }", 1, 22, "weak references and a run-time length"},
    {"class A { int x[*]; uint x_length; }", 1, 26, "would have two fields \"x_length\""},
    {"class A { uint x_memory; int x[*]; }", 1, 30, "would have two fields \"x_memory\""},
    {"class A { int x[*] max 3; int x; }", 1, 31, "field \"x\" is declared twice"},
    {"class A { int " ARRAY_NAME "n[*]; }", 1, 15, "at most 55 bytes are allowed"},
    {"class A { int x[3][4]; }", 1, 19, "expected \"packed\" or \";\", found \"[\""},
    {"class A {\n\tint x; /* no end\n}", 2, 9, "this comment does not end"},
    {"class A { int x; } /", 1, 20, "found \"/\""},
    {"class A { int x; } /*/", 1, 20, "this comment does not end"},
    {"class A { int \"x\"; }", 1, 15, "found \"\\\"\""},
    {"class A { int \xc3\xa4h; }", 1, 15, "found \"\\xc3\\xa4\""},
    {"\xef\xbb\xbf"
     "class A { int x; }",
     1, 1, "found \"\\xef\\xbb\\xbf\""},
    {"class A { int x\x01; }", 1, 16, "found \"\\x01\""},
    {"class A { int x; }\r\n\r\nkls", 3, 1, "found \"kls\""},
};

static const bad_text names[] = {
    {"class float { int x; }", 1, 7, "class name \"float\" is reserved"},
    {"class float4 { int x; }", 1, 7, "class name \"float4\" is reserved"},
    {"class image2d_t { int x; }", 1, 7, "reserved"},
    {"class _Bool { int x; }", 1, 7, "reserved"},
    {"class __A { int x; }", 1, 7, "two leading underscores"},
    {"class clump_x { int x; }", 1, 7, "belong to the library"},
    {"class get_global_x { int x; }", 1, 7, "get_global"},
    {"class length { int x; }", 1, 7,
     "class name \"length\" is reserved: it is a built-in function"},
    {"class as_x { int x; }", 1, 7, "class name \"as_x\" is reserved"},
    {"class A { int length; int __x; }", 1, 27, "field name \"__x\" is reserved"},
    {"class A { int global; }", 1, 15, "field name \"global\" is reserved"},
    {"class A { int CLUMP; }", 1, 15, "field name \"CLUMP\" is reserved"},
    {"class A { int new; }", 1, 15,
     "field name \"new\" is reserved: every class C generates C_new"},
    {"class A { int free; }", 1, 15, "C_free"},
    {"class A { int null; }", 1, 15, "C_null"},
    {"class A { int CLASS; }", 1, 15, "C_CLASS"},
    {"class A { int is_null; }", 1, 15, "C_is_null"},
    {"class A { int is_live; }", 1, 15, "C_is_live"},
    {"class A { int class_of; }", 1, 15, "C_class_of"},
    {"class A { int group_new; }", 1, 15, "C_group_new"},
    {"class A" A64 " { int x; }", 1, 7, "too long: at most 64 bytes"},
    {"class A { int a" A64 "; }", 1, 15, "field name"},
    {"class A : a" A64 " { int x; }", 1, 11, "base class name"},
    {"class A { ref a" A64 " x; }", 1, 15, "referenced class name"},
    {"class A { int x; }\nclass A { int y; }", 2, 7, "class \"A\" is declared twice"},
    {"class A { int x; float x; }", 1, 24, "field \"x\" is declared twice in class \"A\""},
};

static const bad_text wholes[] = {
    {"class Fish { int x; }\nclass Shark : Fsh { }", 2, 15,
     "class \"Shark\" has as its base class \"Fsh\", which is not declared; did you mean "
     "\"Fish\"?"},
    {"class A { ref Bee b; int x; } class A2 {\n ref Zebra z; }", 1, 15,
     "field \"b\" refers to class \"Bee\", which is not declared"},
    {"class Cell { ref Cel c; }", 1, 18, "did you mean \"Cell\"?"},
    {"class A : A { int x; }", 1, 11, "class \"A\" is its own base: \"A\" : \"A\""},
    {"class X { int x; } class C : A { }\nclass A : B { } class B : A { }", 2, 11,
     "class \"A\" is its own base: \"A\" : \"B\" : \"A\""},
    {"class A : B {} class B : C {} class C : D {} class D : E {} class E : F {} class F : G {}"
     "class G : A { int x; }",
     1, 11, "\"A\" : \"B\" : \"C\" : \"D\" : \"E\" : \"F\" : ..."},
    {"class A { }", 1, 7, "class \"A\" has no bytes. Add a field"},
    {"abstract class A { }\naos class B : A { }", 2, 11, "class \"B\" has no bytes. Add a field"},
    {"class A { int x; }\nclass B : A { int y;\n float x; }", 3, 8,
     "field \"x\" of class \"B\" hides the field that class \"A\" declares"},
    {"class C : B { char x; } class B : A { } class A { int x; }", 1, 20,
     "field \"x\" of class \"C\" hides the field that class \"A\" declares"},
    {"class A { int b_c; }\nclass A_b { int c; }", 2, 17,
     "\"A_b_c\" has two origins: field \"b_c\" of class \"A\", and field \"c\" of class \"A_b\""},
    {"class A_b { int c; }\nclass Z : A { int z; } class A { int b_c; }", 2, 38,
     "the generated name \"A_b_c\" has two origins"},
    {"class A { int b_new; } class A_b { int c; }", 1, 30,
     "\"A_b_new\" has two origins: field \"b_new\" of class \"A\", and C_new of class \"A_b\""},
    {"class A_new { int x; } class A { int y; }", 1, 30, "the generated name \"A_new\""},
    {"class A { int b; } class A_b { int x; }", 1, 26,
     "the generated name \"A_b\" has two origins: "
     "field \"b\" of class \"A\", and class \"A_b\""},
    {"class A { int is_B; } class B : A { }", 1, 15,
     "the test of class \"A\" to the related class"},
    {"class B : A { int as_A; } class A { int x; }", 1, 19, "\"B_as_A\""},
    {"class null : A { } class A { int x; }", 1, 26, "\"A_is_null\" has two origins"},
    {"class A { int y; } class B : A { } class B_y { int z; }", 1, 42,
     "field \"y\" of class \"A\" (inherited by \"B\"), and class \"B_y\""},
    {"class native { int sin; }", 1, 20,
     "the generated name \"native_sin\" is reserved: it is a "
     "built-in function of OpenCL C. It comes from field \"sin\" of class \"native\""},
    {"class memory { int order; }", 1, 20, "\"memory_order\""},
    {"class _ { int x; }", 1, 7, "\"__new\" is reserved"},
    {"class A { int x[16384]; char y; }", 1, 30,
     "class \"A\" is too large: up to field \"y\" an object needs 65537 bytes (of which 0 are "
     "inherited), but at most 65536 are allowed"},
    {"class A { char x[65408]; }\nclass B : A { char y; double16 z; }", 2, 32,
     "up to field \"z\" an object needs 65538 bytes (of which 65408 are inherited)"},
    {"aos class A { char x[65500]; double16 z; char e; }", 1, 39, "needs 65664 bytes"},
    {"aos class A { double x[8191]; char y; char z[8]; }", 1, 44, "needs 65544 bytes"},
};

static void expect_refused(const bad_text *t, size_t bytes) {
    clump_error error;
    clump_schema *schema = (clump_schema *)&error;
    char *exact = malloc(bytes + !bytes); /* so that a sanitizer sees a read behind the end */
    assert_non_null(exact);
    memcpy(exact, t->text, bytes);
    clump_status status = clump_schema_parse(exact, bytes, NULL, &schema, &error);
    free(exact);
    if (status != CLUMP_ERR_SCHEMA || error.status != status || error.line != t->line ||
        error.column != t->column || !strstr(error.message, t->words))
        fail_msg("text: %s\nexpected %u:%u ...%s...\n     got %u:%u %s", t->text, (unsigned)t->line,
                 (unsigned)t->column, t->words, (unsigned)error.line, (unsigned)error.column,
                 error.message);
    assert_null(schema);
    assert_int_equal(clump_schema_parse(t->text, bytes, NULL, &schema, NULL), CLUMP_ERR_SCHEMA);
}

static void expect_all_refused(const bad_text *texts, size_t count) {
    for (size_t i = 0; i < count; ++i) expect_refused(&texts[i], strlen(texts[i].text));
}

static void test_grammar(void **state) {
    (void)state;
    expect_all_refused(grammar, sizeof grammar / sizeof *grammar);
}

static void test_names(void **state) {
    (void)state;
    expect_all_refused(names, sizeof names / sizeof *names);
}

static void test_wholes(void **state) {
    (void)state;
    expect_all_refused(wholes, sizeof wholes / sizeof *wholes);
}

static void test_zero_bytes(void **state) {
    (void)state;
    static const bad_text zeros[] = {
        {"class A { int x; }\0", 1, 19, "found a zero byte"},
        {"class A { int\0x; }", 1, 14, "expected the name of the field, found a zero byte"},
        {"\n// \0", 2, 4, "found a zero byte"},
        {"class A { /* \0 */ int x; }", 1, 14, "found a zero byte"},
    };
    static const size_t bytes[] = {19, 18, 5, 26};
    for (size_t i = 0; i < 4; ++i) expect_refused(&zeros[i], bytes[i]);
}

/* Odd, but right. */
static void test_accepted(void **state) {
    (void)state;
    static const char *const texts[] = {
        "class A{int x;}class B{int y;}",
        "abstract abstract aos aos class A { } class B : A { int x; }",
        "class class { int class; ref class ref; ref class packed[2] packed; weak ref class weak; "
        "int soa, }",
        "class\fA\v{\r\nint/**/x[1];//\n}//",
        "class " A40 " { int " A64 "; }",
        "class A { int length; int sin; float M_PI2; int clum; int _x; }",
        "class A { int is_; int as_B; int b_; } class B { int is_A; }",
        "class A { ref B b; } abstract class B { }",
        "class A { int x[*]; uint x_leng; } class B { uint packed[*] inline 3; uint max[*] max 4 "
        "packed; int " ARRAY_NAME "[*]; }",
        "class A { int x[*] max 3; uint x_memory; }",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; ++i) {
        clump_error error;
        clump_schema *schema;
        clump_status status = clump_schema_parse(texts[i], strlen(texts[i]), NULL, &schema, &error);
        if (i == 2) { /* the words of the format are no keywords; the comma is the only error */
            assert_int_equal(error.column, 97);
            assert_non_null(strstr(error.message, "found \",\""));
            continue;
        }
        if (status) fail_msg("%s: %s", texts[i], error.message);
        clump_schema_destroy(schema);
    }
}

/* ---- Declarations ------------------------------------------------------------------------------- */

static void expect_error(const clump_schema *schema, clump_status got, clump_status wanted,
                         const char *words) {
    const clump_error *error = &schema->error;
    if (got != wanted || error->status != wanted || !strstr(error->message, words))
        fail_msg("expected %s ...%s..., got %s %s", clump_status_name(wanted), words,
                 clump_status_name(got), error->message);
    assert_int_equal(error->line, 0);
    assert_int_equal(error->column, 0);
}

static clump_status add_class(clump_schema *s, const char *name, const char *base) {
    return declare_class(s, &(clumpi_class_desc){.name = name, .base = base});
}

static clump_status add_field(clump_schema *s, const char *name, clump_type type, uint32_t width,
                              uint32_t count, const char *ref_class) {
    clumpi_field_desc desc = {
        .name = name, .type = type, .width = width, .ref_class = ref_class, .count = count};
    return declare_field(s, "Alpha", &desc);
}

static void test_calls_refused(void **state) {
    (void)state;
    clump_schema *s;
    const clump_status bad = CLUMP_ERR_SCHEMA;
    assert_int_equal(clumpi_schema_create(NULL, &s, NULL), CLUMP_OK);
    expect_error(s, clumpi_schema_seal(s), bad, "has no class");
    expect_error(s, add_class(s, "", NULL), bad, "class name is empty");
    expect_error(s, add_class(s, "1A", NULL), bad, "class name \"1A\" is not an identifier");
    expect_error(s, add_class(s, "a b\n", NULL), bad, "\"a b\\x0a\" is not an identifier");
    expect_error(s, add_class(s, "A" A64, NULL), bad, "too long");
    expect_error(s, add_class(s, "int", NULL), bad, "reserved");
    expect_error(s, add_class(s, "A", ""), bad, "base class name is empty");
    assert_int_equal(add_class(s, "Alpha", NULL), CLUMP_OK);
    expect_error(s, add_class(s, "Alpha", NULL), bad, "declared twice");
    expect_error(s, clumpi_schema_seal(s), bad, "no bytes");
    clumpi_field_desc x = {.name = "x", .type = CLUMP_TYPE_INT};
    expect_error(s, add_field(s, "x y", CLUMP_TYPE_INT, 0, 0, NULL), bad, "not an identifier");
    expect_error(s, add_field(s, "free", CLUMP_TYPE_INT, 0, 0, NULL), bad, "reserved");
    expect_error(s, add_field(s, "x", CLUMP_TYPE_REF, 0, 0, "A-B"), bad, "referenced class name");
    expect_error(s, add_field(s, "x", CLUMP_TYPE_INT, 0, UINT32_MAX, NULL), bad, "too large");
    expect_error(
        s,
        declare_field(s, "Alpha",
                      &(clumpi_field_desc){.name = "x", .type = CLUMP_TYPE_INT, .packed = 1}),
        bad, "only an array");
    assert_int_equal(declare_field(s, "Alpha", &x), CLUMP_OK);
    expect_error(s, declare_field(s, "Alpha", &x), bad, "declared twice");
    assert_int_equal(add_class(s, "B", "Gone"), CLUMP_OK);
    expect_error(s, clumpi_schema_seal(s), bad, "\"Gone\", which is not declared");
    assert_int_equal(add_class(s, "Gone", "B"), CLUMP_OK);
    expect_error(s, clumpi_schema_seal(s), bad, "its own base");
    clump_schema_destroy(s);

    assert_int_equal(clumpi_schema_create(NULL, &s, NULL), CLUMP_OK);
    assert_int_equal(add_class(s, "Alpha", NULL), CLUMP_OK);
    assert_int_equal(add_field(s, "x", CLUMP_TYPE_REF, 0, 0, "Late"), CLUMP_OK);
    expect_error(s, clumpi_schema_seal(s), bad, "class \"Late\", which is not declared");
    assert_int_equal(add_class(s, "Late", "Alpha"), CLUMP_OK); /* a failed seal can be mended */
    assert_int_equal(clumpi_schema_seal(s), CLUMP_OK);
    clump_schema_destroy(s);
}

static void test_arrays_refused(void **state) {
    (void)state;
    const clump_status bad = CLUMP_ERR_SCHEMA;
    clump_schema *s;
    assert_int_equal(clumpi_schema_create(NULL, &s, NULL), CLUMP_OK);
    assert_int_equal(add_class(s, "Alpha", NULL), CLUMP_OK);
    clumpi_field_desc x = {.name = "x", .type = CLUMP_TYPE_UINT, .array = CLUMP_ARRAY_BOUNDED};
    expect_error(s, declare_field(s, "Alpha", &x), bad, "room for 0 elements");
    x.array = CLUMP_ARRAY_GROWING;
    x.packed = 1;
    expect_error(s, declare_field(s, "Alpha", &x), bad, "only an array");
    x.packed = 0;
    /* Of an array that cannot have all its fields, none is there. */
    assert_int_equal(add_field(s, "x_memory", CLUMP_TYPE_INT, 0, 0, NULL), CLUMP_OK);
    expect_error(s, declare_field(s, "Alpha", &x), bad, "two fields \"x_memory\"");
    assert_int_equal(add_field(s, "x_length", CLUMP_TYPE_INT, 0, 0, NULL), CLUMP_OK);
    assert_int_equal(add_field(s, "x", CLUMP_TYPE_INT, 0, 0, NULL), CLUMP_OK);
    assert_int_equal(clumpi_schema_seal(s), CLUMP_OK);
    const clump_class_info *info = clump_schema_get_info(s)->classes[1];
    assert_int_equal(info->field_count, 3);
    assert_int_equal(info->object_bytes, 12);
    clump_schema_destroy(s);
    /* The names that it generates. */
    static const char *const texts[][2] = {
        {"class A { int x[*]; int x_resize; }", "\"A_x_resize\" has two origins"},
        {"class A { int x[*] max 2; } class B : A { int x_capacity; }", "\"B_x_capacity\""},
        {"class A { int x[*] max 2; int x_append; }", "\"A_x_append\" has two origins"},
        {"class A { int x[*]; int x_trim; }", "\"A_x_trim\" has two origins"},
        {"class A { raw x; int x_adopt; }", "\"A_x_adopt\" has two origins"},
        {"class A { raw x; int x_release; }", "\"A_x_release\" has two origins"},
        {"class A { int b_x[*]; } class A_b { int x_reserve; }", "\"A_b_x_reserve\""},
        {"class A { int x[*]; } class B : A { uint x_length; }", "hides the field"}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        clump_error error;
        assert_int_equal(clump_schema_parse(texts[i][0], strlen(texts[i][0]), NULL, &s, &error),
                         bad);
        if (!strstr(error.message, texts[i][1])) fail_msg("%s: %s", texts[i][0], error.message);
    }
}

static void test_limits(void **state) {
    (void)state;
    clump_schema *s;
    char name[16];
    assert_int_equal(clumpi_schema_create(NULL, &s, NULL), CLUMP_OK);
    assert_int_equal(add_class(s, "Alpha", NULL), CLUMP_OK);
    for (unsigned i = 1; i <= CLUMP_CLASSES_MAX; ++i) {
        snprintf(name, sizeof name, "K%u", i);
        clump_status status = add_class(s, name, "Alpha");
        if (i < CLUMP_CLASSES_MAX)
            assert_int_equal(status, CLUMP_OK);
        else
            expect_error(s, status, CLUMP_ERR_SCHEMA, "\"K250\" is one too many");
    }
    for (unsigned i = 0; i <= CLUMP_FIELDS_MAX; ++i) {
        snprintf(name, sizeof name, "f%u", i);
        clump_status status = add_field(s, name, CLUMP_TYPE_CHAR, 16, 0, NULL);
        if (i < CLUMP_FIELDS_MAX)
            assert_int_equal(status, CLUMP_OK);
        else
            expect_error(s, status, CLUMP_ERR_SCHEMA,
                         "\"f4096\" of class \"Alpha\" is one too many");
    }
    assert_int_equal(clumpi_schema_seal(s), CLUMP_OK);
    assert_int_equal(clump_schema_get_info(s)->class_count, CLUMP_CLASSES_MAX);
    clump_schema_destroy(s);
}

static void test_misuse(void **state) {
    (void)state;
    clump_schema *s = NULL;
    clump_error error;
    clump_allocator partial = {NULL, NULL, NULL, NULL};
    assert_int_equal(clumpi_schema_create(&partial, &s, NULL),
                     CLUMP_OK); /* all NULL: the default */
    clump_schema_destroy(s);
    partial.reallocate = (void *(*)(void *, void *, size_t))abort;
    assert_int_equal(clumpi_schema_create(NULL, NULL, NULL), CLUMP_ERR_USAGE);
    assert_int_equal(clumpi_schema_create(&partial, &s, NULL), CLUMP_ERR_USAGE);
    assert_null(s);
    assert_int_equal(clump_schema_parse("", 0, &partial, &s, &error), CLUMP_ERR_USAGE);
    assert_int_equal(clump_schema_parse_file("x", &partial, &s, &error), CLUMP_ERR_USAGE);
    assert_int_equal(clump_schema_parse("", 0, NULL, NULL, &error), CLUMP_ERR_USAGE);
    assert_int_equal(clump_schema_parse(NULL, 1, NULL, &s, &error), CLUMP_ERR_USAGE);
    assert_int_equal(clump_schema_parse(NULL, 0, NULL, &s, &error), CLUMP_ERR_SCHEMA);
    assert_int_equal(clump_schema_parse_file(NULL, NULL, &s, &error), CLUMP_ERR_USAGE);
    assert_int_equal(clumpi_schema_copy(NULL, NULL, &s), CLUMP_ERR_USAGE);
}

static void test_files(void **state) {
    (void)state;
    clump_schema *s = NULL;
    clump_error error;
    char path[] = "/tmp/clump_schema_XXXXXX";
    int descriptor = mkstemp(path);
    assert_true(descriptor >= 0);
    FILE *file = fdopen(descriptor, "wb");
    assert_non_null(file);
    fputs("class A { int x; }\n", file);
    for (int i = 0; i < 9000; ++i) fputs("// filler\n", file);
    fflush(file);
    assert_int_equal(clump_schema_parse_file(path, NULL, &s, &error), CLUMP_OK);
    clump_schema_destroy(s);
    fputs("?", file);
    fclose(file);
    assert_int_equal(clump_schema_parse_file(path, NULL, &s, &error), CLUMP_ERR_SCHEMA);
    assert_int_equal(error.line, 9002);
    assert_null(s);
    remove(path);
    assert_int_equal(clump_schema_parse_file(path, NULL, &s, &error), CLUMP_ERR_IO);
    assert_non_null(strstr(error.message, "clump_schema_"));
    assert_int_equal(clump_schema_parse_file("/", NULL, &s, &error), CLUMP_ERR_IO);
}

/* ---- Much of it ------------------------------------------------------------------------------ */

static double parse_seconds(const char *piece, size_t bytes, const char *words) {
    char *text = malloc(bytes);
    assert_non_null(text);
    for (size_t i = 0, n = strlen(piece); i < bytes; ++i) text[i] = piece[i % n];
    clump_schema *s;
    clump_error error;
    struct timespec start, end;
    clock_gettime(CLOCK_MONOTONIC, &start);
    clump_status status = clump_schema_parse(text, bytes, NULL, &s, &error);
    clock_gettime(CLOCK_MONOTONIC, &end);
    free(text);
    if (status != CLUMP_ERR_SCHEMA || !strstr(error.message, words) || !error.line)
        fail_msg("%s: %s", piece, error.message);
    return (double)(end.tv_sec - start.tv_sec) + 1e-9 * (double)(end.tv_nsec - start.tv_nsec);
}

static void test_garbage(void **state) {
    (void)state;
    static const char *const pieces[][2] = {
        {"a", "..."},
        {"/* ", "does not end"},
        {"// \n", "no class"},
        {"/**/", "no class"},
        {" \t", "no class"},
        {"9", "found"},
        {"\xff", "\\xff..."},
        {"{", "found \"{\""},
        {"abstract ", "expected"},
        {"aos soa ", "layout"},
        {"class A{int x;}", "declared twice"},
    };
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; ++i)
        assert_true(parse_seconds(pieces[i][0], CLUMP_SCHEMA_TEXT_BYTES_MAX, pieces[i][1]) < 5);
    assert_true(parse_seconds("class A{}", CLUMP_SCHEMA_TEXT_BYTES_MAX + 1, "too long") < 1);
    assert_true(parse_seconds("x", (size_t)64 << 20, "too long") < 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_grammar),        cmocka_unit_test(test_names),
        cmocka_unit_test(test_wholes),         cmocka_unit_test(test_zero_bytes),
        cmocka_unit_test(test_accepted),       cmocka_unit_test(test_calls_refused),
        cmocka_unit_test(test_arrays_refused), cmocka_unit_test(test_limits),
        cmocka_unit_test(test_misuse),         cmocka_unit_test(test_files),
        cmocka_unit_test(test_garbage),
    };
    return cmocka_run_group_tests_name("schema errors", tests, NULL, NULL);
}
