/* The benchmark enumerate: what a do-all costs, and what the list of objects behind it costs.
 *
 * Objects are made by a do-new and thinned out at random to the wanted density. Then
 *
 *     list_us      time that an empty kernel takes longer when the list of objects is out of date
 *     do_all_us    a kernel that reads two fields and writes one; its floor is 12 bytes an object
 *                  at the bandwidth of a copy
 *     launches_*   commands per do-all, counted at the OpenCL entry point
 *
 * Read first: bench.h, enumerate.cl.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "bench_files.h"
#include "heap.h"
#include "registry.h"

#define BYTES_PER_VISIT 12 /* x and v read, x written */

/* OpenCL's entry points carry no pointer of the caller's, so a counter that a replaced one
 * increases has no other place. */
static unsigned launch_count;

static cl_int CL_API_CALL count_launch(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
                                       const size_t *offset, const size_t *global,
                                       const size_t *local, cl_uint wait_count,
                                       const cl_event *wait_list, cl_event *event) {
    launch_count++;
    return clEnqueueNDRangeKernel(queue, kernel, dimensions, offset, global, local, wait_count,
                                  wait_list, event);
}

typedef enum kernel_id { INIT, THIN, NOTHING, MOVE, SUM, KERNEL_COUNT } kernel_id;

typedef struct enumerate_state {
    bench_env *env;
    bench_results *results;
    bench_error *error;
    uint32_t objects, seed, keep_below;
    uint64_t live, sum;   /* expected: objects left, and the sum of their numbers */
    clump_context *clump; /* one of its own, with the counting entry point */
    clump_heap *heap;
    clump_program *program;
    clump_kernel *kernels[KERNEL_COUNT];
} enumerate_state;

static int fail(enumerate_state *s, const char *what, clump_status status) {
    return bench_error_clump(s->error, what, s->clump, status);
}

/* As in enumerate.cl. */
static uint32_t mix(uint32_t number, uint32_t seed) {
    uint32_t h = number * 0x9e3779b1u ^ seed;
    h = (h ^ h >> 16) * 0x85ebca6bu;
    h = (h ^ h >> 13) * 0xc2b2ae35u;
    return h ^ h >> 16;
}

static void expect(enumerate_state *s) {
    for (uint32_t number = 0; number < s->objects; number++) {
        if (s->keep_below == UINT32_MAX || mix(number, s->seed) < s->keep_below) {
            s->live++;
            s->sum += number;
        }
    }
}

static int create_context(enumerate_state *s) {
    clump_cl_functions functions = {.EnqueueNDRangeKernel = count_launch};
    clump_context_desc desc = {.context = s->env->context,
                               .device = s->env->device,
                               .queue = s->env->queue,
                               .cl = &functions};
    clump_error detail = {0};
    if (clump_context_create(&desc, &s->clump, &detail) != CLUMP_OK) {
        return bench_error_set(s->error, "a second context: %s", detail.message);
    }
    return 0;
}

static int create_heap(enumerate_state *s, const bench_values *values) {
    uint64_t heap_bytes = (uint64_t)bench_int(values, "heap_mb") << 20;
    if (heap_bytes == 0) heap_bytes = (uint64_t)s->objects * 16 + (16u << 20);
    bench_heap_desc desc = {.clump = s->clump,
                            .text = "class Point { float x; float v; uint number; }",
                            .bytes = heap_bytes,
                            .block_rows = (uint32_t)bench_int(values, "block_rows")};
    return bench_heap_create(&desc, &s->heap, s->error);
}

