/* What the tests of the adapters in C++ share: a condition that must hold, and the statistics of a
 * pool. */
#ifndef CLUMP_TESTS_REQUIRE_HPP
#define CLUMP_TESTS_REQUIRE_HPP

#include <cstdio>
#include <cstdlib>

#include "clump/pool.h"

#define REQUIRE(condition)                                                                         \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            std::fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition);    \
            std::exit(1);                                                                          \
        }                                                                                          \
    } while (0)

static clump_pool_stats stats_of(clump_pool *pool) {
    clump_pool_stats stats{};
    stats.size = sizeof stats;
    REQUIRE(!clump_pool_get_stats(pool, &stats, NULL));
    return stats;
}

#endif
