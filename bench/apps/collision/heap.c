/* Bodies on the heap: host side of collision.cl. See world.h. */
#include "heap.h"

#include <stdlib.h>
#include <string.h>

#include "bench/heap.h"

/* Kernels in the order in which they are created; from FIND on only if merging. */
static const char *const kernel_names[] = {"body_init", "write_bodies",   "compute_force",
                                           "update",    "find_candidate", "request",
                                           "merge",     "delete_merged"};
enum { INIT, WRITE, FORCE, UPDATE, FIND, REQUEST, MERGE, DELETE, KERNEL_COUNT };

struct world {
    cl_context context;
    cl_command_queue queue;
    clump_context *clump;
    uint32_t count;
    int kernel_count;
    clump_heap *heap;
    clump_program *program;
    clump_kernel *kernels[KERNEL_COUNT];
    cl_mem states; /* collision_body of each: the first ones, later those to read */
    bench_compacting compacting;
};

clump_heap *collision_heap_get(const void *self) {
    return ((const struct world *)self)->heap;
}

const bench_compacting *collision_heap_compactions(const void *self) {
    return &((const struct world *)self)->compacting;
}

static int fail(const struct world *world, bench_error *error, const char *what,
                clump_status status) {
    return bench_error_clump(error, what, world->clump, status);
}

static int create_heap(struct world *world, const collision_desc *desc, bench_error *error) {
    /* A body has 41 bytes; twice that is room for bitmaps and the rest of blocks. */
    uint64_t enough = (uint64_t)desc->count * 96 + (8u << 20);
    bench_heap_desc heap = {.clump = world->clump,
                            .file = desc->rules.is_merging ? "bench/apps/collision/collision.schema"
                                                           : "bench/apps/nbody/nbody.schema",
                            .bytes = desc->heap_bytes ? desc->heap_bytes : enough,
                            .block_rows = desc->block_rows};
    return bench_heap_create(&heap, &world->heap, error);
}

static int create_program(struct world *world, const collision_desc *desc, bench_error *error) {
    char *source = collision_load_source("bench/apps/collision/collision.cl", error);
    if (!source) {
        return -1;
    }
    clump_program_desc program = {.heap = world->heap,
                                  .source = source,
                                  .name = "collision.cl",
                                  .options = desc->rules.is_merging ? "-DMERGING=1" : "-DMERGING=0",
                                  .tuning = desc->tuning};
    clump_status status = clump_program_create(&program, &world->program);
    free(source);
    if (status != CLUMP_OK) {
        return fail(world, error, "building collision.cl", status);
    }
    world->kernel_count = desc->rules.is_merging ? KERNEL_COUNT : FIND;
    for (int i = 0; i < world->kernel_count; i++) {
        status = clump_kernel_create(world->program, kernel_names[i], &world->kernels[i]);
        if (status != CLUMP_OK) {
            return fail(world, error, kernel_names[i], status);
        }
    }
    return 0;
}

static int set_numbers(struct world *world, int kernel, const float *numbers, uint32_t count,
                       bench_error *error) {
    for (uint32_t i = 0; i < count; i++) {
        clump_status status =
            clump_kernel_set_arg(world->kernels[kernel], i, sizeof *numbers, &numbers[i]);
        if (status != CLUMP_OK) {
            return fail(world, error, "setting an argument", status);
        }
    }
    return 0;
}

static int set_constants(struct world *world, const collision_constants *constants,
                         bench_error *error) {
    float force[] = {constants->softening2, constants->scale};
    float update[] = {constants->kick, constants->dt};
    if (set_numbers(world, FORCE, force, 2, error) ||
        set_numbers(world, UPDATE, update, 2, error)) {
        return -1;
    }
    return world->kernel_count > FIND ? set_numbers(world, FIND, &constants->reach2, 1, error) : 0;
}

static int create_bodies(struct world *world, const collision_desc *desc, bench_error *error) {
    uint64_t made = 0;
    cl_int code = CL_SUCCESS;
    world->states = clCreateBuffer(world->context, CL_MEM_READ_WRITE,
                                   desc->count * sizeof *desc->bodies, NULL, &code);
    if (code == CL_SUCCESS) {
        code =
            clEnqueueWriteBuffer(world->queue, world->states, CL_TRUE, 0,
                                 desc->count * sizeof *desc->bodies, desc->bodies, 0, NULL, NULL);
    }
    if (code != CL_SUCCESS) {
        return bench_error_cl(error, "the buffer of the first states", code);
    }
    clump_status status =
        clump_kernel_set_arg(world->kernels[INIT], 0, sizeof world->states, &world->states);
    if (status == CLUMP_OK) {
        status =
            clump_kernel_set_arg(world->kernels[WRITE], 0, sizeof world->states, &world->states);
    }
    if (status == CLUMP_OK) {
        status = clump_do_new(world->heap, "Body", desc->count, world->kernels[INIT], &made, NULL);
    }
    if (status != CLUMP_OK) {
        return fail(world, error, "making the bodies", status);
    }
    if (made != desc->count) {
        return bench_error_set(error, "the heap has room for %llu of %u bodies",
                               (unsigned long long)made, desc->count);
    }
    return 0;
}

static void destroy(void *self) {
    struct world *world = self;
    if (!world) {
        return;
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

static int create(const collision_desc *desc, const collision_constants *constants, void **self,
                  bench_error *error) {
    struct world *world = calloc(1, sizeof *world);
    if (!world) {
        return bench_error_set(error, "host memory ran out");
    }
    world->clump = desc->clump;
    world->context = desc->context;
    world->queue = desc->queue;
    world->count = desc->count;
    if (create_heap(world, desc, error) || create_program(world, desc, error) ||
        set_constants(world, constants, error) ||
        bench_compacting_create(&world->compacting, world->clump, world->heap, "Body",
                                desc->compaction, error) ||
        create_bodies(world, desc, error) || finish(world, error)) {
        destroy(world);
        return -1;
    }
    *self = world;
    return 0;
}

static int step(void *self, bench_error *error) {
    struct world *world = self;
    for (int kernel = FORCE; kernel < world->kernel_count; kernel++) {
        clump_status status = clump_do_all(world->heap, world->kernels[kernel], NULL);
        if (status != CLUMP_OK) {
            return fail(world, error, kernel_names[kernel], status);
        }
    }
    return bench_compacting_poll(&world->compacting, error);
}

static int read_bodies(void *self, collision_body *bodies, bench_error *error) {
    struct world *world = self;
    size_t bytes = world->count * sizeof *bodies;
    cl_uint zero = 0;
    cl_int code = clEnqueueFillBuffer(world->queue, world->states, &zero, sizeof zero, 0, bytes, 0,
                                      NULL, NULL);
    clump_status status = clump_do_all(world->heap, world->kernels[WRITE], NULL);
    if (status != CLUMP_OK) {
        return fail(world, error, "write_bodies", status);
    }
    if (code == CL_SUCCESS) {
        code = clEnqueueReadBuffer(world->queue, world->states, CL_TRUE, 0, bytes, bodies, 0, NULL,
                                   NULL);
    }
    return code == CL_SUCCESS ? 0 : bench_error_cl(error, "reading the bodies", code);
}

const collision_ops collision_heap_ops = {
    .create = create, .destroy = destroy, .step = step, .finish = finish, .read = read_bodies};
