/* The benchmark enumerate: what a do-all costs, and what the list of objects behind it costs.
 *
 * Objects are made by a do-new and thinned out at random to the wanted density: one by one, so that
 * rows stay that are not full, or `together` at a time, so that from 64 on whole rows go. Then
 *
 *     list_us      time that an empty kernel takes longer when the list of objects is out of date
 *     do_all_us    a kernel that reads two fields and writes one; its floor is 12 bytes an object
 *                  at the bandwidth of a copy
 *     object_ns    do_all_us for each living object
 *     launches_*   commands per do-all, counted at the OpenCL entry point
 *
 * Read first: bench.h, rig.h, enumerate.cl.
 */
#include <inttypes.h>

#include "bench/harness/bench.h"
#include "bench/harness/hash.clh"
#include "bench/harness/registry.h"
#include "rig.h"

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
    bench_rig rig;
    uint32_t objects, seed, keep_below, together;
    uint64_t live, sum;   /* expected: objects left, and the sum of their numbers */
    clump_context *clump; /* one of its own, with the counting entry point */
} enumerate_state;

/* As thin_points. */
static void expect(enumerate_state *s) {
    for (uint32_t number = 0; number < s->objects; number++) {
        if (s->keep_below == UINT32_MAX ||
            bench_hash(number / s->together, s->seed) < s->keep_below) {
            s->live++;
            s->sum += number;
        }
    }
}

static int create_context(enumerate_state *s, const bench_env *env, bench_error *error) {
    clump_cl_functions functions = {.size = sizeof functions, .EnqueueNDRangeKernel = count_launch};
    clump_context_desc desc = {.size = sizeof desc,
                               .context = env->context,
                               .device = env->device,
                               .queue = env->queue,
                               .personality = env->capabilities->personality,
                               .cl = &functions,
                               .cache = {.folder = *env->cache ? env->cache : NULL}};
    clump_error detail = {0};
    if (clump_context_create(&desc, &s->clump, &detail) != CLUMP_OK) {
        return bench_error_set(error, "a second context: %s", detail.message);
    }
    return 0;
}

static int create_rig(enumerate_state *s, bench_env *env, const bench_values *values,
                      bench_results *results) {
    static const char *const names[KERNEL_COUNT] = {"init_points", "thin_points", "visit_nothing",
                                                    "move_points", "sum_points"};
    uint64_t heap_bytes = (uint64_t)bench_int(values, "heap_mb") << 20;
    if (heap_bytes == 0) heap_bytes = (uint64_t)s->objects * 16 + (16u << 20);
    bench_rig_desc desc = {.env = env,
                           .results = results,
                           .heap = {.clump = s->clump,
                                    .text = "class Point { float x; float v; uint number; }",
                                    .bytes = heap_bytes,
                                    .block_rows = (uint32_t)bench_int(values, "block_rows")},
                           .files = {"bench/harness/hash.clh", "bench/micro/enumerate.cl"},
                           .kernels = names,
                           .kernel_count = KERNEL_COUNT};
    cl_float dt = 0.5f;
    return bench_rig_create(&s->rig, &desc) ||
                   bench_rig_arg(&s->rig, THIN, 0, sizeof s->seed, &s->seed) ||
                   bench_rig_arg(&s->rig, THIN, 1, sizeof s->keep_below, &s->keep_below) ||
                   bench_rig_arg(&s->rig, THIN, 2, sizeof s->together, &s->together) ||
                   bench_rig_arg(&s->rig, MOVE, 0, sizeof dt, &dt)
               ? -1
               : 0;
}

static int make_objects(enumerate_state *s) {
    double us;
    if (bench_rig_do_new(&s->rig, INIT, "Point", s->objects) ||
        (s->keep_below != UINT32_MAX && bench_rig_do_all(&s->rig, THIN, &us))) {
        return -1;
    }
    return bench_rig_verify(&s->rig, 0);
}

/* A do-all, its span and how many launches it took. The span ends when the kernel ends; it starts
 * when the kernel proper does. */
static int visit(enumerate_state *s, kernel_id kernel, cl_event *event, unsigned *launches) {
    clump_sync sync = {.event = event};
    launch_count = 0;
    clump_status status = clump_heap_do_all(s->rig.heap, s->rig.kernels[kernel], &sync);
    *launches = launch_count;
    return status == CLUMP_OK ? 0 : bench_rig_fail(&s->rig, "a do-all", status);
}

/* Three empty do-alls in a row, the second with an outdated list: how much longer it takes than the
 * third, from end to end. */
