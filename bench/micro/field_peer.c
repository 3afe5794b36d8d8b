/* Fields in one thread of C. See field_peer.h. */
#include "field_peer.h"

#include <stdlib.h>

/* Consecutive lanes that change are a row: the number of rows, of lanes in each, and of lanes from a
 * row to the next. The first columns are one row. */
typedef struct rows {
    uint64_t count, lanes, stride;
} rows;

static rows rows_of(const field_peer *p) {
    const uint64_t touched = (uint64_t)p->touch * p->type->lanes;
    const uint64_t all = (uint64_t)p->fields * p->type->lanes;
    return p->is_aos ? (rows){p->objects, touched, all} : (rows){1, touched * p->objects, 0};
}

/* One set of functions for each type of a lane. With -O2, compilers vectorise only blocks of a
 * known size. */
#define BLOCK 64u
#define FUNCTIONS(type)                                                                            \
    static void touch_##type(type##_t *values, rows r) {                                           \
        for (uint64_t row = 0; row < r.count; row++) {                                             \
            type##_t *v = values + row * r.stride;                                                 \
            uint64_t i = 0;                                                                        \
            for (; i + BLOCK <= r.lanes; i += BLOCK)                                               \
                for (uint64_t j = i; j < i + BLOCK; j++) v[j]++;                                   \
            for (; i < r.lanes; i++) v[i]++;                                                       \
        }                                                                                          \
    }                                                                                              \
    /* Sets the lanes of a field, or returns how many differ. */                                   \
    static uint32_t lanes_##type(type##_t *values, uint32_t lanes, uint32_t value, int is_set) {   \
        uint32_t wrong = 0;                                                                        \
        for (uint32_t lane = 0; lane < lanes; lane++) {                                            \
            if (is_set) values[lane] = (type##_t)value;                                            \
            wrong += values[lane] != (type##_t)value;                                              \
        }                                                                                          \
        return wrong;                                                                              \
    }
FUNCTIONS(uint8)
FUNCTIONS(uint16)
FUNCTIONS(uint32)
FUNCTIONS(uint64)

static uint64_t visit(const field_peer *p, uint32_t rounds, int is_set) {
    const uint32_t lanes = p->type->lanes, bytes = p->type->bytes;
    uint64_t wrong = 0;
    for (uint32_t object = 0; object < p->objects; object++) {
        for (uint32_t i = 0; i < p->fields; i++) {
            const uint64_t place =
                p->is_aos ? (uint64_t)object * p->fields + i : (uint64_t)i * p->objects + object;
            void *at = (char *)p->values + place * bytes;
            const uint32_t value = object + i + (i < p->touch ? rounds : 0);
            switch (bytes / lanes) {
            case 1: wrong += lanes_uint8(at, lanes, value, is_set); break;
            case 2: wrong += lanes_uint16(at, lanes, value, is_set); break;
            case 4: wrong += lanes_uint32(at, lanes, value, is_set); break;
            default: wrong += lanes_uint64(at, lanes, value, is_set); break;
            }
        }
    }
    return wrong;
}

int field_peer_create(field_peer *peer) {
    peer->values = malloc((size_t)peer->objects * peer->fields * peer->type->bytes);
    if (!peer->values) return -1;
    visit(peer, 0, 1);
    return 0;
}

void field_peer_release(field_peer *peer) {
    free(peer->values);
    peer->values = NULL;
}

void field_peer_touch(const field_peer *peer) {
    const rows r = rows_of(peer);
    switch (peer->type->bytes / peer->type->lanes) {
    case 1: touch_uint8(peer->values, r); break;
    case 2: touch_uint16(peer->values, r); break;
    case 4: touch_uint32(peer->values, r); break;
    default: touch_uint64(peer->values, r); break;
    }
}

uint64_t field_peer_count_wrong(const field_peer *peer, uint32_t rounds) {
    return visit(peer, rounds, 0);
}
