/* The benchmark alloc-bulk: many objects at once, by a do-new of the host, against a kernel in
 * which each work-item makes its own, for itself or with its work-group. All write every word of
 * them.
 *
 *     do_new_us, new_us, group_new_us    from the end of the command before to that of the last one
 *                                        of the call; their floor: the objects' bytes, written, at
 *                                        half the bandwidth of a copy
 *     do_new_rate, ...                   objects
 *     clear_us                           a do-all that frees them all
 *     do_new_fragmentation, ...          F of the heap afterwards
 *
 * The check: every number from 0 is that of exactly one object with its payload; the heap's
 * invariants; all blocks are free after the do-all that frees.
 *
 * Read first: bench.h, rig.h, bulk.cl.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/harness/bench.h"
#include "bench/harness/registry.h"
#include "rig.h"

enum { INIT, NEW, GROUP_NEW, NOTHING, SEE, COMPARE, CLEAR, KERNEL_COUNT };

typedef struct bulk {
    bench_rig rig;
    uint32_t objects, bytes;
    cl_mem seen, faults;
    double floor_us;
} bulk;

static int create(bulk *b, bench_env *env, const bench_values *values, bench_results *results) {
    static const char *const names[KERNEL_COUNT] = {"bulk_init",    "bulk_new", "bulk_group_new",
                                                    "bulk_nothing", "bulk_see", "bulk_compare",
                                                    "bulk_clear"};
    char schema[128], options[32];
    uint64_t heap_bytes = (uint64_t)bench_int(values, "heap_mb") << 20;
    if (heap_bytes == 0) heap_bytes = (uint64_t)b->objects * b->bytes * 5 / 4 + (32u << 20);
    snprintf(schema, sizeof schema, "class Item { uint number; uint payload[%u]; }",
             b->bytes / 4 - 1);
    snprintf(options, sizeof options, "-DWORDS=%u", b->bytes / 4 - 1);
    bench_rig_desc desc = {.env = env,
                           .results = results,
                           .heap = {.text = schema,
                                    .bytes = heap_bytes,
                                    .block_rows = (uint32_t)bench_int(values, "block_rows")},
                           .files = {"bench/micro/bulk.cl"},
                           .options = options,
                           .tuning = bench_tuning_of(values),
                           .kernels = names,
                           .kernel_count = KERNEL_COUNT,
                           .local = 256};
    bench_rig *rig = &b->rig;
    cl_uint items = b->objects;
    return bench_rig_create(rig, &desc) ||
                   bench_rig_buffer(rig, (size_t)items * sizeof items, &b->seen) ||
                   bench_rig_buffer(rig, 2 * sizeof items, &b->faults) ||
                   bench_rig_arg(rig, NEW, 0, sizeof items, &items) ||
                   bench_rig_arg(rig, GROUP_NEW, 0, sizeof items, &items) ||
                   bench_rig_arg(rig, SEE, 0, sizeof b->seen, &b->seen) ||
                   bench_rig_arg(rig, SEE, 1, sizeof items, &items) ||
                   bench_rig_arg(rig, SEE, 2, sizeof b->faults, &b->faults) ||
                   bench_rig_arg(rig, COMPARE, 0, sizeof b->seen, &b->seen) ||
                   bench_rig_arg(rig, COMPARE, 1, sizeof items, &items) ||
                   bench_rig_arg(rig, COMPARE, 2, sizeof b->faults, &b->faults)
               ? -1
               : 0;
}

/* Make all objects in one of the ways. */
static int make(bulk *b, int kernel, double *us) {
    bench_rig *rig = &b->rig;
    cl_event events[2] = {NULL, NULL};
    bench_span spans[2] = {{0}};
    clump_sync nothing = {.event = &events[0]}, sync = {.event = &events[1]};
    size_t global = ((size_t)b->objects + rig->local - 1) / rig->local * rig->local;
    clump_status status = clump_heap_do_all(rig->heap, rig->kernels[NOTHING], &nothing);
    if (status == CLUMP_OK) {
        status =
            kernel == INIT
                ? clump_heap_do_new(rig->heap, rig->kernels[INIT], "Item", b->objects, NULL, &sync)
                : clump_heap_launch(rig->heap, rig->kernels[kernel], global, rig->local, &sync);
    }
    int result = status == CLUMP_OK ? 0 : bench_rig_fail(rig, "making objects", status);
    for (int i = 0; i < 2; i++) {
        if (events[i] && bench_event_take(events[i], &spans[i], rig->error)) result = -1;
    }
    if (result == 0) *us = bench_span_us_after(spans[0], spans[1]);
    return result;
}

