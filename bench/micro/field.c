/* The benchmark field-bandwidth: what share of a copy kernel's bandwidth a do-all gets that reads
 * and writes fields.
 *
 * An object has `fields` fields of a type, of which `touch` are incremented. layout=soa is the
 * heap's own, aos lays an object's fields together, as a C struct has them: then every touched
 * cache line brings the other fields along. The same is done with plain arrays laid out by hand in
 * the same way.
 *
 *     bandwidth         of the do-all, bytes of touched fields, read and written
 *     plain_bandwidth   of the kernel over plain arrays, one work-item per object
 *     copy_bandwidth    of a kernel that copies all of the plain arrays, element by element
 *     c_bandwidth       on CPUs: of one thread of C over plain arrays
 *     share_of_copy, share_of_plain, share_of_c    bandwidth against the three
 *
 * The check: every field of every object and of the plain arrays, after all rounds.
 *
 * Read first: bench.h, rig.h, value_type.h, field.cl, field_peer.h.
 */
#include <inttypes.h>
#include <stdio.h>

#include "bench/harness/bench.h"
#include "bench/harness/registry.h"
#include "bench/harness/tuning.h"
#include "field_peer.h"
#include "rig.h"
#include "value_type.h"

enum { INIT, TOUCH, VERIFY, PLAIN_INIT, PLAIN_TOUCH, PLAIN_VERIFY, PLAIN_COPY, KERNEL_COUNT };

typedef struct field {
    bench_rig rig;
    uint32_t objects, fields, touch;
    const bench_value_type *type;
    cl_mem plain, copy, faults;
    field_peer peer;
    uint32_t rounds; /* how often fields were incremented */
} field;

static uint64_t plain_values(const field *f) {
    return (uint64_t)f->objects * f->fields;
}

static int create_rig(field *f, bench_env *env, const bench_values *values,
                      bench_results *results) {
    static const char *const names[KERNEL_COUNT] = {"field_init", "field_touch", "field_verify",
                                                    "plain_init", "plain_touch", "plain_verify",
                                                    "plain_copy"};
    char schema[128], value[64], options[192];
    int is_aos = bench_is(values, "layout", "aos");
    uint64_t heap_bytes = (uint64_t)bench_int(values, "heap_mb") << 20;
    if (heap_bytes == 0) {
        heap_bytes = (uint64_t)f->objects * (f->fields * f->type->bytes + 8) * 5 / 4 + (16u << 20);
    }
    snprintf(schema, sizeof schema,
             "abstract class Numbered { uint number; } %s class Record : Numbered { %s f[%u]; }",
             is_aos ? "aos" : "soa", f->type->name, f->fields);
    bench_value_type_define(f->type, value, sizeof value);
    snprintf(options, sizeof options, "%s -DFIELDS=%uu -DTOUCH=%uu -DPLAIN_AOS=%d", value,
             f->fields, f->touch, is_aos);
    bench_rig_desc desc = {.env = env,
                           .results = results,
                           .heap = {.text = schema,
                                    .bytes = heap_bytes,
                                    .block_rows = (uint32_t)bench_int(values, "block_rows"),
                                    .buffers = (uint32_t)bench_int(values, "buffers"),
                                    .checks = bench_checks_of(values)},
                           .files = {"bench/micro/field.cl"},
                           .options = options,
                           .kernels = names,
                           .kernel_count = KERNEL_COUNT,
                           .local = 256};
    return bench_rig_create(&f->rig, &desc);
}

static int create_plain(field *f) {
    bench_rig *rig = &f->rig;
    cl_uint count = f->objects;
    cl_ulong all = plain_values(f);
    size_t bytes = (size_t)all * f->type->bytes;
    double us;
    return bench_rig_buffer(rig, bytes, &f->plain) || bench_rig_buffer(rig, bytes, &f->copy) ||
                   bench_rig_buffer(rig, sizeof count, &f->faults) ||
                   bench_rig_arg(rig, PLAIN_INIT, 0, sizeof f->plain, &f->plain) ||
                   bench_rig_arg(rig, PLAIN_INIT, 1, sizeof count, &count) ||
                   bench_rig_arg(rig, PLAIN_TOUCH, 0, sizeof f->plain, &f->plain) ||
                   bench_rig_arg(rig, PLAIN_TOUCH, 1, sizeof count, &count) ||
                   bench_rig_arg(rig, PLAIN_COPY, 0, sizeof f->plain, &f->plain) ||
                   bench_rig_arg(rig, PLAIN_COPY, 1, sizeof f->copy, &f->copy) ||
                   bench_rig_arg(rig, PLAIN_COPY, 2, sizeof all, &all) ||
                   bench_rig_launch(rig, PLAIN_INIT, count, &us)
               ? -1
               : 0;
}

static int run_round(void *self, uint32_t number, int is_measured) {
    field *f = self;
    (void)number;
    bench_rig *rig = &f->rig;
    double us, plain_us, copy_us, c_us = 0;
    if (bench_rig_do_all(rig, TOUCH, &us) ||
        bench_rig_launch(rig, PLAIN_TOUCH, f->objects, &plain_us) ||
        bench_rig_launch(rig, PLAIN_COPY, plain_values(f), &copy_us)) {
        return -1;
    }
    if (f->peer.values) {
        double begin_us = bench_now_us();
        field_peer_touch(&f->peer);
        c_us = bench_now_us() - begin_us;
    }
    f->rounds++;
    if (!is_measured) return 0;
    double touched = 2e-3 * f->objects * f->touch * f->type->bytes;
    double bandwidth = touched / us, plain = touched / plain_us;
    double copied = 2e-3 * (double)plain_values(f) * f->type->bytes / copy_us;
    bench_sample(rig->results, "bandwidth", "GB/s", bandwidth);
    bench_sample(rig->results, "plain_bandwidth", "GB/s", plain);
    bench_sample(rig->results, "copy_bandwidth", "GB/s", copied);
    bench_sample(rig->results, "share_of_copy", "share", bandwidth / copied);
    bench_sample(rig->results, "share_of_plain", "share", bandwidth / plain);
    if (f->peer.values) {
        bench_sample(rig->results, "c_bandwidth", "GB/s", touched / c_us);
        bench_sample(rig->results, "share_of_c", "share", bandwidth * c_us / touched);
    }
    return 0;
}

