/* The benchmark launch: the time that the calling thread spends on a launch, and how much of it is
 * the library's.
 *
 * A step of Wa-Tor (bench/apps/wa-tor: six do-alls, and the lists that they need):
 *
 *     step_us               processor time of the thread to enqueue a step, without waiting for it
 *     step_library_us       the same where clEnqueueNDRangeKernel() and clSetKernelArg() return at
 *                           once: the library's own part
 *     launches, arguments   calls of these two for a step
 *     do_all_library_us     the library's part of a do-all with two numbers by value, on a heap of
 *                           `classes` classes with `fields` fields each
 *     ten_launches_us       of plain OpenCL, one by one,
 *     command_buffer_us     and as one command buffer; only on devices that have those
 *
 * The check: the world after all steps.
 *
 * Invariant: nothing reads a heap of the context `idle` after its first round, since its launches
 * are not made. It has contexts of its own, as the library keeps what it told the kernels of one.
 *
 * Read first: bench.h, bench/apps/wa-tor/world.h.
 */
#include <stdio.h>
#include <stdlib.h>

#include "bench/apps/wa-tor/world.h"
#include "bench/harness/bench.h"
#include "bench/harness/heap.h"
#include "bench/harness/registry.h"
#include "command_buffer.h"

enum { WARM_STEPS = 5, STEPS = 100, IDLE_STEPS = 1000, DO_ALLS = 1000 };

typedef struct launch {
    bench_env *env;
    bench_results *results;
    bench_error *error;
    wa_tor_desc desc;
    uint32_t cells, steps; /* of the real world */
    clump_context *real, *idle;
    bench_world real_world, idle_world;
    clump_heap *heap; /* of the many classes */
    clump_program *program;
    clump_kernel *kernel;
    uint32_t *found, *expected;
} launch;

/* ---- Functions that count, and do nothing if they are told so -------------------------------- */

static struct { uint32_t launches, arguments, is_idle; } calls;

static cl_int CL_API_CALL set_argument(cl_kernel kernel, cl_uint index, size_t bytes,
                                       const void *value) {
    calls.arguments++;
    return calls.is_idle ? CL_SUCCESS : clSetKernelArg(kernel, index, bytes, value);
}

static cl_int CL_API_CALL enqueue(cl_command_queue queue, cl_kernel kernel, cl_uint dim,
                                  const size_t *offset, const size_t *global, const size_t *local,
                                  cl_uint count, const cl_event *list, cl_event *event) {
    calls.launches++;
    return calls.is_idle ? CL_SUCCESS
                         : clEnqueueNDRangeKernel(queue, kernel, dim, offset, global, local, count,
                                                  list, event);
}

/* ---- Beginning and end ----------------------------------------------------------------------- */

static int create_context(launch *l, clump_context **context) {
    static const clump_cl_functions functions = {
        .size = sizeof functions, .SetKernelArg = set_argument, .EnqueueNDRangeKernel = enqueue};
    const clump_context_desc desc = {.size = sizeof desc,
                                     .context = l->env->context,
                                     .device = l->env->device,
                                     .queue = l->env->queue,
                                     .cl = &functions,
                                     .personality = l->env->capabilities->personality,
                                     .cache = {.folder = *l->env->cache ? l->env->cache : NULL}};
    clump_error detail = {0};
    return clump_context_create(&desc, context, &detail)
               ? bench_error_set(l->error, "a context: %s", detail.message)
               : 0;
}

/* A step, and its share of *us. */
static int make_steps(launch *l, const bench_world *world, uint32_t count, double *us) {
    const double begin = bench_thread_us();
    for (uint32_t i = 0; i < count; i++)
        if (bench_world_step(world, l->error)) return -1;
    *us = (bench_thread_us() - begin) / count;
    return 0;
}

static int create_world(launch *l, clump_context *context, bench_world *world) {
    double us;
    l->desc.world.clump = context;
    return wa_tor_world_create(&l->desc, world, l->error) ||
                   make_steps(l, world, WARM_STEPS, &us) || bench_world_finish(world, l->error)
               ? -1
               : 0;
}

static char *write_schema(uint32_t classes, uint32_t fields) {
    char *text = malloc((size_t)classes * (32 + (size_t)fields * 32) + 1), *at = text;
    if (!text) return NULL;
    for (uint32_t c = 0; c < classes; c++) {
        at += sprintf(at, "class Class%u {", c);
        for (uint32_t f = 0; f < fields; f++) at += sprintf(at, " uint field_%u;", f);
        at += sprintf(at, " }\n");
    }
    return text;
}

static int create_classes(launch *l, uint32_t classes, uint32_t fields) {
    static const char source[] =
        "__kernel void add(CLUMP_HEAP_NO_ALLOC, uint n, float x) {\n"
        "    CLUMP_FOR_EACH(Class0, c) Class0_field_0(c) += n + (uint)x;\n"
        "}\n";
    char *text = write_schema(classes, fields);
    bench_heap_desc heap = {.clump = l->idle, .text = text, .bytes = 8u << 20};
    int result = text ? bench_heap_create(&heap, &l->heap, l->error)
                      : bench_error_set(l->error, "host memory ran out");
    free(text);
    if (result) return -1;
    clump_program_desc program = {.size = sizeof program, .heap = l->heap, .source = source};
    clump_status status = clump_program_create(&program, &l->program, NULL);
    if (!status) status = clump_kernel_create(l->program, "add", &l->kernel, NULL);
    return status ? bench_error_clump(l->error, "a do-all", l->idle, status) : 0;
}

