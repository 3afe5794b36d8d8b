/* The descriptors of all benchmarks, each defined in a file of its own. Read first: bench.h. */
#ifndef BENCH_REGISTRY_H
#define BENCH_REGISTRY_H

#include "bench.h"

extern const bench_descriptor bench_alloc_scalability; /* bench_alloc.c */
extern const bench_descriptor bench_enumerate;         /* bench_enumerate.c */
extern const bench_descriptor bench_compact_synthetic; /* bench_compact.c */
extern const bench_descriptor bench_app_wa_tor;        /* apps/wa-tor/wa_tor.c */

#endif
