/* The baselines in plain OpenCL: host side of plain.cl. See world.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "world.h"

#define GROUP 64
#define LOG_BYTES 1500

/* As in heap.c. */
static const char *const kernel_names[] = {"body_init", "write_bodies",   "compute_force",
                                           "update",    "find_candidate", "request",
                                           "merge",     "delete_merged"};
enum { INIT, WRITE, FORCE, UPDATE, FIND, REQUEST, MERGE, DELETE, KERNEL_COUNT };

/* Bytes of the fields of plain.cl, in order; the last four only if merging. */
static const size_t field_bytes[] = {4, 4, 4, 4, 4, 4, 4, 4, 4, 1, 1};
#define FIELDS_MERGING 11
#define FIELDS 7
#define STRUCT_BYTES_MERGING 40
#define STRUCT_BYTES 28

struct world {
    cl_context context;
    cl_command_queue queue;
    uint32_t count;
    int kernel_count, buffer_count;
    cl_program program;
    cl_kernel kernels[KERNEL_COUNT];
    cl_mem buffers[FIELDS_MERGING]; /* one per field, or one of structs */
    cl_mem states;
};

static int build(struct world *world, const collision_desc *desc, bench_error *error) {
    char options[64], log[LOG_BYTES] = "";
    cl_int code = CL_SUCCESS;
    char *source = collision_load_source("bench/apps/collision/plain.cl", error);
    if (!source) {
        return -1;
    }
    const char *text = source;
    world->program = clCreateProgramWithSource(world->context, 1, &text, NULL, &code);
    free(source);
    if (code != CL_SUCCESS) {
        return bench_error_cl(error, "the program of plain.cl", code);
    }
    snprintf(options, sizeof options, "-cl-std=CL1.2 -DMERGING=%d -DLAYOUT_AOS=%d",
             desc->rules.is_merging != 0, desc->variant == COLLISION_AOS);
    code = clBuildProgram(world->program, 1, &desc->device, options, NULL, NULL);
    if (code != CL_SUCCESS) {
        clGetProgramBuildInfo(world->program, desc->device, CL_PROGRAM_BUILD_LOG, sizeof log - 1,
                              log, NULL);
        return bench_error_set(error, "plain.cl does not build (%d): %s", code, log);
    }
    for (int i = 0; i < world->kernel_count; i++) {
        world->kernels[i] = clCreateKernel(world->program, kernel_names[i], &code);
        if (code != CL_SUCCESS) {
            return bench_error_cl(error, kernel_names[i], code);
        }
    }
    return 0;
}

static int create_buffers(struct world *world, const collision_desc *desc, bench_error *error) {
    int is_merging = desc->rules.is_merging, is_aos = desc->variant == COLLISION_AOS;
    cl_int code = CL_SUCCESS;
    world->buffer_count = is_aos ? 1 : is_merging ? FIELDS_MERGING : FIELDS;
    for (int i = 0; code == CL_SUCCESS && i < world->buffer_count; i++) {
        size_t bytes = !is_aos ? field_bytes[i] : is_merging ? STRUCT_BYTES_MERGING : STRUCT_BYTES;
        world->buffers[i] =
            clCreateBuffer(world->context, CL_MEM_READ_WRITE, world->count * bytes, NULL, &code);
    }
    size_t bytes = world->count * sizeof *desc->bodies;
    if (code == CL_SUCCESS) {
        world->states = clCreateBuffer(world->context, CL_MEM_READ_WRITE, bytes, NULL, &code);
    }
    if (code == CL_SUCCESS) {
        code = clEnqueueWriteBuffer(world->queue, world->states, CL_TRUE, 0, bytes, desc->bodies, 0,
                                    NULL, NULL);
    }
    return code == CL_SUCCESS ? 0 : bench_error_cl(error, "the buffers of the bodies", code);
}

