/* Kernels in OpenCL C that use malloc(), realloc() and free(). They know the heap as a parameter
 * with the name `heap`, and nothing else of Clump.
 *
 * Each work-item collects the divisors of its number in an array that grows. Another launch adds
 * them up, and frees the arrays. Between launches, handles stand for pointers. */
__kernel void divisors(__global void *heap, __global uint *lists, __global uint *counts) {
    uint me = (uint)get_global_id(0), n = me + 1u, room = 4, count = 0;
    __global uint *list = malloc(room * sizeof(uint));
    for (uint d = 1; list && d <= n / 2u; d++) {
        if (n % d) continue;
        if (count == room) {
            __global uint *more = realloc(list, (room *= 2u) * sizeof(uint));
            if (!more) free(list);
            list = more;
        }
        if (list) list[count++] = d;
    }
    lists[me] = clump_heap_raw_of(heap, list);
    counts[me] = list ? count : 0u;
}

__kernel void sums(__global void *heap, __global const uint *lists, __global const uint *counts,
                   __global uint *sums) {
    uint me = (uint)get_global_id(0), sum = 0;
    __global uint *list = clump_heap_raw_at(heap, lists[me]);
    for (uint i = 0; i < counts[me]; i++) sum += list[i];
    free(list);
    sums[me] = sum;
}
