/* A schema: the classes of a heap, their inheritance, their fields and how these lie in memory.
 *
 * A schema is made of a text, by clump_schema_parse(), and does not change any more: several
 * threads may look into it.
 *
 * The text format, by example:
 *
 *     // comments as in C
 *     abstract class Agent {            // no objects of an abstract class can be made
 *         ref Cell position;            // a reference to a Cell or to an object of a subclass
 *     }
 *     class Fish : Agent {              // single inheritance
 *         uint spawn_timer;
 *     }
 *     class Cell {
 *         ref Cell neighbors[4];        // fixed-length array: one SOA array per index
 *         ref Agent agent;
 *         weak ref Agent last;          // does not keep its object alive (collect.h)
 *         bool request[5] packed;       // array whose elements lie together, object by object
 *         float weights[*];             // array of run-time length, in raw memory
 *         uint tags[*] inline 4;        // the same, but the first 4 elements lie in the object
 *         uchar names[*] max 16;        // the same, all in the object: at most 16 elements
 *         raw picture;                  // memory that the object owns: short for uchar picture[*]
 *         float4 colour;
 *     }
 *     aos class Parcel {                // the fields that Parcel itself declares lie together,
 *         double weight; char tag;      // object by object, as in a C struct
 *     }
 *
 *     schema = { class } ;
 *     class  = { "abstract" | "aos" | "soa" } "class" NAME [ ":" NAME ] "{" { field } "}" ;
 *     field  = ( ( TYPE | [ "weak" ] "ref" NAME ) NAME [ array ] | "raw" NAME ) ";" ;
 *     array  = "[" NUMBER "]" [ "packed" ] | "[" "*" "]" [ ( "inline" | "max" ) NUMBER [ "packed" ] ] ;
 *
 * TYPE is bool or one of OpenCL's char uchar short ushort int uint long ulong float double, or a
 * vector of these (float2, uchar16, ...). Classes may be used before they are declared.
 *
 * Layout of a row, 64 objects (Springer's thesis 5.2.3 for the idea, docs/internals/core.md for
 * ours): a field with stride s, step t and base b has element i of slot n at byte b + n*s + i*t of
 * the row. A soa field
 * has s = its size and, as an array, t = 64*size; a packed array has s = count*size and t = size;
 * in an aos class s is the size of the struct of the fields that the class itself declares.
 * Inherited fields keep the places they have in the base class, so access through a base costs
 * nothing.
 *
 * An array `a` of run-time length is several fields that follow each other: `a`, the elements that
 * lie in the object, as in an array of that length, possibly none; `a_length`; and unless it has a
 * `max`, `a_capacity` and `a_memory`, the elements that there is room for in raw memory and its
 * handle. The last three are uint. A program can read them by name, and changes them by the calls
 * of kernels only (cl/api/arrays.clh, docs/guide/arrays.md). Elements are not weak references.
 *
 * Needs no OpenCL header. Read first: status.h, allocator.h. Read next: heap.h.
 */
#ifndef CLUMP_SCHEMA_H
#define CLUMP_SCHEMA_H

#include <stddef.h>
#include <stdint.h>

#include "clump/allocator.h"
#include "clump/export.h"
#include "clump/status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define CLUMP_CLASSES_MAX 250        /* classes of one schema, abstract ones included */
#define CLUMP_FIELDS_MAX 4096        /* fields of one schema, each class's own counted once */
#define CLUMP_NAME_BYTES_MAX 64      /* longest name, without the terminating zero */
#define CLUMP_OBJECT_BYTES_MAX 65536 /* largest object: the sum of its fields, inherited too */
#define CLUMP_SCHEMA_TEXT_BYTES_MAX (1u << 20) /* longest text */
#define CLUMP_ROW_SLOTS 64 /* objects of a row; a fixed property of the design */

/* A schema. */
typedef struct clump_schema clump_schema;

/* CLUMP_TYPE_..., name in schemas, type of C, and kind: 'b' 0 or 1, uchar in kernels; 'i' signed,
 * 'u' unsigned; 'f' floating, where double needs CLUMP_FEATURE_FP64; 'r' a clump_ref. Integers come
 * first. The one list from which enum and tables are made (docs/internals/how-to-add.md). */
#define CLUMP_TYPE_LIST(X)                                                                         \
    X(BOOL, "bool", uint8_t, 'b')                                                                  \
    X(CHAR, "char", int8_t, 'i')                                                                   \
    X(UCHAR, "uchar", uint8_t, 'u')                                                                \
    X(SHORT, "short", int16_t, 'i')                                                                \
    X(USHORT, "ushort", uint16_t, 'u')                                                             \
    X(INT, "int", int32_t, 'i')                                                                    \
    X(UINT, "uint", uint32_t, 'u')                                                                 \
    X(LONG, "long", int64_t, 'i')                                                                  \
    X(ULONG, "ulong", uint64_t, 'u')                                                               \
    X(FLOAT, "float", float, 'f')                                                                  \
    X(DOUBLE, "double", double, 'f')                                                               \
    X(REF, "ref", uint32_t, 'r')