/* The count and the buffers, the same for all kernels, and what each has behind them. */
static int set_arguments(struct world *world, const collision_constants *constants,
                         bench_error *error) {
    const float numbers[KERNEL_COUNT][2] = {[FORCE] = {constants->softening2, constants->scale},
                                            [UPDATE] = {constants->kick, constants->dt},
                                            [FIND] = {constants->reach2, 0}};
    static const cl_uint number_counts[KERNEL_COUNT] = {[FORCE] = 2, [UPDATE] = 2, [FIND] = 1};
    for (int k = 0; k < world->kernel_count; k++) {
        cl_kernel kernel = world->kernels[k];
        cl_uint at = 0;
        cl_int code = clSetKernelArg(kernel, at++, sizeof world->count, &world->count);
        for (int i = 0; code == CL_SUCCESS && i < world->buffer_count; i++) {
            code = clSetKernelArg(kernel, at++, sizeof(cl_mem), &world->buffers[i]);
        }
        for (cl_uint i = 0; code == CL_SUCCESS && i < number_counts[k]; i++) {
            code = clSetKernelArg(kernel, at++, sizeof(float), &numbers[k][i]);
        }
        if (code == CL_SUCCESS && (k == INIT || k == WRITE)) {
            code = clSetKernelArg(kernel, at++, sizeof world->states, &world->states);
        }
        if (code != CL_SUCCESS) {
            return bench_error_cl(error, kernel_names[k], code);
        }
    }
    return 0;
}

static int launch(struct world *world, int kernel, bench_error *error) {
    size_t local = GROUP, global = ((size_t)world->count + GROUP - 1) / GROUP * GROUP;
    cl_int code = clEnqueueNDRangeKernel(world->queue, world->kernels[kernel], 1, NULL, &global,
                                         &local, 0, NULL, NULL);
    return code == CL_SUCCESS ? 0 : bench_error_cl(error, kernel_names[kernel], code);
}

static void destroy(void *self) {
    struct world *world = self;
    if (!world) {
        return;
    }
    for (int i = 0; i < FIELDS_MERGING; i++) {
        if (world->buffers[i]) {
            clReleaseMemObject(world->buffers[i]);
        }
    }
    if (world->states) {
        clReleaseMemObject(world->states);
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

static int finish(void *self, bench_error *error) {
    struct world *world = self;
    cl_int code = clFinish(world->queue);
    return code == CL_SUCCESS ? 0 : bench_error_cl(error, "the steps so far", code);
}

static int create(const collision_desc *desc, const collision_constants *constants, void **self,
                  bench_error *error) {
    struct world *world = calloc(1, sizeof *world);
    if (!world) {
        return bench_error_set(error, "host memory ran out");
    }
    world->context = desc->context;
    world->queue = desc->queue;
    world->count = desc->count;
    world->kernel_count = desc->rules.is_merging ? KERNEL_COUNT : FIND;
    if (build(world, desc, error) || create_buffers(world, desc, error) ||
        set_arguments(world, constants, error) || launch(world, INIT, error) ||
        finish(world, error)) {
        destroy(world);
        return -1;
    }
    *self = world;
    return 0;
}

static int step(void *self, bench_error *error) {
    struct world *world = self;
    for (int kernel = FORCE; kernel < world->kernel_count; kernel++) {
        if (launch(world, kernel, error)) {
            return -1;
        }
    }
    return clFlush(world->queue) == CL_SUCCESS
               ? 0
               : bench_error_set(error, "the queue could not be flushed");
}

static int read_bodies(void *self, collision_body *bodies, bench_error *error) {
    struct world *world = self;
    size_t bytes = world->count * sizeof *bodies;
    cl_uint zero = 0;
    cl_int code = clEnqueueFillBuffer(world->queue, world->states, &zero, sizeof zero, 0, bytes, 0,
                                      NULL, NULL);
    if (launch(world, WRITE, error)) {
        return -1;
    }
    if (code == CL_SUCCESS) {
        code = clEnqueueReadBuffer(world->queue, world->states, CL_TRUE, 0, bytes, bodies, 0, NULL,
                                   NULL);
    }
    return code == CL_SUCCESS ? 0 : bench_error_cl(error, "reading the bodies", code);
}

const collision_ops collision_plain_ops = {
    .create = create, .destroy = destroy, .step = step, .finish = finish, .read = read_bodies};
