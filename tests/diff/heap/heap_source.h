/* The kernels of a random program, written for any schema, and the operations they know.
 *
 * Only some classes can be made or looped over in kernels: compilers need long for each.
 *
 * Read first: tests/support/model.h.
 */
#ifndef HEAP_SOURCE_H
#define HEAP_SOURCE_H

#include "cl_fixture.h"
#include "model.h"

enum {
    HEAP_OP_NONE,
    HEAP_OP_NEW,  /* an object of class_id, filled with arg; gives its reference */
    HEAP_OP_FREE, /* as class_id */
    HEAP_OP_FILL, /* the fields that class_id has, with arg */
    HEAP_OP_SUM,  /* gives a checksum of these */
    HEAP_OP_LINK, /* set element of reference field to arg */
    HEAP_OP_CAST  /* gives what class tests and casts from class_id say */
};

/* Eight words, like the uint8 that the kernel takes it for. */
typedef struct heap_op {
    uint32_t kind, class_id, ref, arg, field, element, pad[2];
} heap_op;

#define HEAP_MADE_MAX 2
#define HEAP_SEEN_MAX 4

/* Classes that kernels make; that do-alls loop over; whose objects a do-all frees and breeds. */
typedef struct heap_names {
    uint32_t made[HEAP_MADE_MAX], made_count;
    uint32_t seen[HEAP_SEEN_MAX], seen_count;
    uint32_t changed;
} heap_names;

/* What HEAP_OP_SUM and HEAP_OP_CAST should give for an object seen as class `level`. */
uint32_t heap_object_sum(const model *m, const model_object *object, uint32_t level);
uint32_t heap_object_casts(const model *m, const model_object *object, uint32_t level);

/* The class as which kernels free an object: the root of its tree. */
uint32_t heap_free_view(const model *m, uint32_t class_id);

/* The kernels ops, visit, change and fresh; the caller frees the text. */
char *heap_source(const model *m, heap_names *names);

#endif
