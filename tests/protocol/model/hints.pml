/* Hints: each of some work-items changes the truth of a block, and then brings the hint and the one above in line
 * (clumpi_hint_agree() of cl/core/bitmap.clh). In the end both are right.
 *
 *   NO_FENCE     without CLUMPI_FENCE between the hint's write and the next look at the truth
 *   WEAK_FENCE   with CLUMPI_FENCE_ACQ_REL in its place
 *   NO_RELEASE   without CLUMPI_FENCE_ACQ_REL before the hints
 *   NO_AGAIN     the truth is not read again
 *   NO_ABOVE     the hint above does not follow
 *
 * FAULTS: NO_FENCE NO_RELEASE NO_AGAIN NO_ABOVE
 * SUPERFLUOUS: WEAK_FENCE
 */
#define LOCS 3
#ifndef DEPTH
#define DEPTH 12
#endif
#define STATE 0 /* 1: the block is free; each change makes it what it was not */
#define HINT 1
#define ABOVE 2
#include "memory.pml"

#ifndef WORKERS
#define WORKERS 2
#endif
byte done, workers;

/* Bring one bit in line with the word below; crossed: it was changed. */
inline agree(loc, below) {
    load(below);
    truth = got;
    do
    :: change(loc, truth);
        if :: got != truth -> crossed = 1 :: else fi;
#ifdef WEAK_FENCE
        fence_release();
#else
#ifndef NO_FENCE
        fence();
#endif
#endif
#ifdef NO_AGAIN
        break
#else
        load(below);
        if :: got == truth -> break :: else -> truth = got fi
#endif
    od;
    truth = 0
}

init {
    byte i;
    atomic {
        for (i : 0 .. LOCS - 1) { begin_word(i, 0) }
        if /* the last truth is 1, or 0 */
        :: workers = WORKERS
        :: workers = WORKERS - 1
        fi;
        for (i : 1 .. workers) { run worker() }
    }
}

proctype worker() {
    LOCALS;
    byte truth, crossed, above;
    change(STATE, 1 - NEWEST(STATE));
#ifndef NO_RELEASE
    fence_release();
#endif
    agree(HINT, STATE);
#ifndef NO_ABOVE
    /* Goes on if it changed the hint, or the hint above does not follow as far as one can see. */
    load(ABOVE);
    above = got;
    load(HINT);
    if
    :: crossed || above != got -> agree(ABOVE, HINT)
    :: else
    fi;
#endif
    above = 0;
    crossed = 0;
    atomic {
        done++;
        if
        :: done == workers ->
            assert(NEWEST(HINT) == NEWEST(STATE));
            assert(NEWEST(ABOVE) == NEWEST(HINT))
        :: else
        fi
    }
}
