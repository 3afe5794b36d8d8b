/* Declaring classes and fields by calls instead of a text. */
#ifndef TESTS_DECLARE_H
#define TESTS_DECLARE_H

#include "schema/schema.h"

static inline clump_status declare_class(clump_schema *schema, const clumpi_class_desc *desc) {
    return clumpi_schema_declare_class(schema, desc, &(clumpi_class_places){.name = {0, 0}});
}

static inline clump_status declare_field(clump_schema *schema, const char *class_name,
                                         const clumpi_field_desc *desc) {
    return clumpi_schema_declare_field(schema, clumpi_schema_find_decl(schema, class_name), desc,
                                       &(clumpi_field_places){.name = {0, 0}});
}

#endif
