/* The C declarations of a schema: the text to the byte, names that clash, prefixes, memory that is
 * missing. That they compile, and that their offsets are right, is for check_schema_tool.sh and
 * diff_structs.
 *
 * Read first: include/clump/schema.h.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
/* After the above, which it needs. */
#include <cmocka.h>

#include "clump/schema.h"
#include "clump/schema_c.h"

static char text[1u << 16];
static int parts;
static long requests_left; /* until there is no memory; -1: there always is */

static int keep(void *user, const void *part, size_t bytes) {
    assert_ptr_equal(user, &parts);
    assert_true(bytes < sizeof text);
    memcpy(text, part, bytes);
    text[bytes] = 0;
    parts++;
    return 0;
}

static void *allocate(void *user, size_t bytes) {
    (void)user;
    return requests_left && requests_left-- ? malloc(bytes) : NULL;
}
static void *reallocate(void *user, void *memory, size_t bytes) {
    (void)user;
    return requests_left && requests_left-- ? realloc(memory, bytes) : NULL;
}
static void release(void *user, void *memory) {
    (void)user;
    free(memory);
}
static const clump_allocator counting = {allocate, reallocate, release, NULL};

static clump_schema *parse(const char *schema) {
    clump_schema *s = NULL;
    clump_error error;
    requests_left = -1;
    if (clump_schema_parse(schema, strlen(schema), &counting, &s, &error))
        fail_msg("%s", error.message);
    return s;
}

static void refused(const clump_schema *s, const char *prefix, clump_status status,
                    const char *words) {
    clump_error error;
    parts = 0;
    assert_int_equal(clump_schema_emit_c(s, prefix, keep, &parts, &error), status);
    assert_int_equal(error.status, status);
    if (!strstr(error.message, words)) fail_msg("\"%s\" is not in: %s", words, error.message);
    assert_int_equal(parts, 0);
}

static void test_text(void **state) {
    (void)state;
    static const char expected[] =
        "/* Made from a schema by clump-schema --emit-c. */\n"
        "#include <stddef.h>\n#include <stdint.h>\n\n#include <clump/structs.h>\n"
        "\n/* abstract class A */\ntypedef struct s_A {\n"
        "    char nothing; /* no field of the class is in a struct */\n} s_A;\n"
        "static const clump_struct_desc s_A_struct = {sizeof(clump_struct_desc), \"A\", "
        "(uint32_t)sizeof(s_A), 0, 0};\n"
        "\n/* class B : A */\ntypedef struct s_B {\n"
        "    clump_ref a; /* of class A */\n    cl_short3 b[2];\n    uint8_t c;\n} s_B;\n"
        "static const clump_struct_field s_B_struct_fields[] = {\n"
        "    {\"a\", (uint32_t)offsetof(s_B, a)},\n"
        "    {\"b\", (uint32_t)offsetof(s_B, b)},\n"
        "    {\"c\", (uint32_t)offsetof(s_B, c)},\n};\n"
        "static const clump_struct_desc s_B_struct = {sizeof(clump_struct_desc), \"B\", "
        "(uint32_t)sizeof(s_B), 3, "
        "s_B_struct_fields};\n"
        "\n/* class C : B */\ntypedef struct s_C {\n"
        "    clump_ref a; /* of class A */\n    cl_short3 b[2];\n    uint8_t c;\n    int64_t d;\n"
        "    clump_ref e[3]; /* of class B */\n    uint32_t e_length;\n} s_C;\n"
        "static const clump_struct_field s_C_struct_fields[] = {\n"
        "    {\"a\", (uint32_t)offsetof(s_C, a)},\n"
        "    {\"b\", (uint32_t)offsetof(s_C, b)},\n"
        "    {\"c\", (uint32_t)offsetof(s_C, c)},\n"
        "    {\"d\", (uint32_t)offsetof(s_C, d)},\n"
        "    {\"e\", (uint32_t)offsetof(s_C, e)},\n"
        "    {\"e_length\", (uint32_t)offsetof(s_C, e_length)},\n};\n"
        "static const clump_struct_desc s_C_struct = {sizeof(clump_struct_desc), \"C\", "
        "(uint32_t)sizeof(s_C), 6, "
        "s_C_struct_fields};\n";
    clump_schema *s = parse(
        "abstract class A { }\n"
        "class B : A { ref A a; short3 b[2]; bool c; }\nclass C : B { long d; ref B e[*] max 3; "
        "}\n");
    parts = 0;
    assert_int_equal(clump_schema_emit_c(s, "s_", keep, &parts, NULL), CLUMP_OK);
    assert_int_equal(parts, 1);
    assert_string_equal(text, expected);
    clump_schema_destroy(s);
}

