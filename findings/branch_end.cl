/* run: 16 16 1 */
/* expected: 0 8 8 */
/* Two branches, the same for all work-items, with a barrier each that is not their end. */
__kernel void k(__global uint *out, uint n) {
    uint me = (uint)get_local_id(0);
    if (n == 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (me < 8) atomic_add(&out[0], 1u);
    }
    if (n == 1) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (me < 8) atomic_add(&out[1], 1u);
    }
    if (me < 8) atomic_add(&out[2], 1u);
}
