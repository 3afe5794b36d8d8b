/* The baselines in plain OpenCL: host side of plain.cl. See world.h. */
#include <stdio.h>
#include <stdlib.h>

#include "bench/plain.h"
#include "device.h"

/* Bytes of the fields of plain.cl, in order; the last four only if merging. */
static const size_t field_bytes[] = {4, 4, 4, 4, 4, 4, 4, 4, 4, 1, 1};
#define FIELDS_MERGING 11
#define FIELDS 7
static const size_t struct_bytes[] = {28}, struct_bytes_merging[] = {40};

struct world {
    bench_plain plain;
    uint32_t count;
    uint32_t kernel_count;
    collision_states states;
};

static int build(struct world *world, const collision_desc *desc, bench_error *error) {
    char options[64];
    bench_plain_desc plain = {.context = desc->context,
                              .device = desc->device,
                              .queue = desc->queue,
                              .file = "bench/apps/collision/plain.cl",
                              .before = collision_sources,
                              .options = options,
                              .names = collision_kernel_names,
                              .count = world->kernel_count};
    snprintf(options, sizeof options, "-DMERGING=%d -DLAYOUT_AOS=%d", desc->rules.is_merging != 0,
             desc->variant == BENCH_AOS);
    return bench_plain_create(&plain, &world->plain, error);
}

/* The count and the bodies. */
static int create_bodies(struct world *world, const collision_desc *desc, bench_error *error) {
    int is_merging = desc->rules.is_merging, is_aos = desc->variant == BENCH_AOS;
    const size_t *bytes = !is_aos ? field_bytes : is_merging ? struct_bytes_merging : struct_bytes;
    size_t fields = is_aos ? 1 : is_merging ? FIELDS_MERGING : FIELDS;
    return bench_plain_set_common(&world->plain, sizeof world->count, &world->count, error) ||
                   bench_plain_set_objects(&world->plain, world->count, bytes, fields, error)
               ? -1
               : collision_states_create(desc, &world->states, error);
}

static int set_arguments(struct world *world, const collision_constants *constants,
                         bench_error *error) {
    const bench_plain_arg all[] = {{COLLISION_INIT, 0, sizeof(cl_mem), &world->states.buffer},
                                   {COLLISION_WRITE, 0, sizeof(cl_mem), &world->states.buffer},
                                   {COLLISION_FORCE, 0, sizeof(float), &constants->softening2},
                                   {COLLISION_FORCE, 1, sizeof(float), &constants->scale},
                                   {COLLISION_UPDATE, 0, sizeof(float), &constants->kick},
                                   {COLLISION_UPDATE, 1, sizeof(float), &constants->dt},
                                   {COLLISION_FIND, 0, sizeof(float), &constants->reach2}};
    size_t count = sizeof all / sizeof *all;
    int is_merging = world->kernel_count > COLLISION_FIND; /* the kernel of the last one */
    return bench_plain_set(&world->plain, all, is_merging ? count : count - 1, error);
}

static int launch(struct world *world, uint32_t kernel, cl_event *event, bench_error *error) {
    return bench_plain_launch(&world->plain, kernel, 0, world->count, event, error);
}

static void destroy(void *self) {
    struct world *world = self;
    if (!world) {
        return;
    }
    collision_states_destroy(&world->states);
    bench_plain_release(&world->plain);
    free(world);
}

static int finish(void *self, bench_error *error) {
    return bench_plain_finish(&((struct world *)self)->plain, error);
}

static int create(const collision_desc *desc, const collision_constants *constants, void **self,
                  bench_error *error) {
    struct world *world = calloc(1, sizeof *world);
    if (!world) {
        return bench_error_set(error, "host memory ran out");
    }
    world->count = desc->count;
    world->kernel_count = collision_kernel_count(&desc->rules);
    if (build(world, desc, error) || create_bodies(world, desc, error) ||
        set_arguments(world, constants, error) || launch(world, COLLISION_INIT, NULL, error) ||
        finish(world, error)) {
        destroy(world);
        return -1;
    }
    *self = world;
    return 0;
}

static int step(void *self, cl_event *events, bench_error *error) {
    struct world *world = self;
    for (uint32_t kernel = COLLISION_FORCE; kernel < world->kernel_count; kernel++) {
        if (launch(world, kernel, events ? &events[kernel - COLLISION_FORCE] : NULL, error)) {
            return -1;
        }
    }
    return bench_plain_flush(&world->plain, error);
}

static int read_bodies(void *self, void *state, bench_error *error) {
    collision_body *bodies = state;
    struct world *world = self;
    return collision_states_clear(&world->states, error) ||
                   launch(world, COLLISION_WRITE, NULL, error) ||
                   collision_states_read(&world->states, bodies, error)
               ? -1
               : 0;
}

const collision_ops collision_plain_ops = {
    .create = create,
    .world = {.destroy = destroy, .step = step, .finish = finish, .read = read_bodies}};