/* They have another length in each object. */
static void test_growing(void **state) {
    (void)state;
    static const char *const in_text[] = {
        "typedef struct A {\n    /* w: use clump_heap_read_arrays() */\n    uint32_t x;\n} A;\n",
        "A_struct_fields[] = {\n    {\"x\", (uint32_t)offsetof(A, x)},\n};\n",
        "(uint32_t)sizeof(A), 1, ", "    uint32_t x;\n    uint8_t y[2];\n    uint32_t y_length;\n",
        "    char nothing; /* no field of the class is in a struct */\n} Only;\n"};
    clump_schema *s = parse(
        "class A { uint w[*] inline 2; uint x; }\n"
        "class B : A { uchar y[*] max 2; }\nclass Only { raw w; }\n");
    parts = 0;
    assert_int_equal(clump_schema_emit_c(s, NULL, keep, &parts, NULL), CLUMP_OK);
    for (size_t i = 0; i < sizeof in_text / sizeof *in_text; i++)
        if (!strstr(text, in_text[i])) fail_msg("\"%s\" is not in: %s", in_text[i], text);
    assert_null(strstr(text, "w_length"));
    assert_null(strstr(text, "w_memory"));
    clump_schema_destroy(s);
}

static void test_refused(void **state) {
    (void)state;
    clump_schema *s = parse("class A { uint x; }\n");
    refused(NULL, NULL, CLUMP_ERR_USAGE, "a schema");
    refused(s, "a-", CLUMP_ERR_USAGE, "the prefix \"a-\"");
    refused(s, "2", CLUMP_ERR_USAGE, "not an identifier");
    assert_int_equal(clump_schema_emit_c(s, NULL, NULL, NULL, NULL), CLUMP_ERR_USAGE);
    clump_error error;
    assert_int_equal(clump_schema_emit_c(s, NULL, CLUMP_TO_PATH("/dev/full"), &error),
                     CLUMP_ERR_IO);
    assert_non_null(strstr(error.message, "cannot write /dev/full: No space"));
    clump_schema_destroy(s);
    static const char *const twins[] = {"class A { uint x; }\nclass A_struct { uint x; }\n",
                                        "class A_struct_fields { uint x; }\nclass A { uint x; }\n"};
    for (int i = 0; i < 2; i++) {
        s = parse(twins[i]);
        refused(s, NULL, CLUMP_ERR_SCHEMA, "the same name as the description of class A");
        clump_schema_destroy(s);
    }
}

static void test_memory(void **state) {
    (void)state;
    clump_schema *s = parse("class A { uint x; }\nclass B : A { float4 y; }\n");
    clump_error error = {0};
    long most = 0;
    for (;; most++) {
        parts = 0;
        requests_left = most;
        clump_status status = clump_schema_emit_c(s, NULL, keep, &parts, &error);
        if (!status) break;
        assert_int_equal(status, CLUMP_ERR_HOST_MEMORY);
        assert_int_equal(parts, 0);
    }
    assert_true(most >= 2);
    assert_int_equal(parts, 1);
    requests_left = -1;
    clump_schema_destroy(s);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_text), cmocka_unit_test(test_growing),
                                       cmocka_unit_test(test_refused),
                                       cmocka_unit_test(test_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
