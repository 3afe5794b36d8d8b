/* Sugarscape with the objects of DynaSOAr's program: host side of faithful.cl. See world.h. */
#include <stdlib.h>

#include "bench/apps/objects.h"
#include "world.h"

/* Kernels in the order in which they are created: the phases, then the others. */
static const char *const kernel_names[] = {
#define PHASE_NAME(name) #name,
    SUGARSCAPE_FAITHFUL_LIST(PHASE_NAME)
#undef PHASE_NAME
        "cell_init",
    "first_males", "first_females", "write_states"};
enum {
#define PHASE_NUMBER(name) PHASE_##name,
    SUGARSCAPE_FAITHFUL_LIST(PHASE_NUMBER)
#undef PHASE_NUMBER
        CELL_INIT,
    FIRST_MALES,
    FIRST_FEMALES,
    WRITE_STATES,
    KERNEL_COUNT
};

struct world {
    bench_objects objects;
    sugarscape_rules rules;
    uint32_t iteration;
    cl_mem cells;  /* a reference for each cell */
    cl_mem states; /* what read() gives */
};

/* ---- Making the world ------------------------------------------------------------------------ */

static int create_objects(struct world *world, const sugarscape_desc *desc, bench_error *error) {
    static const char *const before[] = {"bench/apps/sugarscape/rules.clh", NULL};
    /* A cell has 24 bytes, an agent up to 45. What is more is room for bitmaps and for blocks of one sex
     * while the other needs them; the constant, for small worlds. */
    bench_objects_desc objects = {
        .world = &desc->world,
        .schema = "bench/apps/sugarscape/faithful.schema",
        .enough = (uint64_t)sugarscape_cells(&world->rules) * 105 + (8u << 20),
        .file = "bench/apps/sugarscape/faithful.cl",
        .before = before,
        .uses_random123 = 1,
        .names = kernel_names,
        .count = KERNEL_COUNT,
        .compacted = "Agent"};
    return bench_objects_create(&objects, &world->objects, error);
}

/* All kernels have the cells and the rules. The first positions go through the buffer that states come
 * back by. */
static int create_buffers(struct world *world, bench_error *error) {
    bench_objects *objects = &world->objects;
    size_t cells = sugarscape_cells(&world->rules);
    const bench_arg users[] = {{FIRST_MALES, 2, sizeof(cl_mem), &world->states},
                               {FIRST_FEMALES, 2, sizeof(cl_mem), &world->states},
                               {WRITE_STATES, 2, sizeof(cl_mem), &world->states}};
    return bench_buffer_create(&objects->buffers, cells, sizeof(uint32_t), NULL, &world->cells,
                               error) ||
                   bench_buffer_create(&objects->buffers, cells, sizeof(sugarscape_state), NULL,
                                       &world->states, error) ||
                   bench_objects_set_common(objects, 0, sizeof world->cells, &world->cells,
                                            error) ||
                   bench_objects_set_common(objects, 1, sizeof world->rules, &world->rules,
                                            error) ||
                   bench_objects_set(objects, users, 3, error)
               ? -1
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
    size_t cells = sugarscape_cells(&world->rules);
    uint32_t *positions = malloc((cells + 1) * sizeof *positions);
    if (!positions) {
        return bench_error_set(error, "host memory ran out for the first agents");
    }
    int result = bench_objects_do_new(&world->objects, "Cell", cells, CELL_INIT, error) ||
                         make_agents(world, SUGARSCAPE_MALE, positions, error) ||
                         make_agents(world, SUGARSCAPE_FEMALE, positions, error)
                     ? -1
                     : 0;
    free(positions);
    return result;
}

static int create(const sugarscape_desc *desc, void **self, bench_error *error) {
    if (!desc->rules.is_dynasoar) {
        return bench_error_set(error, "model=faithful needs rules=dynasoar");
    }
    struct world *world = calloc(1, sizeof *world);
    if (!world) {
        return bench_error_set(error, "host memory ran out");
    }
    world->rules = desc->rules;
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
    const bench_arg iterations[] = {
        {PHASE_prepare_move, 2, sizeof world->iteration, &world->iteration},
        {PHASE_propose_offspring_target, 2, sizeof world->iteration, &world->iteration},
        {PHASE_mate, 2, sizeof world->iteration, &world->iteration}};
    if (bench_objects_set(&world->objects, iterations, 3, error)) {
        return -1;
    }
    for (unsigned phase = 0; phase < SUGARSCAPE_FAITHFUL_PHASES; phase++) {
        if (bench_objects_do_all(&world->objects, phase, events ? &events[phase] : NULL, error)) {
            return -1;
        }
    }
    world->iteration++;
    return 0;
}

static int read_states(void *self, void *states, bench_error *error) {
    struct world *world = self;
    size_t bytes = sugarscape_cells(&world->rules) * sizeof(sugarscape_state);
    return bench_objects_do_all(&world->objects, WRITE_STATES, NULL, error) ||
                   bench_buffer_read(&world->objects.buffers, world->states, 0, bytes, states,
                                     error)
               ? -1
               : 0;
}

const sugarscape_ops sugarscape_faithful_ops = {
    .create = create,
    .world = {.destroy = bench_objects_destroy,
              .step = step,
              .finish = bench_objects_finish,
              .read = read_states,
              .get_compacting = bench_objects_get_compacting}};
