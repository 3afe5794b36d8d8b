/* run: 16 16 1 */
/* expected: 0 16 16 */
/* Two branches with barriers in a row. */
__kernel void k(__global uint *out, uint n) {
    if (n == 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        atomic_add(&out[0], 1u);
    }
    if (n == 1) {
        barrier(CLK_LOCAL_MEM_FENCE);
        atomic_add(&out[1], 1u);
    }
    atomic_add(&out[2], 1u);
}
