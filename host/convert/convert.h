/* A heap gets another schema (clump/convert.h): convert.c is the call, objects.c makes the objects
 * in the new memory, elements.c the arrays that grow, outside.c changes what refers to them from
 * outside.
 *
 * May use: core, schema, heap.
 *
 * Invariant: until clumpi_converted_swap() the old heap is as it was, but for registered references
 * while outside.c changes them, which it can take back.
 *
 * Read first: heap/elements.h, heap/match.h, cl/convert/convert.cl.
 */
#ifndef CLUMPI_CONVERT_H
#define CLUMPI_CONVERT_H

#include "cl/convert/layout.h"
#include "clump/convert.h"
#include "heap/checked.h"
#include "heap/elements.h"
#include "heap/match.h"
#include "heap/refs.h"

#define CLUMPI_CONVERT_KERNELS(X)                                                                  \
    X(convert_places)                                                                              \
    X(convert_objects)                                                                             \
    X(convert_elements)                                                                            \
    X(convert_outside)                                                                             \
    X(convert_commit)
enum { CLUMPI_CONVERT_KERNELS(CLUMPI_KERNEL_INDEX) };
extern const clumpi_library clumpi_convert_library;
#define CLUMPI_CONVERT_KERNEL(name)                                                                \
    ((clumpi_kernel_id){.library = &clumpi_convert_library, .index = CLUMPI_KERNEL_##name})

/* What refers to objects from outside: a registered buffer, or that of the handles. */
typedef struct clumpi_outside {
    const clump_refs *refs;
    uint64_t count;      /* references in use */
    cl_mem were, become; /* `count` words; NULL: there are none */
} clumpi_outside;

typedef struct clumpi_conversion {
    clump_heap *heap, *next; /* as it is; the same heap in its new memory, until the end */
    clumpi_match match;
    uint64_t objects[CLUMP_CLASSES_MAX + 1]; /* by class id of heap */
    clumpi_dense dense;                      /* numbers of the objects in `heap` */
    cl_mem classes, fields, wrong, places;   /* of the kernels */
    clumpi_convert_field *field_list;        /* what is in `fields` */
    uint32_t *class_list;                    /* of each: class id in `heap` */
    clump_field_info *info_list;             /* and the field in the new schema */
    uint32_t field_count;
    size_t field_room, class_room, info_room;
    clumpi_outside *outside;
    uint32_t outside_count, changed; /* `changed`: of these have their new references */
    clump_convert_report report;
} clumpi_conversion;

/* ---- objects.c ---- */

/* Make all objects in `next`, with their values. Blocks. */
clump_status clumpi_convert_fill(clumpi_conversion *v);
/* Launch one of the kernels that begin with both heaps, classes and places. */
#define CLUMPI_CONVERT_ARGS 7u
clump_status clumpi_convert_run(clumpi_conversion *v, clumpi_kernel_id id, const clumpi_arg *args,
                                uint32_t arg_count);

/* ---- elements.c ---- */

/* The arrays of all objects of `next`, which have the lengths and capacities of those that they
 * were, get raw memory and elements. Nothing for a heap without arrays that grow. Blocks. */
clump_status clumpi_convert_elements(clumpi_conversion *v);

/* ---- outside.c ---- */

/* Find what all references outside become. Changes none of them. Blocks. */
clump_status clumpi_outside_prepare(clumpi_conversion *v);
/* They become it; after a failure they are what they were. Blocks. */
clump_status clumpi_outside_change(clumpi_conversion *v);
void clumpi_outside_take_back(clumpi_conversion *v);
void clumpi_outside_close(clumpi_conversion *v);

#endif
