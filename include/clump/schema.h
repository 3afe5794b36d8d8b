/* A schema: the classes of a heap, their inheritance, their fields, and the places of these fields
 * in memory.
 *
 * clump_schema_parse() makes a schema from a text. A schema does not change afterwards: several
 * threads may read it.
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
 *         bool request[5] packed;       // array whose elements are adjacent, object by object
 *         float weights[*];             // array of run-time length, in raw memory
 *         uint tags[*] inline 4;        // the same, but the first 4 elements are in the object
 *         uchar names[*] max 16;        // the same, all in the object: at most 16 elements
 *         raw picture;                  // memory that the object owns: short for uchar picture[*]
 *         float4 colour;
 *     }
 *     class Egg becomes Fish { }        // kernels can change it: Egg_become_Fish(r)
 *     aos class Parcel {                // the fields that Parcel itself declares are adjacent,
 *         double weight; char tag;      // object by object, as in a C struct
 *     }
 *
 *     schema = { class } ;
 *     class  = { "abstract" | "aos" | "soa" } "class" NAME [ ":" NAME ]
 *              [ "becomes" NAME { "," NAME } ] "{" { field } "}" ;
 *     field  = ( ( TYPE | [ "weak" ] "ref" NAME ) NAME [ array ] | "raw" NAME ) ";" ;
 *     array  = "[" NUMBER "]" [ "packed" ] | "[" "*" "]" [ ( "inline" | "max" ) NUMBER [ "packed" ] ] ;
 *
 * TYPE is bool, or one of OpenCL's char uchar short ushort int uint long ulong float double, or a
 * vector of the latter (float2, uchar16, ...). A class is not both aos and soa. Classes may be used
 * before they are declared.
 *
 * Layout of a row, 64 objects: a field with stride s, step t and base b has element i of slot n at
 * byte b + n*s + i*t of the row. A soa field has s = its size. If it is an array, t = 64*size. A
 * packed array has s = count*size and t = size. In an aos class, s is the size of the struct of the
 * fields that the class itself declares. Inherited fields keep their places in the base class, and
 * therefore access through a base costs nothing. The idea is from Springer's thesis, 5.2.3.
 * docs/internals/core.md describes this layout.
 *
 * An array `a` of run-time length consists of several fields that follow each other. `a` has the
 * elements in the object, as in an array of that length, possibly none. `a_length` is the length.
 * An array without a `max` also has `a_capacity`, the number of elements that fit into its raw
 * memory, and `a_memory`, the handle of that memory. The last three are uint. A program can read
 * them by name. The calls of kernels change them (cl/api/arrays.clh, docs/guide/arrays.md). The
 * host can also write the elements and the length of an array with `max` (heap.h). Elements are not
 * weak references.
 *
 * An object of a class that `becomes` others, or of a subclass, has 4 more bytes, which belong to
 * no field: before the fields of the first class on its line of inheritance that does
 * (cl/api/become.clh, docs/guide/becoming.md).
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
#define CLUMP_FIELDS_MAX 4096        /* fields of one schema, inherited ones not counted again */
#define CLUMP_NAME_BYTES_MAX 64      /* longest name, without the terminating zero */
#define CLUMP_OBJECT_BYTES_MAX 65536 /* largest object, inherited fields included */
#define CLUMP_SCHEMA_TEXT_BYTES_MAX (1u << 20) /* longest text */
#define CLUMP_ROW_SLOTS 64                     /* objects of a row, fixed by the design */

/* A schema. */
typedef struct clump_schema clump_schema;

/* CLUMP_TYPE_..., name in schemas, type of C, and kind. Both the enumeration and the tables are
 * made from this list (docs/internals/how-to-add.md). Integers come first. The kinds are:
 *   'b'  0 or 1, uchar in kernels
 *   'i'  signed
 *   'u'  unsigned
 *   'f'  floating, where double needs CLUMP_FEATURE_FP64
 *   'r'  a clump_ref */
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

