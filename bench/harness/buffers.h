/* Buffers, and arguments of kernels: what programs in plain OpenCL (apps/plain.h) and programs on a
 * heap (apps/objects.h, micro/rig.h) have in common.
 *
 * Invariant: `all` holds what is to be released. Every function that can fail returns 0, or -1 and
 * an error.
 *
 * Read first: error.h.
 */
#ifndef BENCH_BUFFERS_H
#define BENCH_BUFFERS_H

#include <stddef.h>
#include <stdint.h>

#include "error.h"

#define BENCH_BUFFERS_MAX 32

/* Without buffers: nothing to release. */
typedef struct bench_buffers {
    cl_context context;
    cl_command_queue queue; /* in order */
    cl_mem all[BENCH_BUFFERS_MAX];
} bench_buffers;

void bench_buffers_release(bench_buffers *buffers);

/* A buffer whose contents are undefined. */
int bench_buffer_make(bench_buffers *buffers, size_t bytes, cl_mem *buffer, bench_error *error);

/* A buffer of `count` elements of `bytes`, with those of `from`, NULL: zeros. None is allowed. */
int bench_buffer_create(bench_buffers *buffers, size_t count, size_t bytes, const void *from,
                        cl_mem *buffer, bench_error *error);

/* Release it before the others. */
void bench_buffer_drop(bench_buffers *buffers, cl_mem buffer);

/* Zeros in its first `bytes`, less than 2 GiB: NVIDIA's fill goes wrong above
 * (docs/portability.md). */
int bench_buffer_clear(bench_buffers *buffers, cl_mem buffer, size_t bytes, bench_error *error);

/* `bytes` of `values` to its beginning. Waits for it. */
int bench_buffer_write(bench_buffers *buffers, cl_mem buffer, size_t bytes, const void *values,
                       bench_error *error);

/* From byte `at` on. Waits for it. */
int bench_buffer_read(bench_buffers *buffers, cl_mem buffer, size_t at, size_t bytes, void *values,
                      bench_error *error);

/* Argument `index` of those that are a kernel's own. */
typedef struct bench_arg {
    unsigned kernel;
    cl_uint index;
    size_t bytes;
    const void *value;
} bench_arg;

#endif
