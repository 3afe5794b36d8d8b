/* The sequential model of a heap in plain C: what a heap is supposed to hold. This is the
 * specification that random programs are compared with.
 *
 * A heap is a set of live objects. An object has a class, a tag that no other object ever has,
 * values for all fields that its class declares or inherits, and a handle: the reference by which
 * the heap under test knows it. Reference fields hold tags, 0 being null, so that graphs can be
 * compared when handles change. Two live objects never have the same handle.
 *
 * Read first: include/clump/schema.h.
 */
#ifndef MODEL_H
#define MODEL_H

#include "clump/all.h"

typedef struct model_field {
    clump_field_info info;
    uint32_t elements; /* 1 for a plain field */
    uint32_t offset;   /* of the first element among the object's values; elements lie together */
} model_field;

typedef struct model_object {
    uint32_t tag, class_id, handle;
    uint32_t place; /* in `live` */
    uint8_t *values;
} model_object;

typedef struct model {
    const clump_schema *schema; /* the caller's */
    uint32_t class_count, field_count;
    clump_class_info classes[CLUMP_CLASSES_MAX + 1]; /* by id; 0 is unused */
    uint32_t own_fields[CLUMP_CLASSES_MAX + 2];      /* fields own_fields[id] .. [id + 1] - 1 */
    uint32_t value_bytes[CLUMP_CLASSES_MAX + 1];     /* of an object's values */
    model_field *fields;
    model_object **live; /* in no order */
    uint32_t live_count, live_room;
    model_object **by_handle; /* handles below handle_limit */
    uint32_t handle_limit;
    model_object **by_tag;
    uint32_t next_tag, tag_room;
} model;

/* CONSTRUCTOR. The schema is sealed. Returns NULL without memory, as do the others. */
model *model_create(const clump_schema *schema, uint32_t handle_limit);
void model_destroy(model *m);

/* A new object with the next tag and zeros as values. NULL if the handle is bad or in use: the heap
 * gave out a slot twice. */
model_object *model_new(model *m, uint32_t class_id, uint32_t handle);
void model_free(model *m, model_object *object);

/* NULL if there is none (any more). */
model_object *model_by_handle(const model *m, uint32_t handle);
model_object *model_by_tag(const model *m, uint32_t tag);

int model_is_a(const model *m, uint32_t class_id, uint32_t base);

/* Live objects of a class and its subclasses; of exactly the class. */
uint32_t model_count(const model *m, uint32_t class_id);
uint32_t model_count_exact(const model *m, uint32_t class_id);

/* Place of an element of a field among an object's values. */
void *model_value(const model *m, const model_object *object, uint32_t field, uint32_t element);

/* ---- Values made from numbers, here and in kernels alike ------------------------------------ */

/* Component `component` of element `element` of field number `field`, for a salt. */
uint32_t model_word(uint32_t salt, uint32_t field, uint32_t element, uint32_t component);

/* Write one component of a field type, made of a word. */
void model_component(clump_type type, uint32_t word, void *place);
/* "float4", of a width of 1, 2, 3, 4, 8 or 16. */
const char *model_type_name(clump_type type, uint32_t width);
uint32_t model_component_bytes(clump_type type);

/* All fields that `level` (the object's class or a base of it) declares or inherits: values made
 * from the salt, references null. */
void model_fill(model *m, model_object *object, uint32_t level, uint32_t salt);

#endif
