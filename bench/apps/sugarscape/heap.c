/* Agents and cells on the heap: host side of heap.cl (model=lean). See world.h. */
#include "world.h"

#include <stdio.h>
#include <stdlib.h>

#include "bench/apps/objects.h"

/* Kernels in the order in which they are created: the phases, then the others. */
static const char *const kernel_names[] = {
#define PHASE_NAME(name) #name,
    SUGARSCAPE_PHASE_LIST(PHASE_NAME)
#undef PHASE_NAME
        "diffuse_far",
    "age",
    "cell_init",
    "first_males",
    "first_females",
    "write_states"};
enum { DIFFUSE_FAR = SUGARSCAPE_PHASES, AGE, CELL_INIT, FIRST_MALES };
enum { FIRST_FEMALES = FIRST_MALES + 1, WRITE_STATES, KERNEL_COUNT };

struct world {
    bench_objects objects;
    sugarscape_rules rules;
    uint32_t iteration, row_count;
    cl_mem rows;   /* a reference for each row of cells, and a count of misplaced ones */
    cl_mem states; /* what read() gives */
};

/* ---- Making the world ------------------------------------------------------------------------ */

static int create_objects(struct world *world, const sugarscape_desc *desc, bench_error *error) {
    static const char *const before[] = {"bench/apps/sugarscape/heap_grid.clh",
                                         "bench/apps/sugarscape/rules.clh",
                                         "bench/apps/sugarscape/looking.clh", NULL};
    char options[40];
    /* A cell has 21 bytes, an agent up to 25. What is more is room for bitmaps and for blocks of
     * one sex while the other needs them; the constant, for small worlds. */
    bench_objects_desc objects = {
        .world = &desc->world,
        .schema = "bench/apps/sugarscape/objects.schema",
        .enough = (uint64_t)sugarscape_grid_cells(&world->rules) * 72 + (8u << 20),
        .file = "bench/apps/sugarscape/heap.cl",
        .before = before,
        .options = options,
        .uses_random123 = 1,
        .names = kernel_names,
        .count = KERNEL_COUNT,
        .compacted = "Agent"};
    snprintf(
        options, sizeof options, "-DROW_PER_ITEM=%d",
        clump_context_get_capabilities(desc->world.clump)->personality == CLUMP_PERSONALITY_CPU);
    return bench_objects_create(&objects, &world->objects, error);
}

/* All kernels have the table of rows and the rules. The first positions go through the buffer that
 * states come back by. */
static int create_buffers(struct world *world, bench_error *error) {
    bench_objects *objects = &world->objects;
    const bench_arg users[] = {{FIRST_MALES, 2, sizeof(cl_mem), &world->states},
                               {FIRST_FEMALES, 2, sizeof(cl_mem), &world->states},
                               {WRITE_STATES, 3, sizeof(cl_mem), &world->states}};
    return bench_buffer_create(&objects->buffers, world->row_count + 1, sizeof(uint32_t), NULL,
                               &world->rows, error) ||
                   bench_buffer_create(&objects->buffers, sugarscape_cells(&world->rules),
                                       sizeof(sugarscape_state), NULL, &world->states, error) ||
                   bench_objects_set_common(objects, 0, sizeof world->rows, &world->rows, error) ||
                   bench_objects_set_common(objects, 1, sizeof world->rules, &world->rules,
                                            error) ||
                   bench_objects_set(objects, users, 3, error)
               ? -1
               : 0;
}

/* `has_iteration`: the kernel asks for the step. */
static int run(struct world *world, unsigned kernel, int has_iteration, cl_event *event,
               bench_error *error) {
    const bench_arg iteration = {kernel, 2, sizeof world->iteration, &world->iteration};
    return bench_objects_set(&world->objects, &iteration, has_iteration ? 1 : 0, error) ||
                   bench_objects_do_all(&world->objects, kernel, event, error)
               ? -1
               : 0;
}

