/* examples/adapters/clblast.h against CLBlast: products of matrices are right though the temporary
 * buffer is released before they are made; all of it comes from the pool and goes back to it.
 *
 *   adopt_clblast             the test
 *   adopt_clblast measure     prints calls per second and what each way takes
 *
 * Read first: examples/adapters/clblast.h.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "examples/adapters/clblast.h"
#include "tests/stress/any_device.h"

static int wrong_at(int line, const char *what) {
    fprintf(stderr, "adopt_clblast.c:%d: does not hold: %s\n", line, what);
    return 1;
}
#define REQUIRE(condition)                                                                         \
    do {                                                                                           \
        if (!(condition)) exit(wrong_at(__LINE__, #condition));                                    \
    } while (0)

static cl_context context;
static cl_command_queue queue;
static clump_pool *pool;

static clump_pool_stats stats_of(void) {
    clump_pool_stats stats = {.size = sizeof stats};
    REQUIRE(!clump_pool_get_stats(pool, &stats, NULL));
    return stats;
}

static cl_mem matrix(size_t count, const float *data) {
    cl_mem made;
    clump_allocation_desc desc = {.size = sizeof desc, .bytes = count * sizeof *data};
    REQUIRE(!clump_pool_create_buffer(pool, &desc, 0, NULL, &made));
    REQUIRE(!clEnqueueWriteBuffer(queue, made, CL_TRUE, 0, desc.bytes, data, 0, NULL, NULL));
    return made;
}

static CLBlastStatusCode multiply(int pooled, size_t n, cl_mem a, cl_mem b, cl_mem c) {
    return pooled ? clump_clblast_sgemm(pool, CLBlastLayoutRowMajor, CLBlastTransposeNo,
                                        CLBlastTransposeYes, n, n, n, 2, a, 0, n, b, 0, n, 0, c, 0,
                                        n, &queue, NULL)
                  : CLBlastSgemm(CLBlastLayoutRowMajor, CLBlastTransposeNo, CLBlastTransposeYes, n,
                                 n, n, 2, a, 0, n, b, 0, n, 0, c, 0, n, &queue, NULL);
}

/* The least size, not a multiple of anything, whose product needs temporary memory. */
static size_t size_with_temporary(size_t *bytes) {
    for (size_t n = 67; n < 1500; n += 70) {
        REQUIRE(CLBlastSGemmTempBufferSize(CLBlastLayoutRowMajor, CLBlastTransposeNo,
                                           CLBlastTransposeYes, n, n, n, 0, n, 0, n, 0, n, &queue,
                                           bytes) == CLBlastSuccess);
        if (*bytes) return n;
    }
    fprintf(stderr, "skipped: CLBlast needs no temporary memory here\n");
    exit(77);
}

static float value(size_t i) {
    return (float)((i * 2654435761u >> 7) % 17) - 8;
}

static void check_product(size_t n, const float *data, const float *found, float sign) {
    for (size_t i = 0; i < n; i += 13)
        for (size_t j = 0; j < n; j += 11) {
            double sum = 0;
            for (size_t k = 0; k < n; k++) sum += (double)data[i * n + k] * data[j * n + k];
            if (fabs(2 * sum * sign - found[i * n + j]) > 0.5) {
                fprintf(stderr, "element %zu, %zu is %g, not %g\n", i, j, found[i * n + j],
                        2 * sum * sign);
                exit(1);
            }
        }
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void measure(size_t n, size_t bytes, cl_mem a, cl_mem b, cl_mem c) {
    enum { RUNS = 9, CALLS = 30 };
    double seconds[2][RUNS];
    for (int run = 0; run < RUNS; run++)
        for (int pooled = 0; pooled < 2; pooled++) {
            double begin = now();
            for (int i = 0; i < CALLS; i++) REQUIRE(multiply(pooled, n, a, b, c) == CLBlastSuccess);
            REQUIRE(!clFinish(queue));
            seconds[pooled][run] = now() - begin;
        }
    for (int pooled = 0; pooled < 2; pooled++) {
        qsort(seconds[pooled], RUNS, sizeof(double), ascending);
        printf("sgemm of %zu, temporary %zu bytes, %s: %.0f calls per second (%.0f to %.0f)\n", n,
               bytes, pooled ? "pool" : "CLBlast's own", CALLS / seconds[pooled][RUNS / 2],
               CALLS / seconds[pooled][RUNS - 1], CALLS / seconds[pooled][0]);
    }
    clump_pool_stats stats = stats_of();
    printf("pool: %llu bytes in %u chunks, at most %llu in use\n",
           (unsigned long long)stats.bytes_peak, stats.chunks_peak,
           (unsigned long long)stats.used_peak);
}

int main(int argc, char **argv) {
    cl_device_id device = find_device();
    if (!device) return 77;
    cl_int code;
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
    REQUIRE(!code);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations" /* OpenCL 1.2 has no other */
    queue = clCreateCommandQueue(context, device, 0, &code);
#pragma GCC diagnostic pop
    REQUIRE(!code);
    clump_context *clump;
    clump_context_desc on = {
        .size = sizeof on, .context = context, .device = device, .queue = queue};
    REQUIRE(!clump_context_create(&on, &clump, NULL));
    REQUIRE(!clump_pool_create(
        &(clump_pool_desc){.size = sizeof(clump_pool_desc), .context = clump, .name = "CLBlast"},
        &pool, NULL));
    size_t bytes, n = size_with_temporary(&bytes), count = n * n;
    float *data = malloc(count * sizeof *data), *negative = malloc(count * sizeof *data),
          *found = malloc(count * sizeof *found);
    REQUIRE(data && negative && found);
    for (size_t i = 0; i < count; i++) negative[i] = -(data[i] = value(i));
    cl_mem a = matrix(count, data), minus = matrix(count, negative), c = matrix(count, data),
           d = matrix(count, data);
    if (argc > 1 && strcmp(argv[1], "measure") == 0) measure(n, bytes, a, a, c);

    uint64_t before = stats_of().allocated;
    for (int i = 0; i < 3; i++) { /* under way together */
        REQUIRE(multiply(1, n, a, a, c) == CLBlastSuccess);
        REQUIRE(multiply(1, n, minus, a, d) == CLBlastSuccess);
    }
    REQUIRE(stats_of().allocated == before + 6);
    REQUIRE(
        !clEnqueueReadBuffer(queue, c, CL_TRUE, 0, count * sizeof *found, found, 0, NULL, NULL));
    check_product(n, data, found, 1);
    REQUIRE(
        !clEnqueueReadBuffer(queue, d, CL_TRUE, 0, count * sizeof *found, found, 0, NULL, NULL));
    check_product(n, data, found, -1);
    clump_pool_stats stats = stats_of();
    REQUIRE(!clFinish(queue));
    stats = stats_of();
    REQUIRE(stats.allocations == 4);
    printf("products of %zu x %zu with %zu bytes each out of a pool are right\n", n, n, bytes);

    clReleaseMemObject(a);
    clReleaseMemObject(minus);
    clReleaseMemObject(c);
    clReleaseMemObject(d);
    (void)stats_of();
    REQUIRE(!clFinish(queue));
    REQUIRE(!clump_pool_trim(pool));
    REQUIRE(!clump_pool_check(pool));
    REQUIRE(stats_of().bytes == 0);
    free(data);
    free(negative);
    free(found);
    clump_pool_destroy(pool);
    clump_context_destroy(clump);
    CLBlastClearCache();
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
    return 0;
}
