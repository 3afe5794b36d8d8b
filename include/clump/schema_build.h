/* A schema built by calls, class by class and field by field, for programs that have no text of it
 * (schema.h); and a schema as C declarations.
 *
 * It becomes fixed with clump_schema_seal(), after which heaps can be made of it and ids, offsets
 * and sizes can be asked for.
 *
 * Threads: a schema belongs to one thread until it is sealed. Read first: schema.h. Read next:
 * heap.h.
 */
#ifndef CLUMP_SCHEMA_BUILD_H
#define CLUMP_SCHEMA_BUILD_H

#include "clump/schema.h"
#include "clump/write.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A class, for clump_schema_add_class(). */
typedef struct clump_class_desc {
    size_t size;               /* sizeof(clump_class_desc) */
    const char *name;          /* required; an OpenCL C identifier that is not reserved; copied */
    const char *base;          /* name of the base class, or NULL; may be added later; copied */
    int is_abstract;           /* 1: no objects of exactly this class */
    clump_class_layout layout; /* of the fields that this class declares; default soa */
} clump_class_desc;

/* A field, for clump_schema_add_field(). */
typedef struct clump_field_desc {
    size_t size;      /* sizeof(clump_field_desc) */
    const char *name; /* required; copied */
    clump_type type;
    uint32_t width;        /* vector width; 0 or 1 means scalar. Not for bool and ref */
    const char *ref_class; /* for CLUMP_TYPE_REF: the class referred to; may be added later */
    uint32_t count;        /* 0: a plain field; n >= 1: an array of n elements */
    int packed;            /* arrays only: elements contiguous per object */
    int weak;              /* references only: a collection (collect.h) does not follow them, and
                              makes them null when their object dies. Not in arrays of run-time
                              length */
    clump_array array; /* GROWING: `count` may be 0; BOUNDED: it is 1 or more. FIXED: as above */
} clump_field_desc;

/* CONSTRUCTOR. An empty schema.
 *   allocator  [in, optional]  default malloc, realloc, free; copied
 *   schema     [out]           NULL on failure
 * Returns CLUMP_OK; CLUMP_ERR_USAGE; CLUMP_ERR_HOST_MEMORY. */
CLUMP_API clump_status clump_schema_create(const clump_allocator *allocator, clump_schema **schema,
                                           clump_error *error);

/* METHOD. Add a class to an unsealed schema.
 * Returns CLUMP_OK; CLUMP_ERR_SCHEMA bad, reserved or duplicate name, too many classes;
 * CLUMP_ERR_USAGE sealed; CLUMP_ERR_HOST_MEMORY. On failure the schema is as before. */
CLUMP_API clump_status clump_schema_add_class(clump_schema *schema, const clump_class_desc *desc);

/* METHOD. Add a field to the class named `class_name` of an unsealed schema.
 * An array of run-time length counts as two or four fields.
 * Returns CLUMP_OK; CLUMP_ERR_NOT_FOUND no such class; CLUMP_ERR_SCHEMA bad, reserved or duplicate
 * name, bad type, width, count or array; CLUMP_ERR_USAGE sealed; CLUMP_ERR_HOST_MEMORY. Unchanged
 * on failure. */
CLUMP_API clump_status clump_schema_add_field(clump_schema *schema, const char *class_name,
                                              const clump_field_desc *desc);

/* METHOD. Check the whole and compute ids, offsets and sizes. Ids are given in depth-first order of
 * inheritance, so the ids of its subclasses follow that of a class.
 * Returns CLUMP_OK (also if already sealed); CLUMP_ERR_SCHEMA: no concrete class, unknown base or
 * referenced class, inheritance cycle, a concrete class without bytes, a class too large, a field
 * that hides an inherited one, two fields whose generated names are the same. */
CLUMP_API clump_status clump_schema_seal(clump_schema *schema);

/* The error of the last failed call on this schema. Never NULL. Once it is sealed, several threads
 * may look into it, and look-ups only return a status: the error has none then, until a call that
 * would change the schema fails. */
CLUMP_API const clump_error *clump_schema_get_error(const clump_schema *schema);

/* The C declarations of a schema without arrays of run-time length: for each class CLASS a struct
 * CLASS with all its fields, inherited ones first, and `CLASS_struct`, its clump_struct_desc
 * (structs.h). Types are those of stdint.h, cl_float3 and so on for vectors, uint8_t for bool,
 * clump_ref for references. Same schema, same text.
 *   schema  [in]             sealed
 *   prefix  [in, optional]   of all names that are declared: an identifier, or NULL
 *   write   [in]             gets the text, in one part, with `user`; is not called if the call
 *                            fails
 *   error   [out, optional]
 * Returns CLUMP_OK; CLUMP_ERR_USAGE: not sealed, no `write`, or the prefix is no identifier;
 * CLUMP_ERR_SCHEMA: two names would be the same, as of classes A and A_struct, or there is an array
 * of run-time length; CLUMP_ERR_IO `write` said so; CLUMP_ERR_HOST_MEMORY. */
CLUMP_API clump_status clump_schema_emit_c(const clump_schema *schema, const char *prefix,
                                           clump_write_fn write, void *user, clump_error *error);

#ifdef __cplusplus
}
#endif
#endif
