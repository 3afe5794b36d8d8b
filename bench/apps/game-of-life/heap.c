/* The world on the heap: host side of heap.cl (model=lean) and dynasoar.cl. See world.h. */
#include <stdlib.h>

#include "bench/apps/objects.h"
#include "world.h"

/* In the order in which they are created: those of both models, then those of one. */
enum {
    CELL_INIT,
    CELL_POPULATE,
    WRITE_WORLD,
    COMMON_COUNT,
    AGENT_ANNOUNCE = COMMON_COUNT,
    AGENT_SETTLE,
    LEAN_COUNT,
    CANDIDATE_PREPARE = COMMON_COUNT,
    ALIVE_PREPARE,
    CANDIDATE_UPDATE,
    ALIVE_UPDATE,
    DYNASOAR_COUNT
};
static const char *const lean_names[] = {"cell_init", "cell_populate", "write_world",
                                         "agent_announce", "agent_settle"};
static const char *const dynasoar_names[] = {
    "cell_init",     "cell_populate",    "write_world", "candidate_prepare",
    "alive_prepare", "candidate_update", "alive_update"};

struct world {
    bench_objects objects;
    life_rules rules;
    uint32_t cells;
    uint32_t row_count;
    cl_mem rows;    /* ../cells.clh */
    cl_mem codes;   /* a life_code per cell: the beginning, later what is read back */
    cl_mem misfits; /* one uint */
};

/* ---- Making the world ------------------------------------------------------------------------ */

static int create_objects(struct world *world, const life_desc *desc, bench_error *error) {
    /* A cell has 8 bytes and at most one agent of 9 (DynaSOAr's: 9 and 8). Nearly twice that is
     * room for the bitmaps and for classes that shrink without giving up their blocks; the
     * constant, for small worlds whose few blocks are mostly empty. */
    static const char *const before[] = {"bench/apps/cells.clh",
                                         "bench/apps/game-of-life/rules.clh", NULL};
    int is_dynasoar_model = desc->rules.is_dynasoar_model;
    bench_objects_desc objects = {
        .world = &desc->world,
        .schema = is_dynasoar_model ? "bench/apps/game-of-life/dynasoar.schema"
                                    : "bench/apps/game-of-life/objects.schema",
        .enough = (uint64_t)world->cells * (is_dynasoar_model ? 40 : 32) + (8u << 20),
        .file = is_dynasoar_model ? "bench/apps/game-of-life/dynasoar.cl"
                                  : "bench/apps/game-of-life/heap.cl",
        .before = before,
        .names = is_dynasoar_model ? dynasoar_names : lean_names,
        .count = is_dynasoar_model ? DYNASOAR_COUNT : LEAN_COUNT,
        .compacted = "Agent"};
    return bench_objects_create(&objects, &world->objects, error);
}

static int create_buffers(struct world *world, const life_desc *desc, bench_error *error) {
    bench_buffers *buffers = &world->objects.buffers;
    return bench_buffer_create(buffers, world->row_count + 1, sizeof(uint32_t), NULL, &world->rows,
                               error) ||
                   bench_buffer_create(buffers, world->cells, sizeof(life_code), desc->codes,
                                       &world->codes, error) ||
                   bench_buffer_create(buffers, 1, sizeof(uint32_t), NULL, &world->misfits, error)
               ? -1
               : 0;
}

