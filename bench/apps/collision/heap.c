/* Bodies on the heap: host side of collision.cl. See world.h. */
#include "world.h"

#include <stdlib.h>

#include "bench/heap.h"
#include "device.h"

struct world {
    clump_context *clump;
    uint32_t kernel_count;
    clump_heap *heap;
    clump_program *program;
    clump_kernel *kernels[COLLISION_KERNEL_COUNT];
    collision_states states;
    bench_compacting compacting;
};

static int fail(const struct world *world, bench_error *error, const char *what,
                clump_status status) {
    return bench_error_clump(error, what, world->clump, status);
}

static int create_heap(struct world *world, const collision_desc *desc, bench_error *error) {
    /* A body has 41 bytes; twice that is room for bitmaps and the rest of blocks. */
    uint64_t enough = (uint64_t)desc->count * 96 + (8u << 20);
    bench_heap_desc heap = {.clump = world->clump,
                            .file = desc->rules.is_merging ? "bench/apps/collision/collision.schema"
                                                           : "bench/apps/nbody/nbody.schema",
                            .bytes = desc->heap_bytes ? desc->heap_bytes : enough,
                            .block_rows = desc->block_rows};
    return bench_heap_create(&heap, &world->heap, error);
}

static int create_program(struct world *world, const collision_desc *desc, bench_error *error) {
    world->kernel_count = collision_kernel_count(&desc->rules);
    bench_program_desc program = {.clump = world->clump,
                                  .heap = world->heap,
                                  .file = "bench/apps/collision/collision.cl",
                                  .before = collision_sources,
                                  .options = desc->rules.is_merging ? "-DMERGING=1" : "-DMERGING=0",
                                  .tuning = &desc->tuning,
                                  .names = collision_kernel_names,
                                  .count = world->kernel_count};
    return bench_program_create(&program, &world->program, world->kernels, error);
}

static int set_numbers(struct world *world, int kernel, const float *numbers, uint32_t count,
                       bench_error *error) {
    for (uint32_t i = 0; i < count; i++) {
        clump_status status =
            clump_kernel_set_arg(world->kernels[kernel], i, sizeof *numbers, &numbers[i]);
        if (status != CLUMP_OK) {
            return fail(world, error, "setting an argument", status);
        }
    }
    return 0;
}

static int set_constants(struct world *world, const collision_constants *constants,
                         bench_error *error) {
    float force[] = {constants->softening2, constants->scale};
    float update[] = {constants->kick, constants->dt};
    if (set_numbers(world, COLLISION_FORCE, force, 2, error) ||
        set_numbers(world, COLLISION_UPDATE, update, 2, error)) {
        return -1;
    }
    return world->kernel_count > COLLISION_FIND
               ? set_numbers(world, COLLISION_FIND, &constants->reach2, 1, error)
               : 0;
}

static int create_bodies(struct world *world, const collision_desc *desc, bench_error *error) {
    uint64_t made = 0;
    if (collision_states_create(desc, &world->states, error)) {
        return -1;
    }
    cl_mem *buffer = &world->states.buffer;
    clump_status status =
        clump_kernel_set_arg(world->kernels[COLLISION_INIT], 0, sizeof *buffer, buffer);
    if (status == CLUMP_OK) {
        status = clump_kernel_set_arg(world->kernels[COLLISION_WRITE], 0, sizeof *buffer, buffer);
    }
    if (status == CLUMP_OK) {
        status = clump_do_new(world->heap, "Body", desc->count, world->kernels[COLLISION_INIT],
                              &made, NULL);
    }
    if (status != CLUMP_OK) {
        return fail(world, error, "making the bodies", status);
    }
    if (made != desc->count) {
        return bench_error_set(error, "the heap has room for %llu of %u bodies",
                               (unsigned long long)made, desc->count);
    }
    return 0;
}

static void destroy(void *self) {
    struct world *world = self;
    if (!world) {
        return;
    }
    collision_states_destroy(&world->states);
    for (uint32_t i = 0; i < COLLISION_KERNEL_COUNT; i++) {
        clump_kernel_destroy(world->kernels[i]);
    }
    clump_program_destroy(world->program);
    bench_compacting_destroy(&world->compacting);
    clump_heap_destroy(world->heap);
    free(world);
}

static int finish(void *self, bench_error *error) {
    struct world *world = self;
    clump_status status = clump_heap_poll(world->heap, NULL);
    return status == CLUMP_OK ? 0 : fail(world, error, "the steps so far", status);
}

static int create(const collision_desc *desc, const collision_constants *constants, void **self,
                  bench_error *error) {
    struct world *world = calloc(1, sizeof *world);
    if (!world) {
        return bench_error_set(error, "host memory ran out");
    }
    world->clump = desc->clump;
    if (create_heap(world, desc, error) || create_program(world, desc, error) ||
        set_constants(world, constants, error) ||
        bench_compacting_create(&world->compacting, world->clump, world->heap, "Body",
                                desc->compaction, error) ||
        create_bodies(world, desc, error) || finish(world, error)) {
        destroy(world);
        return -1;
    }
    *self = world;
    return 0;
}

static int step(void *self, cl_event *events, bench_error *error) {
    struct world *world = self;
    for (uint32_t kernel = COLLISION_FORCE; kernel < world->kernel_count; kernel++) {
        clump_sync sync = {.event = events ? &events[kernel - COLLISION_FORCE] : NULL};
        clump_status status = clump_do_all(world->heap, world->kernels[kernel], &sync);
        if (status != CLUMP_OK) {
            return fail(world, error, collision_kernel_names[kernel], status);
        }
    }
    return 0;
}

static int read_bodies(void *self, void *state, bench_error *error) {
    collision_body *bodies = state;
    struct world *world = self;
    if (collision_states_clear(&world->states, error)) {
        return -1;
    }
    clump_status status = clump_do_all(world->heap, world->kernels[COLLISION_WRITE], NULL);
    return status == CLUMP_OK ? collision_states_read(&world->states, bodies, error)
                              : fail(world, error, "write_bodies", status);
}

static bench_compacting *get_compacting(void *self) {
    return &((struct world *)self)->compacting;
}

const collision_ops collision_heap_ops = {.create = create,
                                          .world = {.destroy = destroy,
                                                    .step = step,
                                                    .finish = finish,
                                                    .read = read_bodies,
                                                    .get_compacting = get_compacting}};
