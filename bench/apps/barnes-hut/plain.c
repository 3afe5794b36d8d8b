/* The baselines in plain OpenCL: host side of plain.cl. See world.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "world.h"

#define GROUP 64
#define LONGEST 8 /* as in heap.c */
#define LOG_BYTES 1500

/* As in heap.c. */
enum { FORCE, MOVE, PUSH, SPLIT, GATHER, INIT, ROOT, WRITE, KERNEL_COUNT };
static const char *const kernel_names[KERNEL_COUNT] = {
    "compute_force", "move", "push", "split", "gather", "body_init", "root_init", "write_bodies"};

/* Of plain.cl. */
enum { NODES_MADE, NODES_BEFORE, STACK_HEIGHT, NODES_LACKING, COUNTERS };

/* The arrays of plain.cl, in its order: bytes for each body or node. */
typedef struct field {
    size_t bytes;
    int is_of_nodes;
} field;
static const field fields_soa[] = {{16, 0}, {8, 0}, {8, 0},  {4, 0},  {4, 0},
                                   {1, 0},  {1, 0}, {64, 1}, {16, 1}, {16, 1},
                                   {4, 1},  {4, 1}, {4, 1},  {1, 1},  {1, 1}};
static const field fields_aos[] = {{48, 0}, {128, 1}};
#define FIELDS (sizeof fields_soa / sizeof *fields_soa)

struct world {
    cl_context context;
    cl_command_queue queue;
    cl_uint bodies, nodes;
    cl_uint pass; /* the number of the next run of `gather` */
    cl_program program;
    cl_kernel kernels[KERNEL_COUNT];
    cl_mem counters, unused;
    cl_mem fields[FIELDS];
    cl_uint field_count;
    cl_mem states, levels;
};

static int build_program(struct world *world, const barnes_hut_desc *desc, bench_error *error) {
    char options[64], log[LOG_BYTES] = "";
    cl_int code = CL_SUCCESS;
    char *source = barnes_hut_load_source("bench/apps/barnes-hut/plain.cl", error);
    if (!source) {
        return -1;
    }
    const char *text = source;
    world->program = clCreateProgramWithSource(world->context, 1, &text, NULL, &code);
    free(source);
    if (code != CL_SUCCESS) {
        return bench_error_cl(error, "the program of plain.cl", code);
    }
    snprintf(options, sizeof options, "-cl-std=CL1.2 -DLAYOUT_AOS=%d",
             desc->variant == BARNES_HUT_AOS);
    code = clBuildProgram(world->program, 1, &desc->device, options, NULL, NULL);
    if (code != CL_SUCCESS) {
        clGetProgramBuildInfo(world->program, desc->device, CL_PROGRAM_BUILD_LOG, sizeof log - 1,
                              log, NULL);
        return bench_error_set(error, "plain.cl does not build (%d): %s", code, log);
    }
    for (int i = 0; i < KERNEL_COUNT; i++) {
        world->kernels[i] = clCreateKernel(world->program, kernel_names[i], &code);
        if (code != CL_SUCCESS) {
            return bench_error_cl(error, kernel_names[i], code);
        }
    }
    return 0;
}

static int create_buffer(struct world *world, size_t bytes, cl_mem *buffer, bench_error *error) {
    cl_int code;
    *buffer = clCreateBuffer(world->context, CL_MEM_READ_WRITE, bytes, NULL, &code);
    return code == CL_SUCCESS ? 0 : bench_error_cl(error, "a buffer of the tree", code);
}

static int create_buffers(struct world *world, const barnes_hut_desc *desc, bench_error *error) {
    int is_aos = desc->variant == BARNES_HUT_AOS;
    const field *fields = is_aos ? fields_aos : fields_soa;
    size_t bytes = world->bodies * sizeof *desc->bodies;
    cl_int zeros[COUNTERS] = {0};
    world->field_count = is_aos ? sizeof fields_aos / sizeof *fields_aos : FIELDS;
    for (cl_uint i = 0; i < world->field_count; i++) {
        size_t count = fields[i].is_of_nodes ? world->nodes : world->bodies;
        if (create_buffer(world, count * fields[i].bytes, &world->fields[i], error)) {
            return -1;
        }
    }
    if (create_buffer(world, sizeof zeros, &world->counters, error) ||
        create_buffer(world, world->nodes * sizeof(cl_uint), &world->unused, error) ||
        create_buffer(world, bytes, &world->states, error) ||
        create_buffer(world, world->bodies, &world->levels, error)) {
        return -1;
    }
    cl_int code = clEnqueueWriteBuffer(world->queue, world->counters, CL_TRUE, 0, sizeof zeros,
                                       zeros, 0, NULL, NULL);
    if (code == CL_SUCCESS) {
        code = clEnqueueWriteBuffer(world->queue, world->states, CL_TRUE, 0, bytes, desc->bodies, 0,
                                    NULL, NULL);
    }
    return code == CL_SUCCESS ? 0 : bench_error_cl(error, "writing the first states", code);
}

