/* The benchmark alloc-scalability: all work-items make objects at once, then all free them, each
 * its own or, with order=random, those that a shuffle gives it. With launches=N, N launches in a
 * row make objects, and then N launches free them.
 *
 *     alloc_rate        objects made
 *     first_alloc_rate  by the first launch, which nobody announced: nothing is known of what it
 *                       will ask for
 *     free_rate         objects freed; its floor: the operations alone, on plain arrays (alloc.cl)
 *
 * Read first: bench.h, rig.h, alloc.cl.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/harness/bench.h"
#include "bench/harness/registry.h"
#include "rig.h"

enum { MAKE, VERIFY, RELEASE, FLOOR, KERNEL_COUNT };

typedef struct alloc_state {
    bench_rig rig;
    uint32_t items, per_item, bytes, launches;
    cl_uint rows; /* per_item * launches */
    size_t row_kernel;
    int is_random;
    uint64_t count; /* items * rows */
    cl_mem ids, faults, counts;
    cl_uint block_objects; /* that a block has room for */
} alloc_state;

static int create_rig(alloc_state *s, bench_env *env, const bench_values *values,
                      bench_results *results) {
    static const char *const names[KERNEL_COUNT] = {"alloc_things", "verify_things", "free_things",
                                                    "floor_things"};
    char text[128];
    snprintf(text, sizeof text, "class Thing { uint tag; uint payload[%u]; }", s->bytes / 4 - 1);
    uint64_t heap_bytes = (uint64_t)bench_int(values, "heap_mb") << 20;
    if (heap_bytes == 0) { /* bitmaps, blocks that work-items open side by side */
        heap_bytes = s->count * s->bytes * 5 / 4 + (32u << 20);
    }
    bench_rig_desc desc = {.env = env,
                           .results = results,
                           .heap = {.text = text,
                                    .bytes = heap_bytes,
                                    .block_rows = (uint32_t)bench_int(values, "block_rows"),
                                    .buffers = (uint32_t)bench_int(values, "buffers"),
                                    .checks = bench_checks_of(values)},
                           .files = {"bench/harness/hash.clh", "bench/micro/alloc.cl"},
                           .tuning = bench_tuning_of(values),
                           .kernels = names,
                           .kernel_count = KERNEL_COUNT};
    return bench_rig_create(&s->rig, &desc);
}

static int create_buffers(alloc_state *s) {
    bench_rig *rig = &s->rig;
    if (bench_rig_buffer(rig, s->count * sizeof(cl_uint), &s->ids) ||
        bench_rig_write(rig, s->ids, s->count * sizeof(cl_uint), NULL) ||
        bench_rig_buffer(rig, 2 * sizeof(cl_uint), &s->faults) ||
        bench_rig_buffer(rig, (s->count / 64 + 1) * sizeof(cl_uint), &s->counts)) {
        return -1;
    }
    for (size_t kernel = 0; kernel < KERNEL_COUNT; kernel++) {
        if (bench_rig_arg(rig, kernel, 0, sizeof s->ids, &s->ids) ||
            bench_rig_arg(rig, kernel, 1, sizeof s->items, &s->items) ||
            bench_rig_arg(rig, kernel, 2, sizeof s->rows, &s->rows)) {
            return -1;
        }
    }
    return bench_rig_arg(rig, VERIFY, 3, sizeof s->faults, &s->faults);
}

/* Launch `number` makes or frees its rows. */
static int set_rows(void *self, uint32_t number) {
    alloc_state *s = self;
    cl_uint first = number * s->per_item, end = first + s->per_item;
    return bench_rig_arg(&s->rig, s->row_kernel, 2, sizeof first, &first) ||
                   bench_rig_arg(&s->rig, s->row_kernel, 3, sizeof end, &end)
               ? -1
               : 0;
}

static int launch_row(alloc_state *s, size_t kernel, double *us) {
    bench_rig_row row = {.kernel = s->row_kernel = kernel,
                         .items = s->items,
                         .launches = s->launches,
                         .prepare = set_rows,
                         .self = s};
    return bench_rig_launch_row(&s->rig, &row, us);
}