static int create_program(enumerate_state *s) {
    static const char *const names[KERNEL_COUNT] = {"init_points", "thin_points", "visit_nothing",
                                                    "move_points", "sum_points"};
    const clumpi_cl_file *text = bench_file_find("bench/enumerate.cl");
    if (!text) {
        return bench_error_set(s->error, "enumerate.cl is not embedded in this program");
    }
    clump_program_desc desc = {.heap = s->heap, .source = text->data, .name = text->name};
    clump_status status = clump_program_create(&desc, &s->program);
    if (status != CLUMP_OK) return fail(s, "building enumerate.cl", status);
    for (int i = 0; i < KERNEL_COUNT; i++) {
        status = clump_kernel_create(s->program, names[i], &s->kernels[i]);
        if (status != CLUMP_OK) return fail(s, names[i], status);
    }
    cl_float dt = 0.5f;
    status = clump_kernel_set_arg(s->kernels[THIN], 0, sizeof s->seed, &s->seed);
    if (status == CLUMP_OK) {
        status = clump_kernel_set_arg(s->kernels[THIN], 1, sizeof s->keep_below, &s->keep_below);
    }
    if (status == CLUMP_OK) {
        status = clump_kernel_set_arg(s->kernels[MOVE], 0, sizeof dt, &dt);
    }
    return status == CLUMP_OK ? 0 : fail(s, "setting an argument", status);
}

static int make_objects(enumerate_state *s) {
    uint64_t made = 0;
    clump_status status = clump_do_new(s->heap, "Point", s->objects, s->kernels[INIT], &made, NULL);
    if (status != CLUMP_OK) return fail(s, "making the objects", status);
    if (made != s->objects) {
        return bench_error_set(s->error, "the heap has room for %" PRIu64 " of %u objects", made,
                               s->objects);
    }
    if (s->keep_below != UINT32_MAX) {
        status = clump_do_all(s->heap, s->kernels[THIN], NULL);
        if (status != CLUMP_OK) return fail(s, "thinning out", status);
    }
    status = clump_heap_poll(s->heap, NULL);
    return status == CLUMP_OK ? 0 : fail(s, "making the objects", status);
}

/* A do-all, its span and how many launches it took. The span ends when the kernel ends; it starts
 * when the kernel proper does. */
static int visit(enumerate_state *s, kernel_id kernel, cl_event *event, unsigned *launches) {
    clump_sync sync = {.event = event};
    launch_count = 0;
    clump_status status = clump_do_all(s->heap, s->kernels[kernel], &sync);
    *launches = launch_count;
    return status == CLUMP_OK ? 0 : fail(s, "a do-all", status);
}

/* Three empty do-alls in a row, the second with an outdated list: how much longer it takes than the
 * third, from end to end. */
static int time_list(enumerate_state *s, int is_measured) {
    cl_event events[3] = {NULL, NULL, NULL};
    unsigned launches[3] = {0, 0, 0};
    bench_span spans[3];
    int result = visit(s, NOTHING, &events[0], &launches[0]);
    clump_heap_touch(s->heap);
    for (int i = 1; result == 0 && i < 3; i++) {
        result = visit(s, NOTHING, &events[i], &launches[i]);
    }
    for (int i = 0; i < 3; i++) {
        if (events[i] && bench_event_take(events[i], &spans[i], s->error)) result = -1;
    }
    if (result == 0 && is_measured) {
        double outdated = (double)(spans[1].end_ns - spans[0].end_ns) * 1e-3;
        double current = (double)(spans[2].end_ns - spans[1].end_ns) * 1e-3;
        bench_sample(s->results, "list_us", "us", outdated > current ? outdated - current : 0);
        bench_sample(s->results, "launches_outdated", "launches", launches[1]);
        bench_sample(s->results, "launches_current", "launches", launches[2]);
    }
    return result;
}

static int time_do_all(enumerate_state *s, int is_measured) {
    cl_event event = NULL;
    unsigned launches = 0;
    bench_span span;
    if (visit(s, MOVE, &event, &launches) || bench_event_take(event, &span, s->error)) return -1;
    if (is_measured) {
        double us = bench_span_us(span);
        double bytes = (double)s->live * BYTES_PER_VISIT;
        bench_sample(s->results, "do_all_us", "us", us);
        bench_sample(s->results, "bandwidth", "GB/s", us > 0 ? bytes / us * 1e-3 : 0);
    }
    return 0;
}

