/* Kernels of the benchmark graph without objects, compiled after sums.clh and graph.cl: the
 * neighbours of vertex v are target[offset[v] .. offset[v + 1] - 1]. They do what those of graph.cl
 * do.
 *
 * For a batch of edges the arrays are made anew: how many edges each vertex gets or loses; sums of
 * what it has then, which are the new offsets; a copy of what stays; and what comes. That is what a
 * program without arrays that grow does.
 */
__kernel void plain_visit(CLUMP_HEAP_NO_ALLOC, __global const uint *offset,
                          __global const uint *target, uint count, __global uint *distance,
                          uint level, __global uint *last) {
    uint v = (uint)get_global_id(0), found = 0u;
    if (v >= count || distance[v] != level) return;
    for (uint i = offset[v]; i < offset[v + 1u]; i++) {
        uint next = target[i];
        if (distance[next] <= level + 1u) continue;
        distance[next] = level + 1u;
        found = 1u;
    }
    if (found) *last = level + 1u;
}

__kernel void plain_hook(CLUMP_HEAP_NO_ALLOC, __global const uint *offset,
                         __global const uint *target, uint count, __global uint *label, uint round,
                         __global uint *last) {
    uint v = (uint)get_global_id(0), found = 0u;
    if (v >= count) return;
    uint mine = label[v];
    for (uint i = offset[v]; i < offset[v + 1u]; i++) {
        uint theirs = label[target[i]];
        if (mine >= theirs) continue;
        atomic_min(&label[theirs], mine);
        found = 1u;
    }
    if (found) *last = round;
}

__kernel void plain_jump(CLUMP_HEAP_NO_ALLOC, __global uint *label, uint count) {
    uint v = (uint)get_global_id(0);
    if (v >= count) return;
    uint at = label[v];
    for (uint i = 0u; i < STEPS; i++) {
        uint next = label[at];
        if (next == at) break;
        at = next;
    }
    label[v] = at;
}

/* ---- Batches: counts of the vertices are cleared before ---- */

__kernel void plain_count(CLUMP_HEAP_NO_ALLOC, __global const uint *ends, uint count,
                          __global uint *counts) {
    uint item = (uint)get_global_id(0);
    if (item < count) atomic_inc(&counts[ends[item]]);
}

/* FAR where an edge was. */
__kernel void plain_delete(CLUMP_HEAP_NO_ALLOC, __global const uint *ends, uint count,
                           __global uint *counts, __global const uint *offset,
                           __global uint *target, __global uint *faults) {
    uint item = (uint)get_global_id(0);
    if (item >= count) return;
    uint from = ends[item], to = ends[item ^ 1u], end = offset[from + 1u], i = offset[from];
    while (i < end && target[i] != to) i++;
    if (i == end) {
        atomic_inc(faults);
        return;
    }
    target[i] = FAR;
    atomic_inc(&counts[from]);
}

static inline uint plain_degree(__global const uint *offset, __global const uint *counts,
                                uint vertices, uint sign, uint v) {
    return v < vertices ? offset[v + 1u] - offset[v] + counts[v] * sign : 0u;
}

/* sign: 1, or all bits for edges that leave. */
BENCH_SUMS_KERNEL void plain_sums(CLUMP_HEAP_NO_ALLOC, __global const uint *offset,
                                  __global const uint *counts, uint vertices, uint sign,
                                  __global uint *sums) {
    __local uint of[BENCH_SUMS_GROUP];
    uint sum = bench_sum_of_group(
        plain_degree(offset, counts, vertices, sign, (uint)get_global_id(0)), of);
    if (get_local_id(0) == BENCH_SUMS_GROUP - 1u) sums[get_group_id(0)] = sum;
}

BENCH_SUMS_KERNEL void plain_sums_of_sums(CLUMP_HEAP_NO_ALLOC, __global uint *sums, uint groups) {
    __local uint of[BENCH_SUMS_GROUP];
    bench_sums_of_sums(sums, groups, of);
}

/* The new offsets, one more than there are vertices; what stays, at its new place; and counts
 * become where what comes begins. */
BENCH_SUMS_KERNEL void plain_move(CLUMP_HEAP_NO_ALLOC, __global const uint *offset,
                                  __global const uint *target, uint vertices, uint sign,
                                  __global const uint *sums, __global uint *counts,
                                  __global uint *new_offset, __global uint *new_target) {
    __local uint of[BENCH_SUMS_GROUP];
    uint v = (uint)get_global_id(0), degree = plain_degree(offset, counts, vertices, sign, v);
    uint at = sums[get_group_id(0)] + bench_sum_of_group(degree, of) - degree;
    if (v > vertices) return;
    new_offset[v] = at;
    if (v == vertices) return;
    for (uint i = offset[v]; i < offset[v + 1u]; i++) {
        if (target[i] == FAR) continue;
        new_target[at] = target[i];
        at++;
    }
    counts[v] = at;
}

__kernel void plain_insert(CLUMP_HEAP_NO_ALLOC, __global const uint *ends, uint count,
                           __global uint *counts, __global uint *target) {
    uint item = (uint)get_global_id(0);
    if (item < count) target[atomic_inc(&counts[ends[item]])] = ends[item ^ 1u];
}
