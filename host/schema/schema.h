/* The inside of a schema: what is declared, what sealing makes of it, and raw access for host/.
 *
 * A clump_schema lives in two phases. Until it is sealed it holds declarations in the order of the
 * calls: class_decls, field_decls, with all names in one text pool (`names`) and two hash indices
 * for duplicates. Sealing (seal.c) makes `classes` and `fields` from them and drops the
 * declarations. The invariants of a sealed schema:
 *
 *     classes[id - 1].info.id == id               order by id is the order of the array
 *     ids id + 1 .. last are the subclasses       depth-first, so a base has a smaller id
 *     class c owns fields[first_field .. first_field + info.field_count - 1], in declaration order
 *     every `name` points into `names`, which does not change any more
 *
 * Files: schema.c (building, getters, copying), seal.c (ids, layout), names.c (rules
 * for names, hash index), reserved_names.c (tables), parse.c and emit_text.c (text).
 * Read first: include/clump/schema.h, memory.h.
 */
#ifndef CLUMPI_SCHEMA_H
#define CLUMPI_SCHEMA_H

#include <stddef.h>
#include <stdint.h>

#include "clump/schema.h"
#include "clump/schema_build.h"
#include "core/memory.h"

#define CLUMPI_NONE UINT32_MAX
#define CLUMPI_QUOTE_BYTES 288 /* room for clumpi_quote() */

/* A 1-based place in a schema text; zeros where the C API was used. */
typedef struct clumpi_text_place {
    uint32_t line, column;
} clumpi_text_place;

/* ---- Hash index: 32-bit hashes to 32-bit values; the caller compares what they stand for ----- */

typedef struct clumpi_index {
    struct clumpi_index_entry {
        uint32_t hash, value_plus_1; /* 0: empty */
    } * entries;
    size_t slots; /* a power of two, or 0; at most half of them are in use */
} clumpi_index;

#define CLUMPI_HASH_START 2166136261u

/* Go on with a hash over more bytes (FNV-1a), so that H(a b) comes from H(a). */
uint32_t clumpi_hash_bytes(uint32_t hash, const char *text, size_t bytes);

/* Make room for `entries` in all. Returns 0 and changes nothing if memory runs out. */
int clumpi_index_reserve(const clump_allocator *a, clumpi_index *index, size_t entries);
void clumpi_index_put(clumpi_index *index, uint32_t hash, uint32_t value); /* room is reserved */

/* The next value with this hash, or CLUMPI_NONE. `*probe` starts at 0. */
uint32_t clumpi_index_next(const clumpi_index *index, uint32_t hash, size_t *probe);
void clumpi_index_free(const clump_allocator *a, clumpi_index *index);

/* ---- Declarations, until sealed ------------------------------------------------------------- */

typedef struct clumpi_class_places {
    clumpi_text_place name, base;
} clumpi_class_places;

typedef struct clumpi_field_places {
    clumpi_text_place name, type, ref, count;
} clumpi_field_places;

typedef struct clumpi_class_decl {
    uint32_t name_at, base_at; /* in clump_schema.names; base_at 0: no base */
    int is_abstract;
    clump_class_layout layout;
    clumpi_class_places places;
} clumpi_class_decl;

typedef struct clumpi_field_decl {
    uint32_t name_at, ref_at; /* ref_at 0: no reference */
    uint32_t class_index;     /* in class_decls */
    clump_type type;
    uint32_t width, count;
    int packed, weak;
    clump_array array;
    clump_array_part part;
    clumpi_field_places places;
} clumpi_field_decl;

/* ---- Sealed ---------------------------------------------------------------------------------- */

typedef struct clumpi_class_entry {
    clump_class_info info;
    const char *base_name;   /* NULL if none */
    uint32_t first_field;    /* its own fields begin there in clump_schema.fields */
    uint32_t depth;          /* number of base classes above it */
    uint32_t own_bytes;      /* object_bytes less those of the base; padding included */
    uint32_t align;          /* of the most demanding field, inherited ones included; 1 .. 128 */
    clumpi_text_place place; /* of its name */
} clumpi_class_entry;

