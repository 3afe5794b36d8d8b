/* Switches of the allocator. See tuning.h. */
#include "tuning.h"

#include "clump/checked.h"

clump_alloc_tuning bench_tuning_of(const bench_values *values) {
    return (clump_alloc_tuning){.no_coalescing = bench_is(values, "coalescing", "off"),
                                .no_rotation = bench_is(values, "rotation", "off"),
                                .retries = bench_u32(values, "retries"),
                                .registers = bench_u32(values, "registers")};
}

uint32_t bench_checks_of(const bench_values *values) {
    static const struct {
        const char *name;
        uint32_t checks;
    } names[] = {{"references", CLUMP_CHECK_REFERENCES},
                 {"bounds", CLUMP_CHECK_BOUNDS},
                 {"reads", CLUMP_CHECK_READS},
                 {"freed", CLUMP_CHECK_FREED},
                 {"memory", CLUMP_CHECK_MEMORY},
                 {"history", CLUMP_CHECK_HISTORY},
                 {"leaks", CLUMP_CHECK_LEAKS},
                 {"generations", CLUMP_CHECK_GENERATIONS | CLUMP_CHECK_REFERENCES},
                 {"all", CLUMP_CHECK_ALL}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (bench_is(values, "checked", names[i].name)) return names[i].checks;
    return 0;
}
