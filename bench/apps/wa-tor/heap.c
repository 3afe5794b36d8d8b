/* Wa-Tor on the heap: host side of heap.cl (model=lean) and dynasoar.cl. See world.h. */
#include <stdlib.h>

#include "bench/apps/objects.h"
#include "world.h"

/* In the order in which they are created. */
enum {
    CELL_INIT,
    CELL_POPULATE,
    FISH_SELECT,
    SHARK_SELECT,
    CELL_DECIDE,
    FISH_MOVE,
    SHARK_MOVE,
    WRITE_WORLD,
    LEAN_COUNT,
    CELL_LINK = LEAN_COUNT, /* in dynasoar.cl alone */
    KERNEL_COUNT
};
static const char *const kernel_names[KERNEL_COUNT] = {
    "cell_init", "cell_populate", "fish_select", "shark_select", "cell_decide",
    "fish_move", "shark_move",    "write_world", "cell_link"};

struct world {
    bench_objects objects;
    wa_tor_rules rules;
    int is_dynasoar_model;
    uint32_t cells, row_count, iteration;
    cl_mem rows;  /* a reference for each row of 64 cells, and a count of misplaced ones */
    cl_mem codes; /* the encoded world */
};

/* ---- Making the world ------------------------------------------------------------------------ */

static int create_objects(struct world *world, const wa_tor_desc *desc, bench_error *error) {
    /* A cell has 12 bytes (DynaSOAr's: 29) and at most one agent of at most 21. Twice that is room
     * for the bitmaps and for classes that shrink without giving up their blocks; the constant, for
     * small worlds whose few blocks are mostly empty. */
    int is_dynasoar_model = desc->is_dynasoar_model;
    bench_objects_desc objects = {
        .world = &desc->world,
        .schema = is_dynasoar_model ? "bench/apps/wa-tor/dynasoar.schema"
                                    : "bench/apps/wa-tor/objects.schema",
        .enough = (uint64_t)world->cells * (is_dynasoar_model ? 90 : 56) + (8u << 20),
        .file = is_dynasoar_model ? "bench/apps/wa-tor/dynasoar.cl" : "bench/apps/wa-tor/heap.cl",
        .before = is_dynasoar_model ? wa_tor_dynasoar_files : wa_tor_heap_files,
        .uses_random123 = 1,
        .names = kernel_names,
        .count = is_dynasoar_model ? KERNEL_COUNT : LEAN_COUNT,
        .compacted = "Agent"};
    return bench_objects_create(&objects, &world->objects, error);
}

static int create_buffers(struct world *world, bench_error *error) {
    bench_buffers *buffers = &world->objects.buffers;
    return bench_buffer_create(buffers, world->row_count + 1, sizeof(uint32_t), NULL, &world->rows,
                               error) ||
                   bench_buffer_create(buffers, world->cells, sizeof(uint32_t), NULL, &world->codes,
                                       error)
               ? -1
               : 0;
}

