/* The baselines in plain OpenCL: host side of plain.cl. See world.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "world.h"

#define GROUP 64
#define LOG_BYTES 1500

/* Kernels in the order of a step, and what each is launched for. */
enum { INIT, PULL, FORCE, MOVE, BEGIN_SEARCH, JOIN, MARK, REMOVE, WRITE, KERNEL_COUNT };
typedef enum range { PULL_NODES, ORDINARY_NODES, NODES, SPRINGS, BOTH, RANGE_COUNT } range;
static const struct {
    const char *name;
    range range;
} kernel_list[] = {[INIT] = {"init", BOTH},
                   [PULL] = {"pull", PULL_NODES},
                   [FORCE] = {"compute_force", SPRINGS},
                   [MOVE] = {"move", ORDINARY_NODES},
                   [BEGIN_SEARCH] = {"begin_search", NODES},
                   [JOIN] = {"join", SPRINGS},
                   [MARK] = {"mark", BOTH},
                   [REMOVE] = {"remove_loose", BOTH},
                   [WRITE] = {"write_state", BOTH}};

/* Bytes of a node's and a spring's fields in plain.cl, in order, and of the structs. */
static const size_t node_fields[] = {8, 8, 4, 4 * STRUCTURE_DEGREE, 4, 1, 1};
static const size_t spring_fields[] = {8, 4, 4, 4, 4, 4, 1};
#define FIELDS 7
#define NODE_BYTES 48
#define SPRING_BYTES 32
#define BUFFERS_MAX (2 * FIELDS)

struct world {
    cl_context context;
    cl_command_queue queue;
    cl_uint is_aos, steps, iterations;
    size_t global[RANGE_COUNT];
    cl_uint numbers[4]; /* what WORLD begins with */
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
        world->kernels[i] = clCreateKernel(world->program, kernel_list[i].name, &code);
        if (code != CL_SUCCESS) {
            return bench_error_cl(error, kernel_list[i].name, code);
        }
    }
    return 0;
}

static cl_int create_buffer(const struct world *world, size_t bytes, const void *from,
                            cl_mem *buffer) {
    cl_int code = CL_SUCCESS;
    *buffer = clCreateBuffer(world->context, CL_MEM_READ_WRITE | (from ? CL_MEM_COPY_HOST_PTR : 0),
                             bytes, (void *)(uintptr_t)from,
                             &code); /* OpenCL only reads it, and wants it without const */
    return code;
}

static int create_buffers(struct world *world, const structure_network *network,
                          bench_error *error) {
    size_t nodes = network->node_count, springs = network->spring_count ? network->spring_count : 1;
    cl_int code = create_buffer(world, sizeof(cl_uint), NULL, &world->changed);
    if (code == CL_SUCCESS) {
        code = create_buffer(world, (nodes * 6 + springs) * sizeof(cl_uint), NULL, &world->state);
    }
    world->buffer_count = world->is_aos ? 2 : 2 * FIELDS;
    for (cl_uint i = 0; code == CL_SUCCESS && i < world->buffer_count; i++) {
        int is_node = i < world->buffer_count / 2;
        size_t bytes = world->is_aos ? (is_node ? NODE_BYTES : SPRING_BYTES)
                       : is_node     ? node_fields[i]
                                     : spring_fields[i - FIELDS];
        code = create_buffer(world, (is_node ? nodes : springs) * bytes, NULL, &world->buffers[i]);
    }
    return code == CL_SUCCESS ? 0 : bench_error_cl(error, "the buffers of the structure", code);
}

/* The world, the same for all kernels. Returns the index of the next argument, or -1. */
static int set_world(struct world *world, int kernel, bench_error *error) {
    cl_uint at = 0;
    cl_int code = CL_SUCCESS;
    for (int i = 0; code == CL_SUCCESS && i < 4; i++) {
        code = clSetKernelArg(world->kernels[kernel], at++, sizeof(cl_uint), &world->numbers[i]);
    }
    for (cl_uint i = 0; code == CL_SUCCESS && i < world->buffer_count; i++) {
        code = clSetKernelArg(world->kernels[kernel], at++, sizeof(cl_mem), &world->buffers[i]);
    }
    return code == CL_SUCCESS ? (int)at : bench_error_cl(error, kernel_list[kernel].name, code);
}

