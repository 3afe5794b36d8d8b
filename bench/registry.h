/* The descriptors of all benchmarks, each defined in a file of its own. Read first: bench.h. */
#ifndef BENCH_REGISTRY_H
#define BENCH_REGISTRY_H

#include "bench.h"

extern const bench_descriptor bench_alloc_scalability; /* bench_alloc.c */
extern const bench_descriptor bench_enumerate;         /* bench_enumerate.c */
extern const bench_descriptor bench_compact_synthetic; /* bench_compact.c */
extern const bench_descriptor bench_app_wa_tor;        /* apps/wa-tor/wa_tor.c */
extern const bench_descriptor bench_app_game_of_life;  /* apps/game-of-life/game_of_life.c */
extern const bench_descriptor bench_app_generation;    /* apps/generation/generation.c */
extern const bench_descriptor bench_app_nbody;         /* apps/nbody/nbody.c */
extern const bench_descriptor bench_app_collision;     /* apps/collision/collision.c */
extern const bench_descriptor bench_pool_alloc;        /* bench_pool_alloc.c */
extern const bench_descriptor bench_pool_fit;          /* bench_pool_fit.c */
extern const bench_descriptor bench_pool_trace;        /* bench_pool_trace.c */
extern const bench_descriptor bench_pool_defrag;       /* bench_pool_defrag.c */

#endif