/* Those that do not change from step to step; see the kernels' parameters. */
static int set_arguments(struct world *world, bench_error *error) {
    const wa_tor_rules *rules = &world->rules;
#define ROWS(kernel, index)                                                                        \
    { kernel, index, sizeof(cl_mem), &world->rows }
#define NUMBER(kernel, index, number)                                                              \
    { kernel, index, sizeof(uint32_t), &(number) }
#define GRID(kernel, index)                                                                        \
    ROWS(kernel, index), NUMBER(kernel, index + 1, rules->width),                                  \
        NUMBER(kernel, index + 2, world->cells)
    const bench_arg all[] = {ROWS(CELL_INIT, 0),
                             NUMBER(CELL_INIT, 1, world->row_count),
                             NUMBER(CELL_POPULATE, 0, rules->seed),
                             NUMBER(CELL_POPULATE, 1, rules->fish_permille),
                             NUMBER(CELL_POPULATE, 2, rules->shark_permille),
                             NUMBER(CELL_POPULATE, 3, rules->fish_spawn),
                             NUMBER(CELL_POPULATE, 4, rules->shark_spawn),
                             NUMBER(CELL_POPULATE, 5, rules->shark_energy),
                             NUMBER(CELL_POPULATE, 6, rules->has_drawn_timers),
                             NUMBER(FISH_SELECT, 1, rules->seed),
                             NUMBER(SHARK_SELECT, 1, rules->seed),
                             NUMBER(CELL_DECIDE, 1, rules->seed),
                             NUMBER(FISH_MOVE, 1, rules->seed),
                             NUMBER(FISH_MOVE, 2, rules->fish_spawn),
                             NUMBER(FISH_MOVE, 3, rules->has_drawn_timers),
                             NUMBER(SHARK_MOVE, 1, rules->seed),
                             NUMBER(SHARK_MOVE, 2, rules->shark_spawn),
                             NUMBER(SHARK_MOVE, 3, rules->has_drawn_timers),
                             NUMBER(SHARK_MOVE, 4, rules->shark_energy),
                             NUMBER(SHARK_MOVE, 5, rules->shark_gain),
                             {WRITE_WORLD, 0, sizeof(cl_mem), &world->codes}};
    const bench_arg dynasoar[] = {
        GRID(CELL_LINK, 0), NUMBER(FISH_MOVE, 4, rules->width), NUMBER(FISH_MOVE, 5, world->cells),
        NUMBER(SHARK_MOVE, 6, rules->width), NUMBER(SHARK_MOVE, 7, world->cells)};
    const bench_arg lean[] = {GRID(FISH_SELECT, 2), GRID(SHARK_SELECT, 2), GRID(CELL_DECIDE, 3),
                              ROWS(FISH_MOVE, 4), ROWS(SHARK_MOVE, 6)};
#undef ROWS
#undef NUMBER
#undef GRID
    const bench_arg *own = world->is_dynasoar_model ? dynasoar : lean;
    size_t own_count =
        world->is_dynasoar_model ? sizeof dynasoar / sizeof *dynasoar : sizeof lean / sizeof *lean;
    return bench_objects_set(&world->objects, all, sizeof all / sizeof *all, error) ||
                   bench_objects_set(&world->objects, own, own_count, error)
               ? -1
               : 0;
}

/* The heap, without objects, and all that the kernels need. NULL on failure. */
static struct world *prepare(const wa_tor_desc *desc, bench_error *error) {
    struct world *world = calloc(1, sizeof *world);
    if (!world) {
        bench_error_set(error, "host memory ran out");
        return NULL;
    }
    world->rules = desc->rules;
    world->is_dynasoar_model = desc->is_dynasoar_model;
    world->cells = desc->rules.width * desc->rules.height;
    world->row_count = (world->cells + 63) / 64;
    if (create_objects(world, desc, error) || create_buffers(world, error) ||
        set_arguments(world, error)) {
        bench_objects_destroy(world);
        return NULL;
    }
    return world;
}

static int populate(struct world *world, bench_error *error) {
    return bench_objects_do_new(&world->objects, "Cell", world->cells, CELL_INIT, error) ||
                   bench_objects_check_rows(&world->objects, world->rows, world->row_count,
                                            error) ||
                   (world->is_dynasoar_model &&
                    bench_objects_do_all(&world->objects, CELL_LINK, NULL, error)) ||
                   bench_objects_do_all(&world->objects, CELL_POPULATE, NULL, error) ||
                   bench_objects_finish(world, error)
               ? -1
               : 0;
}

static int create(const wa_tor_desc *desc, void **self, bench_error *error) {
    struct world *world = prepare(desc, error);
    if (!world || populate(world, error)) {
        bench_objects_destroy(world);
        return -1;
    }
    *self = world;
    return 0;
}

/* ---- Checkpoints ----------------------------------------------------------------------------- */

/* The table of rows is part of the world: its references are saved, and are those of the loaded
 * cells. Only for the time of a call, since a compaction would have to look at them. */
static clump_status register_rows(struct world *world, clump_refs **refs) {
    return clump_refs_create(
        world->objects.heap,
        &(clump_refs_desc){
            .size = sizeof(clump_refs_desc), .buffer = world->rows, .count = world->row_count},
        refs, NULL);
}

