/* What the host tells the kernels of a conversion: which class becomes which, and what each field
 * is copied from.
 *
 * Read first: cl/core/layout.h.
 */
#ifndef CLUMPI_CONVERT_LAYOUT_H
#define CLUMPI_CONVERT_LAYOUT_H

#include "cl/core/layout.h"

/* By class id of the old heap. 16 bytes. */
typedef struct clumpi_convert_class {
    clumpi_u32 to;    /* class id in the new heap; 0: there are no objects of it */
    clumpi_u32 first; /* number of its first object, of all in the old heap */
    clumpi_u32 begin,
        end; /* its fields: entries begin .. end-1 of the table of clumpi_convert_field */
} clumpi_convert_class;

/* A field of the new class, or 16 bytes of each element if that is wider: element e of slot s is at
 * base + e * step + s * stride of a row, here and there. 64 bytes. */
typedef struct clumpi_convert_field {
    clumpi_u32 from_base, from_stride, from_step; /* in rows of the old heap */
    clumpi_u32 to_base, to_stride, to_step;       /* in those of the new one */
    clumpi_u32 count, width;                      /* elements; bytes of one: 1, 2, 4, 8 or 16 */
    clumpi_u32 is_new;                            /* 1: it becomes 0 */
    clumpi_u32 from_first,
        /* of a reference, else 0: the classes that it could point to, by ids of the old heap */
        from_last;
    clumpi_u32 to_first, to_last; /* that it can point to, by ids of the new one */
    clumpi_u32 pad[3];
} clumpi_convert_field;

/* What was found in a field: 8 bytes. */
typedef struct clumpi_convert_wrong {
    clumpi_u32 dangling; /* references that named no live object of the field's class */
    clumpi_u32 strange;  /* those to objects that the field cannot point to in the new heap */
} clumpi_convert_wrong;

#endif
