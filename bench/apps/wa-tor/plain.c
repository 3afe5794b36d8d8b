/* The baselines in plain OpenCL: host side of plain.cl. See wa_tor.h. */
#include <stdio.h>
#include <stdlib.h>

#include "bench/heap.h"
#include "bench/source.h"
#include "wa_tor.h"

#define LOCAL_X 64u /* work-group: cells of a row, rows */
#define LOCAL_Y 4u
#define LOG_BYTES 1500

/* The phases, then the others. */
static const char *const kernel_names[] = {
#define PHASE_NAME(name) #name,
    WA_TOR_PLAIN_PHASE_LIST(PHASE_NAME)
#undef PHASE_NAME
        "populate",
    "write_world"};
enum { POPULATE = WA_TOR_PLAIN_PHASES, WRITE_WORLD, KERNEL_COUNT };

/* Bytes of the fields of a cell in plain.cl, in order. */
static const size_t field_bytes[] = {4, 4, 1, 1};
#define FIELDS (sizeof field_bytes / sizeof *field_bytes)
#define STRUCT_BYTES 12

struct wa_tor_plain {
    cl_context context;
    cl_command_queue queue;
    wa_tor_rules rules;
    uint32_t iteration;
    size_t cells;
    cl_uint buffer_count;
    cl_program program;
    cl_kernel kernels[KERNEL_COUNT];
    cl_mem buffers[FIELDS]; /* one per field, or one of structs */
    cl_mem codes;
};

