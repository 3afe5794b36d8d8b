/* Worlds of applications (bench/apps) on a test's own device. Read first: cl_fixture.h, bench/world.h. */
#ifndef APP_FIXTURE_H
#define APP_FIXTURE_H

#include "bench/world.h"
#include "cl_fixture.h"

/* On the heap, in blocks of one row, so that there are many. `heap_bytes` 0: enough. */
static inline bench_world_desc app_fixture_world(const cl_fixture *f, uint64_t heap_bytes) {
    return (bench_world_desc){.context = f->context,
                              .device = f->device,
                              .queue = f->queue,
                              .clump = f->clump,
                              .heap_bytes = heap_bytes,
                              .block_rows = 1};
}

#endif
