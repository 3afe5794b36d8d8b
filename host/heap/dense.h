/* Objects of a heap by dense numbers: values of fields by number, in pieces; references as numbers,
 * and numbers as references. For what writes all objects of a heap elsewhere and reads them again,
 * whatever its size, block width and device.
 *
 * Numbers go from class to class, in the order of their ids, and within a class in the order of
 * clump_heap_read_refs(). They hold until objects are made, freed or moved. A word of a buffer has
 * a number as number + 1; 0 is null.
 *
 * Read first: refs.h, cl/heap/dense.cl.
 */
#ifndef CLUMPI_DENSE_H
#define CLUMPI_DENSE_H

#include "heap/refs.h"

/* A program of its own: only those who save, load or convert objects need it. */
#define CLUMPI_DENSE_KERNELS(X)                                                                    \
    X(dense_rows)                                                                                  \
    X(dense_numbers)                                                                               \
    X(dense_refs)                                                                                  \
    X(dense_outside)
enum { CLUMPI_DENSE_KERNELS(CLUMPI_KERNEL_INDEX) };
extern const clumpi_library clumpi_dense_library;
#define CLUMPI_DENSE_KERNEL(name)                                                                  \
    ((clumpi_kernel_id){.library = &clumpi_dense_library, .index = CLUMPI_KERNEL_##name})

typedef struct clumpi_dense {
    clump_heap *heap;
    /* by class id: number of its first object; then: of all */
    uint64_t first[CLUMP_CLASSES_MAX + 2];
    cl_mem wrong;
    cl_mem rows;  /* for references to numbers; NULL until clumpi_dense_open_rows() */
    cl_mem refs;  /* for numbers to references; NULL until clumpi_dense_open_refs() */
    cl_mem spans; /* likewise */
    clumpi_u32 span_count;
} clumpi_dense;

/* CONSTRUCTOR. Number all objects. Blocks. After a failure it is closed. */
clump_status clumpi_dense_open(clump_heap *heap, clumpi_dense *d);
/* DESTRUCTOR. Of one that is all zero, too. */
void clumpi_dense_close(clumpi_dense *d);

static inline uint64_t clumpi_dense_objects(const clumpi_dense *d) {
    return d->first[clump_schema_get_info(clumpi_heap_schema(d->heap))->class_count + 1];
}
static inline uint64_t clumpi_dense_count(const clumpi_dense *d, clumpi_u32 class_id) {
    return d->first[class_id + 1] - d->first[class_id];
}

/* What the calls below need: 4 bytes a granule; 4 bytes an object. The numbers that are to become
 * references are those of
 * `spans`, which are sorted by `from`, the first of them 0. */
clump_status clumpi_dense_open_rows(clumpi_dense *d);
clump_status clumpi_dense_open_refs(clumpi_dense *d, const clumpi_dense_span *spans,
                                    uint32_t span_count);

/* Copy a field, an array whole, of `count` objects of exactly the class, from its object number
 * `from` on, counted in the class: one after the other in `values`, when reading from byte `at` on.
 * Does not block. */
clump_status clumpi_dense_read(clumpi_dense *d, clumpi_u32 class_id, const clump_field_info *field,
                               uint64_t from, uint32_t count, cl_mem values, uint64_t at);
clump_status clumpi_dense_write(clumpi_dense *d, clumpi_u32 class_id, const clump_field_info *field,
                                uint64_t from, uint32_t count, cl_mem values);
/* The field becomes 0, and null, in all objects of the class. zeros: a buffer that begins with
 * CLUMPI_ZERO_BYTES of them. */
#define CLUMPI_ZERO_BYTES 128u /* the largest element: a double16 */
clump_status clumpi_dense_clear(clumpi_dense *d, clumpi_u32 class_id, const clump_field_info *field,
                                cl_mem zeros);

/* References in `words` from number `at` on, with their generations in a checked heap, become
 * numbers; those that name no object of the classes first .. last become null. Does not block. */
clump_status clumpi_dense_to_numbers(clumpi_dense *d, clumpi_u32 first, clumpi_u32 last,
                                     cl_mem words, uint64_t at, uint32_t count);
/* The other way. Numbers that no object has, or one of other classes, become null. Does not
 * block. */
clump_status clumpi_dense_to_refs(clumpi_dense *d, clumpi_u32 first, clumpi_u32 last, cl_mem words,
                                  uint32_t count);
/* What they nulled, since it was asked for before. Blocks. */
clump_status clumpi_dense_fetch_wrong(clumpi_dense *d, clumpi_dense_wrong *wrong);

/* `count` of the words of a registered buffer, from its number `from` on, into `words`; or the
 * other way, and then null in place of all beyond the first `given` of them. Does not block. */
clump_status clumpi_dense_read_outside(clumpi_dense *d, const clump_refs *refs, uint64_t from,
                                       uint32_t count, cl_mem words);
clump_status clumpi_dense_write_outside(clumpi_dense *d, const clump_refs *refs, uint64_t from,
                                        uint32_t count, uint32_t given, cl_mem words);

#endif
