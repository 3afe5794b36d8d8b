/* Operations that do not end: a thread that looks at the clock, since one that hangs in a driver
 * sees no signal. */
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include "client.h"

static struct {
    client *clients;
    uint32_t count;
} watched;

static void look(client *c) {
    unsigned long long deadline = atomic_load(&c->deadline);
    if (!deadline || seconds() < (double)deadline) return;
    printf("an operation does not end: %d s are over\n", PATIENCE);
    print_round(c);
    _exit(1);
}

static _Noreturn void *watch(void *unused) {
    (void)unused;
    for (;;) {
        nanosleep(&(struct timespec){.tv_sec = 1}, NULL);
        for (uint32_t i = 0; i < watched.count; i++) look(&watched.clients[i]);
    }
}

void begin_watchdog(client *clients, uint32_t count) {
    pthread_t thread;
    watched.clients = clients;
    watched.count = count;
    assert_int_equal(pthread_create(&thread, NULL, watch, NULL), 0);
    pthread_detach(thread);
}

void watch_step(client *c) {
    atomic_store(&c->deadline, (unsigned long long)seconds() + PATIENCE + 1);
}

void watch_pause(client *c) {
    atomic_store(&c->deadline, 0);
}
