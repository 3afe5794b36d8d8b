/* The benchmark arrays: objects with an array of run-time length, whose elements a do-all reads and
 * writes, one after the other. It is the synthetic benchmark of M. Springer's thesis (listing 4.27,
 * figure 4.15).
 *
 *     add_us       a do-all that adds a field of the object to each element of its array
 *     rate         elements
 *     plain_us     the same on plain arrays of the device: columns of 64, as many as the longest
 *                  array has elements
 *     of_plain     plain_us by add_us
 *     c_us         the same in one thread of C, arrays one after the other
 *     memory_mb    blocks that the heap uses, objects and arrays together
 *     inside       share of all elements that lie in their objects
 *
 * The check: every element and every length after all rounds, of the heap by a kernel, of the plain
 * arrays against C's.
 *
 * Read first: bench.h, rig.h, array_layout.h, arrays.cl.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "array_layout.h"
#include "bench/harness/bench.h"
#include "bench/harness/hash.clh"
#include "bench/harness/registry.h"
#include "rig.h"

enum { MAKE, ADD, WRONG, PLAIN_ADD, KERNEL_COUNT };

#define OBJECT_BYTES 8u /* without the array */
#define TOGETHER 64u    /* plain arrays whose elements i lie together */

typedef struct adding {
    bench_rig rig;
    bench_array_layout layout;
    cl_uint objects, shortest, longest, rounds;
    cl_mem faults, lengths, data, values;
    uint64_t elements, inside;               /* of all arrays; of these in their objects */
    uint32_t *c_lengths, *c_data, *c_values; /* of the C program, array after array */
    uint32_t *columns;                       /* of the plain arrays */
} adding;

static int set(adding *a, int kernel, uint32_t index, cl_uint value) {
    return bench_rig_arg(&a->rig, (size_t)kernel, index, sizeof value, &value);
}

static uint32_t element_of(uint32_t number, uint32_t i) {
    return bench_hash(number, i + 3u);
}

static size_t column_of(const adding *a, uint32_t number, uint32_t i) {
    return ((size_t)(number / TOGETHER) * a->longest + i) * TOGETHER + number % TOGETHER;
}

static size_t column_words(const adding *a) {
    return ((size_t)a->objects + TOGETHER - 1) / TOGETHER * TOGETHER * a->longest;
}

static void run_c(adding *a, int is_measured) {
    uint32_t *values = a->c_values;
    double begin = bench_now_us();
    for (uint32_t v = 0; v < a->objects; v++)
        for (uint32_t i = 0; i < a->c_lengths[v]; i++) *values++ += a->c_data[v];
    if (is_measured) bench_sample(a->rig.results, "c_us", "us", bench_now_us() - begin);
}

static int run_round(void *self, uint32_t number, int is_measured) {
    adding *a = self;
    bench_results *results = a->rig.results;
    double us, plain_us;
    (void)number;
    if (bench_rig_do_all(&a->rig, ADD, &us) ||
        bench_rig_launch(&a->rig, PLAIN_ADD, a->objects, &plain_us))
        return -1;
    run_c(a, is_measured);
    a->rounds++;
    if (!is_measured) return 0;
    bench_sample(results, "add_us", "us", us);
    bench_sample(results, "rate", "G/s", (double)a->elements / us * 1e-3);
    bench_sample(results, "plain_us", "us", plain_us);
    bench_sample(results, "of_plain", "ratio", plain_us / us);
    return 0;
}

static int check_heap(adding *a) {
    cl_ulong wrong = 0;
    cl_uint faults = 1;
    if (set(a, WRONG, 2, a->rounds) || bench_rig_read(&a->rig, a->faults, sizeof faults, &faults))
        return -1;
    clump_status status =
        clump_heap_reduce(a->rig.heap, a->rig.kernels[WRONG], sizeof wrong, &wrong, NULL);
    if (status) return bench_rig_fail(&a->rig, "the verification", status);
    bench_check(a->rig.results, wrong == 0 && faults == 0,
                "%" PRIu64 " elements or lengths are wrong, %u arrays got no room", (uint64_t)wrong,
                faults);
    return 0;
}

