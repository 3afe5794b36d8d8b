/* A schema as C declarations.
 *
 * Read first: schema.h. Read next: structs.h, which such declarations are for.
 */
#ifndef CLUMP_SCHEMA_C_H
#define CLUMP_SCHEMA_C_H

#include "clump/schema.h"
#include "clump/write.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The C declarations of a schema without arrays of run-time length: for each class CLASS a struct
 * CLASS with all its fields, inherited ones first, and `CLASS_struct`, its clump_struct_desc
 * (structs.h). Types are those of stdint.h, cl_float3 and so on for vectors, uint8_t for bool,
 * clump_ref for references. Same schema, same text.
 *   schema  [in]
 *   prefix  [in, optional]   of all names that are declared: an identifier, or NULL
 *   write   [in]             gets the text, in one part, with `user`; is not called if the call
 *                            fails
 *   error   [out, optional]
 * Returns CLUMP_OK; CLUMP_ERR_USAGE: no `write`, or the prefix is no identifier;
 * CLUMP_ERR_SCHEMA: two names would be the same, as of classes A and A_struct, or there is an array
 * of run-time length; CLUMP_ERR_IO `write` said so; CLUMP_ERR_HOST_MEMORY. */
CLUMP_API clump_status clump_schema_emit_c(const clump_schema *schema, const char *prefix,
                                           clump_write_fn write, void *user, clump_error *error);

#ifdef __cplusplus
}
#endif
#endif
