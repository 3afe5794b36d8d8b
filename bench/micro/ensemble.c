/* The benchmark ensemble: many worlds in one heap (docs/guide/ensembles.md) against one world of as
 * many animals. In both, the same animals are visited. In the ensemble, each reads the parameters
 * of its world by a reference, and adds to a field of its world. In the single world, parameters
 * are arguments of the kernel, and sums are reductions.
 *
 *     step_us, one_step_us     births and deaths, and the number of animals of each world
 *     move_us, one_move_us     two sums in each animal, one of them with a parameter
 *     sum_us, one_sum_us       a sum for each world
 *     of_one_step, of_one_move, of_one_sum    the first by the second
 *     sort_us                  animals in the order of their worlds (CLUMP_ORDER_FIELD)
 *
 * Times of steps are from the end of what was enqueued before to the end of the last launch, with
 * the lists of objects. The check: each world has as many animals as it counted.
 *
 * Read first: bench.h, rig.h, ensemble.cl.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "bench/harness/bench.h"
#include "bench/harness/registry.h"
#include "clump/compact.h"
#include "clump/structs.h"
#include "rig.h"

enum { MAKE, LIVE, TICK, LIVE_ONE, MOVE, MOVE_ONE, SUM, SUM_ONE, OFF, WRONG, KERNEL_COUNT };
enum { PER_MILLE = 50, FOOD = 1 }; /* births and deaths of a step */

typedef struct ensemble {
    bench_rig rig;
    uint32_t worlds, animals; /* animals of each world */
} ensemble;

typedef struct plan {
    uint32_t seed, births, deaths, food;
} plan;

static int create_rig(ensemble *e, bench_env *env, const bench_values *values,
                      bench_results *results) {
    static const char *const names[KERNEL_COUNT] = {
        "make_animals", "live",    "tick",    "live_one",  "move_all",
        "move_one",     "sum_all", "sum_one", "count_off", "count_wrong"};
    uint64_t heap_bytes = (uint64_t)bench_int(values, "heap_mb") << 20;
    if (heap_bytes == 0) heap_bytes = (uint64_t)e->worlds * (64u * e->animals + 256u) + (16u << 20);
    bench_rig_desc desc = {
        .env = env,
        .results = results,
        .heap = {.text =
                     "class World { uint seed; uint births; uint deaths; uint food; uint step; "
                     "uint alive; uint counted; uint energy; }"
                     "class Animal { ref World world; ulong id; uint energy; float x; float v; }",
                 .bytes = heap_bytes,
                 .block_rows = (uint32_t)bench_int(values, "block_rows")},
        .files = {"bench/micro/ensemble.cl"},
        .kernels = names,
        .kernel_count = KERNEL_COUNT};
    return bench_rig_create(&e->rig, &desc);
}

static int make_worlds(ensemble *e) {
    static const clump_struct_field fields[] = {{"seed", offsetof(plan, seed)},
                                                {"births", offsetof(plan, births)},
                                                {"deaths", offsetof(plan, deaths)},
                                                {"food", offsetof(plan, food)}};
    static const clump_struct_desc desc = {sizeof desc, "World", sizeof(plan), 4, fields};
    bench_rig *rig = &e->rig;
    plan *plans = calloc(e->worlds, sizeof *plans);
    clump_ref *refs = calloc(e->worlds, sizeof *refs);
    cl_mem buffer;
    int result = plans && refs ? 0 : bench_error_set(rig->error, "no memory for the worlds");
    for (uint32_t i = 0; !result && i < e->worlds; i++)
        plans[i] = (plan){i, PER_MILLE, PER_MILLE, FOOD};
    if (!result) {
        clump_status status =
            clump_heap_new_structs(rig->heap, &desc, plans, e->worlds, refs, NULL);
        if (status) result = bench_rig_fail(rig, "the worlds", status);
    }
    if (!result)
        result = bench_rig_buffer(rig, e->worlds * sizeof *refs, &buffer) ||
                 bench_rig_write(rig, buffer, e->worlds * sizeof *refs, refs) ||
                 bench_rig_arg(rig, MAKE, 0, sizeof buffer, &buffer) ||
                 bench_rig_arg(rig, MAKE, 1, sizeof e->animals, &e->animals) ||
                 bench_rig_do_new(rig, MAKE, "Animal", (uint64_t)e->worlds * e->animals);
    free(plans);
    free(refs);
    return result ? -1 : 0;
}

