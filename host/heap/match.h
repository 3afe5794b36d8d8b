/* Classes and fields of one schema, found in another by name: what saved objects become in a heap
 * (host/save/load.c), and those of a heap in a new schema (host/convert). Both take the same,
 * refuse the same, and say so in the same words.
 *
 * Read first: access.h.
 */
#ifndef CLUMPI_MATCH_H
#define CLUMPI_MATCH_H

#include "heap/access.h"

typedef struct clumpi_match {
    clump_error *error;
    const clump_schema *from, *to; /* the objects are of `from`, and become objects of `to` */
    const uint64_t *objects;       /* by class id of `from`: of exactly this class */
    const char *where;             /* has the objects, for messages: "bodies.clump" */
    const char *into;              /* likewise for `to`: "the heap's schema" */
    /* What clumpi_match_schemas() finds. */
    uint32_t class_of[CLUMP_CLASSES_MAX + 1]; /* by class id of `from`: that of `to`; 0: none */
    uint32_t fields_lost, fields_gained; /* of classes with objects; an inherited one counts once */
} clumpi_match;

/* Fill in class_of, and count fields, if each object and each of its fields has a place in `to`, or
 * may be left out. Returns CLUMP_OK; CLUMP_ERR_SCHEMA, with the name of the class or field. */
clump_status clumpi_match_schemas(clumpi_match *m);

/* The field of `to` for one of a class of `from`, inherited ones included. *is_there 0: `to` lacks
 * it. */
clump_status clumpi_match_field(const clumpi_match *m, uint32_t class_id,
                                const clump_field_info *theirs, clump_field_info *ours,
                                int *is_there);

/* The fields of `to` that a class of `from` lacks, one after the other: begin with a walk over
 * `to`, from class_of[class_id] on. */
int clumpi_match_next_gained(const clumpi_match *m, uint32_t class_id, clumpi_field_walk *walk,
                             clump_field_info *ours);

/* CLUMP_OK if a heap without objects, of the schema `to`, has room for all objects; else
 * CLUMP_ERR_DEVICE_MEMORY, with what is needed. */
clump_status clumpi_match_room(const clumpi_match *m, const clump_heap *heap);

/* Words for `count` references of a field of a class of `from` whose objects are not of the class
 * that `ours` refers to. */
clump_status clumpi_match_fail_members(const clumpi_match *m, uint32_t class_id,
                                       const clump_field_info *ours, uint64_t count);

#endif
