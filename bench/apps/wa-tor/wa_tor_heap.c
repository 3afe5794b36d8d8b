/* Wa-Tor on the heap: host side of wa_tor.cl. See wa_tor.h. */
#include <stdlib.h>

#include "bench/heap.h"
#include "wa_tor.h"

/* Kernels in the order in which they are created. */
#define KERNEL_LIST(X)                                                                             \
    X(cell_init)                                                                                   \
    X(cell_populate)                                                                               \
    X(fish_select)                                                                                 \
    X(shark_select)                                                                                \
    X(cell_decide)                                                                                 \
    X(fish_move)                                                                                   \
    X(shark_move)                                                                                  \
    X(write_world)

typedef enum kernel_id {
#define KERNEL_ENUM(name) KERNEL_##name,
    KERNEL_LIST(KERNEL_ENUM)
#undef KERNEL_ENUM
        KERNEL_COUNT
} kernel_id;

struct wa_tor_heap {
    clump_context *clump;
    cl_context context;
    cl_command_queue queue;
    wa_tor_rules rules;
    uint32_t cells, row_count, iteration;
    clump_heap *heap;
    clump_program *program;
    clump_kernel *kernels[KERNEL_COUNT];
    cl_mem rows;  /* a reference for each row of 64 cells, and a count of misplaced ones */
    cl_mem codes; /* the encoded world */
    bench_compacting compacting;
};

uint64_t wa_tor_heap_bytes(const wa_tor_rules *rules) {
    /* A cell has 12 bytes and at most one agent of at most 16. Twice that is room for the bitmaps
     * and for classes that shrink without giving up their blocks; the constant, for small worlds
     * whose few blocks are mostly empty. */
    return (uint64_t)rules->width * rules->height * 56 + (8u << 20);
}

clump_heap *wa_tor_heap_get(wa_tor_heap *world) {
    return world->heap;
}

static int fail(const wa_tor_heap *world, bench_error *error, const char *what,
                clump_status status) {
    return bench_error_clump(error, what, world->clump, status);
}

static int set_arg(wa_tor_heap *world, kernel_id kernel, uint32_t at, size_t bytes,
                   const void *value, bench_error *error) {
    clump_status status = clump_kernel_set_arg(world->kernels[kernel], at, bytes, value);
    return status == CLUMP_OK ? 0 : fail(world, error, "setting an argument", status);
}

/* Set numbers from argument `at` on. */
static int set_numbers(wa_tor_heap *world, kernel_id kernel, uint32_t at, const uint32_t *numbers,
                       uint32_t count, bench_error *error) {
    for (uint32_t i = 0; i < count; i++) {
        if (set_arg(world, kernel, at + i, sizeof *numbers, &numbers[i], error)) {
            return -1;
        }
    }
    return 0;
}

static int run(wa_tor_heap *world, kernel_id kernel, cl_event *event, bench_error *error) {
    clump_sync sync = {.event = event};
    clump_status status = clump_do_all(world->heap, world->kernels[kernel], event ? &sync : NULL);
    return status == CLUMP_OK ? 0 : fail(world, error, "a do-all", status);
}

static int create_heap(wa_tor_heap *world, const wa_tor_desc *desc, bench_error *error) {
    bench_heap_desc heap = {
        .clump = world->clump,
        .file = "bench/apps/wa-tor/wa_tor.schema",
        .bytes = desc->heap_bytes ? desc->heap_bytes : wa_tor_heap_bytes(&world->rules),
        .block_rows = desc->block_rows};
    return bench_heap_create(&heap, &world->heap, error);
}

static int create_program(wa_tor_heap *world, const clump_tuning *tuning, bench_error *error) {
    static const char *const names[] = {
#define KERNEL_NAME(name) #name,
        KERNEL_LIST(KERNEL_NAME)
#undef KERNEL_NAME
    };
    bench_program_desc program = {.clump = world->clump,
                                  .heap = world->heap,
                                  .file = "bench/apps/wa-tor/wa_tor.cl",
                                  .before = wa_tor_rules_files,
                                  .uses_random123 = 1,
                                  .tuning = tuning,
                                  .names = names,
                                  .count = KERNEL_COUNT};
    return bench_program_create(&program, &world->program, world->kernels, error);
}

static int create_buffers(wa_tor_heap *world, bench_error *error) {
    cl_int code = CL_SUCCESS;
    uint32_t zero = 0;
    size_t rows = world->row_count * sizeof zero;
    world->rows =
        clCreateBuffer(world->context, CL_MEM_READ_WRITE, rows + sizeof zero, NULL, &code);
    if (code == CL_SUCCESS) {
        code = clEnqueueWriteBuffer(world->queue, world->rows, CL_TRUE, rows, sizeof zero, &zero, 0,
                                    NULL, NULL);
    }
    if (code == CL_SUCCESS) {
        world->codes = clCreateBuffer(world->context, CL_MEM_READ_WRITE,
                                      (size_t)world->cells * sizeof(uint32_t), NULL, &code);
    }
    return code == CL_SUCCESS ? 0 : bench_error_cl(error, "the buffers of the world", code);
}

