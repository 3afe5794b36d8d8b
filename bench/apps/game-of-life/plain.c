/* The world as a plain OpenCL grid: host side of plain.cl. See world.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/apps/plain.h"
#include "world.h"

#define LOCAL_X 32u /* work-group: words of a row, rows */
#define LOCAL_Y 4u

struct world {
    bench_plain plain;
    life_rules rules;
    uint32_t words; /* of a row, without the border; four cells each */
    size_t bytes;   /* of the grid, with the border */
    cl_mem grids[2];
    uint32_t now; /* which of them is the world */
};

/* ---- Making the world ------------------------------------------------------------------------ */

static size_t at_row(const struct world *world, size_t y) {
    return ((y + 1) * (world->words + 2u) + 1) * 4;
}

static int build(struct world *world, const life_desc *desc, bench_error *error) {
    static const char *const names[] = {"grid_step"};
    char options[256];
    bench_plain_desc plain = {.world = &desc->world,
                              .file = "bench/apps/game-of-life/plain.cl",
                              .options = options,
                              .names = names,
                              .count = 1};
    snprintf(options, sizeof options, "-D LIFE_BORN=%u -D LIFE_SURVIVE=%u -D LIFE_STATES=%u",
             desc->rules.born, desc->rules.survive, desc->rules.states);
    if (bench_plain_create(&plain, &world->plain, error)) {
        return -1;
    }
    uint32_t rest = desc->rules.width % 4, last = rest ? (1u << 8 * rest) - 1 : UINT32_MAX;
    const bench_arg numbers[] = {{0, 2, sizeof world->words, &world->words},
                                 {0, 3, sizeof desc->rules.height, &desc->rules.height},
                                 {0, 4, sizeof last, &last}};
    return bench_plain_set(&world->plain, numbers, 3, error);
}

static int fill(struct world *world, const life_desc *desc, bench_error *error) {
    uint8_t *bytes = calloc(world->bytes, 1);
    if (!bytes) {
        return bench_error_set(error, "host memory ran out for the grid");
    }
    for (size_t y = 0; y < world->rules.height; y++) {
        memcpy(bytes + at_row(world, y), desc->codes + y * world->rules.width, world->rules.width);
    }
    /* Of the second one, only the border counts. */
    int result = bench_buffer_create(&world->plain.buffers, world->bytes, 1, bytes,
                                     &world->grids[0], error) ||
                         bench_buffer_create(&world->plain.buffers, world->bytes, 1, NULL,
                                             &world->grids[1], error)
                     ? -1
                     : 0;
    free(bytes);
    return result;
}

static int create(const life_desc *desc, void **self, bench_error *error) {
    struct world *world = calloc(1, sizeof *world);
    if (!world) {
        return bench_error_set(error, "host memory ran out");
    }
    world->rules = desc->rules;
    world->words = (desc->rules.width + 3) / 4;
    world->bytes = (size_t)(world->words + 2) * (desc->rules.height + 2) * 4;
    if (build(world, desc, error) || fill(world, desc, error)) {
        bench_plain_destroy(world);
        return -1;
    }
    *self = world;
    return 0;
}

/* ---- Steps and states ------------------------------------------------------------------------ */

static int step(void *self, cl_event *events, bench_error *error) {
    struct world *world = self;
    size_t local[2] = {LOCAL_X, LOCAL_Y};
    size_t global[2] = {(world->words + local[0] - 1) / local[0] * local[0],
                        (world->rules.height + local[1] - 1) / local[1] * local[1]};
    const bench_arg grids[] = {{0, 0, sizeof(cl_mem), &world->grids[world->now]},
                               {0, 1, sizeof(cl_mem), &world->grids[world->now ^ 1]}};
    if (bench_plain_set(&world->plain, grids, 2, error)) {
        return -1;
    }
    cl_int code = clEnqueueNDRangeKernel(world->plain.buffers.queue, world->plain.kernels[0], 2,
                                         NULL, global, local, 0, NULL, events);
    world->now ^= 1;
    return code == CL_SUCCESS ? 0 : bench_error_cl(error, "a step of the grid", code);
}

static int read_codes(void *self, void *codes, bench_error *error) {
    struct world *world = self;
    size_t from[3] = {4, 1, 0}, to[3] = {0, 0, 0};
    size_t region[3] = {world->rules.width, world->rules.height, 1};
    cl_int code = clEnqueueReadBufferRect(
        world->plain.buffers.queue, world->grids[world->now], CL_TRUE, from, to, region,
        (world->words + 2u) * (size_t)4, 0, world->rules.width, 0, codes, 0, NULL, NULL);
    return code == CL_SUCCESS ? 0 : bench_error_cl(error, "reading the grid", code);
}

const life_ops life_plain_ops = {.create = create,
                                 .world = {.destroy = bench_plain_destroy,
                                           .step = step,
                                           .finish = bench_plain_finish,
                                           .read = read_codes}};
