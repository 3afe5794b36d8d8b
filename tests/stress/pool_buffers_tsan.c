/* Buffers that their callers own, made and released by several threads at once, under
 * ThreadSanitizer. Each thread has a queue; it releases a buffer while commands that write and read
 * it are still to come, and compares later what they read. A region that was given out too early is
 * written to by another thread's commands.
 *
 *   pool_buffers_tsan [ROUNDS]
 *
 * Read first: include/clump/pool.h.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "clump/all.h"
#include "tests/stress/any_device.h"
#include "tests/stress/shared_pool.h"

#define WORKERS 4
#define BATCH 12u
#define WORDS_MAX 6000u
#define PASSES 4 /* commands that write each buffer */

static cl_context context;
static cl_device_id device;
static unsigned rounds = 60;

static void *work(void *seed) {
    uint64_t random = (uint64_t)(uintptr_t)seed;
    uint32_t *data = malloc(sizeof(uint32_t) * BATCH * WORDS_MAX), words[BATCH], tags[BATCH];
    cl_int code;
    REQUIRE(data);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations" /* OpenCL 1.2 has no other */
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, &code);
#pragma GCC diagnostic pop
    REQUIRE(!code);
    for (unsigned round = 0; round < rounds; round++) {
        for (uint32_t i = 0; i < BATCH; i++) {
            words[i] = 1 + pick(&random, WORDS_MAX);
            tags[i] = pick(&random, 1u << 31);
            clump_allocation_desc desc = {.size = sizeof desc,
                                          .bytes = 4 * words[i],
                                          .memory = (clump_memory)pick(&random, 2),
                                          .unique = pick(&random, 30) == 0};
            cl_mem buffer;
            REQUIRE(!clump_pool_create_buffer(pool, &desc, 1, &queue, &buffer));
            for (uint32_t pass = PASSES; pass-- > 0;) {
                uint32_t tag = tags[i] + pass;
                REQUIRE(
                    !clEnqueueFillBuffer(queue, buffer, &tag, 4, 0, 4 * words[i], 0, NULL, NULL));
            }
            REQUIRE(!clEnqueueReadBuffer(queue, buffer, CL_FALSE, 0, 4 * words[i],
                                         data + i * WORDS_MAX, 0, NULL, NULL));
            REQUIRE(!clReleaseMemObject(buffer));
        }
        REQUIRE(!clFinish(queue));
        for (uint32_t i = 0; i < BATCH; i++)
            for (uint32_t k = 0; k < words[i]; k++) REQUIRE(data[i * WORDS_MAX + k] == tags[i]);
        if (round % 8 == 0) REQUIRE(!clump_pool_check(pool));
    }
    REQUIRE(!clReleaseCommandQueue(queue));
    free(data);
    return NULL;
}

int main(int argc, char **argv) {
    if (argc > 1) rounds = (unsigned)strtoul(argv[1], NULL, 0);
    device = find_device();
    if (!device) return 77;
    cl_int code;
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
    if (code) return 1;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations" /* OpenCL 1.2 has no other */
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, &code);
#pragma GCC diagnostic pop
    clump_context *clump;
    clump_error error;
    clump_context_desc on = {
        .size = sizeof on, .context = context, .device = device, .queue = queue};
    if (code || clump_context_create(&on, &clump, &error)) return 1;
    clump_pool_desc desc = {.size = sizeof desc, .context = clump, .chunk_bytes = 128 << 10};
    if (clump_pool_create(&desc, &pool, &error)) return 1;
    pthread_t workers[WORKERS];
    for (uintptr_t i = 0; i < WORKERS; i++)
        pthread_create(&workers[i], NULL, work, (void *)(i + 1));
    for (int i = 0; i < WORKERS; i++) pthread_join(workers[i], NULL);
    /* The queues are finished; some markers were enqueued afterwards. */
    clump_pool_stats stats = {.size = sizeof stats};
    for (int i = 0; i < 1000; i++) {
        REQUIRE(!clump_pool_trim(pool));
        REQUIRE(!clump_pool_get_stats(pool, &stats, NULL));
        if (!stats.bytes) break;
        nanosleep(&(struct timespec){0, 2000000}, NULL);
    }
    REQUIRE(!clump_pool_check(pool));
    REQUIRE(stats.bytes == 0 && stats.allocations == 0 && stats.waiting_bytes == 0);
    REQUIRE(stats.allocated == stats.freed && stats.freed == (uint64_t)WORKERS * rounds * BATCH);
    printf("%llu buffers, at most %llu bytes in %u chunks\n", (unsigned long long)stats.allocated,
           (unsigned long long)stats.bytes_peak, stats.chunks_peak);
    clump_pool_destroy(pool);
    clump_context_destroy(clump);
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
    return 0;
}
