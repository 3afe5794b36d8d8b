/* The baselines in plain OpenCL: host side of plain.cl. See world.h. */
#include <stdio.h>
#include <stdlib.h>

#include "device.h"

#define GROUP 64
#define LOG_BYTES 1500

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
    uint32_t kernel_count;
    int buffer_count;
    cl_program program;
    cl_kernel kernels[COLLISION_KERNEL_COUNT];
    cl_mem buffers[FIELDS_MERGING]; /* one per field, or one of structs */
    collision_states states;
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
    for (uint32_t i = 0; i < world->kernel_count; i++) {
        world->kernels[i] = clCreateKernel(world->program, collision_kernel_names[i], &code);
        if (code != CL_SUCCESS) {
            return bench_error_cl(error, collision_kernel_names[i], code);
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
    return code == CL_SUCCESS ? collision_states_create(desc, &world->states, error)
                              : bench_error_cl(error, "the buffers of the bodies", code);
}

/* The count and the buffers, the same for all kernels, and what each has behind them. */
static int set_arguments(struct world *world, const collision_constants *constants,
                         bench_error *error) {
    const float numbers[COLLISION_KERNEL_COUNT][2] = {
        [COLLISION_FORCE] = {constants->softening2, constants->scale},
        [COLLISION_UPDATE] = {constants->kick, constants->dt},
        [COLLISION_FIND] = {constants->reach2, 0}};
    static const cl_uint number_counts[COLLISION_KERNEL_COUNT] = {
        [COLLISION_FORCE] = 2, [COLLISION_UPDATE] = 2, [COLLISION_FIND] = 1};
    for (uint32_t k = 0; k < world->kernel_count; k++) {
        cl_kernel kernel = world->kernels[k];
        cl_uint at = 0;
        cl_int code = clSetKernelArg(kernel, at++, sizeof world->count, &world->count);
        for (int i = 0; code == CL_SUCCESS && i < world->buffer_count; i++) {
            code = clSetKernelArg(kernel, at++, sizeof(cl_mem), &world->buffers[i]);
        }
        for (cl_uint i = 0; code == CL_SUCCESS && i < number_counts[k]; i++) {
            code = clSetKernelArg(kernel, at++, sizeof(float), &numbers[k][i]);
        }
        if (code == CL_SUCCESS && (k == COLLISION_INIT || k == COLLISION_WRITE)) {
            code = clSetKernelArg(kernel, at++, sizeof(cl_mem), &world->states.buffer);
        }
        if (code != CL_SUCCESS) {
            return bench_error_cl(error, collision_kernel_names[k], code);
        }
    }
    return 0;
}

static int launch(struct world *world, uint32_t kernel, cl_event *event, bench_error *error) {
    size_t local = GROUP, global = ((size_t)world->count + GROUP - 1) / GROUP * GROUP;
    cl_int code = clEnqueueNDRangeKernel(world->queue, world->kernels[kernel], 1, NULL, &global,
                                         &local, 0, NULL, event);
    return code == CL_SUCCESS ? 0 : bench_error_cl(error, collision_kernel_names[kernel], code);
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
    collision_states_destroy(&world->states);
    for (uint32_t i = 0; i < COLLISION_KERNEL_COUNT; i++) {
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
    world->kernel_count = collision_kernel_count(&desc->rules);
    if (build(world, desc, error) || create_buffers(world, desc, error) ||
        set_arguments(world, constants, error) || launch(world, COLLISION_INIT, NULL, error) ||
        finish(world, error)) {
        destroy(world);
        return -1;
    }
    *self = world;
    return 0;
}

static int step(void *self, cl_event *events, bench_error *error) {
    struct world *world = self;
    for (uint32_t kernel = COLLISION_FORCE; kernel < world->kernel_count; kernel++) {
        if (launch(world, kernel, events ? &events[kernel - COLLISION_FORCE] : NULL, error)) {
            return -1;
        }
    }
    return clFlush(world->queue) == CL_SUCCESS
               ? 0
               : bench_error_set(error, "the queue could not be flushed");
}

static int read_bodies(void *self, collision_body *bodies, bench_error *error) {
    struct world *world = self;
    return collision_states_clear(&world->states, error) ||
                   launch(world, COLLISION_WRITE, NULL, error) ||
                   collision_states_read(&world->states, bodies, error)
               ? -1
               : 0;
}

const collision_ops collision_plain_ops = {
    .create = create, .destroy = destroy, .step = step, .finish = finish, .read = read_bodies};
