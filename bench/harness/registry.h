/* The list of all benchmarks: bench_NAME is the descriptor, in a file of its own. A new one gets a
 * line here (docs/internals/how-to-add.md). Read first: bench.h. */
#ifndef BENCH_REGISTRY_H
#define BENCH_REGISTRY_H

#include "bench.h"

/* clang-format off */
#define BENCH_REGISTRY(X) \
    X(alloc_scalability)   /* micro/alloc.c */ \
    X(alloc_mixed)         /* micro/mixed.c */ \
    X(alloc_churn)         /* micro/churn.c */ \
    X(alloc_exhaust)       /* micro/exhaust.c */ \
    X(alloc_capacity)      /* micro/alloc_capacity.c */ \
    X(alloc_bulk)          /* micro/bulk.c */ \
    X(start_up)            /* micro/start_up.c */ \
    X(enumerate)           /* micro/enumerate.c */ \
    X(field_bandwidth)     /* micro/field.c */ \
    X(dispatch)            /* micro/dispatch.c */ \
    X(fuse)                /* micro/fuse.c */ \
    X(ensemble)            /* micro/ensemble.c */ \
    X(queues)              /* micro/queues.c */ \
    X(launch)              /* micro/launch.c */ \
    X(host_access)         /* micro/host_access.c */ \
    X(save_load)           /* micro/save_load.c */ \
    X(extract)             /* micro/extract.c */ \
    X(evict)               /* micro/evict.c */ \
    X(convert)             /* micro/convert.c */ \
    X(map)                 /* micro/map.c */ \
    X(vector)              /* micro/vector.c */ \
    X(grid)                /* micro/grid.c */ \
    X(arrays)              /* micro/arrays.c */ \
    X(graph)               /* graph/benchmark.c */ \
    X(survey_alloc)        /* survey/alloc.c */ \
    X(survey_oom)          /* survey/oom.c */ \
    X(survey_work)         /* survey/work.c */ \
    X(survey_graph_init)   /* survey/graph.c */ \
    X(survey_graph_update) /* survey/graph.c */ \
    X(compact_synthetic)   /* micro/compact.c */ \
    X(compact_quality)     /* micro/compact_quality.c */ \
    X(compact_passes)      /* micro/compact_passes.c */ \
    X(capacity)            /* micro/capacity.c */ \
    X(app_wa_tor)          /* apps/wa-tor/benchmark.c */ \
    X(app_nbody)           /* apps/nbody/benchmark.c */ \
    X(app_collision)       /* apps/collision/benchmark.c */ \
    X(app_game_of_life)    /* apps/game-of-life/benchmark.c */ \
    X(app_generation)      /* apps/generation/benchmark.c */ \
    X(app_structure)       /* apps/structure/benchmark.c */ \
    X(app_barnes_hut)      /* apps/barnes-hut/benchmark.c */ \
    X(app_sugarscape)      /* apps/sugarscape/benchmark.c */ \
    X(app_traffic)         /* apps/traffic/benchmark.c */ \
    X(mark_graph)          /* mark/mark.c */ \
    X(mark_random)         /* mark/mark.c */ \
    X(mark_list)           /* mark/mark.c */ \
    X(mark_lists)          /* mark/mark.c */ \
    X(mark_hourglass)      /* mark/mark.c */ \
    X(mark_wide)           /* mark/mark.c */ \
    X(mark_single)         /* mark/mark.c */ \
    X(mark_vp_list)        /* mark/mark.c */ \
    X(mark_vp_arrays)      /* mark/mark.c */ \
    X(mark_synthetic)      /* mark/mark.c */ \
    X(pool_alloc)          /* pool/alloc.c */ \
    X(pool_buffers)        /* pool/buffers.c */ \
    X(pool_fit)            /* pool/fit.c */ \
    X(pool_trace)          /* pool/replay.c */ \
    X(pool_defrag)         /* pool/defrag.c */
/* clang-format on */

#define BENCH_DECLARE(name) extern const bench_descriptor bench_##name;
BENCH_REGISTRY(BENCH_DECLARE)
#undef BENCH_DECLARE

#endif
