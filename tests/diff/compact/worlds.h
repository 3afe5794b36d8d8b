/* The worlds (compact_core.h) that the tests of a program share: of several kinds, each made at its
 * first use. Read first: compact_core.h. */
#ifndef WORLDS_H
#define WORLDS_H

#include "compact_core.h"

#define WORLDS_MAX 8

/* What is being tried, for messages. */
#define LABEL(w, ...) snprintf((w)->label, sizeof(w)->label, __VA_ARGS__)

typedef struct world_kind {
    const char *name, *schema;
    uint32_t blocks, block_rows;
} world_kind;

static world *opened[WORLDS_MAX];

/* World `which`; its random numbers start anew. */
static world *world_enter(cl_fixture *f, const world_kind *kinds, int which, uint64_t seed) {
    const world_kind *kind = &kinds[which];
    if (!opened[which])
        opened[which] = world_open(f, kind->schema, kind->blocks, kind->block_rows, 0);
    opened[which]->random = seed * 1000003u + (uint64_t)which;
    return opened[which];
}

static void close_worlds(void) {
    for (int i = 0; i < WORLDS_MAX; i++)
        if (opened[i]) world_close(opened[i]);
    memset(opened, 0, sizeof opened);
}

#endif
