/* Elements that the arrays of objects have in raw memory: of one array that grows, of all objects
 * of a class in some order, one after the other. For what writes objects elsewhere and reads them
 * again, and for the host.
 *
 * Read first: dense.h, cl/heap/elements.cl.
 */
#ifndef CLUMPI_ELEMENTS_H
#define CLUMPI_ELEMENTS_H

#include "heap/dense.h"

/* A program of its own: only heaps with such arrays need it. */
#define CLUMPI_ELEMENTS_KERNELS(X)                                                                 \
    X(elements_sum) X(elements_ends) X(elements_copy) X(elements_spread)
enum { CLUMPI_ELEMENTS_KERNELS(CLUMPI_KERNEL_INDEX) };
extern const clumpi_library clumpi_elements_library;
#define CLUMPI_ELEMENTS_KERNEL(name)                                                               \
    ((clumpi_kernel_id){.library = &clumpi_elements_library, .index = CLUMPI_KERNEL_##name})

/* Length, capacity and handle of each array are in a buffer, a word for each object. */
typedef struct clumpi_array_words {
    cl_mem buffer;
    uint64_t at[CLUMP_PART_MEMORY + 1]; /* by part: byte of the first object's */
    int are_new; /* they have no memory yet, and somebody may have altered them */
} clumpi_array_words;

typedef struct clumpi_arrays {
    clump_heap *heap;
    clumpi_dense *dense; /* of all objects of the heap, which have the words of their arrays; */
    clumpi_array_words words; /* or NULL, and they are here */
    clump_field_info array;   /* of the heap's schema */
    uint32_t class_id;        /* of exactly this class */
    uint64_t objects;
    cl_mem counts;       /* cl/heap/layout.h; NULL until clumpi_arrays_measure(), as is */
    uint64_t *host_sums; /* their begin, with the sum of each part */
    uint64_t batch;      /* the next element is of an object of this one, of at_once objects, */
    uint64_t taken;      /* which has so many elements before it */
    int has_batch;       /* `lengths` and `handles` have its words */
    cl_mem lengths, handles, ends; /* of some objects; see elements.c */
    uint32_t *replaced; /* by object: the handle of its old memory if it gets new, or 0. Then those
                         * of the new memory */
    int replaces;       /* there was an array without room */
    uint32_t at_once;   /* which are so many at most */
    uint32_t *host_words; /* as many */
} clumpi_arrays;

/* CONSTRUCTORS. After a failure it is closed. The words are in all objects of the class, or in a
 * buffer, for `objects` of them. */
clump_status clumpi_arrays_open(clumpi_dense *d, uint32_t class_id, const clump_field_info *array,
                                clumpi_arrays *a);
clump_status clumpi_arrays_open_words(clump_heap *heap, uint32_t class_id,
                                      const clump_field_info *array, uint64_t objects,
                                      const clumpi_array_words *words, clumpi_arrays *a);
/* DESTRUCTOR. Of one that is all zero, too. */
void clumpi_arrays_close(clumpi_arrays *a);

/* Of all objects. */
typedef struct clumpi_array_sums {
    uint64_t elements, capacity; /* in raw memory; for which there is room there */
} clumpi_array_sums;
/* How many elements the objects have. sums: NULL, or the words are checked, and lengths and
 * capacities added up. Blocks. CLUMP_ERR_CORRUPT, of new ones CLUMP_ERR_FORMAT. */
clump_status clumpi_arrays_measure(clumpi_arrays *a, clumpi_array_sums *sums);

/* Raw memory for as many elements as the objects' capacities say. *failed: arrays for which there
 * was no room; then all of them need clumpi_fit. Blocks. */
clump_status clumpi_arrays_make(clumpi_arrays *a, clumpi_u32 *failed);

/* The next `count` elements, which are there, of `values` from its element `at` on: read from the
 * arrays, or written to them, after clumpi_arrays_measure(). Does not block. */
clump_status clumpi_arrays_copy(clumpi_arrays *a, cl_mem values, uint64_t at, uint32_t count,
                                int is_read);

/* ---- Words in a buffer, for all objects ------------------------------------------------------ */

/* Room for so many elements by object, those in the object included. An array without it gets new
 * memory, which its words then name. The heap has the old words. After a failure nothing is left of
 * it. Without room: CLUMP_ERR_DEVICE_MEMORY. where: as above. Blocks. */
clump_status clumpi_arrays_renew(clumpi_arrays *a, const uint32_t *lengths, const char *where);
/* Then, once: the caller has written the new words to the heap, and the old memory is freed; or it
 * has not, and the new one is. Blocks. */
clump_status clumpi_arrays_renewed(clumpi_arrays *a, int is_written);

/* All elements in raw memory, read from the arrays, or written to them. values: begins with 64-bit
 * offsets of the elements of each array, which lie there from byte `at` on, with those in the
 * object. */
clump_status clumpi_arrays_spread(const clumpi_arrays *a, cl_mem values, uint64_t at, int is_read);

/* For fit.c: of n objects from number `from` on, as many as are dealt with at once. */
uint32_t clumpi_arrays_next(const clumpi_arrays *a, uint64_t from);
clump_status clumpi_arrays_read_words(clumpi_arrays *a, clump_array_part part, uint64_t from,
                                      uint32_t n, uint32_t *words);
clump_status clumpi_arrays_store_handles(clumpi_arrays *a, uint64_t from, uint32_t n,
                                         const uint32_t *handles);
/* What the heap's kernels reported, which is the user's: it is read before memory is made, and set
 * again, once more if that fails. Returns `status`, with its message, or that it failed. Blocks. */
clump_status clumpi_arrays_read_reports(clump_heap *heap, clumpi_error *errors);
clump_status clumpi_arrays_set_reports(clump_heap *heap, clumpi_error *errors, clump_status status);

/* ---- fit.c: all arrays of a load or an insertion, where clumpi_arrays_make() found no room --- */

typedef struct clumpi_fit_words {
    uint32_t word; /* elements for which it needs memory; then the handle of the memory, or 0 */
    uint32_t element_bytes;
} clumpi_fit_words;

typedef struct clumpi_fit {
    clump_heap *heap;
    clumpi_fit_words *words; /* by object, array after array */
    size_t room;
    uint64_t count, given;
    int has_handles;         /* the words are handles: memory that is not given is freed */
    clumpi_fit_words *piece; /* what `buffer` has */
    cl_mem buffer;
    cl_mem gaps; /* cl/api/fit_arrays.cl */
} clumpi_fit;

/* CONSTRUCTOR and DESTRUCTOR, which is also for one that is all zero. */
clump_status clumpi_fit_open(clump_heap *heap, clumpi_fit *fit);
void clumpi_fit_close(clumpi_fit *fit);
/* Arrays give their raw memory back. Blocks. */
clump_status clumpi_fit_take(clumpi_fit *fit, clumpi_arrays *a);
/* Then memory is found for all of them. where: what has them, for messages.
 * CLUMP_ERR_DEVICE_MEMORY: some have none. Blocks. */
clump_status clumpi_fit_make(clumpi_fit *fit, const char *where);
/* Then all get it, in the same order; also after a failure. Blocks. */
clump_status clumpi_fit_give(clumpi_fit *fit, clumpi_arrays *a);

#endif
