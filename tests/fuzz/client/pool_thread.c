/* Another thread on the pool of a round: it allocates, writes, reads back, frees and makes steps of
 * defragmentation, while the round's own thread runs its heaps. What it reads or writes is
 * pinned. */
#include <pthread.h>
#include <time.h>

#include "client.h"

enum { THINGS = 8, WORDS = 8000, PAUSE_NS = 500000 };

typedef struct thing {
    clump_allocation allocation; /* 0: none */
    uint32_t words, salt;
} thing;

struct pool_thread {
    client *c;
    pthread_t thread;
    pthread_mutex_t lock; /* held while it works */
    atomic_int stop;
    cl_command_queue queue;
    uint64_t random;
    thing things[THINGS];
};

static uint32_t draw(pool_thread *t, uint32_t n) {
    return test_random(&t->random, n);
}

static void transfer(pool_thread *t, const thing *x, uint32_t *words, int writes) {
    clump_allocation_info info = {.size = sizeof info};
    client *c = t->c;
    POOL_OK(c, clump_pool_pin(c->pool, x->allocation, 1));
    POOL_OK(c, clump_pool_get_info(c->pool, x->allocation, &info));
    if (writes)
        CHECK_CL(clEnqueueWriteBuffer(t->queue, info.region.buffer, CL_TRUE, info.region.offset,
                                      x->words * 4ull, words, 0, NULL, NULL));
    else
        CHECK_CL(clEnqueueReadBuffer(t->queue, info.region.buffer, CL_TRUE, info.region.offset,
                                     x->words * 4ull, words, 0, NULL, NULL));
    CHECK_CL(clFinish(t->queue));
    POOL_OK(c, clump_pool_pin(c->pool, x->allocation, -1));
}

/* The round's thread may have set a limit. */
static void make(pool_thread *t, thing *x) {
    client *c = t->c;
    static _Thread_local uint32_t words[WORDS];
    x->words = 1 + draw(t, WORDS);
    x->salt = draw(t, UINT32_MAX);
    const clump_allocation_desc desc = {.size = sizeof desc, .bytes = x->words * 4ull};
    clump_status status = clump_pool_alloc(c->pool, &desc, &x->allocation, NULL);
    if (status == CLUMP_ERR_DEVICE_MEMORY) return;
    POOL_OK(c, status);
    for (uint32_t i = 0; i < x->words; i++) words[i] = test_hash(x->salt + i);
    transfer(t, x, words, 1);
    POOL_OK(c, clump_pool_change(
                   c->pool, x->allocation, CLUMP_PART_MOVABLE,
                   &(clump_allocation_desc){.size = sizeof(clump_allocation_desc), .movable = 1}));
}

static void compare(pool_thread *t, const thing *x) {
    static _Thread_local uint32_t words[WORDS];
    transfer(t, x, words, 0);
    for (uint32_t i = 0; i < x->words; i++)
        if (words[i] != test_hash(x->salt + i))
            complain(t->c, "word %u of another thread's region of %u words is %08x, expected %08x",
                     i, x->words, words[i], test_hash(x->salt + i));
}

static void drop(pool_thread *t, thing *x) {
    compare(t, x);
    client *c = t->c;
    POOL_OK(c, clump_pool_free(c->pool, x->allocation));
    x->allocation = 0;
}

static void work(pool_thread *t) {
    client *c = t->c;
    thing *x = &t->things[draw(t, THINGS)];
    if (draw(t, 4) == 0) {
        const clump_defrag_desc desc = {
            .size = sizeof desc, .max_moves = 1 + draw(t, 3), .wait = draw(t, 2) == 0};
        step(c, &desc, NULL, NULL);
    } else if (!x->allocation) {
        make(t, x);
    } else if (draw(t, 2)) {
        compare(t, x);
    } else {
        drop(t, x);
    }
}

static void *run(void *user) {
    pool_thread *t = user;
    account_use(t->c->account);
    begin_work(t->c);
    while (!atomic_load(&t->stop)) {
        pthread_mutex_lock(&t->lock);
        work(t);
        pthread_mutex_unlock(&t->lock);
        nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
    }
    for (int i = 0; i < THINGS; i++)
        if (t->things[i].allocation) drop(t, &t->things[i]);
    begin_work(NULL);
    return NULL;
}

void begin_pool_thread(client *c) {
    cl_int code = CL_SUCCESS;
    pool_thread *t = c->beside = must_alloc(sizeof *t);
    t->c = c;
    t->random = draw_salt(c);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations" /* OpenCL 1.2 has no other */
    t->queue = clCreateCommandQueue(c->on.context, c->on.device, 0, &code);
#pragma GCC diagnostic pop
    CHECK_CL(code);
    assert_int_equal(pthread_mutex_init(&t->lock, NULL), 0);
    assert_int_equal(pthread_create(&t->thread, NULL, run, t), 0);
}

uint64_t end_pool_thread(client *c) {
    pool_thread *t = c->beside;
    uint64_t left = 0;
    if (!t) return 0;
    atomic_store(&t->stop, 1);
    pthread_join(t->thread, NULL);
    for (int i = 0; i < THINGS; i++) left += t->things[i].allocation != 0;
    pthread_mutex_destroy(&t->lock);
    clReleaseCommandQueue(t->queue);
    free(t);
    c->beside = NULL;
    return left;
}

void pause_pool_thread(client *c) {
    if (c->beside) pthread_mutex_lock(&c->beside->lock);
}

void resume_pool_thread(client *c) {
    if (c->beside) pthread_mutex_unlock(&c->beside->lock);
}
