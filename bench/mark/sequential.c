/* Marking a graph in plain C: by one thread, and by several that share a list of work.
 *
 * The graph is all there is: no headers, no classes, references as indices, the best case for C.
 * Threads take nodes from a common list in chunks and put what they reach into their own, which
 * goes to the common one when it is full or others are hungry. All are done when the list is empty
 * and nobody works.
 *
 * Read first: graph.h.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "graph.h"

#define CHUNK 1024u

static uint32_t count_live(const mark_graph *g, const uint32_t *live) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < g->own; i++) count += (uint32_t)mark_is_live(live, i);
    return count;
}

uint32_t mark_graph_mark(const mark_graph *g, uint32_t *live) {
    uint32_t *stack = malloc(((size_t)g->nodes + 1) * sizeof *stack), top = 0;
    if (!stack) return UINT32_MAX;
    memset(live, 0, ((size_t)g->nodes + 31) / 32 * sizeof *live);
    for (uint32_t i = 0; i < g->roots; i++) {
        uint32_t node = g->root[i], bit = UINT32_C(1) << node % 32;
        if (live[node / 32] & bit) continue;
        live[node / 32] |= bit;
        stack[top++] = node;
    }
    while (top) {
        uint32_t node = stack[--top];
        for (uint32_t e = g->offset[node]; e < g->offset[node + 1]; e++) {
            uint32_t to = g->target[e], bit = UINT32_C(1) << to % 32;
            if (live[to / 32] & bit) continue;
            live[to / 32] |= bit;
            stack[top++] = to;
        }
    }
    free(stack);
    return count_live(g, live);
}

/* ---- Threads --------------------------------------------------------------------------------- */

typedef struct shared_work {
    const mark_graph *graph;
    _Atomic uint32_t *live;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint32_t *list, count; /* nodes to scan */
    uint32_t working, hungry;
    atomic_uint is_short; /* somebody waits: share early */
} shared_work;

/* Own nodes go to the common list, all but `keep`. */
static void share(shared_work *w, uint32_t *own, uint32_t *count, uint32_t keep) {
    if (*count <= keep) return;
    pthread_mutex_lock(&w->lock);
    memcpy(w->list + w->count, own + keep, (*count - keep) * sizeof *own);
    w->count += *count - keep;
    *count = keep;
    pthread_cond_broadcast(&w->changed);
    pthread_mutex_unlock(&w->lock);
}

/* Take a chunk; 0: all is done. */
static uint32_t take(shared_work *w, uint32_t *own) {
    uint32_t count = 0;
    pthread_mutex_lock(&w->lock);
    w->working--;
    while (!w->count && w->working) {
        atomic_store_explicit(&w->is_short, ++w->hungry, memory_order_relaxed);
        pthread_cond_wait(&w->changed, &w->lock);
        atomic_store_explicit(&w->is_short, --w->hungry, memory_order_relaxed);
    }
    if (w->count) {
        count = w->count < CHUNK ? w->count : CHUNK;
        w->count -= count;
        memcpy(own, w->list + w->count, count * sizeof *own);
        w->working++;
    } else {
        pthread_cond_broadcast(&w->changed);
    }
    pthread_mutex_unlock(&w->lock);
    return count;
}

static int reach(shared_work *w, uint32_t node) {
    uint32_t bit = UINT32_C(1) << node % 32;
    _Atomic uint32_t *word = &w->live[node / 32];
    if (atomic_load_explicit(word, memory_order_relaxed) & bit) return 0;
    return !(atomic_fetch_or_explicit(word, bit, memory_order_relaxed) & bit);
}

static void *mark_thread(void *argument) {
    shared_work *w = argument;
    const mark_graph *g = w->graph;
    uint32_t own[4 * CHUNK], count;
    while ((count = take(w, own)) != 0) {
        while (count) {
            uint32_t node = own[--count];
            for (uint32_t e = g->offset[node]; e < g->offset[node + 1]; e++) {
                if (!reach(w, g->target[e])) continue;
                if (count == 4 * CHUNK) share(w, own, &count, 2 * CHUNK);
                own[count++] = g->target[e];
            }
            if (count > 64 && atomic_load_explicit(&w->is_short, memory_order_relaxed))
                share(w, own, &count, count / 2);
        }
    }
    return NULL;
}

uint32_t mark_graph_mark_threads(const mark_graph *g, uint32_t threads, uint32_t *live) {
    pthread_t ids[64];
    uint32_t started = 0;
    shared_work w = {.graph = g, .live = (_Atomic uint32_t *)live, .working = 0};
    w.list = malloc(((size_t)g->nodes + 1) * sizeof *w.list);
    if (!w.list) return UINT32_MAX;
    memset(live, 0, ((size_t)g->nodes + 31) / 32 * sizeof *live);
    pthread_mutex_init(&w.lock, NULL);
    pthread_cond_init(&w.changed, NULL);
    for (uint32_t i = 0; i < g->roots; i++)
        if (reach(&w, g->root[i])) w.list[w.count++] = g->root[i];
    if (threads > 64) threads = 64;
    w.working = threads;
    for (; started < threads; started++)
        if (pthread_create(&ids[started], NULL, mark_thread, &w)) break;
    if (started < threads) { /* those that did not start do not work */
        pthread_mutex_lock(&w.lock);
        w.working -= threads - started;
        pthread_cond_broadcast(&w.changed);
        pthread_mutex_unlock(&w.lock);
    }
    for (uint32_t i = 0; i < started; i++) pthread_join(ids[i], NULL);
    pthread_cond_destroy(&w.changed);
    pthread_mutex_destroy(&w.lock);
    free(w.list);
    return started ? count_live(g, live) : UINT32_MAX;
}
