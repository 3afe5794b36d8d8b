/* run: 1 1 200 */
/* expected: 100 */
/* The smallest index that satisfies a condition, by a loop that goes down. */
uint filled(__local const uint *table, uint i, uint limit) {
    return i > limit ? 0 : table[i];
}

__kernel void k(__global uint *out, uint n) {
    __local uint table[512];
    uint least = 0xffffffffu;
    for (uint i = get_local_id(0); i < n; i += get_local_size(0)) table[i] = i < 100 ? 0 : i;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint i = n; i > 0; i--)
        if (filled(table, i - 1, 150)) least = i - 1;
    out[0] = least;
}
