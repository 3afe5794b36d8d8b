/* The protocol on real threads over C11 atomics, for ThreadSanitizer.
 *
 * Each object carries a payload of plain memory: its owner writes a tag after the allocation,
 * checks it and overwrites it before the free. Two owners of a slot at a time, or a free whose
 * writes come later than the slot's next owner, show as a wrong tag or as a data race.
 *
 * ThreadSanitizer does not know fences, so what the device code orders with them is ordered here by
 * the operation itself: RELEASE of bitmap words is a release read-modify-write (fence and AND in
 * prelude.clh), CLAIM an acquire one. Nothing else orders payloads, so everything else is relaxed:
 * a protocol that needed more would be reported. Weak orders between the protocol's own words are
 * explored by protocol_weak.c; here the fence is a real one, so that those cannot fail.
 *
 * HOSTED_RELEASE_ORDER can be set to __ATOMIC_RELAXED to plant a fault.
 */
#ifndef CLUMP_TESTS_THREADS_TSAN_H
#define CLUMP_TESTS_THREADS_TSAN_H

#define TINY_GRANULES 256u
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "tests/protocol/tiny_heap.h"
/* After what it uses. */
#include "cl/core/lanes.clh"

#ifndef HOSTED_RELEASE_ORDER
#define HOSTED_RELEASE_ORDER __ATOMIC_RELEASE
#endif
#ifndef THREADS_ROUNDS
#define THREADS_ROUNDS 1500u
#endif
#define THREADS_MOST 8u
#define THREADS_OBJECTS 48u

static _Thread_local uint thread_index;

static inline uint hosted_thread(void) {
    return thread_index * 32u; /* each a warp, so that they look in different places */
}