static int measure(enumerate_state *s) {
    bench_progress progress;
    int result = 0;
    bench_progress_begin(&progress, s->env, "enumerate", s->env->repeat + 1);
    for (uint32_t round = 0; result == 0 && round <= s->env->repeat; round++) {
        /* the first round warms up */
        result = time_list(s, round > 0) || time_do_all(s, round > 0) ? -1 : 0;
        bench_progress_update(&progress, round + 1);
    }
    bench_progress_end(&progress);
    return result;
}

static int report_floor(enumerate_state *s) {
    double bytes_per_s = 0;
    if (bench_copy_bandwidth(s->env, 0, &bytes_per_s, s->error)) return -1;
    if (bytes_per_s > 0) {
        bench_floor(s->results, "do_all_us", (double)s->live * BYTES_PER_VISIT / bytes_per_s * 1e6);
        bench_sample(s->results, "copy_bandwidth", "GB/s", bytes_per_s * 1e-9);
    }
    return 0;
}

static int check(enumerate_state *s) {
    cl_ulong sum = 0;
    uint64_t count = 0;
    clump_status status = clump_reduce(s->heap, s->kernels[SUM], &sum, sizeof sum, NULL);
    if (status != CLUMP_OK) return fail(s, "the reduction", status);
    status = clump_heap_count(s->heap, "Point", &count);
    if (status != CLUMP_OK) return fail(s, "the count", status);
    bench_check(s->results, sum == s->sum && count == s->live,
                "%" PRIu64 " of %" PRIu64 " objects, whose numbers sum up to %" PRIu64
                " of %" PRIu64,
                count, s->live, (uint64_t)sum, s->sum);
    status = clump_heap_check(s->heap);
    if (status == CLUMP_ERR_CORRUPT) {
        bench_check(s->results, 0, "%.400s", clump_context_get_error(s->clump)->message);
        return 0;
    }
    return status == CLUMP_OK ? 0 : fail(s, "the heap check", status);
}

static void release(enumerate_state *s) {
    for (int i = 0; i < KERNEL_COUNT; i++) clump_kernel_destroy(s->kernels[i]);
    clump_program_destroy(s->program);
    clump_heap_destroy(s->heap);
    clump_context_destroy(s->clump);
}

static int run_enumerate(bench_env *env, const bench_values *values, bench_results *results) {
    double density = bench_float(values, "density");
    enumerate_state s = {.env = env,
                         .results = results,
                         .error = &results->error,
                         .objects = (uint32_t)bench_int(values, "objects"),
                         .seed = (uint32_t)bench_int(values, "seed"),
                         .keep_below = (uint32_t)(density * (double)UINT32_MAX)};
    expect(&s);
    int result = create_context(&s) || create_heap(&s, values) || create_program(&s) ||
                         make_objects(&s) || measure(&s) || report_floor(&s) || check(&s)
                     ? -1
                     : 0;
    release(&s);
    return result;
}

static const bench_param params[] = {
    {"objects", BENCH_INT, "1000000", "objects made", 1, 1u << 30, NULL},
    {"density", BENCH_FLOAT, "1", "share of them that is left alive", 0, 1, NULL},
    {"heap_mb", BENCH_INT, "0", "size of the heap in MiB; 0: from the objects", 0, 1e6, NULL},
    {"block_rows", BENCH_INT, "0", "rows of a block; 0: from the heap", 0, 64, NULL},
    {"seed", BENCH_INT, "42", "decides which objects are left", 0, UINT32_MAX, NULL},
    {NULL, BENCH_INT, NULL, NULL, 0, 0, NULL}};

const bench_descriptor bench_enumerate = {
    .name = "enumerate",
    .sentence = "A do-all over all objects against a copy, and the list of objects it needs",
    .params = params,
    .repeat = 9,
    .run = run_enumerate};
