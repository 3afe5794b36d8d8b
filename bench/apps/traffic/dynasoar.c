/* Traffic with the objects of DynaSOAr's program: host side of dynasoar.cl. See cells.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cells.h"

#define DEGREE TRAFFIC_RANDOM_DEGREE_MAX /* of the arrays in dynasoar.schema */

/* In the order in which they are created; the phases of a step last. */
static const char *const kernel_names[] = {"cell_init",     "cell_link",    "light_init",
                                           "car_start",     "write_codes",  "create_cars",
                                           "change_lights", "prepare_path", "move_cars"};
enum { CELL_INIT, CELL_LINK, LIGHT_INIT, CAR_START, WRITE, CREATE_CARS };
enum { CHANGE_LIGHTS = CREATE_CARS + 1, PREPARE_PATH, MOVE_CARS, KERNEL_COUNT };

/* The network on the device, while objects are made of it. */
enum { LIST, LINKS, MAX_VELOCITY, LIMIT, GROUPS, CONTROLLERS, STARTS, BUFFER_COUNT };

/* ---- Making the world ------------------------------------------------------------------------ */

/* What the kernels read while objects are made, on the host. */
typedef struct setup {
    traffic_cells *world;
    uint32_t *list;  /* all cells, the producers last */
    uint32_t *links; /* DEGREE cells that lead to each, DEGREE that it leads to */
    cl_mem buffers[BUFFER_COUNT];
    bench_error *error;
} setup;

static int check(const traffic_network *n, bench_error *error) {
    if (!n->rules.is_dynasoar || n->rules.is_smart || n->light_count < n->controller_count) {
        return bench_error_set(error,
                               "model=dynasoar needs rules=dynasoar, lights=timed and no "
                               "yield signs, as in DynaSOAr's program");
    }
    for (uint32_t i = 0; i < n->special_count; i++) {
        if (n->specials[i].count > DEGREE) {
            return bench_error_set(error,
                                   "model=dynasoar has room for %d streets that begin at an "
                                   "intersection, and there are %u",
                                   DEGREE, n->specials[i].count);
        }
    }
    for (uint32_t i = 0; i < n->controller_count; i++) {
        if (n->controllers[i].group_count > DEGREE) {
            return bench_error_set(error,
                                   "model=dynasoar has room for %d streets that end at an "
                                   "intersection, and there are %u",
                                   DEGREE, n->controllers[i].group_count);
        }
    }
    return 0;
}

static void add_link(const setup *s, uint32_t from, uint32_t to) {
    uint32_t *out = &s->links[(size_t)2 * DEGREE * from + DEGREE];
    uint32_t *in = &s->links[(size_t)2 * DEGREE * to];
    while (*out != TRAFFIC_NONE) out++;
    while (*in != TRAFFIC_NONE) in++;
    *out = to;
    *in = from;
}

static void link_cells(const setup *s) {
    const traffic_network *n = s->world->network;
    memset(s->links, 0xff, (size_t)n->cell_count * 2 * DEGREE * sizeof *s->links);
    for (uint32_t cell = 0; cell < n->cell_count; cell++) {
        uint32_t next = n->next[cell];
        if (!(next & TRAFFIC_SPECIAL)) {
            add_link(s, cell, next);
            continue;
        }
        const traffic_special *special = &n->specials[next & ~TRAFFIC_SPECIAL];
        for (uint32_t k = 0; k < special->count; k++) {
            add_link(s, cell, special->out[k]);
        }
    }
}

/* The plain cells and then the producers. */
static void list_cells(const setup *s) {
    const traffic_network *n = s->world->network;
    uint32_t at = 0, producer = 0, plain = n->cell_count - n->producer_count;
    for (uint32_t cell = 0; cell < n->cell_count; cell++) {
        if (producer < n->producer_count && n->producers[producer] == cell) {
            s->list[plain + producer++] = cell;
        } else {
            s->list[at++] = cell;
        }
    }
}

