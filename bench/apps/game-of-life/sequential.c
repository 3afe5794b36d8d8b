/* The world in sequential C, with two ways to make a step. See world.h. */
#include <stdlib.h>
#include <string.h>

#include "world.h"

/* A border of one dead cell all around, so that every cell has eight neighbours. */
struct world {
    life_rules rules;
    int is_plain;
    size_t stride;
    uint8_t *now, *next;
    uint8_t *columns, *counts; /* of a row: living cells of a column of three; of the square */
};

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
    world->stride = (size_t)rules->width + 2;
    world->now = calloc(rules->height + 2u, world->stride);
    world->next = calloc(rules->height + 2u, world->stride);
    world->columns = calloc(2, world->stride);
    if (!world->now || !world->next || !world->columns) {
        destroy(world);
        return bench_error_set(error, "host memory ran out for the sequential world");
    }
    world->counts = world->columns + world->stride;
    for (size_t y = 0; y < rules->height; y++) {
        memcpy(world->now + (y + 1) * world->stride + 1, desc->codes + y * rules->width,
               rules->width);
    }
    *self = world;
    return 0;
}

static int read_codes(void *self, void *codes, bench_error *error) {
    const struct world *world = self;
    (void)error;
    for (size_t y = 0; y < world->rules.height; y++) {
        memcpy((uint8_t *)codes + y * world->rules.width, world->now + (y + 1) * world->stride + 1,
               world->rules.width);
    }
    return 0;
}

/* Loops without branches, which compilers vectorise. `row` is the first cell behind the border;
 * the square counts the cell itself too. */
static void count_row(struct world *world, const uint8_t *row) {
    const uint8_t *above = row - world->stride, *below = row + world->stride;
    uint8_t *restrict columns = world->columns, *restrict counts = world->counts;
    ptrdiff_t width = world->rules.width;
    for (ptrdiff_t x = -1; x <= width; x++) {
        columns[x + 1] = (uint8_t)((above[x] == 1) + (row[x] == 1) + (below[x] == 1));
    }
    for (ptrdiff_t x = 0; x < width; x++) {
        counts[x] = (uint8_t)(columns[x] + columns[x + 1] + columns[x + 2]);
    }
}

/* Conway's rule: three in the square, the cell among them or not, or the cell and three others. */
static void apply_conway(const uint8_t *counts, const uint8_t *row, uint8_t *restrict next,
                         size_t width) {
    for (size_t x = 0; x < width; x++) {
        next[x] = (uint8_t)((counts[x] == 3) | ((counts[x] == 4) & row[x]));
    }
}

static void apply_rule(const life_rules *rules, const uint8_t *counts, const uint8_t *row,
                       uint8_t *next) {
    for (size_t x = 0; x < rules->width; x++) {
        next[x] = life_next_state(rules, row[x], counts[x] - (uint32_t)(row[x] == 1));
    }
}

static void step_fast(struct world *world) {
    const life_rules *rules = &world->rules;
    int is_conway =
        rules->states == 2 && rules->born == 1u << 3 && rules->survive == (1u << 2 | 1u << 3);
    for (size_t y = 1; y <= rules->height; y++) {
        const uint8_t *row = world->now + y * world->stride + 1;
        uint8_t *next = world->next + y * world->stride + 1;
        count_row(world, row);
        if (is_conway) {
            apply_conway(world->counts, row, next, rules->width);
        } else {
            apply_rule(rules, world->counts, row, next);
        }
    }
}

static void step_plain(struct world *world) {
    for (size_t y = 1; y <= world->rules.height; y++) {
        for (size_t x = 1; x <= world->rules.width; x++) {
            uint32_t neighbors = 0;
            for (size_t v = y - 1; v <= y + 1; v++) {
                for (size_t u = x - 1; u <= x + 1; u++) {
                    neighbors += (u != x || v != y) && world->now[v * world->stride + u] == 1;
                }
            }
            size_t i = y * world->stride + x;
            world->next[i] = life_next_state(&world->rules, world->now[i], neighbors);
        }
    }
}

static int step(void *self, cl_event *events, bench_error *error) {
    struct world *world = self;
    (void)events;
    (void)error;
    if (world->is_plain) {
        step_plain(world);
    } else {
        step_fast(world);
    }
    uint8_t *now = world->now;
    world->now = world->next;
    world->next = now;
    return 0;
}

const life_ops life_sequential_ops = {
    .create = create, .world = {.destroy = destroy, .step = step, .read = read_codes}};
