/* What the two models of the variant clump share. See agents.h. */
#include "agents.h"

#include <stdlib.h>

int sugarscape_agents_begin(sugarscape_agents *world, bench_error *error) {
    bench_objects *objects = &world->objects;
    return bench_buffer_create(&objects->buffers, sugarscape_cells(&world->rules),
                               sizeof(sugarscape_state), NULL, &world->states, error) ||
                   bench_objects_set_common(objects, 1, sizeof world->rules, &world->rules, error)
               ? -1
               : 0;
}

/* Those of one sex; `positions` has room for the numbers of all cells. */
static int make(sugarscape_agents *world, uint32_t kind, unsigned kernel, uint32_t *positions,
                bench_error *error) {
    const bench_arg states = {kernel, 2, sizeof(cl_mem), &world->states};
    size_t count = sugarscape_list_first(&world->rules, kind, positions);
    cl_int code =
        count == 0 ? CL_SUCCESS
                   : clEnqueueWriteBuffer(world->objects.buffers.queue, world->states, CL_TRUE, 0,
                                          count * sizeof *positions, positions, 0, NULL, NULL);
    if (code != CL_SUCCESS) {
        return bench_error_cl(error, "the positions of the first agents", code);
    }
    return bench_objects_set(&world->objects, &states, 1, error) ||
                   bench_objects_do_new(&world->objects,
                                        kind == SUGARSCAPE_MALE ? "Male" : "Female", count, kernel,
                                        error)
               ? -1
               : 0;
}

int sugarscape_agents_make(sugarscape_agents *world, unsigned first_males, unsigned first_females,
                           bench_error *error) {
    uint32_t *positions = malloc((sugarscape_cells(&world->rules) + 1) * sizeof *positions);
    if (!positions) {
        return bench_error_set(error, "host memory ran out for the first agents");
    }
    int result = make(world, SUGARSCAPE_MALE, first_males, positions, error) ||
                         make(world, SUGARSCAPE_FEMALE, first_females, positions, error)
                     ? -1
                     : 0;
    free(positions);
    return result;
}

int sugarscape_agents_read(sugarscape_agents *world, unsigned write, void *states,
                           bench_error *error) {
    size_t bytes = sugarscape_cells(&world->rules) * sizeof(sugarscape_state);
    return bench_objects_do_all(&world->objects, write, NULL, error) ||
                   bench_buffer_read(&world->objects.buffers, world->states, 0, bytes, states,
                                     error)
               ? -1
               : 0;
}
