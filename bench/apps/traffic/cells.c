/* What the two models of the variant clump share. See cells.h. */
#include "cells.h"

#include <stdlib.h>

static int create_objects(traffic_cells *world, const traffic_model *model,
                          const traffic_desc *desc, bench_error *error) {
    static const char *const before[] = {"bench/apps/traffic/rules.clh",
                                         "bench/apps/traffic/cells.clh", NULL};
    /* The constant is for small worlds, whose few blocks are mostly empty. */
    bench_objects_desc objects = {
        .world = &desc->world,
        .schema = model->schema,
        .schema_text = model->schema_text,
        .enough = (uint64_t)world->network->cell_count * model->bytes_per_cell + (16u << 20),
        .file = model->file,
        .before = before,
        .options = model->options,
        .uses_random123 = 1,
        .names = model->names,
        .count = model->count,
        .compacted = "Car"};
    return bench_objects_create(&objects, &world->objects, error);
}

int traffic_cells_create(const traffic_model *model, const traffic_desc *desc, void **self,
                         bench_error *error) {
    traffic_cells *world = calloc(1, sizeof *world);
    if (!world) {
        return bench_error_set(error, "host memory ran out");
    }
    world->network = desc->network;
    world->write = model->write;
    if (create_objects(world, model, desc, error) || model->populate(world, error)) {
        bench_objects_destroy(world);
        return -1;
    }
    *self = world;
    return 0;
}

int traffic_cells_read(void *self, void *codes, bench_error *error) {
    traffic_cells *world = self;
    size_t bytes = world->network->cell_count * sizeof(uint32_t);
    return bench_objects_do_all(&world->objects, world->write, NULL, error) ||
                   bench_buffer_read(&world->objects.buffers, world->codes, 0, bytes, codes, error)
               ? -1
               : 0;
}

int traffic_cells_upload(traffic_cells *world, const traffic_array *arrays, unsigned count,
                         cl_mem *buffers, bench_error *error) {
    bench_buffers *all = &world->objects.buffers;
    int result =
        bench_buffer_create(all, world->network->cell_count, 4, NULL, &world->codes, error);
    for (unsigned i = 0; i < count && result == 0; i++) {
        result = bench_buffer_create(all, arrays[i].count, arrays[i].bytes, arrays[i].data,
                                     &buffers[i], error);
    }
    return result;
}

void traffic_cells_drop(traffic_cells *world, const cl_mem *buffers, unsigned count) {
    for (unsigned i = 0; i < count; i++) {
        bench_buffer_drop(&world->objects.buffers, buffers[i]);
    }
}
