/* How fast the device reads words in no order: the bound of whatever follows references.
 *
 * Read first: bench.h. */
#ifndef BENCH_RANDOM_RATE_H
#define BENCH_RANDOM_RATE_H

#include "bench/harness/bench.h"

/* Reads a second, in at least `bytes` of memory if the device has them. */
int bench_random_rate(const bench_env *env, uint64_t bytes, double *rate, bench_error *error);

#endif
