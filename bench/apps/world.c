/* The calls of any world. See world.h. */
#include "world.h"

#include <inttypes.h>

void bench_world_destroy(bench_world *world) {
    if (world->ops) {
        world->ops->destroy(world->self);
    }
    *world = (bench_world){NULL, NULL};
}

static bench_compacting *find_compacting(const bench_world *world) {
    return world->ops->get_compacting ? world->ops->get_compacting(world->self) : NULL;
}

int bench_world_step(const bench_world *world, bench_error *error) {
    if (world->ops->step(world->self, NULL, error)) {
        return -1;
    }
    bench_compacting *compacting = find_compacting(world);
    return compacting ? bench_compacting_tick(compacting, error) : 0;
}

int bench_world_finish(const bench_world *world, bench_error *error) {
    return world->ops->finish ? world->ops->finish(world->self, error) : 0;
}

int bench_world_read(const bench_world *world, void *state, bench_error *error) {
    return bench_world_finish(world, error) || world->ops->read(world->self, state, error) ? -1 : 0;
}

clump_heap *bench_world_heap(const bench_world *world) {
    bench_compacting *compacting = find_compacting(world);
    return compacting ? compacting->heap : NULL;
}

const bench_compacting *bench_world_compactions(const bench_world *world) {
    return find_compacting(world);
}

int bench_world_check_counts(const bench_world *world, const bench_class_count *expected,
                             size_t count, bench_error *error) {
    const bench_compacting *on = find_compacting(world);
    for (size_t i = 0; on && i < count; i++) {
        uint64_t objects = 0;
        clump_status status = clump_heap_read_count(on->heap, expected[i].name, &objects);
        if (status != CLUMP_OK) {
            return bench_error_clump(error, "counting objects", on->clump, status);
        }
        if (objects != expected[i].objects) {
            bench_error_set(error,
                            "the heap holds %" PRIu64 " objects of class %s, the state %" PRIu64,
                            objects, expected[i].name, expected[i].objects);
            return 1;
        }
    }
    return 0;
}
