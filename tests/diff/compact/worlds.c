/* Worlds that tests share. Read first: worlds.h. */
#include <string.h>

#include "worlds.h"

world *opened[WORLDS_MAX];

world *world_enter(cl_fixture *f, const world_kind *kinds, int which, uint64_t seed) {
    const world_kind *kind = &kinds[which];
    if (!opened[which])
        opened[which] = world_open(f, kind->schema, kind->blocks, kind->block_rows, 0);
    opened[which]->random = seed * 1000003u + (uint64_t)which;
    return opened[which];
}

void close_worlds(int failed) {
    for (int i = 0; i < WORLDS_MAX; i++)
        if (opened[i] && !failed) world_close(opened[i]);
    memset(opened, 0, sizeof opened);
}