/* Element types of fields. Vector types combine a scalar with a width of 2, 3, 4, 8 or 16. */
typedef enum clump_type {
#define CLUMP_TYPE_ENUM(id, name, c_type, kind) CLUMP_TYPE_##id,
    CLUMP_TYPE_LIST(CLUMP_TYPE_ENUM)
#undef CLUMP_TYPE_ENUM
} clump_type;

/* How many elements an array has, and where they lie. */
typedef enum clump_array {
    CLUMP_ARRAY_FIXED = 0, /* `count` elements, always, in the object. Or no array */
    /* any number: the first `count`, possibly 0, in the object, the others in raw memory */
    CLUMP_ARRAY_GROWING,
    CLUMP_ARRAY_BOUNDED /* 0 .. `count` elements, all in the object */
} clump_array;

/* A field that belongs to an array of run-time length, and was not declared by itself. */
typedef enum clump_array_part {
    CLUMP_PART_NONE = 0, /* it is none */
    CLUMP_PART_LENGTH,   /* a_length */
    CLUMP_PART_CAPACITY, /* a_capacity: elements that the raw memory has room for */
    CLUMP_PART_MEMORY    /* a_memory: the handle of the raw memory, 0: there is none */
} clump_array_part;

/* How the fields that a class declares lie in a row: an array for each field, or a struct for each
 * object. */
typedef enum clump_class_layout { CLUMP_LAYOUT_SOA = 0, CLUMP_LAYOUT_AOS = 1 } clump_class_layout;

/* DESTRUCTOR. NULL is allowed. Heaps keep what they need: a schema may go before them. */
CLUMP_API void clump_schema_destroy(clump_schema *schema);

/* CONSTRUCTOR. Make a schema of a text. Ids are given in depth-first order of inheritance, so the
 * ids of its subclasses follow that of a class.
 *   text, bytes  [in]             need not be zero-terminated; not kept
 *   allocator    [in, optional]   for the host's memory of the schema; copied
 *   schema       [out]            NULL on failure
 *   error        [out, optional]  line, column, the token found and what was expected
 * Returns CLUMP_OK; CLUMP_ERR_SCHEMA; CLUMP_ERR_USAGE; CLUMP_ERR_HOST_MEMORY. Time is linear in
 * `bytes`. */
CLUMP_API clump_status clump_schema_parse(const char *text, size_t bytes,
                                          const clump_allocator *allocator, clump_schema **schema,
                                          clump_error *error);

/* CONSTRUCTOR. The same from a file. CLUMP_ERR_IO if it cannot be read. */
CLUMP_API clump_status clump_schema_parse_file(const char *path, const clump_allocator *allocator,
                                               clump_schema **schema, clump_error *error);

/* A field, and where its values lie in a row. */
typedef struct clump_field_info {
    const char *name;
    uint32_t class_id; /* the class that declares it */
    clump_type type;
    uint32_t width;     /* 1 for scalars */
    uint32_t ref_class; /* id, 0 unless type is CLUMP_TYPE_REF */
    /* 0 for a plain field, else elements of the array. GROWING, BOUNDED: those in the object */
    uint32_t count;
    int packed;
    int weak;
    clump_array array;
    /* of the array declared last before it; NONE: a field that was declared */
    clump_array_part part;
    uint32_t element_bytes;
    uint32_t base_bytes; /* b, s and t of the layout formula above, in bytes */
    uint32_t stride_bytes;
    uint32_t step_bytes;   /* 0 for a plain field */
    const char *type_name; /* with the width: "float4", "bool", "ref" */
} clump_field_info;

/* A class. */
typedef struct clump_class_info {
    const char *name;
    uint32_t id;   /* 1 .. class_count */
    uint32_t base; /* id of the base class, 0 if none */
    uint32_t last; /* ids id .. last are the class and all its subclasses */
    int is_abstract;
    clump_class_layout layout;
    uint32_t field_count;  /* own fields */
    uint32_t object_bytes; /* bytes of one object; a row takes 64 times as many */
    /* the fields that it declares itself, in the order of declaration; inherited ones are those of
     * the base class */
    const clump_field_info *const *fields;
} clump_class_info;

/* What is known of a schema. All that it leads to lives as long as the schema. */
typedef struct clump_schema_info {
    uint32_t class_count;
    /* By id, 1 .. class_count. [0] stands for no class: its name is "", and all else is 0 */
    const clump_class_info *const *classes;
} clump_schema_info;

/* What is known of it. Not NULL; of NULL, no classes. */
CLUMP_API const clump_schema_info *clump_schema_get_info(const clump_schema *schema);

/* A class by name. NULL: there is none. */
CLUMP_API const clump_class_info *clump_schema_find_class(const clump_schema *schema,
                                                          const char *name);

/* A field by name: of the class, or of the nearest of its bases. NULL: there is none. */
CLUMP_API const clump_field_info *clump_schema_find_field(const clump_schema *schema,
                                                          uint32_t class_id, const char *name);

#ifdef __cplusplus
}
#endif
#endif
