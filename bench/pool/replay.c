/* The benchmark pool-trace: a trace of allocations and frees replayed with a strategy, with or
 * without defragmentation between frames; or with a cl_mem for each allocation, out of the pool or
 * the driver's own.
 *
 * Every allocation gets a tag at its begin and its end on the device; at the end all tags are read
 * back, and the pool is checked. Calls are timed in runs of one kind, so that the clock costs
 * little.
 *
 * Read first: bench.h, trace.h.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/harness/bench.h"
#include "bench/harness/registry.h"
#include "pool_bench.h"
#include "trace.h"

#define SETTLE_MAX 100000
#define RECORDED "clpeak|clblast|pyopencl|opencv" /* in traces/ */

typedef struct live {
    uint64_t handle; /* of the pool or of the suballocator; or a cl_mem. 0: none */
    uint64_t bytes;
} live;

typedef struct replay {
    bench_env *env;
    bench_results *results;
    bench_error *error;
    const bench_values *values;
    pool_trace trace;
    live *live;
    clump_pool *pool;
    clump_suballoc *ranges;
    int is_buffers; /* handles are cl_mem: out of the pool if there is one */
    double alloc_us, free_us, waste_sum, waste_peak;
    uint64_t allocs, frees, refused;
    double *steps; /* microseconds */
    size_t step_count, late;
    int defragments, is_checked, is_touched;
} replay;

/* ---- Replaying ------------------------------------------------------------------------------- */

static cl_mem buffer_of(const live *l) {
    return (cl_mem)(uintptr_t)l->handle;
}

static int make_buffer(replay *r, live *l) {
    cl_mem made = NULL;
    if (r->pool) {
        clump_allocation_desc desc = {.size = sizeof desc, .bytes = l->bytes};
        clump_status status = clump_pool_create_buffer(r->pool, &desc, 0, NULL, &made);
        if (status && status != CLUMP_ERR_DEVICE_MEMORY) return -1;
    } else {
        cl_int code = CL_SUCCESS;
        made = clCreateBuffer(r->env->context, CL_MEM_READ_WRITE, l->bytes, NULL, &code);
    }
    l->handle = (uintptr_t)made;
    r->refused += !made;
    return 0;
}

/* All of it, as a program that uses its memory does. Whole words; less than one stays as it is. */
static int touch(replay *r, const live *l) {
    static const cl_uint word = 0x5EED5EED;
    clump_allocation_info info = {.size = sizeof info};
    cl_mem buffer = buffer_of(l);
    size_t at = 0, bytes = (size_t)l->bytes & ~(size_t)3;
    if (!l->handle || !bytes) return 0;
    if (!r->is_buffers) {
        if (clump_pool_get_info(r->pool, l->handle, &info)) return -1;
        buffer = info.region.buffer;
        at = info.region.offset;
    }
    return clEnqueueFillBuffer(r->env->queue, buffer, &word, sizeof word, at, bytes, 0, NULL, NULL);
}

static int alloc_one(replay *r, const pool_trace_op *op) {
    live *l = &r->live[op->id];
    l->bytes = op->bytes;
    clump_status status;
    if (r->is_buffers) return make_buffer(r, l);
    if (r->ranges) {
        status = clump_suballoc_alloc(r->ranges, op->bytes, 0, NULL, &l->handle, NULL);
    } else {
        clump_allocation_desc desc = {
            .size = sizeof desc, .bytes = op->bytes, .movable = op->movable};
        status = clump_pool_alloc(r->pool, &desc, &l->handle, NULL);
    }
    if (status != CLUMP_ERR_DEVICE_MEMORY) return status != CLUMP_OK;
    r->refused++;
    return 0;
}

static int free_one(replay *r, const pool_trace_op *op) {
    live *l = &r->live[op->id];
    if (r->is_buffers) {
        cl_int code = l->handle ? clReleaseMemObject(buffer_of(l)) : CL_SUCCESS;
        l->handle = 0;
        return code;
    }
    clump_status status =
        r->ranges ? clump_suballoc_free(r->ranges, l->handle) : clump_pool_free(r->pool, l->handle);
    l->handle = 0;
    return status != CLUMP_OK;
}

static uint32_t tag_of(uint32_t id, uint64_t bytes) {
    return id * 2654435761u + (uint32_t)bytes;
}

