/* Traffic as objects: host side of traffic.cl. See world.h. */
#include <stdlib.h>
#include <string.h>

#include "bench/heap.h"
#include "world.h"

/* In the order in which they are created. */
static const char *const kernel_names[] = {"cell_init",  "cell_link",  "group_init",
                                           "light_init", "yield_init", "car_start",
                                           "look",       "act",        "write_codes"};
enum { CELL_INIT, CELL_LINK, GROUP_INIT, LIGHT_INIT, YIELD_INIT, CAR_START, LOOK, ACT, WRITE };
enum { KERNEL_COUNT = WRITE + 1 };

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

struct heap_world {
    const traffic_network *network;
    cl_context context;
    cl_command_queue queue;
    clump_context *clump;
    clump_heap *heap;
    clump_program *program;
    clump_kernel *kernels[KERNEL_COUNT];
    cl_mem codes; /* one word per cell: references while the world is made, then the state */
    uint32_t iteration;
    bench_compacting compacting;
};

typedef struct setup {
    struct heap_world *world;
    cl_mem buffers[BUFFER_COUNT];
    bench_error *error;
} setup;

static int fail(const struct heap_world *world, bench_error *error, const char *what,
                clump_status status) {
    return bench_error_clump(error, what, world->clump, status);
}

static int set_arg(struct heap_world *world, int kernel, uint32_t index, size_t bytes,
                   const void *value, bench_error *error) {
    clump_status status = clump_kernel_set_arg(world->kernels[kernel], index, bytes, value);
    return status == CLUMP_OK ? 0 : fail(world, error, kernel_names[kernel], status);
}

static int run(struct heap_world *world, int kernel, cl_event *event, bench_error *error) {
    clump_sync sync = {.event = event};
    clump_status status = clump_do_all(world->heap, world->kernels[kernel], &sync);
    return status == CLUMP_OK ? 0 : fail(world, error, kernel_names[kernel], status);
}

/* ---- Heap and program ------------------------------------------------------------------------ */

static int create_heap(struct heap_world *world, const traffic_desc *desc, bench_error *error) {
    /* A cell has 18 bytes, and at most one car of 19; a third of that again for bitmaps and blocks in
     * part filled; the constant, for small worlds whose few blocks are mostly empty. */
    uint64_t enough = (uint64_t)world->network->cell_count * 50 + (16u << 20);
    bench_heap_desc heap = {.clump = world->clump,
                            .file = "bench/apps/traffic/traffic.schema",
                            .bytes = desc->heap_bytes ? desc->heap_bytes : enough,
                            .block_rows = desc->block_rows};
    return bench_heap_create(&heap, &world->heap, error);
}

static int create_program(struct heap_world *world, const traffic_desc *desc, bench_error *error) {
    bench_program_desc program = {.clump = world->clump,
                                  .heap = world->heap,
                                  .file = "bench/apps/traffic/traffic.cl",
                                  .before = traffic_sources,
                                  .options = traffic_options,
                                  .uses_random123 = 1,
                                  .tuning = &desc->tuning,
                                  .names = kernel_names,
                                  .count = KERNEL_COUNT};
    return bench_program_create(&program, &world->program, world->kernels, error);
}

/* ---- Objects --------------------------------------------------------------------------------- */

/* A buffer with `bytes` of `data`, or undefined; never of size 0, which OpenCL has not. */
static int create_buffer(setup *s, cl_mem *buffer, size_t bytes, const void *data) {
    cl_int code = CL_SUCCESS;
    cl_mem_flags copy = data && bytes ? CL_MEM_COPY_HOST_PTR : 0;
    *buffer = clCreateBuffer(s->world->context, CL_MEM_READ_WRITE | copy, bytes ? bytes : 4,
                             copy ? (void *)(uintptr_t)data : NULL, &code);
    return code == CL_SUCCESS ? 0 : bench_error_cl(s->error, "a buffer of the network", code);
}

