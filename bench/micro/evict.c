/* The benchmark evict: all objects of a heap leave the device's memory for the host's, and come
 * back.
 *
 * Objects of 56 bytes, with four references each. On the host's clock, from call to return:
 *
 *     evict_us   clump_heap_evict() of everything
 *     fetch_us   clump_heap_bring_back() of everything
 *     read_us    as many bytes read from a buffer into memory of the process; the floor of evict_us
 *     write_us   as many bytes written to a buffer; the floor of fetch_us
 *     evict_of_read, fetch_of_write   how many times as long
 *
 * The check: while all are evicted, none is counted; afterwards a kernel finds every value and
 * every reference of every object.
 *
 * Read first: bench.h, rig.h, extract.cl, whose kernels it has.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "bench/harness/bench.h"
#include "bench/harness/registry.h"
#include "clump/evict.h"
#include "rig.h"

#define OBJECT_BYTES 56u

enum { INIT, LINK, VERIFY, KERNEL_COUNT };

typedef struct mover {
    bench_rig rig;
    uint32_t objects;
    uint64_t bytes; /* of the blocks */
    cl_mem plain;   /* as many bytes; NULL before the first round */
    void *memory;   /* likewise */
} mover;

static int move(mover *m, int is_fetching, double *us) {
    clump_evict_report report = {.size = sizeof report};
    clump_heap *heap = m->rig.heap;
    double begin = bench_now_us();
    clump_status status = is_fetching ? clump_heap_bring_back(heap, NULL, &report)
                                      : clump_heap_evict(heap, NULL, &report);
    *us = bench_now_us() - begin;
    if (status) return bench_rig_fail(&m->rig, is_fetching ? "fetching" : "evicting", status);
    m->bytes = report.bytes;
    uint64_t count = 0;
    status = clump_heap_read_count(heap, "Body", &count);
    bench_check(m->rig.results,
                report.objects == m->objects && count == (is_fetching ? m->objects : 0),
                "%" PRIu64 " of %u objects moved, %" PRIu64 " are in memory", report.objects,
                m->objects, count);
    return status ? bench_rig_fail(&m->rig, "counting", status) : 0;
}

static int verify(mover *m) {
    cl_ulong bad = 1;
    clump_status status =
        clump_heap_reduce(m->rig.heap, m->rig.kernels[VERIFY], sizeof bad, &bad, NULL);
    bench_check(m->rig.results, bad == 0, "%" PRIu64 " values are wrong", (uint64_t)bad);
    return status ? bench_rig_fail(&m->rig, "the verification", status) : 0;
}

static int transfer(mover *m, double *read_us, double *write_us) {
    cl_command_queue queue = m->rig.env->queue;
    if (!m->plain && bench_rig_buffer(&m->rig, (size_t)m->bytes, &m->plain)) return -1;
    if (!m->memory) m->memory = calloc(1, (size_t)m->bytes);
    if (!m->memory) return bench_error_set(m->rig.error, "no host memory");
    memset(m->memory, 1, (size_t)m->bytes);
    double begin = bench_now_us();
    cl_int code = clEnqueueReadBuffer(queue, m->plain, CL_TRUE, 0, (size_t)m->bytes, m->memory, 0,
                                      NULL, NULL);
    *read_us = bench_now_us() - begin;
    begin = bench_now_us();
    if (!code)
        code = clEnqueueWriteBuffer(queue, m->plain, CL_TRUE, 0, (size_t)m->bytes, m->memory, 0,
                                    NULL, NULL);
    *write_us = bench_now_us() - begin;
    return code ? bench_error_set(m->rig.error, "cannot read or write a buffer: %d", (int)code) : 0;
}

