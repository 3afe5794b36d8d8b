/* Agents and cells on the heap: host side of sugarscape.cl. See world.h. */
#include "world.h"

#include <stdio.h>
#include <stdlib.h>

#include "bench/heap.h"

/* Kernels in the order in which they are created: the phases, then the others. */
static const char *const kernel_names[] = {
#define PHASE_NAME(name) #name,
    SUGARSCAPE_PHASE_LIST(PHASE_NAME)
#undef PHASE_NAME
        "cell_init",
    "first_males", "first_females", "write_states"};
enum { CELL_INIT = SUGARSCAPE_PHASES, FIRST_MALES, FIRST_FEMALES, WRITE_STATES, KERNEL_COUNT };

struct world {
    cl_context context;
    cl_command_queue queue;
    clump_context *clump;
    sugarscape_rules rules;
    uint32_t iteration, row_count;
    clump_heap *heap;
    clump_program *program;
    clump_kernel *kernels[KERNEL_COUNT];
    cl_mem rows;   /* a reference for each row of cells, and a count of misplaced ones */
    cl_mem states; /* what read() gives */
    bench_compacting compacting;
};

static int fail(const struct world *world, bench_error *error, const char *what,
                clump_status status) {
    return bench_error_clump(error, what, world->clump, status);
}

static int create_heap(struct world *world, const sugarscape_desc *desc, bench_error *error) {
    /* A cell has 21 bytes, an agent up to 25. What is more is room for bitmaps and for blocks of
     * one sex while the other needs them; the constant, for small worlds. */
    uint64_t enough = (uint64_t)sugarscape_grid_cells(&world->rules) * 72 + (8u << 20);
    bench_heap_desc heap = {.clump = world->clump,
                            .file = "bench/apps/sugarscape/sugarscape.schema",
                            .bytes = desc->heap_bytes ? desc->heap_bytes : enough,
                            .block_rows = desc->block_rows};
    return bench_heap_create(&heap, &world->heap, error);
}

static int create_program(struct world *world, const sugarscape_desc *desc, bench_error *error) {
    static const char *const before[] = {"bench/apps/sugarscape/heap_grid.clh",
                                         "bench/apps/sugarscape/rules.clh", NULL};
    char options[40];
    snprintf(options, sizeof options, "-DROW_PER_ITEM=%d",
             clump_context_get_capabilities(world->clump)->is_cpu);
    bench_program_desc program = {.clump = world->clump,
                                  .heap = world->heap,
                                  .file = "bench/apps/sugarscape/sugarscape.cl",
                                  .before = before,
                                  .options = options,
                                  .uses_random123 = 1,
                                  .tuning = &desc->tuning,
                                  .names = kernel_names,
                                  .count = KERNEL_COUNT};
    return bench_program_create(&program, &world->program, world->kernels, error);
}

static int create_buffers(struct world *world, bench_error *error) {
    cl_int code = CL_SUCCESS;
    cl_uint zero = 0;
    size_t rows = (world->row_count + 1) * sizeof(uint32_t);
    size_t states = sugarscape_cells(&world->rules) * sizeof(sugarscape_state);
    world->rows = clCreateBuffer(world->context, CL_MEM_READ_WRITE, rows, NULL, &code);
    if (code == CL_SUCCESS) {
        world->states = clCreateBuffer(world->context, CL_MEM_READ_WRITE, states, NULL, &code);
    }
    if (code == CL_SUCCESS) {
        code = clEnqueueFillBuffer(world->queue, world->rows, &zero, sizeof zero, 0, rows, 0, NULL,
                                   NULL);
    }
    return code == CL_SUCCESS ? 0 : bench_error_cl(error, "the buffers of the world", code);
}

/* All kernels have the table of rows and the rules. */
static int set_arguments(struct world *world, bench_error *error) {
    clump_status status = CLUMP_OK;
    for (int i = 0; status == CLUMP_OK && i < KERNEL_COUNT; i++) {
        status = clump_kernel_set_arg(world->kernels[i], 0, sizeof world->rows, &world->rows);
        if (status == CLUMP_OK) {
            status = clump_kernel_set_arg(world->kernels[i], 1, sizeof world->rules, &world->rules);
        }
    }
    /* The first positions go through the buffer that states come back by. */
    static const struct {
        int kernel;
        uint32_t at;
    } users[] = {{FIRST_MALES, 2}, {FIRST_FEMALES, 2}, {WRITE_STATES, 3}};
    for (int i = 0; status == CLUMP_OK && i < 3; i++) {
        status = clump_kernel_set_arg(world->kernels[users[i].kernel], users[i].at,
                                      sizeof world->states, &world->states);
    }
    return status == CLUMP_OK ? 0 : fail(world, error, "setting an argument", status);
}

/* `has_iteration`: the kernel asks for the step. */
static int run(struct world *world, int kernel, int has_iteration, cl_event *event,
               bench_error *error) {
    clump_sync sync = {.event = event};
    clump_status status = has_iteration
                              ? clump_kernel_set_arg(world->kernels[kernel], 2,
                                                     sizeof world->iteration, &world->iteration)
                              : CLUMP_OK;
    if (status == CLUMP_OK) {
        status = clump_do_all(world->heap, world->kernels[kernel], event ? &sync : NULL);
    }
    return status == CLUMP_OK ? 0 : fail(world, error, kernel_names[kernel], status);
}

