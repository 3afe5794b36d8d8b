/* Looks into the table.
 *
 * Read first: refusals.h.
 */
#include "schema/refusals.h"

#include <string.h>

#define TRAIT(trait, name, words) {name, words},
const clumpi_trait clumpi_traits[CLUMPI_TRAIT_COUNT] = {CLUMPI_TRAITS(TRAIT)};

/* Each ends in one that is not looked at, so that the table may be empty. */
#define REFUSAL(operation, trait, status, why, instead)                                            \
    {CLUMPI_OP_##operation, CLUMPI_NUMBER_##trait, CLUMP_ERR_##status, why, instead},
static const clumpi_refusal refusals[] = {CLUMPI_REFUSALS(REFUSAL){.trait = 0}};
#define EXCLUSION(one, other, why, instead)                                                        \
    {{CLUMPI_NUMBER_##one, CLUMPI_NUMBER_##other}, why, instead},
static const clumpi_exclusion exclusions[] = {CLUMPI_EXCLUSIONS(EXCLUSION){.traits = {0}}};
#define COUNT(all) (sizeof(all) / sizeof *(all)-1)

const clumpi_refusal *clumpi_refusal_find(clumpi_operation operation, unsigned traits) {
    const clumpi_refusal *first = NULL;
    for (size_t i = 0; i < COUNT(refusals); i++) {
        const clumpi_refusal *r = &refusals[i];
        if (r->operation == operation && traits >> r->trait & 1 &&
            (!first || r->trait < first->trait))
            first = r;
    }
    return first;
}

const clumpi_exclusion *clumpi_exclusion_find(unsigned traits) {
    for (size_t i = 0; i < COUNT(exclusions); i++)
        if (traits >> exclusions[i].traits[0] & traits >> exclusions[i].traits[1] & 1)
            return &exclusions[i];
    return NULL;
}

/* A part belongs to the array before it. */
static clump_array kind_of_part(const clump_schema *schema, const clump_field_info *part) {
    const clump_class_info *c = clump_schema_get_info(schema)->classes[part->class_id];
    clump_array kind = CLUMP_ARRAY_FIXED;
    for (uint32_t i = 0; strcmp(c->fields[i]->name, part->name) != 0; i++)
        if (c->fields[i]->array) kind = c->fields[i]->array;
    return kind;
}

unsigned clumpi_field_traits(const clump_schema *schema, const clump_field_info *field) {
    return field->array == CLUMP_ARRAY_GROWING                  ? CLUMPI_TRAIT_GROWING
           : field->array == CLUMP_ARRAY_BOUNDED                ? CLUMPI_TRAIT_BOUNDED
           : !field->part                                       ? 0
           : kind_of_part(schema, field) == CLUMP_ARRAY_BOUNDED ? CLUMPI_TRAIT_LENGTH
                                                                : CLUMPI_TRAIT_PART;
}
