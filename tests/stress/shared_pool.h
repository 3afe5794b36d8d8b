/* What tests of one pool on several threads share: the pool, what must hold, random numbers.
 *
 * Read first: include/clump/pool.h.
 */
#ifndef CLUMP_TESTS_SHARED_POOL_H
#define CLUMP_TESTS_SHARED_POOL_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "clump/all.h"

static clump_pool *pool;

#define REQUIRE(condition)                                                                         \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            clump_error last;                                                                      \
            clump_pool_get_error(pool, &last);                                                     \
            fprintf(stderr, "%s:%d: does not hold: %s (%s)\n", __FILE__, __LINE__, #condition,     \
                    last.message);                                                                 \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

static uint32_t pick(uint64_t *state, uint32_t below) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(((*state >> 32) * below) >> 32);
}

#endif
