/* A lock that can be left out. Read first: nothing. */
#ifndef CLUMPI_LOCK_H
#define CLUMPI_LOCK_H

#include <pthread.h>

typedef struct clumpi_lock {
    pthread_mutex_t mutex;
    int is_used;
} clumpi_lock;

static inline int clumpi_lock_init(clumpi_lock *lock, int is_used) {
    lock->is_used = is_used;
    return !is_used || pthread_mutex_init(&lock->mutex, NULL) == 0;
}
static inline void clumpi_lock_clear(clumpi_lock *lock) {
    if (lock->is_used) pthread_mutex_destroy(&lock->mutex);
}
static inline void clumpi_lock_take(clumpi_lock *lock) {
    if (lock->is_used) pthread_mutex_lock(&lock->mutex);
}
static inline void clumpi_lock_give(clumpi_lock *lock) {
    if (lock->is_used) pthread_mutex_unlock(&lock->mutex);
}

#endif
