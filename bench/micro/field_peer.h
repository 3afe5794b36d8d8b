/* The work of field-bandwidth in one thread of plain C: the same fields of the same objects, in
 * arrays of the same layout.
 *
 * Read first: value_type.h.
 */
#ifndef BENCH_FIELD_PEER_H
#define BENCH_FIELD_PEER_H

#include "value_type.h"

typedef struct field_peer {
    uint32_t objects, fields, touch; /* an object has `fields` fields, of which `touch` change */
    const bench_value_type *type;
    int is_aos;   /* an object's fields are together, and otherwise each field is a column */
    void *values; /* field i of an object has its number + i. NULL before create */
} field_peer;

/* Make the values. The rest of the struct is set. Returns -1 if memory is exhausted. */
int field_peer_create(field_peer *peer);
void field_peer_release(field_peer *peer);

/* Add 1 to each lane of the first `touch` fields of all objects. */
void field_peer_touch(const field_peer *peer);

/* The number of lanes that are wrong after so many calls of field_peer_touch(). */
uint64_t field_peer_count_wrong(const field_peer *peer, uint32_t rounds);

#endif
