/* The world on the heap: host side of game_of_life.cl. See game_of_life.h. */
#include <stdlib.h>

#include "bench/heap.h"
#include "game_of_life.h"

#define LOCAL 64 /* of launches over cells */

/* Kernels in the order in which they are created. */
#define KERNEL_LIST(X)                                                                             \
    X(cell_init)                                                                                   \
    X(cell_populate)                                                                               \
    X(agent_announce)                                                                              \
    X(agent_settle)                                                                                \
    X(write_world)

typedef enum kernel_id {
#define KERNEL_ENUM(name) KERNEL_##name,
    KERNEL_LIST(KERNEL_ENUM)
#undef KERNEL_ENUM
        KERNEL_COUNT
} kernel_id;

struct life_heap {
    clump_context *clump;
    cl_command_queue queue;
    life_rules rules;
    uint32_t cells;
    clump_heap *heap;
    clump_program *program;
    clump_kernel *kernels[KERNEL_COUNT];
    cl_mem references; /* to the cells, one uint each */
    cl_mem world;      /* one byte per cell: the beginning, later what is read back */
    cl_mem misfits;    /* one uint */
    bench_compacting compacting;
};

clump_heap *life_heap_get(life_heap *world) {
    return world->heap;
}

static int fail(const life_heap *world, bench_error *error, const char *what, clump_status status) {
    return bench_error_clump(error, what, world->clump, status);
}

static int set_arg(life_heap *world, kernel_id kernel, uint32_t index, const void *value,
                   size_t bytes, bench_error *error) {
    clump_status status = clump_kernel_set_arg(world->kernels[kernel], index, bytes, value);
    return status == CLUMP_OK ? 0 : fail(world, error, "setting an argument", status);
}

/* A cell has 8 bytes and at most one agent of 9. Nearly twice that is room for the bitmaps and for
 * classes that shrink without giving up their blocks; the constant, for small worlds whose few
 * blocks are mostly empty. */
static uint64_t get_heap_bytes(const life_desc *desc) {
    uint64_t cells = (uint64_t)desc->rules.width * desc->rules.height;
    return desc->heap_bytes ? desc->heap_bytes : cells * 32 + (8u << 20);
}

static int create_heap(life_heap *world, const life_desc *desc, bench_error *error) {
    bench_heap_desc heap = {.clump = world->clump,
                            .file = "bench/apps/game-of-life/game_of_life.schema",
                            .bytes = get_heap_bytes(desc),
                            .block_rows = desc->block_rows};
    return bench_heap_create(&heap, &world->heap, error);
}

static int create_program(life_heap *world, const life_desc *desc, bench_error *error) {
    static const char *const names[] = {
#define KERNEL_NAME(name) #name,
        KERNEL_LIST(KERNEL_NAME)
#undef KERNEL_NAME
    };
    bench_program_desc program = {.clump = world->clump,
                                  .heap = world->heap,
                                  .file = "bench/apps/game-of-life/game_of_life.cl",
                                  .tuning = &desc->tuning,
                                  .names = names,
                                  .count = KERNEL_COUNT};
    return bench_program_create(&program, &world->program, world->kernels, error);
}

static int create_buffers(life_heap *world, const life_desc *desc, bench_error *error) {
    cl_int code = CL_SUCCESS;
    world->references = clCreateBuffer(desc->context, CL_MEM_READ_WRITE,
                                       world->cells * sizeof(uint32_t), NULL, &code);
    if (code == CL_SUCCESS) {
        world->world = clCreateBuffer(desc->context, CL_MEM_READ_WRITE, world->cells, NULL, &code);
    }
    if (code == CL_SUCCESS) {
        world->misfits =
            clCreateBuffer(desc->context, CL_MEM_READ_WRITE, sizeof(uint32_t), NULL, &code);
    }
    if (code == CL_SUCCESS) {
        code = clEnqueueWriteBuffer(world->queue, world->world, CL_TRUE, 0, world->cells,
                                    desc->codes, 0, NULL, NULL);
    }
    if (code != CL_SUCCESS) {
        return bench_error_cl(error, "the buffers beside the heap", code);
    }
    const cl_uint2 size = {{world->rules.width, world->rules.height}};
    for (kernel_id i = 0; i < KERNEL_COUNT; i++) {
        if (set_arg(world, i, 0, &world->references, sizeof world->references, error) ||
            (i != KERNEL_cell_init && set_arg(world, i, 1, &size, sizeof size, error))) {
            return -1;
        }
    }
    const cl_uint4 rule = {{world->rules.born, world->rules.survive, world->rules.states, 0}};
    return set_arg(world, KERNEL_agent_settle, 2, &rule, sizeof rule, error) ||
                   set_arg(world, KERNEL_cell_populate, 2, &world->world, sizeof world->world,
                           error) ||
                   set_arg(world, KERNEL_cell_populate, 3, &rule, sizeof rule, error) ||
                   set_arg(world, KERNEL_write_world, 2, &world->world, sizeof world->world,
                           error) ||
                   set_arg(world, KERNEL_write_world, 3, &world->misfits, sizeof world->misfits,
                           error)
               ? -1
               : 0;
}

