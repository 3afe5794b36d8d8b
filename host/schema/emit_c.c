/* The C declarations of a schema: a struct for each class, and its description for clump/structs.h.
 *
 * Invariant: the text depends on schema and prefix alone.
 * Read first: schema.h.
 */
#include <ctype.h>
#include <string.h>

#include "clump/schema_c.h"
#include "schema/schema.h"

/* What follows a class's name in the names that are declared. */
static const char *const suffixes[] = {"", "_struct", "_struct_fields"};
#define SUFFIXES (sizeof suffixes / sizeof *suffixes)

static void emit_member(clumpi_text *t, const clump_schema *schema, const clump_field_info *f) {
    if (f->width > 1)
        clumpi_text_append(t, "    cl_%s %s", f->type_name, f->name);
    else
        clumpi_text_append(t, "    %s %s", clumpi_type_in_c(f->type), f->name);
    if (f->count) clumpi_text_append(t, "[%u]", f->count);
    clumpi_text_append(t, ";");
    if (f->type == CLUMP_TYPE_REF) {
        const clump_class_info *target = clump_schema_get_info(schema)->classes[f->ref_class];
        clumpi_text_append(t, " /* of class %s */", target->name);
    }
    clumpi_text_append(t, "\n");
}

/* Arrays that grow, and the words that belong to them, are in no struct. */
static int is_member(const clump_schema *schema, uint32_t class_id, const clump_field_info *f) {
    const clump_field_info *array = f->part ? clumpi_schema_array_of(schema, class_id, f) : f;
    return array->array != CLUMP_ARRAY_GROWING;
}

/* The class and its bases, the first of them last; returns how many. */
static uint32_t chain_of(const clump_schema *schema, const clump_class_info *c,
                         clump_class_info *chain) {
    uint32_t depth = 0;
    for (uint32_t id = c->id; id; id = chain[depth++].base)
        chain[depth] = *clump_schema_get_info(schema)->classes[id];
    return depth;
}

static void emit_class(clumpi_text *t, const clump_schema *schema, const clump_class_info *c,
                       const char *prefix, clump_class_info *chain) {
    const uint32_t depth = chain_of(schema, c, chain);
    clump_field_info f;
    uint32_t count = 0;
    clumpi_text_append(t, "\n/* %sclass %s%s%s */\ntypedef struct %s%s {\n",
                       c->is_abstract ? "abstract " : "", c->name, depth > 1 ? " : " : "",
                       depth > 1 ? chain[1].name : "", prefix, c->name);
    for (uint32_t d = depth; d-- > 0;)
        for (uint32_t i = 0; i < chain[d].field_count; i++) {
            f = *clump_schema_get_info(schema)->classes[chain[d].id]->fields[i];
            if (is_member(schema, chain[d].id, &f)) {
                emit_member(t, schema, &f);
                count++;
            } else if (!f.part) {
                clumpi_text_append(t, "    /* %s: use clump_heap_read_arrays() */\n", f.name);
            }
        }
    if (!count)
        clumpi_text_append(t, "    char nothing; /* no field of the class is in a struct */\n");
    clumpi_text_append(t, "} %s%s;\n", prefix, c->name);
    if (count)
        clumpi_text_append(t, "static const clump_struct_field %s%s_struct_fields[] = {\n", prefix,
                           c->name);
    for (uint32_t d = depth; d-- > 0;)
        for (uint32_t i = 0; i < chain[d].field_count; i++) {
            f = *clump_schema_get_info(schema)->classes[chain[d].id]->fields[i];
            if (!is_member(schema, chain[d].id, &f)) continue;
            clumpi_text_append(t, "    {\"%s\", (uint32_t)offsetof(%s%s, %s)},\n", f.name, prefix,
                               c->name, f.name);
        }
    if (count) clumpi_text_append(t, "};\n");
    clumpi_text_append(t,
                       "static const clump_struct_desc %s%s_struct = {sizeof(clump_struct_desc), "
                       "\"%s\", (uint32_t)sizeof(%s%s), %u, ",
                       prefix, c->name, c->name, prefix, c->name, count);
    if (count)
        clumpi_text_append(t, "%s%s_struct_fields};\n", prefix, c->name);
    else
        clumpi_text_append(t, "0};\n");
}

static int is_identifier(const char *text) {
    if (isdigit((unsigned char)*text)) return 0;
    for (; *text; text++)
        if (!isalnum((unsigned char)*text) && *text != '_') return 0;
    return 1;
}

/* Is `name` that of class `c` with a suffix? */
static int is_declared_by(const clump_class_info *c, const char *name) {
    const size_t bytes = strlen(c->name);
    if (strncmp(name, c->name, bytes) != 0) return 0;
    for (size_t s = 1; s < SUFFIXES; s++)
        if (strcmp(name + bytes, suffixes[s]) == 0) return 1;
    return 0;
}

static clump_status check_names(const clump_schema *schema, uint32_t count, clump_error *error) {
    for (uint32_t a = 1; a <= count; a++)
        for (uint32_t b = 1; b <= count; b++) {
            clump_class_info one = *clump_schema_get_info(schema)->classes[a];
            const clump_class_info *other = clump_schema_get_info(schema)->classes[b];
            if (is_declared_by(&one, other->name))
                return clumpi_fail(error, CLUMP_ERR_SCHEMA,
                                   "the struct of class %s would have the same name as the "
                                   "description of class %s. Rename one of them",
                                   other->name, one.name);
        }
    return CLUMP_OK;
}

clump_status clump_schema_emit_c(const clump_schema *schema, const char *prefix,
                                 clump_write_fn write, void *user, clump_error *error) {
    const uint32_t count = schema ? clump_schema_get_info(schema)->class_count : 0;
    if (error) memset(error, 0, sizeof *error);
    if (!prefix) prefix = "";
    if (!count || !write)
        return clumpi_fail(error, CLUMP_ERR_USAGE, "clump_schema_emit_c needs %s",
                           !count ? "a schema" : "a function that receives the text");
    if (!is_identifier(prefix))
        return clumpi_fail(error, CLUMP_ERR_USAGE, "the prefix \"%s\" is not an identifier of C",
                           prefix);
    const clump_status status = check_names(schema, count, error);
    if (status) return status;
    clumpi_text t = {.allocator = &schema->allocator};
    clump_class_info *chain = clumpi_alloc(&schema->allocator, CLUMP_CLASSES_MAX * sizeof *chain);
    clumpi_text_append(&t,
                       "/* Made from a schema by clump-schema --emit-c. */\n"
                       "#include <stddef.h>\n#include <stdint.h>\n\n#include <clump/structs.h>\n");
    for (uint32_t id = 1; chain && id <= count; id++) {
        clump_class_info c = *clump_schema_get_info(schema)->classes[id];
        emit_class(&t, schema, &c, prefix, chain);
    }
    t.failed |= !chain;
    clumpi_free(&schema->allocator, chain);
    return clumpi_text_write(&t, CLUMP_OK, "clump_schema_emit_c", write, user, error);
}
