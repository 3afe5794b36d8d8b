/* The benchmark alloc-exhaust: how much of the heap is usable before a request gets null, and what
 * a request costs that cannot be served.
 *
 * Work-items ask for objects of classes drawn at random, in small launches, until one gets null
 * (usable_first_null); those that got null ask again until none of them gets anything more
 * (usable). Then all ask at once in an empty heap (usable_at_once). Shares are bytes of objects, by
 * their declared sizes, against the bytes asked for at the heap's creation.
 *
 *     fail_ns         a request of a launch in which all get null
 *     fail_anew_ns    the same after an object was freed and its room taken again, so that what the
 *                     heap knows about being full is out of date
 *     make_rate       objects made, while all ask at once, those that get null left out
 *
 * The check: population_verify(), and that no slot of a class and no block is left when null comes.
 *
 * Read first: bench.h, population.h.
 */
#include <inttypes.h>
#include <math.h>

#include "bench/harness/bench.h"
#include "bench/harness/registry.h"
#include "population.h"

#define LAUNCHES 1024 /* until the first null, about */
#define PASSES_MAX 64

typedef struct exhaust {
    population p;
    uint32_t seed;
    population_count now;
} exhaust;

static double share(const exhaust *e) {
    return (double)e->now.object_bytes / (double)e->p.heap_bytes;
}

/* All empty entries of the range ask. */
static int ask(exhaust *e, uint32_t first, uint32_t end, uint64_t requests, double *us) {
    population_move move = {.first = first, .end = end, .seed = e->seed++, .is_born = 1};
    return population_step(&e->p, &move, us) || population_verify(&e->p, requests, &e->now) ? -1
                                                                                            : 0;
}

/* Ask again until nobody gets anything. */
static int ask_on(exhaust *e) {
    double us;
    for (int pass = 0; pass < PASSES_MAX; pass++) {
        if (ask(e, 0, e->p.entries, e->p.entries - e->now.all, &us)) return -1;
        if (!e->now.made) break;
    }
    /* Null means that there was no room: no block, and no slot of a class that asked. */
    bench_check(e->p.rig.results, e->now.free_blocks == 0, "null, but %u blocks are free",
                e->now.free_blocks);
    for (uint32_t k = 0; k < e->p.kinds; k++) {
        if (e->now.objects[k] != e->now.slots[k]) {
            bench_check(e->p.rig.results, 0,
                        "null, but of %" PRIu64 " slots for %u bytes only %" PRIu64 " are taken",
                        e->now.slots[k], e->p.bytes[k], e->now.objects[k]);
        }
    }
    return 0;
}

static int fill_slowly(exhaust *e) {
    uint32_t chunk = (uint32_t)(population_room(&e->p) / LAUNCHES / 64 * 64);
    if (chunk < 64) chunk = 64;
    population_move move = {0};
    uint64_t nulls = 0;
    double us;
    for (; nulls == 0 && move.end + chunk <= e->p.entries; move.first = move.end) {
        move.end += chunk;
        move.seed = e->seed++;
        move.is_born = 1;
        if (population_step(&e->p, &move, &us) || population_fetch_nulls(&e->p, &nulls)) return -1;
    }
    if (!nulls) return bench_error_set(e->p.rig.error, "the heap does not become full");
    if (population_verify(&e->p, POPULATION_FETCHED, &e->now)) return -1;
    bench_sample(e->p.rig.results, "usable_first_null", "share", share(e));
    return ask_on(e);
}

/* What requests cost that get null, in a full heap. */
static int time_failures(exhaust *e) {
    bench_results *results = e->p.rig.results;
    uint64_t empty = e->p.entries - e->now.all;
    double us;
    if (ask(e, 0, e->p.entries, empty, &us)) return -1;
    bench_sample(results, "fail_ns", "ns", us * 1e3 / (double)empty);
    population_move one = {.end = 1, .seed = e->seed++, .die = 1};
    uint64_t before = e->now.all;
    if (population_step(&e->p, &one, &us) || population_verify(&e->p, 0, &e->now)) return -1;
    bench_check(results, e->now.all + 1 == before, "the first object was not freed");
    empty = e->p.entries - e->now.all;
    if (ask(e, 0, e->p.entries, empty, &us)) return -1;
    bench_sample(results, "fail_anew_ns", "ns", us * 1e3 / (double)empty);
    return ask_on(e);
}

static int fill_at_once(exhaust *e) {
    bench_results *results = e->p.rig.results;
    double us, again_us;
    e->now = (population_count){0};
    if (population_clear(&e->p) || ask(e, 0, e->p.entries, e->p.entries, &us)) return -1;
    uint64_t made = e->now.made;
    bench_sample(results, "usable_at_once", "share", share(e));
    if (ask(e, 0, e->p.entries, e->p.entries - made, &again_us)) return -1;
    bench_sample(results, "make_rate", "G/s", (double)made / fmax(us - again_us, 1e-3) * 1e-3);
    return ask_on(e);
}

static int run_round(void *self, uint32_t number, int is_measured) {
    exhaust *e = self;
    (void)number;
    (void)is_measured;
    e->now = (population_count){0};
    if (population_clear(&e->p) || fill_slowly(e)) return -1;
    bench_sample(e->p.rig.results, "usable", "share", share(e));
    bench_sample(e->p.rig.results, "objects", "objects", (double)e->now.all);
    return time_failures(e) || fill_at_once(e) ? -1 : 0;
}

static int begin(void *self, bench_env *env, const bench_values *values, bench_results *results) {
    exhaust *e = self;
    e->seed = env->seed;
    if (population_create(&e->p, env, values, bench_tuning_of(values), results)) return -1;
    uint64_t room = population_room(&e->p); /* the surplus gets null */
    return population_create_table(&e->p, room + room / 4 + 4096);
}

static int finish(void *self) {
    exhaust *e = self;
    bench_results *results = e->p.rig.results;
    bench_sample(results, "metadata", "share",
                 (double)e->p.layout.metadata_bytes / (double)e->p.heap_bytes);
    bench_check(results, 1, "%" PRIu64 " objects of %u classes, then null, and no room is left",
                e->now.all, e->p.kinds);
    return 0;
}

static void end(void *self) {
    population_release(&((exhaust *)self)->p);
}

static const bench_param params[] = {
    POPULATION_PARAMS("16"), BENCH_TUNING_PARAMS, {NULL, BENCH_INT, NULL, NULL, 0, 0, NULL}};

const bench_descriptor bench_alloc_exhaust = {
    .name = "alloc-exhaust",
    .sentence = "How much of the heap is usable before null, and what a null costs",
    .params = params,
    .repeat = 3,
    .bytes = sizeof(exhaust),
    .begin = begin,
    .round = run_round,
    .finish = finish,
    .end = end};