/* How many elements an array has, and where they are stored. */
typedef enum clump_array {
    CLUMP_ARRAY_FIXED = 0, /* always `count` elements, in the object. Also for fields that are not
                              arrays */
    /* any number: the first `count`, possibly 0, in the object, the others in raw memory */
    CLUMP_ARRAY_GROWING,
    CLUMP_ARRAY_BOUNDED /* 0 .. `count` elements, all in the object */
} clump_array;

/* Fields that belong to an array of run-time length, and are not declared themselves. */
typedef enum clump_array_part {
    CLUMP_PART_NONE = 0, /* a declared field */
    CLUMP_PART_LENGTH,   /* a_length */
    CLUMP_PART_CAPACITY, /* a_capacity: elements that fit into the raw memory */
    CLUMP_PART_MEMORY    /* a_memory: the handle of the raw memory, 0 for none */
} clump_array_part;

/* How the fields that a class declares are stored in a row: as an array for each field, or as a
 * struct for each object. */
typedef enum clump_class_layout { CLUMP_LAYOUT_SOA = 0, CLUMP_LAYOUT_AOS = 1 } clump_class_layout;

/* DESTRUCTOR. NULL is allowed. Heaps copy the parts that they need: a schema may be destroyed
 * before them. */
CLUMP_API void clump_schema_destroy(clump_schema *schema);

/* CONSTRUCTOR. Make a schema from a text. Ids follow the depth-first order of inheritance: the ids
 * of its subclasses follow the id of a class.
 *   text, bytes  [in]             need not be zero-terminated. Not kept
 *   allocator    [in, optional]   for the host memory of the schema. Copied
 *   schema       [out]            NULL on failure
 *   error        [out, optional]  line, column, the token found and the token expected
 * The time is linear in `bytes`.
 * Returns CLUMP_OK, CLUMP_ERR_SCHEMA, CLUMP_ERR_USAGE or CLUMP_ERR_HOST_MEMORY. */
CLUMP_API clump_status clump_schema_parse(const char *text, size_t bytes,
                                          const clump_allocator *allocator, clump_schema **schema,
                                          clump_error *error);

/* CONSTRUCTOR. Do the same from a file. Fails with CLUMP_ERR_IO if the file cannot be read. */
CLUMP_API clump_status clump_schema_parse_file(const char *path, const clump_allocator *allocator,
                                               clump_schema **schema, clump_error *error);

/* A field, and the place of its values in a row. */
typedef struct clump_field_info {
    const char *name;
    uint32_t class_id; /* the class that declares it */
    clump_type type;
    uint32_t width;     /* 1 for scalars */
    uint32_t ref_class; /* id, 0 unless type is CLUMP_TYPE_REF */
    /* 0 for a plain field, else elements of the array. For GROWING and BOUNDED: elements in the
     * object */
    uint32_t count;
    int packed;
    int weak;
    clump_array array;
    /* of the array declared last before it. NONE: a field that was declared */
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
    uint32_t field_count;  /* fields that it declares itself */
    uint32_t object_bytes; /* bytes of one object. A row needs 64 times as many */
    /* the fields that it declares itself, in the order of declaration. For inherited fields see the
     * base class */
    const clump_field_info *const *fields;
} clump_class_info;

/* Facts about a schema. Everything that it points to lives as long as the schema. */
typedef struct clump_schema_info {
    uint32_t class_count;
    /* Indexed by id, 1 .. class_count. [0] is a class without fields, whose name is "" */
    const clump_class_info *const *classes;
} clump_schema_info;

/* Return facts about the schema. The result is never NULL. For a NULL schema, class_count is 0. */
CLUMP_API const clump_schema_info *clump_schema_get_info(const clump_schema *schema);

/* Find a class by its name. Returns NULL if no class has it. */
CLUMP_API const clump_class_info *clump_schema_find_class(const clump_schema *schema,
                                                          const char *name);

/* Find a field by its name: of the class, or of its nearest base that has one. Returns NULL if none
 * has it. */
CLUMP_API const clump_field_info *clump_schema_find_field(const clump_schema *schema,
                                                          uint32_t class_id, const char *name);

#ifdef __cplusplus
}
#endif
#endif
