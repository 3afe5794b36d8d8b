/* Nodes and springs on the heap: host side of heap.cl. See world.h. */
#include "world.h"

#include <stdlib.h>

#include "bench/apps/objects.h"
#include "device.h"

/* Behind those of device.h. */
enum {
    NODE_INIT = STRUCTURE_KERNELS_SHARED,
    PULL_NODE_INIT,
    ANCHOR_INIT,
    SPRING_INIT,
    LINK_NODES,
    KERNEL_COUNT
};
static const char *const kernel_names[KERNEL_COUNT] = {STRUCTURE_KERNEL_NAMES, "node_init",
                                                       "pull_node_init",       "anchor_init",
                                                       "spring_init",          "link_nodes"};

struct world {
    bench_objects objects;
    uint32_t node_count;
    structure_device device;
};

/* ---- Making the world ------------------------------------------------------------------------ */

static int create_objects(struct world *world, const structure_desc *desc, bench_error *error) {
    /* A node has at most 53 bytes and a spring 32; twice that is room for bitmaps and the rest of
     * blocks. */
    char options[STRUCTURE_OPTIONS_BYTES];
    structure_write_options(&desc->rules, options);
    const structure_network *network = desc->network;
    uint64_t enough = (uint64_t)network->node_count * 110 + (uint64_t)network->spring_count * 68;
    bench_objects_desc objects = {.world = &desc->world,
                                  .schema = "bench/apps/structure/objects.schema",
                                  .enough = enough + (8u << 20),
                                  .file = "bench/apps/structure/heap.cl",
                                  .before = structure_sources,
                                  .options = options,
                                  .names = kernel_names,
                                  .count = KERNEL_COUNT};
    return bench_objects_create(&objects, &world->objects, error);
}

static int set_arguments(struct world *world, const structure_rules *rules, bench_error *error) {
    bench_arg shared[STRUCTURE_ARGS];
    const bench_arg count = {STRUCTURE_WRITE, 1, sizeof world->node_count, &world->node_count};
    structure_list_args(rules, &world->device.own, shared);
    return bench_objects_set(&world->objects, shared, STRUCTURE_ARGS, error) ||
                   bench_objects_set(&world->objects, &count, 1, error)
               ? -1
               : 0;
}

/* Buffers that are needed until all is linked: the network, and where its objects are. */
typedef struct loading {
    cl_mem nodes, springs, node_refs, spring_refs;
} loading;

static int begin_loading(struct world *world, const structure_network *network, loading *l,
                         bench_error *error) {
    bench_buffers *buffers = &world->objects.buffers;
    uint32_t nodes = network->node_count, springs = network->spring_count;
    return bench_buffer_create(buffers, nodes, sizeof *network->nodes, network->nodes, &l->nodes,
                               error) ||
                   bench_buffer_create(buffers, springs, sizeof *network->springs, network->springs,
                                       &l->springs, error) ||
                   bench_buffer_create(buffers, nodes, sizeof(cl_uint), NULL, &l->node_refs,
                                       error) ||
                   bench_buffer_create(buffers, springs, sizeof(cl_uint), NULL, &l->spring_refs,
                                       error)
               ? -1
               : 0;
}

static void end_loading(struct world *world, loading *l) {
    const cl_mem buffers[] = {l->nodes, l->springs, l->node_refs, l->spring_refs};
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++) {
        bench_buffer_drop(&world->objects.buffers, buffers[i]);
    }
}

static int make_nodes(struct world *world, const char *class_name, cl_uint first, cl_uint end,
                      unsigned kernel, const loading *l, bench_error *error) {
    const bench_arg from[] = {{kernel, 0, sizeof(cl_mem), &l->nodes},
                              {kernel, 1, sizeof(cl_mem), &l->node_refs},
                              {kernel, 2, sizeof first, &first}};
    return bench_objects_set(&world->objects, from, 3, error) ||
                   bench_objects_do_new(&world->objects, class_name, end - first, kernel, error)
               ? -1
               : 0;
}

static int load(struct world *world, const structure_network *network, const loading *l,
                bench_error *error) {
    bench_objects *objects = &world->objects;
    const bench_arg from[] = {{SPRING_INIT, 0, sizeof(cl_mem), &l->springs},
                              {SPRING_INIT, 1, sizeof(cl_mem), &l->node_refs},
                              {SPRING_INIT, 2, sizeof(cl_mem), &l->spring_refs},
                              {LINK_NODES, 0, sizeof(cl_mem), &l->nodes},
                              {LINK_NODES, 1, sizeof(cl_mem), &l->spring_refs}};
    return make_nodes(world, "Node", 0, network->first_pull, NODE_INIT, l, error) ||
                   make_nodes(world, "AnchorPullNode", network->first_pull, network->first_anchor,
                              PULL_NODE_INIT, l, error) ||
                   make_nodes(world, "AnchorNode", network->first_anchor, network->node_count,
                              ANCHOR_INIT, l, error) ||
                   bench_objects_set(objects, from, sizeof from / sizeof *from, error) ||
                   bench_objects_do_new(objects, "Spring", network->spring_count, SPRING_INIT,
                                        error) ||
                   bench_objects_do_all(objects, LINK_NODES, NULL, error) ||
                   bench_objects_finish(world, error) /* waits: the buffers can go */
               ? -1
               : 0;
}

static int populate(struct world *world, const structure_network *network, bench_error *error) {
    loading l = {NULL, NULL, NULL, NULL};
    int result =
        begin_loading(world, network, &l, error) || load(world, network, &l, error) ? -1 : 0;
    end_loading(world, &l);
    return result;
}

static int run(void *self, structure_kernel kernel, cl_event *event, bench_error *error) {
    return bench_objects_do_all(self, kernel, event, error);
}

static int set(void *self, const bench_arg *args, size_t count, bench_error *error) {
    return bench_objects_set(self, args, count, error);
}

static int create(const structure_desc *desc, void **self, bench_error *error) {
    static const structure_runner runner = {run, set};
    struct world *world = calloc(1, sizeof *world);
    if (!world) {
        return bench_error_set(error, "host memory ran out");
    }
    world->device = (structure_device){
        .runner = &runner, .self = world, .buffers = &world->objects.buffers, .rules = desc->rules};
    world->node_count = desc->network->node_count;
    if (create_objects(world, desc, error) ||
        structure_create_buffers(&world->device, desc->network, error) ||
        set_arguments(world, &desc->rules, error) || populate(world, desc->network, error)) {
        bench_objects_destroy(world);
        return -1;
    }
    *self = world;
    return 0;
}

/* ---- Steps and states ------------------------------------------------------------------------ */

/* 5 + 2 * iterations kernels, and two for the list of objects, which only the last invalidates. */
static int step(void *self, cl_event *events, bench_error *error) {
    return structure_run_step(&((struct world *)self)->device, events, error);
}

static int read_state(void *self, void *state, bench_error *error) {
    return structure_read_state(&((struct world *)self)->device, state, error);
}

const structure_ops structure_heap_ops = {
    .create = create,
    .world = {.destroy = bench_objects_destroy,
              .step = step,
              .finish = bench_objects_finish,
              .read = read_state,
              .get_compacting = bench_objects_get_compacting}};
