/* Lanes that cannot run past each other: 32 and 64 lanes under the schedules of devices without
 * independent forward progress.
 *
 *   lane by lane      each lane runs to its end before the next begins, in both orders (PoCL)
 *   lowest site       of all sites of the source at which lanes stand, the lowest goes first, with
 *                     all lanes that stand there: one side of a branch and loops before what
 *                     follows
 *   highest site      the other side first: lanes in a loop starve as long as others have work
 *   any site          a random site, all its lanes
 *
 * A protocol in which somebody waits for somebody else does not end under one of these. Heaps have
 * as many free slots as lanes (then nobody may get null), fewer, or more.
 */
#define EXEC_THREADS 64u
#define EXEC_REFS 8u
#define TINY_GRANULES 2048u
#include "tests/protocol/executor.h"

enum { LANES_UP, LANES_DOWN, SITE_LOWEST, SITE_HIGHEST, SITE_RANDOM, POLICIES };
static const char *const policy_names[] = {"lanes up", "lanes down", "lowest site", "highest site",
                                           "random site"};
static ulong random_state, runs;

static uint random_below(uint n) {
    random_state += 0x9e3779b97f4a7c15ul;
    return (uint)(exec_mix(random_state) >> 16) % n;
}

static void run_lanes(int down) {
    for (uint i = 0; i < exec.threads; i++) {
        exec_thread *t = &world->threads[down ? exec.threads - 1 - i : i];
        while (!t->routine.done && !exec.failure[0]) exec_step(t, 0);
    }
}

/* The site whose turn it is. Returns 0 if all lanes are done. */
static int choose_site(int policy, uint *site) {
    uint alive = 0;
    for (uint i = 0; i < exec.threads; i++) {
        const exec_thread *t = &world->threads[i];
        if (t->routine.done) continue;
        uint order = t->pending.site.order;
        alive++;
        if (alive == 1 || (policy == SITE_LOWEST && order < *site) ||
            (policy == SITE_HIGHEST && order > *site) ||
            (policy == SITE_RANDOM && random_below(alive) == 0))
            *site = order;
    }
    return alive > 0;
}

static void run_sites(int policy) {
    uint site = 0;
    while (!exec.failure[0] && choose_site(policy, &site)) {
        static uchar stands[EXEC_THREADS];
        for (uint i = 0; i < exec.threads; i++)
            stands[i] =
                !world->threads[i].routine.done && world->threads[i].pending.site.order == site;
        for (uint i = 0; i < exec.threads && !exec.failure[0]; i++)
            if (stands[i]) exec_step(&world->threads[i], 0);
    }
}

static int run(const tiny_spec *spec, const program *const *programs, uint count, uint lanes,
               int policy, int exact) {
    exec.has_frees = 0;
    for (uint i = 0; i < lanes; i++) {
        exec.programs[i] = programs[i % count];
        for (uint k = 0; k < exec.programs[i]->count; k++)
            exec.has_frees |= exec.programs[i]->ops[k].kind != PROGRAM_NEW;
    }
    exec.step_bound = 50000;
    if (!exec_begin(spec, lanes)) exec_fail("the heap does not fit");
    if (policy <= LANES_DOWN)
        run_lanes(policy == LANES_DOWN);
    else
        run_sites(policy);
    if (!exec.failure[0]) exec_check_end();
    for (uint i = 0; exact && i < lanes; i++)
        if (world->threads[i].nulls) exec_fail("lane %u got null", i);
    runs++;
    if (exec.failure[0])
        printf("FAULT: %s (heap %s, %u lanes, %s, rotate %u, retries %u)\n", exec.failure,
               spec->name, lanes, policy_names[policy], hosted_rotate, hosted_retries);
    return !exec.failure[0];
}

/* Reserve all blocks of a heap for a class. Returns 0 if they are too many. */
static int reserve_all(tiny_spec *spec, uint class_id) {
    if (spec->blocks > TINY_RESERVED) return 0;
    spec->stripes = TINY_STRIPES;
    for (uint b = 0; b < spec->blocks; b++) {
        spec->reserved[b].stripe = b % TINY_STRIPES;
        spec->reserved[b].block = b;
        spec->reserved[b].class_id = class_id;
        spec->reserved[b].slots = spec->classes[class_id - 1].rows * spec->per_row;
        spec->reserved[b].empty = spec->per_row == 64;
    }
    spec->reserved_count = spec->blocks;
    return 1;
}

/* All heaps with `slots` free slots for class 1 in blocks of several sizes; nothing reserved,
 * everything for class 1, or everything for class 2. */
static int run_heaps(const program *const *programs, uint count, uint lanes, uint slots,
                     int exact) {
    static const uint per_row[] = {1, 2, 8, 32, 64};
    for (uint i = 0; i < sizeof per_row / sizeof per_row[0]; i++) {
        for (uint rows = 1; rows <= 4; rows *= 2) {
            uint capacity = per_row[i] * rows;
            if (slots % capacity || slots / capacity == 0) continue;
            tiny_spec spec = {.name = "of lanes",
                              .first_block = 30,
                              .block_granules = rows,
                              .blocks = slots / capacity,
                              .per_row = per_row[i],
                              .class_count = 2,
                              .classes = {{1, rows}, {rows, 1}}};
            uint most = hosted_retries == 1 ? 2 : 0; /* of the classes for which all is reserved */
            for (uint reserved = 0; reserved <= most && (!reserved || reserve_all(&spec, reserved));
                 reserved++)
                for (int policy = 0; policy < POLICIES; policy++)
                    for (uint again = policy == SITE_RANDOM ? 3 : 1; again; again--)
                        if (!run(&spec, programs, count, lanes, policy, exact)) return 0;
        }
    }
    return 1;
}

static int run_all(uint lanes) {
    static const program one = {1, {{PROGRAM_NEW, 1, 1}}};
    static const program two = {1, {{PROGRAM_NEW, 1, 2}}};
    static const program cycle = {4,
                                  {{PROGRAM_NEW, 1, 1},
                                   {PROGRAM_FREE_ALL, 0, 0},
                                   {PROGRAM_NEW, 1, 3},
                                   {PROGRAM_FREE_ALL, 0, 0}}};
    static const program other = {2, {{PROGRAM_NEW, 2, 1}, {PROGRAM_FREE_ALL, 0, 0}}};
    const program *const only[] = {&one}, *const pairs[] = {&two},
                         *const mixed[] = {&cycle, &other},
                         *const all[] = {&one, &cycle, &other, &two};
    return run_heaps(only, 1, lanes, lanes, 1) && run_heaps(only, 1, lanes, lanes / 2, 0) &&
           run_heaps(only, 1, lanes, 2 * lanes, 1) && run_heaps(pairs, 1, lanes, 2 * lanes, 1) &&
           run_heaps(pairs, 1, lanes, lanes, 0) && run_heaps(mixed, 2, lanes, lanes, 0) &&
           run_heaps(mixed, 2, lanes, lanes / 4, 0) && run_heaps(all, 4, lanes, lanes / 2, 0) &&
           run_heaps(all, 4, lanes, 4 * lanes, 0);
}

int main(void) {
    if (!routine_supported()) return 77;
    for (hosted_rotate = 0; hosted_rotate < 2; hosted_rotate++)
        for (hosted_retries = 1; hosted_retries <= 8; hosted_retries *= 8)
            for (uint lanes = 32; lanes <= 64; lanes *= 2)
                if (!run_all(lanes)) return 1;
    printf("%lu runs, %lu operations\n", runs, exec.operations);
    return 0;
}
