/* Plain OpenCL for the baselines of applications. See plain.h. */
#include "plain.h"

#include <stdio.h>
#include <stdlib.h>

#include "bench/harness/heap.h"
#include "bench/harness/source.h"

#define OPTIONS_BYTES 1024
#define LOG_BYTES 1500

/* ---- The program ----------------------------------------------------------------------------- */

static int build(bench_plain *plain, const bench_plain_desc *desc, bench_error *error) {
    char options[OPTIONS_BYTES], log[LOG_BYTES] = "";
    char *source = bench_load_source(desc->before, desc->file, error);
    cl_int code = CL_SUCCESS;
    if (!source) {
        return -1;
    }
    const char *text = source;
    plain->program = clCreateProgramWithSource(desc->world->context, 1, &text, NULL, &code);
    free(source);
    if (code != CL_SUCCESS) {
        return bench_error_cl(error, desc->file, code);
    }
    snprintf(options, sizeof options, "-cl-std=CL1.2 %s", desc->options ? desc->options : "");
    if (desc->uses_random123) {
        bench_add_random123(options, sizeof options);
    }
    code = clBuildProgram(plain->program, 1, &desc->world->device, options, NULL, NULL);
    if (code != CL_SUCCESS) {
        clGetProgramBuildInfo(plain->program, desc->world->device, CL_PROGRAM_BUILD_LOG,
                              sizeof log - 1, log, NULL);
        return bench_error_set(error, "%s does not build (%d): %s", desc->file, code, log);
    }
    return 0;
}

int bench_plain_create(const bench_plain_desc *desc, bench_plain *plain, bench_error *error) {
    const bench_world_desc *world = desc->world;
    *plain = (bench_plain){.names = desc->names,
                           .buffers = {.context = world->context, .queue = world->queue}};
    if (desc->count > BENCH_PLAIN_KERNELS_MAX) {
        return bench_error_set(error, "%s: %u kernels, but there is room for %d", desc->file,
                               desc->count, BENCH_PLAIN_KERNELS_MAX);
    }
    if (build(plain, desc, error)) {
        return -1;
    }
    for (uint32_t i = 0; i < desc->count; i++) {
        cl_int code = CL_SUCCESS;
        plain->kernels[i] = clCreateKernel(plain->program, desc->names[i], &code);
        if (code != CL_SUCCESS) {
            return bench_error_cl(error, desc->names[i], code);
        }
        plain->kernel_count++;
    }
    return 0;
}

void bench_plain_release(bench_plain *plain) {
    bench_buffers_release(&plain->buffers);
    for (uint32_t i = 0; i < plain->kernel_count; i++) {
        clReleaseKernel(plain->kernels[i]);
    }
    if (plain->program) {
        clReleaseProgram(plain->program);
    }
    *plain = (bench_plain){.kernel_count = 0};
}

/* ---- Arguments ------------------------------------------------------------------------------- */

static int set(bench_plain *plain, unsigned kernel, cl_uint at, size_t bytes, const void *value,
               bench_error *error) {
    cl_int code = clSetKernelArg(plain->kernels[kernel], at, bytes, value);
    return code == CL_SUCCESS ? 0 : bench_error_cl(error, plain->names[kernel], code);
}

int bench_plain_set(bench_plain *plain, const bench_arg *args, size_t count, bench_error *error) {
    for (size_t i = 0; i < count; i++) {
        const bench_arg *arg = &args[i];
        if (set(plain, arg->kernel, plain->common + arg->index, arg->bytes, arg->value, error)) {
            return -1;
        }
    }
    return 0;
}

int bench_plain_set_common(bench_plain *plain, size_t bytes, const void *value,
                           bench_error *error) {
    for (unsigned kernel = 0; kernel < plain->kernel_count; kernel++) {
        if (set(plain, kernel, plain->common, bytes, value, error)) {
            return -1;
        }
    }
    plain->common++;
    return 0;
}

int bench_plain_set_objects(bench_plain *plain, size_t count, const size_t *bytes, size_t fields,
                            bench_error *error) {
    for (size_t i = 0; i < fields; i++) {
        cl_mem buffer;
        if (bench_buffer_create(&plain->buffers, count, bytes[i], NULL, &buffer, error) ||
            bench_plain_set_common(plain, sizeof buffer, &buffer, error)) {
            return -1;
        }
    }
    return 0;
}

/* ---- Commands -------------------------------------------------------------------------------- */

static int launch(bench_plain *plain, unsigned kernel, size_t first, size_t groups, size_t local,
                  cl_event *event, bench_error *error) {
    size_t global = groups * local;
    cl_int code = clEnqueueNDRangeKernel(plain->buffers.queue, plain->kernels[kernel], 1, &first,
                                         &global, &local, 0, NULL, event);
    return code == CL_SUCCESS ? 0 : bench_error_cl(error, plain->names[kernel], code);
}

int bench_plain_launch(bench_plain *plain, unsigned kernel, size_t first, size_t items,
                       cl_event *event, bench_error *error) {
    size_t groups = items ? (items + BENCH_PLAIN_GROUP - 1) / BENCH_PLAIN_GROUP : 1;
    return launch(plain, kernel, first, groups, BENCH_PLAIN_GROUP, event, error);
}

int bench_plain_launch_groups(bench_plain *plain, unsigned kernel, size_t groups, size_t local,
                              cl_event *event, bench_error *error) {
    return launch(plain, kernel, 0, groups, local, event, error);
}

int bench_plain_flush(bench_plain *plain, bench_error *error) {
    cl_int code = clFlush(plain->buffers.queue);
    return code == CL_SUCCESS ? 0 : bench_error_cl(error, "flushing the queue", code);
}

/* ---- For bench_world_ops --------------------------------------------------------------------- */

void bench_plain_destroy(void *world) {
    if (world) {
        bench_plain_release(world);
    }
    free(world);
}

int bench_plain_finish(void *world, bench_error *error) {
    cl_int code = clFinish(((bench_plain *)world)->buffers.queue);
    return code == CL_SUCCESS ? 0 : bench_error_cl(error, "the steps so far", code);
}
