/* The benchmark alloc-scalability: all work-items make objects at once, then all free them.
 *
 * Read first: bench.h, alloc.cl.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "bench_files.h"
#include "heap.h"
#include "registry.h"

#define LOCAL_SIZE 64

typedef struct alloc_state {
    bench_env *env;
    bench_results *results;
    bench_error *error;
    uint32_t items, per_item, bytes;
    uint64_t count; /* items * per_item */
    clump_heap *heap;
    clump_program *program;
    clump_kernel *make, *verify, *release;
    cl_mem ids, faults;
} alloc_state;

static int fail(alloc_state *s, const char *what, clump_status status) {
    return bench_error_clump(s->error, what, s->env->clump, status);
}

static int create_heap(alloc_state *s, const bench_values *values) {
    char text[128];
    snprintf(text, sizeof text, "class Thing { uint tag; uint payload[%u]; }", s->bytes / 4 - 1);
    uint64_t heap_bytes = (uint64_t)bench_int(values, "heap_mb") << 20;
    if (heap_bytes == 0) { /* bitmaps, blocks that work-items open side by side */
        heap_bytes = s->count * s->bytes * 5 / 4 + (32u << 20);
    }
    bench_heap_desc desc = {.clump = s->env->clump,
                            .text = text,
                            .bytes = heap_bytes,
                            .block_rows = (uint32_t)bench_int(values, "block_rows")};
    return bench_heap_create(&desc, &s->heap, s->error);
}

static int create_kernel(alloc_state *s, const char *name, clump_kernel **kernel) {
    cl_uint items = s->items, per_item = s->per_item;
    clump_status status = clump_kernel_create(s->program, name, kernel);
    if (status == CLUMP_OK) status = clump_kernel_set_arg(*kernel, 0, sizeof s->ids, &s->ids);
    if (status == CLUMP_OK) status = clump_kernel_set_arg(*kernel, 1, sizeof items, &items);
    if (status == CLUMP_OK) status = clump_kernel_set_arg(*kernel, 2, sizeof per_item, &per_item);
    return status == CLUMP_OK ? 0 : fail(s, name, status);
}

static int create_program(alloc_state *s, const bench_values *values) {
    const clumpi_cl_file *text = bench_file_find("bench/alloc.cl");
    if (!text) {
        return bench_error_set(s->error, "alloc.cl is not embedded in this program");
    }
    clump_program_desc desc = {.heap = s->heap,
                               .source = text->data,
                               .name = text->name,
                               .tuning = {.no_coalescing = bench_is(values, "coalescing", "off"),
                                          .no_rotation = bench_is(values, "rotation", "off"),
                                          .retries = (uint32_t)bench_int(values, "retries")}};
    clump_status status = clump_program_create(&desc, &s->program);
    if (status != CLUMP_OK) return fail(s, "building alloc.cl", status);
    if (create_kernel(s, "alloc_things", &s->make) ||
        create_kernel(s, "verify_things", &s->verify) ||
        create_kernel(s, "free_things", &s->release)) {
        return -1;
    }
    status = clump_kernel_set_arg(s->verify, 3, sizeof s->faults, &s->faults);
    return status == CLUMP_OK ? 0 : fail(s, "verify_things", status);
}

static int create_buffers(alloc_state *s) {
    cl_int code = CL_SUCCESS;
    s->ids =
        clCreateBuffer(s->env->context, CL_MEM_READ_WRITE, s->count * sizeof(cl_uint), NULL, &code);
    if (code == CL_SUCCESS) {
        s->faults =
            clCreateBuffer(s->env->context, CL_MEM_READ_WRITE, 2 * sizeof(cl_uint), NULL, &code);
    }
    return code == CL_SUCCESS ? 0 : bench_error_cl(s->error, "a buffer of references", code);
}

static int launch(alloc_state *s, clump_kernel *kernel, double *us) {
    cl_event event = NULL;
    bench_span span;
    clump_sync sync = {.event = &event};
    size_t global = ((size_t)s->items + LOCAL_SIZE - 1) / LOCAL_SIZE * LOCAL_SIZE;
    clump_status status = clump_launch(s->heap, kernel, global, LOCAL_SIZE, &sync);
    if (status != CLUMP_OK) return fail(s, "a launch", status);
    if (bench_event_take(event, &span, s->error)) return -1;
    *us = bench_span_us(span);
    return 0;
}

static int verify_tags(alloc_state *s) {
    cl_uint faults[2] = {0, 0};
    double us;
    cl_int code = clEnqueueWriteBuffer(s->env->queue, s->faults, CL_TRUE, 0, sizeof faults, faults,
                                       0, NULL, NULL);
    if (code != CL_SUCCESS) return bench_error_cl(s->error, "clearing the faults", code);
    if (launch(s, s->verify, &us)) return -1;
    code = clEnqueueReadBuffer(s->env->queue, s->faults, CL_TRUE, 0, sizeof faults, faults, 0, NULL,
                               NULL);
    if (code != CL_SUCCESS) return bench_error_cl(s->error, "reading the faults", code);
    if (faults[0] || faults[1]) {
        bench_check(s->results, 0, "of %" PRIu64 " allocations %u returned null, %u share a slot",
                    s->count, faults[0], faults[1]);
    }
    return 0;
}

