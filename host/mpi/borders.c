/* Borders between domains of one dimension, which move towards those that have less to do
 * (clump/mpi.h).
 *
 * Border k, between the domains of ranks k - 1 and k, belongs where k / ranks of all work is below
 * it. Each rank knows the work below its own rows and that of all, so the two ranks of a border
 * agree to which side it moves; the rank whose rows it moves through finds the place, and tells the
 * other. Nothing is gathered: two sums of log2 P messages, and two messages to each neighbour.
 *
 * Invariant: a border moves only through rows of the two domains beside it as they were, and each
 * domain keeps `least` of its own rows, so what changes its domain goes to a neighbour.
 *
 * Read first: world.h. bench/mpi/wa_tor.c uses it.
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "mpi/world.h"

#define CALL "clump_world_move_borders"

/* To the rank below (0) and above (1), and from there. Kept if the world breaks. */
typedef struct news {
    struct side {
        uint64_t edge;  /* the row at the border, as it is */
        uint64_t room;  /* rows by which the domain may grow there */
        uint64_t place; /* the row at the border, as it shall be */
    } own[2], theirs[2];
} news;

typedef struct course {
    clump_world *world;
    const clump_borders_desc *desc;
    news *news;
    uint64_t own, below, all; /* work of this rank, of lower ranks, of all */
    int is_there[2];          /* a neighbour */
} course;

static clump_status check(clump_world *world, const clump_borders_desc *d, const uint64_t *begin,
                          const uint64_t *count) {
    if (!d->weights || !begin || !count)
        return clumpi_world_fail(world, CLUMP_ERR_USAGE,
                                 CALL " needs weights, and pointers for the results");
    if (!d->count || d->begin + d->count < d->begin)
        return clumpi_world_fail(world, CLUMP_ERR_USAGE,
                                 CALL ": rank %d has no rows, or too many: %llu from row %llu on",
                                 world->place.rank, (unsigned long long)d->count,
                                 (unsigned long long)d->begin);
    if (world->place.dimensions > 1)
        return clumpi_world_fail(world, CLUMP_ERR_UNSUPPORTED,
                                 CALL ": borders move only in a world of one dimension");
    return CLUMP_OK;
}

static int peer_of(const course *c, int side) {
    return c->world->place.rank + (side ? 1 : -1);
}

/* `bytes` of `own` to both neighbours, and of `theirs` from them. */
static clump_status tell(course *c, size_t at, size_t bytes) {
    clumpi_messages messages = {.count = 0};
    clump_world *world = c->world;
    clump_status status = CLUMP_OK;
    for (int side = 0; side < 2 && !status; side++) {
        const int tag = world->border_tags + (int)at;
        if (!c->is_there[side]) continue;
        status = clumpi_post_receive(world, &messages, (char *)&c->news->theirs[side] + at, bytes,
                                     peer_of(c, side), tag);
        if (!status)
            status = clumpi_post_send(world, &messages, (char *)&c->news->own[side] + at, bytes,
                                      peer_of(c, side), tag);
    }
    if (!status) status = clumpi_messages_wait(world, &messages, CALL);
    clumpi_messages_free(world, &messages);
    return status;
}

/* ---- Where they go --------------------------------------------------------------------------- */

