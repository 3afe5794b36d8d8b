/* The quadtree on the heap: host side of barnes_hut.cl. See world.h. */
#include "heap.h"

#include <stdlib.h>

#include "bench/heap.h"

#define LONGEST 8 /* chains that one work-item takes apart while the first tree is built */

/* The phases of a step come first, as in barnes_hut_phases. */
enum { FORCE, MOVE, PUSH, SPLIT, GATHER, INIT, ROOT, CODES, WRITE, FAULTS, KERNEL_COUNT };
static const char *const kernel_names[KERNEL_COUNT] = {
    "compute_force", "move",      "push",       "split",        "gather",
    "body_init",     "root_init", "find_codes", "write_bodies", "count_faults"};

struct world {
    cl_context context;
    cl_command_queue queue;
    clump_context *clump;
    uint32_t count;
    cl_uint pass; /* the number of the next run of `gather` */
    clump_heap *heap;
    clump_program *program;
    clump_kernel *kernels[KERNEL_COUNT];
    cl_mem states; /* collision_body of each: the first ones, later those to read */
    cl_mem levels;
    cl_mem root; /* a reference to it, registered with the heap */
    clump_refs *refs;
    bench_compacting compacting;
};

static int check(const struct world *world, clump_status status, const char *what,
                 bench_error *error) {
    return status == CLUMP_OK ? 0 : bench_error_clump(error, what, world->clump, status);
}

int barnes_hut_heap_count_faults(void *self, uint32_t *faults, bench_error *error) {
    struct world *world = self;
    return check(world,
                 clump_reduce(world->heap, world->kernels[FAULTS], faults, sizeof *faults, NULL),
                 kernel_names[FAULTS], error);
}

static int create_heap(struct world *world, const barnes_hut_desc *desc, bench_error *error) {
    /* A body has 48 bytes and a node 112, of which there are about 0.76 for a body. Bodies that come
     * close to each other need more nodes. */
    uint64_t enough = (uint64_t)desc->count * 256 + (8u << 20);
    bench_heap_desc heap = {.clump = world->clump,
                            .file = "bench/apps/barnes-hut/barnes_hut.schema",
                            .bytes = desc->heap_bytes ? desc->heap_bytes : enough,
                            .block_rows = desc->block_rows};
    return bench_heap_create(&heap, &world->heap, error);
}

static int create_program(struct world *world, const barnes_hut_desc *desc, bench_error *error) {
    bench_program_desc program = {.clump = world->clump,
                                  .heap = world->heap,
                                  .file = "bench/apps/barnes-hut/barnes_hut.cl",
                                  .before = barnes_hut_sources,
                                  .tuning = &desc->tuning,
                                  .names = kernel_names,
                                  .count = KERNEL_COUNT};
    return bench_program_create(&program, &world->program, world->kernels, error);
}

static int create_buffers(struct world *world, const barnes_hut_desc *desc, bench_error *error) {
    cl_int code = CL_SUCCESS, copied = CL_SUCCESS;
    size_t bytes = desc->count * sizeof *desc->bodies;
    world->states = clCreateBuffer(world->context, CL_MEM_READ_WRITE, bytes, NULL, &code);
    if (code == CL_SUCCESS) {
        copied = clEnqueueWriteBuffer(world->queue, world->states, CL_TRUE, 0, bytes, desc->bodies,
                                      0, NULL, NULL);
        world->levels = clCreateBuffer(world->context, CL_MEM_READ_WRITE, desc->count, NULL, &code);
    }
    if (code == CL_SUCCESS) {
        world->root =
            clCreateBuffer(world->context, CL_MEM_READ_WRITE, sizeof(clump_ref), NULL, &code);
    }
    if (code != CL_SUCCESS || copied != CL_SUCCESS) {
        return bench_error_cl(error, "the buffers of the bodies", code ? code : copied);
    }
    clump_refs_desc refs = {.buffer = world->root, .count = 1};
    return check(world, clump_refs_register(world->heap, &refs, &world->refs),
                 "registering the root", error);
}

/* All that stays the same; what changes from step to step is set again there. */
static int set_arguments(struct world *world, const barnes_hut_constants *constants,
                         bench_error *error) {
    const cl_uint longest = LONGEST;
    const struct {
        int kernel;
        cl_uint index;
        size_t bytes;
        const void *value;
    } arguments[] = {
        {INIT, 0, sizeof(cl_mem), &world->states},
        {ROOT, 0, sizeof(cl_mem), &world->root},
        {ROOT, 1, sizeof(float), &constants->inverse_theta},
        {FORCE, 0, sizeof(cl_mem), &world->root},
        {FORCE, 1, sizeof(float), &constants->softening2},
        {MOVE, 0, sizeof(float), &constants->kick},
        {MOVE, 1, sizeof(float), &constants->dt},
        {PUSH, 0, sizeof(cl_mem), &world->root},
        {SPLIT, 0, sizeof longest, &longest},
        {SPLIT, 1, sizeof(float), &constants->inverse_theta},
        {SPLIT, 2, sizeof world->pass, &world->pass},
        {GATHER, 0, sizeof world->pass, &world->pass},
        {WRITE, 0, sizeof(cl_mem), &world->states},
        {WRITE, 1, sizeof(cl_mem), &world->levels},
        {FAULTS, 0, sizeof(cl_mem), &world->root},
    };
    int result = 0;
    for (size_t i = 0; result == 0 && i < sizeof arguments / sizeof *arguments; i++) {
        result = check(world,
                       clump_kernel_set_arg(world->kernels[arguments[i].kernel], arguments[i].index,
                                            arguments[i].bytes, arguments[i].value),
                       "setting an argument", error);
    }
    return result;
}

