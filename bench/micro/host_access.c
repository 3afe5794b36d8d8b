/* The benchmark host-access: values and references between host and device.
 *
 * All calls are timed on the host's clock, from call to return:
 *
 *     read_us, write_us    one field of all objects (clump_heap_read_field, write_field); their
 *                          floor is the same number of bytes from and to a buffer
 *     read_rate, ...       as GB/s of values
 *     enumerate_us         the references of all objects
 *     get_us, set_us       one field of one object, the mean over CALLS of them; the floor of
 *                          get_us is a read of as many bytes from a buffer
 *
 * The check: a kernel finds in every object the value that the host wrote for its number, the host
 * reads back the same, from all at once and from single objects by their references.
 *
 * Read first: bench.h, rig.h, value_type.h, host_access.cl.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/harness/bench.h"
#include "bench/harness/hash.clh"
#include "bench/harness/registry.h"
#include "rig.h"
#include "value_type.h"

#define CALLS 64

enum { INIT, THIN, VERIFY, KERNEL_COUNT };

typedef struct host {
    bench_rig rig;
    uint32_t objects;
    const bench_value_type *type;
    uint64_t live;
    clump_ref *refs; /* of the live ones, and their numbers */
    uint32_t *numbers;
    uint8_t *out, *back; /* values */
    cl_mem plain;
} host;

static int create_rig(host *h, bench_env *env, const bench_values *values, bench_results *results) {
    static const char *const names[KERNEL_COUNT] = {"host_init", "host_thin", "host_verify"};
    char schema[96], options[64];
    uint64_t heap_bytes = (uint64_t)bench_int(values, "heap_mb") << 20;
    if (heap_bytes == 0) {
        heap_bytes = (uint64_t)h->objects * (h->type->bytes + 8) * 5 / 4 + (16u << 20);
    }
    snprintf(schema, sizeof schema, "class Point { uint number; %s value; }", h->type->name);
    bench_value_type_define(h->type, options, sizeof options);
    bench_rig_desc desc = {.env = env,
                           .results = results,
                           .heap = {.text = schema,
                                    .bytes = heap_bytes,
                                    .block_rows = (uint32_t)bench_int(values, "block_rows")},
                           .files = {"bench/harness/hash.clh", "bench/micro/host_access.cl"},
                           .options = options,
                           .kernels = names,
                           .kernel_count = KERNEL_COUNT};
    return bench_rig_create(&h->rig, &desc);
}

static int make_objects(host *h, double density) {
    bench_rig *rig = &h->rig;
    cl_uint seed = rig->env->seed, keep = (cl_uint)(density * (double)UINT32_MAX);
    double us;
    if (bench_rig_do_new(rig, INIT, "Point", h->objects) ||
        bench_rig_arg(rig, THIN, 0, sizeof seed, &seed) ||
        bench_rig_arg(rig, THIN, 1, sizeof keep, &keep) || bench_rig_do_all(rig, THIN, &us)) {
        return -1;
    }
    for (uint32_t number = 0; number < h->objects; number++) {
        h->live += bench_hash(number, seed) <= keep;
    }
    if (h->live == 0) return bench_error_set(rig->error, "no object is left to be read");
    return 0;
}

static int create_buffers(host *h) {
    size_t bytes = (size_t)h->live * h->type->bytes;
    h->refs = malloc(h->live * sizeof *h->refs);
    h->numbers = malloc(h->live * sizeof *h->numbers);
    h->out = malloc(bytes);
    h->back = malloc(bytes);
    if (!h->refs || !h->numbers || !h->out || !h->back) {
        return bench_error_set(h->rig.error, "out of memory");
    }
    return bench_rig_buffer(&h->rig, bytes, &h->plain);
}

static int find_objects(host *h) {
    bench_rig *rig = &h->rig;
    uint64_t count = 0;
    clump_status status = clump_heap_read_refs(rig->heap, "Point", h->refs, h->live, &count);
    bench_check(rig->results, count == h->live, "%" PRIu64 " of %" PRIu64 " objects are enumerated",
                count, h->live);
    if (status == CLUMP_OK && count == h->live) {
        status = clump_heap_read_field(rig->heap, "Point", "number", 0, sizeof *h->numbers,
                                       h->numbers, h->live, NULL);
    }
    return status == CLUMP_OK ? 0 : bench_rig_fail(rig, "the objects' numbers", status);
}

