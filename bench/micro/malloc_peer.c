/* A population in threaded plain C. See malloc_peer.h.
 *
 * Invariant: between two steps all threads wait for `number` to change, and `working` is 0.
 */
#include "malloc_peer.h"

#include <pthread.h>
#include <stdlib.h>

#include "bench/harness/hash.clh"

#define THREADS_MAX 256u

typedef struct peer_thread {
    malloc_peer *peer;
    pthread_t id;
    uint32_t index;
    malloc_peer_count count;
} peer_thread;

struct malloc_peer {
    uint32_t entries, kinds, threads;
    uint32_t bytes[POPULATION_KINDS_MAX];
    uint32_t **objects;
    uint8_t *kind; /* of an entry's object: a device has it from the object's block */
    pthread_mutex_t lock;
    pthread_cond_t begin, end;
    population_move move;
    uint32_t number, working; /* of the step; threads that are not done with it */
    int is_over;
    peer_thread thread[THREADS_MAX];
};

static void be_born(malloc_peer *peer, uint32_t entry, uint32_t kind, malloc_peer_count *count) {
    uint32_t *object = malloc(peer->bytes[kind]);
    if (!object) {
        count->nulls++;
        return;
    }
    object[0] = entry + 1;
    object[peer->bytes[kind] / 4 - 1] = ~(entry + 1);
    peer->objects[entry] = object;
    peer->kind[entry] = (uint8_t)kind;
    count->made++;
}

/* population_step() of population.cl, for the thread's share of the entries. */
static void step(malloc_peer *peer, uint32_t index, malloc_peer_count *count) {
    population_move move = peer->move;
    uint32_t dies = (uint32_t)(move.die * (double)UINT32_MAX);
    uint64_t from = (uint64_t)peer->entries * index / peer->threads;
    uint64_t until = (uint64_t)peer->entries * (index + 1) / peer->threads;
    if (from < move.first) from = move.first;
    if (until > move.end) until = move.end;
    for (uint32_t entry = (uint32_t)from; entry < until; entry++) {
        uint32_t dice = bench_hash(entry, move.seed);
        if (!peer->objects[entry]) {
            if (move.is_born)
                be_born(peer, entry, bench_hash(dice, move.seed) % peer->kinds, count);
        } else if (dice <= dies && dies) {
            free(peer->objects[entry]);
            peer->objects[entry] = NULL;
            count->freed++;
        }
    }
}

static void *run(void *argument) {
    peer_thread *t = argument;
    malloc_peer *peer = t->peer;
    pthread_mutex_lock(&peer->lock);
    for (uint32_t done = 0;; done++) {
        while (peer->number == done && !peer->is_over) pthread_cond_wait(&peer->begin, &peer->lock);
        if (peer->is_over) break;
        pthread_mutex_unlock(&peer->lock);
        malloc_peer_count count = {0};
        step(peer, t->index, &count);
        pthread_mutex_lock(&peer->lock);
        t->count = count;
        if (!--peer->working) pthread_cond_signal(&peer->end);
    }
    pthread_mutex_unlock(&peer->lock);
    return NULL;
}

malloc_peer *malloc_peer_create(const population *p, uint32_t threads) {
    malloc_peer *peer = calloc(1, sizeof *peer);
    if (!peer) return NULL;
    peer->entries = p->entries;
    peer->kinds = p->kinds;
    for (uint32_t k = 0; k < p->kinds; k++) peer->bytes[k] = p->bytes[k];
    pthread_mutex_init(&peer->lock, NULL);
    pthread_cond_init(&peer->begin, NULL);
    pthread_cond_init(&peer->end, NULL);
    peer->objects = calloc(p->entries, sizeof *peer->objects);
    peer->kind = calloc(p->entries, 1);
    if (threads > THREADS_MAX) threads = THREADS_MAX;
    while (peer->objects && peer->kind && peer->threads < threads) {
        peer_thread *t = &peer->thread[peer->threads];
        *t = (peer_thread){.peer = peer, .index = peer->threads};
        if (pthread_create(&t->id, NULL, run, t)) break;
        peer->threads++;
    }
    if (threads && peer->threads == threads) return peer;
    malloc_peer_destroy(peer);
    return NULL;
}

void malloc_peer_destroy(malloc_peer *peer) {
    if (!peer) return;
    pthread_mutex_lock(&peer->lock);
    peer->is_over = 1;
    pthread_cond_broadcast(&peer->begin);
    pthread_mutex_unlock(&peer->lock);
    for (uint32_t i = 0; i < peer->threads; i++) pthread_join(peer->thread[i].id, NULL);
    pthread_cond_destroy(&peer->end);
    pthread_cond_destroy(&peer->begin);
    pthread_mutex_destroy(&peer->lock);
    for (uint32_t i = 0; peer->objects && i < peer->entries; i++) free(peer->objects[i]);
    free(peer->objects);
    free(peer->kind);
    free(peer);
}

void malloc_peer_step(malloc_peer *peer, const population_move *move, malloc_peer_count *count) {
    *count = (malloc_peer_count){0};
    pthread_mutex_lock(&peer->lock);
    peer->move = *move;
    peer->working = peer->threads;
    double start = bench_now_us();
    peer->number++;
    pthread_cond_broadcast(&peer->begin);
    while (peer->working) pthread_cond_wait(&peer->end, &peer->lock);
    count->us = bench_now_us() - start;
    pthread_mutex_unlock(&peer->lock);
    for (uint32_t i = 0; i < peer->threads; i++) {
        const malloc_peer_count *part = &peer->thread[i].count;
        count->made += part->made;
        count->freed += part->freed;
        count->nulls += part->nulls;
    }
}

void malloc_peer_verify(const malloc_peer *peer, uint64_t *all, uint64_t *wrong) {
    *all = *wrong = 0;
    for (uint32_t entry = 0; entry < peer->entries; entry++) {
        const uint32_t *object = peer->objects[entry];
        if (!object) continue;
        uint32_t last = object[peer->bytes[peer->kind[entry]] / 4 - 1];
        (*all)++;
        *wrong += object[0] != entry + 1 || last != ~(entry + 1);
    }
}
