/* See pace.h. */
#include "pool/pace.h"

#define DECAY 0.97
#define EXCESS_DECAY 0.98
#define SURPRISE_MAX                                                                               \
    2.0 /* by more than this no single measurement raises the expectation: it was disturbed */

/* A measurement that is so much faster than expected makes what was learnt count so much less. */
#define FASTER 0.5
#define FORGET 0.25

/* Before anything was measured: a slow device. */
#define FIXED_GUESS 20000.0
#define PER_BYTE_GUESS 1.0

static void forget(clumpi_pace_model *m) {
    m->nn *= FORGET;
    m->nb *= FORGET;
    m->bb *= FORGET;
    m->nt *= FORGET;
    m->bt *= FORGET;
}

void clumpi_pace_learn(clumpi_pace_model *m, double n, double b, double t) {
    if (!(t > 0) || !(n > 0)) return;
    if (m->measured) {
        double expected = m->fixed_ns * n + m->ns_per_byte * b;
        if (m->measured > 4 && t > SURPRISE_MAX * expected) t = SURPRISE_MAX * expected;
        double ratio = t / expected;
        if (ratio < FASTER) forget(m);
        m->excess = 1 + (m->excess - 1) * EXCESS_DECAY;
        if (ratio > m->excess) m->excess += (ratio - m->excess) * 0.25;
    } else {
        m->excess = 1;
    }
    m->measured++;
    m->nn = DECAY * m->nn + n * n;
    m->nb = DECAY * m->nb + n * b;
    m->bb = DECAY * m->bb + b * b;
    m->nt = DECAY * m->nt + n * t;
    m->bt = DECAY * m->bt + b * t;
    double det = m->nn * m->bb - m->nb * m->nb;
    m->fixed_ns = m->ns_per_byte = 0;
    if (det > 1e-9 * m->nn * m->bb) {
        m->fixed_ns = (m->nt * m->bb - m->bt * m->nb) / det;
        m->ns_per_byte = (m->bt * m->nn - m->nt * m->nb) / det;
    }
    /* Sizes too alike to tell the two apart, or noise: only one of them. */
    if (!(m->fixed_ns > 0) && m->bb > 0) {
        m->fixed_ns = 0;
        m->ns_per_byte = m->bt / m->bb;
    } else if (!(m->ns_per_byte > 0)) {
        m->ns_per_byte = 0;
        m->fixed_ns = m->nt / m->nn;
    }
}

double clumpi_pace_predict(const clumpi_pace_model *m, double n, double b) {
    if (!m->measured) return FIXED_GUESS * n + PER_BYTE_GUESS * b;
    return (m->fixed_ns * n + m->ns_per_byte * b) * m->excess;
}

uint64_t clumpi_pace_bytes(const clumpi_pace_model *m, double n, double ns) {
    double fixed = clumpi_pace_predict(m, n, 0);
    double per_byte = clumpi_pace_predict(m, 0, 1);
    if (ns <= fixed) return 0;
    double bytes = per_byte > 0 ? (ns - fixed) / per_byte : 1e18;
    return bytes < 1e18 ? (uint64_t)bytes : (uint64_t)1e18;
}
