/* The benchmark alloc-mixed: objects of several classes and sizes are made and freed in the same
 * kernel, in a heap that stays as full as it is.
 *
 * A table has an entry for each work-item. In each step every object dies with the probability
 * `turnover`, and every entry that was empty gets an object of a class drawn at random, so that in
 * the long run a share 1 / (1 + turnover) of the entries is taken: the table is made so long that
 * this is the share `fill` of what the heap has room for. Where classes share a heap, room is never
 * quite there for the class that asks: at 99% some requests get null. They are counted, and try
 * again.
 *
 *     step_us      one kernel: all entries looked at, deaths and births
 *     rate         objects made and freed, together
 *     null_share   of the requests
 *     fill         objects against population_room(), after the last step
 *
 * On CPUs as many threads as the device has compute units take the same steps with malloc() and
 * free(), in turn with the device (malloc_peer.h):
 *
 *     malloc_rate      objects made and freed, together
 *     share_of_malloc  rate against it
 *
 * The check, after each step: population_verify(); the threads made and freed as many objects, as
 * long as no request got null. At the end: each of their objects has what its entry wrote.
 *
 * Read first: bench.h, population.h, malloc_peer.h.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "bench/harness/bench.h"
#include "bench/harness/registry.h"
#include "malloc_peer.h"
#include "population.h"

typedef struct mixed {
    population p;
    malloc_peer *peer; /* NULL: the device is no CPU */
    double turnover;
    uint32_t seed;
    population_count now;
    uint64_t nulls; /* since the beginning */
} mixed;

/* The same step by the device and by threads. */
static int move_both(mixed *m, const population_move *move, uint64_t requests, double *us,
                     malloc_peer_count *threads) {
    bench_results *results = m->p.rig.results;
    if (population_step(&m->p, move, us) || population_verify(&m->p, requests, &m->now)) return -1;
    m->nulls += requests - m->now.made;
    if (!m->peer) return 0;
    malloc_peer_step(m->peer, move, threads);
    if (threads->nulls)
        return bench_error_set(m->p.rig.error, "malloc() ran out of memory %" PRIu64 " times",
                               threads->nulls);
    if (!m->nulls && (threads->made != m->now.made || threads->freed != m->now.freed))
        bench_check(results, 0,
                    "the device made %" PRIu64 " objects and freed %" PRIu64 ", threads %" PRIu64
                    " and %" PRIu64,
                    m->now.made, m->now.freed, threads->made, threads->freed);
    return 0;
}

static int run_round(void *self, uint32_t number, int is_measured) {
    mixed *m = self;
    bench_results *results = m->p.rig.results;
    population_move move = {
        .end = m->p.entries, .seed = m->seed + number + 1, .die = m->turnover, .is_born = 1};
    uint64_t requests = m->p.entries - m->now.all;
    double us;
    malloc_peer_count threads;
    if (move_both(m, &move, requests, &us, &threads)) return -1;
    if (!is_measured) return 0;
    double rate = (double)(m->now.made + m->now.freed) / us * 1e-3;
    bench_sample(results, "step_us", "us", us);
    bench_sample(results, "rate", "G/s", rate);
    bench_sample(results, "null_share", "share",
                 requests ? 1.0 - (double)m->now.made / (double)requests : 0);
    bench_sample(results, "fragmentation", "share", m->now.fragmentation);
    if (m->peer) {
        double malloc_rate = (double)(threads.made + threads.freed) / threads.us * 1e-3;
        bench_sample(results, "malloc_rate", "G/s", malloc_rate);
        bench_sample(results, "share_of_malloc", "share", rate / malloc_rate);
    }
    return 0;
}

static int create_peer(mixed *m) {
    const clump_capabilities *device = m->p.rig.env->capabilities;
    if (!device->is_cpu) return 0;
    m->peer = malloc_peer_create(&m->p, device->compute_units);
    const char *preload = getenv("LD_PRELOAD");
    bench_note(m->p.rig.results, "malloc() is that of %s",
               preload && *preload ? preload : "the C library");
    return m->peer ? 0 : bench_error_set(m->p.rig.error, "no memory or threads for malloc()");
}

/* As many objects as there are to be in the long run. */
static int fill(mixed *m, double share) {
    uint64_t wanted = (uint64_t)((double)population_room(&m->p) * share);
    if (population_create_table(&m->p, (uint64_t)((double)wanted * (1 + m->turnover))) ||
        create_peer(m)) {
        return -1;
    }
    population_move move = {.end = (uint32_t)wanted, .seed = m->seed, .is_born = 1};
    double us;
    malloc_peer_count threads;
    return move_both(m, &move, wanted, &us, &threads);
}

static int begin(void *self, bench_env *env, const bench_values *values, bench_results *results) {
    mixed *m = self;
    *m = (mixed){.turnover = bench_float(values, "turnover"), .seed = env->seed};
    return population_create(&m->p, env, values, bench_tuning_of(values), results) ||
                   fill(m, bench_float(values, "fill"))
               ? -1
               : 0;
}

static int finish(void *self) {
    mixed *m = self;
    bench_results *results = m->p.rig.results;
    double room = (double)population_room(&m->p);
    bench_sample(results, "objects", "objects", (double)m->now.all);
    bench_sample(results, "fill", "share", (double)m->now.all / room);
    if (m->peer) {
        uint64_t all, wrong;
        malloc_peer_verify(m->peer, &all, &wrong);
        if (wrong || (!m->nulls && all != m->now.all))
            bench_check(results, 0,
                        "threads have %" PRIu64 " objects, %" PRIu64
                        " of them wrong; the device has %" PRIu64,
                        all, wrong, m->now.all);
    }
    int result = population_clear(&m->p);
    bench_check(results, 1, "%" PRIu64 " objects of %u classes: each is its entry's own",
                m->now.all, m->p.kinds);
    return result;
}

static void end(void *self) {
    mixed *m = self;
    malloc_peer_destroy(m->peer);
    population_release(&m->p);
}

static const bench_param params[] = {
    POPULATION_PARAMS("64"),
    {"fill", BENCH_FLOAT, "0.9", "share of what the heap has room for", 0.001, 1, NULL},
    {"turnover", BENCH_FLOAT, "0.1", "share of the objects that dies in a step", 0.001, 1, NULL},
    {"warm", BENCH_INT, "20", "steps before the measured ones", 0, 1e6, NULL},
    BENCH_TUNING_PARAMS,
    {NULL, BENCH_INT, NULL, NULL, 0, 0, NULL}};

const bench_descriptor bench_alloc_mixed = {
    .name = "alloc-mixed",
    .sentence =
        "Objects of several sizes made and freed in one kernel, the heap as full as it stays",
    .params = params,
    .repeat = 20,
    .bytes = sizeof(mixed),
    .warm_up_key = "warm",
    .begin = begin,
    .round = run_round,
    .finish = finish,
    .end = end};
