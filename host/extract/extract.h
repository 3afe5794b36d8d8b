/* Extracts: extract.c is the buffer and what tells what is in it, take.c takes objects out of a
 * heap, insert.c makes them in one, migrate.c does both, load.c makes one of a saved heap, pack.c
 * launches what copies objects, arrays.c brings arrays that grow along.
 *
 * May use: core, schema, heap, of collect what follows references and frees chosen objects, and of
 * save what reads without a device, and its pinned memory (save/staging.h).
 *
 * Invariant: schema, numbers of objects and of elements tell where each column is. Between two
 * calls nothing is enqueued that uses an extract, so it needs no order of queues (core/queue.c).
 *
 * Read first: include/clump/extract.h, collect/collect.h.
 */
#ifndef CLUMPI_EXTRACT_H
#define CLUMPI_EXTRACT_H

#include "cl/extract/layout.h"
#include "clump/extract.h"
#include "collect/collect.h"
#include "heap/elements.h"

/* A program of its own: only those who take objects out, or put back what they began to insert,
 * need it. */
#define CLUMPI_EXTRACT_KERNELS(X)                                                                  \
    X(choose_refs)                                                                                 \
    X(choose_classes)                                                                              \
    X(choose_where)
enum { CLUMPI_EXTRACT_KERNELS(CLUMPI_KERNEL_INDEX) };
extern const clumpi_library clumpi_extract_library;
#define CLUMPI_EXTRACT_KERNEL(name)                                                                \
    ((clumpi_kernel_id){.library = &clumpi_extract_library, .index = CLUMPI_KERNEL_##name})

/* Another one: what copies objects, whichever were chosen. */
#define CLUMPI_PACK_KERNELS(X)                                                                     \
    X(pack_rows)                                                                                   \
    X(pack_objects)                                                                                \
    X(pack_elements)                                                                               \
    X(pack_made)                                                                                   \
    X(unpack_objects)                                                                              \
    X(unpack_elements)
enum { CLUMPI_PACK_KERNELS(CLUMPI_KERNEL_INDEX) };
extern const clumpi_library clumpi_pack_library;
#define CLUMPI_PACK_KERNEL(name)                                                                   \
    ((clumpi_kernel_id){.library = &clumpi_pack_library, .index = CLUMPI_KERNEL_##name})

#define CLUMPI_COLUMN_ALIGN                                                                        \
    CLUMPI_PACK_ALIGN /* bytes; the largest element is as large: a double16 */
#define CLUMPI_EXTRACT_OBJECTS_MOST (UINT64_C(0xffffffff) - 64) /* numbers plus 1 have 32 bits */
#define CLUMPI_EXTRACT_ELEMENTS_MOST (UINT64_C(1) << 36)        /* of an array: bytes of a heap */

struct clump_extract {
    clump_context *context;
    clump_schema *schema;                    /* own copy */
    uint64_t objects[CLUMP_CLASSES_MAX + 1]; /* by class id; 0: of all */
    uint64_t *elements; /* of each array that grows, in the order of the columns; NULL: none */
    uint32_t array_count;
    int has_words; /* 1: its columns are only length, capacity and handle of these (arrays.c) */
    clump_extract_info info; /* of the members above; its buffer and refs are its own */
    const clump_extract_column **column_list; /* of the info */
    clump_extract_column *columns;
};

/* The columns one after the other:  for (clumpi_column_walk w = {0}; clumpi_next_column(e, &w);) */
typedef struct clumpi_column_walk {
    clump_class_info class_info; /* of the objects */
    clump_field_info field;      /* of that class or of a base */
    clump_extract_column column;
    /* NULL, or the field is the length or the capacity of this array, which grows, or in place of
     * its handle there are elements of it */
    const clump_field_info *array;
    uint32_t array_number; /* of that: in clump_extract.elements */
    uint32_t arrays;       /* private: whose handles have come */
    uint32_t owner,
        next; /* class that declares the next field; its number there. owner 0: the next class */
} clumpi_column_walk;
int clumpi_next_column(const clump_extract *e, clumpi_column_walk *walk);

/* CONSTRUCTOR. Copy the schema. It has neither objects nor a buffer yet. */
clump_status clumpi_extract_create(clump_context *c, const clump_schema *schema,
                                   clump_extract **extract);
/* Numbers of objects, by class id less 1. `elements` are all 0. CLUMP_ERR_HOST_MEMORY. */
clump_status clumpi_extract_set_objects(clump_extract *e, const uint64_t *objects);
/* Then, with the right `elements`: the columns. CLUMP_ERR_HOST_MEMORY. */
clump_status clumpi_extract_set_columns(clump_extract *e);
/* Its buffer: a new one, or `given`, which is retained. Its contents are undefined. Does not block.
 * CLUMP_ERR_TOO_SMALL: `given` is too small. */
clump_status clumpi_extract_open(clump_extract *e, cl_mem given);

/* ---- pack.c ---- */

/* One call. All zero but for the heap, the extract, and for unpacking class_of and sure. */
typedef struct clumpi_pack {
    clump_heap *heap;
    const clump_extract *extract;
    const uint32_t *class_of; /* by class id of the extract: that of the heap; NULL: the same */
    const uint32_t *sure;     /* likewise: objects that come into whole rows of free blocks */
    clumpi_pack_counts counts;
    clumpi_u32 places, loose; /* of all classes; objects beyond the sure ones */
    cl_mem work; /* cl/extract/layout.h; its references, from counts.refs_at on, are plain */
    uint64_t work_bytes;
    clumpi_pack_class made[CLUMP_CLASSES_MAX + 1]; /* likewise, by class id of the extract */
    clumpi_pack_field *element_refs; /* of each array: references that it has; NULL: no arrays */
} clumpi_pack;
/* DESTRUCTOR. Of one that is all zero, too. */
void clumpi_pack_close(clumpi_pack *p);
/* What kernels have found. Blocks. */
clump_status clumpi_pack_fetch(clumpi_pack *p, clumpi_pack_head *head);

/* Number the chosen objects (collect/collect.h). `extract` is not needed yet. Does not block. */
clump_status clumpi_pack_rank(clumpi_pack *p, cl_mem chosen);
/* The numbers: head->numbers. Blocks. */
clump_status clumpi_pack_ranked(clumpi_pack *p, clumpi_pack_head *head);
/* Write the tables: `extract` is there. May be done again with one that has fewer columns of the
 * same objects. Blocks. */
clump_status clumpi_pack_open(clumpi_pack *p);
/* Fill the buffer of the extract, and its references if it is to have them, of the objects that are
 * ranked, and chosen. Does not block. */
clump_status clumpi_pack_objects(clumpi_pack *p, cl_mem chosen);

/* `count` references in the extract, from its word `at` on, which are elements of array `number`,
 * become numbers. Does not block. */
clump_status clumpi_pack_elements(clumpi_pack *p, uint32_t number, uint64_t at, uint32_t count);

/* Tables and memory for objects that are to be made of an extract. Blocks. */
clump_status clumpi_unpack_open(clumpi_pack *p);
/* After a do-new of the objects of class `id` of the extract: where they are; null for those that
 * it did not make. chosen: NULL, or gets their bits. May be done again. Does not block. */
clump_status clumpi_unpack_made(clumpi_pack *p, uint32_t id, cl_mem chosen);
/* All values of all objects, unless some were not made. Does not block. */
clump_status clumpi_unpack_objects(clumpi_pack *p);
/* The other way, into `refs`. Does not block. */
clump_status clumpi_unpack_elements(clumpi_pack *p, uint32_t number, uint64_t at, uint32_t count,
                                    cl_mem refs);

/* ---- arrays.c: nothing of it is needed without arrays that grow (array_count) ---- */

/* Of the chosen objects, which are ranked: `elements` of the extract, which has no columns yet.
 * *words, which the caller destroys, is what the next call needs, also after a failure. Blocks. */
clump_status clumpi_arrays_pack_words(clumpi_pack *p, cl_mem chosen, clump_extract *e,
                                      clump_extract **words);
/* Into the extract, whose objects are packed. Blocks. */
clump_status clumpi_arrays_pack(clumpi_pack *p, const clump_extract *words);
/* Are lengths and capacities of the extract right? *words: as above. Blocks. */
clump_status clumpi_arrays_check(clumpi_pack *p, clump_extract **words);
/* Raw memory and elements of objects that are made, whose arrays have none. After a failure they
 * may have some. Blocks. */
clump_status clumpi_arrays_unpack(clumpi_pack *p, const clump_extract *words);

/* ---- For take.c and insert.c ---- */

/* Can `buffer` have `count` references from byte `at` on? Words of a failure name the call. */
clump_status clumpi_check_ref_buffer(clump_context *c, const char *call, cl_mem buffer, uint64_t at,
                                     uint64_t count);

/* What clump_heap_extract() does. chosen: NULL, or gets the bits of the objects
 * (collect/collect.h), which are not freed then; the caller's, also after a failure. */
clump_status clumpi_take(clump_heap *heap, const clump_extract_desc *desc, clump_extract **extract,
                         clump_extract_report *report, cl_mem *chosen);

/* Free objects that were just made, by `count` references from number `at` of a buffer on. */
clump_status clumpi_free_refs(clump_heap *heap, cl_mem refs, uint64_t at, uint64_t count);

#endif
