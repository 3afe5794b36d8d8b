/* An application as a benchmark: its parameter `variant`. Read first: bench.h, variant.h. */
#ifndef BENCH_APP_H
#define BENCH_APP_H

#include "bench.h"
#include "variant.h"

/* The value of the parameter `variant`: clump|soa|aos|sequential. */
bench_variant bench_app_variant(const bench_values *values);

/* For bench_descriptor: all variants but sequential. */
int bench_app_needs_device(const bench_values *values);

#endif
