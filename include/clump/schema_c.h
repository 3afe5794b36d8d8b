/* A schema as C declarations.
 *
 * Read first: schema.h. Read next: structs.h, which uses such declarations.
 */
#ifndef CLUMP_SCHEMA_C_H
#define CLUMP_SCHEMA_C_H

#include "clump/schema.h"
#include "clump/write.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Write the C declarations of a schema. For each class CLASS they have a struct CLASS with all its
 * fields but arrays that grow, inherited ones first, and `CLASS_struct`, its clump_struct_desc
 * (structs.h). Types are the types of stdint.h, cl_float3 and so on for vectors, uint8_t for bool,
 * clump_ref for references. An array `a` with `max` is an array, followed by a_length. The same
 * schema always produces the same text.
 *   schema  [in]
 *   prefix  [in, optional]  of all declared names: an identifier, or NULL
 *   write   [in]            gets the text, in one part, with `user`. Not called if the call fails
 *                           before
 *   error   [out, optional]
 * Returns CLUMP_OK, or:
 *   CLUMP_ERR_USAGE   `write` is NULL, the schema is without classes, or the prefix is not an
 *                     identifier
 *   CLUMP_ERR_SCHEMA  two names would be the same, as for classes A and A_struct
 *   CLUMP_ERR_IO      `write` returned an error
 *   CLUMP_ERR_HOST_MEMORY */
CLUMP_API clump_status clump_schema_emit_c(const clump_schema *schema, const char *prefix,
                                           clump_write_fn write, void *user, clump_error *error);

#ifdef __cplusplus
}
#endif
#endif
