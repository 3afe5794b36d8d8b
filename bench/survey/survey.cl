/* Kernels of the survey's tests on raw memory. Request `item` asks for survey_bytes(item) bytes;
 * handles[first + item] is what it got. A request fills all of its memory with words that follow
 * from its number, so two that got the same memory have overwritten each other's.
 *
 * The size of each request follows from its number and a seed, so the host knows it too (survey.c).
 */

/* low == high: all alike. */
static inline uint survey_bytes(uint item, uint low, uint high, uint seed) {
    return low == high ? high : low + bench_hash(item, seed) % (high - low + 1u);
}

static inline void survey_fill(__global uchar *p, uint bytes, uint item) {
    uint words = bytes / 4u;
    for (uint i = 0u; i < words; i++) ((__global uint *)p)[i] = bench_hash(item, i);
    for (uint i = words * 4u; i < bytes; i++) p[i] = (uchar)item;
}

/* One of `stride` work-items asks. */
__kernel void survey_make(CLUMP_HEAP, __global uint *handles, uint items, uint first, uint stride,
                          uint low, uint high, uint seed) {
    uint item = (uint)get_global_id(0);
    if (item % stride != 0u || item / stride >= items) return;
    item /= stride;
    handles[first + item] = clump_raw_of(clump_malloc(survey_bytes(item, low, high, seed)));
}

__kernel void survey_free(CLUMP_HEAP, __global const uint *handles, uint items, uint first,
                          uint stride) {
    uint item = (uint)get_global_id(0);
    if (item % stride != 0u || item / stride >= items) return;
    clump_free(clump_raw_at(handles[first + item / stride]));
}

__kernel void survey_write(CLUMP_HEAP_NO_ALLOC, __global const uint *handles, uint items,
                           uint first, uint low, uint high, uint seed) {
    uint item = (uint)get_global_id(0);
    if (item >= items || handles[first + item] == 0u) return;
    survey_fill((__global uchar *)clump_raw_at(handles[first + item]),
                survey_bytes(item, low, high, seed), item);
}

/* found[0]: nulls; [1]: words and bytes that are not what was written; [2]: memory that is too
 * small; [3], [4]: the smallest handle, and the largest. */
__kernel void survey_verify(CLUMP_HEAP_NO_ALLOC, __global const uint *handles, uint items,
                            uint first, uint low, uint high, uint seed, __global uint *found) {
    uint item = (uint)get_global_id(0);
    if (item >= items) return;
    uint bytes = survey_bytes(item, low, high, seed), words = bytes / 4u, wrong = 0u;
    if (handles[first + item] == 0u) {
        atomic_inc(&found[0]);
        return;
    }
    __global const uchar *p = (__global const uchar *)clump_raw_at(handles[first + item]);
    for (uint i = 0u; i < words; i++) wrong += ((__global const uint *)p)[i] != bench_hash(item, i);
    for (uint i = words * 4u; i < bytes; i++) wrong += p[i] != (uchar)item;
    if (wrong != 0u) atomic_add(&found[1], wrong);
    if (clump_usable_size(p) < bytes) atomic_inc(&found[2]);
    atomic_min(&found[3], handles[first + item]);
    atomic_max(&found[4], handles[first + item]);
}

/* Ask and fill: work whose output has a size that each work-item finds by itself. */
__kernel void survey_work(CLUMP_HEAP, __global uint *handles, uint items, uint first, uint low,
                          uint high, uint seed) {
    uint item = (uint)get_global_id(0);
    if (item >= items) return;
    uint bytes = survey_bytes(item, low, high, seed);
    __global uchar *p = (__global uchar *)clump_malloc(bytes);
    handles[first + item] = clump_raw_of(p);
    if (p) survey_fill(p, bytes, item);
}

/* ---- The same work by a prefix sum: sizes, their sums by group, the sums of these, then the
 * output ---- */

/* Room in units of 16 bytes, as raw memory is aligned. */
static inline uint survey_units(uint item, uint items, uint low, uint high, uint seed) {
    return item < items ? (survey_bytes(item, low, high, seed) + 15u) / 16u : 0u;
}

BENCH_SUMS_KERNEL void survey_count(CLUMP_HEAP_NO_ALLOC, __global uint *groups, uint items,
                                    uint low, uint high, uint seed) {
    __local uint sums[BENCH_SUMS_GROUP];
    uint sum =
        bench_sum_of_group(survey_units((uint)get_global_id(0), items, low, high, seed), sums);
    if (get_local_id(0) == 255u) groups[get_group_id(0)] = sum;
}

/* One group: groups[i] becomes the sum of those before it. */
BENCH_SUMS_KERNEL void survey_sums(CLUMP_HEAP_NO_ALLOC, __global uint *groups, uint count) {
    __local uint sums[BENCH_SUMS_GROUP];
    bench_sums_of_sums(groups, count, sums);
}

/* places[item]: where its output begins, in units. */
BENCH_SUMS_KERNEL void survey_place(CLUMP_HEAP_NO_ALLOC, __global const uint *groups, uint items,
                                    uint low, uint high, uint seed, __global uint *places,
                                    __global uchar *output) {
    __local uint sums[BENCH_SUMS_GROUP];
    uint item = (uint)get_global_id(0), mine = survey_units(item, items, low, high, seed);
    uint at = groups[get_group_id(0)] + bench_sum_of_group(mine, sums) - mine;
    if (item >= items) return;
    places[item] = at;
    survey_fill(output + (ulong)at * 16u, survey_bytes(item, low, high, seed), item);
}
