/* Traffic as objects: host side of heap.cl (model=lean). See cells.h. */
#include <stdlib.h>
#include <string.h>

#include "cells.h"

/* In the order in which they are created. */
static const char *const kernel_names[] = {"cell_init",  "cell_link", "group_init", "light_init",
                                           "yield_init", "car_start", "look",       "act",
                                           "act_places", "act_cars",  "write_codes"};
enum { CELL_INIT, CELL_LINK, GROUP_INIT, LIGHT_INIT, YIELD_INIT, CAR_START };
enum { LOOK = CAR_START + 1, ACT, ACT_PLACES, ACT_CARS, WRITE, KERNEL_COUNT };

/* The classes of cells, in the order in which they are made. */
enum { PLAIN, PRODUCER, BRANCH, PRODUCER_BRANCH, SINK, CELL_KINDS };

/* The network on the device, while objects are made of it. */
enum {
    LIST,
    NEXT,
    PREVIOUS,
    MAX_VELOCITY,
    LIMIT,
    SPECIALS,
    GROUPS,
    GROUP_REFS,
    CONTROLLERS,
    STARTS
};
enum { BUFFER_COUNT = STARTS + 1 };

/* ---- Making the world ------------------------------------------------------------------------ */

typedef struct setup {
    traffic_cells *world;
    cl_mem buffers[BUFFER_COUNT];
    bench_error *error;
} setup;

static uint8_t kind_of(const traffic_network *n, uint32_t cell, int is_producer) {
    uint32_t next = n->next[cell];
    if (!(next & TRAFFIC_SPECIAL)) {
        return is_producer ? PRODUCER : PLAIN;
    }
    if (n->specials[next & ~TRAFFIC_SPECIAL].is_sink) {
        return SINK;
    }
    return is_producer ? PRODUCER_BRANCH : BRANCH;
}

/* The cells class by class. `counts` of each. */
static uint32_t *list_cells(const traffic_network *n, uint32_t counts[CELL_KINDS]) {
    uint32_t *list = malloc(n->cell_count * sizeof *list), at = 0;
    uint8_t *kinds = malloc(n->cell_count);
    memset(counts, 0, CELL_KINDS * sizeof *counts);
    for (uint32_t i = 0, producer = 0; list && kinds && i < n->cell_count; i++) {
        int is_producer = producer < n->producer_count && n->producers[producer] == i;
        producer += (uint32_t)is_producer;
        kinds[i] = kind_of(n, i, is_producer);
        counts[kinds[i]]++;
    }
    for (uint8_t kind = 0; list && kinds && kind < CELL_KINDS; kind++) {
        for (uint32_t i = 0; i < n->cell_count; i++) {
            if (kinds[i] == kind) {
                list[at++] = i;
            }
        }
    }
    if (!kinds) {
        free(list);
        list = NULL;
    }
    free(kinds);
    return list;
}

static int upload(setup *s, const uint32_t *list) {
    const traffic_network *n = s->world->network;
    const traffic_array all[BUFFER_COUNT] = {
        [LIST] = {n->cell_count, 4, list},
        [NEXT] = {n->cell_count, 4, n->next},
        [PREVIOUS] = {n->cell_count, 4, n->previous},
        [MAX_VELOCITY] = {n->cell_count, 1, n->max_velocity},
        [LIMIT] = {n->cell_count, 1, n->limit},
        [SPECIALS] = {n->special_count, sizeof *n->specials, n->specials},
        [GROUPS] = {n->group_count, sizeof *n->groups, n->groups},
        [GROUP_REFS] = {n->group_count, 4, NULL},
        [CONTROLLERS] = {n->controller_count, sizeof *n->controllers, n->controllers},
        [STARTS] = {n->start_count, sizeof *n->starts, n->starts},
    };
    return traffic_cells_upload(s->world, all, BUFFER_COUNT, s->buffers, s->error);
}

