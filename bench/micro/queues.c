/* The benchmark queues: two heaps of a context on one queue, and each on a queue of its own
 * (clump_context_set_queue()).
 *
 *     one_us, two_us     `launches` launches for each heap, by turns, on one queue; on two. gain:
 *                        the first by the second
 *     launch_us          a launch that does nothing, of many for one heap on one queue
 *     turns_us           the same, two heaps by turns, each on its queue
 *     change_us          the same, one heap that goes from queue to queue at each launch
 *
 * Times are the host's, from before the first call to the end of both queues. The check: each
 * object of both heaps, after all rounds.
 *
 * Read first: bench.h, rig.h, queues.cl.
 */
#include <inttypes.h>

#include "bench/harness/bench.h"
#include "bench/harness/registry.h"
#include "rig.h"

enum { MAKE, WORK, NOTHING, WRONG, KERNEL_COUNT };
enum { HEAPS = 2, EMPTY_LAUNCHES = 400 };

typedef struct queues {
    bench_rig rig;
    clump_heap *heaps[HEAPS]; /* the first is the rig's */
    cl_command_queue queues[HEAPS];
    uint32_t objects, work, launches;
    uint32_t right; /* what each object has now */
} queues;

static int create_rig(queues *q, bench_env *env, const bench_values *values,
                      bench_results *results) {
    static const char *const names[KERNEL_COUNT] = {"make_bodies", "work", "nothing",
                                                    "count_wrong"};
    uint64_t heap_bytes = (uint64_t)bench_int(values, "heap_mb") << 20;
    if (heap_bytes == 0) heap_bytes = (uint64_t)q->objects * 8 + (16u << 20);
    bench_rig_desc desc = {.env = env,
                           .results = results,
                           .heap = {.text = "class Body { uint a; }",
                                    .bytes = heap_bytes,
                                    .block_rows = (uint32_t)bench_int(values, "block_rows")},
                           .files = {"bench/micro/queues.cl"},
                           .kernels = names,
                           .kernel_count = KERNEL_COUNT};
    if (bench_rig_create(&q->rig, &desc)) return -1;
    q->heaps[0] = q->rig.heap;
    desc.heap.clump = q->rig.clump;
    return bench_heap_create(&desc.heap, &q->heaps[1], q->rig.error);
}

static int create_queues(queues *q, const bench_env *env) {
    cl_int code = CL_SUCCESS;
    q->queues[0] = env->queue;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations" /* OpenCL 1.2 has no other */
    q->queues[1] =
        clCreateCommandQueue(env->context, env->device, CL_QUEUE_PROFILING_ENABLE, &code);
#pragma GCC diagnostic pop
    return code ? bench_error_set(q->rig.error, "clCreateCommandQueue returned %d", (int)code) : 0;
}

static int use(queues *q, uint32_t queue) {
    clump_status status = clump_context_set_queue(q->rig.clump, q->queues[queue]);
    return status == CLUMP_OK ? 0 : bench_rig_fail(&q->rig, "another queue", status);
}

static int launch(queues *q, uint32_t heap, uint32_t kernel) {
    clump_status status = clump_heap_do_all(q->heaps[heap], q->rig.kernels[kernel], NULL);
    return status == CLUMP_OK ? 0 : bench_rig_fail(&q->rig, "a do-all", status);
}

/* A driver may begin when it is asked to, so both are, before the host waits for one. */
static int finish_both(queues *q) {
    for (uint32_t i = 0; i < HEAPS; i++) {
        cl_int code = clFlush(q->queues[i]);
        if (code) return bench_error_set(q->rig.error, "clFlush returned %d", (int)code);
    }
    for (uint32_t i = 0; i < HEAPS; i++) {
        cl_int code = clFinish(q->queues[i]);
        if (code) return bench_error_set(q->rig.error, "clFinish returned %d", (int)code);
    }
    return 0;
}

/* `count` launches for each of `heaps` heaps, by turns. The launch number n of heap h is on queue
 * (h * by_heap + n * by_launch) modulo 2. us: of all. */
static int run(queues *q, uint32_t kernel, uint32_t count, uint32_t heaps, uint32_t by_heap,
               uint32_t by_launch, double *us) {
    if (finish_both(q)) return -1;
    const double begin = bench_now_us();
    for (uint32_t n = 0; n < count; n++)
        for (uint32_t h = 0; h < heaps; h++)
            if (use(q, (h * by_heap + n * by_launch) % HEAPS) || launch(q, h, kernel)) return -1;
    if (finish_both(q)) return -1;
    *us = bench_now_us() - begin;
    return use(q, 0);
}

