/* The baselines in plain OpenCL: host side of plain.cl. See world.h. */
#include <stdio.h>
#include <stdlib.h>

#include "bench/apps/plain.h"
#include "world.h"

#define LONGEST 8 /* as in heap.c */

/* As in heap.c. */
enum { FORCE, MOVE, PUSH, SPLIT, GATHER, INIT, ROOT, WRITE, KERNEL_COUNT };
static const char *const kernel_names[KERNEL_COUNT] = {
    "compute_force", "move", "push", "split", "gather", "body_init", "root_init", "write_bodies"};

/* Of plain.cl. */
enum { NODES_MADE, NODES_BEFORE, STACK_HEIGHT, NODES_LACKING, COUNTERS };

/* Bytes of the fields of plain.cl, in its order. */
static const size_t body_fields[] = {16, 8, 8, 4, 4, 1, 1},
                    node_fields[] = {64, 16, 16, 4, 4, 4, 1, 1};
static const size_t body_struct[] = {48}, node_struct[] = {128};

/* In double precision. */
static const size_t precise_body_fields[] = {32, 16, 16, 4, 4, 1, 1},
                    precise_node_fields[] = {128, 32, 16, 4, 4, 4, 1, 1};
static const size_t precise_body_struct[] = {96}, precise_node_struct[] = {256};

struct world {
    bench_plain plain;
    cl_uint bodies, nodes;
    cl_uint pass; /* the number of the next run of `gather` */
    barnes_hut_constants constants;
    cl_mem counters, states, shown, levels; /* `states`: the first ones; `shown`: those to read */
};

/* ---- Making the world ------------------------------------------------------------------------ */

static int build_program(struct world *world, const barnes_hut_desc *desc, bench_error *error) {
    char rules[BARNES_HUT_OPTIONS_BYTES], options[BARNES_HUT_OPTIONS_BYTES + 32];
    bench_plain_desc plain = {.world = &desc->world,
                              .file = "bench/apps/barnes-hut/plain.cl",
                              .before = barnes_hut_sources,
                              .options = options,
                              .names = kernel_names,
                              .count = KERNEL_COUNT};
    barnes_hut_write_options(&world->constants, rules);
    snprintf(options, sizeof options, "%s -DLAYOUT_AOS=%d", rules,
             desc->world.variant == BENCH_AOS);
    return bench_plain_create(&plain, &world->plain, error);
}

/* The counts, counters and arrays, the same for all kernels. */
static int create_tree(struct world *world, int is_aos, bench_error *error) {
    bench_plain *plain = &world->plain;
    int is_precise = world->constants.is_precise;
    const size_t *bodies = !is_aos      ? is_precise ? precise_body_fields : body_fields
                           : is_precise ? precise_body_struct
                                        : body_struct;
    const size_t *nodes = !is_aos      ? is_precise ? precise_node_fields : node_fields
                          : is_precise ? precise_node_struct
                                       : node_struct;
    cl_mem unused;
    return bench_buffer_create(&plain->buffers, COUNTERS, sizeof(cl_int), NULL, &world->counters,
                               error) ||
                   bench_buffer_create(&plain->buffers, world->nodes, sizeof(cl_uint), NULL,
                                       &unused, error) ||
                   bench_plain_set_common(plain, sizeof world->bodies, &world->bodies, error) ||
                   bench_plain_set_common(plain, sizeof world->nodes, &world->nodes, error) ||
                   bench_plain_set_common(plain, sizeof world->counters, &world->counters, error) ||
                   bench_plain_set_common(plain, sizeof unused, &unused, error) ||
                   bench_plain_set_objects(plain, world->bodies, bodies,
                                           is_aos ? 1 : sizeof body_fields / sizeof *body_fields,
                                           error) ||
                   bench_plain_set_objects(plain, world->nodes, nodes,
                                           is_aos ? 1 : sizeof node_fields / sizeof *node_fields,
                                           error)
               ? -1
               : 0;
}

static int create_states(struct world *world, const barnes_hut_desc *desc, bench_error *error) {
    return bench_buffer_create(&world->plain.buffers, world->bodies, sizeof *desc->bodies,
                               desc->bodies, &world->states, error) ||
                   bench_buffer_create(&world->plain.buffers, world->bodies,
                                       barnes_hut_shown_bytes(&world->constants), NULL,
                                       &world->shown, error) ||
                   bench_buffer_create(&world->plain.buffers, world->bodies, 1, NULL,
                                       &world->levels, error)
               ? -1
               : 0;
}