/* The counts, counters and arrays, the same for all kernels. Returns how many these are, or -1. */
static int set_common(struct world *world, cl_kernel kernel) {
    cl_uint at = 0;
    cl_int code = clSetKernelArg(kernel, at++, sizeof(cl_uint), &world->bodies);
    code |= clSetKernelArg(kernel, at++, sizeof(cl_uint), &world->nodes);
    code |= clSetKernelArg(kernel, at++, sizeof(cl_mem), &world->counters);
    code |= clSetKernelArg(kernel, at++, sizeof(cl_mem), &world->unused);
    for (cl_uint i = 0; i < world->field_count; i++) {
        code |= clSetKernelArg(kernel, at++, sizeof(cl_mem), &world->fields[i]);
    }
    return code == CL_SUCCESS ? (int)at : -1;
}

/* Argument `index` behind the common ones. */
static int set_argument(struct world *world, int kernel, cl_uint index, size_t bytes,
                        const void *value, bench_error *error) {
    cl_uint at = 4 + world->field_count + index;
    cl_int code = clSetKernelArg(world->kernels[kernel], at, bytes, value);
    return code == CL_SUCCESS ? 0 : bench_error_cl(error, kernel_names[kernel], code);
}

static int set_arguments(struct world *world, const barnes_hut_constants *constants,
                         bench_error *error) {
    const cl_uint longest = LONGEST;
    const struct {
        int kernel;
        cl_uint index;
        size_t bytes;
        const void *value;
    } arguments[] = {{INIT, 0, sizeof(cl_mem), &world->states},
                     {ROOT, 0, sizeof(float), &constants->inverse_theta},
                     {FORCE, 0, sizeof(float), &constants->softening2},
                     {MOVE, 0, sizeof(float), &constants->kick},
                     {MOVE, 1, sizeof(float), &constants->dt},
                     {SPLIT, 0, sizeof longest, &longest},
                     {SPLIT, 1, sizeof(float), &constants->inverse_theta},
                     {SPLIT, 2, sizeof world->pass, &world->pass},
                     {WRITE, 0, sizeof(cl_mem), &world->states},
                     {WRITE, 1, sizeof(cl_mem), &world->levels}};
    for (int k = 0; k < KERNEL_COUNT; k++) {
        if (set_common(world, world->kernels[k]) < 0) {
            return bench_error_set(error, "the arguments of %s could not be set", kernel_names[k]);
        }
    }
    int result = 0;
    for (size_t i = 0; result == 0 && i < sizeof arguments / sizeof *arguments; i++) {
        result = set_argument(world, arguments[i].kernel, arguments[i].index, arguments[i].bytes,
                              arguments[i].value, error);
    }
    return result;
}

static int launch(struct world *world, int kernel, cl_event *event, bench_error *error) {
    int is_over_nodes = kernel == SPLIT || kernel == GATHER;
    size_t local = GROUP, items = is_over_nodes ? world->nodes : world->bodies;
    size_t global = (items + GROUP - 1) / GROUP * GROUP;
    cl_int code = clEnqueueNDRangeKernel(world->queue, world->kernels[kernel], 1, NULL, &global,
                                         &local, 0, NULL, event);
    return code == CL_SUCCESS ? 0 : bench_error_cl(error, kernel_names[kernel], code);
}

static int gather(struct world *world, cl_event *event, bench_error *error) {
    if (set_argument(world, GATHER, 0, sizeof world->pass, &world->pass, error) ||
        launch(world, GATHER, event, error)) {
        return -1;
    }
    world->pass++;
    return set_argument(world, SPLIT, 2, sizeof world->pass, &world->pass, error);
}