static uint64_t least_of(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

/* Work that belongs below border k. */
static uint64_t wanted_below(const course *c, uint64_t k) {
    const uint64_t ranks = (uint64_t)c->world->place.size;
    return c->all / ranks * k + c->all % ranks * k / ranks;
}

/* The number of own rows below the place that is nearest to where so much work is below. */
static uint64_t nearest(const course *c, uint64_t wanted) {
    uint64_t sum = c->below;
    for (uint64_t i = 0; i < c->desc->count; i++) {
        const uint64_t next = sum + c->desc->weights[i];
        if (next >= wanted) return wanted <= sum || wanted - sum <= next - wanted ? i : i + 1;
        sum = next;
    }
    return c->desc->count;
}

/* Rows that may leave at a side. */
static uint64_t most_given(const course *c, int side) {
    const uint64_t farthest = c->desc->farthest ? c->desc->farthest : UINT64_MAX;
    return c->is_there[side] ? least_of(farthest, c->news->theirs[side].room) : 0;
}

/* The own rows that stay: from *first to *end - 1. */
static void choose(const course *c, uint64_t *first, uint64_t *end) {
    const uint64_t count = c->desc->count, k = (uint64_t)c->world->place.rank;
    const uint64_t least = least_of(c->desc->least ? c->desc->least : 1, count);
    *first = 0;
    *end = count;
    if (!c->all) return; /* nobody has work */
    const uint64_t low = nearest(c, wanted_below(c, k)), high = nearest(c, wanted_below(c, k + 1));
    *first = least_of(least_of(low, most_given(c, 0)), count - least);
    *end = count - least_of(count - high, most_given(c, 1));
    if (*end < *first + least) *end = *first + least;
}

/* Neighbours have rows that begin where the own ones end. */
static clump_status check_edges(const course *c) {
    for (int side = 0; side < 2; side++) {
        const struct side *own = &c->news->own[side], *theirs = &c->news->theirs[side];
        if (c->is_there[side] && own->edge != theirs->edge)
            return clumpi_world_fail(
                c->world, CLUMP_ERR_USAGE,
                CALL ": the rows of rank %d end at row %llu, but rank %d begins at row %llu",
                c->world->place.rank - !side, (unsigned long long)(side ? own : theirs)->edge,
                c->world->place.rank + side, (unsigned long long)(side ? theirs : own)->edge);
    }
    return CLUMP_OK;
}

static clump_status move(course *c, uint64_t *begin, uint64_t *count) {
    const clump_borders_desc *d = c->desc;
    clump_world *world = c->world;
    const uint64_t old[2] = {d->begin, d->begin + d->count};
    const uint64_t room = !d->most ? UINT64_MAX : d->most > d->count ? d->most - d->count : 0;
    uint64_t first, end, now[2];
    for (uint64_t i = 0; i < d->count; i++) c->own += d->weights[i];
    c->all = c->own;
    clump_status status = clumpi_sum_below(world, c->own, &c->below, CALL);
    if (!status) status = clump_world_reduce(world, &c->all, 1, MPI_UINT64_T, MPI_SUM);
    for (int side = 0; side < 2; side++)
        c->news->own[side] =
            (struct side){.edge = old[side], .room = side ? room - room / 2 : room / 2};
    if (!status) status = tell(c, 0, offsetof(struct side, place));
    if (status) return status;
    status = clump_world_agree(world, check_edges(c));
    if (status) return status;
    choose(c, &first, &end);
    c->news->own[0].place = d->begin + first;
    c->news->own[1].place = d->begin + end;
    status = tell(c, offsetof(struct side, place), sizeof(uint64_t));
    for (int side = 0; side < 2; side++) {
        /* One of the two lets go of rows, or none. */
        now[side] = c->news->own[side].place;
        if (c->is_there[side] && now[side] == old[side]) now[side] = c->news->theirs[side].place;
    }
    if (status) return status;
    *begin = now[0];
    *count = now[1] - now[0];
    return CLUMP_OK;
}

clump_status clump_world_move_borders(clump_world *world, const clump_borders_desc *desc,
                                      uint64_t *begin, uint64_t *count) {
    if (!world) return CLUMP_ERR_USAGE;
    clump_status status = clumpi_world_use(world);
    if (status) return status;
    clump_borders_desc own = {.size = sizeof own};
    status = CLUMPI_TAKE(clump_borders_desc, &own, desc, &world->error);
    if (!status) status = check(world, &own, begin, count);
    if (!world->has_border_tags && !status)
        status = clumpi_world_take_tags(world, &world->border_tags);
    course c = {.world = world,
                .desc = &own,
                .news = calloc(1, sizeof *c.news),
                .is_there = {world->place.rank > 0, world->place.rank + 1 < world->place.size}};
    if (!status && !c.news)
        status = clumpi_world_fail(world, CLUMP_ERR_HOST_MEMORY, "no host memory for a message");
    if (!status) world->has_border_tags = 1;
    status = clump_world_agree(world, status);
    if (!status) status = move(&c, begin, count);
    clumpi_world_free(world, c.news);
    return status;
}
