/* run: 1 1 32 */
/* expected: 32 4 */
/* NVIDIA's ptxas 13.0 (driver 580): min(want, capacity - had) becomes min(want, had - capacity) where the
 * capacity is a constant that comes through a call. The second request gets 32 of the 4 that are left. */
typedef struct shape { uint class_id, capacity; } shape;
static __attribute__((noinline)) uint reserve(volatile __global uint *state, shape s, uint want) {
    uint had = atomic_add(state, s.class_id == 2u ? 380u : 0u);
    return had < s.capacity ? min(want, s.capacity - had) : 0u;
}
__kernel void k(__global uint *out, uint n) {
    shape s = {2u, 384u};
    uint first = 0, second = 0;
    if (n) first = reserve(out + 8, s, n);
    if (n) second = reserve(out + 8, s, n);
    out[0] = first;
    out[1] = second;
}