/* Write or compare the tags of an allocation. */
static int tag(replay *r, uint32_t id, int writes) {
    clump_allocation_info info = {.size = sizeof info};
    uint32_t expected = tag_of(id, r->live[id].bytes), found[2] = {expected, expected};
    if (!r->live[id].handle || r->live[id].bytes < 4) return 0;
    if (r->is_buffers)
        info.region = (clump_region){buffer_of(&r->live[id]), 0, r->live[id].bytes, NULL};
    else if (clump_pool_get_info(r->pool, r->live[id].handle, &info))
        return -1;
    for (int i = 0; i < 2; i++) {
        size_t at = info.region.offset + (i ? (info.region.bytes - 4) & ~UINT64_C(3) : 0);
        cl_int code = writes ? clEnqueueFillBuffer(r->env->queue, info.region.buffer, &expected, 4,
                                                   at, 4, 0, NULL, NULL)
                             : clEnqueueReadBuffer(r->env->queue, info.region.buffer, CL_TRUE, at,
                                                   4, &found[i], 0, NULL, NULL);
        if (code) return bench_error_cl(r->error, "a tag", code);
    }
    if (found[0] != expected || found[1] != expected)
        bench_check(r->results, 0, "the contents of allocation %u, %" PRIu64 " bytes, are lost", id,
                    r->live[id].bytes);
    return 0;
}

static int step(replay *r) {
    clump_pool_stats stats = {.size = sizeof stats};
    clump_pool_get_stats(r->pool, &stats, NULL);
    r->waste_sum += stats.waste;
    if (stats.waste > r->waste_peak) r->waste_peak = stats.waste;
    if (!r->defragments || bench_is(r->values, "defrag", "end")) return 0;
    clFinish(r->env->queue); /* what the trace's program does is not the step's time */
    clump_defrag_desc desc = {.size = sizeof desc};
    pool_bench_defrag(r->values, &desc);
    double begin = bench_now_us();
    if (clump_pool_defragment(r->pool, &desc, NULL, NULL))
        return pool_bench_fail(r->error, "a step", r->pool);
    r->steps[r->step_count] = bench_now_us() - begin;
    r->late += desc.budget_us > 0 && r->steps[r->step_count] > 1.2 * desc.budget_us;
    r->step_count++;
    return 0;
}

static int run_of(replay *r, size_t begin, size_t end) {
    const pool_trace_op *ops = r->trace.ops;
    double start = bench_now_us();
    int failed = 0;
    switch (ops[begin].kind) {
    case POOL_TRACE_ALLOC:
        for (size_t i = begin; i < end; i++) failed |= alloc_one(r, &ops[i]);
        for (size_t i = begin; r->is_touched && !failed && i < end; i++)
            failed |= touch(r, &r->live[ops[i].id]);
        if (r->is_touched) failed |= clFinish(r->env->queue);
        r->alloc_us += bench_now_us() - start;
        r->allocs += end - begin;
        for (size_t i = begin; r->is_checked && !failed && i < end; i++)
            failed |= tag(r, ops[i].id, 1);
        break;
    case POOL_TRACE_FREE:
        for (size_t i = begin; i < end; i++) failed |= free_one(r, &ops[i]);
        r->free_us += bench_now_us() - start;
        r->frees += end - begin;
        break;
    case POOL_TRACE_MOVABLE:
        for (size_t i = begin; r->pool && !r->is_buffers && i < end; i++)
            failed |=
                clump_pool_change(r->pool, r->live[ops[i].id].handle, CLUMP_PART_MOVABLE,
                                  &(clump_allocation_desc){.size = sizeof(clump_allocation_desc),
                                                           .movable = ops[i].movable});
        break;
    case POOL_TRACE_FRAME:
        for (size_t i = begin; r->pool && !failed && i < end; i++) failed |= step(r);
        break;
    }
    if (!failed) return 0;
    if (r->is_buffers && !r->pool)
        return bench_error_set(r->error, "the trace: OpenCL's own buffers");
    return r->pool ? pool_bench_fail(r->error, "the trace", r->pool)
                   : bench_error_set(r->error, "the trace: %.400s",
                                     clump_suballoc_get_error(r->ranges)->message);
}

static int replay_all(replay *r) {
    const pool_trace_op *ops = r->trace.ops;
    for (size_t begin = 0, end; begin < r->trace.count; begin = end) {
        end = begin + 1;
        while (end < r->trace.count && ops[end].kind == ops[begin].kind) end++;
        if (run_of(r, begin, end)) return -1;
    }
    return 0;
}

/* ---- Results --------------------------------------------------------------------------------- */

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void sample_pool(replay *r) {
    clump_pool_stats stats = {.size = sizeof stats};
    bench_results *results = r->results;
    clump_pool_get_stats(r->pool, &stats, NULL);
    if (r->trace.frames) {
        bench_sample(results, "waste_peak", "share", r->waste_peak);
        bench_sample(results, "waste_mean", "share", r->waste_sum / (double)r->trace.frames);
    }
    bench_sample(results, "waste_end", "share", stats.waste);
    bench_sample(results, "chunks_peak", "chunks", stats.chunks_peak);
    bench_sample(results, "bytes_peak", "MiB", (double)stats.bytes_peak / 1048576);
    if (!r->step_count) return;
    qsort(r->steps, r->step_count, sizeof *r->steps, by_value);
    bench_sample(results, "step_median_us", "us", r->steps[r->step_count / 2]);
    bench_sample(results, "step_p99_us", "us", r->steps[r->step_count * 99 / 100]);
    bench_sample(results, "steps_late", "share", (double)r->late / (double)r->step_count);
    bench_sample(results, "moves", "moves", (double)stats.moves);
    bench_sample(results, "moved", "MiB", (double)stats.moved_bytes / 1048576);
}