static int make_objects(struct world *world, const char *class_name, uint64_t count, int kernel,
                        bench_error *error) {
    uint64_t made = 0;
    clump_status status =
        clump_do_new(world->heap, class_name, count, world->kernels[kernel], &made, NULL);
    if (status != CLUMP_OK) {
        return fail(world, error, kernel_names[kernel], status);
    }
    return made == count
               ? 0
               : bench_error_set(error, "the heap has room for %llu of %llu objects: %s",
                                 (unsigned long long)made, (unsigned long long)count, class_name);
}

static int make_cells(struct world *world, bench_error *error) {
    uint32_t misplaced = 0;
    if (make_objects(world, "Cell", sugarscape_grid_cells(&world->rules), CELL_INIT, error)) {
        return -1;
    }
    cl_int code =
        clEnqueueReadBuffer(world->queue, world->rows, CL_TRUE, world->row_count * sizeof misplaced,
                            sizeof misplaced, &misplaced, 0, NULL, NULL);
    if (code != CL_SUCCESS) {
        return bench_error_cl(error, "reading the count of misplaced cells", code);
    }
    return misplaced
               ? bench_error_set(error, "%u cells do not lie in whole rows of the heap", misplaced)
               : 0;
}

/* The first agents of one sex; `positions` has room for the numbers of all cells. */
static int make_agents(struct world *world, uint32_t kind, uint32_t *positions,
                       bench_error *error) {
    const sugarscape_rules *rules = &world->rules;
    int is_male = kind == SUGARSCAPE_MALE;
    size_t count = 0;
    for (uint32_t y = 0; y < rules->height; y++) {
        for (uint32_t x = 0; x < rules->width; x++) {
            positions[count] = sugarscape_number(rules, x, y);
            count += sugarscape_first_kind(rules, positions[count]) == kind;
        }
    }
    cl_int code = count == 0
                      ? CL_SUCCESS
                      : clEnqueueWriteBuffer(world->queue, world->states, CL_TRUE, 0,
                                             count * sizeof *positions, positions, 0, NULL, NULL);
    if (code != CL_SUCCESS) {
        return bench_error_cl(error, "the positions of the first agents", code);
    }
    return count == 0 ? 0
                      : make_objects(world, is_male ? "Male" : "Female", count,
                                     is_male ? FIRST_MALES : FIRST_FEMALES, error);
}

static int populate(struct world *world, bench_error *error) {
    uint32_t *positions = malloc((sugarscape_cells(&world->rules) + 1) * sizeof *positions);
    if (!positions) {
        return bench_error_set(error, "host memory ran out for the first agents");
    }
    int result = make_cells(world, error) ||
                         make_agents(world, SUGARSCAPE_MALE, positions, error) ||
                         make_agents(world, SUGARSCAPE_FEMALE, positions, error)
                     ? -1
                     : 0;
    free(positions);
    return result;
}

static void destroy(void *self) {
    struct world *world = self;
    if (!world) {
        return;
    }
    if (world->rows) {
        clReleaseMemObject(world->rows);
    }
    if (world->states) {
        clReleaseMemObject(world->states);
    }
    for (int i = 0; i < KERNEL_COUNT; i++) {
        clump_kernel_destroy(world->kernels[i]);
    }
    clump_program_destroy(world->program);
    bench_compacting_destroy(&world->compacting);
    clump_heap_destroy(world->heap);
    free(world);
}

static int finish(void *self, bench_error *error) {
    struct world *world = self;
    clump_status status = clump_heap_poll(world->heap, NULL);
    return status == CLUMP_OK ? 0 : fail(world, error, "the steps so far", status);
}

static int create(const sugarscape_desc *desc, void **self, bench_error *error) {
    struct world *world = calloc(1, sizeof *world);
    if (!world) {
        return bench_error_set(error, "host memory ran out");
    }
    world->clump = desc->clump;
    world->context = desc->context;
    world->queue = desc->queue;
    world->rules = desc->rules;
    world->row_count = sugarscape_grid_cells(&desc->rules) / SUGARSCAPE_ROW;
    if (create_heap(world, desc, error) || create_program(world, desc, error) ||
        create_buffers(world, error) || set_arguments(world, error) ||
        bench_compacting_create(&world->compacting, world->clump, world->heap, "Agent",
                                desc->compaction, error) ||
        populate(world, error) || finish(world, error)) {
        destroy(world);
        return -1;
    }
    *self = world;
    return 0;
}

static int step(void *self, cl_event *events, bench_error *error) {
    struct world *world = self;
    for (int phase = 0; phase < SUGARSCAPE_PHASES; phase++) {
        if (run(world, phase, phase != SUGARSCAPE_PHASE_propose, events ? &events[phase] : NULL,
                error)) {
            return -1;
        }
    }
    world->iteration++;
    return 0;
}

static int read_states(void *self, void *state, bench_error *error) {
    sugarscape_state *states = state;
    struct world *world = self;
    if (run(world, WRITE_STATES, 1, NULL, error)) {
        return -1;
    }
    cl_int code = clEnqueueReadBuffer(world->queue, world->states, CL_TRUE, 0,
                                      sugarscape_cells(&world->rules) * sizeof *states, states, 0,
                                      NULL, NULL);
    return code == CL_SUCCESS ? 0 : bench_error_cl(error, "reading the states", code);
}

static bench_compacting *get_compacting(void *self) {
    return &((struct world *)self)->compacting;
}

const sugarscape_ops sugarscape_heap_ops = {.create = create,
                                            .world = {.destroy = destroy,
                                                      .step = step,
                                                      .finish = finish,
                                                      .read = read_states,
                                                      .get_compacting = get_compacting}};
