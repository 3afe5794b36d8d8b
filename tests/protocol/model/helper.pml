/* Who frees may rely on the room: a work-item frees the last object of a block (clumpi_block_crossed()). A helper, which met the
 * block without credits, may have retired it first and be stopped before it says that room appeared. A third
 * one sweeps for another class. When the first one asks for an object after its free, it must not be told that memory is
 * exhausted.
 *
 *   NO_ANNOUNCE   who finds the block retired does not move the epoch
 *   NO_CROSSED    without CLUMPI_FENCE_ACQ_REL before it does
 *   NO_RELEASE    who retires the block has no CLUMPI_FENCE_ACQ_REL before it moves the epoch
 *   NO_ORDER      the sweep has no CLUMPI_FENCE between the epoch and the states
 *
 * FAULTS: NO_ANNOUNCE NO_CROSSED NO_RELEASE NO_ORDER
 */
#define LOCS 3
#define DEPTH 6
#define STATE 0
#define EPOCH 1
#define EXHAUSTED 2
#include "memory.pml"

#define IN_USE 1 /* of STATE: one credit */
#define EMPTY 0  /* of the class, without credits */
#define FREE 2

init {
    atomic {
        begin_word(STATE, IN_USE);
        begin_word(EPOCH, 1);
        begin_word(EXHAUSTED, 0);
        run owner();
        run helper();
        run sweeper()
    }
}

inline retire() {
    change_if(STATE, EMPTY, FREE);
    if
    :: got == EMPTY ->
        retired = 1;
#ifndef NO_RELEASE
        fence_release(); /* of the hints */
#endif
        change(EPOCH, NEWEST(EPOCH) + 1)
    :: else
    fi
}

proctype owner() {
    LOCALS;
    byte retired, exhausted;
    change(STATE, EMPTY);
    retire();
    if
    :: !retired ->
#ifndef NO_CROSSED
        fence_release();
#endif
#ifndef NO_ANNOUNCE
        change(EPOCH, NEWEST(EPOCH) + 1);
#endif
        skip
    :: else
    fi;
    /* The next request. */
    load(EXHAUSTED);
    exhausted = got;
    load(EPOCH);
    assert(exhausted != got)
}

proctype helper() {
    LOCALS;
    byte retired;
    load(STATE);
    if
    :: got == EMPTY -> retire()
    :: else
    fi
}

proctype sweeper() {
    LOCALS;
    byte epoch;
    load(EPOCH);
    epoch = got;
#ifndef NO_ORDER
    fence();
#endif
    load(STATE);
    if
    :: got == IN_USE -> store(EXHAUSTED, epoch) /* of another class, and not empty */
    :: else
    fi
}
