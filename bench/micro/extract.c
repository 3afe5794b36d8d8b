/* The benchmark extract: objects taken out of a heap and put into another of the same device.
 *
 * Objects of 56 bytes, with four references each, and with `array` also an array that grows. On the
 * host's clock, from call to return:
 *
 *     extract_us   clump_heap_extract() of a share of them, by a field that a kernel has set
 *     insert_us    clump_heap_insert() of these into a heap without objects
 *     free_us      clump_heap_extract() of all objects there, by class, which frees them
 *     copy_us      the bytes of the extract copied to another buffer of the device: the floor of
 *                  all three
 *     extract_of_copy, insert_of_copy   how many times as long
 *
 * The check: a kernel finds in the second heap every value of every object, and every reference to
 * an object that came along; the others are null. Then the second heap is empty.
 *
 * Read first: bench.h, rig.h, extract.cl.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "bench/harness/bench.h"
#include "bench/harness/hash.clh"
#include "bench/harness/registry.h"
#include "clump/extract.h"
#include "grown.clh"
#include "rig.h"

#define OBJECT_BYTES 56u
#define FIELDS "uint taken; uint place; float4 at; float4 speed; ref Body next; ref Body near[3];"

enum { INIT, THIN, LINK, VERIFY, KERNEL_COUNT };

typedef struct mover {
    bench_rig rig;
    bench_heap_desc heap;
    clump_heap *other;
    uint32_t objects, live, taken;
    uint32_t array; /* mean length */
    char options[32];
    uint64_t packed;     /* bytes that an extract of them needs, nearly */
    cl_uint seed, share; /* of 2^32: objects that are taken */
    uint64_t bytes;
    cl_mem room; /* for the extract; NULL: the library makes a buffer */
    cl_mem copy; /* as many bytes; NULL before the first round */
} mover;

/* ---- Rounds ---------------------------------------------------------------------------------- */

static int extract(mover *m, clump_heap *heap, const clump_extract_desc *desc, clump_extract **e,
                   double *us) {
    clump_extract_report report = {.size = sizeof report};
    double begin = bench_now_us();
    clump_status status = clump_heap_extract(heap, desc, e, &report);
    *us = bench_now_us() - begin;
    if (status) return bench_rig_fail(&m->rig, "the extract", status);
    m->bytes = report.bytes;
    bench_check(m->rig.results, report.objects == m->taken && report.dangling == 0,
                "%" PRIu64 " of %u objects are taken, %" PRIu64 " references dangle",
                report.objects, m->taken, report.dangling);
    return 0;
}

static int insert(mover *m, const clump_extract *e, double *us) {
    double begin = bench_now_us();
    clump_status status = clump_heap_insert(m->other, e, NULL);
    *us = bench_now_us() - begin;
    return status ? bench_rig_fail(&m->rig, "the insertion", status) : 0;
}

static int verify(mover *m) {
    cl_ulong bad = 1;
    uint64_t count = 0;
    clump_status status = clump_heap_read_count(m->other, "Body", &count);
    if (!status)
        status = clump_heap_reduce(m->other, m->rig.kernels[VERIFY], sizeof bad, &bad, NULL);
    bench_check(m->rig.results, bad == 0 && count == m->taken,
                "%" PRIu64 " of %u objects came, with %" PRIu64 " wrong values", count, m->taken,
                (uint64_t)bad);
    return status ? bench_rig_fail(&m->rig, "the verification", status) : 0;
}

static int plain_copy(mover *m, const clump_extract *e, double *us) {
    cl_command_queue queue = m->rig.env->queue;
    if (!m->copy && bench_rig_buffer(&m->rig, (size_t)m->bytes, &m->copy)) return -1;
    clFinish(queue);
    double begin = bench_now_us();
    cl_int code = clEnqueueCopyBuffer(queue, clump_extract_get_info(e)->buffer, m->copy, 0, 0,
                                      (size_t)m->bytes, 0, NULL, NULL);
    if (!code) code = clFinish(queue);
    *us = bench_now_us() - begin;
    return code ? bench_error_set(m->rig.error, "cannot copy a buffer: %d", (int)code) : 0;
}

static int run_round(void *self, uint32_t number, int is_measured) {
    static const char *const classes[] = {"Body"};
    mover *m = self;
    const clump_extract_desc some = {.size = sizeof some,
                                     .where_class = "Body",
                                     .where_field = "taken",
                                     .buffer = m->room},
                             all = {.size = sizeof all,
                                    .classes = classes,
                                    .class_count = 1,
                                    .free_objects = 1,
                                    .buffer = m->room};
    bench_results *results = m->rig.results;
    clump_extract *e = NULL, *back = NULL;
    double extract_us, insert_us, free_us, copy_us;
    (void)number;
    int failed = extract(m, m->rig.heap, &some, &e, &extract_us) || insert(m, e, &insert_us) ||
                 verify(m) || plain_copy(m, e, &copy_us) ||
                 extract(m, m->other, &all, &back, &free_us);
    clump_extract_destroy(e);
    clump_extract_destroy(back);
    if (failed) return -1;
    if (!is_measured) return 0;
    bench_sample(results, "extract_us", "us", extract_us);
    bench_sample(results, "insert_us", "us", insert_us);
    bench_sample(results, "free_us", "us", free_us);
    bench_sample(results, "copy_us", "us", copy_us);
    bench_sample(results, "extract_of_copy", "", extract_us / copy_us);
    bench_sample(results, "insert_of_copy", "", insert_us / copy_us);
    bench_sample(results, "extract_bytes", "B", (double)m->bytes);
    return 0;
}

