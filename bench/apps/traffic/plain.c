/* The baselines in plain OpenCL: host side of plain.cl. See world.h. */
#include <stdio.h>
#include <stdlib.h>

#include "bench/apps/plain.h"
#include "world.h"

#define OPTIONS_BYTES 128

static const char *const kernel_names[] = {"cell_init",  "car_start", "look",       "act",
                                           "act_places", "act_cars",  "write_codes"};
enum { CELL_INIT, CAR_START, LOOK, ACT, ACT_PLACES, ACT_CARS, WRITE, KERNEL_COUNT };

/* Bytes of the fields of plain.cl, in order. */
static const size_t field_bytes[] = {4, 4, 4, 4, 1, 1, 1, 1, 1};
#define FIELDS 9
static const size_t struct_bytes[] = {24};

/* What there is besides cells; the first four only while the world is made. */
enum { NEXT, PREVIOUS, MAX_VELOCITY, LIMIT, STARTS, SPECIALS, GROUPS, WAITING, PRODUCERS };
enum { CONTROLLERS = PRODUCERS + 1, PHASES, CODES, BUFFER_COUNT };

struct world {
    bench_plain plain;
    const traffic_network *network;
    cl_mem buffers[BUFFER_COUNT];
    uint32_t iteration;
};

/* ---- Making the world ------------------------------------------------------------------------ */

static int build(struct world *world, const traffic_desc *desc, bench_error *error) {
    static const char *const before[] = {"bench/apps/traffic/rules.clh", NULL};
    char options[OPTIONS_BYTES];
    bench_plain_desc plain = {.world = &desc->world,
                              .file = "bench/apps/traffic/plain.cl",
                              .before = before,
                              .options = options,
                              .uses_random123 = 1,
                              .names = kernel_names,
                              .count = KERNEL_COUNT};
    snprintf(options, sizeof options, "-DLAYOUT_AOS=%d %s", desc->world.variant == BENCH_AOS,
             traffic_options);
    return bench_plain_create(&plain, &world->plain, error);
}

/* The number of cells and the cells, the same for all kernels. */
static int create_cells(struct world *world, int is_aos, bench_error *error) {
    const uint32_t *count = &world->network->cell_count;
    return bench_plain_set_common(&world->plain, sizeof *count, count, error) ||
                   bench_plain_set_objects(&world->plain, *count,
                                           is_aos ? struct_bytes : field_bytes, is_aos ? 1 : FIELDS,
                                           error)
               ? -1
               : 0;
}

static int create_buffers(struct world *world, bench_error *error) {
    const traffic_network *n = world->network;
    const struct {
        size_t count, bytes;
        const void *data;
    } all[BUFFER_COUNT] = {
        [NEXT] = {n->cell_count, 4, n->next},
        [PREVIOUS] = {n->cell_count, 4, n->previous},
        [MAX_VELOCITY] = {n->cell_count, 1, n->max_velocity},
        [LIMIT] = {n->cell_count, 1, n->limit},
        [STARTS] = {n->start_count, sizeof *n->starts, n->starts},
        [SPECIALS] = {n->special_count, sizeof *n->specials, n->specials},
        [GROUPS] = {n->group_count, sizeof *n->groups, n->groups},
        [WAITING] = {n->group_count, 1, NULL},
        [PRODUCERS] = {n->producer_count, 4, n->producers},
        [CONTROLLERS] = {n->controller_count, sizeof *n->controllers, n->controllers},
        [PHASES] = {n->controller_count, 1, NULL},
        [CODES] = {n->cell_count, 4, NULL},
    };
    int result = 0;
    for (int i = 0; i < BUFFER_COUNT && result == 0; i++) {
        result = bench_buffer_create(&world->plain.buffers, all[i].count, all[i].bytes, all[i].data,
                                     &world->buffers[i], error);
    }
    return result;
}

/* What each kernel has after the cells, but the moment, which LOOK, ACT and ACT_PLACES have
 * last. */
enum { LOOK_MOMENT = 4, ACT_MOMENT = 7 };

