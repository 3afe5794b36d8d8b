/* The benchmark pool-buffers: what each of many live buffers costs that a program gets as a cl_mem
 * of its own, from clump_pool_create_buffer(), from clump_pool_alloc() and clump_pool_get_buffer(),
 * or from the driver.
 *
 * Metrics: make_us and release_us, for one buffer; launch_us and change_us, for a launch with one
 * of the buffers while all live, always the same one and another one each time.
 *
 * Read first: bench.h.
 */
#include <stdlib.h>

#include "bench/harness/bench.h"
#include "bench/harness/registry.h"
#include "pool_bench.h"

#define LAUNCHES 2000u
#define STRIDE 7919u /* prime: neighbours in time are none in memory */

typedef struct buffers_bench {
    bench_env *env;
    bench_results *results;
    uint64_t bytes;
    uint32_t count;
    int is_got, is_drivers;
    cl_mem *buffers;
    clump_allocation *parts;
    clump_pool *pool;
    cl_program program;
    cl_kernel kernel;
} buffers_bench;

static int make(buffers_bench *b) {
    const clump_allocation_desc desc = {.size = sizeof desc, .bytes = b->bytes};
    cl_int code = CL_SUCCESS;
    clump_status status = CLUMP_OK;
    for (uint32_t i = 0; i < b->count && !code && !status; i++) {
        cl_mem *buffer = &b->buffers[i];
        if (b->is_drivers)
            *buffer = clCreateBuffer(b->env->context, CL_MEM_READ_WRITE, b->bytes, NULL, &code);
        else if (!b->is_got)
            status = clump_pool_create_buffer(b->pool, &desc, 0, NULL, buffer);
        else if (!(status = clump_pool_alloc(b->pool, &desc, &b->parts[i], NULL)))
            status = clump_pool_get_buffer(b->pool, b->parts[i], buffer);
    }
    if (code) return bench_error_set(&b->results->error, "clCreateBuffer: %d", code);
    return status ? pool_bench_fail(&b->results->error, "a buffer", b->pool) : 0;
}

static int release(buffers_bench *b) {
    clump_status status = CLUMP_OK;
    for (uint32_t i = 0; i < b->count && !status; i++)
        if (b->is_got)
            status = clump_pool_free(b->pool, b->parts[i]);
        else
            clReleaseMemObject(b->buffers[i]);
    return status ? pool_bench_fail(&b->results->error, "a free", b->pool) : 0;
}

static int launch(buffers_bench *b, uint32_t stride, double *us) {
    const size_t global = 64, local = 1;
    const double begin = bench_now_us();
    cl_int code = CL_SUCCESS;
    for (uint32_t i = 0; i < LAUNCHES && !code; i++) {
        const uint32_t at = (uint32_t)((uint64_t)i * stride % b->count);
        code = clSetKernelArg(b->kernel, 0, sizeof *b->buffers, &b->buffers[at]);
        if (!code)
            code = clEnqueueNDRangeKernel(b->env->queue, b->kernel, 1, NULL, &global, &local, 0,
                                          NULL, NULL);
    }
    *us = (bench_now_us() - begin) / LAUNCHES;
    if (!code) code = clFinish(b->env->queue);
    return code ? bench_error_set(&b->results->error, "a launch: %d", code) : 0;
}

static int begin(void *self, bench_env *env, const bench_values *values, bench_results *results) {
    static const char *source = "__kernel void put(__global uint *to) { *to = 1u; }";
    buffers_bench *b = self;
    b->env = env;
    b->results = results;
    b->bytes = (uint64_t)bench_int(values, "bytes");
    b->count = (uint32_t)bench_int(values, "live");
    b->is_got = bench_is(values, "way", "get");
    b->is_drivers = bench_is(values, "way", "driver");
    b->buffers = calloc(b->count, sizeof *b->buffers);
    b->parts = calloc(b->count, sizeof *b->parts);
    if (!b->buffers || !b->parts) return bench_error_set(&results->error, "no memory");
    cl_int code;
    b->program = clCreateProgramWithSource(env->context, 1, &source, NULL, &code);
    if (!code) code = clBuildProgram(b->program, 1, &env->device, "", NULL, NULL);
    if (!code) b->kernel = clCreateKernel(b->program, "put", &code);
    if (code) return bench_error_set(&results->error, "the kernel: %d", code);
    return pool_bench_open(env, values, &b->pool, &results->error);
}

static int run_round(void *self, uint32_t number, int is_measured) {
    buffers_bench *b = self;
    double same, other;
    (void)number;
    const double start = bench_now_us();
    if (make(b)) return -1;
    const double made = bench_now_us();
    if (launch(b, 0, &same) || launch(b, STRIDE, &other)) return -1;
    const double done = bench_now_us();
    if (release(b)) return -1;
    const double released = bench_now_us();
    if (!b->is_drivers && clump_pool_check(b->pool))
        return pool_bench_fail(&b->results->error, "the check", b->pool);
    if (!is_measured) return 0;
    bench_sample(b->results, "make_us", "us", (made - start) / b->count);
    bench_sample(b->results, "launch_us", "us", same);
    bench_sample(b->results, "change_us", "us", other);
    bench_sample(b->results, "release_us", "us", (released - done) / b->count);
    return 0;
}

static int finish(void *self) {
    buffers_bench *b = self;
    bench_check(b->results, 1, "%u buffers were made and released", b->count);
    return 0;
}

static void end(void *self) {
    buffers_bench *b = self;
    if (b->kernel) clReleaseKernel(b->kernel);
    if (b->program) clReleaseProgram(b->program);
    clump_pool_destroy(b->pool);
    free(b->buffers);
    free(b->parts);
}

static const bench_param params[] = {
    {"live", BENCH_INT, "1000", "buffers at a time", 1, 1 << 24, NULL},
    {"bytes", BENCH_INT, "4096", "of each", 1, 1 << 30, NULL},
    {"way", BENCH_ENUM, "create", "the call that makes them", 0, 0, "create|get|driver"},
    POOL_BENCH_PARAMS,
    {NULL, BENCH_INT, NULL, NULL, 0, 0, NULL}};

const bench_descriptor bench_pool_buffers = {
    .name = "pool-buffers",
    .sentence = "What each of many live buffers costs, of a pool and of the driver",
    .params = params,
    .repeat = 5,
    .bytes = sizeof(buffers_bench),
    .begin = begin,
    .round = run_round,
    .finish = finish,
    .end = end};
