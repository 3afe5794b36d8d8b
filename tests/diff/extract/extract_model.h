/* A heap as the host sees it, and what extracts of it must be: their bytes, and what an insertion
 * makes of them.
 *
 * A picture has all objects, read by clump_heap_read_refs() and clump_heap_read_structs(). Its
 * objects have the numbers that they have in an extract of all of them.
 *
 * Read first: include/clump/extract.h, cl_fixture.h.
 */
#ifndef EXTRACT_MODEL_H
#define EXTRACT_MODEL_H

#include "cl_fixture.h"

typedef struct picture_class {
    clump_class_info info;
    uint32_t first, count; /* numbers of its objects */
    clump_struct_desc desc;
    clump_struct_field fields[64];
    clump_field_info infos[64]; /* its own, then those of its bases */
    uint8_t *structs;
} picture_class;

typedef struct picture {
    const cl_fixture *on;
    clump_heap *heap;
    clump_schema *schema; /* a copy of its own: names hold when the heap has another one */
    uint32_t count;
    clump_ref *refs; /* by number */
    picture_class classes[16];
    uint32_t class_count;
} picture;

picture picture_of(const cl_fixture *on, clump_heap *heap);
void picture_release(picture *p);

/* The class of an object, and its values. */
picture_class *picture_class_of(picture *p, uint32_t number);
uint8_t *picture_struct(picture *p, uint32_t number);
/* The number of a reference; UINT32_MAX: no object has it. */
uint32_t picture_find(const picture *p, clump_ref ref);
/* The same of a reference in a field, to an object of a class that the field can have. */
uint32_t picture_find_in_field(picture *p, const clump_field_info *f, clump_ref ref);
/* Place of a field in `infos`; -1: the class has none of that name. */
int picture_field(const picture_class *k, const char *name);

/* Which objects are chosen: chosen[number] is 1. All that these lead to become so, too. */
void picture_follow(picture *p, uint8_t *chosen);

/* The bytes that an extract of the chosen objects has. The caller's to free(). */
typedef struct packed {
    uint8_t *data;
    uint64_t bytes, left_out, dangling;
    uint64_t objects[16]; /* by class id - 1 */
    uint32_t count;
    uint32_t *numbers; /* of the objects in the picture, by number in the extract */
} packed;
packed picture_pack(picture *p, const uint8_t *chosen);
void packed_release(packed *k);

/* The extract has these bytes, and says so in all ways. */
void packed_compare(const cl_fixture *on, const packed *k, clump_extract *e,
                    const clump_extract_report *report);

/* All objects of `before` but the chosen ones (NULL: none are) are in `after` as they were, and
 * `more` others. References are those that they had. */
void picture_compare(picture *before, const uint8_t *chosen, picture *after, uint32_t more);

/* In `after`, the objects refs[] have the values of the packed objects of `p`, with references
 * among them. Fields are found by name. */
void picture_expect_inserted(picture *p, const packed *k, picture *after, const clump_ref *refs);

#endif