/* What each kernel has behind the world, but `init` and the last argument of `pull`. */
static int set_arguments(struct world *world, const structure_rules *rules, bench_error *error) {
    for (int k = PULL; k < KERNEL_COUNT; k++) {
        int at = set_world(world, k, error);
        if (at < 0) {
            return -1;
        }
        cl_uint index = (cl_uint)at;
        cl_kernel kernel = world->kernels[k];
        cl_int code = CL_SUCCESS;
        if (k == MOVE) {
            code = clSetKernelArg(kernel, index, sizeof rules->dt, &rules->dt);
            code |= clSetKernelArg(kernel, index + 1, sizeof rules->keep, &rules->keep);
        } else {
            cl_mem buffer = k == WRITE ? world->state : world->changed;
            code = clSetKernelArg(kernel, index, sizeof buffer, &buffer);
        }
        if (k == PULL) {
            code |= clSetKernelArg(kernel, index + 1, sizeof rules->dt, &rules->dt);
        }
        if (code != CL_SUCCESS) {
            return bench_error_cl(error, kernel_list[k].name, code);
        }
    }
    return 0;
}

static int launch(struct world *world, int kernel, bench_error *error) {
    size_t local = GROUP, global = world->global[kernel_list[kernel].range];
    cl_int code = clEnqueueNDRangeKernel(world->queue, world->kernels[kernel], 1, NULL, &global,
                                         &local, 0, NULL, NULL);
    return code == CL_SUCCESS ? 0 : bench_error_cl(error, kernel_list[kernel].name, code);
}

static int finish(void *self, bench_error *error) {
    struct world *world = self;
    cl_int code = clFinish(world->queue);
    return code == CL_SUCCESS ? 0 : bench_error_cl(error, "the steps so far", code);
}

static int fill(struct world *world, const structure_network *network, bench_error *error) {
    cl_mem from[2] = {NULL, NULL};
    size_t springs = network->spring_count;
    int at = set_world(world, INIT, error), result = at < 0 ? -1 : 0;
    cl_int code = create_buffer(world, network->node_count * sizeof *network->nodes, network->nodes,
                                &from[0]);
    if (code == CL_SUCCESS) { /* a buffer cannot be empty */
        code = create_buffer(world, (springs ? springs : 1) * sizeof *network->springs,
                             springs ? network->springs : NULL, &from[1]);
    }
    for (cl_uint i = 0; result == 0 && code == CL_SUCCESS && i < 2; i++) {
        code = clSetKernelArg(world->kernels[INIT], (cl_uint)at + i, sizeof from[i], &from[i]);
    }
    if (code != CL_SUCCESS) {
        result = bench_error_cl(error, "the buffers of the network", code);
    }
    if (result == 0) {
        result = launch(world, INIT, error) || finish(world, error) ? -1 : 0;
    }
    for (int i = 0; i < 2; i++) {
        if (from[i]) {
            clReleaseMemObject(from[i]);
        }
    }
    return result;
}

static void destroy(void *self) {
    struct world *world = self;
    if (!world) {
        return;
    }
    for (int i = 0; i < BUFFERS_MAX; i++) {
        if (world->buffers[i]) {
            clReleaseMemObject(world->buffers[i]);
        }
    }
    if (world->changed) {
        clReleaseMemObject(world->changed);
    }
    if (world->state) {
        clReleaseMemObject(world->state);
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

static int step(void *self, bench_error *error) {
    struct world *world = self;
    cl_uint is_first = world->steps++ == 0;
    cl_int code = clSetKernelArg(world->kernels[PULL], 4 + world->buffer_count + 2, sizeof is_first,
                                 &is_first);
    if (code != CL_SUCCESS) {
        return bench_error_cl(error, "pull", code);
    }
    if (launch(world, PULL, error)) {
        return -1;
    }
    for (cl_uint i = 0; i < world->iterations; i++) {
        if (launch(world, FORCE, error) || launch(world, MOVE, error)) {
            return -1;
        }
    }
    for (int kernel = BEGIN_SEARCH; kernel <= REMOVE; kernel++) {
        if (launch(world, kernel, error)) {
            return -1;
        }
    }
    code = clFlush(world->queue);
    return code == CL_SUCCESS ? 0 : bench_error_cl(error, "flushing the queue", code);
}

static int read_state(void *self, structure_state *state, bench_error *error) {
    struct world *world = self;
    size_t bytes = structure_state_bytes(state);
    cl_uint zero = 0;
    cl_int code = clEnqueueFillBuffer(world->queue, world->state, &zero, sizeof zero, 0, bytes, 0,
                                      NULL, NULL);
    if (launch(world, WRITE, error)) {
        return -1;
    }
    if (code == CL_SUCCESS) {
        code = clEnqueueReadBuffer(world->queue, world->state, CL_TRUE, 0, bytes, state->words, 0,
                                   NULL, NULL);
    }
    return code == CL_SUCCESS ? 0 : bench_error_cl(error, "reading the state", code);
}

const structure_ops structure_plain_ops = {
    .create = create, .destroy = destroy, .step = step, .finish = finish, .read = read_state};
