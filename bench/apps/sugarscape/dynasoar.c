/* Sugarscape with the objects of DynaSOAr's program: host side of dynasoar.cl. See agents.h. */
#include <stdlib.h>

#include "agents.h"

/* Kernels in the order in which they are created: the phases, then the others. */
static const char *const kernel_names[] = {
#define PHASE_NAME(name) #name,
    SUGARSCAPE_DYNASOAR_MODEL_LIST(PHASE_NAME)
#undef PHASE_NAME
        "cell_init",
    "first_males", "first_females", "write_states"};
enum {
#define PHASE_NUMBER(name) PHASE_##name,
    SUGARSCAPE_DYNASOAR_MODEL_LIST(PHASE_NUMBER)
#undef PHASE_NUMBER
        CELL_INIT,
    FIRST_MALES,
    FIRST_FEMALES,
    WRITE_STATES,
    KERNEL_COUNT
};

struct world {
    sugarscape_agents agents;
    uint32_t row_count;
    cl_mem rows; /* ../cells.clh */
};

/* ---- Making the world ------------------------------------------------------------------------ */

static int create_objects(struct world *world, const sugarscape_desc *desc, bench_error *error) {
    static const char *const before[] = {"bench/apps/cells.clh", "bench/apps/sugarscape/rules.clh",
                                         NULL};
    /* A cell has 23 bytes, an agent up to 46. What is more is room for bitmaps and for blocks of
     * one sex while the other needs them; the constant, for small worlds. */
    bench_objects_desc objects = {
        .world = &desc->world,
        .schema = "bench/apps/sugarscape/dynasoar.schema",
        .enough = (uint64_t)sugarscape_cells(&world->agents.rules) * 105 + (8u << 20),
        .file = "bench/apps/sugarscape/dynasoar.cl",
        .before = before,
        .uses_random123 = 1,
        .names = kernel_names,
        .count = KERNEL_COUNT,
        .compacted = "Agent"};
    return bench_objects_create(&objects, &world->agents.objects, error);
}

/* All kernels have the rows and the rules. */
static int create_buffers(struct world *world, bench_error *error) {
    bench_objects *objects = &world->agents.objects;
    const bench_arg states = {WRITE_STATES, 2, sizeof(cl_mem), &world->agents.states};
    return bench_buffer_create(&objects->buffers, world->row_count + 1, sizeof(uint32_t), NULL,
                               &world->rows, error) ||
                   bench_objects_set_common(objects, 0, sizeof world->rows, &world->rows, error) ||
                   sugarscape_agents_begin(&world->agents, error) ||
                   bench_objects_set(objects, &states, 1, error)
               ? -1
               : 0;
}

static int create(const sugarscape_desc *desc, void **self, bench_error *error) {
    if (!desc->rules.is_dynasoar) {
        return bench_error_set(error, "model=dynasoar needs rules=dynasoar");
    }
    struct world *world = calloc(1, sizeof *world);
    if (!world) {
        return bench_error_set(error, "host memory ran out");
    }
    world->agents.rules = desc->rules;
    world->row_count = (uint32_t)((sugarscape_cells(&desc->rules) + 63) / 64);
    if (create_objects(world, desc, error) || create_buffers(world, error) ||
        bench_objects_do_new(&world->agents.objects, "Cell", sugarscape_cells(&world->agents.rules),
                             CELL_INIT, error) ||
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
    const bench_arg iterations[] = {
        {PHASE_prepare_move, 2, sizeof world->agents.iteration, &world->agents.iteration},
        {PHASE_propose_offspring_target, 2, sizeof world->agents.iteration,
         &world->agents.iteration},
        {PHASE_mate, 2, sizeof world->agents.iteration, &world->agents.iteration}};
    if (bench_objects_set(&world->agents.objects, iterations, 3, error)) {
        return -1;
    }
    for (unsigned phase = 0; phase < SUGARSCAPE_DYNASOAR_MODEL_PHASES; phase++) {
        if (bench_objects_do_all(&world->agents.objects, phase, events ? &events[phase] : NULL,
                                 error)) {
            return -1;
        }
    }
    world->agents.iteration++;
    return 0;
}

static int read_states(void *self, void *states, bench_error *error) {
    struct world *world = self;
    return sugarscape_agents_read(&world->agents, WRITE_STATES, states, error);
}

const sugarscape_ops sugarscape_dynasoar_ops = {
    .create = create,
    .world = {.destroy = bench_objects_destroy,
              .step = step,
              .finish = bench_objects_finish,
              .read = read_states,
              .get_compacting = bench_objects_get_compacting}};
