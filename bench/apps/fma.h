/* Loops of sequential C that are compiled twice, since fmaf() is a slow call without the
 * instruction: for any machine, and on x86 for those with AVX2 and FMA; the machine decides when
 * they run. Results are the same to the bit.
 *
 *     static BENCH_INLINE void add_with(struct world *world) { ... }
 *     BENCH_TWO_LOOPS(add, struct world) // defines void add(struct world *)
 *
 * Read first: nothing.
 */
#ifndef BENCH_FMA_H
#define BENCH_FMA_H

#if defined(__GNUC__)
#define BENCH_INLINE inline __attribute__((always_inline))
#else
#define BENCH_INLINE inline
#endif

#if defined(__x86_64__) && defined(__GNUC__)
#define BENCH_TWO_LOOPS(name, type)                                                                \
    __attribute__((target("avx2,fma"))) static void name##_fma(type *world) {                      \
        name##_with(world);                                                                        \
    }                                                                                              \
    static void name(type *world) {                                                                \
        if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {                     \
            name##_fma(world);                                                                     \
        } else {                                                                                   \
            name##_with(world);                                                                    \
        }                                                                                          \
    }
#else
#define BENCH_TWO_LOOPS(name, type)                                                                \
    static void name(type *world) {                                                                \
        name##_with(world);                                                                        \
    }
#endif

#endif
