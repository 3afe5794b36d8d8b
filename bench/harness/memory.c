/* Counting bytes of buffers. See memory.h. */
#include "memory.h"

#include <stdatomic.h>

#include "bench.h"

static _Atomic uint64_t now, base, peak; /* buffers may be destroyed by threads of the driver */

void bench_memory_restart(void) {
    base = peak = now;
}

uint64_t bench_memory_peak(void) {
    return peak - base;
}

cl_mem __real_clCreateBuffer(cl_context context, cl_mem_flags flags, size_t bytes, void *host,
                             cl_int *code);
cl_mem __wrap_clCreateBuffer(cl_context context, cl_mem_flags flags, size_t bytes, void *host,
                             cl_int *code);

static void CL_CALLBACK count_destroyed(cl_mem buffer, void *bytes) {
    (void)buffer;
    now -= (uintptr_t)bytes;
}

static void count_created(uint64_t bytes) {
    uint64_t sum = atomic_fetch_add(&now, bytes) + bytes, seen = peak;
    while (seen < sum && !atomic_compare_exchange_weak(&peak, &seen, sum)) {
    }
}

cl_mem __wrap_clCreateBuffer(cl_context context, cl_mem_flags flags, size_t bytes, void *host,
                             cl_int *code) {
    cl_mem buffer = __real_clCreateBuffer(context, flags, bytes, host, code);
    if (buffer && clSetMemObjectDestructorCallback(buffer, count_destroyed,
                                                   (void *)(uintptr_t)bytes) == CL_SUCCESS) {
        count_created(bytes);
    }
    return buffer;
}
