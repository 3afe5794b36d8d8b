/* Kernels of the benchmark vector. The classes Trail, Page and List come from vector.c. Each
 * work-item appends its number.
 *
 * What is wrong adds to *faults. `seen` counts how often each number was found.
 */
CLUMP_VECTOR_DEFINE(Trail, Page, uint);

__kernel void make_trails(CLUMP_HEAP, __global Trail *trails) {
    CLUMP_FOR_EACH_NEW(Trail, self, i) trails[i] = self;
}

__kernel void make_list(CLUMP_HEAP, __global List *list) {
    CLUMP_FOR_EACH_NEW(List, self, i) list[i] = self;
}

/* One work-item: trail 0 has a first page for all, trail 1 one for `first`; the list has room for
 * all. */
__kernel void begin(CLUMP_HEAP, __global const Trail *trails, __global const List *list, uint count,
                    uint first, __global uint *faults) {
    if (get_global_id(0)) return;
    if (CLUMP_VECTOR_MAKE(Trail, trails[0], count) ||
        CLUMP_VECTOR_RESERVE(Trail, trails[0], count) ||
        CLUMP_VECTOR_MAKE(Trail, trails[1], first) || List_items_reserve(list[0], count))
        *faults += 1;
}

__kernel void empty(CLUMP_HEAP, __global const Trail *trails, __global const List *list,
                    uint count) {
    if (get_global_id(0)) return;
    CLUMP_VECTOR_CLEAR(Trail, trails[0]);
    CLUMP_VECTOR_RESERVE(Trail, trails[0], count);
    CLUMP_VECTOR_CLEAR(Trail, trails[1]);
    List_items_resize(list[0], 0);
}

__kernel void append(CLUMP_HEAP, __global const Trail *trails, uint count, __global uint *faults) {
    uint item = (uint)get_global_id(0);
    if (item < count && CLUMP_VECTOR_APPEND(Trail, trails[0], item) == CLUMP_NO_ROOM)
        atomic_inc(faults);
}

/* is_in: it was appended in a launch before. */
__kernel void append_growing(CLUMP_HEAP, __global const Trail *trails, uint count,
                             __global uchar *is_in, __global uint *missing) {
    uint item = (uint)get_global_id(0);
    if (item >= count || is_in[item]) return;
    if (CLUMP_VECTOR_APPEND(Trail, trails[1], item) == CLUMP_NO_ROOM)
        atomic_inc(missing);
    else
        is_in[item] = 1;
}

__kernel void append_list(CLUMP_HEAP_NO_ALLOC, __global const List *list, uint count,
                          __global uint *faults) {
    uint item = (uint)get_global_id(0);
    if (item < count && List_items_append(list[0], item) == CLUMP_NO_ROOM) atomic_inc(faults);
}

__kernel void plain_append(CLUMP_HEAP_NO_ALLOC, __global uint *plain, uint count,
                           __global uint *length) {
    uint item = (uint)get_global_id(0);
    if (item < count) plain[atomic_inc(length)] = item;
}

static void see(__global uint *seen, uint count, uint number, __global uint *faults) {
    if (number >= count || atomic_inc(&seen[number])) atomic_inc(faults);
}

__kernel void read(CLUMP_HEAP_NO_ALLOC, __global const Trail *trails, uint which, uint count,
                   __global uint *seen, __global uint *faults) {
    uint item = (uint)get_global_id(0);
    if (item == 0 && CLUMP_VECTOR_LENGTH(Trail, trails[which]) != count) atomic_inc(faults);
    if (item < count) see(seen, count, CLUMP_VECTOR_AT(Trail, trails[which], item), faults);
}

__kernel void read_list(CLUMP_HEAP_NO_ALLOC, __global const List *list, uint count,
                        __global uint *seen, __global uint *faults) {
    uint item = (uint)get_global_id(0);
    if (item == 0 && List_items_length(list[0]) != count) atomic_inc(faults);
    if (item < count) see(seen, count, List_items(list[0], item), faults);
}

__kernel void plain_read(CLUMP_HEAP_NO_ALLOC, __global const uint *plain, uint count,
                         __global uint *seen, __global uint *faults) {
    uint item = (uint)get_global_id(0);
    if (item < count) see(seen, count, plain[item], faults);
}