static int set_arguments(struct world *world, bench_error *error) {
    const traffic_network *n = world->network;
    const cl_mem *buffers = world->buffers;
#define BUFFER(name) sizeof(cl_mem), &buffers[name]
#define NUMBER(name) sizeof n->name, &n->name
#define PLACES(kernel)                                                                             \
    {kernel, 0, BUFFER(PRODUCERS)}, {kernel, 1, NUMBER(producer_count)},                           \
        {kernel, 2, BUFFER(CONTROLLERS)}, {kernel, 3, BUFFER(PHASES)},                             \
        {kernel, 4, NUMBER(controller_count)}, {kernel, 5, BUFFER(GROUPS)}, {                      \
        kernel, 6, BUFFER(WAITING)                                                                 \
    }
    const bench_arg all[] = {{CELL_INIT, 0, BUFFER(NEXT)},
                             {CELL_INIT, 1, BUFFER(PREVIOUS)},
                             {CELL_INIT, 2, BUFFER(MAX_VELOCITY)},
                             {CELL_INIT, 3, BUFFER(LIMIT)},
                             {CAR_START, 0, BUFFER(STARTS)},
                             {CAR_START, 1, NUMBER(start_count)},
                             {LOOK, 0, BUFFER(SPECIALS)},
                             {LOOK, 1, BUFFER(GROUPS)},
                             {LOOK, 2, BUFFER(WAITING)},
                             {LOOK, 3, NUMBER(group_count)},
                             PLACES(ACT),
                             PLACES(ACT_PLACES),
                             {WRITE, 0, BUFFER(CODES)}};
#undef BUFFER
#undef NUMBER
#undef PLACES
    return bench_plain_set(&world->plain, all, sizeof all / sizeof *all, error);
}

static int launch(struct world *world, unsigned kernel, cl_event *event, bench_error *error) {
    return bench_plain_launch(&world->plain, kernel, 0, world->network->cell_count, event, error);
}

static int step(void *self, cl_event *events, bench_error *error) {
    struct world *world = self;
    traffic_moment now = traffic_get_moment(&world->network->rules, world->iteration++);
    const bench_arg moments[] = {{LOOK, LOOK_MOMENT, sizeof now, &now},
                                 {ACT, ACT_MOMENT, sizeof now, &now},
                                 {ACT_PLACES, ACT_MOMENT, sizeof now, &now}};
    static const unsigned own[] = {LOOK, ACT}, dynasoar[] = {ACT_PLACES, LOOK, ACT_CARS};
    int is_dynasoar = world->network->rules.is_dynasoar;
    if (bench_plain_set(&world->plain, moments, 3, error)) {
        return -1;
    }
    for (unsigned phase = 0; phase < traffic_phase_count(&world->network->rules); phase++) {
        if (launch(world, (is_dynasoar ? dynasoar : own)[phase], events ? &events[phase] : NULL,
                   error)) {
            return -1;
        }
    }
    return bench_plain_flush(&world->plain, error);
}

static int read_codes(void *self, void *state, bench_error *error) {
    uint32_t *codes = state;
    struct world *world = self;
    size_t bytes = world->network->cell_count * sizeof *codes;
    return launch(world, WRITE, NULL, error) ||
                   bench_buffer_read(&world->plain.buffers, world->buffers[CODES], 0, bytes, codes,
                                     error)
               ? -1
               : 0;
}

static int create(const traffic_desc *desc, void **self, bench_error *error) {
    struct world *world = calloc(1, sizeof *world);
    if (!world) {
        return bench_error_set(error, "host memory ran out");
    }
    world->network = desc->network;
    int result = build(world, desc, error) ||
                 create_cells(world, desc->world.variant == BENCH_AOS, error) ||
                 create_buffers(world, error) || set_arguments(world, error) ||
                 launch(world, CELL_INIT, NULL, error) || launch(world, CAR_START, NULL, error) ||
                 bench_plain_finish(world, error);
    for (int i = NEXT; i <= LIMIT; i++) {
        bench_buffer_drop(&world->plain.buffers, world->buffers[i]);
    }
    if (result) {
        bench_plain_destroy(world);
        return -1;
    }
    *self = world;
    return 0;
}

/* ---- Steps and states ------------------------------------------------------------------------ */

const traffic_ops traffic_plain_ops = {.create = create,
                                       .world = {.destroy = bench_plain_destroy,
                                                 .step = step,
                                                 .finish = bench_plain_finish,
                                                 .read = read_codes}};
