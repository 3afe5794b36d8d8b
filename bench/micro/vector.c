/* The benchmark vector: the vector of cl/api/vector.clh, to which each work-item appends its
 * number.
 *
 *     append_rate         the first page has room for all
 *     grow_rate           from a first page of `first` elements; again, until all are in;
 *                         grow_launches: how often
 *     read_rate           each work-item reads an element and counts it
 *     array_append_rate, array_read_rate
 *                         an array of run-time length with room for all (arrays.clh)
 *     plain_append_rate, plain_read_rate
 *                         a buffer and an atomic counter, without a heap: the floor, and what an
 *                         engineer writes who knows the length
 *     c_append_rate       one thread of C, an array that doubles
 *
 * The check: each number is found once in each of them, and each has the length that it should
 * have.
 *
 * Read first: bench.h, rig.h, vector.cl, cl/api/vector.clh.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "bench/harness/bench.h"
#include "bench/harness/registry.h"
#include "rig.h"

enum {
    MAKE_TRAILS,
    MAKE_LIST,
    BEGIN,
    EMPTY,
    APPEND,
    APPEND_GROWING,
    APPEND_LIST,
    PLAIN_APPEND,
    READ,
    READ_LIST,
    PLAIN_READ,
    KERNEL_COUNT
};

enum { LAUNCHES_MAX = 200 };

typedef struct appending {
    bench_rig rig;
    cl_uint count, first;
    cl_mem trails, list, faults, missing, is_in, plain, length, seen;
    uint32_t c_faults;
} appending;

static void sample(appending *a, int is_measured, const char *metric, double us) {
    if (is_measured) bench_sample(a->rig.results, metric, "M/s", a->count / us);
}

static int run_one(appending *a, int kernel, const char *metric, int is_measured) {
    double us;
    if (bench_rig_launch(&a->rig, (size_t)kernel, a->count, &us)) return -1;
    sample(a, is_measured, metric, us);
    return 0;
}

static int clear_seen(appending *a) {
    return bench_rig_write(&a->rig, a->seen, a->count * sizeof(cl_uint), NULL);
}

static int read_trail(appending *a, cl_uint which, const char *metric, int is_measured) {
    return bench_rig_arg(&a->rig, READ, 1, sizeof which, &which) || clear_seen(a) ||
           run_one(a, READ, metric, is_measured);
}

/* Again with those that found no page. */
static int grow(appending *a, int is_measured) {
    double sum = 0, us;
    cl_uint missing = 1, launches = 0;
    if (bench_rig_write(&a->rig, a->is_in, a->count, NULL)) return -1;
    for (; missing && launches < LAUNCHES_MAX; launches++) {
        if (bench_rig_write(&a->rig, a->missing, sizeof missing, NULL) ||
            bench_rig_launch(&a->rig, APPEND_GROWING, a->count, &us) ||
            bench_rig_read(&a->rig, a->missing, sizeof missing, &missing))
            return -1;
        sum += us;
    }
    bench_check(a->rig.results, !missing, "%u elements found no room in %u launches", missing,
                launches);
    sample(a, is_measured, "grow_rate", sum);
    if (is_measured) bench_sample(a->rig.results, "grow_launches", "", launches);
    return 0;
}

static int run_plain(appending *a, int is_measured) {
    cl_uint length = 0;
    if (bench_rig_write(&a->rig, a->length, sizeof length, NULL) ||
        run_one(a, PLAIN_APPEND, "plain_append_rate", is_measured) ||
        bench_rig_read(&a->rig, a->length, sizeof length, &length) || clear_seen(a) ||
        run_one(a, PLAIN_READ, "plain_read_rate", is_measured))
        return -1;
    bench_check(a->rig.results, length == a->count, "the counter is %u, not %u", length, a->count);
    return 0;
}

