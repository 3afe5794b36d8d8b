/* The world in sequential C, with two ways to make a step. See world.h. */
#include <stdlib.h>
#include <string.h>

#include "world.h"

#define LIFE_SUMS 5 /* alive, dying, candidates; made alive, made candidates */

/* A border of one dead cell all around, so that every cell has eight neighbours. Cells are bytes if
 * these hold all states, else words of 16 bits. */
struct world {
    life_rules rules;
    int is_plain, is_wide;
    size_t stride;
    void *now, *next;          /* after a step: the world, and that before the step */
    uint8_t *columns, *counts; /* of a row: living cells of a column of three; of the square */
};

#define CELL uint8_t
#define OF(name) name##_byte
#include "grid_rows.h"
#undef CELL
#undef OF
#define CELL uint16_t
#define OF(name) name##_word
#include "grid_rows.h"
#undef CELL
#undef OF

static void destroy(void *self) {
    struct world *world = self;
    free(world->now);
    free(world->next);
    free(world->columns);
    free(world);
}

static int create(const life_desc *desc, void **self, bench_error *error) {
    const life_rules *rules = &desc->rules;
    struct world *world = calloc(1, sizeof *world);
    if (!world) {
        return bench_error_set(error, "host memory ran out");
    }
    world->rules = *rules;
    world->is_plain = desc->is_plain;
    world->is_wide = rules->states > LIFE_BYTE_STATES;
    world->stride = (size_t)rules->width + 2;
    world->now = calloc(rules->height + 2u, world->stride << world->is_wide);
    world->next = calloc(rules->height + 2u, world->stride << world->is_wide);
    world->columns = calloc(3, world->stride);
    if (!world->now || !world->next || !world->columns) {
        destroy(world);
        return bench_error_set(error, "host memory ran out for the sequential world");
    }
    world->counts = world->columns + world->stride;
    if (world->is_wide) {
        fill_word(world, desc->codes);
    } else {
        fill_byte(world, desc->codes);
    }
    *self = world;
    return 0;
}

static void read_grid(const struct world *world, const void *grid, life_code *codes) {
    if (world->is_wide) {
        read_word(world, grid, codes);
    } else {
        read_byte(world, grid, codes);
    }
}

static int read_codes(void *self, void *codes, bench_error *error) {
    const struct world *world = self;
    read_grid(world, world->now, codes);
    if (!world->rules.is_dynasoar_model) {
        return 0;
    }
    life_code *before = malloc((size_t)world->rules.width * world->rules.height * sizeof *before);
    if (!before) {
        return bench_error_set(error, "host memory ran out for the world before");
    }
    read_grid(world, world->next, before);
    life_mark_staying(&world->rules, before, codes);
    free(before);
    return 0;
}

static void count(void *self, bench_tally *tally) {
    struct world *world = self;
    if (world->is_wide) {
        count_all_word(world, tally);
    } else {
        count_all_byte(world, tally);
    }
}

static int step(void *self, cl_event *events, bench_error *error) {
    struct world *world = self;
    (void)events;
    (void)error;
    if (world->is_wide) {
        (world->is_plain ? step_plain_word : step_fast_word)(world);
    } else {
        (world->is_plain ? step_plain_byte : step_fast_byte)(world);
    }
    void *now = world->now;
    world->now = world->next;
    world->next = now;
    return 0;
}

const life_ops life_sequential_ops = {
    .create = create,
    .world = {.destroy = destroy, .step = step, .read = read_codes, .count = count}};
