/* Copies by several threads (copier.h): the caller's copies the first part.
 *
 * Invariant: `round` grows with each copy; a worker takes its part of a round once, and `left` counts those that have not ended theirs.
 *
 * Read first: copier.h.
 */
#include "copier.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define THREADS_MAX 64u

typedef struct worker {
    copier *of;
    uint32_t number;
    pthread_t id;
} worker;

struct copier {
    pthread_mutex_t lock;
    pthread_cond_t begun, ended;
    uint64_t round;
    uint32_t threads, left;
    int is_over;
    char *to;
    const char *from;
    size_t bytes;
    worker workers[THREADS_MAX]; /* 1 .. threads - 1 */
};

/* In whole pages, so that no two write to a line. */
static void copy_part(const copier *c, uint32_t number) {
    const size_t part = (c->bytes / c->threads + 4096) / 4096 * 4096, at = part * number;
    if (at < c->bytes)
        memcpy(c->to + at, c->from + at, c->bytes - at < part ? c->bytes - at : part);
}

static void *work(void *argument) {
    const worker *w = argument;
    copier *c = w->of;
    pthread_mutex_lock(&c->lock);
    for (uint64_t seen = 0;;) {
        while (c->round == seen && !c->is_over) pthread_cond_wait(&c->begun, &c->lock);
        if (c->is_over) break;
        seen = c->round;
        pthread_mutex_unlock(&c->lock);
        copy_part(c, w->number);
        pthread_mutex_lock(&c->lock);
        if (--c->left == 0) pthread_cond_signal(&c->ended);
    }
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

copier *copier_create(uint32_t threads) {
    copier *c = calloc(1, sizeof *c);
    if (!c || threads < 1 || threads > THREADS_MAX) {
        free(c);
        return NULL;
    }
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->begun, NULL);
    pthread_cond_init(&c->ended, NULL);
    for (c->threads = 1; c->threads < threads; c->threads++) {
        worker *w = &c->workers[c->threads];
        *w = (worker){.of = c, .number = c->threads};
        if (pthread_create(&w->id, NULL, work, w)) {
            copier_destroy(c);
            return NULL;
        }
    }
    return c;
}

void copier_destroy(copier *c) {
    if (!c) return;
    pthread_mutex_lock(&c->lock);
    c->is_over = 1;
    pthread_cond_broadcast(&c->begun);
    pthread_mutex_unlock(&c->lock);
    for (uint32_t i = 1; i < c->threads; i++) pthread_join(c->workers[i].id, NULL);
    pthread_cond_destroy(&c->ended);
    pthread_cond_destroy(&c->begun);
    pthread_mutex_destroy(&c->lock);
    free(c);
}

void copier_copy(copier *c, void *to, const void *from, size_t bytes) {
    pthread_mutex_lock(&c->lock);
    c->to = to;
    c->from = from;
    c->bytes = bytes;
    c->left = c->threads - 1;
    c->round++;
    pthread_cond_broadcast(&c->begun);
    pthread_mutex_unlock(&c->lock);
    copy_part(c, 0);
    pthread_mutex_lock(&c->lock);
    while (c->left) pthread_cond_wait(&c->ended, &c->lock);
    pthread_mutex_unlock(&c->lock);
}