static void count_up(queues *q, uint64_t launches) {
    for (uint64_t i = 0; i < launches * q->work; i++)
        q->right = q->right * 747796405u + 2891336453u;
}

static int run_round(void *self, uint32_t number, int is_measured) {
    queues *q = self;
    (void)number;
    double one, two, empty, turns, change;
    if (run(q, WORK, q->launches, HEAPS, 0, 0, &one) ||
        run(q, WORK, q->launches, HEAPS, 1, 0, &two) ||
        run(q, NOTHING, EMPTY_LAUNCHES, 1, 0, 0, &empty) ||
        run(q, NOTHING, EMPTY_LAUNCHES / HEAPS, HEAPS, 1, 0, &turns) ||
        run(q, NOTHING, EMPTY_LAUNCHES, 1, 0, 1, &change))
        return -1;
    count_up(q, 2 * (uint64_t)q->launches);
    if (!is_measured) return 0;
    bench_results *results = q->rig.results;
    bench_sample(results, "one_us", "us", one);
    bench_sample(results, "two_us", "us", two);
    bench_sample(results, "gain", "ratio", one / two);
    bench_sample(results, "launch_us", "us", empty / EMPTY_LAUNCHES);
    bench_sample(results, "turns_us", "us", turns / EMPTY_LAUNCHES);
    bench_sample(results, "change_us", "us", change / EMPTY_LAUNCHES);
    return 0;
}

static int finish(void *self) {
    queues *q = self;
    bench_rig *rig = &q->rig;
    if (bench_rig_arg(rig, WRONG, 0, sizeof q->right, &q->right)) return -1;
    for (uint32_t h = 0; h < HEAPS; h++) {
        cl_ulong wrong = 0;
        clump_status status =
            clump_heap_reduce(q->heaps[h], rig->kernels[WRONG], sizeof wrong, &wrong, NULL);
        if (status != CLUMP_OK) return bench_rig_fail(rig, "the verification", status);
        bench_check(rig->results, wrong == 0, "%" PRIu64 " objects of heap %u are wrong",
                    (uint64_t)wrong, h);
    }
    return bench_rig_verify(rig, 0);
}

static int begin(void *self, bench_env *env, const bench_values *values, bench_results *results) {
    queues *q = self;
    *q = (queues){.rig.error = &results->error,
                  .objects = (uint32_t)bench_int(values, "objects"),
                  .work = (uint32_t)bench_int(values, "work"),
                  .launches = (uint32_t)bench_int(values, "launches"),
                  .right = 1};
    if (create_rig(q, env, values, results) || create_queues(q, env) ||
        bench_rig_arg(&q->rig, WORK, 0, sizeof q->work, &q->work))
        return -1;
    for (uint32_t h = 0; h < HEAPS; h++) {
        uint64_t made = 0;
        clump_status status =
            clump_heap_do_new(q->heaps[h], q->rig.kernels[MAKE], "Body", q->objects, &made, NULL);
        if (status != CLUMP_OK) return bench_rig_fail(&q->rig, "a do-new", status);
        if (made != q->objects)
            return bench_error_set(q->rig.error, "no room for %u objects", q->objects);
    }
    return 0;
}

static void end(void *self) {
    queues *q = self;
    if (q->rig.clump) clump_context_set_queue(q->rig.clump, NULL);
    clump_heap_destroy(q->heaps[1]);
    bench_rig_release(&q->rig);
    if (q->queues[1]) clReleaseCommandQueue(q->queues[1]);
}

static const bench_param params[] = {
    {"objects", BENCH_INT, "20000", "objects in each heap", 1, 1u << 30, NULL},
    {"work", BENCH_INT, "200", "steps of arithmetic for each object in a launch", 1, 1e6, NULL},
    {"launches", BENCH_INT, "20", "launches for each heap", 1, 1e6, NULL},
    BENCH_RIG_HEAP_PARAMS,
    {NULL, BENCH_INT, NULL, NULL, 0, 0, NULL}};

const bench_descriptor bench_queues = {
    .name = "queues",
    .sentence = "Two heaps on one queue and on two; what a launch costs with several",
    .params = params,
    .repeat = 11,
    .bytes = sizeof(queues),
    .warm_up = 1,
    .begin = begin,
    .round = run_round,
    .finish = finish,
    .end = end};