static inline ulong hosted_op(enum hosted_kind kind, void *cell, ulong value, ulong expected,
                              hosted_site site) {
    uint *p = cell, wanted = (uint)expected;
    clumpi_word *w = cell, wanted_word = (clumpi_word)expected;
    (void)site;
    switch (kind) {
    case HOSTED_LOAD:
    case HOSTED_LOAD_CACHED: return __atomic_load_n(p, __ATOMIC_RELAXED);
    case HOSTED_STORE: __atomic_store_n(p, (uint)value, __ATOMIC_RELAXED); return 0;
    case HOSTED_ADD: return __atomic_fetch_add(p, (uint)value, __ATOMIC_RELAXED);
    case HOSTED_SUB: return __atomic_fetch_sub(p, (uint)value, __ATOMIC_RELAXED);
    case HOSTED_OR: return __atomic_fetch_or(p, (uint)value, __ATOMIC_RELAXED);
    case HOSTED_AND: return __atomic_fetch_and(p, (uint)value, __ATOMIC_RELAXED);
    case HOSTED_CAS:
        __atomic_compare_exchange_n(p, &wanted, (uint)value, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
        return wanted;
    case HOSTED_ADD64: return __atomic_fetch_add(w, (clumpi_word)value, __ATOMIC_RELAXED);
    case HOSTED_CAS64:
        __atomic_compare_exchange_n(w, &wanted_word, (clumpi_word)value, 0, __ATOMIC_RELAXED,
                                    __ATOMIC_RELAXED);
        return wanted_word;
    case HOSTED_FENCE:
    case HOSTED_FENCE_ACQ_REL:
#if defined(__x86_64__)
        __asm__ volatile("mfence" ::: "memory");
#elif defined(__aarch64__)
        __asm__ volatile("dmb ish" ::: "memory");
#endif
        return 0;
    case HOSTED_LOAD64:
    case HOSTED_BITS_LOAD: return __atomic_load_n(w, __ATOMIC_RELAXED);
    case HOSTED_BITS_CLAIM: return __atomic_fetch_or(w, (clumpi_word)value, __ATOMIC_ACQUIRE);
    case HOSTED_BITS_RELEASE:
        return __atomic_fetch_and(w, (clumpi_word)~value, HOSTED_RELEASE_ORDER);
    }
    return 0;
}

static tiny_heap heap;
static uint payload[TINY_GRANULES * 64u]; /* by reference */
static atomic_uint failures, made, refused;
static ulong taken_back; /* by all programs */

typedef struct worker {
    pthread_t thread;
    uint index, seed;
    uint refs[THREADS_OBJECTS], count;
} worker;

static uint worker_random(worker *w, uint n) {
    w->seed = w->seed * 1664525u + 1013904223u;
    return clumpi_hash(w->seed) % n;
}

static void worker_new(worker *w) {
    uint class_id = 1 + worker_random(w, heap.class_count);
    uint n = 1 + (worker_random(w, 3) ? 0 : worker_random(w, 8));
    n = min(n, THREADS_OBJECTS - w->count);
    for (uint served = 0; served < n; served++) {
        uint ref = clumpi_new(heap.image, class_id);
        if (!ref) {
            refused++;
            return;
        }
        payload[ref] = ref ^ w->index << 24;
        w->refs[w->count++] = ref;
        made++;
    }
}

static void worker_free(worker *w) {
    uint i = worker_random(w, w->count), ref = w->refs[i];
    if (payload[ref] != (ref ^ w->index << 24)) failures++;
    payload[ref] = ~0u;
    w->refs[i] = w->refs[--w->count];
    clumpi_free_slots(tiny_home(&heap), 1, heap.class_count, ref >> 6, 1ul << (ref & 63u));
}

/* Moods, so that the heap fills and empties. */
static void *worker_run(void *argument) {
    worker *w = argument;
    thread_index = w->index;
    for (uint i = 0; i < THREADS_ROUNDS; i++) {
        uint chance = (i / 128u + w->index) % 3u ? 3 : 6;
        if (w->count < THREADS_OBJECTS && worker_random(w, 8) < chance) worker_new(w);
        if (w->count && worker_random(w, 8) < 4) worker_free(w);
    }
    return NULL;
}

/* The bitmaps must show exactly what the threads hold. */
static int threads_owned(const worker *workers, uint threads) {
    static ulong owned[TINY_GRANULES];
    memset(owned, 0, sizeof owned);
    for (uint i = 0; i < threads; i++)
        for (uint k = 0; k < workers[i].count; k++) {
            uint ref = workers[i].refs[k];
            if (owned[ref >> 6] >> (ref & 63u) & 1) return 0;
            owned[ref >> 6] |= 1ul << (ref & 63u);
        }
    ulong usable = tiny_usable(heap.per_row);
    for (uint g = heap.first_block * heap.block_granules;
         g < (heap.first_block + heap.blocks) * heap.block_granules; g++)
        if ((*tiny_bits(&heap, g) & usable) != owned[g]) return 0;
    return 1;
}

static int threads_run(const tiny_spec *spec, uint threads, uint seed) {
    static worker workers[THREADS_MOST];
    char text[200];
    memset(workers, 0, sizeof workers);
    if (!tiny_make(&heap, spec)) {
        printf("heap %s does not fit\n", spec->name);
        return 0;
    }
    for (uint i = 0; i < threads; i++) {
        workers[i].index = i;
        workers[i].seed = clumpi_hash(seed * 64u + i + 1u);
        if (pthread_create(&workers[i].thread, NULL, worker_run, &workers[i])) abort();
    }
    for (uint i = 0; i < threads; i++) pthread_join(workers[i].thread, NULL);
    const clumpi_error *errors = tiny_view(&heap).header->errors;
    taken_back += (ulong)tiny_took_back(&heap);
    int good = tiny_check(&heap, text, sizeof text);
    if (!good)
        printf("FAULT: %s\n", text);
    else if (failures || errors[CLUMPI_ERROR_DOUBLE_FREE].count ||
             errors[CLUMPI_ERROR_BAD_REFERENCE].count || !threads_owned(workers, threads))
        good = 0, printf("FAULT: objects were lost or shared\n");
    if (!good) printf("heap %s, %u threads, seed %u\n", spec->name, threads, seed);
    return good;
}

static int threads_main(uint repeats) {
    static const tiny_spec specs[] = {
        {.name = "one block",
         .first_block = 1,
         .blocks = 1,
         .block_granules = 1,
         .per_row = 8,
         .class_count = 1,
         .classes = {{1, 1}}},
        {.name = "small blocks",
         .first_block = 20,
         .blocks = 40,
         .block_granules = 2,
         .per_row = 2,
         .class_count = 3,
         .classes = {{1, 2}, {2, 1}, {1, 1}}},
        {.name = "few blocks, two classes",
         .first_block = 31,
         .blocks = 2,
         .block_granules = 4,
         .per_row = 3,
         .class_count = 2,
         .classes = {{1, 4}, {2, 2}}},
        {.name = "whole rows",
         .first_block = 30,
         .blocks = 6,
         .block_granules = 2,
         .per_row = 64,
         .class_count = 2,
         .classes = {{1, 2}, {2, 1}}},
        {.name = "all reserved",
         .first_block = 30,
         .blocks = 6,
         .block_granules = 2,
         .per_row = 64,
         .class_count = 2,
         .classes = {{1, 2}, {2, 1}},
         .stripes = 2,
         .reserved = {{0, 0, 1, 128, 1},
                      {1, 1, 1, 128, 1},
                      {0, 2, 2, 64, 1},
                      {1, 3, 2, 64, 1},
                      {0, 4, 2, 64, 1},
                      {1, 5, 1, 100, 1}},
         .reserved_count = 6},
        {.name = "holes and fresh blocks",
         .first_block = 20,
         .blocks = 40,
         .block_granules = 2,
         .per_row = 2,
         .class_count = 3,
         .classes = {{1, 2}, {2, 1}, {1, 1}},
         .stripes = 2,
         .reserved = {{0, 0, 1, 4, 0},
                      {1, 1, 1, 3, 0},
                      {0, 2, 2, 2, 0},
                      {0, 3, 2, 2, 0},
                      {1, 4, 3, 1, 0},
                      {1, 5, 3, 2, 0},
                      {0, 6, 1, 4, 0},
                      {1, 7, 2, 2, 1},
                      {0, 8, 3, 2, 1}},
         .reserved_count = 9},
        {.name = "one block, reserved for the other class",
         .first_block = 1,
         .blocks = 1,
         .block_granules = 1,
         .per_row = 8,
         .class_count = 2,
         .classes = {{1, 1}, {1, 1}},
         .reserved = {{0, 0, 2, 8, 1}},
         .reserved_count = 1},
    };
    uint programs = 0;
    for (uint seed = 0; seed < repeats; seed++)
        for (uint i = 0; i < sizeof specs / sizeof specs[0]; i++)
            for (uint threads = 4; threads <= THREADS_MOST; threads *= 2) {
                hosted_rotate = seed % 2;
                hosted_retries = seed % 3 ? 1 : 8;
                if (!threads_run(&specs[i], threads, seed)) return 1;
                programs += threads;
            }
    printf("%u programs of %u rounds, %u objects made, %u requests met null, %lu take-backs\n",
           programs, THREADS_ROUNDS, (uint)made, (uint)refused, taken_back);
    return 0;
}

#endif
