/* Elements that the arrays of a heap's objects have in raw memory: of one array that grows, of all
 * objects of a class, one after the other.
 *
 * Read first: format.h, heap/dense.h, cl/save/elements.cl.
 */
#ifndef CLUMPI_SAVE_ARRAYS_H
#define CLUMPI_SAVE_ARRAYS_H

#include "heap/dense.h"
#include "save/format.h"

typedef struct clumpi_arrays {
    clumpi_dense *dense;
    clump_field_info array; /* of the heap's schema */
    uint32_t class_id;      /* of exactly this class */
    uint64_t objects;
    const uint32_t *outside; /* by object: elements in raw memory */
    uint32_t *own;           /* the same, if they were read here; NULL: they are the caller's */
    uint64_t object;         /* the next element is of this one, */
    uint64_t taken;          /* which has so many elements before it */
    cl_mem handles, ends;    /* of some objects; see arrays.c */
    uint32_t at_once;        /* which are so many at most */
    uint32_t *host_ends;
} clumpi_arrays;

/* CONSTRUCTOR. After a failure it is closed. outside: NULL, or stays the caller's. */
clump_status clumpi_arrays_open(clumpi_dense *d, uint32_t class_id, const clump_field_info *array,
                                const uint32_t *outside, clumpi_arrays *a);
/* DESTRUCTOR. Of one that is all zero, too. */
void clumpi_arrays_close(clumpi_arrays *a);

/* How many elements each object has. sums: NULL, or elements and capacity of all are added to it,
 * and lengths, capacities and handles are checked. Blocks. */
clump_status clumpi_arrays_measure(clumpi_arrays *a, clump_saved_array *sums);

/* Raw memory for as many elements as the objects' capacities say. CLUMP_ERR_DEVICE_MEMORY without
 * room. Blocks. */
clump_status clumpi_arrays_make(clumpi_arrays *a, const char *where);

/* The next `count` elements, which are there: into `values`, or the other way. */
clump_status clumpi_arrays_copy(clumpi_arrays *a, cl_mem values, uint32_t count, int is_read);

#endif