static int run_round(void *self, uint32_t number, int is_measured) {
    mover *m = self;
    bench_results *results = m->rig.results;
    double evict_us, fetch_us, read_us = 0, write_us = 0;
    (void)number;
    if (move(m, 0, &evict_us) || move(m, 1, &fetch_us) || verify(m) ||
        transfer(m, &read_us, &write_us))
        return -1;
    if (!is_measured) return 0;
    bench_sample(results, "evict_us", "us", evict_us);
    bench_sample(results, "fetch_us", "us", fetch_us);
    bench_sample(results, "read_us", "us", read_us);
    bench_sample(results, "write_us", "us", write_us);
    bench_sample(results, "evict_of_read", "", evict_us / read_us);
    bench_sample(results, "fetch_of_write", "", fetch_us / write_us);
    bench_sample(results, "evicted_bytes", "B", (double)m->bytes);
    return 0;
}

static int finish(void *self) {
    mover *m = self;
    for (size_t i = 0; i < m->rig.results->metric_count; i++) {
        const bench_metric *metric = &m->rig.results->metrics[i];
        if (strcmp(metric->name, "read_us") == 0)
            bench_floor(m->rig.results, "evict_us", bench_metric_median(metric));
        if (strcmp(metric->name, "write_us") == 0)
            bench_floor(m->rig.results, "fetch_us", bench_metric_median(metric));
    }
    bench_check(m->rig.results, 1, "%u objects in %" PRIu64 " bytes of blocks: as they were",
                m->objects, m->bytes);
    return bench_rig_verify(&m->rig, 0);
}

static int begin(void *self, bench_env *env, const bench_values *values, bench_results *results) {
    static const char *const names[KERNEL_COUNT] = {"extract_init", "extract_link",
                                                    "extract_verify"};
    mover *m = self;
    *m = (mover){.rig.error = &results->error, .objects = (uint32_t)bench_int(values, "objects")};
    uint64_t heap_bytes = (uint64_t)bench_int(values, "heap_mb") << 20;
    if (heap_bytes == 0)
        heap_bytes = (uint64_t)m->objects * (OBJECT_BYTES + 8) * 3 / 2 + (32u << 20);
    bench_rig_desc desc = {
        .env = env,
        .results = results,
        .heap = {.clump = env->clump,
                 .text = "class Body { uint taken; uint place; float4 at; "
                         "float4 speed; ref Body next; ref Body near[3]; }",
                 .bytes = heap_bytes,
                 .evictable_bytes = heap_bytes,
                 .block_rows = (uint32_t)bench_int(values, "block_rows")},
        .files = {"bench/harness/hash.clh", "bench/micro/grown.clh", "bench/micro/extract.cl"},
        .kernels = names,
        .kernel_count = KERNEL_COUNT};
    double us;
    const cl_uint all = UINT32_MAX;
    if (bench_rig_create(&m->rig, &desc) || bench_rig_do_new(&m->rig, INIT, "Body", m->objects))
        return -1;
    for (size_t k = LINK; k <= VERIFY; k++)
        if (bench_rig_arg(&m->rig, k, 0, sizeof m->objects, &m->objects) ||
            bench_rig_arg(&m->rig, k, 1, sizeof env->seed, &env->seed) ||
            bench_rig_arg(&m->rig, k, 2, sizeof all, &all))
            return -1;
    return bench_rig_do_all(&m->rig, LINK, &us);
}

static void end(void *self) {
    mover *m = self;
    free(m->memory);
    bench_rig_release(&m->rig);
}

static const bench_param params[] = {
    {"objects", BENCH_INT, "1000000", "objects made", 1, 1u << 30, NULL},
    BENCH_RIG_HEAP_PARAMS,
    {NULL, BENCH_INT, NULL, NULL, 0, 0, NULL}};

const bench_descriptor bench_evict = {
    .name = "evict",
    .sentence = "All objects to the host's memory and back, against transfers of as many bytes",
    .params = params,
    .repeat = 5,
    .bytes = sizeof(mover),
    .warm_up = 1,
    .begin = begin,
    .round = run_round,
    .finish = finish,
    .end = end,
};