static int set_arguments(ensemble *e) {
    const cl_uint per_mille = PER_MILLE, food = FOOD, seed = UINT32_MAX;
    bench_rig *rig = &e->rig;
    return bench_rig_arg(rig, LIVE_ONE, 0, sizeof seed, &seed) ||
                   bench_rig_arg(rig, LIVE_ONE, 2, sizeof per_mille, &per_mille) ||
                   bench_rig_arg(rig, LIVE_ONE, 3, sizeof per_mille, &per_mille) ||
                   bench_rig_arg(rig, LIVE_ONE, 4, sizeof food, &food) ||
                   bench_rig_arg(rig, MOVE_ONE, 0, sizeof food, &food)
               ? -1
               : 0;
}

static int sort(ensemble *e, double *us) {
    static const char *const animals[] = {"Animal"};
    const clump_compact_desc desc = {.size = sizeof desc,
                                     .classes = animals,
                                     .class_count = 1,
                                     .order = CLUMP_ORDER_FIELD,
                                     .order_field = "world"};
    clump_compact_report report = {.size = sizeof report};
    clump_status status = clump_heap_compact(e->rig.heap, &desc, &report, NULL);
    *us = report.total_us;
    return status ? bench_rig_fail(&e->rig, "the order", status) : 0;
}

static int run_round(void *self, uint32_t number, int is_measured) {
    ensemble *e = self;
    bench_rig *rig = &e->rig;
    bench_results *r = rig->results;
    double step_us, one_step_us, move_us, one_move_us, sum_us, one_sum_us, sort_us;
    const cl_uint step = number;
    if (sort(e, &sort_us) || bench_rig_arg(rig, LIVE_ONE, 1, sizeof step, &step) ||
        bench_rig_do_alls(rig, &rig->kernels[LIVE_ONE], 1, &one_step_us) ||
        bench_rig_do_alls(rig, &rig->kernels[LIVE], 2, &step_us) ||
        bench_rig_do_alls(rig, &rig->kernels[MOVE_ONE], 1, &one_move_us) ||
        bench_rig_do_alls(rig, &rig->kernels[MOVE], 1, &move_us) ||
        bench_rig_do_alls(rig, &rig->kernels[SUM_ONE], 1, &one_sum_us) ||
        bench_rig_do_alls(rig, &rig->kernels[SUM], 1, &sum_us)) {
        return -1;
    }
    if (!is_measured) return 0;
    bench_sample(r, "step_us", "us", step_us);
    bench_sample(r, "one_step_us", "us", one_step_us);
    bench_sample(r, "move_us", "us", move_us);
    bench_sample(r, "one_move_us", "us", one_move_us);
    bench_sample(r, "sum_us", "us", sum_us);
    bench_sample(r, "one_sum_us", "us", one_sum_us);
    bench_sample(r, "of_one_step", "ratio", step_us / one_step_us);
    bench_sample(r, "of_one_move", "ratio", move_us / one_move_us);
    bench_sample(r, "of_one_sum", "ratio", sum_us / one_sum_us);
    bench_sample(r, "sort_us", "us", sort_us);
    return 0;
}

static int finish(void *self) {
    ensemble *e = self;
    bench_rig *rig = &e->rig;
    cl_uint wrong = 0;
    clump_status status = clump_heap_do_all(rig->heap, rig->kernels[OFF], NULL);
    if (!status)
        status = clump_heap_reduce(rig->heap, rig->kernels[WRONG], sizeof wrong, &wrong, NULL);
    if (status) return bench_rig_fail(rig, "the verification", status);
    bench_check(rig->results, wrong == 0, "%u of %u worlds counted other animals than they have",
                wrong, e->worlds);
    return bench_rig_verify(rig, 0);
}

static int begin(void *self, bench_env *env, const bench_values *values, bench_results *results) {
    ensemble *e = self;
    *e = (ensemble){.rig.error = &results->error,
                    .worlds = (uint32_t)bench_int(values, "worlds"),
                    .animals = (uint32_t)bench_int(values, "animals")};
    return create_rig(e, env, values, results) || make_worlds(e) || set_arguments(e) ? -1 : 0;
}

static void end(void *self) {
    ensemble *e = self;
    bench_rig_release(&e->rig);
}

static const bench_param params[] = {
    {"worlds", BENCH_INT, "1000", "worlds of the ensemble", 1, 1u << 20, NULL},
    {"animals", BENCH_INT, "1000", "animals of each world at the beginning", 1, 1u << 20, NULL},
    BENCH_RIG_HEAP_PARAMS,
    {NULL, BENCH_INT, NULL, NULL, 0, 0, NULL}};

const bench_descriptor bench_ensemble = {
    .name = "ensemble",
    .sentence = "Many small worlds in one heap against one world of as many objects",
    .params = params,
    .repeat = 9,
    .bytes = sizeof(ensemble),
    .warm_up = 1,
    .begin = begin,
    .round = run_round,
    .finish = finish,
    .end = end};
