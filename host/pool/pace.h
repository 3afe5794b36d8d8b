/* How long copies take, learnt: ns = fixed * copies + bytes * per_byte, by least squares over past
 * measurements, older ones counting less. This is Eichinger's moving average of speed (4.5, 4.6)
 * with the cost of a copy as such taken apart, so that small copies do not spoil it.
 *
 * No device, no clock. Read first: nothing.
 */
#ifndef CLUMPI_POOL_PACE_H
#define CLUMPI_POOL_PACE_H

#include <stdint.h>

typedef struct clumpi_pace_model {
    double nn, nb, bb, nt, bt; /* decayed sums over measurements: n copies, b bytes, t ns */
    double fixed_ns, ns_per_byte;
    double excess; /* how much longer than predicted it recently took: at least 1 */
    uint64_t measured;
} clumpi_pace_model;

/* n copies of together b bytes took t ns. */
void clumpi_pace_learn(clumpi_pace_model *m, double n, double b, double t);

/* What they will take, and the most bytes that one copy may have to stay within a time. */
double clumpi_pace_predict(const clumpi_pace_model *m, double n, double b);
uint64_t clumpi_pace_bytes(const clumpi_pace_model *m, double n, double ns);

#endif
