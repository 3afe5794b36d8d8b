/* Null means no room: a sweep that found nothing leaves the epoch at which it began (clumpi_sweep()); while that
 * stands, others return null at once. One work-item frees a slot of a full block, and says that room
 * appeared; the sweeper may have looked before or after. In the end the heap does not count as exhausted.
 *
 *   NO_LATE      the epoch is read after the states
 *   NO_ORDER     without CLUMPI_FENCE between the epoch and the states
 *   NO_RELEASE   without CLUMPI_FENCE_ACQ_REL before the epoch moves
 *   NO_EPOCH     the epoch does not move
 *   WEAK_ORDER   with CLUMPI_FENCE_ACQ_REL in place of CLUMPI_FENCE
 *
 * FAULTS: NO_LATE NO_ORDER NO_RELEASE NO_EPOCH
 * SUPERFLUOUS: WEAK_ORDER
 */
#define LOCS 3
#define DEPTH 6
#define STATE 0 /* credits; 1: full */
#define EPOCH 1
#define EXHAUSTED 2
#include "memory.pml"

byte done;

#define END                                                                             \
    atomic {                                                                            \
        done++;                                                                         \
        if                                                                              \
        :: done == 2 -> assert(!(NEWEST(EXHAUSTED) == NEWEST(EPOCH) && NEWEST(STATE) == 0)) \
        :: else                                                                         \
        fi                                                                              \
    }

init {
    atomic {
        begin_word(STATE, 1);
        begin_word(EPOCH, 1);
        begin_word(EXHAUSTED, 0);
        run freer();
        run sweeper()
    }
}

proctype freer() {
    LOCALS;
    change(STATE, 0);
#ifndef NO_RELEASE
    fence_release();
#endif
#ifndef NO_EPOCH
    change(EPOCH, NEWEST(EPOCH) + 1);
#endif
    END
}

proctype sweeper() {
    LOCALS;
    byte epoch, pass, state;
    do
    :: pass < 2 ->
        pass++;
#ifndef NO_LATE
        load(EPOCH);
        epoch = got;
#endif
#ifdef WEAK_ORDER
        fence_release();
#else
#ifndef NO_ORDER
        fence();
#endif
#endif
        load(STATE);
        state = got;
#ifdef NO_LATE
        load(EPOCH);
        epoch = got;
#endif
        if
        :: state == 1 -> store(EXHAUSTED, epoch)
        :: else -> break
        fi
    :: else -> break
    od;
    END
}
