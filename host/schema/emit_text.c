/* A schema as text, in the format of clump/schema.h.
 *
 * Invariant: the text depends on the schema alone, and clump_schema_parse() makes an equal schema
 * of it: classes stand in the order of their ids, which is that in which they get them. It is
 * shorter than CLUMP_SCHEMA_TEXT_BYTES_MAX: 4096 fields with two names of 64 bytes each, and as
 * many "becomes" with one.
 * Read first: schema.h.
 */
#include "schema/schema.h"

static void emit_field(clumpi_text *t, const clump_schema *schema, const clump_field_info *f) {
    if (f->type == CLUMP_TYPE_REF) {
        const clump_class_info *target = clump_schema_get_info(schema)->classes[f->ref_class];
        clumpi_text_append(t, "  %sref %s %s", f->weak ? "weak " : "", target->name, f->name);
    } else {
        clumpi_text_append(t, "  %s %s", f->type_name, f->name);
    }
    if (f->array)
        clumpi_text_append(t, "[*]");
    else if (f->count)
        clumpi_text_append(t, "[%u]", f->count);
    if (f->array && f->count)
        clumpi_text_append(t, " %s %u", f->array == CLUMP_ARRAY_BOUNDED ? "max" : "inline",
                           f->count);
    clumpi_text_append(t, "%s;\n", f->packed ? " packed" : "");
}

void clumpi_schema_emit_text(clumpi_text *text, const clump_schema *schema) {
    for (uint32_t id = 1; id <= clump_schema_get_info(schema)->class_count; id++) {
        clump_class_info base;
        const clump_class_info *c = clump_schema_get_info(schema)->classes[id];
        clumpi_text_append(text, "%s%sclass %s", c->is_abstract ? "abstract " : "",
                           c->layout == CLUMP_LAYOUT_AOS ? "aos " : "", c->name);
        if (c->base) {
            base = *clump_schema_get_info(schema)->classes[c->base];
            clumpi_text_append(text, " : %s", base.name);
        }
        const char *mark = " becomes ";
        for (uint32_t i = 0; i < schema->become_count; i++) {
            const clumpi_become *b = &schema->becomes[i];
            if (b->from != id) continue;
            clumpi_text_append(text, "%s%s", mark, schema->classes[b->to - 1].info.name);
            mark = ", ";
        }
        clumpi_text_append(text, " {\n");
        for (uint32_t i = 0; i < c->field_count; i++) {
            clump_field_info f = *clump_schema_get_info(schema)->classes[id]->fields[i];
            if (!f.part) emit_field(text, schema, &f);
        }
        clumpi_text_append(text, "}\n");
    }
}