static int check_plain(adding *a) {
    const uint32_t *values = a->c_values;
    uint64_t wrong = 0;
    const size_t words = column_words(a);
    if (bench_rig_read(&a->rig, a->values, words * sizeof *a->columns, a->columns)) return -1;
    for (uint32_t v = 0; v < a->objects; v++)
        for (uint32_t i = 0; i < a->c_lengths[v]; i++, values++)
            wrong += *values != element_of(v, i) + a->rounds * a->c_data[v] ||
                     a->columns[column_of(a, v, i)] != *values;
    bench_check(a->rig.results, wrong == 0,
                "%" PRIu64 " elements of plain arrays or of the C program are wrong", wrong);
    return 0;
}

static int finish(void *self) {
    adding *a = self;
    bench_results *results = a->rig.results;
    clump_heap_stats stats = {.size = sizeof stats};
    if (check_heap(a) || check_plain(a) || bench_rig_stats(&a->rig, &stats)) return -1;
    const clump_heap_info *layout = clump_heap_get_info(a->rig.heap);
    const uint64_t block_bytes = (uint64_t)layout->granule_bytes * layout->block_granules;
    bench_sample(results, "memory_mb", "MiB",
                 (double)(stats.blocks - stats.free_blocks) * (double)block_bytes * 0x1p-20);
    bench_sample(results, "inside", "share", (double)a->inside / (double)a->elements);
    bench_check(results, 1, "%u arrays, %" PRIu64 " elements: as %u rounds leave them", a->objects,
                a->elements, a->rounds);
    return bench_rig_verify(&a->rig, 0);
}

/* ---- Begin and end --------------------------------------------------------------------------- */

static int make_arrays(adding *a) {
    const size_t n = a->objects;
    a->c_lengths = malloc(n * sizeof *a->c_lengths);
    a->c_data = malloc(n * sizeof *a->c_data);
    a->columns = calloc(column_words(a), sizeof *a->columns);
    a->c_values = malloc(n * a->longest * sizeof *a->c_values);
    if (!a->c_lengths || !a->c_data || !a->columns || !a->c_values)
        return bench_error_set(a->rig.error, "no memory for %zu arrays", n);
    for (uint32_t v = 0; v < a->objects; v++) {
        a->c_lengths[v] = a->shortest + bench_hash(v, 1) % (a->longest - a->shortest + 1);
        a->c_data[v] = bench_hash(v, 2) % 101;
        for (uint32_t i = 0; i < a->c_lengths[v]; i++)
            a->c_values[a->elements++] = a->columns[column_of(a, v, i)] = element_of(v, i);
        a->inside += a->c_lengths[v] < a->layout.inside ? a->c_lengths[v] : a->layout.inside;
    }
    return 0;
}

static int make_buffers(adding *a) {
    bench_rig *rig = &a->rig;
    const size_t bytes = a->objects * sizeof(cl_uint);
    return bench_rig_buffer(rig, sizeof(cl_uint), &a->faults) ||
           bench_rig_write(rig, a->faults, sizeof(cl_uint), NULL) ||
           bench_rig_buffer(rig, bytes, &a->lengths) ||
           bench_rig_write(rig, a->lengths, bytes, a->c_lengths) ||
           bench_rig_buffer(rig, bytes, &a->data) ||
           bench_rig_write(rig, a->data, bytes, a->c_data) ||
           bench_rig_buffer(rig, column_words(a) * sizeof(cl_uint), &a->values) ||
           bench_rig_write(rig, a->values, column_words(a) * sizeof(cl_uint), a->columns);
}