static int make_cells(struct world *world, bench_error *error) {
    uint32_t misplaced = 0;
    if (bench_objects_do_new(&world->objects, "Cell", sugarscape_grid_cells(&world->rules),
                             CELL_INIT, error) ||
        bench_buffer_read(&world->objects.buffers, world->rows, world->row_count * sizeof misplaced,
                          sizeof misplaced, &misplaced, error)) {
        return -1;
    }
    return misplaced
               ? bench_error_set(error, "%u cells do not lie in whole rows of the heap", misplaced)
               : 0;
}

/* The first agents of one sex; `positions` has room for the numbers of all cells. */
static int make_agents(struct world *world, uint32_t kind, uint32_t *positions,
                       bench_error *error) {
    int is_male = kind == SUGARSCAPE_MALE;
    size_t count = sugarscape_list_first(&world->rules, kind, positions);
    cl_int code =
        count == 0 ? CL_SUCCESS
                   : clEnqueueWriteBuffer(world->objects.buffers.queue, world->states, CL_TRUE, 0,
                                          count * sizeof *positions, positions, 0, NULL, NULL);
    if (code != CL_SUCCESS) {
        return bench_error_cl(error, "the positions of the first agents", code);
    }
    return bench_objects_do_new(&world->objects, is_male ? "Male" : "Female", count,
                                is_male ? FIRST_MALES : FIRST_FEMALES, error);
}

static int populate(struct world *world, bench_error *error) {
    uint32_t *positions = malloc((sugarscape_cells(&world->rules) + 1) * sizeof *positions);
    if (!positions) {
        return bench_error_set(error, "host memory ran out for the first agents");
    }
    int result = make_cells(world, error) ||
                         make_agents(world, SUGARSCAPE_MALE, positions, error) ||
                         make_agents(world, SUGARSCAPE_FEMALE, positions, error)
                     ? -1
                     : 0;
    free(positions);
    return result;
}

static int create(const sugarscape_desc *desc, void **self, bench_error *error) {
    struct world *world = calloc(1, sizeof *world);
    if (!world) {
        return bench_error_set(error, "host memory ran out");
    }
    world->rules = desc->rules;
    world->row_count = sugarscape_grid_cells(&desc->rules) / SUGARSCAPE_ROW;
    if (create_objects(world, desc, error) || create_buffers(world, error) ||
        populate(world, error) || bench_objects_finish(world, error)) {
        bench_objects_destroy(world);
        return -1;
    }
    *self = world;
    return 0;
}

/* ---- Steps and states ------------------------------------------------------------------------ */

static int step(void *self, cl_event *events, bench_error *error) {
    struct world *world = self;
    unsigned first = 0;
    if (world->rules.is_dynasoar) {
        if (run(world, DIFFUSE_FAR, 1, events ? events++ : NULL, error) ||
            run(world, AGE, 1, events ? events++ : NULL, error)) {
            return -1;
        }
        first = SUGARSCAPE_PHASE_select_cell;
    }
    for (unsigned phase = first; phase < SUGARSCAPE_PHASES; phase++) {
        if (run(world, phase, phase != SUGARSCAPE_PHASE_propose, events ? events++ : NULL, error)) {
            return -1;
        }
    }
    world->iteration++;
    return 0;
}

static int read_states(void *self, void *states, bench_error *error) {
    struct world *world = self;
    size_t bytes = sugarscape_cells(&world->rules) * sizeof(sugarscape_state);
    return run(world, WRITE_STATES, 1, NULL, error) ||
                   bench_buffer_read(&world->objects.buffers, world->states, 0, bytes, states,
                                     error)
               ? -1
               : 0;
}

const sugarscape_ops sugarscape_heap_ops = {
    .create = create,
    .world = {.destroy = bench_objects_destroy,
              .step = step,
              .finish = bench_objects_finish,
              .read = read_states,
              .get_compacting = bench_objects_get_compacting}};
