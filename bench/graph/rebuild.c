/* A graph in plain arrays of the device, which are made anew for each batch of edges. See
 * rebuild.h. */
#include "rebuild.h"

#define GROUP 256u

static int set(graph_rebuild *p, size_t kernel, uint32_t index, cl_uint value) {
    return bench_rig_arg(p->rig, p->first + kernel, index, sizeof value, &value);
}

static int set_buffer(graph_rebuild *p, size_t kernel, uint32_t index, cl_mem buffer) {
    return bench_rig_arg(p->rig, p->first + kernel, index, sizeof buffer, &buffer);
}

/* What does not change. */
static int set_args(graph_rebuild *p, cl_mem ends_at, cl_mem faults) {
    const struct {
        size_t kernel;
        uint32_t index;
        cl_mem buffer;
    } buffers[] = {{GRAPH_PLAIN_COUNT, 0, ends_at},  {GRAPH_PLAIN_COUNT, 2, p->counts},
                   {GRAPH_PLAIN_DELETE, 0, ends_at}, {GRAPH_PLAIN_DELETE, 2, p->counts},
                   {GRAPH_PLAIN_DELETE, 5, faults},  {GRAPH_PLAIN_SUMS, 1, p->counts},
                   {GRAPH_PLAIN_SUMS, 4, p->sums},   {GRAPH_PLAIN_SUMS_OF_SUMS, 0, p->sums},
                   {GRAPH_PLAIN_MOVE, 4, p->sums},   {GRAPH_PLAIN_MOVE, 5, p->counts},
                   {GRAPH_PLAIN_INSERT, 0, ends_at}, {GRAPH_PLAIN_INSERT, 2, p->counts}};
    for (size_t i = 0; i < sizeof buffers / sizeof buffers[0]; i++)
        if (set_buffer(p, buffers[i].kernel, buffers[i].index, buffers[i].buffer)) return -1;
    return set(p, GRAPH_PLAIN_COUNT, 1, p->ends) || set(p, GRAPH_PLAIN_DELETE, 1, p->ends) ||
           set(p, GRAPH_PLAIN_INSERT, 1, p->ends) || set(p, GRAPH_PLAIN_SUMS, 2, p->vertices) ||
           set(p, GRAPH_PLAIN_MOVE, 2, p->vertices) ||
           set(p, GRAPH_PLAIN_SUMS_OF_SUMS, 1, p->groups);
}

int graph_rebuild_create(graph_rebuild *p, bench_rig *rig, size_t first, const graph *g,
                         const graph_batches *batches, cl_mem ends_at, cl_mem faults) {
    const size_t offsets = (g->vertices + 1ul) * sizeof(cl_uint);
    const size_t entries = g->entries + 2ul * batches->edges * batches->count;
    *p = (graph_rebuild){.rig = rig,
                         .first = first,
                         .vertices = g->vertices,
                         .groups = g->vertices / GROUP + 1, /* and where the last one ends */
                         .ends = 2 * batches->edges};
    for (int i = 0; i < 2; i++)
        if (bench_rig_buffer(rig, offsets, &p->offset[i]) ||
            bench_rig_buffer(rig, entries * sizeof(cl_uint), &p->target[i]))
            return -1;
    return bench_rig_buffer(rig, offsets, &p->counts) ||
           bench_rig_buffer(rig, p->groups * sizeof(cl_uint), &p->sums) ||
           bench_rig_write(rig, p->offset[0], offsets, g->offset) ||
           bench_rig_write(rig, p->target[0], g->entries * sizeof(cl_uint), g->target) ||
           set_args(p, ends_at, faults);
}

/* From the arrays of now into the other ones. */
static int turn(graph_rebuild *p, cl_uint sign) {
    const uint32_t from = p->now, to = !p->now;
    p->now = to;
    return set_buffer(p, GRAPH_PLAIN_DELETE, 3, p->offset[from]) ||
           set_buffer(p, GRAPH_PLAIN_DELETE, 4, p->target[from]) ||
           set_buffer(p, GRAPH_PLAIN_SUMS, 0, p->offset[from]) ||
           set_buffer(p, GRAPH_PLAIN_MOVE, 0, p->offset[from]) ||
           set_buffer(p, GRAPH_PLAIN_MOVE, 1, p->target[from]) ||
           set_buffer(p, GRAPH_PLAIN_MOVE, 6, p->offset[to]) ||
           set_buffer(p, GRAPH_PLAIN_MOVE, 7, p->target[to]) ||
           set_buffer(p, GRAPH_PLAIN_INSERT, 3, p->target[to]) ||
           set(p, GRAPH_PLAIN_SUMS, 3, sign) || set(p, GRAPH_PLAIN_MOVE, 3, sign);
}

int graph_rebuild_step(graph_rebuild *p, int is_deletion, double *us) {
    const struct {
        size_t kernel;
        uint64_t items;
    } steps[] = {{is_deletion ? GRAPH_PLAIN_DELETE : GRAPH_PLAIN_COUNT, p->ends},
                 {GRAPH_PLAIN_SUMS, (uint64_t)p->groups * GROUP},
                 {GRAPH_PLAIN_SUMS_OF_SUMS, GROUP},
                 {GRAPH_PLAIN_MOVE, (uint64_t)p->groups * GROUP},
                 {GRAPH_PLAIN_INSERT, p->ends}};
    const size_t count = sizeof steps / sizeof steps[0] - (is_deletion ? 1 : 0);
    *us = 0;
    if (turn(p, is_deletion ? UINT32_MAX : 1) ||
        bench_rig_write(p->rig, p->counts, (p->vertices + 1ul) * sizeof(cl_uint), NULL))
        return -1;
    for (size_t i = 0; i < count; i++) {
        double part;
        if (bench_rig_launch(p->rig, p->first + steps[i].kernel, steps[i].items, &part)) return -1;
        *us += part;
    }
    return 0;
}

int graph_rebuild_read(graph_rebuild *p, uint32_t *offset, uint32_t *entries, uint32_t count) {
    return bench_rig_read(p->rig, p->offset[p->now], (p->vertices + 1ul) * sizeof *offset,
                          offset) ||
           bench_rig_read(p->rig, p->target[p->now], count * sizeof *entries, entries);
}
