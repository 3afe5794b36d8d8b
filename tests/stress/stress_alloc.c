/* Allocation under load: stress_alloc [OPERATIONS [SEED [QUEUES]]].
 *
 * Every work-item has a bag of objects in a buffer of the test, and makes and frees objects of five
 * classes (8 to 200 bytes) at random, so that the heap is filled to 50, 90, 99 and 100% and emptied
 * again. All words of an object hold a tag from its making to its freeing, when they are compared
 * and poisoned: two owners of a slot would see each other's words.
 *
 * After each phase: the heap passes its check; kernels reported nothing, but for one OUT_OF_MEMORY
 * for each null that the test got, and nulls only come where the heap is meant to be full; the
 * references in the bags are those that the heap enumerates; the library holds as much memory of
 * host and device, and as many OpenCL objects, as after the first phase. At the end all blocks are
 * free, and nothing is held.
 *
 * Each queue has a thread, a context of the library and a heap of its own, all in one cl_context,
 * and its share of the operations. QUEUES is 4 from 10^9 operations on, else 1.
 *
 * Launches are kept well below a second each. A hundred million operations run as
 * stress_alloc_slow.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "account.h"

static const char schema_text[] =
    "class Tiny { uint w[2]; }"
    "class Small : Tiny { uint v[3]; }" /* freed through its base class */
    "class Medium { uint w[12] packed; }"
    "aos class Large { uint w[25]; }"
    "class Huge { uint w[50]; }";

enum { TINY, SMALL, MEDIUM, LARGE, HUGE_, CLASSES };

/* Class `first` and its subclasses have the kinds first .. last. */
static const struct {
    const char *name;
    uint32_t last;
} classes[CLASSES] = {
    {"Tiny", SMALL}, {"Small", SMALL}, {"Medium", MEDIUM}, {"Large", LARGE}, {"Huge", HUGE_}};

/* An entry of a bag is a reference and its tag; tag % 5 is the class. The tally of a work-item:
 * objects made, freed, nulls, bad words. `mode` 0: make and free; 1: only free, down to the
 * target. */