/* What is left at the end, defragmented until nothing moves any more. */
static int settle(replay *r, int is_measured) {
    clump_defrag_desc desc = {.size = sizeof desc};
    clump_defrag_report report = {.size = sizeof report, .done = 0};
    clump_pool_stats stats = {.size = sizeof stats};
    uint32_t steps = 0, until_tenth = 0;
    pool_bench_defrag(r->values, &desc);
    clump_pool_get_stats(r->pool, &stats, NULL);
    for (; !report.done && steps < SETTLE_MAX; steps++) {
        if (stats.waste >= 0.1) until_tenth = steps + 1;
        if (clump_pool_defragment(r->pool, &desc, &report, NULL))
            return pool_bench_fail(r->error, "a step at the end", r->pool);
        clump_pool_get_stats(r->pool, &stats, NULL);
    }
    clump_pool_trim(r->pool);
    clump_pool_get_stats(r->pool, &stats, NULL);
    if (is_measured) {
        bench_sample(r->results, "settle_steps", "steps", steps);
        bench_sample(r->results, "settle_until_tenth", "steps", until_tenth);
        bench_sample(r->results, "waste_settled", "share", stats.waste);
    }
    if (!report.done) bench_check(r->results, 0, "%d steps at the end were not enough", SETTLE_MAX);
    return 0;
}

static int check_pool(replay *r) {
    for (uint32_t id = 0; r->is_checked && id < r->trace.ids; id++)
        if (tag(r, id, 0)) return -1;
    if (!r->pool) return 0;
    if (clump_pool_check(r->pool)) return pool_bench_fail(r->error, "the check", r->pool);
    if (pool_bench_check_dump(r->pool, r->results)) return -1;
    clump_pool_stats stats = {.size = sizeof stats};
    clump_pool_get_stats(r->pool, &stats, NULL);
    if (stats.allocations + r->refused < r->allocs - r->frees)
        bench_check(r->results, 0, "%" PRIu64 " allocations are missing",
                    r->allocs - r->frees - stats.allocations);
    return 0;
}

static int open_target(replay *r, int is_virtual) {
    if (bench_is(r->values, "target", "driver")) return 0;
    if (!is_virtual) return pool_bench_open(r->env, r->values, &r->pool, r->error);
    clump_suballoc_desc desc = {.size = sizeof desc,
                                .bytes = UINT64_C(1) << 40,
                                .granularity = 256,
                                .fit = pool_bench_fit(r->values)};
    clump_error error;
    if (clump_suballoc_create(&desc, &r->ranges, &error))
        return bench_error_set(r->error, "%.400s", error.message);
    return 0;
}

static int run_round(void *self, uint32_t number, int is_measured) {
    replay *r = self;
    int is_virtual = bench_is(r->values, "target", "virtual");
    (void)number;
    memset(r->live, 0, r->trace.ids * sizeof *r->live);
    r->alloc_us = r->free_us = r->waste_sum = r->waste_peak = 0;
    r->allocs = r->frees = r->refused = 0;
    r->step_count = r->late = 0;
    int result = open_target(r, is_virtual);
    if (!result) result = replay_all(r);
    if (!result && is_measured) {
        bench_sample(r->results, "alloc_ns", "ns", 1e3 * r->alloc_us / (double)r->allocs);
        if (r->frees)
            bench_sample(r->results, "free_ns", "ns", 1e3 * r->free_us / (double)r->frees);
        if (r->pool) sample_pool(r);
        if (r->refused) bench_check(r->results, 0, "%" PRIu64 " requests refused", r->refused);
    }
    if (!result && r->defragments) result = settle(r, is_measured);
    if (!result && !is_virtual) result = check_pool(r);
    if (!result && r->ranges && clump_suballoc_check(r->ranges))
        bench_check(r->results, 0, "%.400s", clump_suballoc_get_error(r->ranges)->message);
    const char *picture = bench_text(r->values, "picture");
    if (!result && r->pool && *picture) result = pool_bench_draw(r->pool, picture, r->error);
    for (uint32_t id = 0; r->is_buffers && id < r->trace.ids; id++)
        if (r->live[id].handle) clReleaseMemObject(buffer_of(&r->live[id]));
    clump_pool_destroy(r->pool);
    clump_suballoc_destroy(r->ranges);
    r->pool = NULL;
    r->ranges = NULL;
    return result;
}