int wa_tor_heap_save(void *self, const char *path, bench_error *error) {
    struct world *world = self;
    clump_refs *refs = NULL;
    clump_status status = register_rows(world, &refs);
    if (!status) {
        status = clump_heap_save(world->objects.heap,
                                 &(clump_save_desc){.size = sizeof(clump_save_desc), .path = path},
                                 NULL);
    }
    clump_refs_destroy(refs);
    return bench_objects_check(&world->objects, status, "the checkpoint", error);
}

/* Cells are the class of which each 64 fill a row, so a load puts them where cells.clh wants
 * them. */
static int check_rows(struct world *world, bench_error *error) {
    uint32_t *rows = calloc(world->row_count, sizeof *rows), wrong = 0;
    if (!rows) {
        return bench_error_set(error, "host memory ran out");
    }
    int failed = bench_buffer_read(&world->objects.buffers, world->rows, 0,
                                   world->row_count * sizeof *rows, rows, error);
    for (uint32_t i = 0; !failed && i < world->row_count; i++) {
        wrong += !rows[i] || rows[i] % 64 != 0;
    }
    free(rows);
    return failed || !wrong
               ? failed
               : bench_error_set(error, "%u rows of loaded cells do not begin a row of the heap",
                                 wrong);
}

int wa_tor_heap_resume(const wa_tor_desc *desc, const char *path, uint32_t steps, void **self,
                       bench_error *error) {
    struct world *world = prepare(desc, error);
    if (!world) {
        return -1;
    }
    clump_refs *refs = NULL;
    clump_status status = register_rows(world, &refs);
    if (!status) {
        status = clump_heap_load(world->objects.heap,
                                 &(clump_load_desc){.size = sizeof(clump_load_desc), .path = path},
                                 NULL);
    }
    clump_refs_destroy(refs);
    world->iteration = steps;
    if (bench_objects_check(&world->objects, status, path, error) || check_rows(world, error)) {
        bench_objects_destroy(world);
        return -1;
    }
    *self = world;
    return 0;
}

/* ---- Steps and states ------------------------------------------------------------------------ */

/* A phase: its kernel and, if that decides, for what. */
typedef struct phase {
    unsigned kernel;
    uint32_t decision;
} phase;

static int step(void *self, cl_event *events, bench_error *error) {
    static const phase phases[] = {
        {FISH_SELECT, 0},  {CELL_DECIDE, WA_TOR_DRAW_FISH_DECIDE},  {FISH_MOVE, 0},
        {SHARK_SELECT, 0}, {CELL_DECIDE, WA_TOR_DRAW_SHARK_DECIDE}, {SHARK_MOVE, 0}};
    struct world *world = self;
    for (unsigned i = 0; i < WA_TOR_PHASE_COUNT; i++) {
        unsigned kernel = phases[i].kernel;
        const bench_arg now[] = {{kernel, 0, sizeof world->iteration, &world->iteration},
                                 {kernel, 2, sizeof phases[i].decision, &phases[i].decision}};
        size_t args = kernel == CELL_DECIDE ? 2 : 1;
        if (bench_objects_set(&world->objects, now, args, error) ||
            bench_objects_do_all(&world->objects, kernel, events ? &events[i] : NULL, error)) {
            return -1;
        }
    }
    world->iteration++;
    return 0;
}

static int read_codes(void *self, void *codes, bench_error *error) {
    struct world *world = self;
    return bench_objects_do_all(&world->objects, WRITE_WORLD, NULL, error) ||
                   bench_buffer_read(&world->objects.buffers, world->codes, 0,
                                     (size_t)world->cells * sizeof(uint32_t), codes, error)
               ? -1
               : 0;
}

const wa_tor_ops wa_tor_heap_ops = {.create = create,
                                    .world = {.destroy = bench_objects_destroy,
                                              .step = step,
                                              .finish = bench_objects_finish,
                                              .read = read_codes,
                                              .get_compacting = bench_objects_get_compacting}};
