/* The benchmark dispatch: what a call costs that depends on the object's class, with 8 classes.
 *
 * The same work on every object, a function of its class that reads two fields and writes one:
 *
 *     dispatch_us       do-all over the base class, with a call by class (CLUMP_DISPATCH)
 *     by_class_us       a do-all for each class, with direct calls; the kernels' times alone,
 *                       summed up
 *     one_launch_us     one do-all with a loop for each class (CLUMP_FOR_EACH_BY_CLASS)
 *     in_order_us       calls by class through a buffer of references in the heap's order
 *     random_us         the same in random order: neighbouring work-items have objects of different
 *                       classes
 *     random_same_us    random order, and one function for all classes: what the order alone costs
 *     of_one_launch, of_random_same    dispatch_us / one_launch_us, random_us / random_same_us
 *
 * The check: every object, after all rounds.
 *
 * Read first: bench.h, rig.h, dispatch.cl.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/harness/bench.h"
#include "bench/harness/hash.clh"
#include "bench/harness/registry.h"
#include "rig.h"

enum { CLASSES = 8 };
enum { MAKE, DISPATCH, BY_CLASS, ONE_LAUNCH, THROUGH, SAME_THROUGH, WRONG, KERNEL_COUNT };
enum { STEPS_A_ROUND = 5 }; /* of each object by its class */

typedef struct dispatch {
    bench_rig rig;
    uint32_t objects, work, seed, rounds;
    cl_mem in_order, random;
} dispatch;

static int create_rig(dispatch *d, bench_env *env, const bench_values *values,
                      bench_results *results) {
    static const char *const names[KERNEL_COUNT] = {
        "make_bodies",  "step_by_dispatch",  "step_class", "step_in_one_launch",
        "step_through", "step_same_through", "count_wrong"};
    static const char schema[] =
        "abstract class Body { uint number; uint kind; uint x; uint v; uint y; }"
        "class K0 : Body {} class K1 : Body {} class K2 : Body {} class K3 : Body {}"
        "class K4 : Body {} class K5 : Body {} class K6 : Body {} class K7 : Body {}";
    char options[32];
    uint64_t heap_bytes = (uint64_t)bench_int(values, "heap_mb") << 20;
    if (heap_bytes == 0) heap_bytes = (uint64_t)d->objects * 32 + (16u << 20);
    snprintf(options, sizeof options, "-DWORK=%uu", d->work);
    bench_rig_desc desc = {.env = env,
                           .results = results,
                           .heap = {.text = schema,
                                    .bytes = heap_bytes,
                                    .block_rows = (uint32_t)bench_int(values, "block_rows")},
                           .files = {"bench/harness/hash.clh", "bench/micro/dispatch.cl"},
                           .options = options,
                           .kernels = names,
                           .kernel_count = KERNEL_COUNT,
                           .local = 256};
    return bench_rig_create(&d->rig, &desc);
}

static int make_objects(dispatch *d) {
    bench_rig *rig = &d->rig;
    for (cl_uint kind = 0, first = 0; kind < CLASSES; kind++) {
        char name[8];
        cl_uint end = (cl_uint)((uint64_t)d->objects * (kind + 1) / CLASSES);
        snprintf(name, sizeof name, "K%u", kind);
        if (bench_rig_arg(rig, MAKE, 0, sizeof kind, &kind) ||
            bench_rig_arg(rig, MAKE, 1, sizeof first, &first) ||
            bench_rig_do_new(rig, MAKE, name, end - first)) {
            return -1;
        }
        first = end;
    }
    return 0;
}

static void shuffle(uint32_t *refs, uint32_t count, uint32_t seed) {
    for (uint32_t i = count; i > 1; i--) {
        uint32_t j = (uint32_t)((uint64_t)bench_hash(i, seed) * i >> 32), ref = refs[j];
        refs[j] = refs[i - 1];
        refs[i - 1] = ref;
    }
}

static int create_refs(dispatch *d) {
    bench_rig *rig = &d->rig;
    uint64_t count = 0;
    size_t bytes = (size_t)d->objects * sizeof(uint32_t);
    uint32_t *refs = malloc(bytes);
    if (!refs) return bench_error_set(rig->error, "no memory for %u references", d->objects);
    clump_status status = clump_heap_read_refs(rig->heap, "Body", refs, d->objects, &count);
    int result = status ? bench_rig_fail(rig, "the list of references", status)
                        : bench_rig_buffer(rig, bytes, &d->in_order) ||
                              bench_rig_buffer(rig, bytes, &d->random) ||
                              bench_rig_write(rig, d->in_order, bytes, refs);
    shuffle(refs, d->objects, d->seed);
    if (!result) result = bench_rig_write(rig, d->random, bytes, refs);
    free(refs);
    return result ? -1 : 0;
}

