/* The baselines in plain OpenCL: host side of plain.cl. See world.h. */
#include <stdio.h>
#include <stdlib.h>

#include "device.h"

#define GROUP 64
#define LOG_BYTES 1500

/* Behind those of device.h. */
enum { INIT = STRUCTURE_KERNELS_SHARED, KERNEL_COUNT };
static const char *const kernel_names[KERNEL_COUNT] = {STRUCTURE_KERNEL_NAMES, "init"};

/* What each is launched for. */
typedef enum range { PULL_NODES, ORDINARY_NODES, NODES, SPRINGS, BOTH, RANGE_COUNT } range;
static const range ranges[KERNEL_COUNT] = {[STRUCTURE_PULL] = PULL_NODES,
                                           [STRUCTURE_FORCE] = SPRINGS,
                                           [STRUCTURE_MOVE] = ORDINARY_NODES,
                                           [STRUCTURE_BEGIN_SEARCH] = NODES,
                                           [STRUCTURE_JOIN] = SPRINGS,
                                           [STRUCTURE_MARK] = BOTH,
                                           [STRUCTURE_REMOVE] = BOTH,
                                           [STRUCTURE_WRITE] = BOTH,
                                           [INIT] = BOTH};

/* Bytes of a node's and a spring's fields in plain.cl, in order, and of the structs. */
static const size_t node_fields[] = {8, 8, 8 * STRUCTURE_DEGREE, 4, 4 * STRUCTURE_DEGREE, 4, 1};
static const size_t spring_fields[] = {4, 4, 1, 4, 4, 4, 1};
#define FIELDS 7
#define NODE_BYTES 88
#define SPRING_BYTES 24
#define NUMBERS 4
#define BUFFERS_MAX (2 * FIELDS)

struct world {
    cl_context context;
    cl_command_queue queue;
    cl_uint is_aos, steps, iterations;
    size_t global[RANGE_COUNT];
    cl_uint numbers[NUMBERS]; /* what WORLD begins with */
    cl_program program;
    cl_kernel kernels[KERNEL_COUNT];
    cl_uint buffer_count;
    cl_mem buffers[BUFFERS_MAX];
    cl_mem changed, state;
};

