/* Several threads, each with its own context, queue and heap. They share none of these, and need no
 * lock. Threads may share a pool (pool.h): the buffers of all threads come from one. */
#include <clump/clump.h>
#include <clump/pool.h>
#include <clump/quick.h>
#include <pthread.h>

enum { THREADS = 4, ITEMS = 1000 };

static const char schema[] = "class Item { ulong value; }";

static const char kernels[] =
    "__kernel void make(CLUMP_HEAP, uint thread) {\n"
    "    CLUMP_FOR_EACH_NEW(Item, self, i) Item_value(self) = (ulong)i * (thread + 1);\n"
    "}\n"
    "__kernel void sum(CLUMP_HEAP_NO_ALLOC) {\n"
    "    ulong sum = 0;\n"
    "    CLUMP_FOR_EACH(Item, self) sum += Item_value(self);\n"
    "    CLUMP_REDUCE(ulong, sum, CLUMP_SUM);\n"
    "}\n";

typedef struct job {
    pthread_t thread;
    uint32_t number;
    clump_pool *pool; /* shared by all threads */
    uint64_t sum;
} job;

static void *work(void *user) {
    job *j = user;
    clump_quick q;
    CLUMP_CHECK(&q, clump_quick_open(&q, &(clump_quick_desc){.schema = schema, .source = kernels}));
    clump_kernel *make = clump_program_get_kernel(q.program, "make");
    clump_kernel *sum = clump_program_get_kernel(q.program, "sum");
    CLUMP_CHECK(&q, clump_heap_do_new(q.heap, clump_kernel_with(make, CLUMP_ARGS(j->number)),
                                      "Item", ITEMS, NULL, NULL));
    CLUMP_CHECK(&q, clump_heap_reduce(q.heap, sum, sizeof j->sum, &j->sum, NULL));
    CLUMP_CHECK(&q, clump_heap_take_errors(q.heap, NULL));

    for (int i = 0; i < 100; i++) { /* a hundred buffers from the shared pool */
        clump_allocation allocation;
        CLUMP_CHECK(j->pool,
                    clump_pool_alloc(j->pool,
                                     &(clump_allocation_desc){.size = sizeof(clump_allocation_desc),
                                                              .bytes = 1000 + (unsigned)i},
                                     &allocation, NULL));
        CLUMP_CHECK(j->pool, clump_pool_free(j->pool, allocation));
    }
    clump_quick_close(&q);
    return NULL;
}

int main(void) {
    clump_quick q; /* without a schema, for the pool only */
    clump_pool *pool;
    job jobs[THREADS];
    int wrong = 0;
    CLUMP_CHECK(&q, clump_quick_open(&q, NULL));
    CLUMP_CHECK(&q, clump_pool_create(
                        &(clump_pool_desc){.size = sizeof(clump_pool_desc), .context = q.context},
                        &pool, &q.error));
    for (uint32_t t = 0; t < THREADS; t++) {
        jobs[t] = (job){.number = t, .pool = pool};
        if (pthread_create(&jobs[t].thread, NULL, work, &jobs[t])) return 1;
    }
    for (uint32_t t = 0; t < THREADS; t++) {
        uint64_t expected = (uint64_t)ITEMS * (ITEMS - 1) / 2 * (t + 1);
        pthread_join(jobs[t].thread, NULL);
        printf("thread %u: sum %d\n", t, (int)jobs[t].sum);
        if (jobs[t].sum != expected) wrong++;
    }
    clump_pool_stats stats = {.size = sizeof stats};
    CLUMP_CHECK(pool, clump_pool_get_stats(pool, &stats, NULL));
    printf("%d buffers came from the pool, %d are left\n", (int)stats.allocated,
           (int)stats.allocations);
    if (stats.allocated != THREADS * 100 || stats.allocations) wrong++;
    clump_pool_destroy(pool);
    clump_quick_close(&q);
    return wrong != 0;
}
