/* Agents and cells on the heap: host side of heap.cl (model=lean). See agents.h. */
#include <stdio.h>
#include <stdlib.h>

#include "agents.h"

/* Kernels in the order in which they are created: the phases, then the others. */
static const char *const kernel_names[] = {
#define PHASE_NAME(name) #name,
    SUGARSCAPE_PHASE_LIST(PHASE_NAME)
#undef PHASE_NAME
        "add_line",
    "diffuse_far",
    "age",
    "cell_init",
    "first_males",
    "first_females",
    "write_states"};
enum { ADD_LINE = SUGARSCAPE_PHASES, DIFFUSE_FAR, AGE, CELL_INIT, FIRST_MALES };
enum { FIRST_FEMALES = FIRST_MALES + 1, WRITE_STATES, KERNEL_COUNT };

struct world {
    sugarscape_agents agents;
    uint32_t row_count;
    cl_mem rows; /* a reference for each row of cells, and a count of misplaced ones */
};

/* ---- Making the world ------------------------------------------------------------------------ */

static int create_objects(struct world *world, const sugarscape_desc *desc, bench_error *error) {
    static const char *const before[] = {
        "bench/apps/cells.clh", "bench/apps/sugarscape/heap_grid.clh",
        "bench/apps/sugarscape/rules.clh", "bench/apps/sugarscape/looking.clh", NULL};
    char options[40];
    /* A cell has 23 bytes, an agent up to 25. What is more is room for bitmaps and for blocks of
     * one sex while the other needs them; the constant, for small worlds. */
    bench_objects_desc objects = {
        .world = &desc->world,
        .schema = "bench/apps/sugarscape/objects.schema",
        .enough = (uint64_t)sugarscape_grid_cells(&world->agents.rules) * 72 + (8u << 20),
        .file = "bench/apps/sugarscape/heap.cl",
        .before = before,
        .options = options,
        .uses_random123 = 1,
        .names = kernel_names,
        .count = KERNEL_COUNT,
        .compacted = "Agent"};
    snprintf(options, sizeof options, "-DROW_PER_ITEM=%d",
             clump_context_get_info(desc->world.clump)->capabilities->personality ==
                 CLUMP_PERSONALITY_CPU);
    return bench_objects_create(&objects, &world->agents.objects, error);
}

/* All kernels have the table of rows and the rules. */
static int create_buffers(struct world *world, bench_error *error) {
    bench_objects *objects = &world->agents.objects;
    const bench_arg states = {WRITE_STATES, 3, sizeof(cl_mem), &world->agents.states};
    return bench_buffer_create(&objects->buffers, world->row_count + 1, sizeof(uint32_t), NULL,
                               &world->rows, error) ||
                   bench_objects_set_common(objects, 0, sizeof world->rows, &world->rows, error) ||
                   sugarscape_agents_begin(&world->agents, error) ||
                   bench_objects_set(objects, &states, 1, error)
               ? -1
               : 0;
}

/* `has_iteration`: the kernel asks for the step. */
static int run(struct world *world, unsigned kernel, int has_iteration, cl_event *event,
               bench_error *error) {
    const bench_arg iteration = {kernel, 2, sizeof world->agents.iteration,
                                 &world->agents.iteration};
    return bench_objects_set(&world->agents.objects, &iteration, has_iteration ? 1 : 0, error) ||
                   bench_objects_do_all(&world->agents.objects, kernel, event, error)
               ? -1
               : 0;
}

static int create(const sugarscape_desc *desc, void **self, bench_error *error) {
    struct world *world = calloc(1, sizeof *world);
    if (!world) {
        return bench_error_set(error, "host memory ran out");
    }
    world->agents.rules = desc->rules;
    world->row_count = sugarscape_grid_cells(&desc->rules) / SUGARSCAPE_ROW;
    if (create_objects(world, desc, error) || create_buffers(world, error) ||
        bench_objects_do_new(&world->agents.objects, "Cell",
                             sugarscape_grid_cells(&world->agents.rules), CELL_INIT, error) ||
        bench_objects_check_rows(&world->agents.objects, world->rows, world->row_count, error) ||
        sugarscape_agents_make(&world->agents, FIRST_MALES, FIRST_FEMALES, error) ||
        bench_objects_finish(world, error)) {
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
    if (world->agents.rules.is_dynasoar) {
        if (run(world, ADD_LINE, 1, events ? events++ : NULL, error) ||
            run(world, DIFFUSE_FAR, 1, events ? events++ : NULL, error) ||
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
    world->agents.iteration++;
    return 0;
}

static int read_states(void *self, void *states, bench_error *error) {
    struct world *world = self;
    const bench_arg iteration = {WRITE_STATES, 2, sizeof world->agents.iteration,
                                 &world->agents.iteration};
    return bench_objects_set(&world->agents.objects, &iteration, 1, error)
               ? -1
               : sugarscape_agents_read(&world->agents, WRITE_STATES, states, error);
}

const sugarscape_ops sugarscape_heap_ops = {
    .create = create,
    .world = {.destroy = bench_objects_destroy,
              .step = step,
              .finish = bench_objects_finish,
              .read = read_states,
              .get_compacting = bench_objects_get_compacting}};