static int verify(bulk *b, const char *way) {
    bench_rig *rig = &b->rig;
    cl_uint faults[2];
    double us;
    if (bench_rig_write(rig, b->seen, (size_t)b->objects * sizeof(cl_uint), NULL) ||
        bench_rig_write(rig, b->faults, sizeof faults, NULL) || bench_rig_do_all(rig, SEE, &us) ||
        bench_rig_launch(rig, COMPARE, b->objects, &us) ||
        bench_rig_read(rig, b->faults, sizeof faults, faults)) {
        return -1;
    }
    bench_check(rig->results, !faults[0] && !faults[1],
                "%s: %u objects are wrong, %u of %u numbers are not there exactly once", way,
                faults[0], faults[1], b->objects);
    return bench_rig_verify(rig, 0);
}

static int run_way(bulk *b, int kernel, const char *way, int is_measured) {
    bench_results *results = b->rig.results;
    char name[64];
    double us, clear_us;
    clump_heap_stats full = {.size = sizeof full}, empty = {.size = sizeof empty};
    if (make(b, kernel, &us) || verify(b, way) || bench_rig_stats(&b->rig, &full) ||
        bench_rig_do_all(&b->rig, CLEAR, &clear_us) || bench_rig_verify(&b->rig, 0) ||
        bench_rig_stats(&b->rig, &empty)) {
        return -1;
    }
    if (empty.objects || empty.free_blocks != empty.blocks) {
        bench_check(results, 0, "%" PRIu64 " objects stay, and %u blocks", empty.objects,
                    empty.blocks - empty.free_blocks);
    }
    if (!is_measured) return 0;
    snprintf(name, sizeof name, "%s_us", way);
    bench_sample(results, name, "us", us);
    if (b->floor_us > 0) bench_floor(results, name, b->floor_us);
    snprintf(name, sizeof name, "%s_rate", way);
    bench_sample(results, name, "G/s", b->objects / us * 1e-3);
    snprintf(name, sizeof name, "%s_fragmentation", way);
    bench_sample(results, name, "share", full.fragmentation);
    bench_sample(results, "clear_us", "us", clear_us);
    return 0;
}

static int find_floor(bulk *b) {
    double bytes_per_s = 0;
    if (bench_copy_bandwidth(b->rig.env, 0, &bytes_per_s, b->rig.error)) return -1;
    if (bytes_per_s > 0) b->floor_us = 2e6 * b->objects * b->bytes / bytes_per_s;
    return 0;
}

static int begin(void *self, bench_env *env, const bench_values *values, bench_results *results) {
    bulk *b = self;
    *b = (bulk){.objects = (uint32_t)bench_int(values, "objects"),
                .bytes = (uint32_t)atoi(bench_text(values, "bytes"))};
    return create(b, env, values, results) || find_floor(b) ? -1 : 0;
}

static int run_round(void *self, uint32_t number, int is_measured) {
    bulk *b = self;
    (void)number;
    return run_way(b, INIT, "do_new", is_measured) || run_way(b, NEW, "new", is_measured) ||
                   run_way(b, GROUP_NEW, "group_new", is_measured)
               ? -1
               : 0;
}

static int finish(void *self) {
    bulk *b = self;
    bench_check(b->rig.results, 1, "%u objects in three ways, each there once", b->objects);
    return 0;
}

static void end(void *self) {
    bulk *b = self;
    bench_rig_release(&b->rig);
}

static const bench_param params[] = {
    {"objects", BENCH_INT, "1000000", "objects made at once", 1, 1u << 30, NULL},
    {"bytes", BENCH_ENUM, "16", "size of an object", 0, 0, "16|32|64|128"},
    BENCH_RIG_HEAP_PARAMS,
    BENCH_TUNING_PARAMS,
    {NULL, BENCH_INT, NULL, NULL, 0, 0, NULL}};

const bench_descriptor bench_alloc_bulk = {
    .name = "alloc-bulk",
    .sentence = "Many objects at once by a do-new, against one for each work-item in a kernel",
    .params = params,
    .repeat = 7,
    .bytes = sizeof(bulk),
    .warm_up = 1,
    .begin = begin,
    .round = run_round,
    .finish = finish,
    .end = end};
