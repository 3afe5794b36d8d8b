/* The baselines in plain OpenCL: host side of plain.cl. See world.h. */
#include <stdlib.h>

#include "bench/apps/plain.h"
#include "world.h"

/* The phases, then the others. */
static const char *const kernel_names[] = {
#define PHASE_NAME(name) #name,
    SUGARSCAPE_PHASE_LIST(PHASE_NAME)
#undef PHASE_NAME
        "add_line",
    "diffuse_far", "age", "populate", "write_states"};
enum { ADD_LINE = SUGARSCAPE_PHASES, DIFFUSE_FAR, AGE, POPULATE, WRITE_STATES, KERNEL_COUNT };

/* Bytes of the fields of plain_grid.clh, in order. */
static const size_t field_bytes[] = {8, 4, 4, 4, 4, 4, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1};
#define FIELDS (sizeof field_bytes / sizeof *field_bytes)
static const size_t struct_bytes[] = {48};

struct world {
    bench_plain plain;
    sugarscape_rules rules;
    uint32_t iteration, cells;
    cl_mem states;
};

/* ---- Making the world ------------------------------------------------------------------------ */

static int build(struct world *world, const sugarscape_desc *desc, bench_error *error) {
    static const char *const before[] = {"bench/apps/sugarscape/plain_grid.clh",
                                         "bench/apps/sugarscape/rules.clh",
                                         "bench/apps/sugarscape/looking.clh", NULL};
    bench_plain_desc plain = {
        .world = &desc->world,
        .file = "bench/apps/sugarscape/plain.cl",
        .before = before,
        .options = desc->world.variant == BENCH_AOS ? "-DLAYOUT_AOS=1" : "-DLAYOUT_AOS=0",
        .uses_random123 = 1,
        .names = kernel_names,
        .count = KERNEL_COUNT};
    return bench_plain_create(&plain, &world->plain, error);
}

/* All kernels have the number of cells, the cells and the rules; then comes the step, if any. */
static int set_arguments(struct world *world, const sugarscape_desc *desc, bench_error *error) {
    int is_aos = desc->world.variant == BENCH_AOS;
    bench_plain *plain = &world->plain;
    const bench_arg states = {WRITE_STATES, 1, sizeof(cl_mem), &world->states};
    return bench_plain_set_common(plain, sizeof world->cells, &world->cells, error) ||
                   bench_plain_set_objects(plain, world->cells, is_aos ? struct_bytes : field_bytes,
                                           is_aos ? 1 : FIELDS, error) ||
                   bench_plain_set_common(plain, sizeof world->rules, &world->rules, error) ||
                   bench_buffer_create(&plain->buffers, sugarscape_cells(&world->rules),
                                       sizeof(sugarscape_state), NULL, &world->states, error) ||
                   bench_plain_set(plain, &states, 1, error)
               ? -1
               : 0;
}

/* For every cell of the lines of the world, or of the frame too. A group divides the pitch. */
static int launch(struct world *world, unsigned kernel, cl_event *event, bench_error *error) {
    const sugarscape_rules *rules = &world->rules;
    const bench_arg iteration = {kernel, 0, sizeof world->iteration, &world->iteration};
    if (kernel == POPULATE) {
        return bench_plain_launch(&world->plain, kernel, 0, world->cells, event, error);
    }
    if (kernel != SUGARSCAPE_PHASE_propose && kernel != AGE &&
        bench_plain_set(&world->plain, &iteration, 1, error)) {
        return -1;
    }
    return bench_plain_launch(&world->plain, kernel, (size_t)rules->max_vision * rules->pitch,
                              (size_t)rules->height * rules->pitch, event, error);
}

static int create(const sugarscape_desc *desc, void **self, bench_error *error) {
    struct world *world = calloc(1, sizeof *world);
    if (!world) {
        return bench_error_set(error, "host memory ran out");
    }
    world->rules = desc->rules;
    world->cells = sugarscape_grid_cells(&desc->rules);
    if (build(world, desc, error) || set_arguments(world, desc, error) ||
        launch(world, POPULATE, NULL, error) || bench_plain_finish(world, error)) {
        bench_plain_destroy(world);
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
        if (launch(world, ADD_LINE, events ? events++ : NULL, error) ||
            launch(world, DIFFUSE_FAR, events ? events++ : NULL, error) ||
            launch(world, AGE, events ? events++ : NULL, error)) {
            return -1;
        }
        first = SUGARSCAPE_PHASE_select_cell;
    }
    for (unsigned phase = first; phase < SUGARSCAPE_PHASES; phase++) {
        if (launch(world, phase, events ? events++ : NULL, error)) {
            return -1;
        }
    }
    world->iteration++;
    return bench_plain_flush(&world->plain, error);
}

static int read_states(void *self, void *state, bench_error *error) {
    sugarscape_state *states = state;
    struct world *world = self;
    size_t bytes = sugarscape_cells(&world->rules) * sizeof *states;
    return launch(world, WRITE_STATES, NULL, error) ||
                   bench_buffer_read(&world->plain.buffers, world->states, 0, bytes, states, error)
               ? -1
               : 0;
}

const sugarscape_ops sugarscape_plain_ops = {.create = create,
                                             .world = {.destroy = bench_plain_destroy,
                                                       .step = step,
                                                       .finish = bench_plain_finish,
                                                       .read = read_states}};