static int is_recorded(const char *shape) {
    return strstr(RECORDED, shape) != NULL;
}

static int make_trace(replay *r) {
    const char *path = bench_text(r->values, "file"), *write = bench_text(r->values, "write");
    const char *shape = bench_text(r->values, "shape");
    uint64_t bytes = (uint64_t)bench_int(r->values, "mb") << 20;
    int result;
    if (*path)
        result = pool_trace_read(&r->trace, path, r->error);
    else if (is_recorded(shape))
        result = pool_trace_recorded(&r->trace, shape, r->error);
    else
        result = pool_trace_generate(&r->trace, shape, r->env->seed,
                                     (uint32_t)bench_int(r->values, "frames"), bytes, r->error);
    if (!result && *write) result = pool_trace_write(&r->trace, write, r->error);
    return result;
}

static int begin(void *self, bench_env *env, const bench_values *values, bench_results *results) {
    replay *r = self;
    *r = (replay){.env = env, .results = results, .error = &results->error, .values = values};
    int is_virtual = bench_is(values, "target", "virtual");
    r->is_checked = !is_virtual && bench_is(values, "check", "1");
    r->is_buffers = bench_is(values, "target", "buffers") || bench_is(values, "target", "driver");
    r->is_touched = !is_virtual && bench_is(values, "touch", "1");
    r->defragments = bench_is(values, "target", "pool") && !bench_is(values, "defrag", "off");
    if (make_trace(r)) return -1;
    r->live = calloc(r->trace.ids + 1, sizeof *r->live);
    r->steps = calloc(r->trace.frames + 1, sizeof *r->steps);
    return r->live && r->steps ? 0 : bench_error_set(r->error, "no host memory for a replay");
}

static int finish(void *self) {
    replay *r = self;
    if (!r->is_checked && !bench_is(r->values, "target", "virtual"))
        bench_not_checked(r->results, "no contents were compared (check=0); all invariants hold");
    else
        bench_check(r->results, 1, "%" PRIu64 " allocations in %" PRIu64 " frames, %s",
                    r->trace.allocs, r->trace.frames,
                    r->is_checked ? "all contents kept" : "all invariants of the ranges hold");
    bench_note(r->results, "%" PRIu64 " allocations, at most %u live with %.1f MiB",
               r->trace.allocs, r->trace.ids, (double)r->trace.peak_bytes / 1048576);
    return 0;
}

static void end(void *self) {
    replay *r = self;
    free(r->live);
    free(r->steps);
    pool_trace_release(&r->trace);
}

static int needs_device(const bench_values *values) {
    return !bench_is(values, "target", "virtual");
}

static const bench_param params[] = {
    {"file", BENCH_STRING, "", "a trace to replay, in place of `shape`", 0, 0, NULL},
    {"shape", BENCH_ENUM, "games",
     "of the trace: made up, or the name of a program whose trace was recorded", 0, 0,
     "games|training|inference|particles|" RECORDED},
    {"frames", BENCH_INT, "300", "of a trace that is made up", 1, 1e6, NULL},
    {"mb", BENCH_INT, "128", "MiB live at its peak, about", 1, 1e6, NULL},
    {"target", BENCH_ENUM, "pool",
     "virtual: offsets only, without a device; buffers: a cl_mem each, out of the pool; driver: a "
     "clCreateBuffer each",
     0, 0, "pool|virtual|buffers|driver"},
    {"touch", BENCH_ENUM, "0", "write to all of each allocation, within the time of an allocation",
     0, 0, "0|1"},
    POOL_BENCH_PARAMS,
    {"defrag", BENCH_ENUM, "off",
     "steps between frames, with a budget or all they can; end: with a budget, after the trace", 0,
     0, "off|budget|all|end"},
    {"budget_us", BENCH_INT, "500", "of a step, with defrag=budget or end", 1, 1e6, NULL},
    {"order", BENCH_ENUM, "fullest", "chunks to fill first", 0, 0, "fullest|oldest"},
    {"check", BENCH_ENUM, "1", "compare contents", 0, 0, "0|1"},
    {"write", BENCH_STRING, "", "write the trace to this file", 0, 0, NULL},
    {"picture", BENCH_STRING, "", "draw the pool at the end into this SVG file", 0, 0, NULL},
    {NULL, BENCH_INT, NULL, NULL, 0, 0, NULL}};

const bench_descriptor bench_pool_trace = {
    .name = "pool-trace",
    .sentence = "A trace of allocations replayed on a pool, with a strategy and defragmentation",
    .params = params,
    .repeat = 3,
    .needs_device = needs_device,
    .bytes = sizeof(replay),
    .warm_up = 1,
    .begin = begin,
    .round = run_round,
    .finish = finish,
    .end = end};