static int time_list(enumerate_state *s, int is_measured) {
    cl_event events[3] = {NULL, NULL, NULL};
    unsigned launches[3] = {0, 0, 0};
    bench_span spans[3] = {{0}};
    int result = visit(s, NOTHING, &events[0], &launches[0]);
    clump_heap_touch(s->rig.heap);
    for (int i = 1; result == 0 && i < 3; i++) {
        result = visit(s, NOTHING, &events[i], &launches[i]);
    }
    for (int i = 0; i < 3; i++) {
        if (events[i] && bench_event_take(events[i], &spans[i], s->rig.error)) result = -1;
    }
    if (result == 0 && is_measured) {
        double outdated = bench_span_us_after(spans[0], spans[1]);
        double current = bench_span_us_after(spans[1], spans[2]);
        bench_sample(s->rig.results, "list_us", "us", outdated > current ? outdated - current : 0);
        bench_sample(s->rig.results, "launches_outdated", "launches", launches[1]);
        bench_sample(s->rig.results, "launches_current", "launches", launches[2]);
    }
    return result;
}

static int time_do_all(enumerate_state *s, int is_measured) {
    cl_event event = NULL;
    unsigned launches = 0;
    bench_span span;
    if (visit(s, MOVE, &event, &launches) || bench_event_take(event, &span, s->rig.error))
        return -1;
    if (is_measured) {
        double us = bench_span_us(span);
        double bytes = (double)s->live * BYTES_PER_VISIT;
        bench_sample(s->rig.results, "do_all_us", "us", us);
        bench_sample(s->rig.results, "bandwidth", "GB/s", us > 0 ? bytes / us * 1e-3 : 0);
        if (s->live) bench_sample(s->rig.results, "object_ns", "ns", us * 1e3 / (double)s->live);
    }
    return 0;
}

static int report_floor(enumerate_state *s) {
    double bytes_per_s = 0;
    if (bench_copy_bandwidth(s->rig.env, 0, &bytes_per_s, s->rig.error)) return -1;
    if (bytes_per_s > 0) {
        bench_floor(s->rig.results, "do_all_us",
                    (double)s->live * BYTES_PER_VISIT / bytes_per_s * 1e6);
        bench_sample(s->rig.results, "copy_bandwidth", "GB/s", bytes_per_s * 1e-9);
    }
    return 0;
}

static int check(enumerate_state *s) {
    cl_ulong sum = 0;
    uint64_t count = 0;
    clump_status status =
        clump_heap_reduce(s->rig.heap, s->rig.kernels[SUM], sizeof sum, &sum, NULL);
    if (status != CLUMP_OK) return bench_rig_fail(&s->rig, "the reduction", status);
    status = clump_heap_read_count(s->rig.heap, "Point", &count);
    if (status != CLUMP_OK) return bench_rig_fail(&s->rig, "the count", status);
    bench_check(s->rig.results, sum == s->sum && count == s->live,
                "%" PRIu64 " of %" PRIu64 " objects, whose numbers sum up to %" PRIu64
                " of %" PRIu64,
                count, s->live, (uint64_t)sum, s->sum);
    return bench_rig_verify(&s->rig, 0);
}

static int begin(void *self, bench_env *env, const bench_values *values, bench_results *results) {
    enumerate_state *s = self;
    double density = bench_float(values, "density");
    *s = (enumerate_state){.objects = (uint32_t)bench_int(values, "objects"),
                           .seed = (uint32_t)bench_int(values, "seed"),
                           .keep_below = (uint32_t)(density * (double)UINT32_MAX),
                           .together = (uint32_t)bench_int(values, "together")};
    expect(s);
    return create_context(s, env, &results->error) || create_rig(s, env, values, results) ||
                   make_objects(s)
               ? -1
               : 0;
}

static int run_round(void *self, uint32_t number, int is_measured) {
    enumerate_state *s = self;
    (void)number;
    return time_list(s, is_measured) || time_do_all(s, is_measured) ? -1 : 0;
}

static int finish(void *self) {
    enumerate_state *s = self;
    return report_floor(s) || check(s) ? -1 : 0;
}

static void end(void *self) {
    enumerate_state *s = self;
    bench_rig_release(&s->rig);
    clump_context_destroy(s->clump);
}

static const bench_param params[] = {
    {"objects", BENCH_INT, "1000000", "objects made", 1, 1u << 30, NULL},
    {"density", BENCH_FLOAT, "1", "share of them that is left alive", 0, 1, NULL},
    {"together", BENCH_INT, "1", "objects made one after the other that live or die together", 1,
     1u << 30, NULL},
    BENCH_RIG_HEAP_PARAMS,
    {"seed", BENCH_INT, "42", "decides which objects are left", 0, UINT32_MAX, NULL},
    {NULL, BENCH_INT, NULL, NULL, 0, 0, NULL}};

const bench_descriptor bench_enumerate = {
    .name = "enumerate",
    .sentence = "A do-all over all objects against a copy, and the list of objects it needs",
    .params = params,
    .repeat = 9,
    .bytes = sizeof(enumerate_state),
    .warm_up = 1,
    .has_own_context = 1,
    .begin = begin,
    .round = run_round,
    .finish = finish,
    .end = end};
