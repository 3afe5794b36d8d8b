/* Kernels of the benchmark grid, compiled after hash.clh. The classes Cells and Body come from
 * grid.c.
 *
 * Coordinates are multiples of 1/1024 below 8192, so that distances up to 2 have exact squares:
 * whoever compares them finds the same. They follow from the body's number and the round, for the
 * host, too (place_along in grid.c).
 */
static uint place_along(uint number, uint along, uint round, uint side) {
    uint speed = bench_hash(number, along + 2u) % 205u;
    return (bench_hash(number, along) % side + round * speed) % side;
}

static float2 place_of_number(uint number, uint round, uint side) {
    return (float2)((float)place_along(number, 0u, round, side),
                    (float)place_along(number, 1u, round, side)) *
           (1.0f / 1024.0f);
}

float3 place_of(CLUMP_HEAP_NO_ALLOC, Body body) {
    return (float3)(Body_x(body), Body_y(body), 0.0f);
}

CLUMP_GRID_DEFINE(Cells, Body, place_of);

__kernel void grid_make(CLUMP_HEAP, __global Cells *grid, uint columns, __global uint *faults) {
    CLUMP_FOR_EACH_NEW(Cells, self, i) {
        grid[i] = self;
        if (CLUMP_GRID_MAKE(Cells, self, (float3)(0.0f), 1.0f, (uint3)(columns, columns, 1u)) !=
            CLUMP_DONE)
            atomic_inc(faults);
    }
}

__kernel void bodies_make(CLUMP_HEAP) {
    CLUMP_FOR_EACH_NEW(Body, self, i) Body_number(self) = i;
}

__kernel void bodies_move(CLUMP_HEAP_NO_ALLOC, uint round, uint side) {
    CLUMP_FOR_EACH(Body, self) {
        float2 place = place_of_number(Body_number(self), round, side);
        Body_x(self) = place.x;
        Body_y(self) = place.y;
    }
}

__kernel void grid_keys(CLUMP_HEAP_NO_ALLOC, __global uint *keys, __global const Cells *grid) {
    CLUMP_FOR_EACH_KEYED(Body, self, i) keys[i] = CLUMP_GRID_KEY(Cells, grid[0], self);
}

__kernel void grid_room(CLUMP_HEAP, __global const Cells *grid, uint bodies,
                        __global uint *faults) {
    if (get_global_id(0) == 0 && Cells_sorted_resize(grid[0], bodies) != CLUMP_DONE)
        atomic_inc(faults);
}

__kernel void grid_note(CLUMP_HEAP_NO_ALLOC, CLUMP_NUMBERS, __global const Cells *grid,
                        __global uint *faults) {
    uint failed = CLUMP_GRID_NOTE(Cells, grid[0]);
    if (failed) atomic_add(faults, failed);
}

/* Others within a distance of 1. */
__kernel void grid_near(CLUMP_HEAP_NO_ALLOC, __global const Cells *grid, __global uint *near) {
    CLUMP_FOR_EACH(Body, self) {
        float2 at = (float2)(Body_x(self), Body_y(self));
        uint count = 0;
        CLUMP_FOR_NEAR(Body, other, grid[0], place_of(clump_heap, self), 1.0f) {
            float2 way = (float2)(Body_x(other), Body_y(other)) - at;
            count += other.id != self.id && way.x * way.x + way.y * way.y <= 1.0f;
        }
        near[Body_number(self)] = count;
    }
}

/* ---- The same with plain arrays: bodies counted by cell, sums of the counts, bodies put in their
 * places. */

__kernel void plain_count(CLUMP_HEAP_NO_ALLOC, __global const float2 *places, uint bodies,
                          uint columns, __global uint *counts, __global uint *ranks) {
    uint number = (uint)get_global_id(0);
    if (number >= bodies) return;
    ranks[number] = atomic_inc(&counts[(uint)places[number].y * columns + (uint)places[number].x]);
}

__kernel void plain_place(CLUMP_HEAP_NO_ALLOC, __global float2 *places, uint bodies, uint round,
                          uint side) {
    uint number = (uint)get_global_id(0);
    if (number < bodies) places[number] = place_of_number(number, round, side);
}

/* counts become sums of all before, in their group; and the sum of each group. */
BENCH_SUMS_KERNEL void plain_sums(CLUMP_HEAP_NO_ALLOC, __global uint *counts, __global uint *sums) {
    __local uint of[BENCH_SUMS_GROUP];
    uint at = (uint)get_global_id(0), value = counts[at], sum = bench_sum_of_group(value, of);
    counts[at] = sum - value;
    if (get_local_id(0) == BENCH_SUMS_GROUP - 1u) sums[get_group_id(0)] = sum;
}

/* One group. */
BENCH_SUMS_KERNEL void plain_sums_of_sums(CLUMP_HEAP_NO_ALLOC, __global uint *sums, uint groups) {
    __local uint of[BENCH_SUMS_GROUP];
    bench_sums_of_sums(sums, groups, of);
}

static uint plain_start(__global const uint *counts, __global const uint *sums, uint cell) {
    return counts[cell] + sums[cell / BENCH_SUMS_GROUP];
}

__kernel void plain_sort(CLUMP_HEAP_NO_ALLOC, __global const float2 *places, uint bodies,
                         uint columns, __global const uint *counts, __global const uint *ranks,
                         __global const uint *sums, __global float2 *sorted,
                         __global uint *numbers) {
    uint number = (uint)get_global_id(0);
    if (number >= bodies) return;
    uint cell = (uint)places[number].y * columns + (uint)places[number].x;
    uint at = plain_start(counts, sums, cell) + ranks[number];
    sorted[at] = places[number];
    numbers[at] = number;
}

__kernel void plain_near(CLUMP_HEAP_NO_ALLOC, __global const float2 *sorted, uint bodies,
                         uint columns, __global const uint *counts, __global const uint *sums,
                         __global const uint *numbers, __global uint *near) {
    uint me = (uint)get_global_id(0), count = 0u;
    if (me >= bodies) return;
    float2 at = sorted[me];
    uint x = (uint)at.x, y = (uint)at.y, from = max(x, 1u) - 1u, to = min(x + 2u, columns);
    for (uint row = max(y, 1u) - 1u; row <= min(y + 1u, columns - 1u); row++) {
        uint end = plain_start(counts, sums, row * columns + to);
        for (uint other = plain_start(counts, sums, row * columns + from); other < end; other++) {
            float2 way = sorted[other] - at;
            count += other != me && way.x * way.x + way.y * way.y <= 1.0f;
        }
    }
    near[numbers[me]] = count;
}
