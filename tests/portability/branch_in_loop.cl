/* run: 16 16 1 */
/* expected: 16 7 */
/* A branch with a barrier in a loop, here by `continue`. */
__kernel void k(__global uint *out, uint n) {
    uint me = (uint)get_local_id(0);
    for (uint c = 0; c < 3; c++) {
        if (c == n) continue;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (me < 8) {
            atomic_add(&out[0], 1u);
            atomic_max(&out[1], me);
        }
    }
}
