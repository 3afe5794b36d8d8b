/* run: 65536 256 64 */
/* expected: 4194304 0 0 */
/* NVIDIA's ptxas 13.0 (driver 580): work-items that fell apart load the same volatile word at different
 * times and come together again. It takes what they loaded for the same and makes one addition of theirs
 * to out[1] and out[2]. Right: what each counted for itself is what was added, so 0 is left. */
static __attribute__((noinline)) uint work(volatile __global uint *word, uint random) {
    for (uint tries = 0; tries < 64u && (random & 7u) != 0u; tries++) {
        uint old = *word;
        if (atomic_cmpxchg(word, old, old + random) == old) random >>= 3;
        random = random * 1664525u + 1013904223u;
    }
    return random;
}
__kernel void k(__global uint *out, uint n) {
    volatile __global uint *at = out + 3;
    uint random = (uint)get_global_id(0) * 2654435761u, first = 0, second = 0, seen = 0;
    for (uint i = 0; i < n; i++) {
        uint where = *at & 1u;
        uint old = atomic_add(out + 1 + where, 1u);
        if (where) second++; else first++;
        if (old & 1u) random = work(out + 5, random);
        if (random >> 31) {
            random = work(out + 6, random ^ old);
            *at = random >> 30 & 1u;
        }
        seen |= random;
    }
    atomic_add(out, n);
    if (first) atomic_sub(out + 1, first);
    if (second) atomic_sub(out + 2, second);
    if (seen == 0x80000001u) out[4] = seen; /* so that what the additions return is needed */
}
