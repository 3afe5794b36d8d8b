/* The baselines in plain OpenCL: host side of plain.cl. See world.h. */
#include <stdlib.h>

#include "bench/apps/plain.h"
#include "world.h"

#define LOCAL_X 64u /* work-group: cells of a row, rows */
#define LOCAL_Y 4u

/* The phases, then the others. */
static const char *const kernel_names[] = {
#define PHASE_NAME(name) #name,
    WA_TOR_PLAIN_PHASE_LIST(PHASE_NAME)
#undef PHASE_NAME
        "populate",
    "write_world"};
enum { POPULATE = WA_TOR_PLAIN_PHASES, WRITE_WORLD, KERNEL_COUNT };

/* Bytes of the fields of a cell in plain.cl, in order. */
static const size_t field_bytes[] = {4, 4, 1, 1};
#define FIELDS (sizeof field_bytes / sizeof *field_bytes)
static const size_t struct_bytes[] = {12};

struct world {
    bench_plain plain;
    wa_tor_rules rules;
    uint32_t iteration;
    size_t cells;
    cl_mem codes;
};

/* ---- Making the world ------------------------------------------------------------------------ */

static int build(struct world *world, const wa_tor_desc *desc, bench_error *error) {
    bench_plain_desc plain = {
        .world = &desc->world,
        .file = "bench/apps/wa-tor/plain.cl",
        .before = wa_tor_rules_files,
        .options = desc->world.variant == BENCH_AOS ? "-DLAYOUT_AOS=1" : "-DLAYOUT_AOS=0",
        .uses_random123 = 1,
        .names = kernel_names,
        .count = KERNEL_COUNT};
    return bench_plain_create(&plain, &world->plain, error);
}

/* All kernels have the cells and the size; then a phase has the step, the seed and the rules that
 * it obeys. */
static int set_arguments(struct world *world, const wa_tor_desc *desc, bench_error *error) {
    int is_aos = desc->world.variant == BENCH_AOS;
    size_t word = sizeof(uint32_t);
    bench_plain *plain = &world->plain;
    const wa_tor_rules *rules = &world->rules;
    if (bench_plain_set_objects(plain, world->cells, is_aos ? struct_bytes : field_bytes,
                                is_aos ? 1 : FIELDS, error) ||
        bench_plain_set_common(plain, word, &rules->width, error) ||
        bench_plain_set_common(plain, word, &rules->height, error) ||
        bench_buffer_create(&plain->buffers, world->cells, word, NULL, &world->codes, error)) {
        return -1;
    }
    const bench_arg args[] = {
        {POPULATE, 0, word, &rules->seed},
        {POPULATE, 1, word, &rules->fish_permille},
        {POPULATE, 2, word, &rules->shark_permille},
        {POPULATE, 3, word, &rules->fish_spawn},
        {POPULATE, 4, word, &rules->shark_spawn},
        {POPULATE, 5, word, &rules->shark_energy},
        {POPULATE, 6, word, &rules->has_drawn_timers},
        {WA_TOR_PLAIN_fish_select, 1, word, &rules->seed},
        {WA_TOR_PLAIN_fish_move, 1, word, &rules->seed},
        {WA_TOR_PLAIN_fish_move, 2, word, &rules->fish_spawn},
        {WA_TOR_PLAIN_fish_move, 3, word, &rules->has_drawn_timers},
        {WA_TOR_PLAIN_shark_select, 1, word, &rules->seed},
        {WA_TOR_PLAIN_shark_move, 1, word, &rules->seed},
        {WA_TOR_PLAIN_shark_move, 2, word, &rules->shark_spawn},
        {WA_TOR_PLAIN_shark_move, 3, word, &rules->has_drawn_timers},
        {WA_TOR_PLAIN_shark_move, 4, word, &rules->shark_energy},
        {WA_TOR_PLAIN_shark_move, 5, word, &rules->shark_gain},
        {WRITE_WORLD, 0, sizeof world->codes, &world->codes},
    };
    return bench_plain_set(plain, args, sizeof args / sizeof *args, error);
}

/* In two dimensions, so that no work-item has to divide. */
static int launch(struct world *world, unsigned kernel, cl_event *event, bench_error *error) {
    size_t local[2] = {LOCAL_X, LOCAL_Y};
    size_t global[2] = {(world->rules.width + local[0] - 1) / local[0] * local[0],
                        (world->rules.height + local[1] - 1) / local[1] * local[1]};
    cl_int code = clEnqueueNDRangeKernel(world->plain.buffers.queue, world->plain.kernels[kernel],
                                         2, NULL, global, local, 0, NULL, event);
    return code == CL_SUCCESS ? 0 : bench_error_cl(error, kernel_names[kernel], code);
}

static int create(const wa_tor_desc *desc, void **self, bench_error *error) {
    struct world *world = calloc(1, sizeof *world);
    if (!world) {
        return bench_error_set(error, "host memory ran out");
    }
    world->rules = desc->rules;
    world->cells = (size_t)desc->rules.width * desc->rules.height;
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
    for (unsigned phase = 0; phase < WA_TOR_PLAIN_PHASES; phase++) {
        const bench_arg iteration = {phase, 0, sizeof world->iteration, &world->iteration};
        if (bench_plain_set(&world->plain, &iteration, 1, error) ||
            launch(world, phase, events ? &events[phase] : NULL, error)) {
            return -1;
        }
    }
    world->iteration++;
    return bench_plain_flush(&world->plain, error);
}

static int read_codes(void *self, void *codes, bench_error *error) {
    struct world *world = self;
    return launch(world, WRITE_WORLD, NULL, error) ||
                   bench_buffer_read(&world->plain.buffers, world->codes, 0,
                                     world->cells * sizeof(uint32_t), codes, error)
               ? -1
               : 0;
}

const wa_tor_ops wa_tor_plain_ops = {.create = create,
                                     .world = {.destroy = bench_plain_destroy,
                                               .step = step,
                                               .finish = bench_plain_finish,
                                               .read = read_codes}};