static int set_arguments(struct world *world, bench_error *error) {
    const barnes_hut_constants *constants = &world->constants;
    const cl_uint longest = LONGEST;
    const bench_arg all[] = {{INIT, 0, sizeof(cl_mem), &world->states},
                             {ROOT, 0, sizeof constants->reach, constants->reach},
                             barnes_hut_real_arg(constants, FORCE, 0, &constants->softening2),
                             {FORCE, 1, sizeof constants->path, &constants->path},
                             barnes_hut_real_arg(constants, MOVE, 0, &constants->kick),
                             barnes_hut_real_arg(constants, MOVE, 1, &constants->dt),
                             {SPLIT, 0, sizeof longest, &longest},
                             {SPLIT, 1, sizeof constants->reach, constants->reach},
                             {SPLIT, 2, sizeof world->pass, &world->pass},
                             {WRITE, 0, sizeof(cl_mem), &world->shown},
                             {WRITE, 1, sizeof(cl_mem), &world->levels}};
    return bench_plain_set(&world->plain, all, sizeof all / sizeof *all, error);
}

static int launch(struct world *world, unsigned kernel, cl_event *event, bench_error *error) {
    int is_over_nodes = kernel == SPLIT || kernel == GATHER;
    return bench_plain_launch(&world->plain, kernel, 0,
                              is_over_nodes ? world->nodes : world->bodies, event, error);
}

static int gather(struct world *world, cl_event *event, bench_error *error) {
    const bench_arg now = {GATHER, 0, sizeof world->pass, &world->pass},
                    next = {SPLIT, 2, sizeof world->pass, &world->pass};
    if (bench_plain_set(&world->plain, &now, 1, error) || launch(world, GATHER, event, error)) {
        return -1;
    }
    world->pass++;
    return bench_plain_set(&world->plain, &next, 1, error);
}

/* As in heap.c. */
static int build_tree(struct world *world, bench_error *error) {
    const cl_uint any = UINT32_MAX;
    const bench_arg longest = {SPLIT, 0, sizeof any, &any};
    uint32_t rounds = barnes_hut_count_rounds(world->bodies);
    for (uint32_t i = 0; i < rounds; i++) {
        if ((i + 1 == rounds && bench_plain_set(&world->plain, &longest, 1, error)) ||
            launch(world, PUSH, NULL, error) || launch(world, SPLIT, NULL, error)) {
            return -1;
        }
    }
    return gather(world, NULL, error);
}

static int read_counters(struct world *world, cl_int counters[COUNTERS], bench_error *error) {
    return bench_buffer_read(&world->plain.buffers, world->counters, 0, COUNTERS * sizeof *counters,
                             counters, error);
}

static int finish(void *self, bench_error *error) {
    struct world *world = self;
    cl_int counters[COUNTERS];
    if (read_counters(world, counters, error)) {
        return -1;
    }
    if (counters[NODES_LACKING]) {
        return bench_error_set(error, "%u nodes are too few for %u bodies as they lie; give more",
                               world->nodes, world->bodies);
    }
    return 0;
}

static int create(const barnes_hut_desc *desc, const barnes_hut_constants *constants, void **self,
                  bench_error *error) {
    struct world *world = calloc(1, sizeof *world);
    if (!world) {
        return bench_error_set(error, "host memory ran out");
    }
    world->bodies = desc->count;
    world->nodes = desc->nodes ? desc->nodes : 2 * desc->count + 4096;
    world->pass = 1;
    world->constants = *constants;
    if (build_program(world, desc, error) ||
        create_tree(world, desc->world.variant == BENCH_AOS, error) ||
        create_states(world, desc, error) || set_arguments(world, error) ||
        launch(world, INIT, NULL, error) || launch(world, ROOT, NULL, error) ||
        build_tree(world, error) || finish(world, error)) {
        bench_plain_destroy(world);
        return -1;
    }
    *self = world;
    return 0;
}

/* ---- Steps and states ------------------------------------------------------------------------ */

static int step(void *self, cl_event *events, bench_error *error) {
    struct world *world = self;
    for (unsigned kernel = FORCE; kernel < GATHER; kernel++) {
        if (launch(world, kernel, events ? &events[kernel] : NULL, error)) {
            return -1;
        }
    }
    if (gather(world, events ? &events[GATHER] : NULL, error)) {
        return -1;
    }
    return bench_plain_flush(&world->plain, error);
}

static int read_state(void *self, void *out, bench_error *error) {
    barnes_hut_state *state = out;
    struct world *world = self;
    cl_int counters[COUNTERS];
    if (launch(world, WRITE, NULL, error) || read_counters(world, counters, error) ||
        barnes_hut_read_bodies(&world->constants, &world->plain.buffers, world->shown,
                               world->bodies, state, error) ||
        (state->levels && bench_buffer_read(&world->plain.buffers, world->levels, 0, world->bodies,
                                            state->levels, error))) {
        return -1;
    }
    state->nodes = (uint32_t)(counters[NODES_MADE] - counters[STACK_HEIGHT]);
    return 0;
}

const barnes_hut_ops barnes_hut_plain_ops = {
    .create = create,
    .world = {.destroy = bench_plain_destroy, .step = step, .finish = finish, .read = read_state}};
