/* What the sequential programs of collision and barnes-hut compute with: rules.clh written
 * again, for the host.
 *
 * Read first: README.md. Read next: bench/apps/fma.h.
 */
#ifndef COLLISION_ARITHMETIC_H
#define COLLISION_ARITHMETIC_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "bench/apps/fma.h"

/* 1 / sqrt(a): a guess from the bits, and two steps of Newton's method. */
static BENCH_INLINE float collision_inverse_sqrt(float a) {
    float half_a = -0.5f * a, y;
    uint32_t bits;
    memcpy(&bits, &a, sizeof bits);
    bits = 0x5f3759dfu - (bits >> 1);
    memcpy(&y, &bits, sizeof y);
    y = y * fmaf(half_a * y, y, 1.5f);
    return y * fmaf(half_a * y, y, 1.5f);
}

/* 1 / a for a > 0, likewise. */
static inline float collision_inverse(float a) {
    uint32_t bits;
    float y;
    memcpy(&bits, &a, sizeof bits);
    bits = 0x7ef311c7u - bits;
    memcpy(&y, &bits, sizeof y);
    for (int i = 0; i < 4; i++) {
        y = fmaf(y, fmaf(-a, y, 1.0f), y);
    }
    return y;
}

#endif
