/* Switches of the allocator. See tuning.h. */
#include "tuning.h"

clump_alloc_tuning bench_tuning_of(const bench_values *values) {
    return (clump_alloc_tuning){.no_coalescing = bench_is(values, "coalescing", "off"),
                                .no_rotation = bench_is(values, "rotation", "off"),
                                .retries = bench_u32(values, "retries"),
                                .registers = bench_u32(values, "registers")};
}
