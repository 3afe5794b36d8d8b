/* Nodes and springs on the heap: host side of structure.cl. See world.h. */
#include "world.h"

#include <stdlib.h>

#include "bench/heap.h"
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
    cl_context context;
    cl_command_queue queue;
    clump_context *clump;
    uint32_t iterations, node_count, steps;
    clump_heap *heap;
    clump_program *program;
    clump_kernel *kernels[KERNEL_COUNT];
    cl_mem changed, state;
    bench_compacting compacting;
};

static int fail(const struct world *world, bench_error *error, const char *what,
                clump_status status) {
    return bench_error_clump(error, what, world->clump, status);
}

static int create_heap(struct world *world, const structure_desc *desc, bench_error *error) {
    /* A node has at most 88 bytes and a spring 29; twice that is room for bitmaps and the rest of
     * blocks. */
    const structure_network *network = desc->network;
    uint64_t enough = (uint64_t)network->node_count * 180 + (uint64_t)network->spring_count * 64;
    bench_heap_desc heap = {.clump = world->clump,
                            .file = "bench/apps/structure/structure.schema",
                            .bytes = desc->heap_bytes ? desc->heap_bytes : enough + (8u << 20),
                            .block_rows = desc->block_rows};
    return bench_heap_create(&heap, &world->heap, error);
}

static int create_program(struct world *world, const structure_desc *desc, bench_error *error) {
    bench_program_desc program = {.clump = world->clump,
                                  .heap = world->heap,
                                  .file = "bench/apps/structure/structure.cl",
                                  .before = structure_sources,
                                  .tuning = &desc->tuning,
                                  .names = kernel_names,
                                  .count = KERNEL_COUNT};
    return bench_program_create(&program, &world->program, world->kernels, error);
}

/* ---- Arguments ------------------------------------------------------------------------------- */

static int set(struct world *world, int kernel, uint32_t index, size_t bytes, const void *value,
               bench_error *error) {
    clump_status status = clump_kernel_set_arg(world->kernels[kernel], index, bytes, value);
    return status == CLUMP_OK ? 0 : fail(world, error, "setting an argument", status);
}

static int set_buffer(struct world *world, int kernel, uint32_t index, cl_mem buffer,
                      bench_error *error) {
    return set(world, kernel, index, sizeof buffer, &buffer, error);
}

/* Those that do not change from step to step. */
static int set_arguments(struct world *world, const structure_rules *rules, bench_error *error) {
    static const int with_changed[] = {STRUCTURE_PULL, STRUCTURE_FORCE, STRUCTURE_BEGIN_SEARCH,
                                       STRUCTURE_JOIN, STRUCTURE_MARK,  STRUCTURE_REMOVE};
    for (size_t i = 0; i < sizeof with_changed / sizeof *with_changed; i++) {
        if (set_buffer(world, with_changed[i], 0, world->changed, error)) {
            return -1;
        }
    }
    return set(world, STRUCTURE_PULL, 1, sizeof rules->dt, &rules->dt, error) ||
                   set(world, STRUCTURE_MOVE, 0, sizeof rules->dt, &rules->dt, error) ||
                   set(world, STRUCTURE_MOVE, 1, sizeof rules->keep, &rules->keep, error) ||
                   set_buffer(world, STRUCTURE_WRITE, 0, world->state, error) ||
                   set(world, STRUCTURE_WRITE, 1, sizeof world->node_count, &world->node_count,
                       error)
               ? -1
               : 0;
}

/* ---- Making the objects ---------------------------------------------------------------------- */

/* Buffers that are needed until all is linked: the network, and where its objects are. */
typedef struct loading {
    cl_mem nodes, springs, node_refs, spring_refs;
} loading;

static int begin_loading(struct world *world, const structure_network *network, loading *l,
                         bench_error *error) {
    uint32_t nodes = network->node_count, springs = network->spring_count;
    return structure_buffer_create(world->context, nodes, sizeof *network->nodes, network->nodes,
                                   &l->nodes, error) ||
                   structure_buffer_create(world->context, springs, sizeof *network->springs,
                                           network->springs, &l->springs, error) ||
                   structure_buffer_create(world->context, nodes, sizeof(cl_uint), NULL,
                                           &l->node_refs, error) ||
                   structure_buffer_create(world->context, springs, sizeof(cl_uint), NULL,
                                           &l->spring_refs, error)
               ? -1
               : 0;
}

static void end_loading(loading *l) {
    cl_mem buffers[] = {l->nodes, l->springs, l->node_refs, l->spring_refs};
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++) {
        structure_buffer_destroy(buffers[i]);
    }
}

static int make(struct world *world, const char *class_name, uint32_t count, int kernel,
                bench_error *error) {
    uint64_t made = 0;
    clump_status status =
        clump_do_new(world->heap, class_name, count, world->kernels[kernel], &made, NULL);
    if (status != CLUMP_OK) {
        return fail(world, error, "making nodes and springs", status);
    }
    if (made != count) {
        return bench_error_set(error, "the heap has room for %llu of %u objects of class %s",
                               (unsigned long long)made, count, class_name);
    }
    return 0;
}

