/* examples/adapters/onednn.h, called as oneDNN calls its two functions for memory. oneDNN itself is
 * not here: it needs a GPU that Intel's OpenCL knows. On a device with USM all of its kinds are
 * tried, and SVM where it is.
 *
 *   adopt_onednn             the test; skipped without memory with pointers
 *   adopt_onednn measure     prints allocations per second of each kind, of OpenCL itself and of
 *                            the pool, and waste
 *
 * Read first: examples/adapters/onednn.h.
 */
#define CL_TARGET_OPENCL_VERSION 200
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "examples/adapters/onednn.h"
#include "tests/stress/any_device.h"

static int wrong_at(int line, const char *what) {
    fprintf(stderr, "adopt_onednn.c:%d: does not hold: %s\n", line, what);
    return 1;
}
#define REQUIRE(condition)                                                                         \
    do {                                                                                           \
        if (!(condition)) exit(wrong_at(__LINE__, #condition));                                    \
    } while (0)

/* oneDNN's own names for these are dnnl_graph_ocl_allocate_f and dnnl_graph_ocl_deallocate_f. */
typedef void *(*allocate_f)(size_t, size_t, cl_device_id, cl_context);
typedef void (*deallocate_f)(void *, cl_device_id, cl_context, cl_event);
static const allocate_f ocl_malloc = clump_onednn_malloc;
static const deallocate_f ocl_free = clump_onednn_free;

static cl_device_id device;
static cl_context context;
static cl_command_queue queue, other_queue;
static clump_pool *pool;
static clump_memory memory; /* that is tried now */
static const char *const names[] = {"SVM", "USM of the device", "USM of the host", "shared USM"};

static struct {
#define MEMBER(name, result, parameters) result(CL_API_CALL *name) parameters;
    CLUMP_CL_USM_LIST(MEMBER)
#undef MEMBER
} usm; /* NULL where the device has none */

static void find_usm(void) {
    cl_platform_id platform;
    REQUIRE(!clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof platform, &platform, NULL));
#define FIND(name, result, parameters)                                                             \
    {                                                                                              \
        void *address = clGetExtensionFunctionAddressForPlatform(platform, "cl" #name);            \
        memcpy(&usm.name, &address, sizeof address);                                               \
    }
    CLUMP_CL_USM_LIST(FIND)
#undef FIND
}

static clump_pool_stats stats_of(void) {
    clump_pool_stats stats = {.size = sizeof stats};
    REQUIRE(!clump_pool_get_stats(pool, &stats, NULL));
    return stats;
}

/* Whenever the pool is called, the adapter's lock is held. A race of two threads would show only
 * now and then. */
static int check_lock(void *user, const void *line, size_t bytes) {
    (void)user, (void)line, (void)bytes;
    REQUIRE(pthread_mutex_trylock(&clump_onednn.lock));
    return 0;
}

static void open_pool(int is_checked) {
    clump_error error;
    clump_pool_desc desc = {
        .size = sizeof desc, .queue = queue, .trace = is_checked ? check_lock : NULL};
    REQUIRE(!clump_pool_create(&desc, &pool, &error));
    REQUIRE(!clump_onednn_open(pool, queue, memory));
}

/* ---- What OpenCL does with it ---------------------------------------------------------------- */

static void copy(void *to, const void *from, size_t bytes) {
    cl_int code = memory == CLUMP_MEMORY_SVM
                      ? clEnqueueSVMMemcpy(queue, CL_TRUE, to, from, bytes, 0, NULL, NULL)
                      : usm.EnqueueMemcpyINTEL(queue, CL_TRUE, to, from, bytes, 0, NULL, NULL);
    REQUIRE(!code && !clFinish(queue));
}

static void fill(cl_command_queue on, void *to, cl_uint word, size_t bytes, cl_event after,
                 cl_event *event) {
    cl_int code = memory == CLUMP_MEMORY_SVM
                      ? clEnqueueSVMMemFill(on, to, &word, sizeof word, bytes, after != NULL,
                                            after ? &after : NULL, event)
                      : usm.EnqueueMemFillINTEL(on, to, &word, sizeof word, bytes, after != NULL,
                                                after ? &after : NULL, event);
    REQUIRE(!code);
}

/* ---- The test -------------------------------------------------------------------------------- */

#define LIVE 200

static void contents(void) {
    static const size_t alignments[] = {0, 1, 4, 64, 128, 256, 4096, 65536};
    static unsigned char data[20000], found[20000];
    void *live[LIVE] = {0};
    size_t bytes[LIVE] = {0};
    unsigned state = 1;
    for (unsigned turn = 0; turn < 6 * LIVE; turn++) {
        state = state * 1664525 + 1013904223;
        const unsigned i = (state >> 8) % LIVE;
        if (live[i]) {
            copy(found, live[i], bytes[i]);
            for (size_t k = 0; k < bytes[i]; k++)
                REQUIRE(found[k] == (unsigned char)(i * 31 + k * 7));
            ocl_free(live[i], device, context, NULL);
            live[i] = NULL;
            continue;
        }
        const size_t alignment = alignments[(state >> 20) % 8];
        bytes[i] = 1 + (state >> 4) % sizeof data;
        live[i] = ocl_malloc(bytes[i], alignment, device, context);
        REQUIRE(live[i]);
        if (alignment) REQUIRE((uintptr_t)live[i] % alignment == 0);
        for (size_t k = 0; k < bytes[i]; k++) data[k] = (unsigned char)(i * 31 + k * 7);
        copy(live[i], data, bytes[i]);
    }
    unsigned left = 0;
    for (unsigned i = 0; i < LIVE; i++) left += live[i] != NULL;
    REQUIRE(left > 20 && stats_of().allocations == left);
    REQUIRE(!clump_pool_check(pool));
    for (unsigned i = 0; i < LIVE; i++) ocl_free(live[i], device, context, NULL);
    REQUIRE(stats_of().allocations == 0);
}

/* A region is given out again when the event has completed, not earlier. */
static void events(void) {
    cl_int code;
    cl_event gate = clCreateUserEvent(context, &code), filled;
    REQUIRE(!code);
    void *first = ocl_malloc(5000, 64, device, context);
    REQUIRE(first);
    fill(other_queue, first, 7, 4096, gate, &filled);
    REQUIRE(!clFlush(other_queue));
    ocl_free(first, device, context, filled);
    clReleaseEvent(filled);
    REQUIRE(stats_of().allocations == 0 && stats_of().waiting_bytes >= 5000);
    void *second = ocl_malloc(5000, 64, device, context);
    REQUIRE(second && second != first);
    ocl_free(second, device, context, NULL);
    REQUIRE(!clSetUserEventStatus(gate, CL_COMPLETE) && !clFinish(other_queue));
    clReleaseEvent(gate);
    REQUIRE(!clump_pool_trim(pool));
    REQUIRE(stats_of().waiting_bytes == 0 && stats_of().bytes == 0);
}

static void refusals(void) {
    clump_pool_stats before = stats_of();
    int local;
    REQUIRE(!ocl_malloc(0, 64, device, context));
    REQUIRE(!ocl_malloc(100, 48, device, context));
    REQUIRE(!ocl_malloc(100, 64, NULL, context));
    REQUIRE(!ocl_malloc(100, 64, device, NULL));
    REQUIRE(!ocl_malloc(SIZE_MAX, 4096, device, context));
    REQUIRE(!ocl_malloc((size_t)1 << 50, 64, device, context));
    REQUIRE(clump_onednn_open(pool, queue, memory) == CL_INVALID_OPERATION);
    ocl_free(NULL, device, context, NULL);
    ocl_free(&local, device, context, NULL);
    void *twice = ocl_malloc(100, 0, device, context);
    REQUIRE(twice && stats_of().allocations == before.allocations + 1);
    ocl_free(twice, device, context, NULL);
    ocl_free(twice, device, context, NULL);
    REQUIRE(stats_of().allocations == before.allocations);
}

static pthread_barrier_t both;

static void *hurry(void *seed) {
    unsigned state = *(unsigned *)seed;
    void *live[50] = {0};
    pthread_barrier_wait(&both);
    for (unsigned turn = 0; turn < 10000; turn++) {
        state = state * 1664525 + 1013904223;
        void **one = &live[(state >> 8) % 50];
        if (*one) ocl_free(*one, device, context, NULL);
        *one = *one ? NULL : ocl_malloc(1 + (state >> 10) % 5000, 64, device, context);
    }
    for (unsigned i = 0; i < 50; i++) ocl_free(live[i], device, context, NULL);
    return NULL;
}

static void threads(void) {
    unsigned seeds[2] = {5, 9};
    pthread_t other;
    REQUIRE(!pthread_barrier_init(&both, NULL, 2));
    REQUIRE(!pthread_create(&other, NULL, hurry, &seeds[1]));
    hurry(&seeds[0]);
    REQUIRE(!pthread_join(other, NULL));
    pthread_barrier_destroy(&both);
    REQUIRE(stats_of().allocations == 0 && stats_of().allocated > 2000);
    REQUIRE(!clump_pool_check(pool));
}

static void test(void) {
    REQUIRE(!ocl_malloc(100, 64, device, context)); /* nothing is open */
    open_pool(1);
    contents();
    events();
    refusals();
    threads();
    void *left = ocl_malloc(100, 64, device, context);
    REQUIRE(left);
    REQUIRE(clump_onednn_close() == 1);
    ocl_free(left, device, context, NULL); /* not known any more */
    REQUIRE(stats_of().allocations == 1);
    clump_pool_destroy(pool);
}

/* ---- Measuring ------------------------------------------------------------------------------- */

static void *take_plainly(size_t bytes) {
    cl_int code = CL_SUCCESS;
    switch (memory) {
    case CLUMP_MEMORY_SVM: return clSVMAlloc(context, CL_MEM_READ_WRITE, bytes, 0);
    case CLUMP_MEMORY_USM_DEVICE:
        return usm.DeviceMemAllocINTEL(context, device, NULL, bytes, 0, &code);
    case CLUMP_MEMORY_USM_HOST: return usm.HostMemAllocINTEL(context, NULL, bytes, 0, &code);
    default: return usm.SharedMemAllocINTEL(context, device, NULL, bytes, 0, &code);
    }
}

static void give_plainly(void *memory_of) {
    if (memory == CLUMP_MEMORY_SVM)
        clSVMFree(context, memory_of);
    else
        usm.MemFreeINTEL(context, memory_of);
}

static int by_number(const void *a, const void *b) {
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

#define RUNS 9

static double run(int pooled, const size_t *sizes, size_t size_count, int is_written,
                  unsigned count) {
    struct timespec begin, end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (unsigned i = 0; i < count; i++) {
        const size_t bytes = sizes[i % size_count];
        void *made = pooled ? ocl_malloc(bytes, 64, device, context) : take_plainly(bytes);
        REQUIRE(made);
        if (is_written) {
            fill(queue, made, i, bytes, NULL, NULL);
            REQUIRE(!clFinish(queue));
        }
        if (pooled)
            ocl_free(made, device, context, NULL);
        else
            give_plainly(made);
    }
    clock_gettime(CLOCK_MONOTONIC, &end);
    return count /
           ((double)(end.tv_sec - begin.tv_sec) + 1e-9 * (double)(end.tv_nsec - begin.tv_nsec));
}

/* Prints allocations with their frees per second: medians of nine runs each, in turns; sizes in
 * turn from `sizes`. */
static void compare(const char *what, const size_t *sizes, size_t size_count, int is_written,
                    unsigned count) {
    double rates[2][RUNS];
    for (int i = 0; i < RUNS; i++)
        for (int pooled = 0; pooled < 2; pooled++)
            rates[pooled][i] = run(pooled, sizes, size_count, is_written, count);
    for (int pooled = 0; pooled < 2; pooled++)
        qsort(rates[pooled], RUNS, sizeof **rates, by_number);
    printf("%s, %s%s, per second: %.0f of OpenCL's own, %.0f of the pool\n",
           names[memory - CLUMP_MEMORY_SVM], what, is_written ? " written to" : "",
           rates[0][RUNS / 2], rates[1][RUNS / 2]);
}

#define MANY 500

static void measure(void) {
    static const size_t sizes[] = {4 << 10, 256 << 10, 4 << 20};
    static const char *const size_names[] = {"4 KiB", "256 KiB", "4 MiB"};
    size_t mixed[MANY], sum = 0;
    void *kept[MANY];
    open_pool(0);
    for (size_t i = 0; i < MANY; i++) sum += mixed[i] = 64 * (1 + i * 7919 % 6000);
    for (int is_written = 0; is_written < 2; is_written++) {
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
            compare(size_names[i], &sizes[i], 1, is_written, is_written ? 400 : 2000);
        compare("500 sizes", mixed, MANY, is_written, MANY);
    }
    for (size_t i = 0; i < MANY; i++) {
        kept[i] = ocl_malloc(mixed[i], 64, device, context);
        REQUIRE(kept[i]);
    }
    clump_pool_stats stats = stats_of();
    printf("%s, 500 kept, %zu bytes: %llu bytes in %u chunks, waste %.3f\n",
           names[memory - CLUMP_MEMORY_SVM], sum, (unsigned long long)stats.bytes, stats.chunks,
           stats.waste);
    for (size_t i = 0; i < MANY; i++) ocl_free(kept[i], device, context, NULL);
    REQUIRE(clump_onednn_close() == 0);
    clump_pool_destroy(pool);
}

int main(int argc, char **argv) {
    clump_capabilities capabilities = {.size = sizeof capabilities};
    cl_int code;
    device = find_device();
    if (!device || clump_device_probe(device, 0, &capabilities, NULL) || !capabilities.pointers) {
        fprintf(stderr, "skipped: no device with SVM or USM\n");
        return 77;
    }
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
    REQUIRE(!code);
    queue = clCreateCommandQueueWithProperties(context, device, NULL, &code);
    REQUIRE(!code);
    other_queue = clCreateCommandQueueWithProperties(context, device, NULL, &code);
    REQUIRE(!code);
    find_usm();
    for (memory = CLUMP_MEMORY_SVM; memory < CLUMP_MEMORY_COUNT; memory++) {
        if (!(capabilities.pointers >> (memory - CLUMP_MEMORY_SVM) & 1)) continue;
        if (argc > 1 && strcmp(argv[1], "measure") == 0)
            measure();
        else
            test();
        printf("%s: done\n", names[memory - CLUMP_MEMORY_SVM]);
    }
    clReleaseCommandQueue(other_queue);
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
    return 0;
}
