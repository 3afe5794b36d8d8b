/* The world as a plain OpenCL grid: host side of soa.cl. See game_of_life.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench_files.h"
#include "game_of_life.h"

#define LOCAL_X 32u /* work-group: words of a row, rows */
#define LOCAL_Y 4u

struct life_grid {
    cl_command_queue queue;
    life_rules rules;
    uint32_t words; /* of a row, without the border; four cells each */
    size_t bytes;   /* of the grid, with the border */
    cl_program program;
    cl_kernel kernel;
    cl_mem grids[2];
    uint32_t now; /* which of them is the world */
};

static size_t at_row(const life_grid *world, size_t y) {
    return ((y + 1) * (world->words + 2u) + 1) * 4;
}

static int build(life_grid *world, const life_desc *desc, bench_error *error) {
    const clumpi_cl_file *text = bench_file_find("bench/apps/game-of-life/soa.cl");
    char options[256], log[1024] = "";
    cl_int code = CL_SUCCESS;
    if (!text) {
        return bench_error_set(error, "soa.cl is not embedded in this program");
    }
    world->program = clCreateProgramWithSource(desc->context, 1, &(const char *){text->data},
                                               &(size_t){text->bytes}, &code);
    if (code != CL_SUCCESS) {
        return bench_error_cl(error, "the program of soa.cl", code);
    }
    snprintf(options, sizeof options, "-D LIFE_BORN=%u -D LIFE_SURVIVE=%u -D LIFE_STATES=%u",
             desc->rules.born, desc->rules.survive, desc->rules.states);
    if (clBuildProgram(world->program, 1, &desc->device, options, NULL, NULL) != CL_SUCCESS) {
        clGetProgramBuildInfo(world->program, desc->device, CL_PROGRAM_BUILD_LOG, sizeof log - 1,
                              log, NULL);
        return bench_error_set(error, "soa.cl does not build: %s", log);
    }
    world->kernel = clCreateKernel(world->program, "grid_step", &code);
    uint32_t rest = desc->rules.width % 4;
    uint32_t numbers[] = {world->words, desc->rules.height,
                          rest ? (1u << 8 * rest) - 1 : UINT32_MAX};
    for (cl_uint i = 0; i < 3 && code == CL_SUCCESS; i++) {
        code = clSetKernelArg(world->kernel, 2 + i, sizeof numbers[i], &numbers[i]);
    }
    return code == CL_SUCCESS ? 0 : bench_error_cl(error, "the kernel of soa.cl", code);
}

static int fill(life_grid *world, const life_desc *desc, bench_error *error) {
    cl_int code = CL_SUCCESS;
    uint8_t *bytes = calloc(world->bytes, 1);
    if (!bytes) {
        return bench_error_set(error, "host memory ran out for the grid");
    }
    for (int i = 1; i >= 0 && code == CL_SUCCESS;
         i--) { /* the second one: only its border counts */
        for (size_t y = 0; i == 0 && y < world->rules.height; y++) {
            memcpy(bytes + at_row(world, y), desc->codes + y * world->rules.width,
                   world->rules.width);
        }
        world->grids[i] = clCreateBuffer(desc->context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
                                         world->bytes, bytes, &code);
    }
    free(bytes);
    return code == CL_SUCCESS ? 0 : bench_error_cl(error, "a buffer of the grid", code);
}

int life_grid_create(const life_desc *desc, life_grid **out, bench_error *error) {
    *out = NULL;
    if (life_rules_check(&desc->rules, error)) {
        return -1;
    }
    life_grid *world = calloc(1, sizeof *world);
    if (!world) {
        return bench_error_set(error, "host memory ran out");
    }
    world->queue = desc->queue;
    world->rules = desc->rules;
    world->words = (desc->rules.width + 3) / 4;
    world->bytes = (size_t)(world->words + 2) * (desc->rules.height + 2) * 4;
    if (build(world, desc, error) || fill(world, desc, error)) {
        life_grid_destroy(world);
        return -1;
    }
    *out = world;
    return 0;
}

void life_grid_destroy(life_grid *world) {
    if (!world) {
        return;
    }
    for (int i = 0; i < 2; i++) {
        if (world->grids[i]) {
            clReleaseMemObject(world->grids[i]);
        }
    }
    if (world->kernel) {
        clReleaseKernel(world->kernel);
    }
    if (world->program) {
        clReleaseProgram(world->program);
    }
    free(world);
}

int life_grid_step(life_grid *world, cl_event *event, bench_error *error) {
    size_t local[2] = {LOCAL_X, LOCAL_Y};
    size_t global[2] = {(world->words + LOCAL_X - 1) / LOCAL_X * LOCAL_X,
                        (world->rules.height + LOCAL_Y - 1) / LOCAL_Y * LOCAL_Y};
    cl_int code = CL_SUCCESS;
    for (cl_uint i = 0; i < 2 && code == CL_SUCCESS; i++) {
        code = clSetKernelArg(world->kernel, i, sizeof(cl_mem), &world->grids[world->now ^ i]);
    }
    if (code == CL_SUCCESS) {
        code = clEnqueueNDRangeKernel(world->queue, world->kernel, 2, NULL, global, local, 0, NULL,
                                      event);
    }
    world->now ^= 1;
    return code == CL_SUCCESS ? 0 : bench_error_cl(error, "a step of the grid", code);
}

int life_grid_finish(life_grid *world, bench_error *error) {
    cl_int code = clFinish(world->queue);
    return code == CL_SUCCESS ? 0 : bench_error_cl(error, "the steps so far", code);
}

int life_grid_encode(life_grid *world, uint8_t *codes, bench_error *error) {
    size_t from[3] = {4, 1, 0}, to[3] = {0, 0, 0};
    size_t region[3] = {world->rules.width, world->rules.height, 1};
    cl_int code = clEnqueueReadBufferRect(world->queue, world->grids[world->now], CL_TRUE, from, to,
                                          region, (world->words + 2u) * (size_t)4, 0,
                                          world->rules.width, 0, codes, 0, NULL, NULL);
    return code == CL_SUCCESS ? 0 : bench_error_cl(error, "reading the grid", code);
}
