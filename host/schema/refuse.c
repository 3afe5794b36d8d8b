/* Refusals of schemas, and of what has one, in the words of the table.
 *
 * Read first: refusals.h, schema.h.
 */
#include <stdio.h>

#include "schema/refusals.h"
#include "schema/schema.h"

/* "field f of class C". */
#define FIELD_BYTES (2 * CLUMP_NAME_BYTES_MAX + 32)
static const char *field_words(const clump_schema *schema, const clump_field_info *f,
                               char text[FIELD_BYTES]) {
    snprintf(text, FIELD_BYTES, "field %s of class %s", f->name,
             clumpi_schema_field_class(schema, f));
    return text;
}

static const clump_field_info *find_field(const clump_schema *schema, unsigned trait) {
    for (uint32_t i = 0; i < schema->field_count; i++)
        if (clumpi_field_traits(schema, &schema->fields[i].info) & trait)
            return &schema->fields[i].info;
    return NULL;
}

unsigned clumpi_schema_traits(const clump_schema *schema) {
    unsigned traits = 0;
    for (uint32_t i = 0; schema && i < schema->field_count; i++)
        traits |= clumpi_field_traits(schema, &schema->fields[i].info);
    if (schema && schema->become_count) traits |= CLUMPI_TRAIT_BECOMING;
    return traits & ~(unsigned)(CLUMPI_TRAIT_PART | CLUMPI_TRAIT_LENGTH);
}

static clump_status fail(const clumpi_refusal *r, const char *call, const char *what,
                         clump_error *error) {
    char begin[64] = "";
    if (call) snprintf(begin, sizeof begin, "%s: ", call);
    return clumpi_fail(error, r->status, "%s%s%s, and %s: %s", begin, what,
                       clumpi_traits[r->trait].words, r->why, r->instead);
}

clump_status clumpi_field_refuses(const clump_schema *schema, const clump_field_info *field,
                                  clumpi_operation operation, const char *call,
                                  clump_error *error) {
    char text[FIELD_BYTES];
    const clumpi_refusal *r = clumpi_refusal_find(operation, clumpi_field_traits(schema, field));
    return r ? fail(r, call, field_words(schema, field, text), error) : CLUMP_OK;
}

clump_status clumpi_schema_refuses(const clump_schema *schema, unsigned traits,
                                   clumpi_operation operation, uint64_t evicted, const char *call,
                                   clump_error *error) {
    char text[FIELD_BYTES] = "";
    const clumpi_refusal *r = clumpi_refusal_find(operation, traits);
    if (!r) return CLUMP_OK;
    const clump_field_info *f = find_field(schema, 1u << r->trait);
    if (f) field_words(schema, f, text);
    if (r->trait == CLUMPI_NUMBER_EVICTED)
        snprintf(text, sizeof text, "%llu objects", (unsigned long long)evicted);
    return fail(r, call, text, error);
}

clump_status clumpi_schema_excludes(const clump_schema *schema, unsigned traits,
                                    clump_error *error) {
    char text[FIELD_BYTES] = "";
    const clumpi_exclusion *e = clumpi_exclusion_find(traits);
    if (!e) return CLUMP_OK;
    const clump_field_info *f = schema ? find_field(schema, 1u << e->traits[1]) : NULL;
    return clumpi_fail(
        error, CLUMP_ERR_USAGE, "a heap cannot have both %s and %s%s%s%s, since %s: %s",
        clumpi_traits[e->traits[0]].name, clumpi_traits[e->traits[1]].name, f ? " (" : "",
        f ? field_words(schema, f, text) : "", f ? ")" : "", e->why, e->instead);
}
