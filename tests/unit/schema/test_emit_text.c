/* A schema as text: the text to the byte, and the schema that is parsed from it has the same facts,
 * and the same text.
 *
 * Read first: host/schema/emit_text.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
/* After the above, which it needs. */
#include <cmocka.h>

#include "schema/schema.h"

static clumpi_text text_of(const clump_schema *schema) {
    static clump_allocator allocator;
    allocator = clumpi_allocator_resolve(NULL);
    clumpi_text text = {.allocator = &allocator};
    clumpi_schema_emit_text(&text, schema);
    assert_false(text.failed);
    return text;
}

static clump_schema *parse(const char *text, size_t bytes) {
    clump_schema *schema;
    clump_error error;
    if (clump_schema_parse(text, bytes, NULL, &schema, &error)) fail_msg("%s", error.message);
    return schema;
}

static void the_text(void **state) {
    (void)state;
    static const char given[] =
        "class Late:Mid{ref Late all [ 3 ] packed;weak ref Base w;} // classes in any order\n"
        "abstract class Base { float4 at; } aos class Other { bool b; uchar16 c[2]; }"
        "abstract aos class Mid : Base { double d; ref Other o[1]; }"
        "class One becomes Other ,Two{} class Two becomes One { int x; }"
        "class Long { float w[*]; char c[*] inline 3 packed; ref Base r [ * ] max 2; }";
    static const char expected[] =
        "abstract class Base {\n  float4 at;\n}\n"
        "abstract aos class Mid : Base {\n  double d;\n  ref Other o[1];\n}\n"
        "class Late : Mid {\n  ref Late all[3] packed;\n  weak ref Base w;\n}\n"
        "aos class Other {\n  bool b;\n  uchar16 c[2];\n}\n"
        "class One becomes Other, Two {\n}\n"
        "class Two becomes One {\n  int x;\n}\n"
        "class Long {\n  float w[*];\n  char c[*] inline 3 packed;\n  ref Base r[*] max 2;\n}\n";
    clump_schema *a = parse(given, sizeof given - 1);
    clumpi_text text = text_of(a);
    assert_int_equal(text.bytes, sizeof expected - 1);
    assert_memory_equal(text.data, expected, text.bytes);
    clump_schema *b = parse(text.data, text.bytes);
    assert_int_equal(clump_schema_get_info(b)->class_count, clump_schema_get_info(a)->class_count);
    for (uint32_t id = 1; id <= clump_schema_get_info(a)->class_count; id++) {
        const clump_class_info *c = clump_schema_get_info(a)->classes[id];
        const clump_class_info *d = clump_schema_get_info(b)->classes[id];
        assert_string_equal(c->name, d->name);
        assert_true(c->base == d->base && c->last == d->last && c->is_abstract == d->is_abstract &&
                    c->layout == d->layout && c->field_count == d->field_count &&
                    c->object_bytes == d->object_bytes);
        for (uint32_t i = 0; i < c->field_count; i++) {
            clump_field_info f = *clump_schema_get_info(a)->classes[id]->fields[i];
            clump_field_info g = *clump_schema_get_info(b)->classes[id]->fields[i];
            assert_string_equal(f.name, g.name);
            f.name = g.name;
            assert_memory_equal(&f, &g, sizeof f);
        }
    }
    clumpi_text again = text_of(b);
    assert_int_equal(again.bytes, text.bytes);
    assert_memory_equal(again.data, text.data, text.bytes);
    free(text.data);
    free(again.data);
    clump_schema_destroy(a);
    clump_schema_destroy(b);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_text)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