static int set_arguments(setup *s) {
    traffic_cells *world = s->world;
    const bench_arg all[] = {TRAFFIC_CELLS(CELL_INIT),
                             TRAFFIC_BUFFER(CELL_INIT, 1, LIST),
                             TRAFFIC_CELLS(CELL_LINK),
                             TRAFFIC_BUFFER(CELL_LINK, 1, NEXT),
                             TRAFFIC_BUFFER(CELL_LINK, 2, PREVIOUS),
                             TRAFFIC_BUFFER(CELL_LINK, 3, MAX_VELOCITY),
                             TRAFFIC_BUFFER(CELL_LINK, 4, LIMIT),
                             TRAFFIC_BUFFER(CELL_LINK, 5, SPECIALS),
                             TRAFFIC_CELLS(GROUP_INIT),
                             TRAFFIC_BUFFER(GROUP_INIT, 1, GROUPS),
                             TRAFFIC_BUFFER(GROUP_INIT, 2, GROUP_REFS),
                             TRAFFIC_BUFFER(LIGHT_INIT, 0, GROUP_REFS),
                             TRAFFIC_BUFFER(LIGHT_INIT, 1, CONTROLLERS),
                             TRAFFIC_BUFFER(YIELD_INIT, 0, GROUP_REFS),
                             TRAFFIC_BUFFER(YIELD_INIT, 1, CONTROLLERS),
                             {YIELD_INIT, 2, 4, &world->network->light_count},
                             TRAFFIC_CELLS(CAR_START),
                             TRAFFIC_BUFFER(CAR_START, 1, STARTS),
                             TRAFFIC_CELLS(WRITE)};
    return bench_objects_set(&world->objects, all, sizeof all / sizeof *all, s->error);
}

static int make(setup *s, const char *class_name, uint32_t count, unsigned kernel) {
    return bench_objects_do_new(&s->world->objects, class_name, count, kernel, s->error);
}

static int make_objects(setup *s, const uint32_t counts[CELL_KINDS]) {
    static const char *const classes[] = {"Cell", "ProducerCell", "BranchCell",
                                          "ProducerBranchCell", "SinkCell"};
    const traffic_network *n = s->world->network;
    int result = set_arguments(s);
    uint32_t first = 0;
    for (int i = 0; i < CELL_KINDS && result == 0; i++) {
        const bench_arg from = {CELL_INIT, 2, sizeof first, &first};
        result = bench_objects_set(&s->world->objects, &from, 1, s->error) ||
                 make(s, classes[i], counts[i], CELL_INIT);
        first += counts[i];
    }
    return result || bench_objects_do_all(&s->world->objects, CELL_LINK, NULL, s->error) ||
                   make(s, "SharedSignalGroup", n->group_count, GROUP_INIT) ||
                   make(s, "TrafficLight", n->light_count, LIGHT_INIT) ||
                   make(s, "YieldController", n->controller_count - n->light_count, YIELD_INIT) ||
                   make(s, "Car", n->start_count, CAR_START)
               ? -1
               : 0;
}

static int populate(traffic_cells *world, bench_error *error) {
    setup s = {.world = world, .error = error};
    uint32_t counts[CELL_KINDS], *list = list_cells(world->network, counts);
    int result = list ? upload(&s, list) : bench_error_set(error, "host memory ran out");
    if (result == 0) {
        result = make_objects(&s, counts) || bench_objects_finish(world, error) ? -1 : 0;
    }
    traffic_cells_drop(world, s.buffers, BUFFER_COUNT);
    free(list);
    return result;
}

static int create(const traffic_desc *desc, void **self, bench_error *error) {
    /* A cell has 18 bytes, and at most one car of 19; a third of that again for bitmaps and blocks
     * in part filled. */
    static const traffic_model model = {.schema = "bench/apps/traffic/objects.schema",
                                        .file = "bench/apps/traffic/heap.cl",
                                        .options = traffic_options,
                                        .bytes_per_cell = 50,
                                        .names = kernel_names,
                                        .count = KERNEL_COUNT,
                                        .write = WRITE,
                                        .populate = populate};
    return traffic_cells_create(&model, desc, self, error);
}

/* ---- Steps and states ------------------------------------------------------------------------ */

static int step(void *self, cl_event *events, bench_error *error) {
    traffic_cells *world = self;
    traffic_moment now = traffic_get_moment(&world->network->rules, world->iteration++);
    static const unsigned own[] = {LOOK, ACT}, dynasoar[] = {ACT_PLACES, LOOK, ACT_CARS};
    const unsigned *kernels = world->network->rules.is_dynasoar ? dynasoar : own;
    const bench_arg moments[] = {
        {LOOK, 0, sizeof now, &now}, {ACT, 0, sizeof now, &now}, {ACT_PLACES, 0, sizeof now, &now}};
    if (bench_objects_set(&world->objects, moments, 3, error)) {
        return -1;
    }
    for (unsigned phase = 0; phase < traffic_phase_count(&world->network->rules); phase++) {
        if (bench_objects_do_all(&world->objects, kernels[phase], events ? &events[phase] : NULL,
                                 error)) {
            return -1;
        }
    }
    return 0;
}

const traffic_ops traffic_heap_ops = {.create = create,
                                      .world = {.destroy = bench_objects_destroy,
                                                .step = step,
                                                .finish = bench_objects_finish,
                                                .read = traffic_cells_read,
                                                .get_compacting = bench_objects_get_compacting}};
