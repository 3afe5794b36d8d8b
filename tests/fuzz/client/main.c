/* client [SEED [SECONDS [OPERATIONS [THREADS]]]]: rounds of so many operations, one after the
 * other, until the time is over, on so many threads. Round r has the seed SEED + r, so `client
 * SEED+r` begins with it.
 * SEED 0 takes one from the clock. 0 SECONDS: one round for each thread.
 *
 * Exit status 1: a discrepancy, a crash, an operation that takes minutes, or memory that grows;
 * then seed, schema and all operations of the round are printed. 77: there is no device.
 */
#include <pthread.h>
#include <time.h>

#include "client.h"

enum {
    THREADS_MAX = 8,
    WARM_UP = 4,       /* rounds of each thread, the first of which compiles (round.c) */
    GROWTH = 64 << 20, /* bytes that the process may grow by after that */
    /* and with each round: what the OpenCL implementation keeps of programs; NVIDIA's 16 MiB */
    GROWTH_OF_ROUND = 8 << 20,
    GROWTH_OF_ROUND_ON_GPU = 24 << 20
};

static struct {
    uint64_t seed;
    uint32_t operations, threads;
    double begin, end; /* end 0: one round for each thread */
    atomic_ullong rounds;
    pthread_mutex_t lock;                          /* of what follows */
    uint64_t at_first, at_last, warm, warm_rounds; /* memory of the process; most in the warm-up */
    uint64_t built;       /* what it grew by while programs were built in this process, on GPUs */
    uint64_t done, above; /* above: rounds that ended with too much memory, one after the other */
    int result;
    client clients[THREADS_MAX];
    cl_fixture shared;
} all;

/* A line for each round. Memory is looked at between rounds, when other threads are in the middle
 * of theirs: what they compile is gone some rounds later, and a leak is not. */
static void end_of_round(const client *c, int is_on_cpu, uint64_t built, double opened,
                         double closed) {
    uint64_t now = account_of_process();
    pthread_mutex_lock(&all.lock);
    /* NVIDIA's compiler keeps most of what its largest program took, up to 900 MiB. */
    if (!is_on_cpu) all.built += built;
    all.done++;
    if (all.done == 1) all.at_first = now;
    int is_warm_up = all.done <= WARM_UP * all.threads;
    if (is_warm_up) all.warm_rounds = all.done;
    if (is_warm_up && now > all.warm) all.warm = now;
    all.at_last = now;
    uint64_t limit =
        all.warm + GROWTH + all.built +
        (all.done - all.warm_rounds) * (is_on_cpu ? GROWTH_OF_ROUND : GROWTH_OF_ROUND_ON_GPU);
    all.above = now > limit ? all.above + 1 : 0;
    int grows = all.above > (all.threads == 1 ? 0 : 2 * all.threads);
    printf(
        "seed %llu: %d classes, %u fields, %u heaps, checks %02x, built in %.1f s, %u operations "
        "in %.1f s, %llu MiB\n",
        (ull)c->seed, c->class_count, c->field_count, c->heap_count,
        CLUMP_CHECK_ALL & ~c->checked.without, opened, c->step, closed, (ull)(now >> 20));
    fflush(stdout);
    pthread_mutex_unlock(&all.lock);
    if (grows) {
        printf(
            "GROWTH: the process has %llu bytes, and had at most %llu in the warm-up; at most %llu "
            "after %llu rounds\n",
            (ull)now, (ull)all.warm, (ull)limit, (ull)all.done);
        exit(1);
    }
}

static int one_round(client *c, uint64_t seed) {
    double start = seconds();
    const uint64_t before = account_of_process();
    watch_step(c);
    int result = open_round(c, seed, all.operations);
    if (result) return result;
    const int is_on_cpu = c->on.capabilities->is_cpu; /* they go with the round */
    double opened = seconds();
    const uint64_t after = account_of_process();
    while (c->step < all.operations && (all.end == 0 || seconds() < all.end)) {
        watch_step(c);
        operate(c);
        /* Of several threads each would see the compilers of the others, of which NVIDIA's takes
         * 900 MiB. */
        if (all.threads == 1) memory_watch_process(c);
    }
    watch_step(c);
    close_round(c);
    watch_pause(c);
    c->sum.rounds++;
    c->sum.operations += c->step;
    end_of_round(c, is_on_cpu, after > before ? after - before : 0, opened - start,
                 seconds() - opened);
    return 0;
}