/* The kernels alone. */
static int step_by_class(dispatch *d, double *us) {
    bench_rig *rig = &d->rig;
    *us = 0;
    for (cl_uint kind = 0; kind < CLASSES; kind++) {
        double one;
        if (bench_rig_arg(rig, BY_CLASS, 0, sizeof kind, &kind) ||
            bench_rig_do_all(rig, BY_CLASS, &one)) {
            return -1;
        }
        *us += one;
    }
    return 0;
}

static int step_through(dispatch *d, size_t kernel, cl_mem refs, double *us) {
    bench_rig *rig = &d->rig;
    cl_uint count = d->objects;
    return bench_rig_arg(rig, kernel, 0, sizeof refs, &refs) ||
                   bench_rig_arg(rig, kernel, 1, sizeof count, &count) ||
                   bench_rig_launch(rig, kernel, count, us)
               ? -1
               : 0;
}

static int run_round(void *self, uint32_t number, int is_measured) {
    dispatch *d = self;
    (void)number;
    bench_results *results = d->rig.results;
    double dispatch_us, by_class_us, one_us, in_order_us, random_us, same_us;
    if (bench_rig_do_all(&d->rig, DISPATCH, &dispatch_us) || step_by_class(d, &by_class_us) ||
        bench_rig_do_all(&d->rig, ONE_LAUNCH, &one_us) ||
        step_through(d, THROUGH, d->in_order, &in_order_us) ||
        step_through(d, THROUGH, d->random, &random_us) ||
        step_through(d, SAME_THROUGH, d->random, &same_us)) {
        return -1;
    }
    d->rounds++;
    if (!is_measured) return 0;
    bench_sample(results, "dispatch_us", "us", dispatch_us);
    bench_sample(results, "by_class_us", "us", by_class_us);
    bench_sample(results, "one_launch_us", "us", one_us);
    bench_sample(results, "in_order_us", "us", in_order_us);
    bench_sample(results, "random_us", "us", random_us);
    bench_sample(results, "random_same_us", "us", same_us);
    bench_sample(results, "of_one_launch", "ratio", dispatch_us / one_us);
    bench_sample(results, "of_random_same", "ratio", random_us / same_us);
    return 0;
}

static int finish(void *self) {
    dispatch *d = self;
    bench_rig *rig = &d->rig;
    cl_uint steps = d->rounds * STEPS_A_ROUND;
    cl_ulong wrong = 0;
    uint64_t live = 0;
    if (bench_rig_arg(rig, WRONG, 0, sizeof steps, &steps) ||
        bench_rig_arg(rig, WRONG, 1, sizeof d->rounds, &d->rounds)) {
        return -1;
    }
    clump_status status =
        clump_heap_reduce(rig->heap, rig->kernels[WRONG], sizeof wrong, &wrong, NULL);
    if (status == CLUMP_OK) status = clump_heap_read_count(rig->heap, "Body", &live);
    if (status != CLUMP_OK) return bench_rig_fail(rig, "the verification", status);
    bench_check(rig->results, wrong == 0 && live == d->objects,
                "%" PRIu64 " of %" PRIu64 " objects are wrong after %u steps; %u were made",
                (uint64_t)wrong, live, steps, d->objects);
    return bench_rig_verify(rig, 0);
}

static int begin(void *self, bench_env *env, const bench_values *values, bench_results *results) {
    dispatch *d = self;
    *d = (dispatch){.rig.error = &results->error,
                    .objects = (uint32_t)bench_int(values, "objects"),
                    .work = (uint32_t)bench_int(values, "work"),
                    .seed = (uint32_t)bench_int(values, "seed")};
    return create_rig(d, env, values, results) || make_objects(d) || create_refs(d) ? -1 : 0;
}

static void end(void *self) {
    dispatch *d = self;
    bench_rig_release(&d->rig);
}

static const bench_param params[] = {
    {"objects", BENCH_INT, "1000000", "objects of all classes together", CLASSES, 1u << 30, NULL},
    {"work", BENCH_INT, "4", "rounds of arithmetic that a call does", 1, 1u << 16, NULL},
    BENCH_RIG_HEAP_PARAMS,
    {"seed", BENCH_INT, "42", "decides the random order", 0, UINT32_MAX, NULL},
    {NULL, BENCH_INT, NULL, NULL, 0, 0, NULL}};

const bench_descriptor bench_dispatch = {
    .name = "dispatch",
    .sentence =
        "Calls by class among 8 classes against direct calls; in the heap's and in random order",
    .params = params,
    .repeat = 9,
    .bytes = sizeof(dispatch),
    .warm_up = 1,
    .begin = begin,
    .round = run_round,
    .finish = finish,
    .end = end};
