/* Threads that create the first pool of a context at the same moment, under ThreadSanitizer: all
 * pools count in one account.
 *
 *   pool_create_tsan [ROUNDS]
 *
 * Read first: include/clump/pool.h.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "clump/all.h"
#include "tests/stress/any_device.h"

#define THREADS 4
#define BYTES (64u << 10)

#define REQUIRE(condition)                                                                         \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition);         \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

static clump_context *clump;
static atomic_int arrived; /* threads that are about to create their pool */
static atomic_long blocks; /* of host memory */

static void *allocate(void *user, size_t bytes) {
    atomic_fetch_add((atomic_long *)user, 1);
    return malloc(bytes);
}

static void *reallocate(void *user, void *memory, size_t bytes) {
    if (!memory) atomic_fetch_add((atomic_long *)user, 1);
    return realloc(memory, bytes);
}

static void release(void *user, void *memory) {
    if (memory) atomic_fetch_sub((atomic_long *)user, 1);
    free(memory);
}

static void *create(void *place) {
    clump_pool_desc desc = {.size = sizeof desc, .context = clump, .chunk_bytes = BYTES};
    atomic_fetch_add(&arrived, 1);
    while (atomic_load(&arrived) % THREADS) {
    }
    REQUIRE(!clump_pool_create(&desc, place, NULL));
    return NULL;
}

static uint64_t context_bytes(clump_pool *pool) {
    clump_pool_stats stats = {.size = sizeof stats};
    REQUIRE(!clump_pool_get_stats(pool, &stats, NULL));
    return stats.context_bytes;
}

/* One context: its account counts each of the pools, and is all that is left of them. */
static void run_once(clump_context_desc on) {
    on.pool_limit_bytes = THREADS * BYTES;
    REQUIRE(!clump_context_create(&on, &clump, NULL));
    long before = atomic_load(&blocks);
    pthread_t threads[THREADS];
    clump_pool *pools[THREADS];
    clump_allocation allocation;
    for (int i = 0; i < THREADS; i++)
        REQUIRE(!pthread_create(&threads[i], NULL, create, &pools[i]));
    for (int i = 0; i < THREADS; i++) REQUIRE(!pthread_join(threads[i], NULL));
    for (int i = 0; i < THREADS; i++) {
        clump_allocation_desc desc = {.size = sizeof desc, .bytes = BYTES};
        REQUIRE(!clump_pool_alloc(pools[i], &desc, &allocation, NULL));
        REQUIRE(context_bytes(pools[i]) == (uint64_t)(i + 1) * BYTES);
    }
    for (int i = 0; i < THREADS; i++) {
        clump_allocation_desc desc = {.size = sizeof desc, .bytes = BYTES};
        REQUIRE(clump_pool_alloc(pools[i], &desc, &allocation, NULL) == CLUMP_ERR_DEVICE_MEMORY);
    }
    for (int i = 1; i < THREADS; i++) clump_pool_destroy(pools[i]);
    REQUIRE(context_bytes(pools[0]) == BYTES);
    clump_pool_destroy(pools[0]);
    REQUIRE(atomic_load(&blocks) == before + 1); /* the account */
    clump_context_destroy(clump);
    REQUIRE(atomic_load(&blocks) == 0);
}

int main(int argc, char **argv) {
    unsigned rounds = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 0) : 50;
    cl_device_id device = find_device();
    if (!device) return 77;
    cl_int code;
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
    if (code) return 1;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations" /* OpenCL 1.2 has no other */
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, &code);
#pragma GCC diagnostic pop
    if (code) return 1;
    clump_context_desc on = {.size = sizeof on,
                             .context = context,
                             .device = device,
                             .queue = queue,
                             .allocator = {allocate, reallocate, release, &blocks}};
    for (unsigned i = 0; i < rounds; i++) run_once(on);
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
    return 0;
}
