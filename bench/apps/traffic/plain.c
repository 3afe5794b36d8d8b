/* The baselines in plain OpenCL: host side of plain.cl. See world.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/heap.h"
#include "world.h"

#define GROUP_ITEMS 64
#define LOG_BYTES 1500
#define OPTIONS_BYTES 1024

static const char *const kernel_names[] = {"cell_init", "car_start", "look", "act", "write_codes"};
enum { CELL_INIT, CAR_START, LOOK, ACT, WRITE, KERNEL_COUNT };

/* Bytes of the fields of plain.cl, in order. */
static const size_t field_bytes[] = {4, 4, 4, 4, 1, 1, 1, 1, 1};
#define FIELDS 9
#define STRUCT_BYTES 24

/* What there is besides cells; the first four only while the world is made. */
enum { NEXT, PREVIOUS, MAX_VELOCITY, LIMIT, STARTS, SPECIALS, GROUPS, WAITING, PRODUCERS };
enum { CONTROLLERS = PRODUCERS + 1, PHASES, CODES, BUFFER_COUNT };

struct plain_world {
    traffic_world base;
    const traffic_network *network;
    cl_context context;
    cl_command_queue queue;
    cl_program program;
    cl_kernel kernels[KERNEL_COUNT];
    cl_mem cells[FIELDS]; /* one per field, or one of structs */
    cl_uint cells_count;
    cl_mem buffers[BUFFER_COUNT];
    cl_uint moment_index[KERNEL_COUNT]; /* of the parameter `now` */
    uint32_t iteration;
};

static int build(struct plain_world *world, const traffic_desc *desc, bench_error *error) {
    char options[OPTIONS_BYTES], log[LOG_BYTES] = "", *source;
    cl_int code = CL_SUCCESS;
    if (traffic_load_source("bench/apps/traffic/plain.cl", &source, error)) {
        return -1;
    }
    const char *text = source;
    world->program = clCreateProgramWithSource(world->context, 1, &text, NULL, &code);
    free(source);
    if (code != CL_SUCCESS) {
        return bench_error_cl(error, "the program of plain.cl", code);
    }
    snprintf(options, sizeof options, "-cl-std=CL1.2 -DLAYOUT_AOS=%d %s",
             desc->variant == TRAFFIC_AOS, traffic_options);
    bench_add_random123(options, sizeof options);
    if (clBuildProgram(world->program, 1, &desc->device, options, NULL, NULL) != CL_SUCCESS) {
        clGetProgramBuildInfo(world->program, desc->device, CL_PROGRAM_BUILD_LOG, sizeof log - 1,
                              log, NULL);
        return bench_error_set(error, "plain.cl does not build: %s", log);
    }
    for (int i = 0; i < KERNEL_COUNT && code == CL_SUCCESS; i++) {
        world->kernels[i] = clCreateKernel(world->program, kernel_names[i], &code);
    }
    return code == CL_SUCCESS ? 0 : bench_error_cl(error, "the kernels of plain.cl", code);
}

/* Of `bytes`, those of `data` or else zero. */
static cl_int create_buffer(struct plain_world *world, cl_mem *buffer, size_t bytes,
                            const void *data) {
    static const cl_uchar zero = 0;
    cl_int code = CL_SUCCESS;
    size_t size = bytes ? bytes : 4; /* OpenCL has no empty buffers */
    *buffer = clCreateBuffer(world->context, CL_MEM_READ_WRITE, size, NULL, &code);
    if (code == CL_SUCCESS) {
        code = data && bytes
                   ? clEnqueueWriteBuffer(world->queue, *buffer, CL_TRUE, 0, bytes, data, 0, NULL,
                                          NULL)
                   : clEnqueueFillBuffer(world->queue, *buffer, &zero, 1, 0, size, 0, NULL, NULL);
    }
    return code;
}

static int create_buffers(struct plain_world *world, int is_aos, bench_error *error) {
    const traffic_network *n = world->network;
    const struct {
        size_t count, bytes;
        const void *data;
    } all[BUFFER_COUNT] = {
        [NEXT] = {n->cell_count, 4, n->next},
        [PREVIOUS] = {n->cell_count, 4, n->previous},
        [MAX_VELOCITY] = {n->cell_count, 1, n->max_velocity},
        [LIMIT] = {n->cell_count, 1, n->limit},
        [STARTS] = {n->start_count, sizeof *n->starts, n->starts},
        [SPECIALS] = {n->special_count, sizeof *n->specials, n->specials},
        [GROUPS] = {n->group_count, sizeof *n->groups, n->groups},
        [WAITING] = {n->group_count, 1, NULL},
        [PRODUCERS] = {n->producer_count, 4, n->producers},
        [CONTROLLERS] = {n->controller_count, sizeof *n->controllers, n->controllers},
        [PHASES] = {n->controller_count, 1, NULL},
        [CODES] = {n->cell_count, 4, NULL},
    };
    cl_int code = CL_SUCCESS;
    world->cells_count = is_aos ? 1 : FIELDS;
    for (cl_uint i = 0; i < world->cells_count && code == CL_SUCCESS; i++) {
        size_t bytes = is_aos ? STRUCT_BYTES : field_bytes[i];
        code = create_buffer(world, &world->cells[i], n->cell_count * bytes, NULL);
    }
    for (int i = 0; i < BUFFER_COUNT && code == CL_SUCCESS; i++) {
        code = create_buffer(world, &world->buffers[i], all[i].count * all[i].bytes, all[i].data);
    }
    return code == CL_SUCCESS ? 0 : bench_error_cl(error, "the buffers of the streets", code);
}

/* A parameter behind the cells: a buffer, or a count if `number` is not NULL. */
typedef struct parameter {
    int buffer;
    const uint32_t *number;
} parameter;

