/* The worlds (world.h) that the tests of a program share: of several kinds, each made at its first
 * use. Read first: world.h. */
#ifndef WORLDS_H
#define WORLDS_H

#include <stdio.h>

#include "world.h"

#define WORLDS_MAX 8

/* What is being tried, for messages. */
#define LABEL(w, ...) snprintf((w)->label, sizeof(w)->label, __VA_ARGS__)

typedef struct world_kind {
    const char *name, *schema;
    uint32_t blocks, block_rows;
} world_kind;

extern world *opened[WORLDS_MAX];

/* World `which`; its random numbers start anew. */
world *world_enter(cl_fixture *f, const world_kind *kinds, int which, uint64_t seed);

/* Close all; if a test failed, only forget them, since it left things behind that use them. */
void close_worlds(int failed);

#endif