static int begin(void *self, bench_env *env, const bench_values *values, bench_results *results) {
    launch *l = self;
    const uint32_t width = bench_u32(values, "width");
    *l = (launch){.env = env, .results = results, .error = &results->error};
    l->cells = width * width;
    l->steps = WARM_STEPS;
    l->desc = (wa_tor_desc){.rules = {.width = width,
                                      .height = width,
                                      .seed = env->seed,
                                      .fish_permille = 300,
                                      .shark_permille = 50,
                                      .fish_spawn = 4,
                                      .shark_spawn = 5,
                                      .shark_energy = 3,
                                      .shark_gain = 2},
                            .world = {.variant = BENCH_CLUMP,
                                      .context = env->context,
                                      .device = env->device,
                                      .queue = env->queue}};
    calls.is_idle = 0;
    l->found = calloc(l->cells, sizeof *l->found);
    l->expected = calloc(l->cells, sizeof *l->expected);
    if (!l->found || !l->expected) return bench_error_set(l->error, "host memory ran out");
    return create_context(l, &l->real) || create_context(l, &l->idle) ||
                   create_world(l, l->real, &l->real_world) ||
                   create_world(l, l->idle, &l->idle_world) ||
                   create_classes(l, bench_u32(values, "classes"), bench_u32(values, "fields"))
               ? -1
               : 0;
}

static void end(void *self) {
    launch *l = self;
    clump_kernel_destroy(l->kernel);
    clump_program_destroy(l->program);
    clump_heap_destroy(l->heap);
    bench_world_destroy(&l->idle_world);
    bench_world_destroy(&l->real_world);
    clump_context_destroy(l->idle);
    clump_context_destroy(l->real);
    free(l->found);
    free(l->expected);
}

/* ---- Rounds ---------------------------------------------------------------------------------- */

static int make_do_alls(launch *l, double *us) {
    const double start = bench_thread_us();
    for (uint32_t i = 0; i < DO_ALLS; i++) {
        clump_status status =
            clump_heap_do_all(l->heap, clump_kernel_with(l->kernel, CLUMP_ARGS(i, 2.0f)), NULL);
        if (status) return bench_error_clump(l->error, "a do-all", l->idle, status);
    }
    *us = (bench_thread_us() - start) / DO_ALLS;
    return 0;
}

/* Each step is waited for, outside of the time, so that the queue is never full. Each is a sample:
 * a device's threads make some of them slow. */
static int make_real_steps(launch *l, int is_measured) {
    for (uint32_t i = 0; i < STEPS; i++) {
        double us;
        if (make_steps(l, &l->real_world, 1, &us)) return -1;
        if (is_measured) bench_sample(l->results, "step_us", "us", us);
        cl_int code = clFinish(l->env->queue);
        if (code) return bench_error_cl(l->error, "clFinish", code);
    }
    l->steps += STEPS;
    return 0;
}

static int run_round(void *self, uint32_t number, int is_measured) {
    launch *l = self;
    double idle = 0, do_all = 0;
    (void)number;
    calls.launches = calls.arguments = 0;
    if (make_real_steps(l, is_measured)) return -1;
    const double launches = (double)calls.launches / STEPS;
    const double arguments = (double)calls.arguments / STEPS;
    calls.is_idle = 1;
    int result = make_steps(l, &l->idle_world, IDLE_STEPS, &idle) || make_do_alls(l, &do_all);
    calls.is_idle = 0;
    if (result || !is_measured) return result ? -1 : 0;
    bench_sample(l->results, "step_library_us", "us", idle);
    bench_sample(l->results, "launches", "1/step", launches);
    bench_sample(l->results, "arguments", "1/step", arguments);
    bench_sample(l->results, "do_all_library_us", "us", do_all);
    return 0;
}

static int finish(void *self) {
    launch *l = self;
    bench_world expected = {NULL, NULL};
    wa_tor_desc desc = l->desc;
    desc.world = (bench_world_desc){.variant = BENCH_SEQUENTIAL};
    double us;
    int result = bench_world_read(&l->real_world, l->found, l->error) ||
                 wa_tor_world_create(&desc, &expected, l->error) ||
                 make_steps(l, &expected, l->steps, &us) ||
                 bench_world_read(&expected, l->expected, l->error);
    bench_world_destroy(&expected);
    if (result) return -1;
    bench_error fault = {""};
    result = wa_tor_compare(&l->desc.rules, l->found, l->expected, l->steps, &fault);
    if (bench_command_buffer(l->env, l->results)) return -1;
    bench_check(l->results, result == 0, "after %u steps: %.400s", l->steps,
                result ? fault.text : "all cells are right");
    return 0;
}

static const bench_param params[] = {
    {"width", BENCH_INT, "64", "cells of a row, and rows, of Wa-Tor", 2, 4096, NULL},
    {"classes", BENCH_INT, "20", "classes of the other heap", 1, 200, NULL},
    {"fields", BENCH_INT, "20", "fields of each", 1, 100, NULL},
    {NULL, BENCH_INT, NULL, NULL, 0, 0, NULL}};

const bench_descriptor bench_launch = {
    .name = "launch",
    .sentence = "The host's time for a launch, and how much of it is the library's",
    .params = params,
    .repeat = 11,
    .bytes = sizeof(launch),
    .warm_up = 1,
    .begin = begin,
    .round = run_round,
    .finish = finish,
    .end = end};