static cl_int set_kernel(struct plain_world *world, int kernel, const parameter *parameters,
                         cl_uint count) {
    cl_kernel k = world->kernels[kernel];
    cl_uint at = 0;
    cl_int code = clSetKernelArg(k, at++, sizeof(cl_uint), &world->network->cell_count);
    for (cl_uint i = 0; i < world->cells_count && code == CL_SUCCESS; i++) {
        code = clSetKernelArg(k, at++, sizeof(cl_mem), &world->cells[i]);
    }
    for (cl_uint i = 0; i < count && code == CL_SUCCESS; i++) {
        const parameter *p = &parameters[i];
        code = p->number ? clSetKernelArg(k, at++, sizeof *p->number, p->number)
                         : clSetKernelArg(k, at++, sizeof(cl_mem), &world->buffers[p->buffer]);
    }
    world->moment_index[kernel] = at;
    return code;
}

static int set_kernels(struct plain_world *world, bench_error *error) {
    const traffic_network *n = world->network;
    const parameter cell_init[] = {
        {NEXT, NULL}, {PREVIOUS, NULL}, {MAX_VELOCITY, NULL}, {LIMIT, NULL}};
    const parameter car_start[] = {{STARTS, NULL}, {0, &n->start_count}};
    const parameter look[] = {
        {SPECIALS, NULL}, {GROUPS, NULL}, {WAITING, NULL}, {0, &n->group_count}};
    const parameter act[] = {{PRODUCERS, NULL}, {0, &n->producer_count},   {CONTROLLERS, NULL},
                             {PHASES, NULL},    {0, &n->controller_count}, {GROUPS, NULL},
                             {WAITING, NULL}};
    const parameter write[] = {{CODES, NULL}};
    cl_int code = set_kernel(world, CELL_INIT, cell_init, 4);
    code = code ? code : set_kernel(world, CAR_START, car_start, 2);
    code = code ? code : set_kernel(world, LOOK, look, 4);
    code = code ? code : set_kernel(world, ACT, act, 7);
    code = code ? code : set_kernel(world, WRITE, write, 1);
    return code == CL_SUCCESS ? 0 : bench_error_cl(error, "setting an argument", code);
}

static int launch(struct plain_world *world, int kernel, cl_event *event, bench_error *error) {
    size_t local = GROUP_ITEMS;
    size_t global = (world->network->cell_count + local - 1) / local * local;
    cl_int code = clEnqueueNDRangeKernel(world->queue, world->kernels[kernel], 1, NULL, &global,
                                         &local, 0, NULL, event);
    return code == CL_SUCCESS ? 0 : bench_error_cl(error, kernel_names[kernel], code);
}

/* ---- Lifetime and steps ---------------------------------------------------------------------- */

static void destroy(traffic_world *base) {
    struct plain_world *world = (struct plain_world *)base;
    for (int i = 0; i < FIELDS; i++) {
        if (world->cells[i]) {
            clReleaseMemObject(world->cells[i]);
        }
    }
    for (int i = 0; i < BUFFER_COUNT; i++) {
        if (world->buffers[i]) {
            clReleaseMemObject(world->buffers[i]);
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

static int finish(traffic_world *base, bench_error *error) {
    cl_int code = clFinish(((struct plain_world *)base)->queue);
    return code == CL_SUCCESS ? 0 : bench_error_cl(error, "the steps so far", code);
}

static int step(traffic_world *base, cl_event *events, bench_error *error) {
    struct plain_world *world = (struct plain_world *)base;
    traffic_moment now = traffic_get_moment(&world->network->rules, world->iteration++);
    cl_int code = CL_SUCCESS;
    for (int phase = 0; phase < TRAFFIC_PHASES && code == CL_SUCCESS; phase++) {
        int kernel = LOOK + phase;
        code =
            clSetKernelArg(world->kernels[kernel], world->moment_index[kernel], sizeof now, &now);
        if (code == CL_SUCCESS && launch(world, kernel, events ? &events[phase] : NULL, error)) {
            return -1;
        }
    }
    code = code ? code : clFlush(world->queue);
    return code == CL_SUCCESS ? 0 : bench_error_cl(error, "a step", code);
}

static int read_codes(traffic_world *base, uint32_t *codes, bench_error *error) {
    struct plain_world *world = (struct plain_world *)base;
    if (launch(world, WRITE, NULL, error)) {
        return -1;
    }
    cl_int code =
        clEnqueueReadBuffer(world->queue, world->buffers[CODES], CL_TRUE, 0,
                            world->network->cell_count * sizeof *codes, codes, 0, NULL, NULL);
    return code == CL_SUCCESS ? 0 : bench_error_cl(error, "reading the state", code);
}

static const struct traffic_ops plain_ops = {
    .destroy = destroy, .step = step, .finish = finish, .read = read_codes};

int traffic_plain_create(const traffic_desc *desc, traffic_world **out, bench_error *error) {
    struct plain_world *world = calloc(1, sizeof *world);
    *out = NULL;
    if (!world) {
        return bench_error_set(error, "host memory ran out");
    }
    world->base.ops = &plain_ops;
    world->network = desc->network;
    world->context = desc->context;
    world->queue = desc->queue;
    int result = build(world, desc, error) ||
                 create_buffers(world, desc->variant == TRAFFIC_AOS, error) ||
                 set_kernels(world, error) || launch(world, CELL_INIT, NULL, error) ||
                 launch(world, CAR_START, NULL, error) || finish(&world->base, error);
    for (int i = NEXT; i <= LIMIT && result == 0; i++) {
        clReleaseMemObject(world->buffers[i]);
        world->buffers[i] = NULL;
    }
    if (result) {
        destroy(&world->base);
        return -1;
    }
    *out = &world->base;
    return 0;
}