static int verify_tags(alloc_state *s) {
    cl_uint faults[2];
    double us;
    if (bench_rig_write(&s->rig, s->faults, sizeof faults, NULL) ||
        bench_rig_launch(&s->rig, VERIFY, s->items, &us) ||
        bench_rig_read(&s->rig, s->faults, sizeof faults, faults)) {
        return -1;
    }
    if (faults[0] || faults[1]) {
        bench_check(s->rig.results, 0,
                    "of %" PRIu64 " allocations %u returned null, %u share a slot", s->count,
                    faults[0], faults[1]);
    }
    return 0;
}

/* Each work-item gets other objects to free. */
static int shuffle_ids(alloc_state *s, uint32_t seed) {
    if (!s->is_random) return 0;
    cl_uint *ids = malloc(s->count * sizeof *ids);
    if (!ids)
        return bench_error_set(s->rig.error, "no memory for %" PRIu64 " references", s->count);
    int result = bench_rig_read(&s->rig, s->ids, s->count * sizeof *ids, ids);
    uint64_t random = seed;
    for (uint64_t i = s->count; result == 0 && i > 1; i--) {
        random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        uint64_t j = (random >> 32) * i >> 32; /* Fisher and Yates */
        cl_uint id = ids[i - 1];
        ids[i - 1] = ids[j], ids[j] = id;
    }
    if (result == 0) result = bench_rig_write(&s->rig, s->ids, s->count * sizeof *ids, ids);
    free(ids);
    return result;
}

/* Errors of kernels, invariants and number of objects. */
static int verify_heap(alloc_state *s, uint64_t expected, clump_class_stats *thing) {
    if (bench_rig_verify(&s->rig, 0)) return -1;
    clump_status status = clump_heap_read_stats(s->rig.heap, NULL, thing, 1);
    if (status != CLUMP_OK) return bench_rig_fail(&s->rig, "the statistics", status);
    if (thing->objects != expected) {
        bench_check(s->rig.results, 0, "the heap holds %" PRIu64 " objects instead of %" PRIu64,
                    thing->objects, expected);
    }
    return 0;
}

static int run_round(void *self, uint32_t number, int is_measured) {
    alloc_state *s = self;
    clump_class_stats full = {.size = sizeof full}, empty = {.size = sizeof empty};
    double make_us = 0, free_us = 0;
    bench_results *results = s->rig.results;
    if (launch_row(s, MAKE, &make_us) || verify_tags(s) || verify_heap(s, s->count, &full) ||
        shuffle_ids(s, number + 1) || launch_row(s, RELEASE, &free_us) ||
        verify_heap(s, 0, &empty)) {
        return -1;
    }
    s->block_objects = (cl_uint)(full.slots / full.blocks);
    if (empty.blocks) {
        bench_check(results, 0, "%u blocks stay allocated without objects", empty.blocks);
    }
    if (number == 0)
        bench_sample(results, "first_alloc_rate", "G/s", (double)s->count / make_us * 1e-3);
    if (is_measured) {
        bench_sample(results, "time_us", "us", make_us + free_us);
        bench_sample(results, "alloc_rate", "G/s", (double)s->count / make_us * 1e-3);
        bench_sample(results, "free_rate", "G/s", (double)s->count / free_us * 1e-3);
        bench_sample(results, "fragmentation_after", "share", full.fragmentation);
        bench_sample(results, "utilisation", "share",
                     full.bytes ? (double)(full.objects * s->bytes) / (double)full.bytes : 0);
    }
    return 0;
}

static void end(void *self) {
    alloc_state *s = self;
    bench_rig_release(&s->rig);
}

static int begin(void *self, bench_env *env, const bench_values *values, bench_results *results) {
    alloc_state *s = self;
    *s = (alloc_state){.items = (uint32_t)bench_int(values, "items"),
                       .per_item = (uint32_t)bench_int(values, "per_item"),
                       .bytes = (uint32_t)atoi(bench_text(values, "bytes")),
                       .launches = (uint32_t)bench_int(values, "launches"),
                       .is_random = strcmp(bench_text(values, "order"), "random") == 0};
    uint64_t rows = (uint64_t)s->per_item * s->launches;
    s->count = s->items * rows;
    if (rows >= UINT32_MAX || s->count >= UINT32_MAX) {
        return bench_error_set(&results->error, "items * per_item * launches must be below 2^32");
    }
    s->rows = (cl_uint)rows;
    return create_rig(s, env, values, results) || create_buffers(s) ? -1 : 0;
}

