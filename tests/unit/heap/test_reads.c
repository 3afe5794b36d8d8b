/* Which accessors of a source read: the others keep their names, and all else stays as it is.
 *
 * Read first: host/heap/read_accessors.c.
 */
#include <stdlib.h>
#include <string.h>

#include "heap/heap.h"
/* After the above, which need types of it. */
#include "cl_fixture.h"

static const char schema_text[] =
    "class Base { uint a; ref Base next; uchar small; } class My_Sub : Base { float4 pos; uint "
    "arr[4]; }";
static clump_schema *schema;

/* `R_` stands for the prefix. */
static char *expand(const char *text) {
    char *out = calloc(1, strlen(text) * sizeof CLUMPI_READ_PREFIX + 1), *to = out;
    for (const char *at = text; *at;) {
        if (strncmp(at, "R_", 2) == 0) {
            strcpy(to, CLUMPI_READ_PREFIX);
            to += sizeof CLUMPI_READ_PREFIX - 1;
            at += 2;
        } else {
            *to++ = *at++;
        }
    }
    return out;
}

static void expect(const char *marked) {
    char *wanted = expand(marked), *source = calloc(1, strlen(marked) + 1), *to = source;
    for (const char *at = marked; *at;) {
        if (strncmp(at, "R_", 2) == 0)
            at += 2;
        else
            *to++ = *at++;
    }
    clump_allocator allocator = clumpi_allocator_resolve(NULL);
    clumpi_text text = {.allocator = &allocator};
    clumpi_reads_mark(&text, schema, source);
    assert_false(text.failed);
    assert_string_equal(text.data ? text.data : "", wanted);
    clumpi_free(&allocator, text.data);
    free(wanted);
    free(source);
}

static void test_kinds(void **state) {
    expect("x = R_Base_a(b);");
    expect("Base_a(b) = 1;");
    expect("Base_a(b) =\n    R_Base_a(c);");
    expect("if (R_Base_a(b) == 1) f(R_Base_a(c), 2);");
    expect("R_Base_a(b) += 1; R_Base_a(b)++; ++R_Base_a(b); R_Base_a(b) <<= 2;");
    expect("uint *p = &Base_a(b); atomic_inc((volatile __global uint *)&Base_a(b));");
    expect("if (x && R_Base_a(b)) y;");
    expect("My_Sub_pos(s).x = 1; y = R_My_Sub_pos(s).x; My_Sub_arr(s, R_Base_a(b)) = 0;");
    expect("z = R_My_Sub_arr(s, (1 + 2) * 3) * R_My_Sub_a(s);");
    expect("Base_next(R_Base_next(b)) = b; c = R_Base_next(R_Base_next(b));");
    expect("(Base_a(b)) = 1; f((1), R_Base_a(b));");
    expect("Base_next(b).id = 0;");
}

static void test_unknown(void **state) {
    expect("#define GET(b) Base_a(b)\nx = GET(b);");
    expect("#define SET(p, v) \\\n    (p) = Base_a(v)\nSET(Base_a(b), 1);\nx = R_Base_a(b);");
    expect("# define SET(p) p = 1\nSET(f(Base_a(b)));");
    expect("CLUMP_COMBINE(parts, Base_a(b), max); CLUMP_REDUCE(uint, R_Base_a(b), CLUMP_SUM);");
    expect("CLUMP_ATOMIC_ADD(Base_a(b), 1); CLUMP_PUBLISH(Base_next(b), c, d); x = R_Base_a(b);");
    expect("x = CLUMP_OBSERVED(uint, Base_a(CLUMP_OBSERVE(Base, Base_next(b))));");
    expect("x = Base_small(b);");             /* too narrow */
    expect("x = Base_none(b) + Other_a(b);"); /* none */
    expect("x = Base_a; Base_ab(b);");
}

static void test_texts(void **state) {
    expect("");
    expect("// Base_a(b)\n/* Base_a(b) */ \"Base_a(b)\" x = R_Base_a(/* ) */ b);");
    expect("'(' x = R_Base_a(b) \"\\\"(\" + R_Base_a(c)");
    expect("x = Base_a(b");
    expect(") x = Base_a(b)"); /* too many: nothing more is looked for */
    expect("/* Base_a(b)");
    expect("x = R_Base_a // (\n   (b) ; y");
    char deep[2000] = "";
    for (int i = 0; i < 70; i++) strcat(deep, "(");
    strcat(deep, "Base_a(b)");
    for (int i = 0; i < 70; i++) strcat(deep, ")");
    expect(deep);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_kinds), cmocka_unit_test(test_unknown),
                                       cmocka_unit_test(test_texts)};
    if (clump_schema_parse(schema_text, strlen(schema_text), NULL, &schema, NULL) != CLUMP_OK)
        return 1;
    int result = cmocka_run_group_tests(tests, NULL, NULL);
    clump_schema_destroy(schema);
    return result;
}