/* All kernels have the rows, all but the first the size too. */
static int set_arguments(struct world *world, bench_error *error) {
    const cl_uint2 size = {{world->rules.width, world->rules.height}};
    const cl_uint4 rule = {{world->rules.born, world->rules.survive, world->rules.states, 0}};
    const bench_arg all[] = {{CELL_INIT, 1, sizeof world->row_count, &world->row_count},
                             {CELL_POPULATE, 1, sizeof size, &size},
                             {CELL_POPULATE, 2, sizeof(cl_mem), &world->codes},
                             {CELL_POPULATE, 3, sizeof rule, &rule},
                             {WRITE_WORLD, 1, sizeof size, &size},
                             {WRITE_WORLD, 2, sizeof(cl_mem), &world->codes},
                             {WRITE_WORLD, 3, sizeof(cl_mem), &world->misfits}};
    const bench_arg lean[] = {{AGENT_ANNOUNCE, 1, sizeof size, &size},
                              {AGENT_SETTLE, 1, sizeof size, &size},
                              {AGENT_SETTLE, 2, sizeof rule, &rule}};
    const bench_arg dynasoar[] = {
        {CANDIDATE_PREPARE, 1, sizeof size, &size}, {CANDIDATE_PREPARE, 2, sizeof rule, &rule},
        {ALIVE_PREPARE, 1, sizeof size, &size},     {ALIVE_PREPARE, 2, sizeof rule, &rule},
        {ALIVE_UPDATE, 1, sizeof size, &size},      {ALIVE_UPDATE, 2, sizeof rule, &rule}};
    int is_dynasoar_model = world->rules.is_dynasoar_model;
    return bench_objects_set_common(&world->objects, 0, sizeof world->rows, &world->rows, error) ||
                   bench_objects_set(&world->objects, all, sizeof all / sizeof *all, error) ||
                   bench_objects_set(&world->objects, is_dynasoar_model ? dynasoar : lean,
                                     is_dynasoar_model ? sizeof dynasoar / sizeof *dynasoar
                                                       : sizeof lean / sizeof *lean,
                                     error)
               ? -1
               : 0;
}

/* 64 work-items for each row of cells, so that the first agents lie in the order of their cells. */
static int populate(struct world *world, bench_error *error) {
    bench_objects *o = &world->objects;
    size_t items = (world->cells + 63) / 64 * 64;
    return bench_objects_check(
        o, clump_heap_launch(o->heap, o->kernels[CELL_POPULATE], items, 64, NULL),
        "the first agents", error);
}

static int create(const life_desc *desc, void **self, bench_error *error) {
    struct world *world = calloc(1, sizeof *world);
    if (!world) {
        return bench_error_set(error, "host memory ran out");
    }
    world->rules = desc->rules;
    world->cells = desc->rules.width * desc->rules.height;
    world->row_count = (world->cells + 63) / 64;
    if (create_objects(world, desc, error) || create_buffers(world, desc, error) ||
        set_arguments(world, error) ||
        bench_objects_do_new(&world->objects, "Cell", world->cells, CELL_INIT, error) ||
        bench_objects_check_rows(&world->objects, world->rows, world->row_count, error) ||
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
    unsigned end = world->rules.is_dynasoar_model ? DYNASOAR_COUNT : LEAN_COUNT;
    for (unsigned i = COMMON_COUNT; i < end; i++) {
        if (bench_objects_do_all(self, i, events ? &events[i - COMMON_COUNT] : NULL, error)) {
            return -1;
        }
    }
    return 0;
}

static int read_codes(void *self, void *codes, bench_error *error) {
    struct world *world = self;
    bench_buffers *buffers = &world->objects.buffers;
    uint32_t misfits = 0;
    if (bench_buffer_clear(buffers, world->misfits, sizeof misfits, error) ||
        bench_objects_do_all(&world->objects, WRITE_WORLD, NULL, error) ||
        bench_buffer_read(buffers, world->codes, 0, world->cells * sizeof(life_code), codes,
                          error) ||
        bench_buffer_read(buffers, world->misfits, 0, sizeof misfits, &misfits, error)) {
        return -1;
    }
    return misfits
               ? bench_error_set(error, "%u cells have an agent that does not fit them", misfits)
               : 0;
}

const life_ops life_heap_ops = {.create = create,
                                .world = {.destroy = bench_objects_destroy,
                                          .step = step,
                                          .finish = bench_objects_finish,
                                          .read = read_codes,
                                          .get_compacting = bench_objects_get_compacting}};