static int finish(void *self) {
    mover *m = self;
    bench_results *results = m->rig.results;
    uint64_t count = 1;
    clump_status status = clump_heap_read_count(m->other, "Body", &count);
    if (!status) status = clump_heap_check(m->other);
    if (status) return bench_rig_fail(&m->rig, "the check of the second heap", status);
    bench_check(results, count == 0, "%" PRIu64 " objects are left in the second heap", count);
    bench_check(results, 1, "%u of %u objects in %" PRIu64 " bytes: as they were", m->taken,
                m->live, m->bytes);
    for (size_t i = 0; i < results->metric_count; i++)
        if (strcmp(results->metrics[i].name, "copy_us") == 0) {
            const double floor = bench_metric_median(&results->metrics[i]);
            bench_floor(results, "extract_us", floor);
            bench_floor(results, "insert_us", floor);
            bench_floor(results, "free_us", floor);
        }
    return bench_rig_verify(&m->rig, 0);
}

/* ---- Begin and end --------------------------------------------------------------------------- */

static int make_objects(mover *m, double density) {
    bench_rig *rig = &m->rig;
    cl_uint keep = (cl_uint)(density * (double)UINT32_MAX);
    double us;
    if (bench_rig_do_new(rig, INIT, "Body", m->objects) ||
        bench_rig_arg(rig, THIN, 0, sizeof m->seed, &m->seed) ||
        bench_rig_arg(rig, THIN, 1, sizeof keep, &keep) || bench_rig_do_all(rig, THIN, &us)) {
        return -1;
    }
    for (uint32_t number = 0; number < m->objects; number++)
        m->live += bench_hash(number, m->seed) <= keep;
    for (uint32_t place = 0; place < m->live; place++)
        if (bench_hash(place, ~m->seed) <= m->share) {
            m->taken++;
            m->packed += OBJECT_BYTES;
            if (m->array)
                m->packed += GROWN_WORDS + grown_length(place, m->array) * sizeof(cl_uint);
        }
    if (m->taken == 0) return bench_error_set(rig->error, "no object is left to be taken");
    for (int k = LINK; k <= VERIFY; k++)
        if (bench_rig_arg(rig, (size_t)k, 0, sizeof m->live, &m->live) ||
            bench_rig_arg(rig, (size_t)k, 1, sizeof m->seed, &m->seed) ||
            bench_rig_arg(rig, (size_t)k, 2, sizeof m->share, &m->share))
            return -1;
    return bench_rig_do_all(rig, LINK, &us);
}

static int begin(void *self, bench_env *env, const bench_values *values, bench_results *results) {
    static const char *const names[KERNEL_COUNT] = {"extract_init", "extract_thin", "extract_link",
                                                    "extract_verify"};
    mover *m = self;
    *m = (mover){.rig.error = &results->error,
                 .objects = (uint32_t)bench_int(values, "objects"),
                 .array = (uint32_t)bench_int(values, "array"),
                 .seed = env->seed,
                 .share = (cl_uint)(bench_float(values, "share") * (double)UINT32_MAX)};
    uint64_t heap_bytes = (uint64_t)bench_int(values, "heap_mb") << 20;
    if (heap_bytes == 0)
        heap_bytes = (uint64_t)m->objects * (OBJECT_BYTES + 8) * 5 / 4 + (16u << 20);
    if (m->array)
        heap_bytes +=
            (uint64_t)m->objects * (GROWN_WORDS + 4 + GROWN_ROOM + 5 * (uint64_t)m->array) * 5 / 4;
    snprintf(m->options, sizeof m->options, "-DARRAY=%u", m->array);
    m->heap = (bench_heap_desc){
        .clump = env->clump,
        .text = m->array ? "class Body { " FIELDS GROWN_FIELD " }" : "class Body { " FIELDS " }",
        .bytes = heap_bytes,
        .block_rows = (uint32_t)bench_int(values, "block_rows")};
    bench_rig_desc desc = {
        .env = env,
        .results = results,
        .heap = m->heap,
        .options = m->options,
        .files = {"bench/harness/hash.clh", "bench/micro/grown.clh", "bench/micro/extract.cl"},
        .kernels = names,
        .kernel_count = KERNEL_COUNT};
    return bench_rig_create(&m->rig, &desc) ||
                   bench_heap_create(&m->heap, &m->other, m->rig.error) ||
                   make_objects(m, bench_float(values, "density")) ||
                   (bench_int(values, "keep") &&
                    bench_rig_buffer(&m->rig, (size_t)m->packed + 4096, &m->room))
               ? -1
               : 0;
}

static void end(void *self) {
    mover *m = self;
    clump_heap_destroy(m->other);
    bench_rig_release(&m->rig);
}

static const bench_param params[] = {
    {"objects", BENCH_INT, "1000000", "objects made", 1, 1u << 30, NULL},
    {"density", BENCH_FLOAT, "1", "share of them that is left alive", 0, 1, NULL},
    {"array", BENCH_INT, "0", "mean length of an array that grows; 0: there is none", 0, 4096,
     NULL},
    {"keep", BENCH_INT, "1", "1: one buffer for all extracts, made before", 0, 1, NULL},
    {"share", BENCH_FLOAT, "1", "share of these that is taken out", 0, 1, NULL},
    BENCH_RIG_HEAP_PARAMS,
    {NULL, BENCH_INT, NULL, NULL, 0, 0, NULL}};

const bench_descriptor bench_extract = {
    .name = "extract",
    .sentence = "Objects taken out of a heap and put into another, against a copy of their bytes",
    .params = params,
    .repeat = 5,
    .bytes = sizeof(mover),
    .warm_up = 1,
    .begin = begin,
    .round = run_round,
    .finish = finish,
    .end = end};