/* Appends as long as there is memory; a loop through all of it shows that each is there. */
static int run_c(appending *a, int is_measured) {
    uint32_t *elements = NULL, room = 0, wrong = 0;
    double begin = bench_now_us();
    for (uint32_t i = 0; i < a->count; i++) {
        if (i == room) {
            room = room ? 2 * room : 16;
            uint32_t *larger = realloc(elements, room * sizeof *elements);
            if (!larger) {
                free(elements);
                return bench_error_set(a->rig.error, "no memory for an array in C");
            }
            elements = larger;
        }
        elements[i] = i;
    }
    sample(a, is_measured, "c_append_rate", bench_now_us() - begin);
    for (uint32_t i = 0; i < a->count; i++) wrong += elements[i] != i;
    a->c_faults += wrong;
    free(elements);
    return 0;
}

static int run_round(void *self, uint32_t number, int is_measured) {
    appending *a = self;
    double us;
    (void)number;
    return bench_rig_launch(&a->rig, EMPTY, 1, &us) ||
                   run_one(a, APPEND, "append_rate", is_measured) ||
                   read_trail(a, 0, "read_rate", is_measured) || grow(a, is_measured) ||
                   read_trail(a, 1, "grown_read_rate", is_measured) ||
                   run_one(a, APPEND_LIST, "array_append_rate", is_measured) || clear_seen(a) ||
                   run_one(a, READ_LIST, "array_read_rate", is_measured) ||
                   run_plain(a, is_measured) || run_c(a, is_measured)
               ? -1
               : 0;
}

static int finish(void *self) {
    appending *a = self;
    cl_uint faults = 1;
    if (bench_rig_read(&a->rig, a->faults, sizeof faults, &faults)) return -1;
    bench_check(a->rig.results, faults == 0 && a->c_faults == 0,
                "%u elements on the device and %u in C are wrong", faults, a->c_faults);
    bench_check(a->rig.results, 1, "%u elements: each found once in each array", a->count);
    return bench_rig_verify(&a->rig, 0);
}

static int set_up(appending *a) {
    bench_rig *rig = &a->rig;
    if (bench_rig_buffer(rig, 2 * sizeof(clump_ref), &a->trails) ||
        bench_rig_buffer(rig, sizeof(clump_ref), &a->list) ||
        bench_rig_buffer(rig, sizeof(cl_uint), &a->faults) ||
        bench_rig_write(rig, a->faults, sizeof(cl_uint), NULL) ||
        bench_rig_buffer(rig, sizeof(cl_uint), &a->missing) ||
        bench_rig_buffer(rig, sizeof(cl_uint), &a->length) ||
        bench_rig_buffer(rig, a->count, &a->is_in) ||
        bench_rig_buffer(rig, a->count * sizeof(cl_uint), &a->plain) ||
        bench_rig_buffer(rig, a->count * sizeof(cl_uint), &a->seen))
        return -1;
    const struct {
        int kernel;
        uint32_t index;
        size_t bytes;
        const void *value;
    } arguments[] = {
        {MAKE_TRAILS, 0, sizeof a->trails, &a->trails},
        {MAKE_LIST, 0, sizeof a->list, &a->list},
        {BEGIN, 0, sizeof a->trails, &a->trails},
        {BEGIN, 1, sizeof a->list, &a->list},
        {BEGIN, 2, sizeof a->count, &a->count},
        {BEGIN, 3, sizeof a->first, &a->first},
        {BEGIN, 4, sizeof a->faults, &a->faults},
        {EMPTY, 0, sizeof a->trails, &a->trails},
        {EMPTY, 1, sizeof a->list, &a->list},
        {EMPTY, 2, sizeof a->count, &a->count},
        {APPEND, 0, sizeof a->trails, &a->trails},
        {APPEND, 1, sizeof a->count, &a->count},
        {APPEND, 2, sizeof a->faults, &a->faults},
        {APPEND_GROWING, 0, sizeof a->trails, &a->trails},
        {APPEND_GROWING, 1, sizeof a->count, &a->count},
        {APPEND_GROWING, 2, sizeof a->is_in, &a->is_in},
        {APPEND_GROWING, 3, sizeof a->missing, &a->missing},
        {APPEND_LIST, 0, sizeof a->list, &a->list},
        {APPEND_LIST, 1, sizeof a->count, &a->count},
        {APPEND_LIST, 2, sizeof a->faults, &a->faults},
        {PLAIN_APPEND, 0, sizeof a->plain, &a->plain},
        {PLAIN_APPEND, 1, sizeof a->count, &a->count},
        {PLAIN_APPEND, 2, sizeof a->length, &a->length},
        {READ, 0, sizeof a->trails, &a->trails},
        {READ, 2, sizeof a->count, &a->count},
        {READ, 3, sizeof a->seen, &a->seen},
        {READ, 4, sizeof a->faults, &a->faults},
        {READ_LIST, 0, sizeof a->list, &a->list},
        {READ_LIST, 1, sizeof a->count, &a->count},
        {READ_LIST, 2, sizeof a->seen, &a->seen},
        {READ_LIST, 3, sizeof a->faults, &a->faults},
        {PLAIN_READ, 0, sizeof a->plain, &a->plain},
        {PLAIN_READ, 1, sizeof a->count, &a->count},
        {PLAIN_READ, 2, sizeof a->seen, &a->seen},
        {PLAIN_READ, 3, sizeof a->faults, &a->faults},
    };
    for (size_t i = 0; i < sizeof arguments / sizeof *arguments; i++)
        if (bench_rig_arg(rig, (size_t)arguments[i].kernel, arguments[i].index, arguments[i].bytes,
                          arguments[i].value))
            return -1;
    double us;
    return bench_rig_do_new(rig, MAKE_TRAILS, "Trail", 2) ||
           bench_rig_do_new(rig, MAKE_LIST, "List", 1) || bench_rig_launch(rig, BEGIN, 1, &us);
}

