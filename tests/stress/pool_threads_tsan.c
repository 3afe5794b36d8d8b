/* One pool used by several threads at once, under ThreadSanitizer: three allocate, write, read
 * back and free; one defragments; one looks. Who reads or writes contents pins the allocation
 * meanwhile.
 *
 *   pool_threads_tsan [ROUNDS]
 *
 * Read first: include/clump/pool.h.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clump/all.h"
#include "tests/stress/any_device.h"
#include "tests/stress/shared_pool.h"

#define WORKERS 3
#define LIVE 24u
#define WORDS_MAX 4000u

static cl_command_queue queue;
static atomic_int stop;
static unsigned rounds = 400;

typedef struct thing {
    clump_allocation allocation;
    uint32_t words, tag;
} thing;

static void transfer(const thing *t, uint32_t *data, int writes) {
    clump_allocation_info info = {.size = sizeof info};
    REQUIRE(!clump_pool_pin(pool, t->allocation, 1));
    REQUIRE(!clump_pool_get_info(pool, t->allocation, &info));
    REQUIRE(info.region.bytes == 4 * t->words);
    cl_int code = writes
                      ? clEnqueueWriteBuffer(queue, info.region.buffer, CL_TRUE, info.region.offset,
                                             info.region.bytes, data, 0, NULL, NULL)
                      : clEnqueueReadBuffer(queue, info.region.buffer, CL_TRUE, info.region.offset,
                                            info.region.bytes, data, 0, NULL, NULL);
    REQUIRE(!code);
    REQUIRE(!clump_pool_pin(pool, t->allocation, -1));
}

static void *work(void *seed) {
    uint64_t random = (uint64_t)(uintptr_t)seed;
    uint32_t *data = malloc(4 * WORDS_MAX);
    thing things[LIVE] = {{0}};
    for (unsigned round = 0; round < rounds; round++) {
        thing *t = &things[pick(&random, LIVE)];
        if (!t->allocation) {
            *t = (thing){.words = 1 + pick(&random, WORDS_MAX), .tag = pick(&random, 1u << 30)};
            clump_allocation_desc desc = {.size = sizeof desc, .bytes = 4 * t->words, .movable = 0};
            REQUIRE(!clump_pool_alloc(pool, &desc, &t->allocation, NULL));
            for (uint32_t i = 0; i < t->words; i++) data[i] = t->tag + i;
            transfer(t, data, 1);
            REQUIRE(!clump_pool_change(
                pool, t->allocation, CLUMP_PART_MOVABLE,
                &(clump_allocation_desc){.size = sizeof(clump_allocation_desc), .movable = 1}));
        } else {
            transfer(t, data, 0);
            for (uint32_t i = 0; i < t->words; i++) REQUIRE(data[i] == t->tag + i);
            if (pick(&random, 2)) continue;
            REQUIRE(!clump_pool_free(pool, t->allocation));
            t->allocation = 0;
        }
    }
    for (uint32_t i = 0; i < LIVE; i++) REQUIRE(!clump_pool_free(pool, things[i].allocation));
    free(data);
    return NULL;
}

static void *defragment(void *moves) {
    uint64_t random = 99;
    while (!atomic_load(&stop)) {
        clump_defrag_desc desc = {
            .size = sizeof desc, .wait = (int)pick(&random, 2), .budget_us = 2000};
        REQUIRE(!clump_pool_defragment(pool, &desc, NULL, NULL));
    }
    clump_pool_stats stats = {.size = sizeof stats};
    REQUIRE(!clump_pool_get_stats(pool, &stats, NULL));
    *(uint64_t *)moves = stats.moves;
    return NULL;
}

static int ignore(void *user, const void *data, size_t bytes) {
    const char *text = data;
    *(size_t *)user += bytes + (text[0] == '{');
    return 0;
}

static void *look(void *written) {
    while (!atomic_load(&stop)) {
        clump_pool_details details = {.size = sizeof details};
        REQUIRE(!clump_pool_check(pool));
        REQUIRE(!clump_pool_get_stats(pool, NULL, &details));
        REQUIRE(!clump_pool_dump(pool, CLUMP_POOL_JSON, ignore, written));
    }
    return NULL;
}

int main(int argc, char **argv) {
    if (argc > 1) rounds = (unsigned)strtoul(argv[1], NULL, 0);
    cl_device_id device = find_device();
    if (!device) return 77;
    cl_int code;
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
    if (code) return 1;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations" /* OpenCL 1.2 has no other */
    queue = clCreateCommandQueue(context, device, CL_QUEUE_PROFILING_ENABLE, &code);
#pragma GCC diagnostic pop
    clump_context *clump;
    clump_error error;
    clump_context_desc on = {
        .size = sizeof on, .context = context, .device = device, .queue = queue};
    if (code || clump_context_create(&on, &clump, &error)) return 1;
    clump_pool_desc desc = {.size = sizeof desc, .context = clump, .chunk_bytes = 128 << 10};
    if (clump_pool_create(&desc, &pool, &error)) return 1;
    pthread_t workers[WORKERS], mover, looker;
    uint64_t moves = 0;
    size_t written = 0;
    for (uintptr_t i = 0; i < WORKERS; i++)
        pthread_create(&workers[i], NULL, work, (void *)(i + 1));
    pthread_create(&mover, NULL, defragment, &moves);
    pthread_create(&looker, NULL, look, &written);
    for (int i = 0; i < WORKERS; i++) pthread_join(workers[i], NULL);
    atomic_store(&stop, 1);
    pthread_join(mover, NULL);
    pthread_join(looker, NULL);
    REQUIRE(!clump_pool_defragment(
        pool, &(clump_defrag_desc){.size = sizeof(clump_defrag_desc), .until_done = 1}, NULL,
        NULL));
    REQUIRE(!clump_pool_trim(pool));
    REQUIRE(!clump_pool_check(pool));
    clump_pool_stats stats = {.size = sizeof stats};
    REQUIRE(!clump_pool_get_stats(pool, &stats, NULL));
    REQUIRE(stats.bytes == 0 && stats.allocations == 0);
    printf("%llu allocated, %llu moves beside them, %zu bytes of dumps\n",
           (unsigned long long)stats.allocated, (unsigned long long)moves, written);
    int enough = moves > 20 && written > 1000;
    clump_pool_destroy(pool);
    clump_context_destroy(clump);
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
    return !enough;
}