static int do_all(struct world *world, int kernel, cl_event *event, bench_error *error) {
    clump_sync sync = {.event = event};
    return check(world, clump_do_all(world->heap, world->kernels[kernel], &sync),
                 kernel_names[kernel], error);
}

static int do_new(struct world *world, const char *class_name, uint32_t count, int kernel,
                  bench_error *error) {
    uint64_t made = 0;
    if (check(world,
              clump_do_new(world->heap, class_name, count, world->kernels[kernel], &made, NULL),
              kernel_names[kernel], error)) {
        return -1;
    }
    return made == count ? 0
                         : bench_error_set(error, "the heap has room for %llu of %u objects of %s",
                                           (unsigned long long)made, count, class_name);
}

/* Sum up, and count the passes. */
static int gather(struct world *world, cl_event *event, bench_error *error) {
    if (check(world,
              clump_kernel_set_arg(world->kernels[GATHER], 0, sizeof world->pass, &world->pass),
              "setting the pass", error) ||
        do_all(world, GATHER, event, error)) {
        return -1;
    }
    world->pass++;
    return check(world,
                 clump_kernel_set_arg(world->kernels[SPLIT], 2, sizeof world->pass, &world->pass),
                 "setting the pass", error);
}

/* All bodies into the empty tree, level by level. In the last round, and in all steps, chains of
 * any length are taken apart. */
static int build(struct world *world, bench_error *error) {
    const cl_uint any = UINT32_MAX;
    uint32_t rounds = barnes_hut_count_rounds(world->count);
    for (uint32_t i = 0; i < rounds; i++) {
        if ((i + 1 == rounds &&
             check(world, clump_kernel_set_arg(world->kernels[SPLIT], 0, sizeof any, &any),
                   "setting an argument", error)) ||
            do_all(world, PUSH, NULL, error) || do_all(world, SPLIT, NULL, error)) {
            return -1;
        }
    }
    return gather(world, NULL, error);
}

static void destroy(void *self) {
    struct world *world = self;
    if (!world) {
        return;
    }
    bench_compacting_destroy(&world->compacting);
    clump_refs_unregister(world->refs);
    const cl_mem buffers[] = {world->states, world->levels, world->root};
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++) {
        if (buffers[i]) {
            clReleaseMemObject(buffers[i]);
        }
    }
    for (int i = 0; i < KERNEL_COUNT; i++) {
        clump_kernel_destroy(world->kernels[i]);
    }
    clump_program_destroy(world->program);
    clump_heap_destroy(world->heap);
    free(world);
}

static int finish(void *self, bench_error *error) {
    struct world *world = self;
    return check(world, clump_heap_poll(world->heap, NULL), "the steps so far", error);
}

/* Nodes and bodies; by cell means by Morton code. */
static int create_compacting(struct world *world, const barnes_hut_desc *desc, bench_error *error) {
    clump_compactor_desc compaction = {.every = 0};
    if (desc->compaction) {
        compaction = *desc->compaction;
        if (compaction.compact.order == CLUMP_ORDER_FIELD) {
            compaction.compact.order = CLUMP_ORDER_KEY;
            compaction.compact.order_field = NULL;
            compaction.compact.key_kernel = world->kernels[CODES];
        }
    }
    return bench_compacting_create(&world->compacting, world->clump, world->heap, "NodeBase",
                                   desc->compaction ? &compaction : NULL, error);
}

static int create(const barnes_hut_desc *desc, const barnes_hut_constants *constants, void **self,
                  bench_error *error) {
    struct world *world = calloc(1, sizeof *world);
    if (!world) {
        return bench_error_set(error, "host memory ran out");
    }
    world->clump = desc->clump;
    world->context = desc->context;
    world->queue = desc->queue;
    world->count = desc->count;
    world->pass = 1;
    if (create_heap(world, desc, error) || create_program(world, desc, error) ||
        create_buffers(world, desc, error) || set_arguments(world, constants, error) ||
        create_compacting(world, desc, error) || do_new(world, "TreeNode", 1, ROOT, error) ||
        do_new(world, "Body", world->count, INIT, error) || build(world, error) ||
        finish(world, error)) {
        destroy(world);
        return -1;
    }
    *self = world;
    return 0;
}

static int step(void *self, cl_event *events, bench_error *error) {
    struct world *world = self;
    for (int kernel = FORCE; kernel < GATHER; kernel++) {
        if (do_all(world, kernel, events ? &events[kernel] : NULL, error)) {
            return -1;
        }
    }
    return gather(world, events ? &events[GATHER] : NULL, error);
}

static int read_state(void *self, void *out, bench_error *error) {
    barnes_hut_state *state = out;
    struct world *world = self;
    uint64_t nodes = 0;
    if (do_all(world, WRITE, NULL, error) ||
        check(world, clump_heap_count(world->heap, "TreeNode", &nodes), "counting nodes", error)) {
        return -1;
    }
    cl_int code =
        clEnqueueReadBuffer(world->queue, world->states, CL_TRUE, 0,
                            world->count * sizeof *state->bodies, state->bodies, 0, NULL, NULL);
    if (code == CL_SUCCESS && state->levels) {
        code = clEnqueueReadBuffer(world->queue, world->levels, CL_TRUE, 0, world->count,
                                   state->levels, 0, NULL, NULL);
    }
    state->nodes = (uint32_t)nodes;
    return code == CL_SUCCESS ? 0 : bench_error_cl(error, "reading the bodies", code);
}

static bench_compacting *get_compacting(void *self) {
    return &((struct world *)self)->compacting;
}

const barnes_hut_ops barnes_hut_heap_ops = {.create = create,
                                            .world = {.destroy = destroy,
                                                      .step = step,
                                                      .finish = finish,
                                                      .read = read_state,
                                                      .get_compacting = get_compacting}};