static int begin(void *self, bench_env *env, const bench_values *values, bench_results *results) {
    static const char *const names[KERNEL_COUNT] = {
        "make_trails", "make_list",    "begin", "empty",     "append",    "append_growing",
        "append_list", "plain_append", "read",  "read_list", "plain_read"};
    appending *a = self;
    *a = (appending){.rig.error = &results->error,
                     .count = (cl_uint)bench_int(values, "elements"),
                     .first = (cl_uint)bench_int(values, "first")};
    uint64_t heap_bytes = (uint64_t)bench_int(values, "heap_mb") << 20;
    /* Pages double, and a few work-items make the same one at the same time. */
    if (heap_bytes == 0) heap_bytes = (uint64_t)a->count * 4 * 28 + (64u << 20);
    bench_rig_desc desc = {
        .env = env,
        .results = results,
        .heap = {.text =
                     "class Trail { uint first; uint filling; uint growing; ref Page pages[28]; }"
                     "class Page { uint items[*]; }"
                     "class List { uint items[*]; }",
                 .bytes = heap_bytes,
                 .block_rows = (uint32_t)bench_int(values, "block_rows")},
        .files = {"bench/micro/vector.cl"},
        .kernels = names,
        .kernel_count = KERNEL_COUNT};
    return bench_rig_create(&a->rig, &desc) || set_up(a) ? -1 : 0;
}

static void end(void *self) {
    appending *a = self;
    bench_rig_release(&a->rig);
}

static const bench_param params[] = {
    {"elements", BENCH_INT, "1048576", "elements that are appended, each by a work-item", 2,
     1u << 26, NULL},
    {"first", BENCH_INT, "65536", "elements of the first page of the vector that grows", 1,
     1u << 26, NULL},
    BENCH_RIG_HEAP_PARAMS,
    {NULL, BENCH_INT, NULL, NULL, 0, 0, NULL}};

const bench_descriptor bench_vector = {
    .name = "vector",
    .sentence = "A vector on the heap: all work-items append at once, with room and while it grows",
    .params = params,
    .repeat = 5,
    .bytes = sizeof(appending),
    .warm_up = 1,
    .begin = begin,
    .round = run_round,
    .finish = finish,
    .end = end};