/* Operations of the floor, from what they left in the counts. */
static int count_operations(alloc_state *s, uint64_t *operations) {
    size_t bytes = (s->count / 64 + 1) * sizeof(cl_uint);
    cl_uint *counts = malloc(bytes);
    if (!counts) return bench_error_set(s->rig.error, "no memory for %zu bytes", bytes);
    int result = bench_rig_read(&s->rig, s->counts, bytes, counts);
    *operations = 0;
    for (uint64_t i = 0; i <= s->count / 64; i++) *operations += 0u - counts[i];
    free(counts);
    return result;
}

/* The operations of all frees on plain arrays; `ids` is not needed any more. */
static int find_floor(alloc_state *s) {
    enum { TRIES = 3 };
    cl_uint is_random = (cl_uint)s->is_random;
    if (bench_rig_write(&s->rig, s->ids, s->count * sizeof(cl_uint), NULL) ||
        bench_rig_write(&s->rig, s->counts, (s->count / 64 + 1) * sizeof(cl_uint), NULL) ||
        bench_rig_arg(&s->rig, FLOOR, 3, sizeof s->counts, &s->counts) ||
        bench_rig_arg(&s->rig, FLOOR, 4, sizeof s->block_objects, &s->block_objects) ||
        bench_rig_arg(&s->rig, FLOOR, 5, sizeof is_random, &is_random)) {
        return -1;
    }
    double best_us = 0, us;
    for (int i = 0; i < TRIES; i++) {
        if (bench_rig_launch(&s->rig, FLOOR, s->items, &us)) return -1;
        if (i == 0 || us < best_us) best_us = us;
    }
    uint64_t operations = 0,
             expected = is_random ? s->count : (s->items + 31u) / 32u * (uint64_t)s->rows;
    if (count_operations(s, &operations)) return -1;
    if (operations != TRIES * expected)
        bench_check(s->rig.results, 0, "the floor made %" PRIu64 " operations, expected %" PRIu64,
                    operations, TRIES * expected);
    bench_floor(s->rig.results, "free_rate", (double)s->count / best_us * 1e-3);
    return 0;
}

static int finish(void *self) {
    alloc_state *s = self;
    if (find_floor(s)) return -1;
    bench_check(s->rig.results, 1, "%" PRIu64 " objects: no null, no shared slot, all freed again",
                s->count);
    return 0;
}

static const bench_param params[] = {
    {"items", BENCH_INT, "1048576", "work-items that allocate", 1, 1u << 30, NULL},
    {"per_item", BENCH_INT, "1", "objects that each of them makes", 1, 1u << 20, NULL},
    {"launches", BENCH_INT, "1", "in a row, timed together, each with objects of its own", 1, 1024,
     NULL},
    {"bytes", BENCH_ENUM, "16", "size of an object", 0, 0,
     "16|32|64|128|256|512|1024|2048|4096|8192"},
    {"order", BENCH_ENUM, "same", "who frees what: the work-item that made it, or any", 0, 0,
     "same|random"},
    BENCH_RIG_HEAP_PARAMS,
    {"buffers", BENCH_INT, "1", "OpenCL buffers that the heap is in", 1, 16, NULL},
    BENCH_TUNING_PARAMS,
    BENCH_CHECKED_PARAM,
    {NULL, BENCH_INT, NULL, NULL, 0, 0, NULL}};

const bench_descriptor bench_alloc_scalability = {
    .name = "alloc-scalability",
    .sentence = "Rates at which all work-items together make and free objects of one class",
    .params = params,
    .repeat = 7,
    .bytes = sizeof(alloc_state),
    .warm_up = 1,
    .begin = begin,
    .round = run_round,
    .finish = finish,
    .end = end};
