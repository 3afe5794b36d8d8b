/* The baselines in plain OpenCL: host side of plain.cl. See world.h. */
#include <stdio.h>
#include <stdlib.h>

#include "bench/apps/plain.h"
#include "device.h"

/* Bytes of the fields of plain.cl, in order; the last four only if merging. */
static const size_t field_bytes[] = {4, 4, 4, 4, 4, 4, 4, 4, 4, 1, 1};
#define FIELDS_MERGING 11
#define FIELDS 7
static const size_t struct_bytes[] = {28}, struct_bytes_merging[] = {40};

/* Of the loops of all bodies with all: work-items of a group, and those that stand side by side for
 * a body. On GPUs as in cl/api/staged.clh; a CPU has no use for more than one. */
#define STAGED_BODIES 32u
typedef struct grouping {
    uint32_t group, parts;
} grouping;

struct world {
    bench_plain plain;
    uint32_t count;
    grouping all;
    uint32_t kernel_count;
    cl_mem states; /* a collision_body of each body: the first, later those to read */
};

/* ---- Making the world ------------------------------------------------------------------------ */

static grouping find_grouping(const collision_desc *desc) {
    cl_device_type type = CL_DEVICE_TYPE_GPU;
    clGetDeviceInfo(desc->world.device, CL_DEVICE_TYPE, sizeof type, &type, NULL);
    uint32_t parts = desc->parts ? desc->parts : type & CL_DEVICE_TYPE_CPU ? 1 : 8;
    return (grouping){parts == 1 ? BENCH_PLAIN_GROUP : parts * STAGED_BODIES, parts};
}

static int build(struct world *world, const collision_desc *desc, bench_error *error) {
    static const char *const sources[] = {"bench/apps/collision/rules.clh", NULL};
    char rules[COLLISION_OPTIONS_BYTES], options[COLLISION_OPTIONS_BYTES + 64];
    bench_plain_desc plain = {.world = &desc->world,
                              .file = "bench/apps/collision/plain.cl",
                              .before = sources,
                              .options = options,
                              .names = collision_kernel_names,
                              .count = world->kernel_count};
    collision_write_options(&desc->rules, rules);
    snprintf(options, sizeof options, "%s -DLAYOUT_AOS=%d -DGROUP=%u -DPARTS=%u", rules,
             desc->world.variant == BENCH_AOS, world->all.group, world->all.parts);
    return bench_plain_create(&plain, &world->plain, error);
}

/* The count and the bodies. */
static int create_bodies(struct world *world, const collision_desc *desc, bench_error *error) {
    int is_merging = desc->rules.is_merging, is_aos = desc->world.variant == BENCH_AOS;
    const size_t *bytes = !is_aos ? field_bytes : is_merging ? struct_bytes_merging : struct_bytes;
    size_t fields = is_aos ? 1 : is_merging ? FIELDS_MERGING : FIELDS;
    return bench_plain_set_common(&world->plain, sizeof world->count, &world->count, error) ||
                   bench_plain_set_objects(&world->plain, world->count, bytes, fields, error)
               ? -1
               : bench_buffer_create(&world->plain.buffers, world->count, sizeof *desc->bodies,
                                     desc->bodies, &world->states, error);
}

static int set_arguments(struct world *world, const collision_rules *rules,
                         const collision_constants *constants, bench_error *error) {
    bench_arg args[COLLISION_ARGS];
    size_t count = collision_list_args(rules, constants, &world->states, args);
    return bench_plain_set(&world->plain, args, count, error);
}

static int launch(struct world *world, uint32_t kernel, cl_event *event, bench_error *error) {
    if (kernel == COLLISION_FORCE || kernel == COLLISION_FIND) {
        uint32_t bodies = world->all.group / world->all.parts; /* of a group */
        return bench_plain_launch_groups(&world->plain, kernel,
                                         (world->count + bodies - 1) / bodies, world->all.group,
                                         event, error);
    }
    return bench_plain_launch(&world->plain, kernel, 0, world->count, event, error);
}

static int create(const collision_desc *desc, const collision_constants *constants, void **self,
                  bench_error *error) {
    struct world *world = calloc(1, sizeof *world);
    if (!world) {
        return bench_error_set(error, "host memory ran out");
    }
    world->count = desc->count;
    world->kernel_count = collision_kernel_count(&desc->rules);
    world->all = find_grouping(desc);
    if (build(world, desc, error) || create_bodies(world, desc, error) ||
        set_arguments(world, &desc->rules, constants, error) ||
        launch(world, COLLISION_INIT, NULL, error) || bench_plain_finish(world, error)) {
        bench_plain_destroy(world);
        return -1;
    }
    *self = world;
    return 0;
}

/* ---- Steps and states ------------------------------------------------------------------------ */

static int step(void *self, cl_event *events, bench_error *error) {
    struct world *world = self;
    for (uint32_t kernel = COLLISION_FORCE; kernel < world->kernel_count; kernel++) {
        if (launch(world, kernel, events ? &events[kernel - COLLISION_FORCE] : NULL, error)) {
            return -1;
        }
    }
    return bench_plain_flush(&world->plain, error);
}

/* Zeros first, so that only bodies that are left write theirs. */
static int read_bodies(void *self, void *bodies, bench_error *error) {
    struct world *world = self;
    bench_buffers *buffers = &world->plain.buffers;
    size_t bytes = world->count * sizeof(collision_body);
    return bench_buffer_clear(buffers, world->states, bytes, error) ||
                   launch(world, COLLISION_WRITE, NULL, error) ||
                   bench_buffer_read(buffers, world->states, 0, bytes, bodies, error)
               ? -1
               : 0;
}

const collision_ops collision_plain_ops = {.create = create,
                                           .world = {.destroy = bench_plain_destroy,
                                                     .step = step,
                                                     .finish = bench_plain_finish,
                                                     .read = read_bodies}};
