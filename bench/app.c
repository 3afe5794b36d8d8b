/* An application as a benchmark. See app.h. */
#include "app.h"

bench_variant bench_app_variant(const bench_values *values) {
    static const char *const names[] = {[BENCH_CLUMP] = "clump",
                                        [BENCH_SOA] = "soa",
                                        [BENCH_AOS] = "aos",
                                        [BENCH_SEQUENTIAL] = "sequential"};
    unsigned variant = 0;
    while (variant < BENCH_SEQUENTIAL && !bench_is(values, "variant", names[variant])) {
        variant++;
    }
    return (bench_variant)variant;
}

int bench_app_needs_device(const bench_values *values) {
    return bench_app_variant(values) != BENCH_SEQUENTIAL;
}