/* The cells class by class: plain ones, producers, branches, sinks. `counts` of each. */
static uint32_t *list_cells(const traffic_network *n, uint32_t counts[4]) {
    uint32_t *list = malloc(n->cell_count * sizeof *list), at = 0;
    memset(counts, 0, 4 * sizeof *counts);
    for (uint32_t i = 0, producer = 0; list && i < n->cell_count; i++) {
        if (producer < n->producer_count && n->producers[producer] == i) {
            producer++;
        } else if (!(n->next[i] & TRAFFIC_SPECIAL)) {
            list[at++] = i;
            counts[0]++;
        }
    }
    for (uint32_t i = 0; list && i < n->producer_count; i++) {
        list[at++] = n->producers[i];
        counts[1]++;
    }
    for (uint32_t kind = 0; list && kind < 2; kind++) {
        for (uint32_t i = 0; i < n->special_count; i++) {
            if (n->specials[i].is_sink == kind) {
                list[at++] = n->special_cells[i];
                counts[2 + kind]++;
            }
        }
    }
    return list;
}

static int upload(setup *s, const uint32_t *list) {
    const traffic_network *n = s->world->network;
    const struct {
        size_t count, bytes;
        const void *data;
    } all[BUFFER_COUNT] = {
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
    int result = create_buffer(s, &s->world->codes, n->cell_count * sizeof(uint32_t), NULL);
    for (int i = 0; i < BUFFER_COUNT && result == 0; i++) {
        result = create_buffer(s, &s->buffers[i], all[i].count * all[i].bytes, all[i].data);
    }
    return result;
}

/* The buffers are parameters `first` and on. */
static int set_buffers(setup *s, int kernel, uint32_t first, const int *buffers, uint32_t count) {
    int result = 0;
    for (uint32_t i = 0; i < count && result == 0; i++) {
        result =
            set_arg(s->world, kernel, first + i, sizeof(cl_mem), &s->buffers[buffers[i]], s->error);
    }
    return result;
}

static int set_arguments(setup *s) {
    struct heap_world *world = s->world;
    const int link[] = {NEXT, PREVIOUS, MAX_VELOCITY, LIMIT, SPECIALS}, list[] = {LIST};
    const int groups[] = {GROUPS, GROUP_REFS}, control[] = {GROUP_REFS, CONTROLLERS};
    const int starts[] = {STARTS},
              has_cells[] = {CELL_INIT, CELL_LINK, GROUP_INIT, CAR_START, WRITE};
    for (size_t i = 0; i < sizeof has_cells / sizeof *has_cells; i++) {
        if (set_arg(world, has_cells[i], 0, sizeof world->codes, &world->codes, s->error)) {
            return -1;
        }
    }
    return set_buffers(s, CELL_INIT, 1, list, 1) || set_buffers(s, CELL_LINK, 1, link, 5) ||
                   set_buffers(s, GROUP_INIT, 1, groups, 2) ||
                   set_buffers(s, LIGHT_INIT, 0, control, 2) ||
                   set_buffers(s, YIELD_INIT, 0, control, 2) ||
                   set_arg(world, YIELD_INIT, 2, 4, &world->network->light_count, s->error) ||
                   set_buffers(s, CAR_START, 1, starts, 1)
               ? -1
               : 0;
}

static int make(setup *s, const char *class_name, uint32_t count, int kernel) {
    struct heap_world *world = s->world;
    uint64_t made = 0;
    clump_status status =
        count ? clump_do_new(world->heap, class_name, count, world->kernels[kernel], &made, NULL)
              : CLUMP_OK;
    if (status != CLUMP_OK) {
        return fail(world, s->error, class_name, status);
    }
    return made == count
               ? 0
               : bench_error_set(s->error, "the heap has room for %llu of %u objects of class %s",
                                 (unsigned long long)made, count, class_name);
}

static int make_objects(setup *s, const uint32_t counts[4]) {
    static const char *const classes[] = {"Cell", "ProducerCell", "BranchCell", "SinkCell"};
    const traffic_network *n = s->world->network;
    int result = set_arguments(s);
    uint32_t first = 0;
    for (int i = 0; i < 4 && result == 0; i++) {
        result = set_arg(s->world, CELL_INIT, 2, sizeof first, &first, s->error) ||
                 make(s, classes[i], counts[i], CELL_INIT);
        first += counts[i];
    }
    return result || run(s->world, CELL_LINK, NULL, s->error) ||
                   make(s, "SharedSignalGroup", n->group_count, GROUP_INIT) ||
                   make(s, "TrafficLight", n->light_count, LIGHT_INIT) ||
                   make(s, "YieldController", n->controller_count - n->light_count, YIELD_INIT) ||
                   make(s, "Car", n->start_count, CAR_START)
               ? -1
               : 0;
}

static int finish(void *self, bench_error *error) {
    struct heap_world *world = self;
    clump_status status = clump_heap_poll(world->heap, NULL);
    return status == CLUMP_OK ? 0 : fail(world, error, "the steps so far", status);
}

static int populate(struct heap_world *world, bench_error *error) {
    setup s = {.world = world, .error = error};
    uint32_t counts[4], *list = list_cells(world->network, counts);
    int result = list ? upload(&s, list) : bench_error_set(error, "host memory ran out");
    if (result == 0) {
        result = make_objects(&s, counts) || finish(world, error) ? -1 : 0;
    }
    for (int i = 0; i < BUFFER_COUNT; i++) {
        if (s.buffers[i]) {
            clReleaseMemObject(s.buffers[i]);
        }
    }
    free(list);
    return result;
}

/* ---- Lifetime and steps ---------------------------------------------------------------------- */

static void destroy(void *self) {
    struct heap_world *world = self;
    if (world->codes) {
        clReleaseMemObject(world->codes);
    }
    for (int i = 0; i < KERNEL_COUNT; i++) {
        clump_kernel_destroy(world->kernels[i]);
    }
    clump_program_destroy(world->program);
    bench_compacting_destroy(&world->compacting);
    clump_heap_destroy(world->heap);
    free(world);
}

static int step(void *self, cl_event *events, bench_error *error) {
    struct heap_world *world = self;
    traffic_moment now = traffic_get_moment(&world->network->rules, world->iteration++);
    for (int phase = 0; phase < TRAFFIC_PHASES; phase++) {
        int kernel = LOOK + phase;
        if (set_arg(world, kernel, 0, sizeof now, &now, error) ||
            run(world, kernel, events ? &events[phase] : NULL, error)) {
            return -1;
        }
    }
    return 0;
}

static int read_codes(void *self, void *state, bench_error *error) {
    uint32_t *codes = state;
    struct heap_world *world = self;
    if (run(world, WRITE, NULL, error)) {
        return -1;
    }
    cl_int code =
        clEnqueueReadBuffer(world->queue, world->codes, CL_TRUE, 0,
                            world->network->cell_count * sizeof *codes, codes, 0, NULL, NULL);
    return code == CL_SUCCESS ? 0 : bench_error_cl(error, "reading the state", code);
}

static bench_compacting *get_compacting(void *self) {
    return &((struct heap_world *)self)->compacting;
}

static const bench_world_ops heap_ops = {.destroy = destroy,
                                         .step = step,
                                         .finish = finish,
                                         .read = read_codes,
                                         .get_compacting = get_compacting};

int traffic_heap_create(const traffic_desc *desc, bench_world *out, bench_error *error) {
    struct heap_world *world = calloc(1, sizeof *world);
    *out = (bench_world){NULL, NULL};
    if (!world) {
        return bench_error_set(error, "host memory ran out");
    }
    world->network = desc->network;
    world->context = desc->context;
    world->queue = desc->queue;
    world->clump = desc->clump;
    if (create_heap(world, desc, error) || create_program(world, desc, error) ||
        bench_compacting_create(&world->compacting, world->clump, world->heap, "Car",
                                desc->compaction, error) ||
        populate(world, error)) {
        destroy(world);
        return -1;
    }
    *out = (bench_world){&heap_ops, world};
    return 0;
}
