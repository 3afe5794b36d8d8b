/* The baselines in plain OpenCL: host side of plain.cl. See world.h. */
#include <stdio.h>
#include <stdlib.h>

#include "bench/apps/plain.h"
#include "device.h"

/* Behind those of device.h. */
enum { INIT = STRUCTURE_KERNELS_SHARED, KERNEL_COUNT };
static const char *const kernel_names[KERNEL_COUNT] = {STRUCTURE_KERNEL_NAMES, "init"};

/* What each is launched for. */
typedef enum range { PULL_NODES, ORDINARY_NODES, NODES, SPRINGS, BOTH, RANGE_COUNT } range;
static const range ranges[KERNEL_COUNT] = {
    [STRUCTURE_PULL] = PULL_NODES,     [STRUCTURE_FORCE] = SPRINGS,
    [STRUCTURE_MOVE] = ORDINARY_NODES, [STRUCTURE_BEGIN_SEARCH] = NODES,
    [STRUCTURE_JOIN] = SPRINGS,        [STRUCTURE_VISIT] = NODES,
    [STRUCTURE_MARK] = BOTH,           [STRUCTURE_REMOVE] = BOTH,
    [STRUCTURE_WRITE] = BOTH,          [INIT] = BOTH};

/* Bytes of a node's and a spring's fields in plain.cl, in order, and of the structs. */
static const size_t node_fields[] = {8, 8, 1, 4, sizeof(uint32_t[STRUCTURE_DEGREE]), 4, 1};
static const size_t spring_fields[] = {4, 4, 8, 4, 4, 4, 1};
#define FIELDS 7
static const size_t node_struct[] = {48}, spring_struct[] = {32};

struct world {
    bench_plain plain;
    size_t items[RANGE_COUNT];
    structure_device device;
};

/* ---- Making the world ------------------------------------------------------------------------ */

static int build(struct world *world, const structure_desc *desc, bench_error *error) {
    char rules[STRUCTURE_OPTIONS_BYTES], options[STRUCTURE_OPTIONS_BYTES + 64];
    bench_plain_desc plain = {.world = &desc->world,
                              .file = "bench/apps/structure/plain.cl",
                              .before = structure_sources,
                              .options = options,
                              .names = kernel_names,
                              .count = KERNEL_COUNT};
    int is_aos = desc->world.variant == BENCH_AOS;
    structure_write_options(&desc->rules, rules);
    snprintf(options, sizeof options, "%s -DLAYOUT_AOS=%d -DFOREST_STRIDE=%zu", rules, is_aos,
             is_aos ? node_struct[0] / 4 : 1);
    return bench_plain_create(&plain, &world->plain, error);
}

/* The world, the same for all kernels. */
static int create_world(struct world *world, const structure_network *network, int is_aos,
                        bench_error *error) {
    bench_plain *plain = &world->plain;
    const cl_uint numbers[] = {network->first_pull, network->first_anchor, network->node_count,
                               network->spring_count};
    size_t fields = is_aos ? 1 : FIELDS;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        if (bench_plain_set_common(plain, sizeof numbers[i], &numbers[i], error)) {
            return -1;
        }
    }
    return bench_plain_set_objects(plain, network->node_count, is_aos ? node_struct : node_fields,
                                   fields, error) ||
                   bench_plain_set_objects(plain, network->spring_count,
                                           is_aos ? spring_struct : spring_fields, fields, error)
               ? -1
               : 0;
}

/* What each kernel has after the world, but `init` and the last argument of `pull`. */
static int set_arguments(struct world *world, const structure_desc *desc, bench_error *error) {
    bench_arg shared[STRUCTURE_ARGS];
    bench_plain *plain = &world->plain;
    if (structure_create_buffers(&world->device, desc->network, error)) {
        return -1;
    }
    structure_list_args(&desc->rules, &world->device.own, shared);
    return bench_plain_set(plain, shared, STRUCTURE_ARGS, error);
}

static int launch(struct world *world, unsigned kernel, cl_event *event, bench_error *error) {
    return bench_plain_launch(&world->plain, kernel, 0, world->items[ranges[kernel]], event, error);
}

static int run(void *self, structure_kernel kernel, cl_event *event, bench_error *error) {
    return launch(self, kernel, event, error);
}

static int set(void *self, const bench_arg *args, size_t count, bench_error *error) {
    return bench_plain_set(self, args, count, error);
}

static int fill(struct world *world, const structure_network *network, bench_error *error) {
    bench_plain *plain = &world->plain;
    cl_mem nodes = NULL, springs = NULL;
    const bench_arg from[] = {{INIT, 0, sizeof nodes, &nodes}, {INIT, 1, sizeof springs, &springs}};
    int result =
        bench_buffer_create(&plain->buffers, network->node_count, sizeof *network->nodes,
                            network->nodes, &nodes, error) ||
                bench_buffer_create(&plain->buffers, network->spring_count,
                                    sizeof *network->springs, network->springs, &springs, error) ||
                bench_plain_set(plain, from, 2, error) || launch(world, INIT, NULL, error) ||
                bench_plain_finish(plain, error)
            ? -1
            : 0;
    bench_buffer_drop(&plain->buffers, nodes);
    bench_buffer_drop(&plain->buffers, springs);
    return result;
}

/* Work-items for each range. */
static void find_sizes(struct world *world, const structure_network *network) {
    size_t nodes = network->node_count, springs = network->spring_count;
    world->items[PULL_NODES] = network->first_anchor - network->first_pull;
    world->items[ORDINARY_NODES] = network->first_pull;
    world->items[NODES] = nodes;
    world->items[SPRINGS] = springs;
    world->items[BOTH] = nodes > springs ? nodes : springs;
}

static int create(const structure_desc *desc, void **self, bench_error *error) {
    static const structure_runner runner = {run, set};
    struct world *world = calloc(1, sizeof *world);
    const structure_network *network = desc->network;
    if (!world) {
        return bench_error_set(error, "host memory ran out");
    }
    world->device = (structure_device){
        .runner = &runner, .self = world, .buffers = &world->plain.buffers, .rules = desc->rules};
    find_sizes(world, network);
    if (build(world, desc, error) ||
        create_world(world, network, desc->world.variant == BENCH_AOS, error) ||
        set_arguments(world, desc, error) || fill(world, network, error)) {
        bench_plain_destroy(world);
        return -1;
    }
    *self = world;
    return 0;
}

/* ---- Steps and states ------------------------------------------------------------------------ */

static int step(void *self, cl_event *events, bench_error *error) {
    struct world *world = self;
    return structure_run_step(&world->device, events, error)
               ? -1
               : bench_plain_flush(&world->plain, error);
}

static int read_state(void *self, void *state, bench_error *error) {
    return structure_read_state(&((struct world *)self)->device, state, error);
}

const structure_ops structure_plain_ops = {.create = create,
                                           .world = {.destroy = bench_plain_destroy,
                                                     .step = step,
                                                     .finish = bench_plain_finish,
                                                     .read = read_state}};
