/* The benchmark convert: a live heap gets another schema, and then its own again.
 *
 * Objects of 56 bytes, with four references each, and with `array` also an array that grows. In the
 * other schema a class has some of the fields apart, one field is new, and the order is another;
 * with `to=aos` each object lies in one piece. On the host's clock, from call to return:
 *
 *     convert_us   clump_heap_convert() to the other schema, with the new memory of the heap
 *     back_us      the same back
 *     rate         objects in a second of convert_us
 *     copy_us      as many bytes as the fields have, copied from buffer to buffer: the floor of
 *                  both
 *     convert_of_copy   how many times as long
 *
 * The check: after it came back a kernel finds every value and every reference as they were.
 *
 * Read first: bench.h, rig.h, extract.cl.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "bench/harness/bench.h"
#include "bench/harness/hash.clh"
#include "bench/harness/registry.h"
#include "clump/convert.h"
#include "grown.clh"
#include "rig.h"

#define OBJECT_BYTES 56u
#define TEXT_BYTES 256

enum { INIT, THIN, LINK, VERIFY, KERNEL_COUNT };

static const char own_text[] =
    "class Body { uint taken; uint place; float4 at; float4 speed; ref Body next; ref Body "
    "near[3]; }";
static const char *const other_texts[] = {
    "abstract class Rare { float4 speed; uint taken; uint fresh; } class Body : Rare { ref Body "
    "near[3]; "
    "ref Body next; float4 at; uint place; }",
    "abstract class Rare { uint fresh; } aos class Body : Rare { uint taken; ref Body near[3]; ref "
    "Body next; "
    "uint place; float4 speed; float4 at; }"};

typedef struct converter {
    bench_rig rig;
    clump_schema *own, *other;
    uint32_t objects, live, block_rows;
    uint32_t array; /* mean length */
    char options[32];
    uint64_t bytes; /* of all fields and arrays */
    cl_uint seed;
    cl_mem from, to; /* as many bytes as the fields have; NULL before the first round */
} converter;

/* ---- Rounds ---------------------------------------------------------------------------------- */

static int convert(converter *k, const clump_schema *schema, double *us) {
    clump_convert_report report = {.size = sizeof report};
    const clump_convert_desc desc = {
        .size = sizeof desc, .schema = schema, .block_rows = k->block_rows};
    double begin = bench_now_us();
    clump_status status = clump_heap_convert(k->rig.heap, &desc, &report);
    *us = bench_now_us() - begin;
    if (status) return bench_rig_fail(&k->rig, "the conversion", status);
    bench_check(k->rig.results, report.objects == k->live && report.dangling == 0,
                "%" PRIu64 " of %u objects are there, %" PRIu64 " references dangle",
                report.objects, k->live, report.dangling);
    return 0;
}

static int verify(converter *k) {
    cl_ulong bad = 1;
    uint64_t count = 0;
    clump_status status = clump_heap_read_count(k->rig.heap, "Body", &count);
    if (!status)
        status = clump_heap_reduce(k->rig.heap, k->rig.kernels[VERIFY], sizeof bad, &bad, NULL);
    bench_check(k->rig.results, bad == 0 && count == k->live,
                "%" PRIu64 " of %u objects are left, with %" PRIu64 " wrong values", count, k->live,
                (uint64_t)bad);
    return status ? bench_rig_fail(&k->rig, "the verification", status) : 0;
}

static int plain_copy(converter *k, double *us) {
    cl_command_queue queue = k->rig.env->queue;
    const size_t bytes = (size_t)k->bytes;
    if (!k->from &&
        (bench_rig_buffer(&k->rig, bytes, &k->from) || bench_rig_buffer(&k->rig, bytes, &k->to)))
        return -1;
    clFinish(queue);
    double begin = bench_now_us();
    cl_int code = clEnqueueCopyBuffer(queue, k->from, k->to, 0, 0, bytes, 0, NULL, NULL);
    if (!code) code = clFinish(queue);
    *us = bench_now_us() - begin;
    return code ? bench_error_set(k->rig.error, "cannot copy a buffer: %d", (int)code) : 0;
}

static int run_round(void *self, uint32_t number, int is_measured) {
    converter *k = self;
    bench_results *results = k->rig.results;
    double convert_us, back_us, copy_us;
    (void)number;
    if (convert(k, k->other, &convert_us) || convert(k, k->own, &back_us) || verify(k) ||
        plain_copy(k, &copy_us))
        return -1;
    if (!is_measured) return 0;
    bench_sample(results, "convert_us", "us", convert_us);
    bench_sample(results, "back_us", "us", back_us);
    bench_sample(results, "rate", "1/s", k->live / convert_us * 1e6);
    bench_sample(results, "copy_us", "us", copy_us);
    bench_sample(results, "convert_of_copy", "", convert_us / copy_us);
    return 0;
}

static int finish(void *self) {
    converter *k = self;
    bench_results *results = k->rig.results;
    bench_check(results, 1, "%u objects, there and back: as they were", k->live);
    for (size_t i = 0; i < results->metric_count; i++)
        if (strcmp(results->metrics[i].name, "copy_us") == 0) {
            const double floor = bench_metric_median(&results->metrics[i]);
            bench_floor(results, "convert_us", floor);
            bench_floor(results, "back_us", floor);
        }
    return bench_rig_verify(&k->rig, 0);
}

