/* The benchmarks by number and by name. Read first: registry.h. */
#include <stdio.h>
#include <string.h>

#include "bench.h"
#include "registry.h"

static const bench_descriptor *const benchmarks[] = {
#define BENCH_PLACE(name) &bench_##name,
    BENCH_REGISTRY(BENCH_PLACE)
#undef BENCH_PLACE
};

size_t bench_registry_count(void) {
    return sizeof benchmarks / sizeof *benchmarks;
}

const bench_descriptor *bench_registry_get(size_t index) {
    return benchmarks[index];
}

const bench_descriptor *bench_registry_find(const char *name, bench_error *error) {
    char names[1024] = "";
    size_t used = 0;
    for (size_t i = 0; i < bench_registry_count(); i++) {
        if (strcmp(benchmarks[i]->name, name) == 0) {
            return benchmarks[i];
        }
        if (used < sizeof names) {
            int n = snprintf(names + used, sizeof names - used, "%s%s", i ? ", " : "",
                             benchmarks[i]->name);
            used += n > 0 ? (size_t)n : 0;
        }
    }
    bench_error_set(error, "no benchmark is called '%.64s'; there are: %s", name, names);
    return NULL;
}
