/* The inside of a schema: what is declared, what sealing makes of it, and raw access for host/.
 *
 * A clump_schema lives in two phases. Until it is sealed it holds declarations in the order of the
 * text: class_decls, field_decls, with all names in one text pool (`names`) and two hash indices
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
#include "core/memory.h"

#define CLUMPI_NONE UINT32_MAX
#define CLUMPI_QUOTE_BYTES 288 /* room for clumpi_quote() */

/* A 1-based place in a schema text. */
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

/* A class, as it is declared. */
typedef struct clumpi_class_desc {
    const char *name;          /* required; an OpenCL C identifier that is not reserved; copied */
    const char *base;          /* name of the base class, or NULL; may be added later; copied */
    int is_abstract;           /* 1: no objects of exactly this class */
    clump_class_layout layout; /* of the fields that this class declares; default soa */
} clumpi_class_desc;

/* What is declared with "becomes": objects of one class can become objects of another. */
typedef struct clumpi_become_decl {
    uint32_t class_index;    /* in class_decls */
    uint32_t name_at;        /* of the other class, in clump_schema.names */
    clumpi_text_place place; /* of that name */
} clumpi_become_decl;

/* A field, as it is declared. */
typedef struct clumpi_field_desc {
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
} clumpi_field_desc;

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

/* Objects of class `from`, and of its subclasses, can become objects of class `to`. */
typedef struct clumpi_become {
    uint32_t from, to; /* ids */
} clumpi_become;

typedef struct clumpi_class_entry {
    clump_class_info info;
    const char *base_name; /* NULL if none */
    uint32_t first_field;  /* its own fields begin there in clump_schema.fields */
    uint32_t depth;        /* number of base classes above it */
    uint32_t own_bytes;    /* object_bytes less those of the base; padding included */
    /* byte of an object where the reference to what it became is, a word of no field, which the
     * first class that becomes another has and its subclasses inherit; 0 there is one as well.
     * CLUMPI_NONE: there is none */
    uint32_t became_at;
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
    clumpi_become_decl *become_decls;
    size_t become_decl_count, become_decl_capacity;
    clumpi_index class_names; /* of class_decls, by name */
    clumpi_index field_names; /* of field_decls, by class_index and name */

    clumpi_class_entry *classes; /* NULL until sealed */
    uint32_t class_count;
    clumpi_field_entry *fields; /* NULL if there are none */
    uint32_t field_count;
    clumpi_become *becomes; /* in the order of their declaration; NULL if there are none */
    uint32_t become_count;
    clump_schema_info info; /* its list, and those of the classes, are these */
    const clump_class_info **class_list;
    const clump_field_info **field_list;
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

/* Can an object of exactly class `id` become another: has it the word for that? And can one of the
 * class or of a subclass? */
int clumpi_schema_can_become(const clump_schema *schema, uint32_t id);
int clumpi_schema_can_become_below(const clump_schema *schema, const clump_class_info *c);

/* The name of the class that declares a field: messages name both. */
const char *clumpi_schema_field_class(const clump_schema *schema, const clump_field_info *field);

/* Class `id`, and its own field `index`; NULL: there is none. */
const clump_class_info *clumpi_class_info(const clump_schema *schema, uint32_t id);
const clump_field_info *clumpi_field_info(const clump_schema *schema, uint32_t class_id,
                                          uint32_t index);

/* Copy what a look-up found. Returns 0, and copies nothing, if it found nothing. */
static inline int clumpi_take_class(const clump_class_info *found, clump_class_info *info) {
    if (found) *info = *found;
    return found != NULL;
}
static inline int clumpi_take_field(const clump_field_info *found, clump_field_info *info) {
    if (found) *info = *found;
    return found != NULL;
}

/* The entries behind these. NULL: there is none. */
const clumpi_class_entry *clumpi_schema_class(const clump_schema *schema, uint32_t id);
const clumpi_field_entry *clumpi_schema_find_field(const clump_schema *schema, uint32_t class_id,
                                                   const char *name);

/* ---- Among the schema's own files ------------------------------------------------------------ */

/* CONSTRUCTOR. An empty schema, to be declared and sealed. */
clump_status clumpi_schema_create(const clump_allocator *allocator, clump_schema **schema,
                                  clump_error *error);

/* Add a class, another that it becomes, and a field of a class that was declared; places are for
 * errors found now or at sealing. An array of run-time length counts as two or four fields. After a
 * failure the schema is as before, and schema->error has the words. */
clump_status clumpi_schema_declare_class(clump_schema *schema, const clumpi_class_desc *desc,
                                         const clumpi_class_places *places);
clump_status clumpi_schema_declare_become(clump_schema *schema, uint32_t class_index,
                                          const char *name, clumpi_text_place place);
clump_status clumpi_schema_declare_field(clump_schema *schema, uint32_t class_index,
                                         const clumpi_field_desc *desc,
                                         const clumpi_field_places *places);

/* Check the whole and compute ids, offsets and sizes. Ids are given in depth-first order of
 * inheritance, so the ids of its subclasses follow that of a class. Errors: no concrete class,
 * unknown base or referenced class, inheritance cycle, a concrete class without bytes, a class too
 * large, a field that hides an inherited one, two fields whose generated names are the same. */
clump_status clumpi_schema_seal(clump_schema *schema);

/* Index of a declared class in class_decls, or CLUMPI_NONE. */
uint32_t clumpi_schema_find_decl(const clump_schema *schema, const char *name);

/* Has it all three functions or none? NULL is the default allocator. */
int clumpi_schema_allocator_is_whole(const clump_allocator *allocator);

/* Make the lists for the info, once classes and fields are there. 0: there is no memory, and the
 * schema is as before. */
int clumpi_schema_list(clump_schema *schema);

/* Drop the declarations, once there is something better. */
void clumpi_schema_drop_decls(clump_schema *schema);

/* "float4", "bool", "ref"; static. "?" for no type. A width of 0 is 1. */
const char *clumpi_type_name(clump_type type, uint32_t width);

/* The type named so ("float4"), or 0. References are no type by name. */
int clumpi_type_from_name(const char *name, clump_type *type, uint32_t *width);
uint32_t clumpi_type_bytes(clump_type type, uint32_t width); /* of one element; 3 takes 4's room */
char clumpi_type_kind(clump_type type);                      /* of CLUMP_TYPE_LIST */
const char *clumpi_type_in_c(clump_type type);

/* The array of run-time length of which a field of a class is a part. NULL for other fields. */
const clump_field_info *clumpi_schema_array_of(const clump_schema *schema, uint32_t class_id,
                                               const clump_field_info *f);

/* The other way: a part of an array of run-time length, which has it. */
const clump_field_info *clumpi_schema_part(const clump_schema *schema,
                                           const clump_field_info *array, clump_array_part part);

/* Of a field that is the length of an array with `max`, for `count` objects: the array, if one of
 * the lengths is more than it has room for (*length), else NULL. Also NULL for other fields.
 * lengths: 32 bits each, of any alignment, from one to the next `stride` bytes. */
const clump_field_info *clumpi_schema_find_too_long(const clump_schema *schema, uint32_t class_id,
                                                    const clump_field_info *f, const void *lengths,
                                                    uint64_t stride, uint64_t count,
                                                    uint32_t *length);

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
                                          const clumpi_field_entry *fields,
                                          const clumpi_become *becomes, uint32_t become_count);

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