static const char source[] =
    "#define KINDS 5u\n"
    "#define WORD(tag, i) ((tag) ^ ((i) + 1u) * 0x9e3779b9u)\n"
    "#define POISON 0xdeaddeadu\n"
    "#define FILL(words, n) for (uint i = 0; i < (n); i++) (words) = WORD(tag, i);\n"
    "#define DRAIN(words, n) for (uint i = 0; i < (n); i++) {\\\n"
    "    bad += (words) != WORD(tag, i); (words) = POISON; }\n"
    "uint next(uint *state) {\n"
    "    uint x = *state += 0x6d2b79f5u;\n"
    "    x = (x ^ x >> 16) * 0x85ebca6bu; x = (x ^ x >> 13) * 0xc2b2ae35u;\n"
    "    return x ^ x >> 16;\n"
    "}\n"
    "uint make(CLUMP_HEAP, uint tag) {\n"
    "    switch (tag % KINDS) {\n"
    "    case 0: { Tiny o = Tiny_new(); if (o.id) FILL(Tiny_w(o, i), 2u) return o.id; }\n"
    "    case 1: { Small o = Small_new();\n"
    "        if (o.id) { FILL(Small_w(o, i), 2u) FILL(Small_v(o, i), 3u) } return o.id; }\n"
    "    case 2: { Medium o = Medium_new(); if (o.id) FILL(Medium_w(o, i), 12u) return o.id; }\n"
    "    case 3: { Large o = Large_new(); if (o.id) FILL(Large_w(o, i), 25u) return o.id; }\n"
    "    default: { Huge o = Huge_new(); if (o.id) FILL(Huge_w(o, i), 50u) return o.id; }\n"
    "    }\n"
    "}\n"
    "uint drop(CLUMP_HEAP, uint id, uint tag) {\n"
    "    uint bad = 0;\n"
    "    switch (tag % KINDS) {\n"
    "    case 0: { Tiny o = {id}; DRAIN(Tiny_w(o, i), 2u) Tiny_free(o); break; }\n"
    "    case 1: { Small o = {id}; DRAIN(Small_w(o, i), 2u) DRAIN(Small_v(o, i), 3u)\n"
    "        Tiny_free(Small_as_Tiny(o)); break; }\n"
    "    case 2: { Medium o = {id}; DRAIN(Medium_w(o, i), 12u) Medium_free(o); break; }\n"
    "    case 3: { Large o = {id}; DRAIN(Large_w(o, i), 25u) Large_free(o); break; }\n"
    "    default: { Huge o = {id}; DRAIN(Huge_w(o, i), 50u) Huge_free(o); break; }\n"
    "    }\n"
    "    return bad;\n"
    "}\n"
    "__kernel void churn(CLUMP_HEAP, __global uint2 *bags, __global uint *counts,\n"
    "                    __global uint4 *tallies, uint room, uint target, uint steps, uint mode,\n"
    "                    uint seed) {\n"
    "    uint me = (uint)get_global_id(0), count = counts[me], random = seed + me * 0x9e3779b9u;\n"
    "    random = next(&random);\n"
    "    __global uint2 *bag = bags + (size_t)me * room;\n"
    "    uint4 tally = tallies[me];\n"
    "    for (uint s = 0; s < steps; s++) {\n"
    "        uint dice = next(&random) & 7u, grow = dice < (count < target ? 6u : 2u);\n"
    "        if (mode && count <= target) break;\n"
    "        if ((grow || count == 0) && count < room && !mode) {\n"
    "            uint tag = next(&random), id = make(clump_heap, tag);\n"
    "            if (id) { bag[count++] = (uint2)(id, tag); tally.x++; continue; }\n"
    "            tally.z++;\n"
    "            if (count == 0) continue;\n"
    "        }\n"
    "        uint k = next(&random) % count;\n"
    "        uint2 entry = bag[k];\n"
    "        bag[k] = bag[--count];\n"
    "        tally.w += drop(clump_heap, entry.x, entry.y);\n"
    "        tally.y++;\n"
    "    }\n"
    "    counts[me] = count;\n"
    "    tallies[me] = tally;\n"
    "}\n";

typedef struct phase {
    const char *name;
    uint32_t percent; /* of what fits */
    double nulls;     /* at most this share of the operations may get null */
    double share;     /* of the operations */
} phase;

/* At 90% half-empty blocks of one class can just leave another without any. */
static const phase phases[] = {
    {"50%", 50, 0, 0.3},    {"90%", 90, 0.001, 0.25},  {"99%", 99, 1, 0.2},
    {"100%", 130, 1, 0.05}, {"draining", 20, 0, 0.15}, {"100% again", 130, 1, 0.05},
};

typedef struct tally {
    uint32_t made, freed, nulls, bad;
} tally;

/* Of this thread's queue. */
static _Thread_local struct {
    cl_fixture on;
    account account;
    account_sums held; /* by the library, after the first phase */
    uint32_t queue;
    clump_heap *heap;
    clump_program *program;
    clump_kernel *churn;
    cl_mem bags, counts, tallies;
    uint32_t items, local, room; /* work-items; entries of a bag */
    uint64_t fits;               /* objects of equal shares of all classes that fill the heap */
    uint32_t steps;              /* of a work-item in a launch; adapts to the device */
    uint32_t launches, seed;
    uint64_t nulls; /* of the phase so far */
    tally *host_tallies;
} t;

