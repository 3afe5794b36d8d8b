/* Kernels of the survey's graph tests: the neighbours of vertex v are lengths[v] numbers in raw
 * memory, whose handle is handles[v]. A vertex without neighbours has no memory. What is wrong adds
 * to *faults.
 *
 * An update is vertex by vertex, one work-item each: those of vertex v are to[begin[v] .. begin[v +
 * 1] - 1]. Memory is asked for in pages, powers of two of at least 16 bytes, and a list moves when
 * it needs another page.
 */
static inline uint page_bytes(uint length) {
    uint bytes = length * 4u;
    return bytes <= 16u ? 16u : 1u << (32u - clz(bytes - 1u));
}

static inline __global uint *list_of(CLUMP_HEAP_NO_ALLOC, uint handle) {
    return (__global uint *)clump_raw_at(handle);
}

__kernel void lists_make(CLUMP_HEAP, __global uint *handles, __global uint *lengths,
                         __global const uint *offset, __global const uint *target, uint count,
                         uint has_pages, __global uint *faults) {
    uint v = (uint)get_global_id(0);
    if (v >= count) return;
    uint begin = offset[v], n = offset[v + 1u] - begin;
    lengths[v] = n;
    handles[v] = 0u;
    if (n == 0u) return;
    __global uint *list = (__global uint *)clump_malloc(has_pages ? page_bytes(n) : n * 4u);
    handles[v] = clump_raw_of(list);
    if (!list) {
        atomic_inc(faults);
        return;
    }
    for (uint i = 0u; i < n; i++) list[i] = target[begin + i];
}

__kernel void lists_free(CLUMP_HEAP, __global uint *handles, uint count) {
    uint v = (uint)get_global_id(0);
    if (v >= count) return;
    clump_free(list_of(clump_heap, handles[v])); /* handle 0 is null */
    handles[v] = 0u;
}

__kernel void lists_insert(CLUMP_HEAP, __global uint *handles, __global uint *lengths,
                           __global const uint *begin, __global const uint *to, uint count,
                           __global uint *faults) {
    uint v = (uint)get_global_id(0);
    if (v >= count || begin[v] == begin[v + 1u]) return;
    uint first = begin[v], more = begin[v + 1u] - first, n = lengths[v];
    __global uint *list = list_of(clump_heap, handles[v]);
    if (!list || page_bytes(n + more) != page_bytes(n)) {
        list = (__global uint *)clump_realloc(list, page_bytes(n + more));
        if (!list) { /* the old one stays */
            atomic_inc(faults);
            return;
        }
        handles[v] = clump_raw_of(list);
    }
    for (uint i = 0u; i < more; i++) list[n + i] = to[first + i];
    lengths[v] = n + more;
}

/* The last one takes the place of the one that leaves. */
__kernel void lists_delete(CLUMP_HEAP, __global uint *handles, __global uint *lengths,
                           __global const uint *begin, __global const uint *to, uint count,
                           __global uint *faults) {
    uint v = (uint)get_global_id(0);
    if (v >= count || begin[v] == begin[v + 1u]) return;
    uint before = lengths[v], n = before;
    __global uint *list = list_of(clump_heap, handles[v]);
    for (uint k = begin[v]; k < begin[v + 1u]; k++) {
        uint i = 0u;
        while (i < n && list[i] != to[k]) i++;
        if (i == n) {
            atomic_inc(faults);
            continue;
        }
        n--;
        list[i] = list[n];
    }
    lengths[v] = n;
    if (n == 0u) {
        clump_free(list);
        handles[v] = 0u;
    } else if (page_bytes(n) != page_bytes(before)) {
        list = (__global uint *)clump_realloc(list, page_bytes(n));
        if (list)
            handles[v] = clump_raw_of(list);
        else
            atomic_inc(faults);
    }
}

/* The neighbours of each vertex from begin[v] on, as many as are expected there. */
__kernel void lists_read(CLUMP_HEAP_NO_ALLOC, __global const uint *handles,
                         __global const uint *lengths, __global const uint *begin, uint count,
                         __global uint *entries) {
    uint v = (uint)get_global_id(0);
    if (v >= count || handles[v] == 0u) return;
    __global const uint *list = list_of(clump_heap, handles[v]);
    uint at = begin[v], n = min(lengths[v], begin[v + 1u] - at);
    for (uint i = 0u; i < n; i++) entries[at + i] = list[i];
}
