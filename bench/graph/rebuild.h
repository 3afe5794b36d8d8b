/* A graph in plain arrays of the device, which are made anew for each batch of edges.
 *
 * Invariant: the neighbours of vertex v are target[now][offset[now][v] .. offset[now][v + 1] - 1].
 *
 * Read first: bench/micro/rig.h, batches.h, plain.cl.
 */
#ifndef BENCH_GRAPH_REBUILD_H
#define BENCH_GRAPH_REBUILD_H

#include "batches.h"
#include "bench/micro/rig.h"

/* The kernels of a batch, in the order that the rig's program must have them. */
enum {
    GRAPH_PLAIN_COUNT,
    GRAPH_PLAIN_DELETE,
    GRAPH_PLAIN_SUMS,
    GRAPH_PLAIN_SUMS_OF_SUMS,
    GRAPH_PLAIN_MOVE,
    GRAPH_PLAIN_INSERT,
    GRAPH_PLAIN_KERNELS
};
#define GRAPH_PLAIN_NAMES                                                                          \
    "plain_count", "plain_delete", "plain_sums", "plain_sums_of_sums", "plain_move", "plain_insert"

typedef struct graph_rebuild {
    bench_rig *rig;
    size_t first; /* of these kernels in the rig */
    cl_uint vertices, groups, ends;
    cl_mem offset[2], target[2], counts, sums;
    uint32_t now; /* which of the two */
} graph_rebuild;

/* ends_at: two ends of each edge of a batch, as many as the batches have; faults: counts edges that
 * are not there.
 * Returns 0, or -1 with the reason in rig->error; so do the others. The rig releases the
 * buffers. */
int graph_rebuild_create(graph_rebuild *plain, bench_rig *rig, size_t first, const graph *graph,
                         const graph_batches *batches, cl_mem ends_at, cl_mem faults);

/* *us: what the launches took. Each batch changes `now`. */
int graph_rebuild_step(graph_rebuild *plain, int is_deletion, double *us);

/* offset: vertices + 1 numbers. entries: `count` numbers. */
int graph_rebuild_read(graph_rebuild *plain, uint32_t *offset, uint32_t *entries, uint32_t count);

#endif
