/* Worlds of applications (bench/apps) on a test's own device. Read first: cl_fixture.h,
 * bench/apps/world.h. */
#ifndef APP_FIXTURE_H
#define APP_FIXTURE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/apps/world.h"
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

/* Variants from BENCH_CLUMP on that a test compares with the sequential one: in a short run those
 * without the heap are left out. */
static inline bench_variant app_fixture_last_variant(void) {
    return cl_fixture_is_whole() ? BENCH_AOS : BENCH_CLUMP;
}

/* Run a test's group on its fixture. What main() should return. */
#define APP_FIXTURE_RUN(name, fixture, tests)                                                      \
    app_fixture_run(name, fixture, tests, sizeof(tests) / sizeof *(tests))
static inline int app_fixture_run(const char *name, cl_fixture *f, const struct CMUnitTest *tests,
                                  size_t count) {
    int result = cl_fixture_open(f, NULL);
    if (result) return result;
    result = _cmocka_run_group_tests(name, tests, count, NULL, NULL);
    cl_fixture_close(f);
    return result;
}

/* A file with this text; the caller removes it. `path` ends in XXXXXX, which is filled in. */
static inline void app_fixture_write_text(char *path, const char *text) {
    int descriptor = mkstemp(path);
    assert_true(descriptor >= 0);
    assert_int_equal(write(descriptor, text, strlen(text)), strlen(text));
    close(descriptor);
}

#endif
