/* Whether a device rounds quotients and square roots of float correctly that does not say so
 * (CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT).
 *
 * It compares with double, of which OpenCL rounds both correctly. Rounded once more, to float, such
 * a result is the float nearest to the exact one, since double has 2 * 24 + 2 bits or more (S. A.
 * Figueroa, When is double rounding innocuous?, 1995).
 *
 * Read first: host/heap/reproducible.c.
 */
#define DIVIDE_TURNS 16u

/* The finaliser of MurmurHash3. */
static inline uint4 divide_hash(uint4 x) {
    x = (x ^ x >> 16u) * 0x85ebca6bu;
    x = (x ^ x >> 13u) * 0xc2b2ae35u;
    return x ^ x >> 16u;
}

/* Floats with any bits. In odd turns their exponents are near each other, so that few quotients
 * overflow. */
static inline float4 divide_operand(uint4 bits, uint4 others, uint turn) {
    return as_float4(turn & 1u ? (bits & 0x807fffffu) | (120u + (others & 15u)) << 23u : bits);
}

/* Is one found where the other is right? The bits of NaN may differ. */
static inline uint divide_differs(float found, float right) {
    return as_uint(found) != as_uint(right) && !(isnan(found) && isnan(right));
}
static inline uint divide_differ(float4 found, float4 right) {
    return divide_differs(found.x, right.x) + divide_differs(found.y, right.y) +
           divide_differs(found.z, right.z) + divide_differs(found.w, right.w);
}

__kernel void clumpi_divide_check(__global uint *wrong) {
    uint4 seed = (uint4)(0u, 1u, 2u, 3u) + 4u * (uint)get_global_id(0);
    uint count = 0;
    for (uint turn = 0; turn < DIVIDE_TURNS; turn++) {
        const uint4 a = divide_hash(seed), b = divide_hash(a + 1u), c = divide_hash(b + 2u);
        const float4 x = divide_operand(a, c, turn), y = divide_operand(b, c >> 4u, turn);
        const float4 root = fabs(x);
        count += divide_differ(x / y, convert_float4(convert_double4(x) / convert_double4(y)));
        count += divide_differ(sqrt(root), convert_float4(sqrt(convert_double4(root))));
        count += divide_differs(y.x / x.x, (float)((double)y.x / (double)x.x));
        count += divide_differs(sqrt(root.y), (float)sqrt((double)root.y));
        seed = c;
    }
    if (count) atomic_add(wrong, count);
}
