/* Traces that were recorded by the layer (docs/guide/layer.md), embedded in the program. Read
 * first: trace.h, traces/README.md. */
#include <errno.h>
#include <string.h>

#include "bench/harness/bench_files.h"
#include "trace.h"

int pool_trace_recorded(pool_trace *trace, const char *name, bench_error *error) {
    char path[128];
    memset(trace, 0, sizeof *trace);
    snprintf(path, sizeof path, "bench/pool/traces/%.64s.trace", name);
    const clumpi_cl_file *found = bench_file_find(path);
    FILE *file = found ? fmemopen((void *)(uintptr_t)found->data, found->bytes, "r") : NULL;
    if (file) return pool_trace_read_stream(trace, file, path, error);
    return bench_error_set(error, "%s: %s", path, found ? strerror(errno) : "there is none");
}
