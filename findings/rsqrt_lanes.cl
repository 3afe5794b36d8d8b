/* run: 17 17 7 */
/* expected: 1052869776 1052869776 1052869776 1052869776 */
/* Each work-item of a group computes the same number; the last one writes first. Two units in the last place are allowed. */
__kernel void k(__global uint *out, uint n) {
    uint lane = (uint)get_local_id(0);
    out[(lane + 1) % 17] = as_uint(rsqrt((float)(n + out[lane + 32])));
}