/* The value of the object at `index` of the lists. */
static void put_value(const host *h, uint64_t index, uint32_t seed, uint8_t *at) {
    uint32_t scalar_bytes = h->type->bytes / h->type->lanes;
    uint64_t value = bench_hash(h->numbers[index], seed);
    for (uint32_t lane = 0; lane < h->type->lanes; lane++) { /* the low bytes come first */
        memcpy(at + (size_t)lane * scalar_bytes, &value, scalar_bytes);
    }
}

/* Every object has on the device what follows from its number. */
static int verify_device(host *h, uint32_t seed, const char *what) {
    bench_rig *rig = &h->rig;
    cl_ulong bad = 0;
    if (bench_rig_arg(rig, VERIFY, 0, sizeof seed, &seed)) return -1;
    clump_status status =
        clump_heap_reduce(rig->heap, rig->kernels[VERIFY], sizeof bad, &bad, NULL);
    bench_check(rig->results, bad == 0, "%" PRIu64 " values are wrong after %s", (uint64_t)bad,
                what);
    return status == CLUMP_OK ? 0 : bench_rig_fail(rig, "the verification", status);
}

/* A call on the heap, timed. */
typedef enum access { READ, WRITE, ENUMERATE } access;

static int time_access(host *h, access what, double *us) {
    bench_rig *rig = &h->rig;
    uint64_t count = 0;
    double begin = bench_now_us();
    clump_status status = CLUMP_OK;
    switch (what) {
    case READ:
        status = clump_heap_read_field(rig->heap, "Point", "value", 0, h->type->bytes, h->back,
                                       h->live, NULL);
        break;
    case WRITE:
        status =
            clump_heap_write_field(rig->heap, "Point", "value", 0, h->type->bytes, h->out, h->live);
        break;
    case ENUMERATE:
        status = clump_heap_read_refs(rig->heap, "Point", h->refs, h->live, &count);
        break;
    }
    *us = bench_now_us() - begin;
    return status == CLUMP_OK ? 0 : bench_rig_fail(rig, "access to all objects", status);
}

/* One value after the other, of objects far apart: write those of `seed`, or read and compare. */
static int time_calls(host *h, uint32_t seed, int is_write, double *us) {
    bench_rig *rig = &h->rig;
    uint32_t wrong = 0;
    *us = 0;
    for (uint32_t i = 0; i < CALLS; i++) {
        uint8_t value[16], found[16];
        uint64_t index = bench_hash(i, seed) % h->live;
        put_value(h, index, seed, value);
        double begin = bench_now_us();
        clump_status status =
            is_write ? clump_heap_write_object_field(rig->heap, "Point", "value", 0, h->refs[index],
                                                     h->type->bytes, value)
                     : clump_heap_read_object_field(rig->heap, "Point", "value", 0, h->refs[index],
                                                    h->type->bytes, found);
        *us += (bench_now_us() - begin) / CALLS;
        if (status != CLUMP_OK) return bench_rig_fail(rig, "access to one object", status);
        wrong += !is_write && memcmp(value, found, h->type->bytes) != 0;
    }
    bench_check(rig->results, wrong == 0, "%u of %d single values are read wrong", wrong, CALLS);
    return 0;
}

/* The same bytes from and to a buffer, and one value. */
static int time_plain(host *h, double *read_us, double *write_us, double *small_us) {
    size_t bytes = (size_t)h->live * h->type->bytes;
    uint8_t value[16];
    double begin = bench_now_us();
    if (bench_rig_write(&h->rig, h->plain, bytes, h->out)) return -1;
    *write_us = bench_now_us() - begin;
    begin = bench_now_us();
    if (bench_rig_read(&h->rig, h->plain, bytes, h->back)) return -1;
    *read_us = bench_now_us() - begin;
    begin = bench_now_us();
    if (bench_rig_read(&h->rig, h->plain, h->type->bytes, value)) return -1;
    *small_us = bench_now_us() - begin;
    bench_check(h->rig.results, memcmp(h->out, h->back, bytes) == 0, "a buffer changes its bytes");
    return 0;
}

typedef struct host_times {
    double read, write, enumerate, get, set, plain_read, plain_write, plain_small;
} host_times;