/* Poll, invariants and number of objects. */
static int verify_heap(alloc_state *s, uint64_t expected, clump_class_stats *thing) {
    clump_device_report report;
    clump_status status = clump_heap_poll(s->heap, &report);
    if (status == CLUMP_ERR_DEVICE) {
        bench_check(s->results, 0, "%.400s", clump_context_get_error(s->env->clump)->message);
    } else if (status != CLUMP_OK) {
        return fail(s, "the poll", status);
    }
    status = clump_heap_check(s->heap);
    if (status == CLUMP_ERR_CORRUPT) {
        bench_check(s->results, 0, "%.400s", clump_context_get_error(s->env->clump)->message);
    } else if (status != CLUMP_OK) {
        return fail(s, "the heap check", status);
    }
    status = clump_heap_calc_stats(s->heap, NULL, thing, 1);
    if (status != CLUMP_OK) return fail(s, "the statistics", status);
    if (thing->objects != expected) {
        bench_check(s->results, 0, "the heap holds %" PRIu64 " objects instead of %" PRIu64,
                    thing->objects, expected);
    }
    return 0;
}

static int run_round(alloc_state *s, int is_measured) {
    clump_class_stats full, empty;
    double make_us = 0, free_us = 0;
    if (launch(s, s->make, &make_us) || verify_tags(s) || verify_heap(s, s->count, &full) ||
        launch(s, s->release, &free_us) || verify_heap(s, 0, &empty)) {
        return -1;
    }
    if (empty.blocks) {
        bench_check(s->results, 0, "%u blocks stay allocated without objects", empty.blocks);
    }
    if (is_measured) {
        bench_sample(s->results, "alloc_rate", "G/s", (double)s->count / make_us * 1e-3);
        bench_sample(s->results, "free_rate", "G/s", (double)s->count / free_us * 1e-3);
        bench_sample(s->results, "fragmentation_after", "share", full.fragmentation);
        bench_sample(s->results, "utilisation", "share",
                     full.bytes ? (double)(full.objects * s->bytes) / (double)full.bytes : 0);
    }
    return 0;
}

static void release(alloc_state *s) {
    clump_kernel_destroy(s->make);
    clump_kernel_destroy(s->verify);
    clump_kernel_destroy(s->release);
    clump_program_destroy(s->program);
    clump_heap_destroy(s->heap);
    if (s->ids) clReleaseMemObject(s->ids);
    if (s->faults) clReleaseMemObject(s->faults);
}

static int run_alloc(bench_env *env, const bench_values *values, bench_results *results) {
    alloc_state s = {.env = env,
                     .results = results,
                     .error = &results->error,
                     .items = (uint32_t)bench_int(values, "items"),
                     .per_item = (uint32_t)bench_int(values, "per_item"),
                     .bytes = (uint32_t)atoi(bench_text(values, "bytes"))};
    bench_progress progress;
    s.count = (uint64_t)s.items * s.per_item;
    if (s.count >= UINT32_MAX) {
        return bench_error_set(s.error, "items * per_item must be below 2^32");
    }
    int result =
        create_buffers(&s) || create_heap(&s, values) || create_program(&s, values) ? -1 : 0;
    bench_progress_begin(&progress, env, "alloc-scalability", env->repeat + 1);
    for (uint32_t round = 0; result == 0 && round <= env->repeat; round++) {
        result = run_round(&s, round > 0); /* the first warms up */
        bench_progress_update(&progress, round + 1);
    }
    bench_progress_end(&progress);
    if (result == 0) {
        bench_check(results, 1, "%" PRIu64 " objects: no null, no shared slot, all freed again",
                    s.count);
    }
    release(&s);
    return result;
}

static const bench_param params[] = {
    {"items", BENCH_INT, "1048576", "work-items that allocate", 1, 1u << 30, NULL},
    {"per_item", BENCH_INT, "1", "objects that each of them makes", 1, 1u << 20, NULL},
    {"bytes", BENCH_ENUM, "16", "size of an object", 0, 0, "16|32|64"},
    {"heap_mb", BENCH_INT, "0", "size of the heap in MiB; 0: from the objects", 0, 1e6, NULL},
    {"coalescing", BENCH_ENUM, "on", "combine the requests of a warp", 0, 0, "on|off"},
    {"rotation", BENCH_ENUM, "on", "start searches at different places", 0, 0, "on|off"},
    {"retries", BENCH_INT, "0", "look-ups before a block is opened; 0: default", 0, 1024, NULL},
    {"block_rows", BENCH_INT, "0", "rows of a block; 0: from the heap", 0, 64, NULL},
    {NULL, BENCH_INT, NULL, NULL, 0, 0, NULL}};

const bench_descriptor bench_alloc_scalability = {
    .name = "alloc-scalability",
    .sentence = "Rates at which all work-items together make and free objects of one class",
    .params = params,
    .repeat = 7,
    .run = run_alloc};
