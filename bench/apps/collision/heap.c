/* Bodies on the heap: host side of heap.cl. See world.h. */
#include "world.h"

#include <stdlib.h>

#include "bench/apps/objects.h"
#include "device.h"

struct world {
    bench_objects objects;
    size_t bytes;  /* of all states */
    cl_mem states; /* a collision_body of each body: the first, later those to read */
};

/* ---- Making the world ------------------------------------------------------------------------ */

static int create_objects(struct world *world, const collision_desc *desc, bench_error *error) {
    static const char *const sources[] = {"bench/apps/collision/rules.clh",
                                          "bench/apps/collision/bodies.clh", NULL};
    char options[COLLISION_OPTIONS_BYTES];
    int is_merging = desc->rules.is_merging;
    collision_write_options(&desc->rules, options);
    /* A body has 41 bytes; twice that is room for bitmaps and the rest of blocks. */
    bench_objects_desc objects = {.world = &desc->world,
                                  .schema = is_merging ? "bench/apps/collision/objects.schema"
                                                       : "bench/apps/nbody/objects.schema",
                                  .enough = (uint64_t)desc->count * 96 + (8u << 20),
                                  .file = "bench/apps/collision/heap.cl",
                                  .before = sources,
                                  .options = options,
                                  .names = collision_kernel_names,
                                  .count = collision_kernel_count(&desc->rules),
                                  .compacted = "Body"};
    return bench_objects_create(&objects, &world->objects, error);
}

static int create_bodies(struct world *world, const collision_desc *desc,
                         const collision_constants *constants, bench_error *error) {
    bench_arg args[COLLISION_ARGS];
    size_t count = collision_list_args(&desc->rules, constants, &world->states, args);
    return bench_buffer_create(&world->objects.buffers, desc->count, sizeof *desc->bodies,
                               desc->bodies, &world->states, error) ||
                   bench_objects_set(&world->objects, args, count, error) ||
                   bench_objects_do_new(&world->objects, "Body", desc->count, COLLISION_INIT, error)
               ? -1
               : 0;
}

static int create(const collision_desc *desc, const collision_constants *constants, void **self,
                  bench_error *error) {
    struct world *world = calloc(1, sizeof *world);
    if (!world) {
        return bench_error_set(error, "host memory ran out");
    }
    world->bytes = desc->count * sizeof *desc->bodies;
    if (create_objects(world, desc, error) || create_bodies(world, desc, constants, error) ||
        bench_objects_finish(world, error)) {
        bench_objects_destroy(world);
        return -1;
    }
    *self = world;
    return 0;
}

/* ---- Steps and states ------------------------------------------------------------------------ */

static int step(void *self, cl_event *events, bench_error *error) {
    bench_objects *objects = self;
    for (uint32_t kernel = COLLISION_FORCE; kernel < objects->kernel_count; kernel++) {
        if (bench_objects_do_all(objects, kernel, events ? &events[kernel - COLLISION_FORCE] : NULL,
                                 error)) {
            return -1;
        }
    }
    return 0;
}

/* Zeros first, so that only bodies that are left write theirs. */
static int read_bodies(void *self, void *bodies, bench_error *error) {
    struct world *world = self;
    bench_buffers *buffers = &world->objects.buffers;
    return bench_buffer_clear(buffers, world->states, world->bytes, error) ||
                   bench_objects_do_all(&world->objects, COLLISION_WRITE, NULL, error) ||
                   bench_buffer_read(buffers, world->states, 0, world->bytes, bodies, error)
               ? -1
               : 0;
}

const collision_ops collision_heap_ops = {
    .create = create,
    .world = {.destroy = bench_objects_destroy,
              .step = step,
              .finish = bench_objects_finish,
              .read = read_bodies,
              .get_compacting = bench_objects_get_compacting}};
