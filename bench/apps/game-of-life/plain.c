/* The world as a plain OpenCL grid: host side of plain.cl. See world.h. */
#include <stdio.h>
#include <stdlib.h>

#include "bench/apps/plain.h"
#include "world.h"

#define LOCAL_X 32u /* work-group: words of a row, rows */
#define LOCAL_Y 4u

struct world {
    bench_plain plain;
    life_rules rules;
    uint32_t cell_bytes; /* 1, or 2 for more than 256 states */
    uint32_t words;      /* of a row, without the border; 4 / cell_bytes cells each */
    size_t bytes;        /* of the grid, with the border */
    cl_mem grids[2];
    uint32_t now; /* which of them is the world; the other is that before the step */
};

/* ---- Making the world ------------------------------------------------------------------------ */

static size_t at_row(const struct world *world, size_t y) {
    return ((y + 1) * (world->words + 2u) + 1) * 4; /* in bytes */
}

static int build(struct world *world, const life_desc *desc, bench_error *error) {
    static const char *const names[] = {"grid_step"};
    char options[256];
    bench_plain_desc plain = {.world = &desc->world,
                              .file = "bench/apps/game-of-life/plain.cl",
                              .options = options,
                              .names = names,
                              .count = 1};
    snprintf(options, sizeof options,
             "-D LIFE_BORN=%u -D LIFE_SURVIVE=%u -D LIFE_STATES=%u -D CELL_BITS=%u",
             desc->rules.born, desc->rules.survive, desc->rules.states, 8 * world->cell_bytes);
    if (bench_plain_create(&plain, &world->plain, error)) {
        return -1;
    }
    uint32_t rest = desc->rules.width * world->cell_bytes % 4;
    uint32_t last = rest ? (1u << 8 * rest) - 1 : UINT32_MAX;
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
    /* Before the first step nothing lived. */
    int result =
        bench_buffer_create(&world->plain.buffers, world->bytes, 1, bytes, &world->grids[1], error);
    for (size_t y = 0; y < world->rules.height; y++) {
        const life_code *codes = desc->codes + y * world->rules.width;
        uint8_t *row = bytes + at_row(world, y);
        for (size_t x = 0; x < world->rules.width; x++) {
            for (uint32_t i = 0; i < world->cell_bytes; i++) {
                *row++ = (uint8_t)(codes[x] >> 8 * i);
            }
        }
    }
    result = result || bench_buffer_create(&world->plain.buffers, world->bytes, 1, bytes,
                                           &world->grids[0], error)
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
    world->cell_bytes = desc->rules.states > LIFE_BYTE_STATES ? 2 : 1;
    world->words = (desc->rules.width * world->cell_bytes + 3) / 4;
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

static int read_grid(struct world *world, cl_mem grid, uint8_t *bytes, life_code *codes,
                     bench_error *error) {
    if (bench_buffer_read(&world->plain.buffers, grid, 0, world->bytes, bytes, error)) {
        return -1;
    }
    for (size_t y = 0; y < world->rules.height; y++) {
        const uint8_t *row = bytes + at_row(world, y);
        for (size_t x = 0; x < world->rules.width; x++) {
            uint32_t code = 0;
            for (uint32_t i = 0; i < world->cell_bytes; i++) {
                code |= (uint32_t)*row++ << 8 * i;
            }
            codes[y * world->rules.width + x] = (life_code)code;
        }
    }
    return 0;
}

static int read_codes(void *self, void *codes, bench_error *error) {
    struct world *world = self;
    size_t cells = (size_t)world->rules.width * world->rules.height;
    uint8_t *bytes = malloc(world->bytes);
    life_code *before = world->rules.is_dynasoar_model ? malloc(cells * sizeof *before) : NULL;
    int result = !bytes || (world->rules.is_dynasoar_model && !before)
                     ? bench_error_set(error, "host memory ran out for the grid")
                     : read_grid(world, world->grids[world->now], bytes, codes, error);
    if (result == 0 && before) {
        result = read_grid(world, world->grids[world->now ^ 1], bytes, before, error);
        if (result == 0) {
            life_mark_staying(&world->rules, before, codes);
        }
    }
    free(before);
    free(bytes);
    return result;
}

const life_ops life_plain_ops = {.create = create,
                                 .world = {.destroy = bench_plain_destroy,
                                           .step = step,
                                           .finish = bench_plain_finish,
                                           .read = read_codes}};