static int run_over_cells(life_heap *world, kernel_id kernel, bench_error *error) {
    size_t global = ((size_t)world->cells + LOCAL - 1) / LOCAL * LOCAL;
    clump_status status = clump_launch(world->heap, world->kernels[kernel], global, LOCAL, NULL);
    return status == CLUMP_OK ? 0 : fail(world, error, "a launch over the cells", status);
}

static int populate(life_heap *world, bench_error *error) {
    uint64_t made = 0;
    clump_status status = clump_do_new(world->heap, "Cell", world->cells,
                                       world->kernels[KERNEL_cell_init], &made, NULL);
    if (status != CLUMP_OK) {
        return fail(world, error, "making the cells", status);
    }
    if (made != world->cells) {
        return bench_error_set(error, "the heap has room for %llu of %u cells",
                               (unsigned long long)made, world->cells);
    }
    if (run_over_cells(world, KERNEL_cell_populate, error)) {
        return -1;
    }
    return life_heap_finish(world, error);
}

int life_heap_create(const life_desc *desc, life_heap **out, bench_error *error) {
    *out = NULL;
    if (life_rules_check(&desc->rules, error)) {
        return -1;
    }
    life_heap *world = calloc(1, sizeof *world);
    if (!world) {
        return bench_error_set(error, "host memory ran out");
    }
    world->clump = desc->clump;
    world->queue = desc->queue;
    world->rules = desc->rules;
    world->cells = desc->rules.width * desc->rules.height;
    if (create_heap(world, desc, error) || create_program(world, desc, error) ||
        create_buffers(world, desc, error) ||
        bench_compacting_create(&world->compacting, world->clump, world->heap, "Agent",
                                desc->compaction, error) ||
        populate(world, error)) {
        life_heap_destroy(world);
        return -1;
    }
    *out = world;
    return 0;
}

void life_heap_destroy(life_heap *world) {
    if (!world) {
        return;
    }
    cl_mem buffers[] = {world->references, world->world, world->misfits};
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++) {
        if (buffers[i]) {
            clReleaseMemObject(buffers[i]);
        }
    }
    for (int i = 0; i < KERNEL_COUNT; i++) {
        clump_kernel_destroy(world->kernels[i]);
    }
    clump_program_destroy(world->program);
    bench_compacting_destroy(&world->compacting);
    clump_heap_destroy(world->heap);
    free(world);
}

int life_heap_step(life_heap *world, cl_event *events, bench_error *error) {
    static const kernel_id phases[] = {KERNEL_agent_announce, KERNEL_agent_settle};
    for (size_t i = 0; i < sizeof phases / sizeof *phases; i++) {
        clump_sync sync = {.event = events ? &events[i] : NULL};
        clump_status status = clump_do_all(world->heap, world->kernels[phases[i]], &sync);
        if (status != CLUMP_OK) {
            return fail(world, error, "a do-all", status);
        }
    }
    return 0;
}

int life_heap_compact(life_heap *world, bench_error *error) {
    return bench_compacting_poll(&world->compacting, error);
}

const bench_compacting *life_heap_compactions(const life_heap *world) {
    return &world->compacting;
}

int life_heap_finish(life_heap *world, bench_error *error) {
    clump_status status = clump_heap_poll(world->heap, NULL);
    return status == CLUMP_OK ? 0 : fail(world, error, "the steps so far", status);
}

int life_heap_encode(life_heap *world, uint8_t *codes, uint32_t *misfits, bench_error *error) {
    *misfits = 0;
    cl_int code = clEnqueueWriteBuffer(world->queue, world->misfits, CL_TRUE, 0, sizeof *misfits,
                                       misfits, 0, NULL, NULL);
    if (code != CL_SUCCESS) {
        return bench_error_cl(error, "writing a zero", code);
    }
    if (run_over_cells(world, KERNEL_write_world, error)) {
        return -1;
    }
    code = clEnqueueReadBuffer(world->queue, world->world, CL_TRUE, 0, world->cells, codes, 0, NULL,
                               NULL);
    if (code == CL_SUCCESS) {
        code = clEnqueueReadBuffer(world->queue, world->misfits, CL_TRUE, 0, sizeof *misfits,
                                   misfits, 0, NULL, NULL);
    }
    return code == CL_SUCCESS ? 0 : bench_error_cl(error, "reading the encoded world", code);
}

int life_heap_usage(life_heap *world, life_usage *usage, bench_error *error) {
    static const char *const names[] = {"Alive", "Candidate", "Cell"};
    clump_class_stats classes[3];
    if (bench_heap_stats(world->clump, world->heap, names, 3, &usage->heap, classes, error)) {
        return -1;
    }
    usage->alive = classes[0];
    usage->candidate = classes[1];
    usage->cell = classes[2];
    return 0;
}
