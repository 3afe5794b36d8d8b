/* Copies by several threads (copier.h): the caller's copies the first part.
 *
 * Invariant: `round` grows with each copy, under the lock; a worker takes its part of a round once,
 * and `left` counts those that have not ended theirs. The other members change only while `left` is
 * 0. Who sleeps has looked at his number under the lock, and who changes the number takes the lock
 * before he signals, so no signal is missed.
 *
 * Read first: copier.h.
 */
#include "copier.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define THREADS_MAX 64u
#define LINE 64u
#define PAGE ((size_t)4096)
#define SPIN_US 200.0
#define PAUSES 32u /* between two looks at the clock, of some microseconds */
#define ALONE 4u   /* so often without giving the core away */

typedef struct worker {
    copier *of;
    uint32_t number;
    pthread_t id;
} worker;

struct copier {
    pthread_mutex_t lock;
    pthread_cond_t begun, ended;
    atomic_uint_least64_t round;
    atomic_uint left;
    atomic_int is_over;
    uint32_t threads;
    int is_store;
    char *to;
    const char *from;
    size_t bytes, part;          /* bytes of a thread, except the last */
    worker workers[THREADS_MAX]; /* 1 .. threads - 1 */
};

/* ---- One thread's part ----------------------------------------------------------------------- */

/* Whole lines past the caches; a line that is written in parts would be read first, so the ends
 * take the plain way. */
static void store(char *to, const char *from, size_t bytes) {
#ifdef __SSE2__
    const size_t head = (LINE - (uintptr_t)to % LINE) % LINE;
    if (head < bytes) {
        memcpy(to, from, head);
        to += head;
        from += head;
        bytes -= head;
        for (; bytes >= LINE; to += LINE, from += LINE, bytes -= LINE)
            for (size_t at = 0; at < LINE; at += sizeof(__m128i))
                _mm_stream_si128((__m128i *)(to + at),
                                 _mm_loadu_si128((const __m128i *)(from + at)));
    }
    memcpy(to, from, bytes);
    _mm_sfence(); /* they are there before `left` says so */
#else
    memcpy(to, from, bytes);
#endif
}

static void copy_part(const copier *c, uint32_t number) {
    const size_t at = c->part * number;
    if (at >= c->bytes) return;
    const size_t bytes = c->bytes - at < c->part ? c->bytes - at : c->part;
    if (c->is_store)
        store(c->to + at, c->from + at, bytes);
    else
        memcpy(c->to + at, c->from + at, bytes);
}

/* ---- Waiting --------------------------------------------------------------------------------- */

typedef struct spin {
    double since;
    uint32_t turns;
} spin;

static double now_us(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3;
}

/* Waits for a moment. 0: it has been long enough. */
static int spin_on(spin *s) {
    const double now = now_us();
    if (s->turns++ == 0) s->since = now;
    if (now - s->since >= SPIN_US) return 0;
#ifdef __SSE2__
    if (s->turns <= ALONE) {
        for (uint32_t i = 0; i < PAUSES; i++) _mm_pause();
        return 1;
    }
#endif
    sched_yield();
    return 1;
}

static int has_begun(copier *c, uint64_t seen) {
    return atomic_load(&c->round) != seen || atomic_load(&c->is_over);
}

static void wait_for_round(copier *c, uint64_t seen) {
    spin s = {0};
    while (!has_begun(c, seen))
        if (!spin_on(&s)) break;
    if (has_begun(c, seen)) return;
    pthread_mutex_lock(&c->lock);
    while (!has_begun(c, seen)) pthread_cond_wait(&c->begun, &c->lock);
    pthread_mutex_unlock(&c->lock);
}

static void wait_for_workers(copier *c) {
    spin s = {0};
    while (atomic_load(&c->left))
        if (!spin_on(&s)) break;
    if (atomic_load(&c->left) == 0) return;
    pthread_mutex_lock(&c->lock);
    while (atomic_load(&c->left)) pthread_cond_wait(&c->ended, &c->lock);
    pthread_mutex_unlock(&c->lock);
}

/* ---- Rounds ---------------------------------------------------------------------------------- */

static void *work(void *argument) {
    const worker *w = argument;
    copier *c = w->of;
    for (uint64_t seen = 0;; seen++) {
        wait_for_round(c, seen);
        if (atomic_load(&c->is_over)) return NULL;
        copy_part(c, w->number);
        if (atomic_fetch_sub(&c->left, 1) > 1) continue;
        pthread_mutex_lock(&c->lock);
        pthread_cond_signal(&c->ended);
        pthread_mutex_unlock(&c->lock);
    }
}

static void run(copier *c, void *to, const void *from, size_t bytes, int is_store) {
    const size_t pages = bytes / PAGE + (bytes % PAGE != 0);
    c->to = to;
    c->from = from;
    c->bytes = bytes;
    c->is_store = is_store;
    c->part = (pages + c->threads - 1) / c->threads * PAGE;
    if (bytes <= c->part) { /* nothing for the others */
        copy_part(c, 0);
        return;
    }
    atomic_store(&c->left, c->threads - 1);
    pthread_mutex_lock(&c->lock);
    atomic_fetch_add(&c->round, 1);
    pthread_cond_broadcast(&c->begun);
    pthread_mutex_unlock(&c->lock);
    copy_part(c, 0);
    wait_for_workers(c);
}

void copier_copy(copier *c, void *to, const void *from, size_t bytes) {
    run(c, to, from, bytes, 0);
}

void copier_store(copier *c, void *to, const void *from, size_t bytes) {
    run(c, to, from, bytes, 1);
}

/* ---- Begin and end --------------------------------------------------------------------------- */

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
    atomic_store(&c->is_over, 1);
    pthread_cond_broadcast(&c->begun);
    pthread_mutex_unlock(&c->lock);
    for (uint32_t i = 1; i < c->threads; i++) pthread_join(c->workers[i].id, NULL);
    pthread_cond_destroy(&c->ended);
    pthread_cond_destroy(&c->begun);
    pthread_mutex_destroy(&c->lock);
    free(c);
}