typedef struct clumpi_field_entry {
    clump_field_info info;
    clumpi_text_place place; /* of its name */
} clumpi_field_entry;

struct clump_schema {
    clump_allocator allocator;
    clump_error error;

    char *names; /* zero-terminated names, one after the other; the one at 0 is empty */
    size_t names_bytes, names_capacity;

    clumpi_class_decl *class_decls;
    size_t class_decl_count, class_decl_capacity;
    clumpi_field_decl *field_decls;
    size_t field_decl_count, field_decl_capacity;
    clumpi_index class_names; /* of class_decls, by name */
    clumpi_index field_names; /* of field_decls, by class_index and name */

    clumpi_class_entry *classes; /* NULL until sealed */
    uint32_t class_count;
    clumpi_field_entry *fields; /* NULL if there are none */
    uint32_t field_count;
    uint32_t prefix,
        gap; /* bytes of an object: before its fields, after each column. 0 but in checked heaps */
};

/* ---- For all of host/: a sealed schema ------------------------------------------------------- */

/* CONSTRUCTOR. A deep copy of a sealed schema; destroy it with clump_schema_destroy().
 * Returns CLUMP_OK; CLUMP_ERR_USAGE not sealed; CLUMP_ERR_HOST_MEMORY. *copy is NULL on failure. */
clump_status clumpi_schema_copy(const clump_schema *schema, const clump_allocator *allocator,
                                clump_schema **copy);

/* CONSTRUCTOR. A sealed schema without classes, for heaps that have raw memory only.
 * CLUMP_ERR_HOST_MEMORY: *schema is NULL. */
clump_status clumpi_schema_create_empty(const clump_allocator *allocator, clump_schema **schema);

/* Lay the classes out anew, with `prefix` bytes before the fields of each object, a multiple of 4,
 * and `gap` bytes after each column, that of the prefix too. Returns CLUMP_OK; CLUMP_ERR_SCHEMA: a
 * class is too large then, and the schema is of no use. */
clump_status clumpi_schema_spread(clump_schema *schema, uint32_t prefix, uint32_t gap);

/* Append a sealed schema as text: clump_schema_parse() makes an equal one of it (emit_text.c). */
void clumpi_schema_emit_text(clumpi_text *text, const clump_schema *schema);

/* Elements of a field that lie in the object: 1 for a plain field. */
static inline uint32_t clumpi_elements(const clump_field_info *field) {
    return field->count || field->array == CLUMP_ARRAY_GROWING ? field->count : 1;
}

/* The first array of run-time length, of classes as they are numbered; `growing`: of those that
 * take raw memory. NULL: there is none. */
const clump_field_info *clumpi_schema_find_array(const clump_schema *schema, int growing);

/* The name of the class that declares a field: messages name both. */
const char *clumpi_schema_field_class(const clump_schema *schema, const clump_field_info *field);

/* Class `id`, or NULL if there is none or the schema is not sealed. */
const clumpi_class_entry *clumpi_schema_class(const clump_schema *schema, uint32_t id);

/* Own field `index` of class `class_id`, or NULL. */
const clumpi_field_entry *clumpi_schema_field(const clump_schema *schema, uint32_t class_id,
                                              uint32_t index);

/* What the public calls of these names tell, for the library's own parts. */
clump_status clumpi_schema_get_class(const clump_schema *schema, uint32_t id,
                                     clump_class_info *info);
clump_status clumpi_schema_find_class(const clump_schema *schema, const char *name,
                                      clump_class_info *info);
clump_status clumpi_schema_get_field(const clump_schema *schema, uint32_t class_id, uint32_t index,
                                     clump_field_info *info);
clump_status clumpi_schema_find_field(const clump_schema *schema, uint32_t class_id,
                                      const char *name, clump_field_info *info);

/* By name; the second looks in the base classes too. NULL if there is none. */
const clumpi_class_entry *clumpi_schema_class_named(const clump_schema *schema, const char *name);
const clumpi_field_entry *clumpi_schema_field_named(const clump_schema *schema, uint32_t class_id,
                                                    const char *name);

/* ---- Among the schema's own files ------------------------------------------------------------ */

