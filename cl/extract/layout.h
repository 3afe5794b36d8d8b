/* What the host tells the kernels that pack objects into an extract and unpack them: which fields
 * there are, and where the buffer has them. What the kernels leave for the host.
 *
 *   work    | clumpi_pack_head | packing: a word for each granule; unpacking: for each place | tables | packing: a record of 16 bytes for
 *             each granule; unpacking: references |
 *   tables  | clumpi_pack_class each | clumpi_pack_field each | clumpi_pack_end each |
 *
 * It is one buffer, since drivers take tens of microseconds to make one. References are those of
 * objects without a place.
 *
 * Read first: cl/core/layout.h.
 */
#ifndef CLUMPI_EXTRACT_LAYOUT_H
#define CLUMPI_EXTRACT_LAYOUT_H

#include "cl/core/layout.h"

/* A class with objects, by their numbers. 32 bytes. */
typedef struct clumpi_pack_class {
    clumpi_u32 first, count; /* number of its first object; how many there are */
    clumpi_u32 begin,
        end;             /* its fields: entries begin .. end-1 of the table of clumpi_pack_field */
    clumpi_u32 class_id; /* in the heap */
    clumpi_u32 places;   /* unpacking: entry of its first place; one for each 64 objects */
    /* unpacking: so many of its objects come into whole rows; of those after them, entry of the
     * first among the references */
    clumpi_u32 sure, loose;
} clumpi_pack_class;

/* Elements of one field, or of several of equal width and in equal steps, or 16 bytes of each if
 * they are wider: element e of the object in slot s is at base + e * step + s * stride of its row,
 * modulo 2^32, and that of object n of the class at at + e * next + n * object_bytes of the buffer,
 * modulo 2^64. 64 bytes. */
typedef struct clumpi_pack_field {
    clumpi_u64 at, next;
    clumpi_u32 base, stride, step;
    clumpi_u32 object_bytes;
    clumpi_u32 count, width; /* elements; bytes of one: 1, 2, 4, 8 or 16 */
    /* of a reference, else 0: the classes that it can point to, by ids of the heap */
    clumpi_u32 first, last;
    /* unpacking: numbers of objects that it can refer to are among from .. to-1 */
    clumpi_u32 from, to;
    /* unpacking: the class that has all of these; CLUMPI_PACK_SEVERAL: there are others */
    clumpi_u32 target;
    clumpi_u32 pad;
} clumpi_pack_field;
#define CLUMPI_PACK_SEVERAL 0xffffffffu

/* What a column leaves of its last 128 bytes: zeros. 16 bytes. */
#define CLUMPI_PACK_ALIGN 128u
typedef struct clumpi_pack_end {
    clumpi_u64 at;
    clumpi_u32 bytes;
    clumpi_u32 pad;
} clumpi_pack_end;

/* What `work` has where. */
typedef struct clumpi_pack_counts {
    clumpi_u32 classes, fields, ends; /* in the tables */
    clumpi_u32 objects;
    /* bytes; packing has no references, unpacking no records */
    clumpi_u64 tables_at, records_at, refs_at;
} clumpi_pack_counts;

/* Found by kernels; zeros before. */
typedef struct clumpi_pack_head {
    /* references to objects without numbers; to none of the field's class */
    clumpi_u32 left_out, dangling;
    /* numbers that no object has; of objects of another class than the field's */
    clumpi_u32 no_object, no_member;
    clumpi_u32 unmade; /* objects that the do-news did not make, or not in whole rows */
    clumpi_u32 chosen; /* objects that were chosen */
    clumpi_u32 pad[2];
    /* packing, by class id: of the first object; then: of all */
    clumpi_u32 numbers[CLUMPI_CLASS_IDS + 8];
} clumpi_pack_head;

#endif