static int build(struct world *world, const structure_desc *desc, bench_error *error) {
    char options[96], log[LOG_BYTES] = "";
    cl_int code = CL_SUCCESS;
    char *source = structure_load_source("bench/apps/structure/plain.cl", error);
    if (!source) {
        return -1;
    }
    const char *text = source;
    world->program = clCreateProgramWithSource(world->context, 1, &text, NULL, &code);
    free(source);
    if (code != CL_SUCCESS) {
        return bench_error_cl(error, "the program of plain.cl", code);
    }
    snprintf(options, sizeof options, "-cl-std=CL1.2 -DLAYOUT_AOS=%u -DFOREST_STRIDE=%u",
             world->is_aos, world->is_aos ? NODE_BYTES / 4u : 1u);
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

static int create_buffers(struct world *world, const structure_network *network,
                          bench_error *error) {
    size_t nodes = network->node_count, springs = network->spring_count;
    int result =
        structure_buffer_create(world->context, 1, sizeof(cl_uint), NULL, &world->changed, error) ||
        structure_buffer_create(world->context, nodes * STRUCTURE_NODE_WORDS + springs,
                                sizeof(cl_uint), NULL, &world->state, error);
    world->buffer_count = world->is_aos ? 2 : 2 * FIELDS;
    for (cl_uint i = 0; result == 0 && i < world->buffer_count; i++) {
        int is_node = i < world->buffer_count / 2;
        size_t bytes = world->is_aos ? (is_node ? NODE_BYTES : SPRING_BYTES)
                       : is_node     ? node_fields[i]
                                     : spring_fields[i - FIELDS];
        result = structure_buffer_create(world->context, is_node ? nodes : springs, bytes, NULL,
                                         &world->buffers[i], error);
    }
    return result ? -1 : 0;
}

/* The world, the same for all kernels. Returns the index of the next argument, or -1. */
static int set_world(struct world *world, int kernel, bench_error *error) {
    cl_uint at = 0;
    cl_int code = CL_SUCCESS;
    for (int i = 0; code == CL_SUCCESS && i < NUMBERS; i++) {
        code = clSetKernelArg(world->kernels[kernel], at++, sizeof(cl_uint), &world->numbers[i]);
    }
    for (cl_uint i = 0; code == CL_SUCCESS && i < world->buffer_count; i++) {
        code = clSetKernelArg(world->kernels[kernel], at++, sizeof(cl_mem), &world->buffers[i]);
    }
    return code == CL_SUCCESS ? (int)at : bench_error_cl(error, kernel_names[kernel], code);
}

/* What each kernel has behind the world, but `init` and the last argument of `pull`. */
static int set_arguments(struct world *world, const structure_rules *rules, bench_error *error) {
    for (int k = 0; k < STRUCTURE_KERNELS_SHARED; k++) {
        int at = set_world(world, k, error);
        if (at < 0) {
            return -1;
        }
        cl_uint index = (cl_uint)at;
        cl_kernel kernel = world->kernels[k];
        cl_int code = CL_SUCCESS;
        if (k == STRUCTURE_MOVE) {
            code = clSetKernelArg(kernel, index, sizeof rules->dt, &rules->dt);
            code |= clSetKernelArg(kernel, index + 1, sizeof rules->keep, &rules->keep);
        } else {
            cl_mem buffer = k == STRUCTURE_WRITE ? world->state : world->changed;
            code = clSetKernelArg(kernel, index, sizeof buffer, &buffer);
        }
        if (k == STRUCTURE_PULL) {
            code |= clSetKernelArg(kernel, index + 1, sizeof rules->dt, &rules->dt);
        }
        if (code != CL_SUCCESS) {
            return bench_error_cl(error, kernel_names[k], code);
        }
    }
    return 0;
}

static int launch(struct world *world, int kernel, cl_event *event, bench_error *error) {
    size_t local = GROUP, global = world->global[ranges[kernel]];
    cl_int code = clEnqueueNDRangeKernel(world->queue, world->kernels[kernel], 1, NULL, &global,
                                         &local, 0, NULL, event);
    return code == CL_SUCCESS ? 0 : bench_error_cl(error, kernel_names[kernel], code);
}

static int run(void *self, structure_kernel kernel, cl_event *event, bench_error *error) {
    return launch(self, kernel, event, error);
}

static int finish(void *self, bench_error *error) {
    struct world *world = self;
    cl_int code = clFinish(world->queue);
    return code == CL_SUCCESS ? 0 : bench_error_cl(error, "the steps so far", code);
}

static int fill(struct world *world, const structure_network *network, bench_error *error) {
    cl_mem from[2] = {NULL, NULL};
    int at = set_world(world, INIT, error);
    int result =
        at < 0 ||
                structure_buffer_create(world->context, network->node_count, sizeof *network->nodes,
                                        network->nodes, &from[0], error) ||
                structure_buffer_create(world->context, network->spring_count,
                                        sizeof *network->springs, network->springs, &from[1], error)
            ? -1
            : 0;
    cl_int code = CL_SUCCESS;
    for (cl_uint i = 0; result == 0 && code == CL_SUCCESS && i < 2; i++) {
        code = clSetKernelArg(world->kernels[INIT], (cl_uint)at + i, sizeof from[i], &from[i]);
    }
    if (code != CL_SUCCESS) {
        result = bench_error_cl(error, "the buffers of the network", code);
    }
    if (result == 0) {
        result = launch(world, INIT, NULL, error) || finish(world, error) ? -1 : 0;
    }
    structure_buffer_destroy(from[0]);
    structure_buffer_destroy(from[1]);
    return result;
}

static void destroy(void *self) {
    struct world *world = self;
    if (!world) {
        return;
    }
    for (int i = 0; i < BUFFERS_MAX; i++) {
        structure_buffer_destroy(world->buffers[i]);
    }
    structure_buffer_destroy(world->changed);
    structure_buffer_destroy(world->state);
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

/* Work-items for each range, in whole groups; at least one group, for `pull` sets a flag. */
static void find_sizes(struct world *world, const structure_network *network) {
    size_t nodes = network->node_count, springs = network->spring_count;
    const size_t counts[] = {[PULL_NODES] = network->first_anchor - network->first_pull,
                             [ORDINARY_NODES] = network->first_pull,
                             [NODES] = nodes,
                             [SPRINGS] = springs,
                             [BOTH] = nodes > springs ? nodes : springs};
    for (int i = 0; i < RANGE_COUNT; i++) {
        world->global[i] = counts[i] ? (counts[i] + GROUP - 1) / GROUP * GROUP : GROUP;
    }
}

static int create(const structure_desc *desc, void **self, bench_error *error) {
    struct world *world = calloc(1, sizeof *world);
    const structure_network *network = desc->network;
    if (!world) {
        return bench_error_set(error, "host memory ran out");
    }
    world->context = desc->context;
    world->queue = desc->queue;
    world->is_aos = desc->variant == STRUCTURE_AOS;
    world->iterations = desc->rules.iterations;
    world->numbers[0] = network->first_pull;
    world->numbers[1] = network->first_anchor;
    world->numbers[2] = network->node_count;
    world->numbers[3] = network->spring_count;
    find_sizes(world, network);
    if (build(world, desc, error) || create_buffers(world, network, error) ||
        set_arguments(world, &desc->rules, error) || fill(world, network, error)) {
        destroy(world);
        return -1;
    }
    *self = world;
    return 0;
}

static int step(void *self, cl_event *events, bench_error *error) {
    struct world *world = self;
    cl_uint is_first = world->steps++ == 0;
    cl_uint index = NUMBERS + world->buffer_count + 2; /* the last of `pull` */
    cl_int code = clSetKernelArg(world->kernels[STRUCTURE_PULL], index, sizeof is_first, &is_first);
    if (code == CL_SUCCESS && structure_run_step(run, world, world->iterations, events, error)) {
        return -1;
    }
    if (code == CL_SUCCESS) {
        code = clFlush(world->queue);
    }
    return code == CL_SUCCESS ? 0 : bench_error_cl(error, "a step", code);
}

static int read_state(void *self, structure_state *state, bench_error *error) {
    struct world *world = self;
    return structure_read_state(run, world, world->queue, world->state, state, error);
}

const structure_ops structure_plain_ops = {
    .create = create, .destroy = destroy, .step = step, .finish = finish, .read = read_state};