/* As in heap.c. */
static int build_tree(struct world *world, bench_error *error) {
    const cl_uint any = UINT32_MAX;
    uint32_t rounds = barnes_hut_count_rounds(world->bodies);
    for (uint32_t i = 0; i < rounds; i++) {
        if ((i + 1 == rounds && set_argument(world, SPLIT, 0, sizeof any, &any, error)) ||
            launch(world, PUSH, NULL, error) || launch(world, SPLIT, NULL, error)) {
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
    const cl_mem buffers[] = {world->counters, world->unused, world->states, world->levels};
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++) {
        if (buffers[i]) {
            clReleaseMemObject(buffers[i]);
        }
    }
    for (size_t i = 0; i < FIELDS; i++) {
        if (world->fields[i]) {
            clReleaseMemObject(world->fields[i]);
        }
    }
    for (int i = 0; i < KERNEL_COUNT; i++) {
        if (world->kernels[i]) {
            clReleaseKernel(world->kernels[i]);
        }
    }
    if (world->program) {
        clReleaseProgram(world->program);
    }
    free(world);
}

static int read_counters(struct world *world, cl_int counters[COUNTERS], bench_error *error) {
    cl_int code = clEnqueueReadBuffer(world->queue, world->counters, CL_TRUE, 0,
                                      COUNTERS * sizeof *counters, counters, 0, NULL, NULL);
    return code == CL_SUCCESS ? 0 : bench_error_cl(error, "the steps so far", code);
}

static int finish(void *self, bench_error *error) {
    struct world *world = self;
    cl_int counters[COUNTERS];
    if (read_counters(world, counters, error)) {
        return -1;
    }
    return counters[NODES_LACKING] ? bench_error_set(error, "%u nodes are too few for %u bodies",
                                                     world->nodes, world->bodies)
                                   : 0;
}

static int create(const barnes_hut_desc *desc, const barnes_hut_constants *constants, void **self,
                  bench_error *error) {
    struct world *world = calloc(1, sizeof *world);
    if (!world) {
        return bench_error_set(error, "host memory ran out");
    }
    world->context = desc->context;
    world->queue = desc->queue;
    world->bodies = desc->count;
    world->nodes = desc->nodes ? desc->nodes : 2 * desc->count + 4096;
    world->pass = 1;
    if (build_program(world, desc, error) || create_buffers(world, desc, error) ||
        set_arguments(world, constants, error) || launch(world, INIT, NULL, error) ||
        launch(world, ROOT, NULL, error) || build_tree(world, error) || finish(world, error)) {
        destroy(world);
        return -1;
    }
    *self = world;
    return 0;
}

static int step(void *self, cl_event *events, bench_error *error) {
    struct world *world = self;
    for (int kernel = FORCE; kernel < GATHER; kernel++) {
        if (launch(world, kernel, events ? &events[kernel] : NULL, error)) {
            return -1;
        }
    }
    if (gather(world, events ? &events[GATHER] : NULL, error)) {
        return -1;
    }
    return clFlush(world->queue) == CL_SUCCESS
               ? 0
               : bench_error_set(error, "the queue could not be flushed");
}

static int read_bodies(void *self, collision_body *bodies, barnes_hut_tree *tree,
                       bench_error *error) {
    struct world *world = self;
    cl_int counters[COUNTERS];
    if (launch(world, WRITE, NULL, error) || read_counters(world, counters, error)) {
        return -1;
    }
    cl_int code = clEnqueueReadBuffer(world->queue, world->states, CL_TRUE, 0,
                                      world->bodies * sizeof *bodies, bodies, 0, NULL, NULL);
    if (code == CL_SUCCESS && tree && tree->levels) {
        code = clEnqueueReadBuffer(world->queue, world->levels, CL_TRUE, 0, world->bodies,
                                   tree->levels, 0, NULL, NULL);
    }
    if (tree) {
        tree->nodes = (uint32_t)(counters[NODES_MADE] - counters[STACK_HEIGHT]);
    }
    return code == CL_SUCCESS ? 0 : bench_error_cl(error, "reading the bodies", code);
}

const barnes_hut_ops barnes_hut_plain_ops = {
    .create = create, .destroy = destroy, .step = step, .finish = finish, .read = read_bodies};