/* Arguments that do not change from step to step; see the kernels' parameters. */
static int set_rules(wa_tor_heap *world, bench_error *error) {
    static const kernel_id users[] = {KERNEL_cell_init, KERNEL_fish_select,  KERNEL_cell_decide,
                                      KERNEL_fish_move, KERNEL_shark_select, KERNEL_shark_move};
    static const kernel_id finders[] = {KERNEL_fish_select, KERNEL_cell_decide,
                                        KERNEL_shark_select};
    const wa_tor_rules *rules = &world->rules;
    uint32_t populate[] = {rules->seed,       rules->fish_permille, rules->shark_permille,
                           rules->fish_spawn, rules->shark_spawn,   rules->shark_energy};
    uint32_t shark_move[] = {rules->shark_spawn, rules->shark_energy, rules->shark_gain};
    uint32_t size[] = {rules->width, world->cells};
    for (size_t i = 0; i < sizeof users / sizeof *users; i++) {
        if (set_arg(world, users[i], 0, sizeof world->rows, &world->rows, error)) {
            return -1;
        }
    }
    for (size_t i = 0; i < sizeof finders / sizeof *finders; i++) {
        if (set_numbers(world, finders[i], 1, size, 2, error)) {
            return -1;
        }
    }
    return set_arg(world, KERNEL_write_world, 0, sizeof world->codes, &world->codes, error) ||
                   set_numbers(world, KERNEL_cell_init, 1, &world->row_count, 1, error) ||
                   set_numbers(world, KERNEL_cell_populate, 0, populate, 6, error) ||
                   set_numbers(world, KERNEL_fish_move, 1, &rules->fish_spawn, 1, error) ||
                   set_numbers(world, KERNEL_shark_move, 1, shark_move, 3, error)
               ? -1
               : 0;
}

/* The cells' table holds only if they are in order; see cell_init. */
static int check_rows(wa_tor_heap *world, bench_error *error) {
    uint32_t misplaced = 0;
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

static int populate(wa_tor_heap *world, bench_error *error) {
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
    if (check_rows(world, error) || run(world, KERNEL_cell_populate, NULL, error)) {
        return -1;
    }
    return wa_tor_heap_finish(world, error);
}

int wa_tor_heap_create(const wa_tor_desc *desc, wa_tor_heap **out, bench_error *error) {
    *out = NULL;
    wa_tor_heap *world = calloc(1, sizeof *world);
    if (!world) {
        return bench_error_set(error, "host memory ran out");
    }
    world->clump = desc->clump;
    world->context = desc->context;
    world->queue = desc->queue;
    world->rules = desc->rules;
    world->cells = desc->rules.width * desc->rules.height;
    world->row_count = (world->cells + 63) / 64;
    if (create_heap(world, desc, error) || create_program(world, &desc->tuning, error) ||
        create_buffers(world, error) || set_rules(world, error) ||
        bench_compacting_create(&world->compacting, world->clump, world->heap, "Agent",
                                desc->compaction, error) ||
        populate(world, error)) {
        wa_tor_heap_destroy(world);
        return -1;
    }
    *out = world;
    return 0;
}

void wa_tor_heap_destroy(wa_tor_heap *world) {
    if (!world) {
        return;
    }
    if (world->rows) {
        clReleaseMemObject(world->rows);
    }
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

int wa_tor_heap_step(wa_tor_heap *world, cl_event *events, bench_error *error) {
    static const struct {
        kernel_id kernel;
        uint32_t draw;
    } phases[] = {
#define PHASE_ROW(name, label, kernel, draw) {KERNEL_##kernel, draw},
        WA_TOR_PHASE_LIST(PHASE_ROW)
#undef PHASE_ROW
    };
    for (int phase = 0; phase < WA_TOR_PHASE_COUNT; phase++) {
        kernel_id kernel = phases[phase].kernel;
        uint32_t numbers[] = {world->iteration, world->rules.seed, phases[phase].draw};
        uint32_t count = kernel == KERNEL_cell_decide                                    ? 3
                         : kernel == KERNEL_fish_select || kernel == KERNEL_shark_select ? 2
                                                                                         : 0;
        if (set_numbers(world, kernel, 3, numbers, count, error) ||
            run(world, kernel, events ? &events[phase] : NULL, error)) {
            return -1;
        }
    }
    world->iteration++;
    return 0;
}

int wa_tor_heap_compact(wa_tor_heap *world, bench_error *error) {
    return bench_compacting_poll(&world->compacting, error);
}

const bench_compacting *wa_tor_heap_compactions(const wa_tor_heap *world) {
    return &world->compacting;
}

int wa_tor_heap_finish(wa_tor_heap *world, bench_error *error) {
    clump_status status = clump_heap_poll(world->heap, NULL);
    return status == CLUMP_OK ? 0 : fail(world, error, "the steps so far", status);
}

int wa_tor_heap_encode(wa_tor_heap *world, uint32_t *codes, bench_error *error) {
    if (run(world, KERNEL_write_world, NULL, error)) {
        return -1;
    }
    cl_int code = clEnqueueReadBuffer(world->queue, world->codes, CL_TRUE, 0,
                                      (size_t)world->cells * sizeof *codes, codes, 0, NULL, NULL);
    return code == CL_SUCCESS ? 0 : bench_error_cl(error, "reading the encoded world", code);
}

int wa_tor_heap_usage(wa_tor_heap *world, wa_tor_usage *usage, bench_error *error) {
    static const char *const names[] = {"Fish", "Shark", "Cell"};
    clump_class_stats classes[3];
    if (bench_heap_stats(world->clump, world->heap, names, 3, &usage->heap, classes, error)) {
        return -1;
    }
    usage->fish = classes[0];
    usage->shark = classes[1];
    usage->cell = classes[2];
    return 0;
}
