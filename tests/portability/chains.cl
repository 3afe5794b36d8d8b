/* run: 64 64 1 */
/* expected: 0, within a second. PoCL 3.1 takes twice as long for each function more: it goes through all chains of calls. */
#define CALLS(f, g) __attribute__((noinline)) uint f(uint x) { return g(x) ^ g(x ^ 1u); }
__attribute__((noinline)) uint f0(uint x) { return x * x; }
CALLS(f1, f0) CALLS(f2, f1) CALLS(f3, f2) CALLS(f4, f3) CALLS(f5, f4) CALLS(f6, f5) CALLS(f7, f6) CALLS(f8, f7) CALLS(f9, f8)
CALLS(f10, f9) CALLS(f11, f10) CALLS(f12, f11) CALLS(f13, f12) CALLS(f14, f13) CALLS(f15, f14) CALLS(f16, f15) CALLS(f17, f16)
CALLS(f18, f17) CALLS(f19, f18) CALLS(f20, f19) CALLS(f21, f20) CALLS(f22, f21)

/* Not one of them is called when it runs. */
__kernel void k(__global uint *out, uint n) {
    out[0] = n == 12345u ? f22(n) : 0u;
}