static int make_nodes(struct world *world, const char *class_name, uint32_t first, uint32_t end,
                      int kernel, const loading *l, bench_error *error) {
    return set_buffer(world, kernel, 0, l->nodes, error) ||
                   set_buffer(world, kernel, 1, l->node_refs, error) ||
                   set(world, kernel, 2, sizeof first, &first, error) ||
                   make(world, class_name, end - first, kernel, error)
               ? -1
               : 0;
}

static int load(struct world *world, const structure_network *network, const loading *l,
                bench_error *error) {
    if (make_nodes(world, "Node", 0, network->first_pull, NODE_INIT, l, error) ||
        make_nodes(world, "AnchorPullNode", network->first_pull, network->first_anchor,
                   PULL_NODE_INIT, l, error) ||
        make_nodes(world, "AnchorNode", network->first_anchor, network->node_count, ANCHOR_INIT, l,
                   error) ||
        set_buffer(world, SPRING_INIT, 0, l->springs, error) ||
        set_buffer(world, SPRING_INIT, 1, l->node_refs, error) ||
        set_buffer(world, SPRING_INIT, 2, l->spring_refs, error) ||
        make(world, "Spring", network->spring_count, SPRING_INIT, error) ||
        set_buffer(world, LINK_NODES, 0, l->nodes, error) ||
        set_buffer(world, LINK_NODES, 1, l->spring_refs, error)) {
        return -1;
    }
    clump_status status = clump_do_all(world->heap, world->kernels[LINK_NODES], NULL);
    if (status == CLUMP_OK) {
        status = clump_heap_poll(world->heap, NULL); /* waits: the buffers can go */
    }
    return status == CLUMP_OK ? 0 : fail(world, error, "linking nodes and springs", status);
}

/* ---- Lifetime -------------------------------------------------------------------------------- */

static void destroy(void *self) {
    struct world *world = self;
    if (!world) {
        return;
    }
    structure_buffer_destroy(world->changed);
    structure_buffer_destroy(world->state);
    for (int i = 0; i < KERNEL_COUNT; i++) {
        clump_kernel_destroy(world->kernels[i]);
    }
    clump_program_destroy(world->program);
    bench_compacting_destroy(&world->compacting);
    clump_heap_destroy(world->heap);
    free(world);
}

static int create_objects(struct world *world, const structure_desc *desc, bench_error *error) {
    loading l = {NULL, NULL, NULL, NULL};
    size_t state_words =
        desc->network->node_count * STRUCTURE_NODE_WORDS + desc->network->spring_count;
    int result =
        structure_buffer_create(world->context, 1, sizeof(cl_uint), NULL, &world->changed, error) ||
                structure_buffer_create(world->context, state_words, sizeof(cl_uint), NULL,
                                        &world->state, error) ||
                set_arguments(world, &desc->rules, error) ||
                begin_loading(world, desc->network, &l, error) ||
                load(world, desc->network, &l, error)
            ? -1
            : 0;
    end_loading(&l);
    return result;
}

static int create(const structure_desc *desc, void **self, bench_error *error) {
    struct world *world = calloc(1, sizeof *world);
    if (!world) {
        return bench_error_set(error, "host memory ran out");
    }
    world->clump = desc->clump;
    world->context = desc->context;
    world->queue = desc->queue;
    world->iterations = desc->rules.iterations;
    world->node_count = desc->network->node_count;
    if (create_heap(world, desc, error) || create_program(world, desc, error) ||
        bench_compacting_create(&world->compacting, world->clump, world->heap, NULL,
                                desc->compaction, error) ||
        create_objects(world, desc, error)) {
        destroy(world);
        return -1;
    }
    *self = world;
    return 0;
}

/* ---- Steps and looking ----------------------------------------------------------------------- */

static int finish(void *self, bench_error *error) {
    struct world *world = self;
    clump_status status = clump_heap_poll(world->heap, NULL);
    return status == CLUMP_OK ? 0 : fail(world, error, "the steps so far", status);
}

static int run(void *self, structure_kernel kernel, cl_event *event, bench_error *error) {
    struct world *world = self;
    clump_sync sync = {.event = event};
    clump_status status = clump_do_all(world->heap, world->kernels[kernel], event ? &sync : NULL);
    return status == CLUMP_OK ? 0 : fail(world, error, kernel_names[kernel], status);
}

/* 5 + 2 * iterations kernels, and two for the list of objects, which only the last invalidates. */
static int step(void *self, cl_event *events, bench_error *error) {
    struct world *world = self;
    cl_uint is_first = world->steps++ == 0;
    return set(world, STRUCTURE_PULL, 2, sizeof is_first, &is_first, error) ||
                   structure_run_step(run, world, world->iterations, events, error)
               ? -1
               : 0;
}

static int read_state(void *self, void *state, bench_error *error) {
    struct world *world = self;
    return structure_read_state(run, world, world->queue, world->state, state, error);
}

static bench_compacting *get_compacting(void *self) {
    return &((struct world *)self)->compacting;
}

const structure_ops structure_heap_ops = {.create = create,
                                          .world = {.destroy = destroy,
                                                    .step = step,
                                                    .finish = finish,
                                                    .read = read_state,
                                                    .get_compacting = get_compacting}};
