/* The baselines in plain OpenCL: host side of plain.cl. See world.h. */
#include <stdio.h>
#include <stdlib.h>

#include "bench/heap.h"
#include "world.h"

#define GROUP 64 /* divides the pitch */
#define LOG_BYTES 1500

/* The phases, then the others. */
static const char *const kernel_names[] = {
#define PHASE_NAME(name) #name,
    SUGARSCAPE_PHASE_LIST(PHASE_NAME)
#undef PHASE_NAME
        "populate",
    "write_states"};
enum { POPULATE = SUGARSCAPE_PHASES, WRITE_STATES, KERNEL_COUNT };

/* Bytes of the fields of plain_grid.clh, in order. */
static const size_t field_bytes[] = {8, 4, 4, 4, 4, 4, 2, 2, 2, 2, 1, 1, 1, 1, 1};
#define FIELDS (sizeof field_bytes / sizeof *field_bytes)
#define STRUCT_BYTES 44

struct world {
    cl_context context;
    cl_command_queue queue;
    sugarscape_rules rules;
    uint32_t iteration, cells;
    cl_uint buffer_count;
    cl_program program;
    cl_kernel kernels[KERNEL_COUNT];
    cl_mem buffers[FIELDS]; /* one per field, or one of structs */
    cl_mem states;
};

static int build(struct world *world, const sugarscape_desc *desc, bench_error *error) {
    char options[600], log[LOG_BYTES] = "";
    cl_int code = CL_SUCCESS;
    char *source = sugarscape_load_source("plain_grid.clh", "plain.cl", error);
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
             desc->variant == SUGARSCAPE_AOS);
    bench_add_random123(options, sizeof options);
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

static int create_buffers(struct world *world, const sugarscape_desc *desc, bench_error *error) {
    int is_aos = desc->variant == SUGARSCAPE_AOS;
    size_t states = sugarscape_cells(&world->rules) * sizeof(sugarscape_state);
    cl_int code = CL_SUCCESS;
    world->buffer_count = is_aos ? 1 : FIELDS;
    for (cl_uint i = 0; code == CL_SUCCESS && i < world->buffer_count; i++) {
        size_t bytes = is_aos ? STRUCT_BYTES : field_bytes[i];
        world->buffers[i] =
            clCreateBuffer(world->context, CL_MEM_READ_WRITE, world->cells * bytes, NULL, &code);
    }
    if (code == CL_SUCCESS) {
        world->states = clCreateBuffer(world->context, CL_MEM_READ_WRITE, states, NULL, &code);
    }
    return code == CL_SUCCESS ? 0 : bench_error_cl(error, "the buffers of the world", code);
}

/* All kernels have the number of cells, the buffers and the rules; then comes the step, if any. */
static int set_arguments(struct world *world, bench_error *error) {
    for (int k = 0; k < KERNEL_COUNT; k++) {
        cl_kernel kernel = world->kernels[k];
        cl_uint at = 0;
        cl_int code = clSetKernelArg(kernel, at++, sizeof world->cells, &world->cells);
        for (cl_uint i = 0; code == CL_SUCCESS && i < world->buffer_count; i++) {
            code = clSetKernelArg(kernel, at++, sizeof(cl_mem), &world->buffers[i]);
        }
        if (code == CL_SUCCESS) {
            code = clSetKernelArg(kernel, at++, sizeof world->rules, &world->rules);
        }
        if (code == CL_SUCCESS && k == WRITE_STATES) {
            code = clSetKernelArg(kernel, at + 1, sizeof world->states, &world->states);
        }
        if (code != CL_SUCCESS) {
            return bench_error_cl(error, kernel_names[k], code);
        }
    }
    return 0;
}

/* For every cell of the lines of the world, or of the frame too. */
static int launch(struct world *world, int kernel, cl_event *event, bench_error *error) {
    const sugarscape_rules *rules = &world->rules;
    int is_all = kernel == POPULATE, has_iteration = !is_all && kernel != SUGARSCAPE_PHASE_propose;
    size_t local = GROUP, offset = is_all ? 0 : (size_t)rules->max_vision * rules->pitch;
    size_t global = is_all ? world->cells : (size_t)rules->height * rules->pitch;
    cl_int code = CL_SUCCESS;
    if (has_iteration) {
        code = clSetKernelArg(world->kernels[kernel], world->buffer_count + 2,
                              sizeof world->iteration, &world->iteration);
    }
    if (code == CL_SUCCESS) {
        code = clEnqueueNDRangeKernel(world->queue, world->kernels[kernel], 1, &offset, &global,
                                      &local, 0, NULL, event);
    }
    return code == CL_SUCCESS ? 0 : bench_error_cl(error, kernel_names[kernel], code);
}

static void destroy(void *self) {
    struct world *world = self;
    if (!world) {
        return;
    }
    for (size_t i = 0; i < FIELDS; i++) {
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

static int create(const sugarscape_desc *desc, void **self, bench_error *error) {
    struct world *world = calloc(1, sizeof *world);
    if (!world) {
        return bench_error_set(error, "host memory ran out");
    }
    world->context = desc->context;
    world->queue = desc->queue;
    world->rules = desc->rules;
    world->cells = sugarscape_grid_cells(&desc->rules);
    if (build(world, desc, error) || create_buffers(world, desc, error) ||
        set_arguments(world, error) || launch(world, POPULATE, NULL, error) ||
        finish(world, error)) {
        destroy(world);
        return -1;
    }
    *self = world;
    return 0;
}

static int step(void *self, cl_event *events, bench_error *error) {
    struct world *world = self;
    for (int phase = 0; phase < SUGARSCAPE_PHASES; phase++) {
        if (launch(world, phase, events ? &events[phase] : NULL, error)) {
            return -1;
        }
    }
    world->iteration++;
    return clFlush(world->queue) == CL_SUCCESS
               ? 0
               : bench_error_set(error, "the queue could not be flushed");
}

static int read_states(void *self, sugarscape_state *states, bench_error *error) {
    struct world *world = self;
    if (launch(world, WRITE_STATES, NULL, error)) {
        return -1;
    }
    cl_int code = clEnqueueReadBuffer(world->queue, world->states, CL_TRUE, 0,
                                      sugarscape_cells(&world->rules) * sizeof *states, states, 0,
                                      NULL, NULL);
    return code == CL_SUCCESS ? 0 : bench_error_cl(error, "reading the states", code);
}

const sugarscape_ops sugarscape_plain_ops = {
    .create = create, .destroy = destroy, .step = step, .finish = finish, .read = read_states};