static void *run_rounds(void *user) {
    client *c = user;
    int result;
    do {
        result = one_round(c, all.seed + atomic_fetch_add(&all.rounds, 1));
    } while (!result && seconds() < all.end);
    pthread_mutex_lock(&all.lock);
    if (result) all.result = result;
    pthread_mutex_unlock(&all.lock);
    return NULL;
}

static void run_threads(void) {
    pthread_t threads[THREADS_MAX];
    begin_watchdog(all.clients, all.threads);
    if (all.threads == 1) {
        run_rounds(&all.clients[0]);
        return;
    }
    for (uint32_t i = 0; i < all.threads; i++) {
        all.clients[i].shared = all.shared.context;
        assert_int_equal(pthread_create(&threads[i], NULL, run_rounds, &all.clients[i]), 0);
    }
    for (uint32_t i = 0; i < all.threads; i++) pthread_join(threads[i], NULL);
}

static void add_up(totals *sum, const totals *s) {
    const ull *from = &s->rounds;
    ull *to = &sum->rounds;
    for (; from <= &s->compared; from++, to++) *to += *from;
    for (int i = 0; i < OPERATIONS; i++) {
        sum->times[i] += s->times[i];
        sum->took[i] += s->took[i];
    }
    if (s->most.host_bytes > sum->most.host_bytes) sum->most.host_bytes = s->most.host_bytes;
    if (s->most.host_blocks > sum->most.host_blocks) sum->most.host_blocks = s->most.host_blocks;
    if (s->most.device_bytes > sum->most.device_bytes)
        sum->most.device_bytes = s->most.device_bytes;
    for (int k = 0; k < ACCOUNT_KINDS; k++)
        if (s->most.references[k] > sum->most.references[k])
            sum->most.references[k] = s->most.references[k];
}

static void print_sums(void) {
    totals sum = {0};
    for (uint32_t i = 0; i < all.threads; i++) add_up(&sum, &all.clients[i].sum);
    print_operations(&sum);
    memory_print(&sum);
    printf("memory of the process: %llu MiB after the first round, %llu at the end\n",
           (ull)(all.at_first >> 20), (ull)(all.at_last >> 20));
    printf(
        "%llu rounds, %llu operations in %.0f s on %u threads: %llu requests, %llu nulls, %llu "
        "frees, "
        "%llu refused, %llu moves, %llu of raw memory, %llu died, %llu weak nulled, %llu moves in "
        "pools, %llu became others, %llu objects "
        "compared\n",
        sum.rounds, sum.operations, seconds() - all.begin, all.threads, sum.requests, sum.nulls,
        sum.frees, sum.refused, sum.moves, sum.raw_moves, sum.dead, sum.weak_nulled, sum.pool_moves,
        sum.became, sum.compared);
}

int main(int argc, char **argv) {
    setvbuf(stdout, NULL, _IOLBF, 0); /* what a handler of signals printed is not lost */
    double time_given = argc > 2 ? strtod(argv[2], NULL) : 60;
    all.seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
    all.operations = argc > 3 ? (uint32_t)strtoul(argv[3], NULL, 0) : 1500;
    all.threads = argc > 4 ? (uint32_t)strtoul(argv[4], NULL, 0) : 1;
    if (argc > 5 || !all.operations || !(time_given >= 0) || !all.threads ||
        all.threads > THREADS_MAX) {
        fprintf(stderr, "usage: client [SEED [SECONDS [OPERATIONS [THREADS]]]]\n");
        return 2;
    }
    if (!all.seed) all.seed = (uint64_t)time(NULL);
    all.begin = seconds();
    all.end = time_given > 0 ? all.begin + time_given : 0;
    pthread_mutex_init(&all.lock, NULL);
    begin_messages();
    if (all.threads > 1) {
        /* Only its cl_context is used; CLUMP_PERSONALITY may be `random`, which is for rounds. */
        const cl_fixture_desc desc = {.personality = CLUMP_PERSONALITY_CPU};
        int result = cl_fixture_open(&all.shared, &desc);
        if (result) return result;
    }
    run_threads();
    if (all.threads > 1) cl_fixture_close(&all.shared);
    if (all.result) return all.result;
    print_sums();
    return 0;
}