static int upload(setup *s) {
    const traffic_network *n = s->world->network;
    const traffic_array all[BUFFER_COUNT] = {
        [LIST] = {n->cell_count, 4, s->list},
        [LINKS] = {(size_t)n->cell_count * 2 * DEGREE, 4, s->links},
        [MAX_VELOCITY] = {n->cell_count, 1, n->max_velocity},
        [LIMIT] = {n->cell_count, 1, n->limit},
        [GROUPS] = {n->group_count, sizeof *n->groups, n->groups},
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
                             TRAFFIC_BUFFER(CELL_LINK, 1, LINKS),
                             TRAFFIC_BUFFER(CELL_LINK, 2, MAX_VELOCITY),
                             TRAFFIC_BUFFER(CELL_LINK, 3, LIMIT),
                             TRAFFIC_CELLS(LIGHT_INIT),
                             TRAFFIC_BUFFER(LIGHT_INIT, 1, CONTROLLERS),
                             TRAFFIC_BUFFER(LIGHT_INIT, 2, GROUPS),
                             TRAFFIC_CELLS(CAR_START),
                             TRAFFIC_BUFFER(CAR_START, 1, STARTS),
                             TRAFFIC_CELLS(WRITE)};
    return bench_objects_set(&world->objects, all, sizeof all / sizeof *all, s->error);
}

static int make_cells(setup *s, const char *class_name, uint32_t first, uint32_t count) {
    const bench_arg from = {CELL_INIT, 2, sizeof first, &first};
    return bench_objects_set(&s->world->objects, &from, 1, s->error) ||
                   bench_objects_do_new(&s->world->objects, class_name, count, CELL_INIT, s->error)
               ? -1
               : 0;
}

static int make_objects(setup *s) {
    const traffic_network *n = s->world->network;
    bench_objects *objects = &s->world->objects;
    uint32_t plain = n->cell_count - n->producer_count;
    return set_arguments(s) || make_cells(s, "Cell", 0, plain) ||
                   make_cells(s, "ProducerCell", plain, n->producer_count) ||
                   bench_objects_do_all(objects, CELL_LINK, NULL, s->error) ||
                   bench_objects_do_new(objects, "TrafficLight", n->light_count, LIGHT_INIT,
                                        s->error) ||
                   bench_objects_do_new(objects, "Car", n->start_count, CAR_START, s->error) ||
                   bench_objects_finish(s->world, s->error)
               ? -1
               : 0;
}

static int populate(traffic_cells *world, bench_error *error) {
    size_t cells = world->network->cell_count;
    setup s = {.world = world,
               .list = malloc(cells * sizeof *s.list),
               .links = malloc(cells * 2 * DEGREE * sizeof *s.links),
               .error = error};
    int result = -1;
    if (s.list && s.links) {
        list_cells(&s);
        link_cells(&s);
        result = upload(&s) || make_objects(&s) ? -1 : 0;
    } else {
        bench_error_set(error, "host memory ran out");
    }
    traffic_cells_drop(world, s.buffers, BUFFER_COUNT);
    free(s.list);
    free(s.links);
    return result;
}

static int create(const traffic_desc *desc, void **self, bench_error *error) {
    char options[TRAFFIC_OPTIONS_BYTES];
    /* A cell has 57 bytes, and at most one car of 60 to 76, with what a path has outside. Cars
     * seldom fill a quarter of the cells. */
    traffic_model model = {.file = "bench/apps/traffic/dynasoar.cl",
                           .options = options,
                           .bytes_per_cell = 110,
                           .names = kernel_names,
                           .count = KERNEL_COUNT,
                           .write = WRITE,
                           .populate = populate};
    if (check(desc->network, error)) {
        return -1;
    }
    char *schema = traffic_path_schema(&desc->path, error);
    if (!schema) {
        return -1;
    }
    model.schema_text = schema;
    snprintf(options, sizeof options, "%s -DPATH_IS_FIXED=%d", traffic_options,
             desc->path.layout == TRAFFIC_PATH_FIXED);
    int result = traffic_cells_create(&model, desc, self, error);
    free(schema);
    return result;
}

/* ---- Steps and states ------------------------------------------------------------------------ */

static int step(void *self, cl_event *events, bench_error *error) {
    traffic_cells *world = self;
    traffic_moment now = traffic_get_moment(&world->network->rules, world->iteration++);
    const bench_arg moments[] = {{CREATE_CARS, 0, sizeof now, &now},
                                 {PREPARE_PATH, 0, sizeof now, &now}};
    if (bench_objects_set(&world->objects, moments, 2, error)) {
        return -1;
    }
    for (unsigned kernel = CREATE_CARS; kernel < KERNEL_COUNT; kernel++) {
        cl_event *event = events ? &events[kernel - CREATE_CARS] : NULL;
        if (bench_objects_do_all(&world->objects, kernel, event, error)) {
            return -1;
        }
    }
    return 0;
}

const traffic_ops traffic_dynasoar_ops = {
    .create = create,
    .world = {.destroy = bench_objects_destroy,
              .step = step,
              .finish = bench_objects_finish,
              .read = traffic_cells_read,
              .get_compacting = bench_objects_get_compacting}};
