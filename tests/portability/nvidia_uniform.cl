/* run: 65536 256 64 */
/* expected: 4194304 0 0 */
/* NVIDIA's ptxas 13.0 (driver 580): work-items that fell apart load the same volatile word at different
 * times and come together again. It takes what they loaded for the same and makes one addition of theirs
 * to out[1] and out[2]. Right: what each counted for itself is what was added, so 0 is left. */
__kernel void k(__global uint *out, uint n) {
    volatile __global uint *at = out + 3;
    uint random = (uint)get_global_id(0) * 2654435761u, counted[2] = {0, 0}, seen = 0;
    for (uint i = 0; i < n; i++) {
        for (uint spins = random >> 28; spins; spins--) random = random * 1664525u + 1013904223u;
        random = random * 1664525u + 1013904223u;
        if (random >> 31) *at = random >> 30 & 1u;
        uint where = *at;
        seen |= atomic_add(out + 1 + where, 1u);
        counted[where]++;
    }
    atomic_add(out, n);
    atomic_sub(out + 1, counted[0]);
    atomic_sub(out + 2, counted[1]);
    if (seen == 0x80000001u) out[4] = seen; /* so that what the additions return is needed */
}