static int set_args(adding *a) {
    bench_rig *rig = &a->rig;
    return set(a, MAKE, 0, a->shortest) || set(a, MAKE, 1, a->longest) ||
           bench_rig_arg(rig, MAKE, 2, sizeof a->faults, &a->faults) ||
           set(a, WRONG, 0, a->shortest) || set(a, WRONG, 1, a->longest) ||
           bench_rig_arg(rig, PLAIN_ADD, 0, sizeof a->lengths, &a->lengths) ||
           bench_rig_arg(rig, PLAIN_ADD, 1, sizeof a->data, &a->data) ||
           bench_rig_arg(rig, PLAIN_ADD, 2, sizeof a->values, &a->values) ||
           set(a, PLAIN_ADD, 3, a->longest) || set(a, PLAIN_ADD, 4, a->objects);
}

static int create_rig(adding *a, bench_env *env, const bench_values *values,
                      bench_results *results) {
    static const char *const names[KERNEL_COUNT] = {"arrays_make", "arrays_add", "arrays_wrong",
                                                    "plain_add"};
    char array[64], schema[256];
    uint64_t heap_bytes = (uint64_t)bench_int(values, "heap_mb") << 20;
    if (heap_bytes == 0)
        heap_bytes = bench_array_layout_bytes(&a->layout, a->objects,
                                              (uint64_t)a->objects * a->longest, OBJECT_BYTES, 1);
    bench_array_layout_declare(values, &a->layout, array, sizeof array);
    snprintf(schema, sizeof schema, "%s Dummy { uint number; uint data; uint values%s; }",
             bench_array_layout_class(values), array);
    bench_rig_desc desc = {.env = env,
                           .results = results,
                           .heap = {.text = schema,
                                    .bytes = heap_bytes,
                                    .block_rows = (uint32_t)bench_int(values, "block_rows")},
                           .files = {"bench/harness/hash.clh", "bench/micro/arrays.cl"},
                           .kernels = names,
                           .kernel_count = KERNEL_COUNT};
    return bench_rig_create(&a->rig, &desc);
}

static int begin(void *self, bench_env *env, const bench_values *values, bench_results *results) {
    adding *a = self;
    *a = (adding){.rig.error = &results->error,
                  .objects = bench_u32(values, "objects"),
                  .shortest = bench_u32(values, "shortest"),
                  .longest = bench_u32(values, "longest")};
    if (a->shortest > a->longest)
        return bench_error_set(&results->error, "shortest=%u is more than longest=%u", a->shortest,
                               a->longest);
    if (bench_array_layout_choose(values, a->longest, OBJECT_BYTES, &a->layout, &results->error))
        return -1;
    return create_rig(a, env, values, results) || make_arrays(a) || make_buffers(a) ||
                   set_args(a) || bench_rig_do_new(&a->rig, MAKE, "Dummy", a->objects)
               ? -1
               : 0;
}

static void end(void *self) {
    adding *a = self;
    free(a->c_lengths);
    free(a->c_data);
    free(a->c_values);
    free(a->columns);
    bench_rig_release(&a->rig);
}

static const bench_param params[] = {
    {"objects", BENCH_INT, "262144", "objects, each with one array", 1, 1u << 26, NULL},
    {"shortest", BENCH_INT, "32", "elements of an array, at least", 0, 1u << 16, NULL},
    {"longest", BENCH_INT, "64", "elements of an array, at most", 1, 1u << 16, NULL},
    BENCH_ARRAY_LAYOUT_PARAMS("32"),
    BENCH_RIG_HEAP_PARAMS,
    {NULL, BENCH_INT, NULL, NULL, 0, 0, NULL}};

const bench_descriptor bench_arrays = {
    .name = "arrays",
    .sentence =
        "Elements of arrays of run-time length in each layout, read and written by a do-all",
    .params = params,
    .repeat = 15,
    .bytes = sizeof(adding),
    .warm_up = 1,
    .begin = begin,
    .round = run_round,
    .finish = finish,
    .end = end};
