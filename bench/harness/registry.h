/* The descriptors of all benchmarks, each defined in a file of its own. Read first: bench.h. */
#ifndef BENCH_REGISTRY_H
#define BENCH_REGISTRY_H

#include "bench.h"

extern const bench_descriptor bench_alloc_scalability; /* micro/alloc.c */
extern const bench_descriptor bench_alloc_mixed;       /* micro/mixed.c */
extern const bench_descriptor bench_alloc_churn;       /* micro/churn.c */
extern const bench_descriptor bench_alloc_exhaust;     /* micro/exhaust.c */
extern const bench_descriptor bench_alloc_capacity;    /* micro/alloc_capacity.c */
extern const bench_descriptor bench_alloc_bulk;        /* micro/bulk.c */
extern const bench_descriptor bench_field_bandwidth;   /* micro/field.c */
extern const bench_descriptor bench_dispatch;          /* micro/dispatch.c */
extern const bench_descriptor bench_fuse;              /* micro/fuse.c */
extern const bench_descriptor bench_queues;            /* micro/queues.c */
extern const bench_descriptor bench_host_access;       /* micro/host_access.c */
extern const bench_descriptor bench_save_load;         /* micro/save_load.c */
extern const bench_descriptor bench_extract;           /* micro/extract.c */
extern const bench_descriptor bench_evict;             /* micro/evict.c */
extern const bench_descriptor bench_convert;           /* micro/convert.c */
extern const bench_descriptor bench_map;               /* micro/map.c */
extern const bench_descriptor bench_vector;            /* micro/vector.c */
extern const bench_descriptor bench_grid;              /* micro/grid.c */
extern const bench_descriptor bench_arrays;            /* micro/arrays.c */
extern const bench_descriptor bench_graph;             /* graph/benchmark.c */
extern const bench_descriptor bench_start_up;          /* micro/start_up.c */
extern const bench_descriptor bench_enumerate;         /* micro/enumerate.c */
extern const bench_descriptor bench_compact_synthetic; /* micro/compact.c */
extern const bench_descriptor bench_compact_quality;   /* micro/compact_quality.c */
extern const bench_descriptor bench_compact_passes;    /* micro/compact_passes.c */
extern const bench_descriptor bench_survey_alloc;      /* survey/alloc.c */
extern const bench_descriptor bench_survey_oom;        /* survey/oom.c */
extern const bench_descriptor bench_survey_work;       /* survey/work.c */
/* survey/graph.c */
extern const bench_descriptor bench_survey_graph_init, bench_survey_graph_update;
extern const bench_descriptor bench_capacity;         /* micro/capacity.c */
extern const bench_descriptor bench_app_wa_tor;       /* apps/wa-tor/benchmark.c */
extern const bench_descriptor bench_app_game_of_life; /* apps/game-of-life/benchmark.c */
extern const bench_descriptor bench_app_generation;   /* apps/generation/benchmark.c */
extern const bench_descriptor bench_app_nbody;        /* apps/nbody/benchmark.c */
extern const bench_descriptor bench_app_collision;    /* apps/collision/benchmark.c */
extern const bench_descriptor bench_app_structure;    /* apps/structure/benchmark.c */
extern const bench_descriptor bench_app_barnes_hut;   /* apps/barnes-hut/benchmark.c */
extern const bench_descriptor bench_app_sugarscape;   /* apps/sugarscape/benchmark.c */
extern const bench_descriptor bench_app_traffic;      /* apps/traffic/benchmark.c */

/* mark/mark.c */
extern const bench_descriptor bench_mark_graph, bench_mark_random, bench_mark_list,
    bench_mark_lists, bench_mark_hourglass;
extern const bench_descriptor bench_mark_wide, bench_mark_single, bench_mark_vp_list;
extern const bench_descriptor bench_mark_vp_arrays, bench_mark_synthetic;
extern const bench_descriptor bench_pool_alloc;  /* pool/alloc.c */
extern const bench_descriptor bench_pool_fit;    /* pool/fit.c */
extern const bench_descriptor bench_pool_trace;  /* pool/replay.c */
extern const bench_descriptor bench_pool_defrag; /* pool/defrag.c */

#endif