enum { QUEUES_MAX = 16 };
static struct {
    double operations; /* of each queue */
    uint32_t queues, seed;
    uint64_t done[QUEUES_MAX];
    cl_fixture shared;
} run;

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void set_up(void) {
    int cpu = t.on.capabilities->personality == CLUMP_PERSONALITY_CPU;
    t.items = cpu ? 512 : 16384;
    t.local = cpu ? 8 : 64; /* work-items of a group run one after the other on a CPU */
    t.heap = cl_fixture_heap(&t.on, schema_text, cpu ? 32u << 20 : 64u << 20, 1);
    double blocks_per_object = 0;
    for (int c = 0; c < CLASSES; c++)
        blocks_per_object += 1.0 / CLASSES / cl_fixture_capacity(t.heap, classes[c].name);
    t.fits = (uint64_t)(clump_heap_get_info(t.heap)->block_count / blocks_per_object);
    t.room = (uint32_t)(t.fits / t.items * 3 / 2 + 16);
    t.steps = 64;
    t.program = cl_fixture_program(&t.on, t.heap, source, NULL, NULL);
    t.churn = cl_fixture_kernel(&t.on, t.program, "churn");
    t.bags = cl_fixture_buffer(&t.on, NULL, (size_t)t.items * t.room * 8);
    t.counts = cl_fixture_buffer(&t.on, NULL, t.items * 4);
    t.tallies = cl_fixture_buffer(&t.on, NULL, t.items * sizeof(tally));
    t.host_tallies = calloc(t.items, sizeof(tally));
    SET_ARG(&t.on, t.churn, 0, t.bags);
    SET_ARG(&t.on, t.churn, 1, t.counts);
    SET_ARG(&t.on, t.churn, 2, t.tallies);
    SET_ARG(&t.on, t.churn, 3, t.room);
}

static void tear_down(void) {
    free(t.host_tallies);
    clReleaseMemObject(t.bags);
    clReleaseMemObject(t.counts);
    clReleaseMemObject(t.tallies);
    clump_kernel_destroy(t.churn);
    clump_program_destroy(t.program);
    clump_heap_destroy(t.heap);
}

/* One launch; returns the operations that it did. */
static uint64_t churn(uint32_t target, uint32_t mode) {
    uint32_t seed = test_hash(t.seed + ++t.launches);
    memset(t.host_tallies, 0, t.items * sizeof(tally));
    cl_fixture_write(&t.on, t.tallies, t.host_tallies, t.items * sizeof(tally));
    SET_ARG(&t.on, t.churn, 4, target);
    SET_ARG(&t.on, t.churn, 5, t.steps);
    SET_ARG(&t.on, t.churn, 6, mode);
    SET_ARG(&t.on, t.churn, 7, seed);
    double start = seconds();
    CHECK_OK(&t.on, clump_heap_launch(t.heap, t.churn, t.items, t.local, NULL));
    cl_fixture_read(&t.on, t.tallies, t.host_tallies, t.items * sizeof(tally));
    double took = seconds() - start;
    if (took < 0.05 && t.steps < 1u << 16) t.steps *= 2;
    if (took > 0.25) t.steps = (uint32_t)(t.steps * 0.15 / took);
    if (t.steps < 4) t.steps = 4;
    uint64_t done = 0, bad = 0;
    for (uint32_t i = 0; i < t.items; i++) {
        tally a = t.host_tallies[i];
        done += (uint64_t)a.made + a.freed + a.nulls;
        bad += a.bad;
        t.nulls += a.nulls;
    }
    if (bad)
        fail_msg("%llu words of live objects were overwritten (launch %u)", (unsigned long long)bad,
                 t.launches);
    return done;
}