/* ---- Begin and end --------------------------------------------------------------------------- */

static int make_objects(converter *k, double density) {
    bench_rig *rig = &k->rig;
    const cl_uint keep = (cl_uint)(density * (double)UINT32_MAX), all = UINT32_MAX;
    double us;
    if (bench_rig_do_new(rig, INIT, "Body", k->objects) ||
        bench_rig_arg(rig, THIN, 0, sizeof k->seed, &k->seed) ||
        bench_rig_arg(rig, THIN, 1, sizeof keep, &keep) || bench_rig_do_all(rig, THIN, &us))
        return -1;
    for (uint32_t number = 0; number < k->objects; number++)
        k->live += bench_hash(number, k->seed) <= keep;
    if (k->live == 0) return bench_error_set(rig->error, "no object is left");
    k->bytes = (uint64_t)k->live * (OBJECT_BYTES + (k->array ? GROWN_WORDS : 0));
    for (uint32_t place = 0; place < k->live && k->array; place++)
        k->bytes += grown_length(place, k->array) * sizeof(cl_uint);
    for (int i = LINK; i <= VERIFY; i++)
        if (bench_rig_arg(rig, (size_t)i, 0, sizeof k->live, &k->live) ||
            bench_rig_arg(rig, (size_t)i, 1, sizeof k->seed, &k->seed) ||
            bench_rig_arg(rig, (size_t)i, 2, sizeof all, &all))
            return -1;
    return bench_rig_do_all(rig, LINK, &us);
}

/* The text, with the array in Body, which is the last class. */
static void add_array(const converter *k, const char *text, char *with) {
    snprintf(with, TEXT_BYTES, "%.*s%s }", (int)strlen(text) - 2, text,
             k->array ? GROWN_FIELD : "");
}

static int parse(converter *k, const char *bare, clump_schema **schema) {
    clump_error error;
    char text[TEXT_BYTES];
    add_array(k, bare, text);
    clump_status status = clump_schema_parse(text, strlen(text), NULL, schema, &error);
    return status ? bench_error_set(k->rig.error, "%s", error.message) : 0;
}

static int begin(void *self, bench_env *env, const bench_values *values, bench_results *results) {
    static const char *const names[KERNEL_COUNT] = {"extract_init", "extract_thin", "extract_link",
                                                    "extract_verify"};
    converter *k = self;
    *k = (converter){.rig.error = &results->error,
                     .objects = (uint32_t)bench_int(values, "objects"),
                     .block_rows = (uint32_t)bench_int(values, "block_rows"),
                     .array = (uint32_t)bench_int(values, "array"),
                     .seed = env->seed};
    char text[TEXT_BYTES];
    add_array(k, own_text, text);
    snprintf(k->options, sizeof k->options, "-DARRAY=%u", k->array);
    uint64_t heap_bytes = (uint64_t)bench_int(values, "heap_mb") << 20;
    if (heap_bytes == 0)
        heap_bytes = (uint64_t)k->objects * (OBJECT_BYTES + 12) * 5 / 4 + (16u << 20);
    if (k->array)
        heap_bytes +=
            (uint64_t)k->objects * (GROWN_WORDS + 4 + GROWN_ROOM + 5 * (uint64_t)k->array) * 5 / 4;
    bench_rig_desc desc = {
        .env = env,
        .results = results,
        .options = k->options,
        .heap = {.text = text, .bytes = heap_bytes, .block_rows = k->block_rows},
        .files = {"bench/harness/hash.clh", "bench/micro/grown.clh", "bench/micro/extract.cl"},
        .kernels = names,
        .kernel_count = KERNEL_COUNT};
    return bench_rig_create(&k->rig, &desc) || parse(k, own_text, &k->own) ||
                   parse(k, other_texts[strcmp(bench_text(values, "to"), "aos") == 0], &k->other) ||
                   make_objects(k, bench_float(values, "density"))
               ? -1
               : 0;
}

static void end(void *self) {
    converter *k = self;
    clump_schema_destroy(k->own);
    clump_schema_destroy(k->other);
    bench_rig_release(&k->rig);
}

static const bench_param params[] = {
    {"objects", BENCH_INT, "1000000", "objects made", 1, 1u << 30, NULL},
    {"density", BENCH_FLOAT, "1", "share of them that is left alive", 0, 1, NULL},
    {"array", BENCH_INT, "0", "mean length of an array that grows; 0: there is none", 0, 4096,
     NULL},
    {"to", BENCH_ENUM, "soa", "layout of the other schema", 0, 0, "soa|aos"},
    BENCH_RIG_HEAP_PARAMS,
    {NULL, BENCH_INT, NULL, NULL, 0, 0, NULL}};

const bench_descriptor bench_convert = {
    .name = "convert",
    .sentence = "A live heap gets another schema and its own again, against a copy of its values",
    .params = params,
    .repeat = 5,
    .bytes = sizeof(converter),
    .warm_up = 1,
    .begin = begin,
    .round = run_round,
    .finish = finish,
    .end = end};
