/* The benchmark alloc-capacity: the largest problem that fits in a heap (Springer's thesis Fig.
 * 5.9).
 *
 * A problem of size n has n * counts[k] objects of each class k, made by do-news. The largest n
 * that gets all its objects is searched for by bisection; what does not become objects is accounted
 * for, in shares of the bytes asked for, whose sum with `usable` is 1:
 *
 *     usable           bytes of the objects by their declared sizes: what plain arrays would take
 *                      that were made for exactly these objects
 *     lost_metadata    states, bitmaps, hints, lists, and what is left of their last block
 *     lost_layout      rows rounded up to granules, and tails of blocks that no row fits in
 *     lost_open        slots without objects, blocks that are free, and what is left of the buffer
 *
 * The check: that the sum of all tags is that of the objects wanted, the heap's invariants, and
 * that requests which got nothing were reported, each time.
 *
 * Read first: bench.h, population.h.
 */
#include <inttypes.h>

#include "bench/harness/bench.h"
#include "bench/harness/registry.h"
#include "population.h"

typedef struct capacity {
    population p;
    uint32_t counts[POPULATION_KINDS_MAX];
    uint64_t unit_bytes; /* of the objects of a problem of size 1 */
} capacity;

/* 1 if a problem of size n gets its objects, 0 if not; they stay. */
static int try_size(capacity *c, uint64_t n, int *fits) {
    uint64_t missing = 0;
    if (population_clear(&c->p)) return -1;
    for (uint32_t k = 0; k < c->p.kinds; k++) {
        uint64_t made = 0;
        if (population_do_new(&c->p, k, n * c->counts[k], &made)) return -1;
        missing += n * c->counts[k] - made;
    }
    *fits = missing == 0;
    return bench_rig_verify(&c->p.rig, missing);
}

static int search(capacity *c, uint64_t *best) {
    uint64_t low = 0, high = c->p.heap_bytes / c->unit_bytes + 1; /* low fits, high does not */
    while (high - low > 1) {
        uint64_t n = low + (high - low) / 2;
        int fits = 0;
        if (try_size(c, n, &fits)) return -1;
        if (fits) {
            low = n;
        } else {
            high = n;
        }
    }
    *best = low;
    return 0;
}

static int check_sum(capacity *c, uint64_t n) {
    cl_ulong sum = 0;
    uint64_t expected = 0;
    clump_status status =
        clump_heap_reduce(c->p.rig.heap, c->p.rig.kernels[POPULATION_SUM], sizeof sum, &sum, NULL);
    if (status != CLUMP_OK) return bench_rig_fail(&c->p.rig, "the sum", status);
    for (uint32_t k = 0; k < c->p.kinds; k++) {
        uint64_t objects = n * c->counts[k];
        expected += objects * (objects - 1) / 2;
    }
    bench_check(c->p.rig.results, n && sum == expected,
                "a problem of size %" PRIu64 ", whose tags sum up to %" PRIu64 " of %" PRIu64, n,
                (uint64_t)sum, expected);
    return 0;
}

static int account(capacity *c, uint64_t n) {
    bench_results *results = c->p.rig.results;
    const clump_heap_info *layout = &c->p.layout;
    clump_heap_stats all = {.size = sizeof all};
    clump_class_stats kinds[POPULATION_KINDS_MAX] = {{.size = sizeof *kinds}};
    uint64_t open = c->p.heap_bytes - layout->bytes, rounding = 0, objects = 0;
    if (population_stats(&c->p, &all, kinds)) return -1;
    for (uint32_t k = 0; k < c->p.kinds; k++) {
        rounding += kinds[k].bytes - kinds[k].slots * c->p.bytes[k];
        open += (kinds[k].slots - kinds[k].objects) * c->p.bytes[k];
        objects += kinds[k].objects;
    }
    open += (uint64_t)all.free_blocks * layout->granule_bytes * layout->block_granules;
    double asked = (double)c->p.heap_bytes;
    bench_sample(results, "problem_size", "units", (double)n);
    bench_sample(results, "objects", "objects", (double)objects);
    bench_sample(results, "usable", "share", (double)(n * c->unit_bytes) / asked);
    bench_sample(results, "lost_metadata", "share", (double)layout->metadata_bytes / asked);
    bench_sample(results, "lost_layout", "share", (double)rounding / asked);
    bench_sample(results, "lost_open", "share", (double)open / asked);
    uint64_t sum = n * c->unit_bytes + layout->metadata_bytes + rounding + open;
    bench_check(results, sum == c->p.heap_bytes,
                "%" PRIu64 " objects; %" PRIu64 " of %" PRIu64 " bytes are accounted for", objects,
                sum, c->p.heap_bytes);
    return 0;
}

static int read_counts(capacity *c, const bench_values *values) {
    static const population_range range = {1, 1000, 1};
    uint32_t count = 0;
    if (population_parse(values, "counts", &range, c->counts, &count, c->p.rig.error)) return -1;
    if (count != c->p.kinds) {
        return bench_error_set(c->p.rig.error,
                               "counts has %u numbers, sizes %u: one for each class", count,
                               c->p.kinds);
    }
    for (uint32_t k = 0; k < c->p.kinds; k++) {
        c->unit_bytes += (uint64_t)c->counts[k] * c->p.bytes[k];
    }
    return 0;
}

static int begin(void *self, bench_env *env, const bench_values *values, bench_results *results) {
    capacity *c = self;
    return population_create(&c->p, env, values, (clump_alloc_tuning){0}, results) ||
                   read_counts(c, values)
               ? -1
               : 0;
}

static int run_round(void *self, uint32_t number, int is_measured) {
    capacity *c = self;
    uint64_t best = 0;
    int fits = 0;
    (void)number;
    (void)is_measured;
    return search(c, &best) || try_size(c, best, &fits) || check_sum(c, best) || account(c, best)
               ? -1
               : 0;
}

static void end(void *self) {
    population_release(&((capacity *)self)->p);
}

static const bench_param params[] = {
    POPULATION_PARAMS("64"),
    {"counts", BENCH_STRING, "1,1,1,1", "objects of each class in a problem of size 1", 0, 0, NULL},
    {NULL, BENCH_INT, NULL, NULL, 0, 0, NULL}};

const bench_descriptor bench_alloc_capacity = {
    .name = "alloc-capacity",
    .sentence = "The largest problem that fits in a heap, and where the rest of the bytes is",
    .params = params,
    .repeat = 1,
    .bytes = sizeof(capacity),
    .is_single = 1,
    .begin = begin,
    .round = run_round,
    .end = end};