static int compare(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

/* The objects of the bags whose kind is first .. last, sorted. */
static uint64_t list_bags(const uint32_t *bags, const uint32_t *counts, uint32_t first,
                          uint32_t last, uint32_t *refs) {
    uint64_t count = 0;
    for (uint32_t i = 0; i < t.items; i++) {
        assert_true(counts[i] <= t.room);
        for (uint32_t k = 0; k < counts[i]; k++) {
            const uint32_t *entry = &bags[2 * ((size_t)i * t.room + k)];
            if (entry[1] % CLASSES >= first && entry[1] % CLASSES <= last) refs[count++] = entry[0];
        }
    }
    qsort(refs, count, sizeof *refs, compare);
    return count;
}

/* What the bags hold is what the heap has. */
static uint64_t compare_with_bags(void) {
    size_t entries = (size_t)t.items * t.room;
    uint32_t *bags = malloc(entries * 8), *counts = malloc(t.items * 4);
    uint32_t *ours = malloc(entries * 4 + 4), *theirs = malloc(entries * 4 + 4);
    uint64_t all = 0;
    cl_fixture_read(&t.on, t.bags, bags, entries * 8);
    cl_fixture_read(&t.on, t.counts, counts, t.items * 4);
    for (uint32_t c = 0; c < CLASSES; c++) {
        uint64_t found, expected = list_bags(bags, counts, c, classes[c].last, ours);
        CHECK_OK(&t.on, clump_heap_read_refs(t.heap, classes[c].name, theirs, entries, &found));
        if (found != expected)
            fail_msg("the bags hold %llu objects of class %s, the heap %llu",
                     (unsigned long long)expected, classes[c].name, (unsigned long long)found);
        qsort(theirs, found, sizeof *theirs, compare);
        for (uint64_t i = 0; i < found; i++) {
            if (ours[i] != theirs[i])
                fail_msg("class %s: the bags hold 0x%08x, the heap 0x%08x", classes[c].name,
                         ours[i], theirs[i]);
            if (i && ours[i] == ours[i - 1]) fail_msg("0x%08x was given out twice", ours[i]);
        }
        if (c != SMALL) all += found;
    }
    free(bags);
    free(counts);
    free(ours);
    free(theirs);
    return all;
}

/* What kernels reported is one OUT_OF_MEMORY for each null. */
static void check_reports(const char *name, double nulls_max) {
    clump_device_report report = {.size = sizeof report};
    clump_status status = clump_heap_take_errors(t.heap, &report);
    for (int e = 0; e < CLUMP_DEVICE_ERROR_COUNT; e++) {
        uint64_t expected = e == CLUMP_DEVICE_OUT_OF_MEMORY ? (uint32_t)t.nulls : 0;
        if (report.errors[e].count != expected)
            fail_msg("phase %s: error %d was reported %u times, expected %llu: %s", name, e,
                     report.errors[e].count, (unsigned long long)expected,
                     clump_context_get_error(t.on.clump)->message);
    }
    CHECK_STATUS(&t.on, status, t.nulls ? CLUMP_ERR_DEVICE : CLUMP_OK);
    if ((double)t.nulls > nulls_max)
        fail_msg("phase %s: %llu nulls", name, (unsigned long long)t.nulls);
}

/* Nothing that a phase does makes the library keep more than the phase before. */
static void compare_held(const char *name) {
    account_sums now = account_read(&t.account);
    if (!t.held.host_bytes) t.held = now;
    if (now.host_bytes != t.held.host_bytes || now.device_bytes != t.held.device_bytes ||
        memcmp(now.references, t.held.references, sizeof now.references) != 0)
        fail_msg(
            "phase %s: the library holds %llu bytes of host memory and %llu of the device, or "
            "other "
            "OpenCL objects; after the first phase it held %llu and %llu",
            name, (unsigned long long)now.host_bytes, (unsigned long long)now.device_bytes,
            (unsigned long long)t.held.host_bytes, (unsigned long long)t.held.device_bytes);
}

static void run_phase(const phase *p, double operations) {
    uint32_t target = (uint32_t)(t.fits * p->percent / 100 / t.items);
    uint64_t done = 0, wanted = (uint64_t)(operations * p->share);
    double start = seconds();
    t.nulls = 0;
    int full = p->nulls == 1;
    if (!full)
        for (uint64_t n = 1; n > 0; done += n) n = churn(target, 1);
    if (full && t.steps > 32) t.steps = 32; /* an operation takes longer in a full heap */
    /* On to the first nulls, however few operations were asked for. */
    while (done < wanted || (p->percent > 100 && !t.nulls && done < 100 * t.fits))
        done += churn(target, 0);
    double took = seconds() - start;
    check_reports(p->name, p->nulls * (double)done);
    CHECK_OK(&t.on, clump_heap_check(t.heap));
    uint64_t objects = compare_with_bags();
    clump_heap_stats stats = {.size = sizeof stats};
    CHECK_OK(&t.on, clump_heap_read_stats(t.heap, &stats, NULL, 0));
    assert_int_equal(stats.objects, objects);
    compare_held(p->name);
    run.done[t.queue] += done;
    printf(
        "%u %-11s %11llu operations, %6.2f M/s, %8llu objects, %5.1f%% full, %5u of %u blocks "
        "free, "
        "F %.3f, %llu nulls\n",
        t.queue, p->name, (unsigned long long)done, (double)done / took * 1e-6,
        (unsigned long long)objects, 100.0 * (double)objects / (double)t.fits, stats.free_blocks,
        stats.blocks, stats.fragmentation, (unsigned long long)t.nulls);
    if (p->percent > 100 && t.nulls == 0)
        fail_msg("phase %s was to fill the heap and did not", p->name);
}

static void finish(void) {
    clump_heap_stats stats = {.size = sizeof stats};
    t.nulls = 0;
    while (churn(0, 1) > 0) continue;
    check_reports("end", 0);
    CHECK_OK(&t.on, clump_heap_check(t.heap));
    assert_int_equal(compare_with_bags(), 0);
    CHECK_OK(&t.on, clump_heap_read_stats(t.heap, &stats, NULL, 0));
    assert_int_equal(stats.objects, 0);
    assert_int_equal(stats.free_blocks, stats.blocks);
}

/* All phases on one queue. */
static void *run_queue(void *number) {
    t.queue = *(const uint32_t *)number;
    t.seed = run.seed + t.queue;
    account_open(&t.account);
    account_use(&t.account);
    const cl_fixture_desc desc = {
        .cl = &account_cl, .allocator = account_allocator(&t.account), .share = run.shared.context};
    assert_int_equal(cl_fixture_open(&t.on, &desc), 0);
    set_up();
    if (!t.queue)
        printf(
            "queues: %u, each with %u work-items and a heap for %llu objects of equal shares; seed "
            "%u\n",
            run.queues, t.items, (unsigned long long)t.fits, t.seed);
    for (size_t i = 0; i < sizeof phases / sizeof *phases; i++)
        run_phase(&phases[i], run.operations);
    finish();
    tear_down();
    cl_fixture_close(&t.on);
    const account_sums left = account_read(&t.account), none = {0};
    assert_memory_equal(&left, &none, sizeof none);
    account_close(&t.account);
    return NULL;
}

static void run_queues(void) {
    pthread_t threads[QUEUES_MAX];
    uint32_t numbers[QUEUES_MAX];
    for (uint32_t i = 0; i < run.queues; i++) {
        numbers[i] = i;
        assert_int_equal(pthread_create(&threads[i], NULL, run_queue, &numbers[i]), 0);
    }
    for (uint32_t i = 0; i < run.queues; i++) pthread_join(threads[i], NULL);
}

int main(int argc, char **argv) {
    double operations = argc > 1 ? strtod(argv[1], NULL) : 5e6, start = seconds();
    run.seed = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 0) : 1;
    run.queues = argc > 3 ? (uint32_t)strtoul(argv[3], NULL, 0) : operations >= 1e9 ? 4 : 1;
    if (!(operations >= 1) || !run.queues || run.queues > QUEUES_MAX) {
        fprintf(stderr, "usage: stress_alloc [OPERATIONS [SEED [QUEUES]]]\n");
        return 2;
    }
    run.operations = operations / run.queues;
    int result = cl_fixture_open(&run.shared, NULL);
    if (result) return result;
    printf("%s / %s\n", run.shared.capabilities->platform_name,
           run.shared.capabilities->device_name);
    run_queues();
    uint64_t done = 0;
    for (uint32_t i = 0; i < run.queues; i++) done += run.done[i];
    printf(
        "all freed, all blocks free: %llu operations in %.0f s, %.2f M/s; the process has %llu "
        "MiB\n",
        (unsigned long long)done, seconds() - start, (double)done / (seconds() - start) * 1e-6,
        (unsigned long long)(account_of_process() >> 20));
    cl_fixture_close(&run.shared);
    return 0;
}