/* What clump_schema_add_class() and _add_field() do, with places (NULL: none) for errors found now
 * or at sealing. Arguments that must not be NULL have been checked. */
clump_status clumpi_schema_declare_class(clump_schema *schema, const clump_class_desc *desc,
                                         const clumpi_class_places *places);
clump_status clumpi_schema_declare_field(clump_schema *schema, uint32_t class_index,
                                         const clump_field_desc *desc,
                                         const clumpi_field_places *places);

/* Index of a declared class in class_decls, or CLUMPI_NONE. */
uint32_t clumpi_schema_find_decl(const clump_schema *schema, const char *name);

/* Has it all three functions or none? NULL is the default allocator. */
int clumpi_schema_allocator_is_whole(const clump_allocator *allocator);

/* Drop the declarations, once there is something better. */
void clumpi_schema_drop_decls(clump_schema *schema);

/* The type named so ("float4"), or 0. References are no type by name. */
int clumpi_type_from_name(const char *name, clump_type *type, uint32_t *width);
uint32_t clumpi_type_bytes(clump_type type, uint32_t width); /* of one element; 3 takes 4's room */
char clumpi_type_kind(clump_type type);                      /* of CLUMP_TYPE_LIST */
const char *clumpi_type_in_c(clump_type type);

/* The type of a field, for messages: "float4[3]". Returns `text`. */
#define CLUMPI_TYPE_BYTES 96
const char *clumpi_type_words(const clump_field_info *field, char text[CLUMPI_TYPE_BYTES]);

/* `bytes` of text in quotes, shortened, what is not printable as \xNN. Returns `out`. */
const char *clumpi_quote(char out[CLUMPI_QUOTE_BYTES], const char *text, size_t bytes);
const char *clumpi_quote_name(char out[CLUMPI_QUOTE_BYTES], const char *name);

/* Search for the name that was meant. Start with {.wanted = name}, offer all candidates. */
typedef struct clumpi_guess {
    const char *wanted;
    const char *best; /* NULL: nothing is near */
    uint32_t distance;
} clumpi_guess;
void clumpi_guess_offer(clumpi_guess *guess, const char *candidate);

/* `; did you mean "x"?`, or "" if nothing is near. Returns `out`. */
const char *clumpi_guess_text(const clumpi_guess *guess, char out[CLUMPI_QUOTE_BYTES]);

/* Is it an identifier of at most CLUMP_NAME_BYTES_MAX bytes? `kind`: "class", for the message. */
clump_status clumpi_name_check_shape(clump_error *error, const char *kind, const char *name,
                                     clumpi_text_place place);

/* The same, and may a class (or else a field) have that name? */
clump_status clumpi_name_check(clump_error *error, int is_class, const char *name,
                               clumpi_text_place place);

/* Are all identifiers that the classes generate different, and none of them a built-in name?
 * classes and fields are those of a schema about to be sealed. */
clump_status clumpi_names_check_generated(const clump_allocator *a, clump_error *error,
                                          const clumpi_class_entry *classes, uint32_t class_count,
                                          const clumpi_field_entry *fields);

/* Names reserved for all uses: the reason as words for a message, or NULL. */
const char *clumpi_reserved_word(const char *name);

/* Names that the compiler declares at file scope, reserved for classes and generated names. */
const char *clumpi_reserved_builtin(const char *name);

/* Is there a built-in name that begins with `prefix` and an underscore? */
int clumpi_reserved_builtin_below(const char *prefix);

/* Entry `index` of table 0 (words) or 1 (built-in names), NULL after the last. For tests. */
const char *clumpi_reserved_entry(int table, size_t index);

/* The fields of a class, then those of its bases, one after the other:
 *     for (clumpi_field_walk w = {.schema = s, .class_id = id}; clumpi_next_field(&w, &f);) */
typedef struct clumpi_field_walk {
    const clump_schema *schema;
    uint32_t class_id; /* the class, then its bases */
    uint32_t next;     /* field of it */
} clumpi_field_walk;
int clumpi_next_field(clumpi_field_walk *walk, clump_field_info *field);
/* Of these the reference fields. */
int clumpi_next_ref(clumpi_field_walk *walk, clump_field_info *field);

#endif