static int take_times(host *h, uint32_t seed, host_times *t) {
    size_t bytes = (size_t)h->live * h->type->bytes;
    for (uint64_t i = 0; i < h->live; i++) put_value(h, i, seed, h->out + i * h->type->bytes);
    if (time_plain(h, &t->plain_read, &t->plain_write, &t->plain_small) ||
        time_access(h, WRITE, &t->write) || verify_device(h, seed, "a write of all")) {
        return -1;
    }
    memset(h->back, 0, bytes);
    if (time_access(h, READ, &t->read)) return -1;
    bench_check(h->rig.results, memcmp(h->out, h->back, bytes) == 0,
                "the values of all objects are not those written");
    memset(h->refs, 0, (size_t)h->live * sizeof *h->refs);
    /* Single values of the next seed, then the old ones again. */
    return time_access(h, ENUMERATE, &t->enumerate) || time_calls(h, seed, 0, &t->get) ||
                   time_calls(h, seed + 1, 1, &t->set) || time_calls(h, seed + 1, 0, &t->get) ||
                   bench_rig_verify(&h->rig, 0)
               ? -1
               : 0;
}

static void report(host *h, const host_times *t) {
    bench_results *results = h->rig.results;
    double kilobytes = 1e-3 * (double)h->live * h->type->bytes;
    bench_sample(results, "read_us", "us", t->read);
    bench_sample(results, "write_us", "us", t->write);
    bench_sample(results, "read_rate", "GB/s", kilobytes / t->read);
    bench_sample(results, "write_rate", "GB/s", kilobytes / t->write);
    bench_sample(results, "enumerate_us", "us", t->enumerate);
    bench_sample(results, "get_us", "us", t->get);
    bench_sample(results, "set_us", "us", t->set);
    bench_sample(results, "plain_read_us", "us", t->plain_read);
    bench_sample(results, "plain_write_us", "us", t->plain_write);
    bench_sample(results, "plain_small_us", "us", t->plain_small);
}

/* The floors are what plain buffers took, in the same rounds. */
static void report_floors(bench_results *results) {
    static const char *const pairs[][2] = {{"plain_read_us", "read_us"},
                                           {"plain_write_us", "write_us"},
                                           {"plain_small_us", "get_us"},
                                           {"plain_small_us", "set_us"}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        for (size_t m = 0; m < results->metric_count; m++) {
            if (strcmp(results->metrics[m].name, pairs[i][0]) == 0) {
                bench_floor(results, pairs[i][1], bench_metric_median(&results->metrics[m]));
            }
        }
    }
}

static int begin(void *self, bench_env *env, const bench_values *values, bench_results *results) {
    host *h = self;
    *h = (host){.rig.error = &results->error,
                .objects = (uint32_t)bench_int(values, "objects"),
                .type = bench_value_type_of(values)};
    return create_rig(h, env, values, results) || make_objects(h, bench_float(values, "density")) ||
                   create_buffers(h) || find_objects(h)
               ? -1
               : 0;
}

static int run_round(void *self, uint32_t number, int is_measured) {
    host *h = self;
    host_times times;
    int result = take_times(h, h->rig.env->seed + 2 * number, &times);
    if (result == 0 && is_measured) report(h, &times);
    return result;
}

static int finish(void *self) {
    host *h = self;
    report_floors(h->rig.results);
    bench_check(h->rig.results, 1, "%" PRIu64 " objects: host and device see the same", h->live);
    return 0;
}

static void end(void *self) {
    host *h = self;
    bench_rig_release(&h->rig);
    free(h->refs);
    free(h->numbers);
    free(h->out);
    free(h->back);
}

static const bench_param params[] = {
    {"objects", BENCH_INT, "1000000", "objects made", 1, 1u << 30, NULL},
    {"density", BENCH_FLOAT, "1", "share of them that is left alive", 0, 1, NULL},
    BENCH_VALUE_TYPE_PARAM("uint"),
    BENCH_RIG_HEAP_PARAMS,
    {NULL, BENCH_INT, NULL, NULL, 0, 0, NULL}};

const bench_descriptor bench_host_access = {
    .name = "host-access",
    .sentence = "Fields and references between host and device: of all objects, and of one",
    .params = params,
    .repeat = 7,
    .bytes = sizeof(host),
    .warm_up = 1,
    .begin = begin,
    .round = run_round,
    .finish = finish,
    .end = end};