static int build(wa_tor_plain *world, const wa_tor_desc *desc, bench_error *error) {
    char options[600], log[LOG_BYTES] = "";
    cl_int code = CL_SUCCESS;
    char *source = bench_load_source(wa_tor_rules_files, "bench/apps/wa-tor/plain.cl", error);
    if (!source) {
        return -1;
    }
    const char *text = source;
    world->program = clCreateProgramWithSource(world->context, 1, &text, NULL, &code);
    free(source);
    if (code != CL_SUCCESS) {
        return bench_error_cl(error, "the program of plain.cl", code);
    }
    snprintf(options, sizeof options, "-cl-std=CL1.2 -DLAYOUT_AOS=%d", desc->variant == WA_TOR_AOS);
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

static int create_buffers(wa_tor_plain *world, const wa_tor_desc *desc, bench_error *error) {
    int is_aos = desc->variant == WA_TOR_AOS;
    cl_int code = CL_SUCCESS;
    world->buffer_count = is_aos ? 1 : FIELDS;
    for (cl_uint i = 0; code == CL_SUCCESS && i < world->buffer_count; i++) {
        size_t bytes = is_aos ? STRUCT_BYTES : field_bytes[i];
        world->buffers[i] =
            clCreateBuffer(world->context, CL_MEM_READ_WRITE, world->cells * bytes, NULL, &code);
    }
    if (code == CL_SUCCESS) {
        world->codes = clCreateBuffer(world->context, CL_MEM_READ_WRITE,
                                      world->cells * sizeof(uint32_t), NULL, &code);
    }
    return code == CL_SUCCESS ? 0 : bench_error_cl(error, "the buffers of the world", code);
}

/* Set numbers from argument `at` on. */
static int set_numbers(wa_tor_plain *world, int kernel, cl_uint at, const uint32_t *numbers,
                       cl_uint count, bench_error *error) {
    cl_int code = CL_SUCCESS;
    for (cl_uint i = 0; code == CL_SUCCESS && i < count; i++) {
        code = clSetKernelArg(world->kernels[kernel], at + i, sizeof *numbers, &numbers[i]);
    }
    return code == CL_SUCCESS ? 0 : bench_error_cl(error, kernel_names[kernel], code);
}

/* All kernels have the buffers and the size; then a phase has the step and the seed, which
 * wa_tor_plain_step() sets, and the rules that it obeys. */
static int set_arguments(wa_tor_plain *world, bench_error *error) {
    const wa_tor_rules *rules = &world->rules;
    uint32_t size[] = {rules->width, rules->height};
    uint32_t populate[] = {rules->seed,       rules->fish_permille, rules->shark_permille,
                           rules->fish_spawn, rules->shark_spawn,   rules->shark_energy};
    uint32_t shark_move[] = {rules->shark_spawn, rules->shark_energy, rules->shark_gain};
    cl_uint at = world->buffer_count + 2;
    cl_int code = CL_SUCCESS;
    for (int k = 0; code == CL_SUCCESS && k < KERNEL_COUNT; k++) {
        for (cl_uint i = 0; code == CL_SUCCESS && i < world->buffer_count; i++) {
            code = clSetKernelArg(world->kernels[k], i, sizeof(cl_mem), &world->buffers[i]);
        }
        if (set_numbers(world, k, world->buffer_count, size, 2, error)) {
            return -1;
        }
    }
    if (code == CL_SUCCESS) {
        code = clSetKernelArg(world->kernels[WRITE_WORLD], at, sizeof world->codes, &world->codes);
    }
    if (code != CL_SUCCESS) {
        return bench_error_cl(error, "the arguments of plain.cl", code);
    }
    return set_numbers(world, POPULATE, at, populate, 6, error) ||
                   set_numbers(world, WA_TOR_PLAIN_fish_move, at + 2, &rules->fish_spawn, 1,
                               error) ||
                   set_numbers(world, WA_TOR_PLAIN_shark_move, at + 2, shark_move, 3, error)
               ? -1
               : 0;
}

static int launch(wa_tor_plain *world, int kernel, cl_event *event, bench_error *error) {
    size_t local[2] = {LOCAL_X, LOCAL_Y};
    size_t global[2] = {(world->rules.width + LOCAL_X - 1) / LOCAL_X * LOCAL_X,
                        (world->rules.height + LOCAL_Y - 1) / LOCAL_Y * LOCAL_Y};
    cl_int code = clEnqueueNDRangeKernel(world->queue, world->kernels[kernel], 2, NULL, global,
                                         local, 0, NULL, event);
    return code == CL_SUCCESS ? 0 : bench_error_cl(error, kernel_names[kernel], code);
}

int wa_tor_plain_create(const wa_tor_desc *desc, wa_tor_plain **out, bench_error *error) {
    *out = NULL;
    wa_tor_plain *world = calloc(1, sizeof *world);
    if (!world) {
        return bench_error_set(error, "host memory ran out");
    }
    world->context = desc->context;
    world->queue = desc->queue;
    world->rules = desc->rules;
    world->cells = (size_t)desc->rules.width * desc->rules.height;
    if (build(world, desc, error) || create_buffers(world, desc, error) ||
        set_arguments(world, error) || launch(world, POPULATE, NULL, error) ||
        wa_tor_plain_finish(world, error)) {
        wa_tor_plain_destroy(world);
        return -1;
    }
    *out = world;
    return 0;
}

void wa_tor_plain_destroy(wa_tor_plain *world) {
    if (!world) {
        return;
    }
    for (size_t i = 0; i < FIELDS; i++) {
        if (world->buffers[i]) {
            clReleaseMemObject(world->buffers[i]);
        }
    }
    if (world->codes) {
        clReleaseMemObject(world->codes);
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

int wa_tor_plain_step(wa_tor_plain *world, cl_event *events, bench_error *error) {
    uint32_t numbers[] = {world->iteration, world->rules.seed};
    for (int phase = 0; phase < WA_TOR_PLAIN_PHASES; phase++) {
        if (set_numbers(world, phase, world->buffer_count + 2, numbers, 2, error) ||
            launch(world, phase, events ? &events[phase] : NULL, error)) {
            return -1;
        }
    }
    world->iteration++;
    return clFlush(world->queue) == CL_SUCCESS
               ? 0
               : bench_error_set(error, "the queue could not be flushed");
}

int wa_tor_plain_finish(wa_tor_plain *world, bench_error *error) {
    cl_int code = clFinish(world->queue);
    return code == CL_SUCCESS ? 0 : bench_error_cl(error, "the steps so far", code);
}

int wa_tor_plain_encode(wa_tor_plain *world, uint32_t *codes, bench_error *error) {
    if (launch(world, WRITE_WORLD, NULL, error)) {
        return -1;
    }
    cl_int code = clEnqueueReadBuffer(world->queue, world->codes, CL_TRUE, 0,
                                      world->cells * sizeof *codes, codes, 0, NULL, NULL);
    return code == CL_SUCCESS ? 0 : bench_error_cl(error, "reading the encoded world", code);
}
