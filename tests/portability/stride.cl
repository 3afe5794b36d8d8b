/* run: 256 256 1 */
/* expected: 256 7 7 */
/* A loop of a helper that ends after one round or, if the size of the group were 0, never: its bound is 1 where it is called. */
void sum(uint words, __local uint *a, __local uint *b) {
    uint me = get_local_id(0), items = get_local_size(0), mine = 0;
    for (uint i = me; i < words; i += items) a[i] = b[i] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint i = me; i < 256u * get_num_groups(0); i += items) mine += 1u;
    atomic_add(&b[0], mine);
    barrier(CLK_LOCAL_MEM_FENCE);
}

__kernel void k(__global uint *out, uint n) {
    __local uint a[256], b[256];
    a[get_local_id(0)] = b[get_local_id(0)] = 7;
    barrier(CLK_LOCAL_MEM_FENCE);
    sum(1u, a, b);
    if (get_local_id(0) == 0) {
        out[0] = b[0];
        out[1] = a[1];
        out[2] = b[200];
    }
}