static int verify_plain(field *f, cl_mem values, const char *what) {
    bench_rig *rig = &f->rig;
    cl_uint count = f->objects, rounds = f->rounds, faults = 0;
    double us;
    if (bench_rig_write(rig, f->faults, sizeof faults, NULL) ||
        bench_rig_arg(rig, PLAIN_VERIFY, 0, sizeof values, &values) ||
        bench_rig_arg(rig, PLAIN_VERIFY, 1, sizeof count, &count) ||
        bench_rig_arg(rig, PLAIN_VERIFY, 2, sizeof rounds, &rounds) ||
        bench_rig_arg(rig, PLAIN_VERIFY, 3, sizeof f->faults, &f->faults) ||
        bench_rig_launch(rig, PLAIN_VERIFY, count, &us) ||
        bench_rig_read(rig, f->faults, sizeof faults, &faults)) {
        return -1;
    }
    bench_check(rig->results, faults == 0, "%u of %u objects in %s are wrong", faults, count, what);
    return 0;
}

static int verify(field *f) {
    bench_rig *rig = &f->rig;
    cl_uint count = f->objects, rounds = f->rounds;
    cl_ulong bad = 0;
    uint64_t live = 0;
    if (bench_rig_arg(rig, VERIFY, 0, sizeof rounds, &rounds) ||
        bench_rig_arg(rig, VERIFY, 1, sizeof count, &count)) {
        return -1;
    }
    clump_status status =
        clump_heap_reduce(rig->heap, rig->kernels[VERIFY], sizeof bad, &bad, NULL);
    if (status == CLUMP_OK) status = clump_heap_read_count(rig->heap, "Record", &live);
    if (status != CLUMP_OK) return bench_rig_fail(rig, "the verification", status);
    bench_check(rig->results, bad == 0 && live == count,
                "%" PRIu64 " of %" PRIu64 " objects are wrong; %u were made", (uint64_t)bad, live,
                count);
    if (f->peer.values) {
        uint64_t wrong = field_peer_count_wrong(&f->peer, rounds);
        bench_check(rig->results, wrong == 0, "%" PRIu64 " values of the C program are wrong",
                    wrong);
    }
    return verify_plain(f, f->plain, "plain arrays") || verify_plain(f, f->copy, "their copy") ||
                   bench_rig_verify(rig, 0)
               ? -1
               : 0;
}

static int begin(void *self, bench_env *env, const bench_values *values, bench_results *results) {
    field *f = self;
    *f = (field){.rig.error = &results->error,
                 .objects = (uint32_t)bench_int(values, "objects"),
                 .fields = (uint32_t)bench_int(values, "fields"),
                 .touch = (uint32_t)bench_int(values, "touch"),
                 .type = bench_value_type_of(values)};
    if (f->touch > f->fields) {
        return bench_error_set(&results->error, "touch=%u, but an object has %u fields", f->touch,
                               f->fields);
    }
    f->peer = (field_peer){.objects = f->objects,
                           .fields = f->fields,
                           .touch = f->touch,
                           .type = f->type,
                           .is_aos = bench_is(values, "layout", "aos")};
    if (env->capabilities->is_cpu && field_peer_create(&f->peer))
        return bench_error_set(&results->error, "memory is exhausted: arrays of C");
    return create_rig(f, env, values, results) || create_plain(f) ||
                   bench_rig_do_new(&f->rig, INIT, "Record", f->objects)
               ? -1
               : 0;
}

static int finish(void *self) {
    field *f = self;
    if (verify(f)) return -1;
    bench_check(f->rig.results, 1, "%u objects, plain arrays and copy: every field as it should be",
                f->objects);
    return 0;
}

static void end(void *self) {
    field *f = self;
    bench_rig_release(&f->rig);
    field_peer_release(&f->peer);
}

static const bench_param params[] = {
    {"objects", BENCH_INT, "1000000", "objects", 1, 1u << 30, NULL},
    BENCH_VALUE_TYPE_PARAM("uint"),
    {"fields", BENCH_INT, "8", "fields of an object", 1, 64, NULL},
    {"touch", BENCH_INT, "2", "fields that are read and written", 1, 64, NULL},
    {"layout", BENCH_ENUM, "soa", "fields in columns, or an object's fields together", 0, 0,
     "soa|aos"},
    BENCH_RIG_HEAP_PARAMS,
    {"buffers", BENCH_INT, "1", "OpenCL buffers that the heap is in", 1, 16, NULL},
    BENCH_CHECKED_PARAM,
    {NULL, BENCH_INT, NULL, NULL, 0, 0, NULL}};

const bench_descriptor bench_field_bandwidth = {
    .name = "field-bandwidth",
    .sentence = "Fields read and written in a do-all, as share of a copy kernel; soa and aos",
    .params = params,
    .repeat = 9,
    .bytes = sizeof(field),
    .warm_up = 1,
    .begin = begin,
    .round = run_round,
    .finish = finish,
    .end = end};
